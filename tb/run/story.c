#include "story.h"

#include <stdio.h>
#include <string.h>

#define LOG_BURSTS 4096u
#define LIMIT 500000u

bool tb_story_begin(tb_story *story, tb_run *run) {
    if (story->first.signature[0] != '\0') {
        return false;
    }
    const uint64_t limit = story->limit != 0 ? story->limit : LIMIT;
    tb_story_free(story);
    *story = (tb_story){.limit = limit, .has_rtl = true, .ports = run->ports};
    for (unsigned i = 0; i < run->ports; i++) {
        const tb_run_port *p = run->port[i];
        story->port[i].prefix = p->cfg.prefix;
        story->port[i].registers = p->cfg.mem == NULL && p->cfg.shadow == NULL;
        story->oom = tb_axi_log_init(&story->port[i].log, p->cfg.name, p->axi.bytes, LOG_BURSTS) != 0 || story->oom;
    }
    run->cfg.go_on = limit;
    run->story = story;
    return true;
}

void tb_story_sample(tb_run *run) {
    for (unsigned i = 0; i < run->story->ports; i++) {
        const tb_axi_port *p = &run->port[i]->axi;
        tb_axi_log *log = &run->story->port[i].log;
        tb_axi_sample s;
        if (log->ring != NULL && (*p->aw.valid | *p->w_valid | *p->b_valid | *p->ar.valid | *p->r_valid) != 0) {
            tb_axi_sample_port(p, run->sim.cycle, true, &s);
            tb_axi_log_step(log, &s);
        }
    }
}

static void copy_check(tb_story_check *c, const tb_check_failure *f) {
    *c = (tb_story_check){.index = f->check->index,
                          .cycle = f->cycle,
                          .task = f->task,
                          .transaction = f->transaction,
                          .input_right = f->input_right};
    snprintf(c->unit, sizeof c->unit, "%s", f->check->ops->unit);
    snprintf(c->path, sizeof c->path, "%s", f->check->tap->path);
    snprintf(c->stream, sizeof c->stream, "%s", f->stream);
    snprintf(c->where, sizeof c->where, "%s", f->where);
    snprintf(c->got, sizeof c->got, "%s", f->got);
    snprintf(c->expected, sizeof c->expected, "%s", f->expected);
}

static void copy_rules(const tb_run *run, tb_story *story) {
    for (unsigned p = 0; p < run->ports; p++) {
        const tb_axi_monitor *m = &run->port[p]->mon;
        for (uint64_t i = 0; i < m->violations && i < TB_AXI_KEEP; i++, story->rules++) {
            if (story->rules < sizeof story->rule / sizeof story->rule[0]) {
                tb_axi_violation_text(m, &m->first[i], story->rule[story->rules], sizeof story->rule[0]);
            }
        }
        story->rules += m->violations > TB_AXI_KEEP ? m->violations - TB_AXI_KEEP : 0;
    }
}

void tb_story_end(tb_run *run) {
    tb_story *story = run->story;
    if (story == NULL) {
        return;
    }
    run->story = NULL;
    story->cycles = run->sim.cycle;
    story->schedule = run->sim.schedule;
    story->has_checks = run->checks.count > 0;
    story->no_checks = run->cfg.no_checks;
    story->checks = run->checks.failures;
    for (size_t i = 0; i < story->checks; i++) {
        copy_check(&story->check[i], &run->checks.failure[i]);
    }
    copy_rules(run, story);
    story->last = run->failure;
    story->first = run->first;
    if (tb_run_failed(run) &&
        (story->first.signature[0] == '\0' || strcmp(story->first.signature, run->failure.signature) == 0)) {
        story->first = run->failure;
    }
    if (!tb_run_failed(run) && story->first.signature[0] != '\0') {
        run->failure = story->first;
    }
}

void tb_story_free(tb_story *story) {
    for (unsigned i = 0; i < TB_RUN_PORTS; i++) {
        tb_axi_log_free(&story->port[i].log);
    }
    *story = (tb_story){0};
}
