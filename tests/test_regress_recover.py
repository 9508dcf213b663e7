"""tandem-regress recover: a results database again, from folders of runs and from what a damaged one still has."""

import random
import shutil
import sqlite3

from regress_bench import DAMAGES, bench, damage, programs, start, wait_until  # noqa: F401

COLUMNS = ("run,idx,attempt,what,test,cfg,kind,seed,first_index,cases,args,second_run,timeout_s,memory_mb,cmd,outcome,"
           "signature,message,repro,cycles,trace_hash,exit_status,wall_ms,cpu_ms,max_rss_kb,case_path,log_path,bounds")


def rows(path, where="1"):
    with sqlite3.connect(path) as db:
        return (db.execute(f"SELECT {COLUMNS} FROM job WHERE {where} ORDER BY run,idx").fetchall(),
                db.execute(f"SELECT id,suite,suite_path,seed,commit_hash,dirty,changes,tools,host,launcher,shard,"
                           f"parallel,build_dir,out_dir,state,started_at,elapsed_ms FROM run ORDER BY id").fetchall(),
                db.execute("SELECT * FROM program ORDER BY run,path").fetchall())


def test_nothing_whose_folder_is_there_gets_lost(bench):
    suite = ("unit pass cfg=n8 count=100 determinism=3\nunit fail cfg=n8 count=10\n"
             "unit crash cfg=n8\nunit silent cfg=n8\n")
    for seed in range(3):
        bench.run(suite, "--seed", str(seed))
    bench.run(suite, "--out", "elsewhere")
    whole = bench.db.read_bytes()
    before = rows(bench.db)
    assert len(before[0]) == 4 * 115 and len(before[1]) == 4
    for seed in range(30):
        for path in bench.build.glob("results.db*"):
            path.unlink()
        bench.db.write_bytes(whole)
        rng = random.Random(seed)
        how = damage(bench.db, rng.choice(DAMAGES), rng)
        damaged = bench.db.read_bytes() if bench.db.exists() else None
        done = bench.call("recover", "elsewhere")
        assert done.returncode == 0, (how, done.stderr)
        if "damaged, now" in done.stdout:
            assert [path.read_bytes() for path in bench.build.glob("results.db.damaged-*-0")] == [damaged]
        if how != "flips" or "damaged, now" in done.stdout:
            assert rows(bench.db) == before, (seed, how)
        assert bench.call("recover", "--check", "elsewhere").returncode == 0
        done = bench.run("unit pass cfg=n8\n")
        assert done.returncode == 0 and ", run 5\n" in done.stdout and done.stderr == "", (how, done.stderr)
        shutil.rmtree(bench.build / "regress/5")


def test_rows_without_a_folder_are_salvaged(bench):
    for seed in range(4):
        bench.run("unit pass cfg=n8 count=100\n", "--seed", str(seed))
    before = rows(bench.db)
    shutil.rmtree(bench.build / "regress")
    data = bytearray(bench.db.read_bytes())
    with sqlite3.connect(bench.db) as db:  # a leaf of the table of jobs
        leaf = "SELECT pageno FROM dbstat WHERE name='job' AND pagetype='leaf' LIMIT 1 OFFSET 9"
        page = db.execute(leaf).fetchone() \
            if db.execute("SELECT 1 FROM pragma_module_list WHERE name='dbstat'").fetchone() else (20,)
    data[(page[0] - 1) * 4096:page[0] * 4096] = bytes(4096)
    bench.db.write_bytes(data)
    assert bench.call("report").returncode == 1
    done = bench.call("recover")
    assert done.returncode == 0 and "from the damaged file: 4 more runs" in done.stdout, done.stderr
    after = rows(bench.db)
    assert after[1] == before[1] and set(after[0]) <= set(before[0]) and len(after[0]) > 350


def test_a_killed_run_goes_on_after_recovery(bench):
    runner = start(bench, "unit pass cfg=n8 count=3\nunit slow cfg=n8 count=200\n", "--jobs", "2")
    done = bench.path / "out/done.txt"
    wait_until(lambda: done.exists() and "job=5\n" in done.read_text())
    assert bench.call("recover").returncode == 1
    runner.kill()
    runner.communicate()
    for path in bench.build.glob("results.db*"):
        path.unlink()
    done = bench.call("recover", "out")
    assert done.returncode == 0 and "missing: run 1: " in done.stdout, done.stderr
    with sqlite3.connect(bench.db) as db:
        assert db.execute("SELECT count(*) FROM job WHERE outcome='pass'").fetchone()[0] >= 6
    assert '"died"' in bench.call("query", "runs", "--json").stdout


def test_a_new_run_leaves_the_folders_of_lost_runs(bench):
    bench.run("unit pass cfg=n8 count=2\n")
    for path in bench.build.glob("results.db*"):
        path.unlink()
    done = bench.run("unit pass cfg=n8\n")
    assert done.returncode == 0 and ", run 2\n" in done.stdout and "recover" in done.stderr
    assert bench.call("recover", "--check").returncode == 1
    done = bench.call("recover")
    assert done.returncode == 0 and "from folders: 1 runs, 2 results" in done.stdout
    with sqlite3.connect(bench.db) as db:
        assert db.execute("SELECT run,count(*) FROM job WHERE outcome='pass' GROUP BY 1").fetchall() == [(1, 2), (2, 1)]


def test_a_foreign_database_is_not_recovered(bench):
    with sqlite3.connect(bench.db) as db:
        db.execute("CREATE TABLE song(name)")
    before = bench.db.read_bytes()
    done = bench.call("recover")
    assert done.returncode == 1 and "of another program" in done.stderr
    assert bench.db.read_bytes() == before and [path.name for path in bench.build.glob("results*")] == ["results.db"]
