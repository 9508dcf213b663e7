"""What the regression runner runs and in which order: draws by weight, budgets, shards, what failed last time first."""

import re
import sqlite3
import subprocess

import pytest

from regress_bench import PROGRAM, ROOT, UNITS, bench, programs  # noqa: F401


def listed(bench, text, *args):
    done = bench.run(text, "--print-jobs", *args)
    assert done.returncode == 0, done.stderr
    return [line for line in done.stdout.splitlines() if line.split()[0] in ("unit", "test", "repeat", "network")]


def started(bench):
    """Jobs of the newest run in the order in which they were started."""
    folders = sorted((bench.build / "regress").iterdir(), key=lambda path: int(path.name))[-1]
    logs = sorted(folders.glob("*/log.txt"), key=lambda path: (path.stat().st_mtime_ns, path.parent.name))
    return [re.sub(r"^\d+-unit-", "", path.parent.name) for path in logs]


# ---- the suites of the designs ----


@pytest.mark.parametrize("path", sorted((ROOT / "designs").glob("*/suites/*.suite")),
                         ids=lambda path: path.parts[-3] + "-" + path.stem)
def test_suites_are_read(path):
    """Every stored suite, those that only a night runs, too: names of tests, units and configurations exist."""
    done = subprocess.run([PROGRAM, "targets", "--suite", str(path), "--build-dir", "build"], cwd=ROOT,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 0, done.stderr


# ---- parts of a suite ----


def test_count_draws_by_seed(bench):
    text = "unit pass cfg=n4,n8 count=20\n"
    ten = listed(bench, text, "--count", "10")
    assert len(ten) == 10 and len(set(ten)) == 10
    assert ten == listed(bench, text, "--count", "10"), "the same seed draws the same jobs"
    assert ten != listed(bench, text, "--count", "10", "--seed", "2")
    everything = listed(bench, text)
    assert [line for line in everything if line in ten] == ten, "jobs stay in their order"
    assert set(ten) < set(listed(bench, text, "--count", "11")), "a longer draw begins with the shorter one"
    assert listed(bench, text, "--count", "40") == listed(bench, text, "--count", "999") == everything
    done = bench.run(text, "--count", "3")
    assert done.returncode == 0 and done.stdout.endswith("3 passed, 0 failed\n")


def test_weights(bench):
    text = "unit pass cfg=n8 count=200\nunit fail cfg=n8 count=200 weight=9\n"
    heavy = sum(len([line for line in listed(bench, text, "--count", "20", "--seed", str(seed)) if "fail" in line])
                for seed in range(8))
    # 160 draws, nine in ten of the heavy ones: 144 with a standard deviation of about 4.
    assert 125 < heavy < 158
    assert "unit fail cfg=n8 kind=fast index=0 cases=1 weight=9 " in bench.run(text, "--print-jobs").stdout
    assert listed(bench, "\n".join(listed(bench, text)) + "\n", "--count", "20") == listed(bench, text, "--count", "20")


@pytest.mark.parametrize("value", ["0", "1001", "x"])
def test_bad_weight(bench, value):
    done = bench.run(f"unit pass cfg=n8 weight={value}\n")
    assert done.returncode == 2 and "expected a number from 1 to 1000" in done.stderr


def test_second_runs_come_along(bench):
    text = "unit pass cfg=n8 count=10 determinism=10\n"
    assert all(line.startswith("repeat ") for line in listed(bench, text, "--count", "4"))
    assert bench.run(text, "--count", "4").stdout.endswith("8 passed, 0 failed\n")
    parts = [listed(bench, text, "--shard", f"{i}/3") for i in (1, 2, 3)]
    assert [len(part) for part in parts] == [4, 3, 3] and all(line.startswith("repeat ")
                                                              for part in parts for line in part)


def test_shards_are_the_suite(bench):
    text = "unit pass cfg=n4,n8 count=7\ntest conv cfg=n8 count=3\nrepeat unit slow cfg=n4\n"
    parts = [listed(bench, text, "--shard", f"{i}/4") for i in (1, 2, 3, 4)]
    assert sorted(sum(parts, [])) == sorted(listed(bench, text)) and {len(part) for part in parts} == {4, 5}
    assert listed(bench, text, "--shard", "1/1") == listed(bench, text)
    assert bench.run(text, "--shard", "2/4").returncode == 0
    with sqlite3.connect(bench.db) as db:
        # one of them runs twice
        assert (db.execute("SELECT shard, (SELECT count(*) FROM job) FROM run").fetchall() ==
                [("2/4", len(parts[1]) + 1)])
    done = bench.run("unit pass cfg=n8\n", "--shard", "2/2")
    assert done.returncode == 1 and "nothing to run" in done.stderr


@pytest.mark.parametrize("value", ["0/2", "3/2", "1", "/", "1/0", "a/b", "1/2/3", "-1/2"])
def test_bad_shard(bench, value):
    done = bench.run("unit pass cfg=n8\n", "--shard", value)
    assert (done.returncode == 2 and f"--shard: expected for example 2/5, the second of five parts, got '{value}'"
            in done.stderr and len(done.stderr.splitlines()) == 1)


def test_budget_is_filled_with_known_times(bench):
    text = "unit pass cfg=n8 count=30\nunit slow cfg=n8 count=30\n"
    done = bench.run(text, "--budget", "10", "--jobs", "1", "--print-jobs")
    assert "budget 10 s: 10 of 60 jobs drawn, the times of 0 are known" in done.stderr, "unknown: a second each"
    assert bench.run("unit pass cfg=n8\nunit slow cfg=n8\n").returncode == 0
    with sqlite3.connect(bench.db) as db:
        db.execute("UPDATE job SET wall_ms=CASE test WHEN 'slow' THEN 10000 ELSE 500 END")
    jobs = listed(bench, text, "--budget", "50", "--jobs", "2")
    slow = len([line for line in jobs if "slow" in line])
    assert 85 < slow * 10 + (len(jobs) - slow) * 0.5 <= 100, "two processes for fifty seconds"
    assert "budget 50\n" in bench.run(text, "--budget", "50", "--print-jobs").stdout
    assert len(listed(bench, "unit slow cfg=n8 count=3\n", "--budget", "1", "--jobs", "1")) == 1, "one job at least"


# ---- the order of jobs ----


def test_without_history_the_list_is_the_order(bench):
    bench.run("unit pass cfg=n8 index=3\nunit nohash cfg=n8\nunit fail cfg=n4\nunit stdin cfg=n8\n", "--jobs", "1")
    assert started(bench) == ["pass-n8", "nohash-n8", "fail-n4", "stdin-n8"]


def test_failures_first_then_the_longest(bench):
    text = "unit pass cfg=n8\nunit nohash cfg=n8\nunit fail cfg=n4\nunit stdin cfg=n8\nunit fail cfg=n8\n"
    bench.run(text, "--jobs", "1")
    with sqlite3.connect(bench.db) as db:
        db.execute("UPDATE job SET wall_ms=CASE test WHEN 'nohash' THEN 700 WHEN 'stdin' THEN 900 ELSE 100 END")
    before = bench.jobs("test,outcome,trace_hash")
    bench.run(text + "unit children cfg=n8\n", "--jobs", "1")
    assert started(bench) == ["fail-n4", "fail-n8", "children-n8", "stdin-n8",
                              "nohash-n8", "pass-n8"], "failed last time, never timed, longest"
    assert bench.jobs("test,outcome,trace_hash")[:5] == before, "the order is no part of the result"
    # Another suite has another past.
    bench.call("run", "--suite", bench.suite("unit pass cfg=n8\nunit fail cfg=n8\n", "other.suite"), "--jobs", "1")
    assert started(bench) == ["fail-n8", "pass-n8"], "never passed, so never timed"


def test_fail_fast_finds_the_old_failure_at_once(bench):
    text = "unit pass cfg=n8 count=9\nunit fail cfg=n8\n"
    bench.run(text, "--jobs", "1")
    done = bench.run(text, "--jobs", "1", "--fail-fast")
    assert done.stdout.endswith("0 passed, 1 failed, 9 did not run\n") and "not run: 9 jobs" in done.stdout


def test_times_of_failures_say_nothing(bench):
    bench.run("unit pass cfg=n8\nunit hang cfg=n8 timeout=1\n", "--jobs", "2")
    bench.program(bench.build / "n8-fast/unit-hang", UNITS["pass"])
    text = "unit pass cfg=n8\nunit hang cfg=n8 timeout=1\n"
    bench.run(text, "--jobs", "1")
    bench.run(text, "--jobs", "1")
    with sqlite3.connect(bench.db) as db:
        db.execute("UPDATE job SET wall_ms=5000 WHERE test='pass' AND run=3")
    bench.run(text, "--jobs", "1")
    assert started(bench) == ["pass-n8", "hang-n8"]


def test_eta_comes_from_history(bench):
    bench.run("unit slow cfg=n8\n")
    with sqlite3.connect(bench.db) as db:
        db.execute("UPDATE job SET wall_ms=100000")
    bench.suite("unit slow cfg=n8 count=4\n")
    done = subprocess.run(["script", "-qec", f"{PROGRAM} run --suite t.suite --jobs 2", "/dev/null"],
                          cwd=bench.path, env=bench.env, capture_output=True, text=True)
    if "failed to create pseudo-terminal" in done.stderr:
        pytest.skip("not run: this machine has no pseudo-terminals")
    assert re.search(r"\[0/4\] 0 failed .* eta 3:(19|20)", done.stdout), done.stdout
    assert re.search(r"\[2/4\] 0 failed .* eta 1:(39|40)", done.stdout), done.stdout


def test_when(bench):
    (bench.path / "data").write_text("")
    text = "unit pass cfg=n8 when=data\nunit fail cfg=n8 count=3 when=other/data\n"
    assert len(listed(bench, text)) == 1
    done = bench.run(text)
    assert (done.returncode == 0 and "left out: unit fail (there is no other/data)\n" in done.stdout and
            done.stdout.endswith("1 passed, 0 failed\n"))
    assert "left out" not in bench.run("unit pass cfg=n8 when=data\n").stdout
    assert bench.run("unit pass cfg=n8 when=nothing\n").returncode == 1, "nothing to run"


def test_many_failures_are_found_once(bench):
    suite = "unit pass cfg=n8 count=50000\n"
    bench.run("unit pass cfg=n8\n")
    bench.many(50000, outcome="'fail'")
    assert len(listed(bench, suite, "--budget", "1")) > 0
