"""Descriptions of designs: what scripts/design.py refuses, and a design outside the tree."""
import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
BUILD = os.environ.get("BUILD", "build")
GOOD = "about a chip\ntop chip\nbuild w8-fast\ncfg w8 Width=8\n"
ENV = {k: v for k, v in os.environ.items()
       if k not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MAKEOVERRIDES", "SAN", "KIND", "CFG", "DUT", "HOST")}


def design(*args, folder=None):
    return subprocess.run([ROOT / "scripts/design.py", *args], cwd=ROOT,
                          env=dict(ENV, DESIGNS=str(folder or "")), capture_output=True, text=True)


def describe(folder, text, name="chip"):
    (folder / "designs" / name).mkdir(parents=True)
    (folder / "designs" / name / "design").write_text(text)
    return folder


def test_lists(tmp_path):
    assert design("list").stdout.split()[:2] == ["npu", "axi_copy"]
    assert (design("get", "npu", "cfg.n8").stdout == "N=8\n" and design("of", "d64").stdout == "axi_copy\n" and
            design("of", "n5").stdout == "")
    assert {"npu", "axi_copy"} <= set(design("words").stdout.split())
    describe(tmp_path, GOOD + "quick w8 # a comment\n")
    assert design("list", folder=tmp_path).stdout.split() == design("list").stdout.split() + ["chip"]
    made = design("make", folder=tmp_path).stdout
    assert (f"chip.root := {tmp_path}/\n" in made and f"chip.source := {tmp_path}/rtl/chip\n" in made and
            "chip.params.w8 := Width=8\n" in made)


def test_lines_of_rooms(tmp_path):
    folder = describe(tmp_path, GOOD)
    (folder / "rtl/chip/sub").mkdir(parents=True)
    (folder / "rtl/chip/chip.sv").write_text("module chip;\nendmodule\n")
    (folder / "rtl/chip/sub/part.sv").write_text("module part; endmodule\n")
    (folder / "testcases/chip/cases").mkdir(parents=True)
    (folder / "testcases/chip/cases/a.case").write_text("test=a\n")
    rows = design("lines", "chip", folder=folder).stdout.splitlines()
    assert rows[0] == "| room | chip |" and "| rtl | 3 |" in rows and "| designs | 4 |" in rows, rows
    assert "| testcases | 0 |" in rows
    done = design("lines", "clip", folder=folder)
    assert done.returncode == 2 and "clip: no such design" in done.stderr


@pytest.mark.parametrize("text, said", [
    (GOOD + "frob x\n", 'design:5: "frob" is unknown'),
    (GOOD + "top other\n", "design:5: top is given twice"),
    (GOOD + "cfg W=8\n", "design:5: cfg: expected a name"),
    (GOOD + "port clk_i\n", "design:5: port: expected a name or prefix and one of"),
    (GOOD + "source\n", "design:5: source: expected at least one word"),
    (GOOD + "quick w9\n", "quick: there is no configuration w9"),
    (GOOD + "default\n", 'exactly one description with the line "default"'),
    (GOOD.replace("top chip\n", ""), 'no line "top"'),
    (GOOD.replace("w8-fast", "w8-quick"), "build: expected CFG-KIND"),
])
def test_refused(tmp_path, text, said):
    done = design("list", folder=describe(tmp_path, text))
    assert done.returncode == 2 and said in done.stderr and len(done.stderr.splitlines()) == 1, done.stderr


@pytest.mark.parametrize("ports, said", [
    ("input logic clk_i, output logic [7:0] m_axi_awaddr_o, output logic m_axi_awvalid_o", []),
    ("input logic clk_i, output logic m_axi_awvalid_o, output logic done_o", ['no line "port" for done_o of chip']),
    ("input logic clk_i", ["port m_axi_: chip has no such port"]),
    ("input logic clk_i, input logic m_axi_awvalid_i", ["port m_axi_: it is not of kind axi4 master"]),
])
def test_ports(tmp_path, ports, said):
    describe(tmp_path, GOOD + "port clk_i clock\nport m_axi_ axi4 master\n")
    (tmp_path / "rtl/chip").mkdir(parents=True)
    (tmp_path / "rtl/chip/chip.sv").write_text(
        "// a chip (\nmodule chip #(\n  parameter int unsigned Width = 8  // bits\n) (\n  %s\n);\nendmodule\n" % ports)
    done = design("ports", folder=tmp_path)
    lines = done.stdout.splitlines()
    assert (done.returncode == (1 if said else 0) and len(lines) == len(said) and
            all(a in b for a, b in zip(said, lines))), done.stdout


def test_names(tmp_path):
    assert "two designs have this name" in design("list", folder=describe(tmp_path / "a", GOOD, "npu")).stderr
    assert "is not a valid name of a design" in design("list", folder=describe(tmp_path / "b", GOOD, "host")).stderr
    assert "there is no folder" in design("list", folder=tmp_path / "none").stderr
    done = subprocess.run(["make", "-s", "DUT=none", "help"], cwd=ROOT, env=ENV, capture_output=True, text=True)
    assert done.returncode == 2 and "DUT=none: expected one of npu axi_copy" in done.stderr


@pytest.mark.skipif(shutil.which("verilator") is None, reason="not run: needs verilator (make deps)")
def test_outside_the_tree(tmp_path):
    """The rooms of the copy engine under another name, in another folder: nothing in this tree names them."""
    for room in ("rtl", "cmodel", "drivers", "tb", "testcases", "coverage", "designs"):
        shutil.copytree(ROOT / room / "axi_copy", tmp_path / room / "outside", ignore=shutil.ignore_patterns("watch*"))
    (tmp_path / "regs").mkdir()
    shutil.copy(ROOT / "regs/axi_copy.regs", tmp_path / "regs/outside.regs")
    for path in [p for suffix in ("c", "h", "sv") for p in tmp_path.rglob("*." + suffix)]:
        text = path.read_text().replace("coverage/axi_copy/", "coverage/outside/").replace("AXI_COPY_", "OUTSIDE_")
        path.write_text(text.replace("axi_copy_regs.h",
                                     "outside_regs.h").replace("axi_copy_regs_pkg", "outside_regs_pkg"))
    program = f"{BUILD}/outside/d64-fast/tandem"
    try:
        done = subprocess.run(["make", "-s", "-j1", f"BUILD={BUILD}", f"DESIGNS={tmp_path}", "DUT=outside", "CFG=d64",
                               "KIND=fast", program], cwd=ROOT, env=ENV, capture_output=True, text=True, timeout=900)
        assert done.returncode == 0, done.stdout + done.stderr
        done = subprocess.run([ROOT / program, "test", "axi_copy", "--count", "20"],
                              capture_output=True, text=True, timeout=60)
        assert done.returncode == 0 and "cfg=d64 cases=20" in done.stdout, done.stdout + done.stderr
    finally:
        for folder in ("outside", "gen/outside"):
            shutil.rmtree(ROOT / BUILD / folder, ignore_errors=True)


def test_the_program_of_networks_compiles_with_every_design(tmp_path):
    """network/main plans networks of the default design, whose headers it finds whichever design it is linked with."""
    names = [n for n in design("list").stdout.split() if design("get", n, "program.tandem-net").stdout.strip()]
    assert {"npu", "sac", "sgemm"} <= set(names)
    for name in names[1:]:
        cfg = design("get", name, "build").stdout.split("-")[0]
        goal = tmp_path / name / f"{cfg}-fast/obj/network/main/schedule.o"
        done = subprocess.run(["make", "-s", f"BUILD={tmp_path}", f"DUT={name}", f"CFG={cfg}", "KIND=fast", goal],
                              cwd=ROOT, env=ENV, capture_output=True, text=True)
        assert done.returncode == 0 and goal.exists(), done.stdout + done.stderr
