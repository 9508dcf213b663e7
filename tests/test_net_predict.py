"""Predicted cycles of layers beside those of the RTL: operators by themselves, whole networks; and a broken memory,
which the watchdog names with its layer."""
import json
import os
import pty
import re
import select
import subprocess

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.environ.get("BUILD", "build")
MODEL = os.path.join(ROOT, os.environ.get("HOST", os.path.join(BUILD, "host")), "tandem-net-model")
OPERATORS = os.path.join("bench", "operators.param")
MIXED = os.path.join("models", "mixed", "mixed.param")
FULL = os.environ.get("TANDEM_CHECK") == "1"


def rtl(cfg):
    return os.path.join(ROOT, BUILD, cfg + "-fast", "tandem-net")


def needs(cfg):
    return pytest.mark.skipif(not os.access(rtl(cfg), os.X_OK), reason="not run: the %s tandem-net is not built" % cfg)


def run(program, *args):
    return subprocess.run([program, "run", *args], cwd=ROOT, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=1200)


def layers(tmp_path, program, *args):
    data = tmp_path / "each.json"
    done = run(program, "--each", "--device", "rtl", "--json", str(data), *args)
    assert done.returncode == 0, done.stderr + done.stdout
    return json.loads(data.read_text())


def off(layer):
    return 100.0 * (layer["predicted"] - layer["cycles"]) / layer["cycles"]


def check(found, each, total):
    """Every layer within `each` percent, the sum within `total`."""
    bad = ["%s %s: %d predicted, %d measured" % (x["type"], x["name"], x["predicted"], x["cycles"])
           for x in found["layers"] if abs(off(x)) > each]
    assert not bad, "\n".join(bad)
    assert abs(100.0 * (found["predicted"] - found["cycles"]) / found["cycles"]) <= total


@needs("n4")
def test_operators(tmp_path):
    """The operators that the constants come from, small: each within a few percent, on another size than the one they
    were fixed with."""
    found = layers(tmp_path, rtl("n4"), "--net", OPERATORS, "--shape", "9x7x64")
    kinds = {layer["type"] for layer in found["layers"]}
    assert {"Convolution", "ConvolutionDepthWise", "Pooling", "InnerProduct",
            "Swish", "Scale", "BinaryOp", "Eltwise", "Interp", "ShuffleChannel"} <= kinds
    check(found, 4.0, 1.0)
    median = sorted(abs(off(layer)) for layer in found["layers"])[len(found["layers"]) // 2]
    assert median < 1.0 and abs(found["median_off"] - median) < 0.5


@needs("n4")
@pytest.mark.parametrize("w, h, layer", [
    (10, 1, "Softmax s 1 1 x y 0=1 1=1"), (10, 10, "Softmax s 1 1 x y 0=1 1=1"), (197, 12, "Softmax s 1 1 x y 0=1 1=1"),
    (10, 10, "Softmax s 1 1 x y 0=0 1=1"), (3, 60, "Softmax s 1 1 x y 0=0 1=1"),
    (10, 10, "LayerNorm s 1 1 x y 0=10 2=0"),
    (197, 3, "LayerNorm s 1 1 x y 0=197 2=0"), (4, 4, "Interp s 1 1 x y 0=1 1=2.0 2=2.0"),
])
def test_short_tasks(tmp_path, w, h, layer):
    """Several tasks of one layer that are shorter than the driver takes to start the next one."""
    shape = "0=%d 1=%d%s" % (w, h, " 2=2" if "Interp" in layer else "")
    (tmp_path / "n.param").write_text("7767517\n2 2\nInput x 0 1 x %s\n%s\n" % (shape, layer))
    check(layers(tmp_path, rtl("n4"), "--net", str(tmp_path / "n.param")), 8.0, 8.0)


@needs("n4")
def test_network(tmp_path):
    """A network that nothing was fixed with: INT8 chains, branches, every kind of layer."""
    check(layers(tmp_path, rtl("n4"), "--net", MIXED), 10.0, 3.0)


@needs("n4")
def test_tandem_takes_as_long(tmp_path):
    """What the testbench reads to compare is in no layer's cycles."""
    alone = layers(tmp_path, rtl("n4"), "--net", MIXED)
    tandem = layers(tmp_path, rtl("n4"), "--net", MIXED, "--device", "tandem")
    assert tandem["device"] == "tandem"
    for a, b in zip(alone["layers"], tandem["layers"]):
        assert abs(a["cycles"] - b["cycles"]) <= 4 * a["tasks"], a["name"]


@needs("n4")
def test_slow_bus_is_not_predicted(tmp_path):
    """The prediction is for the bus profile `ideal`: a test that cannot fail would not see this."""
    found = layers(tmp_path, rtl("n4"), "--net", MIXED, "--bus", "slow")
    assert found["predicted"] < 0.9 * found["cycles"]


@pytest.mark.skipif(not FULL, reason="not run: minutes; TANDEM_CHECK=1")
@pytest.mark.parametrize("cfg", ["n8", "n16", "n32"])
def test_operators_at_full_size(tmp_path, cfg):
    if not os.access(rtl(cfg), os.X_OK):
        pytest.skip("not run: the %s tandem-net is not built" % cfg)
    check(layers(tmp_path, rtl(cfg), "--net", OPERATORS, "--shape", "56x56x64"), 3.0, 0.5)
    check(layers(tmp_path, rtl(cfg), "--net", OPERATORS, "--shape", "13x13x64"), 6.0, 2.0)


SCHEDULE = """7767517
4 4
Input data 0 1 data 0=30 1=30 2=32
Convolution strided 1 1 data a 0=64 1=1 3=2 6=2048
ConvolutionDepthWise dw 1 1 a b 0=64 1=3 4=1 6=576 7=64
Convolution wide 1 1 b c 0=40 1=3 6=23040
"""


def schedule(program, path, *args):
    done = subprocess.run([program, "schedule", "--layers", *args, str(path)], cwd=ROOT, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=600)
    rows = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in done.stdout.splitlines()]
    return done, {row[0].split(" ")[0]: row for row in rows if len(row) == 11 and " x" in row[0]}


@needs("n4")
def test_schedule(tmp_path):
    """Searched splits on the RTL: equal outputs (the command fails otherwise), as fast as predicted, and faster than
    the driver's where they differ; a layer's reason where they do not."""
    net = tmp_path / "net.param"
    net.write_text(SCHEDULE)
    done, rows = schedule(rtl("n4"), net, "--device", "rtl")
    assert done.returncode == 0, done.stderr
    assert set(rows) == {"strided", "dw", "wide"}
    faster = [row for row in rows.values() if row[4] != "the same"]
    assert faster and rows["strided"] in faster
    for row in faster:
        predicted, own, best = int(row[5]), int(row[7]), int(row[8])
        assert best < own and abs(best - predicted) < 0.05 * predicted and row[10] == ""
    assert all(row[10] for row in rows.values() if row not in faster)


@needs("n4")
def test_plan_search(tmp_path):
    """--plan search on RTL and model in tandem: the same outputs as with the driver's splits, in fewer cycles."""
    net = tmp_path / "net.param"
    net.write_text(SCHEDULE)
    report = []
    for plan in ("driver", "search"):
        done = run(rtl("n4"), "--net", str(net), "--device", "tandem", "--json", "-", "--plan", plan)
        assert done.returncode == 0, done.stderr
        report.append(json.loads(done.stdout))
    assert report[0]["outputs"] == report[1]["outputs"]
    assert report[1]["cycles"] < report[0]["cycles"]
    done = run(rtl("n4"), "--net", str(net), "--plan", "fast")
    assert done.returncode == 2 and "search" in done.stderr
    done, _ = schedule(rtl("n4"), tmp_path / "no.param")
    assert done.returncode == 1 and len(done.stderr.splitlines()) == 1 and "no.param" in done.stderr


@needs("n4")
def test_table(tmp_path):
    """tools/network_table.py: a row for each report, the longest network first; a line for what is no report."""
    mixed = tmp_path / "mixed.json"
    ops = tmp_path / "ops.json"
    table = os.path.join(ROOT, "tools", "network_table.py")
    assert run(rtl("n4"), "--net", MIXED, "--each", "--device", "tandem",
               "--published", "9.5", "--json", str(mixed)).returncode == 0
    assert run(rtl("n4"), "--net", OPERATORS, "--shape", "5x5x64", "--each", "--device", "rtl",
               "--json", str(ops)).returncode == 0
    done = subprocess.run([table, str(mixed), str(ops)], stdout=subprocess.PIPE, text=True, check=True)
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in done.stdout.splitlines()]
    assert len(rows) == 4 and len({len(row) for row in rows}) == 1 and [row[0] for row in rows[2:]] == ["ops", "mixed"]
    data = json.loads(mixed.read_text())
    found = dict(zip(rows[0], rows[3]))
    assert (found["layers"] == str(len(data["layers"])) and found["published ms"] == "9.50" and
            found["verdict"] == "all same")
    assert (found["million cycles"] == "%.3f" % (data["cycles"] / 1e6) and
            found["ms at 200 MHz"] == "%.2f" % (data["cycles"] / 2e5))
    assert (dict(zip(rows[0], rows[2]))["verdict"] == "not compared" and
            dict(zip(rows[0], rows[2]))["published ms"] == "-")
    bad = subprocess.run([table, "README.md"], cwd=ROOT, stderr=subprocess.PIPE, text=True, check=False)
    assert bad.returncode == 1 and len(bad.stderr.splitlines()) == 1 and "README.md" in bad.stderr


@pytest.mark.skipif(not os.access(MODEL, os.X_OK), reason="not run: tandem-net-model is not built")
def test_report():
    """No RTL, no cycles: predictions alone, subtotals by type that add up."""
    done = run(MODEL, "--net", MIXED, "--each", "--cfg", "n16")
    assert done.returncode == 0, done.stderr
    rows = [line.split() for line in done.stdout.splitlines()]
    sums = [row for row in rows if row[0] == "sum"]
    parts = [row for row in rows if row[-1] == "same"]
    (total,) = [row for row in rows if row[0] == "total"]
    assert sum(int(row[2]) for row in sums) == len(parts) == int(total[1])
    assert sum(int(row[5]) for row in sums) == sum(int(row[5])
                                                   for row in parts) == int(total[total.index("predicted") - 1])
    assert all(int(row[5]) > 0 for row in parts)


@needs("n4")
@pytest.mark.parametrize("broken, says", [("m1.R:200", "the memory owes R of m1"), ("m0.W:40", "m0")])
def test_watchdog(tmp_path, broken, says):
    """A memory that stops: each layer that needs it fails with its name, the handshake that is missing and a status of
    its own."""
    result = tmp_path / "result"
    done = run(rtl("n4"), "--net", MIXED, "--only", "1-3", "--device", "tandem",
               "--break", broken, "--result", str(result))
    assert done.returncode == 1 and done.stderr == ""
    assert ("watchdog:hang" in done.stdout and "layer '" in done.stdout and
            "no handshake on any port" in done.stdout and says in done.stdout)
    assert "outcome=fail" in result.read_text() and "watchdog:hang" in result.read_text()


@needs("n4")
def test_wrong_data(tmp_path):
    """A wrong beat of read data is found in its layer."""
    done = run(rtl("n4"), "--net", MIXED, "--only", "1-3", "--device", "tandem", "--break", "m0.R:60:flip")
    assert done.returncode == 1 and "layer '" in done.stdout and "watchdog" not in done.stdout


@needs("n4p")
@pytest.mark.parametrize("wide", [[], ["--int16"]])
def test_digits(wide):
    """The digits in INT8 and in INT16: the sum of the layers within 1 %."""
    done = subprocess.run([rtl("n4p"), *wide, "--count", "1", "--device", "rtl"], cwd=ROOT, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=600)
    assert done.returncode == 0, done.stderr + done.stdout
    found = re.search(r"^cycles +(\d+) an image .*, (\d+) predicted", done.stdout, re.M)
    measured, predicted = int(found.group(1)), int(found.group(2))
    assert abs(predicted - measured) * 100 <= measured


@pytest.mark.skipif(not os.access(MODEL, os.X_OK), reason="not run: tandem-net-model is not built")
@pytest.mark.parametrize("broken", ["", "m2.R:1", "m0.X:1", "m0.R", "m0.R:x", "m0.R:0:flip", "m0.W:3:flip"])
def test_bad_break(broken):
    done = run(MODEL, "--net", MIXED, "--break", broken)
    assert done.returncode == 2 and done.stderr.startswith("tandem-net: --break") and len(done.stderr.splitlines()) == 1


@needs("n4")
def test_progress():
    """On a terminal, and only there: layers done, share of the predicted cycles, what is left."""
    ours, theirs = pty.openpty()
    with subprocess.Popen([rtl("n4"), "run", "--net", MIXED, "--each", "--device", "rtl",
                           "--jobs", "1"], cwd=ROOT, stdout=subprocess.DEVNULL, stderr=theirs) as child:
        os.close(theirs)
        seen = b""
        while select.select([ours], [], [], 60)[0]:
            try:
                more = os.read(ours, 65536)
            except OSError:
                break
            if not more:
                break
            seen += more
    os.close(ours)
    assert child.returncode == 0
    lines = seen.decode().split("\r")
    assert any("layers 0/" in line and "left" not in line for line in lines), lines
    assert any("% of" in line and "million cycles" in line and "s left" in line for line in lines), lines
    assert run(rtl("n4"), "--net", MIXED, "--each", "--device", "rtl").stderr == ""
