/*
 * sgemm_device.h - the engine in tandem: register writes go to RTL and golden model; memory, registers and errors are
 * compared, and every access of the RTL to memory is checked against the tasks in flight.
 */
#ifndef SGEMM_DEVICE_H
#define SGEMM_DEVICE_H

#include "sgemm_hal.h"
#include "sgemm_model.h"
#include "tb.h"

enum { SGEMM_PORT_REGS, SGEMM_PORT_M0, SGEMM_PORT_M1 };
/* Memory is all that 32 bits address; here lie matrices that need no place of their own. */
#define SGEMM_MEM_BASE 0x10000000u
#define SGEMM_MEM_SIZE 0x10000000u

#define SGEMM_DEVICE_TASKS 4096u /* between two compare points */

typedef struct sgemm_device {
    tb_run run;
    tb_pair pair;
    uint32_t works; /* tasks in flight */
    sgm_device model;
    /* tasks that were started since the last compare point: their C is undefined after a bus error or a reset */
    sgm_task task[SGEMM_DEVICE_TASKS];
    uint32_t tasks;
    uint64_t number;       /* of the next task, for reports */
    uint64_t errors[2][2]; /* error responses that ERR has been checked for: port, direction */
    bool bus_error;        /* there was one since the last compare point */
    npu_hal bus;
    sgemm_hal hal; /* for the driver */
} sgemm_device;

extern const tb_tandem sgemm_bench;
/* What the RTL's memory holds. */
bool sgemm_device_read(const sgemm_device *dev, uint32_t addr, void *data, size_t bytes);
/* The binary16 next to a binary32, as bits. */
uint16_t sgemm_device_half(uint32_t bits);
/* A register access to both sides, as the driver makes it. */
bool sgemm_device_reg_write(sgemm_device *dev, uint32_t reg, uint32_t value);
bool sgemm_device_reg_read(sgemm_device *dev, uint32_t reg, uint32_t *value);
/* The RTL alone: the model learns nothing of it. */
bool sgemm_device_poke(sgemm_device *dev, uint32_t reg, uint32_t value);
/* Soft reset on both sides, and the end of it on the RTL. What C of the tasks in flight holds is undefined. */
bool sgemm_device_soft_reset(sgemm_device *dev);
/* Compare memory and registers; no task may be in flight. True: equal. */
bool sgemm_device_compare(sgemm_device *dev);

#endif
