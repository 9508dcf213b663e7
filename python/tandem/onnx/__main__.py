"""python3 -m tandem.onnx: an ONNX model as ncnn's two files."""

import argparse
import sys

import numpy as np

from .. import _core
from . import Unsupported, convert


def named(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not name or not equals or not value:
        raise argparse.ArgumentTypeError("'%s', expected name=value" % text)
    return name, value


def shape(text: str) -> tuple[str, tuple[int, ...]]:
    name, value = named(text)
    try:
        return name, tuple(int(n) for n in value.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError("'%s', expected name=1,3,224,224" % text) from None


def main() -> int:
    parser = argparse.ArgumentParser(prog="python3 -m tandem.onnx", description=__doc__)
    parser.add_argument("model", help="an .onnx file")
    parser.add_argument("-o", "--output", required=True, metavar="NET", help="write NET.param and NET.bin")
    parser.add_argument("--shape", action="append", default=[], type=shape,
                        metavar="NAME=1,3,224,224", help="shape of an input that the model leaves open")
    parser.add_argument("--constant", action="append", default=[], type=named,
                        metavar="NAME=FILE.npy", help="a fixed value for an input")
    parser.add_argument("--sample", action="append", default=[], type=named, metavar="NAME=FILE.npy",
                        help="values that an input may have: FP32 products run on the GEMM, in planes of INT8")
    args = parser.parse_args()
    try:
        constants, samples = ({name: np.load(path, allow_pickle=False) for name, path in given}
                              for given in (args.constant, args.sample))
        result = convert(args.model, shapes=dict(args.shape), constants=constants, samples=samples)
        result.save(args.output + ".param", args.output + ".bin")
    except (Unsupported, _core.Error, OSError, ValueError) as error:
        print("tandem.onnx: %s: %s" % (args.model, " ".join(str(error).split())), file=sys.stderr)
        return 1
    for kind, ports in (("input", result.inputs), ("output", result.outputs)):
        for port in ports:
            print("%s %s %s blob %s %s" % (kind, port.name, "x".join(map(str, port.shape)) or "1",
                                           port.blob, "x".join(map(str, port.view))))
    print("%d layers" % len(result.net.layers))
    return 0


if __name__ == "__main__":
    sys.exit(main())
