"""tandem.onnx: graphs of one operator and of several against NumPy, what is refused, ONNX's node tests on golden model
and RTL, docs/onnx.md."""

import os
import re
import subprocess
import sys

import numpy as np
import pytest
import tandem
import tandem.onnx as to

onnx = pytest.importorskip("onnx", reason="not run: needs python3-onnx (make deps)")
from onnx import helper, numpy_helper  # noqa: E402
from tandem.onnx import backend, ops_math, proto, tensor  # noqa: E402

F = np.float32
FULL = os.environ.get("TANDEM_CHECK") == "1"
DATA = pytest.mark.skipif(not os.path.isdir(backend.DATA), reason="not run: needs libonnx-testdata (make deps)")
TYPES = {np.dtype(F): onnx.TensorProto.FLOAT, np.dtype(np.int64): onnx.TensorProto.INT64,
         np.dtype(np.int32): onnx.TensorProto.INT32, np.dtype(np.uint8): onnx.TensorProto.UINT8,
         np.dtype(bool): onnx.TensorProto.BOOL, np.dtype(np.float64): onnx.TensorProto.DOUBLE}


def graph(nodes, inputs, outputs, constants=None, opset=15):
    """A model; inputs: name to array or shape, outputs: names."""
    ports = []
    for name, x in inputs.items():
        shape, kind = (x, onnx.TensorProto.FLOAT) if isinstance(x, tuple) else (x.shape, TYPES[x.dtype])
        ports.append(helper.make_tensor_value_info(name, kind, shape))
    results = [helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, None) for n in outputs]
    fixed = [numpy_helper.from_array(np.asarray(v), n) for n, v in (constants or {}).items()]
    return helper.make_model(helper.make_graph(nodes, "g", ports, results, fixed),
                             opset_imports=[helper.make_opsetid("", opset)])


def node(op, inputs, outputs="y", **attributes):
    return helper.make_node(op, inputs.split(), outputs.split(), name="n_" + op, **attributes)


@pytest.fixture
def rng():
    return np.random.default_rng(5)


@pytest.fixture(scope="module")
def model():
    with tandem.Device("model", 4) as dev:
        yield dev


def check(model, onnx_model, inputs, expected, rtol=1e-5, atol=1e-6):
    network = to.convert(onnx_model)
    got = network.run(model, inputs)
    assert len(got) == len(expected)
    for g, e in zip(got, expected):
        assert g.shape == np.shape(e), (g.shape, np.shape(e))
        np.testing.assert_allclose(g, e, rtol, atol)
    return network


# ---- a network as they come ----

def conv2d(x, w, b, stride, pad, groups=1):
    x = np.pad(x, ((0, 0), (0, 0), (pad, pad), (pad, pad)))
    oh, ow = ((n - k) // stride + 1 for n, k in zip(x.shape[2:], w.shape[2:]))
    y = np.zeros((x.shape[0], w.shape[0], oh, ow))
    per = w.shape[0] // groups
    for o in range(w.shape[0]):
        part = x[:, o // per * w.shape[1]:(o // per + 1) * w.shape[1]]
        for i in range(oh):
            for j in range(ow):
                y[:, o, i, j] = (part[:, :, i * stride:i * stride + w.shape[2], j * stride:j * stride + w.shape[3]] *
                                 w[o]).sum((1, 2, 3)) + b[o]
    return y


def small_cnn(rng):
    """conv, batch norm, ReLU, pooling, a depthwise convolution with Swish beside a shortcut, global average, inner
    product, softmax."""
    c = {"w1": rng.standard_normal((8, 3, 3, 3)) / 3, "b1": rng.standard_normal(8),
         "s": rng.uniform(0.5, 1.5, 8), "o": rng.standard_normal(8), "m": rng.standard_normal(8),
         "v": rng.uniform(0.5, 2, 8), "w2": rng.standard_normal((8, 1, 3, 3)) / 3, "b2": rng.standard_normal(8),
         "w3": rng.standard_normal((10, 8)), "b3": rng.standard_normal(10)}
    c = {k: v.astype(F) for k, v in c.items()}
    nodes = [node("Conv", "x w1 b1", "c1", pads=[1] * 4, strides=[2, 2]),
             node("BatchNormalization", "c1 s o m v", "n1"), node("Relu", "n1", "r1"),
             node("MaxPool", "r1", "p1", kernel_shape=[2, 2], strides=[2, 2]),
             node("Conv", "p1 w2 b2", "c2", pads=[1] * 4, group=8, kernel_shape=[3, 3]), node("Sigmoid", "c2", "g"),
             node("Mul", "c2 g", "sw"), node("Add", "p1 sw", "res"), node("GlobalAveragePool", "res", "gap"),
             node("Flatten", "gap", "f"), node("Gemm", "f w3 b3", "fc", transB=1), node("Softmax", "fc", "y")]
    x = rng.standard_normal((1, 3, 16, 16)).astype(F)
    t = conv2d(x, c["w1"], c["b1"], 2, 1)
    t = ((t - c["m"][:, None, None]) / np.sqrt(c["v"][:, None, None] + 1e-5) *
         c["s"][:, None, None] + c["o"][:, None, None])
    p = np.maximum(t, 0).reshape(1, 8, 4, 2, 4, 2).max((3, 5))
    d = conv2d(p, c["w2"], c["b2"], 1, 1, 8)
    f = (p + d / (1 + np.exp(-d))).mean((2, 3)) @ c["w3"].T + c["b3"]
    e = np.exp(f - f.max())
    return graph(nodes, {"x": x}, ["y", "res"], c), x, e / e.sum(), p + d / (1 + np.exp(-d))


def test_small_cnn(rng, tmp_path):
    onnx_model, x, expected, inner = small_cnn(rng)
    onnx.save(onnx_model, tmp_path / "cnn.onnx")
    network = to.convert(tmp_path / "cnn.onnx")
    kinds = [layer.kind for layer in network.net.layers]
    assert "Swish" in kinds and "Sigmoid" not in kinds and "Split" in kinds and network.fitted == ["Swish"]
    net = network.open()
    exact = network.fetch(net.reference(network.feed([x])))
    np.testing.assert_allclose(exact[0], expected, 1e-4, 1e-6)
    np.testing.assert_allclose(exact[1], inner, 1e-4, 1e-5)
    with tandem.Device("tandem", 4) as dev:
        got = network.run(dev, [x])
        np.testing.assert_allclose(got[0], expected, atol=1e-3)  # Swish is fitted
        net.calibrate(network.feed([x])[None], "minmax")
        net.quantise()
        int8 = network.fetch(net.run(dev, network.feed([x])))
        assert [w["unit"] for w, layer in zip(net.last_run, net.layers) if layer["macs"]] == ["gemm"] * 3
        np.testing.assert_allclose(int8[0], expected, atol=0.05)


def test_command(rng, tmp_path, package):
    onnx_model, x, expected, _ = small_cnn(rng)
    onnx.save(onnx_model, tmp_path / "cnn.onnx")
    env = {**os.environ, "PYTHONPATH": package}
    command = [sys.executable, "-m", "tandem.onnx", "cnn.onnx", "-o", "net"]
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True)
    assert (done.returncode == 0 and
            done.stdout.startswith("input x 1x3x16x16 blob x 3x16x16\noutput y 1x10 blob")), done.stderr
    net = tandem.Network(tmp_path / "net.param", tmp_path / "net.bin")
    names = {line.split()[1]: line.split()[4] for line in done.stdout.splitlines() if line.startswith("output")}
    np.testing.assert_allclose(net.reference(x.ravel())[names["y"]].ravel(), expected.ravel(), 1e-4, 1e-6)
    assert sorted(os.listdir(tmp_path)) == ["cnn.onnx", "net.bin", "net.param"]


# ---- operators that the node tests do not reach ----

def test_batches_and_groups(rng, model):
    x, w = rng.standard_normal((3, 4, 6, 5)).astype(F), rng.standard_normal((6, 2, 3, 3)).astype(F)
    check(model, graph([node("Conv", "x w", group=2, pads=[1] * 4)], {"x": x}, ["y"], {"w": w}),
          [x], [conv2d(x, w, np.zeros(6), 1, 1, 2)], atol=1e-5)
    slope = rng.standard_normal((4, 1, 1)).astype(F)
    one = x[:1]
    network = check(model, graph([node("PRelu", "x s")], {"x": one}, ["y"], {"s": slope}),
                    [one], [np.where(one > 0, one, one * slope)])
    assert [layer.kind for layer in network.net.layers] == ["Input", "PReLU"]
    t = rng.standard_normal((2, 3, 1, 4)).astype(F)  # transposed, in groups
    wt = rng.standard_normal((4, 3, 1, 2)).astype(F)
    full = np.zeros((2, 6, 1, 8))
    x2 = t.transpose(0, 3, 2, 1)[:, :, :, :3].copy().astype(F)  # 2 x 4 x 1 x 3
    for g in range(2):
        for i in range(3):
            for k in range(2):
                full[:, g * 3:(g + 1) * 3, 0, 2 * i + k] += np.einsum("nc,co->no", x2[:, g * 2:g * 2 + 2, 0, i],
                                                                      wt[g * 2:g * 2 + 2, :, 0, k])
    check(model, graph([node("ConvTranspose", "x w", group=2, strides=[1, 2])], {"x": x2}, ["y"], {"w": wt}),
          [x2], [full[..., :6]], atol=1e-5)


@pytest.mark.parametrize("a, b", [((2, 3, 4, 5), (5,)), ((2, 3, 4, 5), (3, 1, 1)), ((2, 1, 4, 1), (1, 3, 1, 5)),
                                  ((4, 1), (1, 6)), ((7,), (1,)), ((1, 3, 5, 7), (1, 3, 5, 7)),
                                  ((3, 4, 5), ()), ((2, 3, 1, 5), (2, 1, 4, 1)), ((1, 1), (1,))])
def test_broadcast(rng, model, a, b):
    x, y = rng.standard_normal(a).astype(F), rng.standard_normal(b).astype(F)
    for op, f in (("Sub", np.subtract), ("Max", np.maximum)):
        check(model, graph([node(op, "a b")], {"a": x, "b": y}, ["y"]), [x, y], [f(x, y)], 0, 0)
        check(model, graph([node(op, "b a")], {"a": x}, ["y"], {"b": y}), [x], [f(y, x)], 0, 0)
    net = to.convert(graph([node("Sub", "a b")], {"a": x, "b": y}, ["y"])).open()
    net.run(model, np.concatenate([x.ravel(), y.ravel()]))
    assert [w["place"] for w, layer in zip(net.last_run, net.layers) if layer["type"] == "BinaryOp"] == ["npu"]


@pytest.mark.parametrize("perm", [(3, 2, 1, 0), (1, 3, 0, 2), (0, 2, 1, 3), (2, 0, 3, 1), (3, 0, 1, 2)])
def test_transpose(rng, model, perm):
    x = rng.standard_normal((2, 3, 4, 5)).astype(F)
    check(model, graph([node("Transpose", "x", perm=perm)], {"x": x}, ["y"]), [x], [x.transpose(perm)], 0, 0)


def test_every_permutation_has_steps():
    import itertools

    from tandem.onnx.ops_shape import steps_to
    for n in range(6):
        for target in itertools.permutations(range(n)):
            now = tuple(range(n))
            for cut, order in steps_to(target):
                runs = (now[:cut[0]], now[cut[0]:cut[1]], now[cut[1]:])
                now = runs[order[0]] + runs[order[1]] + runs[order[2]]
            assert now == target


@pytest.mark.parametrize("axes", [[0], [1], [2], [3], [0, 2], [1, 2, 3], [0, 3], [0, 1, 2, 3]])
@pytest.mark.parametrize("op, f",
                         [("ReduceMean", np.mean), ("ReduceMax", np.max), ("ReduceMin", np.min),
                          ("ReduceL2", lambda x, axis, keepdims: np.sqrt((x * x).sum(axis, keepdims=keepdims)))])
def test_reductions(rng, model, axes, op, f):
    x = rng.standard_normal((2, 3, 4, 5)).astype(F)
    for keep in (0, 1):
        check(model, graph([node(op, "x", axes=axes, keepdims=keep)], {"x": x}, ["y"]),
              [x], [f(x, axis=tuple(axes), keepdims=bool(keep))])


def test_blocks_stay_on_the_npu(rng, model):
    """Squeeze and excitation, a shuffle of channels and a mean over maps with gaps between their channels: no element
    goes through the CPU but for the convolutions."""
    x = rng.standard_normal((1, 8, 7, 7)).astype(F)
    w = rng.standard_normal((8, 8, 1, 1)).astype(F)
    nodes = [node("ReduceMean", "x", "m", axes=[2, 3], keepdims=1), node("Conv", "m w", "c"),
             node("HardSigmoid", "c", "h"), node("Mul", "x h", "se"), node("Reshape", "se split", "s"),
             node("Transpose", "s", "t", perm=[0, 2, 1, 3, 4]), node("Reshape", "t shape", "y")]
    constants = {"w": w, "split": np.array([1, 2, 4, 7, 7]), "shape": np.array([1, 8, 7, 7])}
    h = np.clip(0.2 * np.einsum("oc,nc->no", w[:, :, 0, 0], x.mean((2, 3))) + 0.5, 0, 1)
    expected = (x * h[:, :, None, None]).reshape(1, 2, 4, 7, 7).transpose(0, 2, 1, 3, 4).reshape(1, 8, 7, 7)
    network = check(model, graph(nodes, {"x": x}, ["y"], constants), [x], [expected], 1e-4, 1e-5)
    net = network.open()
    net.run(model, network.feed([x]))
    assert backend.places(network, net) == (("ALU", "CPU"), ("addresses", "ALU"))
    assert [layer["type"] for layer, w in zip(net.layers, net.last_run) if w["place"] == "cpu"] == ["Convolution"]
    fc = rng.standard_normal((3, 8 * 49)).astype(F)  # an inner product over a map, quantised: nothing on the CPU
    network = check(model, graph([node("MaxPool", "x", "p", kernel_shape=[1, 1]), node("Flatten", "p", "f"),
                                  node("Gemm", "f w", transB=1)], {"x": x}, ["y"], {"w": fc}), [x],
                    [x.reshape(1, -1) @ fc.T], 1e-4, 1e-4)
    net = network.open()
    net.calibrate(network.feed([x])[None], "minmax")
    net.quantise()
    net.run(model, network.feed([x]))
    assert all(w["place"] != "cpu" for w in net.last_run)


def test_graphs_with_shapes(rng, model):
    """What exporters write around a Reshape: Shape, Gather, Concat over constants; an input used twice; an output in
    the middle."""
    nodes = [node("Shape", "x", "s"), node("Gather", "s zero", "n"), node("Unsqueeze", "n first", "n1"),
             node("Concat", "n1 rest", "shape", axis=0), node("Reshape", "x shape", "flat"),
             node("Exp", "flat", "e"), node("Div", "one e", "r"), node("Sub", "r flat", "y")]
    constants = {"zero": np.int64(0), "first": np.array([0]), "rest": np.array([-1]), "one": F(1)}
    x = rng.standard_normal((2, 3, 4)).astype(F)
    flat = x.reshape(2, 12)
    check(model, graph(nodes, {"x": x}, ["y", "flat"], constants), [x], [1 / np.exp(flat) - flat, flat])


def coerced_softmax(x):
    e = np.exp(x.reshape(x.shape[0], -1) - x.reshape(x.shape[0], -1).max(1, keepdims=True))
    return (e / e.sum(1, keepdims=True)).reshape(x.shape)


@pytest.mark.parametrize("opset, op, attributes, f", [
    (11, "Squeeze", {"axes": [0]}, lambda x: x[0]), (11, "Unsqueeze", {"axes": [0, -1]}, lambda x: x[None, ..., None]),
    (11, "ReduceSum", {"axes": [1, 2]}, lambda x: x.sum((1, 2), keepdims=True)),
    (11, "Softmax", {"axis": 1}, coerced_softmax),
    (9, "Slice", {"starts": [1, 0], "ends": [3, -1], "axes": [1, 3]}, lambda x: x[:, 1:3, :, :-1]),
    (10, "Pad", {"pads": [0, 0, 1, 1, 0, 0, 1, 2], "value": 2.0},
     lambda x: np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 2)), constant_values=2)),
    (10, "Clip", {"min": -0.5, "max": 0.25}, lambda x: np.clip(x, -0.5, 0.25)),
    (7, "Upsample", {"mode": "nearest", "scales": [1.0, 1.0, 2.0, 3.0]}, lambda x: x.repeat(2, 2).repeat(3, 3)),
    (7, "Dropout", {"ratio": 0.3}, lambda x: x), (2, "Split", {"axis": 1, "split": [4]}, lambda x: x)])
def test_older_opsets(rng, model, opset, op, attributes, f):
    """Settings that were attributes before they became inputs."""
    x = rng.standard_normal((1, 4, 5, 6)).astype(F)
    check(model, graph([node(op, "x", **attributes)], {"x": x}, ["y"], opset=opset), [x], [f(x)])


def test_gelu(rng, model):
    import math
    nodes = [node("Div", "x root", "d"), node("Erf", "d", "e"), node("Add", "e one", "a"),
             node("Mul", "x a", "m"), node("Mul", "m half", "y")]
    x = rng.standard_normal((2, 5)).astype(F)
    expected = 0.5 * x * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))
    network = check(model, graph(nodes, {"x": x}, ["y"], {"root": F(math.sqrt(2)), "one": F(1), "half": F(0.5)}), [x],
                    [expected], 0, 1e-3)
    assert network.fitted == ["GELU"]


def test_open_sizes(model):
    x = np.ones((2, 3), F)
    onnx_model = graph([node("Relu", "x")], {"x": ("batch", "n")}, ["y"])
    with pytest.raises(to.Unsupported, match=r"input 'x' has the shape \(1, n\); give the open sizes: --shape x=1,8"):
        to.convert(onnx_model)
    assert to.convert(onnx_model, shapes={"x": (2, 3)}).run(model, [x])[0].shape == (2, 3)


def test_values_that_fp32_holds(model):
    """Integers are checked when they are fed; constants when they are converted."""
    a = np.array([1, 5, -7], np.int32)
    network = to.convert(graph([node("Equal", "a b")], {"a": a, "b": a}, ["y"]))
    np.testing.assert_array_equal(network.run(model, [a, a + np.array([0, 1, 0], np.int32)])[0], [True, False, True])
    with pytest.raises(ValueError, match="input 'b': expected integers from -1.67772e\\+07 to 1.67772e\\+07"):
        network.feed([a, a + np.int32(1 << 24)])
    with pytest.raises(ValueError, match="input 'a': expected int32"):
        network.feed([a.astype(np.int64), a])
    with pytest.raises(to.Unsupported, match="integers above 2\\^24"):
        to.convert(graph([node("Equal", "a b")], {"a": a}, ["y"], {"b": np.int32((1 << 24) + 1)}))


def test_constant_outputs_and_double(model):
    """An output that no input reaches; double is computed in FP32, and stays double for the caller."""
    x = np.array([[1, -2, 1 / 3]])
    network = to.convert(graph([node("Shape", "x", "s"), node("Abs", "x")], {"x": x}, ["s", "y"]))
    shape, y = network.run(model, [x])
    assert shape.tolist() == [1, 3] and shape.dtype == np.int64
    assert y.dtype == np.float64 and np.array_equal(y, np.abs(x).astype(F))


def test_bytes_wrap(rng, model):
    """Eight bits, as NumPy has them."""
    for dtype in (np.uint8, np.int8):
        a, b = (rng.integers(np.iinfo(dtype).min, np.iinfo(dtype).max + 1, 200).astype(dtype) for _ in range(2))
        kind = onnx.helper.mapping.NP_TYPE_TO_TENSOR_TYPE[np.dtype(dtype)]
        for op, f in (("Add", np.add), ("Sub", np.subtract), ("Mul", np.multiply)):
            made = graph([node(op, "a b")], {"a": (200,), "b": (200,)}, ["y"])
            for port in made.graph.input:
                port.type.tensor_type.elem_type = kind
            assert np.array_equal(to.convert(made).run(model, [a, b])[0], f(a, b)), (op, dtype)


def test_integers_on_the_gemm(rng, model):
    """Exact sums, also where a value or a weight is beyond INT8 behind its zero point."""
    x, w = rng.integers(3, 250, (1, 2, 5, 6)).astype(np.uint8), rng.integers(100, 250, (3, 2, 3, 3)).astype(np.uint8)
    network = to.convert(graph([node("ConvInteger", "x w zx zw", pads=[1] * 4)],
                               {"x": x}, ["y"], {"w": w, "zx": np.uint8(127), "zw": np.uint8(130)}))
    expected = conv2d(x.astype(np.int64) - 127, w.astype(np.int64) - 130, np.zeros(3), 1, 1)
    got = network.run(model, [x])[0]
    assert got.dtype == np.int32 and np.array_equal(got, expected)
    net = network.open()
    net.run(model, network.feed([x]))
    assert "GEMM" in backend.places(network, net)[0]
    full = np.full_like(x, 255)
    network = to.convert(graph([node("ConvInteger", "x w zx zw")], {"x": x},
                               ["y"], {"w": w, "zx": np.uint8(0), "zw": np.array([0, 7, 255], np.uint8)}))
    expected = conv2d(full.astype(np.int64), w - np.array([0, 7, 255])[:, None, None, None], np.zeros(3), 1, 0)
    assert np.array_equal(network.run(model, [full])[0], expected)


# ---- what is refused ----

W33 = {"w": np.ones((4, 3, 3, 3), F)}
REFUSED = [
    ([node("Conv", "x w", kernel_shape=[2, 2])], W33,
     r"operator Conv, node 'n_Conv': weights \[4, 3, 3, 3\] for an input \[1, 3, 8, 8\]"),
    ([node("Conv", "x x")], None, r"the weights \(input 1\) depends on inputs of the graph, expected a constant"),
    ([node("Unique", "x")], None, "operator Unique, node 'n_Unique': the operator is not supported"),
    ([node("MaxPool", "x", kernel_shape=[2, 2], dilations=[2, 2])], None, "dilations; supported: 1"),
    ([node("MaxPool", "x", "y i", kernel_shape=[2, 2])], None, r"output 1 \('i'\) is not supported"),
    ([node("AveragePool", "x", kernel_shape=[2, 2], pads=[2, 2, 2, 2])], None,
     "a window that covers nothing but padding"),
    ([node("Reshape", "x s")], {"s": np.array([5, -1])}, r"impossible shape \[5, -1\] for 192 elements"),
    ([node("Slice", "x s e a")], {"s": np.array([4]), "e": np.array([4]), "a": np.array([2])}, "an empty result"),
    ([node("Concat", "x w", axis=0)], W33, "shapes that differ in other axes than 0"),
    ([node("Softmax", "x", axis=4)], None, "axis 4 of a tensor with 4 dimensions"),
    ([node("Relu", "x", "z")], None, "nothing gives the output 'y'"),
    ([node("Cast", "x", to=onnx.TensorProto.FLOAT16)], None, "from float32 to float16, the NPU has FP32 and INT8"),
    ([node("Clip", "x a b")], {"a": F(0), "b": F(np.nan)}, "a setting that is not finite"),
    ([node("BatchNormalization", "x s s s s")], {"s": np.ones(2, F)},
     "input 1: expected 3 values, one for each channel"),
]


@pytest.mark.parametrize("nodes, constants, text", REFUSED)
def test_refused(nodes, constants, text):
    with pytest.raises(to.Unsupported, match=text) as error:
        to.convert(graph(nodes, {"x": (1, 3, 8, 8)}, ["y"], constants))
    assert "\n" not in str(error.value)


def test_refused_models():
    half = graph([node("Relu", "x")], {"x": (3,)}, ["y"])
    half.graph.input[0].type.tensor_type.elem_type = onnx.TensorProto.BFLOAT16
    with pytest.raises(to.Unsupported, match="input 'x': dtype bfloat16, the NPU has FP32 and INT8"):
        to.convert(half)
    with pytest.raises(to.Unsupported, match="operator Relu, node 'n_Relu': 2 inputs, expected at most 1"):
        to.convert(graph([node("Relu", "x x")], {"x": (3,)}, ["y"]))
    with pytest.raises(to.Unsupported, match="operator Relu, node 'n_Relu': its output 'y' has a value already"):
        to.convert(graph([node("Relu", "x"), node("Relu", "x")], {"x": (3,)}, ["y"]))
    with pytest.raises(to.Unsupported, match="operator Softmax, node 'n_Softmax': attribute axis has the type 1"):
        to.convert(graph([node("Softmax", "x", axis=1.0)], {"x": (3,)}, ["y"]))
    with pytest.raises(to.Unsupported, match="operator Relu, node 'n_Relu': attribute no_such is not supported"):
        to.convert(graph([node("Relu", "x", no_such=1)], {"x": (3,)}, ["y"]))
    with pytest.raises(to.Unsupported, match=r"output 'y' is declared as \[4\], but its result is \[3\]"):
        wrong = graph([node("Relu", "x")], {"x": (3,)}, ["y"])
        wrong.graph.output[0].type.tensor_type.shape.dim.add().dim_value = 4
        to.convert(wrong)
    other = graph([helper.make_node("Relu", ["x"], ["y"], domain="com.example")], {"x": (3,)}, ["y"])
    other.opset_import.append(helper.make_opsetid("com.example", 1))
    with pytest.raises(to.Unsupported, match="domain 'com.example'"):
        to.convert(other)


def test_command_errors(tmp_path, package):
    """One line, exit status 1, no file left behind."""
    onnx.save(graph([node("Unique", "x")], {"x": (3,)}, ["y"]), tmp_path / "bad.onnx")
    good = graph([node("Relu", "x")], {"x": (3,)}, ["y"])
    onnx.save(good, tmp_path / "good.onnx")
    (tmp_path / "cut.onnx").write_bytes(good.SerializeToString()[:-5])
    (tmp_path / "text.onnx").write_text("no model at all\n")
    (tmp_path / "empty.onnx").write_text("")
    os.mkdir(tmp_path / "out.bin")  # the second file cannot be written
    before = sorted(os.listdir(tmp_path))
    env = {**os.environ, "PYTHONPATH": package}
    for name, more, text in (("bad.onnx", [], "operator Unique"), ("none.onnx", [], "not a readable ONNX model"),
                             ("cut.onnx", [], ""), ("text.onnx", [], ""), ("empty.onnx", [], "it has no graph"),
                             ("good.onnx", ["--constant", "x=none.npy"], "none.npy"), ("good.onnx", [], "out.bin")):
        done = subprocess.run([sys.executable, "-m", "tandem.onnx", name, "-o", "out"] + more,
                              cwd=tmp_path, env=env, capture_output=True, text=True)
        assert done.returncode == 1 and done.stdout == "" and done.stderr.count("\n") == 1, (name, done.stderr)
        assert done.stderr.startswith("tandem.onnx: " + name) and text in done.stderr
        assert sorted(os.listdir(tmp_path)) == before, name


def mutate(rng, model):
    """One number of a valid model becomes another one: of an attribute, of a shape, of a constant, an operator's name,
    an input."""
    def pick(n):
        return int(rng.integers(n))
    numbers = [-1 << 63, -(1 << 31), -7, -2, -1, 0, 1, 2, 3, 5, 255, 256, 65536, 1 << 31, (1 << 63) - 1]
    node = model.graph.node[pick(len(model.graph.node))]
    kind = pick(5)
    value = numbers[pick(len(numbers))]
    if kind == 0 and node.attribute:
        a = node.attribute[pick(len(node.attribute))]
        if a.type == onnx.AttributeProto.INT:
            a.i = value
        elif a.type == onnx.AttributeProto.INTS and a.ints:
            a.ints[pick(len(a.ints))] = value
            if pick(3) == 0:
                del a.ints[-1]
        elif a.type == onnx.AttributeProto.FLOAT:
            a.f = (float("nan"), float("inf"), -1e30, 0.0)[pick(4)]
        elif a.type == onnx.AttributeProto.STRING:
            a.s = b"no such"
    elif kind == 1:
        tensor_type = model.graph.input[pick(len(model.graph.input))].type.tensor_type
        if tensor_type.shape.dim:
            tensor_type.shape.dim[pick(len(tensor_type.shape.dim))].dim_value = abs(value) % (1 << 40)
            if pick(3) == 0:
                del tensor_type.shape.dim[-1]
    elif kind == 2 and len(node.input):
        node.input[pick(len(node.input))] = model.graph.input[pick(len(model.graph.input))].name
    elif kind == 3:
        node.op_type = sorted(tensor.HANDLERS)[pick(len(tensor.HANDLERS))]
        del node.attribute[:]
    elif len(node.input) > 1:
        del node.input[-1]


@DATA
def test_damaged_models():
    """Whatever the numbers are: converted, or refused in one line."""
    rng = np.random.default_rng(11)
    names = backend.names()
    outcome = {"converted": 0, "refused": 0}
    for _ in range(20000 if FULL else 800):
        folder = os.path.join(backend.DATA, "test_" + names[rng.integers(len(names))])
        onnx_model = onnx.load(os.path.join(folder, "model.onnx"))
        if not onnx_model.graph.input:
            continue
        try:
            ports = proto.load(os.path.join(folder, "model.onnx")).graph.input
            given = dict(zip((i.name for i in ports), backend.arrays(folder, "input", ports)))
            for _ in range(rng.integers(1, 3)):
                mutate(rng, onnx_model)
            assert len(backend.converted(onnx_model, given)) == 2
            outcome["converted"] += 1
        except (to.Unsupported, tandem.Error) as error:
            assert str(error) and "\n" not in str(error)
            outcome["refused"] += 1
    assert min(outcome.values()) > 50


# ---- ONNX's node tests ----

EXPECTED = {"abs": ("ALU",), "add_bcast": ("ALU",), "and_bcast4v4d": ("ALU",), "batchnorm_example": ("ALU",),
            "averagepool_2d_pads": ("POOL",), "basic_convinteger": ("GEMM", "ALU"), "celu": ("ALU",),
            "clip_example": ("ALU",), "concat_1d_axis_0": (), "elu": ("ALU",), "globalaveragepool": ("ALU",),
            "greater_equal_bcast": ("ALU",), "hardswish_expanded": ("ALU",),
            "layer_normalization_4d_axis2": ("ALU",), "matmulinteger": ("GEMM", "ALU"),
            "maxpool_2d_uint8": ("POOL",), "prelu_broadcast": ("ALU",),
            "qlinearconv": ("GEMM", "ALU"), "einsum_batch_matmul": ("CPU",),
            "unique_sorted_with_axis": None, "reduce_l1_keep_dims_random": ("ALU", "POOL"),
            "reduce_sum_keepdims_random": ("POOL",), "basic_conv_with_padding": ("CPU",),
            "slice": (), "softmax_axis_1": ("ALU",), "tanh": ("ALU",), "where_example": ("ALU",)}


@DATA
def test_some_node_tests():
    """In tandem with the RTL: where each runs is known here."""
    with backend.Bench(True) as bench:
        for name, where in EXPECTED.items():
            r = bench.run(name)
            if where is None:
                assert r.outcome == "not supported" and r.text, r
            else:
                assert (r.outcome == ("fitted" if name in ("celu", "elu", "tanh") else "passed") and
                        r.arithmetic == where), r
            if name == "basic_conv_with_padding":
                assert 0 < r.quantised < 0.01
        assert bench.devices[1].cycles > 10000


@DATA
def test_constants_among_the_inputs():
    """Files of IR 3 name the weights among the inputs of the graph; so PyTorch wrote them."""
    with backend.Bench(False) as bench:
        folder = os.path.join(os.path.dirname(backend.DATA), "pytorch-converted")
        for name, where in (("Conv2d_padding", ("CPU",)), ("BatchNorm2d_eval", ("ALU",)), ("Linear", ("CPU",))):
            r = bench.run(name, folder, quantise=False)
            assert (r.outcome, r.arithmetic) == ("passed", where), r
            assert name.startswith("Batch") or "GEMM" in r.split


@DATA
def test_a_wrong_result_fails(monkeypatch):
    """The comparison can fail, and a failure is not called unsupported."""
    monkeypatch.setitem(ops_math.UNARY, "Abs", ops_math.NEG)
    with backend.Bench(False) as bench:
        r = bench.run("abs")
        assert r.outcome == "FAILED" and "expected" in r.text
        monkeypatch.undo()
        assert bench.run("abs").outcome == "passed"


@DATA
def test_page(root, package):
    """docs/onnx.md is what the tool writes: with the RTL in the long run, on the golden model otherwise (the page is
    the same). Enough tests pass, none fails."""
    done = subprocess.run([sys.executable, os.path.join(root, "tools", "onnx_table.py"), "--check", "--package",
                           package, "--device", "tandem" if FULL else "model"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    rows = {k.strip(" *"): int(n.strip(" *")) for k, n in re.findall(r"^\| ([^|]*) \| ([*\d]+) \|", done.stdout, re.M)}
    on_gemm = rows["GEMM, with ALU and POOL"] + rows["GEMM, some functions on the CPU"]
    assert on_gemm >= 200 and rows["all"] >= 550 and rows["ALU, POOL"] >= 70 and "0 failed" in done.stdout


def test_page_names_every_operator(root):
    """What the converter knows stands on the page."""
    with open(os.path.join(root, "docs", "onnx.md"), encoding="utf-8") as page:
        text = page.read()
    words = set(re.findall(r"\w+", text[text.index("## What is converted"):text.index("## Node tests")]))
    assert tensor.HANDLERS and not {name.split(".")[-1] for name in tensor.HANDLERS} - words
