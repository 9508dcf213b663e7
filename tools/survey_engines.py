#!/usr/bin/python3
"""docs/engines.md: networks on engines other than the NPU, beside FP32: accuracy on the golden models, cycles and
equality on RTL and model in tandem.

usage: survey_engines.py BUILD DATA OUTPUT

BUILD: folder with host/tandem-net-model, sgemm/s8r4-fast/tandem-net and sac/s-fast/tandem-net; DATA: photographs and
SqueezeNet v1.1."""

import glob
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__))))
from param_text import write_file  # noqa: E402

DIGITS = ["--image", "models/digits/heldout.csv", "--norm", "0.0625", "--order", "gray"]
CALIB = ["--calib", "models/digits/calibration.csv"]
LENET = ["--net", "models/lenet/lenet.param", "--bin", "models/lenet/lenet.bin"] + DIGITS
SMALL = ["--net", "models/digits/digits.param", "--bin", "models/digits/digits.bin"] + DIGITS
POW2 = CALIB + ["--pow2", "models/digits/digits.pow2", "--search"]

PAGE = """# Networks on other engines

This page compares networks on the GEMM engine ([sgemm.md](sgemm/sgemm.md)) and on the shift-add
engine ([sac.md](sac/sac.md)) with the same networks in FP32, in accuracy and in cycles.
[network.md](network.md), "On other engines", says how to run a network there.

    make engines DATA=folder        # writes this page

LeNet and the digits network classify the 400 held-out images of `models/digits`; SqueezeNet v1.1
with its public weights classifies twelve photographs without labels. *Right* counts labels. For the
photographs it counts the images whose first class is that of FP32 and, after the comma, those whose
first five classes are the same in the same order.

## Accuracy, golden models

%s
The weights of SqueezeNet v1.1 are rounded to powers of two as they come, without the training that
document 001 builds on. This rounding, and not the arithmetic of the engine, is why it loses its
classes. The column *INT8 as FP32* counts the images that are right with INT8 activations among those
that are right with FP32 activations and the same weights (of photographs: those whose first class is
the same).

## In tandem

RTL and golden model ran side by side, with memory and registers compared after every layer and an
ideal bus. The column *formula* has the cycles by the formula of
[sgemm/performance.md](sgemm/performance.md), and by that of [sac/sac.md](sac/sac.md) for the cycles in
which the array works; these pages explain the difference to the measured cycles.

%s"""


def run(program, target, words):
    command = [program, "run", "--target", target] + words
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit("survey_engines.py: %s: exit status %d" % (" ".join(command[:6]), done.returncode))
    return done.stdout


def counts(text):
    """Images, right in FP32, right on the engine."""
    found = re.search(r"^(\d+) images: FP32 (\d+) right, engine (\d+) right", text, re.M)
    if found:
        return found.groups()
    found = re.search(r"^(\d+) images: same class as in FP32 (\d+), same first 5 in the same order (\d+)", text, re.M)
    return found.group(1), "-", "%s, %s" % found.groups()[1:]


def accuracy(program, rows):
    out = ("| network | engine | operands | images | right in FP32 | on the engine | INT8 as FP32 | MACs on it, % |\n"
           "| --- | --- | --- | ---: | ---: | ---: | ---: | ---: |\n")
    for name, target, operands, words in rows:
        text = run(program, target, words)
        inner = re.search(r"FP32 activations (\d+) right, INT8 activations (\d+)", text)
        share = re.search(r"^([\d.]+) % of the multiply", text, re.M).group(1)
        out += "| %s | %s | %s | %s | %s | %s | %s | %s |\n" % (
            (name, target, operands) + counts(text) + ("%s of %s" % inner.groups()[::-1] if inner else "-", share))
    return out


def tandem(rows):
    out = ("| network | engine | operands | images | differences | cycles an image | formula |\n"
           "| --- | --- | --- | ---: | ---: | ---: | ---: |\n")
    for name, program, cfg, target, operands, images, words in rows:
        text = run(program, target, words + ["--device", "tandem", "--count", str(images)])
        cycles, formula = map(int, re.search(r"^all +\d+ +(\d+) +(\d+)$", text, re.M).groups())
        out += "| %s | %s, %s | %s | %d | 0 | %s | %s |\n" % (name, target, cfg, operands, images,
                                                             "{:,}".format(cycles), "{:,}".format(formula))
    return out


def main():
    if len(sys.argv) != 4:
        print(__doc__)
        return 0 if sys.argv[1:] == ["--help"] else 2
    build, data, output = sys.argv[1:]
    files = [os.path.join(data, "squeezenet", "squeezenet_v1.1" + end) for end in (".param", ".bin")]
    photos = sorted(glob.glob(os.path.join(data, "images", "*.jpg")))
    missing = [name for name in files if not os.path.exists(name)] or ([] if photos else [data + "/images/*.jpg"])
    if missing:
        sys.exit("survey_engines.py: %s: no such file" % missing[0])
    squeezenet = ["--net", files[0], "--bin", files[1], "--mean", "104,117,123", "--image"] + photos
    model, sgemm, sac = (os.path.join(build, *path) for path in (
        ("host", "tandem-net-model"), ("sgemm", "s8r4-fast", "tandem-net"), ("sac", "s-fast", "tandem-net")))
    first = accuracy(model, [
        ("LeNet", "sgemm", "FP32", LENET), ("LeNet", "sgemm", "FP16 (HALF)", LENET + ["--half"]),
        ("digits", "sgemm", "FP32", SMALL), ("digits", "sgemm", "FP16 (HALF)", SMALL + ["--half"]),
        ("SqueezeNet v1.1", "sgemm", "FP32", squeezenet), ("SqueezeNet v1.1", "sgemm", "FP16 (HALF)",
                                                          squeezenet + ["--half"]),
        ("digits", "sac", "powers of two, fine-tuned; INT8", SMALL + POW2),
        ("digits", "sac", "powers of two, as they come; INT8", SMALL + CALIB),
        ("LeNet", "sac", "powers of two, as they come; INT8", LENET + CALIB),
        ("SqueezeNet v1.1", "sac", "powers of two, as they come; INT8", squeezenet)])
    second = tandem([
        ("LeNet", sgemm, "s8r4", "sgemm", "FP32", 10, LENET),
        ("LeNet", sgemm, "s8r4", "sgemm", "FP16 (HALF)", 10, LENET + ["--half"]),
        ("SqueezeNet v1.1", sgemm, "s8r4", "sgemm", "FP32", 1, squeezenet),
        ("digits", sac, "s", "sac", "powers of two; INT8", 400, SMALL + POW2),
        ("SqueezeNet v1.1", sac, "s", "sac", "powers of two; INT8", 1, squeezenet)])
    write_file(output, PAGE % (first, second))
    return 0


if __name__ == "__main__":
    sys.exit(main())
