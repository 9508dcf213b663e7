"""The functions of the ALU: the table of coefficients, its generator, bad input. How accurate the functions are is
measured by tests/test_cm_func.c."""

import pathlib
import subprocess
import sys
from decimal import Decimal

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))
import gen_func  # noqa: E402

TABLE = ROOT / "regs/func_fit.txt"


def gen(*args):
    return subprocess.run([str(ROOT / "tools/gen_func.py"), *args], cwd=ROOT, capture_output=True, text=True)


def test_table_is_that_of_the_fit(tmp_path):
    run = gen("fit", "--check")  # the fit is decimal arithmetic: the same digits everywhere
    assert run.returncode == 0, run.stderr
    stale = tmp_path / "fit.txt"
    stale.write_text(TABLE.read_text().replace("RECIP 3 19634", "RECIP 3 19635"))
    run = gen("fit", "--check", "--table", str(stale))
    assert run.returncode == 1 and "fit.txt is stale" in run.stderr


def test_log2e():
    assert abs(Decimal(gen_func.log2e()) / 2 ** 36 - 1 / Decimal(2).ln()) < Decimal(2) ** -37


@pytest.mark.parametrize("name", gen_func.FIRST)
def test_polynomials(name):
    """Each is within 20 units of its function, of 2^30 and more, at places that the fit did not use; the first one is
    exact at 0. A coefficient that is off by one part in a thousand shows."""
    table = gen_func.parse(TABLE.read_text().splitlines())

    def error(i, c):
        places = [Decimal(k) / 37 for k in range(38)]
        return max(abs(c[0] + u * (c[1] + u * (c[2] + u * c[3])) - gen_func.exact(name, i, u)) for u in places)

    for i in range(gen_func.SEGMENTS[name]):
        c = table[(name, i)]
        assert error(i, c) <= 20, (name, i)
        assert error(i, (c[0], c[1] + c[1] // 1000, c[2], c[3])) > 20, (name, i)
    assert table[(name, 0)][0] == gen_func.exact(name, 0, Decimal(0))


def test_generated_files(tmp_path):
    assert gen("--out", str(tmp_path)).returncode == 0
    table = gen_func.parse(TABLE.read_text().splitlines())
    header = (tmp_path / "func_table.h").read_text()
    assert all("{%d, %d, %d, %d}," % row in header for row in table.values())
    package = (tmp_path / "npu_func_pkg.sv").read_text()
    assert all("32'h%08X" % row[0] in package and "18'h%05X" % (row[3] & 0x3FFFF) in package for row in table.values())


@pytest.mark.parametrize("old, new, line, text", [
    ("RECIP 3 ", "RECIPE 3 ", 22, "unknown function 'RECIPE'"),
    ("RECIP 3 ", "RECIP 32 ", 22, "expected 0..31"),
    ("RECIP 3 ", "RECIP x ", 22, "segment 'x'"),
    ("RECIP 3 ", "RECIP 2 ", 22, "RECIP 2 is there twice"),
    ("RECIP 3 ", "# RECIP 3 ", 114, "RECIP 3 is missing"),
    ("EXP 0 1073741824", "EXP 0 4294967296", 3, "c0 '4294967296': expected 0..4294967295"),
    ("EXP 0 1073741824", "EXP 0 -1", 3, "c0 '-1'"),
    ("RECIP 0 2147483648 -67108510", "RECIP 0 2147483648 -134217729", 19, "c1 '-134217729'"),
    ("EXP 0 1073741824 ", "EXP 0 ", 3, "expected: FUNCTION SEGMENT C0 C1 C2 C3"),
])
def test_bad_table(tmp_path, old, new, line, text):
    bad = tmp_path / "bad.txt"
    assert old in TABLE.read_text()
    bad.write_text(TABLE.read_text().replace(old, new, 1))
    run = gen("--table", str(bad), "--out", str(tmp_path / "out"))
    assert run.returncode == 2 and "bad.txt:%d:" % line in run.stderr and text in run.stderr, run.stderr
    assert not (tmp_path / "out").exists()


def test_usage():
    assert gen().returncode == 2
    assert gen("fit", "--out", "x").returncode == 2
    assert gen("--check", "--out", "x").returncode == 2
    assert gen("--table", "/no/such/file", "--out", "x").returncode == 2
