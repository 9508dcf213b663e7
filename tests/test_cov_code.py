"""tandem-cov code: Verilator's and gcov's coverage read, merged, reported, exported, waived (docs/coverage-code.md). A
small design goes through the rules of the Makefile."""

import json
import os
import pathlib
import random
import shutil
import subprocess
import xml.etree.ElementTree as ET

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent
TOOL = str((ROOT / os.environ.get("HOST", "build/host") / "tandem-cov").resolve())
FULL = os.environ.get("TANDEM_CHECK") == "1"

SOURCE = """module unit (input logic [3:0] a_i);
  always_comb begin
    if (a_i[0]) x = 1;
    else x = 2;
    case (a_i[2:1])
      2'd0: y = 0;
      default: y = 1;
    endcase
  end
endmodule
package empty_pkg;
endpackage
"""


def call(*args, status=0, cwd=None):
    done = subprocess.run([TOOL, "code", *map(str, args)], capture_output=True, text=True, cwd=cwd)
    assert done.returncode == status, done.stderr + done.stdout
    if status != 0:
        assert len(done.stderr.splitlines()) <= 1, done.stderr
    return done.stdout + done.stderr


def point(page, line, column, name, count, lines="", hier="top.u", file="rtl/part/unit.sv"):
    fields = ([("f", file), ("l", line), ("n", column), ("page", page), ("o", name)] +
              ([("S", lines)] if lines else []) + [("h", hier)])
    return "C '%s' %d\n" % ("".join("\1%s\2%s" % f for f in fields), count)


def dat(*points):
    return "# SystemC::Coverage-3\n" + "".join(points)


def unit(scale, bits=4, width=4):
    """A file of the unit above; scale: hits."""
    module = "unit__W%d" % width
    points = [point("v_line/" + module, 2, 3, "block", 8 * scale, "2,5"),
              point("v_branch/" + module, 3, 5, "if", 0, "3"),
              point("v_branch/" + module, 3, 6, "else", 8 * scale, "4"),
              point("v_line/" + module, 6, 7, "case", 3 * scale, "6"), point("v_line/" + module, 7, 7, "case", 0, "7")]
    points += [point("v_toggle/" + module, 1, 33, "a_i[%d]" % b, scale if b < 2 else 0) for b in range(bits)]
    points += [point("v_user/" + module, 2, 1, "seen", scale, "2")]
    return dat(*points)


@pytest.fixture()
def tree(tmp_path):
    (tmp_path / "rtl/part").mkdir(parents=True)
    (tmp_path / "rtl/part/unit.sv").write_text(SOURCE)
    (tmp_path / "one.dat").write_text(unit(1))
    (tmp_path / "two.dat").write_text(unit(2, bits=6, width=6))
    call("merge", "-o", "all.code", "one.dat", "two.dat", cwd=tmp_path)
    return tmp_path


def report(tree, *args):
    return json.loads(call("report", "all.code", "--json", *args, cwd=tree))


def test_points(tree):
    found = report(tree)
    total = found["total"]
    # lines 2 to 7: the if of line 3 was looked at, although it was never true; line 7 was not reached
    assert (total["line"]["points"], total["line"]["covered"]) == (6, 5)
    assert (total["branch"]["points"], total["branch"]["covered"]) == (4, 2)
    assert (total["toggle"]["points"], total["toggle"]["covered"]) == (6, 2)  # the union of both widths
    assert total["user"]["covered"] == 1
    assert total["branch"]["percent"] == total["branch"]["percent_before"] == 50.0
    assert ([u["name"] for u in found["units"]] == ["part"] and
            [f["name"] for f in found["files"]] == ["rtl/part/unit.sv"])
    assert found["no_points"] == [{"module": "empty_pkg", "file": "rtl/part/unit.sv"}]
    assert {(h["kind"], h["line"], h["name"]) for h in found["holes"]} == {
        ("line", 7, ""), ("branch", 3, "if"), ("branch", 7, "case"), ("toggle", 1, "a_i[2..5]")}
    text = call("report", "all.code", cwd=tree)
    assert "rtl/part/unit.sv:3  if  | if (a_i[0]) x = 1;" in text and "empty_pkg" in text


def test_newer_pages(tree):
    """What later Verilators write: full names of keys, directions of toggles, expressions."""
    (tree / "new.dat").write_text(
        dat("C '\1filename\2rtl/x.sv\1lineno\0023\1column\0024\1page\2v_toggle/x\1comment\2a[0]:0->1\1hier\2t' 1\n",
            point("v_expr/x", 4, 1, "(a==0) => 0", 2), point("v_line/x", 5, 1, "if", 0, "5-6")))
    call("merge", "-o", "all.code", "new.dat", cwd=tree)
    total = report(tree)["total"]
    assert total["toggle"]["covered"] == 1 and total["expr"]["points"] == 1 and total["line"]["points"] == 2


def test_merge_does_not_depend_on_order_or_threads(tree):
    rng = random.Random(7)
    names = []
    for i in range(12):
        name = "m%d.dat" % i
        (tree / name).write_text(unit(rng.randrange(4), bits=4 + i % 3, width=4 + i % 3))
        if i % 4 == 0:
            call("merge", "-o", "m%d.code" % i, name, cwd=tree)
            name = "m%d.code" % i
        names.append(name)
    results = set()
    for threads in (1, 2, 5):
        rng.shuffle(names)
        call("merge", "-o", "out.code", "-j", threads, *names, cwd=tree)
        results.add((tree / "out.code").read_bytes())
    call("merge", "-o", "a.code", *names[:5], cwd=tree)
    call("merge", "-o", "b.code", *names[5:], cwd=tree)
    call("merge", "-o", "out.code", "b.code", "a.code", cwd=tree)
    results.add((tree / "out.code").read_bytes())
    assert len(results) == 1


def test_damaged_files(tree):
    good = (tree / "all.code").read_bytes()
    rng = random.Random(3)
    cases = [good[:n] for n in (0, 5, 14, 60, len(good) - 1)] + [good + b"x"]
    for _ in range(200 if FULL else 40):
        at = rng.randrange(len(good))
        cases.append(good[:at] + bytes([good[at] ^ 1 << rng.randrange(8)]) + good[at + 1:])
    for bytes_ in cases:
        (tree / "bad.code").write_bytes(bytes_)
        assert "bad.code" in call("report", "bad.code", status=1, cwd=tree)
    text = unit(1)
    bad = [text[:-3], text.replace("v_line", "v_lime"), text.replace("' 8", "' -8"),
           text.replace("' 8", "' 99999999999999999999"),
           text.replace("C '\1f", "D '\1f", 1), text.replace("\0022,5", "\0025-2", 1),
           text.replace("\0023\1n", "\2x\1n", 1), text.replace("a_i[0]", "a%0Ai")]
    for text in bad:
        (tree / "bad.dat").write_text(text)
        assert "bad.dat" in call("merge", "-o", "x.code", "bad.dat", status=1, cwd=tree)
        assert not (tree / "x.code").exists()


def test_usage(tree):
    for args in ([], ["nothing"], ["merge", "one.dat"], ["report"], ["report", "--wrong", "x"],
                 ["gate", "all.code"], ["merge", "-o", "x", "-j", "two", "one.dat"]):
        call(*args, status=2,
             cwd=tree) if args != [] and args != ["nothing"] else subprocess.run([TOOL, "code", *args], check=False)
    call("merge", "-o", "nowhere/x.code", "one.dat", status=1, cwd=tree)


# ---- waivers ----

WAIVERS = """# reviewed
toggle rtl/*/unit.sv a_i[2..3]
toggle rtl/*/unit.sv a_i[4..5]
why: no such address
check: look at the memory map
branch rtl/part/unit.sv case default: y*
why: never
check: read the table
"""


def test_waivers(tree):
    (tree / "w.txt").write_text(WAIVERS)
    found = report(tree, "--waivers", "w.txt")
    assert found["total"]["toggle"] == {"points": 6, "covered": 2, "waived": 4,
                                        "percent": 100.0, "percent_before": 33.33}
    assert found["total"]["branch"]["percent"] == 66.67 and found["total"]["branch"]["percent_before"] == 50.0
    assert found["stale"] == [] and {w["why"] for w in found["waived"]} == {"no such address", "never"}
    # lines that move do not matter
    (tree / "rtl/part/unit.sv").write_text("")
    assert report(tree, "--waivers", "w.txt")["stale"] == ["branch rtl/part/unit.sv case default: y*"]


@pytest.mark.parametrize("pattern,what", [("toggle rtl/part/unit.sv b_i*", "it matches nothing"),
                                          ("toggle rtl/part/unit.sv a_i[0..1]", "all that it matches is covered"),
                                          ("line rtl/part/unit.sv no such text", "it matches nothing")])
def test_stale_waivers_fail(tree, pattern, what):
    (tree / "w.txt").write_text(pattern + "\nwhy: because\ncheck: look\n")
    (tree / "t.txt").write_text("line 10\n")
    out = call("gate", "all.code", "--waivers", "w.txt", "--thresholds", "t.txt", status=1, cwd=tree)
    assert "w.txt:1: stale: %s: %s" % (pattern, what) in out
    assert report(tree, "--waivers", "w.txt")["stale"] == [pattern]


@pytest.mark.parametrize("text,what", [
    ("toggle x\nwhy: a\ncheck: b\n", ":1: expected KIND FILE PATTERN"),
    ("jump x y\n", ":1: expected line, branch or toggle"), ("toggle x y\nwhy: a\n", "without its line \"check: \""),
    ("toggle x y\ncheck: a\n", "without its line \"why: \""), ("why: a\n", ":1: no waiver before it"),
    ("line x y\nwhy: a\nwhy: b\n", ":3: said twice"), ("line x y\nwhy:\n", ":2: expected a reason")])
def test_bad_waivers(tree, text, what):
    (tree / "w.txt").write_text(text)
    assert what in call("report", "all.code", "--waivers", "w.txt", status=1, cwd=tree)


def test_gate(tree):
    (tree / "w.txt").write_text(WAIVERS)
    (tree / "t.txt").write_text("line 80 # most\nbranch 60\ntoggle.part 100\nwaived 40\n")
    out = call("gate", "all.code", "--waivers", "w.txt", "--thresholds", "t.txt", cwd=tree).splitlines()
    assert out[0] == "ok    line 83.33 % (83.33 % before waivers), at least 80"
    assert out[2] == "ok    toggle.part 100.00 % (33.33 % before waivers), at least 100"
    (tree / "t.txt").write_text("waived 3\n")
    assert "ABOVE waived 31.25 %" in call("gate", "all.code", "--waivers", "w.txt",
                                          "--thresholds", "t.txt", status=1, cwd=tree)
    (tree / "t.txt").write_text("line 90\n")
    assert "BELOW line 83.33 %" in call("gate", "all.code", "--thresholds", "t.txt", status=1, cwd=tree)
    assert json.loads(call("gate", "all.code", "--thresholds", "t.txt", "--json", status=1, cwd=tree)) == {
        "thresholds": [{"name": "line", "is": 83.33, "before_waivers": 83.33, "threshold": 90, "pass": False}],
        "stale": 0, "pass": False}
    for bad in ("lines 90\n", "line\n", "line x\n", "line 101\n", "toggle.none 3\n"):
        (tree / "t.txt").write_text(bad)
        assert "t.txt: line 1" in call("gate", "all.code", "--thresholds", "t.txt", status=1, cwd=tree)


# ---- explanations ----

HOLES = """# reviewed
toggle rtl/*/unit.sv a_i[2..3] a_i[4]
why: the driver never asks for so many
hit: test conv ic=4096
branch rtl/part/unit.sv case default: y = 1;
line rtl/part/unit.sv default: y = 1;
why: nobody has looked
hit: a unit test
"""


def test_explanations(tree):
    """They take nothing off, and each hole has its own; bits in a row with different reasons are two holes."""
    (tree / "h.txt").write_text(HOLES)
    before, found = report(tree), report(tree, "--explain", "h.txt")
    assert found["total"] == before["total"] and found["stale"] == [] and found["waived"] == []
    holes = {(h["kind"], h["name"]): (h["why"], h["hit"]) for h in found["holes"]}
    assert holes == {("toggle", "a_i[2..3]"): ("the driver never asks for so many", "test conv ic=4096"),
                     ("toggle", "a_i[4]"): ("the driver never asks for so many", "test conv ic=4096"),
                     ("toggle", "a_i[5]"): ("", ""), ("branch", "if"): ("", ""),
                     ("branch", "case"): ("nobody has looked", "a unit test"),
                     ("line", ""): ("nobody has looked", "a unit test")}
    assert (found["holes_points"], found["explained"]) == (7, 5) and all(h["why"] == "" for h in before["holes"])
    text = call("report", "all.code", "--explain", "h.txt", cwd=tree)
    assert ("a_i[2..3]  | module unit" in text and "why: the driver never asks for so many" in text and
            "hit: test conv ic=4096" in text)
    assert "holes: 7, 5 of them explained" in text


def test_same_lines(tree):
    """Lines with one text are told apart by the one below."""
    source = "module unit;\nif (a)\n  b = 1;\nif (a)\n  b = 2;\nendmodule\n"
    (tree / "rtl/part/unit.sv").write_text(source)
    (tree / "s.dat").write_text(dat(point("v_branch/unit", 2, 1, "if", 0, "3"),
                                    point("v_branch/unit", 4, 1, "if", 0, "5")))
    call("merge", "-o", "all.code", "s.dat", cwd=tree)
    for what, lines in (("if if (a)", {2, 4}), ("if if (a) // next: b = 2;", {4}),
                        ("if if (a) // next: b = 3;", set())):
        (tree / "h.txt").write_text("branch rtl/part/unit.sv %s\nwhy: a\nhit: b\n" % what)
        assert {h["line"] for h in report(tree, "--explain", "h.txt")["holes"] if h["why"]} == lines


def test_explanations_after_waivers(tree):
    (tree / "w.txt").write_text("toggle rtl/part/unit.sv a_i[2..3]\nwhy: no such address\ncheck: look\n")
    (tree / "h.txt").write_text(HOLES + "toggle rtl/part/unit.sv a_i[2..5]\nwhy: a\nhit: b\n")
    found = report(tree, "--waivers", "w.txt", "--explain", "h.txt")
    assert found["explain_nothing"] == ["toggle rtl/*/unit.sv a_i[2..3]"]  # waived; a_i[5] is left for the last one
    assert {h["name"]: h["why"] for h in found["holes"]
            if h["kind"] == "toggle"} == {"a_i[4]": "the driver never asks for so many", "a_i[5]": "a"}


def test_explanations_gate(tree):
    (tree / "t.txt").write_text("unexplained 2\n")
    assert "ABOVE explained 0 of 7 holes, at most 2 unexplained" in call("gate", "all.code",
                                                                         "--thresholds", "t.txt", status=1, cwd=tree)
    (tree / "h.txt").write_text(HOLES)
    assert call("gate", "all.code", "--thresholds", "t.txt", "--explain", "h.txt",
                cwd=tree) == "ok    explained 5 of 7 holes, at most 2 unexplained\n"
    (tree / "t.txt").write_text("unexplained 0\n")
    found = json.loads(call("gate", "all.code", "--thresholds", "t.txt",
                            "--explain", "h.txt", "--json", status=1, cwd=tree))
    assert found["thresholds"] == [{"name": "unexplained", "is": 2, "before_waivers": 0,
                                    "threshold": 0, "pass": False}] and not found["pass"]
    (tree / "h.txt").write_text(
        HOLES + "toggle rtl/part/unit.sv a_i[5]\nbranch rtl/part/unit.sv if if (a_i[0]) x = 1;\nwhy: a\nhit: b\n")
    assert call("gate", "all.code", "--thresholds", "t.txt", "--explain", "h.txt",
                cwd=tree) == "ok    explained 7 of 7 holes, at most 0 unexplained\n"


@pytest.mark.parametrize("pattern,what", [("toggle rtl/part/unit.sv b_i[2]", "it matches nothing"),
                                          ("toggle rtl/part/unit.sv a_i[0..1]",
                                           "all that it matches is covered, waived or explained above"),
                                          ("line rtl/part/unit.sv no such text", "it matches nothing")])
def test_explanations_of_nothing_are_named(tree, pattern, what):
    (tree / "h.txt").write_text(HOLES + pattern + "\nwhy: because\nhit: try\n")
    (tree / "t.txt").write_text("line 10\n")
    out = call("gate", "all.code", "--explain", "h.txt", "--thresholds", "t.txt", cwd=tree)
    assert "h.txt:9: explains nothing: %s: %s" % (pattern, what) in out
    found = report(tree, "--explain", "h.txt")
    assert found["explain_nothing"] == [pattern] and found["stale"] == []


@pytest.mark.parametrize(
    "text,what", [("toggle x y*\nwhy: a\nhit: b\n", ":1: an explanation names what it explains: no * in its pattern"),
                  ("line x y\nwhy: a\n", ":1: an explanation without its line \"hit: \""),
                  ("line x y\nhit: a\n", ":1: an explanation without its line \"why: \""),
                  ("hit: a\n", ":1: no explanation before it"),
                  ("line x y\nwhy: a\ncheck: b\n", ":1: an explanation without its line \"hit: \"")])
def test_bad_explanations(tree, text, what):
    (tree / "h.txt").write_text(text)
    assert what in call("report", "all.code", "--explain", "h.txt", status=1, cwd=tree)


def test_explanation_pages(tree):
    (tree / "h.txt").write_text(HOLES)
    call("html", "all.code", "-o", "pages", "--explain", "h.txt", cwd=tree)
    index, page = (tree / "pages/index.html").read_text(), (tree / "pages/rtl--part--unit.sv.html").read_text()
    assert "5 of 7 lines, arms and bits without a hit are explained" in index and "test conv ic=4096" in index
    line = {n: page.split('id="l%d"' % n)[1].split('<tr id=')[0] for n in (1, 3, 7)}  # with the row below it
    assert (line[1].count("the driver never asks for so many") == 1 and
            "test conv ic=4096" in line[1] and "nobody" not in line[1] + line[3])
    assert line[7].count("nobody has looked") == 1 and "a unit test" in line[7]


# ---- exports ----


def test_lcov(tree):
    call("info", "all.code", "-o", "x.info", cwd=tree)
    text = (tree / "x.info").read_text()
    for line in ("SF:rtl/part/unit.sv", "DA:2,24", "DA:3,24", "DA:7,0",
                 "LF:6", "LH:5", "BRDA:3,0,0,0", "BRDA:3,0,1,24", "BRF:4", "BRH:2"):
        assert line in text.splitlines(), text
    if shutil.which("genhtml") is None:
        pytest.fail("needs genhtml (make deps)")
    done = subprocess.run(["genhtml", "--branch-coverage", "--output-directory", "out", "x.info"],
                          cwd=tree, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "(5 of 6 lines)" in done.stdout and "(2 of 4 branches)" in done.stdout


def test_cobertura(tree):
    call("cobertura", "all.code", "-o", "x.xml", cwd=tree)
    top = ET.parse(tree / "x.xml").getroot()
    assert (top.tag == "coverage" and top.get("lines-valid") == "6" and
            top.get("branches-covered") == "2" and top.get("line-rate") == "0.8333")
    package = top.find("packages/package")
    assert package.get("name") == "part" and package.find("classes/class").get("filename") == "rtl/part/unit.sv"
    lines = {e.get("number"): e for e in package.iter("line")}
    assert (sorted(lines) == list("234567") and lines["3"].get("condition-coverage") == "50% (1/2)" and
            lines["7"].get("hits") == "0")


def test_pages(tree):
    (tree / "w.txt").write_text(WAIVERS)
    call("html", "all.code", "-o", "pages", "--waivers", "w.txt", cwd=tree)
    index = (tree / "pages/index.html").read_text()
    page = (tree / "pages/rtl--part--unit.sv.html").read_text()
    assert ("rtl--part--unit.sv.html" in index and "no such address" in index and
            "empty_pkg" in index and "33.33" in index)
    assert ('id="l3"' in page and "if (a_i[0]) x = 1;" in page and "waived: never" in page and
            "if 0</span>" in page and "else 24</span>" in page)
    for text in (index, page):
        assert "<script" not in text and "http" not in text and "prefers-color-scheme" in text


def test_user(tree):
    out = call("user", "all.code", "-o", "sv.cov", cwd=tree, status=1)
    assert "rtl/part/unit.sv:2: cover property seen: expected a comment" in out
    (tree / "rtl/part/unit.sv").write_text(
        "// hit: unit-x data=odd\n// bug: what nobody saw\n// more\nseen: cover property (x);\n")
    (tree / "u.dat").write_text(dat(point("v_user/unit", 4, 1, "seen", 5, "4"),
                                    point("v_user/unit", 4, 9, "also", 0, "4")))
    call("merge", "-o", "u.code", "u.dat", cwd=tree)
    call("user", "u.code", "-o", "sv.cov", cwd=tree)
    done = subprocess.run([TOOL, "report", "sv.cov", "--json"], cwd=tree, capture_output=True, text=True, check=True)
    assert "sv-unit" in done.stdout and "what nobody saw" in done.stdout and '"covered": 1' in done.stdout
    assert '"hint": "unit-x data=odd"' in done.stdout
    # in a list each unit has its own comment at the left margin
    (tree / "points.list").write_text("// hit: test a\none\n  // bug: what nobody saw\n  seen: x\n// hit: test b\ntwo\n"
                                      "  // bug: what nobody saw\n  seen: y\n")
    (tree / "u.dat").write_text(dat(*[point(f"v_user/{unit}_cover", line, 3, "seen", 0, str(line), file="points.list")
                                      for unit, line in (("one", 4), ("two", 8))]))
    call("merge", "-o", "u.code", "u.dat", cwd=tree)
    call("user", "u.code", "-o", "sv.cov", cwd=tree)
    done = subprocess.run([TOOL, "report", "sv.cov", "--json"], cwd=tree, capture_output=True, text=True, check=True)
    assert [b["hint"] for g in json.loads(done.stdout)["groups"] for p in g["points"]
            for b in p["bins"]] == ["test a", "test b"]


# ---- gcov ----

PROGRAM = """int twice(int x) {
    if (x > 3) {
        return 1;
    }
    return 2;
}
int never(int x) {
    return x;
}
int main(void) {
    return twice(1) == 2 ? 0 : 1;
}
"""


def test_gcov(tmp_path):
    (tmp_path / "cmodel").mkdir()
    (tmp_path / "cmodel/x.c").write_text(PROGRAM)
    (tmp_path / "build").mkdir()
    for args in (["gcc", "--coverage", "-O1", "-fno-inline", "-c", "cmodel/x.c", "-o", "build/x.o"],
                 ["gcc", "--coverage", "build/x.o", "-o", "build/x"], ["build/x"]):
        subprocess.run(args, cwd=tmp_path, check=True)
    call("gcov", "-o", "host.code", "--root", ".", "--only", "cmodel,drivers", "build", cwd=tmp_path)
    found = json.loads(call("report", "host.code", "--json", cwd=tmp_path))
    assert [f["name"] for f in found["files"]] == ["cmodel/x.c"] and found["units"][0]["name"] == "cmodel"
    holes = {(h["kind"], h["line"]) for h in found["holes"]}
    assert {("line", 7), ("line", 8), ("branch", 2)} <= holes and ("line", 2) not in holes
    call("info", "host.code", "-o", "x.info", cwd=tmp_path)
    text = (tmp_path / "x.info").read_text().splitlines()
    assert "FN:7,never" in text and "FNDA:0,never" in text and "FNDA:1,twice" in text and "FNF:3" in text
    call("gcov", "-o", "none.code", "--only", "drivers", "build", cwd=tmp_path)
    assert json.loads(call("report", "none.code", "--json", cwd=tmp_path))["total"]["line"]["points"] == 0
    (tmp_path / "empty").mkdir()
    assert "no objects" in call("gcov", "-o", "x.code", "empty", status=1, cwd=tmp_path)


# ---- from a design to its report ----

RULES = """
include Makefile
$(eval $(call verilated_design,cov_toy,cov_toy,,tests/cov_code))
OBJ_check := $(OUT)/obj/tests/cov_code/cov_check.o $(OUT)/obj/tb/sim/assert.o $(OUT)/obj/tb/sim/sim.o \\
  $(OUT)/obj/tb/sim/clock.o $(OUT)/obj/tb/sim/coverage.o $(OUT)/obj/tb/sim/mutant.o $(OUT)/obj/tb/sim/part.o \\
  $(OUT)/obj/report/clock.o $(OUT)/obj/report/file.o $(OUT)/obj/report/host.o $(OUT)/obj/opt/opt.o
$(OUT)/cov-check: $(OBJ_check) $(DUT_cov_toy) $(VLT)/libverilated.a
\t@$(call link_top,$(OBJ_check),cov_toy,)
"""


def build(tmp, kind):
    if shutil.which("verilator") is None:
        pytest.fail("needs verilator (make deps)")
    rules = tmp / "rules.mk"
    rules.write_text(RULES)
    env = {k: v for k, v in os.environ.items() if not k.startswith("MAKE") and k != "MFLAGS"}
    program = tmp / "build" / ("n4-" + kind) / "cov-check"
    done = subprocess.run(["make", "-f", str(rules), "-j2", f"BUILD={tmp}/build", "CFG=n4",
                           "KIND=" + kind, "SAN=", "TANDEM_BUILDING=1", str(program)], cwd=ROOT, env=env,
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return str(program)


def test_design(tmp_path):
    program = build(tmp_path, "cov")
    # two runs in one process; the low bits rise and fall in the first one, bit 7 rises only
    subprocess.run([program, str(tmp_path / "x.dat"), "1,0,3,f,0,80,81", "1,1"], check=True)
    call("merge", "-o", "x.code", "x.dat", cwd=tmp_path)
    found = json.loads(call("report", "x.code", "--json", "--source", ROOT,
                            "--modules", "tests/cov_code", cwd=tmp_path))
    holes = {(h["kind"], h["line"], h["name"]) for h in found["holes"]}
    toggles = {h[2] for h in holes if h[0] == "toggle"}
    assert "one_o" in toggles, "a constant does not toggle"
    assert "rst_ni" in toggles, "it rose once in each run"
    assert any(t.startswith("a_i[4..7]") for t in toggles) and not any(t.startswith("a_i[0") for t in toggles)
    # coverage_off
    assert not any("shadow" in h[2] for h in holes) and not any(h[0] != "toggle" and h[1] > 56 for h in holes)
    assert ("branch", 50, "case") not in holes  # default: state 1
    assert found["total"]["user"] == {"points": 2, "covered": 2, "waived": 0, "percent": 100.0, "percent_before": 100.0}
    branches = {h[1] for h in holes if h[0] == "branch"}
    assert branches == set(), branches
    # fewer values: the arms that they do not reach are missing
    subprocess.run([program, str(tmp_path / "x.dat"), "1,1"], check=True)
    call("merge", "-o", "x.code", "x.dat", cwd=tmp_path)
    found = json.loads(call("report", "x.code", "--json", "--source", ROOT, cwd=tmp_path))
    assert {(h["line"],
             h["name"]) for h in found["holes"] if h["kind"] == "branch"} == {(14, "if"), (47, "case"), (48, "case")}
    # what cannot be written is said
    done = subprocess.run([program, str(tmp_path / "no/x.dat"), "1"], capture_output=True, text=True)
    assert done.returncode == 1 and "no/x.dat: cannot be written" in done.stderr
    done = subprocess.run([program, "/dev/full/x.dat", "1"], capture_output=True, text=True)
    assert done.returncode == 1 and len(done.stderr.splitlines()) == 1


@pytest.mark.skipif(not FULL, reason="not run: it builds a simulation (make check)")
def test_design_without_counters(tmp_path):
    program = build(tmp_path, "fast")
    done = subprocess.run([program, str(tmp_path / "x.dat"), "1"], capture_output=True, text=True)
    assert done.returncode == 1 and "code coverage needs a build that counts it (KIND=cov)" in done.stderr
    assert not (tmp_path / "x.dat").exists()


def test_meshes():
    done = subprocess.run(["make", "CFG=n16", "KIND=cov", "help"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode != 0 and "expected one of n4 n8" in done.stderr


@pytest.mark.skipif(not FULL, reason="TANDEM_CHECK=1: a thousand files")
def test_a_thousand_files(tmp_path):
    shape = [point("v_toggle/m%d" % (i % 50), 1 + i // 50, 5, "sig[%d]" % i, 0, file="rtl/u/m%d.sv" % (i % 50))
             for i in range(20000)]
    rng = random.Random(1)
    for k in range(1000):
        (tmp_path / ("%d.dat" % k)).write_text(dat(*[p[:-2] + "%d\n" % (rng.random() < 0.3) for p in shape])
                                               if k < 10 else (tmp_path / ("%d.dat" % (k % 10))).read_text())
    import time
    start = time.monotonic()
    call("merge", "-o", "all.code", *["%d.dat" % k for k in range(1000)], cwd=tmp_path)
    took = time.monotonic() - start
    print("1000 files of 20000 points: %.1f s" % took)
    assert took < 20
