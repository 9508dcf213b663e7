#!/usr/bin/python3
"""Fine-tune the digits network to weights that are powers of two, in the way of incremental network quantisation
(document 001, section 3.1.1), and write digits.pow2; see README.md.

    inq.py            train and write the file (about a minute on one core)
    inq.py --check    train again and compare: exit 1 if a committed byte differs

Of each layer the largest weights are rounded to powers of two and kept, the others are trained on; so in four steps,
after which all are powers of two. Training is that of train.py, reproducible bit for bit. The file's format is
docs/sac/compression.md's, written here independently of network/pow2.c.
"""
import os
import struct
import sys

import numpy as np

import train

SHARES = (0.5, 0.75, 0.875, 1.0)  # of the weights of a layer that are powers of two after each step
EPOCHS = 6
RATE = 0.001


def exponents(w):
    """p(w): the power that |w| is rounded to, ties up; of 0 a very small one."""
    mantissa, exponent = np.frexp(np.abs(w))
    return np.where(w == 0, -1000, exponent - 1 + (mantissa >= 0.75))


def nearest(w, nmin):
    """Equation 4: 0, or a power from nmin to nmin + 6."""
    power = np.clip(exponents(w), nmin, nmin + 6)
    return np.where(np.abs(w) < 2.0 ** (nmin - 1), 0.0, np.sign(w) * 2.0 ** power)


class Inq(train.Net):
    """The trained network, of which a growing part is kept."""
    def __init__(self, model):
        super().__init__()
        for i, (w, b) in enumerate(model):
            self.params[2 * i] = w.astype(np.float64).transpose(2, 3, 1, 0).reshape(-1, w.shape[0])
            self.params[2 * i + 1] = b.astype(np.float64)
        self.nmin = [int(exponents(p).max()) - 6 for p in self.params[0::2]]
        self.kept = [np.zeros(p.shape, dtype=bool) for p in self.params]

    def keep(self, share):
        for i, nmin in enumerate(self.nmin):
            w, kept = self.params[2 * i], self.kept[2 * i]
            order = np.argsort(-np.where(kept, np.inf, np.abs(w)).reshape(-1), kind="stable")
            kept.reshape(-1)[order[:int(round(share * w.size))]] = True
            self.params[2 * i] = np.where(kept, nearest(w, nmin), w)

    def step(self, grads, rate, decay):
        before = [p.copy() for p in self.params]
        super().step(grads, rate, decay)
        self.params = [np.where(k, b, p) for k, b, p in zip(self.kept, before, self.params)]


def codes(w, nmin):
    k = (exponents(w) - nmin).astype(np.int64)
    return np.where(w == 0, 7, k + np.where(w > 0, 8, 0))


def record(w, nmin):
    """Type 0: shorts of three weights for each kernel row, of four channels where the kernel is 1 x 1."""
    n, c, h, wd = w.shape
    out = struct.pack("<bBHHHH", nmin, 0, n, c, h, wd)
    rows = codes(w, nmin).reshape((n, c) if h * wd == 1 else (n * c * h, wd))
    group = 4 if h * wd == 1 else 3
    for row in rows:
        for at in range(0, len(row), group):
            nibbles = [int(v) for v in row[at:at + group]] + [7] * 4
            out += struct.pack("<H", sum(v << 4 * i for i, v in enumerate(nibbles[:4])))
    return out


def build():
    pixels, labels, _, _ = train.load_split()
    net = Inq(train.read_fp32(os.path.join(train.HERE, "digits.bin")))
    images = (pixels / 16.0).reshape(-1, 8, 8, 1)
    for share in SHARES:
        net.keep(share)
        if share < 1.0:
            train.fit(net, images, labels, EPOCHS, RATE)
    model = train.weights_of(net)
    out = b""
    for (w, b), nmin in zip(model, net.nmin):
        out += record(w, nmin) + struct.pack("<bBHHHH", 0, 1, len(b), 1, 1, 1) + b.astype("<f4").tobytes()
    held_out = train.read_images(os.path.join(train.HERE, "heldout.csv"))
    print("held-out images right: %.2f %%" % train.accuracy(train.run_fp32(model, held_out[0]), held_out[1]))
    return {"digits.pow2": out}


def main():
    if sys.argv[1:] == ["--check"]:
        return train.check(build())
    if sys.argv[1:]:
        print(__doc__)
        return 0 if sys.argv[1:] == ["--help"] else 2
    train.write(build())
    return 0


if __name__ == "__main__":
    sys.exit(main())
