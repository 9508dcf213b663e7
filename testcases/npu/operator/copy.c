/*
 * copy.c - the tests copy (other steps) and upsample (nearest, by 2): both copy elements of either layout bit by bit.
 */
#include "copy.h"

#include <stdio.h>

static const tb_knob knobs_of_copy[] = {
    {"w", 1, 32767, TB_KNOB_SMALL, NULL, NULL, "columns"},
    {"h", 1, 32767, TB_KNOB_SMALL, NULL, NULL, "rows"},
    {"c", 1, 65535, TB_KNOB_SMALL, NULL, NULL, "channels"},
    {"int8", 0, 1, TB_KNOB_UNIFORM, NULL, NULL, "1: INT8 NHWC, 0: FP32 NCHW"},
    TENSOR_KNOBS,
};

static uint64_t bytes_of_both(uint32_t n, const tb_knobs *knobs, uint32_t scale) {
    const uint64_t pixels = (uint64_t)tc_knob(knobs, "w") * tc_knob(knobs, "h") * (1 + (uint64_t)scale * scale);
    const uint64_t gap = tc_knob(knobs, "gap");
    if (tb_knobs_get(knobs, "int8") != 0) {
        return pixels * (tc_knob(knobs, "c") + n + n * gap);
    }
    return (pixels * 4 + 2 * (16 + 16 * gap)) * tc_knob(knobs, "c");
}

static uint64_t bytes_of_copy(uint32_t n, const tb_knobs *knobs) {
    return bytes_of_both(n, knobs, 1);
}

static uint64_t bytes_of_upsample(uint32_t n, const tb_knobs *knobs) {
    return bytes_of_both(n, knobs, 2);
}

static int prepare_both(tc_run *run, const tb_knobs *knobs, uint64_t seed, uint32_t scale, tensor_op *o) {
    const tensor_place place = {.knobs = knobs, .seed = seed};
    const bool int8 = tb_knobs_get(knobs, "int8") != 0;
    const npu_tensor in = {.w = tc_knob(knobs, "w"),
                           .h = tc_knob(knobs, "h"),
                           .c = tc_knob(knobs, "c"),
                           .layout = int8 ? NPU_INT8_NHWC : NPU_FP32_NCHW};
    npu_tensor out = in;
    out.w *= scale;
    out.h *= scale;
    if (tensor_make(run, &place, "input", in, NPU_BUF_IN, &o->a) != 0 ||
        tensor_make(run, &place, "output", out, NPU_BUF_OUT, &o->out) != 0) {
        return -1;
    }
    tb_rng rng = tb_rng_stream(seed, "copy.input");
    tensor_fill(&o->a, &rng, (tensor_data)tb_knobs_get(knobs, "data"));
    for (uint32_t c = 0; c < out.c; c++) {
        for (uint32_t y = 0; y < out.h; y++) {
            for (uint32_t x = 0; x < out.w; x++) {
                o->out.v[tensor_index(&o->out, c, y, x)] = o->a.v[tensor_index(&o->a, c, y / scale, x / scale)];
            }
        }
    }
    const char *what = scale == 1 ? "copy" : "nearest upsampling";
    const uint32_t size = int8 ? 1 : 4;
    snprintf(o->what, sizeof o->what, "%s, %ux%ux%u, %s, steps %u to %u", what, in.w, in.h, in.c,
             int8 ? "INT8" : "FP32", o->a.at.step, o->out.at.step);
    o->bounds = (tc_bounds){.op = what, .read_bytes = size * o->a.count, .write_bytes = size * o->out.count};
    return tensor_put(run, &o->a, false) != 0 ? -1 : tensor_blank(run, &o->out);
}

static int prepare_copy(tc_run *run, const tb_knobs *knobs, uint64_t seed, tensor_op *op) {
    return prepare_both(run, knobs, seed, 1, op);
}

static int prepare_upsample(tc_run *run, const tb_knobs *knobs, uint64_t seed, tensor_op *op) {
    return prepare_both(run, knobs, seed, 2, op);
}

static npu_status start_copy(const npu *dev, const tensor_op *op, npu_job *job) {
    return npu_job_copy(job, dev, &op->a.at, &op->out.at);
}

static npu_status start_upsample(const npu *dev, const tensor_op *op, npu_job *job) {
    return npu_job_upsample2x(job, dev, &op->a.at, &op->out.at);
}

static npu_status run_copy(npu *dev, tensor_op *op) {
    return npu_copy_run(dev, &op->a.at, &op->out.at);
}

static npu_status run_upsample(npu *dev, tensor_op *op) {
    return npu_upsample2x_run(dev, &op->a.at, &op->out.at);
}

const tensor_kind copy_kind = {.test = &tc_copy,
                               .size = sizeof(tensor_op),
                               .bytes = bytes_of_copy,
                               .prepare = prepare_copy,
                               .start = start_copy,
                               .run = run_copy};

const tensor_kind upsample_kind = {.test = &tc_upsample,
                                   .size = sizeof(tensor_op),
                                   .bytes = bytes_of_upsample,
                                   .prepare = prepare_upsample,
                                   .start = start_upsample,
                                   .run = run_upsample};

static uint64_t elements(const tb_knobs *knobs) {
    return (uint64_t)tc_knob(knobs, "w") * tc_knob(knobs, "h") * tc_knob(knobs, "c");
}

static int check(uint32_t n, const tb_knobs *knobs, char *err, size_t err_size) {
    (void)n;
    if (elements(knobs) > TENSOR_MAX_ELEMENTS / 4) {
        return opt_fail(err, err_size, "expected at most %u elements", (unsigned)(TENSOR_MAX_ELEMENTS / 4));
    }
    return 0;
}

/* Approximate clock cycles of a case: rows and pixels have a fixed cost of some cycles each. */
static uint64_t cost(const tb_knobs *knobs) {
    const bool int8 = tb_knobs_get(knobs, "int8") != 0;
    const uint64_t rows = (uint64_t)tc_knob(knobs, "h") * (int8 ? tc_knob(knobs, "w") : tc_knob(knobs, "c"));
    return rows * 40 + elements(knobs) * (int8 ? 1 : 4) * 5 / 16 * gen_slowness(knobs);
}

static void generate(const tc_gen *g) {
    static const char *const sizes[] = {"c", "h", "w"};
    gen_start(g);
    gen_draw_in(g, "w", 1, gen_chance(g, "w", 1, 8) ? 5000 : 40);
    gen_draw_in(g, "h", 1, gen_chance(g, "h", 1, 8) ? 1000 : 40);
    gen_draw_in(g, "c", 1, gen_chance(g, "c", 1, 8) ? 3000 : 4 * g->n);
    while (cost(g->knobs) > gen_budget(g->n) / 2 && gen_shrink(g, sizes, NULL, 3)) {
    }
}

const tc_test tc_copy = {.name = "copy",
                         .help = "a copy with other steps, both layouts",
                         .is_operator = true,
                         TB_KNOBS_OF(knobs_of_copy),
                         .generate = generate,
                         .check = check,
                         .kind = &copy_kind,
                         .execute = tensor_execute};

const tc_test tc_upsample = {.name = "upsample",
                             .help = "nearest upsampling by 2, both layouts",
                             .is_operator = true,
                             TB_KNOBS_OF(knobs_of_copy),
                             .generate = generate,
                             .check = check,
                             .kind = &upsample_kind,
                             .execute = tensor_execute};
