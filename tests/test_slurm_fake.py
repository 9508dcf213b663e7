"""Launcher slurm with stand-ins for Slurm's programs: arrays, attempts that are lost, late, twice or half there,
refusals."""

import os
import shutil
import random
import re
import signal
import sqlite3
import subprocess
import time

import pytest

from regress_bench import PROGRAM, bench, last_line, leftovers, popen, programs, wait_until  # noqa: F401
from slurm_bench import ASKS, counted, decided, fake, ran, rows, slurm_run, slurm_start, stands  # noqa: F401

FULL = os.environ.get("TANDEM_CHECK") == "1"
check_only = pytest.mark.skipif(not FULL, reason="not run: long (make check)")


def arrays(bench):
    return [int(count) + 1 for count in re.findall(r"--array=0-(\d+)", (bench.fake / "submitted").read_text())]


def test_tasks_run_and_are_recorded(fake):
    done = slurm_run(fake, "unit pass cfg=n8 count=6\nunit fail cfg=n8\n", "--shard-seconds", "0",
                     "--slurm-partition", "p1", "--slurm-account", "me", "--slurm-args", "--mem=4G  --qos=low")
    assert done.returncode == 1 and done.stderr == "" and last_line(done) == "6 passed, 1 failed"
    assert "under Slurm" in done.stdout
    (line,) = (fake.fake / "submitted").read_text().splitlines()
    for word in ("--parsable", "--array=0-6", "--no-requeue", "--partition=p1",
                 "--account=me", "--mem=4G", "--qos=low", "--cpus-per-task=1"):
        assert word in line.split()
    assert leftovers(fake) == []
    assert (fake.path / "build/regress/1/slurm/1/1/jobs.txt").exists()
    assert fake.call("gc", "--keep-runs", "0").returncode == 0
    assert not (fake.path / "build/regress/1").exists()


def test_at_most_1000_tasks_in_an_array(fake):
    (fake.fake / "idle").touch()
    runner = slurm_start(fake, "unit pass cfg=n8 count=2300\n", "--shard-seconds", "0")
    wait_until(lambda: (fake.fake / "submitted").exists() and len(arrays(fake)) == 3)
    runner.send_signal(signal.SIGINT)
    out, err = runner.communicate(timeout=60)
    assert runner.returncode == 1 and err == "" and "not run: 2300 jobs (interrupted)" in out
    assert arrays(fake) == [1000, 1000, 300]
    assert (fake.fake / "cancelled").read_text().split() == ["1", "2", "3"]
    lists = [(fake.path / f"out/slurm/1/{number}/jobs.txt").read_text() for number in (1, 2, 3)]
    assert sum(text.count("\njob ") for text in lists) == 2300


def test_no_task_is_shorter_than_asked_for(fake):
    """Jobs of 0.3 s; tasks of at least a second have four, the last one takes the rest; unknown times count as the mean
    of the others."""
    fake.run("unit slow cfg=n8 count=8\n")
    with sqlite3.connect(fake.db) as db:  # whatever else the machine does meanwhile
        db.execute("UPDATE job SET wall_ms = 300")
    (fake.fake / "idle").touch()
    runner = slurm_start(fake, "unit slow cfg=n8 count=8\nunit pass cfg=n8 count=3\n", "--shard-seconds", "1")
    wait_until(lambda: (fake.fake / "submitted").exists())
    runner.send_signal(signal.SIGINT)
    runner.communicate(timeout=60)
    tasks = [line.split()[1] for line in (fake.path / "out/slurm/2/1/jobs.txt").read_text().splitlines()
             if line.startswith("job ")]
    assert len(tasks) == 11 and arrays(fake) == [2]
    assert min(tasks.count("0"), tasks.count("1")) >= 3


def test_a_shard_without_history(fake):
    assert slurm_run(fake, "unit pass cfg=n8 count=100\n").returncode == 0
    assert arrays(fake) == [1]  # a second each: one minute and the rest


def test_lost_tasks_come_again(fake):
    """The tasks of the first array end without having done anything, those of the second after the first job."""
    counted(fake, 0)
    (fake.fake / "hook").write_text(
        """[ $NUMBER = 1 ] && exit 0
        [ $NUMBER = 2 ] && sed -i 's/^exec \\(.* node\\)/exec timeout --foreground -s KILL 0.6 \\1/' $TASK_SCRIPT
        exec sh $TASK_SCRIPT\n"""
    )
    done = slurm_run(fake, "unit counted cfg=n8\nunit slow cfg=n4 count=3\n", "--slurm-silence", "3")
    assert done.returncode == 0, done.stdout + done.stderr
    assert arrays(fake) == [1, 1, 1]
    assert ran(fake) == [0]
    attempts = [row[0] for row in rows(fake, "attempt")]
    assert attempts[0] == 2 and attempts[-1] == 3
    assert all(os.path.exists(fake.path / row[0]) for row in rows(fake, "log_path"))


def test_lost_three_times_has_no_verdict(fake):
    (fake.fake / "hook").write_text("echo no such machine > ${TASK_SCRIPT%task.sh}$SLURM_ARRAY_TASK_ID.log\n")
    done = slurm_run(fake, "unit pass cfg=n8 count=2\n")
    assert done.returncode == 3 and last_line(done) == "0 passed, 0 failed, 2 did not run"
    assert arrays(fake) == [1, 1, 1]
    for outcome, signature, message in rows(fake, "outcome,signature,host"):
        assert outcome is None and signature is None
        assert message.startswith("no result after 3 attempts") and message.endswith("/3/0.log: no such machine)")


def late_record(bench, outcome, trace_hash):
    """The record of the second attempt at the first job as the first attempt would have written it."""
    text = (bench.path / "out/slurm/1/2/done/0.2.txt").read_text()
    text = re.sub("check=.*\n", "", text).replace("\nattempt=2\n", "\nattempt=1\n")
    text = re.sub("\noutcome=.*", f"\noutcome={outcome}", re.sub("\ntrace_hash=.*", f"\ntrace_hash={trace_hash}", text))
    check = 0xcbf29ce484222325
    for byte in text.encode():
        check = (check ^ byte) * 0x100000001b3 % 2**64
    path = bench.path / "out/slurm/1/1/done/0.1.txt"
    path.with_suffix(".new").write_text(f"{text}check={check:016x}\n")
    path.with_suffix(".new").rename(path)


@pytest.mark.parametrize("outcome, trace_hash",
                         [("pass", "0x1"), ("pass", "0x2"), ("fail", "0x1")] if FULL else [("pass", "0x2")])
def test_attempts_must_agree(fake, outcome, trace_hash):
    """The record of an attempt that was given up arrives late."""
    fake.program(fake.build / "n8-fast/unit-sure", "report 'outcome=pass\\ntrace_hash=0x1\\n'")
    (fake.fake / "hook").write_text("[ $NUMBER = 1 ] && exit 0\nsh $TASK_SCRIPT\n")
    runner = slurm_start(fake, "unit sure cfg=n8\nunit hang cfg=n8 timeout=2\n")
    wait_until(lambda: decided(fake) == 1)
    assert rows(fake, "attempt")[0] == (2,)
    late_record(fake, outcome, trace_hash)
    out, err = runner.communicate(timeout=60)
    assert err == ""
    found = rows(fake, "outcome,attempt,message,repro")
    agree = (outcome, trace_hash) == ("pass", "0x1")
    assert found[0][:2] == ("pass" if agree else "nondeterministic", 2), out
    assert found[1][0] == "timeout"
    if agree:
        assert last_line_of(out) == "1 passed, 1 failed"
    else:
        assert found[0][2].startswith("attempt 2: ") and f"attempt 1: {outcome}, trace hash {trace_hash}" in found[0][2]
        assert last_line_of(out) == "0 passed, 2 failed" and out.count("nondeterministic unit") == 1


def test_a_task_that_begins_too_late(fake):
    """Neither Slurm nor the folder knows of the first task, so its job runs in a second one; then Slurm starts it."""
    counted(fake, 1.5)
    (fake.fake / "hook").write_text("[ $NUMBER = 1 ] || exec sh $TASK_SCRIPT\n")
    runner = slurm_start(fake, "unit counted cfg=n8\n")
    wait_until(lambda: ran(fake) == [0])
    subprocess.run(["sh", fake.path / "out/slurm/1/1/task.sh"], env=dict(fake.env, SLURM_ARRAY_TASK_ID="0"),
                   check=True, timeout=30)
    out, err = runner.communicate(timeout=60)
    assert runner.returncode == 0, out + err
    assert rows(fake, "outcome,attempt") == [("pass", 2)] and ran(fake) == [0]
    assert "another process has this task" in (fake.path / "out/slurm/1/1/0.log").read_text()


def test_a_task_that_was_given_up_ends(fake):
    """It stands still for longer than allowed, on a node that Slurm does not see. Its job would be a time-out now, and
    it has another one to do."""
    counted(fake, 1.5)
    (fake.fake / "hook").write_text("echo $$ > $FAKE/pid.$NUMBER\nexec sh $TASK_SCRIPT\n")
    runner = slurm_start(fake, "unit counted cfg=n8 count=2 timeout=3\n", "--slurm-silence", "3")
    wait_until(lambda: ran(fake) == [0])
    node = int((fake.fake / "pid.1").read_text())
    os.kill(node, signal.SIGSTOP)
    (fake.fake / f"queue/{node}.1").unlink()
    wait_until(lambda: ran(fake) == [0, 0])
    os.kill(node, signal.SIGCONT)
    out, err = runner.communicate(timeout=60)
    assert runner.returncode == 0, out + err
    assert rows(fake, "outcome,attempt") == [("pass", 2)] * 2 and ran(fake) == [0, 0, 1]
    assert "told to end" in (fake.path / "out/slurm/1/1/0.log").read_text()


@check_only
def test_a_task_without_a_heartbeat_ends(fake):
    """It cannot write it, so the runner gives the task up: it must not go on."""
    counted(fake, 30)
    (fake.fake / "hook").write_text("trap '' XFSZ; echo $$ > $FAKE/pid.$NUMBER; exec sh $TASK_SCRIPT\n")
    runner = slurm_start(fake, "unit counted cfg=n8\n", "--slurm-silence", "11")
    wait_until(lambda: ran(fake) == [0])
    node = (fake.fake / "pid.1").read_text().strip()
    subprocess.run(["prlimit", "--pid", node, "--fsize=0:"], check=True, timeout=30)
    wait_until(lambda: not os.path.exists(f"/proc/{node}"), 9)
    runner.send_signal(signal.SIGINT)
    runner.communicate(timeout=60)


@check_only
def test_a_task_that_waited_while_squeue_was_silent(fake):
    """It waits in the queue, squeue is silent for longer than a task may be, and the task has just been started."""
    counted(fake, 0)
    (fake.fake / "hook").write_text(ASKS + """file=$(echo $FAKE/queue/*.$NUMBER)
        sed -i s/RUNNING/PENDING/ $file; asks 3
        touch $FAKE/silent; asks 12; sed -i s/PENDING/RUNNING/ $file; rm $FAKE/silent; asks 4
        exec sh $TASK_SCRIPT\n""")  # 12 times 0.3 s are more than the 3 s of --slurm-silence
    done = slurm_run(fake, "unit counted cfg=n8\n", "--slurm-silence", "3")
    assert done.returncode == 0 and rows(fake, "attempt") == [(1,)] and ran(fake) == [0], done.stdout
    assert not (fake.fake / "cancelled").exists()


def last_line_of(text):
    return text.strip().splitlines()[-1]


@pytest.mark.parametrize("others", [True, False] if FULL else [True])
def test_a_node_where_nothing_is_done(fake, others):
    """Two tasks end on a node without any record: the next attempt is for other nodes, if there are any."""
    if not others:
        (fake.fake / "one-node").touch()
    (fake.fake / "hook").write_text("[ $NUMBER -lt 3 ] || exec sh $TASK_SCRIPT\n")
    done = slurm_run(fake, "unit pass cfg=n8\n")
    assert done.returncode == 0 and done.stderr == "" and rows(fake, "attempt") == [(3,)], done.stderr
    lines = (fake.fake / "submitted").read_text().splitlines()
    assert ["--exclude=node0" in line for line in lines] == [False, False, others]


def test_slurm_starts_no_task(fake):
    """For a reason that does not pass by itself; one line says it."""
    reason = "Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions"
    (fake.fake / "idle").write_text(reason)
    runner = slurm_start(fake, "unit pass cfg=n8\n", "--slurm-poll", "0.1")
    err = runner.stderr.readline()
    runner.send_signal(signal.SIGINT)
    err += runner.communicate(timeout=60)[1]
    assert err == f"tandem-regress: Slurm starts no task of this run; the run waits: {reason}\n"


def test_half_written_records_are_not_there_yet(fake):
    (fake.fake / "hook").write_text(
        ASKS + """done=${TASK_SCRIPT%task.sh}done
        printf 'run=1\\njob=0\\nattempt=1\\noutcome=fail\\n' > $done/0.1.txt
        printf 'run=1\\njob=1\\nattempt=1\\noutcome=fail\\ncheck=0000000000000000\\n' > $done/1.1.txt
        : > $done/2.1.txt; : > $done/2.1.txt.tmp77; : > $done/9.9.txt; : > $done/nonsense
        asks 4
        exec sh $TASK_SCRIPT\n"""
    )
    done = slurm_run(fake, "unit pass cfg=n8 count=3\n")
    assert done.returncode == 0 and last_line(done) == "3 passed, 0 failed" and arrays(fake) == [1]


def test_a_record_that_stays_half_written_is_lost(fake):
    (fake.fake / "hook").write_text("""[ $NUMBER = 1 ] && {
  printf 'outcome=pass\\n' > ${TASK_SCRIPT%task.sh}done/0.1.txt
  exit
}
exec sh $TASK_SCRIPT\n""")
    done = slurm_run(fake, "unit pass cfg=n8\n")
    assert done.returncode == 0 and rows(fake, "outcome,attempt") == [("pass", 2)]


def test_a_task_is_worked_on_once(fake):
    """Slurm starts a task again, in the same array: the second process sees that it is taken."""
    counted(fake, 0.2)
    (fake.fake / "hook").write_text("sh $TASK_SCRIPT & sh $TASK_SCRIPT; wait\n")
    done = slurm_run(fake, "unit counted cfg=n8 count=3\n")
    assert done.returncode == 0 and ran(fake) == [0, 1, 2]


def test_squeue_may_be_silent_for_a_while(fake):
    (fake.fake / "hook").write_text(ASKS + "touch $FAKE/silent; asks 3; rm $FAKE/silent; exec sh $TASK_SCRIPT\n")
    done = slurm_run(fake, "unit pass cfg=n8\n")
    assert done.returncode == 0
    assert done.stderr == "tandem-regress: squeue does not answer, the run waits: Unable to contact slurm controller\n"


def test_fail_fast_cancels(fake):
    done = slurm_run(fake, "unit fail cfg=n8\nunit hang cfg=n8 count=3\n", "--shard-seconds", "0", "--fail-fast")
    assert done.returncode == 1 and "not run: 3 jobs (stopped at the first failure)" in done.stdout
    assert "1" in (fake.fake / "cancelled").read_text().split()
    assert leftovers(fake) == []


def test_a_pair_is_compared(fake):
    done = slurm_run(fake, "repeat unit random cfg=n8\nrepeat unit pass cfg=n8\n", "--shard-seconds", "0")
    assert done.returncode == 1 and rows(fake, "outcome") == [("pass",), ("nondeterministic",), ("pass",), ("pass",)]


@check_only  # test_slurm.py has it on a cluster
def test_resume_takes_what_came_meanwhile(fake):
    """kill -9 of the runner: its task goes on; what it finished is taken in, the rest is waited for, nothing runs
    twice."""
    counted(fake, 0.3)
    runner = slurm_start(fake, "unit counted cfg=n8 count=10\n")
    wait_until(lambda: decided(fake) >= 1)
    runner.kill()
    runner.communicate()
    before = decided(fake)
    wait_until(lambda: len(ran(fake)) >= before + 3)
    done = fake.call("run", "--resume", "--slurm-poll", "0.3")
    assert done.returncode == 0 and last_line(done) == "10 passed, 0 failed", done.stderr
    assert ran(fake) == list(range(10)) and arrays(fake) == [1]
    assert set(rows(fake, "attempt")) == {(1,)}


@check_only
def test_kill_9_at_random_moments(fake):
    """Whenever runners are killed, each job runs once and stands once in the database."""
    counted(fake, 0.1)
    draw = random.Random(1)
    runner = slurm_start(fake, "unit counted cfg=n8 count=60\n", "--shard-seconds", "10")
    wait_until(lambda: fake.db.exists() and stands(fake))
    hit = 0
    for _ in range(12):
        time.sleep(draw.random() * 0.6)  # no event is waited for: any moment is as good as another
        hit += runner.poll() is None
        runner.kill()
        out, err = runner.communicate()
        assert err == ""
        runner = popen(fake, "run", "--resume", "--slurm-poll", "0.3")
        fake.runners.append(runner)
    out, err = runner.communicate(timeout=60)
    assert hit >= 3 and runner.returncode == 0 and last_line_of(out) == "60 passed, 0 failed", out + err
    assert [row[0] for row in rows(fake, "outcome")] == ["pass"] * 60
    # a runner that dies between writing a list and submitting it costs an attempt, and nothing else
    assert ran(fake) == list(range(60))


def test_resume_of_a_local_run_stays_local(fake):
    fake.run("unit fail cfg=n8\nunit pass cfg=n8\n", "--fail-fast", "--jobs", "1")
    done = fake.call("run", "--resume", "--launcher", "slurm")
    assert (done.returncode == 2 and
            done.stderr == "tandem-regress: run 1 cannot be resumed: its launcher is local, not slurm\n")
    assert fake.call("run", "--resume", "--launcher", "local").returncode == 1
    assert not (fake.fake / "submitted").exists()


@pytest.mark.parametrize("name", ["sbatch", "squeue", "scancel"])
def test_without_slurm(fake, name):
    (fake.fake / name).unlink()
    fake.env["PATH"] = f"{fake.fake}:" + ":".join(part for part in fake.env["PATH"].split(":")
                                                  if not os.path.exists(f"{part}/{name}"))
    # the folder of Slurm's programs may be that of everything else
    for tool in ("bash", "sh", "git", "cat"):
        if not (fake.fake / tool).exists() and os.path.exists(f"/usr/bin/{tool}"):
            (fake.fake / tool).symlink_to(f"/usr/bin/{tool}")
    done = slurm_run(fake, "unit pass cfg=n8\n")
    assert done.returncode == 2
    assert done.stderr == f"tandem-regress: launcher slurm: no program {name} in PATH (Debian package slurm-client)\n"
    assert not fake.db.exists()


def test_sbatch_that_refuses(fake):
    (fake.fake / "refuse").write_text("sbatch: hello\nsbatch: error: invalid partition specified: moon\n\n")
    done = slurm_run(fake, "unit pass cfg=n8\n", "--slurm-partition", "moon")
    assert done.returncode == 3 and last_line(done) == "0 passed, 0 failed, 1 did not run"
    assert (done.stderr ==
            "tandem-regress: sbatch rejects an array of 1 tasks: sbatch: error: invalid partition specified: moon\n")


def test_options(fake):
    for args, text in (
        (["--launcher", "slurm", "--slurm-poll", "soon"], "--slurm-poll: expected a number 0.1..3600, got 'soon'"),
        (["--launcher", "slurm", "--slurm-cpus", "0"], "--slurm-cpus: expected a number 1..256, got '0'"),
        (["--launcher", "moon"], "--launcher: expected local or slurm, got 'moon'"),
        (["--launcher", "slurm", "--slurm-poll", "0"], "--slurm-poll: expected a number 0.1..3600, got '0'"),
        (["--launcher", "slurm", "--build", "true"], "--build needs the local launcher"),
    ):
        done = fake.run("unit pass cfg=n8\n", *args)
        assert done.returncode == 2 and text in done.stderr and len(done.stderr.splitlines()) == 1
    for args in ([], ["x"], ["x", "1000"], ["x", "one"]):
        done = fake.call("node", *args)
        assert done.returncode == 2 and len(done.stderr.splitlines()) == 1


def test_node_with_a_damaged_list(fake):
    (fake.path / "a").mkdir()
    head = "tandem-regress tasks 1\nrun 1\nseed 0x1\nbuild build\nout out\nparallel 1\nbeat 1\ntasks 1\n"
    job = "job 0 0 1 unit pass n8 fast 0 1 120 4096 0\n"
    for text in (
        "",
        "nonsense\n",
        head + job,
        head + job + "end 2\n",
        head + job + "end 1",
        head + job.replace("unit", "moon") + "end 1\n",
        head + job.replace(" 120", " -1") + "end 1\n",
        head + job.replace("job 0", "job 1") + "end 1\n",
        head + job.replace("0 0 1", "0 0 0") + "end 1\n",
        head.replace("run 1", "run 0") + job + "end 1\n",
        head.replace("beat 1\n", "") + job + "end 1\n",
    ):
        (fake.path / "a/jobs.txt").write_text(text)
        done = fake.call("node", "a", "0")
        assert done.returncode == 1, text
        assert done.stderr == "tandem-regress: a/jobs.txt: not written by the runner, or damaged\n", text
    (fake.path / "a/jobs.txt").write_text(head + job + "end 1\n")
    assert fake.call("node", "a", "1").returncode == 2
    (fake.path / "a/done").mkdir()
    (fake.path / "out/programs/n8-fast").mkdir(parents=True)
    shutil.copy(fake.path / "build/n8-fast/unit-pass", fake.path / "out/programs/n8-fast")
    assert fake.call("node", "a", "0").returncode == 0
    assert "check=" in (fake.path / "a/done/0.1.txt").read_text()
    done = fake.call("node", "a", "0")
    assert done.returncode == 0 and "another process has this task" in done.stderr
