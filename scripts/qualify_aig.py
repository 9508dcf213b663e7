"""Functional qualification: two versions of a module as one and-inverter graph (docs/qualification.md, "Proofs").

Both are netlists of Yosys with AND, NOT and D flip-flops; the graph has their inputs, the flip-flops of both, and one
output that is 1 in a cycle in which an output of one differs from that of the other. It is written in the binary AIGER
format of 2007, in which all latches begin at 0: one that begins at 1 is stored inverted, and one without a reset begins
at a free value, which both versions share where its name is the same."""
import json
import re

FALSE, TRUE = 0, 1
# outputs that count only while the output `<stem>valid<end>` is 1, by the names of AXI and of the house
PAYLOAD = "(?:data|addr|last|strb|len|size|burst|id|resp|user|keep)"


class Unsupported(Exception):
    """It is a netlist that this does not understand."""


class Graph:
    """Variables are numbered inputs, latches, ANDs; a literal is twice the variable, + 1: inverted."""

    def __init__(self):
        self.inputs = self.latches = 0
        self.ands, self.known, self.next = [], {}, []

    def land(self, a, b):
        if a > b:
            a, b = b, a
        if a == FALSE or a == b ^ 1:
            return FALSE
        if a == TRUE or a == b:
            return b
        if (a, b) not in self.known:
            self.known[a, b] = 2 * (1 + self.inputs + self.latches + len(self.ands))
            self.ands.append((a, b))
        return self.known[a, b]

    def lor(self, a, b):
        return self.land(a ^ 1, b ^ 1) ^ 1

    def mux(self, choice, yes, no):
        return self.lor(self.land(choice, yes), self.land(choice ^ 1, no))

    def lxor(self, a, b):
        return self.lor(self.land(a, b ^ 1), self.land(a ^ 1, b))

    def aiger(self, output):
        """The file, with one output."""
        out = bytearray("aig %d %d %d 1 %d\n" % (self.inputs + self.latches + len(self.ands), self.inputs, self.latches,
                                                len(self.ands)), "ascii")
        out += "".join("%d\n" % literal for literal in self.next + [output]).encode("ascii")
        for number, (a, b) in enumerate(self.ands):
            for delta in (2 * (1 + self.inputs + self.latches + number) - b, b - a):
                while delta > 127:
                    out.append(delta & 127 | 128)
                    delta >>= 7
                out.append(delta)
        return bytes(out)


class Netlist:
    """A module of Yosys' JSON."""

    def __init__(self, path):
        with open(path, encoding="utf-8") as src:
            modules = {name: m for name, m in json.load(src)["modules"].items()
                       if "blackbox" not in m.get("attributes", {})}
        if len(modules) != 1:
            raise Unsupported("%d modules" % len(modules))
        module = next(iter(modules.values()))
        self.names = {}  # of a bit
        for name, net in module["netnames"].items():
            for at, bit in enumerate(net["bits"]):
                if not net["hide_name"]:
                    self.names.setdefault(bit, set()).add("%s[%d]" % (name, at))
        self.ports = {side: {name: p["bits"] for name, p in module["ports"].items() if p["direction"] == side}
                      for side in ("input", "output")}
        self.gates, self.flops, self.clocks, self.boxes = {}, {}, {}, 0
        for name, cell in module["cells"].items():
            self.cell(name, cell["type"], {port: bits[0] for port, bits in cell["connections"].items() if bits}, cell)
        self.inputs = {"%s[%d]" % (name, at): bit for name, bits in self.ports["input"].items()
                       for at, bit in enumerate(bits)}
        self.input_of = {bit: name for name, bit in self.inputs.items()}

    def cell(self, name, kind, at, cell):
        if kind in ("$_AND_", "$_NOT_"):
            self.gates[at["Y"]] = (at["A"], at.get("B"))
        elif kind in ("$_DFF_P_", "$_DFF_PN0_", "$_DFF_PN1_"):
            self.flops[at["Q"]] = (at["D"], at["C"], at.get("R"), kind[7:9] if "R" in at else "")
        elif "clk_gate" in kind:  # rtl/lib/clk_gate.sv: a clock, and whether it runs
            self.clocks[at["clk_o"]] = (at["clk_i"], at["en_i"] if gates(cell) else "1")
        elif not kind.startswith("$_"):
            self.box(name, kind, cell)
        else:
            raise Unsupported("cell %s of type %s" % (name, kind))

    def box(self, name, kind, cell):
        """A module inside: what it says is an input, what it is told an output."""
        self.boxes += 1
        for port, bits in cell["connections"].items():
            side = "input" if cell["port_directions"][port] == "output" else "output"
            self.ports[side]["%s %s.%s" % (kind, name, port)] = bits

    def enable(self, clock):
        """(the input that a clock comes from, the bits that must be 1 for it to run)"""
        bits = []
        while clock in self.clocks:
            clock, bit = self.clocks[clock]
            bits.append(bit)
        if clock not in self.input_of:
            raise Unsupported("a clock that is no input")
        return self.input_of[clock], bits


def gates(cell):
    value = cell.get("parameters", {}).get("Gate", "1")
    return int(str(value), 2) != 0


class Side:
    """One version in the graph."""

    def __init__(self, graph, net, inputs):
        self.graph, self.net = graph, net
        self.of_bit = {"0": FALSE, "1": TRUE, "x": FALSE, "z": FALSE}
        self.of_bit.update((bit, inputs[name]) for name, bit in net.inputs.items())

    def literal(self, bit):
        """Of the cone of a bit, without recursion."""
        known, todo = self.of_bit, [bit]
        while todo:
            now = todo[-1]
            if now in known:
                todo.pop()
                continue
            if now not in self.net.gates:
                raise Unsupported("a signal that nothing drives")
            a, b = self.net.gates[now]
            missing = [x for x in (a, b) if x is not None and x not in known]
            if missing:
                todo += missing
                continue
            known[now] = known[a] ^ 1 if b is None else self.graph.land(known[a], known[b])
            todo.pop()
        return known[bit]

    def next_of(self, bit, raw):
        """What a flip-flop becomes. raw: its own value."""
        data, clock, reset, kind = self.net.flops[bit]
        value = self.literal(data)
        for enable in self.net.enable(clock)[1]:
            value = self.graph.mux(self.literal(enable), value, raw)
        return value if reset is None else self.graph.mux(self.literal(reset), value, int(kind[1]))


def has_payloads(net):
    return any(valid_of(name, net.ports["output"]) for name in net.ports["output"])


def valid_of(name, outputs):
    """The output that says when an output with this name counts, None: always."""
    match = re.fullmatch("(.*?)%s(_o)?" % PAYLOAD, name)
    valid = match and match.group(1) + "valid" + (match.group(2) or "")
    return valid if valid in outputs else None


def miter(gold, gate, handshakes):
    """The bytes of a file of AIGER. handshakes: payloads count only while they are valid."""
    names = sorted(set(gold.inputs) | set(gate.inputs))
    if gold.ports["output"].keys() != gate.ports["output"].keys():
        raise Unsupported("other outputs")
    graph, sides = Graph(), (gold, gate)
    clocks = {net.enable(flop[1])[0] for net in sides for flop in net.flops.values()}
    if len(clocks) > 1:
        raise Unsupported("several clocks")
    # flip-flops without a reset: a free value of each name
    free, first_of = [], {}
    for side, net in enumerate(sides):
        for bit, flop in sorted(net.flops.items()):
            if flop[2] is None:
                known = sorted(name for name in net.names.get(bit, ()) if name in first_of) if side else []
                if known:
                    first_of[side, bit] = first_of[known[0]]
                else:
                    first_of[side, bit] = len(free)
                    first_of.update((name, len(free)) for name in net.names.get(bit, ()) if not side)
                    free.append((side, bit))
    graph.inputs = len(names) + len(free)
    inputs = {name: 2 * (1 + at) for at, name in enumerate(names)}
    order = [(side, bit) for side, net in enumerate(sides) for bit in sorted(net.flops)]
    graph.latches = 1 + len(order)  # the first one says that the first cycle is over
    begun = 2 * (1 + graph.inputs)
    graph.next = [TRUE]
    made = [Side(graph, net, inputs) for net in sides]
    raws = {}
    for number, (side, bit) in enumerate(order):
        latch, flop = begun + 2 * (1 + number), sides[side].flops[bit]
        if flop[2] is None:
            raws[side, bit] = graph.mux(begun, latch, 2 * (1 + len(names) + first_of[side, bit]))
        else:
            raws[side, bit] = latch ^ int(flop[3][1])
        made[side].of_bit[bit] = raws[side, bit]
    for side, bit in order:
        flop = sides[side].flops[bit]
        graph.next.append(made[side].next_of(bit, raws[side, bit]) ^ (int(flop[3][1]) if flop[2] is not None else 0))
    bad, outputs = FALSE, gold.ports["output"]
    for name in sorted(outputs):
        valid = valid_of(name, outputs) if handshakes else None
        counts = made[0].literal(outputs[valid][0]) if valid else TRUE
        for a, b in zip(outputs[name], gate.ports["output"][name]):
            bad = graph.lor(bad, graph.land(counts, graph.lxor(made[0].literal(a), made[1].literal(b))))
    return graph.aiger(bad), bad == FALSE
