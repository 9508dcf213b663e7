/*
 * eltwise.c - the eltwise test: one element-wise operation through the driver, every element against the definition.
 */
#include "eltwise.h"

#include <stdio.h>
#include <stdlib.h>

static const char *const op_names[ELTWISE_OPS] = NPU_ALU_CTRL_OP_NOT_REDUCE_NAMES;
static const char *const kind_names[] = {"scalar", "vector", "channel"};
static const char *const named_names[NAMED_COUNT] = {"none",    "threshold", "clip",     "scale_bias",
                                                     "dropout", "mean_norm", "residual", "prelu"};
static const char *const func_names[NPU_FUNC_COUNT] = NPU_ALU_ACT_FUNC_NAMES;
static const uint32_t named_weight[NAMED_COUNT] = {20, 1, 1, 2, 1, 1, 2, 2};

static const tb_knob knobs_of_eltwise[] = {
    {"named", 0, NAMED_COUNT - 1, TB_KNOB_ENUM, named_names, named_weight,
     "an operator with its own name: sets op, p_kind, q_kind, act"},
    {"op", 0, ELTWISE_OPS - 1, TB_KNOB_ENUM, op_names, NULL, "operation"},
    {"p_kind", 0, 2, TB_KNOB_ENUM, kind_names, NULL, "source of p"},
    {"q_kind", 0, 2, TB_KNOB_ENUM, kind_names, NULL, "source of q"},
    {"act", 0, NPU_ACT_COUNT - 1, TB_KNOB_ENUM, act_names, NULL, "activation after it"},
    {"hard", 0, 1, TB_KNOB_UNIFORM, NULL, NULL, "1: parameters of the activation from the corners of FP32"},
    {"w", 1, 65535, TB_KNOB_SMALL, NULL, NULL, "columns"},
    {"h", 1, 65535, TB_KNOB_SMALL, NULL, NULL, "rows"},
    {"c", 1, 65535, TB_KNOB_SMALL, NULL, NULL, "channels"},
    {"in_place", 0, 1, TB_KNOB_UNIFORM, NULL, NULL, "1: the output overwrites operand a"},
    {"same", 0, 1, TB_KNOB_UNIFORM, NULL, NULL, "1: operands a and b are one tensor"},
    {"func", 0, NPU_FUNC_COUNT - 1, TB_KNOB_ENUM | TB_KNOB_LATER, func_names, NULL,
     "function in place of the activation"},
    TENSOR_KNOBS,
};

typedef struct eltwise_op {
    tensor_op op;
    npu_eltwise elt;
    uint32_t *p, *q; /* one for each channel */
    act_output expected;
    bool b_used;
} eltwise_op;

static const char *op_name(npu_alu_op op) {
    return op_names[eltwise_knob_of(op)];
}

static uint64_t bytes_of(uint32_t n, const tb_knobs *knobs) {
    (void)n;
    return (UINT64_C(4) * tc_knob(knobs, "w") * tc_knob(knobs, "h") + 16 * (1 + (uint64_t)tc_knob(knobs, "gap"))) * 3 *
           tc_knob(knobs, "c");
}

static uint32_t value(const eltwise_op *o, const tb_knobs *knobs, tb_rng *rng, size_t i) {
    const tensor_data data = (tensor_data)tb_knobs_get(knobs, "data");
    return o->elt.op == NPU_ALU_ADD_I32 && data == TENSOR_PLAIN ? tb_rng_u32(rng)
                                                                : tensor_value(rng, NPU_FP32_NCHW, data, i);
}

static int make_tensor(tc_run *run, eltwise_op *o, const tensor_place *place, const char *name, npu_buf_kind kind,
                       tensor *t) {
    const tb_knobs *k = place->knobs;
    const npu_tensor shape = {
        .w = tc_knob(k, "w"), .h = tc_knob(k, "h"), .c = tc_knob(k, "c"), .layout = NPU_FP32_NCHW};
    tb_rng rng = tb_rng_stream(place->seed, name);
    if (tensor_make(run, place, name, shape, kind, t) != 0) {
        return -1;
    }
    for (size_t i = 0; i < t->count; i++) {
        t->v[i] = value(o, k, &rng, i);
    }
    return 0;
}

/* p or q: a value for each channel, all the same where it is a scalar. An unused scalar is random, an unused array has
 * no buffer. */
static int make_factor(tc_run *run, eltwise_op *o, const tensor_place *place, const char *name, npu_operand kind,
                       uint32_t *scalar, uint32_t *addr, uint32_t **values) {
    const uint32_t channels = o->op.a.at.c;
    tb_rng rng = tb_rng_stream(place->seed, name);
    *values = malloc((size_t)channels * 4);
    if (*values == NULL) {
        return tc_no_memory(run);
    }
    for (uint32_t c = 0; c < channels; c++) {
        (*values)[c] = kind == NPU_SCALAR && c > 0 ? (*values)[0] : value(o, place->knobs, &rng, c);
    }
    *scalar = kind == NPU_SCALAR ? (*values)[0] : tb_rng_u32(&rng);
    if (kind == NPU_CHANNEL) {
        *addr = tensor_put_array(run, place, name, *values, channels);
        return *addr == 0 ? -1 : 0;
    }
    return 0;
}

static int expect(eltwise_op *o) {
    const npu_eltwise *e = &o->elt;
    const size_t plane = (size_t)o->op.a.at.w * o->op.a.at.h;
    for (size_t i = 0; i < o->op.a.count; i++) {
        const uint32_t b = o->b_used ? o->op.b.v[i] : 0;
        const uint32_t p = e->p_kind == NPU_VECTOR ? b : o->p[i / plane];
        const uint32_t q = e->q_kind == NPU_VECTOR ? b : o->q[i / plane];
        o->op.out.v[i] = eltwise_reference(e->op, o->op.a.v[i], p, q);
    }
    o->expected.act = e->act;
    o->expected.func = e->func;
    o->expected.p[0] = e->act_p[0];
    o->expected.p[1] = e->act_p[1];
    return act_expect(&o->expected, &o->op.out);
}

static int make_tensors(tc_run *run, eltwise_op *o, const tensor_place *place) {
    const bool same = tb_knobs_get(place->knobs, "same") != 0;
    npu_eltwise *e = &o->elt;
    if (make_tensor(run, o, place, "a", o->op.in_place ? NPU_BUF_SCRATCH : NPU_BUF_IN, &o->op.a) != 0 ||
        make_tensor(run, o, place, "output", NPU_BUF_OUT, &o->op.out) != 0) {
        return -1;
    }
    if (o->b_used && same) {
        o->op.b = o->op.a; /* release() handles it */
    } else if (o->b_used &&
               (make_tensor(run, o, place, "b", NPU_BUF_IN, &o->op.b) != 0 || tensor_put(run, &o->op.b, false) != 0)) {
        return -1;
    }
    e->a = o->op.a.at;
    e->b = o->op.b.at;
    e->out = o->op.in_place ? o->op.a.at : o->op.out.at;
    return 0;
}

static int prepare(tc_run *run, const tb_knobs *knobs, uint64_t seed, tensor_op *op) {
    eltwise_op *o = (eltwise_op *)op;
    npu_eltwise *e = &o->elt;
    const tensor_place place = {.knobs = knobs, .seed = seed};
    tb_rng rng = tb_rng_stream(seed, "eltwise.act");
    *e = (npu_eltwise){.op = eltwise_op_of(knobs),
                       .p_kind = (npu_operand)tb_knobs_get(knobs, "p_kind"),
                       .q_kind = (npu_operand)tb_knobs_get(knobs, "q_kind"),
                       .act = (npu_act)tb_knobs_get(knobs, "act"),
                       .func = (npu_func)tb_knobs_get(knobs, "func")};
    const bool p_b = eltwise_uses_p(e->op) && e->p_kind == NPU_VECTOR;
    const bool q_b = eltwise_uses_q(e->op) && e->q_kind == NPU_VECTOR;
    o->op.in_place = tb_knobs_get(knobs, "in_place") != 0;
    o->b_used = p_b || q_b;
    act_draw_params(&rng, e->act, tb_knobs_get(knobs, "hard") != 0, e->act_p);
    if (make_tensors(run, o, &place) != 0 ||
        make_factor(run, o, &place, "p", e->p_kind, &e->p, &e->p_addr, &o->p) != 0 ||
        make_factor(run, o, &place, "q", e->q_kind, &e->q, &e->q_addr, &o->q) != 0) {
        return -1;
    }
    if (expect(o) != 0 || tensor_put_again(run, op) != 0) {
        return tc_no_memory(run);
    }
    snprintf(op->what, sizeof op->what, "%s of %ux%ux%u, p %s, q %s, activation %s, function %s%s", op_name(e->op),
             e->a.w, e->a.h, e->a.c, eltwise_uses_p(e->op) ? kind_names[e->p_kind] : "unused",
             eltwise_uses_q(e->op) ? kind_names[e->q_kind] : "unused", act_names[e->act], func_names[e->func],
             o->op.in_place ? ", in place" : "");
    const uint64_t factors = (eltwise_uses_p(e->op) && e->p_kind == NPU_CHANNEL ? 1u : 0u) +
                             (eltwise_uses_q(e->op) && e->q_kind == NPU_CHANNEL ? 1u : 0u);
    op->bounds = (tc_bounds){.op = op_name(e->op),
                             .read_bytes = 4 * (o->op.a.count * (o->b_used ? 2 : 1) + factors * e->a.c),
                             .write_bytes = 4 * o->op.a.count};
    return 0;
}

static npu_status start(const npu *dev, const tensor_op *op, npu_job *job) {
    return npu_job_eltwise(job, dev, &((const eltwise_op *)op)->elt);
}

static npu_status run_it(npu *dev, tensor_op *op) {
    return npu_eltwise_run(dev, &((eltwise_op *)op)->elt);
}

static void verify(tc_run *run, tensor_op *op) {
    eltwise_op *o = (eltwise_op *)op;
    char name[32];
    snprintf(name, sizeof name, "eltwise %s", op_name(o->elt.op));
    tensor_check_result(run, op, name, act_match, &o->expected);
}

static void release(tensor_op *op) {
    eltwise_op *o = (eltwise_op *)op;
    if (o->op.b.v == o->op.a.v) {
        o->op.b = (tensor){0}; /* freed only once */
    }
    free(o->p);
    free(o->q);
    free(o->expected.y);
}

const tensor_kind eltwise_kind = {.test = &tc_eltwise,
                                  .size = sizeof(eltwise_op),
                                  .bytes = bytes_of,
                                  .prepare = prepare,
                                  .again = tensor_put_again,
                                  .start = start,
                                  .run = run_it,
                                  .verify = verify,
                                  .release = release};

const tc_test tc_eltwise = {
    .name = "eltwise",
    .help = "element-wise operations, constrained random over operands, activations, layouts, data and bus timing",
    .is_operator = true,
    TB_KNOBS_OF(knobs_of_eltwise),
    .generate = eltwise_generate,
    .check = eltwise_check,
    .kind = &eltwise_kind,
    .execute = tensor_execute};
