/*
 * regs_bench.h - the benches of npu_regs, with and without ALU and POOL: accesses and the units around the module
 * (regs_bench.c), values of registers (regs_stim.c).
 */
#ifndef REGS_BENCH_H
#define REGS_BENCH_H

#include "bench.h"

#define REGS_BENCH_KNOBS 8u
extern const tb_knob regs_bench_knobs[REGS_BENCH_KNOBS];
void regs_bench_constrain(tb_knobs *knobs, uint64_t seed);
/* The executor. 0 or -1. */
int regs_bench_run(unit *u, bool alu, bool pool);
/* A value that a task register may have in a legal task; at the edge of what is legal. */
uint32_t regs_plausible(tb_rng *rng, uint32_t offset);
uint32_t regs_edgy(tb_rng *rng, uint32_t offset);

#endif
