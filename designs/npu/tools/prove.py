#!/usr/bin/python3
"""Proofs about the RTL with the SAT solver of Yosys (docs/proofs.md).

One line for each proof: proven, COUNTEREXAMPLE with the values, or not finished. Before a claim with a condition is
proven, a case that meets the condition is looked for, so that no claim holds because nothing is left to check. With
each proof go deliberately wrong copies of the RTL, which must be refuted. Exit status: 0 all as it must be, 1 not, 2
usage."""

import argparse
import fnmatch
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import proofs  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
VALUE = re.compile(r"^\s+(?:\d+\s+)?\\(\S+)\s+\S+\s+\S+\s+([01x-]+)\s*$")


class Failure(Exception):
    """Yosys failed: a source that it cannot read, a name that does not exist."""


def sources_with_bug(bug, folder):
    """A copy of ROOT under `folder` with the bug in one file."""
    _, path, old, new = bug
    for name in ("rtl", "testcases", "formal"):
        os.symlink(os.path.join(ROOT, name), os.path.join(folder, name))
    with open(os.path.join(ROOT, path), encoding="utf-8") as src:
        text = src.read()
    if old not in text:
        raise Failure("%s: the text that the bug replaces is not there: %s" % (path, old.split("\n")[0]))
    with open(os.path.join(folder, "bug.sv"), "w", encoding="utf-8") as out:
        out.write(text.replace(old, new))


def yosys(script, cwd, timeout):
    """Output of Yosys, or None after a timeout. Only the child's own process ID is killed."""
    proc = subprocess.Popen(["nice", "-n", "10", "yosys", "-Q", "-T", "-s", "-"],
                            cwd=cwd, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        out, _ = proc.communicate("\n".join(script) + "\n", timeout=timeout)
    except subprocess.TimeoutExpired:
        proc.kill()
        proc.communicate()
        return None
    if proc.returncode != 0:
        errors = [line for line in out.splitlines() if "ERROR: " in line] or out.splitlines()[-1:]
        raise Failure("yosys: " + errors[0][:300])
    return out


def values(text):
    """The signals of a counterexample, bits as hexadecimal where they are known; with several steps the last value."""
    found = {}
    for line in text.splitlines():
        match = VALUE.match(line)
        if match and match.group(1) not in ("assume_o", "ok_o", "clk_i"):
            bits = match.group(2)
            found[match.group(1)] = "%x" % int(bits, 2) if set(bits) <= set("01") else bits
    return " ".join("%s=%s" % item for item in found.items())


def attempt(proof, bug, timeout):
    """(verdict, detail): proven, counterexample, vacuous or unfinished."""
    script = list(proof.script)
    with tempfile.TemporaryDirectory(prefix="prove-") as folder:
        cwd = ROOT
        if bug:
            sources_with_bug(bug, folder)
            script = [line.replace(bug[1], "bug.sv") for line in script]
            cwd = folder
        if proof.model:
            script += ["log ==== model", "sat " + proof.model]
        script += ["log ==== proof", "sat " + proof.prove]
        out = yosys(script, cwd, timeout)
    if out is None:
        return "unfinished", ""
    head, _, result = out.rpartition("==== proof")
    if proof.model and "SAT solving finished - model found" not in head.rpartition("==== model")[2]:
        return "vacuous", "no case meets the condition"
    if ("no model found: SUCCESS" in result or "Induction step proven: SUCCESS" in result or
        "Reached maximum number of time steps -> proved base case" in result):
        return "proven", ""
    if "model found: FAIL" in result or "model found for base case: FAIL" in result:
        return "counterexample", values(result)
    if "Reached maximum number of time steps -> proof failed" in result:
        return "unfinished", "the induction needs more steps"
    raise Failure("yosys: no verdict: " + result.strip()[-200:])


def report(word, name, text, seconds):
    print("%-15s %-21s %s | %.1f s" % (word, name, text, seconds), flush=True)


def save(path, document):
    """Write the whole file or none."""
    temp = "%s.tmp%d" % (path, os.getpid())
    try:
        with open(temp, "w", encoding="utf-8") as file:
            json.dump(document, file, indent=1)
            file.write("\n")
        os.replace(temp, path)
    except OSError as err:
        if os.path.exists(temp):
            os.unlink(temp)
        raise Failure("%s: cannot be written: %s" % (path, err.strerror)) from err


def run(proof, bug, timeout):
    """Print one line; the result as an object, whose "good" is True for the expected verdict."""
    start = time.monotonic()
    try:
        verdict, detail = attempt(proof, bug, timeout)
    except Failure as err:
        verdict, detail = "failed", str(err)
    seconds = time.monotonic() - start
    row = {"proof": proof.name, "claim": proof.claim, "scope": proof.scope,
           "wrong_copy": bug[0] if bug else None, "verdict": verdict, "detail": detail, "seconds": round(seconds, 1)}
    if bug:
        good = verdict == "counterexample"
        report("refuted" if good else "NOT REFUTED", proof.name, "wrong copy: %s | %s" % (bug[0], detail or verdict),
               seconds)
        return dict(row, good=good)
    words = {"proven": "proven", "counterexample": "COUNTEREXAMPLE", "unfinished": "not finished",
             "vacuous": "VACUOUS", "failed": "FAILED"}
    text = "%s | %s" % (proof.claim, proof.scope)
    report(words[verdict], proof.name, text + (" | " + detail if detail else ""), seconds)
    return dict(row, good=verdict == "proven")


def chosen(patterns, everything):
    table = proofs.all_proofs()
    if not patterns:
        return [p for p in table if everything or not p.slow]
    picked = []
    for pattern in patterns:
        matches = [p for p in table if fnmatch.fnmatchcase(p.name, pattern) or p.name.startswith(pattern + ".")]
        if not matches:
            raise SystemExit2("no proof %s; prove.py --list names them" % pattern)
        picked += [p for p in matches if p not in picked]
    return picked


class SystemExit2(Exception):
    """Usage."""


def keep(path, rows):
    """Exit status."""
    try:
        if path:
            save(path, rows)
    except Failure as err:
        print("prove.py: %s" % err, file=sys.stderr)
        return 1
    return 0


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("names", nargs="*", help="proofs by name, group or pattern (all but the slow ones)")
    ap.add_argument("--all", action="store_true", help="the slow ones too")
    ap.add_argument("--list", action="store_true", help="names, claims and bugs, nothing is run")
    ap.add_argument("--timeout", type=float, default=300, help="seconds for each proof (default 300)")
    ap.add_argument("--no-wrong", action="store_true", help="without the wrong copies")
    ap.add_argument("--only-wrong", action="store_true", help="only the wrong copies")
    ap.add_argument("--json", metavar="FILE", help="the table into FILE, too (with --list: names, claims and bugs)")
    args = ap.parse_args()
    try:
        picked = chosen(args.names, args.all)
    except SystemExit2 as err:
        print("prove.py: %s" % err, file=sys.stderr)
        return 2
    if args.list:
        for proof in picked:
            print("%-21s %s | %s%s" % (proof.name, proof.claim, proof.scope, " | slow" if proof.slow else ""))
            for bug in proof.wrong:
                print("%-21s   wrong copy: %s" % ("", bug[0]))
        return keep(args.json, [{"proof": p.name, "claim": p.claim, "scope": p.scope,
                                 "slow": p.slow, "wrong_copies": [bug[0] for bug in p.wrong]} for p in picked])
    if not shutil.which("yosys"):
        print("not run: proofs need yosys (make deps)")
        return 1
    start, rows = time.monotonic(), []
    for proof in picked:
        for bug in ([] if args.only_wrong else [None]) + ([] if args.no_wrong else list(proof.wrong)):
            rows.append(run(proof, bug, args.timeout))
    good = sum(row["good"] for row in rows)
    bad = len(rows) - good
    print("prove: %d as expected, %d not, %.0f s" % (good, bad, time.monotonic() - start))
    written = keep(args.json, rows)
    return 1 if bad or not good else written


if __name__ == "__main__":
    sys.exit(main())
