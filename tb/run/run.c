#include "run.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../case/hash.h"
#include "run_priv.h"
#include "story.h"
#include "opt/opt.h"

#define IDLE_CYCLES 32u /* enough for errors to show after the last response */
#define WATCH_MASK 63u  /* period of the watchdogs */
#define MOVE_MASK 7u    /* how often outputs are compared with those after reset, until they differ */
#define SETTLE_LIMIT 64u

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
        } else if (p->cfg.shadow != NULL) {
            tb_axi_master_drive(&p->master, own_cycle(run, p));
        } else {
            tb_lite_drive(&p->lite);
        }
    }
    for (unsigned i = 0; i < run->streams; i++) {
        tb_stream_drive(run->stream[i], run->sim.cycle);
    }
    for (unsigned i = 0; i < run->apbs; i++) {
        tb_apb_drive(run->apb[i], run->sim.cycle);
    }
    for (unsigned i = 0; i < run->fairs; i++) {
        tb_fair_drive(run->fair[i]);
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

/* Streams (those into the design first: a byte may come out in the cycle in which it goes in), then APB, arbiters. */
static void look_at_streams(tb_run *run) {
    for (unsigned i = 0; i < 2 * run->streams; i++) {
        tb_stream *s = run->stream[i % run->streams];
        if (s->cfg.source == (i >= run->streams) && (run->sim.rising >> s->cfg.clock & 1u) != 0) {
            tb_stream_sample(s, run->sim.cycle, &run->hash);
        }
    }
    for (unsigned i = 0; i < run->apbs; i++) {
        if ((run->sim.rising >> run->apb[i]->cfg.clock & 1u) != 0) {
            tb_apb_sample(run->apb[i], run->sim.cycle, &run->hash);
        }
    }
    for (unsigned i = 0; i < run->fairs; i++) {
        if ((run->sim.rising >> run->fair[i]->cfg.clock & 1u) != 0) {
            tb_fair_sample(run->fair[i], run->sim.cycle);
        }
    }
    run_note_streams(run);
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
        } else if (p->cfg.shadow != NULL) {
            tb_axi_master_sample(&p->master);
            memory = memory || p->master.wrong != NULL || p->cfg.shadow->mem.oom;
        } else {
            tb_lite_sample(&p->lite);
        }
        violations += p->mon.violations;
        memory = memory || p->mon.oom;
    }
    if (run->streams + run->apbs + run->fairs > 0) {
        look_at_streams(run);
    }
    if (checks_look(run) && !tb_checks_cycle(&run->checks)) {
        run_note_check(run);
    }
    tb_waits_look(&run->waits, cycle);
    if (run->story != NULL) {
        tb_story_sample(run);
    }
    if (run->cfg.hooks.sample != NULL) {
        run->cfg.hooks.sample(run->cfg.hooks.ctx);
    }
    if (violations > 0) {
        run_note_rules(run);
    }
    if (memory) {
        run_note_memory(run);
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

/* Interrupts that have changed. */
static void count_pins(tb_run *run, uint32_t irq) {
    for (unsigned i = 0; i < run->pins; i++) {
        run->pin_rises[i] += (irq & ~run->irq) >> i & 1u;
        run->pin_falls[i] += (run->irq & ~irq) >> i & 1u;
    }
}

static inline bool edge(tb_run *run) {
    const uint32_t rising = run->sim.rising;
    const bool go = tb_sim_edge(&run->sim);
    uint32_t irq = 0;
    run->driven = run->sim.schedule.count == 0 ? 0 : driven_before(run, rising);
    for (unsigned i = 0; i < run->streams; i++) {
        run->stream[i]->driven = run->stream[i]->driven && (rising >> run->stream[i]->cfg.clock & 1u) == 0;
    }
    for (unsigned i = 0; i < run->apbs; i++) {
        run->apb[i]->driven = run->apb[i]->driven && (rising >> run->apb[i]->cfg.clock & 1u) == 0;
    }
    for (unsigned i = 0; i < run->fairs; i++) {
        run->fair[i]->driven = run->fair[i]->driven && (rising >> run->fair[i]->cfg.clock & 1u) == 0;
    }
    for (unsigned i = 0; i < run->pins; i++) {
        irq |= (uint32_t)(*run->pin[i] & 1u) << i;
    }
    if (irq != run->irq) {
        count_pins(run, irq);
    }
    run->irq_rose |= irq & ~run->irq;
    run->irq = irq;
    if (!go) {
        run_note_stop(run);
    }
    return go;
}

/*
 * Does the design do anything? What its outputs are some cycles after reset is compared with what they are later: a
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
        if ((cycle & WATCH_MASK) == 0 &&
            (run->memories + run->masters + run->streams + run->apbs > 0 || run->progress > 0)) {
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
        run_note_check(run);
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
        } else if (p->cfg.shadow != NULL) {
            tb_axi_master_reset(&p->master);
            tb_shadow_clear(p->cfg.shadow);
        } else {
            tb_lite_reset(&p->lite);
        }
    }
    for (unsigned i = 0; i < run->streams; i++) {
        tb_stream_reset(run->stream[i]);
    }
    for (unsigned i = 0; i < run->fairs; i++) {
        tb_fair_reset(run->fair[i]);
    }
    for (unsigned i = 0; i < run->apbs; i++) {
        tb_apb_reset(run->apb[i]);
        if (run->apb[i]->cfg.shadow != NULL) {
            tb_shadow_clear(run->apb[i]->cfg.shadow);
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

uint64_t tb_run_handshakes(const tb_run *run, bool memory) {
    uint64_t sum = run->progress;
    for (unsigned i = 0; i < run->ports; i++) {
        sum += !memory || run->port[i]->cfg.mem != NULL ? run->port[i]->mon.progress : 0;
    }
    for (unsigned i = 0; !memory && i < run->streams; i++) {
        sum += run->stream[i]->transfers;
    }
    for (unsigned i = 0; !memory && i < run->apbs; i++) {
        sum += run->apb[i]->transfers;
    }
    for (unsigned i = 0; !memory && i < run->fairs; i++) {
        sum += run->fair[i]->cfg.drive ? run->fair[i]->grants : 0;
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
        run_note_check(run);
    }
    for (unsigned i = 0; i < run->ports && !tb_run_failed(run); i++) {
        tb_axi_mon_finish(&run->port[i]->mon, run->sim.cycle);
    }
    for (unsigned i = 0; i < run->streams && !tb_run_failed(run); i++) {
        tb_stream_finish(run->stream[i]);
    }
    run_note_rules(run);
    run_note_memory(run);
    run_note_streams(run);
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
        return opt_fail(err, err_size, "no file was named for it (--fail-wave FILE)");
    }
    replay_out(run); /* a snapshot whose test failed between two cycles gets here like its parent */
    const uint64_t at = tb_run_failed(run) ? run->failure.cycle : run->sim.cycle;
    return tb_replay_write(&run->replay, run->cfg.fail_wave, at, run->cfg.wave_window, err, err_size);
}

uint64_t tb_run_hash(const tb_run *run) {
    uint64_t hash = run->hash;
    for (unsigned i = 0; i < run->ports; i++) {
        const tb_ddr *mem = run->port[i]->cfg.mem;
        hash = mem != NULL && !run_shared(run, i) ? tb_ddr_hash(mem, hash) : hash;
    }
    return tb_hash_final(hash);
}

void tb_run_close(tb_run *run) {
    replay_out(run);
    tb_replay_stop(&run->replay);
    for (unsigned i = 0; i < run->ports; i++) {
        tb_axi_mon_free(&run->port[i]->mon);
        tb_axi_slave_free(&run->port[i]->slave);
        tb_axi_master_free(&run->port[i]->master);
        free(run->port[i]);
    }
    for (unsigned i = 0; i < run->streams; i++) {
        tb_stream_close(run->stream[i]);
        free(run->stream[i]);
    }
    for (unsigned i = 0; i < run->apbs; i++) {
        free(run->apb[i]);
    }
    for (unsigned i = 0; i < run->fairs; i++) {
        free(run->fair[i]);
    }
    run->ports = run->streams = run->apbs = run->fairs = 0;
    tb_checks_close(&run->checks);
    tb_sim_close(&run->sim);
    free(run->hang_text);
    run->hang_text = NULL;
}
