"""Tasks of a register description (regs/NAME.regs): the descriptor of a unit's task, member by member, as SystemVerilog
and as C. Part of gen_regs.py."""

import re

MEMBER = re.compile(r"([a-z][a-z0-9_]*)(?:\[([0-9]+)\])?\Z")


class Member:
    """A member of a task: its name (that of an element: name, index), its first field, and how it follows from that."""

    def __init__(self, name, index, source, kind, text):
        self.name, self.index, self.source, self.kind, self.text = name, index, source, kind, text
        self.condition = self.other = self.bounds = None
        self.lsb = 0
        self.one = 1  # its value 1 as software writes it to the field

    @property
    def width(self):
        return 1 if self.kind == "equal" else self.source[1].width

    @property
    def flat(self):
        """Its name where there are no arrays."""
        return self.name + (self.index or "")

    @property
    def element(self):
        return self.name + ("[%s]" % self.index if self.index else "")


class Task:
    def __init__(self, name, text):
        self.name, self.text, self.members = name, text, []

    @property
    def width(self):
        return sum(m.width for m in self.members)

    def place(self):
        """Bit positions: the first member is the highest."""
        at = self.width
        for m in self.members:
            at -= m.width
            m.lsb = at

    def flips(self):
        """{register: mask}: bits to be inverted after every member has been written to its first field: fields that a
        member inverts, conditions of first fields."""
        found = {}
        for m in self.members:
            for reg, field in ([m.source] if m.kind == "not" else []) + ([m.condition] if m.kind == "choice" else []):
                found[reg.name] = found.get(reg.name, 0) | field.mask
        return found


class Bad(Exception):
    """An error in a line."""


def find_field(regs, word):
    reg_name, _, field_name = word.partition(".")
    for reg in regs:
        for field in reg.fields:
            if (reg.name, field.name) == (reg_name, field_name):
                return reg, field
    raise Bad("there is no field %s" % word)


def parse_member(words, text, regs):
    """member NAME = FIELD | !FIELD | FIELD == VALUE | FIELD ? FIELD : FIELD or number | FIELD in LOWEST .. HIGHEST"""
    name = MEMBER.match(words[1]) if len(words) > 3 and words[2] == "=" else None
    if not name:
        raise Bad('expected: member NAME = SOURCE "text"')
    src = words[3:]
    m = Member(name.group(1), name.group(2), find_field(regs, src[0].lstrip("!")), "copy", text)
    if len(src) == 1:
        m.kind = "not" if src[0].startswith("!") else "copy"
        if m.kind == "not" and m.width != 1:
            raise Bad("only one bit can be inverted")
    elif len(src) == 3 and src[1] == "==":
        m.kind = "equal"
        values = [e[0] for e in m.source[1].enums if e[1] == src[2]]
        if not values or values[0] == 0:
            raise Bad("%s: expected the name of a value that is not 0" % src[2])
        m.one = values[0]
    elif len(src) == 5 and src[1] == "?" and src[3] == ":":
        m.kind, m.condition, m.source = "choice", m.source, find_field(regs, src[2])
        m.other = int(src[4]) if src[4].isdigit() else find_field(regs, src[4])
        if m.condition[1].width != 1 or (not src[4].isdigit() and m.other[1].width > m.width):
            raise Bad("expected a condition of one bit, and a second field that is not wider than the first")
    elif len(src) == 5 and src[1] == "in" and src[3] == "..":
        m.kind, m.bounds = "clamp", (int(src[2]), src[4])
    else:
        raise Bad("source '%s' is not understood" % " ".join(src))
    return m


def first_offset(tasks):
    return min(m.source[0].offset for t in tasks for m in t.members)


def words_bits(tasks):
    used = [r.offset for t in tasks for m in t.members
            for r in [m.source[0]] + ([m.condition[0]] if m.condition else []) +
            ([m.other[0]] if isinstance(m.other, tuple) else [])]
    return 8 * (max(used) + 4 - first_offset(tasks))


def sv_value(m, base):
    def bits(source):
        lsb = 8 * (source[0].offset - base) + source[1].lo
        return "regs[%d]" % lsb if source[1].width == 1 else "regs[%d:%d]" % (lsb + source[1].width - 1, lsb)

    value = bits(m.source)
    if m.kind == "not":
        return "!" + value
    if m.kind == "equal":
        return "(%s == %d'd%d)" % (value, m.source[1].width, m.one)
    if m.kind == "choice":
        other = "%d'd%d" % (m.width, m.other) if isinstance(m.other, int) else "%d'(%s)" % (m.width, bits(m.other))
        return "(%s ? %s : %s)" % (bits(m.condition), value, other)
    if m.kind == "clamp":
        low = "%d'd%d" % (m.width, m.bounds[0])
        return "(%s < %s ? %s : %s > %s ? %s : %s)" % (value, low, low, value, m.bounds[1], m.bounds[1], value)
    return value


def camel(name):
    return "".join(w.capitalize() for w in name.split("_"))


def mask_rows(tasks, regs):
    """The bits of the task registers that exist, last register first, a line for six of them."""
    base = first_offset(tasks)
    masks = {r.offset: r.mask() for r in regs}
    words = ["32'h%08X" % masks.get(base + 4 * i, 0) for i in reversed(range(words_bits(tasks) // 32))]
    return ",\n".join("    " + ", ".join(words[i:i + 6]) for i in range(0, len(words), 6))


def gen_sv(desc):
    """Included by the design's package: constants, and for each task its type, its bits and a function that makes it
    from the registers."""
    tasks = desc.tasks
    base = first_offset(tasks)
    out = desc.header("//", "Values of fields, and tasks as the units get them. Included by a package.") + [""]
    for prefix, reg, field in desc.constants:
        out.append("  // %s.%s" % (reg.name, field.name))
        out += ["  localparam logic [%d:0] %s%s = %d'd%d;" % (field.width - 1, prefix, camel(name), field.width, value)
                for value, name, *_ in field.enums]
        out.append("")
    out += ["  // words of the task registers, side by side", "  localparam logic [%d:0] TaskRegsOffset = %d'h%03X;" %
            (desc.width - 1, desc.width, base), "  localparam int unsigned TaskRegsW = %d;" % words_bits(tasks),
            "  localparam logic [TaskRegsW-1:0] TaskRegsMask = {  // bits that exist", mask_rows(tasks, desc.regs),
            "  };", "", "  // a function that makes a task gets all task registers and takes its own",
            "  // verilator lint_off UNUSEDSIGNAL", ""]
    for t in tasks:
        out += ["  // %s" % t.text, "  typedef struct packed {"]
        for m in t.members:
            kind = "logic" if m.width == 1 else "logic [%d:0]" % (m.width - 1)
            out.append("    %-12s %s;%s" % (kind, m.flat, "  // " + m.text if m.text else ""))
        arg = sorted({m.bounds[1]: m.width for m in t.members if m.bounds}.items())
        out += ["  } %s_task_t;" % t.name, "",
                "  localparam int unsigned %sTaskW = %d;  // $bits of a type is more than Yosys 0.23 reads" %
                (t.name.capitalize(), t.width), "",
                "  function automatic %s_task_t %s_task(input logic [TaskRegsW-1:0] regs%s);" %
                (t.name, t.name, "".join(", input logic [%d:0] %s" % (w - 1, n) for n, w in arg))]
        # one expression: Yosys 0.23 takes members of a function's result for wires of their own
        values = [sv_value(m, base) + ("," if m is not t.members[-1] else "") for m in t.members]
        out += (["    %s_task = {" % t.name] + ["      %s  // %s" % (v, m.flat) for v, m in zip(values, t.members)] +
                ["    };", "  endfunction", ""])
    return "\n".join(out + ["  // verilator lint_on UNUSEDSIGNAL", ""])


def c_struct(t):
    sizes = {}
    for m in t.members:
        sizes[m.name] = max(sizes.get(m.name, 0), int(m.index or 0) + 1)
    out, seen = ["/* %s */" % t.text, "typedef struct cm_%s_task {" % t.name], set()
    for m in t.members:
        if m.name not in seen:
            seen.add(m.name)
            out.append("    %s %s%s;%s" % ("bool" if m.width == 1 else "uint32_t", m.name,
                                           "[%d]" % sizes[m.name] if m.index else "",
                                           " /* %s */" % m.text if m.text else ""))
    return out + ["} cm_%s_task;" % t.name, ""]


def gen_c(desc):
    out = (["/*"] + desc.header(" *", "%s_tasks.h - tasks as the units get them." % desc.name,
                                "A member has _LSB and _WIDTH in the descriptor of the RTL.") +
           [" */", "#ifndef %sTASKS_H" % desc.prefix, "#define %sTASKS_H" % desc.prefix,
            "", "#include <stdbool.h>", "#include <stdint.h>", "", "/* clang-format off */", ""])
    for t in desc.tasks:
        p = "CM_%s_TASK" % t.name.upper()
        out += c_struct(t)
        out.append("#define %s_WIDTH %du" % (p, t.width))
        for m in t.members:
            out += ["#define %s_%s_LSB %du" % (p, m.flat.upper(), m.lsb),
                    "#define %s_%s_WIDTH %du" % (p, m.flat.upper(), m.width)]
        rows = ["    X(%s, %s, %du, %du, %s, %s, %du)" % (m.flat, m.element, m.lsb, m.width, m.source[0].name,
                                                          m.source[1].name, m.one) for m in t.members]
        flips = ["    X(%s, 0x%08Xu)" % f for f in sorted(t.flips().items())]
        out += ["", "/* X(name, element, lsb, width, register, field, one) for each member, highest first; "
                "software writes `one` times its value to the field. */",
                "#define %s_TABLE(X) \\" % p, " \\\n".join(rows), "",
                "/* X(register, mask): bits that are inverted once every member has been written to its field. */",
                "#define %s_FLIPS(X)%s" % (p, " \\\n" + " \\\n".join(flips) if flips else ""), ""]
    return "\n".join(out + ["/* clang-format on */", "", "#endif", ""])
