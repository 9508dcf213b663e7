/* bundle.c - the NPU's part of a report: tasks, their wrong elements, and the origin of these. */
#include "bundle.h"
#include "report/bundle.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *begin(void) {
    return calloc(1, sizeof(npu_bundle));
}

static tb_story *story(void *more) {
    return &((npu_bundle *)more)->ex.story;
}

static void end(void *more) {
    npu_explain_free(&((npu_bundle *)more)->ex);
    free(more);
}

/* ---- the task of the failure ---- */

/* The task with the first wrong element, or the last one that was started before the failure. */
static uint32_t guess_task(const tb_report *r) {
    const npu_bundle *b = npu_bundle_of(r);
    uint32_t task = NPU_EX_NONE;
    for (size_t i = 0; i < b->ex.wrongs; i++) {
        if (b->ex.wrong[i].task != NPU_EX_NONE) {
            return b->ex.wrong[i].task;
        }
    }
    for (size_t i = 0; i < b->ex.tasks && b->ex.task[i].cycle <= r->cycle; i++) {
        task = (uint32_t)i;
    }
    return task;
}

/* The last write of the first wrong element, which was wrong before the compare point. */
static void find_culprit(tb_report *r) {
    const npu_bundle *b = npu_bundle_of(r);
    const npu_ex_wrong *w = NULL;
    for (size_t i = 0; i < b->ex.wrongs && w == NULL; i++) {
        w = b->ex.wrong[i].missing ? NULL : &b->ex.wrong[i];
    }
    for (unsigned p = 1; p < r->story->ports && w != NULL; p++) {
        const tb_axi_log *log = &r->story->port[p].log;
        for (uint64_t i = tb_axi_log_first(log); i < log->count; i++) {
            const tb_axi_burst *burst = tb_axi_log_get(log, i);
            if (burst->write && burst->has_addr && burst->first != TB_AXI_LOG_NEVER && w->addr >= burst->addr &&
                w->addr - burst->addr < tb_axi_burst_bytes(log, burst) &&
                (r->culprit == NULL || burst->first > r->culprit->first)) {
                r->culprit = burst;
                r->culprit_port = p;
            }
        }
    }
}

static void judge(tb_report *r) {
    npu_bundle *b = (npu_bundle *)r->more;
    if (r->check == NULL && strncmp(r->first->failure.signature, "mem:differ", 10) == 0) {
        find_culprit(r);
        r->look = r->culprit != NULL ? r->culprit->first : r->cycle;
    }
    b->task = r->check != NULL ? npu_explain_task_of(&b->ex, r->check) : NPU_EX_NONE;
    b->task = b->task == NPU_EX_NONE ? guess_task(r) : b->task;
}

/* ---- lines ---- */

static void where(const tb_report *r, unsigned port, const tb_axi_burst *burst, char *dst, size_t size) {
    char scratch[16];
    if (r->story->port[port].registers) {
        snprintf(dst, size, "%s, 0x%08x", npu_explain_reg((uint32_t)burst->addr, scratch, sizeof scratch),
                 (uint32_t)burst->data);
    } else {
        npu_explain_where(&npu_bundle_of(r)->ex, burst->addr, dst, size);
    }
}

void bundle_task_name(const tb_report *r, uint32_t task, char *dst, size_t size) {
    const npu_bundle *b = npu_bundle_of(r);
    if (task >= b->ex.tasks) {
        snprintf(dst, size, "no task");
        return;
    }
    const npu_ex_task *t = &b->ex.task[task];
    if (t->refused) {
        snprintf(dst, size, "%s task (refused)", npu_explain_unit(t->unit));
    } else {
        snprintf(dst, size, "%s task %u", npu_explain_unit(t->unit), t->number);
    }
}

void bundle_extent_line(const tb_report *r, uint32_t task, char *dst, size_t size) {
    const npu_bundle *b = npu_bundle_of(r);
    static const char *const axis[3] = {"channel", "row", "column"};
    const npu_ex_task *t = &b->ex.task[task];
    uint32_t low[3] = {UINT32_MAX, UINT32_MAX, UINT32_MAX}, high[3] = {0};
    for (size_t i = 0; i < b->ex.wrongs; i++) {
        const npu_ex_wrong *w = &b->ex.wrong[i];
        for (unsigned d = 0; w->task == task && d < 3; d++) {
            low[d] = w->at[d] < low[d] ? w->at[d] : low[d];
            high[d] = w->at[d] > high[d] ? w->at[d] : high[d];
        }
    }
    const uint64_t total = (uint64_t)t->out.size[0] * t->out.size[1] * t->out.size[2];
    int n = snprintf(dst, size, "%" PRIu64 " of %" PRIu64 " elements wrong", t->wrong, total);
    if (t->missing > 0 && n > 0 && (size_t)n < size) {
        n += snprintf(dst + n, size - (size_t)n, ", %" PRIu64 " not written", t->missing);
    }
    for (unsigned d = 0; d < 3 && n > 0 && (size_t)n < size && low[d] <= high[d]; d++) {
        if (low[d] == high[d]) {
            n += snprintf(dst + n, size - (size_t)n, "%s %s %u", d == 0 ? ":" : ",", axis[d], low[d]);
        } else {
            n += snprintf(dst + n, size - (size_t)n, "%s %ss %u..%u", d == 0 ? ":" : ",", axis[d], low[d], high[d]);
        }
    }
}

void bundle_wrong_values(const tb_report *r, const npu_ex_wrong *w, char *got, char *expected, size_t size) {
    const npu_bundle *b = npu_bundle_of(r);
    const npu_elem_type type = w->task != NPU_EX_NONE ? b->ex.task[w->task].out.type : NPU_ELEM_I8;
    if (w->missing) {
        snprintf(got, size, "not written");
    } else {
        npu_explain_value(type, w->got, got, size);
    }
    if (w->by_model) {
        npu_explain_value(type, w->expected, expected, size);
    } else {
        snprintf(expected, size, "not written");
    }
}

void bundle_wrong_line(const tb_report *r, const npu_ex_wrong *w, char *dst, size_t size) {
    const npu_bundle *b = npu_bundle_of(r);
    char got[40], expected[40], where[64], name[48];
    bundle_wrong_values(r, w, got, expected, sizeof got);
    if (w->task != NPU_EX_NONE) {
        bundle_task_name(r, w->task, name, sizeof name);
        snprintf(dst, size, "%s, c %u, h %u, w %u, 0x%08" PRIx64 ": got %s, expected %s", name, w->at[0], w->at[1],
                 w->at[2], w->addr, got, expected);
    } else {
        npu_explain_where(&b->ex, w->addr, where, sizeof where);
        snprintf(dst, size, "of no task, 0x%08" PRIx64 " (%s): got %s, expected %s", w->addr, where, got, expected);
    }
}

const tb_report_ops cli_report = {
    .begin = begin,
    .story = story,
    .end = end,
    .judge = judge,
    .where = where,
    .html = bundle_html,
    .text = bundle_text,
    .style = bundle_style,
    .file = {{REP_BUNDLE_REGISTERS, bundle_registers_txt}, {REP_BUNDLE_WRONG, bundle_wrong_txt}},
};
