"""Layers of two-stage and MXNet detectors against NumPy, each written again from ncnn's source; and every detection
layer against ncnn itself where its package is (TANDEM_NCNN_SITE: tools/ncnn_layers.py)."""
import os
import subprocess
import sys

import pytest

np = pytest.importorskip("numpy", reason="not run: needs python3-numpy (make deps)")

from test_net_ops import NEAR, PROGRAM, ROOT, Layer, as_rows, prior_boxes, same, softmax, suppress  # noqa: E402

pytestmark = pytest.mark.skipif(not os.access(PROGRAM, os.X_OK), reason="not run: tandem-net-model is not built")
SITE = os.environ.get("TANDEM_NCNN_SITE")


@pytest.fixture(name="layer")
def fixture_layer(tmp_path):
    return Layer(tmp_path)


def test_detection_output_mxnet(layer):
    """Scores class by class, a row for each box, variances as settings."""
    count, classes = 40, 5
    corner = layer.rng.uniform(0.0, 0.6, (count, 2))
    anchor = np.concatenate([corner, corner + layer.rng.uniform(0.2, 0.4, (count, 2))], 1).astype(np.float32)
    offset, score = layer.input(count, 4), softmax(layer.input(count, classes, scale=2.0), 1).astype(np.float32)
    got = layer.run("DetectionOutput", [offset.reshape(-1), score.T.copy(), anchor],
                    "0=-233 1=0.45 2=30 3=20 4=0.2 5=0.3 6=0.15 7=0.1 8=0.25")
    size, centre = anchor[:, 2:] - anchor[:, :2], (anchor[:, 2:] + anchor[:, :2]) / 2
    middle = offset[:, :2] * (0.3, 0.15) * size + centre
    side = np.exp(offset[:, 2:].astype(np.float64) * (0.1, 0.25)) * size
    decoded, found = np.concatenate([middle - side / 2, middle + side / 2], 1), []
    for k in range(1, classes):
        mine = sorted(((score[i, k], k) + tuple(decoded[i]) for i in range(count) if score[i, k] > 0.2),
                      key=lambda b: -b[0])
        found += suppress(mine[:30], 0.45)
    expected = as_rows(sorted(found, key=lambda b: -b[0])[:20])
    assert len(expected) > 8
    same(got[:len(expected)], expected, NEAR)
    assert not got[len(expected):].any()


def test_prior_box_mmdetection(layer):
    """Steps of whole pixels; the first middle between the first and the last pixel of a cell."""
    got = layer.run("PriorBox", [layer.input(2, 3, 4), layer.input(3, 61, 101)],
                    "-23300=1,30.0 -23302=1,2.0 9=-233 10=-233 13=0.5 14=1 15=1")
    expected = prior_boxes(3, 4, (61, 101), [30.0], [], [2.0], 1, 0, (21, 26), 0.5).reshape(-1, 4)
    expected -= np.array([0.5 / 101, 0.5 / 61, 0.5 / 101, 0.5 / 61])
    same(got[0], expected.reshape(-1), NEAR)


def test_proposal(layer):
    h, w = 4, 5
    score, offset = layer.rng.random((18, h, w)).astype(np.float32), layer.input(36, h, w, scale=0.3)
    boxes = []
    for q in range(9):
        aspect, scale = (0.5, 1.0, 2.0)[q // 3], (8.0, 16.0, 32.0)[q % 3]
        side = np.round(16 / np.sqrt(aspect))
        aw, ah = side * scale, np.round(side * aspect) * scale
        for i in range(h):
            for j in range(w):
                dx, dy, dw, dh = offset[4 * q:4 * q + 4, i, j].astype(np.float64)
                cx, cy, bw, bh = 8 + 16 * j + aw * dx, 8 + 16 * i + ah * dy, aw * np.exp(dw), ah * np.exp(dh)
                box = np.clip([cx - bw / 2, cy - bh / 2, cx + bw / 2, cy + bh / 2], 0, [89, 69, 89, 69])
                if min(box[2] - box[0], box[3] - box[1]) + 1 >= 20 * 1.5:
                    boxes.append((score[9 + q, i, j], 0) + tuple(box))
    boxes = sorted(boxes, key=lambda b: -b[0])
    assert len(boxes) > 110
    kept = suppress(boxes[:100], 0.5)[:8]
    got, scores = layer.run("Proposal", [score, offset, np.array([70, 90, 1.5], np.float32)], "2=100 3=8 4=0.5 5=20",
                            outputs=2)
    assert got.shape == (8, 1, 4) and scores.shape == (8, 1, 1)
    same(got[:len(kept), 0], np.array(kept)[:, 2:], NEAR)
    same(scores[:len(kept), 0, 0], np.array(kept)[:, 0], 0.0)
    assert 3 < len(kept) and not got[len(kept):].any()


def parts(first, size, count, limit):
    return [(int(np.clip(np.floor(first + i * size / count), 0, limit)),
             int(np.clip(np.ceil(first + (i + 1) * size / count), 0, limit))) for i in range(count)]


def test_roi_pooling(layer):
    x, box = layer.input(3, 9, 11), np.array([8.4, 4.0, 37.0, 61.0], np.float32)
    x0, y0, x1, y1 = np.round(box * 0.25)
    expected = [[[x[c, a:b, d:e].max() if b > a and e > d else 0 for d, e in parts(x0, x1 - x0 + 1, 3, 11)]
                 for a, b in parts(y0, y1 - y0 + 1, 5, 9)] for c in range(3)]
    same(layer.run("ROIPooling", [x, box], "0=3 1=5 2=0.25"), expected, 0.0)
    assert np.array(expected)[:, -1].any() == 0  # the region ends below the map


def test_psroi_pooling(layer):
    x, box = layer.input(2 * 3 * 4, 9, 11), np.array([8.4, 4.0, 37.0, 27.7], np.float32)
    x0, y0 = np.round(box[:2]) * 0.25
    x1, y1 = np.round(box[2:] + 1) * 0.25
    expected = np.zeros((2, 4, 3))
    for c, i, j in np.ndindex(2, 4, 3):
        (a, b), (d, e) = parts(y0, y1 - y0, 4, 9)[i], parts(x0, x1 - x0, 3, 11)[j]
        expected[c, i, j] = x[(c * 4 + i) * 3 + j, a:b, d:e].mean()
    same(layer.run("PSROIPooling", [x, box], "0=3 1=4 2=0.25 3=2"), expected, NEAR)


@pytest.mark.parametrize("version, aligned, ratio", [(0, 0, 0), (0, 0, 2), (1, 0, 0), (1, 1, 2), (1, 1, 0)])
def test_roi_align(layer, version, aligned, ratio):
    """In the second version samples up to one element outside of the map count as those of its border."""
    x = layer.input(2, 9, 11)
    box = np.array([1.5, 2.0, 33.0, 30.0] if version == 0 else [-6.0, 2.0, 47.0, 30.0], np.float32)
    first, last = box[:2] * 0.25 - 0.5 * aligned, box[2:] * 0.25 - 0.5 * aligned
    size = np.maximum(last - first, 0 if aligned else 1)

    def value(c, px, py):
        if version == 1 and (py < -1 or py > 9 or px < -1 or px > 11):
            return 0.0
        px, py = min(max(px, 0), 10), min(max(py, 0), 8)
        ix, iy = min(int(px), 9), min(int(py), 7)
        fx, fy = px - ix, py - iy
        return ((x[c, iy, ix] * (1 - fx) + x[c, iy, ix + 1] * fx) * (1 - fy) +
                (x[c, iy + 1, ix] * (1 - fx) + x[c, iy + 1, ix + 1] * fx) * fy)

    expected = np.zeros((2, 4, 3))
    for c, i, j in np.ndindex(2, 4, 3):
        part = size / (3, 4)
        n = [ratio or int(np.ceil(part[0])), ratio or int(np.ceil(part[1]))]
        expected[c, i, j] = np.mean([value(c, first[0] + (j + (a + 0.5) / n[0]) * part[0],
                                           first[1] + (i + (b + 0.5) / n[1]) * part[1])
                                     for a in range(n[0]) for b in range(n[1])])
    same(layer.run("ROIAlign", [x, box], "0=3 1=4 2=0.25 3=%d 4=%d 5=%d" % (ratio, aligned, version)), expected, 1e-5)


def test_regions_refuse(layer):
    x, box = layer.input(8, 5, 5), layer.input(4)
    layer.run("ROIPooling", [x, box], "0=0 1=2", fails="columns of the output (key 0) is 0")
    layer.run("PSROIPooling", [x, box], "0=2 1=2 3=3", fails="8 channels, 3 outputs of 2x2 parts need 12")
    layer.run("ROIAlign", [x, layer.input(3)], "0=2 1=2", fails="a region of 3 numbers")
    layer.run("ROIAlign", [x, box], "0=2 1=2 5=2", fails="version (key 5) is 2")
    layer.run("Proposal", [x, layer.input(36, 5, 5), layer.input(3)], "", fails="expected 18 and 36 channels")


@pytest.fixture(name="squeeze")
def fixture_squeeze(tmp_path, layer):
    """Squeeze and excitation, calibrated and written: two 1x1 convolutions of a vector."""
    layers = ["Input x 0 1 x 0=6 1=5 2=16", "Split s 1 2 x a b", "Pooling pool 1 1 a p 0=1 4=1",
              "Convolution down 1 1 p d 0=8 1=1 5=1 6=128 9=1", "Convolution up 1 1 d u 0=16 1=1 5=1 6=128 9=4",
              "BinaryOp mul 2 1 b u m 0=2", "Convolution last 1 1 m o 0=4 1=3 4=1 5=1 6=576"]
    (tmp_path / "f.param").write_text("7767517\n%d 8\n%s\n" % (len(layers), "\n".join(layers)))
    with open(tmp_path / "f.bin", "wb") as f:
        for weights, biases in ((128, 8), (128, 16), (576, 4)):
            f.write(b"\0\0\0\0" + layer.weights(weights).tobytes() + layer.weights(biases).tobytes())
    np.save(tmp_path / "x.npy", np.abs(layer.input(16, 5, 6)))
    done = subprocess.run([PROGRAM, "calibrate", "--net", "f.param", "--bin", "f.bin", "--image", "x.npy", "--optimise",
                           "--method", "minmax", "--table", "f.table", "--out-param", "q.param", "--out-bin", "q.bin"],
                          cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return tmp_path


def int8_run(folder, *files):
    np.load(folder / "x.npy").tofile(folder / "x.f32")
    done = subprocess.run([PROGRAM, "run", *files, "--input", "x.f32", "--output", "o.f32"], cwd=folder,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return np.fromfile(folder / "o.f32", np.float32)


def test_written_for_ncnn(squeeze):
    """ncnn takes a vector before an INT8 Convolution for a map of one row: the file says InnerProduct, without the
    requantised output that ncnn's does not have."""
    lines = [line.split() for line in (squeeze / "q.param").read_text().split("\n")]
    kinds = {line[1]: (line[0], [x for x in line if x.startswith("8=")]) for line in lines if len(line) > 1}
    assert kinds["down"] == ("InnerProduct", ["8=2"]) and kinds["up"] == ("InnerProduct", ["8=2"])
    assert kinds["last"] == ("Convolution", ["8=2"])
    again = int8_run(squeeze, "--net", "q.param", "--bin", "q.bin")
    assert again.any()
    same(again, int8_run(squeeze, "--net", "f.param", "--bin", "f.bin", "--table", "f.table"), 0.0)
    if not SITE:
        pytest.skip("not run in ncnn itself: TANDEM_NCNN_SITE does not name a folder with the package")
    code = """if True:
        import sys
        sys.path.insert(0, sys.argv[1])
        import ncnn, numpy
        net = ncnn.Net()
        net.opt.use_packing_layout = False
        assert net.load_param("q.param") == 0 and net.load_model("q.bin") == 0
        ex = net.create_extractor()
        x = numpy.load("x.npy")
        ex.input("x", ncnn.Mat(x).clone())
        numpy.save("n.npy", numpy.array(ex.extract("o")[1]))
    """
    subprocess.run([sys.executable, "-c", code, SITE], cwd=squeeze, check=True, timeout=60)
    # a sigmoid that the NPU fits lies between the two
    same(np.load(squeeze / "n.npy").reshape(-1), again, 1e-2)


def test_against_ncnn():
    if not SITE:
        pytest.skip("not run: TANDEM_NCNN_SITE does not name a folder with the package ncnn")
    done = subprocess.run([sys.executable, os.path.join(ROOT, "tools", "ncnn_layers.py"), SITE, "--count", "20",
                           "--program", PROGRAM], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          timeout=900)
    assert done.returncode == 0, done.stdout + done.stderr


def test_without_ncnn(tmp_path):
    done = subprocess.run([sys.executable, "-S", "-c",
                           "import runpy, sys; sys.argv[1:] = [%r]; sys.path.append(%r)\n"
                           "sys.modules['ncnn'] = None\nrunpy.run_path(%r, run_name='__main__')"
                           % (str(tmp_path), os.path.dirname(os.path.dirname(np.__file__)),
                              os.path.join(ROOT, "tools", "ncnn_layers.py"))],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60)
    assert done.returncode == 3 and "not run" in done.stdout and done.stderr == "", done.stderr
