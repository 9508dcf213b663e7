"""What the text of the sources says of a module before Verilator has read it: which one is the top, and how it uses an
input: as a clock, as a reset of which polarity."""

import os
import re

import rtl_modules
from gen_shim import Bad

DEPTH = 6  # of instances that are followed
# a valid of AXI or AXI4-Stream: what it promises is known; what stands before and behind the word
VALID = re.compile(r"((?:.*[_\d])?(?:aw|ar|w|b|r|t)_?)valid(?:_[a-z]+)?$", re.I)
PLAIN_VALID = re.compile(r"(.*?)valid(?:_[a-z]+)?$", re.I)
BUFFER = re.compile(r"fifo|skid|buffer|slice|stage|queue|register", re.I)
PAYLOAD = re.compile(r"(data|addr|id|len|size|burst|lock|cache|prot|strb|last|keep|resp|dest|user)(_|$)", re.I)


def read_text(files):
    """All sources in one, without comments, attributes and what stands in strings."""
    text = ""
    for path in files:
        try:
            with open(path, encoding="utf-8", errors="replace") as src:
                text += src.read() + "\n"
        except OSError as err:
            raise Bad("%s: %s" % (path, err.strerror)) from None
    return re.sub(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|/\*.*?\*/|\(\*(?!\s*\)).*?\*\)',
                  lambda m: '""' if m[0][0] == '"' else " ", text, flags=re.S)


def modules(text):
    """Modules in a text, and which of them none of them instantiates."""
    names = re.findall(r"\bmodule\s+(?:automatic\s+)?(\w+)", text)
    inside = [n for n in names if re.search(r"(?<!module)\s%s\s+(#\s*\(|\w+\s*(\[[^]]*\])?\s*\()" % re.escape(n), text)]
    return names, [n for n in names if n not in inside]


def find_top(files, said):
    names, tops = modules(read_text(files))
    if not names:
        raise Bad("%s: there is no module in it" % " ".join(files))
    own = [n for n in tops if n == re.sub(r"\.\w+$", "", os.path.basename(files[0]))]
    if len(tops) == 1 or own:
        top = tops[0] if len(tops) == 1 else own[0]
        said.append("top module: %s (%s)" % (top, "no other module instantiates it" if len(tops) == 1 else
                                              "named as the first file"))
        return top
    raise Bad("--top MODULE is missing: expected one of %s" % ", ".join(tops or names))


def plain_name(name):
    """Without the sign of its direction."""
    return re.sub("_(i|o|in|out)$", "", name.lower())


def closing(text, at):
    """Index behind the parenthesis that closes the one at `at`."""
    depth = 0
    for i in range(at, len(text)):
        depth += (text[i] == "(") - (text[i] == ")")
        if depth == 0:
            return i + 1
    return len(text)


class Use:
    """How an input is used: edges in sensitivity lists, and conditions that reset."""

    def __init__(self):
        self.rise = self.fall = self.high = self.low = 0

    def clock(self):
        return self.rise + self.fall > 0 and self.high + self.low == 0

    def reset(self):
        """An asynchronous one: an edge, and a condition of the same polarity."""
        return self.high + self.low > 0 and self.rise + self.fall > 0

    def polarity(self):
        """"low", "high", or None: the text does not say, or says both."""
        return "low" if self.low > self.high else "high" if self.high > self.low else None


class Rtl:
    """Bodies of the modules of some files, headers included."""

    def __init__(self, files):
        text = read_text(files)
        found = re.finditer(r"\bmodule\s+(?:automatic\s+)?(\w+)\b(.*?)\bendmodule\b", text, re.S)
        self.body = {m[1]: m[2] for m in found}

    def instances(self, module):
        """(module, text of its connections) of each instance within a module."""
        body = self.body.get(module, "")
        for m in re.finditer(r"(?<![.\w])(\w+)\s+(#\s*\(|\w+\s*(?:\[[^]]*\])?\s*\()", body):
            if m[1] not in self.body:
                continue
            at = m.end() - 1
            if m[2].startswith("#"):
                at = body.find("(", closing(body, at))
            if at >= 0:
                yield m[1], body[at:closing(body, at)]

    def use(self, module, name, found=None, inverted=False, depth=0, seen=None):
        """Of an input of a module, also where it goes on into instances or under another name, plain or inverted."""
        found, seen = found or Use(), seen if seen is not None else set()
        body = self.body.get(module, "")
        if (module, name, inverted) in seen or depth > DEPTH or not body:
            return found
        seen.add((module, name, inverted))
        word = r"\b%s\b" % re.escape(name)
        rise, fall = len(re.findall(r"\bposedge\s+" + word, body)), len(re.findall(r"\bnegedge\s+" + word, body))
        low = r"\bif\s*\(\s*[!~]\s*\(?\s*%s\s*\)|\bif\s*\(\s*%s\s*==\s*1?'?b?0\s*\)" % (word, word)
        low = len(re.findall(low, body))
        high = len(re.findall(r"\bif\s*\(\s*%s\s*(?:\)|==\s*1'b1\s*\)|\|\|?)" % word, body))
        found.rise, found.fall = found.rise + (fall if inverted else rise), found.fall + (rise if inverted else fall)
        found.high, found.low = found.high + (low if inverted else high), found.low + (high if inverted else low)
        for m in re.finditer(r"\b(?:assign|wire|logic)\s+(\w+)\s*=\s*([!~]?)\s*%s\s*;" % word, body):
            self.use(module, m[1], found, inverted != bool(m[2]), depth + 1, seen)
        for part, connections in self.instances(module):
            for m in re.finditer(r"\.\s*(\w+)\s*\(\s*([!~]?)\s*%s\s*\)" % word, connections):
                self.use(part, m[1], found, inverted != bool(m[2]), depth + 1, seen)
            if re.search(r"\.\s*\*|\.\s*%s\s*[,)]" % word, connections):  # .* and .name
                self.use(part, name, found, inverted, depth + 1, seen)
        return found

    def ports_of(self, module):
        """Directions of the ports of a module by their names."""
        try:
            return rtl_modules.Module(module, "module %s%s endmodule" % (module, self.body[module]), True).ways
        except (rtl_modules.Bad, ValueError):
            return {}

    def hands_of(self, module):
        """Handshakes at the ports of a module: valid, ready, payload, output, and whether it is known to hold what it
        offers: one of AXI does, and buffers do."""
        ports, hands = self.ports_of(module), []
        for name, way in ports.items():
            match = VALID.match(name) or (BUFFER.search(module) and PLAIN_VALID.match(name))
            if not match or way not in ("input", "output"):
                continue
            ready = plain_name(name)[:-len("valid")] + "ready"
            # i_valid and o_ready
            other = re.sub("(^|_)[io]_ready$", r"\1%s_ready" % ("o" if way == "input" else "i"), ready)
            ready = next((p for p in ports if plain_name(p) in (ready, other) and ports[p] != way), None)
            if ready:
                stem = match[1]
                payload = [p for p in ports if p.startswith(stem) and p != name and ports[p] == way and
                           PAYLOAD.match(p[len(stem):])]
                lanes = [p for p in payload if re.match("keep|strb", p[len(stem):], re.I)]
                if lanes or stem.lower().endswith(("r", "r_")):  # lanes that are not used may change
                    payload = [p for p in payload if not re.match("data", p[len(stem):], re.I)]
                hands.append({"valid": name, "ready": ready, "payload": payload[:12], "output": way == "output"})
        return hands[:16]

    def unit(self, top, buses):
        """A unit inside a design that a check can follow: its module, its handshakes with `held`, the text of the
        connections of one of its instances. What goes straight to a port of the design that the bench follows (a name
        in `buses`) is left to it. None: there is none."""
        todo, seen = [(top, "")], []
        while todo:
            module, connections = todo.pop(0)
            if module in seen:
                continue
            seen.append(module)
            todo += list(self.instances(module))
            hands = self.hands_of(module) if module != top else []
            for h in hands:
                outside = re.search(r"\.\s*%s\s*\(\s*([\w.]+)" % h["valid"], connections)
                h["held"] = h["output"] and not (outside and outside[1] in buses)
            if any(h["held"] for h in hands):
                return module, hands, connections
        return None
