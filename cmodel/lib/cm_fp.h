/*
 * cm_fp.h - the FP32 steps of docs/npu/npu.md section 2, on bits of binary32.
 *
 * The operations are those of the host's C float, which is IEEE-754 binary32 with round to nearest even and subnormals
 * kept on every host that we build for; -ffp-contract=off keeps each of them a step of its own. The bits of a NaN
 * result, which the standard leaves open, are fixed here. tests/test_cm_fp.c compares this file with an implementation
 * in integers. They are inline: checks of running designs call them for every value.
 */
#ifndef CM_FP_H
#define CM_FP_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define CM_FP_NAN 0x7FC00000u

/* The value of a pattern, and back. */
static inline float cm_fp_to_float(uint32_t bits) {
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

static inline uint32_t cm_fp_to_bits(float f) {
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return bits;
}

/* Hosts differ in sign and payload of the NaN that an operation returns; the NPU has a single one. */
static inline uint32_t cm_fp_canonical(float f) {
    return f != f ? CM_FP_NAN : cm_fp_to_bits(f);
}

static inline uint32_t cm_fp_mul(uint32_t a, uint32_t b) {
    return cm_fp_canonical(cm_fp_to_float(a) * cm_fp_to_float(b));
}

static inline uint32_t cm_fp_add(uint32_t a, uint32_t b) {
    return cm_fp_canonical(cm_fp_to_float(a) + cm_fp_to_float(b));
}

static inline uint32_t cm_fp_sub(uint32_t a, uint32_t b) {
    return cm_fp_canonical(cm_fp_to_float(a) - cm_fp_to_float(b));
}

static inline uint32_t cm_fp_i32_to_f32(int32_t v) {
    return cm_fp_to_bits((float)v);
}

/* one rounding */
static inline uint32_t cm_fp_i64_to_f32(int64_t v) {
    return cm_fp_to_bits((float)v);
}

/* half away from zero, -32767..32767, NaN -> 0 */
static inline int16_t cm_fp_f32_to_i16(uint32_t v) {
    const double d = cm_fp_to_float(v); /* a double holds the sum with 1/2 */
    const double number = d != d ? 0.0 : d > 32767.0 ? 32767.0 : d < -32767.0 ? -32767.0 : d;
    return (int16_t)(number < 0 ? number - 0.5 : number + 0.5);
}

/*
 * half away from zero, -127..127, NaN -> 0. Without branches, which would follow the data, so the magnitude is bounded
 * as an integer, which orders numbers like their bits. To it the largest number below 1/2 is added, and the fraction
 * dropped: the sum reaches the next integer for fractions of 1/2 and more, and for no other.
 */
static inline int8_t cm_fp_f32_to_i8(uint32_t v) {
    const uint32_t size = v & 0x7FFFFFFFu, number = size > 0x7F800000u ? 0 : size;
    const uint32_t bounded = number > 0x42FE0000u ? 0x42FE0000u : number; /* 127.0 */
    const int32_t q = (int32_t)(cm_fp_to_float(bounded) + cm_fp_to_float(0x3EFFFFFFu)), sign = -(int32_t)(v >> 31);
    return (int8_t)((q ^ sign) - sign);
}

/* A quantiser: rounding, zero-point and clamp in one word, as GEMM_QUANT has them (docs/npu/npu.md section 2). */
#define CM_QUANT(full, rne, zero) ((uint32_t)(full) << 9 | (uint32_t)(rne) << 8 | ((uint32_t)(zero)&0xFFu))

/* Round, half away from zero or (rne) to even; add the zero-point; clamp to -127..127, with `full` to -128..127.
 * NaN counts as 0. quant: CM_QUANT. */
static inline int8_t cm_fp_quantise(uint32_t v, uint32_t quant) {
    if (quant == 0) {
        return cm_fp_f32_to_i8(v);
    }
    double d = cm_fp_to_float(v);
    d = d != d ? 0.0 : d > 512.0 ? 512.0 : d < -512.0 ? -512.0 : d; /* beyond any zero-point */
    int q = (int)(d < 0 ? d - 0.5 : d + 0.5);
    if ((quant & 0x100u) != 0 && (q - d == 0.5 || d - q == 0.5) && q % 2 != 0) { /* a half, and the odd neighbour */
        q += d < 0 ? 1 : -1;
    }
    q += (int8_t)(quant & 0xFFu);
    const int least = (quant & 0x200u) != 0 ? -128 : -127;
    return (int8_t)(q > 127 ? 127 : q < least ? least : q);
}

/* v > 0 ? v : +0 */
static inline uint32_t cm_fp_relu(uint32_t v) {
    return cm_fp_to_float(v) > 0.0f ? v : 0u;
}

/* round to nearest even, saturate, NaN -> 0 */
static inline int32_t cm_fp_f32_to_i32(uint32_t v) {
    double d = cm_fp_to_float(v); /* holds a float and its neighbouring integers exactly */
    if (d != d) {
        return 0;
    }
    if (d >= 2147483647.0) {
        return INT32_MAX;
    }
    if (d <= -2147483648.0) {
        return INT32_MIN;
    }
    int32_t whole = (int32_t)d; /* towards zero */
    double rest = d - whole;
    if (rest > 0.5 || (rest == 0.5 && (whole & 1))) {
        return whole + 1;
    }
    if (rest < -0.5 || (rest == -0.5 && (whole & 1))) {
        return whole - 1;
    }
    return whole;
}

/* a < b; false when one is NaN; -0 equals +0 */
static inline bool cm_fp_lt(uint32_t a, uint32_t b) {
    return cm_fp_to_float(a) < cm_fp_to_float(b);
}

static inline bool cm_fp_le(uint32_t a, uint32_t b) {
    return cm_fp_to_float(a) <= cm_fp_to_float(b);
}

static inline bool cm_fp_eq(uint32_t a, uint32_t b) {
    return cm_fp_to_float(a) == cm_fp_to_float(b);
}

/* b > a ? b : a, bits kept: a when one is NaN or both are zeros */
static inline uint32_t cm_fp_max(uint32_t a, uint32_t b) {
    return cm_fp_to_float(b) > cm_fp_to_float(a) ? b : a;
}

/* b < a ? b : a, bits kept */
static inline uint32_t cm_fp_min(uint32_t a, uint32_t b) {
    return cm_fp_to_float(b) < cm_fp_to_float(a) ? b : a;
}

/* binary16 to binary32, exact; NaN -> CM_FP_NAN */
static inline uint32_t cm_fp_from_f16(uint16_t h) {
    const uint32_t sign = (uint32_t)(h >> 15) << 31;
    const int exponent = (h >> 10) & 31;
    const int fraction = h & 1023;
    if (exponent == 31) {
        return fraction != 0 ? CM_FP_NAN : sign | 0x7F800000u;
    }
    /* an integer below 2^11 times a power of two: both steps are exact */
    const int power = (exponent == 0 ? 1 : exponent) - 25;
    const float scale = cm_fp_to_float((uint32_t)(power + 127) << 23);
    return sign | cm_fp_to_bits((float)(exponent == 0 ? fraction : fraction + 1024) * scale);
}

/* binary32 to binary16: round to nearest even, |v| >= 65520 -> infinity, NaN -> 0x7E00 */
static inline uint16_t cm_fp_to_f16(uint32_t v) {
    const uint16_t sign = (uint16_t)(v >> 31 << 15);
    const float f = cm_fp_to_float(v & 0x7FFFFFFFu);
    if (f != f) {
        return 0x7E00;
    }
    if (f >= 65520.0f) {
        return (uint16_t)(sign | 0x7C00);
    }
    /* Above 2^-14 a unit in the last place of binary16 is 2^-10 of the leading bit, below it is 2^-24. */
    const int exponent = (int)((v >> 23) & 255) - 127;
    const int unit = (exponent < -14 ? -14 : exponent) - 10;
    /* Scaled by powers of two in double: nothing is lost but the digits that the sum with 2^52 rounds away. */
    double units = (double)f;
    for (int i = unit; i < 0; i++) {
        units *= 2.0;
    }
    for (int i = 0; i < unit; i++) {
        units *= 0.5;
    }
    const uint32_t whole = (uint32_t)(units + 4503599627370496.0 - 4503599627370496.0);
    /* whole is below 1024 for subnormals, else 1024 to 2048: a carry runs into the exponent */
    return (uint16_t)(sign | (exponent < -14 ? whole : whole + ((uint32_t)(exponent + 14) << 10)));
}

#endif
