#!/usr/bin/env python3
"""Takes the copies out of a Verilated model with taps: a signal of a tap that is nothing but a copy of another variable becomes that variable.

usage: tap_alias.py FOLDER TOP

Verilator keeps every public signal as a variable of its own and copies the value into it in each evaluation. The signals of a tap (instance u_tap_*, tb/tap/tap.h)
are only read between evaluations, when a continuous assignment `tap = signal` holds in any case. So where all assignments to a tap's signal in the generated
code have the form `tap = signal`, with the same signal and the same type, both may share the signal's storage. Whatever does not look like this stays as it is: a
Verilator whose code looks otherwise gives a slower model, not a wrong one. Prints how many signals were taken.
"""
import pathlib
import re
import sys

SELF = r'(?:vlSelf->|vlSelfRef\.)'
ASSIGN = re.compile(r'(' + SELF + r')(\w+)((?:\[\w+\])?)\s*=(?!=)\s*([^;]+);')
RESET = re.compile(r'VL_\w*RAND_RESET\w*\(')
WIDE_RESET = re.compile(r'VL_\w*RAND_RESET_W\(\s*\d+\s*,\s*' + SELF + r'(\w+)[^;]*;')
MEMBER = re.compile(r'^\s*((?:[CSIQ]Data|VlWide<\d+>)(?:/\*[\d:]+\*/)?)\s+(\w+);\s*$', re.M)


def is_tap(name):
    return '__DOT__u_tap_' in name


def sources(text):
    """What is assigned to each signal of a tap: {name: {(index, right side)}}, resets left out."""
    found = {}
    for _, name, index, value in ASSIGN.findall(text):
        if is_tap(name) and not RESET.match(value):
            found.setdefault(name, set()).add((index, re.sub(r'\s+', '', value)))
    return found


def copy_of(assignments):
    """The variable that these assignments copy, or None."""
    names = set()
    for index, value in assignments:
        match = re.fullmatch(SELF + r'(\w+)((?:\[\w+\])?)', value)
        if match is None or match.group(2) != index:
            return None
        names.add(match.group(1))
    return names.pop() if len(names) == 1 else None


def aliases(text, types):
    """{tap's signal: variable}, chains followed to their end."""
    direct = {}
    for name, assignments in sources(text).items():
        source = copy_of(assignments)
        words = re.match(r'VlWide<(\d+)>', types.get(name, ''))
        whole = words is None or len(assignments) == int(words.group(1)) or all(index == '' for index, _ in assignments)
        if source is not None and whole and name in types and types.get(source) == types[name]:
            direct[name] = source
    result = {}
    for name in direct:
        source = direct[name]
        while source in direct:
            source = direct[source]
        result[name] = source
    return result


def rewrite(text, alias):
    """Every use of an alias becomes its variable; the copies and what initialised the alias go."""
    def assign(match):
        _, name, index, value = match.groups()
        if name not in alias:
            return match.group(0)
        return ''

    def wide_reset(match):
        return '' if match.group(1) in alias else match.group(0)

    text = WIDE_RESET.sub(wide_reset, text)
    text = ASSIGN.sub(assign, text)
    return re.sub(r'\b\w+__DOT__u_tap_\w+\b', lambda m: alias.get(m.group(0), m.group(0)), text)


def main():
    if len(sys.argv) != 3:
        print('usage: tap_alias.py FOLDER TOP', file=sys.stderr)
        return 2
    folder, top = pathlib.Path(sys.argv[1]), sys.argv[2]
    header = folder / f'V{top}___024root.h'
    code = [f for f in folder.glob(f'V{top}*.cpp')]
    text = {f: f.read_text() for f in code}
    declared = header.read_text()
    types = {name: kind for kind, name in MEMBER.findall(declared)}
    alias = aliases('\n'.join(text.values()), types)
    for f, old in text.items():
        new = rewrite(old, alias)
        if new != old:
            f.write_text(new)
    header.write_text(MEMBER.sub(lambda m: '' if m.group(2) in alias else m.group(0), declared))
    print(f'{len(alias)} of {sum(map(is_tap, types))} signals of taps share their source')
    return 0


if __name__ == '__main__':
    sys.exit(main())
