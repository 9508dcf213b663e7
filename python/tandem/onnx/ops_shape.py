"""Operators that move elements, or only give them another shape."""

import itertools
import math

import numpy as np

from .converter import Converter
from .fold import reshape_to
from .ops_math import repeat
from .tensor import Node, Tensor, around, compact, natural, op

# Orders of ncnn's Permute over blobs of three dimensions, as permutations of the axes from the outermost one inwards.
MOST_PICKED = 256  # pieces of an axis that are joined again
MOST_GROUPS = 64  # of a ShuffleChannel: each is a copy of its own
ORDERS = {(0, 1, 2): 0, (0, 2, 1): 1, (1, 0, 2): 2, (1, 2, 0): 3, (2, 0, 1): 4, (2, 1, 0): 5}


@op("Identity", takes="moves")
def identity(c: Converter, node: Node) -> list[Tensor]:
    return [node.need(0)]


@op("Dropout", "ratio seed is_test", takes="moves")
def dropout(c: Converter, node: Node) -> list[Tensor]:
    """The identity, as in inference. The mask is true everywhere."""
    x = node.need(0)
    training, ratio = node.const(2, "training_mode"), node.const(1, "ratio")
    if training is not None and bool(np.ravel(training)[0]) and (ratio is None or float(np.ravel(ratio)[0]) != 0):
        raise node.no("training_mode draws random numbers; supported: inference")
    return [x] + ([Tensor(x.shape, np.bool_, np.ones(x.shape, np.bool_))] if len(node.outputs) > 1 else [])


# ---- another shape ----

@op("Reshape", "allowzero shape", takes="moves")
def reshape(c: Converter, node: Node) -> list[Tensor]:
    x = node.need(0)
    wanted = node.ints(1, "shape")
    if wanted is None:
        raise node.no("the shape is missing")
    return [c.reshaped(x, reshape_to(node, x.shape, wanted))]


@op("Flatten", "axis", takes="moves")
def flatten(c: Converter, node: Node) -> list[Tensor]:
    x = node.need(0)
    axis = node.attr("axis", 1)
    axis = axis + len(x.shape) if axis < 0 else axis
    return [c.reshaped(x, (math.prod(x.shape[:axis]), math.prod(x.shape[axis:])))]


@op("Squeeze", "axes", takes="moves")
def squeeze(c: Converter, node: Node) -> list[Tensor]:
    x = node.need(0)
    axes = node.ints(1, "axes")
    gone = {i for i, n in enumerate(x.shape) if n == 1} if axes is None else {node.axis(a, len(x.shape)) for a in axes}
    if any(x.shape[i] != 1 for i in gone):
        raise node.no("axes %s of the shape %s are not all 1" % (axes, list(x.shape)))
    return [c.reshaped(x, [n for i, n in enumerate(x.shape) if i not in gone])]


@op("Unsqueeze", "axes", takes="moves")
def unsqueeze(c: Converter, node: Node) -> list[Tensor]:
    x = node.need(0)
    axes = node.ints(1, "axes") or []
    rank = len(x.shape) + len(axes)
    new = {node.axis(a, rank) for a in axes}
    if len(new) != len(axes):
        raise node.no("axes %s, expected different ones" % axes)
    sizes = iter(x.shape)
    return [c.reshaped(x, [1 if i in new else next(sizes) for i in range(rank)])]


# ---- another order ----

def permute_blob(c: Converter, t: Tensor, sizes: tuple[int, int, int], order: tuple[int, int, int]) -> str:
    """The tensor as three axes in another order; axes of one element are ignored."""
    left = [i for i in range(3) if sizes[i] > 1]
    to = [i for i in order if sizes[i] > 1]
    if left == to:
        return c.use(t, natural(sizes))
    view = tuple(sizes[i] for i in left)
    if len(left) == 3 and order == (1, 0, 2) and sizes[0] <= MOST_GROUPS:  # the NPU copies channels
        now = c.view_of(t)
        maps = now if len(now) == 3 and now[0] == sizes[0] * sizes[1] else (sizes[0] * sizes[1], 1, sizes[2])
        return c.add("ShuffleChannel", [c.use(t, maps)], maps, {0: sizes[0]})
    kind = 1 if len(left) == 2 else ORDERS[tuple(left.index(i) for i in to)]
    return c.add("Permute", [c.use(t, view)], tuple(sizes[i] for i in to), {0: kind})


def steps_to(target: tuple[int, ...]) -> list[tuple[tuple[int, int], tuple[int, int, int]]]:
    """A shortest sequence of permutations, each of three neighbouring runs of axes, from the natural order to this one:
    (bounds of the runs, their order)."""
    start = tuple(range(len(target)))
    before: dict = {start: None}
    rim = [start]
    while target not in before:
        nearer = []
        for now in rim:
            for cut in itertools.combinations_with_replacement(range(len(now) + 1), 2):
                runs = (now[:cut[0]], now[cut[0]:cut[1]], now[cut[1]:])
                for order in ORDERS:
                    then = runs[order[0]] + runs[order[1]] + runs[order[2]]
                    if then not in before:
                        before[then] = (now, cut, order)
                        nearer.append(then)
        rim = nearer
    steps = []
    while before[target] is not None:
        target, cut, order = before[target]
        steps.append((cut, order))
    return steps[::-1]


def transpose(c: Converter, t: Tensor, perm: list[int]) -> Tensor:
    """Axes that stay together are merged into one axis; the others are permuted three runs at a time."""
    shape = [t.shape[i] for i in perm]
    kept = [i for i in perm if t.shape[i] > 1]
    groups: list[list[int]] = []
    order_of = sorted(kept)
    for i in kept:
        if groups and order_of.index(i) == order_of.index(groups[-1][-1]) + 1:
            groups[-1].append(i)
        else:
            groups.append([i])
    natural_order = sorted(range(len(groups)), key=lambda g: groups[g])
    target = tuple(natural_order.index(g) for g in range(len(groups)))
    sizes = [math.prod(t.shape[i] for i in groups[g]) for g in natural_order]
    now = list(range(len(groups)))
    for cut, order in steps_to(target):
        runs = (now[:cut[0]], now[cut[0]:cut[1]], now[cut[1]:])
        blob = permute_blob(c, t, tuple(math.prod(sizes[g] for g in run) for run in runs), order)
        t = c.result((t.size,), blob, t.dtype, t)
        now = [g for i in order for g in runs[i]]
    return c.reshaped(t, shape)


@op("Transpose", "perm", takes="moves")
def transposed(c: Converter, node: Node) -> list[Tensor]:
    x = node.need(0)
    perm = [int(i) for i in node.attr("perm") or range(len(x.shape) - 1, -1, -1)]
    if sorted(perm) != list(range(len(x.shape))):
        raise node.no("perm %s of a tensor with %d dimensions" % (perm, len(x.shape)))
    return [transpose(c, x, perm)]


@op("DepthToSpace SpaceToDepth", "blocksize mode", takes="moves")
def depth(c: Converter, node: Node) -> list[Tensor]:
    x, s = node.need(0), node.attr("blocksize")
    n, d, h, w = x.shape if len(x.shape) == 4 else (0, 0, 0, 0)
    if n == 0 or (d % (s * s) if node.op == "DepthToSpace" else h % s or w % s):
        raise node.no("a shape %s for blocks of %d" % (list(x.shape), s))
    crd = node.attr("mode", "DCR") != "DCR"
    if node.op == "SpaceToDepth":
        split, shape = (n, d, h // s, s, w // s, s), (n, d * s * s, h // s, w // s)
        perm = [0, 1, 3, 5, 2, 4] if crd else [0, 3, 5, 1, 2, 4]
    elif not crd:
        split, perm, shape = (n, s, s, d // s // s, h, w), [0, 3, 4, 1, 5, 2], (n, d // s // s, h * s, w * s)
    else:
        split, perm, shape = (n, d // s // s, s, s, h, w), [0, 1, 4, 2, 5, 3], (n, d // s // s, h * s, w * s)
    return [c.reshaped(transpose(c, c.reshaped(x, split), perm), shape)]


# ---- parts and joins ----

def along(c: Converter, t: Tensor, axis: int) -> tuple[tuple[int, ...], int, int]:
    """A view in which the axis is a separate dimension, or the outermost one merged with the axes inside of it: view,
    its dimension, elements of a step."""
    outer, n, inner = around(t.shape, axis, axis)
    view = c.view_of(t)
    if outer == 1 and len(view) == 3 and view[0] == n and view[1] * view[2] == inner:
        return view, 0, 1
    if outer == 1:
        return (n * inner,), 0, inner
    view, at = compact(outer, n, inner)
    return view, at, 1


def cut(c: Converter, t: Tensor, axis: int, first: int, last: int) -> Tensor:
    """Elements first..last-1 of an axis."""
    n = t.shape[axis]
    if (first, last) == (0, n):
        return t
    view, at, step = along(c, t, axis)
    out = view[:at] + ((last - first) * step,) + view[at + 1:]
    blob = c.add("Crop", [c.use(t, view)], out, {9: [first * step], 10: [last * step], 11: [at]})
    return c.result(t.shape[:axis] + (last - first,) + t.shape[axis + 1:], blob, t.dtype, t)


def join(c: Converter, parts: list[Tensor], axis: int) -> Tensor:
    """Tensors concatenated along an axis."""
    if len(parts) == 1:
        return parts[0]
    views = [along(c, t, axis) for t in parts]
    if len({(v[1:], at, step) for v, at, step in views}) > 1:  # some of them are maps already, others are not
        views = [((t.size,), 0, 1) if at == 0 else (v, at, step) for t, (v, at, step) in zip(parts, views)]
    at = views[0][1]
    view = views[0][0]
    out = view[:at] + (sum(v[at] for v, _, _ in views),) + view[at + 1:]
    blob = c.add("Concat", [c.use(t, v) for t, (v, _, _) in zip(parts, views)], out, {0: at})
    first = parts[0]
    shape = first.shape[:axis] + (sum(t.shape[axis] for t in parts),) + first.shape[axis + 1:]
    return c.result(shape, blob, first.dtype, *parts)


@op("Concat", "axis", takes="moves")
def concat(c: Converter, node: Node) -> list[Tensor]:
    parts = [node.need(i) for i in range(len(node.inputs))]
    axis = node.axis(node.attr("axis", 1), len(parts[0].shape))
    if any(t.shape[:axis] + t.shape[axis + 1:] != parts[0].shape[:axis] + parts[0].shape[axis + 1:] for t in parts):
        raise node.no("shapes that differ in other axes than %d" % axis)
    return [join(c, parts, axis)]


def divide(c: Converter, t: Tensor, axis: int, sizes: list[int]) -> list[Tensor]:
    """The tensor split into parts along an axis."""
    if len(sizes) == 1:
        return [t]
    view, at, step = along(c, t, axis)
    views = [view[:at] + (n * step,) + view[at + 1:] for n in sizes]
    blobs = c.net.add("Slice", [c.use(t, view)], views, {0: [n * step for n in sizes], 1: at}, (), c.node)
    return [c.result(t.shape[:axis] + (n,) + t.shape[axis + 1:], b, t.dtype, t) for n, b in zip(sizes, blobs)]


@op("Split", "axis num_outputs split", takes="moves")
def split(c: Converter, node: Node) -> list[Tensor]:
    x = node.need(0)
    axis = node.axis(node.attr("axis", 0), len(x.shape))
    sizes = node.ints(1, "split")
    if sizes is None:
        total, parts = x.shape[axis], len(node.outputs)
        uneven = "num_outputs" in node.attributes  # the last part is smaller
        if node.attr("num_outputs", parts) != parts or (total % parts and not uneven):
            raise node.no("%d elements in %d equal parts" % (total, parts))
        each = -(-total // parts)
        sizes = [each] * (parts - 1) + [total - each * (parts - 1)]
    if min(sizes) < 1 or sum(sizes) != x.shape[axis] or len(sizes) != len(node.outputs):
        raise node.no("parts %s of %d elements for %d outputs" % (sizes, x.shape[axis], len(node.outputs)))
    return divide(c, x, axis, sizes)


@op("Slice", "starts ends axes steps", takes="moves")
def sliced(c: Converter, node: Node) -> list[Tensor]:
    x = node.need(0)
    starts, ends, axes, steps = (node.ints(i + 1, name) for i, name in enumerate(("starts", "ends", "axes", "steps")))
    if starts is None or ends is None:
        raise node.no("starts or ends are missing")
    for i, (start, end) in enumerate(zip(starts, ends)):
        axis = node.axis(i if axes is None else axes[i], len(x.shape))
        chosen = range(x.shape[axis])[slice(start, end, 1 if steps is None else steps[i])]
        x = every(c, x, axis, chosen) if chosen.step > 1 and len(chosen) > 1 else pick(c, node, x, axis, list(chosen))
    return [x]


def every(c: Converter, t: Tensor, axis: int, chosen: range) -> Tensor:
    """Every step-th element of an axis: one of each block of so many."""
    n, step, count = t.shape[axis], chosen.step, len(chosen)
    room = count * step - (n - chosen.start)  # that the last block lacks behind its element
    if chosen.start < room:  # and has not before the first one either
        last = cut(c, t, axis, chosen[-1], chosen[-1] + 1)
        rest = chosen[:-1]
        front = every(c, t, axis, rest) if len(rest) > 1 else cut(c, t, axis, rest[0], rest[0] + 1)
        return join(c, [front, last], axis)
    first = chosen.start - max(room, 0)
    part = cut(c, t, axis, first, first + count * step)
    blocks = c.reshaped(part, t.shape[:axis] + (count, step) + t.shape[axis + 1:])
    one = cut(c, blocks, axis + 1, chosen.start - first, chosen.start - first + 1)
    return c.reshaped(one, t.shape[:axis] + (count,) + t.shape[axis + 1:])


def pick(c: Converter, node: Node, t: Tensor, axis: int, index: list[int]) -> Tensor:
    """These elements of an axis: contiguous runs are sliced and joined."""
    if not index:
        raise node.no("an empty result")
    runs = [[index[0], index[0] + 1]]
    for i in index[1:]:
        if i == runs[-1][1]:
            runs[-1][1] += 1
        else:
            runs.append([i, i + 1])
    if len(runs) > MOST_PICKED:
        raise node.no("%d pieces of an axis; supported: up to %d" % (len(runs), MOST_PICKED))
    return join(c, [cut(c, t, axis, first, last) for first, last in runs], axis)


# ---- larger ----

@op("Expand", takes="moves")
def expand(c: Converter, node: Node) -> list[Tensor]:
    x, wanted = node.need(0), node.ints(1, "shape") or []
    rank = max(len(x.shape), len(wanted))
    have = (1,) * (rank - len(x.shape)) + x.shape
    want = [1] * (rank - len(wanted)) + wanted
    if any(m != n and 1 not in (m, n) for m, n in zip(have, want)):
        raise node.no("shape %s for a tensor %s" % (wanted, list(x.shape)))
    return [repeat(c, x, tuple(max(m, n) for m, n in zip(have, want)))]


@op("Tile", takes="moves")
def tile(c: Converter, node: Node) -> list[Tensor]:
    x, times = node.need(0), node.ints(1, "repeats") or []
    if len(times) != len(x.shape) or any(n < 1 for n in times):
        raise node.no("repeats %s of a tensor with %d dimensions" % (times, len(x.shape)))
    for axis, n in enumerate(times):
        if n > 1:
            outer, inner = math.prod(x.shape[:axis]), math.prod(x.shape[axis:])
            view, at = ((outer, inner), 1) if outer > 1 else ((inner,), 0)
            blob = c.add("Tile", [c.use(x, view)], view[:at] + (inner * n,), {0: at, 1: n})
            x = c.result(x.shape[:axis] + (x.shape[axis] * n,) + x.shape[axis + 1:], blob, x.dtype, x)
    return [x]


@op("Pad", "mode pads value", takes="moves")
def pad(c: Converter, node: Node) -> list[Tensor]:
    x = node.need(0)
    mode = node.attr("mode", "constant")
    pads, rank, axes = node.ints(1, "pads"), len(x.shape), node.ints(3, "axes")
    if axes is not None and pads is not None and len(pads) == 2 * len(axes):
        short, pads = pads, [0] * 2 * rank
        for i, axis in enumerate(node.axis(a, rank) for a in axes):
            pads[axis], pads[rank + axis] = short[i], short[len(axes) + i]
    value = node.const(2, "constant_value") if node.input(2) is not None else node.attr("value", 0.0)
    if pads is None or len(pads) != 2 * rank or min(pads) < 0 or mode not in ("constant", "edge", "reflect"):
        raise node.no("mode %s, pads %s; supported: constant, edge, reflect, not negative" % (mode, pads))
    view = natural(x.shape)
    lead = rank - len(view)  # leading axes that are not dimensions of the view by themselves
    together = lead + (1 if math.prod(x.shape[:lead]) > 1 else 0)
    if any(pads[i] or pads[rank + i] for i in range(together)):
        raise node.no("pads %s of %s; supported: the last three dimensions, or the last two of a batch" %
                      (pads, list(x.shape)))
    keys = [(7, 8), (0, 1), (2, 3)][3 - len(view):]
    params = {4: {"constant": 0, "edge": 1, "reflect": 2}[mode],
              5: float(np.ravel(value)[0]) if mode == "constant" else 0.0}
    for i, (before, behind) in enumerate(keys):
        params[before], params[behind] = pads[lead + i], pads[rank + lead + i]
    shape = [n + pads[i] + pads[rank + i] for i, n in enumerate(x.shape)]
    return [c.result(shape, c.add("Padding", [c.use(x, view)], natural(shape), params), x.dtype, x)]
