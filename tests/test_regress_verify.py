"""Sign-off of a run: signoff.json and `tandem-regress verify`, with fake programs."""

import hashlib
import json
import re
import subprocess

import pytest

from regress_bench import bench, programs, write_program  # noqa: F401

SUITE = "unit pass cfg=n8 count=3\nunit fail cfg=n8\nunit slow cfg=n8\n"


def canonical(content):
    return json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def signed(bench):
    done = bench.run(SUITE, "--out", "o", "--report")
    path = bench.path / "o/signoff.json"
    return done, path, json.loads(path.read_text())


def test_a_run_is_signed(bench):
    done, path, document = signed(bench)
    content = document["content"]
    assert f"signed: SHA-256 {document['sha256']}\n" in done.stdout
    assert hashlib.sha256(canonical(content).encode()).hexdigest() == document["sha256"]
    lines = path.read_text().splitlines()
    assert hashlib.sha256("".join(lines[1:-1]).encode()).hexdigest() == document["sha256"], "without a JSON reader"
    assert len(lines) == 5 + max(1, len(content["failures"])) + len(content["jobs"]), "a line for each of them"
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
    (lambda text: text.replace('","sha256":"', '","sha256":"0', 1), "is not the program that was signed"),
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
    copy.unlink()
    done = bench.call("verify", "1", "--sample", "1")
    assert done.returncode == 1 and "build/n8-fast/unit-pass: its copy in o/programs is gone\n" in done.stdout


def test_a_build_folder_that_was_changed(bench):
    """The run has its own programs: a note, and its jobs are verified."""
    signed(bench)
    (bench.build / "n8-fast/unit-pass").unlink()
    write_program(bench.build / "n8-fast/unit-pass", "exit 1")
    (bench.path / "t.suite").write_text("unit pass cfg=n8\n")
    done = bench.call("verify", "1", "--all")
    assert done.returncode == 0 and done.stdout.splitlines()[-1] == "5 verified, 0 differ, 0 not run", done.stdout
    assert re.search("^note: build/n8-fast/unit-pass is another program now: SHA-256 [0-9a-f]{16}, signed", done.stdout,
                     re.M)
    assert re.search("^note: .*t.suite has changed since", done.stdout, re.M)


# Fails with a stored case, whose replay says another signature while the file `other` is there.
FAILS = r"""[ -n "$cases" ] && { echo knob=7 > $cases/1.case
report "outcome=fail\nsignature=mesh data\ntrace_hash=0xabc$index\ncase=$cases/1.case\n"; exit 1; }
[ -e other ] && s=other || s='mesh data'; report "outcome=fail\nsignature=$s\ntrace_hash=0x77\n"; exit 1"""


def test_cases_of_failures_run_again(bench):
    """As they were signed, whatever is left of the files; the hash is that of the explanation."""
    bench.program(bench.build / "n8-fast/unit-fails", FAILS)
    done = bench.run("unit fails cfg=n8 count=2\nunit pass cfg=n8\n", "--out", "o", "--explain", "1", "--jobs", "1")
    assert done.returncode == 1
    content = json.loads((bench.path / "o/signoff.json").read_text())["content"]
    assert content["failures"] == [{"job": 0, "case": "knob=7\n", "trace_hash": "0x77"},
                                   {"job": 1, "case": "knob=7\n", "trace_hash": ""}]
    for i in (0, 1):
        (bench.path / f"o/0000{i}-unit-fails-n8/cases/1.case").unlink()
    done = bench.call("verify", "1", "--all")
    assert done.returncode == 0 and done.stdout == ("cases of the jobs that failed: 2 verified, 0 differ, 0 not run\n"
                                                    "3 verified, 0 differ, 0 not run\n"), done.stdout + done.stderr
    assert (bench.path / "o/verify/00001-case.case").read_text() == "knob=7\n"
    (bench.path / "other").touch()
    done = bench.call("verify", "1", "--all", "--jobs", "1")
    assert done.returncode == 1 and done.stdout.splitlines() == [
        "job 0: unit fails n8, stored case: then fail mesh data 0x77, now fail other 0x77",
        "job 1: unit fails n8, stored case: then fail mesh data, now fail other 0x77",
        "cases of the jobs that failed: 0 verified, 2 differ, 0 not run", "3 verified, 0 differ, 0 not run"]


def test_the_tree_is_that_of_the_beginning(bench):
    """What is not committed has a hash, taken before the first job."""
    git = ["git", "-C", str(bench.path), "-c", "user.name=t", "-c", "user.email=t@t"]
    (bench.path / ".gitignore").write_text("/build\n/designs\n/t.suite\n/o*\n")
    for command in (["init", "-q"], ["add", ".gitignore"], ["commit", "-qm", "one"]):
        subprocess.run([*git, *command], check=True)
    bench.program(bench.build / "n8-fast/unit-edit", "echo more >> .gitignore; report 'outcome=pass\\n'")
    sums = []
    for out in ("o1", "o2", "o3"):
        assert bench.run("unit edit cfg=n8\n", "--out", out).returncode == 0
        content = json.loads((bench.path / out / "signoff.json").read_text())["content"]
        sums.append((content["run"][0]["changed"], content["changes_sha256"]))
    assert sums[0] == (False, "") and sums[1][0] and sums[2][0]
    assert len(sums[1][1]) == len(sums[2][1]) == 64 and sums[1] != sums[2]
    assert "note: the tree is at" in bench.call("verify", "1").stdout


def test_usage(bench):
    signed(bench)
    for args in ([], ["1", "--all", "--sample", "2"], ["1", "2"]):
        assert bench.call("verify", *args).returncode == 2
    assert bench.call("verify", "9").returncode != 0
    (bench.path / "o/signoff.json").unlink()
    done = bench.call("verify", "1")
    assert done.returncode == 1 and "o/signoff.json" in done.stderr
