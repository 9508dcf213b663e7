#!/usr/bin/python3
"""Cycles of GEMMs on an ideal bus beside their formula, and where the lanes wait (make DUT=sgemm cycles CFG=doc;
docs/sgemm/performance.md).

usage: cycles.py PROGRAM [M,N,K,NN,beta ...]

PROGRAM is the program of the design, in the configuration to be measured. Every GEMM runs in tandem with the golden
model; the test `perf` fails above 1.10 times the formula. Exit status: 0, 1 a run failed, 2 bad usage."""

import re
import subprocess
import sys

# a block; the document's benchmark, forward and backward; layers of LeNet, an image or a batch of 64; a large one
SHAPES = ("64,64,56,NN,0", "96,484,363,NN,0", "96,484,363,NN,1", "96,363,484,NT,1", "363,484,96,TN,0", "20,576,25,NN,0",
          "50,64,500,NN,0", "64,500,800,NT,0", "64,10,500,NT,0", "500,800,64,TN,0", "512,512,512,NN,0")
SHAPE = re.compile(r"([1-9]\d*),([1-9]\d*),([1-9]\d*),([NT])([NT]),([01])")
LINE = re.compile(r": (\d+) cycles, (\d+) passes (\d+), bound (\d+), fill (\d+), drain (\d+), ratio ([\d.]+), (.*)")


def measure(program, shape):
    """The numbers of the line that the test prints: by name."""
    m, n, k, ta, tb, beta = SHAPE.fullmatch(shape).groups()
    words = ["run", "perf", "m=" + m, "n=" + n, "k=" + k, "ta=%d" % (ta == "T"), "tb=%d" % (tb == "T"),
             "beta=" + ("one" if beta == "1" else "zero"), "at=0", "bus=ideal"]
    for half in ("half=0", "half=1"):  # a build that only rounds refuses the first one
        done = subprocess.run([program, *words, half], capture_output=True, text=True)
        if done.returncode != 2:
            break
    found = LINE.search(done.stdout)
    if done.returncode != 0 or found is None:
        sys.exit("cycles: %s: %s" % (shape, (done.stderr or done.stdout).strip().splitlines()[-1]))
    names = ("cycles", "passes", "sum", "bound", "fill", "drain", "ratio")
    values = dict(zip(names, (float(v) if "." in v else int(v) for v in found.groups()[:7])))
    values.update((name, int(v)) for name, v in re.findall(r"(\w+) (\d+)", found.group(8)))
    return values


def main():
    words = sys.argv[1:]
    bad = [w for w in words[1:] if not SHAPE.fullmatch(w)]
    if not words or words[0] == "--help" or bad:
        print("cycles: %s is not a GEMM, expected for example 64,64,56,NN,0" % bad[0] if bad else __doc__)
        return 0 if words[:1] == ["--help"] else 2
    print("| M, N, K, transposes, beta | passes | their sum | cycles | fill + drain | (cycles - fill - drain)/bound | "
          "lanes wait for A, B, C, sums | beats A + C, B, out |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for shape in words[1:] or SHAPES:
        v = measure(words[0], shape)
        print("| %s | %s | %s | %s | %s | %.3f | %s | %s |" % (
            shape.replace(",", ", "), *("{:,}".format(x) for x in (v["passes"], v["sum"], v["cycles"])),
            "{:,}".format(v["fill"] + v["drain"]), v["ratio"],
            ", ".join("{:,}".format(v[n]) for n in ("wait_a", "wait_b", "wait_c", "wait_sums")),
            ", ".join("{:,}".format(v[n]) for n in ("read0", "read1", "write"))), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
