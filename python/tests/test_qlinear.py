"""Asymmetric INT8: dev.qlinear_conv against ONNX's QLinearConv, as NumPy and, where it is installed, as onnxruntime
computes it. uint8 tensors are int8 ones, 128 lower."""

import numpy as np
import pytest
import reference
import tandem

F = np.float32


def draw(rng):
    """Arrays and keywords of a random QLinearConv; every fourth has a power of two as its factor, so halves occur."""
    groups = int(rng.choice([1, 1, 2]))
    each, out = int(rng.integers(1, 12)), int(rng.integers(1, 12)) * groups
    kernel = [int(v) for v in rng.integers(1, 4, 2)]
    h, w = (int(v) for v in rng.integers(3, 12, 2))
    x = rng.integers(-128, 128, (each * groups, h, w)).astype(np.int8)
    weights = rng.integers(-127, 128, (out, each, *kernel)).astype(np.int8)
    exact = rng.random() < 0.25
    taps = each * kernel[0] * kernel[1]
    ends = [-128, -1, 0, 1, 127, int(rng.integers(-128, 128))]
    return x, weights, {
        "x_step": 0.5 if exact else float(F(rng.random() * 0.1 + 0.001)),
        "x_zero": int(rng.choice(ends)),
        "w_step": F(0.25) if exact else (rng.random(out) * 0.02 + 0.0001).astype(F),
        "y_step": 64.0 if exact else float(F((rng.random() * 0.1 + 0.01) * taps ** 0.5)),
        "y_zero": int(rng.choice(ends)),
        "bias": rng.integers(-20000, 20000, out).astype(np.int32) if rng.random() < 0.8 else None,
        "stride": tuple(int(v) for v in rng.integers(1, 3, 2)),
        "padding": tuple(int(v) for v in rng.integers(0, 4, 4)),
        "groups": groups}


def numpy_qlinear(x, weights, kw):
    """The definition: exact sums of (x - zero) * w and the bias, one rounding to FP32, one of the product, half to
    even."""
    acc = reference.sums(x.astype(np.int32) - kw["x_zero"], weights, kw["stride"], (1, 1), kw["padding"], kw["groups"])
    if kw["bias"] is not None:
        acc = acc + kw["bias"][:, None, None]
    m = (F(kw["x_step"]) * np.broadcast_to(np.asarray(kw["w_step"], F), len(weights))).astype(F) / F(kw["y_step"])
    v = acc.astype(F) * m.astype(F)[:, None, None]
    return np.clip(np.rint(v.astype(np.float64)) + kw["y_zero"], -128, 127).astype(np.int8)


def call(dev, x, weights, kw):
    w_step = kw["w_step"]
    given = {k: v for k, v in kw.items() if v is not None}
    given["w_step"] = float(w_step) if np.ndim(w_step) == 0 else w_step
    return dev.qlinear_conv(x, weights, **given)


@pytest.mark.parametrize("kind, n, count", [("model", 4, 60), ("model", 8, 60), ("model", 32, 30), ("tandem", 4, 6)])
def test_definition(kind, n, count):
    rng = np.random.default_rng(n)
    with tandem.Device(kind, n) as dev:
        for i in range(count):
            x, weights, kw = draw(rng)
            got, want = call(dev, x, weights, kw), numpy_qlinear(x, weights, kw)
            assert np.array_equal(got, want), (i, kw)


def test_padding_is_the_zero_point():
    """Padded with 0 instead, the border would differ."""
    x = np.full((3, 5, 5), 17, np.int8)
    w = np.ones((1, 3, 3, 3), np.int8)
    with tandem.Device("model", 4) as dev:
        y = dev.qlinear_conv(x, w, x_zero=17, padding=1, y_zero=-3)
        assert np.all(y == -3)
        assert np.all(dev.qlinear_conv(x, w, x_zero=17, padding=9, y_zero=-3) == -3)


def test_refused():
    x, w = np.zeros((1, 3, 3), np.int8), np.zeros((1, 1, 1, 1), np.int8)
    with tandem.Device("model", 4) as dev:
        for wrong in ({"x_zero": 128}, {"y_zero": -129}, {"y_step": 0.0}, {"groups": 2},
                      {"bias": np.zeros(2, np.int32)}):
            with pytest.raises(ValueError):
                dev.qlinear_conv(x, w, **wrong)
        with pytest.raises((TypeError, ValueError)):
            dev.qlinear_conv(x.astype(F), w)


def test_onnxruntime():
    """int8 by int8, where onnxruntime's kernel on x86 does not saturate sums of pairs."""
    ort = pytest.importorskip("onnxruntime")
    helper = pytest.importorskip("onnx.helper")
    proto = pytest.importorskip("onnx").TensorProto

    def kind(v):
        return {"f": proto.FLOAT, "i": proto.INT8 if v.itemsize == 1 else proto.INT32}[v.dtype.kind]

    rng = np.random.default_rng(1)
    with tandem.Device("model", 8) as dev:
        for _ in range(40):
            x, weights, kw = draw(rng)
            w_step = np.broadcast_to(np.asarray(kw["w_step"], F), len(weights))
            init = {"xs": F(kw["x_step"]), "xz": np.int8(kw["x_zero"]), "w": weights, "ws": w_step,
                    "wz": np.zeros(len(weights), np.int8), "ys": F(kw["y_step"]), "yz": np.int8(kw["y_zero"])}
            if kw["bias"] is not None:
                init["b"] = kw["bias"]
            node = helper.make_node("QLinearConv", ["x", *init], ["y"], strides=list(kw["stride"]),
                                    pads=list(kw["padding"]), group=kw["groups"])
            graph = helper.make_graph(
                [node], "g", [helper.make_tensor_value_info("x", proto.INT8, (1, *x.shape))],
                [helper.make_tensor_value_info("y", proto.INT8, None)],
                [helper.make_tensor(k, kind(np.asarray(v)), np.shape(v), np.asarray(v).tobytes(), raw=True)
                 for k, v in init.items()])
            model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
            session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
            assert np.array_equal(call(dev, x, weights, kw), session.run(None, {"x": x[None]})[0][0])
