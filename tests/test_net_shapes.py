"""Blobs with four dimensions, and the layers that are not in the public topologies, against NumPy; attention over four
dimensions on devices. tools/ncnn_layers.py compares the same layers with ncnn."""
import os

import pytest

np = pytest.importorskip("numpy", reason="not run: needs python3-numpy (make deps)")

from test_net_ops import EXACT, NEAR, PROGRAM, Layer, same, sigmoid, softmax  # noqa: E402
from test_net_transformer import RTL, command, outputs  # noqa: E402

pytestmark = pytest.mark.skipif(not os.access(PROGRAM, os.X_OK), reason="not run: tandem-net-model is not built")
# dimensions of the result by order, fastest first, of blobs (c, d, h, w)
DEEP = ("whdc hwdc wdhc dwhc hdwc dhwc whcd hwcd wchd cwhd hcwd chwd wdch dwch wcdh cwdh dcwh cdwh hdcw dhcw hcdw chdw "
        "dchw cdhw").split()


@pytest.fixture(name="layer")
def fixture_layer(tmp_path):
    return Layer(tmp_path)


@pytest.mark.parametrize("order", range(24))
def test_deep_permute(layer, order):
    x = layer.input(2, 3, 4, 5)
    axes = ["cdhw".index(s) for s in reversed(DEEP[order])]
    assert np.array_equal(layer.run("Permute", [x], "0=%d" % order), x.transpose(axes))


def test_deep_reshape(layer):
    x = layer.input(2, 3, 20)
    assert np.array_equal(layer.run("Reshape", [x], "0=5 1=4 11=3 2=-1"), x.reshape(2, 3, 4, 5))
    assert np.array_equal(layer.run("Reshape", [x.reshape(2, 3, 4, 5)], "0=0 1=0 11=-1 2=0"), x.reshape(2, 3, 4, 5))
    assert np.array_equal(layer.run("Reshape", [x.reshape(2, 3, 4, 5)], "0=-1 1=3 2=2"), x)
    assert np.array_equal(layer.run("Flatten", [x.reshape(2, 3, 4, 5)]), x.reshape(-1))
    layer.run("Reshape", [x], "0=5 1=4 11=3", fails="a depth (key 11) without channels (key 2)")
    layer.run("Convolution", [x.reshape(2, 3, 4, 5)], "0=1 1=1 6=2", tagged=layer.weights(2),
              fails="an input with four dimensions is not supported")


@pytest.mark.parametrize("axis", range(-4, 4))
def test_deep_axes(layer, axis):
    """Concat, Slice, Softmax and Reduction along an axis."""
    x = layer.input(3, 4, 5, 6)
    n = x.shape[axis]
    parts = layer.run("Slice", [x], "-23300=2,1,-233 1=%d" % axis, outputs=2)
    assert all(np.array_equal(p, w) for p, w in zip(parts, np.split(x, [1], axis))) and parts[1].shape[axis] == n - 1
    assert np.array_equal(layer.run("Concat", [x, x], "0=%d" % axis), np.concatenate([x, x], axis))
    same(layer.run("Softmax", [x], "0=%d 1=1" % axis), softmax(x, axis), NEAR)
    mean = x.astype(np.float64).mean(axis, keepdims=True)
    same(layer.run("Reduction", [x], "0=3 1=0 -23303=1,%d 4=1 5=1" % axis), mean, NEAR)
    same(layer.run("Reduction", [x], "0=4 1=0 -23303=1,%d 5=1" % axis), x.max(axis), EXACT)


@pytest.mark.parametrize("other, seen", [((2, 3, 4, 5), (2, 3, 4, 5)), ((1, 3, 1, 5), (1, 3, 1, 5)),
                                         ((2, 3, 4), (2, 3, 4, 1)), ((2, 3), (2, 3, 1, 1)), ((2,), (2, 1, 1, 1)),
                                         ((5,), (1, 1, 1, 5)), ((1,), (1, 1, 1, 1))])
def test_deep_binary(layer, other, seen):
    a, b = layer.input(2, 3, 4, 5), layer.input(*other)
    same(layer.run("BinaryOp", [a, b], "0=1"), a - b.reshape(seen), EXACT)
    same(layer.run("BinaryOp", [b, a], "0=1"), b.reshape(seen) - a, EXACT)
    same(layer.run("ReLU", [a]), np.maximum(a, 0), EXACT)


@pytest.mark.parametrize("a, b", [((2, 3, 7, 9), (2, 3, 9, 8)), ((2, 3, 7, 9), (1, 3, 9, 8)),
                                  ((2, 1, 7, 9), (2, 3, 9, 8)), ((2, 3, 7, 9), (3, 9, 8)),
                                  ((3, 7, 9), (2, 3, 9, 8)), ((2, 3, 7, 9), (9, 8)), ((2, 3, 7, 9), (9,)),
                                  ((9,), (2, 3, 9, 8))])
def test_deep_matmul(layer, a, b):
    """Three dimensions beside four are a batch of the inner kind."""
    x, y = layer.input(*a), layer.input(*b)
    same(layer.run("MatMul", [x, y]), np.matmul(x.astype(np.float64), y), 1e-5)
    if len(b) > 1:
        same(layer.run("MatMul", [x, np.ascontiguousarray(y.swapaxes(-1, -2))], "0=1"),
             np.matmul(x.astype(np.float64), y), 1e-5)
    layer.run("MatMul", [layer.input(2, 3, 7, 9), layer.input(2, 2, 9, 8)], fails="9 and 9 products in a sum")


@pytest.mark.parametrize("shape, settings, expected", [
    ((1, 3, 1), "-23303=1,0", (3, 1)), ((1, 3, 1), "-23303=2,0,-1", (3,)), ((1, 3, 1), "0=1", (1, 3)),
    ((1, 3, 1), "2=1", (3, 1)), ((1, 1), "0=1 1=1", (1,)), ((1, 2, 1, 3), "-23303=2,0,2", (2, 3)),
    ((2, 3), "0=1", (2, 3))])
def test_squeeze(layer, shape, settings, expected):
    x = layer.input(*shape)
    assert np.array_equal(layer.run("Squeeze", [x], settings), x.reshape(expected))


@pytest.mark.parametrize("axis", range(-4, 4))
def test_expand_dims(layer, axis):
    x = layer.input(2, 3, 4)
    assert np.array_equal(layer.run("ExpandDims", [x], "-23303=1,%d" % axis), np.expand_dims(x, axis))
    layer.run("ExpandDims", [x], "-23303=2,0,1", fails="5 dimensions as the result is not supported")
    layer.run("ExpandDims", [x], "-23303=1,4", fails="an axis (key 3) outside a result with 4 dimensions")


@pytest.mark.parametrize("mode", [0, 1])
def test_blocks(layer, mode):
    x = layer.input(12, 3, 5)
    y = layer.run("PixelShuffle", [x], "0=2 1=%d" % mode)
    split = x.reshape(3, 2, 2, 3, 5) if mode == 0 else x.reshape(2, 2, 3, 3, 5).transpose(2, 0, 1, 3, 4)
    assert np.array_equal(y, split.transpose(0, 3, 1, 4, 2).reshape(3, 6, 10))
    assert np.array_equal(layer.run("Reorg", [y], "0=2 1=%d" % mode), x)
    layer.run("PixelShuffle", [layer.input(6, 3, 5)], "0=2", fails="6 channels and 3 dimensions for blocks of 2x2")


POINTS = [
    ("AbsVal", "", np.abs), ("Exp", "", np.exp), ("Exp", "0=2.0 1=0.5 2=0.25", lambda x: 2 ** (0.5 * x + 0.25)),
    ("Log", "1=0.5 2=4.0", lambda x: np.log(0.5 * x + 4)), ("Log", "0=2.0 2=8.0", lambda x: np.log2(x + 8)),
    ("Power", "0=3.0 1=0.5 2=0.25", lambda x: (0.5 * x + 0.25) ** 3), ("BNLL", "", lambda x: np.logaddexp(0, x)),
    ("CELU", "0=0.5", lambda x: np.where(x < 0, 0.5 * np.expm1(x / 0.5), x)),
    ("Shrink", "0=0.25 1=0.5", lambda x: np.where(x < -0.5, x + 0.25, np.where(x > 0.5, x - 0.25, 0))),
    ("GLU", "0=1", lambda x: x[:, :2] * sigmoid(x[:, 2:])), ("Flip", "-23300=2,0,-1", lambda x: x[::-1, :, ::-1]),
    ("CumulativeSum", "0=-2", lambda x: np.cumsum(x, 1)), ("DeepCopy", "", lambda x: x)]


@pytest.mark.parametrize("kind, settings, f", POINTS)
def test_functions(layer, kind, settings, f):
    x = layer.input(3, 4, 5)
    same(layer.run(kind, [x], settings), f(x.astype(np.float64)), 5e-6)


def test_map_norms(layer):
    x, scale, bias = layer.input(3, 4, 5), layer.weights(3), layer.weights(3)
    wide, each = x.astype(np.float64), (slice(None), None, None)
    same(layer.run("Bias", [x], "0=3", raw=[bias]), wide + bias[each], NEAR)
    normal = (wide - wide.mean((1, 2), keepdims=True)) / np.sqrt(wide.var((1, 2), keepdims=True) + 1e-3)
    same(layer.run("InstanceNorm", [x], "0=3", raw=[scale, bias]), normal * scale[each] + bias[each], NEAR)
    same(layer.run("InstanceNorm", [x], "0=3 2=0"), normal, NEAR)
    same(layer.run("MVN", [x], "0=1"), (wide - wide.mean((1, 2), keepdims=True)) /
         (wide.std((1, 2), keepdims=True) + 1e-4), NEAR)
    same(layer.run("MVN", [x], "1=1"), wide - wide.mean(), NEAR)
    for settings, axes in (("4=1 3=3", 0), ("0=1 3=3", (1, 2)), ("0=1 4=1 3=3", (0, 1, 2))):
        norm = wide / np.sqrt((wide ** 2).sum(axes, keepdims=True) + 1e-4) * scale[each]
        same(layer.run("Normalize", [x], settings, raw=[scale]), norm, NEAR)
    layer.run("Normalize", [x], "3=3", raw=[scale], fails="a normalisation of neither positions nor channels")
    layer.run("Bias", [x], "0=2", raw=[bias[:2]], fails="2 channels (key 0), the input has 3")


@pytest.mark.parametrize("groups, masked", [(4, False), (2, True), (1, True)])
def test_sdpa(layer, groups, masked):
    """Heads of queries that share keys and values."""
    q, k, v = layer.input(4, 7, 8), layer.input(groups, 9, 8), layer.input(groups, 9, 5)
    mask = layer.input(7, 9)
    each = [np.repeat(t, 4 // groups, 0).astype(np.float64) for t in (k, v)]
    score = q @ each[0].swapaxes(1, 2) / np.sqrt(8) + (mask if masked else 0)
    expected = softmax(score, 2) @ each[1]
    blobs = [q, k, v] + [mask] * masked
    same(layer.run("SDPA", blobs, "5=%d" % masked), expected, 1e-5)
    int8 = layer.run("SDPA", blobs, "5=%d 18=2" % masked)
    error = np.abs(int8 - expected).max()
    assert 1e-4 < error < 0.1, error
    layer.run("SDPA", [q, k, layer.input(groups, 8, 5)], fails="keys of %dx9x8 and values of %dx8x5" % (groups, groups))


# heads of a window each: queries and keys with four dimensions, as exporters write windowed attention
WINDOWS = """7767517
14 16
Input x 0 1 x 0=24 1=12
Split s 1 3 x a b c
InnerProduct q 1 1 a q0 0=24 1=1 2=576
InnerProduct k 1 1 b k0 0=24 1=1 2=576
Reshape qr 1 1 q0 q1 0=4 1=6 11=3 2=4
Permute qp 1 1 q1 q2 0=2
Reshape kr 1 1 k0 k1 0=4 1=6 11=3 2=4
Permute kp 1 1 k1 k2 0=2
MatMul qk 2 1 q2 k2 s0 0=1
Softmax sm 1 1 s0 p 0=3 1=1
Reshape vr 1 1 c v 0=4 1=6 11=3 2=4
Permute vp 1 1 v v1 0=2
MatMul pv 2 1 p v1 o0
Flatten fl 1 1 o0 o
"""


def test_windows_on_devices(tmp_path):
    """MatMul and Softmax over four dimensions: the same bits on every golden model and on the RTL, nearly those of the
    C library's softmax; everything on the NPU but Permute."""
    rng = np.random.default_rng(4)
    (tmp_path / "f.param").write_text(WINDOWS)
    with open(tmp_path / "f.bin", "wb") as f:
        for count, tagged in ((576, True), (24, False)) * 2:
            f.write(bytes(4) * tagged + (rng.standard_normal(count) * 0.3).astype("<f4").tobytes())
    np.save(tmp_path / "x.npy", rng.standard_normal((12, 24)).astype(np.float32))
    command("calibrate", "--net", "f.param", "--bin", "f.bin", "--image", "x.npy", "--method", "minmax", "--table",
            "t.table", "--out-param", "q.param", "--out-bin", "q.bin", cwd=tmp_path)
    files = ["--net", "q.param", "--bin", "q.bin", "--image", "x.npy", "--top", 288]
    on_cpu = command("classify", *files, cwd=tmp_path)
    assert on_cpu.count("top") == 288
    on_npu = command("classify", *files, "--device", "model", "--cfg", "n4", cwd=tmp_path)
    for cfg in ("n8", "n16", "n32"):
        assert command("classify", *files, "--device", "model", "--cfg", cfg, cwd=tmp_path) == on_npu, cfg
    npu, cpu = (outputs(text, 288) for text in (on_npu, on_cpu))
    assert 40 < 10 * np.log10((cpu ** 2).sum() / max(((npu - cpu) ** 2).sum(), 1e-20))
    run = ["run", "--net", "q.param", "--bin", "q.bin", "--image", "x.npy"]
    report = command(*run, cwd=tmp_path)
    assert "(100.00 %), CPU 0" in report, report
    on_cpu = [words[1] for words in map(str.split, report.split("\n")) if len(words) > 3 and words[3] == "CPU"]
    assert set(on_cpu) == {"Permute"}, report
    if os.access(RTL, os.X_OK):
        command(*run, "--output", "m.f32", cwd=tmp_path)
        command(*run, "--output", "r.f32", "--device", "tandem", cwd=tmp_path, program=RTL)
        assert (tmp_path / "m.f32").read_bytes() == (tmp_path / "r.f32").read_bytes()
