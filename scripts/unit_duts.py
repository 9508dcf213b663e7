#!/usr/bin/python3
"""List the unit benches for make: name, module under test and its parameters.

unit_<name>.c may say in its first 20 lines: /* dut: <module> [each ...] [params: -GX=1 ...] */; the module is
<prefix><name> or <name> otherwise. What stands behind "each" asks for a frame with several of it:
scripts/unit_frame.py."""

import argparse
import glob
import os
import re
import sys

DIRECTIVE = re.compile(r"/\*\s*dut:\s*(?P<dut>\w+)\s*"
                       r"(?:each\s+(?P<each>\w+)=(?P<values>[\w,]+)\s*(?:shared:(?P<shared>[\w\s]*))?"
                       r"(?:numbered:(?P<numbered>[\w\s]*))?)?(?:params:\s*(?P<params>[^*]*?))?\s*\*/")
PARAMETER = r"parameter\s+(?:int\s+unsigned\s+|int\s+)?%s\b"


def sources(roots):
    files = {}
    for root in roots:
        for path in glob.glob(os.path.join(root, "**", "*.sv"), recursive=True):
            files.setdefault(os.path.splitext(os.path.basename(path))[0], path)
    return files


def directive(path):
    """What a bench says of its module, None if nothing."""
    with open(path, encoding="utf-8") as src:
        return DIRECTIVE.search("".join(src.readlines()[:20]))


def main():
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("--rtl", action="append", default=[], help="folder with one module a file (repeatable)")
    ap.add_argument("--prefix", default="", help="that the modules of the design may have")
    ap.add_argument("--param", action="append", default=[],
                    help="parameter of the configurations; a module that has it gets PARAM_<name> (repeatable)")
    ap.add_argument("benches", nargs="*", help="unit_<name>.c files")
    args = ap.parse_args()
    modules = sources(args.rtl)
    names, bad = [], False
    for path in args.benches:
        name = re.sub(r"^unit_", "", os.path.splitext(os.path.basename(path))[0])
        found = directive(path)
        dut = found["dut"] if found else name
        if not found and dut not in modules and args.prefix + dut in modules:
            dut = args.prefix + dut
        if dut not in modules:
            print("%s: no module %s in %s" % (path, dut, ", ".join(args.rtl)), file=sys.stderr)
            print("$(warning %s: no module %s, bench left out)" % (path, dut))
            bad = True
            continue
        with open(modules[dut], encoding="utf-8") as src:
            text = src.read()
        params = ["-G%s=$(PARAM_%s)" % (p, p) for p in args.param if re.search(PARAMETER % p, text)]
        params += (found["params"] or "").split() if found else []
        names.append(name)
        frame = found and found["each"]
        print("UNIT_DUT_%s := %s" % (name, dut + "_bench" if frame else dut))
        if frame:
            print("UNIT_FRAMED_%s := %s" % (name, modules[dut]))
        print("UNIT_PARAMS_%s := %s" % (name, " ".join(params)))
    print("UNITS := " + " ".join(names))
    print("UNITS_BAD := " + ("1" if bad else ""))
    return 0


if __name__ == "__main__":
    sys.exit(main())
