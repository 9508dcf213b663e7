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


def encoder_part(norm, gelu, whole):
    """LayerNormalization, a product with its bias and GELU in the parts that exporters write; norm: how the square is
    written, gelu: which form."""
    nodes = [node("ReduceMean", "x", "m", axes=[-1]), node("Sub", "x m", "d")]
    nodes.append({"pow": node("Pow", "d two", "s"), "mul": node("Mul", "d d", "s")}[norm])
    nodes += [node("ReduceMean", "s", "v", axes=[-1]), node("Add", "v eps", "w"), node("Sqrt", "w", "r"),
              node("Div", "d r", "n"), node("Mul", "n gamma", "ng"), node("Add", "beta ng", "nb"),
              node("MatMul", "nb weight", "p"), node("Add", "bias p", "h")]
    if gelu == "erf":
        nodes += [node("Div", "h root2", "a"), node("Erf", "a", "b"), node("Add", "b one", "c"), 
                  node("Mul", "h c", "e"), node("Mul", "e half", "y")]
    elif gelu == "erf, half first":
        nodes += [node("Mul", "h half", "e"), node("Mul", "h rroot2", "a"), node("Erf", "a", "b"),
                  node("Add", "b one", "c"), node("Mul", "e c", "y")]
    else:
        nodes += [node("Pow", "h three", "q"), node("Mul", "q small", "t"), node("Add", "h t", "u"),
                  node("Mul", "u rootpi", "a"), node("Tanh", "a", "b"), node("Add", "b one", "c"),
                  node("Mul", "h half", "e"), node("Mul", "e c", "y")]
    return nodes if whole else nodes + [node("Sub", "x m", "other")]


@pytest.mark.parametrize("norm", ["pow", "mul"])
@pytest.mark.parametrize("gelu", ["erf", "erf, half first", "tanh"])
def test_parts_become_layers(rng, model, norm, gelu):
    x = (rng.standard_normal((2, 5, 8)) * 2 + 0.5).astype(F)
    fixed = {"eps": F(1e-5), "two": F(2), "three": F(3), "one": F(1), "half": F(0.5), "root2": F(np.sqrt(2)),
             "rroot2": F(np.sqrt(0.5)), "small": F(0.044715), "rootpi": F(np.sqrt(2 / np.pi)),
             "gamma": rng.standard_normal(8).astype(F), "beta": rng.standard_normal(8).astype(F),
             "weight": rng.standard_normal((8, 6)).astype(F), "bias": rng.standard_normal(6).astype(F)}
    wide = x.astype(np.float64)
    v = (wide - wide.mean(-1, keepdims=True)) / np.sqrt(wide.var(-1, keepdims=True) + 1e-5)
    h = (v * fixed["gamma"] + fixed["beta"]) @ fixed["weight"].astype(float) + fixed["bias"]
    inner = np.tanh(np.sqrt(2 / np.pi) * (h + 0.044715 * h ** 3)) if gelu == "tanh" else onnx_erf(h / np.sqrt(2))
    expected = 0.5 * h * (1 + inner)
    network = to.convert(graph(encoder_part(norm, gelu, True), {"x": x}, ["y"], fixed, 13))
    kinds = [layer.kind for layer in network.net.layers if layer.kind not in ("Input", "Reshape", "Noop")]
    assert kinds == ["LayerNorm", "InnerProduct", "GELU"], kinds
    net = network.open()
    np.testing.assert_allclose(network.fetch(net.reference(network.feed([x])))[0], expected, 1e-5, 1e-5)
    np.testing.assert_allclose(network.run(model, [x])[0], expected, 1e-3, 2e-3)
    assert {w["place"] for w, layer in zip(net.last_run or [], net.layers) if layer["type"] != "Input"} <= {"npu"}
    # what else reads a part keeps it; constants that are not those of the functions, too
    for change, gone in (({"other": True}, "LayerNorm"), ({"half": F(0.25)}, "GELU"), ({"one": F(2)}, "GELU"),
                         ({"two": F(3)}, "LayerNorm")):
        if norm == "mul" and "two" in change:
            continue
        outputs, values = ["y"] + ["other"] * ("other" in change), {k: v for k, v in change.items() if k != "other"}
        both = graph(encoder_part(norm, gelu, "other" not in change), {"x": x}, outputs, fixed | values, 13)
        again = to.convert(both)
        if "other" in change:  # the difference is read by an output: the norm stays in parts
            both.graph.node[-1].input[:] = ["d", "m"]
            again = to.convert(both)
        assert gone not in {layer.kind for layer in again.net.layers}, (change, gone)


def onnx_erf(x):
    import math
    return np.vectorize(math.erf)(x)


def test_norm_operators_are_layers(rng, model):
    x, g, b = (rng.standard_normal(s).astype(F) for s in ((2, 3, 4, 5), (4, 5), (4, 5)))
    made = graph([node("LayerNormalization", "x g b", axis=2, epsilon=1e-4)], {"x": x}, ["y"], {"g": g, "b": b}, 17)
    wide = x.astype(np.float64)
    v = (wide - wide.mean((2, 3), keepdims=True)) / np.sqrt(wide.var((2, 3), keepdims=True) + 1e-4)
    network = check(model, made, [x], [v * g + b], 1e-4, 1e-5)
    assert "LayerNorm" in {layer.kind for layer in network.net.layers}
    made = graph([node("RMSNormalization", "x g", axis=2, epsilon=1e-4)], {"x": x}, ["y"], {"g": g}, 23)
    network = check(model, made, [x], [wide / np.sqrt((wide ** 2).mean((2, 3), keepdims=True) + 1e-4) * g], 1e-4, 1e-5)
    assert "RMSNorm" in {layer.kind for layer in network.net.layers}


def test_positions_by_mask(model):
    """Positions of words as RoBERTa counts them: a running sum of a mask, times the mask, plus the padding's index."""
    ids = np.array([[5, 9, 1, 1, 7, 1], [3, 1, 4, 8, 2, 6]], np.int64)
    nodes = [node("Equal", "x pad", "e"), node("Not", "e", "n"), node("Cast", "n", "m", to=6),
             node("CumSum", "m axis", "s"), node("Mul", "s m", "p"), node("Cast", "p", "q", to=7),
             node("Add", "q pad", "y")]
    made = graph(nodes, {"x": ids}, ["y"], {"pad": np.int64(1), "axis": np.array(1)})
    made.graph.output[0].type.tensor_type.elem_type = 7
    mask = (ids != 1).astype(np.int64)
    network = check(model, made, [ids], [np.cumsum(mask, 1) * mask + 1], 0, 0)
    assert network.inputs[0].bounds == (-(1 << 24), 1 << 24)


def test_integers_stay_exact(model):
    """Where a result may be beyond 2^24, the input must be smaller; where no input helps, the operator is refused."""
    x = np.array([7, -9, 1000], np.int64)
    nodes = [node("Mul", "x three", "a"), node("Add", "a x", "b"), node("Sub", "b one", "c"), node("Div", "c two")]
    made = graph(nodes, {"x": x}, ["y"], {"three": np.int64(3), "one": np.int64(1), "two": np.int64(2)})
    made.graph.output[0].type.tensor_type.elem_type = 7
    network = check(model, made, [x], [np.trunc((4 * x - 1) / 2)], 0, 0)
    assert network.inputs[0].bounds[1] <= (1 << 22)
    with pytest.raises(ValueError, match="expected integers from"):
        network.feed([np.array([1 << 23, 0, 0])])
    with pytest.raises(to.Unsupported, match=r"operator Mul, node 'n_Mul': integers up to .*FP32 holds them up to"):
        to.convert(graph([node("Mul", "x x")], {"x": x}, ["y"]))


def test_dynamic_lstm(rng, model):
    """onnxruntime's LSTM of INT8 weights: as ONNX's LSTM with what they stand for."""
    x = rng.standard_normal((4, 1, 3)).astype(F)
    w, r = (rng.integers(-127, 128, s).astype(np.int8) for s in ((2, 3, 20), (2, 5, 20)))
    ws, rs = np.array([0.004, 0.005], F), np.array([0.003, 0.006], F)
    fixed = {"w": w, "r": r, "ws": ws, "rs": rs, "z": np.zeros(2, np.int8)}
    names = ["x", "w", "r", *[""] * 5, "ws", "z", "rs", "z"]
    one = onnx.helper.make_node("DynamicQuantizeLSTM", names, ["y"], name="n", domain="com.microsoft",
                                hidden_size=5, direction="bidirectional")
    made = graph([one], {"x": x}, ["y"], fixed)
    made.opset_import.append(onnx.helper.make_opsetid("com.microsoft", 1))
    real = {k: (v * s[:, None, None]).swapaxes(1, 2).astype(F) for k, v, s in (("w", w, ws), ("r", r, rs))}
    plain = graph([node("LSTM", "x w r", hidden_size=5, direction="bidirectional")], {"x": x}, ["y"], real)
    expected = to.convert(plain).run(model, [x])
    check(model, made, [x], expected, 1e-5)
