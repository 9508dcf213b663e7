#!/usr/bin/python3
"""What taps and checks cost in CPU time, as the mean of several layouts of the code.

A cycle executes most of the code once, more than the first-level cache for instructions holds; so the time of a program
depends on where the linker puts its code, by several percent. Here each kind of build is linked several times, with
different padding before its code, and the means are compared. All programs run in turns.
"""

import argparse
import os
import statistics
import sys

from bench import WORKLOADS, Bench, guarded, listed, machine, positive, progress

# name: kind, arguments
RUNS = {"debug": ("debug", ""), "design": ("tap", "--without checks"), "tap": ("tap", "")}


class Layouts(Bench):
    """Bench whose programs are those of one layout after the other."""

    def measure(self, cfg, workload, layouts, rounds, seconds):
        """{run: the least CPU time of each layout}."""
        words = WORKLOADS[workload][0]
        self.program = "bench-layout/" + layouts[0]
        times = self.times(cfg, "debug", words, seconds)
        cost = {name: [] for name in RUNS}
        for number, layout in enumerate(layouts):
            self.program = "bench-layout/" + layout
            progress("%s %s: layout %d of %d" % (cfg, workload, number + 1, len(layouts)))
            each = {name: [] for name in RUNS}
            for _ in range(rounds):
                for name, (kind, extra) in RUNS.items():
                    each[name].append(self.run(cfg, kind, words, times, extra)["cost"])
            for name, values in each.items():
                cost[name].append(min(values))
        progress("")
        return cost


def over(cost, name):
    """The mean over that of debug, and its standard error, in percent."""
    a, b = cost[name], cost["debug"]
    ratio = statistics.mean(a) / statistics.mean(b)
    parts = [statistics.stdev(v) / statistics.mean(v) for v in (a, b)] if len(a) > 1 else [0, 0]
    return 100 * (ratio - 1), 100 * ratio * (sum(p * p for p in parts) / len(a)) ** 0.5


def spread(cost, name):
    return 100 * (max(cost[name]) / min(cost[name]) - 1)


def arguments():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--build", default="build", help="folder with the programs (build)")
    p.add_argument("--cfg", default="n8", help="mesh size (n8)")
    p.add_argument("--workloads", type=listed(list(WORKLOADS)), default=list(WORKLOADS), help="some of %s" %
                   " ".join(WORKLOADS))
    p.add_argument("--rounds", type=positive(int), default=2,
                   help="runs of each program, of which the fastest counts (2)")
    p.add_argument("--seconds", type=positive(float), default=0.5, help="CPU time of a run, at least (0.5)")
    p.add_argument("layouts", nargs="+", help="names of the programs in BUILD/CFG-KIND/bench-layout")
    return p.parse_args()


def compare(scratch, args):
    bench = Layouts(args.build, False, scratch)
    print("| %s, CPU time by that of debug | tap | taps in the design | %d layouts of debug differ by |" %
          (args.cfg, len(args.layouts)))
    print("| --- | ---: | ---: | ---: |")
    for workload in args.workloads:
        cost = bench.measure(args.cfg, workload, args.layouts, args.rounds, args.seconds)
        print("| %s | %+.1f ± %.1f %% | %+.1f ± %.1f %% | %.1f %% |" %
              (workload, *over(cost, "tap"), *over(cost, "design"), spread(cost, "debug")), flush=True)
    for line in machine():
        print("- " + line)


if __name__ == "__main__":
    sys.exit(guarded(compare, arguments()))
