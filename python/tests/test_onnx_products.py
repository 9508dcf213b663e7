"""tandem.onnx: products of two activations, Einsum, embeddings, branches whose condition is known."""

import numpy as np
import pytest
import tandem.onnx as to

onnx = pytest.importorskip("onnx", reason="not run: needs python3-onnx (make deps)")
from onnx import helper, numpy_helper  # noqa: E402
from test_onnx import F, check, graph, model, node, rng  # noqa: E402, F401


# ---- two activations ----

@pytest.mark.parametrize("a, b", [((4, 5), (5, 6)), ((3, 4, 5), (3, 5, 6)), ((2, 3, 4, 5), (2, 3, 5, 6)),
                                  ((2, 3, 4, 5), (5, 6)), ((4, 5), (2, 3, 5, 6)), ((2, 1, 4, 5), (1, 3, 5, 6)),
                                  ((1, 3, 4, 5), (2, 3, 5, 6)), ((2, 1, 1, 2, 3), (4, 1, 3, 2)), ((5,), (5, 6)),
                                  ((2, 3, 5), (5,)), ((5,), (3, 5, 6)), ((5,), (5,)), ((3, 1, 5), (3, 5, 6)),
                                  ((1, 1, 4, 5), (1, 1, 5, 1)), ((1, 4, 5), (2, 3, 5, 6))])
@pytest.mark.parametrize("fixed", [None, "a", "b"])
def test_matmul(rng, model, a, b, fixed):
    """Batches of any number of dimensions, broadcast on either side; either operand constant."""
    x, y = rng.standard_normal(a).astype(F), rng.standard_normal(b).astype(F)
    inputs = {name: v for name, v in (("a", x), ("b", y)) if name != fixed}
    constants = {name: v for name, v in (("a", x), ("b", y)) if name == fixed}
    check(model, graph([node("MatMul", "a b")], inputs, ["y"], constants), list(inputs.values()), [np.matmul(x, y)],
          1e-4, 1e-5)


@pytest.mark.parametrize("turn_a", [0, 1])
@pytest.mark.parametrize("turn_b", [0, 1])
def test_gemm_of_activations(rng, model, turn_a, turn_b):
    x, y, z = (rng.standard_normal(s).astype(F) for s in ((4, 5), (5, 6), (1, 6)))
    inputs = {"a": x.T.copy() if turn_a else x, "b": y.T.copy() if turn_b else y, "c": z}
    made = graph([node("Gemm", "a b c", transA=turn_a, transB=turn_b, alpha=0.5, beta=2.0)], inputs, ["y"])
    check(model, made, list(inputs.values()), [0.5 * (x @ y) + 2 * z], 1e-4, 1e-5)


def test_products_refused(rng):
    for a, b, text in (((4, 5), (6, 7), "5 columns of A, 6 rows of B"),
                       ((2, 4, 5), (3, 5, 6), r"shapes \[2, 4, 5\] and \[3, 5, 6\] do not fit together"),
                       ((), (5,), "expected two tensors with dimensions")):
        with pytest.raises(to.Unsupported, match="operator MatMul, node 'n_MatMul': " + text):
            to.convert(graph([node("MatMul", "a b")], {"a": a, "b": b}, ["y"]))
    made = graph([node("MatMul", "a b")], {"a": (2, 3), "b": np.zeros((3, 2), np.int32)}, ["y"])
    with pytest.raises(to.Unsupported, match="dtype int32"):
        to.convert(made)


EQUATIONS = [("bhid,bhjd->bhij", (2, 3, 4, 5), (2, 3, 6, 5)), ("bhij,bhjd->bihd", (2, 3, 4, 6), (2, 3, 6, 5)),
             ("bsd,dhk->bshk", (2, 4, 6), (6, 3, 5)), ("ij,jk", (4, 5), (5, 3)), ("bc,c->b", (4, 5), (5,)),
             ("...ij,...jk->...ik", (2, 3, 4, 5), (3, 5, 6)), ("i,j->ij", (4,), (5,)),
             ("bij,bkj->bik", (2, 3, 4), (2, 1, 4)),
             ("bhwc,hkc->bhwk", (2, 3, 4, 5), (3, 6, 5)), ("ijk->kj", (3, 4, 5), None), ("...->...", (2, 3), None),
             ("ij->", (3, 4), None), ("nctkv, kvw -> nctw", (1, 2, 3, 4, 5), (4, 5, 6))]


@pytest.mark.parametrize("equation, a, b", EQUATIONS, ids=[e for e, _, _ in EQUATIONS])
def test_einsum(rng, model, equation, a, b):
    arrays = [rng.standard_normal(s).astype(F) for s in (a, b) if s is not None]
    expected = np.einsum(equation.replace(" ", ""), *arrays)
    inputs = dict(zip("ab", arrays))
    check(model, graph([node("Einsum", " ".join(inputs), equation=equation)], inputs, ["y"]), arrays, [expected],
          1e-4, 1e-5)
    if len(arrays) == 2:
        for fixed in "ab":
            rest = [v for n, v in inputs.items() if n != fixed]
            made = graph([node("Einsum", "a b", equation=equation)], {n: v for n, v in inputs.items() if n != fixed},
                         ["y"], {fixed: inputs[fixed]})
            check(model, made, rest, [expected], 1e-4, 1e-5)


def test_einsum_of_three_and_refused(rng, model):
    x = [rng.standard_normal(s).astype(F) for s in ((3, 4), (4, 5), (5, 2))]
    check(model, graph([node("Einsum", "a b c", equation="ij,jk,kl->il")], dict(zip("abc", x)), ["y"]), x,
          [x[0] @ x[1] @ x[2]], 1e-4, 1e-5)
    for equation, text in (("ii->i", "a letter for each axis"), ("ij->ik", "letters of the result"),
                           ("i,j->ij", "for 1 inputs"), ("i", "a letter for each axis")):
        with pytest.raises(to.Unsupported, match=text):
            to.convert(graph([node("Einsum", "a", equation=equation)], {"a": (3, 3)}, ["y"]))


# ---- two activations that are integers ----

@pytest.mark.parametrize("kinds", [(np.int8, 0, np.int8, 0), (np.uint8, 0, np.int8, 3), (np.int8, -128, np.uint8, 128),
                                   (np.uint8, 128, np.uint8, 255)])
@pytest.mark.parametrize("shapes", [((2, 3, 5, 7), (2, 3, 7, 4)), ((5, 7), (7, 4))])
def test_integers(rng, model, kinds, shapes):
    """QDQ, QLinearMatMul and MatMulInteger give the same integers, exactly, on the GEMM."""
    ta, za, tb, zb = kinds
    a, b = (rng.integers(np.iinfo(t).min, int(np.iinfo(t).max) + 1, s).astype(t) for t, s in zip((ta, tb), shapes))
    total = np.matmul(a.astype(np.int64) - za, b.astype(np.int64) - zb)
    factor = F(F(F(0.02) * F(0.05)) / F(0.125))
    expected = np.clip(np.rint(total.astype(F) * factor) + 7, -128, 127)
    scales = {"sa": F(0.02), "sb": F(0.05), "sy": F(0.125), "za": ta(za), "zb": tb(zb), "zy": np.int8(7)}
    steps_in = [node("DequantizeLinear", "a sa za", "x"), node("DequantizeLinear", "b sb zb", "w"),
                node("MatMul", "x w", "p"), node("QuantizeLinear", "p sy zy")]
    whole = [node("QLinearMatMul", "a sa za b sb zb sy zy")]
    for nodes in (steps_in, whole):
        network = to.convert(typed(nodes, (a, b), scales))
        net, x = network.open(), network.feed([a, b])
        assert np.array_equal(network.fetch(net.run(model, x))[0], expected)
        places = [w["unit"] for layer, w in zip(net.layers, net.last_run) if layer["macs"]]
        assert places and set(places) == {"gemm"}, places
    made = typed([node("MatMulInteger", "a b za zb")], (a, b), scales)
    assert np.array_equal(to.convert(made).run(model, [a, b])[0], total)


def typed(nodes, inputs, constants):
    made = graph(nodes, {"a": inputs[0].shape, "b": inputs[1].shape}, ["y"], constants, 21)
    for port, x in zip(made.graph.input, inputs):
        port.type.tensor_type.elem_type = onnx.mapping.NP_TYPE_TO_TENSOR_TYPE[x.dtype]
    return made


# ---- rows by indices of the network ----

@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("shape", [(), (4,), (2, 3)])
@pytest.mark.parametrize("fixed", [False, True])
def test_gather(rng, model, axis, shape, fixed):
    """Of a constant and of an input; negative indices count from the end."""
    x = rng.standard_normal((4, 5, 6)).astype(F)
    index = rng.integers(-x.shape[axis], x.shape[axis], shape).astype(np.int64)
    inputs = {"i": index} if fixed else {"x": x, "i": index}
    made = graph([node("Gather", "x i", axis=axis)], inputs, ["y"], {"x": x} if fixed else {})
    check(model, made, list(inputs.values()), [np.take(x, index, axis)], 1e-6, 1e-6)


def test_gather_refused():
    made = graph([node("Gather", "x i")], {"x": (2000, 2), "i": np.zeros(1000, np.int64)}, ["y"])
    with pytest.raises(to.Unsupported, match="1000 indices into 2000 elements of float32 that are not constants"):
        to.convert(made)


# ---- branches ----

def branch(name, nodes, constants=None):
    fixed = [numpy_helper.from_array(v, n) for n, v in (constants or {}).items()]
    return helper.make_graph(nodes, name, [], [helper.make_tensor_value_info("out", onnx.TensorProto.FLOAT, None)],
                             fixed)


def test_if(rng, model):
    """A condition over shapes, as exporters write it for Squeeze; twice, with the same names inside; nested; one that
    depends on an input is refused, or is fixed as a constant."""
    inner = helper.make_node("If", ["no"], ["out"], then_branch=branch("a", [node("Neg", "x", "out")]),
                             else_branch=branch("b", [node("Mul", "x k", "out")], {"k": F(3)}))
    both = {"then_branch": branch("c", [node("Abs", "x", "t"), node("Sqrt", "t", "out")]),
            "else_branch": branch("d", [inner])}
    nodes = [node("Shape", "x", "s"), node("Gather", "s one", "d"), node("Equal", "d two", "yes"),
             node("Not", "yes", "no"), helper.make_node("If", ["yes"], ["p"], name="first", **both),
             helper.make_node("If", ["no"], ["q"], name="second", **both), node("Add", "p q")]
    constants = {"one": np.array(1), "two": np.array(2)}
    for columns in (2, 3):
        x = rng.standard_normal((4, columns)).astype(F)
        root, scaled = np.sqrt(np.abs(x)), 3 * x if columns == 2 else -x
        check(model, graph(nodes, {"x": x}, ["y"], constants), [x], [root + scaled])
    made = graph([helper.make_node("If", ["c"], ["y"], name="n", **both)], {"x": (2, 3), "c": np.array(True)}, ["y"],
                 {"no": np.array(True)})
    with pytest.raises(to.Unsupported, match=r"operator If, node 'n': the condition \(input 0\) depends on inputs"):
        to.convert(made)
    x = np.array([[4, -9, 0], [1, 1, 25]], F)
    assert np.array_equal(to.convert(made, constants={"c": np.array(True)}).run(model, [x])[0], np.sqrt(np.abs(x)))


def test_dimensions_without_a_name(model):
    """"?" in two places is not one size."""
    made = graph([node("Relu", "x")], {"x": ("?", "?", "w")}, ["y"])
    assert to.convert(made, shapes={"x": (2, 3, 4)}).inputs[0].shape == (2, 3, 4)
    with pytest.raises(to.Unsupported, match=r"input 'x' has the shape \(1, \?, w\)"):
        to.convert(made)
