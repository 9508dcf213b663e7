#!/usr/bin/python3
"""Published topologies as ncnn .param text: layers and sizes, no weights.

  yolov3_tiny     YOLOv3-Tiny 416x416, 80 classes
  yolov4_tiny     YOLOv4-Tiny 416x416, 80 classes
  yolov3          YOLOv3 416x416, 80 classes (Darknet-53)
  yolov5s         YOLOv5s 6.x 640x512, 80 classes; three raw heads
  yolov7_tiny     YOLOv7-Tiny 640x512, 80 classes; three raw heads
  retinaface      RetinaFace 640x360, ResNet-50, feature pyramid, context modules; boxes, scores and landmarks of three
                  scales
  mobilenet_yolo  MobileNet-YOLO 416x416, 20 classes
  x_tiny_yolo     X-TINY YOLO 224x224: Tiny YOLO with narrower layers, 20 classes
  resnet50        ResNet-50 224x224, 1000 classes, strides in the 3x3 convolutions
  squeezenet      SqueezeNet 1.1 227x227, 1000 classes
  squeezenet_v1.0 SqueezeNet 1.0 227x227, 1000 classes
  vit_b32         vision transformer ViT-B/32 384x384, 1000 classes
  bert_mini       BERT with 4 layers of 256, 4 heads, 128 words of 30522, 2 classes

Prints layers, multiply-accumulates and weights."""

import argparse
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from param_text import Net, ParamError, region_detection, write_file, yolo_detection  # noqa: E402


# ---- YOLOv3 ----

def yolov3(net, w, h):
    anchors = [10, 13, 16, 30, 33, 23, 30, 61, 62, 45, 59, 119, 116, 90, 156, 198, 373, 326]

    def conv(x, filters, k, s=1):
        return net.conv(x, filters, k, s, act="leaky", bn=True)

    x = conv(net.input(w, h, 3), 32, 3)
    stages = []
    for filters, blocks in ((64, 1), (128, 2), (256, 8), (512, 8), (1024, 4)):
        x = conv(x, filters, 3, 2)
        for _ in range(blocks):
            x = net.sum(conv(conv(x, filters // 2, 1), filters, 3), x)
        stages.append(x)
    heads = []
    for i, (filters, skip) in enumerate(((1024, None), (512, stages[3]), (256, stages[2]))):
        if skip is not None:
            x = conv(x, filters // 2, 1)
            x = net.concat([net.resize(x, 2 * net.shape[x][0], 2 * net.shape[x][1]), skip])
        for _ in range(2):
            x = conv(conv(x, filters // 2, 1), filters, 3)
        x = conv(x, filters // 2, 1)
        heads.append(net.conv(conv(x, filters, 3), 255, 1, name="head_%d" % i))
    yolo_detection(net, heads, 80, anchors, [[6, 7, 8], [3, 4, 5], [0, 1, 2]], [1.0] * 3)


# ---- YOLOv3-Tiny, YOLOv4-Tiny ----

TINY_ANCHORS = [10, 14, 23, 27, 37, 58, 81, 82, 135, 169, 344, 319]


def tiny_heads(net, x, skip, width, masks, scale):
    """Two heads after x, which is the coarser scale; the finer one also reads skip."""
    def conv(x, filters, k):
        return net.conv(x, filters, k, act="leaky", bn=True)

    x = conv(x, 256, 1)
    coarse = net.conv(conv(x, 512, 3), 255, 1, name="head_0")
    x = conv(x, 128, 1)
    x = net.concat([net.resize(x, 2 * net.shape[x][0], 2 * net.shape[x][1]), skip])
    fine = net.conv(conv(x, width, 3), 255, 1, name="head_1")
    yolo_detection(net, [coarse, fine], 80, TINY_ANCHORS, masks, [scale] * 2)


def yolov3_tiny(net, w, h):
    x = net.input(w, h, 3)
    skip = None
    for filters in (16, 32, 64, 128, 256, 512):
        x = net.conv(x, filters, 3, act="leaky", bn=True)
        skip = x if filters == 256 else skip
        x = net.pool(x, 2, 1 if filters == 512 else 2, (0, 1))
    x = net.conv(x, 1024, 3, act="leaky", bn=True)
    tiny_heads(net, x, skip, 256, [[3, 4, 5], [0, 1, 2]], 1.0)


def yolov4_tiny(net, w, h):
    def conv(x, filters, k=3, s=1):
        return net.conv(x, filters, k, s, act="leaky", bn=True)

    x = conv(conv(net.input(w, h, 3), 32, 3, 2), 64, 3, 2)
    skip = None
    for filters in (64, 128, 256):
        # half of the channels go through two convolutions; everything meets again
        x = conv(x, filters)
        a = conv(net.channels(x, filters // 2, filters // 2), filters // 2)
        b = conv(a, filters // 2)
        skip = conv(net.concat([b, a]), filters, 1)
        x = net.pool(net.concat([x, skip]), 2, 2, (0, 1))
    tiny_heads(net, conv(x, 512), skip, 256, [[3, 4, 5], [1, 2, 3]], 1.05)


# ---- YOLOv5s, YOLOv7-Tiny ----

def raw_heads(net, blobs, classes):
    """A head of three anchors as rows of 5 + classes numbers, one row for each anchor and place."""
    for i, x in enumerate(blobs):
        head = net.conv(x, 3 * (5 + classes), 1, name="head_%d" % i)
        w, h, _ = net.shape[head]
        rows = net.add("Reshape", [head], {0: w * h, 1: 5 + classes, 2: 3}, [(w * h, 5 + classes, 3)], "rows_%d" % i)
        net.add("Permute", [rows], {0: 1}, [(5 + classes, w * h, 3)], "output_%d" % i)


def yolov5s(net, w, h):
    def conv(x, filters, k=1, s=1, p=None):
        return net.conv(x, filters, k, s, p, act="swish", bn=True)

    def c3(x, filters, blocks, shortcut):
        a = conv(x, filters // 2)
        b = conv(x, filters // 2)
        for _ in range(blocks):
            y = conv(conv(a, filters // 2), filters // 2, 3)
            a = net.sum(a, y) if shortcut else y
        return conv(net.concat([a, b]), filters)

    def double(x):
        return net.resize(x, 2 * net.shape[x][0], 2 * net.shape[x][1])

    x = conv(net.input(w, h, 3), 32, 6, 2, 2)
    x = c3(conv(x, 64, 3, 2), 64, 1, True)
    p3 = c3(conv(x, 128, 3, 2), 128, 2, True)
    p4 = c3(conv(p3, 256, 3, 2), 256, 3, True)
    x = c3(conv(p4, 512, 3, 2), 512, 1, True)
    x = conv(x, 256)
    pools = [x]
    for _ in range(3):
        pools.append(net.pool(pools[-1], 5, 1, (2, 2)))
    n5 = conv(conv(net.concat(pools), 512), 256)
    n4 = conv(c3(net.concat([double(n5), p4]), 256, 1, False), 128)
    o3 = c3(net.concat([double(n4), p3]), 128, 1, False)
    o4 = c3(net.concat([conv(o3, 128, 3, 2), n4]), 256, 1, False)
    o5 = c3(net.concat([conv(o4, 256, 3, 2), n5]), 512, 1, False)
    raw_heads(net, [o3, o4, o5], 80)


def yolov7_tiny(net, w, h):
    def conv(x, filters, k=1, s=1):
        return net.conv(x, filters, k, s, act="leaky", bn=True)

    def block(x, inner, outer):
        """Four branches of one width, in sequence and in parallel."""
        a = conv(x, inner)
        b = conv(x, inner)
        c = conv(b, inner, 3)
        d = conv(c, inner, 3)
        return conv(net.concat([d, c, b, a]), outer)

    def double(x):
        return net.resize(x, 2 * net.shape[x][0], 2 * net.shape[x][1])

    x = conv(conv(net.input(w, h, 3), 32, 3, 2), 64, 3, 2)
    x = block(x, 32, 64)
    p3 = block(net.pool(x, 2, 2), 64, 128)
    p4 = block(net.pool(p3, 2, 2), 128, 256)
    p5 = block(net.pool(p4, 2, 2), 256, 512)
    a = conv(p5, 256)
    b = conv(p5, 256)
    pools = [net.pool(b, k, 1, (k // 2, k // 2)) for k in (13, 9, 5)]
    x = conv(net.concat(pools + [b]), 256)
    n5 = conv(net.concat([x, a]), 256)
    n4 = block(net.concat([conv(p4, 128), double(conv(n5, 128))]), 64, 128)
    o3 = block(net.concat([conv(p3, 64), double(conv(n4, 64))]), 32, 64)
    o4 = block(net.concat([conv(o3, 128, 3, 2), n4]), 64, 128)
    o5 = block(net.concat([conv(o4, 256, 3, 2), n5]), 128, 256)
    raw_heads(net, [conv(o3, 128, 3), conv(o4, 256, 3), conv(o5, 512, 3)], 80)


# ---- ResNet-50, RetinaFace ----

def resnet50_stages(net, x):
    """Outputs of the last three stages."""
    x = net.pool(net.conv(x, 64, 7, 2, 3, act="relu", bn=True), 3, 2, (1, 1))
    stages = []
    for stage, (filters, blocks) in enumerate(((64, 3), (128, 4), (256, 6), (512, 3))):
        for i in range(blocks):
            stride = 2 if i == 0 and stage > 0 else 1
            y = net.conv(x, filters, 1, act="relu", bn=True)
            y = net.conv(y, filters, 3, stride, act="relu", bn=True)
            y = net.conv(y, 4 * filters, 1, bn=True)
            if i == 0:
                x = net.conv(x, 4 * filters, 1, stride, bn=True)
            x = net.activation(net.sum(y, x), "relu", "stage%d_%d" % (stage + 1, i))
        stages.append(x)
    return stages[1:]


def resnet50(net, w, h):
    x = net.dense(net.global_average(resnet50_stages(net, net.input(w, h, 3))[-1]), 1000, name="fc")
    net.add("Softmax", [x], {0: 0, 1: 1}, [net.shape[x]], "prob")


def retinaface(net, w, h):
    width = 256

    def context(x):
        """A 3x3, two 3x3 and three 3x3 convolutions in parallel; the second and third share their first."""
        a = net.conv(x, width // 2, 3, bn=True)
        b = net.conv(x, width // 4, 3, act="relu", bn=True)
        c = net.conv(b, width // 4, 3, act="relu", bn=True)
        b = net.conv(b, width // 4, 3, bn=True)
        c = net.conv(c, width // 4, 3, bn=True)
        return net.activation(net.concat([a, b, c]), "relu")

    pyramid = [net.conv(x, width, 1, act="relu", bn=True) for x in resnet50_stages(net, net.input(w, h, 3))]
    for i in (1, 0):
        up = net.resize(pyramid[i + 1], *net.shape[pyramid[i]][:2])
        pyramid[i] = net.conv(net.sum(pyramid[i], up), width, 3, act="relu", bn=True)
    for i, x in enumerate(pyramid):
        x = context(x)
        net.conv(x, 2 * 4, 1, name="boxes_%d" % i)
        score = net.conv(x, 2 * 2, 1, name="logits_%d" % i)
        sw, sh, _ = net.shape[score]
        # two numbers, no face and face, for each of the two anchors of a place
        rows = net.add("Permute", [score], {0: 3}, [(4, sw, sh)])
        rows = net.add("Reshape", [rows], {0: 2, 1: 2 * sw * sh}, [(2, 2 * sw * sh)])
        net.add("Softmax", [rows], {0: 1, 1: 1}, [net.shape[rows]], "scores_%d" % i)
        net.conv(x, 2 * 10, 1, name="landmarks_%d" % i)


# ---- MobileNet-YOLO ----

def mobilenet_yolo(net, w, h):
    anchors = [1.08, 1.19, 3.42, 4.41, 6.63, 11.38, 9.42, 5.11, 16.62, 10.52]

    def pair(x, filters, s=1):
        """Depthwise 3x3, then 1x1."""
        x = net.conv(x, net.shape[x][2], 3, s, act="relu", groups=net.shape[x][2], bn=True)
        return net.conv(x, filters, 1, act="relu", bn=True)

    x = net.conv(net.input(w, h, 3), 32, 3, 2, act="relu", bn=True)
    for filters, s in ((64, 1), (128, 2), (128, 1), (256, 2), (256, 1),
                       (512, 2), (512, 1), (512, 1), (512, 1), (512, 1), (512, 1)):
        x = pair(x, filters, s)
    fine = x
    coarse = pair(pair(pair(x, 1024, 2), 1024), 1024)
    # two channels at a time become one
    c = net.shape[coarse][2] // 2
    up = net.add("DeconvolutionDepthWise", [coarse], {0: c, 1: 4, 3: 2, 4: 1, 6: 16 * 2 * c, 7: c},
                 [(2 * net.shape[coarse][0], 2 * net.shape[coarse][1], c)])
    net.weights += 16 * 2 * c
    net.macs += 16 * 2 * c * net.shape[coarse][0] * net.shape[coarse][1]
    fine = pair(net.add("Eltwise", [fine, up], {0: 1}, [net.shape[fine]]), 1024)
    heads = [net.conv(x, 125, 1, name="head_%d" % i) for i, x in enumerate((coarse, fine))]
    region_detection(net, heads, 20, anchors, 0.4)


# ---- X-TINY YOLO ----

def x_tiny_yolo(net, w, h):
    anchors = [1.08, 1.19, 3.42, 4.41, 6.63, 11.38, 9.42, 5.11, 16.62, 10.52]
    x = net.input(w, h, 3)
    for filters in (16, 24, 32, 64, 128):
        x = net.pool(net.conv(x, filters, 3, act="leaky", bn=True), 2, 2)
    x = net.pool(net.conv(x, 256, 3, act="leaky", bn=True), 2, 1, (0, 1))
    for filters in (512, 512):
        x = net.conv(x, filters, 3, act="leaky", bn=True)
    region_detection(net, [net.conv(x, 125, 1, name="head")], 20, anchors)


# ---- SqueezeNet ----

def squeezenet_of(first, stages, last_pad):
    """Convolution (filters, kernel) of stride 2; fire modules between poolings; padding of the last convolution."""
    def fire(net, x, filters):
        x = net.conv(x, filters, 1, act="relu")
        return net.concat([net.conv(x, 4 * filters, 1, act="relu"), net.conv(x, 4 * filters, 3, act="relu")])

    def make(net, w, h):
        x = net.conv(net.input(w, h, 3), first[0], first[1], 2, 0, act="relu")
        for widths in stages:
            x = net.pool(x, 3, 2, up=True)
            for filters in widths:
                x = fire(net, x, filters)
        x = net.global_average(net.conv(x, 1000, 1, p=last_pad, act="relu"))
        net.add("Softmax", [x], {0: 0, 1: 1}, [net.shape[x]], "prob")
    return make


squeezenet = squeezenet_of((64, 3), ((16, 16), (32, 32), (48, 48, 64, 64)), 1)
squeezenet_v1_0 = squeezenet_of((96, 7), ((16, 16, 32), (32, 48, 48, 64), (64,)), 0)


# ---- transformers ----

def rows(net, x, outputs, name=None):
    """An inner product of each row of a matrix."""
    w, h = net.shape[x]
    net.macs += w * h * outputs
    net.weights += w * outputs + outputs
    return net.add("InnerProduct", [x], {0: outputs, 1: 1, 2: w * outputs}, [(outputs, h)], name)


def layer_norm(net, x, eps, name=None):
    net.weights += 2 * net.shape[x][0]
    return net.add("LayerNorm", [x], {0: net.shape[x][0], 1: eps, 2: 1}, [net.shape[x]], name)


def attention(net, x, heads):
    w, h = net.shape[x]
    net.macs += 4 * w * w * h + 2 * w * h * h
    net.weights += 4 * (w * w + w)
    return net.add("MultiHeadAttention", [x], {0: w, 1: heads, 2: w * w}, [(w, h)])


def mlp(net, x, hidden):
    y = rows(net, x, hidden)
    return rows(net, net.add("GELU", [y], {}, [net.shape[y]]), net.shape[x][0])


def constant(net, w, h, name):
    net.weights += w * h
    return net.add("MemoryData", [], {0: w, 1: h}, [(w, h)], name)


def first_row(net, x):
    """As a vector."""
    w, _ = net.shape[x]
    row = net.add("Crop", [x], {9: [0], 10: [1], 11: [0]}, [(w, 1)])
    return net.add("Reshape", [row], {0: w}, [(w,)])


def vit_b32(net, w, h):
    cells = (w // 32) * (h // 32)
    x = net.conv(net.input(w, h, 3), 768, 32, 32, 0)
    x = net.add("Reshape", [x], {0: -1, 1: 768}, [(cells, 768)])
    x = net.add("Permute", [x], {0: 1}, [(768, cells)])
    x = net.add("Concat", [constant(net, 768, 1, "class"), x], {0: 0}, [(768, cells + 1)])
    x = net.sum(x, constant(net, 768, cells + 1, "position"))
    for _ in range(12):
        x = net.sum(x, attention(net, layer_norm(net, x, 1e-6), 12))
        x = net.sum(x, mlp(net, layer_norm(net, x, 1e-6), 3072))
    x = net.dense(first_row(net, layer_norm(net, x, 1e-6)), 1000)
    net.add("Softmax", [x], {0: 0, 1: 1}, [net.shape[x]], "prob")


def bert_mini(net, w, h):
    words, width = 30522, 256
    x = net.add("Input", [], {0: w * h}, [(w * h,)], "words")
    net.weights += words * width
    x = net.add("Embed", [x], {0: width, 1: words, 2: 0, 3: words * width}, [(width, w * h)])
    x = layer_norm(net, net.sum(x, constant(net, width, w * h, "position")), 1e-12)
    for _ in range(4):
        x = layer_norm(net, net.sum(x, attention(net, x, 4)), 1e-12)
        x = layer_norm(net, net.sum(x, mlp(net, x, 1024)), 1e-12)
    x = net.dense(first_row(net, x), width)
    x = net.dense(net.add("TanH", [x], {}, [net.shape[x]], "pooled"), 2)
    net.add("Softmax", [x], {0: 0, 1: 1}, [net.shape[x]], "prob")


NETWORKS = {
    "vit_b32": (vit_b32, 384, 384, 32),
    "bert_mini": (bert_mini, 128, 1, 1),
    "yolov3_tiny": (yolov3_tiny, 416, 416, 32),
    "yolov4_tiny": (yolov4_tiny, 416, 416, 32),
    "resnet50": (resnet50, 224, 224, 1),
    "squeezenet": (squeezenet, 227, 227, 1),
    "squeezenet_v1.0": (squeezenet_v1_0, 227, 227, 1),
    "yolov3": (yolov3, 416, 416, 32),
    "yolov5s": (yolov5s, 640, 512, 32),
    "yolov7_tiny": (yolov7_tiny, 640, 512, 32),
    "retinaface": (retinaface, 640, 360, 1),
    "mobilenet_yolo": (mobilenet_yolo, 416, 416, 32),
    "x_tiny_yolo": (x_tiny_yolo, 224, 224, 32),
}


def build(name, w=None, h=None, fuse=True):
    """A network of the table, in its default size when w and h are None."""
    make, own_w, own_h, multiple = NETWORKS[name]
    w = w or own_w
    h = h or own_h
    if w < multiple or h < multiple or w % multiple or h % multiple or w > 4096 or h > 4096:
        raise ParamError("size %dx%d of %s: expected multiples of %d up to 4096" % (w, h, name, multiple))
    net = Net(fuse)
    make(net, w, h)
    return net


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("network", choices=sorted(NETWORKS))
    parser.add_argument("param", help="file to write")
    parser.add_argument("--size", metavar="WxH", help="input size")
    parser.add_argument("--separate", action="store_true", help="batch norm and activations as separate layers")
    args = parser.parse_args()
    w = h = None
    if args.size:
        words = args.size.split("x")
        if len(words) != 2 or not all(word.isdigit() and 0 < int(word) <= 4096 for word in words):
            parser.error("--size %s: expected width x height" % args.size)
        w, h = map(int, words)
    try:
        net = build(args.network, w, h, not args.separate)
        write_file(args.param, net.text())
    except ParamError as e:
        print("netgen: %s" % e, file=sys.stderr)
        return 1
    except OSError as e:
        print("netgen: %s: %s" % (e.filename, e.strerror), file=sys.stderr)
        return 1
    print("%s: %s" % (args.param, net.summary()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
