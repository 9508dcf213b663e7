/*
 * bench.h - shared by the unit benches of the GEMM engine (tb/prog/bench.h): the checks of tb/sgemm/score judge a unit
 * as they do inside the engine.
 */
#ifndef SGEMM_BENCH_H
#define SGEMM_BENCH_H

#include "prog/bench.h"
#include "score/score.h"
#include "tb.h"

/* Random binary32 values, corners among them, in every 32 bits of a port. */
void bench_floats(tb_sig port, tb_rng *rng);

#endif
