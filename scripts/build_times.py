#!/usr/bin/python3
"""What each step of a build costs (make build-times): runs a command under which make writes the times of its commands
(scripts/timed_shell.sh), and prints them by step and by program.

  build_times.py FILE FOLDER COMMAND...    FILE: where make writes the times; FOLDER: what is built

Exit status: that of the command."""
import os
import re
import resource
import subprocess
import sys
import time

ROWS = 24  # programs of the table
STEPS = (("Verilator", r"(?P<at>.*)/v/(?P<top>\w+)/V\w+\.mk"),
         ("C++", r"(?P<at>.*)/v/(?P<top>\w+)/(?:model|model_slow|shim)\.o"),
         ("C++", r"(?P<at>verilated-\w+)/.*\.o"),
         ("C", r"(?P<at>host[^/]*)/obj[^/]*/(?P<room>[^/]+)/.*\.o"),
         ("C", r"(?P<at>.*-\w+)/obj/.*/unit_(?P<unit>\w+)\.o"),
         ("C", r"(?P<at>.*-\w+)/obj/.*\.o"),
         ("archive", r".*\.a"),
         ("link", r"(?P<at>python\w*)/.*\.so"),
         ("link", r"(?P<at>host[^/]*|.*-(?:fast|tap|debug|cov|san))/(?:tests/)?(?!flags$)(?P<program>[\w-]+)"))
COLUMNS = ("Verilator", "C++", "C", "link", "other")


def step_of(target):
    """(step, program or what several of them share) of a target below the build folder."""
    for step, pattern in STEPS:
        m = re.fullmatch(pattern, target)
        if m:
            part = m.groupdict()
            at = part.get("at") or ""
            if part.get("top"):
                bench = part["top"].startswith("unit_")
                return step, f"{at}: unit-{part['top'][5:]}" if bench else f"{at}: {part['top']}"
            if part.get("unit"):
                return step, f"{at}: unit-{part['unit']}"
            if part.get("program"):
                return step, f"{at}: {part['program']}"
            if part.get("room"):
                return step, f"{at}: {part['room']}/"
            if step == "C":
                return step, f"{at}: sources of its programs"
            return step, f"{at}: shared" if at else "archives"
    return "generated sources, stamps", "make and its scripts"


def read(path, folder):
    """[(CPU seconds, seconds, step, program)]"""
    rows = []
    with open(path, encoding="utf-8") as src:
        for line in src:
            wall, user, system, target = line.rstrip("\n").split(" ", 3)
            below = os.path.relpath(target, folder)
            # what is not below the folder runs a make, whose recipes are here; so does tandem-python
            if not below.startswith("../") and not below.endswith("/tandem-python"):
                rows.append((float(user) + float(system), float(wall), *step_of(below)))
    return rows


def table(rows, cpu, wall):
    total = {}
    for seconds, _, step, _ in rows:
        total.setdefault(step, [0, 0])
        total[step][0] += seconds
        total[step][1] += 1
    made = sum(seconds for seconds, *_ in rows)
    total["make itself, shells"] = [max(0, cpu - made), 0]
    out = [f"{'step':28}{'CPU s':>10}{'share':>8}{'commands':>10}"]
    for step, (seconds, count) in sorted(total.items(), key=lambda x: -x[1][0]):
        out.append(f"{step:28}{seconds:10.1f}{seconds / max(cpu, 1e-9):8.1%}{count or '':>10}")
    out += [f"{'all':28}{cpu:10.1f}{'':8}{len(rows):10}", f"{wall:.0f} s by the clock", ""]
    programs = {}
    for seconds, _, step, program in rows:
        column = step if step in COLUMNS else "other"
        programs.setdefault(program, dict.fromkeys(COLUMNS, 0))[column] += seconds
    ranked = sorted(programs.items(), key=lambda x: -sum(x[1].values()))
    rest = dict.fromkeys(COLUMNS, 0)
    for _, costs in ranked[ROWS:]:
        rest = {c: rest[c] + costs[c] for c in COLUMNS}
    shown = ranked[:ROWS] + ([(f"{len(ranked) - ROWS} others", rest)] if len(ranked) > ROWS else [])
    width = max(len(name) for name, _ in shown) + 2
    out.append(f"{'CPU seconds':{width}}" + "".join(f"{c:>11}" for c in COLUMNS) + f"{'all':>10}")
    for name, costs in shown:
        out.append(f"{name:{width}}" + "".join(f"{costs[c]:11.1f}" if costs[c] >= 0.05 else f"{'':11}"
                                               for c in COLUMNS) + f"{sum(costs.values()):10.1f}")
    return "\n".join(out)


def main():
    if len(sys.argv) < 4 or sys.argv[1].startswith("-"):
        print(__doc__)
        return 0 if "--help" in sys.argv[1:2] else 2
    path, folder, command = sys.argv[1], sys.argv[2], sys.argv[3:]
    try:
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        with open(path, "w", encoding="utf-8"):
            pass  # of this build alone
        begin = time.monotonic()
        status = subprocess.run(command, env=dict(os.environ, TANDEM_TIMES=os.path.abspath(path))).returncode
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        rows = read(path, folder)
    except (OSError, ValueError) as err:
        print(f"build_times.py: {err}", file=sys.stderr)
        return 2
    if rows:
        print(table(rows, used.ru_utime + used.ru_stime, time.monotonic() - begin))
    else:
        print("nothing was built")
    return status


if __name__ == "__main__":
    sys.exit(main())
