"""SIGINT and SIGTERM: the waveform can be read, the exit status is a failure, and no process and no descriptor is
left."""
import os
import re
import signal
import subprocess
import time

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TANDEM = os.path.join(ROOT, "build", "n4-tap", "tandem")
BENCH = os.path.join(ROOT, "build", "n4-tap", "unit-fp_add")
LONG = ["run", "conv", "ic=64", "oc=64", "iw=64", "ih=64", "k=3", "s=1"]
needs_tandem = pytest.mark.skipif(not os.path.exists(TANDEM),
                                  reason="not run: make CFG=n4 KIND=tap build/n4-tap/tandem")


def cycles(path, scope="npu_top.npu_top"):
    """Cycles of a waveform; the picture takes its values."""
    done = subprocess.run([TANDEM, "wave", str(path)], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=120, check=False)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    first, last = re.search(r"cycles (\d+) to (\d+)", done.stdout).groups()
    drawn = subprocess.run([TANDEM, "wave", str(path), "--signals", scope,
                            "--svg", f"{path}.svg", "--from", first, "--to", last],
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120, check=False)
    assert drawn.returncode == 0 and drawn.stderr == "", drawn.stderr
    return int(last) - int(first)


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as f:
        return [int(c) for c in f.read().split()]


def descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def begin(args, cwd):
    return subprocess.Popen(args + ["--case-dir", str(cwd)], stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, cwd=cwd, start_new_session=True,
                            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))


def wait_for(condition, seconds=20):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def worked(pid, seconds):
    """The process has had so much processor time: it has started and is at work, however busy the machine is."""
    with open(f"/proc/{pid}/stat", encoding="ascii") as f:
        ticks = f.read().rsplit(")", 1)[1].split()[11:13]
    return sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK") >= seconds


def gone(pids):
    for pid in pids:
        wait_for(lambda: not os.path.exists(f"/proc/{pid}") or
                 open(f"/proc/{pid}/stat", encoding="ascii").read().split()[2] == "Z", 10)


@needs_tandem
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_whole_waveform(number, tmp_path):
    job = begin([TANDEM] + LONG + ["--wave", "w.fst"], tmp_path)
    wait_for(lambda: (tmp_path / "w.fst").exists() and (tmp_path / "w.fst").stat().st_size > 0)
    wait_for(lambda: worked(job.pid, 0.4))
    job.send_signal(number)
    out, _ = job.communicate(timeout=30)
    assert job.returncode == 1 and f"stopped by signal {number.value}" in out
    assert cycles(tmp_path / "w.fst") > 100


@needs_tandem
@pytest.mark.parametrize("group", [False, True])
def test_waveform_from_a_snapshot(group, tmp_path):
    """Stopped in the middle of a run; with `group` as Ctrl-C does it, snapshots included."""
    job = begin([TANDEM] + LONG + ["--fail-wave", "f.fst"], tmp_path)
    wait_for(lambda: children(job.pid))
    pids = children(job.pid)
    wait_for(lambda: worked(job.pid, 0.3))
    if group:
        os.killpg(job.pid, signal.SIGINT)
    else:
        job.send_signal(signal.SIGINT)
    out, err = job.communicate(timeout=60)
    assert job.returncode == 1 and "stopped by signal 2" in out and err == ""
    assert cycles(tmp_path / "f.fst") > 100
    gone(pids)


@needs_tandem
def test_killed_parent_leaves_nobody(tmp_path):
    job = begin([TANDEM] + LONG + ["--fail-wave", "f.fst"], tmp_path)
    wait_for(lambda: children(job.pid))
    pids = children(job.pid)
    job.kill()
    job.communicate(timeout=30)
    gone(pids)


@needs_tandem
def test_no_descriptor_leaks(tmp_path):
    """A thousand devices, opened and closed one after the other, each with its snapshots."""
    job = begin([TANDEM, "test", "copy", "--run-seed", "1", "--count", "100000", "--fail-wave", "f.fst"], tmp_path)
    most = []
    for _ in range(60):
        time.sleep(0.05)
        assert job.poll() is None
        most.append((descriptors(job.pid), len(children(job.pid))))
    job.send_signal(signal.SIGTERM)
    job.communicate(timeout=60)
    early = max(d for d, _ in most[:20])
    late = max(d for d, _ in most[40:])
    assert late <= max(early, 3 + 2 * 2 + 2) and max(c for _, c in most) <= 3


@pytest.mark.skipif(not os.path.exists(BENCH), reason="not run: make CFG=n4 KIND=tap build/n4-tap/unit-fp_add")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_unit_bench(number, tmp_path):
    source = subprocess.Popen(["yes", "3f800000 3f800000 40000000 00"], stdout=subprocess.PIPE)
    try:
        job = subprocess.Popen([BENCH, "--vectors", "-", "--wave", "w.fst"],
                               stdin=source.stdout, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               cwd=tmp_path, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
        source.stdout.close()
        wait_for(lambda: (tmp_path / "w.fst").exists())
        wait_for(lambda: worked(job.pid, 0.3))
        job.send_signal(number)
        job.communicate(timeout=30)
    finally:
        source.kill()
        source.wait()
    assert job.returncode == 1
    assert cycles(tmp_path / "w.fst", "fp_add") > 100
