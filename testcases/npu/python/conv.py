"""Convolutions of any shape against int32 sums in NumPy, bit by bit."""

import numpy as np
import reference

ACT_P = {"leaky": (0.125,), "clip": (-50.0, 80.5)}
MOST = 60000  # multiply-accumulates: a fraction of a second on the RTL


def weights_of(rng, shape):
    return rng.integers(-127, 128, shape).astype(np.int8)


def factors(rng, knob, count):
    """Scale of each weight channel, or one; a bias or none."""
    scale = (rng.random(count).astype(np.float32) + np.float32(0.01) if knob("scales", ["one", "each"]) == "each"
             else 1.0)
    bias = (rng.standard_normal(count) * 100).astype(np.float32) if knob("bias", ["none", "each"]) == "each" else None
    return {"w_scale": scale, "bias": bias, "in_scale": knob("in_scale", [1.0, 0.75, 20.0])}


def shape_of(knob, each_most, out_most):
    """Sizes of a convolution that fits; sizes too large for a simulation are reduced. Pinned values are
    kept where possible."""
    kernel = knob("kh", 1, 5), knob("kw", 1, 5)
    kw = {"stride": (knob("sh", 1, 3), knob("sw", 1, 3)), "dilation": (knob("dh", 1, 3), knob("dw", 1, 3)),
          "padding": (knob("top", 0, 3), knob("left", 0, 3), knob("bottom", 0, 3), knob("right", 0, 3))}
    pads = kw["padding"][0] + kw["padding"][2], kw["padding"][1] + kw["padding"][3]
    least = [max(1, (k - 1) * d + 1 - p) for k, d, p in zip(kernel, kw["dilation"], pads)]
    size = [max(least[0], knob("h", 1, 24)), max(least[1], knob("w", 1, 24))]
    each, out = knob("each", 1, each_most), knob("out", 1, out_most)
    while size[0] * size[1] * each * out * kernel[0] * kernel[1] > MOST and (size[0] > least[0] or size[1] > least[1]):
        size = [max(low, s * 3 // 4) for low, s in zip(least, size)]
    return kernel, size, each, out, kw


def test_conv2d(tandem, rng, knob):
    """INT8 or FP32 in, FP32 or INT8 out."""
    kernel, (h, w), each, out, kw = shape_of(knob, 20, 20)
    groups, act = knob("groups", [1, 1, 1, 2, 3]), knob("act", ["none", "relu", "leaky", "clip"])
    x, weights = weights_of(rng, (each * groups, h, w)), weights_of(rng, (out * groups, each) + kernel)
    post = {**factors(rng, knob, out * groups), "act": act, "act_p": ACT_P.get(act, ())}
    given = x
    if knob("input", ["int8", "float"]) == "float":
        given = (rng.standard_normal(x.shape) * 60 / post["in_scale"]).astype(np.float32)
        x = reference.quantise(given, post["in_scale"])
    acc = reference.sums(x, weights, kw["stride"], kw["dilation"], kw["padding"], groups)
    want = reference.finish(acc, post["in_scale"], post["w_scale"], post["bias"], act, post["act_p"])
    if knob("output", ["float", "int8"]) == "int8":
        kw["out_scale"], want = 0.01, reference.quantise(want, 0.01)
    got = tandem.conv2d(given, weights, groups=groups, **kw, **post)
    assert reference.same(got, want), "%d of %d elements differ" % (np.count_nonzero(got != want), got.size)


def test_depthwise(tandem, rng, knob):
    """As many groups as channels."""
    kernel, (h, w), channels, _, kw = shape_of(knob, 20, 20)
    x, weights = weights_of(rng, (channels, h, w)), weights_of(rng, (channels,) + kernel)
    post = factors(rng, knob, channels)
    acc = reference.sums(x, weights[:, None], kw["stride"], kw["dilation"], kw["padding"], channels)
    want = reference.finish(acc, post["in_scale"], post["w_scale"], post["bias"])
    got = tandem.depthwise(x, weights, **kw, **post)
    assert reference.same(got, want), "%d of %d elements differ" % (np.count_nonzero(got != want), got.size)


def test_splits_change_nothing(tandem, rng, knob):
    """However the driver cuts a convolution into tasks."""
    kernel, (h, w), each, out, kw = shape_of(knob, 20, 20)
    x, weights = weights_of(rng, (each, h, w)), weights_of(rng, (out, each) + kernel)
    n = tandem.n
    split = {"max_oc": n * knob("max_oc", 1, 3), "max_oh": knob("max_oh", 1, 8),
             "max_ow": knob("max_ow", 1, 8), "serial": knob("serial", [False, True])}
    whole = reference.finish(reference.sums(x, weights, kw["stride"], kw["dilation"], kw["padding"], 1), 1, 1, None)
    got = tandem.conv2d(x, weights, split=split, **kw)
    assert reference.same(got, whole), "%d of %d elements differ" % (np.count_nonzero(got != whole), got.size)
