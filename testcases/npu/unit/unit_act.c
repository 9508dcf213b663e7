/* dut: act */
/*
 * Runs of vectors through one function after the other. Some values are at or next to the borders of the segments and
 * the bounds of the functions; parameters are those of a driver or random.
 */
#include <string.h>

#include "bench.h"

#define LANES 4u
#define LATENCY 6u /* cycles to the result, of every function */
#define SIGN 0x80000000u

static const char *const act_names[] = {"none",        "relu",     "leaky", "clip",      "hardswish",
                                        "hardsigmoid", "sigmoid",  "tanh",  "swish",     "mish",
                                        "elu",         "softplus", "gelu",  "gelu_tanh", "any"};

static const tb_knob knobs[] = {
    {"act", 0, CM_ACT_COUNT, TB_KNOB_ENUM, act_names, NULL, "the function; any: one drawn for each run"},
    {"runs", 1, 10000, TB_KNOB_UNIFORM, NULL, NULL, "runs: functions and parameters change between them"},
    {"vectors", 1, 100000, TB_KNOB_UNIFORM, NULL, NULL, "most vectors of a run"},
    UNIT_STALL_KNOB("in", "percent of cycles without a vector"),
    UNIT_STALL_RUN_KNOB,
};

static void constrain(tb_knobs *k, uint64_t seed) {
    tb_knobs_draw_in(k, "runs", seed, 10, 100);
    tb_knobs_draw_in(k, "vectors", seed, 200, 1000);
}

#define PORTS valid_i, act_i, p_i[4], x_i
typedef struct box {
    TB_PORTS(ports, PORTS);
    uint32_t type, param[4];
    tb_rng data, shape;
} box;

static uint32_t bits_of(float f) {
    uint32_t v;
    memcpy(&v, &f, sizeof v);
    return v;
}

/* Parameters that a driver writes for the function, sometimes random ones. */
static void draw_params(box *b) {
    const float alpha = tb_rng_f32_range(&b->shape, 0.05f, 0.5f);
    const float beta = tb_rng_f32_range(&b->shape, 0.0f, 1.0f);
    const float lo = tb_rng_f32_range(&b->shape, -8.0f, 2.0f);
    const bool hard = b->type == CM_ACT_HARDSWISH || b->type == CM_ACT_HARDSIGMOID;
    b->param[0] = bits_of(b->type == CM_ACT_CLIP ? lo : alpha);
    b->param[1] = bits_of(b->type == CM_ACT_CLIP ? lo + 4.0f * alpha : beta);
    b->param[2] = bits_of(hard ? -beta / alpha : beta);
    b->param[3] = bits_of(hard ? 1.0f / alpha - beta / alpha : beta);
    for (uint32_t i = 0; i < 4; i++) {
        if (tb_rng_chance(&b->shape, 1, 6)) {
            b->param[i] = tb_rng_f32_hard(&b->shape);
        }
    }
}

static uint32_t draw_value(box *b) {
    const uint32_t bits = tb_rng_u32(&b->data);
    const uint32_t sign = bits & SIGN;
    const uint32_t beside = (uint32_t)tb_rng_range_i64(&b->data, -2, 2);
    switch (tb_rng_range(&b->data, 0, 7)) {
    case 0:
        return tb_rng_f32_hard(&b->data);
    case 1: /* at or next to a border of a segment: quarters up to 8 */
        return ((bits_of((float)(bits & 31u) * 0.25f) & ~SIGN) + ((bits & 31u) ? beside : beside & 3u)) | sign;
    case 2: /* at or next to a parameter: the bounds */
        return b->param[bits & 3u] + beside;
    case 3: /* random bits */
        return tb_rng_u32(&b->data);
    case 4: /* small */
        return bits_of(tb_rng_f32_range(&b->data, -0.6f, 0.6f));
    default:
        return bits_of(tb_rng_f32_range(&b->data, -9.0f, 9.0f));
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

static void set_function(unit *u, box *b) {
    const uint32_t type = (uint32_t)unit_knob(u, "act");
    b->type = type < CM_ACT_COUNT ? type : (uint32_t)tb_rng_range(&b->shape, 0, CM_ACT_COUNT - 1);
    draw_params(b);
    tb_set(b->act_i, b->type);
    for (uint32_t i = 0; i < 4; i++) {
        tb_set(b->p_i[i], b->param[i]);
    }
}

static int run(unit *u) {
    box *b = (box *)u->state;
    b->data = unit_stream(u, "data");
    b->shape = unit_stream(u, "shape");
    unit_stall in = unit_stall_make(u, "in");
    unit_reset(u);
    for (uint64_t r = (uint64_t)unit_knob(u, "runs"); r > 0 && unit_ok(u); r--) {
        set_function(u, b);
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

UNIT_BENCH("act", "activation unit", knobs, TB_STATE(box, PORTS), .constrain = constrain);
