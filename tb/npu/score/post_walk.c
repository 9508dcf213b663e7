#include "post_walk.h"
#include "num.h"

void npu_score_post_work_set(npu_score_post_work *w, const cm_gemm_task *t, uint32_t n, uint32_t chan) {
    const uint32_t most = 512 / n >> t->wide;
    w->t = *t;
    w->n = n;
    w->chan = chan;
    w->pixels = t->ow * t->oh;
    w->tiles = (w->pixels + 2 * n - 1) / (2 * n);
    w->ocb = tb_div_up(t->oc, n);
    w->group = t->group == 0 ? 1 : t->group < most ? t->group : most;
}

static bool by_tiles(const npu_score_post_walk *k) {
    return k->kind == NPU_WALK_TILES || k->kind == NPU_WALK_TILE_CHANNELS;
}

static void next_group(const npu_score_post_work *w, npu_score_post_walk *k) {
    const uint32_t tiles = npu_score_post_walk_tiles(w, k);
    k->sub = 0;
    k->ready = false;
    k->groups++;
    k->passed += tiles;
    if (w->t.wgt_res) { /* groups outermost */
        if (++k->ob == w->ocb) {
            k->ob = 0;
            k->tile += tiles;
            k->end = k->tile >= w->tiles;
        }
        return;
    }
    k->tile += tiles;
    if (k->tile >= w->tiles) {
        k->tile = 0;
        k->end = ++k->ob >= w->ocb;
    }
}

static uint32_t first_column(const npu_score_post_work *w, const npu_score_post_walk *k) {
    return k->kind == NPU_WALK_CHANNELS ? w->chan : 0;
}

static void next_tile(const npu_score_post_work *w, npu_score_post_walk *k) {
    if (++k->sub == npu_score_post_walk_tiles(w, k)) {
        next_group(w, k);
    }
}

/* Skips columns that do not exist. */
static void settle(const npu_score_post_work *w, npu_score_post_walk *k) {
    while (!k->end && (k->col >= w->n || npu_score_post_walk_channel(w, k) >= w->t.oc)) {
        k->col = first_column(w, k);
        if (k->kind == NPU_WALK_CHANNELS) {
            next_group(w, k);
        } else {
            next_tile(w, k);
        }
    }
}

npu_score_post_walk npu_score_post_walk_first(const npu_score_post_work *w, npu_score_post_walk_kind kind) {
    npu_score_post_walk k = {.kind = kind};
    k.end = w->tiles == 0 || w->ocb == 0;
    k.col = first_column(w, &k);
    if (kind == NPU_WALK_CHANNELS || kind == NPU_WALK_TILE_CHANNELS) {
        settle(w, &k);
    }
    return k;
}

__attribute__((hot)) void npu_score_post_walk_next(const npu_score_post_work *w, npu_score_post_walk *k) {
    k->word = 0;
    switch (k->kind) {
    case NPU_WALK_GROUPS:
        next_group(w, k);
        break;
    case NPU_WALK_TILES:
        next_tile(w, k);
        break;
    default:
        k->col += k->kind == NPU_WALK_CHANNELS ? 2 : 1;
        settle(w, k);
        break;
    }
}

__attribute__((hot)) uint32_t npu_score_post_walk_pixel(const npu_score_post_work *w, const npu_score_post_walk *k) {
    return (k->tile + (by_tiles(k) ? k->sub : 0)) * 2 * w->n;
}

__attribute__((hot)) uint32_t npu_score_post_walk_pixels(const npu_score_post_work *w, const npu_score_post_walk *k) {
    const uint32_t left = w->pixels - npu_score_post_walk_pixel(w, k);
    const uint32_t most = (by_tiles(k) ? 1 : npu_score_post_walk_tiles(w, k)) * 2 * w->n;
    return left < most ? left : most;
}
