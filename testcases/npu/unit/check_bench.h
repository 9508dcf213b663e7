/*
 * check_bench.h - shared by the benches of gemm_check, alu_check and pool_check: starts, and checks aborted at any
 * moment.
 */
#ifndef CHECK_BENCH_H
#define CHECK_BENCH_H

#include "bench.h"

#define CHECK_BENCH_KNOBS 6u
extern const tb_knob check_bench_knobs[CHECK_BENCH_KNOBS];
void check_bench_constrain(tb_knobs *knobs, uint64_t seed);

typedef struct check_ops {
    uint32_t task_bits;
    /* Draw settings and drive them. Returns the cycles from the start to the verdict. */
    uint32_t (*draw)(const unit *u, void *ctx, tb_rng *rng);
    /* Drive anything: no check runs. */
    void (*noise)(void *ctx, tb_rng *rng);
    /* NULL, or: a check ended with this verdict; the unit was cleared. */
    void (*verdict)(void *ctx, bool legal);
    void (*clear)(void *ctx);
} check_ops;

/* The executor. 0 or -1. */
int check_bench_run(unit *u, const check_ops *ops, void *ctx);

uint32_t check_range(tb_rng *rng, uint32_t lo, uint32_t hi);
/* Change one of the lowest bits of a field; every other time it is also set in another one: two are not none. */
void check_misalign(tb_rng *rng, uint32_t *const *field, uint32_t count, uint32_t bits);
/*
 * Two factors up to amax and bmax whose product is about limit: just inside, exact where possible, or (over) just
 * outside where possible.
 */
void check_pair(tb_rng *rng, uint32_t limit, uint32_t amax, uint32_t bmax, bool over, uint32_t *a, uint32_t *b);

#endif
