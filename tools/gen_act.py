#!/usr/bin/python3
"""The fitted activation functions: fit their coefficients, or generate the tables of RTL and model from them.

`gen_act.py fit` computes the table of coefficients (least squares on each segment). Without a command the SystemVerilog
package and the C header are written from that table, into the folder --out. `gen_act.py report` measures the errors of
the table in float32 against the functions, over a dense subset of all inputs."""

import argparse
import math
import os
import re
import struct
import sys
from decimal import Decimal, getcontext

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "scripts"))
from gen_file import Bad, finish, read_input  # noqa: E402

SEGMENTS = 16
# name, bound R; in the order of the table
FUNCTIONS = (("SIGMOID", 8), ("TANH", 4), ("SWISH", 8), ("MISH", 8), ("EXPM1", 8), ("SOFTPLUS", 8), ("GELU", 4),
             ("GELU_TANH", 4))
NAMES = tuple(name for name, _ in FUNCTIONS)
BOUND = dict(FUNCTIONS)
SIGNS = "+-"
GRID = 96  # points of a segment that the fit uses
WEIGHTS = ("chebyshev", "uniform")


# ----------------------------------------------- the functions, in decimal arithmetic: the same digits on every machine
getcontext().prec = 40


PI = Decimal("3.141592653589793238462643383279502884197")


def erf(x):
    """By its series, whose terms are small enough for the range of the fit."""
    term = total = x
    n = 0
    while abs(term) > Decimal(10) ** -35:
        n += 1
        term = -term * x * x / n
        total += term / (2 * n + 1)
    return 2 / PI.sqrt() * total


def exact(name, x):
    one = Decimal(1)
    if name == "SIGMOID":
        return one / (one + (-x).exp())
    if name == "TANH":
        e = (2 * x).exp()
        return (e - one) / (e + one)
    if name == "SWISH":
        return x / (one + (-x).exp())
    if name == "MISH":  # tanh(ln(1 + e^x)) = ((1 + e^x)^2 - 1) / ((1 + e^x)^2 + 1)
        s = (one + x.exp()) ** 2
        return x * (s - one) / (s + one)
    if name == "EXPM1":
        return x.exp() - one
    if name == "GELU":
        return x / 2 * (one + erf(x / Decimal(2).sqrt()))
    if name == "GELU_TANH":  # (1 + tanh(z)) / 2 = 1 / (1 + e^-2z)
        z = (2 / PI).sqrt() * (x + Decimal("0.044715") * x ** 3)
        return x / (one + (-2 * z).exp())
    return (one + x.exp()).ln()  # SOFTPLUS


# --------------------------------------------------------- fit: least squares, a polynomial of degree 2 on each segment
def solve(rows, rhs):
    """Gauss elimination with pivots."""
    n = len(rhs)
    m = [list(row) + [b] for row, b in zip(rows, rhs)]
    for col in range(n):
        top = max(range(col, n), key=lambda r: abs(m[r][col]))
        m[col], m[top] = m[top], m[col]
        for r in range(n):
            if r != col:
                f = m[r][col] / m[col][col]
                m[r] = [a - f * b for a, b in zip(m[r], m[col])]
    return [m[i][n] / m[i][i] for i in range(n)]


def least_squares(name, lo, hi, fixed, weights):
    """[c0, c1, c2] with the smallest weighted sum of squared errors over GRID points of lo..hi. fixed: c0, or None.

    Chebyshev weights, 1 / sqrt(1 - t^2) with t = -1..1 over the segment, give the ends more weight: the extremes of the
    error are nearly equal then, so its maximum is close to the least that any polynomial of this degree has."""
    ts = [Decimal(2 * k + 1 - GRID) / GRID for k in range(GRID)]
    xs = [(lo + hi) / 2 + (hi - lo) / 2 * t for t in ts]
    ws = [1 / (1 - t * t).sqrt() if weights == "chebyshev" else Decimal(1) for t in ts]
    fs = [exact(name, x) - (fixed or 0) for x in xs]
    powers = (1, 2) if fixed is not None else (0, 1, 2)
    normal = [[sum(w * x ** (p + q) for w, x in zip(ws, xs)) for q in powers] for p in powers]
    right = [sum(w * f * x ** p for w, x, f in zip(ws, xs, fs)) for p in powers]
    return ([fixed] if fixed is not None else []) + solve(normal, right)


def f32_bits(value):
    return struct.unpack("<I", struct.pack("<f", float(value)))[0]


def f32_value(bits):
    return struct.unpack("<f", struct.pack("<I", bits))[0]


def segment(name, sign, i, weights):
    """[c0, c1, c2] of a segment. Where the other half follows from a symmetry, the positive one is fitted."""
    step = Decimal(BOUND[name]) / SEGMENTS
    # the value at 0 is exact (as exact as FP32 can say it)
    fixed = Decimal(f32_value(f32_bits(exact(name, Decimal(0))))) if i == 0 else None
    if sign == "+" and name == "EXPM1":
        return [Decimal(0)] * 3  # only +0 gets here: ELU passes positive values
    if sign == "+":
        return least_squares(name, i * step, (i + 1) * step, fixed, weights)
    if name in ("MISH", "EXPM1"):
        return least_squares(name, -(i + 1) * step, -i * step, fixed, weights)
    c0, c1, c2 = segment(name, "+", i, weights)
    if name == "TANH":  # f(-x) = -f(x)
        return [-c0, c1, -c2]
    if name == "SIGMOID":  # f(-x) = 1 - f(x)
        return [1 - c0, c1, -c2]
    return [c0, 1 - c1, c2]  # SWISH, SOFTPLUS, GELU, GELU_TANH: f(-x) = f(x) - x


def fit(weights=WEIGHTS[0]):
    out = ["# Coefficients of the fitted activations (docs/npu/activations.md): "
           "function, sign of v, segment, then c2 c1 c0 as FP32 bits.",
           "# Written by `tools/gen_act.py fit`; npu_act_pkg.sv (RTL) and act_table.h (model) are generated from it."]
    for name in NAMES:
        for sign in SIGNS:
            for i in range(SEGMENTS):
                c = [f32_bits(x) for x in segment(name, sign, i, weights)]
                out.append("%s %s %d %08X %08X %08X" % (name, sign, i, c[2], c[1], c[0]))
    return "\n".join(out) + "\n"


# ---------------------------------------------------------------- the table
def parse(lines):
    """(function, sign, segment) -> (c2, c1, c0)."""
    table = {}
    for num, raw in enumerate(lines, 1):
        words = raw.split()
        if not words or words[0].startswith("#"):
            continue
        if len(words) != 6:
            raise Bad(num, "expected: FUNCTION SIGN SEGMENT C2 C1 C0")
        name, sign, seg = words[:3]
        if name not in NAMES:
            raise Bad(num, "unknown function '%s': expected one of %s" % (name, ", ".join(NAMES)))
        if sign not in ("+", "-"):
            raise Bad(num, "sign '%s': expected + or -" % sign)
        if not re.match(r"[0-9]{1,2}\Z", seg) or int(seg) >= SEGMENTS:
            raise Bad(num, "segment '%s': expected 0..%d" % (seg, SEGMENTS - 1))
        coeffs = []
        for word in words[3:]:
            if not re.match(r"[0-9A-Fa-f]{8}\Z", word):
                raise Bad(num, "coefficient '%s': expected 8 hexadecimal digits" % word)
            coeffs.append(int(word, 16))
            if (coeffs[-1] >> 23 & 255) == 255:
                raise Bad(num, "coefficient '%s' is not finite" % word)
        key = (name, sign, int(seg))
        if key in table:
            raise Bad(num, "%s %s %s is there twice" % (name, sign, seg))
        table[key] = tuple(coeffs)
    for key in ((n, s, i) for n in NAMES for s in SIGNS for i in range(SEGMENTS)):
        if key not in table:
            raise Bad(len(lines), "%s %s %d is missing" % key)
    return table


def rows(table):
    return [(key, table[key]) for key in ((n, s, i) for n in NAMES for s in SIGNS for i in range(SEGMENTS))]


def camel(name):
    return name.title().replace("_", "")


def gen_sv(table):
    size = len(NAMES) * 2 * SEGMENTS
    out = ["// Coefficients of the fitted activations (docs/npu/npu.md section 2).",
           "//",
           "// Generated from regs/act_fit.txt by tools/gen_act.py.",
           "// Entry {function, sign, segment}; entry 0 in the lowest bits.",
           "package npu_act_pkg;", "",
           "  localparam int unsigned ActLatency = 6;  // cycles of act", ""]
    for i, (name, _) in enumerate(FUNCTIONS):
        out.append("  localparam logic [2:0] Fit%s = 3'd%d;" % (camel(name), i))
    out += ["", "  // |v| from 2^(FitExp - 127) on gives the limit; a segment is 2^(FitExp - 131) wide"]
    for name, bound in FUNCTIONS:
        out.append("  localparam logic [7:0] Fit%sExp = 8'd%d;" % (camel(name), 127 + int(math.log2(bound))))
    out += ["", "  localparam int unsigned FitEntries = %d;" % size]
    for k, coeff in ((0, "C2"), (1, "C1"), (2, "C0")):
        out.append("")
        out.append("  localparam logic [32*FitEntries-1:0] Fit%s = {" % coeff)
        words = ["32'h%08X" % c[k] for _, c in reversed(rows(table))]
        for at in range(0, size, 8):
            out.append("    " + ", ".join(words[at:at + 8]) + ("," if at + 8 < size else ""))
        out.append("  };")
    out += ["", "endpackage", ""]
    return "\n".join(out)


def gen_c(table):
    out = ["/*", " * act_table.h - coefficients of the fitted activations (docs/npu/npu.md section 2).", " *",
           " * Generated from regs/act_fit.txt by tools/gen_act.py.", " */",
           "#ifndef ACT_TABLE_H", "#define ACT_TABLE_H", "", "#include <stdint.h>", "", "/* clang-format off */", ""]
    for i, name in enumerate(NAMES):
        out.append("#define ACT_FIT_%s %d" % (name, i))
    out += ["#define ACT_FIT_COUNT %d" % len(NAMES), "#define ACT_FIT_SEGMENTS %d" % SEGMENTS, "",
            "/* R of each function */", "static const float act_fit_bound[ACT_FIT_COUNT] = {%s};" %
            ", ".join("%d.0f" % b for _, b in FUNCTIONS), "",
            "/* c2, c1, c0 as FP32 bits: function, sign bit of v, segment */",
            "static const uint32_t act_fit[ACT_FIT_COUNT][2][ACT_FIT_SEGMENTS][3] = {"]
    for name in NAMES:
        out.append("    {   /* %s */" % name)
        for sign in SIGNS:
            out.append("        {")
            for i in range(SEGMENTS):
                out.append("            {0x%08Xu, 0x%08Xu, 0x%08Xu}," % table[(name, sign, i)])
            out.append("        },")
        out.append("    },")
    out += ["};", "", "/* clang-format on */", "", "#endif", ""]
    return "\n".join(out)


# --------------------------------------------------------- report: float32 in the NPU's order of operations, with numpy
def evaluate(np, table, name, v):
    """The NPU's value for an array of float32 (no NaN)."""
    f = np.float32
    bound = f(BOUND[name])
    coeffs = np.array([c for key, c in rows(table) if key[0] == name], dtype=np.uint32).view(f)
    coeffs = coeffs.reshape(2 * SEGMENTS, 3)
    inside = np.abs(v) < bound
    x = np.where(inside, v, f(0))
    seg = np.floor(np.abs(x) * f(SEGMENTS / BOUND[name])).astype(np.int64) + SEGMENTS * np.signbit(v)
    c = coeffs[seg]
    y = ((c[:, 0] * x + c[:, 1]) * x) + c[:, 2]
    limits = {"SIGMOID": (f(0), f(1)), "TANH": (f(-1), f(1)), "EXPM1": (f(-1), v)}
    neg, pos = limits.get(name, (f(0), v))
    return np.where(inside, y, np.where(v > 0, pos, neg))


def reference(np, name, v):
    """The function in float64."""
    x = v.astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        if name == "SIGMOID":
            y = 1 / (1 + np.exp(-x))
        elif name == "TANH":
            y = np.tanh(x)
        elif name == "SWISH":
            y = x / (1 + np.exp(-x))
        elif name == "MISH":
            y = x * np.tanh(np.log1p(np.exp(np.minimum(x, 700))))
        elif name == "EXPM1":
            y = np.expm1(np.minimum(x, 700))
        elif name == "GELU":
            y = x / 2 * np.vectorize(math.erfc)(-x / math.sqrt(2))
        elif name == "GELU_TANH":
            y = x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 3)))
        else:
            y = np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))
    return y


def samples(np):
    """All float32 whose low 12 bits are zero, and 4 on each side of every border of a segment; no NaN, no infinity."""
    bits = np.arange(1 << 20, dtype=np.uint32) << np.uint32(12)
    border = np.array(sorted({b * i / SEGMENTS for b in (4, 8) for i in range(SEGMENTS + 1)}),
                      dtype=np.float32).view(np.uint32)
    near = (border.astype(np.int64)[:, None] + np.arange(-4, 5)[None, :]).ravel()
    near = near[near >= 0].astype(np.uint32)
    bits = np.concatenate([bits, near, near | np.uint32(1 << 31)])
    v = bits.view(np.float32)
    return v[np.isfinite(v)]


def measure(np, table, name):
    """Largest error over samples(), relative to max(1, |x|) where the target is relative; and its input."""
    v = samples(np)
    if name == "EXPM1":
        v = v[~(v > 0)]  # the other half is the identity
    err = np.abs(evaluate(np, table, name, v).astype(np.float64) - reference(np, name, v))
    if name not in ("SIGMOID", "TANH"):
        err = err / np.maximum(1.0, np.abs(v.astype(np.float64)))
    at = int(np.argmax(err))
    return float(err[at]), float(v[at])


def report(table):
    import numpy as np
    print("function  largest error  at (relative to max(1,|x|), SIGMOID and TANH absolute)")
    for name in NAMES:
        err, at = measure(np, table, name)
        print("%-9s %.3e      %.9g" % (name, err, at))


def main():
    ap = argparse.ArgumentParser(description=__doc__, epilog="Exit status: 0 done or up to date, "
                                 "1 stale (fit --check) or not written, 2 bad table or usage.")
    ap.add_argument(
        "command", nargs="?", choices=("generate", "fit", "report"), default="generate",
        help="generate the tables of RTL and model (default), fit the coefficients, or report the errors (needs numpy)")
    ap.add_argument("--table", default="regs/act_fit.txt", help="table of coefficients (default: %(default)s)")
    ap.add_argument("--out", help="generate: folder for npu_act_pkg.sv and act_table.h")
    ap.add_argument("--check", action="store_true",
                    help="fit: write nothing; fail when the table is not that of the fit")
    ap.add_argument("--weights", choices=WEIGHTS, help="fit: weights of the least squares (default: %s)" % WEIGHTS[0])
    args = ap.parse_args()
    if args.command != "fit" and (args.weights or args.check):
        ap.error("--weights and --check belong to fit")
    if (args.command == "generate") != bool(args.out):
        ap.error("--out belongs to generate")
    if args.command == "fit":
        return finish("gen_act", [(args.table, fit(args.weights or WEIGHTS[0]))], args.check, "tools/gen_act.py fit")
    table = read_input("gen_act", args.table, parse)
    if table is None:
        return 2
    if args.command == "report":
        report(table)
        return 0
    return finish("gen_act", [(os.path.join(args.out, name), text)
                              for name, text in (("npu_act_pkg.sv", gen_sv(table)), ("act_table.h", gen_c(table)))],
                  False, "")


if __name__ == "__main__":
    sys.exit(main())
