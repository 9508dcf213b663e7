"""A network as ncnn's two files have it: layers, their settings and arrays. The format is that of docs/network.md."""

import os
import re
import struct
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

MAGIC = 7767517
TAG_INT8 = 0x000D4B38
EXACT = 8  # key of an activation that is not computed by a fitted function (not of ncnn, which ignores it)
# functions that the NPU fits (docs/npu/activations.md)
FITTED = {"Sigmoid", "TanH", "Swish", "Mish", "ELU", "Softplus", "GELU"}
View = tuple[int, ...]  # sizes of a blob from the outermost dimension inwards, one to three of them


class Unsupported(Exception):
    """A graph that ncnn's files or this converter cannot express: a line with operator, node and what is supported."""

    def __init__(self, text: str):
        super().__init__(re.sub(r"[\x00-\x1f\x7f]+", " ", text))


class NeedsConstant(Unsupported):
    """An operator needs values at conversion time that depend on inputs of the graph: `names`."""

    def __init__(self, text: str, names: Sequence[str]):
        super().__init__(text)
        self.names = list(names)


class Layer:
    """type, name, blobs, settings by key (int, float or a list of them), arrays of the .bin: "tagged", "int8" or "raw"
    with their values."""

    def __init__(self, kind: str, name: str, inputs: Sequence[str], outputs: Sequence[str],
                 params: dict[int, Any], arrays: Iterable[tuple[str, np.ndarray]] = ()):
        self.kind, self.name, self.inputs, self.outputs = kind, name, list(inputs), list(outputs)
        self.params, self.arrays = dict(params), list(arrays)
        self.chained: np.ndarray | None = None  # scale of its INT8 output

    @property
    def int8(self) -> bool:
        """A convolution of INT8, whose last array is the scale of its input."""
        return self.kind in ("Convolution", "ConvolutionDepthWise") and 0 < self.params.get(8, 0) < 100


def number(value: Any) -> str:
    """A setting: floats have a point or an exponent."""
    if isinstance(value, (int, np.integer)):
        return "%d" % value
    text = "%.9g" % np.float32(value)
    if not np.isfinite(np.float32(value)):
        raise ValueError("a setting that is not finite")
    return text if re.search("[.e]", text) else text + ".0"


def settings(params: dict[int, Any]) -> str:
    words = []
    for key in sorted(params):
        value = params[key]
        if isinstance(value, (list, tuple)):
            words.append("-%d=%s" % (23300 + key, ",".join([str(len(value))] + [number(v) for v in value])))
        else:
            words.append("%d=%s" % (key, number(value)))
    return " ".join(words)


class Net:
    """Layers in the order in which they run, and the shapes of their blobs."""

    def __init__(self) -> None:
        self.layers: list[Layer] = []
        self.shapes: dict[str, View] = {}
        self._names: set[str] = set()

    def unique(self, wish: str) -> str:
        """A name that is not in use yet, without blanks."""
        base = re.sub(r"[^\w./:-]", "_", wish)[:200] or "blob"
        name, count = base, 1
        while name in self._names:
            count += 1
            name = "%s_%d" % (base, count)
        self._names.add(name)
        return name

    def add(self, kind: str, inputs: Sequence[str], views: Sequence[View], params: dict[int, Any] | None = None,
            arrays: Iterable[tuple[str, np.ndarray]] = (), name: str = "") -> list[str]:
        """Append a layer; its outputs get these shapes and are named after `name`. ValueError: a setting that is not
        finite."""
        settings(params or {})
        name = self.unique(name or kind.lower())
        outputs = [name if i == 0 else self.unique("%s.%d" % (name, i)) for i in range(len(views))]
        self.shapes.update(zip(outputs, (tuple(v) for v in views)))
        self.layers.append(Layer(kind, name, inputs, outputs, params or {}, arrays))
        return outputs

    def rename(self, old: str, new: str) -> None:
        """Give a blob another name."""
        for layer in self.layers:
            layer.inputs = [new if b == old else b for b in layer.inputs]
            layer.outputs = [new if b == old else b for b in layer.outputs]
        self.shapes[new] = self.shapes.pop(old)

    def producer(self, blob: str) -> Layer:
        return next(layer for layer in self.layers if blob in layer.outputs)

    def consumers(self, blob: str) -> list[Layer]:
        return [layer for layer in self.layers for b in layer.inputs if b == blob]

    def drop_unused(self, keep: set[str]) -> None:
        """Layers but the Inputs whose results are not read."""
        used = set(keep)
        kept = []
        for layer in reversed(self.layers):
            if layer.kind == "Input" or used.intersection(layer.outputs):
                used.update(layer.inputs)
                kept.append(layer)
        self.layers = kept[::-1]

    def fuse(self, keep: set[str]) -> None:
        """x times a gate of x, as exporters write Swish, Mish and HardSwish, becomes that activation. Blobs in `keep`
        stay."""
        for layer in self.layers:
            if layer.kind != "BinaryOp" or layer.params.get(0, 0) != 2 or len(layer.inputs) != 2:
                continue
            for x, gate in (layer.inputs, layer.inputs[::-1]):
                kinds, params, at = [], {}, gate
                while (at != x and at not in keep and len(self.consumers(at)) == 1 and
                       self.producer(at).kind in ("Sigmoid", "HardSigmoid", "TanH", "Softplus")):
                    kinds.append(self.producer(at).kind)
                    params = self.producer(at).params
                    at = self.producer(at).inputs[0]
                kind = {("Sigmoid",): "Swish", ("HardSigmoid",): "HardSwish",
                        ("TanH", "Softplus"): "Mish"}.get(tuple(kinds))
                if at == x and kind is not None:
                    layer.kind, layer.inputs, layer.params = kind, [x], dict(params)
                    break

    def chain(self, keep: set[str]) -> None:
        """A convolution of INT8 whose readers all are convolutions of INT8 in one scale gives INT8 itself (key 8 above
        100, and that scale as the last array)."""
        for layer in self.layers:
            readers = self.consumers(layer.outputs[0]) if layer.int8 else []
            if not readers or layer.outputs[0] in keep or not all(r.int8 for r in readers):
                continue
            bottoms = [float(r.arrays[-1][1][0]) for r in readers]
            if len(set(bottoms)) == 1:
                layer.chained = np.array(bottoms[:1], np.float32)
        for layer in self.layers:
            if layer.chained is not None:
                layer.params[8] += 100
                layer.arrays.append(("raw", layer.chained))

    def split(self, outputs: Sequence[str]) -> list[str]:
        """Every blob gets one consumer at most: Split layers for the others. Returns the names of the outputs
        afterwards."""
        uses = Counter(b for layer in self.layers for b in layer.inputs) + Counter(outputs)
        copies: dict[str, list[str]] = {}
        result: list[Layer] = []
        for layer in self.layers:
            layer.inputs = [copies[b].pop(0) if b in copies else b for b in layer.inputs]
            result.append(layer)
            for blob in layer.outputs:
                if uses[blob] > 1:
                    copies[blob] = [self.unique("%s.s%d" % (blob, i)) for i in range(uses[blob])]
                    self.shapes.update((c, self.shapes[blob]) for c in copies[blob])
                    result.append(Layer("Split", self.unique(blob + ".split"), [blob], copies[blob], {}))
        self.layers = result
        return [copies[b].pop(0) if b in copies else b for b in outputs]

    def param_text(self) -> str:
        blobs = sum(len(layer.outputs) for layer in self.layers)
        lines = [str(MAGIC), "%d %d" % (len(self.layers), blobs)]
        for layer in self.layers:
            words = ([layer.kind, layer.name, str(len(layer.inputs)), str(len(layer.outputs))] +
                     layer.inputs + layer.outputs)
            lines.append(" ".join(words + ([settings(layer.params)] if layer.params else [])))
        return "\n".join(lines) + "\n"

    def bin_bytes(self) -> bytes:
        parts = []
        for layer in self.layers:
            for kind, values in layer.arrays:
                if kind == "int8":
                    data = np.ascontiguousarray(values, dtype=np.int8).tobytes()
                    parts.append(struct.pack("<I", TAG_INT8) + data + bytes(-len(data) % 4))
                else:
                    parts.append((struct.pack("<I", 0) if kind == "tagged" else b"") +
                                 np.ascontiguousarray(values, dtype="<f4").tobytes())
        return b"".join(parts)

    def save(self, param: str | os.PathLike[str], weights: str | os.PathLike[str]) -> None:
        """Write both files under temporary names and rename them when both are whole."""
        files = [(os.fspath(param), self.param_text().encode()), (os.fspath(weights), self.bin_bytes())]
        for path, _ in files:
            if os.path.isdir(path):  # checked before one of them is renamed
                raise IsADirectoryError("%s is a folder" % path)
        try:
            for path, data in files:
                with open(path + ".tmp", "wb") as f:
                    f.write(data)
            for path, _ in files:
                os.replace(path + ".tmp", path)
        finally:
            for path, _ in files:
                if os.path.exists(path + ".tmp"):
                    os.unlink(path + ".tmp")
