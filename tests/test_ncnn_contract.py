"""The contract with ncnn (docs/npu/ncnn-contract.md) in NumPy: whole arrays instead of one element at a time, drawn and
computed without the C reference.

1. Random layers through the driver on the golden device, against NumPy and against the C reference (tests/ncnn_ref.c):
   500 cases, 10,000 with TANDEM_CHECK=1. TANDEM_NCNN_PY_CASE=n runs case n alone, TANDEM_NCNN_PY_COUNT=n the cases
   0..n-1.
2. The 26 INT8 convolutions of two SqueezeNets that ncnn's own tools quantised, against tensors that ncnn computed,
   where that data is present (TANDEM_DATA, or ../shared/data beside the repository): through the driver, with INT8
   tensors in device memory where ncnn has them.
"""

import ctypes
import os
import subprocess
import tarfile

import numpy as np
import pytest

from numpy_model import ACTS as NPU_ACTS
from numpy_model import DATA, FULL, GENERATED, ROOT, SPECIAL, activate, align
from test_numpy_conv import read_convolutions

CASES = 10000 if FULL else 500
CONVOLUTION, DEPTHWISE, INNER_PRODUCT, QUANTIZE, DEQUANTIZE = range(5)
NONE, RELU, LEAKY, CLIP, SIGMOID, MISH, HARDSWISH = range(7)
F32 = np.float32
NAN_BITS = np.uint32(0x7FC00000)
INTS = ("kind w h c num_output kernel_w kernel_h dilation_w dilation_h stride_w stride_h pad_left pad_right "
        "pad_top pad_bottom " "bias_term group activation_type in_int8 out_int8 weight_scales").split()


class Layer(ctypes.Structure):
    """ncnn_layer; floats as bits, so that a NaN stays as it is."""
    _fields_ = [(name, ctypes.c_int32) for name in INTS] + [("activation_params", ctypes.c_uint32 * 2),
                                                            ("bottom_scale", ctypes.c_uint32),
                                                            ("top_scale", ctypes.c_uint32)]


class Blobs(ctypes.Structure):
    _fields_ = [(name, ctypes.c_void_p) for name in ("data", "weight", "weight_scale", "bias")]


def word(x):
    return int(np.array([x], dtype=F32).view(np.uint32)[0])


# , on arrays ----------------------------------------------------------------------------------------------------------
# `wrong` names one deliberate mistake, or none.

WRONG = ("half even", "half up", "fused", "two scales", "scale of the channel before",
         "pads swapped", "bias first", "sum cut", "zero scale")


def one_nan(v):
    """float32 with every NaN canonical."""
    v = np.array(v, dtype=F32)
    v.view(np.uint32)[np.isnan(v)] = NAN_BITS
    return v


def to_int8(v, wrong=None):
    """Nearest by rint, ties then moved away from zero."""
    near, cut = np.rint(v), np.trunc(v)
    tie = np.abs(v - cut) == F32(0.5)
    if wrong == "half up":
        near = np.where(tie, np.ceil(v), near)
    elif wrong != "half even":
        near = np.where(tie, cut + np.copysign(F32(1), v), near)
    return np.where(np.isnan(v), F32(0), np.clip(near, -127, 127)).astype(np.int8)


def sums(p, q, w, wrong):
    """int64 [oc][oh][ow]; q int8 [c][h][w], w int8 [oc][c/group][kh][kw]."""
    top, bottom, left, right = p["pad_top"], p["pad_bottom"], p["pad_left"], p["pad_right"]
    if wrong == "pads swapped":
        top, bottom, left, right = bottom, top, right, left
    q = np.pad(q, ((0, 0), (top, bottom), (left, right))).astype(np.float64)  # every sum of these is far below 2^53
    oc, icg, kh, kw = w.shape
    oh, ow = out_size(p)
    total = np.zeros((oc, oh * ow))
    for g in range(p["group"]):
        rows = slice(g * oc // p["group"], (g + 1) * oc // p["group"])
        for ky in range(kh):
            for kx in range(kw):
                y, x = ky * p["dilation_h"], kx * p["dilation_w"]
                view = q[g * icg:(g + 1) * icg, y:y + (oh - 1) * p["stride_h"] + 1:p["stride_h"],
                         x:x + (ow - 1) * p["stride_w"] + 1:p["stride_w"]]
                total[rows] += w[rows, :, ky, kx].astype(np.float64) @ view.reshape(icg, oh * ow)
    return total.astype(np.int64).reshape(oc, oh, ow)


def out_size(p):
    extent = lambda k, d: (k - 1) * d + 1
    return ((p["h"] + p["pad_top"] + p["pad_bottom"] - extent(p["kernel_h"], p["dilation_h"])) // p["stride_h"] + 1,
            (p["w"] + p["pad_left"] + p["pad_right"] - extent(p["kernel_w"], p["dilation_w"])) // p["stride_w"] + 1)


def factors(p, data, wrong):
    w = np.repeat(data["weight_scale"], p["num_output"] // p["weight_scales"])
    if wrong == "scale of the channel before":
        w = np.roll(w, 1)
    both = F32(p["bottom_scale"]) * w
    f = F32(1) / both
    return f if wrong == "zero scale" else np.where(w == 0, F32(0), f)


def activated(p, v):
    a, b = F32(p["activation_params"][0]), F32(p["activation_params"][1])
    act = p["activation_type"]
    if act == RELU:
        return np.where(v > 0, v, F32(0))
    if act == LEAKY:
        return np.where(v > 0, v, v * a)
    if act == CLIP:
        return np.where(v < a, a, np.where(v > b, b, v))
    if act == HARDSWISH:
        lower = -b / a
        upper = F32(1) / a + lower
        return np.where(v < lower, F32(0), np.where(v > upper, v, v * (v * a + b)))
    if act in (SIGMOID, MISH):
        name = "SIGMOID" if act == SIGMOID else "MISH"
        return activate(NPU_ACTS.index(name), [0, 0, 0, 0], one_nan(v).view(np.uint32)).view(F32)
    return v


def expected(p, data, wrong=None):
    """The output blob: float32 or int8 [c][h][w]."""
    x = data["data"]
    quantised = x if p["in_int8"] else to_int8(x * F32(p["bottom_scale"]), wrong)
    if p["kind"] == QUANTIZE:
        return quantised
    if p["kind"] == DEQUANTIZE:
        return one_nan(x.astype(F32) * F32(p["bottom_scale"]))
    if p["kind"] == INNER_PRODUCT:
        total = data["weight"].reshape(p["num_output"], -1).astype(np.int64) @ quantised.reshape(-1).astype(np.int64)
        total = total.reshape(-1, 1, 1)
    else:
        total = sums(p, quantised, data["weight"], wrong)
    total = (total + 2**31) % 2**32 - 2**31
    f, column = factors(p, data, wrong), (slice(None), None, None)
    bias = data["bias"][column] if p["bias_term"] else None
    y = total.astype(F32)
    if wrong == "sum cut":
        y = np.where(np.abs(y.astype(np.float64)) > np.abs(total), np.nextafter(y, F32(0)), y)
    if wrong == "fused" and bias is not None:
        v = (y.astype(np.float64) * f[column] + bias).astype(F32)
    elif wrong == "two scales":
        v = (y * (F32(1) / F32(p["bottom_scale"])) *
             (F32(1) / np.repeat(data["weight_scale"], p["num_output"] // p["weight_scales"]))[column])
        v = v if bias is None else v + bias
    elif wrong == "bias first" and bias is not None:
        v = (y + bias / f[column]) * f[column]
    else:
        v = y * f[column]
        v = v if bias is None else v + bias
    v = one_nan(activated(p, one_nan(v)))
    return to_int8(v * F32(p["top_scale"]), wrong) if p["out_int8"] else v


# nd the C reference, loaded as a shared object ------------------------------------------------------------------------

class Native:
    def __init__(self, folder):
        cc = os.environ.get("CC", "gcc")
        lib = folder / "libncnn.so"
        sources = [str(s) for d, glob in (("cmodel/npu", "*.c"), ("drivers/npu", "*.c"), ("tests", "ncnn_*.c"))
                   for s in sorted((ROOT / d).glob(glob))]
        flags = ["-std=c11", "-D_GNU_SOURCE=", "-O2", "-Wall", "-Wextra",
                 "-Werror", "-ffp-contract=off", "-fno-fast-math", "-fPIC", "-shared"]
        subprocess.run([cc, *flags, f"-I{ROOT}/cmodel/npu", f"-I{ROOT}/cmodel/lib", f"-I{ROOT}/drivers/npu",
                        f"-I{ROOT}/drivers/lib", f"-I{ROOT}/tests", f"-I{GENERATED}", "-o", str(lib), *sources, "-lm"],
                       check=True)
        self.so = ctypes.CDLL(str(lib))
        self.so.ncnn_dev_open.restype = ctypes.c_void_p
        self.fit = ctypes.create_string_buffer(4 * 2 * 2 * 16 * 3)
        assert self.so.ncnn_fit_load(self.fit, str(ROOT / "regs" / "act_fit.txt").encode()) == 0
        self.devices = {n: ctypes.c_void_p(self.so.ncnn_dev_open(n)) for n in (4, 8, 16, 32)}
        assert all(self.devices.values())

    def close(self):
        for d in self.devices.values():
            self.so.ncnn_dev_close(d)

    def arguments(self, p, data):
        layer = Layer(**{name: int(p[name]) for name in INTS})
        layer.activation_params[:] = [word(v) for v in p["activation_params"]]
        layer.bottom_scale, layer.top_scale = word(p["bottom_scale"]), word(p["top_scale"])
        self.keep = [None if data.get(k) is None else np.ascontiguousarray(data[k])
                     for k in ("data", "weight", "weight_scale", "bias")]
        return layer, Blobs(*(None if a is None else a.ctypes.data for a in self.keep))

    def output(self, p):
        oh, ow = ((p["h"], p["w"]) if p["kind"] in (QUANTIZE, DEQUANTIZE)
                  else (1, 1) if p["kind"] == INNER_PRODUCT else out_size(p))
        return np.empty((p["num_output"], oh, ow), dtype=np.int8 if p["out_int8"] else F32)

    def device(self, n, p, data, cut=(0,) * 6, chained=False):
        """Through the driver; chained: the input is what the device holds."""
        layer, blobs = self.arguments(p, dict(data, data=None) if chained else data)
        if not chained:
            self.so.ncnn_dev_begin(self.devices[n])
        out = self.output(p)
        status = self.so.ncnn_dev_layer(self.devices[n], ctypes.byref(layer),
                                        ctypes.byref(blobs), (ctypes.c_uint32 * 6)(*cut))
        assert status == 0, f"status {status}: {p}"
        self.so.ncnn_dev_output(self.devices[n], out.ctypes.data_as(ctypes.c_void_p))
        return out

    def reference(self, p, data):
        layer, blobs = self.arguments(p, data)
        out = self.output(p)
        assert self.so.ncnn_ref_run(ctypes.byref(layer), ctypes.byref(blobs),
                                    self.fit, 0, None, out.ctypes.data_as(ctypes.c_void_p)) == 0
        return out


@pytest.fixture(scope="module")
def native(tmp_path_factory):
    n = Native(tmp_path_factory.mktemp("ncnn"))
    yield n
    n.close()


def same(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


# ----------------------------------------------------------------------------------------------------------------------

def random_geometry(rng):
    pick = lambda lo, hi, size=None: rng.integers(lo, hi + 1, size)
    while True:
        kind = int(rng.choice([CONVOLUTION, DEPTHWISE, INNER_PRODUCT, QUANTIZE, DEQUANTIZE],
                              p=[0.4, 0.32, 0.16, 0.06, 0.06]))
        p = dict.fromkeys(INTS, 0)
        p.update(dict.fromkeys("kernel_w kernel_h dilation_w dilation_h stride_w stride_h group h c w".split(), 1),
                 kind=kind)
        p.update(num_output=int(pick(1, 48)), bias_term=int(rng.random() < 0.8), activation_type=int(pick(0, 6)))
        if kind == INNER_PRODUCT:
            p.update(w=int(pick(1, 1500 if rng.random() < 0.1 else 120)))
        else:
            p.update(w=int(pick(1, 20)), h=int(pick(1, 20)), c=int(pick(1, 72 if rng.random() < 0.3 else 16)))
        if kind in (CONVOLUTION, DEPTHWISE):
            kernels = [1, 1, 2, 3, 3, 5, 7, 8, 11]
            p.update(kernel_w=int(rng.choice(kernels)), kernel_h=int(rng.choice(kernels)))
            for names, hi, chance in (("stride_w stride_h", 4, 0.4), ("dilation_w dilation_h", 3, 0.3)):
                if rng.random() < chance:
                    p.update({n: int(pick(1, hi)) for n in names.split()})
            if rng.random() < 0.6:
                p.update({n: int(pick(0, 6)) for n in ("pad_left", "pad_right", "pad_top", "pad_bottom")})
        if kind == DEPTHWISE:
            if rng.random() < 0.5:
                p.update(group=p["c"], num_output=p["c"])
            else:
                g, ocg, icg = (int(v) for v in pick(2, 5, 3))
                p.update(group=g, c=g * icg, num_output=g * ocg)
        if kind in (QUANTIZE, DEQUANTIZE):
            p["num_output"] = p["c"]
            return p
        oh, ow = out_size(p)
        if (oh > 0 and ow > 0 and
            oh * ow * p["num_output"] * p["c"] // p["group"] * p["kernel_w"] * p["kernel_h"] <= 150000):
            return p


def any_size(rng, shape):
    return np.ldexp(rng.uniform(1, 2, shape).astype(F32), rng.integers(-149, 128, shape)).astype(F32)


def some(rng, v, chance, values):
    v = np.array(v, dtype=F32)
    hit = rng.random(v.shape) < chance
    v[hit] = rng.choice(values, int(hit.sum()))
    return v


def random_values(rng, p, flavour):
    """Scales, bias and data of a layer."""
    bottom = F32(127 / rng.uniform(0.5, 20))
    scale = (127 / rng.uniform(0.05, 2, p["weight_scales"])).astype(F32)
    if flavour == "halves":
        bottom = F32(2.0 ** rng.integers(-3, 6))
        scale = np.full(p["weight_scales"], 2.0 ** rng.integers(0, 7), dtype=F32)
    elif flavour == "extreme":
        bottom = any_size(rng, 1)[0]
        scale = any_size(rng, p["weight_scales"]) if rng.random() < 0.4 else np.clip(
            rng.uniform(1, 2, p["weight_scales"]) * 10.0 ** rng.choice([-38, 0, 38]) / np.float64(bottom),
            1e-45, 3e38).astype(F32)
    elif flavour == "zeros":
        scale = some(rng, scale, 0.3, np.array([0.0, -0.0], dtype=F32))
    elif flavour == "special":
        bottom = some(rng, [bottom], 0.2, SPECIAL)[0]
        scale = some(rng, scale, 0.2, SPECIAL)
    products = p["w"] if p["kind"] == INNER_PRODUCT else p["c"] // p["group"] * p["kernel_w"] * p["kernel_h"]
    factor = F32(1) / (bottom * scale[0])
    reach = F32(factor * 4000 * np.sqrt(F32(products)))
    bias = (rng.uniform(-1, 1, p["num_output"]) * np.float64(reach)).astype(F32)
    top = F32(np.clip(127 / np.float64(reach), -3e38, 3e38)) * F32(rng.uniform(0.3, 2))
    shape = (p["c"], p["h"], p["w"])
    weight = rng.integers(-127, 128, (p["num_output"], products // (p["kernel_w"] * p["kernel_h"]),
                                      p["kernel_h"], p["kernel_w"])).astype(np.int8)
    if p["in_int8"]:
        x = rng.integers(-127, 128, shape).astype(np.int8)
    elif flavour == "bits":
        x = rng.integers(0, 2**32, shape, dtype=np.uint32).view(F32)
    else:
        x = np.clip(rng.uniform(-160, 160, shape) / np.float64(bottom), -3e38, 3e38).astype(F32)
    if flavour == "halves":
        x = x if p["in_int8"] else (rng.integers(-9, 10, shape) / 2).astype(F32) / bottom
        x = ((rng.integers(-3, 4, shape).astype(np.int8)) if p["in_int8"]
             else np.where(rng.random(shape) < 0.1, np.nextafter(x, F32(0)), x))
        weight = np.where(rng.random(weight.shape) < 0.5, 0, np.sign(weight)).astype(np.int8)
        bias = (rng.integers(-60, 61, p["num_output"]) / 2).astype(F32) * factor
        top = F32(2.0 ** -rng.integers(0, 3)) / factor
    elif flavour in ("special", "extreme"):
        x = x if p["in_int8"] else some(rng, x, 0.1, SPECIAL)
        bias = some(rng, bias, 0.2, SPECIAL)
        top = any_size(rng, 1)[0] if rng.random() < 0.5 else top
    elif flavour == "long":
        x = np.full(shape, 127, dtype=np.int8) if p["in_int8"] else np.abs(x) + F32(127) / bottom
        weight = (rng.choice(np.array([-1, 1], dtype=np.int8), (p["num_output"], 1, 1, 1)) *
                  np.where(rng.random(weight.shape) < 0.02, 100, 127).astype(np.int8))
    elif flavour == "bits":
        bits = lambda n: rng.integers(0, 2**32, n, dtype=np.uint32).view(F32)
        bottom, top, scale, bias = bits(1)[0], bits(1)[0], bits(p["weight_scales"]), bits(p["num_output"])
    p.update(bottom_scale=bottom, top_scale=top)
    return dict(data=x, weight=weight, weight_scale=scale, bias=bias), reach


def random_case(index):
    rng = np.random.Generator(np.random.PCG64([9, index]))
    flavour = str(rng.choice(["plain", "plain", "halves", "halves", "extreme",
                              "extreme", "zeros", "special", "special", "bits", "long"]))
    p = random_geometry(rng)
    if flavour == "long" and p["kind"] not in (QUANTIZE, DEQUANTIZE):
        n = p["num_output"] % 3 + 1
        p.update(kind=CONVOLUTION, group=1, w=9, h=9, c=int(rng.integers(14, 30)),
                 num_output=n, kernel_w=9, kernel_h=9, dilation_w=1, dilation_h=1, pad_left=0, pad_top=0)
    p["weight_scales"] = p["num_output"] if p["kind"] != DEPTHWISE else 1 if rng.random() < 0.3 else p["group"]
    p["in_int8"] = int(p["kind"] == DEQUANTIZE or p["kind"] != QUANTIZE and rng.random() < 0.3)
    p["out_int8"] = int(p["kind"] == QUANTIZE or p["kind"] != DEQUANTIZE and rng.random() < 0.5)
    with np.errstate(all="ignore"):
        data, reach = random_values(rng, p, flavour)
        low, high = np.sort(rng.uniform(-1, 1, 2)) * np.float64(reach if np.isfinite(reach) else 1)
    params = np.clip([low, high], -3e38, 3e38) if p["activation_type"] == CLIP else rng.uniform([0.02, 0.1], [1, 3])
    if flavour in ("special", "bits") and rng.random() < 0.3:
        params = rng.choice(SPECIAL[2:], 2)  # the first two are zeros: HardSwish refuses them
    p["activation_params"] = np.asarray(params, dtype=F32)
    n = int(rng.choice([4, 8, 16, 32]))
    cut = (0,) * 6
    if rng.random() < 0.3:
        cut = tuple(int(rng.choice(v)) for v in ([0, 1, 2, 3], [0, n, 2 * n], [0, n, 2 * n], range(20), [0, 1], [0, 1]))
    return n, p, data, cut, flavour


def test_random_layers(native, capsys):
    alone = os.environ.get("TANDEM_NCNN_PY_CASE")
    cases = [int(alone)] if alone else range(int(os.environ.get("TANDEM_NCNN_PY_COUNT") or CASES))
    differing, caught, values, seen = [], {}, 0, {}
    for index in cases:
        n, p, data, cut, flavour = random_case(index)
        got = native.device(n, p, data, cut)
        with np.errstate(all="ignore"):
            want = expected(p, data)
            for wrong in WRONG:
                if wrong not in caught and not same(expected(p, data, wrong), got):
                    caught[wrong] = index
        if not same(got, want) or not same(got, native.reference(p, data)):
            bad = np.flatnonzero(got.reshape(-1).view(np.uint8) != want.reshape(-1).view(np.uint8))
            differing.append(f"TANDEM_NCNN_PY_CASE={index}: N={n}, {flavour}, first byte {bad[:1]}, {p}")
        values += got.size
        for key in (flavour, f"kind {p['kind']}", f"activation {p['activation_type']}",
                    f"N={n}", "INT8 out" if p["out_int8"] else "FP32 out"):
            seen[key] = seen.get(key, 0) + 1
        if alone:
            print(n, flavour, cut, p)
    with capsys.disabled():
        mode = "all (TANDEM_CHECK=1)" if FULL else "quick (TANDEM_CHECK=1 runs 10,000)"
        print(f"\ndriver and model against NumPy and C: "
              f"{len(cases)} random layers, {values} values, {len(differing)} differ; {mode}")
        if FULL:
            print(", ".join(f"{k} {seen[k]}" for k in sorted(seen)))
            print("wrong on purpose, case that shows it:", ", ".join(f"{k} {caught[k]}" for k in WRONG if k in caught))
    assert not differing, "\n".join(differing[:10])
    if not alone and len(cases) >= 500:
        assert not set(WRONG) - set(caught), f"not caught: {set(WRONG) - set(caught)}"
        assert len(seen) == 7 + 5 + 7 + 4 + 2, sorted(seen)


# nsors that ncnn computed ---------------------------------------------------------------------------------------------

class Blobbery:
    """The tensors of one network in the archive, by layer, and which blob is whose output."""

    def __init__(self, archive, prefix, layers):
        self.maker = {blob: l for l in layers for blob in l["outputs"]}
        self.files, self.shape = {}, {}
        with tarfile.open(archive) as tar:
            for member in tar:
                name = member.name.split("/")[-1]
                if name.startswith(prefix + "_") or name == "int8_00_data.f32":
                    self.files[name.replace("int8_00", prefix + "_00")] = tar.extractfile(member).read()
                elif name == f"manifest_{prefix}.tsv":
                    for row in tar.extractfile(member).read().decode().splitlines()[1:]:
                        field = row.split("\t")
                        self.shape[field[10]] = tuple(int(v) for v in field[6:9])
        self.prefix = prefix

    def load(self, layer, suffix):
        name = f"{self.prefix}_{layer['index']:02d}_{layer['name'].replace('/', '_')}{suffix}"
        data = self.files.get(name)
        return (None if data is None
                else np.frombuffer(data, F32 if suffix == ".f32" else np.int8).reshape(self.shape[name]))


def max_pool(x):
    """3x3, stride 2; what is left over at the end makes a window of its own."""
    c, h, w = x.shape
    oh, ow = -(-(h - 3) // 2) + 1, -(-(w - 3) // 2) + 1
    padded = np.pad(x, ((0, 0), (0, 2 * oh + 1 - h), (0, 2 * ow + 1 - w)), constant_values=-np.inf)
    return np.max([padded[:, y:y + 2 * oh:2, x0:x0 + 2 * ow:2] for y in range(3) for x0 in range(3)], axis=0)


def parameters(layer, x):
    oc, ic, k, _ = layer["w"].shape
    p = dict.fromkeys(INTS, 0)
    p.update(kind=CONVOLUTION, w=x.shape[2], h=x.shape[1], c=ic, num_output=oc,
             kernel_w=k, kernel_h=k, dilation_w=1, dilation_h=1, stride_w=layer["stride"],
             stride_h=layer["stride"], bias_term=1, group=1, activation_type=RELU, weight_scales=oc,
             bottom_scale=layer["in_scale"], top_scale=0 if layer["top_scale"] is None else layer["top_scale"],
             in_int8=int(x.dtype == np.int8), out_int8=int(layer["top_scale"] is not None), activation_params=(0, 0))
    p.update(dict.fromkeys(("pad_left", "pad_right", "pad_top", "pad_bottom"), layer["pad"]))
    return p, dict(data=np.ascontiguousarray(x), weight=layer["w"], weight_scale=layer["w_scale"], bias=layer["bias"])


class Walk:
    """One pass through the network: every convolution on the device, its input what ncnn had where the archive has
    that."""

    def __init__(self, native, blobs, n, witness):
        self.native, self.blobs, self.n, self.witness = native, blobs, n, witness
        self.value, self.differs = {}, []
        self.convs = self.chained = self.exact = self.quantised = self.values = 0

    def differ(self, layer, what):
        self.differs.append(f"{layer['name']} at N={self.n}: {what}")

    def compare(self, layer, got, suffix):
        want = self.blobs.load(layer, suffix)
        if want is None:
            return got
        if not same(got, want):
            self.differ(layer, suffix)
        self.exact += layer["kind"] == "Convolution"
        self.values += got.size
        return want  # the next layer starts from ncnn's own

    def convolution(self, layer, x):
        p, data = parameters(layer, x)
        got = self.native.device(self.n, p, data)
        if x.dtype == F32:  # in the archive: what ncnn made of it
            q = self.blobs.load(layer, ".qin.s8")
            alone = dict(p, kind=QUANTIZE, out_int8=1, num_output=p["c"])
            if (q is None or not same(to_int8(x * layer["in_scale"]), q) or
                not same(self.native.device(self.n, alone, data), q)):
                self.differ(layer, "quantised input")
            if not same(self.native.device(self.n, dict(p, in_int8=1), dict(data, data=q)), got):
                self.differ(layer, "output from ncnn's quantised input")
            self.quantised += 1
        if self.witness:
            if not same(got, expected(p, data)):
                self.differ(layer, "NumPy")
            if not same(got, self.native.reference(p, data)):
                self.differ(layer, "C reference")
        self.convs += 1
        self.chained += p["in_int8"]
        return self.compare(layer, got, ".s8" if p["out_int8"] else ".f32")

    def run(self, layers):
        for layer in layers:
            x = [self.value[name] for name in layer["inputs"]]
            kind = layer["kind"]
            if kind == "Input":
                y = self.blobs.load(layer, ".f32")
            elif kind == "Convolution":
                y = self.convolution(layer, x[0])
            elif kind == "Concat":
                y = np.concatenate(x)
            elif kind == "Pooling" and layer["name"] != "pool10":
                y = self.compare(layer, max_pool(x[0]), ".f32")
            elif kind in ("Split", "Dropout"):
                y = x[0]
            else:
                return self  # behind the last convolution
            self.value.update(dict.fromkeys(layer["outputs"], y))
        return self


@pytest.mark.parametrize("prefix, model", [("int8", "sq-int8"), ("int8w127", "sq-int8-w127")])
def test_squeezenet(native, capsys, prefix, model):
    folder = DATA / "squeezenet"
    archive = folder / "cat-reference.tar.xz"
    if not archive.exists():
        with capsys.disabled():
            print(f"\n{model} through the driver: not run: no data")
        pytest.skip("not run: no data")
    layers = read_convolutions(folder / f"{model}.param", (folder / f"{model}.bin").read_bytes())
    blobs = Blobbery(archive, prefix, layers)
    walks = [Walk(native, blobs, n, FULL and n == 16).run(layers) for n in ((4, 8, 16, 32) if FULL else (16,))]
    for walk in walks:
        with capsys.disabled():
            print(f"\n{model} through the driver at N={walk.n}: "
                  f"{walk.convs} convolutions, {walk.chained} from INT8 in memory; {walk.exact} outputs "
                  f"compared with ncnn's ({walk.values} values, pools among them), {walk.quantised} quantised "
                  f"inputs{', NumPy and C agree' if walk.witness else ''}; {len(walk.differs)} differences", end="")
    differs = [d for walk in walks for d in walk.differs]
    assert not differs, "\n".join(differs)
    for walk in walks:
        # all 26 outputs are in one archive; of the other the FP32 ones are not, and meet ncnn's numbers where the next
        # layer quantises them
        assert (walk.convs, walk.chained, walk.quantised) == (26, 16, 10)
        assert walk.exact == (26 if prefix == "int8" else 9)
