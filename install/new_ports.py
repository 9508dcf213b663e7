"""The ports of a module, as Verilator sees them after elaboration, and what they are: clocks, resets, buses, streams,
interrupts. What is guessed is said."""

import fnmatch
import os
import re
import subprocess
import sys
import tempfile

sys.path[:0] = [os.path.join(os.path.dirname(os.path.abspath(__file__)), place) for place in (".", "../scripts")]
import gen_shim  # noqa: E402

SUFFIX = re.compile(r"(_i|_o|_in|_out)$")
CLOCK = re.compile(r"(^|_)(a|[a-z]{1,4}_)?(clk|clock)\d*(_|$)|clk\d*$")
RESET = re.compile(r"(^|_)(a|s|p|h|sys)?(rst|reset|nreset|nrst|resetn|rstn)(_?n)?\d*(_|$)|(resetn|rstn|rst_n)$")
LOW = re.compile(r"(_n|_ni|_b|_l|resetb|rstb)$|(rst|reset)_?[a-z0-9]?ni?$|^n(rst|reset)")
INTERRUPT = re.compile(r"(^|_)(irq|intr?|interrupt)s?\d*(_|$)")
WRITE = ("awaddr", "awvalid", "awready", "wdata", "wstrb", "wvalid", "wready", "bresp", "bvalid", "bready")
READ = ("araddr", "arvalid", "arready", "rdata", "rresp", "rvalid", "rready")
MORE = ("awid", "awlen", "awsize", "awburst", "awlock", "awcache", "awprot", "awqos", "awregion", "awuser", "wid",
        "wlast", "wuser", "bid", "buser", "arid", "arlen", "arsize", "arburst", "arlock", "arcache", "arprot", "arqos",
        "arregion", "aruser", "rid", "rlast", "ruser")
APB = ("psel", "penable", "paddr", "pwrite", "pwdata", "prdata", "pready", "pslverr", "pstrb", "pprot")
STREAM = ("tdata", "tkeep", "tstrb", "tlast", "tid", "tdest", "tuser")


# what stands before "awvalid", between channel and signal, and behind it
AXI_VALID = re.compile(r"(.*?)a[wr](_?)valid((?:_[a-z0-9]+)*|\d*)$")


def axi_word(word, joint):
    """"awvalid", or with an underscore behind the channel."""
    channel = 2 if word[0] == "a" else 1
    return word[:channel] + joint + word[channel:]


class Bad(Exception):
    """What is wrong, in one line."""


class Port:
    def __init__(self, name, width, is_input):
        self.name, self.width, self.input = name, width, is_input
        self.plain = SUFFIX.sub("", name.lower())  # without the sign of its direction
        self.role = None


def modules(files):
    """Modules in these files, and which of them none of them instantiates."""
    text = ""
    for path in files:
        try:
            with open(path, encoding="utf-8", errors="replace") as src:
                text += src.read() + "\n"
        except OSError as err:
            raise Bad("%s: %s" % (path, err.strerror)) from None
    text = re.sub(r"//[^\n]*|/\*.*?\*/|\(\*.*?\*\)", " ", text, flags=re.S)
    names = re.findall(r"\bmodule\s+(?:automatic\s+)?(\w+)", text)
    inside = [n for n in names if re.search(r"(?<!module)\s%s\s+(#\s*\(|\w+\s*(\[[^]]*\])?\s*\()" % re.escape(n), text)]
    return names, [n for n in names if n not in inside]


def find_top(files, said):
    names, tops = modules(files)
    if not names:
        raise Bad("%s: no module" % " ".join(files))
    own = [n for n in tops if n == re.sub(r"\.\w+$", "", os.path.basename(files[0]))]
    if len(tops) == 1 or own:
        top = tops[0] if len(tops) == 1 else own[0]
        said.append("top module: %s (%s)" % (top, "no other module instantiates it" if len(tops) == 1 else
                                              "named as the first file"))
        return top
    raise Bad("--top: which of %s?" % ", ".join(tops or names))


def read(files, top, includes, params, verilator):
    """Ports in their order. The header of the Verilated class has them, the same in every version from 4 on."""
    with tempfile.TemporaryDirectory() as folder:
        # warnings are for whoever lints the design; here only what Verilator refuses counts
        command = ([verilator, "--cc", "-Wno-fatal", "-Wno-lint", "-Wno-style", "--top-module", top, "--prefix", "Vtop",
                    "--Mdir", folder] + ["-I" + i for i in includes] + ["-G" + p for p in params] + list(files))
        try:
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        except OSError as err:
            raise Bad("%s: %s" % (verilator, err.strerror)) from None
        if done.returncode != 0:
            lines = [line for line in done.stdout.splitlines() if line.startswith("%Error")]
            raise Bad("Verilator refuses the sources: %s" % (lines or [done.stdout.strip()])[0])
        with open(os.path.join(folder, "Vtop.h"), encoding="utf-8") as src:
            found = gen_shim.PORT.findall(src.read())
    ports = []
    for kind, _, member, msb, lsb in found:
        if kind == "INOUT":
            raise Bad("port %s is an inout, which is not supported" % gen_shim.port_name(member))
        ports.append(Port(gen_shim.port_name(member), int(msb) - int(lsb) + 1, kind == "IN"))
    if not ports:
        raise Bad("%s has no ports" % top)
    return ports


class Design:
    """What the ports are. Every port has a role in the end."""

    def __init__(self, ports, said, memories=()):
        self.ports, self.said, self.memories = ports, said, memories
        self.buses, self.streams, self.clocks, self.interrupts, self.constants = [], [], [], [], []
        self.find_axi()
        self.find_apb()
        self.find_clocks()
        self.find_streams()
        self.find_rest()

    def at(self, plain):
        return next((p for p in self.ports if p.role is None and p.plain == plain), None)

    def bind(self, prefix, words, role):
        taken = {}
        for word in words:
            port = self.at(prefix + word)
            if port is not None:
                port.role = role
                taken[word] = port
        return taken

    def find_axi(self):
        """Ports with AWVALID or ARVALID: what stands before and behind this word makes the bus."""
        places = []
        for p in self.ports:
            match = AXI_VALID.match(p.plain)
            place = match and (match[1], match[2], match[3])
            if match and place not in places:
                places.append(place)
        for before, joint, behind in places:
            names = {w: before + axi_word(w, joint) + behind for w in WRITE + READ + MORE}
            has = [w for w in names if self.at(names[w])]
            if "wdata" in has or "rdata" in has:
                self.add_axi(before, joint, behind, {w: names[w] for w in has})

    def add_axi(self, before, joint, behind, names):
        signals = {}
        for word, name in names.items():
            signals[word] = self.at(name)
            signals[word].role = "bus"
        valid = signals.get("awvalid") or signals.get("arvalid")
        full, slave = "awlen" in names or "arlen" in names, valid.input
        writes, reads = "awvalid" in names, "arvalid" in names
        whole = (all(w in names for w in WRITE if w != "wstrb") or not writes) and (
            all(w in names for w in READ) or not reads) and (
            not full or (("wlast" in names or not writes) and ("rlast" in names or not reads)))
        count = valid.width  # of ports in the same vectors
        width = (signals.get("wdata") or signals.get("rdata")).width // count
        prefix = valid.name[:len(before)]
        if behind:
            prefix += "*" + valid.name[len(before) + len(axi_word("awvalid", joint)):][:len(behind)]
        memory = slave and (full or any(fnmatch.fnmatch(prefix, m) for m in self.memories))
        bus = {"prefix": prefix, "kind": "axi4" if full else "axi4-lite", "side": "slave" if slave else "master",
               "signals": signals, "whole": whole, "width": width, "count": count, "memory": memory,
               "address": (signals.get("awaddr") or signals.get("araddr")).width // count}
        legal = width & (width - 1) == 0 and 8 <= width <= 1024 and all(s.width % count == 0 for s in signals.values())
        one = full or (writes and reads)  # AXI4-Lite has both directions
        strobes = not writes or "wstrb" in names
        bus["driven"] = whole and legal and one and strobes and (
            memory or not slave or (not full and width == 32 and count == 1))
        why = ("" if bus["driven"] else ", idle: a signal or a direction is missing" if not (whole and one and strobes)
               else ", idle: an illegal width" if not legal else
               ", idle: registers have 32 bits (--memory %s: it is a memory)" % prefix)
        self.said.append("%s: %s%s %s, %d bits%s%s" % (
            prefix, "%d times " % count if count > 1 else "", bus["kind"], bus["side"], width,
            ", driven with random bursts against a shadow memory" if bus["driven"] and memory else "", why))
        self.buses.append(bus)

    def find_apb(self):
        for p in list(self.ports):
            if p.role is None and p.plain.endswith("psel"):
                prefix = p.plain[:-4]
                if all(self.at(prefix + w) for w in APB[:6]):
                    signals = self.bind(prefix, APB, "bus")
                    bus = {"prefix": p.name[:len(prefix)], "kind": "apb", "side": "slave" if p.input else "master",
                           "signals": signals, "whole": True, "width": signals["prdata"].width,
                           "driven": signals["psel"].width == 1 and signals["prdata"].width in (8, 16, 32)}
                    self.said.append("%s: APB %s%s" % (bus["prefix"], bus["side"], "" if bus["driven"] else ", idle"))
                    self.buses.append(bus)

    def find_clocks(self):
        clocks = [p for p in self.ports if p.role is None and p.input and p.width == 1 and CLOCK.search(p.plain) and
                  "en" not in p.plain.replace("gen", "")]
        resets = [p for p in self.ports if p.role is None and p.input and p.width == 1 and RESET.search(p.plain)]
        for i, clock in enumerate(clocks):
            clock.role = "clock"
            words = set(re.split(r"_|clk|clock", clock.plain)) - {""}
            near = [r for r in resets if words & {w for t in re.split(r"_|rst|reset", r.plain) for w in (t, t[:-1])}]
            reset = near[0] if near else resets[min(i, len(resets) - 1)] if resets else None
            low = reset is not None and bool(LOW.search(reset.plain))
            self.clocks.append({"port": clock, "reset": reset, "low": low, "period": 10 + 4 * i, "phase": 0})
            self.said.append("clock %s%s" % (clock.name, "" if reset is None else ", reset %s, active %s by its name" %
                                             (reset.name, "low" if low else "high")))
        for r in resets:
            r.role = "reset"
            if not any(c["reset"] is r for c in self.clocks):
                level = 1 if LOW.search(r.plain) else 0
                self.constants.append((r, level))
                self.said.append("reset %s belongs to no clock: held at %d" % (r.name, level))
        if not clocks:
            self.said.append("no clock: a design of combinational logic, or one whose clock has another name (--clock)")

    def find_streams(self):
        """valid and ready behind a common prefix, or tvalid and tready; other ports with it are the payload."""
        heads = [(p, w) for p in self.ports if p.role is None and p.width == 1 for w in ("tvalid", "valid")
                 if p.plain.endswith(w) and (w == "tvalid" or not p.plain.endswith("tvalid"))]
        prefixes = sorted(((p.plain[:-len(w)], p, w) for p, w in heads), key=lambda h: -len(h[0]))
        for prefix, valid, word in prefixes:
            if valid.role is not None or not prefix:
                continue
            ready = self.at(prefix + word.replace("valid", "ready"))
            if ready is not None and (ready.input == valid.input or ready.width != 1):
                ready = None
            if ready is None and valid.input:
                continue
            valid.role = "stream"
            if ready is not None:
                ready.role = "stream"
            payload = [p for p in self.ports
                       if p.role is None and p.plain.startswith(prefix) and p.input == valid.input]
            for p in payload:
                p.role = "stream"
            kind = "axi4-stream" if word == "tvalid" else "valid/ready" if ready is not None else "valid"
            name = prefix.rstrip("_")
            self.streams.append({"name": name, "prefix": valid.name[:len(prefix)], "kind": kind, "valid": valid,
                                 "ready": ready, "payload": payload, "source": not valid.input})
            way = "into" if valid.input else "of"
            self.said.append("%s: %s %s the design, %d bits of payload" % (valid.name[:len(prefix)], kind, way,
                                                                           sum(p.width for p in payload)))
        self.streams.sort(key=lambda s: self.ports.index(s["valid"]))

    def connect_streams(self, pairs):
        """IN=OUT: the bytes of one stream come out of another."""
        for pair in pairs:
            names = pair.split("=")
            ends = [next((s for s in self.streams if n in (s["name"], s["prefix"])), None) for n in names]
            if len(ends) != 2 or None in ends or ends[0]["source"] or not ends[1]["source"]:
                raise Bad("--through %s: expected IN=OUT, a stream into the design and one out of it; it has %s" % (
                    pair, ", ".join("%s (%s)" % (s["name"], "out" if s["source"] else "in") for s in self.streams)
                    or "none"))
            ends[1]["from"] = ends[0]["name"]
            self.said.append("%s: what goes into %s comes out, held against it" % (ends[1]["prefix"], ends[0]["name"]))
        self.streams.sort(key=lambda s: s["source"])  # those into the design first

    def find_rest(self):
        for p in self.ports:
            if p.role is None and not p.input and INTERRUPT.search(p.plain) and p.width == 1:
                p.role = "interrupt"
                self.interrupts.append(p)
                self.said.append("interrupt %s" % p.name)
        for p in self.ports:
            if p.role is None and p.input:
                p.role = "constant"
                on = bool(re.search(r"(^|_)(en|enable|enabled)$|(_|^)(en|enable)(_|$)", p.plain))
                self.constants.append((p, (1 << min(p.width, 64)) - 1 if on else 0))
                self.said.append("input %s: held at %s%s" % (p.name, "all ones" if on else "0",
                                                             " (an enable by its name)" if on else ""))
