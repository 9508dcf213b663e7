"""tandem-net calibrate: methods ranked by known classes and by all outputs, layers that stay FP32; classify with
several outputs."""
import glob
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


def test_task_is_reached(images):
    """--reach-task: layers stay in FP32 until top-1 is as good as in FP32."""
    bad = ["--method", "percentile", "--percent", 30]
    short = report(images, *bad)
    assert short["right"] < short["fp32_right"]
    for share in (0.9, 1):
        found = report(images, *bad, "--reach-task", share)
        assert found["right"] >= share * found["fp32_right"] and len(found["layers"]) < len(short["layers"])
    assert report(images, "--method", "minmax", "--reach-task", 0.5) == report(images, "--method", "minmax")


DETECTOR = ["--net", "models/detector/detector.param", "--bin", "models/detector/detector.bin", "--order", "gray",
            "--mean", 128, "--norm", 0.0078125, "--image"]
PICTURES = sorted(glob.glob(os.path.join(ROOT, "models/detector/pictures/*.png")))
OBJECTS = "models/detector/pictures/labels.txt"


def boxes(*args):
    done = run("calibrate", *DETECTOR, *PICTURES, "--json", *args)
    if "built without libstb-dev" in done.stderr:
        pytest.skip("not run: tandem-net-model was built without libstb-dev (make deps)")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_objects_rank(tmp_path):
    """Known objects decide by mean average precision, which is that of detect."""
    table = tmp_path / "t.table"
    args = ["--labels", OBJECTS, "--threshold", 0.01]
    by_boxes = boxes(*args, "--table", table)
    tried = {t["method"]: t["map_50_95"] for t in by_boxes["tried"]}
    assert len(tried) == 4 and tried[by_boxes["method"]] >= max(tried.values()) - 0.005
    assert "map_50" not in boxes()
    for more, key in ((["--table", table], "map"), ([], "fp32_map")):
        text = good("detect", DETECTOR[1], DETECTOR[3], *DETECTOR[4:], *PICTURES, "--json", *args, *more)
        last = json.loads(text.splitlines()[-1])
        assert last["objects"] == by_boxes["objects"] == 16
        for overlap in ("_50", "_50_95"):
            assert abs(last["map" + overlap] - by_boxes[key + overlap]) < 1e-6
    npy = [tmp_path / (name + ".npy") for name in "ab"]
    for k, file in enumerate(npy):  # inputs themselves: objects in pixels of the input
        np.save(file, np.full((1, 96, 96), k / 4).astype(np.float32))
    (tmp_path / "o.txt").write_text("a.npy 1 3 4 20 30\nb.npy 2 50 40 20 20\n")
    done = run("calibrate", *DETECTOR, *npy, "--labels", tmp_path / "o.txt", "--json", "--method", "minmax")
    assert done.returncode == 0 and json.loads(done.stdout)["objects"] == 2
    words = [line.split() for line in open(os.path.join(ROOT, OBJECTS), encoding="ascii")]
    for w in words:
        w[2] = str(float(w[2]) + 0.4 * float(w[4]))  # moved
    (tmp_path / "l.txt").write_text("\n".join(map(" ".join, words)) + "\n")
    assert boxes("--labels", tmp_path / "l.txt", "--threshold", 0.01)["fp32_map_50_95"] < 0.1


@pytest.mark.parametrize("dx, dy, method", [(0, 0, "percentile"), (0.06, 0, "kl"), (-0.06, -0.03, "mse")])
def test_objects_decide(dx, dy, method, tmp_path):
    """Objects a little aside: another method's boxes fit best, and auto takes it, though the outputs are the same."""
    words = [line.split() for line in open(os.path.join(ROOT, OBJECTS), encoding="ascii")]
    for w in words:
        x, y, width, height = map(float, w[2:6])
        w[2:4] = "%.3f" % (x + dx * width), "%.3f" % (y + dy * height)
    (tmp_path / "l.txt").write_text("\n".join(map(" ".join, words)) + "\n")
    r = boxes("--labels", tmp_path / "l.txt")
    tried = {t["method"]: t["map_50_95"] for t in r["tried"]}
    assert r["method"] == method and tried.pop(method) > max(tried.values()) + 0.005


def test_boxes_are_reached():
    bad = ["--method", "percentile", "--percent", 30, "--labels", OBJECTS, "--threshold", 0.01]
    short = boxes(*bad)
    assert short["map_50_95"] < 0.5 * short["fp32_map_50_95"]
    found = boxes(*bad, "--reach-task", 0.9)
    assert found["map_50_95"] >= 0.9 * found["fp32_map_50_95"] and len(found["layers"]) < len(short["layers"])


def test_heads_of_objects(tmp_path):
    """A network without a detection layer: --head names it; the pictures keep their aspect with --letterbox."""
    if not PICTURES:
        pytest.fail("models/detector/pictures is empty")
    rng = np.random.default_rng(3)
    layers = ["Input x 0 1 x 0=64 1=64 2=1", "Convolution c 1 1 x c 0=21 1=8 3=8 5=1 6=%d" % (21 * 64)]
    (tmp_path / "n.param").write_text("7767517\n2 2\n%s\n" % "\n".join(layers))
    w, b = rng.standard_normal(21 * 64), rng.standard_normal(21)
    (tmp_path / "n.bin").write_bytes(struct.pack("<I", 0) + w.astype("<f4").tobytes() + b.astype("<f4").tobytes())
    args = ["--order", "gray", "--norm", 0.0039, "--labels", os.path.join(ROOT, OBJECTS), "--anchors",
            "10,10,20,20,40,40", "--threshold", 0.01, "--letterbox", 114, "--json", "--image", *PICTURES]
    net = [tmp_path / "n.param", tmp_path / "n.bin"]
    done = run("calibrate", "--net", net[0], "--bin", net[1], *args)
    if "built without libstb-dev" in done.stderr:
        pytest.skip("not run: tandem-net-model was built without libstb-dev (make deps)")
    assert done.returncode == 0, done.stderr
    r = json.loads(done.stdout)
    last = json.loads(good("detect", *net, *args).splitlines()[-1])
    assert r["objects"] == last["objects"] == 16 and r["fp32_map_50"] > 0
    assert abs(r["fp32_map_50"] - last["map_50"]) < 1e-6 and abs(r["fp32_map_50_95"] - last["map_50_95"]) < 1e-6


def test_least(images):
    done = run("calibrate", *DIGITS, "--image", images, "--method", "minmax", "--least", 90)
    assert done.returncode == 0 and done.stderr.count("\n") == 1
    assert done.stderr.startswith("tandem-net: warning: the outputs of the INT8 network have ")
    assert run("calibrate", *DIGITS, "--image", images, "--method", "minmax", "--least", 1).stderr == ""


@pytest.mark.parametrize("args, part", [
    (["--float", "nothing"], "--float: 'nothing' is not a layer that would become INT8"),
    (["--reach", "x"], "--reach: expected a number"),
    (["--labels", "no/such"], "no/such: cannot"),
    (["--reach-task", "2"], "--reach-task: expected a number"),
    (["--anchors", "10,20"], "--head, --anchors, --threshold and --overlap are for --labels of a detection network"),
    (["--threshold", "0.5"], "are for --labels of a detection network"),
])
def test_bad_options(images, args, part):
    done = run("calibrate", *DIGITS, "--image", images, *args)
    assert done.returncode == 2 and part in done.stderr and "no labels" not in done.stderr, done.stderr


@pytest.mark.parametrize("text, part", [
    ("a.npy 1 3\n", "o.txt:1: expected picture, class, x, y, width and height of an object"),
    ("b.npy 1 3 4 20 30\n", "o.txt: no objects of these pictures"),
    (None, "o.txt: cannot read: No such file"),
])
def test_bad_objects(tmp_path, text, part):
    """One line says what is wrong."""
    np.save(tmp_path / "a.npy", np.zeros((1, 96, 96), np.float32))
    if text is not None:
        (tmp_path / "o.txt").write_text(text)
    done = run("calibrate", *DETECTOR, tmp_path / "a.npy", "--labels", tmp_path / "o.txt")
    assert done.returncode == 2 and part in done.stderr and done.stderr.count("\n") == 1, done.stderr


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
