#!/usr/bin/python3
"""Frames per second of networks from the cycle model of document 001 beside its table 5-1 (docs/sac/performance.md).

usage: fps.py [--mhz 200] [--side 224] [--data DIR] [FILE.param ...]

FILE.param: a topology of ncnn; without one, the networks of the table and of the document's accuracies, from
DIR/param (the environment's TANDEM_DATA, or ../shared/data), and SqueezeNet 1.0 of tools/netgen.py: the document does
not say which SqueezeNet it measured. Layers: convolutions and inner products, one after the
other; poolings, sums and activations ride in the same tasks. CONV is what the array takes (the formula that every test
task is compared with); total has transfers, too, with every layer read from and written to memory (the formula of test
sac_speed). s-to-d: a first layer of stride 2 as space-to-depth. The document names neither clock nor vector sizes.

Exit status: 0; 1: a topology cannot be read; 2: bad usage. No data: one line says so."""

import argparse
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "tools"))
import netgen  # noqa: E402

BUILDS = {"m": (6, 16, 16), "l": (6, 16, 32)}  # W_VECTOR, C_VECTOR, N_VECTOR
PUBLISHED = {"squeezenet_v1.0": 1485, "squeezenet_v1.1": 1485, "googlenet": 306}
NETWORKS = ("squeezenet_v1.1", "googlenet", "resnet50")
GENERATED = "squeezenet_v1.0"
SAME = ("Split", "ReLU", "LRN", "Softmax", "Dropout", "BatchNorm", "Scale", "Eltwise", "BinaryOp")


class BadNet(Exception):
    """A topology that this tool does not read; the text is the whole message."""


def up(a, b):
    return -(-a // b)


class Layer:
    """A convolution: c channels of w x h, n filters of kw x kh; ow x oh is its output."""

    def __init__(self, c, h, w, n, kh, kw, stride, pad, oh, ow):
        self.c, self.h, self.w, self.n, self.kh, self.kw = c, h, w, n, kh, kw
        self.stride, self.pad, self.oh, self.ow = stride, pad, oh, ow

    def space_to_depth(self):
        """The same sums as a kernel of stride 1 over four times the channels of a quarter of the map."""
        if self.stride != 2 or self.c > 4:
            return self
        return Layer(4 * self.c, up(self.h, 2), up(self.w, 2), self.n, up(self.kh, 2), up(self.kw, 2), 1, 0,
                     self.oh, self.ow)

    def cycles(self, build):
        """CONV (equations 27 to 31) and total (the formula of docs/sac/performance.md) in a build."""
        wv, cv, nv = build
        beats, batches = up(wv * cv, 16), up(self.n, nv)
        red = up(self.c, cv) * self.kh * up(self.kw, 3)
        columns = up((self.ow - 1) * self.stride + 1, wv if self.kw == 1 else wv - 2)
        conv = self.oh * columns * red  # of a batch
        words = nv * up(self.c, (3 if self.kw == 1 else 1) * cv) * self.kh * up(self.kw, 3)
        load = max(words, up(words * cv * 12 // 8, 16)) + nv
        behind = max(self.oh * up(self.ow, wv) * beats * (nv // cv), self.oh * self.ow)
        pages = up(self.c, cv) * self.h * up(self.w, wv) * beats
        return batches * conv, pages + load + (batches - 1) * max(conv, load, behind) + max(conv, behind)


def window(size, kernel, stride, pads, pad_mode=1):
    """Positions of a window; pad_mode 0 of ncnn's pooling: those that begin in the map count, too."""
    room = size + pads - kernel
    return (up(room, stride) if pad_mode == 0 else room // stride) + 1


def parameters(words):
    values = {}
    for word in words:
        key, _, text = word.partition("=")
        if not key.startswith("-"):  # lists: not needed here
            values[int(key)] = float(text) if set(text) & set(".e") else int(text)
    return values


def convolution(p, shape):
    c, h, w = shape
    kw, sw, pw = p[1], p.get(3, 1), p.get(4, 0)
    kh, sh, ph = p.get(11, kw), p.get(13, sw), p.get(14, pw)
    if p.get(2, 1) != 1 or sw != sh:
        raise BadNet("a convolution with dilation or unequal strides")
    oh = window(h, kh, sh, ph + p.get(16, ph))
    ow = window(w, kw, sw, pw + p.get(15, pw))
    return Layer(c, h, w, p[0], kh, kw, sw, pw, oh, ow), (p[0], oh, ow)


def pooled(p, shape):
    c, h, w = shape
    if p.get(4, 0):
        return (c, 1, 1)
    k, s, pad = p[1], p.get(2, 1), p.get(3, 0)
    mode = p.get(5, 0)
    return (c, window(h, k, s, 2 * pad, mode), window(w, k, s, 2 * pad, mode))


def load(path):
    with open(path, encoding="utf-8") as src:
        return src.read()


def read(text, side):
    """Layers of a topology, in order; side: of the input, instead of the file's."""
    shapes, layers = {}, []
    lines = [line.split() for line in text.splitlines() if line.strip()]
    if not lines or lines[0] != ["7767517"]:
        raise BadNet("no .param file of ncnn")
    for words in lines[2:]:
        kind, name, inputs, outputs = words[0], words[1], int(words[2]), int(words[3])
        blobs, p = words[4:4 + inputs + outputs], parameters(words[4 + inputs + outputs:])
        before = [shapes[blob] for blob in blobs[:inputs]]
        if kind == "Input":
            shape = (p[2], side or p[1], side or p[0])
        elif kind == "Convolution":
            layer, shape = convolution(p, before[0])
            layers.append(layer)
        elif kind == "InnerProduct":  # over a map: a kernel as large as it, where the engine has one
            c, h, w = before[0]
            if h > 11 or w > 11:
                raise BadNet("%s: an inner product over a map of %u x %u" % (name, w, h))
            layers.append(Layer(c, h, w, p[0], h, w, 1, 0, 1, 1))
            shape = (p[0], 1, 1)
        elif kind == "Pooling":
            shape = pooled(p, before[0])
        elif kind == "Concat":
            shape = (sum(b[0] for b in before),) + before[0][1:]
        elif kind in SAME:
            shape = before[0]
        else:
            raise BadNet("%s: layers of type %s are not read here" % (name, kind))
        shapes.update((blob, shape) for blob in blobs[inputs:])
    return layers


def rows(name, layers, mhz):
    first = [layers[0].space_to_depth()] + layers[1:]
    for build, sizes in BUILDS.items():
        cells = []
        for net in (layers, first):
            cycles = [layer.cycles(sizes) for layer in net]
            cells += [round(mhz * 1e6 / sum(c[i] for c in cycles)) for i in (0, 1)]
        yield "| %s | %s | %s | %u | %u | %u | %u |" % (name, PUBLISHED.get(name, "-"), build, *cells)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--mhz", type=float, default=200, help="clock (200)")
    p.add_argument("--side", type=int, help="columns and rows of the input (those of the file)")
    p.add_argument("--data", default=os.environ.get("TANDEM_DATA", "../shared/data"))
    p.add_argument("files", nargs="*", metavar="FILE.param")
    args = p.parse_args()
    if not args.mhz > 0:
        p.error("--mhz: expected more than 0")
    if args.side is not None and not 16 <= args.side <= 1023:
        p.error("--side: expected 16..1023")
    files = args.files or [os.path.join(args.data, "param", name + ".param") for name in NETWORKS]
    if not args.files and not os.path.isdir(args.data):
        print("fps: not run: no data in %s (TANDEM_DATA)" % args.data)
        return 0
    print("| network | published | build | CONV alone | total | CONV, s-to-d | total, s-to-d |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    if not args.files:
        print("\n".join(rows(GENERATED, read(netgen.build(GENERATED).text(), args.side), args.mhz)))
    for path in files:
        try:
            name = os.path.splitext(os.path.basename(path))[0]
            print("\n".join(rows(name, read(load(path), args.side), args.mhz)))
        except OSError as e:
            print("fps: %s: %s" % (path, e.strerror), file=sys.stderr)
            return 1
        except (BadNet, KeyError, ValueError, IndexError) as e:
            why = e if isinstance(e, BadNet) else "no topology that this tool reads (%s)" % e
            print("fps: %s: %s" % (path, why), file=sys.stderr)
            return 1
    print("\nframes per second at %g MHz; FaceNet (published: 1020) is not here: the document gives neither the\n"
          "images of its MTCNN nor how many faces are in them" % args.mhz)
    return 0


if __name__ == "__main__":
    sys.exit(main())
