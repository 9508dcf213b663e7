/*
 * post_walk.h - the order in which one post unit processes its task (docs/npu/npu.md section 4.2), for its check.
 */
#ifndef NPU_SCORE_POST_WALK_H
#define NPU_SCORE_POST_WALK_H

#include "score.h"

typedef struct npu_score_post_work {
    cm_gemm_task t;
    uint32_t n, chan;
    uint32_t pixels, tiles, ocb;
    uint32_t group; /* tiles, as the hardware limits GEMM_GROUP.TILES */
} npu_score_post_work;

typedef enum npu_score_post_walk_kind {
    NPU_WALK_GROUPS,       /* groups of tiles of one block of output channels */
    NPU_WALK_CHANNELS,     /* the unit's output channels of each group (FP32) */
    NPU_WALK_TILES,        /* tiles of each group (REQUANT) */
    NPU_WALK_TILE_CHANNELS /* all output channels of each tile (REQUANT, partial sums) */
} npu_score_post_walk_kind;

typedef struct npu_score_post_walk {
    npu_score_post_walk_kind kind;
    uint32_t ob, tile; /* block of output channels; first tile of the group */
    uint32_t sub, col; /* tile of the group; column of the block */
    uint32_t word;     /* for the user; 0 at each new place */
    uint64_t groups;   /* passed */
    uint64_t passed;   /* tiles of these groups */
    bool end;
    bool ready; /* for the user; false at the first place of each group, and at the end */
} npu_score_post_walk;

void npu_score_post_work_set(npu_score_post_work *w, const cm_gemm_task *t, uint32_t n, uint32_t chan);
/* First place of a walk; at the end already when there is none. */
npu_score_post_walk npu_score_post_walk_first(const npu_score_post_work *w, npu_score_post_walk_kind kind);
void npu_score_post_walk_next(const npu_score_post_work *w, npu_score_post_walk *k);
/* Tiles of the group. */
static inline uint32_t npu_score_post_walk_tiles(const npu_score_post_work *w, const npu_score_post_walk *k) {
    const uint32_t left = w->tiles - k->tile;
    return left < w->group ? left : w->group;
}
/* First pixel of the place and number of its pixels: of the tile for walks over tiles, else of the group. */
uint32_t npu_score_post_walk_pixel(const npu_score_post_work *w, const npu_score_post_walk *k);
uint32_t npu_score_post_walk_pixels(const npu_score_post_work *w, const npu_score_post_walk *k);
static inline uint32_t npu_score_post_walk_channel(const npu_score_post_work *w, const npu_score_post_walk *k) {
    return k->ob * w->n + k->col;
}

#endif
