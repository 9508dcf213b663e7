#include "run.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../case/hash.h"

#define RESET_CYCLES 5u
#define IDLE_CYCLES 32u /* enough for whatever is wrong to show after the last answer */
#define WATCH_MASK 63u  /* how often the watchdog looks */

void tb_run_fail(tb_run *run, const char *signature, const char *format, ...) {
    if (tb_run_failed(run)) {
        return;
    }
    tb_run_failure *f = &run->failure;
    va_list args;
    snprintf(f->signature, sizeof f->signature, "%s", signature);
    va_start(args, format);
    vsnprintf(f->message, sizeof f->message, format, args);
    va_end(args);
    f->cycle = run->sim.cycle;
}

/* ---- what can be wrong; kept out of the cycle's hot path ---- */

static void note_rules(tb_run *run) {
    char text[320], signature[96];
    for (unsigned i = 0; i < run->ports; i++) {
        const tb_run_port *p = run->port[i];
        if (p->mon.violations > 0) {
            tb_axi_violation_text(&p->mon, &p->mon.first[0], text, sizeof text);
            snprintf(signature, sizeof signature, "axi:%s:%s", tb_axi_rule_name(p->mon.first[0].rule), p->name);
            tb_run_fail(run, signature, "%s", text);
        }
    }
}

static void note_access(tb_run *run, const tb_run_port *p) {
    static const char *const signature[] = {[TB_DDR_WRITE_OUTSIDE] = "mem:write-outside",
                                            [TB_DDR_READ_UNWRITTEN] = "mem:read-unwritten",
                                            [TB_DDR_READ_OUTSIDE] = "mem:read-outside"};
    const tb_ddr_event *e = &p->mem->first;
    const bool write = e->kind == TB_DDR_WRITE_OUTSIDE;
    char where[160] = "";
    if (run->live != NULL) {
        const tb_near n = tb_buffers_near(run->live, e->addr, write ? TB_DDR_WRITE : TB_DDR_READ, NULL);
        tb_buffers_place(run->live, &n, where, sizeof where);
    }
    tb_run_fail(run, signature[e->kind], "%s: the design %s 0x%08" PRIx64 "%s%s%s", p->name, write ? "wrote" : "read", e->addr,
                e->kind == TB_DDR_READ_UNWRITTEN ? ", which nobody wrote" : ", which it may not", where[0] != '\0' ? ": " : "", where);
}

static void note_memory(tb_run *run) {
    for (unsigned i = 0; i < run->ports; i++) {
        const tb_run_port *p = run->port[i];
        if (p->mem != NULL && p->mem->events > 0) {
            note_access(run, p);
        }
        if ((p->mem != NULL && p->mem->oom) || p->mon.oom) {
            tb_run_fail(run, "host:memory", "%s: out of memory", p->name);
        }
    }
}

/* A unit did what its golden function does not do. */
static void note_check(tb_run *run) {
    char text[480], signature[96];
    const tb_check_failure *f = &run->checks.failure[0];
    snprintf(signature, sizeof signature, "unit:%s:%s", f->check->ops->unit, f->stream);
    tb_check_text(f, text, sizeof text);
    tb_run_fail(run, signature, "%s", text);
}

static void note_stop(tb_run *run) {
    char signature[96];
    run->gone = true;
    if (run->sim.interrupted) {
        tb_run_fail(run, "host:signal", "stopped by signal %d", tb_sim_signal());
        return;
    }
    const tb_sim *sim = &run->sim;
    const bool first = !tb_run_failed(run);
    tb_sim_assert_signature(sim->failure, signature, sizeof signature);
    tb_run_fail(run, signature, "%s, cycle %" PRIu64, sim->failure, sim->failure_cycle);
    if (first) {
        run->failure.cycle = sim->failure_cycle;
        snprintf(run->failure.path, sizeof run->failure.path, "%s", sim->failure_path);
    }
}

static void note_hang(tb_run *run) {
    char text[320] = "";
    size_t at = 0;
    for (unsigned i = 0; i < run->ports; i++) {
        uint32_t reads, writes;
        tb_axi_mon_open(&run->port[i]->mon, &reads, &writes);
        const int n = snprintf(text + at, sizeof text - at, "; %s: %u reads and %u writes in flight", run->port[i]->name, reads, writes);
        at += n > 0 && (size_t)n < sizeof text - at ? (size_t)n : 0;
    }
    const bool first = !tb_run_failed(run);
    tb_run_fail(run, "watchdog:hang", "nothing but reads of registers for %" PRIu64 " cycles%s", run->wd.limit, text);
    if (first) {
        run->failure.cycle = run->wd.last_cycle;
    }
}

/* ---- time ---- */

static bool step(void *ctx) {
    tb_run *run = (tb_run *)ctx;
    tb_sim *sim = &run->sim;
    const uint64_t cycle = sim->cycle;
    uint64_t progress = 0, violations = 0;
    bool memory = false;
    for (unsigned i = 0; i < run->ports; i++) {
        tb_run_port *p = run->port[i];
        if (p->mem != NULL) {
            tb_axi_slave_drive(&p->slave, cycle);
        } else {
            tb_lite_drive(&p->lite);
        }
    }
    tb_sim_settle(sim);
    for (unsigned i = 0; i < run->ports; i++) {
        tb_run_port *p = run->port[i];
        tb_axi_mon_port(&p->mon, &p->axi, cycle);
        if (p->mem != NULL) {
            tb_axi_slave_sample(&p->slave);
            memory = memory || p->mem->events > 0 || p->mem->oom;
        } else {
            tb_lite_sample(&p->lite);
        }
        /* who only reads registers waits for something: that is no progress, where there is memory */
        progress += p->mem == NULL && run->memories > 0 ? p->mon.stats.beats[TB_AXI_B] : p->mon.progress;
        violations += p->mon.violations;
        memory = memory || p->mon.oom;
    }
    if (run->checks.count > 0 && !tb_checks_cycle(&run->checks)) {
        note_check(run);
    }
    if (violations > 0) {
        note_rules(run);
    }
    if (memory) {
        note_memory(run);
    }
    if (!tb_sim_edge(sim)) {
        note_stop(run);
    } else if ((cycle & WATCH_MASK) == 0 && tb_watchdog_step(&run->wd, cycle, progress)) {
        note_hang(run);
    } else if (run->cfg.max_cycles != 0 && cycle >= run->cfg.max_cycles) {
        tb_run_fail(run, "host:cycles", "stopped after the %" PRIu64 " cycles that it may take", cycle);
    }
    return !tb_run_failed(run);
}

bool tb_run_step(void *ctx) {
    tb_run *run = (tb_run *)ctx;
    if ((run->gone || tb_run_failed(run)) && !run->replay.on) {
        return false;
    }
    return tb_replay_poll(&run->replay, &run->sim) ? tb_replay_step(&run->replay, &run->sim, step, run) : step(run);
}

static bool access_done(tb_run *run, tb_lite_status status, const char *what, uint64_t addr) {
    if (status == TB_LITE_TIMEOUT) {
        run->gone = true;
        tb_run_fail(run, "reg:timeout", "%s of register 0x%03" PRIx64 " got no answer within %" PRIu64 " cycles", what, addr,
                    run->cfg.access_cycles);
    } else if (status == TB_LITE_ERROR) {
        tb_run_fail(run, "reg:response", "%s of register 0x%03" PRIx64 " answered with an error response", what, addr);
    }
    return status == TB_LITE_OK;
}

bool tb_run_read(tb_run *run, unsigned port, uint64_t addr, uint32_t *value) {
    return access_done(run, tb_lite_read(&run->port[port]->lite, addr, value, tb_run_step, run, run->cfg.access_cycles), "read", addr);
}

bool tb_run_write(tb_run *run, unsigned port, uint64_t addr, uint32_t value) {
    return access_done(run, tb_lite_write(&run->port[port]->lite, addr, value, 0xf, tb_run_step, run, run->cfg.access_cycles), "write",
                       addr);
}

/* ---- begin and end ---- */

int tb_run_open(tb_run *run, const tb_run_cfg *cfg, char *err, size_t err_size) {
    memset(run, 0, sizeof *run);
    run->cfg = *cfg;
    run->cfg.access_cycles = cfg->access_cycles != 0 ? cfg->access_cycles : 10000;
    run->hash = TB_HASH_INIT;
    tb_watchdog_init(&run->wd, cfg->watchdog_cycles != 0 ? cfg->watchdog_cycles : 100000);
    const tb_shim *shim = tb_shim_get();
    if (cfg->fail_wave != NULL && shim != NULL && shim->trace_open == NULL) {
        snprintf(err, err_size, "%s: waveforms need a build with tracing (KIND=tap or KIND=debug)", cfg->fail_wave);
        return -1;
    }
    const tb_sim_cfg sim = {.shim = shim, .seed = cfg->seed, .clk = cfg->clk, .rst_n = cfg->rst_n, .wave = cfg->wave};
    return tb_sim_open(&run->sim, &sim, err, err_size);
}

static int add_port(tb_run *run, const char *name, const char *prefix, tb_ddr *mem, char *err, size_t err_size) {
    if (run->ports == TB_RUN_PORTS) {
        snprintf(err, err_size, "%s: a run has at most %u ports", name, TB_RUN_PORTS);
        return -1;
    }
    tb_run_port *p = (tb_run_port *)calloc(1, sizeof *p);
    if (p == NULL) {
        snprintf(err, err_size, "out of memory");
        return -1;
    }
    run->port[run->ports++] = p;
    p->name = name;
    p->prefix = prefix;
    p->mem = mem;
    run->memories += mem != NULL;
    if (tb_axi_bind(&p->axi, &run->sim, prefix, mem == NULL, err, err_size) != 0) {
        return -1;
    }
    tb_axi_mon_cfg cfg;
    tb_axi_mon_defaults(&cfg, name, &p->axi);
    cfg.port = run->ports - 1;
    cfg.hash = &run->hash;
    if (mem != NULL && (p->axi.bytes < 4 || p->axi.widths.id > 32)) {
        snprintf(err, err_size, "port %s: %u data bits and %u ID bits, this memory has at least 32 and at most 32", name, p->axi.bytes * 8,
                 p->axi.widths.id);
        return -1;
    }
    const tb_rng rng = tb_rng_stream(run->cfg.seed, name);
    if (tb_axi_mon_init(&p->mon, &cfg) != 0 || (mem != NULL && tb_axi_slave_init(&p->slave, &p->axi, mem, run->cfg.profile, rng) != 0)) {
        snprintf(err, err_size, "out of memory");
        return -1;
    }
    if (mem == NULL) {
        tb_lite_init(&p->lite, &p->axi, run->cfg.profile->lite_gap_max, rng);
    }
    return (int)run->ports - 1;
}

int tb_run_memory(tb_run *run, const char *name, const char *prefix, tb_ddr *mem, char *err, size_t err_size) {
    return add_port(run, name, prefix, mem, err, err_size);
}

int tb_run_registers(tb_run *run, const char *name, const char *prefix, char *err, size_t err_size) {
    return add_port(run, name, prefix, NULL, err, err_size);
}

int tb_run_checks(tb_run *run, const tb_check_ops *const *ops, size_t nops, void *ctx, char *err, size_t err_size) {
    return tb_checks_open(&run->checks, &run->sim, ops, nops, NULL, ctx, err, err_size);
}

void tb_run_start(tb_run *run) {
    for (unsigned i = 0; i < run->ports; i++) {
        tb_run_port *p = run->port[i];
        if (p->mem != NULL) {
            tb_axi_slave_reset(&p->slave);
        } else {
            tb_lite_reset(&p->lite);
        }
        tb_axi_mon_reset(&p->mon);
    }
    tb_sim_reset(&run->sim, RESET_CYCLES);
    tb_watchdog_kick(&run->wd, run->sim.cycle);
    if (run->sim.stopped) {
        note_stop(run);
    }
    if (run->cfg.fail_wave != NULL) {
        tb_replay_start(&run->replay, &run->sim, 0);
    }
    tb_run_step(run); /* nothing may be valid at the first edge after reset */
}

bool tb_run_idle(tb_run *run, const char *when) {
    for (unsigned i = 0; i < run->ports; i++) {
        uint32_t reads, writes;
        char signature[96];
        tb_axi_mon_open(&run->port[i]->mon, &reads, &writes);
        if (reads + writes != 0) {
            snprintf(signature, sizeof signature, "axi:outstanding:%s", run->port[i]->name);
            tb_run_fail(run, signature, "%s: %u reads and %u writes are in flight although %s", run->port[i]->name, reads, writes, when);
        }
    }
    return !tb_run_failed(run);
}

bool tb_run_finish(tb_run *run) {
    for (unsigned i = 0; i < IDLE_CYCLES && tb_run_step(run); i++) {
    }
    if (run->checks.count > 0 && !tb_run_failed(run) && !tb_checks_finish(&run->checks)) {
        note_check(run);
    }
    for (unsigned i = 0; i < run->ports && !tb_run_failed(run); i++) {
        tb_axi_mon_finish(&run->port[i]->mon, run->sim.cycle);
    }
    note_rules(run);
    return !tb_run_failed(run);
}

int tb_run_fail_wave(tb_run *run, char *err, size_t err_size) {
    if (run->cfg.fail_wave == NULL) {
        snprintf(err, err_size, "no file was named for it");
        return -1;
    }
    run->gone = true;
    const uint64_t at = tb_run_failed(run) ? run->failure.cycle : run->sim.cycle;
    return tb_replay_write(&run->replay, run->cfg.fail_wave, at, run->cfg.wave_window, err, err_size);
}

uint64_t tb_run_hash(const tb_run *run) {
    uint64_t hash = run->hash;
    for (unsigned i = 0; i < run->ports; i++) {
        bool seen = run->port[i]->mem == NULL;
        for (unsigned j = 0; j < i; j++) {
            seen = seen || run->port[j]->mem == run->port[i]->mem;
        }
        hash = seen ? hash : tb_ddr_hash(run->port[i]->mem, hash);
    }
    return tb_hash_final(hash);
}

void tb_run_close(tb_run *run) {
    while (run->replay.on) { /* a woken snapshot whose test ends early goes on by itself */
        tb_run_step(run);
    }
    tb_replay_stop(&run->replay);
    for (unsigned i = 0; i < run->ports; i++) {
        tb_axi_mon_free(&run->port[i]->mon);
        tb_axi_slave_free(&run->port[i]->slave);
        free(run->port[i]);
    }
    run->ports = 0;
    tb_checks_close(&run->checks);
    tb_sim_close(&run->sim);
}
