/* run_open.c - a run begins: the design, its buses, pins and checks. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../case/hash.h"
#include "run.h"
#include "opt/opt.h"

#define RESET_CYCLES 5u
#define ACCESS_CYCLES 10000u
#define WATCHDOG_CYCLES 100000u

int tb_run_open(tb_run *run, const tb_run_cfg *cfg, char *err, size_t err_size) {
    memset(run, 0, sizeof *run);
    run->cfg = *cfg;
    tb_run_cfg *c = &run->cfg;
    c->reset_cycles = c->reset_cycles != 0 ? c->reset_cycles : RESET_CYCLES;
    c->access_cycles = c->access_cycles != 0 ? c->access_cycles : ACCESS_CYCLES;
    c->watchdog_cycles = c->watchdog_cycles != 0 ? c->watchdog_cycles : WATCHDOG_CYCLES;
    c->shim = c->shim != NULL ? c->shim : tb_shim_get();
    run->hash = TB_HASH_INIT;
    tb_watchdog_init(&run->wd, c->watchdog_cycles);
    tb_watchdog_init(&run->wd_memory, c->watchdog_cycles);
    if (c->fail_wave != NULL && c->shim != NULL && c->shim->trace_open == NULL) {
        return opt_fail(err, err_size, "%s: waveforms need a build with tracing (KIND=tap or KIND=debug)",
                        c->fail_wave);
    }
    const tb_sim_cfg sim = {.shim = c->shim,
                            .seed = c->init_seed != NULL ? *c->init_seed : c->seed,
                            .plusargs = c->plusargs,
                            .clk = c->clk,
                            .rst_n = c->rst_n,
                            .rst = c->rst,
                            .clocks = c->clocks,
                            .nclocks = c->nclocks,
                            .wave = c->wave};
    if (tb_sim_open(&run->sim, &sim, err, err_size) != 0) {
        return -1;
    }
    if (c->fail_wave != NULL) {
        tb_replay_start(&run->replay, &run->sim, c->fail_wave_delay);
    }
    return 0;
}

/* Monitor and the other side of the bus. 0 or -1 with one line in err. */
static int open_parts(tb_run *run, tb_run_port *p, char *err, size_t err_size) {
    const tb_run_port_cfg *c = &p->cfg;
    const bool registers = c->mem == NULL, lite = registers || c->lite;
    const tb_rng rng = tb_rng_stream(run->cfg.seed, c->stream != NULL ? c->stream : c->name);
    tb_axi_mon_cfg mon;
    if (tb_axi_bind(&p->axi, &run->sim, c->prefix, lite, err, err_size) != 0) {
        return -1;
    }
    if (!registers && (p->axi.bytes < 4 || p->axi.widths.id > 32)) {
        return opt_fail(err, err_size,
                        "port %s: %u data bits and %u ID bits, this memory has at least 32 and at most 32", c->name,
                        p->axi.bytes * 8, p->axi.widths.id);
    }
    tb_axi_mon_defaults(&mon, c->name, &p->axi);
    if (c->rules != NULL) {
        c->rules(&mon);
    }
    mon.port = run->ports - 1;
    mon.hash = &run->hash;
    if (tb_axi_mon_init(&p->mon, &mon) != 0 ||
        (!registers && tb_axi_slave_init(&p->slave, &p->axi, c->mem, run->cfg.profile, rng) != 0)) {
        return opt_fail(err, err_size, "out of memory");
    }
    p->slave.agent = c->agent;
    if (registers) {
        tb_lite_init(&p->lite, &p->axi, run->cfg.profile->lite_gap_max, rng);
    }
    return 0;
}

int tb_run_port_open(tb_run *run, const tb_run_port_cfg *cfg, char *err, size_t err_size) {
    if (run->ports == TB_RUN_PORTS) {
        return opt_fail(err, err_size, "%s: a run has at most %u ports", cfg->name, TB_RUN_PORTS);
    }
    tb_run_port *p = (tb_run_port *)calloc(1, sizeof *p);
    if (p == NULL) {
        return opt_fail(err, err_size, "out of memory");
    }
    if (cfg->clock >= (run->sim.schedule.count != 0 ? run->sim.schedule.count : 1)) {
        free(p);
        return opt_fail(err, err_size, "%s: there is no clock number %u", cfg->name, cfg->clock);
    }
    p->cfg = *cfg;
    run->port[run->ports++] = p;
    run->memories += cfg->mem != NULL;
    return open_parts(run, p, err, err_size) == 0 ? (int)run->ports - 1 : -1;
}

int tb_run_pin(tb_run *run, const char *name, char *err, size_t err_size) {
    tb_sig sig;
    if (run->pins == TB_RUN_PINS) {
        return opt_fail(err, err_size, "%s: a run has at most %u pins", name, TB_RUN_PINS);
    }
    if (tb_sim_port(&run->sim, name, 1, false, &sig, err, err_size) != 0) {
        return -1;
    }
    run->pin[run->pins++] = (const uint8_t *)sig.ptr;
    return (int)run->pins - 1;
}

int tb_run_checks(tb_run *run, const tb_check_ops *const *ops, size_t nops, const char *const *absent, void *ctx,
                  char *err, size_t err_size) {
    return tb_checks_open(&run->checks, &run->sim, ops, nops, absent, ctx, err, err_size);
}

void tb_run_follow(tb_run *run) {
    const char *prefixes[TB_RUN_PORTS + 1] = {NULL};
    for (unsigned i = 0; i < run->ports; i++) {
        prefixes[i] = run->port[i]->cfg.prefix;
    }
    tb_waits_open(&run->waits, &run->sim, prefixes);
}

void tb_run_counters(const tb_run *run, FILE *out) {
    const char *comma = "";
    fputs("{", out);
    for (unsigned i = 0; i < run->ports; i++, comma = ", ") {
        fprintf(out, "%s\"%s\": ", comma, run->port[i]->cfg.name);
        tb_axi_stats_json(&run->port[i]->mon, run->sim.cycle, out);
    }
    for (unsigned i = 0; i < run->waits.count && run->waits.counts; i++, comma = ", ") {
        const tb_wait *w = &run->waits.wait[i];
        fprintf(out, "%s\"%s\": {\"transfers\": %" PRIu64 ", \"last\": %" PRIu64 "}", comma, w->name, w->transfers,
                w->last);
    }
    fputs("}\n", out);
}
