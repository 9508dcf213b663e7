/*
 * post_order.h - a task as post sees it, from docs/npu/npu.md sections 3 and 4: its sums and factors, the order of its jobs on each channel, every result.
 */
#ifndef UNIT_POST_ORDER_H
#define UNIT_POST_ORDER_H

#include "bench.h"
#include "nhwc.h"

#define POST_TILE (2u * NPU_CFG_N) /* pixels */

typedef struct post_work {
    cm_gemm_task t;
    uint32_t pixels, tiles, ocb, group; /* group as the hardware clips it */
    int32_t *sums;                      /* [ocb][tile][column][pixel] */
    int32_t *psums;                     /* [oc][pixel] */
    uint32_t *oscale, *bias;            /* [align(oc, 4)] */
} post_work;

/* Draw a task with at most so many pixels, output channels, tiles of a group; hard: floats are any. 0 or -1 (out of memory). */
typedef struct post_limits {
    uint64_t pixels, channels, group;
    bool hard;
} post_limits;
int post_work_make(post_work *w, const post_limits *limits, tb_rng *shape, tb_rng *values);
void post_work_free(post_work *w);

/* What a walk goes over, in the order in which one channel does. */
typedef enum post_kind {
    POST_GROUPS, /* groups of tiles of one block of output channels */
    POST_WRITES, /* FP32: write jobs; REQUANT: blocks of requantised pixels */
    POST_PSUMS   /* reads of partial sums */
} post_kind;

typedef struct post_walk {
    post_kind kind;
    uint32_t chan;
    uint32_t ob, tile; /* block of output channels; first tile of the group */
    uint32_t sub, col; /* REQUANT: tile of the group; column of the block of output channels */
    uint32_t word;     /* job or word of this place; reset at each step */
    bool end;
    nhwc_block block; /* REQUANT, POST_WRITES: what this place writes */
} post_walk;

post_walk post_first(const post_work *w, post_kind kind, uint32_t chan);
void post_next(const post_work *w, post_walk *k);
/* Same place, the word left out. */
bool post_same(const post_walk *a, const post_walk *b);

/* Tiles of the group of this place. */
uint32_t post_group_tiles(const post_work *w, const post_walk *k);
/* First pixel and number of pixels of this place: of the group, with REQUANT of the tile. */
uint32_t post_pixel(const post_work *w, const post_walk *k);
uint32_t post_pixels(const post_work *w, const post_walk *k);
/* Output channel of this place. */
uint32_t post_channel(const post_walk *k);
/* The 32 bits of a result. */
uint32_t post_result(const post_work *w, uint32_t oc, uint32_t pixel);
/* POST_WRITES, not at the end: the next write job, or the next word of data (pixel: of the map); then on. A walk takes the ones or the others. */
nhwc_job post_take_job(const post_work *w, post_walk *k);
nhwc_beat post_take_beat(const post_work *w, post_walk *k);

#endif
