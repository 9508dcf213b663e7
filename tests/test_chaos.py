"""A share of `make chaos`: calls of the system fail in short runs of all programs that are built, the runner is killed
at random moments. docs/chaos.md"""
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
HOST = ROOT / os.environ.get("HOST", os.path.join(os.environ.get("BUILD", "build"), "host"))
SECONDS, MOMENTS = ("300", "200") if os.environ.get("TANDEM_CHECK") == "1" else ("15", "10")
pytestmark = [
    pytest.mark.skipif(not os.access(HOST / "faults/inject", os.X_OK), reason="not run: the injector is not built"),
    # their runtime maps memory as it needs it, and ends the process when it gets none
    pytest.mark.skipif(HOST.name.endswith("-san"), reason="not run: not with sanitizers")]


def chaos(*args):
    done = subprocess.run([sys.executable, ROOT / "tests/faults/chaos.py", *args], cwd=ROOT, text=True,
                          capture_output=True, timeout=900)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def injected(tmp_path, *command):
    return [HOST / "faults/inject", "--report", tmp_path / "report", "--preload", HOST / "faults/inject.so", "--",
            *command]


def can_inject(tmp_path):
    """Some containers forbid the filter."""
    done = subprocess.run(injected(tmp_path, "true"), capture_output=True, text=True)
    if done.returncode != 0:
        pytest.skip("not run: no seccomp filter here: " + done.stderr.strip())


def test_faults(tmp_path):
    can_inject(tmp_path)
    said = chaos("--seconds", SECONDS)
    assert "0 crashes, 0 wrong verdicts, 0 half-written files, 0 lost results" in said.splitlines()[-1]
    heads = next(line for line in said.splitlines() if line.startswith("program ")).split()
    assert {"alloc", "write"} <= set(heads), "calls of the system and functions of the C library"


def test_one_fault_is_found(tmp_path):
    """A program that does not look at the result of its write is blamed."""
    can_inject(tmp_path)
    report = tmp_path / "report"
    done = subprocess.run([HOST / "faults/inject", "--report", report, "--preload", HOST / "faults/inject.so",
                           "--call", "write", "--at", "1", "--", "sh", "-c", "echo x > f; echo y"], cwd=tmp_path,
                          capture_output=True, text=True)
    assert (tmp_path / "f").read_text() == "" and done.stdout == "y\n"
    assert "failed 1 write " + str(tmp_path / "f") in report.read_text()


def left(marker):
    """Processes that have the marker in their command line, when all have had time to end."""
    for _ in range(100):
        pids = [p for p in os.listdir("/proc") if p.isdigit() and marker in command_line(p)]
        if not pids:
            break
        time.sleep(0.05)
    return pids


def command_line(pid):
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace")
    except OSError:
        return ""


@pytest.mark.parametrize("end", ["driver", "injector", "killed"])
def test_nothing_is_left(tmp_path, end):
    """A program whose injector or whose driver has gone would wait for answers, or never get its calls done."""
    can_inject(tmp_path)
    marker = f"sleep 98{os.getpid()}"
    # a program of the program, and one that has left its session; when the injector is killed, the program alone
    script = f"exec {marker}" if end == "killed" else f"{marker} & setsid {marker} & touch ready; wait"
    driver = [sys.executable, "-c", "import subprocess, sys; subprocess.run(sys.argv[1:])"] if end == "driver" else []
    child = subprocess.Popen([*driver, *injected(tmp_path, "sh", "-c", "touch ready; " + script)], cwd=tmp_path,
                             start_new_session=True)
    marker = marker.replace(" ", "\0")
    while not (tmp_path / "ready").exists() or not any(marker in command_line(p) for p in os.listdir("/proc")
                                                       if p.isdigit()):
        time.sleep(0.02)
    child.send_signal(signal.SIGTERM if end == "injector" else signal.SIGKILL)
    child.wait()
    assert left(marker) == []


@pytest.mark.skipif(not (ROOT / "build/n4-tap/tandem").exists(), reason="not run: make CFG=n4 KIND=tap")
def test_waveform_without_reads(tmp_path):
    """The FST writer reads /proc/meminfo to its end, which it never reached."""
    can_inject(tmp_path)
    chaos("--only", "wave", "--fault", "read:2:on")


def test_half_a_write(tmp_path):
    can_inject(tmp_path)
    subprocess.run([HOST / "faults/inject", "--report", tmp_path / "report", "--preload", HOST / "faults/inject.so",
                    "--call", "write", "--at", "1", "--as", "half", "--", "dd", "if=/dev/zero", "of=f", "bs=100",
                    "count=1", "iflag=fullblock"], cwd=tmp_path, capture_output=True, check=False)
    assert (tmp_path / "f").stat().st_size in (50, 100)


def test_kill(tmp_path):
    said = chaos("--scenario", "kill", "--moments", MOMENTS)
    assert "0 wrong" in said.splitlines()[-1]


def test_report_in_part(tmp_path):
    """A failed write in the middle of a long text is the machine's fault, too, though the verdict stands."""
    can_inject(tmp_path)
    program = HOST.parent / "n4-tap/tandem"
    if not program.exists():
        pytest.skip(f"not run: {program} is not built")
    seen = 0
    for k in range(70, 200):
        done = subprocess.run([HOST / "faults/inject", "--report", tmp_path / "report", "--preload",
                               HOST / "faults/inject.so", "--call", "write", "--at", str(k), "--", program, "run",
                               "eltwise", "c=1", "w=8", "h=1", "--break", "m0.R:1:flip", "--result", "result",
                               "--case-dir", "cases", "--report", f"r{k}"], cwd=tmp_path, capture_output=True,
                              text=True)
        said = (tmp_path / "report").read_text()
        if "/report.txt" in said:
            seen += 1
            assert done.returncode == 3 and "FAIL test=eltwise" in done.stdout, (k, done.stdout, done.stderr)
        elif seen > 0 or "failed " not in said:
            break
    assert seen > 0


def test_designs_not_listed(tmp_path):
    """Without the list of designs, a configuration of the suite was called unknown: an error of the user."""
    can_inject(tmp_path)
    chaos("--only", "regress", "--fault", "list:1:on")


@pytest.mark.parametrize("run, fault", [
    ("explain", "write:1:once"),  # the pipe to the snapshot that repeats the failure: status 1, a part of the report
    ("explain", "read:3:once"),  # its answer
    ("wave", "open:5:once"),  # of the FST writer, which left an empty file
    ("wave", "write:96:once"),  # its fprintf(): it mapped more than the file has, and died of SIGBUS
    ("wave", "alloc:144263:once"),  # while the device is opened: the waveform had no cycle, and stayed
    ("explain", "alloc:9528:on"),  # the name of the simulator, a std::string
    ("explain", "stat:239:once"),  # of the tensor log, which the report then called absent
])
def test_found(tmp_path, run, fault):
    """By campaigns; numbers of calls move when the programs change."""
    can_inject(tmp_path)
    chaos("--only", run, "--fault", fault)


@pytest.mark.skipif(SECONDS == "15", reason="not run: make check does; SQLite tries for ten seconds each time")
def test_lock_not_given_back(tmp_path):
    """After a refused unlock SQLite tries each statement for ten seconds: the first of them is the last."""
    can_inject(tmp_path)
    chaos("--only", "regress", "--calls", "lock", "--seconds", "120")
