#!/usr/bin/env python3
"""make hang-bugs: an NPU with bugs that cause hangs, each enabled by a plusarg; the report must name the unit.

hang_bugs.py [--program FILE] [--keep] [BUG ...]: FILE is a tandem built with tests/hang_bugs.patch; without it a copy
of the tree is built. Each bug runs twice: without the checks of the units, when only the report can find it, and with
them, when a check of the right unit may come first. Exit status 1 when another unit is blamed.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
CONV = ["conv", "ic=6", "oc=6", "iw=20", "ih=20", "k=3", "s=1", "bias=1", "in_layout=fp32", "out_layout=fp32"]
LARGE = ["conv", "ic=6", "oc=8", "iw=48", "ih=48", "k=3", "s=1", "out_layout=fp32"]  # more tiles than ofm_buf holds
INT8 = ["conv", "ic=6", "oc=6", "iw=20", "ih=20", "k=3", "s=1", "in_layout=int8", "out_layout=int8"]
POOL = ["pool", "--seed", "3"]
# bug: root, case
BUGS = {
    "credit": ("gemm", LARGE),
    "dma_rd": ("dma_rd", CONV),
    "dma_wr": ("dma_wr", CONV),
    "send_buf": ("send_buf", CONV),
    "layout": ("layout", CONV),
    "ifm_ld": ("ifm_ld", CONV),
    "wgt_ld": ("wgt_ld", CONV),
    "par_ld": ("par_ld", CONV),
    "im2col": ("im2col", CONV),
    "post": ("post", CONV),
    "transpose": ("transpose", INT8),
    "requant": ("requant", INT8),
    "alu_end": ("alu", ["eltwise"]),
    "alu_chan": ("alu_chan", ["eltwise"]),
    "alu_walk": ("alu_walk", ["eltwise"]),
    "pool_ld": ("pool_ld", POOL),
    "pool_seq": ("pool_seq", POOL),
    "pool_out": ("pool_out", POOL),
    "gemm_queue": ("gemm_queue", CONV + ["max_oh=4"]),
    "gemm_slot": ("gemm_slot", CONV),
    "npu_regs": ("npu_regs", CONV),
}

# units that are checked by the check of the unit around them
CHECKS = {"gemm_slot": "npu_regs"}


def build(folder):
    files = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                           cwd=ROOT, stdout=subprocess.PIPE, check=True).stdout
    for name in filter(None, files.decode().split("\0")):
        if os.path.isfile(os.path.join(ROOT, name)):
            os.makedirs(os.path.dirname(os.path.join(folder, name)), exist_ok=True)
            shutil.copy2(os.path.join(ROOT, name), os.path.join(folder, name))
    with open(os.path.join(ROOT, "tests", "hang_bugs.patch"), "rb") as patch:
        subprocess.run(["patch", "-p1", "-s", "-F0"], cwd=folder, stdin=patch, check=True)
    program = "build/n4-tap/tandem"
    subprocess.run(["make", "-s", "CFG=n4", "KIND=tap", program], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    return os.path.join(folder, program)


def signature(program, case, bug, folder, options):
    result = os.path.join(folder, bug + ".result")
    done = subprocess.run([program, "test"] + case + ["--plusarg", "+bug_" + bug] + options +
                          ["--case-dir", folder, "--result", result], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=300, check=False)
    found = (re.search(r"^signature=(.*)$", open(result, encoding="utf-8").read(), re.M)
             if os.path.exists(result) else None)
    return done.returncode, found[1] if found else "", done.stdout


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program")
    parser.add_argument("--keep", action="store_true", help="print the whole report of each bug")
    parser.add_argument("bug", nargs="*")
    args = parser.parse_args()
    right = 0
    bugs = args.bug or list(BUGS)
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.abspath(args.program) if args.program else build(folder)
        for bug in bugs:
            want, case = BUGS[bug]
            for options, pattern in ((["--no-checks"], rf"(watchdog:hang|reg:timeout):{want}"),
                                     ([], rf"(watchdog:hang|reg:timeout):{want}|unit:{CHECKS.get(want, want)}:.*")):
                status, got, out = signature(program, case, bug, folder, options)
                good = status == 1 and re.fullmatch(pattern, got) is not None
                right += good
                print(f"{'right' if good else 'WRONG'}  {bug:12} {' '.join(options):11} {got or out.strip()[-100:]}")
                if args.keep:
                    print(out)
    print(f"hang-bugs: {right} of {2 * len(bugs)} blamed on the right unit")
    return 0 if right == 2 * len(bugs) else 1


if __name__ == "__main__":
    sys.exit(main())
