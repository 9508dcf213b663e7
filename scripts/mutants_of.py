"""Mutants of a source: for each assignment, condition, selector and port connection (a place) the ways in which its
value could be wrong (docs/qualification.md, "Operators")."""
import re

from sv_tree import LEVEL

# what a binary operator becomes: (name of the mutation operator, other operators)
BINARY = {
    "<": ("relational", "<= >="), "<=": ("relational", "< >"), ">": ("relational", ">= <="),
    ">=": ("relational", "> <"), "==": ("relational", "!="), "!=": ("relational", "=="),
    "+": ("arithmetic", "-"), "-": ("arithmetic", "+"), "*": ("arithmetic", "+"), "/": ("arithmetic", "*"),
    "%": ("arithmetic", "/"), "&&": ("logical", "||"), "||": ("logical", "&&"), "&": ("bitwise", "| ^"),
    "|": ("bitwise", "& ^"), "^": ("bitwise", "|"), "~^": ("bitwise", "^"), "^~": ("bitwise", "^"),
    "<<": ("shift", ">>"), ">>": ("shift", "<<"), "<<<": ("shift", ">>>"), ">>>": ("shift", ">>"),
}
REDUCTION = {"&": "|", "|": "&", "^": "|", "~&": "~|", "~|": "~&"}
BASE = {"b": 2, "o": 8, "d": 10, "h": 16}
CLOCK = re.compile(r"clk|clock", re.I)
UNUSED = re.compile(r"unused\w*$")  # the house's name of a signal that nothing reads
OPERATORS = ("relational", "arithmetic", "logical", "bitwise", "shift", "sign", "negate", "operand", "constant", "swap",
             "choice", "enable", "case", "drop", "exchange", "stuck")


class Place:
    """Where a value is made: the text of its target (empty: a condition), of the value, and what it can become."""

    def __init__(self, kind, node, value, target):
        self.kind, self.node, self.value, self.target = kind, node, value, target
        self.number = None
        self.mutants = []  # of all that change this place


class Mutant:
    """One deliberate bug. `edits`: (start, end, text) of the source that make it; `at`: the first of them, which tells
    its line. What the place computes instead: `value` (text, of several places a list), or for a register `bit` and
    `stuck`."""

    def __init__(self, operator, places, edits, value=None, bit=None, stuck=None):
        self.operator, self.places, self.edits = operator, places, edits
        self.value, self.bit, self.stuck = value, bit, stuck
        self.number = None

    def value_of(self, place):
        """What it makes a place compute."""
        return self.value[self.places.index(place)] if isinstance(self.value, list) else self.value


def plus_one(text):
    """Other values of a literal: its neighbours; all ones for all zeros."""
    match = re.fullmatch(r"(\d*)\s*'([sS]?)([bodhBODH])\s*([0-9a-fA-F_]+)", text)
    if text in ("'0", "'1"):
        return ["'1" if text == "'0" else "'0"]
    if re.fullmatch(r"\d+", text):
        value = int(text)
        return [str(value + 1)] + ([str(value - 1)] if value > 0 else [])
    if not match or not match.group(1):
        return []
    width, base = int(match.group(1)), match.group(3).lower()
    value = int(match.group(4).replace("_", ""), BASE[base])
    other = sorted({(value + 1) % (1 << width), (value - 1) % (1 << width)} - {value})
    form = {"b": "b", "o": "o", "d": "d", "h": "x"}[base]
    return ["%d'%s%s%s" % (width, match.group(2), match.group(3), format(v, form)) for v in other]


class Expression:
    """Edits of one expression."""

    def __init__(self, text):
        self.text, self.found = text, []

    def of(self, node):
        return self.text[node.start:node.end]

    def note(self, operator, start, end, new):
        if self.text[start:end] != new:
            self.found.append((operator, (start, end, new)))

    def whole(self, operator, node, new):
        self.note(operator, node.start, node.end, new)

    def visit(self, node, index=False):
        """index: inside an index, where a constant is a place of a vector."""
        getattr(self, "on_" + node.kind, lambda n, i: None)(node, index)
        for part in node.parts:
            self.visit(part, index or node.kind == "index")

    def on_binary(self, node, index):
        operator, others = BINARY.get(node.op, ("", ""))
        left, right = (self.of(part) for part in node.parts)
        for new in others.split():
            if LEVEL[new] == LEVEL[node.op] or new in "< <= > >=":
                self.note(operator, *node.op_at, new)
            else:
                self.whole(operator, node, "((%s) %s (%s))" % (left, new, right))
        if node.op in ("&&", "||", "+", "-", "&", "|"):
            self.whole("operand", node, "(%s)" % left)
            if node.op not in ("+", "-"):
                self.whole("operand", node, "(%s)" % right)
        if node.op == "-":
            self.whole("swap", node, "((%s) - (%s))" % (right, left))

    def on_unary(self, node, index):
        part = self.of(node.parts[0])
        if node.op in ("!", "~", "-"):
            self.whole("negate", node, "(%s)" % part)
        elif node.op in REDUCTION:
            self.note("bitwise", *node.op_at, REDUCTION[node.op])

    def on_choice(self, node, index):
        condition, yes, no = (self.of(part) for part in node.parts)
        self.note("negate", node.parts[0].start, node.parts[0].end, "!(%s)" % condition)
        for value in "10":
            self.note("choice", node.parts[0].start, node.parts[0].end, "(1'b%s)" % value)

    def on_number(self, node, index):
        for new in plus_one(self.of(node)) if not index else []:
            self.whole("constant", node, new)

    def on_call(self, node, index):
        if node.name == "$signed":
            self.note("sign", node.start, node.start + len("$signed"), "$unsigned")
        elif node.name == "$unsigned":
            self.note("sign", node.start, node.start + len("$unsigned"), "$signed")

    def on_concat(self, node, index):
        if len(node.parts) > 1:
            a, b = node.parts[:2]
            self.note("swap", a.start, b.end, "%s, %s" % (self.of(b), self.of(a)))


class Finder:
    """Places and mutants of a file's blocks."""

    def __init__(self, source, constant_functions):
        self.source, self.text, self.constant = source, source.text, constant_functions
        self.mutants = []
        self.blocks = []  # (block, its places)
        for block in source.blocks:
            places = self.block(block)
            if places:
                self.blocks.append((block, places))
        self.stuck()
        self.blocks = [(b, [p for p in places if p.mutants]) for b, places in self.blocks]
        self.blocks = [(b, places) for b, places in self.blocks if places]

    def of(self, node):
        return self.text[node.start:node.end]

    def block(self, block):
        places = []
        if block.kind == "function" and block.name in self.constant:
            return places
        if block.kind == "instance":
            for part in block.parts:
                if makes_value(part):
                    self.place(places, "port", part, part, "")
            return places
        body = block.parts
        if block.kind == "always" and block.reset:
            body = self.after_reset(places, block)
        before = None
        for node in body:
            known = len(places)
            self.statement(places, node, block, set())
            before = self.exchange(before, node, block, places[known:])
        return places

    def after_reset(self, places, block):
        """Of an asynchronous reset the condition is no mutant, and its assignments are not dropped."""
        node = block.parts[0]
        while node.kind == "block" and len(node.parts) == 1:
            node = node.parts[0]
        if node.kind != "if":
            return block.parts
        for part in node.parts[1].all():
            if part.kind == "assign" and part.op:
                self.assignment(places, part, block, None)
        return node.parts[2:]

    def statement(self, places, node, block, given):
        """given: targets that have a value whatever is skipped; None: nothing is dropped."""
        if node.kind == "assign" and node.op:
            self.assignment(places, node, block, given)
        elif node.kind == "block":
            before = None
            for part in node.parts:
                known = len(places)
                self.statement(places, part, block, given)
                before = self.exchange(before, part, block, places[known:])
                if part.kind == "assign" and part.op:
                    given = given | {self.text[part.start:part.left]}
        elif node.kind == "loop":
            self.statement(places, node.parts[0], block, given)
        elif node.kind == "if":
            if not self.only_checks(node):
                self.condition(places, node)
            for part in node.parts[1:]:
                self.statement(places, part, block, given)
        elif node.kind == "case":
            self.selector(places, node)
            for part in node.parts[1:]:
                self.statement(places, part, block, given)

    def exchange(self, before, node, block, made):
        """Two assignments, one after the other, that give each its value to the target of the other. Returns the place
        of the second, if it is one."""
        if node.kind != "assign" or not node.op or len(made) != 1:
            return None
        place = made[0]
        # signals that depend on each other without a clock between them would make a loop of the design
        if before is not None and before.node.op == node.op and (block.kind == "function" or node.op == "<="):
            (a, b), old = (before.value, place.value), [self.text[slice(*p.value)] for p in (before, place)]
            if old[0] != old[1]:
                self.mutant("exchange", [before, place], [a + (old[1],), b + (old[0],)], old[::-1])
        return place

    def only_checks(self, node):
        """A condition of messages: it belongs to an assertion."""
        return all(part.kind in ("opaque", "block") for part in node.parts[1:])

    def place(self, places, kind, node, expression, target):
        """A place with the mutants of its expression."""
        place = Place(kind, node, (expression.start, expression.end), target)
        if (any(part.kind == "unknown" for part in expression.all()) or UNUSED.match(target) or
                CLOCK.search(self.of(expression) + target)):
            return None
        found = Expression(self.text)
        found.visit(expression)
        for operator, edit in found.found:
            self.mutant(operator, [place], [edit], self.edited(place, edit))
        places.append(place)
        return place

    def mutant(self, operator, places, edits, *value, **more):
        mutant = Mutant(operator, places, edits, *value, **more)
        self.mutants.append(mutant)
        for place in places:
            place.mutants.append(mutant)

    def edited(self, place, edit):
        start, end = place.value
        return self.text[start:edit[0]] + edit[2] + self.text[edit[1]:end]

    def assignment(self, places, node, block, given):
        target = self.text[node.start:node.left]
        place = self.place(places, "assign", node, node.parts[0], target)
        clocked = block.kind == "always" and block.clocked and node.op == "<="
        if place is not None and given is not None and (clocked or target in given):
            self.mutant("drop", [place], [(node.start, node.end, ";")], target)
        if place is not None:
            place.register = target if clocked and node.whole else None
            place.module, place.clocked = block.module, clocked

    def condition(self, places, node):
        condition = node.parts[0]
        place = self.place(places, "if", node, condition, "")
        if place is not None:
            edit = (condition.start, condition.end)
            for operator, new in (("negate", "!(%s)" % self.of(condition)), ("enable", "1'b0"), ("enable", "1'b1")):
                self.mutant(operator, [place], [edit + (new,)], new)

    def selector(self, places, node):
        selector = node.parts[0]
        place = self.place(places, "case", node, selector, "")
        labels = [(label, body) for label, body in zip(node.items, node.parts[1:]) if label is not None]
        if place is None or not node.plain or any("," in label for label, _ in labels):
            return
        for (a, first), (b, second) in zip(labels, labels[1:]):
            ends = [(body.label[0], body.label[0] + len(label)) for label, body in ((a, first), (b, second))]
            old = self.of(selector)
            self.mutant("case", [place], [ends[0] + (b,), ends[1] + (a,)],
                        "(((%s) == (%s)) ? (%s) : ((%s) == (%s)) ? (%s) : (%s))" % (old, a, b, old, b, a, old))

    def stuck(self):
        """Bits of registers, wherever these are assigned."""
        registers = {}
        for _, places in self.blocks:
            for place in places:
                name = re.match(r"\w*", place.target).group()
                if place.kind == "assign" and place.clocked:
                    registers.setdefault((place.module, name), []).append(place)
        for (_, name), places in registers.items():
            if all(place.register == name for place in places) and not CLOCK.search(name):
                single = re.search(r"\blogic\s+(?:\w+\s*,\s*)*%s\b" % name, self.text)
                for bit in ["0"] if single else ["0", "$bits(%s) - 1" % name]:
                    for value in "01":
                        self.mutant("stuck", places, [self.stuck_edit(p, bit, value) for p in places], bit=bit,
                                    stuck=value)

    def stuck_edit(self, place, bit, value):
        one = "($bits(%s))'(1) << (%s)" % (place.target, bit)
        form = "(%s) & ~(%s)" if value == "0" else "(%s) | (%s)"
        return place.value + (form % (self.text[slice(*place.value)], one),)


def makes_value(node):
    """Is this connection of a port certainly not one of an output?"""
    if node.kind in ("concat", "paren"):
        return any(makes_value(part) for part in node.parts)
    return node.kind in ("binary", "unary", "choice", "cast", "call")


def constant_functions(sources):
    """Functions that the compiler evaluates, and those that they call: they cannot have mutants at run time."""
    bodies = {name: words for source in sources for name, words in source.functions.items()}
    found, todo = set(), {word for source in sources for word in source.constant_words} & set(bodies)
    while todo:
        found |= todo
        todo = {word for name in todo for word in bodies[name]} & set(bodies) - found
    return found
