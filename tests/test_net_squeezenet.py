"""SqueezeNet v1.1 with its public weights in FP32: every blob against those of ncnn's plain C++ layers for one
photograph."""
import io
import os
import subprocess
import tarfile

import pytest

np = pytest.importorskip("numpy", reason="not run: needs python3-numpy (make deps)")

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PROGRAM = os.path.join(ROOT, os.environ.get("HOST", os.path.join(os.environ.get("BUILD", "build"), "host")),
                       "tandem-net-model")
DATA = os.path.join(os.environ.get("TANDEM_DATA", os.path.join(ROOT, "..", "shared", "data")), "squeezenet")
pytestmark = [pytest.mark.skipif(not os.access(PROGRAM, os.X_OK), reason="not run: tandem-net-model is not built"),
              pytest.mark.skipif(not os.path.exists(os.path.join(DATA, "cat-reference.tar.xz")),
                                 reason="not run: no data")]
MEAN = np.array([104, 117, 123], dtype=np.float32)


def reference():
    """Files of the archive that belong to the float network: name -> bytes."""
    with tarfile.open(os.path.join(DATA, "cat-reference.tar.xz")) as archive:
        wanted = [m for m in archive.getmembers()
                  if "/float_" in m.name or m.name.endswith(("manifest_float.tsv", "227x227.bin"))]
        return {os.path.basename(m.name): archive.extractfile(m).read() for m in wanted}


def blob_numbers(param):
    numbers = {}
    with open(param, encoding="utf-8") as lines:
        for line in lines.read().split("\n")[2:]:
            words = line.split()
            if len(words) >= 4:
                inputs, outputs = int(words[2]), int(words[3])
                for name in words[4 + inputs:4 + inputs + outputs]:
                    numbers[name] = len(numbers)
    return numbers


def test_float_blobs(tmp_path):
    files = reference()
    pixels = np.frombuffer(next(v for k, v in files.items()
                                if k.endswith("227x227.bin")), dtype=np.uint8).reshape(3, 227, 227)
    (tmp_path / "cat.f32").write_bytes((pixels.astype(np.float32) - MEAN[:, None, None]).tobytes())
    param, weights = os.path.join(DATA, "squeezenet_v1.1.param"), os.path.join(DATA, "squeezenet_v1.1.bin")
    done = subprocess.run([PROGRAM, "--layers", "--net", param, "--bin", weights, "--input", tmp_path / "cat.f32",
                           "--dump", tmp_path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    numbers = blob_numbers(param)
    rows = [line.split("\t")
            for line in io.StringIO(files["manifest_float.tsv"].decode()).read().strip().split("\n")[1:]]
    compared = 0
    absmax = 0
    for row in rows:
        blob, largest, name = row[3], float(row[9]), row[10]
        got = np.fromfile(tmp_path / ("%d.f32" % numbers[blob]), dtype="<f4")
        assert got.size == int(row[6]) * int(row[7]) * int(row[8])
        assert abs(np.abs(got).max() - largest) <= 1e-4 * largest, (row[2], np.abs(got).max(), largest)
        absmax += 1
        if name in files:
            expected = np.frombuffer(files[name], dtype="<f4")
            worst = np.abs(got - expected).max()
            assert worst <= 1e-4 * np.abs(expected).max(), (row[2], worst)
            compared += 1
    assert compared >= 6 and absmax >= 40
    top = np.argsort(-np.fromfile(tmp_path / ("%d.f32" % numbers["prob"]), dtype="<f4"), kind="stable")[:5]
    assert list(top) == [281, 282, 278, 285, 151]
