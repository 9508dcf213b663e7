"""Short runs of all programs, which chaos.py repeats with one call failing in each.

A run works in a folder of its own; setup() puts there what it reads. Everything that is in the folder after an
undisturbed run is its output.
"""

import os
import re
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests"))
BUILD = (ROOT / os.environ.get("BUILD", "build")).resolve()
HOST = (ROOT / os.environ.get("HOST", BUILD / "host")).resolve()
DIGITS, DETECTOR = ROOT / "models/digits", ROOT / "models/detector"


class Run:
    """name, program and arguments; what may differ from run to run is removed from texts by `volatile`."""

    def __init__(self, name, program, *args, setup=None, volatile=(), check=None, status=0, stray=(), env=None,
                 later=False, needs=(), failed=None, left=None, doubts=False,
                 children=False):
        self.name, self.program, self.args = name, Path(program), [str(a) for a in args]
        self.setup, self.check, self.status = setup, check, status
        self.volatile = [re.compile(v.encode()) for v in volatile]
        self.stray = re.compile("|".join(stray)) if stray else None  # names of files that may be left, or differ
        self.failed = re.compile(failed) if failed else None  # files that a run which failed may leave in another form
        self.left = re.compile(left) if left else None  # files that stay where Verilator's runtime ends the process
        self.trace = False
        self.children = children  # it works in a child that it forks
        self.doubts = doubts  # what it cannot know it leaves as it is, and says so
        self.env, self.later, self.needs = env or {}, later, [Path(n) for n in needs]

    def missing(self):
        return next((p for p in [self.program, *self.needs] if not os.path.exists(p)), None)


def copies(*paths):
    def setup(folder):
        for path in paths:
            shutil.copy(path, folder)
    return setup


def make_vcd(folder):
    from test_axi_check import simple
    simple().write(folder / "bus.vcd")


def make_bad_vcd(folder):
    """The same with other write data in each cycle, which breaks rules of AXI."""
    from test_axi_check import TRAFFIC, changed, simple
    simple(traffic=changed(TRAFFIC, {c: {"wvalid": 1, "wdata": c, "wlast": 0} for c in range(4, 9)})).write(
        folder / "bus.vcd")


# ---- coverage files of short runs ----


def make_cov(folder, least=0):
    for i in (1, 2):
        subprocess.run([BUILD / "n4-fast/tandem", "test", "conv", "--run-seed", str(i), "--cov", f"{i}.cov"],
                       cwd=folder, check=True, stdout=subprocess.DEVNULL)
    (folder / "limits").write_text(f"total {least}\n")


# ---- the runner, with jobs that are shell scripts ----

JOBS = "unit pass cfg=n4 count=3\nunit fail cfg=n4\nunit error cfg=n8\ntest conv cfg=n8 count=2 cases=3\n"
DESIGN = "default\ncfg n4\ncfg n8\ncfg n16\ncfg n32\nmetric mesh every multiplier at work\n"


def make_bench(folder):
    from regress_bench import write_programs
    programs = folder / "programs"
    programs.mkdir()
    write_programs(programs)
    (folder / "designs/npu").mkdir(parents=True)
    (folder / "designs/npu/design").write_text(DESIGN)
    (folder / "build").mkdir()
    for cfg in ("n4", "n8"):
        (folder / f"build/{cfg}-fast").symlink_to(programs)
    (folder / "t.suite").write_text(JOBS)


def make_results(folder):
    """The folder after an undisturbed run."""
    make_bench(folder)
    regress_run(folder)


def regress_run(folder, *args):
    return subprocess.run([HOST / "tandem-regress", "run", "--suite", "t.suite", "--jobs", "2", *args], cwd=folder,
                          env=regress_env(folder), stdin=subprocess.DEVNULL, capture_output=True, timeout=60)


def regress_env(folder):
    return dict(os.environ, PATH=f"{folder}/programs/bin:{os.environ['PATH']}", CC="cc")


COLUMNS = "idx, what, test, cfg, kind, seed, first_index, outcome, signature, cycles, trace_hash"


def rows(folder, where="1"):
    """The jobs of the newest run of a folder, None when there is none."""
    path = folder / "build/results.db"
    if not path.exists() or path.stat().st_size == 0:
        return None
    db = sqlite3.connect(path)
    try:
        if db.execute("PRAGMA integrity_check").fetchone() != ("ok",):
            raise ValueError("the database is damaged")
        if db.execute("SELECT count(*) FROM sqlite_master WHERE name='run'").fetchone() == (0,):
            return None
        return db.execute(f"SELECT {COLUMNS} FROM job WHERE run=(SELECT max(id) FROM run) AND {where} "
                          "ORDER BY idx").fetchall()
    finally:
        db.close()


WANTED = {("unit", "pass"): "pass", ("unit", "fail"): "fail", ("unit", "error"): "error", ("test", "conv"): "pass"}


def check_regress(folder, mode):
    """Stored outcomes are right; the run can be resumed, and ends with the same table."""
    problems = []
    if mode == "EACCES":  # a job may have made its own files unreadable: that is its error
        return problems
    got = rows(folder) or []
    for row in got:
        wanted = WANTED[row[1:3]]
        if row[7] not in (None, "host", wanted):
            problems.append(f"wrong verdict: {row[1]} {row[2]} is {row[7]} ({row[8]}), expected {wanted}")
    finished = {row[0]: row for row in got if row[7] not in (None, "host")}
    again = regress_run(folder, "--resume") if got else None
    if got and any(row[7] in (None, "host") for row in got) and again.returncode not in (0, 1):
        problems.append(f"lost result: --resume refuses: {again.stderr.decode(errors='replace').strip()[:200]}")
        return problems
    after = rows(folder) or []
    if got and [row[7] for row in after] != [WANTED[row[1:3]] for row in after]:
        problems.append("lost result: after --resume outcomes are " + " ".join(str(row[7]) for row in after))
    for row in after:
        if row[0] in finished and finished[row[0]] != row:
            problems.append(f"lost result: job {row[0]} was finished and has changed")
    return problems


REGRESS_TEXT = (r"\d+\.\d+ ?s\b", r"\d+ s\b", r"run \d+\b", r"\d+:\d+:\d+", r"\d+ MB", r"\d\d\d\d-\d\d-\d\d[T ]",
                r"\b\d+ ms", r"\d+ jobs? in")
RUN_FILES = (r"build/regress/\d+", r"build/results\.db", r"junit\.xml")


def regress(name, *args, setup=make_bench, check=None, status=0, **more):
    # of a run, times and order make each output another one; its database is compared
    texts = (r"(?s).*\n(?=\d+ passed)",) if args[0] == "run" else REGRESS_TEXT
    return Run(name, HOST / "tandem-regress", *args, setup=setup, check=check, status=status, volatile=texts,
               stray=RUN_FILES, **more)


# ---- Python ----

PYTHON_RUN = """
import ctypes
import numpy as np, tandem, tandem.model
x = (np.arange(4 * 36) %% 7 - 3).astype(np.float32).reshape(4, 6, 6)
w = (np.arange(8 * 4 * 9) %% 11 - 5).astype(np.int8).reshape(8, 4, 3, 3)
ctypes.CDLL(None).inject_start()
%s
"""
PYTHON_DEVICE = """
print(tandem.model.fp_f32_to_i8(np.array([0.5, 1.5, -2.5, 200.0], np.float32)).tolist())
with tandem.Device("tandem", n=4) as dev:
    y = dev.conv2d(x, w, in_scale=30.0, w_scale=100.0, padding=1, act="relu")
    print(bytes(memoryview(y))[:64], dev.cycles)
"""
PYTHON_NETWORK = """
net = tandem.Network(%r, %r)
print(net.macs, {name: value.tolist() for name, value in net.reference(np.ones((1, 8, 8), np.float32)).items()})
""" % (str(DIGITS / "digits.param"), str(DIGITS / "digits.bin"))


def python(name, text):
    def setup(folder):
        (folder / "script.py").write_text(PYTHON_RUN % text)
    return Run(name, os.environ.get("PYTHON", "/usr/bin/python3"), "script.py", setup=setup, later=True,
               env={"PYTHONPATH": str(BUILD / "python"), "PYTHONDONTWRITEBYTECODE": "1"}, needs=[BUILD / "python"])


# ---- the table ----

FAST, TAP, MODEL = BUILD / "n4-fast/tandem", BUILD / "n4-tap/tandem", HOST / "tandem-model"
NET, COV = HOST / "tandem-net-model", HOST / "tandem-cov"
DIGITS_NET = ["--net", DIGITS / "digits.param", "--bin", DIGITS / "digits.bin"]
TEXTS = (r"\d+(\.\d+)? (s|ms|us|MB)\b", r"simulated cycles per second +\d+", r"share of the testbench +[-\d.]+")
DATES = (r"[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4}",)
# git tells another user nothing of a tree
SOURCES = (r"sources: (commit|not known)[^\n<&]*",)
CONV = ["test", "conv", "--run-seed", 1, "--count", 1]
CASE = ("test=copy\ncfg=n4\nseed=1\nw=3\nh=2\nc=2\nint8=0\ndata=ramp\ngap=0\nplace=74\nbus=ideal\nwait=irq\n"
        "dseed=1397640706\n")

RUNS = [
    Run("test", FAST, *CONV, "--result", "result", "--case-dir", "cases",
        "--cov", "a.cov", volatile=TEXTS, failed=r"a\.cov|cases/"),
    Run("run", FAST, "run", "conv", "ic=8", "oc=8", "iw=8", "ih=8", "k=3", "s=1", "--perf", "perf.svg", "--bus",
        "bus.json", "--case", "c.case", volatile=TEXTS, failed="build/cases/"),
    Run("repro", FAST, "repro", ROOT / "testcases/npu/cases/conv-n4-groups-odd.case", "--result", "result",
        volatile=TEXTS),
    # designs that fail: a memory that returns a wrong beat, one that stops
    Run("fail", FAST, *CONV, "--break", "m1.R:20:flip", "--result", "result", "--case-dir", "cases", status=1,
        volatile=TEXTS, failed="cases/"),
    Run("hang", FAST, *CONV, "--break", "m0.R:30", "--result", "result", status=1, volatile=TEXTS),
    Run("explain", TAP, "run", "eltwise", "c=1", "w=8", "h=1", "--break", "m0.R:1:flip", "--result", "result",
        "--case-dir", "cases", "--report", "report", status=1, volatile=TEXTS + DATES + SOURCES, needs=[TAP],
        failed="cases/|report", left=r"report\.tmp"),
    Run("shrink", FAST, "shrink", "c.case", "--break", "m0.R:1", "--jobs", 1, "--output", "s.case", "--keep",
        "dseed,place", volatile=TEXTS, children=True, failed=r"s\.case",
        setup=lambda f: (f / "c.case").write_text(CASE)),
    Run("list", FAST, "list", "--json"),
    Run("wave", TAP, "run", "eltwise", "c=1", "w=8", "h=1", "--wave", "w.fst", "--result", "result", needs=[TAP],
        volatile=TEXTS + DATES, failed="build/cases/"),
    Run("dump", TAP, "run", "eltwise", "c=1", "w=8", "h=1", "--dump", "tensors", volatile=TEXTS, needs=[TAP],
        failed=r"tensors/|build/cases/"),
    Run("unit", BUILD / "n4-fast/unit-mesh", "--run-seed", 1, "--count", 1, "--result", "result", "--case-dir",
        "cases", volatile=TEXTS, failed="cases/"),
    Run("digits", NET, "--images", "few.csv", "--count", 1, "--result", "result", *DIGITS_NET, "--int8-net",
        DIGITS / "digits-int8.param", "--int8-bin", DIGITS / "digits-int8.bin", volatile=TEXTS,
        setup=lambda f: (f / "few.csv").write_text(
            "\n".join((DIGITS / "heldout.csv").read_text().splitlines()[:3]) + "\n")),
    Run("net-show", NET, "--show", DIGITS / "digits.param"),
    Run("net-layers", NET, "--layers", "--optimise", "--random-weights", 1, "--net", DIGITS / "digits.param",
        volatile=TEXTS + (r" +\d+\.\d+",)),
    Run("net-classify", NET, "classify", *DIGITS_NET, "--norm", "0.0625", "--image", "one.csv",
        setup=lambda f: (f / "one.csv").write_text((DIGITS / "heldout.csv").read_text().splitlines()[0] + "\n")),
    Run("net-calibrate", NET, "calibrate", *DIGITS_NET, "--norm", "0.0625", "--method", "minmax", "--table", "t.table",
        "--out-param", "o.param", "--out-bin", "o.bin", "--image", "few.csv", volatile=TEXTS,
        setup=lambda f: (f / "few.csv").write_text(
            "\n".join((DIGITS / "calibration.csv").read_text().splitlines()[:3]) + "\n")),
    Run("net-detect", NET, "detect", DETECTOR / "detector.param", DETECTOR / "detector.bin", "--order", "gray",
        "--mean", 128, "--norm", 0.0078125, "--draw", "boxes.png", "--image", DETECTOR / "pictures/003.png"),
    Run("axi-check", MODEL, "axi-check", "bus.vcd", "--stats", setup=make_vcd, children=True),
    Run("axi-bad", MODEL, "axi-check", "bus.vcd", setup=make_bad_vcd, children=True, status=1),
    Run("wave-table", MODEL, "wave", "bus.vcd", "--svg", "w.svg", "--signals", "top", setup=make_vcd, children=True),
    Run("cov-merge", COV, "merge", "-o", "all.cov", "1.cov", "2.cov", setup=make_cov, needs=[FAST]),
    Run("cov-report", COV, "report", "1.cov", "--html", "pages", setup=make_cov, needs=[FAST]),
    Run("cov-rank", COV, "rank", "1.cov", "2.cov", "-o", "small.suite", setup=make_cov, needs=[FAST]),
    Run("cov-gate", COV, "gate", "1.cov", "--thresholds", "limits", setup=make_cov, needs=[FAST]),
    Run("cov-below", COV, "gate", "1.cov", "--thresholds", "limits", status=1, setup=lambda f: make_cov(f, 100),
        needs=[FAST]),
    Run("cov-summary", COV, "summary", "1.cov", "-o", "figures", setup=make_cov, needs=[FAST]),
    Run("cov-plan", COV, "plan", "1.cov", "--cfg", "n4", "--jobs", 4, "-o", "plan.suite", setup=make_cov,
        needs=[FAST]),
    regress("regress", "run", "--suite", "t.suite", "--jobs", 2, "--junit", "junit.xml", status=1,
            check=check_regress),
    regress("regress-report", "report", "--html", "report", "--summary-json", "s.json", "--sarif", "s.sarif",
            setup=make_results, failed="report/"),
    regress("regress-query", "query", "failures", setup=make_results),
    regress("regress-gc", "gc", "--keep-runs", 1, setup=make_results, doubts=True),
    python("python-device", PYTHON_DEVICE),
    python("python-network", PYTHON_NETWORK),
]
