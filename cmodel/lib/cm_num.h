/*
 * cm_num.h - arithmetic on sizes.
 */
#ifndef CM_NUM_H
#define CM_NUM_H

#include <stdint.h>

static inline uint32_t cm_min_u32(uint32_t a, uint32_t b) {
    return a < b ? a : b;
}

static inline uint64_t cm_min_u64(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

/* a / b, rounded up; a + b - 1 must fit. */
static inline uint32_t cm_div_up(uint32_t a, uint32_t b) {
    return (a + b - 1) / b;
}

/* The next multiple of n, or v where it is one. */
static inline uint32_t cm_align_up(uint32_t v, uint32_t n) {
    return (v + n - 1) / n * n;
}

#endif
