"""Networks on engines other than the NPU, on their golden models (tandem-net run --target): LeNet, the digits network,
SqueezeNet v1.1, layers that an engine refuses, bad input."""
import os
import re
import subprocess
import sys

import numpy as np
import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PROGRAM = os.path.join(ROOT, os.environ.get("HOST", os.path.join(os.environ.get("BUILD", "build"), "host")),
                       "tandem-net-model")
DATA = os.environ.get("TANDEM_DATA", os.path.join(ROOT, "..", "shared", "data"))
pytestmark = pytest.mark.skipif(not os.access(PROGRAM, os.X_OK), reason="not run: tandem-net-model is not built")
DIGITS = ["--net", "models/digits/digits.param", "--bin", "models/digits/digits.bin"]
LENET = ["--net", "models/lenet/lenet.param", "--bin", "models/lenet/lenet.bin"]
IMAGES = ["--image", "models/digits/heldout.csv", "--norm", "0.0625", "--order", "gray"]
CALIB = ["--calib", "models/digits/calibration.csv"]
POW2 = ["--pow2", "models/digits/digits.pow2"]
sys.path.insert(0, os.path.join(ROOT, "tools"))
import netgen  # noqa: E402


def run(target, *args, status=0):
    done = subprocess.run([PROGRAM, "run", "--target", target, *map(str, args)], cwd=ROOT, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=300)
    assert done.returncode == status, done.stderr
    return done.stdout if status == 0 else done.stderr


def rights(text):
    """Images right in FP32 and on the engine."""
    return tuple(map(int, re.search(r"images: FP32 (\d+) right, engine (\d+) right", text).groups()))


# ---- LeNet, digits ----

def test_lenet():
    """As many images right as the README says."""
    stated = re.search(r"Held-out accuracy: (\d+) of 400", open(os.path.join(ROOT, "models/lenet/README.md")).read())
    text = run("sgemm", *LENET, *IMAGES)
    assert rights(text) == (int(stated.group(1)), int(stated.group(1)))
    assert "100.00 % of the multiply-accumulates on the engine" in text
    rows = dict((line.split()[0], line.split()) for line in text.splitlines() if line.split()[2:3] == ["engine"])
    assert sorted(rows) == ["conv1", "conv2", "ip1", "ip2"]
    # docs/sgemm/sgemm.md: passes of conv1, 20 x 576 x 25 in blocks of 64 x 56, and the bias; their fill and drain
    assert int(rows["conv1"][3]) == 288000 and int(rows["conv1"][4]) == 2


def test_lenet_half():
    """Operands rounded to binary16 change no class."""
    assert "25 images: FP32 24 right, engine 24 right, same class 25" in run("sgemm", *LENET, *IMAGES, "--half",
                                                                             "--count", 25)


def test_lenet_files():
    """The committed weights in binary64, by NumPy: the same number of images right."""
    done = subprocess.run([sys.executable, "models/lenet/train.py", "--eval"], cwd=ROOT, capture_output=True, text=True,
                          timeout=300)
    assert done.returncode == 0 and done.stdout.startswith("392 of 400 "), done.stdout + done.stderr


@pytest.mark.parametrize("script", ["models/lenet/train.py", "models/digits/inq.py"])
def test_training_is_reproducible(script):
    if not os.environ.get("TANDEM_CHECK"):
        pytest.skip("not run: training is repeated by make check only (TANDEM_CHECK=1)")
    pytest.importorskip("sklearn", reason="not run: needs python3-sklearn")
    done = subprocess.run([sys.executable, script, "--check"], cwd=ROOT, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stdout + done.stderr


def test_digits_pow2():
    """Weights fine-tuned to powers of two and INT8 activations: within one point of FP32; no cap has to fall."""
    text = run("sac", *DIGITS, *IMAGES, *CALIB, *POW2, "--search")
    assert rights(text) == (395, 393)
    assert "FP32 activations 393 right, INT8 activations 393, 1 runs" in text
    scales = re.findall(r"^(\w+) +(\d+) +(-?\d+) +(-?\d+) +(-?\d+) +(-?\d+) +(\d+) +([0-9.]+)$", text, re.M)
    assert [row[0] for row in scales] == ["data", "relu1", "relu2", "relu3", "conv4"]
    for name, channels, cap, first, least, most, lowered, norm1 in scales:
        assert cap == first and int(least) <= int(most) <= int(cap) and lowered == "0" and float(norm1) < 0.05, name


def test_digits_as_they_come():
    """Weights rounded without training cost one image more."""
    assert rights(run("sac", *DIGITS, *IMAGES, *CALIB)) == (395, 392)


def test_file_of_two_writers(tmp_path):
    """The file that NumPy wrote is what the reader makes of it: the writer gives the same bytes."""
    out = tmp_path / "again.pow2"
    run("sac", *DIGITS, *IMAGES, *CALIB, *POW2, "--count", 1, "--out-pow2", out)
    assert out.read_bytes() == open(os.path.join(ROOT, "models/digits/digits.pow2"), "rb").read()


@pytest.mark.parametrize("sizes", ["3,2,2,4096", "6,16,16,8960"])
def test_sizes_change_no_result(sizes):
    text = run("sac", *DIGITS, *IMAGES, *CALIB, *POW2, "--sizes", sizes, "--count", 40)
    assert "FP32 activations 38 right, INT8 activations 38" in text


@pytest.mark.parametrize("nmin, part", [
    (127, "layer 'conv1' of models/digits/digits.param: a weight is 2^128 or larger"),  # legal in a file, no float
    (0x80, "layer 'conv1' fits with no cap"),  # 2^-128 .. 2^-122: no shift of the engine reaches from them to the bias
])
def test_powers_out_of_range(tmp_path, nmin, part):
    """Weights of the first layer that are far too large or too small: one line, no result."""
    data = bytearray(open(os.path.join(ROOT, "models/digits/digits.pow2"), "rb").read())
    data[0] = nmin
    (tmp_path / "far.pow2").write_bytes(data)
    text = run("sac", *DIGITS, *IMAGES, *CALIB, "--pow2", tmp_path / "far.pow2", "--count", 1, status=2).strip()
    assert text.startswith("tandem-net: ") and part in text and "\n" not in text, text


def test_lenet_in_int8():
    fp32, engine = rights(run("sac", *LENET, *IMAGES, *CALIB, "--count", 20))
    assert fp32 >= 19 and engine >= fp32 - 1


# ---- SqueezeNet ----

def squeezenet(count):
    photos = sorted(os.path.join(DATA, "images", name) for name in os.listdir(os.path.join(DATA, "images")))
    files = [os.path.join(DATA, "squeezenet", "squeezenet_v1.1" + end) for end in (".param", ".bin")]
    return ["--net", files[0], "--bin", files[1], "--mean", "104,117,123", "--image", *photos[:count]]


data_needed = pytest.mark.skipif(not os.path.isdir(os.path.join(DATA, "squeezenet")), reason="not run: no data")


def tops(text):
    found = re.findall(r"^image \S*/(\S+) engine ((?:\d+ [\d.]+ )+)fp32 ", text, re.M)
    return {name: [int(word) for word in words.split()[::2]] for name, words in found}


@data_needed
def test_squeezenet_top5():
    """All photographs: the five classes of ncnn in FP32, in their order."""
    expected = {}
    for line in open(os.path.join(DATA, "squeezenet", "top5.tsv")):
        row = line.split("\t")
        if row[1] == "float":
            expected.setdefault(row[0], []).append(int(row[3]))
    text = run("sgemm", *squeezenet(12))
    got = tops(text)
    assert "12 images: same class as in FP32 12, same first 5 in the same order 12" in text
    assert len(got) == 12
    for name in got:
        assert got[name] == expected[name], name


@data_needed
def test_squeezenet_half():
    assert "2 images: same class as in FP32 2" in run("sgemm", *squeezenet(2), "--half", "--quiet")


@data_needed
def test_squeezenet_pow2():
    """Weights rounded as they come: INT8 activations stay near FP32 ones; every layer is on the engine."""
    text = run("sac", *squeezenet(1))
    norm1 = {row.split()[0]: float(row.split()[-1]) for row in re.findall(r"^\S+(?: +-?\d+){6} +[\d.]+$", text, re.M)}
    assert len(norm1) == 30 and max(norm1.values()) < 0.2 and norm1["pool10"] < 0.15
    assert "100.00 % of the multiply-accumulates on the engine" in text
    assert re.search(r"^pool10 +Pooling +fused", text, re.M) and re.search(r"^pool3 +Pooling +engine", text, re.M)


def test_squeezenet_topology():
    """models/squeezenet is what tools/netgen.py writes, with an open input."""
    lines = open(os.path.join(ROOT, "models/squeezenet/squeezenet_v1.1.param")).read().split("\n")
    assert lines[2].split() == ["Input", "data", "0", "1", "data"]
    written = netgen.build("squeezenet").text().split("\n")
    assert lines[:2] + lines[3:] == written[:2] + written[3:]


# ---- layers of other networks ----

def odd_network(folder):
    """Groups, dilation, unequal strides and pads, depthwise, slopes, an average over windows, an inner product."""
    rng = np.random.default_rng(5)
    lines, data = [], b""

    def layer(kind, name, text, weights=0, bias=0):
        nonlocal data
        last = lines[-1].split()[1] if lines else None
        lines.append("%s %s %d 1 %s%s %s" % (kind, name, last is not None, last + " " if last else "", name, text))
        if weights:
            data += np.uint32(0).tobytes() + rng.normal(0, 0.3, weights).astype("<f4").tobytes()
            data += rng.normal(0, 0.1, bias).astype("<f4").tobytes()

    layer("Input", "in", "0=11 1=9 2=8")
    layer("Convolution", "dilated", "0=16 1=3 2=2 4=2 5=1 6=1152", 1152, 16)
    layer("ReLU", "leaky", "0=0.1")
    layer("ConvolutionDepthWise", "groups", "0=16 1=3 4=1 5=1 6=1152 7=2", 1152, 16)
    layer("ReLU", "relu", "")
    layer("Convolution", "strides", "0=12 1=3 11=2 3=2 13=1 4=1 14=0 5=1 6=1152 9=1", 1152, 12)
    layer("ConvolutionDepthWise", "depthwise", "0=12 1=3 4=1 5=0 6=108 7=12", 108)
    layer("Pooling", "windows", "0=1 1=2 2=1")
    layer("InnerProduct", "inner", "0=7 1=1 2=%d" % (7 * 12 * 7 * 5), 7 * 12 * 7 * 5, 7)
    (folder / "odd.param").write_text("7767517\n%d %d\n%s\n" % (len(lines), len(lines), "\n".join(lines)))
    (folder / "odd.bin").write_bytes(data)
    np.save(folder / "in.npy", rng.normal(0, 1, (8, 9, 11)).astype("<f4"))
    return ["--net", folder / "odd.param", "--bin", folder / "odd.bin", "--image", folder / "in.npy", "--top", 7]


def test_odd_layers_gemm(tmp_path):
    text = run("sgemm", *odd_network(tmp_path))
    assert "same first 7 in the same order 1" in text
    numbers = re.search(r"engine (.*) fp32 (.*) same$", text, re.M)
    engine, fp32 = ([float(v) for v in n.split()[1::2]] for n in numbers.groups())
    assert np.allclose(engine, fp32, atol=2e-3) and len(engine) == 7
    assert "100.00 % of the multiply-accumulates on the engine" in text


def test_odd_layers_shift_add(tmp_path):
    """What the engine refuses stays on the processor, with the reason."""
    text = run("sac", *odd_network(tmp_path), "--sizes", "4,8,8,25088")
    for name, reason in (("dilated", "dilation"), ("strides", "strides that differ"), ("depthwise", "depthwise"),
                         ("windows", "average")):
        line = re.search(r"^%s +[A-Z].*$" % name, text, re.M).group(0)
        assert " cpu " in line and reason in line, line
    assert re.search(r"^groups .* engine ", text, re.M) and re.search(r"^relu .* fused ", text, re.M)
    assert re.search(r"^inner .* engine ", text, re.M)


def test_space_to_depth(tmp_path):
    """The first layer of many networks, 7 x 7 with stride 2 over three channels: the cycles of docs/sac/sac.md with
    four times the channels, and the sums of the layer itself."""
    rng = np.random.default_rng(6)
    (tmp_path / "first.param").write_text("7767517\n2 2\nInput in 0 1 in 0=224 1=224 2=3\n"
                                          "Convolution conv 1 1 in conv 0=64 1=7 3=2 4=3 5=1 6=9408\n")
    weights = rng.choice([-1, 1], 9408) * 2.0 ** rng.integers(-7, -1, 9408)
    (tmp_path / "first.bin").write_bytes(np.uint32(0).tobytes() + weights.astype("<f4").tobytes() +
                                         rng.normal(0, 1, 64).astype("<f4").tobytes())
    np.save(tmp_path / "in.npy", rng.integers(-64, 64, (3, 224, 224)).astype("<f4"))
    text = run("sac", "--net", tmp_path / "first.param", "--bin", tmp_path / "first.bin", "--image",
               tmp_path / "in.npy", "--sizes", "6,16,16,8960")
    assert re.search(r"^conv .* 100352$", text, re.M), text
    norm1 = float(re.search(r"^conv +64 .* ([\d.]+)$", text, re.M).group(1))
    assert norm1 < 0.015  # rounding; a wrong tap anywhere is an error of some percent


def one_conv(folder, name, lines, weights, image):
    """A network of an input and some more layers; its arguments for run()."""
    c, h, w = image.shape
    (folder / (name + ".param")).write_text("7767517\n%d %d\nInput in 0 1 in 0=%d 1=%d 2=%d\n%s\n"
                                            % (len(lines) + 1, len(lines) + 1, w, h, c, "\n".join(lines)))
    (folder / (name + ".bin")).write_bytes(weights)
    np.save(folder / "in.npy", image)
    return ["--net", folder / (name + ".param"), "--bin", folder / (name + ".bin"), "--image", folder / "in.npy"]


def test_batch_norm_before_powers(tmp_path):
    """Batch normalisation is folded before the weights become powers of two: as if NumPy had folded it."""
    rng = np.random.default_rng(7)
    image = rng.normal(0, 1, (8, 6, 7)).astype("<f4")
    w, b = rng.normal(0, 0.3, (8, 8, 3, 3)).astype("<f4"), rng.normal(0, 0.1, 8).astype("<f4")
    slope, mean, bias = (rng.normal(1, 0.4, 8).astype("<f4") for _ in range(3))
    var = rng.uniform(0.2, 3, 8).astype("<f4")
    factor = slope / np.sqrt(var.astype("<f8"))
    folded = (w * factor[:, None, None, None]).astype("<f4"), (factor * (b - mean) + bias).astype("<f4")
    tail = "InnerProduct fc 1 1 %s fc 0=5 1=0 2=1680"
    conv, flag = "Convolution conv 1 1 in conv 0=8 1=3 4=1 5=1 6=576", np.uint32(0).tobytes()
    fc = flag + rng.normal(0, 0.1, (5, 8 * 6 * 7)).astype("<f4").tobytes()
    tail = tail.replace("1680", "%d" % (5 * 8 * 6 * 7))
    two = one_conv(tmp_path, "two", [conv, "BatchNorm bn 1 1 conv bn 0=8", tail % "bn"],
                   flag + w.tobytes() + b.tobytes() + slope.tobytes() + mean.tobytes() + var.tobytes() +
                   bias.tobytes() + fc, image)
    one = one_conv(tmp_path, "one", [conv, tail % "conv"], flag + folded[0].tobytes() + folded[1].tobytes() + fc,
                   image)
    lines = [re.search(r"^image .* engine (.*?) fp32", run("sac", *net, "--top", 5), re.M).group(1).split()
             for net in (two, one)]
    assert lines[0] == lines[1] and len(lines[0]) == 10


def test_cap_falls_where_a_sum_could_overflow(tmp_path):
    """512 channels of 3 x 3 with the largest code: 7 bits between their scales are one too many for 32 bits."""
    rng = np.random.default_rng(8)
    image = np.full((512, 3, 3), 2.0 ** -7, "<f4")  # Q 14
    image[::2] = 128  # Q 0; the mean is 7
    image *= rng.choice([-1, 1], image.shape)
    weights = rng.choice([-1.0, 1.0], (16, 512, 3, 3)).astype("<f4")
    net = one_conv(tmp_path, "wide", ["Convolution conv 1 1 in conv 0=16 1=3 5=0 6=73728"],
                   np.uint32(0).tobytes() + weights.tobytes(), image)
    text = run("sac", *net)
    cap, first, least, most = re.search(r"^in +512 +(-?\d+) +(-?\d+) +(-?\d+) +(-?\d+) ", text, re.M).groups()
    assert (first, cap, least, most) == ("7", "6", "0", "6"), text


# ---- bad input ----

@pytest.mark.parametrize("target, args, part", [
    ("nothing", [], "--target 'nothing': expected npu, sgemm or sac"),
    ("sgemm", LENET, "needs --net, --bin and at least one --image"),
    ("sgemm", [*LENET, *IMAGES, "--device", "tandem"], "built without the RTL of 'sgemm'"),
    ("sgemm", [*LENET, *IMAGES, "--search"], "for engines with integers"),
    ("sgemm", [*LENET, *IMAGES, *POW2], "for engines with integers"),
    ("sgemm", [*LENET, *IMAGES, "--sizes", "64,,4"], "expected up to four numbers"),
    ("sgemm", [*LENET, *IMAGES, "--only", "5-2"], "--only '5-2': expected K or K-L"),
    ("sac", [*LENET, *IMAGES, *POW2], "layer 'conv1' of models/lenet/lenet.param: its weights have other sizes"),
    ("sac", [*DIGITS, *IMAGES, "--pow2", "models/digits/digits.bin"], "digits.bin: byte 2: sizes"),
    ("sac", [*DIGITS, *IMAGES, "--pow2", "nowhere.pow2"], "nowhere.pow2"),
])
def test_bad_input(target, args, part):
    text = run(target, *args, status=2).strip()
    assert text.startswith("tandem-net: ") and part in text and "\n" not in text, text
