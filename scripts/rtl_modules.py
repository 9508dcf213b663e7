"""Modules of a design's RTL for generators (gen_taps.py, gen_cover.py, unit_frame.py): parameters, ports,
declarations, packed structs."""
import pathlib
import re

DECLARATION = re.compile(r'\b(?:logic|reg|wire)(?:\s+signed)?\s*((?:\[[^\]]*\]\s*)*)'
                         r'([a-z]\w*(?:\s*,\s*[a-z]\w*)*)\s*[;=]')
PORT = re.compile(r'(input|output|inout)\s+(?:var\s+)?(?:(?:wire|logic)\b\s*)?'
                  r'((?:signed\s*)?(?:\[.*\])?|[\w:]+_t)\s*(\w+)', re.S)


class Bad(Exception):
    """An error in a list or an unsupported construct of the RTL."""


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
    """Parameters, ports and the body of a module with an ANSI header. Foreign: also one without, and in any style; of
    its ports only names and directions are known."""

    def __init__(self, name, text, foreign=False):
        self.name, self.foreign = name, foreign
        text = re.sub(r'\(\*(?!\s*\)).*?\*\)|^[ \t]*`[^\n]*', ' ', text, flags=re.S | re.M) if foreign else text
        match = re.search(rf'\bmodule\s+{name}\b(?:\s+import\s[^;]*;)*[^(#;]*(#?)\s*\(', text)
        if match is None:
            raise Bad(f'{name}: no module header')
        at, self.parameters = match.end() - 1, []
        if match.group(1):
            end = closing(text, at)
            self.parameters = split(text[at + 1:end])
            at = text.index('(', end)
        end = closing(text, at)
        self.ports, self.ways = {}, {}  # {name: type}, {name: input, output or inout}
        self.body = text[end + 1:text.index('endmodule', end)]
        if foreign:
            self._foreign_ports(split(text[at + 1:end]))
        else:
            self._ports(split(text[at + 1:end]))

    def _ports(self, declarations):
        way, kind = None, None
        for d in declarations:
            match = PORT.fullmatch(d)
            if match:
                way, kind, name = match.group(1), ' '.join(match.group(2).split()), match.group(3)
            elif kind is not None and re.fullmatch(r'\w+', d):
                name = d
            else:
                raise Bad(f'{self.name}: port "{d}" is not understood')
            self.ports[name], self.ways[name] = kind, way

    def _foreign_ports(self, declarations):
        way = None
        for d in declarations:
            match = re.search(r'\b(input|output|inout)\b', d)
            way = match.group(1) if match else way
            name = re.sub(r'\s*(\[[^\]]*\]|=.*)*\s*$', '', d, flags=re.S)
            name = re.search(r'(\w+)$', name)
            inside = name and re.search(rf'\b(input|output|inout)\b[^;]*\b{name[1]}\b', self.body)
            if name and (way or inside) and not re.search(r'\]\s*$', d):  # arrays are not tapped
                self.ports[name[1]], self.ways[name[1]] = '', way or inside[1]

    def signal(self, name):
        """Type of a signal that the body declares."""
        if self.foreign and re.search(rf'\b{name}\b', self.body):
            return ''
        for match in DECLARATION.finditer(self.body):
            if name in [n.strip() for n in match.group(2).split(',')]:
                return ' '.join(match.group(1).split())
        raise Bad(f'{self.name}: there is no port or signal {name}')

    def registers(self):
        names = {n.strip() for m in DECLARATION.finditer(self.body) for n in m.group(2).split(',')}
        typed = re.findall(r'^\s*[\w:]+_[et]\s+(\w+_q)\s*;', self.body, re.M)
        return {n for n in names if n.endswith('_q')} | set(typed)

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

    def __init__(self, folders, foreign=False):
        self.files, self.fields, self.modules, self.foreign = {}, {}, {}, foreign
        names = ('*.sv*', '*.v') if foreign else ('*.sv*',)
        for path in sorted(p for f in folders for n in names for p in pathlib.Path(f).rglob(n)):
            text = without_comments(path.read_text(encoding='utf-8', errors='replace' if foreign else None))
            self.files.update((name, text) for name in re.findall(r'^\s*module\s+(\w+)', text, re.M))
            for body, name in re.findall(r'struct\s+packed\s*\{(.*?)\}\s*(\w+)\s*;', text, re.S):
                members = re.findall(r'logic\s*((?:\[[^\]]*\])?)\s*(\w+)\s*;', body)
                self.fields[name] = {f: ' '.join(k.split()) for k, f in members}

    def module(self, name):
        if name not in self.files:
            raise Bad(f'there is no module {name}')
        if name not in self.modules:
            self.modules[name] = Module(name, self.files[name], self.foreign)
        return self.modules[name]

    def parts(self, name):
        """The modules that this one instantiates."""
        found = re.findall(r'^\s*([a-z]\w*)\s+(?:#\s*\(|u_\w+\s*\()', self.module(name).body, re.M)
        return {m for m in found if m in self.files}
