/* A view with its file open and its signals found. */
#include "wave/view.h"
#include "opt/opt.h"

#include <stdlib.h>
#include <string.h>

#define PERIODS 64u /* of the clock that are looked at: the shortest counts, so that gating does not matter */

typedef struct clock_probe {
    uint64_t rise; /* the last one */
    bool risen;
    uint64_t period;
    unsigned seen;
} clock_probe;

static int clock_change(void *ctx, uint64_t time, uint32_t handle, const char *bits, uint32_t width) {
    clock_probe *p = ctx;
    (void)handle;
    (void)width;
    if (bits[0] != '1') {
        return 0;
    }
    if (p->risen && time > p->rise && (p->period == 0 || time - p->rise < p->period)) {
        p->period = time - p->rise;
    }
    /* the first value given may hold for long: it is no edge */
    p->risen = p->seen > 0;
    p->rise = time;
    return ++p->seen > PERIODS ? 1 : 0;
}

int tb_wave_period(tb_wave *wave, const char *clock, uint64_t *period, char *err, size_t err_size) {
    const tb_wave_signal *signal = tb_wave_find(wave, clock);
    if (signal == NULL) {
        return opt_fail(err, err_size, "%s: no signal %s", wave->path, clock);
    }
    clock_probe p = {0};
    uint8_t *want = calloc(tb_wave_handles(wave), 1);
    if (want == NULL) {
        return opt_fail(err, err_size, "%s: out of memory", wave->path);
    }
    want[signal->handle] = 1;
    const int status = tb_wave_read(wave, want, wave->first, wave->last, clock_change, &p, err, err_size);
    free(want);
    *period = p.period;
    return status < 0 ? -1 : 0;
}

static int find_rows(view_state *v, char *err, size_t err_size) {
    for (size_t g = 0; g < v->view->groups; g++) {
        v->rows += v->view->group[g].count;
    }
    v->row = calloc(v->rows + 1, sizeof *v->row);
    if (v->row == NULL) {
        return opt_fail(err, err_size, "%s: out of memory", v->view->wave);
    }
    size_t r = 0;
    for (size_t g = 0; g < v->view->groups; g++) {
        for (size_t i = 0; i < v->view->group[g].count; i++, r++) {
            if (v->view->group[g].signal[i] == NULL) {
                return opt_fail(err, err_size, "%s: out of memory", v->view->wave);
            }
            v->row[r].path = v->view->group[g].signal[i];
            v->row[r].signal = tb_wave_find(v->wave, v->row[r].path);
        }
    }
    return 0;
}

int view_open(view_state *v, const tb_wave_view *view, char *err, size_t err_size) {
    uint64_t first = 0;
    uint64_t last = 0;
    int exponent = 0;
    *v = (view_state){.view = view};
    v->wave = tb_wave_open(view->wave, err, err_size);
    if (v->wave == NULL) {
        return -1;
    }
    tb_wave_times(v->wave, &first, &last, &exponent);
    const bool all = view->from == 0 && view->to == 0;
    v->from = all || view->from < first ? first : view->from;
    v->to = all || view->to > last ? last : view->to;
    if (v->from > v->to) {
        return opt_fail(err, err_size, "%s: times %llu to %llu, the file has %llu to %llu", view->wave,
                        (unsigned long long)view->from, (unsigned long long)view->to, (unsigned long long)first,
                        (unsigned long long)last);
    }
    v->marked = view->marker != 0 && view->marker >= first && view->marker <= last;
    if (find_rows(v, err, err_size) != 0) {
        return -1;
    }
    return view->clock != NULL ? tb_wave_period(v->wave, view->clock, &v->period, err, err_size) : 0;
}

void view_narrow(view_state *v, unsigned cycles) {
    const uint64_t span = v->period * (v->view->cycles != 0 ? v->view->cycles : cycles);
    if (v->period == 0 || v->to - v->from <= span) {
        return;
    }
    uint64_t from = v->from;
    if (v->marked && v->view->marker > v->from + span / 4 * 3) {
        from = v->view->marker - span / 4 * 3;
        from -= from % v->period;
    }
    if (from + span > v->to) {
        from = v->to - span;
    }
    v->from = from;
    v->to = from + span;
}

void view_close(view_state *v) {
    for (size_t r = 0; v->row != NULL && r < v->rows; r++) {
        free(v->row[r].change);
        free(v->row[r].bits);
    }
    free(v->row);
    tb_wave_close(v->wave);
    *v = (view_state){0};
}

/* ---- changes ---- */

typedef struct collector {
    view_state *v;
    size_t *row_of; /* by handle: 1 + the first row with it; rows that share it are filled at the end */
} collector;

static void *grow(void *old, size_t *room, size_t need, size_t size) {
    if (need <= *room) {
        return old;
    }
    size_t more = *room == 0 ? 64 : *room;
    while (more < need) {
        more *= 2;
    }
    void *p = realloc(old, more * size);
    *room = p != NULL ? more : *room;
    return p;
}

static int collect(void *ctx, uint64_t time, uint32_t handle, const char *bits, uint32_t width) {
    collector *c = ctx;
    view_row *r = &c->v->row[c->row_of[handle] - 1];
    view_change *change = grow(r->change, &r->room, r->changes + 1, sizeof *change);
    if (change == NULL) {
        return 1;
    }
    r->change = change;
    char *more = grow(r->bits, &r->bits_room, r->used + width, 1);
    if (more == NULL) {
        return 1;
    }
    r->bits = more;
    memcpy(r->bits + r->used, bits, width);
    /* several changes at one time: the last one counts */
    if (r->changes > 0 && r->change[r->changes - 1].time == time) {
        r->changes--;
    }
    r->change[r->changes++] = (view_change){.time = time, .value = r->used};
    r->used += width;
    return 0;
}

/* Rows with the storage of another row get a copy of what was read for it. */
static int copy_shared(view_state *v, const size_t *row_of) {
    for (size_t i = 0; i < v->rows; i++) {
        view_row *r = &v->row[i];
        const view_row *from = r->signal != NULL ? &v->row[row_of[r->signal->handle] - 1] : r;
        if (from == r || from->changes == 0) {
            continue;
        }
        r->change = malloc(from->changes * sizeof *r->change);
        r->bits = malloc(from->used);
        if (r->change == NULL || r->bits == NULL) {
            return -1;
        }
        memcpy(r->change, from->change, from->changes * sizeof *r->change);
        memcpy(r->bits, from->bits, from->used);
        r->changes = from->changes;
        r->used = from->used;
    }
    return 0;
}

int view_read(view_state *v, char *err, size_t err_size) {
    const size_t handles = tb_wave_handles(v->wave);
    uint8_t *want = calloc(handles + 1, 1);
    collector c = {.v = v, .row_of = calloc(handles + 1, sizeof *c.row_of)};
    int status = -1;
    if (want != NULL && c.row_of != NULL) {
        for (size_t i = 0; i < v->rows; i++) {
            const tb_wave_signal *s = v->row[i].signal;
            if (s != NULL && c.row_of[s->handle] == 0) {
                c.row_of[s->handle] = i + 1;
                want[s->handle] = 1;
            }
        }
        status = tb_wave_read(v->wave, want, v->from, v->to, collect, &c, err, err_size);
        status = status == 0 ? copy_shared(v, c.row_of) == 0 ? 0 : 1 : status;
    } else {
        status = 1;
    }
    if (status > 0) {
        snprintf(err, err_size, "%s: out of memory", v->view->wave);
    }
    free(want);
    free(c.row_of);
    return status == 0 ? 0 : -1;
}
