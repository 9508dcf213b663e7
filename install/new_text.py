"""Texts of the files that `tandem new` writes; %(name)s and the like are filled in by new_write.py."""

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

test %(name)s cfg=base kind=debug count=2 cases=25 cover=2 code=1 determinism=1 timeout=120 -- traffic=none
test %(name)s cfg=base kind=debug count=4 cases=25 cover=4 code=2 timeout=120 -- traffic=random
"""

CLOSURE = """# closure: plain random jobs, from whose coverage `make closure` plans others.
test %(name)s cfg=base kind=debug count=400 cases=5 index=100000000
"""

THRESHOLDS = """# What `make coverage` asks of functional coverage, in percent (tandem-cov gate).
total 0
illegal 0
"""

CODE_THRESHOLDS = """# What `make coverage` asks of code coverage, in percent (tandem-cov code gate): line,
# branch, toggle.
line 0
"""

MUTANTS = """Deliberate bugs: each patch is applied to a copy of the project (`patch -p1`), and the suite must fail
there. `make mutants` tries all of them. `make qualify` makes bugs of all kinds itself.
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
      - run: make mutants
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
    - make mutants
  artifacts:
    when: always
    paths: [build/regress]
    reports:
      junit: build/junit.xml
"""

KNOBS = """    {"bus", 0, 5, TB_KNOB_ENUM, bus_names, NULL, "timing of the buses"},
    {"traffic", 0, 1, TB_KNOB_ENUM, traffic_names, NULL, "what is sent into streams"},
    {"transfers", 0, 50, TB_KNOB_SMALL, NULL, NULL, "transfers on each stream into the design"},
    {"skip", 0, (1ll << 50) - 1, TB_KNOB_UNIFORM, NULL, NULL, "bit i leaves out transfer i of each stream"},
    {"stall", 0, 90, TB_KNOB_UNIFORM, NULL, NULL, "percent of cycles in which a stream stands"},
%(error)s    {"registers", %(regs)d, %(regs)d, TB_KNOB_UNIFORM, NULL, NULL, "32-bit registers from address 0 on"},
    {"cycles", 10, 2000, TB_KNOB_SMALL, NULL, NULL, "before the reset in the middle of the run"},
"""

KNOBS_ERROR = """    {"error", 0, 2, TB_KNOB_ENUM, error_names, error_weights, "response to one burst of memory"},
    {"error_at", 0, 60, TB_KNOB_SMALL, NULL, NULL, "to which burst of that direction, from 0 on"},
"""

NAMES_ERROR = """static const char *const error_names[] = {"none", "read", "write"};
static const uint32_t error_weights[] = {8, 1, 1};
"""

INJECT = """    for (unsigned i = 0; i < dev->run.ports && tb_knobs_get(run->knobs, "error") != 0; i++) {
        if (dev->run.port[i]->cfg.mem != NULL) { /* the design may say so, and must keep every rule */
            tb_axi_slave_inject(&dev->run.port[i]->slave, (unsigned)tb_knobs_get(run->knobs, "error") - 1,
                                (uint64_t)tb_knobs_get(run->knobs, "error_at"));
        }
    }
"""

BENCH_H = """/* bench.h - %(name)s under the framework: its ports, its golden model, the other side of its streams. */
#ifndef %(guard)s
#define %(guard)s

#include "model.h"
#include "tb.h"

#define STREAMS %(streams)du
/* As far as the addresses of its masters reach; MEM_STEP: bytes of a beat of the widest one. */
#define MEM_BASE %(mem_base)su
#define MEM_SIZE %(mem_size)su
#define MEM_STEP %(mem_step)du

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
    tb_rng rng, data;           /* of its timing; each transfer has a branch of `data` */
    uint64_t left, number, sum; /* transfers to send; the next of them; hash of the payload that waits */
    bool waits, fired;  /* it was offered before the last edge and not taken; it was taken at it */
    uint64_t since, transfers;
} stream;

typedef struct device {
    tb_run run;
    tb_pair pair; /* memory behind AXI4 masters of the design, and the model's */
    model model;
    stream stream[STREAMS];
    unsigned stall; /* percent */
    uint64_t skip;  /* bit i: transfer i is left out */
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
        s->data = tb_rng_stream(seed, row->name);
        s->rng = tb_rng_fork(&s->data, UINT64_MAX);
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

/* Addresses lie in memory, lengths are short: by their names. Transfers do not depend on those before them. */
static void draw(stream *s, const stream_row *row) {
    tb_rng own = tb_rng_fork(&s->data, s->number++), *rng = &own;
    for (unsigned p = 0; p < 16 && row->payload[p] != NULL; p++) {
        uint8_t wide[512];
        const size_t bytes = tb_sig_bytes(s->payload[p]);
        if (strstr(row->payload[p], "addr") != NULL) {
            tb_set(s->payload[p], MEM_BASE + tb_rng_range(rng, 0, (MEM_SIZE - 1024) / MEM_STEP) * MEM_STEP);
        } else if (strstr(row->payload[p], "len") != NULL) {
            tb_set(s->payload[p], tb_rng_range(rng, 1, 256));
        } else if (bytes <= 8) {
            tb_set(s->payload[p], tb_rng_u64(rng));
        } else if (bytes <= sizeof wide) {
            tb_rng_fill(rng, wide, bytes);
            for (uint32_t bit = s->payload[p].width; bit < bytes * 8; bit++) { /* above the width: 0 */
                wide[bit / 8] &= (uint8_t)~(1u << bit %% 8);
            }
            memcpy(s->payload[p].ptr, wide, bytes);
        }
    }
}

/* Is there something left to send? */
static bool more(const device *dev, stream *s) {
    for (; s->left > 0 && s->number < 64 && (dev->skip >> s->number & 1u) != 0; s->number++) {
        s->left--;
    }
    return s->left > 0;
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
            const bool send = more(dev, s) && go;
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
                char signature[80], what[160];
                snprintf(signature, sizeof signature, "stream:%.40s:stuck", stream_rows[i].name);
                snprintf(what, sizeof what, "%s: offered in cycle %" PRIu64 " and not taken for %u cycles",
                         stream_rows[i].name, s->since, PATIENCE);
                tb_run_stuck(&dev->run, signature, what, s->since);
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
#include "coverage/bench/bench_cov.h"
#include "coverage/code/code.h"
#include "driver.h"

static const char *const bus_names[] = {"ideal", "fast", "typical", "slow", "bursty", "hostile"};
static const char *const traffic_names[] = {"none", "random"};
%(error_names)s
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
    dev->skip = (uint64_t)tb_knobs_get(run->knobs, "skip");
%(inject)s    if (!registers(dev, run)) {
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

/* Only the shrinker leaves transfers out, and who pins the knob. */
static void constrain(tb_knobs *k, uint64_t seed) {
    (void)seed;
    if (!tb_knobs_is_pinned(k, "skip")) {
        tb_knobs_set(k, "skip", 0);
    }
}

static tb_shrink_size size(const tb_test *test, const tb_knobs *k) {
    (void)test;
    uint64_t work = 0;
    for (int64_t i = 0; i < tb_knobs_get(k, "transfers") * tb_knobs_get(k, "traffic"); i++) {
        work += (tb_knobs_get(k, "skip") >> i & 1) == 0;
    }
    return (tb_shrink_size){.cycles = (uint64_t)tb_knobs_get(k, "cycles") + work * 64, .work = work};
}

int main(int argc, char **argv) {
    const tb_test test = {.name = "%(name)s",
                          .about = "registers around a reset, random transfers on streams",
                          .is_operator = true,
                          TB_KNOBS_OF(knobs),
                          .constrain = constrain,
                          .size = size,
                          .bench = &bench,
                          .body = body};
    static const tb_shrink_wish wishes[] = {{"skip", TB_SHRINK_BITS, NULL, "transfers"}};
    static bench_cov coverage; /* of knobs and buses: docs of the framework, coverage.md */
    const tb_prog prog = {.about = "%(name)s",
                          .cfg = TANDEM_CFG_NAME,
                          .kind = TANDEM_KIND,
                          .tests = &test,
                          .test_count = 1,
                          .case_dir = "build/cases",
                          .repro = "make repro",
                          .wishes = wishes,
                          .wish_count = sizeof wishes / sizeof *wishes,
                          .ctx = &coverage,
                          BENCH_COV,
                          .work_name = "transfers",
                          .dumps = true,
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
    make wave RUN=1               # the waveform of the commonest failure of a run, in GTKWave
    make shrink CASE=file         # and made small
    make mutants                  # deliberate bugs (mutants/) must be found
    make qualify                  # hundreds of bugs in the RTL, in one build: which no check finds
    make coverage                 # knobs, buses, lines, branches, toggles: build/coverage/index.html
    make closure                  # jobs that aim at what is not covered yet
    make help

## What was found out, and guessed

%(said)s
Where a guess is wrong, change it in `bench/bench.c` (clocks, resets, ports, constants) and in
`designs/%(name)s/design`.

## What is checked already

- every rule of AXI on every bus that is driven, every assertion of the RTL, hangs (AXI, streams);
- error responses of memory (the knob `error`): every rule still holds and nothing hangs;
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
