"""Nodes whose result is known when the graph is converted: everything over constants, and shapes."""

import math
from collections.abc import Callable, Iterable
from functools import reduce

import numpy as np

from . import proto
from .tensor import LARGEST, Node, Tensor, constant


def type_of(number: int) -> np.dtype:
    """The dtype of an element type of ONNX. KeyError: NumPy has none."""
    return np.dtype(object) if number == proto.STRING else proto.DTYPES[number]


def _constant(node: Node) -> np.ndarray | None:
    for name, value in node.attributes.items():
        if name == "value":
            return proto.array(value, node.folder)
        if name in ("value_float", "value_floats"):
            return np.array(value, np.float32)
        if name in ("value_int", "value_ints"):
            return np.array(value, np.int64)
    return None


def _filled(node: Node, shape: np.ndarray) -> np.ndarray:
    given = node.attributes.get("value")
    value = np.zeros(1, np.float32) if given is None else proto.array(given, node.folder)
    return np.full(bounded(node, shape), value.ravel()[0], value.dtype)


def bounded(node: Node, shape: Iterable[int]) -> tuple[int, ...]:
    """Sizes of a constant that is computed here."""
    sizes = tuple(int(n) for n in shape)
    if math.prod(sizes) > LARGEST or min(sizes, default=0) < 0:
        raise node.no("a constant of the shape %s, expected at most %d elements" % (list(sizes), LARGEST))
    return sizes


def _tile(node: Node, x: np.ndarray, repeats: np.ndarray) -> np.ndarray:
    bounded(node, [n * int(r) for n, r in zip(x.shape, repeats)])
    return np.tile(x, [int(r) for r in repeats])


def _cast(node: Node, x: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        return x.astype(type_of(node.attr("to")))


def reshape_to(node: Node, shape: tuple[int, ...], wanted: list[int]) -> list[int]:
    """Sizes after a Reshape: 0 copies (unless allowzero), -1 is the rest."""
    sizes = list(wanted)
    for i, n in enumerate(sizes):
        if n == 0 and not node.attr("allowzero", 0):
            if i >= len(shape):
                raise node.no("size 0 in place %d of a tensor with %d dimensions" % (i, len(shape)))
            sizes[i] = shape[i]
    rest = math.prod(n for n in sizes if n != -1)
    total = math.prod(shape)
    if sizes.count(-1) > 1 or min(sizes, default=1) < -1 or (-1 in sizes and (rest == 0 or total % rest)):
        raise node.no("impossible shape %s for %d elements" % (wanted, total))
    sizes = [total // rest if n == -1 else n for n in sizes]
    if math.prod(sizes) != total:
        raise node.no("impossible shape %s for %d elements" % (wanted, total))
    return sizes


def _divide(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    if a.dtype.kind in "iu":
        return (np.sign(a) * np.sign(b) * (np.abs(a) // np.abs(b))).astype(a.dtype)
    return a / b


def _slice(node: Node, x: np.ndarray, starts, ends, axes=None, steps=None) -> np.ndarray:
    axes = range(len(starts)) if axes is None else [int(a) for a in axes]
    steps = [1] * len(starts) if steps is None else [int(s) for s in steps]
    index = [slice(None)] * x.ndim
    for start, end, axis, step in zip(starts, ends, axes, steps):
        stop = int(end) if step > 0 or int(end) >= -x.shape[axis] else None
        index[axis] = slice(int(start), stop, step)
    return x[tuple(index)]


def _concat(node: Node, *xs: np.ndarray) -> np.ndarray:
    return np.concatenate(xs, axis=node.attr("axis", 0))


def _squeeze(node: Node, x: np.ndarray, axes=None) -> np.ndarray:
    axes = node.ints(1, "axes")
    return x.squeeze() if axes is None else x.squeeze(tuple(axes))


def _unsqueeze(node: Node, x: np.ndarray, axes=None) -> np.ndarray:
    axes = node.ints(1, "axes") or []
    return np.expand_dims(x, tuple(axes))


def _range(node: Node, start, limit, delta) -> np.ndarray:
    if delta == 0 or abs((limit - start) / delta) > LARGEST:
        raise node.no("an impossible range")
    return np.arange(start, limit, delta, dtype=start.dtype)


def _split(node: Node, x: np.ndarray, sizes: np.ndarray | None = None) -> list[np.ndarray]:
    axis, count = node.attr("axis", 0), len(node.outputs)
    sizes = node.attr("split") if sizes is None else sizes
    each = -(-x.shape[axis] // count)
    ends = np.cumsum(sizes)[:-1] if sizes is not None else [each * i for i in range(1, count)]
    return np.split(x, [int(e) for e in ends], axis)


def _reduced(function) -> Callable:
    def handler(node: Node, x: np.ndarray, axes: np.ndarray | None = None) -> np.ndarray:
        given = node.ints(1, "axes")
        if not given and node.attr("noop_with_empty_axes", 0):
            return x
        y = function(x, axis=tuple(given) if given else None, keepdims=bool(node.attr("keepdims", 1)))
        return y.astype(x.dtype)
    return handler


def _arg(function) -> Callable:
    def handler(node: Node, x: np.ndarray) -> np.ndarray:
        y = function(x, axis=node.attr("axis", 0))
        return np.asarray(np.expand_dims(y, node.attr("axis", 0)) if node.attr("keepdims", 1) else y, np.int64)
    return handler


def _scatter_nd(node: Node, x: np.ndarray, index: np.ndarray, values: np.ndarray) -> np.ndarray:
    if node.attr("reduction", "none") != "none":
        raise ValueError("reduction %s; supported: none" % node.attr("reduction"))
    y = x.copy()
    y[tuple(np.moveaxis(index, -1, 0))] = values
    return y


def _gather_nd(node: Node, x: np.ndarray, index: np.ndarray) -> np.ndarray:
    if node.attr("batch_dims", 0):
        raise ValueError("batch_dims; supported: 0")
    return x[tuple(np.moveaxis(index, -1, 0))]


def _clip(node: Node, x: np.ndarray, low: np.ndarray | None = None, high: np.ndarray | None = None) -> np.ndarray:
    low, high = (node.attr(name) if v is None else v for v, name in ((low, "min"), (high, "max")))
    return x if low is None and high is None else np.clip(x, low, high).astype(x.dtype)


def _mod(node: Node, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.fmod(a, b) if node.attr("fmod", 0) else np.mod(a, b)


def _trilu(node: Node, x: np.ndarray, k: np.ndarray | None = None) -> np.ndarray:
    return (np.triu if node.attr("upper", 1) else np.tril)(x, 0 if k is None else int(np.ravel(k)[0]))


def _cumsum(node: Node, x: np.ndarray, axis: np.ndarray) -> np.ndarray:
    if node.attr("exclusive", 0) or node.attr("reverse", 0):
        raise ValueError("exclusive or reverse; supported: neither")
    return np.cumsum(x, int(np.ravel(axis)[0]), dtype=x.dtype)


FOLDS = {
    "Constant": _constant, "ConstantOfShape": _filled, "Cast": _cast,
    "CastLike": lambda n, x, like: x.astype(like.dtype), "Identity": lambda n, x: x,
    "Add": lambda n, a, b: a + b, "Sub": lambda n, a, b: a - b, "Mul": lambda n, a, b: a * b,
    "Div": lambda n, a, b: _divide(a, b), "Pow": lambda n, a, b: np.power(a, b).astype(a.dtype), "Neg": lambda n, a: -a,
    "Abs": lambda n, a: np.abs(a), "Sqrt": lambda n, a: np.sqrt(a), "Exp": lambda n, a: np.exp(a),
    "Log": lambda n, a: np.log(a), "Cos": lambda n, a: np.cos(a), "Sin": lambda n, a: np.sin(a),
    "Floor": lambda n, a: np.floor(a), "Ceil": lambda n, a: np.ceil(a), "Round": lambda n, a: np.rint(a),
    "Reciprocal": lambda n, a: (1 / a).astype(a.dtype), "Min": lambda n, *xs: reduce(np.minimum, xs),
    "Max": lambda n, *xs: reduce(np.maximum, xs), "Equal": lambda n, a, b: a == b,
    "Greater": lambda n, a, b: a > b, "Less": lambda n, a, b: a < b, "Not": lambda n, a: ~a,
    "And": lambda n, a, b: a & b, "Or": lambda n, a, b: a | b, "Where": lambda n, c, a, b: np.where(c, a, b),
    "Reshape": lambda n, x, s: x.reshape(reshape_to(n, x.shape, [int(v) for v in s])),
    "Flatten": lambda n, x: x.reshape(math.prod(x.shape[:n.attr("axis", 1)]), -1),
    "Squeeze": _squeeze, "Unsqueeze": _unsqueeze, "Concat": _concat,
    "Slice": _slice, "Gather": lambda n, x, i: np.take(x, i, axis=n.attr("axis", 0)), "Range": _range,
    "Transpose": lambda n, x: x.transpose(n.attr("perm") or None),
    "Split": _split, "ReduceSum": _reduced(np.sum), "ReduceMean": _reduced(np.mean), "ReduceMax": _reduced(np.max),
    "ReduceMin": _reduced(np.min), "ReduceProd": _reduced(np.prod), "ArgMax": _arg(np.argmax),
    "ArgMin": _arg(np.argmin), "ScatterND": _scatter_nd, "GatherND": _gather_nd, "Clip": _clip, "Mod": _mod,
    "Trilu": _trilu, "CumSum": _cumsum, "Sign": lambda n, x: np.sign(x), "Xor": lambda n, a, b: a ^ b,
    "GreaterOrEqual": lambda n, a, b: a >= b, "LessOrEqual": lambda n, a, b: a <= b,
    "Tanh": lambda n, x: np.tanh(x), "Relu": lambda n, x: np.maximum(x, 0),
    "MatMul": lambda n, a, b: np.matmul(a, b), "NonZero": lambda n, x: np.array(np.nonzero(x), np.int64),
    "GatherElements": lambda n, x, i: np.take_along_axis(x, np.where(i < 0, i + x.shape[n.attr("axis", 0)], i),
                                                         n.attr("axis", 0)),
    "Expand": lambda n, x, s: x * np.ones(bounded(n, s), x.dtype), "Tile": _tile, "Shape": None, "Size": None,
}


SHAPES_ONLY = ("ConstantOfShape", "Range")  # have no layers: their inputs are sizes


def fold(node: Node) -> list[Tensor] | None:
    """The results of a node that needs no layer; None: it needs one."""
    if node.op in ("Shape", "Size"):
        shape = node.need(0).shape
        if node.op == "Size":
            return [constant(np.array(math.prod(shape), np.int64))]
        return [constant(np.array(shape[slice(node.attr("start", 0), node.attr("end"))], np.int64))]
    if node.op in SHAPES_ONLY:
        for i in range(len(node.inputs)):
            node.const(i, "its values")
    absent = bool(node.inputs) and node.inputs[0] is None
    if node.op not in FOLDS or absent or any(t is not None and t.value is None for t in node.inputs):
        return None
    try:
        value = FOLDS[node.op](node, *(None if t is None else t.value for t in node.inputs))
    except (ValueError, IndexError, TypeError, KeyError) as error:
        raise node.no("over constants: %s" % str(error).splitlines()[0]) from None
    return None if value is None else [constant(v) for v in (value if isinstance(value, list) else [value])]
