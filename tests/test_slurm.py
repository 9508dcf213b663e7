"""Launcher slurm on a real cluster of one node: the same results as a local run, whatever is killed in the middle of
it."""

import os
import signal
import sqlite3

import pytest

from regress_bench import bench, last_line, leftovers, popen, programs, wait_until  # noqa: F401
from slurm_bench import cluster, counted, decided, site, ran, rows, slurm_run, slurm_start  # noqa: F401

FULL = os.environ.get("TANDEM_CHECK") == "1"
check_only = pytest.mark.skipif(not FULL, reason="not run: long (make check)")

# What a run found out, paths below its folder included; times are not.
FOUND = ("idx,what,test,cfg,kind,seed,first_index,cases,args,second_run,attempt,outcome,signature,"
         "message,cycles,trace_hash,exit_status,cmd,case_path,log_path")


def last_line_of(text):
    return text.strip().splitlines()[-1]


def test_equals_the_local_run(site):
    text = ("unit pass cfg=n8 count=8 determinism=2\nunit fail cfg=n4\nunit crash cfg=n4\nunit partial cfg=n8\n"
            "unit hang cfg=n8 timeout=1\ntest conv cfg=n8 cases=3\nrepeat unit wobbly cfg=n8\nunit children cfg=n4\n")
    here = site.run(text, "--out", "out")
    local = rows(site, FOUND)
    there = slurm_run(site, text, "--out", "out", "--shard-seconds", "2", "--slurm-cpus", "2", "--junit", "j.xml")
    assert there.returncode == here.returncode == 1 and there.stderr == ""
    assert rows(site, FOUND, 2) == local
    assert last_line(there) == last_line(here)
    assert site.call("diff", "1", "2").returncode == 0
    with sqlite3.connect(site.db) as db:
        assert db.execute("SELECT launcher,state FROM run").fetchall() == [("local", "done"), ("slurm", "done")]
        assert db.execute(
            "SELECT count(*) FROM job WHERE run=2 AND wall_ms IS NOT NULL AND max_rss_kb>0").fetchone() == (len(local),)
    assert (site.path / "j.xml").exists()
    assert leftovers(site) == []
    wait_until(lambda: site.cluster.queue() == [])


def begin(site, count, seconds, *args):
    """A run of which two jobs are done and most are not."""
    counted(site, seconds)
    runner = slurm_start(site, f"unit counted cfg=n8 count={count}\n", "--shard-seconds", str(count // 2), *args)
    wait_until(lambda: decided(site) >= 2)
    assert runner.poll() is None and decided(site) < count - 2
    return runner


def whole(site, runner, count):
    out, err = runner.communicate(timeout=120)
    assert runner.returncode == 0, out + err
    assert last_line_of(out) == f"{count} passed, 0 failed"
    assert [row[:2] for row in rows(site, "outcome,trace_hash")] == [("pass", f"0x{index}") for index in range(count)]


def test_slurmd_is_killed(site):
    """The node's daemon alone: its tasks go on, and it finds them when it is back."""
    runner = begin(site, 10, 0.5)
    site.cluster.do("kill-slurmd")
    before = decided(site)
    wait_until(lambda: decided(site) > before)
    site.cluster.do("start-slurmd")
    whole(site, runner, 10)
    assert ran(site) == list(range(10)) and set(rows(site, "attempt")) == {(1,)}
    wait_until(lambda: site.cluster.queue() == [])


def test_slurmd_and_slurmstepd_are_killed(site):
    """What they had started lives on without them and still says what it found out. Slurm does not notice for long: the
    runner cancels those tasks."""
    runner = begin(site, 10, 0.5)
    site.cluster.do("kill-node")  # returns when they are gone
    site.cluster.do("start-slurmd")
    whole(site, runner, 10)
    assert ran(site) == list(range(10))
    wait_until(lambda: site.cluster.queue() == [])


def test_everything_of_the_node_is_killed(site):
    """As by a power cut: what was running and what waited in these tasks runs again, as another attempt, and nothing
    else."""
    runner = begin(site, 10, 0.5, "--slurm-silence", "3")
    site.cluster.do("power-cut")
    done = {index for index in range(10) if (site.path / "out/slurm/1/1/done" / f"{index}.1.txt").exists()}
    site.cluster.do("start-slurmd")
    whole(site, runner, 10)
    attempts = [row[0] for row in rows(site, "attempt")]
    assert attempts == [1 if index in done else 2 for index in range(10)]
    again = [index for index in range(10) if ran(site).count(index) != 1]
    assert len(again) <= 2 and not done & set(again)  # those that ran at that moment, on two processors
    wait_until(lambda: site.cluster.queue() == [])


def test_interrupt_cancels(site):
    runner = begin(site, 10, 0.4)
    runner.send_signal(signal.SIGINT)
    out, err = runner.communicate(timeout=60)
    assert runner.returncode == 1 and err == "" and "(interrupted)" in out
    assert site.cluster.queue() == []
    done = decided(site)
    assert 2 <= done < 10 and last_line_of(out) == f"{done} passed, 0 failed, {10 - done} did not run (interrupted)"
    assert leftovers(site) == []
    finished = ran(site)
    again = site.call("run", "--resume", "--slurm-poll", "0.3", "--shard-seconds", "1")
    assert again.returncode == 0 and last_line(again) == "10 passed, 0 failed", again.stderr
    # twice what each of the two tasks had begun, and the next job if that died of the signal before its task was told
    assert sorted(set(ran(site))) == list(range(10)) and len(finished) < len(ran(site)) <= 10 + 4


def test_the_runner_is_killed(site):
    """kill -9: the tasks go on, --resume takes in what they finished and waits for the rest; nothing runs twice."""
    runner = begin(site, 10, 0.4)
    runner.kill()
    runner.communicate()
    before = decided(site)
    wait_until(lambda: len(ran(site)) >= before + 4)
    again = site.call("run", "--resume", "--slurm-poll", "0.3")
    assert again.returncode == 0 and last_line(again) == "10 passed, 0 failed", again.stderr
    assert ran(site) == list(range(10)) and set(rows(site, "attempt")) == {(1,)}


@check_only
def test_somebody_cancels_the_tasks(site):
    """Slurm signals every process of a task: no job is taken for one that crashed; what was not done runs again."""
    runner = begin(site, 10, 0.5)
    for _ in range(2):
        before = decided(site)
        site.cluster.cancel()
        wait_until(lambda: decided(site) > before or runner.poll() is not None, 40)
    whole(site, runner, 10)
    assert max(row[0] for row in rows(site, "attempt")) in (2, 3)


@check_only
def test_runner_and_node_are_killed(site):
    runner = begin(site, 10, 0.5)
    runner.kill()
    runner.communicate()
    site.cluster.do("power-cut")
    site.cluster.do("start-slurmd")
    again = site.call("run", "--resume", "--slurm-poll", "0.3", "--slurm-silence", "3")
    assert again.returncode == 0 and last_line(again) == "10 passed, 0 failed", again.stderr
    assert sorted(set(ran(site))) == list(range(10)) and len(ran(site)) <= 12


@check_only
def test_a_node_that_was_cut_off_comes_back(site):
    """A task stands still for so long that it is given up; then it ends: what it would say, the second attempt says."""
    site.program(site.build / "n8-fast/unit-counted", "echo $$ >> started; case $result in *.2/*) hash=2;; *) hash=1; "
                 "sleep 3;; esac; report 'outcome=pass\\ntrace_hash=0x'$hash'\\n'")
    runner = slurm_start(site, "unit counted cfg=n8\nunit hang cfg=n8 timeout=15\n",
                         "--slurm-silence", "3", "--shard-seconds", "0")
    wait_until(lambda: (site.path / "started").exists())
    leader = int((site.path / "started").read_text().split()[0])
    node = int(open(f"/proc/{leader}/stat").read().rsplit(")", 1)[1].split()[1])
    site.cluster.do("kill-node")
    os.kill(node, signal.SIGSTOP)
    site.cluster.do("start-slurmd")
    try:
        wait_until(lambda: decided(site) == 1, 40)
    finally:
        os.kill(node, signal.SIGCONT)
    out, err = runner.communicate(timeout=120)
    assert rows(site, "outcome,attempt,trace_hash")[0] == ("pass", 2, "0x2"), out + err


@check_only
def test_without_the_controller(site):
    """sbatch tries for a while by itself."""
    conf = site.path / "slurm.conf"
    conf.write_text("".join("SlurmctldPort=1\n" if line.startswith("SlurmctldPort=")
                            else line for line in open(site.cluster.env["SLURM_CONF"])))
    site.env["SLURM_CONF"] = str(conf)
    done = slurm_run(site, "unit pass cfg=n8\n")
    assert (done.returncode == 1 and len(done.stderr.splitlines()) == 1 and
            done.stderr.startswith("tandem-regress: sbatch rejects an array of 1 tasks: "))


def test_invalid_partition(site):
    done = slurm_run(site, "unit pass cfg=n8\n", "--slurm-partition", "moon")
    assert done.returncode == 3 and len(done.stderr.splitlines()) == 1 and "nvalid partition" in done.stderr
