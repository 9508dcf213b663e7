"""What uses what in the sources of a design (scripts/changed.py), read from the text: nothing needs to be built.

RTL: a file uses the files of the modules of which it has instances; of packages and included files it uses the
declarations that it mentions. C: a function, variable, type or macro uses those that it mentions. A mention is an
identifier outside comments and texts, so this finds at least what the tools would find."""
import bisect
import os
import re

COMMENTS = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.S)
CHARACTERS = re.compile(r"'(?:\\.|[^'\\\n])'")
NAME = re.compile(r"[A-Za-z_]\w*")
PASTED = re.compile(r"\b(\w+_)\s*##|##\s*(_\w+)\b")
PASTES = re.compile(r"\b([A-Z][A-Z0-9_]*)\(\s*(\w+)")  # X(name) of a table
SV_MODULE = re.compile(r"^\s*(?:module|interface|program)\s+(?:automatic\s+)?(\w+)", re.M)
SV_PACKAGE = re.compile(r"^\s*package\s+(?:automatic\s+)?(\w+)", re.M)
# NAME #(...) instance (...), NAME instance (...), NAME instance [3:0] (...), bind ... NAME instance (...)
SV_INSTANCE = re.compile(r"(?<![.\w])([A-Za-z_]\w*)(?=\s*#\s*\(|\s+[A-Za-z_]\w*\s*(?:\[[^\]]*\]\s*)*\()")
SV_PART = re.compile(r"^[ \t]*(?P<define>`define\s+(?P<macro>\w+)(?:\\\n|[^\n])*)"
                     r"|\b(?P<routine>function|task)\b(?P<head>[^;(]*).*?\bend(?P=routine)\b"
                     r"|\b(?P<kind>typedef|localparam|parameter)\b(?P<text>[^;]*);", re.S | re.M)


def blank(match):
    """The same lines, without text."""
    return re.sub(r"[^\n]", " ", match.group(0))


def code_of(text):
    """A source without comments and texts; every character keeps its line."""
    return CHARACTERS.sub(blank, COMMENTS.sub(blank, text))


def same_code(one, other):
    """Do two versions of a source differ in comments and blanks only?"""
    def words(text):
        return COMMENTS.sub(lambda m: m.group(0) if m.group(0)[0] == '"' else " ", text).split()
    return words(one) == words(other)


def read(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as src:
            return src.read()
    except OSError:
        return ""


class Part:
    """A declaration or definition: its names, the identifiers that it mentions, its lines."""

    def __init__(self, path, names, text, first, last, local=False):
        self.path, self.names, self.first, self.last = path, names, first, last
        self.local = local and path.endswith(".c")  # means nothing to other files
        self.words, self.pasted = set(NAME.findall(text)), set(PASTES.findall(text))
        self.macro = text.lstrip().startswith("#")
        self.affixes = set(PASTED.findall(text)) if "##" in text else set()

    def has(self, lines):
        return any(self.first <= n <= self.last for n in lines)


class Lines:
    """Line numbers of places in a text."""

    def __init__(self, text):
        self.ends = [m.start() for m in re.finditer("\n", text)]

    def of(self, place):
        return bisect.bisect_left(self.ends, place) + 1


def sv_parts(path, code):
    """The declarations of a package or of an included file."""
    where, parts = Lines(code), []
    for m in SV_PART.finditer(code):
        if m.group("macro"):
            names = [m.group("macro")]
        elif m.group("routine"):
            names = NAME.findall(m.group("head"))[-1:]
        elif m.group("kind") == "typedef":
            body = m.group("text")
            labels = re.findall(r"[{,]\s*(\w+)", body) if re.match(r"\s*enum\b", body) else []
            names = labels + NAME.findall(body)[-1:]
        else:
            names = re.findall(r"(\w+)\s*=", m.group("text")) or NAME.findall(m.group("text"))[-1:]
        parts.append(Part(path, names, m.group(0), where.of(m.start()), where.of(m.end() - 1)))
    return parts


class CParts:
    """Splits a C source into what stands at its outermost level."""

    def __init__(self, path, code):
        self.path, self.parts, self.where = path, [], Lines(code)
        self.code = re.sub(r"^[ \t]*#(?:\\\n|[^\n])*", self._directive, code, flags=re.M)
        self._split()

    def _directive(self, match):
        found = re.match(r"\s*#\s*define\s+(\w+)", match.group(0))
        if found:
            self._add([found.group(1)], match.group(0), match.start(), match.end(), True)
        return blank(match)

    def _add(self, names, text, start, end, local):
        self.parts.append(Part(self.path, names, text, self.where.of(start), self.where.of(end - 1), local))

    def _split(self):
        begin, depth, body = None, 0, None
        for m in re.finditer(r"[{};()]|[^\s{};()]+", self.code):
            token = m.group(0)
            if begin is None:
                if token == ";":
                    continue
                begin, body = m.start(), None
            if token == "{" and depth == 0:
                body = m.start() if body is None else body
            depth += (token in "{(") - (token in "})")
            if depth == 0 and (token == ";" or (token == "}" and self._is_function(begin, body))):
                self._take(begin, m.end(), body)
                begin = None
            depth = max(depth, 0)

    def _is_function(self, begin, body):
        head = self.code[begin:body].rstrip()
        return head.endswith(")") and not re.match(r"(?:typedef|struct|union|enum)\b[^(]*$", head)

    def _take(self, begin, end, body):
        text = self.code[begin:end]
        head = self.code[begin:body] if body is not None else text
        function = re.match(r"[^=({]*?(\w+)\s*\(", head)
        kind = re.match(r"(?:typedef|(?:struct|union|enum)\s*\w*\s*\{)", text) is not None
        if kind:
            names = re.findall(r"\b(?:struct|union|enum)\s+(\w+)", head) + NAME.findall(text)[-1:]
        elif function and "=" not in head:
            names = [function.group(1)]
        else:
            names = NAME.findall(re.split(r"[=\[;]", head)[0])[-1:]
        if re.match(r"\s*(?:typedef\s+|static\s+|const\s+)*enum\b", text) and body is not None:
            names += re.findall(r"[{,]\s*(\w+)", self.code[body:end])
        self._add(names, text, begin, end, kind or re.match(r"static\b", text) is not None)


def files_below(folders, endings):
    found = []
    for folder in folders:
        for at, inner, files in os.walk(folder):
            inner[:] = sorted(i for i in inner if not i.startswith("."))
            found += [os.path.normpath(os.path.join(at, f)) for f in sorted(files) if f.endswith(endings)]
    return list(dict.fromkeys(found))


class Rtl:
    """The SystemVerilog of a design and of its benches."""

    def __init__(self, folders):
        self.code = {path: code_of(read(path)) for path in files_below(folders, (".sv", ".svh", ".v"))}
        self.words = {path: set(NAME.findall(code)) for path, code in self.code.items()}
        self.modules, self.parts = {}, {}
        for path, code in self.code.items():
            names = SV_MODULE.findall(code)
            self.modules.update((name, path) for name in names)
            if not names or SV_PACKAGE.search(code):
                self.parts[path] = sv_parts(path, code)
        self.uses = {path: {self.modules[w] for w in set(SV_INSTANCE.findall(code)) & self.modules.keys()} - {path}
                     for path, code in self.code.items()}

    def below(self, path):
        """{file: (how deep, the file that uses it)} of a file and of all that it contains."""
        found, todo = {path: (0, None)}, [path]
        for at in todo:
            for used in sorted(self.uses.get(at, ())):
                if used not in found:
                    found[used] = (found[at][0] + 1, at)
                    todo.append(used)
        return found

    def names_at(self, path, lines):
        """Names that lines of a package or of an included file declare, and all that is declared with their help; where
        the lines belong to no declaration, everything that the file declares."""
        hit = [p for p in self.parts[path] if p.has(lines)] or self.parts[path]
        names, grown = set(), {n for p in hit for n in p.names}
        while grown - names:
            names |= grown
            grown = {n for parts in self.parts.values() for p in parts if p.words & names for n in p.names}
        return names

    def mentions(self, names):
        """{file: lines} of modules that mention one of these names."""
        pattern = re.compile(r"\b(?:%s)\b" % "|".join(sorted(map(re.escape, names)) or ["(?!)"]))
        return {path: {n for n, line in enumerate(self.code[path].split("\n"), 1) if pattern.search(line)}
                for path, words in self.words.items() if words & names and path not in self.parts}


class C:
    """Functions, variables, types and macros of C sources, and who mentions them."""

    def __init__(self, folders, without=()):
        self.files, self.by_word = {}, {}
        for path in files_below(folders, (".c", ".h")):
            if not path.startswith(tuple(f"{folder}/" for folder in without)):
                self.files[path] = CParts(path, code_of(read(path))).parts
        own = {path: {n for p in parts if p.local for n in p.names} for path, parts in self.files.items()}
        self._paste()
        for path, parts in self.files.items():
            for part in parts:
                for word in part.words - set(part.names):
                    # the name of a local function means that one
                    key = (path, word) if word in own[path] else word
                    self.by_word.setdefault(key, []).append(part)

    def _paste(self):
        """Names that a macro M makes with ## are mentions of what has M(word), and of a macro with the table X(word)
        where a file mentions both macros."""
        names = {n for parts in self.files.values() for p in parts for n in p.names}
        words = {path: set().union(*(p.words for p in parts)) for path, parts in self.files.items()}
        makers = [p for parts in self.files.values() for p in parts if p.affixes]
        for part in [p for parts in self.files.values() for p in parts if p.pasted]:
            users = [path for path in words if part.macro and words[path] & set(part.names)]
            for maker in makers:
                both = any(words[path] & set(maker.names) for path in users)
                part.words |= {before + word + behind for macro, word in part.pasted
                               for before, behind in maker.affixes if both or macro in maker.names} & names

    def users(self, part):
        names = [(part.path, n) if part.local else n for n in part.names]
        return [user for name in names for user in self.by_word.get(name, ())]

    def above(self, hit, but=lambda path: False):
        """{id of a part: (how far, the part that it uses)} of all that reach one of these parts, without the files for
        which `but` holds."""
        todo = [p for p in hit if not but(p.path)]
        found = {id(p): (0, None) for p in todo}
        for part in todo:
            for user in self.users(part):
                if id(user) not in found and not but(user.path):
                    found[id(user)] = (found[id(part)][0] + 1, part)
                    todo.append(user)
        return found
