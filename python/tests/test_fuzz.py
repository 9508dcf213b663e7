"""Wrong types, strides, shapes, sizes, views, read-only results: every call ends with a result or one of the documented
exceptions, never with a crash."""

import os
import subprocess
import sys

import pytest

FULL = os.environ.get("TANDEM_CHECK") == "1"
SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fuzz_calls.py")


@pytest.mark.parametrize("kind, seed, count", [("model", s, 40000 if FULL else 4000) for s in range(8 if FULL else 1)] +
                         [("tandem", s, 4000 if FULL else 500) for s in range(4 if FULL else 1)])
def test_wrong_calls(kind, seed, count, package, root, tmp_path):
    env = {**os.environ, "PYTHONPATH": package}
    digits = [os.path.join(root, "models", "digits", n) for n in ("digits.param", "digits.bin")]
    done = subprocess.run([sys.executable, "-W", "ignore", SCRIPT, kind, str(seed), str(count), *digits],
                          env=env, cwd=tmp_path, capture_output=True, text=True, timeout=3000)
    assert done.returncode == 0, "exit status %d\n%s%s" % (done.returncode, done.stdout[-2000:], done.stderr[-4000:])
    calls, good = map(int, done.stdout.split())
    assert calls == count and good > count // 40  # some get through, else nothing was tried
