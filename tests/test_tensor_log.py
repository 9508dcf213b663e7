"""--dump and tandem diff from outside: NumPy reads every file, the inner values of the golden model are what NumPy
computes from its inputs, folders repeat byte for byte; on the RTL, where a build with taps is there, both sides are
equal and a bug shows first in the stream of its unit."""
import filecmp
import os
import re
import resource
import subprocess
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / os.environ.get("BUILD", "build")
PROGRAM = ROOT / os.environ.get("HOST", os.path.join(os.environ.get("BUILD", "build"), "host")) / "tandem-model"
RTL = [p for p in (BUILD / f"{n}-tap" / "tandem" for n in ("n4", "n8")) if os.access(p, os.X_OK)][:1]
pytestmark = pytest.mark.skipif(not os.access(PROGRAM, os.X_OK), reason="not run: tandem-model is not built")
needs_rtl = pytest.mark.skipif(not RTL, reason="not run: no build with taps (make CFG=n4 KIND=tap build/n4-tap/tandem)")
DTYPES = {"|i1", "|u1", "<i4", "<u4", "<f4", "<u8"}


def tandem(*args, program=PROGRAM, **kwargs):
    return subprocess.run([str(program), *map(str, args)], capture_output=True, text=True, timeout=120, **kwargs)


def dump(folder, *args, **kwargs):
    done = tandem(*args, "--dump", folder, "--quiet", **kwargs)
    assert done.returncode == 0 and done.stdout == "" and done.stderr == "", done.stdout + done.stderr


def read(folder):
    """{(stream, task): array} in the order of the index; every file is in it."""
    tensors = {}
    files = {"index.txt"}
    for line in (folder / "index.txt").read_text().splitlines():
        entry = dict(word.split("=", 1) for word in line.split(" "))
        assert list(entry) == ["stream", "task", "unit", "file", "kind", "axes"]
        data = np.load(folder / entry["file"], allow_pickle=False)
        assert data.dtype.str in DTYPES and data.flags.c_contiguous
        assert data.ndim == len(entry["axes"].split(","))
        task = None if entry["task"] == "-" else int(entry["task"])
        assert (entry["stream"], task) not in tensors
        tensors[entry["stream"], task] = data
        files.add(entry["file"])
    assert {f.name for f in folder.iterdir()} == files
    return tensors


def same_bytes(a, b):
    names = sorted(p.relative_to(a) for p in a.rglob("*"))
    assert names == sorted(p.relative_to(b) for p in b.rglob("*"))
    for name in names:
        assert (a / name).is_dir() or filecmp.cmp(a / name, b / name, shallow=False), name
    return len(names)


CONV = ["run", "conv", "ic=5", "oc=11", "ih=7", "iw=9", "k=3", "s=1", "d=1",
        "p=1", "groups=1", "data=uniform", "wdata=uniform", "in_scale=calib", "out_scale=calib", "wscale=plain"]


def conv_sums(ifm, wgt):
    oc, ic, kh, kw = wgt.shape
    padded = np.pad(ifm.astype(np.int32), ((0, 0), (1, 1), (1, 1)))
    sums = np.zeros((oc,) + ifm.shape[1:], np.int32)
    for y in range(kh):
        for x in range(kw):
            window = padded[:, y:y + ifm.shape[1], x:x + ifm.shape[2]]
            sums += np.einsum("oi,ihw->ohw", wgt[:, :, y, x].astype(np.int32), window)
    return sums


@pytest.mark.parametrize("layout", ["fp32", "int8"])
def test_values_of_a_convolution(tmp_path, layout):
    dump(tmp_path / "d", *CONV, "act=relu", "bias=1", "out_layout=" + layout, "in_layout=" + layout)
    t = read(tmp_path / "d" / "model")
    names = [name for name, _ in t]
    assert (names == ["gemm.in", "gemm.wgt", "gemm.oscale", "gemm.bias", "gemm.ifm", "gemm.sum", "gemm.post"] +
            ["gemm.requant"] * (layout == "int8") + ["gemm.out"])
    assert {task for _, task in t} == {0}
    t = {name: data for (name, _), data in t.items()}
    assert (t["gemm.in"].shape == (5, 7, 9) and t["gemm.wgt"].shape == (11, 5, 3, 3) and
            t["gemm.out"].shape == (11, 7, 9))
    assert (t["gemm.in"].dtype == (np.float32 if layout == "fp32" else np.int8) and
            t["gemm.out"].dtype == t["gemm.in"].dtype)
    np.testing.assert_array_equal(t["gemm.sum"], conv_sums(t["gemm.ifm"], t["gemm.wgt"]))
    if layout == "int8":
        np.testing.assert_array_equal(t["gemm.ifm"], t["gemm.in"])
        np.testing.assert_array_equal(t["gemm.out"], t["gemm.requant"])
    else:
        np.testing.assert_array_equal(t["gemm.out"], t["gemm.post"])
    post = t["gemm.sum"].astype(np.float32) * t["gemm.oscale"][:, None, None] + t["gemm.bias"][:, None, None]
    np.testing.assert_array_equal(t["gemm.post"], np.where(post > 0, post, np.float32(0)))


def test_split_over_input_channels(tmp_path):
    """The first task writes its sums, the second adds them: what it adds is what the first one had as its output,
    though both use the same memory."""
    args = [a for a in CONV if a != "ic=5"] + ["ic=24", "max_ic=8", "in_layout=fp32",
                                               "out_layout=fp32", "bias=0", "act=none"]
    dump(tmp_path / "d", *args)
    t = read(tmp_path / "d" / "model")
    assert ("gemm.psum", 0) not in t
    for task in (1, 2):
        np.testing.assert_array_equal(t["gemm.psum", task], t["gemm.out", task - 1])
    np.testing.assert_array_equal(t["gemm.out", 1], t["gemm.sum", 0] + t["gemm.sum", 1])
    total = sum(t["gemm.sum", task] for task in range(3))
    np.testing.assert_array_equal(t["gemm.post", 2], total.astype(np.float32) * t["gemm.oscale", 2][:, None, None])


def test_pool_and_alu(tmp_path):
    dump(tmp_path / "p", "run", "pool", "type=max", "int8=0", "c=3", "h=6", "w=8", "k=2", "s=2", "p=0", "global=0")
    t = read(tmp_path / "p" / "model")
    x = t["pool.in", 0]
    np.testing.assert_array_equal(t["pool.out", 0], t["pool.result", 0])
    np.testing.assert_array_equal(t["pool.out", 0], x.reshape(x.shape[0], 3, 2, 4, 2).max(axis=(2, 4)))
    dump(tmp_path / "a", "test", "eltwise", "--seed", 4, "op=add", "act=relu")
    t = read(tmp_path / "a" / "model")
    a, value, result = t["alu.a", 0], t["alu.value", 0], t["alu.result", 0]
    assert a.ndim == 3 and a.shape == value.shape == result.shape
    with np.errstate(all="ignore"):
        expected = a + t["alu.b", 0] if ("alu.b", 0) in t else None
    if expected is not None:
        keep = ~np.isnan(expected)
        np.testing.assert_array_equal(value[keep], expected[keep])
    np.testing.assert_array_equal(result, np.where(value > 0, value, np.float32(0)))
    np.testing.assert_array_equal(t["alu.out", 0].view(np.uint32), result.view(np.uint32))


@pytest.mark.parametrize("test", ["conv", "sequence", "pool", "reduce"])
def test_runs_repeat_byte_for_byte(tmp_path, test):
    for name in ("a", "b"):
        dump(tmp_path / name, "test", test, "--index", 3)
    assert same_bytes(tmp_path / "a", tmp_path / "b") > 3
    read(tmp_path / "a" / "model")
    done = tandem("diff", tmp_path / "a", tmp_path / "b")
    assert done.returncode == 0 and done.stderr == ""
    assert done.stdout.startswith("equal: ") and len(done.stdout.splitlines()) == 1


def test_a_dump_changes_nothing(tmp_path):
    plain = tandem("test", "sequence", "--index", 2)
    logged = tandem("test", "sequence", "--index", 2, "--dump", tmp_path / "d")
    assert plain.returncode == 0 and plain.stdout == logged.stdout and logged.stderr == ""


def test_first_difference(tmp_path):
    for name in ("a", "b"):
        dump(tmp_path / name, *CONV)
    file = tmp_path / "b" / "model" / "gemm.sum.0.npy"
    sums = np.load(file)
    sums[4, 5, 6] += 3
    sums[9, 0, 0] -= 1
    np.save(file, sums)
    (tmp_path / "b" / "model" / "gemm.bias.0.npy").unlink(missing_ok=True)
    index = tmp_path / "b" / "model" / "index.txt"
    index.write_text("".join(line + "\n" for line in index.read_text().splitlines() if "gemm.bias" not in line))
    old = np.load(tmp_path / "a" / "model" / "gemm.sum.0.npy")[4, 5, 6]
    has_bias = (tmp_path / "a" / "model" / "gemm.bias.0.npy").exists()
    for a, b, side in (("a", "b", "model: "), ("a/model", "b/model", "")):
        done = tandem("diff", tmp_path / a, tmp_path / b)
        lines = done.stdout.splitlines()
        assert done.returncode == 1 and done.stderr == ""
        assert (side + "gemm.bias task 0: only in the first folder" in lines) == has_bias
        assert f"{side}gemm.sum task 0: 2 of 693 differ, first c 4, h 5, w 6: {old}, {old + 3}" in lines
        assert lines[-1].startswith("different: 1 of ")


@pytest.mark.parametrize("args, part", [
    (["diff"], "diff: expected two folders"),
    (["diff", "x"], "diff: expected two folders"),
    (["diff", "x", "y"], "x/index.txt: No such file"),
    (["diff", "x", "y", "z"], "unexpected argument z"),
    (["diff", "x", "y", "--quiet"], "unknown option --quiet"),
    (["test", "conv", "--dump"], "--dump: expected a value"),
    (["test", "conv", "--dump", "d", "--count", "2"], "expected --count 1"),
    (["list", "--dump", "d"], "unknown option --dump"),
])
def test_bad_input(args, part, tmp_path):
    done = tandem(*args, cwd=tmp_path)
    assert done.returncode == 2 and done.stdout == ""
    assert len(done.stderr.splitlines()) == 1 and part in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_folder_must_be_new(tmp_path):
    (tmp_path / "d" / "model").mkdir(parents=True)
    (tmp_path / "d" / "model" / "mine").write_text("x")
    for folder, part in ((tmp_path / "d", "expected a new or an empty folder"),
                         (tmp_path / "d" / "model" / "mine", "Not a directory")):
        done = tandem("test", "conv", "--dump", folder, "--case-dir", tmp_path / "cases")
        assert done.returncode == 2 and done.stdout == ""
        assert len(done.stderr.splitlines()) == 1 and part in done.stderr, done.stderr
    assert [p.name for p in (tmp_path / "d" / "model").iterdir()] == ["mine"]


def test_full_disk(tmp_path):
    done = tandem(*CONV, "--dump", tmp_path / "d", "--case-dir", tmp_path / "cases", "--result", tmp_path / "r",
                  preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024)))
    assert done.returncode == 3
    assert "cannot be written: File too large" in done.stderr
    assert not (tmp_path / "d" / "model" / "index.txt").exists()
    assert not list((tmp_path / "d" / "model").glob(".*"))


def test_damaged_folders(tmp_path):
    dump(tmp_path / "a", *CONV)
    dump(tmp_path / "b", *CONV)
    file = tmp_path / "b" / "model" / "gemm.sum.0.npy"
    whole = file.read_bytes()
    for data, part in ((whole[:-1], "bytes of data"), (b"", "no .npy file"),
                       (whole[:6] + b"\x02" + whole[7:], "version other than 1.0"), (os.urandom(100), "no .npy file")):
        file.write_bytes(data)
        done = tandem("diff", tmp_path / "a", tmp_path / "b")
        assert done.returncode == 2 and len(done.stderr.splitlines()) == 1 and part in done.stderr, done.stderr
    np.save(file, np.zeros((3, 2), ">i4"))
    assert "a type other than" in tandem("diff", tmp_path / "a", tmp_path / "b").stderr
    np.save(file, np.asfortranarray(np.zeros((3, 2), "<i4")))
    assert "other than C's" in tandem("diff", tmp_path / "a", tmp_path / "b").stderr


@needs_rtl
@pytest.mark.parametrize("test",
                         ["conv", "dw", "int8_chain", "convert", "sequence", "jobs", "pool", "reduce", "rows",
                          "eltwise"])
def test_sides_are_equal(tmp_path, test):
    """Each inner value of the RTL at its place, whatever the bus does."""
    text = tandem("test", test, "--index", 3, "--print-case", program=RTL[0]).stdout
    for bus in ("ideal", "hostile"):
        case = tmp_path / (bus + ".case")
        case.write_text(re.sub(r"^bus=.*$", "bus=" + bus, text, flags=re.M))
        dump(tmp_path / bus, "repro", case, program=RTL[0])
        for side in ("rtl", "model", "streams"):
            read(tmp_path / bus / side)
        done = tandem("diff", tmp_path / bus / "rtl", tmp_path / bus / "model")
        assert done.returncode == 0, done.stdout + done.stderr
    same_bytes(tmp_path / "ideal" / "rtl", tmp_path / "hostile" / "rtl")
    same_bytes(tmp_path / "ideal" / "model", tmp_path / "hostile" / "model")
    dump(tmp_path / "again", "repro", tmp_path / "hostile.case", program=RTL[0])
    same_bytes(tmp_path / "hostile", tmp_path / "again")


@needs_rtl
def test_a_dump_leaves_the_rtl_alone(tmp_path):
    plain = tandem("test", "sequence", "--index", 2, program=RTL[0])
    logged = tandem("test", "sequence", "--index", 2, "--dump", tmp_path / "d", program=RTL[0])
    assert plain.returncode == 0 and plain.stdout == logged.stdout
