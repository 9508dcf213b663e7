"""tandem.Network: the digits network of models/, calibrated, quantised and run; every blob; errors."""

import json
import os
import subprocess
import threading
import warnings

import numpy as np
import pytest
import tandem

F = np.float32
FULL = os.environ.get("TANDEM_CHECK") == "1"


@pytest.fixture
def digits(root):
    folder = os.path.join(root, "models", "digits")
    return [os.path.join(folder, n) for n in ("digits.param", "digits.bin", "heldout.csv", "calibration.csv")]


def images(path, count):
    rows = np.loadtxt(path, delimiter=",", dtype=np.int64, max_rows=count, ndmin=2)
    return (rows[:, :-1] / 16).astype(F), rows[:, -1]


def test_digits(digits):
    param, weights, heldout, calibration = digits
    net = tandem.Network(param, weights)
    x, label = images(heldout, 100 if FULL else 40)
    assert not net.int8 and net.macs > 0 and net.inputs[0][1] == (1, 8, 8) and len(net.outputs) == 1
    name = net.outputs[0][0]
    real = net.reference(x, batch=True)[name]
    assert real.shape[0] == len(x) and (real.reshape(len(x), -1).argmax(axis=1) == label).mean() > 0.9
    table = net.calibrate(images(calibration, 50)[0])
    assert net.layers[1]["name"] + "_param_0" in table
    net.quantise()
    assert net.int8
    net.optimise()
    with tandem.Device("model", 8) as dev:
        got = net.run(dev, x, batch=True)[name]
        one = net.run(dev, x[3].reshape(1, 8, 8), tensors=True)
    assert (got.reshape(len(x), -1).argmax(axis=1) == label).mean() > 0.9
    assert np.array_equal(one[name].ravel(), got[3].ravel())
    blobs = {b for layer in net.layers for b, _ in layer["outputs"]}
    assert set(one) == blobs and all(v.dtype == F for v in one.values())
    places = {w["name"]: w["place"] for w in net.last_run}
    assert list(places) == [layer["name"] for layer in net.layers] and "npu" in places.values()
    with tandem.Device("tandem", 4) as dev:
        rtl = net.run(dev, x[:4 if FULL else 1], batch=True)
        assert np.array_equal(rtl[name], got[:len(rtl[name])]) and sum(w["cycles"] for w in net.last_run) > 0
        assert dev.copy(np.ones((1, 2, 2), F)).sum() == 4  # the device's own driver goes on


def test_save(digits, tmp_path):
    net = tandem.Network(*digits[:2])
    net.quantise(seed=3)
    net.save(tmp_path / "a.param", tmp_path / "a.bin")
    again = tandem.Network(tmp_path / "a.param", tmp_path / "a.bin")
    x = images(digits[2], 3)[0]
    with tandem.Device("model", 8) as dev:
        first, second = net.run(dev, x, batch=True), again.run(dev, x, batch=True)
    assert all(np.array_equal(first[k], second[k]) for k in first)


def test_table_as_text(digits, tmp_path):
    """What calibrate() returns, or a file with it: the same network; the default method is the program's."""
    x = images(digits[3], 20)[0]
    results = []
    for form in ("none", "text", "file"):
        net = tandem.Network(digits[0], digits[1])
        text = net.calibrate(x)
        (tmp_path / "t.table").write_text(text)
        net.quantise(*{"none": [], "text": [text], "file": [tmp_path / "t.table"]}[form])
        assert net.int8
        net.save(tmp_path / "q.param", tmp_path / "q.bin")
        results.append((tmp_path / "q.bin").read_bytes())
    assert results[0] == results[1] == results[2]
    net = tandem.Network(digits[0], digits[1])
    tables = {m: net.calibrate(x, m) for m in ("auto", "kl", "minmax", "mse", "percentile")}
    assert tables["auto"] == text and text in [tables[m] for m in ("kl", "minmax", "mse", "percentile")]
    with pytest.raises(tandem.Error, match="the table:1: scale 0 of 'no' is 'table'"):
        net.quantise("no table\nat all\n")


def test_calibration_is_measured(digits, root, tmp_path):
    """A warning below `least` as from the program, whose defaults, methods and numbers are the same."""
    x, label = images(digits[2], 60)
    net = tandem.Network(*digits[:2])
    assert net.calibration is None
    with pytest.warns(RuntimeWarning, match=r"INT8 network have \d+\.\d\d dB, less than 90\.00 \(least\)") as seen:
        net.calibrate(x, "minmax", least=90)
    assert len(seen) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        net.calibrate(x, "minmax")
        plain = net.calibration
        with pytest.raises(RuntimeWarning):
            net.calibrate(x, "percentile", percent=1)  # below 10 dB
        text = net.calibrate(x, labels=label)
    assert set(plain) == {"method", "output_db", "inputs"} and plain["method"] == "minmax" and plain["inputs"] == 60
    lines = open(digits[2], encoding="ascii").read().splitlines()[:60]
    (tmp_path / "i.csv").write_text("\n".join(lines) + "\n")
    program = os.path.join(root, os.environ.get("HOST", os.path.join(os.environ.get("BUILD", "build"), "host")),
                           "tandem-net-model")
    if not os.access(program, os.X_OK):
        pytest.skip("not run: tandem-net-model is not built")
    done = subprocess.run([program, "calibrate", "--net", digits[0], "--bin", digits[1], "--norm", "0.0625", "--image",
                           tmp_path / "i.csv", "--table", tmp_path / "t.table", "--json"], stdout=subprocess.PIPE,
                          check=True, timeout=100)
    report = json.loads(done.stdout)
    assert {k: report[k] for k in ("method", "inputs", "labels", "right")} == {
        k: net.calibration[k] for k in ("method", "inputs", "labels", "right")}
    assert abs(report["output_db"] - net.calibration["output_db"]) < 1e-6 and report["labels"] == 60
    assert (tmp_path / "t.table").read_text() == text


def test_objects(root):
    """Boxes of models/detector: objects where a method's network finds them make auto take that method."""
    folder = os.path.join(root, "models", "detector")
    files = [os.path.join(folder, "detector." + end) for end in ("param", "bin")]
    rng = np.random.default_rng(1)
    x = np.zeros((6, 96, 96), F)
    for k in range(6):
        for _ in range(3):
            y, z, side = *rng.integers(0, 60, 2), rng.integers(12, 34)
            x[k, y:y + side, z:z + side] = rng.uniform(-1, 1)
    net = tandem.Network(*files)
    assert net.inputs[0][1] == (1, 96, 96)
    out = net.outputs[0][0]
    rows = net.reference(x, batch=True)[out]
    found = [[k, r[0], r[2] * 96, r[3] * 96, (r[4] - r[2]) * 96, (r[5] - r[3]) * 96]
             for k in range(6) for r in rows[k].reshape(-1, 6) if r[0] >= 1]
    objects = np.array(found, F)
    assert len(objects) > 3
    tables = {}
    for method in ("kl", "minmax", "mse", "percentile"):
        tables[method] = (net.calibrate(x, method, objects=objects, least=-100), net.calibration)
        assert tables[method][1]["objects"] == len(objects) and tables[method][1]["method"] == method
    text = net.calibrate(x, objects=objects, least=-100)
    best = max(t[1]["map_50_95"] for t in tables.values())
    assert net.calibration["map_50_95"] >= best - 0.005 and text == tables[net.calibration["method"]][0] and best > 0.5
    aside = objects + np.array([0, 0, 30, 30, 0, 0], F)
    net.calibrate(x, "minmax", objects=aside, least=-100)
    assert net.calibration["map_50_95"] < 0.3
    for kw, error in (({"objects": objects[:, :5].copy()}, ValueError), ({"objects": objects * -1}, ValueError),
                      ({"labels": [1, 2]}, ValueError), ({"labels": ["a"] * 6}, TypeError), ({"labels": 3}, TypeError),
                      ({"head": "yolox"}, ValueError), ({"threshold": 0.5}, ValueError),
                      ({"objects": objects, "head": "no head"}, ValueError),
                      ({"objects": objects, "anchors": "1,2", "threshold": 7}, ValueError),
                      ({"objects": objects, "head": "yolox"}, tandem.Error), ({"least": "x"}, TypeError)):
        with pytest.raises(error):
            net.calibrate(x, "minmax", **kw)
    for column, value in ((0, 0.5), (0, 6), (1, 1.5), (1, 0), (2, np.nan), (3, np.inf), (4, np.inf), (5, 0)):
        wrong = objects.copy()
        wrong[2, column] = value
        with pytest.raises(ValueError, match=r"objects: row 2: expected input \(0..5\), class from 1, x, y, width"):
            net.calibrate(x, "minmax", objects=wrong)
    classifier = tandem.Network(*(os.path.join(root, "models", "digits", "digits." + e) for e in ("param", "bin")))
    with pytest.raises(tandem.Error):
        classifier.calibrate(np.zeros((6, 64), F), objects=objects)



def test_table_of_a_file(digits, tmp_path):
    net = tandem.Network(*digits[:2])
    (tmp_path / "a.table").write_text(net.calibrate(images(digits[3], 20)[0], "minmax"))
    other = tandem.Network(*digits[:2])
    other.quantise(tmp_path / "a.table")
    net.quantise()
    x = images(digits[2], 1)[0][0]
    with tandem.Device("model", 4) as dev:
        a, b = net.run(dev, x), other.run(dev, x)
    assert all(np.array_equal(a[k], b[k]) for k in a)


def test_drawn_weights(root):
    net = tandem.Network(os.path.join(root, "models", "mixed", "mixed.param"), seed=5)
    net.quantise(seed=5)
    x = np.ones(sum(int(np.prod(s)) for _, s in net.inputs), F)
    with tandem.Device("model", 8) as dev:
        out = net.run(dev, x)
    assert set(out) == {n for n, _ in net.outputs} and all(np.isfinite(v).all() for v in out.values())


def test_noop_of_several_inputs(tmp_path):
    """It gives the first one, also where every blob is kept: public files end in such a layer."""
    (tmp_path / "n.param").write_text(
        "7767517\n6 7\nInput in 0 1 in 0=5 1=3 2=2\nSplit s 1 2 in a b\nReLU r 1 1 a ra\nAbsVal v 1 1 b vb\n"
        "Noop n 2 1 ra vb out\nReLU last 1 1 out end\n")
    net = tandem.Network(tmp_path / "n.param", seed=1)
    x = np.linspace(-1, 1, 30, dtype=np.float32).reshape(2, 3, 5)
    with tandem.Device("model", 4) as dev:
        kept, plain = net.run(dev, x, tensors=True), net.run(dev, x)
    for name in ("ra", "out", "end"):
        np.testing.assert_array_equal(kept[name].ravel(), np.maximum(x, 0).ravel())
    np.testing.assert_array_equal(plain["end"].ravel(), np.maximum(x, 0).ravel())


def test_divergence(digits):
    net = tandem.Network(*digits[:2])
    net.quantise(seed=1)
    with tandem.Device("tandem", 4) as dev:
        dev.inject_flip(0, 2)
        with pytest.raises(tandem.Divergence):
            net.run(dev, images(digits[2], 1)[0])
        assert dev.failure


def test_errors(digits, tmp_path):
    param, weights = digits[:2]
    net = tandem.Network(param, weights)
    bad = tmp_path / "bad.param"
    bad.write_bytes(open(param, "rb").read()[:60])
    for args, kw, error in (((tmp_path / "none.param",), {}, tandem.Error), ((bad, weights), {}, tandem.Error),
                            ((param, param), {}, tandem.Error), ((3,), {}, TypeError),
                            ((param,), {"shape": (1, 2)}, ValueError),
                            ((param,), {"shape": 3}, TypeError), ((param,), {"seed": -1}, ValueError)):
        with pytest.raises(error):
            tandem.Network(*args, **kw)
    with tandem.Device("model", 8) as dev:
        for call, error in ((lambda: net.run(dev, np.ones(63, F)), ValueError),
                            (lambda: net.run(dev, np.ones(64)), TypeError),
                            (lambda: net.run(net, np.ones(64, F)), TypeError),
                            (lambda: net.run(dev, np.ones(64, F), batch=True), ValueError),
                            (lambda: net.quantise(), ValueError),
                            (lambda: net.quantise(tmp_path / "none"), tandem.Error),
                            (lambda: net.calibrate(np.ones((2, 64), F), "best"), ValueError),
                            (lambda: net.calibrate(np.ones((0, 64), F)), ValueError),
                            (lambda: net.calibrate(np.ones((2, 64), F), "percentile", percent=101), ValueError),
                            (lambda: net.memory(5), (ValueError, tandem.Error)),
                            (lambda: net.save(tmp_path / "no" / "a", tmp_path / "b"), tandem.Error)):
            with pytest.raises(error):
                call()
        net.run(dev, np.ones(64, F))
    with pytest.raises(ValueError, match="closed"):
        net.run(dev, np.ones(64, F))
    net.quantise(seed=1)
    with pytest.raises(tandem.Error):
        net.reference(np.ones(64, F))


def test_one_call_at_a_time(digits):
    net = tandem.Network(*digits[:2])
    x = images(digits[2], 40)[0]
    results = []

    def work():
        try:
            net.reference(x, batch=True)
            results.append("done")
        except RuntimeError as error:
            results.append(str(error))

    threads = [threading.Thread(target=work) for _ in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert "done" in results and set(results) <= {"done", "network: another call is using it"}


def test_layers_that_stay_float(digits):
    """quantise(keep=...): by name; others than those that become INT8 are refused."""
    param, weights, _, calibration = digits
    net = tandem.Network(param, weights)
    net.calibrate(images(calibration, 20)[0], "minmax")
    first = next(layer["name"] for layer in net.layers if layer["macs"])
    with pytest.raises(ValueError, match="keep: 'no such' is no layer that would become INT8"):
        net.quantise(keep=["no such"])
    net.quantise(keep=[first])
    with tandem.Device("model", 8) as dev:
        net.run(dev, images(calibration, 1)[0][0])
    places = {w["name"]: w["place"] for w in net.last_run}
    assert net.int8 and places[first] == "cpu" and [places[n["name"]] for n in net.layers if n["macs"]].count("npu") > 1
