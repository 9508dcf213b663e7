"""tandem.onnx: transposed convolutions as convolutions, every n-th element, functions between quantised tensors."""

import numpy as np
import pytest
import tandem
import tandem.onnx as to

onnx = pytest.importorskip("onnx", reason="not run: needs python3-onnx (make deps)")
from test_onnx import F, check, graph, model, node, rng  # noqa: E402, F401


def transposed(x, w, b, stride, pads, extra, groups):
    """ConvTranspose by its definition: every input adds its weights at its place; then the border is cut off."""
    n, c, h, width = x.shape
    each, kh, kw = w.shape[1:]
    y = np.zeros((n, groups * each, (h - 1) * stride[0] + kh + extra[0], (width - 1) * stride[1] + kw + extra[1]))
    for i in range(c):
        first = i // (c // groups) * each
        for r in range(h):
            for s in range(width):
                part = y[:, first:first + each, r * stride[0]:r * stride[0] + kh, s * stride[1]:s * stride[1] + kw]
                part += x[:, i, r, s][:, None, None, None] * w[i]
    y += b[:, None, None]
    return y[:, :, pads[0]:y.shape[2] - pads[2], pads[1]:y.shape[3] - pads[3]]


@pytest.mark.parametrize("seed", range(24))
def test_conv_transpose(model, seed):
    """Kernels below, at and above the stride, borders of each side, groups, batches; one stride: as a convolution."""
    rng = np.random.default_rng(seed)
    groups, batch = int(rng.choice([1, 1, 2, 3])), int(rng.choice([1, 1, 2]))
    inputs, each = groups * int(rng.integers(1, 4)), int(rng.integers(1, 4))
    kernel, side = rng.integers(1, 6, 2), int(rng.integers(1, 5))
    stride = [side, side] if seed % 4 else [side, side + 1]
    size = rng.integers(2, 7, 2)
    pads = [int(rng.integers(0, k)) for k in (*kernel, *kernel)]
    extra = [int(rng.integers(0, s)) for s in stride]
    if any((n - 1) * s + k + e - p - q < 1
           for n, s, k, e, p, q in zip(size, stride, kernel, extra, pads[:2], pads[2:])):
        pads = [0] * 4
    x = rng.standard_normal((batch, inputs, *size)).astype(F)
    w, b = rng.standard_normal((inputs, each, *kernel)).astype(F), rng.standard_normal(groups * each).astype(F)
    made = graph([node("ConvTranspose", "x w b", strides=stride, pads=pads, output_padding=extra, group=groups)],
                 {"x": x}, ["y"], {"w": w, "b": b})
    network = check(model, made, [x], [transposed(x.astype(float), w, b, stride, pads, extra, groups)], 1e-4, 1e-5)
    kinds = {layer.kind for layer in network.net.layers}
    assert bool(kinds & {"Deconvolution", "DeconvolutionDepthWise"}) == (stride[0] != stride[1])


def test_conv_transpose_on_gemm(rng, model):
    """Calibrated, its products run on the GEMM; in tandem the same bits."""
    x, w = rng.standard_normal((1, 8, 5, 6)).astype(F), rng.standard_normal((8, 6, 3, 3)).astype(F)
    made = graph([node("ConvTranspose", "x w", strides=[2, 2], pads=[1, 1, 0, 0])], {"x": x}, ["y"], {"w": w})
    network = to.convert(made)
    net = network.open()
    exact = transposed(x.astype(float), w, np.zeros(6), [2, 2], [1, 1, 0, 0], [0, 0], 1)
    net.calibrate(network.feed([x])[None], "minmax")
    net.quantise()
    with tandem.Device("tandem", 4) as both:
        y, = network.fetch(net.run(both, network.feed([x])))
    units = {w["unit"] for w, layer in zip(net.last_run, net.layers) if layer["macs"]}
    error = np.abs(y - exact).max() / np.abs(exact).max()
    assert units == {"gemm"} and 1e-4 < error < 0.03, (units, error)


@pytest.mark.parametrize("start, end, step", [(0, 99, 2), (1, 99, 2), (3, 99, 4), (0, 99, 5), (10, 99, 2), (0, 9, 3),
                                              (-2, -99, -3), (0, 2, 7)])
@pytest.mark.parametrize("axis", [1, 2, 3])
def test_strided_slices(rng, model, start, end, step, axis):
    x = rng.standard_normal((1, 11, 12, 13)).astype(F)
    index = [slice(None)] * axis + [slice(start, end, step)]
    made = graph([node("Slice", "x s e a t")], {"x": x}, ["y"],
                 {"s": np.array([start]), "e": np.array([end]), "a": np.array([axis]), "t": np.array([step])})
    check(model, made, [x], [x[tuple(index)]], 0, 0)


def test_focus_of_a_large_image(rng, model):
    """Four slices of 640 x 640, as YOLOX begins: few layers."""
    x = rng.standard_normal((1, 3, 640, 640)).astype(F)
    nodes, fixed = [], {"e": np.array([10 ** 6] * 2), "a": np.array([2, 3]), "t": np.array([2, 2])}
    for i, s in enumerate(((0, 0), (1, 0), (0, 1), (1, 1))):
        fixed["s%d" % i] = np.array(s)
        nodes.append(node("Slice", "x s%d e a t" % i, "p%d" % i))
    made = graph(nodes + [node("Concat", "p0 p1 p2 p3", axis=1)], {"x": x}, ["y"], fixed)
    expected = np.concatenate([x[:, :, i::2, j::2] for j in (0, 1) for i in (0, 1)], 1)
    network = check(model, made, [x], [expected], 0, 0)
    assert len(network.net.layers) < 30


@pytest.mark.parametrize("op, f", [("Sigmoid", lambda v: 1 / (1 + np.exp(-v))), ("Tanh", np.tanh),
                                   ("Softplus", lambda v: np.logaddexp(0, v))])
def test_functions_of_integers(model, op, f):
    """Between DequantizeLinear and QuantizeLinear every one of the 256 values has the function's step, which the NPU's
    fit misses: the layer has key 8, and runs on the CPU."""
    q = np.arange(256).astype(np.uint8).reshape(1, 1, 16, 16)
    step, zero = {"Sigmoid": (1 / 256, 0), "Tanh": (1 / 128, 128), "Softplus": (1 / 31, 0)}[op]
    xs, xz, ys, yz = F(0.05), np.uint8(120), F(step), np.uint8(zero)
    made = graph([node("DequantizeLinear", "x xs xz", "v"), node(op, "v", "w"), node("QuantizeLinear", "w ys yz")],
                 {"x": q}, ["y"], {"xs": xs, "xz": xz, "ys": ys, "yz": yz})
    made.graph.output[0].type.tensor_type.elem_type = onnx.TensorProto.UINT8
    network = to.convert(made)
    real = f((q.astype(np.float64) - float(xz)) * float(xs))
    expected = np.clip(np.rint(real / ys) + float(yz), 0, 255)
    near = np.abs(real / ys - np.floor(real / ys) - 0.5) < 1e-4  # of two steps
    got = network.run(model, [q])[0]
    assert np.array_equal(got[~near], expected[~near]) and near.mean() < 0.02 and len(np.unique(got)) > 40
    assert network.fitted == [] and to.convert(graph([node(op, "x")], {"x": (3, 4)}, ["y"])).fitted != []
    net = network.open()
    net.run(model, network.feed([q]))
    assert [w["place"] for w, layer in zip(net.last_run, net.layers) if layer["type"] in to.FITTED] == ["cpu"]


def test_unread_states(rng, model):
    """An LSTM that names its last states, which nothing reads."""
    x, w = rng.standard_normal((4, 1, 3)).astype(F), rng.standard_normal((1, 20, 3)).astype(F)
    r = rng.standard_normal((1, 20, 5)).astype(F)
    nodes = [node("LSTM", "x w r", "y h c", hidden_size=5)]
    all_of_them = to.convert(graph(nodes, {"x": x}, ["y", "h", "c"], {"w": w, "r": r})).run(model, [x])
    check(model, graph(nodes, {"x": x}, ["y"], {"w": w, "r": r}), [x], all_of_them[:1], 1e-6)
