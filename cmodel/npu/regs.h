/*
 * regs.h - private to cmodel: the register file of docs/npu/registers.md without the engines behind it.
 */
#ifndef CM_REGS_H
#define CM_REGS_H

#include "cmodel.h"

#include "npu_regs.h"

#define CM_REG_WORDS 128u

/* Field of a register in an array of register words, by the names of the generated header. */
#define CM_GET(regs, reg, field) (((regs)[NPU_REG_##reg / 4] & NPU_##reg##_##field##_MASK) >> NPU_##reg##_##field##_LSB)

/* The units that run tasks; the number is that of the interrupt line. */
typedef enum cm_unit { CM_UNIT_ALU = 0, CM_UNIT_POOL = 1, CM_UNIT_GEMM = 2, CM_UNIT_COUNT } cm_unit;

typedef struct cm_regs {
    uint32_t n;
    bool has_alu, has_pool, has_int16;
    uint32_t value[CM_REG_WORDS];
} cm_regs;

/* Action of the device after a register write. */
typedef enum cm_reg_action {
    CM_REG_NOTHING,
    CM_REG_START_ALU,
    CM_REG_START_POOL,
    CM_REG_START_GEMM,
    CM_REG_SOFT_RESET
} cm_reg_action;

/* All registers to their reset values; CONFIG shows n and the units. */
void cm_regs_reset(cm_regs *r);
uint32_t cm_regs_read(const cm_regs *r, uint32_t offset);
cm_reg_action cm_regs_write(cm_regs *r, uint32_t offset, uint32_t value, uint32_t byte_strobes);
/* Raise error bits and with them the interrupt of the unit. bits: NPU_ERR_BUS_RD0_MASK .. NPU_ERR_OVERRUN_MASK, moved
 * to the unit's byte. */
void cm_regs_raise_err(cm_regs *r, cm_unit unit, uint32_t bits);
/* One more task complete: counter and interrupt. */
void cm_regs_task_done(cm_regs *r, cm_unit unit);
/* IRQ_STATUS & IRQ_ENABLE. */
uint32_t cm_regs_irq(const cm_regs *r);

#endif
