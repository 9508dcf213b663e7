/*
 * fields.h - many signals of few bits, read together. Most of them lie near each other in the design's memory, so a few
 * pieces of it hold all of them. Pieces are found at open; a check uses copies of them, or compares them with pieces of
 * expected values.
 */
#ifndef NPU_SCORE_FIELDS_H
#define NPU_SCORE_FIELDS_H

#include "score.h"
#ifdef __AVX__
#include <immintrin.h>
#endif

#define NPU_SCORE_PIECE 16u  /* bytes */
#define NPU_SCORE_PIECES 20u /* at most, as many as signals */

typedef uint64_t npu_score_piece __attribute__((vector_size(NPU_SCORE_PIECE), aligned(8), may_alias));
typedef uint64_t npu_score_piece_at __attribute__((vector_size(NPU_SCORE_PIECE), aligned(1), may_alias));

typedef struct npu_score_fields {
    const npu_score_piece_at *piece[NPU_SCORE_PIECES]; /* those beyond `count` are the first one again */
    uint32_t count;
} npu_score_fields;

static inline bool npu_score_fields_any(npu_score_piece v) {
#ifdef __AVX__
    return _mm_testz_si128((__m128i)v, (__m128i)v) == 0;
#else
    return (v[0] | v[1]) != 0;
#endif
}

/* Do two rows of 32 bytes differ? */
static inline bool npu_score_rows_differ(const void *a, const void *b) {
    const npu_score_piece_at *x = (const npu_score_piece_at *)a, *y = (const npu_score_piece_at *)b;
    return npu_score_fields_any((x[0] ^ y[0]) | (x[1] ^ y[1]));
}

/* Expected values, and the bits that count. */
typedef struct npu_score_want {
    npu_score_piece value, mask;
} npu_score_want;

/*
 * Find the pieces of `count` signals of up to 8 bits. Signal i is byte at[i] of the array `want`, where all their bits
 * count, or without `want` of the pieces themselves. `wide`: a signal of the same design, of at least the size of a
 * piece, as the memory between signals of a design may be read, but none behind them. 0 or -1 with one line in err.
 */
int npu_score_fields_open(npu_score_fields *f, const tb_sig *sig, size_t count, tb_sig wide, uint16_t *at,
                          npu_score_want *want, char *err, size_t err_size);

/*
 * Do the signals have other values? `near`, here and below: pieces that are taken in straight code, at least one; a
 * design that has fewer takes the first one again.
 */
static inline bool npu_score_fields_differ(const npu_score_fields *f, uint32_t near, const npu_score_want *want) {
    npu_score_piece differ = {0};
    for (uint32_t i = 0; i < near; i++) {
        differ |= (*f->piece[i] ^ want[i].value) & want[i].mask;
    }
#pragma GCC unroll 1
    for (uint32_t i = near; i < f->count; i++) {
        differ |= (*f->piece[i] ^ want[i].value) & want[i].mask;
    }
    return npu_score_fields_any(differ);
}

/* The values of all signals. */
static inline void npu_score_fields_get(const npu_score_fields *f, uint32_t near, npu_score_piece *to) {
    for (uint32_t i = 0; i < near; i++) {
        to[i] = (npu_score_piece)*f->piece[i];
    }
#pragma GCC unroll 1
    for (uint32_t i = near; i < f->count; i++) {
        to[i] = (npu_score_piece)*f->piece[i];
    }
}

#endif
