"""tandem-net detect --head: outputs of known values for each kind of network, decoded again in NumPy (binary64) from
the networks' own examples."""
import os

import pytest

np = pytest.importorskip("numpy", reason="not run: needs python3-numpy (make deps)")

from test_net_detect import (PROGRAM, boxes_of, close, decodes, good, run, sigmoid, solid, thin_out,  # noqa: E402
                             to_pixels, write_network)

pytestmark = [pytest.mark.skipif(not os.access(PROGRAM, os.X_OK), reason="not run: tandem-net-model is not built"),
              pytest.mark.skipif(not decodes(),
                                 reason="not run: tandem-net-model was built without libstb-dev (make deps)")]
W, H, CLASSES = 128, 64, 3


def network(folder, outputs):
    """Outputs with these elements, whatever the input: constants plus 0 times its mean."""
    layers = ["Input data 0 1 x 0=%d 1=%d 2=3" % (W, H), "Pooling p 1 1 x p 0=1 4=1",
              "InnerProduct f 1 1 p f 0=1 1=0 2=3",
              "Split s 1 %d f %s" % (len(outputs), " ".join("f%d" % i for i in range(len(outputs))))]
    arrays = [bytes(4) + np.zeros(3, "<f4").tobytes()]
    for i, y in enumerate(outputs):
        layers += ["MemoryData m%d 0 1 m%d %s" % (i, i, " ".join("%d=%d" % (k, n)
                                                               for k, n in enumerate(reversed(y.shape)))),
                   "BinaryOp a%d 2 1 m%d f%d o%d 0=0" % (i, i, i, i)]
        arrays.append(y.astype("<f4").tobytes())
    return write_network(folder, layers, arrays)


def cells(stride):
    """Column and row of each cell."""
    x, y = np.meshgrid(np.arange(W // stride), np.arange(H // stride))
    return x.reshape(-1), y.reshape(-1)


def rows_of(score, label, x0, y0, x1, y1):
    """As thin_out() takes them; corners in pixels."""
    return np.column_stack([score, np.broadcast_to(label, np.shape(score)), x0 / W, y0 / H, x1 / W, y1 / H])


def expected_distance(z):
    p = np.exp(z - z.max(axis=-1, keepdims=True))
    return (p * np.arange(z.shape[-1])).sum(axis=-1) / p.sum(axis=-1)


def by_distance(stride, score, z):
    """score [cells][classes], z [cells][4][bins]."""
    (x, y), d = cells(stride), expected_distance(z) * stride
    x, y = (x + 0.5) * stride, (y + 0.5) * stride
    return rows_of(score.max(1), score.argmax(1) + 1, x - d[:, 0], y - d[:, 1], x + d[:, 2], y + d[:, 3])


def nanodet(rng):
    outputs, rows = [], []
    for stride in (8, 16, 32):
        n = W * H // stride ** 2
        score, z = rng.random((n, CLASSES)).astype(np.float32), rng.standard_normal((n, 32)).astype(np.float32) * 2
        outputs += [score, z] if stride != 16 else [z, score]
        rows.append(by_distance(stride, score, z.astype(np.float64).reshape(n, 4, 8)))
    return outputs, np.concatenate(rows)


def faces(rng, part):
    """Score maps and box maps of two anchor boxes, and landmarks, which are not read."""
    outputs, levels = [], []
    for stride in (8, 16, 32):
        shape = (H // stride, W // stride)
        maps = [rng.random((2 * part,) + shape), rng.standard_normal((8,) + shape) * 0.5, rng.random((20,) + shape)]
        outputs += [m.astype(np.float32) for m in maps]
        levels.append((stride, outputs[-3].reshape(2 * part, -1),
                       outputs[-2].reshape(2, 4, -1).astype(np.float64)))
    return outputs, levels


def scrfd(rng):
    outputs, levels = faces(rng, 1)
    rows = []
    for stride, score, box in levels:
        x, y = (v * stride for v in cells(stride))
        rows += [rows_of(score[a], 1, x - box[a, 0] * stride, y - box[a, 1] * stride, x + box[a, 2] * stride,
                         y + box[a, 3] * stride) for a in (0, 1)]
    return outputs, np.concatenate(rows)


def retinaface(rng):
    outputs, levels = faces(rng, 2)
    rows = []
    for stride, score, box in levels:
        for a, scale in enumerate({8: (2, 1), 16: (8, 4), 32: (32, 16)}[stride]):
            side = 16 * scale
            x, y = (v * stride + 8 + side * box[a, k] for k, v in enumerate(cells(stride)))
            w, h = side * np.exp(box[a, 2]) / 2, side * np.exp(box[a, 3]) / 2
            rows.append(rows_of(score[2 + a], 1, x - w, y - h, x + w, y + h))
    return outputs, np.concatenate(rows)


def ultraface(rng):
    prior = []
    for stride, sides in ((8, (10, 16, 24)), (16, (32, 48)), (32, (64, 96)), (64, (128, 192, 256))):
        for y, x in np.ndindex(-(-H // stride), -(-W // stride)):
            prior += [((x + 0.5) * stride / W, (y + 0.5) * stride / H, s / W, s / H) for s in sides]
    prior = np.clip(np.array(prior), 0, 1)
    score = rng.random((len(prior), 2)).astype(np.float32)
    offset = rng.standard_normal((len(prior), 4)).astype(np.float32)
    middle = prior[:, :2] + offset[:, :2] * 0.1 * prior[:, 2:]
    size = prior[:, 2:] * np.exp(offset[:, 2:].astype(np.float64) * 0.2) / 2
    return [score, offset], np.column_stack([score[:, 1], np.ones(len(prior)), middle - size, middle + size])


def fastestdet(rng):
    y = rng.standard_normal((5 + CLASSES, H // 16, W // 16)).astype(np.float32)
    y[0], y[5:] = rng.random(y[0].shape), rng.random(y[5:].shape)
    z, (gx, gy) = y.reshape(len(y), -1).astype(np.float64), cells(16)
    score = z[5:].max(0) ** 0.4 * z[0] ** 0.6
    x, y0 = (gx + np.tanh(z[1])) * 16, (gy + np.tanh(z[2])) * 16
    w, h = sigmoid(z[3]) * W / 2, sigmoid(z[4]) * H / 2
    return [y], rows_of(score, z[5:].argmax(0) + 1, x - w, y0 - h, x + w, y0 + h)


def fastestv2(rng):
    anchors = [[12.64, 19.39, 37.88, 51.48, 55.71, 138.31], [126.91, 78.23, 131.57, 214.55, 279.92, 258.87]]
    outputs, rows = [], []
    for stride, sizes in zip((16, 32), anchors):
        y = rng.random((H // stride, W // stride, 15 + CLASSES)).astype(np.float32)
        outputs.append(y)
        z, (gx, gy) = y.reshape(-1, 15 + CLASSES).astype(np.float64), cells(stride)
        own = []
        for a in range(3):
            x, y0 = (z[:, 4 * a] * 2 - 0.5 + gx) * stride, (z[:, 4 * a + 1] * 2 - 0.5 + gy) * stride
            w, h = (2 * z[:, 4 * a + 2]) ** 2 * sizes[2 * a] / 2, (2 * z[:, 4 * a + 3]) ** 2 * sizes[2 * a + 1] / 2
            own.append(rows_of(z[:, 12 + a] * z[:, 15:].max(1), z[:, 15:].argmax(1) + 1, x - w, y0 - h, x + w, y0 + h))
        rows.append(np.concatenate(own))
    return outputs, np.concatenate(rows)


def yolov8(rng):
    n = sum(W * H // s ** 2 for s in (8, 16, 32))
    y = np.concatenate([rng.random((2, n)) * [[W], [H]], rng.random((2, n)) * 60 + 5, rng.random((CLASSES, n))])
    y = y.astype(np.float32)
    z = y.astype(np.float64)
    return [y], rows_of(z[4:].max(0), z[4:].argmax(0) + 1, z[0] - z[2] / 2, z[1] - z[3] / 2, z[0] + z[2] / 2,
                        z[1] + z[3] / 2)


def yolov8_dfl(rng):
    n = sum(W * H // s ** 2 for s in (8, 16, 32))
    y = (rng.standard_normal((n, 64 + CLASSES)) * 2).astype(np.float32)
    z, rows, first = y.astype(np.float64), [], 0
    for stride in (8, 16, 32):
        part = z[first:first + W * H // stride ** 2]
        first += len(part)
        rows.append(by_distance(stride, sigmoid(part[:, 64:]), part[:, :64].reshape(-1, 4, 16)))
    return [y], np.concatenate(rows)


def yolov5_rows(rng):
    n = 3 * sum(W * H // s ** 2 for s in (8, 16, 32))
    y = np.concatenate([rng.random((n, 2)) * [W, H], rng.random((n, 2)) * 60 + 5, rng.random((n, 1)) ** 0.5,
                        rng.random((n, CLASSES)) ** 0.5], 1).astype(np.float32)
    z = y.astype(np.float64)
    low, high = z[:, :2] - z[:, 2:4] / 2, z[:, :2] + z[:, 2:4] / 2
    return [y], rows_of(z[:, 4] * z[:, 5:].max(1), z[:, 5:].argmax(1) + 1, *low.T, *high.T)


def yolox(rng):
    n = sum(W * H // s ** 2 for s in (8, 16, 32))
    y = np.concatenate([rng.standard_normal((n, 4)) * 0.5, rng.random((n, 1 + CLASSES)) ** 0.5], 1).astype(np.float32)
    z, corner, side = y.astype(np.float64), [], []
    for stride in (8, 16, 32):
        corner.append(np.stack(cells(stride), 1))
        side.append(np.full((W * H // stride ** 2, 1), float(stride)))
    corner, side = np.concatenate(corner), np.concatenate(side)
    middle, half = (z[:, :2] + corner) * side, np.exp(z[:, 2:4]) * side / 2
    return [y], rows_of(z[:, 4] * z[:, 5:].max(1), z[:, 5:].argmax(1) + 1, *(middle - half).T, *(middle + half).T)


KINDS = {"nanodet": nanodet, "scrfd": scrfd, "retinaface": retinaface, "ultraface": ultraface,
         "fastestdet": fastestdet, "yolo-fastestv2": fastestv2, "yolov8": yolov8, "yolov8-dfl": yolov8_dfl,
         "yolov5-rows": yolov5_rows, "yolox": yolox}
ALIKE = ({"yolov8", "yolov8-dfl"}, {"yolov8", "yolox"}, {"yolov8-dfl", "yolox"})  # may have the same form


@pytest.mark.parametrize("kind", KINDS)
def test_kind(tmp_path, kind):
    outputs, values = KINDS[kind](np.random.default_rng(5))
    args = ["detect", *network(tmp_path, outputs), "--order", "rgb", "--head", kind, "--json", "--image",
            solid(tmp_path / "p.ppm", width=W, height=H)]
    for threshold, limit in ((0.6, 0.45), (0.8, 0.2)):
        kept = np.concatenate([thin_out(values[(values[:, 1] == k) & (values[:, 0] >= threshold)], limit)
                               for k in range(1, CLASSES + 1)])
        expected = to_pixels(kept[np.argsort(-kept[:, 0], kind="stable")], W, H, W, H, False)
        assert len(expected) > 2, len(expected)
        close(boxes_of(good(*args, "--threshold", threshold, "--overlap", limit))[0], expected)


def test_yolov8_rows(tmp_path):
    """The transposed output has the same boxes, and those of a batch of one, as from ONNX."""
    (y,), _ = yolov8(np.random.default_rng(5))
    text = []
    for i, form in enumerate((y, y.T.copy(), y[None], y.T.copy()[None])):
        (tmp_path / str(i)).mkdir()
        text.append(good("detect", *network(tmp_path / str(i), [form]), "--order", "rgb", "--head", "yolov8", "--image",
                         solid(tmp_path / "p.ppm", width=W, height=H)))
    assert len(set(text)) == 1 and text[0].count("box") > 5


def test_each_kind_refuses_the_others(tmp_path):
    """One line that says what the kind expects; yolov8 and yolov8-dfl have the same form, as have more scores."""
    image = solid(tmp_path / "p.ppm", width=W, height=H)
    for kind, make in KINDS.items():
        net = network(tmp_path, make(np.random.default_rng(5))[0])
        for other in KINDS:
            if other == kind or {kind, other} in ALIKE:
                continue
            done = run("detect", *net, "--order", "rgb", "--head", other, "--image", image)
            assert done.returncode == 2 and done.stderr.count("\n") == 1, (kind, other, done.stderr)
            assert "do not fit %s over an input of 128x64: expected " % other in done.stderr, done.stderr


@pytest.mark.parametrize("args, part", [
    (["--head", "yolov5"], "yolov5: the sizes of its anchor boxes are missing"),
    (["--head", "nanodet", "--anchors", "1,2"], "nanodet has no anchor boxes"),
    (["--head", "yolov99"], "--head: expected yolov5, nanodet, scrfd"),
    (["--head", "yolo-fastestv2", "--anchors", "1"], "anchors '1': expected width,height"),
    ([], "(or --head)"),
])
def test_bad_heads(tmp_path, args, part):
    net = network(tmp_path, [np.zeros((4, 5))])
    done = run("detect", *net, "--order", "rgb", *args, "--image", solid(tmp_path / "p.ppm", width=W, height=H))
    assert done.returncode == 2 and part in done.stderr and done.stderr.count("\n") == 1, done.stderr
