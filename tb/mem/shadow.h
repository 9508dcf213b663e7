/*
 * shadow.h - memory with shadow: the scoreboard of a memory that several masters read and write at the same time.
 *
 * It knows no bus. Whoever drives accesses asks tb_shadow_begin() before one starts and calls tb_shadow_end() when it
 * is answered; what is written goes through tb_shadow_write(), what was read through tb_shadow_read(). Accesses whose
 * outcome would depend on their order in the design never overlap: a read waits for writes of its bytes, a write for
 * reads and writes of its bytes, except for writes of which the bus promises the order.
 *
 * A byte that was never written holds what the first read of it returned, and every later read must return the same.
 */
#ifndef TB_SHADOW_H
#define TB_SHADOW_H

#include "ddr.h"

#define TB_SHADOW_OPEN 256u    /* accesses in flight */
#define TB_SHADOW_RESERVED 64u /* exclusive reads that wait for their write */

/* An access in flight. */
typedef struct tb_shadow_access {
    bool used, write;
    uint64_t from, to; /* first and last byte */
    /* of writes: those with the same number reach memory in the order in which they began, as those of one AXI ID on
     * one port do; 0: in any order */
    uint64_t order;
} tb_shadow_access;

/* An exclusive read (AMBA AXI, section A7.2) that no write has broken yet. */
typedef struct tb_shadow_reserved {
    bool used;
    uint64_t from, to, order;
} tb_shadow_reserved;

typedef struct tb_shadow {
    tb_ddr mem; /* what was written, or read first */
    tb_shadow_access open[TB_SHADOW_OPEN];
    unsigned opens;
    tb_shadow_reserved reserved[TB_SHADOW_RESERVED];
    uint64_t checked, learned; /* bytes read: compared with known contents; taken as known from now on */
} tb_shadow;

/* base and size: multiples of 64 KiB, as for tb_ddr_init(). Returns 0 or -1 (out of memory, or an impossible range). */
int tb_shadow_init(tb_shadow *shadow, uint64_t base, uint64_t size);
void tb_shadow_free(tb_shadow *shadow);
/* Forget all contents and all accesses in flight, after a reset of the design. */
void tb_shadow_clear(tb_shadow *shadow);

/* Begin an access to the bytes from .. to. Returns its number, from 1; 0: it must wait. order: as above. */
unsigned tb_shadow_begin(tb_shadow *shadow, bool write, uint64_t from, uint64_t to, uint64_t order);
/* The access is answered. */
void tb_shadow_end(tb_shadow *shadow, unsigned access);

/*
 * Bytes that a beat has written: bit i of strb[i / 64] enables byte i of `bytes` from addr on. Breaks reservations of
 * others (another `order`).
 */
void tb_shadow_write(tb_shadow *shadow, uint64_t addr, const uint8_t *data, const uint64_t *strb, unsigned bytes,
                     uint64_t order);
/* The contents of these bytes are unknown from now on, for example after an error response to a write. */
void tb_shadow_forget(tb_shadow *shadow, uint64_t from, uint64_t to);
/*
 * Bytes lo .. hi (lanes of data, lane 0 at addr) were read. False: the byte at lane *lane is not what it must be,
 * *want; the rest is then not looked at.
 */
bool tb_shadow_read(tb_shadow *shadow, uint64_t addr, const uint8_t *data, unsigned lo, unsigned hi, unsigned *lane,
                    uint8_t *want);

/* An exclusive read of from .. to was answered with EXOKAY; one reservation for each `order`. */
void tb_shadow_reserve(tb_shadow *shadow, uint64_t from, uint64_t to, uint64_t order);
/* Is it unbroken, that is, may an exclusive write of the same bytes succeed? */
bool tb_shadow_holds(const tb_shadow *shadow, uint64_t from, uint64_t to, uint64_t order);

/* Does a memory behind the design hold what the shadow does? False: diff says where not (a: memory, b: shadow). */
bool tb_shadow_compare(const tb_shadow *shadow, const tb_ddr *mem, tb_ddr_diff *diff);
/* The same for bytes that the shadow knows: what was written before a reset, which it forgets, may stand beside. */
bool tb_shadow_within(const tb_shadow *shadow, const tb_ddr *mem, tb_ddr_diff *diff);

#endif
