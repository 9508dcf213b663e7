/* Driver and golden model of the GEMM engine without RTL: every refusal, entries and splits with equal bits, caches,
 * faults of every register and memory access, waits that end without the engine. */
#include "sgemm_rig.h"

static void put(rig *r, uint32_t addr, float f) {
    memcpy(r->mem + addr, &f, sizeof f);
}

static float get(const rig *r, uint32_t addr) {
    float f;
    memcpy(&f, r->mem + addr, sizeof f);
    return f;
}

/* A 5 x 7 x 6 GEMM with numbers whose sums are rounded. */
static const sgemm_args small = {
    SGEMM_ROW_MAJOR, SGEMM_NO_TRANS, SGEMM_NO_TRANS, 5, 7, 6, 1.5f, 0x1000, 6, 0x2000, 7, 0.25f, 0x3000, 7, 0};

static void fill(rig *r) {
    for (uint32_t i = 0; i < 64; i++) {
        put(r, 0x1000 + 4 * i, 1.0f / (float)(3 + i));
        put(r, 0x2000 + 4 * i, (i % 2 != 0 ? -1.0f : 1.0f) / (float)(7 + 3 * i));
        put(r, 0x3000 + 4 * i, (float)i / 9.0f);
    }
}

/* ---- arguments ---- */

typedef struct change {
    void (*apply)(sgemm_args *x);
    sgemm_status status;
    int argument;
} change;

#define CHANGE(name, statement)                                                                                        \
    static void name(sgemm_args *x) {                                                                                  \
        statement;                                                                                                     \
    }
CHANGE(bad_order, x->order = 100)
CHANGE(bad_ta, x->trans_a = 110)
CHANGE(bad_tb, x->trans_b = 0)
CHANGE(bad_m, x->m = -1)
CHANGE(bad_n, x->n = -7)
CHANGE(bad_k, x->k = INT32_MIN)
CHANGE(null_a, x->a = 0)
CHANGE(odd_a, x->a += 2)
CHANGE(end_a, x->a = 0xFFFFFFFC)
CHANGE(short_lda, x->lda = 5)
CHANGE(zero_lda, (x->k = 0, x->lda = 0))
CHANGE(long_lda, x->lda = 0x1000000)
CHANGE(short_lda_t, (x->trans_a = SGEMM_TRANS, x->lda = 4))
CHANGE(null_b, x->b = 0)
CHANGE(odd_b, (x->flags = SGEMM_B_F16, x->b += 1))
CHANGE(short_ldb, x->ldb = 6)
CHANGE(short_ldb_t, (x->trans_b = SGEMM_CONJ_TRANS, x->ldb = 5))
CHANGE(null_c, x->c = 0)
CHANGE(null_c_alone, (x->alpha = 0.0f, x->c = 0))
CHANGE(odd_c, x->c += 1)
CHANGE(end_c, x->c = 0xFFFFFF80)
CHANGE(short_ldc, x->ldc = 6)
CHANGE(short_ldc_col, (x->order = SGEMM_COL_MAJOR, x->lda = 5, x->ldb = 6, x->ldc = 4))
CHANGE(c_in_a, x->c = x->a + 4 * 29)
CHANGE(c_before_b, x->c = x->b - 4 * 34)
CHANGE(c_beside_b_wraps, (x->ldb = 16, x->ldc = 16, x->c = x->b + 4 * 10))
CHANGE(c_over_b_columns, (x->ldb = 16, x->ldc = 16, x->c = x->b + 4 * 6))
CHANGE(odd_flags, x->flags = 16)
CHANGE(long_k, (x->flags = SGEMM_C_F16, x->k = 9, x->lda = 9))

static void test_refusals(void **state) {
    static const change bad[] = {
        {bad_order, SGEMM_ERR_ORDER, 1},
        {bad_ta, SGEMM_ERR_TRANS_A, 2},
        {bad_tb, SGEMM_ERR_TRANS_B, 3},
        {bad_m, SGEMM_ERR_M, 4},
        {bad_n, SGEMM_ERR_N, 5},
        {bad_k, SGEMM_ERR_K, 6},
        {null_a, SGEMM_ERR_A, 8},
        {odd_a, SGEMM_ERR_A, 8},
        {end_a, SGEMM_ERR_A, 8},
        {short_lda, SGEMM_ERR_LDA, 9},
        {zero_lda, SGEMM_ERR_LDA, 9},
        {long_lda, SGEMM_ERR_LDA, 9},
        {short_lda_t, SGEMM_ERR_LDA, 9},
        {null_b, SGEMM_ERR_B, 10},
        {odd_b, SGEMM_ERR_B, 10},
        {short_ldb, SGEMM_ERR_LDB, 11},
        {short_ldb_t, SGEMM_ERR_LDB, 11},
        {null_c, SGEMM_ERR_C, 13},
        {null_c_alone, SGEMM_ERR_C, 13},
        {odd_c, SGEMM_ERR_C, 13},
        {end_c, SGEMM_ERR_C, 13},
        {short_ldc, SGEMM_ERR_LDC, 14},
        {short_ldc_col, SGEMM_ERR_LDC, 14},
        {c_in_a, SGEMM_ERR_OVERLAP, 13},
        {c_before_b, SGEMM_ERR_OVERLAP, 13},
        {c_beside_b_wraps, SGEMM_ERR_OVERLAP, 13},
        {odd_flags, SGEMM_ERR_MODE, 0},
        {c_over_b_columns, SGEMM_ERR_OVERLAP, 13},
        {long_k, SGEMM_ERR_K, 6},
    };
    rig *r = open_rig(BUILD_FULL, false);
    const sgemm_limits limits = {65535, 65535, 8, 0xFFFFFF};
    (void)state;
    assert_int_equal(sgemm_set_limits(&r->dev, &limits), SGEMM_OK);
    assert_int_equal(sgemm_check(&r->dev, &small), SGEMM_OK);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        sgemm_args x = small;
        bad[i].apply(&x);
        const sgemm_status got = sgemm_run(&r->dev, &x);
        if (got != bad[i].status) {
            fail_msg("refusal %zu: %s", i, sgemm_strerror(got));
        }
        assert_int_equal(sgemm_argument(got), bad[i].argument);
    }
    assert_int_equal(r->device.starts, 0);
    free(r);
}

static void test_modes(void **state) {
    rig *plain = open_rig(BUILD_FULL & ~SGEMM_CONFIG_EN_HALF_MASK, false);
    rig *half = open_rig(BUILD_FULL | SGEMM_CONFIG_HALF_BUF_MASK, false);
    sgemm_args x = small;
    (void)state;
    assert_int_equal(sgemm_check(&half->dev, &x), SGEMM_ERR_MODE);
    x.flags = SGEMM_HALF;
    assert_int_equal(sgemm_check(&half->dev, &x), SGEMM_OK);
    assert_int_equal(sgemm_check(&plain->dev, &x), SGEMM_ERR_MODE);
    /* blocks side by side in one larger matrix: the extents overlap, the columns do not */
    x.flags = 0;
    x.ldb = x.ldc = 16;
    x.c = x.b + 4 * 8;
    assert_int_equal(sgemm_check(&plain->dev, &x), SGEMM_OK);
    assert_int_equal(sgemm_check(NULL, &x), SGEMM_ERR_NULL);
    assert_int_equal(sgemm_check(&plain->dev, NULL), SGEMM_ERR_NULL);
    free(plain);
    free(half);
}

static void test_texts(void **state) {
    (void)state;
    for (int s = 0; s < SGEMM_STATUS_COUNT; s++) {
        for (int other = 0; other < s; other++) {
            assert_string_not_equal(sgemm_strerror((sgemm_status)s), sgemm_strerror((sgemm_status)other));
        }
    }
    assert_string_equal(sgemm_strerror(SGEMM_STATUS_COUNT), "unknown status");
    assert_int_equal(sgemm_argument(SGEMM_STATUS_COUNT), 0);
    assert_int_equal(sgemm_argument(SGEMM_ERR_BUS), 0);
}

/* ---- results ---- */

static void result(const rig *r, float c[35]) {
    for (uint32_t i = 0; i < 35; i++) {
        c[i] = get(r, 0x3000 + 4 * i);
    }
}

/* Engine, split engine, processor, and the entries of BLAS give the same bits. */
static void test_same_bits(void **state) {
    float expected[35], got[35];
    rig *r = open_rig(BUILD_FULL, true);
    (void)state;
    fill(r);
    assert_int_equal(sgemm_run(&r->dev, &small), SGEMM_OK);
    assert_false(r->dev.cpu);
    result(r, expected);
    assert_true(expected[0] != 0.0f && expected[34] != expected[33]);
    const sgemm_limits splits[] = {{1, 1, 1, 100}, {2, 3, 4, 100}, {65535, 65535, 65535, 0xFFFFFF}};
    for (size_t i = 0; i < 4; i++) {
        fill(r);
        assert_int_equal(sgemm_set_limits(&r->dev, &splits[i % 3]), SGEMM_OK);
        r->dev.min_dim = i == 3 ? 6 : 0; /* M = 5 is below it */
        assert_int_equal(sgemm_cblas(&r->dev, SGEMM_ROW_MAJOR, SGEMM_NO_TRANS, SGEMM_NO_TRANS, 5, 7, 6, 1.5f, 0x1000, 6,
                                     0x2000, 7, 0.25f, 0x3000, 7),
                         SGEMM_OK);
        assert_int_equal(r->dev.cpu, i == 3);
        result(r, got);
        assert_memory_equal(got, expected, sizeof got);
    }
    free(r);
}

/* SGEMM of BLAS: column-major, letters of either case. C^T = B^T * A^T with alpha = 1, where the order of factors does
 * not matter. */
static void test_blas(void **state) {
    float expected[35], got[35];
    rig *r = open_rig(BUILD_FULL, false);
    sgemm_args x = small;
    (void)state;
    x.alpha = 1.0f;
    fill(r);
    assert_int_equal(sgemm_run(&r->dev, &x), SGEMM_OK);
    result(r, expected);
    fill(r);
    assert_int_equal(sgemm_blas(&r->dev, 'n', 'N', 7, 5, 6, 1.0f, 0x2000, 7, 0x1000, 6, 0.25f, 0x3000, 7), SGEMM_OK);
    result(r, got);
    assert_memory_equal(got, expected, sizeof got);
    static const char letters[] = {'t', 'T', 'c', 'C'};
    float first[35] = {0.0f};
    for (size_t i = 0; i < sizeof letters; i++) {
        fill(r);
        assert_int_equal(
            sgemm_blas(&r->dev, letters[i], letters[3 - i], 7, 5, 6, 1.0f, 0x1000, 6, 0x2000, 5, 0.0f, 0x3000, 7),
            SGEMM_OK);
        result(r, i == 0 ? first : got);
        if (i > 0) {
            assert_memory_equal(got, first, sizeof got);
        }
    }
    free(r);
}

/* Each argument of SGEMM wrong, one after the other, and all from one on: the first one has its number in SGEMM. */
static void test_blas_numbers(void **state) {
    static const int numbers[] = {1, 2, 3, 4, 5, 8, 10, 13};
    rig *r = open_rig(BUILD_FULL, false);
    (void)state;
    for (int wrong = 0; wrong < 8; wrong++) {
        for (int all = 0; all < 2; all++) {
#define BAD(i) ((i) == wrong || (all != 0 && (i) > wrong))
            const sgemm_status got =
                sgemm_blas(&r->dev, BAD(0) ? 'x' : 'n', BAD(1) ? '\0' : 'T', BAD(2) ? -1 : 7, BAD(3) ? -1 : 5,
                           BAD(4) ? -1 : 6, 1.0f, 0x2000, BAD(5) ? (BAD(2) ? 0 : 6) : 7, 0x1000,
                           BAD(6) ? (BAD(3) ? 0 : 4) : 5, 0.0f, 0x3000, BAD(7) ? (BAD(2) ? 0 : 6) : 7);
#undef BAD
            assert_int_equal(sgemm_blas_argument(got), numbers[wrong]);
            assert_int_equal(sgemm_argument(got), numbers[wrong] + 1);
        }
    }
    assert_int_equal(sgemm_blas_argument(SGEMM_OK), 0);
    assert_int_equal(sgemm_blas_argument(SGEMM_ERR_BUS), 0);
    /* checked before the quick return, as there */
    assert_int_equal(sgemm_blas(&r->dev, 'n', 'n', 0, 5, 6, 1.0f, 0, 0, 0, 6, 0.0f, 0, 1), SGEMM_ERR_LDA);
    assert_int_equal(sgemm_blas(&r->dev, 'n', 'n', 0, 5, 6, 1.0f, 0, 1, 0, 6, 0.0f, 0, 1), SGEMM_OK);
    assert_int_equal(r->device.starts, 0);
    free(r);
}

/* Halves in memory and rounded operands: engine and processor, whole and with the values at the ends of binary16. */
static void test_halves(void **state) {
    static const uint16_t values[] = {0x0000, 0x8000, 0x0001, 0x83FF, 0x0400, 0x7BFF, 0xFBFF, 0x7C00,
                                      0xFC00, 0x7E01, 0x3C00, 0xBC01, 0x3555, 0x5678, 0x9ABC, 0x4321};
    rig *r = open_rig(BUILD_FULL, false);
    uint16_t got[2][16];
    (void)state;
    for (uint32_t flags = 0; flags < 16; flags++) {
        for (int tb = 0; tb < 2; tb++) {
            sgemm_args x = {SGEMM_ROW_MAJOR,
                            SGEMM_TRANS,
                            tb != 0 ? SGEMM_TRANS : SGEMM_NO_TRANS,
                            4,
                            4,
                            4,
                            0.3f,
                            0x1000,
                            4,
                            0x2000,
                            4,
                            1.0f,
                            0x3000,
                            4,
                            flags};
            for (int cpu = 0; cpu < 2; cpu++) {
                fill(r);
                for (uint32_t i = 0; i < 3; i++) {
                    if ((flags >> i & 1) != 0) {
                        memcpy(r->mem + 0x1000 * (i + 1), values, sizeof values);
                    }
                }
                put(r, 0x1004, 65519.996f);
                put(r, 0x2008, 2.9802322e-8f); /* 2^-25 */
                put(r, 0x200C, 1e-7f);
                r->dev.min_dim = cpu != 0 ? 5 : 0;
                assert_int_equal(sgemm_run(&r->dev, &x), SGEMM_OK);
                memcpy(got[cpu], r->mem + 0x3000, sizeof got[cpu]);
            }
            assert_memory_equal(got[0], got[1], sizeof got[0]);
        }
    }
    free(r);
}

/* M or N = 0, beta = 1 without a product: nothing is touched. beta = 0 does not read C, alpha = 0 not A and B. */
static void test_nothing(void **state) {
    rig *r = open_rig(BUILD_FULL, false);
    sgemm_args x = small;
    (void)state;
    x.m = 0;
    assert_int_equal(sgemm_run(&r->dev, &x), SGEMM_OK);
    x = small;
    x.k = 0;
    x.beta = 1.0f;
    assert_int_equal(sgemm_run(&r->dev, &x), SGEMM_OK);
    x.k = 6;
    x.alpha = -0.0f;
    x.a = x.b = 0; /* not read: not looked at */
    assert_int_equal(sgemm_run(&r->dev, &x), SGEMM_OK);
    assert_int_equal(r->device.starts, 0);
    for (uint32_t cpu = 0; cpu < 2; cpu++) {
        r->dev.min_dim = cpu * 6;
        fill(r);
        put(r, 0x3000, 0.0f / 0.0f);
        x.beta = 0.0f;
        assert_int_equal(sgemm_run(&r->dev, &x), SGEMM_OK);
        assert_true(get(r, 0x3000) == 0.0f && get(r, 0x3000 + 34 * 4) == 0.0f);
    }
    assert_int_equal(r->device.starts, 1);
    free(r);
}

static void test_caches(void **state) {
    rig *r = open_rig(BUILD_FULL, false);
    sgemm_args x = small;
    (void)state;
    x.ldc = 9;
    for (int i = 0; i < 3; i++) { /* the third one waits for the two before it */
        assert_int_equal(sgemm_submit(&r->dev, &x), SGEMM_OK);
        assert_int_equal(r->drops, i == 2 ? 2 : 0);
    }
    assert_int_equal(r->flushes, 9);
    assert_int_equal(r->flushed[0][0], 0x1000);
    assert_int_equal(r->flushed[0][1], 4 * 30);
    assert_int_equal(r->flushed[1][1], 4 * 42);
    assert_int_equal(r->flushed[2][0], 0x3000);
    assert_int_equal(r->flushed[2][1], 4 * (4 * 9 + 7));
    assert_int_equal(sgemm_wait(&r->dev), SGEMM_OK);
    assert_int_equal(r->drops, 3);
    assert_int_equal(r->dropped[2][1], 4 * (4 * 9 + 7));
    r->bus.cache_flush = NULL;
    r->bus.cache_invalidate = NULL;
    assert_int_equal(sgemm_run(&r->dev, &x), SGEMM_OK);
    assert_int_equal(r->flushes + r->drops, 12);
    free(r);
}

/* ---- what goes wrong ---- */

static void test_init(void **state) {
    rig *r = open_rig(BUILD_FULL, true);
    sgemm_dev dev;
    (void)state;
    assert_int_equal(sgemm_init(NULL, &r->hal, false, 1), SGEMM_ERR_NULL);
    assert_int_equal(sgemm_init(&dev, NULL, false, 1), SGEMM_ERR_NULL);
    assert_int_equal(sgemm_init(&dev, &r->hal, false, 0), SGEMM_ERR_NULL);
    for (int missing = 0; missing < 6; missing++) { /* each function, and the table of registers */
        npu_hal bus = r->bus;
        sgemm_hal hal = r->hal;
        hal.bus = missing == 0 ? NULL : &bus;
        bus.reg_read = missing == 1 ? NULL : bus.reg_read;
        bus.reg_write = missing == 2 ? NULL : bus.reg_write;
        bus.delay_us = missing == 3 ? NULL : bus.delay_us;
        hal.mem_read = missing == 4 ? NULL : hal.mem_read;
        hal.mem_write = missing == 5 ? NULL : hal.mem_write;
        assert_int_equal(sgemm_init(&dev, &hal, false, 1), SGEMM_ERR_NULL);
    }
    r->bus.wait_irq = NULL;
    assert_int_equal(sgemm_init(&dev, &r->hal, true, 1), SGEMM_ERR_NULL);
    assert_int_equal(sgemm_init(&dev, &r->hal, false, 1), SGEMM_OK);
    r->busy = SGEMM_STATUS_BUSY_MASK;
    assert_int_equal(sgemm_init(&dev, &r->hal, false, 1), SGEMM_ERR_BUSY);
    r->id = 1;
    assert_int_equal(sgemm_init(&dev, &r->hal, false, 1), SGEMM_ERR_NO_DEVICE);
    r->id = r->busy = 0;
    for (int n = 0; n < 5; n++) { /* ID, CONFIG, STATUS, COUNT, IRQ_ENABLE */
        r->until_fault = n;
        assert_int_equal(sgemm_init(&dev, &r->hal, false, 1), SGEMM_ERR_HAL);
    }
    const sgemm_limits bad[] = {{0, 1, 1, 1}, {1, 65536, 1, 1}, {1, 1, 0, 1}, {1, 1, 1, 0x1000000}};
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(sgemm_set_limits(&r->dev, &bad[i]), SGEMM_ERR_NULL);
    }
    assert_int_equal(sgemm_set_limits(&r->dev, NULL), SGEMM_ERR_NULL);
    assert_int_equal(sgemm_wait(NULL), SGEMM_ERR_NULL);
    assert_int_equal(sgemm_run(NULL, &small), SGEMM_ERR_NULL);
    free(r);
}

/* Each access of a GEMM fails once, on the engine and on the processor. */
static void test_faults(void **state) {
    (void)state;
    for (int way = 0; way < 5; way++) {
        int accesses = 0;
        for (sgemm_status got = SGEMM_ERR_HAL; got != SGEMM_OK; accesses++) {
            rig *r = open_rig(BUILD_FULL, way == 1);
            const sgemm_limits limits = {3, 3, 4, 0xFFFFFF};
            sgemm_args x = small;
            fill(r);
            x.n = way == 4 ? 70 : 7; /* more columns than the processor takes at a time */
            x.ldb = x.ldc = x.n;
            (void)sgemm_set_limits(&r->dev, &limits);
            r->dev.min_dim = way >= 2 ? 100 : 0;
            x.trans_b = way == 3 ? SGEMM_TRANS : SGEMM_NO_TRANS;
            x.flags = way == 3 ? SGEMM_C_F16 | SGEMM_B_F16 : 0;
            x.k = way == 3 ? 4 : 6;
            r->until_fault = accesses;
            got = sgemm_run(&r->dev, &x);
            assert_true(got == SGEMM_OK || got == SGEMM_ERR_HAL);
            assert_int_equal(got == SGEMM_OK, r->until_fault >= 0); /* OK: no access failed */
            free(r);
        }
        assert_true(accesses > 20);
    }
}

/* The same while the engine reports an error: clearing it, and asking how many tasks have run, fail, too. */
static void test_faults_after_errors(void **state) {
    static const uint32_t err[] = {SGEMM_ERR_BUS_WR_MASK, SGEMM_ERR_CONFIG_MASK};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        const sgemm_status end = i == 0 ? SGEMM_ERR_BUS : SGEMM_ERR_DEVICE;
        int accesses = 0;
        for (sgemm_status got = SGEMM_ERR_HAL; got != end; accesses++) {
            rig *r = open_rig(BUILD_FULL, false);
            fill(r);
            r->err = err[i];
            r->until_fault = accesses;
            got = sgemm_run(&r->dev, &small);
            assert_true(got == SGEMM_ERR_HAL || got == end);
            free(r);
        }
        assert_true(accesses > 15);
    }
}

static void test_counters(void **state) {
    rig *r = open_rig(BUILD_FULL, false);
    uint64_t value = 1;
    (void)state;
    assert_int_equal(sgemm_perf_snapshot(&r->dev, true), SGEMM_OK);
    assert_int_equal(sgemm_perf_read(&r->dev, 3, &value), SGEMM_OK);
    assert_int_equal(value, 0); /* the model counts nothing */
    assert_int_equal(r->device.perf_sel, 3);
    assert_int_equal(sgemm_perf_read(&r->dev, 64, &value), SGEMM_ERR_NULL);
    assert_int_equal(sgemm_perf_read(&r->dev, 0, NULL), SGEMM_ERR_NULL);
    assert_int_equal(sgemm_perf_snapshot(NULL, false), SGEMM_ERR_NULL);
    assert_int_equal(sgemm_perf_snapshot(&r->dev, false), SGEMM_OK);
    for (int n = 0; n < 3; n++) {
        r->until_fault = n;
        assert_int_equal(sgemm_perf_read(&r->dev, 0, &value), SGEMM_ERR_HAL);
    }
    free(r);
}

static void test_waits(void **state) {
    rig *r = open_rig(BUILD_FULL, false);
    (void)state;
    r->busy = SGEMM_STATUS_BUSY_MASK;
    assert_int_equal(sgemm_wait(&r->dev), SGEMM_ERR_TIMEOUT);
    assert_int_equal(r->waits, 1000);
    r->busy = SGEMM_STATUS_READY_MASK; /* never ready */
    assert_int_equal(sgemm_submit(&r->dev, &small), SGEMM_ERR_TIMEOUT);
    free(r);
    r = open_rig(BUILD_FULL, true);
    static const struct {
        npu_hal_status irq;
        sgemm_status status;
    } ends[] = {{NPU_HAL_TIMEOUT, SGEMM_ERR_TIMEOUT}, {NPU_HAL_FAULT, SGEMM_ERR_HAL}, {NPU_HAL_OK, SGEMM_OK}};
    for (size_t i = 0; i < 3; i++) {
        r->busy = SGEMM_STATUS_BUSY_MASK;
        r->irq = ends[i].irq;
        assert_int_equal(sgemm_wait(&r->dev), ends[i].status);
    }
    assert_int_equal(r->waits, 3);
    free(r);
}

/* Errors of the engine: of the bus, of a task that it dropped, of one that it forgot. */
static void test_errors(void **state) {
    rig *r = open_rig(BUILD_FULL, false);
    (void)state;
    static const uint32_t bus[] = {SGEMM_ERR_BUS_RD0_MASK, SGEMM_ERR_BUS_RD1_MASK, SGEMM_ERR_BUS_WR_MASK};
    for (size_t i = 0; i < 3; i++) {
        r->err = bus[i];
        assert_int_equal(sgemm_run(&r->dev, &small), SGEMM_ERR_BUS);
    }
    r->err = 0;
    r->device.config = BUILD_FULL | SGEMM_CONFIG_HALF_BUF_MASK; /* not what the driver has read */
    assert_int_equal(sgemm_run(&r->dev, &small), SGEMM_ERR_DEVICE);
    assert_int_equal(r->device.err, 0); /* cleared */
    r->device.config = BUILD_FULL;
    assert_int_equal(sgemm_run(&r->dev, &small), SGEMM_OK);
    r->device.count--;
    assert_int_equal(sgemm_wait(&r->dev), SGEMM_ERR_DEVICE);
    free(r);
}

/* ---- the golden device ---- */

static void test_registers(void **state) {
    rig *r = open_rig(BUILD_FULL, true);
    sgm_device *d = &r->device;
    (void)state;
    for (uint32_t reg = SGEMM_REG_A_ADDR; reg <= SGEMM_REG_START; reg += 4) {
        sgm_device_write(d, reg, 0xFFFFFFFEu - reg);
        assert_int_equal(sgm_device_read(d, reg), 0xFFFFFFFEu - reg);
    }
    sgm_device_write(d, SGEMM_REG_A_ADDR + 1, 5); /* no register begins there */
    assert_int_equal(sgm_device_read(d, SGEMM_REG_A_ADDR + 1), 0);
    assert_int_equal(sgm_device_read(d, SGEMM_REG_A_ADDR), 0xFFFFFFFEu - SGEMM_REG_A_ADDR);
    assert_int_equal(sgm_device_read(d, 0x3C), 0);
    assert_int_equal(sgm_device_read(d, SGEMM_REG_START + 4), 0);
    assert_int_equal(sgm_device_read(d, SGEMM_REG_STATUS), SGEMM_STATUS_READY_MASK);
    assert_int_equal(sgm_device_read(d, SGEMM_REG_IRQ_ENABLE), 1);
    sgm_device_write(d, SGEMM_REG_CTRL, 0);
    assert_int_equal(sgm_device_read(d, SGEMM_REG_IRQ_ENABLE), 1);
    sgm_device_write(d, SGEMM_REG_START, SGEMM_START_GO_MASK | 0x80000000u);
    assert_int_equal(sgm_device_read(d, SGEMM_REG_ERR), SGEMM_ERR_CONFIG_MASK);
    assert_int_equal(sgm_device_read(d, SGEMM_REG_IRQ_STATUS), 1);
    sgm_device_write(d, SGEMM_REG_IRQ_STATUS, 1);
    assert_int_equal(sgm_device_read(d, SGEMM_REG_IRQ_STATUS), 0);
    sgm_device_write(d, SGEMM_REG_CTRL, SGEMM_CTRL_SOFT_RESET_MASK);
    assert_int_equal(sgm_device_read(d, SGEMM_REG_IRQ_ENABLE) | sgm_device_read(d, SGEMM_REG_ERR), 0);
    assert_int_equal(sgm_device_read(d, SGEMM_REG_CONFIG), BUILD_FULL);
    free(r);
}

/* Modes that the build lacks: each of them alone is refused. */
static void test_absent_modes(void **state) {
    rig *r = open_rig(BUILD_FULL, false);
    sgm_device *d = &r->device;
    (void)state;
    for (uint32_t mode = 0; mode < 16; mode++) {
        for (uint32_t build = 0; build < 3; build++) {
            const uint32_t half = mode >> 3, any = mode != 0;
            d->config = build == 0   ? BUILD_FULL
                        : build == 1 ? BUILD_FULL & ~SGEMM_CONFIG_EN_HALF_MASK
                                     : BUILD_FULL | SGEMM_CONFIG_HALF_BUF_MASK;
            sgm_device_write(d, SGEMM_REG_SIZE, 1 << SGEMM_SIZE_M_LSB | 1 << SGEMM_SIZE_N_LSB);
            sgm_device_write(d, SGEMM_REG_LDC, 1);
            sgm_device_write(d, SGEMM_REG_START, mode << SGEMM_START_A_F16_LSB);
            assert_int_equal(sgm_device_legal(d), build == 0 || (build == 1 ? !any : half != 0));
        }
    }
    free(r);
}

/* Matrices of which a part is not in memory: the model says so. */
static void test_unmapped(void **state) {
    (void)state;
    for (uint32_t flags = 0; flags < 8; flags += 7) {
        for (uint32_t which = 0; which < 3; which++) {
            const uint32_t at[] = {0x1000, 0x2000, 0x3000};
            sgm_task t = {.a = at[0],
                          .b = at[1],
                          .c = at[2],
                          .lda = 70,
                          .ldb = 70,
                          .ldc = 70,
                          .m = 3,
                          .n = 70,
                          .k = 70,
                          .alpha = 0x3F800000,
                          .beta = 0x3F800000,
                          .a16 = flags != 0,
                          .b16 = flags != 0,
                          .c16 = flags != 0};
            rig *r = open_rig(BUILD_FULL, false);
            assert_true(sgm_gemm(&r->device.mem, &t));
            sgemm_args x = small;
            x.beta = 0.0f;
            x.c = MEM; /* behind the memory: the device remembers it, and goes on */
            assert_int_equal(sgemm_run(&r->dev, &x), SGEMM_OK);
            assert_true(r->device.failed);
            assert_int_equal(sgemm_run(&r->dev, &small), SGEMM_OK);
            assert_true(r->device.failed);
            *(which == 0 ? &t.a : which == 1 ? &t.b : &t.c) = MEM - 144;
            assert_false(sgm_gemm(&r->device.mem, &t));
            free(r);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refusals),     cmocka_unit_test(test_modes),
        cmocka_unit_test(test_texts),        cmocka_unit_test(test_same_bits),
        cmocka_unit_test(test_blas),         cmocka_unit_test(test_halves),
        cmocka_unit_test(test_blas_numbers), cmocka_unit_test(test_faults_after_errors),
        cmocka_unit_test(test_nothing),      cmocka_unit_test(test_caches),
        cmocka_unit_test(test_init),         cmocka_unit_test(test_faults),
        cmocka_unit_test(test_counters),     cmocka_unit_test(test_waits),
        cmocka_unit_test(test_errors),       cmocka_unit_test(test_registers),
        cmocka_unit_test(test_unmapped),     cmocka_unit_test(test_absent_modes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
