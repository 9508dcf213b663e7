"""tandem.onnx: FP32 convolutions, products and sums on the GEMM, as planes of INT8 that samples of the inputs allow."""

import os
import subprocess
import sys

import numpy as np
import pytest
import tandem.onnx as to

onnx = pytest.importorskip("onnx", reason="not run: needs python3-onnx (make deps)")
from tandem.onnx import products  # noqa: E402
from test_onnx import F, conv2d, graph, model, node, rng, small_cnn  # noqa: E402, F401


def units(network, x, dev):
    net = network.open()
    net.run(dev, network.feed([x]))
    return [w["unit"] or w["place"] for w, layer in zip(net.last_run, net.layers) if layer["macs"]]


def test_planes(rng):
    """As few as hold the values; exactly, or to 2^-29 of the largest one."""
    for values, planes, exact in (([127, -3], 1, True), ([128, 2], 1, True), ([128, 1], 2, True),
                                  ([0.5, 63.5], 1, True), ([0, 0], 1, True), ([1, 2.0 ** -13], 2, True),
                                  ([np.pi, 1e-6], 4, False)):
        grid = products.grid_of(F(values))
        assert (grid.planes, grid.exact) == (planes, exact) and max(values) <= grid.limit, values
    for values in ([np.inf, 1], [1e31], [1e-21], [np.nan]):
        assert products.grid_of(F(values)) is None
    w = rng.standard_normal(1000).astype(F)
    parts = products.constant_planes(w)
    assert all(np.abs(p).max() <= 127 for _, p in parts)
    assert np.abs(sum(step * p for step, p in parts) - w).max() <= np.abs(w).max() * 2.0 ** -28


def test_integers_are_exact(rng, model):
    """One plane each: one convolution; other values are refused when the network is fed."""
    x, w = rng.integers(-127, 128, (2, 3, 6, 5)).astype(F), rng.integers(-100, 100, (4, 3, 3, 3)).astype(F)
    made = graph([node("Conv", "x w b", pads=[1] * 4)], {"x": x}, ["y"], {"w": w, "b": np.arange(4, dtype=F)})
    network = to.convert(made, samples={"x": x})
    assert np.array_equal(network.run(model, [x])[0], conv2d(x, w, np.arange(4), 1, 1))
    assert units(network, x, model) == ["gemm"] * 2  # images
    for wrong, text in ((x * 2, "multiples of 1 up to 127"), (x / 2, "multiples of 1 up to 127")):
        with pytest.raises(ValueError, match="input 'x': expected " + text):
            network.feed([wrong])
    assert units(to.convert(made), x, model) == ["cpu"] * 2  # only where samples ask for it


@pytest.mark.parametrize("nodes, shape, constants, f", [
    ([node("MatMul", "x w")], (7, 300), {"w": (300, 5)}, lambda x, c: x @ c["w"]),
    ([node("Gemm", "x w b", transA=1, alpha=0.5, beta=2.0)], (30, 4), {"w": (30, 6), "b": (4, 6)},
     lambda x, c: 0.5 * x.T @ c["w"] + 2 * c["b"]),
    ([node("Conv", "x w", group=4, pads=[1] * 4)], (1, 4, 6, 6), {"w": (8, 1, 3, 3)},
     lambda x, c: conv2d(x, c["w"], np.zeros(8), 1, 1, 4)),
    ([node("ReduceMean", "x", axes=[1, 3])], (2, 30, 4, 20), {}, lambda x, c: x.mean((1, 3), keepdims=True)),
    ([node("GlobalAveragePool", "x")], (2, 3, 9, 8), {}, lambda x, c: x.mean((2, 3), keepdims=True)),
    ([node("AveragePool", "x", kernel_shape=[2, 2], strides=[2, 2])], (2, 3, 8, 6), {},
     lambda x, c: x.reshape(2, 3, 4, 2, 3, 2).mean((3, 5))),
    ([node("Relu", "x", "r"), node("Mul", "r r", "s"), node("MatMul", "s w")], (3, 40), {"w": (40, 6)},
     lambda x, c: np.maximum(x, 0) ** 2 @ c["w"])])
def test_as_exact_as_fp32(rng, model, nodes, shape, constants, f):
    """Against FP64: no worse than a sum in FP32 may be."""
    x = rng.standard_normal(shape).astype(F)
    c = {k: rng.standard_normal(s).astype(F) for k, s in constants.items()}
    network = to.convert(graph(nodes, {"x": x}, ["y"], c), samples={"x": x})
    expected = f(x.astype(np.float64), {k: v.astype(np.float64) for k, v in c.items()})
    got = network.run(model, [x])[0]
    assert got.shape == expected.shape and np.abs(got - expected).max() <= 1e-6 * max(1, np.abs(expected).max())
    assert set(units(network, x, model)) == {"gemm"}


def test_a_network(rng, model):
    """The first layer is on the GEMM; magnitudes behind a batch norm are not known."""
    made, x, expected, _ = small_cnn(rng)
    network = to.convert(made, samples={"x": x})
    np.testing.assert_allclose(network.run(model, [x])[0], expected, atol=1e-3)  # Swish is fitted
    where = units(network, x, model)
    assert where.count("gemm") >= 4 and where[-1] == "cpu"


def test_command(rng, tmp_path, package):
    """--sample: an unknown name and a missing file are one line."""
    x = rng.integers(-9, 9, (1, 8)).astype(F)
    made = graph([node("MatMul", "x w")], {"x": x}, ["y"], {"w": np.ones((8, 3), F)})
    (tmp_path / "a.onnx").write_bytes(made.SerializeToString())
    np.save(tmp_path / "x.npy", x)
    env = {**os.environ, "PYTHONPATH": package}
    for sample, status, text in (("x=x.npy", 0, "input x 1x8 "), ("x=none.npy", 1, "none.npy"),
                                 ("z=x.npy", 1, "samples: no input 'z'")):
        done = subprocess.run([sys.executable, "-m", "tandem.onnx", "a.onnx", "-o", "n", "--sample", sample],
                              cwd=tmp_path, env=env, capture_output=True, text=True)
        assert done.returncode == status and text in done.stdout + done.stderr and done.stderr.count("\n") == status
    assert "8=2" in (tmp_path / "n.param").read_text()  # an inner product in INT8
