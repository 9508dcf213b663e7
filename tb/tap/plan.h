/*
 * plan.h - selects the checks to be called in a cycle with few loads: hundreds of units are idle most of the time.
 */
#ifndef TB_PLAN_H
#define TB_PLAN_H

#include "check.h"

#define TB_PLAN_WORDS 16u /* bitmaps have a bit for each check */
#define TB_PLAN_BLOCK 32u /* bytes of the design that are tested together */
#define TB_PLAN_STEP 2u   /* probes in an iteration of the loop */
#define TB_PLAN_LOT 4u    /* words of bitmaps that are worked on together; TB_PLAN_WORDS is a multiple of it */
#define TB_PLAN_CHECKS (TB_PLAN_WORDS * 64u)

typedef struct tb_plan_map {
    uint64_t bit[TB_PLAN_WORDS];
} tb_plan_map;

/* A signal that wakes a check. */
typedef struct tb_plan_wake {
    const uint8_t *ptr;
    uint32_t bytes;    /* 1, 2 or 4 */
    uint8_t byte_bits; /* of each that count */
    uint32_t check, domain;
} tb_plan_wake;

/* Checks that a byte of a block wakes: those of word `slot` of a map. */
typedef struct tb_plan_byte {
    uint64_t bits;
    uint32_t slot;
} tb_plan_byte;

/* Signals near each other: one test of TB_PLAN_BLOCK bytes shows that none of them is set. As large as a cache line. */
typedef struct tb_plan_probe {
    _Alignas(TB_CHECK_LINE) const uint8_t *block;
    tb_plan_byte *byte; /* TB_PLAN_BLOCK of them */
    uint8_t mask[TB_PLAN_BLOCK];
    uint32_t set;    /* a bit for each byte that was set the last time any was: often the same ones again */
    uint64_t *woken; /* the checks that these wake, as in a map: tb_check_plan.words of them */
} tb_plan_probe;

/* Checks that share reset and clock. */
typedef struct tb_plan_domain {
    _Alignas(TB_CHECK_LINE) const uint8_t *reset_n, *clock, *outer; /* never NULL */
    bool runs;                                                      /* at the last look */
    uint32_t first, end; /* probes of its signals, a multiple of TB_PLAN_STEP: the last ones may have an empty mask */
    tb_plan_map members;
} tb_plan_domain;

/* Checks of a unit with cycle_all() are called together, with the first of them that is due. */
typedef struct tb_plan_crowd {
    uint64_t (*cycle_all)(tb_check *check, void *state, uint64_t due);
    void *state;       /* of the first of them that has its bit in the same word of a map */
    uint32_t first;    /* its bit */
    uint64_t together; /* theirs */
} tb_plan_crowd;

typedef struct tb_check_plan {
    bool failed;          /* some check has, in this cycle */
    uint32_t words;       /* of the bitmaps that are in use; a multiple of TB_PLAN_LOT */
    tb_plan_map always;   /* called in every cycle */
    tb_plan_map again;    /* to be called in the next one */
    tb_plan_map running;  /* have a clock in this cycle, and have not failed */
    tb_plan_crowd *crowd; /* by number of the check */
    tb_plan_domain *domain;
    size_t domains;
    tb_plan_wake *wake; /* ordered by domain, address */
    size_t wakes;
    tb_plan_probe *probe;
    tb_plan_byte *byte; /* of all probes */
    uint64_t *woken;    /* of all probes */
    size_t probes;
    /* The memory range of all these signals. If it is smaller than a block, it is copied in every cycle, and blocks
     * refer to the copy. */
    const uint8_t *low;
    size_t span;
    uint8_t few[TB_PLAN_BLOCK];
} tb_check_plan;

/* When all checks are open. 0 or -1 (out of memory, too many). */
int tb_plan_make(tb_checks *checks, char *err, size_t err_size);
void tb_plan_free(tb_checks *checks);

#endif
