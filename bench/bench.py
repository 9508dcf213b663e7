#!/usr/bin/python3
"""Speed of the testbench itself: cycles per second of each kind of build, and what each part of the testbench costs.

A cost is the ratio of CPU times (user and system) of two runs of bench-speed that differ in one thing. The two run
directly after each other, in alternating order, several times; the result is the median of the ratios, so that a
slower moment of the machine affects both sides.
"""

import argparse
import json
import os
import platform
import re
import statistics
import subprocess
import sys
import tempfile

KINDS = ("fast", "debug", "tap")

# name: test and knobs; the same smaller (some thousand cycles), for instruction counts and for waveforms of the whole
# run
CONV = ("s=1 p=1 d=1 groups=1 act=relu bias=1 in_layout=fp32 out_layout=fp32 data=uniform wdata=uniform bus=ideal "
        "place=0 gap=0 wait=irq")
POOL = "k=3 s=2 p=1 type=max int8=0 global=0 data=plain bus=ideal place=0 gap=0 wait=irq"
CONVERT = "to=int8 data=uniform bus=ideal place=0 gap=0 wait=irq"
WORKLOADS = {
    "conv": ("conv ic=64 oc=64 iw=28 ih=28 k=3 " + CONV, "conv ic=16 oc=16 iw=28 ih=28 k=3 " + CONV),
    "convert": ("convert c=64 h=112 w=112 " + CONVERT, "convert c=32 h=56 w=56 " + CONVERT),
    "pool": ("pool c=64 h=112 w=112 " + POOL, "pool c=32 h=56 w=56 " + POOL),
    "mix": ("sequence errors=0 --run 1", "sequence errors=0 tasks=4 --run 1"),
}
WHAT = {
    "conv": "convolution 28x28x64, k3, to 64 channels, FP32",
    "convert": "FP32 to INT8, 112x112x64: bound by the bus",
    "pool": "maximum pooling 112x112x64, k3, stride 2, FP32",
    "mix": "test `sequence`: random tasks of all units, random bus timing",
}

# name, label, (kind, arguments) with the part and without it. WAVE is replaced by a file name.
COSTS = (
    ("taps", "taps and checks: tap / debug", ("tap", ""), ("debug", "")),
    ("copies", "  taps in the design", ("tap", "--without checks"), ("debug", "")),
    ("checks", "  checks of the units", ("tap", ""), ("tap", "--without checks")),
    ("kind", "X, able to trace: debug / fast", ("debug", ""), ("fast", "")),
    ("all", "KIND=tap in all: tap / fast", ("tap", ""), ("fast", "")),
    ("monitor", "AXI monitors", ("fast", ""), ("fast", "--without monitor")),
    ("memory", "memory access checks", ("fast", ""), ("fast", "--without memory")),
    ("compare", "memory compare", ("fast", ""), ("fast", "--without compare")),
    ("model", "golden model, all compares", ("fast", ""), ("fast", "--device rtl")),
    ("snapshots", "snapshots", ("tap", "--snapshots"), ("tap", "")),
    ("wave", "FST of the whole run", ("debug", "--wave WAVE"), ("debug", "")),
)
WIDTH = 80


SNAPSHOT_RUNS = (
    ("one long case", "conv ic=96 oc=96 iw=100 ih=100 k=3 " + CONV, 1),
    ("many short cases", "conv --run 7", 40),
)


class BenchError(Exception):
    pass


def quartiles(values):
    if len(values) < 2:
        return values[0], values[0]
    q = statistics.quantiles(values, n=4, method="inclusive")
    return q[0], q[2]


class Bench:
    """Runs bench-speed; keeps the costs of the plain runs of each kind."""

    program = "bench-speed"

    def __init__(self, build, instructions, scratch):
        self.build = build
        self.instructions = instructions
        self.scratch = scratch
        self.plain = {}
        self.counted = {}  # instruction counts repeat exactly: once for each command

    def run(self, cfg, kind, words, times, extra=""):
        """The measurements of one run; "cost" is CPU seconds or instructions."""
        extra = [os.path.join(self.scratch, "run.fst") if w == "WAVE" else w for w in extra.split()]
        command = ([os.path.join(self.build, "%s-%s" % (cfg, kind), self.program)] +
                   words.split() + ["--times", str(times)] + extra)
        key = " ".join(command)
        if key in self.counted:
            return self.counted[key]
        if self.instructions:
            command = ["valgrind", "--tool=callgrind", "--toggle-collect=bench_measured",
                       "--callgrind-out-file=/dev/null"] + command
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        except OSError as e:
            raise BenchError("%s: %s" % (command[0], e.strerror)) from e
        if done.returncode != 0:
            text = (done.stderr.strip() or "exit status %d" % done.returncode).splitlines()
            raise BenchError("%s: %s" % (" ".join(command), text[-1]))
        result = json.loads(done.stdout)
        if "--without" in extra and result["left_out"] == 0:
            raise BenchError("%s: no call was skipped: bench/without.c no longer replaces the function" %
                             " ".join(command))
        result["cost"] = result["cpu"] + result["children"]
        if self.instructions:
            counted = re.search(r"Collected : (\d+)", done.stderr)
            if counted is None or int(counted.group(1)) == 0:
                raise BenchError("valgrind counted no instructions of bench_measured")
            result["cost"] = float(counted.group(1))
            self.counted[key] = result
        return result

    def pairs(self, cfg, workload, times, cost, rounds):
        """Ratios of the runs with a part to those without it."""
        name, _, with_part, without = cost
        small = self.instructions or name == "wave"
        ratios = []
        for i in range(rounds):
            both = {}
            for side in ((with_part, without) if i % 2 == 0 else (without, with_part)):
                both[side] = self.run(cfg, side[0], WORKLOADS[workload][1 if small else 0],
                                      1 if small else times, side[1])
                if side[1] == "" and not small:
                    self.plain.setdefault((cfg, side[0], workload), []).append(both[side])
            a, b = both[with_part], both[without]
            if a["cycles"] != b["cycles"] and "--device" not in without[1]:
                raise BenchError("%s %s: %d cycles with %s, %d without: not the same run" %
                                 (cfg, workload, a["cycles"], name, b["cycles"]))
            ratios.append(a["cost"] / b["cost"])
        return ratios

    def times(self, cfg, kind, words, seconds):
        """Number of runs of a workload that takes so long."""
        if self.instructions:
            return 1
        start = 3 if "--run" in words else 1
        once = self.run(cfg, kind, words, start)["cost"] / start
        return max(1, int(-(-seconds // max(once, 1e-3))))


def progress(text):
    if sys.stderr.isatty():
        sys.stderr.write("\r\033[K" + text[:WIDTH - 1])
        sys.stderr.flush()


def measure(bench, args, cfg):
    """{workload: {cost: its ratios}}"""
    out = {}
    for workload in args.workloads:
        times = bench.times(cfg, "fast", WORKLOADS[workload][0], args.seconds)
        out[workload] = {}
        for cost in COSTS:
            if cost[0] not in args.costs or (bench.instructions and cost[0] == "snapshots"):
                continue
            rounds = 1 if bench.instructions else min(args.rounds, 3) if cost[0] == "wave" else args.rounds
            progress("%s %s: %s" % (cfg, workload, cost[1].strip()))
            out[workload][cost[0]] = bench.pairs(cfg, workload, times, cost, rounds)
    progress("")
    return out


def measure_snapshots(bench, cfg, seconds):
    """Rows: costs of the snapshots of a run, from numbers that the runs measured themselves."""
    rows = []
    for name, words, least in SNAPSHOT_RUNS:
        progress("%s snapshots: %s" % (cfg, name))
        once = bench.run(cfg, "tap", words, least)["cpu"] / least
        times = max(1, int(-(-seconds // once)))
        on = bench.run(cfg, "tap", words, times, "--snapshots")
        off = bench.run(cfg, "tap", words, times)
        extra = on["faults"] - off["faults"]
        cost = on["fork"] + max(0, extra) * on["fault_cost"]
        rows.append({"cfg": cfg, "name": name, "seconds": on["cpu"], "taken": on["snapshots"], "fork": on["fork"],
                     "faults": on["faults"], "faults_off": off["faults"], "fault_cost": on["fault_cost"],
                     "share": cost / on["cpu"], "children": on["children"], "ratio": on["cost"] / off["cost"]})
    progress("")
    return rows


# ---- output ----
def percent(value):
    """+12.3 % of a ratio; large ones as a factor."""
    return "x %.1f" % value if value >= 3 else "%+.1f %%" % (100 * (value - 1))


def speed_rows(bench, args, cfg):
    rows = []
    for kind in KINDS:
        speed, share = [], []
        for workload in args.workloads:
            runs = bench.plain.get((cfg, kind, workload), [])
            speed.append("%d" % round(statistics.median(r["cycles"] / r["cost"] for r in runs), -2) if runs else "-")
            timed = [r["harness"] / (r["rtl"] + r["harness"]) for r in runs if r["rtl"] > 0]
            share.append("%.1f %%" % (100 * statistics.median(timed)) if timed else "-")
        rows.append(("cycles/s, %s" % kind, speed))
        rows.append(("  testbench's share", share))
    return rows


def cost_rows(args, ratios):
    rows = []
    for name, label, _, _ in COSTS:
        if name in args.costs:
            cells = [percent(statistics.median(ratios[w][name])) if name in ratios[w] else "-" for w in args.workloads]
            rows.append((label, cells))
    return rows


def table(title, heads, rows, markdown):
    if markdown:
        print("| %s | %s |" % (title, " | ".join(heads)))
        print("| --- |" + " ---: |" * len(heads))
        for label, cells in rows:
            print("| %s | %s |" % (label.replace("  ", "&nbsp;&nbsp;"), " | ".join(cells)))
    else:
        first = WIDTH - 11 * len(heads) if len(heads) > 4 else 30
        print("%-*s%s" % (first, title, "".join("%11s" % h for h in heads)))
        for label, cells in rows:
            print("%-*s%s" % (first, label, "".join("%11s" % c for c in cells)))
    print()


def spread(results):
    """The largest distance of a quartile from its median, and the name of its row."""
    worst = (0, "")
    for cfg, ratios in results.items():
        for workload, costs in ratios.items():
            for name, values in costs.items():
                mid = statistics.median(values)
                lo, hi = quartiles(values)
                worst = max(worst, (max(mid - lo, hi - mid) / mid, "%s %s %s" % (cfg, workload, name)))
    return worst


def print_snapshots(rows, markdown):
    heads = ["CPU s", "taken", "fork ms", "faults", "without", "us each", "share"]
    out = []
    for r in rows:
        cells = ["%.1f" % r["seconds"], "%d" % r["taken"], "%.1f" % (1e3 * r["fork"]), "%d" % r["faults"],
                 "%d" % r["faults_off"], "%.2f" % (1e6 * r["fault_cost"]), "%.2f %%" % (100 * r["share"])]
        out.append(("%s %s" % (r["cfg"], r["name"]), cells))
    if markdown:
        table("snapshots, tap", heads, out, True)
        return
    print("%-21s%s" % ("snapshots, tap", "".join("%8s" % h for h in heads)))
    for label, cells in out:
        print("%-21s%s" % (label, "".join("%8s" % c for c in cells)))
    print()


# ---- instructions of whole runs against stored ones ----
BASELINE_KINDS = ("fast", "tap")
WORSE = 1.03  # more is a regression


def tools():
    return [first_line([os.environ.get("VERILATOR", "verilator"), "--version"]),
            first_line([os.environ.get("CXX", "g++"), "--version"])]


def count_runs(bench, args):
    """{"n4 fast conv": instructions}"""
    counts = {}
    for cfg in args.cfgs:
        for kind in BASELINE_KINDS:
            for workload in args.workloads:
                progress("instructions of %s %s %s" % (cfg, kind, workload))
                once = bench.run(cfg, kind, WORKLOADS[workload][1], 1)
                counts["%s %s %s" % (cfg, kind, workload)] = int(once["cost"])
    progress("")
    return counts


def read_baseline(path):
    try:
        with open(path, encoding="utf-8") as f:
            stored = json.load(f)
        if not all(isinstance(v, int) and v > 0 for v in stored["instructions"].values()):
            raise ValueError("instructions: expected numbers above 0")
        return stored["tools"], stored["instructions"]
    except (OSError, ValueError, KeyError, AttributeError) as e:
        raise BenchError("%s: not a stored count of instructions (%s); make bench-check SAVE=1 writes one" %
                         (path, e)) from e


def compare(args, counts):
    """Before and after; 1 when a run takes more than 3 % more."""
    made_with, before = read_baseline(args.baseline)
    if made_with != tools():
        print("bench: %s was counted with %s, this is %s: not comparable" %
              (args.baseline, ", ".join(made_with), ", ".join(tools())), file=sys.stderr)
        return 1
    worse = []
    rows = []
    for name, now in counts.items():
        ratio = now / before[name] if name in before else None
        worse += [name] if ratio is not None and ratio > WORSE else []
        rows.append((name, ["%.1f" % (before[name] / 1e6) if ratio else "-", "%.1f" % (now / 1e6),
                            percent(ratio) if ratio else "-"]))
    table("million instructions", ["before", "now", "change"], rows, args.markdown)
    for name in worse:
        print("bench: %s takes more than 3 %% more instructions than before" % name, file=sys.stderr)
    return 1 if worse else 0


def baseline(bench, args):
    counts = count_runs(bench, args)
    if not args.save:
        return compare(args, counts)
    write_json(args.baseline, {"tools": tools(), "instructions": counts})
    print("%s: instructions of %d runs" % (args.baseline, len(counts)))
    return 0


def first_line(command):
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout.splitlines()[0].strip()
    except (OSError, IndexError):
        return "unknown"


def machine():
    model = "unknown CPU"
    try:
        with open("/proc/cpuinfo", encoding="ascii", errors="replace") as f:
            model = next((line.split(":", 1)[1].strip() for line in f if line.startswith("model name")), model)
    except OSError:
        pass
    commit = first_line(["git", "describe", "--always", "--dirty"])
    return ["%s, %d cores, Linux %s" % (model, os.cpu_count() or 0, platform.release()),
            *tools(), "commit " + commit]


def report(bench, args, results, snapshots):
    for cfg in args.cfgs:
        rows = [] if bench.instructions else speed_rows(bench, args, cfg)
        table(cfg, args.workloads, rows + cost_rows(args, results[cfg]), args.markdown)
    if snapshots:
        print_snapshots(snapshots, args.markdown)
    bullet = "- " if args.markdown else ""
    for name in args.workloads:
        print("%s%s: %s" % (bullet, name, WHAT[name]))
    if bench.instructions:
        print(bullet + "costs: instructions, one run each (callgrind), portable build")
    else:
        worst = spread(results)
        print("%scosts: CPU time, median of %d pairs (FST: %d)" % (bullet, args.rounds, min(3, args.rounds)))
        if worst[1]:
            print("%swidest quartile: %.1f %% from its median (%s)" % (bullet, 100 * worst[0], worst[1]))
    for line in machine():
        print(bullet + line)


def listed(known):
    def parse(text):
        names = text.replace(",", " ").split()
        for name in names:
            if name not in known:
                raise argparse.ArgumentTypeError("%s: expected some of %s" % (name, " ".join(known)))
        return names
    return parse


def positive(kind):
    def parse(text):
        try:
            value = kind(text)
        except ValueError:
            value = 0
        if value <= 0:
            raise argparse.ArgumentTypeError("%s: expected a number above 0" % text)
        return value
    return parse


def arguments():
    costs = [c[0] for c in COSTS]
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0],
                                formatter_class=argparse.RawDescriptionHelpFormatter,
                                epilog="workloads:\n" + "".join("  %-9s%s\n" % (n, WHAT[n]) for n in WORKLOADS))
    p.add_argument("--build", default="build", help="folder with the programs (build)")
    p.add_argument("--cfgs", type=listed(["n4", "n8", "n16", "n32"]), default=["n4", "n8"], help="mesh sizes (n4 n8)")
    p.add_argument("--workloads", type=listed(list(WORKLOADS)), default=list(WORKLOADS),
                   help="some of the workloads below")
    p.add_argument("--costs", type=listed(costs), default=costs, help="some of %s" % " ".join(costs))
    p.add_argument("--rounds", type=positive(int), default=15, help="pairs for each ratio (15)")
    p.add_argument("--seconds", type=positive(float), default=0.3,
                   help="CPU time of a run in the fast build, at least (0.3)")
    p.add_argument("--snapshot-seconds", type=float, default=20,
                   help="length of the runs with and without snapshots (20); 0: none")
    p.add_argument("--method", choices=["time", "instructions"], default="time",
                   help="instructions: counted by valgrind on small sizes")
    p.add_argument("--markdown", action="store_true", help="the table for docs/bench.md")
    p.add_argument("--json", metavar="F", help="write all single ratios to F")
    p.add_argument("--baseline", metavar="F",
                   help="only compare the instructions of whole runs with those of F (with --method instructions)")
    p.add_argument("--save", action="store_true", help="store them in F instead")
    return p.parse_args()


def write_json(path, content):
    try:
        with open(path + ".tmp", "w", encoding="utf-8") as f:
            json.dump(content, f, indent=1)
            f.write("\n")
        os.replace(path + ".tmp", path)
    except OSError as e:
        raise BenchError("%s: %s" % (path, e.strerror)) from e


def guarded(action, *words):
    """What a program does, with its errors in one line; returns the exit status."""
    try:
        with tempfile.TemporaryDirectory(prefix="bench-") as scratch:
            return action(scratch, *words) or 0
    except BenchError as e:
        progress("")
        print("bench: %s" % e, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        progress("")
        return 130


def costs(scratch, args):
    results, snapshots = {}, []
    bench = Bench(args.build, args.method == "instructions" or args.baseline is not None, scratch)
    if args.baseline is not None:
        return baseline(bench, args)
    for cfg in args.cfgs:
        results[cfg] = measure(bench, args, cfg)
    if args.snapshot_seconds > 0 and not bench.instructions:
        cfg = "n8" if "n8" in args.cfgs else args.cfgs[-1]
        snapshots = measure_snapshots(bench, cfg, args.snapshot_seconds)
    report(bench, args, results, snapshots)
    if args.json:
        write_json(args.json, {"ratios": results, "snapshots": snapshots})
    return 0


if __name__ == "__main__":
    sys.exit(guarded(costs, arguments()))
