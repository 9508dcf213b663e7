#!/usr/bin/python3
"""Functional qualification: which mutants of a design do the tests of a suite detect (docs/qualification.md)?

  qualify.py run ...         run the jobs of a suite on the build with mutants; writes OUT/qualify.json and the report
  qualify.py programs ...    the programs that these jobs need
  qualify.py report DIR      the report of a run as text; --json; --gate PERCENT: exit status 1 below it
  qualify.py prove DIR ...   prove mutants that were not detected to be equivalent
  qualify.py builds DIR ...  mutants drawn at random, each built the ordinary way: the same verdicts?
  qualify.py replay DIR ID   the case that decided about a mutant, in an ordinary build, with a waveform
  qualify.py hashes ...      without a mutant the jobs have the trace hashes of an ordinary build
  qualify.py bugs DIR PATCH  which of these hand-written bugs are mutants of the run; exit status 1: one not detected
  qualify.py diff DIR DIR    mutants whose verdicts differ; exit status 1 when one is no longer detected
  qualify.py patch DIR ID    one mutant as a patch of the sources, for a build of any kind"""
import argparse
import collections
import difflib
import glob
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time

import qualify_bugs
import qualify_builds
import qualify_prove
from mutate import draw
from qualify_report import score, summary, text_report, write_pages
from qualify_run import VERDICTS, WHATS, Bad, Runner, edited, jobs_of, read_json, write

KEYS = ("line", "old", "new", "why")
NTH = "nth"  # which one, where several mutants of a file have the same line, old and new
# the configurations and suites that it is about, separated by spaces, if it is not about all
CFG, SUITE = "cfg", "suite"
KINDS = ("equivalent", "weak")  # it changes nothing that a document promises; no check notices it, and why


# ---- the mutants ----
def source_line(mutant, sources):
    if mutant["file"] not in sources:
        with open(mutant["file"], encoding="utf-8") as src:
            sources[mutant["file"]] = src.read()
    return sources[mutant["file"]].splitlines()[mutant["line"] - 1].strip()


def equivalents(path):
    """Entries of the reviewed file: `equivalent FILE OPERATOR` or `weak FILE OPERATOR`, then line:, old:, new:, why:"""
    entries = []
    if not path or not os.path.exists(path):
        return entries
    with open(path, encoding="utf-8") as src:
        for number, text in enumerate(src, 1):
            key, _, value = text.strip().partition(":")
            words = text.split()
            if not words or text.startswith("#"):
                continue
            if words[0] in KINDS and len(words) == 3:
                entries.append({"at": "%s:%d" % (path, number), "kind": words[0], "file": words[1],
                                "operator": words[2]})
            elif key in KEYS + (NTH, CFG, SUITE) and entries:
                entries[-1][key] = value.strip()
            else:
                raise Bad('%s:%d: expected "equivalent FILE OPERATOR", "weak FILE OPERATOR" or one of %s:' % (
                    path, number, ":, ".join(KEYS)))
    for entry in entries:
        missing = [key for key in KEYS if not entry.get(key)]
        if missing:
            raise Bad("%s: the entry has no %s:" % (entry["at"], missing[0]))
    return entries


def named_by(entries, mutants, cfg, suite):
    """[(entry, the mutants that it names)]; entries of other configurations and suites are left out."""
    found, by_text = [], collections.defaultdict(list)
    for m in mutants:
        by_text[tuple(m[k] for k in ("text", "file", "operator", "old", "new"))].append(m)
    for entry in entries:
        if all(mine is None or key not in entry or mine in entry[key].split()
               for key, mine in ((CFG, cfg), (SUITE, suite))):
            named = by_text[tuple(entry[k] for k in ("line", "file", "operator", "old", "new"))]
            found.append((entry, [m for i, m in enumerate(named, 1) if entry.get(NTH, str(i)) == str(i)]))
    return found


def apply_equivalents(mutants, entries, cfg=None, suite=None):
    """Survivors with a reason become equivalent, or are explained. Returns what is stale. cfg, suite: entries of others
    do not count."""
    stale = []
    for entry, named in named_by(entries, mutants, cfg, suite):
        wrong = [m for m in named if m.get("verdict") in VERDICTS[:VERDICTS.index("survived")]]
        if entry["kind"] == "weak":  # one that loops may be explained
            wrong = [m for m in wrong if m["verdict"] == "detected"]
        if not named:
            stale.append("%s: there is no such mutant any more" % entry["at"])
        for m in wrong:
            stale.append("%s: it is not %s: %s %s" % (entry["at"], entry["kind"], m["verdict"], m.get("signature", "")))
        for m in named:
            if m not in wrong:
                m["why"] = entry["why"]
                if entry["kind"] == "equivalent":
                    m["verdict"] = "equivalent"
    return stale


# ---- a run ----
def jobs(args):
    """Those of the suite that were asked for, and how many there are beside them."""
    listed, others = jobs_of(args.runner, args.suite, args.design, args.build, args.out_build, args.cfg, args.seed)
    chosen = [job for job in listed if (not args.what or job.what in args.what) and
              re.search(args.job or "", job.name)]
    if not chosen:
        raise Bad("suite %s of %s: no job of configuration %s%s" % (
            args.suite, args.design, args.cfg, " is among those of --what and --job" if listed else ""))
    return chosen, others + len(listed) - len(chosen)


def programs(args):
    """What has to be built."""
    print("\n".join(sorted({job.command[0] for job in jobs(args)[0]})))
    return 0


def numbered_names(mutants):
    """{what a mutant is called as long as its line is the same: the mutant}"""
    seen, named = collections.Counter(), {}
    for m in mutants:
        name = (m["file"], m["module"], m["operator"], m["text"], m["old"], m["new"])
        seen[name] += 1
        named[name + (seen[name],)] = m
    return named


def take_over(mutants, listed, folder):
    """What an earlier run has detected is not run again: how many mutants, and the numbers of those that were absent
    there."""
    before = load(folder)
    names = {job["number"]: job["job"] for job in before["jobs"]}
    numbers = {job.name: number for number, job in enumerate(listed)}
    known = numbered_names(before["mutants"])
    for name, m in numbered_names(mutants).items():
        old = known.get(name, {})
        if old.get("verdict") == "detected":
            m.update({key: old[key] for key in ("verdict", "at", "cycles", "signature", "message", "replay")})
            m["found"] = [[numbers[names[n]], check] for n, check in old["found"] if names[n] in numbers]
            m["before"] = True
    absent = {m["id"] for name, m in numbered_names(mutants).items() if known.get(name, {}).get("verdict") == "absent"}
    return sum("before" in m for m in mutants), absent


def held(folder):
    """Numbers of the mutants that the compiled designs of a build have; None: there are no sources of them."""
    found, seen = set(), False
    for path in glob.glob(os.path.join(glob.escape(folder), "**", "V*.cpp"), recursive=True):
        with open(path, encoding="utf-8", errors="replace") as src:
            found.update(map(int, re.findall(r"tb_mut_differs\((\d+)", src.read())))
            seen = True
    return found if seen else None


def chosen_mutants(made, args):
    """Of those that are drawn those that were asked for."""
    modules, numbers = set(args.modules), set(args.only)
    unknown = modules - {m["module"] for m in made}
    if unknown:
        raise Bad("there is no mutant in module %s" % ", ".join(sorted(unknown)))
    mine = [m for m in made if m["drawn"] and (not modules or m["module"] in modules) and
            (not numbers or m["id"] in numbers)]
    if args.sample:
        strata = collections.defaultdict(list)
        for m in mine:
            strata[m["module"], m["operator"]].append(m["id"])
        drawn = draw(strata, args.sample, args.draw)
        mine = [m for m in mine if m["id"] in drawn]
    return mine


def run(args):
    begin = time.monotonic()
    made = read_json(os.path.join(args.out_build, "rtl", "mutants.json"))
    parents = read_json(os.path.join(args.out_build, "rtl", "modules.json"))
    sources = {}
    for m in made:
        m["text"] = source_line(m, sources)
    entries = equivalents(args.equivalent)
    listed, others = jobs(args)
    os.makedirs(args.out, exist_ok=True)
    mine = chosen_mutants(made, args)
    known, absent = take_over(mine, listed, args.since) if args.since else (0, set())
    print("qualify: %d mutants of %d, %d jobs, %d at a time%s" % (
        len(mine), len(made), len(listed), args.jobs,
        "; %d were detected by the run of %s" % (known, args.since) if args.since else ""), flush=True)
    reviewed = {m["id"] for entry, named in named_by(entries, made, args.cfg, args.suite) for m in named
                if entry["kind"] == "equivalent"}
    runner = Runner(mine, listed, args, reviewed, {m["id"]: m["module"] for m in made if m["drawn"]})
    ran = runner.run()
    whats = [job.what for job in listed]
    compiled = held(args.out_build)
    for m in mine:
        m.setdefault("verdict", "not-reached")
        # a part of the jobs is a part of the programs: what these do not have was absent before, too
        if m["verdict"] == "not-reached" and compiled is not None and m["id"] not in compiled and (
                not (args.what or args.job) or m["id"] in absent):
            m["verdict"] = "absent"
        m["what"] = whats[m["job"]] if "job" in m else ""
    stale = apply_equivalents(made, entries, args.cfg, args.suite)
    kept = {"design": args.design, "cfg": args.cfg, "suite": args.suite, "all": len(made), "jobs": ran,
            "other_jobs": others, "since": args.since, "stale": stale,
            "seconds": round(time.monotonic() - begin, 2), "sources": sources,
            "left_out": sorted(runner.left_out), "phases": runner.phases, "parents": parents,
            "all_checks": args.all_checks, "mutants": mine}
    keep(kept, args.out)
    record(args, args.out)
    return finish(kept, args.gate)


def keep(kept, folder, info=None):
    """All files of a result."""
    write(os.path.join(folder, "qualify.json"), json.dumps(kept, indent=1, sort_keys=True) + "\n")
    write(os.path.join(folder, "report.txt"), text_report(kept))
    write(os.path.join(folder, "summary.json"), json.dumps(summary(kept), indent=1, sort_keys=True) + "\n")
    write_pages(kept, os.path.join(folder, "html"), info)


def record(args, folder):
    """A row of the results database."""
    if args.record:
        command = shlex.split(args.record)
        command[1:1] = ["qualify", os.path.join(folder, "summary.json")]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            raise OSError("the database: %s" % (done.stderr or done.stdout).strip())


def finish(kept, gate):
    """The last lines, and the exit status."""
    s = summary(kept)
    for text in s["stale"]:
        print("qualify: STALE: %s" % text)
    print("qualify: %d mutants, %s" % (s["mutants"], ", ".join("%d %s" % (n, v) for v, n in s["verdicts"].items())))
    print("qualify: of %(weak)d that count as not detected %(explained)d are explained in the reviewed file" % s)
    low = gate is not None and s["score"] < gate
    print("qualify: score %.2f %%%s" % (s["score"], "" if gate is None else ", threshold %g %%: %s" % (
        gate, "FAIL" if low else "ok")))
    return 1 if low or s["stale"] else 0


def load(folder):
    kept = read_json(os.path.join(folder, "qualify.json"))
    if not isinstance(kept, dict) or "mutants" not in kept:
        raise Bad("%s/qualify.json: it is not a result of qualify.py run" % folder)
    return kept


def report(args):
    kept = load(args.folder)
    if args.json:
        print(json.dumps(summary(kept), indent=1, sort_keys=True))
        return 1 if kept["stale"] or args.gate is not None and score(kept["mutants"]) < args.gate else 0
    if args.coverage:
        write_pages(kept, os.path.join(args.folder, "html"), args.coverage)
    sys.stdout.write(text_report(kept))
    return finish(kept, args.gate)


def prove(args):
    """Of the mutants that were not detected those that Yosys proves to be equivalent."""
    if shutil.which("yosys") is None:
        raise Bad("prove: needs yosys (make deps)")
    kept = load(args.folder)
    proven = qualify_prove.prove(kept, args)
    keep(kept, args.folder)
    record(args, args.folder)
    print("qualify: %d of %d are proven to be equivalent" % (proven[0], proven[1]))
    return finish(kept, args.gate)


def builds(args):
    return qualify_builds.builds(load(args.folder), args)


def replay(args):
    return qualify_builds.replay(load(args.folder), args)


def bugs(args):
    return qualify_bugs.bugs(load(args.folder), args.patches)


def hashes(args):
    return qualify_builds.hashes(jobs(args)[0], args.kind, args.only)


def diff(args):
    before, after = (numbered_names(load(folder)["mutants"]) for folder in (args.before, args.after))
    worse = 0
    for name in sorted(set(before) & set(after)):
        a, b = before[name], after[name]
        if a["verdict"] != b["verdict"]:
            worse += a["verdict"] == "detected" and b["verdict"] != "equivalent"
            print("%s -> %s  %s:%d: %s: %s  =>  %s" % (a["verdict"], b["verdict"], b["file"], b["line"], b["operator"],
                                                       b["old"][:80], b["new"][:80]))
    print("qualify: %d mutants in both, %d only before, %d only after; %d no longer detected" % (
        len(set(before) & set(after)), len(set(before) - set(after)), len(set(after) - set(before)), worse))
    return 1 if worse else 0


def patch(args):
    kept = load(args.folder)
    chosen = [m for m in kept["mutants"] if m["id"] == args.mutant]
    if not chosen:
        raise Bad("%s: there is no mutant %d" % (args.folder, args.mutant))
    m = chosen[0]
    old = kept["sources"][m["file"]]
    new = edited(old, m["edits"])
    print("# %s: %s => %s" % (m["operator"], m["old"], m["new"]))
    sys.stdout.writelines(difflib.unified_diff(old.splitlines(True), new.splitlines(True), "a/" + m["file"],
                                               "b/" + m["file"]))
    return 0


# ---- the command line ----
def run_options(commands):
    """Commands about the jobs of a suite. Returns the parser of `run`."""
    for name, call in (("programs", programs), ("hashes", hashes), ("run", run)):
        p = commands.add_parser(name)
        for option, text in (("--design", "NAME"), ("--cfg", "configuration"), ("--suite", "whose jobs are run"),
                             ("--build", "build folder"), ("--out-build", "folder of the build of kind mut"),
                             ("--runner", "tandem-regress")):
            p.add_argument(option, required=True, help=text)
        p.add_argument("--seed", help="run seed of the tests (that of the suite)")
        p.add_argument("--what", nargs="*", choices=WHATS, default=[], help="jobs of these kinds only")
        p.add_argument("--job", metavar="REGEX", help="jobs whose names have this only")
        p.set_defaults(call=call)
        if name == "hashes":
            p.add_argument("--kind", default="fast", help="of the ordinary build")
            p.add_argument("--only", nargs="*", default=[], help="programs: tandem ...")
    p.add_argument("--out", required=True, help="folder for the results")
    p.add_argument("--jobs", type=int, default=os.cpu_count(), help="jobs at a time")
    p.add_argument("--cycles", type=int, default=0, help="clock cycles of a mutant in a job (0: to its end)")
    p.add_argument("--seconds", type=int, default=20, help="time of a mutant in a job")
    p.add_argument("--total", type=int, default=0, help="seconds after which no further job begins (0: all run)")
    p.add_argument("--tries", type=int, default=0, help="jobs that may infect it without detecting it (0: all)")
    p.add_argument("--all-checks", action="store_true", help="run every mutant in every job: what each one is worth")
    p.add_argument("--equivalent", help="reviewed file of equivalent mutants")
    p.add_argument("--since", metavar="DIR", help="mutants that the run of this folder has detected are not run again")
    p.add_argument("--modules", nargs="*", default=[], help="mutants of these modules only")
    p.add_argument("--only", nargs="*", type=int, default=[], help="mutants with these numbers only")
    p.add_argument("--sample", type=int, default=0, help="so many of them, of all modules and operators alike (all)")
    p.add_argument("--draw", type=int, default=1, help="seed of this draw")
    return p


def prove_options(commands):
    p = commands.add_parser("prove")
    p.add_argument("folder")
    p.add_argument("--seconds", type=int, default=20, help="of a processor, of each proof")
    p.add_argument("--total", type=int, default=600, help="of all of them")
    p.add_argument("--jobs", type=int, default=os.cpu_count(), help="proofs at a time")
    p.add_argument("--top", required=True, help="module")
    p.add_argument("--parameters", nargs="*", default=[], metavar="NAME=VALUE")
    p.add_argument("--modules", nargs="*", default=[], help="mutants of these modules only")
    p.add_argument("--include", action="append", default=[])
    p.add_argument("--sources", nargs="+", required=True)
    p.set_defaults(call=prove)
    return p


def build_options(commands):
    """Commands that build mutants the ordinary way."""
    p, q = commands.add_parser("builds"), commands.add_parser("replay")
    for one, kinds in ((p, ["tap", "fast"]), (q, ["tap", "debug"])):
        one.add_argument("folder")
        one.add_argument("--build", required=True, help="build folder")
        one.add_argument("--kinds", nargs=2, default=kinds, metavar="KIND",
                         help="of builds: design, unit benches (%s)" % " ".join(kinds))
    q.add_argument("mutant", type=int)
    q.set_defaults(call=replay)
    p.add_argument("--count", type=int, default=100)
    p.add_argument("--draw", type=int, default=1, help="seed of the draw")
    p.add_argument("--seconds", type=int, default=300, help="of a run")
    p.add_argument("--total", type=int, default=0, help="seconds after which no further one begins")
    p.add_argument("--resume", action="store_true", help="only what an earlier call of the same run has left")
    p.set_defaults(call=builds)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    p, r = run_options(commands), prove_options(commands)
    q = commands.add_parser("report")
    q.add_argument("folder")
    q.add_argument("--json", action="store_true")
    q.add_argument("--coverage", metavar="INFO", help="write the pages anew, with code coverage: a file of lcov")
    q.set_defaults(call=report)
    for one in (p, r):
        one.add_argument("--record", metavar="RUNNER", help="tandem-regress: a row of its database")
    for one in (p, q, r):
        one.add_argument("--gate", type=float, help="lowest score, in percent")
    build_options(commands)
    for name, call, words in (("bugs", bugs, ("folder",)), ("diff", diff, ("before", "after")),
                              ("patch", patch, ("folder",))):
        one = commands.add_parser(name)
        for word in words:
            one.add_argument(word)
        one.set_defaults(call=call)
        if call == bugs:
            one.add_argument("patches", nargs="+")
        elif call == patch:
            one.add_argument("mutant", type=int)
    args = parser.parse_args()
    try:
        return args.call(args)
    except (Bad, OSError) as err:
        print("qualify: %s" % err, file=sys.stderr)
        return 2 if isinstance(err, Bad) else 3


if __name__ == "__main__":
    sys.exit(main())
