/*
 * bench.h - shared by the unit benches of the GEMM engine: a unit alone, random stimulus with stalls on every
 * handshake; the checks of tb/sgemm/score judge it as they do inside the engine.
 *
 * A bench is one file unit_<name>.c that defines `bench_this`. Its run function sets inputs, calls bench_settle() where
 * it needs outputs of the same cycle, and bench_step().
 */
#ifndef SGEMM_BENCH_H
#define SGEMM_BENCH_H

#include "score/score.h"
#include "tb.h"

typedef struct bench {
    const tb_prog_run *prog; /* the case */
    tb_run run;              /* the design and the checks */
    bool no_port;            /* a port that the bench named does not exist */
    uint64_t nowhere[512];   /* in its place */
} bench;

typedef struct bench_unit {
    const char *name, *about; /* "unit-mac" */
    const tb_knob *knobs;
    size_t knob_count;
    void (*run)(bench *b);
} bench_unit;

/* Every bench defines it. */
extern const bench_unit bench_this;

/* Port of the unit by name. */
tb_sig bench_port(bench *b, const char *name);
/* Random bits for all of a port. */
void bench_noise(tb_sig port, tb_rng *rng);
/* Random binary32 values, corners among them, in every 32 bits of a port. */
void bench_floats(tb_sig port, tb_rng *rng);
tb_rng bench_stream(const bench *b, const char *name);
int64_t bench_knob(const bench *b, const char *name);
void bench_settle(bench *b);
/* One rising edge. False: stop, something failed. */
bool bench_step(bench *b);

/* One side of a handshake: willing in 100 - `percent` of 100 cycles, in runs of up to 8. */
typedef struct bench_stall {
    tb_rng rng;
    uint32_t percent, left;
    bool go;
} bench_stall;
bench_stall bench_stall_of(const bench *b, const char *knob);
/* True in cycles without a stall. One call a cycle. */
bool bench_go(bench_stall *stall);

#endif
