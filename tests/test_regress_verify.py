"""Sign-off of a run: signoff.json and `tandem-regress verify`, with fake programs."""

import hashlib
import json

import pytest

from regress_bench import bench, programs  # noqa: F401

SUITE = "unit pass cfg=n8 count=3\nunit fail cfg=n8\nunit slow cfg=n8\n"


def canonical(content):
    return json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def signed(bench):
    done = bench.run(SUITE, "--out", "o", "--report")
    path = bench.path / "o/signoff.json"
    return done, path, json.loads(path.read_text())


def test_a_run_is_signed(bench):
    done, _, document = signed(bench)
    content = document["content"]
    assert f"signed: SHA-256 {document['sha256']}\n" in done.stdout
    assert hashlib.sha256(canonical(content).encode()).hexdigest() == document["sha256"]
    assert document["sha256"] in (bench.path / "o/report/index.html").read_text()
    assert content["suite_sha256"] == hashlib.sha256(SUITE.encode()).hexdigest()
    assert {p["path"]: p["sha256"] for p in content["programs"]} == {
        f"build/n8-fast/unit-{name}": hashlib.sha256((bench.build / f"n8-fast/unit-{name}").read_bytes()).hexdigest()
        for name in ("pass", "fail", "slow")}
    assert [(j["outcome"], j["cases"]) for j in content["jobs"]][-2:] == [("fail", "1"), ("pass", "1")] or \
        [j["outcome"] for j in content["jobs"]].count("fail") == 1
    assert {"commit", "changed", "tools", "host", "seed", "state"} <= set(content["run"][0])


def test_verify(bench):
    signed(bench)
    done = bench.call("verify", "1", "--all")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1].endswith(" verified, 0 differ, 0 not run")
    done = bench.call("verify", "1", "--sample", "1")
    assert done.returncode == 0 and done.stdout.splitlines()[-1].startswith("1 verified, 0 differ, ")
    assert len(bench.jobs()) == int(done.stdout.split()[-3]) + 1  # the database has what the run said, and no more


def test_a_job_that_differs(bench):
    bench.run("unit random cfg=n8\nunit pass cfg=n8\n", "--out", "o")
    done = bench.call("verify", "1", "--all")
    assert done.returncode == 1 and done.stdout.splitlines()[-1] == "1 verified, 1 differ, 0 not run"
    [line] = [line for line in done.stdout.splitlines() if line.startswith("job ")]
    assert line.startswith("job 0: unit random n8: then pass ") and ", now pass " in line


@pytest.mark.parametrize("change, said", [
    (lambda text: text.replace('"fail"', '"pass"'), "the content is not what was sealed"),
    (lambda text: text.replace('"sha256": "', '"sha256": "0', 1), "is not the program that was signed"),
])
def test_a_document_that_was_changed(bench, change, said):
    _, path, _ = signed(bench)
    path.write_text(change(path.read_text()))
    done = bench.call("verify", "1", "--all")
    assert done.returncode == 1 and said in done.stdout


def test_a_program_that_was_changed(bench):
    signed(bench)
    copy = bench.path / "o/programs/n8-fast/unit-pass"
    text = copy.read_text()
    copy.unlink()
    copy.write_text(text + "# changed\n")
    copy.chmod(0o755)
    done = bench.call("verify", "1", "--all")
    assert done.returncode == 1
    assert "build/n8-fast/unit-pass: its copy in o/programs is not the program that was signed\n" in done.stdout


def test_usage(bench):
    signed(bench)
    for args in ([], ["1", "--all", "--sample", "2"], ["1", "2"]):
        assert bench.call("verify", *args).returncode == 2
    assert bench.call("verify", "9").returncode != 0
    (bench.path / "o/signoff.json").unlink()
    done = bench.call("verify", "1")
    assert done.returncode == 1 and "o/signoff.json" in done.stderr
