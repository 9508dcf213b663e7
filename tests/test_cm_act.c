/*
 * test_cm_act.c - the model's activations: exact ones against C float, fitted ones against the table of coefficients
 * and against the functions themselves.
 *
 * With arguments it is a program that measures: `test_cm_act sweep sigmoid|tanh|swish|mish|elu|softplus|gelu|
 * gelu_tanh|all` goes through all 2^32 inputs of a function and prints the largest error and where it is
 * (docs/npu/activations.md).
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

#define NAN_OUT 0x7FC00000u
#define INF 0x7F800000u
#define SIGN 0x80000000u
#define ONE 0x3F800000u
#define MINUS_ONE 0xBF800000u

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

static uint32_t canonical(float f) {
    return f != f ? NAN_OUT : to_u(f);
}

static uint64_t next(uint64_t *state) {
    uint64_t z = (*state += 0x9E3779B97F4A7C15ull);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
}

/* ---- the fitted functions: what they stand for, their bounds, their goal ---- */

typedef struct fitted {
    uint32_t act;
    const char *name;  /* for the command line */
    const char *table; /* in regs/act_fit.txt */
    double bound;
    bool relative; /* the goal is relative to max(1, |x|) */
    double (*exact)(double x);
} fitted;

static double sigmoid(double x) {
    return 1.0 / (1.0 + exp(-x));
}

static double swish(double x) {
    return x == -INFINITY ? 0.0 : x / (1.0 + exp(-x));
}

/* tanh(ln(1 + e^x)), by its square for accuracy: ((1 + e^x)^2 - 1) / ((1 + e^x)^2 + 1) = e(e + 2) / (e(e + 2) + 2) */
static double mish(double x) {
    if (x == -INFINITY || x > 40.0) {
        return x > 0 ? x : 0.0;
    }
    double e = exp(x);
    return x * (e * (e + 2.0) / (e * (e + 2.0) + 2.0));
}

static double elu(double x) {
    return x > 0 ? x : expm1(x);
}

static double softplus(double x) {
    return (x > 0 ? x : 0.0) + log1p(exp(-fabs(x)));
}

static double gelu(double x) {
    return x == -INFINITY ? 0.0 : x / 2.0 * erfc(-x / sqrt(2.0));
}

static double gelu_tanh(double x) {
    return x == -INFINITY ? 0.0 : x / 2.0 * (1.0 + tanh(sqrt(2.0 / acos(-1.0)) * (x + 0.044715 * x * x * x)));
}

static const fitted functions[] = {
    {CM_ACT_SIGMOID, "sigmoid", "SIGMOID", 8, false, sigmoid},
    {CM_ACT_TANH, "tanh", "TANH", 4, false, tanh},
    {CM_ACT_SWISH, "swish", "SWISH", 8, true, swish},
    {CM_ACT_MISH, "mish", "MISH", 8, true, mish},
    {CM_ACT_ELU, "elu", "EXPM1", 8, true, elu},
    /* with P0 = 1 */ {CM_ACT_SOFTPLUS, "softplus", "SOFTPLUS", 8, true, softplus},
    {CM_ACT_GELU, "gelu", "GELU", 4, true, gelu},
    {CM_ACT_GELU_TANH, "gelu_tanh", "GELU_TANH", 4, true, gelu_tanh},
};
#define FUNCTIONS (sizeof functions / sizeof functions[0])
#define GOAL 1e-3

static const uint32_t params_one[4] = {ONE, ONE, ONE, ONE};

/* Error of one finite input by the measure of the goal. */
static double error_at(const fitted *f, uint32_t v) {
    const double x = to_f(v);
    const double err = fabs((double)to_f(cm_activate(f->act, params_one, v)) - f->exact(x));
    return f->relative && fabs(x) > 1.0 ? err / fabs(x) : err;
}

/* ---- tests ---- */

static uint32_t exact_reference(uint32_t act, const uint32_t p[4], uint32_t v) {
    const float x = to_f(v);
    const float a = to_f(p[0]), b = to_f(p[1]), lo = to_f(p[2]), hi = to_f(p[3]);
    const float product = x * a;
    const float sum = product + b;
    switch (act) {
    case CM_ACT_RELU:
        return x > 0 ? v : 0;
    case CM_ACT_LEAKY:
        return x > 0 ? v : canonical(product);
    case CM_ACT_CLIP:
        return x < a ? p[0] : x > b ? p[1] : v;
    case CM_ACT_HARDSWISH:
        return x < lo ? 0 : x > hi ? v : canonical(sum * x);
    case CM_ACT_HARDSIGMOID:
        return x < lo ? 0 : x > hi ? ONE : canonical(sum);
    default:
        return v;
    }
}

static uint32_t some_float(uint64_t *seed, const uint32_t p[4]) {
    static const uint32_t hard[] = {0,       SIGN,        1,           SIGN | 1, INF,       SIGN | INF,
                                    NAN_OUT, 0xFFC12345u, 0x7F800001u, ONE,      MINUS_ONE, 0x7F7FFFFFu};
    const uint64_t r = next(seed);
    switch (r & 3) {
    case 0:
        return hard[(r >> 8) % (sizeof hard / sizeof hard[0])];
    case 1:
        return p[(r >> 8) & 3] + (uint32_t)((r >> 16) % 5) - 2u;
    case 2:
        return to_u((float)((double)(int64_t)next(seed) / 9.2e17)); /* -10..10 */
    default:
        return (uint32_t)(r >> 32);
    }
}

static void test_exact(void **state) {
    (void)state;
    static const uint32_t zero[4] = {0};
    uint64_t seed = 1;
    for (int i = 0; i < 200000; i++) {
        uint32_t p[4];
        for (int k = 0; k < 4; k++) {
            p[k] = some_float(&seed, zero);
        }
        for (uint32_t act = CM_ACT_NONE; act <= CM_ACT_HARDSIGMOID; act++) {
            uint32_t v = some_float(&seed, p);
            if (cm_activate(act, p, v) != exact_reference(act, p, v)) {
                fail_msg("type %u, p %08x %08x %08x %08x, v %08x: %08x, expected %08x", act, p[0], p[1], p[2], p[3], v,
                         cm_activate(act, p, v), exact_reference(act, p, v));
            }
        }
    }
}

static void test_exact_known(void **state) {
    (void)state;
    const uint32_t clip[4] = {MINUS_ONE, ONE, 0, 0};
    assert_int_equal(cm_activate(CM_ACT_RELU, clip, SIGN), 0);
    assert_int_equal(cm_activate(CM_ACT_RELU, clip, NAN_OUT), 0);
    assert_int_equal(cm_activate(CM_ACT_CLIP, clip, 0xFFC12345u), 0xFFC12345u); /* NaN passes with its bits */
    assert_int_equal(cm_activate(CM_ACT_CLIP, clip, SIGN), SIGN);
    assert_int_equal(cm_activate(CM_ACT_CLIP, clip, INF), ONE);
    assert_int_equal(cm_activate(CM_ACT_LEAKY, clip, 0xFFC12345u), NAN_OUT);
    assert_int_equal(cm_activate(CM_ACT_LEAKY, clip, SIGN | ONE), ONE);
    const uint32_t hard[4] = {to_u(1.0f / 6.0f), to_u(0.5f), to_u(-3.0f), to_u(3.0f)};
    assert_int_equal(cm_activate(CM_ACT_HARDSWISH, hard, to_u(-3.5f)), 0);
    assert_int_equal(cm_activate(CM_ACT_HARDSWISH, hard, to_u(4.0f)), to_u(4.0f));
    assert_int_equal(cm_activate(CM_ACT_HARDSIGMOID, hard, to_u(4.0f)), ONE);
    assert_int_equal(cm_activate(CM_ACT_HARDSIGMOID, hard, 0), to_u(0.5f));
}

static void test_fitted_ends(void **state) {
    (void)state;
    static const uint32_t nans[] = {NAN_OUT, 0xFFC12345u, 0x7F800001u};
    for (size_t k = 0; k < FUNCTIONS; k++) {
        const fitted *f = &functions[k];
        for (size_t i = 0; i < 3; i++) {
            assert_int_equal(cm_activate(f->act, params_one, nans[i]), NAN_OUT);
        }
        const uint32_t far[] = {to_u((float)f->bound), to_u(100.0f), 0x7F7FFFFFu, INF};
        for (size_t i = 0; i < 4; i++) {
            const bool one = f->act == CM_ACT_SIGMOID || f->act == CM_ACT_TANH;
            const bool minus_one = f->act == CM_ACT_TANH || f->act == CM_ACT_ELU;
            assert_int_equal(cm_activate(f->act, params_one, far[i]), one ? ONE : far[i]);
            assert_int_equal(cm_activate(f->act, params_one, far[i] | SIGN), minus_one ? MINUS_ONE : 0);
        }
    }
    /* exact at 0 */
    assert_int_equal(cm_activate(CM_ACT_SIGMOID, params_one, 0), to_u(0.5f));
    assert_int_equal(cm_activate(CM_ACT_SIGMOID, params_one, SIGN), to_u(0.5f));
    assert_int_equal(cm_activate(CM_ACT_SOFTPLUS, params_one, 0), to_u((float)log(2.0)));
    static const uint32_t zeros[] = {0, SIGN};
    static const uint32_t through_zero[] = {CM_ACT_TANH, CM_ACT_SWISH, CM_ACT_MISH,
                                            CM_ACT_ELU,  CM_ACT_GELU,  CM_ACT_GELU_TANH};
    for (size_t k = 0; k < 12; k++) {
        assert_int_equal(cm_activate(through_zero[k / 2], params_one, zeros[k % 2]) & ~SIGN, 0);
    }
}

static void test_elu_factor(void **state) {
    (void)state;
    uint64_t seed = 3;
    for (int i = 0; i < 100000; i++) {
        const uint32_t p[4] = {some_float(&seed, params_one), 0, 0, 0};
        const uint32_t v = some_float(&seed, p);
        const uint32_t e = cm_activate(CM_ACT_ELU, params_one, v);
        assert_int_equal(cm_activate(CM_ACT_ELU, p, v), to_f(v) > 0 ? v : canonical(to_f(p[0]) * to_f(e)));
    }
}

static void test_tanh_is_odd(void **state) {
    (void)state;
    uint64_t seed = 4;
    for (int i = 0; i < 200000; i++) {
        const uint32_t v = to_u((float)((double)(next(&seed) >> 1) / 1.8e18));
        assert_int_equal(cm_activate(CM_ACT_TANH, params_one, v),
                         cm_activate(CM_ACT_TANH, params_one, v | SIGN) ^ SIGN);
    }
}

/* ---- the evaluation, from the text file of coefficients ---- */

typedef struct coeffs {
    uint32_t c[FUNCTIONS][2][16][3];
    int count;
} coeffs;

static void read_coeffs(coeffs *t) {
    FILE *file = fopen("regs/act_fit.txt", "r");
    char line[256], name[16], sign;
    if (!file) {
        fail_msg("regs/act_fit.txt: not there (run from the root of the tree)");
        return;
    }
    t->count = 0;
    while (fgets(line, sizeof line, file)) {
        unsigned seg, c2, c1, c0;
        if (line[0] == '#' || sscanf(line, "%15s %c %u %x %x %x", name, &sign, &seg, &c2, &c1, &c0) != 6 || seg > 15) {
            continue;
        }
        for (size_t k = 0; k < FUNCTIONS; k++) {
            if (strcmp(functions[k].table, name) == 0) {
                uint32_t *c = t->c[k][sign == '-'][seg];
                c[0] = c0;
                c[1] = c1;
                c[2] = c2;
                t->count++;
            }
        }
    }
    fclose(file);
}

static void test_fitted_steps(void **state) {
    (void)state;
    static coeffs t;
    read_coeffs(&t);
    assert_int_equal(t.count, (int)FUNCTIONS * 32);
    uint64_t seed = 5;
    for (size_t k = 0; k < FUNCTIONS; k++) {
        const fitted *f = &functions[k];
        for (int i = 0; i < 200000; i++) {
            /* a third of them beside the border of a segment */
            const double border = (double)(next(&seed) % 17) * f->bound / 16.0;
            uint32_t v = to_u((float)(i % 3 ? (double)(next(&seed) >> 11) / 9007199254740992.0 * f->bound : border));
            v = (i % 3 || v < 4 ? v : v + (uint32_t)(next(&seed) % 5) - 2u) | (next(&seed) & 1 ? SIGN : 0);
            const float x = to_f(v);
            if (fabsf(x) >= (float)f->bound || (f->act == CM_ACT_ELU && x > 0)) {
                continue;
            }
            const uint32_t *c = t.c[k][v >> 31][(int)floor(fabs((double)x) * 16.0 / f->bound)];
            float y = to_f(c[2]) * x;
            y = y + to_f(c[1]);
            y = y * x;
            y = y + to_f(c[0]);
            if (cm_activate(f->act, params_one, v) != to_u(y)) {
                fail_msg("%s, v %08x: %08x, expected %08x", f->name, v, cm_activate(f->act, params_one, v), to_u(y));
            }
        }
    }
}

static void test_fitted_errors(void **state) {
    (void)state;
    for (size_t k = 0; k < FUNCTIONS; k++) {
        double worst = 0;
        uint32_t at = 0;
        for (uint32_t i = 0; i < 1u << 19; i++) {
            const uint32_t v = i << 13;
            if ((v & ~SIGN) > INF) {
                continue;
            }
            const double err = (v & ~SIGN) == INF ? 0 : error_at(&functions[k], v);
            if (!(err <= worst)) {
                worst = err;
                at = v;
            }
        }
        if (!(worst <= GOAL)) {
            fail_msg("%s: error %g at %.9g, goal %g", functions[k].name, worst, (double)to_f(at), GOAL);
        }
    }
}

/* ---- measurement ---- */

static int sweep(const fitted *f) {
    double worst = -1;
    uint32_t at = 0;
    uint64_t nans = 0;
    for (uint64_t i = 0; i <= UINT32_MAX; i++) {
        const uint32_t v = (uint32_t)i;
        if ((v & ~SIGN) > INF) {
            nans += cm_activate(f->act, params_one, v) == NAN_OUT;
            continue;
        }
        if ((v & ~SIGN) == INF) {
            continue; /* test_fitted_ends */
        }
        const double err = error_at(f, v);
        if (!(err <= worst)) {
            worst = err;
            at = v;
        }
    }
    const bool good = worst <= GOAL && nans == 2 * UINT64_C(0x7FFFFF);
    printf("%-9s largest error %.4e (%s) at %.9g (0x%08X); NaN in, NaN out: %s; goal %g: %s\n", f->name, worst,
           f->relative ? "relative to max(1,|x|)" : "absolute", (double)to_f(at), at,
           nans == 2 * UINT64_C(0x7FFFFF) ? "all" : "NOT all", GOAL, good ? "met" : "NOT met");
    return good ? 0 : 1;
}

static int measure(int argc, char **argv) {
    int status = 2;
    for (size_t k = 0; argc == 3 && strcmp(argv[1], "sweep") == 0 && k < FUNCTIONS; k++) {
        if (strcmp(argv[2], "all") == 0 || strcmp(argv[2], functions[k].name) == 0) {
            const int one = sweep(&functions[k]);
            status = status == 1 ? 1 : one;
        }
    }
    if (status == 2) {
        fprintf(stderr, "usage: %s [sweep sigmoid|tanh|swish|mish|elu|softplus|gelu|gelu_tanh|all]\n", argv[0]);
    }
    return status;
}

int main(int argc, char **argv) {
    if (argc > 1) {
        return measure(argc, argv);
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exact),         cmocka_unit_test(test_exact_known), cmocka_unit_test(test_fitted_ends),
        cmocka_unit_test(test_elu_factor),    cmocka_unit_test(test_tanh_is_odd), cmocka_unit_test(test_fitted_steps),
        cmocka_unit_test(test_fitted_errors),
    };
    return cmocka_run_group_tests_name("cm_act", tests, NULL, NULL);
}
