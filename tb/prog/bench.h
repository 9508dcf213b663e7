/*
 * bench.h - benches of single units: the clock, ports by name, random stalls, one main program.
 *
 * A unit stands alone, its inputs are driven at random, and the checks that follow it inside the design judge it. A
 * bench is one file unit_<name>.c that defines `bench_this`. Its run function sets inputs, calls bench_settle() where
 * it needs outputs of the same cycle, and bench_step(). The file with main() has what all benches of the design share,
 * a bench_design, and calls bench_main().
 */
#ifndef TB_BENCH_H
#define TB_BENCH_H

#include "../case/rng.h"
#include "../run/run.h"
#include "prog.h"

/* One case in execution. */
typedef struct bench {
    const tb_prog_run *prog; /* the case */
    tb_run run;              /* the unit and its checks */
    void *ctx;               /* of the checks, as in the whole design; bench_design.ctx_bytes, zeroed */
    bool no_port;            /* a port that the bench named does not exist */
    uint64_t nowhere[512];   /* in its place */
} bench;

typedef struct bench_unit {
    const char *name, *about; /* "unit-pool" */
    const tb_knob *knobs;
    size_t knob_count;
    void (*run)(bench *b);
} bench_unit;

/* Every bench defines it. */
extern const bench_unit bench_this;

/* What all benches of a design share. */
typedef struct bench_design {
    const char *cfg;                   /* configuration of this build */
    const tb_check_ops *const *checks; /* of all units; those whose unit is there are called */
    size_t check_count;
    uint64_t max_cycles;    /* a longer case is a hang */
    size_t ctx_bytes;       /* of bench.ctx; 0: the checks need none */
    void (*open)(bench *b); /* fills bench.ctx; NULL: it stays zero */
    /* as in tb_prog */
    int (*code_save)(const char *text, size_t size, const char *path, char *err, size_t err_size);
} bench_design;

/* The program: one test, `bench_this`. Returns its exit status. */
int bench_main(const bench_design *design, int argc, char **argv);

/* Port of the unit by name. An unknown name is a failure of the case and gives a port to dummy storage. */
tb_sig bench_port(bench *b, const char *name);
/* Random bits for all of a port. */
void bench_noise(tb_sig port, tb_rng *rng);
tb_rng bench_stream(const bench *b, const char *name);
int64_t bench_knob(const bench *b, const char *name);
/* Outputs follow the inputs of this cycle. */
void bench_settle(bench *b);
/* One rising edge. False: stop, something failed. */
bool bench_step(bench *b);
/* An input of one bit is 1 for one cycle. False: stop. */
bool bench_pulse(bench *b, const char *name);

/* One side of a handshake: willing in 100 - `percent` of 100 cycles, in runs of up to 8. */
typedef struct bench_stall {
    tb_rng rng;
    uint32_t percent, left;
    bool go;
} bench_stall;
/* Its percentage and the name of its random stream are those of a knob. */
bench_stall bench_stall_of(const bench *b, const char *knob);
/* True in cycles without a stall. One call a cycle. */
bool bench_go(bench_stall *stall);

#endif
