/*
 * plan.h - which checks are to be called in a cycle, found with few loads: hundreds of units stand still most of the time.
 */
#ifndef TB_PLAN_H
#define TB_PLAN_H

#include "check.h"

#define TB_PLAN_WORDS 16u /* bitmaps have a bit for each check */
#define TB_PLAN_STEP 4u   /* probes that are looked at together */
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
    uint64_t mask; /* in the aligned word around it */
    uint64_t bit;  /* of the check, in its word of a map */
} tb_plan_wake;

/* Signals that lie in one aligned word of memory: one load tells that none of them is set. */
typedef struct tb_plan_probe {
    const uint8_t *word;
    uint64_t mask;
} tb_plan_probe;

/* What a probe wakes: checks of word `slot` of a map. */
typedef struct tb_plan_group {
    uint64_t bits;
    uint32_t slot;
    uint32_t first, end; /* its signals */
} tb_plan_group;

/* Checks that share reset and clock. */
typedef struct tb_plan_domain {
    const uint8_t *reset_n, *clock; /* never NULL */
    bool runs;                      /* at the last look */
    uint32_t first, end;            /* groups of its signals, TB_PLAN_STEP or a multiple of it: the last ones may be empty */
    tb_plan_map members;
} tb_plan_domain;

/* How a check is called. Those of a unit with cycle_all() are called together, with the first of them that is due. */
typedef struct tb_plan_call {
    tb_check *check;
    void (*cycle)(tb_check *c); /* or */
    uint64_t (*cycle_all)(tb_check *const *check, uint64_t due);
    tb_check *const *all; /* of the same word of a map: the first one */
    uint64_t together;    /* those of the unit */
} tb_plan_call;

typedef struct tb_check_plan {
    bool failed;         /* a check has, in this cycle */
    uint32_t words;      /* of the bitmaps that are in use */
    tb_plan_map always;  /* called in every cycle */
    tb_plan_map again;   /* asked for the next one */
    tb_plan_map running; /* have a clock in this cycle, and have not failed */
    tb_check **check;    /* by number; as many as the bitmaps have bits */
    tb_plan_call *call;
    tb_plan_domain *domain;
    size_t domains;
    tb_plan_wake *wake; /* ordered by domain, word of a map, address */
    size_t wakes, wake_cap;
    tb_plan_probe *probe; /* of each group */
    tb_plan_group *group;
    size_t groups;
} tb_check_plan;

/* When all checks are open. 0 or -1 (out of memory, too many). */
int tb_plan_make(tb_checks *checks, char *err, size_t err_size);
void tb_plan_free(tb_checks *checks);

#endif
