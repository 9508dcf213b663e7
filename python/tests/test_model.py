"""tandem.model: units against NumPy, results in place, what it costs to call them."""

import sys
import time
import timeit

import numpy as np
import pytest
import reference
import tandem
from tandem import model

RNG = np.random.default_rng(5)
F = np.float32


def i8(*shape):
    return RNG.integers(-128, 128, shape).astype(np.int8)


def hard(count):
    """FP32 bit patterns of all kinds."""
    special = np.array([0, 0x80000000, 1, 0x7F800000, 0xFF800000, 0x7FC00000,
                        0x7F7FFFFF, 0x3F000000, 0xBF000000, 0x4F000000], np.uint32)
    return np.concatenate([special, RNG.integers(0, 2**32, count - len(special), dtype=np.uint32)]).view(F)


@pytest.mark.parametrize("n", [4, 8, 16, 32])
def test_mesh(n):
    act, wgt = i8(2 * n, n), i8(n, n)
    want = act.astype(np.int32) @ wgt.astype(np.int32)
    assert reference.same(model.mesh_block(act, wgt), want)
    out = np.full((2 * n, n), -1, np.int32)
    assert model.mesh_block(act, wgt, out=out) is out and reference.same(out, want)
    assert reference.same(model.mesh_diagonal(act, wgt[0]), act.astype(np.int32) * wgt[0].astype(np.int32))
    assert reference.same(model.mesh_diagonal(act), act.astype(np.int32))
    assert reference.same(model.transpose(wgt), np.ascontiguousarray(wgt.T))


def test_other_buffers():
    """Not only NumPy's: bytes, memoryview."""
    act, wgt = i8(8, 4), i8(4, 4)
    view = memoryview(act.tobytes()).cast("b", (8, 4))
    assert reference.same(model.mesh_block(view, wgt), model.mesh_block(act, wgt))


def test_acc_wraps():
    a = np.array([2**31 - 1, -5, 7], np.int32)
    assert model.acc(a, np.array([1, 5, 1], np.int32)) is a
    assert a.tolist() == [-2**31, 0, 8]
    model.acc(a, np.array([1, 2, 3], np.int32), first=True)
    assert a.tolist() == [1, 2, 3]
    model.acc(a, a)
    assert a.tolist() == [2, 4, 6]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_fp():
    a, b = hard(4000), hard(4000)[::-1].copy()
    nan = np.uint32(0x7FC00000).view(F)
    for name, want in (("mul", a * b), ("add", a + b), ("sub", a - b)):
        got = getattr(model, "fp_" + name)(a, b)
        want = np.where(np.isnan(want), nan, want).astype(F)
        assert np.array_equal(got.view(np.uint32), want.view(np.uint32)), name
    assert (np.array_equal(model.fp_lt(a, b), a < b) and np.array_equal(model.fp_le(a, b), a <= b) and
            np.array_equal(model.fp_eq(a, b), a == b))
    assert np.array_equal(model.fp_max(a, b).view(np.uint32), np.where(b > a, b, a).view(np.uint32))
    assert np.array_equal(model.fp_min(a, b).view(np.uint32), np.where(b < a, b, a).view(np.uint32))
    assert np.array_equal(model.fp_relu(a).view(np.uint32), np.where(a > 0, a, F(0)).view(np.uint32))
    finite = a[np.abs(a) < 1e6]
    assert np.array_equal(model.fp_f32_to_i8(finite), reference.quantise(finite, 1))
    assert np.array_equal(model.fp_f32_to_i32(finite), np.rint(finite.astype(np.float64)).astype(np.int32))
    i = RNG.integers(-2**31, 2**31, 1000).astype(np.int32)
    assert np.array_equal(model.fp_i32_to_f32(i), i.astype(F))
    assert np.array_equal(model.fp_mul(a, 2.0).view(np.uint32), model.fp_mul(a, np.full_like(a, 2)).view(np.uint32))
    # bits in, results into the same array
    bits = a.view(np.uint32).copy()
    assert model.fp_add(bits, b, out=bits) is bits and np.array_equal(bits, model.fp_add(a, b).view(np.uint32))


def test_activate():
    x = np.linspace(-8, 8, 1001, dtype=F)
    assert reference.same(model.activate(x, "relu"), np.maximum(x, F(0)))
    assert reference.same(model.activate(x, "leaky", (0.1,)), np.where(x > 0, x, x * F(0.1)))
    assert reference.same(model.activate(x, "none"), x)
    assert np.max(np.abs(model.activate(x, "sigmoid") - 1 / (1 + np.exp(-x.astype(np.float64))))) < 1e-3
    assert reference.same(model.activate(x, 1), model.activate(x, "relu"))


def test_post_and_requant():
    acc = RNG.integers(-2**20, 2**20, (6, 40)).astype(np.int32)
    scale, bias = RNG.random(6).astype(F), RNG.standard_normal(6).astype(F)
    want = acc.astype(F) * scale[:, None] + bias[:, None]
    assert reference.same(model.post(acc, oscale=scale, bias=bias, act="relu"), np.where(want > 0, want, F(0)))
    assert reference.same(model.post(acc, oscale=0.5), acc.astype(F) * F(0.5))
    psum = np.full_like(acc, 2**31 - 2**20)
    assert reference.same(model.post(acc, psum=psum, raw_out=True), acc + psum)
    assert reference.same(model.requant(want, 0.01), reference.quantise(want, 0.01))


def test_layout_and_im2col():
    n, x = 8, RNG.standard_normal((5, 33)).astype(F)
    got = model.layout(x, 40.0, n)
    assert got.shape == (33, n) and np.array_equal(got[:, :5], reference.quantise(x, 40).T) and not got[:, 5:].any()
    ifm = i8(6, 7, 16)
    rows = model.im2col_block(ifm, n, (6, 7), 1, 0, 2, 1, padding=1)
    for j in range(2 * n):
        pixel = 2 * n + j
        y, c = pixel // 7 - 1, pixel % 7 + 1
        inside = pixel < 42 and 0 <= y < 6 and 0 <= c < 7
        assert np.array_equal(rows[j], ifm[y, c, 8:] if inside else np.zeros(8, np.int8))


def test_dma_split():
    bursts = model.dma_split(0x1FF5, 5000)
    assert bursts.dtype == np.uint32 and bursts[:, 2].sum() == 5000 and bursts[0].tolist() == [0x1FF5, 1, 11]
    assert np.all(bursts[:, 1] <= 256) and np.all(bursts[:, 0] // 4096 == (bursts[:, 0] + bursts[:, 2] - 1) // 4096)


def test_alu_element():
    x, p = RNG.standard_normal(100).astype(F), RNG.standard_normal(100).astype(F)
    assert reference.same(model.alu_element("muladd", x, p, 2.0), x * p + F(2))
    assert reference.same(model.alu_element("max", x, 0.25), np.maximum(x, F(0.25)))
    i = np.array([1, 2**31 - 1], np.int32)
    assert model.alu_element("add_i32", i, 1).tolist() == [2, -2**31]
    with pytest.raises(ValueError, match="reduces"):
        model.alu_element("dot", x, p)


def test_docstrings():
    """Every function says what it takes and where it comes from."""
    names = [n for n in dir(model) if callable(getattr(model, n)) and not n.startswith("_")]
    assert len(names) > 25
    for name in names:
        func = getattr(model, name)
        assert func.__text_signature__ and "Source: cmodel/" in func.__doc__ and func.__module__ == "tandem.model", name


def overhead(call, **names):
    return min(timeit.repeat(call, globals={"model": model,
                                            **names}, number=20000, repeat=7, timer=time.process_time)) / 20000


def test_call_overhead():
    """Issue of the extension: under 2 microseconds above the C call. The smallest work stands for no work.
    bench/python_overhead.py measures it beside C."""
    act, wgt, one = i8(8, 4), i8(4, 4), np.ones(1, F)
    assert overhead("model.mesh_block(act, wgt)", act=act, wgt=wgt) < 2e-6
    assert overhead("model.transpose(wgt)", wgt=wgt) < 2e-6
    assert overhead("model.fp_mul(one, one)", one=one) < 2e-6
    assert overhead("model.post(s, oscale=1.0, bias=1.0, act='relu')", s=np.ones(1, np.int32)) < 2e-6


def test_no_leaks():
    """References of arrays stay as they are, also when a call fails."""
    act, wgt, out = i8(8, 4), i8(4, 4), np.zeros((8, 4), np.int32)
    before = [sys.getrefcount(o) for o in (act, wgt, out)]
    for _ in range(100):
        model.mesh_block(act, wgt, out=out)
        with pytest.raises(TypeError):
            model.mesh_block(act, out)
        with pytest.raises(ValueError):
            model.mesh_block(act, wgt[:2])
    assert [sys.getrefcount(o) for o in (act, wgt, out)] == before


def task_of(dev, unit):
    """The registers of the last task that the driver started, with its start bit."""
    regs = np.zeros(128, np.uint32)
    for name, value in dev.registers().items():
        regs[tandem.REGISTERS[name][0] // 4] = value
    regs[tandem.REGISTERS[unit + "_CTRL"][0] // 4] |= 1
    return regs


def test_whole_tasks():
    """The registers that the driver wrote for one operator, executed on a memory of ours: the same result."""
    x = RNG.standard_normal((4, 6, 6)).astype(F)
    base, mem = tandem.DDR_BASE, np.zeros(1 << 16, np.uint8)
    with tandem.Device("model", 4) as dev:
        want = dev.act(x, "tanh")
        regs = task_of(dev, "ALU")
        task = model.alu_decode(regs)
        assert model.ACTIVATIONS[task["act"]] == "tanh" and model.ALU_OPS[task["op"]] == "copy"
        mem[task["a_addr"] - base:][:x.nbytes] = x.view(np.uint8).ravel()
        model.alu_run(regs, mem, base)
        assert np.array_equal(mem[task["o_addr"] - base:][:x.nbytes].view(F).reshape(x.shape), want)

        want = dev.pool(x, 2)
        regs = task_of(dev, "POOL")
        task = model.pool_decode(4, regs)
        assert (task["kw"], task["kh"], task["ow"], task["avg"]) == (2, 2, 3, False)
        for c in range(4):
            mem[task["ifm_addr"] - base + c * task["ifm_cstep"]:][:144] = x[c].view(np.uint8).ravel()
        model.pool_run(4, regs, mem, base)
        for c in range(4):
            assert np.array_equal(mem[task["ofm_addr"] - base + c * task["ofm_cstep"]:][:36].view(F).reshape(3, 3),
                                  want[c])

        want = dev.convert(x, 30.0)
        regs = task_of(dev, "GEMM")
        task = model.gemm_decode(4, regs)
        assert (task["op"] == 2 and task["in_scale"] == 30.0 and model.gemm_follows(4, regs) and
                model.gemm_follows(4, regs, regs))
        for c in range(4):
            mem[task["ifm_addr"] - base + c * task["ifm_cstep"]:][:144] = x[c].view(np.uint8).ravel()
        model.gemm_run(4, regs, mem, base)
        assert np.array_equal(mem[task["ofm_addr"] - base:][:144].view(np.int8).reshape(6, 6, 4).transpose(2, 0, 1),
                              want)

    with pytest.raises(IndexError, match="outside"):
        model.gemm_run(4, regs, bytearray(16), base)
    with pytest.raises(ValueError, match="no legal task"):
        model.gemm_run(4, np.zeros(128, np.uint32), mem)
    with pytest.raises(ValueError, match="read-only"):
        model.gemm_run(4, regs, bytes(16), base)
    assert model.gemm_decode(4, np.zeros(128, np.uint32)) is None
