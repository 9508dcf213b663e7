/*
 * reduce.c - the reduce test: inner products of any length and global averages of any map, in memory and in the result
 * register.
 */
#include "reduce.h"

#include "npu_regs.h"

#include <stdio.h>

enum { DOT, MEAN };
static const char *const what_names[] = {"dot", "mean"};

enum { SCALE_ONE, SCALE_PLAIN, SCALE_HARD };
static const char *const scale_names[] = {"one", "plain", "hard"};

static const tb_knob knobs_of_reduce[] = {
    {"what", 0, 1, TB_KNOB_ENUM, what_names, NULL, "inner product of two vectors, or global average of a map"},
    {"len", 1, 1000000, TB_KNOB_SMALL, NULL, NULL, "dot: length of the vectors"},
    {"scale", 0, 2, TB_KNOB_ENUM, scale_names, NULL, "dot: factor of the sum"},
    {"w", 1, 65535, TB_KNOB_SMALL, NULL, NULL, "mean: columns"},
    {"h", 1, 65535, TB_KNOB_SMALL, NULL, NULL, "mean: rows"},
    {"c", 1, 65535, TB_KNOB_SMALL, NULL, NULL, "mean: channels"},
    TENSOR_KNOBS,
};

typedef struct reduce_op {
    tensor_op op;
    bool dot;
    uint32_t scale;
    uint32_t result; /* returned by the driver */
    bool ran;        /* result is filled */
} reduce_op;

static bool is_dot(const tb_knobs *knobs) {
    return tb_knobs_get(knobs, "what") == DOT;
}

static npu_tensor shape_of(const tb_knobs *knobs) {
    if (is_dot(knobs)) {
        return (npu_tensor){.w = tc_knob(knobs, "len"), .h = 1, .c = 1, .layout = NPU_FP32_NCHW};
    }
    return (npu_tensor){
        .w = tc_knob(knobs, "w"), .h = tc_knob(knobs, "h"), .c = tc_knob(knobs, "c"), .layout = NPU_FP32_NCHW};
}

static uint64_t bytes_of(uint32_t n, const tb_knobs *knobs) {
    const npu_tensor t = shape_of(knobs);
    (void)n;
    return (UINT64_C(4) * t.w * t.h + 64 + UINT64_C(20) * tc_knob(knobs, "gap")) * t.c * (is_dot(knobs) ? 2 : 1);
}

static uint32_t draw_scale(const tb_knobs *knobs, uint64_t seed) {
    tb_rng rng = tb_rng_stream(seed, "reduce.scale");
    switch (tb_knobs_get(knobs, "scale")) {
    case SCALE_ONE:
        return TENSOR_ONE;
    case SCALE_PLAIN:
        return ref_bits(tb_rng_f32_range(&rng, -2.0f, 2.0f));
    default:
        return tb_rng_f32_hard(&rng);
    }
}

static int again(tc_run *run, tensor_op *op) {
    reduce_op *o = (reduce_op *)op;
    o->ran = false;
    return tensor_blank(run, &o->op.out);
}

static int make_tensors(tc_run *run, const tb_knobs *knobs, uint64_t seed, reduce_op *o) {
    const tensor_place place = {.knobs = knobs, .seed = seed};
    const npu_tensor shape = shape_of(knobs);
    const npu_tensor result = {.w = 1, .h = 1, .c = shape.c, .layout = NPU_FP32_NCHW};
    const tensor_data data = (tensor_data)tb_knobs_get(knobs, "data");
    tb_rng rng = tb_rng_stream(seed, "reduce.a");
    if (tensor_make(run, &place, "a", shape, NPU_BUF_IN, &o->op.a) != 0 ||
        tensor_make(run, &place, "output", result, NPU_BUF_OUT, &o->op.out) != 0) {
        return -1;
    }
    tensor_fill(&o->op.a, &rng, data);
    if (tensor_put(run, &o->op.a, false) != 0) {
        return -1;
    }
    if (!o->dot) {
        return 0;
    }
    rng = tb_rng_stream(seed, "reduce.b");
    if (tensor_make(run, &place, "b", shape, NPU_BUF_IN, &o->op.b) != 0) {
        return -1;
    }
    tensor_fill(&o->op.b, &rng, data);
    return tensor_put(run, &o->op.b, false);
}

static int prepare(tc_run *run, const tb_knobs *knobs, uint64_t seed, tensor_op *op) {
    reduce_op *o = (reduce_op *)op;
    o->dot = is_dot(knobs);
    o->scale = draw_scale(knobs, seed);
    if (make_tensors(run, knobs, seed, o) != 0) {
        return -1;
    }
    const npu_tensor *t = &o->op.a.at;
    const size_t plane = (size_t)t->w * t->h;
    if (o->dot) {
        o->op.out.v[0] = reduce_reference(o->op.a.v, o->op.b.v, o->op.a.count, o->scale);
        snprintf(op->what, sizeof op->what, "inner product of %u elements, scale 0x%08X", t->w, o->scale);
    } else {
        snprintf(op->what, sizeof op->what, "global average of %ux%ux%u", t->w, t->h, t->c);
    }
    for (uint32_t c = 0; c < t->c && !o->dot; c++) {
        o->op.out.v[c] = reduce_mean_reference(o->op.a.v + c * plane, plane);
    }
    op->bounds = (tc_bounds){.op = o->dot ? "inner product" : "global average",
                             .read_bytes = 4 * (o->op.a.count + o->op.b.count),
                             .write_bytes = 4 * o->op.out.count};
    return again(run, op);
}

static npu_status start(const npu *dev, const tensor_op *op, npu_job *job) {
    const reduce_op *o = (const reduce_op *)op;
    if (o->dot) {
        return npu_job_dot(job, dev, o->op.a.at.addr, o->op.b.at.addr, o->op.a.at.w, o->scale, o->op.out.at.addr);
    }
    return npu_job_global_average(job, dev, &o->op.a.at, o->op.out.at.addr, o->op.out.at.step);
}

static npu_status run_it(npu *dev, tensor_op *op) {
    reduce_op *o = (reduce_op *)op;
    o->ran = true;
    if (o->dot) {
        return npu_dot_run(dev, o->op.a.at.addr, o->op.b.at.addr, o->op.a.at.w, o->scale, o->op.out.at.addr,
                           &o->result);
    }
    return npu_global_average_run(dev, &o->op.a.at, o->op.out.at.addr, o->op.out.at.step);
}

static void verify(tc_run *run, tensor_op *op) {
    reduce_op *o = (reduce_op *)op;
    const uint32_t last = o->op.out.v[o->op.out.count - 1];
    if (o->ran && o->dot && o->result != last) {
        tc_fail(run, "reduce: result", "npu_dot_run returned 0x%08X, the definition gives 0x%08X", o->result, last);
        return;
    }
    if (o->ran && !tc_expect(run, "ALU_RESULT", NPU_REG_ALU_RESULT, UINT32_MAX, last)) {
        return;
    }
    tensor_check(run, &o->op.out, o->dot ? "dot" : "mean", NULL, NULL);
}

const tensor_kind reduce_kind = {.test = &tc_reduce,
                                 .size = sizeof(reduce_op),
                                 .bytes = bytes_of,
                                 .prepare = prepare,
                                 .again = again,
                                 .start = start,
                                 .run = run_it,
                                 .verify = verify};

static uint64_t elements(const tb_knobs *knobs) {
    const npu_tensor t = shape_of(knobs);
    return (uint64_t)t.w * t.h * t.c;
}

static int check(uint32_t n, const tb_knobs *knobs, char *err, size_t err_size) {
    (void)n;
    if (elements(knobs) > TENSOR_MAX_ELEMENTS) {
        return opt_fail(err, err_size, "expected at most %u elements", (unsigned)TENSOR_MAX_ELEMENTS);
    }
    return 0;
}

/* Vectors up to 100000, maps of many channels or of many pixels. */
static void generate(const tc_gen *g) {
    static const char *const sizes[] = {"c", "h", "w"};
    gen_start(g);
    gen_draw_in(g, "len", 1, gen_chance(g, "len", 1, 8) ? 100000 : 5000);
    gen_draw_in(g, "w", 1, gen_chance(g, "w", 1, 8) ? 65535 : 60);
    gen_draw_in(g, "h", 1, gen_chance(g, "h", 1, 8) ? 2000 : 60);
    gen_draw_in(g, "c", 1, gen_chance(g, "c", 1, 8) ? 2000 : 40);
    while (!is_dot(g->knobs) &&
           elements(g->knobs) / 8 * gen_slowness(g->knobs) + UINT64_C(50) * tc_knob(g->knobs, "c") >
               gen_budget(g->n) / 2 &&
           gen_shrink(g, sizes, NULL, 3)) {
    }
}

const tc_test tc_reduce = {.name = "reduce",
                           .help = "inner products and global averages, any length",
                           .is_operator = true,
                           TB_KNOBS_OF(knobs_of_reduce),
                           .generate = generate,
                           .check = check,
                           .kind = &reduce_kind,
                           .execute = tensor_execute};
