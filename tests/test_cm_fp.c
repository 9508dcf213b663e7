/*
 * test_cm_fp.c - the model's FP32 steps against binary32 written with integers only.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "cm_fp_lanes.h"
#include "cmodel.h"

#define NAN_OUT 0x7FC00000u
#define INF 0x7F800000u
#define SIGN 0x80000000u

/* ---- the independent implementation: a finite value is (-1)^sign * mant * 2^exp with integers ---- */

typedef struct parts {
    uint32_t sign;
    int exp;
    uint64_t mant;
} parts;

static int is_nan(uint32_t v) {
    return (v & ~SIGN) > INF;
}

static int is_inf(uint32_t v) {
    return (v & ~SIGN) == INF;
}

static parts unpack(uint32_t v) {
    uint32_t e = v >> 23 & 0xFFu;
    uint32_t f = v & 0x7FFFFFu;
    parts p = {v & SIGN, e == 0 ? -149 : (int)e - 150, e == 0 ? f : f | 0x800000u};
    return p;
}

/* Round mant * 2^exp to nearest even. Bit 0 of mant may stand for anything below it ("sticky") when mant has more than
 * 26 bits. */
static uint32_t round_pack(uint32_t sign, int exp, uint64_t mant) {
    if (mant == 0) {
        return sign;
    }
    int top = 63 - __builtin_clzll(mant);
    int lsb = exp + top - 23; /* weight of the last bit kept */
    if (lsb < -149) {
        lsb = -149;
    }
    int drop = lsb - exp;
    uint64_t kept;
    if (drop <= 0) {
        kept = mant << -drop;
    } else if (drop > 62) {
        kept = 0; /* below half of the smallest subnormal: mant has at most 62 bits */
    } else {
        uint64_t rest = mant & ((1ull << drop) - 1);
        uint64_t half = 1ull << (drop - 1);
        kept = mant >> drop;
        kept += rest > half || (rest == half && (kept & 1));
    }
    if (kept == 1u << 24) {
        kept >>= 1;
        lsb++;
    }
    if (kept < 1u << 23) {
        return sign | (uint32_t)kept; /* subnormal, lsb is -149 */
    }
    int biased = lsb + 150;
    return biased >= 255 ? sign | INF : sign | (uint32_t)biased << 23 | ((uint32_t)kept & 0x7FFFFFu);
}

static uint32_t ref_mul(uint32_t a, uint32_t b) {
    uint32_t sign = (a ^ b) & SIGN;
    if (is_nan(a) || is_nan(b)) {
        return NAN_OUT;
    }
    if (is_inf(a) || is_inf(b)) {
        return (a & ~SIGN) == 0 || (b & ~SIGN) == 0 ? NAN_OUT : sign | INF;
    }
    parts x = unpack(a), y = unpack(b);
    return round_pack(sign, x.exp + y.exp, x.mant * y.mant);
}

static uint32_t ref_add(uint32_t a, uint32_t b) {
    if (is_nan(a) || is_nan(b) || (is_inf(a) && is_inf(b) && a != b)) {
        return NAN_OUT;
    }
    if (is_inf(a) || is_inf(b)) {
        return is_inf(a) ? a : b;
    }
    parts x = unpack(a), y = unpack(b);
    if (x.exp < y.exp) {
        parts z = x;
        x = y;
        y = z;
    }
    /* 32 bits of room below the one with the larger exponent; what falls out of them leaves a sticky bit */
    int down = x.exp - y.exp;
    uint64_t big = x.mant << 32;
    uint64_t small = y.mant << 32;
    uint64_t lost = down > 0 ? (down > 60 ? small : small & ((1ull << down) - 1)) : 0;
    small = down > 60 ? 0 : small >> down;
    small |= lost != 0;
    if (x.sign == y.sign) {
        return round_pack(x.sign, x.exp - 32, big + small);
    }
    if (big == small) {
        return 0; /* +0 in this rounding mode */
    }
    return big > small ? round_pack(x.sign, x.exp - 32, big - small) : round_pack(y.sign, x.exp - 32, small - big);
}

static uint32_t ref_i32(int32_t v) {
    int64_t wide = v;
    return wide < 0 ? round_pack(SIGN, 0, (uint64_t)-wide) : round_pack(0, 0, (uint64_t)wide);
}

static int8_t ref_i8(uint32_t v) {
    if (is_nan(v)) {
        return 0;
    }
    parts p = unpack(v);
    int64_t mag;
    if (is_inf(v) || p.exp >= 0) {
        mag = p.mant == 0 ? 0 : 127; /* at least 2^23 */
    } else if (p.exp < -40) {
        mag = 0;
    } else {
        mag = (int64_t)((p.mant + (1ull << (-p.exp - 1))) >> -p.exp); /* half goes up in magnitude */
        mag = mag > 127 ? 127 : mag;
    }
    return (int8_t)(p.sign ? -mag : mag);
}

/* ---- vectors: exponents near each other and near the ends, mantissas with few bits, all ones, or any ---- */

static uint64_t next(uint64_t *state) {
    uint64_t z = (*state += 0x9E3779B97F4A7C15ull);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
}

static uint32_t corner(uint64_t *state) {
    static const uint32_t exps[] = {0,   0,   1,   2,   23,  24,  25,  63,  64,  100, 126,
                                    127, 128, 133, 134, 150, 191, 230, 253, 254, 255};
    uint64_t r = next(state);
    uint32_t exp = r & 1 ? exps[(r >> 8) % (sizeof exps / sizeof exps[0])] : (uint32_t)(r >> 8) & 0xFFu;
    uint32_t frac = (uint32_t)(r >> 16) & 0x7FFFFFu;
    switch (r >> 1 & 7) {
    case 0:
        frac = 0;
        break;
    case 1:
        frac = 0x7FFFFFu;
        break;
    case 2:
        frac = 1u << (frac % 23);
        break;
    case 3:
        frac = 0x7FFFFFu & ~(1u << (frac % 23));
        break;
    case 4:
        frac &= 0x7FF000u; /* products of short mantissas hit exact halves */
        break;
    default:
        break;
    }
    return (uint32_t)(r >> 63) << 31 | exp << 23 | frac;
}

#define VECTORS 400000

static void test_mul_add_random(void **state) {
    (void)state;
    uint64_t seed = 1;
    for (int i = 0; i < VECTORS; i++) {
        uint32_t a = corner(&seed);
        uint32_t b = corner(&seed);
        if (i % 4 == 0) { /* close exponents: cancellation and ties in addition */
            b = (b & ~0x7F800000u) | (((a >> 23) + (uint32_t)(next(&seed) % 51) - 25u) & 0xFFu) << 23;
        }
        if (cm_fp_mul(a, b) != ref_mul(a, b) || cm_fp_add(a, b) != ref_add(a, b)) {
            fail_msg("%08x, %08x: mul %08x, expected %08x; add %08x, expected %08x", a, b, cm_fp_mul(a, b),
                     ref_mul(a, b), cm_fp_add(a, b), ref_add(a, b));
        }
        if (cm_fp_sub(a, b) != ref_add(a, b ^ SIGN)) {
            fail_msg("%08x, %08x: sub %08x, expected %08x", a, b, cm_fp_sub(a, b), ref_add(a, b ^ SIGN));
        }
    }
}

static void test_products_around_smallest(void **state) {
    (void)state;
    uint64_t seed = 2;
    for (int i = 0; i < VECTORS; i++) { /* exponents that add up to the subnormal range */
        uint32_t a = corner(&seed) & ~0x7F800000u, b = corner(&seed) & ~0x7F800000u;
        uint32_t e = (uint32_t)(next(&seed) % 126) + 1;
        uint32_t sum = 100 + (uint32_t)(next(&seed) % 32);
        a |= e << 23;
        b |= (sum > e ? sum - e : 0) << 23;
        assert_int_equal(cm_fp_mul(a, b), ref_mul(a, b));
    }
}

static void test_known_values(void **state) {
    (void)state;
    assert_int_equal(cm_fp_mul(0x3FC00000u, 0x40000000u), 0x40400000u); /* 1.5 * 2 */
    assert_int_equal(cm_fp_mul(0u, INF), NAN_OUT);                      /* 0 * inf, whose sign hosts disagree on */
    assert_int_equal(cm_fp_add(INF, INF | SIGN), NAN_OUT);              /* inf - inf */
    assert_int_equal(cm_fp_add(0xFFC12345u, 0x3F800000u), NAN_OUT);     /* payload and sign are gone */
    assert_int_equal(cm_fp_mul(0x7F800001u, 0x3F800000u), NAN_OUT);     /* signalling */
    assert_int_equal(cm_fp_add(SIGN, SIGN), SIGN);                      /* -0 + -0 */
    assert_int_equal(cm_fp_add(0x3F800000u, 0xBF800000u), 0u);          /* 1 - 1 is +0 */
    assert_int_equal(cm_fp_mul(0x00000001u, 0x3F000000u), 0u);          /* half of the smallest: tie to even, zero */
    assert_int_equal(cm_fp_mul(0x00000003u, 0x3F000000u), 2u);          /* 1.5 of it: tie to even, two */
    assert_int_equal(cm_fp_mul(0x00800000u, 0x3F000000u), 0x00400000u); /* subnormals are kept */
    assert_int_equal(cm_fp_mul(0x7F7FFFFFu, 0x40000000u), INF);         /* overflow */
    assert_int_equal(cm_fp_add(0x7F7FFFFFu, 0x73000000u), INF);         /* largest + half of its last place */
    assert_int_equal(cm_fp_add(0x7F7FFFFFu, 0x72FFFFFFu), 0x7F7FFFFFu); /* just below that */
    /* 1 + 2^-12 squared is 1 + 2^-11 + 2^-24: a fused a*b-c would show the 2^-24 */
    uint32_t square = cm_fp_mul(0x3F800800u, 0x3F800800u);
    assert_int_equal(square, 0x3F801000u);
    assert_int_equal(cm_fp_add(square, 0xBF801000u), 0u);
}

static void test_i32_to_f32(void **state) {
    (void)state;
    static const int32_t hard[] = {
        0,         1,           -1,         16777215,   16777216,   16777217,        16777218,        16777219,
        -16777217, 33554434,    33554433,   33554435,   33554437,   33554438,        33554439,        2147483647,
        INT32_MIN, -2147483647, 2147483583, 2147483584, 2147483585, 1073741824 + 32, 1073741824 + 33, 1073741824 + 96};
    for (size_t i = 0; i < sizeof hard / sizeof hard[0]; i++) {
        assert_int_equal(cm_fp_i32_to_f32(hard[i]), ref_i32(hard[i]));
    }
    assert_int_equal(cm_fp_i32_to_f32(16777217), 0x4B800000u); /* tie to even, down */
    assert_int_equal(cm_fp_i32_to_f32(16777219), 0x4B800002u); /* tie to even, up */
    assert_int_equal(cm_fp_i32_to_f32(INT32_MIN), 0xCF000000u);
    uint64_t seed = 3;
    for (int i = 0; i < VECTORS; i++) {
        int32_t v = (int32_t)(uint32_t)next(&seed) >> (next(&seed) % 32);
        assert_int_equal(cm_fp_i32_to_f32(v), ref_i32(v));
    }
}

static uint32_t float_bits(float f) {
    uint32_t v;
    memcpy(&v, &f, sizeof v);
    return v;
}

/* Every mode of the quantiser, by rounding in integers: twice the magnitude, and whether anything is below that. */
static int8_t ref_quantise(uint32_t v, bool full, bool even, int zero) {
    parts p = unpack(v);
    int64_t mag = 0;
    if (is_nan(v) || (!is_inf(v) && p.exp < -40)) {
        mag = 0;
    } else if (is_inf(v) || p.exp >= 0) {
        mag = p.mant == 0 ? 0 : 1000;
    } else {
        const uint64_t twice = p.mant >> (-p.exp - 1), rest = p.mant & ((1ull << (-p.exp - 1)) - 1);
        mag = (int64_t)(twice >> 1);
        mag += (twice & 1) != 0 && (!even || rest != 0 || mag % 2 != 0);
        mag = mag > 1000 ? 1000 : mag;
    }
    const int64_t q = (p.sign && !is_nan(v) ? -mag : mag) + zero;
    return (int8_t)(q > 127 ? 127 : q < (full ? -128 : -127) ? (full ? -128 : -127) : q);
}

static void test_quantise(void **state) {
    (void)state;
    static const int zeros[] = {-128, -127, -1, 0, 1, 77, 127};
    for (uint32_t k = 0; k < 4 * 7; k++) {
        const bool full = k & 1, even = k & 2;
        const int zero = zeros[k / 4];
        const uint32_t quant = CM_QUANT(full, even, zero);
        for (int h = -1034; h <= 1034; h++) {
            uint32_t v = float_bits((float)h / 2.0f);
            for (uint32_t d = 0; d < 3; d++) {
                assert_int_equal(cm_fp_quantise(v + d - 1, quant), ref_quantise(v + d - 1, full, even, zero));
            }
        }
        uint64_t seed = 40 + k;
        for (int i = 0; i < VECTORS / 16; i++) {
            uint32_t v = corner(&seed);
            assert_int_equal(cm_fp_quantise(v, quant), ref_quantise(v, full, even, zero));
        }
    }
    assert_int_equal(cm_fp_quantise(float_bits(2.5f), CM_QUANT(0, 1, 0)), 2);
    assert_int_equal(cm_fp_quantise(float_bits(-3.5f), CM_QUANT(0, 1, 3)), -1);
    assert_int_equal(cm_fp_quantise(NAN_OUT, CM_QUANT(0, 0, -128)), -127);
    assert_int_equal(cm_fp_quantise(NAN_OUT, CM_QUANT(1, 0, -128)), -128);
    assert_int_equal(cm_fp_quantise(INF, CM_QUANT(1, 0, -128)), 127);
    assert_int_equal(cm_fp_quantise(INF | SIGN, CM_QUANT(1, 0, 127)), -128);
}

/* Four at once: the bits of the single operations, which the other tests compare with integers. */
static void test_lanes(void **state) {
    (void)state;
    uint64_t seed = 14;
    for (int i = 0; i < VECTORS; i++) {
        cm_fp_lanes a, b;
        for (uint32_t k = 0; k < CM_FP_LANES; k++) {
            a[k] = corner(&seed);
            b[k] = corner(&seed);
        }
        const cm_fp_lanes mul = cm_fp_mul_lanes(a, b), add = cm_fp_add_lanes(a, b), flt = cm_fp_i32_to_f32_lanes(a),
                          relu = cm_fp_relu_lanes(a), max = cm_fp_max_lanes(a, b);
        const cm_fp_ints i8 = cm_fp_f32_to_i8_lanes(a);
        for (uint32_t k = 0; k < CM_FP_LANES; k++) {
            assert_int_equal(mul[k], cm_fp_mul(a[k], b[k]));
            assert_int_equal(add[k], cm_fp_add(a[k], b[k]));
            assert_int_equal(max[k], cm_fp_max(a[k], b[k]));
            assert_int_equal(flt[k], cm_fp_i32_to_f32((int32_t)a[k]));
            assert_int_equal(i8[k], cm_fp_f32_to_i8(a[k]));
            assert_int_equal(relu[k], cm_fp_relu(a[k]));
        }
    }
    for (uint32_t bit = 0; bit < 32 * CM_FP_LANES; bit++) {
        cm_fp_lanes v = cm_fp_all(0);
        v[bit / 32] = 1u << bit % 32;
        assert_true(cm_fp_any(v));
    }
    assert_false(cm_fp_any(cm_fp_all(0)));
    for (int h = -262; h <= 262; h++) { /* halves and their neighbours */
        const uint32_t v = float_bits((float)h / 2.0f);
        const cm_fp_ints i8 = cm_fp_f32_to_i8_lanes((cm_fp_lanes){v, v - 1, v + 1, v ^ SIGN});
        assert_int_equal(i8[0], ref_i8(v));
        assert_int_equal(i8[1], ref_i8(v - 1));
        assert_int_equal(i8[2], ref_i8(v + 1));
        assert_int_equal(i8[3], ref_i8(v ^ SIGN));
    }
}

/* Eight at once, in the same way. */
static void test_rows(void **state) {
    (void)state;
    uint64_t seed = 15;
    for (int i = 0; i < VECTORS; i++) {
        cm_fp_row a, b, quant, mul, add, flt;
        cm_fp_row_ints q, i8;
        for (uint32_t k = 0; k < CM_FP_ROW; k++) {
            a[k] = corner(&seed);
            b[k] = corner(&seed);
            quant[k] = (uint32_t)next(&seed) & (i % 4 == 0 ? 0 : i % 4 == 1 ? 0x300u : 0x3FFu);
        }
        cm_fp_mul_row(&mul, &a, &b);
        cm_fp_add_row(&add, &a, &b);
        cm_fp_i32_to_f32_row(&flt, &a);
        cm_fp_quantise_row(&q, &a, &quant);
        cm_fp_f32_to_i8_row(&i8, &a);
        for (uint32_t k = 0; k < CM_FP_ROW; k++) {
            assert_int_equal(mul[k], cm_fp_mul(a[k], b[k]));
            assert_int_equal(add[k], cm_fp_add(a[k], b[k]));
            assert_int_equal(flt[k], cm_fp_i32_to_f32((int32_t)a[k]));
            assert_int_equal(q[k], cm_fp_quantise(a[k], quant[k]));
            assert_int_equal(i8[k], cm_fp_f32_to_i8(a[k]));
        }
    }
}

/* Every half and its neighbours, with every quantiser; also with other ones beside it. */
static void test_quantise_row(void **state) {
    (void)state;
    for (uint32_t quant = 0; quant < 0x400; quant++) {
        for (int h = -1034; h <= 1034; h += quant < 0x10 ? 1 : 31) {
            const uint32_t v = float_bits((float)h / 2.0f);
            const cm_fp_row a = {v, v - 1, v + 1, v ^ SIGN, v, v, v, v},
                            b = {quant, quant, quant, quant, 0, 0x100, 0x200, 1};
            cm_fp_row_ints q, i8;
            cm_fp_quantise_row(&q, &a, &b);
            cm_fp_f32_to_i8_row(&i8, &a);
            for (uint32_t k = 0; k < 4; k++) {
                assert_int_equal(q[k], ref_quantise(a[k], quant >> 9, quant >> 8 & 1, (int8_t)(quant & 0xFF)));
                assert_int_equal(i8[k], ref_i8(a[k]));
            }
            assert_int_equal(q[4], ref_i8(v));
            assert_int_equal(q[5], ref_quantise(v, false, true, 0));
            assert_int_equal(q[6], ref_quantise(v, true, false, 0));
            assert_int_equal(q[7], ref_quantise(v, false, false, 1));
        }
    }
}

/* A row is put together from two places; any bit of it is found. */
static void test_row_memory(void **state) {
    (void)state;
    uint32_t words[16];
    for (uint32_t i = 0; i < 16; i++) {
        words[i] = 1000 + i;
    }
    cm_fp_row row;
    cm_fp_row_load(&row, &words[9], &words[1]);
    for (uint32_t k = 0; k < CM_FP_ROW; k++) {
        assert_int_equal(row[k], k < 4 ? 1009 + k : 1001 + k - 4);
    }
    int8_t byte[2 * CM_FP_ROW] = {0};
    const cm_fp_row_ints ints = {-128, 255, 3, -1, 127, 0x1234, 7, -300};
    cm_fp_row_bytes(&byte[8], &byte[1], &ints);
    assert_memory_equal(byte, ((int8_t[]){0, 127, 0x34, 7, -44, 0, 0, 0, -128, -1, 3, -1, 0, 0, 0, 0}), sizeof byte);
    cm_fp_row_spread(&row, &words[9], &words[1]);
    for (uint32_t k = 0; k < CM_FP_ROW; k++) {
        assert_int_equal(row[k], k < 4 ? 1009 : 1001);
    }
    cm_fp_row_thirds(&row, (const uint8_t *)&words[5], (const uint8_t *)&words[1]);
    for (uint32_t k = 0; k < CM_FP_ROW; k++) {
        assert_int_equal(row[k], k < 4 ? 1005 + 3 * k : 1001 + 3 * (k - 4));
    }
    cm_fp_row_from_bytes(&row, (const uint8_t *)&byte[8], (const uint8_t *)&byte[1]);
    for (uint32_t k = 0; k < CM_FP_ROW; k++) {
        assert_int_equal((int32_t)row[k], byte[k < 4 ? 8 + k : 1 + k - 4]);
    }
    row = (cm_fp_row){0};
    assert_false(cm_fp_row_any(&row));
    for (uint32_t bit = 0; bit < 32 * CM_FP_ROW; bit++) {
        row = (cm_fp_row){0};
        row[bit / 32] = 1u << bit % 32;
        assert_true(cm_fp_row_any(&row));
        const cm_fp_row none = {0};
        assert_int_equal(cm_fp_row_equal(&row, &none), 0xFFu & ~(1u << bit / 32));
    }
    for (uint32_t lanes = 0; lanes < 1u << CM_FP_ROW; lanes++) {
        cm_fp_row_lanes(&row, lanes);
        for (uint32_t k = 0; k < CM_FP_ROW; k++) {
            assert_int_equal(row[k], (lanes >> k & 1u) != 0 ? UINT32_MAX : 0);
        }
    }
}

static void test_f32_to_i8(void **state) {
    (void)state;
    static const struct {
        float in;
        int out;
    } known[] = {{0.5f, 1},
                 {-0.5f, -1},
                 {1.5f, 2},
                 {2.5f, 3},
                 {-2.5f, -3},
                 {0.49999997f, 0},
                 {-0.49999997f, 0},
                 {126.49999f, 126},
                 {126.5f, 127},
                 {127.49f, 127},
                 {127.5f, 127},
                 {-126.5f, -127},
                 {-128.0f, -127},
                 {1e30f, 127},
                 {-1e30f, -127},
                 {3e9f, 127},
                 {-2147483648.0f, -127},
                 {1e-40f, 0},
                 {-0.0f, 0},
                 {8388607.5f, 127}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        assert_int_equal(cm_fp_f32_to_i8(float_bits(known[i].in)), known[i].out);
    }
    assert_int_equal(cm_fp_f32_to_i8(NAN_OUT), 0);
    assert_int_equal(cm_fp_f32_to_i8(0xFF800001u), 0);
    assert_int_equal(cm_fp_f32_to_i8(INF), 127);
    assert_int_equal(cm_fp_f32_to_i8(INF | SIGN), -127);
    /* every half and its neighbours on both sides */
    for (int h = -262; h <= 262; h++) {
        uint32_t v = float_bits((float)h / 2.0f);
        for (uint32_t d = 0; d < 3; d++) {
            assert_int_equal(cm_fp_f32_to_i8(v + d - 1), ref_i8(v + d - 1));
        }
    }
    uint64_t seed = 4;
    for (int i = 0; i < VECTORS; i++) {
        uint32_t v = corner(&seed);
        assert_int_equal(cm_fp_f32_to_i8(v), ref_i8(v));
    }
}

/* In integers: truncate, then look at what was cut off. */
static int32_t ref_f32_to_i32(uint32_t v) {
    if (is_nan(v)) {
        return 0;
    }
    parts p = unpack(v);
    if (is_inf(v) || (p.exp >= 8 && p.mant)) { /* mant is below 2^24 and, here, at least 2^23 */
        return p.sign ? INT32_MIN : INT32_MAX;
    }
    int64_t mag;
    if (p.exp >= 0) {
        mag = (int64_t)(p.mant << p.exp);
    } else if (p.exp < -40) {
        mag = 0;
    } else {
        const uint64_t rest = p.mant & ((1ull << -p.exp) - 1), half = 1ull << (-p.exp - 1);
        mag = (int64_t)(p.mant >> -p.exp);
        mag += rest > half || (rest == half && (mag & 1));
    }
    mag = p.sign ? -mag : mag;
    return mag > INT32_MAX ? INT32_MAX : mag < INT32_MIN ? INT32_MIN : (int32_t)mag;
}

static void test_f32_to_i32(void **state) {
    (void)state;
    static const struct {
        float in;
        int32_t out;
    } known[] = {{0.5f, 0},
                 {-0.5f, 0},
                 {0.50000006f, 1},
                 {1.5f, 2},
                 {2.5f, 2},
                 {-2.5f, -2},
                 {-3.5f, -4},
                 {8388607.5f, 8388608},
                 {8388606.5f, 8388606},
                 {16777216.0f, 16777216},
                 {2147483520.0f, 2147483520},
                 {2147483648.0f, INT32_MAX},
                 {-2147483648.0f, INT32_MIN},
                 {-2147483904.0f, INT32_MIN},
                 {1e-40f, 0},
                 {3e38f, INT32_MAX}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        assert_int_equal(cm_fp_f32_to_i32(float_bits(known[i].in)), known[i].out);
        assert_int_equal(ref_f32_to_i32(float_bits(known[i].in)), known[i].out);
    }
    assert_int_equal(cm_fp_f32_to_i32(NAN_OUT), 0);
    assert_int_equal(cm_fp_f32_to_i32(0xFF800001u), 0);
    assert_int_equal(cm_fp_f32_to_i32(INF), INT32_MAX);
    assert_int_equal(cm_fp_f32_to_i32(INF | SIGN), INT32_MIN);
    uint64_t seed = 5;
    for (int i = 0; i < VECTORS; i++) {
        uint32_t v = corner(&seed);
        if (i & 1) { /* exponents at which something happens */
            v = (v & ~0x7F800000u) | (uint32_t)(120 + next(&seed) % 42) << 23;
        }
        if (cm_fp_f32_to_i32(v) != ref_f32_to_i32(v)) {
            fail_msg("%08x: %d, expected %d", v, cm_fp_f32_to_i32(v), ref_f32_to_i32(v));
        }
    }
}

/* Position on the line of numbers; both zeros are at 0. */
static int64_t place(uint32_t v) {
    return v & SIGN ? -(int64_t)(v & ~SIGN) : (int64_t)v;
}

static void check_compare(uint32_t a, uint32_t b) {
    const int ordered = !is_nan(a) && !is_nan(b);
    const int lt = ordered && place(a) < place(b), eq = ordered && place(a) == place(b);
    if (cm_fp_lt(a, b) != lt || cm_fp_le(a, b) != (lt || eq) || cm_fp_eq(a, b) != eq) {
        fail_msg("%08x, %08x: lt %d le %d eq %d, expected %d %d %d", a, b, cm_fp_lt(a, b), cm_fp_le(a, b),
                 cm_fp_eq(a, b), lt, lt || eq, eq);
    }
    const uint32_t max = ordered && place(b) > place(a) ? b : a, min = lt || eq || !ordered ? a : b;
    if (cm_fp_max(a, b) != max || cm_fp_min(a, b) != min) {
        fail_msg("%08x, %08x: max %08x min %08x, expected %08x %08x", a, b, cm_fp_max(a, b), cm_fp_min(a, b), max, min);
    }
}

static void test_compare(void **state) {
    (void)state;
    static const uint32_t hard[] = {0,           SIGN,        1,           SIGN | 1,    0x007FFFFFu,
                                    0x00800000u, 0x3F800000u, 0xBF800000u, 0x7F7FFFFFu, 0xFF7FFFFFu,
                                    INF,         SIGN | INF,  NAN_OUT,     0xFFC12345u};
    const size_t count = sizeof hard / sizeof hard[0];
    for (size_t i = 0; i < count * count; i++) {
        check_compare(hard[i / count], hard[i % count]);
    }
    assert_true(cm_fp_eq(0, SIGN));
    assert_true(cm_fp_le(0, SIGN));
    assert_false(cm_fp_lt(SIGN, 0));
    assert_false(cm_fp_eq(NAN_OUT, NAN_OUT));
    assert_int_equal(cm_fp_max(SIGN, 0), SIGN); /* equal: the first one stays */
    assert_int_equal(cm_fp_min(0, SIGN), 0);
    assert_int_equal(cm_fp_max(0xFFC12345u, INF), 0xFFC12345u); /* bits kept */
    assert_int_equal(cm_fp_min(INF, 0xFFC12345u), INF);
    uint64_t seed = 6;
    for (int i = 0; i < VECTORS; i++) {
        uint32_t a = corner(&seed);
        uint32_t b = i & 1 ? corner(&seed) : a + (uint32_t)(next(&seed) % 5) - 2u;
        check_compare(a, b);
        check_compare(a, b ^ SIGN);
    }
}

static void test_relu(void **state) {
    (void)state;
    static const uint32_t kept[] = {0x3F800000u, 0x00000001u, INF, 0x7F7FFFFFu};
    static const uint32_t zeroed[] = {0u,         SIGN,    0xBF800000u,    0x80000001u,
                                      INF | SIGN, NAN_OUT, NAN_OUT | SIGN, 0x7F800001u};
    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++) {
        assert_int_equal(cm_fp_relu(kept[i]), kept[i]);
    }
    for (size_t i = 0; i < sizeof zeroed / sizeof zeroed[0]; i++) {
        assert_int_equal(cm_fp_relu(zeroed[i]), 0u);
    }
}

/* binary16 of the bits h, 0..0x7C00, as binary32: mant * 2^exp with integers, infinity for 0x7C00. */
static uint32_t half_value(uint32_t h) {
    const uint32_t e = h >> 10, f = h & 1023u;
    return h == 0x7C00u ? INF : round_pack(0, (e == 0 ? 1 : (int)e) - 25, e == 0 ? f : f | 1024u);
}

static void test_f16_to_f32(void **state) {
    (void)state;
    for (uint32_t h = 0; h <= 0xFFFFu; h++) {
        const uint32_t magnitude = h & 0x7FFFu, sign = (h & 0x8000u) << 16;
        const uint32_t expected = magnitude > 0x7C00u ? NAN_OUT : sign | half_value(magnitude);
        assert_int_equal(cm_fp_from_f16((uint16_t)h), expected);
    }
}

/* Every value of binary16, the middle between it and the next one, and the binary32 values beside this middle: all
 * places where the rounding changes. Behind the largest value it changes at 65520. */
static void test_f32_to_f16(void **state) {
    (void)state;
    for (uint32_t h = 0; h < 0x7C00u; h++) {
        const uint32_t e = h >> 10, mant = (h & 1023u) | (e == 0 ? 0 : 1024u);
        const uint32_t low = half_value(h), middle = round_pack(0, (e == 0 ? 1 : (int)e) - 26, 2 * mant + 1);
        for (uint32_t sign = 0; sign <= 1; sign++) {
            const uint32_t s = sign << 31, t = sign << 15;
            assert_int_equal(cm_fp_to_f16(s | low), t | h);
            assert_int_equal(cm_fp_to_f16(s | (middle - 1)), t | h);
            assert_int_equal(cm_fp_to_f16(s | middle), t | (h + (h & 1u)));
            assert_int_equal(cm_fp_to_f16(s | (middle + 1)), t | (h + 1));
        }
    }
    static const uint32_t special[][2] = {
        {INF, 0x7C00u},       {SIGN | INF, 0xFC00u}, {0x7F7FFFFFu, 0x7C00u}, {1, 0},
        {SIGN | 1u, 0x8000u}, {NAN_OUT, 0x7E00u},    {0x7F800001u, 0x7E00u}, {0xFFFFFFFFu, 0x7E00u}};
    for (size_t i = 0; i < sizeof special / sizeof special[0]; i++) {
        assert_int_equal(cm_fp_to_f16(special[i][0]), special[i][1]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_values),
        cmocka_unit_test(test_mul_add_random),
        cmocka_unit_test(test_products_around_smallest),
        cmocka_unit_test(test_i32_to_f32),
        cmocka_unit_test(test_f32_to_i8),
        cmocka_unit_test(test_lanes),
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_quantise_row),
        cmocka_unit_test(test_row_memory),
        cmocka_unit_test(test_quantise),
        cmocka_unit_test(test_relu),
        cmocka_unit_test(test_f32_to_i32),
        cmocka_unit_test(test_f16_to_f32),
        cmocka_unit_test(test_f32_to_f16),
        cmocka_unit_test(test_compare),
    };
    return cmocka_run_group_tests_name("cm_fp", tests, NULL, NULL);
}
