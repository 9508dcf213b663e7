"""Programs that are built while the first jobs run: the runner with a stand-in for scripts/build_suite.sh, and a real
make beneath it."""

import os
import signal
from pathlib import Path

import pytest

from regress_bench import (  # noqa: F401
    bench, gone, last_line, leftovers, programs, start, wait_until)
from test_regress import small_disk

# Each program is compiled into a folder that only this build has; + and - mark the beginning and the end of a process.
MAKEFILE = """
$(MAKECMDGOALS): %.ready: %
	@echo "  READY $<"
build/n16-fast/unit-%:
	@echo "  CXX   $*"
	@echo + >>trace; mkdir -p $(@D); sleep 0.1; while test -e broken-$* -a ! -e ran; do sleep 0.01; done
	@! test -e broken-$* || { echo "$*.c:1: error: no such word"; exit 1; }
	@cp build/n8-fast/unit-traced $@; echo - >>trace; echo "  READY $@"
"""
BUILD = ("{ sed 's/$/.ready/' >list; MAKEFLAGS=\"-j --jobserver-auth=$TANDEM_JOBSERVER\" xargs make -s -f mk <list; }")


@pytest.fixture
def builds(bench):
    (bench.path / "mk").write_text(MAKEFILE)
    bench.program(bench.build / "n8-fast/unit-traced", "echo + >>trace; sleep 0.1; echo - >>trace; touch ran; "
                                                       "report 'outcome=pass\\ntrace_hash=0x1\\n'")
    return bench


def most(path):
    """Processes at a time."""
    running = [0]
    for mark in path.read_text().split():
        running.append(running[-1] + (1 if mark == "+" else -1))
    assert running[-1] == 0
    return max(running)


def suite(units, count=1):
    return "".join(f"unit {unit} cfg=n16 count={count}\n" for unit in units)


@pytest.mark.parametrize("jobs", [1, 2, 6])
def test_processors_are_shared(builds, jobs):
    """The runner is the jobserver: with a slot of a job that may wait for a process of make, no more run at a time."""
    done = builds.run(suite("abcdefgh", 2), "--build", BUILD, "--jobs", str(jobs))
    assert done.returncode == 0 and last_line(done) == "16 passed, 0 failed", done.stdout + done.stderr
    assert done.stderr == "" and "READY" not in done.stdout and "CXX" not in done.stdout
    assert most(builds.path / "trace") <= jobs + max(1, jobs // 2)
    log = (builds.build / "regress/1/build.log").read_text()
    assert log.count("  CXX   ") == 8


def test_first_job_runs_before_the_last_program_is_built(bench):
    """The builder waits for a job of the program that it built first."""
    bench.program(bench.build / "n8-fast/unit-first", "touch began; report 'outcome=pass\\n'")
    build = ("read first; read second; echo \"  READY $first\"; while [ ! -e began ]; do sleep 0.01; done; "
             "echo \"  READY $second\"")
    done = bench.run("unit pass cfg=n4\nunit first cfg=n8\n", "--build", f"tac | {{ {build}; }}", "--jobs", "2")
    assert done.returncode == 0 and last_line(done) == "2 passed, 0 failed", done.stdout + done.stderr
    # nothing is missing: a resumed run starts no builder, nor does one whose database is made again from its folder
    assert bench.call("run", "--resume", "--build", "touch started").returncode == 0
    bench.db.unlink()
    assert bench.call("recover").returncode == 0
    assert bench.call("run", "--resume", "--build", "touch started").returncode == 0
    assert not (bench.path / "started").exists()


def test_a_build_that_fails(builds):
    """What the compiler says is seen, jobs of programs that are there count, the rest runs when it is mended."""
    (builds.path / "broken-b").touch()
    done = builds.run(suite("abc"), "--build", BUILD, "--jobs", "1")
    assert done.returncode == 1 and "\nb.c:1: error: no such word\n" in "\n" + done.stdout
    assert "not run: 2 jobs (their program could not be built)\nbuild: build/regress/1/build.log\n" in done.stdout
    assert last_line(done) == "1 passed, 0 failed, 2 did not run (the build failed)"
    alone = builds.call("run", "--resume")
    assert alone.returncode == 2 and "build/n16-fast/unit-b was not built when it ended" in alone.stderr
    (builds.path / "broken-b").unlink()
    again = builds.call("run", "--resume", "--build", BUILD)
    assert again.returncode == 0 and last_line(again) == "3 passed, 0 failed", again.stdout + again.stderr


def test_a_full_disk_is_no_failed_build(bench):
    with small_disk(bench.path / "disk", "256k"):
        done = bench.run("unit pass cfg=n8\n", "--build-dir", "disk", "--out", "out", "--db", "r.db",
                         "--build", "dd if=/dev/zero of=disk/hog bs=64k 2>/dev/null; exit 1")
    assert done.returncode == 3 and "\nno space left in disk\n" in "\n" + done.stdout
    assert last_line(done) == "0 passed, 0 failed, 1 did not run"


def asleep(pid):
    return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "S"


def test_the_runner_sleeps(bench):
    """Pipes that the builder has closed do not keep the runner awake."""
    bench.program(bench.build / "n8-fast/unit-long",
                  "touch began; until [ -e go ]; do sleep 0.02; done; report 'outcome=pass\\n'")
    run = start(bench, "unit long cfg=n8\n", "--build", "sed 's/^/  READY /'", "--jobs", "2")
    wait_until(lambda: (bench.path / "began").exists())
    # awake it would be running, or ready to run, in most of these looks
    wait_until(lambda: all(asleep(run.pid) for _ in range(200)), 20)
    (bench.path / "go").touch()
    run.communicate(timeout=60)
    assert run.returncode == 0


def test_a_builder_that_ends_too_early(bench):
    done = bench.run("unit pass cfg=n4\n", "--build", "true")
    assert done.returncode == 1 and last_line(done) == "0 passed, 0 failed, 1 did not run (the build failed)"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_interrupted(bench, number):
    """Nothing of the builder stays behind, however the runner ends."""
    run = start(bench, "unit pass cfg=n8\n", "--build", "echo $$ >pid; sleep 100 & echo $! >>pid; wait")
    pids = bench.path / "pid"
    wait_until(lambda: pids.exists() and len(pids.read_text().split()) == 2)
    os.kill(run.pid, number)
    text, _ = run.communicate(timeout=20)
    assert gone([int(pid) for pid in pids.read_text().split()]) and not leftovers(bench)
    if number == signal.SIGINT:
        assert text.splitlines()[-1] == "0 passed, 0 failed, 1 did not run (interrupted)"
