#include "sgemm_device.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

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
        tb_buffers_clear(&dev->live);
    }
    tb_buffers_begin(&dev->live, "sgemm", dev->number++);
    if (sgm_reads_ab(t)) {
        matrix(&dev->live, "A", TB_DDR_READ, t->a, t->lda, t->ta ? t->k : t->m, t->ta ? t->m : t->k, t->a16);
        matrix(&dev->live, "B", TB_DDR_READ, t->b, t->ldb, t->tb ? t->n : t->k, t->tb ? t->k : t->n, t->b16);
    }
    if (!sgm_zero(t->beta)) {
        matrix(&dev->live, "old C", TB_DDR_READ, t->c, t->ldc, t->m, t->n, t->c16);
    }
    matrix(&dev->live, "C", TB_DDR_WRITE, t->c, t->ldc, t->m, t->n, t->c16);
    tb_buffers_start(&dev->live);
    dev->works++;
    if (dev->tasks < SGEMM_DEVICE_TASKS) {
        dev->task[dev->tasks++] = *t;
    }
}

static void end_all(sgemm_device *dev) {
    for (uint32_t i = 0; i < dev->works; i++) {
        tb_buffers_end(&dev->live, i);
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
    sgemm_device_fill((sgemm_device *)ctx, addr, data, bytes);
    return NPU_HAL_OK;
}

static bool model_read(void *ctx, uint64_t addr, void *data, size_t bytes) {
    return tb_ddr_read((tb_ddr *)ctx, addr, data, bytes);
}

static bool model_write(void *ctx, uint64_t addr, const void *data, size_t bytes) {
    return tb_ddr_write((tb_ddr *)ctx, addr, data, bytes);
}

/* ---- open and close ---- */

static int bind(sgemm_device *dev, char *err, size_t err_size) {
    const tb_run_port_cfg port[] = {
        {.name = "regs", .prefix = "s_axil_"},
        {.name = "m0", .prefix = "m0_axi_", .mem = &dev->rtl_mem, .agent = 0},
        {.name = "m1", .prefix = "m1_axi_", .mem = &dev->rtl_mem, .agent = 1},
    };
    for (unsigned i = 0; i < sizeof port / sizeof *port; i++) {
        if (tb_run_port_open(&dev->run, &port[i], err, err_size) < 0) {
            return -1;
        }
    }
    return tb_run_pin(&dev->run, "irq_o", err, err_size) < 0 ? -1 : 0;
}

static int open_at(sgemm_device *dev, const tb_run_cfg *cfg, uint64_t base, uint64_t size, char *err, size_t err_size) {
    memset(dev, 0, sizeof *dev);
    /* unwritten memory has different contents on both sides */
    if (tb_ddr_init(&dev->rtl_mem, base, size, cfg->seed) != 0 ||
        tb_ddr_init(&dev->model_mem, base, size, ~cfg->seed) != 0) {
        return opt_fail(err, err_size, "out of memory");
    }
    dev->rtl_mem.watch = dev->rtl_mem.check_reads = true;
    tb_buffers_init(&dev->live, "task", (tb_ddr *[]){&dev->rtl_mem}, 1);
    dev->model.mem = (sgm_mem){.ctx = &dev->model_mem, .read = model_read, .write = model_write};
    dev->bus = (npu_hal){
        .ctx = dev, .reg_read = hal_read, .reg_write = hal_write, .wait_irq = hal_wait, .delay_us = hal_delay};
    dev->hal = (sgemm_hal){.bus = &dev->bus, .ctx = dev, .mem_read = mem_read, .mem_write = mem_write};
    tb_run *run = &dev->run;
    if (tb_run_open(run, cfg, err, err_size) != 0 || bind(dev, err, err_size) != 0 ||
        tb_run_checks(run, sgemm_checks, sgemm_check_count, NULL, NULL, err, err_size) != 0) {
        return -1;
    }
    run->live = &dev->live;
    tb_run_reset(run);
    tb_run_step(run); /* nothing may be valid at the first edge after reset */
    /* the build is a parameter of both sides; a run that has failed already cannot read it */
    tb_run_read(run, SGEMM_PORT_REGS, SGEMM_REG_CONFIG, &dev->model.config);
    return 0;
}

int sgemm_device_open(sgemm_device *dev, const tb_run_cfg *cfg, char *err, size_t err_size) {
    return open_at(dev, cfg, SGEMM_MEM_BASE, SGEMM_MEM_SIZE, err, err_size);
}

int sgemm_device_open_whole(sgemm_device *dev, const tb_run_cfg *cfg, char *err, size_t err_size) {
    return open_at(dev, cfg, 0, UINT64_C(1) << 32, err, err_size);
}

void sgemm_device_close(sgemm_device *dev) {
    tb_run_close(&dev->run);
    tb_buffers_free(&dev->live);
    tb_ddr_free(&dev->rtl_mem);
    tb_ddr_free(&dev->model_mem);
}

void sgemm_device_fill(sgemm_device *dev, uint32_t addr, const void *data, size_t bytes) {
    tb_ddr_write(&dev->rtl_mem, addr, data, bytes);
    tb_ddr_write(&dev->model_mem, addr, data, bytes);
}

bool sgemm_device_read(const sgemm_device *dev, uint32_t addr, void *data, size_t bytes) {
    return tb_ddr_read(&dev->rtl_mem, addr, data, bytes);
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
            tb_ddr_undefine(&dev->rtl_mem, addr, t->n * size);
            tb_ddr_copy_range(&dev->model_mem, &dev->rtl_mem, addr, t->n * size);
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

static bool compare_memory(sgemm_device *dev) {
    tb_ddr_diff d;
    if (tb_ddr_compare_dirty(&dev->rtl_mem, &dev->model_mem, &d)) {
        return true;
    }
    char place[160];
    const tb_near near = tb_buffers_near(&dev->live, d.addr, TB_DDR_WRITE, NULL);
    tb_buffers_place(&dev->live, &near, place, sizeof place);
    tb_run_fail(&dev->run, "mem:mismatch",
                "memory, address 0x%08" PRIx64 " (%s): got %s0x%02x, expected %s0x%02x; %" PRIu64 " bytes differ",
                d.addr, place, d.a_written ? "" : "nothing, ", d.a, d.b_written ? "" : "nothing, ", d.b, d.count);
    return false;
}

#define ROW(name, offset, access, exact, timed, w1c, reset) {#name, offset, (exact) | (w1c), access},

bool sgemm_device_compare(sgemm_device *dev) {
    static const struct {
        const char *name;
        uint32_t reg, mask, access;
    } regs[] = {SGEMM_REGS_TABLE(ROW)};
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
    bool ok = compare_memory(dev);
    for (size_t i = 0; ok && i < sizeof regs / sizeof *regs; i++) {
        uint32_t got = 0;
        if (regs[i].mask == 0 || regs[i].access == SGEMM_ACCESS_WO) {
            continue;
        }
        const uint32_t expected = sgm_device_read(&dev->model, regs[i].reg) & regs[i].mask;
        ok = tb_run_read(&dev->run, SGEMM_PORT_REGS, regs[i].reg, &got);
        if (ok && got != expected) {
            char signature[32];
            snprintf(signature, sizeof signature, "reg:%s", regs[i].name);
            tb_run_fail(&dev->run, signature, "register %s: got 0x%x, expected 0x%x", regs[i].name, got, expected);
            ok = false;
        }
    }
    return ok;
}
