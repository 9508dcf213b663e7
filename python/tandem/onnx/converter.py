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

from . import proto
from .fold import fold, type_of
from .functions import Functions
from .net import Net, Unsupported, View
from .tensor import EXACT_INT, FLOATS, HANDLERS, LARGEST, OWN, WIDE, Node, Tensor, constant, exact, natural, takes

MOST_TIMES = 256  # that the range of an input is divided by, so that integers stay exact
CHANGES = ("Cast", "CastLike", "DequantizeLinear")  # say what type they give


class Port:
    """An input or output of the network: name and shape in ONNX, dtype, blob and its view; lowest and highest value
    that is exact (None: any). grid: what the planes of the GEMM hold, multiples of the first number (0: any value) up
    to the second one (None: it has no planes)."""

    def __init__(self, name: str, shape: Sequence[int], dtype: Any, blob: str,
                 view: View, bounds: tuple[float, float] | None = None):
        self.name, self.shape, self.dtype = name, tuple(shape), np.dtype(dtype)
        self.blob, self.view, self.bounds = blob, view, bounds
        self.grid: tuple[float, float] | None = None


class Converter:
    """Converts one graph; run() leaves the network in `net`, `inputs` and `outputs`."""

    def __init__(self, model: proto.Message, shapes: dict[str, Sequence[int]] | None = None,
                 constants: dict[str, np.ndarray] | None = None, folder: str | None = None,
                 samples: dict[str, np.ndarray] | None = None):
        self.graph, self.folder, self.samples = model.graph, folder, samples or {}
        self.net = Net()
        self.inputs: list[Port] = []
        self.outputs: list[Port] = []
        self.tensors: dict[str, Tensor] = {}
        self.shapes, self.constants = shapes or {}, constants or {}
        self.node, self.current = "", None  # prefix of the layers' names; the node that is being converted
        self.symbols: dict[str, int] = {}  # sizes of dimensions that have a name
        self.opset = next((entry.version for entry in model.opset_import if entry.domain in OWN), 1)
        if not model.opset_import:
            raise proto.Malformed("it does not say which opset it uses; it may be cut off")
        self.functions = Functions(model)
        self.readers: dict[str, list[proto.Message | None]] = {v.name: [None] for v in self.graph.output}
        for message in self.graph.node:
            for name in message.input:
                self.readers.setdefault(name, []).append(message)

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
        again.blobs, again.limit, again.most = t.blobs, t.limit, t.most
        return again

    def grid(self, of: Tensor, t: Tensor) -> Any:
        """What the planes of the GEMM hold, for the same elements in another order."""
        return None if of.scaled is None or of.scaled.grid is None else of.scaled._replace(ints=t)

    def whole(self, node: Node, y: Tensor, most: float) -> Tensor:
        """An integer result that is at most so large. Where that is beyond what FP32 holds, inputs of the graph that
        it is computed of must be smaller."""
        if most > EXACT_INT:
            ports = [p for p in self.inputs if p.name in y.origin and p.bounds is not None]
            times = 2.0 ** math.ceil(math.log2(most / EXACT_INT))
            if not ports or times > MOST_TIMES:
                raise node.no("integers up to %g, FP32 holds them up to 2^24" % most)
            for port in ports:
                port.bounds = (port.bounds[0] / times, port.bounds[1] / times)
        y.most = min(most, float(EXACT_INT))
        return y

    def scalar(self, value: float) -> Tensor:
        return Tensor((), np.float32, np.array(value, np.float32))

    # ---- the walk ----

    def run(self) -> None:
        for initializer in self.graph.initializer:
            self.tensors[initializer.name] = constant(proto.array(initializer, self.folder))
        if self.graph.sparse_initializer:
            raise Unsupported("sparse initializers are not supported")
        ports = [value for value in self.graph.input if value.name not in self.tensors]
        for what, given in (("constants", self.constants), ("samples", self.samples)):
            for name in given:
                if name not in {value.name for value in self.graph.input}:
                    raise Unsupported("%s: no input '%s'" % (what, name))
        self.bind(ports)
        for value in ports:
            self.tensors[value.name] = self.graph_input(value)
        for message in self.graph.node:
            self.run_node(message, self.opset)
        self.finish()

    def bind(self, ports: Sequence[proto.Message]) -> None:
        """Names of dimensions take the sizes that --shape gives, to the input or to the name itself."""
        dims = {v.name: v.type.tensor_type.shape.dim for v in ports
                if v.type and v.type.tensor_type and v.type.tensor_type.shape}
        for d in (d for of in dims.values() for d in of):
            if not any(letter.isalnum() for letter in d.dim_param):
                d.dim_param = ""  # "?" names no size
        names = {d.dim_param for of in dims.values() for d in of if d.dim_param}
        for name, sizes in self.shapes.items():
            if name not in {v.name for v in ports}:
                if name not in names or len(sizes) != 1:
                    raise Unsupported("--shape %s: neither an input nor a dimension of one" % name)
                self.symbols[name] = sizes[0]
        for name, sizes in self.shapes.items():
            if name in dims and len(dims[name]) != len(sizes):
                raise Unsupported("--shape %s: %d sizes, the model has %d" % (name, len(sizes), len(dims[name])))
            for d, n in zip(dims.get(name, ()), sizes):
                if d.dim_param and self.symbols.setdefault(d.dim_param, n) != n:
                    raise Unsupported("--shape %s: %d for the dimension '%s', which is %d elsewhere" %
                                      (name, n, d.dim_param, self.symbols[d.dim_param]))

    def sizes(self, value: proto.Message) -> list[int]:
        """The shape of an input; an open first dimension is 1."""
        if value.name in self.shapes:
            return list(self.shapes[value.name])
        if value.type.tensor_type.shape is None:
            raise Unsupported("input '%s' has no shape; give it one: --shape %s=1,3,224,224" %
                              (value.name, value.name))
        shape, known = [], []
        for i, d in enumerate(value.type.tensor_type.shape.dim):
            n = max(d.dim_value, 0) or self.symbols.get(d.dim_param, 0)
            if n == 0 and i == 0:
                n = 1
                self.symbols.update({d.dim_param: 1} if d.dim_param else {})
            shape.append(n)
            known.append(str(n) if n > 0 else d.dim_param or "?")
        if 0 in shape:
            raise Unsupported("input '%s' has the shape (%s); give the open sizes: --shape %s=%s" %
                              (value.name, ", ".join(known), value.name, ",".join(str(n or 8) for n in shape)))
        return shape

    def graph_input(self, value: proto.Message) -> Tensor:
        where = "input '%s'" % value.name
        if value.type is None or value.type.tensor_type is None:
            kinds = sorted(value.type.present) if value.type else []
            raise Unsupported("%s is a %s, expected a tensor" % (where, kinds[0] if kinds else "value without a type"))
        if value.name in self.constants:
            return constant(self.constants[value.name])
        kind = value.type.tensor_type.elem_type
        try:
            dtype = type_of(kind)
        except KeyError:
            dtype = None
        if dtype is None or not takes(dtype, "moves"):
            raise Unsupported("%s: dtype %s, the NPU has FP32 and INT8" % (where, proto.type_name(kind)))
        shape = self.sizes(value)
        if not all(n > 0 for n in shape):
            raise Unsupported("%s: --shape %s, expected sizes above 0" % (where, shape))
        if math.prod(shape) > LARGEST:
            raise Unsupported("%s has %d elements, expected at most %d" % (where, math.prod(shape), LARGEST))
        view = natural(shape)
        blob = self.net.add("Input", [], [view], {i: n for i, n in enumerate(reversed(view))}, (), value.name)[0]
        bounds = (-EXACT_INT, EXACT_INT) if dtype in WIDE else None
        self.inputs.append(Port(value.name, shape, dtype, blob, view, bounds))
        t = Tensor(shape, dtype, None, blob, view, frozenset([value.name]))
        if dtype in FLOATS and np.size(self.samples.get(value.name, ())):
            from .products import Scaled, grid_of
            grid = grid_of(np.asarray(self.samples[value.name]), self.inputs[-1])
            t.scaled = None if grid is None else Scaled(t, np.ones((), np.float32), grid=grid)
            t.limit = None if grid is None else grid.limit
            self.inputs[-1].grid = None if grid is None else (0.0, grid.limit)
        return t

    def run_node(self, message: proto.Message, opset: int) -> None:
        inputs: list[Tensor | None] = []
        for name in message.input:
            if name and name not in self.tensors:
                raise Unsupported("operator %s, node '%s': nothing gives its input '%s'" %
                                  (message.op_type, message.name, name))
            inputs.append(self.tensors[name] if name else None)
        body = self.functions.expand(message)
        if body is not None:
            for inner in body.nodes:
                self.run_node(inner, body.opset)
            return
        if message.op_type == "If" and message.domain in OWN:
            self.run_branch(message, inputs, opset)
            return
        node = Node(message, inputs, opset, self.folder)
        self.node, self.current = node.name, node
        if node.key not in HANDLERS and message.domain not in OWN:
            raise node.no("domain '%s', expected operators of ONNX itself" % message.domain)
        for name in node.outputs:
            if name in self.tensors:
                raise node.no("its output '%s' has a value already" % name)
        try:
            results = fold(node) if message.domain in OWN else None
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

    def run_branch(self, message: proto.Message, inputs: list[Tensor | None], opset: int) -> None:
        """An If whose condition is known: the nodes of that branch. Their names are theirs alone."""
        node = Node(message, inputs, opset, self.folder)
        condition = node.const(0, "the condition")
        graph = None if condition is None or condition.size != 1 else node.attr(
            "then_branch" if bool(np.ravel(condition)[0]) else "else_branch")
        if graph is None or len(graph.output) < len(message.output):
            raise node.no("expected a condition and two branches with %d outputs" % len(message.output))
        outside, readers = dict(self.tensors), dict(self.readers)
        for initializer in graph.initializer:
            self.tensors[initializer.name] = constant(proto.array(initializer, self.folder))
        for inner in graph.node:
            for name in inner.input:
                self.readers[name] = self.readers.get(name, []) + [inner]
        for inside, name in zip(graph.output, message.output):
            self.readers[inside.name] = self.readers.get(inside.name, []) + self.readers.get(name, [])
        for inner in graph.node:
            for name in inner.output:
                self.tensors.pop(name, None)
            self.run_node(inner, opset)
        results = [self.tensors.get(inside.name) for inside in graph.output]
        self.tensors, self.readers = outside, readers
        for name, result in zip(message.output, results):
            if result is None:
                raise node.no("nothing gives an output of its branch")
            self.tensors[name] = result

    def handle(self, node: Node) -> list[Tensor]:
        if node.key not in HANDLERS:
            raise node.no("the operator is not supported")
        handler, attributes, kinds = HANDLERS[node.key]
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
            # double is computed in FP32
            if t is not None and t.dtype == np.float32 and node.key not in CHANGES and any(
                    i is not None and i.dtype == np.float64 for i in node.inputs):
                t.dtype = np.dtype(np.float64)
        return results

    def declared(self, value: proto.Message, t: Tensor) -> None:
        """An output whose sizes are all given has them; not checked where an input has another shape."""
        kind = value.type.tensor_type if value.type else None
        sizes = [d.dim_value for d in kind.shape.dim] if kind and kind.shape else []
        if sizes and min(sizes) > 0 and tuple(sizes) != t.shape and not self.shapes:
            raise Unsupported("output '%s' is declared as %s, but its result is %s" %
                              (value.name, sizes, list(t.shape)))

    def finish(self) -> None:
        """Outputs in their natural shape under their own names; patterns, fan-out, layers without a reader."""
        ports = []
        for value in self.graph.output:
            t = self.tensors.get(value.name)
            if t is None:
                raise Unsupported("nothing gives the output '%s'" % value.name)
            self.declared(value, t)
            self.node = value.name
            blob = self.use(t, natural(t.shape))
            if self.net.producer(blob).kind == "Input":
                blob = self.add("Noop", [blob], self.net.shapes[blob])
            ports.append(Port(value.name, t.shape, t.dtype, blob, natural(t.shape)))
        keep = {p.blob for p in ports}
        self.net.drop_unused(keep)
        self.net.fuse(keep)
        self.net.drop_unused(keep)
        if not self.samples:
            from .patterns import joined
            joined(self.net, keep)
        self.net.chain(keep)
        for port, blob in zip(ports, self.net.split([p.blob for p in ports])):
            port.blob = blob
        self.outputs = ports
