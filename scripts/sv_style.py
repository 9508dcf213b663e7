#!/usr/bin/python3
"""Style of SystemVerilog sources (make lint, make format): that of lowRISC's guide where a tool can tell.

usage: sv_style.py [--fix] FILE...

Lists that are opened at the end of a line, of ports, parameters and connections, are indented by two more than that
line, and closed below its first character; labels of assertions are UpperCamel; no tabs, no blanks at the end of a
line. --fix writes the indentation and removes the blanks; labels are left to their author.

Exit status: 0; 1: a file has another style; 2: bad usage."""

import argparse
import os
import re
import sys

LABEL = re.compile(r"`ASSERT(?:_[A-Z0-9]+)?\(\s*(\w+)|(\w+)\s*:\s*(?:assert|assume|cover)\s+property")
TOKEN = re.compile(r'//.*|/\*.*?\*/|"(?:\\.|[^"\\])*"|[()]')


def brackets(line):
    """The round brackets of a line, without those in comments and strings: (position, bracket)."""
    return [(m.start(), m[0]) for m in TOKEN.finditer(line) if m[0] in "()"]


def code_end(line):
    """The line without a comment at its end."""
    for m in TOKEN.finditer(line):
        if m[0].startswith("//"):
            return line[:m.start()].rstrip()
    return line.rstrip()


def restyle(text):
    """Lines in this style, and complaints: [(line number, what)]."""
    out, complaints = [], []
    stack = []  # of open brackets: (indent of the lines in it or None, indent of its closing line, shift of its line)
    for number, line in enumerate(text.split("\n"), 1):
        if "\t" in line:
            complaints.append((number, "a tab"))
            line = line.expandtabs(2)
        if line != line.rstrip():
            complaints.append((number, "blanks at the end of the line"))
            line = line.rstrip()
        for m in LABEL.finditer(line):
            label = m[1] or m[2]
            if not re.fullmatch(r"(?:[A-Z][a-z0-9]*)+", label) and label != "Name":
                complaints.append((number, "label %s, expected UpperCamel" % label))
        body = line.lstrip()
        indent = shifted = len(line) - len(body)
        if stack and body and not body.startswith("`"):
            inner, outer, shift = stack[-1]
            closes = body.startswith(")")
            shifted = outer if closes and inner is not None else inner if inner is not None else max(indent + shift, 0)
            if shifted != indent and inner is not None:
                complaints.append((number, "%d blanks, expected %d" % (indent, shifted)))
        out.append(" " * shifted + body if body else "")
        begin = shifted
        code = code_end(line)
        found = brackets(line)
        for at, what in found:
            if what == "(":
                last = at == len(code) - 1
                stack.append((begin + 2 if last else None, begin, shifted - indent))
            elif stack:
                _, closed, _ = stack.pop()
                if at == indent:  # what follows a list on the line of its end belongs to that line
                    begin = closed
    return "\n".join(out), complaints


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--fix", action="store_true", help="write the files in this style")
    ap.add_argument("files", nargs="+", metavar="FILE")
    args = ap.parse_args()
    bad = False
    for path in args.files:
        try:
            with open(path, encoding="utf-8") as src:
                text = src.read()
        except (OSError, UnicodeDecodeError) as err:
            ap.error("%s: %s" % (path, err))
        styled, complaints = restyle(text)
        if args.fix and styled != text:
            with open(path + ".tmp", "w", encoding="utf-8") as out:
                out.write(styled)
            os.replace(path + ".tmp", path)
            _, complaints = restyle(styled)
        for number, what in complaints:
            bad = True
            print("%s:%d: %s" % (path, number, what))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
