#!/usr/bin/python3
"""Synthesise every unit of the NPU with Yosys for a Xilinx 7-series device and print its resources (make synth,
docs/npu/synthesis.md).

Exit status: 0 all units synthesise, 1 one does not, 2 bad usage."""

import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

from synth_src import Sources, SynthError, Usage
from synth_timing import print_paths
from synth_yosys import (COLUMNS, PRIMITIVES, Job, Runner, check_whole, children, count_cells, synthesise, tool_text,
                         write_whole)

ROOT = pathlib.Path(__file__).resolve().parents[3]
TOP = "npu_top"
# the clock gate of silicon is a latch; an FPGA takes the clock ungated (clk_gate)
TOP_PARAMS = {"ClkGate": "0"}

# Rows of the table: module -> group, None for the group of the enclosing module. A row contains its submodules apart
# from those that have a row of their own.
UNITS = {
    "npu_top": "control", "npu_units": "control", "npu_dma": "control", "clk_gate": "control",
    "npu_regs": "control", "axil_slave": "control", "npu_slots": "control", "npu_events": "control",
    "npu_perf": "control",
    "task_slot": "control", "gemm_check": "control", "alu_check": "control", "pool_check": "control",
    "dma_chan": "control", "dma_rd": "control", "dma_wr": "control",
    "send_buf": "axiSendBuffer",
    "gemm": "control", "gemm_queue": "control", "gemm_load": "control", "gemm_mac": "control",
    "ifm_ld": "Im2col", "layout": "Im2col", "ifm_buf": "Im2col", "im2col": "Im2col", "im2col_prep": "Im2col",
    "im2col_tiles": "Im2col", "im2col_wgt": "Im2col", "im2col_act": "Im2col", "im2col_free": "Im2col",
    "im2col_out": "Im2col",
    "wgt_ld": "wgtBuffer", "wgt_buf": "wgtBuffer",
    "mesh": "Mesh", "acc": "AccMem", "ofm_buf": "ofmBuffer",
    "par_ld": "opFusion", "par_buf": "opFusion", "post": "opFusion", "post_groups": "opFusion",
    "post_stream": "opFusion", "post_tiles": "opFusion", "post_arith": "opFusion",
    "requant": "opFusion", "transpose": "opFusion",
    "act": None,
    "alu": "ALU", "alu_walk": "ALU", "alu_chan": "ALU", "alu_math": "ALU", "alu_func": "ALU",
    "pool": "Pool", "pool_chan": "Pool", "pool_ld": "Pool", "pool_line": "Pool",
    "pool_seq": "Pool", "pool_op": "Pool", "pool_out": "Pool",
}
# Parts of the rows above, or of other users of the library: listed separately, with the default parameters.
LEAVES = ("dma_split", "fifo", "arbiter", "gearbox")
LEAF_FOLDERS = ("fp",)  # all modules of these

# Document 000, table 5-10: LUT, FF, DSP, BRAM and their share in percent of the whole programmable logic (table 5-9).
PUBLISHED = {
    "ALU": ((21707, 19.04), (15310, 11.71), (126, 5.57), (4, 1.22)),
    "Pool": ((18617, 16.33), (14191, 10.85), (6, 0.26), (16, 4.88)),
    "Mesh": ((13474, 11.82), (34742, 26.57), (2049, 90.62), (0, 0.00)),
    "AccMem": ((4312, 3.78), (3331, 2.55), (0, 0.00), (32, 9.76)),
    "Im2col": ((15843, 13.89), (5997, 4.59), (27, 1.19), (128, 39.02)),
    "wgtBuffer": ((1160, 1.02), (2130, 1.63), (4, 0.18), (0, 0.00)),
    "ofmBuffer": ((12900, 11.31), (19200, 14.68), (0, 0.00), (128, 39.02)),
    "opFusion": ((16801, 14.73), (23317, 17.83), (49, 2.17), (4, 1.22)),
    "axiSendBuffer": ((1184, 1.04), (1620, 1.24), (0, 0.00), (12, 3.66)),
}

# Memories of docs/npu/npu.md section 4.3: unit, name, what it may become.
BLOCK, ANY = ("block",), ("block", "LUT")
MEMORIES = (
    ("ifm_buf", r"mem", BLOCK), ("wgt_buf", r"mem[01]", BLOCK), ("ofm_buf", r"g_col\[\d+\]\.mem[01]", BLOCK),
    ("send_buf", r"mem", BLOCK), ("layout", r"g_int8\.mem|g_int16\.(even|odd)", ANY),
    ("par_buf", r"mem_(oscale|bias)", BLOCK),
    ("acc", r"m[01]", ANY), ("requant", r"g_row\[\d+\]\.mem", ANY), ("alu_chan", r"src_mem", BLOCK),
    ("alu_chan", r"ring", ANY), ("pool_line", r"g_bank\[\d+\]\.mem", BLOCK), ("pool_line", r"tab_mem", ANY),
    ("pool_op", r"acc_mem", ANY), ("pool_out", r"g_bank\[\d+\]\.mem", ANY),
)


def leaves_of(src):
    return sorted(m for m, p in src.modules.items() if m in LEAVES or p.parent.name in LEAF_FOLDERS)


def check_memories(job, memories):
    """The memories of the unit became RAM, not flip-flops."""
    for unit, pattern, allowed in MEMORIES:
        if unit != job.module:
            continue
        expected = " or ".join(a + " RAM" for a in allowed)
        names = [n for n in memories if re.fullmatch(pattern, n)]
        if not names:
            raise SynthError("%s: memory %s of docs/npu/npu.md section 4.3 dissolves into registers, %s expected" %
                             (job.label(), readable(pattern), expected))
        for name in sorted(names):
            if memories[name] not in allowed:
                raise SynthError("%s: memory %s becomes %s, %s expected" %
                                 (job.label(), name, memories[name], expected))


def examine(job, runner):
    """The figures of a unit, which has only synthesisable code."""
    job.src.check_simulation(job.files)
    result = synthesise(job, runner)
    strange = sorted(t for t in result["cells"] if t not in PRIMITIVES and t.lstrip("\\") not in job.stubs)
    if strange:
        raise SynthError("%s: cells that are not primitives of the device: %s" % (job.label(), ", ".join(strange)))
    check_memories(job, result["memories"])
    return result


def walk(src, runner, tool, n):
    """Instances of all rows: {(module, group): {job key: [job, count]}}; also checks the table of rows against the
    design."""
    strangers = sorted(m for m in src.modules if m not in UNITS and m not in leaves_of(src))
    if strangers:
        raise SynthError("%s: module %s is in no row of designs/npu/tools/synth.py (UNITS or LEAVES)" %
                         (src.modules[strangers[0]], strangers[0]))
    for name in list(UNITS) + list(LEAVES):
        if name not in src.modules:
            raise SynthError("designs/npu/tools/synth.py: there is no module %s in rtl/" % name)
    rows, stops = {}, set(UNITS)

    def visit(module, params, group):
        job = Job(src, module, params, stops, tool)
        group = UNITS[module] or group
        entry = rows.setdefault((module, group), {}).setdefault(job.key, [job, 0])
        entry[1] += 1
        for child, values in children(job, runner):
            visit(child, values, group)
    visit(TOP, dict(TOP_PARAMS, N=str(n)), "control")
    missing = sorted(set(UNITS) - {m for m, _ in rows})
    if missing:
        raise SynthError("designs/npu/tools/synth.py: %s is a row and not in the hierarchy of %s" % (missing[0], TOP))
    return rows


def leaf_jobs(src, tool, names, n):
    jobs = []
    for name in names:
        has_n = re.search(r"parameter\s+int\s+unsigned\s+N\b", src.text[src.modules[name]])
        jobs.append(Job(src, name, {"N": str(n)} if has_n else {}, set(), tool))
    return jobs


class Progress:
    """One line on a terminal, nothing in a pipe."""

    def __init__(self, total):
        self.total, self.done, self.start, self.show = total, 0, time.monotonic(), sys.stderr.isatty()

    def line(self, text):
        if self.show:
            print("\r\033[K%s" % text, end="", file=sys.stderr, flush=True)

    def step(self, name):
        self.done += 1
        self.line("synth %d/%d, %d s: %s" % (self.done, self.total, time.monotonic() - self.start, name))

    def end(self):
        self.line("")


def run_jobs(jobs, runner, parallel):
    """Results by key, and the errors."""
    progress, results, errors = Progress(len(jobs)), {}, []
    progress.line("synth 0/%d" % len(jobs))
    with concurrent.futures.ThreadPoolExecutor(parallel) as pool:
        futures = {pool.submit(examine, job, runner): job for job in jobs}
        try:
            for future in concurrent.futures.as_completed(futures):
                job = futures[future]
                try:
                    results[job.key] = future.result()
                except SynthError as err:
                    errors.append((job, str(err)))
                progress.step(job.label())
        except BaseException:
            for future in futures:
                future.cancel()
            runner.stop()
            raise
    progress.end()
    return results, sorted(errors, key=lambda e: e[1])


def add(total, counts, times=1):
    for name in COLUMNS + ("seconds",):
        total[name] = total.get(name, 0) + times * counts.get(name, 0)


def make_rows(rows, results):
    """Table rows: all instances of a module in a group. Seconds: counted once for each different instance."""
    table = []
    for (module, group), variants in rows.items():
        row = {"unit": module, "group": group, "instances": sum(c for _, c in variants.values()), "seconds": 0}
        complete = True
        for key, (_, count) in variants.items():
            if key not in results:
                complete = False
                continue
            add(row, count_cells(results[key]["cells"]), count)
            row["seconds"] += results[key]["seconds"]
        if complete:
            table.append(row)
    return table


def number(value):
    return "%d" % value if value == int(value) else "%.1f" % value


def print_table(rows, head, total=None):
    print("\n%s" % head)
    print("| unit | x | " + " | ".join(COLUMNS) + " | seconds |")
    print("| --- |" + " ---: |" * (len(COLUMNS) + 2))
    for row in rows + ([total] if total else []):
        name = row["unit"] + (" (%s)" % row["group"] if row.get("several") else "")
        print("| %s | %s | %s | %.0f |" % (name, row.get("instances", ""),
                                           " | ".join(number(row[c]) for c in COLUMNS), row["seconds"]))


def print_shares(groups, total, n):
    print("\nShare in percent of the whole, this design (N=%d, xc7) | document 000, table 5-10 (N=32, "
          "Zynq UltraScale+, percent of its whole programmable logic);" % n)
    print("LUT here counts logic and memory LUTs.")
    print("| group | LUT | FF | DSP | BRAM |")
    print("| --- | ---: | ---: | ---: | ---: |")

    def share(counts, column):
        part, whole = counts[column], total[column]
        if column == "LUT":
            part, whole = part + counts["LUTRAM"], whole + total["LUTRAM"]
        return 100.0 * part / whole if whole else 0.0
    for name in list(PUBLISHED) + sorted(set(groups) - set(PUBLISHED)):
        if name in groups:
            there = ["%.1f" % p[1] for p in PUBLISHED[name]] if name in PUBLISHED else ["-"] * 4
            print("| %s | %s |" % (name, " | ".join("%.1f / %s" % (share(groups[name], c), t)
                                                    for c, t in zip(("LUT", "FF", "DSP", "BRAM"), there))))


def readable(pattern):
    return pattern.replace("\\[\\d+\\]", "[i]").replace("\\", "").replace("|", "\\|")


def print_memories(rows, results):
    found = []
    for unit, pattern, _ in MEMORIES:
        for (module, _), variants in rows.items():
            for key in variants:
                if module == unit and key in results:
                    memories = results[key]["memories"]
                    kinds = [memories[m] for m in memories if re.fullmatch(pattern, m)]
                    found.append({"unit": unit, "memory": pattern, "arrays": len(kinds), "became": sorted(set(kinds))})
                    break
    if found:
        print("\nMemories of docs/npu/npu.md section 4.3")
        print("| unit | memory | arrays | became |")
        print("| --- | --- | ---: | --- |")
    for row in found:
        print("| %s | %s | %d | %s |" % (row["unit"], readable(row["memory"]), row["arrays"],
                                         ", ".join(k + (" RAM" if k in ANY else "") for k in row["became"])))
    return found


def report(rows, leaves, results, args, complete):
    table = make_rows(rows, results)
    names = [r["unit"] for r in table]
    groups, total = {}, {"unit": "total", "instances": "", "seconds": 0}
    for row in table:
        row["several"] = names.count(row["unit"]) > 1
        add(groups.setdefault(row["group"], {}), row)
        add(total, row)
    total["seconds"] = sum(results[key]["seconds"] for key in {k for variants in rows.values() for k in variants}
                           if key in results)
    out = {"n": args.n, "complete": complete, "units": table, "groups": groups}
    if table:
        title = ("Units of %s, N=%d, all instances (x); "
                 "a row holds its submodules apart from those that have a row of their own" % (TOP, args.n))
        print_table(table, title, total if complete else None)
    leaf_rows = []
    for job in leaves:
        if job.key in results:
            row = {"unit": job.module, "instances": 1, "seconds": results[job.key]["seconds"]}
            row.update(count_cells(results[job.key]["cells"]))
            leaf_rows.append(row)
    if leaf_rows:
        print_table(leaf_rows,
                    "Leaf units by themselves, default parameters (contained in the rows above where they are used)")
    out["leaves"] = leaf_rows
    if complete:
        out["total"] = total
        print_shares(groups, total, args.n)
    if table:
        out["memories"] = print_memories(rows, results)
    out["paths"] = print_paths([job for variants in rows.values() for job, _ in variants.values()] + leaves, results)
    return out


# --------------------------------------------------------------------------------------------------------- command line
def common_options(ap):
    """Options of this program and of synth_pnr.py."""
    ap.add_argument("--n", type=int, choices=(4, 8, 16, 32), default=8, help="mesh size (8)")
    ap.add_argument("--units", default="", help="only these units, separated by spaces (all)")
    ap.add_argument("--jobs", type=int, default=1, help="Yosys processes at a time (1; the largest takes 4 GB)")
    ap.add_argument("--timeout", type=float, default=3600, help="seconds for one unit (3600)")
    ap.add_argument("--json", type=pathlib.Path, help="also write the figures to this file")
    ap.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build"),
                    help="folder for cached results, and of the generated sources (build)")
    ap.add_argument("--rtl", type=pathlib.Path, default=pathlib.Path("rtl"), help="folder of the sources (rtl)")
    ap.add_argument("--source", type=pathlib.Path, action="append", default=[],
                    help="one more file, whose modules --units may name")
    ap.add_argument("--yosys", default=os.environ.get("YOSYS") or "yosys", help="program (yosys)")


def checked(ap, argv):
    args = ap.parse_args(argv)
    if args.jobs < 1 or args.timeout <= 0:
        ap.error("--jobs and --timeout: expected a number above 0")
    return args


def parse_args(argv):
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    common_options(ap)
    ap.add_argument("--param", action="append", default=[], metavar="NAME=VALUE",
                    help="a parameter of the top module, as PackMul=1")
    args = checked(ap, argv)
    for text in args.param:
        name, equals, value = text.partition("=")
        if not name.isidentifier() or not equals or not value.isdecimal():
            ap.error("--param %s: expected NAME=VALUE" % text)
        TOP_PARAMS[name] = value
    return args


def select(src, args):
    """Names of the requested rows and leaf units, and those of other files."""
    wanted = args.units.split()
    for name in wanted:
        if name not in src.modules:
            raise Usage("unit %s: expected one of %s" % (name, " ".join(list(UNITS) + leaves_of(src))))
    if not wanted and not args.source:
        return set(UNITS), leaves_of(src)
    return {w for w in wanted if w in UNITS}, [w for w in wanted if w not in UNITS]


def whole(src, runner, tool, n, errors):
    """Checks across units, on the unmapped design."""
    progress = Progress(1)
    progress.line("synth: %s as a whole" % TOP)
    seconds = None
    try:
        seconds = check_whole(Job(src, TOP, dict(TOP_PARAMS, N=str(n)), set(), tool), runner)
    except SynthError as err:
        errors.append(str(err))
    progress.end()
    if seconds is not None:
        print("\n%s as a whole, flattened and not mapped: "
              "no latch, no combinational loop, one driver for each net (%.0f s)" % (TOP, seconds))
    return seconds


def run(args):
    if not shutil.which(args.yosys):
        raise SynthError("%s: not found; it is the Debian package yosys (make deps)" % args.yosys)
    version = subprocess.run([args.yosys, "-V"], capture_output=True, text=True, check=False).stdout.strip()
    tool = tool_text(version)
    src = Sources(args.rtl, args.build / "gen/npu", args.source)
    units, leaf_names = select(src, args)
    folder = args.build / "synth"
    folder.mkdir(parents=True, exist_ok=True)
    runner = Runner(args.yosys, folder, args.timeout)
    rows = {}
    if units:
        rows = {r: v for r, v in walk(src, runner, tool, args.n).items() if r[0] in units}
    leaves = leaf_jobs(src, tool, leaf_names, args.n)
    jobs = {job.key: job for variants in rows.values() for job, _ in variants.values()}
    jobs.update({job.key: job for job in leaves})
    results, errors = run_jobs(list(jobs.values()), runner, args.jobs)
    print("%s, synth_xilinx -family xc7 -flatten" % version)
    out = report(rows, leaves, results, args, units == set(UNITS) and not errors)
    errors = [e for _, e in errors]
    if units == set(UNITS):
        out["whole_seconds"] = whole(src, runner, tool, args.n, errors)
    out["errors"] = errors
    if args.json:
        write_whole(args.json, json.dumps(out, indent=1, sort_keys=True) + "\n")
    sys.stdout.flush()
    for error in errors:
        print("synth: " + error, file=sys.stderr)
    return 1 if errors else 0


def main(argv=None):
    args = parse_args(argv)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that Yosys is ended, too
    try:
        return run(args)
    except KeyboardInterrupt:
        return 1
    except Usage as err:
        print("synth: %s" % err, file=sys.stderr)
        return 2
    except (SynthError, OSError) as err:
        print("synth: %s" % err, file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
