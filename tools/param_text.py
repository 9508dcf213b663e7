"""ncnn .param text from calls: a blob is a name, its shape is known, Split layers are inserted for fan-out."""

import struct

MAGIC = 7767517
# fused activations of Convolution, ConvolutionDepthWise and InnerProduct: type and its values
FUSED = {
    "linear": (0, []),
    "relu": (1, []),
    "leaky": (2, [0.1]),
    "relu6": (3, [0.0, 6.0]),
    "sigmoid": (4, []),
    "mish": (5, []),
    "hardswish": (6, [1 / 6, 0.5]),
}
# activations as layers of their own: type and settings
SEPARATE = {
    "relu": ("ReLU", {}),
    "leaky": ("ReLU", {0: 0.1}),
    "relu6": ("Clip", {0: 0.0, 1: 6.0}),
    "sigmoid": ("Sigmoid", {}),
    "mish": ("Mish", {}),
    "hardswish": ("HardSwish", {0: 1 / 6, 1: 0.5}),
    "swish": ("Swish", {}),
    "tanh": ("TanH", {}),
    "elu": ("ELU", {0: 1.0}),
}


class ParamError(Exception):
    """The calls do not describe a network, or one that this module cannot write."""


def number(value):
    """A number as ncnn writes it: a float has an exponent, and is read back as the same binary32."""
    if isinstance(value, int):
        return "%d" % value
    exact = struct.unpack("<f", struct.pack("<f", value))[0]
    for digits in (6, 7, 8):
        text = "%.*e" % (digits, exact)
        if struct.unpack("<f", struct.pack("<f", float(text)))[0] == exact:
            break
    return text


def setting(key, value):
    if isinstance(value, (list, tuple)):
        return "-%d=%s" % (23300 + key, ",".join([str(len(value))] + [number(v) for v in value]))
    if isinstance(value, str):
        return '%d="%s"' % (key, value)
    return "%d=%s" % (key, number(value))


class Net:
    """Layers in the order in which they were added. Shapes are (w, h, c), or (w,) for one dimension."""

    def __init__(self, fuse=True):
        self.layers = []  # type, name, inputs, outputs, settings
        self.shape = {}
        self.fuse = fuse  # False: batch norm and activations are layers of their own, as in a trained network
        self.macs = 0
        self.weights = 0  # numbers in the .bin, biases included

    def add(self, kind, inputs, settings, shapes, name=None):
        """A layer with one output for each shape. Returns the blob, or the list of blobs."""
        name = name or "%s_%d" % (kind.lower(), len(self.layers))
        if any(layer[1] == name for layer in self.layers):
            raise ParamError("layer '%s' is there twice" % name)
        for blob in inputs:
            if blob not in self.shape:
                raise ParamError("layer '%s' reads '%s', which no layer before it writes" % (name, blob))
        outputs = [name] if len(shapes) == 1 else ["%s_%d" % (name, i) for i in range(len(shapes))]
        for blob, shape in zip(outputs, shapes):
            if min(shape) < 1:
                raise ParamError("layer '%s' has an output of shape %s" % (name, "x".join(map(str, shape))))
            self.shape[blob] = tuple(shape)
        self.layers.append((kind, name, list(inputs), outputs, settings))
        return outputs[0] if len(outputs) == 1 else outputs

    def input(self, w, h, c, name="data"):
        return self.add("Input", [], {0: w, 1: h, 2: c}, [(w, h, c)], name)

    def activation(self, x, act, name=None):
        if act == "linear":
            return x
        if act not in SEPARATE:
            raise ParamError("activation '%s' is not known" % act)
        kind, settings = SEPARATE[act]
        return self.add(kind, [x], settings, [self.shape[x]], name)

    def conv(self, x, filters, k=1, s=1, p=None, act="linear", groups=1, bn=False, bias=True, name=None):
        """Convolution, grouped when groups > 1; p None: k // 2. s and p are numbers or (w, h). bn: batch norm follows,
        folded when self.fuse."""
        w, h, c = self.shape[x]
        sw, sh = s if isinstance(s, tuple) else (s, s)
        pad = k // 2 if p is None else p
        if c % groups or filters % groups:
            raise ParamError("%d channels in, %d out do not divide into %d groups" % (c, filters, groups))
        separate = bn and not self.fuse
        has_bias = bias and not separate
        fused = act if self.fuse and act in FUSED else "linear"
        size = filters * (c // groups) * k * k
        settings = {0: filters, 1: k}
        settings.update({3: sw} if sw != 1 or sh != 1 else {})
        settings.update({13: sh} if sh != sw else {})
        settings.update({4: pad} if pad else {})
        settings.update({5: 1} if has_bias else {})
        settings[6] = size
        settings.update({7: groups} if groups > 1 else {})
        kind, values = FUSED[fused]
        settings.update({9: kind} if kind else {})
        settings.update({10: values} if values else {})
        shape = ((w + 2 * pad - k) // sw + 1, (h + 2 * pad - k) // sh + 1, filters)
        self.macs += size * shape[0] * shape[1]
        self.weights += size + (filters if has_bias else 0)
        y = self.add("ConvolutionDepthWise" if groups > 1 else "Convolution", [x], settings, [shape], name)
        if separate:
            self.weights += 4 * filters
            y = self.add("BatchNorm", [y], {0: filters, 1: 1e-5}, [shape], y + "_bn")
        return y if fused == act else self.activation(y, act, y + "_" + act)

    def deconv_depthwise(self, x, k, s, p, name=None):
        """Upsampling by a depthwise deconvolution without bias."""
        w, h, c = self.shape[x]
        settings = {0: c, 1: k, 3: s, 4: p, 6: c * k * k, 7: c}
        self.macs += w * h * c * k * k
        self.weights += c * k * k
        return self.add("DeconvolutionDepthWise", [x], settings,
                        [((w - 1) * s + k - 2 * p, (h - 1) * s + k - 2 * p, c)], name)

    def pool(self, x, k, s, pad=(0, 0), avg=False, up=False, name=None):
        """pad: before and after, on both axes. up: a partial last window is included, as in Caffe."""
        w, h, c = self.shape[x]
        settings = {0: 1} if avg else {}
        settings.update({1: k, 2: s, 3: pad[0], 14: pad[1], 13: pad[0], 15: pad[1], 5: 0 if up else 1})
        settings = {key: value for key, value in settings.items() if value or key in (1, 2)}
        more = sum(pad) - k + (s - 1 if up else 0)
        return self.add("Pooling", [x], settings, [((w + more) // s + 1, (h + more) // s + 1, c)], name)

    def global_average(self, x, name=None):
        return self.add("Pooling", [x], {0: 1, 4: 1}, [(self.shape[x][-1],)], name)

    def dense(self, x, outputs, act="linear", name=None):
        size = outputs
        for n in self.shape[x]:
            size *= n
        fused = act if self.fuse and act in FUSED else "linear"
        kind, values = FUSED[fused]
        settings = {0: outputs, 1: 1, 2: size}
        settings.update({9: kind} if kind else {})
        settings.update({10: values} if values else {})
        self.macs += size
        self.weights += size + outputs
        y = self.add("InnerProduct", [x], settings, [(outputs,)], name)
        return y if fused == act else self.activation(y, act, y + "_" + act)

    def sum(self, a, b, name=None):
        if self.shape[a] != self.shape[b]:
            raise ParamError("sum of '%s' %s and '%s' %s: the shapes differ" % (a, self.shape[a], b, self.shape[b]))
        return self.add("BinaryOp", [a, b], {0: 0}, [self.shape[a]], name)

    def concat(self, blobs, name=None):
        w, h, _ = self.shape[blobs[0]]
        for blob in blobs:
            if self.shape[blob][:2] != (w, h):
                raise ParamError("concat of '%s' %s and '%s' %s: widths and heights differ" %
                                 (blobs[0], self.shape[blobs[0]], blob, self.shape[blob]))
        return self.add("Concat", blobs, {}, [(w, h, sum(self.shape[blob][2] for blob in blobs))], name)

    def resize(self, x, w, h, name=None):
        """Nearest neighbour; whole factors are written as factors."""
        have_w, have_h, c = self.shape[x]
        if w % have_w == 0 and h % have_h == 0:
            settings = {0: 1, 1: h / have_h, 2: w / have_w}
        else:
            settings = {0: 1, 3: h, 4: w}
        return self.add("Interp", [x], settings, [(w, h, c)], name)

    def channels(self, x, first, count, name=None):
        """Some channels of a blob."""
        w, h, c = self.shape[x]
        if first + count > c:
            raise ParamError("channels %d..%d of '%s', which has %d" % (first, first + count - 1, x, c))
        return self.add("Crop", [x], {2: first, 3: w, 4: h, 5: count}, [(w, h, count)], name)

    def text(self):
        """The file. A blob with several readers goes through a Split."""
        readers = {}
        for _, _, inputs, _, _ in self.layers:
            for blob in inputs:
                readers[blob] = readers.get(blob, 0) + 1
        lines = []
        blobs = 0
        taken = {}

        def line(kind, name, inputs, outputs, settings):
            nonlocal blobs
            blobs += len(outputs)
            words = ["%-24s %-24s %d %d" % (kind, name, len(inputs), len(outputs))] + inputs + outputs
            lines.append(" ".join(words + [setting(key, value) for key, value in settings.items()]))

        for kind, name, inputs, outputs, settings in self.layers:
            names = []
            for blob in inputs:
                copy = taken.get(blob, 0)
                taken[blob] = copy + 1
                names.append("%s_split_%d" % (blob, copy) if readers[blob] > 1 else blob)
            line(kind, name, names, outputs, settings)
            for blob in outputs:
                if readers.get(blob, 0) > 1:
                    line("Split", blob + "_split", [blob],
                         ["%s_split_%d" % (blob, i) for i in range(readers[blob])], {})
        return "%d\n%d %d\n%s\n" % (MAGIC, len(lines), blobs, "\n".join(lines))

    def summary(self):
        return "%d layers, %.3f GMAC, %d weights and biases" % (len(self.layers), self.macs / 1e9, self.weights)


def yolo_detection(net, heads, classes, anchors, masks, scale_xy, confidence=0.3, nms=0.45, name="output"):
    """ncnn's layer after the heads of YOLOv3 and YOLOv4. anchors: all of them, as w, h; masks: those of each head;
    scale_xy: of each head, 1.0 in YOLOv3."""
    width = net.shape[net.layers[0][3][0]][0]
    for head, mask in zip(heads, masks):
        if net.shape[head][2] != len(mask) * (5 + classes):
            raise ParamError("head '%s' has %d channels, %d anchors and %d classes need %d" %
                             (head, net.shape[head][2], len(mask), classes, len(mask) * (5 + classes)))
    settings = {
        0: classes,
        1: len(masks[0]),
        2: confidence,
        3: nms,
        4: [float(a) for a in anchors],
        5: [float(m) for mask in masks for m in mask],
        6: [scale * width / net.shape[head][0] for head, scale in zip(heads, scale_xy)],
    }
    return net.add("Yolov3DetectionOutput", heads, settings, [(6, 1)], name)


def region_detection(net, heads, classes, anchors, confidence=0.3, nms=0.45, name="output"):
    """ncnn's layer after the heads of YOLOv2."""
    boxes = len(anchors) // 2
    for head in heads:
        if net.shape[head][2] != boxes * (5 + classes):
            raise ParamError("head '%s' has %d channels, %d anchors and %d classes need %d" %
                             (head, net.shape[head][2], boxes, classes, boxes * (5 + classes)))
    settings = {0: classes, 1: boxes, 2: confidence, 3: nms, 4: [float(a) for a in anchors]}
    return net.add("YoloDetectionOutput", heads, settings, [(6, 1)], name)


def write_file(path, text):
    """Written to a temporary name, then renamed."""
    import os
    temporary = "%s.tmp.%d" % (path, os.getpid())
    try:
        with open(temporary, "w", encoding="ascii") as out:
            out.write(text)
        os.replace(temporary, path)
    except OSError:
        if os.path.exists(temporary):
            os.unlink(temporary)
        raise
