#!/usr/bin/python3
"""Layers in FP32 against the current ncnn (its package on PyPI): random settings and inputs, a table of what agrees.

    pip download --only-binary=:all: -d W ncnn; for w in W/*.whl; do unzip -qo $w -d SITE; done
    python3 tools/ncnn_layers.py SITE      # SITE: a folder outside of the project, for this interpreter's version
    python3 tools/ncnn_layers.py SITE --half      # the same with weights in FP16
    python3 tools/ncnn_layers.py SITE --speed DATA/squeezenet    # CPU time of SqueezeNet v1.1 beside ncnn's, one thread

Nothing else of the project needs the package; without it the program says that it did not run (exit status 3). Exit
status 1 when a layer differs by more than rounding or finds other boxes."""

import argparse
import math
import os
import re
import subprocess
import sys
import tempfile
import time

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__))))
from ncnn_cases import F32, INT8_NEAR, MXNET, NEAR, SHAPES, Case, draw, maybe, normal  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


# ---- detections ----

def yolo(rng, third):
    classes, boxes, inputs = draw(rng, 1, 20), draw(rng, 1, 4), draw(rng, 1, 3) if third else 1
    anchors = (rng.random(2 * boxes * inputs) * (60 if third else 3) + 1).astype(F32).tolist()
    blobs = []
    for _ in range(inputs):
        x = normal(rng, boxes * (5 + classes), draw(rng, 1, 9), draw(rng, 1, 9), scale=1.5)
        blobs.append(x)
    s = {0: classes, 1: boxes, 2: float(rng.choice([0.05, 0.25, 0.5])), 3: float(rng.choice([0.2, 0.45, 0.7])),
         4: anchors}
    if third:
        s[5] = [float(v) for v in rng.permutation(boxes * inputs)]
        s[6] = (rng.choice([8, 16, 32, 17.3], inputs)).astype(F32).tolist()
    return Case(blobs, s, boxes=True)


def priors(rng, count):
    middle, size = rng.random((count, 2)), rng.random((count, 2)) * 0.4 + 0.05
    return np.concatenate([middle - size / 2, middle + size / 2], axis=1).astype(F32)


def ssd(rng):
    """Scores are a softmax's, so that no box has both a large background and a large class."""
    classes, count, mxnet = draw(rng, 2, 12), draw(rng, 1, 150), rng.random() < 0.5
    z = np.exp(normal(rng, count, classes, scale=2.0))
    score = (z / z.sum(axis=1, keepdims=True)).astype(F32)
    offset, boxes = normal(rng, 4 * count, scale=0.7), priors(rng, count)
    s = {0: MXNET if mxnet else classes, 1: float(rng.choice([0.3, 0.45, 0.6])), 2: draw(rng, 1, 60),
         3: draw(rng, 1, 60), 4: float(rng.choice([0.05, 0.2, 0.6]))}
    if mxnet:
        for key in range(5, 9):
            maybe(rng, s, key, float(F32(rng.random() * 0.3)))
        return Case([offset, score.T, boxes], s, boxes=True)
    variance = (rng.random(4 * count) * 0.3).astype(F32)
    return Case([offset, score.reshape(-1), np.stack([boxes.reshape(-1), variance])], s, boxes=True)


def prior_box(rng):
    x = np.zeros((draw(rng, 1, 5), draw(rng, 1, 12), draw(rng, 1, 12)), F32)
    some = lambda n, low, high: (rng.random(n) * (high - low) + low).astype(F32).tolist()  # noqa: E731
    if rng.random() < 0.4:
        s = {0: some(draw(rng, 1, 3), 0.1, 0.9), 2: some(draw(rng, 1, 3), 0.3, 3), 9: MXNET, 10: MXNET}
        maybe(rng, s, 11, float(F32(rng.random())))
        inputs = [x]
    else:
        count = draw(rng, 1, 3)
        s = {0: some(count, 10, 60), 2: some(draw(rng, 0, 3), 0.3, 3)}
        maybe(rng, s, 1, some(count, 60, 120))
        for key in (3, 4, 5, 6):
            maybe(rng, s, key, float(F32(rng.random())))
        for key in (7, 14, 15):
            maybe(rng, s, key, draw(rng, 0, 1))
        inputs = [x]
        if rng.random() < 0.5:
            s.update({9: draw(rng, 50, 300), 10: draw(rng, 50, 300)})
        else:
            s.update({9: MXNET, 10: MXNET})
            inputs.append(np.zeros((3, draw(rng, 50, 300), draw(rng, 50, 300)), F32))
        if rng.random() < 0.3:
            s.update({11: float(F32(rng.random() * 30 + 1)), 12: float(F32(rng.random() * 30 + 1))})
    maybe(rng, s, 8, draw(rng, 0, 1))
    maybe(rng, s, 13, float(rng.choice([0.0, 0.5, 0.3])))
    return Case(inputs, {k: v for k, v in s.items() if v != []})


def proposal(rng):
    h, w = draw(rng, 1, 8), draw(rng, 1, 8)
    s = {2: draw(rng, 10, 400), 3: draw(rng, 1, 60)}
    maybe(rng, s, 0, draw(rng, 8, 20))
    maybe(rng, s, 1, draw(rng, 8, 20))
    maybe(rng, s, 4, float(rng.choice([0.3, 0.5, 0.7])))
    s[5] = draw(rng, 4, 40)  # boxes without an area are 0 / 0 of the union, which fast-math builds do not treat as NaN
    image = np.array([16 * h + draw(rng, 0, 30), 16 * w + draw(rng, 0, 30), rng.choice([0.5, 1.0, 1.7])], F32)
    return Case([rng.random((18, h, w)), normal(rng, 36, h, w, scale=0.4), image], s, outputs=2, boxes=True)


def region(rng, x, scale):
    """A region within the map, in units of the image."""
    (y0, y1), (x0, x1) = (np.sort(rng.random(2)) * (n - 1.01) / scale for n in x.shape[1:])
    return np.array([x0, y0, x1, y1], F32)


def ends_behind(n, parts):
    """Does the last of the parts of n elements end behind them, with the reciprocal of their number rounded?"""
    return F32(parts) * (F32(n) * (F32(1) / F32(parts))) > n


def roi_pooling(rng):
    """No part ends exactly between two elements: ncnn's builds multiply by a rounded reciprocal of the number of parts,
    and so take one element more or less there, by the compiler and the instruction set; at the end, too."""
    while True:
        x = normal(rng, draw(rng, 1, 6), draw(rng, 2, 20), draw(rng, 2, 20))
        scale = float(rng.choice([1, 0.25, 0.0625]))
        box, parts = region(rng, x, scale), [draw(rng, 1, 7), draw(rng, 1, 7)]
        first, last = (np.round(box[k:k + 2] * F32(scale)).astype(int) for k in (0, 2))
        sizes = list(zip((int(n) for n in last - first + 1), parts))
        if all(math.gcd(n, k) == 1 and not ends_behind(n, k) for n, k in sizes):
            return Case([x, box], {0: parts[0], 1: parts[1], 2: scale})


def psroi_pooling(rng):
    w, h, out, scale = draw(rng, 1, 7), draw(rng, 1, 7), draw(rng, 1, 4), float(rng.choice([1.0, 0.25, 0.0625]))
    x = normal(rng, out * w * h, draw(rng, 2, 20), draw(rng, 2, 20))
    return Case([x, region(rng, x, scale)], {0: w, 1: h, 2: scale, 3: out})


def roi_align(rng):
    x, scale = normal(rng, draw(rng, 1, 6), draw(rng, 2, 20), draw(rng, 2, 20)), float(rng.choice([1.0, 0.25, 0.0625]))
    s = {0: draw(rng, 1, 7), 1: draw(rng, 1, 7), 2: scale, 3: draw(rng, 0, 3)}
    # ROIAlign's first version reads behind the map where a part shorter than an element begins in its last one
    s[5] = draw(rng, 0, 1)
    if s[5] == 1:
        maybe(rng, s, 4, 1)
    return Case([x, region(rng, x, scale) * F32(1.0 if s[5] else 0.6)], s)


# ---- others that networks end in, or that ncnn reads in its own way ----

def softmax(rng):
    shape = [draw(rng, 1, 20) for _ in range(draw(rng, 1, 3))]
    return Case([normal(rng, *shape, scale=3.0)], {0: draw(rng, -len(shape), len(shape) - 1), 1: 1})


def binary(rng):
    """Two blobs; vectors and matrices are broadcast, and of fewer maps or rows the last one repeats."""
    c, h, w = draw(rng, 1, 20), draw(rng, 1, 6), draw(rng, 2, 6)
    pick = lambda n: draw(rng, 1, n)  # noqa: E731
    other = [(pick(c), pick(h), w), (c, h, 1), (1, 1, w), (c, h), (c,), (1,), (c, h, w)][draw(rng, 0, 6)]
    blobs = [normal(rng, c, h, w), normal(rng, *other)]
    return Case(blobs[::1 if rng.random() < 0.5 else -1], {0: int(rng.choice([0, 1, 2, 3, 4, 5, 7, 8]))})


# ---- convolutions ----

def convolution(rng, depthwise=False, turned=False):
    """Any kernel, stride, dilation and padding; groups of several channels, too."""
    groups = draw(rng, 2, 6) if depthwise else 1
    ic, oc = groups * draw(rng, 1, 1 if depthwise and rng.random() < 0.5 else 8), groups * draw(rng, 1, 8)
    kw, kh, dw, dh = draw(rng, 1, 5), draw(rng, 1, 5), draw(rng, 1, 2), draw(rng, 1, 2)
    x = normal(rng, ic, dh * (kh - 1) + draw(rng, 1, 12), dw * (kw - 1) + draw(rng, 1, 12))
    weight = normal(rng, oc // groups * ic * kh * kw, scale=0.3)
    s = {0: oc, 1: kw, 11: kh, 2: dw, 12: dh, 3: draw(rng, 1, 3), 13: draw(rng, 1, 3), 5: draw(rng, 0, 1),
         6: weight.size}
    if not turned:
        s |= {4: draw(rng, 0, 3), 15: draw(rng, 0, 3), 14: draw(rng, 0, 3), 16: draw(rng, 0, 3)}
    if depthwise:
        s[7] = groups
    s[9] = int(rng.choice([0, 0, 1, 2, 3, 4, 5, 6]))
    if s[9] in (2, 3, 6):
        s[10] = {2: [0.1], 3: [-1.0, 1.5], 6: [F32(1 / 6).item(), 0.5]}[s[9]]
    arrays = [(True, weight)] + [(False, normal(rng, oc))] * s[5]
    return Case([x], s, arrays)


def inner_product(rng):
    x = normal(rng, draw(rng, 1, 60))
    weight = normal(rng, draw(rng, 1, 30), x.size, scale=0.3)
    s = {0: len(weight), 1: draw(rng, 0, 1), 2: weight.size, 9: int(rng.choice([0, 1, 4]))}
    return Case([x], s, [(True, weight)] + [(False, normal(rng, len(weight)))] * s[1])


# ---- sizes by expression ----

def blobs(text):
    """ncnn wants as many inputs as an expression names."""
    return 2 if re.search("1[whc]", text) else 1


def reshape_expression(rng):
    """The elements of the first blob in sizes of both."""
    w, h, c = draw(rng, 1, 6), draw(rng, 1, 6), draw(rng, 1, 6)
    text = ["1w,1h,0c", "*(0w,0h),-1", "0w,*(0h,0c)", "//(*(0w,2),2),-1,1c", "1h,1w,-1", "max(0w,1),0h,0c",
            "-1,ceil(/(1h,1))", "+(0w,-(1w,0w)),-1"][draw(rng, 0, 7)]
    return Case([normal(rng, c, h, w), normal(rng, c, h, w)][:blobs(text)], {6: text}, kind="Reshape")


def crop_expression(rng):
    x, other = normal(rng, draw(rng, 3, 6), draw(rng, 3, 9), draw(rng, 3, 9)), normal(rng, 2, draw(rng, 2, 3), 3)
    s = [{19: "1", 20: "-(0w,1)", 21: "-1"}, {19: "0,1", 20: "1c,1w", 21: "0,2"}, {19: "//(0h,2)", 20: "0h", 21: "1"},
         {19: "0,-2,1", 20: "1c,-233,1w", 21: "0,1,2"}, {19: "-2", 20: "0", 21: "2"}][draw(rng, 0, 4)]
    return Case([x, other][:blobs("".join(s.values()))], s, kind="Crop")


def interp_expression(rng):
    x, other = normal(rng, draw(rng, 1, 4), draw(rng, 2, 9), draw(rng, 2, 9)), normal(rng, 1, draw(rng, 1, 15), 7)
    text = ["*(0w,2),*(0h,2)", "1w,1h", "+(0w,3),0h", "floor(*(0w,1.5)),//(+(0h,1),2)"][draw(rng, 0, 3)]
    return Case([x, other][:blobs(text)], {0: draw(rng, 1, 3), 9: text}, kind="Interp")


# ---- transformers, recurrent layers ----

def matmul(rng):
    """Two matrices, batches of them, vectors."""
    m, n, k, batch = draw(rng, 1, 40), draw(rng, 1, 40), draw(rng, 1, 60), draw(rng, 2, 4)
    turned = draw(rng, 0, 1)
    a = [(m, k), (batch, m, k), (k,)][draw(rng, 0, 2)]
    b = (n, k) if turned else (k, n)
    b = [b, (batch,) + b, (k,)][draw(rng, 0, 2)]
    return Case([normal(rng, *a), normal(rng, *b)], {0: turned})


def gemm(rng, int8=False):
    m, n, k = draw(rng, 1, 40), draw(rng, 1, 40), draw(rng, 1, 60)
    s = {2: draw(rng, 0, 1), 3: draw(rng, 0, 1), 14: draw(rng, 0, 1)}
    maybe(rng, s, 0, float(F32(rng.random() + 0.5)))
    maybe(rng, s, 1, float(F32(rng.random() + 0.5)))
    shapes = [(k, m) if s[2] else (m, k), (n, k) if s[3] else (k, n)]
    inputs, arrays = [], []
    constant = [rng.random() < 0.3 and not int8, rng.random() < 0.6]
    for i, shape in enumerate(shapes):
        data = normal(rng, *shape)
        if constant[i] and not (i == 1 and constant[0]):
            s[4 + i] = 1
            arrays.append((True, data))
        else:
            inputs.append(data)
    s.update({7: m, 8: n, 9: k} if 4 in s or 5 in s else {})
    kind = draw(rng, -1, 4)
    c = normal(rng, *[(1,), (m,), (m, 1), (m, n), (1, n)][kind]) if kind >= 0 else None
    if kind >= 0 and rng.random() < 0.5:
        s.update({6: 1, 10: kind, 7: m, 8: n, 9: k})
        arrays.append((True, c))
    elif kind >= 0 and not (kind == 1 and m == n):
        inputs.append(c)
    if int8:
        s[18] = 2
        if 5 in s:
            scale = F32(127 / np.abs(arrays[0][1]).max())
            arrays[0] = (True, np.rint(arrays[0][1] * scale).astype(np.int8))
            arrays.append((False, np.array([scale])))
    return Case(inputs, s, arrays, near=INT8_NEAR if int8 else NEAR, kind="Gemm")


def attention(rng, int8=False):
    heads, size = draw(rng, 1, 4), draw(rng, 1, 16)
    embed, source, target = heads * size, draw(rng, 1, 30), draw(rng, 1, 30)
    blobs = draw(rng, 1, 3)
    dims = [draw(rng, 1, 40) for _ in range(blobs)]
    target = source if blobs == 1 else target
    q, k, v = dims[0], dims[min(1, blobs - 1)], dims[blobs - 1]
    inputs = [normal(rng, source, q)] + [normal(rng, target, d) for d in dims[1:]]
    s = {0: embed, 1: heads, 2: embed * q, 3: k, 4: v}
    if rng.random() < 0.4:
        s[5] = 1
        inputs.append(normal(rng, *((heads, source, target) if draw(rng, 0, 1) else (source, target))))
    maybe(rng, s, 6, float(F32(rng.random() + 0.1)))
    arrays = []
    for depth in (q, k, v):
        arrays += [(True, normal(rng, embed, depth) / depth ** 0.5), (False, normal(rng, embed))]
    arrays += [(True, normal(rng, q, embed) / embed ** 0.5), (False, normal(rng, q))]
    if int8:
        s[18] = 2
        for i in range(0, 8, 2):
            w = arrays[i][1]
            scale = 127 / np.abs(w).max(axis=1 if i < 6 else None, keepdims=True)
            arrays[i] = (True, np.rint(w * scale).astype(np.int8))
            arrays.append((False, scale.astype(F32).reshape(-1)))
    return Case(inputs, s, arrays, near=INT8_NEAR if int8 else NEAR, kind="MultiHeadAttention")


def row_norm(rng, arrays):
    shape = [draw(rng, 1, 30) for _ in range(draw(rng, 0, 2))] + [draw(rng, 8, 30)]  # of few elements: cancellation
    x = normal(rng, *shape) + F32(rng.standard_normal())
    size = x.shape[-1] * (x.shape[-2] if x.ndim == 3 and draw(rng, 0, 1) else 1)
    s = {0: size, 2: draw(rng, 0, 1)}
    maybe(rng, s, 1, 1e-5)
    return Case([x], s, [(False, normal(rng, size)) for _ in range(arrays * s[2])])


def embed(rng):
    n, words, bias = draw(rng, 1, 30), draw(rng, 1, 50), draw(rng, 0, 1)
    index = rng.integers(-3, words + 3, draw(rng, 1, 20)).astype(np.int32).view(F32)
    return Case([index], {0: n, 1: words, 2: bias, 3: n * words},
                [(True, normal(rng, words, n))] + [(False, normal(rng, n))] * bias)


def recurrent(rng, gates):
    n, inputs, steps, way = draw(rng, 1, 20), draw(rng, 1, 30), draw(rng, 1, 12), draw(rng, 0, 2)
    hidden = draw(rng, 1, 20) if gates == 4 and rng.random() < 0.5 else n
    ways = 2 if way == 2 else 1
    s = {0: n, 1: ways * gates * hidden * inputs, 2: way}
    if hidden != n:
        s[3] = hidden
    shapes = [(ways, gates * hidden, inputs), (ways, 4, hidden), (ways, gates * hidden, n)]
    shapes += [(ways, n, hidden)] if hidden != n else []
    return Case([normal(rng, steps, inputs)], s, [(True, normal(rng, *shape, scale=0.3)) for shape in shapes])


LAYERS = {
    "DetectionOutput": ssd,
    "YoloDetectionOutput": lambda rng: yolo(rng, False),
    "Yolov3DetectionOutput": lambda rng: yolo(rng, True),
    "PriorBox": prior_box,
    "Proposal": proposal,
    "ROIPooling": roi_pooling,
    "PSROIPooling": psroi_pooling,
    "ROIAlign": roi_align,
    "Convolution": convolution,
    "ConvolutionDepthWise": lambda rng: convolution(rng, depthwise=True),
    "Deconvolution": lambda rng: convolution(rng, turned=True),
    "InnerProduct": inner_product,
    "Reshape by expression": reshape_expression,
    "Interp by expression": interp_expression,
    "Crop by expression": crop_expression,
    "Softmax": softmax,
    "BinaryOp": binary,
    "MatMul": matmul,
    "Gemm": gemm,
    "Gemm in INT8": lambda rng: gemm(rng, True),
    "MultiHeadAttention": attention,
    "MultiHeadAttention in INT8": lambda rng: attention(rng, True),
    "LayerNorm": lambda rng: row_norm(rng, 2),
    "RMSNorm": lambda rng: row_norm(rng, 1),
    "GELU": lambda rng: Case([normal(rng, draw(rng, 1, 20), draw(rng, 1, 20), scale=2)], {0: draw(rng, 0, 1)}),
    "Embed": embed,
    "LSTM": lambda rng: recurrent(rng, 4),
    "GRU": lambda rng: recurrent(rng, 3),
} | SHAPES


# ---- both programs ----

def theirs(ncnn, folder, case, names, outs):
    net = ncnn.Net()
    for option in ("use_packing_layout", "use_fp16_packed", "use_fp16_storage", "use_fp16_arithmetic",
                   "use_bf16_storage", "use_winograd_convolution", "use_vulkan_compute"):
        setattr(net.opt, option, False)
    net.opt.num_threads = 1
    if net.load_param(os.path.join(folder, "t.param")) != 0 or net.load_model(os.path.join(folder, "t.bin")) != 0:
        raise RuntimeError("ncnn does not read the layer: %s" % case.settings)
    ex = net.create_extractor()
    for name, x in zip(names, case.inputs):
        ex.input(name, ncnn.Mat(x).clone())
    results = []
    for name in outs:
        _, mat = ex.extract(name)
        results.append(np.array(mat, dtype=F32) if not mat.empty() else None)
    return results


def ours(program, folder, outs):
    done = subprocess.run([program, "--layers", "--net", folder + "/t.param", "--bin", folder + "/t.bin", "--input",
                           folder + "/t.f32", "--dump", folder], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip())
    results = []
    for name in outs:
        line = next(x.split() for x in done.stdout.split("\n") if x.startswith("output ") and x.split()[1] == name)
        shape = [int(n) for n in line[2].split("x")]
        results.append(np.fromfile(os.path.join(folder, line[-1] + ".f32"), F32).reshape(shape))
    return results


def compare(case, mine, their):
    """Values, exact ones, largest error, and a line of what is wrong or None. Rows of boxes that are not there are 0
    here and absent there."""
    values, exact, worst = 0, 0, 0.0
    for m, t in zip(mine, their):
        if case.boxes:
            m = m.reshape(-1, m.shape[-1])
            # YoloDetectionOutput without a detection leaves its input where its output should be
            t = None if t is not None and t.shape == case.inputs[0].shape else t
            t = np.zeros((0, m.shape[-1]), F32) if t is None else t.reshape(-1, m.shape[-1])
            if len(t) > len(m) or m[len(t):].any():
                return values, exact, worst, "%d boxes, ncnn has %d" % (m.any(axis=1).sum(), len(t))
            m = m[:len(t)]
        if t is None or m.shape != t.shape:
            return values, exact, worst, "shape %s, ncnn has %s" % (m.shape, None if t is None else t.shape)
        error = np.abs(m.astype(np.float64) - t) / max(1.0, np.abs(t).max(initial=0.0))
        values, exact = values + m.size, exact + int((m == t).sum())
        worst = max(worst, float(error.max(initial=0.0)))
    return values, exact, worst, None if worst <= case.near else "error %.3g" % worst


def speed(ncnn, program, folder):
    """Lower quartile of the CPU time of an inference, in turns; ncnn as it comes, but for halves."""
    x = normal(np.random.default_rng(1), 3, 227, 227, scale=50)
    rows = []
    for name, stem in (("FP32", "squeezenet_v1.1"), ("INT8", "sq-int8")):
        files = [os.path.join(folder, stem + end) for end in (".param", ".bin")]
        net = ncnn.Net()
        net.opt.num_threads = 1
        for option in ("use_fp16_packed", "use_fp16_storage", "use_fp16_arithmetic", "use_bf16_storage"):
            setattr(net.opt, option, False)
        if net.load_param(files[0]) != 0 or net.load_model(files[1]) != 0:
            raise RuntimeError("%s: ncnn does not read it" % files[0])
        mine, their = [], []
        with tempfile.TemporaryDirectory() as temporary:
            np.save(os.path.join(temporary, "x.npy"), x)
            for _ in range(5):
                done = subprocess.run([program, "classify", "--net", files[0], "--bin", files[1], "--time", "--image"] +
                                      [os.path.join(temporary, "x.npy")] * 8, stdout=subprocess.PIPE, text=True,
                                      check=True)
                mine += [float(t) for t in re.findall(r"^time ([\d.]+) s", done.stdout, re.M)][1:]
                for i in range(8):
                    ex = net.create_extractor()
                    start = time.process_time()
                    ex.input("data", ncnn.Mat(x))
                    ex.extract("prob")
                    their += [time.process_time() - start] if i > 0 else []
        rows.append((name, np.quantile(mine, 0.25) * 1e3, np.quantile(their, 0.25) * 1e3))
    print("| SqueezeNet v1.1, 227x227 | here, ms | ncnn, ms | ratio |\n| --- | ---: | ---: | ---: |")
    for name, a, b in rows:
        print("| %s | %.1f | %.1f | %.2f |" % (name, a, b, a / b))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("site", metavar="SITE", help="folder with the unpacked package ncnn (and what it needs)")
    parser.add_argument("--count", type=int, default=300, help="cases of each layer (default 300)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--layer", choices=sorted(LAYERS), help="this layer alone")
    parser.add_argument("--half", action="store_true", help="weights in FP16 wherever the file can have them")
    parser.add_argument("--program", default=os.path.join(ROOT, "build", "host", "tandem-net-model"))
    parser.add_argument("--speed", metavar="DIR", help="instead: speed; folder with squeezenet_v1.1 and sq-int8")
    args = parser.parse_args()
    sys.path.insert(0, os.path.abspath(args.site))
    try:
        import ncnn
    except ImportError as error:
        print("ncnn_layers: not run: %s has no package ncnn for this interpreter (%s)" % (args.site, error))
        return 3
    if args.speed:
        speed(ncnn, args.program, args.speed)
        return 0
    bad = 0
    print("ncnn %s\n\n| layer | cases | values | exact, %% | largest error |\n| --- | ---: | ---: | ---: | ---: |"
          % ncnn.__version__)
    for kind in [args.layer] if args.layer else LAYERS:
        values, exact, worst = 0, 0, 0.0
        for i in range(args.count):
            case = LAYERS[kind](np.random.default_rng([args.seed, i]))
            case.halves = args.half
            with tempfile.TemporaryDirectory() as folder:
                names, outs = case.write(folder, case.kind or kind)
                v, e, w, wrong = compare(case, ours(args.program, folder, outs),
                                         theirs(ncnn, folder, case, names, outs))
            values, exact, worst = values + v, exact + e, max(worst, w)
            if wrong is not None:
                bad += 1
                print("ncnn_layers: %s, case %d: %s; settings %s" % (kind, i, wrong, case.settings), file=sys.stderr)
        print("| %s | %d | %d | %.2f | %.1e |" % (kind, args.count, values, 100 * exact / max(values, 1), worst))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
