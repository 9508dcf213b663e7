/* test_driver_plan.c - how convolutions are cut into tasks; packed weights and factors. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "npu.h"

static npu_conv shape(uint32_t iw, uint32_t ih, uint32_t ic, uint32_t oc, uint32_t k, uint32_t s, uint32_t p) {
    npu_conv c = {.iw = iw,
                  .ih = ih,
                  .ic = ic,
                  .oc = oc,
                  .kw = k,
                  .kh = k,
                  .stride_w = s,
                  .stride_h = s,
                  .dil_w = 1,
                  .dil_h = 1,
                  .groups = 1};
    c.pad_l = c.pad_r = c.pad_t = c.pad_b = p;
    return c;
}

static uint32_t up(uint32_t a, uint32_t b) {
    return (a + b - 1) / b;
}

static uint32_t least(uint32_t a, uint32_t b) {
    return a < b ? a : b;
}

/* Lines of the map from the first to the last that `count` output lines see, by the definition. */
static uint32_t inputs(int64_t at, uint32_t count, uint32_t stride, uint32_t pad, uint32_t k0, uint32_t k, uint32_t dil,
                       uint32_t map) {
    int64_t first = at * stride + (int64_t)k0 * dil - pad;
    int64_t end = (at + count - 1) * stride + (int64_t)(k0 + k - 1) * dil - pad + 1;
    first = first < 0 ? 0 : first;
    end = end > map ? map : end;
    return end > first ? (uint32_t)(end - first) : 0;
}

/* docs/npu/npu.md section 3.2: rows of one group, where rows stream. */
static uint32_t window_rows(const npu_conv *c, const npu_conv_plan *p, uint32_t ih, uint32_t oh, uint32_t kh) {
    uint32_t g = least(p->group, 512 / p->n);
    uint32_t rows = least(oh, 1 + (2 * p->n * g + p->ow - 2) / p->ow);
    return least(ih, (rows - 1) * c->stride_h + (kh - 1) * c->dil_h + 1);
}

/* The input of each task fits: whole rows, on chip or streaming, or a segment of one row. */
static void check_inputs(const npu_conv *c, const npu_conv_plan *p) {
    uint64_t icb = up(p->ic_task, p->n);
    if (p->row_split) {
        assert_true(p->oh_task == 1 && p->kh_task == 1 && !p->resident);
        for (uint32_t ow0 = 0; ow0 < p->ow; ow0 += p->ow_task) {
            uint32_t columns = least(p->ow - ow0, p->ow_task);
            assert_true(inputs(ow0, columns, c->stride_w, c->pad_l, 0, c->kw, c->dil_w, c->iw) * icb <= 16384);
        }
        return;
    }
    assert_int_equal(p->ow_task, p->ow);
    for (uint32_t kh0 = 0; kh0 < c->kh; kh0 += p->kh_task) {
        uint32_t kh = least(c->kh - kh0, p->kh_task);
        for (uint32_t oh0 = 0; oh0 < p->oh; oh0 += p->oh_task) {
            uint32_t rows = least(p->oh - oh0, p->oh_task);
            uint64_t ih = inputs(oh0, rows, c->stride_h, c->pad_t, kh0, kh, c->dil_h, c->ih);
            if (p->resident) {
                assert_true(ih * c->iw <= 65535);
                assert_true(((uint64_t)window_rows(c, p, (uint32_t)ih, rows, kh) * c->iw + 64) * icb <= 16384);
            } else {
                assert_true(ih * c->iw * icb <= 16384);
            }
        }
    }
}

/* Channels of a batch of groups: all limits hold for the largest one. */
static void check_channels(const npu_conv *c, const npu_conv_plan *p) {
    uint32_t icg = c->ic / c->groups;
    uint32_t ocg = c->oc / c->groups;
    uint32_t icb = up(p->ic_task, p->n);
    bool depthwise = c->groups > 1 && c->groups == c->ic && c->groups == c->oc;
    assert_int_equal(p->op, depthwise ? NPU_GEMM_DEPTHWISE : NPU_GEMM_CONV);
    assert_int_equal(p->group_tasks, up(c->groups, p->merge));
    assert_true(p->merge <= c->groups && p->oc_task <= 1024);
    assert_int_equal(p->oc_tasks, up(ocg * p->merge, p->oc_task));
    assert_true(p->oc_tasks == 1 || p->oc_task % p->n == 0);
    if (p->group_tasks > 1) {
        assert_true(c->in_layout == NPU_FP32_NCHW || p->merge * icg % p->n == 0);
        assert_true(p->merge * ocg % (c->out_layout == NPU_FP32_NCHW ? 4 : p->n) == 0);
    }
    uint32_t words = p->kh_task * c->kw * (depthwise ? 1 : icb * p->n);
    assert_true(words <= 4608);
    assert_true(!p->resident || up(up(p->oc_task, p->n), 2) * words <= 4608);
    if (depthwise) {
        assert_true(p->merge == c->groups && p->ic_task == p->oc_task && p->ic_tasks == 1);
        return;
    }
    assert_int_equal(p->ic_tasks, up(icg * p->merge, p->ic_task));
    assert_true(p->ic_tasks == 1 || p->ic_task % p->n == 0);
}

static void check_bytes(const npu_conv *c, const npu_conv_plan *p) {
    uint64_t wgt = 0;
    if (p->op == NPU_GEMM_DEPTHWISE) {
        for (uint32_t kh0 = 0; kh0 < c->kh; kh0 += p->kh_task) {
            wgt += (uint64_t)up(c->ic, p->n) * up(least(c->kh - kh0, p->kh_task) * c->kw * p->n, 16) * 16;
        }
    } else {
        for (uint32_t g = 0; g < c->groups; g += p->merge) {
            uint64_t groups = least(c->groups - g, p->merge);
            wgt += (uint64_t)up(c->oc / c->groups * (uint32_t)groups, p->n) *
                   up(c->ic / c->groups * (uint32_t)groups, p->n) * c->kh * c->kw * p->n * p->n;
        }
    }
    bool sums = c->out_layout == NPU_INT8_NHWC && (p->ic_tasks > 1 || p->kh_tasks > 1);
    assert_true(p->wgt_bytes == wgt);
    assert_int_equal(p->param_bytes, up(c->oc, 4) * 16);
    assert_int_equal(p->scratch_bytes, sums ? up(p->ow * p->oh * 4, 16) * 16 * p->oc_task : 0);
}

/* The limits of docs/npu/npu.md section 3, for each task that the plan stands for. */
static void check_plan(const npu_conv *c, const npu_conv_plan *p) {
    assert_int_equal(p->ow, (c->iw + c->pad_l + c->pad_r - (c->kw - 1) * c->dil_w - 1) / c->stride_w + 1);
    assert_int_equal(p->oh, (c->ih + c->pad_t + c->pad_b - (c->kh - 1) * c->dil_h - 1) / c->stride_h + 1);
    assert_true(p->ow_task > 0 && p->ow_task <= p->ow);
    assert_int_equal(p->ow_tasks, up(p->ow, p->ow_task));
    assert_int_equal(p->oh_tasks, up(p->oh, p->oh_task));
    assert_int_equal(p->kh_tasks, up(c->kh, p->kh_task));
    assert_true(p->oh_task <= p->oh && p->kh_task <= c->kh);
    assert_true(p->ow_task * p->oh_task <= 65535);
    check_inputs(c, p);
    check_channels(c, p);
    check_bytes(c, p);
}

static uint32_t draw(uint32_t lo, uint32_t hi) {
    return lo + (uint32_t)rand() % (hi - lo + 1);
}

/* Any legal convolution: plain, grouped or depthwise. */
static npu_conv draw_conv(int i) {
    npu_conv c = shape(draw(1, draw(1, i % 8 == 0 ? 60000 : 4000)), draw(1, draw(1, 500)), draw(1, draw(1, 2000)),
                       draw(1, draw(1, 2500)), 1, 1, 0);
    uint32_t most = i % 5 == 0 ? 20 : 7;
    c.kw = draw(1, most);
    c.kh = draw(1, i % 25 == 0 ? 255 : most);
    c.stride_w = draw(1, 7);
    c.stride_h = draw(1, i % 7 == 0 ? 255 : 7);
    c.dil_w = i % 3 == 0 ? draw(1, 9) : 1;
    c.dil_h = i % 3 == 0 ? draw(1, 255) : 1;
    c.pad_l = draw(0, i % 9 == 0 ? 255 : c.kw - 1);
    c.pad_r = draw(0, c.kw - 1);
    c.pad_t = draw(0, c.kh - 1);
    c.pad_b = draw(0, i % 11 == 0 ? 255 : c.kh - 1);
    c.in_layout = (npu_layout)draw(0, 1);
    c.out_layout = (npu_layout)draw(0, 1);
    if (i % 4 == 1) {
        c.groups = draw(2, 60);
        c.ic = c.groups * draw(1, 20);
        c.oc = c.groups * draw(1, 20);
    } else if (i % 4 == 2) {
        c.groups = c.oc = c.ic;
    }
    return c;
}

static void plan_random(void **state) {
    (void)state;
    static const uint32_t sizes[] = {4, 8, 16, 32};
    unsigned planned = 0;
    unsigned row_splits = 0;
    unsigned residents = 0;
    unsigned scratches = 0;
    unsigned batches = 0;
    srand(1);
    for (int i = 0; i < 20000; i++) {
        uint32_t n = sizes[draw(0, 3)];
        npu_conv c = draw_conv(i);
        npu_conv_split split = {.max_ow = (draw(0, 3) == 0) * draw(1, 5000),
                                .max_oh = draw(0, 1) * draw(1, 50),
                                .max_ic = draw(0, 1) * draw(n, 300),
                                .max_oc = draw(0, 1) * draw(n, 1500),
                                .group = draw(0, 1) * draw(1, 255),
                                .serial = draw(0, 1) == 1,
                                .no_resident = draw(0, 3) == 0};
        split.max_kh = (draw(0, 3) == 0) * draw(1, 4);
        split.resident = !split.no_resident && draw(0, 2) == 0;
        npu_conv_plan p;
        npu_status status = npu_conv_plan_make(n, &c, &split, &p);
        if (status != NPU_OK) {
            bool small = c.iw + c.pad_l + c.pad_r < (c.kw - 1) * c.dil_w + 1 ||
                         c.ih + c.pad_t + c.pad_b < (c.kh - 1) * c.dil_h + 1;
            assert_int_equal(status, small ? NPU_ERR_TOO_SMALL : NPU_ERR_ADDR_OVERFLOW);
            uint64_t weights = (uint64_t)up(c.oc, n) * n * up(c.ic, n) * n * c.kh * c.kw;
            /* partial sums or weights beyond 4 GB */
            assert_true(small || c.out_layout == NPU_INT8_NHWC || weights > UINT32_MAX);
            continue;
        }
        planned++;
        row_splits += p.row_split;
        residents += p.resident;
        scratches += p.scratch_bytes != 0;
        batches += p.group_tasks > 1;
        assert_int_equal(p.row_split, c.iw > 16384 || (split.max_ow != 0 && split.max_ow < p.ow));
        assert_true(split.max_ow == 0 || p.ow_task <= split.max_ow);
        check_plan(&c, &p);
        assert_true(split.max_oh == 0 || p.oh_task <= split.max_oh);
        assert_true(split.max_ic == 0 || p.ic_task <= split.max_ic);
        assert_true(split.max_oc == 0 || p.oc_task <= split.max_oc);
        assert_true(split.max_kh == 0 || p.kh_task <= split.max_kh);
        assert_int_equal(p.serial, split.serial);
        assert_false(p.resident && split.no_resident);
        uint32_t group = 64 / n;
        assert_true(split.group != 0 ? p.group == split.group : p.group == group || (p.resident && p.group < group));
    }
    assert_true(planned > 8000 && row_splits > 1000 && residents > 3000 && scratches > 500 && batches > 500);
}

/* Rows as long as a dimension can be, at the least and the greatest mesh size. */
static void plan_long_rows(void **state) {
    (void)state;
    static const uint32_t sizes[] = {4, 32};
    for (int i = 0; i < 2; i++) {
        uint32_t n = sizes[i];
        npu_conv_plan p;
        npu_conv c = shape(65535, 7, 3, 5, 7, 1, 3);
        assert_int_equal(npu_conv_plan_make(n, &c, NULL, &p), NPU_OK);
        check_plan(&c, &p);
        assert_true(p.row_split);
        assert_int_equal(p.ow, 65535);
        assert_int_equal(p.oh_tasks, 7);
        assert_int_equal(p.ow_tasks, 9); /* of at most 8192 - 6 pixels */
        assert_int_equal(p.ow_task, 7282);
        c.ih = 1; /* kernel rows above and below the map, whichever it is */
        assert_int_equal(npu_conv_plan_make(n, &c, NULL, &p), NPU_OK);
        check_plan(&c, &p);
        assert_true(p.row_split && p.oh == 1);
        c = shape(65535, 65535, 65535, 65535, 1, 1, 0); /* the largest of all */
        assert_int_equal(npu_conv_plan_make(n, &c, NULL, &p), NPU_ERR_ADDR_OVERFLOW);
        c.oc = 20;
        assert_int_equal(npu_conv_plan_make(n, &c, NULL, &p), NPU_OK);
        check_plan(&c, &p);
        assert_int_equal(p.ic_task, 16 * n); /* 512 columns of 16 blocks */
        assert_int_equal(p.ow_task, 512);
        c = shape(65535, 2, 300, 20, 7, 7, 6);
        assert_int_equal(npu_conv_plan_make(n, &c, NULL, &p), NPU_OK);
        check_plan(&c, &p);
    }
}

/* Where whole rows end and segments begin; before that, kernel rows are taken apart. */
static void plan_row_split_limits(void **state) {
    (void)state;
    npu_conv_plan p;
    npu_conv c = shape(5461, 9, 4, 4, 3, 1, 1);
    assert_int_equal(npu_conv_plan_make(4, &c, NULL, &p), NPU_OK);
    assert_int_equal(p.kh_tasks, 1);
    c.iw = 5462; /* three rows of it are 16386 words: slices of two kernel rows and of one */
    assert_int_equal(npu_conv_plan_make(4, &c, NULL, &p), NPU_OK);
    assert_false(p.row_split);
    assert_int_equal(p.kh_task, 2);
    assert_int_equal(p.kh_tasks, 2);
    c.iw = 16384;
    assert_int_equal(npu_conv_plan_make(4, &c, NULL, &p), NPU_OK);
    assert_false(p.row_split);
    assert_int_equal(p.kh_tasks, 3);
    c.iw = 16385;
    assert_int_equal(npu_conv_plan_make(4, &c, NULL, &p), NPU_OK);
    assert_true(p.row_split);
    assert_int_equal(p.ow_tasks, 3);
    c = shape(20, 9, 4, 4, 3, 1, 1);
    assert_int_equal(npu_conv_plan_make(4, &c, &(npu_conv_split){.max_ow = 20}, &p), NPU_OK);
    assert_false(p.row_split);
    assert_int_equal(npu_conv_plan_make(4, &c, &(npu_conv_split){.max_ow = 19}, &p), NPU_OK);
    assert_true(p.row_split);
    assert_int_equal(p.ow_task, 10);
    assert_int_equal(p.oh_tasks, 9);
}

/* Input on chip: two tasks together in the input buffer; no split that is not needed. */
static void plan_sizes(void **state) {
    (void)state;
    const npu_conv_split off = {.no_resident = true};
    npu_conv_plan p;
    npu_conv c = shape(64, 64, 64, 128, 3, 1, 1);
    assert_int_equal(npu_conv_plan_make(32, &c, &off, &p), NPU_OK); /* 64 * 64 * 2 = 8192 words: one task */
    assert_int_equal(p.oh_tasks * p.ic_tasks * p.oc_tasks, 1);
    c.ih = 65;
    assert_int_equal(npu_conv_plan_make(32, &c, &off, &p), NPU_OK);
    assert_int_equal(p.oh_tasks, 2);
    assert_int_equal(p.oh_task, 33);
    c = shape(3000, 9, 4, 4, 3, 1, 1); /* three rows of 3000 words: two tasks do not fit together, five rows fit */
    assert_int_equal(npu_conv_plan_make(4, &c, &off, &p), NPU_OK);
    assert_int_equal(p.oh_task, 3);
    c = shape(7, 7, 512, 2048, 3, 1, 1); /* 9 * 512 = 4608 words of weights */
    assert_int_equal(npu_conv_plan_make(32, &c, &off, &p), NPU_OK);
    assert_int_equal(p.ic_tasks, 1);
    assert_int_equal(p.oc_tasks, 2);
    assert_int_equal(p.oc_task, 1024);
    c.ic = 513;
    assert_int_equal(npu_conv_plan_make(32, &c, &off, &p), NPU_OK);
    assert_int_equal(p.ic_tasks, 2);
    c = shape(16384, 3, 1, 1, 1, 1, 0);
    assert_int_equal(npu_conv_plan_make(4, &c, &off, &p), NPU_OK);
    assert_int_equal(p.oh_task, 1);
    c = shape(64, 64, 16, 16, 12, 1, 5); /* 144 taps fit with one block of channels at N = 32, 169 do not */
    assert_int_equal(npu_conv_plan_make(32, &c, &off, &p), NPU_OK);
    assert_int_equal(p.kh_tasks, 1);
    c.kw = c.kh = 13;
    assert_int_equal(npu_conv_plan_make(32, &c, &off, &p), NPU_OK);
    assert_int_equal(p.kh_tasks, 2);
    assert_int_equal(p.kh_task, 7);
}

/* Weights on chip: the shapes that the cycle table of the project names. */
static void plan_resident(void **state) {
    (void)state;
    static const struct {
        uint32_t side, ic, oc, oh_tasks, oc_tasks;
    } rows[] = {{104, 256, 128, 1, 1}, {208, 256, 64, 1, 1}, {416, 32, 64, 3, 1}};
    npu_conv_plan p;
    npu_conv c;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        c = shape(rows[i].side, rows[i].side, rows[i].ic, rows[i].oc, 3, 1, 0);
        assert_int_equal(npu_conv_plan_make(32, &c, NULL, &p), NPU_OK);
        assert_true(p.resident);
        assert_int_equal(p.oh_tasks, rows[i].oh_tasks);
        assert_int_equal(p.oc_tasks, rows[i].oc_tasks);
        assert_int_equal(p.ic_tasks, 1);
        c.groups = c.oc = c.ic;
        assert_int_equal(npu_conv_plan_make(32, &c, NULL, &p), NPU_OK);
        assert_true(p.resident);
        assert_int_equal(p.oc_tasks, 1); /* all channels in one task */
    }
    c = shape(32, 32, 128, 128, 3, 1, 0); /* the map fits and arrives while the first block of outputs is computed */
    assert_int_equal(npu_conv_plan_make(32, &c, NULL, &p), NPU_OK);
    assert_false(p.resident);
    assert_int_equal(p.oh_tasks * p.oc_tasks, 1);
    assert_int_equal(npu_conv_plan_make(32, &c, &(npu_conv_split){.resident = true, .max_kh = 2}, &p), NPU_OK);
    assert_true(p.resident);
    assert_int_equal(p.kh_task, 2);
    assert_int_equal(p.kh_tasks, 2);
    c = shape(32, 32, 256, 512, 1, 1, 0); /* it fits, but would arrive late */
    assert_int_equal(npu_conv_plan_make(32, &c, NULL, &p), NPU_OK);
    assert_true(p.resident);
    /* late, too, and the weights do not fit: two blocks of rows begin earlier than one */
    c = shape(32, 32, 128, 512, 3, 2, 1);
    assert_int_equal(npu_conv_plan_make(32, &c, NULL, &p), NPU_OK);
    assert_false(p.resident);
    assert_int_equal(p.oh_tasks, 2);
    c.iw = c.ih = 31; /* 15 x 15 outputs have no halves of whole tiles */
    c.pad_l = c.pad_r = c.pad_t = c.pad_b = 0;
    assert_int_equal(npu_conv_plan_make(32, &c, NULL, &p), NPU_OK);
    assert_int_equal(p.oh_tasks, 1);
    c = shape(200, 200, 128, 512, 3, 1, 1); /* neither fits: the input twice is less than the weights ten times */
    assert_int_equal(npu_conv_plan_make(32, &c, NULL, &p), NPU_OK);
    assert_true(p.resident || p.oh_tasks > 1);
}

/* Groups: as many together as pay, and as alignment asks. */
static void plan_groups(void **state) {
    (void)state;
    npu_conv_plan p;
    npu_conv c = shape(56, 56, 256, 256, 3, 1, 1);
    c.groups = 32; /* of 8 x 8 channels: four make a block of N = 32 */
    assert_int_equal(npu_conv_plan_make(32, &c, NULL, &p), NPU_OK);
    assert_int_equal(p.merge, 4);
    assert_int_equal(p.group_tasks, 8);
    assert_int_equal(npu_conv_plan_make(8, &c, NULL, &p), NPU_OK);
    assert_int_equal(p.merge, 1);
    c.groups = 2;
    assert_int_equal(npu_conv_plan_make(32, &c, NULL, &p), NPU_OK);
    assert_int_equal(p.merge, 1);
    c = shape(5, 5, 30, 30, 1, 1, 0); /* small: one batch is cheaper than many */
    c.groups = 10;
    assert_int_equal(npu_conv_plan_make(4, &c, NULL, &p), NPU_OK);
    assert_int_equal(p.merge, 10);
    c = shape(50, 50, 60, 60, 3, 1, 1);
    c.groups = 20; /* of 3 channels: factors begin at multiples of 4, INT8 pixels at multiples of N */
    assert_int_equal(npu_conv_plan_make(4, &c, NULL, &p), NPU_OK);
    assert_int_equal(p.merge % 4, 0);
    c.in_layout = NPU_INT8_NHWC;
    assert_int_equal(npu_conv_plan_make(16, &c, NULL, &p), NPU_OK);
    assert_true(p.merge % 16 == 0 || p.merge == 20);
    c = shape(9, 9, 6, 6, 3, 1, 1);
    c.groups = 6;
    assert_int_equal(npu_conv_plan_make(4, &c, NULL, &p), NPU_OK);
    assert_int_equal(p.op, NPU_GEMM_DEPTHWISE);
    c.oc = 12;
    assert_int_equal(npu_conv_plan_make(4, &c, NULL, &p), NPU_OK);
    assert_int_equal(p.op, NPU_GEMM_CONV);
}

static void expect_plan(npu_status want, const npu_conv *c, const npu_conv_split *split) {
    npu_conv_plan p;
    npu_conv_plan before;
    memset(&p, 0x5A, sizeof p);
    before = p;
    assert_int_equal(npu_conv_plan_make(8, c, split, &p), want);
    assert_memory_equal(&p, &before, sizeof p);
}

#define PLAN_ERROR(want, change)                                                                                       \
    do {                                                                                                               \
        npu_conv c = shape(20, 20, 20, 20, 3, 1, 1);                                                                   \
        c.change;                                                                                                      \
        expect_plan(want, &c, NULL);                                                                                   \
    } while (0)

static void plan_errors(void **state) {
    (void)state;
    PLAN_ERROR(NPU_ERR_ZERO_SIZE, iw = 0);
    PLAN_ERROR(NPU_ERR_ZERO_SIZE, ih = 0);
    PLAN_ERROR(NPU_ERR_ZERO_SIZE, ic = 0);
    PLAN_ERROR(NPU_ERR_ZERO_SIZE, oc = 0);
    PLAN_ERROR(NPU_ERR_ZERO_SIZE, kw = 0);
    PLAN_ERROR(NPU_ERR_ZERO_SIZE, kh = 0);
    PLAN_ERROR(NPU_ERR_ZERO_SIZE, stride_w = 0);
    PLAN_ERROR(NPU_ERR_ZERO_SIZE, stride_h = 0);
    PLAN_ERROR(NPU_ERR_ZERO_SIZE, dil_w = 0);
    PLAN_ERROR(NPU_ERR_ZERO_SIZE, dil_h = 0);
    PLAN_ERROR(NPU_ERR_ZERO_SIZE, groups = 0);
    PLAN_ERROR(NPU_ERR_KERNEL, kw = 256);
    PLAN_ERROR(NPU_ERR_KERNEL, kh = 256);
    PLAN_ERROR(NPU_ERR_STRIDE, dil_w = 256);
    PLAN_ERROR(NPU_ERR_STRIDE, dil_h = 0xFFFFFFFFu);
    PLAN_ERROR(NPU_ERR_STRIDE, stride_w = 256);
    PLAN_ERROR(NPU_ERR_STRIDE, stride_h = 256);
    PLAN_ERROR(NPU_ERR_PADDING, pad_l = 256);
    PLAN_ERROR(NPU_ERR_PADDING, pad_r = 256);
    PLAN_ERROR(NPU_ERR_PADDING, pad_t = 0xFFFFFFFFu);
    PLAN_ERROR(NPU_ERR_PADDING, pad_b = 256);
    PLAN_ERROR(NPU_ERR_GROUPS, groups = 3);
    PLAN_ERROR(NPU_ERR_GROUPS, groups = 40);
    PLAN_ERROR(NPU_ERR_GROUPS, oc = 21; c.groups = 5);
    PLAN_ERROR(NPU_ERR_ACT, act = NPU_ACT_COUNT);
    PLAN_ERROR(NPU_ERR_ACT, act = NPU_ACT_HARDSWISH); /* alpha is 0 */
    PLAN_ERROR(NPU_ERR_ACT, act = NPU_ACT_HARDSIGMOID; c.act_p[0] = 0x80000000u);
    PLAN_ERROR(NPU_ERR_ARG, in_layout = (npu_layout)3);
    PLAN_ERROR(NPU_ERR_ARG, out_layout = (npu_layout)3);
    PLAN_ERROR(NPU_ERR_TOO_LARGE, iw = 65536);
    PLAN_ERROR(NPU_ERR_TOO_LARGE, ih = 65536);
    PLAN_ERROR(NPU_ERR_TOO_LARGE, ic = 65536);
    PLAN_ERROR(NPU_ERR_TOO_LARGE, oc = 0xFFFFFFFFu);
}

static void plan_more_errors(void **state) {
    (void)state;
    npu_conv c = shape(2, 2, 1, 1, 5, 1, 1);
    expect_plan(NPU_ERR_TOO_SMALL, &c, NULL);
    c = shape(1, 65535, 1, 1, 3, 1, 2);
    expect_plan(NPU_ERR_TOO_LARGE, &c, NULL);
    c = shape(65535, 1, 1, 1, 3, 1, 2);
    expect_plan(NPU_ERR_TOO_LARGE, &c, NULL);
    c = shape(20, 20, 65535, 65535, 7, 1, 1);
    expect_plan(NPU_ERR_ADDR_OVERFLOW, &c, NULL);
    c = shape(20, 20, 20, 20, 3, 1, 1);
    npu_conv wide = shape(20000, 3, 1, 1, 1, 1, 0); /* a segment of a row must hold the kernel */
    wide.kw = 255;
    wide.dil_w = 70;
    expect_plan(NPU_ERR_KERNEL, &wide, NULL);
    wide = shape(300, 3, 1, 1, 1, 1, 0); /* 145 columns of one block at N = 32 */
    wide.kw = 145;
    npu_conv_plan plan;
    assert_int_equal(npu_conv_plan_make(32, &wide, NULL, &plan), NPU_ERR_KERNEL);
    assert_int_equal(npu_conv_plan_make(16, &wide, NULL, &plan), NPU_OK);
    wide.ic = wide.oc = wide.groups = 2;
    assert_int_equal(npu_conv_plan_make(32, &wide, NULL, &plan), NPU_OK);
    expect_plan(NPU_ERR_SPLIT, &c, &(npu_conv_split){.max_ic = 7});
    expect_plan(NPU_ERR_SPLIT, &c, &(npu_conv_split){.max_oc = 1});
    expect_plan(NPU_ERR_SPLIT, &c, &(npu_conv_split){.group = 256});
    expect_plan(NPU_ERR_SPLIT, &c, &(npu_conv_split){.resident = true, .no_resident = true});
    expect_plan(NPU_ERR_ARG, NULL, NULL);
    npu_conv_plan p;
    assert_int_equal(npu_conv_plan_make(8, &c, NULL, NULL), NPU_ERR_ARG);
    assert_int_equal(npu_conv_plan_make(0, &c, NULL, &p), NPU_ERR_ARG);
    assert_int_equal(npu_conv_plan_make(64, &c, NULL, &p), NPU_ERR_ARG);
}

/* ---- packing ---- */

static void pack_weights(void **state) {
    (void)state;
    static const uint32_t sizes[] = {4, 8, 16, 32};
    srand(2);
    for (int i = 0; i < 200; i++) {
        uint32_t n = sizes[draw(0, 3)];
        npu_conv c = shape(9, 9, draw(1, 70), draw(1, 70), 1, 1, 0);
        c.kw = draw(1, 4);
        c.kh = draw(1, 4);
        npu_conv_split split = {.max_ow = draw(0, 1) * draw(1, 5), .max_ic = draw(0, 1) * draw(n, 80)};
        npu_conv_plan p;
        assert_int_equal(npu_conv_plan_make(n, &c, &split, &p), NPU_OK);
        size_t count = (size_t)c.oc * c.ic * c.kh * c.kw;
        int8_t *w = malloc(count);
        int8_t *packed = malloc(p.wgt_bytes + 1);
        int8_t *want = calloc(1, p.wgt_bytes + 1);
        for (size_t j = 0; j < count; j++) {
            w[j] = (int8_t)(draw(0, 254) - 127);
        }
        memset(packed, 0x77, p.wgt_bytes + 1);
        want[p.wgt_bytes] = 0x77;
        assert_int_equal(p.row_split, split.max_ow != 0);
        /* Each weight to its place: slices before this one, then the formula of docs/npu/npu.md section 3 with the
         * kernel rows of the slice. */
        uint32_t slice_kh = p.row_split ? 1 : c.kh;
        for (uint32_t oc = 0; oc < c.oc; oc++) {
            for (uint32_t ic = 0; ic < c.ic; ic++) {
                uint32_t slice = ic / p.ic_task;
                uint32_t in_slice = ic % p.ic_task;
                uint32_t slice_ic = c.ic - slice * p.ic_task < p.ic_task ? c.ic - slice * p.ic_task : p.ic_task;
                size_t base = (size_t)slice * p.ic_task / n * up(c.oc, n) * c.kh * c.kw * n * n;
                for (uint32_t kh = 0; kh < c.kh; kh++) {
                    for (uint32_t kw = 0; kw < c.kw; kw++) {
                        size_t row = (size_t)(kh / slice_kh) * up(slice_ic, n) * up(c.oc, n) * c.kw * n * n;
                        size_t word = ((((size_t)(oc / n) * slice_kh + kh % slice_kh) * c.kw + kw) * up(slice_ic, n) +
                                       in_slice / n) *
                                          n +
                                      in_slice % n;
                        want[base + row + word * n + oc % n] = w[(((size_t)oc * c.ic + ic) * c.kh + kh) * c.kw + kw];
                    }
                }
            }
        }
        assert_int_equal(npu_conv_pack_weights(&c, &p, w, packed, p.wgt_bytes), NPU_OK);
        assert_memory_equal(packed, want, p.wgt_bytes + 1);
        assert_int_equal(npu_conv_pack_weights(&c, &p, w, packed, p.wgt_bytes - 1), NPU_ERR_BUF_SIZE);
        free(w);
        free(packed);
        free(want);
    }
}

static void oscale(void **state) {
    (void)state;
    npu_conv c = shape(9, 9, 3, 6, 1, 1, 0);
    npu_conv_plan p;
    float in_scale = 3.1415926f;
    const float w_scale[6] = {1.0f, 0.0f, -0.0f, 127.0f / 0.3f, 1e38f, 1e-45f};
    float out[9] = {0};
    memcpy(&c.in_scale, &in_scale, 4);
    assert_int_equal(npu_conv_plan_make(8, &c, NULL, &p), NPU_OK);
    out[8] = 5.0f;
    assert_int_equal(npu_conv_make_oscale(&c, &p, w_scale, out, p.param_bytes), NPU_OK);
    for (size_t i = 0; i < 8; i++) {
        float want = 0.0f;
        if (i < 6 && w_scale[i] != 0.0f) {
            volatile float product = in_scale * w_scale[i];
            want = 1.0f / product;
        }
        assert_memory_equal(&out[i], &want, 4);
    }
    assert_true(out[8] == 5.0f);
    assert_int_equal(npu_conv_make_oscale(&c, &p, w_scale, out, p.param_bytes - 1), NPU_ERR_BUF_SIZE);
    c.in_scale = 0xFFC12345u; /* whatever NaN goes in, one NaN comes out */
    assert_int_equal(npu_conv_make_oscale(&c, &p, w_scale, out, p.param_bytes), NPU_OK);
    const uint32_t nan = 0x7FC00000u;
    assert_memory_equal(&out[0], &nan, 4);
}

static void pack_bad_arguments(void **state) {
    (void)state;
    npu_conv c = shape(9, 9, 3, 6, 1, 1, 0);
    npu_conv_plan p;
    int8_t w[18] = {0};
    int8_t packed[64];
    float scale[8] = {0};
    assert_int_equal(npu_conv_plan_make(8, &c, NULL, &p), NPU_OK);
    assert_int_equal(npu_conv_pack_weights(NULL, &p, w, packed, 64), NPU_ERR_ARG);
    assert_int_equal(npu_conv_pack_weights(&c, NULL, w, packed, 64), NPU_ERR_ARG);
    assert_int_equal(npu_conv_pack_weights(&c, &p, NULL, packed, 64), NPU_ERR_ARG);
    assert_int_equal(npu_conv_pack_weights(&c, &p, w, NULL, 64), NPU_ERR_ARG);
    assert_int_equal(npu_conv_make_oscale(NULL, &p, scale, scale, 32), NPU_ERR_ARG);
    assert_int_equal(npu_conv_make_oscale(&c, NULL, scale, scale, 32), NPU_ERR_ARG);
    assert_int_equal(npu_conv_make_oscale(&c, &p, NULL, scale, 32), NPU_ERR_ARG);
    assert_int_equal(npu_conv_make_oscale(&c, &p, scale, NULL, 32), NPU_ERR_ARG);
    p.ow++;
    assert_int_equal(npu_conv_pack_weights(&c, &p, w, packed, 64), NPU_ERR_SPLIT);
    assert_int_equal(npu_conv_make_oscale(&c, &p, scale, scale, 32), NPU_ERR_SPLIT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plan_random),        cmocka_unit_test(plan_sizes),
        cmocka_unit_test(plan_long_rows),     cmocka_unit_test(plan_row_split_limits),
        cmocka_unit_test(plan_resident),      cmocka_unit_test(plan_groups),
        cmocka_unit_test(plan_errors),        cmocka_unit_test(plan_more_errors),
        cmocka_unit_test(pack_weights),       cmocka_unit_test(oscale),
        cmocka_unit_test(pack_bad_arguments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
