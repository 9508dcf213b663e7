"""Layers of a network, INT8 and FP32 mixed: each against NumPy on the device's output of the previous one;
a whole network on two mesh sizes."""

import numpy as np
import reference
from tandem import Device, Network

F = np.float32


def drawn(rng, shape):
    return rng.integers(-127, 128, shape).astype(np.int8)


def layer(dev, x, rng, out, kernel, out_scale, in_scale):
    """A convolution with the map's size kept; (got, expected)."""
    weights = drawn(rng, (out, x.shape[0], kernel, kernel))
    bias = rng.standard_normal(out).astype(F)
    w_scale = F(64 * kernel * x.shape[0])
    pad = kernel // 2
    acc = reference.sums(x, weights, (1, 1), (1, 1), (pad, pad, pad, pad), 1)
    want = reference.finish(acc, in_scale, w_scale, bias, "relu")
    got = dev.conv2d(x, weights, in_scale=in_scale, w_scale=float(w_scale),
                     bias=bias, padding=pad, act="relu", out_scale=out_scale)
    return got, want if out_scale is None else reference.quantise(want, out_scale)


def test_mixed_precision(tandem, rng, knob):
    """FP32 -> INT8 layers -> FP32 -> the sum with another branch -> a fully connected layer."""
    c, h, w = knob("c", 1, 10), knob("h", 2, 10), knob("w", 2, 10)
    scale = knob("scale", [8.0, 20.0, 31.5])
    real = rng.standard_normal((c, h, w)).astype(F)
    x = tandem.convert(real, scale)
    assert reference.same(x, reference.quantise(real, scale)), "FP32 to INT8"
    for i in range(knob("layers", 1, 3)):
        x, want = layer(tandem, x, rng, knob("oc%d" % i, 1, 10), knob("k%d" % i, [1, 3]), scale, scale)
        assert reference.same(x, want), "INT8 layer %d: %d of %d elements differ" % (
            i, np.count_nonzero(x != want), x.size)
    left, want = layer(tandem, x, rng, 6, 3, None, scale)
    assert reference.same(left, want), "layer with FP32 output"
    right = tandem.convert(x, float(F(1) / F(scale)))
    assert reference.same(right, x.astype(F) * (F(1) / F(scale))), "INT8 to FP32"
    total = tandem.alu("add", left, float(right.ravel()[0]))
    assert reference.same(total, left + right.ravel()[0]), "sum"
    head = drawn(rng, (knob("classes", 1, 12), total.size))
    got = tandem.linear(total.ravel(), head, in_scale=scale)
    want = reference.finish(head.astype(np.int32) @ reference.quantise(total, scale).ravel().astype(np.int32),
                            scale, 1, None)
    assert reference.same(got, want), "fully connected layer"


NETWORK = """7767517
6 6
Input            data     0 1 data 0={w} 1={h} 2={c}
Convolution      first    1 1 data first 0={oc} 1={k} 4={pad} 5=1 6={weights} 9=1
Pooling          half     1 1 first half 0=0 1=2 2=2
ConvolutionDepthWise each 1 1 half each 0={oc} 1=3 4=1 5=1 6={each} 7={oc}
ReLU             act      1 1 each act
InnerProduct     head     1 1 act head 0={classes} 1=1 2={linear}
"""


def test_network(tandem, seed, rng, knob, tmp_path):
    """Quantised by the ranges of one FP32 run: the same bits on this device and on a golden model of another mesh size,
    and near the FP32 network."""
    size = {"c": knob("c", 1, 6), "h": knob("h", 4, 12), "w": knob("w", 4, 12),
            "oc": knob("oc", 1, 10), "k": knob("k", [1, 3, 5]), "classes": knob("classes", 1, 12)}
    size.update(pad=size["k"] // 2, weights=size["oc"] * size["c"] * size["k"]**2, each=size["oc"] * 9,
                linear=size["classes"] * size["oc"] * -(-size["h"] // 2) * -(-size["w"] // 2))
    param = tmp_path / "net.param"
    param.write_text(NETWORK.format(**size))
    net = Network(param, seed=seed)
    x = rng.standard_normal((size["c"], size["h"], size["w"])).astype(F)
    plain = net.reference(x)["head"]
    net.calibrate(x.reshape(1, -1), "minmax")
    net.quantise()
    got = net.run(tandem, x, tensors=True)
    with Device("model", 8 if tandem.n != 8 else 4) as other:
        again = net.run(other, x, tensors=True)
    for name, blob in got.items():
        assert reference.same(blob, again[name]), "blob %s depends on the mesh size" % name
    limit = 0.25 * max(1e-3, float(np.abs(plain).max()))
    assert (got["head"].shape == plain.shape and
            float(np.abs(got["head"] - plain).max()) <= limit), "far from the FP32 network"
