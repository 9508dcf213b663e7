"""tandem.onnx: sums, softmax and averages of integers, rounded as onnxruntime's kernels do it (QLinearAdd,
QLinearSoftmax, QLinearAveragePool), written as such and as QuantizeLinear behind DequantizeLinear."""

import numpy as np
import pytest
import tandem.onnx as to
from test_onnx import F, graph, model, node, rng  # noqa: F401
from test_onnx_int8 import drawn

pytest.importorskip("onnx", reason="not run: needs python3-onnx (make deps)")
Z = np.float64


def fused_add(a, sa, za, b, sb, zb, s, z, dtype):
    """fma(a, sa / s, fma(b, sb / s, z - (sa za + sb zb) / s)) in FP32, half to even. The products of integers of
    eight bits are exact in binary64."""
    ra, rb = F(F(sa) / F(s)), F(F(sb) / F(s))
    fixed = F(F(z) - F(F(ra * F(za)) + F(rb * F(zb))))
    inner = (b.astype(Z) * Z(rb) + Z(fixed)).astype(F)
    v = (a.astype(Z) * Z(ra) + inner.astype(Z)).astype(F)
    return np.clip(np.rint(v), np.iinfo(dtype).min, np.iinfo(dtype).max).astype(dtype)


def all_values(dtype):
    info = np.iinfo(dtype)
    return np.arange(info.min, info.max + 1).astype(dtype).reshape(1, 1, 16, 16)


def added(contrib, a, b, operands, result, dtype, fixed=()):
    """A graph with one sum; operands named in `fixed` are constants."""
    (sa, za), (sb, zb), (s, z) = *operands, result
    values = {"sa": F(sa), "sb": F(sb), "s": F(s), "za": dtype(za), "zb": dtype(zb), "z": dtype(z)}
    values.update({k: v for k, v in (("a", a), ("b", b)) if k in fixed})
    nodes = ([node("QLinearAdd", "a sa za b sb zb s z")] if contrib else
             [node("DequantizeLinear", "a sa za", "ar"), node("DequantizeLinear", "b sb zb", "br"),
              node("Add", "ar br", "t"), node("QuantizeLinear", "t s z", "y")])
    for n in nodes[:contrib]:
        n.domain = "com.microsoft"
    made = graph(nodes, {k: v for k, v in (("a", a), ("b", b)) if k not in fixed}, ["y"], values)
    return to.convert(made)


HALVES = [(np.uint8, (2 / 255, 128), (1 / 255, 0), 255, (2 / 255, 0)),  # 1 + erf of GELU: every other sum is a half
          (np.uint8, (1.030684471130371, 139), (0.0117647061124444, 0), 255, (0.0235294122248888, 0)),  # x + 3
          (np.uint8, (0.29011595249176025, 138), (0.0117647061124444, 0), 255, (0.0235294122248888, 0)),
          (np.int8, (2 / 255, 0), (1 / 255, -128), 127, (2 / 255, -128))]


@pytest.mark.parametrize("contrib, dtype, x, one, value, result", [(c, *h) for h in HALVES for c in (0, 1)
                                                                   if c or h[0] != np.int8])
def test_halves(model, contrib, dtype, x, one, value, result):
    """A constant that is half a step of the result more than a whole number of them, on either side of the sum."""
    a, b = all_values(dtype), np.array(value, dtype)
    expected = fused_add(a, *x, b, *one, *result, dtype)
    real = (a.astype(Z) - x[1]) * F(x[0]) + (Z(value) - one[1]) * F(one[0])
    exact = np.abs(real / F(result[0]) % 1 - 0.5) < 1e-4
    assert exact.any(), "no value is half way between two steps"
    network = added(contrib, a, b, (x, one), result, dtype, "b")
    np.testing.assert_array_equal(network.run(model, [a])[0], expected)
    network = added(contrib, b, a, (one, x), result, dtype, "a")
    np.testing.assert_array_equal(network.run(model, [a])[0], expected)


@pytest.mark.parametrize("contrib, dtype", [(0, np.uint8), (1, np.uint8), (1, np.int8)])
def test_bias_of_channels(rng, model, contrib, dtype):
    """A constant for each channel: every integer of the input, whatever the steps."""
    a = np.tile(all_values(dtype), (1, 40, 1, 1))
    b = drawn(rng, dtype, 40, 1, 1)
    low = np.iinfo(dtype).min
    for _ in range(4):
        x, y, result = ((F(rng.uniform(0.01, 0.2)), int(rng.integers(0, 256)) + low) for _ in range(3))
        network = added(contrib, a, b, (x, y), result, dtype, "b")
        np.testing.assert_array_equal(network.run(model, [a])[0], fused_add(a, *x, b, *y, *result, dtype))


@pytest.mark.parametrize("contrib", [0, 1])
def test_two_activations(rng, model, contrib):
    """Steps one half and a quarter of the result's and odd zero points: a half is rounded behind the zero point."""
    a, b = drawn(rng, np.uint8, 1, 4, 16, 16), drawn(rng, np.uint8, 1, 4, 16, 16)
    for x, y, result in (((0.5, 3), (0.25, 77), (1.0, 101)), ((0.5, 128), (0.5, 130), (1.0, 7)),
                         ((1.0, 0), (0.125, 9), (1.0, 33))):
        network = added(contrib, a, b, (x, y), result, np.uint8)
        np.testing.assert_array_equal(network.run(model, [a, b])[0], fused_add(a, *x, b, *y, *result, np.uint8))


def test_int8(model):
    """int8 between DequantizeLinear and QuantizeLinear is FP32 as written; onnxruntime has its kernels only for what it
    makes uint8 of."""
    dtype, (sa, za), (sb, zb), value, (s, z) = HALVES[3]
    a, b = all_values(dtype), np.array(value, dtype)
    total = (a.astype(F) - F(za)) * F(sa) + (F(value) - F(zb)) * F(sb)
    expected = np.clip(np.rint(total.astype(F) * F(F(1) / F(s))) + z, -128, 127).astype(dtype)
    assert np.any(expected != fused_add(a, sa, za, b, sb, zb, s, z, dtype))
    network = added(0, a, b, ((sa, za), (sb, zb)), (s, z), dtype, "b")
    np.testing.assert_array_equal(network.run(model, [a])[0], expected)


def test_read_twice(rng, model):
    """A sum that something else reads is no kernel: FP32 as written, divided by the step, rounded before the zero
    point."""
    a, b = all_values(np.uint8), np.array(255, np.uint8)
    values = {"sa": F(0.5), "za": np.uint8(3), "b": b, "sb": F(0.5), "zb": np.uint8(0), "s": F(1), "z": np.uint8(1)}
    made = graph([node("DequantizeLinear", "a sa za", "ar"), node("DequantizeLinear", "b sb zb", "br"),
                  node("Add", "ar br", "t"), node("QuantizeLinear", "t s z", "y"), node("Relu", "t", "r")],
                 {"a": a}, ["y", "r"], values)
    total = (a.astype(F) - 3) * F(0.5) + F(127.5)
    y, r = to.convert(made).run(model, [a])
    np.testing.assert_array_equal(y, np.clip(np.rint(total) + 1, 0, 255).astype(np.uint8))
    np.testing.assert_array_equal(r, np.maximum(total, 0))


@pytest.mark.parametrize("contrib", [0, 1])
@pytest.mark.parametrize("dtype, step, zero", [(np.uint8, 1 / 255, 0), (np.uint8, 1 / 256, 0), (np.int8, 1 / 255, -128),
                                               (np.uint8, 0.0029, 1)])
def test_softmax(rng, model, contrib, dtype, step, zero):
    """floor(1 / step) steps are 1: 254 of 1 / 255 in FP32."""
    x = drawn(rng, dtype, 1, 6, 50)
    values = {"s": F(0.05), "z": dtype(4), "t": F(step), "w": dtype(zero)}
    nodes = ([node("QLinearSoftmax", "x s z t w", axis=2, opset=13)] if contrib else
             [node("DequantizeLinear", "x s z", "r"), node("Softmax", "r", "p", axis=2),
              node("QuantizeLinear", "p t w", "y")])
    for n in nodes[:contrib]:
        n.domain = "com.microsoft"
    e = np.exp((x.astype(Z) - x.max(2, keepdims=True)) * F(0.05))
    v = e / e.sum(2, keepdims=True) * np.floor(F(1) / F(step)) + zero
    away = np.abs(v % 1 - 0.5) > 1e-4
    got = to.convert(graph(nodes, {"x": x}, ["y"], values)).run(model, [x])[0]
    expected = np.clip(np.rint(v), np.iinfo(dtype).min, np.iinfo(dtype).max)
    np.testing.assert_array_equal(got[away], expected[away])
    assert away.mean() > 0.99 and np.abs(got - expected).max() <= 1
    if step == 1 / 255:
        ones = to.convert(graph(nodes, {"x": x[:, :, :1]}, ["y"], values)).run(model, [x[:, :, :1]])[0]
        assert np.all(ones == 254 + zero)


@pytest.mark.parametrize("contrib", [0, 1])
def test_average(rng, model, contrib):
    """Windows of four, whose average is exact: in quarters of a step, rounded behind an odd zero point."""
    x = drawn(rng, np.uint8, 1, 3, 8, 8)
    values = {"s": F(0.25), "z": np.uint8(9), "t": F(0.25), "w": np.uint8(5)}
    window = {"kernel_shape": [2, 2], "strides": [2, 2]}
    nodes = ([node("QLinearAveragePool", "x s z t w", **window)] if contrib else
             [node("DequantizeLinear", "x s z", "r"), node("AveragePool", "r", "p", **window),
              node("QuantizeLinear", "p t w", "y")])
    for n in nodes[:contrib]:
        n.domain = "com.microsoft"
    mean = (x.astype(Z) - 9).reshape(1, 3, 4, 2, 4, 2).mean((3, 5))
    assert np.any(mean % 1 == 0.5)
    got = to.convert(graph(nodes, {"x": x}, ["y"], values)).run(model, [x])[0]
    np.testing.assert_array_equal(got, np.clip(np.rint(mean + 5), 0, 255).astype(np.uint8))


@pytest.mark.parametrize("contrib, dtype", [(0, np.uint8), (1, np.uint8), (1, np.int8)])
def test_products(rng, model, contrib, dtype):
    """Products of integers are exact; steps of one half and odd zero points make halves of them."""
    a, b = all_values(dtype), drawn(rng, dtype, 1, 1, 16, 16)
    low = np.iinfo(dtype).min
    for x, y, result in (((0.5, low + 9), (0.25, low + 7), (1.0, low + 101)), ((0.037, 3), (0.011, 5), (0.7, 77))):
        values = {"sa": F(x[0]), "za": dtype(x[1]), "sb": F(y[0]), "zb": dtype(y[1]), "s": F(result[0]),
                  "z": dtype(result[1])}
        nodes = ([node("QLinearMul", "a sa za b sb zb s z", "y")] if contrib else
                 [node("DequantizeLinear", "a sa za", "ar"), node("DequantizeLinear", "b sb zb", "br"),
                  node("Mul", "ar br", "t"), node("QuantizeLinear", "t s z", "y")])
        for n in nodes[:contrib]:
            n.domain = "com.microsoft"
        got = to.convert(graph(nodes, {"a": a, "b": b}, ["y"], values)).run(model, [a, b])[0]
        whole = ((a.astype(np.int64) - x[1]) * (b.astype(np.int64) - y[1])).astype(F)
        v = (whole * F(F(F(x[0]) * F(y[0])) / F(result[0])) + F(result[1])).astype(F)
        np.testing.assert_array_equal(got, np.clip(np.rint(v), low, low + 255).astype(dtype))


@pytest.mark.parametrize("contrib", [0, 1])
def test_mask(rng, model, contrib):
    """A mask of attention, 0 or -FLT_MAX, as the symmetric quantiser leaves it: its ends are beyond FP32, the result is
    not."""
    step = F(np.finfo(F).max / 127.5)
    scores, keep = drawn(rng, np.uint8, 1, 2, 6, 6), np.array([128, 128, 255, 128, 255, 255], np.uint8)
    values = {"s1": F(1 / 127), "z": np.uint8(128), "low": np.uint8(0), "sm": step, "sq": F(0.05),
              "p": F(1 / 256), "zp": np.uint8(0)}
    nodes = ([node("QLinearMul", "k s1 z low sm z sm z", "m"), node("QLinearAdd", "q sq z m sm z sm z", "t"),
              node("QLinearSoftmax", "t sm z p zp", "y", axis=3, opset=13)] if contrib else
             [node("DequantizeLinear", "k s1 z", "kr"), node("DequantizeLinear", "low sm z", "lr"),
              node("Mul", "kr lr", "mr"), node("QuantizeLinear", "mr sm z", "m"),
              node("DequantizeLinear", "m sm z", "mq"), node("DequantizeLinear", "q sq z", "qr"),
              node("Add", "qr mq", "tr"), node("QuantizeLinear", "tr sm z", "t"),
              node("DequantizeLinear", "t sm z", "tq"), node("Softmax", "tq", "pr", axis=3),
              node("QuantizeLinear", "pr p zp", "y")])
    for n in nodes if contrib else []:
        n.domain = "com.microsoft"
    made = graph(nodes, {"q": scores, "k": keep}, ["y", "m", "t"], values)
    y, m, t = to.convert(made).run(model, [scores, keep])
    np.testing.assert_array_equal(m, np.where(keep == 255, 0, 128))  # 127 / 127 * -128 + 128
    np.testing.assert_array_equal(t, np.broadcast_to(m, scores.shape))  # scores are far below a step
    np.testing.assert_array_equal(y, np.broadcast_to(np.where(keep == 255, 0, 85), scores.shape))  # 256 / 3
