"""An installation: headers that stand alone, tools without a design, and projects that `tandem new` writes around
designs: they build, pass, find a bug, and refuse what cannot be."""
import os
import re
import shutil
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


def make(prefix, project, *args, status=0):
    done = subprocess.run(["make", "-s", f"TANDEM={prefix}/bin/tandem", *args], cwd=project, env=ENV,
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
    assert "1 of 1 mutants found" in make(prefix, project, "qualify")


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
    assert '.from = "s_axis_a"' in bench.read_text()
    done = subprocess.run(run, cwd=project, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    again = subprocess.run(run, cwd=project, capture_output=True, text=True, timeout=120)
    assert re.sub(r"[0-9.]+ s\b", "", done.stdout) == re.sub(r"[0-9.]+ s\b", "", again.stdout)
    rtl = project / "rtl/two_clocks.sv"
    text = rtl.read_text()
    assert text.count("if (!full_q && there_q[1]") == 1
    rtl.write_text(text.replace("if (!full_q && there_q[1]", "if (there_q[1]"))
    make(prefix, project, "build")
    done = subprocess.run(run + ["stall=80", "--fail-wave", "fail.fst"], cwd=project, capture_output=True, text=True,
                          timeout=120)
    assert done.returncode == 1 and "the payload changed before ready" in done.stdout + done.stderr
    assert (project / "fail.fst").is_file() and (project / "fail.gtkw").is_file()


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
    (["a", "--rtl", "bad.sv"], "Verilator refuses the sources: %Error"),
    (["a", "--rtl", "two.sv"], "--top: which of one, other?"),
    (["a", "--rtl", "two.sv", "--top", "third"], "Verilator refuses the sources"),
    (["there", "--rtl", "two.sv"], "there exists: expected a new folder"),
    (["a", "--rtl", "two.sv", "--top", "one", "--param", "N"], "--param: expected NAME=VALUE, got 'N'"),
    (["a", "--rtl", "inout.sv"], "port pad is an inout"),
    (["a", "--rtl", "empty.sv"], "empty.sv: no module")])
def test_refused(prefix, tmp_path, args, said):
    (tmp_path / "bad.sv").write_text("module bad(input logic a; endmodule\n")
    (tmp_path / "two.sv").write_text("module one(input logic clk); endmodule\n"
                                    "module other(input logic clk); endmodule\n")
    (tmp_path / "inout.sv").write_text("module pads(inout wire pad, input logic clk); endmodule\n")
    (tmp_path / "empty.sv").write_text("// nothing\n")
    (tmp_path / "there").mkdir()
    assert said in tandem(prefix, "new", *args, cwd=tmp_path, status=2)
    assert not (tmp_path / "a").exists() and not list(tmp_path.glob("*.tmp*"))
