#!/usr/bin/python3
"""INT8 models of onnxruntime's quantisers on the golden model of the NPU, against onnxruntime's own results: a table.

    pip download --only-binary=:all: -d W onnx onnxruntime; for w in W/*.whl; do unzip -qo $w -d SITE; done
    python3 tools/onnx_int8.py SITE      # SITE: a folder outside of the project; --device tandem: on the RTL, too
    python3 tools/onnx_int8.py SITE --model a.onnx --shape x=1,3,224,224     # a float model of one's own
    python3 tools/onnx_int8.py SITE --model a.onnx --shape x=1,3,224,224 --nodes     # node by node, too

The network (convolutions, a depthwise and a pointwise one, pooling, a residual sum, an inner product) has seeded
weights. Exit status 1 when a value of it is more than one step of the output off. Models of one's own are only
reported, beside what onnxruntime gives without its graph optimisations: column `without`. --nodes: each node with the
inputs that onnxruntime has there (onnx_nodes.py)."""

import argparse
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx_nodes

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


def given(path, shapes, words):
    """A model of one's own and its inputs: values of a normal distribution, integers below `words`."""
    import onnx
    rng = np.random.default_rng(3)
    model = onnx.load(path)
    fixed = {i.name for i in model.graph.initializer}
    inputs = []
    for _ in range(CALIBRATED + IMAGES):
        one = {}
        for port in model.graph.input:
            if port.name in fixed:
                continue
            kind = onnx.helper.tensor_dtype_to_np_dtype(port.type.tensor_type.elem_type)
            shape = shapes.get(port.name) or [d.dim_value or 1 for d in port.type.tensor_type.shape.dim]
            one[port.name] = (rng.standard_normal(shape) if kind.kind == "f" else
                              rng.integers(0, 2 if "mask" in port.name else words, shape)).astype(kind)
        inputs.append(one)
    return model, inputs


def make(folder, args):
    """Every kind of model that the quantisers write, and onnxruntime's results."""
    import onnx
    import onnxruntime
    from onnxruntime import quantization as q
    from onnxruntime.quantization.shape_inference import quant_pre_process
    model, images = network() if args.model is None else given(args.model, dict(args.shape), args.words)
    images = [x if isinstance(x, dict) else {"x": x} for x in images]
    source = os.path.join(folder, "float.onnx")
    onnx.save(model, source)
    if args.model is not None:
        quant_pre_process(source, source, skip_symbolic_shape=True)
    for i, x in enumerate(images[CALIBRATED:]):
        np.savez(os.path.join(folder, "image%d.npz" % i), **x)

    class Reader(q.CalibrationDataReader):
        def __init__(self):
            self.left = iter(images[:CALIBRATED])

        def get_next(self):
            return next(self.left, None)

    def results(name):
        for end, level in (("", "ORT_ENABLE_ALL"), (" plain", "ORT_DISABLE_ALL")):
            options = onnxruntime.SessionOptions()
            options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, level)
            session = onnxruntime.InferenceSession(os.path.join(folder, name + ".onnx"), options,
                                                   providers=["CPUExecutionProvider"])
            rows = [session.run(None, x) for x in images[CALIBRATED:]]
            np.savez(os.path.join(folder, name + end + ".npz"), *[np.stack(out) for out in zip(*rows)])
        if args.nodes and name != "float":
            onnx_nodes.split(os.path.join(folder, name + ".onnx"), images[CALIBRATED], os.path.join(folder, name))
    results("float")
    kinds = {"int8": q.QuantType.QInt8, "uint8": q.QuantType.QUInt8}
    for form in (q.QuantFormat.QDQ, q.QuantFormat.QOperator):
        for a, w, channels, symmetric in (("uint8", "int8", 0, 0), ("uint8", "int8", 1, 0), ("uint8", "int8", 1, 1),
                                          ("uint8", "uint8", 0, 0), ("int8", "int8", 0, 0), ("int8", "int8", 1, 1)):
            name = "%s %s x %s%s%s" % (form.name, a, w, ", per channel" * channels, ", symmetric" * symmetric)
            if args.kind and args.kind not in name:
                continue
            q.quantize_static(source, os.path.join(folder, name + ".onnx"), Reader(), quant_format=form,
                              activation_type=kinds[a], weight_type=kinds[w], per_channel=bool(channels),
                              extra_options={"ActivationSymmetric": bool(symmetric)})
            try:
                results(name)
            except Exception as error:  # of models that onnxruntime itself does not read: opset 12 per channel
                if args.model is None:
                    raise
                os.unlink(os.path.join(folder, name + ".onnx"))
                print("onnx_int8.py: %s: onnxruntime refuses it (%s)" % (name, str(error)[:120]), file=sys.stderr)
    for w in kinds if not args.kind or args.kind in "dynamic" else ():
        q.quantize_dynamic(source, os.path.join(folder, "dynamic uint8 x %s.onnx" % w), weight_type=kinds[w])
        results("dynamic uint8 x %s" % w)


def compare(folder, device, others):
    """Rows of the table, and the largest error in steps."""
    import tandem
    import tandem.onnx as to
    from tandem.onnx import proto
    def arrays(name):
        with np.load(os.path.join(folder, name + ".npz")) as file:
            return {k: file[k] for k in file.files}
    images = [arrays("image%d" % i) for i in range(IMAGES)]
    exact = list(arrays("float").values())
    rows, worst = [], 0.0
    with tandem.Device(device, 4) as dev:
        for name in sorted(n[:-5] for n in os.listdir(folder) if n.endswith(".onnx") and n != "float.onnx"):
            print("onnx_int8.py: %s" % name, file=sys.stderr) if others else None
            path = os.path.join(folder, name + ".onnx")
            graph = proto.load(path).graph
            values = {i.name: proto.array(i) for i in graph.initializer}
            makers = {o: n for n in graph.node for o in n.output}
            steps = [float(values[n.input[1]]) if n.op_type == "DequantizeLinear" and n.input[1] in values else
                     max(float(np.ptp(e)) / 255, 1e-30) for n, e in zip([makers[o.name] for o in graph.output], exact)]
            network = to.convert(path, shapes={k: v.shape for k, v in images[0].items()})
            net = network.open()
            got = [network.fetch(net.run(dev, network.feed([x[p.name] for p in network.inputs]))) for x in images]

            def beside(wanted, found):
                return np.concatenate([np.abs(g.astype(np.float64) - w).ravel() / s
                                       for g, w, s in zip(found, wanted.values(), steps)])
            wanted = arrays(name)
            mine = [np.stack(out) for out in zip(*got)]
            error, plain = beside(wanted, mine), beside(arrays(name + " plain"), list(wanted.values()))
            macs = [(layer["macs"], w["unit"]) for layer, w in zip(net.layers, net.last_run)]
            share = sum(m for m, unit in macs if unit == "gemm") / sum(m for m, _ in macs)
            worst = max(worst, float(error.max()))
            loss = max(float(np.abs(w - e).max() / max(np.ptp(e), 1e-30)) for w, e in zip(wanted.values(), exact))
            row = [name, "%.1f %%" % (100 * np.mean(error < 0.01)), "%.2f" % error.max(), "%.0f %%" % (100 * share),
                   "%.1f %%" % (100 * loss)]
            rows.append(row + ["%.1f %%, %.2f" % (100 * np.mean(plain < 0.01), plain.max())] * others)
    return rows, worst


def by_nodes(folder, device):
    """The tables of --nodes; True where a node is more than a step off."""
    import tandem
    wrong = False
    with tandem.Device(device, 4) as dev:
        for name in sorted(n for n in os.listdir(folder) if os.path.isdir(os.path.join(folder, n))):
            rows, off = onnx_nodes.table(os.path.join(folder, name), dev)
            print("\n%s: equal to onnxruntime in %%, largest difference in steps\n" % name)
            head = ["operator", "nodes", "values", "here", "steps", "onnxruntime without optimisations", "steps"]
            for row in [head, ["---"] * len(head)] + rows:
                print("| %s |" % " | ".join(row))
            print("".join("\n%s" % line for line in off), end="\n" * bool(off))
            wrong = wrong or bool(off)
    return wrong


def shape(text):
    name, equals, sizes = text.partition("=")
    if not equals:
        raise argparse.ArgumentTypeError("'%s', expected name=1,3,224,224" % text)
    return name, tuple(int(n) for n in sizes.split(","))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("site", help="folder with the packages onnx and onnxruntime")
    parser.add_argument("--device", choices=["model", "tandem"], default="model")
    parser.add_argument("--package", default=os.path.join(ROOT, os.environ.get("BUILD", "build"), "python"),
                        help="folder of the package tandem")
    parser.add_argument("--model", metavar="FILE.onnx", help="a float model instead of the built-in one")
    parser.add_argument("--shape", action="append", default=[], type=shape, metavar="NAME=1,3,224,224",
                        help="shape of an input of it")
    parser.add_argument("--words", type=int, default=1000, help="integers of inputs are below this (default 1000)")
    parser.add_argument("--kind", help="only kinds with this in their name, such as QDQ")
    parser.add_argument("--nodes", action="store_true", help="each node with onnxruntime's inputs, too")
    parser.add_argument("--make", metavar="FOLDER", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.make:
        make(args.make, args)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        env = {**os.environ, "PYTHONPATH": args.site}
        done = subprocess.run([sys.executable, os.path.abspath(__file__), *sys.argv[1:], "--make", folder], env=env,
                              capture_output=True, text=True)
        if done.returncode != 0:
            print("onnx_int8.py: %s: no usable onnxruntime (%s)" %
                  (args.site, (done.stderr.strip() or "no output").splitlines()[-1]), file=sys.stderr)
            return 2
        sys.path.insert(0, args.package)
        sys.stderr.write("".join(x + "\n" for x in done.stderr.split("\n") if x.startswith("onnx_int8.py")))
        rows, worst = compare(folder, args.device, int(args.model is not None))
        wrong = args.nodes and by_nodes(folder, args.device)
    head = ["model", "exact", "largest error, steps", "MACs on the GEMM", "onnxruntime against FP32"]
    head += ["without: exact, largest error"] * (args.model is not None)
    for row in [head, ["---"] * len(head)] + rows:
        print("| %s |" % " | ".join(row))
    return 1 if (args.model is None and worst > 1.01) or wrong else 0


if __name__ == "__main__":
    sys.exit(main())
