#!/usr/bin/python3
"""Chooses the jobs that a change can affect, says why each of them is in, and runs them (make regress SUITE=changed,
docs/regress.md, "What a change can affect").

usage: changed.py [options] [-- RUNNER-COMMAND...]   the command gets --suite FILE; without it the list is printed

Exit status: that of the command; 0 also when a change concerns no job, which is said; 2: bad usage."""
import argparse
import os
import sys

import changed_choice as choice
import changed_git as git
import changed_sources as sources
import design
import reached

SHARE = 0.5  # of the budget, for units where there are tests as well
UNIT_BUILD, FILE_BUILD = 5, 0.6  # seconds that a bench, and each file of the RTL in the whole design, take to build


class Options:
    """The command line, and what the designs share."""

    def __init__(self, args, designs):
        self.args, self.designs = args, designs
        self.build_dir, self.runner = args.build_dir, args.runner
        self.cfg, self.kind = args.cfg, args.kind

    def others(self, name):
        return [d.name for d in self.designs if d.name != name]

    def reached(self, d):
        """The coverage run that was kept of a design; None: there is none."""
        path = f"{self.build_dir}/{d.label}coverage/reached.gz"
        return reached.Reached(path) if os.path.exists(path) else None


class Budget:
    """What fits into so many seconds; programs are built once."""

    def __init__(self, options, times, designs):
        self.total = options.args.budget * options.args.jobs
        self.times, self.used, self.built = times, 0, set()
        self.whole = {d.name: FILE_BUILD * len(d.rtl.code) for d in designs}

    def cost(self, of, job):
        build = UNIT_BUILD if job.what == "unit" else self.whole[of.name]
        return self.times.of(job) + (0 if job.program() in self.built else build)

    def take(self, chosen, part, least):
        """Those of [(design, choice)] that fit into a part of the budget; `least` of them in any case."""
        taken = []
        for of, c in chosen:
            cost = self.cost(of, c.job)
            if len(taken) < least or not self.total or self.used + cost <= part * self.total:
                taken.append((of, c))
                self.used += cost
                self.built.add(c.job.program())
        return taken


def all_changes(options):
    """[(change, path from here)] of this tree and of the designs outside it; lines for the user."""
    said, found = [], []
    for root in sorted({d.root for d in options.designs}):
        where = f" in {root}" if root else ""
        if git.is_tree(root):
            base, what = git.base_of(root, options.args.base if not root else "")
            said.append(f"changed since {base[:12]} ({what}){where}:")
            changes = [c for c in git.changes(root, base) if not c.path.startswith(options.build_dir + "/")]
            drop_comments(root, base, changes)
        elif options.args.base and not root:
            raise git.Bad(f"BASE={options.args.base}: this is not a git work tree")
        else:
            said.append(f"no git work tree{where or ' here'}: every file counts as changed")
            changes = git.all_files(root)
        for c in changes:
            c.path = os.path.join(root, c.path)
        said += [] if changes else ["  nothing"]
        found.append((said, changes))
        said = []
    return found


def drop_comments(root, base, changes):
    """Mark the sources in which only comments and blanks differ."""
    for c in changes:
        if c.ranges and c.path.endswith((".c", ".h", ".sv", ".svh")):
            before = git.git(root, "show", f"{base}:./{c.path}")
            if before is not None and sources.same_code(before, sources.read(os.path.join(root, c.path))):
                c.what = "comments and blanks alone"


def meaning(change, chosen, options):
    """What a file is to the designs."""
    if change.ranges and change.what:
        return change.what + ": no job"
    found = [f"{what} ({d.name})" if len(options.designs) > 1 else what for d in chosen for what in [d.take(change)]
             if what]
    if found:
        return "; ".join(found)
    for d in options.designs:
        if f"/{d.name}/" in "/" + change.path and d.name not in [c.name for c in chosen]:
            asked = " ".join(f"{key}={value}" for key, value in (("DUT", options.args.design), ("CFG", options.cfg))
                             if value)
            return f"of design {d.name}, and {asked} was asked for: no job"
    if change.path.endswith(".suite"):
        return f"make regress SUITE={choice.stem(change.path)} runs it: no job"
    if change.path.endswith(".md"):
        return "a document: no job"
    if change.path.startswith("coverage/") and change.path.endswith(".txt"):
        return "thresholds and reasons of coverage: make coverage: no job"
    return next((f"{what}: no job" for start, what in choice.APART if change.path.startswith(start)),
                "no program of a suite is made of it: no job")


def pick(designs, options):
    """([(design, choice)] that run, those that do not fit), most likely to fail first."""
    for d in designs:
        if d.concerned():
            d.units()
            d.tests()
    chosen = sorted(((d, c) for d in designs for c in d.chosen.values()), key=lambda x: x[1].rank)
    budget = Budget(options, choice.Times(options.build_dir), designs)
    units = [x for x in chosen if x[1].job.what == "unit"]
    tests = [x for x in chosen if x[1].job.what != "unit"]
    taken = budget.take(units, SHARE if tests else 1, 1)
    taken += budget.take(tests, 1, 1)
    taken += budget.take([x for x in units if x not in taken], 1, 0)
    return [x for x in chosen if x in taken], [x for x in chosen if x not in taken], budget


def tell(designs, options, taken, left, budget):
    for d in designs:
        for line in d.said:
            print(f"{d.name}: {line}")
    seconds = budget.used / options.args.jobs
    print(f"{len(taken)} {'job' if len(taken) == 1 else 'jobs'}, most likely to fail first, about {seconds:.0f} s with "
          "what is to be built:")
    width = max(len(str(c.job)) for _, c in taken)
    for _, c in taken:
        print(f"  {str(c.job):{width}}  {c.why}")
    if left:
        names = list(dict.fromkeys(f"{c.job.what} {c.job.name}" for _, c in left))
        print(f"beyond BUDGET={options.args.budget} (0: all of them): {len(left)} jobs: {', '.join(names[:12])}" +
              (f" and {len(names) - 12} more" if len(names) > 12 else ""))
    for d in designs:
        rest = set(d.benches()) - {c.job.name for c in d.chosen.values() if c.job.what == "unit"}
        if d.concerned() and rest:
            print(f"{d.name}: {len(rest)} of {len(d.benches())} benches contain nothing of the change")


def write_suite(options, taken):
    out = options.args.out
    os.makedirs(os.path.dirname(out) or ".", exist_ok=True)
    temporary = f"{out}.{os.getpid()}"
    with open(temporary, "w", encoding="utf-8") as dst:
        dst.write("suite changed\nordered\n")
        for _, c in taken:
            dst.write(f"# {c.why}\n{c.job.line()}\n")
    os.replace(temporary, out)


def parse(words):
    cut = words.index("--") if "--" in words else len(words)
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--base", default="", help="commit to compare with (where HEAD left main)")
    ap.add_argument("--design", default="", help="this design alone")
    ap.add_argument("--cfg", default="", help="of all jobs (units: that of the description, tests: the quickest)")
    ap.add_argument("--kind", default="", help="of all jobs (that of the description)")
    ap.add_argument("--build-dir", default="build", help="build folder (build)")
    ap.add_argument("--runner", default="build/host/tandem-regress", help="the runner")
    ap.add_argument("--budget", type=int, default=60, help="seconds to fill (60), 0: no limit")
    ap.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes at a time")
    ap.add_argument("--out", default="build/changed/changed.suite", help="the job list to write")
    args = ap.parse_args(words[:cut])
    if args.budget < 0 or args.jobs < 1:
        ap.error("--budget: expected 0 or more; --jobs: expected 1 or more")
    return args, words[cut + 1:]


def main():
    args, command = parse(sys.argv[1:])
    try:
        options = Options(args, design.load())
        wanted = [d for d in options.designs if args.design in ("", d.name) and args.cfg in ("", *d.cfgs)]
        if not wanted:
            known = ", ".join(f"{d.name} with {' '.join(d.cfgs)}" for d in options.designs)
            raise git.Bad(f"no design {args.design or 'at all'}" + (f" with --cfg {args.cfg}" if args.cfg else "") +
                          f": expected one of {known}")
        found = all_changes(options)
        designs = [choice.Design(d, options) for d in wanted] if any(changes for _, changes in found) else []
        for said, changes in found:
            print("\n".join(said))
            for c in changes:
                print(f"  {c.path}" + (f", {c}" if c.ranges or c.what else "") + f": {meaning(c, designs, options)}")
        taken, left, budget = pick(designs, options) if designs else ([], [], None)
        if not taken:
            print("nothing that a job could find has changed: no job runs")
            return 0
        tell(designs, options, taken, left, budget)
        write_suite(options, taken)
    except (git.Bad, design.Bad, choice.Bad, reached.Bad, OSError) as err:
        print(f"changed.py: {err}", file=sys.stderr)
        return 2
    sys.stdout.flush()
    if command:
        os.execvp(command[0], command + ["--suite", args.out])
    return 0


if __name__ == "__main__":
    sys.exit(main())
