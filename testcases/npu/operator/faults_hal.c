/* faults_hal.c - a HAL that injects faults between the driver's accesses, and while it waits. */
#include "faults.h"

#include "npu_regs.h"

#define CYCLES_PER_US 200u
#define STEP 64u            /* cycles between two samples of an interrupt line */
#define RESET_READS 100000u /* until a soft reset has ended */
#define NOT_BUSY 50u        /* cycles until the next try */
#define LAST_CALL 60u       /* cycles after the last start of a task */

static const struct {
    uint32_t ctrl, en, first, last;
} units[NPU_UNIT_COUNT] = {
    [NPU_UNIT_ALU] = {NPU_REG_ALU_CTRL, NPU_ALU_CTRL_EN_MASK, NPU_REG_ALU_A_ADDR, NPU_REG_ALU_ACT_P3},
    [NPU_UNIT_POOL] = {NPU_REG_POOL_CTRL, NPU_POOL_CTRL_EN_MASK, NPU_REG_POOL_IFM_ADDR, NPU_REG_POOL_TAB_ADDR},
    [NPU_UNIT_GEMM] = {NPU_REG_GEMM_CTRL, NPU_GEMM_CTRL_EN_MASK, NPU_REG_GEMM_IFM_ADDR, NPU_REG_GEMM_PSUM_CSTEP},
};

static uint32_t status_of(const fault_hal *f) {
    uint32_t status = 0;
    f->inner->reg_read(f->inner->ctx, NPU_REG_STATUS, &status);
    return status;
}

static bool busy(const fault_hal *f) {
    return (status_of(f) & (NPU_STATUS_ALU_BUSY_MASK | NPU_STATUS_POOL_BUSY_MASK | NPU_STATUS_GEMM_BUSY_MASK)) != 0;
}

/* The driver only sees the effect, because the reset is complete before its next access. */
static void soft_reset(fault_hal *f) {
    uint32_t reads = 0;
    f->inner->reg_write(f->inner->ctx, NPU_REG_CTRL, NPU_CTRL_SOFT_RESET_MASK);
    while ((status_of(f) & NPU_STATUS_RESETTING_MASK) != 0 && reads < RESET_READS && tc_ok(f->run)) {
        reads++;
    }
    f->endless = f->endless || reads == RESET_READS;
}

static void some_reads(fault_hal *f) {
    uint32_t value = 0;
    for (uint64_t i = tb_rng_range(&f->rng, 1, 8); i > 0; i--) {
        f->inner->reg_read(f->inner->ctx, 4 * (uint32_t)tb_rng_range(&f->rng, 0, 127), &value);
    }
}

/* A register of a task is changed and, after some cycles, restored; other registers ignore the write. */
static void some_writes(fault_hal *f) {
    static const uint32_t fixed[] = {NPU_REG_ID,
                                     NPU_REG_CONFIG,
                                     NPU_REG_STATUS,
                                     NPU_REG_IRQ_ID,
                                     NPU_REG_GEMM_COUNT,
                                     NPU_REG_ALU_RESULT,
                                     NPU_REG_ALU_COUNT,
                                     NPU_REG_POOL_COUNT,
                                     NPU_REG_PERF_LO,
                                     NPU_REG_POOL_CTRL + 4,
                                     508};
    const npu_hal *hal = f->inner;
    for (uint64_t i = tb_rng_range(&f->rng, 1, 6); i > 0; i--) {
        const unsigned u = (unsigned)tb_rng_range(&f->rng, 0, NPU_UNIT_COUNT - 1);
        uint32_t offset = 4 * (uint32_t)tb_rng_range(&f->rng, units[u].first / 4, units[u].last / 4);
        uint32_t before = 0;
        if (offset == units[u].ctrl || tb_rng_chance(&f->rng, 1, 3)) {
            offset = fixed[tb_rng_range(&f->rng, 0, sizeof fixed / sizeof fixed[0] - 1)];
        }
        hal->reg_read(hal->ctx, offset, &before);
        hal->reg_write(hal->ctx, offset, (uint32_t)tb_rng_u64(&f->rng));
        npu_dev_run(f->run->dev, tb_rng_small(&f->rng, 0, 200));
        hal->reg_write(hal->ctx, offset, before);
    }
}

/* The time of the fault. */
static void act(fault_hal *f) {
    f->armed = false;
    if (f->mend) {
        npu_dev_mend(f->run->dev);
        return;
    }
    if (!busy(f)) { /* idle: try again some cycles later */
        f->armed = tc_ok(f->run);
        f->at = npu_dev_cycles(f->run->dev) + NOT_BUSY;
        return;
    }
    f->happened++;
    switch (f->kind) {
    case FAULT_RESET:
        /* the driver may start a task with registers that were reset: all its addresses may be 0 */
        npu_dev_allow_overlap(f->run->dev, true);
        npu_dev_reset(f->run->dev);
        break;
    case FAULT_SOFT_RESET:
        npu_dev_allow_overlap(f->run->dev, true);
        soft_reset(f);
        break;
    case FAULT_READS:
        some_reads(f);
        break;
    default:
        some_writes(f);
        break;
    }
    f->armed = --f->left > 0;
    f->at = npu_dev_cycles(f->run->dev) + tb_rng_range(&f->rng, 1, f->every);
}

static void look(fault_hal *f) {
    if (f->armed && npu_dev_cycles(f->run->dev) >= f->at) {
        act(f);
    }
}

static npu_hal_status reg_read(void *ctx, uint32_t offset, uint32_t *value) {
    fault_hal *f = ctx;
    look(f);
    return f->inner->reg_read(f->inner->ctx, offset, value);
}

/* The driver has started a task: sometimes another one is started after it, on the same unit or on another. */
static void after_start(fault_hal *f, unsigned unit) {
    const uint32_t number = f->starts++;
    if (f->armed && f->happened == 0 && f->starts == f->all_starts) {
        const uint64_t soon = npu_dev_cycles(f->run->dev) + tb_rng_small(&f->rng, 0, LAST_CALL);
        f->at = f->at < soon ? f->at : soon;
    }
    if (f->kind != FAULT_START || number < f->start || f->left == 0) {
        return;
    }
    npu_dev_run(f->run->dev, tb_rng_small(&f->rng, 0, 40));
    if (npu_dev_stray_start(f->run->dev, f->unit)) {
        f->left--;
        f->happened++;
        f->same_unit = f->same_unit || f->unit == unit;
    }
}

static npu_hal_status reg_write(void *ctx, uint32_t offset, uint32_t value) {
    fault_hal *f = ctx;
    look(f);
    const npu_hal_status status = f->inner->reg_write(f->inner->ctx, offset, value);
    for (unsigned u = 0; u < NPU_UNIT_COUNT && status == NPU_HAL_OK; u++) {
        if (offset == units[u].ctrl && (value & units[u].en) != 0) {
            after_start(f, u);
        }
    }
    return status;
}

/* Runs until the time of the fault, at most so many cycles. */
static uint64_t until(const fault_hal *f, uint64_t most) {
    const uint64_t now = npu_dev_cycles(f->run->dev);
    const uint64_t left = f->at > now ? f->at - now : 0;
    return left < most ? left : most;
}

static npu_hal_status wait_irq(void *ctx, uint32_t line_mask, uint32_t timeout_us) {
    fault_hal *f = ctx;
    const uint64_t end = npu_dev_cycles(f->run->dev) + (uint64_t)timeout_us * CYCLES_PER_US;
    look(f);
    while (f->armed && npu_dev_cycles(f->run->dev) < end) {
        const npu_hal_status status = f->inner->wait_irq(f->inner->ctx, line_mask, 0);
        if (status != NPU_HAL_TIMEOUT) {
            return status;
        }
        npu_dev_run(f->run->dev, 1 + until(f, STEP - 1));
        look(f);
    }
    const uint64_t now = npu_dev_cycles(f->run->dev);
    return f->inner->wait_irq(f->inner->ctx, line_mask, now < end ? (uint32_t)((end - now) / CYCLES_PER_US) : 0);
}

static void delay_us(void *ctx, uint32_t us) {
    fault_hal *f = ctx;
    const uint64_t end = npu_dev_cycles(f->run->dev) + (uint64_t)us * CYCLES_PER_US;
    look(f);
    while (npu_dev_cycles(f->run->dev) < end && tc_ok(f->run)) {
        npu_dev_run(f->run->dev,
                    f->armed ? 1 + until(f, end - npu_dev_cycles(f->run->dev) - 1) : end - npu_dev_cycles(f->run->dev));
        look(f);
    }
}

static void task_output(void *ctx, uint32_t addr, uint32_t bytes) {
    fault_hal *f = ctx;
    f->inner->task_output(f->inner->ctx, addr, bytes);
}

static void task_output_rows(void *ctx, uint32_t addr, uint32_t bytes, uint32_t rows, uint32_t step) {
    fault_hal *f = ctx;
    f->inner->task_output_rows(f->inner->ctx, addr, bytes, rows, step);
}

void fault_hal_insert(fault_hal *f, tc_run *run) {
    f->run = run;
    f->inner = npu_dev_hal(run->dev);
    f->hal = (npu_hal){.ctx = f,
                       .reg_read = reg_read,
                       .reg_write = reg_write,
                       .wait_irq = wait_irq,
                       .delay_us = delay_us,
                       .task_output = task_output,
                       .task_output_rows = task_output_rows};
    run->npu.hal = &f->hal;
}
