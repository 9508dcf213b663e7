"""The command line of the unit benches: what a failure prints shows it again."""
import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
GENERATED = "-I" + os.path.join(os.environ.get("BUILD", "build"), "gen/npu")
HOST = ROOT / os.environ.get("HOST", os.path.join(os.environ.get("BUILD", "build"), "host"))


def compiled(program, *sources):
    libs = [HOST / f"lib{name}.a"
            for name in ("tbnpu", "covnpu", "covcode", "coverage", "tb", "opt", "report", "cmodel", "drivers")]
    for lib in libs:
        if not lib.exists():
            pytest.skip(f"not run: {lib} is not built")
    san = ["-fsanitize=address,undefined"] if "san" in HOST.name else []
    subprocess.run(["gcc", "-std=gnu11", "-Wall", "-Wextra", "-Werror", *san, "-I.", "-Itb", "-Itb/npu",
                    "-Idrivers/lib", "-Idrivers/npu", "-Icmodel/npu", GENERATED, "-Icmodel/lib", "-Itestcases/npu/unit",
                    "-DNPU_CFG_N=8", '-DNPU_CFG_NAME="n8"', *sources, "-Wl,--start-group", *map(str, libs),
                    "-Wl,--end-group", "-ljansson", "-lz", "-lm", "-lpthread", "-o", str(program)],
                   cwd=ROOT, check=True)
    return program


@pytest.fixture(scope="module")
def toy(tmp_path_factory):
    return compiled(tmp_path_factory.mktemp("bench") / "unit-toy", "tests/bench/toy_bench.c",
                    "testcases/npu/unit/bench_main.c", "testcases/npu/unit/bench_env.c")


def bench(program, *args, **kwargs):
    return subprocess.run([str(program), *args], capture_output=True, text=True, timeout=60, **kwargs)


def reproduce(done):
    return shlex.split(done.stdout.splitlines()[1])


@pytest.mark.parametrize("args", [["pace=ideal", "loops=5"], ["pace=ideal", "--count", "20"], ["--count", "50"],
                                  ["loops=9", "--count", "20"], ["pace=random", "loops=9", "--cycles", "6"]])
def test_the_printed_line_shows_the_failure_again(toy, args):
    first = bench(toy, *args)
    assert first.returncode == 1 and first.stdout.startswith("FAIL test=unit-toy seed=0x"), first.stdout + first.stderr
    line = reproduce(first)
    again = subprocess.run(line, capture_output=True, text=True, timeout=60)
    assert again.returncode == 1 and again.stderr == ""
    assert again.stdout == first.stdout


def test_pinned_knobs_keep_their_names(toy):
    line = reproduce(bench(toy, "pace=ideal", "loops=5"))
    assert line[3:] == ["pace=ideal", "loops=5"]


def test_a_stored_case_shows_the_failure_again(toy, tmp_path):
    first = bench(toy, "pace=ideal", "loops=7", "--case-dir", str(tmp_path))
    line = reproduce(first)
    assert line[1] == "--case"
    again = subprocess.run(line, capture_output=True, text=True, timeout=60)
    assert again.returncode == 1 and again.stdout == first.stdout


@pytest.mark.parametrize("args", [["--list"], ["--help"], ["--print-case", "--count", "400"], ["loops=1"]])
def test_full_stdout(toy, args):
    with open("/dev/full", "w") as full:
        done = subprocess.run([str(toy), *args], stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
    assert done.returncode == 3


def test_names_are_expected(toy):
    done = bench(toy, "pace=1")
    assert done.returncode == 2 and done.stdout == "" and "pace=1: expected random|ideal" in done.stderr


def test_only_fp_units_take_vectors(toy):
    done = bench(toy, "--vectors", "-", input="3F800000 40000000 40400000 00\n")
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.count("\n") == 1 and "unit-toy has no vectors, expected one of the fp units" in done.stderr
    assert "--vectors FILE" in bench(toy, "--help").stdout
    done = bench(toy, "--vectors")
    assert done.returncode == 2 and "--vectors: expected a value" in done.stderr


def test_a_bench_that_checks_nothing_is_an_error(toy):
    assert bench(toy, "pace=ideal", "loops=1").returncode == 0
    done = bench(toy, "pace=ideal", "loops=1", "blind=1")
    assert done.returncode == 2 and "toy: nothing was checked, neither by a check of the unit nor" in done.stdout


@pytest.mark.parametrize("words", [[], ["test"], ["test", "unit-toy"], ["run", "unit-toy"]])
def test_commands(toy, words):
    """The commands of every program that runs cases; those of a program with one test need not name it."""
    seed = ["--seed", "1"] if words else ["--seed", "0x1"]
    done = bench(toy, *words, "loops=1", *seed)
    assert done.returncode == 0 and done.stdout == bench(toy, "loops=1", "--seed", "1").stdout
    assert "unit-toy (operator): for tests" in bench(toy, "list").stdout
    assert "unknown test frob" in bench(toy, "test", "frob").stderr


def test_shrink_and_repro(toy, tmp_path):
    bench(toy, "pace=ideal", "loops=9", "--case-dir", str(tmp_path))
    [case] = tmp_path.glob("*.case")
    small = tmp_path / "s.case"
    done = bench(toy, "shrink", str(case), "--output", str(small))
    assert done.returncode == 0 and done.stdout.splitlines()[-1] == f"{toy} --case {small}", done.stdout + done.stderr
    assert "loops=4\n" in small.read_text()  # the next try, half of it, passes
    assert bench(toy, "--shrink", str(case), "--output", str(tmp_path / "t.case")).returncode == 0
    assert small.read_text() == (tmp_path / "t.case").read_text()
    again = bench(toy, "repro", str(small))
    assert again.returncode == 1 and again.stdout == bench(toy, "--case", str(small)).stdout


def test_report(toy, tmp_path):
    result = tmp_path / "result"
    done = bench(toy, "pace=ideal", "loops=7", "--report", str(tmp_path / "r"), "--result", str(result))
    assert done.returncode == 1 and done.stderr == ""
    assert {p.name for p in (tmp_path / "r").iterdir()} == {"report.html",
                                                            "report.txt", "axi.txt", "case.case", "versions.txt"}
    assert f"report={tmp_path}/r/report.html\n" in result.read_text()
    text = (tmp_path / "r" / "report.txt").read_text()
    assert ("7 turns at the pace ideal" in text and "Waveform  none: this build has no tracing" in text and
            "did not fail in the same way" not in text)
    assert bench(toy, "--case", str(tmp_path / "r" / "case.case")).returncode == 1


def test_a_program_with_several_tests_names_its_commands(tmp_path):
    """It has no --case and no --seed of its own: repro, or the name of the test, comes first."""
    two = compiled(tmp_path / "two", "tests/bench/two_tests.c")
    case = ["--case-dir", str(tmp_path)]
    for args, word in (["test", "bad", "loops=7"], "test"), (["test", "bad", "loops=7", *case], "repro"):
        first = bench(two, *args)
        line = reproduce(first)
        assert first.returncode == 1 and line[1] == word, first.stdout + first.stderr
        again = subprocess.run(line, capture_output=True, text=True, timeout=60)
        assert again.returncode == 1 and again.stderr == ""
        assert again.stdout.splitlines()[0] == first.stdout.splitlines()[0]
    [stored] = tmp_path.glob("*.case")
    done = bench(two, "shrink", str(stored), "--output", str(tmp_path / "small"))
    assert done.stdout.splitlines()[-1] == f"{two} repro {tmp_path / 'small'}", done.stdout + done.stderr
