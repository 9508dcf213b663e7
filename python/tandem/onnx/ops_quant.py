"""Integers: convolutions and products of INT8 on the GEMM, exactly; quantising in steps.

A real tensor that is integers times a step keeps both (Scaled), so that layers with weights between DequantizeLinear
and QuantizeLinear run on the integers: y = step * (sum (q - z) * w + bias), with the zero point taken from x before
(the padding is then 0), and one rounding at the end. Values beyond the NPU's -127..127 are split into planes, as
q - z = 2 h + l.
"""

from __future__ import annotations

import numpy as np

from . import kernels, ops_index, ops_matrix, proto  # noqa: F401 - their operators are registered, then wrapped
from .converter import Converter
from .fold import FOLDS, type_of
from .ops_math import ADD, DIV, MAX, MIN, MUL, NEG, SUB, binary, layer, unary
from .ops_reduce import reduce
from .ops_reduce import MAX as LARGEST_OF
from .products import LIMIT, Bounds, Scaled, convolution, matrix, planes, rounded, sums, weight_planes
from .tensor import BOOL, EXACT_INT, HANDLERS, Node, Tensor, constant, exact, op


# ---- integers without their zero point ----

def along_axis(node: Node, values: np.ndarray, rank: int) -> np.ndarray:
    """One value for each element of an axis, in a shape that is repeated along the others."""
    values = np.asarray(values)
    if values.size == 1:
        return values.reshape(())
    return values.reshape([-1 if i == node.axis(node.attr("axis", 1), rank) else 1 for i in range(rank)])


def centred(c: Converter, node: Node, x: Tensor, zero: Tensor | None) -> tuple[Tensor, Bounds | None]:
    """x - zero as integers in FP32, and their bounds by the type of x."""
    if x.dtype.kind not in "iu" or x.dtype == BOOL:
        raise node.no("dtype %s, expected integers" % x.dtype)
    info = np.iinfo(x.dtype)
    if zero is not None and zero.value is None:
        if zero.size != 1:
            node.const(2, "zero points for each row")
        span = float(info.max) - float(info.min)
        return binary(c, node, SUB, x, zero), (-span, span)
    point = np.zeros((), np.int64) if zero is None else np.asarray(zero.value, np.int64)
    point = along_axis(node, point, len(x.shape)) if node.op == "DequantizeLinear" else point.reshape(
        point.shape if point.size > 1 else ())
    bounds = None if x.dtype.itemsize > 2 else (float(info.min - point.max()), float(info.max - point.min()))
    if x.centred is not None and point.size == 1 and int(point) == x.centred[1]:
        return x.centred[0], x.centred[3]
    real = Tensor(x.shape, np.float32, x.value, x.blob, x.view, x.origin)
    real.blobs = x.blobs
    if not np.any(point):
        return real, bounds
    return binary(c, node, SUB, real, Tensor(point.shape, np.float32, point.astype(np.float32))), bounds


# ---- products ----

def by_output(values: np.ndarray, t: Tensor, axis: int) -> np.ndarray:
    """One value for each output, in a shape that is repeated along the other axes of the result."""
    values = np.asarray(values, np.float32)
    return values.reshape(()) if values.size == 1 else values.reshape([-1 if i == axis % len(t.shape) else 1
                                                                      for i in range(len(t.shape))])


def real(c: Converter, node: Node, s: Scaled) -> Tensor:
    y = binary(c, node, MUL, s.ints, Tensor(s.scale.shape, np.float32, s.scale))
    y.scaled = s
    return y


def weighted(c: Converter, node: Node, x: Tensor, w: Tensor, bias: Tensor | None, turn: bool = False) -> Tensor | None:
    """A layer with weights over integers. None: x or w are no integers in one step, or not constant."""
    a, b = x.scaled, w.scaled
    if a is None or b is None or a.grid is not None or a.bounds is None or a.scale.size != 1 or b.ints.value is None:
        return None
    weights = np.asarray(np.rint(b.ints.value), np.int64)
    conv = node.op in ("Conv", "QLinearConv")
    weights = weights if conv or turn else weights.T
    outputs = 0 if conv or turn else b.ints.value.ndim - 1  # the axis that a step for each output follows
    if weights.size == 0 or (b.scale.size > 1 and (b.scale.ndim <= outputs or
                                                   b.scale.shape[outputs] != weights.shape[0] or
                                                   b.scale.size != weights.shape[0])):
        return None
    product = (convolution if conv else matrix)(c, node, x, weights)
    scale = (a.scale.reshape(()) * b.scale.ravel()).astype(np.float32)
    add = None if bias is None else integer_bias(node, bias, scale, product.outputs)
    parts = [(1, a.raw)] if a.raw is not None else planes(c, node, a.ints, a.bounds)
    merged = None
    if len(parts) == 1 and len(weight_planes(weights)) == 1 and product.scales == product.outputs and conv:
        def merged(factor: np.ndarray, relu: bool) -> Tensor:
            return product.run(c, parts[0][1], weights, factor,
                               None if add is None else (add * factor).astype(np.float32), relu)
    total = sums(c, node, product, parts, weights, add)
    return real(c, node, Scaled(total, by_output(scale, total, 1 if conv else -1), None, merged))


def integer_bias(node: Node, bias: Tensor, scale: np.ndarray, outputs: int) -> np.ndarray:
    """The bias in steps of the sums: its own integers where it has that step."""
    if bias.value is None or bias.size not in (1, outputs):
        raise node.no("a bias %s that is no constant for each output" % list(bias.shape))
    own = bias.scaled
    if own is not None and np.allclose(own.scale.ravel(), scale, 1e-5, 0):
        return np.asarray(own.ints.value, np.float64).ravel()
    return np.ravel(bias.value).astype(np.float64) / scale


# ---- integers in, integers out ----

def as_scaled(c: Converter, node: Node, i: int, scale: np.ndarray, zero: Tensor | None) -> Tensor:
    """Input i as a real tensor: (x - zero) * scale. Layers that nothing reads are dropped at the end."""
    x = node.need(i)
    if x.value is not None:
        return constant_scaled(node, x.value, scale, None if zero is None else zero.value)
    ints, bounds = centred(c, node, x, zero)
    own = Scaled(ints, scale, bounds, raw=x.centred[2] if x.centred is not None and x.centred[0] is ints else None,
                 stored=None if zero is not None and zero.value is None else
                 stored(x, scale, None if zero is None else zero.value))
    return real(c, node, own)


def stored(x: Tensor, scale: np.ndarray, zero: np.ndarray | None) -> tuple[Tensor, int] | None:
    """Scaled.stored: the tensor as it is, and its zero point. None: it is not of eight bits, or has several scales."""
    if x.dtype.kind not in "iu" or x.dtype.itemsize != 1 or np.size(scale) != 1 or np.size(zero) > 1:
        return None
    return x, 0 if zero is None else int(np.ravel(zero)[0])


def constant_scaled(node: Node, q: np.ndarray, scale: np.ndarray, zero: np.ndarray | None) -> Tensor:
    """Constants: weights keep their integers."""
    ints = np.asarray(q, np.int64) - (0 if zero is None else np.asarray(zero, np.int64))
    with np.errstate(over="ignore"):  # a mask of -FLT_MAX in 255 steps
        value = (ints.astype(np.float32) * scale).astype(np.float32)
    t = constant(value)
    t.scaled = Scaled(constant(ints), scale, stored=stored(constant(q), scale, zero))
    return t


def integer_operands(c: Converter, node: Node, axis: int) -> tuple[list[tuple[int, Tensor]], np.ndarray, float]:
    """Planes of x, weights without their zero point, and the largest possible sum."""
    x, w = node.need(0), node.const(1, "the weights")
    zero = node.const(3, "the zero point of the weights")
    point = np.zeros((), np.int64) if zero is None else np.asarray(zero, np.int64)
    point = point.reshape([-1 if i == axis % w.ndim else 1 for i in range(w.ndim)]) if point.size > 1 else point.ravel()
    weights = np.asarray(w, np.int64) - (point if point.size > 1 else point[0] if point.size else 0)
    zero_x = node.input(2)
    if zero_x is not None and zero_x.value is not None and zero_x.size > 1:
        zero_x = Tensor((zero_x.size, 1), zero_x.dtype, zero_x.value.reshape(-1, 1))  # one for each row
    ints, bounds = centred(c, node, x, zero_x)
    if bounds is None or weights.size == 0:
        raise node.no("x of %s, weights of %d elements; supported: integers of 8 bits" % (x.dtype, weights.size))
    others = tuple(i for i in range(weights.ndim) if i != axis % weights.ndim)
    return (planes(c, node, ints, bounds), weights,
            float(np.abs(weights).sum(others).max()) * max(-bounds[0], bounds[1]))


def only_rounded(c: Converter, node: Node) -> bool:
    """Every reader of the result makes FP32 of it, which rounds sums as this network does."""
    readers = c.readers.get(node.outputs[0], [])
    return bool(readers) and all(r is not None and r.op_type == "Cast" for r in readers)


@op("ConvInteger", "auto_pad dilations group kernel_shape pads strides", takes="own")
def conv_integer(c: Converter, node: Node) -> list[Tensor]:
    x, w, most = integer_operands(c, node, 0)
    if most > EXACT_INT and not only_rounded(c, node):
        raise node.no("sums beyond 2^24, which FP32 does not hold")
    return [as_int32(sums(c, node, convolution(c, node, node.need(0), w), x, w, None))]


@op("MatMulInteger", takes="own")
def matmul_integer(c: Converter, node: Node) -> list[Tensor]:
    if node.need(1).value is None:
        (a, most_a), (b, most_b) = (centred(c, node, node.need(i), node.input(2 + i)) for i in (0, 1))
        if most_a is None or most_b is None or len(a.shape) < 2 or len(b.shape) < 2:
            raise node.no("dtypes %s and %s; supported: 8 bits" % (node.need(0).dtype, node.need(1).dtype))
        return [as_int32(ops_matrix.of_integers(c, node, a, b, most_a, most_b))]
    x, w, most = integer_operands(c, node, -1)
    if w.ndim != 2:
        raise node.no("%d and %d dimensions; supported: a matrix on the right" % (len(node.need(0).shape), w.ndim))
    if most > EXACT_INT and not only_rounded(c, node):
        raise node.no("sums beyond 2^24, which FP32 does not hold")
    return [as_int32(sums(c, node, matrix(c, node, node.need(0), w.T), x, np.ascontiguousarray(w.T), None))]


def as_int32(t: Tensor) -> Tensor:
    t.dtype = np.dtype(np.int32)
    return t


# ---- steps ----

def whole(node: Node) -> None:
    """Steps for a whole axis or tensor, in FP32."""
    if node.attr("block_size", 0):
        raise node.no("block_size %d; supported: 0" % node.attr("block_size"))
    if node.op == "DequantizeLinear" and node.attr("output_dtype", 0) not in (0, proto.FLOAT32):
        raise node.no("output_dtype %s, the NPU has FP32 and INT8" % proto.type_name(node.attr("output_dtype")))


def in_steps(c: Converter, node: Node, x: Tensor, scale: np.ndarray) -> tuple[Tensor, bool]:
    """x / scale, and whether these are integers already. Inputs of the graph are divided as ONNX does; other values are
    multiplied by the reciprocal (1.3 of a million values at the edge of two steps differ), sums by one factor."""
    if x.scaled is not None and x.scaled.grid is None:
        factor = (x.scaled.scale / scale).astype(np.float32)
        if np.all(factor == 1):
            return x.scaled.ints, True
        return binary(c, node, MUL, x.scaled.ints, Tensor(factor.shape, np.float32, factor)), False
    if any(p.blob == x.blob for p in c.inputs):
        return binary(c, node, DIV, x, Tensor(scale.shape, np.float32, scale)), False
    reciprocal = (np.float32(1) / scale).astype(np.float32)
    return binary(c, node, MUL, x, Tensor(scale.shape, np.float32, reciprocal)), False


def saturated(c: Converter, node: Node, x: Tensor, scale: np.ndarray, zero: np.ndarray, dtype: np.dtype) -> Tensor:
    """x in steps, clipped to the range of the type and rounded half to even, behind the zero point."""
    info = np.iinfo(dtype)
    low, high = (np.asarray(edge - zero, np.float32) for edge in (info.min, info.max))
    x.scaled = x.scaled if x.scaled is not None and x.scaled.grid is None else None
    v, integers = in_steps(c, node, x, scale)
    inside = integers and x.scaled.bounds is not None and x.scaled.bounds[0] >= low.max() and (
        x.scaled.bounds[1] <= high.min())
    if not inside and zero.size == 1:
        v = layer(c, "Clip", v, {0: float(low), 1: float(high)})
    elif not inside:
        v = binary(c, node, MIN, binary(c, node, MAX, v, Tensor(low.shape, np.float32, low)),
                   Tensor(high.shape, np.float32, high))
    ints = v if integers else rounded(c, node, v)
    y = ints if not np.any(zero) else binary(c, node, ADD, ints, Tensor(zero.shape, np.float32,
                                                                         zero.astype(np.float32)))
    y = Tensor(y.shape, dtype, None, y.blob, y.view, y.origin)
    if zero.size == 1:
        least = max(float(low), 0.0) if x.scaled is not None and x.scaled.relu else float(low)
        y.centred = (ints, int(zero), chained(c, node, x, scale, least, float(high)), (least, float(high)))
    return y


def chained(c: Converter, node: Node, x: Tensor, scale: np.ndarray, low: float, high: float) -> Tensor | None:
    """The values before rounding and clipping, straight from a convolution, where only convolutions read them: the blob
    between them stays INT8 (-128 becomes -127, halves are rounded away from zero)."""
    s = x.scaled
    if s is None or s.merged is None or high != LIMIT or low not in (0.0, -LIMIT, -LIMIT - 1.0):
        return None
    readers = [r for d in c.readers.get(node.outputs[0], []) for r in (
        c.readers.get(d.output[0], [None]) if d is not None and d.op_type == "DequantizeLinear" else [d])]
    if not readers or any(r is None or r.op_type not in ("Conv", "QLinearConv") for r in readers):
        return None
    return s.merged((s.scale / scale).astype(np.float32).ravel(), s.relu)


@op("QuantizeLinear", "axis block_size output_dtype precision saturate")
def quantize(c: Converter, node: Node) -> list[Tensor]:
    x = node.need(0)
    whole(node)
    scale, point = node.const(1, "y_scale"), node.const(2, "y_zero_point")
    scale = along_axis(node, exact(scale, node.where()), len(x.shape))
    dtype = type_of(node.attr("output_dtype", 0) or proto.UINT8) if point is None else point.dtype
    if dtype.kind not in "iu" or dtype.itemsize > 2:
        raise node.no("dtype %s of the result, the NPU has FP32 and INT8" % dtype)
    zero = along_axis(node, np.zeros((), np.int64) if point is None else point.astype(np.int64), len(x.shape))
    y = kernels.quantised(c, node, x, scale, int(zero), dtype) if scale.size == zero.size == 1 else None
    return [saturated(c, node, x, scale, zero, dtype) if y is None else y]


@op("DequantizeLinear", "axis block_size output_dtype", takes="own")
def dequantize(c: Converter, node: Node) -> list[Tensor]:
    x = node.need(0)
    whole(node)
    scale = node.input(1)
    if scale is not None and scale.value is None and scale.size == 1:  # of DynamicQuantizeLinear
        return [binary(c, node, MUL, centred(c, node, x, node.input(2))[0], scale)]
    steps = along_axis(node, exact(node.const(1, "x_scale"), node.where()), len(x.shape))
    zero = node.input(2)
    if zero is not None and (x.value is not None or zero.size > 1):
        zero = constant(along_axis(node, node.const(2, "x_zero_point"), len(x.shape)))
    if x.value is not None and x.dtype.kind not in "iu":
        raise node.no("dtype %s, expected integers" % x.dtype)
    return [as_scaled(c, node, 0, steps, zero)]


def fold_quantize(node: Node, x: np.ndarray, scale: np.ndarray, zero: np.ndarray | None = None) -> np.ndarray:
    """Constants that are quantised in the graph."""
    whole(node)
    dtype = type_of(node.attr("output_dtype", 0) or proto.UINT8) if zero is None else zero.dtype
    if dtype.kind not in "iu" or x.dtype != np.float32:
        raise node.no("from %s to %s" % (x.dtype, dtype))
    steps = np.rint(x / along_axis(node, scale, x.ndim))
    point = along_axis(node, 0 if zero is None else zero.astype(np.int64), x.ndim)
    return np.clip(steps + point, np.iinfo(dtype).min, np.iinfo(dtype).max).astype(dtype)


FOLDS["QuantizeLinear"] = fold_quantize


@op("DynamicQuantizeLinear")
def dynamic(c: Converter, node: Node) -> list[Tensor]:
    """Step and zero point from the smallest and the largest element, 0 included."""
    x = node.need(0)
    flat = c.reshaped(x, (x.size,))

    def largest(t: Tensor) -> Tensor:
        return binary(c, node, MAX, c.reshaped(reduce(c, LARGEST_OF, t, [0]), ()), c.scalar(0.0))
    top, bottom = largest(flat), unary(c, NEG, largest(unary(c, NEG, flat)))
    scale = binary(c, node, DIV, binary(c, node, SUB, top, bottom), c.scalar(255.0))
    scale = binary(c, node, MAX, scale, c.scalar(1e-37))  # of nothing but zeros: any
    zero = layer(c, "Clip", binary(c, node, DIV, unary(c, NEG, bottom), scale), {0: 0.0, 1: 255.0})
    zero = rounded(c, node, zero)
    steps = rounded(c, node, binary(c, node, DIV, x, scale))
    y = layer(c, "Clip", binary(c, node, ADD, steps, zero), {0: 0.0, 1: 255.0}, np.uint8)
    zero.dtype = np.dtype(np.uint8)
    return [y, scale, zero]


# ---- operators with steps on both sides ----

def steps_of(node: Node, i: int) -> np.ndarray:
    scale = node.const(i, "a scale")
    if scale is None:
        raise node.no("a scale is missing")
    return exact(scale, node.where()).ravel()


def both_sides(c: Converter, node: Node) -> list[Tensor]:
    """x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero, bias."""
    x_scale, w_scale, y_scale = (steps_of(node, i) for i in (1, 4, 6))
    w, zero = node.need(3), node.const(5, "the zero point of the weights")
    point = node.const(7, "the zero point of y")
    node.const(3, "the weights")
    if point is None or point.size != 1 or x_scale.size != 1 or y_scale.size != 1:
        raise node.no("a scale of x or y for each channel; supported: one")
    axis = 0 if node.op == "QLinearConv" else w.value.ndim - 1
    shape = [-1 if i == axis else 1 for i in range(w.value.ndim)]
    zero = None if zero is None else zero.reshape(shape) if zero.size > 1 else zero.ravel()[0]
    x = as_scaled(c, node, 0, x_scale.reshape(()), node.input(2))
    weights = constant_scaled(node, w.value, w_scale.reshape(shape) if w_scale.size > 1 else w_scale.reshape(()), zero)
    bias = node.input(8)
    if bias is not None:
        node.const(8, "the bias")
        step = (x_scale * w_scale).astype(np.float32)
        bias = constant_scaled(node, bias.value, step if step.size > 1 else step.reshape(()), None)
    y = weighted(c, node, x, weights, bias)
    if y is None:
        raise node.no("x of %s, weights %s; supported: integers of 8 bits, constant weights" %
                      (node.need(0).dtype, list(w.shape)))
    return [saturated(c, node, y, y_scale.reshape(()), np.asarray(point, np.int64).reshape(()), point.dtype)]


@op("QLinearConv", "auto_pad dilations group kernel_shape pads strides", takes="own")
def qlinear_conv(c: Converter, node: Node) -> list[Tensor]:
    return both_sides(c, node)


@op("QLinearMatMul", takes="own")
def qlinear_matmul(c: Converter, node: Node) -> list[Tensor]:
    if node.need(3).value is None:
        return of_two(c, node)
    if len(node.need(3).shape) != 2:
        return batched(c, node)
    return both_sides(c, node)


def of_two(c: Converter, node: Node) -> list[Tensor]:
    """Both operands are activations."""
    scales, points = [steps_of(node, i) for i in (1, 4, 6)], [node.const(i, "a zero point") for i in (2, 5, 7)]
    if any(p is None or p.size != 1 for p in points) or any(s.size != 1 for s in scales):
        raise node.no("a scale for each row of an input that is no constant; supported: one")
    x, w = (as_scaled(c, node, i, scales[i // 3].reshape(()), constant(np.ravel(points[i // 3])[0])) for i in (0, 3))
    y = ops_matrix.product(c, node, x, w)
    point = np.asarray(points[2], np.int64).reshape(())
    return [saturated(c, node, y, scales[2].reshape(()), point, points[2].dtype)]


def batched(c: Converter, node: Node) -> list[Tensor]:
    """The same batch on both sides, matrix by matrix."""
    from .ops_nn import MOST_PARTS
    from .ops_shape import divide, join
    a, b = node.need(0), node.const(3, "the weights")
    count = int(np.prod(a.shape[:-2]))
    if a.shape[:-2] != b.shape[:-2] or count > MOST_PARTS or b.ndim < 3:
        raise node.no("matrices %s times %s; supported: the same batch on both sides, up to %d" %
                      (list(a.shape), list(b.shape), MOST_PARTS))
    parts = []
    for i, part in enumerate(divide(c, c.reshaped(a, (count,) + a.shape[-2:]), 0, [1] * count)):
        one = Node.__new__(Node)
        one.__dict__.update(node.__dict__)
        one.inputs = list(node.inputs)
        one.inputs[0] = c.reshaped(part, a.shape[-2:])
        one.inputs[3] = constant(b.reshape((count,) + b.shape[-2:])[i])
        parts += both_sides(c, one)
    y = join(c, [c.reshaped(p, (1,) + p.shape) for p in parts], 0)
    return [Tensor(a.shape[:-1] + b.shape[-1:], parts[0].dtype, None, y.blob, y.view, y.origin)]


# ---- operators between DequantizeLinear and QuantizeLinear ----

def over_integers(name: str) -> None:
    """A layer with weights runs on the integers of its operands, where they have them."""
    plain, attributes, kinds = HANDLERS[name]

    def handler(c: Converter, node: Node) -> list[Tensor]:
        x, w = node.input(0), node.input(1)
        turn = bool(node.attr("transB", 0))
        fits = name != "Gemm" or (node.attr("alpha", 1.0) == 1 and node.attr("beta", 1.0) == 1 and
                                  not node.attr("transA", 0) and x is not None and len(x.shape) == 2)
        bias = node.input(2)
        small = bias is None or (bias.value is not None and w is not None and
                                 bias.size in (1, w.shape[0] if name == "Conv" or turn else w.shape[-1]))
        if x is not None and w is not None and fits and small and (name == "Conv" or len(w.shape) == 2):
            y = weighted(c, node, x, w, bias, turn)
            if y is not None:
                return [y]
        return plain(c, node)
    HANDLERS[name] = (handler, attributes, kinds)


KEEPS = ("Relu MaxPool GlobalMaxPool Reshape Flatten Squeeze Unsqueeze Identity Dropout Transpose DepthToSpace "
         "SpaceToDepth Slice Split Gather Concat Expand Tile")
AS_THEY_ARE = ("Relu", "MaxPool", "GlobalMaxPool")  # a step for each channel stays where it is


def moves_integers(name: str) -> None:
    """An operator that only chooses or moves elements does so with the integers, too."""
    plain, attributes, kinds = HANDLERS[name]

    def handler(c: Converter, node: Node) -> list[Tensor]:
        results = plain(c, node)
        limits = [t.limit for t in (node.inputs if name == "Concat" else node.inputs[:1]) if t is not None]
        for result in results:
            if result is not None and result.value is None and limits and None not in limits:
                result.limit = max(limits)
        data = node.inputs if name == "Concat" else node.inputs[:1]
        steps = [t.scaled for t in data if t is not None]
        if not steps or any(s is None for s in steps) or any(t.value is not None for t in data):
            return results
        if any(s.scale.shape != steps[0].scale.shape or np.any(s.scale != steps[0].scale) for s in steps):
            return results
        if name not in AS_THEY_ARE and steps[0].scale.size != 1 or len({s.grid for s in steps}) > 1:
            return results
        same = Node.__new__(Node)
        same.__dict__.update(node.__dict__)
        same.inputs = [s.ints for s in steps] + node.inputs[len(data):]
        bounds = None if any(s.bounds is None for s in steps) else (
            min(s.bounds[0] for s in steps), max(s.bounds[1] for s in steps))
        relu = name == "Relu"
        if relu and bounds is not None:
            bounds = (max(bounds[0], 0.0), max(bounds[1], 0.0))
        for result, ints in zip(results, plain(c, same)):
            if result is not None and result.value is None:
                result.scaled = Scaled(ints if steps[0].grid is None else result, steps[0].scale, bounds,
                                       steps[0].merged if relu else None, relu, None, steps[0].grid)
        return results
    HANDLERS[name] = (handler, attributes, kinds)


for _name in ("Conv", "Gemm", "MatMul"):
    over_integers(_name)
for _name in KEEPS.split():
    moves_integers(_name)
for _name in ("Add", "Mul", "Softmax", "AveragePool"):
    kernels.marks(_name)
