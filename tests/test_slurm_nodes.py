"""Launcher slurm on a cluster of three nodes that die, come back, hang, are drained: each job has one outcome, nothing
is lost, and what runs again is what was really lost."""

import os
import signal

import pytest

from regress_bench import bench, popen, programs, wait_until  # noqa: F401
from slurm_bench import Trace, decided, field, nodes, rows, slurm_start  # noqa: F401

FULL = os.environ.get("TANDEM_CHECK") == "1"
check_only = pytest.mark.skipif(not FULL, reason="not run: long (make check)")


def begin(site, tasks=3, each=5, seconds=0.5, silence=4):
    """A run of some tasks, each of which has begun its work."""
    trace = Trace(site, seconds)
    runner = slurm_start(site, f"unit traced cfg=n8 count={tasks * each}\n", "--shard-seconds", str(each),
                         "--slurm-silence", str(silence))
    wait_until(lambda: len(trace.nodes()) == min(tasks, 3) and decided(site) >= 1)
    return trace, runner


def resume(site):
    site.runners.append(popen(site, "run", "--resume", "--slurm-poll", "0.3", "--slurm-silence", "4"))
    return site.runners[-1]


def finish(site, trace, runner, again=None):
    """The run ends well; again: how many attempts began beside the first ones, at most."""
    out, err = runner.communicate(timeout=180)
    count = len(rows(site, "idx"))
    assert runner.returncode == 0 and out.strip().splitlines()[-1] == f"{count} passed, 0 failed", out + err
    trace.audit()
    assert again is None or len(trace.begun()) - count <= again, trace.begun()
    return trace.overlaps()


def test_nodes_and_runner_at_once(field):
    """A node dies, another one is drained, the runner is killed; node and runner come back."""
    trace, runner = begin(field, tasks=5, each=3)
    field.cluster.do("power-cut", "tandem1")
    field.cluster.do("drain", "tandem2")
    runner.kill()
    runner.communicate()
    field.cluster.do("start-slurmd", "tandem1")
    runner = resume(field)
    assert finish(field, trace, runner, again=1) == []
    assert field.cluster.states()["tandem2"] == "drain"


@check_only
def test_a_node_dies_and_stays_away(field):
    trace, runner = begin(field)
    field.cluster.do("power-cut", "tandem1")
    assert finish(field, trace, runner, again=1) == []


@check_only
def test_a_node_dies_and_comes_back(field):
    trace, runner = begin(field)
    field.cluster.do("power-cut", "tandem1")
    field.cluster.do("start-slurmd", "tandem1")
    assert finish(field, trace, runner, again=1) == []


@check_only
def test_all_nodes_die_at_once(field):
    trace, runner = begin(field)
    field.cluster.do("power-cut")
    field.cluster.do("start-slurmd")
    assert finish(field, trace, runner, again=3) == []


@check_only
def test_a_daemon_is_away_for_long(field):
    """Slurm gives the node up, its task goes on: the heartbeat counts."""
    trace, runner = begin(field, seconds=4)
    field.cluster.do("kill-slurmd", "tandem1")
    wait_until(lambda: field.cluster.states()["tandem1"].startswith("down"), 60)
    assert finish(field, trace, runner, again=0) == []


@check_only
def test_a_daemon_comes_back_after_it_was_given_up(field):
    """Slurm kills what it finds on the node."""
    trace, runner = begin(field, seconds=5)
    field.cluster.do("kill-slurmd", "tandem1")
    wait_until(lambda: field.cluster.states()["tandem1"].startswith("down"), 60)
    field.cluster.do("start-slurmd", "tandem1")
    assert finish(field, trace, runner, again=1) == []


@pytest.mark.skipif(not FULL, reason="not run: 10 seconds (make check)")
def test_a_node_hangs_and_goes_on(field):
    """Its task is given up and runs elsewhere; what comes back does not begin another job."""
    trace, runner = begin(field, seconds=1)
    field.cluster.do("freeze", "tandem1")
    wait_until(lambda: any(attempt == 2 for _, attempt, _ in trace.begun()), 60)
    field.cluster.do("thaw", "tandem1")
    finish(field, trace, runner, again=1)


@check_only
def test_a_node_is_drained(field):
    trace, runner = begin(field, tasks=6)
    field.cluster.do("drain", "tandem1", "tandem2")
    wait_until(lambda: {node for _, _, node in trace.begun()[-4:]} == {"tandem0"})
    field.cluster.do("resume", "tandem1", "tandem2")
    assert finish(field, trace, runner, again=0) == []


@check_only
def test_a_node_kills_every_task(field):
    """It is idle at once again, so that it would get each attempt: what is submitted again goes elsewhere."""
    trace = Trace(field, 0.3)
    field.cluster.do("break", "tandem1")
    runner = slurm_start(field, "unit traced cfg=n8 count=20\n", "--shard-seconds", "1")
    assert finish(field, trace, runner, again=0) == []
    assert trace.nodes() == {"tandem0", "tandem2"}


@check_only
def test_all_nodes_kill_every_task(field):
    """Then there is nowhere else, until they are mended."""
    trace = Trace(field, 0.3)
    field.cluster.do("break")
    runner = slurm_start(field, "unit traced cfg=n8 count=10\n", "--shard-seconds", "1")
    # the second attempts have been submitted, so every task of the first ones was killed
    wait_until(lambda: len(list((field.path / "out/slurm/1").glob("*/jobs.txt"))) >= 2)
    field.cluster.do("mend")
    out, err = runner.communicate(timeout=180)
    assert all(row in [("pass", None), ("error", "lost by Slurm")] for row in rows(field, "outcome,signature")), out


@check_only
def test_a_node_is_set_down(field):
    trace, runner = begin(field)
    field.cluster.do("down", "tandem1")
    field.cluster.do("resume", "tandem1")
    assert finish(field, trace, runner, again=1) == []


@check_only
def test_the_controller_is_killed(field):
    """What it had not saved it does again: its tasks of before are found taken."""
    trace, runner = begin(field, seconds=2)
    field.cluster.do("kill-slurmctld")
    before = len(trace.begun())
    wait_until(lambda: len(trace.begun()) > before)  # its tasks go on without it
    field.cluster.do("start-slurmctld")
    assert finish(field, trace, runner, again=3) == []


@check_only
def test_runner_and_node_are_killed(field):
    trace, runner = begin(field)
    runner.kill()
    runner.communicate()
    field.cluster.do("power-cut", "tandem1")
    wait_until(lambda: sum(node == "tandem2" for _, _, node in trace.begun()) >= 3)
    runner = resume(field)
    wait_until(lambda: any(attempt == 2 for _, attempt, _ in trace.begun()), 60)
    field.cluster.do("start-slurmd", "tandem1")
    assert finish(field, trace, runner, again=1) == []
