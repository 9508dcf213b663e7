/*
 * rng.h - counter-based random numbers in named streams.
 *
 * Draw i of a stream is a pure function of (seed, name, i): a new stream changes no draw of another one, and there is
 * no hidden state.
 */
#ifndef TB_RNG_H
#define TB_RNG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hash.h"

typedef struct tb_rng {
    uint64_t key; /* from seed and name */
    uint64_t ctr; /* number of the next draw */
} tb_rng;

/* The stream `name` of a seed. */
tb_rng tb_rng_stream(uint64_t seed, const char *name);
/* Sub-stream `index` of a stream (one per tensor, per port ...); does not draw from the parent. */
tb_rng tb_rng_fork(const tb_rng *rng, uint64_t index);
/* Seed of test `index` of a run: a pure function of its arguments. */
uint64_t tb_rng_test_seed(uint64_t run_seed, const char *test, uint64_t index);

/* Draw number i without advancing the stream. */
static inline uint64_t tb_rng_at(const tb_rng *rng, uint64_t i) {
    return tb_mix64(tb_mix64(rng->key + i * UINT64_C(0x9e3779b97f4a7c15)) ^ rng->key);
}

/* Next 64 uniform bits. */
static inline uint64_t tb_rng_u64(tb_rng *rng) {
    return tb_rng_at(rng, rng->ctr++);
}

/* Next 32 uniform bits. */
static inline uint32_t tb_rng_u32(tb_rng *rng) {
    return (uint32_t)(tb_rng_u64(rng) >> 32);
}

/* Uniform in [lo, hi], both included; lo when hi < lo. One draw. */
static inline uint64_t tb_rng_range(tb_rng *rng, uint64_t lo, uint64_t hi) {
    const uint64_t r = tb_rng_u64(rng);
    if (hi <= lo) {
        return lo;
    }
    const uint64_t span = hi - lo + 1;
    return span == 0 ? r : lo + (uint64_t)(((unsigned __int128)r * span) >> 64);
}

/* Uniform in [lo, hi] of signed numbers; lo when hi < lo. One draw. */
static inline int64_t tb_rng_range_i64(tb_rng *rng, int64_t lo, int64_t hi) {
    if (hi < lo) {
        hi = lo;
    }
    return (int64_t)((uint64_t)lo + tb_rng_range(rng, 0, (uint64_t)hi - (uint64_t)lo));
}

/* True with probability num/den (den > 0). One draw. */
static inline bool tb_rng_chance(tb_rng *rng, uint32_t num, uint32_t den) {
    return tb_rng_range(rng, 1, den) <= num;
}

/* Small values likely: uniform in the logarithm of (value - lo + 1). In [lo, hi]. One draw. */
uint64_t tb_rng_small(tb_rng *rng, uint64_t lo, uint64_t hi);
/* Index 0..count-1 with probability weight[i] / sum; 0 when the sum is 0. One draw. */
size_t tb_rng_weighted(tb_rng *rng, const uint32_t *weight, size_t count);
/* One of `count` (> 0) values. One draw. */
uint64_t tb_rng_pick(tb_rng *rng, const uint64_t *values, size_t count);

/* Uniform float in [0, 1), a multiple of 2^-24. One draw. */
float tb_rng_f32(tb_rng *rng);
/* Uniform float between lo and hi. One draw. */
float tb_rng_f32_range(tb_rng *rng, float lo, float hi);
/* Bits of a float with the corners likely: zeros, subnormals, powers of two, near-halves, largest, infinities, NaNs,
 * and any pattern. Two draws. */
uint32_t tb_rng_f32_hard(tb_rng *rng);
/* Fill memory with uniform bytes. (bytes + 7) / 8 draws. */
void tb_rng_fill(tb_rng *rng, void *dst, size_t bytes);

#endif
