#include "shadow.h"

#include <string.h>

int tb_shadow_init(tb_shadow *shadow, uint64_t base, uint64_t size) {
    memset(shadow, 0, sizeof *shadow);
    return tb_ddr_init(&shadow->mem, base, size, 0);
}

void tb_shadow_free(tb_shadow *shadow) {
    tb_ddr_free(&shadow->mem);
}

void tb_shadow_clear(tb_shadow *shadow) {
    tb_ddr_clear(&shadow->mem);
    memset(shadow->open, 0, sizeof shadow->open);
    memset(shadow->reserved, 0, sizeof shadow->reserved);
    shadow->opens = 0;
}

static bool apart(uint64_t from, uint64_t to, uint64_t other_from, uint64_t other_to) {
    return to < other_from || other_to < from;
}

unsigned tb_shadow_begin(tb_shadow *shadow, bool write, uint64_t from, uint64_t to, uint64_t order) {
    unsigned room = 0;
    for (unsigned i = 0; i < shadow->opens; i++) {
        const tb_shadow_access *a = &shadow->open[i];
        const bool ordered = write && a->write && order != 0 && order == a->order;
        if (!a->used) {
            room = i + 1;
        } else if ((write || a->write) && !ordered && !apart(from, to, a->from, a->to)) {
            return 0;
        }
    }
    if (room == 0 && shadow->opens < TB_SHADOW_OPEN) {
        room = ++shadow->opens;
    }
    if (room != 0) {
        shadow->open[room - 1] =
            (tb_shadow_access){.used = true, .write = write, .from = from, .to = to, .order = order};
    }
    return room;
}

void tb_shadow_end(tb_shadow *shadow, unsigned access) {
    if (access == 0) {
        return;
    }
    shadow->open[access - 1].used = false;
    while (shadow->opens > 0 && !shadow->open[shadow->opens - 1].used) {
        shadow->opens--;
    }
}

static bool strobed(const uint64_t *strb, unsigned lane) {
    return (strb[lane / 64] >> (lane % 64) & 1u) != 0;
}

void tb_shadow_write(tb_shadow *shadow, uint64_t addr, const uint8_t *data, const uint64_t *strb, unsigned bytes,
                     uint64_t order) {
    for (unsigned i = 0; i < bytes; i++) {
        if (strobed(strb, i)) {
            (void)tb_ddr_write(&shadow->mem, addr + i, &data[i], 1);
        }
    }
    for (unsigned r = 0; r < TB_SHADOW_RESERVED; r++) {
        tb_shadow_reserved *v = &shadow->reserved[r];
        for (unsigned i = 0; v->used && v->order != order && i < bytes; i++) {
            v->used = !strobed(strb, i) || apart(addr + i, addr + i, v->from, v->to);
        }
    }
}

void tb_shadow_forget(tb_shadow *shadow, uint64_t from, uint64_t to) {
    (void)tb_ddr_unwrite(&shadow->mem, from, to - from + 1);
}

bool tb_shadow_read(tb_shadow *shadow, uint64_t addr, const uint8_t *data, unsigned lo, unsigned hi, unsigned *lane,
                    uint8_t *want) {
    for (unsigned i = lo; i <= hi; i++) {
        uint64_t where;
        uint8_t v = 0;
        if (!tb_ddr_inside(&shadow->mem, addr + i, 1)) {
            continue;
        }
        if (tb_ddr_find_unwritten(&shadow->mem, addr + i, 1, &where)) {
            (void)tb_ddr_write(&shadow->mem, addr + i, &data[i], 1);
            shadow->learned++;
            continue;
        }
        (void)tb_ddr_read(&shadow->mem, addr + i, &v, 1);
        shadow->checked++;
        if (v != data[i]) {
            *lane = i;
            *want = v;
            return false;
        }
    }
    return true;
}

void tb_shadow_reserve(tb_shadow *shadow, uint64_t from, uint64_t to, uint64_t order) {
    tb_shadow_reserved *at = NULL;
    for (unsigned r = 0; r < TB_SHADOW_RESERVED; r++) {
        tb_shadow_reserved *v = &shadow->reserved[r];
        if (v->used && v->order == order) {
            at = v;
            break;
        }
        at = at == NULL && !v->used ? v : at;
    }
    if (at != NULL) {
        *at = (tb_shadow_reserved){.used = true, .from = from, .to = to, .order = order};
    }
}

bool tb_shadow_holds(const tb_shadow *shadow, uint64_t from, uint64_t to, uint64_t order) {
    for (unsigned r = 0; r < TB_SHADOW_RESERVED; r++) {
        const tb_shadow_reserved *v = &shadow->reserved[r];
        if (v->used && v->order == order && v->from == from && v->to == to) {
            return true;
        }
    }
    return false;
}

static void differ(tb_ddr_diff *diff, uint64_t addr, uint8_t a, uint8_t b, bool known) {
    if (diff->count++ == 0) {
        diff->addr = addr;
        diff->a = a;
        diff->b = b;
        diff->a_written = true;
        diff->b_written = known;
    }
}

/* The page of a memory at an address that begins one; NULL: untouched, or outside. */
static const tb_ddr_page *page_at(const tb_ddr *mem, uint64_t addr) {
    return tb_ddr_inside(mem, addr, TB_DDR_PAGE) ? mem->page[(addr - mem->base) >> TB_DDR_PAGE_BITS] : NULL;
}

static bool written(const tb_ddr_page *page, size_t at) {
    return page != NULL && (page->written[at / 64] >> (at % 64) & 1u) != 0;
}

/* all: bytes of the memory that the shadow does not know differ, too. */
static bool compare(const tb_shadow *shadow, const tb_ddr *mem, bool all, tb_ddr_diff *diff) {
    memset(diff, 0, sizeof *diff);
    for (size_t page = 0; page < shadow->mem.pages; page++) {
        const uint64_t base = shadow->mem.base + ((uint64_t)page << TB_DDR_PAGE_BITS);
        const tb_ddr_page *s = shadow->mem.page[page], *m = page_at(mem, base);
        for (size_t i = 0; (s != NULL || m != NULL) && i < TB_DDR_PAGE; i++) {
            const bool known = written(s, i);
            uint8_t v = 0;
            if ((known || (all && written(m, i))) && tb_ddr_read(mem, base + i, &v, 1) && (!known || v != s->data[i])) {
                differ(diff, base + i, v, known ? s->data[i] : 0, known);
            }
        }
    }
    return diff->count == 0;
}

bool tb_shadow_compare(const tb_shadow *shadow, const tb_ddr *mem, tb_ddr_diff *diff) {
    return compare(shadow, mem, true, diff);
}

bool tb_shadow_within(const tb_shadow *shadow, const tb_ddr *mem, tb_ddr_diff *diff) {
    return compare(shadow, mem, false, diff);
}
