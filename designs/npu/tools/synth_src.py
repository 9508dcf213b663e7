"""The RTL as text, for synth.py: dependencies, headers of modules, code that is not synthesised."""

import re

SIMULATION = re.compile(r"\$(?:display|write|monitor|strobe|error|fatal|warning|info|finish|stop|random|urandom|"
                        r"urandom_range|time|realtime|past|fopen|fclose|fwrite|fdisplay|isunknown|test\$plusargs|"
                        r"value\$plusargs|dumpfile|dumpvars|readmemh|readmemb)\b"
                        r"|\b(?:initial|real|realtime|shortreal|force|release|fork|wait|event)\b|#\s*\d|"
                        r"\bimport\s*\"DPI|\bassert\b|\bassume\b|\bcover\b")


class SynthError(Exception):
    """One line for the user: what is wrong and where."""


class Usage(Exception):
    """Bad option."""


def strip_comments(text):
    return re.sub(r"//[^\n]*|/\*.*?\*/", lambda m: "\n" * m.group().count("\n"), text, flags=re.S)


def for_yosys(text):
    """The text with YOSYS and SYNTHESIS defined; line numbers are kept. Other conditions keep both branches."""
    out, stack = [], []  # stack: True, False or None (unknown condition)
    for line in text.split("\n"):
        word = re.match(r"\s*`(ifdef|ifndef|elsif|else|endif)\b\s*(\w*)", line)
        if word:
            kind, name = word.groups()
            known = name in ("YOSYS", "SYNTHESIS")
            if kind in ("ifdef", "ifndef"):
                stack.append((kind == "ifdef") if known else None)
            elif kind == "endif" and stack:
                stack.pop()
            elif stack and stack[-1] is not None:
                stack[-1] = not stack[-1]
            line = ""
        out.append("" if False in stack else line)
    return "\n".join(out)


def without_calls(text, macros):
    """The text without the calls of these macros; line numbers are kept."""
    for name in macros:
        at = 0
        while found := re.compile(r"`%s\s*\(" % name).search(text, at):
            end, depth = found.end(), 1
            while depth and end < len(text):
                depth += {"(": 1, ")": -1}.get(text[end], 0)
                end += 1
            text = text[:found.start()] + "\n" * text.count("\n", found.start(), end) + text[end:]
            at = found.start()
    return text


class Sources:
    """The RTL: modules, packages, included files."""

    def __init__(self, rtl, generated, extra=()):
        self.include = "-I%s -I%s" % (rtl / "lib", generated)
        self.text, self.modules, self.packages, self.uses = {}, {}, {}, {}
        # not those of other designs
        rooms = ([rtl / "lib", rtl / "npu"] if (rtl / "npu").is_dir() else [rtl]) + [generated]
        own = [p for room in rooms for p in room.rglob("*.sv") if p.parent.name != "struct"]  # no structural twins
        for path in sorted(own) + list(extra):
            try:
                text = path.read_text(encoding="utf-8")
            except (OSError, UnicodeDecodeError) as err:
                raise Usage("%s: %s" % (path, err)) from err
            self.text[path] = text
            code = strip_comments(text)
            for kind, name in re.findall(r"^\s*(module|package)\s+(\w+)", code, re.M):
                (self.modules if kind == "module" else self.packages)[name] = path
        headers = {p.name: p for room in rooms for p in sorted(room.rglob("*.svh"))}
        for path, text in list(self.text.items()):
            self.uses[path] = self._uses(strip_comments(text), headers)
        for path in headers.values():
            self.text[path] = path.read_text(encoding="utf-8")
            self.uses[path] = self._uses(strip_comments(self.text[path]), headers)

    def _uses(self, code, headers):
        packages = {self.packages[p] for p in re.findall(r"\b(\w+)::", code) if p in self.packages}
        included = {headers[h] for h in re.findall(r'`include\s+"([^"]+)"', code) if h in headers}
        return packages | included, {m for m in re.findall(r"\b([a-z]\w*)\s+(?:#\s*\(|[a-z]\w*\s*\()", code)
                                     if m in self.modules}

    def closure(self, module, stops):
        """Files of the module with its submodules, but without the modules in `stops` below it; those of them that it
        uses."""
        files, stubs, todo = set(), set(), [self.modules[module]]
        while todo:
            path = todo.pop()
            if path in files:
                continue
            files.add(path)
            shared, below = self.uses[path]
            todo.extend(shared)
            for name in below:
                if self.modules[name] == path:
                    continue
                if name in stops:
                    stubs.add(name)
                    todo.extend(self.uses[self.modules[name]][0])  # packages that its header names
                else:
                    todo.append(self.modules[name])
        return files, stubs

    def in_order(self, files):
        """Packages, those before others that use them; and modules."""
        order, packages = [], set(self.packages.values())

        def visit(path):
            if path in order:
                return
            for used in sorted(self.uses[path][0] & packages):
                if used != path:
                    visit(used)
            order.append(path)
        for path in sorted(files & packages):
            visit(path)
        return order, sorted(p for p in files - packages if p.suffix == ".sv")

    def stub(self, module):
        """The header of a module: a black box for the run of its parent."""
        found = re.search(r"^\s*module\s+%s\b.*?\n\s*\);" % module, strip_comments(self.text[self.modules[module]]),
                          re.M | re.S)
        if not found:
            raise SynthError("%s: no header of module %s found that ends with ');' on a line of its own" %
                             (self.modules[module], module))
        return found.group() + "\nendmodule\n"

    def check_simulation(self, files):
        code = {path: for_yosys(strip_comments(self.text[path])) for path in files}
        # macros that are empty for Yosys: the assertions
        empty = [m for text in code.values() for m in re.findall(r"^\s*`define\s+(\w+)\([^)]*\)[ \t]*$", text, re.M)]
        for path in sorted(files):
            for number, line in enumerate(without_calls(code[path], empty).split("\n"), 1):
                found = SIMULATION.search(re.sub(r'"[^"]*"', '""', line))
                if found:
                    raise SynthError("%s:%d: %s is for simulation only, hardware expected" %
                                     (path, number, found.group().strip()))
