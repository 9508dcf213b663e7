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
    bool portable; /* the hash of the case is `results`, the same in all configurations */
    uint64_t results;
} test_bench;

/* Open a device with the bus timing of the knob `bus`. 0, or -1 with run->err. */
int test_open(test_bench *t, tb_prog_run *run);
/* The end: failures and the trace hash go into the result. Returns 0. */
int test_close(test_bench *t);

extern const tb_test test_sgemm, test_same, test_perf, test_digits, test_regs, test_nonsense;

#endif
