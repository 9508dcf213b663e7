#!/usr/bin/python3
"""Train the digits network and write every file of this folder; see README.md.

    train.py            train and write the files (about 20 s on one core)
    train.py --check    train again and compare: exit 1 if any committed byte differs
    train.py --eval     accuracy of the committed files only (no training)

Needs NumPy; training also needs scikit-learn for its bundled copy of the UCI digits.

The training is reproducible bit for bit on any machine: weights, activations and gradients are rounded to multiples of
a power of two that is coarse enough for every matrix product to be exact in binary64, so neither the BLAS library nor
the number of threads nor the order of additions matters. Nothing else but correctly rounded operations (+ - * / sqrt)
is used; the exponential is built from squarings.
"""
import argparse
import os
import struct
import sys

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
SEED = 20240607
N_TRAIN = 1397  # of 1797; the other 400 are held out
N_CALIB = 64  # the first training images
EPOCHS = 30
BATCH = 64
W_BITS = 16  # weights and activations are multiples of 2**-16
G_BITS = 18  # gradients are multiples of 2**-18

# name, input channels, output channels, kernel, stride, padding, ReLU
LAYERS = [
    ("conv1", 1, 16, 3, 1, 1, True),
    ("conv2", 16, 32, 3, 2, 1, True),
    ("conv3", 32, 64, 3, 2, 1, True),
    ("conv4", 64, 10, 2, 1, 0, False),
]
TAG_FP32 = 0
TAG_INT8 = 0x000D4B38


# ---- data ----

def load_split():
    """The bundled digits in one fixed random order: training images, labels, held-out images, labels (pixels 0..16)."""
    from sklearn.datasets import load_digits
    data = load_digits()
    order = np.random.RandomState(SEED).permutation(len(data.target))
    pixels = data.data[order].astype(np.int64)
    labels = data.target[order].astype(np.int64)
    return pixels[:N_TRAIN], labels[:N_TRAIN], pixels[N_TRAIN:], labels[N_TRAIN:]


def write_images(pixels, labels):
    """UCI's own text form: 64 pixels and the class, separated by commas, one image a line."""
    return "".join(",".join(str(v) for v in row) + "," + str(label) + "\n"
                   for row, label in zip(pixels, labels)).encode()


def read_images(path):
    rows = np.loadtxt(path, delimiter=",", dtype=np.int64)
    return rows[:, :64], rows[:, 64]


# ---- training, exact in binary64 ----

def grid(x, bits):
    return np.rint(x * float(1 << bits)) / float(1 << bits)


def im2col(x, k, s, p):
    """[b][h][w][c] -> [b*oh*ow][k*k*c] and the output size."""
    x = np.pad(x, ((0, 0), (p, p), (p, p), (0, 0)))
    oh = (x.shape[1] - k) // s + 1
    ow = (x.shape[2] - k) // s + 1
    cols = [x[:, ky:ky + s * oh:s, kx:kx + s * ow:s, :] for ky in range(k) for kx in range(k)]
    cols = np.stack(cols, axis=3)
    return np.ascontiguousarray(cols.reshape(x.shape[0] * oh * ow, -1)), oh, ow


def col2im(dcols, shape, k, s, p, oh, ow):
    b, h, w, c = shape
    out = np.zeros((b, h + 2 * p, w + 2 * p, c))
    dcols = dcols.reshape(b, oh, ow, k * k, c)
    for ky in range(k):
        for kx in range(k):
            out[:, ky:ky + s * oh:s, kx:kx + s * ow:s, :] += dcols[:, :, :, ky * k + kx, :]
    return out[:, p:p + h, p:p + w, :]


def exact_exp(x):
    """exp(x) for x <= 0 up to a relative error of about x*x/2**21: only squarings, so the same bits everywhere."""
    y = np.maximum(1.0 + np.maximum(x, -30.0) / 1048576.0, 0.0)
    for _ in range(20):
        y = y * y
    return grid(y, 40)


def max_pool(x):
    """2 x 2, stride 2: the output, and for each of its elements which of the four inputs it is."""
    b, h, w, c = x.shape
    four = x.reshape(b, h // 2, 2, w // 2, 2, c).transpose(0, 1, 3, 5, 2, 4).reshape(b, h // 2, w // 2, c, 4)
    return four.max(axis=4), four.argmax(axis=4)


def max_unpool(dz, place):
    """The gradient of max_pool(): each goes to the element that was the largest."""
    b, h, w, c = dz.shape
    four = np.where(place[..., None] == np.arange(4), dz[..., None], 0.0)
    return four.reshape(b, h, w, c, 2, 2).transpose(0, 1, 4, 2, 5, 3).reshape(b, 2 * h, 2 * w, c)


class Net:
    """`layers` as LAYERS; behind those named in `pooled` a max_pool()."""
    def __init__(self, layers=None, pooled=()):
        rng = np.random.RandomState(SEED + 1)
        self.layers, self.pooled = layers or LAYERS, pooled
        self.params = []
        for _, ic, oc, k, _, _, _ in self.layers:
            limit = np.sqrt(6.0 / (k * k * ic))
            self.params.append((rng.random_sample((k * k * ic, oc)) * 2.0 - 1.0) * limit)
            self.params.append(np.zeros(oc))
        self.m = [np.zeros_like(p) for p in self.params]
        self.v = [np.zeros_like(p) for p in self.params]
        self.c1 = 1.0
        self.c2 = 1.0

    def rounded(self):
        return [grid(p, W_BITS) for p in self.params]

    def gradients(self, x, y):
        ps = self.rounded()
        saved = []
        for i, (name, _, oc, k, s, p, relu) in enumerate(self.layers):
            cols, oh, ow = im2col(x, k, s, p)
            z = grid(cols @ ps[2 * i] + ps[2 * i + 1], W_BITS)
            out = np.maximum(z, 0.0) if relu else z
            saved.append([cols, x.shape, oh, ow, z > 0.0, None])
            x = out.reshape(x.shape[0], oh, ow, oc)
            if name in self.pooled:
                x, saved[-1][5] = max_pool(x)
        logits = x.reshape(x.shape[0], 10)
        e = exact_exp(logits - logits.max(axis=1, keepdims=True))
        prob = e / e.sum(axis=1, keepdims=True)
        prob[np.arange(len(y)), y] -= 1.0
        dz = grid(prob, G_BITS)
        grads = [None] * len(ps)
        for i in reversed(range(len(self.layers))):
            _, _, _, k, s, p, relu = self.layers[i]
            cols, shape, oh, ow, alive, place = saved[i]
            if place is not None:
                dz = max_unpool(dz.reshape(place.shape), place).reshape(-1, place.shape[3])
            if relu:
                dz = dz * alive
            grads[2 * i] = cols.T @ dz / len(y)
            grads[2 * i + 1] = dz.sum(axis=0) / len(y)
            if i > 0:
                dx = col2im(dz @ ps[2 * i].T, shape, k, s, p, oh, ow)
                dz = grid(dx, G_BITS).reshape(-1, shape[3])
        return grads

    def step(self, grads, rate, decay):
        self.c1 *= 0.9
        self.c2 *= 0.999
        for p, g, m, v in zip(self.params, grads, self.m, self.v):
            m *= 0.9
            m += 0.1 * g
            v *= 0.999
            v += 0.001 * (g * g)
            p -= rate * ((m / (1.0 - self.c1)) / (np.sqrt(v / (1.0 - self.c2)) + 1e-8) +
                         (decay * p if p.ndim == 2 else 0.0))


def fit(net, images, labels, epochs, first_rate):
    """`epochs` times over the images [b][h][w][c] in random order, the learning rate falling to 0."""
    rng = np.random.RandomState(SEED + 2)
    for epoch in range(epochs):
        order = rng.permutation(len(images))
        for start in range(0, len(order), BATCH):
            pick = order[start:start + BATCH]
            net.step(net.gradients(images[pick], labels[pick]), first_rate * (1.0 - epoch / epochs), 0.01)


def weights_of(net):
    """FP32 weights [oc][ic][kh][kw] and biases, a pair for each layer."""
    out = []
    for (_, ic, oc, k, _, _, _), w, b in zip(net.layers, net.rounded()[0::2], net.rounded()[1::2]):
        out.append((np.ascontiguousarray(w.reshape(k, k, ic, oc).transpose(3, 2, 0, 1)).astype(np.float32),
                    b.astype(np.float32)))
    return out


def train(pixels, labels):
    net = Net()
    fit(net, (pixels / 16.0).reshape(-1, 8, 8, 1), labels, EPOCHS, 0.003)
    return weights_of(net)


# ---- inference as network/ does it, operation for operation in binary32 ----

def conv_fp32(x, w, b, s, p):
    """x [n][c][h][w]. Bias first, then one product after the other in the order input channel, kernel row, kernel
    column."""
    n, ic, h, wd = x.shape
    oc, _, kh, kw = w.shape
    xp = np.pad(x, ((0, 0), (0, 0), (p, p), (p, p)))
    oh, ow = (h + 2 * p - kh) // s + 1, (wd + 2 * p - kw) // s + 1
    acc = np.broadcast_to(b[None, :, None, None], (n, oc, oh, ow)).astype(np.float32)
    for c in range(ic):
        for ky in range(kh):
            for kx in range(kw):
                tap = xp[:, c, ky:ky + s * oh:s, kx:kx + s * ow:s]
                acc += tap[:, None] * w[None, :, c, ky, kx, None, None]
    return acc


def quantise(x, scale):
    """round half away from zero, clamp to -127..127; the product is one binary32 multiplication."""
    v = (x * scale).astype(np.float32).astype(np.float64)
    return np.clip(np.sign(v) * np.floor(np.abs(v) + 0.5), -127, 127).astype(np.int64)


def conv_int8(x, q, b, wscale, bscale, s, p):
    n, ic, h, wd = x.shape
    oc, _, kh, kw = q.shape
    xq = np.pad(quantise(x, bscale), ((0, 0), (0, 0), (p, p), (p, p)))
    oh, ow = (h + 2 * p - kh) // s + 1, (wd + 2 * p - kw) // s + 1
    acc = np.zeros((n, oc, oh, ow), dtype=np.int64)
    for ky in range(kh):
        for kx in range(kw):
            acc += np.einsum("nchw,oc->nohw", xq[:, :, ky:ky + s * oh:s, kx:kx + s * ow:s],
                             q[:, :, ky, kx].astype(np.int64))
    oscale = np.float32(1.0) / (bscale * wscale)
    return acc.astype(np.float32) * oscale[None, :, None, None] + b[None, :, None, None]


def to_input(pixels):
    return (pixels.astype(np.float32) / np.float32(16.0)).reshape(-1, 1, 8, 8)


def run_fp32(model, pixels):
    """All layer inputs and the logits."""
    blobs = [to_input(pixels)]
    for (_, _, _, _, s, p, relu), (w, b) in zip(LAYERS, model):
        y = conv_fp32(blobs[-1], w, b, s, p)
        blobs.append(np.maximum(y, np.float32(0)) if relu else y)
    return blobs


def run_int8(model, pixels):
    blobs = [to_input(pixels)]
    for (_, _, _, _, s, p, relu), (q, b, wscale, bscale) in zip(LAYERS, model):
        y = conv_int8(blobs[-1], q, b, wscale, bscale, s, p)
        blobs.append(np.where(y > 0, y, np.float32(0)) if relu else y)
    return blobs


def accuracy(blobs, labels):
    return float(np.mean(np.argmax(blobs[-1].reshape(len(labels), 10), axis=1) == labels)) * 100.0


def quantise_model(model, calib):
    """Weights: 127/absmax of each output channel. Activations: 127/absmax over the calibration images."""
    blobs = run_fp32(model, calib)
    out = []
    for (w, b), x in zip(model, blobs):
        absmax = np.abs(w).reshape(len(w), -1).max(axis=1)
        wscale = np.where(absmax > 0, np.float32(127) / np.where(absmax > 0, absmax, np.float32(1)),
                          np.float32(0)).astype(np.float32)
        bscale = np.float32(127) / np.float32(np.abs(x).max())
        out.append((quantise(w, wscale[:, None, None, None]), b, wscale, bscale))
    return out


# ---- ncnn files ----

def param_fp32():
    """As a converter writes it: ReLU is a layer of its own."""
    body, blob = [], "data"
    body.append("Input            data       0 1 data 0=8 1=8 2=1")
    for name, ic, oc, k, s, p, relu in LAYERS:
        size = oc * ic * k * k
        pad = " 4=%d" % p if p else ""
        body.append("Convolution      %-10s 1 1 %s %s 0=%d 1=%d 3=%d%s 5=1 6=%d" %
                    (name, blob, name, oc, k, s, pad, size))
        blob = name
        if relu:
            relu_name = name.replace("conv", "relu")
            body.append("ReLU             %-10s 1 1 %s %s" % (relu_name, blob, relu_name))
            blob = relu_name
    body.append("Softmax          prob       1 1 %s prob 0=0 1=1" % blob)
    return ("7767517\n%d %d\n" % (len(body), len(body)) + "\n".join(body) + "\n").encode()


def param_int8():
    """As ncnnoptimize and ncnn2int8 leave it: ReLU fused (9=1), key 30 holds the shapes, int8_scale_term is 2."""
    body, blob, size = [], "data", 8
    body.append("Input                    data                     0 1 data -23330=4,3,8,8,1 0=8 1=8 2=1")
    for name, ic, oc, k, s, p, relu in LAYERS:
        size = (size + 2 * p - k) // s + 1
        out = name + "_" + name.replace("conv", "relu") if relu else name
        text = ("Convolution              %-24s 1 1 %s %s -23330=4,3,%d,%d,%d 0=%d 1=%d" %
                (name, blob, out, size, size, oc, oc, k))
        text += (" 3=%d" % s if s != 1 else "") + (" 4=%d" % p if p else "")
        text += " 5=1 6=%d 8=2" % (oc * ic * k * k) + (" 9=1" if relu else "")
        body.append(text)
        blob = out
    body.append("Softmax                  prob                     1 1 %s prob -23330=4,3,1,1,10 1=1" % blob)
    return ("7767517\n%d %d\n" % (len(body), len(body)) + "\n".join(body) + "\n").encode()


def bin_fp32(model):
    return b"".join(struct.pack("<I", TAG_FP32) + w.astype("<f4").tobytes() + b.astype("<f4").tobytes()
                    for w, b in model)


def bin_int8(model):
    out = b""
    for q, b, wscale, bscale in model:
        data = q.astype(np.int8).tobytes()
        out += struct.pack("<I", TAG_INT8) + data + bytes(-len(data) % 4)
        out += b.astype("<f4").tobytes() + wscale.astype("<f4").tobytes() + struct.pack("<f", bscale)
    return out


def take(data, pos, count, dtype):
    size = count * np.dtype(dtype).itemsize
    if pos + size > len(data):
        raise ValueError("file too short at byte %d" % pos)
    return np.frombuffer(data, dtype, count, pos), pos + size


def read_fp32(path):
    data, pos, model = open(path, "rb").read(), 0, []
    for _, ic, oc, k, _, _, _ in LAYERS:
        tag, pos = take(data, pos, 1, "<u4")
        if tag[0] != TAG_FP32:
            raise ValueError("unexpected weight tag")
        w, pos = take(data, pos, oc * ic * k * k, "<f4")
        b, pos = take(data, pos, oc, "<f4")
        model.append((w.reshape(oc, ic, k, k), b))
    if pos != len(data):
        raise ValueError("bytes left over")
    return model


def read_int8(path):
    data, pos, model = open(path, "rb").read(), 0, []
    for _, ic, oc, k, _, _, _ in LAYERS:
        tag, pos = take(data, pos, 1, "<u4")
        if tag[0] != TAG_INT8:
            raise ValueError("unexpected weight tag")
        count = oc * ic * k * k
        q, pos = take(data, pos, count, "i1")
        pos += -count % 4
        b, pos = take(data, pos, oc, "<f4")
        wscale, pos = take(data, pos, oc, "<f4")
        bscale, pos = take(data, pos, 1, "<f4")
        model.append((q.reshape(oc, ic, k, k).astype(np.int64), b, wscale, bscale[0]))
    if pos != len(data):
        raise ValueError("bytes left over")
    return model


# ---- main ----

def build():
    """Every file of this folder that is not written by hand: name -> bytes."""
    train_x, train_y, test_x, test_y = load_split()
    model = train(train_x, train_y)
    quantised = quantise_model(model, train_x[:N_CALIB])
    return {
        "digits.param": param_fp32(),
        "digits.bin": bin_fp32(model),
        "digits-int8.param": param_int8(),
        "digits-int8.bin": bin_int8(quantised),
        "heldout.csv": write_images(test_x, test_y),
        "calibration.csv": write_images(train_x[:N_CALIB], train_y[:N_CALIB]),
    }


def evaluate():
    pixels, labels = read_images(os.path.join(HERE, "heldout.csv"))
    fp32 = accuracy(run_fp32(read_fp32(os.path.join(HERE, "digits.bin")), pixels), labels)
    int8 = accuracy(run_int8(read_int8(os.path.join(HERE, "digits-int8.bin")), pixels), labels)
    print("images %d" % len(labels))
    print("fp32 accuracy %.2f %%" % fp32)
    print("int8 accuracy %.2f %%" % int8)


def write(files, folder=HERE):
    for name, data in files.items():
        path = os.path.join(folder, name)
        with open(path + ".tmp", "wb") as out:
            out.write(data)
        os.replace(path + ".tmp", path)
        print("wrote %s (%d bytes)" % (name, len(data)))


def check(files, folder=HERE):
    bad = 0
    for name, data in files.items():
        with open(os.path.join(folder, name), "rb") as old:
            same = old.read() == data
        print("%-18s %s" % (name, "identical" if same else "DIFFERENT"))
        bad += not same
    return 1 if bad else 0


def main():
    ap = argparse.ArgumentParser(description="Train the digits network.")
    mode = ap.add_mutually_exclusive_group()
    mode.add_argument("--check", action="store_true", help="train again and compare with the files here")
    mode.add_argument("--eval", action="store_true", help="accuracy of the files here")
    args = ap.parse_args()
    if args.eval:
        evaluate()
        return 0
    files = build()
    if args.check:
        return check(files)
    write(files)
    evaluate()
    return 0


if __name__ == "__main__":
    sys.exit(main())
