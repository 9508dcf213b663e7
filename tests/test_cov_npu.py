"""The models of coverage/npu, sampled by tandem on the golden model, by the fp benches, and by the RTL where it is
built; tb/npu/cover."""

import glob
import json
import os
import pathlib
import re
import subprocess

import pytest

HOST = os.environ.get("HOST", "build/host")
TANDEM = os.path.join(HOST, "tandem-model")
COV = os.path.join(HOST, "tandem-cov")
BUILD = os.environ.get("BUILD", "build")
RTL = [p for kind in ("fast", "tap", "debug") for p in [os.path.join(BUILD, "n4-" + kind, "tandem")]
       if os.access(p, os.X_OK)]
need_rtl = pytest.mark.skipif(not RTL, reason="not run: needs build/n4-fast/tandem (make regress)")
FP = ["add", "sub", "mul", "max", "min", "cmp", "f32_to_i32", "f32_to_i8", "i32_to_f32"]
TESTS = ["conv", "dw", "linear", "pool", "eltwise", "act", "reduce", "convert"]


def run(*args, status=0):
    done = subprocess.run([str(a) for a in args], capture_output=True, text=True)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_cases(path, test, *args):
    run(TANDEM, "test", test, "--cov", path, "--quiet", *args)
    return report(path)


test_cases.__test__ = False


def report(path):
    return json.loads(run(COV, "report", path, "--json"))


def group(data, name):
    return [g for g in data["groups"] if g["name"] == name][0]


@pytest.fixture(scope="module")
def each(tmp_path_factory):
    """A file with six cases of each test."""
    folder = tmp_path_factory.mktemp("cov")
    for test in TESTS:
        test_cases(folder / test, test, "--count", 6)
    return folder


def test_size(each):
    data = report(each / "act")
    points = [p for g in data["groups"] for p in g["points"]]
    crosses = [c for g in data["groups"] for c in g["crosses"]]
    assert data["total"] >= 3000 and len(points) >= 250 and len(crosses) >= 80
    assert all(len(x["bug"]) > 15 for x in points + crosses)


def test_samples(each):
    for test in TESTS:
        data = report(each / test)
        assert data["illegal_hits"] == 0
        for g in data["groups"]:
            assert g["samples"] == (6 if g["name"] == test else 0)
        # every coverpoint but the timing of the bus has a value, or belongs to a kind of case that was not drawn
        seen = [p["name"] for p in group(data, test)["points"] if any(b["hits"] for b in p["bins"])]
        assert len(seen) >= len(group(data, test)["points"]) - 5, seen


def test_no_bus(tmp_path):
    """The golden model has no bus: its timing, its errors and faults are not covered by it."""
    for test in ("faults", "sequence", "jobs", "chain", "graph"):
        data = test_cases(tmp_path / "f", test, "--count", 6)
        g = group(data, test)
        assert g["samples"] == (0 if test == "faults" else 6)
        for point in g["points"]:
            seen = sum(b["hits"] for b in point["bins"])
            assert seen == (0 if test == "faults" or point["name"] in ("bus", "errors", "writes")
                            else 6), (test, point["name"])


def test_names(tmp_path):
    """Every name of an ENUM knob is a bin of the coverpoint of that name, and its hint pins it."""
    data = test_cases(tmp_path / "f", "act")
    listed = json.loads(run(TANDEM, "list", "--json"))
    tests = listed["tests"] if isinstance(listed, dict) else listed
    compared = 0
    for test in tests:
        if test["name"] not in TESTS + ["jobs", "sequence", "chain", "faults", "graph"]:
            continue
        points = {p["name"]: p for p in group(data, test["name"])["points"]}
        for knob in test["knobs"]:
            names = knob.get("names") or knob.get("values")
            if names and knob["name"] in points:
                bins = {b["name"]: b for b in points[knob["name"]]["bins"]}
                assert set(names) == set(bins) - {"unknown"}, (test["name"], knob["name"], set(names) ^ set(bins))
                compared += len(names)
                for name in names:
                    if bins[name]["role"] == "counted":
                        assert (bins[name]["hint"].startswith(test["name"] + ":") and
                                bins[name]["hint"].endswith("%s=%s" % (knob["name"], name)))
    assert compared > 100


def test_nothing_without_hint(tmp_path):
    """Whatever can be a hole says what would hit it."""
    data = test_cases(tmp_path / "f", "graph", "--count", 1)
    bare = ["%s.%s.%s" % (g["name"], p["name"], b["name"]) for g in data["groups"]
            for p in g["points"] for b in p["bins"] if b["role"] == "counted" and not b["hint"]]
    bare += ["%s.%s.(%s)" % (g["name"], c["name"], b["bins"]) for g in data["groups"]
             for c in g["crosses"] for b in c["cells"] if b["role"] == "counted" and not b["hint"]]
    assert bare == [] and len(data["groups"]) > 15


def test_layer_hints(tmp_path):
    """What the hint of a pair of layers pins is hit."""
    test_cases(tmp_path / "f", "graph", "--count", 1)
    for op1, op2, pair in (("flatten", "concat", "shape, concat"), ("maxpool", "act", "pool, activation"),
                           ("linear", "norm", "linear, norm")):
        data = test_cases(tmp_path / "f", "graph", "layers=4", "a2=1", "op1=" + op1, "op2=" + op2, "--count", 3)
        cross = [c for c in group(data, "graph_layer")["crosses"] if c["name"] == "pair"][0]
        assert pair not in [c["bins"] for c in cross["cells"]], pair
        assert all("op1=" in c["hint"] and "op2=" in c["hint"] for c in cross["cells"]
                   if not c["bins"].startswith("input"))


def test_hints(tmp_path):
    """What a hint pins is hit."""
    for test, pins, point, name in (
        ("conv", ["k=0", "kw=7"], "kw", "7"),
        ("conv", ["bias=2"], "bias", "hard"),
        ("pool", ["type=avg"], "type", "avg"),
        ("eltwise", ["op=muladd"], "op", "muladd"),
        ("act", ["gap=5"], "gap", "5"),
        ("linear", ["place=255"], "place", "the last 16 bytes"),
        ("conv", ["p=-1", "pl=4"], "pl", "4"),
        ("pool", ["global=0", "s=0", "sw=3"], "sw", "3"),
        ("reduce", ["what=mean", "h=9"], "h", "8..15"),
    ):
        data = test_cases(tmp_path / "f", test, *pins, "--count", 2)
        bins = {b["name"]: b for p in group(data, test)["points"] if p["name"] == point for b in p["bins"]}
        assert bins[name]["hits"] == 2 and bins[name]["covered"]
        known = ["%s:%s" % (test, " ".join(pins))] + ([] if name != "8..15" else ["reduce:what=mean h=8"])
        assert bins[name]["hint"] in known


def test_parts(tmp_path):
    """Ten cases at once are five and five; the same run gives the same bytes."""
    test_cases(tmp_path / "whole", "pool", "--count", 10)
    test_cases(tmp_path / "a", "pool", "--count", 5)
    test_cases(tmp_path / "b", "pool", "--count", 5, "--index", 5)
    run(COV, "merge", "-o", tmp_path / "ab", tmp_path / "a", tmp_path / "b")
    whole, merged = report(tmp_path / "whole"), report(tmp_path / "ab")
    assert whole["job"] == "test pool cfg=n8 cases=10 index=0 # run seed 1" and merged["job"] == ""
    assert merged["groups"] == whole["groups"] and merged["files"] == 2
    test_cases(tmp_path / "again", "pool", "--count", 10)
    assert (tmp_path / "again").read_bytes() == (tmp_path / "whole").read_bytes()


def test_rank(each, tmp_path):
    suite = tmp_path / "small.suite"
    run(COV, "rank", *[each / test for test in TESTS], "-o", suite)
    lines = suite.read_text().splitlines()
    # no two of them cover the same, so all stay
    assert (lines[0].startswith("# 8 of 8 jobs") and lines[1] == "seed 1" and
            sorted(line.split()[1] for line in lines[2:]) == sorted(TESTS))


def test_pinned_job(tmp_path):
    data = test_cases(tmp_path / "f", "act", "act=relu", "w=5", "--count", 1, "--index", 3, "--run-seed", 9)
    assert data["job"] == "test act cfg=n8 cases=1 index=3 -- act=relu w=5 # run seed 9"
    data = test_cases(tmp_path / "f", "act", "--seed", 9)
    assert data["job"] == ""


def test_shrink_value(tmp_path):
    """A value that no generator draws is ignored, not illegal."""
    data = test_cases(tmp_path / "f", "act", "data=ones")
    assert data["illegal_hits"] == 0
    bins = {b["name"]: b for p in group(data, "act")["points"] if p["name"] == "data" for b in p["bins"]}
    assert bins["ones"]["hits"] == 1 and bins["ones"]["role"] == "ignored"


def test_unwritable(tmp_path):
    text = run(TANDEM, "test", "act", "--quiet", "--cov", tmp_path / "no" / "f", status=2)
    assert len(text.splitlines()) == 1 and "--cov: " in text and "No such file" in text


def test_pins(tmp_path):
    """A generator finds a case around a pin, or around several, whatever else it draws."""
    for test, pins in (("pool", ["h=1"]), ("pool", ["global=1"]), ("pool", ["global=0", "p=-1", "pl=9"]),
                       ("pool", ["w=32768"]), ("pool", ["h=65535"]), ("eltwise", ["act=mish"]),
                       ("convert", ["c=8192"]), ("convert", ["h=8192"]), ("convert", ["w=65535"]),
                       ("conv", ["groups=2", "ic=128", "max_ic=32"])):
        data = test_cases(tmp_path / "f", test, *pins, "--count", 20)
        assert group(data, test)["samples"] == 20, (test, pins)


@need_rtl
def test_registers(tmp_path):
    """The test regs reads and writes every offset, while nothing runs, its unit works, or another one does."""
    run(RTL[0], "test", "regs", "--count", 3, "--quiet", "--cov", tmp_path / "f")
    data = report(tmp_path / "f")
    regs = group(data, "regs")
    cross = [c for c in regs["crosses"] if c["name"] == "reg_op_state"][0]
    # a task may end just before an access
    assert data["illegal_hits"] == 0 and cross["total"] > 400 and cross["covered"] >= cross["total"] - 8
    names = [b["name"] for p in regs["points"] if p["name"] == "reg" for b in p["bins"]]
    with open("regs/npu.regs", encoding="utf-8") as src:
        assert names == re.findall(r"^reg (\w+)", src.read(), re.M) + ["unused offset"]
    assert all(len(p["bug"]) > 15 for p in regs["points"])


@need_rtl
def test_tasks(tmp_path):
    """Side by side there are tasks beside others, one after the other there are none."""
    busy = {}
    for serial in (0, 1):
        run(RTL[0], "test", "sequence", "serial=%d" % serial, "tasks=12",
            "units=any", "errors=0", "--count", 4, "--quiet", "--cov", tmp_path / "f")
        tasks = group(report(tmp_path / "f"), "tasks")
        busy[serial] = sum(b["hits"] for p in tasks["points"] if p["name"] == "overlap"
                           for b in p["bins"] if b["name"] != "idle")
        assert tasks["samples"] == 48
    assert busy[0] > 0 and busy[1] == 0


@need_rtl
def test_bus(tmp_path):
    """Bursts of rows that end just before 4 KB, and nothing that the interface excludes."""
    run(RTL[0], "run", "conv", "k=1", "s=1", "iw=1020", "ih=1", "ic=4",
        "oc=4", "group=255", "place=0", "gap=1", "--cov", tmp_path / "f")
    data = report(tmp_path / "f")
    bus = group(data, "bus@m0")
    cells = [c for c in bus["crosses"] if c["name"] == "dir_room"][0]
    missed = [c["bins"] for c in cells["cells"] if c["role"] == "counted" and c["hits"] == 0]
    assert data["illegal_hits"] == 0 and "writes, 1, 65..256" not in missed and "writes, none, 65..256" in missed


@pytest.mark.skipif(not all(os.access(os.path.join(BUILD, "n4-fast", "unit-fp_" + u), os.X_OK) for u in FP),
                    reason="not run: needs the unit-fp_* of n4-fast")
def test_fp(tmp_path):
    """Three cases of each unit cover nearly all classes of operands and of results."""
    for unit in FP:
        run(os.path.join(BUILD, "n4-fast", "unit-fp_" + unit), "--count", 3, "--cov", tmp_path / (unit + ".cov"))
    run(COV, "merge", "-o", tmp_path / "all", *glob.glob(str(tmp_path / "*.cov")))
    data = report(tmp_path / "all")
    assert data["illegal_hits"] == 0
    for name in ("fp_arith", "fp_select", "fp_convert"):
        assert group(data, name)["percent"] > 99, name
    one = report(tmp_path / "add.cov")
    assert (re.fullmatch("unit fp_add cfg=n4 kind=fast cases=3 index=0 # run seed 1 cycles [0-9]+", one["job"]) and
            group(one, "fp_select")["samples"] == 0)


def test_cover_properties():
    """Each unit of tb/npu/cover is there once, and its points say which bug would hide there (scripts/gen_cover.py asks
    for the rest)."""
    text = "\n".join(pathlib.Path(path).read_text(encoding="utf-8")
                     for path in sorted(glob.glob("tb/npu/cover/*.list")))
    units, points = re.findall(r"^// hit: .{5,}\n(\w+)$", text,
                               re.M), re.findall(r"^  // bug: .{15,}\n  (\w+): ", text, re.M)
    assert len(units) == len(set(units)) == len(re.findall(r"^\w", text, re.M)) >= 25
    assert len(points) == len(re.findall(r"^  \w+: ", text, re.M)) >= 300
