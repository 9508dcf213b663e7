#!/usr/bin/env python3
"""Writes the frame of a unit bench that drives several instances of a module side by side.

usage: unit_frame.py BENCH.c MODULE.sv OUT.sv

The bench begins with

    /* dut: MODULE each PARAMETER=VALUE,VALUE... [shared: PORT...] [numbered: PORT...] */

and sees a module MODULE_bench: clk_i, rst_ni and the shared ports go to all instances. The others it has once for each,
concatenated (the first instance in the low bits), or under a name with a number: dat_i is dat0_i, dat1_i...
"""
import pathlib
import re
import sys

from gen_file import write_file
from rtl_modules import Bad, Module, without_comments
from unit_duts import directive


class Frame:
    """The ports of a module in its frame, and what its instances see of them."""

    def __init__(self, module, found):
        self.module, self.each, self.values = module, found['each'], found['values'].split(',')
        self.shared = {p for p in ('clk_i', 'rst_ni') if p in module.ports} | set((found['shared'] or '').split())
        self.numbered = set((found['numbered'] or '').split())
        self.parameters = [p for p in module.parameters if not re.search(rf'\b{self.each}\s*=', p)]
        for port in sorted(self.shared | self.numbered):
            if port not in module.ports:
                raise Bad(f'{module.name}: there is no port {port}')
            if port in self.shared and module.ways[port] != 'input':
                raise Bad(f'{module.name}: output {port} cannot be shared')
        if self.parameters == module.parameters:
            raise Bad(f'{module.name}: there is no parameter {self.each}')

    @staticmethod
    def _number(port, i):
        base, _, suffix = port.rpartition('_')
        return f'{base}{i}_{suffix}'

    def _declared(self, port):
        """Ports of the frame for a port of the module."""
        kind, way = self.module.ports[port], self.module.ways[port]
        logic = kind if kind.endswith('_t') else f'logic {kind}'.rstrip()
        if port in self.shared:
            return [f'{way} {logic} {port}']
        if port in self.numbered:
            return [f'{way} {logic} {self._number(port, i)}' for i in range(len(self.values))]
        return [f'{way} logic [{len(self.values)}*$bits({logic})-1:0] {port}']

    def _connected(self, port, i):
        if port in self.shared:
            return port
        if port in self.numbered:
            return self._number(port, i)
        return f'{port}[{i}*$bits({port})/{len(self.values)}+:$bits({port})/{len(self.values)}]'

    def text(self):
        given = [re.search(r'(\w+)\s*=', p).group(1) for p in self.parameters if p.startswith('parameter')]
        out = ['// verilator coverage_off', f'module {self.module.name}_bench #(',
               ',\n'.join(f'  {p}' for p in self.parameters), ') (',
               ',\n'.join(f'  {d}' for p in self.module.ports for d in self._declared(p)), ');']
        for i, value in enumerate(self.values):
            values = ', '.join([f'.{n}({n})' for n in given] + [f'.{self.each}({value})'])
            ports = ',\n'.join(f'    .{p}({self._connected(p, i)})' for p in self.module.ports)
            out.append(f'  {self.module.name} #({values}) u_{self.module.name}{i} (\n{ports}\n  );')
        return '\n'.join(out + ['endmodule', ''])


def main():
    bench, source, out = sys.argv[1:]
    found = directive(bench)
    try:
        text = without_comments(pathlib.Path(source).read_text(encoding='utf-8'))
        frame = Frame(Module(found['dut'], text), found)
        write_file(out, f'// Generated from {bench} by scripts/unit_frame.py.\n' + frame.text())
    except (Bad, OSError) as e:
        print(f'unit_frame: {bench}: {e}', file=sys.stderr)
        return 2
    return 0


if __name__ == '__main__':
    sys.exit(main())
