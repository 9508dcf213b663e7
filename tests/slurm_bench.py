"""What the tests of launcher slurm share: real clusters, and programs that stand in for those of Slurm."""

import os
import shutil
import sqlite3
import subprocess
import tempfile
import time
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

    def show(self):
        """The queue with reasons, and what the controller said last."""
        script = "squeue --array --format='%i %T %r %N'; tail -n 60 ${SLURM_CONF%.conf}ctld.log"
        done = subprocess.run(script, shell=True, env={**os.environ, **self.env}, capture_output=True, text=True,
                              timeout=60)
        return done.stdout + done.stderr

    def cancel(self):
        """Whatever there is."""
        subprocess.run(["scancel", f"--user={os.geteuid()}"], env={**os.environ, **self.env}, timeout=60, check=True)

    def states(self):
        """The state of each node, as sinfo says it."""
        done = subprocess.run(["sinfo", "--noheader", "--Node", "--format=%N %t"],
                              env={**os.environ, **self.env}, capture_output=True, text=True, timeout=60)
        return dict(line.split() for line in done.stdout.splitlines())

    def ill(self):
        """Nodes that take no task."""
        return [node for node, state in self.states().items() if state not in ("idle", "mix", "alloc", "comp")]

    def heal(self):
        """Whatever was done to controller and nodes: they work again."""
        for command in ("start-slurmctld", "thaw", "start-slurmd", "mend"):
            self.do(command)
        end = time.monotonic() + 60
        while not self.states() or self.ill():
            assert time.monotonic() < end, self.states()
            # refused as long as a node has not registered
            subprocess.run([SCRIPT, "resume", self.folder, *self.ill()], capture_output=True, timeout=60)
            time.sleep(0.2)

    def clear(self):
        """Nothing in the queue, nodes that answer."""
        self.heal()
        if self.queue():
            self.cancel()
        wait_until(lambda: self.queue() == [])


def make_cluster(cpus, nodes):
    missing = missing_programs()
    if missing:
        pytest.skip(f"not run: not installed: {', '.join(missing)} (packages slurm-wlm, munge)")
    with tempfile.TemporaryDirectory(prefix="slurm") as folder:  # a short name, for the sockets
        made = Cluster(folder)
        try:
            made.do("start", str(cpus), str(nodes))
            yield made
        finally:
            made.do("stop")


@pytest.fixture(scope="module")
def cluster():
    yield from make_cluster(2, 1)


@pytest.fixture(scope="module")
def nodes():
    """A cluster of three nodes; one processor each, so that a task has a node for itself."""
    yield from make_cluster(1, 3)


def connect(bench, cluster):
    """Runs of the bench go to the cluster."""
    bench.env.update(cluster.env)
    bench.cluster = cluster
    bench.runners = []
    yield bench
    for runner in bench.runners:  # of a test that failed
        if runner.poll() is None:
            runner.kill()
            runner.communicate()
    cluster.clear()


@pytest.fixture
def site(bench, cluster):
    yield from connect(bench, cluster)


@pytest.fixture
def field(bench, nodes):
    yield from connect(bench, nodes)


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


class Trace:
    """Jobs that say when they run: unit-traced."""

    def __init__(self, bench, seconds):
        self.bench = bench
        # the lock is that of the job, not of what it starts
        bench.program(bench.build / "n8-fast/unit-traced", f"""attempt=${{result##*result.}} attempt=${{attempt%.txt}}
            exec 9>{bench.path}/lock.$index
            flock -n 9 || echo $index $attempt >> {bench.path}/overlaps
            echo $index $attempt $SLURMD_NODENAME >> {bench.path}/begun
            sleep {seconds} 9>&-
            report 'outcome=pass\\ncycles=5\\ntrace_hash=0x'$index'\\n'""")

    def _lines(self, name):
        path = self.bench.path / name
        return [line.split() for line in path.read_text().splitlines()] if path.exists() else []

    def begun(self):
        """(job, attempt, node) of all that began, in order."""
        return [(int(job), int(attempt), node) for job, attempt, node in self._lines("begun")]

    def nodes(self):
        return {node for _, _, node in self.begun()}

    def overlaps(self):
        """(job, attempt) of those that began while another attempt at the same job was alive."""
        return [(int(job), int(attempt)) for job, attempt in self._lines("overlaps")]

    def audit(self):
        """Each job has one outcome; no attempt began twice; none was submitted after another one had its record."""
        found = rows(self.bench, "outcome,trace_hash,attempt")
        assert [row[:2] for row in found] == [("pass", f"0x{index}") for index in range(len(found))]
        began = [(job, attempt) for job, attempt, _ in self.begun()]
        assert sorted(began) == sorted(set(began))
        assert {job for job, _ in began} == set(range(len(found)))
        folder = self.bench.path / "out/slurm/1"
        recorded = {}  # job: time of its first record
        for path in folder.glob("*/done/*.txt"):
            job, written = int(path.name.split(".")[0]), path.stat().st_mtime
            recorded[job] = min(written, recorded.get(job, written))
        for path in folder.glob("*/jobs.txt"):
            for line in path.read_text().splitlines():
                if line.startswith("job "):
                    job = int(line.split()[2])
                    assert path.stat().st_mtime <= recorded[job], line


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
[ -e $FAKE/one-node ] && [[ $* = *--exclude=* ]] && { echo "not available" >&2; exit 1; }
echo "$@" >> $FAKE/submitted
number=$(wc -l < $FAKE/submitted)
for word; do
  case $word in --job-name=*) name=${word#*=};; --array=0-*) last=${word#*=0-};; esac
done
[ -e $FAKE/idle ] && { seq -f "$name|%g|PENDING|$number||$(cat $FAKE/idle)" 0 $last > $FAKE/queue/0.$number; exit 0; }
for task in $(seq 0 $last); do
  SLURM_ARRAY_TASK_ID=$task NUMBER=$number TASK_SCRIPT=$word \
    setsid bash -c 'touch $FAKE/began.$NUMBER.$SLURM_ARRAY_TASK_ID; exec bash $FAKE/hook' </dev/null >/dev/null 2>&1 &
  echo "$name|$task|RUNNING|$number|node$task|None" > $FAKE/queue/$!.$number
done
for task in $(seq 0 $last); do  # what is still in our process group ends with us
  until [ -e $FAKE/began.$number.$task ]; do sleep 0.01; done
done
"""
SQUEUE = r"""#!/bin/bash
echo >> $FAKE/asked
[ -e $FAKE/silent ] && { echo "Unable to contact slurm controller" >&2; exit 1; }
echo "somebody-else|4|RUNNING|7"
shopt -s nullglob
for file in $FAKE/queue/*; do
  pid=${file##*/} pid=${pid%.*}
  { [ "$pid" = 0 ] || grep -q '^State:[[:space:]]*[^Z[:space:]]' /proc/$pid/status; } 2>/dev/null && cat $file &&
    continue
  [[ $* = *--states=all* ]] && sed s/RUNNING/FAILED/ $file
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


# For a hook: wait until the runner has asked squeue N more times. It asks at most every 0.3 s (QUICK), so this also
# bounds the time that has passed from below.
ASKS = """asks() { until=$(($(cat $FAKE/asked 2>/dev/null | wc -l) + $1))
  while [ "$(cat $FAKE/asked 2>/dev/null | wc -l)" -lt $until ]; do sleep 0.02; done; }
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
