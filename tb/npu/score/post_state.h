/*
 * post_state.h - shared by the two files of post's check: post.c has what is done in most cycles, post_in.c the rest.
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

/* Where results belong: pixels of an output channel. */
typedef struct post_place {
    uint32_t pixel;
    uint16_t channel, count;
} post_place;

/* An FP32 word of results; INT16: two reads make one, but for int64 sums. */
typedef struct post_word {
    uint32_t y[4];
    post_place at;
} post_word;

/* The unit's pixels of a tile, requantised. */
typedef struct post_block {
    npu_score_nhwc b;
    uint32_t ob, pixel; /* block of output channels; first pixel of the tile */
    int8_t value[2 * N_MAX * N_MAX];
} post_block;

/* The next read of ofm_buf, at the place of the walk `read`. */
typedef struct post_next {
    uint32_t column, address, factors; /* expected; factors: the word of par_buf, REQUANT */
    uint32_t left, pixel;              /* FP32: pixels of the channel that are left; the first of them */
    uint32_t tile, par, channels;      /* REQUANT: word of the tile; of the block: word of par_buf, channels */
    uint32_t columns;                  /* REQUANT: those that are read now and exist */
    int8_t *to;                        /* REQUANT: where the results go */
} post_next;

/* The read of the cycle before, whose data arrive now. */
typedef struct post_sums {
    int8_t *to;                                /* REQUANT */
    uint32_t col, word, columns, oscale, bias; /* col, columns: REQUANT; oscale, bias: FP32 */
    bool last;                                 /* REQUANT: last of the block */
    post_place at;                             /* FP32 */
    int32_t psum[4];                           /* INT16: two int64 */
} post_sums;

/* REQUANT: the write jobs of a tile, and the words of a block. */
typedef struct post_jobs {
    uint32_t addr, left, done; /* pixels */
} post_jobs;
typedef struct post_words {
    const int8_t *value;
    uint32_t left, job; /* bytes of the block, 0: it has not begun; of the job */
} post_words;

enum { POST_NO_SUMS = 1, POST_NO_PSUMS = 2 };

/* What is in flight. Members that are used in most cycles first. */
typedef struct post_flow {
    bool busy, waited, lost;
    bool sums_due, par_due; /* data of a read arrive in the next cycle */
    uint8_t waits;          /* since `seen`: for tiles, for requested partial sums */
    uint32_t slots;
    uint64_t limit;             /* the cycle in which the task must have ended: later, if other units stall this one */
    uint64_t avail;             /* complete tiles in ofm_buf */
    uint32_t full, left, begun; /* blocks */
    uint32_t words, reads, jobs, word_in, word_out;
    post_next next;
    post_sums sums;
    npu_score_post_walk read;
    post_jobs tile;
    post_words block;
    npu_score_post_walk job;
    uint64_t factors, channels; /* FP32: channels with factors; channels read */
    /* partial sums: beats of this unit; requests accepted, and those whose data are complete */
    uint64_t beat_in, beat_out, asked, got;
    npu_score_post_walk group, ps_req, ps_dat, par;
    uint32_t par_base; /* word of par_buf */
    uint64_t ring;     /* tiles before this task */
    uint64_t most;     /* cycles of the task in which no other unit stalls this one */
    uint64_t seen;     /* the last cycle that was checked, if it waits */
    uint64_t requests, frees;
} post_flow;

/* those of most cycles first */
#define PORTS                                                                                                          \
    wr_valid_o, wr_ready_i, wr_req_valid_o, wr_req_ready_i, psum_valid_i, psum_req_valid_o, ofm_re_o, pass_pop,        \
        par_re_o, event_o, free_o, task_wait_o, task_done_i, tile_i, wr_data_o, ofm_data_i, ofm_col_o, ofm_addr_o,     \
        par_addr_o, par_oscale_i, par_bias_i, wr_req_addr_o, wr_req_bytes_o, wr_level_i, psum_ready_o,                 \
        psum_req_ready_i, psum_i, psum_req_addr_o, psum_req_bytes_o, free_tiles_o, task_valid_i, task_i, par_ready_i
typedef struct post_state {
    NPU_AT_PORTS(PORTS);
    uint32_t n, cols, most_slots;
    /* of the task */
    bool any_factors, pairs;  /* pairs: INT16, two reads make a word of FP32 results */
    uint32_t size;            /* FP32: results of a read */
    uint32_t columns, pass;   /* REQUANT: columns of a read, reads of a pass */
    uint32_t bytes, job, run; /* REQUANT: bytes of a pixel, pixels of a full job, neighbouring pixels of a share */
    post_flow f;
    npu_score_post_work w;
    uint64_t tasks;
    uint32_t factor[FACTORS][2];
    post_word out[WORDS];
    post_word half; /* INT16: the word that two reads make */
    int32_t beat[BEATS][4];
    post_block ring[BLOCKS];
    TB_PORTS(ports, PORTS);
} post_state;

#define high(STATE, NAME) (NPU_AT_BYTE(STATE, NAME) != 0)

/* "n 0, c .., h .., w .." of an output channel and a pixel of the map. */
void npu_score_post_place(const post_state *s, uint32_t channel, uint32_t pixel, char where[96]);
/* Does ofm_buf hold the sums of this place? */
bool npu_score_post_sums_there(const post_state *s, const npu_score_post_walk *k);
/*
 * A transaction at the place of a walk: false, and a failure, when the walk is at its end or the sums of the group are
 * not there yet.
 */
bool npu_score_post_first(tb_check *c, const char *stream, uint64_t transaction, npu_score_post_walk *k);
static inline bool npu_score_post_allowed(tb_check *c, const char *stream, uint64_t transaction,
                                          npu_score_post_walk *k) {
    return k->ready || npu_score_post_first(c, stream, transaction, k);
}
/* Compare, with the coordinates of the place. */
__attribute__((cold)) void npu_score_post_differs(tb_check *c, const char *stream, uint64_t transaction,
                                                  const npu_score_post_walk *k, uint64_t got, uint64_t expected);
static inline void npu_score_post_expect(tb_check *c, const char *stream, uint64_t transaction,
                                         const npu_score_post_walk *k, uint64_t got, uint64_t expected) {
    if (got != expected) {
        npu_score_post_differs(c, stream, transaction, k, got, expected);
    }
}
/* A task begins: its constants, and the first read and write job. */
void npu_score_post_aim(post_state *s);

/* ---- reads and results ---- */
/* The walk `read` has moved to another place. */
void npu_score_post_aim_read(post_state *s);
__attribute__((cold)) void npu_score_post_read_differs(tb_check *c, const post_state *s);
/* REQUANT: the first read of a tile. */
bool npu_score_post_begin_tile(tb_check *c, post_state *s);
/* The partial sums of this read. */
bool npu_score_post_use_beat(tb_check *c, post_state *s);
void npu_score_post_sums_wide(post_state *s);
void npu_score_post_sums_requant_wide(post_state *s, const int32_t *sum);

/* ---- jobs, factors, partial sums, words ---- */
/* REQUANT: the tile of the next write job; those of which this unit writes nothing have none. */
void npu_score_post_aim_job(post_state *s);
void npu_score_post_job_fp32(tb_check *c, post_state *s);
void npu_score_post_take_request(tb_check *c, post_state *s);
void npu_score_post_take_beat(tb_check *c, post_state *s);
void npu_score_post_take_factors(tb_check *c, post_state *s);
void npu_score_post_factors_arrive(post_state *s);
/* REQUANT: skips blocks of which this unit writes nothing, when the words of one have been written. */
void npu_score_post_settle(post_state *s);
/* REQUANT: the next block of words begins. False: there is none. */
bool npu_score_post_begin_block(post_state *s);

/* ---- task ---- */
void npu_score_post_take_back(tb_check *c, post_state *s);
/* The unit signals that it has made all requests. */
void npu_score_post_check_wait(tb_check *c, post_state *s);
uint64_t npu_score_post_task_cycles(const post_state *s);
__attribute__((cold)) void npu_score_post_too_long(tb_check *c, const post_state *s, uint64_t now);
bool npu_score_post_held_by_sums(post_state *s, uint64_t now);
uint8_t npu_score_post_find_waits(post_state *s);

#endif
