"""Output of coverage closure: curves, the bins that knobs hit, the bins never hit;
as text, JSON and a self-contained page (scripts/closure.py)."""

import collections
import html
import json
import os

HERE = os.path.dirname(os.path.abspath(__file__))
STYLES = [os.path.join(HERE, "page.css"), os.path.join(HERE, "../report/page.css")]  # installed; of the tree
with open(next(path for path in STYLES if os.path.exists(path)), encoding="utf-8") as shared:
    STYLE = shared.read() + """
:root{--one:#1f5fae;--two:#a04a00}
@media(prefers-color-scheme:dark){:root{--one:#8ab8f5;--two:#f0a860}}
.one{fill:none;stroke:var(--one);stroke-width:2}.two{fill:none;stroke:var(--two);stroke-width:2;stroke-dasharray:5 3}
.goal{stroke:var(--soft);stroke-dasharray:2 3}.k1{color:var(--one)}.k2{color:var(--two)}
"""
ROWS = 300  # of a table of the page


def holes(report):
    """{name: hint} of the bins and cells that are not covered, out of tandem-cov report --json."""
    found = {}
    for group in report["groups"]:
        for point in group["points"]:
            bins = [b for b in point["bins"] if b["role"] == "counted" and not b["covered"]]
            found |= {f"{group['name']}.{point['name']}.{b['name']}": b["hint"] for b in bins}
        for cross in group["crosses"]:
            cells = [c for c in cross["cells"] if c["role"] == "counted"]
            found |= {f"{group['name']}.{cross['name']}.({c['bins']})": c["hint"] for c in cells}
    return found


def test_of(line):
    """Name in hints of the job of a line of a suite; None: it is no line with cases."""
    words = line.split()
    return {"test": words[1], "unit": f"unit-{words[1]}"}.get(words[0]) if len(words) > 1 else None


def hint_knobs(hint, test):
    """The knobs that a hint names for a test."""
    knobs, now = set(), None
    for word in hint.split():
        if ":" in word.split("=")[0]:
            now, word = word.split(":", 1)
        if now == test and "=" in word:
            knobs.add(word.split("=", 1)[0])
    return knobs


def told_apart(job, pins, first):
    """The bins that a job was the first to hit ({name: hint}): by all the knobs of the hint, by some, or by chance."""
    test = test_of(job)
    hit = {"job": job, "aimed": [], "helped": [], "by_chance": [], "knobs": {}}
    for name, hint in first.items():
        wanted = hint_knobs(hint, test)
        knobs = wanted & {knob for knob, _ in pins}
        hit["aimed" if knobs and knobs == wanted else "helped" if knobs else "by_chance"].append(name)
        hit["knobs"][name] = sorted(knobs)
    return hit


def by_knob(hits):
    """[(test:knob, jobs, values, bins that it was pinned for and hit first, some of them)], the most first."""
    rows = collections.defaultdict(lambda: [0, set(), []])
    for hit in hits:
        words, _, pins = hit["job"].partition(" -- ")
        test = test_of(words)
        for knob, value in (pin.split("=", 1) for pin in pins.split()):
            row = rows[f"{test}:{knob}"]
            row[0] += 1
            row[1].add(value)
        for name in hit["aimed"] + hit["helped"]:
            for knob in hit["knobs"][name]:
                rows[f"{test}:{knob}"][2].append(name)
    table = [(knob, jobs, len(values), len(names), names[:3]) for knob, (jobs, values, names) in rows.items()]
    return sorted(table, key=lambda row: (-row[3], row[0]))


def reached(points, percent):
    """The point of a curve where it reached so much; None: it did not."""
    return next((p for p in points if p["percent"] >= percent), None)


def comparison(points, plain):
    """Lines: jobs and time of each curve for round percentages."""
    lines = []
    for percent in (80, 85, 90, 92, 94, 95, 96, 97, 98, 99):
        a, b = reached(points, percent), reached(plain, percent)
        if a or b:
            text = [f"{p['jobs']:6} jobs {p['cpu_s']:8.1f} s" if p else "     -               -  " for p in (a, b)]
            lines.append(f"  {percent:3} %   closure {text[0]}   random {text[1]}")
    return lines


def chart(points, plain, key, goal, caption):
    width, height, left, bottom = 520, 260, 40, 24
    both = points + plain
    most = max(p[key] for p in both) or 1
    low = min(min(p["percent"] for p in both) // 10 * 10, goal)

    def place(p):
        down = (100 - p["percent"]) / (100 - low or 1)
        return left + p[key] / most * (width - left - 10), 8 + down * (height - bottom - 8)

    def line(of, name):
        return f'<polyline class="{name}" points="{" ".join("%.1f,%.1f" % place(p) for p in of)}"/>' if of else ""

    parts = []
    for percent in range(int(low), 101, 10 if low < 70 else 5):
        y = place({key: 0, "percent": percent})[1]
        parts.append(f'<line class="axis" x1="{left}" x2="{width - 10}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text x="{left - 6}" y="{y + 3:.1f}" text-anchor="end">{percent} %</text>')
    y = place({key: 0, "percent": goal})[1]
    parts.append(f'<line class="goal" x1="{left}" x2="{width - 10}" y1="{y:.1f}" y2="{y:.1f}"/>')
    for i in range(5):
        x = left + i / 4 * (width - left - 10)
        anchor = "middle" if 0 < i < 4 else "end" if i else "start"
        number = round(most * i / 4, 1 if most < 20 else None)
        parts.append(f'<text x="{x:.1f}" y="{height - 8}" text-anchor="{anchor}">{number}</text>')
    return (
        f'<figure><figcaption>{caption}</figcaption>'
        f'<svg viewBox="0 0 {width} {height}" role="img" aria-label="{caption}">'
        f'{"".join(parts)}{line(plain, "two")}{line(points, "one")}</svg></figure>'
    )


def table(head, rows, more):
    """head: names, those that begin with # are of numbers."""
    cells = "".join(f'<th class="n">{h[1:]}</th>' if h[0] == "#" else f"<th>{h}</th>" for h in head)
    cell = lambda h, c: f'<td class="n">{c}</td>' if h[0] == "#" else f"<td>{c}</td>"
    body = "".join("<tr>" + "".join(map(cell, head, row)) + "</tr>" for row in rows)
    tail = f'<p class="soft">and {more} more</p>' if more > 0 else ""
    return f'<div class="scroll"><table><tr>{cells}</tr>{body}</table></div>{tail}'


def page(facts, points, plain, goal, knobs, lost):
    esc = html.escape
    code = lambda text: f"<code>{esc(text)}</code>"
    rows = [(code(knob), jobs, values, bins, ", ".join(esc(n) for n in names))
            for knob, jobs, values, bins, names in knobs[:ROWS]]
    left = [(esc(name), f"{tries:.1f}", code(hint) if hint else "") for tries, name, hint in lost[:ROWS]]
    hit = table(("knob", "#jobs with it", "#values", "#bins and cells", "such as"), rows, len(knobs) - ROWS)
    key = (
        '<p><span class="k1">&#9473; closure</span> <span class="k2">&#9477; plain random</span> '
        '<span class="soft">&#8943; goal</span></p>'
    )
    charts = chart(points, plain, "jobs", goal, "coverage by jobs")
    charts += chart(points, plain, "cpu_s", goal, "coverage by processor seconds")
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1"><title>coverage closure</title>'
        f"<style>{STYLE}</style></head><body><main><h1>Coverage closure</h1>"
        f"{''.join(f'<p>{esc(f)}</p>' for f in facts)}{key}<div class=\"charts\">{charts}</div>"
        f"<h2>Knobs that hit</h2>{hit}<h2>Bins that nothing hit</h2>"
        f"{table(('bin or cell', '#tries', 'hint'), left, len(lost) - ROWS)}</main></body></html>\n"
    )


def save(path, text):
    temporary = path.with_name(f"{path.name}.tmp{os.getpid()}")
    temporary.write_text(text)
    temporary.rename(path)


def write(c, points, plain, report):
    """All files of the report, and the summary on stdout. c: the Closure that ran."""
    hints = holes(report)
    tries = {name: tries for tries, name, _ in c.tries()}
    lost = [(tries.get(name, 0.0), name, hint) for name, hint in hints.items()]
    lost.sort(key=lambda row: (-row[0], row[1]))
    knobs = by_knob(c.hits)
    end = points[-1]
    given_up = sum(tried >= c.o.give_up for tried, _, _ in lost)
    facts = [
        f"{c.o.cfg}-{c.o.kind}, seed {c.o.seed}: {end['percent']:.2f} % ({end['covered']} of {end['total']} bins and "
        f"cells) with {end['jobs']} jobs, {end['cases']} cases, {end['cycles']:.0f} cycles, {end['cpu_s']:.1f} "
        f"processor seconds; goal {c.o.goal:g} %: {'reached' if end['percent'] >= c.o.goal else 'not reached'}"
        + (f" ({c.stopped})" if c.stopped else "")
    ]
    if plain:
        p = plain[-1]
        facts.append(
            f"plain random: {p['percent']:.2f} % ({p['covered']}) with {p['jobs']} jobs, {p['cases']} cases, "
            f"{p['cycles']:.0f} cycles, {p['cpu_s']:.1f} processor seconds"
        )
    aimed, helped, chance = (sum(len(hit[part]) for hit in c.hits) for part in ("aimed", "helped", "by_chance"))
    facts.append(
        f"after the random start: {aimed} bins and cells hit by jobs that pinned all the knobs of their hint, "
        f"{helped} by jobs that pinned some, {chance} by chance"
    )
    facts.append(f"{len(lost)} bins and cells that nothing hit, {given_up} of them tried {c.o.give_up} times in vain")
    facts += [f"NOT PASSED: {line}" for line in c.failed]
    if c.too_much:
        facts.append(f"{len(c.too_much)} jobs whose pins asked for too much: ended after {c.o.timeout} s, or refused")
    facts += [f"planned jobs left out: {program} does not exist" for program in sorted(c.missing)]
    text = facts + [""] + comparison(points, plain) + ["", "knobs that hit (bins and cells, jobs, values):"]
    text += [f"  {bins:5} {jobs:5} {values:5}  {knob}  {'; '.join(names)}" for knob, jobs, values, bins, names in knobs]
    text += ["", "jobs whose pins asked for too much:"] + [f"  {line}" for line in c.too_much]
    text += ["", "bins that nothing hit (tries, hint):"]
    text += [f"  {tried:6.1f}  {name}  {hint}" for tried, name, hint in lost]
    save(c.out / "curve.json", json.dumps(points, indent=1) + "\n")
    if plain:
        save(c.out / "random.json", json.dumps(plain, indent=1) + "\n")
    hits = [{k: v for k, v in hit.items() if k != "knobs"} for hit in c.hits]
    save(c.out / "hits.json", json.dumps(hits, indent=1) + "\n")
    save(c.out / "report.txt", "\n".join(text) + "\n")
    save(c.out / "index.html", page(facts, points, plain, c.o.goal, knobs, lost))
    small = sum(line.startswith(("test ", "unit ")) for line in (c.out / "small.suite").read_text().splitlines())
    print("\n".join(facts + comparison(points, plain)))
    print(f"{c.out}/small.suite: {small} jobs with the same coverage; {c.out}/closure.suite: all;"
          f" report: {c.out}/index.html, report.txt")
