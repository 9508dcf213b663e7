#include "wires.h"

static int by_place(const void *a, const void *b) {
    const npu_wire *x = (const npu_wire *)a, *y = (const npu_wire *)b;
    return x->at < y->at ? -1 : x->at > y->at;
}

static const uint8_t *end_of(const npu_wire *w) {
    return w->at + w->bytes;
}

/* Where so many bytes begin, not to end behind the last signal. */
static const uint8_t *begin(const uint8_t *at, uint32_t bytes, const uint8_t *last) {
    return at + bytes > last ? last - bytes : at;
}

/* A block, or a word if that is enough, for each signal that is not in the one before as a whole. */
static void place(npu_wires *w, const npu_wire *wire, size_t count) {
    const uint8_t *last = wire->at;
    for (size_t i = 0; i < count; i++) {
        last = end_of(&wire[i]) > last ? end_of(&wire[i]) : last;
        w->set |= wire[i].groups;
    }
    for (size_t i = 0, next; i < count; i = next) {
        const uint8_t *at = wire[i].at, *end = at;
        for (next = i; next < count && end_of(&wire[next]) <= at + NPU_WIRES_BLOCK; next++) {
            end = end_of(&wire[next]) > end ? end_of(&wire[next]) : end;
        }
        const bool small = end <= at + NPU_WIRES_WORD;
        at = begin(at, small ? NPU_WIRES_WORD : NPU_WIRES_BLOCK, last);
        uint8_t *mask = small ? (uint8_t *)&w->word[w->words].mask : (uint8_t *)&w->block[w->blocks].mask;
        uint8_t *group = small ? (uint8_t *)&w->word_group[w->words] : (uint8_t *)&w->block_group[w->blocks];
        *(small ? &w->word[w->words++].at : &w->at[w->blocks++]) = at;
        for (const npu_wire *s = &wire[i]; s < &wire[next]; s++) {
            for (uint32_t k = 0; k < s->bytes; k++) {
                mask[s->at + k - at] |= (uint8_t)(s->bits >> 8 * (k % 8));
                group[s->at + k - at] |= s->groups;
            }
        }
    }
}

int npu_wires_open(npu_wires *w, npu_wire *wire, size_t count) {
    const size_t most = count + NPU_WIRES_STEP - 1, bytes = most * 3 * TB_CHECK_LINE; /* more than it takes */
    _Static_assert(sizeof *w->block + sizeof *w->at + sizeof *w->word + sizeof *w->block_group +
                           sizeof *w->word_group <=
                       3 * TB_CHECK_LINE,
                   "all of them fit");
    w->block = (npu_wires_block *)aligned_alloc(TB_CHECK_LINE, bytes);
    if (w->block == NULL) {
        return -1;
    }
    memset(w->block, 0, bytes);
    w->block_group = (npu_wires_lot *)(w->block + most);
    w->at = (const uint8_t **)(w->block_group + most);
    w->word = (npu_wires_word *)(w->at + most);
    w->word_group = (uint64_t *)(w->word + most);
    qsort(wire, count, sizeof *wire, by_place);
    place(w, wire, count);
    for (; w->blocks % NPU_WIRES_STEP != 0; w->blocks++) { /* of no signal */
        w->at[w->blocks] = w->at[0];
    }
    for (; w->words % NPU_WIRES_STEP != 0; w->words++) {
        w->word[w->words].at = w->word[0].at;
    }
    return 0;
}

void npu_wires_close(npu_wires *w) {
    free(w->block);
}

/* The groups of 8 bytes. */
static inline uint32_t all_of(uint64_t group) {
    group |= group >> 32;
    group |= group >> 16;
    return (group | group >> 8) & 0xffu;
}

/* Those of the bytes in which `differ` is not 0. */
static inline uint64_t only(uint64_t group, uint64_t differ) {
    const uint64_t low = UINT64_C(0x7f7f7f7f7f7f7f7f);
    const uint64_t bits = ((((differ & low) + low) | differ) & ~low) >> 7; /* the lowest bit of each of them */
    return group & ((bits << 8) - bits);
}

uint32_t npu_wires_block_differs(const npu_wires *w, npu_wires_block *b, const uint8_t *at) {
    const npu_wires_lot now = *(const npu_wires_lot_at *)at, differ = (now ^ b->before) & b->mask;
    const npu_wires_lot group = w->block_group[b - w->block];
    b->before = now;
    uint64_t set = 0;
#ifdef __AVX2__
    const __m256i equal = _mm256_cmpeq_epi8((__m256i)differ, _mm256_setzero_si256());
    const npu_wires_lot found = (npu_wires_lot)_mm256_andnot_si256(equal, (__m256i)group);
    set = found[0] | found[1] | found[2] | found[3];
#else
    for (uint32_t k = 0; k < NPU_WIRES_BLOCK / 8; k++) {
        set |= only(group[k], differ[k]);
    }
#endif
    return all_of(set);
}

uint32_t npu_wires_word_differs(const npu_wires *w, npu_wires_word *p) {
    const uint64_t now = *(const npu_wires_word_at *)p->at, differ = (now ^ p->before) & p->mask;
    p->before = now;
    return all_of(only(w->word_group[p - w->word], differ));
}
