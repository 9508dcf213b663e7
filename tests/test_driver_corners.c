/* test_driver_corners.c - what only odd shapes, plans of somebody else and areas at the ends of memory reach in the
 * driver: no device is touched. */
#include "mock_npu.h"
#include "npu_conv_priv.h"

#define IN 0x10000000u
#define OUT 0x50000000u
#define AUX 0x90000000u

typedef struct quiet {
    mock_npu mock;
    npu dev; /* N = 8 */
} quiet;

static void quiet_open(quiet *q) {
    mock_init(&q->mock);
    q->dev = mock_device(&q->mock, NPU_WAIT_IRQ);
}

static npu_tensor fp32(uint32_t addr, uint32_t w, uint32_t h, uint32_t c) {
    return (npu_tensor){.addr = addr, .step = w * h * 4, .w = w, .h = h, .c = c, .layout = NPU_FP32_NCHW};
}

static npu_tensor int8(uint32_t addr, uint32_t w, uint32_t h, uint32_t c) {
    return (npu_tensor){.addr = addr, .step = (c + 7) / 8 * 8, .w = w, .h = h, .c = c, .layout = NPU_INT8_NHWC};
}

/* ---- areas ---- */

static void areas(void **state) {
    (void)state;
    const npu_area none = npu_flat_area(0x1000, 0), flat = npu_flat_area(0x1000, 64);
    const npu_area pieces = {.addr = 0x1000, .step = 64, .pieces = 4, .bytes = 16},
                   single = {.addr = 0x1010, .step = 64, .pieces = 1, .bytes = 16};
    const npu_area gaps = {.addr = 0x1010, .step = 64, .pieces = 4, .bytes = 16},
                   beside = {.addr = 0x1000, .step = 64, .pieces = 3, .bytes = 16};
    npu_area shorter = pieces, wider = pieces;
    assert_false(npu_area_overflows(&none));
    assert_false(npu_area_overlap(&none, &flat)); /* it has no byte */
    assert_true(npu_area_overlap(&flat, &pieces));
    assert_true(npu_area_overlap(&pieces, &single)); /* steps of one piece say nothing: it may lie anywhere */
    assert_true(npu_area_overlap(&single, &pieces));
    assert_false(npu_area_overlap(&pieces, &gaps));
    assert_true(npu_area_same(&pieces, &pieces));
    assert_false(npu_area_same(&pieces, &gaps));
    assert_false(npu_area_same(&pieces, &beside));
    shorter.bytes = 12;
    wider.step = 80;
    assert_false(npu_area_same(&pieces, &shorter));
    assert_false(npu_area_same(&pieces, &wider));
}

/* ---- the ALU ---- */

/* More elements than one row of a task may have: planes, and rows where one plane has more, too. */
static void large_elementwise(void **state) {
    static const struct {
        uint32_t w, h, c, count, rows, planes;
    } cases[] = {
        {4096, 2048, 3, 4096 * 2048, 1, 3}, {4096, 4096, 2, 4096, 4096, 2}, {4096, 1024, 3, 4096 * 1024 * 3, 1, 1}};
    (void)state;
    quiet q;
    quiet_open(&q);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        npu_job job;
        const npu_eltwise op = {.op = NPU_ALU_ABS,
                                .a = fp32(IN, cases[i].w, cases[i].h, cases[i].c),
                                .out = fp32(OUT, cases[i].w, cases[i].h, cases[i].c),
                                .act = NPU_ACT_NONE};
        assert_int_equal(npu_job_eltwise(&job, &q.dev, &op), NPU_OK);
        assert_int_equal(job.s.alu.count, cases[i].count);
        assert_int_equal(job.s.alu.rows, cases[i].rows);
        assert_int_equal(job.s.alu.planes, cases[i].planes);
        assert_int_equal(job.s.alu.a_rstep, cases[i].rows > 1 ? cases[i].w * 4 : 0);
    }
    mock_done(&q.mock);
}

/* An INT8 copy without gaps is one row only as long as that has few enough words. */
static void large_copy(void **state) {
    (void)state;
    quiet q;
    npu_job job;
    quiet_open(&q);
    for (uint32_t w = 512; w <= 65535; w = w == 512 ? 65535 : 65536) {
        const npu_tensor in = int8(IN, w, 500, 8), out = int8(OUT, w, 500, 8);
        assert_int_equal(npu_job_copy(&job, &q.dev, &in, &out), NPU_OK);
        assert_int_equal(job.s.alu.rows, w == 512 ? 1 : w);
        assert_int_equal(job.s.alu.count, w == 512 ? 512 * 500 * 2 : 2);
    }
    mock_done(&q.mock);
}

static void alu_areas(void **state) {
    (void)state;
    quiet q;
    npu_job job;
    quiet_open(&q);
    npu_eltwise op = {.op = NPU_ALU_MULADD,
                      .a = fp32(IN, 8, 8, 4),
                      .out = fp32(OUT, 8, 8, 4),
                      .p_kind = NPU_CHANNEL,
                      .q_kind = NPU_CHANNEL,
                      .act = NPU_ACT_NONE,
                      .p_addr = AUX,
                      .q_addr = AUX + 16};
    assert_int_equal(npu_job_eltwise(&job, &q.dev, &op), NPU_OK);
    op.p_addr = OUT + 16; /* slopes in the output */
    assert_int_equal(npu_job_eltwise(&job, &q.dev, &op), NPU_ERR_OVERLAP);
    op.p_addr = 0xFFFFFFF8u;
    assert_int_equal(npu_job_eltwise(&job, &q.dev, &op), NPU_ERR_ADDR_OVERFLOW);
    assert_int_equal(npu_job_dot(&job, &q.dev, 0xFFFFFFF0u, IN, 8, 0x3F800000u, OUT), NPU_ERR_ADDR_OVERFLOW);
    assert_int_equal(npu_job_dot(&job, &q.dev, IN, 0xFFFFFFF0u, 8, 0x3F800000u, OUT), NPU_ERR_ADDR_OVERFLOW);
    op = (npu_eltwise){.op = NPU_ALU_SUM, .a = fp32(IN, 8, 8, 4), .out = fp32(OUT, 8, 8, 4), .act = NPU_ACT_NONE};
    assert_int_equal(npu_job_eltwise(&job, &q.dev, &op), NPU_ERR_ARG); /* a reduction has an operator of its own */
    npu_convert cv = {
        .in = int8(IN, 10, 10, 12), .out = fp32(OUT, 10, 10, 12), .factor_addr = 0xFFFFFFF0u, .scale = 0x3F800000u};
    assert_int_equal(npu_job_convert(&job, &q.dev, &cv), NPU_ERR_ADDR_OVERFLOW);
    mock_done(&q.mock);
}

/* ---- pooling ---- */

static void pool_shapes(void **state) {
    (void)state;
    uint32_t ow = 0, oh = 0;
    const npu_pool good = {.in = fp32(IN, 60, 40, 4), .kw = 3, .kh = 3, .stride_w = 1, .stride_h = 1};
    npu_pool p = good;
    assert_int_equal(npu_pool_shape(&p, &ow, &oh), NPU_OK);
    assert_true(ow == 58 && oh == 38);
#define SHAPE(want, change)                                                                                            \
    p = good;                                                                                                          \
    change;                                                                                                            \
    assert_int_equal(npu_pool_shape(&p, &ow, &oh), want)
    SHAPE(NPU_ERR_ZERO_SIZE, p.in.w = 0);
    SHAPE(NPU_ERR_ZERO_SIZE, p.in.h = 0);
    SHAPE(NPU_ERR_TOO_LARGE, p.in.w = 65536);
    SHAPE(NPU_ERR_TOO_LARGE, p.in.h = 65536);
    SHAPE(NPU_ERR_KERNEL, (p.global = true, p.in.h = 256));
    SHAPE(NPU_ERR_KERNEL, (p.global = true, p.in.w = 256));
    SHAPE(NPU_ERR_TOO_LARGE, (p.in.w = 65535, p.pad_l = p.pad_r = 2)); /* two windows more than columns */
    SHAPE(NPU_ERR_TOO_LARGE, (p.in.h = 65535, p.pad_t = p.pad_b = 2));
    quiet q;
    npu_job job;
    quiet_open(&q);
    p = good;
    p.in = fp32(IN, 60, 40, 4);
    p.out = fp32(OUT, 58, 38, 4);
    q.dev.units = 1u << NPU_UNIT_GEMM;
    assert_int_equal(npu_job_pool(&job, &q.dev, &p), NPU_ERR_NO_UNIT);
    mock_done(&q.mock);
}

/* ---- plans ---- */

static npu_conv conv_of(uint32_t iw, uint32_t ih, uint32_t ic, uint32_t oc, uint32_t k) {
    npu_conv c = {.iw = iw,
                  .ih = ih,
                  .ic = ic,
                  .oc = oc,
                  .kw = k,
                  .kh = k,
                  .stride_w = 1,
                  .stride_h = 1,
                  .dil_w = 1,
                  .dil_h = 1,
                  .groups = 1};
    c.in_layout = c.out_layout = NPU_FP32_NCHW;
    c.ifm_addr = IN;
    c.ofm_addr = OUT;
    c.wgt_addr = AUX;
    c.oscale_addr = AUX + 0x8000000;
    c.ifm_cstep = c.ofm_cstep = (iw * ih * 4 + 15) / 16 * 16;
    return c;
}

static npu_conv_plan plan_of(const npu_conv *c, const npu_conv_split *split) {
    npu_conv_plan p;
    assert_int_equal(npu_conv_plan_make(8, c, split, &p), NPU_OK);
    assert_int_equal(npu_conv_plan_check(c, &p), NPU_OK);
    return p;
}

/* A plan with one thing changed is no plan of this convolution. */
#define SPOILT(c, p, change)                                                                                           \
    do {                                                                                                               \
        npu_conv_plan o = (p);                                                                                         \
        change;                                                                                                        \
        assert_int_equal(npu_conv_plan_check(&(c), &o), NPU_ERR_SPLIT);                                                \
    } while (0)

static void spoilt_plans(void **state) {
    (void)state;
    const npu_conv_split narrow = {.max_ow = 20};
    npu_conv c = conv_of(60, 60, 16, 24, 3);
    npu_conv_plan p = plan_of(&c, &narrow);
    assert_true(p.row_split);
    SPOILT(c, p, o.resident = true);
    SPOILT(c, p, (o.oh_task = 2, o.oh_tasks = 29));
    SPOILT(c, p, (o.kh_task = 3, o.kh_tasks = 1));
    SPOILT(c, p, o.row_split = false); /* segments of a row without a row split */
    p = plan_of(&c, NULL);
    SPOILT(c, p, (o.ow_task = 29, o.ow_tasks = 2));
    c = conv_of(17000, 3, 8, 8, 1); /* rows that ifm_buf does not hold */
    p = plan_of(&c, NULL);
    assert_true(p.row_split);
    SPOILT(c, p, (o.row_split = false, o.ow_task = o.ow, o.ow_tasks = 1));
    c = conv_of(400, 64, 64, 64, 3);
    p = plan_of(&c, NULL);
    SPOILT(c, p, (o.resident = true, o.group = 255, o.oh_task = o.oh, o.oh_tasks = 1, o.ic_task = 64, o.ic_tasks = 1));
    c = conv_of(16, 16, 512, 1024, 1);
    p = plan_of(&c, NULL);
    SPOILT(c, p, (o.resident = true, o.oc_task = 1024, o.oc_tasks = 1, o.ic_task = 512, o.ic_tasks = 1));
    c = conv_of(30, 30, 24, 24, 3);
    c.groups = 24; /* depthwise */
    p = plan_of(&c, NULL);
    assert_int_equal(p.op, NPU_GEMM_DEPTHWISE);
    SPOILT(c, p, (o.ic_task = 8, o.ic_tasks = 3));
    SPOILT(c, p, o.ic_tasks = 2);
    SPOILT(c, p, (o.merge = 8, o.group_tasks = 3));
    c = conv_of(30, 30, 12, 12, 3);
    c.groups = 4; /* three channels each: batches of one are not aligned in INT8 */
    c.in_layout = c.out_layout = NPU_INT8_NHWC;
    c.ifm_cstep = c.ofm_cstep = 16;
    p = plan_of(&c, NULL);
    SPOILT(c, p, (o.merge = 1, o.group_tasks = 4));
}

/* A plan for another mesh, and one whose weights or sums are more than an address can count. */
static void foreign_plans(void **state) {
    (void)state;
    quiet q;
    npu_job job;
    npu_conv_plan p;
    quiet_open(&q);
    const npu_conv c = conv_of(60, 60, 16, 24, 3);
    assert_int_equal(npu_conv_plan_make(4, &c, NULL, &p), NPU_OK);
    assert_int_equal(npu_job_conv(&job, &q.dev, &c, &p), NPU_ERR_SPLIT);
    const npu_conv heavy = conv_of(4, 4, 65535, 65535, 2);
    assert_int_equal(npu_conv_plan_make(8, &heavy, NULL, &p), NPU_ERR_ADDR_OVERFLOW);
    mock_done(&q.mock);
}

/* Wide kernels under a row split: where half of ifm_buf does not hold a window, all of it may; where that does not,
 * nothing does. */
static void wide_windows(void **state) {
    (void)state;
    const npu_conv_split narrow = {.max_ow = 16};
    uint32_t whole = 0, none = 0;
    for (uint32_t dil = 1; dil <= 255; dil += 2) {
        for (uint32_t kw = 2; kw <= 255; kw += 11) {
            for (uint32_t ic = 8; ic <= 1024; ic *= 2) {
                npu_conv c = conv_of((kw - 1) * dil + 64, 4, ic, 8, 1);
                npu_conv_plan p;
                c.kw = kw;
                c.dil_w = dil;
                const npu_status status = npu_conv_plan_make(8, &c, &narrow, &p);
                if (status == NPU_OK) {
                    assert_int_equal(npu_conv_plan_check(&c, &p), NPU_OK);
                    whole += npu_conv_columns_from(&c, p.ow, npu_div_up(p.ic_task, 8), NPU_IFM_WORDS / 2) == 0;
                } else {
                    assert_int_equal(status, NPU_ERR_KERNEL);
                    none++;
                }
            }
        }
    }
    assert_true(whole > 0 && none > 0);
}

static void linear_weights(void **state) {
    (void)state;
    static int8_t weights[64 * 64], packed[16384];
    npu_conv c, bad;
    npu_conv_plan p;
    assert_int_equal(npu_linear_make(8, 64, 64, NPU_FP32_NCHW, NPU_FP32_NCHW, &c), NPU_OK);
    assert_int_equal(npu_conv_plan_make(8, &c, NULL, &p), NPU_OK);
    assert_int_equal(npu_linear_pack_weights(&c, &p, 64, weights, packed, sizeof packed), NPU_OK);
    assert_int_equal(npu_linear_pack_weights(&c, &p, 9, weights, packed, sizeof packed), NPU_ERR_SHAPE);
    /* convolutions that are no fully connected layer */
    const struct { uint32_t iw, ih, kw, kh, groups; } shapes[] = {{4, 1, 4, 1, 2}, {4, 3, 4, 3, 1}, {8, 1, 4, 1, 1}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        bad = conv_of(shapes[i].iw, shapes[i].ih, 16, 16, 1);
        bad.kw = shapes[i].kw;
        bad.kh = shapes[i].kh;
        bad.groups = shapes[i].groups;
        assert_int_equal(npu_conv_plan_make(8, &bad, NULL, &p), NPU_OK);
        assert_int_equal(npu_linear_pack_weights(&bad, &p, 64, weights, packed, sizeof packed), NPU_ERR_SHAPE);
    }
}

/* ---- INT16 ---- */

static npu_conv conv16(void) {
    npu_conv c = conv_of(8, 8, 8, 8, 1);
    c.wide = true;
    c.in_layout = NPU_INT16_NHWC;
    return c;
}

#define REFUSED16(want, change)                                                                                        \
    do {                                                                                                               \
        npu_conv c = conv16();                                                                                         \
        npu_conv_plan p;                                                                                               \
        assert_int_equal(npu_conv_plan_make(8, &c, NULL, &p), NPU_OK);                                                 \
        change;                                                                                                        \
        assert_int_equal(npu_conv_plan_make(8, &c, NULL, &p), want);                                                   \
    } while (0)

/* INT16 is symmetric, and its tensors are not those of INT8. */
static void int16_plans(void **state) {
    (void)state;
    REFUSED16(NPU_ERR_LAYOUT, c.in_layout = NPU_INT8_NHWC);
    REFUSED16(NPU_ERR_LAYOUT, c.out_layout = NPU_INT8_NHWC);
    REFUSED16(NPU_ERR_LAYOUT, c.wide = false);
    REFUSED16(NPU_ERR_LAYOUT, (c.wide = false, c.in_layout = NPU_FP32_NCHW, c.out_layout = NPU_INT16_NHWC));
    REFUSED16(NPU_ERR_LAYOUT, (c.has_bias = c.int_bias = true));
    REFUSED16(NPU_ERR_LAYOUT, c.quant.in_zero = 1);
    REFUSED16(NPU_ERR_LAYOUT, c.quant.out_zero = -1);
    REFUSED16(NPU_ERR_LAYOUT, c.quant.to_even = true);
    REFUSED16(NPU_ERR_LAYOUT, c.quant.full = true);
    REFUSED16(NPU_OK, c.out_layout = NPU_INT16_NHWC);
}

static void int16_weights(void **state) {
    (void)state;
    static const int16_t weights[8 * 8];
    static int8_t packed[2 * 8 * 8];
    const npu_conv wide = conv16(), narrow = conv_of(8, 8, 8, 8, 1);
    npu_conv_plan p, q;
    assert_int_equal(npu_conv_plan_make(8, &wide, NULL, &p), NPU_OK);
    assert_int_equal(npu_conv_plan_make(8, &narrow, NULL, &q), NPU_OK);
    assert_int_equal(p.wgt_bytes, sizeof packed);
    assert_int_equal(npu_conv_pack_weights16(&wide, &p, weights, packed, sizeof packed), NPU_OK);
    assert_int_equal(npu_conv_pack_weights16(&wide, &p, NULL, packed, sizeof packed), NPU_ERR_ARG);
    assert_int_equal(npu_conv_pack_weights16(&narrow, &q, weights, packed, sizeof packed), NPU_ERR_LAYOUT);
    assert_int_equal(npu_conv_pack_weights(&wide, &p, (const int8_t *)weights, packed, sizeof packed), NPU_ERR_LAYOUT);
    assert_int_equal(npu_linear_pack_weights(&wide, &p, 8, (const int8_t *)weights, packed, sizeof packed),
                     NPU_ERR_SHAPE);
}

/* A task that reads no partial sums writes their registers, too: what INT8 left there need not fit INT16. */
static void expect_no_psum(npu_job *job) {
    uint32_t reg[NPU_TASK_REGS][2];
    const uint32_t count = npu_job_next_task(job, reg);
    uint32_t found = 0;
    assert_true(count > 0);
    for (uint32_t i = 0; i < count; i++) {
        if (reg[i][0] == NPU_REG_GEMM_PSUM_ADDR || reg[i][0] == NPU_REG_GEMM_PSUM_CSTEP) {
            assert_int_equal(reg[i][1], 0);
            found++;
        }
    }
    assert_int_equal(found, 2);
}

/* Without INT16 in the device nothing of it starts. */
static void int16_device(void **state) {
    (void)state;
    quiet q;
    npu_job job;
    npu_conv_plan p;
    quiet_open(&q);
    npu_conv c = conv16();
    assert_int_equal(npu_conv_plan_make(8, &c, NULL, &p), NPU_OK);
    assert_int_equal(npu_job_conv(&job, &q.dev, &c, &p), NPU_ERR_NO_UNIT);
    npu_convert cv = {.in = fp32(IN, 4, 4, 8), .out = int8(OUT, 4, 4, 16), .scale = 0x3F800000u};
    cv.out.layout = NPU_INT16_NHWC;
    cv.out.c = 8;
    assert_int_equal(npu_job_convert(&job, &q.dev, &cv), NPU_ERR_NO_UNIT);
    q.dev.int16 = true;
    assert_int_equal(npu_job_convert(&job, &q.dev, &cv), NPU_OK);
    expect_no_psum(&job);
    c.ifm_addr = IN;
    c.ifm_cstep = 16;
    c.ofm_addr = OUT;
    c.ofm_cstep = 8 * 8 * 4;
    c.wgt_addr = c.oscale_addr = AUX;
    assert_int_equal(npu_job_conv(&job, &q.dev, &c, &p), NPU_OK);
    expect_no_psum(&job);
    cv.quant.to_even = true;
    assert_int_equal(npu_job_convert(&job, &q.dev, &cv), NPU_ERR_LAYOUT);
    cv.quant.to_even = false;
    cv.in = cv.out;
    cv.in.addr = IN;
    cv.out = fp32(OUT, 4, 4, 8);
    cv.factor_addr = AUX;
    assert_int_equal(npu_job_convert(&job, &q.dev, &cv), NPU_OK);
    cv.quant.in_zero = 1;
    assert_int_equal(npu_job_convert(&job, &q.dev, &cv), NPU_ERR_LAYOUT);
    assert_int_equal(npu_tensor_check(&cv.in, 8), NPU_ERR_LAYOUT); /* POOL and ALU have no INT16 */
    mock_done(&q.mock);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(areas),         cmocka_unit_test(large_elementwise), cmocka_unit_test(large_copy),
        cmocka_unit_test(alu_areas),     cmocka_unit_test(pool_shapes),       cmocka_unit_test(spoilt_plans),
        cmocka_unit_test(foreign_plans), cmocka_unit_test(wide_windows),      cmocka_unit_test(linear_weights),
        cmocka_unit_test(int16_plans),   cmocka_unit_test(int16_weights),     cmocka_unit_test(int16_device),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
