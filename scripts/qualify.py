#!/usr/bin/python3
"""Functional qualification: which mutants of a design do the tests of a suite detect (docs/qualification.md)?

  qualify.py run ...         run the jobs of a suite on the build with mutants; writes OUT/qualify.json and the report
  qualify.py report DIR      the report of a run as text; --json; --gate PERCENT: exit status 1 below it
  qualify.py diff DIR DIR    mutants whose verdicts differ; exit status 1 when one is no longer detected
  qualify.py patch DIR ID    one mutant as a patch of the sources, for a build of any kind"""
import argparse
import collections
import difflib
import json
import os
import random
import shlex
import subprocess
import sys
import time

# from the best to the worst; of several jobs the best verdict counts
VERDICTS = ("detected", "limit-seconds", "limit-memory", "crashed", "survived", "limit-cycles", "reached",
            "not-reached")
MEANING = {"detected": "a check failed", "limit-seconds": "ran out of time: no watchdog spoke",
           "limit-memory": "ran out of memory", "crashed": "the program crashed or could not go on",
           "survived": "infected, not detected: the run ended", "limit-cycles": "infected, not detected so far",
           "reached": "reached, not infected", "not-reached": "not reached", "equivalent": "equivalent, with a reason",
           "not-run": "not drawn"}
KEYS = ("line", "old", "new", "why")
NTH = "nth"  # which one, where several mutants of a file have the same line, old and new


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


# ---- the mutants ----
def draw(mutants, count, seed):
    """So many of them: from each pair of module and operator the same share, at least one."""
    if count == 0 or count >= len(mutants):
        return {m["id"] for m in mutants}
    rng = random.Random(seed)
    strata = collections.defaultdict(list)
    for m in mutants:
        strata[m["module"], m["operator"]].append(m["id"])
    order = []
    for _, ids in sorted(strata.items()):
        rng.shuffle(ids)
        order += [((k + rng.random()) / len(ids), i) for k, i in enumerate(ids)]
    return {i for _, i in sorted(order)[:count]}


def source_line(mutant, sources):
    if mutant["file"] not in sources:
        with open(mutant["file"], encoding="utf-8") as src:
            sources[mutant["file"]] = src.read()
    return sources[mutant["file"]].splitlines()[mutant["line"] - 1].strip()


def equivalents(path):
    """Entries of the reviewed file: `equivalent FILE OPERATOR`, then line:, old:, new: and why:."""
    entries = []
    if not path or not os.path.exists(path):
        return entries
    with open(path, encoding="utf-8") as src:
        for number, text in enumerate(src, 1):
            key, _, value = text.strip().partition(":")
            words = text.split()
            if not words or text.startswith("#"):
                continue
            if words[0] == "equivalent" and len(words) == 3:
                entries.append({"at": "%s:%d" % (path, number), "file": words[1], "operator": words[2]})
            elif key in KEYS + (NTH,) and entries:
                entries[-1][key] = value.strip()
            else:
                raise Bad('%s:%d: expected "equivalent FILE OPERATOR" or one of %s:' % (path, number, ":, ".join(KEYS)))
    for entry in entries:
        missing = [key for key in KEYS if not entry.get(key)]
        if missing:
            raise Bad("%s: the entry has no %s:" % (entry["at"], missing[0]))
    return entries


def apply_equivalents(mutants, entries):
    """Survivors with a reason become equivalent. Returns what is stale."""
    stale = []
    for entry in entries:
        named = [m for m in mutants if m["text"] == entry["line"] and
                 all(m[k] == entry[k] for k in ("file", "operator", "old", "new"))]
        if NTH in entry:
            named = [m for i, m in enumerate(named, 1) if str(i) == entry[NTH]]
        wrong = [m for m in named if m["verdict"] in VERDICTS[:VERDICTS.index("survived")]]
        if not named:
            stale.append("%s: there is no such mutant any more" % entry["at"])
        for m in wrong:
            stale.append("%s: it is not equivalent: %s %s" % (entry["at"], m["verdict"], m.get("signature", "")))
        for m in named:
            if m not in wrong:
                m["verdict"], m["why"] = "equivalent", entry["why"]
    return stale


# ---- the jobs ----
def jobs_of(args):
    """Jobs of the suite that are tests in this configuration: their program and its arguments; how many others."""
    command = shlex.split(args.runner) + ["run", "--suite", args.suite, "--design", args.design, "--build-dir",
                                          args.build, "--print-jobs"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise Bad((done.stderr or done.stdout).strip().splitlines()[-1])
    jobs, others, seed = [], 0, "1"
    for line in done.stdout.splitlines():
        words = line.split("#")[0].split()
        words = words[1:] if words[:1] == ["repeat"] else words
        if words[:1] == ["seed"]:
            seed = args.seed or words[1]
        if not words or words[0] in ("suite", "seed", "budget"):
            continue
        at = words.index("--") if "--" in words else len(words)
        keys = dict(w.split("=", 1) for w in words[2:at] if "=" in w)
        if words[0] == "test" and keys.get("cfg", "").split("/")[-1] == args.cfg:
            jobs.append([os.path.join(args.out_build, "tandem"), "test", words[1]] + words[at + 1:] + [
                "--run-seed", seed, "--index", keys.get("index", "0"), "--count", keys.get("cases", "1")])
        else:
            others += 1
    # what differs only in the kind of its build is one job
    unique = [list(j) for j in dict.fromkeys(tuple(j) for j in jobs)]
    return unique, others


def run_job(args, job, todo, folder):
    """{mutant: (verdict, cycles before, cycles, cases, signature, message)}"""
    listed, verdicts = os.path.join(folder, "todo"), os.path.join(folder, "verdicts")
    write(listed, "".join("%d\n" % i for i in sorted(todo)))
    command = job + ["--quiet", "--mutants", listed, "--verdicts", verdicts, "--mutant-jobs", str(args.jobs),
                     "--mutant-seconds", str(args.seconds), "--case-dir", folder]
    if args.cycles:
        command += ["--mutant-cycles", str(args.cycles)]
    if os.path.exists(verdicts):
        os.unlink(verdicts)
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0 or not os.path.exists(verdicts):
        said = (done.stdout + done.stderr).strip().splitlines() or ["exit status %d" % done.returncode]
        raise Bad("without any mutant: %s: %s" % (" ".join(job), said[0]))
    found = {}
    with open(verdicts, encoding="utf-8", errors="replace") as src:
        for line in src:
            f = line.rstrip("\n").split("\t")
            found[int(f[0])] = (f[1], int(f[2]), int(f[3]), int(f[4]), f[5], f[6])
    return found


def case_of(job, cases):
    """The command of one case of a job."""
    out, at = list(job), job.index("--index")
    out[at + 1], out[job.index("--count") + 1] = str(int(job[at + 1]) + cases), "1"
    return " ".join(out)


def take(mutant, found, number, job):
    """Keep the better verdict."""
    if "verdict" in mutant and VERDICTS.index(found[0]) >= VERDICTS.index(mutant["verdict"]):
        return
    mutant.update(verdict=found[0], job=number)
    if found[0] not in ("reached", "not-reached"):
        mutant.update(at=found[1], cycles=found[2], signature=found[4], message=found[5],
                      replay="%s --mutant %d" % (case_of(job, found[3]), mutant["id"]))


def run(args):
    begin = time.monotonic()
    mutants = read_json(os.path.join(args.out_build, "rtl", "mutants.json"))
    drawn, sources = draw(mutants, args.mutants, args.draw), {}
    for m in mutants:
        m["text"] = source_line(m, sources)
    entries = equivalents(args.equivalent)
    jobs, others = jobs_of(args)
    if not jobs:
        raise Bad("suite %s of %s: no test of configuration %s" % (args.suite, args.design, args.cfg))
    os.makedirs(args.out, exist_ok=True)
    mine = [m for m in mutants if m["id"] in drawn]
    ran = []
    for number, job in enumerate(jobs):
        todo = {m["id"] for m in mine if m.get("verdict") != "detected"}
        if not todo:
            break
        start = time.monotonic()
        found = run_job(args, job, todo, args.out)
        for m in mine:
            if m["id"] in found:
                take(m, found[m["id"]], number, job)
        new = sum(m["verdict"] == "detected" for m in mine if m["id"] in todo)
        ran.append({"job": " ".join(job[1:]), "mutants": len(todo), "detected": new,
                    "seconds": round(time.monotonic() - start, 2)})
        print("qualify: [%d/%d] %s: %d mutants, %d detected, %.1f s" % (
            number + 1, len(jobs), " ".join(job[1:]), len(todo), new, ran[-1]["seconds"]), flush=True)
    for name in ("todo", "verdicts"):
        if os.path.exists(os.path.join(args.out, name)):
            os.unlink(os.path.join(args.out, name))
    stale = apply_equivalents(mine, entries)
    kept = {"design": args.design, "cfg": args.cfg, "suite": args.suite, "draw": args.draw, "all": len(mutants),
            "jobs": ran, "other_jobs": others, "stale": stale, "seconds": round(time.monotonic() - begin, 2),
            "sources": {path: text for path, text in sources.items()}, "mutants": mine}
    write(os.path.join(args.out, "qualify.json"), json.dumps(kept, indent=1, sort_keys=True) + "\n")
    write(os.path.join(args.out, "report.txt"), text_report(kept))
    return finish(kept, args.gate)


# ---- reports ----
def score(mutants):
    """Percent detected of those that are not equivalent; 100 of none."""
    counted = [m for m in mutants if m["verdict"] != "equivalent"]
    return 100.0 * sum(m["verdict"] == "detected" for m in counted) / len(counted) if counted else 100.0


def check_of(signature):
    """The check of a signature: without the line of an assertion, the stream of a unit, the port of a rule."""
    parts = signature.split(":")
    return ":".join(parts[:2]) if parts[0] in ("unit", "axi", "assert", "watchdog") else signature


def summary(kept):
    mutants = kept["mutants"]
    out = {"design": kept["design"], "cfg": kept["cfg"], "suite": kept["suite"], "mutants": len(mutants),
           "of": kept["all"], "score": round(score(mutants), 2), "seconds": kept["seconds"], "stale": kept["stale"],
           "verdicts": dict(collections.Counter(m["verdict"] for m in mutants))}
    for key in ("module", "operator"):
        groups = collections.defaultdict(list)
        for m in mutants:
            groups[m[key]].append(m)
        out[key + "s"] = [{"name": name, "mutants": len(ms), "score": round(score(ms), 2),
                           "verdicts": dict(collections.Counter(m["verdict"] for m in ms))}
                          for name, ms in sorted(groups.items())]
    found = [m for m in mutants if m["verdict"] == "detected"]
    out["checks"] = [{"name": name, "detected": n} for name, n in
                     collections.Counter(check_of(m["signature"]) for m in found).most_common()]
    units = [(m, m["signature"].split(":")[1]) for m in found if m["signature"].startswith("unit:")]
    out["blamed"] = {"by_units": len(units), "right": sum(
        m["module"] in (unit, "%s_%s" % (kept["design"], unit)) for m, unit in units)}
    cycles = sorted(m["cycles"] for m in found)
    out["cycles"] = {"median": cycles[len(cycles) // 2], "most": cycles[-1]} if cycles else {}
    return out


def table(title, rows):
    lines = ["", "%-28s %7s %8s %8s %8s %8s %8s %7s" % (title, "mutants", "detected", "infected", "reached", "missed",
                                                        "equival.", "score")]
    for row in rows:
        v = collections.Counter(row["verdicts"])
        infected = sum(v[name] for name in VERDICTS[1:6])
        lines.append("%-28s %7d %8d %8d %8d %8d %8d %6.1f%%" % (
            row["name"], row["mutants"], v["detected"], infected, v["reached"], v["not-reached"], v["equivalent"],
            row["score"]))
    return lines


def text_report(kept):
    s = summary(kept)
    lines = ["Qualification of %s, %s, suite %s: %d of %d mutants, %d jobs, %.1f s" % (
        s["design"], s["cfg"], s["suite"], s["mutants"], s["of"], len(kept["jobs"]), s["seconds"])]
    if kept["other_jobs"]:
        lines.append("%d jobs of the suite are not tests of this configuration and were not run" % kept["other_jobs"])
    lines += ["%7d %-14s %s" % (s["verdicts"][v], v, MEANING[v])
              for v in VERDICTS + ("equivalent",) if v in s["verdicts"]]
    if s["cycles"]:
        lines.append("clock cycles from infection to detection: median %(median)d, most %(most)d" % s["cycles"])
    lines.append("failures of unit checks: %(by_units)d, of the module that has the mutant: %(right)d" % s["blamed"])
    lines += table("module", s["modules"]) + table("operator", s["operators"])
    lines += ["", "%-40s %8s" % ("check", "detected")] + ["%-40s %8d" % (c["name"], c["detected"]) for c in s["checks"]]
    for verdict in VERDICTS[1:]:
        chosen = [m for m in kept["mutants"] if m["verdict"] == verdict]
        if chosen:
            lines += ["", "%s (%s): %d" % (verdict, MEANING[verdict], len(chosen))]
        for m in chosen:
            lines += shown(m)
    lines += ["stale: " + text for text in s["stale"]]
    lines.append("score: %.2f %% of the mutants that are not equivalent are detected" % s["score"])
    return "\n".join(lines) + "\n"


def shown(m):
    out = ["  %d  %s:%d: %s, in %s" % (m["id"], m["file"], m["line"], m["operator"], m["module"]),
           "      %s" % m["text"], "      %s  =>  %s" % (m["old"][:150], m["new"][:150])]
    return out + (["      differs after %d cycles; %s" % (m["at"], m["replay"])] if "replay" in m else [])


def finish(kept, gate):
    """The last lines, and the exit status."""
    s = summary(kept)
    for text in s["stale"]:
        print("qualify: STALE: %s" % text)
    print("qualify: %d mutants, %s" % (s["mutants"], ", ".join("%d %s" % (n, v) for v, n in s["verdicts"].items())))
    low = gate is not None and s["score"] < gate
    print("qualify: score %.2f %%%s" % (s["score"], "" if gate is None else ", threshold %g %%: %s" % (
        gate, "FAIL" if low else "ok")))
    return 1 if low or s["stale"] else 0


def load(folder):
    kept = read_json(os.path.join(folder, "qualify.json"))
    if not isinstance(kept, dict) or "mutants" not in kept:
        raise Bad("%s/qualify.json: it is no result of qualify.py run" % folder)
    return kept


def report(args):
    kept = load(args.folder)
    if args.json:
        print(json.dumps(summary(kept), indent=1, sort_keys=True))
        return 1 if kept["stale"] or args.gate is not None and score(kept["mutants"]) < args.gate else 0
    sys.stdout.write(text_report(kept))
    return finish(kept, args.gate)


def name_of(m):
    """What a mutant is called as long as its line is the same."""
    return (m["file"], m["module"], m["operator"], m["text"], m["old"], m["new"])


def diff(args):
    before, after = ({}, {})
    for folder, named in ((args.before, before), (args.after, after)):
        seen = collections.Counter()
        for m in load(folder)["mutants"]:
            seen[name_of(m)] += 1
            named[name_of(m) + (seen[name_of(m)],)] = m
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
    old = new = kept["sources"][m["file"]]
    for start, end, text in sorted(m["edits"], reverse=True):
        new = new[:start] + text + new[end:]
    print("# %s: %s => %s" % (m["operator"], m["old"], m["new"]))
    sys.stdout.writelines(difflib.unified_diff(old.splitlines(True), new.splitlines(True), "a/" + m["file"],
                                               "b/" + m["file"]))
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    p = commands.add_parser("run")
    for option, text in (("--design", "NAME"), ("--cfg", "configuration"), ("--suite", "whose tests are run"),
                         ("--build", "build folder"), ("--out-build", "folder of the build of kind mut"),
                         ("--runner", "tandem-regress"), ("--out", "folder for the results")):
        p.add_argument(option, required=True, help=text)
    p.add_argument("--jobs", type=int, default=os.cpu_count(), help="mutants at a time")
    p.add_argument("--seed", help="run seed of the tests (that of the suite)")
    p.add_argument("--mutants", type=int, default=0, help="draw so many (0: all)")
    p.add_argument("--draw", type=int, default=1, help="seed of the draw")
    p.add_argument("--cycles", type=int, default=0, help="clock cycles of a mutant in a job (0: to its end)")
    p.add_argument("--seconds", type=int, default=20, help="time of a mutant in a job")
    p.add_argument("--equivalent", help="reviewed file of equivalent mutants")
    p.set_defaults(call=run)
    q = commands.add_parser("report")
    q.add_argument("folder")
    q.add_argument("--json", action="store_true")
    q.set_defaults(call=report)
    for one in (p, q):
        one.add_argument("--gate", type=float, help="lowest score, in percent")
    p = commands.add_parser("diff")
    p.add_argument("before")
    p.add_argument("after")
    p.set_defaults(call=diff)
    p = commands.add_parser("patch")
    p.add_argument("folder")
    p.add_argument("mutant", type=int)
    p.set_defaults(call=patch)
    args = parser.parse_args()
    try:
        return args.call(args)
    except (Bad, OSError) as err:
        print("qualify: %s" % err, file=sys.stderr)
        return 2 if isinstance(err, Bad) else 3


if __name__ == "__main__":
    sys.exit(main())
