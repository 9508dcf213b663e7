"""Which jobs of a design a change can affect (scripts/changed.py), each with the reason and with a rank: small ones are
most likely to fail."""
import fnmatch
import os
import re
import sqlite3
import subprocess

import changed_sources as sources
import unit_duts

# ranks, each followed by a distance
OWN, CONTAINS, REACHED, NAMED, AGAIN, USES, FAR = range(7)
BUILDS = re.compile(r"Makefile|scripts/(?:.*\.mk|gen_.*|unit_.*|build.*\.sh|design\.py|rtl_modules\.py|tap_alias\.py)|"
                    r"designs/[^/]+/(?:design|tests\.def|.*\.mk)")
# what no program of a suite is made of
APART = (("docs/", "a document"), ("tests/mutants/", "a deliberate bug: make mutants"),
         ("tests/", "a test of the tools: make test"), ("regress/", "the runner itself: make test"),
         ("formal/", "a proof: make prove"), ("bench/", "a measurement: make bench"), ("tools/", "a tool: make test"),
         ("scripts/", "a script: make test"))


class Bad(Exception):
    """One line for the user."""


class Job:
    """A line of a job list."""

    def __init__(self, line):
        head, _, self.args = line.partition(" -- ")
        words = head.removeprefix("repeat ").split()
        self.what, self.name = words[:2]
        self.keys = dict(word.split("=", 1) for word in words[2:])

    def line(self):
        keys = " ".join(f"{key}={value}" for key, value in self.keys.items())
        return f"{self.what} {self.name} {keys}" + (f" -- {self.args}" if self.args else "")

    def program(self):
        """Jobs with the same one share what it costs to build."""
        return (self.keys["cfg"], self.keys["kind"], self.name if self.what == "unit" else
                self.what if self.what in ("network", "python") else "test")

    def __str__(self):
        index, cases = int(self.keys.get("index", 0)), int(self.keys.get("cases", 1))
        which = "" if not index else f" case {index}" if cases == 1 else f" cases {index}-{index + cases - 1}"
        return f"{self.what} {self.name} {self.keys['cfg']} {self.keys['kind']}{which}"


class Choice:
    def __init__(self, job, rank, why):
        self.job, self.rank, self.why = job, rank, why


class Times:
    """Seconds of jobs, from earlier runs."""

    def __init__(self, build):
        self.known = {}
        try:
            with sqlite3.connect(f"file:{build}/results.db?mode=ro", uri=True) as db:
                rows = db.execute("SELECT what, test, cfg, kind, cases, args, avg(wall_ms) FROM job "
                                  "WHERE outcome = 'pass' GROUP BY 1, 2, 3, 4, 5, 6")
                self.known = {tuple(map(str, row[:6])): row[6] / 1000 for row in rows}
        except sqlite3.Error:
            pass  # estimates alone

    def of(self, job):
        key = (job.what, job.name, job.keys["cfg"], job.keys["kind"], job.keys.get("cases", "1"), job.args)
        return self.known.get(key, 1 if job.what == "unit" else 3)


def stem(path):
    return os.path.splitext(os.path.basename(path))[0]


class Design:
    """A design, and what the change does to it."""

    def __init__(self, d, options):
        self.d, self.o, self.name = d, options, d.name
        self.root = os.path.join(d.root, "") if d.root else ""
        self.label = "" if "default" in d.lines else d.name + "/"
        self.gen = f"{options.build_dir}/gen/{d.name}"
        self.unit_dir = self.room("testcases") + "/unit"
        cfg, _, kind = d.all("build")[0].partition("-")
        self.kind = options.kind or kind
        self.unit_cfg = options.cfg or cfg
        self.test_cfg = options.cfg or d.all("quick")[0]
        own = [d.place(s) for s in d.all("source") + d.all("include")]
        self.rtl = sources.Rtl(own + [self.unit_dir + "/sv", self.gen])
        libs = [word for line in d.lines["program"] if "with" in line for word in line[line.index("with") + 1:]]
        rooms = [self.room(r) for r in ("cmodel", "drivers", "tb", "coverage", "testcases")]
        shared = ["cmodel/lib", "drivers/lib", "tb", "coverage", "opt", "report", *libs]
        self.c = sources.C([f for f in rooms + shared + [self.gen] if os.path.isdir(f)],
                           [f"{r}/{n}" for n in options.others(d.name) for r in ("tb", "coverage")])
        self.rtl_hits, self.c_hits, self.whole, self.stems, self.direct = {}, {}, {}, {}, []
        self.chosen, self.said = {}, []

    def room(self, name):
        return f"{self.root}{name}/{self.name}"

    # ---- what a changed file means for this design ----

    def take(self, change):
        """Note a file; what it is to this design, None: nothing."""
        path, text = change.path, sources.read(change.path)
        lines = change.lines(text.count("\n") + 1)
        if path in self.rtl.parts:
            return self._declares(path, self.rtl.names_at(path, lines))
        if path in self.rtl.code:
            self.rtl_hits.setdefault(path, ({}, lines))
            return "RTL"
        if path in self.c.files:
            return self._take_c(path, lines)
        return self._take_other(path, change)

    def _declares(self, path, names):
        users = self.rtl.mentions(names)
        for user, lines in users.items():
            named = sorted(n for n in names if n in self.rtl.words[user])
            self.rtl_hits.setdefault(user, ({path: named}, lines))
        return f"declares {', '.join(sorted(names)[:3])}{', ...' if len(names) > 3 else ''}, " \
               f"used by {len(users)} files of the RTL"

    def _take_c(self, path, lines):
        hit = [p for p in self.c.files[path] if p.has(lines)]
        if not hit:
            hit = self.c.files[path]  # includes, or what was removed
        self.c_hits[path] = hit
        for name in (stem(path), stem(path).removeprefix(self.name + "_")):
            self.stems[name] = path
        names = list(dict.fromkeys(n for p in hit for n in p.names[:1]))
        return "C: " + ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")

    def _take_other(self, path, change):
        below = path.removeprefix(self.root)
        if path == f"{self.root}regs/{self.name}.regs":
            return self._generated(path)
        if below.startswith(f"testcases/{self.name}/cases/") and path.endswith(".case") and os.path.exists(path):
            self.direct.append(("case", stem(path), path, "the stored case has changed"))
            return "a stored case"
        if below.startswith(f"testcases/{self.name}/python/") and path.endswith(".py"):
            self.direct.append(("python", stem(path), path, "its testcases have changed"))
            return "testcases in Python"
        if path.startswith("python/"):
            self.direct.append(("python", None, "", f"uses {path}"))
            return "the Python extension"
        if path.startswith("models/"):
            self.direct.append(("network", None, os.path.dirname(path), f"reads {path}"))
            return "a network"
        mine = below.startswith(f"designs/{self.name}/") and self.root == path[:len(path) - len(below)]
        if BUILDS.fullmatch(below) and (mine or not below.startswith("designs/")):
            self.whole[path] = "how programs are built"
        elif path.startswith("regs/") and not path.endswith(".regs"):
            self.whole[path] = "an input of generated sources"
        elif below == f"tb/{self.name}/taps.list":
            self.whole[path] = "the list of taps"
        elif change.what == "removed" and re.match(rf"(?:rtl|cmodel|drivers|tb|testcases)/(?:{self.name}|lib)/", below):
            self.whole[path] = "a source that is gone"
        return self.whole.get(path)

    def _generated(self, path):
        made = [p for p in self.rtl.parts if p.startswith(self.gen + "/") and stem(p).startswith(self.name + "_")]
        for p in made:
            self._declares(p, {n for part in self.rtl.parts[p] for n in part.names})
        for p in self.c.files:
            if p.startswith(self.gen + "/"):
                self.c_hits[p] = self.c.files[p]
        if not made:
            self.whole[path] = "registers, whose sources are not generated yet"
        return "registers"

    def concerned(self):
        return bool(self.rtl_hits or self.c_hits or self.whole or self.direct)

    # ---- jobs ----

    def job(self, what, name, cfg, kind=None, cases=None, rest=""):
        keys = f"cfg={self.label}{cfg} kind={kind or self.kind}" + (f" index=0 cases={cases}" if cases else "")
        return Job(f"{what} {name} {keys} timeout=120 memory=4096{rest}")

    def add(self, job, rank, why):
        if job.keys["kind"] == "san":
            job.keys["memory"] = "0"  # ASan reserves terabytes of address space
        key = (job.what, job.name, job.keys["cfg"], job.keys["kind"], job.keys.get("index"), job.args)
        if key not in self.chosen or rank < self.chosen[key].rank:
            self.chosen[key] = Choice(job, rank, why)

    def suite_jobs(self):
        """The jobs of the quickest suite that the design has."""
        words = [self.o.runner, "run", "--design", self.name, "--build-dir", self.o.build_dir, "--print-jobs"]
        for suite in ("smoke", "default"):
            if os.path.exists(f"{self.root}designs/{self.name}/suites/{suite}.suite"):
                done = subprocess.run(words + ["--suite", suite], capture_output=True, text=True)
                if done.returncode != 0:
                    raise Bad((done.stderr.strip() or f"suite {suite}: no jobs").splitlines()[-1])
                jobs = [Job(line) for line in done.stdout.splitlines() if "cfg=" in line]
                return suite, [self._here(job) for job in jobs]
        return None, [self.job("test", name, self.test_cfg, cases=20) for line in self.d.lines.get("tests", [])
                      for name in line if "for" not in line]

    def _here(self, job):
        """A job of a suite in the build that the change is tried in; stored cases have their own."""
        if job.what in ("test", "python"):
            job.keys["cfg"] = self.label + self.test_cfg
        if job.what in ("test", "python", "case"):
            job.keys["kind"] = self.test_kind()
        return job

    def test_kind(self):
        """Checks of units run in builds with taps alone: where nothing else has changed, tests need those."""
        checks = (self.room("tb") + "/score/", self.room("tb") + "/taps.list", "tb/tap/")
        paths = [*self.rtl_hits, *self.c_hits, *self.whole]
        return "tap" if not self.o.kind and paths and all(p.startswith(checks) for p in paths) else self.kind

    def benches(self):
        """{name of a bench: the file of its module}."""
        found = {}
        for path in sorted(p for p in self.c.files if re.fullmatch(re.escape(self.unit_dir) + r"/unit_\w+\.c", p)):
            name = stem(path)[len("unit_"):]
            said = unit_duts.directive(path)
            wanted = [said["dut"]] if said else [name, f"{self.name}_{name}"]
            dut = [self.rtl.modules[m] for m in wanted if m in self.rtl.modules]
            if dut:
                found[name] = dut[0]
        return found

    def _path_to(self, below, path):
        """pool > line > fifo: from the module of a bench to one that it contains."""
        chain = []
        while path is not None:
            chain.append(stem(path))
            path = below[path][1]
        return " > ".join(reversed(chain))

    def units(self):
        def elsewhere(path):  # programs of the whole design are not in benches
            return path.startswith(self.room("testcases") + "/") and not path.startswith(self.unit_dir + "/")

        above = {path: self.c.above(hit, elsewhere) for path, hit in self.c_hits.items()}
        homes = {path: self._homes(path) for path in above}
        for name, dut in self.benches().items():
            below = self.rtl.below(dut)
            job = self.job("unit", name, self.unit_cfg, kind="fast" if self.kind == "tap" else None, cases=20)
            bench = f"{self.unit_dir}/unit_{name}.c"
            for path in self.rtl_hits.keys() & below.keys():
                self._unit_of_rtl(job, path, below, bench)
            for path, found in above.items():
                self._unit_of_c(job, path, found, below, bench, homes[path])
            for path, why in self.whole.items():
                self.add(job, (FAR, 0), f"{why}: {path}")

    def _unit_of_rtl(self, job, path, below, bench):
        by, depth = self.rtl_hits[path][0], below[path][0]
        wrapped = any(at == 0 and p.startswith(self.unit_dir) for p, (at, _) in below.items())  # by its bench
        uses = "".join(f", which uses {', '.join(names[:2])} of {p}" for p, names in by.items())
        if depth == 0:
            self.add(job, (CONTAINS if by else OWN, 0, len(below)), f"{path} is its module{uses}")
        elif path.startswith(self.unit_dir):
            self.add(job, (OWN, depth), f"{path} is part of its bench{uses}")
        else:
            rank = OWN if wrapped and depth == 1 and not by else CONTAINS
            self.add(job, (rank, depth - wrapped + (4 if by else 0), len(below)),
                     f"contains {self._path_to(below, path)}{uses}")

    def _steps(self, found, source):
        """Steps from a source to the change; None: it does not use it."""
        return min((found[id(p)][0] for p in self.c.files[source] if id(p) in found), default=None)

    def _unit_of_c(self, job, path, found, below, bench, homes):
        if path == bench:
            self.add(job, (OWN, 0), "its bench has changed")
        here = [(below[p][0], p) for p in homes & below.keys()]
        steps = self._steps(found, bench)
        if steps is None:  # by what all benches share, such as the list of all checks
            steps = self._shared_steps(found) if here or not homes else None
        if steps is not None and here:
            depth, module = min(here)
            self.add(job, (NAMED, depth), f"{path} is about {stem(module)}" +
                     (f", in {self._path_to(below, module)}" if depth else ""))
        elif steps is not None:
            self.add(job, (USES, steps), f"uses {path}, {steps} {'step' if steps == 1 else 'steps'} away")

    def _shared_steps(self, found):
        shared = [self._steps(found, path) for path in self.c.files
                  if path.startswith(self.unit_dir + "/") and not stem(path).startswith("unit_")]
        return min((steps for steps in shared if steps is not None), default=None)

    def _homes(self, path):
        """Files of the modules that a C source is about, by its name, as far as benches contain them."""
        files = {self.rtl.modules[name] for name in self.named(path) if name in self.rtl.modules}
        return {f for f in files if any(f in self.rtl.below(dut) for dut in self.benches().values())}

    def named(self, path):
        return {stem(path), stem(path).removeprefix(self.name + "_")}

    def tests(self):
        suite, jobs = self.suite_jobs()
        for what, name, path, why in self.direct:
            self._direct(what, name, path, why, jobs)
        reached = self._reached() if self.rtl_hits else False
        asked = self._asked(with_rtl=not reached)
        entries = self._entries()
        first = set()
        for job in (j for j in jobs if j.what != "unit"):
            reasons = [(rank, why) for found in (asked, entries) for rank, why in [found.get(self.test_of(job), (0, 0))]
                       if rank]
            reasons += [((NAMED, 0), f"runs {p}") for p in self.c_hits if p.startswith(job.what + "/")]
            reasons += [((FAR, 0), f"{why}: {path}") for path, why in self.whole.items()]
            if not reasons or (job.what == "case" and job.keys["cfg"] != self.label + self.test_cfg):
                continue
            rank, why = min(reasons)
            again = (job.what, self.test_of(job)) in first or job.what == "case"
            first.add((job.what, self.test_of(job)))
            self.add(job, (max(AGAIN, rank[0]), *rank[1:], 1) if again else rank, f"{why}; of suite {suite}"
                     if suite else why)

    @staticmethod
    def test_of(job):
        """The test that a job executes; stored cases are called TEST-..."""
        return job.name.split("-")[0] if job.what == "case" else job.name if job.what == "test" else None

    def _direct(self, what, name, path, why, jobs):
        for job in jobs:
            if job.what == what and (job.name == name if name else path in job.args):
                self.add(job, (OWN, 1), why)
        if what == "case":
            cfg = re.search(r"^cfg=(\w+)", sources.read(path), re.M)
            self.add(self.job("case", name, cfg.group(1) if cfg else self.test_cfg, rest=f" -- {path}"), (OWN, 1), why)
        elif what == "python":
            self.add(self.job("python", name, self.test_cfg, cases=20), (OWN, 1), why)

    # ---- tests by the lines that they reached ----

    def _reached(self):
        """Tests that reached the changed lines in the last coverage run. False: there was none, or no job did."""
        kept = self.o.reached(self)
        if kept is None:
            self.said.append(f"no coverage run of {self.name} has been kept (make DUT={self.name} coverage): units, "
                             "and tests by the description of the design")
            return False
        found, scores = False, []
        for path, (_, lines) in self.rtl_hits.items():
            old = kept.then(path, sources.read(path), lines)
            tests = [(line, files.get(path, {})) for line, files in kept.jobs if not line.startswith("unit ")]
            idle = min((len(here) for _, here in tests), default=0)  # reached without using the file
            for line, here in tests:
                hits = {n: here[n] for n in old if n in here}
                if hits or (not old and len(here) > idle):
                    share = len(here) / max(1, len(kept.counted[path]))
                    scores.append((-len(hits), -share, path, line, hits, old))
        for place, (_, share, path, line, hits, old) in enumerate(sorted(scores, key=lambda s: s[:4])):
            job = self._here(Job(line))
            if job.what not in ("test", "case"):
                continue
            job.keys["timeout"] = str(max(60, int(job.keys.get("timeout", 600)) // 10))
            again = any((c.job.what, c.job.name, c.rank[0]) == (job.what, job.name, REACHED)
                        for c in self.chosen.values())
            where = f"{path}:{', '.join(str(n) for n in sorted(hits)[:4])}"
            why = (f"reached {where} ({max(hits.values())} times" if hits else
                   f"uses {path} (the changed lines count nothing") + f"; {-share:.0%} of the file) in coverage run " \
                   f"{kept.run}"
            self.add(job, (AGAIN if again else REACHED, place), why)
            found = True
        if not found:
            self.said.append(f"no test of coverage run {kept.run} reached the changed lines: units, and tests by the "
                             "description of the design")
        return found

    # ---- tests by the description of the design, and by what they use ----

    def _asked(self, with_rtl):
        """{test: (rank, why)} of the lines `tests ... for PATTERN`: of a changed module, or of the nearest one that
        contains it; of C sources by their names. The tests of lines without `for` where no pattern fits."""
        near = {name: (0, f"{path} is about it") for name, path in self.stems.items()}
        if with_rtl:
            near.update(self._around())
        top = self.d.all("top")[0]
        found = self._fitting({n: near[n] for n in near if n != top}) or self._fitting(near)
        if not found and (self.c_hits or (with_rtl and self.rtl_hits)):
            paths = sorted([*self.c_hits, *(self.rtl_hits if with_rtl else ())])
            words = [t for line in self.d.lines.get("tests", []) if "for" not in line for t in line]
            found = {t: ((USES, 50, i), f"a test of the whole design, which contains {paths[0]}")
                     for i, t in enumerate(words)}
        return found

    def _fitting(self, near):
        found = {}
        for line in self.d.lines.get("tests", []):
            at = line.index("for") if "for" in line else len(line)
            fits = [(near[n], n) for n in near for pattern in line[at + 1:] if fnmatch.fnmatchcase(n, pattern)]
            for place, test in enumerate(line[:at] if fits else []):
                (far, why), name = min(fits)
                rank = ((NAMED, far, place), f"a test of {name}: {why}")
                found[test] = min(found.get(test, rank), rank)
        return found

    def _around(self):
        """{module: (distance, why)} of the changed modules and of those that contain them; the top module last."""
        found, todo = {}, []
        for path in self.rtl_hits:
            found[stem(path)] = (0, f"{path} has changed")
            todo.append((path, 0))
        for path, far in todo:
            for user in sorted(p for p, used in self.rtl.uses.items() if path in used and p not in self.rtl.parts):
                if stem(user) not in found:
                    found[stem(user)] = (far + 1, f"it contains {stem(path)}")
                    todo.append((user, far + 1))
        return found

    def _entries(self):
        """{test: (rank, why)} of tests whose sources use a changed C source. A test begins where its name is given:
        .name = "NAME"."""
        found = {}
        above = {path: self.c.above(hit) for path, hit in self.c_hits.items()}
        for source, parts in self.c.files.items():
            if not above or not source.startswith(self.room("testcases") + "/"):
                continue
            where = None
            for m in re.finditer(r'\.name\s*=\s*"(\w+)"', sources.read(source)):
                where = where or sources.Lines(sources.read(source))
                part = [p for p in parts if p.has({where.of(m.start())})]
                for path, ends in above.items():
                    far = [ends[id(p)][0] for p in part if id(p) in ends]
                    if far:
                        rank = ((USES, min(far)), f"uses {path}, {min(far)} steps away")
                        found[m.group(1)] = min(found.get(m.group(1), rank), rank)
        return found
