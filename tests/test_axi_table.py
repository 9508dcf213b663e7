"""tools/axi_table.py: the table of AXI rules is current, and it refuses a rule without traces."""
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
TOOL = ROOT / "tools/axi_table.py"


def tool(*args):
    return subprocess.run([str(TOOL), *map(str, args)], capture_output=True, text=True)


@pytest.fixture
def tree(tmp_path):
    shutil.copytree(ROOT / "tb/axi", tmp_path / "tb/axi")
    shutil.copytree(ROOT / "tests/axi", tmp_path / "tests/axi")
    (tmp_path / "docs").mkdir()
    return tmp_path


def test_table_is_current():
    done = tool("--check")
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_rule_once(tree):
    assert tool("--root", tree).returncode == 0
    rows = [line.split("|")[1].strip() for line in (tree / "docs/axi-rules.md").read_text().splitlines()
            if line.startswith(("| AXI4", "| PROJ_"))]
    rules = [line[5:line.index(",")] for line in (tree / "tb/axi/rules.def").read_text().splitlines()
             if line.startswith("RULE(")]
    assert sorted(rows) == sorted(rules) and len(set(rows)) == len(rows)


def test_stale_table(tree):
    assert tool("--root", tree).returncode == 0
    assert tool("--root", tree, "--check").returncode == 0
    (tree / "tests/axi/good/aw-wrap.txt").rename(tree / "tests/axi/good/aw-wrapped.txt")
    stale = tool("--root", tree, "--check")
    assert stale.returncode == 1 and "make axi-table" in stale.stdout


@pytest.mark.parametrize("remove, message", [
    ("tests/axi/bad/AXI4_ERRM_AWCACHE.txt", "AXI4_ERRM_AWCACHE: no trace breaks it"),
    ("tests/axi/good/aw-cache.txt", "AXI4_ERRM_AWCACHE: no trace only just keeps it"),
    ("tb/axi/excl.c", "AXI4_ERRM_EXCL_ALIGN: no file of tb/axi judges it"),
])
def test_missing(tree, remove, message):
    (tree / remove).unlink()
    done = tool("--root", tree)
    assert done.returncode == 2 and message in done.stderr
    assert not (tree / "docs/axi-rules.md").exists()


def test_trace_of_no_rule(tree):
    (tree / "tests/axi/bad/AXI4_ERRM_NONE.txt").write_text("# nothing\n")
    done = tool("--root", tree)
    assert done.returncode == 2 and "no rule has that name" in done.stderr
