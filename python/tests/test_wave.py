"""tandem.Fst and tandem.check_axi: values against the text they came from, damaged files, waveforms that a device
writes."""

import os
import random
import subprocess
import threading

import numpy as np
import pytest
import tandem

FULL = os.environ.get("TANDEM_CHECK") == "1"
WIDTHS = {"bit": 1, "byte": 8, "nine": 9, "word": 32, "long": 64, "wide": 65, "huge": 200}


def draw_changes(seed, steps=200):
    """name -> list of (time, bits)."""
    rng = random.Random(seed)
    changes = {name: [] for name in WIDTHS}
    last = {}
    for t in range(0, 10 * steps, 10):
        for name, width in WIDTHS.items():
            if t == 0 or rng.random() < 0.3:
                bits = "".join(rng.choice("01" if rng.random() < 0.7 else "01xz") for _ in range(width))
                if last.get(name) != bits:
                    changes[name].append((t, bits))
                    last[name] = bits
    return changes


def vcd(changes):
    ids = {name: chr(33 + i) for i, name in enumerate(WIDTHS)}
    lines = ["$timescale 1ns $end", "$scope module top $end", "$scope module dut $end"]
    lines += ["$var wire %d %s %s%s $end" % (w, ids[n], n, "" if w == 1 else " [%d:0]" % (w - 1))
              for n, w in WIDTHS.items()]
    lines += ["$var wire 32 %s word_too $end" % ids["word"], "$upscope $end", "$upscope $end", "$enddefinitions $end"]
    for t in sorted({t for row in changes.values() for t, _ in row}):
        lines.append("#%d" % t)
        for n, row in changes.items():
            lines += [(bits + ids[n] if WIDTHS[n] == 1 else "b%s %s" % (bits, ids[n])) for at, bits in row if at == t]
    return "\n".join(lines) + "\n"


@pytest.fixture(scope="module")
def vcd2fst(root):
    """The program that writes FST files for tests, where Verilator ships the library."""
    build = os.environ.get("BUILD", "build")
    env = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MFLAGS", "SAN", "KIND", "CFG")}
    program = os.path.join(build, "host", "support", "vcd2fst")
    done = subprocess.run(["make", "-s", program, "BUILD=" + build], cwd=root, env=env, capture_output=True, text=True)
    if done.returncode != 0 and "fstapi" in done.stderr:
        pytest.skip("not run: this Verilator ships no FST library")
    assert done.returncode == 0, done.stderr
    return os.path.join(root, program)


@pytest.fixture(params=["vcd", "fst"])
def wave(request, tmp_path):
    """A file and what is in it."""
    changes = draw_changes(1)
    path = tmp_path / "a.vcd"
    path.write_text(vcd(changes))
    if request.param == "fst":
        subprocess.run([request.getfixturevalue("vcd2fst"), path, tmp_path / "a.fst"], check=True)
        path = tmp_path / "a.fst"
    return path, changes


def numbers(bits):
    return int("".join("1" if b == "1" else "0" for b in bits),
               2), int("".join("1" if b in "xz" else "0" for b in bits), 2)


def whole(row):
    """An integer of one value, whatever its array is."""
    return int(row) if row.ndim == 0 else sum(int(w) << 64 * i for i, w in enumerate(row))


def test_values(wave):
    path, changes = wave
    fst = tandem.Fst(path)
    assert (fst.exponent == -9 and fst.last == max(t for row in changes.values() for t, _ in row) and
            len(fst) == len(WIDTHS) + 1)
    for name, width in WIDTHS.items():
        got = fst["top.dut." + name]
        signal = fst.find("dut." + name)
        assert (signal.width == width and signal.path == "top.dut." + name and
                signal.path in fst and not signal.parameter)
        assert got.times.dtype == np.uint64 and got.values.dtype == got.unknown.dtype
        assert got.values.itemsize * 8 == min(64, max(8, 1 << (width - 1).bit_length()))
        assert got.values.shape == (len(got.times),) + (((width + 63) // 64,) if width > 64 else ())
        assert [int(t) for t in got.times] == [t for t, _ in changes[name]]
        assert [(whole(v),
                 whole(u)) for v, u in zip(got.values, got.unknown)] == [numbers(bits) for _, bits in changes[name]]


def test_several_at_once(wave):
    path, changes = wave
    fst = tandem.Fst(str(path))
    word, too, bit = fst.read(["dut.word", "dut.word_too", "dut.bit"])
    assert np.array_equal(word.values, too.values) and len(bit.times) == len(changes["bit"])
    part = fst.read(["dut.byte"], first=505, last=900)[0]
    inside = [(t, b) for t, b in changes["byte"] if 505 < t <= 900]
    before = [b for t, b in changes["byte"] if t <= 505][-1]
    assert part.times.tolist() == [505] + [t for t, _ in inside]
    assert [whole(v) for v in part.values] == [numbers(b)[0] for b in [before] + [b for _, b in inside]]
    assert fst["dut.byte"].at(505) == part.values[0] and fst["dut.byte"].at([505, 900]).shape == (2,)


def test_errors(tmp_path):
    for content, message in ((None, "no such file"), (b"", "empty file"), (b"hello", "neither an FST nor a VCD")):
        path = tmp_path / "x.fst"
        if content is not None:
            path.write_bytes(content)
        with pytest.raises(tandem.Error, match=message):
            tandem.Fst(path)
        with pytest.raises(tandem.Error, match=message):
            tandem.check_axi(path)
    with pytest.raises(tandem.Error, match="not a regular file"):
        tandem.Fst(tmp_path)
    for wrong in (3, None, "a\0b"):
        with pytest.raises((TypeError, ValueError)):
            tandem.Fst(wrong)


def test_missing_signal(wave):
    fst = tandem.Fst(wave[0])
    with pytest.raises(KeyError, match="nothing"):
        fst["nothing"]
    with pytest.raises(TypeError):
        fst.read("dut.byte")
    with pytest.raises(tandem.Error, match="handle"):
        from tandem import _core
        _core._wave_read(wave[0], [10**6])


def test_damaged(vcd2fst, tmp_path):
    """A file with wrong bytes, or cut off: an error or some values, never the end of the interpreter."""
    (tmp_path / "a.vcd").write_text(vcd(draw_changes(2)))
    subprocess.run([vcd2fst, tmp_path / "a.vcd", tmp_path / "a.fst"], check=True)
    good = (tmp_path / "a.fst").read_bytes()
    rng = random.Random(3)
    bad = 0
    for i in range(400 if FULL else 30):
        data = bytearray(good)
        if i % 3 == 0:
            del data[rng.randrange(len(data)):]
        for _ in range(rng.randrange(1, 12)):
            if data:
                data[rng.randrange(min(len(data), 800 if i % 2 else len(data)))] = rng.randrange(256)
        (tmp_path / "bad.fst").write_bytes(data)
        try:
            fst = tandem.Fst(tmp_path / "bad.fst")
            fst.read(list(fst))
        except tandem.Error as error:
            bad += 1
            assert str(error).startswith(str(tmp_path)) and "\n" not in str(error)
    assert bad > 5


def test_in_threads(wave):
    results = []

    def work():
        results.append(len(tandem.Fst(wave[0])["dut.long"].times))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert results == [len(wave[1]["long"])] * 4


# ---- check_axi ----

def test_check_axi(root):
    path = os.path.join(root, "docs", "axi-check.vcd")
    ports = tandem.axi_ports(path)
    assert len(ports) == 1 and ports[0][1].startswith("AXI4")
    report = tandem.check_axi(path)
    assert (report["file"] == path and
            report["errors"] == len([v for v in report["violations"] if v["severity"] == "error"]) > 0)
    rule = report["violations"][0]["rule"]
    off = tandem.check_axi(path, prefix=ports[0][0], severity={rule: "off"})
    assert off["errors"] < report["errors"] and all(v["rule"] != rule for v in off["violations"])
    assert tandem.check_axi(path, most=0)["not_printed"] > 0
    every = tandem.check_axi(path, all_ports=True)
    assert every["errors"] == report["errors"] and [p["port"] for p in every["ports"]] == [ports[0][0]]
    assert tandem.check_axi(path, project={"incr_only": True}, ranges=[(0, 2**32)])["errors"] >= report["errors"]


@pytest.mark.parametrize("options, error", [
    ({"prefix": "nowhere"}, tandem.Error), ({"clock": "nowhere"}, tandem.Error), ({"side": "left"}, ValueError),
    ({"color": 1}, TypeError),
    ({"severity": {"NO_RULE": "off"}}, ValueError), ({"severity": {"AXI4_ERRM_AWSIZE": "loud"}}, ValueError),
    ({"severity": ["a"]}, TypeError),
    ({"project": {"no_rule": True}}, ValueError), ({"project": {"max_reads": True}}, ValueError),
    ({"project": {"incr_only": 3}}, ValueError),
    ({"first": 5, "last": 3}, ValueError), ({"running": True, "at_rest": True}, ValueError),
    ({"max_waits": 0}, ValueError), ({"ranges": [3]}, ValueError),
    ({"reset_level": 2}, ValueError), ({"list": True}, TypeError),
    ({"prefix": "m_axi", "all_ports": True}, ValueError)])
def test_wrong_options(options, error, root):
    with pytest.raises(error):
        tandem.check_axi(os.path.join(root, "docs", "axi-check.vcd"), **options)


# ---- what a device writes ----

@pytest.mark.skipif(not FULL, reason="TANDEM_CHECK=1: a build of the RTL with tracing")
def test_waveform_of_a_device(tmp_path):
    x, w = np.ones((4, 8, 8), np.float32), np.ones((4, 4, 3, 3), np.int8)
    with tandem.Device("tandem", 4, wave=tmp_path / "whole.fst") as dev:
        dev.conv2d(x, w)
        dev.wave(tmp_path / "part.fst")
        start = dev.cycles
        dev.conv2d(x, w)
        dev.wave()
        end = dev.cycles
        dev.conv2d(x, w)
    whole_run, part = tandem.Fst(tmp_path / "whole.fst"), tandem.Fst(tmp_path / "part.fst")
    assert whole_run.first == 5 and abs(part.first - 10 * start) <= 10 and abs(part.last - 10 * end) <= 10
    clock = part["npu_top.clk_i"]
    assert abs(int(clock.values.sum()) - (end - start)) <= 1 and not clock.unknown.any()
    ports = tandem.axi_ports(tmp_path / "whole.fst")
    assert [p for p, _ in ports] == ["npu_top.m0_axi", "npu_top.m1_axi", "npu_top.s_axil"]
    for prefix, _ in ports:
        report = tandem.check_axi(tmp_path / "part.fst", prefix=prefix, npu_rules=True)
        assert report["errors"] == 0 and report["writes"] + report["reads"] > 0, report
    with tandem.Device("rtl", 4, build="debug") as dev, pytest.raises(tandem.Error, match="cannot be written"):
        dev.wave(tmp_path / "no" / "x.fst")
