/*
 * acc.c - sums of a tile over its blocks: docs/npu/npu.md sections 2 (wrap) and 4 (acc).
 */
#include "cmodel.h"

#include <string.h>

/* Inlined with a constant count, for whole rows of a mesh. */
static inline void add_row(size_t count, const int32_t *restrict in, int32_t *restrict acc) {
    for (size_t i = 0; i < count; i++) {
        acc[i] = (int32_t)((uint32_t)acc[i] + (uint32_t)in[i]); /* unsigned: C leaves signed overflow undefined */
    }
}

void cm_acc(bool first, size_t count, const int32_t *in, int32_t *acc) {
    if (first) {
        memcpy(acc, in, count * sizeof *acc);
        return;
    }
    switch (count) {
    case 8:
        add_row(8, in, acc);
        break;
    case 32:
        add_row(32, in, acc);
        break;
    default:
        add_row(count, in, acc);
    }
}

void cm_acc_wide(bool first, size_t count, const int64_t *in, int64_t *acc) {
    for (size_t i = 0; i < count; i++) {
        acc[i] = first ? in[i] : (int64_t)((uint64_t)acc[i] + (uint64_t)in[i]);
    }
}
