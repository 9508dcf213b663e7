/*
 * act.c - activations: docs/npu/npu.md section 2. The coefficients are those of regs/act_fit.txt (act_table.h).
 */
#include "cmodel.h"

#include <string.h>

#include "act_table.h"

#define FP_NAN 0x7FC00000u
#define FP_ONE 0x3F800000u
#define FP_MINUS_ONE 0xBF800000u

static float to_float(uint32_t bits) {
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

/* The limit of a function for v <= -R (negative) and v >= R. */
static uint32_t fit_limit(int fn, bool negative, uint32_t v) {
    switch (fn) {
    case ACT_FIT_SIGMOID:
        return negative ? 0u : FP_ONE;
    case ACT_FIT_TANH:
        return negative ? FP_MINUS_ONE : FP_ONE;
    case ACT_FIT_EXPM1:
        return negative ? FP_MINUS_ONE : v;
    default: /* SWISH, MISH, SOFTPLUS, GELU, GELU_TANH */
        return negative ? 0u : v;
    }
}

static uint32_t fitted(int fn, uint32_t v) {
    const float x = to_float(v);
    const bool negative = (v >> 31) != 0;
    if (x != x) {
        return FP_NAN;
    }
    const float mag = negative ? -x : x;
    if (mag >= act_fit_bound[fn]) {
        return fit_limit(fn, negative, v);
    }
    const int segment = (int)(mag * ((float)ACT_FIT_SEGMENTS / act_fit_bound[fn])); /* a power of two: exact */
    const uint32_t *c = act_fit[fn][negative][segment];
    return cm_fp_add(cm_fp_mul(cm_fp_add(cm_fp_mul(c[0], v), c[1]), v), c[2]);
}

/* v*P0 + P1 */
static uint32_t line(const uint32_t p[4], uint32_t v) {
    return cm_fp_add(cm_fp_mul(v, p[0]), p[1]);
}

uint32_t cm_activate(uint32_t act, const uint32_t p[4], uint32_t v) {
    switch (act) {
    case CM_ACT_RELU:
        return cm_fp_relu(v);
    case CM_ACT_LEAKY:
        return cm_fp_lt(0, v) ? v : cm_fp_mul(v, p[0]);
    case CM_ACT_CLIP:
        return cm_fp_lt(v, p[0]) ? p[0] : cm_fp_lt(p[1], v) ? p[1] : v;
    case CM_ACT_HARDSWISH:
        return cm_fp_lt(v, p[2]) ? 0u : cm_fp_lt(p[3], v) ? v : cm_fp_mul(line(p, v), v);
    case CM_ACT_HARDSIGMOID:
        return cm_fp_lt(v, p[2]) ? 0u : cm_fp_lt(p[3], v) ? FP_ONE : line(p, v);
    case CM_ACT_SIGMOID:
        return fitted(ACT_FIT_SIGMOID, v);
    case CM_ACT_TANH:
        return fitted(ACT_FIT_TANH, v);
    case CM_ACT_SWISH:
        return fitted(ACT_FIT_SWISH, v);
    case CM_ACT_MISH:
        return fitted(ACT_FIT_MISH, v);
    case CM_ACT_ELU:
        return cm_fp_lt(0, v) ? v : cm_fp_mul(p[0], fitted(ACT_FIT_EXPM1, v));
    case CM_ACT_SOFTPLUS:
        return fitted(ACT_FIT_SOFTPLUS, v);
    case CM_ACT_GELU:
        return fitted(ACT_FIT_GELU, v);
    case CM_ACT_GELU_TANH:
        return fitted(ACT_FIT_GELU_TANH, v);
    default:
        return v;
    }
}
