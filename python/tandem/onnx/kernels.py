"""Operators that onnxruntime runs as one kernel on integers of eight bits, DequantizeLinear and QuantizeLinear
included: sums, products, softmax and averages. Such a kernel rounds otherwise than its parts would one after the other,
and the layers built here round as the kernel does. QLinearAdd, QLinearMul, QLinearSoftmax and QLinearAveragePool are
these kernels by name.

Sums: the kernel computes fma(a, ra, fma(b, rb, f)) and rounds half to even. ra and rb are the scales of a and b over
that of the result, f = z - (ra za + rb zb) in FP32, and z, za and zb are the zero points. The last bit before rounding
matters: x + 1 of GELU and x + 3 of HardSwish lie half way between two steps of the result for many x.

Softmax: a mask of attention is 0 or -FLT_MAX, which takes steps of 2^121 in eight bits; its integers times this scale
are beyond FP32 for some zero points (see finite()).
"""

from __future__ import annotations

import numpy as np

from .converter import Converter
from .ops_math import ADD, DIV, MUL, binary, layer
from .products import Scaled, rounded
from .tensor import HANDLERS, Node, Tensor

LARGEST_STEP = 1e30  # of an operand of softmax
LARGEST_TABLE = 1 << 16  # elements of a constant for which every sum is looked at
NUDGES = [n * sign for n in (0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64) for sign in (1, -1)][1:]


def fma(x: np.ndarray, factor: np.ndarray, y: np.ndarray) -> np.ndarray:
    """x * factor + y with one rounding, of integers x of 16 bits."""
    return (np.asarray(x, np.float64) * np.float64(factor) + np.asarray(y, np.float64)).astype(np.float32)


def steered(factor: np.float32, terms: np.ndarray, info: np.iinfo) -> np.ndarray:
    """Terms for which a product and a sum with a rounding each, as the ALU has them, end in the same integers as a
    fused one does with `terms`, for every integer. Where there are none, the terms as they are."""
    flat = terms.ravel()
    if flat.size > LARGEST_TABLE:
        return terms
    x = np.arange(info.min, info.max + 1, dtype=np.float32)[:, None]

    def ends(v: np.ndarray) -> np.ndarray:
        return np.rint(np.clip(v, info.min, info.max))
    products, result = x * factor, flat.copy()
    step = np.spacing(np.maximum(np.abs(flat), np.float32(1))) / 2
    left = np.arange(flat.size)
    for n in NUDGES:
        tried = (flat[left] + np.float32(n) * step[left]).astype(np.float32)
        same = np.all(ends(products + tried) == ends(fma(x, factor, flat[left])), axis=0)
        result[left[same]] = tried[same]
        left = left[~same]
        if left.size == 0:
            break
    return result.reshape(terms.shape)


def in_type(c: Converter, node: Node, v: Tensor, zero: int, dtype: np.dtype) -> Tensor:
    """Numbers of steps become integers: plus the zero point, clipped to the type and rounded half to even."""
    info = np.iinfo(dtype)
    v = v if zero == 0 else binary(c, node, ADD, v, c.scalar(float(zero)))
    y = rounded(c, node, layer(c, "Clip", v, {0: float(info.min), 1: float(info.max)}))
    return Tensor(y.shape, dtype, None, y.blob, y.view, y.origin)


def eligible(dtype: np.dtype, *parts: Scaled | None) -> bool:
    """Do all operands have integers of eight bits, of the type of the result, with one scale each?"""
    return np.dtype(dtype).itemsize == 1 and all(p is not None and p.stored is not None and
                                                 p.stored[0].dtype == dtype for p in parts)


def add(c: Converter, node: Node, a: Scaled, b: Scaled, scale: np.ndarray, zero: int, dtype: np.dtype) -> Tensor:
    """The sum of two `eligible` operands, not both constant, in steps of `scale`."""
    (x, zx), (y, zy) = ((p.stored[0], np.float32(p.stored[1])) for p in (a, b))
    fx, fy = (np.float32(p.scale.reshape(()) / np.float32(scale)) for p in (a, b))
    if x.value is not None:
        (x, zx, fx), (y, zy, fy) = (y, zy, fy), (x, zx, fx)
    fixed = np.float32(np.float32(zero) - np.float32(np.float32(fx * zx) + np.float32(fy * zy)))

    def times(t: Tensor, factor: np.float32) -> Tensor:
        real = Tensor(t.shape, np.float32, None, t.blob, t.view, t.origin)
        real.blobs = t.blobs
        return real if factor == 1 else binary(c, node, MUL, real, c.scalar(factor))
    if y.value is not None:
        terms = steered(fx, fma(y.value, fy, fixed), np.iinfo(dtype))
        inner = Tensor(terms.shape, np.float32, terms)
    else:
        inner = binary(c, node, ADD, times(y, fy), c.scalar(fixed))
    return in_type(c, node, binary(c, node, ADD, times(x, fx), inner), 0, dtype)  # the zero point is in `fixed`


def product(c: Converter, node: Node, a: Scaled, b: Scaled, scale: np.ndarray, zero: int,
            dtype: np.dtype) -> Tensor | None:
    """The product of the integers, which is exact, times one factor. None: the factor is beyond FP32."""
    with np.errstate(over="ignore"):
        factor = np.float32(np.float32(a.scale.reshape(()) * b.scale.reshape(())) / np.float32(scale))
    if not np.isfinite(factor):
        return None
    return in_type(c, node, binary(c, node, MUL, binary(c, node, MUL, a.ints, b.ints), c.scalar(factor)), zero, dtype)


def finite(c: Converter, node: Node, x: Tensor) -> Tensor:
    """An operand of softmax, with smaller steps where its own may take it beyond FP32. The result is the same: exp() of
    one such step down is 0 with either."""
    s = x.scaled
    if s is None or s.stored is None or s.scale.size != 1 or float(s.scale.reshape(())) <= LARGEST_STEP:
        return x
    return binary(c, node, MUL, s.ints, c.scalar(LARGEST_STEP))


def softmax(c: Converter, node: Node, real: Tensor, scale: np.ndarray, zero: int, dtype: np.dtype) -> Tensor | None:
    """The kernel truncates the number of steps in 1: with a scale of 1/255 in FP32 it takes 254. None: that is 0."""
    steps = np.floor(np.float32(1) / np.float32(scale))
    if steps < 1:
        return None
    return in_type(c, node, binary(c, node, MUL, real, c.scalar(steps)), zero, dtype)


def average(c: Converter, node: Node, real: Tensor, scale: np.ndarray, zero: int, dtype: np.dtype) -> Tensor:
    """The zero point is added before rounding: averages, too, often lie half way between two steps."""
    return in_type(c, node, binary(c, node, DIV, real, c.scalar(np.float32(scale))), zero, dtype)


def quantised(c: Converter, node: Node, x: Tensor, scale: np.ndarray, zero: int, dtype: np.dtype) -> Tensor | None:
    """x, which only this QuantizeLinear reads, as the kernel of its operator gives it. None: there is no such kernel.
    Of int8 onnxruntime has only that of softmax; sums, products and averages are FP32 there, too, unless it makes them
    uint8."""
    if x.kernel is None or not eligible(dtype, *x.kernel[1:]):
        return None
    name, *parts = x.kernel
    if dtype == np.int8 and name != "Softmax":
        return None
    if name in ("Add", "Mul"):
        return (add if name == "Add" else product)(c, node, *parts, scale, zero, dtype)
    return (softmax if name == "Softmax" else average)(c, node, x, scale, zero, dtype)


def marks(name: str) -> None:
    """Let results of the operator `name` over integers remember it (Tensor.kernel) where only QuantizeLinear reads
    them."""
    plain, attributes, kinds = HANDLERS[name]

    def handler(c: Converter, node: Node) -> list[Tensor]:
        readers, parts = c.readers.get(node.outputs[0], []), [t.scaled for t in node.inputs if t is not None]
        if (len(readers) != 1 or readers[0] is None or readers[0].op_type != "QuantizeLinear" or
                not all(p is not None and p.stored is not None for p in parts)):
            return plain(c, node)
        if name == "Softmax":
            node.inputs = [finite(c, node, node.need(0))]
        results = plain(c, node)
        if results[0].value is None:
            results[0].kernel = (name, *parts)
        return results
    HANDLERS[name] = (handler, attributes, kinds)
