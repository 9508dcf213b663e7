"""Reports of a run: the folder of pages, SARIF, JUnit XML, the summaries; with failures that say hostile things."""

import json
import os
import re
import resource
import shutil
import subprocess
import xml.etree.ElementTree as ET

import pytest

from regress_bench import ROOT, bench, programs  # noqa: F401
from report_page import BROWSER, check_page, measure
from sarif_rules import check_sarif

HOSTILE = ("</td><script>alert(1)</script> \\\"'& ]]> --> \\x01\\xff\\xc3\\xa9 " +
           "w" * 700 + " <img src=x onerror=alert(2)>")
LONG = "unit:" + "m" * 180 + ":<b>word</b>"

# A program of tests that fails with what the index says and explains itself; the report has a page, a waveform and a
# large file.
TANDEM = r"""#!/bin/bash
command=$1 file=$2
index=0 result= cases= report=
while [ $# -gt 0 ]; do
  case $1 in
    --index) index=$2; shift;;
    --result) result=$2; shift;;
    --case-dir) cases=$2; shift;;
    --report) report=$2; shift;;
  esac
  shift
done
say() { printf "$1" > "$result.tmp" && mv "$result.tmp" "$result"; }
case $command in
  test)
    [ "$index" = 0 ] && { say 'outcome=pass\ncycles=12345\ntrace_hash=0x1\nwork_cases=4\nwork_cycles=2000\n'\
'bound_mesh=900\nbound_read=1000\nbound_write=10\nbound=1600\n'; exit 0; }
    echo "signature=unit:im2col0:word" > $cases/c.case
    seq 1 100000
    say "outcome=fail\nsignature=unit:im2col0:word\nmessage=wrong\ncycles=7\ncase=$cases/c.case\n\
repro=make repro CASE=$cases/c.case\n"; exit 1;;
  repro)
    mkdir -p $report/tensors && echo '<!DOCTYPE html><title>x</title><p>here' > $report/report.html
    echo wave > $report/wave.fst && echo t > $report/tensors/a.npy
    truncate -s 17M $report/tensors/large.npy
    ln -s /etc/passwd $report/link
    say "outcome=fail\n$(cat $file)\ncase=$file\n"; exit 1;;
esac
exit 1
"""

SUITE = ("test conv cfg=n8 count=3\nunit hostile cfg=n8\nunit long cfg=n4,n8\nunit crash cfg=n8\n"
         "unit pass cfg=n4,n8 count=4 cases=5\n")


@pytest.fixture
def failing(bench):
    for cfg in ("n4", "n8"):
        folder = bench.build / f"{cfg}-fast"
        bench.program(folder / "tandem", "")
        (folder / "tandem").write_text(TANDEM)
        bench.program(
            folder / "unit-hostile",
            f"""printf 'outcome=fail\\nsignature=<i>sig</i> "q"\\nmessage=%b\\n' "{HOSTILE}" > $result; exit 1""")
        bench.program(
            folder / "unit-long",
            f"""report 'outcome=fail\\nsignature={LONG}\\nmessage=long\\n"""
            f"""repro=make repro CASE={"d/" * 200}c.case\\n'; exit 1""")
    (bench.path / "rtl/npu/im2col").mkdir(parents=True)
    (bench.path / "rtl/npu/im2col/im2col.sv").write_text("module im2col; endmodule\n")
    return bench


def index_of(bench, folder="r"):
    return bench.path / folder / "index.html"


def all_pages(bench, folder="r"):
    return [check_page(path) for path in sorted((bench.path / folder).glob("*.html"))]


# ---- the folder ----


def test_pages(failing):
    bench = failing
    done = bench.run(SUITE, "--html", "r/", "--explain", "5", "--jobs", "2")
    assert done.returncode == 1 and "report: r//index.html\n" in done.stdout and done.stderr == ""
    index, jobs = all_pages(bench)
    assert "Suite t, run 1: 6 failed" in index.text and "Nothing failed" not in index.text
    assert index.ids == ["failures", "job-1", "job-4", "job-3", "job-6",
                         "tests", "performance", "trends", "slowest"], "failures stand first"
    assert "<script>alert(1)</script>" in index.text and "<img src=x" in index.text and "\x01" not in index.source
    for name in ("bundle/report.html", "bundle/wave.fst", "stored.case", "log.txt"):
        assert f"failures/00001/{name}" in index.links, name
    assert "make repro CASE=build/regress/1/00001-test-conv-n8/cases/c.case" in index.text
    files = bench.path / "r/failures/00001"
    log = (files / "log.txt").read_text()
    assert log.startswith("[the last 262144 of ") and log.endswith("100000\n") and len(log) < 263000
    assert (files / "bundle/tensors/a.npy").read_text() == "t\n"
    assert (not (files / "bundle/link").exists() and not (files / "bundle/tensors/large.npy").exists() and
            "1 files above 16 MiB stayed in" in index.text)
    assert len(re.findall(r"<tr><td", jobs.source)) == len(bench.jobs())
    assert [path.name for path in bench.path.iterdir() if "tmp" in path.name] == []
    # The same again from the database alone; the folder can be moved.
    before = index.source
    shutil.rmtree(bench.path / "rtl")
    assert bench.call("report", "--html", "r").returncode == 0
    assert index_of(bench).read_text() == before
    shutil.move(bench.path / "r", bench.path / "moved")
    shutil.rmtree(bench.path / "build/regress")
    all_pages(bench, "moved")


def test_pages_when_all_passed(bench):
    done = bench.run("unit pass cfg=n8 count=3\n", "--report")
    assert done.returncode == 0 and "report: build/regress/1/report/index.html\n" in done.stdout
    index, _ = all_pages(bench, "build/regress/1/report")
    assert "run 1: passed" in index.text and "Nothing failed." in index.text
    assert not (bench.path / "build/regress/1/report/failures").exists()


def test_jobs_that_did_not_run(bench):
    """With their causes, on the pages and in every text; what differs only in the job's folder is one cause."""
    bench.program(bench.build / "n8-fast/unit-full", 'echo "${result%/*}: no <space> left" >&2; exit 3')
    done = bench.run("unit full cfg=n8 count=2\nunit fail cfg=n8\nunit killed cfg=n8 count=9\n", "--jobs", "1",
                     "--html", "r", "--junit", "j.xml", "--summary-json", "s.json")
    assert done.stdout.endswith("\n0 passed, 1 failed, 11 did not run\n")
    killed = "killed by SIGKILL, which the runner did not send"
    full = "build/regress/1/00000-unit-full-n8: no <space> left"
    rest = "the machine failed, and the run could not go on"
    index, jobs = all_pages(bench)
    assert "run 1: 1 failed, 11 did not run" in index.text and "11jobs did not run" in index.text
    assert index.ids[:5] == ["failures", "job-2", "not-run", "job-6", "job-3"] and "job-0" in index.ids
    for jobs_of, cause, example, outcome in ((6, rest, 6, "not run"), (3, killed, 3, "host"), (2, full, 0, "host")):
        assert f"{cause}\n{outcome}; {jobs_of} jobs, for example job {example}, " in index.text
    assert {"failures/00000/log.txt", "failures/00003/log.txt", "#not-run"} <= set(index.links)
    assert "make regress RESUME=1 RUN=1" in index.text
    assert jobs.text.count("host") == 5 and jobs.text.count("not run") == 6 and jobs.text.count(killed) == 3
    report = bench.call("report").stdout
    assert re.search(r"^job .* outcome +kept from running  ", report, re.M) and report.count(killed) == 3
    assert "outcomes: 1 fail, 5 host, 6 not run\n" in report
    found = json.loads(bench.call("report", "--json").stdout)
    assert [(job["outcome"], job["host"]) for job in found["jobs"]][1:4] == [
        ("host", full.replace("00000", "00001")), ("fail", None), ("host", killed)]
    assert found["outcomes"] == [{"outcome": name, "jobs": n} for name, n in (("fail", 1), ("host", 5), ("not run", 6))]
    causes = json.loads((bench.path / "s.json").read_text())["not_run"]
    assert causes == json.loads(bench.call("query", "not-run", "--json").stdout)
    assert [(c["jobs"], c["cause"], c["job"]) for c in causes] == [(6, rest, 6), (3, killed, 3), (2, full, 0)]
    skipped = [e.get("message") for e in ET.parse(bench.path / "j.xml").getroot().iter("skipped")]
    assert skipped.count(killed) == 3 and skipped.count("not run") == 6 and full in skipped
    assert "kept from running" not in bench.run("unit pass cfg=n8\n").stdout + bench.call("report").stdout


def test_a_long_list_has_pages(bench):
    bench.run("unit pass cfg=n8\n")
    bench.many(1001)
    assert bench.call("report", "--html", "h").returncode == 0
    names = ["jobs.html", "jobs-500.html", "jobs-1000.html"]
    assert sorted(path.name for path in (bench.path / "h").glob("*.html")) == sorted(["index.html", *names])
    for name, rows in zip(names, (500, 500, 1)):
        page = check_page(bench.path / "h" / name)
        assert page.tags.count("tr") == rows + 1 and page.links == ["index.html", *names]
    found = json.loads(bench.call("report", "--json").stdout)
    assert [job["job"] for job in found["jobs"]] == list(range(1001))


def test_files_that_are_gone(failing):
    bench = failing
    bench.run(SUITE, "--explain", "1")
    shutil.rmtree(bench.path / "build/regress")
    assert bench.call("report", "--html", "r").returncode == 0
    index, _ = all_pages(bench)
    assert "make repro CASE=" in index.text and not any(link.startswith("failures/") for link in index.links)


def test_a_log_that_is_no_file(bench):
    bench.run("unit fail cfg=n8\n", "--out", "o")
    log = bench.path / "o/00000-unit-fail-n8/log.txt"
    log.unlink()
    os.mkfifo(log)
    assert bench.call("report", "--html", "r").returncode == 0
    all_pages(bench)


def test_only_a_report_is_replaced(bench):
    bench.run("unit pass cfg=n8\n", "--html", "r")
    (bench.path / "empty").mkdir()
    (bench.path / "mine").mkdir()
    (bench.path / "mine/index.html").write_text("<h1>home</h1>")
    (bench.path / "file").write_text("x")
    assert bench.call("report", "--html", "r").returncode == 0
    assert bench.call("report", "--html", "empty").returncode == 0
    for name in ("mine", "file", "none/r"):
        for done in (bench.call("report", "--html", name), bench.run("unit pass cfg=n8\n", "--html", name)):
            assert done.returncode == 1 and len(done.stderr.splitlines()) == 1 and done.stdout == "", name
    assert (bench.path / "mine/index.html").read_text() == "<h1>home</h1>"
    assert sorted(path.name for path in bench.path.iterdir()) == ["build",
                                                                  "designs", "empty", "file", "mine", "r", "t.suite"]


def test_full_disk(bench):
    bench.run("unit pass cfg=n8 count=300\n")
    done = bench.call("report", "--html", "r",
                      preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (40000, 40000)))
    assert done.returncode == 3 and "cannot write" in done.stderr and len(done.stderr.splitlines()) == 1
    assert not (bench.path / "r").exists() and [path.name for path in bench.path.iterdir() if "tmp" in path.name] == []


def test_gc_takes_the_report(bench):
    bench.run("unit pass cfg=n8\n", "--report")
    bench.run("unit pass cfg=n8\n", "--out", "o")
    (bench.path / "o/report").mkdir()
    (bench.path / "o/report/index.html").write_text("mine")
    assert bench.call("gc", "--keep-runs", "0").returncode == 0
    assert not (bench.path / "build/regress/1").exists() and (bench.path / "o/report/index.html").exists()


# ---- its sections ----


def test_tests_and_performance(failing):
    bench = failing
    (bench.build / "figures.json").write_text(
        json.dumps({"cfg": "n32", "commit": "<c0ffee>", "bounds": ["mesh", "read", "write"],
                    "rows": [{"operator": "conv <FP32>", "cycles": 74844,
                              "mesh": 69120, "read": 20992, "write": 14400, "published": 100142, "goal_met": True}]})
    )
    bench.run(SUITE, "--html", "r")
    text = re.sub(r"\s+", " ", check_page(index_of(bench)).text.replace("\u202f", ""))
    assert re.search(r"conv ?n8-fast ?4 ?2000 ?900 ?1000 ?10 ?1600 ?1.25",
                     text), "cycles, bounds of mesh, read, write, the largest, ratio"
    assert (re.search(r"conv <FP32> ?74844 ?69120 ?20992 ?14400 ?1.083 ?100142 ?0.747 ?yes", text) and
            "commit <c0ffee>" in text)
    rows = json.loads(bench.call("query", "tests", "--json").stdout)
    found = {row["label"]: row for row in rows}
    assert (found["unit pass"]["n4"], found["unit pass"]["n8"], found["unit pass"].get("n16"),
            found["unit pass"]["cases"]) == (20, 20, None, 40)
    assert (found["test conv"]["cases"], found["test conv"]["failed"], found["test conv"]["cycles"]) == (1, 2, 12345)
    (bench.build / "figures.json").write_text("{broken")
    assert (bench.call("report", "--html", "r").returncode == 0 and
            "Not readable: make figures" in check_page(index_of(bench)).text)
    (bench.build / "figures.json").unlink()
    assert (bench.call("report", "--html", "r").returncode == 0 and
            "Not measured: make figures" in check_page(index_of(bench)).text)
    bench.run("unit pass cfg=n8\n", "--html", "r")
    assert "No job of this run has measured operators" in check_page(index_of(bench)).text


def test_trends(bench):
    text = "unit pass cfg=n8 count=3\n"
    for _ in range(3):
        bench.run(text)
    bench.run("unit slow cfg=n8\n", "--shard", "1/1")
    bench.call("run", "--suite", bench.suite(text + "unit fail cfg=n8\n", "u.suite"))
    bench.run(text + "unit fail cfg=n8\n", "--html", "r")
    page = check_page(index_of(bench))
    rows = json.loads(bench.call("query", "trend", "--json").stdout)
    assert ([(r["run"], r["passed"], r["failed"], r["cycles"]) for r in rows[:2]] == [(6, 3, 1, 303), (4, 1, 0, 0)] and
            [r["run"] for r in rows] == [6, 4, 3, 2, 1])
    titles = re.findall(r"<title>(run [^<]*)</title>", page.source)
    assert ("run 6: 3 passed" in titles and "run 6: 1 failed" in titles and
            "run 3: 303 cycles" in titles and not any("run 5" in t for t in titles))
    heights = {(kind, run): float(h) for kind, h, run in re.findall(
        r'<rect class="(\w+)"[^>]* height="([\d.]+)"><title>run (\d+)', page.source)}
    assert (heights["pass", "6"] == pytest.approx(3 * heights["fail", "6"], abs=0.2) and
            heights["pass", "3"] == heights["pass", "6"])
    assert page.tags.count("svg") == 4
    suites = json.loads(bench.call("query", "suites", "--json").stdout)
    assert [(s["suite"], s["run"]) for s in suites] == [("t", 6), ("u", 5)]
    bench.call("report", "--run", "2", "--html", "old")
    assert "The last 2 runs of this suite" in check_page(index_of(bench, "old")).text


def test_since_when(bench):
    bench.run("unit pass cfg=n8\n")
    bench.program(bench.build / "n8-fast/unit-pass", "report 'outcome=fail\\nmessage=bad\\n'; exit 1")
    bench.run("unit pass cfg=n8\n")
    bench.run("unit pass cfg=n8\n", "--html", "r")
    assert re.search(r"Fails since run 2, commit \S+; passed last in run 1, commit \S+\.",
                     check_page(index_of(bench)).text)


@pytest.mark.skipif(BROWSER is None, reason="not run: no chromium")
@pytest.mark.parametrize("dark", [False, True])
def test_layout(failing, dark):
    bench = failing
    bench.run(SUITE)
    bench.run(SUITE, "--html", "r", "--explain", "5")
    for page in ("index", "jobs"):
        for width in (1280, 390):
            found = measure(bench.path / f"r/{page}.html", bench.path / f"look-{page}-{width}", width, dark)
            assert found["dark"] == dark and found["window"] == width
            assert found["scroll"] <= found["window"] and found["wide"] == [], found
            assert found["contrast"] >= 4.5, found["worst"]


@pytest.mark.skipif(BROWSER is None, reason="not run: no chromium")
def test_picture(bench):
    bench.run("unit pass cfg=n8\n", "--html", "r")
    shot = [ROOT / "tools/page_shot.py", "--height", "300", "--scale", "0.5"]
    done = subprocess.run([*shot, bench.path / "r", bench.path / "p.png"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    head = (bench.path / "p.png").read_bytes()[:24]
    assert head[:8] == b"\x89PNG\r\n\x1a\n" and (int.from_bytes(
        head[16:20], "big"), int.from_bytes(head[20:24], "big")) == ((1000 + 390 + 42) // 2, 328 // 2)
    done = subprocess.run([*shot, bench.path / "none", bench.path / "q.png"],
                          capture_output=True, text=True, timeout=120)
    assert done.returncode == 1 and len(done.stderr.splitlines()) == 1 and not (bench.path / "q.png").exists()


# ---- SARIF, JUnit XML, JSON ----


def test_sarif(failing):
    bench = failing
    done = bench.run(SUITE, "--sarif", "s.sarif")
    assert "SARIF: s.sarif\n" in done.stdout
    document = json.loads((bench.path / "s.sarif").read_text())
    check_sarif(document)
    results = document["runs"][0]["results"]
    assert [r["occurrenceCount"] for r in results] == [2, 2, 1, 1]
    where = [r["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for r in results]
    assert where == ["rtl/npu/im2col/im2col.sv"] + [(bench.path / "t.suite").as_uri()] * 3
    assert (results[0]["ruleId"] == "unit:im2col0:word" and
            results[0]["relatedLocations"][0]["physicalLocation"]["artifactLocation"]["uri"].endswith("/cases/c.case"))
    assert results[0]["message"]["text"].startswith("wrong (test conv, n8-fast; jobs: 2)\nAgain: make repro CASE=")
    assert results[2]["message"]["text"].startswith("</td><script>")
    bench.run("unit pass cfg=n8\n", "--sarif", "s.sarif")
    document = json.loads((bench.path / "s.sarif").read_text())
    check_sarif(document)
    assert document["runs"][0]["results"] == [] and document["runs"][0]["invocations"][0]["executionSuccessful"] is True


def test_sarif_rules_can_fail(failing):
    """The checks of the test above see what is missing."""
    bench = failing
    bench.run(SUITE, "--sarif", "s.sarif")
    text = (bench.path / "s.sarif").read_text()
    for spoil in (
        lambda d: d.pop("version"),
        lambda d: d["runs"][0].pop("tool"),
        lambda d: d["runs"][0]["tool"]["driver"].pop("name"),
        lambda d: d["runs"][0]["results"][0].pop("message"),
        lambda d: d["runs"][0]["results"][0].update(level="fatal"),
        lambda d: d["runs"][0]["results"][0].update(ruleIndex=99),
        lambda d: d["runs"][0]["results"][0].update(surprise=1),
        lambda d: d["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"].update(uri="a b"),
        lambda d: d["runs"][0]["tool"]["driver"]["rules"].append(d["runs"][0]["tool"]["driver"]["rules"][0]),
    ):
        document = json.loads(text)
        spoil(document)
        with pytest.raises(AssertionError):
            check_sarif(document)


def test_equal_rules(bench):
    """Signatures that differ only in what a rule's name cannot have share a rule."""
    bench.program(
        bench.build / "n8-fast/unit-fail",
        """[ $index = 0 ] && s='a b' || s='a  /b'; report "outcome=fail\\nsignature=$s\\nmessage=m\\n"; exit 1""")
    bench.run("unit fail cfg=n8 count=2\n", "--sarif", "s.sarif")
    run = json.loads((bench.path / "s.sarif").read_text())["runs"][0]
    check_sarif({"version": "2.1.0", "runs": [run]})
    assert ([r["id"] for r in run["tool"]["driver"]["rules"]] == ["a-b"] and
            [r["ruleIndex"] for r in run["results"]] == [0, 0])
    assert len({r["partialFingerprints"]["signature/v1"] for r in run["results"]}) == 2


def test_junit_has_message_and_reproducer(failing):
    bench = failing
    bench.run(SUITE, "--junit", "j.xml")
    root = ET.parse(bench.path / "j.xml").getroot()
    failures = [f for case in root.iter("testcase") for f in case if f.tag in ("failure", "error")]
    rows = [row for row in bench.jobs("outcome,repro,log_path") if row[0] != "pass"]
    assert len(failures) == len(rows) == 6
    for failure, (outcome, repro, log) in zip(failures, rows):
        assert (failure.get("type") == outcome and failure.get("message") and
                repro in failure.text and f"log: {log}" in failure.text)
    assert (failures[0].get("message") == "wrong" and
            failures[2].get("message").startswith("</td><script>alert(1)</script>"))


def test_summary_json(failing):
    bench = failing
    done = bench.run(SUITE, "--summary-json", "s.json")
    assert "JSON: s.json\n" in done.stdout
    found = json.loads((bench.path / "s.json").read_text())
    assert set(found) == {"run", "totals", "outcomes", "failures", "not_run", "tests", "performance", "slowest"}
    assert (found["run"]["run"], found["totals"]["passed"], found["totals"]["failed"],
            found["totals"]["not_run"]) == (1, 9, 6, 0)
    assert [f["jobs"] for f in found["failures"]] == [2, 2, 1, 1] and found["performance"][0]["ratio"] == 1.25
    bench.call("report", "--summary-json", "again.json")
    assert (bench.path / "again.json").read_text() == (bench.path / "s.json").read_text()
    for name in ("--summary-json", "--sarif"):
        done = bench.run("unit pass cfg=n8\n", name, "none/f")
        assert done.returncode == 1 and len(done.stderr.splitlines()) == 1 and done.stdout == ""


def test_every_table_as_json(failing):
    bench = failing
    bench.run(SUITE)
    bench.run(SUITE)
    (bench.path / "figures.json").write_text(
        '{"figures": [{"name": "line", "percent": 50.0, "percent_before": 50.0, "covered": 1, "points": 2}]}')
    assert bench.call("coverage", "figures.json").returncode == 0
    (bench.path / "score.json").write_text(json.dumps(
        {"design": "d", "cfg": "c", "suite": "s", "mutants": 1, "of": 1, "score": 100.0, "seconds": 1.0, "cpu": 1.0,
         "verdicts": {"detected": 1}, "blamed": {"by_units": 0, "right": 0, "around": 0}}))
    assert bench.call("qualify", "score.json").returncode == 0
    questions = re.findall(r"^  (\S+)", bench.call("query").stdout, re.M)
    assert {"runs", "failures", "buckets", "not-run", "history", "slowest", "flaky",
            "first-failure", "tests", "performance", "trend", "coverage", "qualify",
            "suites"} == set(questions)
    for question in questions:
        rows = json.loads(bench.call("query", question, *(["conv"] if question == "history" else []), "--json").stdout)
        assert isinstance(rows, list) and (rows or question in ("flaky", "not-run")), question
    for args in (["report"], ["diff", "1", "2"], ["list", bench.suite(SUITE)],
                 ["list", "--suite-dir", "."], ["gc", "--keep-runs", "9"]):
        assert json.loads(bench.call(*args, "--json").stdout), args


# ---- the terminal ----


def test_one_screen(bench):
    lines = []
    for i in range(30):
        name = f"unit-{i}"
        bench.program(bench.build / "n8-fast/tandem", "report 'outcome=pass\\ncycles=123456789\\n'")
        lines.append(f"test a_test_with_a_rather_long_name_{i} cfg=n4,n8 cases=99999\n")
    done = bench.run("budget 300\n" + "".join(lines), "--report", "--junit", "j.xml",
                     "--sarif", "s.sarif", "--summary-json", "s.json", "--jobs", "2")
    said = done.stdout.splitlines()
    assert done.returncode == 0 and len(said) <= 24 and max(map(len, said)) <= 80, done.stdout
    assert "and 19 more" in done.stdout and said[-1] == "60 passed, 0 failed"
    rows = [line.split()
            for line in said[said.index(next(line for line in said if line.startswith("cases passed"))) + 1 :][:12]]
    assert sum(int(row[-3]) for row in rows) == 60 * 99999, "all cases are in the table"


def test_many_signatures(bench):
    bench.program(bench.build / "n8-fast/unit-fail",
                  "report \"outcome=fail\\nsignature=check $index\\nmessage=m\\n\"; exit 1")
    done = bench.run("unit fail cfg=n8 count=9\n")
    assert ("\nand 4 more: tandem-regress query buckets --run 1 --limit 9\n" in done.stdout and
            done.stdout.count("check ") == 5)
    assert len(json.loads(bench.call("query", "buckets", "--limit", "9", "--json").stdout)) == 9


# ---- what programs say about their operators ----

BUILD = ROOT / os.environ.get("BUILD", "build")
TANDEMS = [BUILD / f"{cfg}-{kind}" / "tandem" for kind in ("fast", "tap", "debug") for cfg in ("n4", "n8")]
TANDEM_RTL = next((path for path in TANDEMS if os.access(path, os.X_OK)), None)


@pytest.mark.skipif(TANDEM_RTL is None, reason="not run: no tandem with RTL is built (make build CFG=n4)")
def test_work_is_what_run_prints(tmp_path):
    """The sums of a result file are those of the cases that `tandem run` shows one by one."""
    sums = {}
    for shape in (["conv", "ic=8", "oc=12", "iw=10", "ih=9", "k=3"], ["pool"], ["eltwise"]):
        done = subprocess.run([TANDEM_RTL, "run", *shape, "--result", tmp_path / "r"],
                              capture_output=True, text=True, timeout=60, cwd=tmp_path)
        assert done.returncode == 0, done.stdout + done.stderr
        keys = dict(line.split("=", 1) for line in (tmp_path / "r").read_text().splitlines())
        printed = {name: int(value) for name, value in re.findall(
            r"^ +(MAC bound|read bus bound|write bus bound|cycles with a task) +(\d+)", done.stdout, re.M)}
        assert int(keys["work_cases"]) == 1 and int(keys["work_cycles"]) == printed["cycles with a task"]
        bounds = [printed.get("MAC bound", 0), printed["read bus bound"], printed["write bus bound"]]
        assert ([int(keys[key]) for key in ("bound_mesh", "bound_read", "bound_write")] == bounds and
                int(keys["bound"]) == max(bounds) > 0)
        assert int(keys["bound"]) <= int(keys["work_cycles"]) <= int(keys["cycles"])
        sums[shape[0]] = keys
    done = subprocess.run([TANDEM_RTL, "test", "pool", "--run-seed", "1", "--count", "3", "--result", tmp_path / "r"],
                          capture_output=True, text=True, timeout=60, cwd=tmp_path)
    keys = dict(line.split("=", 1) for line in (tmp_path / "r").read_text().splitlines())
    assert done.returncode == 0 and int(keys["work_cases"]) == 3 and int(keys["bound"]) <= int(keys["work_cycles"])
    assert "bound_mesh" in sums["conv"] and int(sums["conv"]["bound_mesh"]) > 0 == int(sums["pool"]["bound_mesh"])


@pytest.mark.skipif(TANDEM_RTL is None, reason="not run: no tandem with RTL is built (make build CFG=n4)")
def test_counters_as_json(tmp_path):
    """--perf F.json has the numbers of the text, and no file where there was nothing to measure."""
    shape = ["run", "conv", "ic=8", "oc=12", "iw=10", "ih=9", "k=3"]
    done = subprocess.run([TANDEM_RTL, *shape, "--perf", "p.json"], capture_output=True,
                          text=True, timeout=60, cwd=tmp_path)
    found = json.loads((tmp_path / "p.json").read_text())
    text = re.search(r"performance counters over (\d+) cycles with a task:\n((?:  .*\n)+)", done.stdout)
    assert (found["cycles_with_a_task"] == int(text.group(1)) and
            re.search(rf"MAC bound +{found['mac_bound']} ", done.stdout))
    printed = {int(number): int(value)
               for number, value in re.findall(r"^ +(\d+) \S.*?  +(\d+)(?: +[\d.]+ %)?$", text.group(2), re.M)}
    assert {c["number"]: c["value"] for c in found["counters"]} == printed and len(printed) > 40
    # the series begins with the first event, some cycles after the task
    assert sum(w["cycles"] for w in found["series"]) > found["cycles_with_a_task"] - found["series"][0]["cycles"]
    done = subprocess.run([TANDEM_RTL, *shape, "--device", "model", "--perf", "m.json"],
                          capture_output=True, text=True, timeout=60, cwd=tmp_path)
    assert (done.returncode == 2 and "--perf: the model has no clock" in done.stderr and
            not (tmp_path / "m.json").exists())
    done = subprocess.run([TANDEM_RTL, *shape, "--perf", "none/p.json"],
                          capture_output=True, text=True, timeout=60, cwd=tmp_path)
    assert done.returncode != 0 and "none/p.json: cannot be written: No such file" in done.stderr


FIGURES = next((path.with_name("bench-figures") for path in TANDEMS
                if os.access(path.with_name("bench-figures"), os.X_OK)), None)


@pytest.mark.skipif(FIGURES is None, reason="not run: bench-figures is not built (make figures)")
def test_published_figures_as_json(bench):
    """A row of `make figures` as text and as JSON, and on the page."""
    table = bench.build / "figures.json"
    done = subprocess.run([FIGURES, "--row", "12", "--json", table, "--commit", "c0ffee+"],
                          capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    found = json.loads(table.read_text())
    row = found["rows"][0]
    cells = done.stdout.splitlines()[1].split("s1")[1].split()
    assert found["commit"] == "c0ffee+" and [row[key] for key in ("cycles", "mesh", "read", "write",
                                                                  "fill", "drain")] == [int(cell) for cell in cells[:6]]
    assert row["published"] == int(cells[8]) == 7009 and row["goal_met"] == (cells[10] == "yes")
    bench.run("unit pass cfg=n8\n", "--html", "r")
    text = check_page(index_of(bench)).text.replace("\u202f", "")
    assert ("commit c0ffee+" in text and f"{row['cycles']}{row['mesh']}{row['read']}{row['write']}" in text and
            "7009" in text)
    done = subprocess.run([FIGURES, "--row", "12", "--json", bench.path / "none/f.json"],
                          capture_output=True, text=True, timeout=120)
    assert done.returncode == 1 and len(done.stderr.splitlines()) == 1
