"""Tensors and nodes while a graph is converted, and the table of operators."""

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from . import proto
from .net import NeedsConstant, Unsupported, View

if TYPE_CHECKING:
    from .converter import Converter

OWN = ("", "ai.onnx")  # domains of ONNX's own operators
LARGEST = 1 << 28  # elements of a tensor
EXACT_INT = 1 << 24  # integers up to here are exact in FP32
FLOATS = (np.dtype(np.float32), np.dtype(np.float64))  # double is computed in FP32
SMALL = tuple(np.dtype(t) for t in (np.int8, np.uint8, np.int16, np.uint16, np.float16))  # every value is exact in FP32
WIDE = tuple(np.dtype(t) for t in (np.int32, np.int64, np.uint32, np.uint64))  # exact up to EXACT_INT
BOOL = np.dtype(np.bool_)

# types of attributes, by name: one type for all operators that have one of that name
ATTRIBUTES = {name: kind for kind, names in (
    (proto.INT, "axis batch_axis block_size blocksize ceil_mode count_include_pad detect_negative detect_positive end "
     "exclude_outside exclusive fmod group hidden_size ignore_index k keepdims keep_aspect_ratio largest "
     "noop_with_empty_axes num_groups num_outputs output_dtype p reverse saturate select_last_index sorted start "
     "storage_order to transA transB upper value_int antialias stash_type allowzero training_mode"),
    (proto.INTS, "dilations kernel_shape output_padding output_shape pads perm strides value_ints"),
    (proto.FLOAT, "alpha beta bias cubic_coeff_a epsilon extrapolation_value gamma lambd momentum value_float"),
    (proto.FLOATS, "value_floats"),
    (proto.STR, "approximate auto_pad coordinate_transformation_mode equation keep_aspect_ratio_policy mode "
     "nearest_mode reduction")) for name in names.split()}
# most inputs, by operator; others take any number
MOST_INPUTS = {name: n for n, names in (
    (0, "Constant"),
    (1, "Abs Acos Acosh ArgMax ArgMin Asin Asinh Atan Atanh AveragePool Cast Ceil Celu ConstantOfShape Cos Cosh "
     "DepthToSpace DynamicQuantizeLinear Elu Erf Exp EyeLike Flatten Floor Gelu GlobalAveragePool GlobalMaxPool "
     "HardSigmoid HardSwish Hardmax Identity IsInf IsNaN LRN LeakyRelu Log LogSoftmax MaxPool "
     "MeanVarianceNormalization Mish Neg NonZero Not Reciprocal Relu Round Selu Shape Shrink Sigmoid Sign Sin Sinh "
     "Size Softmax Softplus Softsign SpaceToDepth Sqrt Swish Tan Tanh ThresholdedRelu Transpose"),
    (2, "Add And CastLike Compress CumSum Div Equal Expand Gather GatherElements GatherND Greater GreaterOrEqual Less "
     "LessOrEqual MatMul Mod Mul Or PRelu Pow RMSNormalization ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp "
     "ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum ReduceSumSquare Reshape ReverseSequence Split Squeeze Sub "
     "TopK Trilu Unsqueeze Upsample Xor"),
    (3, "Clip Conv ConvTranspose DequantizeLinear Dropout Gemm GroupNormalization InstanceNormalization "
     "LayerNormalization NegativeLogLikelihoodLoss OneHot QuantizeLinear Range ScatterElements Scatter ScatterND "
     "SoftmaxCrossEntropyLoss Tile Where"),
    (4, "ConvInteger MatMulInteger Pad Resize"), (5, "BatchNormalization Slice"), (8, "QLinearMatMul"),
    (9, "QLinearConv")) for name in names.split()}


class Tensor:
    """A tensor while the graph is converted: a constant (value), or a blob that holds it in the shape `view`."""

    def __init__(self, shape: Sequence[int], dtype: Any, value: np.ndarray | None = None,
                 blob: str = "", view: View = (), origin: frozenset[str] = frozenset()):
        self.shape = tuple(int(n) for n in shape)
        self.dtype = np.dtype(dtype)
        self.value, self.blob, self.view, self.origin = value, blob, tuple(view), origin
        self.blobs: dict[View, str] = {}  # the same elements in other shapes
        self.scaled: Any = None  # integers and a step that it stands for (ops_quant.Scaled)
        self.limit: float | None = None if value is None or self.dtype.kind not in "fiub" else float(
            np.abs(np.asarray(value, np.float64)).max(initial=0))  # largest magnitude, where samples tell it
        self.most: float | None = None  # largest magnitude of integers, where it is below what their type holds
        self.kernel: Any = None  # operator and operands of a result that is quantised with them (kernels.py)
        self.centred: Any = None  # of integers: those without zero point, the zero point, those before rounding

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    def largest(self) -> float:
        """Of integers and bool: no magnitude is above it. Wide ones are exact in FP32 everywhere in a network."""
        if self.most is not None:
            return self.most
        if self.value is not None:
            return float(np.abs(np.asarray(self.value, np.float64)).max(initial=0))
        if self.dtype == BOOL:
            return 1.0
        if self.dtype in WIDE:
            return float(EXACT_INT)
        return float(max(-np.iinfo(self.dtype).min, np.iinfo(self.dtype).max))


def natural(shape: Sequence[int]) -> View:
    """The default shape of a blob for a tensor: a batch of one is dropped."""
    shape = tuple(shape)
    if len(shape) == 4 and shape[0] == 1:
        return shape[1:]
    if len(shape) > 3:
        return (math.prod(shape[:-2]),) + shape[-2:]
    return shape or (1,)


def around(shape: Sequence[int], first: int, last: int) -> tuple[int, int, int]:
    """Elements outside of, in, and inside of the axes first..last."""
    return math.prod(shape[:first]), math.prod(shape[first:last + 1]), math.prod(shape[last + 1:])


def compact(outer: int, n: int, inner: int) -> tuple[View, int]:
    """The view of outer x n x inner elements with as few dimensions as possible, and the axis of n in it."""
    view = ((outer,) if outer > 1 else ()) + (n,) + ((inner,) if inner > 1 else ())
    return view, 1 if outer > 1 else 0


class Node:
    """A node: attributes and inputs, and errors that name it. folder: that of the model's file, for data beside it."""

    def __init__(self, message: proto.Message, inputs: list[Tensor | None], opset: int, folder: str | None = None):
        self.op, self.opset, self.inputs, self.folder = message.op_type, opset, inputs, folder
        self.key = message.op_type if message.domain in OWN else message.domain + "." + message.op_type
        self.name = message.name or next(filter(None, message.output), "")
        self.outputs = list(message.output)
        self.attributes: dict[str, Any] = {}
        for a in message.attribute:
            self.attributes[a.name] = proto.attribute(a)
            expected = ATTRIBUTES.get(a.name)
            if expected is not None and a.type not in (0, expected):
                raise self.no("attribute %s has the type %d, expected %d" % (a.name, a.type, expected))
        if len(inputs) > MOST_INPUTS.get(self.key, len(inputs)):
            raise self.no("%d inputs, expected at most %d" % (len(inputs), MOST_INPUTS[self.key]))

    def attr(self, name: str, default: Any = None) -> Any:
        value = self.attributes.get(name, default)
        return value.decode() if isinstance(value, bytes) else value

    def input(self, i: int) -> Tensor | None:
        return self.inputs[i] if i < len(self.inputs) else None

    def need(self, i: int) -> Tensor:
        tensor = self.input(i)
        if tensor is None:
            raise self.no("input %d is missing" % i)
        return tensor

    def where(self) -> str:
        return "operator %s, node '%s'" % (self.op, self.name)

    def no(self, text: str) -> Unsupported:
        return Unsupported("%s: %s" % (self.where(), text))

    def const(self, i: int, what: str) -> np.ndarray | None:
        """Values of an input that must be constant; None: it is absent."""
        tensor = self.input(i)
        if tensor is None:
            return None
        if tensor.value is None:
            raise NeedsConstant("%s: %s (input %d) depends on inputs of the graph, expected a constant" %
                                (self.where(), what, i), sorted(tensor.origin))
        return tensor.value

    def axis(self, value: int, rank: int) -> int:
        if not -rank <= value < max(rank, 1):
            raise self.no("axis %d of a tensor with %d dimensions" % (value, rank))
        return value % rank if rank else 0

    def ints(self, i: int, name: str) -> list[int] | None:
        """A list of integers: input i, or in older opsets the attribute."""
        values = self.const(i, name)
        if values is None:
            values = self.attr(name)
        return None if values is None else [int(v) for v in np.ravel(values)]


Handler = Callable[["Converter", Node], list]
HANDLERS: dict[str, tuple[Handler, frozenset[str], str]] = {}


def op(names: str, attributes: str = "", takes: str = "float"):
    """Register a handler. attributes: those that it supports. takes: "float"; "moves": any type whose values fit FP32;
    "own": the handler decides."""
    def register(handler: Handler) -> Handler:
        for name in names.split():
            HANDLERS[name] = (handler, frozenset(attributes.split()), takes)
        return handler
    return register


def takes(dtype: np.dtype, kinds: str) -> bool:
    return dtype in FLOATS or (kinds in ("moves", "own") and (dtype in SMALL or dtype in WIDE or dtype == BOOL))


def constant(value: np.ndarray) -> Tensor:
    value = np.asarray(value)
    return Tensor(value.shape, value.dtype, value)


def exact(values: np.ndarray, where: str) -> np.ndarray:
    """As FP32; integers must stay what they are."""
    real = np.asarray(values).astype(np.float32)
    if values.dtype.kind in "iu" and not np.array_equal(real.astype(np.float64), np.asarray(values).astype(np.float64)):
        raise Unsupported("%s: integers above 2^24, which FP32 does not hold" % where)
    return real
