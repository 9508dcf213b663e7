"""models/digits: the committed files, the script that wrote them, and the INT8 layers of tandem-net against NumPy."""
import os
import re
import subprocess
import sys

import numpy as np
import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
DIGITS = os.path.join(ROOT, "models", "digits")
sys.path.insert(0, DIGITS)
import train  # noqa: E402

MASK = (1 << 64) - 1


def test_accuracy_as_stated():
    pixels, labels = train.read_images(os.path.join(DIGITS, "heldout.csv"))
    assert len(labels) >= 300
    fp32 = train.accuracy(train.run_fp32(train.read_fp32(os.path.join(DIGITS, "digits.bin")), pixels), labels)
    int8 = train.accuracy(train.run_int8(train.read_int8(os.path.join(DIGITS, "digits-int8.bin")), pixels), labels)
    stated = re.search(r"FP32 ([0-9.]+) % .*INT8 ([0-9.]+) %", open(os.path.join(DIGITS, "README.md")).read())
    assert fp32 == pytest.approx(float(stated.group(1)), abs=0.005)
    assert int8 == pytest.approx(float(stated.group(2)), abs=0.005)
    assert fp32 >= 95.0
    assert int8 >= fp32 - 1.0


def test_held_out_is_held_out():
    """No held-out image is a calibration image or, where scikit-learn is there to ask, a training image."""
    held, _ = train.read_images(os.path.join(DIGITS, "heldout.csv"))
    calib, _ = train.read_images(os.path.join(DIGITS, "calibration.csv"))
    held = {tuple(row) for row in held}
    assert not held & {tuple(row) for row in calib}
    pytest.importorskip("sklearn", reason="not run: needs python3-sklearn")
    train_x, _, test_x, _ = train.load_split()
    assert held == {tuple(row) for row in test_x}
    assert not held & {tuple(row) for row in train_x}


@pytest.mark.parametrize("coretype", [None, "Prescott"])
def test_training_is_reproducible(coretype):
    """Training again gives every committed byte, also with other matrix kernels."""
    if not os.environ.get("TANDEM_CHECK"):
        pytest.skip("not run: training is repeated by make check only (TANDEM_CHECK=1)")
    pytest.importorskip("sklearn", reason="not run: needs python3-sklearn")
    env = dict(os.environ, OPENBLAS_NUM_THREADS="1")
    if coretype:
        env["OPENBLAS_CORETYPE"] = coretype
    run = subprocess.run([sys.executable, os.path.join(DIGITS, "train.py"), "--check"],
                         env=env, capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stdout + run.stderr
    assert run.stdout.count("identical") == 6


def mix64(x):
    for _ in range(2):
        x ^= x >> 32
        x = x * 0xD6E8FEB86659FD93 & MASK
    return x ^ x >> 32


def hash_floats(values):
    """tb_hash_bytes() of the floats, finished (tb/case/hash.h)."""
    data = np.ascontiguousarray(values, dtype="<f4").tobytes()
    state = 0x6A09E667F3BCC908
    words = [int.from_bytes(data[i:i + 8], "little") for i in range(0, len(data), 8)] + [len(data)]
    for word in words:
        state = ((state << 23 | state >> 41) & MASK) ^ word
        state = state * 0x9FB21C651E98DF25 & MASK
        state ^= state >> 35
    return mix64(state)


def test_layers_against_numpy():
    """Every INT8 layer output of the golden model, driven through the driver, has the bits that NumPy computes. (RTL
    against model: the network job. The softmax behind them is within a bound: tests/test_net_runtime.c.)"""
    host = os.environ.get("HOST", os.path.join(os.environ.get("BUILD", "build"), "host"))
    program = os.path.join(ROOT, host, "tandem-net-model")
    if not os.access(program, os.X_OK):
        pytest.skip("not run: tandem-net-model is not built")
    count = 8
    pixels, _ = train.read_images(os.path.join(DIGITS, "heldout.csv"))
    blobs = train.run_int8(train.read_int8(os.path.join(DIGITS, "digits-int8.bin")), pixels[:count])[1:]
    for cfg in ("n4", "n8", "n16", "n32"):
        run = subprocess.run([program, "--verbose", "--cfg", cfg, "--count", str(count)],
                             cwd=ROOT, capture_output=True, text=True, timeout=300)
        assert run.returncode == 0, run.stdout + run.stderr
        lines = re.findall(r"^model image (\d+) layer (conv\w+) hash ([0-9a-f]{16})$", run.stdout, re.M)
        assert len(lines) == count * len(blobs)
        for image, layer, got in lines:
            expected = hash_floats(blobs[int(layer[4:]) - 1][int(image)])
            assert int(got, 16) == expected, (cfg, image, layer)
