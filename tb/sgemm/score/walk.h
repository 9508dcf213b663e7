/*
 * walk.h - the blocks of a GEMM in the order of document 003, algorithm 2: for the checks of the units that walk.
 */
#ifndef SGEMM_WALK_H
#define SGEMM_WALK_H

#include <stdbool.h>
#include <stdint.h>

typedef struct walk {
    uint32_t dim, vec; /* size of a block */
    uint32_t size[3];  /* M, N, K */
    uint32_t at[3];    /* first row, column, k of the block */
    bool on;           /* a block is left */
} walk;

static inline void walk_begin(walk *w, uint32_t m, uint32_t n, uint32_t k) {
    const uint32_t size[3] = {m, n, k};
    for (int d = 0; d < 3; d++) {
        w->size[d] = size[d];
        w->at[d] = 0;
    }
    w->on = true;
}

/* Size of the block along index d (0: i, 1: j, 2: k). */
static inline uint32_t walk_size(const walk *w, uint32_t d) {
    const uint32_t left = w->size[d] - w->at[d], block = d == 2 ? w->vec : w->dim;
    return left < block ? left : block;
}

static inline bool walk_first(const walk *w) {
    return w->at[2] == 0;
}

static inline bool walk_last(const walk *w) {
    return w->at[2] + w->vec >= w->size[2];
}

static inline void walk_next(walk *w) {
    const uint32_t block[3] = {w->dim, w->dim, w->vec};
    for (int d = 2; d >= 0; d--) {
        w->at[d] += block[d];
        if (w->at[d] < w->size[d]) {
            return;
        }
        w->at[d] = 0;
    }
    w->on = false;
}

#endif
