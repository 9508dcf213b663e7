"""What the tests of launcher slurm share: a real cluster of one node, and programs that stand in for those of Slurm."""

import os
import shutil
import sqlite3
import subprocess
import tempfile
from pathlib import Path

import pytest

from regress_bench import ROOT, popen, wait_until

SCRIPT = ROOT / "scripts/slurm-test-cluster"
QUICK = ["--slurm-poll", "0.3"]


def missing_programs():
    path = os.environ["PATH"] + ":/usr/sbin:/sbin"
    return [name for name in ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scancel")
            if shutil.which(name, path=path) is None]


class Cluster:
    """scripts/slurm-test-cluster."""

    def __init__(self, folder):
        self.folder = str(folder)
        self.env = {"SLURM_CONF": f"{folder}/slurm.conf"}

    def do(self, command, *args):
        done = subprocess.run([SCRIPT, command, self.folder, *args], capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def queue(self):
        done = subprocess.run(["squeue", "--noheader", "--array", "--format=%T"],
                              env={**os.environ, **self.env}, capture_output=True, text=True, timeout=60)
        return done.stdout.split()

    def cancel(self):
        """Whatever there is."""
        subprocess.run(["scancel", f"--user={os.geteuid()}"], env={**os.environ, **self.env}, timeout=60, check=True)

    def clear(self):
        """Nothing in the queue, a node that answers."""
        if self.queue():
            self.cancel()
        wait_until(lambda: self.queue() == [])


@pytest.fixture(scope="module")
def cluster():
    missing = missing_programs()
    if missing:
        pytest.skip(f"not run: not installed: {', '.join(missing)} (packages slurm-wlm, munge)")
    with tempfile.TemporaryDirectory(prefix="slurm") as folder:  # a short name, for the sockets
        made = Cluster(folder)
        try:
            made.do("start", "2")
            yield made
        finally:
            made.do("stop")


@pytest.fixture
def site(bench, cluster):
    """A bench whose runs go to the cluster."""
    bench.env.update(cluster.env)
    bench.cluster = cluster
    bench.runners = []
    yield bench
    for runner in bench.runners:  # of a test that failed
        if runner.poll() is None:
            runner.kill()
            runner.communicate()
    cluster.clear()


def slurm_run(bench, text, *args):
    return bench.run(text, "--launcher", "slurm", *QUICK, *args)


def slurm_start(bench, text, *args):
    runner = popen(bench, "run", "--suite", bench.suite(text), "--out", "out", "--launcher", "slurm", *QUICK, *args)
    bench.runners.append(runner)
    return runner


# A job that says that it ran: one line in the file `ran` of the bench.
def counted(bench, seconds):
    body = (f"echo $index >> {bench.path}/ran; sleep {seconds}; "
            "report 'outcome=pass\\ncycles=5\\ntrace_hash=0x'$index'\\n'")
    bench.program(bench.build / "n8-fast/unit-counted", body)


def ran(bench):
    path = bench.path / "ran"
    return sorted(int(line) for line in path.read_text().split()) if path.exists() else []


def rows(bench, columns, run=1):
    with sqlite3.connect(bench.db) as db:
        return db.execute(f"SELECT {columns} FROM job WHERE run=? ORDER BY idx", (run,)).fetchall()


def decided(bench, run=1):
    """Jobs with an outcome."""
    try:
        return sum(row != (None,) for row in rows(bench, "outcome", run))
    except sqlite3.OperationalError:  # no database yet
        return 0


def stands(bench, run=1):
    """The run has its jobs in the database."""
    try:
        return rows(bench, "idx", run) != []
    except sqlite3.OperationalError:
        return False


# ---- stand-ins: tasks are processes of this machine; a file `hook` says what a task does instead of its script ----

SBATCH = r"""#!/bin/bash
[ -e $FAKE/refuse ] && { cat $FAKE/refuse >&2; exit 1; }
echo "$@" >> $FAKE/submitted
number=$(wc -l < $FAKE/submitted)
for word; do
  case $word in --job-name=*) name=${word#*=};; --array=0-*) last=${word#*=0-};; esac
done
[ -e $FAKE/idle ] && { seq -f "$name|%g|PENDING|$number" 0 $last > $FAKE/queue/0.$number; exit 0; }
for task in $(seq 0 $last); do
  SLURM_ARRAY_TASK_ID=$task NUMBER=$number TASK_SCRIPT=$word \
    setsid bash -c 'touch $FAKE/began.$NUMBER.$SLURM_ARRAY_TASK_ID; exec bash $FAKE/hook' </dev/null >/dev/null 2>&1 &
  echo "$name|$task|RUNNING|$number" > $FAKE/queue/$!.$number
done
for task in $(seq 0 $last); do  # what is still in our process group ends with us
  until [ -e $FAKE/began.$number.$task ]; do sleep 0.01; done
done
"""
SQUEUE = r"""#!/bin/bash
[ -e $FAKE/silent ] && { echo "Unable to contact slurm controller" >&2; exit 1; }
echo "somebody-else|4|RUNNING|7"
shopt -s nullglob
for file in $FAKE/queue/*; do
  pid=${file##*/} pid=${pid%.*}
  { [ "$pid" = 0 ] || grep -q '^State:[[:space:]]*[^Z[:space:]]' /proc/$pid/status; } 2>/dev/null && cat $file
done
exit 0
"""
SCANCEL = r"""#!/bin/bash
echo "$@" >> $FAKE/cancelled
for id; do
  for file in $FAKE/queue/*.${id%_*}; do
    pid=${file##*/} pid=${pid%.*}
    [ "$pid" != 0 ] && kill -TERM -- -$pid 2>/dev/null || rm -f $file
  done
done
"""


@pytest.fixture
def fake(bench):
    folder = bench.path / "fake"
    (folder / "queue").mkdir(parents=True)
    for name, text in (("sbatch", SBATCH), ("squeue", SQUEUE), ("scancel", SCANCEL)):
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    bench.runners = []
    (folder / "hook").write_text("exec sh $TASK_SCRIPT\n")
    bench.env.update(PATH=f"{folder}:{bench.env['PATH']}", FAKE=str(folder))
    bench.fake = folder
    return bench
