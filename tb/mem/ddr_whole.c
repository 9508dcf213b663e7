/* ddr_whole.c - whole memories: walk over their pages, compare two, copy ranges between them, hash one. */
#include "ddr.h"

#include <string.h>

#include "../case/hash.h"

const tb_ddr_page *tb_ddr_next_page(const tb_ddr *mem, size_t *index) {
    for (; *index < mem->pages; (*index)++) {
        if (mem->page[*index] != NULL) {
            return mem->page[*index];
        }
    }
    return NULL;
}

/* Byte `at` of a page of a memory, poison where the page does not exist. */
static uint8_t byte_at(const tb_ddr *mem, size_t index, size_t at, bool *written) {
    const tb_ddr_page *p = mem->page[index];
    uint8_t b = 0;
    *written = p != NULL && ((p->written[at >> 6] >> (at & 63u)) & 1u) != 0;
    tb_ddr_read(mem, mem->base + ((uint64_t)index << TB_DDR_PAGE_BITS) + at, &b, 1);
    return b;
}

static void compare_word(const tb_ddr *a, const tb_ddr *b, size_t index, size_t word, uint64_t wa, uint64_t wb,
                         tb_ddr_diff *diff) {
    for (size_t i = 0; i < 64; i++) {
        if ((((wa | wb) >> i) & 1u) == 0) {
            continue;
        }
        bool a_written;
        bool b_written;
        const uint8_t va = byte_at(a, index, word * 64 + i, &a_written);
        const uint8_t vb = byte_at(b, index, word * 64 + i, &b_written);
        if (va == vb && a_written == b_written) {
            continue;
        }
        if (diff->count++ == 0) {
            diff->addr = a->base + ((uint64_t)index << TB_DDR_PAGE_BITS) + word * 64 + i;
            diff->a = va;
            diff->b = vb;
            diff->a_written = a_written;
            diff->b_written = b_written;
        }
    }
}

static void compare_page(const tb_ddr *a, const tb_ddr *b, size_t index, tb_ddr_diff *diff) {
    const tb_ddr_page *pa = a->page[index];
    const tb_ddr_page *pb = b->page[index];
    for (size_t w = 0; w < TB_DDR_PAGE / 64; w++) {
        const uint64_t wa = pa != NULL ? pa->written[w] : 0;
        const uint64_t wb = pb != NULL ? pb->written[w] : 0;
        /* whole lines suffice nearly always; poison differs between memories, so the rest is compared by bytes */
        if ((wa | wb) != 0 && (wa != wb || memcmp(pa->data + w * 64, pb->data + w * 64, 64) != 0)) {
            compare_word(a, b, index, w, wa, wb, diff);
        }
    }
}

bool tb_ddr_compare(const tb_ddr *a, const tb_ddr *b, tb_ddr_diff *diff) {
    memset(diff, 0, sizeof *diff);
    for (size_t i = 0; i < a->pages && i < b->pages; i++) {
        if (a->page[i] != NULL || b->page[i] != NULL) {
            compare_page(a, b, i, diff);
        }
    }
    return diff->count == 0;
}

bool tb_ddr_compare_dirty(tb_ddr *a, tb_ddr *b, tb_ddr_diff *diff) {
    memset(diff, 0, sizeof *diff);
    for (size_t i = 0; i < a->pages && i < b->pages; i++) {
        tb_ddr_page *pa = a->page[i];
        tb_ddr_page *pb = b->page[i];
        if ((pa == NULL || !pa->dirty) && (pb == NULL || !pb->dirty)) {
            continue;
        }
        const uint64_t before = diff->count;
        compare_page(a, b, i, diff);
        if (diff->count == before) {
            if (pa != NULL) {
                pa->dirty = false;
            }
            if (pb != NULL) {
                pb->dirty = false;
            }
        }
    }
    return diff->count == 0;
}

bool tb_ddr_copy_range(tb_ddr *dst, const tb_ddr *src, uint64_t addr, uint64_t bytes) {
    if (!tb_ddr_inside(dst, addr, bytes) || !tb_ddr_inside(src, addr, bytes)) {
        return false;
    }
    for (uint64_t i = 0; i < bytes; i++) {
        const uint64_t at = addr + i;
        uint64_t where;
        uint8_t v;
        if (tb_ddr_find_unwritten(src, at, 1, &where)) {
            tb_ddr_unwrite(dst, at, 1);
        } else if (!tb_ddr_read(src, at, &v, 1) || !tb_ddr_write(dst, at, &v, 1)) {
            return false;
        }
    }
    return true;
}

uint64_t tb_ddr_hash(const tb_ddr *mem, uint64_t hash) {
    size_t index = 0;
    const tb_ddr_page *p;
    for (; (p = tb_ddr_next_page(mem, &index)) != NULL; index++) {
        for (size_t w = 0; w < TB_DDR_PAGE / 64; w++) {
            const uint64_t m = p->written[w];
            if (m == 0) {
                continue;
            }
            uint8_t line[64];
            memcpy(line, p->data + w * 64, 64);
            for (uint64_t left = ~m; left != 0; left &= left - 1) {
                line[__builtin_ctzll(left)] = 0;
            }
            hash = tb_hash_u64(hash, mem->base + ((uint64_t)index << TB_DDR_PAGE_BITS) + w * 64);
            hash = tb_hash_u64(hash, m);
            hash = tb_hash_bytes(hash, line, 64);
        }
    }
    return hash;
}
