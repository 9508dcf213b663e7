/*
 * cm_fp_lanes.h - operations of cm_fp.h on four values at once ("lanes") or on eight (a "row"), bit for bit the same:
 * tests/test_cm_fp.c compares them.
 *
 * The compiler does not find these vectors by itself: a comparison of floats may trap. They are vectors of the language
 * (GCC, Clang); machines with narrower registers, or none, take several for each.
 */
#ifndef CM_FP_LANES_H
#define CM_FP_LANES_H

#include "cm_fp.h"

#ifdef __AVX__
#include <immintrin.h>
#endif

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

/* Is any bit set? */
static inline bool cm_fp_any(cm_fp_lanes v) {
    uint64_t part[CM_FP_LANES / 2];
    memcpy(part, &v, sizeof part);
    return (part[0] | part[1]) != 0;
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

static inline cm_fp_lanes cm_fp_relu_lanes(cm_fp_lanes v) {
    return (cm_fp_lanes)((cm_fp_floats)v > 0.0f) & v;
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

/*
 * ---- eight values, behind pointers: how functions get and return so large values would depend on the machine ----
 */

#define CM_FP_ROW 8u
typedef uint32_t cm_fp_row __attribute__((vector_size(4 * CM_FP_ROW)));
typedef int32_t cm_fp_row_ints __attribute__((vector_size(4 * CM_FP_ROW)));
typedef float cm_fp_row_floats __attribute__((vector_size(4 * CM_FP_ROW)));

/* Is any bit set? */
static inline bool cm_fp_row_any(const cm_fp_row *v) {
#ifdef __AVX__
    return _mm256_testz_si256((__m256i)*v, (__m256i)*v) == 0;
#else
    uint64_t part[CM_FP_ROW / 2];
    memcpy(part, v, sizeof part);
    return (part[0] | part[1] | part[2] | part[3]) != 0;
#endif
}

/* Four values from each of two places. */
static inline void cm_fp_row_load(cm_fp_row *y, const void *low, const void *high) {
#ifdef __AVX__
    const __m256i half = _mm256_castsi128_si256(_mm_loadu_si128((const __m128i_u *)low));
    *y = (cm_fp_row)_mm256_insertf128_si256(half, _mm_loadu_si128((const __m128i_u *)high), 1);
#else
    memcpy(y, low, sizeof *y / 2);
    memcpy((uint8_t *)y + sizeof *y / 2, high, sizeof *y / 2);
#endif
}

/* One value from each of two places, for four lanes. */
static inline void cm_fp_row_spread(cm_fp_row *y, const void *low, const void *high) {
#ifdef __AVX__
    const __m256 half = _mm256_castps128_ps256(_mm_broadcast_ss((const float *)low));
    *y = (cm_fp_row)_mm256_insertf128_ps(half, _mm_broadcast_ss((const float *)high), 1);
#else
    uint32_t a, b;
    memcpy(&a, low, sizeof a);
    memcpy(&b, high, sizeof b);
    *y = (cm_fp_row){a, a, a, a, b, b, b, b};
#endif
}

/* Every third value of those from each of two places on. */
static inline void cm_fp_row_thirds(cm_fp_row *y, const uint8_t *low, const uint8_t *high) {
#ifdef __AVX__
    cm_fp_row first, last; /* 0 and 3 of the four here, of all 0, 3, and 6, 9 */
    cm_fp_row_load(&first, low, high);
    cm_fp_row_load(&last, low + 24, high + 24);
    *y = (cm_fp_row)_mm256_shuffle_ps((__m256)first, (__m256)last, 0xCC);
#else
    for (uint32_t i = 0; i < CM_FP_ROW / 2; i++) {
        memcpy((uint8_t *)y + 4 * i, low + 12 * i, 4);
        memcpy((uint8_t *)y + sizeof *y / 2 + 4 * i, high + 12 * i, 4);
    }
#endif
}

/* Four signed bytes from each of two places. */
static inline void cm_fp_row_from_bytes(cm_fp_row *y, const uint8_t *low, const uint8_t *high) {
#ifdef __AVX2__
    int32_t a, b;
    memcpy(&a, low, sizeof a);
    memcpy(&b, high, sizeof b);
    *y = (cm_fp_row)_mm256_cvtepi8_epi32(_mm_insert_epi32(_mm_cvtsi32_si128(a), b, 1));
#else
    for (uint32_t i = 0; i < CM_FP_ROW / 2; i++) {
        (*y)[i] = (uint32_t)(int8_t)low[i];
        (*y)[CM_FP_ROW / 2 + i] = (uint32_t)(int8_t)high[i];
    }
#endif
}

/* All ones in these lanes (bit i for lane i), 0 in the others. */
static inline void cm_fp_row_lanes(cm_fp_row *y, uint32_t lanes) {
    const cm_fp_row own = {1, 2, 4, 8, 16, 32, 64, 128};
    *y = (cm_fp_row)((((cm_fp_row){0} + lanes) & own) == own);
}

/* The lanes that are equal: bit i for lane i. */
static inline uint32_t cm_fp_row_equal(const cm_fp_row *a, const cm_fp_row *b) {
    const cm_fp_row_ints equal = *a == *b;
#ifdef __AVX__
    return (uint32_t)_mm256_movemask_ps((__m256)equal);
#else
    uint32_t lanes = 0;
    for (uint32_t i = 0; i < CM_FP_ROW; i++) {
        lanes |= (uint32_t)equal[i] & 1u << i;
    }
    return lanes;
#endif
}

/* The low bytes of the lanes, four to each of two places. */
static inline void cm_fp_row_bytes(int8_t *low, int8_t *high, const cm_fp_row_ints *v) {
#ifdef __AVX2__
    const __m256i first = _mm256_shuffle_epi8((__m256i)*v, _mm256_set1_epi32(0x0C080400));
    const int32_t a = _mm256_extract_epi32(first, 0), b = _mm256_extract_epi32(first, 4);
    memcpy(low, &a, sizeof a);
    memcpy(high, &b, sizeof b);
#else
    for (uint32_t i = 0; i < CM_FP_ROW / 2; i++) {
        low[i] = (int8_t)(*v)[i];
        high[i] = (int8_t)(*v)[CM_FP_ROW / 2 + i];
    }
#endif
}

/* The byte of lane i goes to `to[i * apart]`, alone or (`second` is not 0) followed by that of lane i + 4. */
static inline void cm_fp_row_pairs(int8_t *to, uint32_t apart, uint32_t second, const cm_fp_row_ints *v) {
    cm_fp_ints low, high;
    memcpy(&low, v, sizeof low);
    memcpy(&high, (const uint8_t *)v + sizeof low, sizeof high);
    const cm_fp_ints pair = (low & 0xFF) | high << 8;
    for (uint32_t i = 0; i < CM_FP_LANES; i++) {
        const uint16_t two = (uint16_t)pair[i];
        if (second != 0) {
            memcpy(&to[i * apart], &two, sizeof two);
        } else {
            to[i * apart] = (int8_t)two;
        }
    }
}

/* Lanes of `a` where `which` is all ones, of `b` where it is 0. */
static inline void cm_fp_row_choose(cm_fp_row *y, const cm_fp_row *which, const cm_fp_row *a, const cm_fp_row *b) {
#ifdef __AVX2__
    *y = (cm_fp_row)_mm256_blendv_epi8((__m256i)*b, (__m256i)*a, (__m256i)*which);
#else
    *y = (*a & *which) | (*b & ~*which);
#endif
}

static inline void cm_fp_canonical_row(cm_fp_row *y, const cm_fp_row_floats *f) {
    const cm_fp_row nan = (cm_fp_row)(*f != *f), one_nan = (cm_fp_row){0} + CM_FP_NAN;
    cm_fp_row_choose(y, &nan, &one_nan, (const cm_fp_row *)f);
}

static inline void cm_fp_mul_row(cm_fp_row *y, const cm_fp_row *a, const cm_fp_row *b) {
    const cm_fp_row_floats product = (cm_fp_row_floats)*a * (cm_fp_row_floats)*b;
    cm_fp_canonical_row(y, &product);
}

static inline void cm_fp_add_row(cm_fp_row *y, const cm_fp_row *a, const cm_fp_row *b) {
    const cm_fp_row_floats sum = (cm_fp_row_floats)*a + (cm_fp_row_floats)*b;
    cm_fp_canonical_row(y, &sum);
}

static inline void cm_fp_i32_to_f32_row(cm_fp_row *y, const cm_fp_row *v) {
    *y = (cm_fp_row) __builtin_convertvector((cm_fp_row_ints)*v, cm_fp_row_floats);
}

/* |v|, at most `limit`, which is the bits of a number; NaN is 0. */
static inline void cm_fp_bounded_row(cm_fp_row_floats *y, const cm_fp_row *v, int32_t limit) {
    const cm_fp_row_ints number = (cm_fp_row_floats)*v == (cm_fp_row_floats)*v;
    const cm_fp_row_ints size = (cm_fp_row_ints)(*v & 0x7FFFFFFFu) & number, most = (cm_fp_row_ints){0} + limit;
#ifdef __AVX2__
    *y = (cm_fp_row_floats)_mm256_min_epi32((__m256i)size, (__m256i)most);
#else
    const cm_fp_row_ints over = size > most;
    *y = (cm_fp_row_floats)((size & ~over) | (most & over));
#endif
}

/* q, or -q where the sign of the number v is set; where v is 0, q is 0. */
static inline void cm_fp_signed_row(cm_fp_row_ints *y, const cm_fp_row_ints *q, const cm_fp_row *v) {
#ifdef __AVX2__
    *y = (cm_fp_row_ints)_mm256_sign_epi32((__m256i)*q, (__m256i)*v);
#else
    const cm_fp_row_ints sign = (cm_fp_row_ints)*v >> 31;
    *y = (*q ^ sign) - sign;
#endif
}

/* cm_fp_f32_to_i8() as int32. */
static inline void cm_fp_f32_to_i8_row(cm_fp_row_ints *y, const cm_fp_row *v) {
    cm_fp_row_floats size;
    cm_fp_bounded_row(&size, v, 0x42FE0000); /* 127.0 */
    const cm_fp_row_ints q = __builtin_convertvector(size + cm_fp_to_float(0x3EFFFFFFu), cm_fp_row_ints);
    cm_fp_signed_row(y, &q, v);
}

/* cm_fp_quantise() as int32. A call, so that its constants are loaded where a task uses it only. */
__attribute__((unused, noinline)) static void cm_fp_quantise_row(cm_fp_row_ints *y, const cm_fp_row *v,
                                                                 const cm_fp_row *quant) {
    const cm_fp_row_ints even = (cm_fp_row_ints)*quant >> 8, full = (cm_fp_row_ints)*quant >> 9;
    cm_fp_row_floats size;
    cm_fp_bounded_row(&size, v, 0x44000000); /* 512.0: beyond any zero-point */
    cm_fp_row_ints q = __builtin_convertvector(size + cm_fp_to_float(0x3EFFFFFFu), cm_fp_row_ints);
    /* a half that was rounded to an odd number; the difference of numbers so near each other is exact */
    q -= (__builtin_convertvector(q, cm_fp_row_floats) - size == 0.5f) & q & even & 1;
    cm_fp_signed_row(&q, &q, v);
    q += (cm_fp_row_ints)(*quant << 24) >> 24;
    const cm_fp_row_ints least = -127 - (full & 1), low = least > q, high = q > 127;
    *y = (q & ~(low | high)) | (least & low) | (127 & high);
}

#endif
