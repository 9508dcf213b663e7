"""The test graph from outside: every combination of knobs is a network that runs, or is refused in one line; the same
case is the same network; what it covers. With RTL (build/n4-fast or build/n8-fast) networks in tandem, and a memory
that reads wrong once, whose case becomes smaller."""
import json
import os
import random
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / os.environ.get("BUILD", "build")
HOST = ROOT / os.environ.get("HOST", BUILD / "host")
MODEL = HOST / "tandem-model"
NET = HOST / "tandem-net-model"
COV = HOST / "tandem-cov"
RTL = next((p for p in (BUILD / f"{cfg}-{kind}" / "tandem" for cfg in ("n4", "n8") for kind in ("fast", "tap"))
            if os.access(p, os.X_OK)), None)
LAYERS = 12
MANY = 20 if os.environ.get("TANDEM_CHECK") else 1
pytestmark = pytest.mark.skipif(not os.access(MODEL, os.X_OK), reason="not run: tandem-model is not built")
needs_rtl = pytest.mark.skipif(RTL is None, reason="not run: no build/n4-*/tandem and no build/n8-*/tandem is built")


def run(program, *args, **kwargs):
    return subprocess.run([str(program), *map(str, args)], capture_output=True, text=True, timeout=600, **kwargs)


def graph(*args, program=MODEL, cwd=None):
    """One test command that must pass; its output."""
    done = run(program, "test", "graph", *args, cwd=cwd)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def case_of(*args, program=MODEL):
    return dict(line.split("=", 1) for line in graph(*args, "--print-case", program=program).splitlines())


def knob_table():
    tests = json.loads(run(MODEL, "list", "--json").stdout)["tests"]
    return [t for t in tests if t["name"] == "graph"][0]["knobs"]


def write(path, case):
    path.write_text("".join(f"{key}={value}\n" for key, value in case.items()))
    return path


def network_of(folder, *args, **kwargs):
    """The network of a case as layers: (type, name, number of inputs)."""
    graph(*args, "--count", 1, "--dump", folder, **kwargs)
    lines = (folder / "network.param").read_text().splitlines()[2:]
    return [(f[0], f[1], int(f[2])) for f in (line.split() for line in lines)]


def test_random_networks():
    assert f"cases={300 * MANY} " in graph("--count", 300 * MANY)


def test_any_knobs(tmp_path):
    """Knobs as no generator draws them: drawn evenly over their whole ranges."""
    rng = random.Random(7)
    base = case_of("--seed", 1)
    table = knob_table()
    ran = 0
    for i in range(150 * MANY):
        case = dict(base, seed=f"0x{rng.getrandbits(64):016x}")
        for knob in table:
            names = knob.get("values")
            small = knob["name"] in "chw" or knob["name"].startswith("oc")
            case[knob["name"]] = rng.choice(names) if names else rng.randint(
                knob["lowest"], min(knob["highest"], 24 if small else knob["highest"]))
        done = run(MODEL, "repro", write(tmp_path / "a.case", case))
        text = done.stdout + done.stderr
        assert done.returncode == 0 or (done.returncode == 2 and "the network is too large" in text and
                                        len(text.splitlines()) == 1), (case, text)
        ran += done.returncode == 0
    assert ran > 100 * MANY


@pytest.mark.parametrize("pins", [["w=1", "h=1", "c=1"], ["w=5", "h=3", "c=7"], ["w=2", "h=9", "c=20"]])
def test_every_operator(pins):
    """Each operator alone, with sizes at which it has nothing to do, too, and behind a vector."""
    names = [k for k in knob_table() if k["name"] == "op1"][0]
    for op in names["values"]:
        graph("layers=1", f"op1={op}", *pins, "--count", 6)
        graph("layers=2", "op1=linear", f"op2={op}", "a2=1", *pins, "--count", 6)


def test_too_large():
    done = run(MODEL, "test", "graph", "layers=1", "op1=conv", "w=64",
               "h=64", "c=128", "oc1=128", "k1=7", "s1=1", "p1=3", "d1=1")
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1 and "the network is too large" in done.stderr


def test_structure(tmp_path):
    """What knobs ask for is what the network has."""
    pins = ["layers=3", "w=6", "h=6", "c=8", "optimise=none", "op1=conv",
            "oc1=8", "k1=3", "p1=1", "s1=1", "d1=1", "act1=relu", "prec1=int8", "op2=conv",
            "a2=0", "oc2=8", "k2=1", "p2=0", "s2=1", "act2=none", "prec2=float", "op3=sum", "a3=1", "b3=2", "k3=1"]
    assert network_of(tmp_path / "sum", *pins) == [("Input", "input", 0),
                                                   ("Split", "split_b0", 1), ("Convolution", "1_conv", 1),
                                                   ("Convolution", "2_conv", 1), ("Eltwise", "3_sum", 2)]
    # the second layer has other channels: a 1x1 convolution makes them fit
    fit = network_of(tmp_path / "fit", *[p for p in pins if not p.startswith("oc2")], "oc2=5")
    assert ("Convolution", "3_sum_fit", 1) in fit
    # a layer that is left out hands on its input
    skip = network_of(tmp_path / "skip", *[p for p in pins if not p.startswith("op1")], "op1=skip")
    assert "1_conv" not in [layer[1] for layer in skip]
    # INT8 from layer to layer
    chain = ["layers=2", "w=6", "h=6", "c=8", "optimise=after", "op1=conv",
             "oc1=8", "act1=none", "op2=conv", "a2=1", "prec2=int8"]
    for prec, term in (("chain", "8=102"), ("int8", "8=2"), ("float", None)):
        network_of(tmp_path / prec, *chain, f"prec1={prec}")
        line = [row for row in (tmp_path / prec / "network.param").read_text().splitlines() if " 1_conv " in row][0]
        assert (term in line.split()) if term else "8=" not in re.sub(r" \d\d=", " ", line)


def test_same_case(tmp_path):
    """A stored case is the same network with the same results; the dumped network runs by itself."""
    case = write(tmp_path / "a.case", case_of("--seed", 11))
    graph("--seed", 11, "--dump", tmp_path / "a")
    done = run(MODEL, "repro", case, "--dump", tmp_path / "b")
    assert done.returncode == 0, done.stderr
    for name in ("network.param", "network.bin"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    assert graph("--seed", 11) == graph("--seed", 11)
    done = run(NET, "run", "--net", tmp_path / "a" / "network.param", "--bin", tmp_path / "a" / "network.bin",
               "--cfg", "n8")
    assert done.returncode == 0, done.stderr


def test_coverage(tmp_path):
    """A sample for each case and for each layer that ran; nothing that must not be; 600 networks show nearly all there
    is."""
    graph("--count", 600, "--quiet", "--cov", tmp_path / "f")
    done = run(COV, "report", tmp_path / "f", "--json")
    assert done.returncode == 0, done.stderr
    data = json.loads(done.stdout)
    groups = {g["name"]: g for g in data["groups"]}
    assert data["illegal_hits"] == 0 and groups["graph"]["samples"] == 600 and groups["graph_layer"]["samples"] > 3000
    for point in groups["graph_layer"]["points"]:
        assert all(b["hits"] for b in point["bins"] if b["role"] == "counted"), point["name"]
    cells = [c for c in groups["graph_layer"]["crosses"] if c["name"] == "pair"]
    assert len(cells) == 1


@needs_rtl
def test_tandem():
    assert f"cases={8 * MANY} " in graph("--count", 8 * MANY, program=RTL)


@needs_rtl
def test_shrink(tmp_path):
    """A beat that is read wrong: the failure names its layer, and the case that is left has few of them."""
    broken = ["--break", "m0.R:60:flip"]
    done = run(RTL, "test", "graph", "--count", 20, "layers=9", "bus=fast",
               *broken, "--case-dir", tmp_path, cwd=tmp_path)
    assert done.returncode == 1
    line = done.stdout.splitlines()[0]
    assert line.startswith("FAIL test=graph ") and re.search(r" : layer '\d+_\w+': ", line), line
    case = next(tmp_path.glob("graph-*.case"))
    done = run(RTL, "shrink", *broken, case, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    small = dict(row.split("=", 1) for row in next(tmp_path.glob("graph-*-small.case")).read_text().splitlines())
    assert int(small["layers"]) <= 2
    again = run(RTL, "repro", *broken, next(tmp_path.glob("graph-*-small.case")), cwd=tmp_path)
    assert again.returncode == 1
