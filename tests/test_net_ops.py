"""Every layer type of the table in FP32 against NumPy: networks of one layer with seeded random weights, written here,
run by tandem-net --layers."""
import math
import os
import re
import struct
import subprocess

import pytest

np = pytest.importorskip("numpy", reason="not run: needs python3-numpy (make deps)")

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PROGRAM = os.path.join(ROOT, os.environ.get("HOST", os.path.join(os.environ.get("BUILD", "build"), "host")),
                       "tandem-net-model")
pytestmark = pytest.mark.skipif(not os.access(PROGRAM, os.X_OK), reason="not run: tandem-net-model is not built")
EXACT = 0.0
NEAR = 2e-6  # of the largest value: sums in another order, libm


class Layer:
    """One layer under test: inputs, settings, arrays of its .bin in order."""

    def __init__(self, tmp_path):
        self.tmp = tmp_path
        self.rng = np.random.default_rng(20)

    def input(self, *shape, scale=1.0):
        return (self.rng.standard_normal(shape) * scale).astype(np.float32)

    def weights(self, *shape):
        return self.rng.standard_normal(shape).astype(np.float32)

    def run(self, kind, inputs, settings="", tagged=None, raw=(), outputs=1, fails=None):
        """Outputs as arrays with the program's shapes. `fails`: part of the one error line that is expected instead."""
        names = ["i%d" % i for i in range(len(inputs))]
        outs = ["o%d" % i for i in range(outputs)]
        lines = ["7767517", "%d %d" % (len(inputs) + 1, len(inputs) + outputs)]
        for name, x in zip(names, inputs):
            keys = (0, 1, 11, 2) if x.ndim == 4 else range(x.ndim)
            lines.append("Input %s 0 1 %s %s" % (name, name,
                                                 " ".join("%d=%d" % (k, n) for k, n in zip(keys, reversed(x.shape)))))
        lines.append(" ".join([kind, "under_test", str(len(inputs)), str(outputs)] + names + outs + [settings]))
        param, weights, data = self.tmp / "t.param", self.tmp / "t.bin", self.tmp / "t.f32"
        param.write_text("\n".join(lines) + "\n")
        with open(weights, "wb") as f:
            if tagged is not None:
                f.write(struct.pack("<I", 0) + tagged.astype("<f4").tobytes())
            for array in raw:
                f.write(np.asarray(array, dtype="<f4").tobytes())
        data.write_bytes(b"".join(x.astype("<f4").tobytes() for x in inputs))
        done = subprocess.run([PROGRAM, "--layers", "--net", param, "--bin", weights,
                               "--input", data, "--dump", self.tmp], cwd=ROOT,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60)
        if fails is not None:
            assert done.returncode == 2 and fails in done.stderr and "under_test" in done.stderr, done.stderr
            assert done.stderr.count("\n") == 1
            return None
        assert done.returncode == 0, done.stderr
        result = []
        for i, line in enumerate(x for x in done.stdout.split("\n")
                                 if x.startswith("output ") and x.split()[1] in outs):
            shape = tuple(int(n) for n in line.split()[2].split("x"))
            result.append(np.fromfile(self.tmp / ("%d.f32" % (len(inputs) + i)), dtype="<f4").reshape(shape))
        assert len(result) == outputs
        return result[0] if outputs == 1 else result


@pytest.fixture
def layer(tmp_path):
    return Layer(tmp_path)


def same(got, expected, limit):
    expected = np.asarray(expected, dtype=np.float64)
    assert got.shape == expected.shape
    worst = np.abs(got - expected).max()
    assert worst <= limit * max(1.0, np.abs(expected).max()), (worst, np.abs(expected).max())


# ---- activations as NumPy has them, in double precision ----

def sigmoid(x):
    return 1.0 / (1.0 + np.exp(-x))


def hard_sigmoid(x, alpha, beta):
    return np.clip(x * alpha + beta, 0.0, 1.0)


FUSED = {
    "": lambda x: x,
    "9=0": lambda x: x,
    "9=1": lambda x: np.maximum(x, 0),
    "9=2 -23310=1,0.125": lambda x: np.where(x > 0, x, 0.125 * x),
    "9=3 -23310=2,-0.5,1.5": lambda x: np.clip(x, -0.5, 1.5),
    "9=4": sigmoid,
    "9=5": lambda x: x * np.tanh(np.log1p(np.exp(x))),
    "9=6 -23310=2,0.25,0.5": lambda x: x * hard_sigmoid(x, 0.25, 0.5),
}

ACTIVATIONS = [
    ("ReLU", "", lambda x: np.maximum(x, 0), EXACT),
    ("ReLU", "0=0.25", lambda x: np.where(x > 0, x, 0.25 * x), EXACT),
    ("Clip", "0=-0.5 1=1.25", lambda x: np.clip(x, -0.5, 1.25), EXACT),
    ("Clip", "", lambda x: x, EXACT),
    ("Sigmoid", "", sigmoid, NEAR),
    ("Swish", "", lambda x: x * sigmoid(x), NEAR),
    ("TanH", "", np.tanh, NEAR),
    ("Mish", "", lambda x: x * np.tanh(np.log1p(np.exp(x))), NEAR),
    ("HardSwish", "", lambda x: x * hard_sigmoid(x, 0.2, 0.5), NEAR),
    ("HardSwish", "0=0.16666667 1=0.5", lambda x: x * hard_sigmoid(x, 1 / 6, 0.5), NEAR),
    ("HardSigmoid", "", lambda x: hard_sigmoid(x, 0.2, 0.5), NEAR),
    ("ELU", "", lambda x: np.where(x < 0, 0.1 * np.expm1(x), x), NEAR),
    ("ELU", "0=0.5", lambda x: np.where(x < 0, 0.5 * np.expm1(x), x), NEAR),
    ("SELU", "", lambda x: 1.050700987 * np.where(x < 0, 1.67326324 * np.expm1(x), x), NEAR),
    ("Softplus", "", lambda x: np.logaddexp(0, x), NEAR),
    ("Threshold", "", lambda x: x > 0, EXACT),
    ("Threshold", "0=-0.5", lambda x: x > -0.5, EXACT),
    ("Erf", "", np.vectorize(math.erf), NEAR),
    ("Dropout", "", lambda x: x, EXACT),
    ("Dropout", "0=0.5", lambda x: 0.5 * x, EXACT),
    ("Noop", "", lambda x: x, EXACT),
    ("Split", "", lambda x: x, EXACT),
]


@pytest.mark.parametrize("kind, settings, f, limit", ACTIVATIONS)
@pytest.mark.parametrize("shape", [(37,), (3, 5, 7)])
def test_activation(layer, kind, settings, f, limit, shape):
    x = layer.input(*shape, scale=3.0)
    same(layer.run(kind, [x], settings), f(x.astype(np.float64)), limit)


def test_activation_limits(layer):
    x = np.array([np.inf, -np.inf, 1e30, -1e30, 0.0, -0.0, 89.0, -89.0], dtype=np.float32)
    assert np.array_equal(layer.run("ReLU", [x]), np.maximum(x, 0)) and not np.signbit(layer.run("ReLU", [x])).any()
    same(layer.run("Sigmoid", [x]), [1, 0, 1, 0, 0.5, 0.5, 1, 0], 1e-30)
    same(layer.run("Softplus", [x[2:]]), [1e30, 0, np.log(2), np.log(2), 89, 0], NEAR)
    assert np.isposinf(layer.run("Softplus", [x])[0]) and layer.run("Softplus", [x])[1] == 0
    same(layer.run("Threshold", [np.array([np.nan, np.inf, -np.inf, -0.0, 1e-45], np.float32)]), [0, 1, 0, 0, 1], EXACT)
    layer.run("HardSwish", [x], "0=0.0", fails="alpha (key 0) is 0")


@pytest.mark.parametrize("shape", [(6,), (6, 4), (6, 3, 5)])
@pytest.mark.parametrize("slopes", [1, 6])
def test_prelu(layer, shape, slopes):
    x, slope = layer.input(*shape), layer.weights(slopes)
    along = slope.reshape((slopes,) + (1,) * (len(shape) - 1))
    same(layer.run("PReLU", [x], "0=%d" % slopes, raw=[slope]), np.where(x > 0, x, x * along), EXACT)


def test_prelu_refuses(layer):
    layer.run("PReLU", [layer.input(6)], "0=4", raw=[layer.weights(4)], fails="4 slopes (key 0), expected 1 or 6")


# ---- layers with weights ----

def convolve(x, w, stride, dilation, pads, groups):
    """x [C][H][W], w [O][C/groups][KH][KW], pads left, right, top, bottom; in double precision."""
    left, right, top, bottom = pads
    x = np.pad(x.astype(np.float64), ((0, 0), (top, bottom), (left, right)))
    out_channels, in_channels, kh, kw = w.shape
    oh = (x.shape[1] - (kh - 1) * dilation[0] - 1) // stride[0] + 1
    ow = (x.shape[2] - (kw - 1) * dilation[1] - 1) // stride[1] + 1
    y = np.zeros((out_channels, oh, ow))
    for g in range(groups):
        part = slice(g * out_channels // groups, (g + 1) * out_channels // groups)
        channels = x[g * in_channels:(g + 1) * in_channels]
        for i in range(kh):
            for j in range(kw):
                rows, cols = i * dilation[0], j * dilation[1]
                window = channels[:, rows:rows + (oh - 1) * stride[0] + 1:stride[0],
                                  cols:cols + (ow - 1) * stride[1] + 1:stride[1]]
                y[part] += np.einsum("oc,chw->ohw", w[part, :, i, j].astype(np.float64), window)
    return y


def transposed(x, w, stride, dilation, pads, extra, groups):
    """Convolution transposed: x [C][H][W], w [O][C/groups][KH][KW]."""
    left, right, top, bottom = pads
    out_channels, in_channels, kh, kw = w.shape
    h = (x.shape[1] - 1) * stride[0] + (kh - 1) * dilation[0] + 1 + extra[0]
    width = (x.shape[2] - 1) * stride[1] + (kw - 1) * dilation[1] + 1 + extra[1]
    y = np.zeros((out_channels, h, width))
    for o in range(out_channels):
        first = o // (out_channels // groups) * in_channels
        for c in range(in_channels):
            for i in range(kh):
                for j in range(kw):
                    rows, cols = i * dilation[0], j * dilation[1]
                    y[o, rows:rows + (x.shape[1] - 1) * stride[0] + 1:stride[0],
                      cols:cols + (x.shape[2] - 1) * stride[1] + 1:stride[1]] += \
                        x[first + c].astype(np.float64) * w[o, c, i, j]
    return y[:, top:h - bottom, left:width - right]


CONVOLUTIONS = [
    # in, h, w, out, groups, (kh, kw), (stride), (dilation), (left, right, top, bottom)
    (3, 9, 8, 5, 1, (3, 3), (1, 1), (1, 1), (1, 1, 1, 1)),
    (4, 7, 11, 3, 1, (1, 1), (1, 1), (1, 1), (0, 0, 0, 0)),
    (4, 7, 11, 3, 1, (1, 1), (2, 2), (1, 1), (0, 0, 0, 0)),
    (4, 7, 11, 3, 1, (1, 1), (1, 1), (1, 1), (1, 0, 0, 2)),
    (2, 10, 9, 4, 1, (2, 5), (3, 2), (1, 1), (2, 0, 1, 3)),
    (2, 12, 13, 4, 1, (3, 2), (1, 2), (2, 3), (4, 3, 2, 1)),
    (2, 3, 3, 2, 1, (3, 3), (1, 1), (1, 1), (5, 4, 6, 3)),  # windows that see padding only
    (6, 8, 7, 4, 2, (3, 3), (2, 1), (1, 1), (1, 1, 1, 1)),
    (6, 8, 7, 6, 6, (3, 3), (1, 2), (1, 1), (1, 1, 1, 1)),
    (3, 6, 5, 6, 3, (2, 2), (1, 1), (1, 2), (0, 1, 1, 0)),
]


def conv_settings(kernel, stride, dilation, pads):
    return "1=%d 11=%d 3=%d 13=%d 2=%d 12=%d 4=%d 15=%d 14=%d 16=%d" % (kernel[1], kernel[0], stride[1],
                                                                        stride[0], dilation[1], dilation[0], *pads)


@pytest.mark.parametrize("shape", CONVOLUTIONS)
@pytest.mark.parametrize("act", ["", "9=2 -23310=1,0.125"])
def test_convolution(layer, shape, act):
    c, h, w, out, groups, kernel, stride, dilation, pads = shape
    x, weight, bias = layer.input(c, h, w), layer.weights(out, c // groups, *kernel), layer.weights(out)
    kind = "Convolution" if groups == 1 else "ConvolutionDepthWise"
    settings = "0=%d 5=1 6=%d 7=%d %s %s" % (out, weight.size, groups,
                                             conv_settings(kernel, stride, dilation, pads), act)
    y = convolve(x, weight, stride, dilation, pads, groups) + bias[:, None, None]
    same(layer.run(kind, [x], settings, tagged=weight, raw=[bias]), FUSED[act](y), NEAR)


@pytest.mark.parametrize("mode, h, w, stride, pads",
                         [(-233, 9, 8, 2, (0, 1, 1, 1)), (-234, 9, 8, 2, (1, 0, 1, 1)), (-233, 5, 6, 1, (1, 1, 1, 1))])
def test_convolution_same(layer, mode, h, w, stride, pads):
    x, weight = layer.input(2, h, w), layer.weights(3, 2, 3, 3)
    settings = "0=3 1=3 3=%d 4=%d 6=54" % (stride, mode)
    y = layer.run("Convolution", [x], settings, tagged=weight)
    assert y.shape[1:] == (-(-h // stride), -(-w // stride))
    same(y, convolve(x, weight, (stride, stride), (1, 1), pads, 1), NEAR)


@pytest.mark.parametrize("act", list(FUSED))
def test_fused_activation(layer, act):
    x, weight, bias = layer.input(40), layer.weights(7, 40), layer.weights(7)
    y = FUSED[act](weight.astype(np.float64) @ x + bias)
    same(layer.run("InnerProduct", [x], "0=7 1=1 2=280 " + act, tagged=weight, raw=[bias]), y, NEAR)
    # a 1x1 convolution of a vector is the same
    same(layer.run("Convolution", [x], "0=7 1=1 5=1 6=280 " + act, tagged=weight, raw=[bias]), y, NEAR)


@pytest.mark.parametrize("shape", [(24,), (2, 3, 4), (5, 6)])
def test_inner_product(layer, shape):
    x = layer.input(*shape)
    n = 6 if len(shape) == 2 else 24  # a matrix with rows of the right length is a batch
    weight = layer.weights(3, n)
    same(layer.run("InnerProduct", [x], "0=3 2=%d" % weight.size, tagged=weight),
         x.reshape(-1, n) @ weight.T if n == 6 else weight @ x.reshape(-1), NEAR)


@pytest.mark.parametrize("groups", [1, 2, 4])
@pytest.mark.parametrize("kernel, stride, dilation, pads, extra", [
    ((4, 4), (2, 2), (1, 1), (1, 1, 1, 1), (0, 0)),
    ((3, 2), (2, 3), (2, 1), (0, 2, 1, 0), (0, 0)),
    ((1, 1), (2, 2), (1, 1), (0, 0, 0, 0), (1, 1)),
])
def test_deconvolution(layer, groups, kernel, stride, dilation, pads, extra):
    x, weight, bias = layer.input(4, 5, 3), layer.weights(8, 4 // groups, *kernel), layer.weights(8)
    kind = "Deconvolution" if groups == 1 else "DeconvolutionDepthWise"
    settings = ("0=8 5=1 6=%d 7=%d %s 18=%d 19=%d 9=1" %
                (weight.size, groups, conv_settings(kernel, stride, dilation, pads), extra[1], extra[0]))
    y = transposed(x, weight, stride, dilation, pads, extra, groups) + bias[:, None, None]
    same(layer.run(kind, [x], settings, tagged=weight, raw=[bias]), np.maximum(y, 0), NEAR)


@pytest.mark.parametrize("kind, settings, fails", [
    ("Convolution", "0=2 1=1 6=8 9=7", "activation type 7 is not supported"),
    ("Convolution", "0=2 1=1 6=8 9=2", "activation type 2 with 0 parameters (key 10), expected 1"),
    ("ConvolutionDepthWise", "0=2 1=1 6=8 7=3", "3 groups do not divide 4 input and 2 output channels"),
    ("ConvolutionDepthWise", "0=4 1=1 6=16 7=2", "16 weights (key 6), but 4 outputs x 2 channels x 1x1 need 8"),
    ("Deconvolution", "0=2 1=1 6=8 20=9 21=9", "given output size"),
    ("Deconvolution", "0=2 1=1 6=8 4=-233", "expected 0..65535 each"),
    ("Deconvolution", "0=2 1=1 6=8 4=3", "an output of 3x3 without its padding"),
    ("InnerProduct", "0=2 2=8", "8 weights (key 2), but 2 outputs x 36 channels x 1x1 need 72"),
])
def test_weighted_refuses(layer, kind, settings, fails):
    weight = layer.weights(16 if "6=16" in settings else 8)
    layer.run(kind, [layer.input(4, 3, 3)], settings, tagged=weight, fails=fails)


# ---- pooling ----

def pool(x, mode, kernel, stride, pads, average, count_padding):
    """pads left, right, top, bottom as the planner should find them; windows are clipped to the map."""
    c, h, w = x.shape
    left, right, top, bottom = pads
    oh, ow = (h + top + bottom - kernel[0]) // stride[0] + 1, (w + left + right - kernel[1]) // stride[1] + 1
    y = np.zeros((c, oh, ow))
    for i in range(oh):
        for j in range(ow):
            r, s = i * stride[0] - top, j * stride[1] - left
            part = x[:, max(r, 0):min(r + kernel[0], h), max(s, 0):min(s + kernel[1], w)].astype(np.float64)
            if average:
                y[:, i, j] = part.sum((1, 2)) / (kernel[0] * kernel[1]
                                                 if count_padding else part.shape[1] * part.shape[2])
            else:
                y[:, i, j] = part.max((1, 2))
    return y


POOLS = [
    # h, w, settings, kernel, stride, left, right, top, bottom
    (8, 8, "1=2 2=2", (2, 2), (2, 2), (0, 0, 0, 0)),
    (7, 9, "1=3 2=2", (3, 3), (2, 2), (0, 0, 0, 0)),
    (8, 10, "1=3 2=2", (3, 3), (2, 2), (0, 1, 0, 1)),  # full: the last window hangs over
    (8, 10, "1=3 2=2 5=1", (3, 3), (2, 2), (0, 0, 0, 0)),
    (8, 10, "1=3 2=2 3=1", (3, 3), (2, 2), (1, 2, 1, 2)),
    (8, 10, "1=3 11=2 2=1 12=2 3=1 14=0 13=1 15=1 5=1", (2, 3), (2, 1), (1, 0, 1, 1)),
    (8, 9, "1=3 2=2 5=2", (3, 3), (2, 2), (1, 1, 0, 1)),
    (8, 9, "1=3 2=2 5=3", (3, 3), (2, 2), (1, 1, 1, 0)),
    (13, 13, "1=2 2=1 5=2", (2, 2), (1, 1), (0, 1, 0, 1)),
]


@pytest.mark.parametrize("h, w, settings, kernel, stride, pads", POOLS)
@pytest.mark.parametrize("average, count_padding", [(False, False), (True, False), (True, True)])
def test_pooling(layer, h, w, settings, kernel, stride, pads, average, count_padding):
    x = layer.input(3, h, w) - 2.0  # a maximum over padding must not be 0
    got = layer.run("Pooling", [x], "0=%d 6=%d %s" % (average, count_padding, settings))
    same(got, pool(x, None, kernel, stride, pads, average, count_padding), NEAR if average else EXACT)


def test_pooling_global_and_adaptive(layer):
    x = layer.input(5, 7, 6)
    same(layer.run("Pooling", [x], "0=0 4=1"), x.max((1, 2)), EXACT)
    same(layer.run("Pooling", [x], "0=1 4=1"), x.astype(np.float64).mean((1, 2)), NEAR)
    expected = np.zeros((5, 3, 4))
    for i in range(3):
        for j in range(4):
            expected[:, i, j] = (
                x[:, 7 * i // 3:-(-7 * (i + 1) // 3), 6 * j // 4:-(-6 * (j + 1) // 4)].astype(np.float64).mean((1, 2)))
    same(layer.run("Pooling", [x], "0=1 7=1 8=4 18=3"), expected, NEAR)
    same(layer.run("Pooling", [x], "0=0 7=1 8=-233 18=-233"), x, EXACT)


@pytest.mark.parametrize("settings, fails", [
    ("1=2 2=2 0=2", "type of pooling (key 0) is 2"),
    ("1=0", "kernel width (key 1) is 0"),
    ("1=2 2=1 3=2", "a window that covers nothing but padding is not supported"),
    ("1=9 5=1", "a window of 9 on 4 padded elements"),
    ("1=2 5=4", "padding mode (key 5) is 4"),
])
def test_pooling_refuses(layer, settings, fails):
    layer.run("Pooling", [layer.input(1, 4, 4)], settings, fails=fails)


# ---- pairs and axes ----

BINARY = [np.add, np.subtract, np.multiply, np.divide, np.maximum, np.minimum,
          None, lambda a, b: b - a, lambda a, b: b / a, None, np.arctan2, lambda a, b: np.arctan2(b, a)]
BINARY[6], BINARY[9] = (lambda a, b: np.abs(a) ** b), (lambda a, b: np.abs(b) ** a)


@pytest.mark.parametrize("op", range(12))
def test_binary(layer, op):
    a, b = layer.input(3, 4, 5), layer.input(3, 4, 5)
    if op == 6:
        a = np.abs(a)
    if op == 9:
        b = np.abs(b)
    same(layer.run("BinaryOp", [a, b], "0=%d" % op), BINARY[op](a.astype(np.float64), b.astype(np.float64)), NEAR)
    same(layer.run("BinaryOp", [a], "0=%d 1=1 2=1.5" % op), BINARY[op](a.astype(np.float64) if op != 9 else a, 1.5),
         NEAR)


@pytest.mark.parametrize("a, b, view_a, view_b", [
    ((3, 4, 5), (3, 1, 1), None, None),
    ((3, 4, 5), (1, 4, 5), None, None),
    ((3, 4, 5), (3, 4, 1), None, None),
    ((3, 1, 5), (3, 4, 1), None, None),
    ((3, 4, 5), (3,), None, (3, 1, 1)),      # a vector as long as the outermost dimension runs along it
    ((3, 4, 5), (5,), None, (1, 1, 5)),      # otherwise along the innermost one
    ((3, 4, 5), (1,), None, (1, 1, 1)),
    ((3, 4, 5), (3, 4), None, (3, 4, 1)),    # a matrix runs along the outer two
    ((6, 5), (6,), None, (6, 1)),
    ((6, 5), (5,), None, (1, 5)),
    ((7,), (1,), None, None),
])
def test_binary_broadcast(layer, a, b, view_a, view_b):
    x, y = layer.input(*a), layer.input(*b)
    expected = x.reshape(view_a or a) - y.reshape(view_b or b)
    same(layer.run("BinaryOp", [x, y], "0=1"), expected, EXACT)
    same(layer.run("BinaryOp", [y, x], "0=1"), -expected, EXACT)


@pytest.mark.parametrize("a, b", [((16, 2, 3), (80, 2, 3)), ((5, 2, 3), (5, 7, 3)), ((3, 9, 4), (5, 2, 1))])
def test_binary_repeats_the_last(layer, a, b):
    """Fewer maps or rows: the last one repeats, as in ncnn's plain C++ layer."""
    x, y = layer.input(*a), layer.input(*b)
    c, h, w = np.maximum(a, b)
    view = [v[np.minimum(np.arange(c), len(v) - 1)][:, np.minimum(np.arange(h), v.shape[1] - 1)] for v in (x, y)]
    same(layer.run("BinaryOp", [x, y], "0=1"), (view[0] - view[1]) + np.zeros((c, h, w), np.float32), EXACT)


def test_binary_refuses(layer):
    layer.run("BinaryOp", [layer.input(3, 4, 5), layer.input(3, 4, 2)],
              "0=0", fails="inputs of 3x4x5 and 3x4x2 (c, h, w) do not fit together")
    layer.run("BinaryOp", [layer.input(3)], "0=0", fails="1 inputs, expected 2")
    layer.run("BinaryOp", [layer.input(3)], "0=12 1=1", fails="operation (key 0) is 12")


UNARY = [np.abs, np.negative, np.floor, np.ceil, np.square, np.sqrt, lambda x: 1 / np.sqrt(x), np.exp, np.log,
         np.sin, np.cos, np.tan, np.arcsin, np.arccos, np.arctan, lambda x: 1 / x, np.tanh, np.log10, np.rint, np.trunc]


@pytest.mark.parametrize("op", range(20))
def test_unary(layer, op):
    x = layer.rng.uniform(0.05, 0.95, (3, 4, 5)).astype(np.float32)
    if op in (0, 1, 2, 3, 4, 18, 19):
        x = np.concatenate([(x - 0.5) * 6, np.array([[[0.5, 1.5, 2.5, -0.5, -1.5]] * 4], dtype=np.float32)])
    same(layer.run("UnaryOp", [x], "0=%d" % op), UNARY[op](x.astype(np.float64)), NEAR)


def test_eltwise(layer):
    a, b, c = (layer.input(2, 3, 4) for _ in range(3))
    same(layer.run("Eltwise", [a, b, c], "0=0"), a * b * c, EXACT)
    same(layer.run("Eltwise", [a, b, c], "0=1"), a + b + c, EXACT)
    same(layer.run("Eltwise", [a, b], "0=1 -23301=2,0.5,-2.0"), a * np.float32(0.5) + b * np.float32(-2), EXACT)
    same(layer.run("Eltwise", [a, b, c], "0=2"), np.maximum(np.maximum(a, b), c), EXACT)
    layer.run("Eltwise", [a, layer.input(2, 3, 1)], "0=1", fails="input 1 is 2x3x1, input 0 2x3x4")
    layer.run("Eltwise", [a, b], "0=1 -23301=1,0.5", fails="1 coefficients (key 1) for 2 inputs")


REDUCTIONS = [np.sum, lambda x, axis: np.abs(x).sum(axis), lambda x, axis: (x * x).sum(axis), np.mean,
              np.max, np.min, np.prod, lambda x, axis: np.abs(x).sum(axis), lambda x, axis: np.sqrt((x * x).sum(axis)),
              lambda x, axis: np.log(x.sum(axis)), lambda x, axis: np.log(np.exp(x).sum(axis))]


@pytest.mark.parametrize("op", range(11))
def test_reduction(layer, op):
    x = layer.input(3, 4, 5)
    x = np.abs(x) + 0.1 if op == 9 else x
    wide = x.astype(np.float64)
    f = REDUCTIONS[op]
    same(layer.run("Reduction", [x], "0=%d 1=0 -23303=2,1,2 4=1 5=1" % op), f(wide, axis=(1, 2)).reshape(3, 1, 1), NEAR)
    same(layer.run("Reduction", [x], "0=%d 1=0 -23303=2,1,-1 5=1 2=0.5" % op), f(wide, axis=(1, 2)) * 0.5, NEAR)
    same(layer.run("Reduction", [x], "0=%d 1=0 -23303=1,0 5=1" % op), f(wide, axis=0), NEAR)
    same(layer.run("Reduction", [x], "0=%d" % op), f(wide, axis=(0, 1, 2)).reshape(1), 2 * NEAR)


def test_reduction_refuses(layer):
    layer.run("Reduction", [layer.input(3, 4)], "0=0 1=0 -23303=1,2 5=1",
              fails="an axis (key 3) outside a blob with 2 dimensions")
    layer.run("Reduction", [layer.input(3, 4)], "0=0 1=0 -23303=1,1", fails="old numbering")


# ---- normalisations ----

@pytest.mark.parametrize("shape", [(6,), (6, 5), (6, 3, 4)])
def test_batch_norm_and_scale(layer, shape):
    x = layer.input(*shape)
    slope, mean, var, bias = layer.weights(6), layer.weights(6), np.abs(layer.weights(6)), layer.weights(6)
    var[2] = 0.0

    def along(v):
        return v.astype(np.float64).reshape((6,) + (1,) * (len(shape) - 1))

    expected = along(slope) * (x - along(mean)) / np.sqrt(along(var) + 1e-3) + along(bias)
    same(layer.run("BatchNorm", [x], "0=6 1=0.001", raw=[slope, mean, var, bias]), expected, 5e-6)
    var[2] = 1e-8  # without epsilon a root of 0 counts as 1e-4
    expected = along(slope) * (x - along(mean)) / np.sqrt(along(var)) + along(bias)
    var[2] = 0.0
    same(layer.run("BatchNorm", [x], "0=6", raw=[slope, mean, var, bias]), expected, 5e-6)
    same(layer.run("Scale", [x], "0=6 1=1", raw=[slope, bias]), x * along(slope) + along(bias), NEAR)
    same(layer.run("Scale", [x], "0=6", raw=[slope]), x * slope.reshape(along(slope).shape), EXACT)
    same(layer.run("Scale", [x, slope], "0=-233"), x * slope.reshape(along(slope).shape), EXACT)


def test_norm_refuses(layer):
    layer.run("BatchNorm", [layer.input(6, 2)], "0=5", raw=[layer.weights(20)],
              fails="5 channels (key 0), the input has 6")
    layer.run("Scale", [layer.input(6, 2), layer.weights(5)], "0=-233", fails="a scale of 5 elements for 6 channels")
    layer.run("GroupNorm", [layer.input(6, 2, 2)], "0=4 1=6", raw=[layer.weights(12)],
              fails="4 groups do not divide 6 channels")
    layer.run("LRN", [layer.input(6, 2)], "", fails="an input with 2 dimensions is not supported")


@pytest.mark.parametrize("size", [3, 5])
def test_lrn(layer, size):
    x = layer.input(7, 5, 6).astype(np.float64)
    square = np.pad(x * x, ((size // 2, size // 2), (0, 0), (0, 0)))
    total = sum(square[i:i + 7] for i in range(size))
    same(layer.run("LRN", [x.astype(np.float32)], "1=%d 2=0.5 3=0.6 4=2.0" % size),
         x * (2.0 + 0.5 / size * total) ** -0.6, NEAR)
    half = size // 2
    square = np.pad(x * x, ((0, 0), (half, half), (half, half)))
    total = sum(square[:, i:i + 5, j:j + 6] for i in range(size) for j in range(size))
    same(layer.run("LRN", [x.astype(np.float32)], "0=1 1=%d 2=0.5" % size),
         x * (1.0 + 0.5 / size ** 2 * total) ** -0.75, NEAR)


@pytest.mark.parametrize("affine", [0, 1])
def test_group_norm(layer, affine):
    x, scale, bias = layer.input(8, 3, 5, scale=2.0) + 1.0, layer.weights(8), layer.weights(8)
    wide = x.astype(np.float64).reshape(4, -1)
    y = ((wide - wide.mean(1, keepdims=True)) / np.sqrt(wide.var(1, keepdims=True) + 1e-5)).reshape(8, 3, 5)
    y = y * scale[:, None, None] + bias[:, None, None] if affine else y
    same(layer.run("GroupNorm", [x.astype(np.float32)], "0=4 1=8 2=0.00001 3=%d" % affine,
                   raw=[scale, bias] if affine else []), y, 5e-6)


# ---- layers that move elements ----

def test_memory_data(layer):
    w = layer.weights(2, 3, 4)
    x = layer.input(1)
    param = "7767517\n2 2\nInput i 0 1 i 0=1\nMemoryData under_test 0 1 o 0=4 1=3 2=2\n"
    (layer.tmp / "m.param").write_text(param)
    (layer.tmp / "m.bin").write_bytes(w.astype("<f4").tobytes())
    (layer.tmp / "m.f32").write_bytes(x.tobytes())
    done = subprocess.run([PROGRAM, "--layers", "--net", layer.tmp / "m.param",
                           "--bin", layer.tmp / "m.bin", "--input", layer.tmp / "m.f32", "--dump", layer.tmp],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert "output     o 2x3x4 " in done.stdout
    assert np.array_equal(np.fromfile(layer.tmp / "1.f32", dtype="<f4").reshape(2, 3, 4), w)


def test_noop_and_split(layer):
    a, b = layer.input(2, 3), layer.input(4)
    same(layer.run("Noop", [a, b], ""), a, EXACT)  # the second input only has to exist
    got = layer.run("Noop", [a, b], "", outputs=2)
    assert np.array_equal(got[0], a) and np.array_equal(got[1], b)
    layer.run("Noop", [a], "", outputs=2, fails="2 outputs of 1 inputs")
    for y in layer.run("Split", [a], "", outputs=3):
        assert np.array_equal(y, a)


@pytest.mark.parametrize("settings, shape", [
    ("0=-1", (24,)), ("0=6 1=-1", (4, 6)), ("0=0 1=-1 2=1", (1, 6, 4)),
    ("0=2 1=0 2=-1", (4, 3, 2)), ("0=24 1=1", (1, 24)),
])
def test_reshape(layer, settings, shape):
    x = layer.input(2, 3, 4)
    got = layer.run("Reshape", [x], settings)
    assert np.array_equal(got, x.reshape(shape)) and np.array_equal(layer.run("Flatten", [x]), x.reshape(-1))


@pytest.mark.parametrize("expression, shape", [
    ("-1", (24,)), ("*(0w,0h),0c", (2, 12)), ("* 0w 2, // 0h 2, -1", (3, 1, 8)), ("0w,1w,-1", (3, 2, 4)),
    ("+(0w,-(1w,0)),max(1h,1),neg(-4)", (4, 1, 6)), ("ceil(/(0w,3)),min(0h,9),1c,-1", (4, 1, 3, 2)),
    ("round(2.5),floor(1.9),trunc(-1.5),8", (8, 1, 1, 3)), ("*(/(0w,8),*(2,0w)),square(sqrt(1)),-1", (6, 1, 4)),
    ("//(7,0w),abs(-2),sign(-3)", (12, 2, 1)), ("//(/(0h,2),0.5),-1", (8, 3)), ("0d,0w,0h,0c", (2, 3, 4, 1)),
])
def test_reshape_by_expression(layer, expression, shape):
    """Sizes w, h, c or w, h, d, c; of the inputs only the first gives elements."""
    x, other = layer.input(2, 3, 4), layer.input(1, 1, 2)
    if "1" not in re.findall(r"(\d)[whdc]", expression):
        assert np.array_equal(layer.run("Reshape", [x], '6="%s"' % expression), x.reshape(shape))
    assert np.array_equal(layer.run("Reshape", [x, other], '6="%s"' % expression), x.reshape(shape))


@pytest.mark.parametrize("expression, fails", [
    ("0w,x", "the expression of key 6: 'x' cannot be computed"), ("0w,1h", "'1h' cannot be computed"),
    ("//(0w,0)", "'//' cannot be computed"), ("/(0w,0)", "'/' cannot be computed"), ("+(0w", "'+' cannot be computed"),
    ("sqrt(-1)", "'sqrt' cannot be computed"), ("0w,0h,0d,0c,1", "the expression of key 6 has no sizes, or too many"),
    (",", "has no sizes"), ("*(2000000000,2)", "'*' cannot be computed"),
    ("12345678901234567890123456", "'...' is too long"), ("1e20", "gives no size"), ("nan", "'nan' cannot be computed"),
    ("-2,12", "impossible shape"), ("5,5", "cannot give 24 elements"), (",".join(["1"] * 70), "'1' cannot be computed"),
])
def test_bad_expressions(layer, expression, fails):
    layer.run("Reshape", [layer.input(2, 3, 4)], '6="%s"' % expression, fails=fails)


def test_reshape_of_several_inputs(layer):
    layer.run("Reshape", [layer.input(4), layer.input(4)], "0=2 1=2", fails="2 inputs without an expression (key 6)")


@pytest.mark.parametrize("kind", [1, 2, 3])
def test_interp_by_expression(layer, kind):
    """As with sizes in the settings; one size is the width."""
    x, other = layer.input(3, 5, 4), layer.input(2, 7, 9)
    for expression, inputs, sizes in (("*(0w,2),*(0h,2)", [x], "3=10 4=8"), ("1w,1h", [x, other], "3=7 4=9"),
                                      ("7", [x], "3=5 4=7"), ("//(0w,2),3", [x, other, other], "3=3 4=2")):
        got = layer.run("Interp", inputs, '0=%d 9="%s"' % (kind, expression))
        assert np.array_equal(got, layer.run("Interp", [x], "0=%d %s" % (kind, sizes)))
    layer.run("Interp", [x], '0=1 9="0w,0"', fails="a size of 0x4 (key 9)")
    layer.run("Interp", [x], '0=1 9="1,1,1"', fails="the expression of key 9 has no sizes, or too many")
    layer.run("Interp", [x, other, other], "0=1", fails="3 inputs without an expression (key 9)")


@pytest.mark.parametrize("dims, axis", [(1, 0), (2, 0), (2, 1), (2, -1), (3, 0), (3, 1), (3, 2), (3, -3), (3, -1)])
def test_concat_and_slice(layer, dims, axis):
    def part(n):
        shape = [4, 3, 5][:dims]
        shape[axis] = n
        return layer.input(*shape)

    parts = [part(2), part(7), part(1)]
    whole = np.concatenate(parts, axis)
    assert np.array_equal(layer.run("Concat", parts, "0=%d" % axis), whole)
    for settings in ("-23300=3,2,7,-233", "-23300=3,2,7,1", "-23302=2,2,9", "-23302=2,-8,-1"):
        got = layer.run("Slice", [whole], "%s 1=%d" % (settings, axis), outputs=3)
        assert all(np.array_equal(g, p) for g, p in zip(got, parts))
    even = layer.run("Slice", [whole], "-23300=3,-233,-233,-233 1=%d" % axis, outputs=3)
    assert [e.shape[axis] for e in even] == [3, 3, 4] and np.array_equal(np.concatenate(even, axis), whole)


def test_concat_by_addressing(tmp_path):
    """Inputs of a Concat along the outermost dimension lie in its output: two levels, a Split with both outputs in one
    Concat, an Input layer."""
    (tmp_path / "t.param").write_text(
        "7767517\n7 9\nInput a 0 1 a 0=3 1=2 2=2\nInput b 0 1 b 0=3 1=2 2=1\nSplit s 1 3 a a0 a1 a2\nReLU r 1 1 a1 c\n"
        "Concat inner 3 1 a0 b c x 0=0\nConcat outer 2 1 x a2 y 0=0\nUnaryOp n 1 1 y z 0=1\n")
    (tmp_path / "t.bin").write_bytes(b"")
    rng = np.random.default_rng(3)
    a, b = rng.standard_normal((2, 2, 3)).astype("<f4"), rng.standard_normal((1, 2, 3)).astype("<f4")
    (tmp_path / "t.f32").write_bytes(a.tobytes() + b.tobytes())
    done = subprocess.run([PROGRAM, "--layers", "--net", tmp_path / "t.param",
                           "--bin", tmp_path / "t.bin", "--input", tmp_path / "t.f32", "--dump", tmp_path],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    expected = np.concatenate([a, b, np.maximum(a, 0), a])
    for number, part in ((0, a), (1, b), (2, a), (5, np.maximum(a, 0)),
                         (6, expected[:5]), (7, expected), (8, -expected)):
        assert np.array_equal(np.fromfile(tmp_path / ("%d.f32" % number), dtype="<f4"), part.reshape(-1)), number


def test_concat_and_slice_refuse(layer):
    layer.run("Concat", [layer.input(2, 3), layer.input(2, 4)], "0=0", fails="does not fit to input 0 along axis 0")
    layer.run("Concat", [layer.input(2, 3), layer.input(3)], "0=0", fails="does not fit to input 0")
    layer.run("Concat", [layer.input(2)], "0=1", fails="axis 1 of a blob with 1 dimensions")
    layer.run("Slice", [layer.input(4)], "-23300=2,3,2", outputs=2, fails="part 1 of 2 along axis 0, 1 of 4 are left")
    layer.run("Slice", [layer.input(4)], "-23300=2,4,-233", outputs=2, fails="part 1 of 0")
    layer.run("Slice", [layer.input(4)], "-23300=1,4", outputs=2, fails="1 parts (keys 0, 2) for 2 outputs")
    layer.run("Slice", [layer.input(4)], "-23302=1,-5", outputs=2, fails="part 0 of -1")


# order of ncnn, fastest dimension first, as NumPy's axes from the outermost one (c, h, w)
ORDERS = [(0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)]


@pytest.mark.parametrize("order", range(6))
def test_permute(layer, order):
    x = layer.input(2, 3, 4)
    assert np.array_equal(layer.run("Permute", [x], "0=%d" % order), x.transpose(ORDERS[order]))
    if order < 2:
        y = layer.input(3, 4)
        assert np.array_equal(layer.run("Permute", [y], "0=%d" % order), y.T if order else y)
    else:
        layer.run("Permute", [layer.input(3, 4)], "0=%d" % order, fails="order (key 0) is %d, expected 0..1" % order)


@pytest.mark.parametrize("shape, axis",
                         [((5,), 0), ((3, 4), 0), ((3, 4), 1), ((2, 3, 4), 0), ((2, 3, 4), 1), ((2, 3, 4), -1)])
def test_tile(layer, shape, axis):
    x = layer.input(*shape)
    assert np.array_equal(layer.run("Tile", [x], "0=%d 1=3" % axis), np.concatenate([x] * 3, axis))


def test_tile_refuses(layer):
    layer.run("Tile", [layer.input(3)], "0=0 1=0", fails="number of tiles (key 1) is 0")
    layer.run("Tile", [layer.input(3)], "0=1 1=2", fails="axis 1 of a blob with 1 dimensions")
    layer.run("Tile", [layer.input(3)], "-23302=1,2", fails="a number of tiles for each axis (key 2) is not supported")


@pytest.mark.parametrize("groups, reverse", [(2, 0), (3, 0), (2, 1), (3, 1)])
def test_shuffle_channel(layer, groups, reverse):
    x = layer.input(6, 2, 3)
    n = 6 // groups if reverse else groups
    expected = x.reshape(n, 6 // n, 2, 3).transpose(1, 0, 2, 3).reshape(6, 2, 3)
    assert np.array_equal(layer.run("ShuffleChannel", [x], "0=%d 1=%d" % (groups, reverse)), expected)


def test_crop(layer):
    x = layer.input(6, 7, 8)
    assert np.array_equal(layer.run("Crop", [x], "0=1 1=2 2=3 3=4 4=5 5=2"), x[3:5, 2:7, 1:5])
    assert np.array_equal(layer.run("Crop", [x], "0=1 1=2 2=3 3=-233 4=-233 5=-233 6=2 8=1"), x[3:5, 2:, 1:6])
    assert np.array_equal(layer.run("Crop", [x], "-23309=1,2 -23310=1,5 -23311=1,0"), x[2:5])
    assert np.array_equal(layer.run("Crop", [x], "-23309=2,-5,1 -23310=2,-1,-233 -23311=2,-1,1"), x[:, 1:, -5:-1])
    assert np.array_equal(layer.run("Crop", [x, layer.input(6, 4, 5)], "0=2 1=1"), x[:, 1:5, 2:7])
    assert np.array_equal(layer.run("Crop", [x, layer.input(4, 5)], "0=2 1=1"), x[:, 1:5, 2:7])
    layer.run("Crop", [x],
              "-23309=1,5 -23310=1,5 -23311=1,0", fails="the window is empty or not inside the input of 6x7x8")
    layer.run("Crop", [x], "0=9 3=1 4=1 5=1", fails="the window is empty")
    layer.run("Crop", [x], "-23309=1,0 -23310=1,5 -23311=1,3", fails="the window is empty")
    assert np.array_equal(layer.run("Crop", [x], "-23309=1,1 -23310=1,0 -23311=1,2"), x[:, :, 1:])


def test_crop_by_expression(layer):
    x, other = layer.input(6, 7, 8), layer.input(2, 3, 5)
    for settings, inputs, expected in (
            ('19="1" 20="-(0w,1)" 21="-1"', [x], x[:, :, 1:7]),
            ('19="0,2" 20="1c,1w" 21="0,1"', [x, other], x[:2, 2:5]),
            ('19="//(0c,2),0,-3" 20="0c,-(0h,1h),-233"', [x, other], x[3:, :4, 5:]),
            ('19="-233" 20="1h" 21="2"', [x, other, other], x[:, :, :3])):
        assert np.array_equal(layer.run("Crop", inputs, settings), expected)
    layer.run("Crop", [x], '19="0w" 20="0w" 21="2"', fails="the window is empty")
    layer.run("Crop", [x], '19="0,0" 20="1"', fails="the window is empty")
    layer.run("Crop", [x], '19="y" 20="1" 21="0"', fails="the expression of key 19: 'y' cannot be computed")
    layer.run("Crop", [x], '19="0" 20="1,1,1,1"', fails="the expression of key 20 has no sizes, or too many")
    layer.run("Crop", [x, other, other], "0=1", fails="3 inputs without expressions (keys 19, 20)")


@pytest.mark.parametrize("mode, name", [(0, "constant"), (1, "edge"), (2, "reflect")])
def test_padding(layer, mode, name):
    x = layer.input(3, 4, 5)
    more = {"constant_values": 0.5} if mode == 0 else {}
    got = layer.run("Padding", [x], "0=1 1=2 2=3 3=1 4=%d 5=0.5 7=2 8=1" % mode)
    assert np.array_equal(got, np.pad(x, ((2, 1), (1, 2), (3, 1)), name, **more))
    got = layer.run("Padding", [x[0]], "0=1 1=2 2=3 3=1 4=%d 5=0.5" % mode)
    assert np.array_equal(got, np.pad(x[0], ((1, 2), (3, 1)), name, **more))
    got = layer.run("Padding", [x[0, 0]], "2=3 3=1 4=%d 5=0.5" % mode)
    assert np.array_equal(got, np.pad(x[0, 0], ((3, 1),), name, **more))


def test_padding_by_channel(layer):
    x, values = layer.input(3, 2, 2), layer.weights(3)
    got = layer.run("Padding", [x], "0=1 1=1 2=1 3=1 6=3", raw=[values])
    assert np.array_equal(got, np.stack([np.pad(x[i], 1, constant_values=values[i]) for i in range(3)]))
    layer.run("Padding", [x], "0=1 6=2", raw=[values[:2]], fails="2 values (key 6) for 3 channels")
    layer.run("Padding", [x], "0=2 4=2", fails="a mirrored border of 2 and 0 around 2 elements")


# ---- resizing ----

def resize_axis(x, axis, size, kind, align):
    n = x.shape[axis]
    out = []
    for o in range(size):
        if kind == 1:
            out.append(np.take(x, min(int(o * (n / size)), n - 1), axis))
            continue
        source = o * (n - 1) / max(size - 1, 1) if align else (o + 0.5) * n / size - 0.5
        base = int(np.floor(source))
        f = source - base
        if kind == 2:
            taps = [(base, 1 - f), (base + 1, f)]
        else:
            a = -0.75

            def near(t):
                return (a + 2) * t ** 3 - (a + 3) * t ** 2 + 1

            def far(t):
                return a * t ** 3 - 5 * a * t ** 2 + 8 * a * t - 4 * a
            taps = [(base - 1, far(f + 1)), (base, near(f)), (base + 1, near(1 - f)), (base + 2, far(2 - f))]
        out.append(sum(np.take(x, min(max(t, 0), n - 1), axis) * weight for t, weight in taps))
    return np.stack(out, axis)


@pytest.mark.parametrize("kind", [1, 2, 3])
@pytest.mark.parametrize("h, w, settings, oh, ow", [
    (5, 6, "1=2.0 2=2.0", 10, 12), (5, 6, "1=3.0 2=0.5", 15, 3), (8, 6, "1=0.5 2=0.5", 4, 3),
    (5, 6, "3=7 4=9", 7, 9), (1, 4, "3=3 4=8", 3, 8), (5, 6, "3=5 4=6", 5, 6), (5, 6, "1=2.0 2=2.0 6=1", 10, 12),
])
def test_interp(layer, kind, h, w, settings, oh, ow):
    x = layer.input(2, h, w)
    align = "6=1" in settings
    got = layer.run("Interp", [x], "0=%d %s" % (kind, settings))
    wide = resize_axis(x.astype(np.float64), 2, ow, kind, align)
    same(got, resize_axis(wide, 1, oh, kind, align), EXACT if kind == 1 else 4e-6)


def test_interp_other(layer):
    x = layer.input(3)
    assert np.array_equal(layer.run("Interp", [x], "0=1 3=2 4=4"), np.broadcast_to(x[:, None, None], (3, 2, 4)))
    y = layer.input(2, 4, 4)
    assert layer.run("Interp", [y, layer.input(1, 6, 7)], "0=2").shape == (2, 6, 7)
    layer.run("Interp", [y], "1=2.0 2=2.0", fails="type of interpolation (key 0) is 0")
    layer.run("Interp", [y], "0=1 1=0.1 2=0.1", fails="impossible output shape")
    layer.run("Interp", [y[0]], "0=1 1=2.0 2=2.0", fails="an input with 2 dimensions is not supported")


# ---- ends of detectors ----

def softmax(x, axis):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


@pytest.mark.parametrize("shape, axis",
                         [((9,), 0), ((4, 5), 0), ((4, 5), 1), ((3, 4, 5), 0), ((3, 4, 5), 2), ((3, 4, 5), -2)])
def test_softmax(layer, shape, axis):
    x = layer.input(*shape, scale=4.0)
    same(layer.run("Softmax", [x], "0=%d 1=1" % axis), softmax(x.astype(np.float64), axis), NEAR)


def prior_boxes(h, w, image, smallest, largest, ratios, flip, clip, step, offset):
    rows = []
    for i in range(h):
        for j in range(w):
            x, y = (offset + j) * step[1], (offset + i) * step[0]
            for k, size in enumerate(smallest):
                sides = [(size, size)] + ([(np.sqrt(size * largest[k]),) * 2] if largest else [])
                for r in ratios:
                    sides.append((size * np.sqrt(r), size / np.sqrt(r)))
                    if flip:
                        sides.append((size / np.sqrt(r), size * np.sqrt(r)))
                rows += [((x - a / 2) / image[1], (y - b / 2) / image[0],
                          (x + a / 2) / image[1], (y + b / 2) / image[0]) for a, b in sides]
    boxes = np.array(rows).reshape(-1)
    return np.clip(boxes, 0, 1) if clip else boxes


@pytest.mark.parametrize("largest, ratios, flip, clip", [([], [2.0], 1, 0), ([50.0, 70.0], [2.0, 3.0], 1, 1),
                                                         ([50.0, 70.0], [], 0, 0), ([50.0, 70.0], [2.0], 0, 1)])
def test_prior_box(layer, largest, ratios, flip, clip):
    feature, image = layer.input(2, 3, 4), layer.input(3, 60, 100)

    def array(key, values):
        return "-233%02d=%d%s" % (key, len(values), "".join(",%f" % v for v in values)) if values else ""

    shared = " ".join([array(0, [30.0, 45.0]), array(1, largest), array(2, ratios),
                       "7=%d 8=%d 3=0.1 4=0.2 5=0.3 6=0.4 13=0.5" % (flip, clip)])
    expected = prior_boxes(3, 4, (60, 100), [30.0, 45.0], largest, ratios, flip, clip, (20, 25), 0.5)
    got = layer.run("PriorBox", [feature, image], shared + " 9=-233 10=-233")
    same(got[0], expected, NEAR)
    same(got[1], np.tile([0.1, 0.2, 0.3, 0.4], len(expected) // 4), 1e-7)
    got = layer.run("PriorBox", [feature], shared + " 9=100 10=60 11=16.0 12=8.0")
    same(got[0], prior_boxes(3, 4, (60, 100), [30.0, 45.0], largest, ratios, flip, clip, (8, 16), 0.5), NEAR)


def test_prior_box_relative(layer):
    """One input and no image: sizes in parts of the map's height."""
    got = layer.run("PriorBox", [layer.input(1, 2, 3)], "-23300=2,0.2,0.4 -23302=2,1.0,4.0 9=-233 10=-233 13=0.5")
    rows = []
    for i in range(2):
        for j in range(3):
            x, y = (j + 0.5) / 3, (i + 0.5) / 2
            for a, b in ((0.2 * 2 / 3, 0.2), (0.4 * 2 / 3, 0.4), (0.2 * 2 / 3 * 2, 0.1)):
                rows += [x - a / 2, y - b / 2, x + a / 2, y + b / 2]
    same(got, rows, NEAR)


def test_prior_box_refuses(layer):
    x = layer.input(1, 2, 2)
    layer.run("PriorBox", [x], "-23300=1,1.0 -23301=2,1.0,2.0 9=4 10=4", fails="1 smallest and 2 largest boxes")
    layer.run("PriorBox", [x], "-23300=1,1.0 -23301=1,1.0 9=-233 10=-233", fails="no size of the image")
    layer.run("PriorBox", [x], "-23300=1,1.0 -23301=1,1.0", fails="no size of the image")


def overlap(a, b):
    w, h = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
    return max(w, 0.0) * max(h, 0.0) if w > 0 and h > 0 else 0.0


def suppress(boxes, limit):
    """boxes: (score, label, xmin, ymin, xmax, ymax), best first."""
    kept = []
    for b in boxes:
        def union(k):
            return (b[4] - b[2]) * (b[5] - b[3]) + (k[4] - k[2]) * (k[5] - k[3]) - overlap(b[2:], k[2:])
        if all(overlap(b[2:], k[2:]) / union(k) <= limit for k in kept):
            kept.append(b)
    return kept


def as_rows(boxes):
    return np.array([(b[1], b[0]) + tuple(b[2:]) for b in boxes]).reshape(-1, 6)


@pytest.mark.parametrize("top, keep, threshold", [(300, 100, 0.2), (3, 100, 0.2), (300, 7, 0.2), (300, 100, 1.0)])
def test_detection_output(layer, top, keep, threshold):
    priors, classes = 40, 5
    corner = layer.rng.uniform(0.0, 0.6, (priors, 2))
    anchor = np.concatenate([corner, corner + layer.rng.uniform(0.2, 0.4, (priors, 2))], 1).astype(np.float32)
    variance = np.tile(np.array([0.1, 0.1, 0.2, 0.2], dtype=np.float32), (priors, 1))
    offset = layer.input(priors, 4)
    score = softmax(layer.input(priors, classes, scale=2.0), 1).astype(np.float32)
    boxes = np.stack([anchor.reshape(-1), variance.reshape(-1)])
    got = layer.run("DetectionOutput", [offset.reshape(-1), score.reshape(-1), boxes],
                    "0=%d 1=0.45 2=%d 3=%d 4=%f" % (classes, top, keep, threshold))
    size, centre = anchor[:, 2:] - anchor[:, :2], (anchor[:, 2:] + anchor[:, :2]) / 2
    middle, side = 0.1 * offset[:, :2] * size + centre, np.exp(0.2 * offset[:, 2:].astype(np.float64)) * size
    decoded = np.concatenate([middle - side / 2, middle + side / 2], 1)
    found = []
    for k in range(1, classes):
        mine = sorted(((score[i, k], k) + tuple(decoded[i]) for i in range(priors) if score[i, k] > threshold),
                      key=lambda b: -b[0])
        found += suppress(mine[:top], 0.45)
    expected = as_rows(sorted(found, key=lambda b: -b[0])[:keep])
    assert got.shape == (min(keep, min(top, priors) * (classes - 1)), 6)
    assert (threshold == 1.0) == (len(expected) == 0)
    same(got[:len(expected)], expected, NEAR) if len(expected) else None
    assert not got[len(expected):].any()


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("threshold", [0.3, 0.99])
def test_yolo_output(layer, version, threshold):
    classes, boxes = 4, 3
    maps = [layer.input(boxes * (5 + classes), 5, 4, scale=1.5), layer.input(boxes * (5 + classes), 10, 8, scale=1.5)]
    biases = layer.rng.uniform(0.5, 2.0, 12).astype(np.float32) * (1 if version == 2 else 32)
    mask, scales = [3, 4, 5, 0, 1, 2], [32.0, 16.0]
    settings = "0=%d 1=%d 2=%f 3=0.4 -23304=12%s" % (classes, boxes, threshold,
                                                     "".join(",%r" % float(b) for b in biases))
    if version == 3:  # the mask is written as bits, as public files have it
        settings += " -23305=6%s -23306=2,32.0,16.0" % "".join(",%d" % struct.unpack("<i", struct.pack("<f", m))[0]
                                                               for m in mask)
    got = layer.run("YoloDetectionOutput" if version == 2 else "Yolov3DetectionOutput", maps, settings)
    found = []
    for n, x in enumerate(maps):
        _, h, w = x.shape
        for k in range(boxes):
            part = x[k * (5 + classes):(k + 1) * (5 + classes)].astype(np.float64)
            index = k if version == 2 else mask[n * boxes + k]
            net = (w, h) if version == 2 else (int(scales[n] * w), int(scales[n] * h))
            probability = softmax(part[5:], 0) if version == 2 else sigmoid(part[5:])
            for i in range(h):
                for j in range(w):
                    label = int(probability[:, i, j].argmax())
                    score = sigmoid(part[4, i, j]) * probability[label, i, j]
                    if version == 3:
                        score = 1 / (1 + np.exp(-part[4, i, j]) * (1 + np.exp(-part[5 + label, i, j])))
                    if score >= threshold:
                        cx, cy = (j + sigmoid(part[0, i, j])) / w, (i + sigmoid(part[1, i, j])) / h
                        bw, bh = (np.exp(part[2, i, j]) * biases[2 * index] / net[0],
                                  np.exp(part[3, i, j]) * biases[2 * index + 1] / net[1])
                        found.append((score, label + 1, cx - bw / 2, cy - bh / 2, cx + bw / 2, cy + bh / 2))
    expected = as_rows(suppress(sorted(found, key=lambda b: -b[0]), 0.4))
    assert got.shape == ((5 * 4 + 10 * 8) * boxes, 6) and (threshold > 0.9 or 5 < len(expected) < len(found))
    same(got[:len(expected)], expected, 5e-6) if len(expected) else None
    assert not got[len(expected):].any()


def test_boxes_refuse(layer):
    boxes = layer.input(2, 8)
    layer.run("DetectionOutput", [layer.input(8), layer.input(5), boxes],
              "0=3", fails="8 offsets and 5 scores, 2 boxes of 3 classes need 8 and 6")
    layer.run("DetectionOutput", [layer.input(8), layer.input(6), boxes[:1]], "0=3", fails="anchor boxes of 1x8")
    layer.run("DetectionOutput", [layer.input(8), layer.input(6), boxes], "0=-233",
              fails="1 classes and anchor boxes of 2x8, expected at least 2 and rows of 4")
    x = layer.input(18, 2, 2)
    layer.run("YoloDetectionOutput", [x], "0=4 1=2 -23304=2,1.0,1.0", fails="too few for 2 boxes and 1 inputs")
    layer.run("YoloDetectionOutput", [x], "0=5 1=2 -23304=4,1.0,1.0,1.0,1.0",
              fails="input 0 has 18 channels, expected 2 x (5 + 5)")
    layer.run("Yolov3DetectionOutput", [x], "0=4 1=2 -23304=4,1.0,1.0,1.0,1.0 -23305=2,0.0,2.0 -23306=1,32.0",
              fails="mask 2 (key 5) of 2 anchor boxes")


# ---- the program itself ----

def program(*args):
    return subprocess.run([PROGRAM, "--layers", *args], cwd=ROOT, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=60)


def test_random_weights_are_seeded():
    def hashes(seed):
        done = program("--net", "models/digits/digits.param", "--random-weights", seed)
        assert done.returncode == 0, done.stderr
        return [line for line in done.stdout.split("\n") if line.startswith("output")]

    assert hashes("1") == hashes("1") != hashes("2")
    assert hashes("1")[0].startswith("output     prob 10x1x1 hash ")


@pytest.mark.parametrize("args, part", [
    (["--net", "models/digits/digits.param"], "--layers needs --net and either --bin or --random-weights"),
    (["--random-weights", "1"], "--layers needs --net"),
    (["--net", "models/digits/digits.param", "--random-weights", "x"], "--random-weights: expected a number, got 'x'"),
    (["--net", "models/digits/digits.param", "--random-weights", "1", "--shape", "1x2"],
     "--shape: expected width x height x channels"), (["--net", "models/digits/digits.param", "--random-weights", "1",
                                                       "--input", "README.md"], "README.md: expected 256 bytes"),
    (["--net", "models/digits/digits.param", "--random-weights", "1", "--dump", "no/such/folder"],
     "no/such/folder/0.f32: cannot write"),
])
def test_bad_usage(args, part):
    done = program(*args)
    assert done.returncode == 2 and done.stderr.count("\n") == 1 and part in done.stderr, done.stderr


def test_unsupported_types_are_listed_at_once(tmp_path):
    file = tmp_path / "odd.param"
    file.write_text("7767517\n4 4\nInput i 0 1 i 0=4\nDiag a 1 1 i x\nDiag b 1 1 x y\nEinsum c 1 1 y z\n")
    done = program("--net", str(file), "--random-weights", "1")
    assert (done.returncode == 2 and
            "not supported: layers of type 'Diag' (line 4), 'Einsum' (line 6)" in done.stderr), done.stderr


def test_open_input_takes_a_shape(tmp_path):
    file = tmp_path / "open.param"
    file.write_text("7767517\n2 2\nInput i 0 1 i\nReLU r 1 1 i o\n")
    assert "without a fixed shape" in program("--net", str(file), "--random-weights", "1").stderr
    done = program("--net", str(file), "--random-weights", "1", "--shape", "5x4x3")
    assert done.returncode == 0 and "output     o 3x4x5 " in done.stdout, done.stderr
