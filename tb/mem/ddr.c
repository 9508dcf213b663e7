#include "ddr.h"

#include <stdlib.h>
#include <string.h>

#include "../case/hash.h"

#define PAGE_MASK (TB_DDR_PAGE - 1)

int tb_ddr_init(tb_ddr *mem, uint64_t base, uint64_t size, uint64_t poison_seed) {
    memset(mem, 0, sizeof *mem);
    if ((base & PAGE_MASK) != 0 || (size & PAGE_MASK) != 0 || size == 0 || size > UINT64_C(1) << 40 ||
        base > UINT64_MAX - size) {
        return -1;
    }
    mem->base = base;
    mem->size = size;
    mem->poison_seed = poison_seed;
    mem->pages = (size_t)(size >> TB_DDR_PAGE_BITS);
    mem->page = (tb_ddr_page **)calloc(mem->pages, sizeof *mem->page);
    return mem->page == NULL ? -1 : 0;
}

void tb_ddr_free(tb_ddr *mem) {
    if (mem->page != NULL) {
        tb_ddr_clear(mem);
    }
    free(mem->page);
    mem->page = NULL;
    mem->pages = 0;
    mem->size = 0;
}

void tb_ddr_clear(tb_ddr *mem) {
    for (size_t i = 0; i < mem->pages; i++) {
        free(mem->page[i]);
        mem->page[i] = NULL;
    }
    mem->events = 0;
}

/* Poison of the 8-byte word that holds an address: a pure function of seed and address. */
static uint64_t poison_word(const tb_ddr *mem, uint64_t addr) {
    return tb_mix64((addr >> 3) * UINT64_C(0x9e3779b97f4a7c15) ^ mem->poison_seed);
}

static void poison_fill(const tb_ddr *mem, uint64_t addr, uint8_t *dst, size_t bytes) {
    for (size_t i = 0; i < bytes;) {
        const uint64_t w = poison_word(mem, addr + i);
        const size_t at = (size_t)((addr + i) & 7u);
        const size_t n = 8 - at < bytes - i ? 8 - at : bytes - i;
        memcpy(dst + i, (const uint8_t *)&w + at, n);
        i += n;
    }
}

/* Page of an address inside memory; made on demand. */
static tb_ddr_page *page_make(tb_ddr *mem, uint64_t addr) {
    const size_t index = (size_t)((addr - mem->base) >> TB_DDR_PAGE_BITS);
    tb_ddr_page *p = mem->page[index];
    if (p == NULL) {
        p = (tb_ddr_page *)malloc(sizeof *p);
        if (p == NULL) {
            mem->oom = true;
            return NULL;
        }
        memset(p->written, 0, sizeof p->written);
        memset(p->writable, 0, sizeof p->writable);
        memset(p->open, 0, sizeof p->open);
        p->dirty = false;
        poison_fill(mem, mem->base + ((uint64_t)index << TB_DDR_PAGE_BITS), p->data, TB_DDR_PAGE);
        mem->page[index] = p;
    }
    return p;
}

static const tb_ddr_page *page_at(const tb_ddr *mem, uint64_t addr) {
    return mem->page[(size_t)((addr - mem->base) >> TB_DDR_PAGE_BITS)];
}

/* Part of [addr, addr + bytes) in the page of addr. */
static size_t in_page(uint64_t addr, uint64_t bytes) {
    const uint64_t room = TB_DDR_PAGE - (addr & PAGE_MASK);
    return (size_t)(bytes < room ? bytes : room);
}

static void set_bits(uint64_t *map, size_t at, size_t count, bool value) {
    while (count > 0) {
        const size_t bit = at & 63u;
        if (bit == 0 && count >= 64) { /* whole words */
            memset(&map[at >> 6], value ? 0xff : 0, count / 64 * sizeof *map);
            at += count & ~(size_t)63;
            count &= 63u;
            continue;
        }
        const size_t n = 64 - bit < count ? 64 - bit : count;
        const uint64_t m = (n == 64 ? UINT64_MAX : (UINT64_C(1) << n) - 1) << bit;
        map[at >> 6] = value ? map[at >> 6] | m : map[at >> 6] & ~m;
        at += n;
        count -= n;
    }
}

/* Number of the first clear bit in [at, at + count), or count. */
static size_t first_clear(const uint64_t *map, size_t at, size_t count) {
    for (size_t done = 0; done < count;) {
        const size_t bit = (at + done) & 63u;
        const size_t n = 64 - bit < count - done ? 64 - bit : count - done;
        const uint64_t m = n == 64 ? UINT64_MAX : (UINT64_C(1) << n) - 1;
        const uint64_t clear = ~(map[(at + done) >> 6] >> bit) & m;
        if (clear != 0) {
            return done + (size_t)__builtin_ctzll(clear);
        }
        done += n;
    }
    return count;
}

bool tb_ddr_write(tb_ddr *mem, uint64_t addr, const void *src, size_t bytes) {
    if (!tb_ddr_inside(mem, addr, bytes)) {
        return false;
    }
    const uint8_t *s = (const uint8_t *)src;
    while (bytes > 0) {
        const size_t n = in_page(addr, bytes);
        tb_ddr_page *p = page_make(mem, addr);
        if (p == NULL) {
            return false;
        }
        memcpy(p->data + (addr & PAGE_MASK), s, n);
        set_bits(p->written, (size_t)(addr & PAGE_MASK), n, true);
        p->dirty = true;
        addr += n;
        s += n;
        bytes -= n;
    }
    return true;
}

bool tb_ddr_read(const tb_ddr *mem, uint64_t addr, void *dst, size_t bytes) {
    if (!tb_ddr_inside(mem, addr, bytes)) {
        return false;
    }
    uint8_t *d = (uint8_t *)dst;
    while (bytes > 0) {
        const size_t n = in_page(addr, bytes);
        const tb_ddr_page *p = page_at(mem, addr);
        if (p != NULL) {
            memcpy(d, p->data + (addr & PAGE_MASK), n);
        } else {
            poison_fill(mem, addr, d, n);
        }
        addr += n;
        d += n;
        bytes -= n;
    }
    return true;
}

bool tb_ddr_unwrite(tb_ddr *mem, uint64_t addr, uint64_t bytes) {
    if (!tb_ddr_inside(mem, addr, bytes)) {
        return false;
    }
    while (bytes > 0) {
        const size_t n = in_page(addr, bytes);
        if (page_at(mem, addr) != NULL) {
            tb_ddr_page *p = page_make(mem, addr);
            poison_fill(mem, addr, p->data + (addr & PAGE_MASK), n);
            set_bits(p->written, (size_t)(addr & PAGE_MASK), n, false);
            p->dirty = true;
        }
        addr += n;
        bytes -= n;
    }
    return true;
}

bool tb_ddr_undefine(tb_ddr *mem, uint64_t addr, uint64_t bytes) {
    if (!tb_ddr_inside(mem, addr, bytes)) {
        return false;
    }
    while (bytes > 0) {
        const size_t n = in_page(addr, bytes);
        tb_ddr_page *p = page_make(mem, addr);
        if (p == NULL) {
            return false;
        }
        set_bits(p->written, (size_t)(addr & PAGE_MASK), n, true);
        p->dirty = true;
        addr += n;
        bytes -= n;
    }
    return true;
}

typedef enum map_kind {
    MAP_OPEN_READ = TB_DDR_READ,
    MAP_OPEN_WRITE = TB_DDR_WRITE,
    MAP_WRITTEN,
    MAP_WRITABLE
} map_kind;

static const uint64_t *map_of(const tb_ddr_page *p, map_kind kind) {
    return kind == MAP_WRITTEN ? p->written : kind == MAP_WRITABLE ? p->writable : p->open[kind];
}

static bool find_clear(const tb_ddr *mem, map_kind kind, uint64_t addr, uint64_t bytes, uint64_t *where) {
    while (bytes > 0) {
        if (!tb_ddr_inside(mem, addr, 1)) {
            *where = addr;
            return true;
        }
        const size_t n = in_page(addr, bytes);
        const tb_ddr_page *p = page_at(mem, addr);
        const size_t f = p == NULL ? 0 : first_clear(map_of(p, kind), (size_t)(addr & PAGE_MASK), n);
        if (f < n) {
            *where = addr + f;
            return true;
        }
        addr += n;
        bytes -= n;
    }
    return false;
}

bool tb_ddr_find_unwritten(const tb_ddr *mem, uint64_t addr, uint64_t bytes, uint64_t *where) {
    return find_clear(mem, MAP_WRITTEN, addr, bytes, where);
}

bool tb_ddr_find_protected(const tb_ddr *mem, uint64_t addr, uint64_t bytes, uint64_t *where) {
    return find_clear(mem, MAP_WRITABLE, addr, bytes, where);
}

bool tb_ddr_find_closed(const tb_ddr *mem, tb_ddr_use use, uint64_t addr, uint64_t bytes, uint64_t *where) {
    return find_clear(mem, use == TB_DDR_READ ? MAP_OPEN_READ : MAP_OPEN_WRITE, addr, bytes, where);
}

bool tb_ddr_open(tb_ddr *mem, tb_ddr_use use, uint64_t addr, uint64_t bytes, bool open) {
    const uint64_t end =
        addr + bytes > mem->base + mem->size || addr + bytes < addr ? mem->base + mem->size : addr + bytes;
    for (addr = addr < mem->base ? mem->base : addr; addr < end;) {
        const size_t n = in_page(addr, end - addr);
        tb_ddr_page *p = open || page_at(mem, addr) != NULL ? page_make(mem, addr) : NULL;
        if (p == NULL && open) {
            return false;
        }
        if (p != NULL) {
            set_bits(p->open[use], (size_t)(addr & PAGE_MASK), n, open);
        }
        addr += n;
    }
    return true;
}

bool tb_ddr_allow(tb_ddr *mem, uint64_t addr, uint64_t bytes, bool writable) {
    if (!tb_ddr_inside(mem, addr, bytes)) {
        return false;
    }
    while (bytes > 0) {
        const size_t n = in_page(addr, bytes);
        tb_ddr_page *p =
            writable || page_at(mem, addr) != NULL ? page_make(mem, addr) : NULL; /* of no page nothing is writable */
        if (p == NULL && writable) {
            return false;
        }
        if (p != NULL) {
            set_bits(p->writable, (size_t)(addr & PAGE_MASK), n, writable);
        }
        addr += n;
        bytes -= n;
    }
    return true;
}

static void event(tb_ddr *mem, tb_ddr_event_kind kind, uint64_t addr, uint32_t bytes) {
    if (mem->events++ == 0) {
        mem->first = (tb_ddr_event){.kind = kind, .addr = addr, .bytes = bytes, .agent = mem->agent};
    }
}

/* The same of bytes of a beat that begins at addr. */
static void event_bits(tb_ddr *mem, tb_ddr_event_kind kind, uint64_t addr, uint64_t bits) {
    event(mem, kind, addr + (uint64_t)__builtin_ctzll(bits), (uint32_t)__builtin_popcountll(bits));
}

/* Up to 64 bits of a map at a position that is a multiple of their number. */
static uint64_t map_bits(const uint64_t *map, size_t at, size_t count) {
    const uint64_t v = map[at >> 6] >> (at & 63u);
    return count >= 64 ? v : v & ((UINT64_C(1) << count) - 1);
}

void tb_ddr_beat_write(tb_ddr *mem, uint64_t addr, const uint8_t *data, const uint64_t *strb, size_t bytes) {
    tb_ddr_page *p = page_make(mem, addr);
    if (p == NULL) {
        return;
    }
    p->dirty = true;
    for (size_t part = 0; part < bytes; part += 64) {
        const size_t n = bytes < 64 ? bytes : 64;
        const size_t at = (size_t)((addr + part) & PAGE_MASK);
        const uint64_t full = n == 64 ? UINT64_MAX : (UINT64_C(1) << n) - 1;
        const uint64_t s = strb[part >> 6] & full;
        uint64_t may = full;
        if (s == 0) {
            continue;
        }
        if (mem->protect) {
            may = map_bits(p->writable, at, n);
        }
        if (mem->watch) {
            may &= map_bits(p->open[TB_DDR_WRITE], at, n);
        }
        if ((s & ~may) != 0) {
            event_bits(mem, TB_DDR_WRITE_OUTSIDE, addr + part, s & ~may);
        }
        p->written[at >> 6] |= s << (at & 63u);
        if (s == full) {
            if (n == 16) {
                memcpy(p->data + at, data + part, 16);
            } else {
                memcpy(p->data + at, data + part, n);
            }
            continue;
        }
        for (uint64_t left = s; left != 0; left &= left - 1) {
            const size_t i = (size_t)__builtin_ctzll(left);
            p->data[at + i] = data[part + i];
        }
    }
}

/* Random values in some bytes of a beat. */
static void hide(const tb_ddr *mem, uint64_t addr, uint8_t *data, size_t bytes, uint64_t bits) {
    uint8_t noise[64];
    poison_fill(mem, addr, noise, bytes);
    for (; bits != 0; bits &= bits - 1) {
        const size_t i = (size_t)__builtin_ctzll(bits);
        data[i] = noise[i];
    }
}

/* A beat of a memory with `watch`: only open bytes are returned, and all of them were written. */
static void watch_read(tb_ddr *mem, const tb_ddr_page *p, uint64_t addr, uint8_t *data, size_t bytes, unsigned lo,
                       unsigned hi) {
    const size_t at = (size_t)(addr & PAGE_MASK);
    bool some = false;
    for (size_t part = 0; part < bytes; part += 64) {
        const size_t n = bytes < 64 ? bytes : 64;
        const uint64_t full = n == 64 ? UINT64_MAX : (UINT64_C(1) << n) - 1;
        const uint64_t from = lo <= part ? full : lo >= part + n ? 0 : full << (lo - part);
        const uint64_t upto = hi >= part + n - 1 ? full : hi < part ? 0 : full >> (part + n - 1 - hi);
        const uint64_t open = p == NULL ? 0 : map_bits(p->open[TB_DDR_READ], at + part, n) & from & upto;
        some = some || open != 0;
        if (open != 0 && mem->check_reads) {
            const uint64_t missing = open & ~map_bits(p->written, at + part, n);
            if (missing != 0) {
                event_bits(mem, TB_DDR_READ_UNWRITTEN, addr + part, missing);
            }
        }
        if (open != full) {
            hide(mem, addr + part, data + part, n, full & ~open);
        }
    }
    if (!some && lo <= hi) {
        event(mem, TB_DDR_READ_OUTSIDE, addr + lo, hi - lo + 1);
    }
}

void tb_ddr_beat_read(tb_ddr *mem, uint64_t addr, uint8_t *data, size_t bytes, unsigned lo, unsigned hi) {
    const tb_ddr_page *p = page_at(mem, addr);
    bool known = !mem->check_reads || mem->watch;
    if (mem->watch && bytes == 16 && lo == 0 && hi == 15 &&
        p != NULL) { /* nearly every beat: all of it open and written */
        const size_t at = (size_t)(addr & PAGE_MASK);
        if ((p->open[TB_DDR_READ][at >> 6] & p->written[at >> 6]) >> (at & 63u) << 48 == UINT64_C(0xffff) << 48) {
            memcpy(data, p->data + at, 16);
            return;
        }
    }
    if (p == NULL) {
        poison_fill(mem, addr, data, bytes);
    } else {
        const size_t at = (size_t)(addr & PAGE_MASK);
        if (bytes == 16) {
            memcpy(data, p->data + at, 16);
        } else {
            memcpy(data, p->data + at, bytes);
        }
        /* The whole block counts, not only the lanes in use: a design may fetch a block for a few bytes of it. */
        for (size_t part = 0; part < bytes && !known; part += 64) {
            known = map_bits(p->written, at + part, bytes < 64 ? bytes : 64) != 0;
        }
    }
    if (mem->watch) {
        watch_read(mem, p, addr, data, bytes, lo, hi);
    } else if (!known && lo <= hi) {
        event(mem, TB_DDR_READ_UNWRITTEN, addr + lo, hi - lo + 1);
    }
}
