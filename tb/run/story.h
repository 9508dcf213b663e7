/*
 * story.h - the log of a run that is known to fail, for its report: the bursts of every port, every failed check,
 * violated bus rules.
 *
 * Such a run continues after the first failure where possible (tb_run_cfg.go_on). The struct outlives the run.
 */
#ifndef TB_RUN_STORY_H
#define TB_RUN_STORY_H

#include "../axi/log.h"
#include "run.h"

/* A failed check of a unit (tb_check_failure, without pointers into the run). */
typedef struct tb_story_check {
    char unit[32], path[128], stream[24], where[96], got[80], expected[80];
    unsigned index;
    uint64_t cycle, task, transaction;
    bool input_right;
} tb_story_check;

typedef struct tb_story_port {
    const char *prefix; /* prefix of the names of its signals */
    bool registers;     /* an AXI4-Lite slave of the design */
    tb_axi_log log;
} tb_story_port;

typedef struct tb_story {
    uint64_t limit; /* set by the caller: cycles to run after the first failure (0: 500,000) */
    bool has_rtl, has_model, has_checks, no_checks; /* no_checks: present, but switched off */
    /* the first failure; the failure that ended the run, empty when none did */
    tb_run_failure first, last;
    uint64_t cycles;
    tb_schedule schedule; /* schedule of the clocks, for times in a waveform */
    tb_story_check check[TB_CHECK_KEEP];
    size_t checks;
    char rule[4][320]; /* the first violated rules of the bus, as text */
    uint64_t rules;    /* number of all violated rules */
    tb_story_port port[TB_RUN_PORTS];
    unsigned ports;
    bool oom; /* out of memory: something could not be kept */
} tb_story;

/*
 * All ports of the run are open: start logging. A story that already holds a failure is not changed, as that happened
 * on an earlier device of the same case; returns false then.
 */
bool tb_story_begin(tb_story *story, tb_run *run);
/*
 * The run is over: copy what the report needs. A failure that did not stop the run is noted as its failure now. Does
 * nothing without a story, or when called again.
 */
void tb_story_end(tb_run *run);
/* Release the memory of the story and set it to zero. */
void tb_story_free(tb_story *story);

/* Called by tb_run in every cycle. */
void tb_story_sample(tb_run *run);

#endif
