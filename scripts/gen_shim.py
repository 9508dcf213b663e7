#!/usr/bin/python3
"""Write the C++ shim of a Verilated top from the port macros in its generated header.

The header states every port after elaboration, as VL_IN8(&name,msb,lsb) and so on; these macros are the same in all
Verilator versions from 4 on. An array of ports (unpacked) becomes a port for each element, name[0] and so on. The
fields of packed structs, which the header does not have, are in Verilator's tree (--xml-only)."""

import argparse
import itertools
import os
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as xml

PORT = re.compile(r"^\s*VL_(IN|OUT|INOUT)(8|16|64|W)?\(&?(\w+|\(&\w+\)(?:\[\d+\])+),\s*(\d+),\s*(\d+)(?:,\s*\d+)?\);",
                  re.M)


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


# ---- packed structs ----

class Types:
    """The types of Verilator's tree: their bits, and where the fields of packed structs lie in them."""

    def __init__(self, root):
        self.node = {n.get("id"): n for n in root.iter() if n.tag.endswith("dtype") and n.get("id")}

    def plain(self, number):
        """Without names, enums' items and the like."""
        node = self.node[number]
        while node.tag in ("refdtype", "enumdtype", "memberdtype", "constdtype") and node.get("sub_dtype_id"):
            node = self.node[node.get("sub_dtype_id")]
        return node

    @staticmethod
    def count(node):
        ends = [int(re.sub(r".*'s?h", "", c.get("name")), 16) for c in node.iter("const")]
        return abs(ends[0] - ends[1]) + 1

    def bits(self, number):
        node = self.plain(number)
        if node.tag == "basicdtype":
            return abs(int(node.get("left", 0)) - int(node.get("right", 0))) + 1
        if node.tag == "packarraydtype":
            return self.count(node) * self.bits(node.get("sub_dtype_id"))
        members = [self.bits(m.get("sub_dtype_id")) for m in node.findall("memberdtype")]
        return sum(members) if node.tag == "structdtype" else max(members, default=1)

    def fields(self, number, name="", lsb=0):
        """(name behind the port's, lsb, bits) of what a struct holds that is no struct itself; of others nothing."""
        node = self.plain(number)
        if node.tag == "packarraydtype" and self.plain(node.get("sub_dtype_id")).tag in ("structdtype",
                                                                                         "packarraydtype"):
            bits = self.bits(node.get("sub_dtype_id"))
            found = [self.fields(node.get("sub_dtype_id"), "%s[%d]" % (name, i), lsb + i * bits)
                     for i in range(self.count(node))]
            return sum(found, []) if any(found) else []
        if node.tag != "structdtype":
            return []
        found, at = [], lsb + self.bits(number)
        for member in node.findall("memberdtype"):  # the first one is the highest
            bits = self.bits(member.get("sub_dtype_id"))
            at -= bits
            full = "%s.%s" % (name, member.get("name"))
            found += self.fields(member.get("sub_dtype_id"), full, at) or [(full, at, bits)]
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
    """Verilator's tree for a command line that names the sources: its path; None without structs in them."""
    if not has_structs(command[1:]):
        return None
    tree = os.path.join(folder, "tree.xml")
    done = subprocess.run([command[0], "--xml-only", "--xml-output", tree, "-Wno-fatal", "-Wno-lint", "-Wno-style",
                           "--Mdir", folder] + command[1:], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        # a version without this output, or what the sources need beside it: structs stay vectors
        said = (done.stdout.strip().splitlines() or ["?"])[0]
        print("warning: ports that are structs have no fields here: %s" % said, file=sys.stderr)
        return None
    return tree


def fields_of(path, ports):
    """(name, index of the port, lsb, bits) of each field of the ports that are packed structs or arrays of them."""
    root = xml.parse(path).getroot()
    types = Types(root)
    top = next(m for m in root.iter("module") if m.get("topModule") == "1")
    found = []
    for var in top.findall("var"):
        number = var.get("dtype_id")
        while types.plain(number).tag == "unpackarraydtype":
            number = types.plain(number).get("sub_dtype_id")
        inside = types.fields(number) if var.get("dir") in ("input", "output") else []
        for i, port in enumerate(ports):
            if inside and (port[0] == var.get("name") or port[0].startswith(var.get("name") + "[")):
                found += [(port[0] + name, i, lsb, bits) for name, lsb, bits in inside]
    return found


def find_fields(command, ports):
    """fields_of(), by a command line of Verilator."""
    with tempfile.TemporaryDirectory() as folder:
        tree = write_tree(command, folder)
        return fields_of(tree, ports) if tree else []


def generate(top, header, command=()):
    ports = ports_of(header)
    fields = find_fields(command, ports) if command else []
    if not ports:
        raise Bad("no port found in the header of %s" % top)
    table = ["static const tb_shim_field shim_fields[] = {"] + [
        '    {"%s", %d, %d, %d},' % f for f in fields] + ["};"] if fields else [
            "static const tb_shim_field *const shim_fields = nullptr;"]
    return "\n".join([
        "/* Generated by scripts/gen_shim.py. */", '#include "V%s.h"' % top,
        "#if VM_COVERAGE", '#include "V%s__Syms.h"' % top, "#endif",
        '#include "sim/shim.h"', "",
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
            text = generate(args.top, src.read(), args.read)
        tmp = args.output + ".tmp"
        with open(tmp, "w", encoding="utf-8") as out:
            out.write(text)
        os.replace(tmp, args.output)
    except OSError as err:
        print("gen_shim: %s: %s" % (err.filename, err.strerror), file=sys.stderr)
        return 1
    except (Bad, xml.ParseError, StopIteration, KeyError) as err:
        print("gen_shim: %s: %s" % (args.top, err), file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
