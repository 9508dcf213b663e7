/*
 * tests.h - the tests of the engine, and the bench that they share.
 */
#ifndef SGEMM_TESTS_H
#define SGEMM_TESTS_H

#include "gemm.h"

/* One case in execution: the device and its driver. */
typedef struct test_bench {
    tb_prog_run *run;
    sgemm_device *dev;
    sgemm_dev drv;
} test_bench;

/* The driver begins to use a sgemm_device; a failure of it is one of the run. */
void test_begin(test_bench *t, void *bench, tb_prog_run *run);

extern const tb_test test_sgemm, test_same, test_perf, test_network, test_regs, test_nonsense;

#endif
