/*
 * alu_func.c - the functions of the ALU: docs/npu/npu.md section 2. The coefficients are those of regs/func_fit.txt
 * (func_table.h).
 */
#include "cmodel.h"

#include "func_table.h"
#include "npu_regs.h"

#define INF 0x7F800000u
#define SIGN 0x80000000u
#define UNIT 24 /* a segment is 2^24 units wide */

/* floor(a / 2^bits), also of a negative number. */
static int64_t floor_shift(int64_t a, uint32_t bits) {
    const int64_t unit = INT64_C(1) << bits;
    return a >= 0 ? a / unit : -((unit - 1 - a) / unit);
}

/* The polynomial of a segment at u / 2^24, rounded down after each product. */
static int64_t polynomial(const int64_t c[4], int64_t u) {
    int64_t s = c[3];
    for (int k = 2; k >= 0; k--) {
        s = c[k] + floor_shift(s * u, UNIT);
    }
    return s;
}

/* s * 2^exponent, rounded once. s has at most 33 bits, so the product is exact in binary64. */
static uint32_t rounded(int64_t s, int32_t exponent) {
    const uint64_t bits = (uint64_t)(exponent + 1023) << 52;
    double power;
    memcpy(&power, &bits, sizeof power);
    return cm_fp_to_bits((float)((double)s * power));
}

/* Exponent and fraction of |v| = (2^23 + *fraction) * 2^(*exponent - 23), v neither zero nor infinite. */
static void split(uint32_t v, int32_t *exponent, uint32_t *fraction) {
    *exponent = (int32_t)(v >> 23 & 0xFFu) - 127;
    *fraction = v & 0x7FFFFFu;
    if (*exponent == -127) { /* subnormal */
        *exponent = -126;
        while (*fraction < 0x800000u) {
            *fraction *= 2;
            --*exponent;
        }
        *fraction -= 0x800000u;
    }
}

static uint32_t exponential(uint32_t v) {
    const bool negative = (v & SIGN) != 0;
    const uint32_t field = v >> 23 & 0xFFu;
    if (field >= 134) { /* 128 and more */
        return negative ? 0 : INF;
    }
    const uint64_t mantissa = (v & 0x7FFFFFu) | (field != 0 ? 0x800000u : 0);
    const uint32_t shift = 158 - (field != 0 ? field : 1);
    const int64_t size = shift > 63 ? 0 : (int64_t)(mantissa * FUNC_LOG2E >> shift);
    const int64_t t = negative ? -size : size;
    const int64_t k = floor_shift(t, 28);
    const int64_t part = t - k * (INT64_C(1) << 28);
    return rounded(polynomial(func_exp[part >> UNIT], part & ((1 << UNIT) - 1)), (int32_t)k - 30);
}

static uint32_t reciprocal(uint32_t v) {
    int32_t exponent;
    uint32_t fraction;
    if ((v & ~SIGN) == 0 || (v & ~SIGN) == INF) {
        return (v & SIGN) | ((v & ~SIGN) == 0 ? INF : 0);
    }
    split(v, &exponent, &fraction);
    return (v & SIGN) | rounded(polynomial(func_recip[fraction >> 18], (fraction & 0x3FFFFu) << 6), -exponent - 31);
}

static uint32_t inverse_root(uint32_t v) {
    int32_t exponent;
    uint32_t fraction;
    if ((v & ~SIGN) == 0) {
        return v | INF;
    }
    if ((v & SIGN) != 0) {
        return CM_FP_NAN;
    }
    if (v == INF) {
        return 0;
    }
    split(v, &exponent, &fraction);
    const uint32_t odd = (uint32_t)exponent & 1u;
    const int64_t s = polynomial(func_rsqrt[32 * odd + (fraction >> 18)], (fraction & 0x3FFFFu) << 6);
    return rounded(s, -(exponent - (int32_t)odd) / 2 - 31);
}

uint32_t cm_func(uint32_t func, uint32_t v) {
    if (func != NPU_ALU_ACT_FUNC_NONE && (v & ~SIGN) > INF) {
        return CM_FP_NAN;
    }
    switch (func) {
    case NPU_ALU_ACT_FUNC_EXP:
        return exponential(v);
    case NPU_ALU_ACT_FUNC_RECIP:
        return reciprocal(v);
    case NPU_ALU_ACT_FUNC_RSQRT:
        return inverse_root(v);
    default:
        return v;
    }
}
