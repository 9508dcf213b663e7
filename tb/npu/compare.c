/* Tandem: comparison of both sides (docs/architecture.md section 5). */
#include "dev_priv.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

typedef struct reg_row {
    const char *name;
    uint32_t offset, access, exact, timed, w1c;
} reg_row;

#define ROW(name, offset, access, exact, timed, w1c, reset) {#name, offset, access, exact, timed, w1c},
static const reg_row rows[] = {NPU_REGS_TABLE(ROW)};
#undef ROW

uint32_t npu_reg_fields(uint32_t offset) {
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (rows[i].offset == offset) {
            return rows[i].access == NPU_ACCESS_WO ? 0 : rows[i].exact | rows[i].timed | rows[i].w1c;
        }
    }
    return 0;
}

#define UNIT(U, ch0_rd, ch0_wr, ch1_rd, ch1_wr, drop)                                                                  \
    {                                                                                                                  \
        .name = #U, .ctrl = NPU_REG_##U##_CTRL, .en_mask = NPU_##U##_CTRL_EN_MASK, .count = NPU_REG_##U##_COUNT,       \
        .done_mask = NPU_##U##_COUNT_DONE_MASK, .busy_mask = NPU_STATUS_##U##_BUSY_MASK,                               \
        .irq_mask = NPU_IRQ_STATUS_##U##_MASK, .bus_err = {{ch0_rd, ch0_wr}, {ch1_rd, ch1_wr}}, .refused = (drop)      \
    }
const npu_unit_regs npu_units[UNITS] = {
    [UNIT_ALU] = UNIT(ALU, NPU_ERR_ALU_BUS_RD0_MASK, NPU_ERR_ALU_BUS_WR0_MASK, NPU_ERR_ALU_BUS_RD1_MASK,
                      NPU_ERR_ALU_BUS_WR1_MASK, NPU_ERR_ALU_CONFIG_MASK | NPU_ERR_ALU_OVERRUN_MASK),
    [UNIT_POOL] = UNIT(POOL, NPU_ERR_POOL_BUS_RD0_MASK, NPU_ERR_POOL_BUS_WR0_MASK, NPU_ERR_POOL_BUS_RD1_MASK,
                       NPU_ERR_POOL_BUS_WR1_MASK, NPU_ERR_POOL_CONFIG_MASK | NPU_ERR_POOL_OVERRUN_MASK),
    [UNIT_GEMM] = UNIT(GEMM, NPU_ERR_BUS_RD0_MASK, NPU_ERR_BUS_WR0_MASK, NPU_ERR_BUS_RD1_MASK, NPU_ERR_BUS_WR1_MASK,
                       NPU_ERR_CONFIG_MASK | NPU_ERR_OVERRUN_MASK),
};
#undef UNIT

/* Index of the n-th w1c register; NULL: there are fewer. */
static const reg_row *event_row(int n) {
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (rows[i].w1c != 0 && n-- == 0) {
            return &rows[i];
        }
    }
    return NULL;
}

int npu_reg_events(uint32_t offset) {
    const reg_row *r;
    for (int w = 0; w < (int)MAX_EVENT_REGS && (r = event_row(w)) != NULL; w++) {
        if (r->offset == offset) {
            return w;
        }
    }
    return -1;
}

void npu_events_rtl(npu_dev *dev, int which, uint32_t value) {
    dev->ev[which].rtl |= value & ~dev->ev[which].stale_rtl;
}

void npu_events_model(npu_dev *dev) {
    const reg_row *r;
    for (int w = 0; w < (int)MAX_EVENT_REGS && (r = event_row(w)) != NULL; w++) {
        dev->ev[w].model |= cm_device_read(dev->model, r->offset) & ~dev->ev[w].stale_model;
    }
}

/*
 * Bus errors since the last compare point. The model has no bus, so the expected ERR bits follow from the error
 * responses that were given. The unit follows from the address of the beat; where several units access that address, or
 * none is known to, at least one of them must have set its bit. The same for injected starts (npu_dev_stray_start).
 */
typedef struct bus_view {
    uint32_t must, may; /* ERR bits that must be set; that may be set as well */
    uint32_t one_of[8]; /* groups of which at least one bit is set */
    size_t groups;
    uint32_t units; /* mask: units with undefined outputs */
} bus_view;

#define REFUSE_CYCLES 32u /* from the start of a task to its error, with a margin */
#define BUS_BLOCK 16u     /* addresses of errors are rounded to blocks of so many bytes */

static uint32_t err_bits(uint32_t units, unsigned channel, unsigned dir) {
    uint32_t bits = 0;
    for (unsigned u = 0; u < UNITS; u++) {
        bits |= (units >> u & 1u) != 0 ? npu_units[u].bus_err[channel][dir] : 0;
    }
    return bits;
}

/* At least one of these bits is set. */
static void add_group(bus_view *view, uint32_t bits) {
    view->may |= bits;
    for (size_t i = 0; i < view->groups; i++) {
        if (view->one_of[i] == bits) {
            return;
        }
    }
    if (view->groups < sizeof view->one_of / sizeof view->one_of[0]) {
        view->one_of[view->groups++] = bits;
    }
}

static void add_error(const npu_dev *dev, unsigned channel, unsigned dir, bool known, uint64_t addr, bus_view *view) {
    uint32_t users = known ? npu_inflight_users(&dev->inflight, addr / BUS_BLOCK * BUS_BLOCK, BUS_BLOCK, dir == 1) : 0;
    if (users == 0) { /* a task that reads more than it needs, or one dropped by a reset */
        users = dev->pending;
    }
    const uint32_t bits = err_bits(users, channel, dir);
    view->units |= users;
    if ((users & (users - 1)) == 0) {
        view->must |= bits;
    } else {
        add_group(view, bits);
    }
}

static void take_bus_errors(npu_dev *dev, bus_view *view) {
    memset(view, 0, sizeof *view);
    for (unsigned c = 0; c < NPU_DEV_CHANNELS; c++) {
        for (unsigned d = 0; d < 2; d++) {
            const tb_axi_slave *slave = &dev->run.port[PORT_M0 + c]->slave;
            dev->lost = dev->lost || dev->errors_seen[c][d] < slave->errors[d];
            for (uint64_t i = dev->errors_seen[c][d]; i < slave->errors[d]; i++) {
                const bool known = slave->errors[d] - i <= TB_AXI_SLAVE_ERRORS;
                i = known ? i : slave->errors[d] - TB_AXI_SLAVE_ERRORS - 1; /* those no longer listed, together */
                add_error(dev, c, d, known, slave->error_addr[d][i % TB_AXI_SLAVE_ERRORS], view);
            }
            dev->errors_seen[c][d] = slave->errors[d];
        }
    }
    /* injected starts, which the model does not see: refused for one of two reasons */
    for (unsigned u = 0; u < UNITS; u++) {
        if ((dev->stray >> u & 1u) != 0) {
            add_group(view, npu_units[u].refused);
        }
    }
    dev->stray = 0;
}

void npu_bus_forget(npu_dev *dev) {
    for (unsigned i = PORT_M0; i < dev->run.ports; i++) {
        memcpy(dev->errors_seen[i - PORT_M0], dev->run.port[i]->slave.errors, sizeof dev->errors_seen[0]);
    }
}

bool npu_bus_error_waits(const npu_dev *dev) {
    bool waits = false;
    for (unsigned i = PORT_M0; i < dev->run.ports; i++) {
        waits = waits ||
                memcmp(dev->errors_seen[i - PORT_M0], dev->run.port[i]->slave.errors, sizeof dev->errors_seen[0]) != 0;
    }
    return waits;
}

static uint32_t all_bus_bits(void) {
    const uint32_t all = (1u << UNITS) - 1;
    return err_bits(all, 0, 0) | err_bits(all, 0, 1) | err_bits(all, 1, 0) | err_bits(all, 1, 1);
}

/* Interrupts of the units that these ERR bits belong to. */
static uint32_t irq_of(uint32_t err) {
    uint32_t irq = 0;
    for (unsigned u = 0; u < UNITS; u++) {
        const uint32_t(*b)[2] = npu_units[u].bus_err;
        irq |= (err & (b[0][0] | b[0][1] | b[1][0] | b[1][1] | npu_units[u].refused)) != 0 ? npu_units[u].irq_mask : 0;
    }
    return irq;
}

/* Bits of ERR that must differ from the model, and those that may. */
static void expect_events(const npu_dev *dev, const reg_row *r, const dev_events *ev, const bus_view *bus,
                          uint32_t *expected, uint32_t *loose) {
    const int err = npu_reg_events(NPU_REG_ERR);
    *expected = ev->model;
    *loose = ev->stale_rtl | ev->stale_model | ev->unsure;
    if (r->offset == NPU_REG_ERR) {
        *expected = (*expected & ~all_bus_bits()) | bus->must;
        *loose |= bus->may & ~bus->must;
    } else if (r->offset == NPU_REG_IRQ_STATUS) {
        *expected |= irq_of(bus->must | (bus->may & dev->ev[err].rtl));
        *loose |= irq_of(bus->may) & ~irq_of(bus->must | dev->ev[err].rtl);
    }
}

/* An error that several units may have met: one of them must have reported it. */
static void check_groups(npu_dev *dev, const dev_events *err, const bus_view *bus) {
    for (size_t i = 0; i < bus->groups; i++) {
        const uint32_t bits = bus->one_of[i];
        if (((err->rtl | err->stale_rtl | err->unsure) & bits) == 0) {
            tb_run_fail(
                &dev->run, "event:ERR",
                "the bus gave an error response, or a start was dropped, but none of the bits 0x%08x of ERR rose",
                bits);
        }
    }
}

static void compare_events(npu_dev *dev, const bus_view *bus) {
    uint32_t now[MAX_EVENT_REGS] = {0};
    const reg_row *r;
    dev->ev[npu_reg_events(NPU_REG_IRQ_STATUS)].rtl |= dev->run.irq_rose;
    npu_events_model(dev);
    for (int w = 0; w < (int)MAX_EVENT_REGS && (r = event_row(w)) != NULL; w++) {
        if (!tb_run_read(&dev->run, PORT_AXIL, r->offset, &now[w])) {
            return;
        }
        npu_events_rtl(dev, w, now[w]);
    }
    check_groups(dev, &dev->ev[npu_reg_events(NPU_REG_ERR)], bus);
    for (int w = 0; w < (int)MAX_EVENT_REGS && (r = event_row(w)) != NULL; w++) {
        uint32_t expected;
        uint32_t loose;
        expect_events(dev, r, &dev->ev[w], bus, &expected, &loose);
        if (((dev->ev[w].rtl ^ expected) & ~loose) != 0) {
            char signature[64];
            snprintf(signature, sizeof signature, "event:%s", r->name);
            tb_run_fail(&dev->run, signature, "events of %s since the last compare point: RTL 0x%08x, expected 0x%08x",
                        r->name, dev->ev[w].rtl, expected);
            return;
        }
    }
    for (int w = 0; w < (int)MAX_EVENT_REGS && (r = event_row(w)) != NULL; w++) {
        dev->ev[w] = (dev_events){.stale_rtl = now[w], .stale_model = cm_device_read(dev->model, r->offset)};
    }
    dev->run.irq_rose = 0;
}

static void compare_regs(npu_dev *dev) {
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const reg_row *r = &rows[i];
        uint32_t got = 0;
        if (r->access == NPU_ACCESS_WO || r->exact == 0 || (r->offset == NPU_REG_ALU_RESULT && dev->result_undefined)) {
            continue;
        }
        if (!tb_run_read(&dev->run, PORT_AXIL, r->offset, &got)) {
            return;
        }
        const uint32_t expected = cm_device_read(dev->model, r->offset);
        if (((got ^ expected) & r->exact) != 0) {
            char signature[64];
            snprintf(signature, sizeof signature, "reg:%s", r->name);
            tb_run_fail(&dev->run, signature, "register %s (0x%03x): RTL 0x%08x, model 0x%08x, exact bits 0x%08x",
                        r->name, r->offset, got, expected, r->exact);
            return;
        }
    }
}

/* Outputs of tasks that met a bus error are undefined: copy the RTL's bytes to the model, so that all other bytes can
 * be compared. */
static void take_over(npu_dev *dev) {
    npu_inflight *f = &dev->inflight;
    npu_inflight_taint(f, dev->undefined);
    for (size_t i = 0; f->tasks > 0 && i < f->buffers.buffers; i++) {
        const tb_buffer *b = &f->buffers.buffer[i];
        const tb_range *r = f->buffers.range.r;
        for (size_t j = b->first; j < b->end && b->use == TB_DDR_WRITE && f->task[b->work].tainted; j++) {
            tb_ddr_copy_range(&dev->model_ddr, &dev->ddr, r[j].begin, r[j].end - r[j].begin);
        }
    }
}

static void note_result(npu_dev *dev) {
    const npu_inflight *f = &dev->inflight;
    for (size_t i = f->dropped_to; i < f->tasks; i++) {
        dev->result_undefined = f->task[i].reduces ? f->task[i].tainted : dev->result_undefined;
    }
}

static void compare_memory(npu_dev *dev, bool all) {
    tb_ddr_diff d;
    const bool equal =
        all ? tb_ddr_compare(&dev->ddr, &dev->model_ddr, &d) : tb_ddr_compare_dirty(&dev->ddr, &dev->model_ddr, &d);
    if (equal) {
        return;
    }
    char where[96];
    npu_explain_compare(dev);
    npu_dev_where(dev, d.addr, where, sizeof where);
    dev->run.failure.units =
        npu_dev_failed(dev) ? dev->run.failure.units : npu_inflight_users(&dev->inflight, d.addr, 1, true);
    if (d.a_written != d.b_written) {
        tb_run_fail(&dev->run, "mem:differ",
                    "memory differs in %" PRIu64 " bytes, first at 0x%08" PRIx64 " (%s): written by %s only", d.count,
                    d.addr, where, d.a_written ? "RTL" : "the model");
        return;
    }
    uint32_t got = 0;
    uint32_t expected = 0;
    const uint64_t word = d.addr & ~UINT64_C(3);
    tb_ddr_read(&dev->ddr, word, &got, 4);
    tb_ddr_read(&dev->model_ddr, word, &expected, 4);
    tb_run_fail(&dev->run, "mem:differ",
                "memory differs in %" PRIu64 " bytes, first at 0x%08" PRIx64
                " (%s): got 0x%02x, expected 0x%02x (word 0x%08x, 0x%08x)",
                d.count, d.addr, where, d.a, d.b, got, expected);
}

/* The RTL may still be checking the settings of a task that it will refuse, which COUNT does not show. */
static void let_refuse(npu_dev *dev) {
    for (unsigned i = 0; dev->refused && i < REFUSE_CYCLES && tb_run_step(&dev->run); i++) {
    }
    dev->refused = false;
}

static void compare_all(npu_dev *dev, bool whole_memory) {
    const uint64_t before = dev->run.sim.cycle;
    bus_view bus;
    let_refuse(dev);
    take_bus_errors(dev, &bus);
    dev->undefined |= bus.units;
    if (dev->undefined != 0) {
        take_over(dev);
    }
    note_result(dev);
    compare_memory(dev, whole_memory);
    if (!npu_dev_failed(dev)) {
        compare_events(dev, &bus);
    }
    if (!npu_dev_failed(dev)) {
        compare_regs(dev);
    }
    npu_inflight_clear(&dev->inflight);
    for (unsigned u = 0; u < UNITS; u++) {
        dev->begun[u] = cm_device_read(dev->model, npu_units[u].count);
    }
    dev->undefined = 0;
    dev->pending = 0;
    dev->compare_cycles += dev->run.sim.cycle - before;
}

uint32_t npu_unfinished(npu_dev *dev) {
    uint32_t units = 0;
    for (unsigned u = 0; u < UNITS; u++) {
        const uint32_t started = cm_device_read(dev->model, npu_units[u].count);
        units |= ((dev->done_seen[u] ^ started) & npu_units[u].done_mask) != 0 ? 1u << u : 0;
    }
    return units;
}

void npu_compare_point(npu_dev *dev) {
    if (!dev->has_model || dev->pending == 0 || npu_dev_failed(dev) || npu_unfinished(dev) != 0) {
        return;
    }
    if (dev->has_rtl) {
        compare_all(dev, false);
    } else {
        npu_inflight_clear(&dev->inflight);
        dev->pending = 0;
    }
}

void npu_compare_now(npu_dev *dev) {
    if (!dev->has_model || !dev->has_rtl || npu_dev_failed(dev)) {
        return;
    }
    for (unsigned u = 0; u < UNITS; u++) {
        uint32_t count = 0;
        if (!tb_run_read(&dev->run, PORT_AXIL, npu_units[u].count, &count)) {
            return;
        }
        const uint32_t expected = cm_device_read(dev->model, npu_units[u].count);
        if (count != expected) {
            tb_run_fail(&dev->run, "tandem:count", "the %s of the RTL has completed %u tasks, the model's %u",
                        npu_units[u].name, count, expected);
            return;
        }
    }
    compare_all(dev, true);
}
