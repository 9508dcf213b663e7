/*
 * pool_bench.h - random POOL tasks on a memory image, for the bench of the pool unit.
 */
#ifndef UNIT_POOL_BENCH_H
#define UNIT_POOL_BENCH_H

#include "bench.h"

#define POOL_BASE UINT32_C(0x40000000)
#define POOL_IMAGE UINT32_C(0x400000) /* bytes */

/* Windows and maps. */
enum { POOL_MIXED, POOL_HUGE, POOL_WIDE, POOL_GLOBAL, POOL_SMALL, POOL_TALL, POOL_FULL, POOL_SHAPES };
extern const char *const pool_shape_names[POOL_SHAPES];

typedef struct pool_space {
    uint32_t shape;
    uint64_t work;      /* most taps on one channel, about (POOL_FULL: 65025) */
    uint32_t channels;  /* most channels */
    uint32_t int8, avg; /* percent of the tasks */
    bool hard;          /* FP32 corner values */
    bool same;          /* all INT8 elements are alike */
    int data;           /* of unit_fill_i8 */
    bool ideal;         /* one of the known shapes, packed */
    uint32_t index;     /* which of them, modulo their number */
} pool_space;

typedef struct pool_image {
    uint8_t *now;
    uint32_t used; /* bytes from the start on that the task may touch */
} pool_image;

/* True when the range lies inside the image. */
bool pool_inside(uint32_t addr, uint32_t bytes);
/* Draw a task within docs/npu/npu.md section 3.4 and fill the image. */
void pool_draw(tb_rng *rng, const pool_space *space, cm_pool_task *task, pool_image *image);

#endif
