/* The HAL of the device: register accesses go to every side, reads return the RTL's value. */
#include "dev_priv.h"
#include "report/report.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static npu_hal_status status_of(const npu_dev *dev) {
    return npu_dev_failed(dev) ? NPU_HAL_FAULT : NPU_HAL_OK;
}

/* Bits that no field names read 0. */
static void check_reserved(npu_dev *dev, uint32_t offset, uint32_t value) {
    const uint32_t extra = value & ~npu_reg_fields(offset);
    if (extra != 0) {
        char signature[64];
        snprintf(signature, sizeof signature, "reg:reserved:0x%03x", offset);
        tb_run_fail(&dev->run, signature, "register 0x%03x reads 0x%08x: reserved bits 0x%08x are not 0", offset, value,
                    extra);
    }
}

void npu_reset_over(npu_dev *dev) {
    if (dev->resetting) {
        npu_bus_forget(dev);
        npu_program_dropped(dev);
        dev->resetting = false;
    }
}

/* Completed tasks that a register read shows to the driver. */
static void note_read(npu_dev *dev, uint32_t offset, uint32_t value) {
    bool count = false;
    if (offset == NPU_REG_STATUS && (value & NPU_STATUS_RESETTING_MASK) == 0) {
        npu_reset_over(dev);
    }
    for (unsigned u = 0; u < UNITS; u++) {
        if (offset == npu_units[u].count) {
            dev->done_seen[u] = value & npu_units[u].done_mask;
            npu_program_count(dev, u, dev->done_seen[u]);
            npu_tlog_count(dev, u, value);
            count = true;
        } else if (offset == NPU_REG_STATUS && (value & npu_units[u].busy_mask) == 0) {
            npu_inflight_idle(&dev->inflight, u);
        }
    }
    if (count) {
        npu_compare_point(dev);
    }
}

/* Busy units, as bits of IRQ_STATUS, from the events of the debug port (docs/npu/npu.md section 5). */
static unsigned busy_units(const npu_dev *dev) {
    if (dev->cfg.on_access == NULL) {
        return 0;
    }
    static const unsigned event[UNITS] = {[UNIT_ALU] = 27, [UNIT_POOL] = 30, [UNIT_GEMM] = 33};
    const tb_sig events = tb_sim_find(&dev->run.sim, "perf_event_o");
    unsigned busy = 0;
    for (unsigned u = 0; events.ptr != NULL && u < UNITS; u++) {
        busy |= (unsigned)(tb_get(events) >> event[u] & 1u) << u;
    }
    return busy;
}

static void tell_access(const npu_dev *dev, bool write, uint32_t offset, uint32_t value, unsigned busy) {
    if (dev->cfg.on_access != NULL && !dev->run.replay.on) {
        dev->cfg.on_access(dev->cfg.access_ctx, write, offset, value, busy);
    }
}

static npu_hal_status reg_read(void *ctx, uint32_t offset, uint32_t *value) {
    npu_dev *dev = (npu_dev *)ctx;
    *value = 0;
    if (npu_dev_failed(dev) || offset > 508 || offset % 4 != 0) {
        return NPU_HAL_FAULT;
    }
    if (!dev->has_rtl) {
        *value = cm_device_read(dev->model, offset);
        note_read(dev, offset, *value);
        return NPU_HAL_OK;
    }
    const unsigned busy = busy_units(dev);
    if (!tb_run_read(&dev->run, PORT_AXIL, offset, value)) {
        return NPU_HAL_FAULT;
    }
    tell_access(dev, false, offset, *value, busy);
    check_reserved(dev, offset, *value);
    const int which = npu_reg_events(offset);
    if (which >= 0) {
        npu_events_rtl(dev, which, *value);
    }
    note_read(dev, offset, *value);
    return status_of(dev);
}

/* COUNT of every unit, from the RTL. */
static bool read_counts(npu_dev *dev, uint32_t *count) {
    for (unsigned u = 0; u < UNITS; u++) {
        if (!tb_run_read(&dev->run, PORT_AXIL, npu_units[u].count, &count[u])) {
            return false;
        }
    }
    return true;
}

/*
 * Flags were cleared that had been 1 since before this window, which hides an event in between. A unit had no event if
 * its COUNT has not changed since the window began and there was no error.
 */
static bool clear_stale(npu_dev *dev, int which, uint32_t offset, uint32_t value) {
    const uint32_t stale = dev->ev[which].stale_rtl & value;
    if (stale == 0 || dev->pending == 0) {
        return true;
    }
    if (offset != NPU_REG_IRQ_STATUS || dev->refused || npu_bus_error_waits(dev)) {
        dev->ev[which].unsure |= stale;
        return true;
    }
    for (unsigned u = 0; u < UNITS; u++) {
        uint32_t count = 0;
        if ((stale & npu_units[u].irq_mask) == 0) {
            continue;
        }
        if (!tb_run_read(&dev->run, PORT_AXIL, npu_units[u].count, &count)) {
            return false;
        }
        dev->ev[which].unsure |= count != dev->begun[u] ? npu_units[u].irq_mask : 0;
    }
    return true;
}

/*
 * A write that clears event flags: read the flags first, so that none is missed. One that rises between the read and
 * the write is lost, as it is for the driver. If the interrupt is enabled, its pin shows the event; else an unchanged
 * COUNT proves that there was none.
 */
static bool clear_events(npu_dev *dev, int which, uint32_t offset, uint32_t value) {
    uint32_t flags = 0;
    uint32_t before[UNITS] = {0};
    uint32_t after[UNITS] = {0};
    const bool blind = offset == NPU_REG_IRQ_STATUS && (value & ~dev->irq_enable) != 0 && dev->pending != 0;
    if (blind && !read_counts(dev, before)) {
        return false;
    }
    if (!tb_run_read(&dev->run, PORT_AXIL, offset, &flags)) {
        return false;
    }
    npu_events_rtl(dev, which, flags);
    if (!tb_run_write(&dev->run, PORT_AXIL, offset, value)) {
        return false;
    }
    if (blind && !read_counts(dev, after)) {
        return false;
    }
    for (unsigned u = 0; u < UNITS; u++) {
        if (before[u] != after[u]) {
            dev->ev[which].unsure |= value & npu_units[u].irq_mask;
        }
    }
    if (!clear_stale(dev, which, offset, value)) {
        return false;
    }
    dev->ev[which].stale_rtl &= ~value;
    dev->ev[which].stale_model &= ~value;
    return true;
}

void npu_hal_on_reset(npu_dev *dev) {
    /* tasks in flight stop at any point */
    dev->lost = dev->pending != 0 || npu_bus_error_waits(dev);
    npu_bus_forget(dev);
    dev->undefined |= dev->pending;
    dev->pending = 0;
    dev->irq_enable = 0;
    dev->run.irq_rose = 0;
    dev->result_undefined = false;
    npu_tlog_reset(dev);
    memset(dev->done_seen, 0, sizeof dev->done_seen);
    memset(dev->begun, 0, sizeof dev->begun);
    dev->refused = false;
    dev->stray = 0;
    memset(dev->ev, 0, sizeof dev->ev);
    npu_inflight_stop(&dev->inflight);
    npu_program_reset(dev);
}

/* The golden device executes a task in the write that starts it; its time is counted neither for the RTL nor for the
 * harness. */
static void model_start(npu_dev *dev, unsigned unit, uint32_t value) {
    const npu_unit_regs *r = &npu_units[unit];
    const double start = rep_seconds(CLOCK_PROCESS_CPUTIME_ID);
    const uint32_t before = cm_device_read(dev->model, r->count);
    npu_reset_over(dev);
    npu_inflight_declared(&dev->inflight);
    dev->pending |= 1u << unit;
    dev->model_unit = 1u << unit;
    cm_device_write(dev->model, r->ctrl, value, 0xf);
    npu_tlog_model_done(dev, unit);
    dev->model_unit = 0;
    const uint32_t after = cm_device_read(dev->model, r->count);
    dev->model_seconds += rep_seconds(CLOCK_PROCESS_CPUTIME_ID) - start;
    dev->ev[npu_reg_events(NPU_REG_IRQ_STATUS)].model |=
        r->irq_mask; /* also where the flag was 1 before: both completion and refusal are events */
    if (after == before) {
        dev->refused = true;
        npu_explain_refused(dev);
    }
}

static void model_write(npu_dev *dev, uint32_t offset, uint32_t value) {
    for (unsigned u = 0; u < UNITS; u++) {
        if (offset == npu_units[u].ctrl && (value & npu_units[u].en_mask) != 0) {
            model_start(dev, u, value);
            dev->inflight.next.count = 0; /* also of a task that was refused */
            return;
        }
    }
    cm_device_write(dev->model, offset, value, 0xf);
}

static npu_hal_status reg_write(void *ctx, uint32_t offset, uint32_t value) {
    npu_dev *dev = (npu_dev *)ctx;
    if (npu_dev_failed(dev) || offset > 508 || offset % 4 != 0) {
        return NPU_HAL_FAULT;
    }
    const int which = npu_reg_events(offset);
    if (dev->has_rtl) {
        tell_access(dev, true, offset, value, busy_units(dev));
    }
    npu_explain_written(dev, offset, value);
    npu_program_write(dev, offset, value);
    if (npu_dev_failed(dev)) {
        return NPU_HAL_FAULT;
    }
    if (dev->has_rtl && dev->has_model && which >= 0) {
        npu_events_model(dev);
        if (!clear_events(dev, which, offset, value)) {
            return NPU_HAL_FAULT;
        }
    } else if (dev->has_rtl && !tb_run_write(&dev->run, PORT_AXIL, offset, value)) {
        if (dev->tlog != NULL && dev->has_model) { /* both logs contain the task that the RTL may have begun */
            model_write(dev, offset, value);
        }
        return NPU_HAL_FAULT;
    }
    if (offset == NPU_REG_IRQ_ENABLE) {
        dev->irq_enable = value;
    }
    if (dev->has_model) {
        model_write(dev, offset, value);
    }
    if (offset == NPU_REG_CTRL && (value & NPU_CTRL_SOFT_RESET_MASK) != 0) {
        npu_hal_on_reset(dev);
        dev->resetting = true;
    }
    return status_of(dev);
}

static npu_hal_status wait_irq(void *ctx, uint32_t line_mask, uint32_t timeout_us) {
    npu_dev *dev = (npu_dev *)ctx;
    if (npu_dev_failed(dev)) {
        return NPU_HAL_FAULT;
    }
    if (!dev->has_rtl) {
        return (cm_device_irq(dev->model) & line_mask) != 0 ? NPU_HAL_OK : NPU_HAL_TIMEOUT;
    }
    tb_watchdog_kick(&dev->run.wd, dev->run.sim.cycle);
    const uint64_t limit = (uint64_t)timeout_us * NPU_DEV_CYCLES_PER_US;
    for (uint64_t i = 0; (dev->run.irq & line_mask) == 0; i++) {
        if (i >= limit) {
            return NPU_HAL_TIMEOUT;
        }
        if (!tb_run_step(&dev->run)) {
            return NPU_HAL_FAULT;
        }
    }
    return status_of(dev);
}

static void delay_us(void *ctx, uint32_t us) {
    npu_dev *dev = (npu_dev *)ctx;
    const uint64_t cycles = (uint64_t)us * NPU_DEV_CYCLES_PER_US;
    for (uint64_t i = 0; dev->has_rtl && i < cycles && !npu_dev_failed(dev) && tb_run_step(&dev->run); i++) {
    }
}

static void task_output(void *ctx, uint32_t addr, uint32_t bytes) {
    npu_dev *dev = (npu_dev *)ctx;
    uint64_t where;
    if (bytes > 0 && dev->has_model && tb_ddr_find_protected(&dev->model_ddr, addr, bytes, &where)) {
        tb_run_fail(&dev->run, "driver:output",
                    "the driver declared an output of %u bytes at 0x%08x, but 0x%08" PRIx64 " may not be written",
                    bytes, addr, where);
        return;
    }
    npu_inflight_output(&dev->inflight, addr, bytes);
}

static void task_output_rows(void *ctx, uint32_t addr, uint32_t bytes, uint32_t rows, uint32_t step) {
    for (uint32_t r = 0; r < rows; r++) {
        task_output(ctx, addr + r * step, bytes);
    }
}

void npu_hal_fill(npu_dev *dev) {
    dev->hal = (npu_hal){.ctx = dev,
                         .reg_read = reg_read,
                         .reg_write = reg_write,
                         .wait_irq = wait_irq,
                         .delay_us = delay_us,
                         .cache_flush = NULL,
                         .cache_invalidate = NULL,
                         .task_output = task_output,
                         .task_output_rows = task_output_rows};
}
