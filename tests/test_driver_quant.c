/*
 * test_driver_quant.c - asymmetric INT8 through the driver on the golden device, against ONNX's QLinearConv as
 * onnxruntime computes it: int32 sums of (q - zero) * w and an int32 bias, to FP32, times f32(f32(xs * ws) / ys), half
 * to even, behind the zero-point, saturated. And conversions with a zero-point, and requantisation in integers.
 */
#include <math.h>

#include "cm_requant.h"
#include "driver_rig.h"

typedef struct operands {
    npu_conv c;
    npu_conv_plan p;
    npu_tensor in, out;
    int8_t *weights;
    int32_t *bias;
    float *w_step;
    float x_step, y_step;
} operands;

static int8_t draw_zero(void) {
    static const int8_t ends[] = {-128, -1, 0, 1, 127};
    return rig_draw(0, 1) == 0 ? ends[rig_draw(0, 4)] : (int8_t)(rig_draw(0, 255) - 128);
}

/* The definition; sums wrap. */
static int8_t qlinear(const rig *r, const operands *o, uint32_t oc, uint32_t oy, uint32_t ox) {
    const npu_conv *c = &o->c;
    const uint32_t icg = c->ic / c->groups, ic0 = oc / (c->oc / c->groups) * icg;
    uint32_t sum = (uint32_t)o->bias[oc];
    for (uint32_t i = 0; i < icg * c->kh * c->kw; i++) {
        const int64_t y = (int64_t)oy * c->stride_h + (int64_t)(i / c->kw % c->kh) * c->dil_h - c->pad_t;
        const int64_t x = (int64_t)ox * c->stride_w + (int64_t)(i % c->kw) * c->dil_w - c->pad_l;
        if (y >= 0 && y < c->ih && x >= 0 && x < c->iw) {
            const uint32_t at = rig_element(&o->in, ic0 + i / (c->kw * c->kh), (uint32_t)y, (uint32_t)x);
            sum += (uint32_t)(((int8_t)*rig_at(r, at) - c->quant.in_zero) * o->weights[oc * icg * c->kh * c->kw + i]);
        }
    }
    const float product = o->x_step * o->w_step[oc];
    const float m = product / o->y_step;
    const float v = (float)(int32_t)sum * m;
    const float low = (float)(-128 - c->quant.out_zero), high = (float)(127 - c->quant.out_zero);
    return (int8_t)((int)rintf(v < low ? low : v > high ? high : v) + c->quant.out_zero);
}

static void draw_operands(rig *r, operands *o) {
    npu_conv *c = &o->c;
    const uint32_t filter = c->ic / c->groups * c->kh * c->kw;
    o->weights = malloc((size_t)c->oc * filter);
    o->bias = malloc(c->oc * sizeof *o->bias);
    o->w_step = malloc(c->oc * sizeof *o->w_step);
    for (size_t i = 0; i < (size_t)c->oc * filter; i++) {
        o->weights[i] = (int8_t)(rig_draw(0, 255) - 128);
    }
    const bool power = rig_draw(0, 3) == 0; /* M = 2^-n: halves occur */
    o->x_step = power ? 0.25f : (float)rig_draw(1, 1000) / 4000.0f;
    o->y_step = power ? 4.0f : (float)rig_draw(1, 1000) / 1000.0f * sqrtf((float)filter);
    for (uint32_t i = 0; i < c->oc; i++) {
        o->bias[i] = rig_draw(0, 40) == 0 ? INT32_MAX : (int32_t)rig_draw(0, 40000) - 20000;
        o->w_step[i] = power ? 0.125f : (float)rig_draw(1, 1000) / 10000.0f;
    }
    c->quant = (npu_quant){.in_zero = draw_zero(), .out_zero = draw_zero(), .to_even = true, .full = true};
    c->int_bias = c->has_bias = true;
    c->out_scale = 0x3F800000u;
    c->in_layout = c->out_layout = NPU_INT8_NHWC;
    (void)r;
}

static void put_operands(rig *r, operands *o) {
    npu_conv *c = &o->c;
    float *factors = malloc(o->p.param_bytes);
    int32_t *folded = malloc(o->p.param_bytes);
    c->wgt_addr = rig_alloc(r, o->p.wgt_bytes, 16);
    c->oscale_addr = rig_alloc(r, o->p.param_bytes, 16);
    c->bias_addr = rig_alloc(r, o->p.param_bytes, 16);
    c->scratch_bytes = o->p.scratch_bytes;
    c->scratch_addr = rig_alloc(r, c->scratch_bytes, 16);
    assert_int_equal(npu_conv_pack_weights(c, &o->p, o->weights, (int8_t *)rig_at(r, c->wgt_addr), o->p.wgt_bytes),
                     NPU_OK);
    assert_int_equal(npu_conv_make_multiplier(c, &o->p, o->x_step, o->w_step, o->y_step, factors, o->p.param_bytes),
                     NPU_OK);
    assert_int_equal(npu_conv_fold_bias(c, &o->p, o->weights, o->bias, folded, o->p.param_bytes), NPU_OK);
    memcpy(rig_at(r, c->oscale_addr), factors, o->p.param_bytes);
    memcpy(rig_at(r, c->bias_addr), folded, o->p.param_bytes);
    free(factors);
    free(folded);
}

/* Everything but operands is in o->c. `points` results are compared, 0: all. */
static void run_case(rig *r, operands *o, const npu_conv_split *split, uint32_t points) {
    npu_conv *c = &o->c;
    draw_operands(r, o);
    assert_int_equal(npu_conv_plan_make(r->dev.n, c, split, &o->p), NPU_OK);
    o->in = rig_tensor(r, NPU_INT8_NHWC, c->iw, c->ih, c->ic, rig_draw(0, 2));
    o->out = rig_tensor(r, NPU_INT8_NHWC, o->p.ow, o->p.oh, c->oc, rig_draw(0, 2));
    rig_fill(r, &o->in);
    put_operands(r, o);
    c->ifm_addr = o->in.addr;
    c->ifm_cstep = o->in.step;
    c->ofm_addr = o->out.addr;
    c->ofm_cstep = o->out.step;
    assert_int_equal(npu_conv_run(&r->dev, c, &o->p), NPU_OK);
    const uint32_t plane = o->p.ow * o->p.oh, all = plane * c->oc;
    for (uint32_t i = 0; i < (points == 0 || points > all ? all : points); i++) {
        const uint32_t at = points == 0 || points > all ? i : rig_draw(0, all - 1);
        const uint32_t oc = at / plane, oy = at % plane / o->p.ow, ox = at % o->p.ow;
        const int8_t got = (int8_t)*rig_at(r, rig_element(&o->out, oc, oy, ox)), want = qlinear(r, o, oc, oy, ox);
        if (got != want) {
            fail_msg("channel %u row %u column %u: got %d, QLinearConv gives %d", oc, oy, ox, got, want);
        }
    }
    rig_check_gaps(r, &o->out);
    free(o->weights);
    free(o->bias);
    free(o->w_step);
}

static npu_conv shape(uint32_t iw, uint32_t ih, uint32_t ic, uint32_t oc, uint32_t kw, uint32_t kh, uint32_t stride,
                      uint32_t pad, uint32_t groups) {
    npu_conv c = {.iw = iw, .ih = ih, .ic = ic, .oc = oc, .kw = kw, .kh = kh, .stride_w = stride, .stride_h = stride};
    c.dil_w = c.dil_h = 1;
    c.pad_l = c.pad_r = c.pad_t = c.pad_b = pad;
    c.groups = groups;
    return c;
}

static void random_shapes(void **state) {
    (void)state;
    static const uint32_t sizes[] = {4, 8, 16, 32};
    srand(29);
    for (uint32_t k = 0; k < 4; k++) {
        rig r;
        operands o;
        rig_open(&r, sizes[k]);
        for (int i = 0; i < 40; i++) {
            o.c = shape(rig_draw(1, 14), rig_draw(1, 12), rig_draw(1, 40), rig_draw(1, 40), rig_draw(1, 5),
                        rig_draw(1, 5), rig_draw(1, 3), rig_draw(0, 6), 1);
            o.c.pad_l += 4; /* so that no kernel is larger than the padded map */
            o.c.pad_t += 4;
            o.c.dil_w = rig_draw(1, 2);
            o.c.dil_h = rig_draw(1, 2);
            o.c.pad_b += 4;
            o.c.pad_r += 4;
            const npu_conv_split cut = {
                .max_oh = rig_draw(0, 3), .max_ic = rig_draw(0, 1) * sizes[k], .max_ow = rig_draw(0, 3) == 0 ? 3 : 0};
            rig_reset(&r);
            run_case(&r, &o, &cut, 200);
        }
        rig_close(&r);
    }
}

/* Tasks, slices and segments that see nothing but padding: it counts as the zero-point, not as 0. */
static void padding(void **state) {
    (void)state;
    npu_conv far = shape(30, 3, 2, 3, 255, 3, 255, 255, 1);
    far.dil_h = 100;
    const npu_conv cases[] = {far,
                              shape(3, 3, 5, 7, 1, 1, 1, 9, 1),
                              shape(3, 3, 8, 8, 3, 3, 1, 20, 8),
                              shape(40, 30, 20, 9, 25, 30, 3, 29, 1),
                              shape(90, 100, 12, 12, 70, 81, 3, 60, 12),
                              shape(20000, 3, 5, 5, 3, 3, 7, 3, 1),
                              shape(5, 5, 700, 30, 3, 3, 1, 4, 1)};
    srand(30);
    for (uint32_t k = 0; k < 2; k++) {
        rig r;
        operands o;
        rig_open(&r, k == 0 ? 4 : 32);
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
            o.c = cases[i];
            if (k == 1 && o.c.kw > 144) {
                o.c.groups = o.c.ic = o.c.oc = 2;
            }
            const npu_conv_split off = {.no_resident = true, .max_oh = 1};
            rig_reset(&r);
            run_case(&r, &o, NULL, 300);
            o.c = cases[i];
            o.c.groups = k == 1 && o.c.kw > 144 ? (o.c.ic = o.c.oc = 2) : o.c.groups;
            rig_reset(&r);
            run_case(&r, &o, &off, 300);
        }
        rig_close(&r);
    }
}

/* FP32 -> INT8 -> FP32 with every zero-point at the ends. */
static void conversions(void **state) {
    (void)state;
    static const int8_t zeros[] = {-128, -1, 0, 1, 127};
    rig r;
    rig_open(&r, 8);
    for (uint32_t i = 0; i < 20; i++) {
        float factors[64];
        rig_reset(&r);
        npu_convert to = {.scale = rig_bits(37.5f),
                          .quant = {.in_zero = zeros[i % 5], .to_even = i / 5 % 2 != 0, .full = i / 10 != 0}};
        to.in = rig_tensor(&r, NPU_FP32_NCHW, 9, 7, 13, 1);
        to.out = rig_tensor(&r, NPU_INT8_NHWC, 9, 7, 13, 1);
        rig_fill(&r, &to.in);
        npu_convert back = {.in = to.out, .scale = rig_bits(0.3f), .quant = to.quant};
        back.out = rig_tensor(&r, NPU_FP32_NCHW, 9, 7, 13, 0);
        assert_int_equal(npu_convert_factor_bytes(&to), 0);
        assert_int_equal(npu_convert_factor_bytes(&back), i % 5 == 2 ? 64 : 128);
        assert_int_equal(npu_convert_make_factors(&back, factors, npu_convert_factor_bytes(&back) - 1),
                         NPU_ERR_BUF_SIZE);
        assert_int_equal(npu_convert_make_factors(&back, factors, sizeof factors), NPU_OK);
        back.factor_addr = rig_alloc(&r, sizeof factors, 16);
        memcpy(rig_at(&r, back.factor_addr), factors, npu_convert_factor_bytes(&back));
        assert_int_equal(npu_convert_run(&r.dev, &to), NPU_OK);
        assert_int_equal(npu_convert_run(&r.dev, &back), NPU_OK);
        for (uint32_t e = 0; e < 9 * 7 * 13; e++) {
            const uint32_t c = e / 63, y = e / 9 % 7, x = e % 9;
            const uint32_t v = cm_fp_mul(rig_word(&r, rig_element(&to.in, c, y, x)), to.scale);
            const float f = cm_fp_to_float(v);
            const double whole = f != f ? 0.0 : to.quant.to_even ? rint((double)f) : round((double)f);
            const double sum = whole + to.quant.in_zero, least = to.quant.full ? -128.0 : -127.0;
            const int want = (int)(sum > 127.0 ? 127.0 : sum < least ? least : sum);
            const int got = (int8_t)*rig_at(&r, rig_element(&to.out, c, y, x));
            assert_int_equal(got, want);
            assert_int_equal(rig_word(&r, rig_element(&back.out, c, y, x)),
                             rig_bits((float)(want - to.quant.in_zero) * 0.3f));
        }
        to.quant.out_zero = 1;
        assert_int_equal(npu_convert_run(&r.dev, &to), NPU_ERR_LAYOUT);
    }
    rig_close(&r);
}

static void refused(void **state) {
    (void)state;
    npu_conv c = shape(4, 4, 4, 4, 1, 1, 1, 0, 1);
    npu_conv_plan p;
    float f[4];
    int32_t b[4];
    c.int_bias = true;
    assert_int_equal(npu_conv_plan_make(4, &c, NULL, &p), NPU_ERR_LAYOUT); /* without has_bias */
    c.has_bias = true;
    assert_int_equal(npu_conv_plan_make(4, &c, NULL, &p), NPU_OK);
    const float step[4] = {1.0f, 1.0f, 1.0f, 1.0f};
    const int8_t w[16] = {0};
    assert_int_equal(npu_conv_make_multiplier(&c, &p, 1.0f, step, 1.0f, f, 12), NPU_ERR_BUF_SIZE);
    assert_int_equal(npu_conv_make_multiplier(&c, &p, 1.0f, NULL, 1.0f, f, 16), NPU_ERR_ARG);
    assert_int_equal(npu_conv_fold_bias(&c, &p, w, NULL, b, 12), NPU_ERR_BUF_SIZE);
    assert_int_equal(npu_conv_fold_bias(&c, &p, NULL, NULL, b, 16), NPU_ERR_ARG);
    assert_int_equal(npu_conv_fold_bias(&c, &p, w, NULL, b, 16), NPU_OK);
    assert_int_equal(b[0] | b[1] | b[2] | b[3], 0);
}

/* How often m0 * 2^-s and a factor in FP32, both half away from zero, give other results. */
static void in_integers(void **state) {
    (void)state;
    static const uint32_t bits[] = {24, 15, 8};
    const uint32_t cases = 2000000;
    for (uint32_t k = 0; k < 3; k++) {
        uint32_t differ = 0, largest = 0;
        srand(31);
        for (uint32_t i = 0; i < cases; i++) {
            const float m = (float)(rig_draw(1, 1u << 30)) / (float)(1u << 30) * 0.01f;
            const int32_t acc = (int32_t)(((float)rig_draw(0, 1u << 24) / (float)(1u << 24) * 300.0f - 150.0f) / m);
            const int8_t zero = (int8_t)(rig_draw(0, 255) - 128);
            int64_t m0;
            uint32_t s;
            cm_requant_factor(m, bits[k], &m0, &s);
            const int a = cm_requant_int(acc, m0, s, zero);
            const int b = cm_fp_quantise(cm_fp_mul(cm_fp_i32_to_f32(acc), cm_fp_to_bits(m)), CM_QUANT(1, 0, zero));
            differ += a != b;
            largest = (uint32_t)abs(a - b) > largest ? (uint32_t)abs(a - b) : largest;
        }
        print_message("m0 of %u bits: %u of %u results differ (%.4f %%), by at most %u\n", bits[k], differ, cases,
                      100.0 * differ / cases, largest);
        assert_true(k == 0 ? differ < cases / 10000 : k == 1 ? differ < cases / 100 : differ < cases / 2);
        assert_true(largest <= 1);
    }
    /* half away from zero at every shift; 0 does not round */
    for (uint32_t s = 1; s <= 31; s++) {
        const int32_t half = (int32_t)(UINT32_C(1) << (s - 1));
        assert_int_equal(cm_requant_int(half, 1, s, 0), 1);
        assert_int_equal(cm_requant_int(half - 1, 1, s, 0), 0);
        assert_int_equal(cm_requant_int(-half, 1, s, 0), -1);
        assert_int_equal(cm_requant_int(1 - half, 1, s, 5), 5);
    }
    assert_int_equal(cm_requant_int(-3, 5, 0, 1), -14);
    assert_int_equal(cm_requant_int(INT32_MIN, 1 << 23, 1, 0), -128);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_shapes), cmocka_unit_test(padding),     cmocka_unit_test(conversions),
        cmocka_unit_test(refused),       cmocka_unit_test(in_integers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
