/* Time series from the debug port: events summed and levels' maxima over windows of cycles (docs/npu/npu.md section 5).
 */
#include "dev_priv.h"

#include <stdlib.h>
#include <string.h>

#define AUTO_WINDOWS 96u       /* at most, without a given width; an even number */
#define MAX_WINDOWS (1u << 20) /* at most, with a given width; the last window takes the rest */
#define LEVEL_BITS 16u

static bool find_port(const npu_dev *dev, const char *name, uint32_t width, tb_sig *sig) {
    *sig = tb_sim_find(&dev->run.sim, name);
    return sig->ptr != NULL && sig->width == width;
}

bool npu_dev_perf_start(npu_dev *dev, uint32_t window) {
    npu_perf_sampler *p = &dev->perf;
    p->on = dev->has_rtl && find_port(dev, "perf_event_o", NPU_DEV_PERF_EVENTS, &p->events) &&
            find_port(dev, "perf_level_o", NPU_DEV_PERF_LEVELS * LEVEL_BITS, &p->levels);
    p->count = 0;
    p->fixed = window != 0;
    p->width = window != 0 ? window : 1;
    return p->on;
}

/* Merge each two windows into one. */
static void halve(npu_perf_sampler *p) {
    for (size_t i = 0; i < p->count / 2; i++) {
        npu_dev_perf_window w = p->window[2 * i];
        const npu_dev_perf_window *next = &p->window[2 * i + 1];
        w.cycles += next->cycles;
        for (unsigned e = 0; e < NPU_DEV_PERF_EVENTS; e++) {
            w.event[e] += next->event[e];
        }
        for (unsigned l = 0; l < NPU_DEV_PERF_LEVELS; l++) {
            w.level[l] = w.level[l] > next->level[l] ? w.level[l] : next->level[l];
        }
        p->window[i] = w;
    }
    p->count /= 2;
    p->width *= 2;
}

/* The window of this cycle; NULL: out of memory, sampling has stopped. */
static npu_dev_perf_window *window_now(npu_dev *dev) {
    npu_perf_sampler *p = &dev->perf;
    if (p->count > 0 && (p->window[p->count - 1].cycles < p->width || p->count == MAX_WINDOWS)) {
        return &p->window[p->count - 1];
    }
    if (!p->fixed && p->count == AUTO_WINDOWS) {
        halve(p);
    }
    if (p->count == p->cap) {
        const size_t cap = p->cap == 0 ? AUTO_WINDOWS : p->cap * 2;
        npu_dev_perf_window *w = (npu_dev_perf_window *)realloc(p->window, cap * sizeof *w);
        if (w == NULL) {
            p->on = false;
            tb_run_fail(&dev->run, "host:memory", "out of memory for the time series");
            return NULL;
        }
        p->window = w;
        p->cap = cap;
    }
    npu_dev_perf_window *w = &p->window[p->count++];
    memset(w, 0, sizeof *w);
    w->from = dev->run.sim.cycle;
    return w;
}

void npu_perf_sample(npu_dev *dev) {
    npu_perf_sampler *p = &dev->perf;
    uint64_t events = tb_get(p->events) & ~UINT64_C(1); /* event 0 is every cycle */
    if (events == 0 && p->count == 0) {
        return; /* no event yet */
    }
    npu_dev_perf_window *w = window_now(dev);
    if (w == NULL) {
        return;
    }
    w->cycles++;
    for (; events != 0; events &= events - 1) {
        w->event[__builtin_ctzll(events)]++;
    }
    const uint32_t *words = (const uint32_t *)p->levels.ptr;
    for (unsigned l = 0; l < NPU_DEV_PERF_LEVELS; l++) {
        const uint16_t level = (uint16_t)(words[l / 2] >> (l % 2 * LEVEL_BITS));
        w->level[l] = level > w->level[l] ? level : w->level[l];
    }
}

static bool empty(const npu_dev_perf_window *w) {
    for (unsigned e = 0; e < NPU_DEV_PERF_EVENTS; e++) {
        if (w->event[e] != 0) {
            return false;
        }
    }
    return true;
}

size_t npu_dev_perf_stop(npu_dev *dev, const npu_dev_perf_window **windows) {
    npu_perf_sampler *p = &dev->perf;
    p->on = false;
    while (p->count > 0 && empty(&p->window[p->count - 1])) {
        p->count--;
    }
    *windows = p->window;
    return p->count;
}

void npu_perf_free(npu_dev *dev) {
    free(dev->perf.window);
    dev->perf.window = NULL;
}
