"""Networks as exporters write them, with seeded weights: every call of Export makes a node and computes its result with
NumPy in binary64 beside it, so that a network is its own reference."""

import math
import os
from typing import NamedTuple

import numpy as np
import onnx
from onnx import helper, numpy_helper

F = np.float32
erf = np.vectorize(math.erf)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


class Export:
    """A graph while it is built. Tensors are names; value[name] is what NumPy has for it."""

    def __init__(self, seed, opset):
        self.rng, self.opset = np.random.default_rng(seed), opset
        self.nodes, self.fixed, self.inputs, self.value = [], [], [], {}

    def input(self, name, x, dims=None):
        """dims: what the file says of the shape; names for sizes that are open."""
        kind = onnx.TensorProto.FLOAT if x.dtype == F else onnx.TensorProto.INT64
        self.inputs.append((helper.make_tensor_value_info(name, kind, dims or x.shape), x))
        self.value[name] = x.astype(np.float64) if x.dtype == F else x
        return name

    def const(self, value, dtype=F):
        name = "c%d" % len(self.fixed)
        value = np.asarray(value, dtype)
        self.fixed.append(numpy_helper.from_array(value, name))
        self.value[name] = value.astype(np.float64) if value.dtype == F else value
        return name

    def ints(self, *values):
        return self.const(values, np.int64)

    def random(self, *shape, scale=None):
        return self.const(self.rng.standard_normal(shape) * (scale or 1.4 / math.sqrt(max(math.prod(shape[1:]), 4))))

    def add(self, op, inputs, results, **attributes):
        """A node; results: of NumPy, a list for several outputs."""
        several = isinstance(results, list)
        names = ["t%d.%d" % (len(self.nodes), i) for i in range(len(results) if several else 1)]
        self.nodes.append(helper.make_node(op, inputs, names, name="/%s_%d" % (op, len(self.nodes)), **attributes))
        self.value.update(zip(names, results if several else [results]))
        return names if several else names[0]

    def model(self, outputs):
        ports = [helper.make_tensor_value_info(o, onnx.TensorProto.FLOAT, None) for o in outputs]
        made = helper.make_graph(self.nodes, "net", [i for i, _ in self.inputs], ports, self.fixed)
        return (helper.make_model(made, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=8),
                [x for _, x in self.inputs], [self.value[o] for o in outputs])

    # ---- operators ----

    def pair(self, op, a, b):
        f = {"Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Div": np.divide, "Pow": np.power}[op]
        return self.add(op, [a, b], f(self.value[a], self.value[b]))

    def one(self, op, x, **attributes):
        f = {"Relu": lambda v: np.maximum(v, 0), "Sigmoid": sigmoid, "Erf": erf, "Sqrt": np.sqrt,
             "HardSigmoid": lambda v: np.clip(v / 6 + 0.5, 0, 1), "Tanh": np.tanh,
             "HardSwish": lambda v: v * np.clip(v / 6 + 0.5, 0, 1)}[op]
        return self.add(op, [x], f(self.value[x]), **attributes)

    def conv(self, x, outputs, kernel=1, stride=1, groups=1, pads=None, bias=True):
        v = self.value[x]
        w = self.random(outputs, v.shape[1] // groups, kernel, kernel)
        b = self.random(outputs, scale=0.3) if bias else None
        pads = [kernel // 2] * 4 if pads is None else pads
        wide = np.pad(v, ((0, 0), (0, 0), (pads[0], pads[2]), (pads[1], pads[3])))
        seen = np.lib.stride_tricks.sliding_window_view(wide, (kernel, kernel), (2, 3))[:, :, ::stride, ::stride]
        n, c, h, width = seen.shape[:4]
        parts = seen.reshape(n, groups, c // groups, h, width, kernel, kernel)
        weights = self.value[w].reshape(groups, outputs // groups, c // groups, kernel, kernel)
        y = np.einsum("ngchwij,gocij->ngohw", parts, weights).reshape(n, outputs, h, width)
        y = y + (self.value[b][:, None, None] if bias else 0)
        return self.add("Conv", [x, w] + ([b] if bias else []), y, kernel_shape=[kernel] * 2, strides=[stride] * 2,
                        pads=pads, group=groups, dilations=[1, 1])

    def mean(self, x, axes, keep=1):
        y = self.value[x].mean(tuple(axes), keepdims=bool(keep))
        if self.opset >= 18:
            return self.add("ReduceMean", [x, self.ints(*axes)], y, keepdims=keep)
        return self.add("ReduceMean", [x], y, axes=axes, keepdims=keep)

    def pool(self, x):
        return self.add("GlobalAveragePool", [x], self.value[x].mean((2, 3), keepdims=True))

    def max5(self, x):
        v = np.pad(self.value[x], ((0, 0), (0, 0), (2, 2), (2, 2)), constant_values=-np.inf)
        y = np.lib.stride_tricks.sliding_window_view(v, (5, 5), (2, 3)).max((4, 5))
        return self.add("MaxPool", [x], y, kernel_shape=[5, 5], strides=[1, 1], pads=[2] * 4)

    def concat(self, xs, axis):
        return self.add("Concat", xs, np.concatenate([self.value[x] for x in xs], axis), axis=axis)

    def split(self, x, sizes, axis):
        parts = np.split(self.value[x], np.cumsum(sizes)[:-1], axis)
        return self.add("Split", [x, self.ints(*sizes)], list(parts), axis=axis)

    def slice(self, x, start, end, axis, step=1):
        index = [slice(None)] * axis + [slice(start, end, step)]
        given = [x, self.ints(start), self.ints(end), self.ints(axis), self.ints(step)]
        return self.add("Slice", given, self.value[x][tuple(index)])

    def reshape(self, x, *shape):
        """Of a name: a shape that the graph computes."""
        wanted = shape[0] if isinstance(shape[0], str) else self.ints(*shape)
        return self.add("Reshape", [x, wanted], self.value[x].reshape([int(n) for n in self.value[wanted]]))

    def transpose(self, x, *perm):
        return self.add("Transpose", [x], self.value[x].transpose(perm), perm=perm)

    def matmul(self, a, b):
        return self.add("MatMul", [a, b], np.matmul(self.value[a], self.value[b]))

    def softmax(self, x, axis):
        e = np.exp(self.value[x] - self.value[x].max(axis, keepdims=True))
        return self.add("Softmax", [x], e / e.sum(axis, keepdims=True), axis=axis)

    def gather(self, x, index, axis):
        i = self.const(index, np.int64)
        return self.add("Gather", [x, i], np.take(self.value[x], index, axis), axis=axis)

    def size(self, x, axis):
        """One size as a vector, through Shape, Gather and Unsqueeze."""
        shape = self.add("Shape", [x], np.array(self.value[x].shape))
        n = self.gather(shape, axis, 0)
        return self.add("Unsqueeze", [n, self.ints(0)], self.value[n].reshape(1))

    def resize(self, x, **attributes):
        """Twice the size, nearest, by scales; or by sizes."""
        y = self.value[x].repeat(2, 2).repeat(2, 3)
        given = {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor", "mode": "nearest",
                 "cubic_coeff_a": -0.75} | attributes
        return self.add("Resize", [x, "", self.const([1, 1, 2, 2])], y, **given)

    def linear(self, x, outputs, bias=True):
        y = self.matmul(x, self.random(self.value[x].shape[-1], outputs, scale=1 / math.sqrt(self.value[x].shape[-1])))
        return self.pair("Add", self.random(outputs, scale=0.3), y) if bias else y

    def gemm(self, x, outputs):
        w, b = self.random(outputs, self.value[x].shape[1]), self.random(outputs, scale=0.3)
        return self.add("Gemm", [x, w, b], self.value[x] @ self.value[w].T + self.value[b], transB=1)

    def norm(self, x):
        """LayerNormalization, or its parts before opset 17."""
        g, b = self.const(self.rng.uniform(0.5, 1.5, self.value[x].shape[-1])), self.random(self.value[x].shape[-1])
        if self.opset >= 17:
            v = self.value[x] - self.value[x].mean(-1, keepdims=True)
            y = v / np.sqrt((v * v).mean(-1, keepdims=True) + 1e-6) * self.value[g] + self.value[b]
            return self.add("LayerNormalization", [x, g, b], y, axis=-1, epsilon=1e-6)
        v = self.pair("Sub", x, self.mean(x, [-1]))
        variance = self.mean(self.pair("Pow", v, self.const(2)), [-1])
        v = self.pair("Div", v, self.one("Sqrt", self.pair("Add", variance, self.const(1e-6))))
        return self.pair("Add", self.pair("Mul", v, g), b)

    def gelu(self, x):
        gate = self.pair("Add", self.one("Erf", self.pair("Div", x, self.const(math.sqrt(2)))), self.const(1))
        return self.pair("Mul", self.pair("Mul", x, gate), self.const(0.5))

    def silu(self, x):
        return self.pair("Mul", x, self.one("Sigmoid", x))

    def hard_swish(self, x, whole):
        """The operator, or x * clip(x + 3, 0, 6) / 6."""
        if whole:
            return self.one("HardSwish", x)
        inner = self.pair("Add", x, self.const(3))
        gate = self.add("Clip", [inner, self.const(0), self.const(6)], np.clip(self.value[inner], 0, 6))
        return self.pair("Div", self.pair("Mul", x, gate), self.const(6))

    def squeezed(self, x, inner, hard):
        """Squeeze and excite."""
        c = self.value[x].shape[1]
        t = self.one("Relu", self.conv(self.mean(x, [2, 3]) if hard else self.pool(x), inner))
        t = self.conv(t, c)
        gate = self.one("HardSigmoid", t, alpha=1 / 6, beta=0.5) if hard else self.one("Sigmoid", t)
        return self.pair("Mul", gate, x)


# ---- networks ----

def mobilenet_v3(seed, opset):
    """Two inverted bottlenecks with squeeze-excite, a classifier; an open batch."""
    e = Export(seed, opset)
    whole = opset >= 14
    x = e.input("x", e.rng.standard_normal((1, 3, 32, 32)).astype(F), ["batch", 3, 32, 32])
    x = e.hard_swish(e.conv(x, 16, 3, 2), whole)
    for hidden, outputs, kernel, stride in ((32, 16, 3, 1), (48, 24, 5, 2)):
        t = e.hard_swish(e.conv(x, hidden), whole)
        t = e.hard_swish(e.conv(t, hidden, kernel, stride, hidden), whole)
        t = e.conv(e.squeezed(t, 8, True), outputs)
        x = e.pair("Add", t, x) if stride == 1 else t
    x = e.pool(e.hard_swish(e.conv(x, 64), whole))
    x = e.reshape(x, e.concat([e.size(x, 0), e.ints(-1)], 0))
    return e.model([e.gemm(e.hard_swish(e.gemm(x, 40), whole), 10)])


def efficientnet(seed, opset):
    """SiLU and squeeze-excite as a B0 has them, padding of one side as TensorFlow's exports have it."""
    e = Export(seed, opset)
    x = e.input("x", e.rng.standard_normal((1, 3, 32, 32)).astype(F))
    x = e.silu(e.conv(x, 16, 3, 2, pads=[0, 0, 1, 1]))
    for hidden, outputs, kernel, stride in ((16, 16, 3, 1), (64, 24, 3, 2), (64, 24, 5, 1)):
        t = e.silu(e.conv(x, hidden))
        pads = [1, 1, 2, 2] if kernel == 5 and stride == 2 else None
        t = e.silu(e.conv(t, hidden, kernel, stride, hidden, pads))
        t = e.conv(e.squeezed(t, 4, False), outputs, bias=False)
        x = e.pair("Add", x, t) if e.value[x].shape == e.value[t].shape else t
    x = e.pool(e.silu(e.conv(x, 64)))
    flat = e.add("Flatten", [x], e.value[x].reshape(1, -1), axis=1)
    return e.model([e.softmax(e.gemm(flat, 10), 1)])


def c2f(e, x, outputs, shortcut):
    half = outputs // 2
    parts = e.split(e.silu(e.conv(x, outputs)), [half, half], 1)
    t = e.silu(e.conv(e.silu(e.conv(parts[-1], half, 3)), half, 3))
    parts.append(e.pair("Add", parts[-1], t) if shortcut else t)
    return e.silu(e.conv(e.concat(parts, 1), outputs))


def yolov8(seed, opset):
    """C2f, SPPF, a neck of two scales, and the head with its distributions: Softmax, a convolution with 0..15, boxes
    from anchors that the graph makes of the sizes."""
    e = Export(seed, opset)
    classes, bins = 3, 16
    x = e.input("images", e.rng.random((1, 3, 64, 64)).astype(F))
    x = e.silu(e.conv(e.silu(e.conv(e.silu(e.conv(x, 8, 3, 2)), 16, 3, 2)), 16, 3, 2))
    near = c2f(e, x, 16, True)
    t = e.silu(e.conv(c2f(e, e.silu(e.conv(near, 32, 3, 2)), 32, True), 16))
    pools = [t]
    for _ in range(3):
        pools.append(e.max5(pools[-1]))
    far = e.silu(e.conv(e.concat(pools, 1), 32))
    near = c2f(e, e.concat([e.resize(far), near], 1), 16, False)
    far = c2f(e, e.concat([e.silu(e.conv(near, 16, 3, 2)), far], 1), 32, False)
    levels, places, strides = [], [], []
    for t, stride in ((near, 8), (far, 16)):
        both = e.concat([e.conv(e.silu(e.conv(t, 16, 3)), 4 * bins), e.conv(e.silu(e.conv(t, 16, 3)), classes)], 1)
        shape = e.concat([e.size(both, 0), e.ints(4 * bins + classes), e.ints(-1)], 0)
        levels.append(e.reshape(both, shape))
        side = e.value[t].shape[2]
        grid = np.stack(np.meshgrid(np.arange(side) + 0.5, np.arange(side) + 0.5)).reshape(2, -1)
        places.append(grid)
        strides.append(np.full(side * side, stride))
    boxes, scores = e.split(e.concat(levels, 2), [4 * bins, classes], 1)
    cells = e.value[boxes].shape[2]
    t = e.softmax(e.transpose(e.reshape(boxes, 1, 4, bins, cells), 0, 2, 1, 3), 1)
    weight = e.const(np.arange(bins).reshape(1, bins, 1, 1))
    t = e.add("Conv", [t, weight], np.einsum("nchw,ocij->nohw", e.value[t], e.value[weight]), kernel_shape=[1, 1])
    t = e.reshape(t, 1, 4, cells)
    first, last = e.slice(t, 0, 2, 1), e.slice(t, 2, 4, 1)
    anchors = e.const(np.concatenate(places, 1)[None])
    low, high = e.pair("Sub", anchors, first), e.pair("Add", anchors, last)
    middle = e.pair("Div", e.pair("Add", low, high), e.const(2))
    boxes = e.pair("Mul", e.concat([middle, e.pair("Sub", high, low)], 1), e.const(np.concatenate(strides)[None]))
    return e.model([e.concat([boxes, e.one("Sigmoid", scores)], 1)])


def vit(seed, opset):
    """Patches by a convolution, a class token expanded to the batch, two layers with one product for q, k and v, taken
    apart by Gather, and the class by Gather of the first token."""
    e = Export(seed, opset)
    dim, heads, batch = 24, 3, 2
    x = e.input("x", e.rng.standard_normal((batch, 3, 16, 16)).astype(F), ["batch", 3, 16, 16])
    rows = e.size(x, 0)
    w = e.random(dim, 3, 4, 4)
    patches = np.einsum("nchiwj,ocij->nohw", e.value[x].reshape(batch, 3, 4, 4, 4, 4), e.value[w])
    t = e.add("Conv", [x, w], patches, kernel_shape=[4, 4], strides=[4, 4])
    t = e.transpose(e.reshape(t, e.concat([rows, e.ints(dim), e.ints(-1)], 0)), 0, 2, 1)
    wanted = e.concat([rows, e.ints(-1), e.ints(-1)], 0)
    ones = e.add("ConstantOfShape", [e.ints(3)], np.ones(3, np.int64),
                 value=numpy_helper.from_array(np.array([1], np.int64)))
    left = e.add("Mul", [ones, e.ints(-1)], -e.value[ones])
    equal = e.add("Equal", [wanted, left], e.value[wanted] == e.value[left])
    wanted = e.add("Where", [equal, ones, wanted], np.where(e.value[equal], 1, e.value[wanted]))
    token = e.random(1, 1, dim)
    token = e.add("Expand", [token, wanted], np.broadcast_to(e.value[token], (batch, 1, dim)))
    x = e.pair("Add", e.concat([token, t], 1), e.random(1, 17, dim, scale=0.2))
    for _ in range(2):
        t = e.linear(e.norm(x), 3 * dim)
        shape = e.concat([rows, e.size(t, 1), e.ints(3), e.ints(heads), e.ints(dim // heads)], 0)
        t = e.transpose(e.reshape(t, shape), 2, 0, 3, 1, 4)
        q, k, v = (e.gather(t, i, 0) for i in range(3))
        scale = e.const(math.sqrt(1 / math.sqrt(dim // heads)))
        score = e.matmul(e.pair("Mul", q, scale), e.pair("Mul", e.transpose(k, 0, 1, 3, 2), scale))
        t = e.transpose(e.matmul(e.softmax(score, -1), v), 0, 2, 1, 3)
        x = e.pair("Add", x, e.linear(e.reshape(t, e.concat([rows, e.ints(17), e.ints(dim)], 0)), dim))
        x = e.pair("Add", x, e.linear(e.gelu(e.linear(e.norm(x), 48)), dim))
    return e.model([e.gemm(e.gather(e.norm(x), 0, 1), 10)])


def bert(seed, opset):
    """Embeddings by input, a mask of the second sequence, positions cut to the length, one layer."""
    e = Export(seed, opset)
    dim, heads, length = 32, 4, 12
    ids = e.input("ids", e.rng.integers(0, 50, (2, length)), ["batch", "length"])
    mask = e.input("mask", np.repeat([[1] * length, [1] * 9 + [0] * 3], 1, 0), ["batch", "length"])
    rows, columns = e.size(ids, 0), e.size(ids, 1)
    words, places = e.random(50, dim, scale=1), e.random(1, 40, dim, scale=0.25)
    place = e.add("Slice", [places, e.ints(0), columns, e.ints(1)], e.value[places][:, :length])
    x = e.norm(e.pair("Add", e.add("Gather", [words, ids], e.value[words][e.value[ids]]), place))
    wide = e.add("Unsqueeze", [mask, e.ints(1)], e.value[mask][:, None])
    wide = e.add("Unsqueeze", [wide, e.ints(2)], e.value[wide][:, :, None])
    wide = e.add("Cast", [wide], e.value[wide].astype(np.float64), to=onnx.TensorProto.FLOAT)
    wide = e.pair("Mul", e.pair("Sub", e.const(1), wide), e.const(-1e4))
    shape = e.concat([rows, columns, e.ints(heads), e.ints(dim // heads)], 0)
    q, k, v = (e.transpose(e.reshape(e.linear(x, dim), shape), *p) for p in ((0, 2, 1, 3), (0, 2, 3, 1), (0, 2, 1, 3)))
    score = e.pair("Add", e.pair("Div", e.matmul(q, k), e.const(math.sqrt(dim // heads))), wide)
    t = e.transpose(e.matmul(e.softmax(score, -1), v), 0, 2, 1, 3)
    t = e.reshape(t, e.concat([rows, columns, e.ints(dim)], 0))
    x = e.norm(e.pair("Add", e.linear(t, dim), x))
    x = e.norm(e.pair("Add", e.linear(e.gelu(e.linear(x, 64)), dim), x))
    return e.model([x])


NETWORKS = {"mobilenet_v3": mobilenet_v3, "efficientnet": efficientnet, "yolov8": yolov8, "vit": vit, "bert": bert}


class Measured(NamedTuple):
    """fp32: largest error in plain C, over the largest result; int8: signal to error in dB; macs, and those on the
    GEMM; cpu: types of layers that ran there."""

    fp32: float
    int8: float
    macs: int
    on_gemm: int
    cpu: list[str]


def measure(name, opset, folder, device):
    """A network from its file, with its data beside it: in FP32, and in INT8 on a device. Shapes that differ: infinite
    errors."""
    import tandem.onnx
    made, inputs, expected = NETWORKS[name](7, opset)
    path = os.path.join(folder, "net.onnx")
    onnx.save_model(made, path, save_as_external_data=True, location="net.data", size_threshold=64)
    open_sizes = {d.dim_param: (n,) for port, x in zip(made.graph.input, inputs)
                  for d, n in zip(port.type.tensor_type.shape.dim, x.shape) if d.dim_param}
    network = tandem.onnx.convert(path, shapes=open_sizes)
    net, x = network.open(), network.feed(inputs)

    def both(results):
        return [(g, e) for g, e in zip(results, expected) if g.shape == e.shape]
    exact = both(network.fetch(net.reference(x)))
    fp32 = max([float(np.abs(g - e).max() / np.abs(e).max()) for g, e in exact] + [0 if exact else math.inf])
    net.calibrate(x[None], "minmax")
    net.quantise()
    signal = [(float((e ** 2).sum()), float(((g - e) ** 2).sum())) for g, e in both(network.fetch(net.run(device, x)))]
    int8 = min(10 * math.log10(s / max(n, 1e-30)) for s, n in signal)
    macs = {layer["name"]: layer["macs"] for layer in net.layers}
    types = {layer["name"]: layer["type"] for layer in net.layers}
    on_gemm = sum(macs[w["name"]] for w in net.last_run if w["unit"] == "gemm")
    cpu = sorted({types[w["name"]] for w in net.last_run if w["place"] == "cpu"} - {"MemoryData"})
    return Measured(fp32, int8, sum(macs.values()), on_gemm, cpu)
