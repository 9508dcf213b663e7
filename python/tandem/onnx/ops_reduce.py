"""Reductions, and operators composed of them: normalisations, softmax."""

import math

import numpy as np

from .converter import Converter
from .ops_math import ADD, DIV, EXP, LOG, MUL, NEG, RSQRT, SQRT, SQUARE, SUB, ABS, binary, unary
from .products import sum_of
from .tensor import Node, Tensor, around, compact, exact, op

SUM, MEAN, MAX, PROD = 0, 3, 4, 6  # Reduction


def runs_of(axes: list[int]) -> list[tuple[int, int]]:
    """Neighbouring axes as (first, last), the innermost run first."""
    runs: list[list[int]] = []
    for a in sorted(axes):
        if runs and runs[-1][1] == a - 1:
            runs[-1][1] = a
        else:
            runs.append([a, a])
    return [(r[0], r[1]) for r in runs[::-1]]


def reduce(c: Converter, code: int, t: Tensor, axes: list[int]) -> Tensor:
    """A Reduction along these axes, which remain with one element. Axes of one element between others are included.
    Sums of values of known magnitude (samples) are products on the GEMM."""
    for first, last in runs_of([a for a in axes if t.shape[a] > 1]):
        outer, n, inner = around(t.shape, first, last)
        shape = t.shape[:first] + (1,) * (last - first + 1) + t.shape[last + 1:]
        total = sum_of(c, c.current, t, outer, n, inner) if code in (SUM, MEAN) else None
        if total is not None:
            t = c.reshaped(binary(c, c.current, MUL, total, c.scalar(1 / n)) if code == MEAN else total, shape)
            continue
        view, at = compact(outer, n, inner)
        gone = [at]
        if inner == 1 and len(c.view_of(t)) == 3 and c.view_of(t)[0] == outer:  # whole maps, which need no other view
            view, gone = c.view_of(t), [1, 2]
        out = tuple(1 if i in gone else size for i, size in enumerate(view))
        params = {0: code, 1: 0, 3: gone, 4: 1, 5: 1}
        limit = t.limit
        t = c.result(shape, c.add("Reduction", [c.use(t, view)], out, params), t.dtype, t)
        t.limit = limit if code in (MAX, MEAN) else None
    return t


@op("ReduceSum ReduceMean ReduceMax ReduceMin ReduceProd ReduceL1 ReduceL2 ReduceSumSquare ReduceLogSum "
    "ReduceLogSumExp", "axes keepdims noop_with_empty_axes")
def reduction(c: Converter, node: Node) -> list[Tensor]:
    """Composes a Reduction of ncnn of the sum and the maximum, which the NPU supports."""
    x = node.need(0)
    axes = node.ints(1, "axes")
    none = not axes and node.attr("noop_with_empty_axes", 0)  # only what comes before and after the reduction
    gone = sorted({node.axis(a, len(x.shape)) for a in axes} if axes else () if none else range(len(x.shape)))
    kind = node.op[len("Reduce"):]
    if none and kind in ("Sum", "Mean", "Max", "Min", "Prod", "LogSumExp"):
        return [x]
    if kind in ("Min", "L1", "L2", "SumSquare"):
        y = unary(c, {"Min": NEG, "L1": ABS}.get(kind, SQUARE), x)
    elif kind == "LogSumExp":
        top = reduce(c, MAX, x, gone)
        y = unary(c, EXP, binary(c, node, SUB, x, top))
        y.limit = None if x.limit is None else 1.0
    else:
        y = x
    y = reduce(c, {"Max": MAX, "Min": MAX, "Mean": MEAN, "Prod": PROD}.get(kind, SUM), y, gone)
    if kind in ("Min", "L2", "LogSum", "LogSumExp"):
        y = unary(c, {"Min": NEG, "L2": SQRT}.get(kind, LOG), y)
    if kind == "LogSumExp":
        y = binary(c, node, ADD, y, top)
    keep = node.attr("keepdims", 1)
    return [c.reshaped(y, [1 if i in gone else n for i, n in enumerate(x.shape) if keep or i not in gone])]


@op("Softmax LogSoftmax", "axis")
def softmax(c: Converter, node: Node) -> list[Tensor]:
    x = node.need(0)
    axis = node.axis(node.attr("axis", -1 if node.opset >= 13 else 1), len(x.shape))
    outer, n, inner = around(x.shape, axis, axis if node.opset >= 13 else len(x.shape) - 1)
    flat = c.reshaped(x, (outer, n, inner))
    if node.op == "LogSoftmax":  # the results of ncnn's Softmax may be 0, of which there is no logarithm
        y = binary(c, node, SUB, flat, reduce(c, MAX, flat, [1]))
        powers = unary(c, EXP, y)
        powers.limit = None if x.limit is None else 1.0
        y = binary(c, node, SUB, y, unary(c, LOG, reduce(c, SUM, powers, [1])))
        return [c.reshaped(y, x.shape)]
    if x.limit is not None:  # its sum runs on the GEMM
        y = unary(c, EXP, binary(c, node, SUB, flat, reduce(c, MAX, flat, [1])))
        y.limit = 1.0
        return [c.reshaped(binary(c, node, DIV, y, reduce(c, SUM, y, [1])), x.shape)]
    view, at = compact(outer, n, inner)
    return [c.result(x.shape, c.add("Softmax", [c.use(flat, view)], view, {0: at, 1: 1}), x.dtype, x)]


def centred(c: Converter, node: Node, x: Tensor, axes: list[int], epsilon: float) -> tuple[Tensor, Tensor, Tensor]:
    """x without its mean, the mean, and one over the standard deviation."""
    mean = reduce(c, MEAN, x, axes)
    rest = binary(c, node, SUB, x, mean)
    variance = reduce(c, MEAN, unary(c, SQUARE, rest), axes)
    return rest, mean, unary(c, RSQRT, binary(c, node, ADD, variance, c.scalar(epsilon)))


def by_rows(c: Converter, node: Node, x: Tensor, axes: list[int], kind: str,
            given: list[Tensor | None]) -> Tensor | None:
    """A layer over rows, where its factors are constants for each element of one. None: they are not, or the other
    outputs are read."""
    shape = tuple(x.shape[i] for i in axes)
    n = math.prod(shape)
    fixed = all(t is None or (t.value is not None and t.shape == shape) for t in given)
    if c.samples or not fixed or any(c.readers.get(name) for name in node.outputs[1:] if name):
        return None
    values = [np.zeros(n, np.float32) if t is None else exact(t.value, node.where()).ravel() for t in given]
    rows = x.size // n
    view = (rows, n) if rows > 1 else (n,)
    params = {0: n, 1: float(node.attr("epsilon", 1e-5)), 2: 1}
    return c.result(x.shape, c.add(kind, [c.use(x, view)], view, params, [("raw", v) for v in values]), x.dtype, x)


@op("LayerNormalization", "axis epsilon stash_type")
def layer_norm(c: Converter, node: Node) -> list[Tensor]:
    x = node.need(0)
    axes = list(range(node.axis(node.attr("axis", -1), len(x.shape)), len(x.shape)))
    whole = by_rows(c, node, x, axes, "LayerNorm", [node.need(1), node.input(2)])
    if whole is not None:
        return [whole] + [None] * (len(node.outputs) - 1)
    rest, mean, factor = centred(c, node, x, axes, node.attr("epsilon", 1e-5))
    y = binary(c, node, MUL, binary(c, node, MUL, rest, factor), node.need(1))
    if node.input(2) is not None:
        y = binary(c, node, ADD, y, node.need(2))
    return [y, mean, factor][:max(1, len(node.outputs))]


@op("RMSNormalization", "axis epsilon stash_type")
def rms_norm(c: Converter, node: Node) -> list[Tensor]:
    x = node.need(0)
    axes = list(range(node.axis(node.attr("axis", -1), len(x.shape)), len(x.shape)))
    whole = by_rows(c, node, x, axes, "RMSNorm", [node.need(1)])
    if whole is not None:
        return [whole]
    square = reduce(c, MEAN, unary(c, SQUARE, x), axes)
    factor = unary(c, RSQRT, binary(c, node, ADD, square, c.scalar(node.attr("epsilon", 1e-5))))
    return [binary(c, node, MUL, binary(c, node, MUL, x, factor), node.need(1))]


@op("MeanVarianceNormalization", "axes")
def mean_variance(c: Converter, node: Node) -> list[Tensor]:
    x = node.need(0)
    axes = [node.axis(int(a), len(x.shape)) for a in node.attr("axes", [0, 2, 3])]
    rest, _, factor = centred(c, node, x, axes, 1e-9)
    return [binary(c, node, MUL, rest, factor)]


def by_channel(node: Node, count: int) -> list[np.ndarray]:
    """Constant inputs 1..count, one value for each channel."""
    x = node.need(0)
    if len(x.shape) < 2:
        raise node.no("a tensor with %d dimensions, expected at least 2" % len(x.shape))
    values = []
    for i in range(1, count + 1):
        value = node.const(i, "parameters of the channels")
        if value is None or value.size != x.shape[1]:
            raise node.no("input %d: expected %d values, one for each channel" % (i, x.shape[1]))
        values.append(np.tile(np.ravel(value).astype(np.float32), x.shape[0]))  # a batch is as many times the channels
    return values


def channel_view(x: Tensor) -> tuple[int, ...]:
    """Batch and channels as the outermost dimension, at most two dimensions inside of it."""
    spatial = x.shape[2:]
    if len(spatial) > 2:
        spatial = (math.prod(spatial[:-1]), spatial[-1])
    return (x.shape[0] * x.shape[1],) + spatial


@op("BatchNormalization", "epsilon is_test momentum spatial training_mode")
def batch_norm(c: Converter, node: Node) -> list[Tensor]:
    training = node.attr("training_mode", 0) or (node.opset < 7 and not node.attr("is_test", 0))
    if training or not node.attr("spatial", 1) or sum(map(bool, node.outputs)) > 1:
        raise node.no("training_mode; supported: inference")
    x = node.need(0)
    scale, bias, mean, variance = by_channel(node, 4)
    view = channel_view(x)
    params = {0: len(scale), 1: float(node.attr("epsilon", 1e-5))}
    arrays = [("raw", v) for v in (scale, mean, variance, bias)]
    return [c.result(x.shape, c.add("BatchNorm", [c.use(x, view)], view, params, arrays), x.dtype, x)]


@op("GroupNormalization", "epsilon num_groups stash_type")
def group_norm(c: Converter, node: Node) -> list[Tensor]:
    """Scale and bias for each group before opset 21, for each channel since then."""
    x, groups = node.need(0), node.attr("num_groups", 0)
    if len(x.shape) < 2 or groups < 1 or x.shape[1] % groups:
        raise node.no("%d groups of the shape %s" % (groups, list(x.shape)))
    inside = x.shape[1] // groups
    parts = c.reshaped(x, (x.shape[0], groups, inside * math.prod(x.shape[2:])))
    rest, _, factor = centred(c, node, parts, [2], node.attr("epsilon", 1e-5))
    y = c.reshaped(binary(c, node, MUL, rest, factor), (x.shape[0], x.shape[1], math.prod(x.shape[2:])))
    for i, code in ((1, MUL), (2, ADD)):
        values = node.const(i, "parameters of the channels")
        if values is None or values.size != (x.shape[1] if node.opset >= 21 else groups):
            raise node.no("input %d: expected one value for each %s" %
                          (i, "channel" if node.opset >= 21 else "group"))
        values = values if node.opset >= 21 else np.repeat(values, inside)
        y = binary(c, node, code, y, Tensor((x.shape[1], 1), np.float32, values.reshape(-1, 1)))
    return [c.reshaped(y, x.shape)]


@op("InstanceNormalization", "epsilon")
def instance_norm(c: Converter, node: Node) -> list[Tensor]:
    x = node.need(0)
    scale, bias = by_channel(node, 2)
    view = channel_view(x)
    params = {0: len(scale), 1: len(scale), 2: float(node.attr("epsilon", 1e-5)), 3: 1}
    return [c.result(x.shape, c.add("GroupNorm", [c.use(x, view)], view, params, [("raw", scale), ("raw", bias)]),
                     x.dtype, x)]
