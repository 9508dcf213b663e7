"""What has changed since a commit (scripts/changed.py): files and the lines in them, with what is not committed and
with files that git does not know yet."""
import os
import re
import subprocess

MAINS = ("main", "origin/main", "master", "origin/master")
HUNK = re.compile(r"^@@ -\d+(?:,\d+)? \+(\d+)(?:,(\d+))? @@")


class Bad(Exception):
    """One line for the user."""


class Change:
    """A file that has changed. ranges: [(first line, lines)] of the file as it is now; no lines: something was removed
    behind that line. None: the whole file, which is new, or gone, or not text."""

    def __init__(self, path, ranges=None, what=""):
        self.path, self.ranges, self.what = path, ranges, what

    def lines(self, total):
        """Numbers of the lines, for a file of `total` lines; beside what was removed the lines before and behind."""
        if self.ranges is None:
            return set(range(1, total + 1))
        found = set()
        for first, count in self.ranges:
            found |= set(range(first, first + count)) if count else {first, first + 1}
        return {n for n in found if 1 <= n <= total}

    def __str__(self):
        if self.ranges is None:
            return self.what
        parts = [str(first) if count == 1 else f"{first}-{first + count - 1}" if count else f"after {first}"
                 for first, count in self.ranges]
        more = f" and {len(parts) - 6} more places" if len(parts) > 6 else ""
        return ("line " if len(self.ranges) == 1 and self.ranges[0][1] < 2 else "lines ") + ", ".join(parts[:6]) + more


def git(folder, *words, fine=(0,)):
    """Standard output of git in a folder; None: another exit status, or there is no git."""
    try:
        done = subprocess.run(["git", "-C", folder or ".", "-c", "core.quotepath=off", *words], capture_output=True)
    except OSError:
        return None
    return done.stdout.decode(errors="replace") if done.returncode in fine else None


def is_tree(folder):
    return (git(folder, "rev-parse", "--is-inside-work-tree") or "").strip() == "true"


def base_of(folder, asked):
    """(commit, what it is) to compare with: the one asked for; else where HEAD left the main branch; else HEAD."""
    if asked:
        found = git(folder, "rev-parse", "--verify", "--quiet", asked + "^{commit}")
        if found is None:
            raise Bad(f"BASE={asked}: there is no such commit")
        return found.strip(), asked
    if git(folder, "rev-parse", "--verify", "--quiet", "HEAD") is None:
        raise Bad("there is no commit yet to compare with")
    for name in MAINS:
        if git(folder, "rev-parse", "--verify", "--quiet", name) is not None:
            found = git(folder, "merge-base", "HEAD", name)
            if found is not None:
                return found.strip(), f"where HEAD left {name}"
    return git(folder, "rev-parse", "HEAD").strip(), "HEAD"


def parse(text):
    """The files of `git diff -U0 --no-renames --relative`."""
    changes, ranges, path, what = [], None, None, ""
    for line in text.splitlines() + ["diff --git "]:
        if line.startswith("diff --git "):
            if path is not None:
                changes.append(Change(path, ranges if not what else None, what))
            path, ranges, what = None, [], ""
            both = re.fullmatch(r"diff --git a/(.*) b/\1", line)
            path = both.group(1) if both else None
        elif line.startswith("new file"):
            what = "new"
        elif line.startswith("deleted file"):
            what = "removed"
        elif line.startswith("Binary files"):
            what = what or "not text"
        elif line.startswith("+++ b/") and not ranges:
            path = line[6:].rstrip("\t")
        elif HUNK.match(line):
            first, count = HUNK.match(line).groups()
            ranges.append((int(first), 1 if count is None else int(count)))
    return [c for c in changes if c.ranges != []]  # a change of the mode alone is none


def changes(folder, commit):
    """What differs between a commit and the files in this folder, by path from there."""
    text = git(folder, "diff", "-U0", "--no-color", "--no-ext-diff", "--no-renames", "--relative", commit, "--", ".")
    others = git(folder, "ls-files", "--others", "--exclude-standard", "-z")
    if text is None or others is None:
        raise Bad(f"git diff {commit} failed in {folder or '.'}")
    found = parse(text) + [Change(path, None, "new") for path in others.split("\0") if path]
    return sorted(found, key=lambda c: c.path)


def all_files(folder):
    """Every file below a folder that is no git work tree."""
    found = []
    for at, folders, files in os.walk(folder or "."):
        folders[:] = sorted(f for f in folders if not f.startswith(".") and f != "build")
        found += [Change(os.path.relpath(os.path.join(at, f), folder or "."), None, "no git work tree")
                  for f in sorted(files)]
    return found
