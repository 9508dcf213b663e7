"""The part of SystemVerilog's grammar that a mutation needs: where the assignments, conditions and port connections of
a source stand, and the tree of each expression. Positions are those of the characters of the file, so that a source is
rewritten without being printed anew.

What is not understood is left alone: declarations, code under conditional compilation, uses of macros, initial blocks,
system tasks. A tree has no types; widths are asked of the simulator, by $bits()."""
import re

from rtl_modules import Bad

TOKEN = re.compile(r"""
    (?P<skip>\s+|//[^\n]*|/\*.*?\*/|`(?:include|default_nettype|timescale|line)[^\n]*|\(\*(?!\)).*?\*\)) |
    (?P<define>`define(?:\\\n|[^\n])*) |
    (?P<open>`ifn?def)\b | (?P<else>`els(?:e|if))\b | (?P<close>`endif)\b |
    (?P<string>"(?:\\.|[^"\\])*") |
    (?P<number>(?:\d[\d_]*)?\s*'[sS]?[bBoOdDhH]\s*[0-9a-fA-FxXzZ?_]+|'[01xXzZ](?!\w)|\d[\d_]*(?:\.\d+)?) |
    (?P<word>[`$]?[A-Za-z_][\w$]*|\\\S+) |
    (?P<op><<<=|>>>=|===|!==|==\?|!=\?|<<<|>>>|<<=|>>=|&&&|<->|\*\*|->|\+\+|--|\+=|-=|\*=|/=|%=|&=|\|=|\^=|
        &&|\|\||==|!=|<=|>=|<<|>>|~&|~\||~\^|\^~|\+:|-:|::|'\{|.)
""", re.X | re.S)
# of binary operators; `<=` is one only inside an expression
LEVEL = {op: level for level, ops in enumerate(
    ("||", "&&", "|", "^ ~^ ^~", "&", "== != === !== ==? !=?", "< <= > >=", "<< >> <<< >>>", "+ -", "* / %", "**"))
    for op in ops.split()}
UNARY = {"!", "~", "-", "+", "&", "|", "^", "~&", "~|", "~^", "^~"}
TYPES = {"logic", "reg", "wire", "bit", "int", "integer", "byte", "shortint", "longint", "localparam", "parameter",
         "genvar", "typedef", "import", "automatic", "static", "const", "var", "string", "real", "time", "enum",
         "struct", "signed", "unsigned", "export", "assert", "assume", "cover", "default", "timeunit",
         "timeprecision"}
QUALIFIERS = ("unique", "unique0", "priority")


class Token:
    __slots__ = ("text", "kind", "start", "end")

    def __init__(self, text, kind, start, end):
        self.text, self.kind, self.start, self.end = text, kind, start, end


class Node:
    """An expression or a statement: its kind, the characters from start to end, parts, and what the kind needs."""

    def __init__(self, kind, start, end, parts=(), **more):
        self.kind, self.start, self.end, self.parts = kind, start, end, list(parts)
        self.__dict__.update(more)

    def all(self):
        """This node and all nodes below it."""
        yield self
        for part in self.parts:
            yield from part.all()


def tokens(text):
    """Tokens outside comments and conditional compilation."""
    out, at, hidden = [], 0, 0
    while at < len(text):
        match = TOKEN.match(text, at)
        kind = match.lastgroup
        hidden += (kind == "open") - (kind == "close")
        if hidden == 0 and kind in ("string", "number", "word", "op"):
            out.append(Token(match.group(), kind, match.start(), match.end()))
        at = match.end()
    out.append(Token("", "end", len(text), len(text)))
    return out


class Source:
    """One file: `blocks` of code that is executed (kind assign, always, function, port), with their trees."""

    def __init__(self, path, text):
        self.path, self.text, self.all, self.at = path, text, tokens(text), 0
        self.blocks = []
        self.functions = {}       # {name: words of its body}
        self.constant_words = []  # words of declarations: functions among them are evaluated by the compiler
        self.module = ""
        self.signals = {}         # {module: names that its declarations make; types and parameters may be among them}
        while self.peek() != "":
            self.design_unit()

    # ---- tokens ----
    def peek(self, ahead=0):
        return self.all[min(self.at + ahead, len(self.all) - 1)].text

    def token(self):
        return self.all[self.at]

    def next(self):
        token = self.all[self.at]
        self.at += 1
        return token

    def bad(self, expected):
        line = self.text.count("\n", 0, self.token().start) + 1
        raise Bad('%s:%d: "%s": expected %s' % (self.path, line, self.peek(), expected))

    def take(self, text):
        if self.peek() != text:
            self.bad('"%s"' % text)
        return self.next()

    def before(self):
        """Where the token before this one ends."""
        return self.all[self.at - 1].end

    def matched(self):
        """Skip a bracket and what it encloses."""
        depth = 0
        while True:
            text = self.next().text
            depth += (text in ("(", "[", "{", "'{")) - (text in (")", "]", "}"))
            if depth == 0 or text == "":
                return

    def skip_to(self, *ends):
        """Skip up to one of these, which is not taken; brackets and what they enclose are one."""
        while self.peek() not in ends + ("",):
            if self.peek() in ("(", "[", "{", "'{"):
                self.matched()
            else:
                self.next()

    # ---- modules and packages ----
    def design_unit(self):
        if self.peek() in ("module", "package"):
            end = "end" + self.next().text
            self.module = self.next().text
            while self.peek() == "import":
                self.skip_to(";")
                self.next()
            first = self.at
            self.signals[self.module] = set()
            self.skip_to(";")
            self.constants(first)
            self.declared(first)
            while self.peek() not in (end, ""):
                self.item()
        self.next()

    def constants(self, first):
        self.constant_words += [t.text for t in self.all[first:self.at] if t.kind == "word"]

    def declared(self, first):
        """Names outside brackets that are no type of another name."""
        depth = 0
        for token, after in zip(self.all[first:self.at], self.all[first + 1:]):
            depth += (token.text in ("[", "{", "'{")) - (token.text in ("]", "}"))
            if token.kind == "word" and depth == 0 and after.kind != "word" and after.text != "::":
                self.signals[self.module].add(token.text)

    def item(self):
        word = self.peek()
        first = self.at
        if word == "assign":
            start = self.next().start
            node = self.assignment()
            several = self.peek() == ","
            self.skip_to(";")
            self.next()
            if node.op and not several:
                self.blocks.append(Node("assign", start, self.before(), [node], module=self.module))
        elif word in ("always_comb", "always_ff", "always"):
            self.always(word)
        elif word in ("initial", "final", "always_latch"):
            self.next()
            self.statement()
        elif word in ("function", "task"):
            self.function(word)
        elif word in ("if", "for", "case"):  # of a generate: its items are those of the module
            self.next()
            self.matched()
            self.constants(first)
        elif word in ("generate", "endgenerate", "begin", "end", "else", "endcase", ";"):
            self.next()
            if self.peek() == ":":
                self.at += 2
        elif word.startswith("`"):
            self.next()
            if self.peek() == "(":
                self.matched()
        elif self.peek(1) == ":":  # of a case
            self.at += 2
        elif word not in TYPES and self.token().kind == "word" and (
                self.peek(1) == "#" or self.all[self.at + 1].kind == "word" and self.peek(2) == "("):
            self.instance()
        else:
            self.skip_to(";")
            if word not in ("import", "export"):
                self.constants(first)
            if word not in ("import", "export", "localparam", "parameter", "typedef"):
                self.declared(first)
            self.next()

    def always(self, word):
        self.next()
        clocked = word != "always_comb"
        reset = False
        if self.peek() == "@":
            first = self.at
            self.next()
            self.matched() if self.peek() == "(" else self.next()
            events = [t.text for t in self.all[first:self.at]]
            clocked = "posedge" in events or "negedge" in events
            reset = len([e for e in events if e in ("posedge", "negedge")]) > 1
        elif clocked:
            self.bad('"@"')
        node = self.statement()
        self.blocks.append(Node("always", node.start, node.end, [node], module=self.module, clocked=clocked,
                                reset=reset))

    def function(self, word):
        head = first = self.at
        while self.peek() not in (";", "("):
            name = self.next().text
        type_ = self.text[self.all[head].end:self.all[self.at - 1].start]
        self.skip_to(";")
        self.constant_words += [t.text for t in self.all[head:self.at] if t.kind == "word" and t.text != name]
        self.next()
        body, first = [], self.at
        while self.peek() not in ("end" + word, ""):
            body.append(self.statement())
        self.functions[name] = {t.text for t in self.all[first:self.at] if t.kind == "word"}
        self.next()
        if self.peek() == ":":
            self.at += 2
        code = [b for b in body if b.kind != "opaque" or not b.declares]
        own = {t.text for t in self.all[head:first] if t.kind == "word"} | {
            t.text for b in body if b.kind == "opaque" and b.declares for t in tokens(self.text[b.start:b.end])}
        if word == "function" and code:
            start = code[0].start
            self.blocks.append(Node("function", start, body[-1].end, code, module=self.module, name=name, own=own,
                                    type=type_))

    def instance(self):
        first, start = self.at, self.token().start
        self.next()
        if self.peek() == "#":
            self.next()
            self.matched()
            self.constants(first)
        self.next()
        self.take("(")
        ports = []
        while self.peek() not in (")", ""):
            if self.peek() == "." and self.peek(2) == "(" and self.peek(3) != ")":
                self.at += 3
                ports.append(self.expression())
                self.take(")")
            self.skip_to(",", ")")
            if self.peek() == ",":
                self.next()
        self.take(")")
        self.skip_to(";")
        self.next()
        self.blocks.append(Node("instance", start, self.before(), ports, module=self.module))

    # ---- statements ----
    def statement(self):
        token = self.token()
        start, word = token.start, token.text
        while word in QUALIFIERS:
            self.next()
            word = self.peek()
        if word == "begin":
            return self.compound(start)
        if word == "if":
            return self.conditional(start)
        if word in ("case", "casez", "casex"):
            return self.case(start, word)
        if word in ("for", "while", "repeat"):
            self.next()
            self.matched()
            head = self.before()
            body = self.statement()
            return Node("loop", start, body.end, [body], head=head)
        if word == ";":
            self.next()
            return Node("opaque", start, self.before(), declares=False)
        if self.declares(word) or token.kind != "word" and word != "{" or word[0] in "$`" or word in (
                "return", "break", "continue", "void", "forever", "wait", "disable"):
            return self.opaque(start, self.declares(word))
        node = self.assignment()
        if node.op == "":
            return self.opaque(start, False)
        self.take(";")
        node.end = self.before()
        return node

    def declares(self, word):
        second = self.all[self.at + 1]
        return word in TYPES or (self.token().kind == "word" and second.kind == "word") or (
            second.text == "::" and self.all[self.at + 3].kind == "word")

    def opaque(self, start, declares):
        self.skip_to(";")
        self.take(";")
        return Node("opaque", start, self.before(), declares=declares)

    def compound(self, start):
        self.take("begin")
        if self.peek() == ":":
            self.at += 2
        head, parts = self.before(), []
        while self.peek() != "end":
            if self.peek() == "":
                self.bad('"end"')
            parts.append(self.statement())
        self.next()
        if self.peek() == ":":
            self.at += 2
        return Node("block", start, self.before(), parts, head=head)

    def conditional(self, start):
        self.take("if")
        self.take("(")
        condition = self.expression()
        self.take(")")
        parts = [condition, self.statement()]
        if self.peek() == "else":
            self.next()
            parts.append(self.statement())
        return Node("if", start, self.before(), parts)

    def case(self, start, word):
        self.next()
        self.take("(")
        selector = self.expression()
        self.take(")")
        parts, items = [selector], []
        plain = self.peek() != "inside"
        if not plain:
            self.next()
        while self.peek() not in ("endcase", ""):
            first = self.token().start
            if self.peek() == "default":
                self.next()
                items.append(None)
                if self.peek() == ":":
                    self.next()
            else:
                label = self.token().start
                self.skip_to(":")
                items.append(self.text[label:self.before()])
                self.next()
            body = self.statement()
            body.label = (first, body.start)
            parts.append(body)
        self.take("endcase")
        return Node("case", start, self.before(), parts, items=items, plain=plain and word == "case")

    def assignment(self):
        """`op` is empty where it is none: a call."""
        start = self.token().start
        whole = self.peek() != "{" and self.peek(1) in ("=", "<=")
        if self.peek() == "{":
            self.matched()
        else:
            self.next()
            while self.peek() in ("[", ".", "::"):
                if self.peek() == "[":
                    self.matched()
                else:
                    self.at += 2
        left = self.before()
        if self.peek() not in ("=", "<=") or self.peek(1) in ("#", "@"):
            return Node("assign", start, left, op="")
        op = self.next().text
        right = self.expression()
        return Node("assign", start, self.before(), [right], op=op, left=left, whole=whole)

    # ---- expressions ----
    def expression(self):
        left = self.binary(0)
        if self.peek() != "?":
            return left
        self.next()
        yes = self.expression()
        self.take(":")
        no = self.expression()
        return Node("choice", left.start, no.end, [left, yes, no])

    def binary(self, level):
        left = self.unary()
        while LEVEL.get(self.peek(), -1) >= level:
            op = self.next()
            right = self.binary(LEVEL[op.text] + 1)
            left = Node("binary", left.start, right.end, [left, right], op=op.text, op_at=(op.start, op.end))
        if self.peek() == "inside":
            self.next()
            self.matched()
            left = Node("unknown", left.start, self.before())
        return left

    def unary(self):
        token = self.token()
        if token.text in UNARY:
            self.next()
            part = self.unary()
            return Node("unary", token.start, part.end, [part], op=token.text, op_at=(token.start, token.end))
        return self.primary()

    def primary(self):
        token = self.next()
        start, text, parts, kind = token.start, token.text, [], "name"
        if text == "(":
            kind = "paren"
            parts.append(self.expression())
            self.take(")")
        elif text == "{":
            kind, parts = self.braces()
        elif token.kind == "number":
            kind = "number"
        elif text == "'{" or token.kind == "string":
            self.at -= text == "'{"
            self.matched() if text == "'{" else None
            kind = "unknown"
        elif token.kind != "word":
            self.at -= 1
            self.bad("an expression")
        node = Node(kind, start, self.before(), parts, name=text)
        while self.peek() in ("[", ".", "::", "(", "'"):
            node = self.suffix(node)
        if text.startswith("`"):
            node.kind = "unknown"
        return node

    def suffix(self, node):
        text = self.next().text
        if text in (".", "::"):
            name = self.next().text
            return Node("name", node.start, self.before(), node.parts if text == "." else [], name=name)
        if text == "'":  # a cast: its width is a constant
            self.take("(")
            part = self.expression()
            self.take(")")
            return Node("cast", node.start, self.before(), [part], name=node.name)
        if text == "(":
            parts = []
            while self.peek() not in (")", ""):
                parts.append(self.expression())
                if self.peek() == ",":
                    self.next()
            self.take(")")
            constant = node.name.startswith("$") and node.name not in ("$signed", "$unsigned")
            return Node("call", node.start, self.before(), [] if constant else parts, name=node.name)
        index = self.expression()
        parts = node.parts
        if self.peek() in ("+:", "-:"):
            self.skip_to("]")
            parts = parts + [Node("index", index.start, index.end, [index])]
        elif self.peek() == ":":
            self.skip_to("]")
        else:
            parts = parts + [Node("index", index.start, index.end, [index])]
        self.take("]")
        return Node("name", node.start, self.before(), parts, name=node.name)

    def braces(self):
        """Parts of a concatenation; of a repetition what is repeated."""
        first = self.expression()
        if self.peek() == "{":
            self.next()
            parts = self.braces()[1]
            self.take("}")
            return "repeat", parts
        parts = [first]
        while self.peek() == ",":
            self.next()
            parts.append(self.expression())
        self.take("}")
        return "concat", parts
