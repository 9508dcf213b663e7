/*
 * test_cm_func.c - the model's functions of the ALU: special values, exact points, and the distance from the exact
 * function in units in the last place, over every exponent and every significand.
 *
 * With arguments it is a program that measures: `test_cm_func sweep exp|recip|rsqrt|all` goes through all 2^32 inputs.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "cmodel.h"
#include "npu_regs.h"

#define NAN_OUT 0x7FC00000u
#define INF 0x7F800000u
#define SIGN 0x80000000u
#define ONE 0x3F800000u
#define BOUND 0.75 /* docs/npu/npu.md section 2 */
#define EXP NPU_ALU_ACT_FUNC_EXP
#define RECIP NPU_ALU_ACT_FUNC_RECIP
#define RSQRT NPU_ALU_ACT_FUNC_RSQRT

static float to_f(uint32_t v) {
    float f;
    memcpy(&f, &v, sizeof f);
    return f;
}

static uint32_t to_u(float f) {
    uint32_t v;
    memcpy(&v, &f, sizeof v);
    return v;
}

/* The C library's value, whose own error is far below. */
static double exact(uint32_t func, uint32_t v) {
    const double x = (double)to_f(v);
    return func == EXP ? exp(x) : func == RECIP ? 1.0 / x : 1.0 / sqrt(x);
}

typedef struct worst {
    double error; /* in units in the last place of the exact value */
    uint32_t at;
    uint64_t inputs, rounded; /* correctly */
} worst;

/* One input. NaN counts as an infinite error unless it is due; so does an infinity that correct rounding would not give
 * next to the largest finite numbers. */
static void look(worst *w, uint32_t func, uint32_t v) {
    const double want = exact(func, v);
    const uint32_t got = cm_func(func, v), best = isnan(want) ? NAN_OUT : to_u((float)want);
    double error = got == best ? 0.0 : INFINITY;
    int exponent = 0;
    w->inputs++;
    w->rounded += got == best;
    if (isfinite(want) && want != 0.0 && isfinite(to_f(best)) && isfinite(to_f(got))) {
        (void)frexp(want, &exponent);
        error = fabs((double)to_f(got) - want) / ldexp(1.0, exponent - 24 < -149 ? -149 : exponent - 24);
    }
    if (!(error <= w->error)) {
        w->error = error;
        w->at = v;
    }
}

static void look_at(uint32_t func, uint32_t from, uint32_t to, uint32_t step) {
    worst w = {.error = 0};
    for (uint64_t v = from; v <= to; v += step) {
        look(&w, func, (uint32_t)v);
    }
    if (!(w.error <= BOUND)) {
        fail_msg("function %u of 0x%08X: 0x%08X, %g units in the last place from %.9g", func, w.at, cm_func(func, w.at),
                 w.error, exact(func, w.at));
    }
}

/* ---- tests ---- */

static void test_special(void **state) {
    (void)state;
    static const struct {
        uint32_t func, v, y;
    } known[] = {
        {EXP, INF, INF},
        {EXP, SIGN | INF, 0},
        {EXP, 0x43000000, INF}, /* 128 */
        {EXP, 0xC3000000, 0},   /* -128 */
        {EXP, 0x42FFFFFF, INF}, /* just below */
        {EXP, 0xC2FFFFFF, 0},
        {EXP, 0, ONE},
        {EXP, SIGN, ONE},
        {EXP, 1, ONE}, /* the smallest subnormal */
        {EXP, SIGN | 1, ONE},
        {EXP, 0x42B17217, 0x7F7FFF84}, /* 88.722832: the last one below infinity */
        {EXP, 0x42B17218, INF},
        {RECIP, 0, INF},
        {RECIP, SIGN, SIGN | INF},
        {RECIP, INF, 0},
        {RECIP, SIGN | INF, SIGN},
        {RECIP, 0x00200000, INF},        /* 2^-128: 2^128 */
        {RECIP, 0x00200001, 0x7F7FFFF8}, /* the smallest with a finite reciprocal */
        {RECIP, 0x7F000000, 0x00400000}, /* 2^127: subnormal */
        {RECIP, 0x7F7FFFFF, 0x00200000}, /* the largest, rounded */
        {RECIP, SIGN | 1, SIGN | INF},
        {RSQRT, 0, INF},
        {RSQRT, SIGN, SIGN | INF},
        {RSQRT, INF, 0},
        {RSQRT, SIGN | INF, NAN_OUT},
        {RSQRT, SIGN | 1, NAN_OUT},
        {RSQRT, SIGN | ONE, NAN_OUT},
        {RSQRT, 1, 0x64B504F3},          /* 2^-149: 2^74.5 */
        {RSQRT, 0x7F7FFFFF, 0x1F800000}, /* 2^-64, rounded */
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (cm_func(known[i].func, known[i].v) != known[i].y) {
            fail_msg("function %u of 0x%08X: 0x%08X, expected 0x%08X", known[i].func, known[i].v,
                     cm_func(known[i].func, known[i].v), known[i].y);
        }
    }
    static const uint32_t nans[] = {NAN_OUT, 0xFFC12345u, 0x7F800001u, 0xFFFFFFFFu};
    for (uint32_t func = EXP; func <= RSQRT; func++) {
        for (size_t i = 0; i < 4; i++) {
            assert_int_equal(cm_func(func, nans[i]), NAN_OUT);
        }
    }
    assert_int_equal(cm_func(NPU_ALU_ACT_FUNC_NONE, 0xFFC12345u), 0xFFC12345u);
}

/* Powers of two have exact reciprocals, those of four exact roots. */
static void test_exact(void **state) {
    (void)state;
    for (int e = -126; e <= 127; e++) {
        const uint32_t v = to_u((float)ldexp(1.0, e));
        assert_int_equal(cm_func(RECIP, v), to_u((float)ldexp(1.0, -e)));
        assert_int_equal(cm_func(RECIP, v | SIGN), to_u((float)-ldexp(1.0, -e)));
        if (e % 2 == 0) {
            assert_int_equal(cm_func(RSQRT, v), to_u((float)ldexp(1.0, -e / 2)));
        }
    }
}

/* All significands of one exponent (RSQRT: of an even and an odd one), and every exponent with the significands that
 * are next to the borders of segments and with some in between. */
static void test_bound(void **state) {
    (void)state;
    look_at(RECIP, ONE, 0x3FFFFFFF, 1);
    look_at(RSQRT, ONE, 0x407FFFFF, 1);
    look_at(EXP, 0, 0x43000000, 499);
    look_at(EXP, SIGN, 0xC3000000, 499);
    for (uint32_t func = EXP; func <= RSQRT; func++) {
        worst w = {.error = 0};
        for (uint32_t upper = 0; upper < 1u << 14; upper++) { /* sign, exponent, segment */
            for (uint32_t k = 0; k < 16; k++) {
                const uint32_t rest = k < 4 ? k : k < 8 ? 0x3FFFFu - (k - 4) : k * 16001u + upper;
                const uint32_t v = upper << 18 | (rest & 0x3FFFFu);
                if ((v & ~SIGN) < INF) {
                    look(&w, func, v);
                }
            }
        }
        if (!(w.error <= BOUND)) {
            fail_msg("function %u of 0x%08X: %g units in the last place", func, w.at, w.error);
        }
    }
}

/* Subnormal operands and results, every bit. */
static void test_subnormal(void **state) {
    (void)state;
    look_at(RECIP, 1, 0x007FFFFF, 7);
    look_at(RSQRT, 1, 0x007FFFFF, 7);
    look_at(RECIP, 0x7E800000, 0x7F7FFFFF, 3);
    look_at(EXP, 0xC2AEAC4F, 0xC2D00000, 1); /* -87.33 to -104 */
}

/* ---- measurement ---- */

static int sweep(const char *name, uint32_t func) {
    worst w = {.error = 0};
    for (uint64_t v = 0; v <= UINT32_MAX; v++) {
        if ((v & ~SIGN) <= INF) {
            look(&w, func, (uint32_t)v);
        }
    }
    printf("%-5s largest error %.4f units in the last place at 0x%08X; %.3f %% correctly rounded; bound %g: %s\n", name,
           w.error, w.at, 100.0 * (double)w.rounded / (double)w.inputs, BOUND, w.error <= BOUND ? "met" : "NOT met");
    return w.error <= BOUND ? 0 : 1;
}

int main(int argc, char **argv) {
    static const char *const names[] = NPU_ALU_ACT_FUNC_NAMES;
    if (argc > 1) {
        int status = 2;
        for (uint32_t f = EXP; argc == 3 && strcmp(argv[1], "sweep") == 0 && f <= RSQRT; f++) {
            if (strcmp(argv[2], "all") == 0 || strcmp(argv[2], names[f]) == 0) {
                const int one = sweep(names[f], f);
                status = status == 1 ? 1 : one;
            }
        }
        if (status == 2) {
            fprintf(stderr, "usage: %s [sweep exp|recip|rsqrt|all]\n", argv[0]);
        }
        return status;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_special),
        cmocka_unit_test(test_exact),
        cmocka_unit_test(test_bound),
        cmocka_unit_test(test_subnormal),
    };
    return cmocka_run_group_tests_name("cm_func", tests, NULL, NULL);
}
