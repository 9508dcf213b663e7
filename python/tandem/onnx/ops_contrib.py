"""Operators of the domain com.microsoft, which onnxruntime's static quantiser writes: an operator of ONNX between
DequantizeLinear and QuantizeLinear, whose steps are inputs of their own."""

from __future__ import annotations

import numpy as np

from . import kernels
from .converter import Converter
from .ops_quant import as_scaled, constant_scaled, saturated, steps_of, weighted
from .tensor import HANDLERS, Node, Tensor, constant, op

DOMAIN = "com.microsoft."


def one_step(node: Node, i: int) -> np.ndarray:
    """A scale of a whole tensor."""
    scale = steps_of(node, i)
    if scale.size != 1:
        raise node.no("%d scales in input %d; supported: one" % (scale.size, i))
    return scale.reshape(())


def operand(c: Converter, node: Node, i: int) -> Tensor:
    """Inputs i, i + 1 (scale), i + 2 (zero point) as a real tensor."""
    return as_scaled(c, node, i, one_step(node, i + 1), node.input(i + 2))


def result(c: Converter, node: Node, y: Tensor, i: int) -> list[Tensor]:
    """A real tensor in the steps of inputs i (scale) and i + 1 (zero point)."""
    point = node.const(i + 1, "the zero point of the result")
    if point is None:
        point = np.zeros((), np.uint8)
    if point.size != 1 or point.dtype.kind not in "iu" or point.dtype.itemsize > 2:
        raise node.no("%d zero points of %s; supported: one integer" % (point.size, point.dtype))
    return [saturated(c, node, y, one_step(node, i), point.astype(np.int64).reshape(()), point.dtype)]


def kernel_of(node: Node, i: int, *parts: Tensor) -> tuple[np.ndarray, int, np.dtype] | None:
    """Scale (input i), zero point (input i + 1) and type of a result that a kernel on integers of eight bits computes
    from these parts. None: it is computed in FP32."""
    point = node.const(i + 1, "the zero point of the result")
    if point is None or point.size != 1 or not kernels.eligible(point.dtype, *(p.scaled for p in parts)):
        return None
    return one_step(node, i), int(point.ravel()[0]), point.dtype


def plain(c: Converter, node: Node, name: str, inputs: list[Tensor | None]) -> Tensor:
    """ONNX's operator of that name over these inputs, with the attributes of the node."""
    inner = Node.__new__(Node)
    inner.__dict__.update(node.__dict__)
    inner.op, inner.inputs = name, inputs
    return HANDLERS[name][0](c, inner)[0]


@op(DOMAIN + "QuantizeLinear", "axis")
def quantize(c: Converter, node: Node) -> list[Tensor]:
    return [plain(c, node, "QuantizeLinear", node.inputs)]


@op(DOMAIN + "DequantizeLinear", "axis", takes="own")
def dequantize(c: Converter, node: Node) -> list[Tensor]:
    return [plain(c, node, "DequantizeLinear", node.inputs)]


@op("%sQLinearAdd %sQLinearMul" % (DOMAIN, DOMAIN), takes="own")
def pair(c: Converter, node: Node) -> list[Tensor]:
    a, b = operand(c, node, 0), operand(c, node, 3)
    steps = kernel_of(node, 6, a, b) if a.value is None or b.value is None else None
    if steps is not None:
        y = (kernels.add if node.op == "QLinearAdd" else kernels.product)(c, node, a.scaled, b.scaled, *steps)
        if y is not None:
            return [y]
    return result(c, node, plain(c, node, node.op[len("QLinear"):], [a, b]), 6)


@op(" ".join(DOMAIN + "QLinear" + n for n in ("GlobalAveragePool", "AveragePool", "LeakyRelu", "Sigmoid")),
    "alpha auto_pad ceil_mode channels_last count_include_pad kernel_shape pads strides", takes="own")
def single(c: Converter, node: Node) -> list[Tensor]:
    if node.attr("channels_last", 0):
        raise node.no("channels_last; supported: 0")
    x = operand(c, node, 0)
    y = plain(c, node, node.op[len("QLinear"):], [x])
    steps = kernel_of(node, 3, x) if node.op == "QLinearAveragePool" else None
    return result(c, node, y, 3) if steps is None else [kernels.average(c, node, y, *steps)]


@op(DOMAIN + "QLinearSoftmax", "axis opset", takes="own")
def softmax(c: Converter, node: Node) -> list[Tensor]:
    inner = Node.__new__(Node)
    inner.__dict__.update(node.__dict__)
    x = operand(c, node, 0)
    inner.op, inner.inputs, inner.opset = "Softmax", [kernels.finite(c, node, x)], node.attr("opset", 13)
    real, steps = HANDLERS["Softmax"][0](c, inner)[0], kernel_of(node, 3, x)
    y = None if steps is None else kernels.softmax(c, node, real, *steps)
    return result(c, node, real, 3) if y is None else [y]


@op(DOMAIN + "QLinearConcat", "axis", takes="own")
def concat(c: Converter, node: Node) -> list[Tensor]:
    """The result's scale and zero point, then three inputs for each part."""
    parts = [operand(c, node, i) for i in range(2, len(node.inputs), 3)]
    return result(c, node, plain(c, node, "Concat", list(parts)), 0)


@op(DOMAIN + "QGemm", "alpha transA transB", takes="own")
def gemm(c: Converter, node: Node) -> list[Tensor]:
    """a, a_scale, a_zero, b, b_scale, b_zero, bias in steps of a_scale * b_scale, y_scale, y_zero."""
    b, b_scale = node.const(3, "the weights"), steps_of(node, 4)
    if b is None or b.ndim != 2 or node.attr("transA", 0) or node.attr("alpha", 1.0) != 1:
        raise node.no("transA %d, alpha %g; supported: 0 and 1, a constant matrix" %
                      (node.attr("transA", 0), node.attr("alpha", 1.0)))
    turn = bool(node.attr("transB", 0))
    shape = ((-1, 1) if turn else (1, -1)) if b_scale.size > 1 else ()
    zero, bias, step = node.const(5, "the zero point of b"), node.const(6, "the bias"), one_step(node, 1) * b_scale
    zero = None if zero is None else zero.reshape(shape) if zero.size > 1 else zero.ravel()[0]
    weights = constant_scaled(node, b, b_scale.reshape(shape), zero)
    added = None if bias is None else constant_scaled(node, bias, step if step.size > 1 else step.reshape(()), None)
    y = weighted(c, node, operand(c, node, 0), weights, added, turn)
    if y is None:
        raise node.no("a of %s; supported: integers of 8 bits" % node.need(0).dtype)
    return [y] if node.input(7) is None else result(c, node, y, 7)


@op(DOMAIN + "DynamicQuantizeLSTM", "activations direction hidden_size input_forget", takes="own")
def lstm(c: Converter, node: Node) -> list[Tensor]:
    """ONNX's LSTM with the weights that the integers stand for; onnxruntime also quantises input and state, by scales
    that it finds while it runs."""
    inputs = [node.input(i) for i in range(8)]
    for i, first in ((1, 8), (2, 10)):
        w, scale, zero = node.const(i, "weights"), steps_of(node, first), node.const(first + 1, "a zero point")
        if w is None or w.ndim != 3 or w.dtype.kind not in "iu" or scale.size not in (1, w.shape[0]) + (
                (w.shape[0] * w.shape[2],)):
            raise node.no("weights %s with %d scales; supported: one for each direction or row" %
                          (None if w is None else list(w.shape), scale.size))
        each = (1, 1, 1) if scale.size == 1 else (w.shape[0], 1, scale.size // w.shape[0])
        point = np.zeros(1, np.int64) if zero is None else np.asarray(zero, np.int64).ravel()
        less = point.reshape(each) if point.size == scale.size else point[0]
        real = (w.astype(np.int64) - less) * scale.reshape(each)
        inputs[i] = constant(np.ascontiguousarray(real.astype(np.float32).swapaxes(1, 2)))
    inner = Node.__new__(Node)
    inner.__dict__.update(node.__dict__)
    inner.op, inner.inputs = "LSTM", inputs
    return HANDLERS["LSTM"][0](c, inner)
