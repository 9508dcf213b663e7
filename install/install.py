#!/usr/bin/python3
"""make install: programs, library, headers, make fragment, CMake package, pkg-config file and man pages of the
framework, below DESTDIR/PREFIX. No file of a design is among them.

Headers keep their folders below include/tandem; their includes become relative, so that #include <tandem/tb.h> needs no
further folder. Man pages are made from --help by help2man; without it there are none, with a line that says so."""

import argparse
import glob
import os
import re
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
import api  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# folders with public headers: where they are, where they go
HEADERS = (("tb", ""), ("opt", "opt"), ("coverage", "coverage"))
# private to their folders
SKIPPED = re.compile(r"_priv\.h$|/prog/(options|axi_check|bus_check|boards|stream_log)\.h$|/axi/wave_name\.h$|"
                     r"/wave/(vcd|view|svg)\.h$|^coverage/main/")
PROGRAMS = ("tandem", "tandem-regress", "tandem-cov")
SCRIPTS = ("scripts/gen_shim.py", "scripts/gen_taps.py", "scripts/gen_file.py", "scripts/rtl_modules.py",
           "scripts/tap_alias.py", "scripts/design.py", "scripts/boards.py", "scripts/gen_regs.py",
           "scripts/regs_rdl.py", "scripts/regs_tasks.py", "scripts/mutate.py", "scripts/mutants_of.py",
           "scripts/sv_tree.py", "scripts/closure.py", "scripts/closure_report.py", "scripts/reached.py",
           "install/new.py", "install/new_ports.py", "install/new_rtl.py", "install/new_write.py",
           "install/new_code.py", "install/new_text.py")
QUALIFY = "scripts/qualify*.py"  # parts of make qualify
SHELL = ("scripts/build.sh", "scripts/build_suite.sh", "scripts/locked.sh", "scripts/of_run.sh", "scripts/of_case.sh",
         "scripts/repro.sh", "scripts/shrink.sh", "scripts/wave.sh", "scripts/coverage.sh", "install/mutants.sh")
DATA = ("scripts/verilate.mk", "install/tandem.mk", "report/page.css")
PAGES = (("tandem", (), "tools and projects around Verilated designs"),
         ("tandem-new", ("new",), "write a project around a design"),
         ("tandem-axi-check", ("axi-check",), "check a port in a waveform by the rules of AXI"),
         ("tandem-wave", ("wave",), "a waveform file as table, picture or save file"),
         ("tandem-diff", ("diff",), "compare two folders of tensor logs"),
         ("tandem-regress", None, "run suites of a project, keep and query their results"),
         ("tandem-cov", None, "merge, report and rank coverage files"))
INCLUDE = re.compile(r'^(\s*#\s*include\s+)"([^"]+)"', re.M)


def designs():
    done = subprocess.run([sys.executable, os.path.join(ROOT, "scripts/design.py"), "list"], stdout=subprocess.PIPE,
                          check=True, text=True)
    return done.stdout.split()


def headers():
    """path in the tree: path below include/tandem"""
    found = {}
    rooms = {os.path.join(folder, name) for folder, _ in HEADERS for name in designs()}
    for folder, to in HEADERS:
        for path in glob.glob(os.path.join(ROOT, folder, "**", "*.*"), recursive=True):
            source = os.path.relpath(path, ROOT)
            if not path.endswith((".h", ".hpp", ".def")) or any(source.startswith(room + "/") for room in rooms):
                continue
            if not SKIPPED.search(source):
                found[source] = os.path.normpath(os.path.join(to, os.path.relpath(source, folder)))
    return found


def relative(source, text, found):
    """The includes of a header, relative to where it will be."""
    def one(match):
        for base in (os.path.dirname(source), ".", "tb"):
            target = os.path.normpath(os.path.join(base, match[2]))
            if target in found:
                return '%s"%s"' % (match[1], os.path.relpath(found[target], os.path.dirname(found[source]) or "."))
        return match[0]  # of Verilator, or generated
    return INCLUDE.sub(one, text)


def put(path, text=None, copy=None, mode=0o644):
    """A file, complete or not at all."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    temporary = "%s.tmp%d" % (path, os.getpid())
    if copy is not None:
        shutil.copyfile(copy, temporary)
    else:
        with open(temporary, "w", encoding="utf-8") as out:
            out.write(text)
    os.chmod(temporary, mode)
    os.replace(temporary, path)


def man_pages(args, folder):
    tool = shutil.which("help2man")
    if tool is None:
        print("no man pages: help2man is missing")
        return
    for name, words, about in PAGES:
        program = os.path.join(folder, "bin", "tandem" if words is not None else name)
        command = " ".join([program] + list(words or ()))
        done = subprocess.run([tool, "--no-info", "--no-discard-stderr", "--section=1", "--name=" + about,
                               "--source=tandem", "--version-string=" + args.version, "--manual=Tandem", command],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if done.returncode != 0:
            raise SystemExit("install: %s --help: %s" % (command, done.stderr.strip()))
        text = done.stdout.replace(program, os.path.basename(program))
        text = re.sub(r"^\.TH .*? \"1\"", ".TH %s \"1\"" % name.upper(), text, count=1, flags=re.M)
        text = re.sub(r"^\.SH NAME\n.*", ".SH NAME\n%s \\\\- %s" % (name, about), text, count=1, flags=re.M)
        put(os.path.join(folder, "share/man/man1", name + ".1"), text)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--host", required=True, help="folder of the built programs and of libtandem.a")
    parser.add_argument("--prefix", required=True)
    parser.add_argument("--destdir", default="")
    parser.add_argument("--version", required=True)
    args = parser.parse_args()
    if not os.path.isabs(args.prefix):
        raise SystemExit("install: PREFIX=%s: expected an absolute path" % args.prefix)
    if re.search(r"[^\w./+@%,=~-]", args.prefix):
        raise SystemExit("install: PREFIX=%s: make takes no blanks and signs in its paths" % args.prefix)
    folder = args.destdir + args.prefix
    found = headers()
    for source, to in sorted(found.items()):
        with open(os.path.join(ROOT, source), encoding="utf-8") as src:
            put(os.path.join(folder, "include/tandem", to), relative(source, src.read(), found))
    numbers = dict(zip(("MAJOR", "MINOR", "PATCH"), args.version.split(".")))
    put(os.path.join(folder, "include/tandem/version.h"),
        "/* version.h - of this installation; what may change with it: CHANGELOG.md. */\n#ifndef TANDEM_VERSION_H\n"
        "#define TANDEM_VERSION_H\n\n#define TANDEM_VERSION \"%s\"\n%s\n#endif\n" %
        (args.version, "".join("#define TANDEM_VERSION_%s %s\n" % n for n in numbers.items())))
    put(os.path.join(folder, "lib/libtandem.a"), copy=os.path.join(args.host, "libtandem.a"))
    for name in PROGRAMS:
        put(os.path.join(folder, "bin", name), copy=os.path.join(args.host, name), mode=0o755)
    parts = tuple(sorted(os.path.relpath(p, ROOT) for p in glob.glob(os.path.join(ROOT, QUALIFY))))
    for name in SCRIPTS + parts + SHELL + DATA:
        source = os.path.join(ROOT, name)
        put(os.path.join(folder, "share/tandem", os.path.basename(name)), copy=source,
            mode=0o755 if os.access(source, os.X_OK) else 0o644)
    for name, source in (("__init__", "install/python"), ("design", "python/tandem/design"),
                         ("program", "python/tandem/program")):
        put(os.path.join(folder, "share/tandem/python/tandem", name + ".py"),
            copy=os.path.join(ROOT, source + ".py"))
    for name, to in (("tandem.pc.in", "lib/pkgconfig/tandem.pc"),
                     ("tandem-config.cmake", "lib/cmake/tandem/tandem-config.cmake"),
                     ("tandem-config-version.cmake.in", "lib/cmake/tandem/tandem-config-version.cmake")):
        with open(os.path.join(ROOT, "install", name), encoding="utf-8") as src:
            text = src.read().replace("@PREFIX@", args.prefix).replace("@VERSION@", args.version)
        put(os.path.join(folder, to), text)
    for name in ("CHANGELOG.md", "LICENSE", "docs/install.md"):
        put(os.path.join(folder, "share/doc/tandem", os.path.basename(name)), copy=os.path.join(ROOT, name))
    man_pages(args, folder)
    api.Pages(ROOT, found, put).all(os.path.join(folder, "share/doc/tandem/api"))
    print("installed tandem %s in %s" % (args.version, folder))


if __name__ == "__main__":
    main()
