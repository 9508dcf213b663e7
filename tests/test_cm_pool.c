/*
 * test_cm_pool.c - the POOL of the golden model: fields, limits from both sides, special values, what is read and
 * written (docs/npu/npu.md section 3.4). Whole tasks against NumPy: tests/test_numpy_pool.py.
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

static void legal(uint32_t *r) {
    memset(r, 0, 128 * sizeof *r);
    for (uint32_t i = 0; i < 6; i++) { /* POOL_IFM_ADDR .. POOL_OFM_RSTEP */
        r[NPU_REG_POOL_IFM_ADDR / 4 + i] = 0x1000 + 0x20 * i;
    }
    SET(r, POOL_IFM_SIZE, IW, 20);
    SET(r, POOL_IFM_SIZE, IH, 21);
    SET(r, POOL_OFM_SIZE, OW, 6);
    SET(r, POOL_OFM_SIZE, OH, 5);
    SET(r, POOL_CHANNELS, C, 24);
    SET(r, POOL_WINDOW, KW, 4);
    SET(r, POOL_WINDOW, KH, 5);
    SET(r, POOL_WINDOW, SW, 2);
    SET(r, POOL_WINDOW, SH, 3);
    SET(r, POOL_PAD, LEFT, 1);
    SET(r, POOL_PAD, TOP, 2);
    r[NPU_REG_POOL_RECIP / 4] = 0x3D4CCCCD;
    r[NPU_REG_POOL_TAB_ADDR / 4] = 0x2004;
}

static bool ok(uint32_t n, const uint32_t *r) {
    cm_pool_task t;
    return cm_pool_decode(n, r, &t);
}

static void test_fields(void **state) {
    (void)state;
    uint32_t r[128];
    cm_pool_task t;
    legal(r);
    assert_true(cm_pool_decode(8, r, &t));
    assert_false(t.avg || t.int8 || t.exclude);
    const uint32_t got[] = {t.ifm_addr, t.ifm_cstep, t.ifm_rstep, t.ofm_addr, t.ofm_cstep, t.ofm_rstep};
    for (uint32_t i = 0; i < 6; i++) {
        assert_int_equal(got[i], 0x1000 + 0x20 * i);
    }
    assert_int_equal(t.iw * 100 + t.ih, 2021);
    assert_int_equal(t.ow * 100 + t.oh, 605);
    assert_int_equal(t.c, 24);
    assert_int_equal(t.kw * 100 + t.kh, 405);
    assert_int_equal(t.sw * 100 + t.sh, 203);
    assert_int_equal(t.pad_l * 100 + t.pad_t, 102);
    assert_int_equal(t.recip, 0x3D4CCCCD);
    assert_int_equal(t.tab_addr, 0x2004);
    SET(r, POOL_CTRL, TYPE, 1);
    assert_true(cm_pool_decode(8, r, &t) && t.avg && !t.int8 && !t.exclude);
    SET(r, POOL_CTRL, INT8, 1);
    assert_true(cm_pool_decode(8, r, &t) && t.avg && t.int8 && !t.exclude);
    SET(r, POOL_CTRL, EXCLUDE_PAD, 1);
    assert_true(cm_pool_decode(8, r, &t) && t.avg && t.int8 && t.exclude);
    SET(r, POOL_CTRL, TYPE, 2);
    assert_false(ok(8, r));
    SET(r, POOL_CTRL, TYPE, 3);
    assert_false(ok(8, r));
}

#define CHECK(reg, field, v, expect)                                                                                   \
    do {                                                                                                               \
        SET(r, reg, field, v);                                                                                         \
        if (ok(8, r) != (expect)) {                                                                                    \
            fail_msg(#reg "." #field " = %u was %s", (unsigned)(v), (expect) ? "refused" : "accepted");                \
        }                                                                                                              \
    } while (0)

static void test_zeros(void **state) {
    (void)state;
    uint32_t r[128];
    legal(r);
    SET(r, POOL_OFM_SIZE, OW, 1);
    SET(r, POOL_OFM_SIZE, OH, 1);
    SET(r, POOL_PAD, LEFT, 0);
    SET(r, POOL_PAD, TOP, 0);
    CHECK(POOL_IFM_SIZE, IW, 0, false);
    CHECK(POOL_IFM_SIZE, IW, 1, true);
    CHECK(POOL_IFM_SIZE, IH, 0, false);
    CHECK(POOL_IFM_SIZE, IH, 1, true);
    CHECK(POOL_OFM_SIZE, OW, 0, false);
    CHECK(POOL_OFM_SIZE, OW, 1, true);
    CHECK(POOL_OFM_SIZE, OH, 0, false);
    CHECK(POOL_OFM_SIZE, OH, 1, true);
    CHECK(POOL_CHANNELS, C, 0, false);
    CHECK(POOL_CHANNELS, C, 1, true);
    CHECK(POOL_WINDOW, KW, 0, false);
    CHECK(POOL_WINDOW, KW, 1, true);
    CHECK(POOL_WINDOW, KH, 0, false);
    CHECK(POOL_WINDOW, KH, 1, true);
    CHECK(POOL_WINDOW, SW, 0, false);
    CHECK(POOL_WINDOW, SW, 1, true);
    CHECK(POOL_WINDOW, SH, 0, false);
    CHECK(POOL_WINDOW, SH, 1, true);
}

static void test_sizes(void **state) {
    (void)state;
    uint32_t r[128];
    legal(r);
    CHECK(POOL_IFM_SIZE, IW, 512, true);
    CHECK(POOL_IFM_SIZE, IW, 513, false);
    SET(r, POOL_IFM_SIZE, IW, 512);
    CHECK(POOL_IFM_SIZE, IH, 65535, true);
    CHECK(POOL_CHANNELS, C, 65535, true);
    CHECK(POOL_OFM_SIZE, OW, 64, true);
    CHECK(POOL_OFM_SIZE, OW, 65, false);
    legal(r);
    CHECK(POOL_PAD, LEFT, 3, true); /* KW 4 */
    CHECK(POOL_PAD, LEFT, 4, false);
    legal(r);
    CHECK(POOL_PAD, TOP, 4, true); /* KH 5 */
    CHECK(POOL_PAD, TOP, 5, false);
}

static void test_no_empty_window(void **state) {
    (void)state;
    uint32_t r[128];
    legal(r); /* 20 columns, 1 of padding, stride 2: the window of column 10 starts at 19 */
    CHECK(POOL_OFM_SIZE, OW, 11, true);
    CHECK(POOL_OFM_SIZE, OW, 12, false);
    SET(r, POOL_OFM_SIZE, OW, 11);
    CHECK(POOL_PAD, LEFT, 0, false); /* now at column 20 */
    legal(r);                        /* 21 rows, 2 of padding, stride 3: row 7 starts at 19, row 8 would start at 22 */
    CHECK(POOL_OFM_SIZE, OH, 8, true);
    CHECK(POOL_OFM_SIZE, OH, 9, false);
    SET(r, POOL_OFM_SIZE, OH, 8);
    CHECK(POOL_IFM_SIZE, IH, 20, true);
    CHECK(POOL_IFM_SIZE, IH, 19, false);
    SET(r, POOL_IFM_SIZE, IH, 65535); /* products that need more than 16 bits */
    SET(r, POOL_WINDOW, SH, 255);
    CHECK(POOL_OFM_SIZE, OH, 258, true); /* 257 * 255 = 65535 < 65535 + 2 */
    CHECK(POOL_OFM_SIZE, OH, 259, false);
    CHECK(POOL_OFM_SIZE, OH, 65535, false);
}

static void test_alignment(void **state) {
    (void)state;
    uint32_t r[128];
    for (uint32_t n = 4; n <= 32; n *= 2) {
        for (uint32_t int8 = 0; int8 < 2; int8++) {
            for (uint32_t i = 0; i < 6; i++) {
                for (uint32_t off = 0; off < 64; off++) {
                    legal(r);
                    SET(r, POOL_CTRL, INT8, int8);
                    r[NPU_REG_POOL_IFM_ADDR / 4 + i] = 0x4000 + off;
                    assert_int_equal(ok(n, r), off % (int8 ? n : 4) == 0);
                }
            }
            for (uint32_t off = 0; off < 8; off++) {
                legal(r);
                SET(r, POOL_CTRL, INT8, int8);
                r[NPU_REG_POOL_TAB_ADDR / 4] = 0x4000 + off; /* whether or not it is used */
                assert_int_equal(ok(n, r), off % 4 == 0);
            }
        }
    }
    legal(r);
    assert_false(ok(0, r));
    assert_false(ok(5, r));
    assert_false(ok(64, r));
}

static void test_pitches(void **state) {
    (void)state;
    uint32_t r[128];
    static const uint32_t offsets[] = {NPU_REG_POOL_IFM_CSTEP, NPU_REG_POOL_OFM_CSTEP};
    for (size_t i = 0; i < 2; i++) {
        legal(r);
        SET(r, POOL_CTRL, INT8, 1);
        SET(r, POOL_CHANNELS, C, 25);
        r[offsets[i] / 4] = 32;
        assert_true(ok(8, r));
        r[offsets[i] / 4] = 24;
        assert_false(ok(8, r));
        SET(r, POOL_CHANNELS, C, 24);
        assert_true(ok(8, r));
        SET(r, POOL_CHANNELS, C, 25);
        SET(r, POOL_CTRL, INT8, 0); /* no least step for FP32 */
        assert_true(ok(8, r));
        r[offsets[i] / 4] = 0;
        assert_true(ok(8, r));
    }
}

static void test_refusal_leaves_output(void **state) {
    (void)state;
    uint32_t r[128];
    cm_pool_task t, before;
    memset(&t, 0x5A, sizeof t);
    memcpy(&before, &t, sizeof t);
    legal(r);
    SET(r, POOL_CHANNELS, C, 0);
    assert_false(cm_pool_decode(8, r, &t));
    assert_memory_equal(&t, &before, sizeof t);
}

/* ---- tasks on a small memory ---- */

#define BYTES 4096u

static bool small_read(void *ctx, uint32_t addr, void *dst, uint32_t bytes) {
    if (addr > BYTES || bytes > BYTES - addr) {
        return false;
    }
    memcpy(dst, (const uint8_t *)ctx + addr, bytes);
    return true;
}

static bool small_write(void *ctx, uint32_t addr, const void *src, uint32_t bytes) {
    if (addr > BYTES || bytes > BYTES - addr) {
        return false;
    }
    memcpy((uint8_t *)ctx + addr, src, bytes);
    return true;
}

#define NOWHERE 0x10000000u
#define OUT 2048u
#define NAN_X 0xFFC12345u
#define MINUS_0 0x80000000u
#define ONE 0x3F800000u

/* One window of `count` FP32 elements in a row. */
static uint32_t one_window(const uint32_t *v, uint32_t count, bool avg, uint32_t recip) {
    uint32_t m[BYTES / 4] = {0};
    cm_mem mem = {m, small_read, small_write};
    cm_pool_task t = {
        .avg = avg, .kw = count, .kh = 1, .sw = 1, .sh = 1, .iw = count, .ih = 1, .ow = 1, .oh = 1, .c = 1};
    t.ofm_addr = OUT;
    t.recip = recip;
    t.tab_addr = NOWHERE; /* not used here */
    memcpy(m, v, count * sizeof *v);
    assert_true(cm_pool_run(8, &t, &mem));
    return m[OUT / 4];
}

static void test_special_values(void **state) {
    (void)state;
    const uint32_t nan_first[] = {NAN_X, ONE, 0x40000000};
    const uint32_t nan_later[] = {ONE, NAN_X, 0x40000000};
    const uint32_t zeros[] = {MINUS_0, 0};
    const uint32_t infinities[] = {0xFF800000, 0x7F800000};
    const uint32_t small[] = {0x80000001, 0x80000002};
    assert_int_equal(one_window(nan_first, 3, false, 0), NAN_X); /* nothing is above a NaN */
    assert_int_equal(one_window(nan_later, 3, false, 0), 0x40000000);
    assert_int_equal(one_window(zeros, 2, false, 0), MINUS_0); /* +0 is not above -0 */
    assert_int_equal(one_window(infinities, 2, false, 0), 0x7F800000);
    assert_int_equal(one_window(infinities, 1, false, 0), 0xFF800000); /* no element from outside the map */
    assert_int_equal(one_window(small, 2, false, 0), 0x80000001);
    assert_int_equal(one_window(nan_later, 3, true, ONE), 0x7FC00000);
    assert_int_equal(one_window(zeros, 1, true, ONE), 0); /* the sum starts at +0 */
    assert_int_equal(one_window(infinities, 2, true, ONE), 0x7FC00000);
    assert_int_equal(one_window(small, 2, true, ONE), 0x80000003);
    const uint32_t order[] = {0x4B800000, ONE, ONE}; /* 2^24 + 1 rounds back, twice */
    assert_int_equal(one_window(order, 3, true, ONE), 0x4B800000);
    const uint32_t reversed[] = {ONE, ONE, 0x4B800000};
    assert_int_equal(one_window(reversed, 3, true, ONE), 0x4B800001);
}

static void test_int8_extremes(void **state) {
    (void)state;
    uint8_t m[BYTES];
    cm_mem mem = {m, small_read, small_write};
    memset(m, 0x80, sizeof m); /* -128 everywhere, also in the channel that does not exist */
    cm_pool_task t = {.int8 = true, .kw = 2, .kh = 2, .sw = 1, .sh = 1, .iw = 2, .ih = 2, .ow = 1, .oh = 1, .c = 3};
    t.ifm_cstep = 8, t.ifm_rstep = 16, t.ofm_cstep = 8, t.ofm_rstep = 8, t.ofm_addr = OUT;
    assert_true(cm_pool_run(4, &t, &mem));
    const uint8_t maximum[] = {0x80, 0x80, 0x80, 0, 0x80}; /* a maximum is not clamped; bytes past the block stay */
    assert_memory_equal(m + OUT, maximum, sizeof maximum);
    t.avg = true;
    assert_true(cm_pool_run(4, &t, &mem));
    const uint8_t average[] = {0x81, 0x81, 0x81, 0, 0x80};
    assert_memory_equal(m + OUT, average, sizeof average);
}

static void test_table_only_where_it_counts(void **state) {
    (void)state;
    uint8_t m[BYTES] = {0};
    cm_mem mem = {m, small_read, small_write};
    for (uint32_t bits = 0; bits < 8; bits++) {
        cm_pool_task t = {.kw = 2, .kh = 2, .sw = 1, .sh = 1, .iw = 2, .ih = 2, .ow = 1, .oh = 1, .c = 1};
        t.ifm_cstep = 8, t.ifm_rstep = 16, t.ofm_cstep = 8, t.ofm_rstep = 8, t.ofm_addr = OUT, t.tab_addr = NOWHERE;
        t.avg = bits & 1;
        t.int8 = bits & 2;
        t.exclude = bits & 4;
        assert_int_equal(cm_pool_run(8, &t, &mem), !(t.avg && !t.int8 && t.exclude));
        t.tab_addr = 1024;
        assert_true(cm_pool_run(8, &t, &mem));
        t.ifm_addr = NOWHERE;
        assert_false(cm_pool_run(8, &t, &mem));
        t.ifm_addr = 0;
        t.ofm_addr = NOWHERE;
        assert_false(cm_pool_run(8, &t, &mem));
        t.ofm_addr = OUT;
        t.iw = 513; /* outside the limits: refused, not executed */
        assert_false(cm_pool_run(8, &t, &mem));
        t.iw = 2;
        assert_false(cm_pool_run(7, &t, &mem));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fields),
        cmocka_unit_test(test_zeros),
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_no_empty_window),
        cmocka_unit_test(test_alignment),
        cmocka_unit_test(test_pitches),
        cmocka_unit_test(test_refusal_leaves_output),
        cmocka_unit_test(test_special_values),
        cmocka_unit_test(test_int8_extremes),
        cmocka_unit_test(test_table_only_where_it_counts),
    };
    return cmocka_run_group_tests_name("cm_pool", tests, NULL, NULL);
}
