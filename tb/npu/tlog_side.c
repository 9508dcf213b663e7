/* tlog_side.c - the tasks of one side: begun, complete, and written in the order of their starts. */
#include "tlog_npu.h"

#include <stdlib.h>
#include <string.h>

static const char *const unit_names[UNITS] = {[UNIT_ALU] = "alu", [UNIT_POOL] = "pool", [UNIT_GEMM] = "gemm"};

static void write_task(npu_tlog_side *s, const npu_tlog_task *t) {
    for (unsigned i = 0; i < NPU_TLOG_SLOTS; i++) {
        const npu_tlog_tensor *x = &t->tensor[i];
        if (x->stream == NULL || x->stale || (!x->memory && !s->inner)) {
            s->stale += x->stale;
            continue;
        }
        tb_tlog_entry e = {
            .stream = x->stream, .task = t->number, .unit = unit_names[t->unit], .type = x->type, .axes = x->axes};
        memcpy(e.axis, x->axis, sizeof e.axis);
        memcpy(e.size, x->size, sizeof e.size);
        tb_tlog_tensor(s->log, &e, x->data); /* the log keeps the error */
    }
}

static void flush(npu_tlog_side *s) {
    size_t gone = 0;
    while (gone < s->count && s->queue[gone]->done) {
        write_task(s, s->queue[gone]);
        npu_tlog_task_free(s->queue[gone++]);
    }
    if (gone > 0) {
        s->count -= gone;
        memmove(s->queue, s->queue + gone, s->count * sizeof(npu_tlog_task *));
    }
}

npu_tlog_task *npu_tlog_find(const npu_tlog_side *s, unsigned unit, uint64_t number) {
    for (size_t i = 0; i < s->count; i++) {
        if (s->queue[i]->unit == unit && s->queue[i]->number == number) {
            return s->queue[i];
        }
    }
    return NULL;
}

/* Mark tensors as stale that task number `from` of the queue, or a later one, may have overwritten. */
static void mark_stale(const npu_tlog_side *s, npu_tlog_tensor *x, size_t from) {
    for (size_t k = from; k < s->count; k++) {
        x->stale = x->stale || npu_tlog_touch(x, &s->queue[k]->tensor[NPU_TLOG_OUT]);
    }
}

/* Inputs of tasks that may have begun. */
static void begin(npu_tlog_side *s, unsigned unit, bool exact) {
    for (size_t i = 0; i < s->count; i++) {
        npu_tlog_task *t = s->queue[i];
        if (t->unit != unit || t->begun || s->done[unit] < t->after) {
            continue;
        }
        npu_tlog_read_inputs(t, s->mem);
        for (unsigned k = 0; !exact && k < NPU_TLOG_OUT; k++) {
            mark_stale(s, &t->tensor[k], i);
        }
    }
}

void npu_tlog_started(npu_tlog_side *s, unsigned unit, const npu_score_task *task) {
    npu_tlog_task *t = npu_tlog_task_new(unit, task, s->n);
    if (t != NULL && s->count == s->cap) {
        const size_t cap = s->cap == 0 ? 16 : 2 * s->cap;
        npu_tlog_task **queue = (npu_tlog_task **)realloc(s->queue, cap * sizeof *queue);
        if (queue == NULL) {
            npu_tlog_task_free(t);
            t = NULL;
        } else {
            s->queue = queue;
            s->cap = cap;
        }
    }
    const uint64_t number = s->started[unit]++;
    if (unit != UNIT_GEMM || task->gemm.fence) {
        s->fenced = unit == UNIT_GEMM ? number : s->fenced;
    }
    if (t == NULL) {
        s->oom = true;
        return;
    }
    t->number = number;
    t->after = unit == UNIT_GEMM ? s->fenced : number;
    s->queue[s->count++] = t;
    begin(s, unit, true); /* inputs of a task that begins now are read in time */
}

void npu_tlog_completed(npu_tlog_side *s, unsigned unit, bool exact) {
    if (s->done[unit] == s->started[unit]) {
        return;
    }
    const uint64_t number = s->done[unit]++;
    for (size_t i = 0; i < s->count; i++) {
        npu_tlog_task *t = s->queue[i];
        if (t->unit == unit && t->number == number) {
            npu_tlog_read_output(t, s->mem);
            if (!exact) {
                mark_stale(s, &t->tensor[NPU_TLOG_OUT], i + 1);
            }
            t->done = true;
        }
    }
    begin(s, unit, exact);
    flush(s);
}

void npu_tlog_dropped(npu_tlog_side *s, unsigned unit) {
    while (s->done[unit] < s->started[unit]) {
        npu_tlog_completed(s, unit, true);
    }
    s->base[unit] = s->started[unit];
    s->fenced = unit == UNIT_GEMM ? s->started[unit] : s->fenced;
}
