/*
 * im2col_work.h - tasks for im2col: drawing them within the limits of docs/npu/npu.md section 3.2, and the
 * loaders of their weights.
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
    int int16;       /* UNIT_INT16_KNOB */
} im2col_limits;

typedef struct im2col_work {
    cm_gemm_task t;
    uint32_t icb, ocb, pixels;
    uint32_t icw;          /* words of a pixel */
    uint32_t words;        /* of weights of a block of output channels */
    uint32_t least;        /* words of ifm_buf with which the task can run */
    int8_t *ifm;           /* [ih][iw][icw*N] */
    int8_t (*weights)[32]; /* [ocb][words] */
} im2col_work;

/* `before`: the task before, or NULL; a task may keep its weights. 0 or -1 (out of memory). */
int im2col_work_make(im2col_work *w, const im2col_work *before, const im2col_limits *limits, tb_rng *shape,
                     tb_rng *values);
void im2col_work_free(im2col_work *w);

/*
 * One bank of wgt_buf and its loader, as the header of wgt_ld says: every second block of a task; banks of resident
 * tasks fill up while they are read.
 */
typedef struct im2col_bank {
    int8_t mem[IM2COL_WGT_WORDS][32];
    bool full, held;       /* by a block of a task without WGT_RES; by a task with it */
    uint32_t blocks, kept; /* of the task that it is assigned to; of the last one that loaded blocks */
    uint32_t task, ob;     /* next block to load */
    bool begun;            /* ob is valid */
    uint32_t parity;       /* of the task's first block among all without WGT_RES */
    unit_stall stall;
} im2col_bank;

/* One cycle of the loader of bank `index` (0, 1), which has got the first `known` tasks. */
void im2col_bank_load(im2col_bank *k, uint32_t index, const im2col_work *tasks, uint32_t known);
/* Released; its contents are invalid from now on unless the next task keeps them. */
void im2col_bank_release(im2col_bank *k, bool keep, tb_rng *values);

#endif
