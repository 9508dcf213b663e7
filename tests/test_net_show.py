"""tandem-net --show: what a .param file describes."""
import glob
import os
import re
import subprocess

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
DATA = os.environ.get("TANDEM_DATA", os.path.join(ROOT, "..", "shared", "data"))
PROGRAM = os.path.join(ROOT, os.environ.get("HOST", os.path.join(os.environ.get("BUILD", "build"), "host")),
                       "tandem-net-model")
pytestmark = pytest.mark.skipif(not os.access(PROGRAM, os.X_OK), reason="not run: tandem-net-model is not built")


def show(*args):
    return subprocess.run([PROGRAM, "--show"] + list(args), cwd=ROOT, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=60)


def test_digits():
    done = show("models/digits/digits.param")
    assert done.returncode == 0 and done.stderr == ""
    lines = done.stdout.split("\n")
    assert lines[1].split() == ["Convolution", "conv1", "8x8x16"]
    assert lines[8].split() == ["Softmax", "prob", "1x1x10"]
    assert lines[9:] == ["9 layers, 9 blobs, 0 lines after them", "multiply-accumulates 159232",
                         "shapes noted in the file: 0 as computed, 0 others", ""]


def test_hints(tmp_path):
    param = tmp_path / "a.param"
    param.write_text("7767517\n3 4\nInput in 0 1 x -23330=4,3,4,5,6 0=4 1=5 2=6\nSplit s 1 2 x y z "
                     "-23330=10,3,4,5,1,6,3,4,4,1,6\n" "Flatten f 1 1 y v -23330=4,1,120,7,7\nbehind\n")
    done = show(str(param))
    assert done.returncode == 0, done.stderr
    assert ("Split                    s                                4x5x6 4x5x6 (the file says 3: 4x4x1x6)\n"
            in done.stdout)
    assert done.stdout.endswith("3 layers, 4 blobs, 1 lines after them\nmultiply-accumulates 0\nshapes noted in the "
                                "file: 3 as computed, 1 others\n")


def test_errors(tmp_path):
    done = show("no.param")
    assert (done.returncode == 2 and done.stdout == "" and
            done.stderr == "tandem-net: no.param: cannot open: No such file or directory\n")
    done = show("README.md")
    assert done.returncode == 2 and done.stdout == "" and done.stderr.count("\n") == 1 and "magic" in done.stderr
    # what cannot be executed is shown nevertheless
    param = tmp_path / "a.param"
    param.write_text("7767517\n2 2\nInput in 0 1 x 0=4\nStrange s 1 1 x y\n")
    done = show(str(param))
    assert (done.returncode == 2 and
            done.stderr.endswith("a.param:4: layer 's' of type 'Strange' is not supported\n") and
            done.stderr.count("\n") == 1)
    assert ("Strange                  s" in done.stdout and "2 layers, 2 blobs" in done.stdout and
            "multiply" not in done.stdout)
    with open("/dev/full", "w") as full:
        done = subprocess.run([PROGRAM, "--show", "models/digits/digits.param"],
                              cwd=ROOT, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
    assert done.returncode == 3 and "stdout: cannot be written" in done.stderr


def test_input(tmp_path):
    param = tmp_path / "a.param"
    param.write_text("7767517\n2 2\nInput in 0 1 x\nFlatten f 1 1 x y\n")
    assert show(str(param)).returncode == 2
    done = show(str(param), "--shape", "7x5x3")
    assert (done.returncode == 0 and "in                               7x5x3\n" in done.stdout and
            "f                                105\n" in done.stdout)
    for bad in ("7x5", "7x5x", "7x5x3x1", "0x5x3", "7x-5x3", "65537x1x1", "99999999999999999999x1x1", "x", ""):
        done = show(str(param), "--shape", bad)
        assert (done.returncode == 2 and done.stdout == "" and
                done.stderr.startswith("tandem-net: --shape: expected") and done.stderr.count("\n") == 1)
    done = subprocess.run([PROGRAM, "--shape", "7x5x3"], cwd=ROOT, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=60)
    assert done.returncode == 2 and done.stderr == "tandem-net: --shape needs --show or --layers\n"


def test_public_topologies():
    """Every file is read; where a network can be executed its shapes are those that the file notes."""
    files = sorted(glob.glob(os.path.join(DATA, "param", "*.param")))
    if not files:
        pytest.skip("not run: no data (%s)" % DATA)
    for path in files:
        done = show(path, "--shape", "224x224x3")
        assert re.search(r"^\d+ layers, \d+ blobs", done.stdout, re.M), done.stderr
        if done.returncode != 0:
            assert done.returncode == 2 and done.stderr.endswith(" is not supported\n"), done.stderr
            continue
        # a detection layer's hint is the number of boxes that were found once
        others = [line for line in done.stdout.split("\n")
                  if "(the file says" in line and "DetectionOutput" not in line]
        assert others == [], path
