#include "cache_hal.h"

#include <stdlib.h>
#include <string.h>

#define LINE 64u
#define CHURN 3u /* lines that may leave, and come, at each call of the HAL */
#define MAX_REST                                                                                                       \
    8u /* 1 / 2^1 .. 1 / 2^MAX_REST is the chance that one does: some caches are restless, others keep what they have  \
        */

typedef struct line {
    uint32_t number; /* address / LINE */
    bool dirty;
    uint8_t data[LINE];
} line;

struct npu_cache {
    npu_dev *dev;
    const npu_hal *below;
    npu_hal hal;
    tb_rng rng;
    uint32_t rest; /* one line in so many moments */
    line *lines;   /* those that are cached, in no order */
    size_t count, cap;
    uint32_t *touched; /* numbers of lines that the CPU ever used */
    size_t touched_count, touched_cap;
    uint64_t calls, skip;
    npu_cache_call *skipped;
};

static line *find(npu_cache *c, uint32_t number) {
    for (size_t i = 0; i < c->count; i++) {
        if (c->lines[i].number == number) {
            return &c->lines[i];
        }
    }
    return NULL;
}

static bool write_back(npu_cache *c, line *l) {
    const bool good = !l->dirty || npu_dev_write(c->dev, l->number * LINE, l->data, LINE);
    l->dirty = false;
    return good;
}

static void drop(npu_cache *c, line *l) {
    *l = c->lines[--c->count];
}

static line *fetch(npu_cache *c, uint32_t number) {
    if (c->count == c->cap) {
        const size_t cap = c->cap == 0 ? 256 : c->cap * 2;
        line *l = (line *)realloc(c->lines, cap * sizeof *l);
        if (l == NULL) {
            return NULL;
        }
        c->lines = l;
        c->cap = cap;
    }
    line *l = &c->lines[c->count];
    l->number = number;
    l->dirty = false;
    if (!npu_dev_read(c->dev, number * LINE, l->data, LINE)) {
        return NULL;
    }
    c->count++;
    return l;
}

static bool touch(npu_cache *c, uint32_t number) {
    for (size_t i = 0; i < c->touched_count; i++) {
        if (c->touched[i] == number) {
            return true;
        }
    }
    if (c->touched_count == c->touched_cap) {
        const size_t cap = c->touched_cap == 0 ? 256 : c->touched_cap * 2;
        uint32_t *t = (uint32_t *)realloc(c->touched, cap * sizeof *t);
        if (t == NULL) {
            return false;
        }
        c->touched = t;
        c->touched_cap = cap;
    }
    c->touched[c->touched_count++] = number;
    return true;
}

/* Some lines leave, some come back without having been asked for. */
static void churn(npu_cache *c) {
    for (unsigned i = 0; i < CHURN; i++) {
        if (c->count > 0 && tb_rng_chance(&c->rng, 1, c->rest)) {
            line *l = &c->lines[tb_rng_range(&c->rng, 0, c->count - 1)];
            write_back(c, l);
            drop(c, l);
        }
        if (c->touched_count > 0 && tb_rng_chance(&c->rng, 1, c->rest)) {
            const uint32_t number = c->touched[tb_rng_range(&c->rng, 0, c->touched_count - 1)];
            if (find(c, number) == NULL) {
                fetch(c, number);
            }
        }
    }
}

/* One line's worth of a CPU access. */
static line *use(npu_cache *c, uint32_t number) {
    line *l = find(c, number);
    if (l == NULL && touch(c, number)) {
        l = fetch(c, number);
    }
    return l;
}

bool npu_cache_write(npu_cache *cache, uint32_t addr, const void *src, size_t bytes) {
    const uint8_t *from = (const uint8_t *)src;
    while (bytes > 0) {
        const uint32_t at = addr % LINE;
        const size_t part = bytes < LINE - at ? bytes : LINE - at;
        line *l = use(cache, addr / LINE);
        if (l == NULL) {
            return false;
        }
        memcpy(l->data + at, from, part);
        l->dirty = true;
        from += part;
        addr += (uint32_t)part;
        bytes -= part;
    }
    return true;
}

bool npu_cache_read(npu_cache *cache, uint32_t addr, void *dst, size_t bytes) {
    uint8_t *to = (uint8_t *)dst;
    while (bytes > 0) {
        const uint32_t at = addr % LINE;
        const size_t part = bytes < LINE - at ? bytes : LINE - at;
        const line *l = use(cache, addr / LINE);
        if (l == NULL) {
            return false;
        }
        memcpy(to, l->data + at, part);
        to += part;
        addr += (uint32_t)part;
        bytes -= part;
    }
    return true;
}

/* ---- the HAL ---- */

static npu_hal_status reg_read(void *ctx, uint32_t offset, uint32_t *value) {
    npu_cache *c = (npu_cache *)ctx;
    churn(c);
    return c->below->reg_read(c->below->ctx, offset, value);
}

static npu_hal_status reg_write(void *ctx, uint32_t offset, uint32_t value) {
    npu_cache *c = (npu_cache *)ctx;
    churn(c);
    return c->below->reg_write(c->below->ctx, offset, value);
}

static npu_hal_status wait_irq(void *ctx, uint32_t line_mask, uint32_t timeout_us) {
    npu_cache *c = (npu_cache *)ctx;
    churn(c);
    return c->below->wait_irq(c->below->ctx, line_mask, timeout_us);
}

static void delay_us(void *ctx, uint32_t us) {
    npu_cache *c = (npu_cache *)ctx;
    churn(c);
    c->below->delay_us(c->below->ctx, us);
}

static void task_output(void *ctx, uint32_t addr, uint32_t bytes) {
    npu_cache *c = (npu_cache *)ctx;
    c->below->task_output(c->below->ctx, addr, bytes);
}

static void task_output_rows(void *ctx, uint32_t addr, uint32_t bytes, uint32_t rows, uint32_t step) {
    npu_cache *c = (npu_cache *)ctx;
    c->below->task_output_rows(c->below->ctx, addr, bytes, rows, step);
}

/* false: this call is left out. */
static bool count_call(npu_cache *c, bool invalidate, uint32_t addr, uint32_t bytes) {
    churn(c);
    if (c->calls++ != c->skip) {
        return true;
    }
    if (c->skipped != NULL) {
        *c->skipped = (npu_cache_call){.invalidate = invalidate, .addr = addr, .bytes = bytes};
    }
    return false;
}

static bool touches(const line *l, uint32_t addr, uint32_t bytes) {
    const uint64_t begin = (uint64_t)l->number * LINE;
    return begin < (uint64_t)addr + bytes && addr < begin + LINE;
}

static void cache_flush(void *ctx, uint32_t addr, uint32_t bytes) {
    npu_cache *c = (npu_cache *)ctx;
    if (!count_call(c, false, addr, bytes)) {
        return;
    }
    for (size_t i = 0; i < c->count; i++) {
        if (touches(&c->lines[i], addr, bytes)) {
            write_back(c, &c->lines[i]);
        }
    }
}

static void cache_invalidate(void *ctx, uint32_t addr, uint32_t bytes) {
    npu_cache *c = (npu_cache *)ctx;
    if (!count_call(c, true, addr, bytes)) {
        return;
    }
    for (size_t i = 0; i < c->count;) {
        if (touches(&c->lines[i], addr, bytes)) {
            drop(c, &c->lines[i]);
        } else {
            i++;
        }
    }
}

npu_cache *npu_cache_new(npu_dev *dev, uint64_t seed) {
    npu_cache *c = (npu_cache *)calloc(1, sizeof *c);
    if (c == NULL) {
        return NULL;
    }
    c->dev = dev;
    c->below = npu_dev_hal(dev);
    c->rng = tb_rng_stream(seed, "cache");
    c->rest = 1u << tb_rng_range(&c->rng, 1, MAX_REST);
    c->skip = UINT64_MAX;
    c->hal = (npu_hal){.ctx = c,
                       .reg_read = reg_read,
                       .reg_write = reg_write,
                       .wait_irq = wait_irq,
                       .delay_us = delay_us,
                       .cache_flush = cache_flush,
                       .cache_invalidate = cache_invalidate,
                       .task_output = task_output,
                       .task_output_rows = task_output_rows};
    return c;
}

void npu_cache_free(npu_cache *cache) {
    if (cache != NULL) {
        free(cache->lines);
        free(cache->touched);
        free(cache);
    }
}

const npu_hal *npu_cache_hal(npu_cache *cache) {
    return &cache->hal;
}

uint64_t npu_cache_calls(const npu_cache *cache) {
    return cache->calls;
}

void npu_cache_skip(npu_cache *cache, uint64_t k, npu_cache_call *call) {
    cache->skip = k;
    cache->skipped = call;
}
