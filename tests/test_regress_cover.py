"""Coverage in the runner: marked jobs, files of jobs, figures of a run."""

import json
import sqlite3

import pytest

from regress_bench import UNITS, bench, programs, write_program  # noqa: F401


def jobs(bench, text, *args):
    done = bench.run(text, "--print-jobs", *args)
    assert done.returncode == 0, done.stderr
    return [line for line in done.stdout.splitlines() if line.split()[0] in ("unit", "test", "repeat", "case")]


def test_marked(bench):
    text = ("unit pass cfg=n4,n8 count=7 cases=3 determinism=2 cover=3 code=2 timeout=10\nunit fail cfg=n8 count=3\n"
            "repeat test conv cfg=n8 cover=9 kind=san\n")
    marked = jobs(bench, text, "--marked")
    assert [line.split()[:5] for line in marked[:4]] == [["unit", "pass", f"cfg={cfg}", "kind=cov", f"index={i}"]
                                                         for cfg in ("n4", "n8") for i in (0, 3)]
    assert all("timeout=100 " in line for line in marked[:4])
    assert [line.split()[2:5] for line in marked[4:6]] == [[f"cfg={cfg}", "kind=fast", "index=6"]
                                                           for cfg in ("n4", "n8")] and "timeout=10 " in marked[4]
    assert len(marked) == 15 and marked[14].startswith("test conv cfg=n8 kind=fast index=8 cases=1 ")
    plain = jobs(bench, text)
    assert len(plain) == 7 * 2 + 3 + 1, "without the option the words change nothing"


def test_nothing_is_marked(bench):
    """All jobs that write coverage, once each, the first one of each name in the build that counts lines."""
    text = ("unit pass cfg=n8 count=2 determinism=1\nunit pass cfg=n8 kind=tap\ntest conv cfg=n8\n"
            "network digits cfg=n8\n")
    marked = jobs(bench, text, "--marked")
    assert [line.split()[:5] for line in marked] == [["unit", "pass", "cfg=n8", "kind=cov", "index=0"],
                                                     ["unit", "pass", "cfg=n8", "kind=fast", "index=1"],
                                                     ["test", "conv", "cfg=n8", "kind=cov", "index=0"]]
    listed = bench.run(text, "--marked", "--print-jobs").stdout
    assert "# t marks no job for coverage (cover=): all its tests, benches and stored cases\n" in listed
    assert bench.run("network digits cfg=n8\n", "--marked").returncode == 1


def test_marked_only(bench):
    text = "unit pass cfg=n8 count=0 cover=2\nunit fail cfg=n8\n"
    assert len(jobs(bench, text)) == 1 and len(jobs(bench, text, "--marked")) == 2


def test_include(bench):
    (bench.path / "more.suite").write_text("unit pass cfg=n8 count=2 cover=1\n")
    text = "unit fail cfg=n8\ninclude more.suite\n"
    assert len(jobs(bench, text)) == 3 and len(jobs(bench, text, "--marked")) == 1
    (bench.path / "more.suite").write_text("unit pass cfg=n8\nnonsense\n")
    done = bench.run(text)
    assert done.returncode == 2 and "more.suite:2: " in done.stderr
    for line in ("include none.suite", "include a/b.suite", "include", "include t.suite"):
        done = bench.run(line + "\n")
        assert done.returncode == 2 and len(done.stderr.splitlines()) == 1, line


@pytest.mark.parametrize(
    "line, message",
    [
        ("network digits cfg=n8 cover=1", "a network writes no coverage"),
        ("python conv cfg=n8 cover=1", "a testcase in Python writes no coverage"),
        ("unit pass cfg=n8 cover=0", "expected a number from 1 to"),
        ("case all cfg=n8 cover=2", "expected cover=1"),
        ("unit pass cfg=n8 cover=2 code=3", "code=3 is more than cover=2"),
        ("unit pass cfg=n8 count=0", "count=0: expected at least 1"),
    ],
)
def test_bad_marks(bench, line, message):
    done = bench.run(line + "\n")
    assert done.returncode == 2 and message in done.stderr and len(done.stderr.splitlines()) == 1


def commands(bench):
    return [log.read_text() for log in sorted((bench.build / "regress").glob("*/*/log.txt"))]


@pytest.fixture
def telling(bench):
    """Programs that print their arguments; of kind cov, too."""
    for cfg in ("n4", "n8"):
        folder = bench.build / f"{cfg}-cov"
        folder.mkdir()
        for name in ("unit-pass", "tandem"):
            write_program(folder / name, 'echo "$ALL"; ' + UNITS["pass"])
            path = folder / name
            path.write_text(path.read_text().replace("index=0", 'ALL="$*" index=0', 1))
    return bench


def test_files(telling):
    done = telling.run("unit pass cfg=n8 count=2 determinism=1 kind=cov\ntest conv cfg=n8 kind=cov\n",
                       "--coverage", "some/where")
    assert done.returncode == 0, done.stderr
    first, again, second, test = commands(telling)
    assert first.split()[-4:] == ["--cov", "some/where/00000.cov", "--code-cov", "some/where/00000.code"]
    assert "--cov" not in again, "the second run of a job covers nothing new"
    assert "some/where/00002.cov" in second and "some/where/00003.code" in test
    assert (telling.path / "some/where").is_dir()
    with sqlite3.connect(telling.db) as db:
        assert db.execute("SELECT coverage_dir FROM run").fetchone() == ("some/where",)
        assert "--cov" not in db.execute("SELECT cmd FROM job").fetchone()[0], "what a user would type"


def test_no_files(telling):
    assert telling.run("unit pass cfg=n8 kind=cov\n").returncode == 0
    assert "--cov" not in commands(telling)[0]
    assert telling.call("run", "--resume", "--marked").returncode == 2
    assert telling.call("run", "--resume", "--coverage", "x").returncode == 2


def test_resumed(telling):
    """A run that goes on writes where it wrote before."""
    telling.run("unit pass cfg=n8 count=2 kind=cov\n", "--coverage", "cov")
    with sqlite3.connect(telling.db) as db:
        db.execute("UPDATE job SET outcome=NULL WHERE idx=1")
        db.execute("UPDATE run SET state='interrupted'")
    assert telling.call("run", "--resume").returncode == 0
    assert any("cov/00001.cov" in text for text in commands(telling)[1:])


FIGURES = {
    "figures": [
        {"name": "line", "percent": 97.25, "percent_before": 96.5, "covered": 389, "points": 400},
        {"name": "functional", "percent": 50.0, "percent_before": 50.0, "covered": 5, "points": 10},
    ]
}


def test_figures(bench):
    for percent in (97.25, 98.0):
        assert bench.run("unit pass cfg=n8\n").returncode == 0
        figures = [dict(FIGURES["figures"][0], percent=percent), FIGURES["figures"][1]]
        (bench.path / "f.json").write_text(json.dumps({"figures": figures}))
        assert bench.call("coverage", "f.json").returncode == 0
    bench.run("unit pass cfg=n8\n")
    rows = json.loads(bench.call("query", "coverage", "--json").stdout)
    assert [(row["run"], row["name"], row["percent"], row["covered"], row["points"]) for row in rows] == [
        (2, "line", 98.0, 389, 400),
        (2, "functional", 50.0, 5, 10),
        (1, "line", 97.25, 389, 400),
        (1, "functional", 50.0, 5, 10),
    ]
    assert bench.call("coverage", "f.json", "--run", "1").returncode == 0, "once more: the newer figures stand"
    assert json.loads(bench.call("query", "coverage", "--run", "1", "--json").stdout)[0]["percent"] == 98.0


@pytest.mark.parametrize(
    "text, message",
    [
        ("{", "f.json:1: "),
        ("{}", 'expected an object with "figures"'),
        ('{"figures": [{"name": "x", "percent": 1}]}', "figures[0]: expected name, percent"),
        (json.dumps({"figures": FIGURES["figures"] + [dict(FIGURES["figures"][0], percent=101.0)]}),
         "figures[2]: expected"),
        (json.dumps({"figures": [dict(FIGURES["figures"][0], covered=401)]}), "figures[0]: expected"),
    ],
)
def test_bad_figures(bench, text, message):
    bench.run("unit pass cfg=n8\n")
    (bench.path / "f.json").write_text(text)
    done = bench.call("coverage", "f.json")
    assert done.returncode == 1 and message in done.stderr and len(done.stderr.splitlines()) == 1
    assert json.loads(bench.call("query", "coverage", "--json").stdout) == [], "all of a file or nothing"


def test_no_run(bench):
    assert bench.call("coverage", "f.json").returncode == 1
    assert bench.call("coverage").returncode == 2


SCORE = {"design": "npu", "cfg": "n4", "suite": "smoke", "mutants": 10, "of": 20, "score": 75.0, "seconds": 3.5,
         "cpu": 6, "verdicts": {"detected": 5, "survived": 1, "crashed": 1, "proven": 1, "equivalent": 1, "absent": 1},
         "blamed": {"by_units": 4, "right": 2, "around": 1}}


def test_runs_of_qualify(bench):
    """Each is a row, newest first; of a design, of a configuration."""
    for number, more in enumerate([{}, {"cfg": "n8"}, {"design": "other", "cfg": "w", "blamed": dict.fromkeys(
            ("by_units", "right", "around"), 0)}]):
        (bench.path / "s.json").write_text(json.dumps(dict(SCORE, score=70.0 + number, **more)))
        done = bench.call("qualify", "s.json")
        assert done.returncode == 0, done.stderr
    rows = json.loads(bench.call("query", "qualify", "--json").stdout)
    assert [(r["design"], r["cfg"], r["score"], r["blame"]) for r in rows] == [
        ("other", "w", 72.0, None), ("npu", "n8", 71.0, 75.0), ("npu", "n4", 70.0, 75.0)]
    assert [rows[2][key] for key in ("mutants", "of", "detected", "weak", "reached", "not_reached", "equivalent",
                                     "cpu_s")] == [10, 20, 5, 2, 0, 0, 3, 6.0]
    assert len(json.loads(bench.call("query", "qualify", "npu", "--json").stdout)) == 2
    assert len(json.loads(bench.call("query", "qualify", "--cfg", "n8", "--json").stdout)) == 1


@pytest.mark.parametrize("text", ["", "[]", json.dumps(dict(SCORE, score=101)), json.dumps(dict(SCORE, mutants=30)),
                                  json.dumps({k: v for k, v in SCORE.items() if k != "blamed"}),
                                  json.dumps(dict(SCORE, verdicts=3))])
def test_a_bad_run_of_qualify(bench, text):
    (bench.path / "s.json").write_text(text)
    done = bench.call("qualify", "s.json")
    assert done.returncode == 1 and len(done.stderr.splitlines()) == 1 and "s.json" in done.stderr
    assert json.loads(bench.call("query", "qualify", "--json").stdout) == []
    assert bench.call("qualify").returncode == 2
