"""The golden model's convolution against implementations that share no code with it.

1. Random tasks against a direct convolution in NumPy: 200 cases, 1,000 with TANDEM_CHECK=1.
2. The INT8 convolutions of SqueezeNet against tensors that ncnn computed, where that data is present
   (TANDEM_DATA, or ../shared/data beside the repository).

The model is compiled from cmodel/*.c into a temporary shared object and driven by register writes (numpy_model.py).
"""

import struct
import tarfile

import numpy as np
import pytest

from numpy_model import (DATA, FULL, SPECIAL, Image, align, bits, canonical,
                         conv_sums, f32_to_i8, load_model, nchw_bytes, pack_weights, padded_factors, wrap32)

CASES = 1000 if FULL else 200

# register offsets, written from docs/npu/registers.md on purpose: the model takes them from the generated header
REG = dict(
    IFM_ADDR=0x0C0, IFM_CSTEP=0x0C4, WGT_ADDR=0x0C8, OSCALE_ADDR=0x0CC, BIAS_ADDR=0x0D0,
    OFM_ADDR=0x0D4, OFM_CSTEP=0x0D8, PSUM_ADDR=0x0DC, IFM_SIZE=0x0E0, CHANNELS=0x0E4, OFM_SIZE=0x0E8, IN_SCALE=0x0EC,
    CTRL=0x0F0, EXT_KERNEL=0x0F4, EXT_STRIDE=0x0F8, EXT_PAD=0x0FC, ACT=0x100, GROUP=0x104, PSUM_CSTEP=0x11C,
)
EN, BIAS, LAYOUT, OSCALE, DIV_IC, EXT, PSUM_ADD = 1, 1 << 19, 1 << 21, 1 << 22, 1 << 23, 1 << 24, 1 << 25


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return load_model(tmp_path_factory.mktemp("cm"))


# ndent implementation -------------------------------------------------------------------------------------------------


def expected_bits(c):
    """uint32 [oc][oh][ow]: what the task must write."""
    with np.errstate(all="ignore"):
        q = f32_to_i8(c["x"] * np.float32(c["in_scale"]))
        total = conv_sums(q, c["w"], c["oh"], c["ow"], c["stride"], c["dil"], c["pad"])
        if c["psum"] is not None:
            total = total + c["psum"]
        total = wrap32(total)
        if c["raw"]:
            return total.view(np.uint32)
        y = total.astype(np.float32)
        if c["oscale"] is not None:
            y = y * c["oscale"][:, None, None]
        if c["bias"] is not None:
            y = y + c["bias"][:, None, None]
        if c["relu"]:
            y = np.where(y > 0, y, np.float32(0))
    return canonical(np.ascontiguousarray(y))


# ge and register writes of a case -------------------------------------------------------------------------------------


def control(c, rng):
    """GEMM_CTRL and the geometry registers; the short form now and then, where it can say it."""
    (kh, kw), (sh, sw), (dh, dw), (pt, pl) = c["w"].shape[2:], c["stride"], c["dil"], c["pad"]
    ctrl = EN | LAYOUT | (OSCALE if c["oscale"] is not None else 0) | (BIAS if c["bias"] is not None else 0)
    ctrl |= (DIV_IC if c["raw"] else 0) | (PSUM_ADD if c["psum"] is not None else 0)
    short = kh == kw <= 7 and sh == sw <= 7 and dh == dw == 1 and max(pt, pl) <= 3
    junk = rng.integers(0, 256, 12)  # right and bottom padding are informative; the form not chosen is not looked at
    if short and rng.random() < 0.7:
        ctrl |= kh << 3 | sh << 6 | pl << 11 | int(junk[0] & 3) << 13 | pt << 15 | int(junk[1] & 3) << 17
        ext = [int.from_bytes(junk[i * 4:i * 4 + 4].astype(np.uint8).tobytes(), "little") for i in range(3)]
    else:
        ctrl |= EXT | int(junk[0]) << 3 & 0x1F8 | int(junk[1]) << 11 & 0x7F800
        ext = [kw | kh << 8 | dw << 16 | dh << 24, sw | sh << 8, pl | int(junk[2]) << 8 | pt << 16 | int(junk[3]) << 24]
    return ctrl, [(REG["EXT_KERNEL"], ext[0]), (REG["EXT_STRIDE"], ext[1]), (REG["EXT_PAD"], ext[2])]


def task_writes(c, rng, addr):
    ic, ih, iw = c["x"].shape
    ctrl, ext = control(c, rng)
    return ext + [
        (REG["IFM_ADDR"], addr["ifm"]), (REG["IFM_CSTEP"], c["ifm_cstep"]), (REG["WGT_ADDR"], addr["wgt"]),
        (REG["OSCALE_ADDR"], addr["oscale"]), (REG["BIAS_ADDR"], addr["bias"]), (REG["OFM_ADDR"], addr["ofm"]),
        (REG["OFM_CSTEP"], c["ofm_cstep"]), (REG["PSUM_ADDR"], addr["psum"]), (REG["PSUM_CSTEP"], addr["psum_cstep"]),
        (REG["IFM_SIZE"], iw | ih << 16),
        (REG["CHANNELS"], ic | c["w"].shape[0] << 16), (REG["OFM_SIZE"], c["ow"] | c["oh"] << 16),
        (REG["IN_SCALE"], bits(c["in_scale"])),
        (REG["ACT"], int(c["relu"])), (REG["GROUP"], c["group"]), (REG["CTRL"], ctrl),
    ]


def run_case(model, c, rng):
    """Run one task; returns (memory after, memory expected)."""
    oc = c["w"].shape[0]
    ic = c["x"].shape[0]
    gaps = lambda bytes_: rng.integers(0, 256, bytes_, dtype=np.uint8)
    im, addr = Image(rng), {}
    shift = lambda: 4 * int(rng.integers(0, 4))
    addr["ifm"] = im.add(nchw_bytes(c["x"].view(np.uint32), c["ifm_cstep"], gaps(ic * c["ifm_cstep"])), shift())
    addr["wgt"] = im.add(pack_weights(c["w"], c["n"]))
    addr["oscale"] = addr["bias"] = 0
    for name in ("oscale", "bias"):
        if c[name] is not None:
            addr[name] = im.add(padded_factors(rng, c[name], oc))
    ofm_old = gaps(oc * c["ofm_cstep"])
    in_place = c["psum"] is not None and rng.random() < 0.5
    addr["psum_cstep"] = c["ofm_cstep"] if in_place or c["psum"] is None else c["psum_cstep"]
    psum = None if c["psum"] is None else nchw_bytes(c["psum"].astype(np.int32), addr["psum_cstep"],
                                                     ofm_old if in_place else gaps(oc * addr["psum_cstep"]))
    addr["psum"] = 0 if psum is None or in_place else im.add(psum, shift())
    addr["ofm"] = im.add(psum if in_place else ofm_old, shift())
    if in_place:
        addr["psum"] = addr["ofm"]
    mem = im.build()
    want = mem.copy()
    old = want[addr["ofm"]:addr["ofm"] + oc * c["ofm_cstep"]]
    old[:] = nchw_bytes(expected_bits(c), c["ofm_cstep"], old.copy())
    err, done, irq = model(c["n"], mem, task_writes(c, rng, addr))[:3]
    assert (err, done, irq) == (0, 1, 4), f"ERR {err:#x}, GEMM_COUNT {done}, IRQ_STATUS {irq:#x}"
    return mem, want


# es -------------------------------------------------------------------------------------------------------------------


def random_floats(rng, shape, scale, kinds):
    """float32 data whose product with `scale` is interesting: spread, exact halves, or any bits at all."""
    kind = rng.choice(kinds)
    with np.errstate(all="ignore"):
        if kind == "normal":
            v = (rng.standard_normal(shape) * 60 / scale).astype(np.float32)
        elif kind == "halves":
            v = ((rng.integers(-260, 261, shape) / 2) / scale).astype(np.float32)
        elif kind == "bits":
            v = rng.integers(0, 2**32, shape, dtype=np.uint32).view(np.float32)
        else:
            v = (rng.standard_normal(shape) * 60 / scale).astype(np.float32)
            hit = rng.random(shape) < 0.2
            v[hit] = rng.choice(SPECIAL, int(hit.sum()))
    return v


def random_weights(rng, shape):
    kind = rng.integers(0, 4)
    if kind == 0:
        return np.where(rng.random(shape) < 0.5, -128, 127).astype(np.int8)
    w = rng.integers(-128, 128, shape).astype(np.int8)
    if kind == 1:
        w[rng.random(shape) < 0.8] = 0
    return w


def random_geometry(rng, n):
    """A task inside the limits of docs/npu/npu.md section 3."""
    while True:
        big = 12 if rng.random() < 0.1 else 7
        kh, kw = (int(v) for v in rng.integers(1, big + 1, 2))
        if rng.random() < 0.4:
            kw = kh
        sh, sw = (int(v) for v in rng.integers(1, 8 if rng.random() < 0.3 else 3, 2))
        if rng.random() < 0.5:
            sw = sh
        dh, dw = (1, 1) if rng.random() < 0.7 else (int(v) for v in rng.integers(1, 5, 2))
        pt, pl = (int(v) for v in rng.integers(0, 4 if rng.random() < 0.8 else 20, 2))
        pb, pr = (int(v) for v in rng.integers(0, 4 if rng.random() < 0.8 else 20, 2))
        ih, iw = (int(v) for v in rng.integers(1, 24, 2))
        ic = int(rng.integers(1, 3 * n + 1)) if rng.random() < 0.8 else int(rng.integers(1, 5))
        oc = int(rng.integers(1, 3 * n + 1)) if rng.random() < 0.8 else int(rng.integers(1, 5))
        oh = (ih + pt + pb - (kh - 1) * dh - 1) // sh + 1
        ow = (iw + pl + pr - (kw - 1) * dw - 1) // sw + 1
        icb = align(ic, n) // n
        if oh >= 1 and ow >= 1 and kh * kw * icb * n <= 4608 and ih * iw * icb <= 16384:
            return dict(kh=kh, kw=kw, stride=(sh, sw), dil=(dh, dw), pad=(pt, pl),
                        ih=ih, iw=iw, ic=ic, oc=oc, oh=oh, ow=ow)


def random_case(rng):
    n = int(rng.choice([4, 8, 16, 32]))
    g = random_geometry(rng, n)
    kind = rng.random()
    in_scale = float(np.float32(rng.choice([1.0, 0.5, 127.0, 0.37]) if kind < 0.7 else 10.0 ** rng.uniform(-37, 37)))
    if rng.random() < 0.03:
        in_scale = float(rng.choice([0.0, np.inf, -2.5, 1e-40]))
    data_scale = in_scale if np.isfinite(in_scale) and abs(in_scale) > 1e-30 else 1.0
    raw = bool(rng.random() < 0.15)
    factors = lambda s: random_floats(rng, g["oc"], s, ["normal", "normal", "bits", "special"])
    return dict(
        g, n=n, in_scale=in_scale, raw=raw,
        x=random_floats(rng, (g["ic"], g["ih"], g["iw"]), data_scale, ["normal", "halves", "bits", "special"]),
        w=random_weights(rng, (g["oc"], g["ic"], g["kh"], g["kw"])),
        oscale=None if raw or rng.random() < 0.2 else factors(10.0 ** rng.uniform(-3, 6)),
        bias=None if raw or rng.random() < 0.3 else factors(10.0 ** rng.uniform(-4, 4)),
        relu=not raw and bool(rng.random() < 0.4),
        psum=rng.integers(-2**31, 2**31, (g["oc"], g["oh"], g["ow"])) if rng.random() < 0.25 else None,
        ifm_cstep=g["ih"] * g["iw"] * 4 + 4 * int(rng.integers(0, 9)),
        ofm_cstep=g["oh"] * g["ow"] * 4 + 4 * int(rng.integers(0, 9)),
        psum_cstep=g["oh"] * g["ow"] * 4 + 4 * int(rng.integers(0, 9)),
        group=int(rng.integers(0, 256)) if rng.random() < 0.5 else int(rng.integers(0, 4)),
    )


def test_random_convolutions(model, capsys):
    differing, macs, ran = [], 0, 0
    for index in range(CASES):
        rng = np.random.Generator(np.random.PCG64([2, index]))
        c = random_case(rng)
        mem, want = run_case(model, c, rng)
        ran += 1
        macs += c["ow"] * c["oh"] * c["oc"] * c["ic"] * c["kw"] * c["kh"]
        if not np.array_equal(mem, want):
            at = int(np.flatnonzero(mem != want)[0])
            differing.append(f"case {index} (N={c['n']}): first differing byte at {at:#x} of {mem.size:#x}")
    mode = "all (TANDEM_CHECK=1)" if FULL else "quick (TANDEM_CHECK=1 runs 1,000)"
    with capsys.disabled():
        print(
            f"\nmodel against NumPy: {ran} random cases, {len(differing)} differences, {macs / 1e6:.0f} M MACs; {mode}")
    assert ran == CASES and not differing, "\n".join(differing[:10])


# : tensors that ncnn computed -----------------------------------------------------------------------------------------

def read_convolutions(param, weights):
    """Layers of an ncnn model whose only weights are those of INT8 convolutions: (index, type, name, inputs, outputs,
    parameters)."""
    layers, at = [], 0
    for index, line in enumerate(param.read_text().splitlines()[2:]):
        kind, name, nin, nout, *rest = line.split()
        nin, nout = int(nin), int(nout)
        p = {int(k): v for k, v in (word.split("=") for word in rest[nin + nout:]) if int(k) >= 0}
        layer = dict(index=index, kind=kind, name=name, inputs=rest[:nin], outputs=rest[nin:nin + nout])
        if kind == "Convolution":
            oc, k, size, mode = int(p[0]), int(p[1]), int(p[6]), int(p[8])
            ic = size // (oc * k * k)
            assert (struct.unpack_from("<I", weights, at)[0] == 0x000D4B38 and
                    p.get(9) == "1" and p.get(5) == "1" and mode in (2, 102))
            layer["w"] = np.frombuffer(weights, np.int8, size, at + 4).reshape(oc, ic, k, k)
            at += 4 + align(size, 4)
            factors = np.frombuffer(weights, np.float32, 2 * oc + 1 + (mode == 102), at)
            at += 4 * factors.size
            layer.update(bias=factors[:oc], w_scale=factors[oc:2 * oc],
                         in_scale=factors[2 * oc], stride=int(p.get(3, 1)), pad=int(p.get(4, 0)))
            layer["top_scale"] = factors[2 * oc + 1] if mode == 102 else None
        layers.append(layer)
    assert at == len(weights), f"{param.name}: {at} bytes of weights described, {len(weights)} in the file"
    return layers


class Reference:
    """The tensors of the INT8 network in the archive, by layer and blob."""

    def __init__(self, archive, layers):
        self.maker = {blob: l for l in layers for blob in l["outputs"]}
        self.data, self.shape = {}, {}
        with tarfile.open(archive) as tar:
            for member in tar:
                name = member.name.removeprefix("cat/")
                if member.isfile() and name.startswith("int8_"):
                    self.data[name] = tar.extractfile(member).read()
                elif name == "manifest_int8.tsv":
                    for row in tar.extractfile(member).read().decode().splitlines()[1:]:
                        f = row.split("\t")
                        self.shape[f[10]] = tuple(int(v) for v in f[6:9])

    def load(self, layer, suffix):
        """Tensor of a layer, [c][h][w], or None when the archive does not hold it."""
        name = f"int8_{layer['index']:02d}_{layer['name'].replace('/', '_')}{suffix}"
        if name not in self.data:
            return None
        return np.frombuffer(self.data[name], np.float32 if suffix == ".f32" else np.int8).reshape(self.shape[name])

    def blob(self, name):
        """(tensor, True) of an FP32 blob, or (tensor, False) of an INT8 one."""
        layer = self.maker[name]
        if layer["kind"] in ("Split", "Dropout"):
            return self.blob(layer["inputs"][0])
        if layer["kind"] == "Concat":
            return np.concatenate([self.blob(i)[0] for i in layer["inputs"]]), True
        real = self.load(layer, ".f32")
        return (real, True) if real is not None else (self.load(layer, ".s8"), False)


def run_layer(model, n, x, layer, in_scale, oscale):
    """A whole layer on the model, cut by rows as the input buffer asks; FP32 bits [oc][oh][ow]."""
    ic, ih, iw = x.shape
    oc, _, k, _ = layer["w"].shape
    s, pad = layer["stride"], layer["pad"]
    oh, ow = (ih + 2 * pad - k) // s + 1, (iw + 2 * pad - k) // s + 1
    rows = 16384 // (iw * (align(ic, n) // n))
    oh_task = (rows - k) // s + 1
    rng = np.random.Generator(np.random.PCG64(n))
    im, ifm_cstep, ofm_cstep = Image(rng), align(4 * ih * iw, 16), align(4 * oh * ow, 16)
    gap = np.zeros(max(ic * ifm_cstep, oc * ofm_cstep), np.uint8)
    ifm = im.add(nchw_bytes(x, ifm_cstep, gap))
    wgt = im.add(pack_weights(layer["w"], n))
    osc = im.add(padded_factors(rng, oscale, oc))
    bias = im.add(padded_factors(rng, layer["bias"], oc))
    ofm = im.add(gap[:oc * ofm_cstep])
    mem = im.build()
    writes = [(REG["IFM_CSTEP"], ifm_cstep), (REG["OFM_CSTEP"], ofm_cstep),
              (REG["WGT_ADDR"], wgt), (REG["OSCALE_ADDR"], osc), (REG["BIAS_ADDR"], bias),
              (REG["CHANNELS"], ic | oc << 16), (REG["IN_SCALE"], bits(in_scale)), (REG["ACT"], 1), (REG["GROUP"], 255)]
    tasks = 0
    for o in range(0, oh, oh_task):
        count = min(oh_task, oh - o)
        first = max(o * s - pad, 0)
        last = min((o + count - 1) * s + k - pad, ih)
        pad_t = max(pad - o * s, 0)
        writes += [(REG["IFM_ADDR"], ifm + 4 * first * iw), (REG["OFM_ADDR"], ofm + 4 * o * ow),
                   (REG["IFM_SIZE"], iw | (last - first) << 16), (REG["OFM_SIZE"], ow | count << 16),
                   (REG["CTRL"], EN | LAYOUT | OSCALE | BIAS | k << 3 | s << 6 | pad << 11 | pad_t << 15)]
        tasks += 1
    err, done = model(n, mem, writes)[:2]
    assert (err, done) == (0, tasks), f"{layer['name']}: ERR {err:#x}, {done} of {tasks} tasks"
    out = mem[ofm:ofm + oc * ofm_cstep].reshape(oc, ofm_cstep)[:, :4 * oh * ow]
    return np.ascontiguousarray(out).view(np.uint32).reshape(oc, oh, ow)


def test_squeezenet_against_ncnn(model, capsys):
    folder = DATA / "squeezenet"
    archive = folder / "cat-reference.tar.xz"
    if not archive.exists():
        with capsys.disabled():
            print("\nSqueezeNet against ncnn: not run: no data")
        pytest.skip("not run: no data")
    layers = read_convolutions(folder / "sq-int8.param", (folder / "sq-int8.bin").read_bytes())
    ref = Reference(archive, layers)
    sizes = (4, 8, 16, 32) if FULL else (8, 32)
    convs, values, from_f32, differing = 0, 0, 0, []
    for layer in (l for l in layers if l["kind"] == "Convolution"):
        x, real = ref.blob(layer["inputs"][0])
        with np.errstate(divide="ignore"):
            oscale = np.where(layer["w_scale"] == 0, np.float32(0),
                              np.float32(1) / (layer["in_scale"] * layer["w_scale"]))
        if real:  # the model quantises what ncnn quantised
            want_q = ref.load(layer, ".qin.s8")
            assert want_q is not None and np.array_equal(f32_to_i8(x * layer["in_scale"]), want_q), layer["name"]
        in_scale = layer["in_scale"] if real else np.float32(1)  # ncnn requantised already: hand over the integers
        for n in sizes:
            got = run_layer(model, n, np.ascontiguousarray(x, np.float32), layer, in_scale, oscale)
            if layer["top_scale"] is None:
                same = np.array_equal(got, ref.load(layer, ".f32").view(np.uint32))
            else:
                same = np.array_equal(f32_to_i8(got.view(np.float32) * layer["top_scale"]), ref.load(layer, ".s8"))
            values += got.size
            if not same:
                differing.append(f"{layer['name']} at N={n}")
        convs += 1
        from_f32 += real
    with capsys.disabled():
        print(f"\nSqueezeNet against ncnn: {convs} convolutions at N={sizes}, {from_f32} from FP32 input, "
              f"{values} values, {len(differing)} layers differ")
    assert convs == 26 and not differing, "\n".join(differing)
