"""tandem-cov: merging, reports as text, JSON and pages, differences, ranking, thresholds. The files are written here,
from docs/coverage.md."""

import html.parser
import json
import os
import random
import subprocess

import pytest

TOOL = os.path.join(os.environ.get("HOST", "build/host"), "tandem-cov")
MASK = (1 << 64) - 1


def call(*args, status=0):
    done = subprocess.run([TOOL, *map(str, args)], capture_output=True, text=True)
    assert done.returncode == status, done.stderr + done.stdout
    if status == 0:
        return done.stdout
    assert len(done.stderr.splitlines()) <= 1, done.stderr
    return done.stdout + done.stderr


# ---- the file, as docs/coverage.md has it ----


def checksum(data):
    value = 0xCBF29CE484222325 ^ len(data)
    whole = len(data) // 8 * 8
    for at in range(0, whole, 8):
        value = (value ^ int.from_bytes(data[at : at + 8], "little")) * 0x100000001B3 & MASK
        value ^= value >> 29
    for byte in data[whole:]:
        value = (value ^ byte) * 0x100000001B3 & MASK
    return value ^ value >> 32


def varint(value):
    out = b""
    while value >= 0x80:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


SIZES = ["1", "2", "3", "large"]
MODES = ["slow", "fast"]
# counters: bins of size (with one that is ignored and one that is illegal), bins of mode, cells
COUNTS = len(SIZES) + 2 + len(MODES) + len(SIZES) * len(MODES)


def shape(goal=1, more="", bug="a size that a buffer cannot hold", weight=1):
    lines = ["G 0 1 job", "a what jobs there are", "P 0 %d 0 size" % weight, "b " + bug]
    for rank, name in enumerate(SIZES):
        lines += ["B %d %d 0 cv %s" % (rank, goal, name), "v " + name, "h job:size=" + name]
    lines += ["B 4 1 0 iv none", "v 0", "w nothing to do is <no> job & no bug",
              "B 5 1 0 xv below", "v ..-1", "w sizes are not negative"]
    if more:
        lines += ["B 6 1 0 cv " + more, "v 99"]
    lines += ["P 1 1 0 mode", "b a mode that nobody asked for"]
    for rank, name in enumerate(MODES):
        lines += ["B %d 1 0 cv %s" % (rank, name), "v %d" % rank, "h job:mode=" + name]
    cells = "1*1 0*7"
    lines += ["C 0 2 1 0 0,1 both", "b a size that only one mode cuts"]
    lines += ["R i one is always fast", "L " + (cells if not more else "1*1 0*9")]
    return "\n".join(lines) + "\n"


def write(path, counts, samples=1, job="", files=1, text=None):
    body = varint(samples)
    zeros = 0
    for count in counts:
        if count == 0:
            zeros += 1
        else:
            body += varint(zeros) + varint(count)
            zeros = 0
    text = (shape() if text is None else text).encode()
    head = ("tandem-cov 1\nfiles %d shape %d %016x counts %d %016x\njob %s\n" %
            (files, len(text), checksum(text), len(body), checksum(body), job))
    path.write_bytes(head.encode() + text + body)
    return path


def counts(**hits):
    """Hits by name: s1 s2 s3 slarge none below slow fast c<size>_<mode>."""
    names = ["s" + s for s in SIZES] + ["none", "below"] + MODES + ["c%s_%s" % (s, m) for s in SIZES for m in MODES]
    assert len(names) == COUNTS and not set(hits) - set(names)
    return [hits.get(name, 0) for name in names]


def report(path):
    return json.loads(call("report", path, "--json"))


def bins(data, point):
    found = [p for p in data["groups"][0]["points"] if p["name"] == point][0]
    return {b["name"]: b for b in found["bins"]}


# ---- report ----


def test_report_json(tmp_path):
    a = write(tmp_path / "a", counts(s1=3, s2=1, none=7, below=2, slow=1, c2_slow=1, c1_slow=4),
              samples=9, job="test x count=1")
    data = report(a)
    assert data["files"] == 1 and data["job"] == "test x count=1" and data["illegal_hits"] == 2
    group = data["groups"][0]
    assert group["samples"] == 9 and group["about"] == "what jobs there are"
    assert bins(data, "size")["2"] == {"name": "2", "values": "2", "role": "counted", "hits": 1,
                                       "goal": 1, "covered": True, "partial": False, "hint": "job:size=2", "why": ""}
    assert (bins(data, "size")["none"]["role"] == "ignored" and
            bins(data, "size")["none"]["why"] == "nothing to do is <no> job & no bug")
    cross = group["crosses"][0]
    assert (cross["total"], cross["covered"], cross["ignored"]) == (7, 1, 1) and cross["points"] == ["size", "mode"]
    assert len(cross["cells"]) == 6 and {"bins": "large, fast", "role": "counted",
                                         "hits": 0, "hint": "job:size=large job:mode=fast", "why": ""} in cross["cells"]
    assert cross["rules"] == [{"role": "ignored", "cells": 1, "why": "one is always fast"}]
    # weights: size 1, mode 1, both 2
    assert data["percent"] == pytest.approx((50 + 50 + 2 * 100 / 7) / 4, abs=0.01)


def test_report_text(tmp_path):
    text = call("report", write(tmp_path / "a", counts(s1=3, below=2)))
    assert "illegal hits\n  job.size.below" in text and "sizes are not negative" in text
    assert "  job.both.(large, fast)" in text and "job:size=large job:mode=fast" in text
    assert "nothing to do is <no> job & no bug" in text and "job.both: 1 cells  one is always fast" in text
    assert "job.size.1 " not in text and text == call("report", tmp_path / "a", "--text")


class Pages(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.open = []
        self.links = []
        self.text = ""

    def handle_starttag(self, tag, attrs):
        if tag not in ("meta", "link", "br"):
            self.open.append(tag)
        self.links += [value for name, value in attrs if name in ("href", "src")]

    def handle_endtag(self, tag):
        # cells and rows are closed by hand, too
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def test_html(tmp_path):
    pages = tmp_path / "pages"
    for _ in range(2):  # the second time over the first
        call("report", write(tmp_path / "a", counts(s1=3, below=2)), "--html", pages)
    assert sorted(p.name for p in pages.iterdir()) == ["group-job.html", "index.html"]
    for page in pages.iterdir():
        parsed = Pages()
        source = page.read_text()
        parsed.feed(source)
        assert parsed.open == []
        assert ("prefers-color-scheme:dark" in source and 'name="viewport"' in source and
                "http" not in source and "<script" not in source)
        for link in parsed.links:
            if link.startswith("#"):
                assert 'id="%s"' % link[1:] in source
            else:
                assert (pages / link).is_file()
    text = (pages / "group-job.html").read_text()
    assert "nothing to do is &lt;no&gt; job &amp; no bug" in text and "a size that only one mode cuts" in text
    assert "job:size=large job:mode=fast" in (pages / "index.html").read_text()
    assert "such: No such file" in call("report", tmp_path / "a", "--html", tmp_path / "no" / "such", status=1)


# ---- merge, diff ----


def test_merge(tmp_path):
    draw = random.Random(1)
    files = []
    total = [0] * COUNTS
    for i in range(12):
        hits = [draw.choice((0, 0, 1, 300, 70000)) for _ in range(COUNTS)]
        total = [a + b for a, b in zip(total, hits)]
        files.append(write(tmp_path / ("f%d" % i), hits, samples=i))
    call("merge", "-o", tmp_path / "all", *files)
    expected = write(tmp_path / "expected", total, samples=sum(range(12)), files=12)
    assert (tmp_path / "all").read_bytes() == expected.read_bytes()
    call("merge", "-o", tmp_path / "x", *files[6:])
    call("merge", "-o", tmp_path / "y", tmp_path / "x", *files[:6])
    assert (tmp_path / "y").read_bytes() == expected.read_bytes()
    assert not [p.name for p in tmp_path.iterdir() if "tmp" in p.name]


def test_merge_shapes(tmp_path):
    a = write(tmp_path / "a", counts(s1=1))
    text = shape(more="odd")
    b = write(tmp_path / "b", [1] * (COUNTS + 3), text=text)
    done = subprocess.run([TOOL, "merge", "-o", str(tmp_path / "ab"), str(a), str(b)], capture_output=True, text=True)
    assert (done.returncode == 0 and
            "stale or new: 1 bins and cells are not in all files, the first one is job.size.odd"
            in done.stderr), done.stderr
    data = report(tmp_path / "ab")
    assert (bins(data, "size")["odd"]["partial"] and bins(data, "size")["odd"]["hits"] == 1 and
            bins(data, "size")["1"]["hits"] == 2)
    done = subprocess.run([TOOL, "merge", "--like", str(a), "-o", str(tmp_path / "like"), str(a), str(b)],
                          capture_output=True, text=True)
    assert done.returncode == 0 and "job.size.odd has 1 hits" in done.stderr
    data = report(tmp_path / "like")
    assert "odd" not in bins(data, "size") and bins(data, "size")["1"]["hits"] == 2 and data["files"] == 2
    c = write(tmp_path / "c", counts(), text=shape(goal=5))
    assert "job.size.1 has another goal in another file" in call("merge", "-o", tmp_path / "no", a, c, status=1)
    assert not (tmp_path / "no").exists()


def test_diff(tmp_path):
    a = write(tmp_path / "a", counts(s1=1, s2=1, fast=1))
    b = write(tmp_path / "b", [1 if i in (1, 2) else 0 for i in range(COUNTS + 3)], text=shape(more="odd"))
    data = json.loads(call("diff", a, b, "--json"))
    assert data["only_first"] == ["job.size.1", "job.mode.fast"] and data["only_second"] == ["job.size.3"]
    text = call("diff", a, b)
    assert "only in the first:\n  job.size.1\n  job.mode.fast\nonly in the second:\n  job.size.3\n" in text


# ---- rank ----


def test_rank(tmp_path):
    write(tmp_path / "d", counts(s1=1, s2=1), job="test d")
    write(tmp_path / "c", counts(s3=1), job="test c")
    write(tmp_path / "b", counts(s3=1, slow=1), job="test b count=1")
    write(tmp_path / "a", counts(s1=1, none=5, below=1))
    files = [tmp_path / name for name in "abcd"]
    want = "# 2 of 4 jobs with the coverage of all: 4 bins and cells\ntest b count=1\ntest d\n"
    assert call("rank", *files) == want and call("rank", *reversed(files)) == want
    call("rank", *files, "-o", tmp_path / "small.suite")
    assert (tmp_path / "small.suite").read_text() == want
    data = json.loads(call("rank", "--json", *files))
    assert ([(c["job"], c["gain"]) for c in data["chosen"]] == [("test b count=1", 2), ("test d", 2)] and
            data["covered"] == 4)
    assert "# no job is known of" in call("rank", tmp_path / "a")


# ---- gate ----


def gate(tmp_path, text, status=0):
    (tmp_path / "t").write_text(text)
    return call("gate", tmp_path / "a", "--thresholds", tmp_path / "t", status=status)


def test_gate(tmp_path):
    write(tmp_path / "a", counts(s1=1, s2=1, s3=1))
    assert "ok" in gate(tmp_path, "# all\ntotal 15\njob.size 75 # three of four\njob.both 0\n\njob 0\n")
    assert "BELOW  job.size" in gate(tmp_path, "total 0\njob.size 75.01\n", status=1)
    assert "nothing in" in gate(tmp_path, "job.shape 1\n", status=1)
    assert "nothing in" in gate(tmp_path, "jo 1\n", status=1)
    for line in ("total", "total x", "total 101", "total -1", "total 1 2", "total nan", "total " + "1" * 600):
        assert "line 1" in gate(tmp_path, line + "\n", status=1), line
    write(tmp_path / "a", counts(s1=1, below=3))
    assert "BELOW  illegal" in gate(tmp_path, "total 0\n", status=1)
    assert gate(tmp_path, "illegal 3\n") != "" and gate(tmp_path, "illegal 2\n", status=1)
    data = json.loads(call("gate", tmp_path / "a", "--thresholds", tmp_path / "t", "--json", status=1))
    assert data == {"thresholds": [{"name": "illegal", "is": 3.0, "threshold": 2.0, "pass": False}], "pass": False}
    assert "No such file" in call("gate", tmp_path / "a", "--thresholds", tmp_path / "none", status=1)


def test_gate_unhinted(tmp_path):
    """Holes that say nothing of what would hit them are counted; those with a hint, and what is hit, are not."""
    write(tmp_path / "a", counts(s1=1))
    assert "ok     unhinted" in gate(tmp_path, "unhinted 0\n")
    write(tmp_path / "a", counts(s1=1), text=shape().replace("h job:size=1\n", "").replace("h job:size=large\n", ""))
    assert ("BELOW  unhinted                                 1.00, at most 0.00"
            in gate(tmp_path, "unhinted 0\n", status=1))
    assert "ok     unhinted" in gate(tmp_path, "unhinted 1\n")


# ---- the summary and the first page ----


def kind(points, covered, waived=0):
    return {"points": points, "covered": covered, "waived": waived, "percent": 100.0 * covered / (points - waived),
            "percent_before": 100.0 * covered / points}


CODE = {
    "total": {"line": kind(100, 96, 2), "branch": kind(40, 30), "toggle": kind(200, 150)},
    "units": [{"name": "dma<1>", "line": kind(50, 48, 2), "branch": kind(20, 15), "toggle": kind(100, 75)},
              {"name": "cmodel", "line": kind(50, 48), "branch": kind(20, 15)}],
}


@pytest.fixture
def code(tmp_path):
    path = tmp_path / "code.json"
    path.write_text(json.dumps(CODE))
    return path


def test_summary(tmp_path, code):
    a = write(tmp_path / "a", counts(s1=1, s2=1, s3=1))
    score = report(a)["percent"]
    text = call("summary", a, "--code", code, "-o", tmp_path / "figures.json")
    rows = {line.split()[0]: line.split()[1:] for line in text.splitlines()}
    assert rows["line"] == ["97.96", "96.00", "96", "100", "2"] and rows["toggle"][0] == "75.00"
    assert float(rows["functional"][0]) == pytest.approx(score, abs=0.01)
    figures = {item["name"]: item for item in json.loads((tmp_path / "figures.json").read_text())["figures"]}
    assert list(figures)[:4] == ["functional", "line", "branch", "toggle"] and "functional job" in figures
    assert figures["line"]["percent"] == pytest.approx(97.9592, abs=1e-3) and figures["line"]["percent_before"] == 96
    assert json.loads(call("summary", a, "--json"))["figures"][0]["covered"] == report(a)["covered"]
    code.write_text('{"total": {"line": 3}}')
    assert "expected the JSON of" in call("summary", a, "--code", code, "-o", tmp_path / "none", status=1)
    assert not (tmp_path / "none").exists()
    code.write_text("{")
    assert "code.json:1: " in call("summary", a, "--code", code, status=1)


def test_index(tmp_path, code):
    a = write(tmp_path / "a", counts(s1=1))
    trend = tmp_path / "trend.json"
    rows = [{"run": run, "name": name, "percent": percent} for run, percent in ((7, 90.5), (3, 71.5))
            for name in ("functional", "line", "functional job")]
    trend.write_text(json.dumps(rows))
    gates = tmp_path / "gates.json"
    gates.write_text(json.dumps([{"thresholds": [{"name": "total", "is": 12.5, "threshold": 95, "pass": False},
                                                 {"name": "line", "is": 98, "threshold": 97, "pass": True}]}]))
    out = tmp_path / "index.html"
    call("index", a, "--code", code, "--trend", trend, "--gates", gates, "-o", out)
    text = out.read_text()
    assert 'class="w miss">below</td><td class="w">total' in text and 'class="w hit">ok' in text
    assert "dma&lt;1&gt;" in text and "functional/group-job.html" in text and "code/index.html" in text
    assert "run 3: functional 71.50 %" in text and "run 7: line 90.50 %" in text and ">70" in text
    call("index", a, "-o", out)
    assert "Trend" not in out.read_text() and "Gate" not in out.read_text()
    for bad in ({"run": 1}, [{"run": "x", "name": "line", "percent": 3}], [3]):
        trend.write_text(json.dumps(bad))
        assert "trend.json" in call("index", a, "--trend", trend, "-o", tmp_path / "none", status=1)
    code.write_text(json.dumps({**CODE, "units": [{"line": 1}]}))
    assert "expected the JSON of" in call("index", a, "--code", code, "-o", tmp_path / "none", status=1)
    assert not list(tmp_path.glob("none*")), "nothing half written"


# ---- what is wrong ----


def test_full_disk(tmp_path):
    """What the machine refuses is no file that cannot be used, and no coverage below a threshold."""
    one = write(tmp_path / "one", counts())
    with open("/dev/full", "w") as full:
        done = subprocess.run([TOOL, "report", one], stdout=full, stderr=subprocess.PIPE, text=True)
    assert (done.returncode, done.stderr) == (3, f"{TOOL}: stdout: cannot be written: No space left on device\n")
    call("merge", "-o", "/dev/full", one, status=3)


def test_damaged(tmp_path):
    a = write(tmp_path / "a", counts(s1=1))
    good = a.read_bytes()
    bad = tmp_path / "bad"
    for data in (b"", b"tandem-cov 2\n", good[:-1], good + b"x", good.replace(b"job.size", b"job.sise"),
                 good[:200] + b"\0" + good[201:]):
        if data == good:
            continue
        bad.write_bytes(data)
        for command in (["report", bad], ["merge", "-o", tmp_path / "out", a, bad], ["diff", a, bad], ["rank", a, bad]):
            assert str(bad) in call(*command, status=1)
    assert not (tmp_path / "out").exists()
    assert "No such file" in call("report", tmp_path / "none", status=1)
    assert "Is a directory" in call("report", tmp_path, status=1) or "not a file" in call("report", tmp_path, status=1)


def test_arguments(tmp_path):
    a = write(tmp_path / "a", counts())
    assert "rank FILES" in call("--help") and "rank FILES" in call("report", "--help")
    for args in ([], ["nothing"], ["report"], ["report", a, a], ["report", a, "--odd"],
                 ["merge", a], ["merge", a, "-o"], ["gate", a], ["diff", a], ["report", a, "-o", "x"]):
        assert call(*args, status=2) if args else subprocess.run([TOOL], capture_output=True).returncode == 2
    assert call("report", "--", a)
