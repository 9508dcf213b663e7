"""tandem.onnx: files as they come: of any version, with open sizes, data beside the file, functions; damaged ones."""

import os
import subprocess
import sys

import numpy as np
import pytest
import tandem
import tandem.onnx as to

onnx = pytest.importorskip("onnx", reason="not run: needs python3-onnx (make deps)")
from onnx import helper, numpy_helper  # noqa: E402
from tandem.onnx import proto  # noqa: E402
from test_onnx import F, check, graph, model, node, rng  # noqa: E402, F401

NEWEST = 28  # opset when this was written; later ones have no gate either


# ---- the file format ----

@pytest.mark.parametrize("kind", ["FLOAT", "UINT8", "INT8", "UINT16", "INT16", "INT32", "INT64", "BOOL", "FLOAT16",
                                  "DOUBLE", "UINT32", "UINT64", "COMPLEX64"])
def test_elements_of_every_type(kind):
    """The same elements as the package reads, from lists and from bytes."""
    dtype = onnx.mapping.TENSOR_TYPE_TO_NP_TYPE[getattr(onnx.TensorProto, kind)]
    values = (np.arange(-3, 3) * 40).reshape(2, 3).astype(dtype)
    raw = numpy_helper.from_array(values, "t")
    lists = helper.make_tensor("t", raw.data_type, (2, 3), values.ravel().tolist())
    for tensor in (raw, lists):
        got = proto.array(proto.tensor_of(tensor.SerializeToString()))
        assert got.dtype == values.dtype and np.array_equal(got, values), kind


def test_elements_without_a_dtype():
    """bfloat16 as FP32, integers of four bits; what has no values here is refused by name."""
    half = onnx.TensorProto(data_type=proto.BFLOAT16, dims=[3], name="t",
                            raw_data=np.array([0x3F80, 0xC000, 0x7F80], "<u2").tobytes())
    assert proto.array(proto.tensor_of(half.SerializeToString())).tolist() == [1.0, -2.0, np.inf]
    four = onnx.TensorProto(data_type=proto.INT4, dims=[3], raw_data=b"\x81\x07")
    assert proto.array(proto.tensor_of(four.SerializeToString())).tolist() == [1, -8, 7]
    four.data_type = proto.UINT4
    assert proto.array(proto.tensor_of(four.SerializeToString())).tolist() == [1, 8, 7]
    eight = onnx.TensorProto(data_type=17, dims=[1], raw_data=b"\x81", name="w")
    with pytest.raises(to.Unsupported, match="tensor 'w': dtype float8e4m3fn is not supported"):
        proto.array(proto.tensor_of(eight.SerializeToString()))
    short = onnx.TensorProto(data_type=1, dims=[1 << 40], raw_data=b"\x00" * 4, name="w")
    with pytest.raises(proto.Malformed, match="tensor 'w': 4 bytes for the shape"):
        proto.array(proto.tensor_of(short.SerializeToString()))


@pytest.mark.parametrize("ir, opset", [(3, 7), (4, 9), (8, 17), (9, 18), (10, 21), (13, NEWEST), (99, 99)])
def test_no_version_is_refused(ir, opset, model, tmp_path):
    """Only operators decide; IR 3 repeats the constants among the inputs. Domains that no node uses do not matter."""
    x = np.array([[1, -2, 3]], F)
    made = graph([node("Mul", "x w", "z"), node("Relu", "z")], {"x": x, "w": (1,)}, ["y"], {"w": F([2])}, opset)
    made.ir_version = ir
    made.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    path = tmp_path / "net.onnx"
    path.write_bytes(made.SerializeToString())
    network = to.convert(path)
    assert [p.name for p in network.inputs] == ["x"]
    np.testing.assert_array_equal(network.run(model, [x])[0], [[2, 0, 6]])


def test_without_onnx(package, tmp_path):
    """The package is not needed."""
    (tmp_path / "onnx.py").write_text("raise ImportError('hidden')\n")
    (tmp_path / "a.onnx").write_bytes(graph([node("Relu", "x")], {"x": (3,)}, ["y"]).SerializeToString())
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), package])}
    done = subprocess.run([sys.executable, "-m", "tandem.onnx", "a.onnx", "-o", "b"],
                          cwd=tmp_path, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("input x 3 blob x 3\noutput y 3 blob n_Relu 3\n")


# ---- open sizes ----

def open_graph(*dims):
    made = graph([node("Add", "a b")], {"a": ("n", "w"), "b": ("n", "w")}, ["y"])
    for d in dims:
        made.graph.input[0].type.tensor_type.shape.dim[d].dim_value = -1
    return made


def test_sizes_by_name(model):
    """A size for an input gives the names of its dimensions a value in all inputs; or a name gets it directly."""
    a = np.arange(6, dtype=F).reshape(2, 3)
    for shapes in ({"a": (2, 3)}, {"n": (2,), "w": (3,)}, {"b": (2, 3)}):
        assert np.array_equal(to.convert(open_graph(), shapes=shapes).run(model, [a, a])[0], a + a)
    assert to.convert(open_graph(), shapes={"w": (3,)}).inputs[0].shape == (1, 3)
    assert to.convert(open_graph(0, 1), shapes={"a": (2, 3), "b": (2, 3)}).inputs[0].shape == (2, 3)
    for shapes, text in (({"w": (3,), "a": (2, 4)}, "--shape a: 4 for the dimension 'w', which is 3 elsewhere"),
                         ({"c": (2, 3)}, "--shape c: neither an input nor a dimension of one"),
                         ({"a": (2, 3, 4)}, "--shape a: 3 sizes, the model has 2"),
                         ({"a": (0, 3)}, r"input 'a': --shape \[0, 3\], expected sizes above 0"),
                         ({}, r"input 'a' has the shape \(1, w\); give the open sizes: --shape a=1,8")):
        with pytest.raises(to.Unsupported, match=text):
            to.convert(open_graph(), shapes=shapes)


def test_no_shape_at_all(model, tmp_path, package):
    made = graph([node("Relu", "x")], {"x": (1,)}, ["y"])
    made.graph.input[0].type.tensor_type.ClearField("shape")
    (tmp_path / "net.onnx").write_bytes(made.SerializeToString())
    env = {**os.environ, "PYTHONPATH": package}
    command = [sys.executable, "-m", "tandem.onnx", "net.onnx", "-o", "net"]
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True)
    assert done.returncode == 1 and done.stderr == (
        "tandem.onnx: net.onnx: input 'x' has no shape; give it one: --shape x=1,3,224,224\n")
    done = subprocess.run(command + ["--shape", "x=2,5"], cwd=tmp_path, env=env, capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.startswith("input x 2x5 "), done.stderr


# ---- data beside the file ----

def test_external_data(model, tmp_path, rng):
    w, x = rng.standard_normal((40, 30)).astype(F), rng.standard_normal((1, 40)).astype(F)
    made = graph([node("Gemm", "x w")], {"x": x}, ["y"], {"w": w})
    path = tmp_path / "net.onnx"
    onnx.save_model(made, str(path), save_as_external_data=True, location="net.data", size_threshold=0)
    np.testing.assert_allclose(to.convert(path).run(model, [x])[0], x @ w, 1e-5, 1e-5)
    saved = onnx.load(path, load_external_data=False)
    entry = next(e for e in saved.graph.initializer[0].external_data if e.key == "location")
    for name, text in (("../net.data", "expected a file in the folder of the model"), ("", "expected a file"),
                       ("/etc/passwd", "expected a file in the folder of the model"), ("no.data", "No such file")):
        entry.value = name
        path.write_bytes(saved.SerializeToString())
        with pytest.raises(tandem.Error, match="tensor 'w': external data.*" + text):
            to.convert(path)
    entry.value = "net.data"
    path.write_bytes(saved.SerializeToString())
    (tmp_path / "net.data").write_bytes(b"\0" * 100)
    with pytest.raises(tandem.Error, match="external data: 'net.data' ends before byte 4800"):
        to.convert(path)
    with pytest.raises(tandem.Error, match="external data 'net.data' of a model without a file"):
        to.convert(saved.SerializeToString())


# ---- functions of the model ----

def test_functions(model, rng):
    """A function in a function, with an attribute handed on and one with a default, and names that occur twice."""
    inner = helper.make_function("own", "Leak", ["x"], ["y"], [node("LeakyRelu", "x", "y")],
                                 [helper.make_opsetid("", 15)], ["alpha"])
    inner.node[0].attribute.add(name="alpha", ref_attr_name="alpha", type=onnx.AttributeProto.FLOAT)
    call = helper.make_node("Leak", ["t"], ["y"], domain="own")
    call.attribute.add(name="alpha", ref_attr_name="slope", type=onnx.AttributeProto.FLOAT)
    outer = helper.make_function("own", "Twice", ["x"], ["y"], [node("Add", "x x", "t"), call],
                                 [helper.make_opsetid("", 15), helper.make_opsetid("own", 1)], ["slope"])
    x = rng.standard_normal((2, 3)).astype(F)
    made = graph([helper.make_node("Twice", ["x"], ["t"], domain="own", slope=0.25),
                  helper.make_node("Twice", ["t"], ["y"], domain="own", slope=0.5)], {"x": x}, ["y"])
    made.functions.extend([inner, outer])
    t = np.where(x > 0, 2 * x, x / 2)
    check(model, made, [x], [np.where(t > 0, 2 * t, t)])
    inner.node[0].CopyFrom(helper.make_node("Leak", ["x"], ["y"], domain="own"))
    del made.functions[:]
    made.functions.extend([inner, outer])
    with pytest.raises(to.Unsupported, match="a function in itself"):
        to.convert(made)


def test_functions_that_multiply():
    """Twenty functions, each of which calls the next one twice, stand for a million nodes: refused."""
    imports = [helper.make_opsetid("", 15), helper.make_opsetid("own", 1)]
    made = graph([helper.make_node("F0", ["x"], ["y"], domain="own")], {"x": (2, 3)}, ["y"])
    for i in range(20):
        calls = [helper.make_node("F%d" % (i + 1), [a], [b], domain="own") for a, b in (("x", "t"), ("t", "y"))]
        made.functions.append(helper.make_function("own", "F%d" % i, ["x"], ["y"], calls, imports))
    made.functions.append(helper.make_function("own", "F20", ["x"], ["y"], [node("Identity", "x", "y")], imports))
    with pytest.raises(to.Unsupported, match="more than 10000 calls"):
        to.convert(made)


# ---- damaged files ----

def test_damaged_files(rng):
    """Cut off at every byte, and with wrong bytes: converted, or refused in one line."""
    w = rng.standard_normal((4, 3, 3, 3)).astype(F)
    whole = graph([node("Conv", "x w", "c", pads=[1] * 4), node("Relu", "c")], {"x": (1, 3, 4, 4)}, ["y"],
                  {"w": w}).SerializeToString()
    outcome = {True: 0, False: 0}
    cut = [whole[:n] for n in range(0, len(whole), 1 if len(whole) < 300 else 7)] + [whole[:-n] for n in range(1, 30)]
    wrong = []
    for _ in range(400):
        data = bytearray(whole)
        for at in rng.integers(0, len(data), 3):
            data[at] = rng.integers(256)
        wrong.append(bytes(data))
    for data in cut + wrong:
        try:
            to.convert(data)
            outcome[True] += 1
        except (to.Unsupported, tandem.Error) as error:
            assert str(error) and "\n" not in str(error)
            outcome[False] += 1
    assert outcome[False] >= len(cut)
    deep = b""
    for _ in range(2000):  # a graph in an attribute of a node of a graph ...
        deep = b"\x32" + length(deep) + deep
        deep = b"\x2a" + length(deep) + deep
        deep = b"\x0a" + length(deep) + deep
    with pytest.raises(tandem.Error, match="messages in messages, more than 64"):
        to.convert(b"\x3a" + length(deep) + deep)


def length(data):
    n, out = len(data), b""
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


# ---- what newer opsets changed ----

def rms(x, s):
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5) * s


def groups(x, s, o):
    p = x.reshape(1, 2, -1)
    p = (p - p.mean(2, keepdims=True)) / np.sqrt(p.var(2, keepdims=True) + 1e-5)
    return p.reshape(x.shape) * s[:, None, None] + o[:, None, None]


def gelu_tanh(x):
    return x / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x ** 3)))


S = np.array([0.5, -1, 2, 3], F)
NEWER = [
    (18, node("ReduceMax", "x a"), {"a": np.array([1, -1])}, lambda x: x.max((1, 3), keepdims=True)),
    (18, node("ReduceSumSquare", "x a", noop_with_empty_axes=1), {"a": np.zeros(0, np.int64)}, lambda x: x * x),
    (18, node("Split", "x", "y z", axis=2, num_outputs=2), {}, lambda x: x[:, :, :3]),
    (18, node("Pad", "x p v a"), {"p": np.array([1, 2]), "v": F(7), "a": np.array([-1])},
     lambda x: np.pad(x, ((0, 0), (0, 0), (0, 0), (1, 2)), constant_values=7)),
    (18, node("Resize", "x  s", axes=[3, 2], antialias=0, coordinate_transformation_mode="asymmetric",
              nearest_mode="floor"), {"s": F([2, 3])}, lambda x: x.repeat(3, 2).repeat(2, 3)),
    (18, node("Mish", "x"), {}, lambda x: x * np.tanh(np.log1p(np.exp(x)))),
    (20, node("Gelu", "x", approximate="tanh"), {}, gelu_tanh),
    (21, node("GroupNormalization", "x s o", num_groups=2), {"s": S, "o": S}, lambda x: groups(x, S, S)),
    (18, node("GroupNormalization", "x s o", num_groups=2), {"s": S[:2], "o": S[2:]},
     lambda x: groups(x, S[[0, 0, 1, 1]], S[[2, 2, 3, 3]])),
    (23, node("RMSNormalization", "x s"), {"s": np.arange(6, dtype=F)}, lambda x: rms(x, np.arange(6))),
    (24, node("Swish", "x", alpha=2.0), {}, lambda x: x / (1 + np.exp(-2 * x))),
    (28, node("SpaceToDepth", "x", blocksize=1, mode="CRD"), {}, lambda x: x),
]


@pytest.mark.parametrize("opset, made, constants, f", NEWER, ids=[n.op_type + str(v) for v, n, _, _ in NEWER])
def test_newer_opsets(rng, model, opset, made, constants, f):
    made = helper.make_node(made.op_type, [i for i in made.input], list(made.output), name="n",
                            **{a.name: helper.get_attribute_value(a) for a in made.attribute})
    if made.op_type == "Resize":
        made.input.insert(1, "")
    x = rng.standard_normal((1, 4, 5, 6)).astype(F)
    fitted = made.op_type in ("Mish", "Swish", "Gelu")
    check(model, graph([made], {"x": x}, ["y"], constants, opset), [x], [f(x)], 1e-5, 5e-3 if fitted else 1e-5)


def test_selection_of_infinities(model):
    """A mask of -inf, as attention has it, and bounds the wrong way round."""
    c, a = np.array([True, False, True, False]), np.array([1, 2, -np.inf, 0], F)
    made = graph([node("Where", "c a b")], {"c": c, "a": a}, ["y"], {"b": F(-np.inf)})
    got = to.convert(made).run(model, [c, a])[0]
    assert got.tolist() == [1, -np.inf, -np.inf, -np.inf]
    made = graph([node("Where", "c a b")], {"a": a}, ["y"], {"b": F(np.inf), "c": c})
    assert to.convert(made).run(model, [a])[0].tolist() == [1, np.inf, -np.inf, np.inf]
    made = graph([node("Clip", "a l h")], {"a": a}, ["y"], {"l": F(2), "h": F(1)})
    assert to.convert(made).run(model, [a])[0].tolist() == [1, 1, 1, 1]
