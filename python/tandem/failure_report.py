"""The folder with the report of a failing testcase (tandem-python --report DIR): the failure, the case, the waveform, a
timing diagram."""

import html
import os
import platform
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np

from .testcase import Trouble, write

PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>%(title)s</title>
<style>body{font:15px/1.5 sans-serif;margin:2em auto;max-width:70em;padding:0 1em;color-scheme:light dark}
pre{overflow-x:auto;padding:.7em;border:1px solid gray}td{padding:0 1em 0 0;vertical-align:top}img{max-width:100%%}
</style></head>
<body><h1>%(title)s</h1><p>%(message)s</p><table>%(rows)s</table><h2>Repeat it</h2><pre>%(again)s</pre>%(picture)s
<h2>What the device says</h2><pre>%(text)s</pre><h2>Where in the testcase</h2><pre>%(trace)s</pre></body></html>
"""


def check(folder):
    """May the folder be written: is it new, empty, or an earlier report?"""
    path = Path(folder)
    if path.exists() and not path.is_dir():
        raise Trouble("--report %s: not a folder" % folder)
    if path.is_dir() and any(path.iterdir()) and not (path / "report.txt").exists():
        raise Trouble("--report %s: expected a new or empty folder, or a report" % folder)


def draw(o, wave, failure):
    """timing.svg and wave.gtkw next to the waveform, for the instance named by the failure; drawn by a program `tandem`
    of this build folder, if there is one."""
    programs = [os.path.join(o.build, "%s-%s" % (o.cfg, kind), "tandem") for kind in ("tap", "fast", "debug")]
    program = next((p for p in programs + [os.path.join(o.build, "host", "tandem-model")] if os.access(p, os.X_OK)),
                   None)
    if program is None:
        return
    named = re.search(r"\((npu_top\.[\w.\[\]]+)\)", failure.text)
    scope = named[1] if named else "npu_top"
    svg, gtkw = wave.with_name("timing.svg"), wave.with_suffix(".gtkw")
    done = subprocess.run([program, "wave", str(wave), "--signals", scope, "--mark", str(failure.cycle),
                           "--svg", str(svg), "--gtkw", str(gtkw)], capture_output=True, text=True)
    if done.returncode != 0:
        print("no timing diagram: %s" % (done.stderr.strip().splitlines() or ["%s failed" % program])[-1])


def rows_of(o, name, failure, build, why, again):
    yield "test", "python-%s, %s" % (name, failure.function)
    yield "build", "%s-%s, device %s" % (o.cfg, o.kind, o.device)
    yield "signature", failure.signature
    if failure.cycle is not None:
        yield "unit", failure.unit or "not known"
        yield "cycle", str(failure.cycle)
    yield "seed", "0x%016x" % failure.case.seed
    yield "knobs", " ".join("%s=%s" % knob for knob in sorted(failure.case.knobs.items())) or "none"
    if why is not None:
        yield "waveform", "none: " + why
    else:
        same = again is not None and again.signature == failure.signature and again.cycle == failure.cycle
        seen = ("it passed there" if again is None else "the same failure"
                if same else "another failure, %s in cycle %s" % (again.signature, again.cycle))
        yield "waveform", "wave.fst, of a second run with the build %s-%s: %s" % (o.cfg, build, seen)
    yield "versions", "Python %s, NumPy %s" % (platform.python_version(), np.__version__)


def write_folder(o, name, plugin, case, command, run_again):
    """Write the folder; the waveform's path, or None. run_again(file) runs the case once more."""
    failure = plugin.failure
    target = Path(o.report)
    target.parent.mkdir(parents=True, exist_ok=True)
    temp = Path(tempfile.mkdtemp(prefix=target.name + ".", suffix=".tmp", dir=target.parent))
    try:
        wave = temp / "wave.fst"
        why, again, build = run_again(wave)
        if why is None and failure.cycle is not None:
            draw(o, wave, failure)
        rows = list(rows_of(o, name, failure, build, why, again))
        title = "FAIL python-%s on %s" % (name, o.cfg)
        text = "%s\n%s\n\n%s\nagain: %s\n\n%s\n\n%s\n" % (
            title, failure.message, "".join("%-10s %s\n" % row for row in rows), command, failure.text, failure.trace)
        write(temp / "report.txt", text)
        write(temp / "case.case", case)
        picture = ('<h2>Around the failure</h2><img src="timing.svg" alt="timing diagram">'
                   if (temp / "timing.svg").exists() else "")
        safe = html.escape
        write(temp / "report.html", PAGE % {
            "title": safe(title), "message": safe(failure.message), "again": safe(command),
            "picture": picture, "text": safe(failure.text), "trace": safe(failure.trace),
            "rows": "".join("<tr><td>%s</td><td>%s</td></tr>" % (safe(a), safe(b)) for a, b in rows)})
        check(target)
        temp.chmod(0o755)
        if target.exists():
            shutil.rmtree(target)
        os.rename(temp, target)
    finally:
        shutil.rmtree(temp, ignore_errors=True)
    print("report: %s" % (target / "report.html"))
    return str(target / "wave.fst") if why is None else None
