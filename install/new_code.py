"""The C sources of a project that `tandem new` writes."""

CHECK_C = """/* check.c - checks of units inside the design, on their real inputs and outputs (tandem/tap/hands.h). */
#include "tb.h"

/*
 * Handshakes of %(unit)s. held: what the unit offers stays, unchanged, until it is taken. from = N: what
 * comes out is what went into handshake number N, counted from 1, in its order.
 */
static const tb_hand %(unit)s_hands[] = {
%(hands)s};

/* A transfer of the unit: here a golden unit predicts from what went in, and compares with what comes out. */
static void %(unit)s_moved(tb_check *c, unsigned hand) {
    (void)c, (void)hand; /* tb_hands_sig(c, hand, 0): its payload; tb_check_value(): compare */
}

static const tb_hands %(unit)s_check = TB_HANDS("%(unit)s", %(unit)s_hands, %(unit)s_moved);

const tb_check_ops *const unit_checks[] = {&%(unit)s_check.ops};
const size_t unit_check_count = sizeof unit_checks / sizeof *unit_checks;
"""

CHECKS_H = """
/* Of units inside the design, check.c. */
extern const tb_check_ops *const unit_checks[];
extern const size_t unit_check_count;
"""

USE_CHECKS = """                                .checks = unit_checks,
                                .check_count = &unit_check_count,
"""

KNOBS = """    {"bus", 0, 5, TB_KNOB_ENUM, bus_names, NULL, "timing of the buses"},
    {"traffic", 0, 1, TB_KNOB_ENUM, traffic_names, NULL, "what is sent into streams"},
    {"transfers", 0, 50, TB_KNOB_SMALL, NULL, NULL, "packets (or transfers) on each stream into the design"},
    {"skip", 0, (1ll << 50) - 1, TB_KNOB_UNIFORM, NULL, NULL, "bit i leaves out transfer i of each stream"},
    {"stall", 0, 90, TB_KNOB_UNIFORM, NULL, NULL, "percent of cycles in which a stream stands"},
%(error)s    {"registers", %(regs)d, %(regs)d, TB_KNOB_UNIFORM, NULL, NULL, "32-bit registers from address 0 on"},
    {"cycles", 10, 2000, TB_KNOB_SMALL, NULL, NULL, "before the reset in the middle of the run"},
"""

KNOBS_BURSTS = """    {"bursts", 1, 400, TB_KNOB_SMALL, NULL, NULL, "on each AXI slave of the design"},
    {"beats", 1, 256, TB_KNOB_SMALL, NULL, NULL, "longest burst"},
    {"ids", 1, 16, TB_KNOB_SMALL, NULL, NULL, "different IDs"},
    {"writes", 0, 100, TB_KNOB_UNIFORM, NULL, NULL, "percent of the bursts"},
    {"window", WINDOW < 256 ? WINDOW : 256, WINDOW, TB_KNOB_SMALL, NULL, NULL, "bytes accessed, from address 0 on"},
    {"fixed", 0, 1, TB_KNOB_UNIFORM, NULL, NULL, "FIXED bursts, too"},
    {"wrap", 0, 1, TB_KNOB_UNIFORM, NULL, NULL, "WRAP bursts, too"},
    {"narrow", 0, 1, TB_KNOB_UNIFORM, NULL, NULL, "beats narrower than the bus, unaligned addresses, holes in strobes"},
    {"exclusive", 0, 30, TB_KNOB_SMALL, NULL, NULL, "percent of exclusive pairs"},
"""

KNOBS_MEMORY = """    {"answers", 0, 1, TB_KNOB_ENUM, answer_names, NULL, "of memories: also out of order, across IDs"},
"""

ANSWER_NAMES = """
static const char *const answer_names[] = {"ordered", "reordered"};"""

BENCH_SHADOW_H = """#define WINDOW 0x%xu /* bytes from address 0 on that every slave of the design has: a guess */
"""

BENCH_SHADOW_MEMBER = """    tb_shadow shadow%s; /* what is behind the AXI slaves of the design */
"""

BENCH_SHADOW_C = """                                .shadow_at = offsetof(device, shadow),
                                .shadow_size = 0x10000u,
%s"""

BURSTS = """/* Random bursts on every AXI slave of the design; read data are compared with the shadow of its memory. */
static void send(device *dev, const tb_prog_run *run) {
    const uint32_t bytes = WINDOW < 128 ? WINDOW : 128; /* of the widest bus */
    const bool narrow = tb_knobs_get(run->knobs, "narrow") != 0;
    const uint64_t window = (uint64_t)tb_knobs_get(run->knobs, "window");
    const tb_axi_traffic traffic = {.count = (uint64_t)tb_knobs_get(run->knobs, "bursts"),
                                    .bytes = window < bytes ? bytes : window / bytes * bytes,
                                    .ids = (uint32_t)tb_knobs_get(run->knobs, "ids"),
                                    .max_beats = (uint32_t)tb_knobs_get(run->knobs, "beats"),
                                    .writes = (uint8_t)tb_knobs_get(run->knobs, "writes"),
                                    .exclusive = (uint8_t)tb_knobs_get(run->knobs, "exclusive"),
                                    .fixed = tb_knobs_get(run->knobs, "fixed") != 0,
                                    .wrap = tb_knobs_get(run->knobs, "wrap") != 0,
                                    .narrow = narrow,
                                    .unaligned = narrow,
                                    .sparse = narrow};
    for (unsigned i = 0; i < dev->run.ports; i++) {
        if (dev->run.port[i]->cfg.shadow != NULL) {
            tb_axi_master_traffic(&dev->run.port[i]->master, &traffic);
        }
    }
}

"""

WORK = """    work += (uint64_t)(tb_knobs_get(k, "bursts") * tb_knobs_get(k, "beats"));
"""

ASK = """    for (unsigned i = 0; i < dev->run.fairs; i++) { /* the requesters of arbiters */
        dev->run.fair[i]->stall = (unsigned)tb_knobs_get(run->knobs, "stall");
        tb_fair_ask(dev->run.fair[i], random ? (uint64_t)tb_knobs_get(run->knobs, "transfers") : 0);
    }
"""

SEND = """    send(dev, run);
"""

SEND_AGAIN = """    send(dev, run);
    for (unsigned i = 0; i < 40 && tb_run_step(&dev->run); i++) { /* the reset comes in the middle of bursts */
    }
"""

SEND_LAST = """    send(dev, run);
    tb_run_drain(&dev->run);
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
        } else if (dev->run.port[i]->cfg.shadow != NULL) {
            dev->run.port[i]->master.cfg.errors_ok = true; /* it may come back there */
        }
    }
"""

BENCH_H = """/* bench.h - %(name)s under the framework: its ports, its golden model. */
#ifndef %(guard)s
#define %(guard)s

#include "model.h"
#include "tb.h"

/* As far as the addresses of its masters reach; MEM_STEP: bytes of a beat of the widest one. */
#define MEM_BASE %(mem_base)su
#define MEM_SIZE %(mem_size)su
#define MEM_STEP %(mem_step)du
%(shadow)s
typedef struct device {
    tb_run run;
    tb_pair pair; /* memory behind AXI4 masters of the design, and the model's */
%(member)s    model model;
} device;

extern const tb_tandem bench;
%(checks)s
#endif
"""

BENCH_C = """/* bench.c - what the design has, in tables. */
#include "bench.h"
#include "design_boards.h" /* lines "board" of the description */

%(clocks)s%(ports)s%(apbs)s%(fairs)s%(pins)s
/* Inputs that nothing drives. */
static const struct {
    const char *name;
    uint32_t value;
} constants[] = {
%(constants)s};

%(draw)s%(streams)sstatic int open_model(void *ctx, const tb_prog_run *run, char *err, size_t err_size) {
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
                                .cfg = {%(clock)s.watchdog_cycles = 20000},
                                .mem_base = MEM_BASE,
                                .mem_size = MEM_SIZE,
%(shadow)s%(use_ports)s%(use_apbs)s%(use_streams)s%(use_fairs)s%(use_pins)s%(use_checks)s\
                                TB_TANDEM_BOARDS(design_boards),
                                .open = open_model,
                                .begin = connect};
"""

STREAMS = """/*
 * The streams of the design. A line "board stream IN OUT" of the description gives OUT a scoreboard: the bytes that
 * went into IN come out of it, in order.
 */
static const tb_stream_cfg streams[] = {
%s};

"""

DRAW = """/* Addresses lie in memory, lengths are short: by their names. */
static void draw_names(tb_stream *s) {
    for (unsigned i = 0; i < s->fields; i++) {
        const tb_stream_field *f = &s->field[i];
        if (strstr(f->name, "addr") != NULL) {
            tb_set(f->sig, MEM_BASE + tb_rng_range(&s->own, 0, (MEM_SIZE - 1024) / MEM_STEP) * MEM_STEP);
        } else if (strstr(f->name, "len") != NULL) {
            tb_set(f->sig, tb_rng_range(&s->own, 1, 256));
        }
    }
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
    bool live[MODEL_REGS]; /* changes by itself, as time does, or because it is read: not compared */
} model;

/*
 * A register was read right after reset. What it holds then is a property of the design: the first answer is kept, and
 * every later one must be the same. False: it is another one; *want is the first.
 */
bool model_after_reset(model *m, uint32_t number, bool refused, uint32_t value, uint32_t *want);

/* The same register some cycles later, in which the design had nothing to do: is it live? */
void model_later(model *m, uint32_t number, bool refused, uint32_t value);

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
    return m->live[number] || (m->refused[number] == refused && (refused || m->reset_value[number] == value));
}

void model_later(model *m, uint32_t number, bool refused, uint32_t value) {
    if (number < MODEL_REGS) {
        m->live[number] = m->refused[number] != refused || (!refused && m->reset_value[number] != value);
    }
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

APB_ACCESS = """#define REGS 0u /* the port's number in the table of bench.c */

driver_status driver_read(device *dev, uint32_t addr, uint32_t *value) {
    bool refused;
    return !tb_run_apb_read(&dev->run, REGS, addr, value, &refused) ? DRIVER_FAILED
           : refused                                                ? DRIVER_REFUSED
                                                                    : DRIVER_OK;
}

driver_status driver_write(device *dev, uint32_t addr, uint32_t value) {
    bool refused;
    return !tb_run_apb_write(&dev->run, REGS, addr, value, &refused) ? DRIVER_FAILED
           : refused                                                 ? DRIVER_REFUSED
                                                                     : DRIVER_OK;
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

#define IDLE 100u /* cycles in which a register that is live changes */

static const char *const bus_names[] = {"ideal", "fast", "typical", "slow", "bursty", "hostile"};
static const char *const traffic_names[] = {"none", "random"};%(names)s
%(error_names)s/* The lowest value of a knob is its simplest: so the shrinker makes cases small. */
static const tb_knob knobs[] = {
%(knobs)s};

static bool access_register(void *ctx, uint32_t offset, bool write, uint32_t *value) {
    return (write ? driver_write(ctx, offset, *value) : driver_read(ctx, offset, value)) != DRIVER_FAILED;
}

/*
 * Registers hold after every reset what they held after the first one; what the description declares of them ("board
 * registers") holds, too.
 */
static bool registers(device *dev, const tb_prog_run *run) {
    tb_rng rng = tb_rng_stream(run->seed, "registers");
    if (!tb_board_registers(&bench, &dev->run, &rng, access_register, dev)) {
        return false;
    }
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

/* Which registers change although nothing was done? False: the run has failed. */
static bool find_live(device *dev, const tb_prog_run *run) {
    const uint32_t count = (uint32_t)tb_knobs_get(run->knobs, "registers");
    for (uint32_t i = 0; count > 0 && i < IDLE && tb_run_step(&dev->run); i++) {
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t value = 0;
        const driver_status status = driver_read(dev, 4 * i, &value);
        if (status == DRIVER_FAILED) {
            return false;
        }
        model_later(&dev->model, i, status == DRIVER_REFUSED, value);
    }
    return !tb_run_failed(&dev->run);
}

%(bursts)sstatic int body(void *ctx, tb_prog_run *run) {
    device *dev = ctx;
    const bool random = tb_knobs_get(run->knobs, "traffic") != 0;
%(inject)s    if (!registers(dev, run) || !find_live(dev, run)) {
        return 0;
    }
    for (unsigned i = 0; i < dev->run.streams; i++) {
        const tb_stream_traffic traffic = {.packets = random ? (uint64_t)tb_knobs_get(run->knobs, "transfers") : 0,
                                           .skip = (uint64_t)tb_knobs_get(run->knobs, "skip")};
        dev->run.stream[i]->stall = (unsigned)tb_knobs_get(run->knobs, "stall");
        tb_stream_send(dev->run.stream[i], &traffic);
    }
%(ask)s%(send)s    for (int64_t i = tb_knobs_get(run->knobs, "cycles"); i > 0 && tb_run_step(&dev->run); i--) {
    }
    if (tb_run_failed(&dev->run) || !tb_run_drain(&dev->run)) {
        return 0;
    }
%(again)s    tb_run_reset(&dev->run);
    tb_run_step(&dev->run); /* nothing may be valid at the first edge after reset */
    registers(dev, run);
%(last)s    return 0;
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
%(work)s    return (tb_shrink_size){.cycles = (uint64_t)tb_knobs_get(k, "cycles") + work * 64, .work = work};
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
