#!/usr/bin/python3
"""Write docs/axi-rules.md: every rule of the AXI checker (tb/axi/rules.def) with the traces (tests/axi) that violate it
and those that just comply with it."""

import argparse
import glob
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
RULE = re.compile(r'^RULE\((\w+), (\w+), (\w+), (\w+), "([^"]*)"\)$')
SIDES = {"M": "master", "S": "slave"}
GROUPS = (("AW", "Address of writes"), ("W", "Data of writes"),
          ("B", "Responses"), ("AR", "Address of reads"), ("R", "Data of reads"),
          ("EXCL", "Exclusive accesses"), ("AUX", "The checker itself"), ("PROJ", "Rules of a project"))
HEAD = """# AXI rules

This page lists the rules of the AXI checker: what each one demands, where it is checked, and which
traces break it. [axi-checker.md](axi-checker.md) says how the checker is used, what it decides where
the protocol leaves a choice, and where those rules of this project are checked that cannot be seen on
a bus. `tools/axi_table.py` (`make axi-table`) writes this page from `tb/axi/rules.def` and the traces
in `tests/axi`; do not edit it.

There are %(count)d rules of the protocol and the checker itself, and %(project)d that a project may
enable. Their names are those of the published assertions. A rule of level `ERR` is an error by
default, one of level `REC` a note. The column *side* says which side of the port must keep it.
*Lite* says whether the rule holds on AXI4-Lite, too, or only there. The low-power rules (CSYSREQ,
CSYSACK, CACTIVE) are left out, because no port here has those signals.

Traces are small text files, whose format is described in `tests/support/axi_trace.h`. The column
*breaks it* lists the files `tests/axi/bad/RULE[-suffix].txt` (for AXI4-Lite `tests/axi/lite/`) by
their suffix, or `.` for a file without one. Each of them breaks exactly the rules that it names, in
the cycles that it names. The column *just keeps it* lists files of `tests/axi/good`, which come close
to breaking the rule but break nothing. `tests/test_axi_traces.c` runs all of them: %(bad)d traces that
break a rule, and %(good)d legal ones.
"""
NOTES = """
## Traces that break more than their own rule

Some mistakes break two rules by their nature, and some traces contain two mistakes, both of which
must be seen. Such a trace names all the rules that it breaks:

%s"""


class Bad(Exception):
    pass


def read_rules(path):
    rules = []
    with open(path, encoding="utf-8") as f:
        for number, line in enumerate(f, 1):
            m = RULE.match(line.strip())
            if m:
                rules.append(m.groups())
            elif line.startswith("RULE"):
                raise Bad("%s:%d: expected RULE(name, group, level, protocol, \"condition\")" % (path, number))
    if not rules:
        raise Bad("%s: no rules" % path)
    return rules


def read_trace(path):
    """Title, rules that it violates, rules that it just complies with."""
    title, broken, kept = "", [], []
    with open(path, encoding="utf-8") as f:
        for line in f:
            if line.startswith("#") and not title:
                title = line.lstrip("# ").strip()
            words = line.split("#")[0].split()
            if words[:1] == ["expect"] and words[1:] != ["nothing"]:
                broken.append(words[1])
            elif words[:1] == ["near"]:
                kept += words[1:]
    return title, broken, kept


def read_traces(folder):
    paths = {os.path.basename(p)[:-4]: p for p in glob.glob(os.path.join(folder, "*.txt"))}
    return {stem: read_trace(paths[stem]) for stem in sorted(paths)}


def sources(folder):
    """Rule -> files that check it. Rules of AR are written like those of AW."""
    where = {}
    for path in sorted(glob.glob(os.path.join(folder, "*.c"))):
        if os.path.basename(path) == "rules.c":
            continue
        with open(path, encoding="utf-8") as f:
            for name in set(re.findall(r"\b(?:AXI4|AXI4LITE|PROJ)_[A-Z]+_\w+", f.read())):
                where.setdefault(name, []).append(os.path.basename(path))
    return where


def owner(name, traces):
    """Suffixes of the traces of a rule: NAME.txt and NAME-suffix.txt."""
    return [t[len(name) + 1:] or "." for t in traces if t == name or t.startswith(name + "-")]


def row(rule, where, bad, lite, good):
    name, _, level, protocol, condition = rule
    base = name.replace("_AR", "_AW", 1) if re.match(r"AXI4_[A-Z]+_AR", name) else name
    files = where.get(name) or where.get(base)
    if not files:
        raise Bad("%s: no file of tb/axi judges it" % name)
    broken = ", ".join(owner(name, bad))
    on_lite = ", ".join(owner(name, lite))
    if not broken and not on_lite:
        raise Bad("%s: no trace breaks it" % name)
    if on_lite:
        broken += ("; " if broken else "") + "Lite: " + on_lite
    kept = ", ".join(t for t in good if name in good[t][2])
    if not kept:
        raise Bad("%s: no trace only just keeps it" % name)
    side = SIDES.get(re.match(r"[A-Z0-9]+_[A-Z]{3}([A-Z]?)", name).group(1), "both") if level != "AUX" else "-"
    lite_text = {"AXI4": "-", "BOTH": "yes", "ONLY": "only"}[protocol]
    return "| %s | %s | %s | %s | %s | %s | %s | %s |" % (
        name, level.replace("PROJ_", ""), side, lite_text, condition, ", ".join(files), broken, kept)


def document(root):
    rules = read_rules(os.path.join(root, "tb/axi/rules.def"))
    traces = os.path.join(root, "tests/axi")
    bad, lite, good = (read_traces(os.path.join(traces, d)) for d in ("bad", "lite", "good"))
    where = sources(os.path.join(root, "tb/axi"))
    names = {r[0] for r in rules}
    for folder, group in (("bad", bad), ("lite", lite)):
        for trace in group:
            if trace.split("-")[0] not in names:
                raise Bad("tests/axi/%s/%s.txt: no rule has that name" % (folder, trace))
    project = [r for r in rules if r[0].startswith("PROJ_")]
    out = [HEAD % {"count": len(rules) - len(project), "project": len(project),
                   "bad": len(bad) + len(lite), "good": len(good)}]
    for group, title in GROUPS:
        chosen = [r for r in rules if (r in project) == (group == "PROJ") and (group == "PROJ" or r[1] == group)]
        out.append("\n## %s\n\n| rule | level | side | Lite | must hold | judged in | breaks it | just keeps it |\n"
                   "| --- | --- | --- | --- | --- | --- | --- | --- |\n" % title)
        out += [row(r, where, bad, lite, good) + "\n" for r in chosen]
    several = ["- `%s/%s.txt`: %s (%s)\n" % (folder, t, ", ".join(sorted(set(group[t][1]))), group[t][0])
               for folder, group in (("bad", bad), ("lite", lite)) for t in group if len(set(group[t][1])) > 1]
    out.append(NOTES % "".join(several))
    return "".join(out)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true",
                        help="say whether the file is up to date, write nothing; exit status 1: it is not")
    parser.add_argument("--root", default=ROOT, help="tree to read (this one)")
    parser.add_argument("--output", help="file to write (docs/axi-rules.md of the tree)")
    args = parser.parse_args()
    output = args.output or os.path.join(args.root, "docs/axi-rules.md")
    try:
        text = document(args.root)
        if args.check:
            try:
                with open(output, encoding="utf-8") as f:
                    current = f.read() == text
            except FileNotFoundError:
                current = False
            if not current:
                print("%s is not up to date: make axi-table" % os.path.relpath(output, args.root))
            return 0 if current else 1
        with open(output + ".tmp", "w", encoding="utf-8") as f:
            f.write(text)
        os.replace(output + ".tmp", output)
        return 0
    except (Bad, OSError) as e:
        print("axi_table.py: %s" % e, file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
