/* dut: transpose_equiv_bench */
/*
 * The two descriptions of the transposer on the same inputs, every cycle: readiness, validity, and the data that are
 * valid. Runs of any number of blocks; the input complies with the asserted rules (an offered vector is stable until it
 * is accepted, in_last_i only with the last vector of a block).
 */
#include <inttypes.h>

#include "bench.h"

#define N ((uint32_t)NPU_CFG_N)

static const tb_knob knobs[] = {
    {"cycles", 1, 1000000, TB_KNOB_UNIFORM, NULL, NULL, "cycles that are compared"},
    {"last", 0, 100, TB_KNOB_SMALL, NULL, NULL, "percent of blocks that end a run"},
    UNIT_DATA_KNOB,
    UNIT_STALL_KNOB("in", "percent of cycles in which the source waits"),
    UNIT_STALL_KNOB("out", "percent of cycles in which the sink waits"),
    UNIT_STALL_RUN_KNOB,
};

static void constrain(tb_knobs *k, uint64_t seed) {
    tb_knobs_draw_in(k, "cycles", seed, 200, 2000);
}

#define PORTS in_valid_i, in_data_i, in_last_i, out_ready_i, in_ready_o, out_valid_o, fast_o, struct_o
typedef struct bench {
    TB_PORTS(ports, PORTS);
} bench;

static void compare(unit *u, const bench *s) {
    int8_t fast[NPU_CFG_N], net[NPU_CFG_N];
    const uint64_t ready = tb_get(s->in_ready_o);
    const uint64_t valid = tb_get(s->out_valid_o);
    unit_expect_value(u, "in_ready_o of transpose", ready & 1u, ready >> 1);
    unit_expect_value(u, "out_valid_o of transpose", valid & 1u, valid >> 1);
    if (valid == 3 && unit_ok(u)) {
        unit_get_slice(s->fast_o, 0, fast, N);
        unit_get_slice(s->struct_o, 0, net, N);
        unit_compare(u, fast, net, N, "cycle %" PRIu64 " (actual: transpose, expected: transpose_struct)", u->cycle);
    }
}

static int run(unit *u) {
    const bench *s = (const bench *)u->state;
    int8_t vector[NPU_CFG_N];
    tb_rng data = unit_stream(u, "data");
    tb_rng shape = unit_stream(u, "shape");
    unit_stall in = unit_stall_make(u, "in");
    unit_stall out = unit_stall_make(u, "out");
    const int kind = (int)unit_knob(u, "data");
    const uint64_t percent = (uint64_t)unit_knob(u, "last");
    uint32_t vec = 0;
    bool offered = false;
    if (unit_expect_init(u, 1, "channel", N, true) != 0) {
        return -1;
    }
    unit_reset(u);
    for (int64_t left = unit_knob(u, "cycles"); left > 0 && unit_ok(u); left--) {
        const bool willing = unit_go(&in);
        if (!offered) {
            /* random data and last without valid */
            unit_fill_i8(&data, kind, vector, N);
            unit_set_slice(s->in_data_i, 0, vector, N);
            tb_set(s->in_last_i,
                   willing ? vec == N - 1 && tb_rng_range(&shape, 0, 99) < percent : tb_rng_u32(&data) & 1u);
            offered = willing;
        }
        tb_set(s->in_valid_i, offered);
        tb_set(s->out_ready_i, unit_go(&out));
        unit_settle(u);
        compare(u, s);
        if (offered && (tb_get(s->in_ready_o) & 1u)) {
            offered = false;
            vec = (vec + 1) % N;
        }
        unit_edge(u);
    }
    return 0;
}

UNIT_BENCH("transpose_equiv", "transposer against its netlist of cells", knobs, TB_STATE(bench, PORTS),
           .constrain = constrain, .open_end = true);
