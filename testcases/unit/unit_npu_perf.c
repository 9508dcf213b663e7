/* dut: npu_perf */
/*
 * Random events, snapshots and clears against counters in C, compared in every cycle. Counts stay below the number of cycles, so carries above bit 20 or so do not
 * happen here.
 */
#include <inttypes.h>

#include "bench.h"

#define COUNTERS 13u
#define MASK48 ((UINT64_C(1) << 48) - 1)

static const tb_knob knobs[] = {
    {"cycles", 1, 1000000, TB_KNOB_SMALL, NULL, NULL, "cycles"},
    {"snap", 0, 500, TB_KNOB_SMALL, NULL, NULL, "snapshots in 1000 cycles"},
    {"clear", 0, 500, TB_KNOB_SMALL, NULL, NULL, "clears in 1000 cycles"},
    {"clr", 0, 500, TB_KNOB_SMALL, NULL, NULL, "soft resets in 1000 cycles"},
    {"busy", 0, 100, TB_KNOB_UNIFORM, NULL, NULL, "percent of cycles in which an event happens"},
    UNIT_STALL_KNOB("count", "percent of cycles in which nothing counts"),
    UNIT_STALL_RUN_KNOB,
};

static void constrain(tb_knobs *k, uint64_t seed) {
    tb_knobs_draw_in(k, "cycles", seed, 500, 80000);
    tb_knobs_draw_in(k, "snap", seed, 1, 200);
    tb_knobs_draw_in(k, "clear", seed, 0, 50);
    tb_knobs_draw_in(k, "clr", seed, 0, 20);
    tb_rng rng = tb_rng_stream(seed, "long");
    if (tb_rng_chance(&rng, 1, 6)) { /* counts past 16 bits */
        tb_knobs_draw_in(k, "cycles", seed, 150000, 200000);
        tb_knobs_draw_in(k, "busy", seed, 90, 100);
        tb_knobs_draw_in(k, "clear", seed, 0, 0);
        tb_knobs_draw_in(k, "clr", seed, 0, 0);
        tb_knobs_draw_in(k, "stall_count", seed, 0, 20);
    }
}

typedef struct model {
    uint64_t count[COUNTERS], copy[COUNTERS];
} model;

typedef struct inputs {
    bool clr, run, snap, clear;
    uint32_t events;
} inputs;

static void step(model *m, const inputs *in) {
    for (uint32_t i = 0; i < COUNTERS; i++) {
        if (in->clr) {
            m->count[i] = m->copy[i] = 0;
            continue;
        }
        if (in->snap) {
            m->copy[i] = m->count[i];
        }
        if (in->clear) {
            m->count[i] = 0;
        } else if (in->run && (in->events >> i & 1u)) {
            m->count[i] = (m->count[i] + 1) & MASK48;
        }
    }
}

static bool chance(const unit *u, tb_rng *rng, const char *knob) {
    return tb_rng_chance(rng, (uint32_t)unit_knob(u, knob), 1000);
}

static void draw(const unit *u, tb_rng *rng, unit_stall *run_stall, inputs *in) {
    const uint32_t busy = (uint32_t)unit_knob(u, "busy");
    *in = (inputs){.run = unit_go(run_stall)};
    in->snap = chance(u, rng, "snap");
    /* one clear in four together with a snapshot: their order is part of the contract */
    in->clear = chance(u, rng, "clear") || (in->snap && chance(u, rng, "clear") && tb_rng_chance(rng, 1, 4));
    in->snap = in->snap || (in->clear && tb_rng_chance(rng, 1, 4));
    in->clr = chance(u, rng, "clr");
    for (uint32_t i = 0; i < COUNTERS; i++) {
        in->events |= (uint32_t)tb_rng_chance(rng, busy, 100) << i;
    }
}

static int run(unit *u) {
    const tb_sig clr = unit_port(u, "clr_i"), run_i = unit_port(u, "run_i"), event = unit_port(u, "event_i"), snap = unit_port(u, "snap_i"),
                 clear = unit_port(u, "clear_i"), sel = unit_port(u, "sel_i"), lo = unit_port(u, "lo_o"), hi = unit_port(u, "hi_o");
    tb_rng rng = unit_stream(u, "events");
    tb_rng pick = unit_stream(u, "select");
    unit_stall run_stall = unit_stall_make(u, "count");
    model m = {{0}, {0}};
    inputs in;
    unit_reset(u);
    for (int64_t left = unit_knob(u, "cycles"); left > 0 && unit_ok(u); left--) {
        /* numbers past the last counter read as 0 */
        const uint32_t which = (uint32_t)tb_rng_range(&pick, 0, tb_rng_chance(&pick, 1, 8) ? 63 : COUNTERS - 1);
        draw(u, &rng, &run_stall, &in);
        tb_set(clr, in.clr);
        tb_set(run_i, in.run);
        tb_set(event, in.events);
        tb_set(snap, in.snap);
        tb_set(clear, in.clear);
        tb_set(sel, which);
        unit_settle(u);
        const uint64_t got = tb_get(lo) | tb_get(hi) << 32;
        const uint64_t expected = which < COUNTERS ? m.copy[which] : 0;
        u->hash = tb_hash_u64(u->hash, got);
        if (got != expected) {
            unit_fail(u, "copy", "counter %" PRIu32 ", cycle %" PRIu64 ": got %" PRIu64 ", expected %" PRIu64, which, u->cycle, got,
                      expected);
        }
        step(&m, &in);
        unit_edge(u);
    }
    return 0;
}

const unit_bench unit_this_bench = {.name = "npu_perf",
                                    .about = "performance counters, snapshot and clear against counters in C",
                                    .knobs = knobs,
                                    .nknobs = sizeof knobs / sizeof *knobs,
                                    .constrain = constrain,
                                    .run = run};
