/*
 * bench.h - shared by the unit benches of the shift-add engine: a unit alone, a random task at its ports, stalls on its
 * handshakes; the checks of tb/sac/score judge it as they do inside the engine.
 *
 * A bench is one file unit_<name>.c that defines `bench_this`.
 */
#ifndef SAC_BENCH_H
#define SAC_BENCH_H

#include "score/score.h"

typedef struct bench {
    const tb_prog_run *prog; /* the case */
    sac_device dev;          /* only run, sizes and task of it are used: what the checks look at */
} bench;

typedef struct bench_unit {
    const char *name, *about; /* "unit-pool" */
    const tb_knob *knobs;
    size_t knob_count;
    void (*run)(bench *b);
} bench_unit;

/* Every bench defines it. */
extern const bench_unit bench_this;

/* Port of the unit by name. */
tb_sig bench_port(bench *b, const char *name);
int64_t bench_knob(const bench *b, const char *name);
/* Is one side of a handshake willing in this cycle? Not in `percent` of 100 cycles. */
bool bench_go(tb_rng *rng, int64_t percent);
/* One rising edge. False: stop, something failed. */
bool bench_step(bench *b);

/* A random task of small sizes; legal unless the bench makes it otherwise. */
void bench_task(tb_rng *rng, const sac_build *build, cm_layer_task *t);
/* It, and its geometry, become those of the unit and of the checks. A port that the unit has not is left out. */
void bench_set_task(bench *b, const cm_layer_task *t);
/* start_i for one cycle. */
bool bench_start(bench *b);
/*
 * A unit between two streams: `in` random items at valid_i, ready_o, data_i; `out` items at valid_o, ready_i. Stalls as
 * the knobs stall_in and stall_out say.
 */
bool bench_streams(bench *b, tb_rng *rng, uint64_t in, uint64_t out);

#define BENCH_KNOBS                                                                                                    \
    {"tasks", 1, 64, TB_KNOB_SMALL, NULL, NULL, "one after the other"},                                                \
        {"stall_in", 0, 95, TB_KNOB_SMALL, NULL, NULL, "percent of cycles without an item at the input"}, {            \
        "stall_out", 0, 95, TB_KNOB_SMALL, NULL, NULL, "percent of cycles in which the output waits"                   \
    }

#endif
