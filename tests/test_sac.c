/* The shift-add engine's contract model and driver, without RTL: arithmetic by example, formats against each other,
 * cycles of known layers, every refusal. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "../cmodel/sac/sac_contract.h"
#include "../cmodel/sac/sac_model.h"
#include "../drivers/sac/sac_plan.h"
#include "sac_regs.h"

static const sac_build build_t = {3, 2, 2, 4096}, build_m = {6, 16, 16, 8960};

static void test_contract(void **state) {
    static const struct {
        int32_t v;
        int k;
        int8_t result;
    } rows[] = {{24, 4, 2},         {-24, 4, -2},
                {23, 4, 1},         {2040, 4, 127},
                {-2056, 4, -128},   {INT32_MIN, 31, -1},
                {20, -3, 127},      {INT32_MIN, -8, -128},
                {INT32_MAX, 31, 1}, {0, -32, 0},
                {-1, -32, -128},    {1, 1, 1},
                {-1, 1, -1},        {5, 0, 5}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_int_equal(sac_shr(rows[i].v, rows[i].k), rows[i].result);
    }
    /* sums are shifted, not terms: four times 1 >> 1 is 2 */
    assert_int_equal(sac_shr(4 * sac_term(1, 8, 0), 1), 2);
    /* the example of the specification: x 100, -128, 37 with d 0, 1, 2 and k 6, 2, 0, signs + - + */
    const int32_t acc = sac_term(100, 14, 0) + sac_term(-128, 2, 1) + sac_term(37, 8, 2);
    assert_int_equal(acc, 7572);
    assert_int_equal(sac_shr(acc, 7), 59);
    for (int x = -128; x < 128; x++) { /* every code and d */
        for (unsigned i = 0; i < 128; i++) {
            const unsigned code = i & 15, k = code & 7, d = i >> 4;
            const int32_t value = x * (int32_t)(1u << (k + d));
            assert_int_equal(sac_term((int8_t)x, (uint8_t)code, d), k == 7 ? 0 : code > 7 ? value : -value);
        }
    }
    for (int32_t v = -70000; v < 70000; v += 7) { /* halves away from zero, against whole numbers */
        for (int k = 1; k < 12; k++) {
            const int64_t half = INT64_C(1) << (k - 1), m = v < 0 ? -(int64_t)v : v, q = (m + half) / (2 * half);
            const int64_t s = v < 0 ? -q : q;
            assert_int_equal(sac_shr(v, k), s < -128 ? -128 : s > 127 ? 127 : s);
        }
    }
    assert_int_equal(sac_average(-5, 2, 0), -3);
    assert_int_equal(sac_average(5, 2, -1), 1);
    assert_int_equal(sac_average(100, 1, 3), 127);
    assert_int_equal(sac_residual(127, 127, 7, 7, 8), 127);
    assert_int_equal(sac_residual(-3, 2, 0, 1, 1), 1);
}

/* CONV of the table in the specification, configuration m. */
static void test_cycles(void **state) {
    static const struct {
        uint32_t c, n, side, k, s, p;
        uint64_t conv, pages, words;
    } rows[] = {{64, 64, 56, 3, 1, 1, 37632, 2240, 192},
                {512, 512, 7, 3, 1, 1, 43008, 448, 1536},
                {256, 128, 56, 1, 2, 0, 35840, 8960, 96},
                {3, 64, 224, 7, 2, 3, 526848, 8512, 336},
                {1024, 1000, 1, 1, 1, 0, 4032, 64, 352}};
    (void)state;
    for (size_t i = 0; i < 5; i++) {
        const uint32_t out = (rows[i].side + 2 * rows[i].p - rows[i].k) / rows[i].s + 1;
        const cm_layer_task t = {.w = rows[i].side,
                                 .h = rows[i].side,
                                 .c = rows[i].c,
                                 .n = rows[i].n,
                                 .kw = rows[i].k,
                                 .kh = rows[i].k,
                                 .stride = rows[i].s,
                                 .pt = rows[i].p,
                                 .pl = rows[i].p,
                                 .ow = out,
                                 .oh = out,
                                 .dst_ddr = true};
        const sac_dev dev = {.wv = 6, .cv = 16, .nv = 16, .cache_pages = 8960};
        const sac_task task = {
            .c = t.c, .n = t.n, .w = t.w, .h = t.h, .kw = t.kw, .kh = t.kh, .stride = t.stride, .ow = t.ow, .oh = t.oh};
        assert_int_equal(sac_task_conv(&build_m, &t), rows[i].conv);
        assert_int_equal(sac_conv_cycles(&dev, &task), rows[i].conv);
        assert_int_equal(sac_task_in_pages(&build_m, &t), rows[i].pages);
        assert_int_equal(sac_task_words(&build_m, &t) * build_m.n, rows[i].words);
    }
}

/* Equation 30 in the document's example, C = 4, C_VECTOR = 2, R = FW = 3: 6 vectors a result, not 8. */
static void test_example_of_equation_30(void **state) {
    const cm_layer_task t = {.w = 3, .h = 3, .c = 4, .n = 2, .kw = 3, .kh = 3, .stride = 1, .ow = 1, .oh = 1};
    (void)state;
    assert_int_equal(sac_task_conv(&build_t, &t), 6);
    assert_int_equal(sac_task_words(&build_t, &t), 6);
}

/* ---- the driver on the model alone ---- */

#define BASE 0x1000u
#define BYTES 0x40000u

typedef struct rig {
    uint8_t mem[BYTES];
    sac_model model;
    sac_hal hal;
    sac_dev dev;
    bool dead;
    int left; /* accesses until the device stops to answer; below 0: it does not stop */
} rig;

/* Does the device answer this access? */
static bool answers(rig *r) {
    r->dead = r->dead || r->left == 0;
    r->left -= r->left > 0;
    return !r->dead;
}

static bool mem_read(void *ctx, uint64_t addr, void *data, size_t bytes) {
    const rig *r = (const rig *)ctx;
    if (addr < BASE || addr + bytes > BASE + BYTES) {
        return false;
    }
    memcpy(data, r->mem + (addr - BASE), bytes);
    return true;
}

static bool mem_write(void *ctx, uint64_t addr, const void *data, size_t bytes) {
    rig *r = (rig *)ctx;
    if (addr < BASE || addr + bytes > BASE + BYTES) {
        return false;
    }
    memcpy(r->mem + (addr - BASE), data, bytes);
    return true;
}

static bool hal_read(void *ctx, uint32_t reg, uint32_t *value) {
    rig *r = (rig *)ctx;
    *value = sac_model_read(&r->model, reg);
    return answers(r);
}

static bool hal_write(void *ctx, uint32_t reg, uint32_t value) {
    rig *r = (rig *)ctx;
    sac_model_write(&r->model, reg, value);
    return answers(r);
}

static bool hal_wait(void *ctx, bool irq) {
    (void)irq;
    return answers((rig *)ctx);
}

static int setup(void **state) {
    rig *r = calloc(1, sizeof *r);
    if (r == NULL || sac_model_init(&r->model, &(sac_mem){r, mem_read, mem_write}, &build_t) != 0) {
        return -1;
    }
    r->hal = (sac_hal){r, hal_read, hal_write, hal_wait};
    r->left = -1;
    *state = r;
    return sac_open(&r->dev, &r->hal) == SAC_OK ? 0 : -1;
}

static int teardown(void **state) {
    rig *r = (rig *)*state;
    sac_model_free(&r->model);
    free(r);
    return 0;
}

/* 2 channels, 4 x 5, two filters of 3 x 3. */
static sac_task small(void) {
    return (sac_task){.in = BASE,
                      .out = BASE + 0x1000,
                      .res = BASE + 0x2000,
                      .filters = BASE + 0x3000,
                      .params = BASE + 0x4000,
                      .dtab = BASE + 0x5000,
                      .c = 2,
                      .h = 4,
                      .w = 5,
                      .n = 2,
                      .kh = 3,
                      .kw = 3,
                      .stride = 1,
                      .pt = 1,
                      .pl = 1,
                      .oh = 4,
                      .ow = 5,
                      .to_memory = true};
}

/* Pack, run, unpack: an identity kernel returns its input, and the sum of a window is the sum. */
static void test_run(void **state) {
    rig *r = (rig *)*state;
    const sac_task t = small();
    int8_t in[2 * 4 * 5], out[2 * 4 * 5];
    uint8_t codes[2][2][9];
    const sac_filter filter[2] = {{.sh = 6}, {.bias = 640, .sh = 6}};
    for (int i = 0; i < 40; i++) {
        in[i] = (int8_t)(i - 20);
    }
    memset(codes, 7, sizeof codes);
    codes[0][0][4] = 14; /* filter 0: channel 0; filter 1: minus the left neighbour in channel 1, and 10 */
    codes[1][1][3] = 6;
    sac_pack_tensor(&r->dev, 2, 4, 5, in, r->mem);
    assert_int_equal(sac_pack_filters(&r->dev, 2, 2, 3, 3, &codes[0][0][0], r->mem + 0x3000), SAC_OK);
    assert_int_equal(sac_pack_params(&r->dev, 2, filter, r->mem + 0x4000), SAC_OK);
    assert_int_equal(sac_start(&r->dev, &t, false), SAC_OK);
    assert_int_equal(sac_wait(&r->dev, false), SAC_OK);
    sac_unpack_tensor(&r->dev, 2, 4, 5, r->mem + 0x1000, out);
    for (int i = 0; i < 20; i++) {
        assert_int_equal(out[i], in[i]);
        assert_int_equal(out[20 + i], 10 - (i % 5 == 0 ? 0 : in[20 + i - 1]));
    }
    assert_int_equal(r->dev.cached[0].c, 2); /* its input is in the cache now */
    sac_task again = t;
    again.from_cache = true;
    assert_int_equal(sac_check(&r->dev, &again), SAC_OK);
    again.half = 1;
    assert_int_equal(sac_check(&r->dev, &again), SAC_FAIL_UNWRITTEN);
}

static void test_refusals(void **state) {
    rig *r = (rig *)*state;
#define REFUSED(expected, ...)                                                                                         \
    do {                                                                                                               \
        sac_task t = small();                                                                                          \
        __VA_ARGS__;                                                                                                   \
        assert_int_equal(sac_check(&r->dev, &t), expected);                                                            \
        assert_int_equal(sac_start(&r->dev, &t, false), expected);                                                     \
    } while (0)
    assert_int_equal(sac_check(&r->dev, &(sac_task){0}), SAC_FAIL_ARG);
    assert_int_equal(sac_check(&r->dev, NULL), SAC_FAIL_ARG);
    REFUSED(SAC_FAIL_ARG, t.to_memory = false);
    REFUSED(SAC_FAIL_ARG, t.in += 8);
    REFUSED(SAC_FAIL_ARG, t.in_step = 16);
    REFUSED(SAC_FAIL_ARG, t.half = 2);
    REFUSED(SAC_FAIL_ARG, t.out_step = 16);
    REFUSED(SAC_FAIL_ARG, t.full = (sac_full)3);
    REFUSED(SAC_FAIL_ARG, t.out = 0xFFFFFFF0u);
    REFUSED(SAC_FAIL_ARG, t.filters = 0xFFFFFFF0u);
    assert_int_equal(sac_check(NULL, &(sac_task){0}), SAC_FAIL_ARG);
    assert_int_equal(sac_start(NULL, &(sac_task){0}, false), SAC_FAIL_ARG);
    REFUSED(SAC_FAIL_MAP, t.w = 0);
    REFUSED(SAC_FAIL_MAP, t.h = 1024);
    REFUSED(SAC_FAIL_MAP, t.c = 4097);
    REFUSED(SAC_FAIL_MAP, t.n = 0);
    REFUSED(SAC_FAIL_KERNEL, t.kw = 12);
    REFUSED(SAC_FAIL_KERNEL, t.kh = 0);
    REFUSED(SAC_FAIL_KERNEL, t.stride = 5);
    REFUSED(SAC_FAIL_KERNEL, t.pl = 8);
    REFUSED(SAC_FAIL_KERNEL, t.pt = 8);
    REFUSED(SAC_FAIL_OUTPUT, t.ow = 0);
    REFUSED(SAC_FAIL_OUTPUT, t.ow = 12);
    REFUSED(SAC_FAIL_OUTPUT, t.oh = 0);
    REFUSED(SAC_FAIL_OUTPUT, t.oh = 11);
    REFUSED(SAC_FAIL_POOL, t.pool = true, t.win = 4, t.pool_stride = 1, t.pw = t.ph = 1);
    REFUSED(SAC_FAIL_POOL, t.pool = true, t.win = 2, t.pool_stride = 0, t.pw = t.ph = 1);
    REFUSED(SAC_FAIL_POOL, t.pool = true, t.win = 2, t.pool_stride = 1, t.pw = t.ph = 1, t.pool_pt = 2);
    REFUSED(SAC_FAIL_POOL, t.pool = true, t.win = 2, t.pool_stride = 1, t.pw = t.ph = 1, t.pool_pl = 2);
    REFUSED(SAC_FAIL_POOL, t.pool = true, t.win = 2, t.pool_stride = 1, t.pw = 0, t.ph = 1);
    REFUSED(SAC_FAIL_POOL, t.pool = true, t.win = 2, t.pool_stride = 1, t.pw = 1, t.ph = 0);
    REFUSED(SAC_FAIL_WINDOW, t.pool = true, t.win = 2, t.pool_stride = 2, t.pw = 1, t.ph = 3);
    REFUSED(SAC_FAIL_WINDOW, t.pool = true, t.win = 2, t.pool_stride = 2, t.pw = 4, t.ph = 1);
    REFUSED(SAC_FAIL_FULL, t.full = SAC_FULL_AVG, t.w = t.h = t.ow = t.oh = 129);
    REFUSED(SAC_FAIL_WORDS, t.c = 1000);
    sac_task most = small(); /* exactly 1024 words and 4096 pages, and more of each */
    most.c = 1024;
    most.kw = most.kh = 2;
    most.in = BASE + 0x100000;
    most.filters = BASE + 0x200000;
    assert_int_equal(sac_check(&r->dev, &most), SAC_OK);
    most.w++;
    most.ow++;
    assert_int_equal(sac_check(&r->dev, &most), SAC_OK);
    most.w++;
    assert_int_equal(sac_check(&r->dev, &most), SAC_FAIL_CACHE_SIZE);
    most.c = 1026;
    assert_int_equal(sac_check(&r->dev, &most), SAC_FAIL_WORDS);
    REFUSED(SAC_FAIL_CACHE_SIZE, t.w = t.h = t.ow = t.oh = 200);
    REFUSED(SAC_FAIL_CACHE_SIZE, t.to_cache = true, t.n = 4096);
    REFUSED(SAC_FAIL_UNWRITTEN, t.from_cache = true, t.half = 1, t.c = 1);
    r->dev.cached[0] = (sac_cached){2, 4, 5};
    REFUSED(SAC_FAIL_UNWRITTEN, t.from_cache = true, t.h = t.oh = 5);
    REFUSED(SAC_FAIL_UNWRITTEN, t.from_cache = true, t.w = t.ow = 4);
    r->dev.cached[0] = (sac_cached){0};
    REFUSED(SAC_FAIL_OVERLAP, t.out = t.in);
    REFUSED(SAC_FAIL_OVERLAP, t.out = t.params);
    REFUSED(SAC_FAIL_OVERLAP, t.add = true, t.res = t.out);
    uint8_t stream[64];
    assert_int_equal(sac_pack_filters(&r->dev, 1, 1, 1, 1, (const uint8_t[]){15}, stream), SAC_FAIL_CODE);
    static const sac_filter bad[] = {{.sh = -9}, {.sh = 32}, {.la = 8}, {.lb = -1},
                                     {.r = 16},  {.r = -9},  {.g = 8},  {.g = -8}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(sac_pack_params(&r->dev, 1, &bad[i], stream), SAC_FAIL_SHIFT);
    }
    /* 4608 weights of k = 6: d up to 5 */
    static uint8_t codes[4608], d[512];
    memset(codes, 14, sizeof codes);
    memset(d, 5, sizeof d);
    assert_int_equal(sac_check_sums(512, 9, codes, d, 0), SAC_OK);
    memset(d, 6, sizeof d);
    assert_int_equal(sac_check_sums(512, 9, codes, d, 0), SAC_FAIL_OVERFLOW);
    assert_int_equal(sac_check_sums(1, 1, codes, (const uint8_t[]){8}, 0), SAC_FAIL_SHIFT);
    assert_int_equal(sac_check_sums(0, 1, codes, d, INT32_MIN), SAC_FAIL_OVERFLOW);
}

static void test_device(void **state) {
    rig *r = (rig *)*state;
    sac_dev dev;
    sac_task t = small();
    t.in = 0x10; /* not mapped */
    assert_int_equal(sac_start(&r->dev, &t, true), SAC_OK);
    assert_int_equal(sac_wait(&r->dev, true), SAC_FAIL_READ_F);
    assert_int_equal(r->dev.cached[0].c, 0);
    t = small();
    t.dtab = 0x10;
    assert_int_equal(sac_start(&r->dev, &t, true), SAC_OK);
    assert_int_equal(sac_wait(&r->dev, true), SAC_FAIL_READ_W);
    t = small();
    t.out = 0x80000;
    assert_int_equal(sac_start(&r->dev, &t, true), SAC_OK);
    assert_int_equal(sac_wait(&r->dev, true), SAC_FAIL_WRITE);
    sac_model_write(&r->model, SAC_REG_MAP, 0); /* behind the driver's back */
    sac_model_write(&r->model, SAC_REG_CTRL, SAC_CTRL_START_MASK);
    assert_int_equal(sac_wait(&r->dev, false), SAC_FAIL_CONFIG);
    assert_int_equal(sac_open(&dev, NULL), SAC_FAIL_ARG);
    r->dead = true;
    assert_int_equal(sac_open(&dev, &r->hal), SAC_FAIL_DEVICE);
    assert_int_equal(sac_start(&r->dev, &(sac_task){0}, false), SAC_FAIL_ARG);
    t = small();
    assert_int_equal(sac_start(&r->dev, &t, false), SAC_FAIL_DEVICE);
    assert_int_equal(sac_wait(&r->dev, false), SAC_FAIL_DEVICE);
    for (int i = 0; i < SAC_STATUS_COUNT; i++) {
        assert_true(strlen(sac_strerror((sac_status)i)) > 5);
    }
    assert_string_equal(sac_strerror(SAC_STATUS_COUNT), "unknown status");
}

/* Pointers that are missing, sizes that no packing has, tiles whose number times rows leaves 32 bits. */
static void test_missing_arguments(void **state) {
    rig *r = (rig *)*state;
    const sac_dev *dev = &r->dev;
    sac_task t = small(), part;
    sac_cycles cycles;
    sac_dev other;
    int32_t b;
    uint32_t rows;
    uint8_t stream[64], d[2] = {0};
    static const uint8_t codes[64] = {0};
    static const int8_t q[2] = {0};
    sac_filter f[2] = {{0}};
    for (int i = 0; i < 3; i++) {
        sac_hal hal = r->hal;
        hal.read = i == 0 ? NULL : hal.read;
        hal.write = i == 1 ? NULL : hal.write;
        hal.wait = i == 2 ? NULL : hal.wait;
        assert_int_equal(sac_open(&other, &hal), SAC_FAIL_ARG);
    }
    assert_int_equal(sac_wait(NULL, false), SAC_FAIL_ARG);
    assert_int_equal(sac_abort(NULL), SAC_FAIL_ARG);
    assert_int_equal(sac_read_cycles(NULL, &cycles), SAC_FAIL_ARG);
    assert_int_equal(sac_read_cycles(dev, NULL), SAC_FAIL_ARG);
    assert_int_equal(sac_pack_filters(NULL, 1, 1, 1, 1, codes, stream), SAC_FAIL_ARG);
    assert_int_equal(sac_pack_filters(dev, 1, 1, 1, 1, NULL, stream), SAC_FAIL_ARG);
    assert_int_equal(sac_pack_filters(dev, 1, 1, 1, 1, codes, NULL), SAC_FAIL_ARG);
    assert_int_equal(sac_pack_filters(dev, 0, 1, 1, 1, codes, stream), SAC_FAIL_MAP);
    assert_int_equal(sac_pack_filters(dev, 1, 4097, 1, 1, codes, stream), SAC_FAIL_MAP);
    assert_int_equal(sac_pack_filters(dev, 1, 1, 12, 1, codes, stream), SAC_FAIL_KERNEL);
    assert_int_equal(sac_pack_filters(dev, 1, 1, 1, 0, codes, stream), SAC_FAIL_KERNEL);
    assert_int_equal(sac_pack_params(NULL, 1, f, stream), SAC_FAIL_ARG);
    assert_int_equal(sac_pack_params(dev, 1, NULL, stream), SAC_FAIL_ARG);
    assert_int_equal(sac_pack_params(dev, 1, f, NULL), SAC_FAIL_ARG);
    assert_int_equal(sac_pack_params(dev, 4097, f, stream), SAC_FAIL_MAP);
    assert_int_equal(sac_check_sums(1, 1, NULL, d, 0), SAC_FAIL_ARG);
    assert_int_equal(sac_check_sums(1, 1, codes, NULL, 0), SAC_FAIL_ARG);
    assert_int_equal(sac_scale_bias(1.0F, 0, NULL), SAC_FAIL_ARG);
    assert_int_equal(sac_layer_rows(NULL, &t, &rows), SAC_FAIL_ARG);
    assert_int_equal(sac_layer_rows(dev, NULL, &rows), SAC_FAIL_ARG);
    assert_int_equal(sac_layer_rows(dev, &t, NULL), SAC_FAIL_ARG);
    assert_int_equal(sac_layer_tile(NULL, &t, 1, 0, &part), SAC_FAIL_ARG);
    assert_int_equal(sac_layer_tile(dev, NULL, 1, 0, &part), SAC_FAIL_ARG);
    assert_int_equal(sac_layer_tile(dev, &t, 1, 0, NULL), SAC_FAIL_ARG);
    assert_int_equal(sac_layer_tile(dev, &t, 0, 0, &part), SAC_FAIL_ARG);
    assert_int_equal(sac_layer_tile(dev, &t, 0x80000000u, 2, &part), SAC_FAIL_ARG);
    assert_int_equal(sac_layer_tile(dev, &t, 0xFFFFFFFFu, 0, &part), SAC_OK);
    assert_int_equal(part.oh, t.oh);
    const sac_layer l = {.task = t, .groups = 1, .dilation = 1, .q_in = q, .q_conv = q, .codes = codes};
    sac_layer bad = l;
    assert_int_equal(sac_layer_scales(&l, 0, d, f), SAC_OK);
    assert_int_equal(sac_layer_scales(NULL, 0, d, f), SAC_FAIL_ARG);
    assert_int_equal(sac_layer_scales(&l, 0, NULL, f), SAC_FAIL_ARG);
    assert_int_equal(sac_layer_scales(&l, 0, d, NULL), SAC_FAIL_ARG);
    assert_int_equal(sac_layer_scales(&l, 1, d, f), SAC_FAIL_ARG);
    bad.q_conv = NULL;
    assert_int_equal(sac_layer_scales(&bad, 0, d, f), SAC_FAIL_ARG);
    assert_int_equal(sac_scale_bias(0.0F, 300, &b), SAC_OK);
    assert_int_equal(sac_scale_bias(1.0F, 60, &b), SAC_FAIL_OVERFLOW);
}

/* The device stops to answer at any access: the driver says so, and knows nothing of the cache. */
static void test_no_answer(void **state) {
    rig *r = (rig *)*state;
    const sac_task t = small();
    sac_cycles cycles;
    sac_dev dev;
    int accesses = 0;
    for (bool done = false; !done; accesses++) {
        r->dead = false;
        r->left = accesses;
        sac_status status = sac_open(&dev, &r->hal);
        status = status == SAC_OK ? sac_start(&dev, &t, true) : status;
        status = status == SAC_OK ? sac_wait(&dev, true) : status;
        status = status == SAC_OK ? sac_read_cycles(&dev, &cycles) : status;
        status = status == SAC_OK ? sac_abort(&dev) : status;
        done = !r->dead;
        assert_int_equal(status, done ? SAC_OK : SAC_FAIL_DEVICE);
        assert_true(done || dev.cached[0].c == 0 || accesses > 20);
    }
    assert_true(accesses > 25); /* registers of the task, status, six counters */
    r->left = -1;
}

/* What a device may hold that is none of these, and codes that none has. */
static uint32_t fake_id, fake_sizes, fake_status;
static bool fake_read(void *ctx, uint32_t reg, uint32_t *value) {
    (void)ctx;
    *value = reg == SAC_REG_ID ? fake_id : reg == SAC_REG_SIZES ? fake_sizes : reg == SAC_REG_STATUS ? fake_status : 64;
    return true;
}

static void test_strange_device(void **state) {
    rig *r = (rig *)*state;
    const sac_hal hal = {r, fake_read, hal_write, hal_wait};
    sac_dev dev;
    assert_int_equal(sac_open(NULL, &hal), SAC_FAIL_ARG);
    fake_id = SAC_REG_ID_RESET ^ 1u;
    fake_sizes = 0x03020203;
    assert_int_equal(sac_open(&dev, &hal), SAC_FAIL_DEVICE);
    fake_id = SAC_REG_ID_RESET;
    assert_int_equal(sac_open(&dev, &hal), SAC_OK);
    static const uint32_t sizes[] = {0x03020202, 0x03020003, 0x03000203}; /* W_VECTOR 2, C_VECTOR 0, N_VECTOR 0 */
    for (size_t i = 0; i < 3; i++) {
        fake_sizes = sizes[i];
        assert_int_equal(sac_open(&dev, &hal), SAC_FAIL_DEVICE);
    }
    fake_status = SAC_STATUS_DONE_MASK | 7u << SAC_STATUS_CODE_LSB;
    assert_int_equal(sac_wait(&dev, false), SAC_FAIL_DEVICE);
    fake_status = SAC_STATUS_DONE_MASK | (uint32_t)SAC_STATUS_CODE_ABORTED << SAC_STATUS_CODE_LSB;
    assert_int_equal(sac_wait(&dev, true), SAC_FAIL_ABORTED);
}

/* Operands that are nowhere, one after the other, and a register that is none. */
static void test_model_errors(void **state) {
    rig *r = (rig *)*state;
    for (int i = 0; i < 5; i++) {
        sac_task t = small();
        uint32_t *const operands[] = {&t.filters, &t.params, &t.dtab, &t.in, &t.res};
        t.add = true;
        *operands[i] = 0x80000;
        assert_int_equal(sac_start(&r->dev, &t, false), SAC_OK);
        assert_int_equal(sac_wait(&r->dev, false), i < 3 ? SAC_FAIL_READ_W : SAC_FAIL_READ_F);
    }
    /* a part that can be read or written behind one that cannot */
    sac_task t = small();
    t.params = BASE - 16;
    assert_int_equal(sac_start(&r->dev, &t, false), SAC_OK);
    assert_int_equal(sac_wait(&r->dev, false), SAC_FAIL_READ_W);
    t = small();
    t.n = 4;
    t.filters = BASE - 16;
    assert_int_equal(sac_start(&r->dev, &t, false), SAC_OK);
    assert_int_equal(sac_wait(&r->dev, false), SAC_FAIL_READ_W);
    t = small();
    t.out = 0x80000;
    t.to_cache = true;
    assert_int_equal(sac_start(&r->dev, &t, false), SAC_OK);
    assert_int_equal(sac_wait(&r->dev, false), SAC_FAIL_WRITE);
    assert_int_equal(sac_model_read(&r->model, 4 * SAC_MODEL_REGS), 0);
    sac_model_write(&r->model, SAC_REG_MODE + 4, 0xFFFFFFFFu);
    assert_int_equal(sac_model_read(&r->model, SAC_REG_MODE + 4), sac_model_read(&r->model, SAC_REG_CYC_INPUT));
}

/* ---- plans ---- */

static uint32_t seed;
static uint32_t draw(uint32_t lo, uint32_t hi) {
    seed = seed * 1664525u + 1013904223u;
    return lo + (seed >> 8) % (hi - lo + 1);
}

/* A result is the exact sum in real numbers, rounded once; so is a residual sum of what went before. */
static void test_scales(void **state) {
    (void)state;
    seed = 1;
    for (int run = 0; run < 3000; run++) {
        int8_t q_in[4], q_conv = (int8_t)draw(0, 6), q_res = (int8_t)draw(0, 7), q_sum = (int8_t)draw(0, 6), x[4];
        uint8_t codes[4], d[4];
        const float bias = ((float)draw(0, 2000) - 1000.0F) / 512.0F;
        double exact = 0;
        int32_t acc;
        sac_filter f;
        const int32_t nmin = -(int32_t)draw(2, 9);
        for (int i = 0; i < 4; i++) {
            q_in[i] = (int8_t)draw(2, 9);
            codes[i] = (uint8_t)draw(0, 14);
            x[i] = (int8_t)draw(0, 255);
        }
        const sac_layer l = {.task = {.c = 4, .n = 1, .kh = 1, .kw = 1, .add = true},
                             .groups = 1,
                             .dilation = 1,
                             .nmin = nmin,
                             .q_in = q_in,
                             .q_conv = &q_conv,
                             .q_res = &q_res,
                             .q_sum = &q_sum,
                             .codes = codes,
                             .bias = &bias};
        const sac_status status = sac_layer_scales(&l, 0, d, &f);
        if (status != SAC_OK) { /* a shift that the engine does not have */
            assert_int_equal(status, SAC_FAIL_SHIFT);
            continue;
        }
        acc = f.bias;
        for (int i = 0; i < 4; i++) {
            acc += sac_term(x[i], codes[i], d[i]);
            exact += (codes[i] & 7) == 7
                         ? 0
                         : ldexp(x[i], -q_in[i]) * ldexp((codes[i] & 8) != 0 ? 1 : -1, nmin + (codes[i] & 7));
        }
        const int32_t e = f.sh + q_conv; /* of the sum */
        assert_int_equal(f.bias, (int32_t)round(ldexp((double)bias, e)));
        const double a = round(ldexp(exact + ldexp(f.bias, -e), q_conv)), a8 = a < -128 ? -128 : a > 127 ? 127 : a;
        assert_int_equal(sac_shr(acc, f.sh), (int)a8);
        const double sum = round(ldexp(ldexp(a8, -q_conv) + ldexp(x[0], -q_res), q_sum));
        assert_int_equal(sac_residual((int8_t)a8, x[0], (unsigned)f.la, (unsigned)f.lb, f.r), (int)(sum < -128  ? -128
                                                                                                    : sum > 127 ? 127
                                                                                                                : sum));
    }
    int32_t b;
    assert_int_equal(sac_scale_bias(1.5F, 30, &b), SAC_OK);
    assert_int_equal(b, 3 << 29);
    assert_int_equal(sac_scale_bias(2.0F, 30, &b), SAC_FAIL_OVERFLOW);
    assert_int_equal(sac_scale_bias(NAN, 0, &b), SAC_FAIL_OVERFLOW);
    assert_int_equal(sac_scale_bias(-0.5F, 0, &b), SAC_OK);
    assert_int_equal(b, -1);
    assert_int_equal(sac_scale_bias(1e-40F, 100, &b), SAC_OK);
    assert_int_equal(b, 0);
}

/* The same tensor by tiles of rows and at once. */
static void test_tiles(void **state) {
    rig *r = (rig *)*state;
    int tiles = 0;
    seed = 7;
    for (int run = 0; run < 300; run++) {
        sac_task t = {.in = BASE,
                      .out = BASE + 0x8000,
                      .res = BASE + 0x10000,
                      .filters = BASE + 0x18000,
                      .params = BASE + 0x1C000,
                      .dtab = BASE + 0x1E000,
                      .c = draw(1, 5),
                      .n = draw(1, 5),
                      .h = draw(1, 12),
                      .w = draw(1, 9),
                      .kh = draw(1, 4),
                      .kw = draw(1, 4),
                      .stride = draw(1, 3),
                      .pt = draw(0, 2),
                      .pl = draw(0, 2),
                      .pool = draw(0, 1) != 0,
                      .add = draw(0, 1) != 0,
                      .to_memory = true};
        if (t.h + t.pt < t.kh || t.w + t.pl < t.kw) {
            continue;
        }
        t.oh = (t.h + t.pt + draw(0, 2) - t.kh) / t.stride + 1;
        t.ow = (t.w + t.pl - t.kw) / t.stride + 1;
        if (t.pool) {
            t.win = draw(2, 3);
            t.pool_stride = draw(1, 3);
            t.pool_pt = draw(0, 1);
            t.pw = (t.ow - 1) / t.pool_stride + 1;
            t.ph = (t.oh + t.pool_pt - 1) / t.pool_stride + 1;
        }
        for (uint32_t i = 0; i < 0x1F000; i++) {
            r->mem[i] = (uint8_t)draw(0, 255);
        }
        for (uint32_t i = 0; i < 16 * 6; i++) { /* moderate shifts, and void taps */
            r->mem[0x1C000 + i] = i % 16 == 4 ? 6 : i % 16 < 3 ? r->mem[0x1C000 + i] : 0;
        }
        memset(r->mem + 0x1E000, 0, 8);
        assert_int_equal(sac_start(&r->dev, &t, false), SAC_OK);
        assert_int_equal(sac_wait(&r->dev, false), SAC_OK);
        const uint32_t bytes = sac_tensor_bytes(&r->dev, t.n, t.pool ? t.ph : t.oh, t.pool ? t.pw : t.ow);
        uint8_t *whole = malloc(bytes);
        assert_non_null(whole);
        memcpy(whole, r->mem + 0x8000, bytes);
        memset(r->mem + 0x8000, 0x55, bytes);
        const uint32_t rows = draw(1, 4);
        sac_task part;
        uint32_t tile = 0;
        sac_status status;
        while ((status = sac_layer_tile(&r->dev, &t, rows, tile, &part)) == SAC_OK) {
            assert_int_equal(sac_start(&r->dev, &part, false), SAC_OK);
            assert_int_equal(sac_wait(&r->dev, false), SAC_OK);
            tile++;
            tiles++;
        }
        /* ended behind the last row, or in a tile that lies in the padding below the map */
        assert_true(status == SAC_FAIL_ARG || status == SAC_FAIL_KERNEL);
        if (status == SAC_FAIL_ARG) {
            assert_memory_equal(r->mem + 0x8000, whole, bytes);
        }
        free(whole);
    }
    assert_true(tiles > 500);
    sac_task t = small();
    sac_task part;
    uint32_t rows = 0;
    t.full = SAC_FULL_MAX;
    assert_int_equal(sac_layer_tile(&r->dev, &t, 1, 0, &part), SAC_FAIL_FULL);
    t = small();
    t.h = t.oh = 1000;
    t.w = t.ow = 300; /* 100 pages a row, 40 rows in the cache, two of them above and below */
    assert_int_equal(sac_layer_rows(&r->dev, &t, &rows), SAC_OK);
    assert_int_equal(rows, 38);
    t.c = 4096;
    assert_int_equal(sac_layer_rows(&r->dev, &t, &rows), SAC_FAIL_CACHE_SIZE);
}

static void test_layer_refusals(void **state) {
    rig *r = (rig *)*state;
    static const int8_t q[8] = {0};
    static const uint8_t codes[64] = {7};
    const sac_layer good = {.task = small(), .groups = 1, .dilation = 1, .q_in = q, .q_conv = q, .codes = codes};
    assert_int_equal(sac_layer_check(&r->dev, &good), SAC_OK);
#define LAYER_REFUSED(expected, ...)                                                                                   \
    do {                                                                                                               \
        sac_layer l = good;                                                                                            \
        __VA_ARGS__;                                                                                                   \
        assert_int_equal(sac_layer_check(&r->dev, &l), expected);                                                      \
    } while (0)
    assert_int_equal(sac_layer_check(NULL, &good), SAC_FAIL_ARG);
    assert_int_equal(sac_layer_check(&r->dev, NULL), SAC_FAIL_ARG);
    LAYER_REFUSED(SAC_FAIL_ARG, l.codes = NULL);
    LAYER_REFUSED(SAC_FAIL_ARG, l.q_in = NULL);
    LAYER_REFUSED(SAC_FAIL_ARG, l.q_conv = NULL);
    LAYER_REFUSED(SAC_FAIL_ARG, l.task.add = true);
    LAYER_REFUSED(SAC_FAIL_ARG, l.task.add = true, l.q_res = q);
    LAYER_REFUSED(SAC_OK, l.task.add = true, l.q_res = l.q_sum = q);
    LAYER_REFUSED(SAC_OK, l.task.full = SAC_FULL_AVG, l.q_full = q);
    LAYER_REFUSED(SAC_FAIL_ARG, l.nmin = -129);
    LAYER_REFUSED(SAC_FAIL_ARG, l.nmin = 128);
    LAYER_REFUSED(SAC_FAIL_ARG, l.post_act = SAC_ACT_RELU);
    LAYER_REFUSED(SAC_OK, l.act = SAC_ACT_RELU, l.task.relu = true);
    LAYER_REFUSED(SAC_FAIL_ARG, l.act = SAC_ACT_RELU);
    LAYER_REFUSED(SAC_FAIL_ARG, l.task.full = SAC_FULL_AVG);
    LAYER_REFUSED(SAC_FAIL_RECORD, l.float_weights = true);
    LAYER_REFUSED(SAC_FAIL_DILATION, l.dilation = 2);
    LAYER_REFUSED(SAC_FAIL_AVERAGE, l.pooling = SAC_POOL_AVERAGE);
    LAYER_REFUSED(SAC_FAIL_ACTIVATION, l.act = SAC_ACT_OTHER);
    LAYER_REFUSED(SAC_FAIL_ACTIVATION, l.post_act = SAC_ACT_OTHER);
    LAYER_REFUSED(SAC_FAIL_DEPTHWISE, l.groups = 2);
    LAYER_REFUSED(SAC_FAIL_DEPTHWISE, l.groups = 3);
    LAYER_REFUSED(SAC_FAIL_DEPTHWISE, l.groups = 2, l.task.c = 4, l.task.n = 3);
    LAYER_REFUSED(SAC_FAIL_DEPTHWISE, l.groups = 2, l.task.c = 4, l.task.n = 2);
    LAYER_REFUSED(SAC_OK, l.groups = 2, l.task.c = l.task.n = 4);
    LAYER_REFUSED(SAC_FAIL_DEPTHWISE, l.groups = 0);
    uint8_t d[2];
    sac_filter f[2];
    sac_layer l = good;
    static const int8_t far[2] = {0, 8};
    l.q_in = far;
    assert_int_equal(sac_layer_scales(&l, 0, d, f), SAC_FAIL_SHIFT);
    l = good;
    l.nmin = -100;
    assert_int_equal(sac_layer_scales(&l, 0, d, f), SAC_FAIL_SHIFT);
    /* each shift of PARAM out of its range: la, lb, r below and above, g; a bias that is no number */
    static const int8_t low[2] = {-9, -9}, high[2] = {9, 9}, top[2] = {20, 20};
    const float bias[2] = {NAN, 0};
    const struct {
        const int8_t *q_res, *q_sum, *q_full;
        const float *bias;
        sac_status status;
    } rows[] = {{high, q, q, NULL, SAC_FAIL_SHIFT}, {low, q, q, NULL, SAC_FAIL_SHIFT},
                {q, low, q, NULL, SAC_OK},          {q, top, q, NULL, SAC_FAIL_SHIFT},
                {q, q, high, NULL, SAC_FAIL_SHIFT}, {q, q, low, NULL, SAC_FAIL_SHIFT},
                {q, q, q, bias, SAC_FAIL_OVERFLOW}, {q, q, q, NULL, SAC_OK}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        l = good;
        l.task.add = true;
        l.task.full = SAC_FULL_AVG;
        l.q_res = rows[i].q_res;
        l.q_sum = rows[i].q_sum;
        l.q_full = rows[i].q_sum == low ? low : rows[i].q_full;
        l.bias = rows[i].bias;
        assert_int_equal(sac_layer_scales(&l, 0, d, f), rows[i].status);
    }
    /* 2^31 is reached by a bias beside a sum */
    const float large[2] = {2147483000.0F, 0};
    static const uint8_t heavy[64] = {14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14};
    l = good;
    l.bias = large;
    l.codes = heavy;
    assert_int_equal(sac_layer_scales(&l, 0, d, f), SAC_FAIL_OVERFLOW);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_contract),
        cmocka_unit_test(test_cycles),
        cmocka_unit_test(test_example_of_equation_30),
        cmocka_unit_test_setup_teardown(test_run, setup, teardown),
        cmocka_unit_test_setup_teardown(test_refusals, setup, teardown),
        cmocka_unit_test_setup_teardown(test_missing_arguments, setup, teardown),
        cmocka_unit_test_setup_teardown(test_device, setup, teardown),
        cmocka_unit_test_setup_teardown(test_no_answer, setup, teardown),
        cmocka_unit_test_setup_teardown(test_strange_device, setup, teardown),
        cmocka_unit_test_setup_teardown(test_model_errors, setup, teardown),
        cmocka_unit_test(test_scales),
        cmocka_unit_test_setup_teardown(test_tiles, setup, teardown),
        cmocka_unit_test_setup_teardown(test_layer_refusals, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
