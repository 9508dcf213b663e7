/*
 * test_cm_decode.c - the GEMM registers as a task: every field, and every limit of docs/npu.md section 3 from both sides.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cmodel.h"
#include "npu_regs.h"

#define SET(regs, reg, field, v)                                                                                                           \
    ((regs)[NPU_REG_##reg / 4] = ((regs)[NPU_REG_##reg / 4] & ~NPU_##reg##_##field##_MASK) |                                               \
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
    r[NPU_REG_GEMM_IN_SCALE / 4] = 0x3F000000;
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
    assert_int_equal(t.in_scale, 0x3F000000);
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

#define REFUSED(reg, field, v)                                                                                                             \
    do {                                                                                                                                   \
        legal(r);                                                                                                                          \
        assert_true(ok(8, r));                                                                                                             \
        SET(r, reg, field, v);                                                                                                             \
        if (ok(8, r)) {                                                                                                                    \
            fail_msg(#reg "." #field " = %u was accepted", (unsigned)(v));                                                                 \
        }                                                                                                                                  \
    } while (0)

static void test_modes_refused(void **state) {
    (void)state;
    uint32_t r[128];
    for (uint32_t v = 1; v < 4; v++) {
        REFUSED(GEMM_CTRL, OP, v);
        REFUSED(GEMM_CTRL, PAD_MODE, v);
    }
    REFUSED(GEMM_CTRL, LAYOUT, 0);
    REFUSED(GEMM_CTRL, REQUANT, 1);
    for (uint32_t v = 2; v < 16; v++) {
        REFUSED(GEMM_ACT, TYPE, v);
    }
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

static void test_misaligned_refused(void **state) {
    (void)state;
    uint32_t r[128];
    static const struct {
        uint32_t offset, align;
    } regs[] = {{NPU_REG_GEMM_IFM_ADDR, 4},   {NPU_REG_GEMM_OFM_ADDR, 4},  {NPU_REG_GEMM_PSUM_ADDR, 4},    {NPU_REG_GEMM_IFM_CSTEP, 16},
                {NPU_REG_GEMM_OFM_CSTEP, 16}, {NPU_REG_GEMM_WGT_ADDR, 16}, {NPU_REG_GEMM_OSCALE_ADDR, 16}, {NPU_REG_GEMM_BIAS_ADDR, 16}};
    for (size_t i = 0; i < sizeof regs / sizeof regs[0]; i++) {
        for (uint32_t off = 0; off < 16; off++) {
            legal(r);
            r[regs[i].offset / 4] = 0x9000 + off;
            assert_int_equal(ok(8, r), off % regs[i].align == 0);
        }
    }
}

static void test_div_ic_combinations(void **state) {
    (void)state;
    uint32_t r[128];
    for (uint32_t bits = 0; bits < 16; bits++) {
        legal(r);
        SET(r, GEMM_CTRL, DIV_IC, 1);
        SET(r, GEMM_CTRL, OSCALE, bits & 1);
        SET(r, GEMM_CTRL, BIAS, bits >> 1 & 1);
        SET(r, GEMM_ACT, TYPE, bits >> 2 & 1);
        SET(r, GEMM_CTRL, PSUM_ADD, bits >> 3 & 1);
        assert_int_equal(ok(8, r), (bits & 7) == 0);
    }
}

static bool sized(uint32_t n, uint32_t iw, uint32_t ih, uint32_t ic, uint32_t ow, uint32_t oh, uint32_t oc, uint32_t kw, uint32_t kh) {
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

static void test_refusal_leaves_output(void **state) {
    (void)state;
    uint32_t r[128];
    cm_gemm_task t, before;
    memset(&t, 0x5A, sizeof t);
    memcpy(&before, &t, sizeof t);
    legal(r);
    SET(r, GEMM_CTRL, OP, 1);
    assert_false(cm_gemm_decode(8, r, &t));
    assert_memory_equal(&t, &before, sizeof t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_extended_fields),
        cmocka_unit_test(test_short_fields_and_options),
        cmocka_unit_test(test_group),
        cmocka_unit_test(test_modes_refused),
        cmocka_unit_test(test_zeros_refused),
        cmocka_unit_test(test_misaligned_refused),
        cmocka_unit_test(test_div_ic_combinations),
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_refusal_leaves_output),
    };
    return cmocka_run_group_tests_name("cm_decode", tests, NULL, NULL);
}
