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
import new_rtl  # noqa: E402
from gen_shim import Bad  # noqa: E402

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
APB = ("psel", "penable", "paddr", "pwrite", "pwdata", "prdata", "pready", "pslverr", "pstrb", "pwstrb", "pprot")
UNROLL = ["--unroll-count", "1024"]  # as tandem.mk: Verilator 5.006 refuses longer loops that assign to arrays
# what a valid may be called, and the ready of each
READY = {"tvalid": ("tready", "ready"), "valid": ("ready", "tready", "accept", "rdy"), "vld": ("rdy", "ready")}
# payload of a handshake without a prefix
BARE = re.compile(r"(data|payload|addr|address|last|user|id|tag|strb|strobe|keep|dest)(_|$)")
# a slave with such a prefix has registers
REGISTERS = re.compile(r"(^|_)(cfg|conf|config|csr|ctrl|control|regs?|registers?)(_|$)")
# lines that nobody pulls down are high
IDLE_HIGH = re.compile(r"(^|_)(scl|sda|rx|rxd|miso|cts_?n?|cs_?n|ss_?n)(_|$)")
STREAM = ("tdata", "tkeep", "tstrb", "tlast", "tid", "tdest", "tuser")


# what stands before "awvalid", between channel and signal, and behind it
AXI_VALID = re.compile(r"(.*?)a[wr](_?)valid((?:_[a-z0-9]+)*|\d*)$")


STRUCT = re.compile(r"_?(requests?|req|responses?|resp|rsp|res|mosi|miso|m2s|s2m)(_i|_o|_in|_out)?((\[\d+\])*\.)$")


def stem_of(prefix):
    """What the two structs of a port have in common: "slv_req_i." and "slv_rsp_o."."""
    return STRUCT.sub(r"\3", prefix)


def axi_word(word, joint):
    """"awvalid", or with an underscore behind the channel."""
    channel = 2 if word[0] == "a" else 1
    return word[:channel] + joint + word[channel:]


class Port:
    def __init__(self, name, width, is_input):
        self.name, self.width, self.input = name, width, is_input
        self.plain = SUFFIX.sub("", name.lower())  # without the sign of its direction
        self.role = None


def short_name(prefix):
    """A name for reports: "s_axi" of "s_axi_", "slv0" of "slv_req_i[0].,slv_rsp_o[0]."."""
    first = prefix.split(",")[0].lower()
    first = stem_of(first) if first.endswith(".") else first
    return re.sub(r"\W", "", re.sub(r"(\.|\*|_+$)", "", first)).strip("_")


def payload_names(payload):
    """What a plain handshake carries; structs as a whole where their fields would be too many."""
    names = [p.name for p in payload]
    return names if len(names) <= 16 else list(dict.fromkeys(n.partition(".")[0] for n in names))


def read(files, top, includes, params, verilator, said):
    """Ports in their order. The header of the Verilated class has them, the same in every version from 4 on."""
    with tempfile.TemporaryDirectory() as folder:
        # warnings are for whoever lints the design; here only what Verilator refuses counts
        design = ["--top-module", top] + UNROLL + ["-I" + i for i in includes] + ["-G" + p for p in params]
        design += list(files)
        for trace in (["--trace-fst", "--trace-structs"], ["--trace-fst"]):
            try:
                done = subprocess.run([verilator, "--cc", "-Wno-fatal", "-Wno-lint", "-Wno-style", "--prefix", "Vtop",
                                       "--Mdir", folder] + trace + design, stdout=subprocess.PIPE,
                                      stderr=subprocess.STDOUT, text=True)
            except OSError as err:
                raise Bad("%s: %s" % (verilator, err.strerror)) from None
            if done.returncode == 0:
                break
            if len(trace) > 1:
                said.append("waveforms without the fields of structs, which this Verilator refuses (Makefile)")
        else:
            lines = [line for line in done.stdout.splitlines() if line.startswith("%Error")]
            raise Bad("Verilator refuses the sources: %s" % (lines or [done.stdout.strip()])[0])
        with open(os.path.join(folder, "Vtop.h"), encoding="utf-8") as src:
            text = src.read()
        found, fields = gen_shim.read_ports(text, [verilator] + design)
    if not found:
        raise Bad("%s has no ports" % top)
    # a struct is its fields, in their order
    inside = {}
    for name, port, _, width in fields:
        inside.setdefault(port, []).append(Port(name, width, found[port][2]))
    return [p for i, (name, width, way, _) in enumerate(found) for p in inside.get(i, [Port(name, width, way)])]


class Design:
    """What the ports are. Every port has a role in the end."""

    def __init__(self, ports, said, memories=(), registers=(), rtl=None, top="", clocks=(), resets=()):
        """rtl, top: the text of the sources (new_rtl.Rtl), or None; clocks, resets: what the user says of them."""
        self.ports, self.said, self.memories, self.registers = ports, said, memories, registers
        self.rtl, self.top, self.told_clocks, self.told_resets = rtl, top, list(clocks), list(resets)
        self.buses, self.streams, self.clocks, self.interrupts, self.constants = [], [], [], [], []
        self.fairs = []
        self.find_axi()
        self.find_apb()
        self.judge_axi()
        self.find_clocks()
        self.find_streams()
        self.find_arbiters()
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
            answers = self.partner(before, ("aw_ready", "ar_ready", "awready", "arready"))
            names = {}
            for w in WRITE + READ + MORE:
                spelled = [before + axi_word(w, joint) + behind]
                spelled += [p + axi_word(w, j) for p in (before, answers) for j in ("", "_", ".")] if answers else []
                found = [n for n in spelled if self.at(n)]
                if found:
                    names[w] = found[0]
            if "wdata" in names or "rdata" in names:
                self.add_axi(before, joint, behind, names, answers)

    def partner(self, prefix, words):
        """Of a struct "slv_req_i." the one of the other direction that has a word, "slv_rsp_o."; None: none."""
        if not prefix.endswith("."):
            return None
        found = {p.plain[:-len(w)] for p in self.ports for w in words if p.role is None and p.plain.endswith("." + w)}
        own = [f for f in found if stem_of(f) == stem_of(prefix)]
        return own[0] if own else found.pop() if len(found) == 1 else None

    def as_written(self, prefix):
        """The beginning of names as the source has it, not in small letters."""
        return next((p.name[:len(prefix)] for p in self.ports if p.plain.startswith(prefix)), prefix)

    def add_axi(self, before, joint, behind, names, answers):
        signals = {}
        for word, name in names.items():
            signals[word] = self.at(name)
            signals[word].role = "bus"
        valid = signals.get("awvalid") or signals.get("arvalid")
        full, slave = "awlen" in names or "arlen" in names, valid.input
        writes, reads = "awvalid" in names, "arvalid" in names
        answer = signals.get("awready") if "awvalid" in signals else signals.get("arready")
        watched = answer is not None and answer.input == valid.input  # the design drives neither
        whole = not watched and (all(w in names for w in WRITE if w != "wstrb") or not writes) and (
            all(w in names for w in READ) or not reads) and (
            not full or (("wlast" in names or not writes) and ("rlast" in names or not reads)))
        count = valid.width  # of ports in the same vectors
        width = (signals.get("wdata") or signals.get("rdata")).width // count
        prefix = valid.name[:len(before)]
        if behind:
            prefix += "*" + valid.name[len(before) + len(axi_word("awvalid", joint)):][:len(behind)]
        prefix += "," + self.as_written(answers) if answers else ""
        memory = slave and (full or any(fnmatch.fnmatch(prefix, m) for m in self.memories))
        bus = {"prefix": prefix, "kind": "axi4" if full else "axi4-lite", "side": "slave" if slave else "master",
               "signals": signals, "whole": whole, "width": width, "count": count, "memory": memory,
               "address": next((signals[w].width for w in ("awaddr", "araddr") if w in signals), 0) // count}
        legal = width & (width - 1) == 0 and 8 <= width <= 1024 and all(s.width % count == 0 for s in signals.values())
        one = full or (writes and reads)  # AXI4-Lite has both directions
        strobes = not writes or "wstrb" in names
        bus["legal"] = whole and legal and one and strobes
        bus["why"] = ("" if bus["legal"] else ", idle: the design only watches it" if watched else
                      ", idle: a signal or a direction is missing"
                      if not (whole and one and strobes) else ", idle: an illegal width")
        self.buses.append(bus)

    def judge_axi(self):
        """When all buses are known: a slave in front of a master that reaches as far is a way through, no register."""
        reach = {b["address"] for b in self.buses if b["side"] == "master" and b["kind"] != "axi4"}
        for bus in self.buses:
            if bus["kind"] == "apb":
                continue
            slave, lite = bus["side"] == "slave", bus["kind"] == "axi4-lite"
            through = slave and lite and not bus["memory"] and not REGISTERS.search(bus["prefix"].lower()) and (
                bus["count"] > 1 or bus["address"] in reach)
            through = through and not any(fnmatch.fnmatch(bus["prefix"], r) for r in self.registers)
            bus["memory"] = bus["memory"] or through
            bus["driven"] = bus["legal"] and (bus["memory"] or not slave or
                                              (bus["width"] in (32, 64) and bus["count"] == 1))
            why = bus["why"]
            if bus["legal"] and not bus["driven"]:
                why = ", idle: registers have 32 or 64 bits and one port (--memory %s: it is a memory)" % bus["prefix"]
            if bus["driven"] and bus["memory"]:
                why = ", driven with random %s against a shadow memory" % ("accesses" if lite else "bursts")
            if bus["driven"] and through:
                why += " (a guess: %s; --registers %s: it has registers)" % (
                    "there are several" if bus["count"] > 1 else "a master has as many address bits", bus["prefix"])
            self.said.append("%s: %s%s %s, %d bits%s" % (
                bus["prefix"], "%d times " % bus["count"] if bus["count"] > 1 else "", bus["kind"], bus["side"],
                bus["width"], why))

    def find_apb(self):
        for p in list(self.ports):
            if p.role is None and p.plain.endswith("psel"):
                prefix = p.plain[:-4]
                answers = self.partner(prefix, ("prdata",))
                places = [prefix] + ([answers] if answers else [])
                if all(any(self.at(place + w) for place in places) for w in APB[:6]):
                    signals = {}
                    for place in places:
                        signals.update(self.bind(place, APB, "bus"))
                    self.add_apb(p, ",".join(self.as_written(place) for place in places), signals)

    def add_apb(self, psel, prefix, signals):
        count, ready = psel.width, signals.get("pready")
        data = {w: signals[w].width for w in ("pwdata", "prdata")}
        asked = count if signals["penable"].width == count else 1  # what is divided among the ports, and what is shared
        answered = count if (ready.width == count if ready else data["prdata"] == count * data["pwdata"]) else 1
        width = data["prdata"] // answered
        bus = {"prefix": prefix, "kind": "apb", "side": "slave" if psel.input else "master", "signals": signals,
               "whole": True, "width": width, "count": count if asked > 1 or (answered > 1 and not psel.input) else 1,
               "address": signals["paddr"].width // asked}
        bus["driven"] = (width in (8, 16, 32) and count <= 32 and (bus["count"] == count or answered == 1) and
                         data["pwdata"] // asked == width) and all(
            signals[w].width % n == 0 for w, n in (("paddr", asked), ("pwdata", asked), ("prdata", answered)))
        self.said.append("%s: %sAPB %s, %d bits%s%s" % (
            prefix or "PSEL ..", "%d times " % bus["count"] if bus["count"] > 1 else "", bus["side"], width,
            ", %d selects" % count if bus["count"] < count else "",
            "" if bus["driven"] else ", idle: an illegal width"))
        self.buses.append(bus)

    def use(self, port):
        """How the sources use an input."""
        return self.rtl.use(self.top, port.name) if self.rtl else new_rtl.Use()

    def told(self, texts, option, values):
        """What an option says of ports, NAME or NAME=VALUE: values by port."""
        found = {}
        for text in texts:
            name, _, value = text.partition("=")
            port = next((p for p in self.ports if p.name == name and p.input and p.width == 1), None)
            if port is None:
                raise Bad("--%s %s: there is no input of one bit with that name" % (option, name))
            if value and not re.fullmatch(values, value):
                raise Bad("--%s %s: got '%s' behind =" % (option, name, value))
            port.role = None
            found[port] = value
        return found

    def find_clocks(self):
        told_clocks = self.told(self.told_clocks, "clock", r"[1-9]\d{0,5}")
        told_resets = self.told(self.told_resets, "reset", "low|high")
        free = [p for p in self.ports if p.role is None and p.input and p.width == 1 and p not in told_clocks and
                p not in told_resets]
        clocks = list(told_clocks) + [p for p in free if CLOCK.search(p.plain) and
                                      "en" not in p.plain.replace("gen", "")]
        resets = list(told_resets) + [p for p in free if p not in clocks and RESET.search(p.plain)]
        by_use = {}
        for p in free:
            if p not in clocks + resets:
                use = self.use(p)
                by_use[p] = "clock" if use.clock() else "reset" if use.reset() else None
        clocks += [p for p in free if by_use.get(p) == "clock"]
        resets += [p for p in free if by_use.get(p) == "reset"]
        clocks.sort(key=self.ports.index)
        resets.sort(key=self.ports.index)
        for i, clock in enumerate(clocks):
            clock.role = "clock"
            words = set(re.split(r"_|clk|clock", clock.plain)) - {""}
            parts = {r: {w for t in re.split(r"_|rst|reset", r.plain) for w in (t, t[:-1])} for r in resets}
            shared = {r: len(words & parts[r]) for r in resets}
            near = [r for r in resets if shared[r] > 0 and shared[r] == max(shared.values())]
            reset = near[0] if near else resets[min(i, len(resets) - 1)] if resets else None
            low, why = self.is_low(reset, told_resets.get(reset)) if reset else (False, "")
            self.clocks.append({"port": clock, "reset": reset, "low": low, "phase": 0,
                                "period": int(told_clocks.get(clock) or 10 + 4 * i)})
            self.said.append("clock %s%s%s" % (clock.name, " (by its use)" if by_use.get(clock) else "",
                                               "" if reset is None else ", reset %s%s, active %s %s" % (
                                                   reset.name, " (by its use)" if by_use.get(reset) else "",
                                                   "low" if low else "high", why)))
        for r in resets:
            r.role = "reset"
            if not any(c["reset"] is r for c in self.clocks):
                level = 1 if self.is_low(r, told_resets.get(r))[0] else 0
                self.constants.append((r, level))
                self.said.append("reset %s belongs to no clock: held at %d" % (r.name, level))
        if not clocks:
            self.said.append("no clock: a design of combinational logic, or no input is used as one (--clock NAME)")

    def is_low(self, reset, told):
        """Is a reset active low, and who says so."""
        if told:
            return told == "low", "as --reset says"
        by_name, by_use = bool(LOW.search(reset.plain)), self.use(reset).polarity()
        if by_use is None:
            return by_name, "by its name (--reset %s=%s: not)" % (reset.name, "high" if by_name else "low")
        if by_use != ("low" if by_name else "high"):
            return not by_name, "by its use, although its name reads as the other polarity"
        return by_name, "by its name and its use"

    def find_streams(self):
        """valid and ready behind a common prefix, or tvalid and tready; other ports with it are the payload."""
        heads = [(p, w) for p in self.ports if p.role is None for w in READY if p.plain.endswith(w) and
                 (w == "tvalid" or not p.plain.endswith("tvalid")) and (p.width == 1 or self.slices(p, w))]
        prefixes = sorted(((p.plain[:-len(w)], p, w) for p, w in heads), key=lambda h: -len(h[0]))
        found = []  # with their readies, before any of these is taken for payload
        for prefix, valid, word in prefixes:
            if valid.role is not None or not prefix:
                continue
            answers = self.partner(prefix, ("tready", "ready"))
            ready = self.ready_of(valid, prefix, word) or (answers and self.ready_of(valid, answers, word)) or None
            if ready is not None and ready.width != valid.width:
                ready = None
            if ready is None and valid.input:
                continue
            valid.role = "stream"
            if ready is not None:
                ready.role = "stream"
            found.append((prefix, valid, word, ready, answers))
        for prefix, valid, word, ready, answers in found:
            payload = [p for p in self.ports
                       if p.role is None and p.plain.startswith(prefix) and p.input == valid.input]
            for p in payload:
                p.role = "stream"
            kind = "axi4-stream" if word == "tvalid" else "valid/ready" if ready is not None else "valid"
            place = valid.name[:len(prefix)] + ("," + self.as_written(answers) if answers and ready else "")
            way = "into" if valid.input else "of"
            several = "%d times " % valid.width if valid.width > 1 else ""
            for i in range(valid.width):
                name = short_name(place) + (str(i) if several else "")
                self.streams.append({"name": name, "prefix": place, "kind": kind, "valid": valid, "slice": i,
                                     "ready": ready, "payload": payload, "source": not valid.input})
            cut = kind != "axi4-stream" and len(payload_names(payload)) > 16
            self.said.append("%s: %s%s %s the design, %d bits of payload%s" % (
                place, several, kind, way, sum(p.width for p in payload) // valid.width,
                ", whose first 16 signals are used" if cut else ""))
        self.find_bare_streams()
        self.streams.sort(key=lambda s: self.ports.index(s["valid"]))

    def find_bare_streams(self):
        """Names without a prefix, valid_i and ready_o, valid_o and ready_i, and the data beside them."""
        for valid in self.ports:
            count = valid.width  # of streams in the same vectors
            if valid.role is not None or valid.plain not in ("valid", "vld") or count > 32:
                continue
            ready = next((p for w in READY[valid.plain] for p in self.ports
                          if p.role is None and p.plain == w and p.input != valid.input and p.width == count), None)
            if ready is None and (valid.input or count > 1):
                continue
            payload = [p for p in self.ports if p.role is None and p.input == valid.input and BARE.match(p.plain) and
                       p.width % count == 0]
            for p in [valid] + ([ready] if ready else []) + payload:
                p.role = "stream"
            name, way = ("in", "into") if valid.input else ("out", "of")
            kind = "valid/ready" if ready else "valid"
            for i in range(count):
                self.streams.append({"name": name + (str(i) if count > 1 else ""), "prefix": "", "kind": kind,
                                     "valid": valid, "slice": i, "ready": ready, "payload": payload,
                                     "source": not valid.input})
            self.said.append("%s (%s): %s%s %s the design, %d bits of payload" % (
                valid.name, name, "%d times " % count if count > 1 else "", kind, way,
                sum(p.width for p in payload) // count))

    def ready_of(self, valid, prefix, word):
        """Of the other direction, behind the same prefix, or behind o_ where that is i_, and the other way round."""
        other = re.sub("(^|_)[io]_$", r"\1%s_" % ("o" if valid.input else "i"), prefix)
        return next((p for w in READY[word] for p in (self.at(prefix + w), self.at(other + w))
                     if p is not None and p.input != valid.input), None)

    def slices(self, valid, word):
        """Streams in the same vectors: ready and all of the payload can be divided."""
        prefix = valid.plain[:-len(word)]
        ready = self.ready_of(valid, prefix, word)
        same = [p for p in self.ports if p.role is None and p.plain.startswith(prefix) and p.input == valid.input]
        return (prefix != "" and ready is not None and ready.width == valid.width and ready.input != valid.input and
                valid.width <= 32 and all(p.width % valid.width == 0 for p in same))

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
            self.said.append("%s: what goes into %s comes out (scoreboard)" % (ends[1]["prefix"] or ends[1]["name"],
                                                                            ends[0]["name"]))
        self.streams.sort(key=lambda s: s["source"])  # those into the design first

    def find_arbiters(self):
        """Requests into the design, grants of as many bits out of it."""
        for p in self.ports:
            match = re.search(r"(req|request|requests|reqs)$", p.plain)
            if p.role is not None or not p.input or not match or not 2 <= p.width <= 64:
                continue
            prefix = p.plain[:match.start()]
            grant = next((g for w in ("gnt", "grant", "grants", "gnts") for g in [self.at(prefix + w)]
                          if g is not None and not g.input and g.width == p.width), None)
            if grant is not None:
                p.role = grant.role = "arbiter"
                self.fairs.append({"name": prefix.strip("_.") or "arbiter", "request": p, "grant": grant})
                self.said.append("%s, %s: an arbiter of %d requesters, which ask at random" % (p.name, grant.name,
                                                                                               p.width))

    def find_rest(self):
        for p in self.ports:
            if p.role is None and not p.input and INTERRUPT.search(p.plain) and p.width == 1:
                p.role = "interrupt"
                self.interrupts.append(p)
                self.said.append("interrupt %s" % p.name)
        for p in self.ports:
            struct = p.name.partition(".")[0]
            same = [q for q in self.ports if q.name.startswith(struct + ".")] if "." in p.name else []
            if same and p.input and all(q.role is None for q in same):
                for q in same:
                    q.role = "constant"
                self.said.append("input %s, a struct of no bus: held at 0" % struct)
            if p.role is None and p.input and p.width == 1 and IDLE_HIGH.search(p.plain):
                p.role = "constant"
                self.constants.append((p, 1))
                self.said.append("input %s: held at 1 (a line that is idle when high, by its name)" % p.name)
            if p.role is None and p.input:
                p.role = "constant"
                on = bool(re.search(r"(^|_)(en|enable|enabled)$|(_|^)(en|enable)(_|$)", p.plain))
                self.constants.append((p, (1 << min(p.width, 64)) - 1 if on else 0))
                self.said.append("input %s: held at %s%s" % (p.name, "all ones" if on else "0",
                                                             " (an enable by its name)" if on else ""))
