#!/usr/bin/python3
"""Write the C++ shim of a Verilated top from the port macros in its generated header.

The header states every port after elaboration, as VL_IN8(&name,msb,lsb) and so on; these macros are the same in all
Verilator versions from 4 on. An array of ports (unpacked) becomes a port for each element, name[0] and so on. The
fields of packed structs, which the header does not have, are in Verilator's tree (--xml-only, --json-only), and so are
the directions of arrays of ports, which versions from about 5.040 on leave out."""

import argparse
import itertools
import json
import os
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as xml

PORT = re.compile(r"^\s*VL_(IN|OUT|INOUT)(8|16|64|W)?\(&?(\w+|\(&\w+\)(?:\[\d+\])+),\s*(\d+),\s*(\d+)(?:,\s*\d+)?\);",
                  re.M)
ARRAY = re.compile(r"^\s*(?:VlUnpacked<)+(CData|SData|IData|QData|VlWide)(?:<\d+>)?/\*(\d+):(\d+)\*/"
                   r"((?:, \d+>)+) ?&(\w+);", re.M)


class Bad(Exception):
    """What is wrong, in one line."""


def port_name(member):
    """Verilator writes the characters of a name that C++ would refuse as __0xx, its words behind __SYM__."""
    return re.sub(r"__0([0-9A-Fa-f]{2})", lambda m: chr(int(m.group(1), 16)), re.sub("^__SYM__", "", member))


def ports_of(header):
    """(name, width, is it an input, C++ pointer) of each port, in the header's order."""
    ports = []
    for kind, size, member, msb, lsb in PORT.findall(header):
        name = re.match(r"\(?&?(\w+)", member)[1]
        if kind == "INOUT":
            raise Bad("port %s is an inout, which is not supported" % port_name(name))
        sizes = [range(int(n)) for n in re.findall(r"\[(\d+)\]", member)]
        for place in itertools.product(*sizes):
            index = "".join("[%d]" % i for i in place)
            pointer = "top->%s%s.data()" % (name, index) if size == "W" else "&top->%s%s" % (name, index)
            ports.append((port_name(name) + index, int(msb) - int(lsb) + 1, kind == "IN", pointer))
    return ports


def arrays_of(header):
    """(port, name of an element, width, C++ pointer) of the arrays of ports of newer versions, which do not say there
    whether they are inputs."""
    ports = []
    for kind, msb, lsb, sizes, member in ARRAY.findall(header):
        for place in itertools.product(*[range(int(n)) for n in re.findall(r", (\d+)>", sizes)][::-1]):
            index = "".join("[%d]" % i for i in place)
            pointer = "top->%s%s.data()" % (member, index) if kind == "VlWide" else "&top->%s%s" % (member, index)
            ports.append((port_name(member), port_name(member) + index, int(msb) - int(lsb) + 1, pointer))
    return ports


# ---- packed structs ----

class Type:
    """A type of Verilator's tree: another one by a name ("alias"), an array ("packed", "unpacked": count, sub),
    "struct", "union" (members: names and their types), or plain bits."""

    def __init__(self, kind, count=1, sub=None, members=()):
        self.kind, self.count, self.sub, self.members = kind, count, sub, members


def xml_types(root):
    """Types by their numbers, of a tree in XML."""
    types = {}
    for node in root.iter():
        if not node.tag.endswith("dtype") or not node.get("id"):
            continue
        kind, sub = node.tag[:-len("dtype")], node.get("sub_dtype_id")
        if kind == "basic":
            types[node.get("id")] = Type("bits", abs(int(node.get("left", 0)) - int(node.get("right", 0))) + 1)
        elif kind in ("packarray", "unpackarray"):
            ends = [number_of(c.get("name")) for c in node.iter("const")]
            types[node.get("id")] = Type(kind.replace("array", "ed"), abs(ends[0] - ends[1]) + 1, sub)
        elif kind in ("struct", "union"):
            types[node.get("id")] = Type(kind, members=[(m.get("name"), m.get("sub_dtype_id"))
                                                        for m in node.findall("memberdtype")])
        else:
            types[node.get("id")] = Type("alias", sub=sub) if sub else Type("bits")
    return types


def json_types(tree):
    """The same of a tree in JSON, which newer versions have instead."""
    types = {}
    for node in nodes(tree):
        kind = node.get("type", "")[:-len("DTYPE")].lower() if node.get("type", "").endswith("DTYPE") else ""
        sub = node.get("refDTypep", "UNLINKED")
        if kind == "basic":
            ends = [int(n) for n in node.get("range", "0:0").split(":")]
            types[node["addr"]] = Type("bits", abs(ends[0] - ends[1]) + 1)
        elif kind in ("packarray", "unpackarray"):
            ends = [int(n) for n in node["declRange"].strip("[]").split(":")]
            types[node["addr"]] = Type(kind.replace("array", "ed"), abs(ends[0] - ends[1]) + 1, sub)
        elif kind in ("struct", "union"):
            types[node["addr"]] = Type(kind, members=[(m["name"], m["addr"]) for m in node["membersp"]])
        elif kind:
            types[node["addr"]] = Type("alias", sub=sub) if sub != "UNLINKED" else Type("bits")
    return types


def nodes(tree):
    """All objects of a tree in JSON."""
    found = [tree]
    while found:
        node = found.pop()
        if isinstance(node, dict):
            yield node
            found += node.values()
        elif isinstance(node, list):
            found += node


def number_of(text):
    """Of a constant, "32'sh1f"."""
    return int(re.sub(r".*'s?h", "", text), 16)


class Tree:
    """The ports of the top module, and what types they have."""

    def __init__(self, path):
        if path.endswith(".json"):
            with open(path, encoding="utf-8") as src:
                tree = json.load(src)
            self.types = json_types(tree)
            top = next(m for m in tree["modulesp"] if m["type"] == "MODULE" and m.get("level") == 1)
            self.ports = {v["name"]: (v["direction"] == "INPUT", v["dtypep"]) for v in nodes(top["stmtsp"])
                          if v.get("type") == "VAR" and v.get("isPrimaryIO")}
        else:
            root = xml.parse(path).getroot()
            self.types = xml_types(root)
            top = next(m for m in root.iter("module") if m.get("topModule") == "1")
            self.ports = {v.get("name"): (v.get("dir") == "input", v.get("dtype_id")) for v in top.findall("var")
                          if v.get("dir") in ("input", "output")}

    def plain(self, number):
        """Without names, enums' items and the like."""
        found = self.types[number]
        while found.kind == "alias":
            found = self.types[found.sub]
        return found

    def bits(self, number):
        found = self.plain(number)
        if found.kind in ("packed", "unpacked"):
            return found.count * self.bits(found.sub)
        inside = [self.bits(m) for _, m in found.members]
        return found.count if found.kind == "bits" else sum(inside) if found.kind == "struct" else max(inside)

    def fields(self, number, name="", lsb=0):
        """(name behind the port's, lsb, bits) of what a struct holds that is no struct itself; of others nothing."""
        found = self.plain(number)
        if found.kind == "packed" and self.plain(found.sub).kind in ("struct", "packed"):
            bits = self.bits(found.sub)
            inside = [self.fields(found.sub, "%s[%d]" % (name, i), lsb + i * bits) for i in range(found.count)]
            return sum(inside, []) if any(inside) else []
        if found.kind != "struct":
            return []
        inside, at = [], lsb + self.bits(number)
        for member, sub in found.members:  # the first one is the highest
            bits = self.bits(sub)
            at -= bits
            full = "%s.%s" % (name, member)
            inside += self.fields(sub, full, at) or [(full, at, bits)]
        return inside

    def fields_of(self, ports):
        """(name, index of the port, lsb, bits) of each field of the ports that are packed structs or arrays of them."""
        found = []
        for var, (_, number) in self.ports.items():
            while self.plain(number).kind == "unpacked":
                number = self.plain(number).sub
            inside = self.fields(number)
            for i, port in enumerate(ports):
                if inside and (port[0] == var or port[0].startswith(var + "[")):
                    found += [(port[0] + name, i, lsb, bits) for name, lsb, bits in inside]
        return found


def has_structs(command):
    """Does a file or folder (-Ipath, path) of a command line have the word struct?"""
    for word in command:
        files = [word]
        if word.startswith("-I"):
            files = [os.path.join(f, n) for f, _, names in os.walk(word[2:]) for n in names]
        for name in files:
            if os.path.isfile(name) and os.path.splitext(name)[1] in (".v", ".sv", ".vh", ".svh", ".h", ".inc", ".pkg"):
                with open(name, encoding="utf-8", errors="replace") as src:
                    if re.search(r"\bstruct\b", src.read()):
                        return True
    return False


def write_tree(command, folder):
    """Verilator's tree for a command line that names the sources: its path, or None with a warning."""
    said = "?"
    for kind, options in (("xml", ["--xml-only", "--xml-output"]),
                          ("json", ["--json-only", "--json-only-meta-output", os.path.join(folder, "meta"),
                                    "--json-only-output"])):
        tree = os.path.join(folder, "tree." + kind)
        done = subprocess.run([command[0]] + options + [tree, "-Wno-fatal", "-Wno-lint", "-Wno-style", "--Mdir",
                               folder] + command[1:], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode == 0:
            return tree
        said = (done.stdout.strip().splitlines() or ["?"])[0]
        if "nvalid option" not in said:
            break
    # what the sources need beside the command line: structs stay vectors
    print("warning: ports that are structs have no fields here: %s" % said, file=sys.stderr)
    return None


def read_ports(header, command=()):
    """Ports as of ports_of(), and fields of those that are packed structs: (name, index of the port, lsb, bits).
    command: a command line of Verilator that reads the sources; without it there are no fields."""
    ports, arrays = ports_of(header), arrays_of(header)
    fields = []
    if command and (arrays or has_structs(command[1:])):
        with tempfile.TemporaryDirectory() as folder:
            path = write_tree(command, folder)
            tree = Tree(path) if path else None
        if tree:
            ports += [(name, width, tree.ports[var][0], pointer) for var, name, width, pointer in arrays]
            fields, arrays = tree.fields_of(ports), []
    if arrays:
        raise Bad("port %s is an array, whose direction is not known" % arrays[0][0])
    return ports, fields


def generate(top, header, command=(), known=False):
    """known: scripts/tap_alias.py has written a table of the public signals."""
    ports, fields = read_ports(header, command)
    if not ports:
        raise Bad("no port found in the header of %s" % top)
    table = ["static const tb_shim_field shim_fields[] = {"] + [
        '    {"%s", %d, %d, %d},' % f for f in fields] + ["};"] if fields else [
            "static const tb_shim_field *const shim_fields = nullptr;"]
    return "\n".join([
        "/* Generated by scripts/gen_shim.py. */", '#include "V%s.h"' % top,
        "#if VM_COVERAGE", '#include "V%s__Syms.h"' % top, "#endif",
        '#include "sim/shim.h"'] + (['#include "V%s__vars.h"' % top] if known else []) + ["",
        "typedef V%s shim_top;" % top, 'static const char *const shim_top_name = "%s";' % top,
        "static const size_t shim_nports = %d, shim_nfields = %d;" % (len(ports), len(fields))] + table + ["",
        "static void shim_fill_ports(shim_top *top, tb_shim_port *out) {"] + [
            '    out[%d] = {"%s", %d, %s, %s};' % (i, name, width, "true" if way else "false", pointer)
            for i, (name, width, way, pointer) in enumerate(ports)] + ["}", "", '#include "sim/shim_impl.hpp"', ""])


def main():
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("--top", required=True, help="name of the top module")
    ap.add_argument("--header", required=True, help="Verilator's V<top>.h")
    ap.add_argument("--output", required=True, help="C++ file to write")
    ap.add_argument("--read", metavar="VERILATOR ARG", nargs=argparse.REMAINDER, default=[],
                    help="a command line that reads the sources, for fields of packed structs; the last option")
    args = ap.parse_args()
    try:
        with open(args.header, encoding="utf-8") as src:
            known = os.path.isfile("%s__vars.h" % os.path.splitext(args.header)[0])
            text = generate(args.top, src.read(), args.read, known)
        tmp = args.output + ".tmp"
        with open(tmp, "w", encoding="utf-8") as out:
            out.write(text)
        os.replace(tmp, args.output)
    except OSError as err:
        print("gen_shim: %s: %s" % (err.filename, err.strerror), file=sys.stderr)
        return 1
    except (Bad, xml.ParseError, ValueError, StopIteration, KeyError) as err:
        print("gen_shim: %s: %s" % (args.top, err), file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
