"""Operators that find places, or keep some: composed of comparisons with a constant row of indices."""

from __future__ import annotations

import numpy as np

from .converter import Converter
from .ops_math import ABS, ADD, MUL, NEG, RSUB, SUB, above, binary, opposite, unary
from .ops_matrix import product, rows_times
from .ops_reduce import MAX, reduce
from .ops_shape import pick, transpose
from .tensor import FLOATS, WIDE, Node, Tensor, constant, exact, op

MOST_HOT = 1 << 20  # elements of a matrix that selects rows


def along(axis: int, rank: int, values: np.ndarray) -> Tensor:
    """A constant with its elements along one axis."""
    return constant(np.asarray(values, np.float32).reshape([-1 if i == axis else 1 for i in range(rank)]))


def best(c: Converter, node: Node, x: Tensor, axis: int, last: bool) -> Tensor:
    """Index of the largest element of an axis, the first or the last one of equal ones; the axis stays, with one
    element. Where an element is the largest one, the difference is 0."""
    n = x.shape[axis]
    largest = opposite(c, node, above(c, binary(c, node, SUB, reduce(c, MAX, x, [axis]), x)))
    order = np.arange(1, n + 1) if last else np.arange(n, 0, -1)
    rank = reduce(c, MAX, binary(c, node, MUL, largest, along(axis, len(x.shape), order)), [axis])
    return binary(c, node, SUB, rank, c.scalar(1.0)) if last else binary(c, node, RSUB, rank, c.scalar(float(n)))


@op("ArgMax ArgMin", "axis keepdims select_last_index")
def arg(c: Converter, node: Node) -> list[Tensor]:
    x = node.need(0)
    axis = node.axis(node.attr("axis", 0), len(x.shape))
    x = unary(c, NEG, x) if node.op == "ArgMin" else x
    y = best(c, node, x, axis, bool(node.attr("select_last_index", 0)))
    keep = node.attr("keepdims", 1)
    y = c.reshaped(y, [1 if i == axis else n for i, n in enumerate(x.shape) if keep or i != axis])
    y.dtype = np.dtype(np.int64)
    return [y]


@op("Hardmax", "axis")
def hardmax(c: Converter, node: Node) -> list[Tensor]:
    """1 at the first of the largest elements; before opset 13 over all axes from this one on."""
    x = node.need(0)
    axis = node.axis(node.attr("axis", -1 if node.opset >= 13 else 1), len(x.shape))
    shape = x.shape if node.opset >= 13 else x.shape[:axis] + (int(np.prod(x.shape[axis:])),)
    flat = c.reshaped(x, shape)
    row = along(axis, len(shape), np.arange(shape[axis]))
    away = unary(c, ABS, binary(c, node, SUB, best(c, node, flat, axis, False), row))
    y = opposite(c, node, above(c, away))
    y.dtype = np.dtype(np.float32)
    return [c.reshaped(y, x.shape)]


@op("Trilu", "upper", takes="own")
def trilu(c: Converter, node: Node) -> list[Tensor]:
    """Elements on one side of a diagonal; 0 elsewhere."""
    x, k = node.need(0), node.const(1, "k")
    if len(x.shape) < 2:
        raise node.no("a tensor with %d dimensions, expected at least 2" % len(x.shape))
    diagonal = 0 if k is None else max(-1 << 20, min(int(np.ravel(k)[0]), 1 << 20))
    side = np.triu if node.attr("upper", 1) else np.tril
    return [binary(c, node, MUL, x, constant(side(np.ones(x.shape[-2:], np.float32), diagonal)), x.dtype)]


@op("CumSum", "exclusive reverse", takes="own")
def cumsum(c: Converter, node: Node) -> list[Tensor]:
    """A product with a triangular matrix."""
    x, at = node.need(0), node.const(1, "axis")
    if at is None or (x.dtype not in FLOATS and (x.dtype not in WIDE or x.dtype.kind == "u")):
        raise node.no("dtype %s: integers wrap, FP32 does not; the NPU has FP32 and INT8" % x.dtype)
    axis, rank = node.axis(int(np.ravel(at)[0]), len(x.shape)), len(x.shape)
    order = [i for i in range(rank) if i != axis] + [axis]
    n = x.shape[axis]
    w = np.tril(np.ones((n, n), np.float32), -1 if node.attr("exclusive", 0) else 0)
    w = w[::-1, ::-1] if node.attr("reverse", 0) else w
    rows = c.reshaped(transpose(c, x, order), (x.size // n, n))
    rows.scaled = c.grid(x, rows)
    y = c.reshaped(rows_times(c, node, rows, np.ascontiguousarray(w), None), [x.shape[i] for i in order])
    y.dtype = x.dtype
    y = transpose(c, y, [order.index(i) for i in range(rank)])
    return [y if x.dtype in FLOATS else c.whole(node, y, x.largest() * n)]


@op("Gather", "axis", takes="moves")
def gather(c: Converter, node: Node) -> list[Tensor]:
    x, index = node.need(0), node.need(1)
    axis = node.axis(node.attr("axis", 0), len(x.shape))
    shape = x.shape[:axis] + index.shape + x.shape[axis + 1:]
    if index.value is None:
        return [c.reshaped(looked_up(c, node, x, index, axis), shape)]
    flat = [int(i) + (x.shape[axis] if i < 0 else 0) for i in np.ravel(index.value)]
    if min(flat, default=0) < 0 or max(flat, default=0) >= x.shape[axis]:
        raise node.no("indices: expected 0 to %d" % (x.shape[axis] - 1))
    return [c.reshaped(pick(c, node, x, axis, flat), shape)]


def looked_up(c: Converter, node: Node, x: Tensor, index: Tensor, axis: int) -> Tensor:
    """Elements of an axis by indices that the network computes: rows of a constant table, as embeddings have them; of
    other tensors a product with rows that are 1 in one place."""
    n, inner = x.shape[axis], x.size // x.shape[axis]
    if x.value is None and (index.size * n > MOST_HOT or x.dtype not in FLOATS):
        raise node.no("%d indices into %d elements of %s that are not constants; supported: FP32, up to %d products" %
                      (index.size, n, x.dtype, MOST_HOT))
    below = binary(c, node, MUL, above(c, unary(c, NEG, index)), c.scalar(float(n)))
    place = binary(c, node, ADD, c.reshaped(index, (index.size,)), c.reshaped(below, (index.size,)))
    order = [axis] + [i for i in range(len(x.shape)) if i != axis]
    if x.value is not None:
        table = exact(np.ascontiguousarray(x.value.transpose(order)), node.where())
        blob = c.add("Embed", [c.use(place, (index.size,))], (index.size, inner), {0: inner, 1: n, 2: 0, 3: table.size},
                     [("tagged", table)])
        y = c.result((index.size,) + tuple(x.shape[i] for i in order[1:]), blob, x.dtype, index)
    else:
        away = binary(c, node, SUB, c.reshaped(place, (index.size, 1)), along(1, 2, np.arange(n)))
        hot = opposite(c, node, above(c, unary(c, ABS, away)))
        hot.dtype = np.dtype(np.float32)
        y = product(c, node, hot, c.reshaped(transpose(c, x, order), (n, inner)))
        y = c.reshaped(y, (index.size,) + tuple(x.shape[i] for i in order[1:]))
    return transpose(c, y, [*range(1, axis + 1), 0, *range(axis + 1, len(y.shape))])


@op("GatherElements", "axis", takes="moves")
def gather_elements(c: Converter, node: Node) -> list[Tensor]:
    """Constant indices: single elements, joined again."""
    x, index = node.need(0), node.const(1, "indices")
    axis = node.axis(node.attr("axis", 0), len(x.shape))
    if index is None or index.ndim != len(x.shape):
        raise node.no("indices that do not fit %s" % list(x.shape))
    index = np.where(index < 0, index + x.shape[axis], index)
    places = list(np.indices(index.shape))
    places[axis] = index
    return [chosen(c, node, x, np.ravel_multi_index(places, x.shape))]


@op("GatherND", "batch_dims", takes="moves")
def gather_nd(c: Converter, node: Node) -> list[Tensor]:
    """Constant indices into the first axes."""
    x, index, batch = node.need(0), node.const(1, "indices"), node.attr("batch_dims", 0)
    if index is None or not index.ndim or batch + index.shape[-1] > len(x.shape):
        raise node.no("indices that do not fit %s" % list(x.shape))
    numbers = np.arange(x.size).reshape(x.shape)
    if batch == 0:
        return [chosen(c, node, x, numbers[tuple(np.moveaxis(index, -1, 0))])]
    flat = numbers.reshape((-1,) + x.shape[batch:])
    rows = index.reshape((flat.shape[0],) + index.shape[batch:])
    parts = [flat[i][tuple(np.moveaxis(rows[i], -1, 0))] for i in range(len(flat))]
    return [chosen(c, node, x, np.stack(parts).reshape(index.shape[:-1] + parts[0].shape[rows[0].ndim - 1:]))]


def chosen(c: Converter, node: Node, x: Tensor, numbers: np.ndarray) -> Tensor:
    """Elements by their number in the tensor."""
    flat = pick(c, node, c.reshaped(x, (x.size,)), 0, numbers.ravel().tolist())
    return c.reshaped(flat, numbers.shape)


@op("Compress", "axis", takes="moves")
def compress(c: Converter, node: Node) -> list[Tensor]:
    """A constant condition."""
    x, condition, axis = node.need(0), node.const(1, "the condition"), node.attr("axis")
    x = c.reshaped(x, (x.size,)) if axis is None else x
    axis = 0 if axis is None else node.axis(axis, len(x.shape))
    return [pick(c, node, x, axis, np.flatnonzero(condition[:x.shape[axis]]).tolist())]


@op("ReverseSequence", "batch_axis time_axis", takes="moves")
def reverse_sequence(c: Converter, node: Node) -> list[Tensor]:
    """Constant lengths."""
    x, lengths = node.need(0), node.const(1, "the lengths")
    time, batch = node.attr("time_axis", 0), node.attr("batch_axis", 1)
    if {time, batch} != {0, 1} or lengths is None or lengths.size != x.shape[batch]:
        raise node.no("axes %d and %d; supported: 0 and 1" % (time, batch))
    numbers = np.arange(x.size).reshape(x.shape).swapaxes(0, time)
    for i, n in enumerate(lengths.ravel().tolist()):
        numbers[:n, i] = numbers[:n, i][::-1].copy()
    return [chosen(c, node, x, numbers.swapaxes(0, time))]
