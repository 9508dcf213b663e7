/*
 * act.c - the act test: every activation alone, on vectors of any length and on any value.
 */
#include "act.h"

#include "npu_regs.h"
#include "ref.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

const char *const act_names[NPU_ACT_COUNT] = NPU_GEMM_ACT_TYPE_NAMES;
static const uint32_t act_weight[NPU_ACT_COUNT] = {1, 2, 2, 2, 3, 3, 2, 2, 2, 2, 3, 2, 2, 2};

static const tb_knob knobs_of_act[] = {
    {"act", 0, NPU_ACT_COUNT - 1, TB_KNOB_ENUM, act_names, act_weight, "activation"},
    {"w", 1, 65535, TB_KNOB_SMALL, NULL, NULL, "length; with h above 1: of a row"},
    {"h", 1, 65535, TB_KNOB_SMALL, NULL, NULL, "rows"},
    {"in_place", 0, 1, TB_KNOB_UNIFORM, NULL, NULL, "1: the output overwrites the input"},
    {"hard", 0, 1, TB_KNOB_UNIFORM, NULL, NULL, "1: parameters from the corners of FP32"},
    TENSOR_KNOBS,
};

/* ---- for all tests with activations ---- */

static uint32_t bits_in(tb_rng *rng, float lo, float hi) {
    return ref_bits(tb_rng_f32_range(rng, lo, hi));
}

void act_draw_params(tb_rng *rng, npu_act act, bool hard, uint32_t p[2]) {
    const bool divides = act == NPU_ACT_HARDSWISH || act == NPU_ACT_HARDSIGMOID;
    const uint32_t a =
        bits_in(rng, -6.0f, 0.0f); /* one draw in each statement: C does not define the order within one */
    const uint32_t b = bits_in(rng, 0.0f, 6.0f);
    const uint32_t alpha = bits_in(rng, 0.1f, 0.5f);
    const uint32_t slope = bits_in(rng, -0.5f, 1.5f);
    const uint32_t hard_a = tb_rng_f32_hard(rng);
    const uint32_t hard_b = tb_rng_f32_hard(rng);
    p[0] = divides ? alpha : act == NPU_ACT_CLIP ? a : slope;
    p[1] = divides ? ref_bits(0.5f) : b;
    if (!hard) {
        return;
    }
    p[1] = hard_b;
    if (!(divides && ref_float(hard_a) == 0.0f) && !(act == NPU_ACT_ELU && !isfinite(ref_float(hard_a)))) {
        p[0] = hard_a;
    }
}

static ref_value value_of(const act_output *a, uint32_t y) {
    return a->func != NPU_FUNC_NONE ? ref_func(a->func, y) : ref_act(a->act, a->p, y);
}

int act_expect(act_output *a, tensor *out) {
    free(a->y);
    a->y = malloc(out->count * 4);
    if (a->y == NULL) {
        return -1;
    }
    for (size_t i = 0; i < out->count; i++) {
        a->y[i] = out->v[i];
        const ref_value value = value_of(a, a->y[i]);
        out->v[i] = value.exact ? value.bits : ref_bits((float)ref_middle(&value));
    }
    return 0;
}

bool act_match(const void *ctx, size_t i, uint32_t want, uint32_t got) {
    const act_output *a = ctx;
    const ref_value value = value_of(a, a->y[i]);
    return got == want || ref_is_f32(&value, got);
}

/* ---- the test ---- */

typedef struct act_op {
    tensor_op op;
    npu_eltwise elt;
    act_output expected;
} act_op;

static uint64_t bytes_of(uint32_t n, const tb_knobs *knobs) {
    (void)n;
    return UINT64_C(8) * tc_knob(knobs, "w") * tc_knob(knobs, "h");
}

/* Values next to the limits of the functions: segments of the fit, parameters, ends. */
static uint32_t border(tb_rng *rng, const act_output *a) {
    uint32_t params[4] = {a->p[0], a->p[1], 0, 0};
    if (a->act == NPU_ACT_HARDSWISH || a->act == NPU_ACT_HARDSIGMOID) {
        const float lower = -ref_float(a->p[1]) / ref_float(a->p[0]);
        params[2] = ref_bits(lower);
        params[3] = ref_bits(1.0f / ref_float(a->p[0]) + lower);
    }
    const bool four = a->act == NPU_ACT_TANH || a->act == NPU_ACT_GELU || a->act == NPU_ACT_GELU_TANH;
    const float range = four ? 4.0f : 8.0f;
    const uint32_t segment = (uint32_t)tb_rng_range(rng, 0, 17);
    const uint32_t sign = tb_rng_chance(rng, 1, 2) ? 0x80000000u : 0;
    const uint32_t near = (uint32_t)tb_rng_range(rng, 0, 2) - 1u;
    const uint32_t which = (uint32_t)tb_rng_range(rng, 0, 7);
    return (which < 4 ? params[which] : ref_bits((float)segment * range / 16.0f) | sign) + near;
}

static void fill(act_op *o, const tb_knobs *knobs, uint64_t seed) {
    tb_rng rng = tb_rng_stream(seed, "act.input");
    const tensor_data data = (tensor_data)tb_knobs_get(knobs, "data");
    for (size_t i = 0; i < o->op.a.count; i++) {
        uint32_t v = tensor_value(&rng, NPU_FP32_NCHW, data, i);
        if (data == TENSOR_PLAIN) { /* slightly more than the range of the fits */
            v = ref_bits(ref_float(v) * 2.5f);
        }
        o->op.a.v[i] = tb_rng_chance(&rng, 1, 4) ? border(&rng, &o->expected) : v;
    }
}

static int prepare(tc_run *run, const tb_knobs *knobs, uint64_t seed, tensor_op *op) {
    act_op *o = (act_op *)op;
    const tensor_place place = {.knobs = knobs, .seed = seed};
    const npu_tensor shape = {.w = tc_knob(knobs, "w"), .h = tc_knob(knobs, "h"), .c = 1, .layout = NPU_FP32_NCHW};
    tb_rng rng = tb_rng_stream(seed, "act.params");
    o->op.in_place = tb_knobs_get(knobs, "in_place") != 0;
    o->expected.act = (npu_act)tb_knobs_get(knobs, "act");
    act_draw_params(&rng, o->expected.act, tb_knobs_get(knobs, "hard") != 0, o->expected.p);
    if (tensor_make(run, &place, "input", shape, o->op.in_place ? NPU_BUF_SCRATCH : NPU_BUF_IN, &o->op.a) != 0 ||
        tensor_make(run, &place, "output", shape, NPU_BUF_OUT, &o->op.out) != 0) {
        return -1;
    }
    fill(o, knobs, seed);
    memcpy(o->op.out.v, o->op.a.v, o->op.a.count * 4);
    if (act_expect(&o->expected, &o->op.out) != 0 || tensor_put_again(run, op) != 0) {
        return tc_no_memory(run);
    }
    o->elt = (npu_eltwise){.op = NPU_ALU_COPY,
                           .a = o->op.a.at,
                           .out = o->op.in_place ? o->op.a.at : o->op.out.at,
                           .act = o->expected.act,
                           .act_p = {o->expected.p[0], o->expected.p[1]}};
    snprintf(op->what, sizeof op->what, "%s of %zu elements%s, parameters 0x%08X 0x%08X", act_names[o->expected.act],
             o->op.a.count, o->op.in_place ? " in place" : "", o->expected.p[0], o->expected.p[1]);
    op->bounds = (tc_bounds){
        .op = act_names[o->expected.act], .read_bytes = 4 * o->op.a.count, .write_bytes = 4 * o->op.a.count};
    return 0;
}

static npu_status start(const npu *dev, const tensor_op *op, npu_job *job) {
    return npu_job_eltwise(job, dev, &((const act_op *)op)->elt);
}

static npu_status run_it(npu *dev, tensor_op *op) {
    return npu_eltwise_run(dev, &((act_op *)op)->elt);
}

static void verify(tc_run *run, tensor_op *op) {
    act_op *o = (act_op *)op;
    tensor_check_result(run, op, act_names[o->expected.act], act_match, &o->expected);
}

static void release(tensor_op *op) {
    free(((act_op *)op)->expected.y);
}

const tensor_kind act_kind = {.test = &tc_act,
                              .size = sizeof(act_op),
                              .bytes = bytes_of,
                              .prepare = prepare,
                              .again = tensor_put_again,
                              .start = start,
                              .run = run_it,
                              .verify = verify,
                              .release = release};

static int check(uint32_t n, const tb_knobs *knobs, char *err, size_t err_size) {
    (void)n;
    if ((uint64_t)tc_knob(knobs, "w") * tc_knob(knobs, "h") > TENSOR_MAX_ELEMENTS) {
        return opt_fail(err, err_size, "expected at most %u elements", (unsigned)TENSOR_MAX_ELEMENTS);
    }
    return 0;
}

static void generate(const tc_gen *g) {
    static const char *const sizes[] = {"h", "w"};
    gen_start(g);
    if (gen_chance(g, "h", 3, 4)) {
        gen_put(g, "h", 1);
    }
    while (UINT64_C(8) * tc_knob(g->knobs, "w") * tc_knob(g->knobs, "h") / 32 * gen_slowness(g->knobs) >
               gen_budget(g->n) / 4 &&
           gen_shrink(g, sizes, NULL, 2)) {
    }
}

const tc_test tc_act = {.name = "act",
                        .help = "an activation alone, any length, values next to the limits of the function",
                        .is_operator = true,
                        TB_KNOBS_OF(knobs_of_act),
                        .generate = generate,
                        .check = check,
                        .kind = &act_kind,
                        .execute = tensor_execute};
