"""From an ONNX graph to layers: tensors and their shapes, constants, and the walk over the nodes. Operators are in
ops_*.py.

A tensor of ONNX has any number of dimensions, a blob of ncnn one to three here. Both have their elements in the same
order, so a blob is the tensor seen in another shape (its view), and a Reshape gives it the one that an operator asks
for.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper

from .fold import fold, type_of
from .net import Net, Unsupported, View
from .tensor import EXACT_INT, HANDLERS, LARGEST, WIDE, Node, Tensor, constant, exact, natural, takes

MAX_OPSET = 17


class Port:
    """An input or output of the network: name and shape in ONNX, dtype, blob and its view; lowest and highest value
    that is exact (None: any)."""

    def __init__(self, name: str, shape: Sequence[int], dtype: Any, blob: str,
                 view: View, bounds: tuple[float, float] | None = None):
        self.name, self.shape, self.dtype = name, tuple(shape), np.dtype(dtype)
        self.blob, self.view, self.bounds = blob, view, bounds


class Converter:
    """Converts one graph; run() leaves the network in `net`, `inputs` and `outputs`."""

    def __init__(self, model: onnx.ModelProto, shapes: dict[str, Sequence[int]] | None = None,
                 constants: dict[str, np.ndarray] | None = None):
        self.graph = model.graph
        self.net = Net()
        self.inputs: list[Port] = []
        self.outputs: list[Port] = []
        self.tensors: dict[str, Tensor] = {}
        self.shapes, self.constants = shapes or {}, constants or {}
        self.opset = 1
        self.node = ""  # prefix of the layers' names
        for entry in model.opset_import:
            if entry.domain not in ("", "ai.onnx"):
                raise Unsupported("operators of domain '%s', expected those of ONNX itself" % entry.domain)
            self.opset = entry.version
        if self.opset > MAX_OPSET:
            raise Unsupported("opset %d, expected at most %d" % (self.opset, MAX_OPSET))

    # ---- blobs ----

    def add(self, kind: str, inputs: Sequence[str], view: View, params: dict[int, Any] | None = None,
            arrays: Sequence[tuple[str, np.ndarray]] = ()) -> str:
        """A layer with one output, whose blob is returned."""
        try:
            return self.net.add(kind, inputs, [view], params, arrays, self.node)[0]
        except ValueError as error:
            raise Unsupported("%s: %s" % (self.node, error)) from None

    def use(self, t: Tensor, view: Sequence[int]) -> str:
        """The blob of a tensor in this shape."""
        view = tuple(view)
        assert math.prod(view) == t.size and 1 <= len(view) <= 3, (view, t.shape)
        if t.value is None and t.view == view:
            return t.blob
        if view not in t.blobs:
            params = {i: n for i, n in enumerate(reversed(view))}
            if t.value is None:
                t.blobs[view] = self.add("Reshape", [t.blob], view, params)
            else:
                t.blobs[view] = self.add("MemoryData", [], view, params, [("raw", exact(t.value, self.node))])
        return t.blobs[view]

    def view_of(self, t: Tensor) -> View:
        return t.view if t.value is None else natural(t.shape)

    def result(self, shape: Sequence[int], blob: str, dtype: Any, *parents: Tensor | None) -> Tensor:
        """The tensor that a blob holds."""
        origin = frozenset().union(*(p.origin for p in parents if p is not None))
        return Tensor(shape, dtype, None, blob, self.net.shapes[blob], origin)

    def reshaped(self, t: Tensor, shape: Sequence[int]) -> Tensor:
        """The same elements as another tensor; no layer is made until another view is needed."""
        again = Tensor(shape, t.dtype, None if t.value is None else t.value.reshape(shape), t.blob, t.view, t.origin)
        again.blobs = t.blobs
        return again

    def scalar(self, value: float) -> Tensor:
        return Tensor((), np.float32, np.array(value, np.float32))

    # ---- the walk ----

    def run(self) -> None:
        for initializer in self.graph.initializer:
            self.tensors[initializer.name] = constant(numpy_helper.to_array(initializer))
        if self.graph.sparse_initializer:
            raise Unsupported("sparse initializers are not supported")
        for value in self.graph.input:
            if value.name not in self.tensors:
                self.tensors[value.name] = self.graph_input(value)
        for proto in self.graph.node:
            self.run_node(proto)
        self.finish()

    def graph_input(self, value: onnx.ValueInfoProto) -> Tensor:
        where = "input '%s'" % value.name
        if value.type.WhichOneof("value") != "tensor_type":
            raise Unsupported("%s is a %s, expected a tensor" % (where, value.type.WhichOneof("value")))
        if value.name in self.constants:
            return constant(self.constants[value.name])
        kind = value.type.tensor_type.elem_type
        try:
            dtype = type_of(kind)
        except KeyError:
            dtype = None
        if dtype is None or not takes(dtype, "moves"):
            known = kind in onnx.TensorProto.DataType.values()
            raise Unsupported("%s: dtype %s, the NPU has FP32 and INT8" %
                              (where, onnx.TensorProto.DataType.Name(kind).lower() if known else kind))
        shape = self.shapes.get(value.name)
        if shape is None:
            shape = [d.dim_value if d.HasField("dim_value") else 1 if i == 0
                     else 0 for i, d in enumerate(value.type.tensor_type.shape.dim)]
        if not all(n > 0 for n in shape):
            raise Unsupported("%s has the shape (%s), expected sizes above 0 (--shape)" %
                              (where, ", ".join("?" if n <= 0 else str(n) for n in shape)))
        if math.prod(shape) > LARGEST:
            raise Unsupported("%s has %d elements, expected at most %d" % (where, math.prod(shape), LARGEST))
        view = natural(shape)
        blob = self.net.add("Input", [], [view], {i: n for i, n in enumerate(reversed(view))}, (), value.name)[0]
        bounds = (-EXACT_INT, EXACT_INT) if dtype in WIDE else None
        self.inputs.append(Port(value.name, shape, dtype, blob, view, bounds))
        return Tensor(shape, dtype, None, blob, view, frozenset([value.name]))

    def run_node(self, proto: onnx.NodeProto) -> None:
        inputs: list[Tensor | None] = []
        for name in proto.input:
            if name and name not in self.tensors:
                raise Unsupported("operator %s, node '%s': nothing gives its input '%s'" %
                                  (proto.op_type, proto.name, name))
            inputs.append(self.tensors[name] if name else None)
        node = Node(proto, inputs, self.opset)
        self.node = node.name
        if proto.domain not in ("", "ai.onnx"):
            raise node.no("domain '%s', expected operators of ONNX itself" % proto.domain)
        try:
            results = fold(node)
            if results is None:
                results = self.handle(node)
        except MemoryError:
            raise node.no("more memory than there is") from None
        # errors that no rule of ONNX covers
        except (TypeError, ValueError, IndexError, KeyError, AttributeError, ArithmeticError) as error:
            raise node.no("malformed (%s)" % (str(error).strip() or type(error).__name__).splitlines()[0]) from error
        for name, tensor in zip(node.outputs, results):
            if name:
                self.tensors[name] = tensor

    def handle(self, node: Node) -> list[Tensor]:
        if node.op not in HANDLERS:
            raise node.no("the operator is not supported")
        handler, attributes, kinds = HANDLERS[node.op]
        unknown = sorted(set(node.attributes) - attributes)
        if unknown:
            raise node.no("attribute %s is not supported%s" %
                          (unknown[0], "; supported: " + ", ".join(sorted(attributes)) if attributes else ""))
        # of others than the first, ONNX says that they are of its type, or integers that must be constant
        for i, t in enumerate(node.inputs):
            if t is not None and t.value is None and (i == 0 or kinds != "float") and not takes(t.dtype, kinds):
                raise node.no("dtype %s, the NPU has FP32 and INT8" % t.dtype)
            if t is not None and t.size == 0 and t.value is None:
                raise node.no("an empty tensor")
        results = handler(self, node)
        while len(results) < len(node.outputs):
            if node.outputs[len(results)]:
                raise node.no("output %d ('%s') is not supported" % (len(results), node.outputs[len(results)]))
            results.append(None)
        for t in results:
            if t is not None and t.size == 0:
                raise node.no("an empty result")
        return results

    def finish(self) -> None:
        """Outputs in their natural shape under their own names; patterns, fan-out, layers without a reader."""
        ports = []
        for value in self.graph.output:
            t = self.tensors.get(value.name)
            if t is None:
                raise Unsupported("nothing gives the output '%s'" % value.name)
            if t.value is not None:
                raise Unsupported("output '%s' is a constant: no input of the graph reaches it" % value.name)
            declared = [d.dim_value for d in value.type.tensor_type.shape.dim]
            if declared and all(declared) and tuple(declared) != t.shape:
                raise Unsupported("output '%s' is declared as %s, but its result is %s" %
                                  (value.name, declared, list(t.shape)))
            self.node = value.name
            blob = self.use(t, natural(t.shape))
            if self.net.producer(blob).kind == "Input":
                blob = self.add("Noop", [blob], self.net.shapes[blob])
            ports.append(Port(value.name, t.shape, t.dtype, blob, natural(t.shape)))
        keep = {p.blob for p in ports}
        self.net.drop_unused(keep)
        self.net.fuse(keep)
        self.net.drop_unused(keep)
        for port, blob in zip(ports, self.net.split([p.blob for p in ports])):
            port.blob = blob
        self.outputs = ports
