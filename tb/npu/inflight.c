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
    f->live_from = 0;
}

static void add(npu_inflight *f, npu_ranges *v, uint64_t begin, uint64_t bytes) {
    if (bytes == 0) {
        return;
    }
    if (v->count == v->cap) {
        const size_t cap = v->cap == 0 ? 256 : v->cap * 2;
        npu_range *r = (npu_range *)realloc(v->r, cap * sizeof *r);
        if (r == NULL) {
            f->oom = true;
            return;
        }
        v->r = r;
        v->cap = cap;
    }
    v->r[v->count++] = (npu_range){.begin = begin, .end = begin + bytes};
}

void npu_inflight_output(npu_inflight *f, uint32_t addr, uint32_t bytes) {
    add(f, &f->next, addr, bytes);
}

static int by_begin(const void *a, const void *b) {
    const npu_range *x = (const npu_range *)a;
    const npu_range *y = (const npu_range *)b;
    return x->begin < y->begin ? -1 : x->begin > y->begin ? 1 : 0;
}

/* First common byte of two sorted lists. */
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

static void add_map(npu_inflight *f, npu_ranges *v, uint32_t addr, uint32_t step, uint32_t channels, uint32_t pixels) {
    for (uint32_t c = 0; c < channels; c++) {
        add(f, v, (uint64_t)addr + (uint64_t)c * step, (uint64_t)pixels * 4);
    }
}

static void add_reads(npu_inflight *f, const cm_gemm_task *t, uint32_t n) {
    add_map(f, &f->reads, t->ifm_addr, t->ifm_cstep, t->ic, t->iw * t->ih);
    const uint64_t icb = (t->ic + n - 1) / n;
    const uint64_t ocb = (t->oc + n - 1) / n;
    add(f, &f->reads, t->wgt_addr, ocb * icb * t->kw * t->kh * n * n);
    if (t->oscale_en) {
        add(f, &f->reads, t->oscale_addr, (uint64_t)t->oc * 4);
    }
    if (t->bias_en) {
        add(f, &f->reads, t->bias_addr, (uint64_t)t->oc * 4);
    }
    if (t->psum_add) {
        add_map(f, &f->reads, t->psum_addr, t->ofm_cstep, t->oc, t->ow * t->oh);
    }
}

bool npu_inflight_start(npu_inflight *f, const cm_gemm_task *task, uint32_t n, uint32_t seq, uint32_t done, uint64_t *where) {
    if (f->tasks == f->cap) {
        const size_t cap = f->cap == 0 ? 64 : f->cap * 2;
        npu_flight *t = (npu_flight *)realloc(f->task, cap * sizeof *t);
        if (t == NULL) {
            f->oom = true;
            return true;
        }
        f->task = t;
        f->cap = cap;
    }
    npu_flight *me = &f->task[f->tasks];
    me->seq = seq;
    me->reads = f->reads.count;
    me->writes = f->writes.count;
    add_reads(f, task, n);
    if (f->next.count > 0) {
        for (size_t i = 0; i < f->next.count; i++) {
            add(f, &f->writes, f->next.r[i].begin, f->next.r[i].end - f->next.r[i].begin);
        }
    } else {
        add_map(f, &f->writes, task->ofm_addr, task->ofm_cstep, task->oc, task->ow * task->oh);
    }
    f->next.count = 0;
    me->reads_end = f->reads.count;
    me->writes_end = f->writes.count;
    npu_range *r = f->reads.r + me->reads;
    npu_range *w = f->writes.r + me->writes;
    const size_t nr = me->reads_end - me->reads;
    const size_t nw = me->writes_end - me->writes;
    qsort(r, nr, sizeof *r, by_begin);
    qsort(w, nw, sizeof *w, by_begin);
    if (task->fence) {
        f->live_from = f->tasks;
    }
    bool ok = true;
    for (size_t i = f->live_from; i < f->tasks && ok; i++) {
        const npu_flight *t = &f->task[i];
        if ((uint16_t)(done - t->seq) < 0x8000u) {
            continue; /* complete */
        }
        const npu_range *tr = f->reads.r + t->reads;
        const npu_range *tw = f->writes.r + t->writes;
        ok = !common(w, nw, tw, t->writes_end - t->writes, where) && !common(w, nw, tr, t->reads_end - t->reads, where) &&
             !common(r, nr, tw, t->writes_end - t->writes, where);
    }
    f->tasks++;
    return ok;
}
