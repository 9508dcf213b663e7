/*
 * bench.h - shared by the unit benches of the shift-add engine (tb/prog/bench.h): a random task at the ports of a unit,
 * what its neighbours send and take; the checks of tb/sac/score judge it as they do inside the engine.
 */
#ifndef SAC_BENCH_H
#define SAC_BENCH_H

#include "prog/bench.h"
#include "sac_layer.h"
#include "score/score.h"

/* Sizes of the build, and the task that the checks look at. */
const sac_build *bench_build(const bench *b);
const cm_layer_task *bench_task_of(const bench *b);

/* Draw a task of small sizes; legal unless the bench makes it otherwise. */
void bench_task(tb_rng *rng, const sac_build *build, cm_layer_task *t);
/* It, and its geometry, become those of the unit and of the checks. A port that the unit has not is left out. */
void bench_set_task(bench *b, const cm_layer_task *t);
/* Does the case go on after so many tasks? As many as the knob says, unless they have taken many cycles. */
bool bench_more(const bench *b, int64_t done);
/* The next random task: drawn, set, and started with start_i. False: stop. */
bool bench_next(bench *b, tb_rng *rng);

/*
 * What a cycle of a task does: set inputs, bench_settle(), read outputs. The unit is done when it returns true, after
 * the edge that follows.
 */
typedef bool bench_cycle(bench *b, void *state);
/*
 * Cycles until the unit is done, or until it is aborted: the knob `abort` says how many percent of the tasks end so,
 * with clr_i at a random moment. -1: stop, something failed; 0: aborted; 1: done.
 */
int bench_until_done(bench *b, tb_rng *rng, bench_cycle *cycle, void *state);

/* The source of a handshake: an item that is offered stays as it is until it is taken. */
typedef struct bench_source {
    tb_sig valid, ready, data; /* data: noise for each item */
    bench_stall stall;
    tb_rng values;
    bool offered;
    uint64_t sent;
} bench_source;
bench_source bench_source_of(bench *b, const char *valid, const char *ready, const char *data, const char *knob);
/* Before the outputs settle; `more`: there is another item. True: an item is new. */
bool bench_offer(bench_source *s, bool more);
/* After the outputs settled. True: the item is taken. */
bool bench_taken(bench_source *s);

/*
 * PARAM of filters, for units that keep a part of it: a filter a cycle, at most four batches ahead of those that have
 * left the unit.
 */
typedef struct bench_params {
    tb_sig we, n, place, p;
    tb_rng values;
    uint32_t filter;  /* next one of the batch */
    uint32_t batches; /* that are complete */
} bench_params;
bench_params bench_params_of(bench *b);
/* In a cycle in which `left` batches have left the unit. */
void bench_param(bench *b, bench_params *p, uint32_t left);

/*
 * A unit between two streams: `in` random items at valid_i, ready_o, data_i; `out` items at valid_o, ready_i, or until
 * it is aborted. False: stop.
 */
bool bench_streams(bench *b, tb_rng *rng, uint64_t in, uint64_t out);

#define BENCH_STALL(NAME, HELP)                                                                                        \
    { "stall_" NAME, 0, 95, TB_KNOB_SMALL, NULL, NULL, "percent of cycles " HELP }
#define BENCH_KNOBS                                                                                                    \
    {"tasks", 1, 64, TB_KNOB_SMALL, NULL, NULL, "one after the other"},                                                \
        {"abort", 0, 60, TB_KNOB_SMALL, NULL, NULL, "percent of tasks that are aborted"},                              \
        BENCH_STALL("in", "without an item at the input"), BENCH_STALL("out", "in which the output waits")

#endif
