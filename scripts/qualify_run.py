"""Functional qualification: the jobs of a suite on builds with mutants (docs/qualification.md)."""
import collections
import concurrent.futures
import json
import os
import re
import shlex
import signal
import subprocess
import threading
import time

# from the best to the worst; of several jobs the best verdict counts
VERDICTS = ("detected", "limit-seconds", "limit-memory", "crashed", "survived", "limit-cycles", "not-run",
            "reached", "not-reached")
WHATS = ("unit", "test", "case")


class Bad(Exception):
    """One line for the user."""


def read_json(path):
    try:
        with open(path, encoding="utf-8") as src:
            return json.load(src)
    except (OSError, ValueError) as err:
        raise Bad("%s: %s" % (path, getattr(err, "strerror", None) or "it is not JSON: %s" % err))


def write(path, text):
    temporary = "%s.%d" % (path, os.getpid())
    with open(temporary, "w", encoding="utf-8") as out:
        out.write(text)
    os.replace(temporary, path)


def edited(text, edits):
    """A source with a mutant."""
    for start, end, new in sorted(edits, reverse=True):
        text = text[:start] + new + text[end:]
    return text


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

    def kind(self):
        """What a job has in common with the other parts of its test, and a stored case with those of its operator."""
        return re.split("[-,]", self.name)[0]


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
SAID = 10  # seconds between two lines


class Runner:
    """First each job says what it reaches and infects, without running any mutant. Then the mutants are run, in rounds
    of several jobs at a time: each in those jobs that infect it, until one detects it or `tries` jobs have not. Benches
    of units come first, which find most, then the cheapest."""

    def __init__(self, mutants, jobs, args, reviewed=(), modules=None):
        """`reviewed`: numbers of mutants that are said to be equivalent. They run in two jobs only, unless all are
        asked for (--tries 0): that tells an entry which is wrong, and the others cost nothing more. `modules`: {mutant
        of the build: its module}, to find out which modules a job uses; those of `mutants` if None."""
        self.mutants, self.jobs, self.args, self.reviewed = mutants, jobs, args, reviewed
        self.by_id = {m["id"]: m for m in mutants if m.get("verdict") != "detected"}  # by an earlier run
        self.lock = threading.Lock()
        self.ran, self.phases, self.left_out = {}, {}, set()
        self.choices = {m["id"]: [] for m in mutants}  # jobs in which it differs
        self.modules = {i: m["module"] for i, m in self.by_id.items()} if modules is None else modules
        self.uses = collections.defaultdict(collections.Counter)  # of a module: mutants of it that differ in a job
        self.begin = self.said = time.monotonic()
        self.what, self.work, self.done = "", 1, 0
        self.stopped, self.running = False, set()

    def stop(self, *_):
        """A signal: jobs end at once, no other begins, and what is known is written."""
        self.stopped = True
        for process in list(self.running):
            os.killpg(process.pid, signal.SIGKILL)  # with its mutants

    def run_job(self, number, ids, jobs, part=0):
        """The job's result (run_job()), None: there is no time for it."""
        job, folder = self.jobs[number], os.path.join(self.args.out, "job-%d-%d" % (number, part))
        try:
            if not self.late():
                return run_job(self.args, job, ids, folder, jobs, self.running)
        except Bad:
            if not self.stopped:
                raise
        with self.lock:
            self.left_out.add(job.name)
        return None

    def late(self):
        return self.stopped or self.args.total and time.monotonic() - self.begin > self.args.total

    def detected(self):
        return sum(m.get("verdict") == "detected" for m in self.mutants)

    def tell(self, end=False):
        if end or time.monotonic() - self.said > SAID:
            self.said = time.monotonic()
            print("qualify: [%s] %s: %d of %d runs; %d of %d mutants are detected" % (
                clock(self.said - self.begin), self.what, self.done, self.work, self.detected(), len(self.mutants)),
                flush=True)

    def all_of(self, what, call, work):
        """One after the other, several at a time: call(item), of a list of (cost, ...); the most expensive first."""
        start = time.monotonic()
        self.what, self.work, self.done = what, len(work), 0
        with concurrent.futures.ThreadPoolExecutor(self.args.jobs) as pool:
            waiting = [pool.submit(call, item) for item in sorted(work, key=lambda item: -item[0])]
            done, _ = concurrent.futures.wait(waiting, return_when=concurrent.futures.FIRST_EXCEPTION)
            for future in waiting:
                future.cancel()
            for future in done:
                future.result()
        if work:
            self.tell(True)
        return time.monotonic() - start

    def spent(self, phase, times):
        into = self.phases.setdefault(phase, {"design": 0.0, "mutants": 0.0})
        into["design"] += times["own"]
        into["mutants"] += times["forks"]

    def mark(self, item):
        """What a job reaches and infects; the costs of the mutants there."""
        _, number, job = item
        start, result = time.monotonic(), self.run_job(number, list(self.modules), 0)
        if result is None:
            return
        found, times = result
        with self.lock:
            for i, f in found.items():
                self.uses[self.modules[i]][number] += f[0] == "infected"
            differ = sum(f[0] == "infected" for f in found.values())
            found = {i: f for i, f in found.items() if i in self.by_id}
            ends = collections.Counter(f[0] for f in found.values())
            self.ran[number] = dict(number=number, job=job.name, what=job.what, command=job.line(),
                                    own=times["own"], forks=0.0, mutants=0, detected=0,
                                    reached=len(found) - ends["not-reached"], infected=ends["infected"],
                                    seconds=round(time.monotonic() - start, 2))
            self.spent("marking", times)
            for i, f in found.items():
                if f[0] == "infected":
                    whole = job.what != "unit"
                    self.choices[i].append((whole, times["cycles"] if whole else differ, times["cycles"], number))
                else:
                    take(self.by_id[i], f, number, job)
            self.done += 1
            self.tell()

    def run_mutants(self, item):
        """Mutants in one job."""
        _, number, ids, part = item
        start, result = time.monotonic(), self.run_job(number, ids, 1, part)
        if result is None:
            return
        found, times = result
        with self.lock:
            ran = self.ran[number]
            for i in ids:
                take(self.by_id[i], found[i], number, self.jobs[number])
                ran["detected"] += found[i][0] == "detected"
            ran["mutants"] += len(ids)
            ran["own"] = round(ran["own"] + times["own"], 2)
            ran["forks"] = round(ran["forks"] + times["forks"], 2)
            ran["seconds"] = round(ran["seconds"] + time.monotonic() - start, 2)
            self.spent("running", times)
            self.done += 1
            self.tell()

    def ordered(self, choices):
        """Benches, those first that infect few mutants: that of a small unit rather than one of a unit around it; then
        the cheapest; a second part of a test after all first ones."""
        seen, out = collections.Counter(), []
        for whole, rank, cost, number in sorted(choices):
            command = tuple(self.jobs[number].command)
            out.append((seen[command], whole, rank, cost, number))
            seen[command] += 1
        return [(cost, number) for _, _, _, cost, number in sorted(out)]

    def next_jobs(self, m, count, worth):
        """So many jobs in which a mutant has not run yet. What differs in a job may be what nothing there looks at:
        those that have detected most mutants of its module so far come first, and of the jobs of the whole design
        those that use the module, where at least half as many of its mutants differ as in the one with most. Of
        several jobs half are of kinds that it has not run in, so that the cheap stored cases of one operator do not
        take the place of all others."""
        choices, uses = self.choices[m["id"]], self.uses[m["module"]]
        whole = [number for _, number in choices if self.jobs[number].what != "unit"]
        little = max((uses[number] for number in whole), default=0) / 2
        idle = {number for number in whole if uses[number] < little}
        choices.sort(key=lambda choice: (-worth[m["module"]][choice[1]], choice[1] in idle))  # a stable sort
        chosen, kinds = choices[:(count + 1) // 2], {self.jobs[number].kind() for number in m.get("ran", ())}
        kinds.update(self.jobs[number].kind() for _, number in chosen)
        for choice in choices[len(chosen):]:
            kind = self.jobs[choice[1]].kind()
            if len(chosen) < count and kind not in kinds:
                chosen.append(choice)
                kinds.add(kind)
        chosen += [choice for choice in choices if choice not in chosen][:count - len(chosen)]
        choices[:] = [choice for choice in choices if choice not in chosen]
        return chosen

    def rounds(self):
        """Of each mutant 1 job, 1, 2, 4 .. more, so that a design's own run is repeated a few times only."""
        tries = len(self.jobs) if self.args.all_checks or not self.args.tries else self.args.tries
        first, size, wall = 0, tries if self.args.all_checks else 1, 0.0
        while first < tries:
            cost, ids = collections.Counter(), collections.defaultdict(list)
            worth = collections.defaultdict(collections.Counter)
            for m in self.mutants if first else ():
                worth[m["module"]].update(number for number, _ in m.get("found", []))
            for m in self.mutants:
                if m.get("verdict") == "detected" or (first > 1 and m["id"] in self.reviewed and self.args.tries):
                    continue
                for price, number in self.next_jobs(m, min(size, tries - first), worth):
                    ids[number].append(m["id"])
                    cost[number] += price
            wall += self.all_of("jobs %d to %d of each mutant" % (first + 1, min(first + size, tries)),
                                self.run_mutants, in_parts(cost, ids, self.args.jobs))
            first, size = first + size, size if first == 0 else 2 * size
        return wall

    def run(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self.stop)
        marked = self.all_of("what the jobs reach and infect", self.mark,
                             [(0, number, job) for number, job in enumerate(self.jobs)])
        for m in self.mutants:
            self.choices[m["id"]] = self.ordered(self.choices[m["id"]])
            m["infecting"] = len(self.choices[m["id"]])
        ran = self.rounds()
        for m in self.mutants:
            if m["infecting"] and not m.get("infected"):
                m["verdict"] = "not-run"
        for phase, wall in (("marking", marked), ("running", ran)):
            spent = self.phases.setdefault(phase, {"design": 0.0, "mutants": 0.0})
            self.phases[phase] = {key: round(n, 1) for key, n in dict(spent, wall=wall).items()}
        return [self.ran[number] for number in sorted(self.ran)]


def in_parts(cost, ids, jobs):
    """[(cost, number of a job, mutants, part)]: where one job would keep one processor at work when the others have
    ended its mutants are shared out; its own run without a mutant is repeated then."""
    share = max(1, sum(cost.values()) // (4 * jobs))
    work = []
    for number, chosen in sorted(ids.items()):
        parts = min(len(chosen), 1 + cost[number] // share)
        work += [(cost[number] // parts, number, sorted(chosen)[part::parts], part) for part in range(parts)]
    return work


def clock(seconds):
    return "%d:%02d" % divmod(int(seconds), 60)


def run_job(args, job, todo, folder, jobs, running):
    """{mutant: (verdict, cycles before, cycles, cases, signature, message, trace)}, and the seconds of a processor that
    it took: the design's own run with its clock cycles, and the mutants. `jobs`: mutants at a time, 0: none is run. The
    process is among `running` as long as it lives."""
    os.makedirs(folder, exist_ok=True)
    listed, verdicts = os.path.join(folder, "todo"), os.path.join(folder, "verdicts")
    write(listed, "".join("%d\n" % i for i in sorted(todo)))
    command = job.line() + ["--quiet", "--mutants", listed, "--verdicts", verdicts, "--mutant-jobs", str(jobs),
                            "--mutant-seconds", str(args.seconds), "--case-dir", folder]
    if args.cycles:
        command += ["--mutant-cycles", str(args.cycles)]
    if os.path.exists(verdicts):
        os.unlink(verdicts)
    # of its own group: a signal of the terminal is for this process
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace",
                          start_new_session=True) as done:
        running.add(done)
        out, err = done.communicate()
        running.discard(done)
    if done.returncode != 0 or not os.path.exists(verdicts):
        said = (out + err).strip().splitlines() or ["exit status %d" % done.returncode]
        raise Bad("without any mutant: %s: %s" % (" ".join(job.line()), said[0]))
    found, times = {}, {}
    with open(verdicts, encoding="utf-8", errors="replace") as src:
        for line in src:
            f = line.rstrip("\n").split("\t")
            if f[0].startswith("#"):
                times = {"own": float(f[1]), "forks": float(f[2]), "cycles": int(f[3])}
            else:
                found[int(f[0])] = (f[1], int(f[2]), int(f[3]), int(f[4]), f[5], f[6], f[7])
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
        mutant.setdefault("ran", []).append(number)
        if found[6] == "other":  # its trace hash is another one: something outside differs, and no check says so
            mutant["outside"] = number
    if "verdict" in mutant:  # of two jobs the one that comes first, whichever ended first
        if (VERDICTS.index(mutant["verdict"]), mutant["job"]) <= (VERDICTS.index(found[0]), number):
            return
    mutant.update(verdict=found[0], job=number)
    if found[0] not in ("reached", "not-reached"):
        mutant.update(at=found[1], cycles=found[2], signature=found[4], message=found[5],
                      replay="%s --mutant %d" % (" ".join(job.line(found[3])), mutant["id"]))
