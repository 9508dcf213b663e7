#include "inflight.h"

#include <stdlib.h>
#include <string.h>

void npu_inflight_free(npu_inflight *f) {
    free(f->next.r);
    free(f->reads.r);
    free(f->writes.r);
    free(f->task);
    memset(f, 0, sizeof *f);
}

void npu_inflight_clear(npu_inflight *f) {
    f->reads.count = f->writes.count = 0;
    f->tasks = 0;
    f->live_from = f->fence_from = 0;
}

void npu_inflight_stop(npu_inflight *f) {
    f->next.count = 0;
    f->live_from = f->fence_from = f->tasks;
}

void npu_inflight_output(npu_inflight *f, uint32_t addr, uint32_t bytes) {
    npu_ranges_add(&f->next, 0, addr, bytes);
}

static int by_begin(const void *a, const void *b) {
    const npu_range *x = (const npu_range *)a;
    const npu_range *y = (const npu_range *)b;
    return x->begin < y->begin ? -1 : x->begin > y->begin ? 1 : 0;
}

/* In order, and without overlap: the end of the list moves. Returns the new length. */
static size_t put_in_order(npu_range *r, size_t count) {
    bool sorted = true;
    for (size_t i = 1; i < count && sorted; i++) {
        sorted = r[i - 1].begin <= r[i].begin;
    }
    if (!sorted) {
        qsort(r, count, sizeof *r, by_begin);
    }
    size_t to = 0;
    for (size_t i = 0; i < count; i++) {
        if (to > 0 && r[i].begin <= r[to - 1].end) {
            r[to - 1].end = r[i].end > r[to - 1].end ? r[i].end : r[to - 1].end;
        } else {
            r[to++] = r[i];
        }
    }
    return to;
}

void npu_inflight_declared(npu_inflight *f) {
    f->next.count = put_in_order(f->next.r, f->next.count);
}

/* First range that ends behind a byte. */
static size_t find(const npu_range *r, size_t count, uint64_t byte) {
    size_t lo = 0;
    size_t hi = count;
    while (lo < hi) {
        const size_t mid = (lo + hi) / 2;
        if (r[mid].end > byte) {
            hi = mid;
        } else {
            lo = mid + 1;
        }
    }
    return lo;
}

bool npu_inflight_covered(const npu_inflight *f, uint32_t addr, uint32_t bytes, uint64_t *where) {
    if (f->next.count == 0 || bytes == 0) {
        return true;
    }
    const size_t i = find(f->next.r, f->next.count, addr);
    if (i == f->next.count || f->next.r[i].begin > addr) {
        *where = addr;
        return false;
    }
    *where = f->next.r[i].end;
    return f->next.r[i].end - addr >= bytes;
}

/* First common byte of two ordered lists. */
static bool common(const npu_range *a, size_t na, const npu_range *b, size_t nb, uint64_t *where) {
    size_t i = 0;
    size_t j = 0;
    while (i < na && j < nb) {
        if (a[i].begin < b[j].end && b[j].begin < a[i].end) {
            *where = a[i].begin > b[j].begin ? a[i].begin : b[j].begin;
            return true;
        }
        if (a[i].end <= b[j].begin) {
            i++;
        } else {
            j++;
        }
    }
    return false;
}

static bool writes_meet_reads(const npu_inflight *f, const npu_flight *w, const npu_flight *r, uint64_t *where) {
    return common(f->writes.r + w->writes, w->writes_end - w->writes, f->reads.r + r->reads, r->reads_end - r->reads, where);
}

static bool conflict(const npu_inflight *f, const npu_flight *a, const npu_flight *b, uint64_t *where) {
    return common(f->writes.r + a->writes, a->writes_end - a->writes, f->writes.r + b->writes, b->writes_end - b->writes, where) ||
           writes_meet_reads(f, a, b, where) || writes_meet_reads(f, b, a, where);
}

/* May two tasks run at the same time? The ALU and the POOL finish one task before they begin the next. */
static bool together(const npu_inflight *f, size_t earlier, const npu_flight *me) {
    const npu_flight *t = &f->task[earlier];
    return t->unit != me->unit || (me->unit == UNIT_GEMM && earlier >= f->fence_from);
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

bool npu_inflight_start(npu_inflight *f, unsigned unit, const uint32_t *regs, uint32_t n, uint32_t seq, const uint32_t done[UNITS],
                        uint64_t *where) {
    npu_flight *me = new_task(f);
    if (me == NULL) {
        return true;
    }
    *me = (npu_flight){.unit = unit, .seq = seq, .reads = f->reads.count, .writes = f->writes.count};
    me->fence = unit == UNIT_GEMM && npu_footprint_fenced(regs);
    me->reduces = unit == UNIT_ALU && npu_footprint_reduces(regs);
    npu_footprint(unit, regs, n, &f->reads, f->next.count == 0 ? &f->writes : NULL);
    for (size_t i = 0; i < f->next.count; i++) {
        npu_ranges_add(&f->writes, me->writes, f->next.r[i].begin, f->next.r[i].end - f->next.r[i].begin);
    }
    f->next.count = 0;
    f->reads.count = me->reads_end = me->reads + put_in_order(f->reads.r + me->reads, f->reads.count - me->reads);
    f->writes.count = me->writes_end = me->writes + put_in_order(f->writes.r + me->writes, f->writes.count - me->writes);
    f->oom = f->oom || f->next.oom || f->reads.oom || f->writes.oom;
    if (me->fence) {
        f->fence_from = f->tasks;
    }
    bool ok = true;
    for (size_t i = f->live_from; i < f->tasks && ok; i++) {
        const npu_flight *t = &f->task[i];
        const bool complete = (uint16_t)(done[t->unit] - t->seq) < 0x8000u;
        ok = complete || !together(f, i, me) || !conflict(f, me, t, where);
    }
    f->tasks++;
    return ok;
}

void npu_inflight_taint(npu_inflight *f, uint32_t units) {
    for (size_t i = 0; i < f->tasks; i++) {
        npu_flight *t = &f->task[i];
        uint64_t where;
        t->tainted = (units >> t->unit & 1u) != 0;
        for (size_t j = 0; j < i && !t->tainted; j++) {
            t->tainted = f->task[j].tainted && writes_meet_reads(f, &f->task[j], t, &where);
        }
    }
}

uint32_t npu_inflight_users(const npu_inflight *f, uint64_t addr, uint64_t bytes, bool write) {
    uint32_t units = 0;
    for (size_t i = 0; i < f->tasks; i++) {
        const npu_flight *t = &f->task[i];
        const npu_range *r = write ? f->writes.r + t->writes : f->reads.r + t->reads;
        const size_t count = write ? t->writes_end - t->writes : t->reads_end - t->reads;
        const size_t at = find(r, count, addr);
        if (at < count && r[at].begin < addr + bytes) {
            units |= 1u << t->unit;
        }
    }
    return units;
}
