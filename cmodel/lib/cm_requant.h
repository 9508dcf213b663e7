/*
 * cm_requant.h - requantisation in integers, m0 * 2^-s in place of a factor in FP32: document 002, equations 4.7 and
 * 4.10.
 *
 * No hardware has it: the NPU multiplies in FP32 (docs/npu/npu.md section 2), which is what onnxruntime does. It is
 * here to compare the two; tests/test_driver_quant.c prints how often they differ.
 */
#ifndef CM_REQUANT_H
#define CM_REQUANT_H

#include <stdint.h>

/* m0 of `bits` bits (2..24) and s with m0 * 2^-s nearest to m, 2^-63 <= m < 1. */
static inline void cm_requant_factor(double m, uint32_t bits, int64_t *m0, uint32_t *s) {
    const double least = (double)(UINT64_C(1) << (bits - 1));
    *s = 0;
    while (m < least) {
        m *= 2;
        ++*s;
    }
    *m0 = (int64_t)(m + 0.5);
}

/* acc * m0 * 2^-s, half away from zero (s = 0 does not round), behind the zero-point, in -128..127. */
static inline int8_t cm_requant_int(int32_t acc, int64_t m0, uint32_t s, int8_t zero) {
    int64_t p = acc * m0;
    if (s != 0) {
        const int64_t half = INT64_C(1) << (s - 1);
        p += p < 0 ? half - 1 : half;              /* the shift rounds down */
        p = p < 0 ? -((-p - 1) >> s) - 1 : p >> s; /* of a negative number C leaves it open */
    }
    p += zero;
    return (int8_t)(p > 127 ? 127 : p < -128 ? -128 : p);
}

#endif
