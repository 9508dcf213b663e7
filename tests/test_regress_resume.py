"""Runs of the regression runner that go on: after kill -9, an interrupt, a first failure; with the same programs or not
at all."""

import os
import random
import signal
import sqlite3
import subprocess

import pytest

from regress_bench import (  # noqa: F401
    UNITS, bench, family, gone, last_line, leftovers, popen, programs, start, wait_until)

FULL = os.environ.get("TANDEM_CHECK") == "1"


def resume(bench, *args, **kwargs):
    return bench.call("run", "--resume", *args, **kwargs)


# What a run found out; times, paths and the number of the attempt are not.
FOUND = "idx,what,test,cfg,kind,seed,first_index,cases,args,second_run,outcome,signature,cycles,trace_hash,exit_status"


def rows(bench, run, columns=FOUND):
    with sqlite3.connect(bench.db) as db:
        return db.execute(f"SELECT {columns} FROM job WHERE run=? ORDER BY idx", (run,)).fetchall()


def stands(bench, run):
    return rows(bench, run, "idx") != []


def decided(bench, run):
    return sum(outcome is not None for outcome, in rows(bench, run, "outcome"))


def test_kill_9_and_resume_equals_an_undisturbed_run(bench):
    """The runner is killed at 20 random moments, each time the run goes on; the same jobs, outcomes and hashes as a run
    that nobody disturbed."""
    kills, count = 20, 60 if FULL else 20
    text = (f"unit pass cfg=n8 count={count} determinism={count // 4}\nunit children cfg=n4 count={count}\n"
            f"unit fail cfg=n4 count={count // 2}\nunit crash cfg=n4 count=3\n")
    assert bench.run(text, "--jobs", "3", "--out", "undisturbed").returncode == 1
    draw = random.Random(1)
    hit = 0
    for _ in range(kills):
        args = ["--resume", "2"] if stands(bench, 2) else ["--out", "out", "--suite", bench.suite(text)]
        runner = popen(bench, "run", "--jobs", "3", *args)
        wait_until(lambda: stands(bench, 2))  # a kill before leaves nothing to go on with
        wanted = decided(bench, 2) + draw.randrange(count // 6)
        wait_until(lambda: decided(bench, 2) >= wanted or runner.poll() is not None)
        hit += runner.poll() is None
        runner.kill()
        out, err = runner.communicate(timeout=20)
        assert err == ""
    assert hit >= 8, "the moments were too late to kill anything"
    done = resume(bench, "2", "--jobs", "3")
    assert done.returncode == 1 and done.stderr == ""
    assert rows(bench, 2) == rows(bench, 1)
    with sqlite3.connect(bench.db) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert db.execute("SELECT state, resumed>1 FROM run WHERE id=2").fetchone() == ("done", 1)
    assert bench.call("diff", "1", "2").returncode == 0
    assert last_line(done).split(",")[0] == f"{count // 4 + count * 2} passed"
    assert leftovers(bench) == []


def test_resume_runs_only_what_is_missing(bench):
    runner = start(bench, "unit pass cfg=n8 count=3\nunit family cfg=n8\nunit fail cfg=n4\n", "--jobs", "1")
    pids = family(bench, 2)
    wait_until(lambda: sum(outcome == "pass" for outcome, in rows(bench, 1, "outcome")) == 3)
    runner.kill()
    runner.communicate()
    assert gone(pids)
    before = rows(bench, 1, "log_path,wall_ms")
    logs = {path: path.stat().st_mtime_ns for path in (bench.path / "out").glob("*/log.txt")}
    (bench.path / "t.suite").unlink()  # the list stands in the database
    runner = popen(bench, "run", "--resume")
    pids = set(family(bench, 4)) - set(pids)
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    out, err = runner.communicate(timeout=20)
    assert runner.returncode == 1 and err == ""
    assert "run 1 resumed: 2 of 5 jobs are missing\n" in out
    assert last_line_of(out) == "3 passed, 1 failed, 1 did not run"
    assert rows(bench, 1, "log_path,wall_ms")[:3] == before[:3]
    assert (rows(bench, 1, "test,outcome,attempt") == [("pass", "pass", 1)] *
            3 + [("family", None, 2), ("fail", "fail", 1)])
    # The second attempt has a folder of its own: what the first one left is still there to look at.
    assert rows(bench, 1, "log_path")[3] == ("out/00003-unit-family-n8.2/log.txt",)
    assert all(path.stat().st_mtime_ns == when for path, when in logs.items())


def last_line_of(text):
    return text.strip().splitlines()[-1]


def test_resume_of_a_whole_run_says_so(bench):
    bench.run("unit pass cfg=n8 count=2\nunit fail cfg=n8\n")
    for _ in range(2):
        done = resume(bench, "--junit", "j.xml")
        assert (done.returncode == 1 and last_line(done) == "2 passed, 1 failed" and
                "run 1 is complete: there is nothing to resume" in done.stdout)
        assert (bench.path / "j.xml").exists()
    with sqlite3.connect(bench.db) as db:
        assert db.execute("SELECT count(*), max(resumed), max(state) FROM run").fetchone() == (1, 0, "done")


def test_resume_after_interrupt_and_first_failure(bench):
    done = bench.run("unit fail cfg=n8\nunit pass cfg=n8 count=4\n", "--jobs", "1", "--fail-fast")
    assert "not run: 4 jobs" in done.stdout
    done = resume(bench, "--fail-fast")
    assert done.returncode == 1 and last_line(done) == "4 passed, 1 failed"
    runner = start(bench, "unit pass cfg=n8 count=2\nunit slow cfg=n8 count=3\n", "--jobs", "1")
    wait_until(lambda: rows(bench, 2, "outcome").count(("pass",)) == 2)
    runner.send_signal(signal.SIGINT)
    runner.communicate(timeout=20)
    assert (None,) in rows(bench, 2, "outcome")
    done = resume(bench)
    assert done.returncode == 0 and last_line(done) == "5 passed, 0 failed"
    with sqlite3.connect(bench.db) as db:
        assert db.execute("SELECT state,resumed FROM run").fetchall() == [("done", 1), ("done", 1)]


def test_second_run_of_a_pair_is_compared_with_the_first_of_before(bench):
    done = bench.run("repeat unit wobbly cfg=n8\nrepeat unit random cfg=n8\nrepeat unit pass cfg=n8\n")
    outcomes = rows(bench, 1, "outcome,signature")
    assert outcomes[1][0] == outcomes[3][0] == "nondeterministic"
    for forget in (1, 0):  # the second runs are missing, then the first ones
        with sqlite3.connect(bench.db) as db:
            db.execute("UPDATE job SET outcome=NULL,signature=NULL,trace_hash=CASE test WHEN 'random' THEN trace_hash "
                       "END WHERE second_run=?", (forget,))
        done = resume(bench)
        assert done.returncode == 1
        if forget:
            assert rows(bench, 1, "outcome,signature") == outcomes


def test_a_run_keeps_its_programs(bench):
    """Programs that are built again, even while jobs run, are not those of the run."""
    late = "until [ -e go ]; do sleep 0.02; done; " + UNITS["pass"]
    bench.program(bench.build / "n8-fast/unit-late", late)
    runner = start(bench, "unit late cfg=n8 timeout=30\nunit slow cfg=n8\nunit fail cfg=n8\n", "--jobs", "1")
    wait_until(lambda: list((bench.path / "out").glob("*unit-late*")))
    for name in ("late", "slow"):
        new = bench.build / "n8-fast/new"
        bench.program(new, UNITS["fail"])
        new.rename(bench.build / f"n8-fast/unit-{name}")
    (bench.path / "go").write_text("")
    assert runner.communicate(timeout=30)[0].splitlines()[-1] == "2 passed, 1 failed"


def test_resume_runs_the_programs_of_the_run(bench):
    bench.program(bench.build / "n8-fast/unit-slow", UNITS["slow"])
    bench.run("unit pass cfg=n8\nunit fail cfg=n8\nunit slow cfg=n8\n", "--fail-fast", "--jobs", "1")
    before = rows(bench, 1)
    (bench.build / "n8-fast/unit-slow").unlink()
    bench.program(bench.build / "n8-fast/unit-slow", UNITS["fail"])
    pinned = bench.build / "regress/1/programs/n8-fast/unit-slow"
    kept = pinned.with_name("kept")
    pinned.rename(kept)
    done = resume(bench)
    assert done.returncode == 2 and done.stdout == "" and rows(bench, 1) == before
    assert (done.stderr == "tandem-regress: run 1 cannot be resumed: build/n8-fast/unit-slow is not the program that "
            "it was started with, and build/regress/1/programs has no copy of that\n")
    bench.program(pinned, UNITS["fail"])  # not the one of the run either
    assert resume(bench).returncode == 2
    kept.rename(pinned)
    assert last_line(resume(bench)) == "2 passed, 1 failed"


def test_resume_of_another_commit_is_refused(bench):
    def git(*args):
        subprocess.run(["git", "-c", "user.name=t", "-c", "user.email=t@t", *args],
                       cwd=bench.path, check=True, capture_output=True)

    git("init", "-q")
    (bench.path / ".gitignore").write_text("/build\n/designs\n/t.suite\n/out\n")
    git("add", ".gitignore")
    git("commit", "-q", "-m", "one")
    text = "unit fail cfg=n8\nunit pass cfg=n8\n"
    bench.run(text, "--fail-fast", "--jobs", "1")
    (bench.path / "new").write_text("")
    done = resume(bench)
    assert (done.returncode == 2 and
            done.stderr == "tandem-regress: run 1 cannot be resumed: its work tree was clean, this one is changed\n")
    git("add", "new")
    git("commit", "-q", "-m", "two")
    done = resume(bench)
    assert done.returncode == 2 and "run 1 cannot be resumed: it is of commit " in done.stderr
    git("reset", "-q", "--hard", "HEAD~1")
    assert last_line(resume(bench)) == "1 passed, 1 failed"


def test_what_contradicts_a_resumed_run_is_refused(bench):
    bench.suite("unit pass cfg=n8\n", "other.suite")
    bench.run("unit fail cfg=n8\nunit pass cfg=n8\n", "--fail-fast", "--jobs", "1", "--seed", "5")
    for args, text in (
        (["1", "--suite", "./other.suite"], "it is of suite"),
        (["1", "--seed", "6"], "its seed is 0x5, not 6"),
        (["--cfg", "n8"], "cannot be combined with --cfg"),
        (["--timeout", "5"], "cannot be combined with --timeout"),
        (["--print-jobs"], "cannot be combined with --print-jobs"),
        (["--build-dir", "elsewhere", "--db", "build/results.db"], "its programs are in build, not in elsewhere"),
        (["--suite", "./other.suite"], "no run of suite ./other.suite"),
    ):
        done = resume(bench, *args)
        assert (done.returncode == 2 and text in done.stderr and len(done.stderr.splitlines()) == 1 and
                done.stdout == ""), done.stderr
    done = resume(bench, "7")
    assert done.returncode == 1 and "no run 7" in done.stderr
    done = bench.call("run", "--resume=last")
    assert done.returncode == 2 and "--resume: illegal value 'last'" in done.stderr
    done = bench.call("run", "--resume=1", "--suite", str(bench.path / "t.suite"), "--seed", "5")
    assert done.returncode == 1 and last_line(done) == "1 passed, 1 failed"


def test_resume_takes_the_newest_run_of_the_suite(bench):
    first = bench.suite("unit fail cfg=n8\nunit pass cfg=n8\n", "first.suite")
    bench.call("run", "--suite", first, "--fail-fast", "--jobs", "1")
    bench.run("unit pass cfg=n8\n")
    assert "run 1 resumed" in resume(bench, "--suite", first).stdout


def test_a_run_that_runs_is_not_resumed(bench):
    runner = start(bench, "unit family cfg=n8\n", "--jobs", "1")
    family(bench, 2)
    done = resume(bench)
    assert done.returncode == 1 and done.stderr == f"tandem-regress: run 1 is still running (process {runner.pid})\n"
    runner.send_signal(signal.SIGINT)
    runner.communicate(timeout=20)
    assert rows(bench, 1, "outcome") == [(None,)]


def test_two_resumes_at_once(bench):
    bench.run("unit fail cfg=n8\nunit slow cfg=n8 count=4\n", "--fail-fast", "--jobs", "1")
    runners = [popen(bench, "run", "--resume", "--jobs", "1") for _ in range(2)]
    said = sorted(runner.communicate(timeout=60) for runner in runners)
    assert said[0][0] == "" and "run 1 is still running" in said[0][1]
    assert said[1][0].endswith("4 passed, 1 failed\n")
