"""Nothing depends on the state that registers and memories happen to have before the reset: three seeds of it, the same
results, cycles and trace hashes."""
import os
import re
import subprocess

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TANDEM = os.environ.get("TANDEM", os.path.join(ROOT, "build", "n4-tap", "tandem"))
with open(os.path.join(ROOT, "designs/npu/tests.def"), encoding="utf-8") as tests:
    TESTS = re.findall(r"^OPERATOR\((\w+)\)", tests.read(), re.M) + ["graph", "sequence", "regs"]
# a deliberate bug of tests/hang_bugs.patch: PLUSARG=+bug_parity TANDEM=... must fail (a register without its reset)
PLUSARG = os.environ.get("PLUSARG")


def run(test, seed, init):
    args = [TANDEM, "test", test, "--seed", str(seed), "--init-seed", str(init), "--case-dir", os.devnull]
    done = subprocess.run(args + (["--plusarg", PLUSARG] if PLUSARG else []),
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return re.search(r"cycles=\d+ hash=[0-9a-f]{16}", done.stdout)[0]


@pytest.mark.skipif(not os.path.exists(TANDEM), reason="not run: make CFG=n4 KIND=tap build/n4-tap/tandem")
@pytest.mark.parametrize("test", TESTS)
def test_same_from_every_state(test):
    for seed in (1, 2):
        assert len({run(test, seed, init) for init in (1, 2, 0xfedcba9876543210)}) == 1
