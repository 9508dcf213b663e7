"""The shim of a Verilated top: ports, values, public signals, assertions, seeds, waveforms. A small design goes through
the rules of the Makefile."""

import os
import pathlib
import re
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent
RULES = """
include Makefile
# UNOPTFLAT: the loop that never settles is there on purpose (test_loop_that_never_settles)
$(eval $(call verilated_design,shim_toy,shim_toy,-Wno-UNOPTFLAT tests/shim/taps.vlt \\
  tests/shim/tap_shim_toy.sv,tests/shim))
OBJ_check := $(OUT)/obj/tests/shim/shim_check.o $(OUT)/obj/tb/sim/assert.o
$(OUT)/shim-check: $(OBJ_check) $(DUT_shim_toy) $(VLT)/libverilated.a
\t@$(call link_top,$(OBJ_check),shim_toy,)
"""


@pytest.fixture(scope="module", params=["fast", "debug"] if os.environ.get("TANDEM_CHECK") else ["debug"])
def toy(request, tmp_path_factory):
    if shutil.which("verilator") is None:
        pytest.fail("needs verilator (make deps)")
    tmp = tmp_path_factory.mktemp(request.param)
    rules = tmp / "rules.mk"
    rules.write_text(RULES if request.param == "debug" else RULES.replace("tests/shim/taps.vlt", f"{tmp}/taps"))
    (tmp / "taps").write_text((ROOT / "tests/shim/taps.vlt").read_text())  # not *.vlt: no tap_alias.py
    env = {k: v for k, v in os.environ.items() if not k.startswith("MAKE") and k != "MFLAGS"}
    program = tmp / "build" / ("n4-" + request.param) / "shim-check"
    done = subprocess.run(["make", "-f", str(rules), "-j2", f"BUILD={tmp}/build", "CFG=n4", "KIND=" + request.param,
                           "SAN=", "TANDEM_BUILDING=1", str(program)], cwd=ROOT, env=env, capture_output=True,
                          text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    wave = tmp / "toy.fst"
    done = subprocess.run([str(program), str(wave)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return request.param, done.stdout.splitlines(), wave


def value(lines, key):
    found = [line[len(key) + 1:] for line in lines if line.startswith(key + "=")]
    assert found, "no %s in the output" % key
    return found if len(found) > 1 else found[0]


def test_ports(toy):
    assert value(toy[1], "top") == "shim_toy"
    assert sorted(value(toy[1], "port")) == ["clk_i 1 in", "long_i 40 in", "mode_i 3 in", "parts_o 8 out",
                                             "short_i 12 in", "state_o 31 out", "sum_o 40 out", "wide_i 100 in",
                                             "wide_o 100 out", "word_i 32 in"]


def test_values(toy):
    assert value(toy[1], "wide") == "0000000f fffffffc fffffffd fffffffe"
    assert value(toy[1], "sum") == "f0f0000abc"


def test_public_signals(toy):
    """Of both taps, in the order of scopes, then names; no array, no parameter."""
    total, again, fixed = value(toy[1], "vars").split()
    found = [v.split() for v in value(toy[1], "var")]
    assert total == str(len(found)) and again == "1"
    # the table that scripts/tap_alias.py makes in the one, the runtime's maps in the other
    assert fixed == ("1" if toy[0] == "debug" else "0")
    scopes = [v[0] for v in found]
    assert [v[:2] for v in found] == sorted((v[:2] for v in found), key=lambda v: (v[0].replace("[2]", "[02]"), v[1]))
    part = [s for s in scopes if s.endswith("u_part.u_tap_shim_part")]
    assert len(part) == 2 and "g_part[2]" in part[0] and "g_part[10]" in part[1]
    assert {s for s in scopes if s not in part} == {part[0].replace("g_part[2].u_part.u_tap_shim_part",
                                                                    "u_tap_shim_toy")}
    top = {v[1]: v[2:] for v in found if v[0].endswith("u_tap_shim_toy")}
    state = top.pop("state_q")
    assert state[0] == "31"
    assert top == {"mode_i": ["3", "0"], "short_i": ["12", "abc"], "word_i": ["32", "f0000000"],
                   "long_i": ["40", "f0", "0"], "wide_i": ["100", "0", "3", "2", "1"]}


def test_public_signals_follow(toy):
    assert value(toy[1], "short") == ["123", "124", "125"]
    parts = [p.split() for p in value(toy[1], "parts")]
    assert all(tap == port for tap, port in parts)
    assert [(int(b, 16) - int(a, 16)) & 0xf for (a, _), (b, _) in zip(parts, parts[1:])] == [1, 1]
    assert [((int(b, 16) >> 4) - (int(a, 16) >> 4)) & 0xf for (a, _), (b, _) in zip(parts, parts[1:])] == [2, 2]


def test_initial_state(toy):
    states = value(toy[1], "state")
    assert len(set(states[1:])) == 3 and all(int(s, 16) < 1 << 31 for s in states)


def test_assertion_is_kept_and_does_not_kill(toy):
    fired, message = value(toy[1], "mode1").split(" ", 1)
    assert fired == "1" and "shim_toy.sv" in message and "mode is 1" in message and "[10]" in message
    assert value(toy[1], "other1") == "0 -"
    # what the runtime of this Verilator says can be taken apart
    text, path = value(toy[1], "said1").split(" | ")
    assert (path.startswith("shim_toy") and text.startswith(path + ": mode is 1, short is ") and
            re.search(r" \(shim_toy\.sv:\d+\)$", text))


def test_finish_is_no_failure(toy):
    assert value(toy[1], "mode2") == "1 -"
    assert value(toy[1], "other2") == "0 -"


def test_stop(toy):
    fired, message = value(toy[1], "mode3").split(" ", 1)
    assert fired == "1" and "shim_toy.sv:36" in message
    assert value(toy[1], "other3") == "0 -"


def test_loop_that_never_settles(toy):
    fired, message = value(toy[1], "mode4").split(" ", 1)
    assert fired == "1" and "converge" in message
    assert value(toy[1], "other4") == "0 -"


def test_waves(toy):
    kind, lines, wave = toy
    if kind == "fast":
        assert value(lines, "trace") == "0"
        return
    assert value(lines, "trace") == "1"
    assert value(lines, "bad_open") == "0 /nonexistent/x.fst: cannot be written"
    assert value(lines, "open") == "1"
    assert wave.stat().st_size > 100
