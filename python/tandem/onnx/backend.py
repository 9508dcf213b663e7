"""ONNX's backend node tests on a device (Debian: libonnx-testdata): convert each, run it, compare, and say where the
arithmetic ran.

    python3 -m tandem.onnx.backend                   # all of them on the golden model; --device tandem: with the RTL of
                                                     N = 4 beside it
    python3 -m tandem.onnx.backend abs conv_         # those whose names begin so

A test whose operators, types or shapes the converter refuses is "not supported", before anything runs. All else must
give ONNX's results: relative 1e-3, absolute 1e-7. Only functions that the NPU fits (docs/npu/activations.md) are
compared with 1e-3 on the device, and with ONNX's tolerance in plain C. Tests with FP32 inputs whose products and sums
can run on the GEMM run a second time so (samples of convert()), with the same tolerance.
"""

import argparse
import os
import sys
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from .. import _core
from . import Converted, NeedsConstant, Unsupported, convert, proto

DATA = "/usr/share/libonnx-testdata/data/node"
RTOL, ATOL = 1e-3, 1e-7
FIT = 1e-3
MOVES = {"Split", "Noop", "Dropout", "Flatten", "Reshape", "Concat", "Slice",
         "Permute", "ShuffleChannel", "Tile", "Crop", "Padding"}
NOTHING = {"Input", "MemoryData"}
UNITS = ("GEMM", "ALU", "POOL", "CPU")


class Result(NamedTuple):
    """name and operators of a test; outcome "passed", "fitted" (passed within the fit's bound), "not supported" or
    "FAILED"; arithmetic: where it ran (UNITS), moves: where elements were only moved ("addresses", "ALU", "CPU");
    constants: inputs that were fixed; split: where it ran with FP32 products and sums on the GEMM (empty: it has none);
    quantised: largest error of the network with INT8 convolutions, as a part of the
    range of the result; text: the reason."""

    name: str
    operators: str
    outcome: str
    arithmetic: tuple[str, ...] = ()
    moves: tuple[str, ...] = ()
    constants: tuple[str, ...] = ()
    quantised: float | None = None
    text: str = ""
    split: tuple[str, ...] = ()


def names(folder: str = DATA) -> list[str]:
    """Names of the tests, without "test_"."""
    return sorted(n[5:] for n in os.listdir(folder)
                  if n.startswith("test_") and os.path.exists(os.path.join(folder, n, "model.onnx")))


def arrays(folder: str, kind: str, infos) -> list[np.ndarray]:
    """Inputs or outputs of a test's data set; all of them are tensors."""
    values = []
    for i, info in enumerate(infos):
        if info.type.tensor_type is None:
            raise Unsupported("'%s' is a %s, expected a tensor" % (info.name, " ".join(sorted(info.type.present))))
        with open(os.path.join(folder, "test_data_set_0", "%s_%d.pb" % (kind, i)), "rb") as f:
            values.append(proto.array(proto.tensor_of(f.read())))
    return values


def converted(model: bytes, given: dict[str, np.ndarray], samples: bool = False) -> tuple[Converted, list[str]]:
    """The network, with those inputs as constants that its operators need: shapes, axes, weights. samples: products and
    sums of FP32 run on the GEMM, as planes of constants: the second operand of a product is one."""
    fixed: dict[str, np.ndarray] = {}
    if samples:
        weights = {n.input[1] for n in proto.model_of(model).graph.node if n.op_type in ("MatMul", "Gemm")}
        fixed.update((n, given[n]) for n in sorted(weights & set(given)))
    while True:
        try:
            return convert(model, constants=fixed, samples=given if samples else None), list(fixed)
        except NeedsConstant as error:
            new = [n for n in error.names if n in given and n not in fixed]
            if not new:
                raise
            fixed.update((n, given[n]) for n in new)


def close(got: np.ndarray, expected: np.ndarray, rtol: float, atol: float) -> bool:
    return (got.shape == expected.shape and got.dtype == expected.dtype and
            np.allclose(got.astype(np.float64), expected.astype(np.float64), rtol, atol, equal_nan=True))


def places(network: Converted, net: _core.Network) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Places in which the last run computed, and in which it moved elements."""
    arithmetic, moves = set(), set()
    nearest = {layer.name for layer in network.net.layers if layer.kind == "Interp" and layer.params[0] == 1}
    for layer, where in zip(net.layers, net.last_run or []):
        unit = {"npu": (where["unit"] or "").upper(), "cpu": "CPU", "nowhere": "addresses"}[where["place"]]
        if layer["type"] in MOVES or layer["name"] in nearest:
            moves.add(unit)
        elif layer["type"] not in NOTHING:
            arithmetic.add(unit)
    return tuple(u for u in UNITS if u in arithmetic), tuple(u for u in ("addresses", "ALU", "CPU") if u in moves)


def quantised_error(network: Converted, x: np.ndarray, expected: list[np.ndarray],
                    devices: list[_core.Device]) -> float | None:
    """Error of the network with INT8 convolutions, calibrated with the test's own input; None: the NPU computes
    none of them."""
    net = network.open()
    if (len(net.inputs) != 1 or net.int8 or
        not any(layer["type"] in ("Convolution", "ConvolutionDepthWise", "InnerProduct") for layer in net.layers)):
        return None
    net.calibrate(x[None], "minmax")
    net.quantise()
    worst = 0.0
    for device in devices:
        got = network.fetch(net.run(device, x))
        if "GEMM" not in places(network, net)[0]:
            return None
        worst = max(float(np.abs(g - e).max() / max(np.ptp(e), 1e-30)) for g, e in zip(got, expected))
    return worst


def fit_bound(network: Converted, x: np.ndarray) -> float:
    """The bound of the fit, times the largest factor after a fitted function; that of Swish and Mish is relative to |x|
    above 1."""
    factors = [layer.params[0] for layer in network.net.layers if layer.kind == "ELU"]
    factors += [layer.params[2] for layer in network.net.layers
                if layer.kind == "BinaryOp" and layer.params[0] == 2 and 2 in layer.params]
    if {"Swish", "Mish"} & set(network.fitted):
        factors.append(float(np.abs(x).max(initial=0)))
    return FIT * max([1.0] + [abs(f) for f in factors])


def compare(network: Converted, x: np.ndarray, expected: list[np.ndarray],
            devices: list[_core.Device]) -> tuple[str, str, _core.Network]:
    """Outcome and reason."""
    net = network.open()
    first: list[np.ndarray] = []
    for device in devices:
        got = network.fetch(net.run(device, x))
        for port, g, e in zip(network.outputs, got, expected):
            bound = (0, fit_bound(network, x)) if network.fitted else (RTOL, ATOL) if e.dtype.kind == "f" else (0, 0)
            if not close(g, e, *bound):
                return ("FAILED", "%s: output '%s' is %s, expected %s" %
                        (device.kind, port.name, np.ravel(g)[:6], np.ravel(e)[:6]), net)
        if first and any(a.tobytes() != b.tobytes() for a, b in zip(first, got)):
            return "FAILED", "the devices differ", net
        first = got
    if network.fitted and not net.int8:  # plain C has no INT8; without samples it was compared
        exact = network.fetch(net.reference(x))
        if not all(close(g, e, RTOL, ATOL) for g, e in zip(exact, expected)):
            return "FAILED", "in plain C %s, expected %s" % (np.ravel(exact[0])[:6], np.ravel(expected[0])[:6]), net
    return "fitted" if network.fitted else "passed", "", net


def run(name: str, devices: list[_core.Device], folder: str = DATA, quantise: bool = True) -> Result:
    """One test on these devices, which must agree. Error: its files, or a device, are damaged."""
    path = os.path.join(folder, "test_" + name)
    with open(os.path.join(path, "model.onnx"), "rb") as f:
        data = f.read()
    model = proto.model_of(data)
    operators = " ".join(sorted({n.op_type for n in model.graph.node}))
    try:
        fixed_there = {i.name for i in model.graph.initializer}  # IR 3 has them among the inputs
        ports = [i for i in model.graph.input if i.name not in fixed_there]
        expected = arrays(path, "output", model.graph.output)
        given = dict(zip((i.name for i in ports), arrays(path, "input", ports)))
        network, fixed = converted(data, given)
        x = network.feed([given[p.name] for p in network.inputs])
    except OSError as error:
        raise _core.Error("%s: %s" % (error.filename, error.strerror)) from None
    except (Unsupported, ValueError) as error:
        text = " ".join(str(error).split())
        prefix, found, rest = text.partition("': ")
        return Result(name, operators, "not supported", text=rest if found and prefix.startswith("operator ") else text)
    outcome, text, net = compare(network, x, expected, devices)
    arithmetic, moves = places(network, net)
    split: tuple[str, ...] = ()
    if outcome != "FAILED" and any(p.dtype.kind == "f" for p in network.inputs):
        again, _ = converted(data, given, True)
        if any(layer.params.get(8, 0) and "volution" in layer.kind or layer.kind == "InnerProduct"
               for layer in again.net.layers) and "GEMM" not in arithmetic:
            second, reason, other = compare(again, again.feed([given[p.name] for p in again.inputs]), expected, devices)
            split = places(again, other)[0]
            outcome, text = (second, "as planes of INT8: " + reason) if second == "FAILED" else (outcome, text)
    error = (quantised_error(network, x, expected, devices) if quantise and outcome == "passed" and "CPU" in arithmetic
             else None)
    split = split if "GEMM" in split else ()
    return Result(name, operators, outcome, arithmetic, moves, tuple(fixed), error, text, split)


class Bench:
    """Devices for many tests: the golden model, and with rtl the RTL in tandem. A failed device is opened again."""

    def __init__(self, rtl: bool, n: int = 4):
        self.kinds = ["model", "tandem"] if rtl else ["model"]
        self.n = n
        self.devices: list[_core.Device] = []

    def __enter__(self) -> "Bench":
        return self

    def __exit__(self, *exc: object) -> None:
        for device in self.devices:
            device.close()

    def run(self, name: str, folder: str = DATA, quantise: bool = True) -> Result:
        if not self.devices or any(d.failure for d in self.devices):
            self.devices = [_core.Device(kind, self.n) for kind in self.kinds]
        try:
            return run(name, self.devices, folder, quantise)
        except _core.Error as error:
            return Result(name, "", "FAILED", text=" ".join(str(error).split()))


def run_all(chosen: list[str], rtl: bool, folder: str = DATA) -> Iterator[Result]:
    with Bench(rtl) as bench:
        for name in chosen:
            yield bench.run(name, folder)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python3 -m tandem.onnx.backend", description=__doc__.splitlines()[0])
    parser.add_argument("name", nargs="*", help="beginnings of names of tests")
    parser.add_argument("--device", choices=["model", "tandem"], default="model")
    parser.add_argument("--data", default=DATA, help="folder with test_*/model.onnx")
    args = parser.parse_args()
    if not os.path.isdir(args.data):
        print("tandem.onnx.backend: %s: no such folder (Debian: apt-get install libonnx-testdata)" % args.data,
              file=sys.stderr)
        return 1
    chosen = [n for n in names(args.data) if not args.name or any(n.startswith(w) for w in args.name)]
    failed = 0
    try:
        for r in run_all(chosen, args.device == "tandem", args.data):
            failed += r.outcome == "FAILED"
            quantised = "" if r.quantised is None else " quantised %.2g" % r.quantised
            print("%-14s %s: %s%s%s" % (r.outcome, r.name, r.text or ", ".join(r.arithmetic) or "-",
                                        " (moved: %s)" % ", ".join(r.moves) if r.moves else "", quantised +
                                        (" split %s" % ", ".join(r.split) if r.split else "")))
    except _core.Error as error:
        print("tandem.onnx.backend: %s" % error, file=sys.stderr)
        return 1
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
