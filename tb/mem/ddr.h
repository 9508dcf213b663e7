/*
 * ddr.h - sparse byte memory behind the buses.
 *
 * Pages of 64 KiB are allocated on first access. For each byte it is tracked whether it was ever written, whether the
 * bus may write it at all, and whether it is open: whether work in flight has declared to read or write it (buffers.h).
 * Bytes that were never written read as deterministic random values. Addresses are absolute; the memory covers [base,
 * base + size).
 */
#ifndef TB_DDR_H
#define TB_DDR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TB_DDR_PAGE_BITS 16u
#define TB_DDR_PAGE ((size_t)1 << TB_DDR_PAGE_BITS)

typedef enum tb_ddr_use { TB_DDR_READ, TB_DDR_WRITE } tb_ddr_use;

typedef struct tb_ddr_page {
    uint8_t data[TB_DDR_PAGE];
    uint64_t written[TB_DDR_PAGE / 64];  /* one bit a byte */
    uint64_t writable[TB_DDR_PAGE / 64]; /* one bit a byte: the bus may write it */
    uint64_t open[2][TB_DDR_PAGE / 64];  /* one bit a byte: to be read, to be written by work that runs now */
    bool dirty;                          /* written since the last comparison that found no difference */
} tb_ddr_page;

typedef enum tb_ddr_event_kind {
    TB_DDR_WRITE_OUTSIDE, /* the bus wrote a byte that is not writable, or not open */
    /* the bus read an open byte that was never written; without `watch`: a block of which no byte was ever written
     */
    TB_DDR_READ_UNWRITTEN,
    TB_DDR_READ_OUTSIDE /* the bus read a block of which no byte is open */
} tb_ddr_event_kind;

typedef struct tb_ddr_event {
    tb_ddr_event_kind kind;
    uint64_t addr;  /* first such byte */
    uint32_t bytes; /* how many of the beat there are */
    unsigned agent; /* tb_ddr.agent */
} tb_ddr_event;

typedef struct tb_ddr {
    uint64_t base, size;
    tb_ddr_page **page;
    size_t pages;
    uint64_t poison_seed;
    bool protect;       /* only bytes declared writable may be written by the bus */
    bool check_reads;   /* note bus reads of bytes that were never written */
    bool watch;         /* the bus may access open bytes only; other bytes of a block read as random values */
    unsigned agent;     /* of the caller: who makes the next access */
    uint64_t events;    /* violations so far */
    tb_ddr_event first; /* the first one */
    bool oom;
} tb_ddr;

/* base and size multiples of 64 KiB, size at most 2^40. 0 or -1. Release with tb_ddr_free(). */
int tb_ddr_init(tb_ddr *mem, uint64_t base, uint64_t size, uint64_t poison_seed);
void tb_ddr_free(tb_ddr *mem);
/* Drop all contents and permissions; events too. */
void tb_ddr_clear(tb_ddr *mem);

static inline bool tb_ddr_inside(const tb_ddr *mem, uint64_t addr, uint64_t bytes) {
    return addr >= mem->base && bytes <= mem->size && addr - mem->base <= mem->size - bytes;
}

/* Back door: no permission and no poison check. false: outside memory (nothing done) or out of memory. */
bool tb_ddr_write(tb_ddr *mem, uint64_t addr, const void *src, size_t bytes);
bool tb_ddr_read(const tb_ddr *mem, uint64_t addr, void *dst, size_t bytes);
/* Mark bytes as never written: they read as poison again. */
bool tb_ddr_unwrite(tb_ddr *mem, uint64_t addr, uint64_t bytes);
/* Count bytes that were never written as written, with their random values: for contents that are undefined on
 * purpose. */
bool tb_ddr_undefine(tb_ddr *mem, uint64_t addr, uint64_t bytes);
/* Address of the first byte in the range that was never written; true when there is one. */
bool tb_ddr_find_unwritten(const tb_ddr *mem, uint64_t addr, uint64_t bytes, uint64_t *where);
/* Allow the bus to write a range, or forbid it. false: outside memory. */
bool tb_ddr_allow(tb_ddr *mem, uint64_t addr, uint64_t bytes, bool writable);
/* Address of the first byte in the range that the bus may not write; true when there is one. */
bool tb_ddr_find_protected(const tb_ddr *mem, uint64_t addr, uint64_t bytes, uint64_t *where);
/* Open a range to the bus, or close it; addresses outside memory are ignored. false: out of memory. */
bool tb_ddr_open(tb_ddr *mem, tb_ddr_use use, uint64_t addr, uint64_t bytes, bool open);
/* Address of the first byte in the range that is not open for this use; true when there is one. */
bool tb_ddr_find_closed(const tb_ddr *mem, tb_ddr_use use, uint64_t addr, uint64_t bytes, uint64_t *where);

/*
 * One beat of a bus. addr is a multiple of `bytes`, a power of two of at most 128; strobes: bit i of strb[i / 64]
 * enables byte i. The caller has checked that the beat lies inside memory. Permissions and reads of bytes that were
 * never written are checked here; lanes lo..hi (included) are those that the transfer uses. A memory with `watch`
 * returns random values in lanes that are not open and in those that the transfer does not use: a design may read them,
 * but no result may depend on them.
 */
void tb_ddr_beat_write(tb_ddr *mem, uint64_t addr, const uint8_t *data, const uint64_t *strb, size_t bytes);
void tb_ddr_beat_read(tb_ddr *mem, uint64_t addr, uint8_t *data, size_t bytes, unsigned lo, unsigned hi);

/* Next page at or after `index` that exists; NULL at the end. *index is set to its number. */
const tb_ddr_page *tb_ddr_next_page(const tb_ddr *mem, size_t *index);

typedef struct tb_ddr_diff {
    uint64_t addr; /* first byte that differs */
    uint8_t a, b;  /* contents (poison where nothing was written) */
    bool a_written, b_written;
    uint64_t count; /* how many bytes differ */
} tb_ddr_diff;
/* Compare what was written to either memory (same base and size). true: equal, that is, the same bytes written with the
 * same contents. */
bool tb_ddr_compare(const tb_ddr *a, const tb_ddr *b, tb_ddr_diff *diff);
/* The same for pages written since the last equal comparison of the two; after an equal one they count as clean. */
bool tb_ddr_compare_dirty(tb_ddr *a, tb_ddr *b, tb_ddr_diff *diff);
/* Make a range of dst equal to src: contents and written marks. */
bool tb_ddr_copy_range(tb_ddr *dst, const tb_ddr *src, uint64_t addr, uint64_t bytes);
/* Add address and contents of every written page to a hash, in address order; unwritten bytes count as 0. */
uint64_t tb_ddr_hash(const tb_ddr *mem, uint64_t hash);

#endif
