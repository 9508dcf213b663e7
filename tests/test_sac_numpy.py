"""The shift-add engine's driver and golden model against NumPy, whole layers: products and sums as exact integers, each
step as the exact quotient rounded half away from zero, written from docs/sac/sac.md without shifts."""

import ctypes
import fractions
import os
import pathlib
import shutil
import subprocess

import numpy as np
import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent
LAYERS = 1500 if os.environ.get("TANDEM_CHECK") == "1" else 150
BUILDS = ((3, 2, 2, 4096), (4, 8, 8, 25088), (5, 4, 8, 512), (6, 16, 16, 8960), (6, 16, 32, 8960))
FIELDS = ("c h w n kh kw stride pt pl oh ow relu pool win pool_stride pool_pt pool_pl ph pw add post_relu "
          "full").split()


@pytest.fixture(scope="module")
def lib(tmp_path_factory):
    cc = os.environ.get("CC", "gcc")
    if shutil.which(cc) is None:
        pytest.skip(f"not run: needs {cc}")
    folder = tmp_path_factory.mktemp("sac")
    subprocess.run(["/usr/bin/python3", ROOT / "scripts/gen_regs.py", ROOT / "regs/sac.regs", "--out", folder],
                   check=True)
    out = folder / "libsac.so"
    sources = [str(p) for room in ("cmodel", "drivers") for p in sorted((ROOT / room / "sac").glob("*.c"))]
    include = [f"-I{p}" for p in (folder, ROOT / "cmodel/sac", ROOT / "drivers/lib", ROOT / "drivers/sac")]
    warnings = ["-Wall", "-Wextra", "-Werror", "-Wconversion", "-Wshadow"]
    subprocess.run([cc, "-std=c11", "-O2", *warnings, "-fPIC", "-shared", *include,
                    "-o", out, str(ROOT / "tests/sac_flat.c"), *sources], check=True)
    return ctypes.CDLL(str(out))


def nearest(value):
    """A fraction rounded half away from zero, clamped to INT8."""
    size = abs(value) + fractions.Fraction(1, 2)
    whole = size.numerator // size.denominator
    return max(-128, min(127, -whole if value < 0 else whole))


def scaled(value, shift):
    return fractions.Fraction(int(value)) / fractions.Fraction(2) ** int(shift)


def wrapped(v):
    return (v + 2**31) % 2**32 - 2**31


def draw_task(rng):
    t = dict.fromkeys(FIELDS, 0)
    t.update(c=int(rng.integers(1, 20)), n=int(rng.integers(1, 12)), h=int(rng.integers(1, 9)),
             w=int(rng.integers(1, 14)), kw=int(rng.choice((1, 1, 2, 3, 3, 4, 5, 7, 11))),
             stride=int(rng.integers(1, 5)), pt=int(rng.integers(0, 8)), pl=int(rng.integers(0, 8)),
             relu=int(rng.integers(2)), add=int(rng.integers(2)), post_relu=int(rng.integers(2)),
             full=int(rng.choice((0, 0, 1, 2))))
    t["kh"] = t["kw"] if rng.integers(2) else int(rng.integers(1, 6))
    t["h"], t["w"] = max(t["h"], t["kh"] - t["pt"] - 7), max(t["w"], t["kw"] - t["pl"] - 7)
    t["oh"] = int(rng.integers(1, max(2, (t["h"] + t["pt"] + 7 - t["kh"]) // t["stride"] + 2)))
    t["ow"] = int(rng.integers(1, max(2, (t["w"] + t["pl"] + 7 - t["kw"]) // t["stride"] + 2)))
    if rng.integers(2):
        t.update(pool=1, win=int(rng.integers(2, 4)), pool_stride=int(rng.integers(1, 4)), pool_pt=int(rng.integers(2)),
                 pool_pl=int(rng.integers(2)))
        t["ph"] = int(rng.integers(1, (t["oh"] + t["pool_pt"] - 1) // t["pool_stride"] + 2))
        t["pw"] = int(rng.integers(1, (t["ow"] + t["pool_pl"] - 1) // t["pool_stride"] + 2))
    return t


def expected(t, x, codes, d, param, res):
    """[n][rows][columns], element by element."""
    weight = np.where(codes % 8 == 7, 0, np.where(codes >= 8, 1, -1) * 2 ** (codes % 8).astype(np.int64))
    padded = np.zeros((t["c"], t["h"] + 80, t["w"] + 80), np.int64)
    padded[:, 7:7 + t["h"], 7:7 + t["w"]] = x.astype(np.int64) * (2 ** d.astype(np.int64))[:, None, None]
    out = []
    for n in range(t["n"]):
        bias, sh, la, lb, r, g = (int(v) for v in param[n])
        conv = np.zeros((t["oh"], t["ow"]), np.int64)
        for oy in range(t["oh"]):
            for ox in range(t["ow"]):
                top, left = 7 + oy * t["stride"] - t["pt"], 7 + ox * t["stride"] - t["pl"]
                part = padded[:, top:top + t["kh"], left:left + t["kw"]]
                total = wrapped(bias + int((part * weight[n]).sum()))
                conv[oy, ox] = nearest(scaled(total, sh))
        out.append(after(t, np.maximum(conv, 0) if t["relu"] else conv, res[n], (la, lb, r, g)))
    return np.array(out)


def after(t, a, res, scale):
    la, lb, r, g = scale
    if t["pool"]:
        pooled = np.zeros((t["ph"], t["pw"]), np.int64)
        for py in range(t["ph"]):
            for px in range(t["pw"]):
                y, x = py * t["pool_stride"] - t["pool_pt"], px * t["pool_stride"] - t["pool_pl"]
                pooled[py, px] = a[max(y, 0):y + t["win"], max(x, 0):x + t["win"]].max()
        a = pooled
    if t["add"]:
        a = np.array([[nearest(scaled(int(v) * 2**la + int(w) * 2**lb, r)) for v, w in zip(row, other)]
                      for row, other in zip(a, res)])
    a = np.maximum(a, 0) if t["post_relu"] else a
    if t["full"] == 1:
        return np.array([[a.max()]])
    if t["full"] == 2:
        return np.array([[nearest(scaled(int(a.sum()), -g) / a.size)]])
    return a


def pointer(a):
    return np.ascontiguousarray(a).ctypes.data_as(ctypes.c_void_p)


def test_layers(lib):
    rng = np.random.default_rng(1)
    saturated = zero = 0
    for layer in range(LAYERS):
        t, build = draw_task(rng), BUILDS[layer % len(BUILDS)]
        rows, cols = (t["ph"], t["pw"]) if t["pool"] else (t["oh"], t["ow"])
        x = rng.choice((-128, -127, -1, 0, 1, 127), (t["c"], t["h"], t["w"])).astype(np.int8) if layer % 4 == 0 else \
            rng.integers(-128, 128, (t["c"], t["h"], t["w"]), np.int8)
        codes = rng.integers(0, 15, (t["n"], t["c"], t["kh"], t["kw"]), np.uint8)
        d = rng.integers(0, 8, t["c"], np.uint8) if layer % 3 else np.zeros(t["c"], np.uint8)
        res = rng.integers(-128, 128, (t["n"], rows, cols), np.int8)
        bits = int(np.log2(t["c"] * t["kh"] * t["kw"])) + (10 if layer % 3 else 4)
        param = np.stack([rng.integers(-2**31, 2**31, t["n"]) if layer % 5 == 0 else rng.integers(-1000, 1000, t["n"]),
                          rng.integers(-8, 32, t["n"]) if layer % 7 == 0 else
                          np.clip(rng.integers(bits - 3, bits + 2, t["n"]), -8, 31),
                          rng.integers(0, 8, t["n"]), rng.integers(0, 8, t["n"]), rng.integers(-8, 16, t["n"]),
                          rng.integers(-7, 8, t["n"])], 1).astype(np.int32)
        out = np.zeros((t["n"], 1, 1) if t["full"] else (t["n"], rows, cols), np.int8)
        held = [np.array(build, np.uint32), np.array([t[f] for f in FIELDS], np.uint32), x, codes, d, param, res]
        status = lib.flat_layer(*(pointer(a) for a in held), pointer(out))
        assert status == 0, (layer, status, t)
        want = expected(t, x, codes.astype(np.int64), d, param, res)
        assert (out == want).all(), (layer, build, t)
        saturated += int((abs(want + 0.5) > 127).sum())
        zero += int((want == 0).sum())
    assert saturated > LAYERS and zero > LAYERS
