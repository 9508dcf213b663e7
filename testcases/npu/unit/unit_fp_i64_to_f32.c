/* dut: fp_i64_to_f32 */
/* Integers of all lengths, most of them near the points where rounding changes. */
#include "bench.h"

static const tb_knob knobs[] = {
    {"vectors", 1, 1000000, TB_KNOB_UNIFORM, NULL, NULL, "operations"},
    UNIT_STALL_KNOB("in", "percent of cycles with en_i low"),
    UNIT_STALL_RUN_KNOB,
};

static void constrain(tb_knobs *k, uint64_t seed) {
    tb_knobs_draw_in(k, "vectors", seed, 100000, 120000);
}

#define PORTS en_i, a_i
typedef struct bench {
    TB_PORTS(ports, PORTS);
} bench;

/* A few ones at the top, something around the rounding bit below them, anything or nothing at the end. */
static uint64_t draw(tb_rng *rng) {
    const uint64_t any = tb_rng_u64(rng), rest = tb_rng_u64(rng);
    const uint32_t length = (uint32_t)tb_rng_range(rng, 0, 64);
    uint64_t v = any | UINT64_C(1) << 63;
    switch (tb_rng_range(rng, 0, 4)) {
    case 0: /* a tie, one below it, somewhat above it */
        v = (v & ~((UINT64_C(1) << 40) - 1)) + (UINT64_C(1) << 39);
        v += rest % 3 == 0 ? UINT64_C(1) << rest / 3 % 39 : rest % 3 - 2;
        break;
    case 1: /* sticky bits only */
        v = (v & ~((UINT64_C(1) << 40) - 1)) + (UINT64_C(1) << rest % 40);
        break;
    case 2: /* carries into the next power of two */
        v = UINT64_MAX << rest % 40;
        break;
    default:
        break;
    }
    v = length == 0 ? 0 : v >> (64 - length);
    return (any & 1u) != 0 ? 0 - v : v;
}

static int run(unit *u) {
    bench *b = (bench *)u->state;
    tb_rng rng = unit_stream(u, "values");
    unit_stall stall = unit_stall_make(u, "in");
    for (int64_t left = unit_knob(u, "vectors"); left > 0 && unit_ok(u);) {
        const bool on = unit_go(&stall);
        const uint64_t a = draw(&rng);
        tb_set(b->en_i, on);
        unit_set_slice(b->a_i, 0, &a, 8);
        unit_settle(u);
        unit_edge(u);
        left -= on;
    }
    return 0;
}

UNIT_BENCH("fp_i64_to_f32", "int64 to binary32", knobs, TB_STATE(bench, PORTS), .constrain = constrain,
           .no_reset = true);
