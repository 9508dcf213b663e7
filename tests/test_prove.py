"""The prover: it proves, it refutes, and it does not take nothing for a proof. TANDEM_CHECK=1: the default set but the
slowest proofs."""

import json
import os
import re
import shutil
import subprocess
import sys

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TOOLS = "designs/npu/tools"
FULL = os.environ.get("TANDEM_CHECK") == "1"
QUICK = ["fp_cmp", "fp_f32_to_i8", "fp_i32_to_f32", "fp_f32_to_i32", "fp_mul.special",
         "fp_add.ab1-1", "law.mul-one", "arbiter", "fifo.count-3", "transpose.step-4", "acc.cell-4.0"]
CHECK = ["fp_*", "law.mul-*", "law.add-[iz]*", "law.[dri]*", "npu_*", "transpose", "acc",
         "mesh.state-1", "mesh.state-2", "mesh.start-1"]

needs_yosys = pytest.mark.skipif(not shutil.which("yosys"), reason="not run: proofs need yosys (make deps)")


def prove(*args, root=ROOT):
    proc = subprocess.run([sys.executable, os.path.join(root, TOOLS, "prove.py"), *args],
                          capture_output=True, text=True, timeout=600 if not FULL else 1800)
    return proc.returncode, proc.stdout, proc.stderr


def copy_with(tmp_path, path, old, new):
    """A tree with one changed file."""
    for name in ("rtl", "formal", "testcases/npu/unit/sv"):
        shutil.copytree(os.path.join(ROOT, name), tmp_path / name)
    (tmp_path / TOOLS).mkdir(parents=True)
    for name in ("prove.py", "proofs.py"):
        shutil.copy(os.path.join(ROOT, TOOLS, name), tmp_path / TOOLS)
    text = (tmp_path / path).read_text(encoding="utf-8")
    assert old in text
    (tmp_path / path).write_text(text.replace(old, new), encoding="utf-8")
    return str(tmp_path)


@needs_yosys
def test_proofs_and_wrong_copies():
    status, out, _ = prove(*(CHECK if FULL else QUICK))
    assert status == 0, out
    lines = out.splitlines()
    assert all(line.split()[0] in ("proven", "refuted") for line in lines[:-1]), out
    assert sum(line.startswith("proven") for line in lines) >= len(QUICK)
    assert sum(line.startswith("refuted") for line in lines) >= 9


@needs_yosys
def test_counterexample_has_values(tmp_path):
    """The values that it prints do break the broken function."""
    root = copy_with(tmp_path, "rtl/lib/fp/fp_pkg.sv", "if (v[30:0] <= 31'h7F80_0000) mag = 10'd512;", "mag = 10'd512;")
    status, out, _ = prove("fp_f32_to_i8", "--no-wrong", root=root)
    assert status == 1
    found = re.search(r"^COUNTEREXAMPLE +fp_f32_to_i8 .*a_i=([0-9a-f]+) y_o=([0-9a-f]+)", out, re.M)
    assert found, out
    value = int(found.group(1), 16)
    assert (value & 0x7FFFFFFF) > 0x7F800000 and int(found.group(2), 16) in (0x7F, 0x81)


@needs_yosys
def test_condition_that_nothing_meets(tmp_path):
    root = copy_with(tmp_path, "formal/prove_fp_cmp.sv", "assign assume_o = 1'b1;", "assign assume_o = a_i != a_i;")
    status, out, _ = prove("fp_cmp", root=root)
    assert status == 1
    assert out.startswith("VACUOUS") and "NOT REFUTED" in out


@needs_yosys
def test_time_is_over():
    status, out, _ = prove("fp_mul.finite", "--no-wrong", "--timeout", "0.3")
    assert status == 1
    assert out.startswith("not finished")


@needs_yosys
def test_source_that_does_not_fit(tmp_path):
    """A bug whose text is gone, a source with an error: said, and not taken for a result."""
    root = copy_with(tmp_path, "rtl/lib/arbiter.sv", "req_i & (~req_i + 1'b1)", "req_i & (~req_i + 1)")
    status, out, _ = prove("arbiter", root=root)
    assert status == 1
    assert "NOT REFUTED" in out and "the text that the bug replaces is not there" in out
    os.remove(os.path.join(root, "rtl/lib/fp/fp_pkg.sv"))
    status, out, _ = prove("fp_cmp", "--no-wrong", root=root)
    assert status == 1
    assert out.startswith("FAILED") and "ERROR" in out


def test_usage():
    status, _, err = prove("no_such_proof")
    assert status == 2
    assert "no proof no_such_proof" in err
    status, out, _ = prove("--list", "--all")
    assert status == 0
    assert "fp_mul.finite" in out and "wrong copy: " in out


@needs_yosys
def test_json(tmp_path):
    """The file has the lines."""
    path = tmp_path / "p.json"
    status, out, err = prove("fifo.count-3", "--json", str(path))
    assert status == 0, out + err
    rows = json.loads(path.read_text())
    lines = out.splitlines()[:-1]
    assert len(rows) == len(lines) > 1 and all(row["good"] for row in rows)
    for row, line in zip(rows, lines):
        assert (line.startswith("refuted" if row["wrong_copy"] else "proven") and
                (row["wrong_copy"] or row["claim"]) in line and row["proof"] in line)
    status, _, err = prove("fifo.count-3", "--no-wrong", "--json", str(tmp_path / "none/p.json"))
    assert (status == 1 and err.startswith("prove.py: ") and len(err.splitlines()) == 1 and
            list(tmp_path.iterdir()) == [path])
    status, out, _ = prove("--list", "fifo", "--json", str(path))
    assert (status == 0 and [row["proof"] for row in json.loads(path.read_text())] ==
            [line.split()[0] for line in out.splitlines() if not line.startswith(" ")])
