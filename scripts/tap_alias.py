#!/usr/bin/env python3
"""Removes the copies from a Verilated model with taps: a signal of a tap that only copies another variable, or whole
words of one, becomes an alias of it.

usage: tap_alias.py FOLDER TOP [NAMES]

Verilator keeps every public signal as a variable of its own and copies the value into it in each evaluation. The
signals of a tap (instance u_tap_*, tb/tap/tap.h) are only read between evaluations, when a continuous assignment `tap =
signal` holds in any case. So where all assignments to a tap's signal in the generated code have this form, with the
same signal, both may share the signal's storage. This does not hold where the design itself reads the tap's signal
instead of its source, as Verilator may arrange: within an evaluation the two can differ. Any other form is left
unchanged, so a Verilator with other code gives a slower model, but not a wrong one.

NAMES is a file with names of signals, one a line: what taps have under these names, and ports with these names, become
the first of the model's variables, in this order: bytes, then wider ones. They are looked at in every cycle
(tb/tap/plan.h), together. A name may have the tap's kind and a point before it; signals of one name are in the order of
their instances, lane[2] before lane[10]. Behind the bytes come the clocks and resets, in the order in which an
evaluation looks for edges.

The runtime registers every public signal in maps whenever an instance is made, and that is a large part of making it.
Where nothing else uses its scopes and all of the code that fills them has a known form, both go, and V<TOP>__vars.h
gets a table of the same signals, in the same order, for tb/sim/shim_impl.hpp. Otherwise everything stays.
"""
import pathlib
import re
import sys

SELF = r'(?:vlSelf->|vlSelfRef\.)'
OBJECT = r'(?:vlSelf->|vlSelfRef\.|\bTOP\.|vlSymsp->TOP\.)'
TAP_NAME = '__DOT__u_tap_'
TAP = r'\w+__DOT__u_tap_\w+?__DOT__\w+'
ASSIGN = re.compile(SELF + r'(\w+)((?:\[\w+\])?)\s*=(?!=)\s*([^;]+);')
RESET = re.compile(r'VL_\w*RAND_RESET\w*\(')
WIDE_RESET = re.compile(r'VL_\w*RAND_RESET_W\(\s*\d+\s*,\s*' + SELF + r'(\w+)[^;]*;')
MEMBER = re.compile(r'^\s*((?:[CSIQ]Data|VlWide<\d+>))(?:/\*[\d:]+\*/)?\s+(\w+);\s*$', re.M)
PORT = re.compile(r'\bVL_(?:IN|OUT|INOUT)(8|16|64|W|)\(&?(\w+),\d+,\d+(?:,(\d+))?\);')
LAST = '__Vtrigrprev__TOP__'
# the begin of the variables, and those of up to 32 bits
STATE = '    // DESIGN SPECIFIC STATE\n'
SMALL = ['CData', 'SData', 'IData']
VARIABLE = re.compile(r'^ *(?:[CSI]Data(?:/\*[\d:]+\*/)? +(\w+);|'
                      r'VL_(?:IN|OUT|INOUT)(?:8|16|)\(&?(\w+),\d+,\d+\);)\n', re.M)
PORT_TYPES = {'8': 'CData', '16': 'SData', '': 'IData', '64': 'QData'}

WORD = re.compile(SELF + r'(\w+)\[(\w+)\]')
HALF = re.compile(r'\(IData\)\(\(' + SELF + r'(\w+)>>(0|0x20)U\)\)')
# a word of a wide variable as Verilator selects it: a shift of its upper neighbour that is constant 0, and the word
# itself, shifted by 0
SELECT = re.compile(r'\(\(\(0U==0U\)\?0U:(.*)\)\|\(' + SELF + r'(\w+)\[(\w+)\]>>0U\)\)')


def number(text):
    return int(text.rstrip('U'), 0)


def constant(text):
    return text[:1].isdigit()


def balanced(text):
    depth = 0
    for c in text:
        depth += (c == '(') - (c == ')')
        if depth < 0:
            return False
    return depth == 0


def words(kind):
    """32-bit words of a type; None for those that are narrower."""
    wide = re.match(r'VlWide<(\d+)>', kind)
    return int(wide.group(1)) if wide else {'IData': 1, 'QData': 2}.get(kind)


def one_source(value, kind, types):
    """(variable, first word) that a whole assignment copies, or None. Word None: the variable as it is."""
    plain = re.fullmatch(SELF + r'(\w+)', value)
    if plain:
        return (plain.group(1), None) if types.get(plain.group(1)) == kind else None
    if kind != 'IData':
        return None
    half = HALF.fullmatch(value)
    if half and types.get(half.group(1)) == 'QData':
        return half.group(1), number(half.group(2)) // 32
    select = SELECT.fullmatch(value)
    if select and balanced(select.group(1)) and types.get(select.group(2), '').startswith('VlWide'):
        return select.group(2), number(select.group(3))
    word = WORD.fullmatch(value)
    if word and types.get(word.group(1), '').startswith('VlWide') and constant(word.group(2)):
        return word.group(1), number(word.group(2))
    return None


def source_of(assignments, kind, types):
    """(variable, first word) that all assignments to a signal copy, or None. Of a wide one every word is assigned."""
    found = set()
    if not kind.startswith('VlWide') or all(index == '' for index, _ in assignments):
        found = {one_source(value, kind, types) if index == '' else None for index, value in assignments}
        return found.pop() if len(found) == 1 else None
    seen = set()
    for index, value in assignments:
        word = WORD.fullmatch(value)
        if index == '' or word is None or not types.get(word.group(1), '').startswith('VlWide'):
            return None
        if not constant(index[1:-1]) or not constant(word.group(2)):  # a loop over the words
            return None
        seen.add(number(index[1:-1]))
        found.add((word.group(1), number(word.group(2)) - number(index[1:-1])))
    if len(found) != 1 or len(seen) != words(kind):
        return None
    name, first = found.pop()
    if types[name] == kind and first == 0:
        return name, None
    return (name, first) if first >= 0 and first + words(kind) <= words(types[name]) else None


def read_by_design(text):
    """Signals of taps that evaluation code uses for anything but to assign to signals of taps."""
    def drop(match):
        return '' if re.fullmatch(TAP, match.group(1)) else match.group(0)

    return set(re.findall(rf'\b{TAP}\b', ASSIGN.sub(drop, WIDE_RESET.sub('', text))))


def aliases(text, types):
    """{tap's signal: (variable, first word)}."""
    assigned = {}
    for name, index, value in ASSIGN.findall(text):
        if re.fullmatch(TAP, name) and not RESET.match(value):
            assigned.setdefault(name, set()).add((index, re.sub(r'\s+', '', value)))
    direct = {}
    for name, assignments in assigned.items():
        source = source_of(assignments, types[name], types) if name in types else None
        if source is not None:
            direct[name] = source
    # a source that is a tap's signal itself: follow plain copies, leave the rest
    result = {}
    for name, (source, first) in direct.items():
        while first is None and source in direct:
            source, first = direct[source]
        if source not in direct:
            result[name] = (source, first)
    return result


def rewrite(text, alias, types):
    """Every use of an alias becomes its variable; the copies and what initialised the alias go."""
    def drop(match):
        return '' if match.group(1) in alias else match.group(0)

    def use(match):
        if match.group(2) not in alias:
            return match.group(0)
        name, first = alias[match.group(2)]
        target = match.group(1) + name
        if first is None:
            return target
        kind = types[match.group(2)]
        return f'(*reinterpret_cast<{kind}*>(reinterpret_cast<IData*>(&{target}) + {first}))'

    text = ASSIGN.sub(drop, WIDE_RESET.sub(drop, text))
    return re.sub(rf'({OBJECT})({TAP})\b', use, text)


def in_order(scope):
    """A key that sorts scopes with the numbers in them as numbers: lane[2] before lane[10]."""
    return [(int(part), b'') if part.isdigit() else (-1, part.encode()) for part in re.split(r'(\d+)', scope)]


def places(types, alias, names):
    """{variable: sort key} of the signals with these names, and of clocks and resets. The latter have the order of the
    variables with their last values, so that all are copied together, and come behind the other bytes."""
    index = {name: i for i, name in enumerate(names)}
    clocks = [name.removeprefix(LAST) for name in types if name.startswith(LAST)]
    clock = {name: (0, len(names) + i, []) for i, name in enumerate(clocks) if types.get(name) == SMALL[0]}
    place = {}

    def put(variable, name, instance):
        near = index.get(instance.rpartition(TAP_NAME)[2] + '.' + name, index.get(name))
        if near is not None and types[variable] in SMALL:
            key = (SMALL.index(types[variable]), near, in_order(instance))
            place[variable] = min(place.get(variable, key), key)

    for tap in types:
        instance, _, name = tap.rpartition('__DOT__')
        if re.fullmatch(TAP, tap):
            put(alias.get(tap, (tap, None))[0], name, instance)
        elif tap in index:  # a port
            put(tap, tap, '')
    return place | clock


def gather(declared, types, alias, names):
    """The header with these variables as the first members."""
    place = places(types, alias, names)
    lines = []

    def take(match):
        variable = match.group(match.lastindex)
        if variable not in place:
            return match.group(0)
        lines.append((place[variable], f'    {match.group(0).strip()}\n'))
        return ''

    head, state, members = declared.partition(STATE)
    if not state:
        return declared
    members = VARIABLE.sub(take, members)
    return head + state + ''.join(text for _, text in sorted(lines, key=lambda line: line[0])) + members


VAR_TYPES = {'UINT8': 8, 'UINT16': 16, 'UINT32': 32, 'UINT64': 64, 'WDATA': None}
SCOPES = re.compile(r'\n    // Setup scopes\n((?:    __Vscope_\w+\.configure\([^;]*\);\n)+)'
                    r'    // Setup export functions\n    for \(int __Vfinal = 0; __Vfinal < 2; \+\+__Vfinal\) \{\n'
                    r'((?:        __Vscope_\w+\.varInsert\([^;]*\);\n)+)    \}\n\}\n')
CONFIGURE = re.compile(r'    (__Vscope_\w+)\.configure\(this, name\(\), "([^"\\]+)", "[^"\\]*", -?\d+, '
                       r'VerilatedScope::SCOPE_\w+\);\n')
INSERT = re.compile(r'        (__Vscope_\w+)\.varInsert\(__Vfinal,"([^"\\]+)", (.*), (false|true), VLVT_(\w+),'
                    r'[A-Z_|]+,(\d+)((?: ?,\d+,\d+)*)\);\n')
# a variable, or from a word of one on (rewrite())
PLACE = re.compile(r'&\((?:TOP\.(\w+)|'
                   r'\(\*reinterpret_cast<[\w<>]+\*>\(reinterpret_cast<IData\*>\(&TOP\.(\w+)\) \+ (\d+)\)\))\)')


def var_of(insert, top):
    """(name, bits, place in the root object) of a signal; None: arrays and parameters. ValueError: of another form."""
    _, name, place, parameter, kind, dimensions, ranges = insert
    ends = [int(n) for n in re.findall(r'\d+', ranges)]
    if len(ends) != 2 * int(dimensions) or kind not in VAR_TYPES:
        raise ValueError
    if parameter == 'true' or len(ends) > 2:
        return None
    bits = abs(ends[0] - ends[1]) + 1 if ends else 1
    if VAR_TYPES[kind] is not None and bits > VAR_TYPES[kind]:
        raise ValueError
    found = PLACE.fullmatch(place)
    if not found:
        raise ValueError
    plain, around, word = found.groups()
    at = f'offsetof(V{top}___024root, {plain or around})' + (f' + {4 * int(word)}' if word else '')
    return name, bits, at


def table(code, top):
    """(code of the symbol table without the scopes, lines of the table of signals), or None."""
    setup = SCOPES.search(code)
    if not setup:
        return None
    configured = CONFIGURE.findall(setup.group(1))
    scopes, inserts = dict(configured), INSERT.findall(setup.group(2))
    if (CONFIGURE.sub('', setup.group(1)) or INSERT.sub('', setup.group(2)) or len(scopes) != len(configured) or
            len(set(scopes.values())) != len(scopes) or any(i[0] not in scopes for i in inserts)):
        return None
    try:
        found = [(scopes[i[0]], *var) for i in inserts for var in [var_of(i, top)] if var]
    except ValueError:
        return None
    found.sort(key=lambda var: (in_order(var[0]), var[1].encode()))
    if not found or len({var[:2] for var in found}) != len(found):
        return None
    lines = [f'    {{"{top}.{scope}", "{name}", {bits}, {at}}},' for scope, name, bits, at in found]
    return code[:setup.start()] + '\n}\n' + code[setup.end():], lines


def drop_scopes(folder, top):
    syms, header, known = (folder / f'V{top}__{f}' for f in ('Syms.cpp', 'Syms.h', 'vars.h'))
    known.unlink(missing_ok=True)
    found = table(syms.read_text(), top) if syms.is_file() and header.is_file() else None
    if found is None:
        return
    code, lines = found
    declared = re.sub(r'^    VerilatedScope __Vscope_\w+;\n', '', header.read_text(), flags=re.M)
    others = [f.read_text() for f in folder.glob(f'V{top}*') if f.suffix in ('.cpp', '.h') and f not in (syms, header)]
    if any('__Vscope' in text for text in [code, declared, *others]):
        return
    known.write_text('\n'.join([
        '/* Generated by scripts/tap_alias.py. */', '#include <cstddef>', '', f'#include "V{top}___024root.h"', '',
        '#define SHIM_VARS', '#pragma GCC diagnostic ignored "-Winvalid-offsetof"',
        'static const tb_shim_var shim_known[] = {'] + lines + ['};', '']))
    syms.write_text(code)
    header.write_text(declared)


def main():
    if len(sys.argv) not in (3, 4):
        print('usage: tap_alias.py FOLDER TOP [NAMES]', file=sys.stderr)
        return 2
    folder, top = pathlib.Path(sys.argv[1]), sys.argv[2]
    header = folder / f'V{top}___024root.h'
    text = {f: f.read_text() for f in folder.glob(f'V{top}*.cpp')}
    declared = header.read_text()
    types = {name: kind for kind, name in MEMBER.findall(declared)}
    types.update((name, PORT_TYPES.get(width) or f'VlWide<{count}>') for width, name, count in PORT.findall(declared))
    alias = aliases('\n'.join(text.values()), types)
    evaluation = '\n'.join(code for f, code in text.items() if not re.search(r'__(Syms|Trace)', f.name))
    for name in read_by_design(evaluation) & set(alias):
        del alias[name]
    new = {f: rewrite(old, alias, types) for f, old in text.items()}
    left = set(re.findall(rf'\b{TAP}\b', '\n'.join(new.values()))) & set(alias)
    if left:
        print(f'tap_alias: {sorted(left)[0]} is used in a way that is not known, all copies stay')
        return 0
    for f in text:
        if new[f] != text[f]:
            f.write_text(new[f])
    declared = MEMBER.sub(lambda m: '' if m.group(2) in alias else m.group(0), declared)
    names = pathlib.Path(sys.argv[3]).read_text().split() if len(sys.argv) > 3 else []
    header.write_text(gather(declared, types, alias, names))
    drop_scopes(folder, top)
    return 0


if __name__ == '__main__':
    sys.exit(main())
