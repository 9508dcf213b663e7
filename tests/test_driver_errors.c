/* test_driver_errors.c - what every operator refuses, with which status, before it touches the device.
 * docs/npu/driver.md has the table. */
#include "mock_npu.h"

#define IN 0x10000000u
#define OUT 0x20000000u
#define AUX 0x30000000u

/* A device that nothing may touch: the script is empty. */
typedef struct quiet {
    mock_npu mock;
    npu dev;
} quiet;

static void quiet_open(quiet *q) {
    mock_init(&q->mock);
    q->dev = mock_device(&q->mock, NPU_WAIT_IRQ); /* N = 8 */
}

static npu_tensor fp32(uint32_t addr, uint32_t w, uint32_t h, uint32_t c) {
    return (npu_tensor){.addr = addr,
                        .step = w * h == 1 ? 4 : (w * h * 4 + 15) / 16 * 16,
                        .w = w,
                        .h = h,
                        .c = c,
                        .layout = NPU_FP32_NCHW};
}

static npu_tensor int8(uint32_t addr, uint32_t w, uint32_t h, uint32_t c) {
    return (npu_tensor){.addr = addr, .step = (c + 7) / 8 * 8, .w = w, .h = h, .c = c, .layout = NPU_INT8_NHWC};
}

/* The operator is legal as it stands: it gets as far as the first register access. */
static void expect_legal(quiet *q, npu_status (*run)(npu *dev, const void *op), const void *op) {
    quiet_open(q);
    mock_add(&q->mock, MOCK_READ, NPU_REG_STATUS, 0, NPU_HAL_FAULT);
    assert_int_equal(run(&q->dev, op), NPU_ERR_HAL);
    mock_done(&q->mock);
}

#define CASE(type, make, run, want, change)                                                                            \
    do {                                                                                                               \
        quiet q;                                                                                                       \
        type o = make;                                                                                                 \
        expect_legal(&q, run, &o);                                                                                     \
        quiet_open(&q);                                                                                                \
        change;                                                                                                        \
        assert_int_equal(run(&q.dev, &o), want);                                                                       \
        mock_done(&q.mock);                                                                                            \
    } while (0)

/* ---- convolution beyond plain FP32 ---- */

typedef struct conv_op {
    npu_conv c;
    npu_conv_plan p;
} conv_op;

static npu_status run_conv(npu *dev, const void *op) {
    const conv_op *o = op;
    return npu_conv_run(dev, &o->c, &o->p);
}

/* INT8 in and out; kernel rows in two slices, so a scratch buffer is needed. */
static conv_op int8_conv(void) {
    conv_op o = {.c = {.iw = 60,
                       .ih = 60,
                       .ic = 12,
                       .oc = 20,
                       .kw = 40,
                       .kh = 20,
                       .stride_w = 1,
                       .stride_h = 1,
                       .dil_w = 1,
                       .dil_h = 1,
                       .groups = 1}};
    o.c.in_layout = o.c.out_layout = NPU_INT8_NHWC;
    o.c.ifm_addr = IN;
    o.c.ifm_cstep = 16;
    o.c.ofm_addr = OUT;
    o.c.ofm_cstep = 24;
    o.c.wgt_addr = AUX;
    o.c.oscale_addr = AUX + 0x1000000;
    assert_int_equal(npu_conv_plan_make(8, &o.c, NULL, &o.p), NPU_OK);
    assert_true(o.p.scratch_bytes > 0);
    o.c.scratch_addr = AUX + 0x2000000;
    o.c.scratch_bytes = o.p.scratch_bytes;
    return o;
}

#define CONV(want, change) CASE(conv_op, int8_conv(), run_conv, want, change)

static void conv_errors(void **state) {
    (void)state;
    CONV(NPU_ERR_ALIGN, o.c.ifm_addr += 4);
    CONV(NPU_ERR_ALIGN, o.c.ifm_cstep += 4);
    CONV(NPU_ERR_ALIGN, o.c.ofm_addr += 4);
    CONV(NPU_ERR_ALIGN, o.c.ofm_cstep += 4);
    CONV(NPU_ERR_ALIGN, o.c.scratch_addr += 4);
    CONV(NPU_ERR_CSTEP, o.c.ifm_cstep = 8);
    CONV(NPU_ERR_CSTEP, o.c.ofm_cstep = 16);
    CONV(NPU_ERR_SCRATCH, o.c.scratch_bytes--);
    CONV(NPU_ERR_SCRATCH, o.c.scratch_bytes = 0);
    CONV(NPU_ERR_OVERLAP, o.c.scratch_addr = IN);
    CONV(NPU_ERR_OVERLAP, o.c.scratch_addr = OUT - 16);
    CONV(NPU_ERR_OVERLAP, o.c.scratch_addr = AUX);
    CONV(NPU_ERR_OVERLAP, o.c.ofm_addr = IN);
    CONV(NPU_ERR_ADDR_OVERFLOW, o.c.scratch_addr = 0xFFFFFF00u);
    CONV(NPU_ERR_ADDR_OVERFLOW, o.c.ifm_cstep = 0x8000000u);
    CONV(NPU_ERR_ADDR_OVERFLOW, o.c.ofm_addr = 0xFFFFFFF8u);
    CONV(NPU_ERR_GROUPS, o.c.groups = 5);
    CONV(NPU_ERR_SPLIT, o.c.groups = 4); /* not the plan of this convolution */
    CONV(NPU_ERR_ACT, o.c.act = NPU_ACT_COUNT);
    CONV(NPU_ERR_ACT, o.c.act = NPU_ACT_HARDSWISH);
    CONV(NPU_ERR_ARG, o.c.in_layout = (npu_layout)7);
    /* the last channel of a plane of one pixel may end with the address space */
    quiet q;
    conv_op o = int8_conv();
    o.c.scratch_addr = 0u - (o.p.scratch_bytes + 15) / 16 * 16;
    expect_legal(&q, run_conv, &o);
}

/* ---- convert ---- */

static npu_status run_convert(npu *dev, const void *op) {
    return npu_convert_run(dev, op);
}

static npu_convert dequantise(void) {
    return (npu_convert){
        .in = int8(IN, 10, 10, 12), .out = fp32(OUT, 10, 10, 12), .factor_addr = AUX, .scale = 0x3F800000u};
}

#define CONVERT(want, change) CASE(npu_convert, dequantise(), run_convert, want, change)

static void convert_errors(void **state) {
    (void)state;
    CONVERT(NPU_ERR_ARG, o.in.layout = (npu_layout)3);
    CONVERT(NPU_ERR_ARG, o.out.layout = (npu_layout)3);
    CONVERT(NPU_ERR_LAYOUT, o.out = int8(OUT, 10, 10, 12));
    CONVERT(NPU_ERR_LAYOUT, o.in = fp32(IN, 10, 10, 12));
    CONVERT(NPU_ERR_ZERO_SIZE, o.in.w = 0);
    CONVERT(NPU_ERR_ZERO_SIZE, o.in.c = 0);
    CONVERT(NPU_ERR_ZERO_SIZE, o.out.h = 0);
    CONVERT(NPU_ERR_TOO_LARGE, o.in.c = 65536);
    CONVERT(NPU_ERR_TOO_LARGE, o.out.w = 65536);
    CONVERT(NPU_ERR_SHAPE, o.out.w = 9);
    CONVERT(NPU_ERR_SHAPE, o.out.h = 9);
    CONVERT(NPU_ERR_SHAPE, o.out.c = 11);
    CONVERT(NPU_ERR_ALIGN, o.in.addr += 4);
    CONVERT(NPU_ERR_ALIGN, o.in.step += 4);
    CONVERT(NPU_ERR_ALIGN, o.out.addr += 2);
    CONVERT(NPU_ERR_ALIGN, o.out.step += 8);
    CONVERT(NPU_ERR_ALIGN, o.factor_addr += 4);
    CONVERT(NPU_ERR_CSTEP, o.in.step = 8);
    CONVERT(NPU_ERR_CSTEP, o.out.step = 384);
    CONVERT(NPU_ERR_ADDR_OVERFLOW, o.out.addr = 0xFFFFFF00u);
    CONVERT(NPU_ERR_ADDR_OVERFLOW, o.factor_addr = 0xFFFFFFE0u);
    CONVERT(NPU_ERR_OVERLAP, o.out.addr = IN);
    CONVERT(NPU_ERR_OVERLAP, o.factor_addr = OUT + 16);
    npu_convert cv = dequantise();
    float factors[12];
    assert_int_equal(npu_convert_make_factors(NULL, factors, sizeof factors), NPU_ERR_ARG);
    assert_int_equal(npu_convert_make_factors(&cv, NULL, sizeof factors), NPU_ERR_ARG);
    assert_int_equal(npu_convert_make_factors(&cv, factors, sizeof factors - 1), NPU_ERR_BUF_SIZE);
    cv.in.layout = NPU_FP32_NCHW;
    assert_int_equal(npu_convert_make_factors(&cv, factors, sizeof factors), NPU_ERR_LAYOUT);
}

/* ---- pooling ---- */

static npu_status run_pool(npu *dev, const void *op) {
    return npu_pool_run(dev, op);
}

static npu_pool average(void) {
    npu_pool p = {
        .in = fp32(IN, 10, 10, 12), .out = fp32(OUT, 5, 5, 12), .type = NPU_POOL_CTRL_TYPE_AVG, .exclude_pad = true};
    p.kw = p.kh = 3;
    p.stride_w = p.stride_h = 2;
    p.pad_l = p.pad_r = p.pad_t = p.pad_b = 1;
    p.table_addr = AUX;
    p.table_bytes = 36;
    return p;
}

#define POOL(want, change) CASE(npu_pool, average(), run_pool, want, change)

static void pool_errors(void **state) {
    (void)state;
    POOL(NPU_ERR_ARG, o.in.layout = (npu_layout)3);
    POOL(NPU_ERR_ARG, o.type = NPU_POOL_CTRL_TYPE_COUNT);
    POOL(NPU_ERR_ARG, (o.sum = true, o.type = NPU_POOL_CTRL_TYPE_MAX));
    POOL(NPU_ERR_ARG, (o.sum = true, o.global = true));
    POOL(NPU_ERR_ARG, (o.sum = true, o.in = int8(IN, 10, 10, 12), o.out = int8(OUT, 5, 5, 12)));
    POOL(NPU_ERR_LAYOUT, o.out = int8(OUT, 5, 5, 12));
    POOL(NPU_ERR_ZERO_SIZE, o.in.h = 0);
    POOL(NPU_ERR_ZERO_SIZE, o.kw = 0);
    POOL(NPU_ERR_ZERO_SIZE, o.kh = 0);
    POOL(NPU_ERR_ZERO_SIZE, o.stride_w = 0);
    POOL(NPU_ERR_ZERO_SIZE, o.stride_h = 0);
    POOL(NPU_ERR_ZERO_SIZE, o.out.w = 0);
    POOL(NPU_ERR_TOO_LARGE, o.in.w = 65536);
    POOL(NPU_ERR_KERNEL, o.kw = 256);
    POOL(NPU_ERR_KERNEL, o.kh = 256);
    POOL(NPU_ERR_STRIDE, o.stride_w = 256);
    POOL(NPU_ERR_STRIDE, o.stride_h = 256);
    POOL(NPU_ERR_PADDING, o.pad_l = 3);
    POOL(NPU_ERR_PADDING, o.pad_r = 3);
    POOL(NPU_ERR_PADDING, o.pad_t = 3);
    POOL(NPU_ERR_PADDING, o.pad_b = 3);
    POOL(NPU_ERR_TOO_SMALL, o.kw = 200);
    POOL(NPU_ERR_SHAPE, o.out.w = 4);
    POOL(NPU_ERR_SHAPE, o.out.h = 4);
    POOL(NPU_ERR_SHAPE, o.out.c = 11);
    POOL(NPU_ERR_SHAPE, o.out = fp32(OUT, 6, 5, 12)); /* one window more, which still begins in the map */
    POOL(NPU_ERR_EMPTY_WINDOW, o.out = fp32(OUT, 7, 5, 12));
    POOL(NPU_ERR_EMPTY_WINDOW, o.out = fp32(OUT, 5, 7, 12));
    POOL(NPU_ERR_BUF_SIZE, o.table_bytes = 35);
    POOL(NPU_ERR_ALIGN, o.table_addr += 2);
    POOL(NPU_ERR_ALIGN, o.in.addr += 2);
    POOL(NPU_ERR_ALIGN, o.out.step += 4);
    POOL(NPU_ERR_CSTEP, o.out.step = 96);
    POOL(NPU_ERR_OVERLAP, o.out.addr = IN + 64);
    POOL(NPU_ERR_OVERLAP, o.table_addr = OUT);
    POOL(NPU_ERR_ADDR_OVERFLOW, o.table_addr = 0xFFFFFFF0u);
    POOL(NPU_ERR_NO_UNIT, q.dev.units = 1u << NPU_UNIT_GEMM | 1u << NPU_UNIT_ALU);
    /* global: the window is the map */
    POOL(NPU_ERR_KERNEL,
         (o.type = NPU_POOL_CTRL_TYPE_MAX, o.global = true, o.in = fp32(IN, 256, 10, 12), o.out = fp32(OUT, 1, 1, 12)));
    POOL(NPU_ERR_SHAPE, o.global = true);
    POOL(NPU_ERR_NO_UNIT,
         (o.global = true, o.out = fp32(OUT, 1, 1, 12), q.dev.units = 1u << NPU_UNIT_POOL | 1u << NPU_UNIT_GEMM));
}

static void pool_helpers(void **state) {
    (void)state;
    npu_pool p = average();
    uint32_t w = 0, h = 0;
    float table[9];
    assert_int_equal(npu_pool_shape(NULL, &w, &h), NPU_ERR_ARG);
    assert_int_equal(npu_pool_shape(&p, NULL, &h), NPU_ERR_ARG);
    assert_int_equal(npu_pool_shape(&p, &w, NULL), NPU_ERR_ARG);
    assert_int_equal(npu_pool_table_bytes(NULL, &w), NPU_ERR_ARG);
    assert_int_equal(npu_pool_table_bytes(&p, NULL), NPU_ERR_ARG);
    assert_int_equal(npu_pool_make_table(NULL, table, sizeof table), NPU_ERR_ARG);
    assert_int_equal(npu_pool_make_table(&p, NULL, sizeof table), NPU_ERR_ARG);
    assert_int_equal(npu_pool_make_table(&p, table, sizeof table - 1), NPU_ERR_BUF_SIZE);
    assert_int_equal(npu_pool_make_table(&p, table, sizeof table), NPU_OK);
    assert_true(table[0] == 1.0f && table[5] == 1.0f / 6.0f && table[8] == 1.0f / 9.0f);
    assert_int_equal(npu_pool_table_bytes(&p, &w), NPU_OK);
    assert_int_equal(w, 36);
    p.pad_l = p.pad_r = p.pad_t = p.pad_b = 0; /* no window is cut: no table */
    assert_int_equal(npu_pool_table_bytes(&p, &w), NPU_OK);
    assert_int_equal(w, 0);
    p.ceil_mode = true;
    assert_int_equal(npu_pool_table_bytes(&p, &w), NPU_OK);
    assert_int_equal(w, 36);
    p.kw = 0;
    assert_int_equal(npu_pool_table_bytes(&p, &w), NPU_ERR_ZERO_SIZE);
}

/* ---- ALU ---- */

static npu_status run_eltwise(npu *dev, const void *op) {
    return npu_eltwise_run(dev, op);
}

static npu_eltwise muladd(void) {
    return (npu_eltwise){.op = NPU_ALU_MULADD,
                         .p_kind = NPU_VECTOR,
                         .q_kind = NPU_CHANNEL,
                         .a = fp32(IN, 10, 9, 12),
                         .b = fp32(IN + 0x1000000, 10, 9, 12),
                         .out = fp32(OUT, 10, 9, 12),
                         .q_addr = AUX};
}

#define ELTWISE(want, change) CASE(npu_eltwise, muladd(), run_eltwise, want, change)

static void eltwise_errors(void **state) {
    (void)state;
    ELTWISE(NPU_ERR_ARG, o.op = NPU_ALU_OP_COUNT);
    ELTWISE(NPU_ERR_ARG, o.op = NPU_ALU_DOT);
    ELTWISE(NPU_ERR_ARG, o.op = NPU_ALU_SUM);
    ELTWISE(NPU_ERR_ARG, o.op = NPU_ALU_RMAX);
    ELTWISE(NPU_ERR_ARG, o.op = NPU_ALU_SUMSQ);
    ELTWISE(NPU_ERR_ARG, o.func = NPU_FUNC_COUNT);
    ELTWISE(NPU_ERR_ACT, (o.func = NPU_FUNC_EXP, o.act = NPU_ACT_RELU));
    ELTWISE(NPU_ERR_LAYOUT, (o.op = NPU_ALU_ADD_I32, o.func = NPU_FUNC_RSQRT));
    ELTWISE(NPU_ERR_ARG, o.p_kind = (npu_operand)3);
    ELTWISE(NPU_ERR_ARG, o.q_kind = (npu_operand)3);
    ELTWISE(NPU_ERR_LAYOUT, o.q_kind = NPU_VECTOR);
    ELTWISE(NPU_ERR_LAYOUT, o.a = o.b = o.out = int8(IN, 10, 9, 12));
    ELTWISE(NPU_ERR_LAYOUT, o.b = int8(IN + 0x1000000, 10, 9, 12));
    ELTWISE(NPU_ERR_LAYOUT, (o.op = NPU_ALU_ADD_I32, o.act = NPU_ACT_RELU));
    ELTWISE(NPU_ERR_ACT, o.act = (npu_act)99);
    ELTWISE(NPU_ERR_ACT, o.act = NPU_ACT_HARDSIGMOID);
    ELTWISE(NPU_ERR_SHAPE, o.b.w = 9);
    ELTWISE(NPU_ERR_SHAPE, o.out.c = 11);
    ELTWISE(NPU_ERR_ZERO_SIZE, o.a.w = 0);
    ELTWISE(NPU_ERR_ZERO_SIZE, o.b.c = 0);
    ELTWISE(NPU_ERR_TOO_LARGE, o.a.h = 70000);
    ELTWISE(NPU_ERR_ALIGN, o.q_addr += 2);
    ELTWISE(NPU_ERR_ALIGN, o.b.addr += 1);
    ELTWISE(NPU_ERR_CSTEP, o.b.step = 352);
    ELTWISE(NPU_ERR_ADDR_OVERFLOW, o.q_addr = 0xFFFFFFE0u);
    ELTWISE(NPU_ERR_OVERLAP, o.out.addr = IN + 4);
    ELTWISE(NPU_ERR_OVERLAP, (o.out.addr = IN, o.out.step += 16)); /* the same place, other steps */
    ELTWISE(NPU_ERR_OVERLAP, o.q_addr = OUT + 4000);
    ELTWISE(NPU_ERR_NO_UNIT, q.dev.units = 1u << NPU_UNIT_GEMM);
    /* what is not used is not looked at; exactly in place is legal, on either operand */
    quiet q;
    npu_eltwise o = muladd();
    o.op = NPU_ALU_ABS;
    o.p_kind = (npu_operand)77;
    o.q_addr = 1;
    o.b.addr = 3;
    expect_legal(&q, run_eltwise, &o);
    o = muladd();
    o.func = NPU_FUNC_RECIP;
    o.out = o.a;
    expect_legal(&q, run_eltwise, &o);
    o.out = o.b;
    expect_legal(&q, run_eltwise, &o);
}

typedef struct dot_op {
    uint32_t a, b, len, out;
} dot_op;

static npu_status run_dot(npu *dev, const void *op) {
    const dot_op *o = op;
    uint32_t result;
    return npu_dot_run(dev, o->a, o->b, o->len, 0x3F800000u, o->out, &result);
}

#define DOT(want, change) CASE(dot_op, ((dot_op){IN, AUX, 1000, OUT}), run_dot, want, change)

typedef struct average_op {
    npu_tensor in;
    uint32_t out, step;
} average_op;

static npu_status run_average(npu *dev, const void *op) {
    const average_op *o = op;
    return npu_global_average_run(dev, &o->in, o->out, o->step);
}

static average_op average_all(void) {
    return (average_op){.in = fp32(IN, 10, 9, 12), .out = OUT, .step = 4};
}

#define AVERAGE(want, change) CASE(average_op, average_all(), run_average, want, change)

static void reduction_errors(void **state) {
    (void)state;
    DOT(NPU_ERR_ZERO_SIZE, o.len = 0);
    DOT(NPU_ERR_TOO_LARGE, o.len = 0x1000000u);
    DOT(NPU_ERR_ALIGN, o.a++);
    DOT(NPU_ERR_ALIGN, o.b += 2);
    DOT(NPU_ERR_ALIGN, o.out += 3);
    DOT(NPU_ERR_OVERLAP, o.out = IN + 3996);
    DOT(NPU_ERR_OVERLAP, o.out = AUX);
    DOT(NPU_ERR_ADDR_OVERFLOW, o.a = 0xFFFFFF00u);
    DOT(NPU_ERR_NO_UNIT, q.dev.units = 4);
    quiet q;
    quiet_open(&q);
    assert_int_equal(npu_dot_run(&q.dev, IN, AUX, 4, 0, OUT, NULL), NPU_ERR_ARG);
}

static npu_status run_rows(npu *dev, const void *op) {
    return npu_rows_run(dev, op);
}

static npu_rows layer_norm(void) {
    return (npu_rows){.kind = NPU_ROWS_LAYER_NORM,
                      .rows = 50,
                      .cols = 33,
                      .in_addr = IN,
                      .in_step = 132,
                      .out_addr = OUT,
                      .out_step = 140,
                      .gamma_addr = AUX,
                      .beta_addr = AUX + 0x1000,
                      .scratch_addr = AUX + 0x2000,
                      .scratch_bytes = 208};
}

#define ROWS(want, change) CASE(npu_rows, layer_norm(), run_rows, want, change)

static void rows_errors(void **state) {
    (void)state;
    ROWS(NPU_ERR_ARG, o.kind = NPU_ROWS_KINDS);
    ROWS(NPU_ERR_ZERO_SIZE, o.rows = 0);
    ROWS(NPU_ERR_ZERO_SIZE, o.cols = 0);
    ROWS(NPU_ERR_TOO_LARGE, o.rows = 65536);
    ROWS(NPU_ERR_TOO_LARGE, o.cols = 0x1000000u);
    ROWS(NPU_ERR_ALIGN, o.in_addr += 2);
    ROWS(NPU_ERR_ALIGN, o.in_step += 1);
    ROWS(NPU_ERR_ALIGN, o.out_addr += 3);
    ROWS(NPU_ERR_ALIGN, o.out_step += 2);
    ROWS(NPU_ERR_ALIGN, o.gamma_addr += 1);
    ROWS(NPU_ERR_ALIGN, o.beta_addr += 2);
    ROWS(NPU_ERR_ALIGN, o.scratch_addr += 4);
    ROWS(NPU_ERR_CSTEP, o.in_step = 128);
    ROWS(NPU_ERR_CSTEP, o.out_step = 128);
    ROWS(NPU_ERR_LAYOUT, o.kind = NPU_ROWS_SOFTMAX);
    ROWS(NPU_ERR_LAYOUT, o.kind = NPU_ROWS_SOFTMAX_ACROSS);
    ROWS(NPU_ERR_LAYOUT, o.kind = NPU_ROWS_RMS_NORM); /* it has no beta */
    ROWS(NPU_ERR_LAYOUT, o.gamma_addr = 0);
    ROWS(NPU_ERR_SCRATCH, o.scratch_bytes = 207);
    ROWS(NPU_ERR_SCRATCH, o.scratch_addr = 0);
    ROWS(NPU_ERR_OVERLAP, o.out_addr = IN + 4);
    ROWS(NPU_ERR_OVERLAP, o.out_addr = IN); /* the same place, another step */
    ROWS(NPU_ERR_OVERLAP, o.scratch_addr = OUT + 1600);
    ROWS(NPU_ERR_OVERLAP, o.gamma_addr = OUT + 12);
    ROWS(NPU_ERR_OVERLAP, o.beta_addr = AUX + 0x2000);
    ROWS(NPU_ERR_ADDR_OVERFLOW, o.in_addr = 0xFFFFF000u);
    ROWS(NPU_ERR_ADDR_OVERFLOW, o.beta_addr = 0xFFFFFFF0u);
    ROWS(NPU_ERR_NO_UNIT, q.dev.units = 1u << NPU_UNIT_GEMM);
    quiet q;
    npu_rows o = layer_norm();
    quiet_open(&q);
    assert_int_equal(npu_rows_run(&q.dev, NULL), NPU_ERR_ARG);
    assert_int_equal(npu_rows_run(NULL, &o), NPU_ERR_ARG);
    assert_int_equal(npu_job_rows(NULL, &q.dev, &o), NPU_ERR_ARG);
    assert_int_equal(npu_rows_scratch_bytes(NULL), 0);
    o.out_addr = o.in_addr;
    o.out_step = o.in_step;
    expect_legal(&q, run_rows, &o);
    o.rows = 1; /* one row has no step */
    o.in_step = o.out_step = 0;
    expect_legal(&q, run_rows, &o);
}

static void average_errors(void **state) {
    (void)state;
    AVERAGE(NPU_ERR_LAYOUT, o.in = int8(IN, 10, 9, 12));
    AVERAGE(NPU_ERR_ZERO_SIZE, o.in.c = 0);
    AVERAGE(NPU_ERR_TOO_LARGE, o.in = fp32(IN, 4096, 4096, 1));
    AVERAGE(NPU_ERR_ALIGN, o.out += 2);
    AVERAGE(NPU_ERR_ALIGN, o.step = 6);
    AVERAGE(NPU_ERR_CSTEP, o.step = 0);
    AVERAGE(NPU_ERR_OVERLAP, o.out = IN);
    AVERAGE(NPU_ERR_ADDR_OVERFLOW, o.out = 0xFFFFFFF0u);
}

/* ---- pairs of tensors ---- */

typedef struct pair {
    npu_tensor in, out;
} pair;

static npu_status run_copy(npu *dev, const void *op) {
    const pair *o = op;
    return npu_copy_run(dev, &o->in, &o->out);
}

static npu_status run_upsample(npu *dev, const void *op) {
    const pair *o = op;
    return npu_upsample2x_run(dev, &o->in, &o->out);
}

static pair copy_pair(void) {
    return (pair){int8(IN, 10, 9, 12), int8(OUT, 10, 9, 12)};
}

static pair upsample_pair(void) {
    return (pair){fp32(IN, 10, 9, 12), fp32(OUT, 20, 18, 12)};
}

#define PAIRS(want, change)                                                                                            \
    do {                                                                                                               \
        CASE(pair, copy_pair(), run_copy, want, change);                                                               \
        CASE(pair, upsample_pair(), run_upsample, want, change);                                                       \
    } while (0)

static void pair_errors(void **state) {
    (void)state;
    PAIRS(NPU_ERR_ARG, o.in.layout = (npu_layout)9);
    PAIRS(NPU_ERR_SHAPE, o.in.w++; o.in.step += 64);
    PAIRS(NPU_ERR_SHAPE, o.out.h--);
    PAIRS(NPU_ERR_SHAPE, o.out.c--);
    PAIRS(NPU_ERR_ZERO_SIZE, o.in.h = 0);
    PAIRS(NPU_ERR_TOO_LARGE, o.out.c = 65536);
    PAIRS(NPU_ERR_ALIGN, o.in.addr += 2);
    PAIRS(NPU_ERR_ALIGN, o.out.step += 4);
    PAIRS(NPU_ERR_CSTEP, o.out.step = 0);
    PAIRS(NPU_ERR_OVERLAP, o.out.addr = IN);
    PAIRS(NPU_ERR_ADDR_OVERFLOW, o.out.addr = 0xFFFFFFF0u);
    PAIRS(NPU_ERR_NO_UNIT, q.dev.units = 6);
    CASE(pair, copy_pair(), run_copy, NPU_ERR_LAYOUT, o.out = fp32(OUT, 10, 9, 12));
    CASE(pair, upsample_pair(), run_upsample, NPU_ERR_LAYOUT, o.out = int8(OUT, 20, 18, 12));
    CASE(pair, upsample_pair(), run_upsample, NPU_ERR_SHAPE, o.out = fp32(OUT, 10, 9, 12));
}

/* ---- null pointers, and devices that are none ---- */

static void nulls(void **state) {
    (void)state;
    quiet q;
    npu_job job;
    npu_convert cv = dequantise();
    npu_pool p = average();
    npu_eltwise e = muladd();
    pair t = copy_pair();
    quiet_open(&q);
    assert_int_equal(npu_convert_run(&q.dev, NULL), NPU_ERR_ARG);
    assert_int_equal(npu_convert_run(NULL, &cv), NPU_ERR_ARG);
    assert_int_equal(npu_pool_run(&q.dev, NULL), NPU_ERR_ARG);
    assert_int_equal(npu_pool_run(NULL, &p), NPU_ERR_ARG);
    assert_int_equal(npu_eltwise_run(&q.dev, NULL), NPU_ERR_ARG);
    assert_int_equal(npu_eltwise_run(NULL, &e), NPU_ERR_ARG);
    assert_int_equal(npu_copy_run(&q.dev, NULL, &t.out), NPU_ERR_ARG);
    assert_int_equal(npu_copy_run(&q.dev, &t.in, NULL), NPU_ERR_ARG);
    assert_int_equal(npu_copy_run(NULL, &t.in, &t.out), NPU_ERR_ARG);
    assert_int_equal(npu_upsample2x_run(&q.dev, NULL, &t.out), NPU_ERR_ARG);
    assert_int_equal(npu_upsample2x_run(&q.dev, &t.in, NULL), NPU_ERR_ARG);
    assert_int_equal(npu_upsample2x_run(NULL, &t.in, &t.out), NPU_ERR_ARG);
    assert_int_equal(npu_global_average_run(&q.dev, NULL, OUT, 4), NPU_ERR_ARG);
    assert_int_equal(npu_global_average_run(NULL, &t.in, OUT, 4), NPU_ERR_ARG);
    assert_int_equal(npu_job_convert(NULL, &q.dev, &cv), NPU_ERR_ARG);
    assert_int_equal(npu_job_pool(NULL, &q.dev, &p), NPU_ERR_ARG);
    assert_int_equal(npu_job_eltwise(NULL, &q.dev, &e), NPU_ERR_ARG);
    assert_int_equal(npu_job_copy(NULL, &q.dev, &t.in, &t.out), NPU_ERR_ARG);
    assert_int_equal(npu_job_dot(NULL, &q.dev, IN, AUX, 4, 0, OUT), NPU_ERR_ARG);
    assert_int_equal(npu_job_dot(&job, NULL, IN, AUX, 4, 0, OUT), NPU_ERR_ARG);
    q.dev.n = 12;
    assert_int_equal(npu_convert_run(&q.dev, &cv), NPU_ERR_ARG);
    assert_int_equal(npu_pool_run(&q.dev, &p), NPU_ERR_ARG);
    assert_int_equal(npu_eltwise_run(&q.dev, &e), NPU_ERR_ARG);
    q.dev.n = 8;
    q.dev.hal = NULL;
    assert_int_equal(npu_pool_run(&q.dev, &p), NPU_ERR_ARG);
    assert_int_equal(npu_copy_run(&q.dev, &t.in, &t.out), NPU_ERR_ARG);
    mock_done(&q.mock);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(conv_errors),  cmocka_unit_test(convert_errors), cmocka_unit_test(pool_errors),
        cmocka_unit_test(pool_helpers), cmocka_unit_test(eltwise_errors), cmocka_unit_test(reduction_errors),
        cmocka_unit_test(rows_errors),  cmocka_unit_test(average_errors), cmocka_unit_test(pair_errors),
        cmocka_unit_test(nulls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
