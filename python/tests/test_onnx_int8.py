"""tandem.onnx: integers. QLinearConv, QLinearMatMul, models with QuantizeLinear and DequantizeLinear, dynamic ones and
onnxruntime's own operators, all against their definition in integers and one FP32 rounding, as onnxruntime computes."""

import numpy as np
import pytest
import tandem
import tandem.onnx as to

onnx = pytest.importorskip("onnx", reason="not run: needs python3-onnx (make deps)")
from onnx import helper  # noqa: E402
from tandem.onnx import backend  # noqa: E402
from test_onnx import TYPES, F, conv2d, graph, model, node, rng  # noqa: E402, F401

TYPES[np.dtype(np.int8)] = onnx.TensorProto.INT8


def steps(total, factor, zero, dtype):
    """Integers in steps of the result: one product in FP32, half to even, saturated."""
    info = np.iinfo(dtype)
    v = np.rint(total.astype(F) * np.asarray(factor, F))
    return (np.clip(v, info.min - zero, info.max - zero) + zero).astype(dtype)


def per_channel(values):
    return np.asarray(values)[:, None, None]


def places(network, x, dev):
    net = network.open()
    net.run(dev, network.feed(x))
    return [w["unit"] if w["place"] == "npu" else w["place"] for w, layer in zip(net.last_run, net.layers)
            if layer["macs"]]


def drawn(rng, dtype, *shape):
    """All of the range, its ends often."""
    info = np.iinfo(dtype)
    x = rng.integers(info.min, info.max + 1, shape)
    x.ravel()[:6] = [info.min, info.max, info.min, info.max, 0, info.max]
    return x.astype(dtype)


CASES = [(np.uint8, 0, np.int8, 0, 1), (np.uint8, 128, np.int8, 0, 1), (np.uint8, 255, np.uint8, 130, 1),
         (np.int8, -128, np.int8, 0, 4), (np.int8, 0, np.int8, 0, 1), (np.int8, 5, np.uint8, 0, 1),
         (np.uint8, 77, np.int8, -3, 2)]


@pytest.mark.parametrize("dtype, zero, wtype, w_zero, groups", CASES)
def test_qlinear_conv(rng, model, dtype, zero, wtype, w_zero, groups):
    """Zero points of every kind, padded with the zero point, scales for each channel, bias: every value is that of the
    definition."""
    x, w = drawn(rng, dtype, 1, 4, 6, 7), drawn(rng, wtype, 8, 4 // groups, 3, 3)
    bias = rng.integers(-4000, 4000, 8).astype(np.int32)
    ws = rng.uniform(0.001, 0.02, 8).astype(F)
    xs, ys, y_zero = F(0.037), F(1.3), dtype(np.iinfo(dtype).min + 90)
    made = graph([node("QLinearConv", "x xs xz w ws wz ys yz b", pads=[1] * 4, group=groups)], {"x": x}, ["y"],
                 {"xs": xs, "xz": dtype(zero), "w": w, "ws": ws, "wz": wtype(w_zero), "ys": ys, "yz": y_zero,
                  "b": bias})
    network = to.convert(made)
    total = conv2d(x.astype(np.int64) - zero, w.astype(np.int64) - w_zero, bias, 1, 1, groups)
    expected = steps(total, per_channel((xs * ws).astype(F) / ys), int(y_zero), dtype)
    np.testing.assert_array_equal(network.run(model, [x])[0], expected)
    assert set(places(network, [x], model)) == {"gemm"}


@pytest.mark.parametrize("dtype, zero, rows", [(np.uint8, 3, 5), (np.int8, -128, 1), (np.int8, 0, 4)])
def test_products(rng, model, dtype, zero, rows):
    """QLinearMatMul and MatMulInteger, one row and several; a sum that FP32 does not hold is refused where it is asked
    for, and computed where it becomes FP32 anyway."""
    a, b = drawn(rng, dtype, rows, 300), drawn(rng, np.int8, 300, 7)
    total = (a.astype(np.int64) - zero) @ b.astype(np.int64)
    names = "a as az b bs bz ys yz"
    made = graph([node("QLinearMatMul", names)], {"a": a}, ["y"],
                 {"as": F(0.01), "az": dtype(zero), "b": b, "bs": F(0.02), "bz": np.int8(0), "ys": F(0.7),
                  "yz": dtype(11)})
    factor = F(F(0.01) * F(0.02)) / F(0.7)
    np.testing.assert_array_equal(to.convert(made).run(model, [a])[0], steps(total, factor, 11, dtype))
    made = graph([node("MatMulInteger", "a b az")], {"a": a}, ["y"], {"b": b, "az": dtype(zero)})
    network = to.convert(made)
    np.testing.assert_array_equal(network.run(model, [a])[0], total)
    assert set(places(network, [a], model)) == {"gemm"}
    large = np.full((1200, 7), -128, np.int8)
    made = graph([node("MatMulInteger", "a b az")], {"a": (1, 1200)}, ["y"], {"b": large, "az": dtype(zero)})
    made.graph.input[0].type.tensor_type.elem_type = TYPES[np.dtype(dtype)]
    with pytest.raises(to.Unsupported, match="node 'n_MatMulInteger': sums beyond 2\\^24, which FP32 does not hold"):
        to.convert(made)
    made.graph.node[0].output[0] = "s"
    made.graph.node.append(node("Cast", "s", to=onnx.TensorProto.FLOAT))
    x = drawn(rng, dtype, 1, 1200)
    np.testing.assert_allclose(to.convert(made).run(model, [x])[0],
                               (x.astype(np.int64) - zero) @ large.astype(np.int64), 1e-6)


def dynamic(x):
    """DynamicQuantizeLinear: integers, step, zero point."""
    low, high = min(x.min(), F(0)), max(x.max(), F(0))
    scale = F(high - low) / F(255)
    zero = np.clip(np.rint(-low / scale), 0, 255)
    return np.clip(np.rint(x / scale) + zero, 0, 255).astype(np.int64), scale, int(zero)


def test_dynamic(rng, model):
    """What onnxruntime's dynamic quantiser writes: the step is known only when the network runs."""
    w = drawn(rng, np.int8, 6, 40)
    nodes = [node("DynamicQuantizeLinear", "x", "q s z"), node("MatMulInteger", "q w z", "i"),
             node("Cast", "i", "f", to=onnx.TensorProto.FLOAT), node("Mul", "s ws", "m"), node("Mul", "f m", "y")]
    for shape in ((3, 6), (1, 2, 6)):
        x = rng.standard_normal(shape).astype(F)
        network = to.convert(graph(nodes, {"x": x}, ["y", "q"], {"w": w, "ws": F(0.01)}))
        q, scale, zero = dynamic(x)
        got = network.run(model, [x])
        np.testing.assert_array_equal(got[1], q)
        np.testing.assert_allclose(got[0], ((q - zero) @ w.astype(np.int64)).astype(F) * (scale * F(0.01)), 1e-6)
        assert set(places(network, [x], model)) == {"gemm"}


# ---- QuantizeLinear and DequantizeLinear around every operator ----

def quantised(name, scale, zero, real):
    """Nodes: to integers and back."""
    return [node("QuantizeLinear", "%s s_%s z_%s" % (name, name, name), name + "_q"),
            node("DequantizeLinear", "%s_q s_%s z_%s" % (name, name, name), real)]


def qdq_network(rng, dtype, zeros):
    """conv, ReLU, depthwise conv, max pooling, inner product; and its definition."""
    w1, w2, w3 = (rng.integers(-127, 128, s).astype(np.int8) for s in ((8, 3, 3, 3), (8, 1, 3, 3), (10, 72)))
    b1 = rng.integers(-3000, 3000, 8).astype(np.int32)
    s1, s2, s3 = rng.uniform(0.001, 0.01, 8).astype(F), rng.uniform(0.001, 0.01, 8).astype(F), F(0.003)
    act = dict(zip("xcdpy", zip((F(0.02), F(0.05), F(0.11), F(0.11), F(0.3)), zeros)))
    c = {"w1": w1, "w2": w2, "w3": w3, "b1": b1, "s1": s1, "s2": s2, "s3": s3, "zb": np.int32(0),
         "sb": act["x"][0] * s1, "z8": np.zeros(8, np.int8), "z0": np.int8(0)}
    c.update({k + "_" + n: v for n, (s, z) in act.items() for k, v in (("s", s), ("z", dtype(z)))})
    nodes = (quantised("x", *act["x"], "xr") + [
        node("DequantizeLinear", "w1 s1 z8", "w1r", axis=0), node("DequantizeLinear", "b1 sb", "b1r", axis=0),
        node("Conv", "xr w1r b1r", "c0", pads=[1] * 4, strides=[2, 2]), node("Relu", "c0", "c")] +
        quantised("c", *act["c"], "cr") + [
        node("DequantizeLinear", "w2 s2 z8", "w2r", axis=0), node("Conv", "cr w2r", "d", pads=[1] * 4, group=8)] +
        quantised("d", *act["d"], "dr") + [node("MaxPool", "dr", "p", kernel_shape=[2, 2], strides=[2, 2])] +
        quantised("p", *act["p"], "pr") + [
        node("Flatten", "pr", "f"), node("DequantizeLinear", "w3 s3 z0", "w3r"), node("Gemm", "f w3r", "y", transB=1)] +
        quantised("y", *act["y"], "out"))

    def definition(x):
        info = np.iinfo(dtype)
        (sx, zx), (sc, zc), (sd, zd), _, (sy, zy) = (act[k] for k in "xcdpy")
        q = np.clip(np.rint(x / sx) + zx, info.min, info.max).astype(np.int64) - zx
        t = np.maximum(conv2d(q, w1.astype(np.int64), b1, 2, 1), 0)
        t = steps(t, per_channel((sx * s1).astype(F) / sc), zc, dtype).astype(np.int64) - zc
        t = conv2d(t, w2.astype(np.int64), np.zeros(8), 1, 1, 8)
        t = steps(t, per_channel((sc * s2).astype(F) / sd), zd, dtype).astype(np.int64) - zd
        t = t.reshape(1, 8, 3, 2, 3, 2).max((3, 5)).reshape(1, -1) @ w3.astype(np.int64).T
        return (steps(t, F(sd * s3) / sy, zy, dtype).astype(np.int64) - zy).astype(F) * sy
    return graph(nodes, {"x": (1, 3, 12, 12)}, ["out"], c), definition


@pytest.mark.parametrize("dtype, zeros", [(np.uint8, (120, 0, 131, 131, 99)), (np.int8, (-5, -128, 7, 7, 0)),
                                          (np.int8, (0, 3, 0, 0, 0))])
def test_qdq_network(rng, model, dtype, zeros):
    """Every value as in onnxruntime, every multiplication on the GEMM, on the RTL, too."""
    made, definition = qdq_network(rng, dtype, zeros)
    network = to.convert(made)
    x = rng.standard_normal((1, 3, 12, 12)).astype(F)
    np.testing.assert_array_equal(network.run(model, [x])[0], definition(x))
    assert set(places(network, [x], model)) == {"gemm"}
    if dtype is np.uint8:
        with tandem.Device("tandem", 4) as dev:
            np.testing.assert_array_equal(network.run(dev, [x])[0], definition(x))


def test_chain(rng, model):
    """Zero point 0 behind a ReLU: the blob between two convolutions stays INT8; within one step, nearly all exact."""
    w = [rng.integers(-127, 128, (8, n, 3, 3)).astype(np.int8) for n in (3, 8, 8)]
    b = [rng.integers(-2000, 2000, 8).astype(np.int32) for _ in w]
    act, ws = [F(0.02), F(0.09), F(0.33), F(1.7)], F(0.004)
    c = {"z": np.int8(0), "ws": ws, "zb": np.int32(0)}
    nodes = [node("QuantizeLinear", "x s0 z", "q0"), node("DequantizeLinear", "q0 s0 z", "r0")]
    for i in range(3):
        c.update({"w%d" % i: w[i], "b%d" % i: b[i], "s%d" % i: act[i], "sb%d" % i: F(act[i] * ws)})
        nodes += [node("DequantizeLinear", "w%d ws z" % i, "v%d" % i),
                  node("DequantizeLinear", "b%d sb%d zb" % (i, i), "c%d" % i),
                  node("Conv", "r%d v%d c%d" % (i, i, i), "y%d" % i, pads=[1] * 4), node("Relu", "y%d" % i, "a%d" % i),
                  node("QuantizeLinear", "a%d s%d z" % (i, i + 1), "q%d" % (i + 1)),
                  node("DequantizeLinear", "q%d s%d z" % (i + 1, i + 1), "r%d" % (i + 1))]
    c["s3"] = act[3]
    network = to.convert(graph(nodes, {"x": (1, 3, 8, 8)}, ["r3"], c))
    # x may be -128: two planes; then the middle one gives INT8 to the last one
    assert [layer.params.get(8) for layer in network.net.layers if "Conv" in layer.kind] == [2, 2, 102, 2]
    exact, worst = [], 0.0
    for _ in range(10):
        x = rng.uniform(-2.5, 2.5, (1, 3, 8, 8)).astype(F)
        q = np.clip(np.rint(x / act[0]), -128, 127).astype(np.int64)
        for i in range(3):
            total = np.maximum(conv2d(q, w[i].astype(np.int64), b[i], 1, 1), 0)
            q = steps(total, F(act[i] * ws) / act[i + 1], 0, np.int8).astype(np.int64)
        error = np.abs(network.run(model, [x])[0] / act[3] - q)
        worst = max(worst, float(error.max()))
        exact.append(np.mean(error < 0.01))
    assert worst <= 1.01 and np.mean(exact) > 0.999


def test_weights_quantised_in_the_graph(rng, model):
    """FP32 weights with QuantizeLinear behind them are constants, too."""
    w, x = rng.standard_normal((4, 3, 1, 1)).astype(F), rng.standard_normal((1, 3, 4, 4)).astype(F)
    nodes = quantised("x", F(0.02), 0, "xr") + quantised("w", F(0.01), 0, "wr") + [node("Conv", "xr wr")]
    c = {"s_x": F(0.02), "z_x": np.int8(0), "w": w, "s_w": F(0.01), "z_w": np.int8(0)}
    network = to.convert(graph(nodes, {"x": x}, ["y"], c))
    q, wq = (np.clip(np.rint(v / s), -128, 127) for v, s in ((x, F(0.02)), (w, F(0.01))))
    np.testing.assert_allclose(network.run(model, [x])[0], conv2d(q, wq, np.zeros(4), 1, 0) * 0.0002, 1e-5, 1e-7)
    assert set(places(network, [x], model)) == {"gemm"}


@pytest.mark.parametrize("axis, place", [(1, "gemm"), (0, "cpu")])
def test_steps_along_the_other_axis(rng, model, axis, place):
    """A step for each column of a square matrix is one for each output; for each row it is not, and stays FP32."""
    w, x, s = rng.integers(-127, 128, (6, 6)).astype(np.int8), rng.integers(-90, 90, (1, 6)) / 4, rng.uniform(0.1, 1, 6)
    nodes = quantised("x", F(0.25), 0, "xr") + [node("DequantizeLinear", "w s", "wr", axis=axis),
                                                node("MatMul", "xr wr")]
    c = {"s_x": F(0.25), "z_x": np.int8(0), "w": w, "s": s.astype(F)}
    x = x.astype(F)
    network = to.convert(graph(nodes, {"x": x}, ["y"], c))
    real = w * (c["s"] if axis == 1 else c["s"][:, None])
    np.testing.assert_allclose(network.run(model, [x])[0], x @ real, 1e-5, 1e-3)
    assert set(places(network, [x], model)) == {place}


# ---- operators of onnxruntime ----

def test_operators_of_onnxruntime(rng, model):
    """QLinearAdd, QLinearConcat, QLinearGlobalAveragePool, QGemm: within one step of their definition."""
    def own(op, inputs, **attributes):
        return helper.make_node(op, inputs.split(), ["y"], name="n", domain="com.microsoft", **attributes)
    a, b = drawn(rng, np.uint8, 1, 4, 3, 5), drawn(rng, np.uint8, 1, 4, 3, 5)
    c = {"sa": F(0.1), "za": np.uint8(100), "sb": F(0.2), "zb": np.uint8(3), "sy": F(0.25), "zy": np.uint8(60)}
    ra, rb = (a.astype(F) - 100) * F(0.1), (b.astype(F) - 3) * F(0.2)
    w, bias = drawn(rng, np.int8, 6, 60), rng.integers(-99, 99, 6).astype(np.int32)
    c.update({"w": w, "sw": F(0.01), "zw": np.int8(0), "bias": bias})
    for made, ports, expected in (
            (own("QLinearAdd", "a sa za b sb zb sy zy"), {"a": a, "b": b}, ra + rb),
            (own("QLinearConcat", "sy zy a sa za b sb zb", axis=1), {"a": a, "b": b}, np.concatenate([ra, rb], 1)),
            (own("QLinearGlobalAveragePool", "a sa za sy zy"), {"a": a}, ra.mean((2, 3), keepdims=True)),
            (own("QGemm", "f sa za w sw zw bias sy zy", transB=1), {"f": a.reshape(1, 60)},
             ((a.reshape(1, 60) - 100.0) @ w.T.astype(F) + bias) * F(0.001))):
        first = graph([made], ports, ["y"], {k: v for k, v in c.items() if k in made.input})
        first.opset_import.append(helper.make_opsetid("com.microsoft", 1))
        got = to.convert(first).run(model, list(ports.values()))[0]
        assert got.dtype == np.uint8
        wanted = np.clip(np.rint(expected / F(0.25)) + 60, 0, 255)
        assert np.abs(got - wanted).max() <= 1 and np.mean(got == wanted) > 0.9, made.op_type


@pytest.mark.parametrize("made, text", [
    (node("QuantizeLinear", "x s z", block_size=2, axis=1), "node 'n_QuantizeLinear': block_size 2"),
    (node("QuantizeLinear", "x s i"), "dtype int32 of the result"),
    (node("DequantizeLinear", "x s"), "node 'n_DequantizeLinear': dtype float32, expected integers"),
    (helper.make_node("QLinearAdd", ["x"] * 8, ["y"], name="n", domain="com.microsoft"),
     "operator QLinearAdd, node 'n': a scale")])
def test_refused(made, text):
    with pytest.raises(to.Unsupported, match=text):
        to.convert(graph([made], {"x": (1, 4)}, ["y"], {"s": F(1), "z": np.uint8(3), "i": np.int32(3)}))


def test_page_names_every_unit():
    """Where the arithmetic ran is counted by these names."""
    assert backend.UNITS == ("GEMM", "ALU", "POOL", "CPU")
