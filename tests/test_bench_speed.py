"""bench/bench.py with a stand-in for the measured program: what it computes, prints and refuses. Nothing here is
timed."""
import json
import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
STAND_IN = """#!/usr/bin/python3
import json, sys
kind = sys.argv[0].split("/")[-2].split("-")[1]
cpu = {"fast": 1.0, "debug": 1.1, "tap": 1.5}[kind]
out = {"cycles": 1000, "hash": "0", "cpu": cpu, "children": 0.0, "rtl": 0.8, "harness": 0.2, "faults": 100,
       "left_out": 0, "snapshots": 0, "fork": 0.0, "fault_cost": 0.0}
if "--without" in sys.argv:
    out["left_out"] = LEFT_OUT
    out["cpu"] -= 0.2
    out["cycles"] += MORE_CYCLES
if "--snapshots" in sys.argv:
    out.update(snapshots=3, fork=0.01, faults=5100, fault_cost=1e-6)
print(json.dumps(out))
"""


def stand_in(build, left_out=1, more_cycles=0):
    for kind in ("fast", "debug", "tap"):
        program = build / f"n8-{kind}" / "bench-speed"
        program.parent.mkdir()
        program.write_text(STAND_IN.replace("LEFT_OUT", str(left_out)).replace("MORE_CYCLES", str(more_cycles)))
        program.chmod(0o755)


def bench(build, *args):
    return subprocess.run([os.environ.get("PYTHON", "/usr/bin/python3"),
                           "bench/bench.py", "--build", str(build), "--cfgs", "n8", "--workloads", "conv", *args],
                          cwd=ROOT, capture_output=True, text=True, timeout=60)


def row(done, label):
    return next(line for line in done.stdout.splitlines() if line.startswith(label)).split()


def test_ratios_and_snapshots(tmp_path):
    stand_in(tmp_path)
    out = tmp_path / "out.json"
    done = bench(tmp_path, "--rounds", "3", "--snapshot-seconds", "1",
                 "--costs", "taps checks monitor", "--json", str(out))
    assert done.returncode == 0, done.stderr
    assert done.stderr == "" and all(len(line) <= 80 for line in done.stdout.splitlines()), done.stdout
    assert row(done, "taps and checks")[-2:] == ["+36.4", "%"]  # 1.5 / 1.1
    assert row(done, "  checks of the units")[-2:] == ["+15.4", "%"]  # 1.5 / 1.3
    assert row(done, "AXI monitors")[-2:] == ["+25.0", "%"]
    # (0.01 + 5000 * 1e-6) / 1.5
    assert row(done, "n8 one long case")[-2:] == ["1.00", "%"]
    assert json.loads(out.read_text())["ratios"]["n8"]["conv"]["taps"] == pytest.approx([1.5 / 1.1] * 3)


def test_markdown(tmp_path):
    stand_in(tmp_path)
    done = bench(tmp_path, "--rounds", "1", "--snapshot-seconds", "0", "--costs", "taps", "--markdown")
    assert done.returncode == 0, done.stderr
    assert "| n8 | conv |" in done.stdout and "| taps and checks: tap / debug | +36.4 % |" in done.stdout


@pytest.mark.parametrize("left_out, more_cycles, text", [(0, 0, "no call was skipped"), (1, 5, "not the same run")])
def test_runs_that_cannot_be_compared(tmp_path, left_out, more_cycles, text):
    stand_in(tmp_path, left_out, more_cycles)
    done = bench(tmp_path, "--rounds", "1", "--snapshot-seconds", "0", "--costs", "monitor")
    assert done.returncode == 1 and text in done.stderr and len(done.stderr.splitlines()) == 1, done.stderr


def test_missing_program_and_bad_options(tmp_path):
    done = bench(tmp_path, "--rounds", "1")
    assert done.returncode == 1 and "bench-speed: No such file" in done.stderr
    for args in (["--rounds", "0"], ["--costs", "nothing"], ["--cfgs", "n5"]):
        assert bench(tmp_path, *args).returncode == 2


@pytest.mark.skipif(os.environ.get("TANDEM_CHECK") != "1", reason="not run: 12 seconds of compiling (make check)")
def test_the_real_program():
    """`make bench` builds a program of its own from the testcases: it must link and run."""
    build = os.environ.get("BUILD", "build")
    plain = {k: v for k, v in os.environ.items()
             if k not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "SAN", "KIND", "CFG", "DUT")}
    program = f"{build}/n4-fast/bench-speed"
    made = subprocess.run(["make", "-s", "-j2", "CFG=n4", "KIND=fast", f"BUILD={build}", program],
                          cwd=ROOT, env=plain, capture_output=True, text=True, timeout=900)
    assert made.returncode == 0, made.stdout + made.stderr
    words = "conv ic=4 oc=4 iw=8 ih=8 k=3 s=1 p=1 d=1 groups=1 bus=ideal gap=0 --times 1".split()
    done = subprocess.run([program, *words], cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["cycles"] > 100


def test_baseline(tmp_path):
    """Instructions before and now: 3 % more are a failure, and what another compiler made is not compared."""
    stand_in(tmp_path)
    valgrind = tmp_path / "bin" / "valgrind"
    valgrind.parent.mkdir()
    valgrind.write_text('#!/bin/sh\necho "Collected : $COUNTED" >&2\nshift 3\nexec "$@"\n')
    valgrind.chmod(0o755)
    stored = tmp_path / "baseline.json"

    def count(counted, *args):
        env = dict(os.environ, PATH=f"{valgrind.parent}:{os.environ['PATH']}", COUNTED=str(counted))
        return subprocess.run([os.environ.get("PYTHON", "/usr/bin/python3"), "bench/bench.py", "--build", str(tmp_path),
                               "--cfgs", "n8", "--workloads", "conv", "--baseline", str(stored), *args],
                              cwd=ROOT, env=env, capture_output=True, text=True, timeout=60)

    missing = count(1000000)
    assert missing.returncode == 1 and "make bench-check SAVE=1 writes one" in missing.stderr
    assert count(1000000, "--save").returncode == 0
    assert json.loads(stored.read_text())["instructions"] == {"n8 fast conv": 1000000, "n8 tap conv": 1000000}
    same = count(1029000)
    assert same.returncode == 0 and row(same, "n8 tap conv")[-4:] == ["1.0", "1.0", "+2.9", "%"], same.stdout
    more = count(1031000)
    assert more.returncode == 1 and "n8 fast conv takes more than 3 % more instructions" in more.stderr
    content = json.loads(stored.read_text())
    stored.write_text(json.dumps(dict(content, tools=["Verilator 1", "gcc 1"])))
    assert count(1000000).returncode == 1 and "not comparable" in count(1000000).stderr


@pytest.mark.parametrize("fails, status", [("bench-check", 2), ("nothing", 0)])
def test_nightly_compares_instructions(tmp_path, fails, status):
    """`make nightly` runs the comparison with the stored counts, and fails with it."""
    stand_in_make = tmp_path / "make"
    stand_in_make.write_text(f'#!/bin/sh\nfor last; do :; done\necho "$last"\n[ "$last" != {fails} ]\n')
    stand_in_make.chmod(0o755)
    plain = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "SAN", "DUT")}
    done = subprocess.run(["make", "-s", "nightly", f"MAKE={stand_in_make}"], cwd=ROOT, env=plain, capture_output=True,
                          text=True, timeout=120)
    assert done.returncode == status, done.stderr
    assert "bench-check" in done.stdout.splitlines()
