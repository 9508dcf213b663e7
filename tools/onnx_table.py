#!/usr/bin/python3
"""Write docs/onnx.md: what the ONNX converter supports, and ONNX's backend node tests on golden model and RTL (N = 4)
in tandem. Needs `make python PYTHON_RTL=n4-fast` and libonnx-testdata."""

import argparse
import os
import sys
import tempfile
import textwrap

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PAGE = os.path.join(ROOT, "docs", "onnx.md")
COUNTS = (("GEMM, with ALU and POOL", lambda r: "GEMM" in best(r) and "CPU" not in best(r)),
          ("GEMM, some functions on the CPU", lambda r: "GEMM" in best(r) and "CPU" in best(r)),
          ("ALU, POOL", lambda r: best(r) and not {"GEMM", "CPU"} & set(best(r))),
          ("ALU or POOL, and CPU", lambda r: "CPU" in best(r) and len(best(r)) > 1 and "GEMM" not in best(r)),
          ("CPU alone", lambda r: best(r) == ("CPU",)),
          ("none: moved by address, or constant", lambda r: not best(r) and set(r.moves) <= {"addresses"}),
          ("none: moved by the ALU or the CPU", lambda r: not best(r) and not set(r.moves) <= {"addresses"}))
HEAD = """# ONNX

This page is for engineers who have a network as an ONNX model. It says how to convert the model to
the files that `network/` reads, which operators are converted to what, and how ONNX's own node
tests end on golden model and RTL. `tools/onnx_table.py` (`make onnx-table`) writes this page; do
not edit it.

    apt-get install libonnx-testdata                  # for the node tests; the converter needs none
    make python PYTHON_RTL=n4-fast
    export PYTHONPATH=build/python
    python3 -m tandem.onnx model.onnx -o net          # net.param, net.bin: ncnn's (network.md)
    python3 -m tandem.onnx.backend --device tandem    # ONNX's node tests on golden model and RTL

From Python (`help(tandem.onnx)`):

    import tandem, tandem.onnx
    network = tandem.onnx.convert("model.onnx")       # or an onnx.ModelProto, of any version
    network.save("net.param", "net.bin")
    net = network.open()                              # a tandem.Network: calibrate, quantise, run
    with tandem.Device("tandem", 4) as dev:
        y, = network.run(dev, [x])                    # arrays as ONNX has them

## What is converted

The converter takes graphs of ONNX's own operators. No version is refused, neither of the IR nor of
the opset: each operator follows the rules of the model's opset (7 to 28, and older and newer ones
where the operator has not changed). If something is refused, the message names the operator or
attribute and the node. The converter reads the files by itself, and also data in files beside the
model (within its folder). Functions of a model are replaced by their bodies. bfloat16 constants
become FP32, and constants of four bits become INT8. A tensor may have any number of dimensions; the
*blob* that it becomes in ncnn's files has one to three, with the same elements in the same order. A
batch of one is dropped; larger batches become channels, or are split image by image. The converter
computes nodes over constants; it writes a `Reshape` layer only where an operator needs another
shape. x * Sigmoid(x), x * HardSigmoid(x) and x *
Tanh(Softplus(x)) become Swish, HardSwish and Mish; LayerNormalization and GELU become one layer also
where they are written in parts, and a constant row that is added to a product becomes its bias.

`--shape NAME=1,3,224,224` gives an input its size where the model leaves it open: no shape at all,
-1, or a name, which then has that size in all inputs. `--shape batch=4` gives a name its size.
Otherwise an open first dimension is 1. `--constant NAME=FILE.npy` fixes an input. If a model cannot
be converted, one line names the operator, the node and what is supported; the exit status is 1, and
no file is written. In Python this is the exception `tandem.onnx.Unsupported`.

| operators | layers |
| --- | --- |
| Conv, ConvTranspose (1 and 2 dimensions, groups, dilations, pads, auto_pad) | \
Convolution, ConvolutionDepthWise; ConvTranspose with one stride: these and PixelShuffle; others: Deconvolution, \
DeconvolutionDepthWise |
| Gemm, MatMul, Einsum (a letter for each axis) | InnerProduct where an operand is constant, else MatMul; BinaryOp |
| ConvInteger, MatMulInteger, QLinearConv, QLinearMatMul | Convolution, InnerProduct in INT8, exactly; BinaryOp, Clip |
| QuantizeLinear, DequantizeLinear, DynamicQuantizeLinear | BinaryOp, Clip; Reduction |
| com.microsoft: QLinearAdd, QLinearMul, QLinearConcat, QLinearAveragePool, QLinearGlobalAveragePool, \
QLinearLeakyRelu, QLinearSigmoid, QLinearSoftmax, QGemm, QuantizeLinear, DequantizeLinear, DynamicQuantizeLSTM | \
ONNX's operator between the two; LSTM |
| LSTM, GRU (linear_before_reset), RNN with their own functions, states as inputs and outputs, batches | \
LSTM, GRU, RNN |
| MaxPool, AveragePool, GlobalMaxPool, GlobalAveragePool (1 and 2 dimensions) | Pooling |
| BatchNormalization, InstanceNormalization, LRN | BatchNorm, GroupNorm, LRN |
| LayerNormalization, RMSNormalization (constant factors), GroupNormalization, MeanVarianceNormalization | \
LayerNorm, RMSNorm; Reduction, BinaryOp, UnaryOp |
| Softmax, LogSoftmax | Softmax; Reduction, BinaryOp, UnaryOp |
| Relu, LeakyRelu, PRelu, Elu, Celu, Selu, Sigmoid, Tanh, Softplus, HardSigmoid, HardSwish, Mish, Swish, Gelu, \
Clip | layers of these names (Clip with one bound: BinaryOp) |
| ThresholdedRelu, Shrink, Softsign, Sign | Threshold, BinaryOp, UnaryOp |
| Add, Sub, Mul, Div, Pow, Max, Min, Sum, Mean (broadcast) | BinaryOp |
| Abs, Neg, Floor, Ceil, Round, Sqrt, Exp, Log, Sin, Cos, Tan, Asin, Acos, Atan, Reciprocal, Erf | UnaryOp, Erf |
| Sinh, Cosh, Asinh, Acosh, Atanh, Mod | UnaryOp, BinaryOp |
| ArgMax, ArgMin, Hardmax | Reduction, Threshold, BinaryOp |
| Trilu, CumSum | BinaryOp; InnerProduct |
| NegativeLogLikelihoodLoss, SoftmaxCrossEntropyLoss | Reduction, Threshold, BinaryOp, UnaryOp |
| Greater, Less, GreaterOrEqual, LessOrEqual, Equal, IsInf, IsNaN | BinaryOp (difference), Threshold |
| And, Or, Xor, Not, Where | BinaryOp over 0 and 1 |
| ReduceSum, ReduceMean, ReduceMax, ReduceMin, ReduceProd, ReduceL1, ReduceL2, ReduceSumSquare, ReduceLogSum, \
ReduceLogSumExp | Reduction, UnaryOp, BinaryOp |
| Gather of indices that the network computes | Embed of a constant, else MatMul |
| Concat, Split, Slice, Gather, GatherElements, GatherND, Compress, ReverseSequence (constant indices), \
Pad, Expand, Tile | Concat, Slice, Crop, Padding, Tile |
| Reshape, Flatten, Squeeze, Unsqueeze, Identity, Dropout, Cast, CastLike | Reshape, or nothing |
| Transpose, DepthToSpace, SpaceToDepth | Permute, ShuffleChannel, one or several |
| Resize, Upsample (last two dimensions; linear and cubic where ncnn has the same weights) | \
Interp; Crop and Concat for other nearest elements |
| Constant, ConstantOfShape, Shape, Size, Range, and others over constants; If with a known condition | none |

All values are FP32 in the network. A bool is 0 or 1. Integers of 8 and 16 bits and halves are exact
where they are moved, compared or selected; wider integers are exact up to 2^24, which
`Converted.feed()` checks. Add, Sub, Mul and Div of eight bits wrap as in ONNX. Of wider integers
they and CumSum are exact, for which `feed()` limits the inputs where needed. Other operations that
would wrap or be rounded in ONNX are refused. double is computed in FP32. Comparisons and Where are
exact except for NaN.

## INT8 models

Quantised models run their convolutions and products on the GEMM unit of the NPU. They may use
QuantizeLinear and DequantizeLinear, QLinearConv and similar operators, or be quantised dynamically;
zero points may have any value, steps may differ between outputs, and biases are int32. The
arithmetic is that of onnxruntime: the integers are added exactly, with the padding at the zero
point; the sum becomes FP32 with one rounding, is multiplied by M = f32(f32(xs * ws) / ys), clipped,
and rounded half to even. Relu, MaxPool and operators that move elements work on the integers, too.

INT8 values of the NPU end at +-127. Where an integer q less its zero point z exceeds that (all of
uint8 with z = 0, or -128), the ALU splits it into two planes, q - z = 2 h + l, which take two runs
of the GEMM; weights beyond 127 are split by the converter. Rescaling and rounding are three passes
of the ALU over FP32. Where q - z fits, and only convolutions read a result (with z = 0, usually
behind a Relu), the convolution rescales by itself, and the blob stays INT8 between them; there -128
becomes -127, and halves are rounded away from zero. Sigmoid, Tanh and other functions that the NPU
approximates run in plain C in such models, since the approximation may be off by a step.

Several operators are one kernel of onnxruntime where DequantizeLinear and QuantizeLinear surround
them (QLinearAdd, QLinearMul, QLinearSoftmax, QLinearAveragePool), and round otherwise than their
parts in FP32 would. These kernels are followed, since many sums lie half way between two steps:
x + 1 of GELU and x + 3 of HardSwish add a constant that is 255 of its own steps, and a step of the
result is twice as wide, so that the last bit of FP32 decides over every second value. A sum is
fma(a, ra, fma(b, rb, f)) there; the ALU multiplies and adds with a rounding each, and the converter
chooses the constant so that every integer ends where the fused sum does. Softmax has floor(1 / step)
steps in 1, which are 254 of 1 / 255. Sums, products and averages of int8 between DequantizeLinear
and QuantizeLinear remain FP32 as written, as in onnxruntime on x86. What is not followed: a
ConvTranspose with FP32 weights between the two, which onnxruntime quantises by itself,
and the order in which it adds FP32 where it computes int8 models in FP32: sums are exact here.

`tools/onnx_int8.py SITE --model FILE.onnx --shape x=1,3,224,224` makes the table below of any FP32
model, `--nodes` another one of its nodes, each with the inputs that onnxruntime has there. So
measured, no node of a uint8 or QOperator model was more than a step off: of a text detector
(PP-OCRv4, 294 nodes of 12 operators) every value was equal, and of an encoder (MiniLM L3, eight
forms) at least 99.998 %% of each operator's. Whole models, ten inputs each; the last column is
onnxruntime without graph optimisations beside itself:

| model | form | exact | largest error, steps | without: exact, largest |
| --- | --- | --- | --- | --- |
| PP-OCRv4 detector | QDQ uint8 x int8 | 100.0 %% | 0.00 | 99.1 %%, 142.00 |
| MiniLM L3 | QDQ uint8 x int8 | 100.0 %% | 3.00 | 38.3 %%, 39.00 |
| MiniLM L3 | QDQ uint8 x int8, per channel | 100.0 %% | 3.00 | 38.9 %%, 40.00 |
| MiniLM L3 | QDQ uint8 x int8, per channel, symmetric | 100.0 %% | 0.00 | 3.1 %%, 204.00 |
| MiniLM L3 | QOperator int8 x int8 | 100.0 %% | 0.00 | 100.0 %%, 0.00 |
| MiniLM L3 | QOperator int8 x int8, per channel, symmetric | 100.0 %% | 0.00 | 100.0 %%, 0.00 |
| MiniLM L3 | QOperator uint8 x int8 | 99.5 %% | 2.45 | 100.0 %%, 0.00 |
| MiniLM L3 | QOperator uint8 x int8, per channel | 99.6 %% | 2.37 | 100.0 %%, 0.00 |
| MiniLM L3 | QOperator uint8 x int8, per channel, symmetric | 100.0 %% | 0.00 | 100.0 %%, 0.00 |
| MiniLM L3 | QDQ int8 x int8 | 100.0 %% | 0.00 | 100.0 %%, 0.00 |
| MiniLM L3 | QDQ int8 x int8, per channel, symmetric | 7.6 %% | 95.00 | 3.5 %%, 202.00 |
| PP-OCRv4 recogniser | QDQ int8 x int8 | 100.0 %% | 10.00 | 100.0 %%, 34.00 |
| YOLOv8n (NudeNet) | QDQ int8 x int8 | 97.5 %% | 8.00 | 98.4 %%, 8.00 |
| YOLOv8n (NudeNet) | QDQ int8 x int8, per channel, symmetric | 95.2 %% | 8.00 | 100.0 %%, 0.00 |

The last four are int8 models that onnxruntime computes in FP32 for the most part: there one value
that FP32 rounds to the other side changes what follows. MiniLM's int8 form with symmetric steps has
a mask whose steps reach beyond FP32, in onnxruntime, too.

`tools/onnx_int8.py SITE` makes models with onnxruntime's quantisers (1.32, on a machine with
VNNI), and compares every output, here of ten images, with onnxruntime's:

| model | exact | largest error, steps | MACs on the GEMM | onnxruntime against FP32 |
| --- | --- | --- | --- | --- |
| QDQ int8 x int8 | 100.0 %% | 0.00 | 100 %% | 1.6 %% |
| QDQ int8 x int8, per channel, symmetric | 100.0 %% | 0.00 | 100 %% | 1.6 %% |
| QDQ uint8 x int8 | 100.0 %% | 0.00 | 100 %% | 1.6 %% |
| QDQ uint8 x int8, per channel | 100.0 %% | 0.00 | 100 %% | 1.6 %% |
| QDQ uint8 x int8, per channel, symmetric | 100.0 %% | 0.00 | 100 %% | 1.9 %% |
| QDQ uint8 x uint8 | 100.0 %% | 0.00 | 100 %% | 1.6 %% |
| QOperator int8 x int8 | 100.0 %% | 0.00 | 100 %% | 1.6 %% |
| QOperator int8 x int8, per channel, symmetric | 100.0 %% | 0.00 | 100 %% | 1.6 %% |
| QOperator uint8 x int8 | 100.0 %% | 0.00 | 100 %% | 1.6 %% |
| QOperator uint8 x int8, per channel | 100.0 %% | 0.00 | 100 %% | 1.6 %% |
| QOperator uint8 x int8, per channel, symmetric | 100.0 %% | 0.00 | 100 %% | 1.9 %% |
| QOperator uint8 x uint8 | 100.0 %% | 0.00 | 100 %% | 1.6 %% |
| dynamic uint8 x int8 | 100.0 %% | 0.00 | 100 %% | 0.9 %% |
| dynamic uint8 x uint8 | 100.0 %% | 0.00 | 100 %% | 1.0 %% |

Products of two activations that are integers (QDQ around MatMul, QLinearMatMul, MatMulInteger) are
exact in the same way. Convolutions with weights that depend on inputs, block_size, and sums beyond
2^24 as an output in int32 are not supported.

## FP32 on the GEMM

`convert(model, samples={"x": array})`, or `--sample x=FILE.npy`, says what values the inputs may
have; convolutions, products with constants, sums and means then run on the GEMM, without
calibration and without INT8's error.
An operand is split into at most four planes of INT8, each of which has a step 2^-7 of that of the
one before. Integers up to 127 (times a power of two) need one plane. The planes hold the values
exactly, or up to 2^-29 of the largest one. Products of planes are exact and are added in FP32;
those below 2^-28 are left out. `Converted.feed()` refuses values that the planes cannot hold. For
tensors inside the network the largest possible magnitude counts; where it is not known, FP32 stays
on ALU, POOL and CPU. A sum is a product with a row of ones, and an average is a depthwise
convolution with ones.

Operands with one plane each take one run of the GEMM, operands with four planes each take ten. The
mode is meant for results as in FP32, not for speed.

## Networks

These are networks as exporters write them (`python/tests/onnx_networks.py`: shapes that the graph
computes, open sizes, data beside the file), but small and with weights from a seed. In FP32 their
results are within 2e-6 of
NumPy's in binary64, relative to the largest one (`python/tests/test_onnx_networks.py`); in INT8,
calibrated on the input, they are the same bits on golden model and RTL (N = 4):

| network, opset | INT8 beside NumPy, dB | MACs | on the GEMM | layers on the CPU |
| --- | --- | --- | --- | --- |
%(networks)s

## Node tests

The table has ONNX's backend node tests (Debian's libonnx-testdata, ONNX 1.12, %(all)d models) on
golden model and RTL (N = 4) in tandem. The converter decides what is supported before anything
runs. Everything else must give ONNX's results within ONNX's tolerance (relative 1e-3, absolute
1e-7; integers and bool exactly), and both devices must give the same bits. Inputs that an operator
needs as constants (shapes, axes, weights, scales) become constants; the column `fixed` names them.
Networks with functions that the NPU fits ([activations.md](npu/activations.md)) are a class of their
own, chosen by the layer's type: they
must give ONNX's results in plain C, and on the devices within the fit's bound, 1e-3 (times alpha,
where the function is scaled; times |x| above 1 for Swish and Mish).

Tests with products or sums of FP32 run twice: as they are, and with those on the GEMM (column `on
the GEMM` below). Both runs must give ONNX's results. The next table counts each test once, by its
second run if there is one.

| where the arithmetic ran | passed | passed within the fit's bound |
| --- | --- | --- |
%(counts)s
| **all** | **%(passed)d** | **%(fitted)d** |

%(refused)d tests are not supported, and %(failed)d failed. The column `moved` says how elements
that only change their place were moved: by addressing (nothing is copied), by copies of the ALU, or
by the CPU. The column `INT8` is for information only: it has the largest error of FP32 layers that
are quantised for the GEMM (calibrated with the test's own input), as a part of the range of the
result.

| test | arithmetic | on the GEMM | moved | fixed | INT8 |
| --- | --- | --- | --- | --- | --- |
%(rows)s

## Not supported

| test | reason |
| --- | --- |
%(reasons)s
"""


def best(r):
    """Where it ran: on the GEMM where that is possible."""
    return r.split or r.arithmetic


def row(r):
    outcome = {"passed": "", "fitted": " (fitted)"}.get(r.outcome, " **FAILED** " + r.text)
    quantised = "" if r.quantised is None else "%.2g" % r.quantised
    return "| %s%s | %s | %s | %s | %s | %s |" % (r.name, outcome, ", ".join(r.arithmetic) or "-", ", ".join(r.split),
                                                  ", ".join(r.moves) or "-", " ".join(r.constants), quantised)


def networks(device):
    """Rows of the table of networks."""
    sys.path.insert(0, os.path.join(ROOT, "python", "tests"))
    from onnx_networks import NETWORKS, measure
    from tandem import Device
    rows = []
    for name in NETWORKS:
        for opset in (13, 18):
            with tempfile.TemporaryDirectory() as folder, Device(device, 4) as dev:
                m = measure(name, opset, folder, dev)
            rows.append("| %s, %d | %.1f | %d | %.2f %% | %s |" %
                        (name, opset, m.int8, m.macs, 100 * m.on_gemm / m.macs, ", ".join(m.cpu)))
    return "\n".join(rows)


def wrapped(text):
    """Paragraphs with lines of at most 100 columns; tables, lists, headings and examples as they are."""
    blocks = text.split("\n\n")
    for i, block in enumerate(blocks):
        if not any(line[:1] in ("|", "#", "-", " ", "") for line in block.split("\n")):
            blocks[i] = textwrap.fill(" ".join(block.split("\n")), 100, break_long_words=False, break_on_hyphens=False)
    return "\n\n".join(blocks)


def page(results, rows):
    def count(outcome, test=lambda r: True):
        return sum(1 for r in results if r.outcome == outcome and test(r))
    counts = "\n".join("| %s | %d | %d |" % (name, count("passed", test), count("fitted", test))
                       for name, test in COUNTS)
    ran = [r for r in results if r.outcome != "not supported"]
    reasons = "\n".join("| %s | %s |" % (r.name, r.text.replace("|", "\\|"))
                        for r in results if r.outcome == "not supported")
    text = HEAD % {"all": len(results), "networks": rows, "counts": counts, "passed": count("passed"),
                   "fitted": count("fitted"), "refused": count("not supported"),
                   "failed": count("FAILED"), "rows": "\n".join(row(r) for r in ran), "reasons": reasons}
    return wrapped(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare the page with what would be written")
    parser.add_argument("--device", choices=["model", "tandem"], default="tandem",
                        help="model: without the RTL (same page)")
    parser.add_argument("--package", default=os.path.join(ROOT, os.environ.get("BUILD", "build"), "python"),
                        help="folder of the package tandem")
    parser.add_argument("--output", default=PAGE)
    args = parser.parse_args()
    sys.path.insert(0, args.package)
    try:
        from tandem import Error
        from tandem.onnx import backend
    except ImportError as error:
        print("onnx_table.py: %s; expected `make python PYTHON_RTL=n4-fast`" % error, file=sys.stderr)
        return 2
    if not os.path.isdir(backend.DATA):
        print("onnx_table.py: %s: no such folder (Debian: apt-get install libonnx-testdata)" % backend.DATA,
              file=sys.stderr)
        return 2
    try:
        results = list(backend.run_all(backend.names(), args.device == "tandem"))
    except Error as error:
        print("onnx_table.py: %s" % error, file=sys.stderr)
        return 2
    text = page(results, networks(args.device))
    print(text[text.index("| where the"):text.index("The column `moved` says")].strip())
    failed = [r for r in results if r.outcome == "FAILED"]
    for r in failed:
        print("onnx_table.py: %s: %s" % (r.name, r.text), file=sys.stderr)
    if args.check:
        with open(args.output, encoding="utf-8") as f:
            stale = f.read() != text
        if stale:
            print("onnx_table.py: %s is stale: make onnx-table" % os.path.relpath(args.output, ROOT), file=sys.stderr)
        return 1 if stale or failed else 0
    if not failed:
        with open(args.output + ".tmp", "w", encoding="utf-8") as f:
            f.write(text)
        os.replace(args.output + ".tmp", args.output)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
