/*
 * The NPU's part of the report on a hang (tb/run/run_hang.c): root, chain of waits, states, tasks; and the decision
 * whether it is a hang.
 */
#include "hang.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MESH_EVENT 1u /* the mesh works on a block */
#define MAX_EXCUSES 32u
#define LOOKS 64u /* the watchdog is polled about every 64 cycles */

uint32_t npu_hang_busy(npu_dev *dev) {
    static const unsigned busy_event[UNITS] = {[UNIT_GEMM] = 33, [UNIT_ALU] = 27, [UNIT_POOL] = 30};
    const tb_sig events = tb_sim_find(&dev->run.sim, "perf_event_o");
    uint32_t busy = 0;
    if (events.ptr == NULL || events.width != NPU_DEV_PERF_EVENTS) {
        return dev->has_model ? npu_unfinished(dev) : 0;
    }
    for (unsigned u = 0; u < UNITS; u++) {
        busy |= (uint32_t)(tb_get(events) >> busy_event[u] & 1u) << u;
    }
    return busy;
}

static bool peek(npu_dev *dev, uint32_t offset, uint32_t *value) {
    return tb_run_peek(&dev->run, PORT_AXIL, offset, value);
}

/* Registers, read over the bus, which works unless a register access is what hangs. */
static void task_lines(npu_dev *dev, uint32_t busy, FILE *out) {
    fputs("tasks:\n", out);
    for (unsigned u = 0; u < UNITS; u++) {
        uint32_t count;
        fprintf(out, "  %-5s %s", npu_units[u].name, (busy >> u & 1u) != 0 ? "busy" : "idle");
        if (!peek(dev, npu_units[u].count, &count)) {
            fputs(", COUNT cannot be read\n", out);
            continue;
        }
        fprintf(out, ", %u complete", count & npu_units[u].done_mask);
        if (dev->has_model) {
            fprintf(out, " of %u", cm_device_read(dev->model, npu_units[u].count) & npu_units[u].done_mask);
        }
        fputs("\n", out);
    }
    uint32_t status;
    uint32_t err;
    uint32_t irq;
    if (peek(dev, NPU_REG_STATUS, &status) && peek(dev, NPU_REG_ERR, &err) && peek(dev, NPU_REG_IRQ_STATUS, &irq)) {
        fprintf(out, "  STATUS 0x%08x, ERR 0x%08x, IRQ_STATUS 0x%08x\n", status, err, irq);
    }
}

static void chain_lines(const npu_hang *h, FILE *out) {
    fputs("chain of waits:\n", out);
    for (size_t i = 0; i < h->links; i++) {
        fprintf(out, "%s%s\n", i == 0 ? "  " : "  -> ", h->link[i].text);
    }
    fprintf(out, "%s%s\n", h->links == 0 ? "  " : "  -> ", h->root_text);
    for (size_t i = 0; i < h->others; i++) {
        fprintf(out, "also stuck: %s\n", h->other[i]);
    }
    if (h->look.missing[0] != '\0') {
        fprintf(out, "(this design has no signal %s)\n", h->look.missing);
    }
}

bool npu_hang_root(void *ctx, tb_run_hang kind, char *name, size_t name_size, char *text, size_t size) {
    npu_dev *dev = (npu_dev *)ctx;
    npu_hang *h = (npu_hang *)calloc(1, sizeof *h);
    dev->hang = h;
    if (h == NULL) {
        return false;
    }
    h->dev = dev;
    h->registers = kind == TB_HANG_REGISTER;
    h->taps = npu_look_open(&h->look, &dev->run.sim) && npu_hang_chain(h);
    snprintf(name, name_size, "%s", h->root);
    snprintf(text, size, "%s", h->root_text);
    return h->taps;
}

void npu_hang_lines(void *ctx, bool end, FILE *out) {
    npu_dev *dev = (npu_dev *)ctx;
    npu_hang *h = dev->hang;
    const bool taps = h != NULL && h->taps;
    if (!end) {
        if (taps) {
            chain_lines(h, out);
        }
        return;
    }
    const uint32_t busy = npu_hang_busy(dev);
    if (taps) {
        npu_hang_states(h, out);
    }
    task_lines(dev, busy, out);
    if (!taps) {
        fputs("A build with taps (KIND=tap) shows every unit's state and the chain of waits.\n", out);
    }
    free(h);
    dev->hang = NULL;
}

bool npu_hang_has_work(void *ctx) {
    return npu_hang_busy((npu_dev *)ctx) != 0;
}

void npu_hang_where(void *ctx, uint64_t addr, char *dst, size_t size) {
    npu_dev_where((const npu_dev *)ctx, addr, dst, size);
}

/*
 * The mesh may work for long without a handshake on the bus, up to MAX_EXCUSES times the watchdog's cycles. It is idle
 * for some cycles between two blocks, so one sample is not enough: while a unit is busy the mesh is sampled LOOKS times
 * before it counts as a hang. True: no hang so far.
 */
bool npu_hang_computes(void *ctx) {
    npu_dev *dev = (npu_dev *)ctx;
    const tb_watchdog *wd = &dev->run.wd_memory; /* not that of registers, which a polling driver restarts */
    const tb_sig events = tb_sim_find(&dev->run.sim, "perf_event_o");
    const bool known = events.ptr != NULL && events.width == NPU_DEV_PERF_EVENTS;
    if (known && (tb_get(events) >> MESH_EVENT & 1u) != 0) {
        dev->wd_excuses = wd->last_cycle == dev->wd_excused_at ? dev->wd_excuses + 1 : 1;
        dev->wd_excused_at = dev->run.sim.cycle;
        tb_run_kick(&dev->run);
        return dev->wd_excuses <= MAX_EXCUSES;
    }
    dev->wd_looked = dev->wd_looked_since == wd->last_cycle ? dev->wd_looked + 1 : 0;
    dev->wd_looked_since = wd->last_cycle;
    return known && npu_hang_busy(dev) != 0 && dev->wd_looked < LOOKS;
}

bool npu_dev_check_hang(npu_dev *dev) {
    return dev->has_rtl ? tb_run_check_hang(&dev->run) : npu_dev_failed(dev);
}

const char *npu_dev_hang_text(const npu_dev *dev) {
    return dev->run.hang_text;
}
