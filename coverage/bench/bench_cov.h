/*
 * bench_cov.h - functional coverage of any bench, without a line of description: what its knobs were, what its buses
 * did.
 *
 *     static bench_cov coverage;
 *     const tb_prog prog = {.., .ctx = &coverage, BENCH_COV};
 *
 * --cov then writes a file for tandem-cov (docs/coverage.md), with a covergroup for each test, named like it: a
 * coverpoint for each knob, whose hints `tandem-cov plan` pins, and a cross of the knob "bus" with each other knob of
 * names. And a covergroup for each bus of a bench that is a table (tb/prog/tandem.h): bursts by length, first address,
 * distance to the next 4 KB and number in flight; channels that waited; error responses; and one for each stream,
 * APB port and interrupt. A case counts when it has passed.
 */
#ifndef COVERAGE_BENCH_COV_H
#define COVERAGE_BENCH_COV_H

#include "../../tb/tb.h"
#include "../cov.h"

struct bench_cov_texts;

/* Of a program; zero at first. */
typedef struct bench_cov {
    cov_db *db;
    struct bench_cov_texts *made; /* descriptions made from the tables of the tests */
} bench_cov;

/* Members of tb_prog. `ctx` must be a bench_cov. */
#define BENCH_COV                                                                                                      \
    .cov_open = bench_cov_open, .cov_save = bench_cov_save, .cov_close = bench_cov_close, .seen = bench_cov_seen,      \
    .passed = bench_cov_passed

/* Make and compile the descriptions of all tests. 0, or -1 with one line in err. */
int bench_cov_open(const tb_prog *prog, char *err, size_t err_size);
/* Write names and counters; job: the line of a suite that repeats the run. 0, or -1 with one line in err. */
int bench_cov_save(const tb_prog *prog, const char *path, const char *job, char *err, size_t err_size);
void bench_cov_close(const tb_prog *prog);
/* A case has passed, its run is still there: count what the buses did. */
void bench_cov_seen(tb_prog_run *run, const tb_run *of);
/* A case has passed: count its knobs. 0. */
int bench_cov_passed(tb_prog_run *run);

#endif
