"""Random cases of one layer for tools/ncnn_layers.py: what all of them share, and those of layers that give blobs
another shape or compute elements by themselves, of blobs with four dimensions, and of attention over maps."""

import os
import struct

import numpy as np
import param_text

F32 = np.float32
NEAR = 2e-5  # of the largest value: ncnn's SIMD sums in another order, multiplies and adds in one step, has its own exp
INT8_NEAR = 0.03  # the last bit of a float may move an integer by one
MXNET = -233  # ncnn's mark of a size or count that is not given


class Case:
    """One layer: inputs [c][h][w] (or fewer dimensions), settings {key: value}, arrays of the .bin: (tagged, array).
    halves: tagged arrays of floats are written in FP16."""

    halves = False

    def __init__(self, inputs, settings=None, arrays=(), outputs=1, boxes=False, near=NEAR, kind=None):
        self.inputs = [np.ascontiguousarray(x, F32) for x in inputs]
        self.settings = settings or {}
        self.arrays, self.outputs, self.boxes, self.near, self.kind = arrays, outputs, boxes, near, kind

    def write(self, folder, kind):
        names = ["i%d" % i for i in range(len(self.inputs))]
        outs = ["o%d" % i for i in range(self.outputs)]
        lines = ["7767517", "%d %d" % (len(names) + 1, len(names) + len(outs))]
        for name, x in zip(names, self.inputs):
            keys = [0, 1, 11, 2] if x.ndim == 4 else range(x.ndim)
            lines.append("Input %s 0 1 %s %s" % (name, name, " ".join("%d=%d" % (k, n)
                                                                      for k, n in zip(keys, reversed(x.shape)))))
        words = [kind, "layer", str(len(names)), str(len(outs))] + names + outs
        lines.append(" ".join(words + [param_text.setting(k, v) for k, v in self.settings.items()]))
        with open(os.path.join(folder, "t.param"), "w", encoding="ascii") as f:
            f.write("\n".join(lines) + "\n")
        with open(os.path.join(folder, "t.bin"), "wb") as f:
            for tagged, array in self.arrays:
                if array.dtype == np.int8:
                    f.write(struct.pack("<I", 0x000D4B38) + array.tobytes() + bytes(-array.size % 4))
                elif tagged and self.halves:
                    f.write(struct.pack("<I", 0x01306B47) + np.asarray(array, "<f2").tobytes() +
                            bytes(2 * (array.size % 2)))
                else:
                    f.write(b"\0\0\0\0" * tagged + np.asarray(array, "<f4").tobytes())
        with open(os.path.join(folder, "t.f32"), "wb") as f:
            f.write(b"".join(x.tobytes() for x in self.inputs))
        return names, outs


def draw(rng, low, high):
    return int(rng.integers(low, high + 1))


def normal(rng, *shape, scale=1.0):
    return (rng.standard_normal(shape) * scale).astype(F32)


def maybe(rng, settings, key, value):
    """A setting that is sometimes left at its default."""
    if rng.random() < 0.8:
        settings[key] = value


# ---- four dimensions, other shapes, functions of elements ----

def sizes(rng, dims, most=6):
    return [draw(rng, 1, most) for _ in range(dims)]


def deep_binary(rng):
    """Four dimensions beside four, three, two, one; sizes of 1 repeat."""
    shape = [draw(rng, 2, 6) for _ in range(4)]
    some = [n if rng.random() < 0.6 else 1 for n in shape]
    other = [shape, some, shape[:3], shape[:2], shape[:1], [1]][draw(rng, 0, 5)]
    blobs = [normal(rng, *shape), normal(rng, *other)]
    return Case(blobs[::1 if rng.random() < 0.5 else -1], {0: int(rng.choice([0, 1, 2, 3, 4, 5, 7, 8]))},
                kind="BinaryOp")


def deep_matmul(rng):
    """Batches of four dimensions, one or both of them repeated."""
    m, n, k, turned = draw(rng, 1, 20), draw(rng, 1, 20), draw(rng, 1, 30), draw(rng, 0, 1)
    batch = [draw(rng, 2, 4), draw(rng, 2, 4)]
    some = [b if rng.random() < 0.5 else 1 for b in batch]
    tails = [[m, k], [n, k] if turned else [k, n]]
    heads = [batch, [some, batch, batch[1:], [], None][draw(rng, 0, 4)]]
    order = [0, 1] if rng.random() < 0.5 else [1, 0]
    shapes = []
    for tail, which in zip(tails, order):
        shapes.append([k] if heads[which] is None else heads[which] + tail)
    return Case([normal(rng, *s) for s in shapes], {0: turned}, kind="MatMul")


def deep_permute(rng):
    return Case([normal(rng, *sizes(rng, 4))], {0: draw(rng, 0, 23)}, kind="Permute")


def deep_reshape(rng):
    shape = sizes(rng, 4)
    if rng.random() < 0.5:  # from three dimensions to four
        return Case([normal(rng, shape[0], shape[1], shape[2] * shape[3])],
                    {0: shape[3], 1: shape[2], 11: shape[1], 2: -1}, kind="Reshape")
    return Case([normal(rng, *shape)], {0: -1, 1: shape[2], 2: shape[0]}, kind="Reshape")


def deep_reduction(rng):
    axes = sorted(rng.choice(4, draw(rng, 1, 4), replace=False).tolist())
    return Case([normal(rng, *sizes(rng, 4))], {0: draw(rng, 0, 10), 1: 0, 3: axes, 4: draw(rng, 0, 1), 5: 1},
                kind="Reduction")


def deep_concat(rng):
    axis, shape = draw(rng, -4, 3), sizes(rng, 4)
    parts = []
    for _ in range(draw(rng, 2, 3)):
        shape[axis] = draw(rng, 1, 5)
        parts.append(normal(rng, *shape))
    return Case(parts, {0: axis}, kind="Concat")


def deep_slice(rng):
    axis, shape = draw(rng, -4, 3), sizes(rng, 4)
    shape[axis] = draw(rng, 2, 8)
    first = draw(rng, 1, shape[axis] - 1)
    return Case([normal(rng, *shape)], {0: [first, MXNET], 1: axis}, outputs=2, kind="Slice")


def squeeze(rng):
    dims = draw(rng, 2, 4)
    shape = [draw(rng, 2, 5) if rng.random() < 0.5 else 1 for _ in range(dims)]
    if rng.random() < 0.5:
        axes = sorted(rng.choice(dims, draw(rng, 1, dims), replace=False).tolist())
        return Case([normal(rng, *shape)], {3: [a - dims if rng.random() < 0.3 else a for a in axes]})
    return Case([normal(rng, *shape)], {key: draw(rng, 0, 1) for key in (0, 1, 11, 2)})


def expand_dims(rng):
    """One new axis."""
    dims = draw(rng, 1, 3)
    axis = draw(rng, -dims - 1, dims)
    return Case([normal(rng, *sizes(rng, dims))], {3: [axis]})


def blocks(rng, to_rows):
    side, mode = draw(rng, 1, 4), draw(rng, 0, 1)
    c, h, w = sizes(rng, 3)
    shape = (c * side * side, h, w) if to_rows else (c, h * side, w * side)
    return Case([normal(rng, *shape)], {0: side, 1: mode})


def powered(rng, kind):
    x = np.abs(normal(rng, *sizes(rng, draw(rng, 1, 3), 12))) + F32(0.1)
    s = {0: float(F32(rng.random() + 1.2))}
    maybe(rng, s, 1, float(F32(rng.random() + 0.3)))
    maybe(rng, s, 2, float(F32(rng.random())))
    if kind != "Power" and rng.random() < 0.5:
        del s[0]
    return Case([x], s)


def glu(rng):
    shape = [2 * n for n in sizes(rng, draw(rng, 1, 3))]
    return Case([normal(rng, *shape)], {0: draw(rng, -len(shape), len(shape) - 1)})


def maps_norm(rng, kind):
    c, h, w = draw(rng, 1, 20), draw(rng, 2, 8), draw(rng, 2, 8)
    x, scale, bias = normal(rng, c, h, w) + F32(0.3), normal(rng, c), normal(rng, c)
    if kind == "Bias":
        return Case([x], {0: c}, [(False, bias)])
    if kind == "InstanceNorm":
        affine = draw(rng, 0, 1)
        return Case([x], {0: c, 1: 1e-3, 2: affine}, [(False, scale), (False, bias)] * affine)
    if kind == "MVN":
        return Case([x], {0: draw(rng, 0, 1), 1: draw(rng, 0, 1), 2: 1e-3})
    s = {0: draw(rng, 0, 1), 1: draw(rng, 0, 1), 2: 1e-4, 4: 1, 9: draw(rng, 0, 2)}
    s[4] = draw(rng, 0, 1) if s[0] else 1
    s[3] = 1 if s[1] else c
    return Case([x], s, [(False, scale[:s[3]])])


def sdpa(rng, int8=False):
    groups, each, source, target = draw(rng, 1, 3), draw(rng, 1, 3), draw(rng, 1, 20), draw(rng, 1, 20)
    size, result = draw(rng, 1, 16), draw(rng, 1, 16)
    heads = groups * each
    blobs = [normal(rng, heads, source, size), normal(rng, groups, target, size), normal(rng, groups, target, result)]
    s = {}
    if rng.random() < 0.5:
        s[5] = 1
        blobs.append(normal(rng, *[(source, target), (1, source, target), (heads, source, target)][draw(rng, 0, 2)]))
    maybe(rng, s, 6, float(F32(rng.random() + 0.1)))
    s.update({18: 2} if int8 else {})
    return Case(blobs, s, near=INT8_NEAR if int8 else NEAR, kind="SDPA")


SHAPES = {
    "SDPA": sdpa,
    "SDPA in INT8": lambda rng: sdpa(rng, True),
    "BinaryOp, 4 dimensions": deep_binary,
    "MatMul, 4 dimensions": deep_matmul,
    "Permute, 4 dimensions": deep_permute,
    "Reshape, 4 dimensions": deep_reshape,
    "Reduction, 4 dimensions": deep_reduction,
    "Concat, 4 dimensions": deep_concat,
    "Slice, 4 dimensions": deep_slice,
    "Softmax, 4 dimensions": lambda rng: Case([normal(rng, *sizes(rng, 4))], {0: draw(rng, -4, 3), 1: 1},
                                              kind="Softmax"),
    "Squeeze": squeeze,
    "ExpandDims": expand_dims,
    "PixelShuffle": lambda rng: blocks(rng, True),
    "Reorg": lambda rng: blocks(rng, False),
    "Exp": lambda rng: powered(rng, "Exp"),
    "Log": lambda rng: powered(rng, "Log"),
    "Power": lambda rng: powered(rng, "Power"),
    "AbsVal": lambda rng: Case([normal(rng, *sizes(rng, draw(rng, 1, 3)))]),
    "BNLL": lambda rng: Case([normal(rng, *sizes(rng, draw(rng, 1, 3)), scale=3)]),
    "CELU": lambda rng: Case([normal(rng, *sizes(rng, draw(rng, 1, 3)))], {0: float(F32(rng.random() + 0.3))}),
    "Shrink": lambda rng: Case([normal(rng, *sizes(rng, draw(rng, 1, 3)))],
                               {0: float(F32(rng.random())), 1: float(F32(rng.random()))}),
    "GLU": glu,
    "Flip": lambda rng: Case([normal(rng, *sizes(rng, 3))], {0: sorted(set(rng.integers(0, 3, 2).tolist()))}),
    "CumulativeSum": lambda rng: Case([normal(rng, *sizes(rng, 3))], {0: draw(rng, 0, 2)}),
    "Bias": lambda rng: maps_norm(rng, "Bias"),
    "InstanceNorm": lambda rng: maps_norm(rng, "InstanceNorm"),
    "Normalize": lambda rng: maps_norm(rng, "Normalize"),
    "MVN": lambda rng: maps_norm(rng, "MVN"),
}
