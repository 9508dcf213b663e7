#!/usr/bin/python3
"""Turn a darknet .cfg into an ncnn .param.

Batch norm is folded into its convolution and activations are fused, as in ncnn's optimised files; --separate keeps
them as separate layers. Upsampling becomes Interp, a route over several layers Concat, over a group of channels
Crop, a shortcut BinaryOp; all [yolo] layers end in one Yolov3DetectionOutput, [region] in YoloDetectionOutput. Prints
layers, multiply-accumulates, weights, and the size of the .weights file that belongs to the .cfg."""

import argparse
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from param_text import Net, ParamError, region_detection, write_file, yolo_detection  # noqa: E402

ACTIVATIONS = {"leaky": "leaky", "linear": "linear", "relu": "relu", "mish": "mish",
               "logistic": "sigmoid", "swish": "swish", "tanh": "tanh", "elu": "elu"}
MAX_BYTES = 1 << 20
MAX_SIZE = 1 << 16


class CfgError(Exception):
    """Line number and text."""

    def __init__(self, line, text):
        super().__init__(text)
        self.line = line


class Section:
    def __init__(self, name, line):
        self.name = name
        self.line = line
        self.value = {}
        self.where = {}

    def bad(self, key, text):
        raise CfgError(self.where.get(key, self.line), "[%s]: %s" % (self.name, text))

    def number(self, key, default, low, high=MAX_SIZE, kind=int):
        text = self.value.get(key)
        if text is None:
            if default is None:
                self.bad(key, "%s is missing" % key)
            return default
        try:
            value = kind(text)
        except ValueError:
            value = None
        if value is None or not low <= value <= high:
            self.bad(key, "%s=%s, expected a number from %s to %s" % (key, text, low, high))
        return value

    def numbers(self, key, kind=int):
        out = []
        for word in self.value.get(key, "").split(","):
            if word.strip():
                try:
                    out.append(kind(word))
                except ValueError:
                    self.bad(key, "%s: '%s' is not a number" % (key, word.strip()))
        return out

    def activation(self):
        name = self.value.get("activation", "linear" if self.name in ("shortcut", "net") else "logistic")
        if name not in ACTIVATIONS:
            self.bad("activation", "activation '%s' is not supported" % name)
        return ACTIVATIONS[name]


def read_cfg(path):
    with open(path, encoding="utf-8", errors="replace") as src:
        text = src.read(MAX_BYTES + 1)
    if len(text) > MAX_BYTES:
        raise CfgError(0, "more than %d bytes" % MAX_BYTES)
    sections = []
    for number, line in enumerate(text.splitlines(), 1):
        line = line.strip()
        if not line or line[0] in "#;":
            continue
        if line[0] == "[":
            if line[-1] != "]":
                raise CfgError(number, "'%s' is not a section" % line[:60])
            sections.append(Section(line[1:-1].strip(), number))
            continue
        key, equals, value = line.partition("=")
        if not equals or not sections:
            raise CfgError(number, "'%s': expected key=value in a section" % line[:60])
        sections[-1].value[key.strip()] = value.strip()
        sections[-1].where[key.strip()] = number
    if not sections or sections[0].name not in ("net", "network"):
        raise CfgError(1, "the first section is not [net]")
    return sections


class Converter:
    def __init__(self, sections, fuse):
        self.net = Net(fuse)
        self.sections = sections
        self.blob = []  # of each section after [net]
        self.heads = []  # (blob, section) of [yolo]
        self.file_floats = 0  # in the .weights file
        head = sections[0]
        self.net.input(head.number("width", None, 1), head.number("height", None, 1), head.number("channels", 3, 1))

    def here(self):
        return self.blob[-1] if self.blob else "data"

    def earlier(self, section, key, number):
        index = number if number >= 0 else len(self.blob) + number
        if not 0 <= index < len(self.blob):
            section.bad(key, "%s %d: there is no such layer before this one" % (key, number))
        if self.blob[index] is None:
            section.bad(key, "%s %d is a detection layer" % (key, number))
        return self.blob[index]

    def convolutional(self, s, name):
        size = s.number("size", 1, 1)
        pad = size // 2 if s.number("pad", 0, 0) else s.number("padding", 0, 0)
        stride = s.number("stride", 1, 1)
        groups = s.number("groups", 1, 1)
        filters = s.number("filters", 1, 1)
        normal = s.number("batch_normalize", 0, 0, 1) != 0
        if (s.number("dilation", 1, 1) != 1 or s.number("antialiasing", 0, 0) or
            s.value.get("share_index") or s.number("binary", 0, 0) or s.number("xnor", 0, 0)):
            s.bad("size", "dilation, antialiasing, shared, binary and xnor weights are not supported")
        c = self.net.shape[self.here()][2]
        self.file_floats += filters * (c // groups) * size * size + (4 if normal else 1) * filters
        strides = (s.number("stride_x", stride, 1), s.number("stride_y", stride, 1))
        return self.net.conv(self.here(), filters, size, strides, pad, s.activation(), groups, bn=normal, name=name)

    def maxpool(self, s, name):
        stride = s.number("stride", 1, 1)
        size = s.number("size", stride, 1)
        if (s.number("stride_x", stride, 1) != stride or s.number("stride_y", stride, 1) != stride or
            s.number("maxpool_depth", 0, 0)):
            s.bad("stride", "different strides and pooling over channels are not supported")
        padding = s.number("padding", size - 1, 0)
        return self.net.pool(self.here(), size, stride, (padding // 2, padding - padding // 2), name=name)

    def route(self, s, name):
        blobs = [self.earlier(s, "layers", n) for n in s.numbers("layers")]
        groups = s.number("groups", 1, 1)
        group = s.number("group_id", 0, 0, groups - 1)
        if not blobs:
            s.bad("layers", "layers is missing")
        parts = []
        for i, blob in enumerate(blobs):
            c = self.net.shape[blob][2]
            if c % groups:
                s.bad("groups", "%d channels do not divide into %d groups" % (c, groups))
            part_name = name if len(blobs) == 1 else "%s_part%d" % (name, i)
            parts.append(blob if groups == 1
                         else self.net.channels(blob, group * (c // groups), c // groups, part_name))
        return parts[0] if len(parts) == 1 else self.net.concat(parts, name)

    def shortcut(self, s, name):
        blobs = s.numbers("from")
        if len(blobs) != 1 or "weights_type" in s.value and s.value["weights_type"] != "none":
            s.bad("from", "expected one layer, without weights")
        total = self.net.sum(self.here(), self.earlier(s, "from", blobs[0]), name)
        return self.net.activation(total, s.activation(), name + "_act")

    def upsample(self, s, name):
        w, h, _ = self.net.shape[self.here()]
        stride = s.number("stride", 2, 1)
        return self.net.resize(self.here(), w * stride, h * stride, name)

    def connected(self, s, name):
        outputs = s.number("output", 1, 1)
        if s.number("batch_normalize", 0, 0, 1):
            s.bad("batch_normalize", "batch norm after a fully connected layer is not supported")
        size = outputs
        for n in self.net.shape[self.here()]:
            size *= n
        self.file_floats += size + outputs
        return self.net.dense(self.here(), outputs, s.activation(), name)

    def region(self, s, name):
        if not s.number("softmax", 0, 0, 1):
            s.bad("softmax", "[region] without softmax is not supported")
        return region_detection(self.net, [self.here()], s.number("classes", 20, 1),
                                s.numbers("anchors", float), name="output")

    def convert(self):
        for index, s in enumerate(self.sections[1:]):
            name = "%d_%s" % (index, s.name)
            if s.name in ("convolutional", "conv", "maxpool", "max", "route",
                          "shortcut", "upsample", "connected", "conn"):
                blob = getattr(self, {"conv": "convolutional", "max": "maxpool",
                                      "conn": "connected"}.get(s.name, s.name))(s, name)
            elif s.name in ("avgpool", "avg"):
                blob = self.net.global_average(self.here(), name)
            elif s.name in ("softmax", "soft"):
                blob = self.net.add("Softmax", [self.here()], {0: 0, 1: 1}, [self.net.shape[self.here()]], name)
            elif s.name in ("dropout", "cost"):
                blob = self.here()  # nothing in inference
            elif s.name == "yolo":
                self.heads.append((self.here(), s))
                blob = None
            elif s.name == "region":
                blob = self.region(s, name)
            else:
                raise CfgError(s.line, "[%s] is not supported" % s.name)
            self.blob.append(blob)
            if (blob is None and index + 2 < len(self.sections) and
                self.sections[index + 2].name not in ("route", "yolo")):
                raise CfgError(self.sections[index + 2].line,
                               "[%s] after [yolo]: expected [route]" % self.sections[index + 2].name)
        if self.heads:
            self.detection()
        return self.net

    def detection(self):
        first = self.heads[0][1]
        anchors = first.numbers("anchors", float)
        masks = []
        for _, s in self.heads:
            if s.numbers("anchors", float) != anchors or s.number("classes", 20, 1) != first.number("classes", 20, 1):
                s.bad("anchors", "anchors and classes of all [yolo] layers must be the same")
            if s.number("new_coords", 0, 0, 1):
                s.bad("new_coords", "new_coords=1 is not supported")
            masks.append(s.numbers("mask"))
            if (not masks[-1] or len(masks[-1]) != len(masks[0]) or max(masks[-1]) * 2 + 1 >= len(anchors) or
                min(masks[-1]) < 0):
                s.bad("mask", "mask does not name as many anchors as that of the first head")
        scales = [s.number("scale_x_y", 1.0, 0.01, 10.0, float) for _, s in self.heads]
        yolo_detection(self.net, [blob for blob, _ in self.heads], first.number("classes", 20, 1),
                       anchors, masks, scales)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cfg", help="darknet network")
    parser.add_argument("param", help="file to write")
    parser.add_argument("--separate", action="store_true", help="batch norm and activations as separate layers")
    args = parser.parse_args()
    try:
        converter = Converter(read_cfg(args.cfg), not args.separate)
        net = converter.convert()
        write_file(args.param, net.text())
    except CfgError as e:
        print("darknet2param: %s:%d: %s" % (args.cfg, e.line, e), file=sys.stderr)
        return 1
    except ParamError as e:
        section = (converter.sections[len(converter.blob) + 1] if len(converter.blob) + 1 < len(converter.sections)
                   else None)
        print("darknet2param: %s:%d: %s" % (args.cfg, section.line if section else 0, e), file=sys.stderr)
        return 1
    except OSError as e:
        print("darknet2param: %s: %s" % (e.filename, e.strerror), file=sys.stderr)
        return 1
    print("%s: %s; .weights file: %d bytes" % (args.param, net.summary(), 20 + 4 * converter.file_floats))
    return 0


if __name__ == "__main__":
    sys.exit(main())
