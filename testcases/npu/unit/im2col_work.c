/* im2col_work.c - random tasks for im2col, the loaders of their weights. */
#include "im2col_work.h"

#include <stdlib.h>
#include <string.h>

#include "task_noise.h"

#define N ((uint32_t)NPU_CFG_N)

enum { CONV, DEPTHWISE, CONVERT };

/* ---- tasks ---- */

static uint32_t upto(tb_rng *rng, uint64_t hi) {
    return (uint32_t)tb_rng_range(rng, 1, hi);
}

static void draw_shape(cm_gemm_task *t, const im2col_limits *l, tb_rng *rng) {
    t->kw = upto(rng, l->kernel);
    t->kh = upto(rng, l->kernel);
    t->ic = upto(rng, l->channels);
    t->iw = upto(rng, l->map);
    t->ih = upto(rng, l->map);
    t->sw = upto(rng, l->stride);
    t->sh = upto(rng, l->stride);
    t->dw = upto(rng, l->dilation);
    t->dh = upto(rng, l->dilation);
    t->pad_l = (uint32_t)tb_rng_range(rng, 0, l->pad);
    t->pad_t = (uint32_t)tb_rng_range(rng, 0, l->pad);
    /*
     * any output size is legal: positions outside the map are zeros, rows and columns that no output needs are not read
     */
    t->ow = (t->iw + t->pad_l) / t->sw + (uint32_t)tb_rng_range(rng, 0, 2);
    t->oh = (t->ih + t->pad_t) / t->sh + (uint32_t)tb_rng_range(rng, 0, 2);
    if (tb_rng_chance(rng, 1, 6)) {
        t->ow = upto(rng, t->ow + 1);
        t->oh = upto(rng, t->oh + 1);
    }
    t->ow += t->ow == 0;
    t->oh += t->oh == 0;
    t->oc = t->op == CONV ? upto(rng, 3 * N) : t->ic;
}

/* The derived numbers; false: outside the limits. */
static bool derive(im2col_work *w, const im2col_limits *l) {
    const cm_gemm_task *t = &w->t;
    if (t->iw * t->ih > 65535 || t->ow * t->oh > 65535) {
        return false;
    }
    w->icb = (t->ic + N - 1) / N;
    w->icw = w->icb << t->wide;
    w->ocb = (t->oc + N - 1) / N;
    w->pixels = t->iw * t->ih;
    const uint32_t tiles = (t->ow * t->oh + 2 * N - 1) / (2 * N);
    const uint32_t group = t->group == 0 ? 1 : tb_min_u32(t->group, 512 / N >> t->wide); /* as clipped */
    const uint32_t blocks = t->kw * t->kh * (t->op == CONV ? w->icb : 1);                /* of a tile */
    w->words = (t->op == CONV ? blocks * N : t->op == DEPTHWISE ? blocks : 0) << t->wide;
    const uint32_t span = tb_min_u32(t->oh, 1 + (2 * N * group + t->ow - 2) / t->ow);
    const uint32_t rows = tb_min_u32(t->ih, (span - 1) * t->sh + (t->kh - 1) * t->dh + 1);
    w->least = t->wgt_res ? tb_min_u32((rows * t->iw + 64) * w->icw, w->pixels * w->icw) : w->pixels * w->icw;
    const uint32_t bank = (t->wgt_res ? (w->ocb + 1) / 2 : 1) * w->words;
    const bool fits =
        w->pixels * w->icw <= IM2COL_IFM_WORDS || (t->wgt_res && (rows * t->iw + 64) * w->icw <= IM2COL_IFM_WORDS);
    return bank <= IM2COL_WGT_WORDS && fits && (uint64_t)w->ocb * tiles * blocks * (N << t->wide) <= l->cycles;
}

static bool keeps(const im2col_work *before, const cm_gemm_task *t) {
    const cm_gemm_task *o = &before->t;
    return o->wgt_res && t->wgt_res && o->op == t->op && o->kw == t->kw && o->kh == t->kh && o->ic == t->ic &&
           o->oc == t->oc && o->wide == t->wide;
}

int im2col_work_make(im2col_work *w, const im2col_work *before, const im2col_limits *limits, tb_rng *shape,
                     tb_rng *values) {
    static const uint32_t op_weight[] = {4, 2, 1};
    cm_gemm_task *t = &w->t;
    task_noise_fields(shape, t); /* im2col must ignore most of them */
    t->op = (uint32_t)tb_rng_weighted(shape, op_weight, 3);
    t->wgt_res = tb_rng_chance(shape, 1, 2);
    t->wide = unit_int16(shape, limits->int16);
    t->zin = t->wide ? 0 : t->zin;
    const bool keep = before && before->t.wgt_res && tb_rng_chance(shape, 1, 3);
    t->group = (uint32_t)tb_rng_range(shape, 0, limits->group);
    do {
        draw_shape(t, limits, shape);
        if (keep) {
            t->wgt_res = true;
            t->op = before->t.op;
            t->wide = before->t.wide;
            t->zin = t->wide ? 0 : t->zin;
            t->kw = before->t.kw;
            t->kh = before->t.kh;
            t->ic = before->t.ic;
            t->oc = before->t.oc;
        }
    } while (!derive(w, limits));
    t->wgt_keep = keep && keeps(before, t);
    const size_t weights = (size_t)w->ocb * w->words;
    w->ifm = malloc((size_t)w->pixels * w->icw * N);
    w->weights = malloc(sizeof *w->weights * (weights + 1));
    if (!w->ifm || !w->weights) {
        return -1;
    }
    tb_rng_fill(values, w->ifm, (size_t)w->pixels * w->icw * N);
    tb_rng_fill(values, w->weights, sizeof *w->weights * weights);
    if (t->wgt_keep) {
        memcpy(w->weights, before->weights, sizeof *w->weights * weights);
    }
    return 0;
}

void im2col_work_free(im2col_work *w) {
    free(w->ifm);
    free(w->weights);
    memset(w, 0, sizeof *w);
}

/* ---- weights ---- */

static void load_done(im2col_bank *k, const im2col_work *w) {
    k->parity ^= w->t.wgt_res ? 0 : w->ocb & 1u;
    k->begun = false;
    k->task++;
}

static void load_block(im2col_bank *k, const im2col_work *w, uint32_t at) {
    memcpy(k->mem[at], w->weights[(size_t)k->ob * w->words], sizeof *k->mem * w->words);
    k->ob += 2;
}

void im2col_bank_load(im2col_bank *k, uint32_t index, const im2col_work *tasks, uint32_t known) {
    const bool go = unit_go(&k->stall);
    while (k->task < known && tasks[k->task].t.op == CONVERT) {
        k->task++;
    }
    if (k->task >= known) {
        return;
    }
    const im2col_work *w = &tasks[k->task];
    if (!k->begun) {
        if (w->t.wgt_res && (k->full || k->held)) {
            return;
        }
        k->begun = true;
        k->ob = w->t.wgt_res ? index : k->parity ^ index;
        if (w->t.wgt_res) {
            k->held = true;
            k->kept = w->t.wgt_keep ? k->kept : 0;
            k->blocks = k->kept;
        }
        k->ob = w->t.wgt_res && w->t.wgt_keep ? w->ocb : k->ob;
    }
    if (k->ob < w->ocb && go && (w->t.wgt_res || !(k->full || k->held))) {
        load_block(k, w, w->t.wgt_res ? k->blocks * w->words : 0);
        k->blocks += w->t.wgt_res;
        k->kept += w->t.wgt_res;
        k->full = !w->t.wgt_res;
    }
    if (k->ob >= w->ocb) {
        load_done(k, w);
    }
}

void im2col_bank_release(im2col_bank *k, bool keep, tb_rng *values) {
    k->full = k->held = false;
    k->blocks = 0;
    if (!keep) {
        tb_rng_fill(values, k->mem, sizeof *k->mem * IM2COL_WGT_WORDS);
    }
}
