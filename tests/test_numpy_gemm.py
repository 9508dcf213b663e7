"""The golden model's GEMM tasks beyond the plain convolution (test_numpy_conv.py) against NumPy.

Depthwise, convert, INT8 NHWC in and out, all activations, resident and kept weights: 400 random tasks, 3,000 with
TANDEM_CHECK=1, whole memory compared.
"""

import collections

import numpy as np
import pytest

from numpy_model import (FULL, Image, activate, align, bits, conv_sums, f32, f32_to_i8, fadd,
                         fmul, load_model, nchw_bytes, pack_weights, padded_factors, random_act, random_bits, wrap32)

CASES = 3000 if FULL else 400

REG = dict(
    IFM_ADDR=0x0C0, IFM_CSTEP=0x0C4, WGT_ADDR=0x0C8, OSCALE_ADDR=0x0CC,
    BIAS_ADDR=0x0D0, OFM_ADDR=0x0D4, OFM_CSTEP=0x0D8, PSUM_ADDR=0x0DC,
    IFM_SIZE=0x0E0, CHANNELS=0x0E4, OFM_SIZE=0x0E8, IN_SCALE=0x0EC, CTRL=0x0F0, EXT_KERNEL=0x0F4,
    EXT_STRIDE=0x0F8, EXT_PAD=0x0FC, ACT=0x100, GROUP=0x104, OUT_SCALE=0x108, ACT_P0=0x10C, PSUM_CSTEP=0x11C,
)
EN, BIAS, REQUANT, LAYOUT, OSCALE, DIV_IC, EXT, PSUM_ADD, WGT_RES, WGT_KEEP = 1, *(
    1 << b for b in (19, 20, 21, 22, 23, 24, 25, 27, 28))
CONV, DEPTHWISE, CONVERT = 0, 1, 2


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return load_model(tmp_path_factory.mktemp("cm"))


# ent implementation ---------------------------------------------------------------------------------------------------

def expected(c):
    """[oc][oh][ow]: bit patterns, or INT8 with requant."""
    with np.errstate(all="ignore"):
        q = c["x"] if c["nhwc_in"] else f32_to_i8(f32(fmul(c["x"], np.uint32(bits(c["in_scale"])))))
    geometry = (c["oh"], c["ow"], c["stride"], c["dil"], c["pad"])
    if c["op"] == CONV:
        total = conv_sums(q, c["w"], *geometry)
    else:  # channel by channel
        total = np.concatenate([conv_sums(q[i:i + 1], c["w"][i:i + 1], *geometry) for i in range(len(q))])
    total = wrap32(total + (0 if c["psum"] is None else c["psum"]))
    if c["raw"]:
        return total.view(np.uint32)
    y = total.astype(np.float32).view(np.uint32)
    per_channel = lambda v: v.view(np.uint32)[:, None, None]
    if c["oscale"] is not None:
        y = fmul(y, per_channel(c["oscale"]))
    if c["bias"] is not None:
        y = fadd(y, per_channel(c["bias"]))
    y = activate(c["act"], c["act_p"], y)
    return f32_to_i8(f32(fmul(y, np.uint32(c["out_scale"])))) if c["requant"] else y


#  ---------------------------------------------------------------------------------------------------------------------

def rows_of_group(c, n):
    """R of the limits."""
    group = 2 * n * min(max(c["group"], 1), 512 // n)
    bound = 1 + (group + c["ow"] - 2) // c["ow"]
    return min(c["ih"], (min(c["oh"], bound) - 1) * c["stride"][0] + (c["w"].shape[2] - 1) * c["dil"][0] + 1)


def legal(c):
    n, (oc, _, kh, kw), (ic, ih, iw) = c["n"], c["w"].shape, c["x"].shape
    icb, ocb = align(ic, n) // n, align(oc, n) // n
    words = {CONV: kh * kw * icb * n, DEPTHWISE: kh * kw, CONVERT: 0}[c["op"]]
    if c["oh"] < 1 or c["ow"] < 1 or words > 4608 or c["oh"] * c["ow"] > 65535:
        return False
    if c["wgt_res"] and (ocb + 1) // 2 * words > 4608:
        return False
    return ih * iw * icb <= 16384 or (c["wgt_res"] and rows_of_group(c, n) * iw * icb + 64 * icb <= 16384)


def random_geometry(rng, c):
    pair = lambda low, high: tuple(int(v) for v in rng.integers(low, high, 2))
    kh, kw = pair(1, 6 if c["op"] != CONVERT or rng.random() < 0.3 else 2)
    c["stride"] = pair(1, 4)
    c["dil"] = (1, 1) if rng.random() < 0.7 else pair(1, 4)
    c["pad"] = pair(0, 4)
    large = c["wgt_res"] and rng.random() < 0.5  # more than ifm_buf holds
    ih, iw = (int(rng.integers(100, 400)), int(rng.integers(50, 120))) if large else pair(1, 26)
    if large:
        c["stride"] = pair(2, 5)
    c["oh"], c["ow"] = ((size + int(rng.integers(0, 4)) + p - (k - 1) * d - 1) // s + 1
                        for size, p, k, d, s in zip((ih, iw), c["pad"], (kh, kw), c["dil"], c["stride"]))
    most = c["n"] + 3 if large else 3 * c["n"]
    c["ic"] = int(rng.integers(1, most + 1))
    c["oc"] = int(rng.integers(1, most + 1)) if c["op"] == CONV else c["ic"]
    c.update(ih=ih, iw=iw)
    shape = (c["oc"], c["ic"] if c["op"] == CONV else 1, kh, kw)
    c["w"] = np.ones(shape, np.int8) if c["op"] == CONVERT else rng.integers(-128, 128, shape).astype(np.int8)
    c["x"] = np.zeros((c["ic"], ih, iw), np.int8)


def random_case(rng, index):
    while True:
        c = dict(n=int(rng.choice([4, 8, 16, 32])), op=index % 3, nhwc_in=bool(index & 1),
                 requant=bool(index & 2), wgt_res=bool(rng.random() < 0.5))
        c["group"] = int(rng.integers(0, 256)) if rng.random() < 0.4 else int(rng.integers(0, 5))
        random_geometry(rng, c)
        if legal(c):
            break
    shape, out = c["x"].shape, (c["oc"], c["oh"], c["ow"])
    c["raw"] = not c["requant"] and bool(rng.random() < 0.15)
    c["act"], c["act_p"] = (0, [0] * 4) if c["raw"] else random_act(rng)
    c["in_scale"] = float(np.float32(rng.choice([1.0, 0.37, 20.0])))
    c["x"] = rng.integers(-128, 128, shape).astype(np.int8) if c["nhwc_in"] else random_bits(rng, shape)
    typical = 128.0 * np.sqrt(c["w"][0].size) * 70
    factors = (lambda size: random_bits(rng, c["oc"]).view(np.float32)
               if rng.random() < 0.2 else (rng.standard_normal(c["oc"]) * size).astype(np.float32))
    c["oscale"] = None if c["raw"] or rng.random() < 0.2 else factors(1 / typical * rng.choice([1, 10]))
    c["bias"] = None if c["raw"] or rng.random() < 0.3 else factors(1.0)
    c["psum"] = rng.integers(-2**31, 2**31, out) if rng.random() < 0.25 else None
    c["out_scale"] = (int(random_bits(rng, 1)[0]) if rng.random() < 0.1
                      else bits(float(rng.choice([1.0, 20.0, 0.5, 127.0]))))
    c["keep"] = c["wgt_res"] and bool(rng.random() < 0.4)
    return c


#  and register writes -------------------------------------------------------------------------------------------------

def nhwc_bytes(x, pitch, gap, width):
    """INT8 [c][h][w] as pixels of `pitch` bytes; channels c..width-1 are zero unless `gap` is kept (width = c), the
    rest is from `gap`."""
    c, h, w = x.shape
    out = gap[:h * w * pitch].copy().reshape(h * w, pitch)
    out[:, :width] = 0
    out[:, :c] = x.reshape(c, h * w).T.view(np.uint8)
    return out.reshape(-1)


def packed(c):
    n = c["n"]
    if c["op"] == CONV:
        return pack_weights(c["w"], n)
    if c["op"] == CONVERT:
        return np.zeros(0, np.int8)
    taps = c["w"].reshape(c["oc"], -1)
    blocks = np.zeros((align(c["oc"], n) // n, align(taps.shape[1] * n, 16)), np.int8)
    full = np.zeros((len(blocks) * n, taps.shape[1]), np.int8)
    full[:c["oc"]] = taps
    blocks[:, :taps.shape[1] * n] = full.reshape(len(blocks), n, -1).transpose(0, 2, 1).reshape(len(blocks), -1)
    return blocks.reshape(-1)


def control(c):
    ctrl = EN | EXT | c["op"] << 1 | (0 if c["nhwc_in"] else LAYOUT)
    for flag, on in ((REQUANT, c["requant"]), (DIV_IC, c["raw"]),
                     (WGT_RES, c["wgt_res"]), (OSCALE, c["oscale"] is not None),
                     (BIAS, c["bias"] is not None), (PSUM_ADD, c["psum"] is not None)):
        ctrl |= flag if on else 0
    return ctrl


def run_case(model, c, rng):
    n, oc, ic = c["n"], c["oc"], c["ic"]
    noise = lambda size: rng.integers(0, 256, size, dtype=np.uint8)
    shift = lambda int8: 0 if int8 else 4 * int(rng.integers(0, 4))
    im, pixels_in, pixels_out = Image(rng), c["ih"] * c["iw"], c["oh"] * c["ow"]
    if c["nhwc_in"]:
        ifm_cstep = align(ic, n) + n * int(rng.integers(0, 3))
        data = nhwc_bytes(c["x"], ifm_cstep, noise(pixels_in * ifm_cstep), ic)
    else:
        ifm_cstep = 4 * pixels_in + 4 * int(rng.integers(0, 9))
        data = nchw_bytes(c["x"], ifm_cstep, noise(ic * ifm_cstep))
    ifm = im.add(data, shift(c["nhwc_in"]), 32)
    ofm_cstep = (align(oc, n) + n * int(rng.integers(0, 3)) if c["requant"]
                 else 4 * pixels_out + 4 * int(rng.integers(0, 9)))
    psum_cstep = 4 * pixels_out + 4 * int(rng.integers(0, 9))
    wgt = im.add(packed(c))
    factors = {name: im.add(padded_factors(rng, c[name], oc)) if c[name] is not None
               else 0 for name in ("oscale", "bias")}
    psum = 0 if c["psum"] is None else im.add(nchw_bytes(c["psum"].astype(np.int32),
                                                         psum_cstep, noise(oc * psum_cstep)), shift(False))
    size = (pixels_out if c["requant"] else oc) * ofm_cstep
    ofms = [im.add(noise(size), shift(c["requant"]), 32) for _ in range(2 if c["keep"] else 1)]
    mem = im.build()
    want, y = mem.copy(), expected(c)
    for ofm in ofms:
        old = want[ofm:ofm + size].copy()
        want[ofm:ofm + size] = (nhwc_bytes(y, ofm_cstep, old, align(oc, n))
                                if c["requant"] else nchw_bytes(y, ofm_cstep, old))
    (kh, kw), (sh, sw), (dh, dw), (pt, pl) = c["w"].shape[2:], c["stride"], c["dil"], c["pad"]
    writes = [
        (REG["IFM_ADDR"], ifm), (REG["IFM_CSTEP"], ifm_cstep), (REG["WGT_ADDR"], wgt),
        (REG["OSCALE_ADDR"], factors["oscale"]),
        (REG["BIAS_ADDR"], factors["bias"]), (REG["OFM_CSTEP"], ofm_cstep), (REG["PSUM_ADDR"], psum),
        (REG["PSUM_CSTEP"], psum_cstep),
        (REG["IFM_SIZE"], c["iw"] | c["ih"] << 16), (REG["CHANNELS"], ic | oc << 16),
        (REG["OFM_SIZE"], c["ow"] | c["oh"] << 16),
        (REG["IN_SCALE"], bits(c["in_scale"])), (REG["OUT_SCALE"], c["out_scale"]),
        (REG["EXT_KERNEL"], kw | kh << 8 | dw << 16 | dh << 24),
        (REG["EXT_STRIDE"], sw | sh << 8), (REG["EXT_PAD"], pl | pt << 16), (REG["ACT"], c["act"]),
        (REG["GROUP"], c["group"]),
    ] + [(REG["ACT_P0"] + 4 * i, v) for i, v in enumerate(c["act_p"])]
    for i, ofm in enumerate(ofms):
        writes += [(REG["OFM_ADDR"], ofm), (REG["CTRL"], control(c) | (WGT_KEEP if i else 0))]
    res = model(n, mem, writes)
    assert (res.err, res.gemm, res.irq, res.alu, res.pool) == (0, len(ofms), 4, 0, 0), f"{res}"
    macs = {CONV: oc * ic * kh * kw, DEPTHWISE: oc * kh * kw, CONVERT: 0}[c["op"]] * pixels_out * len(ofms)
    assert res.macs == macs & 0xFFFFFFFF
    return mem, want, macs


def test_random_tasks(model, capsys):
    differing, seen, total = [], collections.Counter(), 0
    for index in range(CASES):
        rng = np.random.Generator(np.random.PCG64([9, index]))
        c = random_case(rng, index)
        mem, want, macs = run_case(model, c, rng)
        total += macs
        seen.update([f"N{c['n']}", f"op{c['op']} in{c['nhwc_in']} out{c['requant']}", f"act{c['act']}",
                     "streamed" if c["ih"] * c["iw"] * align(c["ic"], c["n"]) // c["n"] > 16384 else "whole",
                     f"keep{c['keep']}", f"raw{c['raw']}"])
        if not np.array_equal(mem, want):
            at = np.flatnonzero(mem != want)
            differing.append(f"case {index} (N={c['n']}, op {c['op']}, act {c['act']}, {control(c):#x}): "
                             f"{at.size} bytes differ, first at {at[0]:#x}")
    with capsys.disabled():
        print(
            f"\nGEMM modes against NumPy: {CASES} random tasks, {total / 1e6:.0f} M MACs, {len(differing)} differences")
    assert not differing, "\n".join(differing[:10])
    assert all(seen[f"op{o} in{i} out{r}"] > CASES // 20 for o in range(3)
               for i in (False, True) for r in (False, True)), seen
    assert (all(seen[f"act{a}"] for a in range(12)) and
            min(seen["streamed"], seen["keepTrue"], seen["rawTrue"]) > CASES // 40), seen


def test_chain_of_int8_layers(model):
    """Depthwise, then pointwise: the INT8 output of one task, pad channels included, is the input of the next."""
    for n in (4, 8, 16, 32):
        rng = np.random.Generator(np.random.PCG64([10, n]))
        ic, oc, size = n + 3, 2 * n - 1, 9
        base = dict(n=n, nhwc_in=True, requant=True, wgt_res=False, group=3, raw=False, act=1,
                    act_p=[0] * 4, in_scale=1.0, psum=None, keep=False, dil=(1, 1), stride=(1, 1), out_scale=bits(1.0))
        first = dict(base, op=DEPTHWISE, ic=ic, oc=ic, x=rng.integers(-127, 128, (ic, size, size)).astype(np.int8),
                     ih=size, iw=size, oh=size, ow=size, w=rng.integers(-128, 128, (ic, 1, 3, 3)).astype(np.int8),
                     pad=(1, 1), oscale=np.full(ic, 0.002, np.float32), bias=None)
        middle = expected(first)
        second = dict(first, op=CONV, oc=oc, x=middle, w=rng.integers(-128, 128, (oc, ic, 1, 1)).astype(np.int8),
                      pad=(0, 0), oscale=np.full(oc, 0.02, np.float32))
        pitch, pixels = 3 * n, size * size
        im = Image(rng)
        a = im.add(nhwc_bytes(first["x"], pitch, np.zeros(pixels * pitch, np.uint8), ic), 0, 32)
        b = im.add(rng.integers(0, 256, pixels * pitch, dtype=np.uint8), 0, 32)
        z = im.add(rng.integers(0, 256, pixels * pitch, dtype=np.uint8), 0, 32)
        writes = []
        for c, src, dst in ((first, a, b), (second, b, z)):
            k = c["w"].shape[2]
            writes += [(REG["IFM_ADDR"], src), (REG["IFM_CSTEP"], pitch), (REG["WGT_ADDR"], im.add(packed(c))),
                       (REG["OFM_ADDR"], dst), (REG["OFM_CSTEP"], pitch),
                       (REG["OSCALE_ADDR"], im.add(padded_factors(rng, c["oscale"], c["oc"]))),
                       (REG["IFM_SIZE"], size | size << 16), (REG["ACT"], 1),
                       (REG["CHANNELS"], ic | c["oc"] << 16), (REG["OFM_SIZE"], size | size << 16),
                       (REG["OUT_SCALE"], c["out_scale"]), (REG["GROUP"], 3),
                       (REG["EXT_KERNEL"], k | k << 8 | 0x01010000), (REG["EXT_STRIDE"], 0x101),
                       (REG["EXT_PAD"], c["pad"][1] | c["pad"][0] << 16), (REG["CTRL"], control(c))]
        mem = im.build()
        res = model(n, mem, writes)
        assert (res.err, res.gemm) == (0, 2)
        out = mem[z:z + pixels * pitch].view(np.int8).reshape(size, size, pitch)
        want = expected(second)
        assert len(np.unique(want)) > 20  # something is there to compare
        assert np.array_equal(out[:, :, :oc], want.transpose(1, 2, 0))
