#!/usr/bin/env python3
"""Text of a terminal session as an SVG picture, for the documentation.

Lines that begin with "$ " are shown as commands, failures in red. Reads standard input, writes FILE (temporary name,
then rename).
"""
import argparse
import html
import os
import sys
import textwrap

WIDTH = 100  # columns
LINE = 18  # pixels
COLOURS = {"command": "#9cdcfe", "fail": "#ff8a80", "pass": "#a5d6a7", "plain": "#d4d4d4"}


def kind_of(line):
    if line.startswith("$ "):
        return "command"
    if line.startswith(("FAIL", "fail ")) or "failed" in line and "0 failed" not in line:
        return "fail"
    return "pass" if line.startswith("PASS") or "0 failed" in line else "plain"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", help="SVG file to write")
    path = parser.parse_args().file
    rows = []
    for line in sys.stdin.read().splitlines():
        kind = kind_of(line)
        rows += [(kind, part)
                 for part in textwrap.wrap(line, WIDTH, subsequent_indent="    ", drop_whitespace=False) or [""]]
    height = LINE * len(rows) + 24
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="860" height="{height}" role="img" '
        f'font-family="monospace" font-size="14">',
        f'<rect width="860" height="{height}" rx="6" fill="#1e1e1e"/>',
    ]
    for i, (kind, text) in enumerate(rows):
        out.append(f'<text x="12" y="{LINE * (i + 1) + 8}" fill="{COLOURS[kind]}" '
                   f'xml:space="preserve">{html.escape(text)}</text>')
    out.append("</svg>")
    temporary = f"{path}.tmp"
    try:
        with open(temporary, "w", encoding="utf-8") as stream:
            stream.write("\n".join(out) + "\n")
        os.replace(temporary, path)
    except OSError as error:
        print(f"term_svg: {path}: {error.strerror}", file=sys.stderr)
        if os.path.exists(temporary):
            os.unlink(temporary)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
