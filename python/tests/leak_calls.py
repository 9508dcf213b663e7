"""Calls again and again: what stays behind? test_leaks.py runs this in processes of its own, also with a debug build of
Python and under valgrind.

leak_calls.py N [NAME ...]: each call N times, in up to ten rounds until nothing grows. Prints one line of JSON: name ->
what grew in the last round: blocks of Python's allocator, references of one long-lived object (the one that grew most),
and in a debug build of Python, for calls that do not touch NumPy (whose own references such a build does not count),
the number of all references.
"""

import array
import gc
import json
import os
import sys

import numpy as np
import tandem
from tandem import _core, model

import fuzz_calls

EXPECTED = (TypeError, ValueError, IndexError, KeyError, MemoryError, tandem.Error, RuntimeError)
ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
RTL = (4, "fast") in tandem.rtl_builds()
F = np.float32
FAR = 10**6  # small numbers are objects that are counted themselves


def i8(n):
    return array.array("b", bytes(n))


def refused(*calls):
    """Each of them raises."""
    for call in calls:
        try:
            call()
        except EXPECTED:
            continue
        raise SystemExit("no error")


# ---- without NumPy: arguments and results are buffers of the standard library ----

def bare_model():
    y = memoryview(array.array("i", bytes(4 * 8 * 4))).cast("B").cast("i", (8, 4))
    model.mesh_block(memoryview(i8(32)).cast("B").cast("b", (8, 4)), memoryview(i8(16)).cast("B").cast("b", (4, 4)),
                     out=y)
    v = array.array("f", [0.5, -1.0, 3.0])
    model.fp_mul(v, v, out=v)
    model.activate(v, "leaky", (0.1,), out=v)
    model.function(v, "exp", out=v)
    model.gemm_decode(4, array.array("I", bytes(512)))
    model.pool_decode(4, array.array("I", bytes(512)))


def bare_errors():
    refused(lambda: model.mesh_block(i8(3), i8(4)), lambda: model.mesh_block(1, 2),
            lambda: model.mesh_block(i8(3)), lambda: model.fp_add(i8(4), i8(4)),
            lambda: model.fp_add(b"", b"", nonsense=1), lambda: model.activate(array.array("f", [1]), "none of these"),
            lambda: model.gemm_decode(5, b""), lambda: model.gemm_run(4, array.array("I", bytes(512)), bytearray(64)),
            lambda: model.gemm_run(4, array.array("I", bytes(512)), b"read-only"), lambda: tandem.draw(1, "x", 3, 2),
            lambda: tandem.draw(1, 5, 3, 2), lambda: tandem.test_seed(-1, "a", 0), lambda: tandem.test_seed(1, "a"))


def bare_device(kind="model"):
    with tandem.Device(kind, 4, 7, memory=1 << 20, bus="fast", wait="poll", plusargs=["+a", "+b"]) as dev:
        a = dev.alloc(256)
        dev.write(a, b"x" * 64)
        dev.read_into(a, bytearray(64))
        dev.read_register("ID")
        dev.registers()
        dev.counters()
        dev.bus_stats()
        dev.dot(array.array("f", [1, 2, 3]), array.array("f", [1, 2, 3]))
        dev.write_register(0x10, 0)
        dev.free_all()
        dev.reset()
        dev.compare()
        refused(lambda: dev.alloc(1 << 30), lambda: dev.write(0, b"abc"), lambda: dev.read_register("NO"),
                lambda: dev.wave("/no/such/folder/x.fst"), lambda: dev.conv2d(b"", b""), lambda: dev.inject_flip(9, 1))
        return dev.n, dev.kind, dev.seed, dev.cycles, dev.macs, dev.trace_hash, dev.seconds, dev.failure, dev.closed


def bare_draws():
    return tandem.test_seed(1, "conv", 3), tandem.draw(5, "k", -3, 3), tandem.rtl_builds()


def bare_openings():
    refused(lambda: tandem.Device("cpu"), lambda: tandem.Device("model", 5),
            lambda: tandem.Device("model", plusargs=["+a", 3]), lambda: tandem.Device("rtl", 32),
            lambda: tandem.Device("model", wave="x.fst"),
            lambda: tandem.Device("model", memory=1 << 33), lambda: tandem.Network("/no/such"),
            lambda: _core._wave_signals("/no/such"), lambda: _core._check_axi("/no/such"))


# ---- with NumPy ----

X, W = np.ones((4, 8, 8), F), np.ones((4, 4, 3, 3), np.int8)


def operators(kind="model"):
    with tandem.Device(kind, 4) as dev:
        dev.conv2d(X, W, bias=np.ones(4, F), w_scale=np.ones(4, F), act="leaky", act_p=(0.1,), split={"max_oc": 4})
        dev.conv2d(X, W, out_scale=3.0)
        dev.depthwise(X, W[0])
        dev.linear(X.ravel(), np.ones((5, X.size), np.int8))
        dev.pool(X, 2)
        dev.alu("muladd", X, X, 2.0)
        dev.act(X, "tanh")
        dev.global_average(X)
        dev.alu("copy", X, func="exp")
        dev.softmax(X, 1)
        dev.layer_norm(X, np.ones(8, F), np.ones(8, F))
        dev.rms_norm(X, np.ones(8, F))
        dev.copy(dev.upsample2x(dev.convert(X, 2.0)))
        dev.read(dev.alloc(64), (2, 4), "float32")
        refused(lambda: dev.conv2d(X, W, groups=3), lambda: dev.conv2d(W, X),
                lambda: dev.pool(X, 200), lambda: dev.alu("dot", X), lambda: dev.alu("muladd", X, X, X),
                lambda: dev.softmax(X, 3), lambda: dev.layer_norm(X, X), lambda: dev.layer_norm(X, None, X[0, 0]))


def units():
    good = {n: fuzz_calls.good_start(__import__("random").Random(3), n) for n in dir(model)}
    for name, args in good.items():
        if args:
            try:
                getattr(model, name)(*args)
            except EXPECTED:
                pass


def networks():
    net = tandem.Network(os.path.join(ROOT, "models/digits/digits.param"),
                         os.path.join(ROOT, "models/digits/digits.bin"))
    x = np.zeros((2, 64), F)
    net.reference(x, batch=True)
    net.calibrate(x, labels=[1, 2])
    refused(lambda: net.calibrate(x, labels=[1]), lambda: net.calibrate(x, objects=np.ones((1, 6), F)),
            lambda: net.calibrate(x, objects=np.ones((1, 6), F), head="yolox"), lambda: net.calibrate(x, head="x"))
    net.quantise()
    net.optimise()
    with tandem.Device("model", 4) as dev:
        net.run(dev, x, batch=True)
        net.run(dev, x[0], tensors=True)
        refused(lambda: net.run(dev, x[0, :3]), lambda: net.run(X, x),
                lambda: net.calibrate(x, "no"), lambda: net.quantise("/no/such"), lambda: net.save("/no/a", "/no/b"))
    return net.layers, net.last_run, net.inputs, net.outputs, net.memory(4)


def waves():
    path = os.path.join(ROOT, "docs/axi-check.vcd")
    fst = tandem.Fst(path)
    fst.read(list(fst))
    tandem.check_axi(path)
    tandem.axi_ports(path)
    refused(lambda: fst["no"], lambda: tandem.check_axi(path, side="left"),
            lambda: tandem.check_axi(path, ranges=[3]), lambda: tandem.Fst("/no/such"))


def failures():
    """Exceptions with attributes: a difference, a hang, an error of the bus."""
    for fault, kind in ((lambda d: d.inject_flip(0, 3), "tandem"), (lambda d: d.inject_hang(0, "R"), "rtl"),
                        (lambda d: d.inject_error(0, "read"), "rtl")):
        with tandem.Device(kind, 4, watchdog=2000) as dev:
            fault(dev)
            refused(lambda: dev.conv2d(X, W))


def fuzz():
    """The same wrong calls every time."""
    sys.argv = ["fuzz_calls.py", "model", "1", "300"]
    fuzz_calls.main()


BARE = [bare_model, bare_errors, bare_device, bare_draws, bare_openings]
OTHER = [operators, units, networks, waves, fuzz]


def references():
    """id -> (references, what) of objects that live long: modules' contents, types, constants, cached objects."""
    gc.collect()
    lasting = [None, True, False, Ellipsis, NotImplemented, (), "", b"", *range(-5, 257), *map(chr, range(128))]
    lasting += [o for o in gc.get_objects() if isinstance(o, (type, type(sys)))]
    for module in (tandem, model, _core, np, fuzz_calls):
        lasting += list(vars(module).values())
    lasting += [np.dtype(t) for t in ("i1", "u1", "i4", "u4", "f4", "u8", "?")] + [X, W]
    return {id(o): (sys.getrefcount(o), o) for o in lasting}


def all_references():
    """Of a debug build of Python; else 0."""
    return sys.gettotalrefcount() if hasattr(sys, "gettotalrefcount") else 0


def blocks_of(call, count):
    """Blocks and, of a debug build, references that `count` calls leave."""
    gc.collect()
    blocks, total = sys.getallocatedblocks(), all_references()
    for _ in range(count):
        call()
    gc.collect()
    total = all_references() - total
    return {"blocks": sys.getallocatedblocks() - blocks, "total": total if call in BARE else 0}


def references_of(call, count):
    """References of the object of which most were left."""
    before = {key: FAR + row[0] for key, row in references().items()}
    for _ in range(count):
        call()
    most, of = max(((FAR + row[0] - before.get(key, FAR + row[0]), repr(row[1])[:60])
                    for key, row in references().items()), key=lambda row: row[0])
    return {"references": most, "of": of}


def settled(measure, call, count):
    """Caches and free lists fill up and then stay; a leak grows in every round."""
    for _ in range(40 if count > 1 else 2):  # 1: somebody else counts, valgrind
        result = measure(call, count)
        if all(abs(value) * 2 < count for value in result.values() if isinstance(value, int)):
            break
    return result


def measure(call, count):
    count = max(20, count) if call is fuzz else count  # its noise is a few blocks
    return {"calls": count, **settled(blocks_of, call, count), **settled(references_of, call, count)}


class Nowhere:
    """Keeps nothing, not even a line end."""

    def write(self, text):
        pass

    def flush(self):
        pass


def main():
    names = sys.argv[2:]
    count = int(sys.argv[1])
    np.seterr(all="ignore")
    real_stdout, sys.stdout = sys.stdout, Nowhere()
    calls = BARE + OTHER + ([failures] if RTL else [])
    report = {call.__name__: measure(call, count) for call in calls if not names or call.__name__ in names}
    print(json.dumps(report), file=real_stdout)


if __name__ == "__main__":
    main()
