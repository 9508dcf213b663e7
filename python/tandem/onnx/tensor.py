"""Tensors and nodes while a graph is converted, and the table of operators."""

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx

from .net import NeedsConstant, Unsupported, View

if TYPE_CHECKING:
    from .converter import Converter

LARGEST = 1 << 28  # elements of a tensor
EXACT_INT = 1 << 24  # integers up to here are exact in FP32
FLOATS = (np.dtype(np.float32),)
SMALL = tuple(np.dtype(t) for t in (np.int8, np.uint8, np.int16, np.uint16, np.float16))  # every value is exact in FP32
WIDE = tuple(np.dtype(t) for t in (np.int32, np.int64, np.uint32, np.uint64))  # exact up to EXACT_INT
BOOL = np.dtype(np.bool_)


class Tensor:
    """A tensor while the graph is converted: a constant (value), or a blob that holds it in the shape `view`."""

    def __init__(self, shape: Sequence[int], dtype: Any, value: np.ndarray | None = None,
                 blob: str = "", view: View = (), origin: frozenset[str] = frozenset()):
        self.shape = tuple(int(n) for n in shape)
        self.dtype = np.dtype(dtype)
        self.value, self.blob, self.view, self.origin = value, blob, tuple(view), origin
        self.blobs: dict[View, str] = {}  # the same elements in other shapes

    @property
    def size(self) -> int:
        return math.prod(self.shape)


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
    """A node: attributes and inputs, and errors that name it."""

    def __init__(self, proto: onnx.NodeProto, inputs: list[Tensor | None], opset: int):
        self.op, self.opset, self.inputs = proto.op_type, opset, inputs
        self.name = proto.name or (proto.output[0] if proto.output else "")
        self.outputs = list(proto.output)
        self.attributes = {a.name: onnx.helper.get_attribute_value(a) for a in proto.attribute}

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
