"""From a run to its failure (make repro, shrink, wave with RUN=), and a unit watched (make watch), with fake
programs."""

import os
import re
import signal
import subprocess

import pytest

import regress_bench
from regress_bench import ROOT, bench, programs, wait_until  # noqa: F401

# Fails with a case that knows its test; shows and shrinks it.
TANDEM = r"""#!/bin/bash
echo "$0 $*" >> calls
command=$1; file=$2
result= cases= report= output=
while [ $# -gt 0 ]; do
  case $1 in --result) result=$2;; --case-dir) cases=$2;; --report) report=$2;; --output) output=$2;; esac
  shift
done
case $command in
  test)
    printf 'test=conv\ncfg=n8\nseed=0x1\n' > $cases/c.case
    printf 'outcome=fail\nsignature=memory\ncycles=5\ncase=%s/c.case\n' $cases > $result.tmp; mv $result.tmp $result;;
  repro) mkdir -p $report; WAVE; touch $report/wave.gtkw $report/report.html;;
  shrink) echo small > $output;;
esac
exit 1
"""


def tandem(bench, kinds=("fast", "tap"), wave="touch $report/wave.fst"):
    for kind in kinds:
        folder = bench.build / f"n8-{kind}"
        if not folder.exists():
            folder.mkdir()
        bench.program(folder / "tandem", "")
        (folder / "tandem").write_text(TANDEM.replace("WAVE", wave))
        (folder / "tandem").chmod(0o755)


def script(bench, name, kind="default", **variables):
    env = dict(bench.env, RUNNER=str(regress_bench.PROGRAM), BUILD="build",
               MAKE_COMMAND="true", KIND=kind, CFG="n8", **variables)
    env.pop("DISPLAY", None)
    return subprocess.run([ROOT / "scripts" / name], cwd=bench.path, env=env,
                          capture_output=True, text=True, timeout=60)


def calls(bench):
    return (bench.path / "calls").read_text().splitlines()


def failure(bench, *args):
    done = bench.call("failure", *args)
    return done, dict(line.split("=", 1) for line in done.stdout.splitlines())


def test_failure_of_a_run(bench):
    tandem(bench)
    bench.run("unit fail cfg=n8\ntest conv cfg=n8 count=2\n", "--out", "o")
    bench.run("unit pass cfg=n8\n")
    done, found = failure(bench, "--run", "1")
    assert (done.returncode == 0 and
            (found["jobs"], found["job"], found["signature"], found["build"]) == ("2", "1", "memory", "n8-fast"))
    assert found["case"] == "o/00001-test-conv-n8/cases/c.case" and found["wave"] == ""
    done, found = failure(bench, "--run", "1", "--job", "0")
    assert (found["what"], found["job"], found["message"]) == ("unit fail", "0",
                                                               'mesh: column 5: got -312, expected <-310> & "more"')
    for args, text in ((["--run", "1", "--job", "7"], "run 1: no failure of job 7"), ([], "run 2: nothing failed")):
        done, _ = failure(bench, *args)
        assert done.returncode == 1 and text in done.stderr
    assert failure(bench, "--job", "x")[0].returncode == 2 and failure(bench, "extra")[0].returncode == 2


def test_repro_and_shrink_of_a_run(bench):
    tandem(bench)
    bench.run("test conv cfg=n8 count=2\n", "--out", "o")
    done = script(bench, "repro.sh", RUN="1", JOB="1")
    assert done.returncode == 1
    assert re.fullmatch("build/n8-tap/tandem repro o/00001-test-conv-n8/cases/c.case "
                        "--report build/report/conv-n8-0x1-[0-9a-f]{8}\n", done.stdout)
    done = script(bench, "shrink.sh", kind="tap", RUN="1")
    assert done.stdout == ("build/n8-tap/tandem shrink o/00000-test-conv-n8/cases/c.case "
                           "--output o/00000-test-conv-n8/cases/c-small.case\n")
    done = script(bench, "repro.sh", RUN="1", CASE="x")
    assert done.returncode == 2 and "cannot be combined with CASE= or TEST=" in done.stderr
    done = script(bench, "repro.sh", RUN="9")
    assert done.returncode == 1 and "no run 9" in done.stderr


def report_of(bench, **variables):
    return script(bench, "repro.sh", **variables).stdout.split("--report ")[1].split()[0]


def test_cases_that_differ_have_folders_of_their_own(bench):
    tandem(bench)
    for name, knob in (("a", "k=1"), ("b", "k=3")):
        (bench.path / f"{name}.case").write_text(f"test=conv\ncfg=n8\nseed=0x1\n{knob}\n")
    ways = [dict(CASE="a.case"), dict(CASE="b.case"), dict(CASE="a.case", BREAK="m0.R:3"),
            dict(CASE="a.case", kind="fast"), dict(TEST="conv", SEED="0x1"),
            dict(TEST="conv", SEED="0x1", KNOBS="k=1"), dict(TEST="conv", SEED="0x1", KNOBS="k=3")]
    folders = [report_of(bench, **way) for way in ways]
    assert len(set(folders)) == len(ways)
    assert all(folder.startswith("build/report/conv-n8-0x1-") for folder in folders)
    assert report_of(bench, **ways[0]) == folders[0]


def test_repro_shows_at_once_what_the_fast_build_says(bench):
    """As long as the build with checks is older than the RTL."""
    tandem(bench)
    (bench.path / "rtl").mkdir(exist_ok=True)
    (bench.path / "rtl/a.sv").write_text("")
    os.utime(bench.build / "n8-tap/tandem", (1, 1))
    (bench.path / "a.case").write_text("test=conv\ncfg=n8\nseed=0x1\n")
    os.utime(bench.path / "rtl/a.sv", (2, 2))
    lines = script(bench, "repro.sh", CASE="a.case").stdout.splitlines()
    assert [line.split()[0] for line in lines] == ["build/n8-fast/tandem", "repro:", "build/n8-tap/tandem"]
    os.utime(bench.build / "n8-fast/tandem", (1, 1))  # both are older
    lines = script(bench, "repro.sh", CASE="a.case").stdout.splitlines()
    assert [line.split()[0] for line in lines] == ["build/n8-tap/tandem"]


SHRINKS = r"""#!/bin/bash
# Fails as the case says: tall=signature, and once that line is gone fast=signature.
echo "$0 $*" >> calls
command=$1; file=$2
while [ $# -gt 0 ]; do case $1 in --result) result=$2;; --output) output=$2;; esac; shift; done
kind=${0%/tandem}; kind=${kind##*-}
case $command in
  shrink) grep -v ^tall= $file > $output; [ $kind = fast ] && sed -i "s/^fast=.*/fast=mem:differ/" $output; true;;
  repro) printf 'outcome=fail\nsignature=%s\n' "$(sed -n 's/^[tf]a[ls][lt]=//p' $file | head -n 1)" > $result; exit 1;;
esac
"""


@pytest.mark.parametrize("small, says, builds", [
    ("mem:differ", "the fast build shows mem:differ with the small case, too", ["tap"]),
    ("", "no longer shows mem:differ in the fast build (it passes there); again in the fast build", ["tap", "fast"]),
    ("watchdog:hang:x", "(watchdog:hang); again in the fast build", ["tap", "fast"]),
])
def test_shrink_keeps_what_the_user_saw(bench, small, says, builds):
    tandem(bench)
    for kind in ("fast", "tap"):
        (bench.build / f"n8-{kind}/tandem").write_text(SHRINKS)
    (bench.path / "a.case").write_text(f"test=conv\ncfg=n8\nseed=0x1\ntall=mem:differ\nfast={small}\n")
    done = script(bench, "shrink.sh", CASE="a.case", ARGS="--break m0.R:3 --jobs 2")
    assert done.returncode == 0 and says in done.stdout
    assert [c.split("-")[1].split("/")[0] for c in calls(bench) if " shrink " in c] == builds
    assert all("--break m0.R:3" in c and "--jobs" not in c for c in calls(bench) if " repro " in c)
    assert "fast=mem:differ\n" in (bench.path / "a-small.case").read_text()


def test_repro_takes_the_kind_of_the_run(bench):
    tandem(bench, kinds=("san",))
    bench.run("test conv cfg=n8 kind=san\n", "--out", "o")
    assert script(bench, "repro.sh", RUN="1").stdout.startswith("build/n8-san/tandem repro o/00000")


def test_a_failure_without_a_case(bench):
    bench.run("unit crash cfg=n8\n")
    done = script(bench, "wave.sh", RUN="1")
    assert (done.returncode == 2 and
            "run 1, job 0: it left no case; again: build/n8-fast/unit-crash --run-seed" in done.stderr)


def test_wave_that_the_run_has_left(bench):
    tandem(bench)
    bench.run("test conv cfg=n8\n", "--out", "o", "--explain", "1")
    before = calls(bench)
    done = script(bench, "wave.sh", RUN="1")
    assert (done.returncode == 0 and
            done.stdout == "gtkwave o/00000-explained/report/wave.fst o/00000-explained/report/wave.gtkw\n")
    assert calls(bench) == before


def test_wave_of_a_run_that_left_none(bench):
    tandem(bench)
    bench.run("test conv cfg=n8\n", "--out", "o")
    done = script(bench, "wave.sh", RUN="1", JOB="0")
    assert (done.returncode == 0 and
            done.stdout.splitlines()[-1] == "gtkwave build/wave/1-0/wave.fst build/wave/1-0/wave.gtkw")
    assert calls(bench)[-1] == "build/n8-tap/tandem repro o/00000-test-conv-n8/cases/c.case --report build/wave/1-0"


def test_no_wave_is_said(bench):
    tandem(bench, wave="true")
    bench.run("test conv cfg=n8\n", "--out", "o")
    done = script(bench, "wave.sh", RUN="1")
    assert done.returncode == 2 and "left no waveform" in done.stderr
    assert script(bench, "wave.sh").returncode == 2


# ---- coverage ----

COV = r"""#!/bin/bash
while [ $# -gt 0 ]; do case $1 in -o) echo > $2;; esac; shift; done
echo 1
"""
# by the time that its run has ended, another one has begun
RUNNER = r"""#!/bin/bash
echo "$*" >> calls
[ "$1 $2" = "query runs" ] && echo '"run": 4,'
[ $1 = run ] || exit 0
[[ $* == *--print-jobs ]] && echo "unit mesh cfg=n4 kind=cov"
while [ $# -gt 0 ]; do
  case $1 in --coverage) touch $2/0000{0.code,0.cov};; --summary-json) printf '{\n "run": {\n  "run": 3,\n' > $2;; esac
  shift
done
"""


def test_coverage_is_that_of_its_own_run(tmp_path):
    (tmp_path / "scripts").symlink_to(ROOT / "scripts")
    (tmp_path / "build/host-cov").mkdir(parents=True)
    for name, text in (("cov", COV), ("runner", RUNNER)):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    env = dict(os.environ, SUITE="smoke", DUT="npu", BUILD="build", CFGS="n4", JOBS="1", SEED="", REUSE="", COUNTED="",
               RUNNER="./runner", COV=f"{tmp_path}/cov", ROOM="room", OUT_DIR="out", ONLY="", THRESHOLDS="t",
               CODE_THRESHOLDS="c")
    done = subprocess.run(["scripts/coverage.sh"], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    stored = [line for line in (tmp_path / "calls").read_text().splitlines() if line.startswith("coverage ")]
    assert stored == ["coverage out/tmp/summary.json --build-dir build --run 3"]


@pytest.mark.parametrize("request_, message", (
    (("SUITE=nosuch",), "coverage: SUITE=nosuch: there is no designs/npu/suites/nosuch.suite; expected a file or one "
                        "of closed closure default large networks nightly python smoke"),
    (("SUITE=changed", "DUT=axi_copy"), "coverage: SUITE=changed: there is no designs/axi_copy/suites/changed.suite; "
                                        "expected a file or one of closure default nightly smoke"),
    (("SUITE=no/such.suite",), "coverage: SUITE=no/such.suite: there is no no/such.suite; expected"),
    (("SUITE=networks",), "coverage: suite networks has no test, unit or stored case, and nothing else writes coverage "
                          "(designs/npu/suites/networks.suite)"),
    (("SUITE=smoke", "REUSE=1"), "coverage: REUSE=1: no coverage of jobs in "),
    (("SUITE=smoke", "THRESHOLDS=no/such"), "coverage: cannot read no/such, the limits given"),
    (("SUITE=smoke", "SEED=one"), "coverage: SEED=one: expected a number"),
    (("SUITE=smoke", "CFG=n32"), "CFG=n32: expected one of n4 n8 n4p, which count code coverage")))
def test_coverage_refuses_at_once(tmp_path, request_, message):
    """A request that cannot end in a report: one line, before anything is built."""
    env = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
    done = subprocess.run(["make", "--no-print-directory", "coverage", f"BUILD={tmp_path}/build", *request_], cwd=ROOT,
                          env=env, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    lines = [line for line in done.stderr.splitlines() if not line.startswith("make: ")]
    assert len(lines) == 1 and message in lines[0], done.stderr
    assert done.stdout == "" and not list(tmp_path.rglob("*.o")) and not list(tmp_path.rglob("tandem*"))


# ---- watch ----

MAKE = r"""#!/bin/bash
# Builds the last argument out of rtl/mesh.sv; other files are none of its business.
[ -e rtl/broken ] && { echo "syntax error"; exit 2; }
for program in "$@"; do :; done
[ rtl/mesh.sv -nt $program ] || exit 0
printf '#!/bin/bash\necho "$* %s"; exit %s\n' "$(cat rtl/mesh.sv)" "$(cat rtl/mesh.sv)" > $program.tmp &&
  chmod +x $program.tmp && mv $program.tmp $program
"""


@pytest.fixture
def watch(tmp_path, request):
    program = getattr(request, "param", "./unit-mesh")
    (tmp_path / "rtl").mkdir()
    (tmp_path / "rtl/mesh.sv").write_text("0")
    (tmp_path / "make").write_text(MAKE)
    (tmp_path / "make").chmod(0o755)
    env = dict(os.environ, PROGRAM=program or "", MAKE_COMMAND="./make", MAKE_ARGS="CFG=n8 KIND=fast", INTERVAL="0.05")
    out = open(tmp_path / "out", "w")
    # as in a terminal, also where the tests themselves run in the background: a shell cannot trap what was ignored when
    # it began
    command = [] if program else ["sh", "-c", 'echo "run $*"; test ! -e rtl/broken', "sh"]
    process = subprocess.Popen([ROOT / "scripts/watch.sh", *command, "--count", "20"],
                               cwd=tmp_path, env=env, stdout=out, stderr=subprocess.STDOUT, start_new_session=True,
                               preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
    yield tmp_path, process
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    out.close()


def said(path, count):
    """The lines of watch, once there are so many."""
    lines = []

    def enough():
        lines[:] = [line for line in (path / "out").read_text().splitlines() if line.startswith("watch: ")]
        return len(lines) >= count

    wait_until(enough)
    return [line.split(",")[0].split(";")[0] for line in lines]


def test_watch(watch):
    path, process = watch
    assert said(path, 1) == ["watch: ./unit-mesh passed"] and "--count 20 0\n" in (path / "out").read_text()
    (path / "rtl/other.sv").write_text("")  # no file of this unit
    (path / "rtl/mesh.sv").write_text("1")
    assert said(path, 2)[1:] == ["watch: ./unit-mesh failed"]
    (path / "rtl/broken").write_text("")
    assert said(path, 3)[2:] == ["watch: ./unit-mesh is not built"]
    (path / "rtl/broken").unlink()
    (path / "rtl/mesh.sv").write_text("0")
    assert said(path, 4)[3:] == ["watch: ./unit-mesh passed"]
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does
    assert process.wait(timeout=20) == 0


@pytest.mark.parametrize("watch", [None], indirect=True)
def test_watch_of_all_sources(watch):
    """Without a program its command runs for every source that changes (make watch: regress SUITE=changed)."""
    path, _ = watch
    assert said(path, 1) == ["watch: passed"]
    (path / "rtl/broken").write_text("")
    assert said(path, 2)[1:] == ["watch: failed"] and (path / "out").read_text().count("run --count 20\n") == 2


def test_watch_runs_nothing_for_files_of_others(watch):
    path, _ = watch
    said(path, 1)
    for i in range(3):
        (path / "rtl/other.sv").write_text(str(i))
    (path / "rtl/mesh.sv").write_text("1")
    assert said(path, 2) == ["watch: ./unit-mesh passed", "watch: ./unit-mesh failed"]
