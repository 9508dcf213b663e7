/* Tandem: what both sides must agree on (docs/architecture.md section 5). */
#include "dev_priv.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

typedef struct reg_row {
    const char *name;
    uint32_t offset, access, exact, timed, w1c;
} reg_row;

#define ROW(name, offset, access, exact, timed, w1c, reset) {#name, offset, access, exact, timed, w1c},
static const reg_row rows[] = {NPU_REG_TABLE(ROW)};
#undef ROW

uint32_t npu_reg_fields(uint32_t offset) {
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (rows[i].offset == offset) {
            return rows[i].access == NPU_ACCESS_WO ? 0 : rows[i].exact | rows[i].timed | rows[i].w1c;
        }
    }
    return 0;
}

int npu_reg_events(uint32_t offset) {
    return offset == NPU_REG_IRQ_STATUS ? EV_IRQ : offset == NPU_REG_ERR ? EV_ERR : -1;
}

void npu_events_rtl(npu_dev *dev, int which, uint32_t value) {
    dev->ev[which].rtl |= value & ~dev->ev[which].stale_rtl;
}

void npu_events_model(npu_dev *dev) {
    dev->ev[EV_IRQ].model |= cm_device_read(dev->model, NPU_REG_IRQ_STATUS) & ~dev->ev[EV_IRQ].stale_model;
    dev->ev[EV_ERR].model |= cm_device_read(dev->model, NPU_REG_ERR) & ~dev->ev[EV_ERR].stale_model;
}

/* ERR bits that the bus earned since the last compare point. */
static uint32_t bus_errors(npu_dev *dev, bool take) {
    static const uint32_t bit[NPU_DEV_CHANNELS][2] = {{NPU_ERR_BUS_RD0_MASK, NPU_ERR_BUS_WR0_MASK},
                                                      {NPU_ERR_BUS_RD1_MASK, NPU_ERR_BUS_WR1_MASK}};
    uint32_t mask = 0;
    for (unsigned c = 0; c < NPU_DEV_CHANNELS; c++) {
        for (unsigned d = 0; d < 2; d++) {
            if (dev->slave[c].errors[d] != dev->errors_seen[c][d]) {
                mask |= bit[c][d];
            }
            if (take) {
                dev->errors_seen[c][d] = dev->slave[c].errors[d];
            }
        }
    }
    return mask;
}

#define BUS_ERRORS (NPU_ERR_BUS_RD0_MASK | NPU_ERR_BUS_RD1_MASK | NPU_ERR_BUS_WR0_MASK | NPU_ERR_BUS_WR1_MASK)

static void compare_events(npu_dev *dev, uint32_t bus) {
    static const char *const names[EVS] = {"IRQ_STATUS", "ERR"};
    static const uint32_t offsets[EVS] = {NPU_REG_IRQ_STATUS, NPU_REG_ERR};
    dev->ev[EV_IRQ].rtl |= dev->irq_seen;
    npu_events_model(dev);
    for (int w = 0; w < EVS; w++) {
        dev_events *ev = &dev->ev[w];
        uint32_t now = 0;
        if (!npu_rtl_read(dev, offsets[w], &now)) {
            return;
        }
        npu_events_rtl(dev, w, now);
        uint32_t expected = ev->model;
        if (w == EV_ERR) {
            /* the model has no bus: its errors are those that the bus really gave */
            expected = (expected & ~BUS_ERRORS) | bus;
        } else if (bus != 0) {
            expected |= NPU_IRQ_STATUS_GEMM_MASK;
        }
        const uint32_t differ = (ev->rtl ^ expected) & ~(ev->stale_rtl | ev->stale_model | ev->unsure);
        if (differ != 0) {
            char signature[64];
            snprintf(signature, sizeof signature, "event:%s", names[w]);
            npu_dev_fail(dev, signature, "events of %s since the last compare point: RTL 0x%08x, expected 0x%08x", names[w], ev->rtl,
                         expected);
            return;
        }
        ev->rtl = ev->model = ev->unsure = 0;
        ev->stale_rtl = now;
        ev->stale_model = cm_device_read(dev->model, offsets[w]);
    }
    dev->irq_seen = 0;
}

static void compare_regs(npu_dev *dev) {
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const reg_row *r = &rows[i];
        uint32_t got = 0;
        if (r->access == NPU_ACCESS_WO || r->exact == 0) {
            continue;
        }
        if (!npu_rtl_read(dev, r->offset, &got)) {
            return;
        }
        const uint32_t expected = cm_device_read(dev->model, r->offset);
        if (((got ^ expected) & r->exact) != 0) {
            char signature[64];
            snprintf(signature, sizeof signature, "reg:%s", r->name);
            npu_dev_fail(dev, signature, "register %s (0x%03x): RTL 0x%08x, model 0x%08x, exact bits 0x%08x", r->name, r->offset, got,
                         expected, r->exact);
            return;
        }
    }
}

/* Outputs of tasks that met a bus error are undefined: take the RTL's bytes over, so that every other byte can be compared. */
static void take_over(npu_dev *dev) {
    const npu_ranges *w = &dev->inflight.writes;
    for (size_t i = 0; i < w->count; i++) {
        tb_ddr_copy_range(&dev->model_ddr, &dev->ddr, w->r[i].begin, w->r[i].end - w->r[i].begin);
    }
}

static void compare_memory(npu_dev *dev, bool all) {
    tb_ddr_diff d;
    const bool equal = all ? tb_ddr_compare(&dev->ddr, &dev->model_ddr, &d) : tb_ddr_compare_dirty(&dev->ddr, &dev->model_ddr, &d);
    if (equal) {
        return;
    }
    char where[96];
    npu_dev_where(dev, d.addr, where, sizeof where);
    if (d.a_written != d.b_written) {
        npu_dev_fail(dev, "mem:differ", "memory differs in %" PRIu64 " bytes, first at 0x%08" PRIx64 " (%s): written by %s only", d.count,
                     d.addr, where, d.a_written ? "RTL" : "the model");
        return;
    }
    uint32_t got = 0;
    uint32_t expected = 0;
    const uint64_t word = d.addr & ~UINT64_C(3);
    tb_ddr_read(&dev->ddr, word, &got, 4);
    tb_ddr_read(&dev->model_ddr, word, &expected, 4);
    npu_dev_fail(dev, "mem:differ",
                 "memory differs in %" PRIu64 " bytes, first at 0x%08" PRIx64 " (%s): got 0x%02x, expected 0x%02x (word 0x%08x, 0x%08x)",
                 d.count, d.addr, where, d.a, d.b, got, expected);
}

static void compare_all(npu_dev *dev, bool whole_memory) {
    const uint32_t bus = bus_errors(dev, true);
    dev->undefined = dev->undefined || bus != 0 || dev->model_faulted;
    dev->model_faulted = false;
    if (dev->undefined) {
        take_over(dev);
    }
    compare_memory(dev, whole_memory);
    if (!npu_dev_failed(dev)) {
        compare_events(dev, bus);
    }
    if (!npu_dev_failed(dev)) {
        compare_regs(dev);
    }
    npu_inflight_clear(&dev->inflight);
    dev->undefined = false;
    dev->pending = false;
}

void npu_compare_point(npu_dev *dev, uint32_t count) {
    if (!dev->has_model || !dev->has_rtl || !dev->pending || npu_dev_failed(dev)) {
        return;
    }
    if (((count ^ cm_device_read(dev->model, NPU_REG_GEMM_COUNT)) & NPU_GEMM_COUNT_DONE_MASK) == 0) {
        compare_all(dev, false);
    }
}

void npu_compare_now(npu_dev *dev) {
    if (!dev->has_model || !dev->has_rtl || npu_dev_failed(dev)) {
        return;
    }
    uint32_t count = 0;
    if (!npu_rtl_read(dev, NPU_REG_GEMM_COUNT, &count)) {
        return;
    }
    const uint32_t expected = cm_device_read(dev->model, NPU_REG_GEMM_COUNT);
    if (count != expected) {
        npu_dev_fail(dev, "tandem:count", "the RTL has completed %u tasks, the model %u", count, expected);
        return;
    }
    compare_all(dev, true);
}
