"""make lint: checks of RTL are repeated when what they read has changed, or when they failed."""

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
pytestmark = pytest.mark.skipif(os.environ.get("TANDEM_CHECK") != "1", reason="not run: long (make check)")


def lint(tmp_path, version="1"):
    """Lines of a run with stand-ins for the tools, and which checks they were called for."""
    calls = tmp_path / "calls"
    calls.write_text("")
    tool = f"""#!/bin/bash
case "$*" in
    --version) echo version {version} ;;
    *--lint-only*) echo "${{@: -1}}" >>{calls}; [[ "$*" != *sac_top* || ! -e {tmp_path}/broken ]] ;;
    -q*) echo yosys >>{calls} ;;
esac
"""
    for name in ("verilator", "yosys", "clang", "clang-format"):
        (tmp_path / name).write_text(tool)
        (tmp_path / name).chmod(0o755)
    env = dict(os.environ, BUILD=str(tmp_path / "build"), VERILATOR=str(tmp_path / "verilator"), TANDEM_JOBS="3",
               PATH=f"{tmp_path}:{os.environ['PATH']}")
    out = subprocess.run(["scripts/lint.sh"], cwd=ROOT, env=env, capture_output=True, text=True, check=False).stdout
    rtl = [line for line in out.splitlines() if "Verilator lint, " in line or "Yosys elaboration, " in line]
    return rtl, len(calls.read_text().splitlines())


def test_unchanged_rtl_is_not_checked_again(tmp_path):
    (tmp_path / "broken").touch()
    first, called = lint(tmp_path)
    failed = [line for line in first if line.startswith("FAIL")]
    assert called == len(first) and failed and all(", sac," in line for line in failed)
    second, called = lint(tmp_path)
    assert called == len(failed) and [line for line in second if line.startswith("FAIL")] == failed
    assert sum("(as when it passed)" in line for line in second) == len(first) - len(failed)
    (tmp_path / "broken").unlink()
    third, called = lint(tmp_path)
    assert called == len(failed) and all(line.startswith("ok") for line in third)
    assert lint(tmp_path)[1] == 0
    assert lint(tmp_path, version="2")[1] == len(first)
