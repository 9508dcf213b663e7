/*
 * post_state.h - shared by the two files of post's check: post_in.c follows requests and reads, post.c tasks and
 * results.
 */
#ifndef NPU_SCORE_POST_STATE_H
#define NPU_SCORE_POST_STATE_H

#include "nhwc.h"
#include "post_walk.h"

#define N_MAX 32u
#define RING_WORDS 512u /* of a column of ofm_buf */
#define PAR_WORDS 256u  /* of par_buf */
#define SEND_WORDS 512u /* of send_buf, this client */
#define SLACK 40u       /* words between ofm_buf and send_buf, and the space that post keeps free */
#define WORDS 32u       /* FP32 words between their read and send_buf, at most */
#define FACTORS 8u      /* channels whose factors have been read ahead, at most */
#define BEATS 4u
#define BLOCKS 16u /* more than requant accepts before the first one was sent */

/* An FP32 word of results; INT16: two reads make one, but for int64 sums. */
typedef struct post_word {
    uint32_t y[4];
    uint32_t channel, pixel, count;
} post_word;

/* The unit's pixels of a tile, requantised. */
typedef struct post_block {
    npu_score_nhwc b;
    uint32_t ob, pixel; /* block of output channels; first pixel of the tile */
    int8_t value[2 * N_MAX * N_MAX];
} post_block;

/* The read of the cycle before, whose data arrive now. */
typedef struct post_sums {
    bool due, last; /* last of the block */
    uint32_t channel, pixel, count;
    uint32_t col, word, columns; /* REQUANT */
    uint32_t oscale, bias;       /* FP32 */
    int32_t psum[4];             /* INT16: two int64 */
    bool behind;                 /* INT16, FP32: the read behind the last pixels */
} post_sums;

/* What is in flight. */
typedef struct post_flow {
    bool busy, waited, lost;
    uint32_t par_base; /* word of par_buf */
    uint64_t ring;     /* tiles before this task */
    uint64_t avail;    /* complete tiles in ofm_buf */
    npu_score_post_walk group, job, ps_req, ps_dat, par, read;
    post_sums sums;
    bool par_due;
    uint64_t factors, channels; /* FP32: channels with factors; channels read */
    uint64_t word_in, word_out;
    /* partial sums: beats of this unit; requests accepted, and those whose data are complete */
    uint64_t beat_in, beat_out, asked, got;
    uint64_t begun, full, left; /* blocks */
    uint32_t slots;
    npu_score_place job_at, data_at;
    /* cycles of the task in which no other unit stalled this one: so far, and at most */
    uint64_t time, most;
    uint64_t seen;          /* the last cycle that was checked */
    bool no_sums, no_psums; /* since then: it waits for tiles; for requested partial sums */
    uint64_t jobs, requests, reads, words, frees;
} post_flow;

#define PORTS                                                                                                          \
    task_valid_i, task_i, par_ready_i, task_wait_o, task_done_i, tile_i, free_o, free_tiles_o, par_re_o, par_addr_o,   \
        par_oscale_i, par_bias_i, ofm_re_o, ofm_col_o, ofm_addr_o, ofm_data_i, psum_req_valid_o, psum_req_ready_i,     \
        psum_req_addr_o, psum_req_bytes_o, psum_valid_i, psum_ready_o, psum_i, wr_req_valid_o, wr_req_ready_i,         \
        wr_req_addr_o, wr_req_bytes_o, wr_valid_o, wr_ready_i, wr_data_o, wr_level_i, event_o, pass_pop
typedef struct post_state {
    TB_PORTS(ports, PORTS);
    npu_score_post_work w;
    uint32_t n, cols, most_slots;
    uint64_t tasks;
    post_flow f;
    uint32_t factor[FACTORS][2];
    post_word out[WORDS];
    post_word half; /* INT16: the word that two reads make */
    int32_t beat[BEATS][4];
    post_block ring[BLOCKS];
} post_state;

static inline bool high(tb_sig s) {
    return *(const uint8_t *)s.ptr != 0;
}

static inline bool post_any_factors(const post_state *s) {
    return s->w.t.oscale_en || s->w.t.bias_en;
}

/* INT16: two reads make a word of FP32 results. */
static inline bool post_pairs(const post_state *s) {
    return s->w.t.wide && !s->w.t.requant && !s->w.t.raw_out;
}

/* "n 0, c .., h .., w .." of an output channel and a pixel of the map. */
void npu_score_post_place(const post_state *s, uint32_t channel, uint32_t pixel, char where[96]);
/* Does ofm_buf hold the sums of this place? */
bool npu_score_post_sums_there(const post_state *s, const npu_score_post_walk *k);
/*
 * A transaction at the place of a walk: false, and a failure, when the walk is at its end or the sums of the group are
 * not there yet.
 */
bool npu_score_post_allowed(tb_check *c, const char *stream, uint64_t transaction, const npu_score_post_walk *k);
/* Compare, with the coordinates of the place. */
void npu_score_post_expect(tb_check *c, const char *stream, uint64_t transaction, const npu_score_post_walk *k,
                           uint64_t got, uint64_t expected);
/* REQUANT: advances the walk of the write jobs past tiles of which this unit writes nothing. */
void npu_score_post_settle(post_state *s);
/* REQUANT: the same for the walk of the words. */
void npu_score_post_settle_blocks(post_state *s);
/* The data of the read in the cycle before have arrived. */
void npu_score_post_arrive(tb_check *c, post_state *s);
/* Requests and reads of this cycle. */
void npu_score_post_follow(tb_check *c, post_state *s);

#endif
