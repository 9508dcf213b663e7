#include "wires.h"

static int by_place(const void *a, const void *b) {
    const npu_wire *x = (const npu_wire *)a, *y = (const npu_wire *)b;
    return x->at < y->at ? -1 : x->at > y->at;
}

static const uint8_t *end_of(const npu_wire *w) {
    return w->at + w->bytes;
}

/* Where a block of these signals begins: in one line of the cache, if they are, and between the first signal of all and
 * the last one. */
static const uint8_t *begin(const uint8_t *at, const uint8_t *end, uint32_t bytes, const uint8_t *first,
                            const uint8_t *last) {
    const uint32_t in_line = (uint32_t)((uintptr_t)at % TB_CHECK_LINE);
    if (in_line + bytes > TB_CHECK_LINE && in_line + (size_t)(end - at) <= TB_CHECK_LINE) {
        at -= in_line + bytes - TB_CHECK_LINE;
    }
    at = at < first ? first : at;
    return at + bytes > last ? last - bytes : at;
}

/* A block, or a short one if that is enough, for each signal that is not in the one before as a whole. */
static void place(npu_wires *w, const npu_wire *wire, size_t count) {
    const uint8_t *last = wire->at;
    for (size_t i = 0; i < count; i++) {
        last = end_of(&wire[i]) > last ? end_of(&wire[i]) : last;
    }
    for (size_t i = 0, next; i < count; i = next) {
        const uint8_t *at = wire[i].at, *end = at;
        for (next = i; next < count && end_of(&wire[next]) <= at + NPU_WIRES_BLOCK; next++) {
            end = end_of(&wire[next]) > end ? end_of(&wire[next]) : end;
        }
        const bool few = end <= at + NPU_WIRES_SHORT;
        at = begin(at, end, few ? NPU_WIRES_SHORT : NPU_WIRES_BLOCK, wire->at, last);
        uint8_t *group;
        if (few) {
            w->few_end->at = at;
            group = (uint8_t *)&w->few_end++->group;
        } else {
            w->block_end->at = at;
            group = (uint8_t *)&w->block_end++->group;
        }
        for (const npu_wire *s = &wire[i]; s < &wire[next]; s++) {
            for (uint32_t k = 0; k < s->bytes; k++) {
                group[s->at + k - at] |= s->groups;
            }
        }
    }
}

int npu_wires_open(npu_wires *w, npu_wire *wire, size_t count) {
    w->block = (npu_wires_block *)calloc(count, sizeof *w->block + sizeof *w->few); /* more than it takes */
    if (w->block == NULL) {
        return -1;
    }
    w->block_end = w->block;
    w->few = w->few_end = (npu_wires_short *)(w->block + count);
    qsort(wire, count, sizeof *wire, by_place);
    place(w, wire, count);
    return 0;
}

void npu_wires_close(npu_wires *w) {
    free(w->block);
}

uint64_t npu_wires_changed(npu_wires *w) {
    typedef uint64_t lot __attribute__((vector_size(NPU_WIRES_BLOCK)));
    typedef uint64_t few __attribute__((vector_size(NPU_WIRES_SHORT)));
    lot found = {0};
    few set = {0};
    for (npu_wires_block *b = w->block; b < w->block_end; b++) {
        const npu_wires_lot now = *(const npu_wires_lot *)b->at;
        found |= (lot)(~(npu_wires_lot)(now == b->before) & b->group);
        b->before = now;
    }
    for (npu_wires_short *b = w->few; b < w->few_end; b++) {
        const npu_wires_few now = *(const npu_wires_few *)b->at;
        set |= (few)(~(npu_wires_few)(now == b->before) & b->group);
        b->before = now;
    }
    set |= __builtin_shufflevector(found, found, 0, 1) | __builtin_shufflevector(found, found, 2, 3);
    return set[0] | set[1];
}
