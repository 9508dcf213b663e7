"""Testcases in Python: what a passing and a failing one leave, in files and in the database of the runner; a bug in the
RTL."""

import os
import re
import shutil
import sqlite3
import subprocess
from pathlib import Path

import numpy as np
import pytest
import tandem

FULL = os.environ.get("TANDEM_CHECK") == "1"
SEED = 0xcca140ff7fd6e89a  # of case 0 of run 1 of a test named python-flip

FILES = {
    "flip": '''
"""One wrong beat of read data."""
import numpy as np

def test_good(tandem, rng):
    x = rng.integers(-9, 9, (2, 3, 3)).astype(np.int8)
    assert (tandem.copy(x) == x).all()

def test_flip(tandem, knob):
    tandem.inject_flip(0, knob("beat", 0, 7))
    tandem.conv2d(np.ones((4, 8, 8), np.float32), np.ones((4, 4, 3, 3), np.int8))
''',
    "wrong": '''
import numpy as np

def test_sum(tandem, device, seed, knob):
    total = tandem.copy(np.ones((1, 2, 2), np.float32)).sum()
    assert device("model", bus="ideal").copy(np.ones((1, 2, 2), np.float32)).sum() == total == knob("want", [5]), \
        "the sum"
''',
    "late": '''
def test_end(tandem):
    tandem.inject_hang(0, "R")
    tandem.write_register("CTRL", 0)

def test_draws(tandem, seed, rng, knob):
    print("drawn", hex(seed), knob("k", 1, 1000), knob("act", ["none", "relu"]), rng.integers(0, 10**9))
    assert False
''',
    "skipping": '''
import pytest

def test_nothing(tandem):
    pytest.skip("not today")
''',
    "raising": "def test_raises(tandem):\n    tandem.no_such()\n",
    "importing": "import no_such_module\n",
    "empty": "X = 1\n",
}


@pytest.fixture(scope="session")
def program(root):
    """build/n4-fast/tandem-python."""
    path = os.path.join(os.environ.get("BUILD", "build"), "n4-fast", "tandem-python")
    env = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MFLAGS", "SAN", "KIND", "CFG")}
    done = subprocess.run(["make", "-s", path, "CFG=n4", "KIND=fast"],
                          cwd=root, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    return Path(root, path).resolve()


@pytest.fixture
def call(program, tmp_path):
    """Run the program on the testcases of FILES: (exit status, output, result file)."""
    folder = tmp_path / "cases-in"
    folder.mkdir()
    for name, text in FILES.items():
        (folder / (name + ".py")).write_text(text)

    def run(*args, **env):
        result = tmp_path / "result.txt"
        result.unlink(missing_ok=True)
        command = [program, *map(str, args), "--folder", folder, "--case-dir", tmp_path / "stored"]
        done = subprocess.run(command + (["--result", result] if args[0] != "list" else []),
                              cwd=tmp_path, capture_output=True, text=True, timeout=300, env={**os.environ, **env})
        rows = dict(row.split("=", 1) for row in result.read_text().splitlines()) if result.exists() else {}
        return done.returncode, done.stdout + done.stderr, rows

    return run


def test_list_for_a_reader_that_leaves(program):
    with subprocess.Popen([program, "list"], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        assert process.stderr.read() == b""


@pytest.mark.parametrize("name", ["conv", "alu", "pool", "layers"])
def test_they_pass_and_repeat(name, program, tmp_path):
    """Every testcase of the folder, twice: the same trace."""
    assert name in subprocess.run([program, "list"], capture_output=True, text=True, check=True).stdout
    results = []
    for _ in range(2):
        done = subprocess.run([program, "test", name, "--count", "30" if FULL else "3", "--result", "r"],
                              cwd=tmp_path, capture_output=True, text=True)
        assert (done.returncode == 0 and
                "PASS test=python-%s cfg=n4 device=tandem" % name in done.stdout), done.stdout + done.stderr
        results.append((tmp_path / "r").read_text())
    assert results[0] == results[1] and re.search(r"^outcome=pass$.*^cycles=[1-9]\d+$", results[0], re.M | re.S)


def test_every_file_is_in_the_suites(root):
    names = {p.stem for p in Path(root, "testcases", "npu", "python").glob("*.py")} - {"conftest"}
    for suite in ("python", "default", "nightly"):
        assert names == set(re.findall(
            r"^python (\w+)", Path(root, "designs", "npu", "suites", suite + ".suite").read_text(), re.M)), suite


def test_a_failure(call, tmp_path):
    """Unit, cycle, reproducer; the stored case fails in the same way; of the file's functions only the one that failed
    runs again."""
    status, out, result = call("test", "flip", "beat=7")
    assert (status == 1 and result["outcome"] == "fail" and result["signature"] == "mem:differ" and
            int(result["cycles"]) > 0)
    assert re.search(r"^FAIL test=python-flip seed=0x%016x cfg=n4 : test_flip: memory differs" % SEED, out, re.M)
    assert (re.search(r"^mem:differ, unit gemm, cycle \d+$", out, re.M) and
            "make repro CASE=" + result["case"] in out and result["repro"] in out)
    stored = Path(result["case"])
    assert stored.read_text().startswith("test=python-flip\ncfg=n4\nseed=0x%016x\nfunction=test_flip\nbeat=7\nbus=" %
                                         SEED)
    status, again, second = call("repro", stored)
    assert status == 1 and second["signature"] == "mem:differ" and "test_good" not in again
    assert re.search("unit gemm, cycle .*", again)[0] == re.search("unit gemm, cycle .*", out)[0]


def test_a_wrong_value(call):
    status, out, result = call("test", "wrong", "bus=ideal", "--count", 3)
    assert (status == 1 and result["signature"] == "python-wrong: test_sum: AssertionError" and
            result["message"] == "test_sum: the sum")
    assert "want=5" in Path(result["case"]).read_text()


def test_seed_and_knobs(call):
    """A case is named by run seed and index, by its seed, and by its file: the same draws, which are those of the
    module."""
    drawn = [re.search("drawn (.*)", call("test", "late", *args)[1])[1] for args in
             (("--run-seed", 5, "--index", 3), ("--seed", hex(tandem.test_seed(5, "python-late", 3))))]
    assert drawn[0] == drawn[1]
    seed, k, act, number = drawn[0].split()
    seed = int(seed, 16)
    assert seed == tandem.test_seed(5, "python-late", 3) and int(k) == tandem.draw(seed, "k", 1, 1000)
    assert (act == ["none", "relu"][tandem.draw(seed, "act", 0, 1)] and
            int(number) == np.random.Generator(np.random.PCG64(seed)).integers(0, 10**9))
    assert "drawn " + hex(seed) + " 77 relu" in call("test", "late", "--seed", hex(seed), "k=77", "act=relu")[1]


@pytest.mark.parametrize("args, text", [
    (("test", "skipping"), "test_nothing: skipped: not today"), (("test", "raising"), "no_such"),
    (("test", "importing"), "No module named 'no_such_module'"), (("test", "empty"), "no test ran"),
    (("test", "nobody"), "no such testcase"), (("test", "flip", "beat=8"), "beat=8: expected 0..7"),
    (("test", "flip", "beat=x"), "expected 0..7"), (("test", "wrong", "bus=none"), "bus=none: expected one of ideal"),
    (("repro", "/no/such"), "No such file")])
def test_what_cannot_run(args, text, call):
    """An error is no failure: exit status 2, one line, a result that says so."""
    status, out, result = call(*args)
    assert status == 2 and result["outcome"] == "error" and text in result["message"], out
    assert ([row for row in out.splitlines() if row.startswith("tandem-python: ")][-1] == "tandem-python: " +
            result["message"])


def test_usage(call):
    for args in (("test",), ("test", "flip", "nonsense"), ("test", "flip", "--count", 0),
                 ("repro", "x", "k=3"), ("walk",), ("test", "flip", "--device", "gpu")):
        assert call(*args)[0] == 2


def test_without_pytest(call, program, tmp_path):
    (tmp_path / "pytest.py").write_text("raise ImportError")
    package = program.parent.parent / "python"
    env = {**os.environ, "PYTHONPATH": "%s:%s" % (tmp_path, package)}
    done = subprocess.run(["/usr/bin/python3", "-m", "tandem.testcase", "test", "flip", "--cfg", "n4", "--kind", "fast",
                           "--folder", tmp_path / "cases-in", "--build", "build", "--result", tmp_path / "r"],
                          capture_output=True, text=True, env=env)
    assert (done.returncode == 2 and
            done.stderr == "tandem-python: testcases in Python need python3-pytest (make deps)\n")
    assert "outcome=error" in (tmp_path / "r").read_text()


def test_report(call, tmp_path):
    """All of it in one folder; the waveform where the package has a build with tracing, else the reason."""
    folder = tmp_path / "report"
    status, out, result = call("test", "flip", "--report", folder)
    text = (folder / "report.txt").read_text()
    assert status == 1 and "mem:differ" in text and "make repro CASE=" in text and "unit       gemm" in text
    assert ((folder / "report.html").read_text().startswith("<!doctype html>") and
            (folder / "case.case").read_text().startswith("test=python-flip"))
    if any(n == 4 and build in ("debug", "tap") for n, build in tandem.rtl_builds()):
        assert result["wave"] == str(folder / "wave.fst") and "the same failure" in text
        clock = tandem.Fst(folder / "wave.fst")["npu_top.clk_i"]
        assert int(clock.values.sum()) >= int(re.search(r"cycle +(\d+)", text)[1])
    else:
        assert "wave" not in result and "make python CFG=n4 KIND=tap" in text
    assert call("test", "flip", "--report", folder)[0] == 1  # replaced
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").write_text("kept")
    status, out, result = call("test", "flip", "--report", tmp_path / "full")
    assert (status == 2 and "expected a new or empty folder" in out and
            (tmp_path / "full" / "mine").read_text() == "kept")


def jobs_of(db):
    with sqlite3.connect(db) as base:
        base.row_factory = sqlite3.Row
        return [dict(row) for row in base.execute("SELECT * FROM job ORDER BY run, idx")]


def test_in_the_database(call, program, root, tmp_path):
    """The runner: jobs, the failure's signature, its explanation."""
    runner = Path(root, os.environ.get("TANDEM_REGRESS", "build/host/tandem-regress")).resolve()
    if not runner.exists():
        subprocess.run(["make", "-s", "build/host/tandem-regress"], cwd=root, check=True)
    (tmp_path / "build").mkdir()
    (tmp_path / "build" / "n4-fast").symlink_to(program.parent)
    shutil.copytree(program.parent.parent / "python", tmp_path / "build" / "python")
    (tmp_path / "designs").symlink_to(Path(root, "designs"))
    (tmp_path / "t.suite").write_text("python wrong cfg=n4 count=2 cases=3 -- --folder {0} bus=ideal\npython flip "
                                      "cfg=n4 cases=2 -- --folder {0}\n" "repeat python conv cfg=n4 index=4 cases=2\n"
                                      "python raising cfg=n4 -- --folder {0}\n".format(tmp_path / "cases-in"))
    done = subprocess.run([runner, "run", "--suite", tmp_path / "t.suite", "--build-dir", "build",
                           "--explain", "5", "--jobs", "2"], cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 1 and done.stdout.endswith("2 passed, 4 failed\n"), done.stdout + done.stderr
    jobs = jobs_of(tmp_path / "build" / "results.db")
    assert [(j["what"], j["test"], j["outcome"], j["first_index"], j["cases"]) for j in jobs] == [
        ("python", "wrong", "fail", 0, 3), ("python", "wrong", "fail", 3, 3), ("python", "flip", "fail", 0, 2),
        ("python", "conv", "pass", 4, 2),
        ("python", "conv", "pass", 4, 2), ("python", "raising", "error", 0, 1)]
    flip, conv = jobs[2], jobs[3]
    assert (flip["signature"] == "mem:differ" and flip["repro"].startswith("make repro CASE=") and
            os.path.exists(tmp_path / flip["case_path"]))
    assert flip["cycles"] > 0 and conv["trace_hash"] == jobs[4]["trace_hash"] and len(conv["trace_hash"]) == 18
    assert (tmp_path / flip["bundle_path"] / "report.html").exists(), "explained"
    assert "wrong" in jobs[0]["signature"] and "python conv" in done.stdout


def test_with_pytest_itself(root, package, tmp_path):
    command = ["/usr/bin/python3", "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "tandem.pytest_plugin",
               os.path.join(root, "testcases/npu/python/alu.py"), "--cases", "2", "--pin", "bus=ideal"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": package})
    assert done.returncode == 0 and "6 passed" in done.stdout, done.stdout + done.stderr


@pytest.mark.skipif(not FULL, reason="TANDEM_CHECK=1: an NPU with a bug")
def test_a_bug_in_the_rtl(root, tmp_path):
    """tests/mutants: the suite python finds it, names the unit, leaves report and waveform."""
    tree = tmp_path / "tree"
    names = subprocess.run(["git", "ls-files", "--cached", "--others",
                            "--exclude-standard"], cwd=root, capture_output=True, text=True, check=True).stdout
    for name in names.splitlines():
        if os.path.isfile(os.path.join(root, name)):
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(os.path.join(root, name), tree / name)
    with open(tree / "tests/mutants/npu/im2col-padding-off-by-one.patch", encoding="utf-8") as patch:
        subprocess.run(["patch", "-p1", "--fuzz=0"], cwd=tree, stdin=patch, check=True, capture_output=True)
    env = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MFLAGS", "SAN", "KIND",
                                                            "CFG", "BUILD", "HOST", "TANDEM_PYTHON", "TANDEM_REGRESS")}
    done = subprocess.run(["make", "regress", "SUITE=python", "CFG=n4", 'REGRESS_ARGS=--count 2'],
                          cwd=tree, env=env, capture_output=True, text=True)
    assert done.returncode != 0 and re.search(r"[1-9]\d* failed$",
                                              done.stdout.strip()), done.stdout[-3000:] + done.stderr[-3000:]
    failed = [j for j in jobs_of(tree / "build" / "results.db") if j["outcome"] == "fail" and j["bundle_path"]]
    assert failed and failed[0]["signature"].startswith("unit:im2col:") and failed[0]["kind"] == "tap"
    folder = tree / failed[0]["bundle_path"]
    assert "unit       im2col" in (folder / "report.txt").read_text() and tandem.Fst(folder / "wave.fst").last > 0
    assert failed[0]["wave_path"] and failed[0]["repro"].startswith("make repro CASE=")
