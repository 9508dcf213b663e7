/*
 * test_cm_decode.c - the GEMM registers as a task: every field, and every limit of docs/npu/npu.md section 3.2 from
 * both sides.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cmodel.h"
#include "npu_regs.h"

#define SET(regs, reg, field, v)                                                                                       \
    ((regs)[NPU_REG_##reg / 4] = ((regs)[NPU_REG_##reg / 4] & ~NPU_##reg##_##field##_MASK) |                           \
                                 (((uint32_t)(v) << NPU_##reg##_##field##_LSB) & NPU_##reg##_##field##_MASK))

/* A small legal task in the extended form, every field different. */
static void legal(uint32_t *r) {
    memset(r, 0, 128 * sizeof *r);
    SET(r, GEMM_CTRL, LAYOUT, 1);
    SET(r, GEMM_CTRL, EXT, 1);
    SET(r, GEMM_EXT_KERNEL, KW, 3);
    SET(r, GEMM_EXT_KERNEL, KH, 2);
    SET(r, GEMM_EXT_KERNEL, DW, 4);
    SET(r, GEMM_EXT_KERNEL, DH, 5);
    SET(r, GEMM_EXT_STRIDE, SW, 6);
    SET(r, GEMM_EXT_STRIDE, SH, 7);
    SET(r, GEMM_EXT_PAD, LEFT, 8);
    SET(r, GEMM_EXT_PAD, TOP, 9);
    SET(r, GEMM_EXT_PAD, RIGHT, 200);
    SET(r, GEMM_EXT_PAD, BOTTOM, 201);
    SET(r, GEMM_IFM_SIZE, IW, 10);
    SET(r, GEMM_IFM_SIZE, IH, 11);
    SET(r, GEMM_CHANNELS, IC, 12);
    SET(r, GEMM_CHANNELS, OC, 13);
    SET(r, GEMM_OFM_SIZE, OW, 14);
    SET(r, GEMM_OFM_SIZE, OH, 15);
    SET(r, GEMM_GROUP, TILES, 3);
    r[NPU_REG_GEMM_IFM_ADDR / 4] = 0x1004;
    r[NPU_REG_GEMM_IFM_CSTEP / 4] = 0x200;
    r[NPU_REG_GEMM_WGT_ADDR / 4] = 0x3000;
    r[NPU_REG_GEMM_OSCALE_ADDR / 4] = 0x4000;
    r[NPU_REG_GEMM_BIAS_ADDR / 4] = 0x5000;
    r[NPU_REG_GEMM_OFM_ADDR / 4] = 0x6008;
    r[NPU_REG_GEMM_OFM_CSTEP / 4] = 0x400;
    r[NPU_REG_GEMM_PSUM_ADDR / 4] = 0x700C;
    r[NPU_REG_GEMM_PSUM_CSTEP / 4] = 0x804;
    r[NPU_REG_GEMM_IN_SCALE / 4] = 0x3F000000;
    r[NPU_REG_GEMM_OUT_SCALE / 4] = 0x3F000001;
    for (uint32_t i = 0; i < 4; i++) {
        r[NPU_REG_GEMM_ACT_P0 / 4 + i] = 0x40000000 + i;
    }
}

static bool ok(uint32_t n, const uint32_t *r) {
    cm_gemm_task t;
    return cm_gemm_decode(n, r, &t);
}

static void test_extended_fields(void **state) {
    (void)state;
    uint32_t r[128];
    cm_gemm_task t;
    legal(r);
    SET(r, GEMM_CTRL, KERNEL, 1); /* not looked at with EXT */
    SET(r, GEMM_CTRL, STRIDE, 1);
    SET(r, GEMM_CTRL, PAD_LEFT, 1);
    assert_true(cm_gemm_decode(8, r, &t));
    assert_int_equal(t.kw, 3);
    assert_int_equal(t.kh, 2);
    assert_int_equal(t.dw, 4);
    assert_int_equal(t.dh, 5);
    assert_int_equal(t.sw, 6);
    assert_int_equal(t.sh, 7);
    assert_int_equal(t.pad_l, 8);
    assert_int_equal(t.pad_t, 9);
    assert_int_equal(t.iw, 10);
    assert_int_equal(t.ih, 11);
    assert_int_equal(t.ic, 12);
    assert_int_equal(t.oc, 13);
    assert_int_equal(t.ow, 14);
    assert_int_equal(t.oh, 15);
    assert_int_equal(t.group, 3);
    assert_int_equal(t.ifm_addr, 0x1004);
    assert_int_equal(t.ifm_cstep, 0x200);
    assert_int_equal(t.wgt_addr, 0x3000);
    assert_int_equal(t.oscale_addr, 0x4000);
    assert_int_equal(t.bias_addr, 0x5000);
    assert_int_equal(t.ofm_addr, 0x6008);
    assert_int_equal(t.ofm_cstep, 0x400);
    assert_int_equal(t.psum_addr, 0x700C);
    assert_int_equal(t.psum_cstep, 0x804);
    assert_int_equal(t.in_scale, 0x3F000000);
    assert_int_equal(t.out_scale, 0x3F000001);
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(t.act_p[i], 0x40000000 + i);
    }
    assert_int_equal(t.op, 0);
    assert_false(t.nhwc_in || t.requant || t.wgt_res || t.wgt_keep);
    assert_false(t.fence || t.bias_en || t.oscale_en || t.raw_out || t.psum_add || (t.act == CM_ACT_RELU));
}

static void test_short_fields_and_options(void **state) {
    (void)state;
    uint32_t r[128];
    cm_gemm_task t;
    legal(r);
    SET(r, GEMM_CTRL, EXT, 0);
    SET(r, GEMM_CTRL, KERNEL, 5);
    SET(r, GEMM_CTRL, STRIDE, 6);
    SET(r, GEMM_CTRL, PAD_LEFT, 1);
    SET(r, GEMM_CTRL, PAD_RIGHT, 3);
    SET(r, GEMM_CTRL, PAD_TOP, 2);
    SET(r, GEMM_CTRL, PAD_BOTTOM, 3);
    SET(r, GEMM_CTRL, BIAS, 1);
    SET(r, GEMM_CTRL, FENCE, 1);
    r[NPU_REG_GEMM_EXT_KERNEL / 4] = 0; /* not looked at without EXT */
    assert_true(cm_gemm_decode(8, r, &t));
    assert_int_equal(t.kw * 100 + t.kh, 505);
    assert_int_equal(t.sw * 100 + t.sh, 606);
    assert_int_equal(t.dw * 100 + t.dh, 101);
    assert_int_equal(t.pad_l * 100 + t.pad_t, 102);
    assert_true(t.bias_en && t.fence && !t.oscale_en && !t.psum_add && !t.raw_out && !(t.act == CM_ACT_RELU));
    SET(r, GEMM_CTRL, BIAS, 0);
    SET(r, GEMM_CTRL, OSCALE, 1);
    SET(r, GEMM_CTRL, PSUM_ADD, 1);
    SET(r, GEMM_ACT, TYPE, 1);
    assert_true(cm_gemm_decode(8, r, &t));
    assert_true(!t.bias_en && t.oscale_en && t.psum_add && !t.raw_out && (t.act == CM_ACT_RELU));
    SET(r, GEMM_CTRL, KERNEL, 0);
    assert_false(ok(8, r));
    SET(r, GEMM_CTRL, KERNEL, 1);
    SET(r, GEMM_CTRL, STRIDE, 0);
    assert_false(ok(8, r));
}

static void test_group(void **state) {
    (void)state;
    uint32_t r[128];
    cm_gemm_task t;
    static const uint32_t cases[][3] = {{4, 0, 1},    {4, 128, 128}, {4, 129, 128}, {4, 255, 128},
                                        {32, 16, 16}, {32, 17, 16},  {16, 32, 32},  {16, 255, 32}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) { /* N, register, tiles */
        legal(r);
        SET(r, GEMM_GROUP, TILES, cases[i][1]);
        assert_true(cm_gemm_decode(cases[i][0], r, &t));
        assert_int_equal(t.group, cases[i][2]);
    }
}

#define REFUSED(reg, field, v)                                                                                         \
    do {                                                                                                               \
        legal(r);                                                                                                      \
        assert_true(ok(8, r));                                                                                         \
        SET(r, reg, field, v);                                                                                         \
        if (ok(8, r)) {                                                                                                \
            fail_msg(#reg "." #field " = %u was accepted", (unsigned)(v));                                             \
        }                                                                                                              \
    } while (0)

#define ACCEPTED(reg, field, v)                                                                                        \
    do {                                                                                                               \
        SET(r, reg, field, v);                                                                                         \
        if (!ok(8, r)) {                                                                                               \
            fail_msg(#reg "." #field " = %u was refused", (unsigned)(v));                                              \
        }                                                                                                              \
    } while (0)

static void test_modes(void **state) {
    (void)state;
    uint32_t r[128];
    REFUSED(GEMM_CTRL, OP, 1); /* ic 12, oc 13 */
    REFUSED(GEMM_CTRL, OP, 2);
    REFUSED(GEMM_CTRL, OP, 3);
    for (uint32_t op = 0; op < 4; op++) {
        cm_gemm_task t;
        legal(r);
        SET(r, GEMM_CHANNELS, IC, 13);
        SET(r, GEMM_CTRL, OP, op);
        assert_int_equal(cm_gemm_decode(8, r, &t), op < 3);
        assert_true(op == 3 || t.op == op);
    }
    for (uint32_t v = 1; v < 4; v++) {
        REFUSED(GEMM_CTRL, PAD_MODE, v);
    }
    legal(r);
    for (uint32_t v = 0; v < 14; v++) {
        ACCEPTED(GEMM_ACT, TYPE, v);
    }
    for (uint32_t v = 14; v < 16; v++) {
        REFUSED(GEMM_ACT, TYPE, v);
    }
    REFUSED(GEMM_CTRL, WGT_KEEP, 1); /* only with WGT_RES */
    legal(r);
    ACCEPTED(GEMM_CTRL, WGT_RES, 1);
    ACCEPTED(GEMM_CTRL, WGT_KEEP, 1);
}

static void test_layouts(void **state) {
    (void)state;
    uint32_t r[128];
    cm_gemm_task t;
    legal(r);
    r[NPU_REG_GEMM_IFM_ADDR / 4] = 0x1008;
    ACCEPTED(GEMM_CTRL, LAYOUT, 0);
    ACCEPTED(GEMM_CTRL, REQUANT, 1);
    assert_true(cm_gemm_decode(8, r, &t) && t.nhwc_in && t.requant);
    /* pitches: at least the channels rounded up, 16 here */
    ACCEPTED(GEMM_IFM_CSTEP, BYTES, 16);
    ACCEPTED(GEMM_OFM_CSTEP, BYTES, 16);
    SET(r, GEMM_IFM_CSTEP, BYTES, 8);
    assert_false(ok(8, r));
    SET(r, GEMM_IFM_CSTEP, BYTES, 16);
    SET(r, GEMM_OFM_CSTEP, BYTES, 8);
    assert_false(ok(8, r));
    SET(r, GEMM_CTRL, REQUANT, 0); /* no least step for NCHW */
    assert_true(ok(8, r));
    ACCEPTED(GEMM_OFM_CSTEP, BYTES, 0);
    SET(r, GEMM_IFM_CSTEP, BYTES, 8);
    assert_false(ok(8, r));
    ACCEPTED(GEMM_CTRL, LAYOUT, 1);
    ACCEPTED(GEMM_IFM_CSTEP, BYTES, 0);
}

static void test_zeros_refused(void **state) {
    (void)state;
    uint32_t r[128];
    REFUSED(GEMM_IFM_SIZE, IW, 0);
    REFUSED(GEMM_IFM_SIZE, IH, 0);
    REFUSED(GEMM_CHANNELS, IC, 0);
    REFUSED(GEMM_CHANNELS, OC, 0);
    REFUSED(GEMM_OFM_SIZE, OW, 0);
    REFUSED(GEMM_OFM_SIZE, OH, 0);
    REFUSED(GEMM_EXT_KERNEL, KW, 0);
    REFUSED(GEMM_EXT_KERNEL, KH, 0);
    REFUSED(GEMM_EXT_KERNEL, DW, 0);
    REFUSED(GEMM_EXT_KERNEL, DH, 0);
    REFUSED(GEMM_EXT_STRIDE, SW, 0);
    REFUSED(GEMM_EXT_STRIDE, SH, 0);
}

/* Alignment asked of an address register; 0 stands for N. */
typedef struct alignment {
    uint32_t offset, align;
} alignment;

static void check_alignments(const uint32_t *base, const alignment *list, size_t count, uint32_t n) {
    uint32_t r[128];
    for (size_t i = 0; i < count; i++) {
        uint32_t align = list[i].align == 0 ? n : list[i].align;
        for (uint32_t off = 0; off < 64; off++) {
            memcpy(r, base, sizeof r);
            r[list[i].offset / 4] = 0x9000 + off;
            assert_int_equal(ok(n, r), off % align == 0);
        }
    }
}

static void test_alignments(void **state) {
    (void)state;
    static const alignment nchw[] = {
        {NPU_REG_GEMM_IFM_ADDR, 4},  {NPU_REG_GEMM_OFM_ADDR, 4},     {NPU_REG_GEMM_PSUM_ADDR, 4},
        {NPU_REG_GEMM_IFM_CSTEP, 4}, {NPU_REG_GEMM_OFM_CSTEP, 4},    {NPU_REG_GEMM_PSUM_CSTEP, 4},
        {NPU_REG_GEMM_WGT_ADDR, 16}, {NPU_REG_GEMM_OSCALE_ADDR, 16}, {NPU_REG_GEMM_BIAS_ADDR, 16}};
    static const alignment nhwc[] = {
        {NPU_REG_GEMM_IFM_ADDR, 0},  {NPU_REG_GEMM_OFM_ADDR, 0},     {NPU_REG_GEMM_PSUM_ADDR, 4},
        {NPU_REG_GEMM_IFM_CSTEP, 0}, {NPU_REG_GEMM_OFM_CSTEP, 0},    {NPU_REG_GEMM_PSUM_CSTEP, 4},
        {NPU_REG_GEMM_WGT_ADDR, 16}, {NPU_REG_GEMM_OSCALE_ADDR, 16}, {NPU_REG_GEMM_BIAS_ADDR, 16}};
    for (uint32_t n = 4; n <= 32; n *= 2) {
        uint32_t r[128];
        legal(r);
        check_alignments(r, nchw, sizeof nchw / sizeof nchw[0], n);
        r[NPU_REG_GEMM_IFM_ADDR / 4] = 0x1000;
        r[NPU_REG_GEMM_OFM_ADDR / 4] = 0x6000;
        SET(r, GEMM_CTRL, LAYOUT, 0);
        SET(r, GEMM_CTRL, REQUANT, 1);
        check_alignments(r, nhwc, sizeof nhwc / sizeof nhwc[0], n);
    }
}

static void test_div_ic_combinations(void **state) {
    (void)state;
    uint32_t r[128];
    for (uint32_t bits = 0; bits < 32; bits++) {
        for (uint32_t act = 0; act < 12; act++) {
            legal(r);
            SET(r, GEMM_CTRL, DIV_IC, 1);
            SET(r, GEMM_CTRL, OSCALE, bits & 1);
            SET(r, GEMM_CTRL, BIAS, bits >> 1 & 1);
            SET(r, GEMM_CTRL, REQUANT, bits >> 2 & 1);
            SET(r, GEMM_CTRL, PSUM_ADD, bits >> 3 & 1);
            SET(r, GEMM_CTRL, WGT_RES, bits >> 4 & 1);
            SET(r, GEMM_ACT, TYPE, act);
            assert_int_equal(ok(8, r), (bits & 7) == 0 && act == 0);
        }
    }
}

static bool sized(uint32_t n, uint32_t iw, uint32_t ih, uint32_t ic, uint32_t ow, uint32_t oh, uint32_t oc, uint32_t kw,
                  uint32_t kh) {
    uint32_t r[128];
    legal(r);
    SET(r, GEMM_IFM_SIZE, IW, iw);
    SET(r, GEMM_IFM_SIZE, IH, ih);
    SET(r, GEMM_CHANNELS, IC, ic);
    SET(r, GEMM_CHANNELS, OC, oc);
    SET(r, GEMM_OFM_SIZE, OW, ow);
    SET(r, GEMM_OFM_SIZE, OH, oh);
    SET(r, GEMM_EXT_KERNEL, KW, kw);
    SET(r, GEMM_EXT_KERNEL, KH, kh);
    return ok(n, r);
}

static void test_sizes(void **state) {
    (void)state;
    assert_true(sized(8, 1, 1, 1, 1, 1, 1024, 1, 1));
    assert_false(sized(8, 1, 1, 1, 1, 1, 1025, 1, 1));
    /* ifm words: ih * iw * ICB <= 16384 */
    assert_true(sized(4, 128, 128, 4, 1, 1, 1, 1, 1));
    assert_false(sized(4, 128, 128, 5, 1, 1, 1, 1, 1));
    assert_true(sized(8, 128, 64, 16, 1, 1, 1, 1, 1));
    assert_false(sized(8, 128, 64, 17, 1, 1, 1, 1, 1));
    assert_true(sized(32, 16384, 1, 32, 1, 1, 1, 1, 1));
    assert_false(sized(32, 16385, 1, 32, 1, 1, 1, 1, 1));
    assert_false(sized(32, 65535, 65535, 65535, 1, 1, 1, 1, 1)); /* products that overflow 32 bits */
    assert_false(sized(4, 32768, 32768, 16, 1, 1, 1, 1, 1));
    /* weight words: kh * kw * ICB * N <= 4608 */
    assert_true(sized(32, 1, 1, 512, 1, 1, 1, 3, 3));
    assert_false(sized(32, 1, 1, 513, 1, 1, 1, 3, 3));
    assert_true(sized(4, 1, 1, 4, 1, 1, 1, 48, 24));
    assert_false(sized(4, 1, 1, 4, 1, 1, 1, 48, 25));
    assert_false(sized(32, 1, 1, 65535, 1, 1, 1, 255, 255));
    /* ow * oh <= 65535 */
    assert_true(sized(8, 1, 1, 1, 65535, 1, 1, 1, 1));
    assert_true(sized(8, 1, 1, 1, 255, 257, 1, 1, 1));
    assert_false(sized(8, 1, 1, 1, 256, 256, 1, 1, 1));
    assert_false(sized(8, 1, 1, 1, 65535, 65535, 1, 1, 1));
    /* no such mesh */
    assert_false(sized(2, 1, 1, 1, 1, 1, 1, 1, 1));
    assert_false(sized(64, 1, 1, 1, 1, 1, 1, 1, 1));
}

/* Weights of one block of output channels with an operator, one pixel. */
static bool weights(uint32_t n, uint32_t op, uint32_t ic, uint32_t oc, uint32_t kw, uint32_t kh, bool resident) {
    uint32_t r[128];
    legal(r);
    SET(r, GEMM_CTRL, OP, op);
    SET(r, GEMM_CTRL, WGT_RES, resident);
    SET(r, GEMM_IFM_SIZE, IW, 1);
    SET(r, GEMM_IFM_SIZE, IH, 1);
    SET(r, GEMM_CHANNELS, IC, ic);
    SET(r, GEMM_CHANNELS, OC, oc);
    SET(r, GEMM_EXT_KERNEL, KW, kw);
    SET(r, GEMM_EXT_KERNEL, KH, kh);
    return ok(n, r);
}

static void test_weights(void **state) {
    (void)state;
    /* DEPTHWISE: kh * kw words, whatever the channels */
    assert_true(weights(32, 1, 1024, 1024, 96, 48, false));
    assert_false(weights(32, 1, 32, 32, 97, 48, false));
    assert_false(weights(4, 0, 1024, 1024, 96, 48, false)); /* CONV has more */
    /* CONVERT: none */
    assert_true(weights(32, 2, 32, 32, 255, 255, false));
    assert_true(weights(32, 2, 1024, 1024, 255, 255, true));
    /* resident: half of the blocks of output channels, rounded up, in each bank */
    assert_true(weights(8, 0, 8, 1024, 3, 3, true));  /* 64 * 72 words */
    assert_false(weights(8, 0, 8, 1024, 5, 2, true)); /* 64 * 80 */
    assert_true(weights(8, 0, 8, 1024, 5, 2, false));
    assert_true(weights(8, 0, 1536, 16, 3, 1, true));  /* 1 * 4608 */
    assert_false(weights(8, 0, 1536, 17, 3, 1, true)); /* 2 * 4608 */
    assert_true(weights(8, 0, 1536, 17, 3, 1, false));
    assert_true(weights(8, 1, 256, 256, 16, 18, true)); /* 16 * 288 */
    assert_false(weights(8, 1, 256, 256, 17, 17, true));
    assert_false(weights(8, 1, 257, 257, 16, 18, true)); /* 17 * 288 */
}

/* With WGT_RES: a map of iw x ih, kernel 1 x kh of dilation dh, row stride sh, output ow x oh, groups of `tiles`. */
static bool resident(uint32_t n, uint32_t iw, uint32_t ih, uint32_t ic, uint32_t ow, uint32_t oh, uint32_t sh,
                     uint32_t kh, uint32_t dh, uint32_t tiles) {
    uint32_t r[128];
    legal(r);
    SET(r, GEMM_CTRL, WGT_RES, 1);
    SET(r, GEMM_IFM_SIZE, IW, iw);
    SET(r, GEMM_IFM_SIZE, IH, ih);
    SET(r, GEMM_CHANNELS, IC, ic);
    SET(r, GEMM_OFM_SIZE, OW, ow);
    SET(r, GEMM_OFM_SIZE, OH, oh);
    SET(r, GEMM_EXT_STRIDE, SH, sh);
    SET(r, GEMM_EXT_KERNEL, KW, 1);
    SET(r, GEMM_EXT_KERNEL, KH, kh);
    SET(r, GEMM_EXT_KERNEL, DH, dh);
    SET(r, GEMM_GROUP, TILES, tiles);
    return ok(n, r);
}

static void test_resident_input(void **state) {
    (void)state;
    /* 512 columns: up to 31 rows, 31*512 + 64 <= 16384. One tile (16 pixels) lies in at most 2 output rows. */
    assert_true(resident(8, 512, 127, 8, 512, 4, 30, 1, 1, 1));
    assert_false(resident(8, 512, 127, 8, 512, 4, 31, 1, 1, 1));
    assert_true(resident(8, 512, 127, 8, 512, 4, 30, 1, 1, 0)); /* 0 counts as 1 */
    /* 64 tiles are 1024 pixels, at most 3 rows; more are cut to that */
    assert_true(resident(8, 512, 127, 8, 512, 4, 15, 1, 1, 64));
    assert_false(resident(8, 512, 127, 8, 512, 4, 16, 1, 1, 64));
    assert_true(resident(8, 512, 127, 8, 512, 4, 15, 1, 1, 255));
    /* 33 tiles, 528 pixels: 1 + floor((528 + 510) / 512) = 3 rows; 32 tiles, 512 pixels: 2 rows */
    assert_false(resident(8, 512, 127, 8, 512, 4, 16, 1, 1, 33));
    assert_true(resident(8, 512, 127, 8, 512, 4, 16, 1, 1, 32));
    /* an output of fewer rows */
    assert_true(resident(8, 512, 127, 8, 512, 1, 255, 1, 1, 64));
    assert_true(resident(8, 512, 127, 8, 512, 2, 30, 1, 1, 64));
    assert_false(resident(8, 512, 127, 8, 512, 2, 31, 1, 1, 64));
    /* rows of the kernel */
    assert_true(resident(8, 512, 127, 8, 512, 1, 1, 31, 1, 1));
    assert_false(resident(8, 512, 127, 8, 512, 1, 1, 32, 1, 1));
    assert_true(resident(8, 512, 127, 8, 512, 1, 1, 16, 2, 1));
    assert_false(resident(8, 512, 127, 8, 512, 1, 1, 17, 2, 1));
    assert_true(resident(8, 512, 127, 8, 512, 4, 10, 11, 2, 1)); /* 10 + 20 + 1 rows */
    assert_false(resident(8, 512, 127, 8, 512, 4, 11, 11, 2, 1));
    /* 64 words of a block of channels must stay free unless the whole map fits */
    assert_true(resident(8, 255, 256, 8, 255, 4, 63, 1, 1, 1));  /* 64*255 + 64 = 16384 */
    assert_false(resident(8, 256, 255, 8, 256, 4, 63, 1, 1, 1)); /* 64*256 + 64 */
    assert_true(resident(8, 256, 255, 8, 256, 4, 62, 1, 1, 1));
    assert_true(resident(8, 256, 64, 8, 256, 4, 63, 1, 1, 1)); /* the whole map: 16384 */
    assert_false(resident(8, 256, 65, 8, 256, 4, 63, 1, 1, 1));
    assert_false(resident(8, 512, 33, 8, 512, 1, 1, 255, 1, 1)); /* never more rows than the map has: 33 */
    /* blocks of channels multiply both */
    assert_true(resident(8, 512, 127, 16, 512, 4, 14, 1, 1, 1)); /* 15*1024 + 128 */
    assert_false(resident(8, 512, 127, 16, 512, 4, 15, 1, 1, 1));
    /* the map still has at most 65535 pixels */
    assert_true(resident(8, 257, 255, 8, 257, 1, 1, 1, 1, 1));
    assert_false(resident(8, 256, 256, 8, 256, 1, 1, 1, 1, 1));
    /* N: the same output rows, larger tiles */
    assert_true(resident(4, 512, 127, 4, 8, 64, 30, 1, 1, 1));     /* 8 pixels of rows of 8: up to 2 rows */
    assert_true(resident(32, 512, 127, 32, 64, 64, 30, 1, 1, 1));  /* 64 pixels of rows of 64 */
    assert_true(resident(32, 512, 127, 32, 63, 64, 30, 1, 1, 1));  /* of 63: still 2 */
    assert_false(resident(32, 512, 127, 32, 62, 64, 30, 1, 1, 1)); /* of 62: up to 3 */
}

static void test_keep(void **state) {
    (void)state;
    uint32_t r[128];
    cm_gemm_task before, task;
    legal(r);
    assert_true(cm_gemm_decode(8, r, &task));
    assert_true(cm_gemm_follows(NULL, &task)); /* keeps nothing */
    SET(r, GEMM_CTRL, WGT_RES, 1);
    assert_true(cm_gemm_decode(8, r, &before));
    SET(r, GEMM_CTRL, WGT_KEEP, 1);
    SET(r, GEMM_CTRL, BIAS, 1); /* what else differs does not matter */
    SET(r, GEMM_IFM_SIZE, IW, 9);
    SET(r, GEMM_OFM_SIZE, OW, 9);
    SET(r, GEMM_EXT_STRIDE, SW, 1);
    SET(r, GEMM_EXT_KERNEL, DW, 1);
    assert_true(cm_gemm_decode(8, r, &task));
    assert_false(cm_gemm_follows(NULL, &task));
    assert_true(cm_gemm_follows(&before, &task));
    assert_true(cm_gemm_follows(&task, &task));
    uint32_t *const fields[] = {&before.op, &before.wgt_addr, &before.kw, &before.kh, &before.ic, &before.oc};
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        *fields[i] += 1;
        assert_false(cm_gemm_follows(&before, &task));
        *fields[i] -= 1;
        assert_true(cm_gemm_follows(&before, &task));
    }
    before.wide = !before.wide;
    assert_false(cm_gemm_follows(&before, &task));
    before.wide = !before.wide;
    assert_true(cm_gemm_follows(&before, &task));
    before.wgt_res = false;
    assert_false(cm_gemm_follows(&before, &task));
}

static void test_refusal_leaves_output(void **state) {
    (void)state;
    uint32_t r[128];
    cm_gemm_task t, before;
    memset(&t, 0x5A, sizeof t);
    memcpy(&before, &t, sizeof t);
    legal(r);
    SET(r, GEMM_CTRL, OP, 3);
    assert_false(cm_gemm_decode(8, r, &t));
    assert_memory_equal(&t, &before, sizeof t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_extended_fields),
        cmocka_unit_test(test_short_fields_and_options),
        cmocka_unit_test(test_group),
        cmocka_unit_test(test_modes),
        cmocka_unit_test(test_layouts),
        cmocka_unit_test(test_zeros_refused),
        cmocka_unit_test(test_alignments),
        cmocka_unit_test(test_div_ic_combinations),
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_weights),
        cmocka_unit_test(test_resident_input),
        cmocka_unit_test(test_keep),
        cmocka_unit_test(test_refusal_leaves_output),
    };
    return cmocka_run_group_tests_name("cm_decode", tests, NULL, NULL);
}
