/*
 * regs.h - private to cmodel: the register file of docs/registers.md without the engines behind it.
 */
#ifndef CM_REGS_H
#define CM_REGS_H

#include "cmodel.h"

#define CM_REG_WORDS 128u

typedef struct cm_regs {
    uint32_t n;
    uint32_t value[CM_REG_WORDS];
} cm_regs;

/* What a register write asks of the device. */
typedef enum cm_reg_action { CM_REG_NOTHING, CM_REG_START_GEMM, CM_REG_SOFT_RESET } cm_reg_action;

/* All registers to their reset values; CONFIG tells n. */
void cm_regs_reset(cm_regs *r, uint32_t n);
uint32_t cm_regs_read(const cm_regs *r, uint32_t offset);
cm_reg_action cm_regs_write(cm_regs *r, uint32_t offset, uint32_t value, uint32_t byte_strobes);
/* Raise error bits (ERR) and with them the GEMM interrupt. */
void cm_regs_raise_err(cm_regs *r, uint32_t err_bits);
/* One more task complete: counter and interrupt. */
void cm_regs_task_done(cm_regs *r);
/* IRQ_STATUS & IRQ_ENABLE. */
uint32_t cm_regs_irq(const cm_regs *r);

#endif
