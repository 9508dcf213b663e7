#!/usr/bin/python3
"""Generate files from the register description of a design, NAME.regs: packages and headers of registers and
tasks, the register table.

SystemVerilog: NAME_regs_pkg.sv; C: NAME_regs.h; where there are tasks NAME_tasks.svh, which a package of the design
includes, and NAME_tasks.h. What they define begins with NAME_. A line of the description is one of these, # starts a
comment line:

space BYTES "text"                     size of the register file, a power of two; whose registers these are
reg   NAME OFFSET ACCESS "text"        ACCESS: ro, rw, wo, w1c (all fields w1c, or timed and read only)
field NAME HI:LO CLASS RESET "text"    CLASS: exact, timed, w1c (what tandem compares; docs/architecture.md section 5)
enum  VALUE NAME [TRAIT...] "text"     a value of the field above. TRAIT: a word in small letters; C gets sets of the
                                       values that have it and tables of those that have not

constants PREFIX REG.FIELD "text"      the field's values as constants of the package: PREFIX and the name (AluCopy)
task   NAME "text"                     the descriptor that a unit gets at its start: a packed struct of the package
                                       (NAME_task_t), a struct of the model (cm_NAME_task)
member NAME = SOURCE "text"            a member, the first one in the highest bits; the text may be missing. NAME[i] is
                                       an element of an array in C. SOURCE:
    REG.FIELD                  a copy
    !REG.FIELD                 the inverse of a bit
    REG.FIELD == VALUE         is it this value? (not that of number 0)
    BIT ? FIELD : FIELD        one of two fields, or a field and a number; zeros are put before a narrower second field
    FIELD in LOWEST .. ARG     clamped; the highest value is an argument of the function that makes the task

Registers have 32 bits. Unused offsets and bits read 0 and ignore writes."""

import argparse
import os
import re
import sys

import regs_tasks
from gen_file import Bad, finish, read_input

ACCESSES = ("ro", "rw", "wo", "w1c")
CLASSES = ("exact", "timed", "w1c")
NAME = re.compile(r"[A-Z][A-Z0-9_]*\Z")
TRAIT = re.compile(r"[a-z][a-z0-9]*\Z")


class Field:
    def __init__(self, name, hi, lo, cls, reset, text):
        self.name, self.hi, self.lo, self.cls, self.reset, self.text = name, hi, lo, cls, reset, text
        self.enums = []

    @property
    def width(self):
        return self.hi - self.lo + 1

    @property
    def mask(self):
        return ((1 << self.width) - 1) << self.lo


class Reg:
    def __init__(self, name, offset, access, text):
        self.name, self.offset, self.access, self.text = name, offset, access, text
        self.fields = []

    def mask(self, cls=None):
        return sum(f.mask for f in self.fields if cls in (None, f.cls))

    @property
    def reset(self):
        return sum(f.reset << f.lo for f in self.fields)


def number(line, text, what):
    if not re.match(r"(0x[0-9A-Fa-f]+|[0-9]+)\Z", text):
        raise Bad(line, "%s '%s' is not a number" % (what, text))
    return int(text, 0)


def split_line(num, raw):
    """Words of a line; a quoted text counts as one word and ends the line."""
    m = re.match(r'([^"]*?)\s*(?:"([^"]*)")?\s*\Z', raw)
    if not m:
        raise Bad(num, "unbalanced quotes or text after the closing quote")
    words = m.group(1).split()
    return words, m.group(2)


def check_name(num, name):
    if not NAME.match(name):
        raise Bad(num, "name '%s': expected capital letters, digits and _" % name)


def parse_space(num, words, text, desc):
    if len(words) != 2 or desc.space:
        raise Bad(num, 'expected once: space BYTES "text"')
    desc.space, desc.title = number(num, words[1], "size"), text
    if desc.space < 4 or desc.space & (desc.space - 1):
        raise Bad(num, "size %d: expected a power of two from 4 on" % desc.space)


def parse_reg(num, words, desc):
    regs = desc.regs
    if not desc.space:
        raise Bad(num, 'expected before the first register: space BYTES "text"')
    if len(words) != 4:
        raise Bad(num, 'expected: reg NAME OFFSET ACCESS "text"')
    name, access = words[1], words[3]
    check_name(num, name)
    offset = number(num, words[2], "offset")
    if offset % 4:
        raise Bad(num, "offset 0x%X is not a multiple of 4" % offset)
    if offset >= desc.space:
        raise Bad(num, "offset 0x%X is outside the %d bytes of the register file" % (offset, desc.space))
    if access not in ACCESSES:
        raise Bad(num, "unknown access '%s': expected one of %s" % (access, ", ".join(ACCESSES)))
    for reg in regs:
        if reg.offset == offset:
            raise Bad(num, "offset 0x%03X is already that of %s" % (offset, reg.name))
        if reg.name == name:
            raise Bad(num, "register %s is defined twice" % name)
    return Reg(name, offset, access, None)


def parse_field(num, words, reg):
    if len(words) != 5:
        raise Bad(num, 'expected: field NAME HI:LO CLASS RESET "text"')
    if reg is None:
        raise Bad(num, "field before the first reg")
    check_name(num, words[1])
    m = re.match(r"([0-9]+):([0-9]+)\Z", words[2])
    if not m:
        raise Bad(num, "bits '%s': expected HI:LO" % words[2])
    hi, lo = int(m.group(1)), int(m.group(2))
    if hi > 31 or lo > hi:
        raise Bad(num, "bits %d:%d: expected 31 >= HI >= LO" % (hi, lo))
    cls = words[3]
    if cls not in CLASSES:
        raise Bad(num, "unknown class '%s': expected one of %s" % (cls, ", ".join(CLASSES)))
    if cls == "exact" and reg.access == "w1c" or cls == "w1c" and reg.access != "w1c":
        raise Bad(num, "class %s in a register with access %s: "
                  "w1c registers, and only they, have w1c fields, and may have timed ones" % (cls, reg.access))
    field = Field(words[1], hi, lo, cls, number(num, words[4], "reset value"), None)
    if field.reset >> field.width:
        raise Bad(num, "reset value 0x%X does not fit %d bits" % (field.reset, field.width))
    for other in reg.fields:
        if other.name == field.name:
            raise Bad(num, "field %s.%s is defined twice" % (reg.name, field.name))
        if other.mask & field.mask:
            raise Bad(num, "field %s overlaps %s" % (field.name, other.name))
    return field


def parse_enum(num, words, field):
    if len(words) < 3 or not all(TRAIT.match(w) for w in words[3:]):
        raise Bad(num, 'expected: enum VALUE NAME [trait...] "text", traits in small letters')
    if field is None:
        raise Bad(num, "enum before the first field")
    value = number(num, words[1], "value")
    check_name(num, words[2])
    if value >> field.width:
        raise Bad(num, "value %d does not fit the %d bits of %s" % (value, field.width, field.name))
    for other in field.enums:
        if other[0] == value or other[1] == words[2]:
            raise Bad(num, "value or name is already that of %s" % other[1])
    if words[3:] and field.width > 5:
        raise Bad(num, "traits: %s has more than 5 bits" % field.name)
    return value, words[2], tuple(words[3:])


def parse_task(num, kind, words, text, desc):
    """Lines task, member and constants: they stand after the registers that they name."""
    try:
        if kind == "task":
            if len(words) != 2 or not re.match(r"[a-z]+\Z", words[1]) or words[1] in [t.name for t in desc.tasks]:
                raise regs_tasks.Bad('expected: task NAME "text", small letters, each name once')
            desc.tasks.append(regs_tasks.Task(words[1], text))
        elif kind == "constants":
            if len(words) != 3:
                raise regs_tasks.Bad('expected: constants PREFIX REGISTER.FIELD "text"')
            desc.constants.append((words[1],) + regs_tasks.find_field(desc.regs, words[2]))
        else:
            if not desc.tasks:
                raise regs_tasks.Bad("member before the first task")
            member = regs_tasks.parse_member(words, text, desc.regs)
            if member.flat in [m.flat for m in desc.tasks[-1].members]:
                raise regs_tasks.Bad("member %s is defined twice" % member.element)
            desc.tasks[-1].members.append(member)
            desc.tasks[-1].place()
    except regs_tasks.Bad as bad:
        raise Bad(num, str(bad)) from bad


class Description:
    """Size of the register file and whose it is, registers in order of offsets, tasks, fields whose values get
    constants."""

    def __init__(self, path):
        self.name = os.path.splitext(os.path.basename(path))[0]
        self.space, self.title = 0, ""
        self.regs, self.tasks, self.constants = [], [], []

    @property
    def prefix(self):
        return self.name.upper() + "_"

    @property
    def width(self):
        """Bits of an address."""
        return self.space.bit_length() - 1

    def header(self, mark, *lines):
        """First lines of a generated file, behind the mark of a comment."""
        lines = lines[:1] + ("", "Generated from regs/%s.regs by scripts/gen_regs.py." % self.name) + lines[1:]
        return [(mark + " " + line).rstrip() for line in lines]


def parse(desc, lines):
    field = None
    regs = desc.regs
    for num, raw in enumerate(lines, 1):
        line = raw.strip()
        if not line or line.startswith("#"):
            continue
        words, text = split_line(num, line)
        kind = words[0] if words else ""
        if kind not in ("space", "reg", "field", "enum", "task", "member", "constants"):
            raise Bad(num, "expected reg, field or enum (space, task, member, constants), got '%s'" % kind)
        if not text and kind != "member":
            raise Bad(num, "no quoted text at the end of the line")
        if kind == "space":
            parse_space(num, words, text, desc)
        elif kind == "reg":
            if regs and not regs[-1].fields:
                raise Bad(num, "register %s has no field" % regs[-1].name)
            regs.append(parse_reg(num, words, desc))
            regs[-1].text, field = text, None
        elif kind == "field":
            field = parse_field(num, words, regs[-1] if regs else None)
            field.text = text
            regs[-1].fields.append(field)
        elif kind in ("task", "member", "constants"):
            parse_task(num, kind, words, text, desc)
        else:
            value, name, traits = parse_enum(num, words, field)
            field.enums.append((value, name, text, traits))
    if not regs:
        raise Bad(len(lines), "no register in the description")
    if not regs[-1].fields:
        raise Bad(len(lines), "register %s has no field" % regs[-1].name)
    for task in desc.tasks:
        if not task.members:
            raise Bad(len(lines), "task %s has no member" % task.name)
    regs.sort(key=lambda r: r.offset)
    return desc


def gen_sv(desc):
    out = desc.header("//", "Register offsets and fields of %s." % desc.title)
    out += ["package %s_regs_pkg;" % desc.name, "",
            "  // every register has all its constants, whether the design uses them or not",
            "  // verilator lint_off UNUSEDPARAM", ""]
    for reg in desc.regs:
        p = "%sREG_%s" % (desc.prefix, reg.name)
        out.append("  // %s" % reg.text)
        out.append("  localparam logic [%d:0] %s_OFFSET = %d'h%03X;" % (desc.width - 1, p, desc.width, reg.offset))
        out.append("  localparam logic [31:0] %s_RESET = 32'h%08X;" % (p, reg.reset))
        out.append("  localparam logic [31:0] %s_MASK = 32'h%08X;" % (p, reg.mask()))
        for f in reg.fields:
            q = "%s%s_%s" % (desc.prefix, reg.name, f.name)
            out.append("  localparam int unsigned %s_LSB = %d;" % (q, f.lo))
            out.append("  localparam int unsigned %s_WIDTH = %d;" % (q, f.width))
            out.append("  localparam logic [31:0] %s_MASK = 32'h%08X;" % (q, f.mask))
            out.append("  localparam logic [%d:0] %s_RESET = %d'h%X;" % (f.width - 1, q, f.width, f.reset))
            for value, name, *_ in f.enums:
                out.append("  localparam logic [%d:0] %s_%s = %d'd%d;" % (f.width - 1, q, name, f.width, value))
        out.append("")
    out += ["endpackage", ""]
    return "\n".join(out)


def trait_tables(prefix, field):
    """For a field whose values have traits: the number of values, all of them, and for each trait the values with and
    without it."""
    traits = sorted({t for e in field.enums for t in e[3]})
    if not traits:
        return []
    out = ["#define %s_TABLE(X) \\" % prefix,
           " \\\n".join("    X(%s, %du)" % (e[1], e[0]) for e in field.enums)]
    for t in traits:
        others = [e for e in field.enums if t not in e[3]]
        name = t.upper()
        out += ["#define %s_WITH_%s 0x%Xu" % (prefix, name, sum(1 << e[0] for e in field.enums if t in e[3])),
                "#define %s_NOT_%s_COUNT %du" % (prefix, name, len(others)),
                "#define %s_NOT_%s_NAMES { %s }" % (prefix, name, ", ".join('"%s"' % e[1].lower() for e in others)),
                "#define %s_NOT_%s_VALUES { %s }" % (prefix, name, ", ".join("%du" % e[0] for e in others))]
    return out


def gen_c(desc):
    regs, up = desc.regs, desc.prefix
    out = ["/*"] + desc.header(
        " *", "%s_regs.h - register offsets and fields of %s." % (desc.name, desc.title),
        "A field has _LSB, _WIDTH and _MASK (in place); the values of its enum are not shifted. "
        "_NAMES: initialiser of a table of their names, _COUNT: its size.",
        "Where values have traits: _TABLE of X(NAME, value); "
        "of a trait T _WITH_T, a bit for each value that has it (%sHAS), and of the" % up,
        "values that have not _NOT_T_COUNT, _NOT_T_NAMES and _NOT_T_VALUES, initialisers of tables.") + [
        " */", "#ifndef %sREGS_H" % up, "#define %sREGS_H" % up, "", "/* clang-format off */", "",
        "/* Is `value` in a set %s..._WITH_...? */" % up,
        "#define %sHAS(set, value) (((set) >> (value) & 1u) != 0)" % up, ""]
    for reg in regs:
        out.append("/* %s */" % reg.text.replace("*/", "* /"))
        out.append("#define %sREG_%s 0x%03Xu" % (up, reg.name, reg.offset))
        out.append("#define %sREG_%s_RESET 0x%08Xu" % (up, reg.name, reg.reset))
        for f in reg.fields:
            q = "%s%s_%s" % (up, reg.name, f.name)
            out.append("#define %s_LSB %du" % (q, f.lo))
            out.append("#define %s_WIDTH %du" % (q, f.width))
            out.append("#define %s_MASK 0x%08Xu" % (q, f.mask))
            for value, name, *_ in f.enums:
                out.append("#define %s_%s %du" % (q, name, value))
            if f.enums and f.enums[0][0] == 0:
                out.append("#define %s_NAMES {%s}" % (q, ", ".join(
                    '%s"%s"' % ("" if i == 0 or e[0] == f.enums[i - 1][0] + 1 else "[%d] = " % e[0], e[1].lower())
                    for i, e in enumerate(f.enums))))
                out.append("#define %s_COUNT %du" % (q, f.enums[-1][0] + 1))
            out += trait_tables(q, f)
        out.append("")
    out += (["/* Access of a register, for %sREGS_TABLE. */" % up] +
            ["#define %sACCESS_%s %du" % (up, a.upper(), i) for i, a in enumerate(ACCESSES)])
    out += ["", "/* X(name, offset, access, exact_mask, timed_mask, w1c_mask, reset) for each register, "
            "in order of offsets. */", "#define %sREGS_TABLE(X) \\" % up]
    rows = ["    X(%s, 0x%03Xu, %sACCESS_%s, 0x%08Xu, 0x%08Xu, 0x%08Xu, 0x%08Xu)" %
            (r.name, r.offset, up, r.access.upper(), r.mask("exact"), r.mask("timed"), r.mask("w1c"), r.reset)
            for r in regs]
    out.append(" \\\n".join(rows))
    fields = ["    X(%s, %s, 0x%03Xu, %du, %du)" % (r.name, f.name, r.offset, f.lo, f.width)
              for r in regs for f in r.fields]
    enums = ["    X(%s, %s, %s, 0x%03Xu, %du, %du)" % (r.name, f.name, name, r.offset, f.lo, value)
             for r in regs for f in r.fields for value, name, *_ in f.enums]
    out += ["", "/* X(register, field, offset, lsb, width) for each field, in order of offsets. */",
            "#define %sFIELD_TABLE(X) \\" % up, " \\\n".join(fields),
            "", "/* X(register, field, name, offset, lsb, value) for each named value of a field. */",
            "#define %sENUM_TABLE(X) \\" % up, " \\\n".join(enums)]
    out += ["", "/* clang-format on */", "", "#endif", ""]
    return "\n".join(out)


def gen_md(desc):
    def cell(text):
        return text.replace("|", "\\|")

    regs = desc.regs
    out = ["# Registers of %s" % desc.title, "",
           "This page lists the registers of the design and their fields. `scripts/gen_regs.py` generates it from",
           "`regs/%s.regs`; do not edit it, but run `make regs`." % desc.name, "",
           "Registers have 32 bits; offsets are in bytes, in an address of %d bits. Unused offsets and bits read 0"
           % desc.width,
           "and ignore writes. The class of a field says how RTL and model are compared: `exact` fields bit for bit;",
           "`timed` fields, which depend on time, only by their range; `w1c` flags as a set",
           "([architecture.md](../architecture.md), section 5).", "",
           "| offset | register | access | reset | what |", "| --- | --- | --- | --- | --- |"]
    for r in regs:
        out.append("| 0x%03X | [%s](#%s) | %s | 0x%08X | %s |" %
                   (r.offset, r.name, r.name.lower(), r.access, r.reset, cell(r.text)))
    for r in regs:
        out += ["", "## %s" % r.name, "", "0x%03X, %s. %s." % (r.offset, r.access, r.text.rstrip(".")), "",
                "| bits | field | class | reset | what |", "| --- | --- | --- | --- | --- |"]
        for f in sorted(r.fields, key=lambda f: -f.hi):
            bits = "%d" % f.hi if f.hi == f.lo else "%d:%d" % (f.hi, f.lo)
            text = cell(f.text)
            if f.enums:
                # a line for each of many values
                comma, begin = (", ", ": ") if len(f.enums) <= 3 else (",<br>", ":<br>")
                text += begin + comma.join("%d %s (%s)" % (v, n, cell(t)) for v, n, t, _ in f.enums)
            out.append("| %s | %s | %s | 0x%X | %s |" % (bits, f.name, f.cls, f.reset, text))
    return "\n".join(out) + "\n"


def main():
    ap = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="Exit status: 0 done or up to date, 1 stale (--check) or not written, 2 bad description or usage.")
    ap.add_argument("input", help="register description")
    ap.add_argument("--out", help="folder for SystemVerilog and C")
    ap.add_argument("--doc", help="file for the register table")
    ap.add_argument("--check", action="store_true",
                    help="write nothing; fail when a file is not as it would be written")
    args = ap.parse_args()
    desc = read_input("gen_regs", args.input, lambda lines: parse(Description(args.input), lines))
    if desc is None:
        return 2
    files = [(args.doc, gen_md(desc))] if args.doc else []
    if args.out:
        made = [("regs_pkg.sv", gen_sv(desc)), ("regs.h", gen_c(desc))]
        if desc.tasks:
            made += [("tasks.svh", regs_tasks.gen_sv(desc)), ("tasks.h", regs_tasks.gen_c(desc))]
        files += [(os.path.join(args.out, "%s_%s" % (desc.name, suffix)), text) for suffix, text in made]
    return finish("gen_regs", files, args.check, "make regs")


if __name__ == "__main__":
    sys.exit(main())
