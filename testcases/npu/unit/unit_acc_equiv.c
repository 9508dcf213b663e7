/* dut: acc_equiv_bench */
/*
 * The two descriptions of the accumulators on the same inputs: validity and all valid sums, every cycle. The inputs
 * ignore the rules of the interface: the flags change at any time, and values do not come in blocks. Only the start is
 * in order, so that every word of both has been written once.
 */
#include <inttypes.h>

#include "bench.h"

#define N ((uint32_t)NPU_CFG_N)
/* enabled cycles until every word of every column holds a value: the skew, and all slots */
#define WARM (2u * N + 1u)

static const tb_knob knobs[] = {
    {"cycles", 1, 1000000, TB_KNOB_UNIFORM, NULL, NULL, "cycles that are compared"},
    {"first", 0, 100, TB_KNOB_UNIFORM, NULL, NULL, "percent of cycles in which the values replace the sums"},
    {"last", 0, 100, TB_KNOB_UNIFORM, NULL, NULL, "percent of cycles in which the sums leave"},
    UNIT_STALL_KNOB("en", "percent of cycles with en_i low"),
    UNIT_STALL_RUN_KNOB,
};

static void constrain(tb_knobs *k, uint64_t seed) {
    tb_knobs_draw_in(k, "cycles", seed, 200, 2000);
}

#define PORTS en_i, first_i, last_i, ps_i[2], fast_valid_o, struct_valid_o, fast_o[2], struct_o[2]
typedef struct bench {
    TB_PORTS(ports, PORTS);
} bench;

static void compare(unit *u, const bench *s) {
    int32_t fast[NPU_CFG_N], net[NPU_CFG_N];
    unit_expect_value(u, "valid_o of acc", tb_get(s->fast_valid_o), tb_get(s->struct_valid_o));
    for (uint32_t j = 0; j < 2 && unit_ok(u); j++) {
        unit_get_slice(s->fast_o[j], 0, fast, sizeof fast);
        unit_get_slice(s->struct_o[j], 0, net, sizeof net);
        unit_compare(u, fast, net, N, "stream %" PRIu32 ", cycle %" PRIu64 " (actual: acc, expected: acc_struct)", j,
                     u->cycle);
    }
}

static void drive_values(const bench *s, tb_rng *rng) {
    int32_t values[NPU_CFG_N];
    for (uint32_t j = 0; j < 2; j++) {
        for (uint32_t c = 0; c < N; c++) {
            values[c] = (int32_t)tb_rng_u32(rng);
        }
        unit_set_slice(s->ps_i[j], 0, values, sizeof values);
    }
}

static int run(unit *u) {
    const bench *s = (const bench *)u->state;
    tb_rng data = unit_stream(u, "data");
    tb_rng flags = unit_stream(u, "flags");
    unit_stall stall = unit_stall_make(u, "en");
    const uint64_t first = (uint64_t)unit_knob(u, "first");
    const uint64_t last = (uint64_t)unit_knob(u, "last");
    uint64_t enabled = 0;
    if (unit_expect_init(u, 4, "column", N, true) != 0) {
        return -1;
    }
    unit_reset(u);
    for (int64_t left = unit_knob(u, "cycles"); left > 0 && unit_ok(u);) {
        const bool warm = enabled >= WARM;
        const bool enable = unit_go(&stall);
        tb_set(s->en_i, enable);
        tb_set(s->first_i, !warm || tb_rng_range(&flags, 0, 99) < first);
        tb_set(s->last_i, tb_rng_range(&flags, 0, 99) < last);
        drive_values(s, &data);
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

UNIT_BENCH("acc_equiv", "accumulators against their netlist of cells", knobs, TB_STATE(bench, PORTS),
           .constrain = constrain, .open_end = true);
