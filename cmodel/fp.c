/*
 * fp.c - the FP32 steps of docs/npu.md section 2.
 *
 * The operations are those of the host's C float, which is IEEE-754 binary32 with round to nearest even and subnormals kept on every host
 * that we build for; -ffp-contract=off keeps each of them a step of its own. What the standard leaves open, the bits of a NaN result, is
 * fixed here. tests/test_cm_fp.c holds this file to an implementation in integers.
 */
#include "cmodel.h"

#include <string.h>

#define FP_NAN 0x7FC00000u

static float to_float(uint32_t bits) {
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

static uint32_t to_bits(float f) {
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return bits;
}

/* Hosts differ in sign and payload of the NaN that an operation makes; the NPU knows one. */
static uint32_t canonical(float f) {
    return f != f ? FP_NAN : to_bits(f);
}

uint32_t cm_fp_mul(uint32_t a, uint32_t b) {
    return canonical(to_float(a) * to_float(b));
}

uint32_t cm_fp_add(uint32_t a, uint32_t b) {
    return canonical(to_float(a) + to_float(b));
}

uint32_t cm_fp_sub(uint32_t a, uint32_t b) {
    return canonical(to_float(a) - to_float(b));
}

uint32_t cm_fp_i32_to_f32(int32_t v) {
    return to_bits((float)v);
}

int8_t cm_fp_f32_to_i8(uint32_t v) {
    float f = to_float(v);
    if (f != f) {
        return 0;
    }
    if (f >= 127.0f) {
        return 127;
    }
    if (f <= -127.0f) {
        return -127;
    }
    int whole = (int)f;            /* towards zero */
    float rest = f - (float)whole; /* exact: fewer bits than f */
    if (rest >= 0.5f) {
        whole += 1;
    } else if (rest <= -0.5f) {
        whole -= 1;
    }
    return (int8_t)whole;
}

uint32_t cm_fp_relu(uint32_t v) {
    return to_float(v) > 0.0f ? v : 0u;
}

int32_t cm_fp_f32_to_i32(uint32_t v) {
    double d = to_float(v); /* holds a float and its neighbouring integers exactly */
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

bool cm_fp_lt(uint32_t a, uint32_t b) {
    return to_float(a) < to_float(b);
}

bool cm_fp_le(uint32_t a, uint32_t b) {
    return to_float(a) <= to_float(b);
}

bool cm_fp_eq(uint32_t a, uint32_t b) {
    return to_float(a) == to_float(b);
}

uint32_t cm_fp_max(uint32_t a, uint32_t b) {
    return to_float(b) > to_float(a) ? b : a;
}

uint32_t cm_fp_min(uint32_t a, uint32_t b) {
    return to_float(b) < to_float(a) ? b : a;
}
