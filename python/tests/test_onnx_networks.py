"""tandem.onnx: networks as exporters write them (onnx_networks.py), with seeded weights: FP32 as NumPy, INT8 in
tandem."""

import numpy as np
import pytest
import tandem
import tandem.onnx as to

onnx = pytest.importorskip("onnx", reason="not run: needs python3-onnx (make deps)")
from onnx_networks import F, NETWORKS, measure  # noqa: E402
from test_onnx import FULL, graph, model, node, rng  # noqa: E402, F401

@pytest.mark.parametrize("opset", [13, 18] if FULL else [13])  # docs/onnx.md has both, and is checked
@pytest.mark.parametrize("name", list(NETWORKS))
def test_network(name, opset, tmp_path):
    """FP32 as NumPy; in INT8, in tandem with N = 4, at least 95 % of the products on the GEMM."""
    with tandem.Device("tandem", 4) as dev:
        m = measure(name, opset, str(tmp_path), dev)
    assert m.fp32 < 2e-6 and 25 < m.int8 < 70 and m.on_gemm >= 0.95 * m.macs > 0, m


def test_constants_are_computed(model):
    """Masks and indices that exporters compute from shapes: nothing of it reaches the network."""
    x = np.arange(12, dtype=F).reshape(3, 4)
    ints = {"two": np.array([2]), "one": np.array(1), "zero": np.array([0]), "shape": np.array([4, 4])}
    nodes = [node("ConstantOfShape", "shape", "ones"), node("Shape", "x", "s"), node("Split", "s", "r w", axis=0),
             node("Mod", "w r", "m"), node("ReduceProd", "s", "all", keepdims=1), node("Div", "all w", "rows"),
             node("Sub", "m one", "none"), node("ScatterND", "s at none", "where"), node("Max", "where two", "top"),
             node("Clip", "top two", "kept"), node("GreaterOrEqual", "kept two", "yes"), node("NonZero", "yes", "nz"),
             node("Squeeze", "nz zero", "index"), node("Gather", "x index", "y", axis=0)]
    made = graph(nodes, {"x": x}, ["y"], ints | {"at": np.array([[0]])}, 15)
    network = to.convert(made)
    assert np.array_equal(network.run(model, [x])[0], x[:2])
    assert {layer.kind for layer in network.net.layers} <= {"Input", "Crop", "Noop", "Reshape"}
