/*
 * convert.c - layout and precision: FP32 NCHW to INT8 NHWC (quantise) and back (dequantise); every element against the
 * definition.
 */
#include "conv.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* Kinds of shapes. Tasks have at most 65280 pixels, 256 in a row, and 16 blocks of N channels. */
typedef enum convert_shape {
    CONVERT_ANY,
    CONVERT_POINT,
    CONVERT_LINE,
    CONVERT_LARGE,
    CONVERT_DEEP,
    CONVERT_SHAPES
} convert_shape;

#define MAX_ELEMENTS (UINT64_C(1) << 26)
#define FIT_ELEMENTS 500000u

static const char *const shape_names[CONVERT_SHAPES] = {"any", "point", "line", "large", "deep"};
static const char *const to_names[] = {"int8", "fp32"};
static const uint32_t shape_weight[CONVERT_SHAPES] = {8, 2, 3, 2, 2};
static const uint32_t data_weight[CONV_DATA_COUNT] = {6, 2, 1, 1, 2, 4, 4};
static const uint32_t scale_weight[CONV_SCALE_COUNT] = {8, 4, 1, 1, 2};

static const tb_knob knobs_of_convert[] = {
    {"shape", 0, CONVERT_SHAPES - 1, TB_KNOB_ENUM, shape_names, shape_weight, "kind of shape to generate"},
    {"to", 0, 1, TB_KNOB_ENUM, to_names, NULL, "int8: quantise; fp32: dequantise"},
    {"c", 1, 8192, TB_KNOB_SMALL, NULL, NULL, "channels"},
    {"h", 1, 65535, TB_KNOB_SMALL, NULL, NULL, "rows"},
    {"w", 1, 65535, TB_KNOB_SMALL, NULL, NULL, "columns"},
    {"data", 0, CONV_DATA_COUNT - 1, TB_KNOB_ENUM, conv_data_names, data_weight, "input values"},
    {"scale", 0, CONV_SCALE_COUNT - 1, TB_KNOB_ENUM, conv_scale_names, scale_weight, "factor"},
    {"gap", 0, 8, TB_KNOB_SMALL, NULL, NULL, "unused units between channels (16 bytes) or pixels (N bytes)"},
    {"in_shift", 0, 3, TB_KNOB_UNIFORM, NULL, NULL,
     "offset of the input from a multiple of 16, in 4 bytes (INT8: N bytes)"},
    {"out_shift", 0, 3, TB_KNOB_UNIFORM, NULL, NULL, "the same of the output"},
    {"place", 0, 255, TB_KNOB_UNIFORM, NULL, NULL, "shift of the buffers against 4 KB, in 16-byte units"},
    {"bus", 0, TC_BUS_COUNT - 1, TB_KNOB_ENUM, tc_bus_names, NULL, "bus timing"},
    {"wait", 0, 1, TB_KNOB_ENUM, conv_wait_names, NULL, "how the driver waits"},
    {"dseed", 0, 0x7FFFFFFF, TB_KNOB_UNIFORM, NULL, NULL, "seed of bus timing and initial state"},
};

static int check(uint32_t n, const tb_knobs *knobs, char *err, size_t err_size) {
    const uint64_t pixels = (uint64_t)tc_knob(knobs, "w") * tc_knob(knobs, "h");
    (void)n;
    if (pixels * tc_knob(knobs, "c") > MAX_ELEMENTS) {
        return opt_fail(err, err_size, "a tensor of more than %" PRIu64 " elements does not fit into device memory",
                        MAX_ELEMENTS);
    }
    return 0;
}

/* Sizes around those at which another row, task or block of channels begins. */
static void draw_sizes(const tc_gen *g) {
    tb_rng rng = tb_rng_stream(g->seed, "convert.sizes");
    const int64_t near = tb_rng_range_i64(&rng, -2, 2);
    gen_draw_in(g, "c", 1, 4 * (int64_t)g->n);
    gen_draw_in(g, "w", 1, 60);
    gen_draw_in(g, "h", 1, 60);
    switch ((convert_shape)gen_get(g, "shape")) {
    case CONVERT_POINT:
        gen_put(g, "w", 1);
        gen_put(g, "h", 1);
        gen_draw_in(g, "c", 1, 40 * (int64_t)g->n);
        break;
    case CONVERT_LINE:
        gen_put(g, "w", 256 * tb_rng_range_i64(&rng, 1, 4) + near);
        gen_draw_in(g, "h", 1, 3);
        break;
    case CONVERT_LARGE:
        gen_put(g, "w", 256 + near);
        gen_put(g, "h", 255 + tb_rng_range_i64(&rng, -1, 3));
        gen_draw_in(g, "c", 1, 2);
        break;
    case CONVERT_DEEP:
        gen_put(g, "c", 16 * (int64_t)g->n * tb_rng_range_i64(&rng, 1, 2) + near);
        gen_draw_in(g, "w", 1, 2 + 128 / (int64_t)g->n);
        gen_draw_in(g, "h", 1, 8);
        break;
    case CONVERT_ANY:
    case CONVERT_SHAPES:
        break;
    }
}

/* With large pinned sizes the others become small, so that a case takes less than a second. */
static void fit(const tc_gen *g) {
    static const char *const names[] = {"w", "h", "c"};
    for (;;) {
        size_t largest = 0;
        int64_t value = 1;
        for (size_t i = 0; i < 3; i++) {
            const int64_t v = gen_get(g, names[i]);
            if (!gen_pinned(g, names[i]) && v > value) {
                largest = i;
                value = v;
            }
        }
        if (value == 1 ||
            (uint64_t)tc_knob(g->knobs, "w") * tc_knob(g->knobs, "h") * tc_knob(g->knobs, "c") <= FIT_ELEMENTS) {
            return;
        }
        gen_put(g, names[largest], value - (value + 3) / 4);
    }
}

static void generate(const tc_gen *g) {
    static const char *const frills[] = {"shape", "in_shift", "out_shift"};
    gen_start(g);
    gen_simplest(g, frills, sizeof frills / sizeof frills[0]);
    draw_sizes(g);
    fit(g);
    if (gen_get(g, "data") == CONV_HALVES) {
        gen_put(g, "scale", CONV_SCALE_POW2);
    }
}

/* The host's copy of the input. */
typedef struct converted {
    tc_run *run;
    npu_convert cv;
    uint32_t *f32;
    int8_t *i8;
} converted;

static int make_input(converted *t) {
    const tb_knobs *k = t->run->knobs;
    const npu_tensor *in = &t->cv.in;
    const size_t count = (size_t)in->w * in->h * in->c;
    tb_rng rng = tb_rng_stream(t->run->seed, "tensor.scale");
    t->cv.scale = conv_draw_scale(&rng, (conv_scale)tb_knobs_get(k, "scale"), 0.05f, 200.0f);
    rng = tb_rng_stream(t->run->seed, "tensor.input");
    if (in->layout == NPU_FP32_NCHW) {
        t->f32 = malloc(count * 4);
        if (t->f32 != NULL) {
            conv_draw_f32(&rng, (conv_data)tb_knobs_get(k, "data"), t->cv.scale, t->f32, count);
        }
    } else {
        t->i8 = malloc(count);
        if (t->i8 != NULL) {
            tb_rng_fill(&rng, t->i8, count);
        }
    }
    return t->f32 == NULL && t->i8 == NULL ? tc_no_memory(t->run) : 0;
}

static int place(converted *t) {
    tc_run *run = t->run;
    npu_convert *cv = &t->cv;
    const uint32_t gap = tc_knob(run->knobs, "gap");
    const bool quantise = cv->in.layout == NPU_FP32_NCHW;
    const uint32_t in_shift = tc_knob(run->knobs, "in_shift") * (quantise ? 4 : run->n) & 15u;
    const uint32_t out_shift = tc_knob(run->knobs, "out_shift") * (quantise ? run->n : 4) & 15u;
    cv->in.step = tensor_step(run, &cv->in, gap, false);
    cv->out.step = tensor_step(run, &cv->out, gap, false);
    if (tensor_new(run, "input", &cv->in, in_shift, NPU_BUF_IN) != 0 ||
        tensor_write_elements(run, &cv->in, quantise ? (const void *)t->f32 : t->i8) != 0 ||
        tensor_new(run, "output", &cv->out, out_shift, NPU_BUF_OUT) != 0 || tensor_prefill(run, &cv->out) != 0) {
        return -1;
    }
    if (quantise) {
        return 0;
    }
    const size_t bytes = ((size_t)cv->in.c + 3) / 4 * 16;
    float *factors = malloc(bytes);
    int rc = factors == NULL ? tc_no_memory(run) : 0;
    if (rc == 0) {
        const npu_status status = npu_convert_make_factors(cv, factors, bytes);
        if (status != NPU_OK) {
            tc_driver_failed(run, "factors", status, NPU_OK);
        }
        rc = status != NPU_OK ? 0 : tensor_new_bytes(run, "factors", factors, bytes, &cv->factor_addr);
    }
    free(factors);
    return rc;
}

static void check_element(converted *t, const uint8_t *image, uint32_t c, uint32_t pixel) {
    const npu_tensor *out = &t->cv.out;
    const size_t from = (size_t)c * out->w * out->h + pixel;
    const size_t at = tensor_offset(out, c, pixel);
    if (out->layout == NPU_INT8_NHWC) {
        const int8_t want = ref_quantise(t->f32[from], t->cv.scale);
        if ((int8_t)image[at] != want) {
            tc_fail(t->run, "convert: quantised",
                    "channel %u row %u column %u: 0x%08X becomes %d, the definition gives %d", c, pixel / out->w,
                    pixel % out->w, t->f32[from], (int8_t)image[at], want);
        }
    } else {
        const uint32_t want = ref_bits((float)t->i8[from] * ref_float(t->cv.scale));
        if (tensor_word(image + at) != want) {
            tc_fail(t->run, "convert: dequantised",
                    "channel %u row %u column %u: %d becomes 0x%08X, the definition gives 0x%08X", c, pixel / out->w,
                    pixel % out->w, t->i8[from], tensor_word(image + at), want);
        }
    }
}

static void describe(converted *t, uint16_t tasks) {
    const npu_tensor *in = &t->cv.in;
    const uint64_t count = (uint64_t)in->w * in->h * in->c;
    const bool quantise = in->layout == NPU_FP32_NCHW;
    tc_stats *s = &t->run->stats;
    snprintf(s->what, sizeof s->what, "%ux%ux%u, %s", in->w, in->h, in->c,
             quantise ? "FP32 NCHW -> INT8 NHWC" : "INT8 NHWC -> FP32 NCHW");
    snprintf(s->tasks, sizeof s->tasks, "%u", tasks);
    s->bounds = (tc_bounds){
        .op = "conversion", .read_bytes = count * (quantise ? 4 : 1), .write_bytes = count * (quantise ? 1 : 4)};
}

static int run_it(converted *t) {
    tc_run *run = t->run;
    const uint16_t started = run->npu.started[NPU_UNIT_GEMM];
    npu_status status = npu_perf_clear(&run->npu);
    const tensor_clock start = tensor_now(run);
    if (status == NPU_OK) {
        status = npu_convert_run(&run->npu, &t->cv);
    }
    tensor_measure(run, start);
    describe(t, (uint16_t)(run->npu.started[NPU_UNIT_GEMM] - started));
    if (status == NPU_OK) {
        status = npu_perf_read(&run->npu, run->stats.perf, NPU_PERF_COUNT);
    }
    if (status != NPU_OK) {
        tc_driver_failed(run, "convert", status, NPU_OK);
        return 0;
    }
    uint8_t *image = tensor_read(run, "convert", &t->cv.out);
    if (image == NULL) {
        return tc_ok(run) ? -1 : 0;
    }
    tensor_check_gaps(run, "convert", &t->cv.out, image);
    for (uint32_t c = 0; c < t->cv.out.c; c++) {
        for (uint32_t i = 0; i < t->cv.out.w * t->cv.out.h && run->result->outcome == TB_PASS; i++) {
            check_element(t, image, c, i);
        }
    }
    free(image);
    return 0;
}

static int execute(tc_run *run) {
    const tb_knobs *k = run->knobs;
    const bool quantise = tb_knobs_get(k, "to") == 0;
    const npu_tensor shape = {.w = tc_knob(k, "w"), .h = tc_knob(k, "h"), .c = tc_knob(k, "c")};
    converted t = {.run = run, .cv = {.in = shape, .out = shape}};
    const uint64_t pixels = (uint64_t)shape.w * shape.h;
    const uint64_t memory = (pixels * 4 + 256) * shape.c * 2 + pixels * 1024 + (UINT64_C(64) << 20);
    t.cv.in.layout = quantise ? NPU_FP32_NCHW : NPU_INT8_NHWC;
    t.cv.out.layout = quantise ? NPU_INT8_NHWC : NPU_FP32_NCHW;
    int rc = make_input(&t);
    if (rc == 0) {
        rc = tc_open(run, memory, TENSOR_GEMM_TIMEOUT_US);
    }
    if (rc == 0) {
        rc = place(&t);
    }
    if (rc == 0 && tc_ok(run)) {
        rc = run_it(&t);
    }
    free(t.f32);
    free(t.i8);
    return rc;
}

const tc_test tc_convert = {.name = "convert",
                            .help = "FP32 NCHW to INT8 NHWC (quantise) or back (dequantise), any shape",
                            .is_operator = true,
                            TB_KNOBS_OF(knobs_of_convert),
                            .generate = generate,
                            .check = check,
                            .execute = execute};
