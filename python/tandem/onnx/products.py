"""Products on the GEMM: tensors as sums of planes of INT8, and layers with weights over them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .converter import Converter
from .ops_math import ADD, MUL, SUB, binary
from .ops_nn import conv_shape, map_view, per_image
from .ops_shape import transpose
from .tensor import Node, Tensor

LIMIT = 127  # of the NPU's INT8: -127..127
MOST_PLANES = 4  # of FP32
MAGIC = float(3 << 22)  # x + MAGIC - MAGIC is x rounded half to even, for |x| up to 2^21
Bounds = tuple[float, float]


class Grid(NamedTuple):
    """FP32 as a sum of INT8 planes: plane i is integers of +-127 times 2^(exponent - 7 i). planes: so many hold every
    value exactly, or exact is False, and what is left is at most 2^-29 of the largest value. port: the input that the
    values come from."""

    exponent: int
    planes: int
    exact: bool
    port: Any = None

    @property
    def limit(self) -> float:
        """The largest magnitude."""
        return LIMIT * 2.0 ** self.exponent


class Scaled(NamedTuple):
    """A real tensor is ints * scale. ints: integers in FP32; scale: in a shape that is repeated; bounds: of ints (None:
    unknown). merged: (factor for each output, ReLU or not) -> tensor of ints * factor, in one layer (None: there is
    none). raw: ints before they are rounded and clipped, as a convolution of the NPU does by itself (None). grid: of
    FP32 that is no integers; ints is the tensor then. stored: the tensor as the model has it and its zero point, where
    it is of eight bits with one scale (None)."""

    ints: Tensor
    scale: np.ndarray
    bounds: Bounds | None = None
    merged: Callable[[np.ndarray, bool], Tensor] | None = None
    relu: bool = False
    raw: Tensor | None = None
    grid: Grid | None = None
    stored: tuple[Tensor, int] | None = None


def rounded(c: Converter, node: Node, x: Tensor) -> Tensor:
    """Half to even, of values below 2^21, by two additions of the ALU."""
    return binary(c, node, SUB, binary(c, node, ADD, x, c.scalar(MAGIC)), c.scalar(MAGIC))


def planes(c: Converter, node: Node, x: Tensor, bounds: Bounds) -> list[tuple[int, Tensor]]:
    """Tensors of INT8, each with its factor, whose sum is x."""
    largest = max(-bounds[0], bounds[1])
    if largest <= LIMIT:
        return [(1, x)]
    ratio = 2 if largest <= 255 else 128
    high = rounded(c, node, binary(c, node, MUL, x, c.scalar(0.498 if ratio == 2 else 1 / ratio)))
    low = binary(c, node, SUB, x, binary(c, node, MUL, high, c.scalar(float(ratio))))
    edge = float(np.ceil(largest / ratio))
    edge = LIMIT if ratio == 2 else edge
    return [(ratio * k, t) for k, t in planes(c, node, high, (-edge, edge))] + [(1, low)]


def weight_planes(w: np.ndarray) -> list[tuple[int, np.ndarray]]:
    """The same of constants."""
    largest = int(np.abs(w).max(initial=0))
    if largest <= LIMIT:
        return [(1, w)]
    ratio = 2 if largest <= 255 else 128
    high = np.trunc(w / 2).astype(np.int64) if ratio == 2 else np.rint(w / ratio).astype(np.int64)
    return [(ratio * k, t) for k, t in weight_planes(high)] + [(1, w - ratio * high)]


def weight_scale(factor: np.ndarray) -> np.ndarray:
    """Scales whose reciprocals are these factors, or next to them."""
    factor = np.asarray(factor, np.float32)
    best = (np.float32(1) / factor).astype(np.float32)
    for other in (np.nextafter(best, np.float32(0)), np.nextafter(best, np.float32(np.inf))):
        better = np.abs(np.float32(1) / other - factor) < np.abs(np.float32(1) / best - factor)
        best = np.where(better, other, best)
    return best


class Product(NamedTuple):
    """A layer with weights: kind, settings, key of the bias, number of weight scales; run() gives a tensor."""

    kind: str
    params: dict[int, int]
    bias_key: int
    outputs: int
    scales: int
    place: Callable[[Callable[[str, Tensor], Tensor], Tensor], Tensor]

    def run(self, c: Converter, x: Tensor, w: np.ndarray, factor: np.ndarray, bias: np.ndarray | None,
            relu: bool = False) -> Tensor:
        """x * w * factor + bias of INT8 operands."""
        params = self.params | {8: 1 if self.kind == "ConvolutionDepthWise" else 2,
                                self.bias_key: int(bias is not None)}
        if relu:
            params[9] = 1
        spread = np.broadcast_to(np.asarray(factor, np.float32).ravel(), (self.scales,))
        arrays = [("int8", w.astype(np.int8))]
        if bias is not None:
            arrays.append(("raw", np.ascontiguousarray(np.broadcast_to(bias, (self.outputs,)), np.float32)))
        arrays += [("raw", weight_scale(spread)), ("raw", np.ones(1, np.float32))]
        return self.place(lambda view, out: c.add(self.kind, [view], out, params, arrays), x)


def convolution(c: Converter, node: Node, x: Tensor, w: np.ndarray) -> Product:
    params, group, sizes, out = conv_shape(node, x, w)

    def place(add, t: Tensor) -> Tensor:
        return per_image(c, node, t, lambda one: c.result((1, w.shape[0], *sizes), add(c.use(one, map_view(one)), out),
                                                          np.float32, one))
    return Product("ConvolutionDepthWise" if group > 1 else "Convolution", params | {0: w.shape[0], 6: w.size}, 5,
                   w.shape[0], group if group > 1 else w.shape[0], place)


def matrix(c: Converter, node: Node, x: Tensor, w: np.ndarray) -> Product:
    """Rows times a matrix (N x K): one row as an inner product, more as pixels of a map with K channels."""
    n, k = w.shape
    if x.shape[-1] != k:
        raise node.no("%d columns of A, %d rows of B" % (x.shape[-1], k))
    rows = x.size // k
    shape = x.shape[:-1] + (n,)

    def row(add, t: Tensor) -> Tensor:
        return c.result(shape, add(c.use(t, (k,)), (n,)), np.float32, t)

    def pixels(add, t: Tensor) -> Tensor:
        across = transpose(c, c.reshaped(t, (rows, k)), [1, 0])
        y = c.result((n, rows), add(c.use(across, (k, 1, rows)), (n, 1, rows)), np.float32, t)
        return c.reshaped(transpose(c, y, [1, 0]), shape)
    if rows == 1:
        return Product("InnerProduct", {0: n, 2: w.size}, 1, n, n, row)
    params = {0: n, 6: w.size, 1: 1, 11: 1, 2: 1, 12: 1, 3: 1, 13: 1, 4: 0, 14: 0, 15: 0, 16: 0}
    return Product("Convolution", params, 5, n, n, pixels)


def grid_of(values: np.ndarray, port: Any = None) -> Grid | None:
    """The fewest planes for these values. None: there are none for infinities."""
    largest = float(np.abs(values).max(initial=0))
    if not np.isfinite(largest) or largest > 1e30 or 0 < largest < 1e-20:
        return None
    exponent = int(np.ceil(np.log2(largest / LIMIT))) if largest else 0
    for planes_needed in range(1, MOST_PLANES + 1):
        steps = np.ldexp(values.astype(np.float64), 7 * (planes_needed - 1) - exponent)
        if np.array_equal(steps, np.rint(steps)):
            return Grid(exponent, planes_needed, True, port)
    return Grid(exponent, MOST_PLANES, False, port)


def grid_planes(c: Converter, node: Node, x: Tensor, grid: Grid) -> list[tuple[float, Tensor]]:
    """Planes of a tensor, the largest one first. Powers of two only: nothing is rounded but the planes themselves."""
    if grid.port is not None:
        grid.port.grid = (2.0 ** (grid.exponent - 7 * (grid.planes - 1)) if grid.exact else 0.0, grid.limit)
    parts, rest = [], x
    for i in range(grid.planes):
        step = 2.0 ** (grid.exponent - 7 * i)
        plane = rest if step == 1 else binary(c, node, MUL, rest, c.scalar(1 / step))
        last = grid.exact and i == grid.planes - 1
        plane = plane if last else rounded(c, node, plane)
        parts.append((step, plane))
        if i < grid.planes - 1:
            rest = binary(c, node, SUB, rest, plane if step == 1 else binary(c, node, MUL, plane, c.scalar(step)))
    return parts


def constant_planes(w: np.ndarray) -> list[tuple[float, np.ndarray]]:
    """The same of constants."""
    grid = grid_of(w)
    parts, rest = [], w.astype(np.float64)
    for i in range(0 if grid is None else grid.planes):
        step = 2.0 ** (grid.exponent - 7 * i)
        plane = np.rint(rest / step)
        parts.append((step, plane.astype(np.int64)))
        rest = rest - plane * step
    return parts


def split_sums(c: Converter, node: Node, product: Product, x: Tensor, w: np.ndarray, bias: np.ndarray | None) -> Tensor:
    """x * w + bias of FP32 operands as products of their planes, the smallest ones first; those below 2^-28 of the
    largest product are left out. Each product of planes is exact, their sum is rounded as FP32 is."""
    total = None
    a, b = grid_planes(c, node, x, x.scaled.grid), constant_planes(w)
    pairs = sorted((i + j, i, j) for i in range(len(a)) for j in range(len(b)) if i + j < MOST_PLANES)[::-1]
    for order, (_, i, j) in enumerate(pairs):
        part = product.run(c, a[i][1], b[j][1], np.float32(a[i][0] * b[j][0]),
                           bias if order == len(pairs) - 1 else None)
        total = part if total is None else binary(c, node, ADD, total, part)
    return total


def grid_within(limit: float | None) -> Grid | None:
    """Planes for any values up to this magnitude."""
    grid = None if limit is None else grid_of(np.array([limit]))
    return None if grid is None else Grid(grid.exponent, MOST_PLANES, False)


def sum_of(c: Converter, node: Node, t: Tensor, outer: int, n: int, inner: int) -> Tensor | None:
    """Sums along the middle one of three axes, as a product with a row of ones: the axis as channels of a map. None:
    the magnitude of the elements is not known."""
    grid = t.scaled.grid if t.scaled is not None and t.scaled.grid is not None else grid_within(t.limit)
    if grid is None or not c.samples:
        return None
    x = transpose(c, c.reshaped(t, (outer, n, inner)), [1, 0, 2])
    x.scaled = Scaled(x, np.ones((), np.float32), grid=grid)
    pixels = outer * inner

    def place(add, plane: Tensor) -> Tensor:
        return c.result((pixels,), add(c.use(plane, (n, 1, pixels)), (1, 1, pixels)), np.float32, plane)
    params = {0: 1, 6: n, 1: 1, 11: 1, 2: 1, 12: 1, 3: 1, 13: 1, 4: 0, 14: 0, 15: 0, 16: 0}
    y = split_sums(c, node, Product("Convolution", params, 5, 1, 1, place), x, np.ones((1, n), np.float32), None)
    y.limit = None if t.limit is None else t.limit * n
    return y


def can_split(x: Tensor, w: np.ndarray) -> bool:
    """FP32 operands that the planes of the GEMM hold."""
    if x.limit is not None and x.scaled is None:
        grid = grid_within(x.limit)
        x.scaled = None if grid is None else Scaled(x, np.ones((), np.float32), grid=grid)
    return x.scaled is not None and x.scaled.grid is not None and bool(constant_planes(w))


def sums(c: Converter, node: Node, product: Product, x: list[tuple[int, Tensor]], w: np.ndarray,
         bias: np.ndarray | None) -> Tensor:
    """x * w + bias as integers in FP32."""
    total = None
    for factor, plane in x:
        for times, weights in weight_planes(w):
            part = product.run(c, plane, weights, np.float32(factor * times), bias if total is None else None)
            total = part if total is None else binary(c, node, ADD, total, part)
    return total
