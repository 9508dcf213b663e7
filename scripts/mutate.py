#!/usr/bin/python3
"""Write RTL that holds all mutants of a design, selected at run time (docs/qualification.md).

Each block that has mutants (always, assign, function, connection of a port) becomes two: as it was, and, behind one
flag, with the mutants of its places. What it does while no flag is set is the design itself."""
import argparse
import collections
import itertools
import json
import os
import random
import re
import sys

from mutants_of import Finder, constant_functions
from rtl_modules import Bad
from sv_tree import Source


# the type of a function that returns 64 bits at most
NARROW = re.compile(r"\s*(automatic\s+)?(logic|bit)\s*(signed\s*)?(\[(\d|[0-5]\d|6[0-3])\s*:\s*0\])?\s*")


class Writer:
    """The new text of a source."""

    def __init__(self, source, finder, block_flags, flags, impure):
        self.source, self.text, self.finder = source, source.text, finder
        self.block_flags, self.flags, self.impure = block_flags, flags, impure  # numbers; names of functions

    def line(self, at):
        return self.text.count("\n", 0, at) + 1

    def at(self, position):
        """What follows is from this place of the source."""
        return '\n`line %d "%s" 0\n' % (self.line(position), self.source.path)

    def write(self):
        """The whole file."""
        edits = []
        for block, places in self.finder.blocks:
            self.places = {id(p.node): p for p in places}
            for place in places:
                place.flag = next(self.flags)
                for mutant in place.mutants:
                    if mutant.flag is None:
                        mutant.flag = next(self.flags)
            if block.kind == "instance":
                edits += [self.port(block, places)]
            else:
                flag = next(self.block_flags)
                for place in places:
                    place.block = flag
                edits.append((block.start, block.end, getattr(self, "write_" + block.kind)(block, flag)))
        return '`line 1 "%s" 0\n' % self.source.path + self.replaced(0, len(self.text), edits)

    def replaced(self, start, end, edits):
        out = []
        for first, last, new in sorted(edits):
            out += [self.text[start:first], new]
            start = last
        return "".join(out + [self.text[start:end]])

    # ---- blocks ----
    def two(self, flag, mutated, plain):
        return "if (%s) begin : mutants_%d\n%s\nend else begin\n%s\nend\n" % (on(flag), flag, mutated, plain)

    def write_always(self, block, flag):
        body = block.parts[0]
        return "begin\n%send\n%s" % (self.two(flag, self.render(body), self.at(body.start) + self.of(body)),
                                     self.at(block.end))

    def write_assign(self, block, flag):
        """Through a variable: the target may be a wire of Verilog."""
        node = block.parts[0]
        name, target = "mutants_assign_%d" % flag, self.text[node.start:node.left]
        plain, value = "%s = %s;" % (name, self.text[slice(*self.places[id(node)].value)]), "%s = mutant_t;" % name
        place = self.places[id(node)]
        return "logic [$bits(%s)-1:0] %s;\nalways_comb begin\n%send\nassign %s = %s;\n%s" % (
            target, name, self.two(flag, "if (%s) %selse %s" % (on(place.flag), self.choose(place, name, value), plain),
                                   self.at(node.start) + plain), target, name, self.at(block.end))

    def write_function(self, block, flag):
        plain = self.text[block.start:block.end]
        edits = [(part.start, part.end, self.render(part)) for part in block.parts]
        mutated = self.replaced(block.start, block.end, edits)
        # with its mutants a function is too large to be repeated wherever it is called; Verilator calls those that use
        # nothing else and return 64 bits at most
        outside = NARROW.fullmatch(block.type) and block.name not in self.impure
        outside = "/*verilator no_inline_task*/\n" if outside else ""
        return outside + self.two(flag, mutated, self.at(block.start) + plain) + self.at(block.end)

    def port(self, block, places):
        """Connections become variables."""
        before, edits = [], []
        for place in places:
            flag = next(self.block_flags)
            place.block = flag
            name, value = "mutants_port_%d" % flag, self.text[slice(*place.value)]
            body = self.choose(place, name, "%s = mutant_t;" % name)
            before.append("logic [$bits(%s)-1:0] %s;\nalways_comb begin\n%send\n" % (
                value, name, self.two(flag, body, "%s = %s;" % (name, value))))
            edits.append(place.value + (name,))
        return (block.start, block.end, "".join(before) + self.at(block.start) +
                self.replaced(block.start, block.end, edits) + self.at(block.end))

    def of(self, node):
        return self.text[node.start:node.end]

    # ---- statements with mutants ----
    def render(self, node):
        place = self.places.get(id(node))
        if node.kind in ("assign", "opaque"):
            if place is None:
                return self.of(node) + ("" if self.of(node).endswith(";") else ";")
            plain = self.of(node).rstrip(";") + ";"
            target = self.text[node.start:node.left]
            return "if (%s) %selse %s" % (
                on(place.flag), self.choose(place, target, "%s %s mutant_t;" % (target, node.op)), plain)
        if node.kind in ("if", "case"):
            return self.branch(node, place)
        edits = [(part.start, part.end, self.at(part.start) + self.render(part)) for part in node.parts]
        return self.replaced(node.start, node.end, edits)

    def branch(self, node, place):
        start = node.start
        edits = [(part.start, part.end, self.at(part.start) + self.render(part)) for part in node.parts[1:]]
        if place is None:
            return self.replaced(node.start, node.end, edits)
        edits.append(place.value + ("mutant_t",))
        if node.kind == "if":  # a nested one is no part of the chain that `unique` is about
            start = self.text.index("if", node.start)
        return self.choose(place, "", self.replaced(start, node.end, edits))

    def choose(self, place, target, use):
        """The value of a place, of its mutants, and what is done with it."""
        value = self.text[slice(*place.value)]
        out = ["begin", "logic [$bits(%s)-1:0] mutant_t, mutant_u;" % (target or value)]
        if place.kind == "if":
            out[1] = "logic mutant_t, mutant_u;"
            value = "((%s) ? 1'b1 : 1'b0)" % value
        out.append("mutant_t = %s;" % value)
        for mutant in place.mutants:
            if mutant.bit is not None:
                new = "mutant_u = mutant_t; mutant_u[%s] = 1'b%s;" % (mutant.bit, mutant.stuck)
            else:
                new = mutant.value_of(place)
                new = "mutant_u = %s;" % (new if place.kind != "if" else "((%s) ? 1'b1 : 1'b0)" % new)
            out.append('if (%s) begin %s if ($c1("tb_mut_differs(%d, ", mutant_u != mutant_t, ")")) '
                       "mutant_t = mutant_u; end" % (on(mutant.flag), new, mutant.number))
        return "\n".join(out + [use, "end"]) + "\n"


def on(flag):
    return '$c1("TB_MUT_ON(%d)")' % flag


def numbers(name, values):
    text = ", ".join(str(v) for v in values)
    return "static const uint32_t %s[] = {%s};\n" % (name, text or "0")


def table(made, flags):
    """C: for each mutant the flags that stand on the way to it."""
    first, ways = [0], []
    for mutant in made:
        way = set()
        if mutant.drawn:
            way = {mutant.flag} | {f for place in mutant.places for f in (place.flag, place.block)}
        ways += sorted(way)
        first.append(len(ways))
    return ("/* Generated by scripts/mutate.py. */\n#define TB_MUT_COUNT %du\n#define TB_MUT_FLAGS %du\n" %
            (len(made), max(1, flags)) + numbers("tb_mut_first", first) + numbers("tb_mut_way", ways))


def described(mutant):
    """One mutant for the list. Its name is the same as long as its line is."""
    source = mutant.source
    start = mutant.edits[0][0]
    begin = source.text.rfind("\n", 0, start) + 1
    line = source.text.count("\n", 0, start) + 1
    old, new = source.text[start:mutant.edits[0][1]], mutant.edits[0][2]
    return {"id": mutant.number, "file": source.path, "line": line, "column": start - begin + 1,
            "module": mutant.module, "operator": mutant.operator, "old": " ".join(old.split()),
            "new": " ".join(new.split()), "edits": mutant.edits, "drawn": mutant.drawn}


# ---- which mutants ----
def numbered(finders):
    """All mutants; their numbers depend on the sources alone."""
    made = []
    for finder in finders:
        for block, places in finder.blocks:
            for mutant in (m for place in places for m in place.mutants):
                if mutant.number is None:
                    made.append(mutant)
                    mutant.number, mutant.source, mutant.module = len(made), finder.source, block.module
                    mutant.flag = None
    return made


def draw(strata, count, seed):
    """So many numbers (0: all) of {stratum: numbers}: of each the same share, at least one as long as these are fewer
    than are wanted."""
    rng, order = random.Random(seed), []
    for _, ids in sorted(strata.items()):
        ids = list(ids)
        rng.shuffle(ids)
        order += [(k > 0, (k + rng.random()) / len(ids), i) for k, i in enumerate(ids)]
    return {i for _, _, i in sorted(order)[:count or len(order)]}


def keep(finders, made, count, seed):
    """Of the mutants only those that are drawn, of modules and operators alike."""
    strata = collections.defaultdict(list)
    for mutant in made:
        strata[mutant.module, mutant.operator].append(mutant.number)
    drawn = draw(strata, count, seed)
    for mutant in made:
        mutant.drawn = mutant.number in drawn
    for finder in finders:
        for _, places in finder.blocks:
            for place in places:
                place.mutants = [m for m in place.mutants if m.drawn]
            places[:] = [place for place in places if place.mutants]
        finder.blocks = [(block, places) for block, places in finder.blocks if places]


def parents(sources):
    """{module or package: all modules that contain it or use it}"""
    above = {module: set() for source in sources for module in source.signals}
    for source in sources:
        for block in source.blocks:
            kind = re.match(r"\w+", source.text[block.start:block.end]).group()
            if block.kind == "instance" and kind in above:
                above[kind].add(block.module)
        for package in set(re.findall(r"(\w+)::", source.text)) & set(above):
            above[package].update(source.signals)
    changed = True
    while changed:
        changed = False
        for module, names in above.items():
            more = set().union(*(above[name] for name in names)) - names if names else set()
            names |= more
            changed = changed or bool(more)
    return {module: sorted(names) for module, names in above.items()}


def impure_functions(sources):
    """Names of functions that use signals of their module, themselves or in those that they call."""
    found = set()
    functions = [(b, source) for source in sources for b in source.blocks if b.kind == "function"]
    while True:
        more = {b.name for b, source in functions
                if (source.functions[b.name] - b.own) & (source.signals[b.module] | found)} - found
        if not more:
            return found
        found |= more


def run(args):
    sources = []
    for path in args.sources:
        with open(path, encoding="utf-8") as src:
            sources.append(Source(path, src.read()))
    constant = constant_functions(sources)
    finders = [Finder(source, constant) for source in sources]
    made, impure = numbered(finders), impure_functions(sources)
    keep(finders, made, args.mutants, args.draw)
    # the flags that every evaluation reads stand together
    blocks = sum(len(places) if block.kind == "instance" else 1 for f in finders for block, places in f.blocks)
    block_flags, flags, files = itertools.count(), itertools.count(blocks), []
    for finder in finders:
        files.append((finder.source.path, Writer(finder.source, finder, block_flags, flags, impure).write()))
    files = [(os.path.join(args.output, path.lstrip("/")), text) for path, text in files]
    files.append((os.path.join(args.output, "modules.json"),
                  json.dumps(parents(sources), indent=1, sort_keys=True) + "\n"))
    listed = [described(m) for m in made]
    files.append((os.path.join(args.output, "mutants.h"), table(made, next(flags))))
    files.append((os.path.join(args.output, "mutants.json"),
                  "[\n%s\n]\n" % ",\n".join(json.dumps(m, sort_keys=True) for m in listed)))
    for path, text in files:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path + ".tmp", "w", encoding="utf-8") as out:
            out.write(text)
        os.replace(path + ".tmp", path)
    return len(made)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", required=True, help="folder of the mutated sources, mutants.h and mutants.json")
    parser.add_argument("--mutants", type=int, default=0, help="so many, of all modules and operators alike (all)")
    parser.add_argument("--draw", type=int, default=1, help="seed of the draw")
    parser.add_argument("sources", nargs="+")
    args = parser.parse_args()
    try:
        run(args)
    except (Bad, OSError) as err:
        print("mutate: %s" % err, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
