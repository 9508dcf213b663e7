#include "edges.h"

#include <stdlib.h>
#include <string.h>

#define CLOCK TB_WAVE_EDGE_SIGNALS /* bit beside those of the signals */

typedef struct sampler {
    const tb_wave_edges *e;
    /* of each signal: its width, and its first bit in the value of its handle, in latest */
    uint32_t width[CLOCK + 1u], from[CLOCK + 1u];
    const char *bits[CLOCK + 1u];
    uint64_t *slots;     /* by handle: which signals it is, a bit each */
    size_t *offset;      /* by handle: its place in latest */
    char *latest;        /* newest value of each handle */
    uint32_t *changed;   /* handles that changed at this time */
    uint8_t *is_changed; /* by handle */
    uint32_t changes;
    uint64_t now; /* this moment */
    char clock;   /* before it */
} sampler;

/* ---- times ---- */

/* Is the clock going to rise? */
static bool rises(const sampler *p) {
    const uint32_t h = p->e->clock->handle;
    return p->clock == '0' && p->is_changed[h] && p->latest[p->offset[h]] == '1';
}

/* All changes of a time are collected. */
static int end_moment(sampler *p) {
    int stop = rises(p) ? p->e->edge(p->e->ctx, p->now) : 0;
    for (uint32_t i = 0; i < p->changes; i++) {
        const uint32_t h = p->changed[i];
        p->is_changed[h] = 0;
        for (uint64_t left = p->slots[h]; left != 0; left &= left - 1) {
            const unsigned which = (unsigned)__builtin_ctzll(left);
            if (which == CLOCK) {
                p->clock = p->bits[which][0];
            } else {
                p->e->set(p->e->ctx, which, p->bits[which], p->width[which]);
            }
        }
    }
    p->changes = 0;
    const int after = p->e->moment != NULL ? p->e->moment(p->e->ctx) : 0;
    return after != 0 ? after : stop;
}

static int change(void *ctx, uint64_t time, uint32_t handle, const char *bits, uint32_t width) {
    sampler *p = (sampler *)ctx;
    if (time != p->now) {
        const int stop = end_moment(p);
        if (stop != 0) {
            return stop;
        }
        p->now = time;
    }
    memcpy(p->latest + p->offset[handle], bits, width);
    if (!p->is_changed[handle]) {
        p->is_changed[handle] = 1;
        p->changed[p->changes++] = handle;
    }
    return 0;
}

/* ---- begin and end ---- */

/* Is bit 0 of the vector the leftmost one: "[0:7]"? */
static bool ascends(const tb_wave_signal *s) {
    unsigned left;
    unsigned right;
    return sscanf(s->range, "[%u:%u]", &left, &right) == 2 && left < right;
}

uint32_t tb_wave_edges_width(const tb_wave_edges *e, unsigned which) {
    const tb_wave_signal *s = e->in[which].signal;
    return s == NULL ? 0 : e->in[which].elements != 0 ? s->width / e->in[which].elements : s->width;
}

static void use(sampler *p, const tb_wave_signal *signal, unsigned which) {
    if (signal != NULL) {
        const bool part = which != CLOCK && p->e->in[which].elements != 0;
        const uint32_t width = which == CLOCK ? signal->width : tb_wave_edges_width(p->e, which);
        const uint32_t at = part ? p->e->in[which].at : 0;
        p->width[which] = width;
        p->from[which] = !part ? 0 : ascends(signal) ? at * width : signal->width - (at + 1) * width;
        p->slots[signal->handle] |= UINT64_C(1) << which;
        p->offset[signal->handle] = signal->width;
    }
}

/* want: by handle. False: out of memory. */
static bool prepare(sampler *p, size_t handles, uint8_t **want) {
    size_t total = 0;
    p->slots = (uint64_t *)calloc(handles + 1, sizeof *p->slots);
    p->offset = (size_t *)calloc(handles + 1, sizeof *p->offset);
    p->is_changed = (uint8_t *)calloc(handles + 1, 1);
    p->changed = (uint32_t *)calloc(CLOCK + 1u, sizeof *p->changed);
    *want = (uint8_t *)calloc(handles + 1, 1);
    if (p->slots == NULL || p->offset == NULL || p->is_changed == NULL || p->changed == NULL || *want == NULL) {
        return false;
    }
    for (unsigned i = 0; i < TB_WAVE_EDGE_SIGNALS; i++) {
        use(p, p->e->in[i].signal, i);
    }
    use(p, p->e->clock, CLOCK);
    for (size_t h = 0; h < handles; h++) {
        const size_t width = p->offset[h];
        p->offset[h] = total;
        total += width;
        (*want)[h] = p->slots[h] != 0 ? 1 : 0;
    }
    p->latest = (char *)malloc(total + 1);
    for (size_t h = 0; p->latest != NULL && h < handles; h++) {
        for (uint64_t left = p->slots[h]; left != 0; left &= left - 1) {
            const unsigned which = (unsigned)__builtin_ctzll(left);
            p->bits[which] = p->latest + p->offset[h] + p->from[which];
        }
    }
    return p->latest != NULL;
}

static void release(sampler *p) {
    free(p->slots);
    free(p->offset);
    free(p->latest);
    free(p->changed);
    free(p->is_changed);
    free(p);
}

int tb_wave_edges_read(tb_wave *wave, const tb_wave_edges *e, char *err, size_t err_size) {
    uint8_t *want = NULL;
    uint64_t first;
    uint64_t last;
    int exponent;
    int rc = -1;
    sampler *p = (sampler *)calloc(1, sizeof *p);
    snprintf(err, err_size, "out of memory");
    if (p == NULL) {
        return -1;
    }
    *p = (sampler){.e = e, .clock = 'x'};
    if (prepare(p, tb_wave_handles(wave), &want)) {
        tb_wave_times(wave, &first, &last, &exponent);
        p->now = first;
        rc = tb_wave_read(wave, want, first, UINT64_MAX, change, p, err, err_size);
        rc = rc == 0 ? end_moment(p) : rc;
    }
    free(want);
    release(p);
    return rc;
}
