#!/usr/bin/python3
"""Check the floors of the house: which folder may include headers of which (docs/architecture.md, section 1)."""

import glob
import os
import re
import sys

# folder -> folders whose headers it may include besides its own
FLOORS = {
    "report": set(),
    "cmodel": {"drivers/npu/npu_regs.h"},
    "drivers": set(),
    "opt": set(),
    # the rooms of the framework, from the bottom up; heat and scoreboard stand on nothing, tb.h includes everything
    "tb/sim": set(),
    "tb/case": set(),
    "tb/tlog": set(),
    "tb/tap": {"tb/sim"},
    "tb/mem": {"tb/case"},
    "tb/wave": {"tb/case"},
    "tb/axi": {"tb/sim", "tb/case", "tb/mem", "tb/wave"},
    "tb/run": {"tb/sim", "tb/case", "tb/mem", "tb/wave", "tb/tap", "tb/axi"},
    "tb/prog": {"opt", "tb/tlog", "tb/sim", "tb/case", "tb/mem", "tb/wave", "tb/tap", "tb/axi", "tb/run"},
    "tb": {"tb/sim", "tb/case", "tb/tlog", "tb/tap", "tb/mem", "tb/wave", "tb/axi", "tb/run", "tb/prog"},
    "tb/npu": {"tb", "cmodel", "drivers/lib/npu_hal.h", "drivers/npu/npu_regs.h"},
    "coverage": set(),
    "coverage/code": {"coverage"},
    "coverage/main": {"coverage", "coverage/code", "opt"},
    "coverage/npu": {"coverage", "tb", "drivers/npu/npu_regs.h"},
    "testcases": {"drivers", "tb", "opt", "tb/npu", "coverage", "coverage/code", "coverage/npu"},
    "testcases/npu/network": {"testcases", "network/network.h", "drivers", "tb", "tb/npu", "coverage", "coverage/code", "coverage/npu"},
    "testcases/npu/unit": {"drivers/npu/npu_regs.h", "testcases", "tb", "opt", "tb/npu", "cmodel", "coverage", "coverage/code", "coverage/npu"},
    "network": {"drivers", "tb", "tb/npu", "opt"},
    "python": {"drivers", "tb", "tb/npu", "cmodel", "network", "testcases/npu/axi_check.h"},
    "regress": {"opt"},
    "examples/axi_copy": {"tb", "opt"},
}
# system headers of freestanding code
FREESTANDING = {"stdint.h", "stddef.h", "stdbool.h"}
# code of the driver that runs under an operating system
HOSTED = {"drivers/lib/hal_mmio.c"}
# what runs under an operating system may use the leaf library of pages and files
for name, allowed in FLOORS.items():
    if name not in ("cmodel", "drivers", "report"):
        allowed.add("report")
# who may see tb may see all its rooms
for allowed in FLOORS.values():
    if "tb" in allowed:
        allowed |= FLOORS["tb"]
INCLUDE = re.compile(r'^\s*#\s*include\s+([<"])([^>"]+)[>"]', re.M)
FOLDERS = sorted(FLOORS, key=len, reverse=True)


def folder_of(path):
    for folder in FOLDERS:
        if path.startswith(folder + "/"):
            return folder
    return None


def resolve(path, name):
    """The file of the repository that an #include "..." means, by the include path of the build."""
    for base in [os.path.dirname(path), ".", "cmodel/npu", "cmodel/lib", "drivers/npu", "drivers/lib", "tb", "tb/npu", "network", "regress", "testcases/npu", "testcases/npu/unit",
                 "examples/axi_copy"]:
        candidate = os.path.normpath(os.path.join(base, name))
        if os.path.isfile(candidate):
            return candidate
    return None


def check(path, errors):
    own = folder_of(path)
    with open(path, encoding="utf-8") as src:
        text = src.read()
    for kind, name in INCLUDE.findall(text):
        if kind == "<":
            if own == "drivers" and path not in HOSTED and name not in FREESTANDING:
                errors.append("%s: <%s>: freestanding code includes only %s" % (path, name, ", ".join(sorted(FREESTANDING))))
            continue
        target = resolve(path, name)
        if target is None:
            errors.append("%s: \"%s\": no such header in the repository" % (path, name))
            continue
        floor = folder_of(target)
        if floor != own and floor not in FLOORS[own] and target not in FLOORS[own]:
            errors.append("%s: includes %s: %s may not see it" % (path, target, own))


def main():
    if len(sys.argv) > 1:
        print(__doc__)
        return 0 if sys.argv[1] == "--help" else 2
    errors = []
    for pattern in ("*.c", "*.h"):
        for path in sorted(glob.glob("**/" + pattern, recursive=True)):
            if folder_of(path) and not path.startswith("build"):
                check(path, errors)
    for error in errors:
        print(error)
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
