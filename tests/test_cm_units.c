/*
 * test_cm_units.c - dma, layout, im2col, mesh, acc, post, requant and transpose of the golden model, each against the
 * specification in other words.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cmodel.h"
#include "exec.h"

static const uint32_t sizes[] = {4, 8, 16, 32};

static uint32_t next(uint64_t *state) {
    *state = *state * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)(*state >> 32);
}

static uint32_t float_bits(float f) {
    uint32_t v;
    memcpy(&v, &f, sizeof v);
    return v;
}

/* ---- dma ---- */

static void check_split(uint32_t addr, uint32_t bytes) {
    cm_dma_burst b[64];
    size_t count = cm_dma_split(addr, bytes, b, 64);
    uint64_t at = addr;
    assert_in_range(count, 1, 64);
    for (size_t i = 0; i < count; i++) {
        uint64_t last = at + b[i].bytes - 1;
        assert_int_equal(b[i].addr, (uint32_t)at);
        assert_true(b[i].bytes > 0);
        assert_int_equal(at / 4096, last / 4096);
        assert_int_equal(b[i].beats, last / 16 - at / 16 + 1);
        assert_in_range(b[i].beats, 1, 256);
        if (i > 0) {
            assert_int_equal(b[i].addr % 4096, 0);
        }
        at = last + 1;
    }
    assert_int_equal(at, (uint64_t)addr + bytes);
}

static void test_dma_split(void **state) {
    (void)state;
    static const uint32_t addrs[] = {0, 1, 4, 15, 16, 4080, 4092, 4095, 4096, 0x10000FFCu, 0xFFFE0004u};
    static const uint32_t lengths[] = {1, 4, 15, 16, 17, 4080, 4092, 4095, 4096, 4097, 8192, 16384, 65540};
    for (size_t a = 0; a < sizeof addrs / sizeof addrs[0]; a++) {
        for (size_t l = 0; l < sizeof lengths / sizeof lengths[0]; l++) {
            check_split(addrs[a], lengths[l]);
        }
    }
    uint64_t seed = 5;
    for (int i = 0; i < 20000; i++) {
        check_split(next(&seed) % 0xF0000000u, 1 + next(&seed) % 100000);
    }
}

static void test_dma_split_counts_past_max(void **state) {
    (void)state;
    cm_dma_burst b[3];
    memset(b, 0x55, sizeof b);
    assert_int_equal(cm_dma_split(4092, 8200, b, 2), 4); /* 4 + 4096 + 4096 + 4 */
    assert_int_equal(b[0].beats, 1);
    assert_int_equal(b[1].beats, 256);
    assert_int_equal(b[2].addr, 0x55555555u); /* not touched */
    assert_int_equal(cm_dma_split(4092, 8200, NULL, 0), 4);
}

/* ---- layout ---- */

static void test_layout(void **state) {
    (void)state;
    enum { COUNT = 5 };
    for (size_t s = 0; s < 4; s++) {
        uint32_t n = sizes[s];
        uint32_t channels = n - 1;
        uint32_t in[32 * COUNT];
        int8_t out[32 * COUNT];
        for (uint32_t c = 0; c < channels; c++) {
            for (uint32_t i = 0; i < COUNT; i++) {
                in[c * COUNT + i] = float_bits((float)((int)(c * COUNT + i) - 60));
            }
        }
        in[1] = 0x7FC00000u;
        in[2] = 0xFF800000u;
        memset(out, 99, sizeof out);
        cm_layout(n, channels, COUNT, float_bits(0.5f), 0, in, out);
        for (uint32_t i = 0; i < COUNT; i++) {
            for (uint32_t c = 0; c < n; c++) {
                int v = (int)(c * COUNT + i) - 60;
                int want = v < 0 ? -((-v + 1) / 2) : (v + 1) / 2; /* v / 2, half away from zero */
                if (c == 0 && i == 1) {
                    want = 0;
                } else if (c == 0 && i == 2) {
                    want = -127;
                } else if (c == channels) {
                    want = 0;
                }
                assert_int_equal(out[i * n + c], want);
            }
        }
    }
}

static void test_layout_nan_from_scale(void **state) {
    (void)state;
    uint32_t in[4] = {0, 0x80000000u, 0x3F800000u, 0xBF800000u};
    int8_t out[16];
    cm_layout(4, 1, 4, 0x7F800000u, 0, in, out); /* scale is infinite: 0 * inf is a NaN, 1 * inf saturates */
    assert_int_equal(out[0], 0);
    assert_int_equal(out[4], 0);
    assert_int_equal(out[8], 127);
    assert_int_equal(out[12], -127);
}

/* ---- im2col: a map whose words tell where they come from ---- */

static int8_t mark(uint32_t y, uint32_t x, uint32_t ch) {
    return (int8_t)((int)((y * 37 + x * 11 + ch * 5) % 120) + 1); /* never 0, which means outside */
}

static void check_im2col(const cm_gemm_task *t, uint32_t n) {
    uint32_t icbs = (t->ic + n - 1) / n;
    int8_t *ifm = malloc((size_t)t->ih * t->iw * icbs * n);
    int8_t out[2 * 32 * 32];
    assert_non_null(ifm);
    for (uint32_t y = 0; y < t->ih; y++) {
        for (uint32_t x = 0; x < t->iw; x++) {
            for (uint32_t ch = 0; ch < icbs * n; ch++) {
                ifm[(y * t->iw + x) * icbs * n + ch] = mark(y, x, ch);
            }
        }
    }
    uint32_t tiles = (t->ow * t->oh + 2 * n - 1) / (2 * n);
    for (uint32_t at = 0; at < tiles * t->kh * t->kw * icbs; at++) {
        uint32_t icb = at % icbs, kx = at / icbs % t->kw, ky = at / icbs / t->kw % t->kh,
                 tile = at / icbs / t->kw / t->kh;
        memset(out, 0x7F, sizeof out);
        cm_im2col_block(t, n, ifm, tile, ky, kx, icb, out);
        for (uint32_t i = 0; i < 2 * n * n; i++) {
            uint32_t p = tile * 2 * n + i / n;
            int y = (int)(p / t->ow * t->sh + ky * t->dh) - (int)t->pad_t;
            int x = (int)(p % t->ow * t->sw + kx * t->dw) - (int)t->pad_l;
            bool inside = p < t->ow * t->oh && y >= 0 && x >= 0 && y < (int)t->ih && x < (int)t->iw;
            assert_int_equal(out[i], inside ? mark((uint32_t)y, (uint32_t)x, icb * n + i % n) : 0);
        }
    }
    free(ifm);
}

static void test_im2col(void **state) {
    (void)state;
    uint64_t seed = 6;
    for (int i = 0; i < 60; i++) {
        cm_gemm_task t = {0};
        uint32_t n = sizes[i % 4];
        t.kw = 1 + next(&seed) % 4, t.kh = 1 + next(&seed) % 4;
        t.sw = 1 + next(&seed) % 3, t.sh = 1 + next(&seed) % 3;
        t.dw = 1 + next(&seed) % 2, t.dh = 1 + next(&seed) % 2;
        t.pad_l = next(&seed) % 4, t.pad_t = next(&seed) % 4;
        t.iw = 1 + next(&seed) % 9, t.ih = 1 + next(&seed) % 9;
        t.ow = 1 + next(&seed) % 9, t.oh = 1 + next(&seed) % 9;
        t.ic = 1 + next(&seed) % (2 * n);
        check_im2col(&t, n);
    }
}

/* ---- mesh, acc ---- */

static void test_mesh(void **state) {
    (void)state;
    uint64_t seed = 7;
    for (int round = 0; round < 40; round++) {
        uint32_t n = sizes[round % 4];
        int8_t act[2 * 32 * 32], wgt[32 * 32];
        int32_t out[2 * 32 * 32];
        for (size_t i = 0; i < sizeof act; i++) {
            act[i] = round < 4 ? (int8_t)-128 : (int8_t)(next(&seed) & 0xFF); /* the largest products first */
        }
        for (size_t i = 0; i < sizeof wgt; i++) {
            wgt[i] = round < 4 ? (int8_t)-128 : (int8_t)(next(&seed) & 0xFF);
        }
        cm_mesh_block(n, act, wgt, out);
        for (uint32_t p = 0; p < 2 * n; p++) {
            for (uint32_t c = 0; c < n; c++) {
                int64_t want = 0;
                for (uint32_t r = n; r-- > 0;) {
                    want += (int64_t)act[p * n + r] * wgt[r * n + c];
                }
                assert_int_equal(out[p * n + c], want);
            }
        }
        if (round < 4) {
            assert_int_equal(out[0], 16384 * n);
        }
    }
}

/* There is no mesh of 5: nothing is written. */
static void test_no_such_mesh(void **state) {
    (void)state;
    const int8_t act[2 * 5 * 5] = {1}, wgt[5 * 5] = {1};
    int32_t out[2 * 5 * 5] = {0x1234};
    cm_mesh_block(5, act, wgt, out);
    assert_int_equal(out[0], 0x1234);
}

/* A failure on either channel is one. */
static void test_clean(void **state) {
    (void)state;
    const cm_faults faults[] = {{0, {0, 0}}, {1, {0, 0}}, {0, {1, 0}}, {0, {0, 1}}};
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(cm_exec_clean(&faults[i]), i == 0);
    }
}

static void test_mesh_diagonal(void **state) {
    (void)state;
    uint64_t seed = 8;
    for (int round = 0; round < 8; round++) {
        uint32_t n = sizes[round % 4];
        int8_t act[2 * 32 * 32], wgt[32 * 32] = {0}, row[32];
        int32_t out[2 * 32 * 32], full[2 * 32 * 32];
        for (size_t i = 0; i < sizeof act; i++) {
            act[i] = (int8_t)(next(&seed) & 0xFF);
        }
        for (uint32_t c = 0; c < n; c++) {
            row[c] = round < 4 ? 1 : (int8_t)(next(&seed) & 0xFF);
            wgt[c * n + c] = row[c];
        }
        cm_mesh_block(n, act, wgt, full); /* the same weights as a whole block */
        cm_mesh_diagonal(n, act, round < 4 ? NULL : row, out);
        assert_memory_equal(out, full, 2 * n * n * sizeof *out);
    }
}

static void test_acc(void **state) {
    (void)state;
    int32_t acc[4] = {1, 2, 3, 4};
    const int32_t a[4] = {INT32_MAX, INT32_MIN, 0, -5};
    const int32_t b[4] = {1, -1, 0, 3};
    cm_acc(true, 4, a, acc);
    assert_memory_equal(acc, a, sizeof a);
    cm_acc(false, 4, b, acc);
    assert_int_equal(acc[0], INT32_MIN); /* wraps both ways */
    assert_int_equal(acc[1], INT32_MAX);
    assert_int_equal(acc[2], 0);
    assert_int_equal(acc[3], -2);
    cm_acc(false, 0, b, acc);
    assert_int_equal(acc[3], -2);
}

/* ---- post ---- */

static uint32_t post(const cm_gemm_task *t, int32_t sum, int32_t psum, float oscale, float bias) {
    return cm_post(t, sum, psum, float_bits(oscale), float_bits(bias));
}

static void test_post_steps(void **state) {
    (void)state;
    cm_gemm_task t = {0};
    assert_int_equal(post(&t, 16777217, 9, 3.0f, 4.0f), float_bits(16777216.0f)); /* conversion only, to even */
    t.oscale_en = true;
    assert_int_equal(post(&t, 10, 9, 0.5f, 4.0f), float_bits(5.0f));
    t.bias_en = true;
    assert_int_equal(post(&t, 10, 9, 0.5f, -7.0f), float_bits(-2.0f));
    t.act = CM_ACT_RELU;
    assert_int_equal(post(&t, 10, 9, 0.5f, -7.0f), 0u);
    t.psum_add = true;
    assert_int_equal(post(&t, 10, 9, 0.5f, -7.0f), float_bits(2.5f));
    t.oscale_en = false;
    assert_int_equal(post(&t, 10, 9, 0.5f, -7.0f), float_bits(12.0f));
}

static void test_post_psum_wraps_before_conversion(void **state) {
    (void)state;
    cm_gemm_task t = {.psum_add = true};
    assert_int_equal(post(&t, INT32_MAX, 1, 0, 0), float_bits(-2147483648.0f));
    t.raw_out = true;
    assert_int_equal(post(&t, INT32_MAX, 1, 0, 0), 0x80000000u);
    assert_int_equal(post(&t, -3, 1, 0, 0), 0xFFFFFFFEu);
    t.psum_add = false;
    assert_int_equal(post(&t, -3, 1, 0, 0), 0xFFFFFFFDu);
}

static void test_post_special_factors(void **state) {
    (void)state;
    cm_gemm_task t = {.oscale_en = true, .bias_en = true};
    assert_int_equal(cm_post(&t, 0, 0, 0x7F800000u, 0), 0x7FC00000u);           /* 0 * inf */
    assert_int_equal(cm_post(&t, 5, 0, 0x7F800000u, 0xFF800000u), 0x7FC00000u); /* inf - inf */
    assert_int_equal(cm_post(&t, -5, 0, 0, 0x80000000u), 0x80000000u);          /* -0 + -0 */
    assert_int_equal(cm_post(&t, 3, 0, 0x00000001u, 0), 0x00000003u);           /* subnormal */
    t.act = CM_ACT_RELU;
    assert_int_equal(cm_post(&t, 0, 0, 0x7F800000u, 0), 0u);  /* a NaN is not above 0 */
    assert_int_equal(cm_post(&t, -5, 0, 0, 0x80000000u), 0u); /* -0 becomes +0 */
    assert_int_equal(cm_post(&t, 5, 0, 0x7F800000u, 0), 0x7F800000u);
}

static void test_post_no_fused_step(void **state) {
    (void)state;
    cm_gemm_task t = {.oscale_en = true, .bias_en = true};
    /* 4097 * f32(1 + 2^-12) = 4098 + 2^-12 rounds to 4098: the rest would survive a fused multiply-add */
    assert_int_equal(cm_post(&t, 4097, 0, 0x3F800800u, float_bits(-4098.0f)), 0u);
}

static void test_post_activations(void **state) {
    (void)state;
    cm_gemm_task t = {.bias_en = true, .act_p = {0x40000000, 0x40800000, 0xC0000000, 0x40E00000}}; /* 2, 4, -2, 7 */
    for (t.act = 0; t.act < CM_ACT_COUNT; t.act++) {
        for (int v = -12; v <= 12; v++) {
            uint32_t y = cm_post(&t, v, 0, 0, float_bits(0.25f));
            assert_int_equal(y, cm_activate(t.act, t.act_p, float_bits((float)v + 0.25f)));
        }
    }
    t.act = CM_ACT_LEAKY;
    assert_int_equal(post(&t, -3, 0, 0, 1.0f), float_bits(-4.0f));
    t.act = CM_ACT_CLIP;
    assert_int_equal(post(&t, 9, 0, 0, 0.0f), float_bits(4.0f));
    t.raw_out = true;
    assert_int_equal(post(&t, 9, 0, 0, 0.0f), 9);
}

static void test_post_integer_bias(void **state) {
    (void)state;
    cm_gemm_task t = {.oscale_en = true, .bias_en = true, .ibias = true, .psum_add = true};
    assert_int_equal(cm_post(&t, 10, 4, float_bits(0.5f), (uint32_t)-20), float_bits(-3.0f));
    assert_int_equal(cm_post(&t, INT32_MAX, 0, float_bits(1.0f), 1), float_bits(-2147483648.0f)); /* wraps */
    t.oscale_en = false; /* a pattern that is a NaN as a float is a number */
    assert_int_equal(cm_post(&t, 0, 0, 0, 0x7FC00000u), float_bits(2143289344.0f));
}

static uint32_t draw(uint64_t *seed) {
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*seed >> 32);
}

/* Four at once are four times one: all combinations of flags, activations and quantisers. */
static void test_post_lanes(void **state) {
    (void)state;
    uint64_t seed = 1;
    for (uint32_t k = 0; k < 20000; k++) {
        const uint32_t flags = draw(&seed);
        const cm_gemm_task t = {.oscale_en = flags & 1u,
                                .bias_en = flags >> 1 & 1u,
                                .ibias = flags >> 2 & 1u,
                                .psum_add = flags >> 3 & 1u,
                                .raw_out = (flags >> 4 & 7u) == 0,
                                .act = (flags >> 7 & 1u) * (flags >> 8) % CM_ACT_COUNT,
                                .act_p = {0x40000000, 0x40800000, 0xC0000000, 0x40E00000},
                                .out_scale = draw(&seed),
                                .zout = (flags >> 16 & 3u) == 0 ? draw(&seed) & 0xffu : 0,
                                .rne = (flags >> 18 & 3u) == 0,
                                .full = (flags >> 20 & 3u) == 0};
        int32_t sum[4], psum[4];
        uint32_t y[4];
        const uint32_t oscale = draw(&seed), bias = draw(&seed), shift = draw(&seed) % 32;
        for (uint32_t i = 0; i < 4; i++) {
            sum[i] = (int32_t)draw(&seed) >> shift;
            psum[i] = (int32_t)draw(&seed);
        }
        cm_post_lanes(&t, sum, psum, oscale, bias, y);
        const uint32_t oscales[3] = {oscale, oscale, oscale}, biases[3] = {bias, bias, bias};
        const int32_t more[12] = {sum[0], sum[1], sum[2], sum[3], sum[3], sum[2],
                                  sum[1], sum[0], sum[0], sum[1], sum[2], sum[3]};
        int8_t columns[4][2], odd[4][3];
        cm_post_columns(&t, 2, 2, more, t.psum_add ? (const int32_t[4]){5, 5, 5, 5} : psum, oscales, biases,
                        columns[0]);
        cm_post_columns(&t, 3, 3, more, t.psum_add ? (const int32_t[4]){5, 5, 5, 5} : psum, oscales, biases, odd[0]);
        for (uint32_t i = 0; i < 4; i++) {
            const int32_t part = t.psum_add ? 5 : 0;
            assert_int_equal(columns[i][0], cm_requant(&t, cm_post(&t, sum[i], part, oscale, bias)));
            assert_int_equal(columns[i][1], columns[3 - i][0]);
            assert_int_equal(odd[i][0], columns[i][0]);
            assert_int_equal(odd[i][1], columns[i][1]);
            assert_int_equal(odd[i][2], columns[i][0]);
            assert_int_equal(y[i], cm_post(&t, sum[i], psum[i], oscale, bias));
        }
    }
}

static void test_requant_zero_point(void **state) {
    (void)state;
    cm_gemm_task t = {.out_scale = 0x3F000000, .zout = 0xF6}; /* 0.5, -10 */
    assert_int_equal(cm_requant(&t, float_bits(5.0f)), -7);
    t.rne = true;
    assert_int_equal(cm_requant(&t, float_bits(5.0f)), -8);
    assert_int_equal(cm_requant(&t, float_bits(-999.0f)), -127);
    t.full = true;
    assert_int_equal(cm_requant(&t, float_bits(-999.0f)), -128);
    assert_int_equal(cm_requant(&t, 0x7FC00000), -10);
}

static void test_requant(void **state) {
    (void)state;
    cm_gemm_task t = {.out_scale = 0x3F000000}; /* 0.5 */
    for (int v = -300; v <= 300; v++) {
        int want = v < 0 ? -((-v + 1) / 2) : (v + 1) / 2; /* half away from zero */
        want = want > 127 ? 127 : want < -127 ? -127 : want;
        assert_int_equal(cm_requant(&t, float_bits((float)v)), want);
    }
    assert_int_equal(cm_requant(&t, 0x7FC00000), 0);
    assert_int_equal(cm_requant(&t, 0xFF800000), -127);
    t.out_scale = 0x7F800000;
    assert_int_equal(cm_requant(&t, 0), 0); /* 0 * inf */
    /* just below 2: 0.5 ulp of the product matters before the rounding to INT8 */
    t.out_scale = 0x3FFFFFFF;
    assert_int_equal(cm_requant(&t, 0x3E800001), 1);
    assert_int_equal(cm_requant(&t, 0x3E800000), 0);
}

static void test_transpose(void **state) {
    (void)state;
    for (size_t s = 0; s < 4; s++) {
        uint32_t n = sizes[s];
        int8_t in[32 * 32], out[32 * 32], back[32 * 32];
        for (uint32_t i = 0; i < n * n; i++) {
            in[i] = (int8_t)(i * 7 + i / 256);
        }
        cm_transpose(n, in, out);
        for (uint32_t i = 0; i < n * n; i++) {
            assert_int_equal(out[i], in[i % n * n + i / n]);
        }
        cm_transpose(n, out, back);
        assert_memory_equal(back, in, n * n);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dma_split),
        cmocka_unit_test(test_dma_split_counts_past_max),
        cmocka_unit_test(test_layout),
        cmocka_unit_test(test_layout_nan_from_scale),
        cmocka_unit_test(test_im2col),
        cmocka_unit_test(test_mesh),
        cmocka_unit_test(test_no_such_mesh),
        cmocka_unit_test(test_clean),
        cmocka_unit_test(test_mesh_diagonal),
        cmocka_unit_test(test_acc),
        cmocka_unit_test(test_post_steps),
        cmocka_unit_test(test_post_psum_wraps_before_conversion),
        cmocka_unit_test(test_post_special_factors),
        cmocka_unit_test(test_post_no_fused_step),
        cmocka_unit_test(test_post_activations),
        cmocka_unit_test(test_requant),
        cmocka_unit_test(test_post_integer_bias),
        cmocka_unit_test(test_post_lanes),
        cmocka_unit_test(test_requant_zero_point),
        cmocka_unit_test(test_transpose),
    };
    return cmocka_run_group_tests_name("cm_units", tests, NULL, NULL);
}
