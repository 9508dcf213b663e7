"""The second design from outside: a design of its own, the framework's program around it, deliberate bugs in its
RTL."""
import importlib.util
import json
import os
import re
import shutil
import signal
import struct
import subprocess
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
BUILD = os.environ.get("BUILD", "build")
PROGRAM = ROOT / BUILD / "axi_copy" / "d128-tap" / "tandem"
MUTANT = ROOT / BUILD / "axi_copy" / "mutants" / "d128-tap" / "tandem"
pytestmark = pytest.mark.skipif(shutil.which("verilator") is None, reason="not run: needs verilator (make deps)")

# the tree is built by the user's own make, without what an outer make passes on
ENV = {k: v for k, v in os.environ.items()
       if k not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MAKEOVERRIDES", "SAN", "KIND", "CFG", "DUT", "HOST")}


@pytest.fixture(scope="module")
def program():
    target = f"{BUILD}/axi_copy/d128-tap/tandem"
    done = subprocess.run(["make", "-s", "-j1", "DUT=axi_copy", target, f"BUILD={BUILD}"],
                          cwd=ROOT, env=ENV, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stdout + done.stderr
    return PROGRAM


def mutant_of(patch):
    """The program of an RTL with a bug; each takes the place of the one before."""
    folder = ROOT / BUILD / "axi_copy" / "mutants"
    source = folder / "src"
    shutil.rmtree(source, ignore_errors=True)
    shutil.rmtree(MUTANT.parent / "v", ignore_errors=True)
    shutil.copytree(ROOT / "rtl/axi_copy", source / "rtl/axi_copy")
    subprocess.run(["patch", "-s", "-p1", "--fuzz=0", "-d", source, "-i", ROOT / patch], check=True)
    done = subprocess.run(["make", "-s", "-j1", "DUT=axi_copy", "CFG=d128",
                           "KIND=tap", f"BUILD={BUILD}", f"OUT={os.path.relpath(MUTANT.parent, ROOT)}",
                           f"axi_copy.source={os.path.relpath(source, ROOT)}/rtl/axi_copy",
                           os.path.relpath(MUTANT, ROOT)], cwd=ROOT, env=ENV, capture_output=True, text=True,
                          timeout=900)
    assert done.returncode == 0, done.stdout + done.stderr
    return MUTANT


@pytest.fixture(scope="module")
def mutant():
    """The program with a bug: the aligner enables a byte too few at the end of some copies."""
    return mutant_of("tests/mutants/axi_copy/align-tail-strobe.patch")


@pytest.fixture(scope="module")
def hanging():
    """The program with a bug that stops the engine. Takes the place of the other one: tests with it come last."""
    return mutant_of("tests/mutants/axi_copy/room-leak.patch")


def run(program, *args, **kwargs):
    return subprocess.run([str(program), *map(str, args)], capture_output=True, text=True, timeout=300, **kwargs)


def keys(path):
    return dict(line.split("=", 1) for line in Path(path).read_text().splitlines())


def test_passes_and_repeats(program, tmp_path):
    first = run(program, "--count", 60, "--result", tmp_path / "r")
    again = run(program, "--count", 60)
    other = run(program, "--count", 60, "--run-seed", 2)
    assert (first.returncode == 0 and
            first.stdout.startswith("PASS test=axi_copy cfg=d128 cases=60")), first.stdout + first.stderr
    assert first.stdout == again.stdout != other.stdout and other.returncode == 0
    result = keys(tmp_path / "r")
    assert result["outcome"] == "pass" and f"hash={int(result['trace_hash'], 16):016x}" in first.stdout


def test_a_case_is_all_that_counts(program, tmp_path):
    case = tmp_path / "a.case"
    case.write_text(run(program, "--seed", 77, "bus=hostile", "copies=4", "--print-case").stdout)
    assert keys(case)["bus"] == "hostile" and keys(case)["copies"] == "4"
    stored = run(program, "--case", case)
    assert stored.returncode == 0 and stored.stdout == run(program, "--seed", 77, "bus=hostile", "copies=4").stdout


@pytest.mark.parametrize("args, part", [
    (["--frob"], "unknown option --frob"),
    (["--seed"], "--seed: expected a number"),
    (["--count", "0"], "--count: expected a number 1..1000000"),
    (["--seed", "1", "--count", "2"], "--seed: names one case"),
    (["len=99999"], "len=99999: expected 0..12000"),
    (["size=1"], "unknown knob size"),
    (["--case", "/nowhere.case"], "/nowhere.case: No such file"),
    (["--case", "x", "len=1"], "a stored case fixes everything"),
    (["--shrink", "x", "--case", "y"], "--shrink: names its own case"),
    (["--output", "x"], "belong to --shrink"),
    (["--shrink", "x", "--wave", "y"], "--shrink: cannot be combined with a waveform"),
])
def test_bad_input(program, args, part):
    done = run(program, *args)
    assert (done.returncode == 2 and part in done.stderr and
            len(done.stderr.splitlines()) == 1), done.stdout + done.stderr


@pytest.mark.parametrize("old, new, part", [
    ("test=axi_copy", "test=conv", "test=conv, expected axi_copy"),
    ("cfg=d128", "cfg=d64", "this program is built for d128"),
    ("len=", "lne=", "unknown key lne"),
    ("copies=", "copies=9", "expected 1..8"),
    ("bus=", "bus=x", "expected ideal|fast"),
])
def test_bad_case(program, tmp_path, old, new, part):
    case = tmp_path / "a.case"
    case.write_text(run(program, "--seed", 77, "copies=1", "--print-case").stdout.replace(old, new, 1))
    done = run(program, "--case", case)
    assert (done.returncode == 2 and part in done.stderr and
            len(done.stderr.splitlines()) == 1), done.stdout + done.stderr


def test_signal_leaves_a_waveform(program, tmp_path):
    wave = tmp_path / "w.fst"
    args = [str(program), "--seed", "1", "copies=8", "len=12000", "bus=slow",
            "--wave", str(wave), "--case-dir", str(tmp_path)]
    child = subprocess.Popen(args, stdout=subprocess.PIPE, text=True)
    for _ in range(1000):
        if wave.exists():
            break
        time.sleep(0.005)
    child.send_signal(signal.SIGTERM)
    out = child.communicate(timeout=60)[0]
    # the run may have been over before the signal came
    assert (child.returncode == 1 and "stopped by signal 15" in out or
            child.returncode == 0 and out.startswith("PASS")), out
    times(wave)


def times(path):
    """First and last time of an FST file, from its header block."""
    head = Path(path).read_bytes()[:25]
    assert len(head) == 25 and head[0] == 0, "no header of an FST file"
    return struct.unpack(">QQ", head[9:25])


def test_failure_has_waveform_and_case(mutant, tmp_path):
    args = ["--count", 100, "--fail-wave", "f.fst", "--wave-window", 40, "--case-dir", "cases", "--result", "r"]
    done = run(mutant, *args, cwd=tmp_path)
    result = keys(tmp_path / "r")
    assert (done.returncode == 1 and result["outcome"] == "fail" and
            result["signature"] == "unit:align:strobe"), done.stdout + done.stderr
    assert ("align 0 (axi_copy.u_align): strobe, task 1," in result["message"] and
            "its input was right" in result["message"])
    assert done.stdout.splitlines()[0].endswith(result["message"]) and done.stdout.splitlines()[1] == result["repro"]
    cycle = int(result["message"].split("cycle ")[1].split(":")[0])
    begin, end = times(tmp_path / "f.fst")
    assert result["wave"] == "f.fst" and begin <= 10 * cycle <= end and end <= 10 * (cycle + 11)
    # beside it, what to look at: the unit that failed first, then the ports
    save, picture = (tmp_path / "f.gtkw").read_text(), (tmp_path / "f.svg").read_text()
    assert save.index("axi_copy.u_align.out_strb_o") < save.index("s_axil_awvalid_i") < save.index("m_axi_awvalid_o")
    assert picture.startswith("<svg") and "out_strb_o" in picture
    again = subprocess.run(result["repro"].split(), cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert again.returncode == 1 and again.stdout.splitlines()[0] == done.stdout.splitlines()[0]
    # snapshots end with their parent
    left = [p for p in Path("/proc").glob("[0-9]*/exe") if os.path.lexists(p) and str(mutant) == readlink(p)]
    assert left == []


def readlink(path):
    try:
        return os.readlink(path)
    except OSError:
        return ""


def test_report(mutant, tmp_path):
    """The folder of a failure: what broke, how it spread, what each side has copied."""
    done = run(mutant, "--count", 100, "--report", tmp_path / "r", "--case-dir", tmp_path)
    assert (done.returncode == 1 and (tmp_path / "r/wave.fst").exists() and
            (tmp_path / "r/timing.svg").exists()), done.stdout + done.stderr
    text, page = (tmp_path / "r/report.txt").read_text(), (tmp_path / "r/report.html").read_text()
    assert "align 0: strobe" in text and "destination" in text and "axi_copy.u_align" in page
    logs = [(tmp_path / f"r/tensors/{side}/index.txt").read_text() for side in ("rtl", "model")]
    assert "stream=destination task=0 unit=axi_copy" in logs[0] and logs[0] == logs[1]


def test_python(program, mutant, tmp_path):
    """The program of any design from Python (python/tandem/program.py)."""
    spec = importlib.util.spec_from_file_location("program", ROOT / "python/tandem/program.py")
    python = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(python)
    p = python.Program(program)
    assert p.cfg == "d128" and p.tests["axi_copy"]["copies"]["highest"] == 8
    good = p.run("axi_copy", seed=7, copies=3, len=100)
    assert (good.ok and good.cycles > 0 and
            good.trace_hash == p.run("axi_copy", seed=7, copies=3, len=100).trace_hash and good.case is None)
    bad = python.Program(mutant).run("axi_copy", count=100, case_dir=tmp_path)
    assert (not bad.ok and bad.signature == "unit:align:strobe" and
            python.Program(mutant).repro(bad.case).signature == bad.signature)
    for call, said in ((lambda: p.run("axi_copy", size=1), "unknown knob size"),
                       (lambda: p.run("frob"), "frob"), (lambda: python.Program("/none"), "No such file")):
        with pytest.raises(python.ProgramError, match=said):
            call()
    pytest.importorskip("numpy")
    streams = p.run("axi_copy", seed=7, dump=True, copies=2, len=100, error="none").streams
    assert (len(streams["rtl", "destination", 0]) == 100 and
            (streams["rtl", "destination", 0] == streams["model", "destination", 0]).all())


def test_counters(program, tmp_path):
    """Traffic of each bus of a case, as JSON."""
    assert run(program, "--seed", 7, "copies=1", "len=100", "error=none", "--counters", tmp_path / "c").returncode == 0
    count = json.loads((tmp_path / "c").read_text())
    assert set(count) == {"regs", "mem", "irq_o"} and count["mem"]["writes"]["bytes"] == 100
    done = run(program, "--seed", 7, "copies=1", "--counters", "/none/c")
    assert done.returncode != 0 and "--counters /none/c: No such file" in done.stderr


def test_device_from_python(program, mutant, tmp_path):
    """Registers, memory, ports, time, counters and faults of a bench, driven from outside; bytes as golden model."""
    spec = importlib.util.spec_from_file_location("design", ROOT / "python/tandem/design.py")
    python = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(python)
    text = bytes(range(1, 201))
    length, status = 8, 16

    def copy(dev, src, dst, size):
        for reg, value in ((0, src), (4, dst), (length, size), (12, 3)):
            dev.write("regs", reg, value)
        assert dev.until("irq_o", 1, 20000) and dev.irq == 1
        dev.write("-", status, 2)

    with python.Device(program, seed=3, bus="typical") as dev:
        memory, size = dev.memory
        assert dev.cfg == "d128" and dev.buses == {"regs": "registers", "mem": "memory"} and size > 4096
        assert dev.inputs["clk_i"] == 1 and dev.outputs["irq_o"] == 1 and dev["irq_o"] == 0
        first = dev.cycle
        assert dev.step(5) == first + 5
        dev.load(memory + 3, text)
        copy(dev, memory + 3, memory + 1000, len(text))
        assert dev.fetch(memory + 1000, len(text)) == text
        dev.load(memory + 1000, text, side="model")
        dev.compare()
        count = dev.counters()
        assert count["mem"]["writes"]["bytes"] == len(text)
        for call, said in ((lambda: dev.read("none", 0), "no AXI4-Lite or APB slave of this name"),
                           (lambda: dev["none"], "no such port"),
                           (lambda: dev.fetch(0, 1 << 40), "too many"), (lambda: dev._ask("frob"), "unknown request"),
                           (lambda: dev.load(memory + size, b"1"), "outside the memory"),
                           (lambda: dev.__setitem__("irq_o", 1), "irq_o is an output"),
                           (lambda: dev.__setitem__("rst_ni", 2), "more bits than the port")):
            with pytest.raises(python.Error, match=said):
                call()
        dev.reset()
        assert dev.read("-", length) == 0
        hash_of = dev.finish()
        dev.load(memory, b"x")  # the end may be asked for again, with another memory
        assert dev.finish() != hash_of
    with pytest.raises(python.Failure, match="mem:mismatch") as failed, python.Device(program) as dev:
        dev.load(memory, text)
        copy(dev, memory, memory + 1000, 16)
        dev.load(memory + 1000, text[1:17], side="model")
        dev.compare()
    assert failed.value.signature == "mem:mismatch" and failed.value.cycle > 10
    with python.Device(program) as dev:
        dev.load(memory, text)
        dev.fault("mem", "read")
        copy(dev, memory, memory + 1000, 16)
        assert dev.read("regs", 20) != 0
    with pytest.raises(python.Failure, match="watchdog:hang") as failed, python.Device(program) as dev:
        dev.load(memory, text)
        dev.stop("mem", "R")
        copy(dev, memory, memory + 1000, 16)
    assert "the memory owes R of mem burst" in failed.value.text
    with pytest.raises(python.Failure, match="unit:align"), python.Device(mutant) as dev:
        dev.load(memory, text)
        for n in range(1, 40):
            copy(dev, memory, memory + 1000 + n, 30 + n)
    with pytest.raises(python.Error, match="unknown knob size"):
        python.Device(program, size=1)
    with pytest.raises(python.Error, match="No such file"):
        python.Device("/none")
    wave = tmp_path / "a.fst"
    with python.Device(program, wave=wave) as dev:
        dev.step(10)
    assert wave.stat().st_size > 0


def test_shrink(mutant, tmp_path):
    run(mutant, "--count", 100, "copies=6", "bus=slow", "--case-dir", tmp_path)
    [case] = tmp_path.glob("*.case")
    done = run(mutant, "--shrink", case)
    small = tmp_path / (case.stem + "-small.case")
    assert (done.returncode == 0 and
            done.stdout.splitlines()[-1] == f"{mutant} --case {small}"), done.stdout + done.stderr
    assert keys(small)["copies"] == "1" and keys(small)["bus"] == "ideal" and keys(small)["seed"] == keys(case)["seed"]
    before, after = next(line for line in done.stdout.splitlines() if line.startswith("bytes ")).split()[1:4:2]
    assert int(after) < int(before)
    again = run(mutant, "--case", small, "--result", tmp_path / "r")
    assert again.returncode == 1 and keys(tmp_path / "r")["signature"] == "unit:align:strobe"
    assert "\nunit:align:strobe, without that check mem:" in done.stdout  # what the user saw is kept as well
    alone = run(mutant, "--shrink", case, "--signature-only")
    assert alone.returncode == 0 and "\nunit:align:strobe: " in alone.stdout


def test_shrink_of_a_case_that_passes(program, tmp_path):
    case = tmp_path / "a.case"
    case.write_text(run(program, "--seed", 77, "--print-case").stdout)
    done = run(program, "--shrink", case)
    assert done.returncode == 1 and "passes" in done.stderr and len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("irq", [0, 1])
def test_hang(hanging, tmp_path, irq):
    args = ["--count", 300, f"irq={irq}", "len=12000", "error=none", "--case-dir", tmp_path, "--result", tmp_path / "r"]
    done = run(hanging, *args)
    assert done.returncode == 1 and keys(tmp_path / "r")["signature"] == "watchdog:hang", done.stdout + done.stderr
    assert "for 10000 cycles" in done.stdout and "the memory owes nothing" in done.stdout
    assert "\nhang: no handshake" in done.stdout and "\nin flight on the bus (oldest first):\n  mem " in done.stdout


def test_checker_alone(program):
    target = f"{BUILD}/axi_copy/d128-tap/axi_watch"
    done = subprocess.run(["make", "-s", "-j1", "DUT=axi_copy", target, f"BUILD={BUILD}"],
                          cwd=ROOT, env=ENV, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stdout + done.stderr
    legal = run(ROOT / target)
    assert legal.returncode == 0 and legal.stdout == "writes: 1, violations: 0\n"
    broken = run(ROOT / target, "break")
    assert broken.returncode == 1 and broken.stdout.startswith("AXI4_ERRM_AWVALID_STABLE on regs (AW) at cycle 9")


def test_assertion_alone(program, tmp_path):
    """A failed assertion of a part within the design, which nothing else notices: instance and cycle in the message,
    its signals first in the pictures. Its program takes the place of the others, too."""
    fifo = "rtl/axi_copy/axi_copy_fifo.sv"
    lines = (ROOT / fifo).read_text().splitlines()
    at = max(i for i, line in enumerate(lines) if line == "endmodule")
    bug = '  always @(posedge clk_i) if (wvalid_i && Width == 8) $error("%m: assertion NothingComes failed");'
    patch = tmp_path / "assertion.patch"
    patch.write_text(f"# what: an assertion that does not hold\n# caught: assert:axi_copy_fifo.sv:{at + 1}\n"
                     f"--- a/{fifo}\n+++ b/{fifo}\n" f"@@ -{at},2 +{at},3 @@\n {lines[at - 1]}\n+{bug}\n endmodule\n")
    mutant_of(patch)
    done = run(MUTANT, "--count", 100, "--fail-wave", "f.fst", "--case-dir", "cases", "--result", "r", cwd=tmp_path)
    said = re.fullmatch(rf"(axi_copy\.u_lens): assertion NothingComes failed \(axi_copy_fifo\.sv:{at + 1}\), "
                        rf"cycle (\d+)", keys(tmp_path / "r")["message"])
    assert done.returncode == 1 and said, done.stdout + done.stderr
    # the waveform holds the edge, and the values that it saw are those of the cycle that is named
    end = times(tmp_path / "f.fst")[1]
    assert end == 10 * (int(said[2]) + 1)
    save, picture = (tmp_path / "f.gtkw").read_text(), (tmp_path / "f.svg").read_text()
    assert save.index("u_lens.wvalid_i") < save.index("s_axil_awvalid_i") < save.index("m_axi_awvalid_o")
    assert re.search(rf"^\*\S+ {10 * int(said[2]) + 5} ", save, re.M)  # the marker
    assert picture.startswith("<svg") and "rptr_q" in picture and "m_axi_awvalid_o" not in picture


def test_all_mutants():
    if os.environ.get("TANDEM_CHECK") != "1":
        pytest.skip(
            "not run: all mutants of the design take minutes (make check, or make mutants DUT=axi_copy MODE=caught)")
    done = subprocess.run(["make", "-s", "mutants", "DUT=axi_copy", "MODE=caught", "JOBS=1"],
                          cwd=ROOT, env=ENV, capture_output=True, text=True, timeout=1800)
    assert done.returncode == 0, done.stdout + done.stderr
