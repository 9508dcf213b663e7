/*
 * cm_fp_lanes.h - operations of cm_fp.h on four values at once, bit for bit the same: tests/test_cm_fp.c compares them.
 *
 * The compiler does not find these vectors by itself: a comparison of floats may trap. They are vectors of the language
 * (GCC, Clang), on machines without vector registers four scalars.
 */
#ifndef CM_FP_LANES_H
#define CM_FP_LANES_H

#include "cm_fp.h"

#define CM_FP_LANES 4u
typedef uint32_t cm_fp_lanes __attribute__((vector_size(4 * CM_FP_LANES)));
typedef int32_t cm_fp_ints __attribute__((vector_size(4 * CM_FP_LANES)));
typedef float cm_fp_floats __attribute__((vector_size(4 * CM_FP_LANES)));

/* Lanes of `a` where `which` is all ones, of `b` where it is 0. */
static inline cm_fp_lanes cm_fp_choose(cm_fp_lanes which, cm_fp_lanes a, cm_fp_lanes b) {
    return (a & which) | (b & ~which);
}

/* The same value in all lanes. */
static inline cm_fp_lanes cm_fp_all(uint32_t v) {
    return (cm_fp_lanes){v, v, v, v};
}

static inline cm_fp_lanes cm_fp_canonical_lanes(cm_fp_floats f) {
    return cm_fp_choose((cm_fp_lanes)(f != f), cm_fp_all(CM_FP_NAN), (cm_fp_lanes)f);
}

static inline cm_fp_lanes cm_fp_mul_lanes(cm_fp_lanes a, cm_fp_lanes b) {
    return cm_fp_canonical_lanes((cm_fp_floats)a * (cm_fp_floats)b);
}

static inline cm_fp_lanes cm_fp_add_lanes(cm_fp_lanes a, cm_fp_lanes b) {
    return cm_fp_canonical_lanes((cm_fp_floats)a + (cm_fp_floats)b);
}

static inline cm_fp_lanes cm_fp_max_lanes(cm_fp_lanes a, cm_fp_lanes b) {
    return cm_fp_choose((cm_fp_lanes)((cm_fp_floats)b > (cm_fp_floats)a), b, a);
}

static inline cm_fp_lanes cm_fp_i32_to_f32_lanes(cm_fp_lanes v) {
    return (cm_fp_lanes) __builtin_convertvector((cm_fp_ints)v, cm_fp_floats);
}

/* cm_fp_f32_to_i8() as int32. */
static inline cm_fp_ints cm_fp_f32_to_i8_lanes(cm_fp_lanes v) {
    const cm_fp_ints size = (cm_fp_ints)(v & 0x7FFFFFFFu), number = size & ~(size > 0x7F800000);
    const cm_fp_lanes bounded =
        cm_fp_choose((cm_fp_lanes)(number > 0x42FE0000), cm_fp_all(0x42FE0000u), (cm_fp_lanes)number);
    const cm_fp_floats sum = (cm_fp_floats)bounded + (cm_fp_floats)cm_fp_all(0x3EFFFFFFu);
    const cm_fp_ints q = __builtin_convertvector(sum, cm_fp_ints), sign = (cm_fp_ints)v >> 31;
    return (q ^ sign) - sign;
}

#endif
