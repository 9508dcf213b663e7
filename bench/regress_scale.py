#!/usr/bin/python3
"""tandem-regress at scale: a run of 100,000 jobs, a database of 1,000 runs.

The jobs are stand-ins that write a result and end. Measured are the peak memory and the CPU time of the runner (its
own, without that of the jobs), the time of every command on that database, size and tags of the pages, and, where there
is a Chromium, how long it takes to load each of them. The database has the large run as its newest one.

    bench/regress_scale.py                       # minutes; docs/regress.md, "Scale"
    bench/regress_scale.py --jobs 5000 --runs 50 # a try
"""

import argparse
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))
from report_page import BROWSER, browser  # noqa: E402

STAND_IN = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
int main(int argc, char **argv) { /* burns BURN_MS of CPU time; every 100th index fails, in one of seven ways */
    const char *result = "", *index = "0", *burn = getenv("BURN_MS");
    for (int i = 1; i + 1 < argc; i++) {
        result = strcmp(argv[i], "--result") == 0 ? argv[i + 1] : result;
        index = strcmp(argv[i], "--index") == 0 ? argv[i + 1] : index;
    }
    const long i = atol(index);
    while (clock() < (burn == NULL ? 0 : atol(burn)) * (CLOCKS_PER_SEC / 1000)) {
    }
    FILE *out = fopen(result, "w");
    if (out == NULL) {
        return 2;
    }
    fprintf(out, "outcome=%s\ncycles=%ld\ntrace_hash=0x%016lx\nwork_cases=1\nwork_cycles=%ld\n"
            "bound_mesh=%ld\nbound=%ld\n", i % 100 == 99 ? "fail" : "pass", 1000 + i, i * 0x9e3779b97f4a7c15ul, 900 + i,
            500 + i, 500 + i);
    if (i % 100 == 99) {
        fprintf(out, "signature=unit %ld rule\nmessage=unit %ld: byte %ld is wrong\n", i / 100 % 7, i / 100 % 7, i);
    }
    fclose(out);
    return i % 100 == 99;
}
"""


class Scale:
    def __init__(self, folder, regress):
        self.folder, self.regress, self.results = folder, regress, []
        self.db = folder / "build/results.db"
        for cfg in ("n4", "n8"):
            (folder / f"build/{cfg}-fast").mkdir(parents=True)
        (folder / "designs/npu").mkdir(parents=True)
        (folder / "designs/npu/design").write_text("default\ncfg n4\ncfg n8\nmetric mesh every multiplier at work\n")
        (folder / "job.c").write_text(STAND_IN)
        subprocess.run([os.environ.get("CC", "cc"), "-O2", "-static", "-o", "build/n4-fast/tandem", "job.c"],
                       cwd=folder, check=True)
        shutil.copy(folder / "build/n4-fast/tandem", folder / "build/n8-fast/tandem")

    def suite(self, name, jobs):
        """As many lines as a suite has, two configurations each."""
        lines = max(1, min(50, jobs // 2))
        text = "".join(f"test t{i:02} cfg=n4,n8 count={jobs // lines // 2} cases=2\n" for i in range(lines))
        (self.folder / name).write_text(text)
        return name

    def call(self, *args, burn_ms=0):
        """Status, wall time, own CPU time, that of all its children, its peak memory (MiB), output."""
        begin = time.monotonic()
        with tempfile.TemporaryFile("w+") as out:
            process = subprocess.Popen([self.regress, *map(str, args)], cwd=self.folder, stdout=out,
                                       stderr=subprocess.STDOUT, env=dict(os.environ, BURN_MS=str(burn_ms)))
            proc, peak = Path(f"/proc/{process.pid}"), 0
            while not os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG):
                found = re.search(r"VmHWM:\s*(\d+)", (proc / "status").read_text())
                peak = int(found.group(1)) / 1024 if found else peak
                time.sleep(0.005)
            wall = time.monotonic() - begin
            times = (proc / "stat").read_text().rsplit(")", 1)[1].split()[11:15]
            own, jobs = ((int(times[i]) + int(times[i + 1])) / os.sysconf("SC_CLK_TCK") for i in (0, 2))
            process.wait()
            out.seek(0)
            return dict(status=process.returncode, wall=wall, own=own, children=jobs, mib=peak, text=out.read())

    def measure(self, what, *args, **kwargs):
        done = self.call(*args, **kwargs)
        text = done.pop("text")
        if done["status"] not in (0, 1):
            raise SystemExit(f"{what}: exit status {done['status']}: {text[-2000:]}")
        self.results.append(dict(done, what=what))
        print(f"{what:34} {done['wall']:8.2f} s wall {done['own']:8.2f} s CPU {done['mib']:6.0f} MiB", flush=True)
        return done, text

    def run(self, what, suite, jobs, *args, burn_ms=0):
        done, text = self.measure(what, "run", "--suite", suite, "--seed", 1, "--report", "--junit", "junit.xml",
                                  "--sarif", "r.sarif", "--summary-json", "s.json", *args, burn_ms=burn_ms)
        share = done["own"] / done["children"] * 100
        print(f"{'':34} {done['own'] / jobs * 1e3:.2f} ms of the runner each job; jobs and tools took "
              f"{done['children']:.1f} s CPU: {share:.1f} %", flush=True)
        self.results[-1].update(jobs=jobs, share=share)
        return text

    def copy_runs(self, runs):
        """The rows of run 1, again and again, four with one commit; and its programs."""
        with sqlite3.connect(self.db) as db:
            for table in ("run", "job", "program"):
                columns = [row[1] for row in db.execute(f"PRAGMA table_info({table})")]
                picked = {"id": "?1" if table == "run" else "NULL", "run": "?1", "commit_hash": "printf('%040x',?1/4)",
                          "out_dir": "'build/regress/'||?1", "started_at": "started_at-86400+?1"}
                db.executemany(f"INSERT INTO {table} SELECT {','.join(picked.get(c, c) for c in columns)} FROM {table} "
                               f"WHERE {'id' if table == 'run' else 'run'}=1", [(run,) for run in range(2, runs + 1)])

    def pages(self, folder):
        """The first page, and the first, longest and last one of the list of jobs."""
        names = sorted((page.name for page in folder.glob("jobs*.html")), key=lambda n: int("0" + n[5:-5]))
        for name in ("index.html", names[0], max(names, key=lambda n: (folder / n).stat().st_size), names[-1]):
            text = (folder / name).read_text()
            row = dict(what=name, kib=len(text) / 1024, tags=len(re.findall("<[a-z]", text)), pages=len(names))
            if BROWSER:
                (self.folder / "probe.html").write_text(text.replace("</body>", LOADED))
                shown = browser("--dump-dom", (self.folder / "probe.html").as_uri(), cwd=self.folder).stdout
                row["ms"] = float(re.search(r'data-loaded="([\d.]+)"', shown).group(1))
            self.results.append(row)
            took = f"{row['ms']:.0f} ms in Chromium" if BROWSER else "no Chromium"
            print(f"{name:34} {row['kib']:8.0f} KiB, {row['tags']} tags, {took}", flush=True)

    def commands(self):
        last, = sqlite3.connect(self.db).execute("SELECT max(id) FROM run").fetchone()
        names = [line.split()[0] for line in self.call("query")["text"].splitlines()]
        for name in names:
            self.measure(f"query {name}", "query", name, *(["t00"] if name == "history" else []))
        for name in ("failures", "flaky", "first-failure"):
            self.measure(f"query {name} t00", "query", name, "t00")
        self.measure("failure", "failure")
        self.measure("failure --job", "failure", "--job", 99)
        self.measure("report", "report")
        self.measure("report --json", "report", "--json")
        self.measure("diff, two runs of 300", "diff", last - 1, last - 2)
        self.measure("diff, the large run", "diff", last - 1, last)
        self.measure("pages again", "report", "--report")
        self.measure("pages of a run of 300", "report", "--report", "--run", 1)
        self.measure("gc --dry-run", "gc", "--keep-runs", 20, "--dry-run")
        self.measure("verify", "verify", last)
        return last

    def resume(self, last):
        with sqlite3.connect(self.db) as db:
            db.execute("UPDATE job SET outcome=NULL WHERE run=? AND idx=7", (last,))
        self.measure("run --resume, one job", "run", "--resume", "--report")
        self.measure("recover --check", "recover", "--check")


# Until it is laid out: a page that has no script has nothing to do after that but to be painted.
LOADED = """<script>addEventListener("load", () => {
document.body.offsetHeight; document.body.dataset.loaded = performance.now(); });</script></body>"""


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--jobs", type=int, default=100000, help="of the large run")
    p.add_argument("--runs", type=int, default=1000, help="of the database")
    p.add_argument("--run-jobs", type=int, default=300, help="of each of these runs")
    p.add_argument("--burn-jobs", type=int, default=2000, help="jobs of 50 ms")
    p.add_argument("--regress", default=ROOT / "build/host/tandem-regress", help="the program")
    p.add_argument("--dir", help="where the folder of the bench is made (default: that of temporary files)")
    p.add_argument("--keep", action="store_true", help="keep it")
    p.add_argument("--json", help="the numbers, too")
    o = p.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="scale-", dir=o.dir))
    try:
        s = Scale(folder, Path(o.regress).resolve())
        s.run(f"run of {o.run_jobs} jobs", s.suite("t.suite", o.run_jobs), o.run_jobs)
        if o.burn_jobs:
            s.run(f"run of {o.burn_jobs} jobs of 50 ms", s.suite("burn.suite", o.burn_jobs), o.burn_jobs, burn_ms=50)
            with sqlite3.connect(s.db) as db:
                db.execute("PRAGMA foreign_keys=ON")
                db.execute("DELETE FROM run WHERE id=2")
        s.copy_runs(o.runs)
        s.run(f"run of {o.jobs} jobs", s.suite("t.suite", o.jobs), o.jobs)
        last, = sqlite3.connect(s.db).execute("SELECT max(id) FROM run").fetchone()
        s.pages(folder / f"build/regress/{last}/report")
        s.resume(s.commands())
        if o.json:
            Path(o.json).write_text(json.dumps(s.results, indent=1) + "\n")
    finally:
        if o.keep:
            print(folder)
        else:
            shutil.rmtree(folder)


if __name__ == "__main__":
    main()
