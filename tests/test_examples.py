"""Benches for designs of others (examples/): they compile against the headers, fetch.sh refuses what is not there, and
where the sources were fetched (make check) each builds, and passes or finds what docs/ports.md says."""
import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = sorted(p.parent for p in (ROOT / "examples").glob("*/bench.c"))


def test_there_are_some():
    assert len(EXAMPLES) >= 4
    assert len((ROOT / "examples/axi_cdma/bench.c").read_text().splitlines()) <= 140


@pytest.mark.parametrize("folder", EXAMPLES, ids=lambda p: p.name)
def test_compiles(folder):
    done = subprocess.run(["gcc", "-std=c11", "-Wall", "-Werror", "-Wno-unused-variable", "-fsyntax-only", "-I",
                           ROOT / "tb", "-I", ROOT, '-DTANDEM_CFG_NAME="base"', '-DTANDEM_KIND="debug"',
                           folder / "bench.c"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    text = (folder / f"designs/{folder.name}/design").read_text()
    fetch = (ROOT / "examples/fetch.sh").read_text()
    for name in re.findall(r"file +rtl/(\S+)", text):
        assert name in fetch, f"{folder.name}: fetch.sh does not fetch {name}"


def test_fetch_refuses(tmp_path):
    done = subprocess.run(["sh", "fetch.sh", tmp_path], cwd=_copy(tmp_path), capture_output=True, text=True)
    assert done.returncode != 0 and "verilog-axi" in done.stderr


def _copy(tmp_path):
    folder = tmp_path / "copy"
    folder.mkdir()
    (folder / "fetch.sh").write_text((ROOT / "examples/fetch.sh").read_text())
    return folder


# what each bench finds (docs/ports.md); nothing: it passes
FINDS = {"axi_cdma": "watchdog:hang", "axi_ram": "shadow:data:s", "axi_crossbar": "shadow:data:s1"}


@pytest.mark.skipif(os.environ.get("TANDEM_CHECK") is None, reason="not run: builds fetched designs (make check)")
@pytest.mark.parametrize("folder", EXAMPLES, ids=lambda p: p.name)
def test_finds(folder, tmp_path):
    if not (folder / "rtl").is_dir():
        pytest.skip("not run: examples/fetch.sh was not called")
    tandem = os.environ.get("TANDEM", "tandem")
    make = ["make", "-s", f"TANDEM={tandem}", f"BUILD={tmp_path}"]
    done = subprocess.run([*make, "build"], cwd=folder, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stdout + done.stderr
    result = tmp_path / "result"
    done = subprocess.run([tmp_path / "base-debug/tandem", "--run-seed", "1", "--count", "200", "--result", result],
                          cwd=folder, capture_output=True, text=True, timeout=600)
    finds = FINDS.get(folder.name)
    assert done.returncode == (1 if finds else 0), done.stdout + done.stderr
    assert finds is None or f"signature={finds}" in result.read_text()
