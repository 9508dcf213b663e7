"""Functional qualification beside ordinary builds (docs/qualification.md): mutants drawn at random, each built from a
patch and run by the job that decided about it: do they fail and pass as they did in the build that holds all of them?
And without a mutant: does that build have the trace hashes of an ordinary one?"""
import os
import random
import re
import shutil
import subprocess
import tempfile
import time

from qualify_run import Bad, clock

# what a build of all kinds says the same about
COMPARED = ("detected", "survived", "reached", "not-reached", "equivalent", "proven")
QUIET = ("reached", "not-reached")  # the trace hash is that of the design, too


def ordinary(program):
    """The program of an ordinary build: with the checks of the units, as the build of kind mut has them in tests."""
    folder, name = os.path.split(program)
    return os.path.join(re.sub("-mut$", "-fast" if name.startswith("unit-") else "-tap", folder), name)


def copy_tree(build, folder):
    """The files that git knows, and what is built for the host."""
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                            capture_output=True, text=True)
    if listed.returncode != 0:
        raise Bad("builds: expected a tree of git")
    names = [name for name in listed.stdout.split("\0") if name]
    names += [os.path.join(build, n) for n in ("gen", "host", "designs.list", "designs.mk", "units.list", "units.mk")]
    for name in names:
        to = os.path.join(folder, name)
        os.makedirs(os.path.dirname(to) or folder, exist_ok=True)
        if os.path.isdir(name):
            shutil.copytree(name, to, dirs_exist_ok=True)
        elif os.path.exists(name):
            shutil.copy2(name, to)


class Builds:
    """A copy of the tree, and the program of a job in it."""

    def __init__(self, kept, args, folder):
        self.kept, self.args, self.folder = kept, args, folder
        self.plain = {}  # of a job: what the design does

    def run(self, job):
        """(exit status, signature, hash) of the job in the copy; the first one None: it does not build."""
        program, result = ordinary(job["command"][0]), os.path.join(self.folder, "result")
        kind = "fast" if os.path.basename(program).startswith("unit-") else "tap"
        env = {k: v for k, v in os.environ.items() if not k.startswith(("MAKE", "MFLAGS"))}
        made = subprocess.run(["make", "-s", "DUT=" + self.kept["design"], "CFG=" + self.kept["cfg"], "KIND=" + kind,
                               "BUILD=" + self.args.build, "VM_FAST=-O0", program], cwd=self.folder, env=env,
                              capture_output=True, text=True)
        if made.returncode != 0:
            return None, (made.stderr.strip().splitlines() or ["make"])[-1], ""
        if os.path.exists(result):
            os.unlink(result)
        try:
            done = subprocess.run([program] + job["command"][1:] + ["--result", result], cwd=self.folder,
                                  capture_output=True, text=True, errors="replace", timeout=self.args.seconds)
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
        """How the ordinary build differs from what is kept about a mutant; empty: not at all."""
        job = next(j for j in self.kept["jobs"] if j["number"] == m["job"])
        plain, path = self.design(job), os.path.join(self.folder, m["file"])
        text = self.kept["sources"][m["file"]]
        for start, end, new in sorted(m["edits"], reverse=True):
            text = text[:start] + new + text[end:]
        with open(path, "w", encoding="utf-8") as out:
            out.write(text)
        status, signature, mark = self.run(job)
        with open(path, "w", encoding="utf-8") as out:
            out.write(self.kept["sources"][m["file"]])
        if status is None:
            return "it does not build: " + signature
        wanted = m["signature"] if m["verdict"] == "detected" else ""
        if (status == 0) != (m["verdict"] != "detected") or signature != wanted:
            return "%s %s, ordinary build: exit status %d %s" % (m["verdict"], wanted, status, signature)
        return "another hash than the design's" if m["verdict"] in QUIET and mark != plain[2] else ""


def builds(kept, args):
    """The exit status: 1 where one differs."""
    begin, differ = time.monotonic(), 0
    able = [m for m in kept["mutants"] if m["verdict"] in COMPARED and "job" in m]
    chosen = random.Random(args.draw).sample(sorted(able, key=lambda m: m["id"]), min(args.count, len(able)))
    with tempfile.TemporaryDirectory(prefix="builds-") as folder:
        copy_tree(args.build, folder)
        work = Builds(kept, args, folder)
        for done, m in enumerate(chosen, 1):
            if args.total and time.monotonic() - begin > args.total:
                chosen = chosen[:done - 1]
                break
            said = work.one(m)
            differ += said != ""
            print("qualify: build [%d/%d, %s] %d %s:%d %s: %s" % (
                done, len(chosen), clock(time.monotonic() - begin), m["id"], m["file"], m["line"], m["operator"],
                "DIFFERS: " + said if said else "the same, %s" % m["verdict"]), flush=True)
    print("qualify: %d mutants built the ordinary way, %d differ" % (len(chosen), differ))
    return 1 if differ else 0


# ---- the build of kind mut without a mutant ----
def said(command):
    """(exit status, trace hash or output)"""
    done = subprocess.run(command, capture_output=True, text=True, errors="replace")
    mark = re.search("hash=([0-9a-f]+)", done.stdout)
    return done.returncode, mark.group(1) if mark else (done.stderr or done.stdout).strip()[:200]


def hashes(jobs, kind, only):
    """The exit status: 1 where a job has another trace hash in the ordinary build. `only`: programs, all if empty."""
    same, differ, listed = 0, 0, set()
    for job in jobs:
        folder, name = os.path.split(job.command[0])
        if only and name not in only or tuple(job.line()) in listed:
            continue
        listed.add(tuple(job.line()))
        other = os.path.join(re.sub("-mut$", "-" + kind, folder), name)
        mut, plain = said(job.line()), said([other] + job.line()[1:])
        good = mut == plain and mut[0] == 0
        same, differ = same + good, differ + (not good)
        if not good:
            print("qualify: %s: DIFFERS: %s, kind %s: %s" % (job.name, mut, kind, plain), flush=True)
    print("qualify: %d jobs have the same trace hash in kinds mut and %s, %d differ" % (same, kind, differ))
    return 1 if differ or not same else 0
