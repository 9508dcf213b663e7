"""Files of old runs are removed, and nothing else is."""

import json
import signal
import sqlite3
import time

import pytest

from regress_bench import bench, family, popen, programs, start  # noqa: F401

FILLER = r"""head -c 300000 /dev/zero > $cases/big; report 'outcome=fail\nmessage=bad\n'; exit 1"""


def gc(bench, *args, status=0):
    done = bench.call("gc", "--json", *args)
    assert done.returncode == status and done.stderr == "", done.stderr
    return json.loads(done.stdout)


def filled(bench, runs, *args):
    bench.program(bench.build / "n8-fast/unit-fill", FILLER)
    for _ in range(runs):
        bench.run("unit fill cfg=n8\n", *args)


def folders(bench):
    return sorted(int(path.name) for path in (bench.build / "regress").iterdir() if path.name.isdigit())


def backdate(bench, run, days):
    with sqlite3.connect(bench.db) as db:
        db.execute("UPDATE run SET started_at=? WHERE id=?", (int(time.time()) - int(days * 86400), run))


def test_keep_runs(bench):
    filled(bench, 4)
    dry = gc(bench, "--keep-runs", "2", "--dry-run")
    assert (folders(bench) == [1, 2, 3, 4] and [(r["run"], r["files"]) for r in dry["runs"]] ==
            [(4, "stay"), (3, "stay"), (2, "would go"), (1, "would go")])
    done = gc(bench, "--keep-runs", "2")
    assert (folders(bench) == [3, 4] and [(r["run"], r["files"]) for r in done["runs"]] ==
            [(4, "stay"), (3, "stay"), (2, "removed"), (1, "removed")])
    assert (dry["dry_run"] and not done["dry_run"] and done["freed_bytes"] == dry["freed_bytes"] >= 600000 and
            done["kept_bytes"] >= 600000)
    # The rows are still there, and say that the files are not.
    runs = json.loads(bench.call("query", "runs", "--json").stdout)
    assert [(r["run"], r["failed"],
             r["files_removed"]) for r in runs] == [(4, 1, False), (3, 1, False), (2, 1, True), (1, 1, True)]
    assert bench.call("report", "--run", "1").returncode == 0
    again = gc(bench, "--keep-runs", "2")
    assert again["freed_bytes"] == 0 and [r["run"] for r in again["runs"]] == [4, 3]


def test_keep_days_and_runs(bench):
    filled(bench, 4)
    for run, days in ((1, 40), (2, 20), (3, 10.5), (4, 10.5)):
        backdate(bench, run, days)
    gc(bench, "--keep-days", "30")
    assert folders(bench) == [2, 3, 4]
    gc(bench, "--keep-days", "10", "--keep-runs", "2")
    assert folders(bench) == [3, 4], "kept by one of them"
    gc(bench, "--keep-days", "11")
    assert folders(bench) == [3, 4]
    gc(bench, "--keep-days", "10")
    assert folders(bench) == []


def test_max_size(bench):
    filled(bench, 5)
    done = gc(bench, "--max-size", "1")
    assert folders(bench) == [3, 4, 5] and done["kept_bytes"] <= 1 << 20
    gc(bench, "--max-size", "0")
    assert folders(bench) == []


def test_forget(bench):
    filled(bench, 3)
    gc(bench, "--keep-runs", "2")
    gc(bench, "--keep-runs", "1", "--forget")
    with sqlite3.connect(bench.db) as db:
        assert [db.execute(f"SELECT DISTINCT {column} FROM {table}").fetchall()
                for table, column in (("run", "id"), ("job", "run"), ("program", "run"))] == [[(3,)]] * 3
    assert folders(bench) == [3]
    filled(bench, 1)
    assert folders(bench) == [3, 4], "numbers are not used again"


def test_a_run_that_runs_stays(bench):
    runner = start(bench, "unit family cfg=n8\n", "--jobs", "1")
    family(bench, 2)
    filled(bench, 1)
    done = gc(bench, "--keep-runs", "0", "--forget")
    assert [(r["run"], r["files"]) for r in done["runs"]] == [(2, "removed"), (1, "in use")]
    assert len(list((bench.path / "out").glob("*/log.txt"))) == 1
    runner.send_signal(signal.SIGINT)
    out, err = runner.communicate(timeout=20)
    assert "not run: 1 jobs" in out and err == ""
    assert [r["files"] for r in gc(bench, "--keep-runs", "0")["runs"]] == ["removed"]
    assert not (bench.path / "out").exists()


def test_only_the_runners_folders_go(bench):
    """The folder of a run may have other files in it: --out names any folder."""
    (bench.path / "mine").mkdir()
    (bench.path / "mine/thesis.txt").write_text("three years")
    (bench.path / "mine/00000-unit-other-n8").mkdir()
    filled(bench, 1, "--out", "mine")
    gc(bench, "--keep-runs", "0")
    assert sorted(path.name for path in (bench.path / "mine").iterdir()) == ["00000-unit-other-n8", "thesis.txt"]


def test_folder_of_a_later_run_stays(bench):
    filled(bench, 2, "--out", "o")
    done = gc(bench, "--keep-runs", "1")
    assert [(r["run"], r["files"]) for r in done["runs"]] == [(2, "stay")] and done["freed_bytes"] == 0
    assert (bench.path / "o/00000-unit-fill-n8/cases/big").exists()
    gc(bench, "--keep-runs", "0")
    assert not (bench.path / "o").exists()


def test_every_attempt_and_explanation_goes(bench):
    runner = start(bench, "unit family cfg=n8\n", "--jobs", "1")
    family(bench, 2)
    runner.kill()
    runner.communicate()
    for folder in ("00000-explained/report", "00000-unit-family-n8.2"):
        (bench.path / "out" / folder).mkdir(parents=True)
    gc(bench, "--keep-runs", "0")
    assert not (bench.path / "out").exists()


def test_text(bench):
    filled(bench, 2)
    done = bench.call("gc", "--keep-runs", "1")
    lines = done.stdout.splitlines()
    assert done.returncode == 0 and lines[0].split() == ["run", "suite", "days", "ago", "MiB", "files", "in"]
    assert (lines[2].split() == ["1", "t", "0", "0.3", "removed", "build/regress/1"] and
            lines[3] == "freed 0.3 MiB, 0.3 MiB stay")


@pytest.mark.parametrize("args",
                         [[], ["--forget"], ["--keep-runs", "-1"], ["--keep-days", "x"], ["--keep-runs", "1", "extra"]])
def test_usage(bench, args):
    bench.run("unit pass cfg=n8\n")
    done = bench.call("gc", *args)
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1 and done.stdout == ""
    assert folders(bench) == [1]


def test_without_database(bench):
    assert bench.call("gc", "--keep-runs", "1").returncode == 1
    assert not bench.db.exists()
