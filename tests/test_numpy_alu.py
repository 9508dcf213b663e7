"""The golden model's ALU (docs/npu/npu.md section 3.3) against NumPy: 400 random tasks, 3,000 with TANDEM_CHECK=1,
whole memory compared."""

import collections
import re

import numpy as np
import pytest

from numpy_model import (FULL, FUNCS, GENERATED, ONE, Image, activate, align, f32, fadd, fmul, function, load_model,
                         random_act, random_bits)

CASES = 3000 if FULL else 400

REG = dict(
    A_ADDR=0x120, A_RSTEP=0x124, A_PSTEP=0x128, B_ADDR=0x12C, B_RSTEP=0x130,
    B_PSTEP=0x134, O_ADDR=0x138, O_RSTEP=0x13C, O_PSTEP=0x140,
    SIZE=0x144, ROWS=0x148, P=0x14C, Q=0x150, P_ADDR=0x154, Q_ADDR=0x158, CTRL=0x15C, ACT=0x160, ACT_P0=0x164,
)
OPS = re.findall(r"\w+", re.search(r"ALU_CTRL_OP_NAMES \{(.*)\}", (GENERATED / "npu_regs.h").read_text())[1].upper())
SCALAR, VECTOR, PLANE = 0, 1, 2
MINUS = np.uint32(0x80000000)
REDUCE = ("DOT", "SUM", "RMAX", "SUMSQ")


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return load_model(tmp_path_factory.mktemp("cm"))


# ent implementation ---------------------------------------------------------------------------------------------------

def elementwise(op, x, p, q):
    truth = lambda t: np.where(t, ONE, np.uint32(0))
    with np.errstate(invalid="ignore"):
        return {
            "COPY": lambda: x,
            "ADD": lambda: fadd(x, p),
            "SUB": lambda: fadd(x, p ^ MINUS),
            "RSUB": lambda: fadd(p, x ^ MINUS),
            "MUL": lambda: fmul(x, p),
            "MULADD": lambda: fadd(fmul(x, p), q),
            "ADDMUL": lambda: fmul(fadd(x, p), q),
            "MAX": lambda: np.where(f32(x) < f32(p), p, x),
            "MIN": lambda: np.where(f32(p) < f32(x), p, x),
            "GT": lambda: truth(f32(x) > f32(p)),
            "GE": lambda: truth(f32(x) >= f32(p)),
            "EQ": lambda: truth(f32(x) == f32(p)),
            "ABS": lambda: x & ~MINUS,
            "ADD_I32": lambda: x + p,
            "PRELU": lambda: np.where(f32(x) > 0, x, fmul(x, p)),
        }[op]()


def larger(acc, v):
    with np.errstate(invalid="ignore"):
        return np.where(f32(acc) < f32(v), v, acc)


def reduce_rows(terms, start_bits=0, join=fadd):
    """[..., count] -> [...]: 32 running sums, element i into sum i mod 32, then pairwise at distances 16, 8, 4, 2,
    1."""
    acc = np.full(terms.shape[:-1] + (32,), start_bits, dtype=np.uint32)
    for start in range(0, terms.shape[-1], 32):
        part = terms[..., start:start + 32]
        acc[..., :part.shape[-1]] = join(acc[..., :part.shape[-1]], part)
    while acc.shape[-1] > 1:
        half = acc.shape[-1] // 2
        acc = join(acc[..., :half], acc[..., half:])
    return acc[..., 0]


def expected(c, x, b):
    """Results [planes][rows][results of a row]; x, b: [planes][rows][count]."""
    operand = {
        SCALAR: lambda s, array: np.full(x.shape, s, dtype=np.uint32),
        VECTOR: lambda s, array: b,
        PLANE: lambda s, array: np.broadcast_to(array[:, None, None], x.shape),
    }
    p = operand[c["p_kind"]](c["p"], c["p_array"])
    q = operand[c["q_kind"]](c["q"], c["q_array"])
    if c["op"] in REDUCE:
        if c["op"] == "RMAX":
            total = reduce_rows(x, 0xFF800000, larger)
        else:
            total = reduce_rows(fmul(x, p) if c["op"] == "DOT" else fmul(x, x) if c["op"] == "SUMSQ" else x)
        y = fmul(total, np.uint32(c["q"]))[..., None]
    else:
        y = elementwise(c["op"], x, p, q)
    y = function(c["func"], activate(c["act"], c["act_p"], y))
    return np.repeat(y, 2, axis=-1) if c["dup"] else y


#  ---------------------------------------------------------------------------------------------------------------------

def random_case(rng, index):
    op = OPS[index % len(OPS)]
    reduces = op in REDUCE
    kinds = [(p, q) for p in range(3) for q in range(3) if (p, q) != (VECTOR, VECTOR) and not (reduces and q != SCALAR)]
    p_kind, q_kind = kinds[int(rng.integers(0, len(kinds)))]
    long_rows = rng.random() < 0.4
    count = int(rng.integers(1, 1500)) if long_rows else int(rng.integers(1, 70))
    if rng.random() < 0.2:
        count = int(rng.choice([1, 31, 32, 33, 64, 255, 256, 257, 512, 513]))
    planes, rows = (int(v) for v in rng.integers(1, 4 if long_rows else 7, 2))
    act, act_p = (0, [0] * 4) if op == "ADD_I32" else random_act(rng)
    func = int(rng.integers(0, 4)) if act == 0 and op != "ADD_I32" else 0
    return dict(op=op, p_kind=p_kind, q_kind=q_kind, count=count, planes=planes, rows=rows, act=act, act_p=act_p,
                func=func,
                dup=not reduces and bool(rng.random() < 0.25), p=int(random_bits(rng, 1)[0]),
                q=int(random_bits(rng, 1)[0]), p_array=random_bits(rng, planes), q_array=random_bits(rng, planes))


def input_steps(rng, c):
    """(row step, plane step, words of the buffer): separate rows, or rows and planes that overlap or repeat."""
    rstep = c["count"] + int(rng.integers(0, 5)) if rng.random() < 0.7 else int(rng.integers(0, c["count"] + 1))
    pstep = c["rows"] * rstep + int(rng.integers(0, 5)) if rng.random() < 0.7 else int(rng.integers(0, 2 * c["count"]))
    return rstep, pstep, (c["planes"] - 1) * pstep + (c["rows"] - 1) * rstep + c["count"]


def word_index(addr, rstep, pstep, planes, rows, count):
    """Index of every element in memory seen as words, steps in words."""
    return addr // 4 + np.arange(planes)[:, None, None] * pstep + np.arange(rows)[:, None] * rstep + np.arange(count)


def lay_out(c, rng):
    """Buffers of a case: memory, addresses and steps. Now and then the output is operand A or B itself."""
    im, at = Image(rng), {}
    shift = lambda: 4 * int(rng.integers(0, 4))
    results = 1 if c["op"] in REDUCE else c["count"] * (2 if c["dup"] else 1)
    o_rstep = results + int(rng.integers(0, 5))
    o_pstep = c["rows"] * o_rstep + int(rng.integers(0, 5))
    o_words = (c["planes"] - 1) * o_pstep + (c["rows"] - 1) * o_rstep + results
    in_place = results == c["count"] and rng.choice(["no", "no", "a", "b"])
    for name in ("a", "b"):
        rstep, pstep, words = (o_rstep, o_pstep, o_words) if in_place == name else input_steps(rng, c)
        at[name] = (im.add(random_bits(rng, words), shift()), rstep, pstep)
    at["o"] = at[in_place] if in_place in ("a", "b") else (im.add(random_bits(rng, o_words, "bits"), shift()),
                                                           o_rstep, o_pstep)
    at["p"], at["q"] = im.add(c["p_array"], shift()), im.add(c["q_array"], shift())
    return im.build(), at, results


def run_case(model, c, rng):
    mem, at, results = lay_out(c, rng)
    shape = (c["planes"], c["rows"])
    words = mem.view(np.uint32)
    x, b = (words[word_index(*at[name], *shape, c["count"])] for name in ("a", "b"))
    y = expected(c, x, b)
    want = mem.copy()
    want.view(np.uint32)[word_index(*at["o"], *shape, results)] = y
    writes = [(REG["SIZE"], c["count"]), (REG["ROWS"], c["rows"] | c["planes"] << 16), (REG["P"], c["p"]),
              (REG["Q"], c["q"]), (REG["P_ADDR"], at["p"]), (REG["Q_ADDR"], at["q"]),
              (REG["ACT"], c["act"] | c["func"] << 4)]
    writes += [(REG["ACT_P0"] + 4 * i, v) for i, v in enumerate(c["act_p"])]
    for name in ("a", "b", "o"):
        addr, rstep, pstep = at[name]
        base = REG[name.upper() + "_ADDR"]
        writes += [(base, addr), (base + 4, 4 * rstep), (base + 8, 4 * pstep)]
    writes.append((REG["CTRL"],
                   1 | OPS.index(c["op"]) << 1 | c["p_kind"] << 6 | c["q_kind"] << 8 | int(c["dup"]) << 10))
    res = model(8, mem, writes)
    assert (res.err, res.alu, res.irq, res.gemm, res.pool) == (0, 1, 1, 0, 0), f"{c['op']}: {res}"
    last = int(y[-1, -1, 0]) if c["op"] in REDUCE else 0
    return mem, want, res.alu_result, last


def test_random_tasks(model, capsys):
    differing, seen, elements = [], collections.Counter(), 0
    for index in range(CASES):
        rng = np.random.Generator(np.random.PCG64([3, index]))
        c = random_case(rng, index)
        mem, want, got_result, want_result = run_case(model, c, rng)
        seen.update([c["op"], f"func{c['func']}", f"p{c['p_kind']}"])
        seen.update([f"q{c['q_kind']}", f"act{c['act']}", f"dup{c['dup']}"])
        elements += c["count"] * c["rows"] * c["planes"]
        if got_result != want_result or not np.array_equal(mem, want):
            at = np.flatnonzero(mem != want)
            differing.append(f"case {index} ({c['op']}, act {c['act']}, function {c['func']}): "
                             f"ALU_RESULT {got_result:#x}, "
                             f"expected {want_result:#x}; {at.size} bytes differ, first {at[:1]}")
    with capsys.disabled():
        print(f"\nALU against NumPy: {CASES} random tasks, {elements} elements, {len(differing)} differences")
    assert not differing, "\n".join(differing[:10])
    assert all(seen[op] for op in OPS) and all(seen[f"{k}{v}"] for k in "pq" for v in range(3)) and seen["dupTrue"]
    assert all(seen[f"act{a}"] for a in range(14)) and all(seen[f"func{f}"] for f in range(len(FUNCS))), seen


def test_order_of_reduction(model):
    """A row whose sum depends on the order: only the order of the specification gives its bits."""
    rng = np.random.Generator(np.random.PCG64(5))
    different = 0
    for length in (1, 2, 31, 32, 33, 63, 64, 65, 1000, 4096):
        v = (rng.standard_normal(length) * 10.0 ** rng.integers(-6, 7, length)).astype(np.float32)
        mem = np.zeros(align(4 * length, 16) + 64, dtype=np.uint8)
        mem[16:16 + 4 * length] = v.view(np.uint8)
        lanes = [np.float32(0)] * 32
        for i, e in enumerate(v):  # one number at a time
            lanes[i % 32] = np.float32(lanes[i % 32] + e)
        for s in (16, 8, 4, 2, 1):
            lanes = [np.float32(lanes[j] + lanes[j + s]) for j in range(s)]
        res = model(8, mem, [(REG["A_ADDR"], 16), (REG["O_ADDR"], 0), (REG["SIZE"], length),
                             (REG["ROWS"], 0x10001), (REG["Q"], 0x3F800000), (REG["CTRL"], 1 | 15 << 1)])
        assert res.alu_result == int(lanes[0].view(np.uint32)) == int(mem[:4].view(np.uint32)[0]), length
        different += int(np.cumsum(v, dtype=np.float32)[-1] != lanes[0])
    assert different >= 3  # the plain order gives something else
