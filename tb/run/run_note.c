/* run_note.c - failures: the first one is kept. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "run_priv.h"

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

void run_note_rules(tb_run *run) {
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

bool run_shared(const tb_run *run, unsigned port) {
    bool seen = false;
    for (unsigned i = 0; i < port; i++) {
        seen = seen || run->port[i]->cfg.mem == run->port[port]->cfg.mem;
    }
    return seen;
}

void run_note_memory(tb_run *run) {
    for (unsigned i = 0; i < run->ports; i++) {
        const tb_run_port *p = run->port[i];
        const tb_ddr *mem = p->cfg.mem;
        if (mem != NULL && mem->events > 0 && !run_shared(run, i) && !noted(run)) {
            note_access(run, p);
        }
        if (p->cfg.shadow != NULL && p->master.wrong != NULL) {
            char signature[96];
            snprintf(signature, sizeof signature, "shadow:%s:%s", p->master.wrong, p->cfg.name);
            tb_run_wrong(run, signature, "%s", p->master.text);
        }
        if ((mem != NULL && mem->oom) || p->mon.oom || (p->cfg.shadow != NULL && p->cfg.shadow->mem.oom)) {
            tb_run_fail(run, "host:memory", "%s: out of memory", p->cfg.name);
        }
    }
}

static void note_wrong(tb_run *run, const char *wrong, const char *name, const char *text) {
    char signature[96];
    if (wrong[0] != '\0' && !noted(run)) {
        snprintf(signature, sizeof signature, "%s:%.30s", wrong, name);
        tb_run_wrong(run, signature, "%s", text);
    }
}

void run_note_streams(tb_run *run) {
    for (unsigned i = 0; i < run->streams && !noted(run); i++) {
        const tb_stream *s = run->stream[i];
        note_wrong(run, s->wrong, s->cfg.name, s->text);
        if (s->board.oom) {
            tb_run_fail(run, "host:memory", "%s: out of memory, or more than %u keys", s->cfg.name, TB_BOARD_KEYS);
        }
    }
    for (unsigned i = 0; i < run->fairs; i++) {
        note_wrong(run, run->fair[i]->wrong, run->fair[i]->cfg.name, run->fair[i]->text);
    }
    for (unsigned i = 0; i < run->apbs; i++) {
        note_wrong(run, run->apb[i]->wrong, run->apb[i]->cfg.name, run->apb[i]->text);
    }
}

/* A unit differs from its golden function. */
void run_note_check(tb_run *run) {
    char text[480], signature[96];
    const tb_check_failure *f = &run->checks.failure[0];
    if (noted(run)) {
        return;
    }
    snprintf(signature, sizeof signature, "unit:%s:%s", f->check->ops->unit, f->stream);
    tb_check_text(f, text, sizeof text);
    tb_run_wrong(run, signature, "%s", text);
}

void run_note_stop(tb_run *run) {
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
