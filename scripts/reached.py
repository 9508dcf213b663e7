#!/usr/bin/python3
"""Which lines each job of a coverage run reached: kept by `make coverage` for `make regress SUITE=changed`, with a copy
of the sources, so that later versions of them can be compared (docs/regress.md, "What a change can affect").

  reached.py COV JOBS-FILE FOLDER OUT [RUN]   COV: tandem-cov; JOBS-FILE: the list of jobs; FOLDER: their files
                                              NNNNN.code; OUT: the file to write; RUN: the number of the run"""
import concurrent.futures
import difflib
import gzip
import json
import os
import subprocess
import sys


class Bad(Exception):
    """One line for the user."""


def job_lines(text):
    """The lines of a job list that are jobs, in their order."""
    return [line for line in text.splitlines()
            if line.split(" ", 1)[0] in ("unit", "test", "case", "network", "python")]


def lines_of(info):
    """{source: {line: hits}} of a tracefile; an arm of a branch counts for its line."""
    files, at = {}, None
    for line in info.splitlines():
        key, _, value = line.partition(":")
        if key == "SF":
            at = files.setdefault(value, {})
        elif key in ("DA", "BRDA"):
            number, hits = value.split(",")[0], value.split(",")[-1]
            at[int(number)] = max(at.get(int(number), 0), int(hits) if hits.isdigit() else 0)
    return files


def of_job(cov, code):
    out = code[:-len(".code")] + ".info"
    done = subprocess.run([cov, "code", "info", code, "-o", out], capture_output=True, text=True)
    if done.returncode != 0:
        raise Bad((done.stderr.strip() or f"{code}: exit status {done.returncode}").splitlines()[-1])
    with open(out, encoding="utf-8") as src:
        info = src.read()
    os.unlink(out)
    return lines_of(info)


def write(cov, jobs_file, folder, out, run):
    with open(jobs_file, encoding="utf-8") as src:
        jobs = job_lines(src.read())
    counted = [(i, os.path.join(folder, f"{i:05}.code")) for i in range(len(jobs))]
    counted = [(i, path) for i, path in counted if os.path.exists(path)]
    if not counted:
        raise Bad(f"{folder}: no job has written which lines it reached")
    found = {"run": run, "jobs": [], "counted": {}, "sources": {}}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for (i, _), files in zip(counted, pool.map(lambda c: of_job(cov, c[1]), counted)):
            hit = {path: {n: h for n, h in lines.items() if h > 0} for path, lines in files.items()}
            found["jobs"].append({"line": jobs[i], "hits": {path: lines for path, lines in hit.items() if lines}})
            for path, lines in files.items():
                found["counted"].setdefault(path, set()).update(lines)
    for path in found["counted"]:
        found["counted"][path] = sorted(found["counted"][path])
        if os.path.exists(path):
            with open(path, encoding="utf-8", errors="replace") as src:
                found["sources"][path] = src.read()
    temporary = f"{out}.{os.getpid()}"
    with gzip.open(temporary, "wt", encoding="utf-8", compresslevel=4) as dst:
        json.dump(found, dst)
    os.replace(temporary, out)
    print(f"coverage: lines reached by each of {len(found['jobs'])} jobs: {out}")


class Reached:
    """What write() kept."""

    def __init__(self, path):
        try:
            with gzip.open(path, "rt", encoding="utf-8") as src:
                found = json.load(src)
            self.run, self.sources = found["run"], found["sources"]
            self.counted = {path: set(lines) for path, lines in found["counted"].items()}
            self.jobs = [(job["line"], {path: {int(n): h for n, h in lines.items()}
                                        for path, lines in job["hits"].items()}) for job in found["jobs"]]
        except (OSError, EOFError, ValueError, KeyError, TypeError) as err:
            raise Bad(f"{path}: cannot be read ({err}); make coverage writes it again") from err

    def then(self, path, text, lines):
        """Lines of a source as it was at the run that stand for these lines of its text now and count; a statement of
        several lines counts at its first one."""
        if path not in self.counted:
            return set()
        old = self.sources.get(path, "").splitlines()
        found = set()
        for _, i1, i2, j1, j2 in difflib.SequenceMatcher(None, old, text.splitlines(), autojunk=False).get_opcodes():
            same = i2 - i1 == j2 - j1
            for n in lines:
                if j1 < n <= j2:
                    found |= {i1 + n - j1} if same else set(range(i1 + 1, i2 + 1)) or {i1}
                elif j1 == j2 and n in (j1, j1 + 1):
                    found |= set(range(i1 + 1, i2 + 1))
        near = ({n - k for k in (0, 1, 2)} & self.counted[path] for n in found)
        return {max(n) for n in near if n}


def main():
    if len(sys.argv) not in (5, 6) or sys.argv[1].startswith("-"):
        print(__doc__)
        return 0 if "--help" in sys.argv[1:] else 2
    try:
        write(*sys.argv[1:5], sys.argv[5] if len(sys.argv) > 5 else "")
    except (Bad, OSError) as err:
        print(f"reached.py: {err}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
