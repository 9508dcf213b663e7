/*
 * plan.h - which checks are to be called in a cycle, found with few loads: hundreds of units stand still most of the time.
 */
#ifndef TB_PLAN_H
#define TB_PLAN_H

#include "check.h"

#define TB_PLAN_WORDS 16u /* bitmaps have a bit for each check */
#define TB_PLAN_CHECKS (TB_PLAN_WORDS * 64u)

typedef struct tb_plan_map {
    uint64_t bit[TB_PLAN_WORDS];
} tb_plan_map;

/* A signal that wakes checks. */
typedef struct tb_plan_wake {
    const uint8_t *ptr;
    uint32_t bytes; /* 1, 2 or 4 */
    uint32_t check, domain;
    uint64_t mask; /* in the aligned word around it */
    uint64_t bit;  /* of the check, in word `slot` of a map */
    uint32_t slot;
} tb_plan_wake;

/* Signals that lie in one aligned word of memory: one load tells that none of them is set. */
typedef struct tb_plan_group {
    const uint8_t *word;
    uint64_t mask;
    const tb_plan_wake *first, *end;
} tb_plan_group;

/* Checks that share reset and clock. */
typedef struct tb_plan_domain {
    const uint8_t *reset_n, *clock; /* NULL: never in reset, always running */
    bool runs;                      /* at the last look */
    uint32_t first, count;          /* groups of its signals */
    tb_plan_map members;
} tb_plan_domain;

typedef struct tb_check_plan {
    bool failed;                 /* a check has, in this cycle */
    uint32_t words;              /* of the bitmaps that are in use */
    tb_plan_map always;          /* called in every cycle */
    tb_plan_map again;           /* asked for the next one */
    tb_plan_map running;         /* have a clock in this cycle, and have not failed */
    void (**cycle)(tb_check *c); /* of each check */
    tb_plan_domain *domain;
    size_t domains;
    tb_plan_wake *wake; /* ordered by domain, then address */
    size_t wakes, wake_cap;
    tb_plan_group *group;
    size_t groups;
} tb_check_plan;

/* When all checks are open. 0 or -1 (out of memory, too many). */
int tb_plan_make(tb_checks *checks, char *err, size_t err_size);
void tb_plan_free(tb_checks *checks);

#endif
