#include "sgemm_device.h"

#include "cm_fp.h"
#include "opt/opt.h"
#include "score/score.h"
#include "sgemm_regs.h"

#define CYCLES_PER_US 10u

/* ---- tasks in flight ---- */

static void matrix(tb_buffers *t, const char *name, tb_ddr_use use, uint32_t addr, uint32_t ld, uint32_t rows,
                   uint32_t cols, bool f16) {
    const uint64_t size = f16 ? 2 : 4;
    tb_buffers_name(t, name, use);
    for (uint32_t r = 0; r < rows; r++) {
        tb_buffers_range(t, addr + (uint64_t)r * ld * size, cols * size);
    }
}

/* From now on the engine may read and write what this task reads and writes, and nothing else. */
static void begin(sgemm_device *dev, const sgm_task *t) {
    if (dev->works == 0) {
        tb_buffers_clear(&dev->pair.live);
    }
    tb_buffers_begin(&dev->pair.live, "sgemm", dev->number++);
    if (sgm_reads_ab(t)) {
        matrix(&dev->pair.live, "A", TB_DDR_READ, t->a, t->lda, t->ta ? t->k : t->m, t->ta ? t->m : t->k, t->a16);
        matrix(&dev->pair.live, "B", TB_DDR_READ, t->b, t->ldb, t->tb ? t->n : t->k, t->tb ? t->k : t->n, t->b16);
    }
    if (!sgm_zero(t->beta)) {
        matrix(&dev->pair.live, "old C", TB_DDR_READ, t->c, t->ldc, t->m, t->n, t->c16);
    }
    matrix(&dev->pair.live, "C", TB_DDR_WRITE, t->c, t->ldc, t->m, t->n, t->c16);
    tb_buffers_start(&dev->pair.live);
    dev->works++;
    if (dev->tasks < SGEMM_DEVICE_TASKS) {
        dev->task[dev->tasks++] = *t;
    }
}

static void end_all(sgemm_device *dev) {
    for (uint32_t i = 0; i < dev->works; i++) {
        tb_buffers_end(&dev->pair.live, i);
    }
    dev->works = 0;
}

/* Error responses of the buses become bits of ERR. */
static void note_errors(sgemm_device *dev) {
    static const uint32_t bit[2][2] = {{SGEMM_ERR_BUS_RD0_MASK, 0}, {SGEMM_ERR_BUS_RD1_MASK, SGEMM_ERR_BUS_WR_MASK}};
    for (unsigned port = 0; port < 2; port++) {
        const tb_axi_slave *slave = &dev->run.port[SGEMM_PORT_M0 + port]->slave;
        for (unsigned dir = 0; dir < 2; dir++) {
            if (slave->errors[dir] != dev->errors[port][dir]) {
                dev->model.err |= bit[port][dir];
                dev->bus_error = true;
            }
            dev->errors[port][dir] = slave->errors[dir];
        }
    }
}

/* ---- HAL ---- */

bool sgemm_device_poke(sgemm_device *dev, uint32_t reg, uint32_t value) {
    return tb_run_write(&dev->run, SGEMM_PORT_REGS, reg, value);
}

bool sgemm_device_reg_write(sgemm_device *dev, uint32_t reg, uint32_t value) {
    const uint64_t starts = dev->model.starts;
    sgm_device_write(&dev->model, reg, value);
    if (dev->model.starts != starts && dev->model.last_ran) {
        const sgm_task t = sgm_device_task(&dev->model);
        begin(dev, &t);
    }
    return sgemm_device_poke(dev, reg, value);
}

bool sgemm_device_reg_read(sgemm_device *dev, uint32_t reg, uint32_t *value) {
    if (!tb_run_read(&dev->run, SGEMM_PORT_REGS, reg, value)) {
        return false;
    }
    if (reg == SGEMM_REG_STATUS && (*value & SGEMM_STATUS_BUSY_MASK) == 0) {
        end_all(dev);
        return tb_run_idle(&dev->run, "STATUS says that no task is busy");
    }
    if (reg == SGEMM_REG_ERR && dev->works == 0) {
        note_errors(dev);
        if (*value != dev->model.err) {
            tb_run_fail(&dev->run, "reg:ERR", "register ERR: got 0x%x, expected 0x%x", *value, dev->model.err);
            return false;
        }
    }
    return true;
}

static npu_hal_status hal_read(void *ctx, uint32_t reg, uint32_t *value) {
    return sgemm_device_reg_read((sgemm_device *)ctx, reg, value) ? NPU_HAL_OK : NPU_HAL_FAULT;
}

static npu_hal_status hal_write(void *ctx, uint32_t reg, uint32_t value) {
    return sgemm_device_reg_write((sgemm_device *)ctx, reg, value) ? NPU_HAL_OK : NPU_HAL_FAULT;
}

static npu_hal_status hal_wait(void *ctx, uint32_t line_mask, uint32_t timeout_us) {
    sgemm_device *dev = (sgemm_device *)ctx;
    (void)line_mask;
    for (uint64_t i = 0; dev->run.irq == 0; i++) {
        if (i / CYCLES_PER_US >= timeout_us) {
            return NPU_HAL_TIMEOUT;
        }
        if (!tb_run_step(&dev->run)) {
            return NPU_HAL_FAULT;
        }
    }
    return NPU_HAL_OK;
}

static void hal_delay(void *ctx, uint32_t us) {
    sgemm_device *dev = (sgemm_device *)ctx;
    for (uint64_t i = 0; i < (uint64_t)us * CYCLES_PER_US && tb_run_step(&dev->run); i++) {
    }
}

static npu_hal_status mem_read(void *ctx, uint32_t addr, void *data, uint32_t bytes) {
    return sgemm_device_read((sgemm_device *)ctx, addr, data, bytes) ? NPU_HAL_OK : NPU_HAL_FAULT;
}

static npu_hal_status mem_write(void *ctx, uint32_t addr, const void *data, uint32_t bytes) {
    tb_pair_fill(&((sgemm_device *)ctx)->pair, addr, data, bytes);
    return NPU_HAL_OK;
}

/* ---- the bench ---- */

static int open_model(void *bench, const tb_prog_run *run, char *err, size_t err_size) {
    sgemm_device *dev = (sgemm_device *)bench;
    (void)run, (void)err, (void)err_size;
    dev->model.mem = (sgm_mem){.ctx = &dev->pair.model, .read = tb_mem_read, .write = tb_mem_write};
    dev->bus = (npu_hal){
        .ctx = dev, .reg_read = hal_read, .reg_write = hal_write, .wait_irq = hal_wait, .delay_us = hal_delay};
    dev->hal = (sgemm_hal){.bus = &dev->bus, .ctx = dev, .mem_read = mem_read, .mem_write = mem_write};
    return 0;
}

/* The build is a parameter of both sides; a run that has failed already cannot read it. */
static void read_config(void *bench) {
    sgemm_device *dev = (sgemm_device *)bench;
    tb_run_read(&dev->run, SGEMM_PORT_REGS, SGEMM_REG_CONFIG, &dev->model.config);
}

static const tb_tandem_port ports[] = {
    [SGEMM_PORT_REGS] = {.name = "regs", .prefix = "s_axil_"},
    [SGEMM_PORT_M0] = {.name = "m0", .prefix = "m0_axi_", .memory = true, .agent = 0},
    [SGEMM_PORT_M1] = {.name = "m1", .prefix = "m1_axi_", .memory = true, .agent = 1},
};
static const char *const pins[] = {"irq_o"};

const tb_tandem sgemm_bench = {.bytes = sizeof(sgemm_device),
                               .run_at = offsetof(sgemm_device, run),
                               .pair_at = offsetof(sgemm_device, pair),
                               .cfg = {.clk = "clk_i", .rst_n = "rst_ni", .watchdog_cycles = 20000},
                               .mem_base = 0,
                               .mem_size = UINT64_C(1) << 32,
                               TB_TANDEM_PORTS(ports),
                               TB_TANDEM_PINS(pins),
                               .checks = sgemm_checks,
                               .check_count = &sgemm_check_count,
                               .open = open_model,
                               .begin = read_config};

bool sgemm_device_read(const sgemm_device *dev, uint32_t addr, void *data, size_t bytes) {
    return tb_ddr_read(&dev->pair.rtl, addr, data, bytes);
}

uint16_t sgemm_device_half(uint32_t bits) {
    return cm_fp_to_f16(bits);
}

/* ---- after a reset or a bus error ---- */

/* What the tasks since the last compare point have written is what the RTL has written. */
static void take_results(sgemm_device *dev) {
    for (uint32_t i = 0; i < dev->tasks; i++) {
        const sgm_task *t = &dev->task[i];
        const uint64_t size = t->c16 ? 2 : 4;
        for (uint32_t r = 0; r < t->m; r++) {
            const uint64_t addr = t->c + (uint64_t)r * t->ldc * size;
            tb_ddr_undefine(&dev->pair.rtl, addr, t->n * size);
            tb_pair_take(&dev->pair, addr, t->n * size);
        }
    }
}

bool sgemm_device_soft_reset(sgemm_device *dev) {
    uint32_t status = SGEMM_STATUS_RESETTING_MASK;
    bool ok = sgemm_device_reg_write(dev, SGEMM_REG_CTRL, SGEMM_CTRL_SOFT_RESET_MASK);
    while (ok && (status & SGEMM_STATUS_RESETTING_MASK) != 0) {
        ok = tb_run_read(&dev->run, SGEMM_PORT_REGS, SGEMM_REG_STATUS, &status);
    }
    end_all(dev);
    note_errors(dev); /* they belong to no task any more */
    dev->model.err = dev->model.irq = 0;
    dev->bus_error = true;
    return ok;
}

/* ---- compare ---- */

static uint32_t expected(void *ctx, uint32_t reg, uint32_t got) {
    (void)got;
    return sgm_device_read(&((sgemm_device *)ctx)->model, reg);
}

#define ROW(name, offset, access, exact, timed, w1c, reset)                                                            \
    {#name, (offset), (exact) | (w1c), ((exact) | (w1c)) == 0 || (access) == SGEMM_ACCESS_WO},

bool sgemm_device_compare(sgemm_device *dev) {
    static const tb_reg_row rows[] = {SGEMM_REGS_TABLE(ROW)};
    if (tb_run_failed(&dev->run)) {
        return false;
    }
    if (dev->model.failed) {
        tb_run_fail(&dev->run, "model:memory", "the model had no memory at an address of a task, or ran out of memory");
        return false;
    }
    note_errors(dev);
    if (dev->bus_error) {
        take_results(dev);
    }
    dev->tasks = 0;
    dev->bus_error = false;
    return tb_pair_compare(&dev->pair, &dev->run) &&
           tb_compare_registers(&dev->run, SGEMM_PORT_REGS, rows, sizeof rows / sizeof *rows, expected, dev);
}
