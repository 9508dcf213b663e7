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
    const bool registers = c->mem == NULL && c->shadow == NULL, lite = registers || c->lite;
    const tb_rng rng = tb_rng_stream(run->cfg.seed, c->stream != NULL ? c->stream : c->name);
    tb_axi_mon_cfg mon;
    if (tb_axi_bind_slice(&p->axi, &run->sim, c->prefix, lite, c->slice, c->slices, err, err_size) != 0) {
        return -1;
    }
    if (!registers && p->axi.widths.id > 32) {
        return opt_fail(err, err_size, "port %s: %u ID bits, expected at most 32", c->name, p->axi.widths.id);
    }
    if (registers && p->axi.bytes != 4 && p->axi.bytes != 8) {
        return opt_fail(err, err_size, "port %s: %u data bits, expected 32 or 64 for registers", c->name,
                        p->axi.bytes * 8);
    }
    tb_axi_mon_defaults(&mon, c->name, &p->axi);
    if (c->rules != NULL) {
        c->rules(&mon);
    }
    mon.port = run->ports - 1;
    mon.hash = &run->hash;
    const tb_axi_master_cfg master = {
        .name = c->name, .shadow = c->shadow, .number = run->ports - 1, .profile = run->cfg.profile, .rng = rng};
    if (tb_axi_mon_init(&p->mon, &mon) != 0 ||
        (c->mem != NULL && tb_axi_slave_init(&p->slave, &p->axi, c->mem, run->cfg.profile, rng) != 0) ||
        (c->shadow != NULL && tb_axi_master_init(&p->master, &p->axi, &master) != 0)) {
        return opt_fail(err, err_size, "out of memory");
    }
    p->slave.agent = c->agent;
    if (registers) {
        tb_lite_init(&p->lite, &p->axi, run->cfg.profile->lite_gap_max, rng);
    }
    return 0;
}

static bool has_clock(const tb_run *run, unsigned clock) {
    return clock < (run->sim.schedule.count != 0 ? run->sim.schedule.count : 1);
}

int tb_run_port_open(tb_run *run, const tb_run_port_cfg *cfg, char *err, size_t err_size) {
    if (run->ports == TB_RUN_PORTS) {
        return opt_fail(err, err_size, "%s: a run has at most %u ports", cfg->name, TB_RUN_PORTS);
    }
    tb_run_port *p = (tb_run_port *)calloc(1, sizeof *p);
    if (p == NULL) {
        return opt_fail(err, err_size, "out of memory");
    }
    if (!has_clock(run, cfg->clock)) {
        free(p);
        return opt_fail(err, err_size, "%s: there is no clock number %u", cfg->name, cfg->clock);
    }
    p->cfg = *cfg;
    run->port[run->ports++] = p;
    run->memories += cfg->mem != NULL;
    run->masters += cfg->shadow != NULL;
    return open_parts(run, p, err, err_size) == 0 ? (int)run->ports - 1 : -1;
}

tb_stream *tb_run_stream(const tb_run *run, const char *name) {
    for (unsigned i = 0; i < run->streams; i++) {
        if (strcmp(run->stream[i]->cfg.name, name) == 0) {
            return run->stream[i];
        }
    }
    return NULL;
}

int tb_run_stream_open(tb_run *run, const tb_stream_cfg *cfg, char *err, size_t err_size) {
    tb_stream *origin = cfg->from != NULL ? tb_run_stream(run, cfg->from) : NULL;
    if (run->streams == TB_RUN_STREAMS) {
        return opt_fail(err, err_size, "%s: a run has at most %u streams", cfg->name, TB_RUN_STREAMS);
    }
    if (!has_clock(run, cfg->clock)) {
        return opt_fail(err, err_size, "%s: there is no clock number %u", cfg->name, cfg->clock);
    }
    if (cfg->from != NULL && (origin == NULL || origin->cfg.source || !cfg->source)) {
        return opt_fail(err, err_size, "%s: from %s: expected a stream into the design that stands before it",
                        cfg->name, cfg->from);
    }
    tb_stream *s = (tb_stream *)calloc(1, sizeof *s);
    if (s == NULL) {
        return opt_fail(err, err_size, "out of memory");
    }
    run->stream[run->streams++] = s;
    if (tb_stream_open(s, &run->sim, cfg, tb_rng_stream(run->cfg.seed, cfg->name), err, err_size) != 0) {
        return -1;
    }
    if (origin != NULL && tb_stream_follow(s, origin) != 0) {
        return opt_fail(err, err_size, "%s: %s has %u copies already", cfg->name, cfg->from, TB_STREAM_COPIES);
    }
    return (int)run->streams - 1;
}

int tb_run_apb_open(tb_run *run, const tb_apb_cfg *cfg, char *err, size_t err_size) {
    if (run->apbs == TB_RUN_APBS) {
        return opt_fail(err, err_size, "%s: a run has at most %u APB ports", cfg->name, TB_RUN_APBS);
    }
    if (!has_clock(run, cfg->clock)) {
        return opt_fail(err, err_size, "%s: there is no clock number %u", cfg->name, cfg->clock);
    }
    tb_apb *p = (tb_apb *)calloc(1, sizeof *p);
    if (p == NULL) {
        return opt_fail(err, err_size, "out of memory");
    }
    run->apb[run->apbs++] = p;
    const tb_rng rng = tb_rng_stream(run->cfg.seed, cfg->name);
    return tb_apb_open(p, &run->sim, cfg, rng, err, err_size) == 0 ? (int)run->apbs - 1 : -1;
}

int tb_run_fair_open(tb_run *run, const tb_fair_cfg *cfg, char *err, size_t err_size) {
    if (run->fairs == TB_RUN_FAIRS) {
        return opt_fail(err, err_size, "%s: a run has at most %u arbiters", cfg->name, TB_RUN_FAIRS);
    }
    if (!has_clock(run, cfg->clock)) {
        return opt_fail(err, err_size, "%s: there is no clock number %u", cfg->name, cfg->clock);
    }
    tb_fair *f = (tb_fair *)calloc(1, sizeof *f);
    if (f == NULL) {
        return opt_fail(err, err_size, "out of memory");
    }
    run->fair[run->fairs++] = f;
    if (tb_fair_open(f, &run->sim, cfg, err, err_size) != 0) {
        return -1;
    }
    f->rng = tb_rng_stream(run->cfg.seed, cfg->name);
    return (int)run->fairs - 1;
}

int tb_run_pin(tb_run *run, const char *name, char *err, size_t err_size) {
    tb_sig sig;
    if (run->pins == TB_RUN_PINS) {
        return opt_fail(err, err_size, "%s: a run has at most %u pins", name, TB_RUN_PINS);
    }
    if (tb_sim_port(&run->sim, name, 1, false, &sig, err, err_size) != 0) {
        return -1;
    }
    run->pin_name[run->pins] = name;
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
    for (unsigned i = 0; i < run->waits.count; i++) {
        for (unsigned k = 0; k < run->streams; k++) {
            run->waits.wait[i].known =
                run->waits.wait[i].known || run->waits.wait[i].valid.ptr == run->stream[k]->valid.ptr;
        }
    }
}

void tb_run_counters(const tb_run *run, FILE *out) {
    const char *comma = "";
    fputs("{", out);
    for (unsigned i = 0; i < run->ports; i++, comma = ", ") {
        fprintf(out, "%s\"%s\": ", comma, run->port[i]->cfg.name);
        tb_axi_stats_json(&run->port[i]->mon, run->sim.cycle, out);
    }
    for (unsigned i = 0; i < run->streams; i++, comma = ", ") {
        const tb_stream *s = run->stream[i];
        fprintf(out, "%s\"%s\": {\"transfers\": %" PRIu64 ", \"packets\": %" PRIu64 ", \"stalled\": %" PRIu64 "}",
                comma, s->cfg.name, s->transfers, s->packets, s->stalled);
    }
    for (unsigned i = 0; i < run->apbs; i++, comma = ", ") {
        const tb_apb *p = run->apb[i];
        fprintf(out,
                "%s\"%s\": {\"transfers\": %" PRIu64 ", \"writes\": %" PRIu64 ", \"errors\": %" PRIu64
                ", \"waits\": %" PRIu64 "}",
                comma, p->cfg.name, p->transfers, p->stores, p->errors, p->waits);
    }
    for (unsigned i = 0; i < run->pins; i++, comma = ", ") {
        fprintf(out, "%s\"%s\": {\"rises\": %" PRIu64 "}", comma, run->pin_name[i], run->pin_rises[i]);
    }
    for (unsigned i = 0; i < run->waits.count && run->waits.counts; i++) {
        const tb_wait *w = &run->waits.wait[i];
        if (!w->known) {
            fprintf(out, "%s\"%s\": {\"transfers\": %" PRIu64 ", \"last\": %" PRIu64 "}", comma, w->name, w->transfers,
                    w->last);
            comma = ", ";
        }
    }
    fputs("}\n", out);
}
