#!/usr/bin/python3
"""Scoreboards that a description declares (lines "board") as a table for C: design_boards.h of the build.

    board stream IN OUT              the bytes that go into stream IN come out of OUT, in order
    board keyed IN OUT               the same; packets of different TID and TDEST may overtake each other
    board fifo IN OUT DEPTH          in order, and at most DEPTH transfers are inside
    board memory SLAVE MASTER        what was written to the AXI slave is in the memory behind the master at the end
    board fair REQUESTS GRANTS [N]   an arbiter at two ports of the design; N: grants of others while one waits
    board registers FILE [REG ...]   registers hold their reset values (fields "exact" of a register description, .regs;
                                     or what software alone changes of SystemRDL, .rdl, and IP-XACT, .xml); REG: these
                                     hold what is written to them; *: all that can
"""

import os
import re
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))


class Wrong(Exception):
    """What is wrong with a description of registers, in one line."""


WORDS = {"stream": (2, 2), "keyed": (2, 2), "fifo": (3, 3), "memory": (2, 2), "fair": (2, 3), "registers": (1, 64)}


def wrong(words):
    """What is wrong with the words behind "board"; None: nothing."""
    least, most = WORDS.get(words[0], (None, None))
    if least is None:
        return "expected one of %s" % ", ".join(WORDS)
    if not least <= len(words) - 1 <= most:
        return "%s: expected %s words behind it" % (words[0], least if least == most else "%d to %d" % (least, most))
    if words[0] == "fifo" or (words[0] == "fair" and len(words) == 4):
        if not re.fullmatch(r"[1-9]\d{0,6}", words[3]):
            return "%s: expected a number, got '%s'" % (words[0], words[3])
    return None


def registers(path, held):
    """Rows of the registers of a description, and which of their bits are read where."""
    if path.endswith((".rdl", ".xml")):
        return foreign_registers(path, held)
    import gen_regs  # not needed by who has no registers
    with open(path, encoding="utf-8") as src:
        try:
            desc = gen_regs.parse(gen_regs.Description(path), src.read().splitlines())
        except gen_regs.Bad as err:
            raise Wrong("%s:%d: %s" % (path, err.line, err)) from None
    check_names(path, [r.name for r in desc.regs], held)
    return ['    {"%s", 0x%xu, 0x%xu, 0x%xu, 0x%xu},' % (
        r.name, r.offset, r.mask("exact"), r.reset,
        r.mask("exact") if r.name in held or "*" in held and r.access == "rw" else 0) for r in desc.regs]


def check_names(path, names, held):
    for name in held:
        if name not in names and name != "*":
            raise Wrong("%s: there is no register %s, only %s" % (path, name, ", ".join(names)))


def foreign_registers(path, held):
    """The same of SystemRDL and IP-XACT."""
    import regs_rdl
    try:
        rows = regs_rdl.read(path)
    except regs_rdl.Wrong as err:
        raise Wrong(str(err)) from None
    except OSError as err:
        raise Wrong("%s: %s" % (path, err.strerror)) from None
    check_names(path, [r.name for r in rows], held)
    return ['    {"%s", 0x%xu, 0x%xu, 0x%xu, 0x%xu},' % (
        r.name, r.offset, r.exact, r.reset, r.hold if r.name in held or "*" in held else 0) for r in rows]


def table(boards, folder):
    """C for the boards of a design: lists of words; paths start at `folder`."""
    rows, regs = [], []
    for words in boards:
        kind = "TB_BOARD_" + words[0].upper()
        if words[0] == "registers":
            found = registers(os.path.join(folder, words[1]), words[2:])
            regs += ["static const tb_board_reg design_regs%d[] = {" % len(rows)] + found + ["};"]
            rows.append("    {.kind = %s, .a = \"%s\", .reg = design_regs%d, .regs = %d}," % (
                kind, words[1], len(rows), len(found)))
        else:
            number = ", .number = %su" % words[3] if len(words) == 4 else ""
            rows.append("    {.kind = %s, .a = \"%s\", .b = \"%s\"%s}," % (kind, words[1], words[2], number))
    return "\n".join(["/* Generated from the description of the design by scripts/boards.py. */",
                      "#ifndef DESIGN_BOARDS_H", "#define DESIGN_BOARDS_H", "", '#include "prog/tandem.h"', ""] + regs +
                     ["static const tb_board_row design_boards[] = {"] + (rows or ["    {.kind = TB_BOARD_NONE},"]) +
                     ["};", "", "#endif", ""])
