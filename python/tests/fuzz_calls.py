"""Calls with wrong arguments, drawn from a seed: test_fuzz.py runs this in a process of its own. Prints the number of
calls, and how many went well."""

import random
import sys

import numpy as np
import tandem
from tandem import _core, model

EXPECTED = (TypeError, ValueError, IndexError, MemoryError, tandem.Error)
OPERATORS = ["conv2d", "depthwise", "linear", "convert", "pool", "alu",
             "act", "dot", "softmax", "layer_norm", "rms_norm", "global_average", "upsample2x", "copy"]
ACCESSES = ["alloc", "write", "read", "read_into", "read_register", "write_register",
            "wave", "inject_flip", "inject_error", "inject_hang"]
KEYWORDS = ["out", "in_scale", "w_scale", "bias", "stride", "dilation", "padding", "groups",
            "act", "act_p", "out_scale", "split", "p", "q", "first", "base", "n", "op", "kernel", "mode", "psum",
            "oscale", "raw_out", "scale", "nonsense", "block", "tile", "exclude_pad", "ceil_mode", "dtype", "shape"]


class Liar:
    """Raises wherever it is looked at."""

    def __index__(self):
        raise ValueError("index")

    def __float__(self):
        raise ValueError("float")

    def __len__(self):
        raise ValueError("len")

    def __getitem__(self, i):
        raise ValueError("item")

    def __bool__(self):
        raise ValueError("bool")


def shape_of(rng):
    kind = rng.randrange(10)
    if kind == 0:
        return tuple(rng.choice([0, 1, 2, 3]) for _ in range(rng.randrange(0, 6)))
    n = rng.choice([1, 2, 3, 4, 4, 8, 16])
    return rng.choice([(n,), (2 * n, n), (n, n), (n, 5, 6), (n, n, 3, 3),
                       (3, 3, n), (n, 3, 3), (128,), (1, 1, 1), (n, 1, 1, 1), ()])


def array(rng):
    dtype = rng.choice([np.int8, np.int8, np.int8, np.float32, np.float32,
                        np.int32, np.uint32, np.uint8, np.float64, np.float16, np.int64, np.bool_,
                        np.complex64, ">i4", ">f4", "S3", object, [("a", "i1"), ("b", "i4")], "M8[s]"])
    shape = shape_of(rng)
    size = int(np.prod(shape))
    values = np.frombuffer(rng.randbytes(size), np.int8) % 7
    try:
        a = values.astype(dtype).reshape(shape)
    except (TypeError, ValueError):
        a = np.zeros(shape, dtype)
    kind = rng.randrange(12)
    if kind == 0 and a.ndim > 1:
        a = a.T
    elif kind == 1 and a.ndim > 0:
        a = a[::-1]
    elif kind == 2 and a.ndim > 0:
        a = a.repeat(2, axis=-1)[..., ::2]
    elif kind == 3:
        a = a.copy()
        a.flags.writeable = False
    elif kind == 4 and a.dtype.itemsize > 1 and a.dtype != object:
        raw = np.zeros(a.nbytes + 1, np.uint8)
        b = raw[1:].view(a.dtype) if raw[1:].nbytes % a.dtype.itemsize == 0 else a  # not aligned
        a = b.reshape(shape) if b.size == a.size else a
    elif kind == 5 and a.ndim > 0:
        a = np.broadcast_to(a[..., :1], a.shape)
    elif kind == 6 and a.dtype != object:
        try:
            return memoryview(a)
        except ValueError:
            return a
    elif kind == 7:
        return a.tobytes() if a.dtype != object else a
    elif kind == 8 and a.dtype == np.int8 and a.size:
        return memoryview(bytearray(a.tobytes())).cast("b", a.shape) if a.ndim else bytearray(a.tobytes())
    return a


def register_values(rng):
    regs = np.zeros(128, np.uint32)
    if rng.random() < 0.5:
        return np.frombuffer(rng.randbytes(512), np.uint32)
    for name, value in (("GEMM_CTRL", 1 | 1 << 1 * rng.randrange(2)), ("ALU_CTRL", 1), ("POOL_CTRL", 1)):
        regs[tandem.REGISTERS[name][0] // 4] = value
    for i in rng.sample(range(128), 30):
        regs[i] = rng.choice([0, 1, 3, 8, 0x40004, 0x80008, 16, 64, 0x10001])
    return regs


def value(rng):
    kind = rng.randrange(16)
    if kind < 7:
        return array(rng)
    if kind == 7:
        return register_values(rng)
    return rng.choice([None, 0, 1, 2, 3, 4, 8, -1, 2**31, 2**32, 2**64,
                       2**200, 1.0, 0.5, -0.0, float("nan"), float("inf"), 1e300, "relu", "copy", "add", "x",
                       "max", "", "a\0b", "\udc80", b"x", (1, 2), (1, 2, 3, 4), [1.0, 2.0], (),
                       {}, {"max_ic": 4}, {"serial": 1, 3: 4}, Liar(), object, tandem.DDR_BASE, tandem.DDR_BASE + 64,
                       "GEMM_CTRL", "read", np.float32(2), np.int8(3), np.array(4), True, int, "int8", "float32"])


def arguments(rng):
    args = [value(rng) for _ in range(rng.randrange(0, 6))]
    keys = rng.sample(KEYWORDS, rng.choice([0, 0, 1, 1, 2, 4]))
    return args, {k: value(rng) for k in keys}


def good_start(rng, name):
    """First arguments that lead further in."""
    x = np.ones((rng.choice([1, 3, 4]), 6, 6), rng.choice([np.float32, np.int8]))
    n = rng.choice([4, 8])
    starts = {
        "conv2d": [x, np.ones((2, x.shape[0], 3, 3), np.int8)], "depthwise": [x, np.ones((x.shape[0], 3, 3), np.int8)],
        "linear": [x.ravel(), np.ones((3, x.size), np.int8)], "convert": [x, 2.0], "pool": [x, 2], "alu": ["add", x],
        "act": [x, "relu"], "dot": [x.ravel(), x.ravel()],
        "softmax": [x], "layer_norm": [x], "rms_norm": [x], "function": [x, "exp"],
        "global_average": [x], "upsample2x": [x], "copy": [x],
        "mesh_block": [np.ones((2 * n, n), np.int8), np.ones((n, n), np.int8)],
        "mesh_diagonal": [np.ones((2 * n, n), np.int8)], "post": [np.ones((3, 4), np.int32)],
        "alu_element": ["add", np.ones(5, np.float32)], "acc": [np.ones(4, np.int32), np.ones(4, np.int32)],
        "gemm_run": [n, register_values(rng), bytearray(4096)], "alu_run": [register_values(rng), bytearray(4096)],
        "pool_run": [n, register_values(rng), bytearray(4096)], "layout": [np.ones((3, 9), np.float32), 2.0, n],
        "im2col_block": [np.ones((5, 5, 2 * n), np.int8), n, (5, 5), 0, 0, 0], "transpose": [np.ones((n, n), np.int8)]}
    return starts.get(name, [])


def device(kind, counts):
    counts["opened"] += 1
    return tandem.Device(kind, 4)


def main():
    kind, seed, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    np.seterr(all="ignore")
    counts = {"opened": 0, "good": 0}
    rng = random.Random(seed)
    units = [getattr(model, n) for n in sorted(dir(model)) if callable(getattr(model, n)) and not n.startswith("_")]
    dev = device(kind, counts)
    net = tandem.Network(*sys.argv[4:6]) if len(sys.argv) > 5 else None
    for i in range(count):
        if dev.failure is not None:
            try:
                dev.close()
            except tandem.Error:
                pass
            dev = device(kind, counts)
        names = OPERATORS + (ACCESSES if kind == "model" else [])
        func = rng.choice(units) if rng.random() < 0.5 else getattr(dev, rng.choice(names))
        args, keys = arguments(rng)
        start = good_start(rng, func.__name__)
        if net is not None and rng.random() < 0.03:
            func = getattr(net, rng.choice(["run", "reference", "calibrate", "quantise", "optimise", "memory", "save"]))
            args = [dev] + args if func.__name__ == "run" else args
            start = []
        if start and rng.random() < 0.6:
            args = start + args[:rng.randrange(2)]
        if rng.random() < 0.02:
            func = rng.choice([tandem.Device, tandem.Network, tandem.Fst,
                               tandem.check_axi, _core._wave_read, tandem.axi_ports])
        try:
            func(*args, **keys)
            counts["good"] += 1
        except EXPECTED:
            pass
        except Exception as error:
            raise SystemExit("seed %d call %d: %s(*%r, **%r): %r" % (seed, i, func.__name__, args, keys, error))
    print(count, counts["good"])


if __name__ == "__main__":
    main()
