#!/usr/bin/env python3
"""Writes the taps of a design (tb/tap/tap.h): for each unit of a list a module with its ports as inputs, and the bind
statement that puts it into the unit.

usage: gen_taps.py --list FILE --rtl DIR [--rtl DIR]... [--registers FILE.c]... --sv OUT.sv --vlt OUT.vlt [--near OUT]
                   [--foreign]

A line of the list, continued by lines that begin with a blank:

    MODULE [as KIND] [-PORT | -* | +NAME | +PORT.FIELD | +PORT.{FIELD,FIELD} | +NAME=edges(CLOCK) | +NAME=PARAMETER |
        +NAME=not(SIGNAL) | +NAME=bit(SIGNAL)]...

All ports but clk_i are tapped under their own names. -PORT leaves one out (-*: all of them), +NAME adds a port or a
signal of the module's body, +PORT.FIELD one field of a packed struct, as PORT with the field's name before its suffix
(task_i.iw: task_iw_i), +NAME=edges(CLOCK) an 8-bit counter of rising edges, +NAME=PARAMETER the value of a parameter,
32 bits wide, +NAME=not(SIGNAL) a signal of one bit inverted, bit(SIGNAL) as it is: +rst_ni=not(rst) is the reset that
checks look at. KIND is the name by which checks find the tap (default: the module's).

A line `near: NAME NAME ...` says which signals of taps are looked at in every cycle: of all kinds, of one (KIND.NAME),
or a port of the design. The file of --near has these names, one a line, for tap_alias.py, which puts the signals side
by side in memory, in this order.

--registers: C files that read registers of the design by name. Those of their string literals that end in _q become
readable in every listed module and in its parts that has such a register. They are variables of the model in any case,
so this costs nothing.

--foreign: sources in any style, also Verilog without types in the header. Widths are asked of each instance ($bits)
instead of being read.
"""
import argparse
import pathlib
import re
import sys

from gen_file import write_file
from rtl_modules import Bad, Rtl

REGISTER = re.compile(r'\b[a-z]\w*_q\b')


class Tap:
    """One line of the list."""

    def __init__(self, rtl, words, foreign=False):
        self.foreign = foreign
        self.unit, self.kind = rtl.module(words[0]), words[0]
        words = words[1:]
        if words[:1] == ['as']:
            self.kind, words = words[1], words[2:]
        self.inputs = {n: (n, k) for n, k in self.unit.ports.items() if n != 'clk_i'}  # name: (expression, type)
        self.edges, self.bits = {}, set()
        for word in words:
            self._word(rtl, word)

    def _word(self, rtl, word):
        sign, name = word[:1], word[1:]
        edges = re.fullmatch(r'(\w+)=edges\((\w+)\)', name)
        bit = re.fullmatch(r'(\w+)=(not|bit)\((\w+)\)', name)
        field = re.fullmatch(r'(\w+)\.(?:(\w+)|\{([\w,]+)\})', name)
        if word == '-*':
            self.inputs = {}
        elif sign == '-' and name in self.inputs:
            del self.inputs[name]
        elif sign == '+' and edges:
            self.edges[edges[1]] = edges[2]
            self.inputs[edges[2]] = (edges[2], '')
        elif sign == '+' and bit:
            self.inputs[bit[1]] = (('!' if bit[2] == 'not' else '') + bit[3], '')
            self.bits.add(bit[1])
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
        if self.foreign:
            return self._foreign_text()
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
            out += [f'  logic [7:0] {name};', f'  initial {name} = \'0;',
                    f'  always_ff @(posedge {clock}) {name} <= {name} + 8\'d1;']
        out += ['endmodule', '']
        names = [re.search(r'(\w+)\s*=', p).group(1) for p in self.unit.parameters if p.startswith('parameter')]
        values = f' #({", ".join(f".{n}({n})" for n in names)})' if names else ''
        ports = ', '.join([f'.{n}({e})' for n, (e, _) in self.inputs.items() if n != e] + ['.*'])
        return '\n'.join(out + [f'bind {self.unit.name} tap_{self.kind}{values} u_tap_{self.kind} ({ports});', ''])

    def _foreign_text(self):
        """Without parameters and types of the unit: the width of each signal is a parameter, which the instance has."""
        wide = [n for n, (e, _) in self.inputs.items() if n not in self.bits and not e.startswith("32'")]
        name = f'tap_{self.kind}'
        width = {n: f'[W_{n}-1:0] ' for n in wide}
        width.update({n: '[31:0] ' for n, (e, _) in self.inputs.items() if e.startswith("32'")})
        params = ', '.join(f'parameter int W_{n} = 1' for n in wide)
        out = [f'module {name}' + (f' #({params})' if wide else '') + ' (',
               ',\n'.join(f'  input logic {width.get(n, "")}{n}' for n in self.inputs), ');']
        for edge, clock in self.edges.items():
            out += [f'  logic [7:0] {edge};', f'  initial {edge} = \'0;',
                    f'  always_ff @(posedge {clock}) {edge} <= {edge} + 8\'d1;']
        values = f' #({", ".join(f".W_{n}($bits({self.inputs[n][0]}))" for n in wide)})' if wide else ''
        ports = ', '.join(f'.{n}({e})' for n, (e, _) in self.inputs.items())
        return '\n'.join(out + ['endmodule', '', f'bind {self.unit.name} {name}{values} u_{name} ({ports});', ''])

    @staticmethod
    def _type(kind):
        if kind.endswith('_t'):
            return f'[$bits({kind})-1:0] '
        return kind + ' ' if kind else ''


def read_list(path, rtl):
    """The taps of a list, and the names of its lines `near:`; continued lines are put together first."""
    lines = []
    for num, raw in enumerate(path.read_text(encoding='utf-8').splitlines(), 1):
        words = raw.partition('#')[0].split()
        if words and raw[0].isspace() and lines:
            lines[-1][1].extend(words)
        elif words:
            lines.append((num, words))
    taps, near = [], []
    for num, words in lines:
        if words[0] == 'near:':
            near += words[1:]
            continue
        try:
            taps.append(Tap(rtl, words, rtl.foreign))
        except Bad as e:
            raise Bad(f'{path}:{num}: {e}') from e
    return taps, near


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


def main():
    parser = argparse.ArgumentParser(description='Write the taps of a design.')
    parser.add_argument('--list', required=True, type=pathlib.Path, metavar='FILE',
                        help='the units and what is tapped of them')
    parser.add_argument('--rtl', required=True, action='append', metavar='DIR',
                        help='folder with modules, with those below it')
    parser.add_argument('--registers', action='append', default=[], metavar='FILE.c',
                        help='C source that reads registers by name')
    parser.add_argument('--sv', required=True, metavar='FILE', help='the taps')
    parser.add_argument('--vlt', required=True, metavar='FILE',
                        help="Verilator's configuration that makes them readable")
    parser.add_argument('--foreign', action='store_true',
                        help='sources in any style: widths are asked of the instances')
    parser.add_argument('--near', metavar='FILE', help='names of the signals that are looked at in every cycle')
    args = parser.parse_args()
    try:
        rtl = Rtl(args.rtl, args.foreign)
        taps, near = read_list(args.list, rtl)
        public = public_registers(rtl, taps, args.registers)
    except (Bad, OSError) as e:
        print(f'gen_taps: {e}', file=sys.stderr)
        return 2
    head = f'// Generated from {args.list} by scripts/gen_taps.py.\n'
    write_file(args.sv, head + '\n' + '\n'.join(t.text() for t in taps))
    if args.near is not None:
        write_file(args.near, ''.join(f'{n}\n' for n in near))
    write_file(args.vlt, '`verilator_config\n' + head +
          f'// Taps only observe: they are not part of the design.\ncoverage_off -file "*{args.sv}"\n'
          'public_flat_rd -module "tap_*" -var "*"\n' +
          ''.join(f'public_flat_rd -module "{m}" -var "{r}"\n' for m, r in public))
    return 0


if __name__ == '__main__':
    sys.exit(main())
