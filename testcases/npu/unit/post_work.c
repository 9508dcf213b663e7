/* post_work.c - random tasks for post. */
#include "post_work.h"

#include <stdlib.h>
#include <string.h>

#include "task_noise.h"

#define N ((uint32_t)NPU_CFG_N)

static uint32_t draw_float(tb_rng *rng, bool hard) {
    const float real = tb_rng_f32_range(rng, -2.0f, 2.0f);
    const uint32_t any = tb_rng_f32_hard(rng);
    const uint32_t small =
        /* around 2^-24: large sums come into the range of the activations */
        cm_fp_mul(0x33800000u, any << 16 | 0x3f800000u);
    uint32_t bits;
    memcpy(&bits, &real, 4);
    return hard ? any : (any & 3u) == 0 ? small : bits;
}

static void draw_fields(cm_gemm_task *t, const post_limits *limits, tb_rng *shape, tb_rng *values) {
    task_noise_fields(shape, t); /* post must ignore most of them */
    const uint32_t bits = tb_rng_u32(shape);
    t->op = bits % 3;
    t->wgt_res = (bits >> 9) & 1u;
    t->wgt_keep = t->wgt_res && ((bits >> 10) & 1u);
    t->raw_out = ((bits >> 2) & 3u) == 0;
    t->psum_add = (bits >> 4) & 1u;
    t->oscale_en = !t->raw_out && ((bits >> 5) & 3u) != 0;
    t->bias_en = !t->raw_out && ((bits >> 7) & 3u) != 0;
    t->ibias = t->ibias && t->bias_en;
    if (tb_rng_chance(shape, 1, 2)) {
        t->zout = t->rne = t->full = 0;
    }
    t->requant = !t->raw_out && ((bits >> 11) & 1u);
    t->wide = unit_int16(shape, limits->int16);
    if (t->wide) {
        t->ibias = t->rne = t->full = false;
        t->zin = t->zout = 0;
    }
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
    const uint32_t sum = 4u << t->wide;
    t->ofm_addr = tb_rng_u32(shape) & ~(sum - 1);
    t->psum_addr = tb_rng_u32(shape) & ~(sum - 1);
    t->ofm_cstep = (t->ow * t->oh * sum + 15 + (tb_rng_u32(shape) & 0xfffu)) & ~15u;
    t->psum_cstep = (t->ow * t->oh * sum + sum - 1 + (tb_rng_u32(shape) & 0xfffu)) & ~(sum - 1);
    if (t->requant) { /* the pitch of a pixel; N only with one block of channels */
        const uint32_t least = (t->oc + N - 1) / N, block = N << t->wide;
        t->ofm_addr &= ~(block - 1);
        t->ofm_cstep = block * (uint32_t)(tb_rng_chance(shape, 1, 2) ? least : tb_rng_range(shape, least, least + 8));
    }
}

static void fill(post_work *w, size_t sums, bool hard, tb_rng *values) {
    for (size_t i = 0; i < sums; i++) {
        const uint32_t x = tb_rng_u32(values);
        w->sums[i] = (int32_t)(x >> (x % 29)) * ((x & 64u) ? 1 : -1);
    }
    for (size_t i = 0; i < ((size_t)w->order.t.oc * w->order.pixels) << w->order.t.wide; i++) {
        const uint32_t x = tb_rng_u32(values);
        w->psums[i] = (int32_t)(x << (x % 29));
    }
    for (uint32_t i = 0; i < w->order.t.oc; i++) {
        w->oscale[i] = draw_float(values, hard);
        w->bias[i] = draw_float(values, hard);
    }
}

int post_work_make(post_work *w, const post_limits *limits, tb_rng *shape, tb_rng *values) {
    cm_gemm_task t;
    draw_fields(&t, limits, shape, values);
    npu_score_post_work_set(&w->order, &t, N, 0);
    const size_t sums = (size_t)w->order.ocb * w->order.tiles * N * POST_WORDS;
    w->sums = malloc(sums * sizeof *w->sums);
    w->psums = malloc((size_t)t.oc * w->order.pixels * 2 * sizeof *w->psums);
    w->oscale = calloc(t.oc + 4u, sizeof *w->oscale);
    w->bias = calloc(t.oc + 4u, sizeof *w->bias);
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
