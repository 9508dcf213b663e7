/*
 * plan.h - selects the checks to be called in a cycle with few loads: hundreds of units are idle most of the time.
 */
#ifndef TB_PLAN_H
#define TB_PLAN_H

#include "check.h"

#define TB_PLAN_WORDS 16u /* bitmaps have a bit for each check */
#define TB_PLAN_BLOCK 64u /* bytes of the design that are looked at together */
#define TB_PLAN_KEPT 32u  /* sets of such bytes whose checks are kept */
#define TB_PLAN_LOT 4u    /* words of bitmaps that are worked on together; TB_PLAN_WORDS is a multiple of it */
#define TB_PLAN_CHECKS (TB_PLAN_WORDS * 64u)

typedef struct tb_plan_map {
    uint64_t bit[TB_PLAN_WORDS];
} tb_plan_map;

/* What a signal is looked at for. */
typedef enum tb_plan_use {
    TB_PLAN_SET,     /* it wakes a check while it is not 0, */
    TB_PLAN_CHANGE,  /* when it differs from the cycle before; */
    TB_PLAN_CONTROL, /* resets and clock enables, which are the same in most cycles */
    TB_PLAN_USES
} tb_plan_use;

typedef struct tb_plan_wake {
    const uint8_t *ptr;
    uint32_t bytes;    /* 1, 2 or 4 */
    uint8_t byte_bits; /* of each that count */
    tb_plan_use use;
    uint32_t check, probe; /* TB_PLAN_CONTROL: check is 0 */
} tb_plan_wake;

/*
 * Signals near each other, looked at together: a difference from the cycle before is all that is searched for in most
 * cycles. Begins with a line of the cache.
 */
typedef struct tb_plan_probe {
    _Alignas(TB_CHECK_LINE) uint8_t before[TB_PLAN_BLOCK]; /* the block in the cycle before */
    const uint8_t *block;
    uint64_t any, bytes[TB_PLAN_USES];    /* a bit for each byte that is looked at, at all and for this */
    uint64_t *woken;                      /* the checks that signals wake which are not 0, as in a map */
    const uint64_t *row[TB_PLAN_CONTROL]; /* of a use: the checks that each byte wakes */
    uint8_t mask[TB_PLAN_BLOCK];          /* bits that wake a check while they are set */
    /* The same sets of bytes occur again and again: these, a bit for each byte, and the checks that they wake. */
    uint64_t *kept;
    uint64_t set[TB_PLAN_KEPT];
} tb_plan_probe;
_Static_assert(sizeof(void *) != 8 || offsetof(tb_plan_probe, mask) == 2 * TB_CHECK_LINE, "what the search looks at");

/* Checks that share reset and clock. */
typedef struct tb_plan_domain {
    const uint8_t *reset_n, *clock, *outer; /* never NULL */
    bool runs;                              /* at the last look */
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
    tb_plan_map due;      /* are called in this cycle */
    tb_plan_map together; /* are called with their crowd */
    tb_plan_crowd *crowd; /* by number of the check */
    tb_plan_domain *domain;
    size_t domains;
    bool look; /* at all domains in the next cycle, whatever their resets and clocks are: the first one, or a reset */
    tb_plan_wake *wake; /* ordered by address */
    size_t wakes;
    tb_plan_probe *probe;
    size_t probes;   /* an even number */
    tb_plan_map set; /* those of `always`, and those that signals wake which are not 0 */
    uint64_t *woken; /* those of the probes that have such signals, one behind the other */
    size_t sets;     /* so many, an even number */
    /* The memory range of all these signals. If it is smaller than a block, it is copied in every cycle, and blocks
     * refer to the copy. */
    const uint8_t *low;
    size_t span;
    uint8_t few[TB_PLAN_BLOCK];
} tb_check_plan;

/* When all checks are open. 0 or -1 (out of memory, too many). */
int tb_plan_make(tb_checks *checks, char *err, size_t err_size);
/* What is not in the memory of the checks. */
void tb_plan_free(tb_checks *checks);

#endif
