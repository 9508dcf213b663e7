"""tandem axi-check: ports are found in any waveform under the usual names, rules fire at the right cycle, bad or
damaged input is one line."""
import json
import os
import random
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
HOST = ROOT / os.environ.get("HOST", os.path.join(os.environ.get("BUILD", "build"), "host"))
PROGRAM = HOST / "tandem-model"
DAMAGED = 1000 if os.environ.get("TANDEM_CHECK") == "1" else 40
pytestmark = pytest.mark.skipif(not os.access(PROGRAM, os.X_OK), reason="not run: tandem-model is not built")

AX = {"valid": 1, "ready": 1, "addr": 32, "id": 4, "len": 8, "size": 3,
      "burst": 2, "lock": 1, "cache": 4, "prot": 3, "qos": 4, "region": 4, "user": 2}
# widths of all signals of a port with 32 bits of data
FULL = {**{"aw" + k: v for k, v in AX.items()}, **{"ar" + k: v for k, v in AX.items()},
        "wvalid": 1, "wready": 1, "wdata": 32, "wstrb": 4, "wlast": 1, "wuser": 2,
        "bvalid": 1, "bready": 1, "bid": 4, "bresp": 2, "buser": 2,
        "rvalid": 1, "rready": 1, "rid": 4, "rdata": 32, "rresp": 2, "rlast": 1, "ruser": 2}
LITE = {k: v for k, v in FULL.items() if k[2:] in ("valid", "ready", "addr", "prot") or k[0] in "wbr" and k[1:] in (
    "valid", "ready", "data", "strb", "resp")}
OUT = {"aw": 1, "ar": 1, "w": 1, "b": 0, "r": 0}  # the master drives it, but for ready


def channel(name):
    return name[:2] if name[:2] in ("aw", "ar") else name[0]


def field(name):
    return name[len(channel(name)):]


def from_master(name):
    return bool(OUT[channel(name)]) != (field(name) == "ready")


# A write of two beats and a read of one, as a master would see them in the cycles 3 to 12.
TRAFFIC = {
    0: {k: 0 for k in FULL},
    3: {"awvalid": 1, "awaddr": 0x1000, "awlen": 1, "awsize": 2, "awburst": 1, "awid": 3},
    4: {"awready": 1},
    5: {"awvalid": 0, "awready": 0, "wvalid": 1, "wready": 1, "wdata": 0x11223344, "wstrb": 15},
    6: {"wdata": 0x55667788, "wlast": 1},
    7: {"wvalid": 0, "wlast": 0},
    8: {"bvalid": 1, "bready": 1, "bid": 3},
    9: {"bvalid": 0, "arvalid": 1, "arready": 1, "araddr": 0x2000, "arsize": 2, "arburst": 1, "arid": 5},
    10: {"arvalid": 0, "arready": 0},
    11: {"rvalid": 1, "rready": 1, "rid": 5, "rdata": 0xCAFE, "rlast": 1},
    12: {"rvalid": 0, "rlast": 0},
    15: {},
}
# One beat each way: also for AXI4-Lite and ports without lengths.
SINGLE = {**TRAFFIC, 3: {**TRAFFIC[3], "awlen": 0}, 5: {**TRAFFIC[5], "wlast": 1}, 6: {"wvalid": 0, "wlast": 0}, 7: {}}


def changed(traffic, changes):
    """Traffic with other values in some cycles."""
    result = {c: dict(v) for c, v in traffic.items()}
    for cycle, values in changes.items():
        result.setdefault(cycle, {}).update(values)
    return result


class Vcd:
    """Ports and clocks in scopes. Cycle c begins at 10 c, its rising edge is at 10 c + 5."""

    def __init__(self):
        self.vars = []  # path, width, identifier
        self.changes = {}

    def var(self, path, width=1, alias=None):
        ident = self.ident(alias) if alias else "v%d" % len(self.vars)
        self.vars.append((path, width, ident))
        return path

    def ident(self, path):
        return next(i for p, _, i in self.vars if p == path)

    def set(self, time, path, value):
        width = next(w for p, w, _ in self.vars if p == path)
        if not isinstance(value, str):
            value = format(value, "0%db" % width)
        self.changes.setdefault(time, []).append((self.ident(path), width, value))

    def clock(self, path, cycles=16):
        self.var(path)
        for c in range(cycles):
            self.set(10 * c, path, 0)
            self.set(10 * c + 5, path, 1)
        return self

    def reset(self, path, active=0, until=2, cycles=16):
        self.var(path)
        self.set(0, path, active)
        self.set(10 * until, path, 1 - active)
        return self

    def port(self, scope, name="{}", traffic=TRAFFIC, signals=FULL, when=lambda cycle: 10 * cycle):
        """name: what becomes of "awvalid": a format, or a function."""
        make = name if callable(name) else lambda s: name.format(s)
        path = {s: self.var(scope + "." + make(s), w) for s, w in signals.items()}
        for cycle, values in traffic.items():
            for s, v in values.items():
                if s in path:
                    self.set(max(when(cycle), 0), path[s], v)
        return self

    def text(self):
        tree = {}
        for path, width, ident in self.vars:
            node = tree
            *scopes, leaf = (path.split(".") if "/" not in path
                             else path.split("/")[0].split(".") + ["/".join(path.split("/")[1:])])
            for s in scopes:
                node = node.setdefault(s, {})
            node[leaf + " "] = (width, ident)
        lines = ["$timescale 1ns $end"]

        def walk(node):
            for key, value in node.items():
                if isinstance(value, tuple):
                    lines.append("$var wire %d %s %s %s$end" %
                                 (value[0], value[1], key, "[%d:0] " % (value[0] - 1) if value[0] > 1 else ""))
            for key, value in node.items():
                if isinstance(value, dict):
                    lines.append("$scope module %s $end" % key)
                    walk(value)
                    lines.append("$upscope $end")

        walk(tree)
        lines.append("$enddefinitions $end")
        for time in sorted(self.changes):
            lines.append("#%d" % time)
            for ident, width, value in self.changes[time]:
                lines.append(value + ident if width == 1 else "b%s %s" % (value, ident))
        return "\n".join(lines) + "\n"

    def write(self, path):
        path.write_text(self.text())
        return path


def simple(scope="top", **kwargs):
    return Vcd().clock(scope + ".clk").reset(scope + ".rst_n").port(scope, **kwargs)


def check(path, *args, **kwargs):
    return subprocess.run([str(PROGRAM), "axi-check", str(path), *map(str, args)],
                          capture_output=True, text=True, timeout=120, **kwargs)


def rules(done):
    """(rule, cycle) of each line."""
    return [(line.split()[0], int(line.split()[1].removeprefix("cycle="))) for line in done.stdout.splitlines()]


def clean(done):
    """The summary says so; lines of rules before it are those of recommendations."""
    assert (done.returncode, done.stdout) == (0, ""), (done.stdout, done.stderr)
    *broken, last = done.stderr.splitlines()
    assert "; clean" in last and all(", note, first in cycle " in line for line in broken), done.stderr
    return True


def idle(done):
    """Nothing is wrong, and nothing moved: that is not called clean."""
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (0, "", 1), (done.stdout, done.stderr)
    assert "; no transaction (nothing moved on the port)" in done.stderr and "clean" not in done.stderr
    return True


def one_line(done, part):
    assert (done.returncode, done.stdout) == (2, ""), (done.stdout, done.stderr)
    assert done.stderr.count("\n") == 1 and part in done.stderr, done.stderr
    return True


BROKEN = changed(TRAFFIC, {4: {"awaddr": 0x1004}})  # the address moves while it waits


# ---- names ----

NAMES = [
    "{}", "m_axi_{}", lambda s: "M_AXI_" + s.upper(), lambda s: "m_axi_" + channel(s) + "_" + field(s),
    lambda s: channel(s) + "_" + field(s), lambda s: "m_axi_" + s + ("_o" if from_master(s) else "_i"),
    lambda s: "s_axi_" + s + ("_i" if from_master(s) else "_o"), lambda s: ("o_" if from_master(s) else "i_") +
    "m_axi_" + s, lambda s: "S00_AXI_" + s, "m0{}", "maxi{}", lambda s: "M_AXI_" + s + "_i",
    lambda s: "io_axi_" + channel(s) + ("_bits_" if field(s) not in ("valid", "ready") else "_") + field(s),
    lambda s: "axi_" + channel(s) + ("_payload_" if field(s) not in ("valid", "ready") else "_") + field(s),
    lambda s: "m_axi_" + s + "[1]",
]


@pytest.mark.parametrize("name", range(len(NAMES)))
def test_usual_names_are_found(name, tmp_path):
    assert clean(check(simple(name=NAMES[name]).write(tmp_path / "a.vcd")))
    done = check(simple(name=NAMES[name], traffic=BROKEN).write(tmp_path / "a.vcd"))
    assert (done.returncode, rules(done)) == (1, [("AXI4_ERRM_AWADDR_STABLE", 4)]), done.stdout + done.stderr


def test_structs_for_each_direction_are_one_port(tmp_path):
    """Members of slv_req_i (aw, w, ar, b_ready, r_ready) and slv_resp_o: fields of channels are structs in them."""
    def name(s):
        struct = "slv_req_i" if from_master(s) else "slv_resp_o"
        return struct + "/" + channel(s) + ("_" if field(s) in ("valid", "ready") else ".") + field(s)

    vcd = simple(name=lambda s: name(s).replace("/", "."), traffic=BROKEN).text()
    for struct in ("slv_req_i", "slv_resp_o", "aw", "ar", "w", "b", "r"):
        vcd = vcd.replace("$scope module %s $end" % struct, "$scope struct %s $end" % struct)
    (tmp_path / "a.vcd").write_text(vcd)
    done = check(tmp_path / "a.vcd", "--prefix", "top.slv")
    assert (done.returncode, rules(done)) == (1, [("AXI4_ERRM_AWADDR_STABLE", 4)]), done.stdout + done.stderr


@pytest.mark.parametrize("prefix", ["tb.dut.u_dma.m0_axi_", "tb.dut.u_dma.m0_axi",
                                    "TB.DUT.U_DMA.M0_AXI", "tb.dut.u_dma", "dut.u_dma.m0", "u_dma", "u_dma.m0_axi",
                                    "m0_axi_", "m0_axi", "M0", "m", "axi", "tb.dut.u_dma.m"])
def test_prefix_may_be_scope_or_name_or_both(prefix, tmp_path):
    vcd = Vcd().clock("tb.dut.clk_i").reset("tb.dut.rst_ni").port("tb.dut.u_dma", "m0_axi_{}", BROKEN)
    vcd.port("tb.dut.u_other", "s_bus_{}")
    done = check(vcd.write(tmp_path / "a.vcd"), "--prefix", prefix)
    assert (done.returncode, rules(done)) == (1, [("AXI4_ERRM_AWADDR_STABLE", 4)]), done.stderr
    assert " port=%s " % prefix in done.stdout
    assert "clock tb.dut.clk_i, reset tb.dut.rst_ni active low; 1 write, 1 read; 1 error, 0 warnings" in done.stderr


def test_prefix_with_a_direction(tmp_path):
    path = simple(name=lambda s: ("o_" if from_master(s) else "i_") + "m_axi_" + s,
                  traffic=BROKEN).write(tmp_path / "a.vcd")
    for prefix in ("o_m_axi", "i_m_axi_", "top.o_m", "m_axi"):
        assert rules(check(path, "--prefix", prefix)) == [("AXI4_ERRM_AWADDR_STABLE", 4)]


def test_example_of_the_documentation():
    """docs/axi-check.md shows what its example prints."""
    page = (ROOT / "docs" / "axi-check.md").read_text().splitlines()
    at = next(i for i, line in enumerate(page) if line.startswith("    $ build/host/tandem-model"))
    done = check(*page[at].split()[3:], cwd=ROOT)
    assert done.returncode == 1
    assert (done.stdout + done.stderr).splitlines() == [line.strip() for line in page[at + 1:at + 4]]


def two_ports():
    return simple(name="m0_axi_{}").port("top", "m1_axi_{}", BROKEN).port("top", "m1_axi_dbg_{}")


def test_two_ports(tmp_path):
    path = two_ports().write(tmp_path / "a.vcd")
    assert one_line(check(path, "--prefix", "m"), "prefix m is that of 3 ports: top.m0_axi, top.m1_axi, top.m1_axi_dbg")
    assert one_line(check(path, "--prefix", "top"), "top.m0_axi, top.m1_axi")
    assert one_line(check(path), "3 ports, expected --prefix for one of them: top.m0_axi, top.m1_axi, top.m1_axi_dbg")
    assert one_line(check(path, "--prefix", "m2"),
                    "no AXI port with prefix m2, there are: top.m0_axi, top.m1_axi, top.m1_axi_dbg")
    assert clean(check(path, "--prefix", "m0"))
    assert rules(check(path, "--prefix", "m1_axi")) == [("AXI4_ERRM_AWADDR_STABLE", 4)]  # exact beats longer
    assert clean(check(path, "--prefix", "dbg"))
    done = check(path, "--list")
    assert done.returncode == 0
    assert done.stdout.splitlines() == ["top.m%s: AXI4, 32 bits" % s for s in ("0_axi", "1_axi", "1_axi_dbg")]


def test_one_bus_in_several_scopes_is_one_port(tmp_path):
    vcd = simple(name="m_axi_{}", traffic=BROKEN)
    for s, w in FULL.items():
        vcd.var("top.u_a.m_axi_" + s + ("_o" if from_master(s) else "_i"), w, alias="top.m_axi_" + s)
    path = vcd.write(tmp_path / "a.vcd")
    assert rules(check(path)) == [("AXI4_ERRM_AWADDR_STABLE", 4)]
    assert check(path, "--list").stdout.splitlines() == ["top.m_axi: AXI4, 32 bits"]


def test_both_sides_of_a_module_have_one_prefix(tmp_path):
    vcd = simple(name=lambda s: s + ("_i" if from_master(s) else "_o")).port(
        "top", lambda s: s + ("_o" if from_master(s) else "_i"), BROKEN)
    path = vcd.write(tmp_path / "a.vcd")
    assert one_line(check(path, "--prefix", "top"), "prefix top is that of 2 ports: top (master), top (slave)")
    assert clean(check(path, "--prefix", "top", "--side", "slave"))
    assert rules(check(path, "--prefix", "top", "--side", "master")) == [("AXI4_ERRM_AWADDR_STABLE", 4)]
    # a module that only watches: everything is an input, and that is one port
    watch = simple(name="{}_i", traffic=BROKEN).write(tmp_path / "b.vcd")
    assert rules(check(watch)) == [("AXI4_ERRM_AWADDR_STABLE", 4)]


def test_second_signal_of_the_same_name_is_said(tmp_path):
    vcd = simple(name="m_axi_{}")
    vcd.var("top.m_axi_aw_valid")
    done = check(vcd.write(tmp_path / "a.vcd"))
    assert clean(done) and "two signals for one place, left out: m_axi_aw_valid" in done.stderr


def test_names_that_only_look_alike_are_no_port(tmp_path):
    vcd = simple(name="m_axi_{}")
    for name in ("gear_valid", "gear_ready", "draw_valid", "draw_ready", "draw_addr"):
        vcd.var("top." + name)
    assert clean(check(vcd.write(tmp_path / "a.vcd")))


# ---- what a port has ----

def without(*names):
    return {k: v for k, v in FULL.items() if k not in names}


def test_missing_optional_signals_are_tied_off(tmp_path):
    optional = ([c + f for c in ("aw", "ar") for f in ("id", "lock", "cache", "prot", "qos", "region", "user")] +
                ["wuser", "buser", "ruser", "bid", "rid"])
    few = without(*optional)
    assert clean(check(simple(signals=few).write(tmp_path / "a.vcd")))
    assert (rules(check(simple(signals=few, traffic=BROKEN).write(tmp_path / "a.vcd"))) ==
            [("AXI4_ERRM_AWADDR_STABLE", 4)])
    # one beat of full width, INCR, last
    fewer = without(*optional, "awlen", "awsize", "awburst", "wlast", "arsize",
                    "arburst", "wstrb", "bresp", "rresp", "awprot")
    single = changed(SINGLE, {})
    assert clean(check(simple(signals=fewer, traffic=single).write(tmp_path / "a.vcd")))
    soon = changed(single, {5: {"bvalid": 1}})  # with the data
    assert ("AXI4_ERRS_BRESP_WLAST", 5) in rules(check(simple(signals=fewer, traffic=soon).write(tmp_path / "a.vcd")))


@pytest.mark.parametrize("gone, part", [
    ("awready", "no signal AWREADY"), ("wvalid", "no signal WVALID"),
    ("bready", "no signal BREADY"), ("araddr", "no signal ARADDR"), ("rvalid", "no signal RVALID"),
    ("wlast", "no signal WLAST, although AWLEN exists"), ("rlast", "no signal RLAST, although ARLEN exists"),
    ("awvalid", "no signal AWVALID"), ("arvalid", "no signal ARVALID"),
])
def test_missing_required_signal_is_one_line(gone, part, tmp_path):
    assert one_line(check(simple(signals=without(gone), name="m_{}").write(tmp_path / "a.vcd"), "--prefix", "m"),
                    "port top.m: " + part)


@pytest.mark.parametrize("signal, width, part", [
    ("awsize", 4, "AWSIZE has 4 bits, expected 3"), ("awlock", 2, "AWLOCK has 2 bits, expected 1"),
    ("rdata", 64, "WDATA has 32 bits and RDATA 64"), ("wstrb", 8, "WSTRB has 8 bits, expected 4"),
    ("araddr", 65, "ARADDR has 65 bits, expected at most 64"), ("awvalid", 2, "AWVALID has 2 bits, expected 1"),
])
def test_impossible_width_is_one_line(signal, width, part, tmp_path):
    assert one_line(check(simple(signals={**FULL, signal: width}).write(tmp_path / "a.vcd"), "--prefix", "top"), part)


def test_illegal_data_width_is_a_violation(tmp_path):
    done = check(simple(signals={**FULL, "wdata": 48, "rdata": 48, "wstrb": 6}).write(tmp_path / "a.vcd"))
    assert done.returncode == 1 and [r for r, _ in rules(done)] == ["AXI4_AUXM_DATA_WIDTH"]
    done = check(simple(signals={**LITE, "wdata": 128, "rdata": 128, "wstrb": 16}).write(tmp_path / "a.vcd"))
    assert done.returncode == 1 and [r for r, _ in rules(done)] == ["AXI4LITE_AUXM_DATA_WIDTH"]


def test_read_only_and_write_only_ports(tmp_path):
    reads = {k: v for k, v in FULL.items() if channel(k) in ("ar", "r")}
    writes = {k: v for k, v in FULL.items() if k not in reads}
    done = check(simple(signals=reads).write(tmp_path / "a.vcd"))
    assert clean(done) and "read only" in done.stderr and "0 writes, 1 read;" in done.stderr
    done = check(simple(signals=writes).write(tmp_path / "a.vcd"))
    assert clean(done) and "write only" in done.stderr and "1 write, 0 reads;" in done.stderr


def test_lite_is_found_or_given(tmp_path):
    bad = changed(SINGLE, {8: {"bresp": 1}})  # EXOKAY
    path = simple(signals=LITE, traffic=bad, name="s_axil_{}").write(tmp_path / "a.vcd")
    done = check(path)
    assert rules(done) == [("AXI4LITE_ERRS_BRESP_EXOKAY", 8)] and "AXI4-Lite, 32 bits" in done.stderr
    assert clean(check(simple(signals=LITE, traffic=SINGLE).write(tmp_path / "a.vcd")))
    path = simple(traffic=bad).write(tmp_path / "b.vcd")
    assert rules(check(path)) == [("AXI4_ERRS_BRESP_EXOKAY", 8)]
    assert one_line(check(path, "--lite"), "port top: --lite, but the port has AWLEN, which AXI4-Lite lacks")
    some = {**LITE, "awid": 4, "bid": 4}  # IDs are no bursts
    path = simple(signals=some, traffic=bad).write(tmp_path / "c.vcd")
    assert rules(check(path)) == [("AXI4_ERRS_BRESP_EXOKAY", 8)]
    assert rules(check(path, "--lite")) == [("AXI4LITE_ERRS_BRESP_EXOKAY", 8)]
    assert rules(check(tmp_path / "b.vcd", "--axi4")) == [("AXI4_ERRS_BRESP_EXOKAY", 8)]


@pytest.mark.parametrize("bits", [1, 64, 65, 200])
def test_ids_of_any_width(bits, tmp_path):
    """IDs that differ in their highest bit only are different ones."""
    signals = {**FULL, **{s: bits for s in ("awid", "bid", "arid", "rid")}}
    a, b = (0, 1 << (bits - 1)) if bits < 65 else (5, 5 | 1 << (bits - 1))
    good = changed(TRAFFIC, {3: {"awid": a}, 8: {"bid": a}, 9: {"arid": b}, 11: {"rid": b}})
    assert clean(check(simple(signals=signals, traffic=good).write(tmp_path / "a.vcd")))
    bad = changed(good, {8: {"bid": b}, 11: {"rid": a}})
    found = rules(check(simple(signals=signals, traffic=bad).write(tmp_path / "a.vcd")))
    assert ("AXI4_ERRS_BRESP_AW", 8) in found and ("AXI4_ERRS_RID", 11) in found


def test_user_signals_of_any_width(tmp_path):
    signals = {**FULL, "awuser": 130, "wuser": 3}
    bad = changed(TRAFFIC, {3: {"awuser": 1 << 129 | 1}, 4: {"awuser": 1}})
    assert (rules(check(simple(signals=signals, traffic=bad).write(tmp_path / "a.vcd"))) ==
            [("AXI4_ERRM_AWUSER_STABLE", 4)])


@pytest.mark.parametrize("bits", [8 * 4, 512, 1024])
def test_wide_data(bits, tmp_path):
    """The highest lane counts: its strobe, its stability, its X."""
    signals = {**FULL, "wdata": bits, "rdata": bits, "wstrb": bits // 8}
    size = (bits // 8).bit_length() - 1
    top, strobes = 1 << (bits - 1), (1 << (bits // 8)) - 1
    good = changed(TRAFFIC, {3: {"awsize": size}, 5: {"wstrb": strobes, "wdata": top, "wready": 0},
                             6: {"wdata": top, "wready": 1, "wlast": 0}, 7: {"wvalid": 1, "wlast": 1},
                             8: {"bvalid": 0, "wvalid": 0}, 9: {"bvalid": 1}, 10: {"bvalid": 0}})
    good[9]["arsize"] = size
    assert clean(check(simple(signals=signals, traffic=good).write(tmp_path / "a.vcd")))
    bad = changed(good, {6: {"wdata": 0}, 11: {"rdata": "x" + "0" * (bits - 1)}})
    assert rules(check(simple(signals=signals, traffic=bad).write(tmp_path / "a.vcd"))) == [
        ("AXI4_ERRM_WDATA_STABLE", 6), ("AXI4_ERRS_RDATA_X", 11)]


# ---- X, reset, clock ----

def test_x(tmp_path):
    for changes, rule, cycle in [({3: {"awaddr": "x" * 32}, 4: {"awaddr": "x" * 32}}, "AXI4_ERRM_AWADDR_X", 3),
                                 ({3: {"awprot": "0z0"}}, "AXI4_ERRM_AWPROT_X", 3),
                                 ({2: {"awready": "x"}, 3: {"awready": 0}}, "AXI4_ERRS_AWREADY_X", 2),
                                 ({8: {"bresp": "x0"}}, "AXI4_ERRS_BRESP_X", 8),
                                 ({13: {"rvalid": "x"}, 14: {"rvalid": 0}}, "AXI4_ERRS_RVALID_X", 13)]:
        done = check(simple(traffic=changed(TRAFFIC, changes)).write(tmp_path / "a.vcd"))
        assert (done.returncode, rules(done)) == (1, [(rule, cycle)]), (changes, done.stdout)
    # legal: payload without valid, lanes without strobe, anything in reset, signals that have no value before the reset
    # ends
    legal = changed(TRAFFIC, {0: {"awvalid": "x", "rvalid": "z", "awaddr": "x" * 32, "araddr": "z" * 32,
                                  "rdata": "x" * 32, "wdata": "x" * 32}, 2: {"awvalid": 0, "rvalid": 0},
                              5: {"wdata": "x" * 16 + "0" * 16, "wstrb": 3}, 6: {"wstrb": 15}, 7: {"wdata": "x" * 32}})
    assert clean(check(simple(traffic=legal).write(tmp_path / "a.vcd")))


def test_valid_at_the_first_edge_after_reset(tmp_path):
    early = changed(TRAFFIC, {2: {"awvalid": 1, "awaddr": 0x1000, "awlen": 1, "awsize": 2, "awburst": 1, "awid": 3}})
    assert rules(check(simple(traffic=early).write(tmp_path / "a.vcd"))) == [("AXI4_ERRM_AWVALID_RESET", 2)]
    # without a reset nobody knows which edge that is
    vcd = Vcd().clock("top.clk").port("top", traffic=changed(
        early, {0: {"awvalid": 1, "awaddr": 0x1000, "awlen": 1, "awsize": 2, "awburst": 1, "awid": 3}}))
    done = check(vcd.write(tmp_path / "a.vcd"))
    assert clean(done) and "no reset in the file (never in reset)" in done.stderr


@pytest.mark.parametrize("name, active",
                         [("aresetn", 0), ("ARESETN", 0), ("rst_n", 0), ("rst_ni", 0),
                          ("rstn_i", 0), ("nreset", 0), ("resetb", 0), ("axi_aresetn", 0), ("areset", 1), ("rst", 1),
                          ("rst_i", 1), ("reset", 1), ("i_reset", 1), ("m_axi_aresetn", 0), ("sys_rst_n", 0)])
def test_reset_and_its_level_by_name(name, active, tmp_path):
    wild = changed(TRAFFIC, {0: {"rvalid": "x", "bvalid": "x"}, 2: {"rvalid": 0, "bvalid": 0}})
    vcd = Vcd().clock("top.aclk").reset("top." + name, active).port("top.u_a", "m_axi_{}", wild)
    done = check(vcd.write(tmp_path / "a.vcd"))
    assert clean(done) and "reset top.%s active %s" % (name, "high" if active else "low") in done.stderr


def test_reset_that_is_given(tmp_path):
    wild = changed(TRAFFIC, {0: {"rvalid": "x"}, 2: {"rvalid": 0}})
    path = Vcd().clock("top.clk").reset("top.init", 1).port("top.u_a", "m_axi_{}", wild).write(tmp_path / "a.vcd")
    assert rules(check(path)) == [("AXI4_ERRS_RVALID_X", 0)]
    assert clean(check(path, "--reset", "init"))
    assert clean(check(path, "--reset", "TOP.init", "--reset-level", 1))
    assert one_line(check(path, "--reset", "init", "--reset-level", 0, "--from", 2), "always in reset")
    assert one_line(check(path, "--reset", "nothing"), "--reset nothing: no such signal")
    assert one_line(check(path, "--reset", "u_a.m_axi_awaddr"), "has 32 bits, expected 1")
    # active low against its name
    path = Vcd().clock("top.clk").reset("top.rst", 0).port("top", "m_axi_{}", wild).write(tmp_path / "a.vcd")
    assert one_line(check(path, "--to", 14, "--from", 3),
                    "always in reset, so nothing can be judged: reset top.rst active high")
    assert clean(check(path, "--reset-level", 0))


def test_reset_in_the_middle_forgets_what_was_in_flight(tmp_path):
    vcd = Vcd().clock("top.clk").port("top", traffic={**{c: v for c, v in TRAFFIC.items() if c < 7},
                                                      7: {"wvalid": 0, "wlast": 0}})
    vcd.var("top.rst_n")
    for time, level in ((0, 0), (20, 1), (90, 0), (110, 1)):
        vcd.set(time, "top.rst_n", level)
    assert clean(check(vcd.write(tmp_path / "a.vcd")))


def test_end_of_the_run(tmp_path):
    cut = {c: v for c, v in TRAFFIC.items() if c < 8 or c >= 9}
    path = simple(traffic=cut).write(tmp_path / "a.vcd")
    assert rules(check(path)) == [("AXI4_ERRS_BRESP_ALL_DONE_EOS", 16)]
    assert clean(check(path, "--open-end"))
    assert clean(check(path, "--to", 14))


@pytest.mark.parametrize("clock", ["top.clk", "top.u_a.ACLK", "top.clock_i", "top.m_axi_aclk", "clk.clk"])
def test_clock_beside_the_port_or_further_out(clock, tmp_path):
    vcd = Vcd().clock(clock).reset("top.rst_n").port("top.u_a", "m_axi_{}", BROKEN)
    done = check(vcd.write(tmp_path / "a.vcd"), *(["--clock", clock] if clock == "clk.clk" else []))
    assert rules(done) == [("AXI4_ERRM_AWADDR_STABLE", 4)] and "clock %s," % clock in done.stderr


def test_no_clock_is_one_line(tmp_path):
    path = Vcd().clock("top.tick").reset("top.rst_n").port("top", "m_axi_{}", BROKEN).write(tmp_path / "a.vcd")
    assert one_line(check(path), "port top.m_axi: no clock (aclk, clk, clock ...) beside it or in a scope around it, "
                    "expected --clock NAME")
    assert rules(check(path, "--clock", "tick")) == [("AXI4_ERRM_AWADDR_STABLE", 4)]
    assert one_line(check(path, "--clock", "rst"), "--clock rst: no such signal")
    assert one_line(check(path, "--clock", "m_axi_awlock"), "clock top.m_axi_awlock never rises")
    path = Vcd().clock("top.a_clk").clock("top.b_clk").reset("top.rst_n").port("top", "m_axi_{}").write(
        tmp_path / "a.vcd")
    assert one_line(check(path), "several clocks in top, expected --clock NAME")


@pytest.mark.parametrize("clock_last", [False, True])
def test_what_changes_with_the_clock_counts_for_the_next_edge(clock_last, tmp_path):
    """Registers change at the edge: each cycle's values are written down at the edge before it, in any order."""
    vcd = Vcd()
    if not clock_last:
        vcd.clock("top.clk")
    vcd.reset("top.rst_n").port("top", traffic=BROKEN, when=lambda cycle: 10 * cycle - 5)
    if clock_last:
        vcd.clock("top.clk")
    assert rules(check(vcd.write(tmp_path / "a.vcd"))) == [("AXI4_ERRM_AWADDR_STABLE", 4)]


def test_cycles_are_those_of_the_clock(tmp_path):
    """A recording that begins late keeps the numbers of its cycles, and answers to what was before it are no
    violations."""
    text = simple(name="m_axi_{}", traffic=changed(BROKEN, {})).text()
    shifted = "\n".join("#%d" % (int(l[1:]) + 4000) if l.startswith("#") else l for l in text.splitlines()) + "\n"
    (tmp_path / "a.vcd").write_text(shifted)
    done = check(tmp_path / "a.vcd")
    assert rules(done) == [("AXI4_ERRM_AWADDR_STABLE", 404)] and " time=4045 " in done.stdout
    answer = {0: {k: 0 for k in FULL}, 5: {"rvalid": 1, "rready": 1, "rid": 5, "rlast": 1}, 6: {"rvalid": 0}}
    vcd = Vcd().clock("top.clk").port("top", traffic=answer)
    assert rules(check(vcd.write(tmp_path / "b.vcd"))) == [("AXI4_ERRS_RID", 5)]
    assert clean(check(tmp_path / "b.vcd", "--running"))
    shifted = "\n".join("#%d" % (int(l[1:]) + 4000) if l.startswith("#") else l for l in vcd.text().splitlines()) + "\n"
    (tmp_path / "c.vcd").write_text(shifted)
    done = check(tmp_path / "c.vcd")
    assert clean(done) and "begins in the middle of traffic" in done.stderr
    assert rules(check(tmp_path / "c.vcd", "--at-rest")) == [("AXI4_ERRS_RID", 405)]


# ---- what is judged and said ----

MANY = changed(TRAFFIC, {4: {"awaddr": 0x1004, "awlen": 2, "awid": 4}})


def test_window_and_number_of_lines(tmp_path):
    path = simple(traffic=MANY).write(tmp_path / "a.vcd")
    everything = rules(check(path, "--open-end"))
    assert len(everything) >= 3 and {c for _, c in everything} >= {4}
    done = check(path, "--open-end", "--max", 2)
    assert (rules(done) == everything[:2] and "%d more not printed" % (len(everything) - 2) in done.stderr and
            done.returncode == 1)
    assert idle(check(path, "--to", 3))
    assert idle(check(path, "--from", 13, "--open-end"))
    # nothing at the end because of what came before the window
    assert ("AXI4_ERRS_BRESP_ALL_DONE_EOS", 16) in rules(check(path, "--from", 13))
    assert one_line(check(path, "--from", 100), "no cycle between --from and --to; the file has 0..15")


def test_recommendations_never_fail_a_run(tmp_path):
    slow = changed(TRAFFIC, {})
    slow[12] = {"rvalid": 0, "rlast": 0, "arvalid": 1, "arready": 0}
    path = simple(traffic=slow).write(tmp_path / "a.vcd")
    done = check(path, "--max-waits", 2)
    assert clean(done) and "1 note (--notes)" in done.stderr
    done = check(path, "--max-waits", 2, "--notes")
    assert (done.returncode == 0 and rules(done) == [("AXI4_RECS_ARREADY_MAX_WAIT", 14)] and
            " severity=note " in done.stdout)
    done = check(path, "--max-waits", 2, "--severity", "AXI4_RECS_ARREADY_MAX_WAIT=error")
    assert done.returncode == 1 and rules(done) == [("AXI4_RECS_ARREADY_MAX_WAIT", 14)]


def test_severity(tmp_path):
    path = simple(traffic=BROKEN).write(tmp_path / "a.vcd")
    done = check(path, "--severity", "AXI4_ERRM_AWADDR_STABLE=warning")
    assert (done.returncode == 0 and rules(done) == [("AXI4_ERRM_AWADDR_STABLE", 4)] and
            "0 errors, 1 warning" in done.stderr)
    assert clean(check(path, "--severity", "AXI4_ERRM_AWADDR_STABLE=off"))


def test_project_rules_are_off_by_default(tmp_path):
    wrap = changed(TRAFFIC, {3: {"awburst": 2}})
    path = simple(traffic=wrap, signals=without("awuser", "aruser")).write(tmp_path / "a.vcd")
    assert clean(check(path))
    done = check(path, "--project-rules")
    assert done.returncode == 1 and ("PROJ_ERRM_BURST_INCR", 3) in rules(done)


def test_rules_of_another_project(tmp_path):
    """As given, and stronger than those of this NPU."""
    path = simple(signals=without("awuser", "aruser")).write(tmp_path / "a.vcd")
    assert clean(check(path, "--project", "incr_only", "--project", "max_reads=1", "--project", "range=0x1000:0x2000"))
    assert rules(check(path, "--project", "align=0x2000")) == [("PROJ_ERRM_ADDR_ALIGN", 3)]
    assert rules(check(path, "--project", "range=0:0x1008")) == [("PROJ_ERRM_ADDR_RANGE", 9)]
    assert rules(check(path, "--project", "range=0:0x1008", "--project", "range=0x2000:64")) == []
    assert ("PROJ_ERRM_ID_RANGE", 3) in rules(check(path, "--project-rules"))
    assert clean(check(path, "--project-rules", "--project", "ids=16"))


# ---- all traces of the rules, as waveforms ----

# settings of the checker itself, which the command does not have
NOT_OFFLINE = {"exclusives", "max_depth", "depth"}
TRACES = sorted((ROOT / "tests" / "axi").glob("*/*.txt"))


def bits_of(text, width):
    """Of a value of a text trace: decimal, or hexadecimal with digits that are x or z."""
    if text.strip("xz") == "":
        return text[0] * width
    if not text.startswith("0x"):
        return format(int(text), "0%db" % width)[-width:]
    bits = "".join(d * 4 if d in "xz" else format(int(d, 16), "04b") for d in text[2:].lower())
    return bits.rjust(width, "0")[-width:]


def read_trace(path):
    head, rows, expected = {"options": []}, [], []
    for line in path.read_text().splitlines():
        words = line.split("#")[0].split()
        if not words:
            continue
        if words[0].isdigit():
            rows.append((int(words[0]), words[1:]))
        elif words[0] == "expect" and words[1] != "nothing":
            expected.append((words[1], int(words[2].removeprefix("cycle="))))
        elif words[0] == "project":
            value = ":".join(words[2:])
            head["options"] += ["--project", words[1] + ("=" + value if value else "")]
        elif words[0] in ("max_waits", "strict", "running", "error_data_x", "from"):
            head["options"] += ["--" + words[0].replace("_", "-"), *words[1:]]
        elif words[0] == "no_exclusive":
            head["options"] += ["--severity", "AXI4_RECM_EXCL_MATCH=off", "--severity", "AXI4_RECM_EXCL_PAIR=off"]
        elif words[0] == "severity":
            head["options"] += ["--severity", "%s=%s" % (words[1], words[2])]
        elif words[0] not in ("near", "expect"):
            head[words[0]] = int(words[1]) if len(words) > 1 else 1
    return head, rows, expected


def trace_signals(head):
    """Signals of the port, and what they are at first."""
    lite, data = head.get("lite", 0), head.get("data", 32)
    signals = dict(LITE if lite else FULL)
    for s in list(signals):
        if field(s) == "addr":
            signals[s] = 64
        elif field(s) in ("id", "user") and not lite:
            signals[s] = head.get("id", 0) if field(s) == "id" else head.get(s, head.get("user", 0))
            if signals[s] == 0:
                del signals[s]
    signals["wdata"] = signals["rdata"] = data
    signals["wstrb"] = data // 8
    first = {s: 0 for s in signals}
    first["wstrb"] = (1 << (data // 8)) - 1
    for s, value in (("awsize", (data // 8).bit_length() - 1), ("awburst", 1),
                     ("arsize", (data // 8).bit_length() - 1), ("arburst", 1), ("wlast", 1), ("rlast", 1)):
        if s in signals:
            first[s] = value
    return signals, first


def trace_vcd(head, rows):
    """None: a waveform cannot hold it (a signal that the port does not have)."""
    signals, first = trace_signals(head)
    traffic = {0: first}
    reset = {}
    for cycle, words in rows:
        for word in words:
            name, _, value = word.partition("=")
            name = name.lower()
            if name == "aresetn":
                reset[cycle] = value
            elif value and name not in signals:
                return None
            elif value:
                traffic.setdefault(cycle, {})[name] = bits_of(value, signals[name])
    cycles = max(cycle for cycle, _ in rows) + 1
    vcd = Vcd().clock("top.clk", cycles).port("top.p", traffic=traffic, signals=signals)
    if reset:
        vcd.var("top.aresetn")
        for cycle, value in {0: "1", **reset}.items():
            vcd.set(10 * cycle, "top.aresetn", value)
    return vcd


def test_all_traces_of_the_rules_as_waveforms(tmp_path):
    """Every rule fires offline as it does on samples, in the same cycle, and legal traces are clean."""
    left_out = []
    seen = set()
    for trace in TRACES:
        head, rows, expected = read_trace(trace)
        vcd = None if NOT_OFFLINE & set(head) else trace_vcd(head, rows)
        if vcd is None:
            left_out.append(trace.stem)
            continue
        ends = any("finish" in words for _, words in rows)
        options = [*head["options"], "--notes", "--max", "1000", *([] if ends else ["--open-end"]),
                   "--lite" if "lite" in head else "--axi4"]
        done = check(vcd.write(tmp_path / "a.vcd"), "--prefix", "top.p", *options)
        assert sorted(rules(done)) == sorted(expected), (trace, done.stdout, done.stderr)
        seen |= {rule for rule, _ in expected}
    # a signal without bits is not in a waveform, and the tables of the command have no limits
    known = re.compile("TIEOFF|tied-off|AUXM_.*(OVERFLOW|UNDERFLOW)|depth-limit")
    assert [t for t in left_out if not known.search(t)] == []
    assert len(TRACES) - len(left_out) >= 350 and len(seen) >= 140, (len(TRACES), len(left_out), len(seen))


def test_json(tmp_path):
    path = simple(name="m_axi_{}", traffic=BROKEN).write(tmp_path / "a.vcd")
    done = check(path, "--prefix", "m_axi", "--json")
    assert done.returncode == 1 and done.stderr == ""
    out = json.loads(done.stdout)
    assert (out["port"], out["path"], out["clock"], out["reset"],
            out["reset_level"]) == ("m_axi", "top.m_axi", "top.clk", "top.rst_n", 0)
    assert (out["protocol"], out["data_bits"], out["id_bits"], out["first_cycle"],
            out["last_cycle"]) == ("AXI4", 32, 4, 0, 15)
    assert (out["writes"], out["reads"], out["errors"], out["warnings"], out["notes"]) == (1, 1, 1, 0, 0)
    [v] = out["violations"]
    assert (v["rule"], v["cycle"], v["time"], v["channel"],
            v["severity"]) == ("AXI4_ERRM_AWADDR_STABLE", 4, 45, "AW", "error")
    assert out["stats"]["handshakes"] == {"AW": 1, "W": 2, "B": 1, "AR": 1, "R": 1}
    done = check(path, "--stats")
    assert "2 beats, 8 bytes" in done.stdout


def test_line_of_a_violation(tmp_path):
    path = simple(name="m_axi_{}", traffic=BROKEN).write(tmp_path / "a.vcd")
    line = check(path, "--prefix", "m_axi").stdout
    assert line.startswith("AXI4_ERRM_AWADDR_STABLE cycle=4 port=m_axi time=45 channel=AW write=1 id=3 addr=0x100")
    assert line.count("\n") == 1


@pytest.mark.parametrize("args, part", [
    ([], "axi-check: expected a waveform file"),
    (["{v}", "x"], "unexpected argument x"),
    (["{v}", "--frob"], "unknown option --frob"),
    (["{v}", "--prefix"], "--prefix: expected a value"),
    (["{v}", "--prefix", ""], "--prefix: expected a value"),
    (["{v}", "--from", "x"], "--from: expected a number, got 'x'"),
    (["{v}", "--from", "5", "--to", "4"], "--to 4: expected a cycle that is not before --from"),
    (["{v}", "--reset-level", "2"], "--reset-level: expected 0 or 1, got '2'"),
    (["{v}", "--side", "left"], "--side: expected master or slave, got 'left'"),
    (["{v}", "--severity", "AXI4=off"], "--severity: unknown rule AXI4"),
    (["{v}", "--severity", "AXI4_ERRM_AWSIZE"], "--severity: expected RULE=off"),
    (["{v}", "--severity", "AXI4_ERRM_AWSIZE=bad"], "expected off, note, warning or error, got bad"),
    (["{v}", "--max-waits", "0"], "--max-waits: expected a number 1.."),
    (["{v}", "--project", "frob"], "--project: unknown rule frob, expected one of max_writes=N, "),
    (["{v}", "--project", "max_reads"], "--project: max_reads: expected NAME=N, got max_reads"),
    (["{v}", "--project", "incr_only=1"], "--project: incr_only: expected no number"),
    (["{v}", "--project", "align=4294967296"], "--project: align: expected NAME=N"),
    (["{v}", "--project", "range=5"], "--project: range=5: expected BASE:BYTES"),
    (["{v}", "--running", "--at-rest"], "--at-rest: contradicts --running"),
    (["/nowhere/x.fst"], "/nowhere/x.fst: no such file"),
    ([str(ROOT / "README.md")], "neither an FST nor a VCD file"),
    (["/dev/zero"], "not a regular file"),
    (["{e}"], "empty file"),
])
def test_bad_input_is_one_line(args, part, tmp_path):
    vcd = simple().write(tmp_path / "a.vcd")
    (tmp_path / "e").write_text("")
    done = subprocess.run([str(PROGRAM), "axi-check", *[a.replace("{v}", str(vcd)).replace("{e}", str(tmp_path / "e"))
                                                        for a in args]], capture_output=True, text=True, timeout=60)
    assert one_line(done, part)


def test_no_port_is_one_line(tmp_path):
    path = Vcd().clock("top.clk").write(tmp_path / "a.vcd")
    for args in ([], ["--prefix", "m"], ["--list"]):
        assert one_line(check(path, *args), "no AXI port")


def test_help_names_it():
    assert "--project-rules" in subprocess.run([str(PROGRAM), "axi-check",
                                                "--help"], capture_output=True, text=True).stdout
    assert "axi-check FILE --prefix P" in subprocess.run([str(PROGRAM),
                                                          "--help"], capture_output=True, text=True).stdout


def test_output_that_cannot_be_written(tmp_path):
    path = simple(traffic=BROKEN).write(tmp_path / "a.vcd")
    with open("/dev/full", "w") as full:
        done = subprocess.run([str(PROGRAM), "axi-check", str(path)], stdout=full,
                              stderr=subprocess.PIPE, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (3, f"{PROGRAM}: stdout: cannot be written: No space left on device\n")


# ---- FST, and files that are damaged ----

def to_fst(vcd, fst):
    own = HOST / "support" / "vcd2fst"
    program = str(own) if os.access(own, os.X_OK) else shutil.which("vcd2fst")
    if program is None:
        pytest.skip("not run: no program that writes FST (make tests builds one where Verilator ships the library; "
                    "else make deps-dev: gtkwave)")
    subprocess.run([program, str(vcd), str(fst)], check=True, capture_output=True, timeout=60)
    return fst


def test_fst_says_the_same_as_vcd(tmp_path):
    for i, vcd in enumerate((simple(name="m_axi_{}", traffic=MANY), two_ports(),
                             simple(traffic=changed(TRAFFIC, {3: {"awaddr": "x" * 32}, 5: {"wdata": "z" * 32}})))):
        path = vcd.write(tmp_path / "a.vcd")
        fst = to_fst(path, tmp_path / "a.fst")
        for args in (["--prefix", "top.m1_axi"] if i == 1 else [], ["--list"]):
            a, b = check(path, *args), check(fst, *args)
            assert (a.returncode, a.stdout, a.stderr) == (b.returncode, b.stdout, b.stderr)
            assert a.stdout != ""


def long_traffic(bursts=60):
    """Enough for several kinds of blocks in the file."""
    traffic = {0: {k: 0 for k in FULL}}
    rng = random.Random(1)
    for i in range(bursts):
        for c, v in TRAFFIC.items():
            if 3 <= c <= 12:
                traffic[c + 12 * i] = {k: rng.getrandbits(32) if k in ("wdata", "rdata") else x for k, x in v.items()}
    return Vcd().clock("top.clk", 12 * bursts + 4).reset("top.rst_n").port("top", "m_axi_{}", traffic)


def damaged(data, rng, i):
    """Bytes changed, a part cut out, or the end cut off."""
    data = bytearray(data)
    kind = i % 8
    if kind == 0:
        return bytes(data[:rng.randrange(1, len(data))])
    if kind == 1:
        at = rng.randrange(len(data))
        del data[at:at + rng.randrange(1, 64)]
    elif kind == 2:
        at = rng.randrange(len(data))
        data[at:at + 16] = rng.randbytes(16)
    else:
        area = len(data) if kind < 6 else min(len(data), 400)  # often the header
        for _ in range(rng.choice((1, 1, 2, 8, 40))):
            data[rng.randrange(area)] = rng.getrandbits(8)
    return bytes(data)


def survives(path, data, args, tag):
    path.write_bytes(data)
    done = subprocess.run([str(PROGRAM), "axi-check", str(path), *args], capture_output=True, timeout=60)
    out, err = done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")
    assert done.returncode in (0, 1, 2), (tag, done.returncode, err)
    if done.returncode == 2:
        assert (out, err.count("\n")) == ("", 1), (tag, err)
    else:
        assert all(", first in cycle " in line for line in err.splitlines()[:-1]), (tag, err)
        assert all(" cycle=" in line and " port=" in line for line in out.splitlines()), (tag, out[:500])
    return done.returncode, err


def test_damaged_fst_is_one_line(tmp_path):
    data = to_fst(long_traffic().write(tmp_path / "a.vcd"), tmp_path / "a.fst").read_bytes()
    assert clean(check(tmp_path / "a.fst"))
    path = tmp_path / "bad.fst"
    said = 0
    for i in range(DAMAGED):
        status, err = survives(path, damaged(data, random.Random(i), i), ["--prefix", "m_axi"] if i % 2 else [], i)
        said += status == 2 and err.endswith("bad.fst: damaged FST\n")
    assert said >= DAMAGED // 4  # the others are still readable, or no FST at all


def test_damaged_vcd_is_one_line(tmp_path):
    data = long_traffic(8).text().encode()
    path = tmp_path / "bad.vcd"
    status = {0: 0, 1: 0, 2: 0}
    for i in range(DAMAGED):
        status[survives(path, damaged(data, random.Random(i), i), [], i)[0]] += 1
    assert status[2] >= DAMAGED // 4


# ---- this NPU ----

def npu_fst(tmp_path):
    """A waveform of a small convolution, from any build that can write one, and its bus statistics."""
    build = ROOT / os.environ.get("BUILD", "build")
    for kind in ("n4-tap", "n4-debug", "n8-tap", "n8-debug"):
        program = build / kind / "tandem"
        if os.access(program, os.X_OK):
            fst, stats = tmp_path / "npu.fst", tmp_path / "bus.json"
            subprocess.run([str(program), "run", "conv", "ic=8", "oc=8", "ih=6", "iw=6", "k=3", "--seed", "3", "--wave",
                            str(fst), "--bus", str(stats)], check=True, capture_output=True, timeout=600, cwd=tmp_path)
            return fst, json.loads(stats.read_text())
    pytest.skip("not run: no build with waveforms (make unit KIND=tap CFG=n4 or make repro builds one)")


def test_npu_is_clean_and_counted_as_in_simulation(tmp_path):
    fst, stats = npu_fst(tmp_path)
    for port, prefix in (("m0", "m0"), ("m1", "m1"), ("axil", "s_axil")):
        for extra in ([], ["--project-rules"]):
            assert clean(check(fst, "--prefix", prefix, *extra))
        out = json.loads(check(fst, "--prefix", prefix, "--json", "--project-rules").stdout)
        online = next(s for s in stats if s["port"] == port)
        assert out["stats"]["handshakes"] == online["handshakes"]
        assert out["stats"]["cycles_without_ready"] == online["cycles_without_ready"]
