/* sac_geometry.c - sizes of a task: pages, words, vectors (docs/sac/sac.md, section 5), and whether they are legal. */
#include "sac_layer.h"
#include "sac_model.h"

#define MAX_WORDS 1024u   /* of a filter, half of a filter cache */
#define MAX_PIXELS 16384u /* of a map that is pooled as a whole */
#define MAX_CHANNELS 4096u
#define MAX_KERNEL 11u
#define MAX_STRIDE 4u

static uint64_t up(uint64_t a, uint64_t b) {
    return (a + b - 1) / b;
}

uint32_t sac_page_bytes(const sac_build *b) {
    return (uint32_t)up(b->w * b->c, 16) * 16;
}

uint64_t sac_task_in_pages(const sac_build *b, const cm_layer_task *t) {
    return up(t->c, b->c) * t->h * up(t->w, b->w);
}

uint64_t sac_task_out_pages(const sac_build *b, const cm_layer_task *t) {
    uint32_t w, h;
    sac_layer_out(t, &w, &h);
    return up(t->n, b->c) * h * up(w, b->w);
}

uint32_t sac_task_words(const sac_build *b, const cm_layer_task *t) {
    const uint32_t third = t->kw == 1 ? 3 : 1;
    return (uint32_t)(up(t->c, third * b->c) * t->kh * up(t->kw, 3));
}

uint32_t sac_task_batch_bytes(const sac_build *b, const cm_layer_task *t) {
    return (uint32_t)up((uint64_t)sac_task_words(b, t) * b->n * b->c * 12 / 8, 16) * 16;
}

uint64_t sac_task_conv(const sac_build *b, const cm_layer_task *t) {
    const uint32_t ow1 = (t->ow - 1) * t->stride + 1, wow = t->kw == 1 ? b->w : b->w - 2;
    const uint64_t red = up(t->c, b->c) * t->kh * up(t->kw, 3);
    return up(t->n, b->n) * t->oh * up(ow1, wow) * red;
}

static bool in(uint32_t value, uint32_t lowest, uint32_t highest) {
    return value >= lowest && value <= highest;
}

/* Does each window hold a part of the map, in one direction? */
static bool windows(uint32_t count, uint32_t stride, uint32_t pad, uint32_t size) {
    return count > 0 && (count - 1) * stride < size + pad;
}

bool sac_task_legal(const sac_build *b, const cm_layer_task *t) {
    uint32_t w, h;
    const bool sizes = in(t->w, 1, 1023) && in(t->h, 1, 1023) && in(t->c, 1, MAX_CHANNELS) &&
                       in(t->n, 1, MAX_CHANNELS) && in(t->kw, 1, MAX_KERNEL) && in(t->kh, 1, MAX_KERNEL) &&
                       in(t->stride, 1, MAX_STRIDE) && t->ow > 0 && t->oh > 0 && t->full < 3;
    if (!sizes || !(t->dst_ddr || t->dst_cache)) {
        return false;
    }
    if (t->pool && !(t->win >= 2 && t->pool_stride > 0 && windows(t->pw, t->pool_stride, t->pool_pl, t->ow) &&
                     windows(t->ph, t->pool_stride, t->pool_pt, t->oh))) {
        return false;
    }
    sac_layer_map(t, &w, &h);
    return sac_task_words(b, t) <= MAX_WORDS && sac_task_in_pages(b, t) <= b->pages &&
           (!t->dst_cache || sac_task_out_pages(b, t) <= b->pages) && (t->full == 0 || w * h <= MAX_PIXELS);
}
