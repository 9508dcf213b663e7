"""Layers of transformers and recurrent layers in FP32 against NumPy in binary64."""
import os
import subprocess

import pytest

np = pytest.importorskip("numpy", reason="not run: needs python3-numpy (make deps)")

from test_net_ops import PROGRAM, Layer, same, sigmoid, softmax  # noqa: E402

pytestmark = pytest.mark.skipif(not os.access(PROGRAM, os.X_OK), reason="not run: tandem-net-model is not built")
NEAR = 1e-5


@pytest.fixture(name="layer")
def fixture_layer(tmp_path):
    return Layer(tmp_path)


class Arrays(Layer):
    """Several arrays with tags: the first one is `tagged`, the others have theirs as part of a raw array."""

    def arrays(self, kind, inputs, settings, arrays, **more):
        (tagged, first), *rest = arrays
        raw = []
        for tag, array in rest:
            raw.append(np.concatenate([np.zeros(1 if tag else 0), np.asarray(array).reshape(-1)]))
        return self.run(kind, inputs, settings, tagged=first if tagged else None, raw=([] if tagged else [first]) + raw,
                        **more)


@pytest.fixture(name="many")
def fixture_many(tmp_path):
    return Arrays(tmp_path)


@pytest.mark.parametrize("turned", [0, 1])
@pytest.mark.parametrize("a, b", [((17, 21), (21, 35)), ((3, 17, 21), (21, 35)), ((17, 21), (3, 21, 35)),
                                  ((3, 17, 21), (3, 21, 35)), ((21,), (21, 35)), ((21,), (3, 21, 35)),
                                  ((17, 21), (21,)), ((3, 17, 21), (21,)), ((21,), (21,))])
def test_matmul(layer, a, b, turned):
    x, y = layer.input(*a), layer.input(*b)
    given = np.ascontiguousarray(np.swapaxes(y, -1, -2)) if turned and len(b) > 1 else y
    expected = np.matmul(x.astype(np.float64), y)
    same(layer.run("MatMul", [x, given], "0=%d" % turned), expected if expected.shape else expected.reshape(1), NEAR)


def test_matmul_refuses(layer):
    layer.run("MatMul", [layer.input(4, 5), layer.input(6, 7)], "", fails="5 and 6 products in a sum")
    layer.run("MatMul", [layer.input(2, 4, 5), layer.input(3, 5, 7)], "", fails="inputs of 2x4x5 and 3x5x7")


@pytest.mark.parametrize("flip", range(8))
@pytest.mark.parametrize("kind", range(-1, 5))
def test_gemm(many, flip, kind):
    """Both operands constant or not, turned or not; C in every form."""
    m, n, k = 9, 34, 13
    a, b = many.input(m, k), many.input(k, n)
    c = many.input(*[(1,), (m,), (m, 1), (m, n), (1, n)][kind]) if kind >= 0 else None
    expected = 1.5 * (a.astype(np.float64) @ b)
    if kind >= 0:
        column = c.reshape(m, 1) if kind in (1, 2) else c
        expected = expected + 1.5 * 0.75 * column.astype(np.float64)
    given = [a.T.copy() if flip & 1 else a, b.T.copy() if flip & 2 else b]
    expected = expected.T if flip & 4 else expected
    form = "0=1.5 1=0.75 2=%d 3=%d 14=%d" % (flip & 1, flip >> 1 & 1, flip >> 2)
    more = [c] if kind >= 0 else []
    same(many.run("Gemm", given + more, form), expected, NEAR)
    form += " 7=%d 8=%d 9=%d" % (m, n, k)
    same(many.run("Gemm", given[:1] + more, form + " 5=1", tagged=given[1]), expected, NEAR)
    constants = [(True, given[0])] + ([(True, c)] if kind >= 0 else [])
    same(many.arrays("Gemm", given[1:], form + " 4=1 6=%d 10=%d" % (kind >= 0, kind), constants), expected, NEAR)


def attention(x, weights, heads, mask=0.0, scale=None):
    q, k, v = (xs.astype(np.float64) @ w.T + b for xs, w, b in zip(x, weights[0:6:2], weights[1:6:2]))
    size, out = q.shape[1] // heads, []
    for h in range(heads):
        part = slice(h * size, (h + 1) * size)
        score = q[:, part] @ k[:, part].T * (scale or size ** -0.5) + (mask[h] if np.ndim(mask) == 3 else mask)
        out.append(softmax(score, 1) @ v[:, part])
    return np.concatenate(out, axis=1) @ weights[6].T.astype(np.float64) + weights[7]


@pytest.mark.parametrize("blobs, mask", [(1, 0), (1, 2), (2, 0), (3, 0), (3, 3)])
def test_attention(many, blobs, mask):
    heads, embed = 3, 24
    dims, source, target = [20, 36, 7][:blobs], 11, 11 if blobs == 1 else 35
    x = [many.input(source if i == 0 else target, d) for i, d in enumerate(dims)]
    full = [x[0], x[min(1, blobs - 1)], x[-1]]
    weights = []
    for part in full:
        weights += [many.weights(embed, part.shape[1]) * 0.3, many.weights(embed)]
    weights += [many.weights(dims[0], embed) * 0.3, many.weights(dims[0])]
    masks = [] if mask == 0 else [many.input(*((heads, source, target)[3 - mask:]), scale=2)]
    form = "0=%d 1=%d 2=%d 3=%d 4=%d 5=%d" % (embed, heads, embed * dims[0], full[1].shape[1], full[2].shape[1],
                                              mask > 0)
    arrays = [(i % 2 == 0, w) for i, w in enumerate(weights)]
    same(many.arrays("MultiHeadAttention", x + masks, form, arrays),
         attention(full, weights, heads, masks[0] if masks else 0.0), NEAR)
    same(many.arrays("MultiHeadAttention", x + masks, form + " 6=0.7", arrays),
         attention(full, weights, heads, masks[0] if masks else 0.0, 0.7), NEAR)


@pytest.mark.parametrize("shape, size", [((9,), 9), ((4, 9), 9), ((3, 4, 9), 9), ((3, 4, 9), 36)])
@pytest.mark.parametrize("kind", ["LayerNorm", "RMSNorm"])
@pytest.mark.parametrize("affine", [0, 1])
def test_row_norms(layer, shape, size, kind, affine):
    x, gamma, beta = layer.input(*shape) + np.float32(2), layer.weights(size), layer.weights(size)
    z = x.astype(np.float64).reshape(-1, size)
    z = z - z.mean(1, keepdims=True) if kind == "LayerNorm" else z
    z = z / np.sqrt((z ** 2).mean(1, keepdims=True) + 1e-3)
    if affine:
        z = z * gamma + (beta if kind == "LayerNorm" else 0)
    raw = [gamma, beta][:2 if kind == "LayerNorm" else 1] if affine else []
    same(layer.run(kind, [x], "0=%d 1=0.001 2=%d" % (size, affine), raw=raw), z.reshape(shape), NEAR)


def test_gelu(layer):
    x = layer.input(400, scale=3)
    z = x.astype(np.float64)
    tanh = 0.5 * z * (1 + np.tanh(np.sqrt(2 / np.pi) * (z + 0.044715 * z ** 3)))
    same(layer.run("GELU", [x], "0=1"), tanh, NEAR)
    exact = layer.run("GELU", [x], "")
    assert 1e-5 < np.abs(exact - tanh).max() < 1e-2
    grid = np.linspace(-12, 0, 200001)  # the integral of the density up to x
    normal = np.concatenate([[0], np.cumsum(np.diff(grid) * (np.exp(-grid[1:] ** 2 / 2) + np.exp(-grid[:-1] ** 2 / 2))
                                            / 2)]) / np.sqrt(2 * np.pi)
    below = np.interp(-np.abs(z), grid, normal)
    same(exact, z * np.where(z < 0, below, 1 - below), 1e-6)


def test_embed(many):
    """Indices as integers, as ncnn has them, and as floats; out of range the first or the last row."""
    weights, bias = many.weights(7, 5), many.weights(5)
    index = np.array([0, 6, 3, 7, 1000, -1, -1000], np.int32)
    expected = (weights + bias)[np.clip(index, 0, 6)]
    for form in (index.view(np.float32), index.astype(np.float32)):
        same(many.arrays("Embed", [form], "0=5 1=7 2=1 3=35", [(True, weights), (False, bias)]), expected, 0.0)


@pytest.mark.parametrize("direction", [0, 1, 2])
@pytest.mark.parametrize("kind, hidden", [("LSTM", 6), ("LSTM", 9), ("GRU", 6)])
def test_recurrent(many, kind, hidden, direction):
    n, inputs, steps, gates = 6, 10, 8, 4 if kind == "LSTM" else 3
    ways = 2 if direction == 2 else 1
    x = many.input(steps, inputs)
    wx, bias, wh, wr = (many.weights(ways, *s) * 0.4 for s in ((gates, hidden, inputs), (4, hidden),
                                                               (gates, hidden, n), (n, hidden)))
    wx, bias, wh, wr = (a.astype(np.float32) for a in (wx, bias, wh, wr))
    out = []
    for d in range(ways):
        h, c, rows = np.zeros(n), np.zeros(hidden), []
        back = direction == 1 or d == 1
        for row in x[::-1] if back else x:
            if kind == "LSTM":
                i, f, o, g = wx[d].astype(np.float64) @ row + bias[d] + wh[d] @ h
                c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
                h = sigmoid(o) * np.tanh(c)
                h = wr[d] @ h if hidden != n else h
            else:
                a, b = wx[d].astype(np.float64) @ row, wh[d] @ h
                r, u = sigmoid(a[0] + b[0] + bias[d][0]), sigmoid(a[1] + b[1] + bias[d][1])
                h = (1 - u) * np.tanh(a[2] + bias[d][2] + r * (b[2] + bias[d][3])) + u * h
            rows.append(h)
        out.append(np.array(rows[::-1] if back else rows))
    form = "0=%d 1=%d 2=%d" % (n, wx.size, direction) + (" 3=%d" % hidden if hidden != n else "")
    arrays = [(True, a) for a in ([wx, bias, wh, wr] if hidden != n else [wx, bias, wh])]
    same(many.arrays(kind, [x], form, arrays), np.concatenate(out, axis=1), NEAR)


@pytest.mark.parametrize("kind, gates", [("LSTM", 4), ("GRU", 3)])
def test_int8_recurrent(many, kind, gates):
    """Weights by the scales of the file; rows of the input and the state by their own: near FP32 with these weights."""
    n, inputs, steps = 6, 10, 8
    x = many.input(steps, inputs)
    wx, bias, wh = many.weights(1, gates * n, inputs) * 0.4, many.weights(1, 4, n), many.weights(1, gates * n, n) * 0.4
    wx, bias, wh = (a.astype(np.float32) for a in (wx, bias, wh))
    scales = [(127 / np.abs(w[0]).max(axis=1)).astype(np.float32) for w in (wx, wh)]
    rounded = [(np.rint(w * s[:, None]) / s[:, None]).astype(np.float32) for w, s in zip((wx, wh), scales)]
    form = "0=%d 1=%d" % (n, wx.size)
    exact = many.arrays(kind, [x], form, [(True, rounded[0]), (True, bias), (True, rounded[1])])
    got = many.arrays(kind, [x], form + " 8=2", [(True, wx), (True, bias), (True, wh)] + [(False, s) for s in scales])
    assert 1e-6 < np.abs(got - exact).max() < 0.02 and got.shape == exact.shape == (steps, n)


@pytest.mark.parametrize("kind, shapes, settings, part", [
    ("MultiHeadAttention", [(4, 6)], "0=8 1=3 2=48", "1 inputs, 3 heads for 8 dimensions"),
    ("MultiHeadAttention", [(4, 5)], "0=8 1=2 2=48", "expected matrices with rows of 6, 8 and 8"),
    ("MultiHeadAttention", [(4, 6)], "0=8 1=2 2=48 18=400", "is not supported"),
    ("LayerNorm", [(4, 6)], "0=5", "5 factors (key 0) for rows of 6"),
    ("Embed", [(4,)], "0=3 1=5 3=14", "5 rows of 3 elements in 14 weights"),
    ("LSTM", [(4, 6)], "0=3 1=70", "70 weights for an input of 2 dimensions with rows of 6, expected 2 and 72"),
    ("LSTM", [(4, 6)], "0=3 1=120 3=5 8=2", "INT8 (key 8) with a state of another size than the output is not"),
    ("GRU", [(4, 6), (4,)], "0=3 1=54", "a state of 4 elements, expected 3 for each of 1 directions"),
    ("LSTM", [(4, 6), (3,)], "0=3 1=72", "2 inputs and 1 outputs, expected 1 or 3 of each"),
    ("MatMul", [(4, 6), (6, 3)], "8=1", "key 8 is 1, expected 0, 2 or 3"),
    ("Gemm", [(4, 6), (5, 7)], "", "4 x 6 by 5 x 7"),
    ("Gemm", [(6, 4)], "4=1 7=4 8=4 9=6 18=2", "is not supported"),
    ("Gemm", [(4, 6)], "5=1 8=2 9=6 7=4 18=400", "is not supported"),
])
def test_refused(tmp_path, layer, kind, shapes, settings, part):
    """The settings are judged before the weights: those come from a seed."""
    names = ["i%d" % i for i in range(len(shapes))]
    lines = ["7767517", "%d %d" % (len(shapes) + 1, len(shapes) + 1)]
    lines += ["Input %s 0 1 %s %s" % (name, name, " ".join("%d=%d" % (k, n) for k, n in enumerate(reversed(s))))
              for name, s in zip(names, shapes)]
    lines.append("%s under_test %d 1 %s o %s" % (kind, len(names), " ".join(names), settings))
    (tmp_path / "r.param").write_text("\n".join(lines) + "\n")
    done = subprocess.run([PROGRAM, "--layers", "--net", tmp_path / "r.param", "--random-weights", "1"],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60)
    assert done.returncode == 2 and part in done.stderr and done.stderr.count("\n") == 1, done.stderr


# ---- INT8: attention and products of two blobs on the NPU ----

RTL = os.path.join(os.path.dirname(os.path.dirname(PROGRAM)), "n4-fast", "tandem-net")
ENCODER = """7767517
12 14
Input x 0 1 x 0=48 1=50
Split s0 1 2 x x0 x1
LayerNorm ln 1 1 x0 n 0=48 1=0.00001 2=1
MultiHeadAttention mha 1 1 n a 0=48 1=3 2=2304
BinaryOp add 2 1 x1 a y 0=0
InnerProduct f1 1 1 y h 0=96 1=1 2=4608
GELU g 1 1 h hg
Split s1 1 2 hg p q
MatMul mm 2 1 p q r 0=1
Softmax sm 1 1 r t 0=1 1=1
InnerProduct f2 1 1 t u 0=7 1=1 2=350
Flatten fl 1 1 u o
"""


def command(*args, cwd, program=PROGRAM):
    done = subprocess.run([program, *map(str, args)], cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(name="encoder")
def fixture_encoder(tmp_path):
    """A block of an encoder with seeded weights, calibrated and written in INT8."""
    rng = np.random.default_rng(9)
    (tmp_path / "f.param").write_text(ENCODER)
    parts = [(False, 48), (False, 48)] + [(i % 2 == 0, 2304 if i % 2 == 0 else 48) for i in range(8)]
    parts += [(True, 4608), (False, 96), (True, 350), (False, 7)]
    with open(tmp_path / "f.bin", "wb") as f:
        for tagged, count in parts:
            values = rng.standard_normal(count) * (0.15 if tagged else 0.5)
            f.write(bytes(4) * tagged + values.astype("<f4").tobytes())
    np.save(tmp_path / "x.npy", rng.standard_normal((50, 48)).astype(np.float32))
    command("calibrate", "--net", "f.param", "--bin", "f.bin", "--image", "x.npy", "--method", "minmax", "--table",
            "t.table", "--out-param", "q.param", "--out-bin", "q.bin", cwd=tmp_path)
    return tmp_path


def outputs(text, count):
    """The outputs that `classify --top` prints, in their order."""
    values = dict(line.split()[1:3] for line in text.split("\n") if line.startswith("top"))
    return np.array([float(values[str(i)]) for i in range(count)])


def test_int8_encoder(encoder):
    """The same bits on the golden model of every size, nearly those of the CPU, whose softmax, LayerNorm and GELU are
    those of the C library; nearly those of FP32; all products on the NPU."""
    text = (encoder / "q.param").read_text()
    assert " 18=2" in text and "8=2" in next(line for line in text.split("\n") if line.startswith("MatMul"))
    files = ["--net", "q.param", "--bin", "q.bin", "--image", "x.npy", "--top", 350]
    on_cpu = command("classify", *files, cwd=encoder)
    assert on_cpu.count("top") == 350
    on_npu = command("classify", *files, "--device", "model", "--cfg", "n4", cwd=encoder)
    for cfg in ("n8", "n16", "n32"):
        assert command("classify", *files, "--device", "model", "--cfg", cfg, cwd=encoder) == on_npu, cfg
    in_float = command("classify", "--net", "f.param", "--bin", "f.bin", *files[4:], cwd=encoder)
    npu, cpu, exact = (outputs(text, 350) for text in (on_npu, on_cpu, in_float))
    for mine, other, least, most in ((npu, exact, 20, 80), (cpu, exact, 20, 80), (npu, cpu, 50, 120)):
        error = 10 * np.log10((other ** 2).sum() / ((mine - other) ** 2).sum())
        assert least < error < most, error
    np.load(encoder / "x.npy").tofile(encoder / "x.f32")
    report = command("run", "--net", "q.param", "--bin", "q.bin", "--input", "x.f32", cwd=encoder)
    assert "NPU 1188700 (100.00 %), CPU 0" in report, report
    places = {words[2]: words[3] for words in map(str.split, report.split("\n")) if len(words) > 3}
    assert [places[name] for name in ("ln", "mha", "g", "sm")] == ["NPU", "NPU", "fused", "NPU"], report
    assert "8 on the NPU, 0 on the CPU" in report


def test_int8_encoder_in_tandem(encoder):
    if not os.access(RTL, os.X_OK):
        pytest.skip("not run: build/n4-fast/tandem-net is not built")
    np.load(encoder / "x.npy").tofile(encoder / "x.f32")
    args = ["run", "--net", "q.param", "--bin", "q.bin", "--input", "x.f32", "--output"]
    command(*args, "m.f32", cwd=encoder)
    command(*args, "r.f32", "--device", "tandem", cwd=encoder, program=RTL)
    assert (encoder / "m.f32").read_bytes() == (encoder / "r.f32").read_bytes()
    text = command("run", "--net", "q.param", "--bin", "q.bin", "--input", "x.f32", "--each", cwd=encoder, program=RTL)
    assert "1188700 MACs" in text and " predicted (" in text, text


def test_int8_attention(many):
    """Against the definition: every operand by its own scale, sums of integers."""
    heads, embed, source = 3, 24, 11
    x = many.input(source, 20)
    weights = []
    for _ in range(3):
        weights += [many.weights(embed, 20) * np.float32(0.3), many.weights(embed)]
    weights += [many.weights(20, embed) * np.float32(0.3), many.weights(20)]

    def q(v, axis=None):
        scale = 127 / np.abs(v).max(axis=axis, keepdims=axis is not None)
        return np.copysign(np.floor(np.abs(v * scale) + 0.5), v) / scale

    exact = [q(w.astype(np.float64), (1 if i < 6 else None)) if i % 2 == 0 else w for i, w in enumerate(weights)]
    scales = [127 / np.abs(w).max(axis=1 if i < 3 else None, keepdims=True) for i, w in enumerate(weights[::2])]
    a, b, c = (q(x.astype(np.float64)) @ exact[2 * i].T + exact[2 * i + 1] for i in range(3))
    out = []
    for h in range(heads):
        part = slice(8 * h, 8 * h + 8)
        score = softmax(q(a[:, part] * 8 ** -0.5, 1) @ q(b[:, part]).T, 1)
        out.append(q(score, 1) @ q(c[:, part]))
    expected = q(np.concatenate(out, axis=1), 1) @ exact[6].T + exact[7]
    form = "0=%d 1=%d 2=%d 3=20 4=20 18=2" % (embed, heads, embed * 20)
    arrays = [(i % 2 == 0, w) for i, w in enumerate(weights)] + [(False, s) for s in scales]
    got = many.arrays("MultiHeadAttention", [x], form, arrays)
    same(got, expected, 0.02)  # a last bit before the rounding moves an integer by one
    assert np.abs(got - expected).mean() < 1e-3


def test_int8_matmul(layer):
    a, b = layer.input(3, 9, 33), layer.input(3, 33, 17)
    qa = np.copysign(np.floor(np.abs(a * (127 / np.abs(a).max(axis=2, keepdims=True))) + 0.5), a)
    qb = np.copysign(np.floor(np.abs(b * (127 / np.abs(b).max(axis=(1, 2), keepdims=True))) + 0.5), b)
    expected = np.matmul(qa, qb) * (np.abs(a).max(axis=2, keepdims=True) / 127) * (np.abs(b).max(axis=(1, 2),
                                                                                               keepdims=True) / 127)
    got = layer.run("MatMul", [a, b], "8=2")
    same(got, expected, 0.01)
    assert np.abs(got - np.matmul(a, b)).max() > 1e-3 and np.abs(got - expected).mean() < 1e-4
