/* dut: clk_gate_bench */
/*
 * A gated clock has a rising edge where the enable was 1 in the low phase before it, and no other, whichever phase the
 * enable changes in; without a gate it has all of them.
 */
#include "bench.h"

static const tb_knob knobs[] = {
    {"cycles", 1, 100000, TB_KNOB_UNIFORM, NULL, NULL, "cycles with a random enable"},
    {"change", 0, 100, TB_KNOB_UNIFORM, NULL, NULL, "percent of them in which the enable changes"},
};

static void constrain(tb_knobs *k, uint64_t seed) {
    tb_knobs_draw_in(k, "cycles", seed, 200, 2000);
}

#define PORTS en_i, low_o, high_o, pass_o
typedef struct bench {
    TB_PORTS(ports, PORTS);
} bench;

static int run(unit *u) {
    const bench *b = (const bench *)u->state;
    const uint32_t cycles = (uint32_t)unit_knob(u, "cycles"), change = (uint32_t)unit_knob(u, "change");
    tb_rng rng = unit_stream(u, "enable");
    tb_set(b->en_i, 0);
    unit_reset(u);
    uint32_t en = 0, before = 0;
    uint64_t low = tb_get(b->low_o), high = tb_get(b->high_o), pass = tb_get(b->pass_o);
    for (uint32_t i = 0; i < cycles && unit_ok(u); i++) {
        en ^= tb_rng_u32(&rng) % 100 < change;
        tb_set(b->en_i, en);
        unit_settle(u);
        unit_edge(u);
        unit_settle(u);
        low += en;
        high += before;
        pass++;
        before = en;
        unit_expect_value(u, "edges, enable changed in the low phase", tb_get(b->low_o), low % 256);
        unit_expect_value(u, "edges, enable changed in the high phase", tb_get(b->high_o), high % 256);
        unit_expect_value(u, "edges without a gate", tb_get(b->pass_o), pass % 256);
    }
    return 0;
}

UNIT_BENCH("clk_gate", "edges of gated clocks", knobs, TB_STATE(bench, PORTS), .constrain = constrain);
