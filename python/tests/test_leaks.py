"""Nothing stays behind: blocks of Python's allocator, references, memory of the C library (leak_calls.py says which
calls)."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

FULL = os.environ.get("TANDEM_CHECK") == "1"
DEBUG = "/usr/bin/python3-dbg"
SCRIPTS = Path(__file__).resolve().parent


def leaks(python, package, count):
    """What grew, as lines."""
    env = {**os.environ, "PYTHONPATH": str(package), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run([python, "-W", "ignore", SCRIPTS / "leak_calls.py", str(count)],
                          env=env, capture_output=True, text=True, timeout=3000)
    assert done.returncode == 0, done.stderr[-3000:]
    report = json.loads(done.stdout)
    assert len(report) >= 10
    return ["%s: %s" % row for row in report.items()
            if any(2 * row[1][key] >= row[1]["calls"] for key in ("blocks", "references", "total"))]


def test_nothing_stays(package):
    assert not leaks(sys.executable, package, 60 if FULL else 8)


@pytest.fixture(scope="module")
def debug_package(root, package):
    """The extension for Debian's debug build of Python: every reference is counted, and its own assertions look at what
    C code does."""
    if not FULL:
        pytest.skip("TANDEM_CHECK=1: a debug build of Python")
    if not os.access(DEBUG, os.X_OK):
        pytest.skip("not run: no %s (apt-get install python3-dbg)" % DEBUG)
    if subprocess.run([DEBUG, "-c", "import numpy"], capture_output=True).returncode != 0:
        pytest.skip("not run: %s cannot import NumPy" % DEBUG)
    build = os.path.join(os.environ.get("BUILD", "build"), "dbg")
    env = {k: v for k, v in os.environ.items()
           if k not in ("MAKEFLAGS", "MFLAGS", "SAN", "KIND", "CFG", "PYTHON", "HOST", "BUILD")}
    done = subprocess.run(["make", "-s", "python-package", "BUILD=" + build, "PYTHON=" + DEBUG, "ARCH="],
                          cwd=root, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-3000:]
    folder = Path(root, build, "python")
    symbols = subprocess.run(["nm", "-D", *folder.glob("tandem/_core.*.so")],
                             capture_output=True, text=True, check=True).stdout
    assert "_Py_RefTotal" in symbols, "not built for it"
    shutil.copy2(Path(package, "tandem", "_rtl_n4_fast.so"), folder / "tandem")  # no word of Python in it
    return folder


def test_every_reference(debug_package):
    assert not leaks(DEBUG, debug_package, 60)


def test_assertions_of_the_interpreter(debug_package, tmp_path):
    """Wrong calls: a result together with an exception, a reference too few and the like end a debug build at once."""
    env = {**os.environ, "PYTHONPATH": str(debug_package)}
    for kind, count in (("model", 20000), ("tandem", 2000)):
        done = subprocess.run([DEBUG, "-X", "dev", "-W", "ignore", SCRIPTS / "fuzz_calls.py", kind, "11", str(count)],
                              env=env, cwd=tmp_path, capture_output=True, text=True, timeout=3000)
        assert done.returncode == 0 and done.stdout.split()[0] == str(count), done.stderr[-3000:]


def test_valgrind(debug_package, tmp_path):
    """Memory that nobody has any more, wrong reads and writes, with a file of ours on the stack."""
    if shutil.which("valgrind") is None:
        pytest.skip("not run: no valgrind (make deps-dev)")
    env = {**os.environ, "PYTHONPATH": str(debug_package), "PYTHONMALLOC": "malloc", "PYTHONDONTWRITEBYTECODE": "1"}
    names = ["bare_model", "bare_errors", "bare_device", "bare_draws",
             "bare_openings", "operators", "units", "networks"]
    log = tmp_path / "valgrind.txt"
    done = subprocess.run(["valgrind", "--leak-check=full", "--show-leak-kinds=definite", "--num-callers=40",
                           "--trace-children=no", "--log-file=%s" % log, DEBUG, "-W", "ignore", SCRIPTS /
                           "leak_calls.py", "1", *names], env=env, capture_output=True, text=True, timeout=3000)
    assert done.returncode == 0, done.stderr[-3000:]
    text = log.read_text(errors="replace")
    assert "ERROR SUMMARY" in text
    blocks = re.split(r"(?m)^==\d+== *$", text)
    ours = [
        b for b in blocks if re.search(r"definitely lost in loss|Invalid (read|write|free)|uninitialised", b) and
        re.search(r"\((model|core|device\w*|op_\w+|args|nd|network\w*|rng|wave|axi|rtl|child|tensor)\.c:\d+\)|/tandem/",
                  b)]
    assert not ours, "\n".join(ours[:5])
