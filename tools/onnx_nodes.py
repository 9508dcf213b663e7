"""The nodes of a quantised ONNX model one by one: each with the inputs that onnxruntime has there, so that a difference
is that node's own and not what the nodes before it left. Part of tools/onnx_int8.py --nodes.

A node is what lies between tensors of integers: DequantizeLinear, an operator or a few, QuantizeLinear; or QLinearConv
and its like. Its inputs are taken from a run without graph optimisations, which is ONNX's definition in FP32. Wanted is
what onnxruntime with its optimisations (the default) makes of these inputs, and beside it what it makes without."""

import json
import os

import numpy as np

ROUNDING = ("QuantizeLinear", "DequantizeLinear")


def session(model, level):
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, level)
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def behind(target, makers, fixed, known):
    """The nodes that make a tensor of known ones, the names of these, and the initialisers in between."""
    nodes, inputs, constants, seen, left = {}, [], [], set(), [target]
    while left:
        name = left.pop()
        if name in seen or not name:
            continue
        seen.add(name)
        if name in fixed:
            constants.append(fixed[name])
        elif name not in makers or (name != target and name in known):
            inputs.append(name)
        else:
            place, node = makers[name]
            nodes[place] = node
            left.extend(node.input)
    return [nodes[i] for i in sorted(nodes)], inputs, constants


def split(path, feed, folder):
    """In the process that has onnxruntime: each node as a model of its own, with its inputs and both results."""
    import onnx
    from onnx import helper
    model = onnx.load(path)
    graph = model.graph
    fixed = {i.name: i for i in graph.initializer}
    makers = {name: (place, node) for place, node in enumerate(graph.node) for name in node.output}
    ends = [name for node in graph.node for name in node.output[:1]
            if node.op_type == "QuantizeLinear" or node.op_type.startswith("QLinear") or node.op_type == "QGemm"]
    ends += [o.name for o in graph.output if o.name not in ends]
    tapped = onnx.ModelProto()
    tapped.CopyFrom(model)
    del tapped.graph.output[:]
    tapped.graph.output.extend(onnx.ValueInfoProto(name=name) for name in ends)
    known = dict(zip(ends, session(tapped, "ORT_DISABLE_ALL").run(ends, feed)))
    known.update(feed)
    os.makedirs(folder)
    rows = []

    def port(name):
        array = known[name]
        return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
    for name in ends:
        nodes, inputs, constants = behind(name, makers, fixed, known)
        if not inputs:
            continue
        one = helper.make_model(helper.make_graph(nodes, "node", [port(i) for i in inputs], [port(name)], constants),
                                opset_imports=model.opset_import, ir_version=model.ir_version)
        given = {i: known[i] for i in inputs}
        place = os.path.join(folder, str(len(rows)))
        onnx.save(one, place + ".onnx")
        np.savez(place + ".npz", default=session(one, "ORT_ENABLE_ALL").run(None, given)[0], plain=known[name],
                 **{"input%d" % k: known[i] for k, i in enumerate(inputs)})
        kinds = [n.op_type for n in nodes if n.op_type not in ROUNDING] or ["QuantizeLinear"]
        rows.append({"name": name, "inputs": inputs, "kind": kinds[0] if len(kinds) == 1 else " ".join(
            kinds if len(kinds) < 4 else [kinds[0], "...", kinds[-1]])})
    with open(os.path.join(folder, "nodes.json"), "w", encoding="utf-8") as file:
        json.dump(rows, file)


def table(folder, dev):
    """Rows by operator: name, nodes, values, then for this NPU and for onnxruntime without optimisations the values
    that are equal to onnxruntime's default and the largest difference in steps. Names of nodes more than a step off."""
    import tandem.onnx as to
    found, off = {}, []
    with open(os.path.join(folder, "nodes.json"), encoding="utf-8") as file:
        rows = json.load(file)
    for k, row in enumerate(rows):
        place = os.path.join(folder, str(k))
        with np.load(place + ".npz") as file:
            data = dict(file)
        network = to.convert(place + ".onnx")
        ours, = network.run(dev, [data["input%d" % row["inputs"].index(p.name)] for p in network.inputs])
        wanted = data["default"].astype(np.float64)
        step = 1.0 if data["default"].dtype.kind in "iu" else max(float(np.ptp(wanted)) / 255, 1e-30)
        to_ours, to_plain = (np.abs(x.astype(np.float64) - wanted) / step for x in (ours, data["plain"]))
        sums = found.setdefault(row["kind"], [0, 0, 0, 0.0, 0, 0.0])
        sums[0] += 1
        sums[1] += wanted.size
        for at, error in ((2, to_ours), (4, to_plain)):
            sums[at] += int(np.sum(error < 0.01))
            sums[at + 1] = max(sums[at + 1], float(error.max(initial=0)))
        if to_ours.max(initial=0) > 1.01:
            off.append("%s (%s): %.2f steps" % (row["name"], row["kind"], to_ours.max()))
    return [[kind, str(n), str(values), share(a, values), "%.0f" % b, share(c, values), "%.0f" % d]
            for kind, (n, values, a, b, c, d) in sorted(found.items())], off


def share(part, of):
    """In per cent; 100 only where all are."""
    return "100" if part == of else "%.4f" % min(100 * part / of, 99.9999)
