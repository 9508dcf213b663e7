/* ref.c - quantiser and activations, by their definition. */
#include "ref.h"

#include <math.h>
#include <string.h>

#define CANONICAL_NAN 0x7FC00000u

/* roundf() rounds halves away from zero. */
int8_t ref_quantise(uint32_t x, uint32_t scale) {
    const float v = roundf(ref_float(x) * ref_float(scale));
    return isnan(v) ? (int8_t)0 : v > 127.0f ? (int8_t)127 : v < -127.0f ? (int8_t)-127 : (int8_t)v;
}

int8_t ref_quantise_to(uint32_t x, uint32_t scale, int8_t zero, const npu_quant *quant) {
    const float v = ref_float(x) * ref_float(scale);
    /* the host rounds to nearest even */
    const double q = (double)(isnan(v) ? 0.0f : quant->to_even ? nearbyintf(v) : roundf(v)) + zero;
    const double least = quant->full ? -128.0 : -127.0;
    return (int8_t)(q > 127.0 ? 127.0 : q < least ? least : q);
}

static ref_value exactly(uint32_t bits) {
    return (ref_value){.exact = true, .bits = bits};
}

static ref_value nearly(double value, double error) {
    const double slack = error + fabs(value) * 1e-6 + 0x1p-149; /* the last rounding, also of a subnormal */
    return (ref_value){.exact = false, .lo = value - slack, .hi = value + slack};
}

/* Both functions have the line alpha*v + beta between their two ends. */
static ref_value hard(bool swish, const uint32_t act_p[2], uint32_t y) {
    const float v = ref_float(y);
    const float alpha = ref_float(act_p[0]);
    const float beta = ref_float(act_p[1]);
    const float lower = -beta / alpha;
    const float inverse = 1.0f / alpha;
    const float upper = inverse + lower;
    const float product = v * alpha;
    const float line = product + beta;
    if (v < lower) {
        return exactly(0);
    }
    if (v > upper) {
        return exactly(swish ? y : ref_bits(1.0f));
    }
    return exactly(ref_bits(swish ? line * v : line));
}

/* Beyond the range of the fit: the limit. */
static ref_value limit_of(npu_act act, const uint32_t act_p[2], uint32_t y) {
    const bool positive = ref_float(y) > 0.0f;
    switch (act) {
    case NPU_ACT_SIGMOID:
        return exactly(positive ? ref_bits(1.0f) : 0);
    case NPU_ACT_TANH:
        return exactly(ref_bits(positive ? 1.0f : -1.0f));
    case NPU_ACT_ELU:
        return exactly(ref_bits(ref_float(act_p[0]) * -1.0f));
    default:
        return exactly(positive ? y : 0);
    }
}

/* Largest errors: docs/npu/activations.md, rounded up. */
static ref_value fitted(npu_act act, const uint32_t act_p[2], uint32_t y) {
    const double v = (double)ref_float(y);
    const double size = fabs(v) > 1.0 ? fabs(v) : 1.0;
    if (isnan(v)) {
        return exactly(CANONICAL_NAN);
    }
    const bool four = act == NPU_ACT_TANH || act == NPU_ACT_GELU || act == NPU_ACT_GELU_TANH;
    if (fabs(v) >= (four ? 4.0 : 8.0)) {
        return limit_of(act, act_p, y);
    }
    switch (act) {
    case NPU_ACT_SIGMOID:
        return nearly(1.0 / (1.0 + exp(-v)), 3.36e-4);
    case NPU_ACT_TANH:
        return nearly(tanh(v), 6.71e-4);
    case NPU_ACT_SWISH:
        return nearly(v / (1.0 + exp(-v)), 3.36e-4 * size);
    case NPU_ACT_MISH:
        return nearly(v * tanh(log1p(exp(v))), 4.11e-4 * size);
    case NPU_ACT_SOFTPLUS:
        return nearly(log1p(exp(v)), 6.76e-5 * size);
    case NPU_ACT_GELU:
        return nearly(v / 2.0 * erfc(-v / sqrt(2.0)), 6.84e-5 * size);
    case NPU_ACT_GELU_TANH:
        return nearly(v / 2.0 * (1.0 + tanh(sqrt(2.0 / acos(-1.0)) * (v + 0.044715 * v * v * v))), 6.81e-5 * size);
    default: { /* ELU */
        const double alpha = (double)ref_float(act_p[0]);
        return nearly(alpha * expm1(v), 6.64e-4 * size * fabs(alpha));
    }
    }
}

ref_value ref_act(npu_act act, const uint32_t act_p[2], uint32_t y) {
    const float v = ref_float(y);
    switch (act) {
    case NPU_ACT_NONE:
        return exactly(y);
    case NPU_ACT_RELU:
        return exactly(v > 0.0f ? y : 0);
    case NPU_ACT_LEAKY:
        return exactly(v > 0.0f ? y : ref_bits(v * ref_float(act_p[0])));
    case NPU_ACT_CLIP:
        return exactly(v < ref_float(act_p[0]) ? act_p[0] : v > ref_float(act_p[1]) ? act_p[1] : y);
    case NPU_ACT_HARDSWISH:
    case NPU_ACT_HARDSIGMOID:
        return hard(act == NPU_ACT_HARDSWISH, act_p, y);
    case NPU_ACT_ELU:
        return v > 0.0f ? exactly(y) : fitted(act, act_p, y);
    default:
        return fitted(act, act_p, y);
    }
}

/* 3/4 of a unit in the last place: docs/npu/npu.md section 2. */
ref_value ref_func(npu_func func, uint32_t y) {
    const double v = (double)ref_float(y);
    const double value = func == NPU_FUNC_EXP ? exp(v) : func == NPU_FUNC_RECIP ? 1.0 / v : 1.0 / sqrt(v);
    int exponent = 0;
    if (func == NPU_FUNC_NONE) {
        return exactly(y);
    }
    if (isnan(value)) {
        return exactly(CANONICAL_NAN);
    }
    if (isinf(value) || value == 0.0) {
        return exactly(ref_bits((float)value));
    }
    (void)frexp(value, &exponent);
    const double slack = 0.75 * ldexp(1.0, exponent - 24 < -149 ? -149 : exponent - 24);
    const double hi = value + slack, lo = value - slack, most = 0x1.fffffep127;
    return (ref_value){.exact = false, .lo = lo < -most ? -INFINITY : lo, .hi = hi > most ? INFINITY : hi};
}

bool ref_is_f32(const ref_value *value, uint32_t got) {
    const double v = (double)ref_float(got);
    return value->exact ? got == value->bits : v >= value->lo && v <= value->hi;
}

bool ref_is_i8(const ref_value *value, uint32_t scale, const npu_quant *quant, int8_t got) {
    if (value->exact) {
        return got == ref_quantise_to(value->bits, scale, quant->out_zero, quant);
    }
    const int8_t a = ref_quantise_to(ref_bits((float)value->lo), scale, quant->out_zero, quant);
    const int8_t b = ref_quantise_to(ref_bits((float)value->hi), scale, quant->out_zero, quant);
    return got >= (a < b ? a : b) && got <= (a < b ? b : a);
}

double ref_middle(const ref_value *value) {
    return value->exact ? (double)ref_float(value->bits) : (value->lo + value->hi) / 2;
}
