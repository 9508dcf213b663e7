/*
 * num.h - arithmetic on sizes that the C library does not have. cmodel and drivers have their own headers, as they must
 * not include tb.
 */
#ifndef TB_NUM_H
#define TB_NUM_H

#include <stdint.h>

static inline uint32_t tb_min_u32(uint32_t a, uint32_t b) {
    return a < b ? a : b;
}

static inline uint64_t tb_min_u64(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

static inline uint64_t tb_max_u64(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

static inline int64_t tb_min_i64(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static inline int64_t tb_max_i64(int64_t a, int64_t b) {
    return a > b ? a : b;
}

/* a / b, rounded up; a + b - 1 must fit. */
static inline uint32_t tb_div_up(uint32_t a, uint32_t b) {
    return (a + b - 1) / b;
}

static inline uint64_t tb_div_up_u64(uint64_t a, uint64_t b) {
    return (a + b - 1) / b;
}

/* The next multiple of n, or v where it is one. */
static inline uint32_t tb_align_up(uint32_t v, uint32_t n) {
    return (v + n - 1) / n * n;
}

#endif
