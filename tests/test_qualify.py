"""Functional qualification: the mutants of a source, the build that holds them, verdicts, reports."""
import argparse
import collections
import json
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
BUILD = os.environ.get("BUILD", "build")
FOLDER = ROOT / BUILD / "axi_copy" / "d64-mut"
PROGRAM = FOLDER / "tandem"
QUALIFY = [sys.executable, str(ROOT / "scripts" / "qualify.py")]
sys.path.insert(0, str(ROOT / "scripts"))
import mutants_of  # noqa: E402 pylint: disable=wrong-import-position
import mutate  # noqa: E402 pylint: disable=wrong-import-position
import qualify  # noqa: E402 pylint: disable=wrong-import-position
import qualify_builds  # noqa: E402 pylint: disable=wrong-import-position
import qualify_report  # noqa: E402 pylint: disable=wrong-import-position
import qualify_run  # noqa: E402 pylint: disable=wrong-import-position
import sv_tree  # noqa: E402 pylint: disable=wrong-import-position

# the tree is built by the user's own make, without what an outer make passes on
ENV = {k: v for k, v in os.environ.items()
       if k not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MAKEOVERRIDES", "SAN", "KIND", "CFG", "DUT", "HOST")}

SOURCE = """
module tiny #(parameter int W = 4) (input logic clk_i, input logic rst_ni, input logic en_i, input logic [W-1:0] a_i,
    output logic [W-1:0] y_o);
  localparam int Half = half(W);
  logic [W-1:0] y_q;
  function automatic int half(input int n);
    half = n / 2;
  endfunction
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) y_q <= '0;
    else if (en_i && a_i < y_q) y_q <= a_i + 1'b1;
  end
  assign y_o = y_q;
`ifndef YOSYS
  always @(posedge clk_i) if (y_q == a_i) $error("no mutant of this");
`endif
endmodule
"""


def found(text):
    source = sv_tree.Source("tiny.sv", text)
    return mutants_of.Finder(source, mutants_of.constant_functions([source])).mutants


def edited(text, mutant):
    for start, end, new in sorted(mutant.edits, reverse=True):
        text = text[:start] + new + text[end:]
    return text


# ---- the mutants ----
def test_mutants_of_a_module():
    made = [(m.operator, SOURCE[m.edits[0][0]:m.edits[0][1]], m.edits[0][2]) for m in found(SOURCE)]
    for wanted in [("constant", "'0", "'1"), ("relational", "<", "<="), ("relational", "<", ">="),
                   ("logical", "en_i && a_i < y_q", "((en_i) || (a_i < y_q))"),
                   ("operand", "en_i && a_i < y_q", "(en_i)"), ("arithmetic", "+", "-"),
                   ("enable", "en_i && a_i < y_q", "1'b0"), ("enable", "en_i && a_i < y_q", "1'b1"),
                   ("drop", "y_q <= a_i + 1'b1;", ";"), ("constant", "1'b1", "1'b0")]:
        assert wanted in made
    assert not [m for m in made if "rst_ni" in m[1]], "the condition of an asynchronous reset is no mutant"
    assert not [m for m in made if "n / 2" in m[1] or m[1] == "/"], "the compiler evaluates this function"
    assert not [m for m in found(SOURCE) if m.edits[0][0] > SOURCE.index("`ifndef")], "assertions have no mutants"
    assert sorted(m.operator for m in found(SOURCE)).count("stuck") == 4


FUNCTIONS = """
package p;
  localparam int W = two(3);
  function automatic int two(input int n);
    two = n * 2;
  endfunction
  function automatic logic [7:0] add(input logic [7:0] a, input logic [7:0] b);
    logic [7:0] x, y;
    x = a;
    y = b;
    add = x + y;
  endfunction
endpackage
module m import p::add; (input logic clk_i, input logic [7:0] a_i, input logic [7:0] b_i, output logic [7:0] y_o);
  import p::*;
  logic [7:0] q, r;
  function automatic logic [7:0] uses(input logic [7:0] a);
    uses = a + q;
  endfunction
  always_ff @(posedge clk_i) begin
    q <= a_i;
    r <= b_i;
  end
  always_comb begin
    y_o = add(a_i, r);
    y_o = uses(y_o);
  end
endmodule
"""


def test_functions_have_mutants():
    made = [(m.operator, FUNCTIONS[m.edits[0][0]:m.edits[0][1]]) for m in found(FUNCTIONS)]
    assert ("arithmetic", "+") in made, "an import is no use by the compiler"
    assert ("arithmetic", "*") not in made, "the compiler evaluates this one"
    assert mutate.impure_functions([sv_tree.Source("tiny.sv", FUNCTIONS)]) == {"uses"}


def test_exchanged_assignments():
    """Of registers, and in functions; elsewhere it could make a loop of signals."""
    made = [m for m in found(FUNCTIONS) if m.operator == "exchange"]
    texts = [edited(FUNCTIONS, m) for m in made]
    assert ["q <= b_i;\n    r <= a_i;" in t for t in texts].count(True) == 1
    assert ["x = b;\n    y = a;" in t for t in texts].count(True) == 1
    assert not any("y_o = uses(y_o);\n    y_o" in t for t in texts)
    assert [m.value_of(p) for m in made for p in m.places if m.value == ["b", "a"]] == ["b", "a"]


def test_stuck_bit_is_one_mutant_of_all_assignments():
    stuck = [m for m in found(SOURCE) if m.operator == "stuck"]
    assert all(len(m.places) == len(m.edits) == 2 for m in stuck)
    assert edited(SOURCE, stuck[0]).count("~(($bits(y_q))'(1)") == 2


@pytest.mark.skipif(shutil.which("verilator") is None, reason="not run: needs verilator (make deps)")
def test_each_mutant_is_legal_source(tmp_path):
    for m in found(SOURCE):
        (tmp_path / "tiny.sv").write_text(edited(SOURCE, m))
        done = subprocess.run(["verilator", "--lint-only", "-Wno-lint", "-Wno-style", str(tmp_path / "tiny.sv")],
                              capture_output=True, text=True)
        assert done.returncode == 0, f"{m.operator} {m.edits}: {done.stderr}"


def test_literals():
    assert mutants_of.plus_one("4'd15") == ["4'd0", "4'd14"]
    assert mutants_of.plus_one("1'b1") == ["1'b0"]
    assert mutants_of.plus_one("8'h0f") == ["8'he", "8'h10"]
    assert mutants_of.plus_one("3") == ["4", "2"]
    assert mutants_of.plus_one("'1") == ["'0"]


def test_every_source_of_every_design_is_read(tmp_path):
    for folder in sorted(p for p in (ROOT / "rtl").iterdir() if p.is_dir()):
        paths = sorted(str(p.relative_to(ROOT)) for p in folder.rglob("*.sv"))
        done = subprocess.run([sys.executable, str(ROOT / "scripts/mutate.py"), "--output", str(tmp_path / folder.name)]
                              + paths, cwd=ROOT, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        listed = json.loads((tmp_path / folder.name / "mutants.json").read_text())
        assert [m["id"] for m in listed] == list(range(1, len(listed) + 1)) and len(listed) > 300
        header = (tmp_path / folder.name / "mutants.h").read_text()
        assert f"TB_MUT_COUNT {len(listed)}u" in header


def test_a_source_that_is_not_understood(tmp_path):
    (tmp_path / "bad.sv").write_text("module bad;\n  assign a = ;\nendmodule\n")
    done = subprocess.run([sys.executable, str(ROOT / "scripts/mutate.py"), "--output", str(tmp_path / "out"),
                           str(tmp_path / "bad.sv")], capture_output=True, text=True)
    assert done.returncode == 1
    assert re.fullmatch(r'mutate: .*bad.sv:2: ";": expected an expression\n', done.stderr)
    assert not (tmp_path / "out").exists()


# ---- the build ----
@pytest.fixture(scope="module")
def program():
    if shutil.which("verilator") is None:
        pytest.skip("not run: needs verilator (make deps)")
    done = subprocess.run(["make", "-s", "-j1", "DUT=axi_copy", "CFG=d64", "KIND=mut", f"BUILD={BUILD}",
                           f"{BUILD}/axi_copy/d64-mut/tandem"], cwd=ROOT, env=ENV, capture_output=True, text=True,
                          timeout=900)
    assert done.returncode == 0, done.stdout + done.stderr
    return PROGRAM


def run(program, *args):
    return subprocess.run([str(program), "test", "axi_copy", *args], cwd=ROOT, capture_output=True, text=True,
                          timeout=300)


def verdicts(program, tmp_path, numbers, *more):
    (tmp_path / "list").write_text("\n".join(map(str, numbers)))
    done = run(program, "--run-seed", "1", "--count", "40", "--mutants", str(tmp_path / "list"), "--verdicts",
               str(tmp_path / "verdicts"), "--mutant-jobs", "2", *more)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = [line.split("\t") for line in (tmp_path / "verdicts").read_text().splitlines()]
    times = lines.pop(0)
    assert times[0] == "#" and float(times[1]) > 0 and float(times[2]) >= 0 and int(times[3]) > 1000
    return {int(f[0]): f[1:] for f in lines}, done.stdout


def mutants():
    return json.loads((FOLDER / "rtl" / "mutants.json").read_text())


def number_of(operator, file, old, new):
    """The mutant of a line of the design."""
    return next(m["id"] for m in mutants() if (m["operator"], m["old"], m["new"]) == (operator, old, new)
                and m["file"].endswith(file))


def test_watching_changes_nothing(program, tmp_path):
    """The run without a mutant has the same hash whether all mutants are watched or none is."""
    plain = run(program, "--run-seed", "1", "--count", "40").stdout
    _, watched = verdicts(program, tmp_path, [m["id"] for m in mutants()], "--mutant-cycles", "1")
    assert "hash=" in plain and plain == watched


def test_verdicts(program, tmp_path):
    never = number_of("drop", "axi_copy_regs.sv", "rdata_o <= DataBytes;", ";")
    wrong = number_of("relational", "axi_copy_fifo.sv", "!=", "==")
    same = number_of("constant", "axi_copy_split.sv", "4096", "4097")  # 4097 / 8 is 4096 / 8
    # errors of memory at wrong addresses were once taken for those that the case asks for
    lost = number_of("drop", "axi_copy_split.sv", "addr_q <= addr_i;", ";")
    found_, _ = verdicts(program, tmp_path, [never, wrong, same, lost], "strobes=0")  # with 1 it reads CONFIG
    assert {n: f[0] for n, f in found_.items()} == {never: "not-reached", wrong: "detected", same: "reached",
                                                    lost: "detected"}
    assert found_[lost][4] == "mem:error"
    assert found_[wrong][4] and found_[wrong][5] and not found_[same][4]


def test_a_fork_is_the_mutant_from_the_start(program, tmp_path):
    """A mutant that begins where it first differs fails as one that is there from the first clock cycle."""
    chosen = [m["id"] for m in mutants()][::37]
    found_, _ = verdicts(program, tmp_path, chosen)
    compared = 0
    for number, (verdict, at, cycles, cases, signature, message, _) in found_.items():
        if verdict == "detected":
            done = run(program, "--run-seed", "1", "--count", "40", "--mutant", str(number), "--result",
                       str(tmp_path / "result"), "--case-dir", str(tmp_path))
            result = (tmp_path / "result").read_text()
            assert done.returncode == 1 and f"signature={signature}\n" in result
            assert f"message={message}"[:200] in result
            done = run(program, "--run-seed", "1", "--index", cases, "--count", "1", "--mutant", str(number),
                       "--case-dir", str(tmp_path))
            assert done.returncode == 1, "the case that is replayed is the one that fails"
            compared += 1
        elif verdict in ("reached", "not-reached"):
            assert (at, cycles, cases) == ("0", "0", "0")
            assert run(program, "--run-seed", "1", "--count", "40", "--mutant", str(number)).stdout == run(
                program, "--run-seed", "1", "--count", "40").stdout
    assert compared >= 5


def test_budget_of_cycles(program, tmp_path):
    found_, _ = verdicts(program, tmp_path, [m["id"] for m in mutants()][::9], "--mutant-cycles", "3")
    spent = [f for f in found_.values() if f[0] == "limit-cycles"]
    assert spent and all(f[2] == "3" for f in spent)


def test_marking_runs_no_mutant(program, tmp_path):
    """What differs is the same as in a run of the mutants, and nothing else is said."""
    chosen = [m["id"] for m in mutants()][::9]
    marked, _ = verdicts(program, tmp_path, chosen, "--mutant-jobs", "0")
    ran, _ = verdicts(program, tmp_path, chosen, "--mutant-cycles", "1")
    quiet = ("reached", "not-reached")
    assert {n: f[0] if f[0] in quiet else "infected" for n, f in ran.items()} == {n: f[0] for n, f in marked.items()}
    assert all(marked[n][1:4] == ran[n][1:2] + ["0"] + ran[n][3:4] and not marked[n][4] for n in ran)
    assert "infected" in {f[0] for f in marked.values()}


def test_bad_input(program, tmp_path):
    (tmp_path / "list").write_text("1 99999")
    done = run(program, "--mutants", str(tmp_path / "list"), "--verdicts", str(tmp_path / "v"))
    assert done.returncode == 2 and re.search(r"list: expected numbers 1\.\.\d+, got '99999'", done.stderr)
    done = run(program, "--mutants", str(tmp_path / "none"), "--verdicts", str(tmp_path / "v"))
    assert done.returncode == 2 and "none: No such file" in done.stderr
    done = run(program, "--mutant", "99999")
    assert done.returncode == 2 and re.search(r"--mutant: expected a number 1\.\.\d+, got '99999'", done.stderr)
    assert run(program, "--mutants", "list").returncode == 2
    assert run(program, "--mutants", "list", "--verdicts", "v", "--wave", "x.fst").returncode == 2
    assert not (tmp_path / "v").exists()


# ---- results ----
def mutant(number, verdict, **more):
    return dict({"id": number, "file": "rtl/a.sv", "line": 3, "module": "a", "operator": "constant", "old": "1",
                 "new": str(number), "text": "assign x = 1;", "verdict": verdict, "edits": [[11, 12, str(number)]]},
                **more)


def result(folder, *made):
    folder.mkdir()
    kept = {"design": "d", "cfg": "c", "suite": "s", "all": len(made), "jobs": [], "other_jobs": 0, "stale": [],
            "seconds": 1, "sources": {"rtl/a.sv": "assign x = 1;\n"}, "mutants": list(made)}
    (folder / "qualify.json").write_text(json.dumps(kept))
    return str(folder)


def tool(*args):
    return subprocess.run(QUALIFY + list(args), capture_output=True, text=True)


def test_report_and_gate(tmp_path):
    dir_ = result(tmp_path / "a", mutant(1, "detected", signature="unit:a:out", cycles=4, found=[[0, "unit:a"]]),
                  mutant(2, "not-reached"),
                  mutant(3, "survived", at=7, replay="tandem --mutant 3"), mutant(4, "equivalent", why="it is"))
    done = tool("report", dir_, "--gate", "33")
    assert done.returncode == 0 and "score 33.33 %, threshold 33 %: ok" in done.stdout
    assert "assign x = 1;" in done.stdout and "tandem --mutant 3" in done.stdout
    assert tool("report", dir_, "--gate", "34").returncode == 1
    said = json.loads(tool("report", dir_, "--json").stdout)
    assert said["score"] == 33.33 and said["checks"] == [{"name": "unit:a", "detected": 1}]
    assert said["blamed"] == {"by_units": 1, "right": 1, "around": 0, "inside": 0, "another": 0,
                               "whole": 1, "whole_right": 1}
    assert tool("report", str(tmp_path)).returncode == 2


def test_diff(tmp_path):
    before = result(tmp_path / "a", mutant(1, "detected", signature="x", cycles=1), mutant(2, "survived"))
    after = result(tmp_path / "b", mutant(1, "survived"), mutant(2, "detected", signature="x", cycles=1))
    done = tool("diff", before, after)
    assert done.returncode == 1 and "1 no longer detected" in done.stdout and "detected -> survived" in done.stdout
    assert tool("diff", before, before).returncode == 0


def test_patch(tmp_path):
    done = tool("patch", result(tmp_path / "a", mutant(5, "survived")), "5")
    assert "-assign x = 1;\n+assign x = 5;\n" in done.stdout
    assert tool("patch", str(tmp_path / "a"), "6").returncode == 2


PROOF = """
module m (input logic clk_i, input logic rst_ni, input logic load_i, input logic [3:0] d_i,
    output logic valid_o, output logic [3:0] data_o, output logic [3:0] count_o, output logic high_o);
  logic [3:0] data_q, count_q;
  logic run, full_q;
  logic [3:0] kept_q;
  highest u_highest (.d_i(count_q), .q_o(high_o));
  clk_gate u_gate (.clk_i(clk_i), .en_i(load_i || full_q), .clk_o(run));
  always_ff @(posedge run or negedge rst_ni) begin
    if (!rst_ni) begin
      data_q <= 4'd5;
      full_q <= 1'b0;
      count_q <= 4'(p::None);
    end else begin
      full_q <= load_i;
      if (load_i) data_q <= d_i;
      if (count_q != 4'd9) count_q <= count_q + 4'd1;
    end
  end
  always_ff @(posedge clk_i) kept_q <= kept_q;
  assign valid_o = full_q;
  assign data_o = data_q;
  assign count_o = count_q > 4'd12 ? kept_q : count_q;
endmodule
module highest (input logic [3:0] d_i, output logic q_o);
  assign q_o = d_i[3];
endmodule
module clk_gate #(parameter bit Gate = 1'b1) (input logic clk_i, input logic en_i, output logic clk_o);
  logic en_q;
  always_latch if (!clk_i) en_q = en_i;
  assign clk_o = clk_i & en_q;
endmodule
package p;
  localparam int None = 0;
endpackage
"""
# what becomes of a place, and whether that is proven
PROOFS = [
    ("4'd5", "4'd6", "proven"),                # a payload before the first one that is valid
    ("count_q != 4'd9", "count_q < 4'd9", "proven"),  # it is never above: no single cycle shows that
    ("4'd12", "4'd10", "proven"),
    ("4'd12", "4'd8", "survived"),             # after nine cycles
    ("4'(p::None)", "4'd1", "survived"),
    ("load_i || full_q", "load_i", "survived"),  # the clock stands still one cycle too early
    ("load_i || full_q", "1'b1", "survived"),    # it counts while nothing is loaded
    ("full_q <= load_i", "full_q <= load_i && (load_i || full_q)", "proven"),
    (".d_i(count_q)", ".d_i(count_q ^ {3'd0, count_q > 4'd12})", "proven"),
    (".d_i(count_q)", ".d_i(count_q ^ 4'd1)", "proven"),  # what highest does with it says so
    (".d_i(count_q)", ".d_i(count_q ^ 4'd8)", "survived"),
]


@pytest.mark.skipif(shutil.which("verilator") is None or shutil.which("yosys") is None,
                    reason="not run: needs verilator and yosys (make deps)")
def test_prove(tmp_path):
    """By all sequences of inputs after a reset: what is never reached does not count, what takes nine cycles does."""
    (tmp_path / "gate.sv").write_text(PROOF[PROOF.index("module clk_gate"):PROOF.index("package p;")])
    (tmp_path / "high.sv").write_text(PROOF[PROOF.index("module highest"):PROOF.index("module clk_gate")])
    (tmp_path / "m.sv").write_text(PROOF[:PROOF.index("module highest")])
    (tmp_path / "p.sv").write_text(PROOF[PROOF.index("package p;"):])
    path, made = str(tmp_path / "m.sv"), []
    for number, (old, new, _) in enumerate(PROOFS, 1):
        at = PROOF.index(old)
        made.append(mutant(number, "equivalent" if number == 3 else "survived", file=path, module="m", old=old,
                           new=new, edits=[[at, at + len(old), new]], why="reviewed"))
    dir_ = result(tmp_path / "a", *made)
    kept = json.loads((tmp_path / "a" / "qualify.json").read_text())
    kept.update(sources={path: (tmp_path / "m.sv").read_text()}, parents={"m": [], "clk_gate": ["m"], "highest": ["m"]})
    (tmp_path / "a" / "qualify.json").write_text(json.dumps(kept))
    done = subprocess.run(QUALIFY + ["prove", dir_, "--seconds", "60", "--jobs", "2", "--top", "m", "--sources",
                                     str(tmp_path / "p.sv"), str(tmp_path / "gate.sv"), str(tmp_path / "high.sv"),
                                     path],
                          capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0 and "6 of 11 are proven" in done.stdout, done.stdout + done.stderr
    got = json.loads((tmp_path / "a" / "qualify.json").read_text())["mutants"]
    assert [m["verdict"] for m in got] == [verdict for _, _, verdict in PROOFS], done.stdout
    assert "while they are valid" in got[0]["why"] and "while" not in got[1]["why"]


def test_a_mutant_of_an_earlier_run(tmp_path):
    """What was detected is taken over by its name, with the numbers of the jobs of this run."""
    before = result(tmp_path / "a", mutant(1, "detected", signature="unit:a:x", cycles=4, at=9, message="", replay="t",
                                           found=[[0, "unit:a"], [1, "mem"]]), mutant(2, "survived"),
                    mutant(3, "absent"))
    kept = json.loads((tmp_path / "a" / "qualify.json").read_text())
    kept["jobs"] = [{"number": 0, "job": "unit a"}, {"number": 1, "job": "test gone"}]
    (tmp_path / "a" / "qualify.json").write_text(json.dumps(kept))
    now = [{k: v for k, v in mutant(n, "").items() if k != "verdict"} for n in (1, 2, 3)]
    now[0]["id"] = 71  # its number is another one
    jobs = [qualify_run.Job("unit", name, ["u"]) for name in ("unit b", "unit a")]
    assert qualify.take_over(now, jobs, before) == (1, {3}), "and 3 has no code"
    assert now[0]["verdict"] == "detected" and now[0]["found"] == [[1, "unit:a"]] and "verdict" not in now[1]
    assert list(qualify_run.Runner(now, jobs, argparse.Namespace(jobs=1)).by_id) == [2, 3], "it is not run"


def test_a_part_of_the_mutants():
    made = [dict(mutant(n, ""), drawn=n != 3, module="ab"[n % 2]) for n in range(1, 6)]

    def chosen(modules, only, sample=0):
        args = argparse.Namespace(modules=modules, only=only, sample=sample, draw=1)
        return [m["id"] for m in qualify.chosen_mutants(made, args)]
    assert chosen([], []) == [1, 2, 4, 5] and chosen(["b"], []) == [1, 5] and chosen([], [2, 3]) == [2]
    assert len(chosen([], [], 3)) == 3 and {n % 2 for n in chosen([], [], 2)} == {0, 1}, "of both modules"
    with pytest.raises(qualify.Bad, match="no mutant in module c"):
        chosen(["c"], [])


def test_hand_written_bugs(tmp_path):
    """The same text apart from spaces and parentheses is the same bug."""
    def patch(name, new):
        (tmp_path / name).write_text("# unit: a\n--- a/rtl/a.sv\n+++ b/rtl/a.sv\n@@ -1 +1 @@\n-assign x = 1;\n"
                                     "+%s\n" % new)
        return str(tmp_path / name)
    dir_ = result(tmp_path / "a", mutant(2, "detected", signature="x", cycles=1), mutant(3, "survived"))
    done = tool("bugs", dir_, patch("same.patch", "assign  x = (2);"), patch("other.patch", "assign x = 7;"))
    assert done.returncode == 0 and "is mutant 2: detected" in done.stdout
    assert "2 mutants on its lines, 1 detected" in done.stdout
    assert tool("bugs", dir_, patch("weak.patch", "assign x = 3;")).returncode == 1
    dir_ = result(tmp_path / "b", mutant(2, "absent"))
    done = tool("bugs", dir_, patch("same.patch", "assign x = 2;"))
    assert done.returncode == 0 and "is mutant 2: absent in this configuration" in done.stdout
    assert "0 were not detected and 1 are absent" in done.stdout
    for cfg, status in (("c", 1), ("other", 0)):  # the configuration of the run; another one
        dir_ = result(tmp_path / cfg, mutant(2, "equivalent"))
        with open(patch("same.patch", "assign x = 2;"), "a", encoding="utf-8") as out:
            out.write("# cfg: %s\n" % cfg)
        assert tool("bugs", dir_, str(tmp_path / "same.patch")).returncode == status
    assert tool("bugs", dir_, str(tmp_path / "a" / "qualify.json")).returncode == 2


@pytest.mark.skipif(os.environ.get("TANDEM_CHECK") != "1", reason="not run: two builds, 10 seconds (make check)")
def test_ordinary_builds(program, tmp_path):
    """A mutant built from its patch fails as in the build of all of them; one that is said to do so and does not is
    told."""
    number = number_of("relational", "axi_copy_fifo.sv", "!=", "==")
    found_, _ = verdicts(program, tmp_path, [number])
    made = next(m for m in mutants() if m["id"] == number)
    job = {"number": 0, "job": "axi_copy", "what": "test", "command": [
        f"{BUILD}/axi_copy/d64-mut/tandem", "test", "axi_copy", "--run-seed", "1", "--count", "40"]}
    replay = " ".join(job["command"] + ["--mutant", str(number)])
    dir_ = result(tmp_path / "a", dict(made, verdict="detected", signature=found_[number][4], job=0, replay=replay))
    kept = json.loads((tmp_path / "a" / "qualify.json").read_text())
    kept.update(design="axi_copy", cfg="d64", jobs=[job], sources={made["file"]: (ROOT / made["file"]).read_text()})
    (tmp_path / "a" / "qualify.json").write_text(json.dumps(kept))
    done = subprocess.run(QUALIFY + ["builds", dir_, "--build", BUILD], cwd=ROOT, env=ENV, capture_output=True,
                          text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 mutants built the ordinary way, 0 differ" in done.stdout
    assert not (tmp_path / "a" / "tree-builds").exists()
    kept["mutants"][0]["replay"] = replay.replace("--count 40", "--count 1")  # a waveform is of one case
    (tmp_path / "a" / "qualify.json").write_text(json.dumps(kept))
    done = subprocess.run(QUALIFY + ["replay", dir_, str(number), "--build", BUILD], cwd=ROOT, env=ENV,
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "exit status 1; waveform: " in done.stdout and (tmp_path / "a" / f"mutant-{number}.fst").stat().st_size > 0
    done = subprocess.run(QUALIFY + ["replay", dir_, "99999", "--build", BUILD], cwd=ROOT, env=ENV,
                          capture_output=True, text=True)
    assert done.returncode == 2 and "there is no mutant 99999" in done.stderr


@pytest.mark.parametrize("said, differs", [
    ((1, "mem:mismatch", "5"), ""), ((1, "mem:other", "5"), "exit status 1 mem:other"), ((0, "", "7"), "exit status 0"),
    ((None, "error", ""), "it does not build: error")])
def test_an_ordinary_build_that_differs(tmp_path, monkeypatch, said, differs):
    made = mutant(2, "detected", signature="mem:mismatch", job=0)
    kept = {"jobs": [{"number": 0}], "sources": {"rtl/a.sv": "assign x = 1;\n"}}
    monkeypatch.setattr(qualify_builds, "copy_tree", lambda build, folder: None)
    (tmp_path / "rtl").mkdir()
    (tmp_path / "rtl" / "a.sv").write_text("assign x = 1;\n")
    copy = qualify_builds.Copy(kept, "none", str(tmp_path), ("tap", "fast"))
    build = qualify_builds.Builds(kept, copy, 10)
    build.plain[0], build.run = (0, "", "7"), lambda _: said
    assert differs in build.one(made) and (differs or not build.one(made))
    assert (tmp_path / "rtl" / "a.sv").read_text() == "assign x = 1;\n", "the source is put back"
    made["verdict"] = "reached"
    build.run = lambda _: (0, "", "8")
    assert build.one(made) == "another hash than the design's"


def test_a_mutant_that_survives_passes_all_its_jobs(tmp_path, monkeypatch):
    """Not only the one that decided: a later job of the ordinary build that fails is told."""
    made = mutant(2, "survived", job=0, ran=[0, 1])
    kept = {"jobs": [{"number": n, "job": f"test {n}"} for n in range(3)], "sources": {"rtl/a.sv": "x"}}
    monkeypatch.setattr(qualify_builds, "copy_tree", lambda build, folder: None)
    (tmp_path / "rtl").mkdir()
    (tmp_path / "rtl" / "a.sv").write_text("x")
    build = qualify_builds.Builds(kept, qualify_builds.Copy(kept, "none", str(tmp_path), ("tap", "fast")), 10)
    build.copy.mutate = lambda m: None
    ran = []
    build.run = lambda job: ran.append(job["number"]) or (job["number"], "a:b" * job["number"], "7")
    assert build.one(made) == "test 1: survived , ordinary build: exit status 1 a:b" and ran == [0, 1]


def test_ordinary_builds_go_on_where_they_stopped(tmp_path, monkeypatch, capsys):
    made = [mutant(n, "detected", signature="a:b", job=0) for n in (1, 2, 3)]
    dir_ = result(tmp_path / "a", *made)
    kept = json.loads((tmp_path / "a" / "qualify.json").read_text())
    kept.update(jobs=[{"number": 0, "command": ["x"]}], sources={})
    monkeypatch.setattr(qualify_builds, "copy_tree", lambda build, folder: os.makedirs(folder, exist_ok=True))
    ran = []

    def one(_, m):
        if len(ran) == 2:
            raise KeyboardInterrupt
        ran.append(m["id"])
        return "other" if m["id"] == 1 else ""
    monkeypatch.setattr(qualify_builds.Builds, "one", one)
    args = argparse.Namespace(folder=dir_, build="build", kinds=("tap", "fast"), count=3, draw=1, seconds=1, total=0,
                              resume=False)
    with pytest.raises(KeyboardInterrupt):
        qualify_builds.builds(kept, args)
    args.resume, ran[:] = True, []
    assert qualify_builds.builds(kept, args) == 1 and ran == [3]
    said = capsys.readouterr().out
    assert said.count("(earlier)") == 2 and "3 mutants built the ordinary way, 1 differ" in said
    kept["sources"]["a.sv"] = "changed"
    with pytest.raises(qualify_run.Bad, match="of another run"):
        qualify_builds.builds(kept, args)


def test_order_of_jobs():
    """Benches of units, the one that infects least first, then the cheapest; a second part of a test after the first
    parts of all."""
    jobs = [qualify_run.Job("test", "a", ["t", "a"]), qualify_run.Job("test", "a, from case 5", ["t", "a"]),
            qualify_run.Job("test", "b", ["t", "b"]), qualify_run.Job("unit", "u", ["u"]),
            qualify_run.Job("unit", "v", ["v"])]
    runner = qualify_run.Runner([], jobs, None)
    order = runner.ordered([(True, 10, 10, 0), (True, 11, 11, 1), (True, 50, 50, 2), (False, 9, 5, 3),
                            (False, 2, 99, 4)])
    assert order == [(99, 4), (5, 3), (10, 0), (50, 2), (11, 1)]
    runner.choices[7] = list(order)
    worth = {"m": {0: 0, 1: 9, 2: 3, 3: 0, 4: 0}}
    assert runner.next_jobs({"id": 7, "module": "m"}, 2, worth) == [(11, 1), (50, 2)]
    assert runner.next_jobs({"id": 7, "module": "m"}, 9, worth) == [(99, 4), (5, 3), (10, 0)]
    runner.choices[7] = list(order)
    runner.uses["m"].update({0: 4, 1: 9, 2: 10, 3: 1, 4: 2})  # what differs in a hardly uses the module
    assert runner.next_jobs({"id": 7, "module": "m"}, 9, {"m": collections.Counter()}) == [
        (99, 4), (5, 3), (50, 2), (11, 1), (10, 0)]


def test_what_a_run_without_mutants_costs(tmp_path, capsys):
    """Equal hashes, and the cycles and seconds of each kind; another hash is told and not counted."""
    for kind in ("mut", "fast"):
        for name, mark in (("unit-u", "ab"), ("tandem", "cd" if kind == "mut" else "ce")):
            program = tmp_path / ("c-" + kind) / name
            program.parent.mkdir(exist_ok=True)
            program.write_text("#!/bin/sh\necho PASS cases=2 cycles=70 hash=%s\n" % mark)
            program.chmod(0o755)
    unit = [str(tmp_path / "c-mut" / "unit-u")]
    jobs = [qualify_run.Job("unit", "unit u", unit, ["--count", str(n)]) for n in (1, 2)]
    assert qualify_builds.hashes(jobs, "fast", []) == 0
    said = capsys.readouterr().out
    assert "benches of units: 2 jobs, 140 cycles; seconds of a processor: kind mut 0.0, kind fast 0.0\n" in said
    assert "whole design" not in said and "2 jobs have the same trace hash in kinds mut and fast, 0 differ" in said
    jobs.append(qualify_run.Job("test", "test t", [str(tmp_path / "c-mut" / "tandem"), "t"]))
    assert qualify_builds.hashes(jobs, "fast", []) == 1
    said = capsys.readouterr().out
    assert "test t: DIFFERS: (0, 'cd'), kind fast: (0, 'ce')" in said and "whole design" not in said


def test_half_of_the_jobs_are_of_other_kinds():
    """Stored cases of one operator are cheap and many; a mutant that they do not detect is not left to them."""
    names = ["case a-n4-x", "case a-n4-y", "case a-n4-z", "case b-n4-x", "test c", "test c, from case 4", "test d"]
    runner = qualify_run.Runner([], [qualify_run.Job(name.split()[0], name, [name]) for name in names], None)
    runner.choices[7] = [(n, n) for n in range(7)]
    m = {"id": 7, "module": "m"}
    worth = {"m": collections.Counter()}
    assert [n for _, n in runner.next_jobs(m, 1, worth)] == [0]
    assert [n for _, n in runner.next_jobs(dict(m, ran=[0]), 3, worth)] == [1, 2, 3]
    assert [n for _, n in runner.next_jobs(dict(m, ran=[0, 1, 2, 3]), 9, worth)] == [4, 5, 6]
    runner.choices[7] = [(n, n) for n in range(7)]
    assert [n for _, n in runner.next_jobs(m, 5, worth)] == [0, 1, 2, 3, 4], "one of b and one of c beside three of a"
    runner.choices[7] = [(n, n) for n in range(7)]
    assert [n for _, n in runner.next_jobs(dict(m, ran=[3, 4]), 2, worth)] == [0, 6], "d is new"


def test_a_reviewed_mutant_runs_in_two_jobs(tmp_path):
    jobs = [qualify_run.Job("test", str(n), ["t", str(n)]) for n in range(9)]
    for tries, wanted in ((8, {1: 8, 2: 2}), (0, {1: 9, 2: 9})):
        args = argparse.Namespace(all_checks=False, tries=tries, jobs=1, total=0, out=str(tmp_path))
        runner = qualify_run.Runner([mutant(1, "survived"), mutant(2, "survived")], jobs, args, {2})
        runner.choices = {n: [(1, number) for number in range(9)] for n in (1, 2)}
        ran = collections.Counter()
        runner.run_mutants = lambda item, ran=ran: ran.update(item[2])
        runner.rounds()
        assert ran == wanted


def test_a_long_job_is_shared_out():
    ids = {3: [5, 1, 9, 7], 4: [2], 8: [6]}
    work = qualify_run.in_parts({3: 80, 4: 10, 8: 10}, ids, 2)
    assert sorted(i for _, _, chosen, _ in work for i in chosen) == [1, 2, 5, 6, 7, 9]
    assert [(n, part) for _, n, _, part in work] == [(3, 0), (3, 1), (3, 2), (3, 3), (4, 0), (8, 0)]
    assert qualify_run.in_parts({3: 0}, {3: [1]}, 2) == [(0, 3, [1], 0)]


def test_a_run_that_is_stopped(program, tmp_path, monkeypatch):
    """After a signal no job begins any more; what is known stands, and what was left out is named."""
    monkeypatch.setattr(qualify_run.signal, "signal", lambda number, call: None)
    args = argparse.Namespace(jobs=1, total=0, tries=2, all_checks=False, out=str(tmp_path), cycles=0, seconds=20)
    command = [str(program), "test", "axi_copy"]
    jobs = [qualify_run.Job("test", f"from {i}", command, ["--run-seed", "1", "--index", str(i), "--count", "1"])
            for i in (0, 1)]
    wrong = number_of("relational", "axi_copy_fifo.sv", "!=", "==")
    made = [{"id": wrong, "module": "axi_copy_fifo"}]
    runner = qualify_run.Runner(made, jobs, args)
    mark = runner.mark

    def stop(item):
        mark(item)
        runner.stop()
    monkeypatch.setattr(runner, "mark", stop)
    ran = runner.run()
    assert [job["job"] for job in ran] == ["from 0"] and runner.left_out == {"from 0", "from 1"}
    assert made[0]["verdict"] == "not-run" and made[0]["infecting"] == 1
    assert "marking" in runner.phases


def test_a_run_that_is_stopped_ends_its_jobs(tmp_path, monkeypatch):
    monkeypatch.setattr(qualify_run.signal, "signal", lambda number, call: None)
    args = argparse.Namespace(jobs=1, total=0, tries=2, all_checks=False, out=str(tmp_path), cycles=0, seconds=20)
    (tmp_path / "slow").write_text(f"#!/bin/sh\ntouch {tmp_path}/began\nsleep 100\n")
    (tmp_path / "slow").chmod(0o755)
    slow = qualify_run.Job("unit", "slow", [str(tmp_path / "slow")])
    runner = qualify_run.Runner([{"id": 1, "module": "m"}], [slow], args)

    def stop():
        while not (tmp_path / "began").exists():
            time.sleep(0.01)
        runner.stop()
    threading.Thread(target=stop, daemon=True).start()
    begin = time.monotonic()
    assert runner.run() == [] and runner.left_out == {"slow"} and time.monotonic() - begin < 60


def test_equivalents_go_stale(tmp_path):
    path = tmp_path / "equivalent.txt"
    path.write_text("# reviewed\nequivalent rtl/a.sv constant\nline: assign x = 1;\nold: 1\nnew: 2\n"
                    "why: nobody reads\n")
    entries = qualify.equivalents(str(path))
    good = [mutant(2, "survived")]
    assert qualify.apply_equivalents(good, entries) == [] and good[0]["verdict"] == "equivalent"
    wrong = [mutant(2, "detected", signature="mem:mismatch")]
    assert "it is not equivalent: detected mem:mismatch" in qualify.apply_equivalents(wrong, entries)[0]
    assert wrong[0]["verdict"] == "detected"
    assert "no such mutant" in qualify.apply_equivalents([mutant(3, "survived")], entries)[0]
    path.write_text(path.read_text() + "nth: 2\n")
    two = [mutant(2, "detected", signature="x"), mutant(2, "survived")]
    assert qualify.apply_equivalents(two, qualify.equivalents(str(path))) == [] and two[0]["verdict"] == "detected"
    path.write_text(path.read_text() + "cfg: n4 n8\n")
    one = [mutant(2, "detected", signature="x")]
    entries = qualify.equivalents(str(path))
    assert qualify.apply_equivalents(one, entries, "n16") == []
    assert len(qualify.apply_equivalents(one, entries, "n8")) == 1
    path.write_text("weak rtl/a.sv constant\nline: assign x = 1;\nold: 1\nnew: 2\nsuite: smoke\nwhy: rare\n")
    entries, slow = qualify.equivalents(str(path)), [mutant(2, "limit-seconds"), mutant(3, "survived")]
    assert qualify.apply_equivalents(slow, entries, "n8", "smoke") == []
    assert [m["verdict"] for m in slow] == ["limit-seconds", "survived"], "it counts as before"
    kept = json.loads(Path(result(tmp_path / "a", *slow), "qualify.json").read_text())
    said = qualify_report.text_report(kept)
    assert "2 count as not detected; of these 1 are explained" in said and "      rare\n" in said
    assert "it is not weak: detected x" in qualify.apply_equivalents(one, entries, "n8", "smoke")[0]
    assert qualify.apply_equivalents(one, entries, "n8", "nightly") == []
    path.write_text("equivalent rtl/a.sv constant\nline: x\nold: 1\nnew: 2\n")
    with pytest.raises(qualify.Bad, match="has no why:"):
        qualify.equivalents(str(path))
    path.write_text("same rtl/a.sv\n")
    with pytest.raises(qualify.Bad, match=":1: expected"):
        qualify.equivalents(str(path))


@pytest.mark.parametrize("path", sorted((ROOT / "designs").glob("*/equivalent.txt")), ids=lambda p: p.parent.name)
def test_reviewed_entries_name_mutants(path, tmp_path):
    """An edit of a line makes its entries stale: they are looked at again, or go."""
    sources = sorted(str(p.relative_to(ROOT)) for room in ("lib", path.parent.name)
                     for p in (ROOT / "rtl" / room).rglob("*.sv"))
    done = subprocess.run([sys.executable, "scripts/mutate.py", "--output", str(tmp_path)] + sources, cwd=ROOT,
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    made, lines = json.loads((tmp_path / "mutants.json").read_text()), {}
    for m in made:
        lines.setdefault(m["file"], (ROOT / m["file"]).read_text().splitlines())
        m["text"] = lines[m["file"]][m["line"] - 1].strip()
    assert qualify.apply_equivalents(made, qualify.equivalents(str(path))) == []


def test_a_draw_has_every_module_and_operator():
    strata = {(m, o): [i for i in range(1, 301) if i % 5 == m and i % 3 == o] for m in range(5) for o in range(3)}
    drawn = mutate.draw(strata, 30, 1)
    assert len(drawn) == 30 and drawn == mutate.draw(strata, 30, 1) != mutate.draw(strata, 30, 2)
    assert all(drawn & set(ids) for ids in strata.values())
    assert len(mutate.draw(strata, 0, 1)) == 300


def test_drawn_sources_hold_the_drawn_mutants_alone(tmp_path):
    """Numbers are those of all mutants, whatever is drawn."""
    folder, lists = ROOT / "rtl" / "axi_copy", []
    for more in ([], ["--mutants", "50", "--draw", "7"]):
        out = tmp_path / str(len(more))
        done = subprocess.run([sys.executable, "scripts/mutate.py", "--output", str(out)] + more + sorted(
            str(p.relative_to(ROOT)) for p in folder.rglob("*.sv")), cwd=ROOT, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        lists.append(json.loads((out / "mutants.json").read_text()))
        text = "".join(p.read_text() for p in (out / "rtl").rglob("*.sv"))
        held = {int(n) for n in re.findall(r"tb_mut_differs\((\d+)", text)}
        assert held == {m["id"] for m in lists[-1] if m["drawn"]}
    assert len(held) == 50 and [m["edits"] for m in lists[0]] == [m["edits"] for m in lists[1]]


def test_jobs_of_a_suite():
    def job(line):
        return qualify_run.one_job(line.split(), "b/n4-mut", "n4", "0x5")
    unit = job("unit im2col cfg=n4 kind=fast index=3 cases=20 timeout=60")
    assert unit.line() == ["b/n4-mut/unit-im2col", "--run-seed", "0x5", "--index", "3", "--count", "20"]
    assert unit.line(4)[-4:] == ["--index", "7", "--count", "1"], "the case after four"
    test = job("test conv cfg=n4 kind=tap index=0 cases=2 -- k=3")
    assert test.line()[:4] == ["b/n4-mut/tandem", "test", "conv", "k=3"]
    case = job("case x cfg=n4 kind=tap timeout=120 -- a/x.case")
    assert case.line() == case.line(0) == ["b/n4-mut/tandem", "repro", "a/x.case"]
    assert job("unit im2col cfg=n8 kind=fast index=0 cases=1") is None
    assert job("python conv cfg=n4 kind=tap index=0 cases=20") is None


def test_what_checks_are_worth():
    mutants_ = [{"id": 1, "found": [[0, "a"], [1, "b"]]}, {"id": 2, "found": [[0, "a"]]},
                {"id": 3, "found": [[2, "c"]]}, {"id": 4}]
    assert qualify_report.worth(mutants_, 1) == [{"name": "a", "detected": 2, "only": 1},
                                                 {"name": "b", "detected": 1, "only": 0},
                                                 {"name": "c", "detected": 1, "only": 1}]
    assert qualify_report.smallest(mutants_, 0) == [(0, 2), (2, 1)]


def test_a_check_of_a_unit_around_the_mutant():
    found_ = [{"module": "d_a", "found": [[0, "unit:a"]]}, {"module": "b", "found": [[0, "unit:a"]]},
              {"module": "c", "found": [[0, "unit:a"]]}, {"module": "c", "found": [[0, "mem:mismatch"]]},
              {"module": "c", "found": [[7, "unit:c"]]}, {"module": "e", "found": [[0, "unit:f"]]},
              {"module": "c", "found": [[0, "assert:c.sv"]]}, {"module": "c", "found": [[0, "assert:b.sv"]]}]
    assert qualify_report.blamed(found_, "d", {"b": {"a"}, "d_f": {"e"}}, {7}) == {
        "by_units": 4, "right": 1, "around": 1, "inside": 1, "another": 1, "whole": 7,
        "whole_right": 3}


def test_blame_by_rule(tmp_path):
    """The report has the figures of each rule, and those whose unit is not named, nor one around it."""
    dir_ = result(tmp_path / "a", *(mutant(n, "detected", signature="unit:%s:x" % name, cycles=1, module="b",
                                           found=[[0, "unit:" + name]]) for n, name in enumerate("bbae", 1)))
    kept = json.loads((Path(dir_) / "qualify.json").read_text())
    text = qualify_report.text_report(dict(kept, parents={"b": ["a"], "e": []}))
    assert "failures of unit checks in the whole design: 4\n" in text
    assert "      2 name the module that has the mutant: 50.0 % up to here\n" in text
    assert "      1 name a unit around it: 75.0 % up to here\n" in text
    assert "      1 name another unit\n" in text
    assert "of all 4 failures in the whole design 3 are a check or an assertion of the module or of a unit " \
        "around it: 75.0 %\n" in text
    assert "one around it: 1\n  4  rtl/a.sv:3: unit:e, in b, another unit: " in text
    assert "one around it" not in qualify_report.text_report(dict(kept, parents={"b": ["a", "e"]}))


def test_pages(tmp_path):
    kept = json.loads((Path(result(tmp_path / "a", mutant(1, "detected", signature="x", cycles=1),
                                   mutant(2, "survived", at=7, replay="t <2>"))) / "qualify.json").read_text())
    (tmp_path / "x.info").write_text("SF:rtl/a.sv\nDA:1,42\nend_of_record\n")
    for m in kept["mutants"]:
        m["line"] = 1
    qualify_report.write_pages(kept, str(tmp_path / "html"), str(tmp_path / "x.info"))
    page = (tmp_path / "html" / "rtl_a.sv.html").read_text()
    assert "assign x = 1;" in page and "1 of 2" in page and ">42<" in page and "t &lt;2&gt;" in page
    index = (tmp_path / "html" / "index.html").read_text()
    assert 'href="rtl_a.sv.html"' in index and 'href="rtl_a.sv.html#1"' in index and "50.00 %" in index
