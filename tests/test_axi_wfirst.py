"""A master must not wait for a ready before it shows its valid (rule PROJ_ERRM_WFIRST_DEADLOCK of docs/axi-checker.md): a memory that never takes an address, data or a read."""
import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
BUILD = os.environ.get("BUILD", "build")
PROGRAMS = [p for kind in ("fast", "tap", "debug") for p in [ROOT / BUILD / f"n4-{kind}" / "tandem"] if os.access(p, os.X_OK)]
pytestmark = pytest.mark.skipif(not PROGRAMS, reason="not run: needs build/n4-fast/tandem (make regress)")


def stalled(tmp_path, port, channel):
    """Channels of the port that are valid and not ready when nothing moves any more."""
    done = subprocess.run([str(PROGRAMS[0]), "run", "convert", "c=16", "h=14", "w=14", "to=int8", "bus=ideal", "--break", f"{port}.{channel}:0",
                           "--case-dir", str(tmp_path)], capture_output=True, text=True, timeout=300, cwd=tmp_path)
    assert done.returncode == 1 and "hang:" in done.stdout + done.stderr, done.stdout + done.stderr
    return set(re.findall(rf"^  {port} (\w+) +valid, not ready since", done.stdout + done.stderr, re.M))


@pytest.mark.parametrize("port", ["m0", "m1"])
@pytest.mark.parametrize("channel, shown", [
    ("AW", {"AW", "W"}),  # this memory takes no data without an address: both readies stay low
    ("W", {"W"}),         # addresses are taken, data are not
    ("AR", {"AR"}),
])
def test_valid_comes_without_ready(tmp_path, port, channel, shown):
    assert stalled(tmp_path, port, channel) == shown
