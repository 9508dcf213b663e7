#!/usr/bin/python3
"""Write a project around a design: description, Makefile, golden model, driver, bench, test with knobs, checks, suites,
deliberate bugs, CI recipes, README. It builds and passes at once.

The ports are read through Verilator. AXI4, AXI4-Lite, AXI4-Stream, APB, plain valid/ready and interrupts are recognised
by their names, clocks and resets with their polarity also by their use in the sources; what was found and guessed is
printed and stands in the README."""

import argparse
import os
import re
import shutil
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import new_ports  # noqa: E402
import new_rtl  # noqa: E402
import new_write  # noqa: E402


def parse(argv):
    parser = argparse.ArgumentParser(prog="tandem new", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", metavar="NAME", help="of the project: a new folder, and the design's name in it")
    parser.add_argument("--rtl", metavar="FILE", nargs="+", required=True, help="sources; packages first")
    parser.add_argument("--top", metavar="MODULE", help="top module (default: the one that no other instantiates)")
    parser.add_argument("--include", metavar="DIR", action="append", default=[], help="folder of included sources")
    parser.add_argument("--param", metavar="NAME=VALUE", action="append", default=[],
                        help="parameter of the top module")
    parser.add_argument("--clock", metavar="NAME[=PERIOD]", action="append", default=[],
                        help="an input that is a clock, and its period in ns, where name and use do not say so")
    parser.add_argument("--reset", metavar="NAME[=low|high]", action="append", default=[],
                        help="an input that is a reset, and its polarity")
    parser.add_argument("--memory", metavar="PREFIX", action="append", default=[],
                        help="an AXI4-Lite slave that is a memory: driven like an AXI4 slave, with random accesses")
    parser.add_argument("--registers", metavar="PREFIX", action="append", default=[],
                        help="an AXI4-Lite slave with registers, although it looks like a way to a master")
    parser.add_argument("--apart", action="store_true", help="several AXI slaves have a memory each, not the same one")
    parser.add_argument("--through", metavar="IN=OUT", action="append", default=[],
                        help="streams: what goes into IN comes out of OUT, in order and unchanged (a scoreboard)")
    parser.add_argument("--verilator", metavar="PROGRAM", default=os.environ.get("VERILATOR", "verilator"),
                        help="default: verilator, or VERILATOR of the environment")
    parser.add_argument("--link", action="store_true", help="use the sources where they are, instead of copies in rtl/")
    args = parser.parse_args(argv)
    first = {}
    for f in args.rtl:
        first.setdefault(os.path.realpath(f), f)  # a glob may name one again
    args.rtl = list(first.values())
    return args


def plain_name(path):
    """The name of a copy, without what make does not take."""
    return re.sub(r"[^\w.+-]", "_", os.path.basename(path))


def sources(args, folder, included):
    """The sources as the project names them; included: files beside them that they include."""
    if args.link:
        paths = [[os.path.abspath(f) for f in files] for files in (args.rtl, args.include + args.beside)]
        for path in paths[0] + paths[1]:
            if not re.fullmatch(r"[\w./+@%,=~-]+", path):
                raise new_ports.Bad("--link: %s: make takes no blanks and signs in paths (without --link: copies)" %
                                    path)
        return paths[0], paths[1]
    names = [plain_name(f) for f in args.rtl] + [os.path.basename(i) for i in included if i not in args.rtl]
    for name in names:
        if names.count(name) > 1:
            raise new_ports.Bad("--rtl: two files %s: expected different names (or --link)" % name)
    os.makedirs(os.path.join(folder, "rtl"))
    for f in args.rtl:
        shutil.copyfile(f, os.path.join(folder, "rtl", plain_name(f)))
    for f in included:
        shutil.copyfile(f, os.path.join(folder, "rtl", os.path.basename(f)))
    includes = ["rtl"] if included else []
    for i in args.include:
        to = os.path.join("rtl", "include", plain_name(os.path.abspath(i)))
        to += str(len(includes)) if to in includes else ""  # several are called "include"
        shutil.copytree(i, os.path.join(folder, to))
        includes.append(to)
    return ["rtl/" + plain_name(f) for f in args.rtl], includes


def find_included(args, said):
    """Files that sources include and that lie beside them: their folders are searched, too. The files."""
    found, todo = [], list(args.rtl)
    while todo:
        path = todo.pop()
        with open(path, encoding="utf-8", errors="replace") as src:
            names = re.findall(r'^\s*`include\s+"([^"]+)"', src.read(), re.M)
        for name in names:
            beside = os.path.join(os.path.dirname(path), name)
            elsewhere = any(os.path.exists(os.path.join(i, name)) for i in args.include)
            if not elsewhere and os.path.isfile(beside) and beside not in found:
                found.append(beside)
                todo.append(beside)
    if found:
        said.append("included files beside the sources: %s" % ", ".join(os.path.basename(f) for f in found))
    return found


def make(args):
    folder = os.path.abspath(args.name)
    name = os.path.basename(folder)
    said = []
    if not re.fullmatch(r"[a-z][a-z0-9_]{0,22}", name):
        raise new_ports.Bad("%s: expected a name of at most 23 small letters, digits and _" % name)
    if os.path.exists(folder):
        raise new_ports.Bad("%s exists: expected a new folder" % args.name)
    for p in args.param:
        if not re.fullmatch(r"\w+=\S+", p):
            raise new_ports.Bad("--param: expected NAME=VALUE, got '%s'" % p)
    for path in args.rtl + args.include:
        if not os.path.exists(path):
            raise new_ports.Bad("%s: No such file or directory" % path)
    included = find_included(args, said)
    args.beside = sorted({os.path.dirname(f) or "." for f in args.rtl}) if included else []
    top = args.top or new_rtl.find_top(args.rtl, said)
    ports = new_ports.read(args.rtl, top, args.include + args.beside, args.param, args.verilator, said)
    design = new_ports.Design(ports, said, args.memory, args.registers, new_rtl.Rtl(args.rtl), top,
                              args.clock, args.reset)
    design.connect_streams(args.through)
    temporary = folder + ".tmp%d" % os.getpid()
    try:
        os.makedirs(temporary)
        files, includes = sources(args, temporary, included)
        written = new_write.Project(name, top, design, files, includes, args.param, said,
                                    args.apart).write(temporary, args.verilator)
        os.rename(temporary, folder)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    print("%s: %s, %d ports" % (args.name, top, len(ports)))
    for line in said:
        print("  " + line)
    print("%d files. Next: make -C %s regress" % (len(written), args.name))


def main():
    try:
        make(parse(sys.argv[1:]))
    except (new_ports.Bad, OSError) as err:
        print("tandem new: %s" % err, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
