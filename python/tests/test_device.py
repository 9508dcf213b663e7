"""tandem.Device: operators against NumPy, memory, registers, failures, threads."""

import gc
import math
import os
import subprocess
import sys
import threading

import numpy as np
import pytest
import reference
import tandem

F = np.float32
FULL = os.environ.get("TANDEM_CHECK") == "1"


def draw(rng, most=400000):
    """A random convolution: arrays and keywords. most: multiply-accumulates."""
    while True:
        groups = int(rng.choice([1, 1, 1, 2, 3]))
        each, out = int(rng.integers(1, 20)), int(rng.integers(1, 20))
        kernel = tuple(int(v) for v in rng.integers(1, 6, 2))
        stride = tuple(int(v) for v in rng.integers(1, 4, 2))
        dilation = tuple(int(v) for v in rng.choice([1, 1, 1, 2, 3], 2))
        pads = tuple(int(v) for v in rng.integers(0, 4, 4))
        h, w = (int(v) for v in rng.integers(1, 24, 2))
        fits = all(size + a + b >= (k - 1) * d + 1
                   for size, a, b, k, d in zip((h, w), pads[:2], pads[2:], kernel, dilation))
        if fits and h * w * each * out * groups * kernel[0] * kernel[1] <= most:
            break
    x = rng.integers(-127, 128, (each * groups, h, w)).astype(np.int8)
    weights = rng.integers(-127, 128, (out * groups, each) + kernel).astype(np.int8)
    act = str(rng.choice(["none", "relu", "leaky", "clip"]))
    kw = {"stride": stride, "dilation": dilation, "padding": pads, "groups": groups, "act": act,
          "act_p": {"leaky": (0.125,), "clip": (-50.0, 80.5)}.get(act, ())}
    kw["w_scale"] = rng.random(out * groups).astype(F) + F(0.01) if rng.random() < 0.5 else 1.0
    kw["bias"] = (rng.standard_normal(out * groups) * 100).astype(F) if rng.random() < 0.5 else None
    kw["in_scale"] = float(rng.choice([1.0, 0.75, 20.0]))
    return x, weights, kw


def expected(x, weights, kw):
    acc = reference.sums(x, weights, kw["stride"], kw["dilation"], kw["padding"], kw["groups"])
    return reference.finish(acc, kw["in_scale"], kw["w_scale"], kw["bias"], kw["act"], kw["act_p"])


def check_conv(dev, rng, count, most=400000):
    for i in range(count):
        x, weights, kw = draw(rng, most)
        want = expected(x, weights, kw)
        kind = int(rng.integers(0, 3))
        if kind == 0:  # FP32 in: the device quantises
            real = (rng.standard_normal(x.shape) * 60 / kw["in_scale"]).astype(F)
            want = expected(reference.quantise(real, kw["in_scale"]), weights, kw)
            got = dev.conv2d(real, weights, **kw)
        elif kind == 1:  # INT8 out
            got, want = dev.conv2d(x, weights, out_scale=0.01, **kw), reference.quantise(want, 0.01)
        else:
            got = dev.conv2d(x, weights, **kw)
        assert reference.same(got, want), "call %d: x %s, w %s, %r" % (i, x.shape, weights.shape, kw)


@pytest.mark.parametrize("n", [4, 8, 16, 32])
def test_conv2d_model(n):
    """With TANDEM_CHECK=1 1,000 calls in all."""
    with tandem.Device("model", n) as dev:
        check_conv(dev, np.random.default_rng(n), 250 if FULL else 15)


def test_conv2d_rtl():
    with tandem.Device("rtl", 4, bus="typical") as dev:
        check_conv(dev, np.random.default_rng(7), 100 if FULL else 4, most=100000)
        assert dev.cycles > 1000


def test_conv2d_tandem():
    with tandem.Device("tandem", 4, seed=3) as dev:
        check_conv(dev, np.random.default_rng(8), 40 if FULL else 3, most=100000)


@pytest.fixture(params=["model", "tandem"])
def dev(request):
    with tandem.Device(request.param, 4) as device:
        yield device


def test_operators(dev):
    rng = np.random.default_rng(1)
    x = rng.standard_normal((6, 9, 7)).astype(F)
    q = rng.integers(-127, 128, (6, 9, 7)).astype(np.int8)
    w = rng.integers(-127, 128, (6, 3, 3)).astype(np.int8)
    acc = reference.sums(q, w[:, None], (1, 1), (1, 1), (1, 1, 1, 1), 6)
    assert reference.same(dev.depthwise(q, w, padding=1, bias=2.5), reference.finish(acc, 1, 1, 2.5))
    big = rng.integers(-127, 128, (33, q.size)).astype(np.int8)
    want = reference.finish(big.astype(np.int32) @ q.ravel().astype(np.int32), 0.5, 3, None, "relu")
    assert reference.same(dev.linear(q.ravel(), big, in_scale=0.5, w_scale=3.0, act="relu"), want)
    assert reference.same(dev.linear(x.ravel(), big, in_scale=30.0), reference.finish(
        big.astype(np.int32) @ reference.quantise(x, 30).ravel().astype(np.int32), 30, 1, None))
    assert reference.same(dev.convert(x, 30.0), reference.quantise(x, 30))
    assert reference.same(dev.convert(q, 0.25), q.astype(F) * F(0.25))
    assert reference.same(dev.copy(x), x) and reference.same(dev.copy(q), q)
    for t in (x, q):
        assert reference.same(dev.upsample2x(t), t.repeat(2, axis=1).repeat(2, axis=2))
    cut = x[:, :8, :6].reshape(6, 4, 2, 3, 2)
    assert reference.same(dev.pool(x, 2), cut.max(axis=(2, 4)))
    assert reference.same(dev.pool(q), q.max(axis=(1, 2), keepdims=True))
    assert dev.pool(x, 3, stride=(2, 1), padding=1, mode="average", exclude_pad=True, ceil_mode=True).shape == (6, 5, 7)
    assert np.allclose(dev.pool(x, 2, mode="average"), cut.mean(axis=(2, 4)), atol=1e-6)
    assert np.allclose(dev.global_average(x), x.mean(axis=(1, 2)), atol=1e-6)
    assert np.isclose(dev.dot(x.ravel(), x.ravel(), 2.0), 2 * float((x.astype(np.float64)**2).sum()), rtol=1e-6)


def test_alu(dev):
    rng = np.random.default_rng(2)
    a, b = rng.standard_normal((2, 5, 6, 7)).astype(F)
    c = rng.standard_normal(5).astype(F)
    assert reference.same(dev.alu("add", a, b), a + b)
    assert reference.same(dev.alu("muladd", a, c, 2.0), a * c[:, None, None] + F(2))
    assert reference.same(dev.alu("addmul", a, b, c), (a + b) * c[:, None, None])
    assert reference.same(dev.alu("addmul", a, c, b), (a + c[:, None, None]) * b)
    assert reference.same(dev.alu("max", a, 0.5, act="leaky", act_p=(0.1,)), np.maximum(a, F(0.5)))
    assert reference.same(dev.alu("prelu", a, c), np.where(a > 0, a, a * c[:, None, None]))
    assert reference.same(dev.alu("sub", a[0], b[0]), a[0] - b[0])
    assert reference.same(dev.alu("abs", a[0, 0]), np.abs(a[0, 0]))
    i = rng.integers(-2**31, 2**31, (3, 4, 5)).astype(np.int32)
    assert reference.same(dev.alu("add_i32", i, 77), i + np.int32(77))
    assert reference.same(dev.act(a, "relu"), np.where(a > 0, a, F(0)))
    with pytest.raises(ValueError, match="one tensor besides a"):
        dev.alu("muladd", a, b, b)


def ulps(got, exact):
    """Distance in units in the last place of FP32 (subnormals: the step of the smallest ones)."""
    step = np.exp2(np.maximum(np.floor(np.log2(np.abs(exact))), -126) - 23)
    return np.abs(got.astype(np.float64) - exact) / step


def test_functions(dev):
    rng = np.random.default_rng(5)
    a = rng.uniform(-80, 80, (3, 8, 9)).astype(F)
    positive = np.exp2(rng.uniform(-100, 100, (3, 8, 9))).astype(F)
    a64, p64 = a.astype(np.float64), positive.astype(np.float64)
    for x, func, exact in ((a, "exp", np.exp(a64)), (positive, "recip", 1 / p64), (-positive, "recip", -1 / p64),
                           (positive, "rsqrt", 1 / np.sqrt(p64))):
        got = dev.alu("copy", x, func=func)
        assert got.dtype == F and ulps(got, exact).max() <= 0.75
        assert reference.same(tandem.model.function(x, func), got)
    assert reference.same(dev.alu("sub", a, 3.0, func="exp"), tandem.model.function(a - F(3), "exp"))
    assert tandem.model.FUNCTIONS == ("none", "exp", "recip", "rsqrt")
    for act, exact in (("gelu", [0.5 * v * (1 + math.erf(v / math.sqrt(2))) for v in a64.flat]),
                       ("gelu_tanh", 0.5 * a64 * (1 + np.tanh(math.sqrt(2 / math.pi) * (a64 + 0.044715 * a64**3))))):
        assert np.max(np.abs(dev.act(a, act).ravel() - np.ravel(exact)) / np.maximum(1, np.abs(a64.ravel()))) < 7e-5
    special = np.array([np.nan, np.inf, -np.inf, 0, -0.0], F)
    assert reference.same(dev.alu("copy", special, func="exp"), np.array([np.nan, np.inf, 0, 1, 1], F))
    assert reference.same(dev.alu("copy", special, func="recip"), np.array([np.nan, 0, -0.0, np.inf, -np.inf], F))
    with pytest.raises(ValueError, match="func: expected without an activation"):
        dev.alu("copy", a, act="relu", func="exp")
    with pytest.raises(ValueError, match="func"):
        dev.alu("copy", a, func="log")


@pytest.mark.parametrize("shape, axis", [((7,), -1), ((5, 197), -1), ((5, 197), 0), ((2, 768), 1),
                                         ((3, 4, 6), 0), ((3, 4, 6), 1), ((3, 4, 6), 2), ((2, 3, 2, 5), -1),
                                         ((2, 3, 4, 5), 1), ((6, 1), 0)])
def test_softmax(dev, shape, axis):
    """Within (n / 32 + 12 + the row's range) * 2^-24 of each value: see the steps in docs/npu/driver.md, Rows."""
    x = (np.random.default_rng(6).standard_normal(shape) * 4).astype(F)
    x64 = x.astype(np.float64)
    far = x64.max(axis=axis, keepdims=True) - x64
    exact = np.exp(-far) / np.exp(-far).sum(axis=axis, keepdims=True)
    across = axis != -1 and np.prod(shape[axis + 1:]) > 1
    terms = x.shape[axis] / (1 if across else 32)  # down columns one is added after the other
    got = dev.softmax(x, axis)
    assert got.dtype == F and got.shape == x.shape
    assert np.all(np.abs(got - exact) <= exact * (terms + 12 + far.max()) * 2.0**-24)


@pytest.mark.parametrize("shape", [(9,), (5, 197), (3, 4, 6), (2, 768)])
def test_norms(dev, shape):
    """Within 4e-7 of the largest result, and RMS norm relative to each value."""
    rng = np.random.default_rng(7)
    x = (rng.standard_normal(shape) * 3 + 1).astype(F)
    gamma, beta = rng.standard_normal((2, shape[-1])).astype(F)
    x64 = x.astype(np.float64)
    centred = x64 - x64.mean(axis=-1, keepdims=True)
    for eps in (1e-5, 0.5):
        layer = centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + F(eps))
        rms = x64 / np.sqrt((x64**2).mean(axis=-1, keepdims=True) + F(eps))
        for got, exact in ((dev.layer_norm(x, eps=eps), layer), (dev.layer_norm(x, gamma, eps=eps), layer * gamma),
                           (dev.layer_norm(x, gamma, beta, eps=eps), layer * gamma + beta)):
            assert got.dtype == F and got.shape == shape
            assert np.max(np.abs(got - exact)) <= 4e-7 * np.max(np.abs(exact))
        for got, exact in ((dev.rms_norm(x, eps=eps), rms), (dev.rms_norm(x, gamma, eps=eps), rms * gamma)):
            assert np.all(np.abs(got - exact) <= 4e-7 * np.abs(exact))
    assert reference.same(dev.layer_norm(x), dev.layer_norm(x, eps=1e-5))
    for call in (lambda: dev.layer_norm(x, beta=beta), lambda: dev.layer_norm(x, gamma[1:]), lambda: dev.softmax(x, 4),
                 lambda: dev.rms_norm(np.zeros((3, 0), F)), lambda: dev.softmax(np.zeros((65536, 2), F)),
                 lambda: dev.layer_norm(np.float32(1)), lambda: dev.softmax(np.array(1, F))):
        with pytest.raises(ValueError):
            call()
    with pytest.raises(TypeError):
        dev.softmax(x64)


def test_split_changes_nothing(dev):
    rng = np.random.default_rng(3)
    x = rng.integers(-127, 128, (12, 10, 9)).astype(np.int8)
    w = rng.integers(-127, 128, (9, 12, 3, 3)).astype(np.int8)
    whole = dev.conv2d(x, w, padding=1)
    for split in ({"max_ic": 4}, {"max_oc": 4, "serial": True}, {"max_oh": 2, "max_ow": 3}, {"group": 2}):
        assert reference.same(dev.conv2d(x, w, padding=1, split=split), whole), split
    with pytest.raises(tandem.DriverError, match="impossible split") as e:
        dev.conv2d(x, w, split={"max_ic": 3})
    assert e.value.what == "conv2d" and e.value.status > 0


def test_memory(dev):
    a = dev.alloc(1000, align=256)
    b = dev.alloc(64, kind="in")
    assert a % 256 == 0 and b >= a + 1000 + 64
    data = np.arange(250, dtype=np.int32)
    dev.write(a, data)
    assert reference.same(dev.read(a, 250, np.int32), data)
    assert dev.read(a + 4, (2, 2), "uint8").tolist() == [[1, 0], [0, 0]]
    out = bytearray(8)
    assert dev.read_into(a + 8, out) is out and out == data.tobytes()[8:16]
    dev.write(b, b"hello")
    dev.conv2d(np.ones((1, 2, 2), np.int8), np.ones((1, 1, 1, 1), np.int8))  # operators leave other buffers alone
    assert dev.read(b, 5).tobytes() == b"hello"
    for call in (lambda: dev.write(0, data), lambda: dev.read(2**32 - 4, 8),
                 lambda: dev.read_into(tandem.DDR_BASE + (1 << 30) - 4, out)):
        with pytest.raises(IndexError):
            call()
    with pytest.raises(MemoryError):
        dev.alloc(2**31)
    dev.free_all()
    assert dev.alloc(1000, align=256) == a


def test_memory_of_operators_is_free_again():
    """More calls than memory has room for."""
    x = np.ones((256, 64, 64), F)
    with tandem.Device("model", 4, memory=64 << 20) as dev:
        for _ in range(20):
            dev.copy(x)
        with pytest.raises(MemoryError, match="device memory"):
            dev.copy(np.ones((1024, 128, 128), F))
        assert dev.copy(x[0:1]).sum() == 64 * 64


def test_registers(dev):
    assert dev.read_register("CONFIG") & 0xFF == dev.n == 4
    dev.write_register("GEMM_BIAS_ADDR", 0x12345670)
    assert dev.read_register(tandem.REGISTERS["GEMM_BIAS_ADDR"][0]) == 0x12345670
    everything = dev.registers()
    assert everything["ID"] == 0x4E500001 and set(everything) == set(tandem.REGISTERS)
    offset, fields = tandem.REGISTERS["GEMM_CTRL"]
    assert fields["OP"] == (1, fields["OP"][1], {"CONV": 0, "DEPTHWISE": 1, "CONVERT": 2}) and offset == 0xF0
    with pytest.raises(ValueError, match="no register"):
        dev.read_register("NONSENSE")
    with pytest.raises(ValueError):
        dev.read_register(3)


def test_counters():
    with tandem.Device("rtl", 4) as dev:
        dev.clear_counters()
        dev.conv2d(np.ones((8, 6, 6), F), np.ones((8, 8, 3, 3), np.int8))
        counters = dev.counters()
        assert tuple(counters) == tandem.COUNTERS
        assert (0 < counters["gemm_compute"] <= counters["gemm_busy"] <= counters["cycles"] and
                counters["pool_busy"] == 0)
        assert [p["port"] if "port" in p else p.get("name") for p in dev.bus_stats()] and len(dev.bus_stats()) == 3


def test_same_seed_same_trace():
    hashes = set()
    for seed in (5, 5, 6):
        with tandem.Device("rtl", 4, seed, bus="slow") as dev:
            dev.act(np.ones((3, 8, 8), F), "tanh")
            dev.finish()
            hashes.add(dev.trace_hash)
    assert len(hashes) == 2


def test_divergence():
    with tandem.Device("tandem", 4) as dev:
        dev.inject_flip(0, 3)
        with pytest.raises(tandem.Divergence) as e:
            dev.conv2d(np.ones((4, 8, 8), F), np.ones((4, 4, 3, 3), np.int8))
        assert e.value.signature == "mem:differ" and e.value.unit == "gemm" and 0 < e.value.cycle <= dev.cycles
        assert "output buffer" in e.value.text and e.value.text in str(e.value)
        assert dev.failure == "mem:differ"
        with pytest.raises(tandem.Divergence):  # it stays failed
            dev.copy(np.ones((1, 2, 2), F))


def test_bus_error():
    with tandem.Device("rtl", 4) as dev:
        dev.inject_error(0, "read")
        with pytest.raises(tandem.DriverError, match=r"bus error \(ERR = 0x"):
            dev.copy(np.ones((4, 8, 8), F))
        assert dev.copy(np.ones((4, 8, 8), F)).sum() == 256  # the device is in order


def test_hang():
    """The whole report is in the exception."""
    with tandem.Device("rtl", 4, watchdog=2000) as dev:
        dev.inject_hang(0, "R")
        with pytest.raises(tandem.DeviceError) as e:
            dev.copy(np.ones((4, 8, 8), F))
        assert e.value.signature.startswith("watchdog:hang") and not isinstance(e.value, tandem.Divergence)
        assert len(e.value.text.splitlines()) > 3 and "hang" in e.value.text and dev.cycles < 20000


def test_limit_of_cycles():
    with pytest.raises(tandem.DeviceError) as e:
        with tandem.Device("rtl", 4, max_cycles=2000) as dev:
            dev.run(10000)
    assert e.value.signature == "host:cycles" and not isinstance(e.value, tandem.Divergence)


def test_fails_at_once():
    """A design that fails before its first task is a failed device, no refused argument."""
    with pytest.raises(tandem.DeviceError) as e:
        tandem.Device("rtl", 4, max_cycles=1)
    assert e.value.signature == "host:cycles" and e.value.cycle == 6


def test_life():
    dev = tandem.Device("model", 8, seed=9)
    assert (dev.kind, dev.n, dev.seed, dev.closed, dev.cycles, dev.failure) == ("model", 8, 9, False, 0, None)
    dev.close()
    dev.close()
    assert dev.closed
    for call in (lambda: dev.n, lambda: dev.copy(np.ones((1, 1, 1), F)),
                 lambda: dev.alloc(16), dev.counters, dev.reset, dev.__enter__):
        with pytest.raises(ValueError, match="closed"):
            call()
    with pytest.raises(RuntimeError, match="kept"):
        with tandem.Device("model"):
            raise RuntimeError("kept")


def test_reset():
    with tandem.Device("tandem", 4) as dev:
        x = np.ones((3, 4, 4), F)
        assert reference.same(dev.copy(x), x)
        dev.reset()
        assert reference.same(dev.copy(x), x)


def test_wrong_openings():
    for error, args, kw in ((ValueError, ("cpu",), {}), (TypeError, (), {}), (ValueError, ("model", 5), {}),
                            (tandem.Error, ("rtl", 4), {"bus": "no"}), (tandem.Error, ("rtl", 4), {"build": "../x"}),
                            (ValueError, ("model",), {"memory": 2**32}), (TypeError, ("model",), {"color": 1}),
                            (ValueError, ("rtl", 4), {"plusargs": ["x"]}), (TypeError, ("rtl", 4), {"plusargs": "+x"}),
                            (ValueError, ("model",), {"wave": "x.fst"}), (TypeError, ("model", 8, "1"), {}),
                            (ValueError, ("model", 8, -1), {}), (ValueError, ("model", 8), {"wait": "sleep"}),
                            (tandem.Error, ("rtl", 4), {"wave": "x.fst", "build": "fast"})):
        with pytest.raises(error):
            tandem.Device(*args, **kw)
    with pytest.raises(tandem.Error, match="make python CFG=n16"):
        tandem.Device("rtl", 16, build="tap")


def test_no_waveform_here():
    with tandem.Device("rtl", 4) as dev, pytest.raises(tandem.Error, match="build with tracing"):
        dev.wave("x.fst")
    with tandem.Device("model", 4) as dev, pytest.raises(tandem.Error, match="golden model"):
        dev.wave("x.fst")


def test_two_sizes_in_one_process():
    if (8, "fast") not in tandem.rtl_builds():
        pytest.skip("not run: no RTL of N=8 is in the package (make python PYTHON_RTL=n8-fast)")
    x, w = np.ones((8, 6, 6), F), np.ones((8, 8, 3, 3), np.int8)
    with tandem.Device("tandem", 4) as four, tandem.Device("tandem", 8) as eight:
        a, b = four.conv2d(x, w), eight.conv2d(x, w)
        assert reference.same(a, b) and four.cycles != eight.cycles
        assert four.n == 4 and eight.read_register("CONFIG") & 0xFF == 8


def many(dev, x, results, count):
    try:
        results.append(all(reference.same(dev.copy(x), x) for _ in range(count)))
    except Exception as error:  # for the test to see
        results.append(error)


@pytest.mark.parametrize("shared", [True, False])
def test_threads(shared):
    """One device for all: calls wait for each other. A device each: they run at the same time."""
    x = np.random.default_rng(4).standard_normal((4, 16, 16)).astype(F)
    devices = [tandem.Device("tandem", 4, seed) for seed in range(1 if shared else 4)]
    results = []
    threads = [threading.Thread(target=many, args=(devices[i % len(devices)], x, results, 5)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for d in devices:
        d.close()
    assert results == [True] * 4


def test_closed_by_another_thread():
    """Never a crash: the others get an error."""
    x = np.ones((4, 16, 16), F)
    for _ in range(10):
        dev = tandem.Device("model", 4)
        results = []
        threads = [threading.Thread(target=many, args=(dev, x, results, 200)) for _ in range(3)]
        for t in threads:
            t.start()
        dev.close()
        for t in threads:
            t.join()
        assert all(r is True or (isinstance(r, ValueError) and "closed" in str(r)) for r in results)


def test_gil_is_released():
    """Another thread counts while the simulation runs, in one call that is long enough for that."""
    ticks = []
    stop = threading.Event()

    def count():
        while not stop.wait(0.001):
            ticks.append(1)

    with tandem.Device("rtl", 4) as dev:
        t = threading.Thread(target=count)
        t.start()
        cycles, during = 100000, 0
        while during <= 20 and cycles < 50000000:
            before = len(ticks)
            dev.run(cycles)
            during = len(ticks) - before
            cycles *= 2
        stop.set()
        t.join()
    assert during > 20


def test_references():
    """Arrays are let go of, whether a call succeeds or not; a device goes away with its last reference."""
    x, w = np.ones((4, 8, 8), F), np.ones((4, 4, 3, 3), np.int8)
    with tandem.Device("model", 4) as dev:
        dev.conv2d(x, w)
        before = sys.getrefcount(x), sys.getrefcount(w)
        for _ in range(50):
            dev.conv2d(x, w, bias=1)
            for call in (lambda: dev.conv2d(x, w, groups=3), lambda: dev.conv2d(w, x),
                         lambda: dev.pool(x, 200), lambda: dev.alu("dot", x)):
                with pytest.raises((ValueError, TypeError, tandem.DriverError)):
                    call()
        assert (sys.getrefcount(x), sys.getrefcount(w)) == before
    kind = type(dev)
    gc.collect()
    count = sys.getrefcount(kind)
    for _ in range(20):
        tandem.Device("model", 4)
    gc.collect()
    assert sys.getrefcount(kind) == count


GROWTH = """
import resource, sys
import numpy as np
import tandem
from tandem import model
x, w = np.ones((16, 32, 32), np.float32), np.ones((16, 16, 3, 3), np.int8)
act, wgt = np.ones((8, 4), np.int8), np.ones((4, 4), np.int8)
def work(count):
    for _ in range(count):
        with tandem.Device("model", 4) as dev:
            dev.conv2d(x, w, padding=1, bias=np.ones(16, np.float32)); dev.pool(x, 2); dev.alu("add", x, x)
            for bad in (lambda: dev.conv2d(x, w, groups=5), lambda: dev.pool(x, 100),
                        lambda: dev.read(0, 4), lambda: dev.linear(act, wgt)):
                try:
                    bad()
                    raise SystemExit("no error")
                except (ValueError, IndexError, tandem.Error):
                    pass
        for _ in range(1000):
            model.mesh_block(act, wgt)
            model.gemm_decode(4, np.zeros(128, np.uint32))
            model.alu_decode(np.zeros(128, np.uint32))
work(10)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
work(COUNT)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def test_memory_does_not_grow(package):
    """Devices, results and errors again and again in a process of its own: its largest size stays (kB)."""
    env = {**os.environ, "PYTHONPATH": package}
    done = subprocess.run([sys.executable, "-c", GROWTH.replace("COUNT", "300" if FULL else "40")],
                          env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 2048


def test_doubly_imported(package):
    """Per-module state: a fresh copy of the modules has its own types and works beside the first."""
    code = """
import sys, importlib
import numpy as np
import tandem
first = tandem
for name in [m for m in sys.modules if m.startswith("tandem")]:
    del sys.modules[name]
import tandem
assert tandem is not first and tandem.Device is not first.Device and tandem.Divergence is not first.Divergence
x = np.ones((1, 2, 2), np.float32)
for t in (first, tandem):
    assert t.Device("model", 4).copy(x).sum() == 4
    assert t.model.fp_add(x, 1.0).sum() == 8
try:
    tandem.Device("model", 5)
except ValueError:
    print("good")
"""
    env = {**os.environ, "PYTHONPATH": package}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout == "good\n", done.stderr
