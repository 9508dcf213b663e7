/*
 * wires.h - which of many signals have changed?
 *
 * Signals that a check compares with each other, and does not follow, need a comparison only when one of them has
 * another value than at the last look. Verilator puts many of them side by side, so they are looked at in blocks.
 */
#ifndef NPU_SCORE_WIRES_H
#define NPU_SCORE_WIRES_H

#include "score.h"

#define NPU_WIRES_BLOCK 32u /* bytes looked at together */
#define NPU_WIRES_STEP 2    /* the number of blocks is a multiple of it */
typedef uint8_t npu_wires_lot __attribute__((vector_size(NPU_WIRES_BLOCK), aligned(1), may_alias));

/* Where a block is in the design; of each byte: the groups of its signals, and its value at the last look. */
typedef struct npu_wires_block {
    const uint8_t *at;
    npu_wires_lot group, before;
} npu_wires_block;

typedef struct npu_wires {
    npu_wires_block *block, *end;
} npu_wires;

/* A signal, no longer than a block, and the groups that it belongs to, a bit for each. */
typedef struct npu_wire {
    const uint8_t *at;
    uint32_t bytes;
    uint8_t groups;
} npu_wire;

static inline npu_wire npu_wire_of(tb_sig sig, uint8_t groups) {
    return (npu_wire){(const uint8_t *)sig.ptr, (uint32_t)tb_sig_bytes(sig), groups};
}

/*
 * Of at least one signal; orders them by address. The design is one object, so memory between the first signal and the
 * last one may be read; these are at least a block apart. 0 or -1 (out of memory).
 */
int npu_wires_open(npu_wires *w, npu_wire *wire, size_t count);
void npu_wires_close(npu_wires *w);

/* Not 0: a signal has changed since the last look; at the first one perhaps. npu_wires_groups(): their groups. */
static inline uint64_t npu_wires_changed(npu_wires *w) {
    typedef uint64_t lot __attribute__((vector_size(NPU_WIRES_BLOCK)));
    lot found = {0};
    for (npu_wires_block *b = w->block; b < w->end; b += NPU_WIRES_STEP) {
#pragma GCC unroll 2
        for (uint32_t k = 0; k < NPU_WIRES_STEP; k++) {
            const npu_wires_lot now = *(const npu_wires_lot *)b[k].at;
            found |= (lot)(~(npu_wires_lot)(now == b[k].before) & b[k].group);
            b[k].before = now;
        }
    }
    typedef uint64_t half __attribute__((vector_size(NPU_WIRES_BLOCK / 2)));
    const half both = (half){found[0], found[1]} | (half){found[2], found[3]};
    return both[0] | both[1];
}

static inline uint32_t npu_wires_groups(uint64_t changed) {
    changed |= changed >> 32;
    changed |= changed >> 16;
    return (uint8_t)(changed | changed >> 8);
}

#endif
