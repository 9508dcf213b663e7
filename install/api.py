#!/usr/bin/python3
"""The API reference: pages made from the public headers, for `make docs` and installations.

  api.py OUT   writes OUT/index.html and a page for each header

A page has the header's introduction and, in the order of the file, each declaration with the comment above it; names
of other headers' types and functions are links. A public function without a comment of its own belongs to the comment
above the ones before it, as in the headers."""

import html
import os
import re
import sys

STYLE = """
pre{overflow-x:auto;padding:.6em .8em}h2 code{font-size:1em}.c{white-space:pre-line;max-width:52em}
ul.names{columns:3;font-size:.9em}
"""
# for Verilated code and for the library itself
PRIVATE = re.compile(r"^sim/(vl_|mutant)|(^|/)(priv|part|plan)\.h$")
WORD = re.compile(r"\b[A-Za-z_]\w*\b")
# what a declaration declares
NAMES = (re.compile(r"^#define\s+(\w+)"), re.compile(r"^(?:typedef\s+)?(?:struct|enum|union)\s+(\w+)\s*\{"),
         re.compile(r"\}\s*(\w+)\s*;\s*$"), re.compile(r"^typedef\b[^;{]*?\(?\*?(\w+)\)?\s*\([^;]*\)\s*;", re.S),
         re.compile(r"^typedef\b[^;{]*?(\w+)\s*;"), re.compile(r"(\w+)\s*\([^;{]*\)[^;{]*[;{]", re.S),
         re.compile(r"(\w+)\s*(?:\[[^]]*\])?\s*;"))


def comment_text(raw):
    """The words of a comment, its paragraphs and indented examples kept."""
    lines = [re.sub(r"^\s*\*? ?", "", line) for line in re.sub(r"^/\*+|\*/$", "", raw.strip()).split("\n")]
    out = ""
    for line in lines:
        plain = line.strip() != "" and not line.startswith(" ")
        out += (" " if plain and out and out[-1] != "\n" else "") + line.rstrip() + ("" if plain else "\n")
        if not plain and line.strip() == "":
            out += "\n"
    return re.sub(r"\n{3,}", "\n\n", out).strip()


def declaration(text, at):
    """End of the declaration that begins here: its semicolon, the end of its body, or the line of a macro."""
    if text[at] == "#":
        while True:
            end = text.find("\n", at)
            if end < 0 or text[end - 1] != "\\":
                return len(text) if end < 0 else end
            at = end + 1
    depth = 0
    for match in re.compile(r"[{}();]|/\*.*?\*/|\"(?:\\.|[^\"])*\"", re.S).finditer(text, at):
        word = match.group()
        depth += (word in "{(") - (word in "})") if len(word) == 1 else 0
        if depth == 0 and word == ";":
            return match.end()
        if depth == 0 and word == "}" and re.match(r"\s*\w*\s*(\[\w*\])?;", text[match.end():]) is None:
            return match.end()
    return len(text)


def name_of(code):
    plain = re.sub(r"/\*.*?\*/|__attribute__\s*\(\(.*?\)\)\)?", "", code, flags=re.S).strip()
    for pattern in NAMES:
        found = pattern.search(plain)
        if found:
            return found[1]
    return ""


def shown(code):
    """A declaration as a reader needs it: of an inline function its head."""
    if code.startswith("static inline"):
        return code[:code.index("{")].replace("static inline ", "").strip() + ";"
    return code


def items(text):
    """[(comment or None, [(name, code)])] of a header, without what guards it and includes."""
    text = re.sub(r"#ifdef __cplusplus.*?#endif\n", "", text, flags=re.S)
    found, at, note = [], 0, None
    while at < len(text):
        if text[at].isspace():
            blank = text[at:at + 2] == "\n\n"
            note = (note[0], True) if note and blank else note
            at += 1
        elif text.startswith("/*", at):
            end = text.index("*/", at) + 2
            note = (comment_text(text[at:end]), False)
            found.append((note[0], []))
            at = end
        elif re.match(r"#\s*(include|ifndef|endif|ifdef|if|else|undef|elif|pragma)|#define \w+_H$", text[at:], re.M):
            at = declaration(text, at)
        else:
            end = declaration(text, at)
            code = text[at:end]
            if not found or (found[-1][1] and note and note[1]):
                found.append((None, []))
            if not code.startswith("_Static_assert"):
                found[-1][1].append((name_of(code), shown(code)))
            at = end
    return found


class Pages:
    """found: {path in the tree: path as installed}; put(path, text) writes a file."""

    def __init__(self, root, found, put):
        self.put = put
        self.headers = {}  # path as installed: (introduction, items)
        self.where = {}    # name: page
        for source, to in sorted(found.items(), key=lambda pair: pair[1]):
            if to.endswith(".h"):
                with open(os.path.join(root, source), encoding="utf-8") as src:
                    parts = items(src.read())
                intro = parts[0][0] or "" if parts else ""
                if PRIVATE.search(to) or re.match(r"\S+ - private to", intro):
                    continue
                parts[0:1] = [(None, parts[0][1])] if parts else []
                self.headers[to] = (intro.split(" - ", 1)[-1], [part for part in parts if part[1]])
                for _, codes in self.headers[to][1]:
                    for name, _ in codes:
                        self.where.setdefault(name, self.page(to))
        with open(os.path.join(root, "report/page.css"), encoding="utf-8") as src:
            self.style = src.read() + STYLE

    @staticmethod
    def page(to):
        return to.replace("/", "-").replace(".h", ".html")

    def linked(self, text, own):
        """Text with links at the names of other declarations."""
        def one(match):
            name = match.group()
            if name == own or name not in self.where or len(name) < 4:
                return name
            return '<a href="%s#%s">%s</a>' % (self.where[name], name, name)
        return WORD.sub(one, html.escape(text, quote=False))

    def write(self, path, title, body):
        self.put(path, '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>%s</title>\n'
                 '<meta name="viewport" content="width=device-width"><style>\n%s</style></head>\n<body><main>\n'
                 "%s</main></body></html>\n" % (html.escape(title), self.style, body))

    def header(self, to, out):
        intro, parts = self.headers[to]
        body = '<p><a href="index.html">API</a></p>\n<h1>&lt;tandem/%s&gt;</h1>\n<p class="c">%s</p>\n' % (
            to, self.linked(intro, ""))
        for note, codes in parts:
            names = " ".join('<code id="%s">%s</code>' % (name, name) for name, _ in codes if name)
            body += "<h2>%s</h2>\n<pre>%s</pre>\n" % (
                names, "\n".join(self.linked(code, name) for name, code in codes))
            body += '<p class="c">%s</p>\n' % self.linked(note, "") if note else ""
        self.write(os.path.join(out, self.page(to)), to, body)

    def all(self, out):
        rows = ""
        for to, (intro, _) in self.headers.items():
            self.header(to, out)
            first = re.split(r"(?<=\.)\s", intro, maxsplit=1)[0]
            rows += '<tr><td><a href="%s">%s</a></td><td>%s</td></tr>\n' % (self.page(to), to, html.escape(first))
        names = "".join('<li><a href="%s#%s">%s</a></li>\n' % (page, name, name)
                        for name, page in sorted(self.where.items()) if name)
        self.write(os.path.join(out, "index.html"), "API", (
            "<h1>API</h1>\n<p>Headers of an installation, made from their comments. What may change with a version: "
            "CHANGELOG.md.</p>\n<table>\n%s</table>\n<h2>Names</h2>\n<ul class=\"names\">\n%s</ul>\n" % (rows, names)))
        return len(self.headers), len(self.where)


def main():
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        print(__doc__)
        return 0 if "--help" in sys.argv[1:] else 2
    sys.dont_write_bytecode = True
    import install
    print("API: %d headers, %d names" % Pages(install.ROOT, install.headers(), install.put).all(sys.argv[1]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
