"""Failures of a run by signature, and one of each explained: run again with its report, a small case looked for."""

import json
import re
import signal

import pytest

from regress_bench import bench, leftovers, popen, programs, wait_until  # noqa: F401

# A program of tests: fails with a signature that the index decides, explains and shrinks its cases.
PROGRAM = r"""#!/bin/bash
echo "$@" >> calls
command=$1; file=$2; shift
index=0 result= cases= report= output=
while [ $# -gt 0 ]; do
  case $1 in
    --index) index=$2; shift;;
    --result) result=$2; shift;;
    --case-dir) cases=$2; shift;;
    --report) report=$2; shift;;
    --output) output=$2; shift;;
  esac
  shift
done
say() { printf '%b' "$1" > "$result.tmp" && mv "$result.tmp" "$result"; }
case $command in
  test)
    [ "$index" = 0 ] && { say 'outcome=pass\n'; exit 0; }
    [ "$index" = 9 ] && kill -SEGV $$
    echo "signature=unit:u$((index % 2)):word" > $cases/c.case
    say "outcome=fail\nsignature=unit:u$((index % 2)):word\nmessage=wrong\ncycles=$((1000 - index))\n\
case=$cases/c.case\nrepro=make repro CASE=$cases/c.case BREAK=1\n"; exit 1;;
  repro)
    AGAIN
    mkdir -p $report && echo page > $report/report.html && echo wave > $report/wave.fst
    say "outcome=fail\n$(cat $file)\ncase=$file\n"; exit 1;;
  shrink)
    SHRINK
    echo small > $output; exit 1;;
esac
"""


def tandem(bench, again="", shrink="", cfg="n8"):
    folder = bench.build / f"{cfg}-fast"
    bench.program(folder / "tandem", "")
    (folder / "tandem").write_text(PROGRAM.replace("AGAIN", again).replace("SHRINK", shrink))


def buckets(bench):
    return json.loads(bench.call("query", "buckets", "--json").stdout)


def calls(bench):
    return [line.split()[0] for line in (bench.path / "calls").read_text().splitlines()]


SUITE = "test conv cfg=n8 count=6\n"


def test_failures_by_signature(bench):
    tandem(bench)
    done = bench.run(SUITE + "unit crash cfg=n8 count=2\nunit hang cfg=n8 timeout=1\nunit silent cfg=n4\n"
                     "unit silent cfg=n8\n", "--jobs", "2")
    found = buckets(bench)
    assert [(b["signature"], b["jobs"], b["what"]) for b in found] == [
        ("unit:u1:word", 3, "test conv"),
        ("unit:u0:word", 2, "test conv"),
        ("crash SIGSEGV, unit crash", 2, "unit crash"),
        ("no result file, unit silent", 2, "unit silent"),
        ("timeout, unit hang", 1, "unit hang"),
    ]
    assert [b["job"] for b in found[:2]] == [5, 4], "the one with the fewest cycles"
    # The summary has the same table; nothing ran again.
    assert re.search(r"^ +3  unit:u1:word +fail +5  test conv +n8-fast  make repro CASE=", done.stdout, re.M)
    assert set(calls(bench)) == {"test"} and done.stdout.count("unit:u1:word") == 1
    assert done.stdout.endswith("1 passed, 10 failed\n")


def test_one_of_each_is_explained(bench):
    tandem(bench)
    done = bench.run(SUITE, "--explain", "5", "--out", "o")
    assert done.returncode == 1 and done.stderr == ""
    found = buckets(bench)
    assert [(b["job"], b["report"], b["wave"], b["small_case"]) for b in found] == [
        (5, "o/00005-explained/report", "o/00005-explained/report/wave.fst", "o/00005-explained/small.case"),
        (4, "o/00004-explained/report", "o/00004-explained/report/wave.fst", "o/00004-explained/small.case"),
    ]
    assert calls(bench).count("repro") == 2 and calls(bench).count("shrink") == 2
    assert ("job 5: report in o/00005-explained/report\njob 5: small case: "
            "make repro CASE=o/00005-explained/small.case BREAK=1\n" in done.stdout)
    assert "again" not in done.stdout.split("make repro")[-1] and done.stdout.endswith("1 passed, 5 failed\n")
    assert [row[0] for row in bench.jobs("outcome")] == ["pass"] + ["fail"] * 5, "an explanation changes no outcome"
    # Going on with the run explains nothing twice.
    done = bench.call("run", "--resume", "--explain", "5")
    assert calls(bench).count("repro") == 2 and "job 5: report in" in done.stdout


def test_only_so_many_signatures(bench):
    tandem(bench)
    bench.run(SUITE, "--explain", "1")
    assert [b["report"] is None for b in buckets(bench)] == [False, True] and calls(bench).count("repro") == 1


def test_what_passes_now_is_said(bench):
    tandem(bench, again="say 'outcome=pass\\n'; exit 0")
    done = bench.run("test conv cfg=n8 index=1\n", "--explain", "5")
    assert "job 0, run again: it passed, with the same case in the same build\n" in done.stdout
    assert ([(b["report"], b["small_case"]) for b in buckets(bench)] == [(None, None)] and
            calls(bench).count("shrink") == 0)


def test_another_failure_is_said(bench):
    tandem(bench, again="echo signature=memory > $file")
    done = bench.run("test conv cfg=n8 index=1\n", "--explain", "5")
    assert "job 0, run again: another failure, memory\n" in done.stdout


def test_a_crash_again_is_said(bench):
    tandem(bench, again="kill -SEGV $$")
    done = bench.run("test conv cfg=n8 index=1\n", "--explain", "5")
    assert "job 0, run again: no result file\n" in done.stdout and buckets(bench)[0]["report"] is None


def test_explanations_have_a_time(bench):
    tandem(bench, again="trap '' TERM; (sleep 1000) & sleep 1000 & wait; sleep 1000")
    done = bench.run(SUITE, "--explain", "5", "--explain-time", "1")
    assert ("job 5, run again: stopped, the time for explanations is over\n" in done.stdout and
            calls(bench).count("repro") == 1)
    assert done.stdout.endswith("1 passed, 5 failed\n") and leftovers(bench) == []


def test_without_a_small_case(bench):
    tandem(bench, shrink="exit 2")
    done = bench.run("test conv cfg=n8 index=1\n", "--explain", "5")
    assert "small case" not in done.stdout and [(b["report"] is None,
                                                 b["small_case"]) for b in buckets(bench)] == [(False, None)]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_ends_the_explanations(bench, number):
    tandem(bench, again="touch waiting; sleep 1000")
    runner = popen(bench, "run", "--suite", bench.suite(SUITE), "--explain", "5")
    wait_until(lambda: (bench.path / "waiting").exists())
    runner.send_signal(number)
    out, err = runner.communicate(timeout=20)
    assert (runner.returncode == 1 and err == "" and out.endswith("1 passed, 5 failed\n") and
            calls(bench).count("repro") == 1)
    assert leftovers(bench) == []


def test_kill_9_during_an_explanation(bench):
    tandem(bench, again="touch waiting; (trap '' TERM HUP; sleep 1000) & sleep 1000")
    runner = popen(bench, "run", "--suite", bench.suite(SUITE), "--explain", "5")
    wait_until(lambda: (bench.path / "waiting").exists())
    runner.kill()
    runner.communicate(timeout=20)
    assert leftovers(bench) == []
    tandem_again = bench.call("run", "--resume")
    assert tandem_again.returncode == 1 and "run 1 is complete: there is nothing to resume" in tandem_again.stdout


def test_the_setup_of_the_job_comes_along(bench):
    tandem(bench)
    bench.run("test conv cfg=n8 index=1 -- k=3 --break m1.R:20:flip --no-checks s=2\n", "--explain", "5", "--out", "o")
    lines = (bench.path / "calls").read_text().splitlines()
    assert lines[1].endswith(
        "--break m1.R:20:flip --no-checks --report o/00000-explained/report --result o/00000-explained/result.txt")
    assert (lines[2].startswith("shrink o/00000-test-conv-n8/cases/c.case ") and
            " --break m1.R:20:flip --no-checks --output " in lines[2])


def test_benches_have_reports_and_small_cases(bench):
    body = r"""[ -n "$cases" ] && { echo x > $cases/1.case
report 'outcome=fail\nsignature=mesh: mismatch\ncase='$cases'/1.case\n'; exit 1; }
echo "$0 $args" >> calls; report 'outcome=fail\nsignature=mesh: mismatch\n'; exit 1"""
    folder = bench.build / "n8-debug"
    folder.mkdir()
    bench.program(folder / "unit-fail", body)
    text = (folder / "unit-fail").read_text().replace("while [ $#", 'args="$*"\nwhile [ $#', 1)
    (folder / "unit-fail").write_text(text)
    bench.run("unit fail cfg=n8 kind=debug\nunit crash cfg=n8\n", "--explain", "5", "--out", "o")
    again, small = (bench.path / "calls").read_text().splitlines()
    # a script gets the path of the file: the program of the run
    assert (again == "o/programs/n8-debug/unit-fail repro o/00000-unit-fail-n8/cases/1.case --report "
            "o/00000-explained/report --result o/00000-explained/result.txt")
    assert small.startswith(
        "o/programs/n8-debug/unit-fail shrink o/00000-unit-fail-n8/cases/1.case --output o/00000-explained/small.case ")
