"""The models of coverage/npu, sampled by tandem on the golden model."""

import json
import os
import subprocess

import pytest

HOST = os.environ.get("HOST", "build/host")
TANDEM = os.path.join(HOST, "tandem-model")
COV = os.path.join(HOST, "tandem-cov")
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
    assert data["total"] >= 3000 and len(points) >= 40 and len(crosses) >= 12
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
            assert seen == (0 if test == "faults" or point["name"] in ("bus", "errors", "writes") else 6), (test, point["name"])


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
                        assert bins[name]["hint"].startswith(test["name"] + ":") and bins[name]["hint"].endswith("%s=%s" % (knob["name"], name))
    assert compared > 100


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
    assert lines[0].startswith("# 8 of 8 jobs") and lines[1] == "seed 1" and sorted(line.split()[1] for line in lines[2:]) == sorted(TESTS)


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
