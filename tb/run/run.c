#include "run.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../case/hash.h"
#include "story.h"
#include "opt/opt.h"

#define IDLE_CYCLES 32u /* enough for errors to show after the last response */
#define WATCH_MASK 63u  /* period of the watchdogs */
#define MOVE_MASK 7u    /* how often outputs are held against those after reset, until they differ */
#define SETTLE_LIMIT 64u

__attribute__((format(printf, 4, 0))) static void note(const tb_run *run, tb_run_failure *f, const char *signature,
                                                       const char *format, va_list args) {
    vsnprintf(f->message, sizeof f->message, format, args);
    snprintf(f->signature, sizeof f->signature, "%s", signature);
    f->cycle = run->sim.cycle;
}

void tb_run_fail(tb_run *run, const char *signature, const char *format, ...) {
    va_list args;
    if (!tb_run_failed(run)) {
        va_start(args, format);
        note(run, &run->failure, signature, format, args);
        va_end(args);
    }
}

/* Is there a failure, of either kind? */
static bool noted(const tb_run *run) {
    return tb_run_failed(run) || run->first.signature[0] != '\0';
}

void tb_run_wrong(tb_run *run, const char *signature, const char *format, ...) {
    va_list args;
    if (!noted(run)) {
        va_start(args, format);
        note(run, run->cfg.go_on != 0 ? &run->first : &run->failure, signature, format, args);
        va_end(args);
    }
}

/* ---- violations; kept out of the cycle's hot path ---- */

static void note_rules(tb_run *run) {
    char text[320], signature[96];
    for (unsigned i = 0; i < run->ports && !noted(run); i++) {
        const tb_run_port *p = run->port[i];
        if (p->mon.violations > 0) {
            tb_axi_violation_text(&p->mon, &p->mon.first[0], text, sizeof text);
            snprintf(signature, sizeof signature, "axi:%s:%s", tb_axi_rule_name(p->mon.first[0].rule), p->cfg.name);
            tb_run_wrong(run, signature, "%s", text);
        }
    }
}

static void note_access(tb_run *run, const tb_run_port *p) {
    static const char *const signature[] = {[TB_DDR_WRITE_OUTSIDE] = "mem:write-outside",
                                            [TB_DDR_READ_UNWRITTEN] = "mem:read-unwritten",
                                            [TB_DDR_READ_OUTSIDE] = "mem:read-outside"};
    const tb_ddr_event *e = &p->cfg.mem->first;
    const tb_run_hooks *h = &run->cfg.hooks;
    const bool write = e->kind == TB_DDR_WRITE_OUTSIDE;
    char where[160] = "";
    if (h->on_access != NULL && h->on_access(h->ctx, e)) {
        return;
    }
    if (run->live != NULL) {
        const tb_near n = tb_buffers_near(run->live, e->addr, write ? TB_DDR_WRITE : TB_DDR_READ, NULL);
        tb_buffers_place(run->live, &n, where, sizeof where);
    }
    tb_run_wrong(run, signature[e->kind], "%s: the design %s 0x%08" PRIx64 "%s%s%s", p->cfg.name,
                 write ? "wrote" : "read", e->addr,
                 e->kind == TB_DDR_READ_UNWRITTEN ? ", which was never written" : ", which it may not",
                 where[0] != '\0' ? ": " : "", where);
}

/* Has a port before this one the same memory? */
static bool shared(const tb_run *run, unsigned port) {
    bool seen = false;
    for (unsigned i = 0; i < port; i++) {
        seen = seen || run->port[i]->cfg.mem == run->port[port]->cfg.mem;
    }
    return seen;
}

static void note_memory(tb_run *run) {
    for (unsigned i = 0; i < run->ports; i++) {
        const tb_run_port *p = run->port[i];
        const tb_ddr *mem = p->cfg.mem;
        if (mem != NULL && mem->events > 0 && !shared(run, i) && !noted(run)) {
            note_access(run, p);
        }
        if ((mem != NULL && mem->oom) || p->mon.oom) {
            tb_run_fail(run, "host:memory", "%s: out of memory", p->cfg.name);
        }
    }
}

/* A unit differs from its golden function. */
static void note_check(tb_run *run) {
    char text[480], signature[96];
    const tb_check_failure *f = &run->checks.failure[0];
    if (noted(run)) {
        return;
    }
    snprintf(signature, sizeof signature, "unit:%s:%s", f->check->ops->unit, f->stream);
    tb_check_text(f, text, sizeof text);
    tb_run_wrong(run, signature, "%s", text);
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

/* ---- time ---- */

static inline bool checks_look(const tb_run *run) {
    return run->checks.count > 0 && !run->cfg.no_checks;
}

/* Cycles of a port's clock. */
static inline uint64_t own_cycle(const tb_run *run, const tb_run_port *p) {
    return run->sim.schedule.count == 0 ? run->sim.cycle : run->sim.schedule.cycles[p->cfg.clock];
}

/* Does the coming edge belong to a port? */
static inline bool rises(const tb_run *run, const tb_run_port *p) {
    return (run->sim.rising >> p->cfg.clock & 1u) != 0;
}

void tb_run_drive(tb_run *run) {
    for (unsigned i = 0; i < run->ports; i++) {
        tb_run_port *p = run->port[i];
        if ((run->driven >> i & 1u) != 0) {
            continue;
        }
        if (p->cfg.mem != NULL) {
            tb_axi_slave_drive(&p->slave, own_cycle(run, p));
        } else {
            tb_lite_drive(&p->lite);
        }
    }
    run->driven = UINT32_MAX;
}

/* The bench answers what it sees, until nothing changes any more. */
static void settle_more(tb_run *run) {
    const tb_run_hooks *h = &run->cfg.hooks;
    for (unsigned i = 0; !run->sim.stopped && h->on_settle(h->ctx); i++) {
        if (i == SETTLE_LIMIT) {
            tb_run_fail(run, "bench:settle",
                        "inputs still change after the bench has answered %u times in a cycle: a combinational loop",
                        i);
            return;
        }
        tb_sim_settle(&run->sim);
    }
}

void tb_run_settle(tb_run *run) {
    tb_run_drive(run);
    tb_sim_settle(&run->sim);
    if (run->cfg.hooks.on_settle != NULL) {
        settle_more(run);
    }
}

void tb_run_look(tb_run *run) {
    const uint64_t cycle = run->sim.cycle;
    uint64_t violations = 0;
    bool memory = false;
    tb_run_settle(run);
    for (unsigned i = 0; i < run->ports; i++) {
        tb_run_port *p = run->port[i];
        if (!rises(run, p)) {
            continue;
        }
        tb_axi_mon_port(&p->mon, &p->axi, cycle);
        if (p->cfg.mem != NULL) {
            tb_axi_slave_sample(&p->slave);
            memory = memory || p->cfg.mem->events > 0 || p->cfg.mem->oom;
        } else {
            tb_lite_sample(&p->lite);
        }
        violations += p->mon.violations;
        memory = memory || p->mon.oom;
    }
    if (checks_look(run) && !tb_checks_cycle(&run->checks)) {
        note_check(run);
    }
    tb_waits_look(&run->waits, cycle);
    if (run->story != NULL) {
        tb_story_sample(run);
    }
    if (run->cfg.hooks.sample != NULL) {
        run->cfg.hooks.sample(run->cfg.hooks.ctx);
    }
    if (violations > 0) {
        note_rules(run);
    }
    if (memory) {
        note_memory(run);
    }
}

/* The ports whose clocks do not rise keep what they have driven. */
static uint32_t driven_before(const tb_run *run, uint32_t rising) {
    uint32_t mask = 0;
    for (unsigned i = 0; i < run->ports; i++) {
        mask |= (rising >> run->port[i]->cfg.clock & 1u) == 0 ? 1u << i : 0;
    }
    return mask;
}

static inline bool edge(tb_run *run) {
    const uint32_t rising = run->sim.rising;
    const bool go = tb_sim_edge(&run->sim);
    uint32_t irq = 0;
    run->driven = run->sim.schedule.count == 0 ? 0 : driven_before(run, rising);
    for (unsigned i = 0; i < run->pins; i++) {
        irq |= (uint32_t)(*run->pin[i] & 1u) << i;
    }
    run->irq_rose |= irq & ~run->irq;
    run->irq = irq;
    if (!go) {
        note_stop(run);
    }
    return go;
}

/*
 * Does the design do anything? What its outputs are some cycles after reset is held against what they are later: a
 * reset of the other polarity may show at first.
 */
static void look_for_moves(tb_run *run, uint64_t cycle) {
    const uint64_t outputs = tb_sim_outputs(&run->sim);
    if (cycle < run->reset_end + 2 * MOVE_MASK) {
        run->still = outputs;
    } else {
        run->moved = outputs != run->still;
    }
}

static bool step(void *ctx) {
    tb_run *run = (tb_run *)ctx;
    const uint64_t cycle = run->sim.cycle;
    const uint32_t rising = run->sim.rising;
    tb_run_look(run);
    if (edge(run) && !tb_run_failed(run)) {
        if (run->cfg.hooks.on_edge != NULL) {
            run->cfg.hooks.on_edge(run->cfg.hooks.ctx, rising);
        }
        if (!run->moved && (cycle & MOVE_MASK) == 0) {
            look_for_moves(run, cycle);
        }
        if ((cycle & WATCH_MASK) == 0 && (run->memories > 0 || run->progress > 0)) {
            tb_run_watch(run, cycle);
        }
        if (run->cfg.max_cycles != 0 && cycle >= run->cfg.max_cycles) {
            tb_run_fail(run, "host:cycles", "stopped after the %" PRIu64 " cycles that it may take", cycle);
        }
        if (run->first.signature[0] != '\0' && run->sim.cycle > run->first.cycle + run->cfg.go_on) {
            tb_run_fail(run, "explain:limit", "stopped %" PRIu64 " cycles after the first failure", run->cfg.go_on);
        }
    }
    return !tb_run_failed(run);
}

/* A cycle in reset; the monitors are not called. */
static bool reset_step(void *ctx) {
    tb_run *run = (tb_run *)ctx;
    tb_sim_settle(&run->sim);
    if (run->looks_in_reset && checks_look(run) && !tb_checks_cycle(&run->checks)) {
        note_check(run);
    }
    edge(run);
    return !tb_run_failed(run);
}

/* A cycle, or, in a woken snapshot, a cycle of its waveform. */
static bool advance(tb_run *run, tb_step_fn *cycle) {
    return tb_replay_poll(&run->replay, &run->sim) ? tb_replay_step(&run->replay, &run->sim, cycle, run) : cycle(run);
}

bool tb_run_step(void *ctx) {
    tb_run *run = (tb_run *)ctx;
    if ((run->gone || tb_run_failed(run)) && !run->replay.on) {
        return false;
    }
    return advance(run, step);
}

bool tb_run_cycle(void *ctx) {
    tb_run *run = (tb_run *)ctx;
    const uint32_t rising = run->sim.rising;
    tb_run_look(run);
    const bool go = edge(run);
    if (go && run->cfg.hooks.on_edge != NULL) {
        run->cfg.hooks.on_edge(run->cfg.hooks.ctx, rising);
    }
    return go;
}

/* Has every clock had its edges in reset? `from`: its edges when the reset began. */
static bool reset_done(const tb_run *run, const tb_schedule *from, unsigned edges) {
    bool done = edges >= run->cfg.reset_cycles;
    for (unsigned i = 0; i < run->sim.schedule.count; i++) {
        done = done && run->sim.schedule.cycles[i] - from->cycles[i] >= run->cfg.reset_cycles;
    }
    return done;
}

void tb_run_reset(tb_run *run) {
    run->looks_in_reset = run->sim.cycle > 0;
    if (!run->looks_in_reset && run->cfg.story != NULL) {
        tb_story_begin(run->cfg.story, run);
    }
    for (unsigned i = 0; i < run->ports; i++) {
        tb_run_port *p = run->port[i];
        if (p->cfg.mem != NULL) {
            tb_axi_slave_reset(&p->slave);
        } else {
            tb_lite_reset(&p->lite);
        }
    }
    /* an asynchronous reset of a running design makes every valid low before the next edge */
    tb_sim_assert_reset(&run->sim);
    for (unsigned i = 0; i < run->ports && !run->sim.stopped && run->looks_in_reset; i++) {
        tb_axi_sample s;
        tb_axi_sample_port(&run->port[i]->axi, run->sim.cycle, false, &s);
        tb_axi_mon_step(&run->port[i]->mon, &s);
    }
    const bool has_reset = tb_sim_has_reset(&run->sim);
    const tb_schedule from = run->sim.schedule;
    for (unsigned i = 0; has_reset && !reset_done(run, &from, i) && !run->sim.stopped; i++) {
        advance(run, reset_step);
    }
    run->moved = !has_reset;
    run->reset_end = run->sim.cycle;
    tb_sim_release_reset(&run->sim);
    for (unsigned i = 0; i < run->ports; i++) {
        tb_axi_mon_reset(&run->port[i]->mon);
    }
    run->irq = 0;
    run->driven = 0;
    tb_run_kick(run);
}

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

bool tb_run_write_part(tb_run *run, unsigned port, uint64_t addr, uint32_t value, uint8_t strb) {
    const tb_run_hooks *h = &run->cfg.hooks;
    if (h->polls == NULL || !h->polls(h->ctx, addr)) {
        tb_watchdog_kick(&run->wd_memory, run->sim.cycle);
    }
    tb_watchdog_kick(&run->wd, run->sim.cycle);
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

uint64_t tb_run_handshakes(const tb_run *run, bool memory) {
    uint64_t sum = run->progress;
    for (unsigned i = 0; i < run->ports; i++) {
        sum += !memory || run->port[i]->cfg.mem != NULL ? run->port[i]->mon.progress : 0;
    }
    return sum;
}

void tb_run_kick(tb_run *run) {
    tb_watchdog_kick(&run->wd, run->sim.cycle);
    tb_watchdog_kick(&run->wd_memory, run->sim.cycle);
}

/* ---- the end ---- */

bool tb_run_idle(tb_run *run, const char *when) {
    for (unsigned i = 0; i < run->ports; i++) {
        uint32_t reads, writes;
        char signature[96];
        tb_axi_mon_open(&run->port[i]->mon, &reads, &writes);
        if (reads + writes != 0) {
            snprintf(signature, sizeof signature, "axi:outstanding:%s", run->port[i]->cfg.name);
            tb_run_fail(run, signature, "%s: %u reads and %u writes are in flight although %s", run->port[i]->cfg.name,
                        reads, writes, when);
        }
    }
    return !tb_run_failed(run);
}

bool tb_run_finish(tb_run *run) {
    for (unsigned i = 0; i < IDLE_CYCLES && tb_run_step(run); i++) {
    }
    return tb_run_end(run);
}

bool tb_run_end(tb_run *run) {
    if (checks_look(run) && !tb_run_failed(run) && !tb_checks_finish(&run->checks)) {
        note_check(run);
    }
    for (unsigned i = 0; i < run->ports && !tb_run_failed(run); i++) {
        tb_axi_mon_finish(&run->port[i]->mon, run->sim.cycle);
    }
    note_rules(run);
    note_memory(run);
    tb_story_end(run);
    return !tb_run_failed(run);
}

/*
 * A woken snapshot whose test ends early continues: the buses complete what is in flight, nothing new is started.
 */
static void replay_out(tb_run *run) {
    while (run->replay.on) {
        tb_run_step(run);
    }
}

int tb_run_fail_wave(tb_run *run, char *err, size_t err_size) {
    if (run->cfg.fail_wave == NULL) {
        return opt_fail(err, err_size, "no file was named for it");
    }
    replay_out(run); /* a snapshot whose test failed between two cycles gets here like its parent */
    const uint64_t at = tb_run_failed(run) ? run->failure.cycle : run->sim.cycle;
    return tb_replay_write(&run->replay, run->cfg.fail_wave, at, run->cfg.wave_window, err, err_size);
}

uint64_t tb_run_hash(const tb_run *run) {
    uint64_t hash = run->hash;
    for (unsigned i = 0; i < run->ports; i++) {
        const tb_ddr *mem = run->port[i]->cfg.mem;
        hash = mem != NULL && !shared(run, i) ? tb_ddr_hash(mem, hash) : hash;
    }
    return tb_hash_final(hash);
}

void tb_run_close(tb_run *run) {
    replay_out(run);
    tb_replay_stop(&run->replay);
    for (unsigned i = 0; i < run->ports; i++) {
        tb_axi_mon_free(&run->port[i]->mon);
        tb_axi_slave_free(&run->port[i]->slave);
        free(run->port[i]);
    }
    run->ports = 0;
    tb_checks_close(&run->checks);
    tb_sim_close(&run->sim);
    free(run->hang_text);
    run->hang_text = NULL;
}
