/* dut: mesh_equiv_bench */
/*
 * The descriptions of the systolic array on the same inputs: every output, every cycle. The inputs ignore the rules
 * of the interface: p and sel change at any time, weights and activations come without blocks. Only the start is in
 * order, so that every register of both has been written once.
 */
#include <inttypes.h>

#include "bench.h"

#define N ((uint32_t)NPU_CFG_N)
/* enabled cycles until a word has gone through all rows by way of one weight register: skew, then two cycles a row */
#define LOAD (3u * N + 2u)
#define WARM (2u * LOAD + 2u * N + 2u)

static const tb_knob knobs[] = {
    {"cycles", 1, 1000000, TB_KNOB_UNIFORM, NULL, NULL, "cycles that are compared"},
    {"p_run", 1, 200, TB_KNOB_SMALL, NULL, NULL, "longest time, in cycles, for which p stays as it is"},
    {"sel_run", 1, 200, TB_KNOB_SMALL, NULL, NULL, "the same for sel"},
    UNIT_DATA_KNOB,
    UNIT_STALL_KNOB("en", "percent of cycles with en_i low"),
    UNIT_STALL_RUN_KNOB,
};

static void constrain(tb_knobs *k, uint64_t seed) {
    tb_knobs_draw_in(k, "cycles", seed, 200, 2000);
}

/* A bit that changes after a random number of cycles. */
typedef struct flip {
    tb_rng rng;
    uint64_t run, left;
    uint32_t value;
} flip;

static uint32_t flip_next(flip *f) {
    if (f->left == 0) {
        f->left = tb_rng_range(&f->rng, 1, f->run);
        f->value = tb_rng_u32(&f->rng) & 1u;
    }
    f->left--;
    return f->value;
}

#define PORTS en_i, wgt_p_i, wgt_i, sel_i, act0_i, act1_i, fast_o[2], pack_o[2], wide_o[2], struct_o[2]
typedef struct bench {
    TB_PORTS(ports, PORTS);
} bench;

static void drive_data(const bench *s, tb_rng *rng, int kind) {
    const tb_sig wide[] = {s->wgt_i, s->act0_i, s->act1_i};
    int8_t bytes[NPU_CFG_N];
    for (size_t i = 0; i < sizeof wide / sizeof *wide; i++) {
        unit_fill_i8(rng, kind, bytes, N);
        unit_set_slice(wide[i], 0, bytes, N);
    }
}

static void compare(unit *u, const bench *s) {
    int32_t fast[NPU_CFG_N], pack[NPU_CFG_N], wide[NPU_CFG_N], net[NPU_CFG_N];
    for (uint32_t j = 0; j < 2 && unit_ok(u); j++) {
        unit_get_slice(s->fast_o[j], 0, fast, sizeof fast);
        unit_get_slice(s->pack_o[j], 0, pack, sizeof pack);
        unit_get_slice(s->wide_o[j], 0, wide, sizeof wide);
        unit_get_slice(s->struct_o[j], 0, net, sizeof net);
        unit_compare(u, fast, net, N, "stream %" PRIu32 ", cycle %" PRIu64 " (actual: mesh, expected: mesh_struct)", j,
                     u->cycle);
        unit_compare(u, pack, net, N, "stream %" PRIu32 ", cycle %" PRIu64 " (actual: PackMul, expected: mesh_struct)",
                     j, u->cycle);
        unit_compare(u, wide, net, N, "stream %" PRIu32 ", cycle %" PRIu64 " (actual: EnInt16, expected: mesh_struct)",
                     j, u->cycle);
    }
}

static int run(unit *u) {
    const bench *s = (const bench *)u->state;
    tb_rng data = unit_stream(u, "data");
    flip p = {.rng = unit_stream(u, "p"), .run = (uint64_t)unit_knob(u, "p_run")};
    flip sel = {.rng = unit_stream(u, "sel"), .run = (uint64_t)unit_knob(u, "sel_run")};
    unit_stall stall = unit_stall_make(u, "en");
    const int kind = (int)unit_knob(u, "data");
    uint64_t enabled = 0;
    if (unit_expect_init(u, 4, "column", N, true) != 0) {
        return -1;
    }
    for (int64_t left = unit_knob(u, "cycles"); left > 0 && unit_ok(u);) {
        const bool warm = enabled >= WARM;
        const bool enable = unit_go(&stall);
        tb_set(s->en_i, enable);
        tb_set(s->wgt_p_i, warm ? flip_next(&p) : enabled < LOAD);
        tb_set(s->sel_i, flip_next(&sel));
        drive_data(s, &data, kind);
        unit_settle(u);
        if (warm) {
            compare(u, s);
            left--;
        }
        unit_edge(u);
        enabled += enable;
    }
    return 0;
}

UNIT_BENCH("mesh_equiv", "systolic array against its netlist of processing elements", knobs, TB_STATE(bench, PORTS),
           .constrain = constrain, .no_reset = true);
