"""Registers of a SystemRDL or IP-XACT description for scoreboards (scripts/boards.py): read by systemrdl-compiler, and
by the importer of peakrdl-ipxact for files that end in .xml. Both are optional; the Python that runs this must have
them."""

import re
import xml.etree.ElementTree as xml


class Wrong(Exception):
    """What is wrong, in one line."""


class Row:
    """32 bits of a register: name, offset in bytes, value after reset, and two masks: bits that have a reset value and
    are changed by software alone, and those of them that hold what is written."""

    def __init__(self, name, offset, reset, exact, hold):
        self.name, self.offset, self.reset, self.exact, self.hold = name, offset, reset, exact, hold


def compiler(path):
    """A compiler of the library that has read the file; the class of its errors."""
    try:
        import systemrdl
    except ImportError:
        raise Wrong("%s: needs the Python package systemrdl-compiler (PYTHON=: the interpreter that has it)" %
                    path) from None

    class Quiet(systemrdl.messages.MessagePrinter):
        said = []

        def emit_message(self, lines):
            self.said.append(re.sub(r"\x1b\[[0-9;]*m", "", lines[0]) if lines else "?")

    Quiet.said = []
    rdl = systemrdl.RDLCompiler(message_printer=Quiet())
    try:
        if path.endswith(".xml"):
            try:
                from peakrdl_ipxact import IPXACTImporter
            except ImportError:
                raise Wrong("%s: needs the Python package peakrdl-ipxact (PYTHON=: the interpreter that has it)" %
                            path) from None
            IPXACTImporter(rdl).import_file(path)
        else:
            rdl.compile_file(path)
        return rdl.elaborate()
    except systemrdl.RDLCompileError as err:
        raise Wrong("%s: %s" % (path, next((s for s in Quiet.said if "error" in s or "fatal" in s), err))) from None
    except (xml.ParseError, ValueError, KeyError, AttributeError) as err:  # what the importer does not expect
        raise Wrong("%s: %s" % (path, err)) from None


def masks(reg):
    """Reset value, exact and hold of a register, all of its bits."""
    reset = exact = hold = 0
    for f in reg.fields():
        bits = ((1 << f.width) - 1) << f.low
        value = f.get_property("reset")
        side = any(f.get_property(p) not in (None, False) for p in ("onread", "onwrite", "singlepulse"))
        # what hardware changes is known to the design alone
        if f.is_sw_readable and not f.is_hw_writable and not side and isinstance(value, int):
            reset |= value << f.low
            exact |= bits
            hold |= bits if f.is_sw_writable else 0
    return reset, exact, hold


def read(path):
    """Rows of all registers, in the order of their addresses; wider ones as several of 32 bits."""
    rows = []
    root = compiler(path)
    for node in root.top.descendants(unroll=True):
        if type(node).__name__ != "RegNode":
            continue
        reset, exact, hold = masks(node)
        name = node.get_path().split(".", 1)[-1]
        parts = max(1, node.get_property("regwidth") // 32)
        for i in range(parts):
            cut = [v >> 32 * i & 0xffffffff for v in (reset, exact, hold)]
            rows.append(Row("%s%s" % (name, "[%d]" % i if parts > 1 else ""), node.absolute_address + 4 * i, *cut))
    return sorted(rows, key=lambda r: r.offset)
