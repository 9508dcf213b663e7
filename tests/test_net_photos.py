"""tandem-net classify and calibrate: pictures, INT8 networks and thresholds against NumPy, and SqueezeNet against what
ncnn made of it."""
import io
import json
import os
import struct
import subprocess
import tarfile
import zlib

import pytest

np = pytest.importorskip("numpy", reason="not run: needs python3-numpy (make deps)")

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PROGRAM = os.path.join(ROOT, os.environ.get("HOST", os.path.join(os.environ.get("BUILD", "build"), "host")),
                       "tandem-net-model")
RTL = os.path.join(ROOT, os.environ.get("BUILD", "build"), "n4-fast", "tandem-net")
DATA = os.environ.get("TANDEM_DATA", os.path.join(ROOT, "..", "shared", "data"))
SQUEEZE = os.path.join(DATA, "squeezenet")
IMAGES = os.path.join(DATA, "images")
MODELS = {"float": "squeezenet_v1.1", "int8": "sq-int8", "int8w127": "sq-int8-w127"}
pytestmark = pytest.mark.skipif(not os.access(PROGRAM, os.X_OK), reason="not run: tandem-net-model is not built")
needs_data = pytest.mark.skipif(not os.path.exists(os.path.join(SQUEEZE, "top5.tsv")), reason="not run: no data")

PARAM = """7767517
7 7
Input            data 0 1 data 0=9 1=8 2=3
Convolution      c1   1 1 data b1 0=12 1=3 4=1 5=1 6=324 9=1
ConvolutionDepthWise d1 1 1 b1 b2 0=12 1=3 3=2 4=1 5=1 6=108 7=12 9=1
Convolution      c2   1 1 b2 b3 0=10 1=1 6=120
Flatten          f    1 1 b3 b4
InnerProduct     ip   1 1 b4 b5 0=6 1=1 2=1200
Softmax          prob 1 1 b5 prob 0=0 1=1
"""
WEIGHTS = {"c1": (12, 27), "d1": (12, 9), "c2": (10, 12), "ip": (6, 200)}


def run(*args):
    return subprocess.run([PROGRAM, *map(str, args)], cwd=ROOT, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=900)


def good(*args):
    done = run(*args)
    # random networks may lose more in INT8 than calibrate warns about
    warned = done.stderr.startswith("tandem-net: warning: the outputs of the INT8 network have ")
    assert done.returncode == 0 and (done.stderr == "" or (warned and done.stderr.count("\n") == 1)), done.stderr
    return done.stdout


def network(tmp_path, seed=1):
    """A small network, some inputs with long tails, and the weights by layer."""
    rng = np.random.default_rng(seed)
    weights = {name: rng.standard_normal(shape).astype("<f4") for name, shape in WEIGHTS.items()}
    weights["c2"][3] = 0
    biases = {name: rng.standard_normal(WEIGHTS[name][0]).astype("<f4") for name in ("c1", "d1", "ip")}
    with open(tmp_path / "n.bin", "wb") as out:
        for name in ("c1", "d1", "c2", "ip"):
            out.write(bytes(4) + weights[name].tobytes() + biases.get(name, np.zeros(0, "<f4")).tobytes())
    (tmp_path / "n.param").write_text(PARAM)
    inputs = []
    for i in range(5):
        data = (rng.standard_normal((3, 8, 9)) ** 3).astype("<f4")
        data[0, 0, :4] = 0
        np.save(tmp_path / ("x%d.npy" % i), data)
        inputs.append(tmp_path / ("x%d.npy" % i))
    return ["--net", tmp_path / "n.param", "--bin", tmp_path / "n.bin"], inputs, weights


def read_table(path):
    return {line.split()[0]: np.array(line.split()[1:], dtype=np.float64).astype(np.float32)
            for line in open(path, encoding="ascii")}


# ---- thresholds, in another way than network/kl.c: cumulative sums that are linear between the edges of bins ----

def kl(hist):
    p = hist / hist.sum()
    before = np.concatenate([[0.0], np.cumsum(p)])
    best, choice = np.inf, None
    for t in range(128, 2048):
        edges = np.arange(129) * t / 128
        mass = np.diff(np.interp(edges, np.arange(2049), before))
        clipped = p[:t].copy()
        clipped[-1] += p[t:].sum()
        spread = np.diff(np.interp(np.arange(t + 1), edges, np.concatenate([[0.0], np.cumsum(mass)])))
        value = np.sum((clipped + 1e-4) * np.log((clipped + 1e-4) / (spread + 1e-4)))
        if value < best - 1e-12:
            best, choice = value, t
    return choice + 0.5


def mse(hist):
    x = np.arange(2048) + 0.5
    errors = []
    for t in range(128, 2049):
        step = t / 127
        errors.append(np.sum(hist * np.where(x < step / 2, x * x, np.where(x > t, (x - t) ** 2, step * step / 12))))
    return 2048 - int(np.argmin(errors[::-1]))


def percentile(hist, percent):
    return int(np.argmax(np.cumsum(hist) >= percent / 100 * hist.sum())) + 1


@pytest.mark.parametrize("method", ["kl", "minmax", "mse", "percentile"])
def test_thresholds(tmp_path, method):
    args, inputs, weights = network(tmp_path)
    blobs = {"c1": "0.f32", "d1": "1.f32", "c2": "2.f32", "ip": "4.f32"}
    seen = {name: [] for name in blobs}
    for path in inputs:
        good("classify", *args, "--dump", tmp_path, "--image", path)
        for name, file in blobs.items():
            seen[name].append(np.abs(np.fromfile(tmp_path / file, dtype="<f4")))
    table = tmp_path / "t.table"
    report = json.loads(good("calibrate", *args, "--method", method, "--percent", "99",
                             "--table", table, "--json", "--image", *inputs))
    assert report["method"] == method and report["inputs"] == 5
    scales = read_table(table)
    assert sorted(scales) == sorted(list(blobs) + [name + "_param_0" for name in blobs])
    for name in blobs:
        values = np.concatenate(seen[name])
        absmax = values.max()
        at = values[values > 0] / absmax * np.float32(2048)
        hist = np.bincount(np.minimum(at.astype(np.int64), 2047), minlength=2048).astype(np.float64)
        bins = {"kl": kl, "mse": mse, "minmax": lambda _: 2048.0,
                "percentile": lambda h: percentile(h, 99)}[method](hist)
        threshold = np.float32(bins) * absmax / np.float32(2048)
        assert scales[name] == np.float32(127) / threshold, name
        row = next(r for r in report["layers"] if r["name"] == name)
        assert (row["absmax"] == pytest.approx(absmax, rel=1e-6) and
                row["scale"] == pytest.approx(scales[name][0], rel=1e-6))
        # clip share and input SQNR from their definitions
        scaled = values * scales[name]
        q = np.minimum(np.floor(scaled.astype(np.float64) + 0.5), 127)
        error = np.sum((values.astype(np.float64) - q / np.float64(scales[name])) ** 2)
        assert row["clipped"] == pytest.approx(np.mean(scaled >= 127.5), abs=1e-9)
        assert row["input_db"] == pytest.approx(10 * np.log10(np.sum(values.astype(np.float64) ** 2) / error), abs=1e-3)
        if name != "ip":
            largest = np.abs(weights[name]).max(axis=1)
            with np.errstate(divide="ignore"):
                expected = np.where(largest > 0, np.float32(127) / largest, np.float32(0))
            assert np.array_equal(scales[name + "_param_0"], expected)
    assert scales["c2_param_0"][3] == 0


def taken(tried):
    """Of (method, top-1 as in FP32, dB): within 3 dB of the most exact outputs the most top-1, then the most exact."""
    most = max(db for _, _, db in tried)
    return max((row for row in tried if row[2] >= most - 3), key=lambda row: row[1:])[0]


def test_written_network_is_the_table_network(tmp_path):
    args, inputs, _ = network(tmp_path, 2)
    out = ["--out-param", tmp_path / "q.param", "--out-bin", tmp_path / "q.bin"]
    text = good("calibrate", *args, "--table", tmp_path / "t.table", "--optimise", *out, "--image", *inputs)
    assert text.startswith("layer ")
    tried = {line.split(":")[0]: line for line in text.split("\n") if ": top-1 as in FP32 for " in line}
    assert sorted(tried) == ["kl", "minmax", "mse", "percentile"]
    best = taken([(m, int(line.split()[6]), float(line.split()[-2])) for m, line in tried.items()])
    assert text.endswith("taken: %s\n" % best)
    good("calibrate", *args, "--method", best, "--table", tmp_path / "b.table", "--image", *inputs)
    assert (tmp_path / "b.table").read_bytes() == (tmp_path / "t.table").read_bytes()
    assert "8=102" in (tmp_path / "q.param").read_text()
    by_table = good("classify", *args, "--table", tmp_path / "t.table", "--image", *inputs)
    written = good("classify", "--net", tmp_path / "q.param", "--bin", tmp_path / "q.bin", "--image", *inputs)
    scalar = good("classify", "--net", tmp_path / "q.param", "--bin", tmp_path / "q.bin",
                  "--scalar", "--image", *inputs)
    assert by_table == written == scalar and written.count("top5 ") == 5
    # the runtime on the golden model of the NPU: without averages the same bits
    for size in ("n4", "n8"):
        device = good("classify", "--net", tmp_path / "q.param", "--bin", tmp_path / "q.bin",
                      "--device", "model", "--cfg", size, "--image", *inputs)
        assert device == written


def test_int8_layers(tmp_path):
    """Convolution, ConvolutionDepthWise and InnerProduct once more in NumPy (docs/npu/ncnn-contract.md), from the
    quantised inputs that the program dumps: bit for bit."""
    args, inputs, weights = network(tmp_path, 3)
    good("calibrate", *args, "--table", tmp_path / "t", "--image", *inputs)
    good("classify", *args, "--table", tmp_path / "t", "--dump", tmp_path, "--image", inputs[0])
    scales = read_table(tmp_path / "t")
    raw = (tmp_path / "n.bin").read_bytes()
    biases = {name: np.zeros(WEIGHTS[name][0], np.float32) for name in WEIGHTS}
    at = 0
    for name in ("c1", "d1", "c2", "ip"):
        at += 4 + weights[name].nbytes
        if name != "c2":
            biases[name] = np.frombuffer(raw, "<f4", WEIGHTS[name][0], at)
            at += 4 * WEIGHTS[name][0]
    # layer: number, input blob and shape, output blob, window, stride, padding
    layers = {"c1": (1, 0, (3, 8, 9), 1, 3, 1, 1), "d1": (2, 1, (12, 8, 9), 2, 3, 2, 1),
              "c2": (3, 2, (12, 4, 5), 3, 1, 1, 0), "ip": (5, 4, (200, 1, 1), 5, 1, 1, 0)}

    def rounded(v):
        v = v.astype(np.float64)  # exact: half away from zero
        return np.clip(np.sign(v) * np.floor(np.abs(v) + 0.5), -127, 127).astype(np.int64)

    for name, (number, blob, shape, out, k, stride, pad) in layers.items():
        x = np.fromfile(tmp_path / ("%d.f32" % blob), "<f4").reshape(shape)
        q = rounded(x * scales[name])
        assert np.array_equal(np.fromfile(tmp_path / ("%d.qin.s8" % number), np.int8).reshape(shape), q), name
        scale = scales[name + "_param_0"]
        w = rounded(weights[name] * scale[:, None]).reshape(-1, 1 if name == "d1" else shape[0], k, k)
        padded = np.pad(q, ((0, 0), (pad, pad), (pad, pad)))
        windows = np.lib.stride_tricks.sliding_window_view(padded, (k, k), axis=(1, 2))[:, ::stride, ::stride]
        sums = np.einsum("cyxij,cij->cyx" if name == "d1" else "cyxij,ocij->oyx",
                         windows, w[:, 0] if name == "d1" else w)
        with np.errstate(divide="ignore"):
            factor = np.where(scale == 0, np.float32(0), np.float32(1) / (scales[name] * scale)).astype(np.float32)
        v = sums.astype(np.float32) * factor[:, None, None] + biases[name][:, None, None]
        v = np.maximum(v, np.float32(0)) if name in ("c1", "d1") else v
        got = np.fromfile(tmp_path / ("%d.f32" % out), "<f4")
        assert np.array_equal(got, v.ravel()) and len(set(got)) > 5, name


DIGITS = ["--net", "models/digits/digits.param", "--bin", "models/digits/digits.bin", "--norm", "0.0625"]


@pytest.mark.parametrize("method", ["auto", "kl", "mse", "percentile"])
def test_digits(tmp_path, method):
    """The trained network of the repository: scales from its calibration images, accuracy over the held-out ones at
    most one point below FP32."""
    text = good("calibrate", *DIGITS, "--method", method, "--table", tmp_path / "t",
                "--image", "models/digits/calibration.csv")
    assert " of 64 inputs" in text
    with open(os.path.join(ROOT, "models/digits/heldout.csv"), encoding="ascii") as lines:
        labels = [line.strip().rsplit(",", 1)[1] for line in lines]
    right = {}
    for what, table in (("fp32", []), ("int8", ["--table", tmp_path / "t"])):
        lines = good("classify", *DIGITS, *table, "--top", "1",
                     "--image", "models/digits/heldout.csv").strip().split("\n")
        assert lines[0::2] == ["image models/digits/heldout.csv:%d" % (i + 1) for i in range(400)]
        right[what] = sum(line.split()[1] == label for line, label in zip(lines[1::2], labels))
    assert right["fp32"] >= 380 and right["int8"] >= right["fp32"] - 4, right


@pytest.mark.skipif(not os.access(RTL, os.X_OK), reason="not run: build/n4-fast/tandem-net is not built")
def test_digits_on_rtl(tmp_path):
    """classify --device tandem: RTL and golden model in step, and the same as on the CPU."""
    good("calibrate", *DIGITS, "--method", "kl", "--out-param", tmp_path / "q.param",
         "--out-bin", tmp_path / "q.bin", "--optimise", "--image", "models/digits/calibration.csv")
    with open(os.path.join(ROOT, "models/digits/heldout.csv"), encoding="ascii") as lines:
        (tmp_path / "two.csv").write_text("".join(lines.readlines()[:2]))
    args = ["classify", "--net", tmp_path / "q.param", "--bin", tmp_path / "q.bin",
            "--norm", "0.0625", "--image", tmp_path / "two.csv"]
    done = subprocess.run([RTL, *map(str, args), "--device", "tandem"],
                          cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout == good(*args) and done.stdout.count("top1") == 2


# ---- pictures ----

def png(pixels):
    h, w, _ = pixels.shape
    rows = b"".join(b"\0" + row.tobytes() for row in pixels)

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", w, h, 8, 2, 0, 0, 0)) +
            chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def identity(tmp_path, w, h, c):
    (tmp_path / "i.param").write_text("7767517\n2 2\nInput in 0 1 x 0=%d 1=%d 2=%d\nNoop n 1 1 x y\n" % (w, h, c))
    (tmp_path / "i.bin").write_bytes(b"")
    return ["--net", tmp_path / "i.param", "--bin", tmp_path / "i.bin"]


@pytest.mark.parametrize("order", ["bgr", "rgb", "gray"])
def test_picture_input(tmp_path, order):
    rng = np.random.default_rng(4)
    pixels = rng.integers(0, 256, (11, 17, 3), dtype=np.uint8)
    (tmp_path / "p.png").write_bytes(png(pixels))
    (tmp_path / "p.ppm").write_bytes(b"P6\n17 11\n255\n" + pixels.tobytes())
    channels = 1 if order == "gray" else 3
    args = identity(tmp_path, 17, 11, channels) + ["--order", order, "--mean", "1,2,3.5", "--norm", "0.25"]
    done = run("classify", *args, "--dump", tmp_path, "--image", tmp_path / "p.png")
    if "built without libstb-dev" in done.stderr:
        pytest.skip("not run: built without libstb-dev (make deps)")
    got = np.fromfile(tmp_path / "1.f32", dtype="<f4").reshape(channels, 11, 17)
    planes = pixels.transpose(2, 0, 1).astype(np.int64)
    planes = {"rgb": planes, "bgr": planes[::-1],
              "gray": ((planes[0] * 77 + planes[1] * 150 + planes[2] * 29) >> 8)[None]}[order]
    mean = np.array([1, 2, 3.5], dtype=np.float32)[:channels, None, None]
    expected = planes.astype(np.float32) * np.float32(0.25) + -mean * np.float32(0.25)
    assert np.array_equal(got, expected)
    good("classify", *args, "--dump", tmp_path, "--image", tmp_path / "p.ppm")
    assert np.array_equal(np.fromfile(tmp_path / "1.f32", dtype="<f4").reshape(expected.shape), expected)


def test_top(tmp_path):
    """Order, ties, names, NaN, inputs without a shape of their own."""
    (tmp_path / "i.param").write_text("7767517\n2 2\nInput in 0 1 x\nNoop n 1 1 x y\n")
    (tmp_path / "i.bin").write_bytes(b"")
    np.save(tmp_path / "x.npy", np.array([0.25, np.nan, 3, -1, 3, 0.5], dtype="<f4").reshape(1, 1, 6))
    (tmp_path / "names").write_text("zero\none\r\ntwo\nthree, or so")
    args = ["--net", tmp_path / "i.param", "--bin", tmp_path / "i.bin",
            "--shape", "6x1x1", "--image", tmp_path / "x.npy"]
    lines = good("classify", *args, "--names", tmp_path / "names", "--top", "9").split("\n")
    assert lines == ["image %s" % (tmp_path / "x.npy"), "top1 2 3.000000 two",
                     "top2 4 3.000000", "top3 5 0.500000", "top4 0 0.250000 zero", "top5 3 -1.000000 three, or so", ""]
    assert good("classify", *args, "--top", "1").count("\ntop") == 1


@pytest.mark.parametrize("command, args, part", [
    ("classify", [], "classify needs --net, --bin and at least one --image"),
    ("classify", ["--image"], "classify needs --net"),
    ("classify", ["--nonsense", "x"], "unknown option --nonsense"),
    ("classify", ["x"], "unexpected argument x"),
    ("classify", ["--top", "0"], "--top: expected a number 1..1000000, got '0'"),
    ("classify", ["--mean", "1,2"], "--mean: expected one number or three, got '1,2'"),
    ("classify", ["--norm", "1,2,3,4"], "--norm: expected"),
    ("classify", ["--norm", "inf"], "--norm: expected"),
    ("classify", ["--order", "cmyk"], "--order: expected bgr, rgb or gray, got 'cmyk'"),
    ("classify", ["--shape", "0x1x1"], "--shape: expected"),
    ("classify", ["NET", "--json", "--image", "x"], "are options of calibrate"),
    ("classify", ["NET", "--dump", ".", "--image", "x", "y"], "--dump takes one input"),
    ("classify", ["NET", "--image", "models/digits/heldout.csv"], "expected 216 pixels and a class in each"),
    ("classify", DIGITS + ["--dump", ".", "--image", "models/digits/heldout.csv"], "--dump takes one input, not 400"),
    ("classify", ["NET", "--image", "no.jpg"], "no.jpg: cannot open"),
    ("classify", ["NET", "--image", "no.npy"], "no.npy: cannot open"),
    ("classify", ["NET", "--names", "no.txt", "--image", "x"], "no.txt: cannot read"),
    ("classify", ["NET", "--table", "README.md", "--image", "x"], "README.md:1: "),
    ("classify", ["NET", "--device", "cpu", "--image", "x"], "--device: expected model, rtl or tandem, got 'cpu'"),
    ("classify", ["NET", "--device", "rtl", "--image", "x"],
     "--device 'rtl': this program was built without RTL, expected model"),
    ("classify", ["NET", "--device", "model", "--cfg", "n5", "--image", "x"],
     "--cfg: expected n4, n8, n16 or n32, got 'n5'"),
    ("classify", ["NET", "--device", "model", "--scalar", "--image", "x"], "--dump and --scalar are for the CPU"),
    ("calibrate", ["--device", "model", "NET", "--image", "x"], "are options of classify"),
    ("calibrate", ["--method", "magic"], "--method: expected auto, kl, minmax, mse or percentile, got 'magic'"),
    ("calibrate", ["--percent", "0"], "--percent: expected a number 1e-06..100, got '0'"),
    ("calibrate", ["NET", "--scalar", "--image", "x"], "are options of classify"),
    ("calibrate", ["NET", "--optimise", "--image", "x"], "--out-param and --out-bin must be given together"),
    ("calibrate", ["NET", "--out-bin", "x", "--image", "x"], "--out-param and --out-bin must be given together"),
    ("calibrate", ["NET", "--image", "no.npy"], "no.npy: cannot open"),
    ("calibrate", ["NET", "--table", "no/such/t", "--image", "INPUT"], "no/such/t: cannot"),
    ("calibrate", ["--net", "models/digits/digits-int8.param", "--bin", "models/digits/digits-int8.bin",
                   "--image", "INPUT"], "no float weights"),
])
def test_bad_input(tmp_path, command, args, part):
    net, inputs, _ = network(tmp_path)
    words = []
    for word in args:
        words += net if word == "NET" else [inputs[0]] if word == "INPUT" else [word]
    done = run(command, *words)
    assert done.returncode == 2, done.stderr
    assert done.stderr.count("\n") == 1 and done.stderr.startswith("tandem-net: ") and part in done.stderr, done.stderr


def test_help():
    assert good("classify", "--help") == good("calibrate", "--help")


# ---- SqueezeNet v1.1 with its public weights ----

def model(kind):
    return ["--net", os.path.join(SQUEEZE, MODELS[kind] + ".param"),
            "--bin", os.path.join(SQUEEZE, MODELS[kind] + ".bin"), "--mean", "104,117,123"]


def pictures():
    return sorted(os.path.join(IMAGES, name) for name in os.listdir(IMAGES) if name.endswith(".jpg"))


@needs_data
@pytest.mark.parametrize("kind, device", [("float", None), ("int8", None),
                                          ("int8w127", None), ("int8", "model"), ("int8w127", "model")])
def test_top5(kind, device):
    """Classes, order, names and all six decimals of the probability as ncnn gave them: on the CPU, and by the runtime
    on the golden model of the NPU."""
    text = good("classify", *model(kind), *(["--device", device] if device else []),
                "--names", os.path.join(SQUEEZE, "synset_words.txt"), "--image", *pictures())
    expected = {}
    with open(os.path.join(SQUEEZE, "top5.tsv"), encoding="utf-8") as lines:
        for line in lines:
            image, which, place, number, share, name = line.rstrip("\n").split("\t")
            if which == kind:
                expected.setdefault(image, []).append("top%s %s %s %s" % (place, number, share, name))
    got = {}
    for line in text.strip().split("\n"):
        if line.startswith("image "):
            lines = got.setdefault(os.path.basename(line[6:]), [])
        else:
            lines.append(line)
    assert len(got) == 12
    for image, lines in got.items():
        for ours, theirs in zip(lines, expected[image]):
            mine, other = ours.split(" ", 3), theirs.split(" ", 3)
            assert mine[:2] + mine[3:] == other[:2] + other[3:], image
            # the last layer calls libm's exponential; the NPU averages with a reciprocal
            assert abs(float(mine[2]) - float(other[2])) < (7e-6 if device else 2e-6), image
        assert len(lines) == len(expected[image]) == 5


@needs_data
@pytest.mark.parametrize("path", ["fast", "scalar"])
@pytest.mark.parametrize("kind", ["int8", "int8w127"])
def test_int8_tensors(tmp_path, kind, path):
    """Every INT8 tensor and every FP32 blob of ncnn's plain C++ layers for cat.jpg, from the JPEG on."""
    if path == "scalar" and not os.environ.get("TANDEM_CHECK"):
        pytest.skip("not run: the scalar path takes seconds (make check)")
    param = os.path.join(SQUEEZE, MODELS[kind] + ".param")
    good("classify", *model(kind), *(["--scalar"] if path == "scalar" else []),
         "--dump", tmp_path, "--image", os.path.join(IMAGES, "cat.jpg"))
    numbers = {}
    with open(param, encoding="utf-8") as lines:
        layers = lines.read().split("\n")[2:]
    for words in map(str.split, layers):
        if len(words) >= 4:
            for name in words[4 + int(words[2]):4 + int(words[2]) + int(words[3])]:
                numbers[name] = len(numbers)
    with tarfile.open(os.path.join(SQUEEZE, "cat-reference.tar.xz")) as archive:
        files = {os.path.basename(m.name): archive.extractfile(m).read() for m in archive.getmembers()
                 if os.path.basename(m.name).startswith(kind + "_") or m.name.endswith("manifest_%s.tsv" % kind)}
    rows = [line.split("\t")
            for line in io.StringIO(files["manifest_%s.tsv" % kind].decode()).read().strip().split("\n")[1:]]
    exact = {"qin": 0, "s8": 0, "f32": 0}
    close = 0
    for row in rows:
        if row[10] not in files:
            continue
        if "(quantized input" in row[3]:
            mine = (tmp_path / ("%s.qin.s8" % row[0])).read_bytes()
            exact["qin"] += 1
        elif row[4] == "s8":
            mine = (tmp_path / ("%d.s8" % numbers[row[3]])).read_bytes()
            exact["s8"] += 1
        elif row[1] in ("Pooling", "Softmax") and row[2] in ("pool10", "prob"):
            # a sum of 196 numbers in an order of its own, and libm's exponential
            got = np.fromfile(tmp_path / ("%d.f32" % numbers[row[3]]), dtype="<f4")
            expected = np.frombuffer(files[row[10]], dtype="<f4")
            assert np.abs(got - expected).max() <= 1e-5 * np.abs(expected).max(), row[2]
            close += 1
            continue
        else:
            mine = (tmp_path / ("%d.f32" % numbers[row[3]])).read_bytes()
            exact["f32"] += 1
        assert mine == files[row[10]], row[:4]
    print("%s: %d quantised inputs, %d INT8 outputs, %d FP32 blobs bit for bit" %
          (kind, exact["qin"], exact["s8"], exact["f32"]))
    assert exact["qin"] >= 10 and exact["s8"] == 8 and len(rows) == 50


@needs_data
def test_weight_scales(tmp_path):
    """127/absmax of every output channel, as ncnn's table of 127-range weights."""
    table = read_table(os.path.join(SQUEEZE, "squeezenet-w127.table"))
    good("calibrate", *model("float"), "--method", "minmax", "--table", tmp_path / "t",
         "--image", os.path.join(IMAGES, "cat.jpg"))
    ours = read_table(tmp_path / "t")
    assert sorted(ours) == sorted(table) and len(table) == 52
    for name in table:
        if name.endswith("_param_0"):
            assert np.abs(ours[name] - table[name]).max() <= 1e-6 * np.abs(table[name]).max(), name


@needs_data
@pytest.mark.skipif("-san" in PROGRAM, reason="not run: minutes with sanitizers")
@pytest.mark.parametrize("method", ["minmax", "auto"])
def test_quantiser_against_ncnn(method):
    """Scales over the twelve pictures against those of ncnn's table, which comes from 22."""
    if not os.environ.get("TANDEM_CHECK"):
        pytest.skip("not run: several seconds (make check)")
    table_path = os.path.join(SQUEEZE, "squeezenet.table")
    report = json.loads(good("calibrate", *model("float"), "--method", method,
                             "--compare", table_path, "--json", "--image", *pictures()))
    assert len(report["layers"]) == 26
    # as exact, and with the method that has it, the top-1 of FP32 as often
    assert report["output_db"] >= report["compared_output_db"]
    if method == "minmax":
        assert report["same_top1"] >= report["compared_same_top1"]
        return
    assert ({row["method"] for row in report["tried"]} == {"kl", "minmax", "mse", "percentile"} and
            report["output_db"] == next(r["output_db"] for r in report["tried"] if r["method"] == taken(
                [(r["method"], r["same_top1"], r["output_db"]) for r in report["tried"]])))
    assert report["same_top1"] >= 11  # of the twelve; the most exact outputs alone have 8
    report = json.loads(good("calibrate", *model("float"), "--method", "kl", "--json", "--image", *pictures()))
    # where the twelve hold a layer's largest value and most of its shape, the thresholds are ncnn's
    table = read_table(table_path)
    same = [row["name"] for row in report["layers"] if abs(row["scale"] - table[row["name"]][0]) < 6e-7]
    assert len(same) >= 4, same
