"""The results database of the regression runner: its settings, and databases of older and newer programs."""

import random
import sqlite3

import pytest

from regress_bench import bench, damage, popen, programs, start, wait_until  # noqa: F401

VERSION = 9

# What the program of that version made. Never edited.
SCHEMA_1 = """
CREATE TABLE run(id INTEGER PRIMARY KEY AUTOINCREMENT, suite TEXT NOT NULL, suite_path TEXT NOT NULL,
 seed TEXT NOT NULL, commit_hash TEXT NOT NULL,
 dirty INTEGER NOT NULL, tools TEXT NOT NULL, host TEXT NOT NULL, launcher TEXT NOT NULL, shard TEXT NOT NULL,
 parallel INTEGER NOT NULL,
 budget_s INTEGER NOT NULL, build_dir TEXT NOT NULL, out_dir TEXT, state TEXT NOT NULL, started_at INTEGER NOT NULL,
 elapsed_ms INTEGER);
CREATE TABLE job(id INTEGER PRIMARY KEY, run INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE,
 idx INTEGER NOT NULL, attempt INTEGER NOT NULL DEFAULT 1,
 what TEXT NOT NULL, test TEXT NOT NULL, cfg TEXT NOT NULL, kind TEXT NOT NULL, seed TEXT NOT NULL,
 first_index INTEGER NOT NULL, cases INTEGER NOT NULL,
 args TEXT NOT NULL, second_run INTEGER NOT NULL, timeout_s INTEGER NOT NULL, memory_mb INTEGER NOT NULL,
 cmd TEXT NOT NULL, outcome TEXT, signature TEXT,
 message TEXT, repro TEXT, cycles INTEGER, trace_hash TEXT, exit_status INTEGER, wall_ms INTEGER, cpu_ms INTEGER,
 max_rss_kb INTEGER, case_path TEXT,
 wave_path TEXT, log_path TEXT, UNIQUE(run, idx, attempt));
INSERT INTO run VALUES(1,'t','t.suite','0x1','c0ffee',0,'tools','host','local','1/1',2,0,'build','build/regress/1',
 'done',1700000000,1234);
INSERT INTO job VALUES(1,1,0,1,'unit','pass','n8','fast','0x1',0,1,'',0,120,4096,'build/n8-fast/unit-pass','pass',NULL,
 NULL,NULL,100,'0x1',0,5,4,900,NULL,NULL,'l');
INSERT INTO job VALUES(2,1,1,1,'unit','fail','n8','fast','0x1',0,1,'',0,120,4096,'build/n8-fast/unit-fail','fail',
 'mesh data','mesh: bad','make',7,NULL,1,5,4,900,
 NULL,NULL,'l');
PRAGMA user_version=1;
"""
SCHEMA_2 = """
CREATE INDEX job_history ON job(what, test, cfg, kind, seed, first_index);
CREATE INDEX job_signature ON job(run, signature) WHERE signature IS NOT NULL;
PRAGMA user_version=2;
"""
SCHEMA_3 = """
CREATE TABLE program(run INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE, path TEXT NOT NULL,
 hash TEXT NOT NULL, PRIMARY KEY(run, path)) WITHOUT ROWID;
ALTER TABLE run ADD COLUMN resumed INTEGER NOT NULL DEFAULT 0;
ALTER TABLE run ADD COLUMN cleaned INTEGER NOT NULL DEFAULT 0;
ALTER TABLE job ADD COLUMN bundle_path TEXT;
ALTER TABLE job ADD COLUMN shrunk_path TEXT;
CREATE INDEX job_time ON job(what, test, cfg, kind, cases, args, id) WHERE outcome='pass';
PRAGMA user_version=3;
"""
SCHEMA_4 = """
ALTER TABLE job ADD COLUMN work_cases INTEGER; ALTER TABLE job ADD COLUMN work_cycles INTEGER;
ALTER TABLE job ADD COLUMN mac_bound INTEGER;
ALTER TABLE job ADD COLUMN read_bound INTEGER; ALTER TABLE job ADD COLUMN write_bound INTEGER;
ALTER TABLE job ADD COLUMN bound INTEGER;
PRAGMA user_version=4;
"""
SCHEMA_5 = """
ALTER TABLE run ADD COLUMN coverage_dir TEXT;
CREATE TABLE coverage(run INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE, place INTEGER NOT NULL,
 name TEXT NOT NULL, percent REAL NOT NULL,
 before_percent REAL NOT NULL, covered INTEGER NOT NULL, total INTEGER NOT NULL, PRIMARY KEY(run, name)) WITHOUT ROWID;
PRAGMA user_version=5;
"""
SCHEMA_6 = """
ALTER TABLE job ADD COLUMN bounds TEXT;
ALTER TABLE job DROP COLUMN mac_bound; ALTER TABLE job DROP COLUMN read_bound; ALTER TABLE job DROP COLUMN write_bound;
PRAGMA user_version=6;
"""
SCHEMA_7 = """
ALTER TABLE job ADD COLUMN host TEXT;
PRAGMA user_version=7;
"""
SCHEMA_8 = """
ALTER TABLE run ADD COLUMN changes TEXT NOT NULL DEFAULT '';
PRAGMA user_version=8;
"""
OLDER = ["".join([SCHEMA_1, SCHEMA_2, SCHEMA_3, SCHEMA_4, SCHEMA_5, SCHEMA_6, SCHEMA_7, SCHEMA_8][:n])
         for n in range(1, 9)]


def schema(path):
    """Tables and indices by name: columns with their types, whatever way they came."""
    with sqlite3.connect(path) as db:
        names = [row[0]
                 for row in db.execute("SELECT name FROM sqlite_master WHERE name NOT LIKE 'sqlite%' ORDER BY name")]
        return {name: (db.execute(f"PRAGMA table_info({name})").fetchall(),
                       db.execute(f"PRAGMA index_info({name})").fetchall()) for name in names}


def test_database_settings(bench):
    bench.run("unit pass cfg=n8\n")
    with sqlite3.connect(bench.db) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (VERSION,)
        assert db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        suite, state, launcher, elapsed = db.execute("SELECT suite,state,launcher,elapsed_ms FROM run").fetchone()
        assert (suite, state, launcher) == ("t", "done", "local") and elapsed >= 0


def test_older_databases_are_brought_up_to_date(bench):
    assert len(OLDER) == VERSION - 1
    bench.run("unit pass cfg=n8\n", "--db", "new.db")
    for version, text in enumerate(OLDER, start=1):
        name = f"old{version}.db"
        with sqlite3.connect(bench.path / name) as db:
            db.executescript(text)
            before = [row[:29] for row in db.execute("SELECT * FROM job ORDER BY id")]
        done = bench.call("report", "--db", name)
        assert done.returncode == 0 and "outcomes: 1 pass, 1 fail" in done.stdout, done.stderr
        with sqlite3.connect(bench.path / name) as db:
            assert db.execute("PRAGMA user_version").fetchone() == (VERSION,)
            assert [row[:29] for row in db.execute("SELECT * FROM job ORDER BY id")] == before
        assert schema(bench.path / name) == schema(bench.path / "new.db")
        done = bench.run("unit pass cfg=n8\n", "--db", name)
        # each database has its own numbers, but none takes the folder of another one's run
        assert done.returncode == 0 and f", run {version + 1}\n" in done.stdout


def test_sums_of_performance(bench):
    """A result that has them; one that says nothing; one that says nonsense."""
    bench.program(bench.build / "n8-fast/unit-pass", r"""
case $index in
  0) work='work_cases=3\nwork_cycles=500\nbound_mesh=10\nbound_read=300\nbound_write=20\nbound=310\n';;
  1) work=;;
  2) work='work_cases=1\nwork_cycles=-4\nbound_mesh=99999999999999999999\n'\
'bound_read=x\nbound_Wr"=1\nbound_=2\nbound=\n';;
esac
report "outcome=pass\n$work" """)
    done = bench.run("unit pass cfg=n8 count=3\n")
    assert done.returncode == 0, done.stderr
    assert bench.jobs("work_cases,work_cycles,bounds,bound") == [(3, 500, '{"mesh":10,"read":300,"write":20}', 310),
                                                                 (None,) * 4, (1, 0, '{"mesh":0,"read":0}', 0)]


def test_designs_of_an_older_database(bench):
    """Bounds get their names; what was an example is a test of a design; suites lie in the folders of designs."""
    with sqlite3.connect(bench.path / "old.db") as db:
        db.executescript(OLDER[4])
        db.execute("UPDATE run SET suite_path='regress/suites/t.suite'")
        db.execute("UPDATE job SET what='example',test='engine',cfg='w8',work_cases=1,work_cycles=50,"
                   "mac_bound=1,read_bound=2,write_bound=3,bound=3 WHERE id=1")
    assert bench.call("report", "--db", "old.db").returncode == 0
    with sqlite3.connect(bench.path / "old.db") as db:
        assert db.execute("SELECT what,test,cfg,bounds,bound FROM job").fetchall() == [
            ("test", "engine", "engine/w8", '{"mesh":1,"read":2,"write":3}', 3), ("unit", "fail", "n8", None, None)]
        assert db.execute("SELECT suite_path FROM run").fetchall() == [("designs/*/suites/t.suite",)]


def test_failed_migration_changes_nothing(bench):
    with sqlite3.connect(bench.db) as db:
        db.executescript(SCHEMA_1 + "CREATE TABLE program(in_the_way)")  # version 2 works, version 3 does not
    done = bench.call("report")
    assert done.returncode == 1 and "bring the schema up to date" in done.stderr and len(done.stderr.splitlines()) == 1
    with sqlite3.connect(bench.db) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (1,)
        assert db.execute("SELECT count(*) FROM sqlite_master WHERE name='job_history'").fetchone() == (0,)


def test_two_programs_bring_it_up_to_date_at_once(bench):
    with sqlite3.connect(bench.db) as db:
        db.executescript(SCHEMA_1)
    runs = [popen(bench, "report") for _ in range(4)]
    for run in runs:
        out, err = run.communicate(timeout=60)
        assert run.returncode == 0 and err == "" and "outcomes: 1 pass, 1 fail" in out


def test_newer_schema_is_refused(bench):
    bench.run("unit pass cfg=n8\n")
    with sqlite3.connect(bench.db) as db:
        db.execute("PRAGMA user_version=77")
    for args in (["report"], ["run", "--suite", "t.suite"], ["run", "--resume"]):
        done = bench.call(*args)
        assert done.returncode == 1 and "schema version 77 is newer" in done.stderr


def files(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("kind", ["rollback", "wal", "text", "short"])
def test_a_foreign_file_stays_as_it_is(bench, kind):
    folder = bench.path / "foreign"
    folder.mkdir()
    path = folder / "of a 100%? other#.db"
    if kind in ("rollback", "wal"):
        db = sqlite3.connect(path)
        db.execute(f"PRAGMA journal_mode={'wal' if kind == 'wal' else 'delete'}")
        db.execute("CREATE TABLE run(id)")
        db.close()
    else:
        path.write_bytes(b"SQLite" if kind == "short" else b"a letter\n" * 100)
    before = files(folder)
    for args in (["report"], ["query", "runs"], ["run", "--suite", bench.suite("unit pass cfg=n8\n")],
                 ["run", "--resume"], ["gc", "--keep-runs", "1"]):
        done = bench.call(*args, "--db", str(path))
        assert done.returncode == 1 and len(done.stderr.splitlines()) == 1, done.stderr
        assert ("of another program" if kind in ("rollback", "wal") else "not a results database") in done.stderr
        assert files(folder) == before


def test_older_and_newer_databases_are_marked(bench):
    bench.run("unit pass cfg=n8\n")
    for path in (bench.db, bench.path / "old.db"):
        if path != bench.db:
            with sqlite3.connect(path) as db:
                db.executescript(OLDER[2])
        assert bench.call("report", "--db", str(path)).returncode == 0
        assert path.read_bytes()[68:72] == b"TNDM"


@pytest.mark.parametrize("how", ["cut", "zeros", "garbage", "empty"])
def test_damage_is_found_on_opening(bench, how):
    bench.run("unit pass cfg=n8 count=200\nunit fail cfg=n8 count=20\n", "--out", "out")
    whole = bench.db.read_bytes()
    rng = random.Random(how)
    for _ in range(5):
        bench.db.write_bytes(whole)
        damage(bench.db, how, rng)
        done = bench.call("report")
        assert done.returncode == 1 and len(done.stderr.splitlines()) == 1, done.stderr
        assert "tandem-regress recover" in done.stderr


def test_a_log_without_its_beginning_is_damage(bench):
    bench.run("unit pass cfg=n8\n")
    (bench.build / "results.db-wal").write_bytes(b"x" * 5000)
    done = bench.call("report")
    assert done.returncode == 1 and "tandem-regress recover" in done.stderr


def test_a_run_whose_runner_died(bench):
    """It reads so everywhere; a run that goes on does not, also beside others that died."""
    runner = start(bench, "unit hang cfg=n8\n")
    wait_until(lambda: (bench.path / "out/00000-unit-hang-n8/log.txt").exists())

    def states():
        done = bench.call("query", "runs", "--json")
        assert done.returncode == 0, done.stderr
        trend = bench.call("query", "trend", "--json")
        return done.stdout.count('"running"'), done.stdout.count('"died"'), trend.stdout.count('"died"')

    assert states() == (1, 0, 0)
    runner.kill()
    runner.communicate()
    assert states() == (0, 1, 1)
    for args in (["report"], ["report", "--json"], ["query", "suites"]):
        done = bench.call(*args)
        assert "died" in done.stdout and "running" not in done.stdout
    assert bench.call("report", "--html", "pages").returncode == 0
    assert "died, " in (bench.path / "pages/index.html").read_text()
