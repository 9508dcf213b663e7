/* pool_bench.c - random POOL tasks on a memory image. */
#include "pool_bench.h"
#include "num.h"

#include <string.h>

#define N ((uint32_t)NPU_CFG_N)

const char *const pool_shape_names[POOL_SHAPES] = {"mixed", "huge", "wide", "global", "small", "tall", "full"};

static uint32_t draw(tb_rng *rng, uint32_t lo, uint32_t hi) {
    return (uint32_t)tb_rng_range(rng, lo, hi);
}

static uint32_t draw_small(tb_rng *rng, uint32_t lo, uint32_t hi) {
    return (uint32_t)tb_rng_small(rng, lo, hi);
}

static uint32_t f32_bits(float v) {
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}

/* ---- shapes ---- */
static void draw_map(tb_rng *rng, uint32_t shape, cm_pool_task *t) {
    switch (shape) {
    case POOL_HUGE:
        t->iw = draw_small(rng, 1, 300);
        t->ih = draw_small(rng, 1, 300);
        break;
    case POOL_WIDE:
        t->iw = draw(rng, 65, 512);
        t->ih = draw(rng, 1, 40);
        break;
    case POOL_SMALL:
        t->iw = draw(rng, 1, 9);
        t->ih = draw(rng, 1, 9);
        break;
    case POOL_TALL:
        t->iw = draw(rng, 1, 3);
        t->ih = draw(rng, 1000, 65535);
        break;
    default:
        t->iw = draw_small(rng, 1, 130);
        t->ih = draw_small(rng, 1, 130);
        break;
    }
    if (tb_rng_chance(rng, 1, shape == POOL_WIDE ? 2 : 5)) { /* rows that fill the line memory exactly */
        t->iw = UINT32_C(1) << draw(rng, shape == POOL_WIDE ? 5 : 0, 9);
    }
}

static void draw_window(tb_rng *rng, uint32_t shape, cm_pool_task *t) {
    const uint32_t most = shape == POOL_HUGE ? 255 : shape == POOL_SMALL ? 3 : 13;
    t->kw = shape == POOL_HUGE ? draw(rng, 1, most) : draw_small(rng, 1, most);
    t->kh = tb_rng_chance(rng, 1, 2) ? t->kw : draw_small(rng, 1, most);
    t->sw = tb_rng_chance(rng, 1, 8) ? draw(rng, 1, 255) : draw_small(rng, 1, 4);
    t->sh = tb_rng_chance(rng, 1, 2) ? t->sw : tb_rng_chance(rng, 1, 8) ? draw(rng, 1, 255) : draw_small(rng, 1, 4);
    if (shape == POOL_TALL) {
        t->sh = draw(rng, 50, 255);
    }
    if (shape == POOL_WIDE && tb_rng_chance(rng, 1, 2)) { /* rows are used again by the windows below */
        t->sh = 1;
        t->kh = draw(rng, 2, 5);
    }
    t->pad_l = tb_rng_chance(rng, 1, 3) ? 0 : draw(rng, 0, t->kw - 1);
    t->pad_t = tb_rng_chance(rng, 1, 3) ? 0 : draw(rng, 0, t->kh - 1);
    const uint32_t ow = tb_min_u32(64, (t->iw + t->pad_l - 1) / t->sw + 1);
    const uint32_t oh = (t->ih + t->pad_t - 1) / t->sh + 1;
    t->ow = tb_rng_chance(rng, 1, 2) ? ow : draw(rng, 1, ow);
    t->oh = tb_rng_chance(rng, 1, 2) ? oh : draw(rng, 1, oh);
}

static void one_window(cm_pool_task *t, uint32_t w, uint32_t h) {
    t->kw = t->iw = w;
    t->kh = t->ih = h;
    t->sw = t->sh = t->ow = t->oh = 1;
    t->pad_l = t->pad_t = 0;
}

static void draw_dims(tb_rng *rng, uint32_t shape, cm_pool_task *t) {
    draw_map(rng, shape, t);
    draw_window(rng, shape, t);
    if (shape == POOL_GLOBAL) {
        const uint32_t w = draw(rng, 1, 64);
        one_window(t, w, draw(rng, 1, 64));
    } else if (shape == POOL_FULL) {
        one_window(t, 255, 255);
    }
}

static uint64_t taps(const cm_pool_task *t, uint32_t c) {
    const uint32_t groups = t->int8 ? (tb_align_up(c, N) + 31) / 32 : (c + 7) / 8;
    return (uint64_t)t->ow * t->oh * tb_min_u32(t->kw, t->iw) * tb_min_u32(t->kh, t->ih) * ((groups + 1) / 2);
}

/* Within the work of the case and, without gaps, a quarter of the image. */
static bool affordable(const pool_space *s, const cm_pool_task *t, uint32_t c) {
    const uint64_t work = s->shape == POOL_FULL ? 65025 : s->work;
    return taps(t, c) <= work && (uint64_t)(t->int8 ? tb_align_up(c, N) : 4 * c) * t->iw * t->ih <= POOL_IMAGE / 2;
}

static void draw_shape(tb_rng *rng, const pool_space *s, cm_pool_task *t) {
    do {
        draw_dims(rng, s->shape == POOL_MIXED ? draw(rng, POOL_HUGE, POOL_TALL) : s->shape, t);
    } while (!affordable(s, t, 1));
    t->c = draw_small(rng, 1, s->channels);
    if (t->int8 && tb_rng_chance(rng, 1, 3)) { /* few words in the last block of a pixel */
        t->c = tb_min_u32(s->channels, 32 * draw(rng, 0, 2) + draw(rng, 1, 12));
    }
    while (t->c > 1 && !affordable(s, t, t->c)) {
        t->c /= 2;
    }
}

/* Shapes of networks. */
static void ideal_shape(uint32_t index, cm_pool_task *t) {
    static const struct {
        bool avg, int8;
        uint32_t k, s, pad, in, ih, out, oh, c;
    } shapes[] = {{false, false, 2, 2, 0, 128, 16, 64, 8, 64}, {false, false, 3, 2, 0, 113, 33, 56, 16, 32},
                  {true, false, 3, 1, 1, 28, 28, 28, 28, 32},  {false, true, 3, 1, 1, 28, 28, 28, 28, 128},
                  {true, true, 7, 1, 0, 7, 7, 1, 1, 128},      {false, true, 2, 2, 0, 56, 28, 28, 14, 64},
                  {true, false, 7, 1, 0, 8, 8, 2, 2, 256},     {false, false, 13, 1, 6, 19, 19, 19, 19, 16}};
    const size_t i = index % (sizeof shapes / sizeof *shapes);
    *t = (cm_pool_task){.avg = shapes[i].avg, .int8 = shapes[i].int8, .kw = shapes[i].k, .kh = shapes[i].k};
    t->sw = t->sh = shapes[i].s;
    t->pad_l = t->pad_t = shapes[i].pad;
    t->iw = shapes[i].in;
    t->ih = shapes[i].ih;
    t->ow = shapes[i].out;
    t->oh = shapes[i].oh;
    t->c = shapes[i].c;
}

/* ---- the image ---- */
typedef struct tensor {
    uint32_t h, w, addr, cstep, rstep;
} tensor;

/* After the cursor: planes or interleaved rows, gaps of any legal size, sometimes rows from bottom to top. */
static void place(tb_rng *rng, const pool_space *s, const cm_pool_task *t, uint64_t *cursor, tensor *x) {
    const uint32_t grain = t->int8 ? N : 4;
    const uint32_t gap = s->ideal || tb_rng_chance(rng, 1, 2) ? 0 : grain * draw(rng, 0, 5);
    const uint32_t gap2 = s->ideal || tb_rng_chance(rng, 1, 2) ? 0 : grain * draw(rng, 0, 5);
    uint64_t bytes;
    if (t->int8) {
        x->cstep = tb_align_up(t->c, N) + gap;
        x->rstep = x->w * x->cstep + gap2;
        bytes = (uint64_t)x->h * x->rstep;
    } else if (!s->ideal && tb_rng_chance(rng, 1, 6)) {
        x->cstep = 4 * x->w + gap;
        x->rstep = t->c * x->cstep + gap2;
        bytes = (uint64_t)x->h * x->rstep;
    } else {
        x->rstep = 4 * x->w + gap;
        x->cstep = x->h * x->rstep + gap2;
        bytes = (uint64_t)t->c * x->cstep;
    }
    const uint32_t start = tb_align_up((uint32_t)*cursor + (s->ideal ? 0 : draw(rng, 0, 64)), s->ideal ? 64 : grain);
    x->addr = POOL_BASE + start;
    *cursor = start + bytes;
    if (!s->ideal && tb_rng_chance(rng, 1, 10)) {
        x->addr += (x->h - 1) * x->rstep;
        x->rstep = 0 - x->rstep;
    }
}

/* False: it does not fit into the image. */
static bool place_all(tb_rng *rng, const pool_space *s, cm_pool_task *t, pool_image *image) {
    uint64_t cursor = s->ideal ? 0 : draw(rng, 0, 15);
    tensor in = {.h = t->ih, .w = t->iw}, out = {.h = t->oh, .w = t->ow};
    place(rng, s, t, &cursor, &in);
    if (cursor > POOL_IMAGE) {
        return false;
    }
    place(rng, s, t, &cursor, &out);
    cursor = (cursor + 3u) & ~UINT64_C(3);
    t->tab_addr = (uint32_t)(POOL_BASE + cursor);
    cursor += 4 * t->kw * t->kh;
    image->used = (uint32_t)cursor;
    t->ifm_addr = in.addr;
    t->ifm_cstep = in.cstep;
    t->ifm_rstep = in.rstep;
    t->ofm_addr = out.addr;
    t->ofm_cstep = out.cstep;
    t->ofm_rstep = out.rstep;
    return cursor + 3 <= POOL_IMAGE;
}

static void fill(tb_rng *rng, const pool_space *s, cm_pool_task *t, pool_image *image) {
    int8_t alike;
    unit_fill_i8(rng, 1, &alike, 1);
    t->recip = s->hard ? tb_rng_f32_hard(rng) : f32_bits(1.0f / (float)(t->kw * t->kh));
    for (uint32_t i = 0; i < image->used; i += 4) {
        uint32_t v;
        if (t->int8) {
            unit_fill_i8(rng, s->data, (int8_t *)&v, 4);
        } else {
            v = s->hard ? tb_rng_f32_hard(rng) : f32_bits(tb_rng_f32_range(rng, -8.0f, 8.0f));
        }
        memcpy(image->now + i, &v, 4);
    }
    if (t->int8 && s->same) {
        memset(image->now, (uint8_t)alike, image->used);
    }
    for (uint32_t i = 0; !s->hard && i < t->kw * t->kh; i++) {
        const uint32_t v = f32_bits(1.0f / (float)((i / t->kw + 1) * (i % t->kw + 1)));
        memcpy(image->now + (t->tab_addr - POOL_BASE) + 4 * i, &v, 4);
    }
}

bool pool_inside(uint32_t addr, uint32_t bytes) {
    return addr >= POOL_BASE && addr - POOL_BASE <= POOL_IMAGE && bytes <= POOL_IMAGE - (addr - POOL_BASE);
}

void pool_draw(tb_rng *rng, const pool_space *space, cm_pool_task *task, pool_image *image) {
    cm_pool_task *t = task;
    *t = (cm_pool_task){0};
    t->int8 = tb_rng_chance(rng, space->int8, 100);
    t->avg = tb_rng_chance(rng, space->avg, 100);
    t->exclude = tb_rng_chance(rng, 1, 2);
    do {
        if (space->ideal) {
            ideal_shape(space->index, t);
        } else {
            draw_shape(rng, space, t);
        }
    } while (!place_all(rng, space, t, image));
    fill(rng, space, t, image);
}
