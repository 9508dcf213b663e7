"""X-TINY YOLO of document 004 on the golden model, reduced: its partition, the search and the driver's splits give
equal bits; boxes are those of its equations; the numbers that the document prints come from the table's equations."""
import glob
import importlib.util
import json
import os
import subprocess

import pytest

np = pytest.importorskip("numpy", reason="not run: needs python3-numpy (make deps)")

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PROGRAM = os.path.join(ROOT, os.environ.get("HOST", os.path.join(os.environ.get("BUILD", "build"), "host")),
                       "tandem-net-model")
RTL = os.path.join(ROOT, os.environ.get("BUILD", "build"), "n4-fast", "tandem-net")
TABLE = os.path.join(ROOT, "tools", "xtiny_table.py")
SIDE, CELLS, CLASSES, LEAST = 96, 3, 20, 0.02
ANCHORS = ((1.08, 1.19), (3.42, 4.41), (6.63, 11.38), (9.42, 5.11), (16.62, 10.52))
needs_program = pytest.mark.skipif(not os.access(PROGRAM, os.X_OK), reason="not run: tandem-net-model is not built")


def topology(folder):
    """Boxes of low scores count: weights are from a seed."""
    path = folder / "x.param"
    subprocess.run([os.path.join(ROOT, "tools", "netgen.py"), "x_tiny_yolo", str(path), "--size",
                    "%dx%d" % (SIDE, SIDE)], check=True, stdout=subprocess.DEVNULL)
    text = path.read_text()
    assert text.count(" 2=3.000000e-01") == 1
    path.write_text(text.replace(" 2=3.000000e-01", " 2=%g" % LEAST))
    return str(path)


def run(*args, program=PROGRAM):
    done = subprocess.run([program, "run", *args], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


@needs_program
@pytest.mark.parametrize("cfg", ["n8", "n32"])
def test_partitions(tmp_path, cfg):
    net = topology(tmp_path)
    found = []
    for plan in ("driver", "144", "search"):
        run("--net", net, "--cfg", cfg, "--plan", plan, "--output", str(tmp_path / plan))
        found.append((tmp_path / plan).read_bytes())
    assert found[0] == found[1] == found[2] and any(found[0])


@needs_program
@pytest.mark.skipif(not os.access(RTL, os.X_OK), reason="not run: needs build/n4-fast/tandem-net (make regress)")
def test_rtl(tmp_path):
    """RTL and golden model in tandem at N = 4, with the input channels in the document's steps: seven of the
    convolutions need several, so their partial sums go through memory."""
    net = topology(tmp_path)
    tasks = {}
    for plan, program, device in (("driver", PROGRAM, "model"), ("144", RTL, "tandem")):
        run("--net", net, "--cfg", "n4", "--plan", plan, "--device", device, "--output", str(tmp_path / plan), "--json",
            str(tmp_path / "json"), program=program)
        report = json.loads((tmp_path / "json").read_text())
        tasks[plan] = report["tasks"]
        assert (report["cycles"] > 0) == (device == "tandem")
    assert (tmp_path / "driver").read_bytes() == (tmp_path / "144").read_bytes()
    module = table()
    steps = [module.document(*layer)["steps"] for layer in module.LAYERS]
    assert sum(count > 1 for count in steps) == 7
    assert tasks["driver"] == len(steps) + 6 and tasks["144"] >= sum(steps) + 6  # six poolings


def sigmoid(x):
    return 1.0 / (1.0 + np.exp(-x))


@needs_program
def test_boxes(tmp_path):
    """Each box is one of the head's, by the equations: x = (column + sigmoid(tx)) / cells, w = anchor * exp(tw) /
    cells, score = sigmoid(to) * softmax; the best of all is there."""
    net = topology(tmp_path)
    run("--net", net, "--cfg", "n8", "--output", str(tmp_path / "out"), "--dump", str(tmp_path))
    boxes = np.fromfile(tmp_path / "out", dtype="<f4").reshape(-1, 6)
    boxes = boxes[boxes[:, 1] > 0]
    head = np.fromfile(glob.glob(str(tmp_path / "*-head.f32"))[0], dtype="<f4").astype("f8")
    head = head.reshape(len(ANCHORS), 5 + CLASSES, CELLS, CELLS)
    expected = []
    for a, (width, height) in enumerate(ANCHORS):
        for row in range(CELLS):
            for column in range(CELLS):
                t = head[a, :, row, column]
                classes = np.exp(t[5:] - t[5:].max())
                x, y = (column + sigmoid(t[0])) / CELLS, (row + sigmoid(t[1])) / CELLS
                w, h = width * np.exp(t[2]) / CELLS, height * np.exp(t[3]) / CELLS
                score = sigmoid(t[4]) * classes.max() / classes.sum()
                expected.append([classes.argmax() + 1, score, x - w / 2, y - h / 2, x + w / 2, y + h / 2])
    expected = np.array(expected)
    assert 0 < len(boxes) < len(expected)
    for box in boxes:
        assert box[1] >= LEAST and np.abs(expected - box).max(axis=1).min() < 1e-3
    assert abs(boxes[:, 1].max() - expected[:, 1].max()) < 1e-5


def table():
    spec = importlib.util.spec_from_file_location("xtiny_table", TABLE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_equations():
    """What the document prints: values and products of conv 1, the steps of each layer, conv 8 in full, sums."""
    module = table()
    rows = [module.document(*layer) for layer in module.LAYERS]
    assert [row["steps"] for row in rows] == [1, 1, 2, 2, 4, 8, 16, 32, 4]
    assert rows[0]["map"] + rows[0]["weights"] == 150960 and rows[0]["macs"] == 21676032
    assert rows[7]["weight clocks"] == 32 * 18432 and rows[7]["map clocks"] == 32 * 784 and rows[7]["cycles"] == 802816
    totals = {key: sum(row[key] for row in rows) for key in rows[0]}
    assert totals["macs"] == 306600448 and totals["cycles"] == 2834356
    assert totals["weight clocks"] == 1003248 and totals["map clocks"] == 533120


def test_usage(tmp_path):
    for bad in ("x", ":driver", "program:other"):
        done = subprocess.run([TABLE, "--net", str(tmp_path / "n"), bad], stderr=subprocess.PIPE, text=True,
                              check=False)
        assert done.returncode == 1 and len(done.stderr.splitlines()) == 1 and "PROGRAM:driver" in done.stderr
