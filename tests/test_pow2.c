/* Weights that are powers of two: codes, packing, records byte by byte, hostile files; activations, the search. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "../network/pow2.h"

static int range_of(const float *w, size_t count) {
    int nmin = 0;
    net_error err;
    assert_int_equal(net_pow2_range(w, count, &nmin, &err), NET_OK);
    return nmin + NET_POW2_SPAN;
}

static void test_range(void **state) {
    static const float most[] = {0.9F, 0.75F, 0.7499F, 3.0F, 0.1F};
    static const int n1[] = {0, 0, -1, 2, -3};
    (void)state;
    for (size_t i = 0; i < 5; i++) {
        const float w[] = {most[i] / 3, -most[i], 0};
        assert_int_equal(range_of(w, 3), n1[i]);
    }
    assert_int_equal(range_of((float[]){0, 0}, 2), 0);
    for (int e = -120; e <= 127; e++) { /* 1.5 * 2^e is rounded up, the number below it down */
        const float edge = ldexpf(1.5F, e);
        assert_int_equal(range_of(&edge, 1), e + 1);
        assert_int_equal(range_of((float[]){nextafterf(edge, 0)}, 1), e);
    }
}

static void test_range_refused(void **state) {
    static const float bad[] = {NAN, INFINITY, -INFINITY, 1e-39F};
    net_error err;
    int nmin;
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(net_pow2_range(&bad[i], 1, &nmin, &err), NET_ERR_UNSUPPORTED);
        assert_true(strlen(err.text) > 0);
    }
}

static void test_code(void **state) {
    static const struct {
        float w;
        uint8_t code;
    } rows[] = {{0.9F, 0xE},     {0.75F, 0xE}, {-0.7499F, 5},    {-0.3F, 4},   {0.1F, 0xB},
                {0.0234375F, 9}, {0.015F, 8},  {-0.0078125F, 0}, {0.0078F, 7}, {0, 7}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_int_equal(net_pow2_code(rows[i].w, -6), rows[i].code);
    }
    for (unsigned code = 0; code < 15; code++) { /* a weight that is a power of two keeps its code, at both ends, too */
        for (int nmin = -128; nmin <= 121; nmin += 83) {
            const float w = net_pow2_weight((uint8_t)code, nmin);
            assert_int_equal(net_pow2_code(w, nmin), (code & 7) == 7 ? 7 : code);
        }
    }
    assert_true(net_pow2_weight(15, 3) == 0 && net_pow2_code(NAN, 0) == 7);
    /* the ends of the byte: 2^127 .. 2^133 are no floats, 2^-128 and half of it are subnormal */
    assert_true(net_pow2_weight(8, 127) == ldexpf(1, 127) && isinf(net_pow2_weight(9, 127)));
    assert_true(net_pow2_weight(14, 121) == ldexpf(1, 127) && net_pow2_code(FLT_MAX, 122) == 14);
    assert_true(net_pow2_weight(0, -128) == -ldexpf(1, -128) && net_pow2_code(ldexpf(1, -129), -128) == 8);
    assert_int_equal(net_pow2_code(nextafterf(ldexpf(-1, -129), 0), -128), 7);
    assert_int_equal(net_pow2_code(ldexpf(-1.5F, -128), -128), 1);
    assert_int_equal(net_pow2_code(nextafterf(ldexpf(1.5F, -128), 0), -128), 8);
    for (int e = -127; e <= 126; e++) { /* between neighbours: at 1.5 * 2^e up, below it down, in every binade */
        const float tie = ldexpf(1.5F, e);
        const int nmin = e < -125 ? -128 : e - 3 > 121 ? 121 : e - 3, k = e - nmin;
        assert_int_equal(net_pow2_code(tie, nmin), 8 + k + 1);
        assert_int_equal(net_pow2_code(-nextafterf(tie, 0), nmin), k);
    }
}

static void check_bytes(const float *w, const float *bias, const uint32_t size[4], const char *hex) {
    net_pow2 p = {0}, again;
    net_error err;
    uint8_t *data = NULL;
    size_t bytes = 0;
    assert_int_equal(net_pow2_add(&p, w, bias, size[0], size[1], size[2], size[3], &err), NET_OK);
    assert_int_equal(net_pow2_print(&p, &data, &bytes, &err), NET_OK);
    assert_int_equal(2 * bytes, strlen(hex));
    for (size_t i = 0; i < bytes; i++) {
        unsigned value;
        assert_int_equal(sscanf(hex + 2 * i, "%2x", &value), 1);
        assert_int_equal(data[i], value);
    }
    assert_int_equal(net_pow2_parse(&again, data, bytes, "t", &err), NET_OK);
    assert_int_equal(again.count, p.count);
    assert_memory_equal(again.record[0].code, p.record[0].code, (size_t)size[0] * size[1] * size[2] * size[3]);
    net_pow2_free(&again);
    net_pow2_free(&p);
    free(data);
}

static void test_records(void **state) {
    (void)state;
    check_bytes((float[]){.5F, -.25F, 0, -1, 1, .015625F, -.015625F, .125F, -.125F}, NULL, (uint32_t[]){1, 1, 3, 3},
                "fa0001000100030003004d77e678b073");
    check_bytes((float[]){1, -.5F, .25F, 0, .03125F, -1}, (float[]){.5F, -1}, (uint32_t[]){2, 3, 1, 1},
                "fa0002000300010001005e7c9776"
                "000102000100010001000000003f000080bf");
    check_bytes((float[]){1, -.5F, 0, .015625F, -.125F}, NULL, (uint32_t[]){1, 5, 1, 1},
                "fa0001000500010001005e877377");
    check_bytes((float[]){1, -1, .5F, 0, -.25F}, NULL, (uint32_t[]){1, 1, 1, 5}, "fa0001000100010005006e7d4777");
    check_bytes((float[]){1, -1, .5F, 0, -.25F, .03125F, -.125F}, NULL, (uint32_t[]){1, 1, 1, 7},
                "fa0001000100010007006e7d47797377");
}

static void refused(const uint8_t *data, size_t bytes, const char *part) {
    net_pow2 p;
    net_error err = {""};
    assert_int_not_equal(net_pow2_parse(&p, data, bytes, "f", &err), NET_OK);
    assert_non_null(strstr(err.text, part));
    assert_null(strchr(err.text, '\n'));
    assert_int_equal(p.count, 0);
}

static void test_hostile(void **state) {
    static const uint8_t good[] = {0xfa, 0, 1, 0, 1, 0, 3, 0, 3, 0, 0x4d, 0x77, 0xe6, 0x78, 0xb0, 0x73};
    uint8_t bad[sizeof good];
    (void)state;
    for (size_t n = 1; n < sizeof good; n++) {
        refused(good, n, n < 10 ? "ends in a header" : "bytes left");
    }
#define WITH(at, value, part)                                                                                          \
    memcpy(bad, good, sizeof bad);                                                                                     \
    bad[at] = (value);                                                                                                 \
    refused(bad, sizeof bad, part)
    WITH(1, 2, "type 2");
    WITH(1, 1, "floating-point record");
    WITH(2, 0, "sizes 0x");
    WITH(3, 0x80, "sizes 32769x");
    WITH(10, 0x4F, "byte 10: code 15");
    WITH(10, 0xFD, "byte 10: code 15");
    WITH(15, 0x7F, "byte 15: code 15");
    WITH(9, 0x7F, "bytes left");
    uint8_t huge[10];
    memset(huge, 0xFF, sizeof huge);
    for (size_t i = 3; i < 10; i += 2) {
        huge[i] = 0x7F;
    }
    huge[1] = 0;
    refused(huge, sizeof huge, "bytes left");
}

static void test_q(void **state) {
    static const float most[] = {16, 12, 11, 300, 128, 1};
    static const int q[] = {3, 3, 4, -1, 0, 7};
    (void)state;
    for (size_t i = 0; i < 6; i++) {
        assert_int_equal(net_pow2_q(most[i]), q[i]);
    }
    for (int e = -100; e < 100; e++) { /* against the logarithm, where it is far from a half */
        for (int i = 1; i < 32; i++) {
            const float a = ldexpf(1.0F + (float)i / 32.0F, e);
            assert_int_equal(net_pow2_q(a), (int)lround(log2(128.0 / (double)a)));
        }
    }
    assert_int_equal(net_pow2_activation(3, 3), 24);
    assert_int_equal(net_pow2_activation(-16, 3), -128);
    assert_int_equal(net_pow2_activation(11, 4), 127);
    assert_int_equal(net_pow2_activation(0.5F, 0), 1);
    assert_int_equal(net_pow2_activation(-2.5F, 0), -3);
    assert_int_equal(net_pow2_activation(NAN, 3), 0);
}

static void test_cap(void **state) {
    float most[9];
    static const int q[] = {3, 5, 4, 6, 4, 2, 7, 4};
    int got[9];
    (void)state;
    for (int i = 0; i < 8; i++) {
        most[i] = ldexpf(1, 7 - q[i]);
    }
    most[8] = 0;
    assert_int_equal(net_pow2_cap(most, 9), 4);
    net_pow2_channels(most, 9, 4, got);
    static const int expected[] = {3, 4, 4, 4, 4, 2, 4, 4, 4};
    assert_memory_equal(got, expected, sizeof expected);
    assert_int_equal(net_pow2_cap(&most[8], 1), 0);
    assert_int_equal(net_pow2_cap((float[]){256, 512}, 2), -2);         /* mean -1.5, rounded down */
    assert_int_equal(net_pow2_cap((float[]){128, 1e-6F, 1e-6F}, 3), 7); /* no channel above the least + 7 */
    const float a[] = {1, -2, 0, 4};
    const int8_t a8[] = {8, -15, 0, 31};
    assert_true(fabs(net_pow2_norm1(a, a8, (int[]){3}, 1, 4) - 0.25 / 7) < 1e-12);
}

/* Accuracy depends on the caps: enough when the caps of layer 1 and 2 have fallen by two and one. */
static net_status trial(void *user, const int *cap, uint32_t layers, double *accuracy, double *norm1, net_error *err) {
    const int need = *(const int *)user;
    (void)err;
    int fallen = 0;
    for (uint32_t i = 0; i < layers; i++) {
        fallen += 5 - cap[i];
        norm1[i] = i == 0 ? 0.1 : 0.5 + 0.1 * cap[i]; /* layers 1 and 2 take turns */
    }
    *accuracy = fallen >= need ? 0.9 : 0.8;
    return NET_OK;
}

static void test_search(void **state) {
    net_pow2_layer layer[3];
    net_pow2_result result;
    net_error err;
    int need = 3;
    (void)state;
    for (int i = 0; i < 3; i++) {
        layer[i] = (net_pow2_layer){.cap = 5};
    }
    assert_int_equal(net_pow2_search(&(net_pow2_trial){trial, &need}, 0.905, layer, 3, &result, &err), NET_OK);
    assert_true(layer[0].cap == 5 && layer[1].cap == 3 && layer[2].cap == 4 && result.runs == 4);
    need = 1000;
    assert_int_equal(net_pow2_search(&(net_pow2_trial){trial, &need}, 0.905, layer, 3, &result, &err),
                     NET_ERR_UNSUPPORTED);
    assert_int_equal(result.runs, 25); /* 8 steps of each layer */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_range),   cmocka_unit_test(test_range_refused), cmocka_unit_test(test_code),
        cmocka_unit_test(test_records), cmocka_unit_test(test_hostile),       cmocka_unit_test(test_q),
        cmocka_unit_test(test_cap),     cmocka_unit_test(test_search),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
