/*
 * im2col_state.h - shared by the two files of im2col's check: im2col.c follows the unit and compares, im2col_report.c
 * finds out what differs.
 */
#ifndef NPU_SCORE_IM2COL_STATE_H
#define NPU_SCORE_IM2COL_STATE_H

#include "gemm_work.h"

#define N_MAX 32u
#define RING 16384u
#define TOGETHER 8u /* pixels, of which a tile has a multiple: for vector instructions */

/* Outputs of one bit, as a word of flags; the first one is its highest bit. */
#define FLAGS                                                                                                          \
    act_valid_o, acc_first_o, acc_last_o, sel_o, act_wide_o, wgt_wide_o, wgt_p_o, mesh_en_o, wgt_re_o, wgt_bank_o,     \
        ifm_re_o
#define IFM_RE 0x1u
#define WGT_BANK 0x2u
#define WGT_RE 0x4u
#define READS 0x7u /* of this cycle; the other ones belong to the reads of the cycle before */
#define MESH_EN 0x8u
#define WGT_P 0x10u
#define WGT_WIDE 0x20u
#define ACT_WIDE 0x40u
#define SEL 0x80u
#define LAST 0x100u
#define FIRST 0x200u
#define ACT_VALID 0x400u
#define WORD 0x800u       /* no signal: a word of weights is due, */
#define DIAGONAL 0x1000u  /* which is one of a diagonal */
#define CONV_OF_8 0x2000u /* no signal: N is 8, and mesh and buffers get all that a convolution needs */
#define FLAG_COUNT 11u
/* Outputs that are 0 in most cycles. */
#define EVENTS wait_ifm_o, wait_wgt_o, wait_ofm_o, tile_start_o, free_o, task_pop_o, wgt_release_o
#define EVENT_COUNT 7u
#define PORTS                                                                                                          \
    FLAGS, EVENTS, task_valid_i, ifm_all_i, pix_ready_i, wgt_full_i, wgt_blocks_i, free_words_o, tile_room_i,          \
        wgt_raddr_o, wgt_rdata_i, ifm_raddr_o[2], ifm_rdata_i[2], wgt_word_o, act_o[2]

/* What flags must be. */
typedef struct im2col_flags {
    uint32_t want, care; /* care: bits to compare */
} im2col_flags;

typedef struct im2col_state {
    /* ---- members used in every cycle ---- */
    const uint8_t *flag[FLAG_COUNT], *event[EVENT_COUNT];
    const void *act[2], *ifm[2], *word, *wgt; /* data to the mesh, and those of the buffers that they come from */
    const void *ifm_raddr[2], *wgt_raddr;     /* 9 to 16 bits */
    im2col_flags now, steady; /* of this cycle; of all cycles of the blocks in the stages but their first one */
    uint32_t step, shown;     /* of the blocks; of the outputs to the mesh, which follow the reads by a cycle */
    uint32_t attend;          /* from this step on, starts of tiles and the end of the blocks have to be followed */
    bool in_tile;             /* but not in these blocks: they are followed by another one of their tile */
    uint32_t n;
    uint32_t busy;        /* cycles for which the mesh must stay enabled after the last vector */
    uint32_t late, ready; /* cycles for which rows; input and weights of the next tile have been available */
    uint32_t inside[2];   /* stream: not 0 when the vector's pixel is inside the map */
    /* address of the word of weights in this step: weight_base - (step & weight_step) */
    uint32_t weight_base, weight_step;
    uint64_t enabled, weights, vectors; /* not cleared by a reset */
    /* addresses of both streams in every step of the block; mask: RING - 1, 0 outside the map */
    uint32_t addr[4 * N_MAX], mask[4 * N_MAX];
    int8_t padding[N_MAX];
    int8_t line[2 * N_MAX - 1]; /* zeros around element N_MAX - 1: words of the diagonal */
    /* ---- the task ---- */
    bool have;
    bool w_valid, a_valid, w_bank;
    bool p_now, a_sel;
    bool pp;          /* bank of the next block of weights without wgt_res */
    uint32_t last;    /* step of the blocks in the stages; 0: both are empty */
    uint32_t release; /* of banks of weights, in that step */
    npu_score_shape *t;
    im2col_flags all, words;   /* flags: of all blocks of the task; of those in the weight stage */
    uint32_t base;             /* of its input in the ring */
    uint32_t freed;            /* words released */
    uint32_t need;             /* pixels for the next tile */
    npu_score_walk next, w, a; /* next tile to start; blocks in the weight stage and the activation stage */
    npu_score_walk before;     /* block in the activation stage before `a` */
    /* pixels of the tile in the activation stage, for the first position of the kernel: place in the input (beyond it,
     * modulo 2^32, when outside) and address of its word */
    uint32_t y[2 * N_MAX + TOGETHER], x[2 * N_MAX + TOGETHER], at[2 * N_MAX + TOGETHER];
    npu_score_work work;
    TB_PORTS(ports, PORTS);
    tb_sig shape[NPU_SCORE_SHAPE_SIGS];
} im2col_state;

/* ---- im2col_report.c ---- */

/* The failure of this cycle: flags, data or addresses differ. */
__attribute__((cold)) void npu_im2col_differs(tb_check *c, uint32_t got);
/* A failure of pixel `pixel` of the tile of block `k`. */
__attribute__((cold)) void npu_im2col_fail(tb_check *c, const char *stream, uint64_t transaction,
                                           const npu_score_walk *k, uint32_t pixel, const char *got,
                                           const char *expected);

/* ---- im2col.c ---- */

static inline npu_score_block npu_im2col_block(const im2col_state *s, const npu_score_walk *k) {
    return (npu_score_block){.task = s->t->number, .at = *k};
}

/* The word of weights that is due. */
static inline const int8_t *npu_im2col_word(im2col_state *s) {
    if ((s->now.want & DIAGONAL) == 0) {
        return (const int8_t *)s->wgt;
    }
    /* not of a convolution: a word of the diagonal */
    const bool wide = s->t->wide;
    const uint32_t row = s->n - 1 - (s->shown >> wide);
    const bool high = wide && s->shown % 2 == 0; /* INT16: the word has the high bytes of its row */
    s->line[N_MAX - 1] = s->t->op == NPU_SCORE_CONVERT ? !high : ((const int8_t *)s->wgt)[row];
    return &s->line[N_MAX - 1 - row];
}

/* The vector that is due. */
static inline const int8_t *npu_im2col_vector(const im2col_state *s, uint32_t stream) {
    return (const int8_t *)(s->inside[stream] != 0 ? s->ifm[stream] : s->padding);
}

#endif
