#!/usr/bin/python3
"""Synthesise every unit of the NPU with Yosys for a Xilinx 7-series device and print what it takes (make synth, docs/synthesis.md).

Exit status: 0 all units synthesise, 1 one does not, 2 bad usage."""

import argparse
import concurrent.futures
import hashlib
import inspect
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
TOP = "npu_top"
# the clock gate of silicon is a latch; an FPGA takes the clock ungated (npu_clk_gate)
TOP_PARAMS = {"ClkGate": "0"}

# Rows of the table: module -> group, None for the group of the module it stands in. A row contains its submodules apart from
# those that have a row of their own.
UNITS = {
    "npu_top": "control", "npu_regs": "control", "npu_perf": "control", "npu_clk_gate": "control",
    "gemm_slot": "control", "gemm_check": "control", "alu_slot": "control", "alu_check": "control",
    "pool_slot": "control", "pool_check": "control", "dma_rd": "control", "dma_wr": "control",
    "send_buf": "axiSendBuffer",
    "gemm": "control", "gemm_queue": "control",
    "ifm_ld": "Im2col", "layout": "Im2col", "ifm_buf": "Im2col", "im2col": "Im2col",
    "wgt_ld": "wgtBuffer", "wgt_buf": "wgtBuffer",
    "mesh": "Mesh", "acc": "AccMem", "ofm_buf": "ofmBuffer",
    "par_ld": "opFusion", "par_buf": "opFusion", "post": "opFusion", "requant": "opFusion", "transpose": "opFusion",
    "act": None,
    "alu": "ALU", "alu_walk": "ALU", "alu_chan": "ALU", "alu_math": "ALU",
    "pool": "Pool", "pool_chan": "Pool", "pool_ld": "Pool", "pool_line": "Pool", "pool_seq": "Pool", "pool_op": "Pool", "pool_out": "Pool",
}
# Parts of the rows above, or of other users of the library: shown by themselves, with the default parameters.
LEAVES = ("dma_split", "npu_fifo", "npu_arb", "npu_gearbox")
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

# Memories of docs/npu.md section 4.3: unit, name, what it may become.
BLOCK, ANY = ("block",), ("block", "LUT")
MEMORIES = (
    ("ifm_buf", r"mem", BLOCK), ("wgt_buf", r"mem[01]", BLOCK), ("ofm_buf", r"g_col\[\d+\]\.mem[01]", BLOCK), ("send_buf", r"mem", BLOCK),
    ("layout", r"mem", ANY), ("par_buf", r"mem_(oscale|bias)", BLOCK), ("acc", r"m[01]", ANY), ("requant", r".*\bmem", ANY),
    ("alu_chan", r"src_mem", BLOCK), ("alu_chan", r"ring", ANY), ("pool_line", r".*\bmem", BLOCK), ("pool_line", r"tab_mem", ANY),
    ("pool_op", r"acc_mem", BLOCK), ("pool_out", r".*\bmem", ANY),
)

COLUMNS = ("LUT", "FF", "DSP", "BRAM", "LUTRAM", "CARRY4")
# LUTs that a memory or shift register primitive takes
LUTRAM = {"RAM32M": 4, "RAM64M": 4, "RAM32X1D": 2, "RAM64X1D": 2, "RAM128X1D": 4, "RAM32X1S": 1, "RAM64X1S": 1, "RAM128X1S": 2, "RAM256X1S": 4,
          "SRL16E": 1, "SRLC16E": 1, "SRLC32E": 1}
LOGIC = {"LUT1", "LUT2", "LUT3", "LUT4", "LUT5", "LUT6", "INV"}
FLOPS = {"FDRE", "FDSE", "FDCE", "FDPE"}
OTHER = {"CARRY4", "MUXF7", "MUXF8", "DSP48E1", "RAMB36E1", "RAMB18E1"}
PRIMITIVES = LOGIC | FLOPS | OTHER | set(LUTRAM)

FORMAL = "$assert $assume $live $fair $cover $check $print $initstate $anyconst $anyseq $allconst $allseq".split()
LATCHES = "$dlatch $adlatch $dlatchsr $sr".split()
# What Yosys does with an elaborated module. The first checks see words, before anything is optimised away.
SYNTH = ["proc", "select -assert-none " + " ".join("t:" + t for t in LATCHES + FORMAL), "flatten", "opt_expr", "opt_clean", "check -assert",
         "synth_xilinx -family xc7 -flatten -noiopad -noclkbuf", "check -assert"]
TREE = ["proc", "flatten"]
SIMULATION = re.compile(r"\$(?:display|write|monitor|strobe|error|fatal|warning|info|finish|stop|random|urandom|urandom_range|time|realtime|past|fopen|fclose|"
                        r"fwrite|fdisplay|isunknown|test\$plusargs|value\$plusargs|dumpfile|dumpvars|readmemh|readmemb)\b"
                        r"|\b(?:initial|real|realtime|shortreal|force|release|fork|wait|event)\b|#\s*\d|\bimport\s*\"DPI|\bassert\b|\bassume\b|\bcover\b")


class SynthError(Exception):
    """One line for the user: what is wrong and where."""


class Usage(Exception):
    """Bad option."""


# ---------------------------------------------------------------------------------------------------------------- sources
def strip_comments(text):
    return re.sub(r"//[^\n]*|/\*.*?\*/", lambda m: "\n" * m.group().count("\n"), text, flags=re.S)


def for_yosys(text):
    """What is left of the text when YOSYS and SYNTHESIS are defined; line numbers stay. Other conditions keep both branches."""
    out, stack = [], []  # stack: True, False or None (unknown condition)
    for line in text.split("\n"):
        word = re.match(r"\s*`(ifdef|ifndef|elsif|else|endif)\b\s*(\w*)", line)
        if word:
            kind, name = word.groups()
            known = name in ("YOSYS", "SYNTHESIS")
            if kind in ("ifdef", "ifndef"):
                stack.append((kind == "ifdef") if known else None)
            elif kind == "endif" and stack:
                stack.pop()
            elif stack and stack[-1] is not None:
                stack[-1] = not stack[-1]
            line = ""
        out.append("" if False in stack else line)
    return "\n".join(out)


class Sources:
    """The RTL: one module a file, packages, included files."""

    def __init__(self, rtl, extra=()):
        self.include = rtl / "lib"
        self.text, self.modules, self.packages, self.uses = {}, {}, {}, {}
        for path in sorted(rtl.rglob("*.sv")) + list(extra):
            try:
                text = path.read_text(encoding="utf-8")
            except (OSError, UnicodeDecodeError) as err:
                raise Usage("%s: %s" % (path, err)) from err
            self.text[path] = text
            code = strip_comments(text)
            for kind, name in re.findall(r"^\s*(module|package)\s+(\w+)", code, re.M):
                (self.modules if kind == "module" else self.packages)[name] = path
        headers = {p.name: p for p in sorted(self.include.glob("*.svh"))}
        for path, text in list(self.text.items()):
            self.uses[path] = self._uses(strip_comments(text), headers)
        for path in headers.values():
            self.text[path] = path.read_text(encoding="utf-8")
            self.uses[path] = self._uses(strip_comments(self.text[path]), headers)

    def _uses(self, code, headers):
        packages = {self.packages[p] for p in re.findall(r"\b(\w+)::", code) if p in self.packages}
        included = {headers[h] for h in re.findall(r'`include\s+"([^"]+)"', code) if h in headers}
        return packages | included, {m for m in set(re.findall(r"\b[a-z]\w*\b", code)) if m in self.modules}

    def leaves(self):
        return sorted(m for m, p in self.modules.items() if m in LEAVES or p.parent.name in LEAF_FOLDERS)

    def closure(self, module, stops):
        """Files of the module with its submodules, but without the modules in `stops` below it; those of them that it uses."""
        files, stubs, todo = set(), set(), [self.modules[module]]
        while todo:
            path = todo.pop()
            if path in files:
                continue
            files.add(path)
            shared, below = self.uses[path]
            todo.extend(shared)
            for name in below:
                if self.modules[name] == path:
                    continue
                if name in stops:
                    stubs.add(name)
                    todo.extend(self.uses[self.modules[name]][0])  # packages that its header names
                else:
                    todo.append(self.modules[name])
        return files, stubs

    def in_order(self, files):
        """Packages, those before others that use them; and modules."""
        order, packages = [], set(self.packages.values())

        def visit(path):
            if path in order:
                return
            for used in sorted(self.uses[path][0] & packages):
                if used != path:
                    visit(used)
            order.append(path)
        for path in sorted(files & packages):
            visit(path)
        return order, sorted(p for p in files - packages if p.suffix == ".sv")

    def stub(self, module):
        """The header of a module: a black box for the run of its parent."""
        found = re.search(r"^\s*module\s+%s\b.*?\n\s*\);" % module, strip_comments(self.text[self.modules[module]]), re.M | re.S)
        if not found:
            raise SynthError("%s: no header of module %s found that ends with ');' on a line of its own" % (self.modules[module], module))
        return found.group() + "\nendmodule\n"

    def check_simulation(self, files):
        for path in sorted(files):
            for number, line in enumerate(for_yosys(strip_comments(self.text[path])).split("\n"), 1):
                found = SIMULATION.search(re.sub(r'"[^"]*"', '""', line))
                if found:
                    raise SynthError("%s:%d: %s is for simulation only, hardware expected" % (path, number, found.group().strip()))


# ---------------------------------------------------------------------------------------------------------------- one unit
class Job:
    """A module with one set of parameters: (name, value as a Verilog constant) pairs."""

    def __init__(self, src, module, params, stops, tool):
        self.module, self.params = module, tuple(sorted(params.items()))
        self.files, self.stubs = src.closure(module, stops - {module})
        self.src = src
        digest = hashlib.sha256(("%s\n%s\n%s\n" % (tool, module, self.params)).encode())
        for path in sorted(self.files):
            digest.update(("%s\n%s\n" % (path.name, src.text[path])).encode())
        for name in sorted(self.stubs):
            digest.update(src.stub(name).encode())
        self.key = digest.hexdigest()[:24]

    def label(self):
        return self.module + ("(%s)" % ", ".join("%s=%s" % p for p in self.params) if self.params else "")

    def elaborate(self, stub_file):
        """Yosys commands: the elaborated module as the top of the design."""
        packages, modules = self.src.in_order(self.files)
        lines = ["read_verilog -sv %s" % path for path in packages]
        if self.stubs:
            lines.append("read_verilog -sv -lib %s" % stub_file)
        lines.append("read_verilog -sv -defer -I%s %s" % (self.src.include, " ".join(str(p) for p in modules)))
        lines.append("hierarchy -check -top %s %s" % (self.module, " ".join("-chparam %s %s" % p for p in self.params)))
        return lines


class Runner:
    def __init__(self, yosys, folder, timeout):
        self.yosys, self.folder, self.timeout = yosys, folder, timeout
        self.lock, self.running = threading.Lock(), set()

    def files(self, job, kind):
        """Stubs, script and log: kept when Yosys fails."""
        return [self.folder / ("%s-%s%s" % (job.key, kind, suffix)) for suffix in (".stubs.v", ".ys", ".log")]

    def run(self, job, kind, commands):
        """Runs Yosys on the job; its log. Raises SynthError."""
        stub_file, script, log = self.files(job, kind)
        stub_file.write_text("\n".join(job.src.stub(s) for s in sorted(job.stubs)), encoding="utf-8")
        script.write_text("\n".join(job.elaborate(stub_file) + commands) + "\n", encoding="utf-8")
        log.unlink(missing_ok=True)
        with subprocess.Popen([self.yosys, "-q", "-l", str(log), "-s", str(script)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                              start_new_session=True) as process:
            with self.lock:
                self.running.add(process)
            try:
                _, errors = process.communicate(timeout=self.timeout)
            except subprocess.TimeoutExpired:
                kill(process)
                process.communicate()
                raise SynthError("%s: not finished after %g s, in %s (TIMEOUT=)" % (job.label(), self.timeout, last_pass(log))) from None
            finally:
                with self.lock:
                    self.running.discard(process)
        text = log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""
        if process.returncode != 0:
            raise SynthError("%s: %s (log: %s)" % (job.label(), reason(text or errors, process.returncode), log))
        return text

    def stop(self):
        with self.lock:
            for process in self.running:
                kill(process)


def kill(process):
    """Yosys and the ABC that it has started: they are a process group."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def last_pass(log):
    try:
        found = re.findall(r"^[\d.]+ Executing ([^\n]*?)\.?$", log.read_text(encoding="utf-8", errors="replace"), re.M)
    except OSError:
        found = []
    return found[-1] if found else "the first pass"


def reason(text, status):
    """The line of a log that says why Yosys stopped."""
    error = re.search(r"^(?:\S+: )?ERROR: (.*)", text, re.M)
    if not error:
        return "Yosys ended with status %d: %s" % (status, (text.strip().split("\n") or [""])[-1][:200])
    message = error.group(1)
    latch = re.search(r"^(?:ERROR: )?Latch inferred for signal `([^']*)'", text, re.M)
    if latch:
        return "infers a latch for %s" % latch.group(1)
    if "selection is not empty" in message:
        return "holds cells that are no hardware: " + message
    if "check -assert" in message:
        report = text[text.rfind("Executing CHECK pass"):]
        cause = re.search(r"^Warning: (.*(?:\n    .*){0,6})", report, re.M)
        return re.sub(r"\s+", " ", cause.group(1))[:300] if cause else message
    return message


def count_cells(cells):
    total = dict.fromkeys(COLUMNS, 0)
    total["LUT"] = sum(n for t, n in cells.items() if t in LOGIC)
    total["FF"] = sum(n for t, n in cells.items() if t in FLOPS)
    total["DSP"] = cells.get("DSP48E1", 0)
    total["BRAM"] = cells.get("RAMB36E1", 0) + 0.5 * cells.get("RAMB18E1", 0)
    total["LUTRAM"] = sum(n * LUTRAM.get(t, 0) for t, n in cells.items())
    total["CARRY4"] = cells.get("CARRY4", 0)
    return total


def parse_memories(log):
    """Name -> what it became."""
    found = {}
    for name, kind in re.findall(r"^mapping memory \S+?\.(\S+) via (\S+)", log.replace("$paramod", ""), re.M):
        found[name.lstrip("\\")] = "block" if "BLOCKRAM" in kind else "LUT" if "LUTRAM" in kind else kind
    for name in re.findall(r"^using FF mapping for memory \S+?\.(\S+)", log.replace("$paramod", ""), re.M):
        found[name.lstrip("\\")] = "registers"
    return found


def check_memories(job, memories):
    for unit, pattern, allowed in MEMORIES:
        if unit != job.module:
            continue
        names = [n for n in memories if re.fullmatch(pattern, n)]
        if not names:
            raise SynthError("%s: memory %s of docs/npu.md section 4.3 dissolves into registers, %s expected" % (job.label(), pattern, " or ".join(allowed) + " RAM"))
        for name in sorted(names):
            if memories[name] not in allowed:
                raise SynthError("%s: memory %s becomes %s, %s expected" % (job.label(), name, memories[name], " or ".join(a + " RAM" for a in allowed)))


def synthesise(job, runner):
    """Cells, memories and seconds of a job; from the cache if nothing has changed. The checks run each time."""
    job.src.check_simulation(job.files)
    cache = runner.folder / (job.key + ".json")
    if cache.exists():
        result = json.loads(cache.read_text(encoding="utf-8"))
    else:
        stat = runner.folder / (job.key + ".stat")
        start = time.monotonic()
        log = runner.run(job, "synth", SYNTH + ["tee -q -o %s stat -json" % stat])
        result = {"module": job.module, "params": job.params, "cells": json.loads(stat.read_text(encoding="utf-8"))["design"]["num_cells_by_type"],
                  "memories": parse_memories(log), "seconds": round(time.monotonic() - start, 1)}
        write_whole(cache, json.dumps(result, indent=1, sort_keys=True) + "\n")
        remove([stat] + runner.files(job, "synth"))
    strange = sorted(t for t in result["cells"] if t not in PRIMITIVES and t.lstrip("\\") not in job.stubs)
    if strange:
        raise SynthError("%s: cells that are no primitive of the device: %s" % (job.label(), ", ".join(strange)))
    check_memories(job, result["memories"])
    return result


def remove(paths):
    for path in paths:
        path.unlink(missing_ok=True)


def children(job, runner):
    """The rows that stand directly in this one: [(module, parameters)], from the elaborated design."""
    if not job.stubs:
        return []
    cache = runner.folder / (job.key + ".tree.json")
    if not cache.exists():
        netlist = runner.folder / (job.key + ".net.json")
        runner.run(job, "tree", TREE + ["write_json %s" % netlist])
        cells = [c for m in json.loads(netlist.read_text(encoding="utf-8"))["modules"].values() if not int(m["attributes"].get("blackbox", "0"), 2)
                 for c in m["cells"].values() if c["type"] in job.stubs]
        found = [[c["type"], {n: constant(v) for n, v in c["parameters"].items()}] for c in cells]
        write_whole(cache, json.dumps(sorted(found, key=str)))
        remove([netlist] + runner.files(job, "tree"))
    return [(module, params) for module, params in json.loads(cache.read_text(encoding="utf-8"))]


def constant(bits):
    """A parameter of a netlist as a Verilog constant. Integers lose their sign attribute: int and int unsigned of one value are one module."""
    bits = bits.strip()
    if re.fullmatch("[01]{32}", bits):
        return str(int(bits, 2))
    return "%d'b%s" % (len(bits), bits)


def write_whole(path, text):
    temporary = path.with_name("%s.tmp%d" % (path.name, os.getpid()))
    try:
        with open(temporary, "w", encoding="utf-8") as out:
            out.write(text)
        os.replace(temporary, path)
    except OSError as err:
        temporary.unlink(missing_ok=True)
        raise SynthError("%s: %s" % (path, err.strerror)) from err


# ---------------------------------------------------------------------------------------------------------------- all units
def walk(src, runner, tool, n):
    """Instances of all rows: {(module, group): {job key: [job, count]}}; also checks the table of rows against the design."""
    strangers = sorted(m for m in src.modules if m not in UNITS and m not in src.leaves())
    if strangers:
        raise SynthError("%s: module %s is in no row of scripts/synth.py (UNITS or LEAVES)" % (src.modules[strangers[0]], strangers[0]))
    for name in list(UNITS) + list(LEAVES):
        if name not in src.modules:
            raise SynthError("scripts/synth.py: there is no module %s in rtl/" % name)
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
        raise SynthError("scripts/synth.py: %s is a row and not in the hierarchy of %s" % (missing[0], TOP))
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
        futures = {pool.submit(synthesise, job, runner): job for job in jobs}
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
    """Table rows: all instances of a module in a group. Seconds: of each different one once."""
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
        print("| %s | %s | %s | %.0f |" % (name, row.get("instances", ""), " | ".join(number(row[c]) for c in COLUMNS), row["seconds"]))


def print_shares(groups, total, n):
    print("\nShare in percent of the whole, this design (N=%d, xc7) | document 000, table 5-10 (N=32, Zynq UltraScale+, percent of its whole programmable logic);" % n)
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
            print("| %s | %s |" % (name, " | ".join("%.1f / %s" % (share(groups[name], c), t) for c, t in zip(("LUT", "FF", "DSP", "BRAM"), there))))


def print_memories(rows, results):
    print("\nMemories of docs/npu.md section 4.3")
    print("| unit | memory | arrays | became |")
    print("| --- | --- | ---: | --- |")
    found = []
    for unit, pattern, _ in MEMORIES:
        for (module, _), variants in rows.items():
            for key in variants:
                if module == unit and key in results:
                    memories = results[key]["memories"]
                    kinds = [memories[m] for m in memories if re.fullmatch(pattern, m)]
                    found.append({"unit": unit, "memory": pattern, "arrays": len(kinds), "became": sorted(set(kinds))})
                    break
    for row in found:
        print("| %s | %s | %d | %s |" % (row["unit"], row["memory"].replace("\\", ""), row["arrays"], ", ".join(k + (" RAM" if k in ANY else "") for k in row["became"])))
    return found


def report(rows, leaves, results, args, complete):
    table = make_rows(rows, results)
    names = [r["unit"] for r in table]
    groups, total = {}, {"unit": "total", "instances": "", "seconds": 0}
    for row in table:
        row["several"] = names.count(row["unit"]) > 1
        add(groups.setdefault(row["group"], {}), row)
        add(total, row)
    out = {"n": args.n, "complete": complete, "units": table, "groups": groups}
    if table:
        title = "Units of %s, N=%d, all instances (x); a row holds its submodules apart from those that have a row of their own" % (TOP, args.n)
        print_table(table, title, total if complete else None)
    leaf_rows = []
    for job in leaves:
        if job.key in results:
            row = {"unit": job.module, "instances": 1, "seconds": results[job.key]["seconds"]}
            row.update(count_cells(results[job.key]["cells"]))
            leaf_rows.append(row)
    if leaf_rows:
        print_table(leaf_rows, "Leaf units by themselves, default parameters (contained in the rows above where they are used)")
    out["leaves"] = leaf_rows
    if complete:
        out["total"] = total
        print_shares(groups, total, args.n)
    if table:
        out["memories"] = print_memories(rows, results)
    return out


# ---------------------------------------------------------------------------------------------------------------- command line
def parse_args(argv):
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--n", type=int, choices=(4, 8, 16, 32), default=8, help="mesh size (8)")
    ap.add_argument("--units", default="", help="only these units, separated by spaces (all)")
    ap.add_argument("--jobs", type=int, default=1, help="Yosys processes at a time (1; the largest takes 4 GB)")
    ap.add_argument("--timeout", type=float, default=3600, help="seconds for one unit (3600)")
    ap.add_argument("--json", type=pathlib.Path, help="also write the figures to this file")
    ap.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build"), help="folder for cached results (build)")
    ap.add_argument("--rtl", type=pathlib.Path, default=pathlib.Path("rtl"), help="folder of the sources (rtl)")
    ap.add_argument("--source", type=pathlib.Path, action="append", default=[], help="one more file, whose modules --units may name")
    ap.add_argument("--yosys", default=os.environ.get("YOSYS") or "yosys", help="program (yosys)")
    args = ap.parse_args(argv)
    if args.jobs < 1 or args.timeout <= 0:
        ap.error("--jobs and --timeout: expected a number above 0")
    return args


def select(src, args):
    """Names of rows and of leaf units that the user wants, and those of other files."""
    wanted = args.units.split()
    for name in wanted:
        if name not in src.modules:
            raise Usage("unit %s: expected one of %s" % (name, " ".join(list(UNITS) + src.leaves())))
    if not wanted and not args.source:
        return set(UNITS), src.leaves()
    return {w for w in wanted if w in UNITS}, [w for w in wanted if w not in UNITS]


def run(args):
    if not shutil.which(args.yosys):
        raise SynthError("%s: not found; it is the Debian package yosys (make deps)" % args.yosys)
    version = subprocess.run([args.yosys, "-V"], capture_output=True, text=True, check=False).stdout.strip()
    tool = "\n".join([version, *SYNTH, *TREE, inspect.getsource(Job.elaborate), inspect.getsource(parse_memories)])
    src = Sources(args.rtl, args.source)
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
    out["errors"] = [e for _, e in errors]
    if args.json:
        write_whole(args.json, json.dumps(out, indent=1, sort_keys=True) + "\n")
    sys.stdout.flush()
    for _, error in errors:
        print("synth: " + error, file=sys.stderr)
    return 1 if errors else 0


def main(argv=None):
    args = parse_args(argv)
    try:
        return run(args)
    except Usage as err:
        print("synth: %s" % err, file=sys.stderr)
        return 2
    except (SynthError, OSError) as err:
        print("synth: %s" % err, file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
