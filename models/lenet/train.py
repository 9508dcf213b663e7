#!/usr/bin/python3
"""Train LeNet on the handwritten digits of ../digits and write the files of this folder; see README.md.

    train.py            train and write the files (some minutes on one core)
    train.py --check    train again and compare: exit 1 if any committed byte differs
    train.py --eval     accuracy of the committed files only (no training)

Training is that of ../digits/train.py, exact in binary64, so reproducible bit for bit.
"""
import argparse
import os
import struct
import sys

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "digits"))
import train as digits  # noqa: E402

EPOCHS = 8
TAG_CODEBOOK = 1  # 256 floats, then one byte a weight

# Caffe's example: name, input channels, output channels, kernel, stride, padding, ReLU. An inner product is a
# convolution whose kernel is the whole map.
LAYERS = [
    ("conv1", 1, 20, 5, 1, 0, False),
    ("conv2", 20, 50, 5, 1, 0, False),
    ("ip1", 50, 500, 4, 1, 0, True),
    ("ip2", 500, 10, 1, 1, 0, False),
]
POOLED = ("conv1", "conv2")


def images_of(pixels):
    """Each pixel three times in both directions and a border of two: [b][28][28][1], as Interp and Padding do it."""
    small = (pixels / 16.0).reshape(-1, 8, 8)
    return np.pad(small.repeat(3, axis=1).repeat(3, axis=2), ((0, 0), (2, 2), (2, 2)))[..., None]


def levels(weights):
    """255 equal steps from -max to max as numbers of binary32, and the number of the one next to each weight."""
    step = float(np.abs(weights).max()) / 127.0
    book = np.concatenate(((np.arange(255) - 127.0) * step, [0.0])).astype("<f4")
    return book, np.clip(np.rint(weights.astype(np.float64) / step) + 127, 0, 254).astype(np.uint8)


def param():
    lines = ["Input            data       0 1 data 0=8 1=8 2=1",
             "Interp           large      1 1 data large 0=1 1=3.0 2=3.0",
             "Padding          border     1 1 large border 0=2 1=2 2=2 3=2 4=0 5=0.0",
             "Convolution      conv1      1 1 border conv1 0=20 1=5 5=1 6=500",
             "Pooling          pool1      1 1 conv1 pool1 0=0 1=2 2=2",
             "Convolution      conv2      1 1 pool1 conv2 0=50 1=5 5=1 6=25000",
             "Pooling          pool2      1 1 conv2 pool2 0=0 1=2 2=2",
             "InnerProduct     ip1        1 1 pool2 ip1 0=500 1=1 2=400000",
             "ReLU             relu1      1 1 ip1 relu1",
             "InnerProduct     ip2        1 1 relu1 ip2 0=10 1=1 2=5000",
             "Softmax          prob       1 1 ip2 prob 0=0 1=1"]
    return ("7767517\n%d %d\n" % (len(lines), len(lines)) + "\n".join(lines) + "\n").encode()


def pack(model):
    out = b""
    for weights, bias in model:
        book, index = levels(weights)
        data = index.tobytes()
        out += struct.pack("<I", TAG_CODEBOOK) + book.tobytes() + data + bytes(-len(data) % 4) + \
            bias.astype("<f4").tobytes()
    return out


def unpack(path):
    data, pos, model = open(path, "rb").read(), 0, []
    for _, ic, oc, k, _, _, _ in LAYERS:
        count = oc * ic * k * k
        book = np.frombuffer(data, "<f4", 256, pos + 4)
        index = np.frombuffer(data, np.uint8, count, pos + 4 + 1024)
        pos += 4 + 1024 + count + -count % 4
        model.append((book[index].reshape(oc, ic, k, k), np.frombuffer(data, "<f4", oc, pos)))
        pos += 4 * oc
    if pos != len(data):
        raise ValueError("%s: %d bytes, expected %d" % (path, len(data), pos))
    return model


def scores(model, pixels):
    """In binary64: [b][10]."""
    x = images_of(pixels)
    for (name, _, oc, k, s, p, relu), (w, b) in zip(LAYERS, model):
        cols, oh, ow = digits.im2col(x, k, s, p)
        z = cols @ w.astype(np.float64).transpose(2, 3, 1, 0).reshape(-1, oc) + b
        x = (np.maximum(z, 0.0) if relu else z).reshape(len(pixels), oh, ow, oc)
        x = digits.max_pool(x)[0] if name in POOLED else x
    return x.reshape(len(pixels), 10)


def evaluate():
    pixels, labels = digits.read_images(os.path.join(HERE, "..", "digits", "heldout.csv"))
    right = int((scores(unpack(os.path.join(HERE, "lenet.bin")), pixels).argmax(axis=1) == labels).sum())
    print("%d of %d held-out images right" % (right, len(labels)))


def build():
    pixels, labels, _, _ = digits.load_split()
    net = digits.Net(LAYERS, POOLED)
    digits.fit(net, images_of(pixels), labels, EPOCHS, 0.002)
    return {"lenet.param": param(), "lenet.bin": pack(digits.weights_of(net))}


def main():
    ap = argparse.ArgumentParser(description="Train LeNet on the digits.")
    mode = ap.add_mutually_exclusive_group()
    mode.add_argument("--check", action="store_true", help="train again and compare with the files here")
    mode.add_argument("--eval", action="store_true", help="accuracy of the files here")
    args = ap.parse_args()
    if args.eval:
        evaluate()
        return 0
    files = build()
    if args.check:
        return digits.check(files, HERE)
    digits.write(files, HERE)
    evaluate()
    return 0


if __name__ == "__main__":
    sys.exit(main())
