/*
 * regs_bench.h - the benches of npu_regs, with and without ALU and POOL: what the module must do (regs_model.c), stimulus and checks (regs_bench.c).
 *
 * Plain registers and the decoding of tasks come from the golden model; what depends on time (events, pending tasks, soft reset, counters) is modelled here cycle by
 * cycle from the header of the module.
 */
#ifndef REGS_BENCH_H
#define REGS_BENCH_H

#include "bench.h"

#define REGS_COUNTERS 36u
#define REGS_MARKS 12u
#define REGS_FIRST_MARK 40u

enum { REGS_GEMM, REGS_ALU, REGS_POOL, REGS_UNITS }; /* in the order of ERR */

/* One unit's task on its way. */
typedef struct regs_slot {
    bool present;
    bool pending, good;
    uint32_t check_left; /* cycles until the check of the pending task is over */
    uint32_t inflight;   /* tasks handed on and not complete */
    uint32_t count;      /* complete */
} regs_slot;

/* Inputs of one cycle. */
typedef struct regs_in {
    bool ready[REGS_UNITS], done[REGS_UNITS], drained, result_we;
    uint32_t result, bus_err;
    uint64_t events;
    uint16_t level[REGS_MARKS];
} regs_in;

/* A write that takes effect. */
typedef struct regs_write {
    uint32_t offset, value, strobes;
} regs_write;

/* Expected state before the coming edge. */
typedef struct regs_model {
    cm_device *regs;
    regs_slot slot[REGS_UNITS];
    cm_gemm_task gemm, before; /* expected on the port; accepted last */
    bool has_before;
    cm_alu_task alu;
    cm_pool_task pool;
    uint32_t err, irq_status, irq_enable;
    uint32_t result, pend;
    bool have;
    bool resetting;
    uint32_t reset_age;
    uint64_t counter[REGS_COUNTERS], counter_copy[REGS_COUNTERS];
    uint16_t mark[REGS_MARKS], mark_copy[REGS_MARKS];
} regs_model;

/* 0 or -1. */
int regs_model_init(regs_model *m, bool alu, bool pool);
/* What a read of the register captures now. */
uint32_t regs_model_read(const regs_model *m, uint32_t offset);
bool regs_model_valid(const regs_model *m, uint32_t unit_index);
/* One rising edge. w: the write that takes effect in this cycle, or NULL. */
void regs_model_step(regs_model *m, const regs_in *in, const regs_write *w);

#define REGS_BENCH_KNOBS 8u
extern const tb_knob regs_bench_knobs[REGS_BENCH_KNOBS];
void regs_bench_constrain(tb_knobs *knobs, uint64_t seed);
/* The executor. 0 or -1. */
int regs_bench_run(unit *u, bool alu, bool pool);
/* A value that a task register may have in a legal task; at the edge of what is legal. */
uint32_t regs_plausible(tb_rng *rng, uint32_t offset);
uint32_t regs_edgy(tb_rng *rng, uint32_t offset);

#endif
