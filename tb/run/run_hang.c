/*
 * run_hang.c - hangs: the failure and its report on the responses that memories owe and the bursts in flight.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "run.h"
#include "report/report.h"

#define MAX_BURSTS 8u /* lines for the bursts of one direction */

/* The oldest incomplete burst: read data missing; write data or response missing. */
static const tb_axi_open *oldest(const tb_axi_monitor *mon, bool write, bool data) {
    for (uint32_t i = 0;; i++) {
        const tb_axi_open *b = tb_axi_mon_burst(mon, write, i);
        if (b == NULL || (data ? !b->data_done : !b->resp_done)) {
            return b;
        }
    }
}

bool tb_run_owes(const tb_run *run, unsigned port, tb_axi_channel axi, char *text, size_t size) {
    const tb_axi_monitor *mon = &run->port[port]->mon;
    const bool write = axi != TB_AXI_AR && axi != TB_AXI_R;
    const bool stalled = (mon->stalled >> axi & 1u) != 0;
    const char *name = run->port[port]->cfg.name;
    const char *side = run->port[port]->cfg.mem != NULL ? "memory" : "design"; /* the slave */
    if (axi == TB_AXI_AR || axi == TB_AXI_AW || axi == TB_AXI_W) {
        snprintf(text, size, "the %s has not taken %s of %s since cycle %" PRIu64, side,
                 axi == TB_AXI_W ? "data" : "an address", name, mon->stalled_since[axi]);
        return stalled;
    }
    const tb_axi_open *b = oldest(mon, write, !write);
    if (b == NULL || stalled || (write && !b->data_done)) {
        return false;
    }
    if (write) {
        snprintf(text, size,
                 "the %s has not answered %s burst 0x%08" PRIx64 " of %u beats, complete since cycle %" PRIu64, side,
                 name, b->addr, b->len + 1u, b->moved);
    } else {
        snprintf(text, size, "the %s owes R of %s burst 0x%08" PRIx64 ": beat %u of %u, requested in cycle %" PRIu64,
                 side, name, b->addr, b->beat + 1u, b->len + 1u, b->since);
    }
    return true;
}

/* Is it a bus whose bursts are followed? Registers are asked for one at a time and have a failure of their own. */
static bool has_bursts(const tb_run_port *p) {
    return p->cfg.mem != NULL || p->cfg.shadow != NULL;
}

/* Is it a memory, or a slave of the design? */
static void guess_root(const tb_run *run, char *text, size_t size) {
    static const tb_axi_channel order[] = {TB_AXI_AR, TB_AXI_R, TB_AXI_AW, TB_AXI_W, TB_AXI_B};
    for (unsigned p = 0; p < run->ports; p++) {
        for (size_t i = 0; has_bursts(run->port[p]) && i < sizeof order / sizeof order[0]; i++) {
            if (tb_run_owes(run, p, order[i], text, size)) {
                return;
            }
        }
    }
    for (unsigned i = 0; i < run->streams; i++) {
        if (tb_stream_owes(run->stream[i], text, size)) {
            return;
        }
    }
    for (unsigned i = 0; i < run->apbs; i++) {
        if (tb_apb_owes(run->apb[i], text, size)) {
            return;
        }
    }
    for (unsigned i = 0; i < run->fairs; i++) {
        if (tb_fair_owes(run->fair[i], text, size)) {
            return;
        }
    }
    if (tb_waits_root(&run->waits, text, size)) {
        return;
    }
    snprintf(text, size,
             run->memories > 0 ? "the memory owes nothing: the design has stopped" : "the design has stopped");
}

/* ---- who waits for whom ---- */

/* One line for each port on which somebody waits: "the bench waits for the design: ...". Their number by side. */
static void wait_lines(const tb_run *run, unsigned waits[2], FILE *out) {
    static const tb_axi_channel order[] = {TB_AXI_AR, TB_AXI_R, TB_AXI_AW, TB_AXI_W, TB_AXI_B};
    static const char *const who[] = {"the bench waits for the design", "the design waits for the bench"};
    char text[256];
    for (unsigned p = 0; p < run->ports; p++) {
        const bool memory = run->port[p]->cfg.mem != NULL;
        for (size_t i = 0; has_bursts(run->port[p]) && i < sizeof order / sizeof order[0]; i++) {
            if (tb_run_owes(run, p, order[i], text, sizeof text)) {
                fprintf(out, "  %s: %s\n", who[memory], text);
                waits[memory]++;
            }
        }
    }
    for (unsigned i = 0; i < run->streams; i++) { /* the bench takes what the design offers when its pause ends */
        if (tb_stream_owes(run->stream[i], text, sizeof text)) {
            fprintf(out, "  %s: %s\n", who[0], text);
            waits[0]++;
        }
    }
    for (unsigned i = 0; i < run->apbs; i++) {
        if (tb_apb_owes(run->apb[i], text, sizeof text)) {
            fprintf(out, "  %s: %s\n", who[0], text);
            waits[0]++;
        }
    }
    for (unsigned i = 0; i < run->fairs; i++) {
        if (tb_fair_owes(run->fair[i], text, sizeof text)) {
            fprintf(out, "  %s: %s\n", who[0], text);
            waits[0]++;
        }
    }
}

/* The ports of a design without words of its own (hooks): the chain from who asks to who does not answer. */
static void who_waits(const tb_run *run, FILE *out) {
    unsigned waits[2] = {0, 0};
    char *text = NULL;
    size_t size = 0;
    FILE *lines = rep_memory(&text, &size);
    if (lines == NULL) {
        return;
    }
    wait_lines(run, waits, lines);
    if (fclose(lines) == 0 && waits[0] + waits[1] > 0) {
        fprintf(out, "who waits for whom:\n%s", text);
        if (waits[0] > 0) {
            fputs(waits[1] == 0 ? "  the design waits for nobody at its ports: it has stopped inside\n"
                                : "  the design may have stopped because of what it waits for\n",
                  out);
        }
    }
    free(text);
}

static void burst_line(const tb_run *run, const tb_run_port *p, bool write, const tb_axi_open *b, FILE *out) {
    const tb_run_hooks *h = &run->cfg.hooks;
    char where[160] = "";
    if (h->where != NULL) {
        h->where(h->ctx, b->addr, where, sizeof where);
    } else if (run->live != NULL) {
        const tb_near n = tb_buffers_near(run->live, b->addr, write ? TB_DDR_WRITE : TB_DDR_READ, NULL);
        tb_buffers_place(run->live, &n, where, sizeof where);
    }
    fprintf(out, "  %s %s 0x%08" PRIx64 ", %u of %u beats%s, since cycle %" PRIu64 "\n", p->cfg.name,
            write ? "write" : "read ", b->addr, b->beat, b->len + 1u, write && b->data_done ? ", no response" : "",
            b->since);
    if (where[0] != '\0') {
        fprintf(out, "           %s\n", where);
    }
}

static void port_lines(const tb_run *run, const tb_run_port *p, FILE *out) {
    const tb_axi_monitor *mon = &p->mon;
    for (unsigned write = 0; write < 2; write++) {
        uint32_t i = 0;
        for (const tb_axi_open *b; (b = tb_axi_mon_burst(mon, write != 0, i)) != NULL && i < MAX_BURSTS; i++) {
            burst_line(run, p, write != 0, b, out);
        }
        const uint32_t all = write != 0 ? mon->wr_count : mon->rd_count;
        if (all > i) {
            fprintf(out, "  %s %s and %u more\n", p->cfg.name, write != 0 ? "write" : "read ", all - i);
        }
    }
    for (unsigned a = 0; a < TB_AXI_CHANNELS; a++) {
        if ((mon->stalled >> a & 1u) != 0) {
            fprintf(out, "  %s %-2s   valid, not ready since cycle %" PRIu64 "\n", p->cfg.name,
                    tb_axi_channel_name((tb_axi_channel)a), mon->stalled_since[a]);
        }
    }
    if (mon->rd_count + mon->wr_count == 0 && mon->stalled == 0) {
        fprintf(out, "  %s nothing\n", p->cfg.name);
    }
}

static void write_report(tb_run *run, const char *what, const char *root) {
    const tb_run_hooks *h = &run->cfg.hooks;
    size_t size = 0;
    FILE *out = rep_memory(&run->hang_text, &size);
    if (out == NULL) {
        return;
    }
    fprintf(out, "hang: %s\nroot: %s\n", what, root);
    if (h->hang_lines != NULL) {
        h->hang_lines(h->ctx, false, out);
    }
    if (h->hang_lines == NULL) {
        who_waits(run, out);
    }
    fputs(run->ports > 0 ? "in flight on the bus (oldest first):\n" : "", out);
    for (unsigned i = 0; i < 2 * run->ports; i++) { /* those with memory first, others if the bench adds nothing */
        const tb_run_port *p = run->port[i % run->ports];
        const bool first = i<run->ports, moves = p->mon.rd_count + p->mon.wr_count + p->mon.stalled> 0;
        if (p->cfg.mem != NULL ? first : !first && moves && h->hang_lines == NULL) {
            port_lines(run, p, out);
        }
    }
    tb_waits_lines(&run->waits, out);
    if (h->hang_root == NULL && h->hang_lines == NULL) { /* the bench does not know its units */
        tb_waits_units(&run->sim, tb_run_cycle, run, out);
    }
    if (h->hang_lines != NULL) {
        h->hang_lines(h->ctx, true, out);
    }
    if (fclose(out) != 0) {
        free(run->hang_text);
        run->hang_text = NULL;
    }
}

/*
 * Nothing that can be seen of the design has ever changed, and a register was not answered or the reset has a strange
 * name: another root is more likely.
 */
static void still_in_reset(const tb_run *run, tb_run_hang kind, char *root, size_t size) {
    const char *warning = run->sim.warning;
    if (!run->moved && tb_sim_outputs(&run->sim) == run->still && (warning[0] != '\0' || kind == TB_HANG_REGISTER)) {
        snprintf(root, size, "no output has changed since reset: is the design still in reset (%.120s)?",
                 warning[0] != '\0' ? warning : "its polarity, the clock");
    }
}

static void note_hang(tb_run *run, tb_run_hang kind, const char *signature, const char *what, uint64_t since) {
    const tb_run_hooks *h = &run->cfg.hooks;
    char full[96], name[48] = "", root[200] = "";
    if (tb_run_failed(run)) {
        return;
    }
    if (run->replay.on) { /* the process that woke this snapshot prints the report */
        tb_run_fail(run, signature, "%s", what);
        return;
    }
    const bool known = h->hang_root != NULL && h->hang_root(h->ctx, kind, name, sizeof name, root, sizeof root);
    if (!known && kind != TB_HANG_REGISTER) {
        guess_root(run, root, sizeof root);
    }
    still_in_reset(run, kind, root, sizeof root);
    snprintf(full, sizeof full, "%s%s%s", signature, known && name[0] != '\0' ? ":" : "", known ? name : "");
    tb_run_fail(run, full, "%s%s%s", what, root[0] != '\0' ? "; " : "", root);
    run->failure.cycle = since;
    write_report(run, what, root);
}

void tb_run_note_hang(tb_run *run, tb_run_hang kind, const char *what, uint64_t since) {
    note_hang(run, kind, kind == TB_HANG_REGISTER ? "reg:timeout" : "watchdog:hang", what, since);
}

void tb_run_stuck(tb_run *run, const char *signature, const char *what, uint64_t since) {
    note_hang(run, TB_HANG_PORTS, signature, what, since);
}

/* No handshake with memory for so long. */
static void note_memory_hang(tb_run *run, uint64_t since) {
    char what[160];
    snprintf(what, sizeof what, "no handshake with memory for %" PRIu64 " cycles, since cycle %" PRIu64, run->wd.limit,
             since);
    tb_run_note_hang(run, TB_HANG_MEMORY, what, since);
}

/* What one stream or APB port offers is not taken for too long, whatever moves on the others. */
static void watch_offers(tb_run *run, uint64_t cycle) {
    char signature[96], what[160];
    for (unsigned i = 0; i < run->streams; i++) {
        const tb_stream *s = run->stream[i];
        if (s->live && cycle - s->since >= run->wd.limit) {
            snprintf(signature, sizeof signature, "stream:stuck:%.40s", s->cfg.name);
            snprintf(what, sizeof what, "%.40s: offered in cycle %" PRIu64 " and not taken for %" PRIu64 " cycles",
                     s->cfg.name, s->since, run->wd.limit);
            tb_run_stuck(run, signature, what, s->since);
        }
    }
    for (unsigned i = 0; i < run->apbs; i++) {
        const tb_apb *p = run->apb[i];
        if (!p->cfg.requester && p->phase != TB_APB_IDLE && cycle - p->since >= run->wd.limit) {
            snprintf(signature, sizeof signature, "apb:stuck:%.40s", p->cfg.name);
            snprintf(what, sizeof what, "%.40s: no PREADY since cycle %" PRIu64 ", for %" PRIu64 " cycles", p->cfg.name,
                     p->since, run->wd.limit);
            tb_run_stuck(run, signature, what, p->since);
        }
    }
}

void tb_run_watch(tb_run *run, uint64_t cycle) {
    const tb_run_hooks *h = &run->cfg.hooks;
    const bool all = tb_watchdog_step(&run->wd, cycle, tb_run_handshakes(run, false));
    const bool memory = run->memories > 0 && tb_watchdog_step(&run->wd_memory, cycle, tb_run_handshakes(run, true));
    const uint64_t since = all ? run->wd.last_cycle : run->wd_memory.last_cycle;
    char what[160];
    watch_offers(run, cycle);
    if (!all && !memory) {
        return;
    }
    if (run->memories == 0 && run->progress == 0 && !tb_run_busy(run)) {
        tb_run_kick(run); /* the bench asks for nothing */
    } else if (!all && h->busy != NULL && !h->busy(h->ctx)) {
        tb_run_kick(run);
    } else if (h->computes != NULL && h->computes(h->ctx)) {
        return;
    } else if (!all) {
        note_memory_hang(run, since);
    } else {
        snprintf(what, sizeof what, "no %s for %" PRIu64 " cycles, since cycle %" PRIu64,
                 run->ports + run->streams + run->apbs + run->fairs > 0 ? "handshake on any port" : "progress",
                 run->wd.limit, since);
        tb_run_note_hang(run, TB_HANG_PORTS, what, since);
    }
}

bool tb_run_check_hang(tb_run *run) {
    const tb_run_hooks *h = &run->cfg.hooks;
    const uint64_t before = tb_run_handshakes(run, true);
    uint64_t since = 0;
    for (unsigned i = 0; i < run->ports; i++) {
        const tb_run_port *p = run->port[i];
        since = p->cfg.mem != NULL && p->mon.last > since ? p->mon.last : since;
    }
    while (!tb_run_failed(run) && run->sim.cycle - since < run->wd.limit) {
        if ((h->busy != NULL && !h->busy(h->ctx)) || tb_run_handshakes(run, true) != before) {
            return false;
        }
        tb_watchdog_kick(&run->wd, run->sim.cycle);
        if (!tb_run_step(run)) {
            return tb_run_failed(run);
        }
    }
    note_memory_hang(run, since);
    return true;
}
