/*
 * faults.h - private to the test `faults`: faults of the device while the driver works, and their time.
 */
#ifndef TESTCASES_FAULTS_H
#define TESTCASES_FAULTS_H

#include "../tests.h"

typedef enum fault_kind {
    FAULT_RESPONSE,   /* bursts are answered with SLVERR or DECERR */
    FAULT_HANG,       /* a channel of a memory stops */
    FAULT_SLOW,       /* a channel of a memory is slow: legal */
    FAULT_RESET,      /* hard reset */
    FAULT_SOFT_RESET, /* the NPU is reset without the driver */
    FAULT_READS,      /* registers are read without the driver */
    FAULT_WRITES,     /* registers of tasks, or read-only ones, are written without the driver */
    FAULT_START,      /* an illegal task is started without the driver */
    FAULT_KINDS
} fault_kind;
extern const char *const fault_kind_names[FAULT_KINDS];

/* Measurements of a run without a fault, from the start of the driver to its end. */
typedef struct fault_clean {
    uint64_t cycles;
    uint64_t moves[2][TB_AXI_CHANNELS]; /* handshakes */
    uint32_t starts;
} fault_clean;

/* The HAL between driver and device: it injects the fault. */
typedef struct fault_hal {
    tc_run *run;
    npu_hal hal;
    const npu_hal *inner;
    fault_kind kind;
    tb_rng rng;
    bool armed; /* something is to happen in cycle `at` */
    uint64_t at;
    uint32_t left;  /* times that it happens */
    uint32_t every; /* cycles between two of them, at most */
    unsigned unit;  /* FAULT_START */
    uint32_t start; /* FAULT_START: after the start with this number */
    /* by the driver, in a run without a fault: what has not happened by the last of them happens soon after it */
    uint32_t all_starts;
    /* what happened */
    uint32_t happened;
    uint32_t starts; /* by the driver */
    bool same_unit;  /* FAULT_START: it was the unit that the driver had just started */
    bool endless;    /* FAULT_SOFT_RESET: the reset did not end */
    bool mend;       /* in cycle `at` the memories are repaired, for any kind */
} fault_hal;

/* Put it between the driver of an open device and the device. */
void fault_hal_insert(fault_hal *f, tc_run *run);

#endif
