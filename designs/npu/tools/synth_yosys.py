"""One unit through Yosys, for synth.py: elaboration, synthesis, figures; results are kept in a folder."""

import hashlib
import inspect
import json
import os
import pathlib
import re
import signal
import subprocess
import threading
import time

from synth_src import SynthError, strip_comments
from synth_timing import parse_path

COLUMNS = ("LUT", "FF", "DSP", "BRAM", "LUTRAM", "CARRY4")
# LUTs of a memory or shift register primitive
LUTRAM = {"RAM32M": 4, "RAM64M": 4, "RAM32X1D": 2, "RAM64X1D": 2, "RAM128X1D": 4,
          "RAM32X1S": 1, "RAM64X1S": 1, "RAM128X1S": 2, "RAM256X1S": 4, "SRL16E": 1, "SRLC16E": 1, "SRLC32E": 1}
LOGIC = {"LUT1", "LUT2", "LUT3", "LUT4", "LUT5", "LUT6", "INV"}
FLOPS = {"FDRE", "FDSE", "FDCE", "FDPE"}
OTHER = {"CARRY4", "MUXF7", "MUXF8", "DSP48E1", "RAMB36E1", "RAMB18E1"}
PRIMITIVES = LOGIC | FLOPS | OTHER | set(LUTRAM)

FORMAL = "$assert $assume $live $fair $cover $check $print $initstate $anyconst $anyseq $allconst $allseq".split()
LATCHES = "$dlatch $adlatch $dlatchsr $sr".split()
ROM = pathlib.Path(__file__).resolve().parent / "synth_rom.v"
# Script for an elaborated module. The first checks run on words, before any optimisation.
SYNTH = ["proc", "select -assert-none " + " ".join("t:" + t for t in LATCHES + FORMAL),
         "flatten", "opt_expr", "opt_clean", "check -assert", "techmap -map %s" % ROM,
         "synth_xilinx -family xc7 -flatten -noiopad -noclkbuf", "check -assert"]
# Static timing analysis of the mapped netlist, after the figures: arrival times from the delays of Yosys' models.
STA = ["rename -wire", "read_verilog -lib -specify -overwrite +/xilinx/cells_sim.v", "tee -q -o %s sta"]
TREE = ["proc", "flatten"]
WHOLE = SYNTH[:6]


def tool_text(version):
    """Everything that the figures of a module depend on, besides its sources."""
    commands = [c.replace(str(ROM), strip_comments(ROM.read_text(encoding="utf-8"))) for c in SYNTH + STA + TREE]
    return "\n".join([version, *commands, inspect.getsource(Job.elaborate), inspect.getsource(parse_memories),
                      inspect.getsource(parse_path)])


class Job:
    """A module with one set of parameters: (name, value as a Verilog constant) pairs."""

    def __init__(self, src, module, params, stops, tool):
        self.module, self.params = module, tuple(sorted(params.items()))
        self.files, self.stubs = src.closure(module, stops - {module})
        self.src = src
        digest = hashlib.sha256(("%s\n%s\n%s\n" % (tool, module, self.params)).encode())
        for path in sorted(self.files):
            digest.update(("%s\n%s\n" % (path.name, re.sub(r"\s+", " ", strip_comments(src.text[path])))).encode())
        for name in sorted(self.stubs):
            digest.update(src.stub(name).encode())
        self.key = digest.hexdigest()[:24]

    def label(self):
        return self.module + ("(%s)" % ", ".join("%s=%s" % p for p in self.params) if self.params else "")

    def elaborate(self, stub_file):
        """Yosys commands: the elaborated module as the top of the design."""
        packages, modules = self.src.in_order(self.files)
        lines = ["read_verilog -sv %s %s" % (self.src.include, path) for path in packages]
        if self.stubs:
            lines.append("read_verilog -sv -lib %s" % stub_file)
        lines.append("read_verilog -sv -defer %s %s" % (self.src.include, " ".join(str(p) for p in modules)))
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
        with subprocess.Popen([self.yosys, "-q", "-l", str(log), "-s", str(script)], stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True, start_new_session=True) as process:
            with self.lock:
                self.running.add(process)
            try:
                _, errors = process.communicate(timeout=self.timeout)
            except subprocess.TimeoutExpired:
                kill(process)
                process.communicate()
                raise SynthError("%s: not finished after %g s, in %s (TIMEOUT=)" %
                                 (job.label(), self.timeout, last_pass(log))) from None
            except BaseException:
                kill(process)
                raise
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
    """Yosys and the ABC that it has started: killed as a process group."""
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
        return "contains cells that are not hardware: " + message
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
    """Name -> its implementation."""
    found = {}
    for name, kind in re.findall(r"^mapping memory \S+?\.(\S+) via (\S+)", log.replace("$paramod", ""), re.M):
        found[name.lstrip("\\")] = "block" if "BLOCKRAM" in kind else "LUT" if "LUTRAM" in kind else kind
    for name in re.findall(r"^using FF mapping for memory \S+?\.(\S+)", log.replace("$paramod", ""), re.M):
        found[name.lstrip("\\")] = "registers"
    return found


def synthesise(job, runner):
    """Cells, memories, worst path and seconds of a job; from the cache if nothing but comments has changed."""
    cache = runner.folder / (job.key + ".json")
    if cache.exists():
        result = json.loads(cache.read_text(encoding="utf-8"))
    else:
        stat, sta = runner.folder / (job.key + ".stat"), runner.folder / (job.key + ".sta")
        start = time.monotonic()
        log = runner.run(job, "synth", SYNTH + ["tee -q -o %s stat -json" % stat] + STA[:-1] + [STA[-1] % sta])
        result = {"module": job.module, "params": job.params,
                  "cells": json.loads(stat.read_text(encoding="utf-8"))["design"]["num_cells_by_type"],
                  "memories": parse_memories(log), "path": parse_path(sta.read_text(encoding="utf-8")),
                  "seconds": round(time.monotonic() - start, 1)}
        write_whole(cache, json.dumps(result, indent=1, sort_keys=True) + "\n")
        remove([stat, sta] + runner.files(job, "synth"))
    return result


def check_whole(job, runner):
    """The checks before the mapping on a job without stubs: loops and drivers across units. Seconds; raises
    SynthError."""
    cache = runner.folder / (job.key + ".whole.json")
    if not cache.exists():
        start = time.monotonic()
        runner.run(job, "whole", WHOLE)
        write_whole(cache, json.dumps(round(time.monotonic() - start, 1)))
        remove(runner.files(job, "whole"))
    return json.loads(cache.read_text(encoding="utf-8"))


def remove(paths):
    for path in paths:
        path.unlink(missing_ok=True)


def children(job, runner):
    """The rows directly inside of this one: [(module, parameters)], from the elaborated design."""
    if not job.stubs:
        return []
    cache = runner.folder / (job.key + ".tree.json")
    if not cache.exists():
        netlist = runner.folder / (job.key + ".net.json")
        runner.run(job, "tree", TREE + ["write_json %s" % netlist])
        cells = [c for m in json.loads(netlist.read_text(encoding="utf-8"))["modules"].values()
                 if not int(m["attributes"].get("blackbox", "0"), 2)
                 for c in m["cells"].values() if c["type"] in job.stubs]
        found = [[c["type"], {n: constant(v) for n, v in c["parameters"].items()}] for c in cells]
        write_whole(cache, json.dumps(sorted(found, key=str)))
        remove([netlist] + runner.files(job, "tree"))
    return [(module, params) for module, params in json.loads(cache.read_text(encoding="utf-8"))]


def constant(bits):
    """A parameter of a netlist as a Verilog constant. Integers lose their sign attribute: int and int unsigned of one
    value are one module."""
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
