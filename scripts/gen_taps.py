#!/usr/bin/env python3
"""Writes the taps of a design (tb/tap/tap.h): for each unit of a list a module with its ports as inputs, and the bind statement that puts it into the unit.

usage: gen_taps.py --list FILE --rtl DIR [--rtl DIR]... [--registers FILE.c]... --sv OUT.sv --vlt OUT.vlt

A line of the list, continued by lines that begin with a blank:

    MODULE [as KIND] [-PORT | -* | +NAME | +PORT.FIELD | +PORT.{FIELD,FIELD} | +NAME=edges(CLOCK) | +NAME=PARAMETER]...

All ports but clk_i are tapped under their own names. -PORT leaves one out (-*: all of them), +NAME adds a port or a signal of the module's body, +PORT.FIELD one
field of a packed struct, as PORT with the field's name before its suffix (task_i.iw: task_iw_i), +NAME=edges(CLOCK) an 8-bit counter of rising edges, +NAME=PARAMETER the value of a parameter, 32 bits wide. KIND is the
name by which checks find the tap (default: the module's).

--registers: C files that read registers of the design by name. Those of their string literals that end in _q become readable in every listed module and in its
parts that has such a register. They are variables of the model anyhow, so this costs nothing.
"""
import argparse
import os
import pathlib
import re
import sys

DECLARATION = re.compile(r'\b(?:logic|reg|wire)(?:\s+signed)?\s*((?:\[[^\]]*\]\s*)*)([a-z]\w*(?:\s*,\s*[a-z]\w*)*)\s*[;=]')
REGISTER = re.compile(r'\b[a-z]\w*_q\b')


class Bad(Exception):
    """A mistake in the list or a construct of the RTL that is not understood."""


def without_comments(text):
    return re.sub(r'//[^\n]*|/\*.*?\*/', ' ', text, flags=re.S)


def split(text):
    """Parts of a list between commas that stand in no brackets."""
    parts, depth, start = [], 0, 0
    for i, c in enumerate(text):
        depth += (c in '([{') - (c in ')]}')
        if c == ',' and depth == 0:
            parts.append(text[start:i])
            start = i + 1
    return [p.strip() for p in parts + [text[start:]] if p.strip()]


def closing(text, at):
    """Index of the parenthesis that closes the one at `at`."""
    depth = 0
    for i in range(at, len(text)):
        depth += (text[i] == '(') - (text[i] == ')')
        if depth == 0:
            return i
    raise Bad('unbalanced parentheses')


class Module:
    """Parameters, ports and the body of a module with an ANSI header."""

    def __init__(self, name, text):
        self.name = name
        match = re.search(rf'\bmodule\s+{name}\b[^(#;]*(#?)\s*\(', text)
        if match is None:
            raise Bad(f'{name}: no module header')
        at, self.parameters = match.end() - 1, []
        if match.group(1):
            end = closing(text, at)
            self.parameters = split(text[at + 1:end])
            at = text.index('(', end)
        end = closing(text, at)
        self.ports = self._ports(split(text[at + 1:end]))
        self.body = text[end + 1:text.index('endmodule', end)]

    def _ports(self, declarations):
        ports, kind = {}, None
        for d in declarations:
            match = re.fullmatch(r'(?:input|output|inout)\s+(?:var\s+)?(?:(?:wire|logic)\b\s*)?((?:signed\s*)?(?:\[.*\])?|[\w:]+_t)\s*(\w+)', d, re.S)
            if match:
                kind, name = ' '.join(match.group(1).split()), match.group(2)
            elif kind is not None and re.fullmatch(r'\w+', d):
                name = d
            else:
                raise Bad(f'{self.name}: port "{d}" is not understood')
            ports[name] = kind
        return ports

    def signal(self, name):
        """Type of a signal that the body declares."""
        for match in DECLARATION.finditer(self.body):
            if name in [n.strip() for n in match.group(2).split(',')]:
                return ' '.join(match.group(1).split())
        raise Bad(f'{self.name}: there is no port or signal {name}')

    def registers(self):
        return {n.strip() for m in DECLARATION.finditer(self.body) for n in m.group(2).split(',') if n.strip().endswith('_q')} | \
            set(re.findall(r'^\s*[\w:]+_[et]\s+(\w+_q)\s*;', self.body, re.M))

    def constants(self, kinds):
        """Localparams of the body that these types need, in their order."""
        have = {n for p in self.parameters for n in re.findall(r'(\w+)\s*=', p)}
        found = {m.group(2): m.group(1) for m in re.finditer(r'\b(localparam\s+[^;=]*?(\w+)\s*=[^;]*);', self.body)}
        wanted, todo = set(), ' '.join(kinds)
        while todo:
            new = {n for n in re.findall(r'(?<![:\w])\w+', todo) if n in found and n not in have | wanted}
            wanted |= new
            todo = ' '.join(found[n].split('=', 1)[1] for n in new)
        return [text for name, text in found.items() if name in wanted]


class Rtl:
    """Modules and packed structs of the RTL folders."""

    def __init__(self, folders):
        self.files, self.fields, self.modules = {}, {}, {}
        for path in sorted(p for f in folders for p in pathlib.Path(f).rglob('*.sv*')):
            text = without_comments(path.read_text(encoding='utf-8'))
            self.files.update((name, text) for name in re.findall(r'^\s*module\s+(\w+)', text, re.M))
            for body, name in re.findall(r'struct\s+packed\s*\{(.*?)\}\s*(\w+)\s*;', text, re.S):
                self.fields[name] = {f: ' '.join(k.split()) for k, f in re.findall(r'logic\s*((?:\[[^\]]*\])?)\s*(\w+)\s*;', body)}

    def module(self, name):
        if name not in self.files:
            raise Bad(f'there is no module {name}')
        if name not in self.modules:
            self.modules[name] = Module(name, self.files[name])
        return self.modules[name]

    def parts(self, name):
        """The modules that this one instantiates."""
        return {m for m in re.findall(r'^\s*([a-z]\w*)\s+(?:#\s*\(|u_\w+\s*\()', self.module(name).body, re.M) if m in self.files}


class Tap:
    """One line of the list."""

    def __init__(self, rtl, words):
        self.unit, self.kind = rtl.module(words[0]), words[0]
        words = words[1:]
        if words[:1] == ['as']:
            self.kind, words = words[1], words[2:]
        self.inputs = {n: (n, k) for n, k in self.unit.ports.items() if n != 'clk_i'}  # name: (expression, type)
        self.edges = {}
        for word in words:
            self._word(rtl, word)

    def _word(self, rtl, word):
        sign, name = word[:1], word[1:]
        edges = re.fullmatch(r'(\w+)=edges\((\w+)\)', name)
        field = re.fullmatch(r'(\w+)\.(?:(\w+)|\{([\w,]+)\})', name)
        if word == '-*':
            self.inputs = {}
        elif sign == '-' and name in self.inputs:
            del self.inputs[name]
        elif sign == '+' and edges:
            self.edges[edges[1]] = edges[2]
            self.inputs[edges[2]] = (edges[2], '')
        elif sign == '+' and re.fullmatch(r'\w+=\w+', name):
            name, value = name.split('=')
            self.inputs[name] = (f"32'({value})", '[31:0]')
        elif sign == '+' and field:
            for f in (field[2] or field[3]).split(','):
                self._field(rtl, field[1], f)
        elif sign == '+' and re.fullmatch(r'\w+', name):
            self.inputs[name] = (name, self.unit.ports[name] if name in self.unit.ports else self.unit.signal(name))
        else:
            raise Bad(f'{self.unit.name}: "{word}" is not understood, or there is no such port')

    def _field(self, rtl, port, field):
        fields = rtl.fields.get(self.unit.ports.get(port, '').rpartition(':')[2])
        if fields is None or field not in fields:
            raise Bad(f'{self.unit.name}: there is no field {port}.{field}')
        base, _, suffix = port.rpartition('_')
        self.inputs[f'{base}_{field}_{suffix}'] = (f'{port}.{field}', fields[field])

    def text(self):
        params = self.unit.parameters + self.unit.constants(k for _, k in self.inputs.values())
        out = [f'module tap_{self.kind}']
        if params:
            out[0] += ' #('
            out += [',\n'.join('  ' + ' '.join(p.split()) for p in params), ') (']
        else:
            out[0] += ' ('
        out.append(',\n'.join(f'  input logic {self._type(k)}{n}' for n, (_, k) in self.inputs.items()))
        out.append(');')
        for name, clock in self.edges.items():
            out += [f'  logic [7:0] {name};', f'  initial {name} = \'0;', f'  always_ff @(posedge {clock}) {name} <= {name} + 8\'d1;']
        out += ['endmodule', '']
        names = [re.search(r'(\w+)\s*=', p).group(1) for p in self.unit.parameters if p.startswith('parameter')]
        values = f' #({", ".join(f".{n}({n})" for n in names)})' if names else ''
        ports = ', '.join([f'.{n}({e})' for n, (e, _) in self.inputs.items() if n != e] + ['.*'])
        return '\n'.join(out + [f'bind {self.unit.name} tap_{self.kind}{values} u_tap_{self.kind} ({ports});', ''])

    @staticmethod
    def _type(kind):
        if kind.endswith('_t'):
            return f'[$bits({kind})-1:0] '
        return kind + ' ' if kind else ''


def read_list(path, rtl):
    """The taps of a list; continued lines are put together first."""
    lines = []
    for num, raw in enumerate(path.read_text(encoding='utf-8').splitlines(), 1):
        words = raw.partition('#')[0].split()
        if words and raw[0].isspace() and lines:
            lines[-1][1].extend(words)
        elif words:
            lines.append((num, words))
    taps = []
    for num, words in lines:
        try:
            taps.append(Tap(rtl, words))
        except Bad as e:
            raise Bad(f'{path}:{num}: {e}') from e
    return taps


def public_registers(rtl, taps, sources):
    """[(module, register)]: what the sources name, in the listed modules and those that they instantiate."""
    names = set()
    for source in sources:
        text = re.sub(r'/\*.*?\*/', ' ', pathlib.Path(source).read_text(encoding='utf-8'), flags=re.S)
        names |= {n for literal in re.findall(r'"((?:[^"\\\n]|\\.)*)"', text) for n in REGISTER.findall(literal)}
    modules, new = set(), {t.unit.name for t in taps}
    while new:
        modules |= new
        new = {p for m in new for p in rtl.parts(m)} - modules
    return [(m, r) for m in sorted(modules) for r in sorted(rtl.module(m).registers() & names)]


def write(path, text):
    """A file that is as it should be keeps its time."""
    path = pathlib.Path(path)
    if path.exists() and path.read_text(encoding='utf-8') == text:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(path.name + '.tmp')
    new.write_text(text, encoding='utf-8')
    os.replace(new, path)


def main():
    parser = argparse.ArgumentParser(description='Write the taps of a design.')
    parser.add_argument('--list', required=True, type=pathlib.Path, metavar='FILE', help='the units and what is tapped of them')
    parser.add_argument('--rtl', required=True, action='append', metavar='DIR', help='folder with modules, with those below it')
    parser.add_argument('--registers', action='append', default=[], metavar='FILE.c', help='C source that reads registers by name')
    parser.add_argument('--sv', required=True, metavar='FILE', help='the taps')
    parser.add_argument('--vlt', required=True, metavar='FILE', help="Verilator's configuration that makes them readable")
    args = parser.parse_args()
    try:
        rtl = Rtl(args.rtl)
        taps = read_list(args.list, rtl)
        public = public_registers(rtl, taps, args.registers)
    except (Bad, OSError) as e:
        print(f'gen_taps: {e}', file=sys.stderr)
        return 2
    head = f'// Generated from {args.list} by scripts/gen_taps.py.\n'
    write(args.sv, head + '\n' + '\n'.join(t.text() for t in taps))
    write(args.vlt, '`verilator_config\n' + head + f'// Taps only look: they are no part of the design.\ncoverage_off -file "*{args.sv}"\n'
          'public_flat_rd -module "tap_*" -var "*"\n' +
          ''.join(f'public_flat_rd -module "{m}" -var "{r}"\n' for m, r in public))
    return 0


if __name__ == '__main__':
    sys.exit(main())
