"""The program of any design from Python: its tests and knobs, a case, its result, tensor logs as arrays
(docs/python.md).

    p = Program("build/axi_copy/d128-tap/tandem")
    result = p.run("axi_copy", seed=7, bus="hostile", copies=8)
    result.ok, result.signature, result.cycles, result.streams["rtl", "destination", 0]

Needs no extension; arrays need NumPy.
"""

import json
import shutil
import subprocess
import tempfile
from pathlib import Path


class ProgramError(Exception):
    """One line: the program refused its arguments, or wrote no result."""


class Result:
    """Output of a run: keys of its result file, the case that failed, tensor logs."""

    def __init__(self, keys, text, streams):
        self.keys, self.text, self.streams = keys, text, streams
        self.outcome, self.signature, self.message = (keys.get(k, "") for k in ("outcome", "signature", "message"))
        self.ok = self.outcome == "pass"
        self.cycles = int(keys.get("cycles", 0))
        self.trace_hash = int(keys.get("trace_hash", "0"), 16)
        self.case = keys.get("case") or None


class Program:
    """A program `tandem` of one build. `tests`: {name: {knob: its limits and values}}."""

    def __init__(self, path):
        self.path = Path(path)
        listed = json.loads(self._call("list", "--json")[1])
        self.cfg = listed["cfg"]
        self.tests = {test["name"]: {knob["name"]: knob for knob in test["knobs"]} for test in listed["tests"]}

    def _call(self, *words):
        try:
            done = subprocess.run([str(self.path.absolute()), *map(str, words)],
                                  stdin=subprocess.DEVNULL, capture_output=True, text=True)
        except OSError as err:
            raise ProgramError(f"{self.path}: {err.strerror}") from None
        if done.returncode not in (0, 1):
            raise ProgramError((done.stderr.strip() or f"{self.path}: exit status {done.returncode}").splitlines()[-1])
        return done.returncode, done.stdout

    def run(self, test, seed=None, run_seed=1, count=1, dump=False, report=None,
            wave=None, case_dir="build/cases", **knobs):
        """Cases of a test: the one of `seed`, or `count` of a run. dump: with tensor logs (one case). report, wave:
        folder, file."""
        chosen = ["--run-seed", run_seed, "--count", count] if seed is None else ["--seed", seed]
        return self._execute(["test", test, *chosen, *(f"{k}={v}" for k, v in knobs.items()), "--case-dir", case_dir],
                             dump, report, wave)

    def repro(self, case, dump=False, report=None, wave=None):
        """Run a stored case again."""
        return self._execute(["repro", case], dump, report, wave)

    def _execute(self, words, dump, report, wave):
        folder = Path(tempfile.mkdtemp(prefix="tandem-"))
        try:
            words = words + ["--result", folder / "result"] + (["--dump", folder / "dump"] if dump else [])
            words += (["--report", report] if report else []) + (["--wave", wave] if wave else [])
            text = self._call(*words)[1]
            if not (folder / "result").exists():
                raise ProgramError(f"{self.path}: no result; {(text.strip() or 'no output').splitlines()[-1]}")
            keys = dict(line.split("=", 1) for line in (folder / "result").read_text().splitlines() if "=" in line)
            return Result(keys, text, read_streams(folder / "dump") if dump else {})
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def read_streams(folder):
    """Tensor logs of a folder of --dump: {(side, stream, task or None): array}."""
    import numpy

    found = {}
    for index in sorted(Path(folder).glob("*/index.txt")):
        for line in index.read_text().splitlines():
            entry = dict(word.split("=", 1) for word in line.split())
            task = None if entry["task"] == "-" else int(entry["task"])
            found[index.parent.name, entry["stream"], task] = numpy.load(index.parent / entry["file"])
    return found
