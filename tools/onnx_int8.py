#!/usr/bin/python3
"""INT8 models of onnxruntime's quantisers on the golden model of the NPU, against onnxruntime's own results: a table.

    pip download --only-binary=:all: -d W onnx onnxruntime; for w in W/*.whl; do unzip -qo $w -d SITE; done
    python3 tools/onnx_int8.py SITE      # SITE: a folder outside of the project; --device tandem: on the RTL, too

The network (convolutions, a depthwise and a pointwise one, pooling, a residual sum, an inner product) has seeded
weights. Exit status 1 when a value is more than one step of the output off."""

import argparse
import os
import subprocess
import sys
import tempfile

import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
IMAGES, CALIBRATED = 10, 20


def network():
    """The FP32 model and its images: those of calibration first."""
    import onnx
    from onnx import helper, numpy_helper
    rng = np.random.default_rng(3)
    made = []

    def values(name, *shape, terms=None):
        data = rng.standard_normal(shape) * 1.4 / np.sqrt(terms or np.prod(shape[1:]))
        made.append(numpy_helper.from_array(data.astype(np.float32), name))
    for i, shape in enumerate([(16, 3, 3, 3), (16, 1, 3, 3), (32, 16, 1, 1), (32, 32, 3, 3), (32, 32, 1, 1), (10, 32)]):
        values("w%d" % (i + 1), *shape)
        values("b%d" % (i + 1), shape[0], terms=10)
    node = helper.make_node
    nodes = [node("Conv", ["x", "w1", "b1"], ["c1"], pads=[1] * 4, strides=[2, 2]), node("Relu", ["c1"], ["r1"]),
             node("Conv", ["r1", "w2", "b2"], ["c2"], pads=[1] * 4, group=16), node("Relu", ["c2"], ["r2"]),
             node("Conv", ["r2", "w3", "b3"], ["c3"]), node("Relu", ["c3"], ["r3"]),
             node("MaxPool", ["r3"], ["p3"], kernel_shape=[2, 2], strides=[2, 2]),
             node("Conv", ["p3", "w4", "b4"], ["c4"], pads=[1] * 4), node("Relu", ["c4"], ["r4"]),
             node("Conv", ["r4", "w5", "b5"], ["c5"]), node("Add", ["c5", "p3"], ["a5"]), node("Relu", ["a5"], ["r5"]),
             node("GlobalAveragePool", ["r5"], ["g"]), node("Flatten", ["g"], ["f"]),
             node("Gemm", ["f", "w6", "b6"], ["y"], transB=1)]
    ports = [[helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape)]
             for name, shape in (("x", [1, 3, 32, 32]), ("y", [1, 10]))]
    graph = helper.make_graph(nodes, "net", *ports, made)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return model, rng.standard_normal((CALIBRATED + IMAGES, 1, 3, 32, 32)).astype(np.float32)


def make(folder):
    """Every kind of model that the quantisers write, and onnxruntime's results."""
    import onnx
    import onnxruntime
    from onnxruntime import quantization as q
    model, images = network()
    source = os.path.join(folder, "float.onnx")
    onnx.save(model, source)
    np.save(os.path.join(folder, "images.npy"), images[CALIBRATED:])

    class Reader(q.CalibrationDataReader):
        def __init__(self):
            self.left = iter(images[:CALIBRATED])

        def get_next(self):
            x = next(self.left, None)
            return None if x is None else {"x": x}

    def results(name):
        session = onnxruntime.InferenceSession(os.path.join(folder, name + ".onnx"), providers=["CPUExecutionProvider"])
        np.save(os.path.join(folder, name + ".npy"),
                np.stack([session.run(None, {"x": x})[0] for x in images[CALIBRATED:]]))
    results("float")
    kinds = {"int8": q.QuantType.QInt8, "uint8": q.QuantType.QUInt8}
    for form in (q.QuantFormat.QDQ, q.QuantFormat.QOperator):
        for a, w, channels, symmetric in (("uint8", "int8", 0, 0), ("uint8", "int8", 1, 0), ("uint8", "int8", 1, 1),
                                          ("uint8", "uint8", 0, 0), ("int8", "int8", 0, 0), ("int8", "int8", 1, 1)):
            name = "%s %s x %s%s%s" % (form.name, a, w, ", per channel" * channels, ", symmetric" * symmetric)
            q.quantize_static(source, os.path.join(folder, name + ".onnx"), Reader(), quant_format=form,
                              activation_type=kinds[a], weight_type=kinds[w], per_channel=bool(channels),
                              extra_options={"ActivationSymmetric": bool(symmetric)})
            results(name)
    for w in kinds:
        q.quantize_dynamic(source, os.path.join(folder, "dynamic uint8 x %s.onnx" % w), weight_type=kinds[w])
        results("dynamic uint8 x %s" % w)


def compare(folder, device):
    """Rows of the table, and the largest error in steps."""
    import tandem
    import tandem.onnx as to
    from tandem.onnx import proto
    images = np.load(os.path.join(folder, "images.npy"))
    exact = np.load(os.path.join(folder, "float.npy"))
    rows, worst = [], 0.0
    with tandem.Device(device, 4) as dev:
        for name in sorted(n[:-5] for n in os.listdir(folder) if n.endswith(".onnx") and n != "float.onnx"):
            path = os.path.join(folder, name + ".onnx")
            graph = proto.load(path).graph
            values = {i.name: proto.array(i) for i in graph.initializer}
            last = graph.node[-1]
            step = float(values[last.input[1]]) if last.op_type == "DequantizeLinear" else np.ptp(exact) / 255
            network = to.convert(path)
            net = network.open()
            got = np.stack([network.fetch(net.run(dev, network.feed([x])))[0] for x in images])
            wanted = np.load(os.path.join(folder, name + ".npy"))
            error = np.abs(got - wanted) / step
            macs = [(layer["macs"], w["unit"]) for layer, w in zip(net.layers, net.last_run)]
            share = sum(m for m, unit in macs if unit == "gemm") / sum(m for m, _ in macs)
            worst = max(worst, float(error.max()))
            rows.append("| %s | %.1f %% | %.2f | %.0f %% | %.1f %% |" %
                        (name, 100 * np.mean(error < 0.01), error.max(), 100 * share,
                         100 * np.abs(wanted - exact).max() / np.ptp(exact)))
    return rows, worst


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("site", help="folder with the packages onnx and onnxruntime")
    parser.add_argument("--device", choices=["model", "tandem"], default="model")
    parser.add_argument("--package", default=os.path.join(ROOT, os.environ.get("BUILD", "build"), "python"),
                        help="folder of the package tandem")
    parser.add_argument("--make", metavar="FOLDER", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.make:
        make(args.make)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        env = {**os.environ, "PYTHONPATH": args.site}
        done = subprocess.run([sys.executable, os.path.abspath(__file__), args.site, "--make", folder], env=env,
                              capture_output=True, text=True)
        if done.returncode != 0:
            print("onnx_int8.py: %s: no usable onnxruntime (%s)" %
                  (args.site, (done.stderr.strip() or "no output").splitlines()[-1]), file=sys.stderr)
            return 2
        sys.path.insert(0, args.package)
        rows, worst = compare(folder, args.device)
    print("| model | exact | largest error, steps | MACs on the GEMM | onnxruntime against FP32 |")
    print("| --- | --- | --- | --- | --- |")
    print("\n".join(rows))
    return 1 if worst > 1.01 else 0


if __name__ == "__main__":
    sys.exit(main())
