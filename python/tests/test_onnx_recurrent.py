"""tandem.onnx: LSTM, GRU and RNN, in FP32 against NumPy and in INT8 with their gates on the GEMM; long kernels."""

import numpy as np
import pytest
import tandem
import tandem.onnx as to

onnx = pytest.importorskip("onnx", reason="not run: needs python3-onnx (make deps)")
from test_onnx import F, check, conv2d, graph, model, node, rng  # noqa: E402, F401

STEPS, BATCH, INPUTS, HIDDEN = 7, 2, 5, 6


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def one_way(kind, x, w, r, b, h, cell):
    """ONNX's equations over one sequence (steps x inputs), in binary64: outputs, and the states at the end."""
    bw, br = np.split(b, 2)
    out = []
    for row in x:
        p, q = w @ row + bw, r @ h + br
        if kind == "LSTM":
            i, o, f, g = np.split(p + q, 4)
            cell = sigmoid(f) * cell + sigmoid(i) * np.tanh(g)
            h = sigmoid(o) * np.tanh(cell)
        elif kind == "GRU":
            (pz, pr, ph), (qz, qr, qh) = np.split(p, 3), np.split(q, 3)
            z = sigmoid(pz + qz)
            h = (1 - z) * np.tanh(ph + sigmoid(pr + qr) * qh) + z * h
        else:
            h = np.tanh(p + q)
        out.append(h)
    return np.array(out), h, cell


def expected(kind, direction, x, arrays, h, cell):
    """Y, Y_h, Y_c of a batch."""
    ways = arrays["w"].shape[0]
    y = np.zeros((STEPS, ways, x.shape[1], HIDDEN))
    ends = np.zeros((2, ways, x.shape[1], HIDDEN))
    for way in range(ways):
        back = direction == "reverse" or way == 1
        for i in range(x.shape[1]):
            sequence = x[::-1, i] if back else x[:, i]
            out, *last = one_way(kind, sequence, *(arrays[k][way].astype(np.float64) for k in "wrb"), h[way, i],
                                 cell[way, i])
            y[:, way, i] = out[::-1] if back else out
            ends[:, way, i] = last
    return y, ends[0], ends[1]


def made_of(rng, kind, direction, states, batch=BATCH, layout=0):
    gates, ways = {"LSTM": 4, "GRU": 3, "RNN": 1}[kind], 2 if direction == "bidirectional" else 1
    arrays = {"w": rng.standard_normal((ways, gates * HIDDEN, INPUTS)) / 2,
              "r": rng.standard_normal((ways, gates * HIDDEN, HIDDEN)) / 2,
              "b": rng.standard_normal((ways, 2 * gates * HIDDEN)) / 4}
    arrays = {k: v.astype(F) for k, v in arrays.items()}
    x = rng.standard_normal((STEPS, batch, INPUTS)).astype(F)
    h, cell = (rng.standard_normal((ways, batch, HIDDEN)).astype(F) * states for _ in range(2))
    y, y_h, y_c = expected(kind, direction, x, arrays, h.astype(np.float64), cell.astype(np.float64))
    swap = (lambda t: t.swapaxes(0, 1) if t.ndim == 3 else t.transpose(2, 0, 1, 3)) if layout else lambda t: t
    given = {"x": swap(x)} | ({"h": swap(h)} | ({"c": swap(cell)} if kind == "LSTM" else {}) if states else {})
    names = "x w r b" if not states else "x w r b  h" + (" c" if kind == "LSTM" else "")
    more = {"linear_before_reset": 1} if kind == "GRU" else {}
    outputs = ["y", "y_h"] + (["y_c"] if kind == "LSTM" and states else [])
    recurrent = onnx.helper.make_node(kind, names.split(" "), outputs, name="n", hidden_size=HIDDEN,
                                      direction=direction, **({"layout": 1} if layout else {}), **more)
    results = [swap(v) for v in (y, y_h, y_c)[:len(outputs)]]
    return graph([recurrent], given, outputs, arrays), list(given.values()), results


@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
@pytest.mark.parametrize("states", [0, 1])
def test_recurrent(rng, model, kind, direction, states):
    for layout in (0, 1):
        made, inputs, results = made_of(rng, kind, direction, states, layout=layout)
        check(model, made, inputs, results, 1e-4, 1e-5)


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
def test_gates_on_the_gemm(rng, kind):
    """A network without other layers needs no table; in tandem at N = 4, the same on a golden model of another size."""
    made, inputs, results = made_of(rng, kind, "bidirectional", 1, 1)
    network = to.convert(made)
    net, x = network.open(), network.feed(inputs)
    net.calibrate(x[None], "minmax")
    net.quantise()
    with tandem.Device("tandem", 4) as dev, tandem.Device("model", 16) as other:
        got = network.fetch(net.run(dev, x))
        assert [w["unit"] for layer, w in zip(net.layers, net.last_run) if layer["macs"]] == ["gemm"]
        assert all(np.array_equal(a, b) for a, b in zip(got, network.fetch(net.run(other, x))))
    for g, e in zip(got, results):
        error = 10 * np.log10((e ** 2).sum() / ((g - e) ** 2).sum())
        assert 25 < error < 80, error


def test_refused(rng):
    for kind, attributes, text in (("GRU", {"linear_before_reset": 0}, "linear_before_reset 0"),
                                   ("LSTM", {"input_forget": 1}, "input_forget"),
                                   ("LSTM", {"clip": 1.0}, "clip 1"), ("LSTM", {"activations": ["Relu"] * 3}, "Relu"),
                                   ("RNN", {"hidden_size": 9}, "hidden_size 9")):
        made, _, _ = made_of(rng, kind, "forward", 0)
        kept = [a for a in made.graph.node[0].attribute if a.name not in attributes]
        del made.graph.node[0].attribute[:]
        made.graph.node[0].attribute.extend(kept + [onnx.helper.make_attribute(k, v) for k, v in attributes.items()])
        with pytest.raises(to.Unsupported, match="operator %s, node 'n': .*%s" % (kind, text)):
            to.convert(made)


@pytest.mark.parametrize("attributes", [{"strides": [128]}, {"strides": [3], "pads": [5, 9]}, {"dilations": [2]}])
def test_long_kernels(rng, model, attributes):
    """A short-time Fourier transform is a convolution with 256 elements or more; the NPU's has up to 255."""
    x, w, b = (rng.standard_normal(s).astype(F) for s in ((1, 2, 900), (4, 2, 256), (4,)))
    left, right = attributes.get("pads", (0, 0))
    step, wide = attributes.get("dilations", [1])[0], np.pad(x, ((0, 0), (0, 0), (left, right)))
    kernel = np.zeros((4, 2, 1, 255 * step + 1))
    kernel[:, :, 0, ::step] = w
    y = conv2d(wide[:, :, None], kernel, b, 1, 0)[:, :, 0, ::attributes.get("strides", [1])[0]]
    check(model, graph([node("Conv", "x w b", **attributes)], {"x": x}, ["y"], {"w": w, "b": b}), [x], [y], 1e-3, 1e-4)
