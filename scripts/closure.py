#!/usr/bin/python3
"""Coverage closure (make regress SUITE=closure, docs/coverage.md): random jobs, then jobs that tandem-cov plans from
what they have not covered, until the goal.

Exit status: 0 the goal is reached and every job passed, 1 not, 2 bad usage."""

import argparse
import json
import pathlib
import re
import shutil
import subprocess
import sys
import time

import closure_report


class Stop(Exception):
    """One line with the reason why closure cannot continue."""


def call(words, log=None, fine=(0,)):
    """Standard output of a command that ends with one of these exit statuses."""
    done = subprocess.run([str(w) for w in words], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if log is not None:
        log.write_text(done.stdout + done.stderr)
    if done.returncode not in fine:
        last = (done.stderr.strip() or done.stdout.strip() or "no output").splitlines()[-1]
        raise Stop(f"{pathlib.Path(str(words[0])).name} {words[1]}: exit status {done.returncode}: {last}")
    return done.stdout


def pins_of(line):
    """[(knob, value)] of a line of a suite."""
    return [tuple(word.split("=", 1)) for word in line.split(" -- ")[1].split()] if " -- " in line else []


class Progress:
    """One line on a terminal, with the time left; nothing in a pipe."""

    def __init__(self, goal):
        self.goal, self.seen, self.shown = goal, [], False
        self.terminal = sys.stderr.isatty()

    def show(self, name, point, most):
        self.seen = (self.seen + [(time.monotonic(), point["jobs"], point["percent"])])[-6:]
        if not self.terminal:
            return
        left = ""
        (t0, j0, p0), (t1, j1, p1) = self.seen[0], self.seen[-1]
        if j1 > j0:
            times = [(t1 - t0) / (j1 - j0) * (most - j1)]
            if self.goal is not None and p1 > p0:
                times.append((t1 - t0) / (p1 - p0) * (self.goal - p1))
            left = f", at most {max(min(times), 0) / 60:.0f} min left"
        sys.stderr.write(f"\r\033[K{name}: {point['jobs']} jobs, {point['percent']:.2f} %{left}")
        sys.stderr.flush()
        self.shown = True

    def end(self):
        if self.shown:
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()
        self.seen, self.shown = [], False


class Closure:
    def __init__(self, o):
        self.o = o
        self.out = pathlib.Path(o.out)
        self.host = pathlib.Path(o.host)
        self.regress, self.cov = self.host / "tandem-regress", self.host / "tandem-cov"
        self.tried = self.out / "tried.txt"
        self.failed = []  # a line for each job
        self.too_much = []  # pinned jobs that were ended, or could not run
        self.hits = []  # planned jobs and the bins that they were the first to hit: closure_report.told_apart
        self.missing = set()  # programs that planned jobs would have needed
        self.stopped = ""
        for name in ("cov", "rounds"):
            shutil.rmtree(self.out / name, ignore_errors=True)
        for name in ("cov", "rounds"):
            (self.out / name).mkdir(parents=True)
        for name in ("tried.txt", "closure.cov", "random.cov", "before.cov", "random.json"):
            (self.out / name).unlink(missing_ok=True)

    # ---- jobs ----

    def where(self):
        chosen = (("--suite-dir", self.o.suite_dir), ("--design", self.o.design))
        words = [word for option, value in chosen if value for word in (option, value)]
        return ["--build-dir", self.o.build_dir] + words

    def random_lines(self, count):
        """The plain random jobs after the first `count`: draws of the suite, a longer draw begins with the shorter
        one."""
        drawn = []
        for jobs in (count, count + self.o.round_jobs):
            words = [self.regress, "run", "--suite", self.o.suite, "--cfg", self.o.cfg, "--kind", self.o.kind]
            words += ["--seed", self.o.seed, *self.where()]
            text = call(words + ["--count", jobs, "--print-jobs"]) if jobs else ""
            drawn.append([line for line in text.splitlines() if closure_report.test_of(line)])
        lines = [line for line in drawn[1] if line not in set(drawn[0])]
        lines = [re.sub(r" (timeout|memory)=\d+", "", line) for line in lines]
        return [re.sub(r" cases=\d+", f" cases={self.o.cases}", line) for line in lines]

    def planned_lines(self, number):
        """Lines of tandem-cov plan; pins that the test refuses are taken off, the last ones first."""
        plan = self.out / "rounds" / "plan.suite"
        words = [self.cov, "plan", self.out / "closure.cov", "--cfg", self.o.cfg, "--kind", self.o.kind]
        words += ["--jobs", self.o.round_jobs, "--cases", self.o.cases, "--round", number, "--tried", self.tried]
        words += ["--give-up", self.o.give_up, "--random", self.o.share, "-o", plan]
        call(words)
        lines = plan.read_text().splitlines()
        commands = self.commands(plan)[: len(lines)] if lines else []  # behind them stands how many there are
        pairs = [(line, command.split()) for line, command in zip(lines, commands, strict=True)]
        self.missing |= {command[0] for _, command in pairs if not pathlib.Path(command[0]).exists()}
        return [self.possible(line, command) for line, command in pairs if command[0] not in self.missing]

    def commands(self, suite):
        return call([self.regress, "list", suite, "--seed", self.o.seed, *self.where()]).splitlines()

    def possible(self, line, command):
        count = len(pins_of(line)) if line.startswith("test ") else 0
        if count == 0:
            return line
        begin = len(command) - count
        while count > 0:
            asked = subprocess.run(command[: begin + count] + ["--print-case", "--quiet"],
                                   stdin=subprocess.DEVNULL, capture_output=True)
            if asked.returncode == 0:
                break
            count -= 1
        if count == 0:
            return line.split(" -- ")[0]
        head, pins = line.split(" -- ")
        return head + " -- " + " ".join(pins.split()[:count])

    def run(self, name, number, lines):
        """Run the jobs of a round; (totals, coverage files in the order of the lines)."""
        folder = self.out / "cov" / name / f"{number:04}"
        stem = self.out / "rounds" / f"{name}-{number:04}"
        suite = stem.with_suffix(".suite")
        suite.write_text(f"suite closure-{name}\nseed {self.o.seed}\n" + "\n".join(lines) + "\n")
        words = [self.regress, "run", "--suite", suite, "--jobs", self.o.jobs, "--timeout", self.o.timeout]
        words += ["--coverage", folder, "--explain", 0, "--summary-json", stem.with_suffix(".json"), *self.where()]
        call(words, log=stem.with_suffix(".log"), fine=(0, 1))
        if not stem.with_suffix(".json").exists():
            said = stem.with_suffix(".log").read_text().strip() or "tandem-regress run: no output"
            raise Stop(said.splitlines()[-1])
        summary = json.loads(stem.with_suffix(".json").read_text())
        if summary["totals"]["failed"]:
            self.note_failures(summary["run"]["run"], lines)
        if summary["totals"]["not_run"]:
            raise KeyboardInterrupt
        return summary["totals"], [folder / f"{i:05}.cov" for i in range(len(lines))]

    def note_failures(self, run, lines):
        """Jobs that did not pass. Pins may need more memory or time than allowed: that is no failure."""
        jobs = json.loads(call([self.regress, "report", "--run", run, "--json", *self.where()]))["jobs"]
        for line, job in zip(lines, jobs):
            why, again = job["signature"] or job["message"], job["repro"] or job["command"]
            said = f"run {run}, {job['outcome']}: {why}: {again}"
            if job["outcome"] in ("timeout", "error") and pins_of(line):
                self.too_much.append(said)
            elif job["outcome"] not in ("pass", "host", "not run"):
                self.failed.append(said)

    # ---- coverage ----

    def tries(self):
        """[(tries, name, hint)] of bins never hit when the last round was planned."""
        if not self.tried.exists():
            return []
        rows = [line.split("\t") for line in self.tried.read_text().splitlines() if not line.startswith("#")]
        return [(float(tries), name, hint) for tries, name, hint in rows]

    def merge(self, name, files):
        whole = self.out / f"{name}.cov"
        there = [f for f in files if f.exists()]
        call([self.cov, "merge", "-o", whole, *([whole] if whole.exists() else []), *there])
        return json.loads(call([self.cov, "report", whole, "--json"]))

    def note_hits(self, lines, files, report):
        """The bins that the jobs of a round were the first to hit, and the role of their pins."""
        hints = closure_report.holes(report)
        for line, path in zip(lines, files):
            if not path.exists():
                continue
            first = json.loads(call([self.cov, "diff", self.out / "before.cov", path, "--json"]))["only_second"]
            first = [name for name in first if name in hints]
            self.hits.append(closure_report.told_apart(line, pins_of(line), {name: hints[name] for name in first}))
            for name in first:
                del hints[name]

    def curve(self, name, lines_of, goal, most):
        """Rounds until the goal, a limit, or no gain; [{jobs, cases, cycles, cpu_s, percent}]."""
        points, lines_run = [], []
        progress = Progress(goal)
        before, best_at, start = None, 0, time.monotonic()
        try:
            while not points or points[-1]["jobs"] < most:
                number = len(points)
                jobs = points[-1]["jobs"] if points else 0
                lines = lines_of(number, jobs)[: most - jobs]
                if not lines:
                    break
                totals, files = self.run(name, number, lines)
                if before is not None and goal is not None:
                    shutil.copyfile(self.out / f"{name}.cov", self.out / "before.cov")
                report = self.merge(name, files)
                if before is not None and goal is not None:
                    self.note_hits(lines, files, before)
                before = report
                lines_run += lines
                last = points[-1] if points else {"jobs": 0, "cases": 0, "cycles": 0, "cpu_s": 0.0}
                point = {key: round(last[key] + totals[key], 1) for key in ("jobs", "cases", "cycles", "cpu_s")}
                points.append(point | {key: report[key] for key in ("percent", "covered", "total")})
                best_at = number if number == 0 or points[-1]["covered"] > points[best_at]["covered"] else best_at
                progress.show(name, points[-1], most)
                if goal is not None and report["percent"] >= goal:
                    break
                if goal is not None and number - best_at >= self.o.patience:
                    self.stopped = f"nothing gained in {self.o.patience} rounds"
                    break
                if self.o.budget and time.monotonic() - start >= self.o.budget:
                    self.stopped = self.stopped or f"{self.o.budget} s are over"
                    break
        except KeyboardInterrupt:
            self.stopped = "interrupted"
        progress.end()
        return points, lines_run, before

    def closure(self):
        def lines_of(number, jobs):
            return self.random_lines(jobs) if number < self.o.start else self.planned_lines(number)

        points, lines, report = self.curve("closure", lines_of, self.o.goal, self.o.max_jobs)
        if not points:
            raise Stop(f"{self.stopped or 'no jobs'}: nothing was covered")
        (self.out / "closure.suite").write_text(f"suite closure-replay\nseed {self.o.seed}\n" + "\n".join(lines) + "\n")
        files = sorted((self.out / "cov" / "closure").glob("*/*.cov"))
        call([self.cov, "rank", *files, "-o", self.out / "small.suite"])
        return points, report

    def plain(self, jobs):
        return self.curve("random", lambda number, so_far: self.random_lines(so_far), None, jobs)[0]


def parse(argv):
    p = argparse.ArgumentParser(prog="closure.py", description=__doc__.splitlines()[0])
    number = lambda lo, hi: lambda text: (int(text) if text.isdigit() and lo <= int(text) <= hi else
                                          p.error(f"{text}: expected a number from {lo} to {hi}"))
    p.add_argument("--build-dir", default="build", help="where the programs are and results.db is")
    p.add_argument("--host", default="build/host", help="where tandem-regress and tandem-cov are")
    p.add_argument("--out", default="build/closure", help="folder of the report")
    p.add_argument("--suite", default="closure", help="plain random jobs: tests with their weights")
    p.add_argument("--design", help="whose jobs (all)")
    p.add_argument("--suite-dir", help="instead of the folders of the designs")
    p.add_argument("--cfg", default="n8")
    p.add_argument("--kind", default="fast")
    p.add_argument("--seed", default="1", help="run seed of all jobs")
    p.add_argument("--goal", type=float, default=98.0, help="percent (98)")
    p.add_argument("--max-jobs", type=number(1, 1000000), default=3000, help="jobs at most (3000)")
    p.add_argument("--budget", type=number(0, 604800), default=0, help="seconds at most for each curve (0: any)")
    p.add_argument("--patience", type=number(1, 1000), default=8, help="rounds without a gain that end it (8)")
    p.add_argument("--jobs", type=number(1, 256), default=2, help="processes at a time (2)")
    p.add_argument("--round-jobs", type=number(1, 10000), default=40, help="jobs of a round (40)")
    p.add_argument("--cases", type=number(1, 1000), default=5, help="cases of a job (5)")
    p.add_argument("--start", type=number(1, 1000), default=1,
                   help="rounds of plain random jobs before the first planned one (1)")
    p.add_argument("--share", type=number(0, 100), default=20, help="percent of planned jobs without pins (20)")
    p.add_argument("--give-up", type=number(1, 1000), default=5,
                   help="tries in vain after which a bin is given up (5)")
    p.add_argument("--timeout", type=number(1, 86400), default=120, help="seconds of a job (120)")
    p.add_argument("--random", action="store_true", help="then plain random jobs, as many, for the other curve")
    p.add_argument("--keep", action="store_true", help="keep the coverage files of the jobs")
    o = p.parse_args(argv)
    if not 0 < o.goal <= 100:
        p.error("--goal: expected percent")
    return o


def main(argv):
    o = parse(argv)
    try:
        c = Closure(o)
        points, report = c.closure()
        plain = c.plain(points[-1]["jobs"]) if o.random and c.stopped != "interrupted" else []
        closure_report.write(c, points, plain, report)
    except Stop as why:
        print(f"closure.py: {why}", file=sys.stderr)
        return 1
    except OSError as why:
        print(f"closure.py: {why.filename or ''}: {why.strerror}", file=sys.stderr)
        return 1
    (c.out / "before.cov").unlink(missing_ok=True)
    if not o.keep:
        shutil.rmtree(c.out / "cov")
    return 0 if points[-1]["percent"] >= o.goal and not c.failed else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
