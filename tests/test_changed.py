"""What a change can affect (scripts/changed.py): a small design in a tree and a history of its own."""
import gzip
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from regress_bench import PROGRAM, ROOT

sys.path.insert(0, str(ROOT / "scripts"))
import build_times  # noqa: E402
import changed_git  # noqa: E402
import changed_sources  # noqa: E402
import reached  # noqa: E402

LEAF = """// a leaf
module leaf (
  input logic a_i,
  output logic [chip_pkg::Wide-1:0] b_o
);
  always_comb begin
    b_o = '0;
    if (a_i) b_o = '1;
  end
endmodule
"""
FILES = {
    "designs/chip/design": "about a chip\ndefault\ntop chip\nbuild w8-fast\ncfg w4 Width=4\ncfg w8 Width=8\nquick w4\n"
                           "tests walk run\ntests leafy for leaf*\n",
    "designs/chip/suites/smoke.suite": "test walk cfg=w4,w8 cases=5\ntest leafy cfg=w8 cases=6\ntest run cfg=w4\n"
                                       "unit all cfg=w4\n",
    "rtl/chip/chip.sv": "module chip;\n"
                        "  logic leaf;  // no instance\n  mid #(.leaf(1)) u_mid (.leaf (1));\n"
                        "  other u_other [1:0] ();\nendmodule\n",
    "rtl/chip/mid.sv": "module mid;\n  leaf u_leaf ();\nendmodule\n",
    "rtl/chip/leaf.sv": LEAF,
    "rtl/chip/other.sv": "module other;\n  logic [chip_pkg::Deep-1:0] x; // not the leaf\nendmodule\n",
    "rtl/chip/chip_pkg.sv": "package chip_pkg;\n  localparam int Wide = 4;\n  localparam int Deep = 2;\n"
                            "  function automatic int more(int x);\n    more = x + Deep;\n  endfunction\nendpackage\n",
    "testcases/chip/unit/unit_leaf.c": "int bench(void) { return cm_leaf(1); }\n",
    "testcases/chip/unit/unit_mid.c": "int bench(void) { return 0; }\n",
    "testcases/chip/unit/main.c": "int main(void) { return all[0]; }\n",
    "tb/chip/score/mid.c": "int score_mid(void) { return tb_help(); }\n",
    "tb/chip/all.c": "#define ALL(X) X(mid)\n#define ENTRY(n) score_##n,\nint all[] = {ALL(ENTRY)};\n",
    "tb/help.c": "int tb_help(void) { return 1; }\n",
    "testcases/chip/unit/unit_other.c": "int bench(void) { return 0; }\n",
    "testcases/chip/walk.c": 'static int go(void) { return dr_walk(); }\nconst tc t = {.name = "walk", .go = go};\n',
    "testcases/chip/cases/walk-w4-one.case": "test=walk\ncfg=w4\nseed=0x1\n",
    "cmodel/chip/leaf.c": "static int half(int x) {\n    return x / 2; /* down */\n}\nint cm_leaf(int x) {\n"
                          "    return half(x);\n}\n",
    "drivers/chip/walk.c": "int dr_walk(void) {\n    return 1;\n}\n",
    "docs/chip.md": "text\n",
    "Makefile": "all:\n",
}


class Tree:
    def __init__(self, path):
        self.path = path
        for name, text in FILES.items():
            self.write(name, text)
        shutil.copytree(ROOT / "scripts", path / "scripts", ignore=shutil.ignore_patterns("__pycache__"))
        (path / ".gitignore").write_text("build\n__pycache__\n")
        self.git("init", "-q", "-b", "main")
        self.commit()

    def git(self, *words, folder=None):
        env = dict(os.environ, GIT_CONFIG_GLOBAL="/dev/null", GIT_CONFIG_SYSTEM="/dev/null")
        words = ("-c", "user.name=a", "-c", "user.email=a@b", *words)
        return subprocess.run(["git", "-C", folder or self.path, *words], check=True, capture_output=True, text=True,
                              env=env).stdout

    def commit(self):
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "x")

    def write(self, name, text):
        (self.path / name).parent.mkdir(parents=True, exist_ok=True)
        (self.path / name).write_text(text)

    def edit(self, name, before, after):
        text = (self.path / name).read_text()
        assert before in text
        self.write(name, text.replace(before, after))

    def run(self, *words, designs=""):
        env = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
        return subprocess.run([sys.executable, "scripts/changed.py", "--runner", PROGRAM, "--jobs", "2", *words],
                              cwd=self.path, capture_output=True, text=True, env=dict(env, DESIGNS=designs))

    def choice(self, *words, designs=""):
        """(output, [(job, why)])"""
        done = self.run("--budget", "0", *words, designs=designs)
        assert done.returncode == 0, done.stdout + done.stderr
        jobs = re.findall(r"^  ((?:unit|test|case|python|network) .*?)  +(.*)$", done.stdout, re.M)
        return done.stdout, jobs

    def jobs(self, *words):
        return [job for job, _ in self.choice(*words)[1]]

    def coverage(self, jobs, counted):
        """A coverage run: {line of a job: {line of leaf.sv: hits}}."""
        kept = {"run": "7", "counted": {"rtl/chip/leaf.sv": counted}, "sources": {"rtl/chip/leaf.sv": LEAF},
                "jobs": [{"line": line, "hits": {"rtl/chip/leaf.sv": hits}} for line, hits in jobs.items()]}
        (self.path / "build/coverage").mkdir(parents=True, exist_ok=True)
        with gzip.open(self.path / "build/coverage/reached.gz", "wt") as dst:
            json.dump(kept, dst)


@pytest.fixture
def tree(tmp_path):
    return Tree(tmp_path)


def test_nothing_is_said_too(tree):
    out = tree.choice()[0]
    assert "(where HEAD left main):\n  nothing\n" in out and "no job runs" in out
    tree.edit("docs/chip.md", "text", "words")
    tree.edit("rtl/chip/leaf.sv", "// a leaf", "// a green leaf")
    tree.edit("cmodel/chip/leaf.c", "/* down */", "/* towards zero */")
    tree.edit("designs/chip/suites/smoke.suite", "cases=5", "cases=4")
    out, jobs = tree.choice()
    assert not jobs and "no job runs" in out and not (tree.path / "build/changed/changed.suite").exists()
    assert "docs/chip.md, line 1: a document: no job\n" in out and "smoke runs it: no job\n" in out
    assert out.count("comments and blanks alone: no job\n") == 2


def test_module(tree):
    """The unit of the module, then those that contain it, then the tests; each with its reason."""
    tree.edit("rtl/chip/leaf.sv", "b_o = '0;", "b_o = '1;")
    out, jobs = tree.choice()
    assert "rtl/chip/leaf.sv, line 7: RTL" in out and "1 of 3 benches contain nothing of the change" in out
    assert "no coverage run of chip has been kept" in out
    assert jobs == [("unit leaf w8 fast", "rtl/chip/leaf.sv is its module"),
                    ("unit mid w8 fast", "contains mid > leaf"),
                    ("test leafy w4 fast", "a test of leaf: rtl/chip/leaf.sv has changed; of suite smoke")]
    suite = (tree.path / "build/changed/changed.suite").read_text()
    assert suite.startswith("suite changed\nordered\n# rtl/chip/leaf.sv is its module\nunit leaf cfg=w8 kind=fast ")
    assert tree.jobs("--cfg", "w4", "--kind", "tap")[0] == "unit leaf w4 fast"  # taps are of the whole design
    done = subprocess.run([PROGRAM, "run", "--suite", "build/changed/changed.suite", "--print-jobs"], cwd=tree.path,
                          capture_output=True, text=True)
    assert done.returncode == 0 and "\nordered\nunit leaf cfg=w4 kind=fast" in done.stdout, done.stderr


def test_no_pattern_fits(tree):
    """Tests of the whole design, where its description says nothing of the module."""
    tree.edit("rtl/chip/other.sv", "[chip_pkg::Deep-1:0] x", "[chip_pkg::Deep:0] x")
    assert tree.jobs() == ["unit other w8 fast", "test walk w4 fast", "test run w4 fast"]


def test_instances(tree):
    rtl = changed_sources.Rtl([str(tree.path / "rtl/chip")])
    assert {Path(p).stem: sorted(Path(u).stem for u in used) for p, used in rtl.uses.items()} == {
        "chip": ["mid", "other"], "mid": ["leaf"], "leaf": [], "other": [], "chip_pkg": []}


@pytest.mark.parametrize("before, after, units", [
    ("Wide = 4", "Wide = 5", ["leaf", "mid"]),
    ("Deep = 2", "Deep = 3", ["other"]),
    ("x + Deep", "x - Deep", []),
])
def test_declaration(tree, before, after, units):
    """Of a package, those that use the declaration."""
    tree.edit("rtl/chip/chip_pkg.sv", before, after)
    out, jobs = tree.choice()
    assert [job.split()[1] for job, _ in jobs if job.startswith("unit")] == units
    assert not units or f"which uses {before[:4]} of rtl/chip/chip_pkg.sv" in jobs[0][1]
    assert units or ("declares more, used by 0 files of the RTL" in out and "no job runs" in out)


def test_c(tree):
    tree.edit("cmodel/chip/leaf.c", "x / 2", "x / 3")
    out, jobs = tree.choice()
    assert "cmodel/chip/leaf.c, line 2: C: half" in out
    assert jobs == [("unit leaf w8 fast", "cmodel/chip/leaf.c is about leaf"),
                    ("test leafy w4 fast", "a test of leaf: cmodel/chip/leaf.c is about it; of suite smoke")]


def test_check(tree):
    """All benches have all checks, and each works where its module is. What has no module's name concerns all."""
    tree.edit("tb/chip/score/mid.c", "tb_help()", "!tb_help()")
    assert tree.choice()[1][0] == ("unit mid w8 fast", "tb/chip/score/mid.c is about mid")
    assert tree.jobs() == ["unit mid w8 fast", "test walk w4 tap", "test run w4 tap"]  # without taps no check runs
    tree.git("checkout", "-q", ".")
    tree.edit("tb/help.c", "return 1", "return 2")
    jobs = tree.choice()[1]
    assert [why for job, why in jobs if "unit" in job] == ["uses tb/help.c, 4 steps away"] * 3 and len(jobs) == 5


def test_driver(tree):
    """A test begins where its name is given."""
    tree.edit("drivers/chip/walk.c", "return 1", "return 2")
    assert tree.choice()[1][0] == ("test walk w4 fast", "uses drivers/chip/walk.c, 2 steps away; of suite smoke")


def test_files_that_are_no_sources(tree):
    tree.write("testcases/chip/cases/walk-w8-two.case", "test=walk\ncfg=w8\nseed=0x2\n")
    assert tree.choice()[1] == [("case walk-w8-two w8 fast", "the stored case has changed")]
    tree.edit("Makefile", "all:", "every:")
    assert len(tree.jobs()) == 1 + 3 + 3  # all benches, all tests
    tree.commit()
    (tree.path / "rtl/chip/other.sv").unlink()
    out, jobs = tree.choice("--base", "HEAD")
    assert "rtl/chip/other.sv, removed: a source that is gone" in out and len(jobs) == 5


def test_base(tree):
    """By default since HEAD left the main branch, with what is not committed."""
    tree.git("checkout", "-q", "-b", "work")
    tree.edit("rtl/chip/leaf.sv", "b_o = '0;", "b_o = '1;")
    tree.commit()
    tree.edit("rtl/chip/other.sv", "x;", "y;")
    assert [j for j in tree.jobs() if "unit" in j] == ["unit leaf w8 fast", "unit other w8 fast", "unit mid w8 fast"]
    assert [j for j in tree.jobs("--base", "HEAD") if "unit" in j] == ["unit other w8 fast"]
    done = tree.run("--base", "nowhere")
    assert done.returncode == 2 and done.stderr == "changed.py: BASE=nowhere: there is no such commit\n"
    for words, said in ((("--design", "none"), "no design none: "),
                        (("--cfg", "w9"), "no design at all with --cfg w9: ")):
        done = tree.run(*words)
        assert done.returncode == 2 and done.stderr == f"changed.py: {said}expected one of chip with w4 w8\n"


def test_tests_that_reached_the_lines(tree):
    """Also when lines before them have come or gone since the coverage run."""
    line = "test {} cfg=w8 kind=cov index={} cases=3 timeout=600 memory=4096"
    few, many, never, unit = (line.format("run", 3), line.format("walk", 6), line.format("walk", 0),
                              "unit leaf cfg=w8 kind=cov timeout=600")
    tree.coverage({never: {7: 9}, few: {8: 2}, many: {7: 50, 8: 4}, unit: {7: 1, 8: 1}}, [7, 8])
    tree.edit("rtl/chip/leaf.sv", "// a leaf\n", "// a leaf\n// of a tree\n")
    tree.edit("rtl/chip/leaf.sv", "if (a_i) b_o", "if (!a_i) b_o")
    tests = [(job, why) for job, why in tree.choice()[1] if job.startswith("test")]
    assert tests == [
        ("test walk w4 fast cases 6-8", "reached rtl/chip/leaf.sv:8 (4 times; 100% of the file) in coverage run 7"),
        ("test run w4 fast cases 3-5", "reached rtl/chip/leaf.sv:8 (2 times; 50% of the file) in coverage run 7")]
    tree.coverage({few: {8: 2}, many: {8: 4}, many.replace("index=6", "index=9"): {7: 1, 8: 4}}, [7, 8])
    assert tree.jobs()[2:] == ["test walk w4 fast cases 9-11", "test run w4 fast cases 3-5",
                               "test walk w4 fast cases 6-8"]  # other tests come before more of the same one
    suite = (tree.path / "build/changed/changed.suite").read_text()
    assert "\ntest walk cfg=w4 kind=fast index=6 cases=3 timeout=60 memory=4096\n" in suite
    tree.coverage({never: {7: 9}, few: {8: 2}, many: {7: 50, 8: 4}, unit: {7: 1, 8: 1}}, [7, 8])
    tree.write("rtl/chip/leaf.sv", LEAF.replace("input logic a_i", "input logic [1:0] a_i"))
    out, jobs = tree.choice()
    assert "test walk w4 fast cases 6-8  uses rtl/chip/leaf.sv (the changed lines count nothing; 100% of" in out
    assert len([job for job, _ in jobs if "test" in job]) == 1  # the others reach no more than one that does nothing
    tree.coverage({few: {7: 2}}, [7, 8])
    tree.write("rtl/chip/leaf.sv", LEAF.replace("if (a_i)", "if (!a_i)"))
    out, jobs = tree.choice()
    assert "no test of coverage run 7 reached the changed lines" in out and jobs[-1][0] == "test leafy w4 fast"
    (tree.path / "build/coverage/reached.gz").write_bytes(b"\x1f\x8b")
    done = tree.run()
    assert done.returncode == 2 and "reached.gz: cannot be read" in done.stderr and done.stderr.count("\n") == 1


def test_budget(tree):
    tree.edit("Makefile", "all:", "every:")
    done = tree.run("--budget", "6")
    assert re.search(r"beyond BUDGET=6 \(0: all of them\): \d jobs: unit mid, ", done.stdout), done.stdout
    assert len(re.findall(r"^  (?:unit|test) ", done.stdout, re.M)) == 2


def test_command(tree):
    tree.edit("rtl/chip/leaf.sv", "b_o = '0;", "b_o = '1;")
    done = tree.run("--", "sh", "-c", "echo got $0 $1; exit 1")
    assert done.returncode == 1 and done.stdout.endswith("got --suite build/changed/changed.suite\n")


def test_design_outside_the_tree(tree, tmp_path_factory):
    """It has a history of its own, or none."""
    outside = tmp_path_factory.mktemp("outside")
    for name, text in FILES.items():
        if "/chip/" in name:
            path = outside / name.replace("chip", "dsp")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text.replace("chip", "dsp").replace("default\n", ""))
    out, jobs = tree.choice("--design", "dsp", designs=str(outside))
    assert f"no git work tree in {outside}: every file counts as changed" in out and len(jobs) > 6
    tree.git("init", "-q", "-b", "main", folder=outside)
    tree.git("add", "-A", folder=outside)
    tree.git("commit", "-q", "-m", "x", folder=outside)
    (outside / "rtl/dsp/leaf.sv").write_text(LEAF.replace("chip", "dsp").replace("'0", "'1"))
    tree.edit("rtl/chip/leaf.sv", "b_o = '0;", "b_o = '1;")
    out, jobs = tree.choice("--design", "dsp", designs=str(outside))
    assert "rtl/chip/leaf.sv, line 7: of design chip, and DUT=dsp was asked for: no job" in out
    assert [job for job, _ in jobs] == ["unit leaf dsp/w8 fast", "unit mid dsp/w8 fast", "test leafy dsp/w4 fast"]
    assert {job for job, _ in tree.choice(designs=str(outside))[1]} >= {"unit leaf dsp/w8 fast", "unit leaf w8 fast"}


# ---- its parts ----

def test_diff():
    text = ("diff --git a/x.c b/x.c\nindex 1..2 100644\n--- a/x.c\n+++ b/x.c\n@@ -3 +3,2 @@ f\n-a\n+++ b/y\n+c\n@@ "
            "-9,2 +9,0 @@\n-diff --git a/z b/z\n-y\ndiff --git a/m b/m\nold mode 100644\nnew mode 100755\n"
            "diff --git a/n b/n\nnew file mode 100644\ndiff --git a/p.png b/p.png\n"
            "Binary files a/p.png and b/p.png differ\n")
    found = changed_git.parse(text)
    assert [(c.path, c.ranges, c.what) for c in found] == [
        ("x.c", [(3, 2), (9, 0)], ""), ("n", None, "new"), ("p.png", None, "not text")]
    assert found[0].lines(9) == {3, 4, 9} and str(found[0]) == "lines 3-4, after 9"


def test_parts_of_c():
    code = ('#define LIST(X) \\\n    X(one)\n#define MAKE(n) do_##n\nstruct s {\n    int a;\n};\n'
            'typedef enum e { A, B } e;\nstatic const char *names[] = {"do_two"};\nint do_one(struct s *p);\n'
            'static int f(void) {\n    return A;\n}\nint (*table)(void) = f;\n')
    parts = changed_sources.CParts("x.c", changed_sources.code_of(code)).parts
    found = {name: (p.first, p.last) for p in parts for name in p.names}
    assert found["LIST"] == (1, 2) and found["s"] == (4, 6) and found["f"] == (10, 12) and found["do_one"] == (9, 9)
    assert {"A", "B", "e", "names"} <= found.keys()
    assert {p.local for p in parts if set(p.names) & {"s", "f", "names", "LIST"}} == {True}


def test_names_that_macros_make(tmp_path):
    (tmp_path / "a.h").write_text("#define ALL(X) X(one)\n#define ENTRY(n) do_##n,\n")
    (tmp_path / "b.c").write_text("int do_one(void) {\n    return 1;\n}\nint do_two(void) {\n    return 2;\n}\n")
    (tmp_path / "c.c").write_text("int main(void) {\n    return table(ALL(ENTRY));\n}\n")
    c = changed_sources.C([str(tmp_path)])
    (tmp_path / "d.c").write_text("int other(void) {\n    return FIELDS(two);\n}\n")  # of another table
    c = changed_sources.C([str(tmp_path)])
    assert len(c.above(c.files[f"{tmp_path}/b.c"][1:])) == 1
    main = c.files[f"{tmp_path}/c.c"][0]
    assert [id(main) in c.above([p]) for p in c.files[f"{tmp_path}/b.c"]] == [True, False]


def test_lines_of_jobs_are_kept(tmp_path):
    """reached.py, with a stand-in for tandem-cov that writes a tracefile."""
    cov = tmp_path / "cov"
    cov.write_text('#!/bin/sh\ncat "$3" >"$5"\n')
    cov.chmod(0o755)
    source = tmp_path / "a.sv"
    source.write_text("module a;\nendmodule\n")
    (tmp_path / "jobs.suite").write_text("suite s\nseed 0x1\ntest x cfg=w4 kind=cov\ntest y cfg=w4 kind=fast\n"
                                         "unit z cfg=w4 kind=cov\n")
    trace = f"TN:t\nSF:{source}\nDA:1,5\nBRDA:2,0,0,3\nBRDA:2,0,1,-\nDA:3,0\nend_of_record\n"
    (tmp_path / "00000.code").write_text(trace)
    (tmp_path / "00002.code").write_text(trace.replace("DA:1,5", "DA:1,0"))
    words = [sys.executable, ROOT / "scripts/reached.py", cov, tmp_path / "jobs.suite", tmp_path, tmp_path / "out.gz",
             "9"]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0 and "lines reached by each of 2 jobs" in done.stdout, done.stderr
    kept = reached.Reached(tmp_path / "out.gz")
    assert kept.run == "9" and kept.counted == {str(source): {1, 2, 3}}
    assert kept.sources[str(source)] == source.read_text()
    assert kept.jobs == [("test x cfg=w4 kind=cov", {str(source): {1: 5, 2: 3}}),
                         ("unit z cfg=w4 kind=cov", {str(source): {2: 3}})]
    cov.write_text("#!/bin/sh\necho damaged >&2\nexit 1\n")
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 1 and done.stderr == "reached.py: damaged\n"


# ---- what a build costs ----

def test_build_times(tmp_path):
    """A real make: its commands are timed, with their exit status and output, and shared among steps and programs."""
    (tmp_path / "mk").write_text(
        "SHELL := {0}/scripts/timed_shell.sh\n.SHELLFLAGS = $(or $@,-) -c\nX := $(shell echo ok)\n"
        "all: b/n4-fast/v/unit_x/Vx.mk b/n4-fast/unit-x b/host/obj/tb/a/b.o b/host/libtb.a\n"
        "b/%:\n\t@mkdir -p $(@D); echo made $@ $(X)\n\t@test $* != host/libtb.a || python3 -c 'sum(range(20000000))'\n"
        "bad:\n\t@echo wrong >&2; exit 3\n".format(ROOT))
    words = [sys.executable, ROOT / "scripts/build_times.py", "t/times", "b", "make", "-f", "mk"]
    done = subprocess.run(words + ["all"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0 and "made b/host/libtb.a ok\n" in done.stdout, done.stderr
    rows = {line.split()[0]: line.split() for line in done.stdout.splitlines() if line and line[0] != " "}
    assert float(rows["archive"][1]) >= 0.1 and rows["archive"][3] == "2" and rows["Verilator"][3] == "2"
    assert rows["all"][2] == "8" and "n4-fast: unit-x" in done.stdout and "host: tb/" in done.stdout
    done = subprocess.run(words + ["bad"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 2 and "wrong\n" in done.stderr


@pytest.mark.parametrize("target, step, program", [
    ("n4-fast/v/unit_x/model.o", "C++", "n4-fast: unit-x"), ("dsp/w8-tap/v/top/model_slow.o", "C++", "dsp/w8-tap: top"),
    ("verilated-fast/verilated.o", "C++", "verilated-fast: shared"), ("n4-fast/tandem", "link", "n4-fast: tandem"),
    ("n4-fast/obj/testcases/a/unit/unit_x.o", "C", "n4-fast: unit-x"), ("host/tests/test_x", "link", "host: test_x"),
    ("n4-fast/obj/a/main.o", "C", "n4-fast: sources of its programs"), ("host/obj-n8/a/b.o", "C", "host: a/"),
    ("gen/a/x.stamp", "generated sources, stamps", "make and its scripts")])
def test_steps(target, step, program):
    assert build_times.step_of(target) == (step, program)
