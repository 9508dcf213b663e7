#!/usr/bin/env python3
"""Faults of the machine, systematically: every short run of runs.py again and again, one call failing in each.

First an undisturbed run counts the calls of each kind. Then the k-th call fails, for every k (--all), or for as many as
there is time for (--seconds), drawn by --seed: the first call from each place of the program before the others. Calls
fail once, from k on, or half (reads and writes); `disk` is a disk that is full from the k-th write on.

Judged after each: a fault may cost the result, but the program says so, on standard error and by its exit status 3 (or
it ends as undisturbed, with all its files), and nothing that it leaves is wrong or half: every file is absent, the
former one, or the one of the undisturbed run.
"""

import argparse
import collections
import concurrent.futures
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import runs
import scenarios

INJECT = runs.HOST / "faults/inject"
PRELOAD = runs.HOST / "faults/inject.so"
CLASSES = ("crash", "wrong verdict", "half-written file", "lost result", "hang", "left file", "no reason given")
# kind of call -> ways in which it fails
MODES = {"write": ("once", "on", "half", "disk"), "read": ("once", "on", "half"), "open": ("once", "on", "EACCES"),
         "alloc": ("once", "on"), "mmap": ("once", "on"), "rename": ("once", "EACCES"), "lock": ("once",)}
DEFAULT_MODES = ("once", "on")
FLAGS = {"once": [], "on": ["--on"], "half": ["--as", "half"], "disk": ["--disk"]}
TIMEOUT = 60  # and 30 times that of the undisturbed run: the machine may be busy
SITES = 3000  # places that allocate, of each run: the writer of waveforms is recursive and has 60,000
REST = 1000  # calls from places that have been tried already, of each run: a simulation makes 100,000 allocations


class Finding:
    def __init__(self, kind, text, fault, run, command):
        self.kind, self.text, self.fault, self.run, self.command = kind, text, fault, run, command


def snapshot(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*"))
            if path.is_file() and not path.is_symlink()}


def clean(run, data):
    for pattern in run.volatile:
        data = pattern.sub(b"#", data)
    return data


class Result:
    pass


class Bench:
    """A run in its folder, which is the same path each time: it appears in outputs."""

    def __init__(self, run, base):
        self.run, self.folder, self.template = run, base / run.name, base / (run.name + ".start")
        self.report = base / (run.name + ".report")
        if run.setup is not None:  # in the folder itself: what it makes may contain its path
            self.folder.mkdir()
            run.setup(self.folder)
            self.folder.rename(self.template)
        else:
            self.template.mkdir()
        self.start = snapshot(self.template)
        self.sites, self.counts, self.timeout = [], {}, 10 * TIMEOUT
        self.calibrate()

    def calibrate(self):
        first = self.execute([])
        second = self.execute(["--sites"])
        if first.status != self.run.status or second.status != self.run.status:
            raise SystemExit(f"chaos: {self.run.name}: undisturbed, exit status {first.status}, expected "
                             f"{self.run.status}: {first.err.decode(errors='replace').strip()}")
        if first.files != second.files or first.out != second.out:
            differ = [n for n in first.files if first.files[n] != second.files.get(n)]
            raise SystemExit(f"chaos: {self.run.name}: two undisturbed runs differ: {differ or 'standard output'}")
        self.wanted = first
        self.timeout = TIMEOUT + 30 * first.seconds
        self.counts = {k: n for k, n in first.counts.items() if n > 0}
        self.sites = second.sites

    def restore(self):
        shutil.rmtree(self.folder, ignore_errors=True)
        shutil.copytree(self.template, self.folder, symlinks=True)

    def command(self, flags):
        flags = flags + ["--children"] * self.run.children + ["--trace"] * self.run.trace
        return [str(INJECT), "--preload", str(PRELOAD), "--report", str(self.report), *flags, "--",
                str(self.run.program), *self.run.args]

    def execute(self, flags, prefix=None, prepare=None):
        """flags: of the injector. prefix: a command that starts the program instead. prepare: for the folder."""
        self.restore()
        if prepare is not None:
            prepare(self.folder)
        env = dict(os.environ, LC_ALL="C.UTF-8", **self.run.env)
        env["PATH"] = f"{self.folder}/programs/bin:{env['PATH']}"
        env["CC"] = "cc"
        if self.run.later:
            env["INJECT_LATER"] = "1"
        done = Result()
        started = time.monotonic()
        command = self.command(flags) if prefix is None else [*prefix, str(self.run.program), *self.run.args]
        child = subprocess.Popen(command, cwd=self.folder, env=env, stdin=subprocess.DEVNULL,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
        done.hung = False
        try:
            done.out, done.err = child.communicate(timeout=self.timeout)
        except subprocess.TimeoutExpired:
            done.hung = True
            child.terminate()  # the injector ends all processes of the program
            done.out, done.err = child.communicate()
        done.seconds = time.monotonic() - started
        done.out = clean(self.run, done.out)
        if prefix is None:
            self.read_report(done)
        else:
            done.status, done.signal, done.failed, done.what = child.returncode, max(-child.returncode, 0), 0, ""
        done.files = {name: clean(self.run, data) for name, data in snapshot(self.folder).items()
                      if not (self.run.stray and self.run.stray.match(name))}
        return done

    def read_report(self, done):
        done.counts, done.sites, done.failed, done.signal, done.status, done.what = {}, [], 0, 0, None, ""
        if done.hung:
            return
        for line in self.report.read_text(errors="replace").splitlines():
            key, value, *more = line.split(" ", 2)
            if key == "site":
                done.sites.append(int(value))
            elif key == "failed":
                done.failed, done.what = int(value), more[0] if more else ""
            elif key == "exit":
                done.status = int(value)
            elif key == "signal":
                done.signal = int(value)
            else:
                done.counts[key] = int(value)

    # ---- judgement ----

    def judge(self, done, call, mode):
        """Pairs of class and text."""
        if done.hung:
            yield "hang", f"not done after {self.timeout:.0f} s"
            return
        if done.signal:
            yield "crash", f"signal {done.signal}: {last(done.err)}"
        elif done.status == 127 and self.run.later:
            pass  # the loader, which an interpreter uses at any time, ends the process, not the program
        elif done.status > 3:
            yield "crash", f"exit status {done.status}: {last(done.err)}"
        # the exit status of an input that must not be read may be that of a failure, too
        refused = mode == "EACCES" and done.out != self.wanted.out and self.run.check is None
        if done.status == 0 or done.status == self.run.status and not refused:
            yield from self.judge_success(done)
        elif done.status != self.run.status:
            yield from self.judge_failure(done, call, mode)
        yield from self.judge_files(done, call, mode)
        if self.run.check is not None and not done.signal:
            for text in self.run.check(self.folder, mode):
                yield tuple(text.split(": ", 1)) if text.split(": ", 1)[0] in CLASSES else ("wrong verdict", text)

    def judge_success(self, done):
        if done.status != self.run.status:
            yield "wrong verdict", f"exit status {done.status}, expected {self.run.status}"
        if self.run.check is None and done.out != self.wanted.out and not (self.run.doubts and done.err):
            yield "wrong verdict", f"exit status {done.status}, but another output: " + \
                difference(self.wanted.out, done.out)
        missing = [name for name in self.wanted.files if name not in done.files]
        if missing and self.run.check is None:
            yield "wrong verdict", f"exit status {done.status}, but {missing[0]} is missing"

    def judge_failure(self, done, call, mode):
        if not done.err.strip() and not done.signal:
            yield "no reason given", f"exit status {done.status}, nothing on standard error"
        # an input that must not be read is no fault of the machine, nor is memory beyond the limit of a child that
        # reads files of any origin: an error, but no broken rule (1 is one of axi-check)
        limited = call == "alloc" and self.run.children and (done.status == 2 or self.run.name.startswith("wave"))
        its_fault = re.search(r"\.tmp\d+$", done.what) or not (mode == "EACCES" or limited)
        if not done.signal and done.status != 3 and its_fault and not self.run.later:
            yield "wrong verdict", f"exit status {done.status}: {last(done.err)}"
        for line in done.out.splitlines():
            if line not in self.wanted.out.splitlines() and line.startswith((b"FAIL", b"PASS")):
                yield "wrong verdict", line.decode(errors="replace")
        result = done.files.get("result", b"")
        # outcome and signature
        true = result.splitlines()[:2] == self.wanted.files.get("result", b"").splitlines()[:2]
        if b"outcome=pass" in result or b"outcome=fail" in result and not true:
            yield "wrong verdict", f"exit status {done.status}, but the result file says " + \
                result.splitlines()[0].decode()

    def judge_files(self, done, call, mode):
        for name, data in done.files.items():
            if name == "result" and data != self.wanted.files.get(name) and data.endswith(b"\n"):
                continue  # judged above
            if done.status != 0 and self.run.failed and self.run.failed.match(name) and ".tmp" not in name:
                continue
            if name not in self.wanted.files and name not in self.start:
                # what cannot be removed stays; a program that is killed by the fault has been noted as a crash
                if call != "unlink" and mode not in ("on", "disk") and not done.signal:
                    yield "left file", f"{name} ({len(data)} bytes)"
            elif data not in (self.wanted.files.get(name), self.start.get(name)):
                yield "half-written file", f"{name}: {len(data)} bytes, exit status {done.status}"


def last(text):
    lines = text.decode(errors="replace").strip().splitlines()
    return lines[-1][:200] if lines else "(nothing on standard error)"


def difference(a, b):
    for x, y in zip(a.splitlines(), b.splitlines()):
        if x != y:
            return f"{y.decode(errors='replace')[:100]!r} for {x.decode(errors='replace')[:100]!r}"
    return f"{len(b)} bytes for {len(a)}"


def faults_of(bench, rng):
    """(call, k, mode) of a run, the more telling ones first: one call from each place, then the rest."""
    first, rest = [], []
    for call, count in bench.counts.items():
        sites = rng.sample(bench.sites, min(len(bench.sites), SITES))
        new = set(sites) if call == "alloc" else set(range(1, count + 1))
        for k in range(1, count + 1):
            for mode in MODES.get(call, DEFAULT_MODES):
                (first if k in new else rest).append((call, k, mode))
    rng.shuffle(first)
    return first + rng.sample(rest, min(len(rest), REST))


def flags_of(fault):
    call, k, mode = fault
    return ["--call", call, "--at", str(k), *FLAGS.get(mode, ["--as", mode])]


class Table:
    def __init__(self):
        self.lock = threading.Lock()
        self.failed = collections.Counter()  # (run, call)
        self.findings, self.seen = [], collections.Counter()

    def add(self, bench, fault, done, findings):
        if done.failed or done.hung:
            self.failed[bench.run.name, fault[0]] += 1
        for kind, text in findings:
            # one of a kind is enough where all have one cause
            what = text.split(":")[0] if text.startswith("exit status 1:") else text
            key = bench.run.name, kind, fault[0], "".join(c for c in what if not c.isdigit())
            self.seen[key] += 1
            if self.seen[key] == 1:
                repeat = f"make chaos ONLY={bench.run.name} FAULT={fault[0]}:{fault[1]}:{fault[2]}"
                self.findings.append(Finding(kind, text, done.what, bench.run.name, repeat))
                print(f"\n{kind}: {bench.run.name}: {text}\n  failed: {done.what}\n  {repeat}", flush=True)

    def total(self):
        return sum(self.failed.values())

    def print(self, missing):
        calls = sorted({call for _, call in self.failed})
        names = sorted({name for name, _ in self.failed})
        width = max([len(n) for n in names] + [7])
        print("\n" + "program".ljust(width) + "".join(c.rjust(9) for c in calls))
        for name in names:
            print(name.ljust(width) + "".join(str(self.failed[name, c] or "-").rjust(9) for c in calls))
        for name, path in missing:
            print(f"not run: {name}: {path} is not built")
        of = collections.Counter()
        for key, number in self.seen.items():
            of[key[1]] += number
        print(f"chaos: {self.total()} faults injected in {len(names)} programs: {of['crash'] + of['hang']} crashes, "
              f"{of['wrong verdict']} wrong verdicts, {of['half-written file']} half-written files, "
              f"{of['lost result']} lost results" +
              (f"; {of['left file']} files left behind, {of['no reason given']} without a reason"
               if of["left file"] + of["no reason given"] else ""))


class Progress:
    """A line that is rewritten on a terminal, a line each minute elsewhere."""

    def __init__(self, total, seconds):
        self.total, self.seconds, self.start = total, seconds, time.monotonic()
        self.terminal = sys.stderr.isatty()
        self.shown = 0.0 if self.terminal else self.start

    def show(self, done, found):
        now = time.monotonic()
        if now - self.shown < (0.5 if self.terminal else 60):
            return
        self.shown = now
        rate = done / max(now - self.start, 1e-6)
        left = (self.total - done) / max(rate, 1e-6)
        left = left if self.seconds is None else min(left, self.seconds - (now - self.start))
        text = (f"{done}/{self.total} faults, {now - self.start:.0f} s, {rate:.1f}/s, {max(left, 0):.0f} s left, "
                f"{found} findings")
        print(f"\r{text} " if self.terminal else text, end="" if self.terminal else "\n", file=sys.stderr, flush=True)


def run_one(bench, fault, table):
    done = bench.execute(flags_of(fault))
    findings = list(bench.judge(done, fault[0], fault[2]))
    with table.lock:
        table.add(bench, fault, done, findings)
    return done


class Work:
    """Faults for --jobs threads: the same time for each run, one fault of the idle run that has used least."""

    def __init__(self, queues, table, args):
        self.queues, self.table = queues, table  # bench -> faults
        self.used, self.busy, self.done = dict.fromkeys(queues, 0.0), set(), 0
        self.progress = Progress(sum(len(q) for q in queues.values()), None if args.all else args.seconds)
        self.stop = False

    def next(self):
        """A run with a fault of it. None: it is time to end, or the last runs are busy."""
        late = self.progress.seconds is not None and time.monotonic() - self.progress.start > self.progress.seconds
        idle = [bench for bench, queue in self.queues.items() if queue and bench not in self.busy]
        if self.stop or late or not idle:
            return None
        bench = min(idle, key=self.used.get)
        self.busy.add(bench)
        return bench, self.queues[bench].pop(0)

    def worker(self):
        with self.table.lock:
            work = self.next()
        while work is not None:
            started = time.monotonic()
            run_one(*work, self.table)
            with self.table.lock:
                self.busy.discard(work[0])
                self.used[work[0]] += time.monotonic() - started
                self.done += 1
                self.progress.show(self.done, len(self.table.findings))
                work = self.next()

    def run(self, jobs):
        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            try:
                for end in [pool.submit(self.worker) for _ in range(jobs)]:
                    end.result()
            except BaseException as error:  # a signal, or what a worker raised: the others end, too
                self.stop = True
                if not isinstance(error, KeyboardInterrupt):
                    raise
                print("interrupted", flush=True)


def campaign(args, base):
    table, missing, benches = Table(), [], []
    rng = random.Random(args.seed)
    for run in runs.RUNS:
        if args.only and run.name not in args.only.split(",") or run.name in (args.skip or "").split(","):
            continue
        if run.missing():
            missing.append((run.name, run.missing()))
            continue
        benches.append(Bench(run, base))
    if args.fault:
        call, k, mode = args.fault.split(":")
        for bench in benches:
            bench.run.trace = True
            done = run_one(bench, (call, int(k), mode), table)
            print(f"{bench.run.name}: exit status {done.status}, signal {done.signal}, failed: {done.failed} "
                  f"{done.what}\n{done.err.decode(errors='replace')}")
        return table, missing
    queues = {bench: [fault for fault in faults_of(bench, rng)
                      if args.calls is None or fault[0] in args.calls.split(",")] for bench in benches}
    work = Work(queues, table, args)
    print(f"{work.progress.total} possible faults in {len(queues)} runs", flush=True)
    work.run(args.jobs)
    return table, missing


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1, help="faults at a time, of different runs")
    parser.add_argument("--all", action="store_true",
                        help=f"every call (of the repeated ones up to {REST} in each run), without a limit of time")
    parser.add_argument("--only", help="runs, separated by commas")
    parser.add_argument("--skip", help="runs to leave out")
    parser.add_argument("--calls", help="kinds of calls, separated by commas")
    parser.add_argument("--fault", metavar="CALL:K:MODE", help="this fault alone")
    parser.add_argument("--scenario", help="one of " + ", ".join(scenarios.NAMES) + ", or all")
    parser.add_argument("--moments", type=int, default=200, help="of scenario kill")
    args = parser.parse_args()
    for number in (signal.SIGTERM, signal.SIGHUP):  # the table of what was done; nothing is left
        signal.signal(number, signal.default_int_handler)
    # in memory: a busy disk takes its time over every commit of a database
    with tempfile.TemporaryDirectory(prefix="chaos-", dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None) as d:
        if args.scenario:
            return scenarios.run(args, Path(d))
        table, missing = campaign(args, Path(d))
    table.print(missing)
    return 1 if table.findings or not table.total() else 0


if __name__ == "__main__":
    sys.exit(main())
