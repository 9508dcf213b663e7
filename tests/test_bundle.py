"""--report DIR: what is in the folder after a failure, and that nothing is left where there was none. Failures come
from a simulated memory that is broken on purpose."""
import os
import re
import signal
import subprocess
import time
from html.parser import HTMLParser
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / os.environ.get("BUILD", "build")
# the cheapest build at hand; one of kind tap shows all of it
KINDS = [(cfg, kind) for kind in ("tap", "debug", "fast") for cfg in ("n4", "n8")]
CFG, KIND = next(((c, k) for c, k in KINDS if os.access(BUILD / f"{c}-{k}" / "tandem", os.X_OK)), (None, None))
PROGRAM = BUILD / f"{CFG}-{KIND}" / "tandem"
pytestmark = pytest.mark.skipif(CFG is None, reason="not run: no tandem with RTL is built (make build KIND=tap CFG=n4)")

OP = ["run", "conv", "ic=8", "oc=12", "ih=12", "iw=12", "k=3", "data=uniform",
      "in_layout=fp32", "out_layout=fp32", "groups=1"]
FLIP = ["--break", "m1.R:20:flip"]
HANG = ["--break", "m0.R:30"]


def command(tmp, *args):
    return [str(PROGRAM), *args, "--case-dir", str(tmp / "cases"), "--report", str(tmp / "r")]


def tandem(tmp, *args):
    return subprocess.run(command(tmp, *args), capture_output=True, text=True, timeout=120)


class Page(HTMLParser):
    """Names of elements, what they point to, and whether they are closed."""
    VOID = {"meta", "br", "rect", "path", "line", "polyline", "polygon", "use", "circle", "stop"}

    def __init__(self):
        super().__init__()
        self.tags, self.links, self.open = [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.links += [value for name, value in attrs if name in ("src", "href", "srcset", "data") and value]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if self.open and tag not in self.VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        if tag not in self.VOID and tag not in ("p", "li", "tr", "td", "th"):
            while self.open and self.open[-1] in ("p", "li", "tr", "td", "th"):
                self.open.pop()
        if self.open and self.open[-1] == tag:
            self.open.pop()
        else:
            assert tag in self.VOID or tag in ("p", "li", "tr", "td", "th"), f"</{tag}> closes {self.open[-3:]}"


@pytest.fixture(scope="module")
def flip(tmp_path_factory):
    tmp = tmp_path_factory.mktemp("flip")
    done = tandem(tmp, *OP, *FLIP, "--result", str(tmp / "result"))
    assert done.returncode == 1, done.stdout + done.stderr
    return tmp, done


def test_files(flip):
    tmp, done = flip
    names = {p.name for p in (tmp / "r").iterdir()}
    assert {"report.txt", "report.html", "case.case", "registers.txt",
            "axi.txt", "wrong.txt", "versions.txt", "tensors"} <= names
    if KIND != "fast":
        assert {"wave.fst", "wave.gtkw", "timing.svg"} <= names
        assert (tmp / "r/wave.fst").stat().st_size > 1000
        # the page shows the failing cycle without scrolling
        drawn = (tmp / "r/timing.svg").read_text()
        width, marker = re.search(r'width="(\d+)"', drawn)[1], re.search(r'class="mk" d="M([\d.]+) ', drawn)[1]
        assert float(marker) < int(width) < 900 and drawn in (tmp / "r/report.html").read_text()
    else:
        assert "wave.fst" not in names and "no tracing" in (tmp / "r/report.txt").read_text()
    assert sorted(p.name for p in tmp.iterdir()) == ["cases", "r", "result"]
    assert f"report={tmp}/r/report.html" in (tmp / "result").read_text()
    # what the screen shows fits on it
    shown = done.stdout.splitlines()
    assert len(shown) <= 45 and f"{tmp}/r/report.html" in done.stdout
    assert "Traceback" not in done.stderr


def test_wrong_elements(flip):
    tmp, _ = flip
    report = (tmp / "r/report.txt").read_text()
    said = re.search(r"GEMM task 0: (\d+) of (\d+) elements wrong: channels (\d+)\.\.(\d+)", report)
    assert said and int(said[2]) == 12 * 14 * 14
    lines = [line for line in (tmp / "r/wrong.txt").read_text().splitlines() if line.startswith("GEMM task 0")]
    assert len(lines) == int(said[1]) > 0
    channels = {int(re.search(r", c (\d+),", line)[1]) for line in lines}
    assert (min(channels), max(channels)) == (int(said[3]), int(said[4]))
    # each element at the address that its place gives
    registers = (tmp / "r/registers.txt").read_text()
    base = int(re.search(r"GEMM_OFM_ADDR +0x\w+ +(0x\w+)", registers)[1], 16)
    step = int(re.search(r"GEMM_OFM_CSTEP +0x\w+ +(0x\w+)", registers)[1], 16)
    for line in lines:
        c, h, w, addr = re.search(r"c (\d+), h (\d+), w (\d+), (0x\w+)", line).groups()
        assert int(addr, 16) == base + int(c) * step + (int(h) * 14 + int(w)) * 4
        got, expected = re.search(r"got .*\((0x\w+)\), expected .*\((0x\w+)\)", line).groups()
        assert got != expected
    assert re.search(r"starts GEMM task 0", registers)
    assert re.search(r"m[01] +brought the first wrong element|m[01] brought the first wrong element: write 0x", report)


def test_tensors(flip):
    tmp, _ = flip
    done = subprocess.run([str(PROGRAM), "diff", str(tmp / "r/tensors/rtl"), str(tmp / "r/tensors/model")],
                          capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    wrong = re.search(r"gemm.out task 0: (\d+) of", done.stdout)[1]
    assert f"gemm.out of task 0: {wrong} of" in (tmp / "r/report.txt").read_text()


@pytest.mark.parametrize("limit", [0, 1])
def test_room_for_tensors(limit, tmp_path):
    """What tensors/ has no room for is said with its name and size; what differs stays before the rest."""
    side = "12" if limit == 0 else "48" if KIND == "tap" else "96"  # without taps there are no streams of the units
    op = [arg.replace("12", side) if arg[:3] in ("ih=", "iw=") else arg for arg in OP]
    done = tandem(tmp_path, *op, *FLIP, "--dump", str(tmp_path / "whole"), "--report-limit", str(limit))
    assert done.returncode == 1 and f"may have {limit} MiB (--report-limit); report.txt names them" in done.stdout
    sizes = lambda folder: {str(p.relative_to(folder)): p.stat().st_size for p in folder.rglob("*.*") if p.is_file()}
    whole, kept = sizes(tmp_path / "whole"), sizes(tmp_path / "r/tensors")
    assert sum(kept.values()) <= limit << 20
    report, page = ((tmp_path / "r" / name).read_text() for name in ("report.txt", "report.html"))
    left = re.findall(r"^  (\S+?)(?: of task (\d+))?, (\d+) bytes$", report, re.M)
    assert re.search(rf"^Left out  {len(left)} streams, {sum(int(n[2]) for n in left)} bytes,", report, re.M)
    for stream, task, size in left:
        file = stream.replace("/", "+") + (f".{task}" if task else "") + ".npy"
        both = [n for n in whole if n.split("/")[-1] == file]
        assert both and not any(n in kept for n in both)
        assert f"<li>{stream}" + (f" of task {task}" if task else "") + f", {size} bytes</li>" in page
    gone = {n for n in whole if n not in kept}
    assert len(gone) >= len(left) > 0 and all(n.endswith(".npy") for n in gone)
    if limit == 1:
        wrong = [s for s, t in re.findall(r"^  (\S+) of task (\d+): \d+ of \d+ wrong", report, re.M)]
        assert wrong and all(f"{side}/{wrong[0]}.0.npy" in kept for side in ("rtl", "model"))
    for side in ("rtl", "model"):
        index = (tmp_path / "r/tensors" / side / "index.txt").read_text()
        assert sorted(re.findall(r"file=(\S+)", index)) == sorted(n.split("/")[1] for n in kept
                                                                  if n.startswith(side + "/") and n.endswith(".npy"))


def test_page(flip):
    tmp, _ = flip
    text = (tmp / "r/report.html").read_text()
    page = Page()
    page.feed(text)
    assert page.open == []
    assert "script" not in page.tags and "link" not in page.tags and "img" not in page.tags
    for link in page.links:
        assert "//" not in link and (link.startswith("#") or (tmp / "r" / link).exists()), link
    assert "url(" not in text and "@import" not in text
    assert "prefers-color-scheme:dark" in text and "name=\"viewport\"" in text
    assert text.count("class=\"heat0\"") == 12 + 1  # a panel for each channel, and the legend
    assert text.count("<figcaption>") == 12
    order = [text.index(head) for head in ("How it spread", "Which output elements",
                                           "Register program", "Bus around", "Timing", "Repeat it", "Versions")]
    assert order == sorted(order)
    assert "make repro CASE=" in text and "Verilator" in text


def test_case_replays(flip):
    tmp, done = flip
    again = tandem(tmp, "repro", str(tmp / "r/case.case"), *FLIP)
    assert again.returncode == 1
    assert again.stdout.splitlines()[0] == done.stdout.splitlines()[0]


def test_same_twice(tmp_path):
    texts = []
    for _ in range(2):
        assert tandem(tmp_path, *OP, *FLIP).returncode == 1
        texts.append({p.name: p.read_bytes() for p in (tmp_path / "r").iterdir()
                      if p.is_file() and p.name != "wave.fst"})
    assert texts[0] == texts[1]  # and the older one made way
    assert sorted(p.name for p in tmp_path.iterdir()) == ["cases", "r"]


def test_hang(tmp_path):
    done = tandem(tmp_path, *OP, *HANG)
    assert done.returncode == 1 and "no handshake on any port" in done.stdout
    report = (tmp_path / "r/report.txt").read_text()
    assert re.search(r"root: .*memory owes R of m0", report)
    assert re.search(r"0 of 2352 elements wrong, 2352 not written", report)
    assert "Chain of waits" in (tmp_path / "r/report.html").read_text()
    assert "class=\"heatm\"" in (tmp_path / "r/report.html").read_text()
    assert re.search(r"> m0 .*no response|> m0 .*beats so far", (tmp_path / "r/axi.txt").read_text())


def test_nothing_after_success(tmp_path):
    done = tandem(tmp_path, *OP)
    assert done.returncode == 0
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("make, part", [
    (lambda p: (p.mkdir(), (p / "mine.txt").write_text("x")), "holds files that do not belong to a report"),
    (lambda p: p.write_text("x"), "exists and is not a folder"),
])
def test_folder_of_somebody_else(make, part, tmp_path):
    make(tmp_path / "r")
    done = tandem(tmp_path, *OP, *FLIP)
    assert done.returncode == 2 and done.stdout == ""
    assert len(done.stderr.splitlines()) == 1 and part in done.stderr
    assert not (tmp_path / "r/report.txt").exists()


def test_empty_folder_and_slash(tmp_path):
    (tmp_path / "r").mkdir()
    done = subprocess.run(command(tmp_path, *OP, *FLIP)[:-1] + [f"{tmp_path}/r/"],
                          capture_output=True, text=True, timeout=120)
    assert done.returncode == 1 and (tmp_path / "r/report.html").exists()


def test_disk_full(tmp_path):
    """A report that cannot be written leaves nothing, and the failure is still told."""
    script = "ulimit -f 4; exec \"$@\""
    done = subprocess.run(["bash", "-c", script, "x", *command(tmp_path, *OP, *FLIP)],
                          capture_output=True, text=True, timeout=120)
    assert done.returncode == 3 and "no report:" in done.stderr and done.stdout.startswith("FAIL ")
    assert not (tmp_path / "r").exists() and not list(tmp_path.glob("r.*"))


def test_interrupt(tmp_path):
    """A signal while the report is made leaves no half of it."""
    with subprocess.Popen(command(tmp_path, *OP,
                                  *HANG), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as run:
        end = time.monotonic() + 60
        while not list(tmp_path.glob("r.tmp*")) and run.poll() is None and time.monotonic() < end:
            time.sleep(0.002)
        run.send_signal(signal.SIGINT)
        err = run.communicate(timeout=60)[1]
    assert not (tmp_path / "r").exists() or (tmp_path / "r/report.html").exists()
    assert not list(tmp_path.glob("r.*"))
    if not (tmp_path / "r").exists():
        assert "signal" in err


SETUP = ["--device", "rtl", "--init-seed", "0x5", "--plusarg", "+nothing_knows_it", "--no-checks"]


def repro_line(done):
    return next(line for line in done.stdout.splitlines() if line.startswith("make repro "))


@pytest.mark.parametrize(
    "setup, said", [([], ""), (SETUP, "DEVICE=rtl BREAK=m0.R:30 INIT_SEED=0x5 PLUSARG=+nothing_knows_it NO_CHECKS=1")])
def test_printed_line_is_accepted(setup, said, tmp_path):
    """make repro with what a failing run prints, as it is; how the case was run belongs to it."""
    tmp, done = tmp_path, tandem(tmp_path, *OP, *HANG, *setup)
    assert done.returncode == 1
    line = repro_line(done)
    assert line.endswith(".case " + (said or "BREAK=m0.R:30"))
    for name in ("report.txt", "report.html"):
        assert line in (tmp / "r" / name).read_text()
    env = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MAKEOVERRIDES")}
    args = line.split()[1:] + [f"KIND={KIND}", f"REPORT={tmp}/again", "JOBS=1"]
    again = subprocess.run(["make", *args], capture_output=True, text=True, timeout=1200, cwd=ROOT, env=env)
    assert again.returncode == 2, again.stdout + again.stderr  # of make: the program failed
    assert done.stdout.splitlines()[0] in again.stdout.splitlines()
    assert (tmp / "again/report.html").exists()
    assert repro_line(again).split()[3:] == line.split()[3:]


@pytest.mark.skipif(KIND == "fast", reason="not run: no build with tracing (make build KIND=tap CFG=n4)")
def test_repeated_run_has_the_same_initial_state(tmp_path):
    """The waveform of a failure that came before the first snapshot is of a second run: registers without a reset hold
    what they held in the first."""
    seen = {}
    for option in ("--fail-wave", "--wave"):
        for seed in "12":
            wave = str(tmp_path / f"{option[2:]}{seed}.fst")
            args = [*OP, *FLIP, "--init-seed", seed, "--case-dir", str(tmp_path),
                    "--wave-window", "100000", option, wave]
            assert subprocess.run([str(PROGRAM), *args], capture_output=True, timeout=120).returncode == 1
            show = subprocess.run([str(PROGRAM), "wave", wave, "--signals", "npu_top.u_units.u_gemm.u_mac.u_mesh",
                                   "--from", "8", "--to", "9"], capture_output=True, text=True, timeout=60)
            assert show.returncode == 0
            seen[option, seed] = show.stdout
    for seed in "12":
        assert seen["--fail-wave", seed] == seen["--wave", seed]
    assert seen["--wave", "1"] != seen["--wave", "2"]


def test_checks_that_were_off_stay_off(tmp_path):
    """With --no-checks the report is of a run without them, and says so."""
    done = tandem(tmp_path, *OP, *FLIP, "--no-checks")
    assert done.returncode == 1
    report = (tmp_path / "r/report.txt").read_text()
    assert "did not fail in the same way" not in report
    said = ("this build does not check single units" if KIND != "tap"
            else "the checks of the units were off (--no-checks)")
    assert said in report and said in (tmp_path / "r/report.html").read_text()