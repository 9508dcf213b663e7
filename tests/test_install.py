"""An installation: headers that stand alone, tools without a design, and projects that `tandem new` writes around
designs: they build, pass, find a bug, and refuse what cannot be."""
import html
import json
import os
import re
import shutil
import sqlite3
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
BUILD = os.environ.get("BUILD", "build")
HOST = ROOT / os.environ.get("HOST", f"{BUILD}/host")
VERSION = (ROOT / "VERSION").read_text().strip()
ENV = {k: v for k, v in os.environ.items() if k not in (
    "MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MAKEOVERRIDES", "SAN", "KIND", "CFG", "DUT", "HOST", "BUILD", "DESIGNS",
    "TANDEM")}
pytestmark = pytest.mark.skipif(shutil.which("verilator") is None or os.environ.get("SAN") == "1",
                                reason="not run: needs verilator (make deps), and libraries without sanitizers")


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    folder = tmp_path_factory.mktemp("installed") / "usr"
    done = subprocess.run(["make", "-s", f"BUILD={BUILD}", f"{BUILD}/host/tandem", f"{BUILD}/host/tandem-regress",
                           f"{BUILD}/host/tandem-cov"], cwd=ROOT, env=ENV, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stdout + done.stderr
    done = subprocess.run(["/usr/bin/python3", ROOT / "install/install.py", "--host", ROOT / BUILD / "host", "--prefix",
                           folder, "--version", VERSION], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return folder


def tandem(prefix, *args, cwd=None, status=0, timeout=600):
    done = subprocess.run([prefix / "bin/tandem", *args], cwd=cwd, env=ENV, capture_output=True, text=True,
                          timeout=timeout)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout + done.stderr


def runtime(prefix):
    """Verilator's runtime takes nine seconds to compile: once for all projects, by the rules of the first."""
    return f"VLT={prefix.parent}/verilated-$(KIND:mut=fast)"


def make(prefix, project, *args, status=0):
    done = subprocess.run(["make", "-s", f"TANDEM={prefix}/bin/tandem", runtime(prefix), *args], cwd=project, env=ENV,
                          capture_output=True, text=True, timeout=900)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_command(prefix):
    assert tandem(prefix, "--version") == f"tandem {VERSION} (Verilator 5.006 and newer)\n"
    assert tandem(prefix, "--where").strip() == str(prefix / "share/tandem")
    assert "axi-check FILE" in tandem(prefix, "--help")
    assert "unknown command frob, expected new" in tandem(prefix, "frob", status=2)
    assert "expected a command" in tandem(prefix, status=2)
    said = tandem(prefix, "axi-check", str(ROOT / "docs/axi-check.vcd"), "--list")
    assert "u_dma.m_axi: AXI4, 32 bits" in said
    assert "usage: " in tandem(prefix, "wave", "--help")
    assert "expected two folders" in tandem(prefix, "diff", status=2)
    assert "run a suite" in tandem(prefix, "regress", "--help")
    # each script finds the others that it needs
    names = sorted(p.stem for p in (prefix / "share/tandem").glob("*.py"))
    done = subprocess.run(["/usr/bin/python3", "-B", "-c", "import " + ", ".join(names)], cwd=prefix / "share/tandem",
                          capture_output=True, text=True)
    assert len(names) > 15 and done.returncode == 0, done.stderr
    assert (prefix / "include/tandem/version.h").read_text().count(f'"{VERSION}"') == 1


def test_headers_stand_alone(prefix, tmp_path):
    """Each by itself, at the strictest warnings, from the folder above; no word of a design is installed."""
    include = prefix / "include"
    headers = sorted(p for p in (include / "tandem").rglob("*.h") if not p.name.startswith(("vl_", "mutant")))
    assert len(headers) > 40
    text = "".join(f"#include <{h.relative_to(include)}>\n" for h in headers) + "int main(void) { return 0; }\n"
    (tmp_path / "all.c").write_text(text)
    # -Wno-unused: inline functions of a header that this file does not call
    for source in [tmp_path / "all.c"] + headers:
        done = subprocess.run(["gcc", "-std=c11", "-fsyntax-only", "-Wall", "-Wextra", "-Wconversion", "-Wshadow",
                               "-Werror", "-Wno-unused", "-I", include, "-x", "c", source], capture_output=True,
                              text=True)
        assert done.returncode == 0, done.stderr
    words = subprocess.run([ROOT / "scripts/design.py", "words"], env=ENV, capture_output=True,
                           text=True).stdout.split()
    for path in (prefix / "include").rglob("*"):
        if path.is_file():
            assert not re.search(r"(^|[^a-z])(%s)([^a-z]|$)" % "|".join(words), path.read_text(), re.I), path


def test_library(prefix, tmp_path):
    """pkg-config's flags link a program that uses the checker alone."""
    (tmp_path / "a.c").write_text('#include "tb.h"\nconst tb_shim *tb_shim_get(void) { return NULL; }\n'
                                  'int main(void) { puts(tb_axi_rule_name(AXI4_ERRM_WDATA_NUM)); return 0; }\n')
    env = dict(ENV, PKG_CONFIG_PATH=str(prefix / "lib/pkgconfig"))
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "tandem"], env=env, capture_output=True, text=True)
    assert flags.returncode == 0, flags.stderr
    done = subprocess.run(["gcc", "-std=c11", "-Wall", "-Werror", "a.c", "-o", "a", *flags.stdout.split()],
                          cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert subprocess.run([tmp_path / "a"], capture_output=True, text=True).stdout == "AXI4_ERRM_WDATA_NUM\n"
    where = subprocess.run(["pkg-config", "--variable=makefragment", "tandem"], env=env, capture_output=True, text=True)
    assert Path(where.stdout.strip()).is_file()


@pytest.mark.skipif(shutil.which("help2man") is None, reason="not run: needs help2man (make deps)")
def test_man_pages(prefix):
    pages = {p.name for p in (prefix / "share/man/man1").iterdir()}
    assert {"tandem.1", "tandem-new.1", "tandem-axi-check.1", "tandem-wave.1", "tandem-diff.1", "tandem-regress.1",
            "tandem-cov.1"} <= pages
    text = (prefix / "share/man/man1/tandem-new.1").read_text()
    assert "\\-\\-rtl" in text and str(prefix) not in text


@pytest.mark.skipif(os.environ.get("TANDEM_CHECK") is None, reason="not run: 20 seconds (make check)")
def test_second_design_of_the_tree(prefix, tmp_path):
    """A DMA: registers and memory; the first deliberate bug is found."""
    assert subprocess.run(["make", "-s", f"BUILD={BUILD}", "generated"], cwd=ROOT, env=ENV).returncode == 0
    said = tandem(prefix, "new", "engine", "--rtl", ROOT / BUILD / "gen/axi_copy/axi_copy_regs_pkg.sv",
                  *sorted((ROOT / "rtl/axi_copy").glob("*.sv")), "--include", ROOT / "rtl/lib", "--param",
                  "DataBytes=8", cwd=tmp_path)
    assert "top module: axi_copy" in said and "s_axil_: axi4-lite slave, 32 bits" in said
    assert "m_axi_: axi4 master, 64 bits" in said and "reset rst_ni, active low" in said and "interrupt irq_o" in said
    project = tmp_path / "engine"
    said = make(prefix, project, "regress")
    assert "3 passed, 0 failed" in said and "warning" not in said
    program = next((project / "build").glob("base-*/tandem"))
    subprocess.run([program, "--seed", "1", "--counters", "c.json", "--cov", "c.cov"], cwd=project, check=True)
    assert json.loads((project / "c.json").read_text())["irq_o"] == {"rises": 0}
    done = subprocess.run([prefix / "bin/tandem-cov", "report", "c.cov"], cwd=project, capture_output=True, text=True)
    assert "interrupt" in done.stdout and "irq_o" in done.stdout, done.stdout
    assert "1 of 1 mutants found" in make(prefix, project, "mutants")


REGS = """space 8 "the crossing"
reg COUNT 0x00 ro "Transfers"
  field WORDS 31:0 exact 0 "so many so far"
reg LIMIT 0x04 rw "A word"
  field VALUE 31:0 exact 8 "holds what is written"
"""


def test_two_clocks(prefix, tmp_path):
    """Two domains with resets of either polarity, streams, APB; a payload that changes too early is found, with a
    waveform."""
    rtl = ROOT / "tests/install/two_clocks.sv"
    assert "--through a=b: expected IN=OUT, a stream into the design and one out of it; it has s_axis_a (in)" in tandem(
        prefix, "new", "cross", "--rtl", rtl, "--through", "a=b", cwd=tmp_path, status=2)
    said = tandem(prefix, "new", "cross", "--rtl", rtl, "--through", "s_axis_a=m_axis_b", cwd=tmp_path)
    assert "clock clk_a, reset rst_a, active high" in said and "clock clk_b, reset rst_bn, active low" in said
    assert "s_axis_a_: axi4-stream into the design, 17 bits" in said and "apb_b_: APB slave" in said
    project = tmp_path / "cross"
    bench = project / "bench/bench.c"
    assert '.prefix = "apb_b_", .clock = 1' in bench.read_text()
    make(prefix, project, "build")
    program = project / "build/base-debug/tandem"
    run = [program, "--run-seed", "1", "--count", "10", "traffic=random", "transfers=20"]
    assert "board    stream s_axis_a m_axis_b\n" in (project / "designs/cross/design").read_text()
    done = subprocess.run(run, cwd=project, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    again = subprocess.run(run, cwd=project, capture_output=True, text=True, timeout=120)
    assert re.sub(r"[0-9.]+ s\b", "", done.stdout) == re.sub(r"[0-9.]+ s\b", "", again.stdout)
    (project / "cross.regs").write_text(REGS)
    for line, found in (("fifo s_axis_a m_axis_b 2", None), ("registers cross.regs LIMIT", None),
                        ("fifo s_axis_a m_axis_b 1", "m_axis_b: 2 transfers inside, at most 1 were expected"),
                        ("registers cross.regs COUNT", "register COUNT after a write: got 0x0, expected 0x")):
        assert declare(prefix, project, line) == ""
        done = subprocess.run(run, cwd=project, capture_output=True, text=True, timeout=120)
        assert done.returncode == (found is not None) and (found or "PASS") in done.stdout, done.stdout + done.stderr
    (project / "cross.regs").write_text(REGS.replace("exact 8", "exact 9"))
    assert declare(prefix, project, "registers cross.regs") == ""
    done = subprocess.run(run, cwd=project, capture_output=True, text=True, timeout=120)
    assert "register LIMIT after reset: got 0x8, expected 0x9" in done.stdout, done.stdout + done.stderr
    assert "cross.regs: there is no register NONE, only COUNT, LIMIT" in declare(prefix, project,
                                                                                "registers cross.regs NONE")
    (project / "cross.regs").write_text(REGS + "frob\n")
    assert "cross.regs:6: " in declare(prefix, project, "registers cross.regs")
    assert declare(prefix, project, "stream s_axis_a m_axis_b") == ""
    rtl = project / "rtl/two_clocks.sv"
    text = rtl.read_text()
    assert text.count("if (!full_q && there_q[1]") == 1
    rtl.write_text(text.replace("if (!full_q && there_q[1]", "if (there_q[1]"))
    make(prefix, project, "build")
    done = subprocess.run(run + ["stall=80", "--fail-wave", "fail.fst"], cwd=project, capture_output=True, text=True,
                          timeout=120)
    assert done.returncode == 1 and "the payload changed before ready" in done.stdout + done.stderr
    assert (project / "fail.fst").is_file() and (project / "fail.gtkw").is_file()


RDL = """addrmap cross {
  reg { field { sw = r; hw = w; } WORDS[31:0] = 0; } COUNT @0x0;
  reg { field { sw = rw; hw = r; } VALUE[31:0] = 8; } LIMIT @0x4;
};
"""
IP_XACT = """<?xml version="1.0" encoding="UTF-8"?>
<ipxact:component xmlns:ipxact="http://www.accellera.org/XMLSchema/IPXACT/1685-2014">
  <ipxact:vendor>example</ipxact:vendor><ipxact:library>test</ipxact:library>
  <ipxact:name>cross</ipxact:name><ipxact:version>1</ipxact:version>
  <ipxact:memoryMaps><ipxact:memoryMap><ipxact:name>cross</ipxact:name>
    <ipxact:addressBlock><ipxact:name>regs</ipxact:name><ipxact:baseAddress>0</ipxact:baseAddress>
      <ipxact:range>8</ipxact:range><ipxact:width>32</ipxact:width>
      <ipxact:register><ipxact:name>COUNT</ipxact:name><ipxact:addressOffset>0</ipxact:addressOffset>
        <ipxact:size>32</ipxact:size><ipxact:field>
          <ipxact:name>WORDS</ipxact:name><ipxact:bitOffset>0</ipxact:bitOffset>
          <ipxact:resets><ipxact:reset><ipxact:value>0</ipxact:value></ipxact:reset></ipxact:resets>
          <ipxact:bitWidth>32</ipxact:bitWidth><ipxact:volatile>true</ipxact:volatile>
          <ipxact:access>read-only</ipxact:access></ipxact:field></ipxact:register>
      <ipxact:register><ipxact:name>LIMIT</ipxact:name><ipxact:addressOffset>4</ipxact:addressOffset>
        <ipxact:size>32</ipxact:size><ipxact:field>
          <ipxact:name>VALUE</ipxact:name><ipxact:bitOffset>0</ipxact:bitOffset>
          <ipxact:resets><ipxact:reset><ipxact:value>8</ipxact:value></ipxact:reset></ipxact:resets>
          <ipxact:bitWidth>32</ipxact:bitWidth>
          <ipxact:access>read-write</ipxact:access></ipxact:field></ipxact:register>
    </ipxact:addressBlock></ipxact:memoryMap></ipxact:memoryMaps>
</ipxact:component>
"""
# an interpreter with systemrdl-compiler and peakrdl-ipxact, which Debian does not have
RDL_PYTHON = os.environ.get("TANDEM_RDL_PYTHON", "/usr/bin/python3")


def has_rdl(python):
    return subprocess.run([python, "-c", "import systemrdl, peakrdl_ipxact"], capture_output=True).returncode == 0


@pytest.mark.skipif(has_rdl("/usr/bin/python3"), reason="not run: the libraries are there")
def test_rdl_without_its_library(prefix, tmp_path):
    tandem(prefix, "new", "cross", "--rtl", ROOT / "tests/install/two_clocks.sv", cwd=tmp_path)
    (tmp_path / "cross/cross.rdl").write_text(RDL)
    said = declare(prefix, tmp_path / "cross", "registers cross.rdl")
    assert "cross.rdl: needs the Python package systemrdl-compiler" in said and "Traceback" not in said


@pytest.mark.skipif(not has_rdl(RDL_PYTHON), reason="not run: needs systemrdl-compiler and peakrdl-ipxact in "
                    "the Python that TANDEM_RDL_PYTHON names")
def test_registers_of_rdl_and_ip_xact(prefix, tmp_path):
    """Reset values and registers that hold what is written, from either kind of description."""
    tandem(prefix, "new", "cross", "--rtl", ROOT / "tests/install/two_clocks.sv", cwd=tmp_path)
    project = tmp_path / "cross"
    run = [project / "build/base-debug/tandem", "--run-seed", "1", "--count", "5"]
    for name, text in (("cross.rdl", RDL), ("cross.xml", IP_XACT)):
        for old, new, words, found in (("= 8", "= 8", "*", None),
                                       ("= 8", "= 9", "*", "LIMIT after reset: got 0x8, expected")):
            good, bad = (old, new) if name.endswith("rdl") else (
                old.replace("= 8", "<ipxact:value>8<"), new.replace("= 9", "<ipxact:value>9<"))
            (project / name).write_text(text.replace(good, bad))
            assert declare(prefix, project, "registers %s %s" % (name, words), f"PYTHON={RDL_PYTHON}") == ""
            done = subprocess.run(run, cwd=project, capture_output=True, text=True, timeout=120)
            assert done.returncode == (found is not None) and (found or "PASS") in done.stdout, done.stdout
        (project / name).write_text(text[:-20])
        said = declare(prefix, project, "registers %s" % name, f"PYTHON={RDL_PYTHON}")
        assert name in said and "Traceback" not in said
    (project / "cross.rdl").write_text(RDL)
    assert "cross.rdl: there is no register NO, only COUNT, LIMIT" in declare(
        prefix, project, "registers cross.rdl NO", f"PYTHON={RDL_PYTHON}")


def test_slaves(prefix, tmp_path):
    """Two AXI4 slaves in vectors and capital letters: driven with bursts of every kind against a shadow memory; a lost
    strobe and a WRAP burst that does not wrap are found."""
    said = tandem(prefix, "new", "two", "--rtl", ROOT / "tests/install/two_memories.sv", cwd=tmp_path)
    assert "S_AXI_: 2 times axi4 slave, 32 bits, driven with random bursts against a shadow memory" in said
    project = tmp_path / "two"
    make(prefix, project, "build")
    program = project / "build/base-debug/tandem"
    run = [program, "--run-seed", "1", "--count", "20", "bursts=60", "wrap=1", "fixed=1", "writes=50", "window=600"]
    done = subprocess.run(run, cwd=project, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    rtl = project / "rtl/two_memories.sv"
    good = rtl.read_text()
    for old, new, found in (
            ("if (S_AXI_WSTRB[4*i+b])", "if (S_AXI_WSTRB[4*i+b] || b == 3)", r"beat \d+, address 0x\w+: got 0x"),
            ("if (burst == 2'd2) next", "if (burst == 2'd3) next", r"WRAP of \d+ x \d+ bytes at|address 0x")):
        assert good.count(old) == 1
        rtl.write_text(good.replace(old, new))
        make(prefix, project, "build")
        done = subprocess.run(run + ["narrow=1"], cwd=project, capture_output=True, text=True, timeout=120)
        assert done.returncode == 1 and re.search(found, done.stdout + done.stderr), done.stdout


def test_structs(prefix, tmp_path):
    """Ports that are packed structs and arrays of them, streams in vectors: bound by table; a strobe that is lost, data
    of the wrong lane are found, and the waveform's signals are those of the structs."""
    said = tandem(prefix, "new", "st", "--rtl", ROOT / "tests/install/struct_ports.sv", "--top", "struct_ports",
                  "--apart", "--through", "in=out", "--through", "vec_in1=vec_out1", cwd=tmp_path)
    for line in ("slv_req_i[1].,slv_rsp_o[1].: axi4 slave, 64 bits, driven", "apb_req_i.,apb_rsp_o.: APB slave, 32",
                 "in_req_i.,in_rsp_o.: axi4-stream into the design, 19 bits", "vec_in_: 2 times axi4-stream into",
                 "item_: valid/ready of the design, 14 bits of payload", "behind the slaves: one for each"):
        assert line in said, said
    project = tmp_path / "st"
    make(prefix, project, "build")
    program = project / "build/base-debug/tandem"
    run = [program, "--run-seed", "1", "--count", "10", "wrap=1", "fixed=1", "narrow=1"]
    done = subprocess.run(run + ["bursts=40", "traffic=random"], cwd=project, capture_output=True, text=True,
                          timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    rtl = project / "rtl/struct_ports.sv"
    text = rtl.read_text()
    bugs = (("req_i.w.strb[b])", "(req_i.w.strb[b] || b == 5))"),
            ("<= vec_in_tdata_i[8*i+:8]", "<= vec_in_tdata_i[0+:8]"))
    for old, new in bugs:
        assert text.count(old) == 1
        text = text.replace(old, new)
    rtl.write_text(text)
    make(prefix, project, "build")
    for found, knob in ((r"slv[01]: read \d+, .* got 0x", "traffic=none"), ("vec_out1: packet 1, byte 1", "writes=0")):
        done = subprocess.run(run + [knob, "--fail-wave", "fail.fst"], cwd=project, capture_output=True, text=True,
                              timeout=120)
        assert done.returncode == 1 and re.search(found, done.stdout + done.stderr), done.stdout + done.stderr
    text = (project / "fail.gtkw").read_text()
    assert "slv_req_i" in text and "out_rsp_i" in text and "vec_out_tdata_o" in text, text


GUESSES = """module guesses (
    input wire clk_s, input wire clk_m, input wire resetn,
    input wire psel, input wire penable, input wire [7:0] paddr, input wire pwrite, input wire [31:0] pwdata,
    output wire [31:0] prdata,
    output wire m_psel, output wire m_penable, output wire [5:0] m_paddr, output wire m_pwrite,
    output wire [31:0] m_pwdata, input wire [31:0] m_prdata, input wire m_pready,
    input wire [1:0] v_tvalid, output wire [1:0] v_tready, input wire [15:0] v_tdata,
    input wire [1:0] a_awvalid, output wire [1:0] a_awready, input wire [11:0] a_awaddr,
    input wire [1:0] a_wvalid, output wire [1:0] a_wready, input wire [63:0] a_wdata, input wire [7:0] a_wstrb,
    output wire [1:0] a_bvalid, input wire [1:0] a_bready, output wire [3:0] a_bresp,
    input wire [1:0] a_arvalid, output wire [1:0] a_arready, input wire [11:0] a_araddr,
    output wire [1:0] a_rvalid, input wire [1:0] a_rready, output wire [63:0] a_rdata, output wire [3:0] a_rresp,
    input wire [3:0] list [2], output wire interrupt
);
endmodule
"""


def test_guesses(prefix, tmp_path):
    """What other people's designs have: buses without a prefix, few address bits, clocks whose names share a word,
    vectors of ports, arrays of ports, words of C++ as names, folders of the same name."""
    (tmp_path / "guesses.sv").write_text(GUESSES)
    for name in ("one/include", "two/include"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / ("%s.svh" % name[:3])).write_text("// nothing\n")
    args = ["--rtl", "guesses.sv", "--include", "one/include", "--include", "two/include"]
    said = tandem(prefix, "new", "g", *args, cwd=tmp_path)
    for line in ("PSEL ..: APB slave, 32 bits", "m_: APB master, 32 bits", "v_: 2 times axi4-stream into the design, 8",
                 "a_: 2 times axi4-lite slave, 32 bits, driven with random accesses", "--registers a_",
                 "interrupt interrupt", "input list[0]: held at 0", "input list[1]: held at 0"):
        assert line in said, said
    bench = (tmp_path / "g/bench/bench.c").read_text()
    assert '{.name = "m", .prefix = "m_", .requester = true, .clock = 1}' in bench
    assert '.prefix = "a_", .shadow = true, .lite = true, .slice = 1, .slices = 2' in bench
    header = (tmp_path / "g/bench/bench.h").read_text()
    assert "#define MEM_SIZE 0x10000u" in header and "#define WINDOW 0x40u" in header
    assert (tmp_path / "g/rtl/include/include/one.svh").is_file() and (
        tmp_path / "g/rtl/include/include1/two.svh").is_file()
    make(prefix, tmp_path / "g", "help")  # the description is read
    said = tandem(prefix, "new", "h", *args, "--registers", "a_", cwd=tmp_path)
    assert "a_: 2 times axi4-lite slave, 32 bits, idle: registers have 32 or 64 bits and one port" in said


USES = """`include "uses.svh"
module part (input logic ck, input logic clear, input logic d, output logic q);
    always_ff @(posedge ck or posedge clear) if (clear) q <= 0; else q <= d;
endmodule
module uses (
    input logic tick, input logic por, input logic rst, input logic fast, input logic gate,
    input logic in_valid, output logic in_accept, input logic [7:0] in_data,
    output logic out_vld, input logic out_rdy, output logic [7:0] out_d, input logic uart_rx,
    input logic w_awvalid, input logic w_awready, input logic [`BITS-1:0] w_awaddr, input logic w_wvalid,
    input logic w_wready, input logic [31:0] w_wdata, input logic w_bvalid, input logic w_bready,
    input logic [1:0] w_bresp, input logic e_arvalid, output logic e_arready, output logic [31:0] e_rdata,
    output logic q, output logic r
);
    initial $display("module must be seen");
    wire por_n = !por;
    part u_part (.ck(tick), .clear(por_n), .d(gate), .q(q));
    always_ff @(posedge fast) if (!rst) r <= 0; else r <= !r;
    assign in_accept = out_rdy;
    assign out_vld = in_valid;
    assign out_d = in_data;
endmodule
"""


def test_uses(prefix, tmp_path):
    """What names do not say: clocks and resets by their use, through instances and inverters, a reset whose name is
    misleading; other words for valid and ready; a bus that is only watched, one without an address; files beside the
    sources; what the user says against it."""
    (tmp_path / "src").mkdir()
    (tmp_path / "src/uses.sv").write_text(USES)
    (tmp_path / "src/uses.svh").write_text("`define BITS 12\n")
    said = tandem(prefix, "new", "u", "--rtl", "src/uses.sv", tmp_path / "src/uses.sv", cwd=tmp_path)  # the same file
    for line in ("top module: uses (no other", "included files beside the sources: uses.svh",
                 "clock tick (by its use), reset por (by its use), active low by its use",
                 "clock fast (by its use), reset rst, active low by its use, although its name reads as the other",
                 "in_: valid/ready into the design, 8 bits", "out_: valid/ready of the design, 8 bits",
                 "w_: axi4-lite slave, 32 bits, idle: the design only watches it",
                 "e_: axi4-lite slave, 32 bits, idle: a signal or a direction is missing", "input gate: held at 0",
                 "input uart_rx: held at 1 (a line that is idle when high"):
        assert line in said, (line, said)
    assert '{.clk = "tick", .rst_n = "por", .period = 10' in (tmp_path / "u/bench/bench.c").read_text()
    assert (tmp_path / "u/rtl/uses.svh").is_file()
    said = tandem(prefix, "new", "bare", "--rtl", ROOT / "tests/install/stages.sv", "--top", "stage", "--through",
                  "in=out", cwd=tmp_path)  # names without a prefix
    assert "valid_i (in): valid/ready into the design, 8 bits" in said and "valid_o (out): valid/ready of the" in said
    assert '{.name = "out", .valid = "valid_o", .ready = "ready_i", .source = true' in (
        tmp_path / "bare/bench/bench.c").read_text()
    said = tandem(prefix, "new", "v", "--rtl", "src/uses.sv", "--link", "--clock", "fast=3", "--reset", "rst=high",
                  cwd=tmp_path)
    assert "reset rst, active high as --reset says" in said
    assert '{.clk = "fast", .rst = "rst", .period = 3' in (tmp_path / "v/bench/bench.c").read_text()
    make(prefix, tmp_path / "v", "help")
    for args, line in ((["--clock", "none"], "--clock none: there is no input of one bit with that name"),
                       (["--clock", "fast=x"], "--clock fast: got 'x' behind ="),
                       (["--reset", "rst=up"], "--reset rst: got 'up' behind =")):
        assert line in tandem(prefix, "new", "w", "--rtl", "src/uses.sv", *args, cwd=tmp_path, status=2)


def test_no_fields_in_waveforms(prefix, tmp_path):
    """Sources that Verilator refuses with --trace-structs (5.006: split_var in pulp's cc_lzc) build without."""
    picky = tmp_path / "picky"
    picky.write_text('#!/bin/sh\ncase "$*" in *--trace-structs*) echo "%Error: refused"; exit 1 ;; esac\n'
                     'exec verilator "$@"\n')
    picky.chmod(0o755)
    said = tandem(prefix, "new", "sp", "--rtl", ROOT / "tests/install/stages.sv", "--top", "stage", "--verilator",
                  picky, cwd=tmp_path)
    assert "waveforms without the fields of structs, which this Verilator refuses (Makefile)" in said
    make(prefix, tmp_path / "sp", f"VERILATOR={picky}", "build")
    makefile = tmp_path / "sp/Makefile"
    makefile.write_text(makefile.read_text().replace("VFLAGS_STRUCTS :=\n", ""))
    make(prefix, tmp_path / "sp", f"VERILATOR={picky}", "BUILD=other", "build", status=2)


ACCESSES = """    for (uint32_t a = 0x400; a < 0x800; a += 0x84) { /* select 1; bit 9: the requester behind it */
        uint32_t value = 0;
        if (driver_write(dev, a, ~a) != DRIVER_OK || driver_read(dev, a, &value) != DRIVER_OK || value != ~a) {
            tb_run_fail(&dev->run, "apb:behind", "0x%x: got 0x%x, expected 0x%x", a, value, ~a);
            return 0;
        }
    }
"""


def test_selects(prefix, tmp_path):
    """APB with PSEL of several bits: selects of one completer by address, requesters in vectors; data of the wrong part
    are found."""
    said = tandem(prefix, "new", "hub", "--rtl", ROOT / "tests/install/apb_hub.sv", cwd=tmp_path)
    assert "s_: APB slave, 32 bits, 2 selects" in said and "m_: 2 times APB master, 32 bits" in said
    project = tmp_path / "hub"
    test = project / "bench/test.c"
    place = "    for (unsigned i = 0; i < dev->run.streams; i++) {\n"
    assert test.read_text().count(place) == 1
    test.write_text(test.read_text().replace(place, ACCESSES + place))
    assert "PASS test=hub" in make(prefix, project, "run", "COUNT=5")
    rtl = project / "rtl/apb_hub.sv"
    assert rtl.read_text().count("m_prdata_i[32*which+:32]") == 1
    rtl.write_text(rtl.read_text().replace("m_prdata_i[32*which+:32]", "m_prdata_i[31:0]"))
    assert re.search(r"0x6\w\w: got 0x\w+, expected 0xffff", make(prefix, project, "run", "COUNT=5", status=2))


BROKEN = ("if (!full_q && there_q[1]", "if (there_q[1]")


@pytest.fixture(scope="module")
def failed(prefix, tmp_path_factory):
    """A project with a bug, and what its first regression said."""
    folder = tmp_path_factory.mktemp("failed")
    tandem(prefix, "new", "cross", "--rtl", ROOT / "tests/install/two_clocks.sv", cwd=folder)
    rtl = folder / "cross/rtl/two_clocks.sv"
    rtl.write_text(rtl.read_text().replace(*BROKEN))
    return folder / "cross", make(prefix, folder / "cross", "regress", "SUITE=default", status=2)


def test_failure_in_a_project(prefix, failed):
    """What a failure becomes: line, small case, report with picture, page of the run, waveform, database."""
    project, said = failed
    assert "the payload changed before ready" in said and "make repro CASE=" in said
    assert "small case: make repro CASE=" in said
    page = (project / "build/regress/1/report/index.html").read_text()
    assert "Timing around the failure" in page and "/bundle/timing.svg\" alt=" in page
    assert re.search(r"<summary>The small case</summary><pre>[^<]*\bbus=ideal\n", html.unescape(page))
    assert "divergence report" in page and "timing diagram" in page and "mesh" not in page and "figures" not in page
    assert "clean work tree" not in page  # there is no git tree
    said = make(prefix, project, "repro", "RUN=1", "REPORT=build/mine", status=2)
    assert "the payload changed before ready" in said
    for name in ("report.html", "report.txt", "wave.fst", "wave.gtkw", "timing.svg", "case.case"):
        assert (project / "build/mine" / name).stat().st_size > 0, name
    assert "mesh" not in (project / "build/mine/report.html").read_text()
    said = make(prefix, project, "shrink", "RUN=1", "OUTPUT=build/small.case")
    assert "fail in the same way" in said
    small = dict(line.split("=", 1) for line in (project / "build/small.case").read_text().splitlines())
    assert small["bus"] == "ideal"
    sent = int(small["transfers"])
    assert sum(int(small["skip"]) >> i & 1 == 0 for i in range(sent)) <= 3 and int(small["cycles"]) < 100
    said = make(prefix, project, "wave", "RUN=1")
    assert said.splitlines()[-1].startswith("gtkwave build/regress/1/")
    assert "the payload changed" in make(prefix, project, "run", "traffic=random", "stall=80", status=2)
    assert "AXI4STREAM_ERRM_TDATA_STABLE:m_axis_b" in make(prefix, project, "query", "ARGS=history cross")


def test_resumed_in_a_project(prefix, failed):
    """A run that stopped at its first failure goes on."""
    project, _ = failed
    make(prefix, project, "regress", "SUITE=default", "ARGS=--fail-fast", "JOBS=1", "EXPLAIN=0", status=2)
    assert "7 jobs" in make(prefix, project, "regress", "RESUME=1", "EXPLAIN=0", status=2)


def test_device_of_a_project(prefix, failed, tmp_path, monkeypatch):
    """Any described design from Python: registers through APB, packets of streams in two clocks, bursts into AXI
    slaves, counters; a failure is an exception."""
    monkeypatch.syspath_prepend(str(prefix / "share/tandem/python"))
    design = pytest.importorskip("tandem.design")
    assert Path(design.__file__).is_relative_to(prefix)
    tandem(prefix, "new", "cross", "--rtl", ROOT / "tests/install/two_clocks.sv", cwd=tmp_path)
    make(prefix, tmp_path / "cross", "build")
    with design.Device(tmp_path / "cross/build/base-debug/tandem", bus="hostile") as dev:
        assert dev.streams == {"s_axis_a": "in", "m_axis_b": "out"} and dev.buses == {"apb_b": "registers"}
        packets = [bytes(range(n, n + 2 * n)) for n in (1, 5, 3)]
        for p in packets:
            dev.send("s_axis_a", p)
        dev.step(2000)
        assert dev.take("m_axis_b") == packets and dev.take("-") == []
        dev.write("apb_b", 4, 0x12345678)
        assert dev.read("-", 4) == 0x12345678 and dev.read("apb_b", 0) == 9
        count = dev.counters()
        assert count["m_axis_b"]["transfers"] == 9 and count["m_axis_b"]["packets"] == 3
        assert count["apb_b"]["writes"] == 1 and count["apb_b"]["transfers"] == 3
        for call, said in ((lambda: dev.send("s_axis_a", b"odd"), "3 bytes are no whole beats of 2, and it has no"),
                           (lambda: dev.send("m_axis_b", b"xx"), "there is no such stream into the design"),
                           (lambda: dev.take("s_axis_a"), "there is no such stream out of the design"),
                           (lambda: dev.stall("none", 5), "there is no such stream or APB port"),
                           (lambda: dev.stall("m_axis_b", 100), "expected at most 99 percent"),
                           (lambda: dev.store("-", 0, b"x"), "there is no such AXI slave"),
                           (lambda: dev.write("apb_b", 4, 1, strobes=3), "has all strobes")):
            with pytest.raises(design.Error, match=said):
                call()
    with pytest.raises(design.Failure, match="AXI4STREAM_ERRM_TDATA_STABLE:m_axis_b"), design.Device(
            failed[0] / "build/base-debug/tandem", bus="hostile") as dev:
        dev.stall("m_axis_b", 80)
        for n in range(50):
            dev.send("s_axis_a", bytes([n, n]))
        dev.step(5000)
    tandem(prefix, "new", "two", "--rtl", ROOT / "tests/install/two_memories.sv", cwd=tmp_path)
    make(prefix, tmp_path / "two", "build")
    with design.Device(tmp_path / "two/build/base-debug/tandem", bus="slow") as dev:
        assert set(dev.buses.values()) == {"slave"}
        first, second = dev.buses
        data = bytes(range(256)) * 2
        dev.store(first, 0x13, data)
        assert dev.retrieve(second, 0x13, len(data)) == data and dev.retrieve(first, 0x15, 1) == data[2:3]


def declare(prefix, project, line, *more):
    """One line of scoreboards in the description; what the build says."""
    path = project / "designs" / project.name / "design"
    kept = [text for text in path.read_text().splitlines() if not text.startswith("board ")]
    path.write_text("\n".join(kept + ["board " + line]) + "\n")
    done = subprocess.run(["make", "-s", f"TANDEM={prefix}/bin/tandem", runtime(prefix), *more, "build"], cwd=project,
                          env=ENV, capture_output=True, text=True, timeout=900)
    return done.stderr if done.returncode else ""


def test_boards(prefix, tmp_path):
    """Scoreboards in the description: memory behind a way through; a line that cannot be is refused, where it
    stands."""
    tandem(prefix, "new", "thr", "--rtl", ROOT / "tests/install/through.sv", cwd=tmp_path)
    project = tmp_path / "thr"
    assert declare(prefix, project, "memory s_axi m_axi") == ""
    run = [project / "build/base-debug/tandem", "--run-seed", "1", "--count", "30"]
    assert subprocess.run(run, cwd=project, stdout=subprocess.DEVNULL, timeout=120).returncode == 0
    bench = project / "bench/bench.c"
    bench.write_text(bench.read_text().replace('{"flip_i", 0x0u}', '{"flip_i", 0x1u}'))
    assert declare(prefix, project, "memory s_axi m_axi") == ""
    done = subprocess.run(run, cwd=project, capture_output=True, text=True, timeout=120)
    found = r"memory behind m_axi, address 0x\w+: got 0x\w+, expected 0x\w+, which was written to s_axi"
    assert done.returncode == 1 and re.search(found, done.stdout), done.stdout + done.stderr
    for line, said in (("frob a b", "design:%d: board: expected one of stream, keyed, fifo, memory, fair, registers"),
                       ("fifo a b", "design:%d: board: fifo: expected 3 words behind it"),
                       ("fifo a b none", "design:%d: board: fifo: expected a number, got 'none'")):
        number = len([t for t in (project / "designs/thr/design").read_text().splitlines()])
        assert said % number in declare(prefix, project, line)
    for line, said in (("memory s_axi m", "board memory: there is no AXI master with the name m"),
                       ("memory m_axi m_axi", "there is no AXI slave with a shadow with the name m_axi"),
                       ("stream a b", "there is no stream into the design with the name a")):
        assert declare(prefix, project, line) == ""
        done = subprocess.run(run, cwd=project, capture_output=True, text=True, timeout=120)
        assert done.returncode == 2 and said in done.stderr, done.stderr


def test_arbiter(prefix, tmp_path):
    """Requesters that the bench plays, an APB port of the design in front of memory: an arbiter that forgets who was
    last starves somebody, one that grants nobody hangs, and the report says who waits since when."""
    said = tandem(prefix, "new", "arb", "--rtl", ROOT / "tests/install/arbiter.sv", cwd=tmp_path)
    assert "req_i, gnt_o: an arbiter of 4 requesters" in said and "PSEL ..: APB master, 32 bits" in said
    project = tmp_path / "arb"
    rtl = project / "rtl/arbiter.sv"
    good = rtl.read_text()
    run = ("run", "COUNT=5", "traffic=random", "transfers=50", "stall=40")
    assert "PASS test=arb" in make(prefix, project, *run)
    for old, new, found in (
            ("last_q  <= next;", "last_q  <= '0;",
             r"arbiter: requester \d waits since cycle \d+, and others were granted 4 times"),
            ("busy_q || req_i == '0 ?", "busy_q || req_i == '0 || data_q > 20 ?",
             r"root: arbiter has not granted requester \d, which waits since cycle \d+\n"
             r"who waits for whom:\n  the bench waits for the design: arbiter has not granted requester \d")):
        assert good.count(old) == 1
        text = good.replace(old, new)
        rtl.write_text(text.replace("if (req_i != '0) begin", "if (gnt_o != '0) begin"))
        said = make(prefix, project, *run, status=2)
        assert re.search(found, said), said


def test_hang_of_a_project(prefix, tmp_path):
    """A stage that takes nothing any more: who waits for whom, at the ports and between the units."""
    tandem(prefix, "new", "line", "--rtl", ROOT / "tests/install/stages.sv", "--top", "stages", cwd=tmp_path)
    project = tmp_path / "line"
    (project / "taps.list").write_text("stage\n")
    rtl = project / "rtl/stages.sv"
    text = rtl.read_text()
    assert text.count("= !full_q || ready_i;") == 1
    rtl.write_text(text.replace("= !full_q || ready_i;", "= !full_q && data_q != 8'h55;"))
    said = make(prefix, project, "run", "KIND=tap", "COUNT=40", "traffic=random", "transfers=50", status=2)
    assert "root: the design has not taken in since cycle " in said
    assert re.search(r"\n  in +valid since cycle \d+, the design is not ready; \d+ transfers, the last in", said), said
    assert "who waits for whom:\n  the bench waits for the design: the design has not taken in since cycle " in said
    assert "the design waits for nobody at its ports: it has stopped inside" in said
    assert "stages.u_first: does not accept valid_i, keeps offering valid_o\n" in said
    assert "stages.u_second: does not accept valid_i\n" in said
    assert "stages.u_second accepts nothing although no unit makes it wait" in said


def test_unit_check(prefix, tmp_path):
    """The check of a unit that is written with a project: what the unit offers is held, and (from) comes out as it went
    in; the unit and the instance are named. Verilog without types in the header is tapped, too."""
    folder = tmp_path / "a folder"  # with a blank in its name, as the file has
    folder.mkdir()
    shutil.copy(ROOT / "tests/install/stages.sv", folder / "my stages.sv")
    assert "make takes no blanks" in tandem(prefix, "new", "line", "--rtl", "my stages.sv", "--top", "stages", "--link",
                                            cwd=folder, status=2)
    said = tandem(prefix, "new", "line", "--rtl", "my stages.sv", "--top", "stages", cwd=folder)
    assert "unit stage: a check follows its handshakes" in said
    project = folder / "line"
    check, rtl = project / "bench/check.c", project / "rtl/my_stages.sv"
    assert check.read_text().count(".held = true") == 1
    check.write_text(check.read_text().replace(".held = true", ".held = true,\n     .from = 1"))
    good = rtl.read_text()
    run = ("run", "COUNT=10", "traffic=random", "transfers=50", "stall=60")
    strict = "CFLAGS=-O2 -Wall -Wextra -Wpedantic -Werror -Wconversion -Wshadow -Wmissing-prototypes"
    assert "PASS test=line" in make(prefix, project, *run, strict)  # whatever flags a user has
    for old, new, found in (
            ("end else if (ready_o) begin", "end else if (ready_o || valid_i && data_i == 8'h5a) begin",
             r"stage [01] \(stages.u_\w+\): valid_o, .*data_o, byte 0, cycle \d+: got 0x5a, expected 0x\w\w"),
            ("data_q <= data_i;", "data_q <= data_i | 8'h10;",
             r"stage 0 \(stages.u_first\S*\): valid_o, .*data_o, byte 0, cycle \d+: got 0x\w\w, expected 0x\w\w"),
            ("full_q <= valid_i;", "full_q <= valid_i && data_i[3:0] != 4'h3;",
             r"stage 0 \(stages.u_first\S*\): (valid_o|transfers left)")):
        assert good.count(old) == 1
        rtl.write_text(good.replace(old, new))
        said = make(prefix, project, *run, status=2)
        assert re.search(found, said), said
    # seen at a port of the design and by the check of a unit in the same cycle: the report says both
    assert good.count("assign data_o  = data_q;") == 1
    rtl.write_text(good.replace("assign data_o  = data_q;", "assign data_o  = data_q ^ {7'd0, !ready_i};"))
    said = make(prefix, project, "run", "COUNT=10", "traffic=random", "transfers=1", "stall=80", status=2)
    assert "out: the payload changed before ready" in said
    said = make(prefix, project, "repro", re.search(r"make repro (CASE=\S+)", said)[1], status=2)
    assert "checks of units failed, too (below)" in said and "stage 1: valid_o" in said, said


def parts_of_qualify(prefix, project, detected):
    """Some mutants, one again with a waveform, ordinary builds; the project's git would say that it has no files."""
    subprocess.run(["git", "init", "-q"], cwd=project, check=True)
    (project / ".git/info/exclude").write_text("*\n")
    kept = json.loads((project / "build/qualify/qualify.json").read_text())["mutants"]
    said = make(prefix, project, "qualify", "FROM=build/qualify", "QUALIFY_OUT=build/again", "MODULES=hold")
    assert f"{detected} were detected by the run of build/qualify" in said
    assert re.search(rf"^qualify: {len(kept)} mutants, .*?\b{detected} detected", said, re.M), said
    one = next(m["id"] for m in kept if m["verdict"] == "detected")
    said = make(prefix, project, "qualify", f"ONLY={one}", "JOB=hold", "QUALIFY_OUT=build/one")
    assert "qualify: 1 mutants, 1 detected" in said
    assert "no mutant in module fold" in make(prefix, project, "qualify", "MODULES=fold", status=2)
    said = make(prefix, project, "qualify-replay", f"MUTANT={one}", "QUALIFY_OUT=build/one")
    assert "qualify: exit status 1; waveform: " in said and (project / f"build/one/mutant-{one}.fst").stat().st_size
    assert "2 mutants built the ordinary way, 0 differ" in make(prefix, project, "qualify-builds", "COUNT=2")
    assert "qualify: build [2/2" in make(prefix, project, "qualify-builds", "COUNT=2", "RESUME=1")
    assert ", 0 differ" in make(prefix, project, "qualify-hashes")


@pytest.mark.skipif(os.environ.get("TANDEM_CHECK") is None, reason="not run: 30 seconds (make check)")
def test_coverage_of_a_project(prefix, tmp_path):
    """Functional coverage without a line of code, code coverage, closure, all mutants of the RTL; wires of Verilog."""
    (tmp_path / "hold.v").write_text(HOLD)
    tandem(prefix, "new", "hold", "--rtl", "hold.v", cwd=tmp_path)
    project = tmp_path / "hold"
    said = make(prefix, project, "coverage")
    assert re.search(r"functional +9\d\.|functional +100", said) and "line           100.00" in said
    for name in ("index.html", "functional/index.html", "code/index.html", "coverage.info", "cobertura.xml",
                 "small.suite"):
        assert (project / "build/coverage" / name).is_file(), name
    (project / "coverage/thresholds.txt").write_text("total 100\n")
    assert re.search(r"BELOW +total", make(prefix, project, "coverage", "REUSE=1", status=2))
    assert "no gates" in make(prefix, project, "coverage", "REUSE=1", "THRESHOLDS=none")
    assert "goal 98 %: reached" in make(prefix, project, "closure")
    said = make(prefix, project, "qualify")
    found = re.search(r"^qualify: \d+ mutants, .*?(\d+) detected", said, re.M)
    assert found and int(found[1]) > 3, said
    assert "Qualification of hold, base" in (project / "build/qualify/report.txt").read_text()
    assert (project / "build/qualify/html/index.html").is_file()
    assert "FAIL" in make(prefix, project, "qualify", "GATE=100", status=2)
    parts_of_qualify(prefix, project, int(found[1]))
    assert re.search(r"^qualify: 9 mutants, ", make(prefix, project, "qualify", "MUTANTS=9"), re.M)
    assert "1 of 1 mutants found" in make(prefix, project, "mutants")
    # what passed the ports, before and after a change: the first transfer that differs
    program = project / "build/base-debug/tandem"
    for name, old, new in (("before", "<= in_data;", "<= in_data;"), ("after", "<= in_data;", "<= in_data & 8'hfe;")):
        rtl = project / "rtl/hold.v"
        rtl.write_text(rtl.read_text().replace(old, new))
        make(prefix, project, "build")
        subprocess.run([program, "--seed", "3", "traffic=random", "transfers=20", "--dump", f"build/{name}"],
                       cwd=project, check=True)
    done = subprocess.run([program, "diff", "build/before/streams", "build/after/streams"], cwd=project,
                          capture_output=True, text=True)
    assert done.returncode == 1 and re.search(r"^out\b.*\bt \d+", done.stdout, re.M), done.stdout + done.stderr
    assert not re.search(r"^in\b.*wrong", done.stdout, re.M)


HOLD = """module hold (
    input wire clk, input wire rst,
    input wire [7:0] in_data, input wire in_valid, output wire in_ready,
    output wire [7:0] out_data, output wire out_valid, input wire out_ready
);
    reg [7:0] data = 0;
    reg full = 0;
    assign in_ready = !full || out_ready;
    assign out_valid = full;
    assign out_data = data;
    always @(posedge clk) begin
        if (in_valid && in_ready) data <= in_data;
        if (rst) full <= 0;
        else if (in_ready) full <= in_valid;
    end
endmodule
"""


@pytest.mark.skipif(os.environ.get("TANDEM_CHECK") is None, reason="not run: 40 seconds (make check)")
def test_tutorial(prefix, tmp_path):
    """The commands of docs/own-design.md, one after the other; what it shows of their output is there, in its order."""
    for name in ("two_clocks.sv", "axi_cdma.v"):
        shutil.copy(ROOT / "tests/install" / name, tmp_path)
    page = (ROOT / "docs/own-design.md").read_text()
    (tmp_path / "golden.patch").write_text(re.search(r"^```diff\n(.*?)^```", page, re.M | re.S)[1])
    page = re.sub(r"^```diff\n.*?^```", "", page, flags=re.M | re.S)
    env = dict(ENV, PATH="%s:%s" % (prefix / "bin", ENV["PATH"]), MAKEFLAGS="s")
    blocks = re.findall(r"(?:^    .*\n)+", page, re.M)
    lines = [line[4:] for block in blocks for line in block.splitlines()]
    assert sum(line.startswith("$ ") for line in lines) == 16
    said, at = "", 0
    for line in lines:
        if line.startswith("$ "):
            done = subprocess.run(["bash", "-c", line[2:]], cwd=tmp_path, env=env, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True, timeout=900)
            said, at = done.stdout, 0
            assert done.returncode == 0, (line, said)
        else:
            found = said.find(line.strip(), at)
            assert found >= 0, (line, said)
            at = found + len(line.strip())


@pytest.mark.skipif(shutil.which("slurmctld", path=os.environ["PATH"] + ":/usr/sbin") is None or
                    os.environ.get("TANDEM_CHECK") is None, reason="not run: needs slurm-wlm, and make check")
def test_project_on_a_cluster(prefix, tmp_path):
    """The same suite as job arrays; a project finds its programs and results there."""
    (tmp_path / "hold.v").write_text(HOLD)
    tandem(prefix, "new", "hold", "--rtl", "hold.v", cwd=tmp_path)
    script = ROOT / "scripts/slurm-test-cluster"
    started = subprocess.run([script, "start", tmp_path / "slurm"], capture_output=True, text=True, timeout=120)
    assert started.returncode == 0, started.stderr
    try:
        conf = started.stdout.split("SLURM_CONF=")[1].split()[0].strip("'\";")
        said = make(prefix, tmp_path / "hold", "regress", f"SLURM_CONF={conf}", "LAUNCHER=slurm",
                    "ARGS=--slurm-poll 1")
    finally:
        subprocess.run([script, "stop", tmp_path / "slurm"], timeout=120)
    assert "3 passed, 0 failed" in said
    with sqlite3.connect(tmp_path / "hold/build/results.db") as db:
        assert db.execute("SELECT launcher FROM run").fetchall() == [("slurm",)]


@pytest.mark.skipif(shutil.which("cmake") is None or os.environ.get("TANDEM_CHECK") is None,
                    reason="not run: needs cmake (make deps-dev), and make check")
def test_cmake(prefix, tmp_path):
    tandem(prefix, "new", "cross", "--rtl", ROOT / "tests/install/two_clocks.sv", cwd=tmp_path)
    project = tmp_path / "cross"
    (project / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.20)\nproject(cross C CXX)\nfind_package(tandem 0.1 REQUIRED)\n"
        "file(GLOB sources bench/*.c)\n"
        "tandem_program(sim TOP two_clocks RTL rtl/two_clocks.sv SOURCES ${sources} TRACE)\n"
        "target_compile_definitions(sim PRIVATE TANDEM_CFG_NAME=\"base\" TANDEM_KIND=\"debug\")\n")
    for command in (["cmake", "-S", ".", "-B", "out", f"-DCMAKE_PREFIX_PATH={prefix}"], ["cmake", "--build", "out"],
                    ["out/sim", "--count", "3", "traffic=random"]):
        done = subprocess.run(command, cwd=project, env=ENV, capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("args, said", [
    (["Big", "--rtl", "a.sv"], "expected a name of at most 23 small letters"),
    (["a", "--rtl", "none.sv"], "none.sv: No such file"),
    (["a", "--rtl", "none.sv", "--top", "none"], "none.sv: No such file"),
    (["a", "--rtl", "bad.sv"], "Verilator refuses the sources: %Error"),
    (["a", "--rtl", "two.sv"], "--top MODULE is missing: expected one of one, other"),
    (["a", "--rtl", "two.sv", "--top", "third"], "Verilator refuses the sources"),
    (["there", "--rtl", "two.sv"], "there exists: expected a new folder"),
    (["a", "--rtl", "two.sv", "--top", "one", "--param", "N"], "--param: expected NAME=VALUE, got 'N'"),
    (["a", "--rtl", "inout.sv"], "port pad is an inout"),
    (["a", "--rtl", "empty.sv"], "empty.sv: there is no module in it")])
def test_refused(prefix, tmp_path, args, said):
    (tmp_path / "bad.sv").write_text("module bad(input logic a; endmodule\n")
    (tmp_path / "two.sv").write_text("module one(input logic clk); endmodule\n"
                                    "module other(input logic clk); endmodule\n")
    (tmp_path / "inout.sv").write_text("module pads(inout wire pad, input logic clk); endmodule\n")
    (tmp_path / "empty.sv").write_text("// nothing\n")
    (tmp_path / "there").mkdir()
    assert said in tandem(prefix, "new", *args, cwd=tmp_path, status=2)
    assert not (tmp_path / "a").exists() and not list(tmp_path.glob("*.tmp*"))


def test_api_reference(prefix):
    """A page for each public header; every function of a header has its place, links lead somewhere."""
    folder = prefix / "share/doc/tandem/api"
    index = (folder / "index.html").read_text()
    pages = {p.name: p.read_text() for p in folder.glob("*.html")}
    assert len(pages) > 40 and "prog-tandem.html" in index and "coverage-bench-bench_cov.html" in index
    header = (prefix / "include/tandem/run/run.h").read_text()
    declared = set(re.findall(r"^(?:[a-z]\w*[ *]+)+(tb_\w+)\(", header, re.M))
    assert len(declared) > 30
    for name in declared:
        assert f'id="{name}"' in pages["run-run.html"], name
    assert "Reset the design, at first or in the middle of a run" in pages["run-run.html"]
    for name, text in pages.items():
        assert "private to" not in text.split("<h2>")[0], name
        for page, anchor in re.findall(r'href="([\w-]+\.html)(?:#(\w+))?"', text):
            assert page in pages and (not anchor or f'id="{anchor}"' in pages[page]), (name, page, anchor)
