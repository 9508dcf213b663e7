"""The fitted activations: the table of coefficients, its generator, the errors in float32."""

import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))
import gen_act  # noqa: E402

TABLE = ROOT / "regs/act_fit.txt"
GOAL = 1e-3


def gen(*args, cwd=ROOT):
    return subprocess.run([str(ROOT / "tools/gen_act.py"), *args], cwd=cwd, capture_output=True, text=True)


def test_table_is_that_of_the_fit():
    run = gen("fit", "--check")  # the fit is decimal arithmetic: the same digits everywhere
    assert run.returncode == 0, run.stderr


@pytest.mark.parametrize("name", gen_act.NAMES)
def test_error(name):
    import numpy
    table = gen_act.parse(TABLE.read_text().splitlines())
    err, at = gen_act.measure(numpy, table, name)
    assert err <= GOAL, "%s: %g at %.9g" % (name, err, at)


def test_weights(tmp_path):
    """Chebyshev weights have a reason: with equal ones ELU misses the goal."""
    import numpy
    table = tmp_path / "uniform.txt"
    assert gen("fit", "--weights", "uniform", "--table", str(table)).returncode == 0
    uniform = gen_act.parse(table.read_text().splitlines())
    chebyshev = gen_act.parse(TABLE.read_text().splitlines())
    assert gen_act.measure(numpy, uniform, "EXPM1")[0] > GOAL
    for name in gen_act.NAMES:
        assert gen_act.measure(numpy, chebyshev, name)[0] <= gen_act.measure(numpy, uniform, name)[0]


def test_error_is_measured():
    """A coefficient that is off by one part in fifty shows."""
    import numpy
    table = gen_act.parse(TABLE.read_text().splitlines())
    for name in gen_act.NAMES:
        bad = dict(table)
        c2, c1, c0 = bad[(name, "-", 3)]
        bad[(name, "-", 3)] = (c2, gen_act.f32_bits(gen_act.f32_value(c1) * 1.02), c0)
        assert gen_act.measure(numpy, bad, name)[0] > GOAL


def test_report():
    run = gen("report")
    assert run.returncode == 0, run.stderr
    assert [line.split()[0] for line in run.stdout.splitlines()[1:]] == list(gen_act.NAMES)


def test_generated_files(tmp_path):
    assert gen("--out", str(tmp_path)).returncode == 0
    table = gen_act.parse(TABLE.read_text().splitlines())
    for name, form in (("npu_act_pkg.sv", "32'h%08X"), ("act_table.h", "0x%08Xu")):
        text = (tmp_path / name).read_text()
        assert all(form % c in text for row in table.values() for c in row)


def test_stale_table(tmp_path):
    table = tmp_path / "fit.txt"
    table.write_text("")
    stale = gen("fit", "--check", "--table", str(table))
    assert stale.returncode == 1 and "fit.txt is stale" in stale.stderr


@pytest.mark.parametrize("old, new, line, text", [
    ("TANH + 3", "TANN + 3", 38, "unknown function"),
    ("TANH + 3", "TANH 0 3", 38, "expected + or -"),
    ("TANH + 3", "TANH + 16", 38, "segment"),
    ("TANH + 3", "TANH + 2", 38, "twice"),
    ("TANH + 3 ", "TANH + 3 7F800000 ", 38, "expected:"),
    ("TANH + 0 B", "TANH + 0 G", 35, "8 hexadecimal digits"),
    ("TANH + 0 BD", "TANH + 0 FF", 35, "not finite"),
    ("TANH + 3", "# TANH + 3", 258, "TANH + 3 is missing"),
])
def test_bad_table(tmp_path, old, new, line, text):
    good = TABLE.read_text()
    assert old in good
    bad = tmp_path / "bad.txt"
    bad.write_text(good.replace(old, new, 1))
    run = gen("--table", str(bad), "--out", str(tmp_path))
    assert run.returncode == 2
    assert "bad.txt:%d:" % line in run.stderr and text in run.stderr and len(run.stderr.splitlines()) == 1
    assert not (tmp_path / "npu_act_pkg.sv").exists()


def test_usage(tmp_path):
    assert gen("--help").returncode == 0
    assert gen("nonsense").returncode == 2
    assert gen("report", "--check").returncode == 2
    assert gen("--weights", "uniform", "--out", str(tmp_path)).returncode == 2
    assert gen().returncode == 2 and gen("fit", "--out", str(tmp_path)).returncode == 2
    missing = gen("--out", str(tmp_path), "--table", str(tmp_path / "none.txt"))
    assert missing.returncode == 2 and "none.txt" in missing.stderr
    unwritable = gen("--out", "/proc/none")
    assert unwritable.returncode == 1 and len(unwritable.stderr.splitlines()) == 1
