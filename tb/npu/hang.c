/* The report on a hang: headline, root, who waits for whom, tasks, bus, states. */
#include "hang.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MESH_EVENT 1u /* the mesh works on a block */
#define MAX_EXCUSES 32u
#define LOOKS 64u     /* the watchdog is asked every 64 cycles or so */
#define MAX_BURSTS 8u /* lines for the bursts of one direction */

static const char *const axi_port[NPU_DEV_CHANNELS] = {"m0", "m1"};

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

/* The oldest burst that still lacks something: read data; write data and response. */
static const tb_axi_open *oldest(const tb_axi_monitor *mon, bool write, bool data) {
    for (uint32_t i = 0;; i++) {
        const tb_axi_open *b = tb_axi_mon_burst(mon, write, i);
        if (b == NULL || (data ? !b->data_done : !b->resp_done)) {
            return b;
        }
    }
}

bool npu_hang_memory(const npu_dev *dev, unsigned channel, tb_axi_channel axi, char *text, size_t size) {
    const tb_axi_monitor *mon = &dev->run.port[PORT_M0 + channel]->mon;
    const bool write = axi != TB_AXI_AR && axi != TB_AXI_R;
    const bool stalled = (mon->stalled >> axi & 1u) != 0;
    const char *name = tb_axi_channel_name(axi);
    if (axi == TB_AXI_AR || axi == TB_AXI_AW || axi == TB_AXI_W) {
        snprintf(text, size, "the memory has not taken %s of %s since cycle %" PRIu64, axi == TB_AXI_W ? "data" : "an address",
                 axi_port[channel], mon->stalled_since[axi]);
        return stalled;
    }
    const tb_axi_open *b = oldest(mon, write, !write);
    if (b == NULL || stalled || (write && !b->data_done)) {
        return false;
    }
    if (write) {
        snprintf(text, size, "the memory has not answered %s burst 0x%08" PRIx64 " of %u beats, complete since cycle %" PRIu64,
                 axi_port[channel], b->addr, b->len + 1u, b->moved);
    } else {
        snprintf(text, size, "the memory owes %s of %s burst 0x%08" PRIx64 ": beat %u of %u, asked for in cycle %" PRIu64, name,
                 axi_port[channel], b->addr, b->beat + 1u, b->len + 1u, b->since);
    }
    return true;
}

static void burst_line(const npu_dev *dev, unsigned channel, bool write, const tb_axi_open *b, FILE *out) {
    char where[96];
    npu_dev_where(dev, b->addr, where, sizeof where);
    fprintf(out, "  %s %s 0x%08" PRIx64 ", %u of %u beats%s, since cycle %" PRIu64 "\n", axi_port[channel], write ? "write" : "read ",
            b->addr, b->beat, b->len + 1u, write && b->data_done ? ", no response" : "", b->since);
    fprintf(out, "           %s\n", where);
}

static void bus_lines(const npu_dev *dev, FILE *out) {
    static const char *const state[] = {"idle", "valid, not ready"};
    fputs("in flight on the bus (oldest first):\n", out);
    for (unsigned c = 0; c < NPU_DEV_CHANNELS; c++) {
        const tb_axi_monitor *mon = &dev->run.port[PORT_M0 + c]->mon;
        for (unsigned write = 0; write < 2; write++) {
            uint32_t i = 0;
            for (const tb_axi_open *b; (b = tb_axi_mon_burst(mon, write != 0, i)) != NULL && i < MAX_BURSTS; i++) {
                burst_line(dev, c, write != 0, b, out);
            }
            const uint32_t all = write != 0 ? mon->wr_count : mon->rd_count;
            if (all > i) {
                fprintf(out, "  %s %s and %u more\n", axi_port[c], write != 0 ? "write" : "read ", all - i);
            }
        }
        for (unsigned a = 0; a < TB_AXI_CHANNELS; a++) {
            if ((mon->stalled >> a & 1u) != 0) {
                fprintf(out, "  %s %-2s   %s since cycle %" PRIu64 "\n", axi_port[c], tb_axi_channel_name((tb_axi_channel)a), state[1],
                        mon->stalled_since[a]);
            }
        }
        if (mon->rd_count + mon->wr_count == 0 && mon->stalled == 0) {
            fprintf(out, "  %s nothing\n", axi_port[c]);
        }
    }
}

static bool peek(npu_dev *dev, uint32_t offset, uint32_t *value) {
    return tb_run_peek(&dev->run, PORT_AXIL, offset, value);
}

/* Registers, by way of the bus: they answer unless they are what hangs. */
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
    fputs("who waits for whom:\n", out);
    for (size_t i = 0; i < h->links; i++) {
        fprintf(out, "%s%s\n", i == 0 ? "  " : "  -> ", h->link[i].text);
    }
    fprintf(out, "%s%s\n", h->links == 0 ? "  " : "  -> ", h->root_text);
    for (size_t i = 0; i < h->others; i++) {
        fprintf(out, "stands as well: %s\n", h->other[i]);
    }
    if (h->look.missing[0] != '\0') {
        fprintf(out, "(this design has no %s: see tb/npu/taps/hang.vlt)\n", h->look.missing);
    }
}

/* Without a look at the units: is it the memory? */
static void guess_root(npu_hang *h) {
    static const tb_axi_channel order[] = {TB_AXI_AR, TB_AXI_R, TB_AXI_AW, TB_AXI_W, TB_AXI_B};
    for (unsigned c = 0; c < NPU_DEV_CHANNELS; c++) {
        for (size_t i = 0; i < sizeof order / sizeof order[0]; i++) {
            if (npu_hang_memory(h->dev, c, order[i], h->root_text, sizeof h->root_text)) {
                snprintf(h->root, sizeof h->root, "%s.%s", axi_port[c], tb_axi_channel_name(order[i]));
                return;
            }
        }
    }
    snprintf(h->root_text, sizeof h->root_text, "the memory owes nothing: a unit of the NPU stands");
}

static void write_report(npu_hang *h, bool taps, const char *head, FILE *out) {
    npu_dev *dev = h->dev;
    const uint32_t busy = npu_hang_busy(dev);
    fprintf(out, "hang: %s\n", head);
    fprintf(out, "root: %s\n", h->root_text);
    if (taps) {
        chain_lines(h, out);
    }
    bus_lines(dev, out);
    if (taps) {
        npu_hang_states(h, out);
    }
    task_lines(dev, busy, out);
    if (!taps) {
        fputs("A build with taps (KIND=tap) shows every unit's state and who waits for whom.\n", out);
    }
}

/* The first failure becomes a hang with its report; `since`: the cycle of the last thing that moved. */
static void report(npu_dev *dev, tb_run_hang kind, const char *head, uint64_t since) {
    const bool registers = kind == TB_HANG_REGISTER;
    const char *signature = registers ? "reg:timeout" : "watchdog:hang";
    char full[96];
    size_t size = 0;
    npu_hang *h = (npu_hang *)calloc(1, sizeof *h);
    const bool first = !npu_dev_failed(dev);
    if (h == NULL || !first || dev->run.replay.on) {
        tb_run_fail(&dev->run, signature, "%s", head);
        free(h);
        return;
    }
    h->dev = dev;
    h->registers = registers;
    const bool taps = npu_look_open(&h->look, &dev->run.sim) && npu_hang_chain(h);
    if (!taps && !registers) {
        guess_root(h);
    }
    snprintf(full, sizeof full, "%s%s%s", signature, taps && h->root[0] != '\0' ? ":" : "", taps ? h->root : "");
    tb_run_fail(&dev->run, full, "%s%s%s", head, h->root_text[0] != '\0' ? "; " : "", h->root_text);
    dev->run.failure.cycle = since;
    FILE *out = open_memstream(&dev->hang_text, &size);
    if (out != NULL) {
        write_report(h, taps, head, out);
        if (fclose(out) != 0) {
            free(dev->hang_text);
            dev->hang_text = NULL;
        }
    }
    npu_look_close(&h->look);
    free(h);
}

/*
 * The mesh may work for long without a handshake on the bus; but not for ever. It rests for some cycles between two blocks, so one look is not enough: until it is seen at work the watchdog looks again, LOOKS
 * times. True: nothing is to be said now.
 */
static bool excused(npu_dev *dev) {
    const tb_watchdog *wd = &dev->run.wd_memory; /* the driver may poll, and so move the other one */
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

void npu_hang_found(npu_dev *dev, tb_run_hang kind, const char *what, uint64_t since) {
    if (kind == TB_HANG_MEMORY && npu_hang_busy(dev) == 0) {
        tb_run_kick(&dev->run);
    } else if (kind == TB_HANG_REGISTER || !excused(dev)) {
        report(dev, kind, what, since);
    }
}

bool npu_dev_check_hang(npu_dev *dev) {
    tb_run *run = &dev->run;
    if (!dev->has_rtl || npu_dev_failed(dev)) {
        return npu_dev_failed(dev);
    }
    const uint64_t before = tb_run_progress(run, true);
    const uint64_t m0 = run->port[PORT_M0]->mon.last, m1 = run->port[PORT_M0 + 1]->mon.last;
    const uint64_t since = m0 > m1 ? m0 : m1;
    while (run->sim.cycle - since < run->wd.limit) {
        if (npu_hang_busy(dev) == 0 || tb_run_progress(run, true) != before) {
            return false;
        }
        tb_watchdog_kick(&run->wd, run->sim.cycle);
        if (!tb_run_step(run)) {
            return npu_dev_failed(dev);
        }
    }
    char what[160];
    snprintf(what, sizeof what, "no handshake with memory for %" PRIu64 " cycles, since cycle %" PRIu64, run->wd.limit, since);
    report(dev, TB_HANG_MEMORY, what, since);
    return true;
}

const char *npu_dev_hang_text(const npu_dev *dev) {
    return dev->hang_text;
}
