#!/usr/bin/python3
"""The functions of the ALU (ALU_ACT.FUNC: e^v, 1/v, 1/sqrt(v)): fit their table, or generate those of RTL and model.

`gen_func.py fit` computes the table: on each segment the polynomial of degree 3 through the function at four points.
Without a command the SystemVerilog package and the C header are written from that table, into the folder --out."""

import argparse
import os
import re
import sys
from decimal import ROUND_HALF_EVEN, Decimal, getcontext

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "scripts"))
from gen_file import Bad, finish, read_input  # noqa: E402

getcontext().prec = 40
# name, number of its first entry, segments
FUNCTIONS = (("EXP", 0, 16), ("RECIP", 32, 32), ("RSQRT", 64, 64))
FIRST = {name: first for name, first, _ in FUNCTIONS}
SEGMENTS = {name: count for name, _, count in FUNCTIONS}
ENTRIES = 128
WIDTHS = (32, 28, 23, 18)  # bits of c0 (unsigned) and of c1, c2, c3 (two's complement)
LOG2E_BITS = 36


def log2e():
    """round(log2(e) * 2^36)"""
    return nearest(Decimal(2 ** LOG2E_BITS) / Decimal(2).ln())


def nearest(value):
    return int(value.to_integral_value(ROUND_HALF_EVEN))


def exact(name, segment, u):
    """What a segment stands for at 0 <= u <= 1, as a multiple of 2^-30 (EXP, 1..2) or 2^-31 (the others, 1/2..1)."""
    if name == "EXP":
        return ((Decimal(segment) + u) / 16 * Decimal(2).ln()).exp() * 2 ** 30
    m = 1 + (Decimal(segment % 32) + u) / 32
    if name == "RECIP":
        return 2 ** 31 / m
    return 2 ** 31 / (m * (segment // 32 + 1)).sqrt()  # segments from 32 on: an odd exponent


def points(from_zero):
    """The roots of the Chebyshev polynomial of degree 4, on 0..1; from_zero: stretched so that the first one is 0."""
    c1 = (2 + Decimal(2).sqrt()).sqrt() / 2
    c3 = (2 - Decimal(2).sqrt()).sqrt() / 2
    ts = (-c1, -c3, c3, c1)
    return [(t + c1) / (1 + c1) for t in ts] if from_zero else [(t + 1) / 2 for t in ts]


def polynomial(xs, ys):
    """[c0, c1, c2, c3] through four points, by Newton's divided differences."""
    d = list(ys)
    for k in range(1, 4):
        for i in range(3, k - 1, -1):
            d[i] = (d[i] - d[i - 1]) / (xs[i] - xs[i - k])
    c = [Decimal(0)] * 4
    for i in range(3, -1, -1):  # c = c * (x - xs[i]) + d[i]
        c = [d[i] - xs[i] * c[0]] + [c[k - 1] - xs[i] * c[k] for k in range(1, 4)]
    return c


def segment(name, i):
    """[c0, c1, c2, c3] as integers. e^0, 1/1 and 1/sqrt(1) are exact: the first point is there."""
    xs = points(i == 0)
    return [nearest(c) for c in polynomial(xs, [exact(name, i, x) for x in xs])]


def fit():
    out = ["# Coefficients of the ALU's functions (docs/npu/npu.md section 2): function, segment, c0 c1 c2 c3.",
           "# Written by `tools/gen_func.py fit`; npu_func_pkg.sv (RTL) and func_table.h (model) come from it."]
    for name, _, count in FUNCTIONS:
        out += ["%s %d %d %d %d %d" % (name, i, *segment(name, i)) for i in range(count)]
    return "\n".join(out) + "\n"


def parse(lines):
    """(function, segment) -> (c0, c1, c2, c3)."""
    table = {}
    for num, raw in enumerate(lines, 1):
        words = raw.split()
        if not words or words[0].startswith("#"):
            continue
        if len(words) != 6:
            raise Bad(num, "expected: FUNCTION SEGMENT C0 C1 C2 C3")
        name, seg = words[:2]
        if name not in FIRST:
            raise Bad(num, "unknown function '%s': expected one of %s" % (name, ", ".join(FIRST)))
        if not re.match(r"[0-9]{1,2}\Z", seg) or int(seg) >= SEGMENTS[name]:
            raise Bad(num, "segment '%s': expected 0..%d" % (seg, SEGMENTS[name] - 1))
        coeffs = []
        for k, word in enumerate(words[2:]):
            low, high = (0, 1 << WIDTHS[0]) if k == 0 else (-1 << (WIDTHS[k] - 1), 1 << (WIDTHS[k] - 1))
            if not re.match(r"-?[0-9]{1,10}\Z", word) or not low <= int(word) < high:
                raise Bad(num, "c%d '%s': expected %d..%d" % (k, word, low, high - 1))
            coeffs.append(int(word))
        if (name, int(seg)) in table:
            raise Bad(num, "%s %s is there twice" % (name, seg))
        table[(name, int(seg))] = tuple(coeffs)
    for name, _, count in FUNCTIONS:
        for i in range(count):
            if (name, i) not in table:
                raise Bad(len(lines), "%s %d is missing" % (name, i))
    return table


def entries(table):
    """The entries by number; those that no function has are 0."""
    rows = [(0, 0, 0, 0)] * ENTRIES
    for (name, i), c in table.items():
        rows[FIRST[name] + i] = c
    return rows


def gen_sv(table):
    out = ["// Coefficients of the ALU's functions (docs/npu/npu.md section 2).", "//",
           "// Generated from regs/func_fit.txt by tools/gen_func.py.",
           "// Entry {00, segment} of EXP, {01, segment} of RECIP, {1, segment} of RSQRT; entry 0 in the lowest bits.",
           "package npu_func_pkg;", "", "  localparam int unsigned FuncLatency = 6;  // cycles of alu_func",
           "  localparam logic [%d:0] FuncLog2E = %d'd%d;  // log2(e) * 2^%d" % (LOG2E_BITS, LOG2E_BITS + 1, log2e(),
                                                                                 LOG2E_BITS)]
    for k, width in enumerate(WIDTHS):
        out += ["", "  localparam logic [%d*%d-1:0] FuncC%d = {" % (width, ENTRIES, k)]
        words = ["%d'h%0*X" % (width, (width + 3) // 4, c[k] & (1 << width) - 1) for c in reversed(entries(table))]
        out += ["    " + ", ".join(words[at:at + 8]) + ("," if at + 8 < ENTRIES else "")
                for at in range(0, ENTRIES, 8)]
        out.append("  };")
    return "\n".join(out + ["", "endpackage", ""])


def gen_c(table):
    out = ["/*", " * func_table.h - coefficients of the ALU's functions (docs/npu/npu.md section 2).", " *",
           " * Generated from regs/func_fit.txt by tools/gen_func.py.", " */", "#ifndef FUNC_TABLE_H",
           "#define FUNC_TABLE_H", "", "#include <stdint.h>", "", "/* clang-format off */", "",
           "#define FUNC_LOG2E UINT64_C(%d) /* log2(e) * 2^%d */" % (log2e(), LOG2E_BITS), ""]
    for name, _, count in FUNCTIONS:
        out.append("/* c0, c1, c2, c3 of each segment */")
        out.append("static const int64_t func_%s[%d][4] = {" % (name.lower(), count))
        out += ["    {%d, %d, %d, %d}," % table[(name, i)] for i in range(count)]
        out += ["};", ""]
    return "\n".join(out + ["/* clang-format on */", "", "#endif", ""])


def main():
    ap = argparse.ArgumentParser(description=__doc__, epilog="Exit status: 0 done or up to date, "
                                 "1 stale (fit --check) or not written, 2 bad table or usage.")
    ap.add_argument("command", nargs="?", choices=("generate", "fit"), default="generate",
                    help="generate the tables of RTL and model (default), or fit the coefficients")
    ap.add_argument("--table", default="regs/func_fit.txt", help="table of coefficients (default: %(default)s)")
    ap.add_argument("--out", help="generate: folder for npu_func_pkg.sv and func_table.h")
    ap.add_argument("--check", action="store_true",
                    help="fit: write nothing; fail when the table is not that of the fit")
    args = ap.parse_args()
    if args.command != "fit" and args.check:
        ap.error("--check belongs to fit")
    if (args.command == "generate") != bool(args.out):
        ap.error("--out belongs to generate")
    if args.command == "fit":
        return finish("gen_func", [(args.table, fit())], args.check, "tools/gen_func.py fit")
    table = read_input("gen_func", args.table, parse)
    if table is None:
        return 2
    return finish("gen_func", [(os.path.join(args.out, name), text)
                               for name, text in (("npu_func_pkg.sv", gen_sv(table)), ("func_table.h", gen_c(table)))],
                  False, "")


if __name__ == "__main__":
    sys.exit(main())
