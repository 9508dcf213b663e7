"""Questions to the results database of the regression runner, as text and as JSON."""

import json
import sqlite3
import subprocess

from regress_bench import ROOT, UNITS, bench, programs  # noqa: F401


def ask(bench, *args, status=0):
    done = bench.call("query", *args, "--json")
    assert done.returncode == status and done.stderr == "", done.stderr
    return json.loads(done.stdout)


def text(bench, *args, status=0):
    done = bench.call("query", *args)
    assert done.returncode == status and done.stderr == "", done.stderr
    return done.stdout.splitlines()


def become(bench, name, body):
    """unit-NAME of n8 is another program from now on."""
    bench.program(bench.build / f"n8-fast/unit-{name}", UNITS[body])


def commit(bench, message):
    (bench.path / "what").write_text(message)
    for args in (["init", "-q"], ["add", "what"], ["commit", "-q", "-m", message]):
        subprocess.run(["git", "-c", "user.name=t", "-c", "user.email=t@t", *args],
                       cwd=bench.path, check=True, capture_output=True)
    return subprocess.run(["git", "rev-parse",
                           "HEAD"], cwd=bench.path, check=True, capture_output=True, text=True).stdout[:12]


def test_questions_are_listed(bench):
    names = [line.split()[0] for line in text(bench)]
    assert names == ["runs", "failures", "buckets", "not-run", "history", "slowest",
                     "flaky", "first-failure", "tests", "performance", "trend", "coverage", "qualify",
                     "suites"]
    page = (ROOT / "docs/regress.md").read_text()
    assert all(f"`{name}" in page for name in names)


def test_runs_and_failures(bench):
    bench.run("unit pass cfg=n8 count=2\nunit fail cfg=n8\nunit crash cfg=n4\n")
    bench.run("unit fail cfg=n8\nunit pass cfg=n8\n", "--fail-fast", "--jobs", "1", "--seed", "9")
    found = ask(bench, "runs")
    assert [(r["run"], r["state"], r["seed"], r["jobs"], r["passed"], r["failed"],
             r["not_run"]) for r in found] == [(2, "stopped", "0x9", 2, 0, 1, 1), (1, "done", "0x1", 4, 2, 2, 0)]
    assert found[0]["resumed"] == 0 and found[0]["files_removed"] is False and found[0]["out_dir"] == "build/regress/2"
    failures = ask(bench, "failures", "--run", "1")
    assert [(f["job"], f["what"], f["build"], f["outcome"], f["signature"]) for f in failures] == [
        (2, "unit fail", "n8-fast", "fail", "mesh data"),
        (3, "unit crash", "n4-fast", "crash", "crash SIGSEGV"),
    ]
    assert (failures[0]["message"] == 'mesh: column 5: got -312, expected <-310> & "more"' and
            failures[1]["case"] is None)
    assert [f["build"] for f in ask(bench, "failures", "--run", "1", "--cfg", "n4")] == ["n4-fast"]
    assert ask(bench, "failures", "fail", "--run", "1", "--cfg", "n4") == []
    assert text(bench, "failures", "nothing", "--run", "1") == ["nothing failed"]
    lines = text(bench, "runs", "--limit", "1")
    assert len(lines) == 2 and lines[0].split()[:2] == ["run", "suite"] and lines[1].split()[:2] == ["2", "t"]
    assert lines[0].index("suite") == lines[1].index("t ")


def test_history(bench):
    bench.run("unit pass cfg=n4,n8 count=2 cases=3\n")
    become(bench, "pass", "fail")
    bench.run("unit pass cfg=n4,n8 count=2 cases=3\n")
    found = ask(bench, "history", "pass")
    assert [(r["run"], r["build"], r["passed"], r["failed"], r["cases"], r["signatures"]) for r in found] == [
        (2, "n4-fast", 2, 0, 6, None),
        (2, "n8-fast", 0, 2, 0, "mesh data"),
        (1, "n4-fast", 2, 0, 6, None),
        (1, "n8-fast", 2, 0, 6, None),
    ]
    assert found[0]["cycles"] == 203
    assert len(ask(bench, "history", "unit", "pass", "--cfg", "n8", "--kind", "fast")) == 2
    assert ask(bench, "history", "test", "pass") == [] and ask(bench, "history", "pass", "--kind", "san") == []
    assert text(bench, "history", "nowhere") == ["it never ran"]


def test_slowest(bench):
    bench.run("unit pass cfg=n8\nunit slow cfg=n8\nunit fail cfg=n4\n", "--jobs", "1")
    found = ask(bench, "slowest")
    assert (found[0]["what"] == "unit slow" and
            [r["wall_ms"] for r in found] == sorted((r["wall_ms"] for r in found), reverse=True))
    assert len(ask(bench, "slowest", "--limit", "2")) == 2 and found[0]["memory_mib"] >= 1


def test_flaky_is_empty_unless_it_is_not(bench):
    body = "unit pass cfg=n8 count=2\nunit slow cfg=n8\n"
    for _ in range(2):
        bench.run(body)
    bench.run(body, "--seed", "2")
    assert ask(bench, "flaky") == [] and text(bench, "flaky") == ["nothing is flaky"]
    become(bench, "slow", "fail")  # another program: its own matter
    bench.run(body)
    assert ask(bench, "flaky") == []
    with sqlite3.connect(bench.db) as db:  # the same program, another hash
        db.execute("UPDATE job SET trace_hash='0xbad' WHERE run=2 AND idx=1")
    found = ask(bench, "flaky", status=1)
    assert [(f["what"], f["index"], f["outcomes"], f["hashes"],
             f["results"]) for f in found] == [("unit pass", 1, "pass", 2, 3)]
    with sqlite3.connect(bench.db) as db:
        db.execute("UPDATE job SET outcome='timeout' WHERE run=1 AND idx=0")
    assert {(f["what"], f["index"], f["outcomes"])
            for f in ask(bench, "flaky", status=1)} == {("unit pass", 1, "pass"), ("unit pass", 0, "timeout,pass")}
    lines = text(bench, "flaky", status=1)
    assert len(lines) == 3 and lines[0].split()[0] == "what"
    with sqlite3.connect(bench.db) as db:  # of databases without programs only clean work trees say anything
        db.execute("DELETE FROM program")
        db.execute("UPDATE run SET dirty=1")
    assert ask(bench, "flaky") == []


def test_random_hash_is_flaky(bench):
    for _ in range(2):
        bench.run("unit random cfg=n8\n")
    assert [f["hashes"] for f in ask(bench, "flaky", status=1)] == [2]


def test_first_failure(bench):
    body = "unit pass cfg=n8 count=2\nunit fail cfg=n8\n"
    commits = []
    for program in ("fail", "pass", "pass", "fail", "fail"):  # it had failed before, and was repaired
        commits.append(commit(bench, f"{len(commits)}"))
        become(bench, "pass", program)
        bench.run(body)
    found = ask(bench, "first-failure")
    assert [(f["what"], f["index"], f["first_failed_run"], f["last_passed_run"])
            for f in found] == [("unit pass", 0, 4, 3), ("unit pass", 1, 4, 3), ("unit fail", 0, 1, None)]
    assert (found[0]["first_failed_commit"].rstrip("+") == commits[3] and
            found[0]["last_passed_commit"].rstrip("+") == commits[2])
    assert found[2]["last_passed_commit"] is None
    assert [f["first_failed_run"] for f in ask(bench, "first-failure", "pass", "--run", "1")] == [1, 1]
    assert text(bench, "first-failure", "pass", "--run", "3") == ["nothing failed"]


def test_bad_questions(bench):
    bench.run("unit pass cfg=n8\n")
    for args, message in (
        (["why"], 'query "why" is unknown'),
        (["history"], "expected the name of a test"),
        (["history", "tests", "conv"], "expected unit, test, network, case or python"),
        (["history", "a", "b", "c"], "unexpected argument"),
        (["runs", "--run", "1"], "expected no --run"),
        (["runs", "--limit", "0"], "--limit: expected a number 1.."),
    ):
        done = bench.call("query", *args)
        assert done.returncode == 2 and message in done.stderr and len(done.stderr.splitlines()) == 1, done.stderr
    assert bench.call("query", "failures", "--run", "9").returncode == 1
    assert bench.call("query", "runs", "--db", "none.db").returncode == 1


def test_injection_is_text(bench):
    bench.run("unit pass cfg=n8\n")
    assert ask(bench, "history", "x' OR '1'='1") == []


# ---- the other tables ----


def test_report_as_json(bench):
    bench.run("repeat unit pass cfg=n8 cases=4\nunit binary cfg=n4\nunit fail cfg=n8 -- k=1 s=2\n")
    found = json.loads(bench.call("report", "--json").stdout)
    assert (found["run"]["run"] == 1 and found["run"]["state"] == "done" and
            found["run"]["budget_s"] is None and found["run"]["shard"] == "1/1")
    assert [(j["name"], j["cfg"], j["second_run"], j["outcome"], j["args"]) for j in found["jobs"]] == [
        ("pass", "n8", False, "pass", ""),
        ("pass", "n8", True, "pass", ""),
        ("binary", "n4", False, "fail", ""),
        ("fail", "n8", False, "fail", "k=1 s=2"),
    ]
    assert found["jobs"][2]["message"].endswith("?\u00e9 ]]> <&>") and found["jobs"][0]["cycles"] == 100
    assert found["outcomes"] == [{"outcome": "pass", "jobs": 2}, {"outcome": "fail", "jobs": 2}]
    assert [(t["label"], t["n8"], t["all"],
             t["jobs_not_passed"]) for t in found["totals"]] == [("unit benches", 4, 4, 2)]
    assert [f["job"] for f in found["failures"]] == [2, 3]


def test_lists_as_json(bench):
    suite = bench.suite("budget 7\nrepeat unit pass cfg=n8\n")
    assert json.loads(bench.call("list", suite, "--json").stdout) == [
        {"command": "build/n8-fast/unit-pass --run-seed 0x1 --index 0 --count 1", "second_run": False},
        {"command": "build/n8-fast/unit-pass --run-seed 0x1 --index 0 --count 1", "second_run": True},
    ]
    assert (json.loads(bench.call("list", "--suite-dir", ".", "--json").stdout) ==
            [{"suite": "t", "jobs": 2, "budget_s": 7, "path": "./t.suite"}])


def test_diff_says_what_kind_of_change(bench):
    cycles = r"report 'outcome=pass\ncycles=%d\ntrace_hash=0x5\n'"
    body = "unit pass cfg=n8\nunit fail cfg=n8\nunit slow cfg=n8\nunit nohash cfg=n8\nunit random cfg=n4\n"
    for name, count in (("slow", 1000), ("nohash", 1000)):
        bench.program(bench.build / f"n8-fast/unit-{name}", cycles % count)
    bench.run(body)
    become(bench, "pass", "fail")
    become(bench, "fail", "pass")
    bench.program(bench.build / "n8-fast/unit-slow", cycles % 1100)
    bench.program(bench.build / "n8-fast/unit-nohash", cycles % 750)
    bench.run(body.replace("unit random cfg=n4\n", "unit repro cfg=n4\n"))
    found = bench.call("diff", "1", "2", "--json")
    assert found.returncode == 1
    found = json.loads(found.stdout)
    assert (found["runs"], found["jobs"], found["differ"], found["equal_hashes"]) == ([1, 2], 6, 6, 2)
    changes = [(c["change"], c["job"].split(" index")[0], c["before"], c["after"], c["percent"])
               for c in found["changes"]]
    assert changes[0][:4] == ("new failure", "unit pass n8-fast", "pass", "fail")
    assert ("fixed", "unit fail n8-fast", "fail", "pass", None) in changes
    assert (("slower", "unit slow n8-fast", "1000", "1100", 10.0) in changes and
            ("faster", "unit nohash n8-fast", "1000", "750", -25.0) in changes)
    assert (("only in run 1", "unit random n4-fast", "pass", None, None) in changes and
            ("only in run 2", "unit repro n4-fast", None, "fail", None) in changes)
    lines = bench.call("diff", "1", "2").stdout.splitlines()
    assert (lines[0].split() == ["change", "job", "before", "after", "%"] and
            lines[-1] == "runs 1 and 2: 6 jobs, 6 differ, 2 with equal trace hashes")


def test_a_long_history_is_searched_once(bench):
    """The same job 30,000 times: the query took its square once."""
    bench.run("unit fail cfg=n8\n")
    bench.many(30001, first_index="first_index")
    bench.run("unit fail cfg=n8\n")
    found = json.loads(bench.call("query", "first-failure", "--json").stdout)
    assert [(f["first_failed_run"], f["last_passed_run"], f["job"]) for f in found] == [(1, None, 0)]


def test_long_lists_are_compared_once(bench):
    """Each job with each, that would be thousands of millions of steps."""
    bench.run("unit pass cfg=n8\n")
    bench.many(50000)
    document = ask(bench, "flaky")
    assert document == []
    done = bench.call("diff", "1", "1", "--json")
    found = json.loads(done.stdout)
    assert (found["jobs"], found["differ"], found["equal_hashes"]) == (50000, 0, 50000)
