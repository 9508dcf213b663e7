#!/usr/bin/python3
"""Check the layers: which folder may include headers of which (docs/architecture.md, section 1)."""

import fnmatch
import glob
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import design  # noqa: E402

# folder -> folders whose headers it may include besides its own; NAME: a design, which sees only its own folders; gen:
# generated headers
FLOORS = {
    "gen/NAME": set(),
    "report": set(),
    "cmodel/lib": set(),
    "cmodel/NAME": {"cmodel/lib", "gen/NAME"},
    "drivers/lib": {"gen/DEFAULT/*_regs.h"},
    "drivers/NAME": {"drivers/lib", "gen/NAME/*_regs.h"},
    "opt": set(),
    # the folders of tb, from the bottom up; heat and scoreboard include none of them, tb.h includes all
    "tb/sim": set(),
    "tb/case": set(),
    "tb/tlog": set(),
    "tb/tap": {"tb/sim"},
    "tb/mem": {"tb/case"},
    "tb/wave": {"tb/case"},
    "tb/axi": {"tb/sim", "tb/case", "tb/mem", "tb/wave"},
    "tb/stream": {"tb/sim", "tb/case"},
    "tb/apb": {"tb/sim", "tb/case", "tb/mem"},
    "tb/run": {"tb/sim", "tb/case", "tb/mem", "tb/wave", "tb/tap", "tb/axi", "tb/stream", "tb/apb"},
    "tb/prog": {"tb/tlog", "tb/sim", "tb/case", "tb/mem", "tb/wave", "tb/tap", "tb/axi", "tb/stream", "tb/apb",
                "tb/run"},
    "tb": {"tb/sim", "tb/case", "tb/tlog", "tb/tap", "tb/mem", "tb/wave", "tb/axi", "tb/stream", "tb/apb", "tb/run",
           "tb/prog"},
    "tb/NAME": {"tb", "cmodel/lib", "cmodel/NAME", "drivers/lib/*_hal.h", "drivers/NAME/*_hal.h", "gen/NAME"},
    # the command tandem, without a design
    "install": {"tb"},
    "coverage": set(),
    "coverage/code": {"coverage"},
    "coverage/bench": {"coverage", "tb"},
    "coverage/main": {"coverage", "coverage/code"},
    "coverage/NAME": {"coverage", "tb", "gen/NAME/*_regs.h", "designs/NAME/*.def"},
    "testcases/NAME": {"gen/NAME/*_regs.h", "designs/NAME/*.def", "drivers/lib", "drivers/NAME", "tb", "tb/NAME",
                       "coverage", "coverage/bench", "coverage/code", "coverage/NAME"},
    "testcases/NAME/network": {"gen/NAME/*_regs.h", "testcases/NAME", "network/network.h", "network/tried.h",
                               "network/NAME", "drivers/lib", "drivers/NAME", "tb", "tb/NAME", "coverage",
                               "coverage/code", "coverage/NAME"},
    "testcases/NAME/unit": {"gen/NAME", "testcases/NAME", "tb", "tb/NAME", "cmodel/lib", "cmodel/NAME", "coverage",
                            "coverage/code", "coverage/NAME"},
    "network": {"gen/DEFAULT/*_regs.h", "drivers/lib", "drivers/DEFAULT", "tb", "tb/DEFAULT"},
    "network/NAME": {"gen/NAME/*_regs.h", "drivers/lib", "drivers/NAME", "tb", "tb/NAME", "network"},
    "python": {"gen/DEFAULT", "drivers/lib", "drivers/DEFAULT", "tb", "tb/DEFAULT", "cmodel/lib", "cmodel/DEFAULT",
               "network"},
    "regress": set(),
}
# system headers of freestanding code
FREESTANDING = {"stdint.h", "stddef.h", "stdbool.h"}
# code of the driver that runs under an operating system
HOSTED = {"drivers/lib/hal_mmio.c"}
# hosted code may use the leaf libraries: pages and files, options and numbers
for name, allowed in FLOORS.items():
    if name.split("/")[0] not in ("cmodel", "drivers", "report", "opt"):
        allowed |= {"report", "opt"}
# a folder that may include tb may include all its folders
for allowed in FLOORS.values():
    if "tb" in allowed:
        allowed |= FLOORS["tb"]
INCLUDE = re.compile(r'^\s*#\s*include\s+([<"])([^>"]+)[>"]', re.M)
NAMES = [d.name for d in design.load()]


def named(text, name):
    return text.replace("NAME", name).replace("DEFAULT", NAMES[0])


RULES = {named(folder, name): {named(seen, name) for seen in floors}
         for folder, floors in FLOORS.items() for name in NAMES}
FOLDERS = sorted(RULES, key=len, reverse=True)


def folder_of(path):
    for folder in FOLDERS:
        if path.startswith(folder + "/"):
            return folder
    return None


def resolve(path, name):
    """The file of the repository that an #include "..." means, by the include path of the build."""
    of = next((n for n in NAMES if n in path.split("/")[:-1]), NAMES[0])
    rooms = [room + "/" + of for room in ("cmodel", "drivers", "tb", "testcases")] + ["testcases/%s/unit" % of]
    for base in [os.path.dirname(path), ".", "cmodel/lib", "drivers/lib", "tb", "network", "regress"] + rooms:
        candidate = os.path.normpath(os.path.join(base, name))
        if os.path.isfile(candidate):
            return candidate
    generated = "gen/%s/%s" % (of, name)
    return generated if os.path.isfile(os.path.join(os.environ.get("BUILD", "build"), generated)) else None


def check(path, errors):
    own = folder_of(path)
    with open(path, encoding="utf-8") as src:
        text = src.read()
    for kind, name in INCLUDE.findall(text):
        if kind == "<":
            if own.startswith("drivers/") and path not in HOSTED and name not in FREESTANDING:
                errors.append("%s: <%s>: freestanding code includes only %s" %
                              (path, name, ", ".join(sorted(FREESTANDING))))
            continue
        target = resolve(path, name)
        if target is None:
            errors.append("%s: \"%s\": no such header in the repository" % (path, name))
            continue
        floor = folder_of(target)
        if floor != own and floor not in RULES[own] and not any(fnmatch.fnmatch(target, seen) for seen in RULES[own]):
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
