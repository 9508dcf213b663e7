/*
 * im2col_work.h - tasks as im2col sees them: drawing them within the limits of docs/npu/npu.md section 3.2, the order of their blocks, what each block needs.
 */
#ifndef UNIT_IM2COL_WORK_H
#define UNIT_IM2COL_WORK_H

#include "bench.h"

#define IM2COL_IFM_WORDS 16384u
#define IM2COL_WGT_WORDS 4608u

/* Upper ends. */
typedef struct im2col_limits {
    uint64_t kernel, stride, dilation, pad, map, channels, group;
    uint64_t cycles; /* of the mesh */
} im2col_limits;

typedef struct im2col_work {
    cm_gemm_task t;
    uint32_t icb, ocb, pixels, tiles;
    uint32_t group;        /* tiles, as the hardware clips it */
    uint32_t blocks;       /* of a tile */
    uint32_t words;        /* of weights of a block of output channels */
    uint32_t least;        /* words of ifm_buf with which the task can run */
    int8_t *ifm;           /* [ih][iw][icb*N] */
    int8_t (*weights)[32]; /* [ocb][words] */
} im2col_work;

/* `before`: the task before, or NULL; a task may keep its weights. 0 or -1 (out of memory). */
int im2col_work_make(im2col_work *w, const im2col_work *before, const im2col_limits *limits, tb_rng *shape, tb_rng *values);
void im2col_work_free(im2col_work *w);

/* A block in the order in which the mesh works. */
typedef struct im2col_walk {
    uint32_t first; /* tile: of the group, with WGT_RES = 0 of the map */
    uint32_t ob, tile, block;
    bool end;
} im2col_walk;
void im2col_next(const im2col_work *w, im2col_walk *k);
/* Leading pixels of the input that its tile needs, whole rows. */
uint32_t im2col_need(const im2col_work *w, const im2col_walk *k);

/* The 2N vectors of a block, and word r of its weights. */
void im2col_vectors(const im2col_work *w, const im2col_walk *k, int8_t *out);
void im2col_weights(const im2col_work *w, const im2col_walk *k, uint32_t r, int8_t *out);

/* One bank of wgt_buf and its loader, as the header of wgt_ld says: every second block of a task; banks of resident tasks fill up while they are read. */
typedef struct im2col_bank {
    int8_t (*mem)[32];
    bool full, held;       /* by a block of a task without WGT_RES; by a task with it */
    uint32_t blocks, kept; /* of the task that holds it; of the last one that loaded blocks */
    uint32_t task, ob;     /* next block to load */
    bool begun;            /* ob is valid */
    uint32_t parity;       /* of the task's first block among all without WGT_RES */
    unit_stall stall;
} im2col_bank;

/* One cycle of the loader of bank `index` (0, 1), which knows the first `known` tasks. */
void im2col_bank_load(im2col_bank *k, uint32_t index, const im2col_work *tasks, uint32_t known);
/* Released; what it held is garbage from now on unless the next task keeps it. */
void im2col_bank_release(im2col_bank *k, bool keep, tb_rng *values);

#endif
