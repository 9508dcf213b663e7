"""The files of a project around a design: texts with the design's ports in them."""

import difflib
import os
import re
import subprocess
import sys
import tempfile
import textwrap

import new_code as code_of
import new_ports
import new_text as text_of

PAGE = 0x10000  # of memories: TB_DDR_PAGE


def c_text(text):
    return '"%s"' % text


def rows(items, indent):
    return "".join("%s%s,\n" % (" " * indent, item) for item in items)


class Project:
    def __init__(self, name, top, design, files, includes, params, said, apart=False):
        self.apart = apart
        self.name, self.top, self.design, self.said = name, top, design, said
        self.files, self.includes, self.params = files, includes, params
        self.masters = [b for b in design.buses if b["driven"] and b["side"] == "master" and b["kind"] != "apb"]
        self.shadows = [b for b in design.buses if b["driven"] and b.get("memory")]
        self.lite = next((b for b in design.buses if b["driven"] and b["side"] == "slave" and b["kind"] == "axi4-lite"
                          and not b["memory"]), None)
        # completers first: the first one is number 0, whose registers the driver reads
        self.apbs = sorted((b for b in design.buses if b["driven"] and b["kind"] == "apb"),
                           key=lambda b: b["side"] == "master")
        self.apb = None if self.lite else next((b for b in self.apbs if b["side"] == "slave"), None)
        if sum(b["count"] for b in self.shadows) > 1:
            said.append("the memory behind the slaves: %s" % (
                "one for each" if apart else "the same for all (a guess; --apart: one for each)"))
        self.inputs = [s for s in design.streams if not s["source"]]
        self.unit = None  # what find_unit() finds
        self.outputs = [s for s in design.streams if s["source"]]

    # ---- small parts ----

    def clocks(self):
        clocks = self.design.clocks
        if len(clocks) == 1:
            c = clocks[0]
            reset = "" if c["reset"] is None else ", .rst%s = %s" % ("_n" if c["low"] else "", c_text(c["reset"].name))
            return "", ".clk = %s%s" % (c_text(c["port"].name), reset)
        table = "".join("    {.clk = %s%s, .period = %d, .phase = %d},\n" % (
            c_text(c["port"].name), "" if c["reset"] is None else ", .rst%s = %s" %
            ("_n" if c["low"] else "", c_text(c["reset"].name)), c["period"], c["phase"]) for c in clocks)
        if not clocks:
            return "", ""
        return ("/* Periods in nanoseconds: a guess. */\nstatic const tb_clock clocks[] = {\n%s};\n\n" % table,
                ".clocks = clocks, .nclocks = %d" % len(clocks))

    def clock_of(self, prefix):
        """The clock whose name shares a word with a bus; else the first."""
        words = set(re.split(r"\W|_", prefix.lower())) - {"axi", "axil", "axis", "apb", "i", "o", ""}
        shared = [len(words & (set(c["port"].plain.split("_")) - {"clk", "clock", "aclk"})) for c in self.design.clocks]
        return shared.index(max(shared)) if shared else 0

    def behind(self):
        """Memories behind the slaves of the design: one, or one for each."""
        return sum(b["count"] for b in self.shadows) if self.apart else 1

    def bench_ports(self):
        ports, number = [], 0
        if self.lite:
            ports.append((self.lite, "regs"))
        ports += [(m, new_ports.short_name(m["prefix"]) or "axi") for m in self.shadows + self.masters]
        out = []
        for bus, name in ports:
            clock = self.clock_of(bus["prefix"])
            kind = ", .memory = true" if bus["side"] == "master" else ", .shadow = true" if bus["memory"] else ""
            kind += ", .lite = true" if kind and bus["kind"] == "axi4-lite" else ""
            kind += ", .clock = %d" % clock if clock else ""
            for i in range(bus["count"]):
                several = bus["count"] > 1
                own = ", .behind = %d" % number if bus["memory"] and self.behind() > 1 and number > 0 else ""
                number += bus["memory"]
                out.append("{.name = %s, .prefix = %s%s%s}" % (
                    c_text(name + str(i) if several else name), c_text(bus["prefix"]), kind + own,
                    ", .slice = %d, .slices = %d" % (i, bus["count"]) if several else ""))
        return out

    def bench_apbs(self):
        out = []
        for bus in self.apbs:
            clock = self.clock_of(bus["prefix"])
            name, count = new_ports.short_name(bus["prefix"]) or "apb", bus["count"]
            for i in range(count):
                out.append("{.name = %s, .prefix = %s%s%s%s}" % (
                    c_text(name + str(i) if count > 1 else name), c_text(bus["prefix"]),
                    ", .slice = %d, .slices = %d" % (i, count) if count > 1 else "",
                    ", .requester = true" if bus["side"] == "master" else "", ", .clock = %d" % clock if clock else ""))
        return out

    def bench_fairs(self):
        return ["{.name = %s, .request = %s, .grant = %s, .drive = true%s}" % (
            c_text(f["name"]), c_text(f["request"].name), c_text(f["grant"].name),
            ", .clock = %d" % self.clock_of(f["name"]) if self.clock_of(f["name"]) else "") for f in self.design.fairs]

    def window(self):
        """Bytes, from address 0 on, that every slave has."""
        return min([1 << b["address"] for b in self.shadows] + [0x10000])

    def stream_rows(self):
        out = []
        for s in self.design.streams:
            clock = self.clock_of(s["prefix"])
            more = ", .source = true" if s["source"] else ""
            more += ", .slice = %d, .slices = %d" % (s["slice"], s["valid"].width) if s["valid"].width > 1 else ""
            more += ", .clock = %d" % clock if clock else ""
            more += ", .draw = draw_names" if self.named(s) else ""
            if s["kind"] == "axi4-stream":
                out.append("{.name = %s, .prefix = %s%s}" % (c_text(s["name"]), c_text(s["prefix"]), more))
                continue
            payload = ", ".join(c_text(n) for n in new_ports.payload_names(s["payload"])[:16])
            out.append("{.name = %s, .valid = %s%s%s%s}" % (
                c_text(s["name"]), c_text(s["valid"].name),
                ", .ready = " + c_text(s["ready"].name) if s["ready"] else "", more,
                ",\n     .payload = {%s}" % payload if payload else ""))
        return out

    @staticmethod
    def named(s):
        """Has a stream into the design addresses or lengths, by their names?"""
        return not s["source"] and s["kind"] != "axi4-stream" and any(
            "addr" in p.name or "len" in p.name for p in s["payload"])

    # ---- a unit inside that a check follows ----

    def unit_reset(self, rtl, unit, hands):
        """The reset of a unit as a word of taps.list; None: it has none that is known."""
        ports = rtl.ports_of(unit)
        named = [p for p in ports if new_ports.RESET.search(new_ports.SUFFIX.sub("", p.lower())) or p == "rst_ni"]
        if not named or any(n in (h["valid"], h["ready"]) for n in named for h in hands):
            return None
        low = rtl.use(unit, named[0]).polarity() or ("low" if new_ports.LOW.search(named[0].lower()) else "high")
        return "+rst_ni" if named[0] == "rst_ni" else "+rst_ni=%s(%s)" % ("bit" if low == "low" else "not", named[0])

    def find_unit(self, folder, verilator):
        """A unit for bench/check.c, tried with Verilator. What is said of it."""
        rtl, clocks = self.design.rtl, self.design.clocks
        buses = {p.name for b in self.design.buses for p in b["signals"].values()}
        buses |= {s[w].name for s in self.design.streams for w in ("valid", "ready") if s[w]}
        found = rtl.unit(self.top, buses) if rtl else None
        if found is None:
            return "no check of a unit: none inside is known to hold what it offers at a handshake (taps.list)"
        unit, hands, connections = found
        reset = self.unit_reset(rtl, unit, hands)
        own = [i for i, c in enumerate(clocks) if re.search(r"\(\s*%s\s*\)" % re.escape(c["port"].name), connections)]
        if reset is None or (len(clocks) != 1 and len(own) != 1):
            return "no check of a unit: reset or clock of %s are not known (taps.list)" % unit
        names = list(dict.fromkeys(n for h in hands for n in [h["valid"], h["ready"]] + h["payload"]))
        line = "%s -* %s %s" % (unit, reset, " ".join("+" + n for n in names))
        self.unit = {"name": unit, "hands": hands, "clock": own[0] if len(clocks) > 1 else 0,
                     "line": textwrap.fill(line, 110, subsequent_indent="  ", break_long_words=False)}
        with open(os.path.join(folder, "taps.list"), "w", encoding="utf-8") as out:
            out.write(text_of.TAPS % self.unit)
        if not self.tap_works(folder, verilator):
            os.remove(os.path.join(folder, "taps.list"))
            self.unit = None
            return "no check of a unit: Verilator refuses a tap of %s" % unit
        return "unit %s: a check follows its handshakes (bench/check.c)" % unit

    def tap_works(self, folder, verilator):
        """Do the sources elaborate with the tap?"""
        here = os.path.dirname(os.path.abspath(__file__))
        generator = next(p for p in (os.path.join(here, "gen_taps.py"), os.path.join(here, "../scripts/gen_taps.py"))
                         if os.path.exists(p))
        folders = sorted({os.path.dirname(os.path.join(folder, f)) for f in self.files})
        with tempfile.TemporaryDirectory() as made:
            taps = [os.path.join(made, "taps.vlt"), os.path.join(made, "taps.sv")]
            generate = [sys.executable, generator, "--list", os.path.join(folder, "taps.list"), "--foreign", "--sv",
                        taps[1], "--vlt", taps[0]] + [w for f in folders for w in ("--rtl", f)]
            lint = [verilator, "--lint-only", "-Wno-fatal", "-Wno-lint", "-Wno-style", "--top-module", self.top]
            lint += new_ports.UNROLL + ["-I" + i for i in self.includes] + ["-G" + p for p in self.params]
            return all(subprocess.run(c, cwd=folder, stdout=subprocess.DEVNULL,
                                      stderr=subprocess.DEVNULL).returncode == 0
                       for c in (generate, lint + list(self.files) + taps))

    def check_c(self):
        hands = ["{.valid = %s,\n     .ready = %s,\n     .payload = {%s}%s%s%s}" % (
            c_text(h["valid"]), c_text(h["ready"]), ", ".join(c_text(p) for p in h["payload"]) or "NULL",
            ",\n     .output = true" if h["output"] else "", ",\n     .held = true" if h["held"] else "",
            ",\n     .clock = %d" % self.unit["clock"] if self.unit["clock"] else "") for h in self.unit["hands"]]
        return code_of.CHECK_C % {"unit": self.unit["name"], "hands": rows(hands, 4)}

    def kind(self):
        return "tap" if self.unit else "debug"

    # ---- files ----

    def description(self):
        params = "".join(" " + p for p in self.params)
        ports = []
        for c in self.design.clocks:
            ports.append("%s clock" % c["port"].name)
        for r in sorted({c["reset"].name for c in self.design.clocks if c["reset"]}):
            ports.append("%s reset" % r)
        for b in self.design.buses:
            if b["prefix"] and "." not in b["prefix"]:  # a line names what stands before the words
                ports.append("%s %s %s" % (b["prefix"], b["kind"], b["side"]))
        for s in self.design.streams:
            if s["kind"] == "axi4-stream" and "." not in s["prefix"] and s["slice"] == 0:
                ports.append("%s axi4-stream %s" % (s["prefix"], "master" if s["source"] else "slave"))
        for p in self.design.interrupts:
            ports.append("%s interrupt" % p.name)
        lines = "".join("board    stream %s %s\n" % (s["from"], s["name"]) for s in self.design.streams if "from" in s)
        return ("# %s: what the build has to know of it.\nabout    %s\ndefault\ntop      %s\nbuild    base-%s\n\n"
                "# configurations: a name, and parameters of the top module\ncfg      base%s\n\n%s%s\n%s\n%s%s" %
                (self.name, "the design " + self.top, self.top, self.kind(), params,
                 "".join("file     %s\n" % f for f in self.files),
                 "".join("include  %s\n" % i for i in self.includes), "".join("port     %s\n" % p for p in ports),
                 text_of.BOARDS, lines))

    def memory(self):
        """Base, size and bytes of a beat: what all masters can address, at most 16 MB."""
        bits = min([m["address"] for m in self.masters + self.apbs if m["side"] == "master"] or [32])
        base = 0x10000000 if bits > 28 and not self.shadows else 0  # what slaves are sent may come out of masters
        return {"mem_base": "0x%x" % base, "mem_size": "0x%x" % min(0x1000000, max(PAGE, 1 << bits)),
                "mem_step": max([m["width"] // 8 for m in self.masters] or [4])}

    def bench_h(self):
        return code_of.BENCH_H % {
            **self.memory(), "shadow": code_of.BENCH_SHADOW_H % self.window() if self.shadows else "",
            "member": code_of.BENCH_SHADOW_MEMBER % (
                "[%d]" % self.behind() if self.behind() > 1 else "") if self.shadows else "",
            "checks": code_of.CHECKS_H if self.unit else "",
            "guard": self.name.upper() + "_BENCH_H", "name": self.name, "regs": 16}

    def bench_c(self):
        table, clock = self.clocks()
        ports = self.bench_ports()
        pins = [c_text(p.name) for p in self.design.interrupts]
        constants = ["{%s, 0x%xu}" % (c_text(p.name), v & 0xffffffff) for p, v in self.design.constants]
        return code_of.BENCH_C % {
            "name": self.name, "clocks": table, "clock": clock + (", " if clock else ""),
            "shadow": code_of.BENCH_SHADOW_C % (" " * 32 + ".shadows = %d,\n" % self.behind() if self.behind() > 1
                                                else "") if self.shadows else "",
            "ports": "static const tb_tandem_port ports[] = {\n%s};\n" % rows(ports, 4) if ports else "",
            "apbs": "static const tb_tandem_apb apbs[] = {\n%s};\n" % rows(self.bench_apbs(), 4) if self.apbs else "",
            "fairs": "static const tb_fair_cfg fairs[] = {\n%s};\n" % rows(self.bench_fairs(), 4)
            if self.design.fairs else "",
            "use_fairs": (" " * 32 + "TB_TANDEM_FAIRS(fairs),\n") if self.design.fairs else "",
            "use_apbs": (" " * 32 + "TB_TANDEM_APBS(apbs),\n") if self.apbs else "",
            "use_ports": "                                TB_TANDEM_PORTS(ports),\n" if ports else "",
            "pins": "static const char *const pins[] = {%s};\n" % ", ".join(pins) if pins else "",
            "use_pins": "                                TB_TANDEM_PINS(pins),\n" if pins else "",
            "use_checks": code_of.USE_CHECKS if self.unit else "",
            "constants": rows(constants or ["{NULL, 0}"], 4),
            "draw": code_of.DRAW if any(self.named(s) for s in self.inputs) else "",
            "streams": code_of.STREAMS % rows(self.stream_rows(), 4) if self.design.streams else "",
            "use_streams": (" " * 32 + "TB_TANDEM_STREAMS(streams),\n") if self.design.streams else ""}

    def driver_c(self):
        if self.lite:
            access = code_of.LITE_ACCESS
        elif self.apb:
            access = code_of.APB_ACCESS
        else:
            access = code_of.NO_ACCESS
        return code_of.DRIVER_C % {"name": self.name, "access": access}

    def registers(self):
        idle = [b for b in self.design.buses if b["side"] == "master" and not b["driven"]]
        if idle and (self.lite or self.apb):
            self.said.append("registers are not read: the design may wait for %s, which nothing answers" %
                             idle[0]["prefix"])
        return 4 if (self.lite or self.apb) and not idle else 0

    def mutant(self, folder):
        """A patch that inverts a handshake output of the top module; None if no such line is found."""
        # outputs that a rule follows: of buses that are driven, of streams that can be stalled; valid first
        followed = ([p for b in self.design.buses if b["driven"] for p in b["signals"].values()] +
                    [s["valid"] for s in self.outputs if s["ready"]])
        names = [p.name for p in followed if not p.input and p.width == 1]
        names.sort(key=lambda n: 0 if "valid" in n else 1)
        for name in names:
            for path in self.files:
                with open(os.path.join(folder, path), encoding="utf-8", errors="replace") as src:
                    old = src.readlines()
                for i, line in enumerate(old):
                    match = re.match(r"(\s*assign\s+%s\s*=\s*)([^;]+);(.*)$" % re.escape(name), line)
                    if match:
                        new = list(old)
                        new[i] = "%s!(%s);%s\n" % (match[1], match[2], match[3])
                        return name, "".join(difflib.unified_diff(old, new, "a/" + path, "b/" + path))
        return None

    def readme(self, mutant):
        said = "".join("- %s\n" % line for line in self.said)
        units = ("`bench/check.c` follows the unit %s: a golden unit, further units (`taps.list`)." % self.unit["name"]
                 if self.unit else "Checks of units inside: `taps.list`, `tandem/tap/hands.h` (`make KIND=tap`).")
        return text_of.README % {"name": self.name, "kind": self.kind(), "units": units,
                                 "top": self.top, "said": said, "shadow": (
            text_of.README_SHADOW if self.shadows else ""), "mutant": (
            "`mutants/%s-inverted.patch` is a first one." % mutant if mutant else
            "Nothing was found that could be inverted: write the first one.")}

    def write(self, folder, verilator):
        mutant = self.mutant(folder)
        self.said.append(self.find_unit(folder, verilator))
        named = {"name": self.name, "kind": self.kind()}
        knobs = code_of.KNOBS % {"regs": self.registers(), "error": code_of.KNOBS_ERROR if self.masters else ""}
        knobs += code_of.KNOBS_BURSTS if self.shadows else ""
        knobs += code_of.KNOBS_MEMORY if self.masters else ""
        simple = (" wrap=0" if self.shadows else "") + (" answers=ordered" if self.masters else "")
        structs = any(line.startswith("waveforms without") for line in self.said)
        files = {
            "Makefile": text_of.MAKEFILE % {"structs": "VFLAGS_STRUCTS :=\n" if structs else ""},
            ".gitignore": "build/\n",
            "designs/%s/design" % self.name: self.description(),
            "designs/%s/suites/smoke.suite" % self.name: text_of.SMOKE % {**named, "simple": simple},
            "designs/%s/suites/default.suite" % self.name: text_of.DEFAULT % named,
            "designs/%s/suites/closure.suite" % self.name: text_of.CLOSURE % named,
            "coverage/thresholds.txt": text_of.THRESHOLDS, "coverage/thresholds-code.txt": text_of.CODE_THRESHOLDS,
            "bench/bench.h": self.bench_h(), "bench/bench.c": self.bench_c(),
            "bench/model.h": code_of.MODEL_H, "bench/model.c": code_of.MODEL_C,
            "bench/driver.h": code_of.DRIVER_H % {"name": self.name},
            "bench/driver.c": self.driver_c(),
            "bench/test.c": code_of.TEST_C % {
                "error_names": code_of.NAMES_ERROR if self.masters else "",
                "inject": code_of.INJECT if self.masters else "",
                "names": code_of.ANSWER_NAMES if self.masters else "",
                "name": self.name, "knobs": knobs, "ask": code_of.ASK if self.design.fairs else "",
                "bursts": code_of.BURSTS if self.shadows else "",
                "work": code_of.WORK if self.shadows else "", "send": code_of.SEND if self.shadows else "",
                "again": code_of.SEND_AGAIN if self.shadows else "",
                "last": code_of.SEND_LAST if self.shadows else ""},
            "README.md": self.readme(mutant and mutant[0]), "mutants/README.md": text_of.MUTANTS,
            ".github/workflows/verify.yml": text_of.GITHUB, ".gitlab-ci.yml": text_of.GITLAB}
        if self.unit:
            files["bench/check.c"], files["taps.list"] = self.check_c(), text_of.TAPS % self.unit
        if mutant:
            files["mutants/%s-inverted.patch" % mutant[0]] = mutant[1]
        for path, text in files.items():
            full = os.path.join(folder, path)
            os.makedirs(os.path.dirname(full), exist_ok=True)
            with open(full, "w", encoding="utf-8") as out:
                out.write(text)
        return sorted(files)
