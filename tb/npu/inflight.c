#include "inflight.h"

#include <stdlib.h>
#include <string.h>

void npu_inflight_init(npu_inflight *f, tb_ddr *const *mem, unsigned mems) {
    memset(f, 0, sizeof *f);
    tb_buffers_init(&f->buffers, "task", mem, mems);
}

void npu_inflight_free(npu_inflight *f) {
    free(f->next.r);
    free(f->task);
    tb_buffers_free(&f->buffers);
    memset(f, 0, sizeof *f);
}

void npu_inflight_clear(npu_inflight *f) {
    for (size_t i = 0; i < f->tasks; i++) {
        tb_buffers_end(&f->buffers, (uint32_t)i);
    }
    f->tasks = 0;
    f->dropped_to = f->fence_from = 0;
}

void npu_inflight_forget(npu_inflight *f) {
    npu_inflight_clear(f);
    tb_buffers_clear(&f->buffers);
}

void npu_inflight_stop(npu_inflight *f) {
    f->next.count = 0;
    f->dropped_to = f->fence_from = f->tasks;
}

void npu_inflight_stopped(npu_inflight *f) {
    for (size_t i = 0; i < f->dropped_to; i++) {
        tb_buffers_end(&f->buffers, (uint32_t)i);
    }
}

void npu_inflight_output(npu_inflight *f, uint32_t addr, uint32_t bytes) {
    tb_ranges_add(&f->next, 0, addr, bytes);
}

void npu_inflight_declared(npu_inflight *f) {
    f->next.count = tb_ranges_order(f->next.r, f->next.count, NULL);
}

bool npu_inflight_covered(const npu_inflight *f, uint32_t addr, uint32_t bytes, uint64_t *where) {
    if (f->next.count == 0 || bytes == 0) {
        return true;
    }
    const size_t i = tb_ranges_find(f->next.r, f->next.count, addr);
    if (i == f->next.count || f->next.r[i].begin > addr) {
        *where = addr;
        return false;
    }
    *where = f->next.r[i].end;
    return f->next.r[i].end - addr >= bytes;
}

/* May two tasks run at the same time? The ALU and the POOL finish one task before they begin the next. */
static bool together(const npu_inflight *f, size_t earlier, const npu_flight *me) {
    const npu_flight *t = &f->task[earlier];
    return t->unit != me->unit || (me->unit == UNIT_GEMM && earlier >= f->fence_from);
}

/* Tasks before this one are complete or were dropped. */
static size_t first_live(const npu_inflight *f) {
    return f->buffers.live_from > f->dropped_to ? f->buffers.live_from : f->dropped_to;
}

static npu_flight *new_task(npu_inflight *f) {
    if (f->tasks == f->cap) {
        const size_t cap = f->cap == 0 ? 64 : f->cap * 2;
        npu_flight *t = (npu_flight *)realloc(f->task, cap * sizeof *t);
        if (t == NULL) {
            f->oom = true;
            return NULL;
        }
        f->task = t;
        f->cap = cap;
    }
    return &f->task[f->tasks];
}

bool npu_inflight_start(npu_inflight *f, unsigned unit, const uint32_t *regs, uint32_t n, uint32_t seq, uint64_t number,
                        tb_meet *meet) {
    if (f->tasks == 0) {
        tb_buffers_clear(&f->buffers);
    }
    npu_flight *me = new_task(f);
    if (me == NULL) {
        return true;
    }
    *me = (npu_flight){.unit = unit, .seq = seq};
    me->fence = unit == UNIT_GEMM && npu_footprint_fenced(regs);
    me->reduces = unit == UNIT_ALU && npu_footprint_reduces(regs);
    const uint32_t work = tb_buffers_begin(&f->buffers, npu_footprint_names[unit], number);
    npu_footprint(unit, regs, n, &f->buffers);
    tb_buffers_start(&f->buffers);
    f->oom = f->oom || f->next.oom || f->buffers.oom;
    if (me->fence) {
        f->fence_from = f->tasks;
    }
    bool ok = f->oom || !tb_buffers_meet(&f->buffers, work, work, meet);
    for (size_t i = first_live(f); i < f->tasks && ok && !f->oom; i++) {
        ok = !f->buffers.work[i].live || !together(f, i, me) || !tb_buffers_meet(&f->buffers, (uint32_t)i, work, meet);
    }
    f->tasks++;
    return ok;
}

static void end_upto(npu_inflight *f, unsigned unit, bool all, uint32_t count) {
    for (size_t i = first_live(f); i < f->tasks; i++) {
        if (f->task[i].unit == unit && (all || (uint16_t)(count - f->task[i].seq) < 0x8000u)) {
            tb_buffers_end(&f->buffers, (uint32_t)i);
        }
    }
}

void npu_inflight_complete(npu_inflight *f, unsigned unit, uint32_t count) {
    end_upto(f, unit, false, count);
}

void npu_inflight_idle(npu_inflight *f, unsigned unit) {
    end_upto(f, unit, true, 0);
}

void npu_inflight_taint(npu_inflight *f, uint32_t units) {
    for (size_t i = 0; i < f->tasks; i++) {
        npu_flight *t = &f->task[i];
        t->tainted = (units >> t->unit & 1u) != 0;
        for (size_t j = 0; j < i && !t->tainted; j++) {
            t->tainted = f->task[j].tainted && tb_buffers_feeds(&f->buffers, (uint32_t)j, (uint32_t)i);
        }
    }
}

uint32_t npu_inflight_users(const npu_inflight *f, uint64_t addr, uint64_t bytes, bool write) {
    uint32_t units = 0;
    size_t from = 0;
    const tb_buffer *b;
    while (f->tasks > 0 &&
           (b = tb_buffers_at(&f->buffers, &from, addr, bytes, write ? TB_DDR_WRITE : TB_DDR_READ)) != NULL) {
        units |= 1u << f->task[b->work].unit;
    }
    return units;
}
