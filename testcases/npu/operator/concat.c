/*
 * concat.c - concatenation by addressing: branches on one input write into one buffer, INT8 NHWC with a common pixel
 * pitch or FP32 NCHW channel after channel; then a convolution reads all of it. Bytes between the branches must not
 * change.
 */
#include "layer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_BRANCHES 4u

static const tb_knob knobs_of_concat[] = {
    {"branches", 2, MAX_BRANCHES, TB_KNOB_UNIFORM, NULL, NULL, "branches"},
    {"c", 1, 128, TB_KNOB_UNIFORM, NULL, NULL, "channels of the input"},
    {"h", 1, 64, TB_KNOB_UNIFORM, NULL, NULL, "rows of the input"},
    {"w", 1, 64, TB_KNOB_UNIFORM, NULL, NULL, "columns of the input"},
    {"max_oc", 1, 128, TB_KNOB_UNIFORM, NULL, NULL,
     "most output channels of a branch (grouped: up to the next multiple)"},
    {"stride", 1, 3, TB_KNOB_UNIFORM, NULL, NULL,
     "of all branches; with 1 a branch may be a copy or a conversion of the input"},
    {"in_layout", 0, 1, TB_KNOB_ENUM, conv_layout_names, NULL, "of the input"},
    {"out_layout", 0, 1, TB_KNOB_ENUM, conv_layout_names, NULL, "of the whole"},
    {"hole", 0, 2, TB_KNOB_UNIFORM, NULL, NULL, "most units (N channels, or one) that are left free before a branch"},
    {"jobs", 0, 1, TB_KNOB_UNIFORM, NULL, NULL, "1: all branches are passed to the driver at once"},
    {"gap", 0, 4, TB_KNOB_SMALL, NULL, NULL, "unused units between channels (16 bytes) or pixels (N bytes)"},
    {"place", 0, 255, TB_KNOB_UNIFORM, NULL, NULL, "shift of the buffers against 4 KB, in 16-byte units"},
    {"bus", 0, TC_BUS_COUNT - 1, TB_KNOB_ENUM, tc_bus_names, NULL, "bus timing"},
    {"wait", 0, 1, TB_KNOB_ENUM, conv_wait_names, NULL, "how the driver waits"},
    {"dseed", 0, 0x7FFFFFFF, TB_KNOB_UNIFORM, NULL, NULL, "seed of bus timing and initial state"},
};

static void generate(const tc_gen *g) {
    tb_knobs_draw(g->knobs, g->seed);
    tb_knobs_draw_in(g->knobs, "c", g->seed, 1, 3 * (int64_t)g->n);
    tb_knobs_draw_in(g->knobs, "max_oc", g->seed, 1, 3 * (int64_t)g->n);
    tb_knobs_draw_in(g->knobs, "h", g->seed, 1, 16);
    tb_knobs_draw_in(g->knobs, "w", g->seed, 1, 16);
}

typedef enum branch_kind { BRANCH_CONV, BRANCH_COPY, BRANCH_CONVERT } branch_kind;

typedef struct branch {
    branch_kind kind;
    layer layer; /* BRANCH_CONV */
    npu_tensor out;
    npu_convert convert; /* BRANCH_CONVERT */
} branch;

typedef struct concat {
    tc_run *run;
    npu_tensor in, whole;
    branch branch[MAX_BRANCHES];
    uint32_t count;
    layer last;        /* reads the whole */
    uint8_t *input;    /* the memory of the input */
    uint32_t in_scale; /* of its quantiser, where it is INT8 */
} concat;

static int make_input(concat *c) {
    tc_run *run = c->run;
    const tb_knobs *k = run->knobs;
    c->in = (npu_tensor){.w = tc_knob(k, "w"),
                         .h = tc_knob(k, "h"),
                         .c = tc_knob(k, "c"),
                         .layout = (npu_layout)tb_knobs_get(k, "in_layout")};
    c->in.step = tensor_step(run, &c->in, tc_knob(k, "gap"), false);
    const size_t count = (size_t)c->in.w * c->in.h * c->in.c;
    const bool f32 = c->in.layout == NPU_FP32_NCHW;
    void *elements = malloc(count * 4);
    if (elements == NULL) {
        return tc_no_memory(run);
    }
    tb_rng rng = tb_rng_stream(run->seed, "concat.input");
    c->in_scale = conv_draw_scale(&rng, CONV_SCALE_CALIB, 0.5f, 20.0f);
    if (f32) {
        conv_draw_f32(&rng, CONV_UNIFORM, c->in_scale, elements, count);
    } else {
        tb_rng_fill(&rng, elements, count);
    }
    int rc = tensor_new(run, "input", &c->in, 0, NPU_BUF_IN);
    if (rc == 0) {
        rc = tensor_write_elements(run, &c->in, elements);
    }
    free(elements);
    c->input = rc == 0 ? tensor_read(run, "input", &c->in) : NULL;
    return c->input == NULL ? -1 : 0;
}

static branch_kind draw_kind(const concat *c, tb_rng *rng, npu_layout out) {
    const uint64_t r = tb_rng_range(rng, 0, 3);
    if (tc_knob(c->run->knobs, "stride") != 1 || r != 0) {
        return BRANCH_CONV;
    }
    return c->in.layout == out ? BRANCH_COPY : c->in.layout == NPU_FP32_NCHW ? BRANCH_CONVERT : BRANCH_CONV;
}

/* Shapes and offsets of the branches: `at` channels after the first of the whole. */
static int make_branches(concat *c, uint32_t at[MAX_BRANCHES]) {
    static const layer_kind kinds[] = {LAYER_CONV, LAYER_DW, LAYER_GROUPED};
    tc_run *run = c->run;
    const tb_knobs *k = run->knobs;
    const npu_layout layout = (npu_layout)tb_knobs_get(k, "out_layout");
    const uint32_t unit = layout == NPU_INT8_NHWC ? run->n : 1;
    tb_rng rng = tb_rng_stream(run->seed, "concat.branches");
    layer_spec spec = {.in = c->in,
                       .out_layout = layout,
                       .in_scale = c->in_scale,
                       .max_oc = tc_knob(k, "max_oc"),
                       .stride = tc_knob(k, "stride"),
                       .keep_size = true};
    uint32_t end = 0;
    while (c->count < tc_knob(k, "branches")) {
        branch *b = &c->branch[c->count];
        spec.index = c->count;
        spec.kind = kinds[tb_rng_range(&rng, 0, 2)];
        b->kind = draw_kind(c, &rng, layout);
        end += unit * (uint32_t)tb_rng_range(&rng, 0, tc_knob(k, "hole"));
        at[c->count++] = end;
        b->out = c->in;
        b->out.layout = layout;
        if (b->kind == BRANCH_CONV) {
            if (layer_make(&b->layer, run, &spec, 0) != 0) {
                return -1;
            }
            b->out = b->layer.op.out;
        }
        end += tb_align_up(b->out.c, unit);
        c->whole = b->out;
    }
    c->whole.c = end; /* pad channels and holes included */
    c->whole.step = tensor_step(run, &c->whole, tc_knob(k, "gap"), false);
    return 0;
}

static int place_branches(concat *c, const uint32_t at[MAX_BRANCHES]) {
    if (tensor_new(c->run, "whole", &c->whole, 0, NPU_BUF_SCRATCH) != 0 || tensor_prefill(c->run, &c->whole) != 0) {
        return -1;
    }
    for (uint32_t i = 0; i < c->count; i++) {
        branch *b = &c->branch[i];
        b->out.addr = c->whole.addr + (uint32_t)tensor_offset(&c->whole, at[i], 0);
        b->out.step = c->whole.step;
        if (b->kind == BRANCH_CONV) {
            b->layer.op.in = c->in;
            b->layer.op.out = b->out;
            if (conv_op_params(&b->layer.op) != 0 || layer_set_input(&b->layer, c->input) != 0) {
                return -1;
            }
        } else if (b->kind == BRANCH_CONVERT) {
            b->convert = (npu_convert){.in = c->in, .out = b->out, .scale = c->in_scale};
        }
    }
    return 0;
}

static npu_status start_branch(const concat *c, const branch *b, npu_job *job) {
    const npu *dev = &c->run->npu;
    switch (b->kind) {
    case BRANCH_COPY:
        return npu_job_copy(job, dev, &c->in, &b->out);
    case BRANCH_CONVERT:
        return npu_job_convert(job, dev, &b->convert);
    default:
        return npu_job_conv(job, dev, &b->layer.op.drive, &b->layer.op.plan);
    }
}

static void run_branches(concat *c) {
    npu_job jobs[MAX_BRANCHES];
    const bool at_once = tb_knobs_get(c->run->knobs, "jobs") != 0;
    npu_status status = NPU_OK;
    for (uint32_t i = 0; i < c->count && status == NPU_OK; i++) {
        status = start_branch(c, &c->branch[i], &jobs[i]);
        if (status == NPU_OK && !at_once) {
            status = npu_jobs_run(&c->run->npu, &jobs[i], 1);
        }
    }
    if (status == NPU_OK && at_once) {
        status = npu_jobs_run(&c->run->npu, jobs, c->count);
    }
    if (status != NPU_OK) {
        tc_driver_failed(c->run, "branches", status, NPU_OK);
    }
}

/* A copy has the bytes of the input, a conversion the quantised values. */
static void check_moved(concat *c, const branch *b, const uint8_t *image) {
    const uint32_t pixels = b->out.w * b->out.h;
    const size_t bytes = b->out.layout == NPU_INT8_NHWC ? 1 : 4;
    for (uint32_t i = 0; i < pixels * b->out.c && c->run->result->outcome == TB_PASS; i++) {
        const uint8_t *from = c->input + tensor_offset(&c->in, i / pixels, i % pixels);
        const uint8_t *got = image + tensor_offset(&b->out, i / pixels, i % pixels);
        const int8_t quantised = b->kind == BRANCH_CONVERT ? ref_quantise(tensor_word(from), c->in_scale) : 0;
        if (memcmp(b->kind == BRANCH_CONVERT ? (const uint8_t *)&quantised : from, got, bytes) != 0) {
            tc_fail(c->run, "concat: moved", "%s: channel %u pixel %u differs",
                    b->kind == BRANCH_COPY ? "copy" : "conversion", i / pixels, i % pixels);
        }
    }
}

/* Sets elements of a branch, and its pad channels, which must be zero, to the filling; afterwards everything must be
 * the filling. */
static void clear_branch(concat *c, const branch *b, uint8_t *image) {
    const uint32_t pixels = b->out.w * b->out.h;
    const bool int8 = b->out.layout == NPU_INT8_NHWC;
    const uint32_t channels = int8 ? tb_align_up(b->out.c, c->run->n) : b->out.c;
    for (uint32_t i = 0; i < pixels * channels; i++) {
        uint8_t *at = image + tensor_offset(&b->out, i / pixels, i % pixels);
        /* A copy includes the input's. */
        const uint8_t pad =
            b->kind == BRANCH_COPY && int8 ? c->input[tensor_offset(&c->in, i / pixels, i % pixels)] : 0;
        if (i / pixels >= b->out.c && *at != pad) {
            tc_fail(c->run, "pad channel not zero", "pixel %u: channel %u of a branch, padding, is %d", i % pixels,
                    i / pixels, (int8_t)*at);
            return;
        }
        memset(at, TENSOR_FILL, int8 ? 1 : 4);
    }
}

static void check_whole(concat *c, uint8_t *image) {
    const uint64_t bytes = tensor_bytes(&c->whole);
    for (uint32_t i = 0; i < c->count && tc_ok(c->run); i++) {
        branch *b = &c->branch[i];
        uint8_t *at = image + (b->out.addr - c->whole.addr);
        if (b->kind == BRANCH_CONV) {
            layer_check(&b->layer, at);
        } else {
            check_moved(c, b, at);
        }
        clear_branch(c, b, at);
    }
    for (uint64_t i = 0; i < bytes && tc_ok(c->run); i++) {
        if (image[i] != TENSOR_FILL) {
            tc_fail(c->run, "gap written", "byte %u of the whole, between branches, was written (0x%02X)", (uint32_t)i,
                    image[i]);
        }
    }
}

/* A convolution over everything: branches, their padding, and the holes. */
static int run_last(concat *c, const uint8_t *image) {
    tc_run *run = c->run;
    layer_spec spec = {.index = MAX_BRANCHES,
                       .in = c->whole,
                       .out_layout = NPU_FP32_NCHW,
                       .max_oc = tc_knob(run->knobs, "max_oc"),
                       .keep_size = true};
    conv_op *op = &c->last.op;
    if (layer_make(&c->last, run, &spec, tc_knob(run->knobs, "gap")) != 0 ||
        tensor_new(run, "output", &op->out, 0, NPU_BUF_OUT) != 0 || tensor_prefill(run, &op->out) != 0 ||
        conv_op_params(op) != 0 || layer_set_input(&c->last, image) != 0) {
        return -1;
    }
    const npu_status status = npu_conv_run(&run->npu, &op->drive, &op->plan);
    if (status != NPU_OK) {
        tc_driver_failed(run, "convolution of the whole", status, NPU_OK);
        return 0;
    }
    uint8_t *out = tensor_read(run, "output", &op->out);
    if (out == NULL) {
        return tc_ok(run) ? -1 : 0;
    }
    tensor_check_gaps(run, "output", &op->out, out);
    layer_check(&c->last, out);
    free(out);
    return 0;
}

static int run_and_check(concat *c) {
    tc_run *run = c->run;
    run_branches(c);
    uint8_t *image = tc_ok(run) ? tensor_read(run, "whole", &c->whole) : NULL;
    int rc = image == NULL && tc_ok(run) ? -1 : 0;
    if (image != NULL) {
        rc = run_last(c, image);
        check_whole(c, image);
    }
    free(image);
    return rc;
}

static int execute(tc_run *run) {
    uint32_t at[MAX_BRANCHES];
    concat *c = calloc(1, sizeof *c);
    if (c == NULL) {
        return tc_no_memory(run);
    }
    c->run = run;
    int rc = tc_open(run, UINT64_C(256) << 20, TENSOR_GEMM_TIMEOUT_US);
    if (rc == 0) {
        rc = make_input(c);
    }
    if (rc == 0) {
        rc = make_branches(c, at);
    }
    if (rc == 0) {
        rc = place_branches(c, at);
    }
    if (rc == 0 && tc_ok(run)) {
        rc = run_and_check(c);
    }
    for (uint32_t i = 0; i < c->count; i++) {
        layer_free(&c->branch[i].layer);
    }
    layer_free(&c->last);
    free(c->input);
    free(c);
    return rc;
}

const tc_test tc_concat = {.name = "concat",
                           .help = "branches that write into one buffer, and a convolution that reads it",
                           .is_operator = false,
                           TB_KNOBS_OF(knobs_of_concat),
                           .generate = generate,
                           .execute = execute};
