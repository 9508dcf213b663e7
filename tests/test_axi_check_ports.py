"""tandem axi-check: several ports, vectors and arrays of ports, standard input, packed files, the summary of rules,
hints, ports on which nothing moves, files that are cut off."""
import gzip
import json
import subprocess

import pytest

from test_axi_check import (BROKEN, FULL, PROGRAM, SINGLE, TRAFFIC, Vcd, changed, channel, check, clean, field,
                            from_master, idle, long_traffic, one_line, rules, simple, to_fst, two_ports, without)

pytestmark = pytest.mark.skipif(not PROGRAM.exists(), reason="not run: tandem-model is not built")
MOVED = ("AXI4_ERRM_AWADDR_STABLE", 4)


# ---- several ports ----

def test_all_ports_in_one_run(tmp_path):
    path = two_ports().write(tmp_path / "a.vcd")
    done = check(path, "--all")
    assert (done.returncode, rules(done)) == (1, [MOVED]) and " port=top.m1_axi " in done.stdout
    said = done.stderr.splitlines()
    assert [line.split(":")[0] for line in said[:-1]] == ["top.m0_axi", "top.m1_axi", "top.m1_axi", "top.m1_axi_dbg"]
    assert said[-1] == "3 ports checked, 0 left out, 0 without a transaction: 1 error, 0 warnings"
    whole = json.loads(check(path, "--all", "--json").stdout)
    assert [(p["port"], p["errors"]) for p in whole["ports"]] == [
        ("top.m0_axi", 0), ("top.m1_axi", 1), ("top.m1_axi_dbg", 0)]
    assert (whole["errors"], whole["warnings"], whole["notes"]) == (1, 0, 0)
    for part, port in zip(whole["ports"], ("top.m0_axi", "top.m1_axi", "top.m1_axi_dbg")):
        assert part == json.loads(check(path, "--prefix", port, "--json").stdout)
    assert check(simple(name="m_{}").port("top", "s_{}").write(path), "--all").returncode == 0
    assert one_line(check(path, "--all", "--prefix", "m"), "--all: contradicts --prefix")
    assert one_line(check(path, "--all", "--list"), "--all: contradicts --list")


def test_all_ports_where_some_cannot_be_checked(tmp_path):
    """What only looks like a port is named. A port that cannot be judged is a failure."""
    vcd = simple(name="m_{}")
    vcd.var("top.x_awvalid")
    path = vcd.write(tmp_path / "a.vcd")
    done = check(path, "--all")
    assert (done.returncode, done.stdout) == (0, "")
    assert "a.vcd: port top.x: no signal AWREADY: left out\n" in done.stderr
    assert "1 port checked, 1 left out, 0 without" in done.stderr
    path = simple(name="m_{}").port("other", "s_{}", BROKEN).write(tmp_path / "a.vcd")
    done = check(path, "--all")
    assert done.returncode == 2 and "port other.s: no clock" in done.stderr and "top.m: AXI4" in done.stderr
    assert done.stdout == ""
    path = simple(name="m_{}", traffic=BROKEN).port("other", "s_{}").write(tmp_path / "a.vcd")
    assert check(path, "--all").returncode == 1
    assert one_line(check(simple(signals=without("awready")).write(path), "--all"), "left out")
    assert one_line(check(Vcd().clock("top.clk").write(path), "--all"), "no AXI port")


def test_list_is_apart_from_complaints(tmp_path):
    vcd = simple(name="m_{}")
    vcd.var("top.x_awvalid")
    done = check(vcd.write(tmp_path / "a.vcd"), "--list")
    assert (done.returncode, done.stdout) == (0, "top.m: AXI4, 32 bits\n")
    assert done.stderr.endswith("a.vcd: port top.x: no signal AWREADY: not a whole port\n")
    assert one_line(check(simple(signals=without("awready")).write(tmp_path / "a.vcd"), "--list"), "not a whole port")


# ---- vectors and arrays of ports ----

def vector(traffics, ascending=False, signals=FULL, plain=()):
    """Ports side by side: "awaddr[N*32-1:0]"; plain: fields that are arrays."""
    n = len(traffics)
    vcd = Vcd().clock("top.clk").reset("top.rst_n")
    for s, w in signals.items():
        if field(s) in plain:
            for i in range(n):
                vcd.var("top.m_axi_%s[%d]" % (s, i), w)
        else:
            vcd.var("top.m_axi_" + s, w * n)
    now = [{s: 0 for s in signals} for _ in traffics]
    for cycle in sorted({c for t in traffics for c in t}):
        for values, t in zip(now, traffics):
            values.update({s: v for s, v in t.get(cycle, {}).items() if s in signals})
        for s, w in signals.items():
            bits = [format(v[s], "0%db" % w) for v in now]
            if field(s) in plain:
                for i in range(n):
                    vcd.set(10 * cycle, "top.m_axi_%s[%d]" % (s, i), bits[i])
            else:
                vcd.set(10 * cycle, "top.m_axi_" + s, "".join(bits if ascending else reversed(bits)))
    text = vcd.text()
    for s, w in signals.items():
        if ascending:
            text = text.replace("m_axi_%s  [%d:0]" % (s, w * n - 1), "m_axi_%s [0:%d]" % (s, w * n - 1))
    return text


@pytest.mark.parametrize("ascending, plain", [(False, ()), (True, ()), (False, ("addr", "data", "id"))])
def test_a_port_is_a_slice_of_vectors(ascending, plain, tmp_path):
    path = tmp_path / "a.vcd"
    other = changed(TRAFFIC, {3: {"awaddr": 0x3000, "awid": 1}, 8: {"bid": 1}, 9: {"arid": 2}, 11: {"rid": 2}})
    path.write_text(vector([TRAFFIC, other, BROKEN], ascending, plain=plain))
    assert check(path, "--list").stdout.splitlines() == ["top.m_axi[%d]: AXI4, 32 bits" % i for i in range(3)]
    assert one_line(check(path), "3 ports, expected --prefix for one of them: top.m_axi[0], top.m_axi[1], top.m_axi[2]")
    assert clean(check(path, "--prefix", "m_axi[0]")) and clean(check(path, "--prefix", "top.m_axi[1]"))
    done = check(path, "--prefix", "m_axi[2]")
    assert (done.returncode, rules(done)) == (1, [MOVED]) and " id=3 addr=0x1000 " in done.stdout
    assert rules(check(path, "--all")) == [MOVED]
    out = json.loads(check(path, "--prefix", "m_axi[2]", "--json").stdout)
    assert (out["id_bits"], out["data_bits"], out["writes"], out["reads"]) == (4, 32, 1, 1)


def test_vectors_of_a_wide_bus(tmp_path):
    """The strobes and data of port 1 are behind more than 64 bits of port 0."""
    wide = {**FULL, "wdata": 512, "rdata": 512, "wstrb": 64}
    good = changed(TRAFFIC, {3: {"awsize": 6, "awlen": 0}, 5: {"wlast": 1, "wstrb": (1 << 64) - 1, "wready": 0,
                                                              "wdata": 1 << 511}, 6: {"wready": 1, "wdata": 1 << 511},
                             9: {"arsize": 6}})
    bad = changed(good, {6: {"wdata": 1}})
    (tmp_path / "a.vcd").write_text(vector([good, bad], signals=wide))
    assert clean(check(tmp_path / "a.vcd", "--prefix", "m_axi[0]"))
    assert rules(check(tmp_path / "a.vcd", "--prefix", "m_axi[1]")) == [("AXI4_ERRM_WDATA_STABLE", 6)]


def test_vectors_that_do_not_fit_are_one_port(tmp_path):
    signals = {s: 3 * w for s, w in FULL.items()}
    path = simple(signals={**signals, "araddr": 95}).write(tmp_path / "a.vcd")
    assert one_line(check(path, "--prefix", "top"),
                    "AWVALID has 3 bits, expected 1, and no vector of 3 ports, since ARADDR has 95")
    assert one_line(check(simple(signals={s: 300 * w for s, w in FULL.items()}).write(path), "--prefix", "top"),
                    "AWVALID has 300 bits, expected 1")


def test_arrays_of_structs(tmp_path):
    """m_req[1].aw.addr and m_rsp[1].aw_ready are one port, m[1]."""
    vcd = Vcd().clock("top.clk").reset("top.rst_n")
    for i, traffic in enumerate((TRAFFIC, BROKEN)):
        vcd.port("top", lambda s: "m_%s[%d].%s%s%s" % (
            "req" if from_master(s) else "rsp", i, channel(s), "_" if field(s) in ("valid", "ready") else ".",
            field(s)), traffic)
    text = vcd.text()
    for struct in ("m_req[0]", "m_rsp[0]", "m_req[1]", "m_rsp[1]", "aw", "ar", "w", "b", "r"):
        text = text.replace("$scope module %s $end" % struct, "$scope struct %s $end" % struct)
    (tmp_path / "a.vcd").write_text(text)
    assert check(tmp_path / "a.vcd", "--list").stdout == "top.m[0]: AXI4, 32 bits\ntop.m[1]: AXI4, 32 bits\n"
    assert clean(check(tmp_path / "a.vcd", "--prefix", "m[0]"))
    assert rules(check(tmp_path / "a.vcd", "--prefix", "m[1]")) == [MOVED]


# ---- where the bytes come from ----

def piped(data, *args, **kwargs):
    done = subprocess.run([str(PROGRAM), "axi-check", "-", *args], input=data, capture_output=True, timeout=60,
                          **kwargs)
    return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())


def same(a, b):
    assert (a.returncode, a.stdout, a.stderr) == (b.returncode, b.stdout, b.stderr)
    return True


@pytest.mark.parametrize("kind", ["vcd", "fst"])
def test_standard_input_and_packed_files_say_the_same(tmp_path, kind):
    path = simple(name="m_axi_{}", traffic=BROKEN).write(tmp_path / "a.vcd")
    file = path if kind == "vcd" else to_fst(path, tmp_path / "a.fst")
    plain = check(path)
    assert rules(plain) == [MOVED]
    data = file.read_bytes()
    packed = tmp_path / "p.gz"
    packed.write_bytes(gzip.compress(data[:100]) + gzip.compress(data[100:]))  # as several programs write it
    assert same(check(packed), plain) and same(piped(data), plain) and same(piped(packed.read_bytes()), plain)
    with open(file, "rb") as f:
        assert same(check("-", stdin=f), plain)
    with open(tmp_path / "late", "wb") as f:
        f.write(b"other" + data)
    with open(tmp_path / "late", "rb", buffering=0) as f:
        f.seek(5)
        assert same(check("-", stdin=f), plain)
    assert one_line(check(packed, "--prefix", "x"), str(packed) + ": no AXI port with prefix x")
    assert one_line(piped(data, "--prefix", "x"), "standard input: no AXI port with prefix x")
    assert json.loads(check(packed, "--json").stdout)["file"] == str(packed)
    assert list(tmp_path.glob("tandem-wave-*")) == []


def test_standard_input_that_is_none(tmp_path):
    assert one_line(piped(b""), "standard input: empty file")
    assert one_line(piped(b"hello"), "standard input: neither an FST nor a VCD file")
    assert one_line(check("-", preexec_fn=lambda: __import__("os").close(0)), "standard input: ")
    missing = {"TMPDIR": str(tmp_path / "none")}
    done = piped(simple().text().encode(), env=missing)
    assert one_line(done, "standard input: cannot be copied to TMPDIR: No such file or directory")


@pytest.mark.parametrize("fst", [False, True])
def test_files_that_are_cut_off(fst, tmp_path):
    """Packed or not, in one line, with a status that is not 0."""
    path = long_traffic(20).write(tmp_path / "a.vcd")
    path = to_fst(path, tmp_path / "a.fst") if fst else path
    data = path.read_bytes()
    packed = gzip.compress(data)
    bad = tmp_path / "bad"
    for size in (3, 12, 200, len(packed) // 2, len(packed) - 1):
        bad.write_bytes(packed[:size])
        assert one_line(check(bad), "bad: damaged gzip: it ends too early"), size
        assert one_line(piped(packed[:size]), "standard input: damaged gzip: it ends too early")
    broken = bytearray(packed)
    broken[len(packed) // 2] ^= 0x55
    bad.write_bytes(broken)
    assert one_line(check(bad), "bad: damaged gzip: ")
    bad.write_bytes(gzip.compress(gzip.compress(data)))
    assert one_line(check(bad), "bad: neither an FST nor a VCD file")
    bad.write_bytes(gzip.compress(b""))
    assert one_line(check(bad), "bad: empty file")
    for cut in ((100, 400, len(data) // 2, len(data) - 1) if fst else (100, 400)):
        for some in (data[:cut], gzip.compress(data[:cut])):
            bad.write_bytes(some)
            assert one_line(check(bad), "bad: damaged FST" if fst else "bad:")


def test_values_that_do_not_fit(tmp_path):
    text = simple().text()
    path = tmp_path / "a.vcd"
    ident = next(line.split()[3] for line in text.splitlines() if " awaddr " in line)
    line = next(line for line in text.splitlines() if line.startswith("b1000000000000 ") or line.endswith(" " + ident))
    for value, part in (("b1" + "0" * 32, "value of 33 digits, but '%s' has 32 bits" % ident),
                        ("bx" + "1" * 40, "value of 41 digits, but '%s' has 32 bits" % ident),
                        ("r1.5", "a real or text, but '%s' has 32 bits" % ident)):
        path.write_text(text.replace(line, value + " " + ident, 1))
        assert one_line(check(path), part)
    path.write_text(text.replace(line, "b0000" + "0" * 32 + " " + ident, 1))  # zeros before it change nothing
    assert clean(check(path))
    path.write_text(text.replace("awaddr  [31:0]", "awaddr [15:0]", 1))
    assert one_line(check(path, "--prefix", "top"), "port top: AWADDR has 32 bits, but the range [15:0]")


# ---- what is said ----

def test_summary_of_the_rules(tmp_path):
    twice = changed(TRAFFIC, {4: {"awaddr": 0x1004, "awready": 0}, 5: {"awvalid": 1, "awaddr": 0x1008, "awready": 1,
                                                                      "wvalid": 0}, 6: {"awvalid": 0, "wvalid": 1},
                              7: {"wvalid": 1, "wlast": 1, "wready": 1}, 8: {"wvalid": 0, "bvalid": 1, "bresp": 1}})
    twice[6]["wlast"] = 0
    path = simple(name="m_{}", traffic=twice).write(tmp_path / "a.vcd")
    done = check(path, "--max-waits", 1)
    assert done.stderr.splitlines()[:-1] == [
        "top.m: AXI4_ERRM_AWADDR_STABLE 2 times, error, first in cycle 4",
        "top.m: AXI4_RECS_AWREADY_MAX_WAIT 1 time, note, first in cycle 4",
        "top.m: AXI4_ERRS_BRESP_EXOKAY 1 time, error, first in cycle 8"]
    out = json.loads(check(path, "--max-waits", 1, "--json", "--severity", "AXI4_ERRS_BRESP_EXOKAY=warning").stdout)
    assert [(r["rule"], r["severity"], r["count"], r["first_cycle"]) for r in out["rules"]] == [
        ("AXI4_ERRM_AWADDR_STABLE", "error", 2, 4), ("AXI4_RECS_AWREADY_MAX_WAIT", "note", 1, 4),
        ("AXI4_ERRS_BRESP_EXOKAY", "warning", 1, 8)]
    # of the cycles that count
    assert "AWADDR_STABLE 1 time, error, first in cycle 5\n" in check(path, "--from", 5).stderr
    assert "AWADDR_STABLE" not in check(path, "--severity", "AXI4_ERRM_AWADDR_STABLE=off").stderr


def test_a_port_without_a_transaction_is_not_clean(tmp_path):
    still = {0: {k: 0 for k in FULL}, 15: {}}
    path = simple(name="m_{}", traffic=still).write(tmp_path / "a.vcd")
    assert idle(check(path)) and idle(check(path, "--open-end"))
    done = check(path, "--expect-traffic")
    assert (done.returncode, done.stdout) == (1, "")
    assert json.loads(check(path, "--json").stdout)["handshakes"] == 0
    stuck = changed(still, {3: {"awvalid": 1, "awaddr": 0x1000, "awsize": 2, "awburst": 1}})
    done = check(simple(name="m_{}", traffic=stuck).write(path))
    assert idle(done) and "AWVALID has waited for AWREADY since cycle 3" in done.stderr
    done = check(simple(name="m_{}").port("top", "s_{}", still).write(path), "--all")
    assert done.returncode == 0 and "2 ports checked, 0 left out, 1 without a transaction: 0 errors" in done.stderr
    assert check(path, "--all", "--expect-traffic").returncode == 1
    assert check(path, "--prefix", "m", "--expect-traffic").returncode == 0


def test_a_stray_response_hides_nothing(tmp_path):
    """Neither from --from nor from a severity of off does a missing response become clean."""
    stray = changed(TRAFFIC, {2: {"bvalid": 1, "bready": 1, "bid": 3}, 3: {"bvalid": 0, "bready": 0},
                              8: {"bvalid": 0, "bready": 0}})
    path = Vcd().clock("top.clk").reset("top.rst_n", until=1).port("top", "m_{}", stray).write(tmp_path / "a.vcd")
    missing = ("AXI4_ERRS_BRESP_ALL_DONE_EOS", 16)
    assert rules(check(path)) == [("AXI4_ERRS_BRESP_AW", 2), missing]
    for args in (["--from", 5], ["--severity", "AXI4_ERRS_BRESP_AW=off"], ["--severity", "AXI4_ERRS_BRESP_AW=note"]):
        done = check(path, *args)
        assert (done.returncode, rules(done)) == (1, [missing]), args


def test_hints_where_they_help(tmp_path):
    cut = {c: v for c, v in TRAFFIC.items() if c < 8 or c >= 9}
    path = simple(traffic=cut).write(tmp_path / "a.vcd")
    assert "in flight at the end: --open-end, if the recording was cut off" in check(path).stderr
    assert "--open-end" not in check(path, "--open-end").stderr
    answer = {0: {k: 0 for k in FULL}, 5: {"rvalid": 1, "rready": 1, "rid": 5, "rlast": 1}, 6: {"rvalid": 0}}
    path = Vcd().clock("top.clk").port("top", traffic=answer).write(tmp_path / "a.vcd")
    assert "no reset before the first edge: --running, if the recording" in check(path).stderr
    assert "--running" not in check(path, "--at-rest").stderr
    vcd = Vcd().clock("top.clk").reset("top.rst_n")
    vcd.var("top.s_select_req", 8)
    assert "--trace-structs" not in check(vcd.write(path)).stderr
    vcd.var("top.m_req_o", 160)
    for args in ([], ["--list"], ["--all"], ["--prefix", "m"]):
        assert one_line(check(vcd.write(path), *args),
                        "; m_req_o of 160 bits may be a struct, whose members Verilator records with --trace-structs")
    vcd.port("top", "s_{}", SINGLE)
    assert "--trace-structs" in check(vcd.write(path), "--prefix", "m").stderr and clean(check(path))
