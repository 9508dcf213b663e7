/* gemm_work.c - tiles and blocks of a GEMM task. */
#include "gemm_work.h"
#include "num.h"

#include <inttypes.h>
#include <stdio.h>

/* In the order in which npu_score_shape_read() takes them. */
static const char *const shape_names[NPU_SCORE_SHAPE_SIGS] = {"op",    "kw",    "kh",      "sw",  "sh",  "dw", "dh",
                                                              "pad_l", "pad_t", "iw",      "ih",  "ic",  "ow", "oh",
                                                              "oc",    "group", "wgt_res", "zin", "wide"};

int npu_score_shape_open(tb_check *c, tb_sig sig[NPU_SCORE_SHAPE_SIGS], char *err, size_t err_size) {
    for (size_t i = 0; i < NPU_SCORE_SHAPE_SIGS; i++) {
        char name[32];
        snprintf(name, sizeof name, "task_%s_i", shape_names[i]);
        if (tb_check_sig(c, name, 0, &sig[i], err, err_size) != 0) {
            return -1;
        }
    }
    return 0;
}

void npu_score_shape_read(npu_score_shape *t, uint32_t n, const tb_sig sig[NPU_SCORE_SHAPE_SIGS]) {
    uint32_t group, res, wide;
    uint32_t *const member[NPU_SCORE_SHAPE_SIGS] = {&t->op,    &t->kw,    &t->kh, &t->sw,  &t->sh, &t->dw, &t->dh,
                                                    &t->pad_l, &t->pad_t, &t->iw, &t->ih,  &t->ic, &t->ow, &t->oh,
                                                    &t->oc,    &group,    &res,   &t->zin, &wide};
    for (size_t i = 0; i < NPU_SCORE_SHAPE_SIGS; i++) {
        *member[i] = (uint32_t)tb_get(sig[i]);
    }
    t->wgt_res = res != 0;
    t->wide = wide != 0;
    t->icb = tb_div_up(t->ic, n);
    t->icw = t->icb << t->wide;
    t->cycles = n << t->wide;
    t->ocb = tb_div_up(t->oc, n);
    t->pixels = t->ow * t->oh;
    t->tiles = (t->pixels + 2 * n - 1) / (2 * n);
    t->group = group == 0 ? 1 : tb_min_u32(group, 512 / n >> t->wide);
    t->blocks = t->kw * t->kh * (t->op == NPU_SCORE_CONV ? t->icb : 1);
    t->words = (t->op == NPU_SCORE_CONV ? t->blocks * n : t->op == NPU_SCORE_DEPTHWISE ? t->blocks : 0) << t->wide;
    t->ifm_words = t->iw * t->ih * t->icw;
}

__attribute__((hot)) void npu_score_walk_block(const npu_score_shape *t, npu_score_walk *k) {
    k->block++;
    if (t->op == NPU_SCORE_CONV && ++k->ib < t->icb) {
        return;
    }
    k->ib = t->op == NPU_SCORE_CONV ? 0 : k->ob;
    if (++k->kx == t->kw) {
        k->kx = 0;
        k->ky++;
    }
}

__attribute__((hot)) void npu_score_walk_tile(const npu_score_shape *t, npu_score_walk *k) {
    const uint32_t end = t->wgt_res ? tb_min_u32(k->first + t->group, t->tiles) : t->tiles;
    k->block = k->ky = k->kx = 0;
    if (++k->tile == end) {
        k->tile = k->first;
        if (++k->ob == t->ocb) {
            k->ob = 0;
            k->tile = k->first = end;
            k->end = end == t->tiles;
        }
    }
    k->ib = t->op == NPU_SCORE_CONV ? 0 : k->ob;
}

static uint32_t clip_row(const npu_score_shape *t, int64_t row) {
    return row < 0 ? 0 : row > t->ih ? t->ih : (uint32_t)row;
}

__attribute__((hot)) uint32_t npu_score_need(const npu_score_shape *t, uint32_t n, const npu_score_walk *k) {
    const uint32_t last = tb_min_u32((k->tile + 1) * 2 * n, t->pixels) - 1;
    const int64_t row = (int64_t)(last / t->ow) * t->sh - t->pad_t + (int64_t)(t->kh - 1) * t->dh;
    return clip_row(t, row + 1) * t->iw;
}

uint32_t npu_score_first_row(const npu_score_shape *t, uint32_t n, const npu_score_walk *k) {
    return k->end ? t->ih : clip_row(t, (int64_t)(k->first * 2 * n / t->ow) * t->sh - t->pad_t);
}

void npu_score_block_text(const npu_score_work *w, const npu_score_block *b, uint32_t pixel, uint32_t column,
                          bool kernel, char *dst, size_t size) {
    const npu_score_shape *t = &w->shape[b->task % NPU_SCORE_SHAPES];
    const uint32_t p = b->at.tile * 2 * w->n + pixel;
    char channel[48], position[64] = "", at[48];
    if (column < w->n) {
        snprintf(channel, sizeof channel, "output channel %" PRIu32 ", ", b->at.ob * w->n + column);
    } else {
        snprintf(channel, sizeof channel, "output channels %" PRIu32 "-%" PRIu32 ", ", b->at.ob * w->n,
                 (b->at.ob + 1) * w->n - 1);
    }
    if (p < t->pixels) {
        snprintf(at, sizeof at, "output pixel (%" PRIu32 ", %" PRIu32 ")", p / t->ow, p % t->ow);
    } else {
        snprintf(at, sizeof at, "pixel %" PRIu32 " past the last", p - t->pixels);
    }
    if (kernel) {
        snprintf(position, sizeof position, ", kernel (%" PRIu32 ", %" PRIu32 "), channel block %" PRIu32, b->at.ky,
                 b->at.kx, b->at.ib);
    }
    snprintf(dst, size, "%s%s%s", channel, at, position);
}

void npu_score_vector_text(tb_check *c, uint64_t vector, uint32_t stream, uint32_t column, bool kernel, char *dst,
                           size_t size) {
    const npu_score_work *w = npu_score_work_of(c);
    /* the bench of the unit has no tasks */
    snprintf(dst, size, "stream %" PRIu32 ", column %" PRIu32, stream, column);
    for (uint32_t i = 0; w != NULL && i < NPU_SCORE_BLOCKS && i < w->blocks; i++) {
        const npu_score_block *b = &w->block[i];
        const npu_score_shape *t = &w->shape[b->task % NPU_SCORE_SHAPES];
        if (vector >= b->vector && vector - b->vector < t->cycles) {
            const uint32_t step = (uint32_t)(vector - b->vector);
            c->task = b->task;
            npu_score_block_text(w, b, t->wide ? step : 2 * step + stream, column, kernel, dst, size);
            return;
        }
    }
}

void npu_score_tile_text(tb_check *c, uint64_t tile, uint32_t pixel, uint32_t column, char *dst, size_t size) {
    const npu_score_work *w = npu_score_work_of(c);
    snprintf(dst, size, "tile %" PRIu64 ", pixel %" PRIu32 ", column %" PRIu32, tile, pixel, column);
    if (w == NULL || tile >= w->tiles || w->tiles - tile > NPU_SCORE_TILES) {
        return;
    }
    const npu_score_block *b = &w->tile[tile % NPU_SCORE_TILES];
    c->task = b->task;
    npu_score_block_text(w, b, pixel, column, false, dst, size);
}
