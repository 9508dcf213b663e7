"""Integers: convolutions and products of INT8 on the GEMM, exactly; quantising in FP32 steps."""

import numpy as np

from . import proto
from .converter import Converter
from .fold import type_of
from .ops_math import ADD, DIV, MUL, ROUND, SUB, binary, layer, unary
from .ops_nn import kernel_keys, map_view, per_image, sides, spatial
from .ops_shape import transpose
from .tensor import BOOL, Node, Tensor, exact, op

INT8 = np.dtype(np.int8)
LIMIT = 127  # of the NPU's INT8: -127..127


def zero_point(node: Node, i: int, what: str) -> np.ndarray:
    value = node.const(i, what) if node.input(i) is not None else None
    return np.zeros((), np.int64) if value is None else np.asarray(value, np.int64)


def operands(c: Converter, node: Node, x_zero: int, w_zero: int, axis: int) -> tuple[Tensor, np.ndarray]:
    """x without its zero point, and weights without theirs. Values of x beyond INT8 after that are refused when
    the network is run."""
    x, w = node.need(0), node.const(1, "the weights")
    zero = zero_point(node, x_zero, "the zero point of x")
    if zero.size != 1:
        raise node.no("a zero point of x for each row; supported: one")
    point = zero_point(node, w_zero, "the zero point of the weights")
    if point.size > 1:  # one for each output
        point = point.reshape([-1 if i == axis % w.ndim else 1 for i in range(w.ndim)])
    w = np.asarray(w, np.int64) - point
    if w.size == 0 or np.abs(w).max() > LIMIT:
        raise node.no("weights beyond %d after subtracting their zero point" % LIMIT)
    ports = [p for p in c.inputs if p.blob == x.blob]
    if not ports:
        raise node.no("the input of an INT8 operator; supported: an input of the graph, whose values can be checked")
    low, high = int(zero) - LIMIT, int(zero) + LIMIT
    port = ports[0]
    port.bounds = (low, high) if port.bounds is None else (max(low, port.bounds[0]), min(high, port.bounds[1]))
    return binary(c, node, SUB, x, c.scalar(float(zero))), w


def int8_arrays(w: np.ndarray) -> list[tuple[str, np.ndarray]]:
    """Weights with all scales 1: the outputs are the sums."""
    return [("int8", w.astype(np.int8)), ("raw", np.ones(w.shape[0], np.float32)), ("raw", np.ones(1, np.float32))]


def within_fp32(node: Node, terms: int, w: np.ndarray) -> None:
    if int(np.abs(w).max()) * LIMIT * terms > 1 << 24:
        raise node.no("sums beyond 2^24, which FP32 does not hold")


def convolve(c: Converter, node: Node, x: Tensor, w: np.ndarray) -> Tensor:
    if len(x.shape) != 4 or w.ndim != 4 or node.attr("group", 1) != 1:
        raise node.no("group %d over %d dimensions; supported: 1 over 4" % (node.attr("group", 1), len(x.shape)))
    kernel, strides, dilations = list(w.shape[2:]), spatial(node, "strides", 2), spatial(node, "dilations", 2)
    pads, sizes = sides(node, x, kernel, strides, dilations)
    within_fp32(node, w[0].size, w)
    params = kernel_keys(kernel, strides, dilations, pads) | {0: w.shape[0], 5: 0, 6: w.size, 8: 2}

    def one(t: Tensor) -> Tensor:
        blob = c.add("Convolution", [c.use(t, map_view(t))], (w.shape[0], *sizes), params, int8_arrays(w))
        return c.result((1, w.shape[0], *sizes), blob, np.int32, t)
    return per_image(c, node, x, one)


def multiply(c: Converter, node: Node, x: Tensor, w: np.ndarray) -> Tensor:
    """Rows of a matrix as rows of an image, whose columns are one window."""
    if w.ndim != 2 or len(x.shape) != 2:
        raise node.no("%d and %d dimensions; supported: matrices" % (len(x.shape), w.ndim))
    (rows, k), n = x.shape, w.shape[1]
    within_fp32(node, k, w)
    if k > 255:
        raise node.no("%d columns; supported: up to 255" % k)
    params = kernel_keys([1, k], [1, 1], [1, 1], [0] * 4) | {0: n, 5: 0, 6: w.size, 8: 2}
    blob = c.add("Convolution", [c.use(x, (1, rows, k))], (n, rows, 1), params, int8_arrays(np.ascontiguousarray(w.T)))
    return transpose(c, c.result((n, rows), blob, np.int32, x), [1, 0])


@op("ConvInteger", "auto_pad dilations group kernel_shape pads strides", takes="own")
def conv_integer(c: Converter, node: Node) -> list[Tensor]:
    return [convolve(c, node, *operands(c, node, 2, 3, 0))]


@op("MatMulInteger", takes="own")
def matmul_integer(c: Converter, node: Node) -> list[Tensor]:
    return [multiply(c, node, *operands(c, node, 2, 3, -1))]


def saturate(c: Converter, node: Node, x: Tensor, zero: np.ndarray, dtype: np.dtype) -> Tensor:
    """Rounded half to even, shifted by the zero point, clipped to the range of the type."""
    limits = np.iinfo(dtype)
    y = binary(c, node, ADD, unary(c, ROUND, x), Tensor(zero.shape, np.float32, zero.astype(np.float32)))
    return layer(c, "Clip", y, {0: float(limits.min), 1: float(limits.max)}, dtype)


def along_axis(node: Node, values: np.ndarray, rank: int) -> np.ndarray:
    """One value for each element of an axis, in a shape that is repeated along the others."""
    values = np.asarray(values)
    if values.size == 1:
        return values.reshape(())
    return values.reshape([-1 if i == node.axis(node.attr("axis", 1), rank) else 1 for i in range(rank)])


def whole(node: Node) -> None:
    """Steps for a whole axis or tensor, in FP32."""
    if node.attr("block_size", 0):
        raise node.no("block_size %d; supported: 0" % node.attr("block_size"))
    if node.op == "DequantizeLinear" and node.attr("output_dtype", 0) not in (0, proto.FLOAT32):
        raise node.no("output_dtype %s, the NPU has FP32 and INT8" % proto.type_name(node.attr("output_dtype")))


@op("QuantizeLinear", "axis block_size output_dtype precision saturate")
def quantize(c: Converter, node: Node) -> list[Tensor]:
    x = node.need(0)
    whole(node)
    scale, point = node.const(1, "y_scale"), node.const(2, "y_zero_point")
    scale = along_axis(node, exact(scale, node.where()), len(x.shape))
    dtype = type_of(node.attr("output_dtype", 0) or proto.UINT8) if point is None else point.dtype
    if dtype.kind not in "iu":
        raise node.no("dtype %s of the result, the NPU has FP32 and INT8" % dtype)
    zero = along_axis(node, np.zeros((), np.int64) if point is None else point.astype(np.int64), len(x.shape))
    y = binary(c, node, DIV, x, Tensor(scale.shape, np.float32, scale))
    return [saturate(c, node, y, zero, dtype)]


@op("DequantizeLinear", "axis block_size output_dtype", takes="own")
def dequantize(c: Converter, node: Node) -> list[Tensor]:
    x = node.need(0)
    whole(node)
    if x.dtype.kind not in "iu" or x.dtype == BOOL:
        raise node.no("dtype %s" % x.dtype)
    scale, point = node.const(1, "x_scale"), node.const(2, "x_zero_point")
    scale = along_axis(node, exact(scale, node.where()), len(x.shape))
    y = x
    if point is not None and np.any(point):
        zero = along_axis(node, point.astype(np.float32), len(x.shape))
        y = binary(c, node, SUB, x, Tensor(zero.shape, np.float32, zero))
    return [binary(c, node, MUL, y, Tensor(scale.shape, np.float32, scale))]


@op("QLinearConv", "auto_pad dilations group kernel_shape pads strides", takes="own")
def qlinear_conv(c: Converter, node: Node) -> list[Tensor]:
    """Sums on the GEMM, rescaled in FP32: x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero, bias."""
    return [rescaled(c, node, convolve)]


@op("QLinearMatMul", takes="own")
def qlinear_matmul(c: Converter, node: Node) -> list[Tensor]:
    return [rescaled(c, node, multiply)]


def rescaled(c: Converter, node: Node, product) -> Tensor:
    scales = [node.const(i, "a scale") for i in (1, 4, 6)]
    point = node.const(7, "the zero point of y")
    if any(s is None or s.size != 1 for s in scales) or node.input(8) is not None or point is None or point.size != 1:
        raise node.no("a bias, or a scale for each channel; supported: neither")
    inner = Node.__new__(Node)
    inner.__dict__.update(node.__dict__)
    inner.inputs = [node.need(0), node.need(3), node.need(2), node.need(5)]
    sums = product(c, inner, *operands(c, inner, 2, 3, 0 if product is convolve else -1))
    x_scale, w_scale, y_scale = (np.float32(s.ravel()[0]) for s in scales)
    y = binary(c, node, MUL, sums, c.scalar(np.float32(x_scale * w_scale / y_scale)))
    return saturate(c, node, y, np.asarray(point, np.int64).reshape(()), point.dtype)
