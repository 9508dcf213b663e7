/*
 * regs.h - shared by the parts of the register test: the three units, tasks as lists of settings, waiting and flags.
 */
#ifndef OPERATOR_REGS_H
#define OPERATOR_REGS_H

#include "../tests.h"

/* A register and its value; address: the value is an offset from the start of the test's memory. */
typedef struct regs_setting {
    uint32_t offset, value;
    bool address;
} regs_setting;

/* Settings that differ from a unit's smallest task. */
#define REGS_CHANGES 4
typedef struct regs_change {
    regs_setting set[REGS_CHANGES]; /* offset 0 (ID, which is no setting) ends the list */
} regs_change;

typedef struct regs_unit {
    const char *name;
    uint32_t present;   /* its bit of CONFIG; 0: always present */
    uint32_t irq, line; /* its bit in IRQ_STATUS and IRQ_ENABLE, its line of the HAL */
    uint32_t id;        /* IRQ_ID */
    uint32_t ready;     /* its bits of STATUS */
    uint32_t busy;
    uint32_t config, overrun;
    uint32_t count; /* register of completed tasks */
    const char *count_name;
    uint32_t ctrl, en;
    const regs_setting *task; /* the smallest legal task, control register last */
    size_t settings;
    regs_change longer;    /* makes it last longer than some register accesses */
    uint32_t longer_bytes; /* that it writes then; the smallest task writes 4 */
} regs_unit;

/* Memory of the test: input from 0, output from REGS_OUT on, REGS_BYTES together. */
#define REGS_OUT 0x800u
#define REGS_BYTES 4096u

extern const regs_unit regs_gemm, regs_alu, regs_pool;

/* ---- regs.c ---- */
/* An event flag is cleared by writing a 1 to it, and only so. */
bool regs_check_w1c(tc_run *run, const char *name, uint32_t offset, uint32_t flag);
/* Status, mask, line and identification of the pending interrupt. */
bool regs_check_irq(tc_run *run, const regs_unit *unit);
/* Until no task runs or is pending; then STATUS is as after reset. */
bool regs_wait_idle(tc_run *run);
bool regs_wait_count(tc_run *run, const regs_unit *unit, uint32_t want);

/* ---- regs_tasks.c ---- */
/* Write the registers of the smallest task with changes (NULL: none), the control register last; start: with EN = 1. */
bool regs_write_task(tc_run *run, const regs_unit *unit, uint32_t base, const regs_change *change, bool start);
/* Every setting that docs/npu/npu.md section 3 forbids is refused. */
bool regs_check_limits(tc_run *run, const regs_unit *unit, uint32_t base);
/* The legal task from which all refused ones were derived completes. */
bool regs_check_legal(tc_run *run, const regs_unit *unit, uint32_t base);
/* The unit is left out: a start is an error. */
bool regs_check_absent(tc_run *run, const regs_unit *unit, uint32_t base);
/* The result of a sum is visible when the task completes and not before, while other registers are read. For an idle
 * device after reset. */
bool regs_check_result(tc_run *run, uint32_t base);
/* Start tasks until the device accepts no more: the last one is dropped, the others complete. */
bool regs_check_overrun(tc_run *run, const regs_unit *unit, uint32_t base);

#endif
