/*
 * gemm_work.h - the order of work in the GEMM (docs/npu/npu.md section 4.2): tiles, blocks, and the position of a
 * vector or a sum in the task.
 */
#ifndef NPU_GEMM_WORK_H
#define NPU_GEMM_WORK_H

#include "score.h"

typedef enum npu_score_op { NPU_SCORE_CONV, NPU_SCORE_DEPTHWISE, NPU_SCORE_CONVERT } npu_score_op;

/* A task of im2col, and values derived from it. */
typedef struct npu_score_shape {
    uint64_t number;
    uint32_t op;
    bool wgt_res, wide;
    uint32_t kw, kh, sw, sh, dw, dh, pad_l, pad_t, iw, ih, ic, ow, oh, oc, zin;
    uint32_t icb, ocb, pixels, tiles, group;
    uint32_t icw;       /* words of an input pixel */
    uint32_t cycles;    /* of a block */
    uint32_t blocks;    /* of a tile */
    uint32_t words;     /* of weights of a block of output channels */
    uint32_t ifm_words; /* of the whole input */
} npu_score_shape;

/* Members of the task that make a shape, as signals of a tap: `wgt_res` is task_wgt_res_i. */
#define NPU_SCORE_SHAPE_SIGS 19u
/* Find them. 0 or -1 with one line in err. */
int npu_score_shape_open(tb_check *c, tb_sig sig[NPU_SCORE_SHAPE_SIGS], char *err, size_t err_size);
/* Take the shape from them. */
void npu_score_shape_read(npu_score_shape *t, uint32_t n, const tb_sig sig[NPU_SCORE_SHAPE_SIGS]);

/* A block in the order of the mesh's work. */
typedef struct npu_score_walk {
    uint32_t first; /* tile of the group; without wgt_res of the map */
    uint32_t ob, tile, block;
    uint32_t ky, kx, ib; /* kernel position and channel block of the block's input */
    bool end;            /* there is no such block: the task is over */
} npu_score_walk;

/* The next block of the tile; it must have one. */
void npu_score_walk_block(const npu_score_shape *t, npu_score_walk *k);
/* The first block of the next tile. */
void npu_score_walk_tile(const npu_score_shape *t, npu_score_walk *k);
/* Leading pixels of the input that the tile needs, whole rows. */
uint32_t npu_score_need(const npu_score_shape *t, uint32_t n, const npu_score_walk *k);
/* The first row of the input that its group needs; ih when none. */
uint32_t npu_score_first_row(const npu_score_shape *t, uint32_t n, const npu_score_walk *k);

/* ---- places of vectors and sums in a task, for reports of the units after im2col ---- */
#define NPU_SCORE_SHAPES 16u /* more than the queue holds */
#define NPU_SCORE_BLOCKS 16u /* more than are in flight */
#define NPU_SCORE_TILES 512u /* more than ofm_buf holds */

typedef struct npu_score_block {
    uint64_t vector; /* number of its first vector: cycles in which the mesh was enabled before it */
    uint64_t task;
    npu_score_walk at;
} npu_score_block;

typedef struct npu_score_work {
    npu_score_shape shape[NPU_SCORE_SHAPES]; /* by task */
    npu_score_block block[NPU_SCORE_BLOCKS], tile[NPU_SCORE_TILES];
    uint64_t tasks, blocks, tiles; /* tiles: since reset */
    uint32_t n;
} npu_score_work;

static inline npu_score_shape *npu_score_task(npu_score_work *w, uint64_t number) {
    return &w->shape[number % NPU_SCORE_SHAPES];
}

/*
 * Text about pixel `pixel` (0..2N-1) of the tile of a block: "output channel 5, output pixel (3, 17), kernel (0, 2),
 * channel block 1". column: of the mesh, N for all; without `kernel` no position in the kernel and the input.
 */
void npu_score_block_text(const npu_score_work *w, const npu_score_block *b, uint32_t pixel, uint32_t column,
                          bool kernel, char *dst, size_t size);

/* The work that the im2col of this design has done; NULL when it has no check. */
const npu_score_work *npu_score_work_of(const tb_check *c);
/* Place of a result of vector number `vector`; sets c->task. An empty text when that is not known. */
void npu_score_vector_text(tb_check *c, uint64_t vector, uint32_t stream, uint32_t column, bool kernel, char *dst,
                           size_t size);
/* The same for a sum, by the number of its tile since reset. */
void npu_score_tile_text(tb_check *c, uint64_t tile, uint32_t pixel, uint32_t column, char *dst, size_t size);

#endif
