#include "wires.h"

__attribute__((hot)) static int by_place(const void *a, const void *b) {
    const npu_wire *x = (const npu_wire *)a, *y = (const npu_wire *)b;
    return x->at < y->at ? -1 : x->at > y->at;
}

static const uint8_t *end_of(const npu_wire *w) {
    return w->at + w->bytes;
}

/* Where a block of these signals begins: in one line of the cache, if they are, and between the first signal of all and
 * the last one. */
static const uint8_t *begin(const uint8_t *at, const uint8_t *end, const uint8_t *first, const uint8_t *last) {
    const uint32_t in_line = (uint32_t)((uintptr_t)at % TB_CHECK_LINE);
    if (in_line + NPU_WIRES_BLOCK > TB_CHECK_LINE && in_line + (size_t)(end - at) <= TB_CHECK_LINE) {
        at -= in_line + NPU_WIRES_BLOCK - TB_CHECK_LINE;
    }
    at = at < first ? first : at;
    return at + NPU_WIRES_BLOCK > last ? last - NPU_WIRES_BLOCK : at;
}

int npu_wires_open(npu_wires *w, npu_wire *wire, size_t count) {
    w->block = w->end =
        (npu_wires_block *)calloc(count + NPU_WIRES_STEP - 1, sizeof *w->block); /* one for each is enough */
    if (w->block == NULL) {
        return -1;
    }
    qsort(wire, count, sizeof *wire, by_place);
    const uint8_t *last = wire->at;
    for (size_t i = 0; i < count; i++) {
        last = end_of(&wire[i]) > last ? end_of(&wire[i]) : last;
    }
    for (size_t i = 0, next; i < count; i = next, w->end++) { /* a block, which has as many signals as it can */
        const uint8_t *end = wire[i].at;
        for (next = i; next < count && end_of(&wire[next]) <= wire[i].at + NPU_WIRES_BLOCK; next++) {
            end = end_of(&wire[next]) > end ? end_of(&wire[next]) : end;
        }
        w->end->at = begin(wire[i].at, end, wire->at, last);
        for (const npu_wire *s = &wire[i]; s < &wire[next]; s++) {
            for (uint32_t k = 0; k < s->bytes; k++) {
                w->end->group[s->at + k - w->end->at] |= s->groups;
            }
        }
    }
    for (; (w->end - w->block) % NPU_WIRES_STEP != 0; w->end++) { /* of no signal */
        w->end->at = w->block->at;
    }
    return 0;
}

void npu_wires_close(npu_wires *w) {
    free(w->block);
}
