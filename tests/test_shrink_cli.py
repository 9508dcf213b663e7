"""tandem shrink from outside: what it refuses on the model alone; with RTL (build/n4-*/tandem) a memory that hangs is
made small."""
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / os.environ.get("BUILD", "build")
MODEL = ROOT / os.environ.get("HOST", BUILD / "host") / "tandem-model"
RTL = next((p for p in (BUILD / f"n4-{kind}" / "tandem" for kind in ("fast", "tap")) if os.access(p, os.X_OK)), None)
needs_model = pytest.mark.skipif(not os.access(MODEL, os.X_OK), reason="not run: tandem-model is not built")
needs_rtl = pytest.mark.skipif(RTL is None,
                               reason="not run: neither build/n4-fast/tandem nor build/n4-tap/tandem is built")


def run(program, *args, **kwargs):
    return subprocess.run([str(program), *map(str, args)], capture_output=True, text=True, timeout=300, **kwargs)


def make_case(program, path, *args):
    done = run(program, "test", *args, "--print-case")
    assert done.returncode == 0, done.stderr
    path.write_text(done.stdout)
    return path


def knobs_of(path):
    return dict(line.split("=", 1) for line in path.read_text().splitlines())


@needs_model
def test_a_case_that_passes(tmp_path):
    case = make_case(MODEL, tmp_path / "a.case", "conv", "--seed", 3)
    done = run(MODEL, "shrink", case, cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr.splitlines() == [f"{MODEL}: {case}: the case passes, expected one that fails"]
    assert done.stdout == ""
    assert [p.name for p in tmp_path.iterdir()] == ["a.case"]


@needs_model
@pytest.mark.parametrize("args, part", [
    ([], "shrink: expected a case file"),
    (["/nonexistent.case"], "No such file"),
    (["x.case", "--jobs", "0"], "--jobs: expected a number 1..64"),
    (["x.case", "--seconds", "x"], "--seconds: expected a number"),
    (["x.case", "--keep"], "--keep: expected"),
    (["x.case", "--case-dir", "y"], "unknown option --case-dir"),
])
def test_bad_input(args, part, tmp_path):
    done = run(MODEL, "shrink", *args, cwd=tmp_path)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1 and part in done.stderr
    assert list(tmp_path.iterdir()) == []


@needs_model
def test_only_shrink_takes_its_options():
    for args in (["test", "conv", "--jobs", "2"], ["test", "conv", "--same-unit"], ["run", "conv", "--keep", "k"]):
        assert "unknown option" in run(MODEL, *args).stderr


@needs_model
@pytest.mark.parametrize("env, part", [
    ({}, "expected CASE=file, or TEST=name SEED=seed"),
    ({"CASE": "/nonexistent.case"}, "no such file"),
    ({"TEST": "conv", "SEED": "1", "CFG": "n5"}, "cfg=n5: no design has this configuration"),
    ({"TEST": "python-conv", "SEED": "1", "CFG": "n4"}, "pin knobs by hand"),
    ({"TEST": "a b", "SEED": "1", "CFG": "n4"}, "expected a name"),
])
def test_script(env, part):
    base = {k: v for k, v in os.environ.items() if k not in ("CASE", "TEST", "SEED", "CFG", "KNOBS")}
    done = run(ROOT / "scripts" / "shrink.sh", env={**base, "BUILD": "build", "KIND": "tap", **env}, cwd=ROOT)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1 and part in done.stderr


@needs_rtl
def test_small_case_fails_in_the_same_way(tmp_path):
    """--break: the memory stops answering after 40 beats; found by the watchdog."""
    case = make_case(RTL, tmp_path / "b.case", "copy", "w=50", "h=20", "c=3", "int8=0", "wait=irq", "--seed", 1)
    done = {}
    for jobs in (1, 3):
        small = tmp_path / f"small{jobs}.case"
        done[jobs] = run(RTL, "shrink", case, "--break", "m0.R:40", "--init-seed", 3,
                         "--no-checks", "--jobs", jobs, "--output", small, "--seconds", 250, "--keep", "dseed,place")
        assert done[jobs].returncode == 0, done[jobs].stderr
    one, three = tmp_path / "small1.case", tmp_path / "small3.case"
    assert one.read_text() == three.read_text()
    lines = done[1].stdout.splitlines()
    assert lines[-1] == f"make repro CASE={one} BREAK=m0.R:40 INIT_SEED=0x3 NO_CHECKS=1"
    assert all(len(line) <= 80 for line in lines[:-1] if line.startswith("  ")), lines
    assert "\r" not in done[1].stdout and "\033" not in done[1].stdout
    assert any(line.startswith("cycles until it fails ") and "%" in line for line in lines)
    before, after = knobs_of(case), knobs_of(one)
    assert after["bus"] == "ideal" and int(after["h"]) < 20 and after["dseed"] == before["dseed"]
    again = run(RTL, "repro", one, "--break", "m0.R:40", cwd=tmp_path)
    assert again.returncode == 1 and "FAIL test=copy" in again.stdout
    quiet = run(RTL, "shrink", one, "--break", "m0.R:40", "--quiet", "--output", tmp_path / "q.case",
                "--keep", "dseed,place")
    assert quiet.returncode == 0 and not any(line.startswith("  ") for line in quiet.stdout.splitlines())
    assert (tmp_path / "q.case").read_text() == one.read_text()  # nothing is left to take


@needs_rtl
def test_interrupted(tmp_path):
    case = make_case(RTL, tmp_path / "c.case", "conv", "ic=24", "oc=24",
                     "ih=40", "iw=40", "k=3", "p=1", "wait=irq", "--seed", 1)
    child = subprocess.Popen([str(RTL), "shrink", str(case), "--break", "m0.R:400"],
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
    line = child.stdout.readline()  # the first step was taken
    assert line.startswith("  ")
    os.killpg(child.pid, signal.SIGINT)  # as a terminal does it: to all
    out, err = child.communicate(timeout=60)
    assert child.returncode == 1, err
    assert "stopped by a signal" in out and out.splitlines()[-1].endswith("c-small.case BREAK=m0.R:400")
    assert knobs_of(tmp_path / "c-small.case")["test"] == "conv"
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        try:
            os.killpg(child.pid, 0)
            time.sleep(0.05)
        except ProcessLookupError:
            return
    pytest.fail("a child of the shrinker is left")
