"""Shared by the generators of sources: input whose errors are reported with their line, files that are written
atomically and keep their time when their text is unchanged."""

import os
import sys


class Bad(Exception):
    """An error in the input: line number and text."""

    def __init__(self, line, text):
        super().__init__(text)
        self.line = line
        self.text = text


def read_file(path):
    try:
        with open(path, encoding="utf-8") as src:
            return src.read()
    except (OSError, UnicodeDecodeError):
        return None


def read_input(tool, path, parse):
    """parse(lines of the file), or None after one line with the error."""
    try:
        with open(path, encoding="ascii") as src:
            return parse(src.read().splitlines())
    except OSError as err:
        said = ": %s" % err.strerror
    except UnicodeDecodeError:
        said = ": not ASCII text"
    except Bad as bad:
        said = ":%d: %s" % (bad.line, bad.text)
    print("%s: %s%s" % (tool, path, said), file=sys.stderr)
    return None


def write_file(path, text):
    if read_file(path) == text:
        return
    tmp = "%s.%d.tmp" % (path, os.getpid())  # two builds may generate the same file at the same time
    try:
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        with open(tmp, "w", encoding="utf-8") as out:
            out.write(text)
        os.replace(tmp, path)
    except OSError:
        if os.path.exists(tmp):
            os.unlink(tmp)
        raise


def finish(tool, files, check, command):
    """Write files, (path, text) each, or with `check` say which of them `command` would change. Exit status."""
    stale = [path for path, text in files if check and read_file(path) != text]
    for path in stale:
        print("%s: %s is stale, run `%s`" % (tool, path, command), file=sys.stderr)
    try:
        for path, text in files if not check else ():
            write_file(path, text)
    except OSError as err:
        print("%s: %s: %s" % (tool, path, err.strerror), file=sys.stderr)
        return 1
    return 1 if stale else 0
