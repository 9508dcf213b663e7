/*
 * shrink.h - makes a failing case small: knobs move towards their lowest values as long as the failure keeps its signature.
 *
 * The lowest value of a knob is its simplest one (docs/architecture.md section 2). Every attempt runs in a process of its own, so that it may crash or hang.
 */
#ifndef TB_CASE_SHRINK_H
#define TB_CASE_SHRINK_H

#include "knob.h"

#define TB_SHRINK_SIGNATURE 128u

typedef struct tb_shrink_cfg {
    void *ctx;
    /* Can these knobs be executed? NULL: all can. */
    bool (*legal)(void *ctx, const tb_knobs *knobs);
    /* Execute, in a child process: signature of the failure, "" when it passes; what it cost, in cycles. -1: it could not run. */
    int (*run)(void *ctx, const tb_knobs *knobs, char signature[TB_SHRINK_SIGNATURE], uint64_t *cycles);
    double seconds;   /* stop trying after so long (0: no limit) */
    FILE *log;        /* one line for each step that was taken; NULL: quiet */
    const char *keep; /* knobs that stay, separated by commas; NULL: none */
} tb_shrink_cfg;

typedef struct tb_shrink_stats {
    char signature[TB_SHRINK_SIGNATURE];
    unsigned runs, steps;                 /* attempts; those that kept the failure */
    uint64_t cycles_before, cycles_after; /* of the case as it came and as it goes */
    bool out_of_time;
} tb_shrink_stats;

/* Shrink in place. 0; -1 with one line in err: the case passes, cannot run, or a process cannot be made; knobs are unchanged then. */
int tb_shrink(const tb_shrink_cfg *cfg, tb_knobs *knobs, tb_shrink_stats *stats, char *err, size_t err_size);

#endif
