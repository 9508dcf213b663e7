"""Functional qualification: the jobs of a suite on builds with mutants (docs/qualification.md)."""
import collections
import concurrent.futures
import json
import os
import shlex
import subprocess
import threading
import time

# from the best to the worst; of several jobs the best verdict counts
VERDICTS = ("detected", "limit-seconds", "limit-memory", "crashed", "survived", "limit-cycles", "reached",
            "not-reached")
# jobs in this order: a bench of a unit finds most of its mutants in less time than any test of the whole design
WHATS = ("unit", "test", "case")


class Bad(Exception):
    """One line for the user."""


def read_json(path):
    try:
        with open(path, encoding="utf-8") as src:
            return json.load(src)
    except (OSError, ValueError) as err:
        raise Bad("%s: %s" % (path, getattr(err, "strerror", None) or "it is no JSON: %s" % err))


def write(path, text):
    temporary = "%s.%d" % (path, os.getpid())
    with open(temporary, "w", encoding="utf-8") as out:
        out.write(text)
    os.replace(temporary, path)


# ---- the jobs ----
class Job:
    """A program and its arguments; `first`: where the number of its first case stands among them, or None."""

    def __init__(self, what, name, command, more=()):
        self.what, self.name, self.command, self.more = what, name, list(command), list(more)

    def line(self, cases=None):
        """The command; `cases`: of the case after so many."""
        more = list(self.more)
        if cases is not None and "--index" in more:
            more[more.index("--index") + 1] = str(int(more[more.index("--index") + 1]) + cases)
            more[more.index("--count") + 1] = "1"
        return self.command + more


def one_job(words, folder, cfg, seed):
    """The job of a line of --print-jobs; None: it is none of this configuration that has mutants."""
    at = words.index("--") if "--" in words else len(words)
    keys = dict(w.split("=", 1) for w in words[2:at] if "=" in w)
    what, name, args = words[0], words[1], words[at + 1:]
    if what not in WHATS or keys.get("cfg", "").split("/")[-1] != cfg:
        return None
    if what == "case":
        return Job(what, "case " + name, [os.path.join(folder, "tandem"), "repro"] + args)
    program = [os.path.join(folder, "tandem"), "test", name]
    if what == "unit":
        program = [os.path.join(folder, "unit-" + name)]
    first = keys.get("index", "0")
    label = " ".join([what, name] + args) + (", from case %s" % first if first != "0" else "")
    return Job(what, label, program + args, ["--run-seed", seed, "--index", first, "--count", keys.get("cases", "1")])


def jobs_of(runner, suite, design, build, folder, cfg, seed=None):
    """Jobs of the suite in this configuration, the cheapest kind first, and how many there are of other kinds."""
    command = shlex.split(runner) + ["run", "--suite", suite, "--design", design, "--build-dir", build, "--print-jobs"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise Bad((done.stderr or done.stdout).strip().splitlines()[-1])
    jobs, others = {}, 0
    for line in done.stdout.splitlines():
        words = line.split("#")[0].split()
        words = words[1:] if words[:1] == ["repeat"] else words
        if words[:1] == ["seed"]:
            seed = seed or words[1]
        if not words or words[0] in ("suite", "seed", "budget"):
            continue
        job = one_job(words, folder, cfg, seed or "1")
        others += job is None
        if job is not None:  # what differs only in the kind of its build is one job
            jobs.setdefault(tuple(job.line()), job)
    seen, order = collections.Counter(), {}
    for job in jobs.values():  # the first part of each test before the second part of any
        name = tuple(job.command)
        order[job] = (WHATS.index(job.what), seen[name])
        seen[name] += 1
    return sorted(jobs.values(), key=order.get), others


# ---- running them ----
class Runner:
    """Several jobs at a time. Each gets the mutants that none has detected when it begins, or all of them. One that
    was infected in `tries` jobs and not detected is not run in more."""

    def __init__(self, mutants, jobs, args):
        self.mutants, self.jobs, self.args = mutants, jobs, args
        self.lock = threading.Lock()
        self.ran, self.left_out, self.begin = [], [], time.monotonic()

    def todo(self):
        if self.args.all_checks:
            return self.mutants
        return [m for m in self.mutants if m.get("verdict") != "detected" and
                (not self.args.tries or m.get("infected", 0) < self.args.tries)]

    def one(self, number, job):
        with self.lock:
            todo = self.todo()
            late = self.args.total and time.monotonic() - self.begin > self.args.total
            self.left_out += [job.name] if todo and late else []
        if not todo or late:
            return
        folder = os.path.join(self.args.out, "job-%d" % number)
        os.makedirs(folder, exist_ok=True)
        start = time.monotonic()
        found, times = run_job(self.args, job, {m["id"] for m in todo}, folder)
        with self.lock:
            before = sum(m.get("verdict") == "detected" for m in self.mutants)
            for m in todo:
                take(m, found[m["id"]], number, job)
            after = sum(m.get("verdict") == "detected" for m in self.mutants)
            ends = collections.Counter(f[0] for f in found.values())
            self.ran.append(dict(times, number=number, job=job.name, what=job.what, mutants=len(todo),
                                 detected=ends["detected"], new=after - before, ends=dict(ends),
                                 seconds=round(time.monotonic() - start, 2)))
            self.tell(job, ends, after)

    def tell(self, job, ends, detected):
        done, passed = len(self.ran), time.monotonic() - self.begin
        infected = sum(n for v, n in ends.items() if v not in ("reached", "not-reached"))
        left = passed / done * (len(self.jobs) - done)
        print("qualify: [%d/%d, %s, about %s to go] %s: %d infected, %d detected; in all %d of %d" % (
            done, len(self.jobs), clock(passed), clock(left), job.name, infected, ends["detected"], detected,
            len(self.mutants)), flush=True)

    def run(self):
        with concurrent.futures.ThreadPoolExecutor(self.args.jobs) as pool:
            waiting = [pool.submit(self.one, number, job) for number, job in enumerate(self.jobs)]
            done, _ = concurrent.futures.wait(waiting, return_when=concurrent.futures.FIRST_EXCEPTION)
            for future in waiting:
                future.cancel()
            for future in done:
                future.result()
        self.ran.sort(key=lambda r: r["number"])
        return self.ran


def clock(seconds):
    return "%d:%02d" % divmod(int(seconds), 60)


def run_job(args, job, todo, folder):
    """{mutant: (verdict, cycles before, cycles, cases, signature, message)}, and the seconds of a processor that it
    took: the design's own run, and the mutants."""
    listed, verdicts = os.path.join(folder, "todo"), os.path.join(folder, "verdicts")
    write(listed, "".join("%d\n" % i for i in sorted(todo)))
    command = job.line() + ["--quiet", "--mutants", listed, "--verdicts", verdicts, "--mutant-jobs", "1",
                            "--mutant-seconds", str(args.seconds), "--case-dir", folder]
    if args.cycles:
        command += ["--mutant-cycles", str(args.cycles)]
    if os.path.exists(verdicts):
        os.unlink(verdicts)
    done = subprocess.run(command, capture_output=True, text=True, errors="replace")
    if done.returncode != 0 or not os.path.exists(verdicts):
        said = (done.stdout + done.stderr).strip().splitlines() or ["exit status %d" % done.returncode]
        raise Bad("without any mutant: %s: %s" % (" ".join(job.line()), said[0]))
    found, times = {}, {}
    with open(verdicts, encoding="utf-8", errors="replace") as src:
        for line in src:
            f = line.rstrip("\n").split("\t")
            if f[0].startswith("#"):
                times = {"own": float(f[1]), "forks": float(f[2])}
            else:
                found[int(f[0])] = (f[1], int(f[2]), int(f[3]), int(f[4]), f[5], f[6])
    os.unlink(listed)
    os.unlink(verdicts)
    if not os.listdir(folder):
        os.rmdir(folder)
    return found, times


def check_of(signature):
    """The check of a signature: without the line of an assertion, the stream of a unit, the port of a rule."""
    parts = signature.split(":")
    return ":".join(parts[:2]) if parts[0] in ("unit", "axi", "assert", "watchdog") else signature


def take(mutant, found, number, job):
    """Keep the better verdict, and all checks that detect it."""
    if found[0] == "detected":
        mutant.setdefault("found", []).append([number, check_of(found[4])])
    if found[0] not in ("reached", "not-reached"):
        mutant["infected"] = mutant.get("infected", 0) + 1  # jobs
    if "verdict" in mutant and VERDICTS.index(found[0]) >= VERDICTS.index(mutant["verdict"]):
        return
    mutant.update(verdict=found[0], job=number)
    if found[0] not in ("reached", "not-reached"):
        mutant.update(at=found[1], cycles=found[2], signature=found[4], message=found[5],
                      replay="%s --mutant %d" % (" ".join(job.line(found[3])), mutant["id"]))
