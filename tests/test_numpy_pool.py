"""The golden model's POOL (docs/npu/npu.md section 3.4) against code that shares nothing with it.

1. Random tasks against NumPy: 400, 3,000 with TANDEM_CHECK=1, whole memory compared.
2. Poolings as ncnn defines them (floor, ceil with a tail, SAME; padding counted or not) against a padded map in NumPy.
3. The poolings of SqueezeNet against tensors that ncnn computed, where that data is present (TANDEM_DATA, or
   ../shared/data beside the repository).
"""

import collections
import tarfile

import numpy as np
import pytest

from numpy_model import DATA, FULL, NAN, Image, align, bits, f32, fmul, load_model, random_bits

CASES = 3000 if FULL else 400

REG = dict(
    IFM_ADDR=0x180, IFM_CSTEP=0x184, IFM_RSTEP=0x188, OFM_ADDR=0x18C, OFM_CSTEP=0x190, OFM_RSTEP=0x194,
    IFM_SIZE=0x198, OFM_SIZE=0x19C, CHANNELS=0x1A0, WINDOW=0x1A4, PAD=0x1A8, RECIP=0x1AC, TAB_ADDR=0x1B0, CTRL=0x1B4,
)
EN, AVG, INT8, EXCLUDE = 1, 1 << 1, 1 << 3, 1 << 4


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return load_model(tmp_path_factory.mktemp("cm"))


# ent implementation ---------------------------------------------------------------------------------------------------

def largest(w):
    """The maximum of each row of bit patterns: the first element if that is a NaN, else the first of those that are
    largest."""
    x = f32(w)
    with np.errstate(invalid="ignore"):
        best = np.argmax(np.where(np.isnan(x), -np.inf, x) ==
                         np.nanmax(np.where(np.isnan(x), -np.inf, x), axis=1)[:, None], axis=1)
    # -inf may stand for a NaN: the first real -inf, where the first element is real
    picked = w[np.arange(len(w)), best]
    swap = np.isnan(f32(picked)) & ~np.isnan(x[:, 0])
    picked[swap] = 0xFF800000
    return np.where(np.isnan(x[:, 0]), w[:, 0], picked)


def fp32_sum(w):
    """Left to right from +0; accumulate adds in order, one rounding each."""
    with np.errstate(all="ignore"):
        s = np.add.accumulate(np.concatenate([np.zeros((len(w), 1), np.float32), f32(w)], axis=1), axis=1)[:, -1]
    return np.where(np.isnan(s), NAN, s.view(np.uint32))


def int8_average(w, count):
    mean = w.astype(np.int64).sum(axis=1) / count  # a half is exact in float64, anything else is far from one
    return np.clip(np.copysign(np.floor(np.abs(mean) + 0.5), mean), -127, 127).astype(np.int8)


def expected(c):
    """[channels][oh][ow]: uint32 bit patterns or int8."""
    x = c["x"]
    out = np.zeros((x.shape[0], c["oh"], c["ow"]), dtype=np.int8 if c["int8"] else np.uint32)
    for oy in range(c["oh"]):
        for ox in range(c["ow"]):
            top, left = oy * c["sh"] - c["top"], ox * c["sw"] - c["left"]
            window = x[:, max(top, 0):top + c["kh"], max(left, 0):left + c["kw"]]
            rows, cols = window.shape[1:]
            flat = np.ascontiguousarray(window.reshape(len(x), -1))
            if c["int8"]:
                y = (int8_average(flat, rows * cols if c["exclude"] else c["kh"] * c["kw"])
                     if c["avg"] else flat.max(axis=1))
            elif c["avg"]:
                y = fmul(fp32_sum(flat), c["table"][rows - 1, cols - 1] if c["exclude"] else np.uint32(c["recip"]))
            else:
                y = largest(flat)
            out[:, oy, ox] = y
    return out


#  ---------------------------------------------------------------------------------------------------------------------

def random_geometry(rng):
    while True:
        kh, kw = (int(v) for v in rng.integers(1, 9, 2))
        if rng.random() < 0.1:
            kh, kw = (int(v) for v in rng.integers(1, 40, 2))
        sh, sw = (int(v) for v in rng.integers(1, 5 if rng.random() < 0.8 else 12, 2))
        top, left = int(rng.integers(0, kh)), int(rng.integers(0, kw))
        if rng.random() < 0.4:
            top, left = min(top, 1), 0
        ih, iw = int(rng.integers(1, 30)), int(rng.integers(1, 30 if rng.random() < 0.9 else 500))
        # any number of windows that are not empty: last ones may hang over the right and bottom edge, or not reach it
        oh = int(rng.integers(1, (ih + top - 1) // sh + 2))
        ow = int(rng.integers(1, (iw + left - 1) // sw + 2))
        if ow <= 64 and oh * ow <= 400:
            return dict(kh=kh, kw=kw, sh=sh, sw=sw, top=top, left=left, ih=ih, iw=iw, oh=oh, ow=ow)


def random_case(rng, index):
    g = random_geometry(rng)
    n = int(rng.choice([4, 8, 16, 32]))
    int8, avg, exclude = bool(index & 1), bool(index & 2), bool(index & 4)
    channels = int(rng.integers(1, 2 * n + 2 if int8 else 9))
    shape = (channels, g["ih"], g["iw"])
    kind = rng.integers(0, 3)
    x8 = rng.integers(-128, 128, shape) if kind < 2 else rng.choice([-128, -127, -1, 0, 1, 127], shape)
    table = (np.float32(1) / np.outer(np.arange(1, g["kh"] + 1), np.arange(1, g["kw"] + 1)).astype(np.float32)).view(
        np.uint32)
    if rng.random() < 0.2:
        table = random_bits(rng, table.shape)
    return dict(g, n=n, int8=int8, avg=avg, exclude=exclude, x=x8.astype(np.int8) if int8 else random_bits(rng, shape),
                table=table, recip=bits(np.float32(1) / np.float32(g["kh"] * g["kw"]))
                if rng.random() < 0.8 else int(random_bits(rng, 1)[0]))


def tensor(rng, x, n, pad_channels):
    """(bytes, channel step, row step, byte offsets [c][h][w]): FP32 NCHW or INT8 NHWC with random gaps. pad_channels:
    value of channels C..align(C,N)."""
    c, h, w = x.shape
    if x.dtype == np.int8:
        cstep = align(c, n) + n * int(rng.integers(0, 3))
        rstep = w * cstep + n * int(rng.integers(0, 3))
        chan = np.arange(align(c, n))
        at = chan[:, None, None] + np.arange(h)[:, None] * rstep + np.arange(w) * cstep
        full = np.full((align(c, n), h, w), pad_channels, dtype=np.int8)
        full[:c] = x
    else:
        rstep = 4 * (w + int(rng.integers(0, 4)))
        cstep = h * rstep + 4 * int(rng.integers(0, 4))
        at = np.arange(c)[:, None, None] * cstep + np.arange(h)[:, None] * rstep + 4 * np.arange(w)
        full = x
    data = rng.integers(0, 256, int(at.max()) + x.itemsize, dtype=np.uint8)
    put(data, 0, at, full)
    return data, cstep, rstep, at


def put(mem, addr, at, values):
    raw = np.ascontiguousarray(values).view(np.uint8).reshape(at.shape + (values.itemsize,))
    mem[addr + at[..., None] + np.arange(values.itemsize)] = raw


def run_case(model, c, rng):
    n, y = c["n"], expected(c)
    to, shift = (n, 0) if c["int8"] else (16, 4 * int(rng.integers(0, 4)))
    im = Image(rng)
    data, ifm_cstep, ifm_rstep, _ = tensor(rng, c["x"], n, int(rng.integers(-128, 128)))
    old, ofm_cstep, ofm_rstep, at = tensor(rng, rng.integers(0, 100, y.shape).astype(y.dtype), n, 77)
    ifm, ofm, tab = im.add(data, shift, to), im.add(old, shift, to), im.add(c["table"], 4 * int(rng.integers(0, 4)))
    mem = im.build()
    want = mem.copy()
    full = np.zeros(at.shape, y.dtype)  # pad channels are written 0
    full[:len(y)] = y
    put(want, ofm, at, full)
    writes = [
        (REG["IFM_ADDR"], ifm), (REG["IFM_CSTEP"], ifm_cstep), (REG["IFM_RSTEP"], ifm_rstep), (REG["OFM_ADDR"], ofm),
        (REG["OFM_CSTEP"], ofm_cstep),
        (REG["OFM_RSTEP"], ofm_rstep), (REG["IFM_SIZE"], c["iw"] | c["ih"] << 16),
        (REG["OFM_SIZE"], c["ow"] | c["oh"] << 16),
        (REG["CHANNELS"], len(c["x"])), (REG["WINDOW"], c["kw"] | c["kh"] << 8 | c["sw"] << 16 | c["sh"] << 24),
        (REG["PAD"], c["left"] | c["top"] << 8), (REG["RECIP"], c["recip"]), (REG["TAB_ADDR"], tab),
        (REG["CTRL"], EN | (AVG if c["avg"] else 0) | (INT8 if c["int8"] else 0) | (EXCLUDE if c["exclude"] else 0)),
    ]
    res = model(n, mem, writes)
    assert (res.err, res.pool, res.irq, res.gemm, res.alu) == (0, 1, 2, 0, 0), f"{res}"
    return mem, want


def test_random_tasks(model, capsys):
    differing, seen, values = [], collections.Counter(), 0
    for index in range(CASES):
        rng = np.random.Generator(np.random.PCG64([4, index]))
        c = random_case(rng, index)
        mem, want = run_case(model, c, rng)
        values += len(c["x"]) * c["oh"] * c["ow"]
        right = (c["ow"] - 1) * c["sw"] + c["kw"] - c["left"] - c["iw"]
        seen.update([f"N{c['n']}", "ragged" if right > 0 else "inside",
                     "gap" if right < 0 else "no gap", "padded" if c["left"] else "flush"])
        if not np.array_equal(mem, want):
            at = np.flatnonzero(mem != want)
            name = (("INT8 " if c["int8"] else "FP32 ") + ("average" if c["avg"] else "max") +
                    (", padding excluded" if c["exclude"] else ""))
            differing.append(f"case {index} (N={c['n']}, {name}): {at.size} bytes differ, first at {at[0]:#x}")
    with capsys.disabled():
        print(f"\nPOOL against NumPy: {CASES} random tasks, {values} results, {len(differing)} differences")
    assert not differing, "\n".join(differing[:10])
    assert all(seen[k] > CASES // 20
               for k in ("N4", "N8", "N16", "N32", "ragged", "inside", "gap", "padded", "flush")), seen


def test_int8_rounding(model):
    """Every sum of 1 x count windows around each half."""
    for count in (1, 2, 3, 4, 5, 6, 9, 16):
        sums = np.arange(-128 * count, 127 * count + 1, max(1, count // 4))[:, None]
        base = np.array([s // count + (np.arange(count) < s % count) for s in sums[:, 0]])  # rows with exactly that sum
        for start in range(0, len(base), 500):
            x = base[start:start + 500].astype(np.int8)
            assert (x.sum(axis=1, dtype=np.int64) == sums[start:start + 500, 0]).all()
            c = dict(n=8, int8=True, avg=True, exclude=bool(start & 500), x=x[None], kh=1, kw=count, sh=1, sw=1,
                     top=0, left=0, ih=len(x), iw=count, oh=len(x), ow=1, table=np.zeros((1, 1), np.uint32), recip=0)
            mem, want = run_case(model, c, np.random.Generator(np.random.PCG64(6)))
            assert np.array_equal(mem, want), count


# ----------------------------------------------------------------------------------------------------------------------

def ncnn_shape(size, k, s, before, after, mode):
    """(padding before, padding after with the tail, outputs) of one dimension: 0 full (ceil), 1 valid (floor), 2 and 3
    SAME."""
    if mode in (2, 3):
        pad = max(k + (size - 1) // s * s - size, 0)
        before, after = (pad // 2, pad - pad // 2) if mode == 2 else (pad - pad // 2, pad // 2)
    elif mode == 0:
        after += -(size + before + after - k) % s
    return before, after, (size + before + after - k) // s + 1


def ncnn_pool(x, k, s, pads, avg, include):
    """Float32 pooling over a map that is really padded: max with -FLT_MAX; average: a sum from left to right, divided
    by its count."""
    (top, bottom), (left, right) = pads
    grow = lambda v, fill: np.pad(v, ((0, 0), (top, bottom), (left, right)), constant_values=fill)
    padded = grow(x, 0 if avg else np.finfo(np.float32).min)
    real = grow(np.ones(x.shape, np.float32), 0)
    cut = lambda v: np.lib.stride_tricks.sliding_window_view(v, k, axis=(1, 2))[:, ::s[0], ::s[1]].reshape(
        len(v), -1, k[0] * k[1])
    if not avg:
        return cut(padded).max(axis=2)
    count = np.float32(k[0] * k[1]) if include else cut(real).sum(axis=2)
    return np.add.accumulate(cut(padded), axis=2)[:, :, -1] / count


def ulps(a, b):
    order = lambda v: np.where(v.view(np.int32) < 0, -(v.view(np.int32).astype(np.int64) & 0x7FFFFFFF),
                               v.view(np.int32))
    return int(np.abs(order(a) - order(b)).max())


def test_as_ncnn_defines_it(model, capsys):
    """Max is equal bit for bit; an average is a product with the rounded reciprocal here and a quotient there, at most
    2 ulp apart."""
    rng = np.random.Generator(np.random.PCG64(7))
    worst, ran = 0, collections.Counter()
    while sum(ran.values()) < 300:
        k = tuple(int(v) for v in rng.integers(1, 6, 2))
        s = tuple(int(v) for v in rng.integers(1, 5, 2))
        size = tuple(int(v) for v in rng.integers(1, 25, 2))
        mode, avg, include = int(rng.integers(0, 4)), bool(rng.integers(0, 2)), bool(rng.integers(0, 2))
        given = [[int(v) for v in rng.integers(0, k[d], 2)] for d in range(2)]
        (top, bottom, oh), (left, right, ow) = (ncnn_shape(size[d], k[d], s[d], *given[d], mode) for d in range(2))
        # no empty window: the hardware refuses it
        inside = lambda d, pad, out: out >= 1 and pad < k[d] and (out - 1) * s[d] < size[d] + pad
        if min(oh, ow) < 1 or not (inside(0, top, oh) and inside(1, left, ow)):
            continue
        x = (rng.standard_normal((3,) + size) * 10).astype(np.float32)
        table = (np.float32(1) / np.outer(np.arange(1, k[0] + 1), np.arange(1, k[1] + 1)).astype(np.float32)).view(
            np.uint32)
        c = dict(n=8, int8=False, avg=avg, exclude=not include, x=x.view(np.uint32),
                 kh=k[0], kw=k[1], sh=s[0], sw=s[1], top=top, left=left,
                 ih=size[0], iw=size[1], oh=oh, ow=ow, table=table, recip=bits(np.float32(1) / np.float32(k[0] * k[1])))
        mem, want = run_case(model, c, rng)
        assert np.array_equal(mem, want)
        got = f32(expected(c)).reshape(3, -1)  # what the model wrote
        there = np.ascontiguousarray(ncnn_pool(x, k, s, ((top, bottom), (left, right)), avg, include), np.float32)
        assert there.shape == got.shape
        apart = ulps(got, there)
        assert apart <= (2 if avg else 0), f"mode {mode}, kernel {k}, stride {s}, average {avg}: {apart} ulp"
        worst = max(worst, apart)
        ran[(mode, avg)] += 1
    with capsys.disabled():
        print(f"\nPOOL as ncnn defines it: {sum(ran.values())} poolings, max equal, averages at most {worst} ulp apart")
    assert len(ran) == 8


# pooling: (average, kernel, stride, shape of the input, members of the archive that make up the input, member with the
# output)
SQUEEZENET = {
    "pool1": (False, 3, 2, (64, 113, 113), ["int8_01_conv1"], "int8_02_pool1"),
    "pool3": (False, 3, 2, (128, 56, 56), ["int8_10_fire3_expand1x1", "int8_11_fire3_expand3x3"], "int8_13_pool3"),
    "pool5": (False, 3, 2, (256, 28, 28), ["int8_21_fire5_expand1x1", "int8_22_fire5_expand3x3"], "int8_24_pool5"),
    "pool10": (True, 16, 1, (1000, 16, 16), ["int8_45_conv10"], "int8_46_pool10"),
}


def test_squeezenet_against_ncnn(model, capsys):
    archive = DATA / "squeezenet" / "cat-reference.tar.xz"
    if not archive.exists():
        with capsys.disabled():
            print("\nSqueezeNet poolings against ncnn: not run: no data")
        pytest.skip("not run: no data")
    with tarfile.open(archive) as tar:
        data = {m.name.removeprefix("cat/"): tar.extractfile(m).read()
                for m in tar if m.name.startswith("cat/int8_") and m.name.endswith(".f32")}
    values, worst = 0, {}
    for name, (avg, k, s, shape, inputs, output) in SQUEEZENET.items():
        x = np.concatenate([np.frombuffer(data[f"{i}.f32"], np.float32) for i in inputs]).reshape(shape)
        there = np.frombuffer(data[f"{output}.f32"], np.float32)
        _, _, out = ncnn_shape(shape[1], k, s, 0, 0, 0)
        c = dict(n=8, int8=False, avg=avg, exclude=False, x=np.ascontiguousarray(x).view(np.uint32),
                 kh=k, kw=k, sh=s, sw=s, top=0, left=0, ih=shape[1], iw=shape[2],
                 oh=out, ow=out, table=np.zeros((1, 1), np.uint32), recip=bits(np.float32(1) / np.float32(k * k)))
        mem, want = run_case(model, c, np.random.Generator(np.random.PCG64(8)))
        assert np.array_equal(mem, want)
        got = f32(expected(c)).reshape(-1)  # what the model wrote
        assert got.size == there.size
        worst[name] = ulps(got, there)
        values += got.size
    with capsys.disabled():
        print(f"\nSqueezeNet poolings against ncnn: {len(worst)} layers, {values} values, distance in ulp: {worst}")
    # the order of a global sum is not defined
    assert worst["pool1"] == worst["pool3"] == worst["pool5"] == 0 and worst["pool10"] <= 16
