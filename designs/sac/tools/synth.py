#!/usr/bin/python3
"""Cells of the units of the shift-add engine as Yosys elaborates and optimises them, and the proof that none
multiplies or divides: before arithmetic is merged or mapped it is $add, $sub, $mul, $div cells, which are counted.

Exit status 0; 1 where a multiplier or divider is left, or Yosys fails."""
import argparse
import os
import re
import subprocess
import sys

UNITS = ("sac_pe", "sac_setup", "sac_seq", "sac_retriever", "sac_input", "sac_gearbox", "sac_filter", "sac_relu",
         "sac_pool", "sac_tail", "sac_writer", "sac_full", "sac_jobs", "sac_regs", "sac_ctrl", "sac_conv", "sac_post",
         "sac_dma", "sac_engine", "sac_top")
FORBIDDEN = ("$mul", "$div", "$mod", "$divfloor", "$modfloor", "$pow")


def main():
    p = argparse.ArgumentParser(description=__doc__)
    for name in ("out", "rtl", "include", "w", "c", "n"):
        p.add_argument("--" + name, required=True)
    args = p.parse_args()
    os.makedirs(args.out, exist_ok=True)
    # a small cache and few results: their memories are no arithmetic
    params = f"-chparam WVec {args.w} -chparam CVec {args.c} -chparam NVec {args.n} -chparam CachePages 64"
    script = (f"read_verilog -sv {' '.join('-I' + d for d in args.include.split())} {args.rtl}; "
              f"hierarchy -check -top sac_top {params}; proc; "
              f"opt; memory -nomap; opt_clean; check -assert; tee -q -o {args.out}/stat.txt stat")
    done = subprocess.run(["yosys", "-q", "-p", script], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        print(done.stderr.strip().splitlines()[-1] if done.stderr.strip() else "yosys failed", file=sys.stderr)
        return 1
    found, unit, bad = {}, None, []
    with open(os.path.join(args.out, "stat.txt"), encoding="utf-8") as src:
        for line in src:
            head = re.match(r"=== (.*) ===", line)
            if head:
                names = [u for u in UNITS if re.search(r"(^|\\)" + u + r"($|\\)", head[1])]
                unit = names[0] if names else head[1]
            cell = re.match(r"\s+(\$\w+)\s+(\d+)\s*$", line)
            if cell and unit and unit != "design hierarchy":
                kinds = found.setdefault(unit, {})
                kinds[cell[1]] = kinds.get(cell[1], 0) + int(cell[2])
                if cell[1] in FORBIDDEN and unit in UNITS:
                    bad.append(f"{unit}: {cell[2]} {cell[1]}")
    columns = (("add, sub", ("$alu", "$add", "$sub", "$neg")),
               ("shift", ("$shl", "$shr", "$sshl", "$sshr", "$shift", "$shiftx")),
               ("compare", ("$lt", "$le", "$gt", "$ge", "$eq", "$ne")), ("select", ("$mux", "$pmux")),
               ("flip-flop", ("$dff", "$dffe", "$adff", "$adffe", "$sdff", "$sdffe", "$sdffce")),
               ("memory", ("$mem", "$mem_v2")), ("multiply", FORBIDDEN))
    print(f"{'cells of':<16}" + "".join(f"{name:>11}" for name, _ in columns))
    for name in UNITS:
        kinds = found.get(name, {})
        print(f"{name:<16}" + "".join(f"{sum(kinds.get(k, 0) for k in of):>11}" for _, of in columns))
    for line in bad:
        print("multiplier or divider: " + line)
    if not bad:
        print("no multiplier, no divider")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
