#!/usr/bin/python3
"""Synthesise the units of the GEMM engine, each alone, with Yosys for a Xilinx 7-series device and print their
resources (make DUT=sgemm synth).

usage: synth.py --build DIR [--units "sgemm_ld sgemm_mac"] [--timeout SECONDS] Parameter=value ...

Exit status: 0 all units synthesise, 1 one does not, 2 bad usage."""

import argparse
import pathlib
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[3]
# module: its parameters that are those of the configuration, and others
UNITS = {
    "sgemm_regs": ("Dim Vec R", ""), "sgemm_check": ("", ""), "sgemm_walk": ("Dim Vec", ""),
    "sgemm_ld": ("Dim Vec", "Scale=1 Round=1"), "sgemm_blk_buf": ("Dim Vec", ""), "sgemm_c_buf": ("Dim R", ""),
    "sgemm_seq": ("Dim Vec", ""), "sgemm_mac": ("Dim Vec R", ""), "sgemm_c_st": ("Dim R", ""),
}
COLUMNS = {
    "LUT": r"LUT[1-6]|INV", "FF": r"FD[RSCP]E", "DSP": r"DSP48E1", "BRAM36": r"RAMB36E1", "BRAM18": r"RAMB18E1",
    "LUTRAM": r"RAM\d+\w+|SRL\w+", "CARRY4": r"CARRY4",
}


def sources(build):
    gen = build / "gen" / "sgemm"
    files = sorted(gen.glob("*_pkg.sv"))
    found = sorted(p for room in ("lib", "sgemm") for p in (ROOT / "rtl" / room).rglob("*.sv"))
    files += [p for p in found if p.name.endswith("_pkg.sv")] + [p for p in found if not p.name.endswith("_pkg.sv")]
    return "-I%s -I%s %s" % (gen, ROOT / "rtl/lib", " ".join(map(str, files)))


def synthesise(build, unit, params, timeout):
    """Counts of cells, or the last line of Yosys."""
    chparam = "".join(" -chparam %s %s" % tuple(p.split("=")) for p in params)
    script = ("read_verilog -sv %s; hierarchy -check -top %s%s; synth_xilinx -family xc7 -flatten -noiopad -noclkbuf; "
              "check -assert; stat" % (sources(build), unit, chparam))
    done = subprocess.run(["yosys", "-p", script], capture_output=True, text=True, timeout=timeout)
    if done.returncode != 0:
        return None, (done.stderr.strip() or done.stdout.strip()).splitlines()[-1]
    last = done.stdout[done.stdout.rindex("Number of cells:"):]
    cells = re.findall(r"^\s+(\w+)\s+(\d+)$", last, re.M)
    return {name: sum(int(n) for cell, n in cells if re.fullmatch(what, cell)) for name, what in COLUMNS.items()}, ""


def main():
    ap = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    ap.add_argument("--build", required=True, type=pathlib.Path)
    ap.add_argument("--units", default=" ".join(UNITS))
    ap.add_argument("--timeout", type=float, default=1800)
    ap.add_argument("params", nargs="*")
    args = ap.parse_args()
    values = dict(p.split("=", 1) for p in args.params if "=" in p)
    unknown = [u for u in args.units.split() if u not in UNITS]
    if unknown:
        print("synth: %s is not a unit, expected %s" % (unknown[0], ", ".join(UNITS)), file=sys.stderr)
        return 2
    failed = 0
    print("%-14s %s  seconds" % ("unit", " ".join("%7s" % c for c in COLUMNS)))
    for unit in args.units.split():
        names, more = UNITS[unit]
        params = ["%s=%s" % (n, values[n]) for n in names.split() if n in values] + more.split()
        begin = time.time()
        try:
            counts, why = synthesise(args.build, unit, params, args.timeout)
        except subprocess.TimeoutExpired:
            counts, why = None, "not done after %g s" % args.timeout
        if counts is None:
            failed += 1
            print("%-14s FAIL: %s" % (unit, why), flush=True)
        else:
            print("%-14s %s  %7.0f" % (unit, " ".join("%7d" % counts[c] for c in COLUMNS), time.time() - begin),
                  flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
