"""The worst path of a unit, from Yosys' static timing analysis (sta), for synth.py."""

import re

DOCUMENT = 200  # MHz of document 000
WIRE = 0.3  # ns of a routed net: what Yosys' own mapper (abc9) assumes for this family
# Inputs of a cell that a fixed connection of the device drives: carry chains, wide multiplexers, cascades of DSP
# slices, and the flip-flop behind a LUT.
FIXED = {"CARRY4.CI", "MUXF7.I0", "MUXF7.I1", "MUXF8.I0", "MUXF8.I1", "DSP48E1.PCIN", "FDRE.D", "FDSE.D", "FDCE.D",
         "FDPE.D"}


def readable(name):
    """A flip-flop is named after its output (y_o[3]\\FDRE), a port as it is; what the tool has named gets no name."""
    name = name.lstrip("\\").split("\\")[0].replace(" ", "")
    return re.sub(r"\[\d+\]$", "", name) if "$" not in name else ""


def parse_path(text):
    """{ns in cells, routed nets, from, to, their kinds} of the latest arrival; None: no path."""
    lines = re.findall(r"^ +(\d+) +(\S.*) \((<primary \w+>|\w+\.[^)]*)\)$", text, re.M)
    if not lines:
        return None
    steps = [step for _, _, step in lines]
    routed = sum(1 for step in steps if "->" in step or step.endswith(".D")
                 if step.split("->")[0] not in FIXED and not step.split("->")[0].endswith(".C"))
    ends = []
    for _, name, step in (lines[-1], lines[0]):
        kind = "port" if step.startswith("<") else "register" if step.startswith("FD") else step.split(".")[0]
        ends.append((readable(name) or kind, kind))
    return {"cells": int(lines[0][0]) / 1000, "routed": routed, "from": ends[0][0], "from_kind": ends[0][1],
            "to": ends[1][0], "to_kind": ends[1][1]}


def nanoseconds(path):
    return path["cells"] + WIRE * path["routed"]


def end(name, kind):
    """The end of a path. Clock and reset are inputs of the register whose output begins it."""
    if name in ("clk_i", "rst_ni"):
        return "register"
    return name if kind in ("port", name) else "%s (%s)" % (name, kind)


def print_paths(jobs, results):
    """A row for each module, with the slowest of its instances, slow ones first. The rows."""
    worst = {}
    for job in jobs:
        path = results.get(job.key, {}).get("path")
        if path and (job.module not in worst or nanoseconds(path) > nanoseconds(worst[job.module])):
            worst[job.module] = path
    rows = sorted(worst.items(), key=lambda item: (-nanoseconds(item[1]), item[0]))
    if rows:
        print("\nLongest path of each unit, from register or input to register or output; ns: cells by Yosys' models, "
              "and %g ns for each routed net" % WIRE)
        print("| unit | ns | MHz | of %d MHz | in cells | routed nets | from | to |" % DOCUMENT)
        print("| --- | ---: | ---: | ---: | ---: | ---: | --- | --- |")
    for name, path in rows:
        ns = nanoseconds(path)
        mhz = 1000 / ns if ns else 0
        print("| %s | %.1f | %.0f | %.0f %% | %.1f | %d | %s | %s |" %
              (name, ns, mhz, 100 * mhz / DOCUMENT, path["cells"], path["routed"], end(path["from"], path["from_kind"]),
               end(path["to"], path["to_kind"])))
    return [dict(path, unit=name, ns=round(nanoseconds(path), 3)) for name, path in rows]
