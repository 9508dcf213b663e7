/*
 * shrink.h - makes a failing case small: knobs move towards their simplest values as long as the failure keeps its
 * signature.
 *
 * The lowest value of a knob is its simplest one (docs/architecture.md section 2), unless a wish says otherwise. Every
 * attempt runs in a process of its own, so that it may crash or hang; several run in parallel. Candidates have an
 * order, and the first one of them that fails in the same way is taken, regardless of timing: the result does not
 * depend on the number of parallel attempts.
 */
#ifndef TB_CASE_SHRINK_H
#define TB_CASE_SHRINK_H

#include "knob.h"

#define TB_SHRINK_SIGNATURE 256u
#define TB_SHRINK_JOBS 64u /* most attempts at a time */

/* Size of a case, estimated without running it. */
typedef struct tb_shrink_size {
    uint64_t cycles; /* estimated run time in any unit: cheap candidates are tried first; 0: unknown */
    uint64_t work;   /* the amount shown in reports; 0: none */
} tb_shrink_size;

typedef enum tb_shrink_order {
    TB_SHRINK_NAMES, /* an ENUM: these values first, in this order; the others behind them in the order of the table */
    TB_SHRINK_UP,    /* the highest value is the simplest */
    TB_SHRINK_BITS   /* bit i leaves out part i: the more ones, the simpler */
} tb_shrink_order;

/* Order of simplicity for a knob whose lowest value is not its simplest. */
typedef struct tb_shrink_wish {
    const char *knob;
    tb_shrink_order order;
    const char *const *names; /* NAMES: ends with NULL; names that the knob does not have are left out */
    const char *
        /* BITS: the knob that says how many parts there are, NULL: as many as the knob has bits; applies only to tests
         * that have it */
        count;
} tb_shrink_wish;

typedef struct tb_shrink_cfg {
    void *ctx;
    /* Can these knobs be executed? NULL: all can. */
    bool (*legal)(void *ctx, const tb_knobs *knobs);
    /* Execute, in a child process: signature of the failure, "" when it passes; what it cost, in cycles. -1: it could
     * not run. */
    int (*run)(void *ctx, const tb_knobs *knobs, char signature[TB_SHRINK_SIGNATURE], uint64_t *cycles);
    /* Called in the child before run(): end the run with another outcome than this failure after so many cycles. NULL:
     * runs are not limited in cycles. */
    void (*limit)(void *ctx, uint64_t cycles);
    /* Is `got` the original failure? NULL: equal signatures. */
    bool (*same)(void *ctx, const char *want, const char *got);
    /* NULL: the product of all numbers is the size. */
    tb_shrink_size (*size)(void *ctx, const tb_knobs *knobs);
    /* Update the knobs that are derived from others. NULL: there are none. */
    void (*settle)(void *ctx, tb_knobs *knobs);
    /* Called after each step, with the smallest case so far. May be NULL. */
    void (*step)(void *step_ctx, const tb_knobs *knobs);
    void *step_ctx;
    /* Should it end now? Called several times a second. NULL: no. */
    bool (*stop)(void *ctx);
    const tb_shrink_wish *wishes; /* those for knobs that the test does not have are ignored */
    size_t wish_count;
    /* time limit; also refuse a case that takes more CPU time in its first run (0: no limit) */
    double seconds;
    unsigned jobs;         /* attempts at a time, up to TB_SHRINK_JOBS (0: one) */
    FILE *log;             /* one line for each step that was taken; NULL: quiet */
    bool live;             /* log is a terminal: show progress between two steps */
    const char *work_name; /* unit of tb_shrink_size.work, for the log */
    const char *keep;      /* knobs to keep, separated by commas; NULL: none */
} tb_shrink_cfg;

typedef struct tb_shrink_stats {
    char signature[TB_SHRINK_SIGNATURE];
    /* attempts, without those whose result was not needed; those that kept the failure */
    unsigned runs, steps;
    uint64_t cycles_before, cycles_after; /* of the original and of the shrunk case, up to its failure */
    uint64_t work_before, work_after;
    double seconds; /* the first run included */
    bool out_of_time, stopped;
    bool failed; /* it ended because memory or processes ran out */
} tb_shrink_stats;

/* Shrink in place. 0; -1 with one line in err: the case passes, cannot run, or a process cannot be made; knobs are
 * unchanged then. */
int tb_shrink(const tb_shrink_cfg *cfg, tb_knobs *knobs, tb_shrink_stats *stats, char *err, size_t err_size);

#endif
