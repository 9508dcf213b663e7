#include "buffers.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- ranges ---- */

/* Room for one more element; false: out of memory. */
static bool room(void **list, size_t count, size_t *cap, size_t size) {
    if (count < *cap) {
        return true;
    }
    const size_t more = *cap == 0 ? 64 : *cap * 2;
    void *v = realloc(*list, more * size);
    if (v == NULL) {
        return false;
    }
    *list = v;
    *cap = more;
    return true;
}

void tb_ranges_add(tb_ranges *v, size_t from, uint64_t begin, uint64_t bytes) {
    if (bytes == 0) {
        return;
    }
    if (v->count > from && v->r[v->count - 1].end == begin) {
        v->r[v->count - 1].end += bytes;
        return;
    }
    if (!room((void **)&v->r, v->count, &v->cap, sizeof *v->r)) {
        v->oom = true;
        return;
    }
    v->r[v->count++] = (tb_range){.begin = begin, .end = begin + bytes};
}

static int by_begin(const void *a, const void *b) {
    const tb_range *x = (const tb_range *)a;
    const tb_range *y = (const tb_range *)b;
    return x->begin < y->begin ? -1 : x->begin > y->begin ? 1 : 0;
}

size_t tb_ranges_order(tb_range *r, size_t count, bool *overlap) {
    bool sorted = true;
    bool common = false;
    for (size_t i = 1; i < count && sorted; i++) {
        sorted = r[i - 1].begin <= r[i].begin;
    }
    if (!sorted) {
        qsort(r, count, sizeof *r, by_begin);
    }
    size_t to = 0;
    for (size_t i = 0; i < count; i++) {
        if (to > 0 && r[i].begin <= r[to - 1].end) {
            common = common || r[i].begin < r[to - 1].end;
            r[to - 1].end = r[i].end > r[to - 1].end ? r[i].end : r[to - 1].end;
        } else {
            r[to++] = r[i];
        }
    }
    if (overlap != NULL) {
        *overlap = common;
    }
    return to;
}

size_t tb_ranges_find(const tb_range *r, size_t count, uint64_t byte) {
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

bool tb_ranges_common(const tb_range *a, size_t na, const tb_range *b, size_t nb, uint64_t *where) {
    if (na == 0 || nb == 0 || a[na - 1].end <= b[0].begin || b[nb - 1].end <= a[0].begin) {
        return false;
    }
    size_t i = tb_ranges_find(a, na, b[0].begin);
    size_t j = tb_ranges_find(b, nb, a[0].begin);
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

/* ---- the table ---- */

void tb_buffers_init(tb_buffers *t, const char *noun, tb_ddr *const *mem, unsigned mems) {
    memset(t, 0, sizeof *t);
    t->noun = noun;
    for (t->mems = 0; t->mems < mems && t->mems < TB_BUFFERS_MEMS; t->mems++) {
        t->mem[t->mems] = mem[t->mems];
    }
}

void tb_buffers_free(tb_buffers *t) {
    free(t->range.r);
    free(t->buffer);
    free(t->work);
    memset(t, 0, sizeof *t);
}

/* Allow or forbid accesses to all buffers of one piece of work. */
static void mark(tb_buffers *t, const tb_work *w, bool open) {
    for (size_t i = w->first; i < w->end; i++) {
        const tb_buffer *b = &t->buffer[i];
        for (size_t k = b->first; k < b->end; k++) {
            for (unsigned m = 0; m < t->mems; m++) {
                if ((b->mems >> m & 1u) == 0) {
                    continue;
                }
                t->oom = !tb_ddr_open(t->mem[m], b->use, t->range.r[k].begin, t->range.r[k].end - t->range.r[k].begin,
                                      open) ||
                         t->oom;
            }
        }
    }
}

void tb_buffers_clear(tb_buffers *t) {
    for (size_t i = t->live_from; i < t->works; i++) {
        if (t->work[i].live) {
            mark(t, &t->work[i], false);
        }
    }
    t->works = t->buffers = t->range.count = t->live_from = 0;
    t->oom = t->range.oom = false;
}

uint32_t tb_buffers_begin(tb_buffers *t, const char *who, uint64_t number) {
    if (t->oom || !room((void **)&t->work, t->works, &t->work_cap, sizeof *t->work)) {
        t->oom = true;
        return UINT32_MAX;
    }
    t->work[t->works] = (tb_work){.who = who, .number = number, .first = t->buffers, .end = t->buffers};
    return (uint32_t)t->works++;
}

/* The buffer that is described is complete. */
static void seal(tb_buffers *t) {
    tb_work *w = &t->work[t->works - 1];
    if (w->end == w->first) {
        return;
    }
    tb_buffer *b = &t->buffer[w->end - 1];
    bool overlap;
    t->range.count = b->end = b->first + tb_ranges_order(t->range.r + b->first, t->range.count - b->first, &overlap);
    b->folded = b->folded || overlap;
    if (b->end == b->first) { /* no bytes: as if it had not been named */
        w->end--;
        t->buffers--;
    }
}

void tb_buffers_name(tb_buffers *t, const char *name, tb_ddr_use use) {
    if (t->oom) {
        return;
    }
    seal(t);
    if (!room((void **)&t->buffer, t->buffers, &t->buffer_cap, sizeof *t->buffer)) {
        t->oom = true;
        return;
    }
    t->buffer[t->buffers++] = (tb_buffer){
        .name = name, .use = use, .work = (uint32_t)(t->works - 1), .first = t->range.count, .mems = UINT_MAX};
    t->work[t->works - 1].end = t->buffers;
}

void tb_buffers_range(tb_buffers *t, uint64_t begin, uint64_t bytes) {
    if (!t->oom) {
        tb_ranges_add(&t->range, t->buffer[t->buffers - 1].first, begin, bytes);
        t->oom = t->range.oom;
    }
}

void tb_buffers_in_place(tb_buffers *t) {
    if (!t->oom) {
        t->buffer[t->buffers - 1].in_place = true;
    }
}

void tb_buffers_only(tb_buffers *t, unsigned mems) {
    if (!t->oom) {
        t->buffer[t->buffers - 1].mems = mems;
    }
}

void tb_buffers_start(tb_buffers *t) {
    if (t->oom) {
        return;
    }
    seal(t);
    t->work[t->works - 1].live = true;
    mark(t, &t->work[t->works - 1], true);
}

/* First and last byte of all buffers of some work that has some. */
static tb_range hull(const tb_buffers *t, const tb_work *w) {
    tb_range h = {.begin = UINT64_MAX, .end = 0};
    for (size_t i = w->first; i < w->end; i++) {
        const tb_buffer *b = &t->buffer[i];
        h.begin = t->range.r[b->first].begin < h.begin ? t->range.r[b->first].begin : h.begin;
        h.end = t->range.r[b->end - 1].end > h.end ? t->range.r[b->end - 1].end : h.end;
    }
    return h;
}

void tb_buffers_end(tb_buffers *t, uint32_t work) {
    if (work >= t->works || !t->work[work].live) {
        return;
    }
    t->work[work].live = false;
    mark(t, &t->work[work], false);
    const tb_range gone = hull(t, &t->work[work]);
    while (t->live_from < t->works && !t->work[t->live_from].live) {
        t->live_from++;
    }
    for (size_t i = t->live_from; i < t->works; i++) {
        const tb_range h = hull(t, &t->work[i]);
        if (t->work[i].live && h.begin < gone.end && gone.begin < h.end) {
            mark(t, &t->work[i], true); /* bytes that both had */
        }
    }
}

/* ---- queries ---- */

static bool common(const tb_buffers *t, const tb_buffer *a, const tb_buffer *b, uint64_t *where) {
    return tb_ranges_common(t->range.r + a->first, a->end - a->first, t->range.r + b->first, b->end - b->first, where);
}

/* The buffers of one piece of work against each other. */
static bool meets_itself(const tb_buffers *t, const tb_work *w, tb_meet *meet) {
    for (size_t i = w->first; i < w->end; i++) {
        const tb_buffer *a = &t->buffer[i];
        uint64_t where;
        if (a->use == TB_DDR_WRITE && a->folded) {
            *meet = (tb_meet){a, a, t->range.r[a->first].begin};
            return true;
        }
        for (size_t j = w->first; j < w->end && a->use == TB_DDR_WRITE; j++) {
            const tb_buffer *b = &t->buffer[j];
            if (i != j && !b->in_place && common(t, a, b, &where)) {
                *meet = (tb_meet){b, a, where};
                return true;
            }
        }
    }
    return false;
}

bool tb_buffers_meet(const tb_buffers *t, uint32_t work, uint32_t other, tb_meet *meet) {
    if (work >= t->works || other >= t->works) {
        return false;
    }
    if (work == other) {
        return meets_itself(t, &t->work[work], meet);
    }
    for (size_t i = t->work[work].first; i < t->work[work].end; i++) {
        for (size_t j = t->work[other].first; j < t->work[other].end; j++) {
            const tb_buffer *a = &t->buffer[i];
            const tb_buffer *b = &t->buffer[j];
            uint64_t where;
            if ((a->use == TB_DDR_WRITE || b->use == TB_DDR_WRITE) && common(t, a, b, &where)) {
                *meet = b->use == TB_DDR_WRITE ? (tb_meet){a, b, where} : (tb_meet){b, a, where};
                return true;
            }
        }
    }
    return false;
}

bool tb_buffers_feeds(const tb_buffers *t, uint32_t writer, uint32_t reader) {
    uint64_t where;
    if (writer >= t->works || reader >= t->works) {
        return false;
    }
    for (size_t i = t->work[writer].first; i < t->work[writer].end; i++) {
        for (size_t j = t->work[reader].first; j < t->work[reader].end; j++) {
            if (t->buffer[i].use == TB_DDR_WRITE && t->buffer[j].use == TB_DDR_READ &&
                common(t, &t->buffer[i], &t->buffer[j], &where)) {
                return true;
            }
        }
    }
    return false;
}

const tb_buffer *tb_buffers_at(const tb_buffers *t, size_t *from, uint64_t addr, uint64_t bytes, tb_ddr_use use) {
    while (*from < t->buffers) {
        const tb_buffer *b = &t->buffer[(*from)++];
        const tb_range *r = t->range.r + b->first;
        const size_t count = b->end - b->first;
        const size_t at = tb_ranges_find(r, count, addr);
        if (b->use == use && at < count && r[at].begin < addr + bytes) {
            return b;
        }
    }
    return NULL;
}

static tb_near near_buffer(const tb_buffers *t, const tb_buffer *b, uint64_t addr) {
    const tb_range *r = t->range.r + b->first;
    const size_t count = b->end - b->first;
    const size_t at = tb_ranges_find(r, count, addr);
    const uint64_t below = at > 0 ? addr - r[at - 1].end + 1 : UINT64_MAX;
    const uint64_t above = at == count ? UINT64_MAX : r[at].begin > addr ? r[at].begin - addr : 0;
    return (tb_near){.buffer = b,
                     .side = at == count ? TB_BEHIND
                             : at == 0   ? TB_BEFORE
                                         : TB_BETWEEN,
                     .bytes = below < above ? below : above};
}

tb_near tb_buffers_near(const tb_buffers *t, uint64_t addr, tb_ddr_use use, const char *who) {
    tb_near best = {.buffer = NULL, .bytes = UINT64_MAX};
    for (int live = 1; live >= 0 && best.buffer == NULL; live--) {
        for (size_t i = 0; i < t->buffers; i++) {
            const tb_buffer *b = &t->buffer[i];
            const tb_work *w = &t->work[b->work];
            if (b->use == use && w->live == (live != 0) && (who == NULL || strcmp(w->who, who) == 0)) {
                const tb_near n = near_buffer(t, b, addr);
                best = n.bytes <= best.bytes ? n : best;
            }
        }
    }
    return best;
}

void tb_buffers_text(const tb_buffers *t, const tb_buffer *buffer, char *dst, size_t size) {
    const tb_work *w = &t->work[buffer->work];
    snprintf(dst, size, "`%s` of %s %s %" PRIu64, buffer->name, w->who, t->noun, w->number);
}

void tb_buffers_place(const tb_buffers *t, const tb_near *near, char *dst, size_t size) {
    char name[96];
    if (near->buffer == NULL) {
        snprintf(dst, size, "no %s is in flight", t->noun);
        return;
    }
    const char *rest = t->work[near->buffer->work].live ? "" : ", which is complete";
    const char *s = near->bytes == 1 ? "" : "s";
    tb_buffers_text(t, near->buffer, name, sizeof name);
    if (near->bytes == 0) {
        snprintf(dst, size, "in %s%s", name, rest);
    } else if (near->side == TB_BETWEEN) {
        snprintf(dst, size, "in a gap of %s%s, %" PRIu64 " byte%s from it", name, rest, near->bytes, s);
    } else {
        snprintf(dst, size, "%" PRIu64 " byte%s %s %s%s", near->bytes, s,
                 near->side == TB_BEHIND ? "past the end of" : "before", name, rest);
    }
}
