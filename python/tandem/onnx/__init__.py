"""ONNX models as ncnn's two files, which the rest of this project reads (docs/onnx.md). No package of ONNX's is needed:
proto.py reads the files.

    python3 -m tandem.onnx model.onnx -o net          # net.param, net.bin

convert()      a model as a Converted: save(), open() as a tandem.Network, run() with arrays as ONNX has them
Unsupported    what the converter refuses: one line with operator, node and what is supported
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _core
from . import proto
from .net import EXACT, FITTED, NeedsConstant, Net, Unsupported

if TYPE_CHECKING:
    from .converter import Port

__all__ = ["Converted", "NeedsConstant", "Unsupported", "convert"]


class Converted:
    """A converted model.

    net: layers. inputs, outputs: ports with name, shape and dtype as in ONNX, and the blob. All values are FP32 in the
    network: bool as 0 and 1, integers as far as FP32 holds them (Port.bounds).
    """

    def __init__(self, net: Net, inputs: list[Port], outputs: list[Port]):
        self.net, self.inputs, self.outputs = net, inputs, outputs

    @property
    def fitted(self) -> list[str]:
        """Types of layers that the NPU computes with fitted functions, within 1e-3."""
        return sorted({layer.kind for layer in self.net.layers if not layer.params.get(EXACT)} & FITTED)

    def save(self, param: str | os.PathLike[str], weights: str | os.PathLike[str]) -> None:
        """Write both files. Raises OSError."""
        self.net.save(param, weights)

    def open(self) -> _core.Network:
        """The network as tandem.Network. Raises Error if it is refused there."""
        with tempfile.TemporaryDirectory() as folder:
            param, weights = os.path.join(folder, "net.param"), os.path.join(folder, "net.bin")
            self.net.save(param, weights)
            return _core.Network(param, weights)

    def feed(self, arrays: Sequence[np.ndarray]) -> np.ndarray:
        """Input arrays, in the order of `inputs`, as the one array that Network.run() takes. ValueError: wrong shape or
        dtype, or values that are not exact in FP32."""
        if len(arrays) != len(self.inputs):
            raise ValueError("expected %d arrays, got %d" % (len(self.inputs), len(arrays)))
        parts = []
        for port, array in zip(self.inputs, arrays):
            array = np.asarray(array)
            if array.shape != port.shape or array.dtype != port.dtype:
                raise ValueError("input '%s': expected %s %s, got %s %s" %
                                 (port.name, port.dtype, list(port.shape), array.dtype, list(array.shape)))
            if (port.bounds is not None and array.size and
                    (array.min() < port.bounds[0] or array.max() > port.bounds[1])):
                raise ValueError("input '%s': expected integers from %g to %g, which are exact in the network" %
                                 ((port.name,) + tuple(port.bounds)))
            if port.grid is not None and array.size:
                step, limit = port.grid
                if np.abs(array).max() > limit or (step and np.any(np.rint(array / step) != array / step)):
                    raise ValueError("input '%s': expected %s up to %g, which its planes of INT8 hold" %
                                     (port.name, "multiples of %g" % step if step else "values", limit))
            parts.append(array.astype(np.float32).ravel())
        return np.concatenate(parts) if parts else np.zeros(0, np.float32)

    def fetch(self, blobs: dict[str, np.ndarray]) -> list[np.ndarray]:
        """Outputs as ONNX has them, from what Network.run() returned."""
        return [blobs[port.blob].reshape(port.shape).astype(port.dtype) for port in self.outputs]

    def run(self, device: _core.Device, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        """One inference on a device."""
        return self.fetch(self.open().run(device, self.feed(arrays)))


def convert(model: Any, *, shapes: dict[str, Sequence[int]] | None = None,
            constants: dict[str, np.ndarray] | None = None,
            samples: dict[str, np.ndarray] | None = None) -> Converted:
    """Convert a model: a path, an onnx.ModelProto of any version of that package, or its bytes.

    shapes: of inputs, by name, where the model gives none; or the size of a dimension by its name. constants: values
    for inputs, which are inputs no longer. samples: values that inputs may have; FP32 convolutions, products and sums
    over them run on the GEMM then, as sums of INT8 planes that hold such values exactly, or to 2^-29 of the largest
    one, and feed() refuses values that they do not hold. Unsupported: one line; NeedsConstant: an operator needs
    values of inputs at conversion time. Error: a damaged file.
    """
    # their operators register themselves
    from . import (ops_contrib, ops_index, ops_loss, ops_math, ops_matrix, ops_nn, ops_quant,  # noqa: F401
                   ops_recurrent, ops_reduce, ops_resize, ops_shape)
    from .converter import Converter
    folder = None
    try:
        if isinstance(model, (str, os.PathLike)):
            folder = os.path.dirname(os.path.abspath(model))
            message = proto.load(model)
        else:
            message = proto.model_of(model if isinstance(model, bytes) else model.SerializeToString())
        worker = Converter(message, shapes, constants, folder, samples)
        worker.run()
    except (OSError, proto.Malformed) as error:
        text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise _core.Error("not a readable ONNX model (%s)" % re.sub(r"[^\x20-\x7e]+", " ", text)) from None
    result = Converted(worker.net, worker.inputs, worker.outputs)
    try:
        result.open()
    except _core.Error as error:
        raise Unsupported("the converted network is refused: %s" % str(error).split(":", 2)[-1].strip()) from None
    return result
