"""The regression runner against fake job programs: what it says, what it stores, and that nothing of it stays
behind."""

import contextlib
import os
import re
import resource
import signal
import sqlite3
import subprocess
import time
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from regress_bench import (  # noqa: F401
    PROGRAM, ROOT, UNITS, alive, bench, family, gone, last_line, leftovers, popen, programs, start, wait_until,
    write_program)


# ---- outcomes ----


def test_all_pass(bench):
    done = bench.run("unit pass cfg=n4,n8 count=5\ntest conv cfg=n8 count=2 cases=3\nnetwork digits cfg=n8\n",
                     "--jobs", "3")
    assert done.returncode == 0, done.stderr
    assert last_line(done) == "13 passed, 0 failed"
    assert done.stderr == ""
    rows = bench.jobs("what,test,cfg,kind,seed,first_index,cases,outcome,cycles,trace_hash,attempt")
    assert rows[1] == ("unit", "pass", "n4", "fast", "0x1", 1, 1, "pass", 101, "0x000000000000001", 1)
    assert [row[5] for row in rows if row[0] == "test"] == [0, 3]
    assert rows[-1][0] == "network"


@pytest.mark.parametrize(
    "unit, outcome, signature, message",
    [
        ("fail", "fail", "mesh data", "mesh: column 5"),
        ("error", "error", "setup", "no such shape"),
        ("crash", "crash", "crash SIGSEGV", "killed by SIGSEGV: about to crash"),
        ("silent", "error", "no result file", "exit status 0, no result file: no file written"),
        ("partial", "error", "incomplete result file", "incomplete result file"),
        ("empty", "error", "result file without outcome", "without outcome"),
        ("odd", "error", "result file with an unknown outcome", "unknown outcome"),
        ("fifo", "error", "unreadable result file", "unreadable"),
        ("huge", "error", "unreadable result file", "unreadable"),
        ("liar", "error", "exit status contradicts the result", "exit status 1, but the result file says pass"),
        ("denier", "error", "exit status contradicts the result", "exit status 0, but the result file says fail: mm"),
    ],
)
def test_outcome(bench, unit, outcome, signature, message):
    done = bench.run(f"unit pass cfg=n8\nunit {unit} cfg=n8\nunit pass cfg=n8 index=1\n", "--jobs", "1")
    assert done.returncode == 1
    assert last_line(done) == "2 passed, 1 failed"
    row = bench.jobs("test,outcome,signature,message")[1]
    assert row[:3] == (unit, outcome, signature)
    assert message in row[3]
    failures = [line for line in done.stdout.splitlines() if line.startswith(outcome + " unit")]
    assert len(failures) == 1 and message in failures[0]


def test_killed_from_outside(bench):
    """No verdict and no outcome; a resumed run runs the job again."""
    done = bench.run("unit pass cfg=n8\nunit killed cfg=n8\nunit pass cfg=n8 index=1\n", "--jobs", "1")
    assert done.returncode == 3 and done.stderr == ""
    assert last_line(done) == "2 passed, 0 failed, 1 did not run"
    assert ("host unit killed n8-fast index 0: killed by SIGKILL, which the runner did not send | make regress"
            in done.stdout)
    assert bench.jobs("outcome,signature,host")[1] == (None, None, "killed by SIGKILL, which the runner did not send")
    with sqlite3.connect(bench.db) as db:
        assert db.execute("SELECT state FROM run").fetchall() == [("host",)]
    again = bench.call("run", "--resume", "--jobs", "1")
    assert again.returncode == 3 and "1 of 3 jobs are missing" in again.stdout
    assert last_line(again) == "2 passed, 0 failed, 1 did not run"


def test_the_machine_fails_in_a_row(bench):
    done = bench.run("unit killed cfg=n8 count=9\nunit pass cfg=n8 count=4\n", "--jobs", "1")
    assert done.returncode == 3 and len(re.findall("^host unit", done.stdout, re.M)) == 3
    assert ("not run: 13 jobs (the machine failed several times in a row)\nhost: 3 jobs, the last one: killed"
            in done.stdout)
    assert done.stdout.endswith("when the cause is gone: make regress RESUME=1 RUN=1 runs them\n"
                                "0 passed, 0 failed, 13 did not run\n")


def test_a_program_that_disappears(bench):
    """Exit status 3 of a program says the same as a machine that cannot even start it."""
    (bench.path / "build/n8-fast/unit-refused").write_text("#!/bin/sh\necho no memory for the mesh >&2\nexit 3\n")
    (bench.path / "build/n8-fast/unit-refused").chmod(0o755)
    (bench.path / "build/n8-fast/unit-odd-loader").write_text("#!/no/such/interpreter\n")
    (bench.path / "build/n8-fast/unit-odd-loader").chmod(0o755)
    done = bench.run("unit refused cfg=n8\nunit pass cfg=n8\nunit odd-loader cfg=n8\n", "--jobs", "1")
    assert done.returncode == 3 and last_line(done) == "1 passed, 0 failed, 2 did not run", done.stdout + done.stderr
    assert [row[0] for row in bench.jobs("host")] == [
        "no memory for the mesh", None, "build/n8-fast/unit-odd-loader: cannot run: No such file or directory"]


@contextlib.contextmanager
def small_disk(path, size):
    """A file system of that size."""
    path.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "none", str(path)], capture_output=True,
                             text=True)
    if mounted.returncode != 0:  # no root, or a container without the right to mount
        pytest.skip("not run: no small file system to fill: " + mounted.stderr.strip())
    try:
        yield path
    finally:
        subprocess.run(["umount", str(path)], check=True)


def test_full_disk(bench):
    """Jobs that cannot write have no verdict; with room again the rest is run, and nothing that passed is lost."""
    with small_disk(bench.path / "out", "3m") as out:
        text = "unit pass cfg=n8 count=4\nunit hog cfg=n8\nunit pass cfg=n8 count=20 index=4\n"
        program = bench.path / "build/n8-fast/unit-hog"
        program.write_text("#!/bin/sh\n[ -e fill ] && dd if=/dev/zero of=out/hog bs=64k >/dev/null 2>&1 && exit 1\n"
                           "[ ! -e out/hog ] && exec build/n8-fast/unit-pass \"$@\"\n")
        program.chmod(0o755)
        (bench.path / "fill").touch()
        done = bench.run(text, "--jobs", "1", "--out", "out")
        assert done.returncode == 3 and "no space left in out" in done.stdout, done.stdout + done.stderr
        assert last_line(done) == "4 passed, 0 failed, 21 did not run"
        assert all(row[0] in ("pass", None) for row in bench.jobs("outcome"))
        (out / "hog").unlink()
        (bench.path / "fill").unlink()
        again = bench.call("run", "--resume", "--jobs", "1")
        assert again.returncode == 0 and last_line(again) == "25 passed, 0 failed", again.stdout + again.stderr


@pytest.mark.parametrize("spoil, cause", [("head -c 1M /dev/zero >pages/hog", "No space left on device"),
                                          ("mount -o remount,ro none pages", "Read-only file system")])
def test_pages_that_cannot_be_written(bench, spoil, cause):
    """The jobs count, each page says that it is not there, and the last line is the last; no verdict on the design."""
    with small_disk(bench.path / "pages", "256k") as pages:
        bench.program(bench.build / "n8-fast/unit-spoil", f"{spoil} 2>/dev/null; report 'outcome=pass\\n'")
        files = ["--html", "pages/r", "--junit", "pages/j", "--sarif", "pages/s", "--summary-json", "pages/t"]
        assert bench.run("unit pass cfg=n8\n", *files).returncode == 0
        before = (pages / "r/index.html").read_text()
        done = bench.run("unit pass cfg=n8 count=2\nunit spoil cfg=n8\n", "--jobs", "1", "--report", *files)
        assert done.returncode == 3 and done.stdout.endswith("\n3 passed, 0 failed\n"), done.stdout + done.stderr
        assert done.stdout.count("(could not be written)") == 4
        assert len(done.stderr.splitlines()) == done.stderr.count(cause) == 4
        assert "report: build/regress/2/report/index.html\n" in done.stdout  # another file system
        assert (pages / "r/index.html").read_text() == before and not list(pages.glob("*tmp*"))


def test_timeout(bench):
    done = bench.run("unit hang cfg=n8 timeout=1\nunit pass cfg=n8\n", "--jobs", "2")
    assert done.returncode == 1
    assert bench.jobs("outcome,message") == [("timeout", "not done after 1 s: waiting"), ("pass", None)]


def test_timeout_when_term_is_ignored(bench):
    done = bench.run("unit stubborn cfg=n8\nunit pass cfg=n8\n", "--jobs", "2", "--timeout", "1")
    assert bench.jobs() == [("stubborn", "timeout"), ("pass", "pass")]
    assert done.returncode == 1


# The clock of the runner is ahead by as many seconds as the file `ahead` has bytes; `asked` gets a byte for each time
# that it was asked since.
CLOCK = r"""
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
int clock_gettime(clockid_t clock, struct timespec *now) {
    struct stat ahead;
    const int status = (int)syscall(SYS_clock_gettime, clock, now);
    if (clock == CLOCK_MONOTONIC && strcmp(program_invocation_short_name, "tandem-regress") == 0 &&
        stat("ahead", &ahead) == 0) {
        const int fd = open("asked", O_WRONLY | O_CREAT | O_APPEND, 0600);
        if (write(fd, "", 1) == 1) now->tv_sec += ahead.st_size;
        close(fd);
    }
    return status;
}
"""


def test_a_machine_that_stood_still(bench):
    """The clock goes on by more than a job may take, as when a machine is suspended: no time-out."""
    (bench.path / "clock.c").write_text(CLOCK)
    subprocess.run(["gcc", "-shared", "-fPIC", "clock.c", "-o", "clock.so"], cwd=bench.path, check=True)
    bench.env.update(LD_PRELOAD=str(bench.path / "clock.so"), ASAN_OPTIONS="verify_asan_link_order=0")
    bench.program(bench.build / "n8-fast/unit-nap",
                  "echo > $cases/here; until [ -e go ]; do sleep 0.05; done; report 'outcome=pass\\n'")
    runner = start(bench, "unit nap cfg=n8 timeout=300\n")
    wait_until(lambda: any((bench.path / "out").glob("*/cases/here")))
    (bench.path / "new").write_bytes(bytes(1000))
    (bench.path / "new").rename(bench.path / "ahead")
    asked = bench.path / "asked"
    wait_until(lambda: asked.exists() and asked.stat().st_size > 5)  # it has looked at the job's time again
    (bench.path / "go").touch()
    out, err = runner.communicate(timeout=60)
    assert runner.returncode == 0, out + err
    with sqlite3.connect(bench.db) as db:
        assert db.execute("SELECT elapsed_ms FROM run").fetchone()[0] >= 1000000, "the runner has that clock"


def test_timeout_kills_grandchildren(bench):
    bench.run("unit family cfg=n8 timeout=1\n", "--out", "out")
    pids = [int(path.read_text()) for path in (bench.path / "out").glob("*/cases/*")]
    assert len(pids) == 2
    assert gone(pids)


def test_grandchildren_end_with_their_job(bench):
    done = bench.run("unit children cfg=n8\n")
    assert last_line(done) == "1 passed, 0 failed"
    assert leftovers(bench, seconds=2) == []


def test_no_stdin(bench):
    done = bench.run("unit stdin cfg=n8\n", input="hello\n")
    assert last_line(done) == "1 passed, 0 failed"


def test_memory_limit_but_not_for_sanitizers(bench):
    done = bench.run("unit greedy cfg=n8 memory=100\nunit greedy cfg=n8 memory=4000\nunit greedy cfg=n8 kind=san "
                     "memory=100\n", "--jobs", "1")
    assert done.returncode == 1
    assert [row[0] for row in bench.jobs("outcome")] == ["error", "pass", "pass"]
    assert "MemoryError" in bench.jobs("message")[0][0]
    assert bench.jobs("max_rss_kb")[1][0] > 145 * 1024


def test_reproducers(bench):
    done = bench.run("unit fail cfg=n8\nunit repro cfg=n4\n", "--jobs", "1", "--out", "o")
    assert "| make repro CASE=o/00000-unit-fail-n8/cases/1.case\n" in done.stdout
    assert "| make unit UNIT=mesh SEED=0x12 CFG=n4\n" in done.stdout
    done = bench.run("unit fail cfg=n8 kind=san\n", "--out", "o")
    assert "| make repro CASE=o/00000-unit-fail-n8/cases/1.case KIND=san\n" in done.stdout


def test_reproducer_without_result(bench):
    done = bench.run("unit crash cfg=n8 index=9 cases=4\n", "--seed", "0x77")
    assert "| build/n8-fast/unit-crash --run-seed 0x77 --index 9 --count 4\n" in done.stdout


def test_missing_program(bench):
    done = bench.run("unit nowhere cfg=n8\n")
    assert done.returncode == 1
    assert "build/n8-fast/unit-nowhere: no such program" in done.stderr
    assert len(done.stderr.splitlines()) == 1


# ---- determinism ----


def test_determinism(bench):
    done = bench.run("unit pass cfg=n8 count=10 determinism=2\n")
    assert done.returncode == 0
    rows = bench.jobs("first_index,second_run")
    assert [row[0] for row in rows if row[1]] == [0, 5]
    assert last_line(done) == "12 passed, 0 failed"


@pytest.mark.parametrize("parallel", ["1", "2"])
@pytest.mark.parametrize(
    "unit, outcome, text",
    [("random", "nondeterministic", "first run"), ("wobbly", "nondeterministic", "first run pass, second run fail"),
     ("nohash", "error", "no trace_hash")]
)
def test_nondeterminism_is_found(bench, unit, outcome, text, parallel):
    done = bench.run(f"repeat unit {unit} cfg=n8\n", "--jobs", parallel)
    assert done.returncode == 1
    rows = bench.jobs("outcome,message")
    assert rows[0][0] == "pass"
    assert rows[1][0] == outcome and text in rows[1][1]


def test_same_failure_twice_stays_a_failure(bench):
    bench.run("repeat unit fail cfg=n8\n")
    assert bench.jobs() == [("fail", "fail")] * 2


@pytest.mark.parametrize("parallel", ["1", "2"])
def test_results_depend_on_the_configuration(bench, parallel):
    """Of jobs that say that their hash is portable, those of other configurations with the same cases must have it."""
    done = bench.run("unit portable cfg=n4,n8 count=3\nunit by_cfg cfg=n4,n8\nunit by_cfg cfg=n8 index=1\n",
                     "--jobs", parallel)
    assert done.returncode == 1 and last_line(done) == "8 passed, 1 failed", done.stdout
    failed = [row for row in bench.jobs("test,cfg,outcome,signature,message") if row[2] != "pass"]
    assert len(failed) == 1 and failed[0][0] == "by_cfg"
    assert failed[0][2:4] == ("fail", "differs between configurations")
    other = {"n4": "n8 it is 0x8", "n8": "n4 it is 0x4"}[failed[0][1]]
    assert failed[0][4].endswith("in %s for the same cases" % other)


def test_portable_results_of_a_resumed_run(bench):
    """The hash of the first configuration is in the database, that of the second one comes after the interruption."""
    text = "unit by_cfg cfg=n4\nunit killed cfg=n8\nunit by_cfg cfg=n8\n"
    killed = bench.run(text, "--jobs", "1")
    assert killed.returncode != 0
    with sqlite3.connect(bench.db) as db:
        db.execute("UPDATE job SET outcome=NULL, trace_hash=NULL WHERE idx=2")
    bench.call("run", "--resume", "--jobs", "1")
    assert bench.jobs("test,outcome,signature")[2] == ("by_cfg", "fail", "differs between configurations")


# ---- one job never hurts the others; nothing outlives the runner ----


def test_storm(bench):
    text = "".join(f"unit {u} cfg=n4,n8 count=4 timeout=20\n"
                   for u in ("pass", "crash", "fail", "silent", "error", "children"))
    done = bench.run(text, "--jobs", "6")
    assert last_line(done) == "16 passed, 32 failed"
    assert all(row[0] == {"pass": "pass", "children": "pass"}.get(row[1], row[0]) for row in bench.jobs("outcome,test"))
    assert len(re.findall(r"^(crash|fail|error) unit", done.stdout, re.M)) == 32


def test_kill_9_leaves_no_process(bench):
    runner = start(bench, "unit family cfg=n4,n8\n", "--jobs", "2")
    pids = family(bench, 4)
    runner.kill()
    assert gone(pids)
    # The guardian must be gone too: it held the runner's pipes closed, so they end.
    runner.communicate(timeout=5)
    with sqlite3.connect(bench.db) as db:
        assert db.execute("SELECT count(*) FROM job WHERE outcome IS NULL").fetchone() == (2,)
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert bench.run("unit pass cfg=n8\n").returncode == 0


def test_kill_9_keeps_what_was_finished(bench):
    runner = start(bench, "unit pass cfg=n8 count=3\nunit family cfg=n8\n", "--jobs", "1")
    pids = family(bench, 2)
    runner.kill()
    runner.communicate()
    assert gone(pids)
    assert [row[0] for row in bench.jobs("outcome")] == ["pass", "pass", "pass", None]


def test_without_guardian_the_run_goes_on(bench):
    runner = start(bench, "unit slow cfg=n8 count=4\n", "--jobs", "1")
    guardians = []
    while not guardians and runner.poll() is None:
        children = Path(f"/proc/{runner.pid}/task/{runner.pid}/children").read_text().split()
        # it leads a session, a job does not
        guardians = [int(pid) for pid in children if alive(pid) and os.getsid(int(pid)) == int(pid)]
        time.sleep(0.02)
    assert len(guardians) == 1
    os.kill(guardians[0], signal.SIGKILL)
    out, err = runner.communicate(timeout=20)
    assert out.endswith("4 passed, 0 failed\n") and err == "" and runner.returncode == 0


def test_reader_goes_away(bench):
    runner = start(bench, "unit fail cfg=n8 count=3\nunit slow cfg=n8 count=2\n", "--jobs", "1")
    runner.stdout.close()
    assert runner.wait(timeout=20) == 1
    assert runner.stderr.read() == "tandem-regress: stdout: cannot be written: Broken pipe\n"
    assert [row[1] for row in bench.jobs()] == ["fail"] * 3 + ["pass"] * 2


def decided(bench):
    """Jobs of all runs that have an outcome."""
    try:
        with sqlite3.connect(bench.db) as db:
            return db.execute("SELECT count(outcome) FROM job").fetchone()[0]
    except sqlite3.OperationalError:  # no database yet
        return -1


def test_kill_9_at_any_moment(bench):
    text = "unit pass cfg=n8 count=40\nunit children cfg=n4 count=40\nunit fail cfg=n4 count=20\n"
    for step in range(3):
        runner = start(bench, text, "--jobs", "4")
        wait_until(lambda: decided(bench) >= 7 * step)  # some more of them each time
        runner.kill()
        runner.communicate(timeout=5)
    with sqlite3.connect(bench.db) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        runs = db.execute("SELECT count(*), sum(outcome IS NULL) FROM job GROUP BY run").fetchall()
        assert all(total == 100 for total, _ in runs)
        expected = {"pass": "pass", "children": "pass", "fail": "fail"}
        assert all(outcome in (None, expected[test]) for test, outcome in db.execute("SELECT test, outcome FROM job"))
    assert leftovers(bench) == []
    assert last_line(bench.run(text)) == "80 passed, 20 failed"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_interrupt_stops_and_reports(bench, number):
    runner = start(bench, "unit pass cfg=n8 count=2\nunit family cfg=n8\nunit pass cfg=n4 count=3\n",
                   "--jobs", "1", "--junit", "j.xml")
    pids = family(bench, 2)
    runner.send_signal(number)
    out, err = runner.communicate(timeout=10)
    assert runner.returncode == 1
    assert err == ""
    assert "not run: 4 jobs (interrupted)\nmake regress RESUME=1 RUN=1 runs them\n" in out
    assert out.endswith("2 passed, 0 failed, 4 did not run (interrupted)\n")
    assert gone(pids)
    assert [row[0] for row in bench.jobs("outcome")] == ["pass", "pass", None, None, None, None]
    assert len(ET.parse(bench.path / "j.xml").findall(".//skipped")) == 4
    with sqlite3.connect(bench.db) as db:
        assert db.execute("SELECT state FROM run").fetchall() == [("interrupted",)]


def test_fail_fast(bench):
    done = bench.run("unit pass cfg=n8\nunit fail cfg=n8\nunit pass cfg=n8 count=9 index=1\n",
                     "--jobs", "1", "--fail-fast")
    assert done.returncode == 1
    assert done.stdout.endswith("not run: 9 jobs (stopped at the first failure)\n"
                                "1 passed, 1 failed, 9 did not run\n")


def test_two_runners_at_once(bench):
    suite = bench.suite("unit pass cfg=n4,n8 count=30\n")
    runners = [popen(bench, "run", "--suite", suite, "--jobs", "2") for _ in range(3)]
    for runner in runners:
        out, _ = runner.communicate(timeout=60)
        assert out.endswith("60 passed, 0 failed\n")
    with sqlite3.connect(bench.db) as db:
        assert (db.execute("SELECT count(*), count(DISTINCT run), sum(outcome='pass') FROM job").fetchone() ==
                (180, 3, 180))


# ---- suites ----


@pytest.mark.parametrize(
    "line, text",
    [
        ("unti mesh cfg=n8", '"unti" is unknown'),
        ("unit", "expected a name"),
        ("unit ../x cfg=n8", "expected a name"),
        ("unit mesh", "cfg= is missing"),
        ("unit mesh cfg=n5", 'configuration "n5" is unknown'),
        ("unit mesh cfg=n8,n8", "is given twice"),
        ("unit mesh cfg=n8 cfg=n4", "is given twice"),
        ("unit mesh cfg=n8 cuont=3", 'key "cuont" is unknown'),
        ("unit mesh cfg=n8 k", "not of the form key=value"),
        ("unit mesh cfg=n8 count=0", "count=0: expected at least 1"),
        ("unit mesh cfg=n8 count=3x", "count=3x"),
        ("unit mesh cfg=n8 count=-1", "count=-1"),
        ("unit mesh cfg=n8 timeout=99999999999999999999", "timeout="),
        ("unit mesh cfg=n8 kind=quick", "kind=quick"),
        ("unit mesh cfg=n8 determinism=2", "more than count"),
        ("repeat", "expected unit, test, network, case or python"),
        ("unit mesh cfg=none/n8", "there is no design none"),
        ("unit mesh cfg=npu/n8,npu/n9", 'configuration "n9" is unknown (expected n4, n8, n16 or n32'),
        ("case all cfg=n8", "case all: no *.case in testcases/npu/cases"),
        ("case old cfg=n8", 'expected "case all", or "case NAME'),
        ("case all cfg=n8 -- a.case", 'expected "case all", or "case NAME'),
        ("case all cfg=n8 count=2", "a stored case has no count"),
        ("repeat unit mesh cfg=n8 determinism=1", "already"),
        ("network digits cfg=n8 count=2", "no count"),
        ("budget", "expected one value"),
        ("budget soon", "expected seconds"),
        ("seed x", "expected a number"),
        ("unit mesh cfg=n8 -- " + "x" * 300, "longer than"),
        ("unit all cfg=n8", "unit all: no unit_*.c in testcases/npu/unit"),
        ("unit mesh cfg=n8 except=acc", 'except= belongs to "unit all" and "test operators"'),
        ("test conv cfg=n8 except=acc", 'except= belongs to "unit all" and "test operators"'),
        ("test operators cfg=n8", "test operators: designs/npu/tests.def: No such file"),
        ("unit mesh cfg=n8 #" + "x" * 2000, "longer than"),
    ],
)
def test_suite_errors(bench, line, text):
    for command in ("run", "list", "targets"):
        done = bench.call(command, "--suite", bench.suite("# a comment\n\n" + line + "\nunit pass cfg=n8\n"))
        assert done.returncode == 2
        assert done.stderr.startswith(f"{bench.path}/t.suite:3: ") and text in done.stderr
        assert len(done.stderr.splitlines()) == 1
        assert done.stdout == ""
    assert not bench.db.exists()


SUITE = """# sample
budget 60
unit pass cfg=n4,n8 count=3 cases=5 timeout=9   # five each
test conv cfg=n8 count=4 determinism=2 -- k=3  s=2
repeat unit pass cfg=n8 index=70
network digits cfg=n8 kind=san -- --images 3
"""


def test_job_list_is_a_suite(bench):
    first = bench.run(SUITE, "--print-jobs", "--seed", "5")
    assert first.returncode == 0
    assert "repeat test conv cfg=n8 kind=fast index=2 cases=1 timeout=120 memory=4096 -- k=3 s=2\n" in first.stdout
    again = bench.run(first.stdout, "--print-jobs")
    assert again.stdout == first.stdout
    commands = [bench.call("list", bench.suite(text), "--seed", "5").stdout.splitlines()[:-1]
                for text in (SUITE, first.stdout)]
    assert commands[0] == commands[1] and len(commands[0]) == 15
    assert commands[0][6].startswith("build/n8-fast/tandem test conv --run-seed 0x5 --index 0 --count 1 k=3 s=2")
    assert not bench.db.exists()
    assert bench.run(first.stdout).returncode == 0
    assert bench.run(SUITE, "--seed", "5").returncode == 0
    assert bench.call("diff", "1", "2").returncode == 0


def test_unit_all(bench):
    units = bench.path / "testcases/npu/unit"
    units.mkdir(parents=True)
    for name in ("unit_pass.c", "unit_nohash.c", "bench.c", "unit_pass.h", "unit_.c"):
        (units / name).write_text("")
    done = bench.run("unit all cfg=n4,n8 count=2\n", "--print-jobs")
    assert ([line.split()[1:3] for line in done.stdout.splitlines()[2:]] ==
            [[u, f"cfg={c}"] for u in ("nohash", "pass") for c in ("n4", "n4", "n8", "n8")])
    assert bench.run("unit all cfg=n8\n").returncode == 0
    done = bench.run("unit all cfg=n4 except=pass\n", "--print-jobs")
    assert [line.split()[1] for line in done.stdout.splitlines()[2:]] == ["nohash"]
    done = bench.run("unit all cfg=n4 except=pass,gone\n", "--print-jobs")
    assert done.returncode == 2 and "there is no bench gone in" in done.stderr
    (units / "unit_Bad.c").write_text("")
    done = bench.run("unit all cfg=n8\n")
    assert done.returncode == 2 and "unit_Bad.c is not a valid name" in done.stderr


def test_operators(bench):
    (bench.path / "designs/npu/tests.def").write_text("/* OPERATOR(no) */\nOPERATOR(one)\nTEST(regs)\nOPERATOR(two)\n")
    done = bench.run("test operators cfg=n4,n8 count=2\n", "--print-jobs")
    assert ([line.split()[1:3] for line in done.stdout.splitlines()[2:]] ==
            [[t, f"cfg={c}"] for t in ("one", "two") for c in ("n4", "n4", "n8", "n8")])
    done = bench.run("test operators cfg=n4 except=one\n", "--print-jobs")
    assert [line.split()[1] for line in done.stdout.splitlines()[2:]] == ["two"]
    done = bench.run("test operators cfg=n4 except=one,regs\n", "--print-jobs")
    assert done.returncode == 2 and "there is no operator regs in designs/npu/tests.def" in done.stderr


def test_case_all(bench):
    cases = bench.path / "testcases/npu/cases"
    cases.mkdir(parents=True)
    for name, cfg in (("b-new", "n8"), ("a-old", "n4"), ("c-big", "n32")):
        (cases / f"{name}.case").write_text(f"test=conv\ncfg={cfg}\nseed=0x1\n")
    (cases / "notes.txt").write_text("")
    listed = bench.run("case all cfg=n4,n8\n", "--print-jobs").stdout
    assert [line.split()[:3] for line in listed.splitlines()[2:]] == [["case", "a-old", "cfg=n4"],
                                                                      ["case", "b-new", "cfg=n8"]]
    assert bench.run(listed, "--print-jobs").stdout == listed
    commands = bench.call("list", bench.suite(listed)).stdout.splitlines()
    assert commands[0].startswith("build/n4-fast/tandem repro testcases/npu/cases/a-old.case")
    assert last_line(bench.run("case all cfg=n4,n8\n")) == "2 passed, 0 failed"
    (cases / "d-odd.case").write_text("test=conv\n")
    done = bench.run("case all cfg=n8\n")
    assert done.returncode == 2 and "d-odd.case names no cfg" in done.stderr


def test_cfg_restricts(bench):
    assert last_line(bench.run("unit pass cfg=n4,n8 count=2\n", "--cfg", "n8")) == "2 passed, 0 failed"
    done = bench.run("unit pass cfg=n4,n8 count=2\n", "--cfg", "n32")
    assert done.returncode == 1 and "nothing to run" in done.stderr and done.stdout == ""


def test_empty_suite_is_no_success(bench):
    done = bench.run("# nothing\n")
    assert done.returncode == 1 and "nothing to run" in done.stderr


def test_targets(bench):
    done = bench.call("targets", "--suite", bench.suite(SUITE), "--build-dir", "b")
    assert done.stdout.splitlines() == ["b/n4-fast/unit-pass", "b/n8-fast/unit-pass",
                                        "b/n8-fast/tandem", "b/n8-san/tandem-net"]


def test_testcases_in_python(bench):
    """A program of its own beside `tandem`, called as that one is; a printed list is the same list."""
    bench.program(bench.build / "n4-fast" / "tandem-python",
                  "echo $* > $cases/words; report 'outcome=pass\\ncycles=3\\n'")
    text = "python my_conv cfg=n4 count=2 cases=3 index=4 -- k=3\n"
    assert bench.call("targets", "--suite", bench.suite(text), "--build-dir", "b").stdout == "b/n4-fast/tandem-python\n"
    printed = bench.run(text, "--print-jobs").stdout
    assert "python my_conv cfg=n4 kind=fast index=7 cases=3 timeout=120 memory=4096 -- k=3\n" in printed
    for jobs in (text, printed):
        done = bench.run(jobs)
        assert last_line(done) == "2 passed, 0 failed" and "python my_conv" in done.stdout
        assert bench.jobs("what,test,first_index,cases") == [("python", "my_conv", 4, 3), ("python", "my_conv", 7, 3)]
    assert ("tandem-python test my_conv --run-seed 0x1 --index 4 --count 3 k=3"
            in bench.call("list", bench.suite(text)).stdout)


def test_named_suites():
    for name in ("smoke", "default", "nightly", "python"):
        done = subprocess.run([PROGRAM, "list", name], cwd=ROOT, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    done = subprocess.run([PROGRAM, "list"], cwd=ROOT, capture_output=True, text=True)
    for name in ("smoke", "default", "nightly", "python"):
        budget = sum(int(re.search(r"^budget (\d+)$", path.read_text(), re.M).group(1))
                     for path in ROOT.glob(f"designs/*/suites/{name}.suite"))
        assert re.search(rf"^{name} +\d+ +{budget}$", done.stdout, re.M)


@pytest.mark.parametrize(
    "args",
    [
        [],
        ["walk"],
        ["run"],
        ["run", "--suite"],
        ["run", "--suite", "nosuch"],
        ["run", "--suite", "./nosuch.suite"],
        ["run", "--suite", "t.suite", "--jobs", "0"],
        ["run", "--suite", "t.suite", "--jobs", "many"],
        ["run", "--suite", "t.suite", "--cfg", "n7"],
        ["run", "--suite", "t.suite", "--kind", "odd"],
        ["run", "--suite", "t.suite", "--seed", "0xg"],
        ["run", "--suite", "t.suite", "--seed", "18446744073709551616"],
        ["run", "--suite", "t.suite", "--colour"],
        ["run", "--suite", "t.suite", "extra"],
        ["diff", "1"],
        ["report", "--run", "0", "--db", "have.db"],
    ],
)
def test_usage(bench, args):
    bench.suite("unit pass cfg=n8\n")
    bench.run("unit pass cfg=n8\n", "--db", "have.db")
    done = bench.call(*args)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1 and done.stderr.startswith("tandem-regress: ")
    assert done.stdout == ""


def test_help(bench):
    for args in (["--help"], ["run", "--help"]):
        done = bench.call(*args)
        assert done.returncode == 0 and "Exit status" in done.stdout
        assert max(map(len, done.stdout.splitlines())) <= 80


# ---- reports ----


def test_junit(bench):
    done = bench.run("unit pass cfg=n8\nunit fail cfg=n8\nunit crash cfg=n8\nunit binary cfg=n8\n", "--junit", "j.xml")
    assert done.returncode == 1
    suite = ET.parse(bench.path / "j.xml").getroot().find("testsuite")
    assert ({k: suite.get(k) for k in ("name", "tests", "failures", "errors", "skipped")} ==
            {"name": "t", "tests": "4", "failures": "2", "errors": "1", "skipped": "0"})
    cases = suite.findall("testcase")
    assert len(cases) == 4 and cases[0].find("failure") is None
    assert cases[1].find("failure").get("message") == 'mesh: column 5: got -312, expected <-310> & "more"'
    assert cases[2].find("error").get("type") == "crash"
    assert cases[3].find("failure").get("message").endswith("\u00e9 ]]> <&>")
    assert [path.name for path in bench.path.iterdir() if "tmp" in path.name] == []


def test_report_and_diff(bench):
    text = "unit pass cfg=n8 count=4\nunit fail cfg=n8\n"
    bench.run(text, "--seed", "1")
    bench.run(text, "--seed", "1", "--jobs", "1")
    done = bench.call("report", "--run", "1")
    assert done.returncode == 0 and "outcomes: 4 pass, 1 fail" in done.stdout and "mesh: column 5" in done.stdout
    done = bench.call("diff", "1", "2")
    assert done.returncode == 0
    assert done.stdout == "runs 1 and 2: 5 jobs, 0 differ, 4 with equal trace hashes\n"
    bench.program(bench.build / "n8-fast/unit-pass", UNITS["random"])
    bench.run(text, "--seed", "1")
    done = bench.call("diff", "1", "3")
    assert done.returncode == 1 and "5 jobs, 4 differ" in done.stdout
    assert re.search(r"^trace hash +unit pass n8-fast index 0 cases 1 +0x000000000000000 +0x", done.stdout, re.M)
    bench.run("unit pass cfg=n8 count=2\nunit pass cfg=n4\n", "--seed", "1")
    done = bench.call("diff", "3", "4")
    assert (re.search(r"^only in run 3 +unit fail", done.stdout, re.M) and
            re.search(r"^only in run 4 +unit pass n4-fast index 0 cases 1 ", done.stdout, re.M))
    done = bench.call("report", "--run", "99")
    assert done.returncode == 1 and "no run 99" in done.stderr


def test_a_second_design(bench):
    """Each design has its part of a suite; its builds have a folder of their own."""
    for name, text in (("npu", "budget 5\nunit pass cfg=n4,n8\n"), ("dsp", "budget 2\ntest copy cfg=w8,w16 cases=3\n")):
        (bench.path / f"designs/{name}/suites").mkdir(parents=True)
        (bench.path / f"designs/{name}/suites/small.suite").write_text(text)
    (bench.path / "designs/dsp/design").write_text("cfg w8 Width=8  # small\ncfg w16 Width=16\n")
    for cfg in ("w8", "w16"):
        (bench.build / f"dsp/{cfg}-fast").mkdir(parents=True)
        write_program(bench.build / f"dsp/{cfg}-fast/tandem", UNITS["pass"])
    done = bench.call("run", "--suite", "small")
    assert last_line(done) == "4 passed, 0 failed" and "budget 7 s" in done.stdout, done.stdout + done.stderr
    assert bench.jobs("what,test,cfg") == [("unit", "pass", "n4"), ("unit", "pass", "n8"),
                                           ("test", "copy", "dsp/w8"), ("test", "copy", "dsp/w16")]
    assert "cases passed  n4  n8  dsp/w8  dsp/w16  all  cycles  not passed" in done.stdout.splitlines()
    assert last_line(bench.call("run", "--suite", "small", "--design", "dsp")) == "2 passed, 0 failed"
    assert last_line(bench.call("run", "--suite", "small", "--cfg", "n4,w16")) == "2 passed, 0 failed"
    listed = bench.call("run", "--suite", "small", "--print-jobs").stdout
    assert "test copy cfg=dsp/w16 kind=fast" in listed and last_line(bench.run(listed)) == "4 passed, 0 failed"
    assert bench.call("run", "--suite", "small", "--design", "gpu").returncode == 2
    assert bench.call("list").stdout.splitlines()[1].split() == ["small", "4", "7"]
    (bench.path / "designs/dsp").rename(bench.path / "outside")
    assert last_line(bench.call("run", "--suite", "small")) == "2 passed, 0 failed"
    (bench.path / "far/designs").mkdir(parents=True)
    (bench.path / "outside").rename(bench.path / "far/designs/dsp")
    bench.env["DESIGNS"] = "far"
    assert last_line(bench.call("run", "--suite", "small")) == "4 passed, 0 failed"


def test_totals(bench):
    """Cases that passed, by test and configuration; second runs do not count, nor does what failed."""
    done = bench.run("unit pass cfg=n4,n8 count=3 cases=5\nunit slow cfg=n8\nunit fail cfg=n8 cases=7\n"
                     "repeat unit pass cfg=n4 cases=9\n")
    assert done.returncode == 1
    lines = bench.call("report").stdout.splitlines()
    head = next(i for i, line in enumerate(lines) if line.startswith("cases passed"))
    assert lines[head].split() == ["cases", "passed", "n4", "n8", "all", "cycles", "jobs", "not", "passed"]
    assert lines[head + 1].split()[:7] == ["unit", "benches", "24", "16", "40", "730", "1"]
    said = done.stdout.splitlines()
    head = said.index("cases passed  n4  n8  all  cycles  not passed")
    assert said[head + 1].split() == ["unit", "benches", "24", "16", "40", "730", "1"]


def test_budget(bench):
    done = bench.run("budget 1\nunit slow cfg=n8 count=5\n", "--jobs", "1")
    assert done.returncode == 0 and re.search(r"^budget 1 s: overrun by \d\.\d s$", done.stdout, re.M)
    done = bench.run("budget 100\nunit pass cfg=n8\n")
    assert re.search(r"^budget 100 s: left \d+\.\d s$", done.stdout, re.M)


def test_terminal_shows_progress(bench):
    bench.suite("unit slow cfg=n8 count=3\nunit fail cfg=n8\n")
    done = subprocess.run(["script", "-qec", f"{PROGRAM} run --suite t.suite --jobs 1", "/dev/null"],
                          cwd=bench.path, capture_output=True, text=True)
    if "failed to create pseudo-terminal" in done.stderr:
        pytest.skip("not run: this machine has no pseudo-terminals")
    assert done.returncode == 1
    assert re.search(r"\[2/4\] 0 failed  \d+\.\d jobs/s  0:0\d  eta 0:0\d", done.stdout)
    assert done.stdout.rstrip().endswith("3 passed, 1 failed")
    assert "\x1b[31mfail" in done.stdout


def test_pipe_is_quiet(bench):
    done = bench.run("unit pass cfg=n8 count=20\n")
    assert len(done.stdout.splitlines()) <= 7 and "\r" not in done.stdout and "\x1b" not in done.stdout


# ---- full disks and unwritable places ----


def one_line_failure(done, status=1):
    assert done.returncode == status
    assert len(done.stderr.splitlines()) == 1, done.stderr
    return done.stderr


def test_database_in_bad_places(bench):
    assert "not a regular file" in one_line_failure(bench.run("unit pass cfg=n8\n", "--db", "/dev/full"))
    assert Path("/dev/full").is_char_device()
    (bench.path / "folder").mkdir()
    assert "not a regular file" in one_line_failure(bench.run("unit pass cfg=n8\n", "--db", "folder"))
    (bench.path / "text.db").write_text("this is no database, but it is long enough to be looked at as one\n" * 40)
    assert "not a results database" in one_line_failure(bench.run("unit pass cfg=n8\n", "--db", "text.db"))
    assert "cannot make the folder" in one_line_failure(bench.run("unit pass cfg=n8\n", "--db", "text.db/x/results.db"))
    assert "cannot make the folder" in one_line_failure(bench.run("unit pass cfg=n8\n", "--out", "text.db/out"))
    assert "no results database" in one_line_failure(bench.call("report", "--db", "missing.db"))
    assert not (bench.path / "missing.db").exists()


def test_dev_full(bench):
    assert ("/dev/full: cannot write: No space left on device"
            in one_line_failure(bench.run("unit pass cfg=n8\n", "--junit", "/dev/full"), 3))
    assert Path("/dev/full").is_char_device() and not list(Path("/dev").glob("full.tmp*"))
    with open("/dev/full", "w") as full:
        done = subprocess.run([PROGRAM, "run", "--suite", "t.suite"], cwd=bench.path,
                              stdout=full, stderr=subprocess.PIPE, text=True)
        assert (done.returncode == 3 and
                done.stderr == "tandem-regress: stdout: cannot be written: No space left on device\n")
        done = subprocess.run([PROGRAM, "report"], cwd=bench.path, stdout=full, stderr=subprocess.PIPE, text=True)
        assert done.returncode == 3 and "stdout" in done.stderr


def file_limit(size):
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def test_file_size_limit_on_the_database(bench):
    text = "unit pass cfg=n8 count=400\n"
    message = one_line_failure(bench.run(text, "--junit", "j.xml", preexec_fn=file_limit(20000)), 3)
    assert "results.db: cannot" in message
    assert not (bench.path / "j.xml").exists() and not list(bench.path.glob("*.tmp*"))


def test_file_size_limit_in_mid_run(bench):
    # Room for the first rows, not for all: the write-ahead log grows until the limit.
    bench.run("unit pass cfg=n8\n")
    done = bench.run("unit pass cfg=n8 count=300\n", "--jobs", "2", "--junit", "j.xml", preexec_fn=file_limit(260000))
    assert done.returncode == 3 and len(done.stderr.splitlines()) == 1 and "results.db: cannot" in done.stderr
    assert re.search(r"ended, but build/results.db could not be written\nwhen the cause is gone: make regress RESUME=1 "
                     r"RUN=2 runs them\n\d+ passed, 0 failed, \d+ did not run\n$", done.stdout)
    assert not list(bench.path.glob("*.tmp*"))
    with sqlite3.connect(bench.db) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert 0 < db.execute("SELECT count(outcome) FROM job WHERE run=2").fetchone()[0] < 300


def test_file_size_limit_on_the_report(bench):
    bench.run("unit fail cfg=n8 count=200\n", "--jobs", "8")
    assert bench.call("report", "--junit", "j.xml").returncode == 0
    assert len(ET.parse(bench.path / "j.xml").findall(".//failure")) == 200
    assert (bench.path / "j.xml").stat().st_size > 60000
    (bench.path / "j.xml").write_text("old report")
    done = bench.call("report", "--junit", "j.xml", preexec_fn=file_limit(40000))
    assert "j.xml: cannot write: File too large" in one_line_failure(done, 3)
    assert (bench.path / "j.xml").read_text() == "old report" and not list(bench.path.glob("*.tmp*"))


def test_unwritable_report_is_known_before_the_run(bench):
    assert "cannot write" in one_line_failure(bench.run("unit pass cfg=n8\n", "--junit", "no/such/folder/j.xml"))
    assert not bench.db.exists()


# ---- speed ----


BURN = r"""
#include <stdio.h>
#include <string.h>
#include <time.h>
int main(int argc, char **argv) {
    struct timespec t;
    char temp[4096];
    FILE *trace = fopen("trace", "a");
    fputs("+\n", trace);
    fflush(trace);
    do clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t); while (t.tv_sec == 0 && t.tv_nsec < 50000000);
    fputs("-\n", trace);
    fclose(trace);
    for (int i = 1; i + 1 < argc; i++) {
        if (strcmp(argv[i], "--result") == 0) {
            snprintf(temp, sizeof temp, "%s.tmp", argv[i + 1]);
            FILE *f = fopen(temp, "w");
            fputs("outcome=pass\ntrace_hash=0x1\n", f);
            fclose(f);
            rename(temp, argv[i + 1]);
        }
    }
    return 0;
}
"""


def test_overhead(bench):
    """Jobs of 50 ms of processor time, two at a time: when one ends the next one starts beside the other, and the
    runner takes hardly any processor time of its own."""
    count = 1000 if os.environ.get("TANDEM_CHECK") == "1" else 30
    folder = bench.path / "burn"
    folder.mkdir()
    (folder / "burn.c").write_text(BURN)
    subprocess.run(["gcc", "-O1", folder / "burn.c", "-o", folder / "unit-burn"], check=True)
    (bench.build / "n4-debug").symlink_to(folder)
    runner = popen(bench, "run", "--suite", bench.suite(f"unit burn cfg=n4 kind=debug count={count}\n"), "--jobs", "2")
    own = 0
    while runner.poll() is None:
        # without those of its children
        ticks = Path(f"/proc/{runner.pid}/stat").read_text().rsplit(")", 1)[1].split()[11:13]
        own = max(own, sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK"))
        time.sleep(0.05)
    assert runner.returncode == 0
    with sqlite3.connect(bench.db) as db:
        cpu, = db.execute("SELECT sum(cpu_ms)/1000.0 FROM job").fetchone()
    assert cpu >= 0.049 * count
    assert own <= 0.004 * count + 0.1
    running, beside = 0, 0
    for mark in (bench.path / "trace").read_text().split():
        running += 1 if mark == "+" else -1
        beside += running == 2
        assert running <= 2
    assert beside >= count * 3 // 4, "jobs that started beside another one"
