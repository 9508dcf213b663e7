"""Functional qualification: scores, what each check is worth, reports as text and as pages (docs/qualification.md)."""
import collections
import html
import os

from qualify_run import VERDICTS, check_of, clock, write

MEANING = {"detected": "a check failed", "limit-seconds": "ran out of time: no watchdog spoke",
           "limit-memory": "ran out of memory", "crashed": "the program crashed or could not go on",
           "survived": "infected, not detected: the run ended", "limit-cycles": "infected, not detected so far",
           "not-run": "infected, not run for lack of time",
           "reached": "reached, not infected", "not-reached": "not reached", "equivalent": "equivalent, with a reason",
           "proven": "equivalent, proven", "absent": "in code that this configuration does not have"}
WEAK = VERDICTS[1:VERDICTS.index("reached")]
NOT_COUNTED = ("equivalent", "proven", "absent")
HERE = os.path.dirname(os.path.abspath(__file__))
# of an installation, or of the tree
PAGE_CSS = next((path for path in [os.path.join(HERE, "page.css")] if os.path.exists(path)),
                os.path.join(HERE, "..", "report", "page.css"))


def score(mutants):
    """Percent detected of those that are not equivalent; 100 of none."""
    counted = [m for m in mutants if m["verdict"] not in NOT_COUNTED]
    return 100.0 * sum(m["verdict"] == "detected" for m in counted) / len(counted) if counted else 100.0


def groups(mutants, key):
    found = collections.defaultdict(list)
    for m in mutants:
        found[m[key]].append(m)
    return [{"name": name, "mutants": len(ms), "score": round(score(ms), 2),
             "verdicts": dict(collections.Counter(m["verdict"] for m in ms))} for name, ms in sorted(found.items())]


def worth(mutants, what):
    """For each check (or number of a job) in `found`: how many mutants it detects, how many no other one does."""
    all_, only = collections.Counter(), collections.Counter()
    for m in mutants:
        names = {entry[what] for entry in m.get("found", [])}
        all_.update(names)
        if len(names) == 1:
            only.update(names)
    return [{"name": name, "detected": n, "only": only[name]} for name, n in all_.most_common()]


def smallest(mutants, what):
    """A small set that detects all: always the one with the most mutants that are left."""
    found = collections.defaultdict(set)
    for m in mutants:
        for entry in m.get("found", []):
            found[entry[what]].add(m["id"])
    chosen, left = [], set().union(*found.values()) if found else set()
    while left:
        best = max(sorted(found), key=lambda name: len(found[name] & left))
        chosen.append((best, len(found[best] & left)))
        left -= found[best]
    return chosen


# whom a check of a unit blames, by rule, and the keys of summary.json
BLAMED = (("right", "the module that has the mutant"), ("around", "a unit around it"),
          ("inside", "a unit inside it, whose connections or clock it has"), ("another", "another unit"))


def blame(m, design, parents, benches=()):
    """(one of BLAMED, the signature) of the first failure of a mutant in the whole design; the first is empty when it
    names no unit, as a check of one and an assertion in its source do. None: it fails in benches only, or not at all.
    `benches`: jobs that run a unit alone."""
    first = min((entry for entry in m.get("found", []) if entry[0] not in benches), default=None)
    if first is None:
        return None
    kind, name = (first[1].split(":") + [""])[:2]
    if kind not in ("unit", "assert"):
        return "", first[1]
    name = name.partition(".")[0]
    names = {name, "%s_%s" % (design, name)}
    if m["module"] in names:
        return "right", first[1]
    if names & parents.get(m["module"], set()):
        return "around", first[1]
    return "inside" if any(m["module"] in parents.get(name, ()) for name in names) else "another", first[1]


def blamed(found, design, parents, benches=()):
    """How many of the failures of unit checks in the whole design, the first of each mutant, name which unit. Of all
    failures there, `whole`: how many name the module or a unit around it, by a check or an assertion."""
    named = [n for n in (blame(m, design, parents, benches) for m in found) if n]
    counts = collections.Counter(rule for rule, signature in named if signature.startswith("unit:"))
    return dict({key: counts[key] for key, _ in BLAMED}, by_units=sum(counts.values()), whole=len(named),
                whole_right=sum(rule in ("right", "around") for rule, _ in named))


def places(kept):
    """What blame() asks for."""
    return (kept["design"], {name: set(above) for name, above in kept.get("parents", {}).items()},
            {job["number"] for job in kept["jobs"] if job["what"] == "unit"})


def summary(kept):
    mutants = kept["mutants"]
    out = {key: kept[key] for key in ("design", "cfg", "suite", "seconds", "stale")}
    out.update(mutants=len(mutants), of=kept["all"], score=round(score(mutants), 2),
               verdicts=dict(collections.Counter(m["verdict"] for m in mutants)),
               modules=groups(mutants, "module"), operators=groups(mutants, "operator"))
    missed = [m for m in mutants if m["verdict"] not in ("detected",) + NOT_COUNTED]
    out.update(weak=len(missed), explained=sum("why" in m for m in missed))
    found = [m for m in mutants if m["verdict"] == "detected"]
    out["checks"] = [{"name": name, "detected": n} for name, n in
                     collections.Counter(check_of(m["signature"]) for m in found).most_common()]
    out["blamed"] = blamed(found, *places(kept))
    cycles = sorted(m["cycles"] for m in found)
    out["cycles"] = {"median": cycles[len(cycles) // 2], "most": cycles[-1]} if cycles else {}
    out["phases"] = kept.get("phases", {})
    out["cpu"] = round(sum(p["design"] + p["mutants"] for p in out["phases"].values()), 1)
    if kept.get("all_checks"):
        names = {j["number"]: j["job"] for j in kept["jobs"]}
        out["worth"] = worth(mutants, 1)
        out["jobs"] = [dict(w, name=names[w["name"]]) for w in worth(mutants, 0)]
        out["needed"] = [{"name": names[n], "detected": k} for n, k in smallest(mutants, 0)]
    return out


# ---- text ----
def table(title, rows):
    lines = ["", "%-28s %7s %8s %8s %8s %8s %8s %7s" % (title, "mutants", "detected", "infected", "reached", "missed",
                                                        "equival.", "score")]
    for row in rows:
        v = collections.Counter(row["verdicts"])
        infected = sum(v[name] for name in WEAK)
        lines.append("%-28s %7d %8d %8d %8d %8d %8d %6.1f%%" % (
            row["name"], row["mutants"], v["detected"], infected, v["reached"], v["not-reached"],
            sum(v[name] for name in NOT_COUNTED), row["score"]))
    return lines


def worth_text(s):
    """Which checks and jobs detect what others do not."""
    lines = []
    for title, rows in (("check (first of each job)", s["worth"]), ("job", s["jobs"])):
        lines += ["", "%-60s %8s %8s" % (title, "detected", "only it")]
        lines += ["%-60s %8d %8d%s" % (r["name"][:60], r["detected"], r["only"], "" if r["only"] else "  redundant")
                  for r in rows]
    lines += ["", "jobs that together detect all of them, the best first"]
    return lines + ["%8d more  %s" % (r["detected"], r["name"]) for r in s["needed"]]


def head(s, kept):
    lines = ["Qualification of %s, %s, suite %s: %d of %d mutants, %d jobs, %s" % (
        s["design"], s["cfg"], s["suite"], s["mutants"], s["of"], len(kept["jobs"]), clock(s["seconds"]))]
    for name, p in sorted(s["phases"].items()):
        lines.append("phase %-8s %s; seconds of a processor: the design %.0f, mutants %.0f" % (
            name, clock(p["wall"]), p["design"], p["mutants"]))
    if kept["other_jobs"]:
        lines.append("%d jobs of the suite are of other configurations or kinds and were not run" % kept["other_jobs"])
    if kept.get("since"):
        lines.append("%d verdicts are those of the run of %s" % (
            sum("before" in m for m in kept["mutants"]), kept["since"]))
    if kept.get("left_out"):
        lines.append("NOT RUN for lack of time: %d jobs: %s" % (len(kept["left_out"]), ", ".join(kept["left_out"])))
    lines += ["%7d %-14s %s" % (s["verdicts"][v], v, MEANING[v])
              for v in VERDICTS + NOT_COUNTED if v in s["verdicts"]]
    lines.append("%(weak)d count as not detected; of these %(explained)d are explained in the reviewed file" % s)
    if s["cycles"]:
        lines.append("clock cycles from infection to detection: median %(median)d, most %(most)d" % s["cycles"])
    lines.append("failures of unit checks in the whole design: %d" % s["blamed"]["by_units"])
    sum_ = 0
    for key, what in BLAMED if s["blamed"]["by_units"] else ():
        sum_ += s["blamed"][key]
        lines.append("%7d name %s%s" % (s["blamed"][key], what, "" if key == "another" else ": %.1f %% up to here" % (
            100.0 * sum_ / s["blamed"]["by_units"])))
    if s["blamed"]["whole"]:
        lines.append("of all %(whole)d failures in the whole design %(whole_right)d" % s["blamed"] +
                     " are a check or an assertion of the module or of a unit around it: %.1f %%" % (
                         100.0 * s["blamed"]["whole_right"] / s["blamed"]["whole"]))
    return lines


def named_otherwise(kept):
    """Mutants for which the check of a unit fails that is neither theirs nor around them."""
    lines, where = [], places(kept)
    for m in kept["mutants"]:
        named = blame(m, *where) if m["verdict"] == "detected" else None
        if named and named[0] in ("inside", "another") and named[1].startswith("unit:"):
            lines.append("  %d  %s:%d: %s, in %s, %s: %s  =>  %s" % (
                m["id"], m["file"], m["line"], named[1], m["module"],
                "inside it" if named[0] == "inside" else "another unit", m["old"][:60], m["new"][:60]))
    return ["", "checks of other units than the one that has the mutant or one around it: %d" % len(lines)] + lines \
        if lines else []


def text_report(kept):
    s = summary(kept)
    lines = head(s, kept)
    lines += table("module", s["modules"]) + table("operator", s["operators"])
    lines += ["", "%-40s %8s" % ("check", "detected")] + ["%-40s %8d" % (c["name"], c["detected"]) for c in s["checks"]]
    if "worth" in s:
        lines += worth_text(s)
    lines += named_otherwise(kept)
    for verdict in VERDICTS[1:]:
        chosen = [m for m in kept["mutants"] if m["verdict"] == verdict]
        if chosen:
            lines += ["", "%s (%s): %d" % (verdict, MEANING[verdict], len(chosen))]
        for m in chosen:
            lines += shown(m, kept["sources"])
    lines += ["stale: " + text for text in s["stale"]]
    lines.append("score: %.2f %% of the mutants that are not equivalent are detected" % s["score"])
    return "\n".join(lines) + "\n"


def around(m, sources):
    """The lines of a source that a mutant changes, before and after; of several places the first."""
    text, (start, end, new) = sources[m["file"]], m["edits"][0]
    first, last = text.rfind("\n", 0, start) + 1, text.find("\n", end)
    last = len(text) if last < 0 else last
    return [[line.strip() for line in part.splitlines()] for part in (
        text[first:last], text[first:start] + new + text[end:last])]


def shown(m, sources):
    out = ["  %d  %s:%d: %s, in %s" % (m["id"], m["file"], m["line"], m["operator"], m["module"])]
    if m["file"] in sources:
        before, after = around(m, sources)
        out += ["    - " + line for line in before] + ["    + " + line for line in after]
    else:
        out += ["      %s" % m["text"], "      %s  =>  %s" % (m["old"][:150], m["new"][:150])]
    if "why" in m:
        out.append("      " + m["why"])
    if "replay" in m:
        out.append("      differs after %d cycles; %s" % (m["at"], m["replay"]))
    if "outside" in m:
        out.append("      another trace hash: something differs at the ports, and no check says so")
    return out


# ---- pages ----
def page(title, body):
    with open(PAGE_CSS, encoding="utf-8") as src:
        style = src.read()
    return ("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
            "content=\"width=device-width,initial-scale=1\"><title>%s</title>\n<style>%s"
            ".src td{padding:0 8px;border:0}.src tr.hit td:first-child{border-left:4px solid var(--goodbar)}"
            ".src tr.weak td:first-child{border-left:4px solid var(--badbar)}"
            ".src pre{margin:0;padding:0;background:none}"
            "</style></head>\n<body><main>\n%s\n</main></body></html>\n" % (html.escape(title), style, body))


def cells(values, tag="td"):
    return "<tr>%s</tr>" % "".join("<%s%s>%s</%s>" % (tag, " class=\"n\"" if isinstance(v, (int, float)) or k else "",
                                                      v, tag) for k, v in enumerate(values))


def rows_html(title, rows):
    lines = ["<h2>%s</h2><div class=\"scroll\"><table>" % title, cells(
        [title, "mutants", "detected", "infected", "reached", "not reached", "equivalent", "score"], "th")]
    for r in rows:
        v = collections.Counter(r["verdicts"])
        lines.append(cells([html.escape(r["name"]), r["mutants"], v["detected"], sum(v[n] for n in WEAK),
                            v["reached"], v["not-reached"], sum(v[n] for n in NOT_COUNTED), "%.1f %%" % r["score"]]))
    return "\n".join(lines + ["</table></div>"])


def file_name(path):
    return path.strip("/").replace("/", "_") + ".html"


def mutant_html(m):
    bad = m["verdict"] in VERDICTS[1:]
    out = "<span class=\"%s\">%d %s</span> %s: <code>%s</code> &rarr; <code>%s</code>" % (
        "bad" if bad else "good", m["id"], m["verdict"], m["operator"], html.escape(m["old"][:80]),
        html.escape(m["new"][:80]))
    if m["verdict"] == "detected":
        out += " by %s after %d cycles" % (html.escape(m["signature"]), m["cycles"])
    elif "why" in m:
        out += ": " + html.escape(m["why"])
    elif "replay" in m:
        out += "<br><code>%s</code>" % html.escape(m["replay"])
    return out


def source_page(path, text, mutants, hits):
    """A source with the verdicts beside its lines, and how often each line was executed, where that is known."""
    at = collections.defaultdict(list)
    for m in mutants:
        at[m["line"]].append(m)
    lines = ["<p><a href=\"index.html\">all sources</a></p><h1>%s</h1><table class=\"src\">" % html.escape(path)]
    for number, line in enumerate(text.splitlines(), 1):
        ms = at[number]
        found = sum(m["verdict"] == "detected" for m in ms)
        counted = sum(m["verdict"] not in NOT_COUNTED for m in ms)
        note, kind = "", "" if not ms else "hit" if found == counted else "weak"
        if ms:
            note = "<details><summary>%d of %d</summary>%s</details>" % (
                found, counted, "<br>".join(mutant_html(m) for m in ms))
        lines.append("<tr id=\"%d\" class=\"%s\"><td class=\"n soft\">%d</td><td class=\"n soft\">%s</td>"
                     "<td><pre>%s</pre>%s</td></tr>" % (number, kind, number,
                                       hits.get(number, ""), html.escape(line), note))
    return page(path, "\n".join(lines + ["</table>"]))


def read_info(path):
    """{file: {line: hits}} of a file of lcov."""
    found, lines = {}, {}
    with open(path, encoding="utf-8") as src:
        for text in src:
            key, _, value = text.strip().partition(":")
            if key == "SF":
                lines = found.setdefault(value, {})
            elif key == "DA":
                number, count = value.split(",")[:2]
                lines[int(number)] = int(count)
    return found


def write_pages(kept, folder, info=None):
    """index.html and a page for each source."""
    os.makedirs(folder, exist_ok=True)
    hits, s = read_info(info) if info else {}, summary(kept)
    by_file = collections.defaultdict(list)
    for m in kept["mutants"]:
        by_file[m["file"]].append(m)
    links = [dict(r, name=r["name"]) for r in groups(kept["mutants"], "file")]
    body = ["<h1>Qualification of %s, %s, suite %s</h1><div class=\"tiles\">" % (s["design"], s["cfg"], s["suite"])]
    for figure, what in [("%.2f %%" % s["score"], "score")] + [(str(s["verdicts"][v]), MEANING[v]) for v in
                                                              VERDICTS + NOT_COUNTED if v in s["verdicts"]]:
        body.append("<div class=\"tile\"><b>%s</b><span>%s</span></div>" % (figure, html.escape(what)))
    body.append("</div><p>%s</p>" % "<br>".join(html.escape(line) for line in head(s, kept)))
    sources = rows_html("source", links)
    for path in by_file:
        sources = sources.replace("<td>%s</td>" % html.escape(path),
                                  "<td><a href=\"%s\">%s</a></td>" % (file_name(path), html.escape(path)))
    body += [sources, rows_html("module", s["modules"]), rows_html("operator", s["operators"])]
    body.append("<h2>check</h2><div class=\"scroll\"><table>" + cells(["check", "detected first"], "th") + "".join(
        cells([html.escape(c["name"]), c["detected"]]) for c in s["checks"]) + "</table></div>")
    if "worth" in s:
        body.append("<h2>redundant, indispensable</h2><pre>%s</pre>" % html.escape("\n".join(worth_text(s))))
    weak = [m for m in kept["mutants"] if m["verdict"] in VERDICTS[1:]]
    body.append("<h2>not detected</h2>" + "".join(
        "<p><a href=\"%s#%d\">%s:%d</a> %s</p>" % (file_name(m["file"]), m["line"], html.escape(m["file"]), m["line"],
                                                   mutant_html(m)) for m in weak))
    write(os.path.join(folder, "index.html"), page("Qualification of %s" % s["design"], "\n".join(body)))
    for path, ms in by_file.items():
        write(os.path.join(folder, file_name(path)), source_page(path, kept["sources"][path], ms, hits.get(path, {})))
