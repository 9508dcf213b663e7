/*
 * sgemm_device.c - the registers of the engine (docs/sgemm/registers.md).
 */
#include "sgemm_model.h"

#include <string.h>

#include "sgemm_regs.h"

#define TASK_BASE SGEMM_REG_A_ADDR
#define TASK(d, NAME) ((d)->task[(SGEMM_REG_##NAME - TASK_BASE) / 4])
#define BIT(value, NAME) (((value)&SGEMM_##NAME##_MASK) != 0)

sgm_task sgm_device_task(const sgm_device *d) {
    const uint32_t mode = TASK(d, START), size = TASK(d, SIZE);
    return (sgm_task){.a = TASK(d, A_ADDR),
                      .b = TASK(d, B_ADDR),
                      .c = TASK(d, C_ADDR),
                      .lda = TASK(d, LDA),
                      .ldb = TASK(d, LDB),
                      .ldc = TASK(d, LDC),
                      .m = (size & SGEMM_SIZE_M_MASK) >> SGEMM_SIZE_M_LSB,
                      .n = (size & SGEMM_SIZE_N_MASK) >> SGEMM_SIZE_N_LSB,
                      .k = TASK(d, KSIZE),
                      .alpha = TASK(d, ALPHA),
                      .beta = TASK(d, BETA),
                      .ta = BIT(mode, START_TRANS_A),
                      .tb = BIT(mode, START_TRANS_B),
                      .a16 = BIT(mode, START_A_F16),
                      .b16 = BIT(mode, START_B_F16),
                      .c16 = BIT(mode, START_C_F16),
                      .half = BIT(mode, START_HALF)};
}

/* A stored matrix: address aligned, rows long enough, all of it below 2^32. */
static bool matrix_legal(uint32_t addr, uint32_t ld, uint32_t rows, uint32_t cols, bool f16) {
    const uint64_t size = f16 ? 2 : 4;
    const uint64_t elems = (uint64_t)(rows - 1) * ld + cols;
    return addr % size == 0 && ld >= cols && ld < 1u << 24 && addr + elems * size <= UINT64_C(1) << 32;
}

bool sgm_device_legal(const sgm_device *d) {
    const sgm_task t = sgm_device_task(d);
    if (t.m == 0 || t.n == 0 || t.k > 65535 || (TASK(d, START) & SGEMM_START_RESERVED_MASK) != 0) {
        return false;
    }
    if (!BIT(d->config, CONFIG_EN_HALF) && (t.a16 || t.b16 || t.c16 || t.half)) {
        return false;
    }
    if (BIT(d->config, CONFIG_HALF_BUF) && !t.half) {
        return false;
    }
    return matrix_legal(t.c, t.ldc, t.m, t.n, t.c16) &&
           (!sgm_reads_ab(&t) || (matrix_legal(t.a, t.lda, t.ta ? t.k : t.m, t.ta ? t.m : t.k, t.a16) &&
                                  matrix_legal(t.b, t.ldb, t.tb ? t.n : t.k, t.tb ? t.k : t.n, t.b16)));
}

void sgm_device_reset(sgm_device *d) {
    *d = (sgm_device){.mem = d->mem, .config = d->config, .starts = d->starts, .failed = d->failed};
}

static void start(sgm_device *d) {
    d->irq = SGEMM_IRQ_STATUS_TASK_MASK;
    d->starts++;
    d->last_ran = sgm_device_legal(d);
    if (!d->last_ran) {
        d->err |= SGEMM_ERR_CONFIG_MASK;
        return;
    }
    const sgm_task t = sgm_device_task(d);
    d->failed = !sgm_gemm(&d->mem, &t) || d->failed;
    d->count++;
}

void sgm_device_write(sgm_device *d, uint32_t reg, uint32_t value) {
    switch (reg) {
    case SGEMM_REG_CTRL:
        if (BIT(value, CTRL_SOFT_RESET)) {
            sgm_device_reset(d);
        }
        return;
    case SGEMM_REG_IRQ_STATUS:
        d->irq &= ~value;
        return;
    case SGEMM_REG_IRQ_ENABLE:
        d->irq_enable = value & SGEMM_IRQ_ENABLE_TASK_MASK;
        return;
    case SGEMM_REG_ERR:
        d->err &= ~value;
        return;
    case SGEMM_REG_PERF_SEL:
        d->perf_sel = value & SGEMM_PERF_SEL_SEL_MASK;
        return;
    default:
        break;
    }
    if (reg >= TASK_BASE && reg <= SGEMM_REG_START && reg % 4 == 0) {
        d->task[(reg - TASK_BASE) / 4] = reg == SGEMM_REG_START ? value & ~SGEMM_START_GO_MASK : value;
        if (reg == SGEMM_REG_START && BIT(value, START_GO)) {
            start(d);
        }
    }
}

uint32_t sgm_device_read(const sgm_device *d, uint32_t reg) {
    switch (reg) {
    case SGEMM_REG_ID:
        return SGEMM_REG_ID_RESET;
    case SGEMM_REG_CONFIG:
        return d->config;
    case SGEMM_REG_STATUS:
        return SGEMM_STATUS_READY_MASK;
    case SGEMM_REG_IRQ_STATUS:
        return d->irq;
    case SGEMM_REG_IRQ_ENABLE:
        return d->irq_enable;
    case SGEMM_REG_ERR:
        return d->err;
    case SGEMM_REG_COUNT:
        return d->count;
    case SGEMM_REG_PERF_SEL:
        return d->perf_sel;
    default:
        return reg >= TASK_BASE && reg <= SGEMM_REG_START && reg % 4 == 0 ? d->task[(reg - TASK_BASE) / 4] : 0;
    }
}
