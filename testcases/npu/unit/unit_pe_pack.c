/* dut: pe_pack_bench */
/*
 * Both products of a processing element from one multiplier (document 002, section 3.2.2): for some weights all pairs
 * of activations, weights=256: all 2^24 triples. Sums are random and at the ends of int32, where they wrap. And its
 * product of INT16: all activations, with weights whose low byte is the one above and whose high byte is random or such
 * that the weight is an end of the range, 0, +-1, +-255 or +-256.
 */
#include "bench.h"

static const tb_knob knobs[] = {
    {"weights", 1, 256, TB_KNOB_UNIFORM, NULL, NULL, "weights, each with all pairs of activations"},
    {"first", 0, 255, TB_KNOB_UNIFORM, NULL, NULL, "first of the weights; they ascend and wrap"},
};

static void constrain(tb_knobs *k, uint64_t seed) {
    tb_knobs_draw_in(k, "weights", seed, 4, 8);
}

#define PORTS a1_i, w_i, wh_i, d1_i, d0_i, wrong_o, first_o
typedef struct bench {
    TB_PORTS(ports, PORTS);
} bench;

static uint32_t draw_sum(tb_rng *rng) {
    static const uint32_t ends[] = {0, 0x7fffffffu, 0x80000000u, 0xffffffffu};
    const uint32_t any = tb_rng_u32(rng);
    return (any & 3u) == 0 ? ends[any >> 2 & 3u] : any;
}

static int run(unit *u) {
    const bench *b = (const bench *)u->state;
    const uint32_t weights = (uint32_t)unit_knob(u, "weights"), first = (uint32_t)unit_knob(u, "first");
    tb_rng rng = unit_stream(u, "sums");
    for (uint32_t i = 0; i < 256 * weights && unit_ok(u); i++) {
        const uint32_t a1 = i % 256, w = (first + i / 256) % 256;
        tb_set(b->a1_i, a1);
        tb_set(b->w_i, w);
        static const uint8_t ends[] = {0x00, 0xff, 0x7f, 0x80, 0x01};
        const uint32_t any = tb_rng_u32(&rng);
        tb_set(b->wh_i, (any & 1u) != 0 ? any >> 24 : ends[(any >> 8) % sizeof ends]);
        tb_set(b->d1_i, draw_sum(&rng));
        tb_set(b->d0_i, draw_sum(&rng));
        unit_settle(u);
        unit_edge(u);
        unit_settle(u);
        unit_expect_value(u, "sums that differ", tb_get(b->wrong_o), 0);
        if (tb_get(b->wrong_o) != 0) {
            unit_fail(u, "pe_pack", "a1 %d, a0 %d, w %d, high byte %d: the sums differ from the definition", (int8_t)a1,
                      (int8_t)tb_get(b->first_o), (int8_t)w, (int8_t)tb_get(b->wh_i));
        }
    }
    return 0;
}

UNIT_BENCH("pe_pack", "two products from one multiplier against two multipliers", knobs, TB_STATE(bench, PORTS),
           .constrain = constrain, .no_reset = true);
