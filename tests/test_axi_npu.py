"""The buses of the NPU under `tandem`: statistics, and a memory that never takes anything."""
import json
import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
BUILD = os.environ.get("BUILD", "build")
PROGRAMS = [p for kind in ("fast", "tap", "debug") for p in [ROOT / BUILD / f"n4-{kind}" / "tandem"]
            if os.access(p, os.X_OK)]
pytestmark = pytest.mark.skipif(not PROGRAMS, reason="not run: needs build/n4-fast/tandem (make regress)")


def test_statistics(tmp_path):
    out = tmp_path / "bus.json"
    done = subprocess.run([str(PROGRAMS[0]), "run", "convert", "c=16", "h=14", "w=14", "to=int8",
                           "bus=ideal", "--bus", str(out)], capture_output=True, text=True, timeout=300, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "on the buses since reset:" in done.stdout and "m0 reads: " in done.stdout
    ports = {p["port"]: p for p in json.loads(out.read_text())}
    assert list(ports) == ["axil", "m0", "m1"] and ports["axil"]["lite"] and not ports["m0"]["lite"]
    for name, p in ports.items():
        for way in ("reads", "writes"):
            d = p[way]
            assert d["bursts"] == sum(n for _, n in d["bursts_by_beats"]) == sum(n for _, n in d["latency_from"]), name
            assert d["beats"] == sum(beats * n for beats, n in d["bursts_by_beats"]), name
            assert (d["bursts"] == sum(n for _, n in d["bursts_by_alignment"]) ==
                    sum(n for _, n in d["beats_to_4k_from"])), name
            assert p["cycles"] == sum(n for _, n in d["cycles_in_flight"]), name
            assert d["max_in_flight"] <= (1 if name == "axil" else 16)
        assert p["errors"] == 0
        strobes = p["writes"]["strobes"]
        assert (sum(sum(places) for places in strobes.values()) == p["writes"]["beats"] and
                sum(strobes["holes"] + strobes["none"]) == 0)
    assert ports["m0"]["reads"]["bytes"] + ports["m1"]["reads"]["bytes"] == 16 * 14 * 14 * 4


# a master must not wait for a ready before it shows its valid: rule PROJ_ERRM_WFIRST_DEADLOCK of docs/axi-checker.md
def stalled(tmp_path, port, channel):
    """Channels of the port that are valid and not ready when nothing moves any more."""
    done = subprocess.run([str(PROGRAMS[0]), "run", "convert", "c=16", "h=14", "w=14",
                           "to=int8", "bus=ideal", "--break", f"{port}.{channel}:0", "--case-dir", str(tmp_path)],
                          capture_output=True, text=True, timeout=300, cwd=tmp_path)
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
