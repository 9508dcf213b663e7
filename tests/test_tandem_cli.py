"""tandem from outside: exit statuses, one clear line for bad input, cases that replay, results that are whole or
absent."""
import json
import os
import re
import resource
import signal
import subprocess
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = ROOT / os.environ.get("HOST", os.path.join(os.environ.get("BUILD", "build"), "host")) / "tandem-model"
pytestmark = pytest.mark.skipif(not os.access(PROGRAM, os.X_OK), reason="not run: tandem-model is not built")


def tandem(*args, **kwargs):
    return subprocess.run([str(PROGRAM), *map(str, args)], capture_output=True, text=True, timeout=120, **kwargs)


def case_of(*args):
    done = tandem("test", *args, "--print-case")
    assert done.returncode == 0, done.stderr
    return dict(line.split("=", 1) for line in done.stdout.splitlines())


@pytest.mark.parametrize("args, part", [
    ([], "expected a command"),
    (["frob"], "unknown command frob"),
    (["run"], "expected an operator"),
    (["run", "frob"], "unknown operator frob, expected one of: conv "),
    (["run", "regs"], "unknown operator regs"),
    (["run", "conv", "--bus"], "--bus: the model has no bus, expected --device rtl or tandem"),
    (["test"], "expected a test"),
    (["test", "convolution"], "unknown test convolution, expected one of: conv "),
    (["test", "conv", "kk=3"], "unknown knob kk"),
    (["test", "conv", "k"], "expected name=value"),
    (["test", "conv", "k=256"], "k=256: expected 0..255"),
    (["test", "conv", "k="], "expected 0..255"),
    (["test", "conv", "ic=0"], "ic=0: expected 1..4096"),
    (["test", "conv", "ic=1e3"], "expected 1..4096"),
    (["test", "conv", "act=tan"], "act=tan: expected none|relu|"),
    (["test", "conv", "ic=4", "oc=4", "groups=3"], "groups do not divide the channels"),
    (["test", "conv", "k=5", "p=0", "iw=4"], "padded input smaller than the kernel"),
    (["test", "conv", "k=7", "p=4", "iw=65535"], "dimension above 65535"),
    (["test", "conv", "k=3", "kw=5"], "contradicts"),
    (["test", "conv", "max_ic=3"], "impossible split"),
    (["run", "conv", "ic=4096", "ih=4000", "iw=2000", "k=1"], "does not fit into device memory"),
    (["test", "conv", "--seed"], "--seed: expected a number"),
    (["test", "conv", "--seed", "x"], "--seed: expected a number"),
    (["test", "conv", "--seed", "18446744073709551616"], "--seed: expected a number"),
    (["test", "conv", "--seed", "1", "--count", "2"], "--seed: names one case"),
    (["test", "conv", "--count", "0"], "--count: expected a number 1..1000000"),
    (["test", "conv", "--frob"], "unknown option --frob"),
    (["test", "conv", "--device", "fpga"], "--device: expected model, rtl or tandem"),
    (["test", "conv", "--device", "rtl"], "contains no RTL"),
    (["test", "conv", "--wave", "x.fst"], "--wave: the model has no waveform"),
    (["run", "conv", "--perf"], "--perf: the model has no clock"),
    (["run", "conv", "--perf", "x.svg", "--window", "7"], "--perf: the model has no clock"),
    (["run", "conv", "--window", "7"], "--window: needs --perf"),
    (["run", "conv", "--perf", "--window", "0"], "--window: expected a number 1.."),
    (["test", "conv", "--perf"], "unknown option --perf"),
    (["test", "conv", "--report-limit", "5"], "--report-limit: needs --report"),
    (["test", "conv", "--report", "r", "--report-limit", "x"], "--report-limit: expected a number 0..1048576"),
    (["run", "conv", "--count", "2"], "unknown option --count"),
    (["list", "--seed", "1"], "unknown option --seed"),
    (["list", "conv"], "unexpected argument conv"),
    (["repro"], "expected a case file"),
    (["repro", "/nonexistent.case"], "/nonexistent.case: No such file"),
    (["repro", "/dev/null"], "test is missing"),
])
def test_bad_input(args, part, tmp_path):
    done = tandem(*args, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stdout == ""
    lines = done.stderr.splitlines()
    assert len(lines) == 1 and part in lines[0], done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("change, part", [
    (("cfg=n8", "cfg=n16"), "this program is built for n8"),
    (("cfg=n8", "cfg=n7"), "this program is built for n8"),
    (("test=conv", "test=frob"), "unknown test frob"),
    (("seed=0x", "seed=zz"), "seed"),
    (("\nkw=", "\nkw=100"), "kw="),
    (("\nkw=", "\nunknown=1\nkw="), "unknown key unknown"),
    (("\nkw=", "\n# kw="), "kw"),
    (("\nkw=", "\nkw"), "expected"),
    (("\nact=", "\nact=x"), "act="),
])
def test_bad_case(change, part, tmp_path):
    text = tandem("test", "conv", "k=3", "--seed", 5, "--print-case").stdout
    bad = tmp_path / "bad.case"
    bad.write_text(text.replace(*change))
    assert bad.read_text() != text
    done = tandem("repro", bad)
    assert done.returncode == 2 and done.stdout == ""
    assert len(done.stderr.splitlines()) == 1 and part in done.stderr, done.stderr


def test_help():
    for args in (["--help"], ["run", "--help"], ["test", "--help"], ["test", "conv", "--help"],
                 ["repro", "--help"], ["list", "--help"]):
        done = tandem(*args)
        assert done.returncode == 0 and done.stdout.startswith("usage:") and done.stderr == ""


def test_list():
    text = tandem("list")
    assert text.returncode == 0
    data = json.loads(tandem("list", "--json").stdout)
    assert data["cfg"] == "n8"
    names = [t["name"] for t in data["tests"]]
    assert {"conv", "dw", "linear", "convert", "regs", "bus_error", "chain", "sequence"} <= set(names)
    assert len(set(names)) == len(names)
    for test in data["tests"]:
        for knob in test["knobs"]:
            assert knob["lowest"] <= knob["highest"] and knob["help"]
            assert knob["name"] in text.stdout


def test_messages_name_what_there_is():
    """The list is the table: no name is left out where a name was expected."""
    tests = json.loads(tandem("list", "--json").stdout)["tests"]
    assert tandem("test", "frob").stderr.split("expected one of: ")[1].split() == [t["name"] for t in tests]
    operators = tandem("run", "frob").stderr.split("expected one of: ")[1].split()
    assert operators == [t["name"] for t in tests if t["operator"]]
    for name in operators:
        assert tandem("run", name, "--help").returncode == 0


def test_cases_pass_and_replay(tmp_path):
    done = tandem("test", "conv", "--run-seed", 3, "--count", 40, "--case-dir", tmp_path / "cases")
    assert done.returncode == 0, done.stdout
    assert done.stdout.startswith("PASS test=conv cfg=n8 device=model cases=40")
    assert not (tmp_path / "cases").exists()
    again = tandem("test", "conv", "--run-seed", 3, "--count", 40)
    assert again.stdout == done.stdout
    # one case by its seed, and as a file: the same bytes
    case = tmp_path / "one.case"
    by_seed = tandem("test", "conv", "--seed", 77, "--case", case)
    by_file = tandem("repro", case)
    assert by_seed.returncode == 0 and by_seed.stdout == by_file.stdout
    assert tandem("case", case).stdout == by_file.stdout


def test_pins_shift_no_other_draw():
    free = case_of("conv", "--seed", 9, "shape=any")
    pinned = case_of("conv", "--seed", 9, "shape=any", "data=zeros", "act=relu")
    differ = {k for k in free if free[k] != pinned[k]}
    assert differ <= {"data", "act", "in_scale"}


@pytest.mark.parametrize("pins", [["ic=64", "k=3", "p=1"], ["kw=5", "ih=3"], ["pl=2"], ["p=2"], ["iw=1", "ih=1"],
                                  ["s=7", "oc=1"], ["sw=3"], ["max_oh=1"], ["p=6"], ["k=7", "iw=300"]])
def test_pins_are_kept(pins):
    for seed in range(20):
        case = case_of("conv", "--seed", seed, *pins)
        for pin in pins:
            name, value = pin.split("=")
            assert case[name] == value


@pytest.mark.parametrize("test", ["regs", "bus_error"])
def test_directed(test):
    done = tandem("test", test, "--count", 6)
    assert done.returncode == 0, done.stdout
    assert "not run:" in done.stdout  # what the model alone cannot do is said


def test_run_prints_measurements():
    done = tandem("run", "conv", "ic=16", "oc=8", "ih=9", "iw=9", "k=3",
                  "s=1", "p=1", "groups=1", "in_layout=fp32", "out_layout=fp32")
    assert done.returncode == 0
    assert "9x9x16 fp32 -> 9x9x8 fp32, kernel 3x3" in done.stdout
    assert "93312" in done.stdout  # 9*9*8*16*9
    assert "not measured, the model has no clock" in done.stdout
    quiet = tandem("run", "conv", "ic=16", "oc=8", "ih=9", "iw=9", "k=3",
                   "s=1", "p=1", "groups=1", "in_layout=fp32", "out_layout=fp32", "--quiet")
    assert quiet.returncode == 0 and quiet.stdout == ""


def test_result_file(tmp_path):
    result = tmp_path / "result"
    assert tandem("test", "conv", "--count", 3, "--result", result).returncode == 0
    keys = dict(line.split("=", 1) for line in result.read_text().splitlines())
    assert keys["outcome"] == "pass" and int(keys["trace_hash"], 16) != 0
    assert list(tmp_path.iterdir()) == [result]
    bad = tandem("test", "conv", "k=5", "p=0", "iw=4", "--result", result)
    keys = dict(line.split("=", 1) for line in result.read_text().splitlines())
    assert bad.returncode == 2 and keys["outcome"] == "error" and "smaller than the kernel" in keys["message"]


def limit_file_size():
    # SIGXFSZ keeps its default action here, as in a user's shell: the program itself must survive it
    resource.setrlimit(resource.RLIMIT_FSIZE, (16, 16))


@pytest.mark.parametrize("option", ["--result", "--case"])
def test_full_disk(option, tmp_path):
    done = tandem("test", "conv", option, "/dev/full")
    assert done.returncode != 0 and len(done.stderr.splitlines()) == 1 and "/dev/full" in done.stderr
    done = tandem("test", "conv", option, tmp_path / "f", preexec_fn=limit_file_size)
    assert done.returncode != 0 and len(done.stderr.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []
    done = tandem("test", "conv", option, tmp_path / "nowhere" / "f")
    assert done.returncode != 0 and len(done.stderr.splitlines()) == 1


def test_interrupt_ends_the_model():
    """Nothing but a simulation defers SIGINT; without one a single Ctrl-C must end the program."""
    # started from a shell's background the tests themselves have SIGINT ignored, and would pass that on
    job = subprocess.Popen([str(PROGRAM), "test", "conv", "--count", "1000000"], stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
    try:
        ticks = 0
        while ticks < 10:  # a tenth of a second of processor time: it is at work
            assert job.poll() is None
            ticks = int(Path(f"/proc/{job.pid}/stat").read_text().rsplit(")", 1)[1].split()[11])
            time.sleep(0.01)
        job.send_signal(signal.SIGINT)
        assert job.wait(timeout=10) == -signal.SIGINT
    finally:
        job.kill()
        job.communicate()


def test_full_stdout():
    with open("/dev/full", "w") as full:
        done = subprocess.run([str(PROGRAM), "list"], stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 3 and "stdout" in done.stderr


@pytest.mark.parametrize("case", sorted((ROOT / "testcases/npu/cases").glob("*-n8-*.case")), ids=lambda case: case.stem)
def test_stored_cases(case):
    done = tandem("repro", case)
    test = re.search("^test=(.*)$", case.read_text(), re.M).group(1)
    assert (done.returncode == 0 and
            f"PASS test={test} cfg=n8 device=model cases=1" in done.stdout), done.stdout + done.stderr


def test_stored_cases_exist():
    assert len(list((ROOT / "testcases/npu/cases").glob("*-n8-*.case"))) >= 10
