"""The generators and checks of the build: register description, shim, unit benches, floors, repro."""

import json
import os
import pathlib
import re
import signal
import subprocess

import pytest

from regress_bench import wait_until

ROOT = pathlib.Path(__file__).resolve().parent.parent
GOOD = """space 512 "the thing"
reg A 0x000 ro "first"
  field X 3:0 exact 5 "four bits"
  enum 1 ONE "one"
  field Y 31:31 timed 1 "top bit"
reg B 0x1FC w1c "last"
  field Z 0:0 w1c 0 "flag"
"""


def gen_regs(tmp_path, text, *extra):
    source = tmp_path / "x.regs"
    source.write_text(text)
    return subprocess.run([str(ROOT / "scripts/gen_regs.py"), str(source), "--out", str(tmp_path),
                           "--doc", str(tmp_path / "x.md"), *extra], capture_output=True, text=True)


def test_generated_files(tmp_path):
    assert gen_regs(tmp_path, GOOD).returncode == 0
    header = (tmp_path / "x_regs.h").read_text()
    for line in ("#define X_REG_B 0x1FCu", "#define X_A_X_MASK 0x0000000Fu",
                 "#define X_A_X_ONE 1u", "#define X_A_Y_LSB 31u", "#define X_REG_A_RESET 0x80000005u"):
        assert line in header
    assert "X(A, 0x000u, X_ACCESS_RO, 0x0000000Fu, 0x80000000u, 0x00000000u, 0x80000005u)" in header
    package = (tmp_path / "x_regs_pkg.sv").read_text()
    assert "package x_regs_pkg;" in package and "localparam logic [8:0] X_REG_B_OFFSET = 9'h1FC;" in package
    assert ((tmp_path / "x.md").read_text().startswith("# Registers of the thing\n") and
            not (tmp_path / "x_tasks.h").exists())
    assert gen_regs(tmp_path, GOOD.replace("space 512", "space 1024")).returncode == 0
    assert "localparam logic [9:0] X_REG_B_OFFSET = 10'h1FC;" in (tmp_path / "x_regs_pkg.sv").read_text()
    assert gen_regs(tmp_path, GOOD).returncode == 0
    assert "| 3:0 | X | exact | 0x5 | four bits: 1 ONE (one) |" in (tmp_path / "x.md").read_text()


def test_header_compiles_freestanding(tmp_path):
    assert gen_regs(tmp_path, GOOD).returncode == 0
    (tmp_path / "t.c").write_text('#include "x_regs.h"\n#define ROW(n, o, a, e, t, w, r) {o, a, e, t, w, r},\n'
                                  "static const unsigned rows[][6] = {X_REGS_TABLE(ROW)};\nint f(void) { return "
                                  "(int)(sizeof rows / sizeof rows[0]); }\n")
    subprocess.run(["cc", "-std=c11", "-ffreestanding", "-Wall", "-Wextra", "-Werror", "-Wconversion", "-c", "t.c",
                    "-o", "t.o"], cwd=tmp_path, check=True)


def test_check_finds_stale_files(tmp_path):
    assert gen_regs(tmp_path, GOOD).returncode == 0
    assert gen_regs(tmp_path, GOOD, "--check").returncode == 0
    stale = gen_regs(tmp_path, GOOD.replace("exact 5", "exact 6"), "--check")
    assert stale.returncode == 1 and len(stale.stderr.splitlines()) == 3
    (tmp_path / "x.md").unlink()
    assert gen_regs(tmp_path, GOOD, "--check").returncode == 1


def test_unchanged_files_keep_their_time(tmp_path):
    """Nothing is built again for a description that changes only what a file does not show."""
    assert gen_regs(tmp_path, GOOD).returncode == 0
    for path in tmp_path.glob("x_*"):
        os.utime(path, (1, 1))
    assert gen_regs(tmp_path, "# a comment\n" + GOOD).returncode == 0
    assert {p.stat().st_mtime for p in tmp_path.glob("x_*")} == {1}
    assert gen_regs(tmp_path, GOOD.replace("enum 1", "enum 2")).returncode == 0
    assert all(p.stat().st_mtime > 1 for p in tmp_path.glob("x_*"))


def test_traits(tmp_path):
    text = GOOD.replace('  enum 1 ONE "one"\n',
                        '  enum 0 NIL "nothing"\n  enum 1 ONE odd "one"\n  enum 2 TWO even small "two"\n')
    assert gen_regs(tmp_path, text).returncode == 0
    header = (tmp_path / "x_regs.h").read_text()
    for line in ("#define X_A_X_COUNT 3u", "    X(TWO, 2u)\n", "#define X_A_X_WITH_ODD 0x2u",
                 "#define X_A_X_WITH_SMALL 0x4u", "#define X_A_X_NOT_ODD_COUNT 2u",
                 '#define X_A_X_NOT_ODD_NAMES { "nil", "two" }', "#define X_A_X_NOT_ODD_VALUES { 0u, 2u }"):
        assert line in header, line
    done = gen_regs(tmp_path, text.replace("ONE odd", "ONE Odd"))
    assert done.returncode == 2 and "traits in small letters" in done.stderr


@pytest.mark.parametrize("old, new, line, text", [
    ("3:0 exact 5", "31:0 exact 5", 5, "overlaps"),
    ("exact 5", "exakt 5", 3, "unknown class"),
    ("0x1FC", "0x000", 6, "already that of A"),
    ("0x1FC", "0x200", 6, "outside"),
    ('space 512 "the thing"', "", 2, "before the first register: space"),
    ("space 512", "space 500", 1, "power of two"),
    ('reg B', 'space 8 "again"\nreg B', 6, "expected once: space"),
    ("0x1FC", "0x1FE", 6, "multiple of 4"),
    ("reg B", "reg A", 6, "twice"),
    ("field Y", "field X", 5, "twice"),
    ("exact 5", "exact 16", 3, "does not fit"),
    ("exact 5", "exact five", 3, "not a number"),
    ("enum 1", "enum 16", 4, "does not fit"),
    ("31:31", "32:31", 5, "31 >= HI"),
    ("3:0", "0:3", 3, "31 >= HI"),
    ("3:0", "3", 3, "HI:LO"),
    ("w1c 0", "exact 0", 7, "w1c"),
    (" w1c \"last", " rx \"last", 6, "unknown access"),
    ("reg A 0x000 ro", "reg A 0x000", 2, "expected: reg"),
    ("field X", "fld X", 3, "expected reg, field or enum"),
    ('"four bits"', '"four bits', 3, "quotes"),
    (' "four bits"', "", 3, "quoted text"),
    ("field X", "field x", 3, "capital"),
    ('reg A 0x000 ro "first"\n', "", 2, "before the first reg"),
    ('  field Z 0:0 w1c 0 "flag"\n', "", 6, "no field"),
])
def test_bad_descriptions(tmp_path, old, new, line, text):
    assert old in GOOD
    done = gen_regs(tmp_path, GOOD.replace(old, new, 1))
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1 and re.search(r"x\.regs:%d: " % line, done.stderr) and text in done.stderr
    assert not (tmp_path / "x_regs.h").exists()


TASKS = """space 512 "the thing"
reg A 0x010 rw "first"
  field X 3:0 exact 0 "four bits"
  field E 4:4 exact 0 "a bit"
  field K 6:5 exact 0 "kind"
  enum 2 ONE "one"
reg B 0x014 rw "second"
  field V 31:0 exact 0 "value"
constants My A.K "kinds"
task run "a task"
  member inv = !A.E "inverted"
  member one = A.K == ONE
  member far = A.E ? B.V : A.X
  member near = A.E ? A.X : 3
  member top = A.X in 1 .. most
  member v[0] = B.V
  member v[1] = B.V
"""


def test_tasks(tmp_path):
    done = gen_regs(tmp_path, TASKS)
    assert done.returncode == 0, done.stderr
    sv = (tmp_path / "x_tasks.svh").read_text()
    for line in ("MyOne = 2'd2;", "TaskRegsOffset = 9'h010;", "TaskRegsW = 64;", "RunTaskW = 106;",
                 "function automatic run_task_t run_task(input logic [TaskRegsW-1:0] regs, input logic [3:0] most);",
                 "      !regs[4],  // inv\n", "      (regs[6:5] == 2'd2),  // one\n",
                 "      (regs[4] ? regs[63:32] : 32'(regs[3:0])),  // far\n",
                 "      (regs[4] ? regs[3:0] : 4'd3),  // near\n",
                 "      (regs[3:0] < 4'd1 ? 4'd1 : regs[3:0] > most ? most : regs[3:0]),  // top\n",
                 "      regs[63:32]  // v1\n    };"):
        assert line in sv, line
    (tmp_path /
     "t.c").write_text('#include "x_tasks.h"\n#define ROW(n, e, l, w, r, f, o) {l, w},\n#define FLIP(r, m) m |\n'
                       "_Static_assert(sizeof((cm_run_task *)0)->v == 8, \"v\");\n"
                       "_Static_assert((CM_RUN_TASK_FLIPS(FLIP) 0) == 0x10, \"E is inverted, and the condition\");\n"
                       "const unsigned rows[][2] = {CM_RUN_TASK_TABLE(ROW)};\n"
                       "int at[CM_RUN_TASK_TOP_LSB - CM_RUN_TASK_V0_LSB == 32 ? 1 : -1];\n")
    subprocess.run(["cc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-c", "t.c", "-o", "t.o"],
                   cwd=tmp_path, check=True)


@pytest.mark.parametrize("old, new, line, text", [
    ("= !A.E", "= !A.X", 11, "one bit"),
    ("= !A.E", "= A.Q", 11, "no field A.Q"),
    ("== ONE", "== TWO", 12, "not 0"),
    ("A.E ? B.V : A.X", "A.E ? A.X : B.V", 13, "not wider"),
    ("A.E ? B.V : A.X", "A.E + B.V", 13, "not understood"),
    ("member one", "member inv", 12, "twice"),
    ('task run "a task"', "", 11, "before the first task"),
    ("task run", "task Run", 10, "expected: task"),
    ("My A.K", "My A.Z", 9, "no field A.Z"),
])
def test_bad_tasks(tmp_path, old, new, line, text):
    done = gen_regs(tmp_path, TASKS.replace(old, new, 1))
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1 and "x.regs:%d: " % line in done.stderr and text in done.stderr


def test_missing_description(tmp_path):
    done = subprocess.run([str(ROOT / "scripts/gen_regs.py"), str(tmp_path / "none")], capture_output=True, text=True)
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1


def test_full_disk_leaves_no_file(tmp_path):
    source = tmp_path / "x.regs"
    source.write_text(GOOD)
    done = subprocess.run(["bash", "-c", 'ulimit -f 0; trap "" XFSZ; exec "$@"', "-", str(ROOT / "scripts/gen_regs.py"),
                           str(source), "--out", str(tmp_path)], capture_output=True, text=True)
    assert done.returncode != 0 and len(done.stderr.splitlines()) == 1
    assert sorted(p.name for p in tmp_path.iterdir()) == ["x.regs"]


def test_shim_ports(tmp_path):
    header = tmp_path / "Vt.h"
    header.write_text("    VL_IN8(&clk_i,0,0);\n    VL_OUT16(&a__05Fb,10,0);\n    VL_IN(&w,31,0);\n"
                      "    VL_OUT64(&q,40,1);\n    VL_INW(&v,127,0,4);\n")
    subprocess.run([str(ROOT / "scripts/gen_shim.py"), "--top", "t", "--header", str(header),
                    "--output", str(tmp_path / "s.cpp")], check=True)
    text = (tmp_path / "s.cpp").read_text()
    for row in ('{"clk_i", 1, true, &top->clk_i}', '{"a_b", 11, false, &top->a__05Fb}',
                '{"w", 32, true, &top->w}', '{"q", 40, false, &top->q}', '{"v", 128, true, top->v.data()}'):
        assert row in text
    header.write_text("nothing\n")
    done = subprocess.run([str(ROOT / "scripts/gen_shim.py"), "--top", "t",
                           "--header", str(header), "--output", str(tmp_path / "e.cpp")], capture_output=True)
    assert done.returncode != 0 and not (tmp_path / "e.cpp").exists()


NEWER = """#!/bin/sh
# a Verilator that has its tree in JSON only
case "$1" in
--xml-only) echo "%Error: Invalid option: --xml-only"; exit 1 ;;
--json-only) cp tree.json "$5" ;;
esac
"""
TREE = {"type": "NETLIST", "modulesp": [{"type": "MODULE", "name": "t", "level": 1, "stmtsp": [
    {"type": "VAR", "name": "a", "isPrimaryIO": True, "direction": "INPUT", "dtypep": "(A)"},
    {"type": "VAR", "name": "s", "isPrimaryIO": True, "direction": "OUTPUT", "dtypep": "(S)"}]}],
    "miscsp": [{"type": "TYPETABLE", "typesp": [
        {"type": "UNPACKARRAYDTYPE", "addr": "(A)", "declRange": "[0:1]", "refDTypep": "(U)"},
        {"type": "UNPACKARRAYDTYPE", "addr": "(U)", "declRange": "[2:0]", "refDTypep": "(W)"},
        {"type": "BASICDTYPE", "addr": "(W)", "range": "69:0"}, {"type": "BASICDTYPE", "addr": "(B)"},
        {"type": "REFDTYPE", "addr": "(S)", "refDTypep": "(P)"},
        {"type": "PACKARRAYDTYPE", "addr": "(P)", "declRange": "[0:1]", "refDTypep": "(R)"},
        {"type": "STRUCTDTYPE", "addr": "(R)", "membersp": [
            {"type": "MEMBERDTYPE", "name": "x", "addr": "(X)", "refDTypep": "(E)"},
            {"type": "MEMBERDTYPE", "name": "y", "addr": "(Y)", "refDTypep": "(B)"}]},
        {"type": "ENUMDTYPE", "addr": "(E)", "refDTypep": "(N)"}, 
        {"type": "BASICDTYPE", "addr": "(N)", "range": "0:2"}]}]}


def test_shim_of_newer_versions(tmp_path):
    """Headers without directions of arrays, fields of structs from a tree in JSON."""
    (tmp_path / "Vt.h").write_text("    VL_OUT8(&s,7,0);\n    VlUnpacked<VlUnpacked<VlWide<3>/*69:0*/, 3>, 2> &a;\n")
    (tmp_path / "tree.json").write_text(json.dumps(TREE))
    (tmp_path / "newer").write_text(NEWER)
    (tmp_path / "newer").chmod(0o755)
    command = [str(ROOT / "scripts/gen_shim.py"), "--top", "t", "--header", "Vt.h", "--output", "s.cpp"]
    subprocess.run(command + ["--read", "./newer"], cwd=tmp_path, check=True)
    text = (tmp_path / "s.cpp").read_text()
    assert '"a[1][2]", 70, true, top->a[1][2].data()' in text and text.count('"a[') == 6
    assert '{"s[0].x", 0, 1, 3}' in text and '{"s[1].y", 0, 4, 1}' in text
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 1 and "port a is an array, whose direction is not known" in done.stderr


def test_unit_benches(tmp_path):
    (tmp_path / "rtl").mkdir()
    (tmp_path / "rtl/npu_fifo.sv").write_text("module npu_fifo #(parameter int unsigned Width = 1) (); endmodule\n")
    (tmp_path / "rtl/mesh.sv").write_text("module mesh #(parameter int unsigned N = 4) (); endmodule\n")
    (tmp_path / "unit_fifo.c").write_text("/* a bench */\n")
    (tmp_path / "unit_m.c").write_text("/* dut: mesh params: -GX=1 -GY=2 */\n")
    (tmp_path / "unit_gone.c").write_text("/* dut: gone */\n")
    files = [str(tmp_path / name) for name in ("unit_fifo.c", "unit_m.c", "unit_gone.c")]
    done = subprocess.run([str(ROOT / "scripts/unit_duts.py"), "--prefix", "npu_", "--param", "N",
                           "--rtl", str(tmp_path / "rtl"), *files], capture_output=True, text=True, check=True)
    assert "UNIT_DUT_fifo := npu_fifo\nUNIT_PARAMS_fifo := \n" in done.stdout
    assert "UNIT_DUT_m := mesh\nUNIT_PARAMS_m := -GN=$(PARAM_N) -GX=1 -GY=2\n" in done.stdout
    assert "UNITS := fifo m\n" in done.stdout and "gone" in done.stderr


def test_floors(tmp_path):
    for folder in ("cmodel/npu", "drivers/npu", "drivers/axi_copy", "tb/npu"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "cmodel/npu/cmodel.h").write_text("")
    (tmp_path / "drivers/npu/npu.h").write_text("#include <stdint.h>\n")
    (tmp_path / "drivers/axi_copy/copy.h").write_text("")

    def run():
        return subprocess.run([str(ROOT / "scripts/floors.py")], cwd=tmp_path,
                              env=dict(os.environ, BUILD="build"), capture_output=True, text=True)

    assert run().returncode == 0
    (tmp_path / "build/gen/npu").mkdir(parents=True)
    for name in ("npu_regs.h", "npu_tasks.h"):
        (tmp_path / "build/gen/npu" / name).write_text("")
    (tmp_path / "drivers/npu/b.c").write_text('#include "npu_regs.h"\n')
    (tmp_path / "cmodel/npu/b.c").write_text('#include "npu_regs.h"\n#include "npu_tasks.h"\n')
    assert run().returncode == 0
    for path, text in (("drivers/npu/a.c", "#include <string.h>\n"), ("drivers/npu/a.c", '#include "npu_tasks.h"\n'),
                       ("drivers/axi_copy/a.c", '#include "npu_regs.h"\n'),
                       ("drivers/npu/a.c", '#include "cmodel/npu/cmodel.h"\n'),
                       ("cmodel/npu/a.c", '#include "npu.h"\n'),
                       ("drivers/npu/a.c", '#include "drivers/axi_copy/copy.h"\n'),
                       ("tb/npu/a.c", '#include "drivers/npu/npu.h"\n'),
                       ("tb/a.c", '#include "cmodel.h"\n'), ("tb/a.c", '#include "nowhere.h"\n')):
        (tmp_path / path).write_text(text)
        done = run()
        assert done.returncode == 1 and path in done.stdout, text
        (tmp_path / path).unlink()


@pytest.mark.parametrize("text", [None, "seed=0x1\n", "test=conv\n", "test=conv\ncfg=n5\n", "test=../x\ncfg=n4\n"])
def test_repro_refuses(tmp_path, text):
    case = tmp_path / "a.case"
    if text is not None:
        case.write_text(text)
    done = subprocess.run([str(ROOT / "scripts/repro.sh")], cwd=ROOT, capture_output=True, text=True,
                          env={"PATH": "/usr/bin:/bin", "CASE": str(case),
                               "BUILD": str(tmp_path), "KIND": "fast", "CFG": "n8"})
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1


TAP_HEADER = """class alignas(8) Vt___024root final {
    VL_IN8(clk_i,0,0);
    VL_OUTW(data_o,127,0,4);
    CData/*0:0*/ t__DOT__u_a__DOT__v_q;
    QData/*63:0*/ t__DOT__pair_q;
    VlWide<4>/*127:0*/ t__DOT__wide_q;
    CData/*0:0*/ t__DOT__u_a__DOT__u_tap_a__DOT__v_i;
    CData/*0:0*/ t__DOT__u_a__DOT__u_tap_a__DOT__clk_i;
    CData/*0:0*/ t__DOT__u_a__DOT__u_tap_a__DOT__inverse;
    CData/*0:0*/ t__DOT__u_a__DOT__u_tap_a__DOT__twice;
    IData/*31:0*/ t__DOT__u_a__DOT__u_tap_a__DOT__high;
    IData/*31:0*/ t__DOT__u_a__DOT__u_tap_a__DOT__select;
    VlWide<2>/*63:0*/ t__DOT__u_a__DOT__u_tap_a__DOT__middle;
    VlWide<2>/*63:0*/ t__DOT__u_a__DOT__u_tap_a__DOT__torn;
};
"""
TAP_CODE = """void f(Vt___024root* vlSelf) {
    vlSelf->t__DOT__u_a__DOT__u_tap_a__DOT__v_i
        = vlSelf->t__DOT__u_a__DOT__v_q;
    vlSelf->t__DOT__u_a__DOT__u_tap_a__DOT__clk_i = vlSelf->clk_i;
    vlSelf->t__DOT__u_a__DOT__u_tap_a__DOT__inverse = (1U & (~ (IData)(vlSelf->t__DOT__u_a__DOT__v_q)));
    vlSelf->t__DOT__u_a__DOT__u_tap_a__DOT__twice = vlSelf->t__DOT__u_a__DOT__v_q;
    vlSelf->t__DOT__u_a__DOT__u_tap_a__DOT__twice = vlSelf->clk_i;
    vlSelf->t__DOT__u_a__DOT__u_tap_a__DOT__high = (IData)((vlSelf->t__DOT__pair_q >> 0x20U));
    vlSelf->t__DOT__u_a__DOT__u_tap_a__DOT__select = (((0U == 0U) ? 0U : (vlSelf->t__DOT__wide_q[3U] << 2U))
        | (vlSelf->t__DOT__wide_q[2U] >> 0U));
    vlSelf->t__DOT__u_a__DOT__u_tap_a__DOT__middle[0U] = vlSelf->t__DOT__wide_q[1U];
    vlSelf->t__DOT__u_a__DOT__u_tap_a__DOT__middle[1U] = vlSelf->t__DOT__wide_q[2U];
    vlSelf->t__DOT__u_a__DOT__u_tap_a__DOT__torn[0U] = vlSelf->t__DOT__wide_q[1U];
    vlSelf->t__DOT__u_a__DOT__u_tap_a__DOT__torn[1U] = vlSelf->t__DOT__wide_q[3U];
}
void reset(Vt___024root* vlSelf) {
    vlSelf->t__DOT__u_a__DOT__u_tap_a__DOT__v_i = VL_RAND_RESET_I(1);
    VL_RAND_RESET_W(64, vlSelf->t__DOT__u_a__DOT__u_tap_a__DOT__middle);
}
"""
TAP_TABLE = """void table() {
    insert("v_i", &(TOP.t__DOT__u_a__DOT__u_tap_a__DOT__v_i));
    insert("high", &(TOP.t__DOT__u_a__DOT__u_tap_a__DOT__high));
    insert("torn", &(TOP.t__DOT__u_a__DOT__u_tap_a__DOT__torn));
}
"""


def tap_alias(tmp_path, code, header=TAP_HEADER, names=None):
    (tmp_path / "Vt___024root.h").write_text(header)
    (tmp_path / "Vt.cpp").write_text(code)
    (tmp_path / "Vt__Syms.cpp").write_text(TAP_TABLE)
    command = ["/usr/bin/python3", str(ROOT / "scripts/tap_alias.py"), str(tmp_path), "t"]
    if names is not None:
        (tmp_path / "names").write_text("".join(f"{n}\n" for n in names))
        command.append(str(tmp_path / "names"))
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    return ((tmp_path / "Vt.cpp").read_text() + (tmp_path / "Vt__Syms.cpp").read_text(),
            (tmp_path / "Vt___024root.h").read_text())


def test_tap_alias(tmp_path):
    """Copies share their source; expressions, signals with two sources and words that are not neighbours stay."""
    code, header = tap_alias(tmp_path, TAP_CODE)
    tap = "t__DOT__u_a__DOT__u_tap_a__DOT__"
    for name in ("v_i", "clk_i", "high", "select", "middle"):
        assert f"{tap}{name};" not in header and f"{tap}{name}" not in code
    for name in ("inverse", "twice", "torn"):
        assert f"{tap}{name};" in header
    assert code.count(f"{tap}inverse =") == 1 and code.count(f"{tap}twice =") == 2 and code.count(f"{tap}torn[") == 2
    assert "RAND_RESET" not in code
    assert 'insert("v_i", &(TOP.t__DOT__u_a__DOT__v_q));' in code
    assert 'insert("high", &((*reinterpret_cast<IData*>(reinterpret_cast<IData*>(&TOP.t__DOT__pair_q) + 1))));' in code
    assert f'insert("torn", &(TOP.{tap}torn));' in code


def test_tap_alias_puts_signals_side_by_side(tmp_path):
    """What has the given names, in their order: a source, a signal of a tap, and ports; bytes first, wide ones stay."""
    begin = "class alignas(8) Vt___024root final {\n"
    state = begin + "    // DESIGN SPECIFIC STATE\n    VL_OUT(count_o,31,0);\n"
    names = ["count_o", "high", "a.inverse", "clk_i", "b.v_i", "v_i", "middle", "none"]
    code, header = tap_alias(tmp_path, TAP_CODE, TAP_HEADER.replace(begin, state), names)
    _, plain = tap_alias(tmp_path, TAP_CODE, TAP_HEADER.replace(begin, state))
    lines = ["    // DESIGN SPECIFIC STATE", "    CData/*0:0*/ t__DOT__u_a__DOT__u_tap_a__DOT__inverse;",
             "    VL_IN8(clk_i,0,0);", "    CData/*0:0*/ t__DOT__u_a__DOT__v_q;", "    VL_OUT(count_o,31,0);"]
    assert header.startswith(begin + "\n".join(lines) + "\n")
    assert sorted(header.splitlines()) == sorted(plain.splitlines())
    strange = begin + "    VL_OUT(count_o,31,0);\n"  # of a Verilator that begins differently
    _, other = tap_alias(tmp_path, TAP_CODE, TAP_HEADER.replace(begin, strange), names)
    assert other == plain.replace(state, strange)


def test_tap_alias_order_of_instances(tmp_path):
    """Signals of one name are in the order of their instances, whatever their order in the model: checks compare the
    clock gates of a run together (tb/npu/score/clk_gate.c)."""
    header = "class V final {\n    // DESIGN SPECIFIC STATE\n" + "".join(
        f"    CData/*0:0*/ t__DOT__{i}__DOT__u_tap_g__DOT__{n};\n" for i, n in
        (("u_c", "e"), ("u_a", "d"), ("u_10", "d"), ("u_b", "e"), ("u_2", "d"), ("u_a", "e"), ("u_c", "d"))) + "};\n"
    _, header = tap_alias(tmp_path, "", header, ["g.e", "d"])
    assert re.findall(r"u_(\w+)__DOT__u_tap_g__DOT__(\w);", header) == [
        ("a", "e"), ("b", "e"), ("c", "e"), ("2", "d"), ("10", "d"), ("a", "d"), ("c", "d")]


def test_tap_alias_order_of_clocks(tmp_path):
    """Clocks and resets are in the order of their last values, behind the signals of one byte, also the reset that is
    one of those."""
    last = ("t__DOT__a_clk", "rst_ni", "t__DOT__b_clk")
    header = ("class V final {\n    // DESIGN SPECIFIC STATE\n    VL_IN8(rst_ni,0,0);\n    "
              "CData/*0:0*/ t__DOT__b_clk;\n    "
              "SData/*9:0*/ t__DOT__wide;\n    CData/*0:0*/ t__DOT__u_a__DOT__u_tap_g__DOT__d;\n    "
              "CData/*0:0*/ t__DOT__a_clk;\n" + "".join(f"    CData/*0:0*/ __Vtrigrprev__TOP__{n};\n" for n in last) +
              "};\n")
    _, header = tap_alias(tmp_path, "", header, ["rst_ni", "d"])
    assert re.findall(r"(\w+)[,;]", header)[:4] == ["t__DOT__u_a__DOT__u_tap_g__DOT__d", "t__DOT__a_clk", "rst_ni",
                                                    "0"]
    assert header.index("VL_IN8(rst_ni") < header.index("t__DOT__b_clk;") < header.index("t__DOT__wide;")


def test_tap_alias_that_the_design_reads(tmp_path):
    """Within an evaluation a copy may be older than its source; then the design would see the wrong one."""
    reader = (TAP_CODE + "void g(Vt___024root* vlSelf) { vlSelf->t__DOT__u_a__DOT__v_q = (1U ^ "
              "vlSelf->t__DOT__u_a__DOT__u_tap_a__DOT__clk_i); }\n")
    code, header = tap_alias(tmp_path, reader)
    assert header.count("u_tap_a__DOT__") == 4
    assert "t__DOT__u_a__DOT__u_tap_a__DOT__clk_i = vlSelf->clk_i;" in code and "u_tap_a__DOT__clk_i;" in header


def test_tap_alias_leaves_what_it_does_not_know(tmp_path):
    strange = TAP_CODE + "void g(Vt___024root& other) { use(other.t__DOT__u_a__DOT__u_tap_a__DOT__v_i); }\n"
    code, header = tap_alias(tmp_path, strange)
    assert (header.count("u_tap_a__DOT__") == 4 and "other.t__DOT__u_a__DOT__u_tap_a__DOT__v_i" in code and
            "u_tap_a__DOT__v_i;" in header)


def test_tap_alias_leaves_loops(tmp_path):
    """Copies of many words are loops in the generated code."""
    loop = TAP_CODE + ("void g(Vt___024root* vlSelf) { for (int __Vilp = 0; __Vilp <= 1; ++__Vilp) { "
                       "vlSelf->t__DOT__u_a__DOT__u_tap_a__DOT__torn[__Vilp] = vlSelf->t__DOT__pair_q[__Vilp]; } }\n")
    code, header = tap_alias(tmp_path, loop)
    assert "u_tap_a__DOT__torn;" in header and "u_tap_a__DOT__torn[__Vilp] = " in code


SCOPES = {
    "Vt__Syms.h": """class Vt__Syms final : public VerilatedSyms {
    Vt___024root                   TOP;
    VerilatedScope __Vscope_t__u_b;
    VerilatedScope __Vscope_t__u_a__u_tap_a;
};
""",
    "Vt__Syms.cpp": """Vt__Syms::Vt__Syms(VerilatedContext* contextp, const char* namep, Vt* modelp)
    : VerilatedSyms{contextp}
    , TOP{this, namep}
{
    TOP.__Vconfigure(true);
    // Setup scopes
    __Vscope_t__u_b.configure(this, name(), "t.u_b[1]", "u_b[1]", -12, VerilatedScope::SCOPE_OTHER);
    __Vscope_t__u_a__u_tap_a.configure(this, name(), "t.u_a.u_tap_a", "u_tap_a", 0, VerilatedScope::SCOPE_OTHER);
    // Setup export functions
    for (int __Vfinal = 0; __Vfinal < 2; ++__Vfinal) {
        U_B(__Vfinal,"q", &(TOP.t__DOT__u_b__DOT__q), false, VLVT_UINT8,RD,0);
        U_A(__Vfinal,"b", &(WORD_1), false, VLVT_WDATA,RD|VLVF_DPI_CLAY,1 ,70,7);
        U_A(__Vfinal,"a_q", &(TOP.a_i), false, VLVT_UINT16,RD,1 ,8,0);
        U_A(__Vfinal,"W", const_cast<void*>(static_cast<const void*>(&(TOP.W))), true, VLVT_UINT32,RD,1 ,31,0);
        U_A(__Vfinal,"array", &(TOP.t__DOT__array), false, VLVT_UINT8,RD,2 ,7,0 ,0,3);
    }
}
""".replace("U_A(", "__Vscope_t__u_a__u_tap_a.varInsert(").replace("U_B(", "__Vscope_t__u_b.varInsert(").replace(
        "WORD_1", "(*reinterpret_cast<VlWide<2>*>(reinterpret_cast<IData*>(&TOP.t__DOT__w) + 1))").replace(
            "RD", "VLVD_NODIR|VLVF_PUB_RD"),
    "Vt.cpp": "", "Vt___024root.h": ""}


def drop_scopes(tmp_path, files):
    """The files afterwards."""
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    subprocess.run(["/usr/bin/python3", str(ROOT / "scripts/tap_alias.py"), str(tmp_path), "t"], check=True)
    return {f.name: f.read_text() for f in tmp_path.iterdir()}


def test_tap_alias_writes_the_table_of_public_signals(tmp_path):
    """In the order of scopes, then names; no parameter, no array. Nothing is left of the scopes."""
    files = drop_scopes(tmp_path, SCOPES)
    assert re.findall(r'\{"(.*)", "(.*)", (\d+), (.*)\},', files["Vt__vars.h"]) == [
        ("t.t.u_a.u_tap_a", "a_q", "9", "offsetof(Vt___024root, a_i)"),
        ("t.t.u_a.u_tap_a", "b", "64", "offsetof(Vt___024root, t__DOT__w) + 4"),
        ("t.t.u_b[1]", "q", "1", "offsetof(Vt___024root, t__DOT__u_b__DOT__q)")]
    assert files["Vt__Syms.cpp"].endswith("{\n    TOP.__Vconfigure(true);\n}\n")
    assert files["Vt__Syms.h"].count("\n") == 3 and "TOP;" in files["Vt__Syms.h"]


@pytest.mark.parametrize("file, old, new", [
    ("Vt.cpp", "", "void f() { g(&vlSymsp->__Vscope_t__u_b); }\n"),  # a call of DPI that needs its scope
    ("Vt__Syms.cpp", "    }\n}", "    }\n    __Vhier.add(0, 0);\n}"),
    ("Vt__Syms.cpp", "PUB_RD,0);", "PUB_RD,0,0);"),  # of a later Verilator
    ("Vt__Syms.cpp", "(__Vfinal,\"q\"", "(\"q\""),
    ("Vt__Syms.cpp", "1 ,8,0", "1 ,8"),
    ("Vt__Syms.cpp", "1 ,8,0", "1 ,16,0"),  # more than its type holds
    ("Vt__Syms.cpp", "&(TOP.a_i)", "&(TOP__t__u_a.a_i)"),
    ("Vt__Syms.cpp", "VLVT_UINT16", "VLVT_STRING"),
    ("Vt__Syms.cpp", "\"b\"", "\"a_q\""),
    ("Vt__Syms.cpp", "\"t.u_b[1]\"", "\"t.u_a.u_tap_a\""),
    ("Vt__Syms.cpp", "-12, VerilatedScope", "-12, \"t\", VerilatedScope"),
    ("Vt__Syms.h", "    VerilatedScope __Vscope_t__u_b;", "    VerilatedScope* __Vscope_t__u_b;"),
])
def test_tap_alias_leaves_scopes_that_it_does_not_know(tmp_path, file, old, new):
    files = dict(SCOPES, **{file: SCOPES[file].replace(old, new, 1)})
    assert files != SCOPES
    (tmp_path / "Vt__vars.h").write_text("of an older model")
    assert drop_scopes(tmp_path, files) == files


# ---- two makes at once (scripts/locked.sh) ----

# Two compilers at a time would be those of two makes: each runs with -j1. It goes on when `go` is there.
COMPILER = """#!/bin/bash
mkdir $0.busy || touch $0.collision
while [ $# -gt 0 ]; do [ "$1" = -o ] && out=$2; shift; done
sleep 0.3
until [ -e $(dirname $0)/go ]; do sleep 0.05; done
printf '#!/bin/sh\\n' >$out && chmod +x $out
rmdir $0.busy
"""
LINE = r"waiting for {}/lock: make \S+/fp-vectors .*\S has held it since \d\d:\d\d:\d\d, process \d+{}; waited \d+ s"


@pytest.fixture
def makes(tmp_path):
    """Starts makes of a build folder of its own, with that compiler."""
    cc = tmp_path / "cc"
    cc.write_text(COMPILER)
    cc.chmod(0o755)
    (tmp_path / "go").touch()
    env = {k: v for k, v in os.environ.items() if not re.match("MAKE|MFLAGS|TANDEM_|SAN$|KIND$|CFG$|DUT$|HOST$", k)}
    started = []

    def start(*args):
        out = open(tmp_path / f"out{len(started)}", "w+")
        # as in a terminal, also where the tests run in the background, which ignores SIGINT
        process = subprocess.Popen(["make", "-j1", *args, f"BUILD={tmp_path}/build", f"CC={cc}"], cwd=ROOT, env=env,
                                   stdout=out, stderr=subprocess.STDOUT, start_new_session=True,
                                   preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
        process.said = lambda: pathlib.Path(out.name).read_text()
        started.append(process)
        return process

    yield start
    for process in started:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def building(tmp_path, makes, target="fp-vectors"):
    """A make that builds until there is `go`."""
    (tmp_path / "go").unlink()
    process = makes(f"{tmp_path}/build/host/{target}")
    wait_until((tmp_path / "cc.busy").exists)
    return process


def line(tmp_path, process, what=""):
    wait_until(lambda: re.search(LINE.format(re.escape(f"{tmp_path}/build"), what), process.said()))


def test_makes_at_once(tmp_path, makes):
    host = tmp_path / "build/host"
    all_of_them = [makes(*args) for args in ((f"{host}/fp-vectors",), (f"{host}/fp-vectors",),
                   (f"{host}/libopt.a", f"{host}/libreport.a"), (f"{host}-san/fp-vectors", "KIND=san"), ("generated",))]
    for process in all_of_them:
        assert process.wait(timeout=120) == 0, process.said()
    assert not (tmp_path / "cc.collision").exists()
    assert sum("waiting for" in process.said() for process in all_of_them) >= 3


def test_running_jobs_hold_no_lock(tmp_path, makes):
    runner = tmp_path / "runner"
    runner.write_text('#!/bin/bash\n[ $1 = targets ] || until [ -e "$0.go" ]; do touch "$0.runs"; sleep 0.05; done\n')
    runner.chmod(0o755)
    regress = makes("regress", f"RUNNER={runner}")
    wait_until((tmp_path / "runner.runs").exists)
    assert makes(f"{tmp_path}/build/host/fp-vectors").wait(timeout=120) == 0
    clean = makes("clean")
    assert clean.wait(timeout=60) == 2, clean.said()
    assert re.fullmatch(rf"clean: {tmp_path}/build is in use: make -j1 regress .*, process {regress.pid}",
                        clean.said().splitlines()[0])
    (tmp_path / "runner.go").touch()
    assert regress.wait(timeout=60) == 0, regress.said()
    program = tmp_path / "build/host/sleep"
    program.write_bytes(pathlib.Path("/bin/sleep").read_bytes())
    program.chmod(0o755)
    with subprocess.Popen([program, "30"]) as process:
        clean = makes("clean")
        assert clean.wait(timeout=60) == 2 and f"is in use: {program} 30, process {process.pid}\n" in clean.said()
        process.kill()
    assert makes("clean").wait(timeout=60) == 0 and not (tmp_path / "build").exists()


def test_killed_make_frees_its_lock(tmp_path, makes):
    holder = building(tmp_path, makes)
    waiting = makes(f"{tmp_path}/build/host/libopt.a")
    line(tmp_path, waiting)
    make = int((tmp_path / "build/lock").read_text().split()[-1])
    os.kill(make, signal.SIGKILL)
    assert holder.wait(timeout=60) == 2
    line(tmp_path, waiting, ", which has ended: what it started still runs")
    (tmp_path / "go").touch()
    assert waiting.wait(timeout=120) == 0 and not (tmp_path / "cc.collision").exists(), waiting.said()

    holder = building(tmp_path, makes, "libreport.a")
    os.killpg(holder.pid, signal.SIGKILL)
    (tmp_path / "go").touch()
    (tmp_path / "cc.busy").rmdir()
    assert makes(f"{tmp_path}/build/host/libopt.a").wait(timeout=120) == 0


def test_interrupted_wait_leaves_nothing(tmp_path, makes):
    holder = building(tmp_path, makes)
    lock = tmp_path / "build/lock"
    before = sorted((tmp_path / "build").rglob("*")), lock.read_text()
    waiting = makes(f"{tmp_path}/build/host/libopt.a")
    line(tmp_path, waiting)
    os.killpg(waiting.pid, signal.SIGINT)  # as a terminal does
    assert waiting.wait(timeout=60) != 0
    assert (sorted((tmp_path / "build").rglob("*")), lock.read_text()) == before
    (tmp_path / "go").touch()
    assert holder.wait(timeout=60) == 0


def test_archives_are_replaced_as_a_whole(tmp_path):
    """Tests link programs while another build of the same folder makes its libraries anew."""
    rule = re.search(r"^archive = .*$", (ROOT / "scripts/flags.mk").read_text(), re.M).group(0)
    (tmp_path / "Makefile").write_text(f"{rule}\nlib.a: a.o\n\t@$(call archive,$^)\n")
    (tmp_path / "ar").write_text("#!/bin/sh\ntest \"$2\" != lib.a && cat lib.a >> seen && echo new > \"$2\"\n")
    (tmp_path / "ar").chmod(0o755)
    (tmp_path / "a.o").write_text("")
    (tmp_path / "lib.a").write_text("former\n")
    os.utime(tmp_path / "lib.a", (0, 0))
    path = f"{tmp_path}:{os.environ['PATH']}"
    subprocess.run(["make", "-s"], cwd=tmp_path, check=True, env={**os.environ, "PATH": path})
    assert (tmp_path / "seen").read_text() == "former\n" and (tmp_path / "lib.a").read_text() == "new\n"
    for mk in [*ROOT.glob("scripts/*.mk"), *ROOT.glob("designs/*/*.mk"), ROOT / "install/tandem.mk"]:
        assert not re.search(r"\bar rcs \$@ ", mk.read_text()), mk
