"""tandem axi-check: AXI4-Stream and APB in a recording: found by the usual names, each rule in its cycle, listed, all
of them in one run, packed, from standard input."""
import gzip
import json
import re
import subprocess

import pytest

from test_axi_check import HOST, Vcd, changed, simple

PROGRAM = HOST / "tandem"
pytestmark = pytest.mark.skipif(not PROGRAM.exists(), reason="not run: tandem is not built")
STREAM = {"tvalid": 1, "tready": 1, "tdata": 32, "tkeep": 4, "tstrb": 4, "tlast": 1, "tid": 4, "tdest": 4, "tuser": 2}
APB = {"psel": 1, "penable": 1, "paddr": 12, "pwrite": 1, "pwdata": 32, "prdata": 32, "pready": 1, "pslverr": 1,
       "pstrb": 4, "pprot": 3}
# two beats of a packet, the second one waits for two cycles
PACKET = {0: {k: 0 for k in STREAM}, 3: {"tvalid": 1, "tready": 1, "tdata": 0x11223344, "tkeep": 15, "tstrb": 15},
          4: {"tready": 0, "tdata": 0x55667788, "tlast": 1, "tkeep": 3, "tstrb": 3}, 6: {"tready": 1},
          7: {"tvalid": 0, "tlast": 0}, 15: {}}
# a write with a wait state, then a read
ACCESS = {0: {k: 0 for k in APB}, 3: {"psel": 1, "pwrite": 1, "paddr": 0x10, "pwdata": 0xCAFE, "pstrb": 15},
          4: {"penable": 1}, 5: {"pready": 1}, 6: {"penable": 0, "pwrite": 0, "pstrb": 0, "pready": 0},
          7: {"penable": 1, "pready": 1, "prdata": 0xCAFE}, 8: {"psel": 0, "penable": 0, "pready": 0}, 15: {}}


def check(path, *args, **kwargs):
    return subprocess.run([PROGRAM, "axi-check", path, *args], capture_output=True, text=True, timeout=60, **kwargs)


def rules(done):
    return [(line.split()[0], int(re.search(r" cycle=(\d+) ", line)[1])) for line in done.stdout.splitlines()]


def stream(traffic=PACKET, name="s_axis_{}", signals=None):
    return simple(name=name, traffic=traffic, signals=signals or STREAM)


def apb(traffic=ACCESS, name="{}"):
    return simple(name=name, traffic=traffic, signals=APB)


def test_clean(tmp_path):
    path = tmp_path / "a.vcd"
    done = check(stream().write(path))
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == ("top.s_axis: AXI4-Stream, 32 bits, cycles 0..15, clock top.clk, reset top.rst_n active low; "
                           "2 transfers, 1 packets, 2 cycles without TREADY; clean\n")
    done = check(apb().write(path))
    assert (done.returncode, done.stdout) == (0, "") and "1 writes, 1 reads, 1 wait states; clean" in done.stderr
    quiet = {0: PACKET[0], 4: {"tvalid": 1}, 15: {}}
    done = check(stream(quiet).write(path), "--expect-traffic")
    assert done.returncode == 1 and "no transaction" in done.stderr and "TREADY since cycle 4" in done.stderr


@pytest.mark.parametrize("rule, cycle, change", [
    ("ERRM_TVALID_STABLE", 5, {5: {"tvalid": 0}, 6: {"tvalid": 1}}),
    ("ERRM_TDATA_STABLE", 5, {5: {"tdata": 0x55667799}}),
    ("ERRM_TKEEP_STABLE", 6, {6: {"tkeep": 7}}),
    ("ERRM_TSTRB_STABLE", 5, {5: {"tstrb": 1}}),
    ("ERRM_TLAST_STABLE", 5, {5: {"tlast": 0}, 6: {"tlast": 1}}),
    ("ERRM_TID_STABLE", 5, {5: {"tid": 1}}),
    ("ERRM_TDEST_STABLE", 5, {5: {"tdest": 2}}),
    ("ERRM_TUSER_STABLE", 5, {5: {"tuser": 3}}),
    ("ERRM_TKEEP_TSTRB", 3, {3: {"tkeep": 7}}),
    ("ERRM_TVALID_RESET", 2, {1: {"tvalid": 1, "tready": 1, "tkeep": 15, "tstrb": 15}}),
    ("ERRM_STREAM_ALL_DONE_EOS", 15, {6: {"tready": 0}, 7: {"tvalid": 1, "tlast": 1}}),
    ("ERRM_TVALID_X", 9, {9: {"tvalid": "x"}, 10: {"tvalid": 0}}),
    ("ERRS_TREADY_X", 9, {9: {"tready": "x"}, 10: {"tready": 0}}),
    ("ERRM_TDATA_X", 3, {3: {"tdata": "x" * 8 + "0" * 24}}),
    ("ERRM_TID_X", 3, {3: {"tid": "000x"}, 4: {"tid": 0}})])
def test_stream_rules(tmp_path, rule, cycle, change):
    done = check(stream(changed(PACKET, change)).write(tmp_path / "a.vcd"))
    assert done.returncode == 1 and rules(done)[0] == ("AXI4STREAM_" + rule, cycle), done.stdout + done.stderr
    assert "top.s_axis: AXI4STREAM_%s " % rule in done.stderr


def test_stream_excuses(tmp_path):
    """Lanes without TKEEP may change and be unknown; a recording that is cut off; what is before --from."""
    path = tmp_path / "a.vcd"
    assert check(stream(changed(PACKET, {5: {"tdata": 0x99667788}, 6: {"tdata": "x" * 16 + format(0x7788, "016b")}})
                        ).write(path)).returncode == 0
    cut = {**changed(PACKET, {4: {"tvalid": 0}}), 7: {"tlast": 0}}
    assert rules(check(stream(cut).write(path))) == [("AXI4STREAM_ERRM_STREAM_ALL_DONE_EOS", 15)]
    assert check(path, "--open-end").returncode == 0
    assert check(stream(changed(PACKET, {5: {"tid": 1}})).write(path), "--from", "9").returncode == 0


@pytest.mark.parametrize("rule, cycle, change", [
    ("ERRM_PENABLE_SETUP", 3, {3: {"penable": 1}}),
    ("ERRM_PENABLE_ACCESS", 4, {4: {"penable": 0}, 5: {"penable": 1}}),
    ("ERRM_PENABLE_STABLE", 5, {5: {"penable": 0, "pready": 0}, 6: {"psel": 0}}),
    ("ERRM_PSEL_STABLE", 5, {5: {"psel": 0}, 6: {"psel": 1}}),
    ("ERRM_PADDR_STABLE", 5, {5: {"paddr": 0x14}}),
    ("ERRM_PWRITE_STABLE", 5, {5: {"pwrite": 0}}),
    ("ERRM_PWDATA_STABLE", 5, {5: {"pwdata": 1}}),
    ("ERRM_PSTRB_STABLE", 5, {5: {"pstrb": 7}}),
    ("ERRM_PPROT_STABLE", 5, {5: {"pprot": 2}}),
    ("ERRM_PSTRB_READ", 6, {6: {"pstrb": 1}}),
    ("ERRM_PSEL_X", 10, {10: {"psel": "x"}, 11: {"psel": 0}}),
    ("ERRM_PADDR_X", 3, {3: {"paddr": "x" * 12}, 4: {"paddr": 0}}),
    ("ERRS_PREADY_X", 4, {4: {"pready": "x"}}),
    ("ERRS_PRDATA_X", 7, {7: {"prdata": "x" * 32}})])
def test_apb_rules(tmp_path, rule, cycle, change):
    done = check(apb(changed(ACCESS, change)).write(tmp_path / "a.vcd"))
    assert done.returncode == 1 and ("APB_" + rule, cycle) == rules(done)[0], done.stdout + done.stderr


def test_ports(tmp_path):
    """Beside AXI, in vectors, in structs; by prefix, all in one run, as JSON, packed, from standard input."""
    path = tmp_path / "a.vcd"
    vcd = simple(name="m_axi_{}").port("top", "m_axis_{}", changed(PACKET, {5: {"tid": 1}}), STREAM)
    vcd.port("top.u", "{}_i", ACCESS, APB).port("top", lambda s: "in_%s.%s" % (
        "rsp_o" if s == "tready" else "req_i", s if s == "tvalid" or s == "tready" else "t." + s[1:]), PACKET, STREAM)
    vcd.port("top", "held_{}", {0: {"tvalid": 1}}, {"tvalid": 1, "tdata": 8})  # a register, no port
    text = vcd.text()
    for struct in ("in_req_i", "in_rsp_o", "t"):
        text = text.replace("$scope module %s $end" % struct, "$scope struct %s $end" % struct)
    path.write_text(text)
    done = check(path, "--list")
    assert done.stdout.splitlines() == ["top.m_axi: AXI4, 32 bits", "top.in: AXI4-Stream, 32 bits",
                                        "top.m_axis: AXI4-Stream, 32 bits", "top.u: APB, 32 bits"], done.stdout
    done = check(path, "--all")
    assert rules(done) == [("AXI4STREAM_ERRM_TID_STABLE", 5)] and done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith("4 ports checked, 0 left out, 0 without a transaction: 1 error")
    whole = json.loads(check(path, "--all", "--json").stdout)
    assert [(p["port"], p["protocol"], p["errors"]) for p in whole["ports"]] == [
        ("top.m_axi", "AXI4", 0), ("top.in", "AXI4-Stream", 0), ("top.m_axis", "AXI4-Stream", 1), ("top.u", "APB", 0)]
    assert whole["ports"][2]["violations"][0]["rule"] == "AXI4STREAM_ERRM_TID_STABLE"
    assert "AXI4, 32 bits" in check(path, "--prefix", "m_axi").stderr
    assert check(path, "--prefix", "m_axis").returncode == 1 and check(path, "--prefix", "u").returncode == 0
    assert check(path, "--all", "--axi4").returncode == 0  # only these
    assert "no AXI port with prefix nobody" in check(path, "--prefix", "nobody").stderr
    packed = tmp_path / "a.vcd.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert rules(check(packed, "--prefix", "m_axis")) == [("AXI4STREAM_ERRM_TID_STABLE", 5)]
    with open(packed, "rb") as f:
        assert rules(check("-", "--all", stdin=f)) == [("AXI4STREAM_ERRM_TID_STABLE", 5)]
    two = {k: 2 * v for k, v in STREAM.items()}
    double = {c: {k: v << two[k] // 2 | v for k, v in values.items()} for c, values in PACKET.items()}
    done = check(stream(changed(double, {5: {"tid": 0x10}}), signals=two).write(path), "--all")
    assert rules(done) == [("AXI4STREAM_ERRM_TID_STABLE", 5)] and "port=top.s_axis[1] " in done.stdout
    assert "expected --prefix for one of them" in check(path).stderr
    done = check(Vcd().clock("top.clk").write(path), "--all")
    assert done.returncode == 2 and "no AXI port" in done.stderr
