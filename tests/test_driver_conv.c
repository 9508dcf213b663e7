/* test_driver_conv.c - the exact register accesses of a convolution, and every way in which it can fail. */
#include "mock_npu.h"

#include <string.h>

#define EN NPU_GEMM_CTRL_EN_MASK
#define LAYOUT NPU_GEMM_CTRL_LAYOUT_MASK
#define FENCE NPU_GEMM_CTRL_FENCE_MASK
#define OSCALE NPU_GEMM_CTRL_OSCALE_MASK
#define BIAS NPU_GEMM_CTRL_BIAS_MASK
#define DIV_IC NPU_GEMM_CTRL_DIV_IC_MASK
#define PSUM NPU_GEMM_CTRL_PSUM_ADD_MASK
#define EXT NPU_GEMM_CTRL_EXT_MASK
#define RES NPU_GEMM_CTRL_WGT_RES_MASK
#define KEEP NPU_GEMM_CTRL_WGT_KEEP_MASK

#define IFM 0x10000000u
#define WGT 0x20000000u
#define OSC 0x30000000u
#define BIA 0x30001000u
#define OFM 0x40000000u

#define READY NPU_STATUS_GEMM_READY_MASK
#define BUSY NPU_STATUS_GEMM_BUSY_MASK
#define GEMM_IRQ NPU_IRQ_STATUS_GEMM_MASK

/* 10 x 9 x 3 -> 5 x 5 x 6, kernel 3, stride 2, padding 1. */
static npu_conv small_conv(void) {
    npu_conv c = {.iw = 10,
                  .ih = 9,
                  .ic = 3,
                  .oc = 6,
                  .kw = 3,
                  .kh = 3,
                  .stride_w = 2,
                  .stride_h = 2,
                  .dil_w = 1,
                  .dil_h = 1,
                  .groups = 1,
                  .pad_l = 1,
                  .pad_r = 1,
                  .pad_t = 1,
                  .pad_b = 1,
                  .act = NPU_ACT_RELU,
                  .has_bias = true,
                  .in_scale = 0x3F800000u,
                  .ifm_addr = IFM,
                  .ifm_cstep = 368,
                  .wgt_addr = WGT,
                  .oscale_addr = OSC,
                  .bias_addr = BIA,
                  .ofm_addr = OFM,
                  .ofm_cstep = 112};
    return c;
}

static npu_conv_plan plan_of(const npu_conv *c, const npu_conv_split *split) {
    npu_conv_plan p;
    assert_int_equal(npu_conv_plan_make(8, c, split, &p), NPU_OK);
    return p;
}

/* Before the first task. */
static void expect_begin(mock_npu *m, const npu_conv *c, const npu_conv_plan *p, uint32_t started) {
    mock_read(m, NPU_REG_STATUS, READY);
    mock_read(m, NPU_REG_GEMM_COUNT, started);
    mock_add(m, MOCK_FLUSH, IFM, (c->ic - 1) * c->ifm_cstep + c->iw * c->ih * 4, NPU_HAL_OK);
    mock_add(m, MOCK_FLUSH, WGT, p->wgt_bytes, NPU_HAL_OK);
    mock_add(m, MOCK_FLUSH, OSC, p->param_bytes, NPU_HAL_OK);
    if (c->has_bias) {
        mock_add(m, MOCK_FLUSH, BIA, p->param_bytes, NPU_HAL_OK);
    }
    mock_add(m, MOCK_FLUSH, OFM, (c->oc - 1) * c->ofm_cstep + p->ow * p->oh * 4, NPU_HAL_OK);
}

static void expect_end(mock_npu *m, const npu_conv *c, const npu_conv_plan *p) {
    mock_add(m, MOCK_INVALIDATE, OFM, (c->oc - 1) * c->ofm_cstep + p->ow * p->oh * 4, NPU_HAL_OK);
}

/* The registers that every task gets. ifm, wgt, ofm: offsets from the buffers. */
static void expect_geometry(mock_npu *m, const npu_conv *c, uint32_t ifm, uint32_t wgt, uint32_t ofm, uint32_t ih,
                            uint32_t ic, uint32_t oc, uint32_t ow, uint32_t oh, uint32_t group) {
    mock_write(m, NPU_REG_GEMM_IFM_ADDR, IFM + ifm);
    mock_write(m, NPU_REG_GEMM_IFM_CSTEP, c->ifm_cstep);
    mock_write(m, NPU_REG_GEMM_WGT_ADDR, WGT + wgt);
    mock_write(m, NPU_REG_GEMM_OFM_ADDR, OFM + ofm);
    mock_write(m, NPU_REG_GEMM_OFM_CSTEP, c->ofm_cstep);
    mock_write(m, NPU_REG_GEMM_IFM_SIZE, ih << 16 | c->iw);
    mock_write(m, NPU_REG_GEMM_CHANNELS, oc << 16 | ic);
    mock_write(m, NPU_REG_GEMM_OFM_SIZE, oh << 16 | ow);
    mock_write(m, NPU_REG_GEMM_IN_SCALE, c->in_scale);
    mock_write(m, NPU_REG_GEMM_GROUP, group);
}

static void expect_outputs(mock_npu *m, const npu_conv *c, uint32_t ofm, uint32_t oc, uint32_t bytes) {
    for (uint32_t i = 0; i < oc; i++) {
        mock_add(m, MOCK_OUTPUT, OFM + ofm + i * c->ofm_cstep, bytes, NPU_HAL_OK);
    }
}

/* One look at the device: event flag cleared, completed tasks, error flags. */
static void expect_look(mock_npu *m, uint32_t count) {
    mock_write(m, NPU_REG_IRQ_STATUS, GEMM_IRQ);
    mock_read(m, NPU_REG_GEMM_COUNT, count);
    mock_read(m, NPU_REG_ERR, 0);
}

static void expect_irq(mock_npu *m) {
    mock_add(m, MOCK_IRQ, NPU_HAL_IRQ_GEMM, 50, NPU_HAL_OK);
}

/* small_conv() as one task, up to its start. */
static void expect_small_task(mock_npu *m, const npu_conv *c) {
    mock_read(m, NPU_REG_STATUS, READY);
    expect_outputs(m, c, 0, 6, 100);
    expect_geometry(m, c, 0, 0, 0, 9, 3, 6, 5, 5, 8);
    mock_write(m, NPU_REG_GEMM_OSCALE_ADDR, OSC);
    mock_write(m, NPU_REG_GEMM_BIAS_ADDR, BIA);
    mock_write(m, NPU_REG_GEMM_ACT, 1);
    mock_write(m, NPU_REG_GEMM_CTRL,
               EN | LAYOUT | FENCE | OSCALE | BIAS | 3u << 3 | 2u << 6 | 1u << 11 | 1u << 13 | 1u << 15 | 1u << 17);
}

static void expect_small_conv(mock_npu *m, const npu_conv *c, const npu_conv_plan *p) {
    expect_begin(m, c, p, 0);
    expect_small_task(m, c);
    expect_irq(m);
    expect_look(m, 1);
    expect_end(m, c, p);
}

static void one_task_irq(void **state) {
    (void)state;
    mock_npu m;
    mock_init(&m);
    npu dev = mock_device(&m, NPU_WAIT_IRQ);
    npu_conv c = small_conv();
    npu_conv_plan p = plan_of(&c, NULL);
    expect_small_conv(&m, &c, &p);
    assert_int_equal(npu_conv_run(&dev, &c, &p), NPU_OK);
    mock_done(&m);
    assert_int_equal(dev.started[NPU_UNIT_GEMM], 1);
}

/* Without bias, activation, caches and somebody who wants to know outputs; the counter wraps. */
static void one_task_poll(void **state) {
    (void)state;
    mock_npu m;
    mock_init(&m);
    m.hal.cache_flush = NULL;
    m.hal.cache_invalidate = NULL;
    m.hal.task_output = NULL;
    npu dev = mock_device(&m, NPU_WAIT_POLL);
    dev.started[NPU_UNIT_GEMM] = 65535;
    npu_conv c = small_conv();
    c.has_bias = false;
    c.bias_addr = 3; /* not looked at */
    c.act = NPU_ACT_NONE;
    npu_conv_plan p = plan_of(&c, NULL);
    mock_read(&m, NPU_REG_STATUS, READY);
    mock_read(&m, NPU_REG_GEMM_COUNT, 65535);
    mock_read(&m, NPU_REG_STATUS, 0);
    mock_add(&m, MOCK_DELAY, 1, 0, NPU_HAL_OK);
    mock_read(&m, NPU_REG_STATUS, READY);
    expect_geometry(&m, &c, 0, 0, 0, 9, 3, 6, 5, 5, 8);
    mock_write(&m, NPU_REG_GEMM_OSCALE_ADDR, OSC);
    mock_write(&m, NPU_REG_GEMM_ACT, 0);
    mock_write(&m, NPU_REG_GEMM_CTRL,
               EN | LAYOUT | FENCE | OSCALE | 3u << 3 | 2u << 6 | 1u << 11 | 1u << 13 | 1u << 15 | 1u << 17);
    mock_add(&m, MOCK_DELAY, 1, 0, NPU_HAL_OK);
    expect_look(&m, 65535);
    mock_add(&m, MOCK_DELAY, 1, 0, NPU_HAL_OK);
    expect_look(&m, 0);
    assert_int_equal(npu_conv_run(&dev, &c, &p), NPU_OK);
    mock_done(&m);
    assert_int_equal(dev.started[NPU_UNIT_GEMM], 0);
}

/* The extended form: rectangular kernel; whole channels without gap are declared as one range. */
static void extended_form(void **state) {
    (void)state;
    mock_npu m;
    mock_init(&m);
    npu dev = mock_device(&m, NPU_WAIT_IRQ);
    npu_conv c = small_conv();
    c.iw = 8;
    c.ih = 8;
    c.kw = 5;
    c.pad_l = 4;
    c.pad_r = 0;
    c.stride_w = 2;
    c.stride_h = 3;
    c.ofm_cstep = 48; /* 4 x 3 */
    npu_conv_plan p = plan_of(&c, NULL);
    expect_begin(&m, &c, &p, 0);
    mock_read(&m, NPU_REG_STATUS, READY);
    mock_add(&m, MOCK_OUTPUT, OFM, 6 * 48, NPU_HAL_OK);
    expect_geometry(&m, &c, 0, 0, 0, 8, 3, 6, 4, 3, 8);
    mock_write(&m, NPU_REG_GEMM_OSCALE_ADDR, OSC);
    mock_write(&m, NPU_REG_GEMM_BIAS_ADDR, BIA);
    mock_write(&m, NPU_REG_GEMM_ACT, 1);
    mock_write(&m, NPU_REG_GEMM_EXT_KERNEL, 0x01010305u);
    mock_write(&m, NPU_REG_GEMM_EXT_STRIDE, 0x0302u);
    /* the last row of windows ends with the map: no row of bottom padding is used */
    mock_write(&m, NPU_REG_GEMM_EXT_PAD, 0x00010004u);
    mock_write(&m, NPU_REG_GEMM_CTRL, EN | LAYOUT | FENCE | OSCALE | BIAS | EXT);
    expect_irq(&m);
    expect_look(&m, 1);
    expect_end(&m, &c, &p);
    assert_int_equal(npu_conv_run(&dev, &c, &p), NPU_OK);
    mock_done(&m);
}

/* 4 x 6 x 20 -> 4 x 6 x 12, kernel 3, padding 1; two slices of each dimension: 8 tasks. */
static void expect_split_task(mock_npu *m, const npu_conv *c, unsigned o, unsigned i, unsigned r) {
    uint32_t oc = o == 0 ? 8 : 4;
    uint32_t ic = i == 0 ? 16 : 4;
    uint32_t ofm = o * 8 * c->ofm_cstep + (r == 0 ? 0 : 3 * 4 * 4);
    uint32_t ctrl = EN | LAYOUT | 3u << 3 | 1u << 6 | 1u << 11 | 1u << 13 | (r == 0 ? 1u << 15 : 1u << 17);
    mock_read(m, NPU_REG_STATUS, READY);
    expect_outputs(m, c, ofm, oc, 3 * 4 * 4);
    /* slice 0: two blocks of outputs times 9 taps times 2 blocks of 64 bytes */
    uint32_t wgt = i == 0 ? o * 9 * 2 * 64 : 2 * 9 * 2 * 64 + o * 9 * 64;
    expect_geometry(m, c, i * 16 * c->ifm_cstep + (r == 0 ? 0 : 2 * 4 * 4), wgt, ofm, 4, ic, oc, 4, 3, 7);
    if (i == 1) {
        ctrl |= PSUM | OSCALE | BIAS | (r == 0 ? FENCE : 0);
        mock_write(m, NPU_REG_GEMM_PSUM_ADDR, OFM + ofm);
        mock_write(m, NPU_REG_GEMM_PSUM_CSTEP, c->ofm_cstep);
        mock_write(m, NPU_REG_GEMM_OSCALE_ADDR, OSC + o * 32);
        mock_write(m, NPU_REG_GEMM_BIAS_ADDR, BIA + o * 32);
        mock_write(m, NPU_REG_GEMM_ACT, 1);
    } else {
        ctrl |= DIV_IC | (o == 0 && r == 0 ? FENCE : 0);
        mock_write(m, NPU_REG_GEMM_ACT, 0);
    }
    mock_write(m, NPU_REG_GEMM_CTRL, ctrl);
}

static void split_tasks(bool serial) {
    mock_npu m;
    mock_init(&m);
    npu dev = mock_device(&m, NPU_WAIT_IRQ);
    npu_conv c = small_conv();
    c.iw = 4;
    c.ih = 6;
    c.ic = 20;
    c.oc = 12;
    c.stride_w = c.stride_h = 1;
    c.ifm_cstep = 96;
    c.ofm_cstep = 96;
    npu_conv_split split = {.max_oh = 3, .max_ic = 16, .max_oc = 8, .group = 7, .serial = serial, .no_resident = true};
    npu_conv_plan p = plan_of(&c, &split);
    expect_begin(&m, &c, &p, 0);
    for (unsigned t = 0; t < 8; t++) {
        if (serial && t > 0) {
            expect_irq(&m);
            expect_look(&m, t);
        } else if (t > 3) { /* a fifth must wait */
            expect_irq(&m);
            expect_look(&m, t - 4);
            expect_irq(&m);
            expect_look(&m, t - 3);
        }
        expect_split_task(&m, &c, t / 4, t / 2 % 2, t % 2);
    }
    if (!serial) {
        expect_irq(&m);
        expect_look(&m, 7);
    }
    expect_irq(&m);
    expect_look(&m, 8);
    expect_end(&m, &c, &p);
    assert_int_equal(npu_conv_run(&dev, &c, &p), NPU_OK);
    mock_done(&m);
    assert_int_equal(dev.started[NPU_UNIT_GEMM], 8);
}

static void split_four_in_flight(void **state) {
    (void)state;
    split_tasks(false);
}

static void split_serial(void **state) {
    (void)state;
    split_tasks(true);
}

/* Weights stay on chip: a map of more than 65535 pixels, whose second and third block of rows keep what the first one
 * loaded. */
static void resident_rows(void **state) {
    (void)state;
    mock_npu m;
    mock_init(&m);
    npu dev = mock_device(&m, NPU_WAIT_IRQ);
    npu_conv c = small_conv();
    c.iw = 400;
    c.ih = 400;
    c.stride_w = c.stride_h = 1;
    c.act = NPU_ACT_NONE;
    c.has_bias = false;
    c.ifm_cstep = c.ofm_cstep = 400 * 400 * 4;
    npu_conv_plan p = plan_of(&c, NULL);
    assert_true(p.resident);
    assert_int_equal(p.oh_task, 134);
    expect_begin(&m, &c, &p, 0);
    for (uint32_t t = 0; t < 3; t++) {
        uint32_t ctrl = EN | LAYOUT | RES | OSCALE | (t == 0 ? FENCE : KEEP) | 3u << 3 | 1u << 6 | 1u << 11 | 1u << 13;
        uint32_t rows = t == 2 ? 132 : 134;
        ctrl |= (t == 0 ? 1u << 15 : 0) | (t == 2 ? 1u << 17 : 0);
        mock_read(&m, NPU_REG_STATUS, READY);
        expect_outputs(&m, &c, t * 134 * 1600, 6, rows * 1600);
        expect_geometry(&m, &c, t == 0 ? 0 : (t * 134 - 1) * 1600, 0, t * 134 * 1600, t == 1 ? 136 : rows + 1, 3, 6,
                        400, rows, 8);
        mock_write(&m, NPU_REG_GEMM_OSCALE_ADDR, OSC);
        mock_write(&m, NPU_REG_GEMM_ACT, 0);
        mock_write(&m, NPU_REG_GEMM_CTRL, ctrl);
    }
    expect_irq(&m);
    expect_look(&m, 3);
    expect_end(&m, &c, &p);
    assert_int_equal(npu_conv_run(&dev, &c, &p), NPU_OK);
    mock_done(&m);
}

/*
 * Rows in segments: 10 x 3 x 20 -> 5 x 2 x 12, kernel 3, stride 2, padding 1; two slices of output channels, in each of
 * them two slices of input channels times three kernel rows, segments of 3 and 2 pixels. Output row 0 has its first
 * kernel row above the map, output row 1 its last one below it: 32 tasks.
 */
typedef struct segment {
    unsigned o, i, ky, oy, seg;
    bool fence;
} segment;

static void expect_segment(mock_npu *m, const npu_conv *c, const segment *s) {
    unsigned i = s->i;
    unsigned ky = s->ky;
    unsigned oy = s->oy;
    unsigned seg = s->seg;
    uint32_t oc = s->o == 0 ? 8 : 4;
    uint32_t ofm = s->o * 8 * c->ofm_cstep + (oy * 5 + seg * 3) * 4;
    /* slice 0: two blocks of outputs times 3 taps times 2 blocks of 64 bytes for each kernel row; slice 1: one block of
     * inputs */
    uint32_t wgt = i == 0 ? (ky * 2 + s->o) * 3 * 2 * 64 : 3 * 2 * 3 * 2 * 64 + (ky * 2 + s->o) * 3 * 64;
    uint32_t y = oy * 2 + ky - 1;
    uint32_t ctrl = EN | LAYOUT | EXT | (s->fence ? FENCE : 0);
    npu_conv part = *c; /* input columns 0..5 behind one of padding, then 5..9 */
    part.iw = seg == 0 ? 6 : 5;
    mock_read(m, NPU_REG_STATUS, READY);
    expect_outputs(m, c, ofm, oc, seg == 0 ? 12 : 8);
    expect_geometry(m, &part, i * 16 * c->ifm_cstep + (y * 10 + seg * 5) * 4, wgt, ofm, 1, i == 0 ? 16 : 4, oc,
                    seg == 0 ? 3 : 2, 1, 8);
    if (i != 0 || ky != (oy == 0 ? 1 : 0)) {
        ctrl |= PSUM;
        mock_write(m, NPU_REG_GEMM_PSUM_ADDR, OFM + ofm);
        mock_write(m, NPU_REG_GEMM_PSUM_CSTEP, c->ofm_cstep);
    }
    if (i == 1 && ky == (oy == 0 ? 2 : 1)) {
        ctrl |= OSCALE | BIAS;
        mock_write(m, NPU_REG_GEMM_OSCALE_ADDR, OSC + s->o * 32);
        mock_write(m, NPU_REG_GEMM_BIAS_ADDR, BIA + s->o * 32);
        mock_write(m, NPU_REG_GEMM_ACT, 1);
    } else {
        ctrl |= DIV_IC;
        mock_write(m, NPU_REG_GEMM_ACT, 0);
    }
    mock_write(m, NPU_REG_GEMM_EXT_KERNEL, 0x01010103u);
    mock_write(m, NPU_REG_GEMM_EXT_STRIDE, 0x0202u);
    mock_write(m, NPU_REG_GEMM_EXT_PAD, seg == 0 ? 1 : 0);
    mock_write(m, NPU_REG_GEMM_CTRL, ctrl);
}

static void split_rows(void **state) {
    (void)state;
    static const struct { unsigned ky, oy; } order[] = {{0, 1}, {1, 0}, {1, 1}, {2, 0}};
    mock_npu m;
    mock_init(&m);
    npu dev = mock_device(&m, NPU_WAIT_IRQ);
    npu_conv c = small_conv();
    c.ih = 3;
    c.ic = 20;
    c.oc = 12;
    c.ifm_cstep = 128;
    c.ofm_cstep = 48;
    npu_conv_split split = {.max_ow = 3, .max_ic = 16, .max_oc = 8};
    npu_conv_plan p = plan_of(&c, &split);
    assert_int_equal(p.wgt_bytes, 2 * 3 * 9 * 64);
    expect_begin(&m, &c, &p, 0);
    for (unsigned t = 0; t < 32; t++) {
        unsigned at = t / 2 % 4;
        if (t > 3) {
            expect_irq(&m);
            expect_look(&m, t - 3);
        }
        /* the first of each slice that adds sums, and the very first */
        bool fence = t % 2 == 0 && at != 2 && (t == 0 || t % 16 != 0);
        expect_segment(&m, &c, &(segment){t / 16, t / 8 % 2, order[at].ky, order[at].oy, t % 2, fence});
    }
    expect_irq(&m);
    expect_look(&m, 32);
    expect_end(&m, &c, &p);
    assert_int_equal(npu_conv_run(&dev, &c, &p), NPU_OK);
    mock_done(&m);
    assert_int_equal(dev.started[NPU_UNIT_GEMM], 32);
}

/* ---- failures of the device ---- */

/* A HAL fault at each register access and interrupt wait in turn ends the run at once. */
static void hal_faults(void **state) {
    (void)state;
    npu_conv c = small_conv();
    npu_conv_plan p = plan_of(&c, NULL);
    mock_npu whole;
    mock_init(&whole);
    expect_small_conv(&whole, &c, &p);
    unsigned tried = 0;
    for (size_t bad = 0; bad < whole.count; bad++) {
        if (whole.script[bad].kind > MOCK_IRQ) {
            continue;
        }
        mock_npu m;
        mock_init(&m);
        expect_small_conv(&m, &c, &p);
        m.script[bad].answer = NPU_HAL_FAULT;
        m.count = bad + 1;
        if (bad >= 2) { /* the first two are before anything was started */
            expect_end(&m, &c, &p);
        }
        npu dev = mock_device(&m, NPU_WAIT_IRQ);
        assert_int_equal(npu_conv_run(&dev, &c, &p), NPU_ERR_HAL);
        mock_done(&m);
        tried++;
    }
    assert_true(tried > 20);
}

static void error_flag(uint32_t err, uint32_t late, npu_status want) {
    mock_npu m;
    mock_init(&m);
    npu dev = mock_device(&m, NPU_WAIT_IRQ);
    npu_conv c = small_conv();
    npu_conv_plan p = plan_of(&c, NULL);
    bool dropped = (err & (NPU_ERR_CONFIG_MASK | NPU_ERR_OVERRUN_MASK)) != 0;
    expect_begin(&m, &c, &p, 0);
    expect_small_task(&m, &c);
    expect_irq(&m);
    mock_write(&m, NPU_REG_IRQ_STATUS, GEMM_IRQ);
    mock_read(&m, NPU_REG_GEMM_COUNT, 0);
    mock_read(&m, NPU_REG_ERR, err);
    mock_read(&m, NPU_REG_STATUS, BUSY);
    mock_add(&m, MOCK_DELAY, 1, 0, NPU_HAL_OK);
    mock_read(&m, NPU_REG_STATUS, READY);
    mock_read(&m, NPU_REG_ERR, late);
    mock_write(&m, NPU_REG_ERR, 0x3F);
    mock_write(&m, NPU_REG_IRQ_STATUS, GEMM_IRQ);
    mock_read(&m, NPU_REG_GEMM_COUNT, dropped ? 0 : 1);
    expect_end(&m, &c, &p);
    assert_int_equal(npu_conv_run(&dev, &c, &p), want);
    mock_done(&m);
    assert_int_equal(dev.last_err, err | late);
    assert_int_equal(dev.started[NPU_UNIT_GEMM], dropped ? 0 : 1);
}

static void error_flags(void **state) {
    (void)state;
    for (uint32_t bit = 0; bit < 4; bit++) {
        error_flag(1u << bit, 1u << bit, NPU_ERR_BUS);
    }
    error_flag(NPU_ERR_BUS_RD0_MASK, NPU_ERR_BUS_RD0_MASK | NPU_ERR_BUS_WR1_MASK, NPU_ERR_BUS);
    error_flag(NPU_ERR_CONFIG_MASK, NPU_ERR_CONFIG_MASK, NPU_ERR_DEVICE);
    error_flag(NPU_ERR_OVERRUN_MASK, NPU_ERR_OVERRUN_MASK, NPU_ERR_DEVICE);
}

/* The device never comes to rest after the error: the error is reported, and the next operation finds it busy. */
static void error_without_rest(void **state) {
    (void)state;
    mock_npu m;
    mock_init(&m);
    npu dev = mock_device(&m, NPU_WAIT_IRQ);
    dev.timeout_us = 2;
    npu_conv c = small_conv();
    npu_conv_plan p = plan_of(&c, NULL);
    expect_begin(&m, &c, &p, 0);
    expect_small_task(&m, &c);
    mock_add(&m, MOCK_IRQ, NPU_HAL_IRQ_GEMM, 2, NPU_HAL_OK);
    mock_write(&m, NPU_REG_IRQ_STATUS, GEMM_IRQ);
    mock_read(&m, NPU_REG_GEMM_COUNT, 0);
    mock_read(&m, NPU_REG_ERR, NPU_ERR_BUS_WR0_MASK);
    mock_read(&m, NPU_REG_STATUS, BUSY);
    mock_add(&m, MOCK_DELAY, 1, 0, NPU_HAL_OK);
    mock_read(&m, NPU_REG_STATUS, BUSY);
    mock_add(&m, MOCK_DELAY, 1, 0, NPU_HAL_OK);
    mock_read(&m, NPU_REG_STATUS, BUSY);
    expect_end(&m, &c, &p);
    mock_read(&m, NPU_REG_STATUS, BUSY);
    mock_read(&m, NPU_REG_GEMM_COUNT, 0);
    assert_int_equal(npu_conv_run(&dev, &c, &p), NPU_ERR_BUS);
    assert_int_equal(npu_conv_run(&dev, &c, &p), NPU_ERR_BUSY);
    mock_done(&m);
}

static void timeout_irq(void **state) {
    (void)state;
    mock_npu m;
    mock_init(&m);
    npu dev = mock_device(&m, NPU_WAIT_IRQ);
    npu_conv c = small_conv();
    npu_conv_plan p = plan_of(&c, NULL);
    expect_begin(&m, &c, &p, 0);
    expect_small_task(&m, &c);
    mock_add(&m, MOCK_IRQ, NPU_HAL_IRQ_GEMM, 50, NPU_HAL_TIMEOUT);
    expect_end(&m, &c, &p);
    assert_int_equal(npu_conv_run(&dev, &c, &p), NPU_ERR_TIMEOUT);
    mock_done(&m);
}

/* An interrupt line that is stuck high does not hang the driver. */
static void timeout_stale_irq(void **state) {
    (void)state;
    mock_npu m;
    mock_init(&m);
    npu dev = mock_device(&m, NPU_WAIT_IRQ);
    npu_conv c = small_conv();
    npu_conv_plan p = plan_of(&c, NULL);
    expect_begin(&m, &c, &p, 0);
    expect_small_task(&m, &c);
    for (int i = 0; i < 8; i++) {
        expect_irq(&m);
        expect_look(&m, 0);
    }
    expect_end(&m, &c, &p);
    assert_int_equal(npu_conv_run(&dev, &c, &p), NPU_ERR_TIMEOUT);
    mock_done(&m);
}

static void timeout_poll(void **state) {
    (void)state;
    mock_npu m;
    mock_init(&m);
    npu dev = mock_device(&m, NPU_WAIT_POLL);
    dev.timeout_us = 3;
    npu_conv c = small_conv();
    npu_conv_plan p = plan_of(&c, NULL);
    expect_begin(&m, &c, &p, 0);
    expect_small_task(&m, &c);
    for (int i = 0; i < 3; i++) {
        mock_add(&m, MOCK_DELAY, 1, 0, NPU_HAL_OK);
        expect_look(&m, 0);
    }
    expect_end(&m, &c, &p);
    assert_int_equal(npu_conv_run(&dev, &c, &p), NPU_ERR_TIMEOUT);
    mock_done(&m);
}

static void timeout_ready(void **state) {
    (void)state;
    mock_npu m;
    mock_init(&m);
    npu dev = mock_device(&m, NPU_WAIT_IRQ);
    dev.timeout_us = 1;
    npu_conv c = small_conv();
    npu_conv_plan p = plan_of(&c, NULL);
    expect_begin(&m, &c, &p, 0);
    mock_read(&m, NPU_REG_STATUS, 0);
    mock_add(&m, MOCK_DELAY, 1, 0, NPU_HAL_OK);
    mock_read(&m, NPU_REG_STATUS, 0);
    expect_end(&m, &c, &p);
    assert_int_equal(npu_conv_run(&dev, &c, &p), NPU_ERR_TIMEOUT);
    mock_done(&m);
}

/* A completion counter that runs ahead of the tasks started is no completion. */
static void count_too_far(void **state) {
    (void)state;
    mock_npu m;
    mock_init(&m);
    npu dev = mock_device(&m, NPU_WAIT_IRQ);
    npu_conv c = small_conv();
    npu_conv_plan p = plan_of(&c, NULL);
    expect_begin(&m, &c, &p, 0);
    expect_small_task(&m, &c);
    expect_irq(&m);
    expect_look(&m, 2);
    mock_add(&m, MOCK_IRQ, NPU_HAL_IRQ_GEMM, 50, NPU_HAL_TIMEOUT);
    expect_end(&m, &c, &p);
    assert_int_equal(npu_conv_run(&dev, &c, &p), NPU_ERR_TIMEOUT);
    mock_done(&m);
}

static void busy(void **state) {
    (void)state;
    static const struct {
        uint32_t status, count;
    } states[] = {{BUSY, 0}, {READY, 1}, {NPU_STATUS_RESETTING_MASK, 0}, {READY, 0x10000}};
    npu_conv c = small_conv();
    npu_conv_plan p = plan_of(&c, NULL);
    for (size_t i = 0; i < sizeof states / sizeof states[0]; i++) {
        mock_npu m;
        mock_init(&m);
        npu dev = mock_device(&m, NPU_WAIT_IRQ);
        mock_read(&m, NPU_REG_STATUS, states[i].status);
        mock_read(&m, NPU_REG_GEMM_COUNT, states[i].count);
        assert_int_equal(npu_conv_run(&dev, &c, &p), NPU_ERR_BUSY);
        mock_done(&m);
    }
}

/* ---- arguments: nothing touches the device ---- */

static void expect_refusal(npu_status want, const npu_conv *c, const npu_conv_plan *p) {
    mock_npu m;
    mock_init(&m);
    npu dev = mock_device(&m, NPU_WAIT_IRQ);
    assert_int_equal(npu_conv_run(&dev, c, p), want);
    mock_done(&m);
}

#define REFUSED(want, change)                                                                                          \
    do {                                                                                                               \
        npu_conv c = small_conv();                                                                                     \
        npu_conv_plan p = plan_of(&c, NULL);                                                                           \
        change;                                                                                                        \
        expect_refusal(want, &c, &p);                                                                                  \
    } while (0)

static void bad_buffers(void **state) {
    (void)state;
    REFUSED(NPU_ERR_ALIGN, c.ifm_addr += 2);
    REFUSED(NPU_ERR_ALIGN, c.ifm_cstep += 8);
    REFUSED(NPU_ERR_ALIGN, c.wgt_addr += 1);
    REFUSED(NPU_ERR_ALIGN, c.oscale_addr += 4);
    REFUSED(NPU_ERR_ALIGN, c.bias_addr += 8);
    REFUSED(NPU_ERR_ALIGN, c.ofm_addr += 1);
    REFUSED(NPU_ERR_ALIGN, c.ofm_cstep += 4);
    REFUSED(NPU_ERR_CSTEP, c.ifm_cstep = 352);
    REFUSED(NPU_ERR_CSTEP, c.ofm_cstep = 96);
    REFUSED(NPU_ERR_ADDR_OVERFLOW, c.ifm_cstep = 0x80000000u);
    REFUSED(NPU_ERR_ADDR_OVERFLOW, c.ofm_addr = 0xFFFFFD80u);
    REFUSED(NPU_ERR_ADDR_OVERFLOW, c.wgt_addr = 0xFFFFFFF0u);
    REFUSED(NPU_ERR_ADDR_OVERFLOW, c.oscale_addr = 0xFFFFFFF0u);
    REFUSED(NPU_ERR_ADDR_OVERFLOW, c.bias_addr = 0xFFFFFFF0u);
    REFUSED(NPU_ERR_OVERLAP, c.ofm_addr = IFM + 2 * 368 + 352);
    REFUSED(NPU_ERR_OVERLAP, c.ofm_addr = IFM - 5 * 112 - 96);
    REFUSED(NPU_ERR_OVERLAP, c.wgt_addr = OFM + 5 * 112 + 96);
    REFUSED(NPU_ERR_OVERLAP, c.oscale_addr = OFM + 16);
    REFUSED(NPU_ERR_OVERLAP, c.bias_addr = OFM - 16);
}

/* Buffers that touch and a buffer that ends with the address space are legal. */
static void tight_buffers(void **state) {
    (void)state;
    npu_conv c = small_conv();
    npu_conv_plan p = plan_of(&c, NULL);
    c.ofm_addr = IFM + 2 * 368 + 368;
    c.wgt_addr = 0u - p.wgt_bytes;
    mock_npu m;
    mock_init(&m);
    npu dev = mock_device(&m, NPU_WAIT_IRQ);
    mock_add(&m, MOCK_READ, NPU_REG_STATUS, 0, NPU_HAL_FAULT); /* it got as far as the device */
    assert_int_equal(npu_conv_run(&dev, &c, &p), NPU_ERR_HAL);
    mock_done(&m);
}

static void bad_plans(void **state) {
    (void)state;
    REFUSED(NPU_ERR_SPLIT, p.ow++);
    REFUSED(NPU_ERR_SPLIT, p.oh--);
    REFUSED(NPU_ERR_SPLIT, p.wgt_bytes += 64);
    REFUSED(NPU_ERR_SPLIT, p.param_bytes = 0);
    REFUSED(NPU_ERR_SPLIT, p.ow_task = 0);
    REFUSED(NPU_ERR_SPLIT, p.ow_tasks = 2);
    REFUSED(NPU_ERR_SPLIT, (p.ow_task = 3, p.ow_tasks = 2)); /* segments without row_split */
    REFUSED(NPU_ERR_SPLIT, p.row_split = true);              /* several rows with it */
    REFUSED(NPU_ERR_SPLIT, p.oh_task = 0);
    REFUSED(NPU_ERR_SPLIT, p.ic_task = 0);
    REFUSED(NPU_ERR_SPLIT, p.oc_task = 0);
    REFUSED(NPU_ERR_SPLIT, p.oh_tasks = 2);
    REFUSED(NPU_ERR_SPLIT, p.ic_tasks = 2);
    REFUSED(NPU_ERR_SPLIT, p.oc_tasks = 2);
    REFUSED(NPU_ERR_SPLIT, p.group = 0);
    REFUSED(NPU_ERR_SPLIT, p.group = 256);
    REFUSED(NPU_ERR_SPLIT, p.ic_task = 4);
    REFUSED(NPU_ERR_SPLIT, (p.ic_task = 2, p.ic_tasks = 2));
    REFUSED(NPU_ERR_SPLIT, (p.oc_task = 4, p.oc_tasks = 2));
    REFUSED(NPU_ERR_SPLIT, p.n = 16);
    REFUSED(NPU_ERR_ARG, p.n = 7);
    REFUSED(NPU_ERR_KERNEL, c.kw = 256);
    REFUSED(NPU_ERR_SPLIT, p.op = NPU_GEMM_DEPTHWISE);
    REFUSED(NPU_ERR_SPLIT, p.kh_task = 0);
    REFUSED(NPU_ERR_SPLIT, p.kh_tasks = 2);
    REFUSED(NPU_ERR_SPLIT, p.merge = 0);
    REFUSED(NPU_ERR_SPLIT, p.group_tasks = 2);
    REFUSED(NPU_ERR_SPLIT, p.scratch_bytes = 16);
    /* more rows or weights than the buffers hold */
    npu_conv big = small_conv();
    big.iw = 1000;
    big.ih = 100;
    npu_conv_plan p = plan_of(&big, NULL);
    p.oh_task = p.oh;
    p.oh_tasks = 1;
    expect_refusal(NPU_ERR_SPLIT, &big, &p);
    big = small_conv();
    big.iw = 40000;
    big.ih = 9;
    p = plan_of(&big, NULL);
    p.ow_task = 10000;
    p.ow_tasks = 2;
    expect_refusal(NPU_ERR_SPLIT, &big, &p);
    big = small_conv();
    big.ic = 1000;
    p = plan_of(&big, NULL);
    p.ic_task = 1000;
    p.ic_tasks = 1;
    expect_refusal(NPU_ERR_SPLIT, &big, &p);
    big = small_conv();
    big.oc = 2000;
    p = plan_of(&big, NULL);
    p.oc_task = 2000;
    p.oc_tasks = 1;
    expect_refusal(NPU_ERR_SPLIT, &big, &p);
}

static void null_arguments(void **state) {
    (void)state;
    mock_npu m;
    mock_init(&m);
    npu dev = mock_device(&m, NPU_WAIT_IRQ);
    npu_conv c = small_conv();
    npu_conv_plan p = plan_of(&c, NULL);
    assert_int_equal(npu_conv_run(NULL, &c, &p), NPU_ERR_ARG);
    assert_int_equal(npu_conv_run(&dev, NULL, &p), NPU_ERR_ARG);
    assert_int_equal(npu_conv_run(&dev, &c, NULL), NPU_ERR_ARG);
    dev.hal = NULL;
    assert_int_equal(npu_conv_run(&dev, &c, &p), NPU_ERR_ARG);
    mock_done(&m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_task_irq),  cmocka_unit_test(one_task_poll),
        cmocka_unit_test(extended_form), cmocka_unit_test(split_four_in_flight),
        cmocka_unit_test(split_serial),  cmocka_unit_test(hal_faults),
        cmocka_unit_test(error_flags),   cmocka_unit_test(error_without_rest),
        cmocka_unit_test(timeout_irq),   cmocka_unit_test(timeout_stale_irq),
        cmocka_unit_test(timeout_poll),  cmocka_unit_test(timeout_ready),
        cmocka_unit_test(count_too_far), cmocka_unit_test(busy),
        cmocka_unit_test(bad_buffers),   cmocka_unit_test(tight_buffers),
        cmocka_unit_test(bad_plans),     cmocka_unit_test(null_arguments),
        cmocka_unit_test(split_rows),    cmocka_unit_test(resident_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
