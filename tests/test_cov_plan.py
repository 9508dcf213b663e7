"""tandem-cov plan (hints of holes become lines of a suite), rank as a suite that runs, and coverage closure on the
golden model."""

import json
import os
import pathlib
import re
import shutil
import subprocess

import pytest

from test_cov_tool import call, checksum, varint, write

ROOT = pathlib.Path(__file__).resolve().parent.parent
HOST = pathlib.Path(os.environ.get("HOST", "build/host"))
REGRESS = os.environ.get("TANDEM_REGRESS", str(HOST / "tandem-regress"))
MODEL = HOST / "tandem-model"
COV = HOST / "tandem-cov"


# ---- files that are written here ----


def shape(*groups):
    """Groups (name, weight, points, crosses); a point is (name, bins), a bin (name, values, hint); a cross (name,
    points)."""
    lines = []
    for rank, (name, weight, points, crosses) in enumerate(groups):
        lines += [f"G {rank} {weight} {name}", "a a group"]
        for p, (point, bins) in enumerate(points):
            lines += [f"P {p} 1 0 {point}", "b a bug that hides"]
            for b, (text, values, hint) in enumerate(bins):
                lines += [f"B {b} 1 0 cv {text}", f"v {values}"] + ([f"h {hint}"] if hint else [])
        names = [point for point, _ in points]
        for c, (cross, of) in enumerate(crosses):
            cells = 1
            for point in of:
                cells *= len(dict(points)[point])
            lines += [f"C {c} 1 1 0 {','.join(str(names.index(point)) for point in of)} {cross}",
                      "b a bug that hides", f"L 0*{cells}"]
    return "\n".join(lines) + "\n"


def store(path, text, hits, samples):
    """hits by counter; one group."""
    counts = [0] * (max(hits) + 1 if hits else 0)
    for at, value in hits.items():
        counts[at] = value
    return write(path, counts, samples=samples, text=text)


def enum(test, knob, names):
    return [(name, str(i), f"{test}:{knob}={name}") for i, name in enumerate(names)]


def plan(path, *args, status=0):
    return call("plan", path, "--cfg", "n4", *args, status=status).splitlines()


def pins(line):
    return dict(pin.split("=") for pin in line.split(" -- ")[1].split()) if " -- " in line else {}


# points a (4 bins: counters 0..3), b (4 bins: 4..7), their cross (8..23)
AB = shape(("g", 1, [("a", enum("t", "a", "wxyz")), ("b", enum("t", "b", "klmn"))], [("ab", ["a", "b"])]))


def test_form(tmp_path):
    """A line is one that the runner takes; indices of rounds do not overlap."""
    path = store(tmp_path / "f", AB, {}, 100)
    lines = plan(path, "--jobs", 4, "--cases", 3, "--round", 2, "--kind", "tap", "--random", 0)
    assert [re.match(r"test t cfg=n4 kind=tap cases=3 index=(\d+) -- ", line).group(1)
            for line in lines] == ["24", "27", "30", "33"]
    (tmp_path / "next.suite").write_text("\n".join(lines) + "\n")
    done = subprocess.run([REGRESS, "list", tmp_path / "next.suite"], capture_output=True, text=True)
    assert done.returncode == 0 and "n4-tap/tandem test t --run-seed 0x1 --index 24 --count 3 " in done.stdout


def test_holes(tmp_path):
    """What is missing is pinned, cells by both of their bins; what is covered is not."""
    hits = {at: 10 for at in range(24)}
    del hits[8 + 4 * 1 + 2]  # (x, m)
    (line,) = plan(store(tmp_path / "f", AB, hits, 100), "--jobs", 1, "--random", 0)
    assert pins(line) == {"a": "x", "b": "m"}
    hits = {at: 10 for at in range(24)}
    assert plan(store(tmp_path / "f", AB, hits, 100), "--jobs", 3) == []


def test_spread(tmp_path):
    """A job of each hole before a second one of any; a few cells of a row: the other knob may stay random."""
    lines = plan(store(tmp_path / "f", AB, {}, 100), "--jobs", 8, "--cases", 1, "--random", 0)
    assert ({pins(line).get("a") for line in lines} >= set("wxyz") and
            {pins(line).get("b") for line in lines} >= set("klmn"))


def test_several(tmp_path):
    """Holes of several coverpoints share a job, unless their pins contradict each other."""
    text = shape(("g", 1, [("a", [("3", "3", "t:k=0 a=3")]), ("b", [("4", "4", "t:k=0 b=4")]),
                            ("c", [("5", "5", "t:k=1 c=5")])], []))
    first, second = plan(store(tmp_path / "f", text, {}, 100), "--jobs", 2, "--random", 0)
    assert {frozenset(pins(first).items()), frozenset(pins(second).items())} == {
        frozenset({"k": "0", "a": "3", "b": "4"}.items()),
        frozenset({"k": "1", "c": "5"}.items()),
    }


def test_needs(tmp_path):
    """A cell whose hints need different things of a knob that another of its bins is about: that bin's own pin wins."""
    kinds = [("hang", "0", "t:kind=hang"), ("slow", "1", "t:kind=slow")]
    text = shape(("g", 1, [("wire", [("aw", "0", "t:kind=hang wire=aw")]), ("kind", kinds)],
                  [("both", ["wire", "kind"])]))
    (line,) = plan(store(tmp_path / "f", text, {0: 9, 1: 9, 2: 9, 3: 9}, 20), "--jobs", 1, "--random", 0)
    assert pins(line) == {"kind": "slow", "wire": "aw"}


def test_values(tmp_path):
    """A range: other values in other rounds, all of the bin, not far from its lowest; an open end is where it
    begins."""
    text = shape(("g", 1, [("size", [("16..255", "16..255", "t:size=16")]), ("more", [("9..", "9..", "t:more=9")])],
                  []))
    path = store(tmp_path / "f", text, {}, 100)
    seen = {int(pins(plan(path, "--jobs", 1, "--random", 0, "--round", r)[0])["size"]) for r in range(30)}
    assert len(seen) > 5 and min(seen) >= 16 and max(seen) <= 32
    assert {pins(plan(path, "--jobs", 1, "--random", 0, "--round", r)[0])["more"] for r in range(10)} == {"9"}


def test_large(tmp_path):
    """Not two large sizes at a time; with one, a single case."""
    sizes = [("4096", "4096", "t:%s=4096")]
    text = shape(("g", 1, [(p, [(n, v, h % p) for n, v, h in sizes]) for p in ("w", "h")], []))
    lines = plan(store(tmp_path / "f", text, {}, 100), "--jobs", 2, "--random", 0)
    assert [len(pins(line)) for line in lines] == [1, 1] and all(" cases=1 " in line for line in lines)


def test_alternatives(tmp_path):
    """A hint may name several tests, each with its pins; words that are no pins are for people."""
    text = shape(("g", 1, [("a", [("1", "1", "t:a=1 u:b=2 c=3")]), ("z", [("0", "0", "call somebody")])], []))
    for r in range(5):
        (line,) = plan(store(tmp_path / "f", text, {}, 100), "--jobs", 1, "--random", 0, "--round", r)
        assert (line.split()[1], pins(line)) in [("t", {"a": "1"}), ("u", {"b": "2", "c": "3"})]
    text = shape(("g", 1, [("z", [("0", "0", "call somebody")])], []))
    assert "no hint names a test" in call("plan", store(tmp_path / "f", text, {}, 100), "--cfg", "n4", status=1)


def test_unit(tmp_path):
    """Hints of benches."""
    text = shape(("g", 1, [("a", [("1", "1", "unit-adder:vectors=100")])], []))
    assert plan(store(tmp_path / "f", text, {},
                      100), "--jobs", 1, "--random", 0) == ["unit adder cfg=n4 cases=5 index=5 -- vectors=100"]


def test_no_hints(tmp_path):
    """Jobs without pins are of the test that lacks most; a group without hints belongs to the test that its name begins
    with."""
    layers = ("copy_layers", 1, [("z", [(str(i), str(i), "") for i in range(9)])], [])
    text = shape(("copy", 1, [("a", enum("copy", "a", "xy"))], []), layers,
                 ("other", 1, [("a", enum("other", "a", "xy"))], []))
    path = write_raw(tmp_path / "f", text, varint(100) * 3 + varint(0) +
                     varint(50) + varint(0) + varint(50) + varint(9) + varint(50) + varint(0) + varint(50))
    assert {line.split()[1] for line in plan(path, "--jobs", 6, "--random", 100)} == {"copy"}


def test_weights(tmp_path):
    """The group that weighs more comes first."""
    group = lambda test, weight: (test, weight, [("a", [("1", "1", f"{test}:a=1")])], [])
    for heavy in ("s", "t"):
        text = shape(group("s", 5 if heavy == "s" else 1), group("t", 5 if heavy == "t" else 1))
        path = write_raw(tmp_path / "f", text, varint(100) + varint(100))  # samples of both groups, no hits
        assert plan(path, "--jobs", 1, "--random", 0)[0].split()[1] == heavy


def write_raw(path, text, body):
    head = ("tandem-cov 1\nfiles 1 shape %d %016x counts %d %016x\njob \n" %
            (len(text), checksum(text.encode()), len(body), checksum(body)))
    path.write_bytes(head.encode() + text.encode() + body)
    return path


def test_random_share(tmp_path):
    path = store(tmp_path / "f", AB, {}, 100)
    for share in (0, 20, 50, 100):
        lines = plan(path, "--jobs", 10, "--random", share)
        assert (sum(" -- " not in line for line in lines) >= share // 10 and
                (share or all(" -- " in line for line in lines)))


def test_tried(tmp_path):
    """Tries are kept; after some in vain a hole is left alone; one that was hit leaves the file."""
    hits = {at: 10 for at in range(24)}
    del hits[8 + 4 * 1 + 2], hits[0]
    path, tried = store(tmp_path / "f", AB, hits, 100), tmp_path / "tried"
    targets = []
    for r in range(12):
        (line,) = plan(path, "--jobs", 1, "--random", 0, "--round", r, "--tried", tried)
        targets.append(pins(line))
    rows = {name: (float(n), hint) for n, name, hint in (row.split("\t") for row in tried.read_text().splitlines()[1:])}
    assert set(rows) == {"g.a.w", "g.ab.(x, m)"} and rows["g.ab.(x, m)"][1] == "t:a=x t:b=m"
    assert all(5 <= n < 6.5 for n, _ in rows.values()) and targets[-1] == {}
    out = call("plan", path, "--cfg", "n4", "--tried", tried, "-o", tmp_path / "s")
    assert "20 jobs for 2 bins and cells that nothing has hit, 2 of them given up" in out
    hits[0] = 1
    plan(store(tmp_path / "f", AB, hits, 100), "--tried", tried)
    assert [row.split("\t")[1] for row in tried.read_text().splitlines()[1:]] == ["g.ab.(x, m)"]
    assert not list(tmp_path.glob("*.tmp*"))


def test_deterministic(tmp_path):
    path = store(tmp_path / "f", AB, {0: 3, 9: 1}, 20)
    assert plan(path, "--round", 3) == plan(path, "--round", 3) != plan(path, "--round", 4)


def test_usage(tmp_path):
    path = store(tmp_path / "f", AB, {}, 100)
    for args in (["--jobs", 0], ["--jobs", "x"], ["--random", 101], ["--round", 1000000, "--jobs", 100000],
                 ["--kind", "A B"], ["--tried"], ["--html", "d"]):
        call("plan", path, "--cfg", "n4", *args, status=2)
    call("plan", path, status=2)
    (tmp_path / "bad").write_text("much\n")
    assert "bad:1: expected tries" in call("plan", path, "--cfg", "n4", "--tried", tmp_path / "bad", status=1)
    call("plan", path, "--cfg", "n4", "-o", tmp_path / "no" / "dir", status=1)


# ---- ranked suites run ----


@pytest.fixture
def build(tmp_path):
    """A folder of builds with the golden model in it, as a build of kind fast."""
    if HOST.name.endswith("-san"):
        pytest.skip("not run: the runner limits the memory of jobs of kind fast, AddressSanitizer reserves more")
    folder = tmp_path / "build" / "n8-fast"
    folder.mkdir(parents=True)
    (folder / "tandem").symlink_to(MODEL.resolve())
    return tmp_path / "build"


def covered(path):
    data = json.loads(call("report", path, "--json"))
    return {(g["name"], p["name"], b["name"]) for g in data["groups"] for p in g["points"] for b in p["bins"]
            if b["hits"]} | {(g["name"], c["name"], c["covered"]) for g in data["groups"] for c in g["crosses"]
    }


@pytest.mark.parametrize("seeds", [(7, 7), (7, 8)])
def test_rank_runs(tmp_path, build, seeds):
    """The ranked suite, run by the runner, covers what all files cover: with one run seed, and with several."""
    for i, test in enumerate(("act", "act", "reduce", "pool")):
        words = ["test", test, "--quiet", "--count", 3, "--index", 9 * i,
                 "--run-seed", seeds[i % 2], "--cov", tmp_path / f"{i}.cov"]
        words += ["data=zeros"] if test == "reduce" else []
        subprocess.run([str(w) for w in [MODEL, *words]], check=True)
    files = sorted(tmp_path.glob("*.cov"))
    call("merge", "-o", tmp_path / "all", *files)
    call("rank", *files, "-o", tmp_path / "small.suite")
    text = (tmp_path / "small.suite").read_text()
    assert ("\nseed 7\n" in text) == (seeds == (7, 7)) and ("seed=8" in text) == (seeds == (7, 8))
    words = ["run", "--suite", tmp_path / "small.suite", "--build-dir", build, "--coverage", tmp_path / "again"]
    done = subprocess.run([REGRESS, *map(str, words)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    call("merge", "-o", tmp_path / "all2", *sorted((tmp_path / "again").glob("*.cov")))
    assert covered(tmp_path / "all2") == covered(tmp_path / "all")


def test_rank_cycles(tmp_path):
    """Of equal gains the job with fewer cycles wins."""
    for name, cycles in (("a", 900), ("b", 100), ("c", 500)):
        write(tmp_path / name, [1], job=f"test {name} cfg=n4 # run seed 3 cycles {cycles}")
    assert call("rank", *(tmp_path / n for n in "abc")).splitlines()[1:] == ["seed 3", "test b cfg=n4"]


# ---- closure ----


def close(tmp_path, build, *args, status=(0, 1)):
    tests = ("conv", "dw", "linear", "pool", "eltwise", "act", "reduce",
             "convert", "jobs", "sequence", "chain", "faults", "bus_error")
    (tmp_path / "start.suite").write_text("".join(f"test {test} cfg=n8 count=20 index=1000000\n" for test in tests))
    words = ["--build-dir", build, "--host", HOST, "--out", tmp_path / "out",
             "--cfg", "n8", "--jobs", 2, "--suite", tmp_path / "start.suite", *args]
    done = subprocess.run(["/usr/bin/python3", ROOT / "scripts/closure.py", *map(str, words)],
                          cwd=ROOT, capture_output=True, text=True)
    assert done.returncode in status, done.stdout + done.stderr
    return done


def curve(tmp_path, name="curve"):
    return json.loads((tmp_path / "out" / f"{name}.json").read_text())


def test_closure(tmp_path, build):
    """A few rounds on the golden model: more than plain random jobs, all of it in the database, and what it writes."""
    host = (ROOT / HOST).resolve()
    done = close(tmp_path, build, "--host", host, "--max-jobs", 100, "--round-jobs", 25,
                 "--cases", 2, "--random", "--keep")
    out = tmp_path / "out"
    points, plain = curve(tmp_path), curve(tmp_path, "random")
    assert points[0]["jobs"] == plain[0]["jobs"] == 25 and points[-1]["jobs"] == plain[-1]["jobs"] == 100
    assert points[0] == plain[0] | {"cpu_s": points[0]["cpu_s"]} and points[-1]["percent"] > plain[-1]["percent"] + 1
    assert all(a["covered"] <= b["covered"] for a, b in zip(points, points[1:])) and points[-1]["cases"] <= 200
    assert ("not reached" in done.stdout and done.returncode == 1 and done.stderr == "" and
            "NOT PASSED" not in done.stdout)
    page = (out / "index.html").read_text()
    assert (page.count("<svg") == 2 and page.count("<polyline") == 4 and
            "Knobs that hit" in page and "Bins that nothing hit" in page)
    hits = json.loads((out / "hits.json").read_text())
    assert len(hits) == 75 and sum(len(h["aimed"]) for h in hits) > 50
    seen = set()
    for hit in hits:  # each bin is the first hit of one job
        names = hit["aimed"] + hit["helped"] + hit["by_chance"]
        assert len(names) == len(set(names)) and not seen & set(names)
        seen |= set(names)
    runs = json.loads(subprocess.run([REGRESS, "query", "runs",
                                      "--json", "--build-dir", build], capture_output=True, text=True).stdout)
    assert sum(run["jobs"] for run in runs) == 200
    # all of them, and few of them, cover the same again
    assert len([line for line in (out / "closure.suite").read_text().splitlines() if line.startswith("test ")]) == 100
    for suite in ("closure", "small"):
        words = ["run", "--suite", out / f"{suite}.suite", "--build-dir", build, "--coverage", tmp_path / suite]
        again = subprocess.run([REGRESS, *map(str, words)], capture_output=True, text=True)
        assert again.returncode == 0, again.stdout + again.stderr
        call("merge", "-o", tmp_path / f"{suite}.cov", *sorted((tmp_path / suite).glob("*.cov")))
        assert covered(tmp_path / f"{suite}.cov") == covered(out / "closure.cov")
    assert len((out / "small.suite").read_text().splitlines()) < 100


@pytest.mark.skipif(os.environ.get("TANDEM_CHECK") != "1", reason="not run: several seconds (make check)")
def test_closure_repeats(tmp_path, build):
    """The same seed, the same jobs; another seed, others."""
    host = (ROOT / HOST).resolve()
    texts = []
    for seed in (3, 3, 4):
        close(tmp_path, build, "--host", host, "--max-jobs", 20, "--round-jobs", 10, "--cases", 1, "--seed", seed)
        texts.append((tmp_path / "out" / "closure.suite").read_text())
    assert texts[0] == texts[1] != texts[2]


def test_closure_goal(tmp_path, build):
    """It ends at the goal, and says so; without a curve of random jobs unless asked."""
    host = (ROOT / HOST).resolve()
    done = close(tmp_path, build, "--host", host, "--goal", 20, "--round-jobs", 20, "--cases", 2, status=(0,))
    assert ("reached" in done.stdout and not (tmp_path / "out" / "random.json").exists() and
            not (tmp_path / "out" / "cov").exists())
    close(tmp_path, build, "--goal", 0, status=(2,))
    assert "closure.py: " in close(tmp_path, build, "--host", tmp_path, status=(1,)).stderr


@pytest.mark.skipif(os.environ.get("TANDEM_CHECK") != "1", reason="TANDEM_CHECK=1: minutes")
def test_closure_long(tmp_path, build):
    """What plain random jobs cover in 600 jobs, closure covers in less than half of them."""
    host = (ROOT / HOST).resolve()
    close(tmp_path, build, "--host", host, "--max-jobs", 600, "--goal", 100, "--random")
    points, plain = curve(tmp_path), curve(tmp_path, "random")
    first = next(p["jobs"] for p in points if p["percent"] >= plain[-1]["percent"])
    assert first <= plain[-1]["jobs"] / 2
    shutil.rmtree(tmp_path / "out")


@pytest.mark.parametrize("design, knobs", [("sac", "testcases/sac/stim.c"), ("sgemm", "testcases/sgemm/gemm.c")])
def test_hints_are_knobs(design, knobs):
    """What a hint pins is a knob of the test, with one of its values by name; % stands for the bin's name."""
    text = {path: (ROOT / path).read_text() for path in (knobs, f"coverage/{design}/{design}_cov.c")}
    names = {m[0]: re.findall(r'"([^"]+)"', m[1])
             for m in re.findall(r"char \*const (\w+)\[\d*\] = \{([^}]*)\}", text[knobs])}
    known = {m[0]: (m[1], m[2]) for m in
             re.findall(r'\{"(\w+)", \d+, \w+,\s+(?:\(tb_knob_kind\)\([^)]*\)|(TB_KNOB_\w+)),\s+(\w+),', text[knobs])}
    hints = re.findall(r'\.hint = "([^"]+)"', text[f"coverage/{design}/{design}_cov.c"])
    pins = [pin.split("=") for hint in hints for pin in hint.split(":")[1:]]
    assert len(pins) > 15 and len(known) > 20
    for knob, value in pins:
        kind, values = known[knob]
        if kind == "TB_KNOB_ENUM":
            assert value == "%" or value in names[values], (knob, value)
        else:
            assert value == "%" or value.isdigit(), (knob, value)
