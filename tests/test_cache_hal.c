/*
 * Cache maintenance of the driver: operators on the golden model behind a CPU cache give the same results as on
 * coherent memory, and without any single flush or invalidate of the driver they do not.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "npu.h"
#include "support/cache_hal.h"

#define N 4u
#define GOOD_SEEDS 20u /* runs that must all be right */
#define BAD_SEEDS 300u /* runs of which one must be wrong when a call is left out */
#define OUT_MAX 16384u

/* One run of one operator. */
typedef struct rig {
    npu_dev *dev;
    npu_cache *cache; /* NULL: coherent memory */
    npu drv;
    tb_rng data; /* contents of buffers */
    uint8_t out[OUT_MAX];
    uint32_t out_addr, out_bytes;
} rig;

static void fill(uint8_t *p, uint32_t bytes, uint64_t seed) {
    tb_rng r = tb_rng_stream(seed, "fill");
    tb_rng_fill(&r, p, bytes);
}

/* What the CPU writes; memory below holds something older. */
static void cpu_write(rig *g, uint32_t addr, const void *src, uint32_t bytes) {
    if (g->cache == NULL) {
        assert_true(npu_dev_write(g->dev, addr, src, bytes));
        return;
    }
    uint8_t *old = malloc(bytes);
    assert_non_null(old);
    fill(old, bytes, addr);
    assert_true(npu_dev_write(g->dev, addr, old, bytes));
    free(old);
    assert_true(npu_cache_write(g->cache, addr, src, bytes));
}

/* A buffer with lines of its own. */
static uint32_t put(rig *g, const void *src, uint32_t bytes) {
    const uint32_t addr = npu_dev_alloc(g->dev, (bytes + 63u) / 64u * 64u, 64, NPU_BUF_IN);
    assert_int_not_equal(addr, 0);
    cpu_write(g, addr, src, bytes);
    return addr;
}

static uint32_t put_floats(rig *g, uint32_t count, float lo, float hi) {
    float *v = malloc((size_t)count * sizeof *v);
    assert_non_null(v);
    for (uint32_t i = 0; i < count; i++) {
        v[i] = tb_rng_f32_range(&g->data, lo, hi);
    }
    const uint32_t addr = put(g, v, count * 4);
    free(v);
    return addr;
}

static uint32_t put_bytes(rig *g, uint32_t bytes) {
    uint8_t *v = malloc(bytes);
    assert_non_null(v);
    tb_rng_fill(&g->data, v, bytes);
    const uint32_t addr = put(g, v, bytes);
    free(v);
    return addr;
}

/* A buffer that the NPU writes and that the CPU used for something else just now. */
static uint32_t used(rig *g, uint32_t bytes, npu_buf_kind kind) {
    const uint32_t addr = npu_dev_alloc(g->dev, (bytes + 63u) / 64u * 64u, 64, kind);
    uint8_t *v = malloc(bytes);
    assert_true(addr != 0 && v != NULL);
    memset(v, 0xA5, bytes);
    cpu_write(g, addr, v, bytes);
    free(v);
    return addr;
}

static uint32_t output(rig *g, uint32_t bytes) {
    assert_true(bytes <= OUT_MAX);
    g->out_bytes = bytes;
    return g->out_addr = used(g, bytes, NPU_BUF_OUT);
}

/* ---- operators ---- */

static npu_status convolve(rig *g, const npu_conv *shape, const npu_conv_split *split) {
    npu_conv c = *shape;
    npu_conv_plan plan;
    static float factors[64];
    float scale[64];
    c.dil_w = c.dil_h = c.stride_w = c.stride_h = 1;
    c.groups = c.groups != 0 ? c.groups : 1;
    c.in_scale = 0x41200000u;
    const bool nhwc_in = c.in_layout == NPU_INT8_NHWC;
    const bool nhwc_out = c.out_layout == NPU_INT8_NHWC;
    c.ifm_cstep = nhwc_in ? (c.ic + N - 1) / N * N : (c.iw * c.ih * 4 + 15) / 16 * 16;
    assert_int_equal(npu_conv_plan_make(N, &c, split, &plan), NPU_OK);
    c.ofm_cstep = nhwc_out ? (c.oc + N - 1) / N * N : (plan.ow * plan.oh * 4 + 15) / 16 * 16;
    const uint32_t weights = c.oc * (c.ic / c.groups) * c.kw * c.kh;
    int8_t *wgt = malloc(weights);
    int8_t *packed = malloc(plan.wgt_bytes);
    assert_true(wgt != NULL && packed != NULL && c.oc <= 64);
    tb_rng_fill(&g->data, wgt, weights);
    for (uint32_t i = 0; i < c.oc; i++) {
        scale[i] = 40.0f + (float)i;
    }
    assert_int_equal(npu_conv_pack_weights(&c, &plan, wgt, packed, plan.wgt_bytes), NPU_OK);
    assert_int_equal(npu_conv_make_oscale(&c, &plan, scale, factors, sizeof factors), NPU_OK);
    c.ifm_addr = nhwc_in ? put_bytes(g, c.iw * c.ih * c.ifm_cstep) : put_floats(g, c.ic * c.ifm_cstep / 4, -5, 5);
    c.wgt_addr = put(g, packed, plan.wgt_bytes);
    c.oscale_addr = put(g, factors, plan.param_bytes);
    c.has_bias = true;
    c.bias_addr = put_floats(g, plan.param_bytes / 4, -100, 100);
    c.ofm_addr = output(g, nhwc_out ? plan.ow * plan.oh * c.ofm_cstep : c.oc * c.ofm_cstep);
    c.scratch_bytes = plan.scratch_bytes;
    c.scratch_addr = plan.scratch_bytes != 0 ? used(g, plan.scratch_bytes, NPU_BUF_SCRATCH) : 0;
    free(wgt);
    free(packed);
    return npu_conv_run(&g->drv, &c, &plan);
}

static npu_status conv_3x3(rig *g) {
    const npu_conv c = {
        .iw = 6, .ih = 6, .ic = 5, .oc = 4, .kw = 3, .kh = 3, .pad_l = 1, .pad_r = 1, .pad_t = 1, .pad_b = 1};
    const npu_conv_split split = {.max_oh = 2};
    return convolve(g, &c, &split);
}

/* Partial sums in the output buffer. */
static npu_status conv_split(rig *g) {
    const npu_conv c = {.iw = 5, .ih = 4, .ic = 12, .oc = 7, .kw = 1, .kh = 1};
    const npu_conv_split split = {.max_ic = 4};
    return convolve(g, &c, &split);
}

/* Kernel rows, input channels and rows apart; INT8 out, so sums lie in a scratch buffer. */
static npu_status conv_scratch(rig *g) {
    npu_conv c = {
        .iw = 5, .ih = 4, .ic = 8, .oc = 7, .kw = 1, .kh = 1, .out_layout = NPU_INT8_NHWC, .out_scale = 0x3C23D70Au};
    const npu_conv_split split = {.max_ic = 4};
    return convolve(g, &c, &split);
}

static npu_status conv_int8(rig *g) {
    npu_conv c = {.iw = 5, .ih = 4, .ic = 8, .oc = 8, .kw = 3, .kh = 3, .pad_l = 1, .pad_r = 1, .pad_t = 1, .pad_b = 1};
    c.in_layout = c.out_layout = NPU_INT8_NHWC;
    c.out_scale = 0x3C23D70Au;
    return convolve(g, &c, NULL);
}

static npu_status depthwise(rig *g) {
    const npu_conv c = {.iw = 5, .ih = 5, .ic = 6, .oc = 6, .kw = 3, .kh = 3, .groups = 6};
    return convolve(g, &c, NULL);
}

static npu_status fully_connected(rig *g) {
    npu_conv c = {0};
    assert_int_equal(npu_linear_make(N, 37, 10, NPU_FP32_NCHW, NPU_FP32_NCHW, &c), NPU_OK);
    npu_conv_plan plan;
    static float factors[64];
    float scale[16];
    int8_t wgt[37 * 10];
    c.in_scale = 0x41200000u;
    assert_int_equal(npu_conv_plan_make(N, &c, NULL, &plan), NPU_OK);
    int8_t *packed = malloc(plan.wgt_bytes);
    assert_non_null(packed);
    tb_rng_fill(&g->data, wgt, sizeof wgt);
    for (uint32_t i = 0; i < 16; i++) {
        scale[i] = 40.0f + (float)i;
    }
    assert_int_equal(npu_linear_pack_weights(&c, &plan, 37, wgt, packed, plan.wgt_bytes), NPU_OK);
    assert_int_equal(npu_conv_make_oscale(&c, &plan, scale, factors, sizeof factors), NPU_OK);
    c.ifm_addr = put_floats(g, 40, -5, 5);
    c.wgt_addr = put(g, packed, plan.wgt_bytes);
    c.oscale_addr = put(g, factors, plan.param_bytes);
    c.ofm_addr = output(g, 40);
    free(packed);
    return npu_conv_run(&g->drv, &c, &plan);
}

static npu_tensor map(uint32_t addr, uint32_t w, uint32_t h, uint32_t c) {
    return (npu_tensor){
        .addr = addr, .step = (w * h * 4 + 15) / 16 * 16, .w = w, .h = h, .c = c, .layout = NPU_FP32_NCHW};
}

static npu_status max_pool(rig *g) {
    npu_pool p = {.kw = 2, .kh = 2, .stride_w = 2, .stride_h = 2};
    p.in = map(put_floats(g, 6 * 36, -5, 5), 6, 6, 6);
    p.out = map(output(g, 6 * 48), 3, 3, 6);
    return npu_pool_run(&g->drv, &p);
}

static npu_status average_pool(rig *g) {
    npu_pool p = {.type = NPU_POOL_CTRL_TYPE_AVG,
                  .exclude_pad = true,
                  .kw = 3,
                  .kh = 3,
                  .stride_w = 2,
                  .stride_h = 2,
                  .pad_l = 1,
                  .pad_t = 1,
                  .pad_r = 1,
                  .pad_b = 1};
    float table[9];
    p.in = map(put_floats(g, 6 * 36, -5, 5), 6, 6, 6);
    p.out = map(output(g, 6 * 48), 3, 3, 6);
    assert_int_equal(npu_pool_make_table(&p, table, sizeof table), NPU_OK);
    p.table_addr = put(g, table, sizeof table);
    p.table_bytes = sizeof table;
    return npu_pool_run(&g->drv, &p);
}

static npu_status muladd(rig *g) {
    npu_eltwise e = {.op = NPU_ALU_MULADD, .p_kind = NPU_VECTOR, .q_kind = NPU_CHANNEL};
    e.a = map(put_floats(g, 4 * 32, -5, 5), 8, 4, 4);
    e.b = map(put_floats(g, 4 * 32, -5, 5), 8, 4, 4);
    e.q_addr = put_floats(g, 4, -5, 5);
    e.out = map(output(g, 4 * 128), 8, 4, 4);
    return npu_eltwise_run(&g->drv, &e);
}

static npu_status scale_bias(rig *g) {
    npu_eltwise e = {.op = NPU_ALU_MULADD, .p_kind = NPU_CHANNEL, .q_kind = NPU_CHANNEL, .act = NPU_ACT_RELU};
    e.a = map(put_floats(g, 4 * 32, -5, 5), 8, 4, 4);
    e.p_addr = put_floats(g, 4, -5, 5);
    e.q_addr = put_floats(g, 4, -5, 5);
    e.out = map(output(g, 4 * 128), 8, 4, 4);
    return npu_eltwise_run(&g->drv, &e);
}

static npu_status dot(rig *g) {
    uint32_t result = 0;
    const uint32_t a = put_floats(g, 100, -1, 1);
    const uint32_t b = put_floats(g, 100, -1, 1);
    const uint32_t out = output(g, 4);
    return npu_dot_run(&g->drv, a, b, 100, 0x3F800000u, out, &result);
}

static npu_status global_average(rig *g) {
    const npu_tensor in = map(put_floats(g, 4 * 32, -5, 5), 8, 4, 4);
    return npu_global_average_run(&g->drv, &in, output(g, 16), 4);
}

static npu_status upsample(rig *g) {
    const npu_tensor in = map(put_floats(g, 2 * 20, -5, 5), 5, 4, 2);
    const npu_tensor out = map(output(g, 2 * 320), 10, 8, 2);
    return npu_upsample2x_run(&g->drv, &in, &out);
}

static npu_status quantise(rig *g) {
    npu_convert cv = {.scale = 0x41200000u};
    cv.in = map(put_floats(g, 6 * 20, -5, 5), 5, 4, 6);
    cv.out = (npu_tensor){.addr = output(g, 20 * 8), .step = 8, .w = 5, .h = 4, .c = 6, .layout = NPU_INT8_NHWC};
    return npu_convert_run(&g->drv, &cv);
}

static npu_status dequantise(rig *g) {
    npu_convert cv = {.scale = 0x3DCCCCCDu};
    float factors[8];
    int8_t in[20 * 8];
    tb_rng_fill(&g->data, in, sizeof in);
    cv.in = (npu_tensor){.addr = put(g, in, sizeof in), .step = 8, .w = 5, .h = 4, .c = 6, .layout = NPU_INT8_NHWC};
    cv.out = map(output(g, 6 * 80), 5, 4, 6);
    assert_int_equal(npu_convert_make_factors(&cv, factors, sizeof factors), NPU_OK);
    cv.factor_addr = put(g, factors, sizeof factors);
    return npu_convert_run(&g->drv, &cv);
}

/* Three units at the same time; the results lie side by side, lines of their own. */
static npu_status jobs(rig *g) {
    npu_job job[2];
    npu_pool p = {.kw = 2, .kh = 2, .stride_w = 2, .stride_h = 2};
    npu_eltwise e = {.op = NPU_ALU_ABS};
    const uint32_t in = put_floats(g, 6 * 36, -5, 5);
    const uint32_t out = output(g, 320 + 512);
    p.in = map(in, 6, 6, 6);
    p.out = map(out, 3, 3, 6);
    e.a = map(put_floats(g, 4 * 32, -5, 5), 8, 4, 4);
    e.out = map(out + 320, 8, 4, 4);
    assert_int_equal(npu_job_pool(&job[0], &g->drv, &p), NPU_OK);
    assert_int_equal(npu_job_eltwise(&job[1], &g->drv, &e), NPU_OK);
    return npu_jobs_run(&g->drv, job, 2);
}

typedef struct operation {
    const char *name;
    npu_status (*run)(rig *g);
} operation;

static const operation operations[] = {{"conv 3x3", conv_3x3},
                                       {"conv, input channels split", conv_split},
                                       {"conv with scratch", conv_scratch},
                                       {"conv, INT8 to INT8", conv_int8},
                                       {"depthwise", depthwise},
                                       {"fully connected", fully_connected},
                                       {"max pool", max_pool},
                                       {"average pool", average_pool},
                                       {"multiply-add", muladd},
                                       {"scale and bias", scale_bias},
                                       {"dot", dot},
                                       {"global average", global_average},
                                       {"upsample", upsample},
                                       {"quantise", quantise},
                                       {"dequantise", dequantise},
                                       {"jobs", jobs}};

/* ---- runs ---- */

typedef struct outcome {
    npu_status status;
    uint64_t calls;
    uint32_t bytes;
    npu_cache_call skipped;
    char where[32]; /* the buffer of the skipped call, as an offset from the output */
    uint8_t out[OUT_MAX];
} outcome;

/* cached: behind a cache with this seed, without call number skip (UINT64_MAX: with all of them). */
static void run(const operation *op, bool cached, uint64_t seed, uint64_t skip, outcome *o) {
    char err[256] = "";
    const npu_dev_cfg cfg = {.kind = NPU_DEV_MODEL, .n = N, .seed = 3};
    rig *g = calloc(1, sizeof *g);
    assert_non_null(g);
    memset(o, 0, sizeof *o);
    g->data = tb_rng_stream(7, op->name);
    g->dev = npu_dev_open(&cfg, err, sizeof err);
    if (g->dev == NULL) {
        fail_msg("%s", err);
    }
    if (cached) {
        g->cache = npu_cache_new(g->dev, seed);
        assert_non_null(g->cache);
        npu_cache_skip(g->cache, skip, &o->skipped);
    }
    assert_int_equal(npu_init(&g->drv, cached ? npu_cache_hal(g->cache) : npu_dev_hal(g->dev), NPU_WAIT_POLL, 1000),
                     NPU_OK);
    o->status = op->run(g);
    o->bytes = g->out_bytes;
    assert_true(cached ? npu_cache_read(g->cache, g->out_addr, o->out, g->out_bytes)
                       : npu_dev_read(g->dev, g->out_addr, o->out, g->out_bytes));
    o->calls = cached ? npu_cache_calls(g->cache) : 0;
    npu_cache_free(g->cache);
    npu_dev_close(g->dev);
    free(g);
}

static bool same(const outcome *a, const outcome *b) {
    return a->status == b->status && a->bytes == b->bytes && memcmp(a->out, b->out, a->bytes) == 0;
}

static void as_on_coherent_memory(void **state) {
    (void)state;
    static outcome want;
    static outcome got;
    for (size_t i = 0; i < sizeof operations / sizeof operations[0]; i++) {
        const operation *op = &operations[i];
        run(op, false, 0, UINT64_MAX, &want);
        if (want.status != NPU_OK) {
            fail_msg("%s: %s", op->name, npu_strerror(want.status));
        }
        for (uint64_t seed = 0; seed < GOOD_SEEDS; seed++) {
            run(op, true, seed, UINT64_MAX, &got);
            if (!same(&want, &got)) {
                fail_msg("%s, cache seed %u: another result than on coherent memory (%s)", op->name, (unsigned)seed,
                         npu_strerror(got.status));
            }
        }
    }
}

/* No call of cache maintenance is there for nothing, and none may be missing. */
static void every_call_counts(void **state) {
    (void)state;
    static outcome want;
    static outcome got;
    uint64_t calls = 0;
    for (size_t i = 0; i < sizeof operations / sizeof operations[0]; i++) {
        const operation *op = &operations[i];
        run(op, true, 0, UINT64_MAX, &want);
        assert_true(want.status == NPU_OK && want.calls > 0);
        calls += want.calls;
        for (uint64_t k = 0; k < want.calls; k++) {
            bool wrong = false;
            for (uint64_t seed = 0; seed < BAD_SEEDS && !wrong; seed++) {
                run(op, true, seed, k, &got);
                wrong = !same(&want, &got);
            }
            if (!wrong) {
                fail_msg("%s: nothing goes wrong without call %u of the driver, %s of %u bytes at 0x%08x", op->name,
                         (unsigned)k, got.skipped.invalidate ? "invalidate" : "flush", got.skipped.bytes,
                         got.skipped.addr);
            }
        }
    }
    print_message("%u calls of cache maintenance, each left out once\n", (unsigned)calls);
}

/* The cache itself. */
static void write_back_and_stale(void **state) {
    (void)state;
    char err[256] = "";
    const npu_dev_cfg cfg = {.kind = NPU_DEV_MODEL, .n = N, .seed = 3};
    npu_dev *dev = npu_dev_open(&cfg, err, sizeof err);
    assert_non_null(dev);
    npu_cache *c = npu_cache_new(dev, 1);
    const npu_hal *hal = npu_cache_hal(c);
    const uint32_t a = npu_dev_alloc(dev, 256, 64, NPU_BUF_OUT);
    uint32_t v = 1;
    uint32_t got = 0;
    assert_true(npu_dev_write(dev, a, &v, 4));
    v = 2;
    assert_true(npu_cache_write(c, a, &v, 4));
    assert_true(npu_cache_read(c, a, &got, 4) && got == 2);
    assert_true(npu_dev_read(dev, a, &got, 4) && got == 1); /* dirty */
    npu_cache_skip(c, 0, NULL);
    hal->cache_flush(hal->ctx, a, 4);
    hal->cache_flush(hal->ctx, a, 4);
    assert_true(npu_dev_read(dev, a, &got, 4) && got == 2);
    assert_true(npu_cache_read(c, a, &got, 4) && got == 2);
    v = 3;
    assert_true(npu_dev_write(dev, a, &v, 4));
    assert_true(npu_cache_read(c, a, &got, 4) && got == 2); /* stale */
    hal->cache_invalidate(hal->ctx, a, 4);
    assert_true(npu_cache_read(c, a, &got, 4) && got == 3);
    v = 4;
    assert_true(npu_cache_write(c, a + 62, &v, 4)); /* over two lines */
    assert_true(npu_cache_read(c, a + 62, &got, 4) && got == 4);
    for (unsigned i = 0; i < 100; i++) { /* dirty lines leave sooner or later */
        hal->delay_us(hal->ctx, 1);
    }
    assert_true(npu_dev_read(dev, a + 62, &got, 4) && got == 4);
    assert_false(npu_cache_write(c, 0, &v, 4));
    assert_int_equal(npu_cache_calls(c), 3);
    npu_cache_free(c);
    npu_dev_close(dev);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(write_back_and_stale), cmocka_unit_test(as_on_coherent_memory),
                                       cmocka_unit_test(every_call_counts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
