"""Products of matrices: with constant weights as layers with weights, of two activations as MatMul; Einsum."""

import math
from collections.abc import Sequence

import numpy as np

from .converter import Converter
from .net import View
from .ops_math import ADD, MUL, binary, repeat
from .ops_nn import MOST_PARTS, weighted
from .ops_reduce import SUM, reduce
from .ops_shape import divide, join, transpose
from .products import Bounds, Scaled, planes
from .tensor import FLOATS, Node, Tensor, constant, exact, op


def rows_times(c: Converter, node: Node, t: Tensor, w: np.ndarray, b: np.ndarray | None) -> Tensor:
    """Each row of a matrix (rows x K) times weights (N x K)."""
    from .products import can_split, matrix, split_sums
    if can_split(t, w):
        return split_sums(c, node, matrix(c, node, t, w), t, w, b)
    rows, n = t.shape[0], w.shape[0]
    common, arrays = weighted(w, b, n, 1, 2)
    view, out = (t.shape, (rows, n)) if rows > 1 else (c.view_of(t), (n,))
    view = (t.size,) if rows == 1 and len(view) == 2 else view  # a matrix would be rows
    return c.result((rows, n), c.add("InnerProduct", [c.use(t, view)], out, common, arrays), t.dtype, t)


def turned(c: Converter, t: Tensor, order: Sequence[int]) -> Tensor:
    """Axes in another order, of a constant, too."""
    if t.value is not None:
        return constant(np.ascontiguousarray(t.value.transpose(order)))
    y = transpose(c, t, list(order))
    y.scaled = c.grid(t, y)
    return y


def swapped(c: Converter, t: Tensor) -> Tensor:
    """The last two axes in the other order."""
    rank = len(t.shape)
    return turned(c, t, [*range(rank - 2), rank - 1, rank - 2])


def of_activations(c: Converter, a: Tensor, b: Tensor, steps: bool = False) -> Tensor:
    """... x M x K times ... x K x N in one layer, batches broadcast: an operand without a batch is used for each one of
    the other; a second operand without a batch takes all rows of the first one as one matrix. steps: both are integers
    up to 127, whose sums are exact."""
    (m, k), n = a.shape[-2:], b.shape[-1]
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    count = math.prod(batch)
    shape = batch + (m, n)
    if math.prod(b.shape[:-2]) == 1:
        m, count = m * count, 1
        if math.prod(a.shape[:-2]) * a.shape[-2] != m:
            a = repeat(c, a, shape[:-2] + a.shape[-2:])
    a, b = (t if math.prod(t.shape[:-2]) in (1, count) or count == 1 else repeat(c, t, batch + t.shape[-2:])
            for t in (a, b))

    def view(t: Tensor, rows: int, columns: int) -> View:
        return (rows, columns) if t.size == rows * columns else (count, rows, columns)
    blobs = [c.use(a, view(a, m, k)), c.use(b, view(b, k, n))]
    return c.result(shape, c.add("MatMul", blobs, (count, m, n) if count > 1 else (m, n), {8: 3} if steps else {}),
                    np.float32, a, b)


def of_integers(c: Converter, node: Node, a: Tensor, b: Tensor, a_bounds: Bounds, b_bounds: Bounds) -> Tensor:
    """The same of integers, as sums of planes of INT8."""
    total = None
    for times, x in planes(c, node, a, a_bounds):
        for more, y in planes(c, node, b, b_bounds):
            part = of_activations(c, x, y, True)
            part = part if times * more == 1 else binary(c, node, MUL, part, c.scalar(float(times * more)))
            total = part if total is None else binary(c, node, ADD, total, part)
    return total


def of_scaled(c: Converter, node: Node, a: Tensor, b: Tensor) -> Tensor | None:
    """Two activations that are integers in one step each. None: they are not."""
    x, y = a.scaled, b.scaled
    if x is None or y is None or None in (x.bounds, y.bounds) or (x.scale.size, y.scale.size) != (1, 1) or (
            x.grid is not None or y.grid is not None):
        return None
    total = of_integers(c, node, x.ints, y.ints, x.bounds, y.bounds)
    scale = (x.scale.reshape(()) * y.scale.reshape(())).astype(np.float32)
    result = binary(c, node, MUL, total, Tensor((), np.float32, scale))
    result.scaled = Scaled(total, scale)
    return result


def by_weights(c: Converter, node: Node, a: Tensor, w: np.ndarray) -> Tensor:
    """... x M x K times constants, K x N or a batch of them."""
    k, n = w.shape[-2:]
    parts = math.prod(w.shape[:-2])
    if not parts or not a.size:
        raise node.no("an empty tensor")
    stacked = c.reshaped(a, (parts, a.size // parts // k, k))
    products = []
    for i, t in enumerate(divide(c, stacked, 0, [1] * parts)):
        rows = c.reshaped(t, (t.size // k, k))
        rows.scaled = c.grid(a, rows)
        products.append(rows_times(c, node, rows, w.reshape(parts, k, n)[i].T, None))
    return c.reshaped(join(c, products, 0), a.shape[:-1] + (n,))


def product(c: Converter, node: Node, a: Tensor, b: Tensor) -> Tensor:
    """a x b of tensors with two dimensions at least. Constants become weights where they are the same for all of the
    other operand, or have its batch."""
    if a.shape[-1] != b.shape[-2]:
        raise node.no("%d columns of A, %d rows of B" % (a.shape[-1], b.shape[-2]))
    if any(t.dtype not in FLOATS for t in (a, b)):
        raise node.no("dtype %s, the NPU has FP32 and INT8" % (b.dtype if a.dtype in FLOATS else a.dtype))
    parts = math.prod(b.shape[:-2])
    if b.value is not None and (parts == 1 or (b.shape[:-2] == a.shape[:-2] and parts <= MOST_PARTS)):
        w = exact(b.value, node.where())
        rank = max(len(a.shape), len(b.shape))
        wide = c.reshaped(a, (1,) * (rank - len(a.shape)) + a.shape)
        wide.scaled = c.grid(a, wide)
        return by_weights(c, node, wide, w if parts > 1 else w.reshape(w.shape[-2:]))
    if a.value is not None and math.prod(a.shape[:-2]) == 1:  # (B' A')'
        return swapped(c, product(c, node, swapped(c, b), swapped(c, a)))
    try:
        scaled = of_scaled(c, node, a, b)
        return of_activations(c, a, b) if scaled is None else scaled
    except ValueError:
        raise node.no("shapes %s and %s do not fit together" % (list(a.shape), list(b.shape))) from None


@op("Gemm", "alpha beta transA transB broadcast")
def gemm(c: Converter, node: Node) -> list[Tensor]:
    a, b = node.need(0), node.need(1)
    if len(b.shape) != 2 or len(a.shape) != 2:
        raise node.no("expected two matrices")
    alpha, beta = np.float32(node.attr("alpha", 1.0)), np.float32(node.attr("beta", 1.0))
    a = turned(c, a, [1, 0]) if node.attr("transA", 0) else a
    bias = node.input(2)
    if b.value is None:
        b = turned(c, b, [1, 0]) if node.attr("transB", 0) else b
        y = product(c, node, a, b)
        y = y if alpha == 1 else binary(c, node, MUL, y, c.scalar(alpha))
        return [y if bias is None else binary(c, node, ADD, y, times(c, node, bias, beta))]
    w = exact(b.value if node.attr("transB", 0) else b.value.T, node.where()) * alpha
    if w.shape[1] != a.shape[1]:
        raise node.no("%d columns of A, %d rows of B" % (a.shape[1], w.shape[1]))
    if (bias is not None and bias.value is not None and
            (bias.size == 1 or (bias.size == w.shape[0] and bias.shape[-1] == w.shape[0]))):
        values = np.ascontiguousarray(np.broadcast_to(exact(bias.value, node.where()).ravel() * beta, w.shape[:1]))
        return [rows_times(c, node, a, w, values)]
    y = rows_times(c, node, a, w, None)
    return [y if bias is None else binary(c, node, ADD, y, times(c, node, bias, beta))]


def times(c: Converter, node: Node, t: Tensor, factor: np.float32) -> Tensor:
    """A tensor times a number."""
    if factor == 1:
        return t
    return (binary(c, node, MUL, t, c.scalar(factor)) if t.value is None else
            Tensor(t.shape, np.float32, t.value * factor))


@op("MatMul")
def matmul(c: Converter, node: Node) -> list[Tensor]:
    a, b = node.need(0), node.need(1)
    if not a.shape or not b.shape:
        raise node.no("expected two tensors with dimensions")
    left, right = a.shape if len(a.shape) > 1 else (1,) + a.shape, b.shape if len(b.shape) > 1 else b.shape + (1,)
    shaped = [t if t.shape == shape else c.reshaped(t, shape) for t, shape in ((a, left), (b, right))]
    for t, again in zip((a, b), shaped):
        if again is not t:
            again.scaled = c.grid(t, again)
    y = product(c, node, *shaped)
    rows, columns = (y.shape[-2:-1] if len(a.shape) > 1 else ()), (y.shape[-1:] if len(b.shape) > 1 else ())
    return [c.reshaped(y, y.shape[:-2] + rows + columns)]


# ---- Einsum ----

def terms_of(node: Node) -> tuple[list[str], str]:
    """Letters of the axes of each input, and of the result. An ellipsis becomes letters of its own."""
    text = node.attr("equation", "").replace(" ", "")
    left, arrow, out = text.partition("->")
    terms = left.split(",")
    if len(terms) != len(node.inputs):
        raise node.no("equation '%s' for %d inputs" % (text, len(node.inputs)))
    spare = [chr(ord("0") + i) for i in range(10)]
    most = 0
    for i, term in enumerate(terms):
        if "..." in term:
            hidden = len(node.need(i).shape) - len(term) + 3
            most = max(most, hidden)
            terms[i] = term.replace("...", "".join(spare[10 - hidden:] if 0 < hidden <= 10 else ""))
    if not arrow:
        letters = [s for s in sorted(set("".join(terms))) if not s.isdigit()]
        out = ("..." if most else "") + "".join(s for s in letters if "".join(terms).count(s) == 1)
    out = out.replace("...", "".join(spare[10 - most:] if most else ""))
    for term, t in zip(terms, node.inputs):
        if len(term) != len(node.need(0).shape if t is None else t.shape) or len(set(term)) != len(term):
            raise node.no("equation '%s': supported: a letter for each axis, each once in an input" % text)
    if len(set(out)) != len(out) or not set(out) <= set("".join(terms)):
        raise node.no("equation '%s': letters of the result" % text)
    return terms, out


def arranged(c: Converter, node: Node, t: Tensor, term: str, keep: str) -> tuple[Tensor, str]:
    """Axes that nothing needs any more are summed."""
    gone = [i for i, s in enumerate(term) if s not in keep]
    if not gone:
        return t, term
    y = constant(t.value.sum(axis=tuple(gone), keepdims=True)) if t.value is not None else reduce(c, SUM, t, gone)
    return (c.reshaped(y, [n for i, n in enumerate(t.shape) if i not in gone]),
            "".join(s for s in term if s in keep))


def contracted(c: Converter, node: Node, a: tuple[Tensor, str], b: tuple[Tensor, str], keep: str) -> tuple[Tensor, str]:
    """Two operands as one product of matrices: letters of both that are kept are its batch, the others its sum."""
    (x, left), (y, right) = a, b
    sizes: dict[str, int] = {}
    for s, n in (*zip(left, x.shape), *zip(right, y.shape)):
        if 1 not in (n, sizes.get(s, 1)) and n != sizes[s]:
            raise node.no("%d and %d elements of the axis '%s'" % (sizes[s], n, s))
        sizes[s] = max(n, sizes.get(s, 1))
    both = [s for s in left if s in right and s in keep]
    summed = [s for s in left if s in right and s not in keep]
    mine, theirs = [s for s in left if s not in right], [s for s in right if s not in left]

    def matrix(t: Tensor, term: str, order: list[str], shape: list[int]) -> Tensor:
        if any(n != sizes[s] for s, n in zip(term, t.shape)):
            t = repeat(c, t, [sizes[s] for s in term])
        return c.reshaped(turned(c, t, [term.index(s) for s in order]), shape)

    def total(letters: list[str]) -> int:
        return math.prod(sizes[s] for s in letters)
    batch = [total(both)] if both else []
    x = matrix(x, left, both + mine + summed, batch + [total(mine), total(summed)])
    y = matrix(y, right, both + summed + theirs, batch + [total(summed), total(theirs)])
    order = both + mine + theirs
    return c.reshaped(product(c, node, x, y), [sizes[s] for s in order]), "".join(order)


@op("Einsum", "equation")
def einsum(c: Converter, node: Node) -> list[Tensor]:
    terms, out = terms_of(node)
    rest = [(node.need(i), term) for i, term in enumerate(terms)]
    for i, (t, term) in enumerate(rest):
        others = "".join(s for j, (_, s) in enumerate(rest) if j != i)
        rest[i] = arranged(c, node, t, term, out + others)
    while len(rest) > 1:
        a, b, *rest = rest
        rest.insert(0, contracted(c, node, a, b, out + "".join(term for _, term in rest)))
    t, term = rest[0]
    return [turned(c, t, [term.index(s) for s in out])]
