#!/usr/bin/python3
"""Whole networks against the current ncnn (its package on PyPI): FP32 in plain C, INT8 on the golden model, with the
same files, weights from a seed and one input.

    pip download --only-binary=:all: -d W ncnn; for w in W/*.whl; do unzip -qo $w -d SITE; done
    python3 tools/ncnn_networks.py SITE a.param b.param@WxHxC ...

Prints a line for each network: the largest error in FP32 over the largest value, the ratio of ncnn's INT8 outputs to
the difference in dB, and that of FP32 to the error of INT8. Of detection layers their inputs are compared, as few
random boxes are better than others, and of a softmax at the end, too, as random weights give one class everything.
Needs `make python`."""

import argparse
import os
import sys
import tempfile

import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SLOW = ("use_packing_layout", "use_fp16_packed", "use_fp16_storage", "use_fp16_arithmetic", "use_bf16_storage",
        "use_winograd_convolution", "use_vulkan_compute")  # other orders of additions, halves


def seeded_input(net, rng):
    """All input blobs one after the other; indices of an Embed as the integers that ncnn reads."""
    embeds = {b for layer in net.layers if layer["type"] == "Embed" for b, _ in layer["inputs"]}
    parts = []
    for name, shape in net.inputs:
        if name in embeds or len(shape) == 1 and embeds:
            parts.append(rng.integers(0, 1000, shape).astype(np.int32).view(np.float32).ravel())
        else:
            parts.append(rng.uniform(-1, 1, shape).astype(np.float32).ravel())
    return np.concatenate(parts)


def compared(net):
    """Blobs that are compared."""
    makers = {b: layer for layer in net.layers for b, _ in layer["outputs"]}
    names = []
    for name, _ in net.outputs:
        layer = makers[name]
        inner = layer["type"].endswith("DetectionOutput") or layer["type"] == "Softmax"
        names += [b for b, _ in layer["inputs"]] if inner else [name]
    return list(dict.fromkeys(names))


def theirs(ncnn, param, weights, net, x, names):
    other = ncnn.Net()
    for option in SLOW:
        setattr(other.opt, option, False)
    other.opt.num_threads = 1
    if other.load_param(param) != 0 or other.load_model(weights) != 0:
        raise RuntimeError("ncnn does not read it")
    ex, at = other.create_extractor(), 0
    for name, shape in net.inputs:
        count = int(np.prod(shape))
        ex.input(name, ncnn.Mat(np.ascontiguousarray(x[at:at + count].reshape(shape))).clone())
        at += count
    return [np.array(ex.extract(name)[1], np.float32) for name in names]


def relative(mine, their):
    return max(float(np.abs(m.ravel().astype(np.float64) - t.ravel()).max() / max(np.abs(t).max(), 1e-30))
               for m, t in zip(mine, their))


def decibels(mine, their):
    worst = np.inf
    for m, t in zip(mine, their):
        error = float(((m.ravel().astype(np.float64) - t.ravel()) ** 2).sum())
        signal = float((t.astype(np.float64) ** 2).sum())
        worst = min(worst, np.inf if error == 0 else 10 * np.log10(max(signal, 1e-30) / error))
    return worst


def measure(ncnn, path, shape, seed, n):
    """(error in FP32 or None, dB in INT8 or None, dB of INT8 beside FP32 or None)."""
    import tandem
    rng = np.random.default_rng(seed)
    net = tandem.Network(path, shape=shape, seed=seed)
    x, names, fp32, loss = seeded_input(net, rng), compared(net), None, None
    with tempfile.TemporaryDirectory() as folder:
        param, weights = (os.path.join(folder, "net" + end) for end in (".param", ".bin"))
        net.save(param, weights)
        if not net.int8:
            blobs = net.reference(x, tensors=True)
            exact = [blobs[name] for name in names]
            fp32 = relative(exact, theirs(ncnn, param, weights, net, x, names))
            net.calibrate(x[None], "minmax", least=-1000)  # the last column has it
            net.quantise()
            net.save(param, weights)
        with tandem.Device("model", n) as dev:
            blobs = net.run(dev, x, tensors=True)
        mine = [blobs[name] for name in names]
        int8 = decibels(mine, theirs(ncnn, param, weights, net, x, names))
        loss = None if fp32 is None else decibels(mine, exact)
    return fp32, int8, loss


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("site", metavar="SITE", help="folder with the unpacked package ncnn")
    parser.add_argument("networks", nargs="+", metavar="FILE.param[@WxHxC]")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--n", type=int, default=8, choices=[4, 8, 16, 32])
    args = parser.parse_args()
    sys.path.insert(0, os.path.abspath(args.site))
    sys.path.insert(0, os.path.join(ROOT, os.environ.get("BUILD", "build"), "python"))
    try:
        import ncnn
    except ImportError as error:
        print("ncnn_networks: not run: %s has no package ncnn for this interpreter (%s)" % (args.site, error))
        return 3
    for given in args.networks:
        path, _, text = given.partition("@")
        shape = tuple(int(v) for v in text.split("x"))[::-1] if text else None
        try:
            fp32, int8, loss = measure(ncnn, path, shape, args.seed, args.n)
        except Exception as error:  # pylint: disable=broad-except # one network of many
            print("%s - - - %s" % (os.path.basename(path), " ".join(str(error).split())), flush=True)
            continue
        print(os.path.basename(path), *("-" if v is None else f % v for f, v in
                                        (("%.1e", fp32), ("%.1f", int8), ("%.1f", loss))), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
