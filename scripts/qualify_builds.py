"""Functional qualification beside ordinary builds (docs/qualification.md): mutants drawn at random, each built from a
patch and run by the job that decided about it: do they fail and pass as they did in the build that holds all of them?
One of them with a waveform. And without a mutant: does that build have the trace hashes of an ordinary one?"""
import hashlib
import json
import os
import random
import re
import resource
import shlex
import shutil
import subprocess
import time

from qualify_run import Bad, clock, edited, read_json, write

# what a build of all kinds says the same about
COMPARED = ("detected", "survived", "reached", "not-reached", "equivalent", "proven")
QUIET = ("reached", "not-reached")  # the trace hash is that of the design, too


def ordinary(program, kinds):
    """The program of an ordinary build of these kinds: (of the whole design, of benches of units)."""
    folder, name = os.path.split(program)
    return os.path.join(re.sub("-mut$", "-" + kinds[name.startswith("unit-")], folder), name)


def files_of_tree(build):
    """Those that git knows; where it knows none, for instance as there is no git, all but the build folder."""
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                            capture_output=True, text=True)
    if listed.returncode == 0 and listed.stdout:
        return [name for name in listed.stdout.split("\0") if os.path.isfile(name)]
    names = []
    for folder, below, files in os.walk("."):
        below[:] = [d for d in below if d != ".git" and
                    os.path.normpath(os.path.join(folder, d)) != os.path.normpath(build)]
        names += [os.path.normpath(os.path.join(folder, name)) for name in files]
    return names


def copy_tree(build, folder):
    """The sources, and what is built for the host. What is there already and as new stays."""
    names = files_of_tree(build)
    for made in ("gen", "host", "designs.list", "designs.mk", "units.list", "units.mk"):
        path = os.path.join(build, made)
        names += [path] if os.path.isfile(path) else []
        names += [os.path.join(at, name) for at, _, files in os.walk(path) for name in files]
    for name in names:
        to = os.path.join(folder, name)
        if not os.path.exists(to) or os.stat(name).st_mtime_ns != os.stat(to).st_mtime_ns:
            os.makedirs(os.path.dirname(to) or folder, exist_ok=True)
            shutil.copy2(name, to)


class Copy:
    """A copy of the tree, in which a mutant is built the ordinary way."""

    def __init__(self, kept, build, folder, kinds):
        self.kept, self.build, self.folder, self.kinds = kept, build, folder, kinds
        copy_tree(build, folder)
        for file, text in kept["sources"].items():  # those of the run
            self.put(file, text)

    def put(self, file, text):
        """A source, which stays as it is where it has this text."""
        path = os.path.join(self.folder, file)
        with open(path, encoding="utf-8") as src:
            if src.read() == text:
                return
        with open(path, "w", encoding="utf-8") as out:
            out.write(text)

    def mutate(self, m):
        self.put(m["file"], edited(self.kept["sources"][m["file"]], m["edits"]))

    def restore(self, m):
        self.put(m["file"], self.kept["sources"][m["file"]])

    def make(self, program, *more):
        """Build the ordinary program of one of kind mut: (its path, empty or the last line of make)."""
        program = ordinary(program, self.kinds)
        kind = self.kinds[os.path.basename(program).startswith("unit-")]
        env = {k: v for k, v in os.environ.items() if not k.startswith(("MAKE", "MFLAGS"))}
        made = subprocess.run(["make", "-s", "DUT=" + self.kept["design"], "CFG=" + self.kept["cfg"], "KIND=" + kind,
                               "BUILD=" + self.build, *more, program], cwd=self.folder, env=env,
                              capture_output=True, text=True)
        return program, "" if made.returncode == 0 else (made.stderr.strip().splitlines() or ["make"])[-1]


class Builds:
    """Programs of jobs in a copy of the tree, and what they say."""

    def __init__(self, kept, copy, seconds):
        self.kept, self.copy, self.seconds = kept, copy, seconds
        self.plain = {}  # of a job: what the design does

    def run(self, job):
        """(exit status, signature, hash) of the job in the copy; the first one None: it does not build."""
        program, failed = self.copy.make(job["command"][0], "VM_FAST=-O0")
        if failed:
            return None, failed, ""
        result = os.path.abspath(os.path.join(self.copy.folder, "result"))
        if os.path.exists(result):
            os.unlink(result)
        try:
            done = subprocess.run([program] + job["command"][1:] + ["--result", result], cwd=self.copy.folder,
                                  capture_output=True, text=True, errors="replace", timeout=self.seconds)
        except subprocess.TimeoutExpired:
            return -1, "timeout", ""
        said = ""
        if os.path.exists(result):
            with open(result, encoding="utf-8", errors="replace") as src:
                said = src.read()
        found = re.search("^signature=(.*)$", said, re.M)
        mark = re.search("hash=([0-9a-f]+)", done.stdout)
        return done.returncode, found.group(1) if found else "", mark.group(1) if mark else ""

    def design(self, job):
        """Of the design itself, once for each job."""
        if job["number"] not in self.plain:
            self.plain[job["number"]] = self.run(job)
            if self.plain[job["number"]][0] != 0:
                raise Bad("builds: without any mutant: %s: %s" % (job["job"], self.plain[job["number"]][1]))
        return self.plain[job["number"]]

    def one(self, m):
        """How the ordinary build differs from what is kept about a mutant; empty: not at all. One that was detected
        runs in the job that did so, any other one in all jobs in which it ran."""
        numbers = [m["job"]] if m["verdict"] == "detected" else sorted({m["job"], *m.get("ran", ())})
        chosen = [job for job in self.kept["jobs"] if job["number"] in numbers]
        # the hash of the design is asked for only where it is compared
        plain = {job["number"]: self.design(job) for job in chosen if m["verdict"] in QUIET}
        self.copy.mutate(m)
        try:
            for job in chosen:
                said_ = differs(m, self.run(job), plain.get(job["number"]))
                if said_:
                    return said_ if len(chosen) == 1 else "%s: %s" % (job["job"], said_)
        finally:
            self.copy.restore(m)
        return ""


def differs(m, ran, plain):
    """What an ordinary build says else about a mutant; `ran`, `plain`: exit status, signature and hash, its and the
    design's."""
    status, signature, mark = ran
    if status is None:
        return "it does not build: " + signature
    wanted = m["signature"] if m["verdict"] == "detected" else ""
    if (status == 0) != (m["verdict"] != "detected") or signature != wanted:
        return "%s %s, ordinary build: exit status %d %s" % (m["verdict"], wanted, status, signature)
    return "another hash than the design's" if m["verdict"] in QUIET and mark != plain[2] else ""


def drawn(kept, count, draw):
    """Mutants for ordinary builds, in the order in which make has least to do: those of one program, then of one
    source, follow each other."""
    jobs = {job["number"]: job for job in kept["jobs"]}
    able = [m for m in kept["mutants"] if m["verdict"] in COMPARED and m.get("job") in jobs]
    chosen = random.Random(draw).sample(sorted(able, key=lambda m: m["id"]), min(count, len(able)))
    return sorted(chosen, key=lambda m: (jobs[m["job"]]["command"][0], m["file"], m["id"]))


def builds(kept, args):
    """The exit status: 1 where one differs. What is said about each mutant is kept, for a later call with `resume`."""
    begin, path = time.monotonic(), os.path.join(args.folder, "builds.json")
    of_run = hashlib.sha256(json.dumps([kept["sources"], kept["mutants"]], sort_keys=True).encode()).hexdigest()
    before = read_json(path) if args.resume and os.path.exists(path) else {"of": of_run, "said": {}}
    if before["of"] != of_run:
        raise Bad("%s: it is of another run" % path)
    said_of = before["said"]
    chosen = drawn(kept, args.count, args.draw)
    if args.total:  # not those of the first programs alone
        chosen = random.Random(args.draw).sample(chosen, len(chosen))
    work = Builds(kept, Copy(kept, args.build, os.path.join(args.folder, "tree-builds"), args.kinds), args.seconds)
    done = []
    for m in chosen:
        name, again = str(m["id"]), str(m["id"]) in said_of
        if not again and args.total and time.monotonic() - begin > args.total:
            continue
        if not again:
            said_of[name] = work.one(m)
            write(path, json.dumps(before, indent=1, sort_keys=True) + "\n")
        done.append(m)
        print("qualify: build [%d/%d, %s] %d %s:%d %s: %s%s" % (
            len(done), len(chosen), clock(time.monotonic() - begin), m["id"], m["file"], m["line"], m["operator"],
            "DIFFERS: " + said_of[name] if said_of[name] else "the same, %s" % m["verdict"],
            " (earlier)" if again else ""), flush=True)
    differ = sum(said_of[str(m["id"])] != "" for m in done)
    shutil.rmtree(work.copy.folder)
    print("qualify: %d mutants built the ordinary way, %d differ%s" % (
        len(done), differ, "; %d were left out for lack of time" % (len(chosen) - len(done))
        if len(done) < len(chosen) else ""))
    return 1 if differ else 0


# ---- one mutant with a waveform ----
def replay(kept, args):
    """The case that decided about a mutant, in a build with waveforms. The exit status: 0."""
    m = next((m for m in kept["mutants"] if m["id"] == args.mutant), None)
    if m is None or "replay" not in m:
        raise Bad("replay: %s" % ("there is no mutant %d" % args.mutant if m is None else
                                  "no job infects mutant %d: it is %s" % (args.mutant, m["verdict"])))
    command = shlex.split(m["replay"])[:-2]
    copy = Copy(kept, args.build, os.path.join(args.folder, "tree"), args.kinds)
    copy.mutate(m)
    print("qualify: mutant %d, %s:%d: %s  =>  %s: being built" % (
        m["id"], m["file"], m["line"], m["old"][:80], m["new"][:80]), flush=True)
    try:
        program, failed = copy.make(command[0])
    finally:
        copy.restore(m)
    if failed:
        raise Bad("replay: it does not build: %s" % failed)
    wave = os.path.abspath(os.path.join(args.folder, "mutant-%d.fst" % m["id"]))
    line = [os.path.join(copy.folder, program)] + command[1:] + ["--wave", wave, "--case-dir", os.path.dirname(wave)]
    print(" ".join(line), flush=True)
    status = subprocess.run(line, check=False).returncode
    print("qualify: exit status %d; waveform: %s" % (status, wave))
    return 0


# ---- the build of kind mut without a mutant ----
def said(command):
    """((exit status, trace hash or output), clock cycles, seconds of a processor)"""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, capture_output=True, text=True, errors="replace")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    mark, cycles = (re.search(key, done.stdout) for key in ("hash=([0-9a-f]+)", r"\bcycles=(\d+)"))
    return ((done.returncode, mark.group(1) if mark else (done.stderr or done.stdout).strip()[:200]),
            int(cycles.group(1)) if cycles else 0, seconds)


def hashes(jobs, kind, only):
    """The exit status: 1 where a job has another trace hash in the ordinary build. `only`: programs, all if empty.
    What the mutants cost a run without any of them is the ratio of the seconds."""
    same, differ, listed, spent = 0, 0, set(), {}
    for job in jobs:
        folder, name = os.path.split(job.command[0])
        if only and name not in only or tuple(job.line()) in listed:
            continue
        listed.add(tuple(job.line()))
        other = os.path.join(re.sub("-mut$", "-" + kind, folder), name)
        (mut, cycles, mut_seconds), (plain, _, seconds) = said(job.line()), said([other] + job.line()[1:])
        good = mut == plain and mut[0] == 0
        same, differ = same + good, differ + (not good)
        if good:
            what = "benches of units" if name.startswith("unit-") else "the whole design"
            sums = spent.setdefault(what, [0, 0, 0, 0])
            sums[:] = [a + b for a, b in zip(sums, (1, cycles, mut_seconds, seconds))]
        else:
            print("qualify: %s: DIFFERS: %s, kind %s: %s" % (job.name, mut, kind, plain), flush=True)
    for what, (count, cycles, mut_seconds, seconds) in sorted(spent.items()):
        print("qualify: %s: %d jobs, %d cycles; seconds of a processor: kind mut %.1f, kind %s %.1f" % (
            what, count, cycles, mut_seconds, kind, seconds))
    print("qualify: %d jobs have the same trace hash in kinds mut and %s, %d differ" % (same, kind, differ))
    return 1 if differ or not same else 0
