"""Operators on elements: pairs, activations, comparisons, logic. bool tensors are 0.0 and 1.0; comparisons are exact
but for NaN."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .converter import Converter
from .net import EXACT, FITTED, View
from .fold import type_of
from .tensor import BOOL, EXACT_INT, FLOATS, SMALL, WIDE, Node, Tensor, constant, exact, op

ADD, SUB, MUL, DIV, MAX, MIN, POW, RSUB, RDIV, RPOW = range(10)  # BinaryOp
MIRRORED = {SUB: RSUB, DIV: RDIV, POW: RPOW}
(ABS, NEG, FLOOR, CEIL, SQUARE, SQRT, RSQRT, EXP, LOG, SIN, COS, TAN, ASIN, ACOS, ATAN, RECIPROCAL, TANH, LOG10, ROUND,
 TRUNC) = range(20)  # UnaryOp
MOST_EXPONENT = 9.0  # where e^x is known to be small enough for planes of INT8 to hold it
FLT_MAX = float(np.finfo(np.float32).max)


def broadcast(node: Node, a: tuple[int, ...],
              b: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """Shape of the result, and views of both with axes that behave alike as one axis."""
    rank = max(len(a), len(b))
    a, b = (1,) * (rank - len(a)) + a, (1,) * (rank - len(b)) + b
    shape, views, last = [], [], None
    for m, n in zip(a, b):
        if m != n and 1 not in (m, n):
            raise node.no("shapes %s and %s do not fit together" % (list(a), list(b)))
        shape.append(max(m, n))
        kind = (m > 1, n > 1)
        if kind == (False, False):
            continue
        if kind == last:
            views[-1] = (views[-1][0] * m, views[-1][1] * n)
        else:
            views.append((m, n))
        last = kind
    views = views or [(1, 1)]
    return tuple(shape), tuple(v[0] for v in views), tuple(v[1] for v in views)


def seen(view: View, shape: tuple[int, ...], small: tuple[int, ...]) -> View | None:
    """The view of a tensor that is repeated to this shape, beside one of that shape with this view: 1 where it repeats.
    None: there is none."""
    small = (1,) * (len(shape) - len(small)) + small
    sizes = []
    if math.prod(view) != math.prod(shape):
        return None
    axes = iter(range(len(shape)))
    for n in view:
        product, group = 1, []
        while product < n:
            group.append(next(axes, -1))
            product *= shape[group[-1]] if group[-1] >= 0 else n + 1
        kinds = {small[i] == shape[i] for i in group if shape[i] > 1} if product == n else {True, False}
        if len(kinds) > 1:
            return None
        sizes.append(n if kinds == {True} or n == 1 else 1)
    return tuple(sizes)


def repeat(c: Converter, t: Tensor, shape: Sequence[int]) -> Tensor:
    """The tensor, repeated until it has this shape."""
    if t.value is not None:
        return constant(np.broadcast_to(t.value, tuple(shape)))
    t = c.reshaped(t, (1,) * (len(shape) - len(t.shape)) + t.shape)
    for axis, (have, want) in enumerate(zip(t.shape, shape)):
        if have == want:
            continue
        outer, inner = int(np.prod(t.shape[:axis])), int(np.prod(t.shape[axis:]))
        view, at = ((outer, inner), 1) if outer > 1 else ((inner,), 0)
        blob = c.add("Tile", [c.use(t, view)], view[:at] + (inner * want,), {0: at, 1: want})
        t = c.result(t.shape[:axis] + (want,) + t.shape[axis + 1:], blob, t.dtype, t)
    return t


def binary(c: Converter, node: Node, code: int, a: Tensor, b: Tensor, dtype=np.float32) -> Tensor:
    """BinaryOp of two tensors, one of which may be constant."""
    y = binary_blob(c, node, code, a, b, dtype)
    if c.samples and a.limit is not None and b.limit is not None:
        y.limit = {ADD: a.limit + b.limit, SUB: a.limit + b.limit, RSUB: a.limit + b.limit, MUL: a.limit * b.limit,
                   MAX: max(a.limit, b.limit), MIN: max(a.limit, b.limit)}.get(code)
    return y


def binary_blob(c: Converter, node: Node, code: int, a: Tensor, b: Tensor, dtype: Any) -> Tensor:
    """The same without what is known of the result."""
    shape, va, vb = broadcast(node, a.shape, b.shape)
    for t, other, number in ((b, a, code), (a, b, MIRRORED.get(code, code))):
        if t.value is not None and t.size == 1 and other.value is None:
            value = float(exact(t.value, node.where()).ravel()[0])
            if np.isfinite(value):
                view = c.view_of(other)
                return c.result(shape, c.add("BinaryOp", [c.use(other, view)], view, {0: number, 1: 1, 2: value}),
                                dtype, a, b)
    if len(va) > 3:  # too many alternations: one operand is repeated to the size of the result, or both
        turns_a, turns_b = (len(broadcast(node, t.shape, shape)[1]) for t in (a, b))
        a = repeat(c, a, shape) if turns_a > 3 else a
        b = repeat(c, b, shape) if turns_a <= 3 or turns_b > 3 else b
        shape, va, vb = broadcast(node, a.shape, b.shape)
    whole = c.view_of(b if a.value is not None else a if a.shape == shape else b)
    if va == vb:
        va = vb = whole
    elif (alike := [seen(whole, shape, t.shape) for t in (a, b)]) and None not in alike:
        va, vb = alike  # the larger one stays as it is
    out = tuple(max(m, n) for m, n in zip(va, vb))
    return c.result(shape, c.add("BinaryOp", [c.use(a, va), c.use(b, vb)], out, {0: code}), dtype, a, b)


def layer(c: Converter, kind: str, t: Tensor, params=None, dtype=np.float32) -> Tensor:
    """A layer that computes every element independently."""
    view = c.view_of(t)
    params = dict(params or {})
    if kind in FITTED and t.scaled is not None and t.scaled.grid is None:
        params[EXACT] = 1  # of integers in steps: the NPU's function would miss the step that is next to it
    y = c.result(t.shape, c.add(kind, [c.use(t, view)], view, params), dtype, t)
    if not c.samples:
        return y
    y.limit = {"Sigmoid": 1.0, "TanH": 1.0, "Threshold": 1.0, "ReLU": t.limit, "Softmax": 1.0}.get(kind)
    if kind == "UnaryOp" and t.limit is not None:
        y.limit = {ABS: t.limit, NEG: t.limit, SQUARE: t.limit ** 2, SQRT: t.limit ** 0.5,
                   EXP: np.exp(t.limit) if t.limit <= MOST_EXPONENT else None}.get(params[0])
    return y


def unary(c: Converter, code: int, t: Tensor) -> Tensor:
    return layer(c, "UnaryOp", t, {0: code})


def above(c: Converter, t: Tensor, threshold: float = 0.0) -> Tensor:
    """1 where an element is larger."""
    return layer(c, "Threshold", t, {0: float(threshold)}, BOOL)


def opposite(c: Converter, node: Node, t: Tensor) -> Tensor:
    """1 - t."""
    return binary(c, node, RSUB, t, c.scalar(1.0), t.dtype)


# ---- pairs ----

@op("Add Sub Mul Div Pow", takes="own")
def pairs(c: Converter, node: Node) -> list[Tensor]:
    code = {"Add": ADD, "Sub": SUB, "Mul": MUL, "Div": DIV, "Pow": POW}[node.op]
    a, b = node.need(0), node.need(1)
    if a.dtype.kind in "iu" and a.dtype == b.dtype and a.dtype.itemsize == 1 and node.op != "Pow":
        return [bytes_of(c, node, code, a, b)]
    if a.dtype in WIDE and a.dtype == b.dtype and a.dtype.kind == "i" and node.op != "Pow":
        return [integers(c, node, code, a, b)]
    if a.dtype not in FLOATS or (b.dtype not in FLOATS and node.op != "Pow"):
        raise node.no("dtype %s: integers wrap or are rounded, FP32 is not; the NPU has FP32 and INT8" % a.dtype)
    return [binary(c, node, code, a, b, a.dtype)]


def integers(c: Converter, node: Node, code: int, a: Tensor, b: Tensor) -> Tensor:
    """Indices, masks, lengths: exact while they are below 2^24. Sums that only FP32 is made of are rounded as there."""
    from .ops_quant import only_rounded
    y = binary(c, node, code, a, b, a.dtype)
    if code == DIV:  # of such integers the quotient is never rounded up to the next one
        y = layer(c, "UnaryOp", y, {0: TRUNC}, a.dtype)
        return c.whole(node, y, a.largest())
    most = a.largest() * b.largest() if code == MUL else a.largest() + b.largest()
    return y if most > EXACT_INT and only_rounded(c, node) else c.whole(node, y, most)


def bytes_of(c: Converter, node: Node, code: int, a: Tensor, b: Tensor) -> Tensor:
    """Integers of eight bits: exact in FP32, then truncated (Div), or taken modulo 256."""
    y = binary(c, node, code, a, b, a.dtype)
    if code == DIV:
        return layer(c, "UnaryOp", y, {0: TRUNC}, a.dtype)
    low = float(np.iinfo(a.dtype).min)
    y = y if low == 0 else binary(c, node, SUB, y, c.scalar(low))
    turns = unary(c, FLOOR, binary(c, node, MUL, y, c.scalar(1 / 256)))
    y = binary(c, node, SUB, y, binary(c, node, MUL, turns, c.scalar(256.0)), a.dtype)
    return y if low == 0 else binary(c, node, ADD, y, c.scalar(low), a.dtype)


@op("Mod", "fmod", takes="own")
def mod(c: Converter, node: Node) -> list[Tensor]:
    """a - b * floor(a / b), with fmod: trunc. Exact for integers below 2^24."""
    a, b = node.need(0), node.need(1)
    if a.dtype == BOOL or (a.dtype.kind == "f" and not node.attr("fmod", 0)):
        raise node.no("dtype %s without fmod" % a.dtype)
    quotient = layer(c, "UnaryOp", binary(c, node, DIV, a, b), {0: TRUNC if node.attr("fmod", 0) else FLOOR})
    return [binary(c, node, SUB, a, binary(c, node, MUL, quotient, b), a.dtype)]


@op("Sinh Cosh")
def hyperbolic(c: Converter, node: Node) -> list[Tensor]:
    x = node.need(0)
    up, down = unary(c, EXP, x), unary(c, EXP, unary(c, NEG, x))
    return [binary(c, node, MUL, binary(c, node, SUB if node.op == "Sinh" else ADD, up, down), c.scalar(0.5))]


@op("Asinh Acosh Atanh")
def area(c: Converter, node: Node) -> list[Tensor]:
    """log(|x| + sqrt(x^2 +- 1)), with the sign of x; half of log((1 + x) / (1 - x))."""
    x = node.need(0)
    if node.op == "Atanh":
        ratio = binary(c, node, DIV, binary(c, node, ADD, x, c.scalar(1.0)), binary(c, node, RSUB, x, c.scalar(1.0)))
        return [binary(c, node, MUL, unary(c, LOG, ratio), c.scalar(0.5))]
    size = unary(c, ABS, x)
    inner = binary(c, node, ADD, unary(c, SQUARE, x), c.scalar(1.0 if node.op == "Asinh" else -1.0))
    y = unary(c, LOG, binary(c, node, ADD, size, unary(c, SQRT, inner)))
    if node.op == "Acosh":
        return [y]
    return [binary(c, node, MUL, y, binary(c, node, SUB, above(c, x), above(c, unary(c, NEG, x))))]


@op("Max Min Sum Mean", takes="own")
def several(c: Converter, node: Node) -> list[Tensor]:
    first = node.need(0)
    if node.op in ("Sum", "Mean") and first.dtype not in FLOATS:
        raise node.no("dtype %s, the NPU has FP32 and INT8" % first.dtype)
    code = {"Max": MAX, "Min": MIN}.get(node.op, ADD)
    total = first
    for i in range(1, len(node.inputs)):
        total = binary(c, node, code, total, node.need(i), first.dtype)
    if node.op == "Mean" and len(node.inputs) > 1:
        total = binary(c, node, MUL, total, c.scalar(np.float32(1) / np.float32(len(node.inputs))))
    return [total]


# ---- one input ----

UNARY = {"Abs": ABS, "Neg": NEG, "Floor": FLOOR, "Ceil": CEIL, "Sqrt": SQRT, "Exp": EXP, "Log": LOG, "Sin": SIN,
         "Cos": COS, "Tan": TAN, "Asin": ASIN, "Acos": ACOS, "Atan": ATAN, "Reciprocal": RECIPROCAL, "Round": ROUND}


@op(" ".join(UNARY))
def one(c: Converter, node: Node) -> list[Tensor]:
    return [unary(c, UNARY[node.op], node.need(0))]


@op("Sigmoid Tanh Relu Softplus HardSwish Erf")
def plain_activation(c: Converter, node: Node) -> list[Tensor]:
    kind = {"Tanh": "TanH", "Relu": "ReLU"}.get(node.op, node.op)
    return [layer(c, kind, node.need(0), {0: 1 / 6, 1: 0.5} if node.op == "HardSwish" else {})]


@op("LeakyRelu Elu HardSigmoid Selu", "alpha beta gamma")
def activation(c: Converter, node: Node) -> list[Tensor]:
    kind, params = {"LeakyRelu": ("ReLU", {0: node.attr("alpha", 0.01)}), "Elu": ("ELU", {0: node.attr("alpha", 1.0)}),
                    "HardSigmoid": ("HardSigmoid", {0: node.attr("alpha", 0.2), 1: node.attr("beta", 0.5)}),
                    "Selu": ("SELU", {0: node.attr("alpha", 1.67326319217681884765625),
                                      1: node.attr("gamma", 1.05070102214813232421875)})}[node.op]
    if node.op == "HardSigmoid" and not params[0] > 0:
        raise node.no("alpha is %g, expected more than 0" % params[0])
    return [layer(c, kind, node.need(0), {k: float(v) for k, v in params.items()})]


@op("Mish")
def mish(c: Converter, node: Node) -> list[Tensor]:
    return [layer(c, "Mish", node.need(0))]


@op("Swish", "alpha")
def swish(c: Converter, node: Node) -> list[Tensor]:
    x, alpha = node.need(0), node.attr("alpha", 1.0)
    if alpha == 1:
        return [layer(c, "Swish", x)]
    return [binary(c, node, MUL, x, layer(c, "Sigmoid", binary(c, node, MUL, x, c.scalar(alpha))))]


@op("Gelu", "approximate")
def gelu(c: Converter, node: Node) -> list[Tensor]:
    """x / 2 * (1 + erf(x / sqrt 2)), or with tanh(sqrt(2 / pi) * (x + 0.044715 x^3))."""
    x = node.need(0)
    if node.attr("approximate", "none") == "tanh":
        cube = binary(c, node, MUL, layer(c, "UnaryOp", x, {0: SQUARE}), x)
        inner = binary(c, node, ADD, x, binary(c, node, MUL, cube, c.scalar(0.044715)))
        gate = layer(c, "TanH", binary(c, node, MUL, inner, c.scalar(math.sqrt(2 / math.pi))))
    else:
        gate = layer(c, "Erf", binary(c, node, MUL, x, c.scalar(math.sqrt(0.5))))
    half = binary(c, node, MUL, x, c.scalar(0.5))
    return [binary(c, node, MUL, half, binary(c, node, ADD, gate, c.scalar(1.0)))]


@op("Celu", "alpha")
def celu(c: Converter, node: Node) -> list[Tensor]:
    alpha = node.attr("alpha", 1.0)
    inner = binary(c, node, MUL, node.need(0), c.scalar(1.0 / alpha))
    return [binary(c, node, MUL, layer(c, "ELU", inner, {0: 1.0}), c.scalar(alpha))]


@op("Clip", "min max", takes="own")
def clip(c: Converter, node: Node) -> list[Tensor]:
    x = node.need(0)
    bounds = [node.const(i, name) if node.input(i) is not None else node.attr(name)
              for i, name in ((1, "min"), (2, "max"))]
    low, high = (None if b is None else float(np.ravel(b)[0]) for b in bounds)
    low = None if low is not None and low <= -FLT_MAX else low
    high = None if high is not None and high >= FLT_MAX else high
    if low is not None and high is not None:
        low = min(low, high)  # so ONNX has it: max, where the bounds are the wrong way round
        return [layer(c, "Clip", x, {0: low, 1: high}, x.dtype)]
    if low is None and high is None:
        return [x]
    return [binary(c, node, MAX if high is None else MIN, x, c.scalar(high if low is None else low), x.dtype)]


@op("PRelu")
def prelu(c: Converter, node: Node) -> list[Tensor]:
    """One slope for each channel is a layer of ncnn; any other: max(x, 0) + slope * min(x, 0)."""
    x, slope = node.need(0), node.need(1)
    view = c.view_of(x)
    aligned = (1,) * (len(x.shape) - len(slope.shape)) + slope.shape
    channels = (len(x.shape) > 1 and x.shape[0] == 1 and len(aligned) == len(x.shape) and
                slope.size in (1, x.shape[1]) and slope.size == aligned[1])
    if slope.value is not None and (slope.size == 1 or (channels and view[0] == slope.size)):
        params, arrays = {0: slope.size}, [("raw", exact(slope.value, node.where()))]
        return [c.result(x.shape, c.add("PReLU", [c.use(x, view)], view, params, arrays), x.dtype, x)]
    negative = binary(c, node, MUL, binary(c, node, MIN, x, c.scalar(0.0)), slope)
    return [binary(c, node, ADD, layer(c, "ReLU", x), negative)]


@op("ThresholdedRelu", "alpha")
def thresholded(c: Converter, node: Node) -> list[Tensor]:
    x = node.need(0)
    return [binary(c, node, MUL, x, above(c, x, node.attr("alpha", 1.0)))]


@op("Shrink", "bias lambd")
def shrink(c: Converter, node: Node) -> list[Tensor]:
    """x + bias below -lambd, x - bias above lambd, else 0."""
    x, bias, limit = node.need(0), node.attr("bias", 0.0), node.attr("lambd", 0.5)
    upper = binary(c, node, MUL, above(c, x, limit), binary(c, node, SUB, x, c.scalar(bias)))
    lower = binary(c, node, MUL, above(c, unary(c, NEG, x), limit), binary(c, node, ADD, x, c.scalar(bias)))
    return [binary(c, node, ADD, upper, lower)]


@op("Softsign")
def softsign(c: Converter, node: Node) -> list[Tensor]:
    x = node.need(0)
    return [binary(c, node, DIV, x, binary(c, node, ADD, unary(c, ABS, x), c.scalar(1.0)))]


@op("Sign")
def sign(c: Converter, node: Node) -> list[Tensor]:
    x = node.need(0)
    return [binary(c, node, SUB, above(c, x), above(c, unary(c, NEG, x)))]


# ---- comparisons and logic ----

@op("Greater Less GreaterOrEqual LessOrEqual Equal", takes="own")
def compare(c: Converter, node: Node) -> list[Tensor]:
    """The sign of a difference: subnormal numbers are kept, so it is 0 only for equal numbers."""
    a, b = node.need(0), node.need(1)
    if node.op in ("Less", "GreaterOrEqual"):
        a, b = b, a
    difference = binary(c, node, SUB, a, b)
    if node.op == "Equal":
        return [opposite(c, node, above(c, unary(c, ABS, difference)))]
    larger = above(c, difference)
    return [larger if node.op in ("Greater", "Less") else opposite(c, node, larger)]


@op("And Or Xor", takes="own")
def logic(c: Converter, node: Node) -> list[Tensor]:
    a, b = node.need(0), node.need(1)
    result = binary(c, node, {"And": MUL, "Or": MAX, "Xor": SUB}[node.op], a, b, BOOL)
    return [layer(c, "UnaryOp", result, {0: ABS}, BOOL) if node.op == "Xor" else result]


@op("Not", takes="own")
def invert(c: Converter, node: Node) -> list[Tensor]:
    return [opposite(c, node, node.need(0))]


@op("Where", takes="own")
def where(c: Converter, node: Node) -> list[Tensor]:
    """The larger one of min(a, +-inf) and min(b, -+inf): the one or the other, exactly, infinities too, but for NaN.
    """
    condition, a, b = node.need(0), node.need(1), node.need(2)
    if condition.value is not None:
        sign = np.where(condition.value, np.inf, -np.inf).astype(np.float32)
        chosen, other = (Tensor(sign.shape, np.float32, s) for s in (sign, -sign))
    else:
        half = binary(c, node, SUB, condition, c.scalar(0.5))
        chosen = binary(c, node, MUL, binary(c, node, MUL, half, c.scalar(FLT_MAX)), c.scalar(4.0))
        other = unary(c, NEG, chosen)
    first, second = binary(c, node, MIN, a, chosen, a.dtype), binary(c, node, MIN, b, other, b.dtype)
    return [binary(c, node, MAX, first, second, a.dtype)]


@op("IsNaN")
def is_nan(c: Converter, node: Node) -> list[Tensor]:
    """No comparison with a NaN is true: not even |x| > -1."""
    return [opposite(c, node, above(c, unary(c, ABS, node.need(0)), -1.0))]


@op("IsInf", "detect_negative detect_positive")
def is_inf(c: Converter, node: Node) -> list[Tensor]:
    x = node.need(0)
    negative, positive = node.attr("detect_negative", 1), node.attr("detect_positive", 1)
    if not negative and not positive:
        raise node.no("neither detect_negative nor detect_positive")
    return [above(c, unary(c, ABS, x) if negative and positive else x if positive else unary(c, NEG, x), FLT_MAX)]


# ---- types ----

@op("Cast CastLike", "round_mode saturate to", takes="own")
def cast(c: Converter, node: Node) -> list[Tensor]:
    """No layer for a type that has every value of the old one; FP32 to integers is truncated, bool is x != 0."""
    x = node.need(0)
    try:
        to = type_of(node.attr("to")) if node.op == "Cast" else node.need(1).dtype
    except KeyError:
        raise node.no("to element type %s, the NPU has FP32 and INT8" % node.attr("to")) from None
    if to in FLOATS and x.dtype in FLOATS:
        y = c.result(x.shape, c.use(x, c.view_of(x)), to, x)
        y.limit = x.limit
        return [y]
    if to == x.dtype or (to == np.float32 and x.dtype not in WIDE) or (x.dtype == BOOL and (to in SMALL or to in WIDE)):
        y = c.result(x.shape, c.use(x, c.view_of(x)), to, x)
        y.most = x.most if x.dtype != BOOL else 1.0
        return [y]
    if to == np.float32 or (x.dtype.kind in "iu" and to in WIDE and to.kind == "i" and
                            x.dtype not in (np.uint32, np.uint64)):
        y = c.result(x.shape, c.use(x, c.view_of(x)), to, x)  # within 2^24, by the bounds of the inputs
        y.most = x.most
        return [y]
    if to == BOOL:
        return [above(c, unary(c, ABS, x))]
    if (to in WIDE or to in SMALL and to.kind in "iu") and x.dtype == np.float32:  # beyond its range ONNX says nothing
        return [layer(c, "UnaryOp", x, {0: TRUNC}, to)]
    raise node.no("from %s to %s, the NPU has FP32 and INT8" % (x.dtype, to))

