#!/usr/bin/python3
"""Record a session of a terminal as a picture: tools/record.py OUT.svg <COMMANDS

COMMANDS are lines of shell, executed one after the other in one working folder; `cd` and exported variables last.
A line of the form `# show 12` limits the next command's output to so many lines, the first and the last ones; `# hide`
runs the next command without showing it; `# take TEXT` leaves `TEXT` out of all output (a folder's path). What each
command took is written behind it. Exit status 1 if a command of `# ok` fails, or a command cannot be started."""

import html
import os
import re
import subprocess
import sys
import tempfile
import textwrap
import time

WIDTH, LINE, COLUMNS = 860, 18, 104
COLOURS = (("$ ", "#9cdcfe"), ("fail", "#ff8a80"), ("FAIL", "#ff8a80"), ("  ", "#d4d4d4"))


def run(command, state):
    """Output of a command, its status and seconds; state: a file that keeps folder and variables."""
    begin = time.monotonic()
    script = '[ -f "%s" ] && . "%s"\n%s\nstatus=$?\n{ export -p; echo "cd \'$PWD\'"; } >"%s"\nexit $status\n' % (
        state, state, command, state)
    done = subprocess.run(["bash", "-c", script], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace")
    return done.stdout, done.returncode, time.monotonic() - begin


def shortened(lines, limit):
    if limit is None or len(lines) <= limit:
        return lines
    head = limit // 2
    return lines[:head] + ["  .. %d lines .." % (len(lines) - limit)] + lines[len(lines) - (limit - head):]


def wrapped(line):
    """Lines that fit, broken at blanks where there are any; what goes on is indented."""
    return textwrap.wrap(line, COLUMNS, subsequent_indent="    ", drop_whitespace=True, break_on_hyphens=False,
                         replace_whitespace=False) or [""]


def session(commands):
    """Lines of the terminal."""
    out, limit, hide, needed, taken = [], None, False, False, []
    with tempfile.TemporaryDirectory() as folder:
        for line in commands:
            line = line.strip()
            word = line.split(" ", 2)
            if line.startswith("# show "):
                limit = int(word[2])
            elif line == "# hide":
                hide = True
            elif line == "# ok":
                needed = True
            elif line.startswith("# take "):
                taken.append(word[2])
            elif line and not line.startswith("#"):
                text, status, seconds = run(line, os.path.join(folder, "state"))
                for part in taken:
                    text = text.replace(part, "")
                if needed and status != 0:
                    raise SystemExit("record.py: %s: exit status %d\n%s" % (line, status, text))
                lines = [re.sub(r"\033\[[0-9;]*m", "", part).rstrip() for part in text.splitlines()]
                if not hide:
                    out += wrapped("$ %s" % line) + [w for part in shortened(lines, limit) for w in wrapped(part)]
                    out.append("  (%.1f s)" % seconds)
                limit, hide, needed = None, False, False
    return out


def picture(lines):
    height = LINE * len(lines) + 24
    out = ['<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" role="img" font-family="monospace" '
           'font-size="13">' % (WIDTH, height),
           '<rect width="%d" height="%d" rx="6" fill="#1e1e1e"/>' % (WIDTH, height)]
    for i, line in enumerate(lines):
        colour = next((c for start, c in COLOURS if line.startswith(start)), "#d4d4d4")
        if re.fullmatch(r"  \(\d+\.\d s\)", line):
            colour = "#808080"
        out.append('<text x="12" y="%d" fill="%s" xml:space="preserve">%s</text>' % (
            26 + LINE * i, colour, html.escape(line, quote=False)))
    return "\n".join(out + ["</svg>"]) + "\n"


def main():
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        print(__doc__)
        return 0 if "--help" in sys.argv[1:] else 2
    text = picture(session(sys.stdin.read().splitlines()))
    temporary = "%s.tmp%d" % (sys.argv[1], os.getpid())
    with open(temporary, "w", encoding="utf-8") as dst:
        dst.write(text)
    os.replace(temporary, sys.argv[1])
    return 0


if __name__ == "__main__":
    sys.exit(main())
