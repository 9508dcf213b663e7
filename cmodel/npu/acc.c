/*
 * acc.c - sums of a tile over its blocks: docs/npu/npu.md sections 2 (wrap) and 4 (acc).
 */
#include "cmodel.h"

#include <string.h>

/* Inlined with a constant count, for whole rows of a mesh and for those of both streams together. */
static inline void add_row(bool first, size_t count, const int32_t *restrict in, int32_t *restrict acc) {
    if (first) {
        memcpy(acc, in, count * sizeof *acc);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        acc[i] = (int32_t)((uint32_t)acc[i] + (uint32_t)in[i]); /* unsigned: C leaves signed overflow undefined */
    }
}

void cm_acc(bool first, size_t count, const int32_t *in, int32_t *acc) {
    switch (count) {
    case 8:
        add_row(first, 8, in, acc);
        break;
    case 16:
        add_row(first, 16, in, acc);
        break;
    case 32:
        add_row(first, 32, in, acc);
        break;
    case 64:
        add_row(first, 64, in, acc);
        break;
    default:
        add_row(first, count, in, acc);
    }
}

void cm_acc_wide(bool first, size_t count, const int64_t *in, int64_t *acc) {
    for (size_t i = 0; i < count; i++) {
        acc[i] = first ? in[i] : (int64_t)((uint64_t)acc[i] + (uint64_t)in[i]);
    }
}
