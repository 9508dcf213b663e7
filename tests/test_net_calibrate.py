"""tandem-net calibrate: methods ranked by known classes and by all outputs, layers that stay FP32; classify with
several outputs."""
import json
import os
import struct
import subprocess

import pytest

np = pytest.importorskip("numpy", reason="not run: needs python3-numpy (make deps)")

from test_net_ops import PROGRAM, ROOT  # noqa: E402

pytestmark = pytest.mark.skipif(not os.access(PROGRAM, os.X_OK), reason="not run: tandem-net-model is not built")
DIGITS = ["--net", "models/digits/digits.param", "--bin", "models/digits/digits.bin", "--norm", "0.0625"]


def run(*args, cwd=ROOT):
    return subprocess.run([PROGRAM, *map(str, args)], cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, timeout=120)


def good(*args, **more):
    done = run(*args, **more)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(name="images")
def fixture_images(tmp_path):
    """Sixty of the digits and their classes."""
    lines = open(os.path.join(ROOT, "models/digits/heldout.csv"), encoding="ascii").read().splitlines()[:60]
    (tmp_path / "images.csv").write_text("\n".join(lines) + "\n")
    return tmp_path / "images.csv"


def report(*args):
    return json.loads(good("calibrate", *DIGITS, "--json", "--image", *args))


def test_labels_rank(images, tmp_path):
    """Classes of the .csv, or of a file: the same; wrong ones give another count."""
    r = report(images)
    assert r["labels"] == 60 and r["fp32_right"] >= 57 and 57 <= r["right"] <= 60
    labels = [line.split(",")[-1] for line in images.read_text().splitlines()]
    (tmp_path / "l.txt").write_text("\n".join(labels) + "\n")
    assert report(images, "--labels", tmp_path / "l.txt") == r
    (tmp_path / "w.txt").write_text("\n".join(str((int(x) + 1) % 10) for x in labels) + "\n")
    wrong = report(images, "--labels", tmp_path / "w.txt")
    assert wrong["fp32_right"] <= 60 - r["fp32_right"]
    (tmp_path / "s.txt").write_text("\n".join(labels[:59]) + "\n")
    done = run("calibrate", *DIGITS, "--image", images, "--labels", tmp_path / "s.txt")
    assert done.returncode == 2 and "expected a class, 0 or more, for each of 60 inputs" in done.stderr


def test_layers_stay_float(images, tmp_path):
    whole = report(images, "--method", "minmax")
    names = [layer["name"] for layer in whole["layers"]]
    assert len(names) >= 3
    one = report(images, "--method", "minmax", "--float", names[0])
    assert [layer["name"] for layer in one["layers"]] == names[1:]
    target = whole["output_db"] + 3
    found = report(images, "--method", "minmax", "--reach", target)
    assert found["output_db"] >= target and 0 < len(found["layers"]) < len(names)
    assert report(images, "--method", "minmax", "--reach", whole["output_db"] - 1) == whole
    text = good("calibrate", *DIGITS, "--image", images, "--method", "minmax", "--reach", target, "--table",
                tmp_path / "t.table", "--out-param", tmp_path / "q.param", "--out-bin", tmp_path / "q.bin")
    stay = [line.split()[-1] for line in text.split("\n") if line.startswith("stays FP32: ")]
    assert len(stay) == len(names) - len(found["layers"]) and "with layers in FP32: top-1" in text
    table = (tmp_path / "t.table").read_text()
    assert all(name not in table for name in stay) and found["layers"][0]["name"] in table
    for line in (tmp_path / "q.param").read_text().split("\n"):
        words = line.split()
        if len(words) > 1 and words[1] in names:
            assert ("8=2" in words) == (words[1] not in stay), line
    assert good("classify", "--net", tmp_path / "q.param", "--bin", tmp_path / "q.bin", *DIGITS[4:], "--image", images)


def test_least(images):
    done = run("calibrate", *DIGITS, "--image", images, "--method", "minmax", "--least", 90)
    assert done.returncode == 0 and done.stderr.count("\n") == 1
    assert done.stderr.startswith("tandem-net: warning: the outputs of the INT8 network have ")
    assert run("calibrate", *DIGITS, "--image", images, "--method", "minmax", "--least", 1).stderr == ""


@pytest.mark.parametrize("args, part", [
    (["--float", "nothing"], "--float: 'nothing' is not a layer that would become INT8"),
    (["--reach", "x"], "--reach: expected a number"),
    (["--labels", "no/such"], "no/such: cannot"),
])
def test_bad_options(images, args, part):
    done = run("calibrate", *DIGITS, "--image", images, *args)
    assert done.returncode == 2 and part in done.stderr, done.stderr


def test_several_outputs(tmp_path):
    """Two outputs of very different size: both count the same, and classify prints both."""
    rng = np.random.default_rng(4)
    layers = ["Input x 0 1 x 0=16", "Split s 1 2 x a b", "InnerProduct big 1 1 a big 0=8 1=0 2=128",
              "InnerProduct small 1 1 b small 0=8 1=0 2=128"]
    (tmp_path / "n.param").write_text("7767517\n%d 5\n%s\n" % (len(layers), "\n".join(layers)))
    w = [rng.standard_normal((8, 16)).astype("<f4") * scale for scale in (1000.0, 0.001)]
    (tmp_path / "n.bin").write_bytes(b"".join(struct.pack("<I", 0) + x.astype("<f4").tobytes() for x in w))
    x = rng.standard_normal(16).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    args = ["--net", "n.param", "--bin", "n.bin", "--image", "x.npy"]
    lines = good("classify", *args, "--top", 1, cwd=tmp_path).splitlines()
    assert lines[1] == "output big" and lines[3] == "output small"
    assert [int(lines[i].split()[1]) for i in (2, 4)] == [int((v @ x).argmax()) for v in w]
    r = json.loads(good("calibrate", *args, "--method", "minmax", "--json", cwd=tmp_path))
    parts = [10 ** (-layer["output_db"] / 10) for layer in r["layers"]]
    assert abs(r["output_db"] - -10 * np.log10(np.mean(parts))) < 1e-6
    os.mkdir(tmp_path / "d")
    good("classify", *args, "--dump", "d", cwd=tmp_path)
    assert len(os.listdir(tmp_path / "d")) == 5
