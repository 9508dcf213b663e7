"""tandem-net run and survey from outside: any network on a device, its report, the same outputs everywhere, one clear
line for bad input."""
import json
import os
import re
import subprocess
import tarfile

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.environ.get("BUILD", "build")
PROGRAM = os.path.join(ROOT, os.environ.get("HOST", os.path.join(BUILD, "host")), "tandem-net-model")
RTL = os.path.join(ROOT, BUILD, "n4-fast", "tandem-net")
DATA = os.environ.get("TANDEM_DATA", os.path.join(ROOT, "..", "shared", "data"))
RANDOM = os.path.join(os.path.dirname(PROGRAM), "support", "net-random")
MIXED = os.path.join("models", "mixed", "mixed.param")
pytestmark = pytest.mark.skipif(not os.access(PROGRAM, os.X_OK), reason="not run: tandem-net-model is not built")


def run(*args, program=PROGRAM, timeout=300):
    return subprocess.run([program, *args], cwd=ROOT, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=timeout)


def report(*args, program=PROGRAM):
    done = run("run", "--json", "-", *args, program=program)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def one_line(done, status, part):
    lines = done.stderr.strip().split("\n")
    assert done.returncode == status, done.stderr
    assert len(lines) == 1 and lines[0].startswith("tandem-net: ") and part in lines[0], done.stderr


@pytest.mark.parametrize("args, part", [
    (["run"], "run: --net is needed"),
    (["run", "--net"], "--net: expected a value"),
    (["run", "--nonsense", "1", "--net", MIXED], "unknown option --nonsense"),
    (["run", "--net", "no.param"], "no.param: cannot open"),
    (["run", "--net", MIXED, "--bin", "no.bin"], "no.bin: cannot open"),
    (["run", "--net", MIXED, "--input", "no.f32"], "no.f32: No such file"),
    (["run", "--net", MIXED, "--input", "README.md"],
     "README.md: expected exactly one float for each element of the inputs"),
    (["run", "--net", MIXED, "--input", "README.md", "--image", "README.md"],
     "--input and --image cannot be given together"),
    (["run", "--net", MIXED, "--image", "no.png"], "no.png: cannot open"),
    (["run", "--net", MIXED, "--table", "no.table"], "no.table: cannot open"),
    (["run", "--net", MIXED, "--names", "no.txt"], "no.txt: cannot read"),
    (["run", "--net", MIXED, "--order", "xyz"], "--order: expected bgr, rgb or gray, got 'xyz'"),
    (["run", "--net", MIXED, "--mean", "1,2"], "--mean: expected one number or three, got '1,2'"),
    (["run", "--net", MIXED, "--top", "0"], "--top: expected a number 1..1000000, got '0'"),
    (["run", "--net", MIXED, "--device", "fpga"], "--device: expected model, rtl or tandem, got 'fpga'"),
    (["run", "--net", MIXED, "--device", "rtl"], "this program was built without RTL"),
    (["run", "--net", MIXED, "--cfg", "n7"], "--cfg: expected"),
    (["run", "--net", MIXED, "--shape", "0x1x1"], "--shape: expected"),
    (["run", "--net", MIXED, "--seed", "x"], "--seed: expected"),
    (["survey"], "survey: no files"),
    (["survey", "--most", "x", MIXED], "--most: expected"),
    (["survey", "--cfg"], "--cfg: expected a value"),
])
def test_bad_input(args, part):
    one_line(run(*args), 2, part)


def test_unwritable(tmp_path):
    for option in ("--json", "--output", "--result"):
        done = run("run", "--net", MIXED, option, str(tmp_path / "no" / "file"))
        assert done.returncode == 1 and "file" in done.stderr.strip(), done.stderr
    assert list(tmp_path.iterdir()) == []


def test_report():
    """The text and JSON say the same; what ran on the CPU has a reason, and MACs add up."""
    found = report("--net", MIXED)
    text = run("run", "--net", MIXED).stdout
    by_place = {}
    for layer in found["layers"]:
        by_place.setdefault(layer["where"], []).append(layer)
    assert {layer["type"]: layer["reason"] for layer in by_place["CPU"]} == {
        "Deconvolution": "the NPU has no Deconvolution"}
    assert all("reason" not in layer for where in ("NPU", "fused", "-") for layer in by_place[where])
    assert sorted(layer["name"] for layer in by_place["fused"]) == ["hard", "relu", "swish"]
    assert {layer["type"] for layer in by_place["-"]} == {"Input", "Split", "Concat", "Flatten"}
    assert found["macs_npu"] == sum(layer["macs"] for layer in by_place["NPU"]) == 243360
    assert found["macs_cpu"] == sum(layer["macs"] for layer in by_place["CPU"]) == 960
    assert found["device_arena"] < found["device_blobs"]
    assert "MACs       244320: NPU 243360 (99.61 %), CPU 960" in text
    assert "layers     26 on the NPU, 1 on the CPU, 8 need no work" in text
    assert "hash " + found["outputs"][0]["hash"] in text


def test_same_everywhere():
    """The mesh size changes no output, the seed does; a float network runs on the CPU."""
    hashes = [report("--net", MIXED, "--cfg", cfg)["outputs"] for cfg in ("n4", "n8", "n16", "n32")]
    assert hashes[0] == hashes[1] == hashes[2] == hashes[3]
    assert report("--net", MIXED, "--seed", "2")["outputs"] != hashes[0]
    floats = report("--net", MIXED, "--float")
    assert floats["macs_npu"] == 0
    assert {layer["reason"] for layer in floats["layers"] if layer["type"] == "Convolution"} == {"not quantised"}


def test_int8_is_near_float(tmp_path):
    outputs = []
    for name, more in (("int8", []), ("float", ["--float"])):
        path = tmp_path / name
        assert run("run", "--net", MIXED, "--output", str(path), *more).returncode == 0
        outputs.append(memoryview(path.read_bytes()).cast("f").tolist())
    assert len(outputs[0]) == len(outputs[1]) == 10
    assert abs(sum(outputs[0]) - 1) < 1e-5 and max(abs(a - b) for a, b in zip(*outputs)) < 0.02
    assert outputs[0] != outputs[1]


@pytest.mark.skipif(not os.access(RTL, os.X_OK), reason="not run: needs build/n4-fast/tandem-net (make regress)")
def test_on_rtl(tmp_path):
    """The same outputs on model, RTL and both in tandem; a runner's result; cycles for what the NPU does and for
    nothing else."""
    model = report("--net", MIXED, "--cfg", "n4")
    result = tmp_path / "result"
    for device in ("rtl", "tandem"):
        found = report("--net", MIXED, "--device", device, "--result", str(result), program=RTL)
        assert found["outputs"] == model["outputs"]
        assert all((layer["cycles"] > 0) == (layer["where"] == "NPU") for layer in found["layers"])
        assert found["cycles"] >= sum(layer["cycles"] for layer in found["layers"]) > 10000
        pairs = dict(line.split("=", 1) for line in result.read_text().splitlines())
        assert pairs["outcome"] == "pass" and int(pairs["cycles"]) >= found["cycles"]


@pytest.mark.skipif(not os.access(RTL, os.X_OK), reason="not run: needs build/n4-fast/tandem-net (make regress)")
def test_stalls():
    """Counters of each layer; on a slow bus units wait longer for input."""
    waits = []
    for bus in ("ideal", "hostile"):
        layers = [layer for layer in report("--net", MIXED, "--stalls", "--bus", bus, program=RTL)["layers"]]
        npu = [layer for layer in layers if layer["where"] == "NPU"]
        assert all(0 < layer["mesh"] < layer["cycles"] for layer in npu if layer["macs"] > 0)
        assert all(layer["mesh"] == 0 for layer in npu if layer["macs"] == 0)
        assert all(layer["mesh"] == layer["wait_input"] == 0 for layer in layers if layer["where"] != "NPU")
        waits.append(sum(layer["wait_input"] for layer in npu))
    assert 0 < waits[0] < waits[1]
    assert "mesh at work" in run("run", "--net", MIXED, "--stalls", program=RTL).stdout
    assert "wait_input" not in json.dumps(report("--net", MIXED, program=RTL))


@pytest.mark.skipif(not os.access(RTL, os.X_OK), reason="not run: needs build/n4-fast/tandem-net (make regress)")
@pytest.mark.skipif(not os.access(RANDOM, os.X_OK), reason="not run: net-random is not built")
def test_random_on_rtl(tmp_path):
    """Random networks of every kind of layer (tests/net_random.c) in tandem on the RTL: both devices agree, and the
    outputs are those of the model."""
    param = tmp_path / "random.param"
    places = set()
    for seed in range(1, 1001 if os.environ.get("TANDEM_CHECK") else 61):
        param.write_text(run(str(seed), str(4 + seed % 24), program=RANDOM).stdout)
        args = ["--net", str(param), "--seed", str(seed)] + (["--float"] if seed % 11 == 0 else [])
        found = report(*args, "--device", "tandem", "--bus", ["ideal", "hostile"][seed % 2], program=RTL)
        assert found["outputs"] == report(*args, "--cfg", "n4")["outputs"], seed
        places |= {(layer["type"], layer["where"]) for layer in found["layers"]}
    for type_name in ("Convolution", "ConvolutionDepthWise", "InnerProduct",
                      "Pooling", "BinaryOp", "Eltwise", "PReLU", "Scale", "Slice", "Crop", "ShuffleChannel"):
        assert (type_name, "NPU") in places


def parts(*args, program=PROGRAM, status=0):
    done = run("run", "--net", MIXED, *args, program=program)
    assert done.returncode == status, done.stderr + done.stdout
    lines = done.stdout.splitlines()
    assert lines[0].split()[:3] == ["layers", "type", "name"] and lines[-1].startswith("total ")
    return [line for line in lines[1:-1] if line.split()[0] not in ("sum", "time")]


def test_each_layer(tmp_path):
    whole = [layer for layer in report("--net", MIXED)["layers"] if layer["where"] == "NPU"]
    lines = parts("--each", "--jobs", "3")
    assert ([line.split()[2] for line in lines] == [layer["name"] for layer in whole] and
            all(line.endswith("  same") for line in lines))
    (only,) = parts("--only", "3-8")
    assert only.split()[0] == "3-8" and only.endswith("  same")
    one_line(run("run", "--net", MIXED, "--only", "99"), 2, "expected a layer of 0..")
    one_line(run("run", "--net", MIXED, "--only", "5-3"), 2, "'5-3'")
    one_line(run("run", "--net", MIXED, "--only", "3", "--each"), 2, "cannot be given together")
    one_line(run("run", "--net", MIXED, "--jobs", "3"), 2, "--jobs needs --each")
    one_line(run("run", "--net", MIXED, "--each", "--dump", "x"), 2, "take no --output")


@pytest.mark.skipif(not os.access(RTL, os.X_OK), reason="not run: the N = 4 tandem-net is not built")
def test_each_layer_on_rtl(tmp_path):
    """Layers alone take about the cycles that they take in a row, and a second run is the same."""
    result = tmp_path / "result"
    lines = parts("--each", "--bus", "typical", "--result", str(result), program=RTL)
    assert all(line.endswith("  same") for line in lines) and len(lines) > 15
    first = result.read_text()
    assert "outcome=pass" in first
    parts("--each", "--jobs", "1", "--bus", "typical", "--result", str(result), program=RTL)
    assert result.read_text() == first, "neither the number of processes nor their order reaches a result"
    done = run("run", "--net", MIXED, "--each", "--wave", str(tmp_path / "x.fst"), program=RTL)
    one_line(done, 2, "--wave needs --only")


@pytest.mark.skipif(not os.access(RTL, os.X_OK), reason="not run: the N = 4 tandem-net is not built")
def test_performance_report(tmp_path):
    """JSON and page of layers by themselves: counters that fit the cycles, predictions, nothing from elsewhere in the
    page."""
    page = tmp_path / "page.html"
    data = tmp_path / "data.json"
    parts("--each", "--device", "rtl", "--stalls", "--published", "2.5",
          "--json", str(data), "--html", str(page), program=RTL)
    found = json.loads(data.read_text())
    assert found["published_ms"] == 2.5 and found["cycles"] == sum(layer["cycles"] for layer in found["layers"])
    for layer in found["layers"]:
        busy = layer["gemm"]["busy"] + layer["alu"]["busy"] + layer["pool"]["busy"]
        assert layer["same"] and 0 < busy <= layer["cycles"] and layer["predicted"] > 0 and layer["bytes_written"] > 0
        if layer["macs"] > 0:
            assert layer["gemm"]["compute"] == layer["mesh_bound"], layer
    text = page.read_text()
    assert text.count("<svg") == 2 and "2.50 ms" in text and "http" not in text and "<script" not in text
    one_line(run("run", "--net", MIXED, "--html", "x"), 2, "--html and --published need --each or --only")
    one_line(run("run", "--net", MIXED, "--each", "--html", str(tmp_path / "no" / "x.html")), 1, "cannot write")


@pytest.mark.skipif(not os.access(RTL, os.X_OK), reason="not run: the N = 4 tandem-net is not built")
def test_bad_bus_profile():
    one_line(run("run", "--net", MIXED, "--bus", "no-such-profile", program=RTL), 1, "no-such-profile")


def test_survey(tmp_path):
    text = open(os.path.join(ROOT, MIXED)).read()
    odd = tmp_path / "odd.param"
    odd.write_text(text.replace("Softmax ", "Diag    "))
    open_input = tmp_path / "open.param"
    open_input.write_text(text.replace("0=24 1=24 2=3", ""))
    done = run("survey", MIXED, str(odd), str(open_input) + "@24x24x3", "--most", "1")
    assert done.returncode == 0, done.stderr
    rows = [line for line in done.stdout.split("\n") if line.startswith("| ")][2:]
    assert rows[0].startswith("| mixed.param | 24x24x3 | yes | 0.2 | 99.61 | 0.0 of 0.1 | 1 Deconvolution |")
    assert (rows[1] ==
            "| odd.param | | not: odd.param:40: layer 'prob' of type 'Diag' is not supported (loads) | | | | | |")
    assert rows[2].startswith("| open.param | 24x24x3 | yes | 0.2 | 99.61 |")
    assert "2 of 3 run end to end." in done.stdout


@pytest.mark.skipif(not os.path.isdir(os.path.join(DATA, "param")), reason="skipped: no data")
def test_page():
    """docs/networks.md against a fresh survey: a few small files, all of them by make check."""
    page = {}
    for line in open(os.path.join(ROOT, "docs", "networks.md"), encoding="utf-8"):
        match = re.match(r"\| (\S+\.param) \| (\S*) \|", line)
        if match:
            page.setdefault(match.group(1), line)  # the public files come first; ours have some of their names
    files = sorted(name for name in os.listdir(os.path.join(DATA, "param")) if name.endswith(".param"))
    assert len(files) >= 40 and set(files) <= set(page)
    assert sum(" | yes | " in page[name] for name in files) >= 30
    if not os.environ.get("TANDEM_CHECK") or "-san" in PROGRAM:  # with sanitizers all of them take too long
        files = ["blazeface.param", "squeezenet_int8.param", "yolo-fastest-1.1.param"]
    given = ["%s/param/%s@%s" % (DATA, name, page[name].split("|")[2].strip()) for name in files]
    done = run("survey", *given, timeout=3600)
    assert done.returncode == 0, done.stderr
    rows = [line for line in done.stdout.split("\n") if line.startswith("| ")][2:]
    # all columns but the seconds, and those of comparisons with ncnn and of tandem, which a survey does not make
    heads, made = ([cell.strip() for cell in line.strip().strip("|").split("|")] for line in (
        next(line for line in open(os.path.join(ROOT, "docs", "networks.md"), encoding="utf-8") if "| file |" in line),
        next(line for line in done.stdout.split("\n") if "file" in line and line.startswith("| "))))
    kept = [heads.index(head) for head in made if head != "seconds"]
    assert len(kept) == len(made) - 1

    def cells(line, columns):
        row = [cell.strip() for cell in line.strip().strip("|").split("|")]
        return [row[k] for k in columns]

    assert ([cells(row, range(len(kept))) for row in rows] == [cells(page[name], kept) for name in files])


@pytest.mark.parametrize("model, prefix", [("sq-int8", "int8"), ("sq-int8-w127", "int8w127")])
@pytest.mark.skipif(not os.path.exists(os.path.join(DATA, "squeezenet", "cat-reference.tar.xz")),
                    reason="skipped: no data")
def test_squeezenet_int8(tmp_path, model, prefix):
    """ncnn's INT8 SqueezeNets on the runtime, every tensor of the reference: bit for bit up to the average, which is a
    product with a reciprocal here."""
    np = pytest.importorskip("numpy", reason="not run: needs python3-numpy (make deps)")
    folder = os.path.join(DATA, "squeezenet")
    with tarfile.open(os.path.join(folder, "cat-reference.tar.xz")) as archive:
        files = {os.path.basename(m.name): archive.extractfile(m).read() for m in archive.getmembers() if m.isfile()}
    pixels = np.frombuffer(next(v for k, v in files.items()
                                if k.endswith("227x227.bin")), dtype=np.uint8).reshape(3, 227, 227)
    (tmp_path / "cat.f32").write_bytes(
        (pixels.astype(np.float32) - np.array([104, 117, 123], dtype=np.float32)[:, None, None]).tobytes())
    found = report("--net", os.path.join(folder, model + ".param"), "--bin", os.path.join(folder, model + ".bin"),
                   "--input", str(tmp_path / "cat.f32"), "--dump", str(tmp_path))
    assert found["macs_cpu"] == 0 and found["macs_npu"] > 300e6
    dumped = {path.name[5:-4]: np.frombuffer(path.read_bytes(), dtype=np.float32) for path in tmp_path.glob("*-*.f32")}
    floats = int8 = 0
    for name, data in files.items():
        match = re.match(prefix + r"_\d+_(.+?)(\.f32|\.s8)$", name)
        if not match or name.endswith(".qin.s8") or match.group(1) not in dumped:
            continue
        got = dumped[match.group(1)]
        if match.group(2) == ".s8":  # INT8 blobs come as q / scale: the same up to one factor
            expected = np.frombuffer(data, dtype=np.int8).astype(np.float64)
            at = np.abs(expected).argmax()
            assert got.shape == expected.shape and expected[at] != 0
            assert (np.rint(got / (got[at] / expected[at])) == expected).all(), name
            int8 += 1
            continue
        expected = np.frombuffer(data, dtype=np.float32)
        exact = match.group(1) not in ("pool10", "prob")
        assert got.shape == expected.shape, name
        assert ((got.view(np.uint32) == expected.view(np.uint32)).all()
                if exact else np.abs(got - expected).max() < 1e-5 * max(1, np.abs(expected).max())), name
        floats += 1
    print("%d FP32 and %d INT8 tensors compared" % (floats, int8))
    assert (floats >= 18 if prefix == "int8" else floats >= 2) and int8 >= 8


@pytest.mark.skipif(not os.path.exists(os.path.join(DATA, "squeezenet", "top5.tsv")), reason="skipped: no data")
def test_top5_of_a_picture():
    """The cat through the runtime: ncnn's INT8 files, and the float files with ncnn's table, give ncnn's five
    classes."""
    folder = os.path.join(DATA, "squeezenet")
    rows = [line.rstrip("\n").split("\t") for line in open(os.path.join(folder, "top5.tsv"), encoding="utf-8")]
    wanted = [(row[3], float(row[4]), row[5]) for row in rows if row[0] == "cat.jpg" and row[1] == "int8"]
    picture = ["--image", os.path.join(DATA, "images", "cat.jpg"), "--mean", "104,117,123",
               "--names", os.path.join(folder, "synset_words.txt")]
    for files in (["--net", "sq-int8.param", "--bin", "sq-int8.bin"],
                  ["--net", "squeezenet_v1.1.param", "--bin", "squeezenet_v1.1.bin", "--table", "squeezenet.table"]):
        done = run("run", *[word if word.startswith("--") else os.path.join(folder, word) for word in files], *picture)
        if "stb_image" in done.stderr:
            pytest.skip("not run: this build decodes no pictures")
        assert done.returncode == 0, done.stderr
        found = re.findall(r"^top\d (\d+) ([0-9.]+) (.*)$", done.stdout, re.M)
        assert [(row[0], row[2]) for row in found] == [(row[0], row[2]) for row in wanted]
        assert all(abs(float(a[1]) - b[1]) < 1e-4 for a, b in zip(found, wanted))


@pytest.mark.skipif(not os.access(RTL, os.X_OK), reason="not run: needs build/n4-fast/tandem-net (make regress)")
@pytest.mark.skipif(not os.environ.get("TANDEM_CHECK"),
                    reason="not run: SqueezeNet on the RTL takes a minute (make check)")
@pytest.mark.skipif(not os.path.exists(os.path.join(DATA, "squeezenet", "sq-int8.param")), reason="skipped: no data")
def test_squeezenet_on_rtl():
    """ncnn's INT8 SqueezeNet as a whole in tandem on the RTL."""
    net = [word for end in ("param", "bin")
           for word in ("--net" if end == "param" else "--bin", os.path.join(DATA, "squeezenet", "sq-int8." + end))]
    found = report(*net, "--device", "tandem", program=RTL)
    assert found["outputs"] == report(*net, "--cfg", "n4")["outputs"]
    # at least half of the mesh's 32 multiply-accumulates a cycle
    assert found["macs_cpu"] == 0 and found["cycles"] * 16 < found["macs_npu"]
