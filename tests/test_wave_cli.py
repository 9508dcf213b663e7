"""tandem wave: what is in a waveform file; one clear line for what it cannot read or write."""
import os
import re
import resource
import shutil
import subprocess
import xml.etree.ElementTree
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = ROOT / os.environ.get("HOST", os.path.join(os.environ.get("BUILD", "build"), "host")) / "tandem-model"
pytestmark = pytest.mark.skipif(not os.access(PROGRAM, os.X_OK), reason="not run: tandem-model is not built")


def wave(*args, **kwargs):
    return subprocess.run([str(PROGRAM), "wave", *map(str, args)], capture_output=True, text=True, timeout=60, **kwargs)


def to_fst(vcd, fst):
    own = PROGRAM.parent / "support" / "vcd2fst"
    program = str(own) if os.access(own, os.X_OK) else shutil.which("vcd2fst")
    if program is None:
        pytest.skip("not run: no program that writes FST (make tests builds one where Verilator ships the library; "
                    "else make deps-dev: gtkwave)")
    subprocess.run([program, vcd, fst], check=True, capture_output=True)
    return fst


@pytest.fixture
def vcd(tmp_path):
    """A counter that stalls now and then: 200 cycles."""
    lines = ["$timescale 1ns $end", "$scope module TOP $end", "$var wire 1 ! clk_i $end", "$scope module u_cnt $end",
             "$var wire 1 ! clk_i $end", "$var wire 1 v valid_i $end",
             "$var wire 16 c count_q [15:0] $end", "$var wire 8 k limit [7:0] $end",
             "$upscope $end", "$upscope $end", "$enddefinitions $end", "#0", "0!", "bx c", "b11111010 k", "0v"]
    count = 0
    for cycle in range(1, 200):
        count += cycle % 5 != 0
        lines += [f"#{cycle * 10 - 5}", "0!", f"#{cycle * 10}", "1!", f"{int(cycle % 5 != 4)}v", f"b{count:b} c"]
    path = tmp_path / "count.vcd"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_summary_names_clock_and_scopes(vcd):
    done = wave(vcd)
    assert done.returncode == 0, done.stderr
    assert "count.vcd: 5 signals, times 0 to 1990 (1 ns)" in done.stdout
    assert "clock TOP.clk_i, cycles 0 to 199" in done.stdout
    assert done.stdout.splitlines()[-2:] == ["  TOP", "  TOP.u_cnt"]
    assert wave(vcd, "--list").stdout.split()[-2:] == ["TOP.u_cnt.count_q[15:0]", "TOP.u_cnt.limit[7:0]"]


def test_values_of_a_cycle(vcd):
    done = wave(vcd, "--signals", "u_cnt", "--from", 14)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[1:] == ["TOP.u_cnt.valid_i = 0", "TOP.u_cnt.count_q[15:0] = c",
                                            "TOP.u_cnt.limit[7:0] = fa"]


def test_picture_and_save_file(vcd, tmp_path):
    svg, gtkw = tmp_path / "w.svg", tmp_path / "w.gtkw"
    done = wave(vcd, "--signals", "u_cnt", "--mark", 100, "--svg", svg, "--gtkw", gtkw)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    root = xml.etree.ElementTree.parse(svg).getroot()
    text = ["".join(t.itertext()) for t in root.iter("{http://www.w3.org/2000/svg}text")]
    assert "first mismatch, cycle 100" in text and "limit=fa  " in text and "count_q" in text
    # 12 cycles, 9 of them before the marker: 91 .. 103; the whole is no wider than a page
    values = [t.split() for t in text[text.index("count_q") + 1:] if re.fullmatch("[0-9a-f]+", t)]
    assert values == [[f"{count:x}"] for count in range(73, 83)]
    assert float(root.get("width")) < 900
    mark = [p.get("d") for p in root.iter("{http://www.w3.org/2000/svg}path") if p.get("class") == "mk"]
    left = float(root.get("width")) - 4 - 12 * 56
    assert len(mark) == 1 and float(re.match(r"M([\d.]+) ", mark[0])[1]) == pytest.approx(left + 9 * 56, abs=1)
    assert not re.search("<script|http://(?!www.w3.org/2000/svg)", svg.read_text())
    save = gtkw.read_text()
    assert " 1000 1000 -1" in save and "[timestart] 700" in save and "TOP.u_cnt.count_q[15:0]" in save
    assert sorted(p.name for p in tmp_path.iterdir()) == ["count.vcd", "w.gtkw", "w.svg"]


def test_long_title_ends_with_the_picture(vcd, tmp_path):
    """It is cut between two characters, also where these have several bytes; the whole is the tooltip."""
    long = vcd.rename(tmp_path / ("\u03bc" * 120 + ".vcd"))
    done = wave(long, "--signals", "u_cnt", "--mark", 100, "--svg", tmp_path / "w.svg")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    root = xml.etree.ElementTree.parse(tmp_path / "w.svg").getroot()
    title = next(t.text for t in root.iter("{http://www.w3.org/2000/svg}text") if t.get("class") == "t")
    assert str(long).startswith(title[:-1]) and title.endswith("\u2026")
    assert float(root.get("width")) - 20 < len(title) * 6.7 < float(root.get("width"))
    assert str(long) in [t.text for t in root.iter("{http://www.w3.org/2000/svg}title")]


def test_fst_says_the_same_as_vcd(vcd, tmp_path):
    fst = to_fst(vcd, tmp_path / "count.fst")
    for cycle in (0, 1, 57, 199):
        args = ["--signals", "TOP.u_cnt", "--from", cycle]
        assert wave(fst, *args).stdout == wave(vcd, *args).stdout
    text = wave(fst).stdout
    assert "clock TOP.clk_i, cycles 0 to 199" in text


@pytest.mark.parametrize("args, part", [
    ([], "expected a waveform file"),
    (["{v}", "x"], "unexpected argument x"),
    (["{v}", "--frob"], "unknown option --frob"),
    (["{v}", "--from"], "--from: expected a number, got nothing"),
    (["{v}", "--from", "x"], "--from: expected a number, got 'x'"),
    (["{v}", "--signals", "u_none"], "no signals in scope u_none"),
    (["{v}", "--svg", "x.svg"], "--svg: needs --signals"),
    (["{v}", "--clock", "TOP.none"], "no signal TOP.none"),
    (["/nowhere/x.fst"], "/nowhere/x.fst: no such file"),
    ([str(ROOT / "README.md")], "neither an FST nor a VCD file"),
    (["/dev/zero"], "not a regular file"),
])
def test_bad_input_is_one_line(vcd, args, part):
    done = wave(*[a.replace("{v}", str(vcd)) for a in args])
    assert done.returncode == 2 and done.stdout == ""
    assert part in done.stderr and done.stderr.count("\n") == 1


def test_damaged_fst_is_one_line(vcd, tmp_path):
    fst = to_fst(vcd, tmp_path / "count.fst")
    data = fst.read_bytes()
    for bad in (data[:400], data[:330] + b"\xff" * 64 + data[394:], data[:-8] + b"\x55" * 8):
        fst.write_bytes(bad)
        done = wave(fst, "--signals", "u_cnt", "--svg", tmp_path / "w.svg")
        assert (done.returncode, done.stdout, done.stderr) == (2, "", f"{PROGRAM}: {fst}: damaged FST\n")
        assert not list(tmp_path.glob("w.svg*"))


def test_a_reader_that_has_seen_enough(vcd):
    done = subprocess.run(["bash", "-c", f"{PROGRAM} wave {vcd} --list | true"],
                          capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    with open("/dev/full", "w") as full:
        done = subprocess.run([str(PROGRAM), "wave", str(vcd)], stdout=full,
                              stderr=subprocess.PIPE, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (3, f"{PROGRAM}: stdout: cannot be written: No space left on device\n")


def test_full_disk_leaves_nothing(vcd, tmp_path):
    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (512, 512))
    done = wave(vcd, "--signals", "u_cnt", "--svg", tmp_path / "w.svg", preexec_fn=limit)
    assert done.returncode == 3 and done.stderr.count("\n") == 1
    assert [p.name for p in tmp_path.iterdir()] == ["count.vcd"]
    done = wave(vcd, "--signals", "u_cnt", "--gtkw", "/nowhere/w.gtkw")
    assert done.returncode == 1 and "/nowhere/w.gtkw: No such file" in done.stderr
