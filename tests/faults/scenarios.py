"""Surroundings in which whole runs are tried: chaos.py --scenario NAME.

Each is a list of checks; a check that cannot be made on this machine says why and does not count.
"""

import os
import random
import shutil
import signal
import subprocess
import time

import runs

# jobs of the real programs, a second or two in all
REAL = "test conv cfg=n4 count=6 cases=1\ntest eltwise cfg=n4 count=3 cases=2\nunit mesh cfg=n4 count=3\n"
REAL_COLUMNS = "idx, what, test, seed, first_index, outcome, cycles, trace_hash"


class Log:
    def __init__(self):
        self.good, self.bad, self.not_run = 0, [], []

    def check(self, good, text):
        if good:
            self.good += 1
        else:
            self.bad.append(text)
            print("  WRONG: " + text, flush=True)

    def skip(self, text):
        self.not_run.append(text)
        print("  not run: " + text, flush=True)


class Tree:
    """A folder with designs and programs, in which the runner runs a suite."""

    def __init__(self, folder, real):
        self.folder, self.real = folder, real
        folder.mkdir(parents=True)
        if real:
            (folder / "build").mkdir()
            (folder / "build/n4-fast").symlink_to(runs.BUILD / "n4-fast")
            (folder / "designs").symlink_to(runs.ROOT / "designs")
            (folder / "testcases").symlink_to(runs.ROOT / "testcases")
            (folder / "t.suite").write_text(REAL)
            self.env = dict(os.environ, CC="true")
        else:
            shutil.rmtree(folder)
            folder.mkdir()
            runs.make_bench(folder)
            self.env = runs.regress_env(folder)

    def start(self, *args, prefix=()):
        return subprocess.Popen([*prefix, runs.HOST / "tandem-regress", "run", "--jobs", "2", *args], cwd=self.folder,
                                env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True, errors="replace", start_new_session=True)

    def run(self, *args, prefix=()):
        child = self.start(*args, prefix=prefix)
        child.out, child.err = child.communicate(timeout=180)
        return child

    def rows(self, where="1"):
        return runs.rows(self.folder, where) or []

    def undisturbed(self):
        return all(row[7] not in (None, "host") for row in self.rows())


def table(rows):
    """What must not depend on the surroundings: all but the times."""
    return [row[:8] + row[9:] for row in rows]


def reference(base, real):
    """The table of an undisturbed run, and its seconds."""
    tree = Tree(base / ("reference-real" if real else "reference"), real)
    start = time.monotonic()
    tree.run("--suite", "t.suite")
    return table(tree.rows()), time.monotonic() - start


def ends_like(log, tree, wanted, what):
    """The run is resumed, if need be, and has the undisturbed table."""
    for _ in range(5):
        if tree.rows() and tree.undisturbed():
            break
        done = tree.run("--resume") if tree.rows() else tree.run("--suite", "t.suite")
    got = table(tree.rows())
    log.check(got == wanted, f"{what}: the final table differs: " +
              (next((f"{g} for {w}" for g, w in zip(got, wanted) if g != w), f"{len(got)} rows for {len(wanted)}")))


# ---- kill -9 ----


def finished(tree):
    return {row[0]: row for row in tree.rows("outcome IS NOT NULL AND outcome != 'host'")}


def kill(args, base, log):
    """The runner, killed at random moments of runs that are resumed."""
    rng = random.Random(args.seed)
    kinds = (False, True) if (runs.BUILD / "n4-fast/tandem").exists() else (False,)
    wanted = {real: reference(base, real) for real in kinds}
    number, moments, hit = 0, args.moments, 0
    while moments > 0:
        real = kinds[number % len(kinds)]
        tree = Tree(base / f"kill-{number}", real)
        known, number = {}, number + 1
        for _ in range(10):
            child = tree.start("--resume") if tree.rows() else tree.start("--suite", "t.suite")
            time.sleep(rng.uniform(0, wanted[real][1]))
            killed = child.poll() is None
            if killed:
                child.send_signal(signal.SIGKILL)
            child.communicate()
            moments -= 1
            hit += killed
            now = finished(tree)
            lost = [known[i] for i in known if now.get(i) != known[i]]
            log.check(not lost, f"kill -9: a finished job has changed: {lost}")
            known = now
            if not killed or moments <= 0:
                break
        ends_like(log, tree, wanted[real][0], "kill -9")
        left_alone(log, tree)
        shutil.rmtree(tree.folder)
    print(f"  {args.moments} moments, {hit} of them during the run, {number} runs")


def left_alone(log, tree):
    """No process of the run is left."""
    end = time.monotonic() + 5
    while True:
        left = [p for p in os.listdir("/proc") if p.isdigit() and cwd(p).startswith(str(tree.folder))]
        if not left or time.monotonic() > end:
            break
        time.sleep(0.05)
    log.check(not left, f"processes are left in {tree.folder}: {left}")


def cwd(pid):
    try:
        return os.readlink(f"/proc/{pid}/cwd")
    except OSError:
        return ""


def kill_programs(args, base, log):
    """Any program, killed: files are whole, absent or the former ones; only temporary ones are left."""
    from chaos import Bench
    rng = random.Random(args.seed)
    benches = [Bench(run, base) for run in runs.RUNS
               if not run.missing() and not run.later and run.name not in ("wave", "regress", "regress-gc")]
    for i in range(args.moments):
        bench = benches[i % len(benches)]
        seconds = f"{rng.uniform(0.0005, bench.wanted.seconds * 0.8):.4f}"
        done = bench.execute([], prefix=["timeout", "-s", "KILL", seconds])
        for name, data in done.files.items():
            whole = data in (bench.wanted.files.get(name), bench.start.get(name)) or ".tmp" in name
            whole = whole or bool(bench.run.failed and bench.run.failed.match(name))
            log.check(whole, f"{bench.run.name} killed after {seconds} s: {name} has {len(data)} bytes")


# ---- surroundings for all programs ----


def everywhere(log, base, what, prefix, prepare=None, only=None):
    """Every run of the table gives its undisturbed results under this prefix."""
    from chaos import Bench
    number = 0
    for run in runs.RUNS:
        if run.missing() or run.later or only and run.name not in only:
            continue
        bench = Bench(run, base)
        done = bench.execute([], prefix=prefix, prepare=prepare)
        differ = [n for n in bench.wanted.files if done.files.get(n) != bench.wanted.files[n]]
        log.check(done.status == run.status and done.out == bench.wanted.out and not differ,
                  f"{what}: {run.name}: exit status {done.status}, {differ or 'output'}: "
                  f"{done.err.decode(errors='replace').strip()[:200]}")
        number += 1
    print(f"  {number} runs of all programs")


def real_run(log, base, what, prefix=(), name="tree", **more):
    tree = Tree(base / name, True)
    for key, value in more.items():
        setattr(tree, key, value)
    wanted, _ = reference(base, True)
    done = tree.run("--suite", "t.suite", prefix=prefix)
    log.check(done.returncode == 0, f"{what}: tandem-regress: exit status {done.returncode}: {done.err.strip()[:300]}")
    log.check(table(tree.rows()) == wanted, f"{what}: another table than usual")
    return tree


def clock(_args, base, log):
    """The clock of the day jumps by a day, back and forth, at every fourth reading."""
    import chaos
    report = str(base / "clock.report")
    prefix = [str(chaos.INJECT), "--preload", str(chaos.PRELOAD), "--report", report, "--clock", "86400", "--"]
    everywhere(log, base, "clock", prefix)
    tree = real_run(log, base, "clock", prefix)
    left_alone(log, tree)


def umask(_args, base, log):
    """Files that only their owner may read."""
    prefix = ["sh", "-c", 'umask 077; exec "$@"', "sh"]
    everywhere(log, base, "umask 077", prefix)
    real_run(log, base, "umask 077", prefix)


def small(_args, base, log):
    """One processor and 2 GB of address space for each process."""
    prefix = ["taskset", "-c", "0", "sh", "-c", 'ulimit -v 2097152; exec "$@"', "sh"]
    everywhere(log, base, "one core, 2 GB", prefix)
    real_run(log, base, "one core, 2 GB", prefix)


def blanks(args, base, log):
    """A path with blanks and letters beyond ASCII: the programs, a run, and what make says."""
    odd = base / "Über den Wolken (a 'b')"
    odd.mkdir()
    everywhere(log, odd, "path with blanks", ["env"])
    real_run(log, odd, "path with blanks")
    clone = odd / "clone"
    done = subprocess.run(["git", "clone", "-q", "--shared", runs.ROOT, clone], capture_output=True, text=True)
    if done.returncode != 0:
        log.skip(f"a clone: {done.stderr.strip()}")
        return
    done = subprocess.run(["make", "-s", "build/host/tandem-cov"], cwd=clone, capture_output=True, text=True)
    works = (clone / "build/host/tandem-cov").exists()
    log.check(works, f"make in a path with blanks: exit status {done.returncode}: {done.stderr.strip()[:300]}")


def user(_args, base, log):
    """Without root: as nobody, in a folder of its own."""
    if os.getuid() != 0:
        log.skip("user: this already is one without root")
        return
    open_up(base)
    reach = subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", runs.HOST / "tandem-cov",
                            "--help"], capture_output=True)
    if reach.returncode != 0:
        log.skip(f"user: nobody cannot read {runs.HOST}")
        return
    prefix = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    everywhere(log, base, "nobody", prefix, prepare=give)
    tree = Tree(base / "tree", True)
    give(tree.folder)
    done = tree.run("--suite", "t.suite", prefix=prefix)
    log.check(done.returncode == 0, f"nobody: tandem-regress: exit status {done.returncode}: {done.err.strip()[:300]}")


def open_up(base):
    for folder in (base, base.parent):
        os.chmod(folder, 0o755)


def give(folder):
    """To nobody."""
    for path in [folder, *folder.rglob("*")]:
        os.chown(path, 65534, 65534, follow_symlinks=False)


def read_only(_args, base, log):
    """A tree that cannot be written, as nobody: each program says so, none passes without its output."""
    from chaos import Bench
    if os.getuid() != 0:
        log.skip("read-only: needs root, to become another user")
        return
    open_up(base)
    prefix = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    number = 0
    for run in runs.RUNS:
        if run.missing() or run.later:
            continue
        bench = Bench(run, base)
        writes = bool(bench.wanted.files.keys() - bench.start.keys()) or run.name in ("regress", "regress-report",
                                                                                     "regress-gc")
        done = bench.execute([], prefix=prefix)
        text = done.err.decode(errors="replace").strip()
        if writes:
            log.check(done.status in (1, 2, 3) and text != "" and not done.signal,
                      f"read-only: {run.name}: exit status {done.status}: {text[:200]}")
        else:
            log.check(done.status == run.status or text != "", f"read-only: {run.name}: exit status {done.status}")
        for kind, finding in bench.judge(done, "", "once"):
            if kind in ("crash", "half-written file", "lost result"):
                log.check(False, f"read-only: {run.name}: {kind}: {finding}")
        number += 1
    print(f"  {number} runs of all programs")


def full(args, base, log):
    """A disk of a few hundred kilobytes that fills in the middle of a run; then it gets space and the run goes on."""
    wanted, _ = reference(base, False)
    disk = base / "disk"
    disk.mkdir()
    rng = random.Random(args.seed)
    for i in range(12):
        mount = ["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", disk]
        if subprocess.run(mount, capture_output=True).returncode != 0:
            log.skip("full: no right to mount a tmpfs (faults of the mode `disk` stand for it)")
            return
        try:
            full_once(log, disk, wanted, rng.randrange(4, 240))
        finally:
            subprocess.run(["umount", "-l", disk], check=False)
    print("  12 disks with 4 to 240 KB left")


def full_once(log, disk, wanted, size):
    tree = Tree(disk / "tree", False)
    space = os.statvfs(disk)
    used = (space.f_blocks - space.f_bfree) * space.f_frsize // 1024
    subprocess.run(["mount", "-o", f"remount,size={used + size}k", disk], check=True)
    done = tree.run("--suite", "t.suite")
    log.check(done.returncode in (1, 3), f"disk with {size} KB left: exit status {done.returncode}")
    subprocess.run(["mount", "-o", "remount,size=64m", disk], check=True)
    try:
        for row in tree.rows():
            right = row[7] in (None, "host", runs.WANTED[row[1:3]])
            log.check(right, f"disk with {size} KB left: {row[1]} {row[2]} is {row[7]} ({row[8]})")
    except Exception as error:  # a database that cannot be read is what is looked for
        log.check(False, f"disk with {size} KB left: {error}")
    ends_like(log, tree, wanted, f"disk with {size} KB left, then enough")


SCENARIOS = {"kill": kill, "kill-programs": kill_programs, "clock": clock, "full": full, "read-only": read_only,
             "blanks": blanks, "user": user, "umask": umask, "small": small}
NAMES = list(SCENARIOS)


def run(args, base):
    names = NAMES if args.scenario == "all" else args.scenario.split(",")
    good, bad = 0, 0
    for name in names:
        if name not in SCENARIOS:
            print(f"chaos: scenario {name} is unknown: {', '.join(NAMES)}, all")
            return 2
        log = Log()
        print(f"{name}: {(SCENARIOS[name].__doc__ or name).strip().splitlines()[0]}", flush=True)
        folder = base / name
        folder.mkdir()
        SCENARIOS[name](args, folder, log)
        print(f"  {log.good} checks, {len(log.bad)} wrong" + (", not run: " + log.not_run[0] if log.not_run else ""),
              flush=True)
        good, bad = good + log.good, bad + len(log.bad)
    print(f"chaos: {len(names)} scenarios, {good} checks, {bad} wrong")
    return 1 if bad else 0
