"""Functional qualification: which hand-written bugs (tests/mutants) are mutants of a run, and what became of these."""
import collections
import os
import re

from qualify_run import Bad


def bare(text):
    """Without spaces, parentheses and comments, in which a mutant and a bug of the same effect differ."""
    return re.sub(r"[\s()]|//.*", "", text)


def read_patch(path):
    """[(file, what a group of neighbouring lines was, what it becomes)], and the configurations that it says it is for;
    empty: all."""
    try:
        with open(path, encoding="utf-8") as src:
            lines = src.read().splitlines()
    except OSError as err:
        raise Bad("%s: %s" % (path, err.strerror))
    changes, file, old, new = [], "", [], []
    for line in lines + [" "]:
        if line.startswith("+++ "):
            file = line[4:].split("\t")[0].partition("/")[2]
        elif line.startswith("-") and not line.startswith("---"):
            old.append(line[1:])
        elif line.startswith("+"):
            new.append(line[1:])
        elif old or new:
            changes.append((file, old, new))
            old, new = [], []
    if not changes:
        raise Bad("%s: it is not a patch" % path)
    return changes, [word for line in lines if line.startswith("# cfg:") for word in line.split()[2:]]


def mutated_lines(m, sources):
    """The text of the lines that a mutant changes, before and after."""
    text = sources[m["file"]]
    first = text.rfind("\n", 0, min(e[0] for e in m["edits"])) + 1
    last = text.find("\n", max(e[1] for e in m["edits"]))
    new = text[first:last]
    for start, end, edit in sorted(m["edits"], reverse=True):
        new = new[:start - first] + edit + new[end - first:]
    return bare(text[first:last].replace("\n", " ")), bare(new.replace("\n", " "))


def bugs(kept, paths):
    """Exit status: 1 where a mutant that is a hand-written bug was not detected. One in code that the configuration
    does not have, or for others only, cannot be, and is counted apart."""
    by_file, sums, bad = collections.defaultdict(list), collections.Counter(), 0
    for m in kept["mutants"]:
        by_file[m["file"]].append((m,) + mutated_lines(m, kept["sources"]))
    for path in paths:
        changes, cfgs = read_patch(path)
        changes = [c for c in changes if c[0] in by_file]
        name, said = os.path.basename(path), "no mutant of this run is on its lines"
        if len(changes) == 1:
            file, old, new = changes[0]
            wanted = (bare(" ".join(old)), bare(" ".join(new)))
            same = [m for m, before, after in by_file[file] if (before, after) == wanted]
            near = [m for m, before, _ in by_file[file] if before and before in wanted[0]]
            if same:
                verdict = same[0]["verdict"]
                absent = verdict == "absent" or (verdict != "detected" and bool(cfgs) and kept["cfg"] not in cfgs)
                said = "is mutant %d: %s" % (same[0]["id"], "absent in this configuration" if absent else verdict)
                sums["the same"] += 1
                sums["absent"] += absent
                bad += verdict != "detected" and not absent
            elif near:
                found = sum(m["verdict"] == "detected" for m in near)
                said = "%d mutants on its lines, %d detected" % (len(near), found)
                sums["on its lines"] += 1
        elif changes:
            said = "changes %d places" % len(changes)
        print("%-32s %s" % (name, said))
    print("qualify: of %d hand-written bugs %d are mutants of this run, of which %d were not detected%s; %d others "
          "have mutants on the same lines" % (
              len(paths), sums["the same"], bad,
              " and %d are absent in this configuration" % sums["absent"] if sums["absent"] else "",
              sums["on its lines"]))
    return 1 if bad else 0
