/*
 * im2col_state.h - shared by the files of im2col's check: im2col.c follows the unit and compares, im2col_addr.c has the
 * addresses of its reads, im2col_report.c finds out what differs.
 */
#ifndef NPU_SCORE_IM2COL_STATE_H
#define NPU_SCORE_IM2COL_STATE_H

#include "gemm_work.h"

#define N_MAX 32u
#define RING 16384u
#define TOGETHER 8u /* pixels, of which a tile has a multiple: for vector instructions */

/*
 * Flags are outputs of one bit in a word: the bytes of ROW, and in bits 1 to 7, which the first signal of the row does
 * not have, those of FLAGS. Both are rows of signals that often lie side by side in memory.
 */
#define ROW act_valid_o, wait_ifm_o, wait_wgt_o, wait_ofm_o, tile_start_o, act_wide_o, acc_first_o, acc_last_o
#define ACT_VALID UINT64_C(0x1)
#define ROW_EVENTS 8u /* from this bit on: four outputs that are 0 in most cycles */
#define ACT_WIDE UINT64_C(0x10000000000)
#define FIRST UINT64_C(0x1000000000000)
#define LAST UINT64_C(0x100000000000000)
#define FLAGS free_o, sel_o, wgt_wide_o, wgt_p_o, ifm_re_o, wgt_bank_o, wgt_re_o, mesh_en_o
#define FLAGS_EVENTS UINT64_C(0x1) /* the first one, too */
#define SEL UINT64_C(0x2)
#define WGT_WIDE UINT64_C(0x4)
#define WGT_P UINT64_C(0x8)
#define IFM_RE UINT64_C(0x10)
#define WGT_BANK UINT64_C(0x20)
#define WGT_RE UINT64_C(0x40)
#define MESH_EN UINT64_C(0x80)
#define READS (WGT_RE | WGT_BANK | IFM_RE) /* of this cycle; the other ones belong to the reads of the cycle before */
/* no signals: */
#define WORD UINT64_C(0x200)      /* a word of weights is due, */
#define DIAGONAL UINT64_C(0x400)  /* which is one of a diagonal */
#define CONV_OF_8 UINT64_C(0x800) /* N is 8, and mesh and buffers get all that a convolution needs */
#define PORTS                                                                                                          \
    ROW, FLAGS, task_pop_o, wgt_release_o, tile_room_i, task_valid_i, ifm_all_i, pix_ready_i, wgt_full_i,              \
        wgt_blocks_i, free_words_o, wgt_raddr_o, wgt_rdata_i, ifm_raddr_o[2], ifm_rdata_i[2], wgt_word_o, act_o[2]

/* What flags must be. */
typedef struct im2col_flags {
    uint64_t want, care; /* care: bits to compare */
} im2col_flags;

typedef struct im2col_state {
    /* ---- members used in every cycle ---- */
    im2col_flags now, steady; /* of this cycle; of all cycles of the blocks in the stages but their first one */
    uint32_t step, shown;     /* of the blocks; of the outputs to the mesh, which follow the reads by a cycle */
    uint32_t attend;          /* from this step on, starts of tiles and the end of the blocks have to be followed */
    bool in_tile;             /* but not in these blocks: they are followed by another one of their tile */
    uint32_t n;
    uint32_t busy;        /* cycles for which the mesh must stay enabled after the last vector */
    uint32_t late, ready; /* cycles for which rows; input and weights of the next tile have been available */
    uint16_t inside[2];   /* stream: not 0 when the vector's pixel is inside the map */
    /* address of the word of weights in this step: weight_base - (step & weight_step) */
    uint32_t weight_base, weight_step;
    uint64_t enabled;                         /* cycles of the mesh; not cleared by a reset */
    uint64_t weights, vectors;                /* of all blocks that have left the stages: npu_im2col_shown() */
    const void *act[2], *ifm[2], *word, *wgt; /* data to the mesh, and those of the buffers that they come from */
    const void *ifm_raddr[2], *wgt_raddr;     /* 9 to 16 bits */
    bool side_by_side;                        /* both ifm_raddr */
    npu_score_row row, flags;
    const uint8_t *task_pop, *wgt_release;
    /* addresses of both streams in every step of the block; mask: RING - 1, 0 outside the map */
    uint16_t addr[4 * N_MAX], mask[4 * N_MAX];
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
__attribute__((cold)) void npu_im2col_differs(tb_check *c, uint64_t got);
/* A failure of pixel `pixel` of the tile of block `k`. */
__attribute__((cold)) void npu_im2col_fail(tb_check *c, const char *stream, uint64_t transaction,
                                           const npu_score_walk *k, uint32_t pixel, const char *got,
                                           const char *expected);

/* ---- im2col_addr.c ---- */

/* Addresses of the block that enters the activation stage, after those of the block before it. */
void npu_im2col_addresses(im2col_state *s);

/* ---- im2col.c ---- */

static inline npu_score_block npu_im2col_block(const im2col_state *s, const npu_score_walk *k) {
    return (npu_score_block){.task = s->t->number, .at = *k};
}

/*
 * Words or vectors that the mesh got before this cycle; flag: WORD or ACT_VALID. The last one of a block follows when
 * the block has left its stage.
 */
static inline uint64_t npu_im2col_shown(const im2col_state *s, uint64_t flag) {
    const uint64_t count = flag == WORD ? s->weights : s->vectors;
    return (s->now.want & flag) != 0 ? count + s->step - 1 : count;
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
    return (const int8_t *)(__builtin_expect(s->inside[stream] != 0, true) ? s->ifm[stream] : s->padding);
}

#endif
