#!/usr/bin/python3
"""Place and route each unit of the NPU by itself and print its clock frequency and worst path (make synth PNR=1,
docs/npu/synthesis.md).

The device is a Lattice iCE40 HX8K, the largest for which Debian has a place-and-route tool (nextpnr-ice40). A unit
stands in a frame of shift registers: each input comes from a register and each output ends in one, and so do the ports
of the units inside it that have a row of their own. So every path of the unit itself is between two registers.

Exit status: 0 all units are placed and routed or do not fit, 1 one failed, 2 bad usage."""

import argparse
import concurrent.futures
import inspect
import json
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

import synth
from synth_src import Sources, SynthError, Usage, strip_comments
from synth_yosys import Job, Runner, remove, write_whole

sys.path.insert(0, str(synth.ROOT / "scripts"))
from rtl_modules import Bad, Module  # noqa: E402

CELLS = 7680  # of the device, each a LUT of four inputs and a flip-flop
SYNTH = "synth_ice40 -device hx -top pnr_top -json %s"
PLACE = ["--hx8k", "--package", "ct256", "--freq", "200", "--timing-allow-fail", "--seed", "1"]
OPEN_GATE = {"clk_gate"}  # a wire on an FPGA (ClkGate = 0), so it has no frame
# They connect other units, and thousands of wires would need registers for little logic.
WIRING = {"npu_top", "npu_units", "npu_dma", "dma_chan", "gemm", "gemm_load", "gemm_mac", "pool_chan"}


def widths(module):
    """Declarations of the ports but the clock as signals, and the names of the inputs and outputs."""
    lines = ["  %s %s;" % (kind if kind.startswith(("logic", "wire")) or "::" in kind or kind.endswith("_t")
                           else "logic " + kind, name) for name, kind in module.ports.items() if name != "clk_i"]
    inputs = [n for n, way in module.ways.items() if way == "input" and n != "clk_i"]
    return lines, inputs, [n for n, way in module.ways.items() if way == "output"]


def ring(drives, catches, clock, serial):
    """Registers that drive some signals and catch others, in one chain from the signal `serial`; its end."""
    declared, steps, assigned = [], [], []
    for name in drives:
        declared.append("  logic [$bits(%s)-1:0] from_%s;" % (name, name))
        steps.append("    from_%s <= {from_%s, %s};" % (name, name, serial))
        assigned.append("  assign %s = from_%s;" % (name, name))
        serial = "from_%s[$bits(%s)-1]" % (name, name)
    for name in catches:
        declared.append("  logic [$bits(%s)-1:0] to_%s, out_%s;" % (name, name, name))
        steps += ["    to_%s <= %s;" % (name, name), "    out_%s <= {out_%s, %s} ^ to_%s;" % (name, name, serial, name)]
        serial = "out_%s[$bits(%s)-1]" % (name, name)
    return declared + assigned + ["  always_ff @(posedge %s) begin" % clock] + steps + ["  end"], serial


def header(src, name):
    module = Module(name, strip_comments(src.text[src.modules[name]]))
    module.ports = {port: "logic " + kind if kind.startswith(("[", "signed")) else kind
                    for port, kind in module.ports.items()}
    return module


def names_of(parameters):
    return [re.search(r"(\w+)\s*=", p).group(1) for p in parameters if not p.startswith("localparam")]


def frame(src, name):
    """The top module: the unit between the registers."""
    module = header(src, name)
    lines, inputs, outputs = widths(module)
    chain, end = ring(inputs, outputs, "clk_i", "serial_i")
    text = ["module pnr_top" + (" #(\n  %s\n)" % ",\n  ".join(module.parameters) if module.parameters else "") +
            " (\n  input logic clk_i,\n  input logic serial_i,\n  output logic serial_o\n);"]
    values = ", ".join(".%s(%s)" % (p, p) for p in names_of(module.parameters))
    ports = ", ".join(".%s(%s)" % (p, p) for p in module.ports)
    return "\n".join(text + lines + chain + ["  assign serial_o = %s;" % end,
                     "  %s %s u_unit (%s);" % (name, "#(%s)" % values if values else "", ports), "endmodule"]) + "\n"


def inner(src, name):
    """A unit inside that has a row of its own: only registers at its ports."""
    module = header(src, name)
    if "clk_i" not in module.ports:
        raise SynthError("%s: has no clk_i, so it cannot be cut out of the units around it" % name)
    _, inputs, outputs = widths(module)
    head = src.stub(name).replace("\nendmodule\n", "")
    chain, _ = ring(outputs, [], "clk_i", "mixed")
    caught, end = ring([], inputs, "clk_i", "1'b0")
    return "\n".join([head, "  logic mixed;"] + chain + caught + ["  assign mixed = %s;" % end, "endmodule"]) + "\n"


class Placed(Job):
    """A unit in its frame."""

    def __init__(self, src, module, params, stops, tool):
        super().__init__(src, module, params, stops - OPEN_GATE, tool)

    def write(self, path):
        text = [inner(self.src, stub) for stub in sorted(self.stubs)] + [frame(self.src, self.module)]
        write_whole(path, "\n".join(text))

    def elaborate(self, stub_file):
        packages, modules = self.src.in_order(self.files)
        include = self.src.include
        lines = ["read_verilog -sv %s %s" % (include, path) for path in packages]
        lines.append("read_verilog -sv -defer %s %s %s" %
                     (include, " ".join(str(p) for p in modules), stub_file.with_suffix(".frame.sv")))
        return lines + ["hierarchy -check -top pnr_top %s" % " ".join("-chparam %s %s" % p for p in self.params)]


def place(job, runner, nextpnr):
    """The report of the placed and routed unit, or the cells that it would take, from the cache if there."""
    cache = runner.folder / (job.key + ".pnr.json")
    if cache.exists():
        return json.loads(cache.read_text(encoding="utf-8"))
    start = time.monotonic()
    own = [runner.folder / (job.key + suffix) for suffix in (".netlist.json", ".pnr.report", ".pnr.log")]
    framed = runner.files(job, "pnr")[0].with_suffix(".frame.sv")
    job.write(framed)
    runner.run(job, "pnr", [SYNTH % own[0]])
    with subprocess.Popen([nextpnr, *PLACE, "--json", own[0], "--report", own[1], "-q", "-l", own[2]],
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True) as process:
        with runner.lock:
            runner.running.add(process)
        try:
            process.communicate(timeout=runner.timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            raise SynthError("%s: not routed after %g s (TIMEOUT=)" % (job.label(), runner.timeout)) from None
        finally:
            with runner.lock:
                runner.running.discard(process)
    log = own[2].read_text(encoding="utf-8", errors="replace") if own[2].exists() else ""
    used = {name: int(n) for name, n in re.findall(r"(ICESTORM_LC|ICESTORM_RAM): +(\d+)/", log)}
    result = {"module": job.module, "params": job.params, "cells": used.get("ICESTORM_LC", 0),
              "rams": used.get("ICESTORM_RAM", 0)}
    if process.returncode == 0:
        netlist = json.loads(own[0].read_text(encoding="utf-8"))["modules"]["pnr_top"]
        result.update(parse(json.loads(own[1].read_text(encoding="utf-8")), netlist))
    elif not re.search(r"Unable to place cell|no more|failed to|too (?:few|many)|ERROR: .*(?:[Bb]el|place)", log):
        raise SynthError("%s: nextpnr ended with status %d (log: %s)" % (job.label(), process.returncode, own[2]))
    result["seconds"] = round(time.monotonic() - start, 1)
    write_whole(cache, json.dumps(result, indent=1, sort_keys=True) + "\n")
    remove(own + [framed] + runner.files(job, "pnr"))
    return result


def signal_name(name):
    """A net or cell of the netlist as the source calls it; the registers of the frame have the names of ports."""
    name = re.sub(r"_SB_.*|\$.*|_(?:DFF)?LC$", "", name.replace("u_unit.", ""))
    name = re.sub(r"\[\d+\]$", "", name)
    return re.sub(r"^(\w+\.)?(?:from|to)_", r"\1", name) or "?"


def end_name(cell, netlist):
    """What a cell at the end of a path stores: the output of its flip-flop."""
    cells, nets = netlist["cells"], netlist["netnames"]
    cell = re.sub(r"_(?:DFF)?LC$", "", cell)
    kind = cells.get(cell, {}).get("type", "")
    output = {"SB_LUT4": "O"}.get(kind, "Q")
    bit = cells[cell]["connections"][output][0] if kind.startswith(("SB_LUT4", "SB_D")) else 0
    if kind == "SB_LUT4":
        behind = [c for c in cells.values() if c["type"].startswith("SB_D") and c["connections"]["D"] == [bit]]
        bit = behind[0]["connections"]["Q"][0] if behind else 0
    names = [n for n, net in nets.items() if bit in net["bits"]] if bit else []
    return signal_name(min(names, key=lambda n: ("$" in n or "_SB_" in n, len(n)), default=cell))


def parse(report, netlist):
    """MHz of the clock; delay in logic and in routing, first and last signal of the critical path."""
    mhz = max(clock["achieved"] for clock in report["fmax"].values())
    path = max((p["path"] for p in report["critical_paths"] if p["from"].startswith("posedge") and
                p["to"].startswith("posedge")), key=lambda p: sum(step["delay"] for step in p))
    routing = sum(step["delay"] for step in path if step["type"] == "routing")
    hops = [step for step in path if step["type"] == "routing"]
    return {"mhz": round(mhz, 1), "logic": round(sum(step["delay"] for step in path) - routing, 1),
            "routing": round(routing, 1), "levels": len(hops) - 1, "from": signal_name(hops[0]["net"]),
            "to": end_name(path[-1]["to"]["cell"], netlist)}


def print_table(rows, n):
    print("| unit | cells | RAMs | MHz | ns | in logic | in routing | from | to |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | --- | --- |")
    for row in sorted(rows, key=lambda r: (r.get("mhz", 1e9), r["module"])):
        if "mhz" in row:
            print("| %s | %d | %d | %.0f | %.1f | %.1f | %.1f | %s | %s |" %
                  (row["module"], row["cells"], row["rams"], row["mhz"], 1000 / row["mhz"], row["logic"],
                   row["routing"], row["from"], row["to"]))
    large = sorted((r for r in rows if "mhz" not in r), key=lambda r: r["module"])
    if large:
        print("\nDo not fit into %d cells and 32 RAMs at N = %d: %s" %
              (CELLS, n, ", ".join("%s (%d, %d)" % (r["module"], r["cells"], r["rams"]) for r in large)))


def jobs_of(args, src, runner, tool):
    units, leaf_names = synth.select(src, args)
    jobs = {}
    if units:
        for (module, _), variants in synth.walk(src, runner, tool, args.n).items():
            if module in units - OPEN_GATE - WIRING:
                job = next(iter(variants.values()))[0]
                jobs.setdefault(module, Placed(src, module, dict(job.params), set(synth.UNITS), tool))
    for job in synth.leaf_jobs(src, tool, leaf_names, args.n):
        jobs[job.module] = Placed(src, job.module, dict(job.params), set(), tool)
    return list(jobs.values())


def run(args):
    for program, package in ((args.yosys, "yosys"), (args.nextpnr, "nextpnr-ice40")):
        if not shutil.which(program):
            raise SynthError("%s: not found; it is the Debian package %s (make deps-dev)" % (program, package))
    versions = [subprocess.run([program, "-V"], capture_output=True, text=True, check=False) for program in
                (args.yosys, args.nextpnr)]
    placer = "".join(re.findall(r"Version ([^)]*)", versions[1].stdout + versions[1].stderr))
    version = "%s, nextpnr-ice40 %s" % (versions[0].stdout.strip(), placer)
    tool = "\n".join([version, SYNTH, *PLACE, *(inspect.getsource(f) for f in (widths, ring, frame, inner, Placed,
                                                                              signal_name, end_name, parse))])
    src = Sources(args.rtl, args.build / "gen/npu", args.source)
    folder = args.build / "synth"
    folder.mkdir(parents=True, exist_ok=True)
    runner = Runner(args.yosys, folder, args.timeout)
    rows, errors = [], []
    jobs = jobs_of(args, src, runner, tool)
    progress = synth.Progress(len(jobs))
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        futures = {pool.submit(place, job, runner, args.nextpnr): job for job in jobs}
        try:
            for future in concurrent.futures.as_completed(futures):
                try:
                    rows.append(future.result())
                except (SynthError, Bad) as err:
                    errors.append(str(err))
                progress.step(futures[future].label())
        except BaseException:
            for future in futures:
                future.cancel()
            runner.stop()
            raise
    progress.end()
    print("%s; iCE40 HX8K, N = %d; each unit between registers of its own\n" % (version, args.n))
    print_table(rows, args.n)
    if args.json:
        write_whole(args.json, json.dumps({"n": args.n, "units": rows, "errors": errors}, indent=1) + "\n")
    sys.stdout.flush()
    for error in sorted(errors):
        print("synth: " + error, file=sys.stderr)
    return 1 if errors else 0


def main(argv=None):
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    synth.common_options(ap)
    ap.add_argument("--nextpnr", default="nextpnr-ice40", help="program (nextpnr-ice40)")
    args = synth.checked(ap, argv)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the programs are ended, too
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
