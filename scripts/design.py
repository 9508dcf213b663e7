#!/usr/bin/python3
"""The descriptions of the designs, designs/NAME/design (docs/architecture.md, section 15): read, checked, and written
out for make and for shell scripts.

  design.py make             variables for make: NAME.KEY
  design.py list             the names, the default first
  design.py boards           the scoreboards of the first design, a table for C (boards.py)
  design.py words            the words that the framework must not know, one a line
  design.py get NAME KEY     the words of a key, one line of the description a line; KEY.WORD: of the line that begins
                             with WORD
  design.py of CFG           the designs that have this configuration
  design.py lines [NAME ...] what each design costs: lines of text in each of its rooms, comments included (section 15)
  design.py ports            nothing, or where the ports of a top module and those of its description differ (exit
                             status 1)

DESIGNS (environment): more folders that contain designs/NAME/design and the other folders of these designs, separated
by blanks. TANDEM_PROJECT: the folder with designs/, instead of this repository."""

import glob
import os
import re
import sys

sys.dont_write_bytecode = True
import boards  # noqa: E402

# a project around a design of its own has nothing else of this tree
ROOT = os.environ.get("TANDEM_PROJECT") or os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
KINDS = ("fast", "tap", "debug", "cov", "san", "mut")
ONCE = ("about", "top", "build")  # keywords of one line; the others may stand several times
MANY = ("default", "source", "file", "package", "include", "words", "cfg", "quick",
        "board", "coverage", "counted", "lint", "port", "program", "metric", "tests")
NEEDED = ("about", "top", "cfg", "build")
PORT = re.compile(r"\b(input|output|inout)\b[^,;()]*?\b(\w+)\s*(?=,|$)", re.S)
PORTS = ("clock", "reset", "interrupt", "axi4", "axi4-lite", "axi4-stream", "apb", "debug")
RESERVED = ("host", "python", "regress", "coverage", "closure", "networks",
            "cases", "report", "wave", "designs", "verilated")


class Bad(Exception):
    """file:line: what is wrong."""


class Design:
    def __init__(self, path, root):
        self.path, self.root = path, root
        self.name = os.path.basename(os.path.dirname(path))
        self.lines = {}  # keyword: its lines, each a list of words
        with open(os.path.join(ROOT, path), encoding="utf-8") as src:
            for number, line in enumerate(src, 1):
                words = line.split("#")[0].split()
                if words:
                    self.take(number, words[0], words[1:])
        self.check()

    def bad(self, number, text):
        raise Bad("%s:%s%s" % (self.path, "%d: " % number if number else " ", text))

    def take(self, number, key, words):
        if key not in ONCE + MANY:
            self.bad(number, "\"%s\" is unknown (expected %s)" % (key, ", ".join(sorted(ONCE + MANY))))
        if key in ONCE and key in self.lines:
            self.bad(number, "%s is given twice" % key)
        if not words and key != "default":
            self.bad(number, "%s: expected at least one word" % key)
        if key == "cfg" and not (re.fullmatch(r"[a-z][a-z0-9]{0,6}", words[0]) and
                                 all(re.fullmatch(r"\w+=\w+", w) for w in words[1:])):
            self.bad(number, "cfg: expected a name of at most 7 small letters and digits, then Parameter=value ...")
        if key == "port" and (len(words) < 2 or words[1] not in PORTS):
            self.bad(number, "port: expected a name or prefix and one of %s" % ", ".join(PORTS))
        if key == "board" and boards.wrong(words):
            self.bad(number, "board: %s" % boards.wrong(words))
        if key == "tests":
            words = [test for word in words for test in (self.operators() if word == "operators" else [word])]
        self.lines.setdefault(key, []).append(words)

    def operators(self):
        """Names of the operators in tests.def, beside the description."""
        with open(os.path.join(ROOT, os.path.dirname(self.path), "tests.def"), encoding="utf-8") as src:
            return re.findall(r"^OPERATOR\((\w+)\)", src.read(), re.M)

    def check(self):
        if not re.fullmatch(r"[a-z][a-z0-9_]{0,22}", self.name) or self.name in RESERVED:
            self.bad(0, "%s is not a valid name of a design (small letters, digits and _; not %s)" %
                     (self.name, ", ".join(RESERVED)))
        for key in NEEDED:
            if key not in self.lines:
                self.bad(0, "no line \"%s\"" % key)
        self.cfgs = [line[0] for line in self.lines["cfg"]]
        cfg, _, kind = self.lines["build"][0][0].partition("-")
        if cfg not in self.cfgs or kind not in KINDS:
            self.bad(0, "build: expected CFG-KIND with a configuration (%s) and a kind (%s)" %
                     (" ".join(self.cfgs), " ".join(KINDS)))
        for key in ("quick", "coverage"):
            for word in self.all(key):
                if word not in self.cfgs:
                    self.bad(0, "%s: there is no configuration %s" % (key, word))
        self.lines.setdefault("quick", [[cfg]])
        self.lines.setdefault("coverage", [[cfg]])
        self.lines.setdefault("source", [["rtl/" + self.name]])
        self.lines.setdefault("program", [["tandem", "testcases/" + self.name]])
        self.lines.setdefault("words", [[self.name]])
        self.lines["root"] = [[self.root]] if self.root else [[]]

    def all(self, key):
        return [word for line in self.lines.get(key, []) for word in line]

    def place(self, path):
        """A path of the description, from the root of the repository."""
        return os.path.join(self.root, path) if self.root else path

    def ports(self):
        """Differences between the lines "port" and the ports of the top module."""
        top = self.all("top")[0]
        header = None
        for source in self.all("source"):
            for folder, _, files in os.walk(os.path.join(ROOT, self.place(source))):
                for name in sorted(f for f in files if f.endswith(".sv")):
                    with open(os.path.join(folder, name), encoding="utf-8") as src:
                        text = re.sub(r"//[^\n]*", "", src.read())
                    header = header or re.search(r"\bmodule\s+%s\b(?:\s*#\(.*?\)\s*)?\s*\((.*?)\);" % top, text, re.S)
        if header is None:
            return ["%s: no module %s in %s" % (self.path, top, " ".join(self.all("source")))]
        ports = [(direction, name) for direction, name in PORT.findall(re.sub(r"\[[^]]*\]", "", header.group(1)))]
        said = []
        for line in self.lines.get("port", []):
            mine = [p for p in ports if p[1] == line[0] or (line[0].endswith("_") and p[1].startswith(line[0]))]
            ports = [p for p in ports if p not in mine]
            valid = [direction for direction, name in mine if "awvalid" in name or "arvalid" in name]
            if not mine:
                said.append("%s: port %s: %s has no such port" % (self.path, line[0], top))
            elif line[1].startswith("axi4") and set(valid) != {"output" if "master" in line else "input"}:
                said.append("%s: port %s: it is not of kind %s" % (self.path, line[0], " ".join(line[1:])))
        return said + ["%s: no line \"port\" for %s of %s" % (self.path, name, top) for _, name in ports]

    def make(self):
        """Its variables for make."""
        own = lambda key: " ".join(self.place(w) for w in self.all(key))
        cfg, _, kind = self.lines["build"][0][0].partition("-")
        out = {"root": self.root + "/" if self.root else "", "top": self.all("top")[0], "cfgs": " ".join(self.cfgs),
               "cfg": cfg, "kind": kind, "source": own("source"), "file": own("file"),
               "package": own("package"), "include": own("include"),
               "quick": " ".join(self.all("quick")), "coverage": " ".join(self.all("coverage")),
               "counted": own("counted"), "programs": " ".join(line[0] for line in self.lines["program"]),
               "params": " ".join(sorted({w.split("=")[0] for line in self.lines["cfg"] for w in line[1:]}))}
        for line in self.lines["cfg"]:
            out["params." + line[0]] = " ".join(line[1:])
        for line in self.lines["program"]:
            at = line.index("with") if "with" in line else len(line)
            out["program." + line[0]] = " ".join(self.place(w) for w in line[1:at])
            out["libs." + line[0]] = " ".join(line[at + 1:])
        return "".join("%s.%s := %s\n" % (self.name, key, value) for key, value in out.items())


def load():
    """All designs, the default first."""
    roots = [""] + [os.path.abspath(root) for root in os.environ.get("DESIGNS", "").split()]
    designs = []
    for root in roots:
        folder = os.path.join(root or ROOT, "designs")
        if not os.path.isdir(folder):
            raise Bad("DESIGNS: there is no folder %s" % folder)
        for name in sorted(os.listdir(folder)):
            path = os.path.join(folder, name, "design")
            if os.path.isfile(path):
                designs.append(Design(os.path.relpath(path, ROOT) if not root else path, root))
    names = [d.name for d in designs]
    for name in names:
        if names.count(name) > 1:
            raise Bad("%s: two designs have this name" % name)
    defaults = [d.name for d in designs if "default" in d.lines]
    if len(defaults) != 1:
        raise Bad("designs: expected exactly one description with the line \"default\", not %s" %
                  (", ".join(defaults) or "none"))
    return sorted(designs, key=lambda d: "default" not in d.lines)


def get(designs, name, key):
    found = [d for d in designs if d.name == name]
    if not found:
        raise Bad("%s: no such design (there are %s)" % (name, " ".join(d.name for d in designs)))
    key, _, first = key.partition(".")
    lines = found[0].lines.get(key, [])
    return [" ".join(line[1:] if first else line) for line in lines if not first or line[0] == first]


# room: the files of a design in it, or the folder
ROOMS = (("rtl", "rtl/{}"), ("regs", "regs/{}.regs"), ("cmodel", "cmodel/{}"), ("drivers", "drivers/{}"),
         ("tb", "tb/{}"), ("testcases", "testcases/{}"), ("coverage", "coverage/{}"), ("network", "network/{}"),
         ("designs", "designs/{}"), ("tests, by name", "tests/test_{}*"), ("deliberate bugs", "tests/mutants/{}"),
         ("docs", "docs/{}"))


def lines_of(path):
    """Lines of a file; of a folder those of all files in it, but stored cases."""
    if os.path.isdir(path):
        return sum(lines_of(os.path.join(path, name)) for name in os.listdir(path)
                   if not name.startswith((".", "__")) and not name.endswith(".case"))
    try:
        with open(path, encoding="utf-8") as src:
            return sum(1 for _ in src)
    except UnicodeDecodeError:  # a picture
        return 0


def lines(designs, names):
    """A table: a row for each room, a column for each design."""
    for name in names:
        get(designs, name, "top")  # it must exist
    chosen = [d for d in designs if not names or d.name in names]
    rows = [["room"] + [d.name for d in chosen], ["---"] * (len(chosen) + 1)]
    for room, place in ROOMS:
        counts = [sum(lines_of(found) for found in glob.glob(os.path.join(ROOT, d.place(place.format(d.name)))))
                  for d in chosen]
        rows.append([room] + ["{:,}".format(n) for n in counts])
    return ["| " + " | ".join(row) + " |\n" for row in rows]


def main():
    words = sys.argv[1:]
    try:
        designs = load()
        if words == ["make"]:
            out = (["DUTS := %s\nDUT_DEFAULT := %s\n" % (" ".join(d.name for d in designs), designs[0].name)] +
                   [d.make() for d in designs])
        elif words == ["boards"]:
            out = [boards.table(designs[0].lines.get("board", []), ROOT)]
        elif words == ["list"]:
            out = [d.name + "\n" for d in designs]
        elif words == ["ports"]:
            out = [text + "\n" for d in designs for text in d.ports()]
            sys.stdout.write("".join(out))
            return 1 if out else 0
        elif words == ["words"]:
            out = [w + "\n" for d in designs for w in d.all("words")]
        elif len(words) == 3 and words[0] == "get":
            out = [line + "\n" for line in get(designs, words[1], words[2])]
        elif words[:1] == ["lines"]:
            out = lines(designs, words[1:])
        elif len(words) == 2 and words[0] == "of":
            out = [d.name + "\n" for d in designs if words[1] in d.cfgs]
        else:
            print(__doc__)
            return 0 if words == ["--help"] else 2
    except (Bad, boards.Wrong, OSError) as err:
        print("design.py: %s" % err, file=sys.stderr)
        return 2
    sys.stdout.write("".join(out))
    return 0


if __name__ == "__main__":
    sys.exit(main())
