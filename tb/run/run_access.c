/* run_access.c - what the bench asks of the design: registers, bursts of the masters. */
#include <inttypes.h>
#include <stdio.h>

#include "run.h"

/* ---- register accesses ---- */

static bool access_done(tb_run *run, tb_lite_status status, const char *what, uint64_t addr) {
    const uint64_t limit = run->cfg.access_cycles;
    char text[160];
    if (status == TB_LITE_TIMEOUT) {
        run->gone = true;
        snprintf(text, sizeof text, "%s of register 0x%03" PRIx64 " got no response within %" PRIu64 " cycles", what,
                 addr, limit);
        tb_run_note_hang(run, TB_HANG_REGISTER, text, run->sim.cycle > limit ? run->sim.cycle - limit : 0);
    } else if (status == TB_LITE_ERROR) {
        tb_run_fail(run, "reg:response", "%s of register 0x%03" PRIx64 " answered with an error response", what, addr);
    }
    return status == TB_LITE_OK;
}

bool tb_run_read(tb_run *run, unsigned port, uint64_t addr, uint32_t *value) {
    tb_watchdog_kick(&run->wd, run->sim.cycle);
    return access_done(run, tb_lite_read(&run->port[port]->lite, addr, value, tb_run_step, run, run->cfg.access_cycles),
                       "read", addr);
}

bool tb_run_read64(tb_run *run, unsigned port, uint64_t addr, uint64_t *value) {
    tb_lite_master *lite = &run->port[port]->lite;
    tb_watchdog_kick(&run->wd, run->sim.cycle);
    return access_done(run, tb_lite_read64(lite, addr, value, tb_run_step, run, run->cfg.access_cycles), "read", addr);
}

/* A write gives the design new work, unless it is part of polling. */
static void kick_for_write(tb_run *run, uint64_t addr) {
    const tb_run_hooks *h = &run->cfg.hooks;
    if (h->polls == NULL || !h->polls(h->ctx, addr)) {
        tb_watchdog_kick(&run->wd_memory, run->sim.cycle);
    }
    tb_watchdog_kick(&run->wd, run->sim.cycle);
}

bool tb_run_write64(tb_run *run, unsigned port, uint64_t addr, uint64_t value) {
    tb_lite_master *lite = &run->port[port]->lite;
    kick_for_write(run, addr);
    return access_done(run, tb_lite_write64(lite, addr, value, 0xff, tb_run_step, run, run->cfg.access_cycles), "write",
                       addr);
}

bool tb_run_write_part(tb_run *run, unsigned port, uint64_t addr, uint32_t value, uint8_t strb) {
    kick_for_write(run, addr);
    return access_done(
        run, tb_lite_write(&run->port[port]->lite, addr, value, strb, tb_run_step, run, run->cfg.access_cycles),
        "write", addr);
}

bool tb_run_write(tb_run *run, unsigned port, uint64_t addr, uint32_t value) {
    return tb_run_write_part(run, port, addr, value, 0xf);
}

bool tb_run_peek(tb_run *run, unsigned port, uint64_t addr, uint32_t *value) {
    tb_lite_master *lite = &run->port[port]->lite;
    return !lite->busy && tb_lite_read(lite, addr, value, tb_run_cycle, run, run->cfg.access_cycles) == TB_LITE_OK;
}

/* ---- APB ---- */

static bool apb_access(tb_run *run, tb_apb *p, const char *what, uint64_t addr, bool *refused) {
    const uint64_t limit = run->cfg.access_cycles, from = run->sim.cycle;
    char text[160];
    while (p->busy && run->sim.cycle - from < limit && tb_run_step(run)) {
    }
    if (p->busy && !tb_run_failed(run)) {
        run->gone = true;
        snprintf(text, sizeof text, "%s of register 0x%03" PRIx64 " got no PREADY within %" PRIu64 " cycles", what,
                 addr, limit);
        tb_run_note_hang(run, TB_HANG_REGISTER, text, from);
    } else if (p->failed && refused == NULL) {
        tb_run_fail(run, "reg:response", "%s of register 0x%03" PRIx64 " answered with PSLVERR", what, addr);
    }
    if (refused != NULL) {
        *refused = p->failed;
    }
    return !tb_run_failed(run);
}

bool tb_run_apb_read(tb_run *run, unsigned apb, uint64_t addr, uint32_t *value, bool *refused) {
    tb_apb *p = run->apb[apb];
    tb_apb_start(p, false, addr, 0, 0);
    const bool ok = apb_access(run, p, "read", addr, refused);
    *value = p->value;
    return ok;
}

bool tb_run_apb_write(tb_run *run, unsigned apb, uint64_t addr, uint32_t value, bool *refused) {
    tb_apb *p = run->apb[apb];
    tb_apb_start(p, true, addr, value, (1u << p->bytes) - 1);
    return apb_access(run, p, "write", addr, refused);
}

/* ---- bursts ---- */

bool tb_run_busy(const tb_run *run) {
    bool busy = false;
    for (unsigned i = 0; i < run->ports; i++) {
        busy = busy || (run->port[i]->cfg.shadow != NULL && tb_axi_master_busy(&run->port[i]->master));
    }
    for (unsigned i = 0; i < run->streams; i++) {
        busy = busy || tb_stream_busy(run->stream[i]);
    }
    for (unsigned i = 0; i < run->apbs; i++) {
        busy = busy || tb_apb_busy(run->apb[i]);
    }
    for (unsigned i = 0; i < run->fairs; i++) {
        busy = busy || tb_fair_busy(run->fair[i]);
    }
    return busy;
}

bool tb_run_drain(tb_run *run) {
    while (tb_run_busy(run) && tb_run_step(run)) {
    }
    return !tb_run_failed(run);
}
