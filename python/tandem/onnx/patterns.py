"""Layers that exporters write as several nodes: LayerNormalization and GELU in parts, a product and the addition of its
bias. Blobs still have any number of readers here."""

from __future__ import annotations

import math

import numpy as np

from .net import EXACT, FITTED, Layer, Net
from .ops_math import ADD, DIV, MUL, POW, SQRT, SQUARE, SUB
from .ops_reduce import MEAN

CUBE = 0.044715


class Finder:
    """Producers and readers of the blobs of a network."""

    def __init__(self, net: Net, keep: set[str]):
        self.net, self.keep = net, keep
        self.made = {b: layer for layer in net.layers for b in layer.outputs}
        self.read: dict[str, list[Layer]] = {}
        for layer in net.layers:
            for b in layer.inputs:
                self.read.setdefault(b, []).append(layer)

    def by(self, blob: str, kind: str, code: int | None = None) -> Layer | None:
        """The layer of this kind (and operation) that gives the blob. None: another one does."""
        layer = self.made[blob]
        return layer if layer.kind == kind and (code is None or layer.params.get(0, 0) == code) else None

    def seen(self, blob: str) -> str:
        """The blob whose elements it has in another shape, or itself."""
        while self.made[blob].kind == "Reshape":
            blob = self.made[blob].inputs[0]
        return blob

    def inner(self, blob: str, *readers: Layer) -> bool:
        """Nothing but these layers reads the blob, in whatever shape."""
        return blob not in self.keep and all(
            self.inner(r.outputs[0], *readers) if r.kind == "Reshape" else any(r is s for s in readers)
            for r in self.read.get(blob, []))

    def scalar(self, blob: str, code: int) -> tuple[str, float] | None:
        """Operand and number of a BinaryOp with a number that gives the blob."""
        layer = self.by(blob, "BinaryOp", code)
        return (layer.inputs[0], float(layer.params.get(2, 0.0))) if layer and layer.params.get(1) else None

    def pair(self, blob: str, code: int) -> Layer | None:
        layer = self.by(blob, "BinaryOp", code)
        return layer if layer and len(layer.inputs) == 2 else None

    def row(self, layer: Layer, code: int, n: int) -> tuple[Layer, np.ndarray] | None:
        """The only reader of the layer's result, which adds or multiplies a constant row of n elements; and the row."""
        readers = self.read.get(layer.outputs[0], [])
        if len(readers) != 1 or layer.outputs[0] in self.keep:
            return None
        other = self.pair(readers[0].outputs[0], code)
        if other is None:
            return None
        data = self.made[other.inputs[1] if other.inputs[0] == layer.outputs[0] else other.inputs[0]]
        view = self.net.shapes[data.outputs[0]]
        fits = data.kind == "MemoryData" and view[-1] == n == math.prod(view)
        return (other, data.arrays[0][1]) if fits else None


def squares(find: Finder, blob: str) -> tuple[str, Layer] | None:
    """What is squared to give the blob."""
    power = find.scalar(blob, POW)
    if power is not None and power[1] == 2.0:
        return power[0], find.made[blob]
    layer = find.by(blob, "UnaryOp", SQUARE) or find.pair(blob, MUL)
    return (layer.inputs[0], layer) if layer and len(set(layer.inputs)) == 1 else None


def row_mean(find: Finder, blob: str) -> str | None:
    """The blob whose mean along its innermost axis this is, with that axis kept."""
    layer = find.by(find.seen(blob), "Reduction", MEAN)
    if layer is None or layer.params.get(1, 1) != 0 or layer.params.get(4) != 1 or layer.params.get(2, 1.0) != 1.0:
        return None
    x = layer.inputs[0]
    last = len(find.net.shapes[x]) - 1
    whole = find.seen(x)
    return whole if layer.params.get(3) in ([last], [-1]) and (
        find.net.shapes[whole][-1] == find.net.shapes[x][-1]) else None


def layer_norm(find: Finder, divided: Layer) -> bool:
    """(x - mean) / sqrt(variance + eps), times and plus a row."""
    rest, root = find.seen(divided.inputs[0]), find.seen(divided.inputs[1])
    sqrt = find.by(root, "UnaryOp", SQRT)
    added = find.scalar(find.seen(sqrt.inputs[0]), ADD) if sqrt else None
    square = row_mean(find, added[0]) if added else None
    found = squares(find, square) if square else None
    less = find.pair(rest, SUB)
    if found is None or find.seen(found[0]) != rest or less is None or (
            row_mean(find, less.inputs[1]) != find.seen(less.inputs[0])):
        return False
    mean, plus_eps = find.seen(less.inputs[1]), find.seen(sqrt.inputs[0])
    of_squares = find.seen(added[0])
    parts = [(rest, (found[1], divided)), (mean, (less,)), (square, (find.made[of_squares],)),
             (of_squares, (find.made[plus_eps],)), (plus_eps, (sqrt,)), (root, (divided,))]
    if not all(find.inner(blob, *readers) for blob, readers in parts):
        return False
    n = find.net.shapes[rest][-1]
    last, arrays = divided, []
    times = find.row(divided, MUL, n)
    plus = find.row(times[0], ADD, n) if times else None
    if times is not None:
        last = plus[0] if plus else times[0]
        arrays = [("raw", times[1]), ("raw", plus[1] if plus else np.zeros(n, np.float32))]
    last.kind, last.inputs, last.arrays = "LayerNorm", [less.inputs[0]], arrays
    last.params = {0: n, 1: added[1], 2: int(bool(arrays))}
    return True


def factors(find: Finder, blob: str, top: bool = True) -> tuple[list[str], float]:
    """A product as blobs and one number."""
    layer = find.made[blob]
    alone = top or (blob not in find.keep and len(find.read.get(blob, [])) == 1)
    if not alone or layer.kind != "BinaryOp" or layer.params.get(0, 0) not in (MUL, DIV):
        return [blob], 1.0
    if layer.params.get(1):
        blobs, number = factors(find, layer.inputs[0], False)
        value = float(layer.params.get(2, 0.0))
        return blobs, number * (value if layer.params.get(0) == MUL else 1 / value if value else math.nan)
    if layer.params.get(0) != MUL:
        return [blob], 1.0
    sides = [factors(find, b, False) for b in layer.inputs]
    return sides[0][0] + sides[1][0], sides[0][1] * sides[1][1]


def near(a: float, b: float) -> bool:
    return abs(a - b) <= 1e-5 * abs(b)


def gate(find: Finder, blob: str) -> tuple[str, int] | None:
    """x and the form of GELU of 1 + erf(x / sqrt(2)) or 1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))."""
    one = find.scalar(blob, ADD)
    if one is None or one[1] != 1.0:
        return None
    erf, tanh = find.by(one[0], "Erf"), find.by(one[0], "TanH")
    if erf is not None:
        (x, *more), number = factors(find, erf.inputs[0])
        return (x, 0) if not more and near(number, math.sqrt(0.5)) else None
    if tanh is None:
        return None
    (total, *more), number = factors(find, tanh.inputs[0])
    both = find.pair(total, ADD)
    if more or not near(number, math.sqrt(2 / math.pi)) or both is None:
        return None
    for x, cube in (both.inputs, both.inputs[::-1]):
        blobs, small = factors(find, cube)
        power = find.scalar(blobs[0], POW) if len(blobs) == 1 else None
        square = squares(find, blobs[0]) if len(blobs) == 2 else None
        if near(small, CUBE) and (blobs == [x] * 3 or power == (x, 3.0) or
                                  (square is not None and square[0] == x and blobs[1] == x)):
            return x, 1
    return None


def gelu(find: Finder, layer: Layer) -> bool:
    """0.5 * x * gate."""
    blobs, number = factors(find, layer.outputs[0])
    if len(blobs) != 2 or not near(number, 0.5):
        return False
    for x, other in (blobs, blobs[::-1]):
        found = gate(find, other) if other not in find.keep else None
        if found is not None and found[0] == x:
            layer.kind, layer.inputs, layer.params = "GELU", [x], {0: found[1]} if found[1] else {}
            return True
    return False


def bias(find: Finder, product: Layer) -> bool:
    """A product of rows and a constant row that is added."""
    n = product.params[0]
    plus = find.row(product, ADD, n)
    if plus is None or find.net.shapes[plus[0].outputs[0]] != find.net.shapes[product.outputs[0]]:
        return False
    product.params[1] = 1
    product.arrays.append(("raw", plus[1]))
    product.outputs = list(plus[0].outputs)
    find.net.layers.remove(plus[0])
    return True


def is_int8(layer: Layer) -> bool:
    return layer.kind in ("Convolution", "ConvolutionDepthWise", "InnerProduct", "MatMul") and bool(layer.params.get(8))


def joined(net: Net, keep: set[str]) -> None:
    """Rewrite the patterns. A network that has INT8 layers already keeps its functions to the last bit."""
    quantised = any(is_int8(layer) for layer in net.layers)
    for layer in net.layers:
        if quantised and layer.kind in FITTED:
            layer.params[EXACT] = 1
    tries = [("InnerProduct", bias), ("BinaryOp", layer_norm)] + ([] if quantised else [("BinaryOp", gelu)])
    for kind, rewrite in tries:
        done = True
        while done:
            find, done = Finder(net, keep), False
            for layer in reversed(net.layers):
                fits = layer.kind == kind and (kind == "BinaryOp" or not (layer.params.get(8) or layer.params.get(1)))
                if rewrite is layer_norm:
                    fits = fits and layer.params.get(0, 0) == DIV and len(layer.inputs) == 2
                if fits and rewrite(find, layer):
                    net.drop_unused(keep)
                    done = True
                    break
