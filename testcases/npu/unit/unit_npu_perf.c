/* dut: npu_perf */
/*
 * Random events, levels, snapshots, clears and reads. Counts stay below the number of cycles, so carries above bit 20
 * or so do not happen here.
 */
#include "bench.h"

#define COUNTERS 36u
#define MARKS 12u

static const tb_knob knobs[] = {
    {"cycles", 1, 1000000, TB_KNOB_SMALL, NULL, NULL, "cycles"},
    {"snap", 0, 500, TB_KNOB_SMALL, NULL, NULL, "snapshots in 1000 cycles"},
    {"clear", 0, 500, TB_KNOB_SMALL, NULL, NULL, "clears in 1000 cycles"},
    {"clr", 0, 500, TB_KNOB_SMALL, NULL, NULL, "soft resets in 1000 cycles"},
    {"busy", 0, 100, TB_KNOB_UNIFORM, NULL, NULL, "percent of cycles in which an event happens"},
    {"level", 0, 65535, TB_KNOB_SMALL, NULL, NULL, "highest level"},
    UNIT_STALL_KNOB("count", "percent of cycles in which nothing counts"),
    UNIT_STALL_RUN_KNOB,
};

static void constrain(tb_knobs *k, uint64_t seed) {
    tb_knobs_draw_in(k, "cycles", seed, 500, 30000);
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

typedef struct inputs {
    bool clr, run, snap, clear, rd;
    uint64_t events;
    uint32_t level[MARKS];
} inputs;

static bool chance(const unit *u, tb_rng *rng, const char *knob) {
    return tb_rng_chance(rng, (uint32_t)unit_knob(u, knob), 1000);
}

static void draw(const unit *u, tb_rng *rng, unit_stall *run_stall, inputs *in) {
    const uint32_t busy = (uint32_t)unit_knob(u, "busy");
    in->run = unit_go(run_stall);
    in->snap = chance(u, rng, "snap");
    /* one clear in four together with a snapshot: their order is specified */
    in->clear = chance(u, rng, "clear") || (in->snap && chance(u, rng, "clear") && tb_rng_chance(rng, 1, 4));
    in->snap = in->snap || (in->clear && tb_rng_chance(rng, 1, 4));
    in->clr = chance(u, rng, "clr");
    in->rd = tb_rng_chance(rng, 2, 3);
    in->events = 0;
    for (uint32_t i = 0; i < COUNTERS; i++) {
        in->events |= (uint64_t)tb_rng_chance(rng, busy, 100) << i;
    }
    in->level[tb_rng_range(rng, 0, MARKS - 1)] = (uint32_t)tb_rng_small(rng, 0, (uint64_t)unit_knob(u, "level"));
}

#define PORTS clr_i, run_i, event_i, level_i, snap_i, clear_i, rd_i, sel_i
typedef struct bench {
    TB_PORTS(ports, PORTS);
} bench;

static void drive(const bench *p, const inputs *in, uint32_t which) {
    tb_set(p->clr_i, in->clr);
    tb_set(p->run_i, in->run);
    tb_set(p->event_i, in->events);
    tb_set(p->snap_i, in->snap);
    tb_set(p->clear_i, in->clear);
    tb_set(p->rd_i, in->rd);
    tb_set(p->sel_i, which);
    for (uint32_t i = 0; i < MARKS; i++) {
        tb_set_field(p->level_i, 16 * i, 16, in->level[i]);
    }
}

static int run(unit *u) {
    const bench *p = (const bench *)u->state;
    tb_rng rng = unit_stream(u, "events");
    tb_rng pick = unit_stream(u, "select");
    unit_stall run_stall = unit_stall_make(u, "count");
    inputs in = {0};
    unit_reset(u);
    for (int64_t left = unit_knob(u, "cycles"); left > 0 && unit_ok(u); left--) {
        const uint32_t which = (uint32_t)tb_rng_range(&pick, 0, 63); /* numbers that do not exist read as 0 */
        draw(u, &rng, &run_stall, &in);
        drive(p, &in, which);
        unit_settle(u);
        unit_edge(u);
    }
    return 0;
}

UNIT_BENCH("npu_perf", "performance counters, marks, snapshot and clear", knobs, TB_STATE(bench, PORTS),
           .constrain = constrain);
