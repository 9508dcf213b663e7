"""tandem-net widths: INT8, asymmetric INT8 and INT16 beside FP32, on the golden model."""
import os
import re
import subprocess

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
MODEL = os.path.join(ROOT, os.environ.get("HOST", os.path.join(os.environ.get("BUILD", "build"), "host")),
                     "tandem-net-model")
DIGITS = os.path.join("models", "digits")

pytestmark = pytest.mark.skipif(not os.access(MODEL, os.X_OK), reason="not run: tandem-net-model is not built")


def run(*args):
    return subprocess.run([MODEL, "widths", *args], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          timeout=600)


def test_digits():
    done = run("--net", os.path.join(DIGITS, "digits.param"), "--bin", os.path.join(DIGITS, "digits.bin"),
               "--image", os.path.join(DIGITS, "heldout.csv"), "--ranges", os.path.join(DIGITS, "calibration.csv"),
               "--norm", "0.0625", "--order", "gray")
    assert done.returncode == 0, done.stderr + done.stdout
    noise = dict((m.group(1), [float(x) for x in m.group(2).split()])
                 for m in re.finditer(r"^(\S.*?)((?: +-?\d+\.\d\d){3})$", done.stdout, re.M))
    assert list(noise) == ["conv1", "conv2", "conv3", "conv4", "output of the network"]  # none with *: all on the NPU
    for layer, (sym, asym, wide) in noise.items():
        assert sym + 1 < asym < wide - 10, layer
    assert re.search(r"^first class as in FP32 +400 +400 +400 +of 400 inputs$", done.stdout, re.M)
    assert re.search(r"^right class +395 +395 +395 +of 400, FP32 395$", done.stdout, re.M)


def test_options():
    done = run("--net", "n.param", "--bin", "n.bin")
    assert done.returncode == 2 and "--image" in done.stderr
    done = subprocess.run([MODEL, "classify", "--ranges", "a.csv", "--net", "n.param", "--bin", "n.bin", "--image",
                           "b.png"], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60)
    assert done.returncode == 2 and "--ranges is an option of widths" in done.stderr
