"""The GEMM engine's golden model and driver against NumPy: conversions of binary16 over all values, the order of sums
bit by bit, exact arithmetic within the bound of docs/sgemm/sgemm.md section 2, OpenBLAS, splits, the processor's path,
and the arguments that are refused."""

import ctypes
import fractions
import os
import pathlib
import shutil
import subprocess

import numpy as np
import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent
FULL = os.environ.get("TANDEM_CHECK") == "1"
ROW, COL, NO, TRANS, CONJ = 101, 102, 111, 112, 113
A16, B16, C16, HALF = 1, 2, 4, 8
NAN, NAN16 = 0x7FC00000, 0x7E00
EN_HALF, HALF_BUF = 1 << 19, 1 << 20
LIMITS = (65535, 65535, 65535, 0xFFFFFF)


@pytest.fixture(scope="module")
def lib(tmp_path_factory):
    cc = os.environ.get("CC", "gcc")
    if shutil.which(cc) is None:
        pytest.skip(f"not run: needs {cc}")
    folder = tmp_path_factory.mktemp("sgemm")
    subprocess.run(["/usr/bin/python3", ROOT / "scripts/gen_regs.py", ROOT / "regs/sgemm.regs", "--out", folder],
                   check=True)
    out = folder / "libsgemm.so"
    sources = [str(p) for room in ("cmodel", "drivers") for p in sorted((ROOT / room / "sgemm").glob("*.c"))]
    include = [f"-I{p}" for p in (folder, ROOT / "cmodel/lib", ROOT / "cmodel/sgemm", ROOT / "drivers/lib",
                                  ROOT / "drivers/sgemm")]
    subprocess.run([cc, "-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", "-Wconversion", "-Wshadow",
                    "-ffp-contract=off", "-fno-fast-math", "-fPIC", "-shared", *include, "-o", out,
                    str(ROOT / "tests/sgemm_flat.c"), *sources], check=True)
    return ctypes.CDLL(str(out))


def pointer(a):
    return a.ctypes.data_as(ctypes.c_void_p)


# ---- one GEMM --------------------------------------------------------------------------------------------------------

class Gemm:
    """A GEMM in row-major order with its matrices as stored, values as bits."""

    def __init__(self, rng, m, n, k, alpha=1.0, beta=0.0, ta=False, tb=False, flags=0, draw=None, pad=(0, 0, 0)):
        self.m, self.n, self.k, self.ta, self.tb, self.flags = m, n, k, ta, tb, flags
        self.alpha, self.beta = np.float32(alpha), np.float32(beta)
        draw = draw or (lambda shape: rng.standard_normal(shape).astype(np.float32))
        self.a, self.b, self.c = draw((m, k)), draw((k, n)), draw((m, n))
        with np.errstate(all="ignore"):
            self.a, self.b, self.c = (v.astype(np.float16).astype(np.float32) if flags & bit else v for v, bit in
                                      ((self.a, A16), (self.b, B16), (self.c, C16)))
        self.ld = [cols + extra for cols, extra in zip((m if ta else k, k if tb else n, n), pad)]

    def image(self, values, ld, f16):
        """Rows with gaps of 0xA5."""
        kind = np.float16 if f16 else np.float32
        out = np.full((values.shape[0], max(ld, 1) * np.dtype(kind).itemsize), 0xA5, np.uint8)
        with np.errstate(all="ignore"):
            rows = np.ascontiguousarray(values.astype(kind)).view(np.uint8)
        out[:, :rows.shape[1]] = rows.reshape(values.shape[0], -1)
        return out.reshape(-1)

    def run(self, lib, limits=LIMITS, min_dim=0, col=False, config=EN_HALF):
        """(status, C as bits, counts); col: the same GEMM in column-major order, operands exchanged."""
        stored = (self.a.T if self.ta else self.a, self.b.T if self.tb else self.b, self.c)
        at, mem = [], np.full(64, 0xA5, np.uint8)
        for i, values in enumerate(stored):
            at.append(mem.size)
            part = self.image(np.ascontiguousarray(values), self.ld[i], self.flags & (1 << i))
            mem = np.concatenate([mem, part, np.full(64 + -part.size % 16, 0xA5, np.uint8)])
        before = mem.copy()
        trans = lambda t: TRANS if t else NO
        if col:
            flags = self.flags & ~3 | (self.flags & 1) << 1 | (self.flags & 2) >> 1
            args = (COL, trans(self.tb), trans(self.ta), self.n, self.m, self.k, at[1], self.ld[1], at[0], self.ld[0],
                    at[2], self.ld[2], flags)
        else:
            args = (ROW, trans(self.ta), trans(self.tb), self.m, self.n, self.k, at[0], self.ld[0], at[1], self.ld[1],
                    at[2], self.ld[2], self.flags)
        counts = np.zeros(4, np.uint32)
        setting = np.array([*limits, min_dim, config], np.uint32)
        status = lib.flat_gemm(pointer(mem), ctypes.c_uint32(mem.size), pointer(np.array(args, np.int32)),
                               ctypes.c_float(self.alpha), ctypes.c_float(self.beta), pointer(setting), pointer(counts))
        size = 2 if self.flags & C16 else 4
        rows = np.array([[at[2] + (i * self.ld[2] + j) * size for j in range(self.n)] for i in range(self.m)], int)
        byte = rows.reshape(-1, 1) + np.arange(size)
        got = mem[byte].copy().view(np.uint16 if size == 2 else np.uint32).reshape(self.m, self.n)
        before[byte] = mem[byte]
        assert (before == mem).all(), "a byte outside C was written"
        return status, got, counts

    def expected(self):
        """The definition in float32 steps of NumPy: elements of C side by side, k ascending."""
        with np.errstate(all="ignore"):
            a = canonical(self.alpha * self.a)
            b = self.b
            if self.flags & HALF:
                a, b = rounded(a), rounded(b)
            zero = np.zeros((self.m, self.n), np.float32)
            s = zero if self.beta == 0 else canonical(self.beta * self.c)
            if self.alpha != 0:
                for k in range(self.k):
                    s = s + a[:, k:k + 1] * b[k:k + 1, :]
            return narrow(s) if self.flags & C16 else canonical(s).view(np.uint32)


def canonical(v):
    return np.where(np.isnan(v), np.array(NAN, np.uint32).view(np.float32), v).astype(np.float32)


def narrow(v):
    with np.errstate(all="ignore"):
        return np.where(np.isnan(v), np.uint16(NAN16), v.astype(np.float16).view(np.uint16))


def rounded(v):
    with np.errstate(all="ignore"):
        return canonical(v.astype(np.float16).astype(np.float32))


def any_bits(rng):
    """Values with the corners likely: zeros, subnormals, infinities, NaN, any pattern."""
    special = np.array([0, 1 << 31, 1, 0x807FFFFF, 0x7F800000, 0xFF800000, NAN, 0xFFC00001, 0x7F7FFFFF, 0x3F800000,
                        0x4B800000, 0xCB800000], np.uint32)

    def draw(shape):
        v = rng.integers(0, 1 << 32, shape, dtype=np.uint32)
        small = (v & 0x807FFFFF) | ((rng.integers(110, 140, shape).astype(np.uint32)) << 23)
        v = np.where(rng.random(shape) < 0.1, v, small)
        return np.where(rng.random(shape) < 0.1, special[rng.integers(0, len(special), shape)], v).view(np.float32)
    return draw


# ---- binary16 --------------------------------------------------------------------------------------------------------

def test_every_binary16_widens(lib):
    halves = np.arange(65536, dtype=np.uint16)
    out = np.zeros(65536, np.uint32)
    lib.flat_widen(pointer(halves), pointer(out), 65536)
    want = canonical(halves.view(np.float16).astype(np.float32)).view(np.uint32)
    assert (out == want).all()
    back = np.zeros(65536, np.uint16)
    lib.flat_narrow(pointer(out), pointer(back), 65536)
    nan = (halves & 0x7FFF) > 0x7C00
    assert (back == np.where(nan, NAN16, halves)).all()


def test_narrowing(lib):
    """Each binary16, the point between it and the next one, and the neighbours of both; then any pattern."""
    halves = np.arange(0x7C00, dtype=np.uint16)
    exact = halves.view(np.float16).astype(np.float64)
    middle = ((exact + np.append(exact[1:], 65536.0)) / 2).astype(np.float32).view(np.uint32).astype(np.int64)
    near = np.concatenate([exact.astype(np.float32).view(np.uint32).astype(np.int64), middle])
    rng = np.random.default_rng(1)
    v = np.concatenate([near + d for d in (-1, 0, 1)] + [rng.integers(0, 1 << 32, 1000000)]) & 0xFFFFFFFF
    v = np.concatenate([v, v ^ (1 << 31)]).astype(np.uint32)
    out = np.zeros(v.size, np.uint16)
    lib.flat_narrow(pointer(v), pointer(out), v.size)
    assert (out == narrow(v.view(np.float32))).all()
    corners = {0x477FEFFF: 0x7BFF, 0x477FF000: 0x7C00, 0x33000000: 0, 0x33000001: 1, 0x3F801000: 0x3C00,
               0xB3000001: 0x8001, 0x7F800001: NAN16}
    keys, out = np.array(list(corners), np.uint32), np.zeros(len(corners), np.uint16)
    lib.flat_narrow(pointer(keys), pointer(out), len(corners))
    assert list(out) == list(corners.values())


# ---- the order of sums -----------------------------------------------------------------------------------------------

def test_bits(lib):
    """Any values, factors, transposes, modes, gaps, orders, splits, and the processor's path: one answer."""
    rng = np.random.default_rng(2)
    factors = (0.0, -0.0, 1.0, -1.0, 0.75, 1e-40, np.inf, np.nan, 3e38)
    for case in range(2000 if FULL else 200):
        m, n, k = (int(v) for v in rng.integers(0 if case % 20 == 0 else 1, 20, 3))
        flags = int(rng.integers(0, 16)) if case % 2 else 0
        g = Gemm(rng, m, n, k, rng.choice(factors, p=[.05, .05, .3, .1, .3, .05, .05, .05, .05]),
                 rng.choice(factors, p=[.2, .05, .2, .1, .25, .05, .05, .05, .05]), bool(rng.integers(2)),
                 bool(rng.integers(2)), flags, any_bits(rng), tuple(rng.integers(0, 4, 3)))
        status, got, counts = g.run(lib)
        untouched = m == 0 or n == 0 or ((k == 0 or g.alpha == 0) and g.beta == 1)
        assert status == 0 and counts[0] == (0 if untouched else 1)
        if untouched:
            continue
        want = g.expected()
        assert (got == want).all(), (case, g.__dict__)
        assert counts[2] == 1 and counts[1] == (1 if k == 0 or g.alpha == 0 else 3)
        status, other, counts = g.run(lib, min_dim=1 << 30)
        assert status == 0 and counts[0] == 0 and counts[3] == 1 and (other == want).all()
        status, other, _ = g.run(lib, col=True)
        assert status == 0 and (other == want).all()
        limits = (int(rng.integers(1, 9)), int(rng.integers(1, 9)), k + 1 if flags & C16 else int(rng.integers(1, 6)))
        status, other, counts = g.run(lib, limits=(*limits, LIMITS[3]))
        reads = k > 0 and g.alpha != 0
        tasks = -(-m // limits[0]) * -(-n // limits[1]) * (-(-k // limits[2]) if reads else 1)
        assert status == 0 and counts[0] == tasks and (other == want).all()


def exact(v):
    return fractions.Fraction(float(v))


def test_exact_arithmetic(lib):
    """Every element lies within the bound of the exact result; the bound is not a loose one."""
    rng = np.random.default_rng(3)
    u, t = fractions.Fraction(1, 2**24), fractions.Fraction(1, 2**150)
    g_of = lambda n: n * u / (1 - n * u)
    worst = 0
    for case in range(60 if FULL else 12):
        m, n, k = 3, 4, int(rng.integers(1, 60))
        scale = float(2.0 ** rng.integers(-70, 20))
        g = Gemm(rng, m, n, k, rng.standard_normal(), rng.choice([0.0, 1.0, 0.3]),
                 draw=lambda shape: (rng.standard_normal(shape) * scale).astype(np.float32))
        status, got, _ = g.run(lib)
        assert status == 0
        got = got.view(np.float32)
        alpha, beta = exact(g.alpha), exact(g.beta)
        for i in range(m):
            for j in range(n):
                terms = [exact(g.a[i, x]) * exact(g.b[x, j]) for x in range(k)]
                bc = beta * exact(g.c[i, j])
                total = alpha * sum(terms) + bc
                first = g_of(k + 2) if g.beta != 0 else g_of(k + 1)
                bound = first * abs(alpha) * sum(abs(v) for v in terms) + g_of(k + 1) * abs(bc) + \
                    (1 + g_of(k + 2)) * t * (k + 1 + sum(abs(exact(g.b[x, j])) for x in range(k)))
                error = abs(exact(got[i, j]) - total)
                assert error <= bound, (case, i, j)
                worst = max(worst, error / bound)
    assert 0.02 < worst <= 1


def test_openblas(lib):
    """NumPy's product has its own order of sums: both lie within the bound, so they differ by twice of it at most."""
    rng = np.random.default_rng(4)
    for m, n, k in ((20, 576, 25), (50, 64, 500), (64, 10, 500), (96, 484, 363)):
        g = Gemm(rng, m, n, k)
        status, got, _ = g.run(lib)
        size = np.abs(g.a).astype(np.float64) @ np.abs(g.b).astype(np.float64)
        bound = 2 * (k + 2) * 2.0**-24 * size
        assert status == 0 and (np.abs(got.view(np.float32) - (g.a @ g.b).astype(np.float64)) <= bound).all()


# ---- arguments -------------------------------------------------------------------------------------------------------

def call(lib, change=(), alpha=1.0, beta=0.0, setting=(*LIMITS, 0, EN_HALF)):
    """The number of the argument that is refused, 0: none; of a legal 4 x 5 x 6 GEMM with some arguments changed."""
    names = ("order", "ta", "tb", "m", "n", "k", "a", "lda", "b", "ldb", "c", "ldc", "flags")
    args = dict(zip(names, (ROW, NO, NO, 4, 5, 6, 0x100, 6, 0x400, 5, 0x800, 5, 0)))
    args.update(change)
    mem, counts = np.zeros(0x2000, np.uint8), np.zeros(4, np.uint32)
    words = np.array([v - (1 << 32) if v >= 1 << 31 else v for v in args.values()], np.int32)
    status = lib.flat_gemm(pointer(mem), mem.size, pointer(words), ctypes.c_float(alpha), ctypes.c_float(beta),
                           pointer(np.array(setting, np.uint32)), pointer(counts))
    assert counts[0] == 0 or status == 0, "a refused GEMM was started"
    return lib.flat_argument(status) if status > 0 and lib.flat_argument(status) else status


@pytest.mark.parametrize("number, change", [
    (1, {"order": 0}), (2, {"ta": 0}), (3, {"tb": 114}), (4, {"m": -1}), (5, {"n": -1}), (6, {"k": -1}),
    (8, {"a": 0}), (8, {"a": 0x102}), (8, {"a": 0xFFFFFFF0}), (9, {"lda": 5}), (9, {"lda": 0, "k": 0}),
    (9, {"ta": TRANS, "lda": 3}), (9, {"lda": 1 << 24}), (10, {"b": 0}), (10, {"b": 0x401}), (11, {"ldb": 4}),
    (11, {"tb": TRANS, "ldb": 5}), (13, {"c": 0}), (13, {"c": 0x801}), (13, {"c": 0xFFFFFFC0}), (14, {"ldc": 4}),
    (9, {"order": COL, "lda": 3}), (11, {"order": COL, "ldb": 5}), (14, {"order": COL, "ldb": 6, "ldc": 3}),
    (13, {"c": 0x108}), (13, {"c": 0x3FC}), (13, {"c": 0x3FC, "ldc": 6}),
])
def test_refused(lib, number, change):
    assert call(lib, change) == number


def test_not_refused(lib):
    assert call(lib) == 0
    assert call(lib, {"ta": CONJ, "lda": 4}) == 0
    assert call(lib, {"a": 0, "b": 1}, alpha=0.0) == 0, "A and B are not read"
    assert call(lib, {"a": 0, "b": 0, "c": 0}, alpha=0.0, beta=1.0) == 0, "nothing is touched"
    assert call(lib, {"m": 0, "c": 0}) == 0
    # blocks side by side in one matrix of 40 columns: A, C, B
    assert call(lib, {"a": 0x100, "lda": 40, "c": 0x100 + 24, "ldc": 40, "b": 0x100 + 44, "ldb": 40}) == 0
    assert call(lib, {"a": 0x100, "lda": 40, "c": 0x100 + 20, "ldc": 40, "b": 0x100 + 44, "ldb": 40}) == 13


def test_modes(lib):
    mode = 14  # SGEMM_ERR_MODE, which is about no argument of BLAS
    assert call(lib, {"flags": HALF}, setting=(*LIMITS, 0, 0)) == mode
    assert call(lib, {}, setting=(*LIMITS, 0, 0)) == 0
    assert call(lib, {}, setting=(*LIMITS, 0, EN_HALF | HALF_BUF)) == mode
    assert call(lib, {"flags": HALF}, setting=(*LIMITS, 0, EN_HALF | HALF_BUF)) == 0
    assert call(lib, {"flags": 16}) == mode
    assert call(lib, {"flags": C16}, setting=(9, 9, 5, 99, 0, EN_HALF)) == 6, "sums of binary16 cannot cross tasks"
    assert call(lib, {"flags": C16}, setting=(9, 9, 6, 99, 0, EN_HALF)) == 0
