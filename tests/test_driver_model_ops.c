/* test_driver_model_ops.c - the operators beside convolution through the driver on the golden device, against their
 * definitions. */
#include <math.h>

#include "driver_rig.h"

static const uint32_t sizes[] = {4, 8, 16, 32};

static uint32_t value_at(const rig *r, const npu_tensor *t, uint32_t c, uint32_t y, uint32_t x) {
    uint32_t at = rig_element(t, c, y, x);
    return t->layout == NPU_INT8_NHWC ? *rig_at(r, at) : rig_word(r, at);
}

static void expect(const npu_tensor *t, uint32_t c, uint32_t y, uint32_t x, uint32_t got, uint32_t want) {
    if (got != want) {
        fail_msg("%u x %u x %u: channel %u row %u column %u: got 0x%08X, expected 0x%08X", t->w, t->h, t->c, c, y, x,
                 got, want);
    }
}

#define FOR_ALL(t, ch, row, col)                                                                                       \
    for (uint32_t ch = 0; ch < (t).c; ch++)                                                                            \
        for (uint32_t row = 0; row < (t).h; row++)                                                                     \
            for (uint32_t col = 0; col < (t).w; col++)

/* ---- convert ---- */

static void convert_case(rig *r, uint32_t w, uint32_t h, uint32_t c, bool quantise) {
    npu_convert cv = {.scale = rig_bits((float)rig_draw(1, 3000) / 32.0f)};
    float factors[4096];
    rig_reset(r);
    cv.in = rig_tensor(r, quantise ? NPU_FP32_NCHW : NPU_INT8_NHWC, w, h, c, rig_draw(0, 2));
    cv.out = rig_tensor(r, quantise ? NPU_INT8_NHWC : NPU_FP32_NCHW, w, h, c, rig_draw(0, 2));
    rig_fill(r, &cv.in);
    cv.factor_addr = rig_alloc(r, quantise ? 0 : (c + 3) / 4 * 16, 16);
    assert_int_equal(npu_convert_make_factors(&cv, factors, sizeof factors), NPU_OK);
    if (!quantise) {
        memcpy(rig_at(r, cv.factor_addr), factors, (c + 3) / 4 * 16);
    }
    assert_int_equal(npu_convert_run(&r->dev, &cv), NPU_OK);
    FOR_ALL(cv.in, ch, y, x) {
        uint32_t v = value_at(r, &cv.in, ch, y, x);
        uint32_t want = quantise ? (uint8_t)cm_fp_f32_to_i8(cm_fp_mul(v, cv.scale))
                                 : cm_fp_mul(cm_fp_i32_to_f32((int8_t)v), cv.scale);
        expect(&cv.in, ch, y, x, value_at(r, &cv.out, ch, y, x), want);
    }
    rig_check_gaps(r, &cv.out);
}

static void convert(void **state) {
    (void)state;
    srand(11);
    for (uint32_t k = 0; k < 4; k++) {
        rig r;
        rig_open(&r, sizes[k]);
        for (uint32_t i = 0; i < 30; i++) {
            convert_case(&r, rig_draw(1, 40), rig_draw(1, 20), rig_draw(1, 70), i % 2 == 0);
        }
        convert_case(&r, 300, 240, 5, true); /* more pixels than a task has */
        convert_case(&r, 300, 240, 5, false);
        convert_case(&r, 5, 51, 600, true); /* more channels */
        convert_case(&r, 256, 1, 600, false);
        convert_case(&r, 1, 1, 33, true);
        rig_close(&r);
    }
}

/* ---- pooling ---- */

static uint32_t fp32_pool(const rig *r, const npu_pool *p, uint32_t c, int64_t y0, int64_t x0) {
    uint32_t acc = 0;
    uint32_t rows = 0, columns = 0;
    bool first = true;
    for (int64_t y = y0; y < y0 + p->kh; y++) {
        columns = 0;
        for (int64_t x = x0; x < x0 + p->kw && y >= 0 && y < p->in.h; x++) {
            if (x >= 0 && x < p->in.w) {
                uint32_t v = value_at(r, &p->in, c, (uint32_t)y, (uint32_t)x);
                acc = p->type == NPU_POOL_CTRL_TYPE_AVG ? cm_fp_add(acc, v) : first || cm_fp_lt(acc, v) ? v : acc;
                first = false;
                columns++;
            }
        }
        rows += y >= 0 && y < p->in.h;
    }
    /* the columns of the last row inside the map */
    columns = 0;
    for (int64_t x = x0; x < x0 + p->kw; x++) {
        columns += x >= 0 && x < p->in.w;
    }
    if (p->type == NPU_POOL_CTRL_TYPE_MAX || p->sum) {
        return acc;
    }
    volatile float f = 1.0f / (float)(p->exclude_pad ? rows * columns : p->kw * p->kh);
    return cm_fp_mul(acc, rig_bits(f));
}

static uint32_t int8_pool(const rig *r, const npu_pool *p, uint32_t c, int64_t y0, int64_t x0) {
    int32_t acc = 0;
    int32_t max = -128;
    int32_t count = 0;
    for (int64_t y = y0; y < y0 + p->kh; y++) {
        for (int64_t x = x0; x < x0 + p->kw; x++) {
            if (y >= 0 && y < p->in.h && x >= 0 && x < p->in.w) {
                int32_t v = (int8_t)value_at(r, &p->in, c, (uint32_t)y, (uint32_t)x);
                acc += v;
                max = v > max ? v : max;
                count++;
            }
        }
    }
    if (p->type == NPU_POOL_CTRL_TYPE_MAX) {
        return (uint8_t)max;
    }
    count = p->exclude_pad ? count : (int32_t)(p->kw * p->kh);
    int32_t magnitude = (2 * (acc < 0 ? -acc : acc) + count) / (2 * count);
    return (uint8_t)(acc < 0 ? -magnitude : magnitude);
}

static uint32_t windows(uint32_t map, uint32_t before, uint32_t after, uint32_t k, uint32_t stride, bool ceil_mode) {
    uint32_t count = 0;
    for (uint32_t at = 0;;
         /* by the definition: one more that hangs over the end in ceil mode, if it begins before the right padding */
         at += stride) {
        bool fits = at + k <= map + before + after;
        bool hangs = ceil_mode && at < map + before && (int64_t)at - stride + k < (int64_t)map + before + after;
        if (!fits && !hangs) {
            return count;
        }
        count++;
    }
}

static void pool_case(rig *r, npu_pool p, uint32_t w, uint32_t h, uint32_t c, npu_layout layout) {
    uint32_t ow = 0, oh = 0;
    rig_reset(r);
    p.in = rig_tensor(r, layout, w, h, c, rig_draw(0, 2));
    rig_fill(r, &p.in);
    npu_status status = npu_pool_shape(&p, &ow, &oh);
    uint32_t want_w = p.global ? 1 : windows(w, p.pad_l, p.pad_r, p.kw, p.stride_w, p.ceil_mode);
    uint32_t want_h = p.global ? 1 : windows(h, p.pad_t, p.pad_b, p.kh, p.stride_h, p.ceil_mode);
    if (want_w == 0 || want_h == 0) {
        assert_int_equal(status, NPU_ERR_TOO_SMALL);
        return;
    }
    assert_int_equal(status, NPU_OK);
    assert_int_equal(ow, want_w);
    assert_int_equal(oh, want_h);
    p.out = rig_tensor(r, layout, ow, oh, c, rig_draw(0, 2));
    assert_int_equal(npu_pool_table_bytes(&p, &p.table_bytes), NPU_OK);
    p.table_addr = rig_alloc(r, p.table_bytes, 4);
    float *table = malloc(p.table_bytes + 4);
    assert_int_equal(npu_pool_make_table(&p, table, p.table_bytes), NPU_OK);
    memcpy(rig_at(r, p.table_addr), table, p.table_bytes);
    free(table);
    assert_int_equal(npu_pool_run(&r->dev, &p), NPU_OK);
    if (p.global) {
        p.kw = w;
        p.kh = h;
        p.pad_l = p.pad_t = 0;
    }
    FOR_ALL(p.out, ch, y, x) {
        int64_t y0 = (int64_t)y * p.stride_h - p.pad_t;
        int64_t x0 = (int64_t)x * p.stride_w - p.pad_l;
        uint32_t want = layout == NPU_INT8_NHWC ? int8_pool(r, &p, ch, y0, x0) : fp32_pool(r, &p, ch, y0, x0);
        expect(&p.out, ch, y, x, value_at(r, &p.out, ch, y, x), want);
    }
    rig_check_gaps(r, &p.out);
}

static void pool(void **state) {
    (void)state;
    srand(12);
    for (uint32_t k = 0; k < 4; k++) {
        rig r;
        rig_open(&r, sizes[k]);
        for (uint32_t i = 0; i < 160; i++) {
            uint32_t big = i % 20 == 0 ? 40 : 4;
            npu_pool p = {.type = i % 2 == 0 ? NPU_POOL_CTRL_TYPE_AVG : NPU_POOL_CTRL_TYPE_MAX,
                          .exclude_pad = i / 2 % 2 == 0,
                          .ceil_mode = rig_draw(0, 1) == 0};
            p.kw = rig_draw(1, big);
            p.kh = rig_draw(1, big);
            p.stride_w = rig_draw(1, 4);
            p.stride_h = rig_draw(1, 4);
            p.pad_l = rig_draw(0, p.kw - 1);
            p.pad_r = rig_draw(0, p.kw - 1);
            p.pad_t = rig_draw(0, p.kh - 1);
            p.pad_b = rig_draw(0, p.kh - 1);
            p.global = i % 16 > 13 && i % 4 != 0 && (i / 4 % 2 == 0 || p.type == NPU_POOL_CTRL_TYPE_MAX);
            p.sum = (i % 8 == 2 || i % 16 == 8) && !p.global; /* FP32, with and without exclude_pad */
            pool_case(&r, p, rig_draw(1, i % 10 == 0 ? 200 : 12), rig_draw(1, 12), rig_draw(1, 40),
                      (npu_layout)(i / 4 % 2));
        }
        npu_pool p = {.type = NPU_POOL_CTRL_TYPE_AVG,
                      .kw = 250,
                      .kh = 3,
                      .stride_w = 70,
                      .stride_h = 1,
                      .pad_l = 249,
                      .pad_r = 249};
        pool_case(&r, p, 2000, 3, 2, NPU_FP32_NCHW); /* strips that the stride limits */
        pool_case(&r, p, 2000, 3, 2, NPU_INT8_NHWC);
        p = (npu_pool){.kw = 200, .kh = 1, .stride_w = 1, .stride_h = 1, .pad_l = 150};
        pool_case(&r, p, 400, 2, 2, NPU_FP32_NCHW); /* padding of more than one strip */
        pool_case(&r, p, 400, 2, 2, NPU_INT8_NHWC);
        p = (npu_pool){.global = true};
        pool_case(&r, p, 255, 40, 2, NPU_FP32_NCHW);
        p.type = NPU_POOL_CTRL_TYPE_AVG;
        pool_case(&r, p, 7, 255, 5, NPU_INT8_NHWC);
        rig_close(&r);
    }
}

/* ---- ALU ---- */

/* docs/npu/npu.md section 2, "Reductions". */
static uint32_t reduce(const rig *r, uint32_t a, uint32_t b, uint32_t len, uint32_t q) {
    uint32_t acc[32] = {0};
    for (uint32_t i = 0; i < len; i++) {
        uint32_t x = rig_word(r, a + i * 4);
        acc[i % 32] = cm_fp_add(acc[i % 32], b != 0 ? cm_fp_mul(x, rig_word(r, b + i * 4)) : x);
    }
    for (uint32_t s = 16; s > 0; s /= 2) {
        for (uint32_t j = 0; j < s; j++) {
            acc[j] = cm_fp_add(acc[j], acc[j + s]);
        }
    }
    return cm_fp_mul(acc[0], q);
}

static void average_case(rig *r, uint32_t w, uint32_t h, uint32_t c, bool by_pool) {
    rig_reset(r);
    npu_tensor in = rig_tensor(r, NPU_FP32_NCHW, w, h, c, rig_draw(0, 2));
    npu_tensor out = rig_tensor(r, NPU_FP32_NCHW, 1, 1, c, rig_draw(0, 2));
    rig_fill(r, &in);
    if (by_pool) {
        npu_pool p = {.in = in, .out = out, .type = NPU_POOL_CTRL_TYPE_AVG, .global = true};
        assert_int_equal(npu_pool_run(&r->dev, &p), NPU_OK);
    } else {
        assert_int_equal(npu_global_average_run(&r->dev, &in, out.addr, out.step), NPU_OK);
    }
    volatile float f = 1.0f / (float)(w * h);
    for (uint32_t i = 0; i < c; i++) {
        expect(&in, i, 0, 0, value_at(r, &out, i, 0, 0), reduce(r, in.addr + i * in.step, 0, w * h, rig_bits(f)));
    }
    rig_check_gaps(r, &out);
}

static void reductions(void **state) {
    (void)state;
    rig r;
    srand(13);
    rig_open(&r, 8);
    for (uint32_t i = 0; i < 40; i++) {
        average_case(&r, rig_draw(1, 30), rig_draw(1, 9), rig_draw(1, 20), i % 2 == 0);
    }
    average_case(&r, 300, 260, 2, true);
    for (uint32_t i = 0; i < 40; i++) {
        rig_reset(&r);
        uint32_t len = rig_draw(1, i == 0 ? 5000 : 100);
        npu_tensor a = rig_tensor(&r, NPU_FP32_NCHW, len, 1, 1, 0);
        npu_tensor b = rig_tensor(&r, NPU_FP32_NCHW, len, 1, 1, 0);
        npu_tensor out = rig_tensor(&r, NPU_FP32_NCHW, 1, 1, 1, 0);
        uint32_t q = rig_bits(0.37f);
        uint32_t result = 0;
        rig_fill(&r, &a);
        rig_fill(&r, &b);
        assert_int_equal(npu_dot_run(&r.dev, a.addr, b.addr, len, q, out.addr, &result), NPU_OK);
        assert_int_equal(result, reduce(&r, a.addr, b.addr, len, q));
        assert_int_equal(rig_word(&r, out.addr), result);
        rig_check_gaps(&r, &out);
    }
    rig_close(&r);
}

static uint32_t operand(const rig *r, npu_operand kind, uint32_t scalar, uint32_t array, const npu_tensor *b,
                        uint32_t c, uint32_t y, uint32_t x) {
    return kind == NPU_SCALAR ? scalar : kind == NPU_CHANNEL ? rig_word(r, array + c * 4) : value_at(r, b, c, y, x);
}

static void eltwise_case(rig *r, uint32_t w, uint32_t h, uint32_t c, npu_alu_op op, uint32_t place) {
    npu_eltwise e = {.op = op, .p_kind = (npu_operand)rig_draw(0, 2), .p = rig_bits(0.75f), .q = rig_bits(-1.5f)};
    e.q_kind = (npu_operand)rig_draw(0, 2);
    if ((op == NPU_ALU_MULADD || op == NPU_ALU_ADDMUL) && e.p_kind == NPU_VECTOR && e.q_kind == NPU_VECTOR) {
        e.q_kind = NPU_SCALAR;
    }
    rig_reset(r);
    uint32_t gap = rig_draw(0, 1);
    e.a = rig_tensor(r, NPU_FP32_NCHW, w, h, c, gap);
    e.b = rig_tensor(r, NPU_FP32_NCHW, w, h, c, place == 2 ? gap : rig_draw(0, 1));
    e.out = rig_tensor(r, NPU_FP32_NCHW, w, h, c, rig_draw(0, 1));
    e.p_addr = rig_alloc(r, c * 4, 4);
    e.q_addr = rig_alloc(r, c * 4, 4);
    rig_fill(r, &e.a);
    rig_fill(r, &e.b);
    for (uint32_t i = 0; i < c; i++) {
        rig_set(r, e.p_addr + i * 4, rig_bits((float)rig_draw(0, 100) / 16.0f));
        rig_set(r, e.q_addr + i * 4, rig_bits((float)rig_draw(0, 100) / -16.0f));
    }
    if (op != NPU_ALU_ADD_I32) {
        e.act = (npu_act)rig_draw(0, NPU_ACT_COUNT - 1);
        e.act_p[0] = rig_bits(0.5f);
        e.act_p[1] = rig_bits(1.25f);
        e.func = e.act == NPU_ACT_NONE ? (npu_func)rig_draw(0, NPU_FUNC_COUNT - 1) : NPU_FUNC_NONE;
    }
    uint32_t params[4];
    rig_act(e.act, e.act_p, params);
    uint32_t count = w * h * c;
    uint32_t *want = malloc(count * sizeof *want);
    uint32_t i = 0;
    FOR_ALL(e.a, ch, y, x) {
        uint32_t p = operand(r, e.p_kind, e.p, e.p_addr, &e.b, ch, y, x);
        uint32_t q = operand(r, e.q_kind, e.q, e.q_addr, &e.b, ch, y, x);
        const uint32_t v = cm_activate(e.act, params, cm_alu_element(op, value_at(r, &e.a, ch, y, x), p, q));
        want[i++] = cm_func(e.func, v);
    }
    e.out = place == 1 ? e.a : place == 2 && (e.p_kind == NPU_VECTOR || e.q_kind == NPU_VECTOR) ? e.b : e.out;
    assert_int_equal(npu_eltwise_run(&r->dev, &e), NPU_OK);
    i = 0;
    FOR_ALL(e.a, ch, y, x) {
        expect(&e.a, ch, y, x, value_at(r, &e.out, ch, y, x), want[i++]);
    }
    rig_check_gaps(r, &e.out);
    free(want);
}

#define OPS NPU_ALU_CTRL_OP_NOT_REDUCE_COUNT
static void eltwise(void **state) {
    (void)state;
    rig r;
    srand(14);
    rig_open(&r, 16);
    for (uint32_t i = 0; i < 30 * OPS; i++) {
        static const uint32_t ops[OPS] = NPU_ALU_CTRL_OP_NOT_REDUCE_VALUES;
        eltwise_case(&r, rig_draw(1, 20), rig_draw(1, 6), rig_draw(1, 9), (npu_alu_op)ops[i % OPS], i / OPS % 3);
    }
    rig_close(&r);
}

/* ---- rows ---- */

static double row_value(const npu_rows *r, const double *x, const double *gamma, const double *beta, uint32_t row,
                        uint32_t col) {
    const bool across = r->kind == NPU_ROWS_SOFTMAX_ACROSS, softmax = across || r->kind == NPU_ROWS_SOFTMAX;
    const uint32_t count = across ? r->rows : r->cols, step = across ? r->cols : 1;
    const double *v = x + (across ? col : row * r->cols), own = x[row * r->cols + col];
    double most = v[0], sum = 0.0, squares = 0.0, mean = 0.0;
    for (uint32_t i = 0; i < count; i++) {
        most = fmax(most, v[i * step]);
        mean += v[i * step] / count;
    }
    mean = r->kind == NPU_ROWS_LAYER_NORM ? mean : 0.0;
    for (uint32_t i = 0; i < count; i++) {
        sum += exp(v[i * step] - most);
        squares += (v[i * step] - mean) * (v[i * step] - mean) / count;
    }
    if (softmax) {
        return exp(own - most) / sum;
    }
    const double y = (own - mean) / sqrt(squares + 1e-3) * (r->gamma_addr != 0 ? gamma[col] : 1.0);
    return r->beta_addr != 0 ? y + beta[col] : y;
}

static uint32_t row_array(rig *r, uint32_t count, double *values) {
    const uint32_t addr = rig_alloc(r, count * 4, 4);
    for (uint32_t i = 0; i < count; i++) {
        const float v = (float)rig_draw(0, 200) / 32.0f - 3.0f;
        values[i] = (double)v;
        rig_set(r, addr + i * 4, rig_bits(v));
    }
    return addr;
}

/* In place or not, with gaps between rows or without, any alignment to 4. */
static void rows_case(rig *r, npu_rows_kind kind, uint32_t rows, uint32_t cols) {
    static double x[40 * 300], gamma[300], beta[300];
    const uint32_t affine = rig_draw(0, 2), gap = 4 * rig_draw(0, 3);
    const bool norm = kind == NPU_ROWS_LAYER_NORM || kind == NPU_ROWS_RMS_NORM, in_place = rig_draw(0, 1) == 1;
    npu_rows o = {.kind = kind, .rows = rows, .cols = cols, .in_step = cols * 4 + gap, .eps = rig_bits(1e-3f)};
    rig_reset(r);
    o.in_addr = rig_alloc(r, rows * o.in_step, 4);
    for (uint32_t i = 0; i < rows * cols; i++) {
        const float v = (float)rig_draw(0, 1000) / 128.0f - 4.0f;
        x[i] = (double)v;
        rig_set(r, o.in_addr + i / cols * o.in_step + i % cols * 4, rig_bits(v));
    }
    o.gamma_addr = norm && affine > 0 ? row_array(r, cols, gamma) : 0;
    o.beta_addr = kind == NPU_ROWS_LAYER_NORM && affine == 2 ? row_array(r, cols, beta) : 0;
    o.out_step = in_place ? o.in_step : cols * 4 + 4 * rig_draw(0, 3);
    o.out_addr = in_place ? o.in_addr : rig_alloc(r, rows * o.out_step, 4);
    o.scratch_bytes = npu_rows_scratch_bytes(&o);
    o.scratch_addr = rig_alloc(r, o.scratch_bytes, 16);
    assert_int_equal(npu_rows_run(&r->dev, &o), NPU_OK);
    for (uint32_t i = 0; i < rows * cols; i++) {
        const uint32_t bits = rig_word(r, o.out_addr + i / cols * o.out_step + i % cols * 4);
        const double want = row_value(&o, x, gamma, beta, i / cols, i % cols);
        float got;
        memcpy(&got, &bits, sizeof got);
        if (fabs((double)got - want) > 2e-5 * fmax(1.0, fabs(want))) {
            fail_msg("kind %d, %u rows of %u, element %u: %.9g, expected %.9g", (int)kind, rows, cols, i, (double)got,
                     want);
        }
    }
}

static void rows_of_all_kinds(void **state) {
    (void)state;
    rig r;
    srand(16);
    rig_open(&r, 8);
    for (uint32_t i = 0; i < 200; i++) {
        rows_case(&r, (npu_rows_kind)(i % NPU_ROWS_KINDS), i < 8 ? 1 : rig_draw(1, 40), rig_draw(1, i % 5 ? 40 : 300));
    }
    rig_close(&r);
}

static void copies(void **state) {
    (void)state;
    srand(15);
    for (uint32_t k = 0; k < 4; k++) {
        rig r;
        rig_open(&r, sizes[k]);
        for (uint32_t i = 0; i < 60; i++) {
            bool twice = i % 2 == 0;
            uint32_t scale = twice ? 2 : 1;
            npu_layout layout = (npu_layout)(i / 2 % 2);
            rig_reset(&r);
            npu_tensor in = rig_tensor(&r, layout, rig_draw(1, 12), rig_draw(1, 6), rig_draw(1, 40), rig_draw(0, 1));
            npu_tensor out = rig_tensor(&r, layout, in.w * scale, in.h * scale, in.c, rig_draw(0, 1));
            rig_fill(&r, &in);
            assert_int_equal(twice ? npu_upsample2x_run(&r.dev, &in, &out) : npu_copy_run(&r.dev, &in, &out), NPU_OK);
            FOR_ALL(out, ch, y, x) {
                expect(&out, ch, y, x, value_at(&r, &out, ch, y, x), value_at(&r, &in, ch, y / scale, x / scale));
            }
            rig_check_gaps(&r, &out);
        }
        rig_close(&r);
    }
}

/* ---- jobs ---- */

/* Three units at once, two jobs on one of them: the second reads what the first wrote. */
static void jobs(void **state) {
    (void)state;
    rig r;
    npu_job job[4];
    srand(16);
    rig_open(&r, 8);
    rig_reset(&r);
    npu_convert cv = {.in = rig_tensor(&r, NPU_FP32_NCHW, 30, 20, 20, 0), .scale = rig_bits(20.0f)};
    cv.out = rig_tensor(&r, NPU_INT8_NHWC, 30, 20, 20, 0);
    npu_pool p = {.in = rig_tensor(&r, NPU_FP32_NCHW, 200, 6, 3, 0), .kw = 2, .kh = 2, .stride_w = 2, .stride_h = 2};
    p.out = rig_tensor(&r, NPU_FP32_NCHW, 100, 3, 3, 0);
    npu_eltwise e = {.op = NPU_ALU_MUL, .p = rig_bits(3.0f), .a = rig_tensor(&r, NPU_FP32_NCHW, 10, 10, 4, 0)};
    e.out = rig_tensor(&r, NPU_FP32_NCHW, 10, 10, 4, 0);
    npu_tensor up = rig_tensor(&r, NPU_FP32_NCHW, 20, 20, 4, 0);
    rig_fill(&r, &cv.in);
    rig_fill(&r, &p.in);
    rig_fill(&r, &e.a);
    assert_int_equal(npu_job_eltwise(&job[0], &r.dev, &e), NPU_OK);
    assert_int_equal(npu_job_convert(&job[1], &r.dev, &cv), NPU_OK);
    assert_int_equal(npu_job_upsample2x(&job[2], &r.dev, &e.out, &up), NPU_OK);
    assert_int_equal(npu_job_pool(&job[3], &r.dev, &p), NPU_OK);
    assert_int_equal(npu_jobs_run(&r.dev, job, 4), NPU_OK);
    FOR_ALL(up, ch, y, x) {
        expect(&up, ch, y, x, value_at(&r, &up, ch, y, x), cm_fp_mul(value_at(&r, &e.a, ch, y / 2, x / 2), e.p));
    }
    FOR_ALL(cv.in, ch, y, x) {
        uint8_t want = (uint8_t)cm_fp_f32_to_i8(cm_fp_mul(value_at(&r, &cv.in, ch, y, x), cv.scale));
        expect(&cv.in, ch, y, x, value_at(&r, &cv.out, ch, y, x), want);
    }
    FOR_ALL(p.out, ch, y, x) {
        expect(&p.out, ch, y, x, value_at(&r, &p.out, ch, y, x), fp32_pool(&r, &p, ch, (int64_t)y * 2, (int64_t)x * 2));
    }
    for (uint32_t u = 0; u < NPU_UNIT_COUNT; u++) {
        assert_true(r.dev.started[u] > 0);
    }
    assert_int_equal(npu_jobs_run(&r.dev, job, 4), NPU_ERR_ARG); /* jobs are used up */
    /* a job of another unit must not touch a result */
    p.in = up;
    p.in.w = 10;
    p.out = rig_tensor(&r, NPU_FP32_NCHW, 5, 10, 4, 0);
    assert_int_equal(npu_job_upsample2x(&job[0], &r.dev, &e.out, &up), NPU_OK);
    assert_int_equal(npu_job_pool(&job[1], &r.dev, &p), NPU_OK);
    assert_int_equal(npu_jobs_run(&r.dev, job, 2), NPU_ERR_OVERLAP);
    rig_close(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(convert),
        cmocka_unit_test(pool),
        cmocka_unit_test(reductions),
        cmocka_unit_test(eltwise),
        cmocka_unit_test(rows_of_all_kinds),
        cmocka_unit_test(copies),
        cmocka_unit_test(jobs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
