#!/usr/bin/python3
"""Train the shapes detector and write the files of this folder; see README.md.

    train_detector.py                     train and write detector.param, detector.bin and the pictures (minutes on one
                                          core)
    train_detector.py --check             train again and compare: exit 1 if any committed byte differs
    train_detector.py --pictures DIR --count K [--seed S]   only make pictures with labels: DIR/000.png ... and
                                                            DIR/labels.txt

Needs NumPy. The pictures are drawn in integers from a seed. The training is reproducible bit for bit: as for the digits
network, whose functions it uses, everything is rounded to grids on which matrix products are exact in binary64.
"""
import argparse
import math
import os
import struct
import sys
import zlib

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "digits"))
import train as digits  # noqa: E402

SIZE = 96
NAMES = ("disc", "square", "triangle", "cross")
SEED = 20261122
SHIPPED = 8  # pictures in this folder
SHIPPED_SEED = 7
TRAIN_PICTURES = 3000
EPOCHS = 26
BATCH = 8
ANCHORS = (16, 32)  # side of the one anchor box of each head
LIMIT = 23  # larger boxes belong to the second head
G_BITS, W_BITS = digits.G_BITS, digits.W_BITS

# name, input channels, output channels, kernel, stride, padding, ReLU; head1 reads the output of conv4, head2 that of
# conv5
LAYERS = [
    ("conv1", 1, 8, 3, 2, 1, True),
    ("conv2", 8, 16, 3, 2, 1, True),
    ("conv3", 16, 24, 3, 2, 1, True),
    ("conv4", 24, 32, 3, 1, 1, True),
    ("head1", 32, 5 + len(NAMES), 1, 1, 0, False),
    ("conv5", 32, 40, 3, 2, 1, True),
    ("head2", 40, 5 + len(NAMES), 1, 1, 0, False),
]
SOURCE = {"head1": "conv4", "conv5": "conv4", "head2": "conv5"}


# ---- pictures: integers only ----

def inside(kind, turn, w, h):
    """Coverage 0..4 of the pixels of a w x h box by the shape: four samples a pixel, at odd quarters."""
    y = 2 * np.arange(2 * h)[:, None] + 1 - 2 * h  # -2h..2h
    x = 2 * np.arange(2 * w)[None, :] + 1 - 2 * w
    if kind == 0:
        hit = (x * h) ** 2 + (y * w) ** 2 <= (2 * w * h) ** 2
    elif kind == 1:
        hit = np.ones((2 * h, 2 * w), bool)
    elif kind == 2:
        if turn >= 2:
            hit = 2 * np.abs(y) * w <= (x + 2 * w) * h
            hit = hit if turn == 2 else hit[:, ::-1]
        else:
            hit = 2 * np.abs(x) * h <= (y + 2 * h) * w
            hit = hit if turn == 0 else hit[::-1]
    else:
        hit = (3 * np.abs(x) <= 2 * w) | (3 * np.abs(y) <= 2 * h)
    return hit.reshape(h, 2, w, 2).sum(axis=(1, 3))


def clutter(rng, image):
    """Lines and dots that are no shapes."""
    for _ in range(rng.randint(2, 6)):
        x, y, dx, dy = rng.randint(0, SIZE), rng.randint(0, SIZE), rng.randint(-16, 17), rng.randint(-16, 17)
        value, steps = rng.randint(20, 236), rng.randint(8, 48)
        t = np.arange(steps)
        px, py = x + dx * t // 16, y + dy * t // 16
        ok = (px >= 0) & (px < SIZE) & (py >= 0) & (py < SIZE)
        image[py[ok], px[ok]] = value
    for _ in range(rng.randint(4, 12)):
        x, y, side = rng.randint(0, SIZE - 4), rng.randint(0, SIZE - 4), rng.randint(1, 5)
        image[y:y + side, x:x + side] = rng.randint(20, 236)


def picture(rng):
    """A picture (uint8 [SIZE][SIZE]) and its boxes: rows of class, x, y, w, h in pixels."""
    base, slope_x, slope_y = rng.randint(50, 206), rng.randint(-40, 41), rng.randint(-40, 41)
    grid = np.arange(SIZE)
    image = base + slope_x * (grid[None, :] - SIZE // 2) // SIZE + slope_y * (grid[:, None] - SIZE // 2) // SIZE
    clutter(rng, image)
    boxes = []
    for _ in range(rng.randint(1, 5)):
        for _ in range(20):
            side = rng.randint(12, 41)
            w, h = max(12, side * rng.randint(13, 17) // 16), max(12, side * rng.randint(13, 17) // 16)
            x, y = rng.randint(0, SIZE - w), rng.randint(0, SIZE - h)
            if all(x + w < bx or bx + bw < x or y + h < by or by + bh < y for _, bx, by, bw, bh in boxes):
                break
        else:
            continue
        kind, turn = rng.randint(0, len(NAMES)), rng.randint(0, 4)
        contrast = rng.randint(35, 110) * (1 if base < 128 else -1)
        cover = inside(kind, turn, w, h)
        part = image[y:y + h, x:x + w]
        part += (np.clip(base + contrast, 10, 245) - part) * cover // 4
        boxes.append((kind, x, y, w, h))
    image = image + rng.randint(-12, 13, size=(SIZE, SIZE))
    return np.clip(image, 0, 255).astype(np.uint8), np.array(boxes, dtype=np.int64).reshape(-1, 5)


def pictures(count, seed):
    rng = np.random.RandomState(seed)
    made = [picture(rng) for _ in range(count)]
    return np.stack([m[0] for m in made]), [m[1] for m in made]


def png(image):
    """An 8 bit gray PNG, not compressed (one stored block): the same bytes with every zlib."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    rows = b"".join(b"\0" + row.tobytes() for row in image)
    stored = (b"\x78\x01\x01" + struct.pack("<HH", len(rows), len(rows) ^ 0xFFFF) +
              rows + struct.pack(">I", zlib.adler32(rows)))
    header = struct.pack(">IIBBBBB", image.shape[1], image.shape[0], 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", stored) + chunk(b"IEND", b"")


def labels_text(names, boxes):
    """A line for each box: file, class (from 1, as the network's), x y w h in pixels, name of the class."""
    return "".join("%s %d %d %d %d %d %s\n" % (name, b[0] + 1, *b[1:], NAMES[b[0]])
                   for name, rows in zip(names, boxes) for b in rows).encode()


def picture_files(count, seed):
    images, boxes = pictures(count, seed)
    names = ["%03d.png" % i for i in range(count)]
    files = {name: png(image) for name, image in zip(names, images)}
    files["labels.txt"] = labels_text(names, boxes)
    return files


# ---- training ----

def turned(images, boxes, how):
    """One of the eight symmetries of the square, 8..15: inverted, too."""
    if how & 8:
        images = 255 - images
    boxes = boxes.copy()
    if how & 1:
        images = images[:, ::-1]
        boxes[:, 1] = SIZE - boxes[:, 1] - boxes[:, 3]
    if how & 2:
        images = images[::-1]
        boxes[:, 2] = SIZE - boxes[:, 2] - boxes[:, 4]
    if how & 4:
        images = images.T
        boxes = boxes[:, [0, 2, 1, 4, 3]]
    return images, boxes


def targets(boxes):
    """What each head is to say: [cells][cells][5 + classes], objects in channel 4."""
    out = []
    for head, anchor in enumerate(ANCHORS):
        cells = SIZE // 8 >> head
        cell = SIZE // cells
        t = np.zeros((cells, cells, 5 + len(NAMES)))
        for kind, x, y, w, h in boxes:
            if (w * h > LIMIT * LIMIT) != (head == 1):
                continue
            cx, cy = (2 * x + w) / (2.0 * cell), (2 * y + h) / (2.0 * cell)
            row = t[int(cy), int(cx)]
            row[:] = 0.0
            row[0:2] = cx - int(cx), cy - int(cy)
            row[2:4] = [round(math.log(v / anchor) * 4096) / 4096 for v in (w, h)]
            row[4] = row[5 + kind] = 1.0
        out.append(t)
    return out


def sigmoid(x):
    e = digits.exact_exp(-np.abs(x))
    return np.where(x >= 0, 1.0, e) / (1.0 + e)


def head_gradient(z, t):
    """Derivative of the loss by the head's output: cross entropy everywhere, squared error for the logarithms of width
    and height."""
    p = sigmoid(z)
    there = t[..., 4:5]
    d = (p - t) * there
    d[..., 0:2] *= 2.0
    d[..., 2:4] = 2.0 * (z[..., 2:4] - t[..., 2:4]) * there
    d[..., 4] = (p[..., 4] - t[..., 4]) * np.where(t[..., 4] > 0, 2.0, 1.0)
    return digits.grid(d, G_BITS)


class Net:
    def __init__(self):
        rng = np.random.RandomState(SEED + 1)
        self.params = []
        for name, ic, oc, k, _, _, _ in LAYERS:
            limit = np.sqrt((6.0 if name[0] == "c" else 1.0) / (k * k * ic))
            self.params.append((rng.random_sample((k * k * ic, oc)) * 2.0 - 1.0) * limit)
            self.params.append(np.zeros(oc))
            if name[0] == "h":
                self.params[-1][4] = -4.0  # hardly any cell has an object
        self.m = [np.zeros_like(p) for p in self.params]
        self.v = [np.zeros_like(p) for p in self.params]
        self.c1 = self.c2 = 1.0

    step = digits.Net.step
    rounded = digits.Net.rounded

    def forward(self, x, ps, saved=None):
        """Outputs of the layers by name."""
        blobs, last = {}, x
        for i, (name, _, oc, k, s, p, relu) in enumerate(LAYERS):
            last = blobs[SOURCE[name]] if name in SOURCE else last
            cols, oh, ow = digits.im2col(last, k, s, p)
            z = digits.grid(cols @ ps[2 * i] + ps[2 * i + 1], W_BITS)
            if saved is not None:
                saved.append((cols, last.shape, oh, ow, z > 0.0))
            last = blobs[name] = (np.maximum(z, 0.0) if relu else z).reshape(len(x), oh, ow, oc)
        return blobs

    def gradients(self, x, wanted):
        ps, saved = self.rounded(), []
        blobs = self.forward(x, ps, saved)
        grads = [None] * len(ps)
        d = {"head1": head_gradient(blobs["head1"], wanted[0]), "head2": head_gradient(blobs["head2"], wanted[1])}
        for i in reversed(range(len(LAYERS))):
            name, _, oc, k, s, p, relu = LAYERS[i]
            cols, shape, oh, ow, alive = saved[i]
            dz = d[name].reshape(-1, oc)
            dz = dz * alive if relu else dz
            grads[2 * i] = cols.T @ dz / len(x)
            grads[2 * i + 1] = dz.sum(axis=0) / len(x)
            if i > 0:
                source = SOURCE.get(name, LAYERS[i - 1][0])
                d[source] = d.get(source, 0.0) + digits.grid(
                    digits.col2im(dz @ ps[2 * i].T, shape, k, s, p, oh, ow), G_BITS)
        loss = sum(float(np.abs(d[h]).sum()) for h in ("head1", "head2")) / len(x)
        return grads, loss


def train(log=None):
    """FP32 weights [oc][ic][kh][kw] and biases, a pair for each layer."""
    images, boxes = pictures(TRAIN_PICTURES, SEED)
    net, rng = Net(), np.random.RandomState(SEED + 2)
    steps, total = 0, EPOCHS * (TRAIN_PICTURES // BATCH)
    for epoch in range(EPOCHS):
        order, losses = rng.permutation(TRAIN_PICTURES), []
        for start in range(0, TRAIN_PICTURES - BATCH + 1, BATCH):
            made = [turned(images[i], boxes[i], rng.randint(0, 16)) for i in order[start:start + BATCH]]
            x = (np.stack([m[0] for m in made]).astype(np.float64)[..., None] - 128.0) / 128.0
            want = [np.stack(t) for t in zip(*(targets(m[1]) for m in made))]
            grads, loss = net.gradients(x, want)
            net.step(grads, 0.003 * (1.0 - steps / total) + 0.00005, 0.0005)
            steps += 1
            losses.append(loss)
        if log:
            print("epoch %d: %.3f" % (epoch + 1, sum(losses) / len(losses)), file=log, flush=True)
    out = []
    for (_, ic, oc, k, _, _, _), w, b in zip(LAYERS, net.rounded()[0::2], net.rounded()[1::2]):
        out.append((np.ascontiguousarray(w.reshape(k, k, ic, oc).transpose(3, 2, 0, 1)).astype(np.float32),
                    b.astype(np.float32)))
    return out


# ---- ncnn files ----

def param():
    body = ["Input                    data         0 1 data 0=%d 1=%d 2=1" % (SIZE, SIZE)]
    blob, blobs = "data", 1
    for name, ic, oc, k, s, p, relu in LAYERS:
        source = {"head1": "relu4_a", "conv5": "relu4_b", "head2": "relu5"}.get(name, blob)
        pad = " 4=%d" % p if p else ""
        body.append("Convolution              %-12s 1 1 %s %s 0=%d 1=%d 3=%d%s 5=1 6=%d" %
                    (name, source, name, oc, k, s, pad, oc * ic * k * k))
        blob, blobs = name, blobs + 1
        if relu:
            blob = name.replace("conv", "relu")
            body.append("ReLU                     %-12s 1 1 %s %s" % (blob, name, blob))
            blobs += 1
        if name == "conv4":
            body.append("Split                    split4       1 2 relu4 relu4_a relu4_b")
            blobs += 2
    # classes, boxes of a cell, score and overlap to keep, anchors, their numbers for each head, pixels of a cell
    body.append("Yolov3DetectionOutput    boxes        2 1 head1 head2 boxes 0=%d 1=1 2=0.400000 3=0.450000 "
                "-23304=4,%d.0,%d.0,%d.0,%d.0 -23305=2,0.0,1.0 -23306=2,8.0,16.0" % (
                    len(NAMES), ANCHORS[0], ANCHORS[0], ANCHORS[1], ANCHORS[1]))
    return ("7767517\n%d %d\n" % (len(body), blobs + 1) + "\n".join(body) + "\n").encode()


def write(folder, files):
    os.makedirs(folder, exist_ok=True)
    for name, data in files.items():
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path + ".tmp", "wb") as out:
            out.write(data)
        os.replace(path + ".tmp", path)


def check(files):
    bad = 0
    for name, data in files.items():
        with open(os.path.join(HERE, name), "rb") as old:
            same = old.read() == data
        print("%-22s %s" % (name, "identical" if same else "DIFFERENT"))
        bad += not same
    return 1 if bad else 0


def shipped():
    """What does not need training."""
    files = {"detector.param": param(), "names.txt": "".join(n + "\n" for n in NAMES).encode()}
    files.update({"pictures/" + name: data for name, data in picture_files(SHIPPED, SHIPPED_SEED).items()})
    return files


def main():
    ap = argparse.ArgumentParser(description="Train the shapes detector, or make pictures for it.")
    ap.add_argument("--check", action="store_true", help="train again and compare with the files here")
    ap.add_argument("--pictures", metavar="DIR", help="only write pictures and labels.txt into DIR")
    ap.add_argument("--count", type=int, default=100, metavar="K", help="how many (default 100)")
    ap.add_argument("--seed", type=int, default=1, metavar="S",
                    help="their seed (default 1); %d and %d are those of training and of pictures/" %
                    (SEED, SHIPPED_SEED))
    args = ap.parse_args()
    if args.count < 1 or not 0 <= args.seed < 1 << 32:
        ap.error("--count must be at least 1, --seed 0..2^32-1")
    if args.pictures:
        write(args.pictures, picture_files(args.count, args.seed))
        return 0
    files = shipped()
    files["detector.bin"] = digits.bin_fp32(train(sys.stderr))
    if args.check:
        return check(files)
    write(HERE, files)
    print("wrote %d files, %d bytes" % (len(files), sum(map(len, files.values()))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
