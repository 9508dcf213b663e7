"""make synth: the checks of designs/npu/tools/synth.py on small modules, its cache, its tables."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "designs/npu/tools"))
import synth  # noqa: E402
import synth_pnr  # noqa: E402
import synth_src  # noqa: E402
import synth_yosys  # noqa: E402

GENERATED = ROOT / os.environ.get("BUILD", "build") / "gen/npu"
YOSYS = shutil.which("yosys")
FULL = os.environ.get("TANDEM_CHECK") == "1"
needs_yosys = pytest.mark.skipif(not YOSYS, reason="not run: needs yosys (make deps)")
needs_nextpnr = pytest.mark.skipif(not YOSYS or not shutil.which("nextpnr-ice40"),
                                   reason="not run: needs yosys and nextpnr-ice40 (make deps deps-dev)")


def call(tmp_path, *args, program="synth.py", **env):
    return subprocess.run([sys.executable, str(ROOT / "designs/npu/tools" / program), "--build", str(tmp_path / "b"),
                           *args],
                          cwd=ROOT, capture_output=True, text=True, env={**os.environ, **env})


def module(tmp_path, body, ports="input logic clk_i, input logic a_i, input logic b_i, output logic y_o", name="small"):
    path = tmp_path / (name + ".sv")
    path.write_text("module %s (\n  %s\n);\n%s\nendmodule\n" % (name, ports, body))
    return "--source", str(path), "--units", name


def refused(run, *words):
    assert run.returncode == 1, run.stdout + run.stderr
    lines = run.stderr.splitlines()
    assert len(lines) == 1 and "Traceback" not in run.stderr, run.stderr
    for word in words:
        assert word in lines[0], lines[0]


def rows_of(text):
    """The rows of all tables, of those with the same first column the first: first column -> other columns."""
    cells = [[c.strip() for c in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("|")]
    return {c[0]: c[1:] for c in reversed(cells)}


# ---- without Yosys
def test_missing_yosys(tmp_path):
    refused(call(tmp_path, "--yosys", "no-such-yosys"), "no-such-yosys: not found", "Debian package yosys", "make deps")


def test_usage(tmp_path):
    for bad in (["--n", "7"], ["--jobs", "0"], ["--timeout", "0"]):
        assert call(tmp_path, *bad).returncode == 2
    if YOSYS:
        run = call(tmp_path, "--units", "mush")
        assert run.returncode == 2 and "unit mush: expected one of" in run.stderr


def test_cells():
    counts = synth_yosys.count_cells({"LUT6": 3, "INV": 1, "FDCE": 2, "FDRE": 5, "RAMB36E1": 2,
                                      "RAMB18E1": 3, "RAM64M": 2, "SRL16E": 1, "DSP48E1": 4, "CARRY4": 6})
    assert counts == {"LUT": 4, "FF": 7, "DSP": 4, "BRAM": 3.5, "LUTRAM": 9, "CARRY4": 6}


def test_memories():
    log = ("mapping memory $paramod\\ofm_buf\\N=32'01.g_col[7].mem0 via $__XILINX_BLOCKRAM_SDP_\n"
           "mapping memory acc.m0 via $__XILINX_LUTRAM_SDP_\nusing FF mapping for memory $paramod$0ab\\q.u_f.mem\n")
    assert synth_yosys.parse_memories(log) == {"g_col[7].mem0": "block", "m0": "LUT", "u_f.mem": "registers"}


def test_conditions():
    text = "`ifdef YOSYS\na\n`else\nb\n`ifdef X\nc\n`endif\n`endif\n`ifndef SYNTHESIS\nd\n`endif\ne"
    assert synth_src.for_yosys(text).split() == ["a", "e"]


def test_simulation_code(tmp_path):
    """Assertions by macro do not count, nor what only a simulator sees; the same words elsewhere do."""
    shutil.copytree(ROOT / "rtl/lib", tmp_path / "lib")
    good = (
        '`include "assert.svh"\nmodule m;\n`ASSERT(x,\n  ($past(a)) == "#1")\n`ifndef YOSYS\ninitial $stop;\n`endif\n')
    for text, where in ((good, None), (good + "wire r = $past(a);\n", "m.sv:8: [$]past"),
                        (good + "wire #2 r = a;\n", "m.sv:8: # ?2")):
        (tmp_path / "m.sv").write_text(text + "endmodule\n")
        src = synth_src.Sources(tmp_path, tmp_path / "none")
        files, _ = src.closure("m", set())
        if where:
            with pytest.raises(synth_src.SynthError, match=where):
                src.check_simulation(files)
        else:
            src.check_simulation(files)


def test_every_module_has_a_row():
    src = synth_src.Sources(ROOT / "rtl", GENERATED)
    assert set(src.modules) == set(synth.UNITS) | set(synth.leaves_of(src))


def test_stranger(tmp_path):
    """A new module that nobody has put into the table."""
    src = synth_src.Sources(ROOT / "rtl", GENERATED)
    src.modules["stranger"] = ROOT / "rtl/npu/gemm/stranger.sv"
    with pytest.raises(synth_src.SynthError, match="stranger is in no row"):
        synth.walk(src, None, "", 8)


def test_published_figures():
    """Each figure of document 000 and its share agree: the wholes are those of its table 5-9."""
    for group in synth.PUBLISHED.values():
        for (used, share), whole in zip(group, (114021, 130738, 2261, 328)):
            assert abs(100.0 * used / whole - share) < 0.01


# ---- with Yosys
@needs_yosys
def test_table_and_cache(tmp_path):
    """The table, its JSON, the cache, and make; with one run of Yosys."""
    calls = tmp_path / "calls"
    wrapper = tmp_path / "yosys"
    wrapper.write_text('#!/bin/sh\ncase "$1" in -V) ;; *) echo "$@" >>%s ;; esac\nexec %s "$@"\n' % (calls, YOSYS))
    wrapper.chmod(0o755)
    run = call(tmp_path, "--units", "fifo", "--json", str(tmp_path / "out.json"), "--yosys", str(wrapper))
    assert run.returncode == 0, run.stderr
    assert run.stderr == "" and "\r" not in run.stdout
    out = json.loads((tmp_path / "out.json").read_text())
    (row,) = out["leaves"]
    table = rows_of(run.stdout)
    columns = table["unit"]
    assert columns == ["x", *synth_yosys.COLUMNS, "seconds"]
    for column, text in zip(columns[1:-1], table["fifo"][1:-1]):
        assert float(text) == row[column]
    # 32 x 4 bits of storage in LUT RAM, pointers and count in flip-flops
    assert row["FF"] == 7 and row["LUTRAM"] >= 16 and row["DSP"] == 0 and row["BRAM"] == 0
    assert len(calls.read_text().splitlines()) == 1
    again = call(tmp_path, "--units", "fifo", "--yosys", str(wrapper))
    assert again.returncode == 0 and again.stdout == run.stdout
    assert len(calls.read_text().splitlines()) == 1, "the second run took nothing from the cache"
    assert [p.name for p in tmp_path.glob("*.tmp*")] == []
    refused(call(tmp_path, "--units", "fifo", "--json", str(tmp_path / "no-such-folder/x.json")),
            "no-such-folder/x.json")
    env = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
    make = subprocess.run(["make", "-s", "synth", "UNITS=fifo", "BUILD=%s" % (tmp_path / "b")],
                          cwd=ROOT, capture_output=True, text=True, env=env)
    assert make.returncode == 0, make.stderr
    assert make.stdout == run.stdout


@needs_yosys
def test_key_follows_sources(tmp_path):
    shutil.copytree(ROOT / "rtl", tmp_path / "rtl")
    key = {}
    edits = {"same": ("lib/fp/fp_mul.sv", "// comment\n"), "other unit": ("npu/mesh/mesh.sv", "`define X\n"),
             "submodule": ("lib/fp/fp_mul.sv", "`define X\n"), "package": ("lib/fp/fp_pkg.sv", "`define X\n")}
    for step in ("before", "same", "other unit", "submodule", "package"):
        if step in edits:
            with open(tmp_path / "rtl" / edits[step][0], "a", encoding="utf-8") as out:
                out.write(edits[step][1])
        src = synth_src.Sources(tmp_path / "rtl", GENERATED)
        key[step] = synth_yosys.Job(src, "requant", {"N": "8"}, set(synth.UNITS), "tool").key
    assert key["before"] == key["same"] == key["other unit"] != key["submodule"] != key["package"]


@needs_yosys
@pytest.mark.parametrize("body, words", [
    ("always_latch if (a_i) y_o = b_i;", ["latch", "y_o"]),
    ("always_comb if (a_i) y_o = b_i;", ["latch", "y_o"]),
    ("logic p, q; assign p = ~(q & a_i); assign q = ~(p & b_i); assign y_o = p;", ["loop"]),
    ("assign y_o = a_i; assign y_o = b_i;", ["driver"]),
    ("logic n; assign y_o = a_i & n;", ["no driver"]),
    ("initial $display(\"hello\"); assign y_o = a_i;", ["small.sv:4", "initial", "simulation only"]),
    ("assign #1 y_o = a_i;", ["small.sv:4", "simulation only"]),
    ("absent u_absent (.x_i(a_i)); assign y_o = b_i;", ["absent"]),
    ("assign y_o = a_i +;", ["syntax error"]),
], ids=["latch", "forgotten branch", "loop", "two drivers", "no driver", "initial", "delay", "no module", "syntax"])
def test_refused(tmp_path, body, words):
    refused(call(tmp_path, *module(tmp_path, body)), *words)


RAM = "logic [7:0] mem[64]; always_ff @(posedge clk_i) begin if (we_i) mem[addr_i] <= d_i; %s end\n%s"
RAM_PORTS = (
    "input logic clk_i, input logic we_i, input logic [5:0] addr_i, input logic [7:0] d_i, output logic [7:0] y_o")


@needs_yosys
@pytest.mark.parametrize("body, words", [
    pytest.param(RAM % ("", "assign y_o = mem[addr_i];"), ["memory mem becomes LUT", "block RAM expected"],
                 marks=pytest.mark.skipif(not FULL, reason="not run: a whole synthesis; TANDEM_CHECK=1 runs it")),
    (RAM % ("y_o <= mem[0]; if (d_i == 8'd1) for (int i = 0; i < 64; i++) mem[i] <= 8'd0;", ""),
     ["memory mem", "block RAM expected"]),
], ids=["asynchronous read", "cleared at once"])
def test_memory_dissolves(tmp_path, monkeypatch, capsys, body, words):
    monkeypatch.setattr(synth, "MEMORIES", (("small", "mem", synth.BLOCK),))
    monkeypatch.chdir(ROOT)
    status = synth.main(["--build", str(tmp_path / "b"), *module(tmp_path, body, RAM_PORTS)])
    error = capsys.readouterr().err
    assert status == 1
    for word in words:
        assert word in error


@needs_yosys
@pytest.mark.parametrize("unit", sorted({unit for unit, _, _ in synth.MEMORIES}) if FULL else ["layout"])
def test_memories_have_their_names(tmp_path, unit):
    """Each memory that make synth checks is one of the elaborated unit: a renamed one would count as dissolved."""
    src = synth_src.Sources(ROOT / "rtl", GENERATED, [])
    (job,) = synth.leaf_jobs(src, "", [unit], 8)
    listed = tmp_path / "memories"
    commands = ["proc", "flatten", "tee -q -o %s select -list m:*" % listed]
    synth_yosys.Runner(YOSYS, tmp_path, 300).run(job, "memories", commands)
    names = [line.strip().split("/", 1)[1] for line in listed.read_text().splitlines()]
    for pattern in [p for u, p, _ in synth.MEMORIES if u == unit]:
        assert any(re.fullmatch(pattern, name) for name in names), (pattern, names)


@needs_yosys
def test_time_limit(tmp_path):
    run = call(tmp_path, "--units", "fifo", "--timeout", "0.05")
    refused(run, "fifo", "not finished after 0.05 s", "TIMEOUT=")


ROM = """
localparam logic [32*20-1:0] C = {%s};
assign y_o = C[32*(i_i > 5'd19 ? 5'd19 : i_i)+:32];
assign z_o = C[32*i_i[3:0]+:32];
""" % ", ".join("32'h%08x" % ((i * 0x9E3779B9) & 0xFFFFFFFF) for i in range(20))


@needs_yosys
def test_rom_rule(tmp_path):
    """synth_rom.v keeps the function, for all indices: proven with the SAT solver of Yosys."""
    module(tmp_path, ROM, "input logic [4:0] i_i, output logic [31:0] y_o, output logic [31:0] z_o")
    rule = synth_yosys.ROM.read_text(encoding="utf-8")
    swapped = rule.replace("node[32*(2*i+1)+:32] : node[32*(2*i)+:32]", "node[32*(2*i)+:32] : node[32*(2*i+1)+:32]")
    assert swapped != rule
    for text, proven in ((rule, True), (swapped, False)):
        (tmp_path / "rule.v").write_text(text)
        commands = ["read_verilog -sv %s" % (tmp_path / "small.sv"), "proc",
                    "opt_expr", "opt_clean", "select -assert-count 2 t:$shiftx", "copy small gold",
                    "techmap -map %s small" % (tmp_path / "rule.v"), "opt_clean",
                    "rename small gate", "select -assert-none gate/t:$shiftx", "select -clear",
                    "miter -equiv -ignore_gold_x -flatten gold gate both", "sat -verify -prove trigger 0 both"]
        run = subprocess.run([YOSYS, "-q", "-p", "; ".join(commands)], capture_output=True, text=True)
        assert (run.returncode == 0) == proven, run.stdout + run.stderr
        assert proven or "proof did fail" in run.stderr, run.stderr


# ---- place and route (make synth PNR=1)
def test_worst_path_of_a_report():
    """Of the paths from clock to clock the longest; names of the source for its ends."""
    def step(kind, delay, net=None, cell="u_unit.sum_q_SB_DFF_Q_DFFLC"):
        return {"type": kind, "delay": delay, "net": net, "from": {"cell": cell}, "to": {"cell": cell}}
    long = [step("clk-to-q", 0.5), step("routing", 1.5, "from_a_i[3]"), step("logic", 0.4),
            step("routing", 0.6, "u_unit.sum_q_SB_LUT4_O"), step("setup", 0.3)]
    report = {"fmax": {"clk_i$SB_IO_IN_$glb_clk": {"achieved": 303.03}}, "critical_paths": [
        {"from": "posedge c", "to": "posedge c", "path": long},
        {"from": "<async>", "to": "posedge c", "path": [step("source", 0), step("routing", 9.0, "serial_i")]}]}
    netlist = {"cells": {"u_unit.sum_q_SB_DFF_Q": {"type": "SB_DFF", "connections": {"Q": [7]}}},
               "netnames": {"u_unit.sum_q": {"bits": [6, 7]}, "$auto$x": {"bits": [7]}}}
    assert synth_pnr.parse(report, netlist) == {"mhz": 303.0, "logic": 1.2, "routing": 2.1, "levels": 1, "from": "a_i",
                                                "to": "sum_q"}


@needs_yosys
def test_missing_nextpnr(tmp_path):
    refused(call(tmp_path, "--nextpnr", "no-such-nextpnr", program="synth_pnr.py"),
            "no-such-nextpnr: not found", "Debian package nextpnr-ice40", "make deps-dev")


@needs_nextpnr
def test_placed_and_routed(tmp_path):
    """A chain of multiplications is slower than an arbiter; a second run takes both from the cache; a syntax error is
    one line."""
    args = module(tmp_path, "always_ff @(posedge clk_i) y_o <= a_i * b_i * a_i * b_i;",
                  "input logic clk_i, input logic [5:0] a_i, input logic [5:0] b_i, output logic [5:0] y_o")
    args = [*args[:-1], args[-1] + " arbiter"]
    run = call(tmp_path, *args, "--json", str(tmp_path / "f.json"), program="synth_pnr.py")
    assert run.returncode == 0 and run.stderr == "", run.stderr
    table = rows_of(run.stdout)
    assert float(table["arbiter"][2]) > 1.5 * float(table["small"][2]) > 15
    assert table["small"][-1] == "y_o" and table["small"][-2] in ("a_i", "b_i")
    found = {row["module"]: row for row in json.loads((tmp_path / "f.json").read_text())["units"]}
    assert found["small"]["cells"] > found["arbiter"]["cells"] > 4
    again = call(tmp_path, *args, program="synth_pnr.py", PATH=os.environ["PATH"])
    assert again.stdout == run.stdout
    refused(call(tmp_path, *module(tmp_path, "assign y_o = a_i +;", name="bad"), program="synth_pnr.py"),
            "bad", "syntax error")
