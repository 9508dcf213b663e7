"""What the test_numpy_*.py files share: the golden model as a shared object, memory images, and arithmetic on FP32 bit
patterns in NumPy.

Nothing here uses the model's code or its generated headers: registers are written down from docs/npu/registers.md,
arithmetic from docs/npu/npu.md section 2.
"""

import collections
import ctypes
import os
import pathlib
import shutil
import struct
import subprocess

import numpy as np
import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent
DATA = pathlib.Path(os.environ.get("TANDEM_DATA") or ROOT.parent / "shared" / "data")
FULL = os.environ.get("TANDEM_CHECK") == "1"

Result = collections.namedtuple("Result", "err gemm irq macs alu pool alu_result")


def align(x, n):
    return (x + n - 1) // n * n


def bits(x):
    return struct.unpack("<I", struct.pack("<f", x))[0]


GENERATED = ROOT / os.environ.get("BUILD", "build") / "gen/npu"


def load_model(folder):
    """Compile cmodel/*.c into a shared object in `folder`; returns run(n, mem, writes) -> Result, where mem (uint8) is
    changed in place."""
    cc = os.environ.get("CC", "gcc")
    if shutil.which(cc) is None:
        pytest.skip(f"not run: needs {cc}")
    lib = folder / "libcm.so"
    sources = sorted(str(p) for p in (ROOT / "cmodel/npu").glob("*.c")) + [str(ROOT / "tests" / "cm_flat.c")]
    flags = ["-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", "-ffp-contract=off",
             "-fno-fast-math", "-fPIC", "-shared"]
    subprocess.run([cc, *flags, f"-I{ROOT}/cmodel/npu", f"-I{ROOT}/cmodel/lib",
                    f"-I{GENERATED}", "-o", str(lib), *sources], check=True)
    so = ctypes.CDLL(str(lib))

    def run(n, mem, writes):
        w = np.array([v & 0xFFFFFFFF for pair in writes for v in pair], dtype=np.uint32)
        res = np.zeros(len(Result._fields), dtype=np.uint32)
        ptr = lambda a: a.ctypes.data_as(ctypes.c_void_p)
        assert so.cm_flat_run(ctypes.c_uint32(n), ptr(mem), ctypes.c_uint32(mem.size),
                              ptr(w), ctypes.c_uint32(w.size // 2), ptr(res)) == 0
        return Result(*(int(v) for v in res))

    return run


class Image:
    """A memory being laid out: random bytes with the buffers of the case in it."""

    def __init__(self, rng):
        self.rng, self.parts, self.size = rng, [], 0

    def add(self, data, offset=0, to=16):
        """Place a buffer on a multiple of `to`, shifted by `offset`; returns its address."""
        data = np.ascontiguousarray(data).reshape(-1).view(np.uint8)
        addr = align(self.size + 16 * int(self.rng.integers(1, 5)), to) + offset
        self.parts.append((addr, data))
        self.size = addr + data.size
        return addr

    def build(self):
        mem = self.rng.integers(0, 256, align(self.size, 16) + 64, dtype=np.uint8)
        for addr, data in self.parts:
            mem[addr:addr + data.size] = data
        return mem


# patterns (uint32 arrays) ---------------------------------------------------------------------------------------------

def f32(b):
    return np.ascontiguousarray(b, dtype=np.uint32).view(np.float32)


def canonical(y):
    """Bits of float32 values, every NaN as 0x7FC00000."""
    y = np.ascontiguousarray(y, dtype=np.float32)
    return np.where(np.isnan(y), np.uint32(0x7FC00000), y.view(np.uint32))


def fadd(a, b):
    with np.errstate(all="ignore"):
        return canonical(f32(a) + f32(b))


def fmul(a, b):
    with np.errstate(all="ignore"):
        return canonical(f32(a) * f32(b))


def f32_to_i8(v):
    """Half away from zero, clamped to +-127; NaN gives 0. float64 holds |v| + 0.5 without rounding where it matters."""
    wide = np.nan_to_num(v.astype(np.float64), nan=0.0, posinf=1e9, neginf=-1e9)
    away = np.copysign(np.floor(np.minimum(np.abs(wide), 1000.0) + 0.5), wide)
    return np.clip(away, -127, 127).astype(np.int8)


def wrap32(v):
    return ((v + 2**31) % 2**32 - 2**31).astype(np.int32)


# s/npu/npu.md section 2, coefficients from regs/act_fit.txt -----------------------------------------------------------

ACTS = ("NONE", "RELU", "LEAKY", "CLIP", "HARDSWISH", "HARDSIGMOID", "SIGMOID",
        "TANH", "SWISH", "MISH", "ELU", "SOFTPLUS", "GELU", "GELU_TANH")
ONE, NAN = np.uint32(0x3F800000), np.uint32(0x7FC00000)


def _read_fit():
    table = {}
    for line in (ROOT / "regs" / "act_fit.txt").read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            name, sign, segment, *c = line.split()
            table.setdefault(name, {})[(sign == "-", int(segment))] = [int(x, 16) for x in c]
    return {name: np.array([[rows[(neg, i)] for i in range(16)] for neg in (False, True)], dtype=np.uint32)
            for name, rows in table.items()}


def _fitted(name, v):
    x, negative = f32(v), v >> 31 != 0
    reach = 4.0 if name in ("TANH", "GELU", "GELU_TANH") else 8.0
    with np.errstate(all="ignore"):
        size = np.abs(x).astype(np.float64)
        segment = np.floor(np.where(size < reach, size, 0) * (16 / reach)).astype(int)
    c2, c1, c0 = np.moveaxis(FIT[name][negative.astype(int), segment], -1, 0)
    y = fadd(fmul(fadd(fmul(c2, v), c1), v), c0)
    above = v if name in ("SWISH", "MISH", "SOFTPLUS", "EXPM1", "GELU", "GELU_TANH") else ONE
    below = np.uint32(0xBF800000) if name in ("TANH", "EXPM1") else np.uint32(0)
    y = np.where(size >= reach, np.where(negative, below, above), y)
    return np.where(np.isnan(x), NAN, y)


FIT = _read_fit()


def activate(act, p, v):
    """v: uint32 bit patterns; p: the four parameters as bit patterns."""
    v = np.asarray(v, dtype=np.uint32)
    x = f32(v)
    p = np.array(p, dtype=np.uint32)
    q = f32(p)
    name = ACTS[act]
    straight = lambda: fadd(fmul(v, p[0]), p[1])
    with np.errstate(all="ignore"):
        if name == "NONE":
            return v
        if name == "RELU":
            return np.where(x > 0, v, np.uint32(0))
        if name == "LEAKY":
            return np.where(x > 0, v, fmul(v, p[0]))
        if name == "CLIP":
            return np.select([x < q[0], x > q[1]], [p[0], p[1]], v).astype(np.uint32)
        if name == "HARDSWISH":
            return np.select([x < q[2], x > q[3]], [np.uint32(0), v], fmul(straight(), v)).astype(np.uint32)
        if name == "HARDSIGMOID":
            return np.select([x < q[2], x > q[3]], [np.uint32(0), ONE], straight()).astype(np.uint32)
        if name == "ELU":
            return np.where(x > 0, v, fmul(p[0], _fitted("EXPM1", v)))
        return _fitted(name, v)


FUNCS = ("NONE", "EXP", "RECIP", "RSQRT")


def _read_func():
    table = {}
    for line in (ROOT / "regs" / "func_fit.txt").read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            name, _, *c = line.split()
            table.setdefault(name, []).append([int(x) for x in c])
    return {name: np.array(rows, dtype=np.int64) for name, rows in table.items()}


FUNC = _read_func()
LOG2E = int(round(1.4426950408889634073599246810019 * 2**36))  # binary64 has the digits for 37 bits


def _segment(name, i, u, k):
    """s * 2^k, rounded once; >> of int64 rounds down."""
    c0, c1, c2, c3 = np.moveaxis(FUNC[name][i], -1, 0)
    s = c0 + (u * (c1 + (u * (c2 + (u * c3 >> 24)) >> 24)) >> 24)
    with np.errstate(all="ignore"):
        return np.ldexp(s.astype(np.float64), k).astype(np.float32).view(np.uint32)


def function(func, v):
    """ALU_ACT.FUNC (docs/npu/npu.md section 2); v: uint32 bit patterns."""
    v = np.ascontiguousarray(v, dtype=np.uint32)
    if FUNCS[func] == "NONE":
        return v
    x, size, minus = f32(v), (v & 0x7FFFFFFF).astype(np.int64), v >> 31 != 0
    zero, inf, sign = size == 0, size == 0x7F800000, v & np.uint32(0x80000000)
    infinity = np.uint32(0x7F800000)
    if FUNCS[func] == "EXP":
        e = np.maximum(size >> 23, 1)
        m = (size & 0x7FFFFF) | np.where(size >> 23 != 0, 1 << 23, 0)
        t = m * LOG2E >> np.clip(158 - e, 0, 63)
        t = np.where(minus, -t, t)
        part = t & (1 << 28) - 1
        y = _segment("EXP", part >> 24, part & (1 << 24) - 1, (t >> 28) - 30)
        y = np.where(size >= 0x43000000, np.where(minus, np.uint32(0), infinity), y)
        return np.where(np.isnan(x), NAN, y)
    with np.errstate(invalid="ignore"):
        significand, e = np.frexp(np.where(zero | (size >= 0x7F800000), 1.0, np.abs(x.astype(np.float64))))
    f = ((significand * 2 - 1) * 2**23).astype(np.int64)
    e, segment, u = e - 1, f >> 18, (f & 0x3FFFF) << 6
    if FUNCS[func] == "RECIP":
        y = _segment("RECIP", segment, u, -e - 31) | sign
        y = np.where(zero, sign | infinity, np.where(inf, sign, y))
    else:
        odd = e & 1
        y = _segment("RSQRT", segment + 32 * odd, u, -(e - odd) // 2 - 31)
        y = np.where(zero, sign | infinity, np.where(minus, NAN, np.where(inf, np.uint32(0), y)))
    return np.where(np.isnan(x), NAN, y).astype(np.uint32)


def random_act(rng, plain=0.4):
    """(type, four parameters): those that software would write, now and then any bits."""
    act = 0 if rng.random() < plain else int(rng.integers(1, len(ACTS)))
    if rng.random() < 0.1:
        return act, [int(x) for x in rng.integers(0, 2**32, 4)]
    a, b = np.float32(rng.uniform(0.05, 2)), np.float32(rng.uniform(-1, 1))
    if ACTS[act] == "CLIP":
        low, high = sorted(rng.uniform(-20, 20, 2))
        return act, [bits(low), bits(high), 0, 0]
    if ACTS[act] in ("HARDSWISH", "HARDSIGMOID"):
        p2 = np.float32(-b / a)
        return act, [bits(a), bits(b), bits(p2), bits(np.float32(np.float32(1 / a) + p2))]
    return act, [bits(a), 0, 0, 0]


# ----------------------------------------------------------------------------------------------------------------------

SPECIAL = np.array([0x00000000, 0x80000000, 0x00000001, 0x807FFFFF, 0x00800000,
                    0x7F7FFFFF, 0xFF7FFFFF, 0x7F800000, 0xFF800000, 0x7FC00000, 0xFFC12345,
                    0x7F800001, 0x3F000000, 0xBF000000, 0x3EFFFFFF, 0x42FE0000], dtype=np.uint32).view(np.float32)


def random_bits(rng, shape, kind=None):
    """FP32 bit patterns. Kinds: spread values, small integers (ties), any bits, subnormals, values among special
    ones."""
    kind = kind or rng.choice(["normal", "normal", "few", "bits", "tiny", "special"])
    if kind == "bits":
        return rng.integers(0, 2**32, shape, dtype=np.uint32)
    if kind == "few":
        v = rng.integers(-3, 4, shape).astype(np.float32) * np.float32(rng.choice([1.0, 0.5, -1.0]))
    elif kind == "tiny":
        return (rng.integers(0, 1 << 24, shape, dtype=np.uint32) |
                rng.integers(0, 2, shape, dtype=np.uint32) << np.uint32(31)).astype(np.uint32)
    else:
        v = (rng.standard_normal(shape) * 10.0 ** rng.uniform(-3, 3)).astype(np.float32)
    v = np.asarray(v, dtype=np.float32)
    if kind == "special":
        hit = rng.random(shape) < 0.3
        v[hit] = rng.choice(SPECIAL, int(hit.sum()))
    return v.view(np.uint32)


#  and their tensors ---------------------------------------------------------------------------------------------------

def conv_sums(q, w, oh, ow, stride, dil, pad):
    """Sums of a direct convolution as int64. q [ic][ih][iw], w [oc][ic][kh][kw], stride/dil (y, x), pad (top, left)."""
    ic, ih, iw = q.shape
    oc, _, kh, kw = w.shape
    rows = max(pad[0] + ih, (oh - 1) * stride[0] + (kh - 1) * dil[0] + 1)
    cols = max(pad[1] + iw, (ow - 1) * stride[1] + (kw - 1) * dil[1] + 1)
    padded = np.zeros((ic, rows, cols), dtype=np.float64)
    padded[:, pad[0]:pad[0] + ih, pad[1]:pad[1] + iw] = q
    total = np.zeros((oc, oh * ow), dtype=np.float64)  # exact: far below 2^53
    for ky in range(kh):
        for kx in range(kw):
            y, x = ky * dil[0], kx * dil[1]
            window = padded[:, y:y + (oh - 1) * stride[0] + 1:stride[0], x:x + (ow - 1) * stride[1] + 1:stride[1]]
            total += w[:, :, ky, kx].astype(np.float64) @ window.reshape(ic, oh * ow)
    return total.astype(np.int64).reshape(oc, oh, ow)


def pack_weights(w, n):
    """[ocb][kh][kw][icb][row = input channel][byte = output channel]."""
    oc, ic, kh, kw = w.shape
    full = np.zeros((align(oc, n), align(ic, n), kh, kw), dtype=np.int8)
    full[:oc, :ic] = w
    blocks = full.reshape(full.shape[0] // n, n, full.shape[1] // n, n, kh, kw)
    return np.ascontiguousarray(blocks.transpose(0, 4, 5, 2, 3, 1)).reshape(-1)


def nchw_bytes(x, cstep, gap):
    """[c][h][w] of 4-byte elements, each channel at a multiple of cstep, gaps filled from `gap`."""
    out = gap[:x.shape[0] * cstep].copy().reshape(x.shape[0], cstep)
    size = x.shape[1] * x.shape[2] * 4
    out[:, :size] = np.ascontiguousarray(x).view(np.uint8).reshape(x.shape[0], size)
    return out.reshape(-1)


def padded_factors(rng, v, oc):
    out = rng.integers(0, 2**32, align(oc, 4), dtype=np.uint32).view(np.float32)
    out[:oc] = v
    return out
