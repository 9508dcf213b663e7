#!/usr/bin/python3
"""Runs on a cluster of three nodes while nodes, controller and runner are killed, frozen, drained and restarted at
random moments: slurm_chaos.py SECONDS [SEED]. Exit status 1: a job was lost, counted twice, or ran when it must not;
the folder of that run is kept."""

import contextlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from regress_bench import Bench, popen, write_programs
from slurm_bench import Trace, make_cluster, missing_programs, rows, slurm_start

COUNT = 36
NODES = ["tandem0", "tandem1", "tandem2"]
OPTIONS = ["--slurm-silence", "4"]
# (weight, what); what is done to a node is undone as often
ON_A_NODE = [(2, "kill-slurmd"), (2, "kill-node"), (3, "power-cut"), (7, "start-slurmd"), (3, "freeze"), (5, "thaw"),
             (2, "drain"), (1, "down"), (4, "resume"), (1, "break"), (4, "mend")]
ELSEWHERE = [(1, "kill-slurmctld"), (3, "start-slurmctld"), (2, "kill the runner"), (1, "interrupt the runner"),
             (1, "cancel all")]
ACTIONS = [what for weight, what in ON_A_NODE + ELSEWHERE for _ in range(weight)]


class Round:
    """One run."""

    def __init__(self, folder, programs, cluster, draw):
        self.bench = Bench(folder, programs)
        self.bench.env.update(cluster.env)
        self.bench.runners = []
        self.cluster, self.draw = cluster, draw
        self.trace = Trace(self.bench, 0.4)
        self.frozen = set()
        self.done = []  # actions
        self.runner = slurm_start(self.bench, f"unit traced cfg=n8 count={COUNT}\n", "--shard-seconds", "4", *OPTIONS)

    def over(self):
        return self.runner.poll() is not None

    def resume(self):
        self.out, self.err = self.runner.communicate()
        self.runner = popen(self.bench, "run", "--resume", "--slurm-poll", "0.3", *OPTIONS)

    def act(self):
        what = self.draw.choice(ACTIONS)
        node = self.draw.choice(NODES)
        self.done.append(f"{what} {node}")
        if what.endswith("the runner"):
            if (self.bench.path / "out/slurm/1/1/jobs.txt").exists():
                self.runner.send_signal(signal.SIGKILL if what.startswith("kill") else signal.SIGINT)
                self.resume()
        elif what == "cancel all":
            with contextlib.suppress(Exception):  # without a controller
                self.cluster.cancel()
        elif what.endswith("slurmctld"):
            self.cluster.do(what)
        else:
            if what == "freeze":
                self.frozen.add(node)
            with contextlib.suppress(AssertionError):  # Slurm refuses some changes of state
                self.cluster.do(what, node)

    def finish(self):
        """Everything works again, the run ends, and each job has one outcome."""
        end = time.monotonic() + 240
        while not self.over() or self.runner.returncode != 0:
            assert time.monotonic() < end, "does not end"
            self.cluster.heal()  # Slurm itself drains nodes on which it finds what it does not know
            if self.over():  # without a controller, say
                self.resume()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.runner.wait(timeout=2)
        self.out, self.err = self.runner.communicate()
        assert self.runner.returncode == 0, self.out + self.err
        assert self.out.strip().splitlines()[-1] == f"{COUNT} passed, 0 failed", self.out
        self.trace.audit()
        for job, attempt in self.trace.overlaps():
            assert any(one == job and older < attempt and node in self.frozen
                       for one, older, node in self.trace.begun()), f"job {job}: two attempts alive"

    def run(self):
        actions = self.draw.randint(3, 12)
        while not self.over() and len(self.done) < actions:
            time.sleep(self.draw.random() ** 2 * 6)  # now and then longer than a task may be silent
            self.act()
        self.finish()


def main():
    seconds = float(sys.argv[1])
    seed = int(sys.argv[2], 0) if len(sys.argv) > 2 else random.randrange(2**32)
    if missing_programs():
        print(f"not run: not installed: {', '.join(missing_programs())}")
        return 0
    draw = random.Random(seed)
    end = time.monotonic() + seconds
    runs = actions = again = overlaps = 0
    with tempfile.TemporaryDirectory(prefix="jobs") as programs:
        write_programs(Path(programs))
        for cluster in make_cluster(1, len(NODES)):
            while time.monotonic() < end:
                folder = Path(tempfile.mkdtemp(prefix="chaos"))
                one = Round(folder, Path(programs), cluster, draw)
                try:
                    one.run()
                except Exception as error:
                    print(f"seed {seed}, run {runs}, folder {folder}: {', '.join(one.done)}: {error!r}\n"
                          f"{cluster.states()}\n{cluster.show()}", flush=True)
                    raise
                cluster.clear()
                runs += 1
                actions += len(one.done)
                again += len(one.trace.begun()) - COUNT
                overlaps += len(one.trace.overlaps())
                shutil.rmtree(folder)
    print(f"slurm: seed {seed}: {runs} runs, {runs * COUNT} jobs, {actions} events: 0 lost, 0 wrong; {again} attempts "
          f"ran again, {overlaps} beside one on a node that hung")
    return 0


sys.exit(main())
