"""The files of a project around a design: texts with the design's ports in them."""

import difflib
import os
import re

LINE = "\n"


def c_text(text):
    return '"%s"' % text


def rows(items, indent):
    return "".join("%s%s,\n" % (" " * indent, item) for item in items)


class Project:
    def __init__(self, name, top, design, files, includes, params, said):
        self.name, self.top, self.design, self.said = name, top, design, said
        self.files, self.includes, self.params = files, includes, params
        self.masters = [b for b in design.buses if b["driven"] and b["side"] == "master" and b["kind"] != "apb"]
        self.lite = next((b for b in design.buses if b["driven"] and b["side"] == "slave" and b["kind"] == "axi4-lite"),
                         None)
        self.apb = None if self.lite else next((b for b in design.buses if b["driven"] and b["kind"] == "apb"), None)
        self.inputs = [s for s in design.streams if not s["source"]]
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
        words = set(prefix.lower().split("_")) - {"axi", "axil", "axis", ""}
        for i, c in enumerate(self.design.clocks):
            if words & (set(c["port"].plain.split("_")) - {"clk", "clock", "aclk"}):
                return i
        return 0

    def bench_ports(self):
        ports = []
        if self.lite:
            ports.append((self.lite, "regs"))
        ports += [(m, m["prefix"].rstrip("_") or "mem") for m in self.masters]
        out = []
        for bus, name in ports:
            clock = self.clock_of(bus["prefix"])
            memory = ", .memory = true" if bus["side"] == "master" else ""
            memory += ", .lite = true" if memory and bus["kind"] == "axi4-lite" else ""
            out.append("{.name = %s, .prefix = %s%s%s}" % (c_text(name), c_text(bus["prefix"]), memory,
                                                          ", .clock = %d" % clock if clock else ""))
        return out

    def stream_rows(self):
        out = []
        for s in self.design.streams:
            clock = self.clock_of(s["prefix"])
            payload = ", ".join(c_text(p.name) for p in s["payload"][:16])
            out.append("{.name = %s, .valid = %s, .ready = %s, .source = %s, .clock = %d,\n     .payload = {%s}}" % (
                c_text(s["name"]), c_text(s["valid"].name), c_text(s["ready"].name) if s["ready"] else "NULL",
                "true" if s["source"] else "false", clock, payload or "NULL"))
        return out

    # ---- files ----

    def description(self):
        params = "".join(" " + p for p in self.params)
        ports = []
        for c in self.design.clocks:
            ports.append("%s clock" % c["port"].name)
        for r in sorted({c["reset"].name for c in self.design.clocks if c["reset"]}):
            ports.append("%s reset" % r)
        for b in self.design.buses:
            ports.append("%s %s %s" % (b["prefix"], b["kind"], b["side"]))
        for s in self.design.streams:
            if s["kind"] == "axi4-stream":
                ports.append("%s axi4-stream %s" % (s["prefix"], "master" if s["source"] else "slave"))
        for p in self.design.interrupts:
            ports.append("%s interrupt" % p.name)
        return ("# %s: what the build has to know of it.\nabout    %s\ndefault\ntop      %s\nbuild    base-debug\n\n"
                "# configurations: a name, and parameters of the top module\ncfg      base%s\n\n%s%s\n%s" %
                (self.name, "the design " + self.top, self.top, params,
                 "".join("file     %s\n" % f for f in self.files),
                 "".join("include  %s\n" % i for i in self.includes), "".join("port     %s\n" % p for p in ports)))

    def bench_h(self):
        return BENCH_H % {"guard": self.name.upper() + "_BENCH_H", "name": self.name,
                          "streams": max(1, len(self.design.streams)), "regs": 16}

    def bench_c(self):
        table, clock = self.clocks()
        ports = self.bench_ports()
        pins = [c_text(p.name) for p in self.design.interrupts]
        constants = ["{%s, 0x%xu}" % (c_text(p.name), v & 0xffffffff) for p, v in self.design.constants]
        return BENCH_C % {
            "name": self.name, "clocks": table, "clock": clock + (", " if clock else ""),
            "ports": "static const tb_tandem_port ports[] = {\n%s};\n" % rows(ports, 4) if ports else "",
            "use_ports": "                                TB_TANDEM_PORTS(ports),\n" if ports else "",
            "pins": "static const char *const pins[] = {%s};\n" % ", ".join(pins) if pins else "",
            "use_pins": "                                TB_TANDEM_PINS(pins),\n" if pins else "",
            "constants": rows(constants or ["{NULL, 0}"], 4), "streams": rows(self.stream_rows() or ["{NULL}"], 4)}

    def driver_c(self):
        if self.lite:
            access = LITE_ACCESS
        elif self.apb:
            access = APB_ACCESS % {"prefix": self.apb["prefix"], "suffix": self.apb["signals"]["psel"].name[
                len(self.apb["prefix"]) + 4:], "out": self.apb["signals"]["pready"].name[len(self.apb["prefix"]) + 6:]}
        else:
            access = NO_ACCESS
        return DRIVER_C % {"name": self.name, "access": access}

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
        return README % {"name": self.name, "top": self.top, "said": said, "mutant": (
            "`mutants/%s-inverted.patch` is a first one." % mutant if mutant else
            "Nothing was found that could be inverted: write the first one.")}

    def write(self, folder):
        mutant = self.mutant(folder)
        knobs = KNOBS % {"regs": self.registers()}
        files = {
            "Makefile": MAKEFILE, ".gitignore": "build/\n", "designs/%s/design" % self.name: self.description(),
            "designs/%s/suites/smoke.suite" % self.name: SMOKE % {"name": self.name},
            "designs/%s/suites/default.suite" % self.name: DEFAULT % {"name": self.name},
            "bench/bench.h": self.bench_h(), "bench/bench.c": self.bench_c(), "bench/streams.c": STREAMS_C,
            "bench/model.h": MODEL_H, "bench/model.c": MODEL_C, "bench/driver.h": DRIVER_H % {"name": self.name},
            "bench/driver.c": self.driver_c(), "bench/check.c": CHECK_C,
            "bench/test.c": TEST_C % {"name": self.name, "knobs": knobs},
            "README.md": self.readme(mutant and mutant[0]), "mutants/README.md": MUTANTS,
            ".github/workflows/verify.yml": GITHUB, ".gitlab-ci.yml": GITLAB}
        if mutant:
            files["mutants/%s-inverted.patch" % mutant[0]] = mutant[1]
        for path, text in files.items():
            full = os.path.join(folder, path)
            os.makedirs(os.path.dirname(full), exist_ok=True)
            with open(full, "w", encoding="utf-8") as out:
                out.write(text)
        return sorted(files)


MAKEFILE = """# make help shows what there is. TANDEM: the command of an installation.
TANDEM ?= tandem
include $(shell $(TANDEM) --where)/tandem.mk
"""

SMOKE = """# smoke: registers before and after a reset, on every bus timing; nothing is sent into streams.
budget 30

test %(name)s cfg=base kind=debug count=2 cases=10 determinism=1 timeout=60 -- traffic=none
"""

DEFAULT = """# default: random transfers on the streams, too.
budget 120

test %(name)s cfg=base kind=debug count=2 cases=25 determinism=1 timeout=120 -- traffic=none
test %(name)s cfg=base kind=debug count=4 cases=25 timeout=120 -- traffic=random
"""

MUTANTS = """Deliberate bugs: each patch is applied to a copy of the project (`patch -p1`), and the suite must fail
there. `make qualify` tries all of them.
"""

GITHUB = """name: verify
on: [push, pull_request]
jobs:
  verify:
    runs-on: ubuntu-latest
    container: debian:12
    steps:
      - uses: actions/checkout@v4
      - run: apt-get update
      - run: apt-get install -y --no-install-recommends build-essential verilator python3 libjansson-dev zlib1g-dev git
      # the Debian package of the framework, from wherever it is kept
      - run: apt-get install -y ./tandem_*.deb
      - run: make regress SUITE=smoke
      - run: make qualify
      - uses: actions/upload-artifact@v4
        if: always()
        with: {name: results, path: build/regress}
"""

GITLAB = """verify:
  image: debian:12
  script:
    - apt-get update
    - apt-get install -y --no-install-recommends build-essential verilator python3 libjansson-dev zlib1g-dev git
    # the Debian package of the framework, from wherever it is kept
    - apt-get install -y ./tandem_*.deb
    - make regress SUITE=smoke
    - make qualify
  artifacts:
    when: always
    paths: [build/regress]
    reports:
      junit: build/junit.xml
"""

KNOBS = """    {"bus", 0, 5, TB_KNOB_ENUM, bus_names, NULL, "timing of the buses"},
    {"traffic", 0, 1, TB_KNOB_ENUM, traffic_names, NULL, "what is sent into streams"},
    {"transfers", 0, 50, TB_KNOB_SMALL, NULL, NULL, "transfers on each stream into the design"},
    {"stall", 0, 90, TB_KNOB_UNIFORM, NULL, NULL, "percent of cycles in which a stream stands"},
    {"registers", %(regs)d, %(regs)d, TB_KNOB_UNIFORM, NULL, NULL, "32-bit registers from address 0 on that are read"},
    {"cycles", 10, 2000, TB_KNOB_SMALL, NULL, NULL, "before the reset in the middle of the run"},
"""

BENCH_H = """/* bench.h - %(name)s under the framework: its ports, its golden model, the other side of its streams. */
#ifndef %(guard)s
#define %(guard)s

#include "model.h"
#include "tb.h"

#define STREAMS %(streams)du
#define MEM_BASE 0x10000000u
#define MEM_SIZE 0x1000000u

/* A handshake of the design beside its buses. */
typedef struct stream_row {
    const char *name, *valid, *ready; /* ready NULL: it cannot be stalled */
    bool source;                      /* of the design: the bench takes; else the bench sends */
    unsigned clock;
    const char *payload[16];
} stream_row;
extern const stream_row stream_rows[];

typedef struct stream {
    tb_sig valid, ready, payload[16];
    tb_rng rng;
    uint64_t left, sum; /* transfers to send; hash of the payload that waits */
    bool waits, fired;  /* it was offered before the last edge and not taken; it was taken at it */
    uint64_t since, transfers;
} stream;

typedef struct device {
    tb_run run;
    tb_pair pair; /* memory behind AXI4 masters of the design, and the model's */
    model model;
    stream stream[STREAMS];
    unsigned stall; /* percent */
    const char *missing;
} device;

extern const tb_tandem bench;

/* streams.c: the bench's side of them. */
void streams_open(device *dev, uint64_t seed);
void streams_sample(void *ctx);
void streams_edge(void *ctx, uint32_t clocks);
/* check.c: rules that hold for every handshake. */
void check_stream(device *dev, unsigned i);
bool check_drained(device *dev);

#endif
"""

BENCH_C = """/* bench.c - what the design has, in tables. */
#include "bench.h"

%(clocks)s%(ports)s%(pins)s
/* Inputs that nothing drives. */
static const struct {
    const char *name;
    uint32_t value;
} constants[] = {
%(constants)s};

const stream_row stream_rows[] = {
%(streams)s};

static int open_model(void *ctx, const tb_prog_run *run, char *err, size_t err_size) {
    device *dev = ctx;
    (void)run, (void)err, (void)err_size;
    /* every address may be accessed until the bench says what a task reads and writes (tb_buffers) */
    dev->pair.rtl.watch = dev->pair.rtl.check_reads = false;
    dev->model.mem = &dev->pair.model;
    return 0;
}

/* The design is there and in reset. */
static void connect(void *ctx) {
    device *dev = ctx;
    for (size_t i = 0; i < sizeof constants / sizeof *constants && constants[i].name != NULL; i++) {
        tb_sig s = tb_sim_find(&dev->run.sim, constants[i].name);
        if (s.ptr == NULL) {
            tb_run_fail(&dev->run, "bench:port", "there is no port %%s", constants[i].name);
            return;
        }
        tb_set(s, constants[i].value);
    }
}

const tb_tandem bench = {.bytes = sizeof(device),
                                .run_at = offsetof(device, run),
                                .pair_at = offsetof(device, pair),
                                .cfg = {%(clock)s.hooks = {.sample = streams_sample, .on_edge = streams_edge}},
                                .mem_base = MEM_BASE,
                                .mem_size = MEM_SIZE,
%(use_ports)s%(use_pins)s                                .open = open_model,
                                .begin = connect};
"""

STREAMS_C = """/* streams.c - the bench's side of streams: random payload, random stalls. */
#include "bench.h"

#include <string.h>

void streams_open(device *dev, uint64_t seed) {
    for (unsigned i = 0; i < STREAMS && stream_rows[i].name != NULL; i++) {
        const stream_row *row = &stream_rows[i];
        stream *s = &dev->stream[i];
        s->valid = tb_sim_find(&dev->run.sim, row->valid);
        s->ready = row->ready != NULL ? tb_sim_find(&dev->run.sim, row->ready) : (tb_sig){0};
        for (unsigned p = 0; p < 16 && row->payload[p] != NULL; p++) {
            s->payload[p] = tb_sim_find(&dev->run.sim, row->payload[p]);
        }
        s->rng = tb_rng_stream(seed, row->name);
    }
}

static bool is_ready(const stream *s) {
    return s->ready.ptr == NULL || tb_get(s->ready) != 0;
}

/* Before the edge: does a transfer happen at it? */
void streams_sample(void *ctx) {
    device *dev = ctx;
    for (unsigned i = 0; i < STREAMS && stream_rows[i].name != NULL; i++) {
        stream *s = &dev->stream[i];
        if (s->valid.ptr == NULL || (dev->run.sim.rising >> stream_rows[i].clock & 1u) == 0) {
            continue;
        }
        s->fired = tb_get(s->valid) != 0 && is_ready(s);
        check_stream(dev, i);
        if (s->fired) {
            s->transfers++;
            tb_run_progress(&dev->run);
        }
    }
}

/* Addresses lie in memory, lengths are short: by their names. */
static void draw(stream *s, const stream_row *row) {
    for (unsigned p = 0; p < 16 && row->payload[p] != NULL; p++) {
        uint8_t wide[512];
        const size_t bytes = tb_sig_bytes(s->payload[p]);
        if (strstr(row->payload[p], "addr") != NULL) {
            tb_set(s->payload[p], MEM_BASE + tb_rng_range(&s->rng, 0, MEM_SIZE / 4096 - 2) * 64);
        } else if (strstr(row->payload[p], "len") != NULL) {
            tb_set(s->payload[p], tb_rng_range(&s->rng, 1, 256));
        } else if (bytes <= 8) {
            tb_set(s->payload[p], tb_rng_u64(&s->rng));
        } else if (bytes <= sizeof wide) {
            tb_rng_fill(&s->rng, wide, bytes);
            for (uint32_t bit = s->payload[p].width; bit < bytes * 8; bit++) { /* above the width: 0 */
                wide[bit / 8] &= (uint8_t)~(1u << bit %% 8);
            }
            memcpy(s->payload[p].ptr, wide, bytes);
        }
    }
}

/* After the edge: the next inputs. */
void streams_edge(void *ctx, uint32_t clocks) {
    device *dev = ctx;
    for (unsigned i = 0; i < STREAMS && stream_rows[i].name != NULL; i++) {
        const stream_row *row = &stream_rows[i];
        stream *s = &dev->stream[i];
        if (s->valid.ptr == NULL || (clocks >> row->clock & 1u) == 0) {
            continue;
        }
        const bool go = !tb_rng_chance(&s->rng, dev->stall, 100);
        if (row->source) {
            if (s->ready.ptr != NULL) {
                tb_set(s->ready, go);
            }
        } else if (tb_get(s->valid) == 0 || s->fired) {
            const bool send = s->left > 0 && go;
            s->left -= send;
            tb_set(s->valid, send);
            if (send) {
                draw(s, row);
                s->since = dev->run.sim.cycle;
            }
        }
        s->fired = false;
    }
}
""".replace("%%", "%")

CHECK_C = """/* check.c - rules that hold for every valid/ready handshake of the design. */
#include <inttypes.h>

#include "bench.h"
#include "case/hash.h"

#define PATIENCE 20000u /* cycles that a transfer may wait */

static uint64_t payload_sum(const stream *s) {
    uint64_t sum = TB_HASH_INIT;
    for (unsigned p = 0; p < 16 && s->payload[p].ptr != NULL; p++) {
        sum = tb_hash_bytes(sum, s->payload[p].ptr, tb_sig_bytes(s->payload[p]));
    }
    return sum;
}

/* What the design offers stays, unchanged, until it is taken (AMBA AXI4-Stream, section 2.2.1). */
void check_stream(device *dev, unsigned i) {
    const stream_row *row = &stream_rows[i];
    stream *s = &dev->stream[i];
    const bool valid = tb_get(s->valid) != 0;
    char signature[80];
    if (row->source && row->ready != NULL && s->waits) {
        if (!valid) {
            snprintf(signature, sizeof signature, "stream:%.40s:valid", row->name);
            tb_run_wrong(&dev->run, signature, "%s: valid fell before ready", row->name);
        } else if (payload_sum(s) != s->sum) {
            snprintf(signature, sizeof signature, "stream:%.40s:payload", row->name);
            tb_run_wrong(&dev->run, signature, "%s: the payload changed before ready", row->name);
        }
    }
    s->waits = valid && !s->fired;
    s->sum = s->waits ? payload_sum(s) : 0;
}

/* Everything that the bench has offered is taken in the end. */
bool check_drained(device *dev) {
    for (unsigned i = 0; i < STREAMS && stream_rows[i].name != NULL; i++) {
        const stream *s = &dev->stream[i];
        if (stream_rows[i].source) {
            continue;
        }
        while (s->left > 0 || tb_get(s->valid) != 0) {
            if (dev->run.sim.cycle > s->since + PATIENCE) {
                char signature[80];
                snprintf(signature, sizeof signature, "stream:%.40s:stuck", stream_rows[i].name);
                tb_run_fail(&dev->run, signature, "%s: offered in cycle %" PRIu64 " and not taken for %u cycles",
                            stream_rows[i].name, s->since, PATIENCE);
            }
            if (!tb_run_step(&dev->run)) {
                return false;
            }
        }
    }
    return true;
}
"""

MODEL_H = """/* model.h - the golden model: what the design must do, without a clock. */
#ifndef MODEL_H
#define MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "mem/ddr.h"

#define MODEL_REGS 64u

typedef struct model {
    tb_ddr *mem; /* the model's side of memory: tb_mem_read(), tb_mem_write() */
    uint32_t reset_value[MODEL_REGS];
    bool known[MODEL_REGS], refused[MODEL_REGS];
} model;

/*
 * A register was read right after reset. What it holds then is a property of the design: the first answer is kept, and
 * every later one must be the same. False: it is another one; *want is the first.
 */
bool model_after_reset(model *m, uint32_t number, bool refused, uint32_t value, uint32_t *want);

#endif
"""

MODEL_C = """#include "model.h"

bool model_after_reset(model *m, uint32_t number, bool refused, uint32_t value, uint32_t *want) {
    if (number >= MODEL_REGS) {
        return true;
    }
    if (!m->known[number]) {
        m->known[number] = true;
        m->refused[number] = refused;
        m->reset_value[number] = value;
    }
    *want = m->reset_value[number];
    return m->refused[number] == refused && (refused || m->reset_value[number] == value);
}
"""

DRIVER_H = """/* driver.h - register accesses of %(name)s; the driver of the design grows here. */
#ifndef DRIVER_H
#define DRIVER_H

#include "bench.h"

typedef enum driver_status { DRIVER_OK, DRIVER_REFUSED, DRIVER_FAILED } driver_status;

/* Read a register. DRIVER_REFUSED: an error response; DRIVER_FAILED: the run has failed. */
driver_status driver_read(device *dev, uint32_t addr, uint32_t *value);
driver_status driver_write(device *dev, uint32_t addr, uint32_t value);

#endif
"""

DRIVER_C = """/* driver.c - register accesses of %(name)s. */
#include "driver.h"

%(access)s"""

LITE_ACCESS = """#define REGS 0u /* the port's number in the table of bench.c */
#define PATIENCE 10000u

static driver_status end(device *dev, tb_lite_status status, const char *what, uint32_t addr) {
    if (status == TB_LITE_TIMEOUT) {
        tb_run_fail(&dev->run, "reg:timeout", "%s of register 0x%03x: no response within %u cycles", what, addr,
                    PATIENCE);
    }
    return status == TB_LITE_OK ? DRIVER_OK : status == TB_LITE_ERROR ? DRIVER_REFUSED : DRIVER_FAILED;
}

driver_status driver_read(device *dev, uint32_t addr, uint32_t *value) {
    tb_lite_master *lite = &dev->run.port[REGS]->lite;
    return end(dev, tb_lite_read(lite, addr, value, tb_run_step, &dev->run, PATIENCE), "read", addr);
}

driver_status driver_write(device *dev, uint32_t addr, uint32_t value) {
    tb_lite_master *lite = &dev->run.port[REGS]->lite;
    return end(dev, tb_lite_write(lite, addr, value, 0xf, tb_run_step, &dev->run, PATIENCE), "write", addr);
}
"""

APB_ACCESS = """#define PATIENCE 1000u

static void set(device *dev, const char *name, uint64_t value) {
    tb_sig s = tb_sim_find(&dev->run.sim, name);
    if (s.ptr != NULL) {
        tb_set(s, value);
    }
}

static uint64_t get(device *dev, const char *name, uint64_t otherwise) {
    tb_sig s = tb_sim_find(&dev->run.sim, name);
    return s.ptr != NULL ? tb_get(s) : otherwise;
}

/* AMBA APB, section 3: setup, then access until PREADY. */
static driver_status access(device *dev, bool write, uint32_t addr, uint32_t *value) {
    bool ready = false, refused = false;
    set(dev, "%(prefix)spsel%(suffix)s", 1);
    set(dev, "%(prefix)spwrite%(suffix)s", write);
    set(dev, "%(prefix)spaddr%(suffix)s", addr);
    set(dev, "%(prefix)spwdata%(suffix)s", *value);
    set(dev, "%(prefix)spstrb%(suffix)s", 15);
    bool ok = tb_run_step(&dev->run);
    set(dev, "%(prefix)spenable%(suffix)s", 1);
    for (unsigned i = 0; ok && !ready && i < PATIENCE; i++) {
        tb_run_settle(&dev->run);
        ready = get(dev, "%(prefix)spready%(out)s", 1) != 0;
        refused = get(dev, "%(prefix)spslverr%(out)s", 0) != 0;
        *value = write ? *value : (uint32_t)get(dev, "%(prefix)sprdata%(out)s", 0);
        ok = tb_run_step(&dev->run);
    }
    set(dev, "%(prefix)spsel%(suffix)s", 0);
    set(dev, "%(prefix)spenable%(suffix)s", 0);
    if (ok && !ready) {
        tb_run_fail(&dev->run, "reg:timeout", "register 0x%%03x: no PREADY within %%u cycles", addr, PATIENCE);
    }
    return !ok || !ready ? DRIVER_FAILED : refused ? DRIVER_REFUSED : DRIVER_OK;
}

driver_status driver_read(device *dev, uint32_t addr, uint32_t *value) {
    *value = 0;
    return access(dev, false, addr, value);
}

driver_status driver_write(device *dev, uint32_t addr, uint32_t value) {
    return access(dev, true, addr, &value);
}
"""

NO_ACCESS = """/* The design has no registers that this bench can reach. */
driver_status driver_read(device *dev, uint32_t addr, uint32_t *value) {
    (void)value;
    tb_run_fail(&dev->run, "driver:registers", "there is no register 0x%x", addr);
    return DRIVER_FAILED;
}

driver_status driver_write(device *dev, uint32_t addr, uint32_t value) {
    (void)value;
    tb_run_fail(&dev->run, "driver:registers", "there is no register 0x%x", addr);
    return DRIVER_FAILED;
}
"""

TEST_C = """/* test.c - the test of %(name)s: knobs, one case, the program. */
#include "coverage/code/code.h"
#include "driver.h"

static const char *const bus_names[] = {"ideal", "fast", "typical", "slow", "bursty", "hostile"};
static const char *const traffic_names[] = {"none", "random"};

/* The lowest value of a knob is its simplest: so the shrinker makes cases small. */
static const tb_knob knobs[] = {
%(knobs)s};

/* Registers hold after every reset what they held after the first one. */
static bool registers(device *dev, const tb_prog_run *run) {
    for (uint32_t i = 0; i < (uint32_t)tb_knobs_get(run->knobs, "registers"); i++) {
        uint32_t value = 0, want = 0;
        const driver_status status = driver_read(dev, 4 * i, &value);
        if (status == DRIVER_FAILED) {
            return false;
        }
        if (!model_after_reset(&dev->model, i, status == DRIVER_REFUSED, value, &want)) {
            char signature[32];
            snprintf(signature, sizeof signature, "reg:0x%%03x", 4 * i);
            tb_run_fail(&dev->run, signature, "register 0x%%03x after reset: got 0x%%x%%s, expected 0x%%x%%s", 4 * i,
                        value, status == DRIVER_REFUSED ? " (error response)" : "", want,
                        dev->model.refused[i] ? " (error response)" : "");
            return false;
        }
    }
    return true;
}

static int body(void *ctx, tb_prog_run *run) {
    device *dev = ctx;
    const bool random = tb_knobs_get(run->knobs, "traffic") != 0;
    streams_open(dev, run->seed);
    dev->stall = (unsigned)tb_knobs_get(run->knobs, "stall");
    if (!registers(dev, run)) {
        return 0;
    }
    for (unsigned i = 0; i < STREAMS && random && stream_rows[i].name != NULL; i++) {
        dev->stream[i].left = stream_rows[i].source ? 0 : (uint64_t)tb_knobs_get(run->knobs, "transfers");
        dev->stream[i].since = dev->run.sim.cycle;
    }
    for (int64_t i = tb_knobs_get(run->knobs, "cycles"); i > 0 && tb_run_step(&dev->run); i--) {
    }
    if (tb_run_failed(&dev->run) || !check_drained(dev)) {
        return 0;
    }
    for (unsigned i = 0; i < STREAMS && stream_rows[i].name != NULL; i++) {
        dev->stream[i].waits = false; /* a reset withdraws what was offered */
    }
    tb_run_reset(&dev->run);
    tb_run_step(&dev->run); /* nothing may be valid at the first edge after reset */
    registers(dev, run);
    return 0;
}

static tb_shrink_size size(const tb_test *test, const tb_knobs *k) {
    (void)test;
    const uint64_t work = (uint64_t)(tb_knobs_get(k, "transfers") * tb_knobs_get(k, "traffic"));
    return (tb_shrink_size){.cycles = (uint64_t)tb_knobs_get(k, "cycles") + work * 64, .work = work};
}

int main(int argc, char **argv) {
    const tb_test test = {.name = "%(name)s",
                          .about = "registers around a reset, random transfers on streams",
                          .is_operator = true,
                          TB_KNOBS_OF(knobs),
                          .size = size,
                          .bench = &bench,
                          .body = body};
    const tb_prog prog = {.about = "%(name)s",
                          .cfg = TANDEM_CFG_NAME,
                          .kind = TANDEM_KIND,
                          .tests = &test,
                          .test_count = 1,
                          .case_dir = "build/cases",
                          .work_name = "transfers",
                          .code_save = code_save_text};
    return tb_prog_main(&prog, argc, argv);
}
"""

README = """# %(name)s

A bench around the module `%(top)s`, written by `tandem new`. It needs Verilator, a C and a C++ compiler, make,
Python 3 and an installation of Tandem.

    make                          # the program, build/base-debug/tandem
    make regress                  # the suite smoke: builds, runs, pages in build/regress/RUN/report
    make regress SUITE=default    # with random transfers on the streams
    make run COUNT=100            # random cases; ARGS="traffic=random stall=50": pinned knobs
    make repro CASE=file          # a failing case again, with report and waveform: the line that a failure prints
    make shrink CASE=file         # and made small
    make qualify                  # deliberate bugs (mutants/) must be found
    make coverage                 # lines, branches, toggles
    make help

## What was found out, and guessed

%(said)s
Where a guess is wrong, change it in `bench/bench.c` (clocks, resets, ports, constants) and in
`designs/%(name)s/design`.

## What is checked already

- every rule of AXI on every bus that is driven, every assertion of the RTL, hangs (AXI, streams);
- streams: what the design offers stays until it is taken (`bench/check.c`), what the bench offers is taken;
- registers (from address 0 on) hold after a reset what they held after the first one.

## What to write next

1. `bench/model.c`: what the design computes. `bench/driver.c`: how software uses it.
2. `bench/test.c`: a case that uses the driver, and a comparison with the model: `tb_pair_compare()` for
   memory, `tb_compare_registers()` for registers. Declare what a task may read and write (`tb_buffers`), and
   set `watch` and `check_reads` of the memory in `bench/bench.c`.
3. `taps.list`: units whose inputs and outputs checks follow (`make KIND=tap`).
4. Bugs in `mutants/`. %(mutant)s
"""
