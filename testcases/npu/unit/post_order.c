/* post_order.c - tasks of post, their order of jobs and their results. */
#include "post_order.h"

#include <stdlib.h>
#include <string.h>

#include "task_noise.h"

#define N ((uint32_t)NPU_CFG_N)

/* ---- tasks ---- */

static uint32_t draw_float(tb_rng *rng, bool hard) {
    const float real = tb_rng_f32_range(rng, -2.0f, 2.0f);
    const uint32_t any = tb_rng_f32_hard(rng);
    const uint32_t small =
        cm_fp_mul(0x33800000u, any << 16 | 0x3f800000u); /* around 2^-24: large sums come into the range of the activations */
    uint32_t bits;
    memcpy(&bits, &real, 4);
    return hard ? any : (any & 3u) == 0 ? small : bits;
}

static void draw_fields(cm_gemm_task *t, const post_limits *limits, tb_rng *shape, tb_rng *values) {
    task_noise_fields(shape, t); /* post must not look at most of them */
    const uint32_t bits = tb_rng_u32(shape);
    t->op = bits % 3;
    t->wgt_res = (bits >> 9) & 1u;
    t->wgt_keep = t->wgt_res && ((bits >> 10) & 1u);
    t->raw_out = ((bits >> 2) & 3u) == 0;
    t->psum_add = (bits >> 4) & 1u;
    t->oscale_en = !t->raw_out && ((bits >> 5) & 3u) != 0;
    t->bias_en = !t->raw_out && ((bits >> 7) & 3u) != 0;
    t->requant = !t->raw_out && ((bits >> 11) & 1u);
    t->act = t->raw_out ? 0 : (uint32_t)tb_rng_range(shape, 0, CM_ACT_COUNT - 1);
    for (uint32_t i = 0; i < 4; i++) {
        t->act_p[i] = draw_float(values, limits->hard);
    }
    t->out_scale = draw_float(values, limits->hard);
    const bool large = tb_rng_chance(shape, 1, 2);
    const uint32_t pixels = (uint32_t)tb_rng_range(shape, large ? limits->pixels / 2 + 1 : 1, limits->pixels);
    t->ow = (uint32_t)tb_rng_small(shape, 1, pixels);
    t->oh = pixels / t->ow;
    t->oc = (uint32_t)tb_rng_range(shape, 1, limits->channels);
    t->group = (uint32_t)tb_rng_range(shape, 0, limits->group);
    t->ofm_addr = tb_rng_u32(shape) & ~3u;
    t->psum_addr = tb_rng_u32(shape) & ~3u;
    t->ofm_cstep = (t->ow * t->oh * 4 + 15 + (tb_rng_u32(shape) & 0xfffu)) & ~15u;
    t->psum_cstep = (t->ow * t->oh * 4 + 3 + (tb_rng_u32(shape) & 0xfffu)) & ~3u;
    if (t->requant) { /* the pitch of a pixel; N only with one block of channels */
        const uint32_t least = (t->oc + N - 1) / N;
        t->ofm_addr &= ~(N - 1);
        t->ofm_cstep = N * (uint32_t)(tb_rng_chance(shape, 1, 2) ? least : tb_rng_range(shape, least, least + 8));
    }
}

static void fill(post_work *w, size_t sums, bool hard, tb_rng *values) {
    for (size_t i = 0; i < sums; i++) {
        const uint32_t x = tb_rng_u32(values);
        w->sums[i] = (int32_t)(x >> (x % 29)) * ((x & 64u) ? 1 : -1);
    }
    for (size_t i = 0; i < (size_t)w->t.oc * w->pixels; i++) {
        const uint32_t x = tb_rng_u32(values);
        w->psums[i] = (int32_t)(x << (x % 29));
    }
    for (uint32_t i = 0; i < w->t.oc; i++) {
        w->oscale[i] = draw_float(values, hard);
        w->bias[i] = draw_float(values, hard);
    }
}

int post_work_make(post_work *w, const post_limits *limits, tb_rng *shape, tb_rng *values) {
    cm_gemm_task *t = &w->t;
    draw_fields(t, limits, shape, values);
    w->pixels = t->ow * t->oh;
    w->tiles = (w->pixels + POST_TILE - 1) / POST_TILE;
    w->ocb = (t->oc + N - 1) / N;
    w->group = t->group == 0 ? 1 : t->group < 512 / N ? t->group : 512 / N;
    const size_t sums = (size_t)w->ocb * w->tiles * N * POST_TILE;
    w->sums = malloc(sums * sizeof *w->sums);
    w->psums = malloc((size_t)t->oc * w->pixels * sizeof *w->psums);
    w->oscale = calloc(t->oc + 4u, sizeof *w->oscale);
    w->bias = calloc(t->oc + 4u, sizeof *w->bias);
    if (!w->sums || !w->psums || !w->oscale || !w->bias) {
        return -1;
    }
    fill(w, sums, limits->hard, values);
    return 0;
}

void post_work_free(post_work *w) {
    free(w->sums);
    free(w->psums);
    free(w->oscale);
    free(w->bias);
    memset(w, 0, sizeof *w);
}

/* ---- order ---- */

uint32_t post_group_tiles(const post_work *w, const post_walk *k) {
    const uint32_t left = w->tiles - k->tile;
    return left < w->group ? left : w->group;
}

static void next_group(const post_work *w, post_walk *k) {
    const uint32_t tiles = post_group_tiles(w, k);
    k->sub = 0;
    if (w->t.wgt_res) { /* groups outermost */
        if (++k->ob == w->ocb) {
            k->ob = 0;
            k->tile += tiles;
            k->end = k->tile == w->tiles;
        }
        return;
    }
    k->tile += tiles;
    if (k->tile == w->tiles) {
        k->tile = 0;
        k->end = ++k->ob == w->ocb;
    }
}

static void next_tile(const post_work *w, post_walk *k) {
    if (++k->sub == post_group_tiles(w, k)) {
        next_group(w, k);
    }
}

/* Onwards over columns that do not exist. */
static void settle_column(const post_work *w, post_walk *k) {
    while (!k->end && (k->col >= N || post_channel(k) >= w->t.oc)) {
        if (w->t.requant) {
            k->col = 0;
            next_tile(w, k);
        } else {
            k->col = k->chan;
            next_group(w, k);
        }
    }
}

bool post_same(const post_walk *a, const post_walk *b) {
    return a->end == b->end && (a->end || (a->ob == b->ob && a->tile == b->tile && a->sub == b->sub && a->col == b->col));
}

/* ---- places ---- */

uint32_t post_pixel(const post_work *w, const post_walk *k) {
    return (k->tile + (w->t.requant ? k->sub : 0)) * POST_TILE;
}

uint32_t post_pixels(const post_work *w, const post_walk *k) {
    const uint32_t left = w->pixels - post_pixel(w, k);
    const uint32_t most = w->t.requant ? POST_TILE : post_group_tiles(w, k) * POST_TILE;
    return left < most ? left : most;
}

uint32_t post_channel(const post_walk *k) {
    return k->ob * N + k->col;
}

uint32_t post_result(const post_work *w, uint32_t oc, uint32_t pixel) {
    const size_t tile = (size_t)(oc / N) * w->tiles + pixel / POST_TILE;
    const int32_t sum = w->sums[(tile * N + oc % N) * POST_TILE + pixel % POST_TILE];
    return cm_post(&w->t, sum, w->psums[(size_t)oc * w->pixels + pixel], w->oscale[oc], w->bias[oc]);
}

static void make_block(const post_work *w, post_walk *k) {
    int8_t value[64 * 32] = {0};
    const uint32_t first = post_pixel(w, k);
    const uint32_t npix = post_pixels(w, k);
    for (uint32_t p = 0; p < npix; p++) {
        if (((p >> 2) & 1u) != k->chan) {
            continue;
        }
        for (uint32_t c = 0; c < N && k->ob * N + c < w->t.oc; c++) {
            value[p * N + c] = cm_requant(&w->t, post_result(w, k->ob * N + c, first + p));
        }
    }
    const uint32_t addr = w->t.ofm_addr + (first + 4 * k->chan) * w->t.ofm_cstep + k->ob * N;
    nhwc_plan(N, k->chan, addr, w->t.ofm_cstep, npix, value, &k->block);
}

/* REQUANT: onwards over tiles of which this channel writes nothing. */
static void settle_block(const post_work *w, post_walk *k) {
    if (k->kind != POST_WRITES || !w->t.requant) {
        return;
    }
    while (!k->end) {
        make_block(w, k);
        if (k->block.jobs > 0) {
            return;
        }
        next_tile(w, k);
    }
}

post_walk post_first(const post_work *w, post_kind kind, uint32_t chan) {
    post_walk k = {.kind = kind, .chan = chan, .end = kind == POST_PSUMS && !w->t.psum_add};
    if (kind != POST_GROUPS && !w->t.requant) {
        k.col = chan;
        settle_column(w, &k);
    }
    settle_block(w, &k);
    return k;
}

void post_next(const post_work *w, post_walk *k) {
    k->word = 0;
    if (k->kind == POST_GROUPS) {
        next_group(w, k);
    } else if (!w->t.requant) {
        k->col += 2;
        settle_column(w, k);
    } else if (k->kind == POST_PSUMS) {
        k->col++;
        settle_column(w, k);
    } else {
        next_tile(w, k);
        settle_block(w, k);
    }
}

nhwc_job post_take_job(const post_work *w, post_walk *k) {
    nhwc_job job;
    bool last = true;
    if (w->t.requant) {
        job = k->block.job[k->word++];
        last = k->word == k->block.jobs;
    } else {
        job.addr = w->t.ofm_addr + post_channel(k) * w->t.ofm_cstep + 4 * post_pixel(w, k);
        job.bytes = 4 * post_pixels(w, k);
    }
    if (last) {
        post_next(w, k);
    }
    return job;
}

nhwc_beat post_take_beat(const post_work *w, post_walk *k) {
    const uint32_t first = post_pixel(w, k);
    nhwc_beat beat = {.pixel = first + 4 * k->word};
    bool last;
    if (w->t.requant) {
        beat = k->block.beat[k->word++];
        beat.pixel += first;
        last = k->word == k->block.beats;
    } else {
        const uint32_t left = post_pixels(w, k) - 4 * k->word++;
        const uint32_t count = left < 4 ? left : 4;
        for (uint32_t i = 0; i < count; i++) {
            const uint32_t y = post_result(w, post_channel(k), beat.pixel + i);
            memcpy(&beat.data[4 * i], &y, 4);
        }
        beat.bytes = 4 * count;
        last = left <= 4;
    }
    if (last) {
        post_next(w, k);
    }
    return beat;
}
