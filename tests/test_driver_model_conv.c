/* test_driver_model_conv.c - convolutions of every kind through the driver on the golden device, against the
 * definition. */
#include "driver_rig.h"

typedef struct operands {
    npu_tensor in, out;
    int8_t *weights; /* [oc][ic/groups][kh][kw] */
    npu_conv c;
    npu_conv_plan p;
} operands;

static int32_t input_at(const rig *r, const operands *o, uint32_t c, uint32_t y, uint32_t x) {
    uint32_t at = rig_element(&o->in, c, y, x);
    if (o->in.layout == NPU_INT8_NHWC) {
        return (int8_t)*rig_at(r, at);
    }
    return cm_fp_f32_to_i8(cm_fp_mul(rig_word(r, at), o->c.in_scale));
}

static int32_t sum_at(const rig *r, const operands *o, uint32_t oc, uint32_t oy, uint32_t ox) {
    const npu_conv *c = &o->c;
    uint32_t icg = c->ic / c->groups;
    uint32_t ic0 = oc / (c->oc / c->groups) * icg;
    int32_t sum = 0;
    for (uint32_t ky = 0; ky < c->kh; ky++) {
        int64_t y = (int64_t)oy * c->stride_h + (int64_t)ky * c->dil_h - c->pad_t;
        for (uint32_t kx = 0; kx < c->kw && y >= 0 && y < c->ih; kx++) {
            int64_t x = (int64_t)ox * c->stride_w + (int64_t)kx * c->dil_w - c->pad_l;
            for (uint32_t i = 0; i < icg && x >= 0 && x < c->iw; i++) {
                sum += input_at(r, o, ic0 + i, (uint32_t)y, (uint32_t)x) *
                       o->weights[((oc * icg + i) * c->kh + ky) * c->kw + kx];
            }
        }
    }
    return sum;
}

static uint32_t result_of(const rig *r, const npu_conv *c, uint32_t oc, int32_t sum) {
    uint32_t params[4];
    uint32_t y = cm_fp_mul(cm_fp_i32_to_f32(sum), rig_word(r, c->oscale_addr + oc * 4));
    if (c->has_bias) {
        y = cm_fp_add(y, rig_word(r, c->bias_addr + oc * 4));
    }
    rig_act(c->act, c->act_p, params);
    return cm_activate(c->act, params, y);
}

static void check_result(const rig *r, const operands *o, uint32_t oc, uint32_t oy, uint32_t ox) {
    uint32_t at = rig_element(&o->out, oc, oy, ox);
    uint32_t y = result_of(r, &o->c, oc, sum_at(r, o, oc, oy, ox));
    uint32_t got = o->out.layout == NPU_INT8_NHWC ? *rig_at(r, at) : rig_word(r, at);
    uint32_t want = o->out.layout == NPU_INT8_NHWC ? (uint8_t)cm_fp_f32_to_i8(cm_fp_mul(y, o->c.out_scale)) : y;
    if (got != want) {
        fail_msg("channel %u row %u column %u: got 0x%08X, the definition gives 0x%08X", oc, oy, ox, got, want);
    }
}

static void put_params(rig *r, operands *o) {
    npu_conv *c = &o->c;
    float *scale = malloc(c->oc * sizeof *scale);
    for (uint32_t i = 0; i < c->oc; i++) {
        scale[i] = rig_draw(0, 9) == 0 ? 0.0f : (float)rig_draw(1, 4000) / 16.0f;
    }
    c->oscale_addr = rig_alloc(r, o->p.param_bytes, 16);
    c->bias_addr = rig_alloc(r, o->p.param_bytes, 16);
    float *oscale = malloc(o->p.param_bytes);
    assert_int_equal(npu_conv_make_oscale(c, &o->p, scale, oscale, o->p.param_bytes), NPU_OK);
    memcpy(rig_at(r, c->oscale_addr), oscale, o->p.param_bytes);
    for (uint32_t i = 0; i < c->oc; i++) {
        rig_set(r, c->bias_addr + i * 4, rig_bits(((float)rig_draw(0, 200) - 100.0f) / 32.0f));
    }
    free(scale);
    free(oscale);
}

static void draw_act(npu_conv *c) {
    c->act = (npu_act)rig_draw(0, NPU_ACT_COUNT - 1);
    c->act_p[0] = rig_bits(c->act == NPU_ACT_CLIP ? -1.0f : (float)rig_draw(1, 30) / 20.0f);
    c->act_p[1] = rig_bits((float)rig_draw(0, 40) / 10.0f);
    c->has_bias = rig_draw(0, 1) == 1;
    c->in_scale = rig_bits((float)rig_draw(1, 640) / 8.0f);
    c->out_scale = rig_bits((float)rig_draw(1, 640) / 64.0f);
}

/* Everything but addresses is in o->c: run it, compare `points` results (0: all of them). */
static void run_case(rig *r, operands *o, const npu_conv_split *split, uint32_t points) {
    npu_conv *c = &o->c;
    uint32_t filter = c->ic / c->groups * c->kh * c->kw;
    assert_int_equal(npu_conv_plan_make(r->dev.n, c, split, &o->p), NPU_OK);
    o->in = rig_tensor(r, c->in_layout, c->iw, c->ih, c->ic, rig_draw(0, 2));
    o->out = rig_tensor(r, c->out_layout, o->p.ow, o->p.oh, c->oc, rig_draw(0, 2));
    rig_fill(r, &o->in);
    draw_act(c);
    put_params(r, o);
    o->weights = malloc((size_t)c->oc * filter);
    for (size_t i = 0; i < (size_t)c->oc * filter; i++) {
        o->weights[i] = (int8_t)(rig_draw(0, 254) - 127);
    }
    c->wgt_addr = rig_alloc(r, o->p.wgt_bytes, 16);
    assert_int_equal(npu_conv_pack_weights(c, &o->p, o->weights, (int8_t *)rig_at(r, c->wgt_addr), o->p.wgt_bytes),
                     NPU_OK);
    c->scratch_bytes = o->p.scratch_bytes;
    c->scratch_addr = rig_alloc(r, c->scratch_bytes, 16);
    c->ifm_addr = o->in.addr;
    c->ifm_cstep = o->in.step;
    c->ofm_addr = o->out.addr;
    c->ofm_cstep = o->out.step;
    assert_int_equal(npu_conv_run(&r->dev, c, &o->p), NPU_OK);
    uint32_t all = o->p.ow * o->p.oh * c->oc;
    for (uint32_t i = 0; i < (points == 0 || points > all ? all : points); i++) {
        uint32_t at = points == 0 || points > all ? i : rig_draw(0, all - 1);
        check_result(r, o, at / (o->p.ow * o->p.oh), at / o->p.ow % o->p.oh, at % o->p.ow);
    }
    rig_check_gaps(r, &o->out);
    for (uint32_t i = 0; i < 32; i++) {
        assert_int_equal(*rig_at(r, c->scratch_addr + c->scratch_bytes + i), RIG_GUARD);
    }
    free(o->weights);
}

/* Any shape whose definition takes no more than about a million products. */
static npu_conv draw_shape(int i) {
    uint32_t big = i % 6 == 0 ? 16 : 5;
    npu_conv c = {.iw = rig_draw(1, i % 5 == 0 ? 60 : 14),
                  .ih = rig_draw(1, i % 7 == 0 ? 40 : 12),
                  .ic = rig_draw(1, i % 3 == 0 ? 80 : 20),
                  .oc = rig_draw(1, i % 3 == 1 ? 80 : 20),
                  .kw = rig_draw(1, big),
                  .kh = rig_draw(1, big),
                  .stride_w = rig_draw(1, rig_draw(1, i % 10 == 0 ? 20 : 3)),
                  .stride_h = rig_draw(1, rig_draw(1, i % 10 == 3 ? 20 : 3)),
                  .dil_w = rig_draw(1, rig_draw(1, 4)),
                  .dil_h = rig_draw(1, rig_draw(1, 4)),
                  .groups = 1,
                  .in_layout = (npu_layout)rig_draw(0, 1),
                  .out_layout = (npu_layout)rig_draw(0, 1)};
    c.pad_l = rig_draw(0, i % 8 == 1 ? 30 : 4);
    c.pad_r = rig_draw(0, i % 8 == 2 ? 30 : 4);
    c.pad_t = rig_draw(0, i % 8 == 3 ? 30 : 4);
    c.pad_b = rig_draw(0, i % 8 == 4 ? 30 : 4);
    if (i % 4 == 1) {
        c.groups = rig_draw(2, 12);
        c.ic = c.groups * rig_draw(1, 9);
        c.oc = c.groups * rig_draw(1, 9);
    } else if (i % 4 == 2) {
        c.groups = c.ic = c.oc;
    }
    return c;
}

/* Shapes of this test: with a result, and with not too many products. */
static npu_conv draw_legal(uint32_t n, int i) {
    for (;;) {
        npu_conv c = draw_shape(i);
        npu_conv_plan p;
        npu_status status = npu_conv_plan_make(n, &c, NULL, &p);
        if (status == NPU_OK && (uint64_t)p.ow * p.oh * c.oc * (c.ic / c.groups) * c.kw * c.kh < 1000000) {
            return c;
        }
        assert_true(status == NPU_OK || status == NPU_ERR_TOO_SMALL);
    }
}

static void random_convs(uint32_t n, int count) {
    rig r;
    operands o;
    unsigned batches = 0, scratches = 0, depthwise = 0, kernel_slices = 0, residents = 0, keeps = 0;
    srand(n);
    rig_open(&r, n);
    for (int i = 0; i < count; i++) {
        rig_reset(&r);
        o.c = draw_legal(n, i);
        npu_conv_split split = {.max_ow = (rig_draw(0, 3) == 0) * rig_draw(1, 9),
                                .max_oh = rig_draw(0, 1) * rig_draw(1, 6),
                                .max_ic = rig_draw(0, 1) * rig_draw(n, 3 * n),
                                .max_oc = rig_draw(0, 1) * rig_draw(n, 3 * n),
                                .group = rig_draw(0, 1) * rig_draw(1, 40),
                                .serial = rig_draw(0, 3) == 0,
                                .no_resident = rig_draw(0, 2) == 0};
        run_case(&r, &o, rig_draw(0, 2) == 0 ? NULL : &split, 200);
        batches += o.p.group_tasks > 1;
        scratches += o.p.scratch_bytes != 0;
        depthwise += o.p.op == NPU_GEMM_DEPTHWISE;
        kernel_slices += o.p.kh_tasks > 1;
        residents += o.p.resident && o.p.op == NPU_GEMM_CONV;
        keeps += o.p.resident && o.p.oh_tasks > 1;
    }
    assert_true(batches > 0 && scratches > 0 && depthwise > 0 && kernel_slices > 0);
    assert_true(residents > 10 && keeps > 10);
    rig_close(&r);
}

static void random_n4(void **state) {
    (void)state;
    random_convs(4, 400);
}

static void random_n8(void **state) {
    (void)state;
    random_convs(8, 300);
}

static void random_n16(void **state) {
    (void)state;
    random_convs(16, 200);
}

static void random_n32(void **state) {
    (void)state;
    random_convs(32, 400);
}

/* ---- shapes that need a certain way ---- */

static npu_conv shape(uint32_t iw, uint32_t ih, uint32_t ic, uint32_t oc, uint32_t kw, uint32_t kh, uint32_t stride,
                      uint32_t pad) {
    npu_conv c = {.iw = iw, .ih = ih, .ic = ic, .oc = oc, .kw = kw, .kh = kh, .stride_w = stride, .stride_h = stride};
    c.dil_w = c.dil_h = c.groups = 1;
    c.pad_l = c.pad_r = c.pad_t = c.pad_b = pad;
    return c;
}

static npu_conv with(npu_conv c, npu_layout in, npu_layout out, uint32_t groups) {
    c.in_layout = in;
    c.out_layout = out;
    c.groups = groups;
    return c;
}

static void directed(void **state) {
    (void)state;
    npu_conv far = shape(30, 3, 2, 3, 255, 3, 255, 255); /* most windows in the padding altogether */
    far.dil_h = 100;
    npu_conv dilated = shape(300, 300, 1, 1, 2, 3, 90, 0); /* the kernel spans more rows than fit */
    dilated.dil_h = 120;
    dilated.dil_w = 250;
    const npu_conv cases[] = {
        shape(12, 12, 5, 7, 11, 11, 1, 5),
        /* kernel rows in slices, sums in scratch */
        with(shape(40, 30, 20, 9, 25, 30, 3, 20), NPU_FP32_NCHW, NPU_INT8_NHWC, 1),
        with(shape(90, 100, 12, 12, 70, 81, 3, 0), NPU_INT8_NHWC, NPU_INT8_NHWC, 12), /* depthwise, 5670 taps */
        far,
        with(far, NPU_INT8_NHWC, NPU_INT8_NHWC, 1),
        dilated,
        with(shape(20000, 3, 5, 5, 3, 3, 7, 1), NPU_INT8_NHWC, NPU_INT8_NHWC, 1), /* segments of rows */
        with(shape(17000, 4, 5, 5, 3, 3, 9, 1), NPU_FP32_NCHW, NPU_FP32_NCHW, 5), /* segments of rows, depthwise */
        /* more than 1024 output channels */
        with(shape(30, 400, 4, 1500, 1, 1, 13, 0), NPU_FP32_NCHW, NPU_INT8_NHWC, 1),
        /* two blocks of rows, weights kept */
        with(shape(300, 300, 6, 6, 3, 3, 1, 1), NPU_INT8_NHWC, NPU_FP32_NCHW, 6),
        with(shape(5, 5, 700, 30, 3, 3, 1, 1), NPU_INT8_NHWC, NPU_INT8_NHWC, 1), /* slices of input channels */
        with(shape(1, 1, 1300, 33, 1, 1, 1, 0), NPU_INT8_NHWC, NPU_INT8_NHWC, 1),
        with(shape(1, 1, 33, 33, 1, 1, 1, 0), NPU_FP32_NCHW, NPU_FP32_NCHW, 33),
    };
    static const uint32_t sizes[] = {4, 32};
    for (uint32_t k = 0; k < 2; k++) {
        rig r;
        operands o;
        rig_open(&r, sizes[k]);
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
            o.c = cases[i];
            if (sizes[k] == 32 && o.c.kw > 144) {
                o.c.groups = o.c.ic = o.c.oc = 2;
            }
            rig_reset(&r);
            run_case(&r, &o, NULL, 300);
            const npu_conv_split off = {.no_resident = true, .max_oc = r.dev.n};
            rig_reset(&r);
            run_case(&r, &o, &off, 300);
        }
        rig_close(&r);
    }
}

/* Concat and slices by addressing: input and output are channels of one and the same NHWC buffer. */
static void shared_buffer(void **state) {
    (void)state;
    rig r;
    operands o = {.c = with(shape(6, 5, 8, 4, 3, 3, 1, 1), NPU_INT8_NHWC, NPU_INT8_NHWC, 1)};
    npu_conv *c = &o.c;
    srand(3);
    rig_open(&r, 4);
    rig_reset(&r);
    assert_int_equal(npu_conv_plan_make(4, c, NULL, &o.p), NPU_OK);
    npu_tensor whole = rig_tensor(&r, NPU_INT8_NHWC, 6, 5, 20, 0);
    rig_fill(&r, &whole);
    uint8_t before[6 * 5 * 20];
    memcpy(before, rig_at(&r, whole.addr), sizeof before);
    o.in = whole;
    o.in.c = 8;
    o.out = whole;
    o.out.addr += 12;
    o.out.c = 4;
    draw_act(c);
    put_params(&r, &o);
    o.weights = malloc(4 * 8 * 9);
    for (size_t i = 0; i < 4 * 8 * 9; i++) {
        o.weights[i] = (int8_t)(rig_draw(0, 254) - 127);
    }
    c->wgt_addr = rig_alloc(&r, o.p.wgt_bytes, 16);
    assert_int_equal(npu_conv_pack_weights(c, &o.p, o.weights, (int8_t *)rig_at(&r, c->wgt_addr), o.p.wgt_bytes),
                     NPU_OK);
    c->ifm_addr = whole.addr;
    c->ofm_addr = whole.addr + 8 - 4; /* its first channels are input channels */
    c->ifm_cstep = c->ofm_cstep = whole.step;
    assert_int_equal(npu_conv_run(&r.dev, c, &o.p), NPU_ERR_OVERLAP);
    npu_tensor tail = o.in;
    tail.addr += 16; /* its last channels are the first of the next pixel */
    assert_int_equal(npu_copy_run(&r.dev, &o.in, &tail), NPU_ERR_OVERLAP);
    c->ofm_addr = whole.addr + 12;
    assert_int_equal(npu_conv_run(&r.dev, c, &o.p), NPU_OK);
    for (uint32_t i = 0; i < 6 * 5 * 4; i++) {
        check_result(&r, &o, i / 30, i / 6 % 5, i % 6);
    }
    for (uint32_t i = 0; i < sizeof before; i++) {
        if (i % 20 < 12 || i % 20 >= 16) {
            assert_int_equal(*rig_at(&r, whole.addr + i), before[i]);
        }
    }
    free(o.weights);
    rig_close(&r);
}

/* ---- fully connected ---- */

static void linear_case(rig *r, uint32_t in_len, uint32_t out_len, npu_layout in, npu_layout out) {
    operands o;
    npu_conv *c = &o.c;
    rig_reset(r);
    assert_int_equal(npu_linear_make(r->dev.n, in_len, out_len, in, out, c), NPU_OK);
    assert_int_equal(npu_conv_plan_make(r->dev.n, c, NULL, &o.p), NPU_OK);
    npu_tensor x = {.w = in == NPU_INT8_NHWC ? 1 : in_len,
                    .h = 1,
                    .c = in == NPU_INT8_NHWC ? in_len : 1,
                    .layout = in,
                    .step = c->ifm_cstep};
    x.addr = rig_alloc(r, rig_up(in_len * 4, 16) + r->dev.n, 32);
    o.out = rig_tensor(r, out, 1, 1, out_len, 0);
    rig_fill(r, &x);
    for (uint32_t i = in_len; i % 4 != 0 && in == NPU_FP32_NCHW; i++) {
        rig_set(r, x.addr + i * 4, rig_bits(100.0f)); /* what lies behind the vector is read and does not count */
    }
    draw_act(c);
    put_params(r, &o);
    int8_t *w = malloc((size_t)in_len * out_len);
    for (size_t i = 0; i < (size_t)in_len * out_len; i++) {
        w[i] = (int8_t)(rig_draw(0, 254) - 127);
    }
    c->wgt_addr = rig_alloc(r, o.p.wgt_bytes, 16);
    assert_int_equal(npu_linear_pack_weights(c, &o.p, in_len, w, (int8_t *)rig_at(r, c->wgt_addr), o.p.wgt_bytes),
                     NPU_OK);
    c->ifm_addr = x.addr;
    c->ofm_addr = o.out.addr;
    c->scratch_bytes = o.p.scratch_bytes;
    c->scratch_addr = rig_alloc(r, o.p.scratch_bytes, 16);
    assert_int_equal(npu_conv_run(&r->dev, c, &o.p), NPU_OK);
    for (uint32_t oc = 0; oc < out_len; oc++) {
        int32_t sum = 0;
        for (uint32_t i = 0; i < in_len; i++) {
            uint32_t at = in == NPU_INT8_NHWC ? x.addr + i : x.addr + i * 4;
            sum += w[(size_t)oc * in_len + i] * (in == NPU_INT8_NHWC
                                                     ? (int8_t)*rig_at(r, at)
                                                     : cm_fp_f32_to_i8(cm_fp_mul(rig_word(r, at), c->in_scale)));
        }
        uint32_t y = result_of(r, c, oc, sum);
        if (out == NPU_INT8_NHWC) {
            assert_int_equal(*rig_at(r, o.out.addr + oc), (uint8_t)cm_fp_f32_to_i8(cm_fp_mul(y, c->out_scale)));
        } else {
            assert_int_equal(rig_word(r, o.out.addr + oc * 4), y);
        }
    }
    rig_check_gaps(r, &o.out);
    free(w);
}

static void linear(void **state) {
    (void)state;
    static const uint32_t sizes[] = {4, 8, 16, 32};
    srand(5);
    for (uint32_t k = 0; k < 4; k++) {
        rig r;
        rig_open(&r, sizes[k]);
        for (uint32_t i = 0; i < 24; i++) {
            linear_case(&r, rig_draw(1, 90), rig_draw(1, 40), (npu_layout)(i % 2), (npu_layout)(i / 2 % 2));
        }
        linear_case(&r, 6001, 35, NPU_FP32_NCHW, NPU_INT8_NHWC); /* slices of the input */
        linear_case(&r, 6001, 35, NPU_INT8_NHWC, NPU_INT8_NHWC);
        linear_case(&r, 20, 1500, NPU_FP32_NCHW, NPU_FP32_NCHW);
        rig_close(&r);
    }
}

static void linear_errors(void **state) {
    (void)state;
    npu_conv c;
    npu_conv_plan p;
    int8_t w[64] = {0};
    int8_t packed[1024];
    assert_int_equal(npu_linear_make(7, 4, 4, NPU_FP32_NCHW, NPU_FP32_NCHW, &c), NPU_ERR_ARG);
    assert_int_equal(npu_linear_make(4, 4, 4, NPU_FP32_NCHW, NPU_FP32_NCHW, NULL), NPU_ERR_ARG);
    assert_int_equal(npu_linear_make(4, 4, 4, (npu_layout)3, NPU_FP32_NCHW, &c), NPU_ERR_ARG);
    assert_int_equal(npu_linear_make(4, 4, 4, NPU_FP32_NCHW, (npu_layout)3, &c), NPU_ERR_ARG);
    assert_int_equal(npu_linear_make(4, 0, 4, NPU_FP32_NCHW, NPU_FP32_NCHW, &c), NPU_ERR_ZERO_SIZE);
    assert_int_equal(npu_linear_make(4, 4, 0, NPU_FP32_NCHW, NPU_FP32_NCHW, &c), NPU_ERR_ZERO_SIZE);
    assert_int_equal(npu_linear_make(4, 262141, 4, NPU_FP32_NCHW, NPU_FP32_NCHW, &c), NPU_ERR_TOO_LARGE);
    assert_int_equal(npu_linear_make(4, 65536, 4, NPU_INT8_NHWC, NPU_FP32_NCHW, &c), NPU_ERR_TOO_LARGE);
    assert_int_equal(npu_linear_make(4, 4, 65536, NPU_FP32_NCHW, NPU_FP32_NCHW, &c), NPU_ERR_TOO_LARGE);
    assert_int_equal(npu_linear_make(4, 9, 4, NPU_FP32_NCHW, NPU_FP32_NCHW, &c), NPU_OK);
    assert_int_equal(npu_conv_plan_make(4, &c, NULL, &p), NPU_OK);
    assert_int_equal(npu_linear_pack_weights(&c, &p, 9, w, packed, p.wgt_bytes - 1), NPU_ERR_BUF_SIZE);
    assert_int_equal(npu_linear_pack_weights(&c, &p, 8, w, packed, sizeof packed), NPU_ERR_SHAPE);
    assert_int_equal(npu_linear_pack_weights(&c, &p, 13, w, packed, sizeof packed), NPU_ERR_SHAPE);
    assert_int_equal(npu_linear_pack_weights(NULL, &p, 9, w, packed, sizeof packed), NPU_ERR_ARG);
    assert_int_equal(npu_linear_pack_weights(&c, &p, 12, w, packed, sizeof packed), NPU_OK);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_n4),  cmocka_unit_test(random_n8),     cmocka_unit_test(random_n16),
        cmocka_unit_test(random_n32), cmocka_unit_test(directed),      cmocka_unit_test(shared_buffer),
        cmocka_unit_test(linear),     cmocka_unit_test(linear_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
