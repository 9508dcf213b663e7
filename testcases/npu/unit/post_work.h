/*
 * post_work.h - random tasks for post: descriptor, sums, partial sums and factors.
 */
#ifndef UNIT_POST_WORK_H
#define UNIT_POST_WORK_H

#include "bench.h"
#include "score/post_walk.h"

#define POST_TILE (2u * NPU_CFG_N)  /* pixels */
#define POST_WORDS (2u * POST_TILE) /* int32 of a tile and column, as INT16 has them; INT8: the first half */

typedef struct post_work {
    npu_score_post_work order; /* the task, and the order of its groups */
    int32_t *sums;             /* [block of output channels][tile][column][POST_WORDS] */
    int32_t *psums;            /* [output channel][pixel], INT16: int64, low half first */
    uint32_t *oscale, *bias;   /* [output channels, up to a multiple of 4] */
} post_work;

/* Most pixels, output channels, tiles of a group; hard: floats are any. */
typedef struct post_limits {
    uint64_t pixels, channels, group;
    bool hard;
    int int16; /* UNIT_INT16_KNOB */
} post_limits;
/* Draw a task. 0 or -1 (out of memory). */
int post_work_make(post_work *w, const post_limits *limits, tb_rng *shape, tb_rng *values);
void post_work_free(post_work *w);

#endif
