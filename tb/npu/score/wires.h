/*
 * wires.h - which of many signals have changed?
 *
 * Signals that a check compares with each other, and does not follow, need a comparison only when one of them has
 * another value than at the last look. Verilator puts many of them side by side, so they are looked at in blocks.
 */
#ifndef NPU_SCORE_WIRES_H
#define NPU_SCORE_WIRES_H

#include "score.h"
#ifdef __AVX2__
#include <immintrin.h>
#endif

#define NPU_WIRES_BLOCK 32u /* bytes looked at together */
#define NPU_WIRES_WORD 8u   /* where there are so few */
#define NPU_WIRES_STEP 3u   /* the numbers of blocks and of words are multiples of it */

typedef uint64_t npu_wires_lot __attribute__((vector_size(NPU_WIRES_BLOCK), may_alias));
typedef uint64_t npu_wires_lot_at __attribute__((vector_size(NPU_WIRES_BLOCK), aligned(1), may_alias));
typedef uint64_t npu_wires_word_at __attribute__((aligned(1), may_alias));

/* Bits of the signals there, and all bits at the last look. */
typedef struct npu_wires_block {
    npu_wires_lot mask, before;
} npu_wires_block;

typedef struct npu_wires_word {
    const uint8_t *at;
    uint64_t mask, before;
} npu_wires_word;

typedef struct npu_wires {
    npu_wires_block *block;
    const uint8_t **at; /* where block i is in the design */
    npu_wires_word *word;
    uint32_t blocks, words;
    uint32_t set;               /* groups that the next look finds in any case */
    npu_wires_lot *block_group; /* of each byte of a block, */
    uint64_t *word_group;       /* of a word */
} npu_wires;

/* A signal, or the bits of it that count; no longer than a block. */
typedef struct npu_wire {
    const uint8_t *at;
    uint32_t bytes;
    uint8_t groups; /* that it belongs to, a bit for each */
    uint64_t bits;  /* of each 8 bytes of it */
} npu_wire;

static inline npu_wire npu_wire_of(tb_sig sig, uint8_t groups) {
    return (npu_wire){(const uint8_t *)sig.ptr, (uint32_t)tb_sig_bytes(sig), groups, UINT64_MAX};
}

/*
 * Of at least one signal; orders them by address. The design is one object, so memory between the first signal and the
 * last one may be read; these are at least a block apart. 0 or -1 (out of memory).
 */
int npu_wires_open(npu_wires *w, npu_wire *wire, size_t count);
void npu_wires_close(npu_wires *w);

/* A block or word differs: its groups with a change, and it is noted. */
uint32_t npu_wires_block_differs(const npu_wires *w, npu_wires_block *b, const uint8_t *at);
uint32_t npu_wires_word_differs(const npu_wires *w, npu_wires_word *p);

static inline bool npu_wires_any(npu_wires_lot differ, npu_wires_lot mask) {
#ifdef __AVX2__
    return _mm256_testz_si256((__m256i)differ, (__m256i)mask) == 0;
#else
    differ &= mask;
    return (differ[0] | differ[1] | differ[2] | differ[3]) != 0;
#endif
}

/* The groups of which a signal has changed since the last look; at the first one all. */
__attribute__((always_inline)) static inline uint32_t npu_wires_changed(npu_wires *w) {
    uint32_t set = w->set;
    const uint8_t *const *at = w->at;
    w->set = 0;
    for (npu_wires_block *b = w->block, *end = b + w->blocks; b < end; b += NPU_WIRES_STEP, at += NPU_WIRES_STEP) {
#pragma GCC unroll 4
        for (uint32_t k = 0; k < NPU_WIRES_STEP; k++) {
            if (npu_wires_any(*(const npu_wires_lot_at *)at[k] ^ b[k].before, b[k].mask)) {
                set |= npu_wires_block_differs(w, &b[k], at[k]);
            }
        }
    }
    for (npu_wires_word *p = w->word, *end = p + w->words; p < end; p += NPU_WIRES_STEP) {
#pragma GCC unroll 4
        for (uint32_t k = 0; k < NPU_WIRES_STEP; k++) {
            if (((*(const npu_wires_word_at *)p[k].at ^ p[k].before) & p[k].mask) != 0) {
                set |= npu_wires_word_differs(w, &p[k]);
            }
        }
    }
    return set;
}

#endif
