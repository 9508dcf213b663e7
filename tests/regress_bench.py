"""What the tests of the regression runner share: fake job programs, and a folder that has them."""

import os
import shutil
import sqlite3
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = Path(os.environ.get("TANDEM_REGRESS", ROOT / "build/host/tandem-regress")).resolve()

# Every fake program finds its arguments in shell variables.
PROLOGUE = r"""#!/bin/bash
index=0 count=1 result= cases= seed=
while [ $# -gt 0 ]; do
  case $1 in
    --index) index=$2; shift;;
    --count) count=$2; shift;;
    --result) result=$2; shift;;
    --case-dir) cases=$2; shift;;
    --run-seed) seed=$2; shift;;
  esac
  shift
done
report() { printf '%b' "$1" > "$result.tmp" && mv "$result.tmp" "$result"; }
"""

UNITS = {
    "pass": r"report 'outcome=pass\nsignature=\nmessage=\ncycles='$((100 + index))"
            r"'\ntrace_hash=0x00000000000000'$index'\ncase=\n'",
    "fail": r"""report 'outcome=fail\nsignature=mesh data\nmessage=mesh: column 5: got -312, """
            r"""expected <-310> & "more"\ncycles=7\ncase='"$cases"'/1.case\n'; exit 1""",
    "repro": r"report 'outcome=fail\nmessage=bad\nrepro=make unit UNIT=mesh SEED=0x12 CFG=n4"
             r"\nnew_key=kept for later\n'; exit 1",
    "error": r"report 'outcome=error\nsignature=setup\nmessage=no such shape\n'; exit 2",
    "crash": r"echo about to crash; kill -SEGV $$; sleep 5",
    "hang": r"echo waiting; sleep 1000",
    "stubborn": r"trap '' TERM; echo stubborn; while :; do sleep 0.1; done",
    "silent": r"echo no file written; exit 0",
    "partial": r"printf 'outcome=pass\ncycles=1' > $result; exit 0",
    "empty": r": > $result; exit 0",
    "odd": r"report 'outcome=splendid\n'",
    "fifo": r"mkfifo $result; exit 0",
    "huge": r"truncate -s 900M $result; exit 0",
    "liar": r"report 'outcome=pass\n'; exit 1",
    "denier": r"report 'outcome=fail\nmessage=mm\n'; exit 0",
    "binary": r"""report 'outcome=fail\nmessage=\x01\xff\xc3\xa9 ]]> <&>\n'; exit 1""",
    "children": r"(trap '' TERM HUP; sleep 1000) & report 'outcome=pass\n'",
    "family": r"(trap '' TERM HUP; sleep 1000) & echo $! > $cases/grandchild; echo $$ > $cases/leader; sleep 1000",
    "random": r"report 'outcome=pass\ncycles=5\ntrace_hash=0x'$(od -An -N8 -tx8 /dev/urandom | tr -d ' ')'\n'",
    "wobbly": r"case $result in *again*) report 'outcome=fail\nmessage=only the second time\n'; exit 1;; esac; "
              r"report 'outcome=pass\ntrace_hash=0x1\n'",
    "nohash": r"report 'outcome=pass\ncycles=5\n'",
    "portable": r"report 'outcome=pass\nportable=1\ntrace_hash=0x'$index'\n'",
    "by_cfg": r"case $0 in *n4-*) hash=4;; *) hash=8;; esac; "
              r"report 'outcome=pass\nportable=1\ntrace_hash=0x'$hash'\n'",
    "killed": r"kill -KILL $$; sleep 5",
    "stdin": r"read -r line && exit 3; report 'outcome=pass\n'",
    "slow": r"sleep 0.3; report 'outcome=pass\ntrace_hash=0x1\n'",
    "greedy": r"/usr/bin/python3 -c 'x = bytearray(150 << 20)' && report 'outcome=pass\n'",
}


def write_program(path, body):
    path.write_text(PROLOGUE + body + "\n")
    path.chmod(0o755)


def write_programs(folder):
    """Every fake program, once for all benches."""
    for name, body in UNITS.items():
        write_program(folder / f"unit-{name}", body)
    (folder / "bin").mkdir()
    for name in ("verilator", "cc"):
        write_program(folder / "bin" / name, f"echo {name} 1.0")
    write_program(folder / "tandem", UNITS["pass"])
    write_program(folder / "tandem-net", UNITS["pass"])


class Bench:
    """A folder with fake programs and a results database."""

    def __init__(self, path, programs):
        self.path = path
        self.build = path / "build"
        self.db = self.build / "results.db"
        self.build.mkdir()
        (path / "designs/npu").mkdir(parents=True)
        (path / "designs/npu/design").write_text(
            "default\ncfg n4\ncfg n8\ncfg n16\ncfg n32\nmetric mesh every multiplier at work\n")
        # The real ones take longer to say their version than most tests.
        self.env = dict(os.environ, PATH=f"{programs}/bin:{os.environ['PATH']}", CC="cc")
        for cfg in ("n4", "n8"):
            for kind in ("fast", "san"):
                (self.build / f"{cfg}-{kind}").symlink_to(programs)

    @staticmethod
    def program(path, body):
        """A program of this bench alone: its build folder becomes its own."""
        folder = path.parent
        if folder.is_symlink():
            shared = folder.resolve()
            folder.unlink()
            shutil.copytree(shared, folder)
        write_program(path, body)

    def suite(self, text, name="t.suite"):
        path = self.path / name
        path.write_text(text)
        return str(path)

    def call(self, *args, **kwargs):
        return subprocess.run([PROGRAM, *args], cwd=self.path, env=self.env,
                              capture_output=True, text=True, errors="replace", timeout=60, **kwargs)

    def run(self, text, *args, **kwargs):
        return self.call("run", "--suite", self.suite(text), *args, **kwargs)

    def many(self, count, **values):
        """The newest run has `count` jobs: copies of its first one, with other indices."""
        with sqlite3.connect(self.db) as db:
            columns = [row[1] for row in db.execute("PRAGMA table_info(job)")]
            values = dict({"id": "NULL", "idx": "n", "first_index": "n"}, **values)
            picked = ",".join(values.get(c, c) for c in columns)
            db.execute(f"WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n+1 FROM c WHERE n<{count - 1}) INSERT INTO "
                       f"job SELECT {picked} FROM job, c WHERE run=(SELECT max(id) FROM run) AND idx=0")

    def jobs(self, columns="test,outcome"):
        with sqlite3.connect(self.db) as db:
            return db.execute(f"SELECT {columns} FROM job WHERE run=(SELECT max(id) FROM run) ORDER BY idx").fetchall()


@pytest.fixture(scope="session")
def programs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("programs")
    write_programs(folder)
    return folder


@pytest.fixture
def bench(tmp_path, programs):
    if not os.access("/dev/shm", os.W_OK):
        yield Bench(tmp_path, programs)
        return
    # a busy disk takes its time over every commit of the database
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        yield Bench(Path(folder), programs)


def last_line(done):
    return done.stdout.strip().splitlines()[-1]


def alive(pid):
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def gone(pids, seconds=5):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if not any(alive(pid) for pid in pids):
            return True
        time.sleep(0.02)
    return False


def leftovers(bench, seconds=5):
    """Processes that still work in the bench's folder (other runs of these tests have their own)."""
    end = time.monotonic() + seconds
    while True:
        found = []
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                if os.readlink(entry / "cwd") == str(bench.path) and alive(entry.name):
                    found.append((entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"))
            except OSError:
                continue  # gone in the meantime, or not ours
        if not found or time.monotonic() > end:
            return found
        time.sleep(0.05)


def popen(bench, *args):
    return subprocess.Popen([PROGRAM, *args], cwd=bench.path, env=bench.env,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def start(bench, text, *args):
    return popen(bench, "run", "--suite", bench.suite(text), "--out", "out", *args)


def wait_until(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.01)


def family(bench, count):
    end = time.monotonic() + 10
    while time.monotonic() < end:
        files = [path for path in (bench.path / "out").glob("*/cases/*") if path.read_text().strip()]
        if len(files) == count:
            return [int(path.read_text()) for path in files]
        time.sleep(0.02)
    raise AssertionError("jobs did not start")


DAMAGES = ["cut", "zeros", "garbage", "flips", "foreign", "missing", "empty"]


def damage(path, how, rng):
    """One of DAMAGES to a database, in a page of it; the kind."""
    data = bytearray(path.read_bytes())
    page = rng.randrange(len(data) // 4096) * 4096
    if how == "missing":
        path.unlink()
        return how
    if how == "cut":
        data = data[:rng.randrange(1, len(data) - 4096)]
    elif how == "zeros":
        data[page:page + 4096] = bytes(4096)
    elif how == "garbage":
        data[page:page + 4096] = rng.randbytes(4096)
    elif how == "flips":
        for _ in range(20):
            data[page + rng.randrange(4096)] ^= 1 << rng.randrange(8)
    else:
        data = bytearray(b"not a database\n" * 500 if how == "foreign" else b"")
    path.write_bytes(data)
    return how
