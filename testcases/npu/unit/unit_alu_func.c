/* dut: alu_func */
/*
 * Runs of vectors through one function after the other: values over the whole range of each function, at and next to
 * the borders of segments and exponents, corners of FP32.
 */
#include <string.h>

#include "bench.h"
#include "npu_regs.h"

#define LANES 4u
#define LATENCY 6u
#define SIGN 0x80000000u

static const char *const func_names[] = {"any", "exp", "recip", "rsqrt"};

static const tb_knob knobs[] = {
    {"func", 0, 3, TB_KNOB_ENUM, func_names, NULL, "the function; any: one drawn for each run"},
    {"runs", 1, 10000, TB_KNOB_UNIFORM, NULL, NULL, "runs: the function changes between them"},
    {"vectors", 1, 100000, TB_KNOB_UNIFORM, NULL, NULL, "most vectors of a run"},
    UNIT_STALL_KNOB("in", "percent of cycles without a vector"),
    UNIT_STALL_RUN_KNOB,
};

static void constrain(tb_knobs *k, uint64_t seed) {
    tb_knobs_draw_in(k, "func", seed, 0, 0);
    tb_knobs_draw_in(k, "runs", seed, 10, 60);
    tb_knobs_draw_in(k, "vectors", seed, 200, 1000);
}

#define PORTS valid_i, func_i, x_i
typedef struct box {
    TB_PORTS(ports, PORTS);
    uint32_t func;
    tb_rng data, shape;
} box;

static uint32_t bits_of(float f) {
    uint32_t v;
    memcpy(&v, &f, sizeof v);
    return v;
}

static uint32_t draw_value(box *b) {
    const uint32_t bits = tb_rng_u32(&b->data);
    const uint32_t beside = (uint32_t)tb_rng_range_i64(&b->data, -2, 2);
    const bool exp = b->func == NPU_ALU_ACT_FUNC_EXP;
    switch (tb_rng_range(&b->data, 0, 7)) {
    case 0:
        return tb_rng_f32_hard(&b->data);
    case 1: /* beside the border of a segment: of EXP a multiple of ln(2)/16, of the others five bits of fraction */
        return exp ? bits_of((float)((int32_t)(bits % 4096u) - 2048) * 0.0433216988f) + beside
                   : (bits & 0xFFFC0000u) + beside;
    case 2: /* subnormal, or with a subnormal result */
        return exp ? bits_of(tb_rng_f32_range(&b->data, -105.0f, -86.0f))
                   : (bits & (SIGN | 0x7FFFFFu)) | (tb_rng_chance(&b->data, 1, 2) ? 0x7E800000u : 0);
    case 3: /* subnormal with leading zeros */
        return (bits & SIGN) | (bits & 0x7FFFFFu) >> (bits >> 26 & 31u) % 23;
    case 4: /* at the ends of EXP */
        return bits_of(exp ? 88.7228394f : -103.972076f) + beside;
    case 5:
        return tb_rng_u32(&b->data);
    default:
        return bits_of(tb_rng_f32_range(&b->data, exp ? -20.0f : 0.0f, exp ? 5.0f : 40.0f));
    }
}

/* One cycle, perhaps with a vector. */
static void cycle(unit *u, box *b, bool in) {
    uint32_t x[LANES];
    for (uint32_t l = 0; l < LANES; l++) {
        x[l] = draw_value(b);
    }
    tb_set(b->valid_i, in);
    unit_set_slice(b->x_i, 0, x, sizeof x);
    unit_settle(u);
    unit_edge(u);
}

static int run(unit *u) {
    box *b = (box *)u->state;
    b->data = unit_stream(u, "data");
    b->shape = unit_stream(u, "shape");
    unit_stall in = unit_stall_make(u, "in");
    unit_reset(u);
    for (uint64_t r = (uint64_t)unit_knob(u, "runs"); r > 0 && unit_ok(u); r--) {
        const uint32_t func = (uint32_t)unit_knob(u, "func");
        b->func = func != 0 ? func : (uint32_t)tb_rng_range(&b->shape, 1, NPU_ALU_ACT_FUNC_COUNT - 1);
        tb_set(b->func_i, b->func);
        for (uint64_t left = tb_rng_range(&b->shape, 1, (uint64_t)unit_knob(u, "vectors")); left > 0 && unit_ok(u);) {
            const bool go = unit_go(&in);
            cycle(u, b, go);
            left -= go;
        }
        for (uint32_t i = 0; i < LATENCY && unit_ok(u); i++) {
            cycle(u, b, false);
        }
    }
    return 0;
}

UNIT_BENCH("alu_func", "functions of the ALU", knobs, TB_STATE(box, PORTS), .constrain = constrain);
