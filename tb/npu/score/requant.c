/*
 * requant.c - check of the requantisers: results of a block to INT8 pixels, their write jobs and words, and the pace
 * (header of requant.sv).
 *
 * Pace: time is counted in cycles in which no word waits for send_buf. A row of results enters the transposer, and a
 * pixel leaves it, in a cycle (N = 32: two), so each pass and each block has a deadline: relative to that of its
 * predecessor, or to the cycle in which it could begin, if that is later.
 */
#include <inttypes.h>
#include <string.h>

#include "cm_fp_lanes.h"
#include "nhwc.h"
#include "score.h"

#define N_MAX 32u
#define BLOCKS 16u /* more than the unit accepts before the first one was sent */
#define PASSES 16u /* as many as the gather buffer has slots */
#define SLACK 6u   /* steps of the pipeline around the transposer */
#define REFUSED 8u /* cycles for which a block may wait although there is space for it */

typedef struct block {
    npu_score_nhwc b;
    uint32_t channels;
    uint32_t bytes, job; /* all its bytes, and those of a job, of which the last one may have fewer */
    uint32_t jobs;       /* of a run of neighbouring pixels */
    uint32_t near, far;  /* distances of addresses from a job to the next one, in the run and to the next run */
    bool last;           /* of the task: no later block pushes it out of the transposer */
    uint64_t latest;     /* deadline of its last word, once it can leave the transposer */
} block;

#define PORTS                                                                                                          \
    wr_valid_o, wr_ready_i, wr_req_valid_o, wr_req_ready_i, in_valid_i, pop_o, idle_o, blk_valid_i, blk_ready_o,       \
        wr_data_o, wr_req_addr_o, wr_req_bytes_o, in_data_i, out_scale_i, quant_i, wide_i, single_i, pitch_i,          \
        blk_addr_i, blk_npix_i, blk_nch_i, blk_last_i
typedef struct state {
    NPU_AT_PORTS(PORTS);
    uint64_t time;                      /* see above */
    uint64_t latest;                    /* deadline: the earlier one of the next two */
    uint64_t pass_latest, block_latest; /* of the release of the next pass, of the last word of the next block */
    uint32_t refused;
    bool busy;                          /* jobs or words are still to come */
    uint64_t told, fed, asked, written; /* blocks: described, with all results, jobs accepted, words sent */
    const block *sent;                  /* the block of the next word, */
    const int8_t *value_sent;           /* its values, */
    uint32_t data_at, data_left;        /* place of the word in it, bytes of its job (0: not known yet) */
    uint32_t job_at, job_step;          /* next job: its place in the block, its number in the run */
    uint32_t job_addr;
    uint32_t n, columns;               /* columns: channels of a pass, where it has not a single one */
    uint32_t channel, word;            /* of the block that gets results: first channel and word of the pass */
    uint32_t row;                      /* of the block whose passes are released */
    uint64_t passes, complete, popped; /* begun; complete; released */
    uint64_t through;                  /* blocks of which all passes have been released */
    uint64_t paced;                    /* blocks with a deadline */
    uint64_t pass_end;                 /* time at which the last complete pass is released at the latest */
    uint64_t jobs, words;
    uint64_t pass[PASSES]; /* their deadlines */
    block ring[BLOCKS];
    uint32_t size;                  /* of a block's values: [pixel][channel], INT16 [pixel][high][channel] */
    int8_t entering[N_MAX * N_MAX]; /* INT8: those of the block that gets results, [channel][pixel] */
    int8_t value[BLOCKS * 2 * N_MAX * N_MAX];
    TB_PORTS(ports, PORTS);
} state;

static void clear(tb_check *c) {
    state *s = (state *)c->state;
    s->told = s->fed = s->asked = s->written = 0;
    s->channel = s->word = 0;
    s->passes = s->complete = s->popped = s->through = 0;
    s->row = s->refused = 0;
    s->time = s->paced = s->pass_end = 0;
    s->latest = s->pass_latest = s->block_latest = UINT64_MAX;
    s->busy = false;
    s->data_at = s->data_left = s->job_at = 0;
}

static int open(tb_check *c, char *err, size_t err_size) {
    state *s = (state *)c->state;
    const uint32_t n = npu_score_n(c);
    s->n = n;
    s->columns = s->in_data_i.width / 128;
    s->size = (n * n) << npu_score_int16(c);
    clear(c);
    return NPU_AT_FIND(c, s, err, err_size);
}

static inline block *block_at(state *s, uint64_t number) {
    return &s->ring[number % BLOCKS];
}

static inline int8_t *value_of(state *s, uint64_t number) {
    return &s->value[number % BLOCKS * s->size];
}

static inline uint64_t smallest(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

/* Skips blocks of which nothing is left, and finds the deadline of the next one. */
__attribute__((hot)) static void settle(state *s) {
    while (s->asked < s->told && s->job_at == block_at(s, s->asked)->bytes) {
        s->job_at = 0;
        s->asked++;
    }
    while (s->written < s->fed && s->data_at == block_at(s, s->written)->bytes) {
        s->data_at = 0;
        s->written++;
    }
    s->sent = block_at(s, s->written);
    s->value_sent = value_of(s, s->written);
    s->busy = s->asked != s->told || s->written != s->told;
    s->block_latest = s->written < s->paced ? s->sent->latest : UINT64_MAX;
    s->latest = smallest(s->pass_latest, s->block_latest);
}

__attribute__((noinline, hot)) static void take_block(tb_check *c, state *s) {
    const uint32_t n = s->n, pitch = (uint32_t)tb_get(s->pitch_i);
    const bool wide = NPU_AT_BYTE(s, wide_i) != 0;
    if (s->told - s->written >= BLOCKS || s->told - s->asked >= BLOCKS) {
        tb_check_fail(c, "block", s->told, NULL, "one more block", "none before earlier blocks are sent");
        return;
    }
    if (wide) {
        memset(value_of(s, s->told), 0, s->size); /* channels that do not exist */
    }
    block *k = block_at(s, s->told++);
    k->b = npu_score_share(n, wide, c->index, NPU_AT_BYTE(s, blk_npix_i));
    k->b.addr = (uint32_t)tb_get(s->blk_addr_i);
    k->b.pitch = pitch;
    k->channels = NPU_AT_BYTE(s, blk_nch_i);
    k->bytes = k->b.pixels * k->b.bytes;
    k->job = pitch == k->b.bytes ? k->b.run * k->b.bytes : k->b.bytes;
    k->jobs = pitch == k->b.bytes ? 1 : k->b.run;
    k->near = pitch;
    k->far = (2 * k->b.run + 1 - k->jobs) * pitch;
    k->last = NPU_AT_BYTE(s, blk_last_i) != 0;
    settle(s);
}

/* Cycles of the transposer for so many rows or pixels; those of INT16 leave in two parts. */
static uint32_t cycles_of(const state *s, uint32_t n, uint32_t rows) {
    return (n > 16 ? 2 * rows : rows) << NPU_AT_BYTE(s, wide_i);
}

static uint64_t later(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

static inline void next_pass(state *s) {
    s->pass_latest = s->popped < s->complete ? s->pass[s->popped % PASSES] : UINT64_MAX;
    s->latest = smallest(s->pass_latest, s->block_latest);
}

/* The last pass of a block is complete. Its rows push out the previous block; the last block of a task is flushed. */
static void complete_block(state *s, uint32_t n) {
    block *k = block_at(s, s->fed);
    const uint64_t slack = cycles_of(s, n, SLACK);
    if (k->b.bytes == n) {
        const uint32_t exist = n * (k->channels < n ? k->channels : n);
        memset(&s->entering[exist], 0, n * n - exist);
        cm_transpose(n, s->entering, value_of(s, s->fed));
    }
    if (s->paced < s->fed) {
        block_at(s, s->paced++)->latest = s->pass_end + slack;
    }
    if (k->last) {
        k->latest = s->pass_end + cycles_of(s, n, n) + slack;
        s->paced++;
    }
    s->fed++;
    settle(s);
}

/*
 * All words of a pass have arrived. Before the first row of a task the transposer may still push out the previous
 * block.
 */
__attribute__((noinline, hot)) static void complete_pass(state *s, uint32_t n, uint32_t columns) {
    const bool flush = s->channel == 0 && s->fed > 0 && block_at(s, s->fed - 1)->last;
    s->pass_end = later(s->pass_end, s->time) + cycles_of(s, n, columns + (flush ? n : 0));
    s->pass[s->complete++ % PASSES] = s->pass_end + cycles_of(s, n, SLACK);
    next_pass(s);
    s->word = 0;
    s->channel += columns;
    if (s->channel >= n) {
        s->channel = 0;
        complete_block(s, n);
    }
}

/* A word of INT8, cm_requant() of four pixels of each channel of the pass. */
static inline void take_bytes(state *s, uint32_t n, uint32_t columns, uint32_t quant) {
    const uint32_t *y = (const uint32_t *)NPU_AT(s, in_data_i);
    int8_t *to = &s->entering[s->channel * n + 4 * s->word];
    cm_fp_row scale;
    cm_fp_row_spread(&scale, NPU_AT(s, out_scale_i), NPU_AT(s, out_scale_i));
    for (uint32_t j = 0; j < columns; j += 2) {
        const uint32_t second = columns == 1 ? 0 : j + 1;
        cm_fp_row v;
        cm_fp_row_ints q;
        cm_fp_row_load(&v, &y[4 * j], &y[4 * second]);
        cm_fp_mul_row(&v, &v, &scale);
        if (quant == 0) {
            cm_fp_f32_to_i8_row(&q, &v);
        } else {
            const cm_fp_row all = (cm_fp_row){0} + quant;
            cm_fp_quantise_row(&q, &v, &all);
        }
        cm_fp_row_bytes(&to[j * n], &to[second * n], &q);
    }
}

/* A word of INT16: two pixels of each channel. */
static void take_halves(state *s, uint32_t n, uint32_t columns) {
    const cm_gemm_task scale = {.out_scale = (uint32_t)tb_get(s->out_scale_i)};
    const uint32_t *y = (const uint32_t *)NPU_AT(s, in_data_i);
    const block *k = block_at(s, s->fed);
    for (uint32_t j = 0; j < columns && s->channel + j < k->channels; j++) {
        int8_t *value = &value_of(s, s->fed)[2 * s->word * k->b.bytes + s->channel + j];
        for (uint32_t i = 0; i < 2; i++, value += k->b.bytes) {
            const int16_t q = cm_requant_wide(&scale, y[4 * j + i]);
            value[0] = (int8_t)(q & 0xFF);
            value[n] = (int8_t)(q >> 8);
        }
    }
}

/* A word of a pass has been taken. */
static inline void next_word(state *s, uint32_t n, uint32_t columns, uint32_t run) {
    if (run * ++s->word == n) {
        complete_pass(s, n, columns);
    }
}

/* The same for INT16 and for other quantisers than the usual one, which need calls. */
__attribute__((noinline)) static void take_others(state *s, uint32_t columns, uint32_t run, uint32_t quant) {
    if (run != 4) {
        take_halves(s, s->n, columns);
    } else {
        take_bytes(s, s->n, columns, quant);
    }
    next_word(s, s->n, columns, run);
}

__attribute__((noinline, hot)) static void take_results(state *s) {
    const uint32_t columns = NPU_AT_BYTE(s, single_i) != 0 ? 1 : s->columns;
    if (s->fed == s->told) {
        return; /* an error of post: results without a block */
    }
    const uint32_t run = block_at(s, s->fed)->b.run, quant = NPU_AT_HALF(s, quant_i);
    s->passes += s->word == 0;
    if (run != 4 || quant != 0) {
        take_others(s, columns, run, quant);
        return;
    }
    take_bytes(s, s->n, columns, 0);
    next_word(s, s->n, columns, 4);
}

static inline uint32_t smaller(uint32_t a, uint32_t b) {
    return a < b ? a : b;
}

__attribute__((cold, noinline)) static void job_differs(tb_check *c, const state *s, uint32_t bytes) {
    tb_check_value(c, "write address", s->jobs, NPU_AT_WORD(s, wr_req_addr_o), s->job_addr);
    tb_check_value(c, "write bytes", s->jobs, NPU_AT_WORD(s, wr_req_bytes_o), bytes);
}

/* A check is not called again after a failure, so nothing else needs to be done there. */
__attribute__((noinline, hot)) static void take_job(tb_check *c, state *s) {
    if (s->asked == s->told) {
        tb_check_fail(c, "write job", s->jobs, NULL, "a job", "none: no block has one left");
        return;
    }
    const block *k = block_at(s, s->asked);
    const uint32_t bytes = smaller(k->job, k->bytes - s->job_at);
    if (s->job_at == 0) {
        s->job_addr = k->b.addr;
        s->job_step = 0;
    }
    if (((NPU_AT_WORD(s, wr_req_addr_o) ^ s->job_addr) | (NPU_AT_WORD(s, wr_req_bytes_o) ^ bytes)) != 0) {
        job_differs(c, s, bytes);
        return;
    }
    s->jobs++;
    s->job_addr += ++s->job_step == k->jobs ? k->far : k->near;
    s->job_step = s->job_step == k->jobs ? 0 : s->job_step;
    s->job_at += bytes;
    if (s->job_at == k->bytes) {
        settle(s);
    }
}

__attribute__((cold, noinline)) static void word_differs(tb_check *c, state *s, uint32_t bytes) {
    const block *k = block_at(s, s->written);
    const int8_t *got = (const int8_t *)NPU_AT(s, wr_data_o), *value = value_of(s, s->written);
    uint32_t i = 0, at = s->data_at;
    for (; i + 1 < bytes && got[i] == value[at]; i++) {
        at++;
    }
    tb_check_failf(c, "word", s->words, "block %" PRIu64 ", pixel %" PRIu32 " of the tile, channel %" PRIu32 "|%d|%d",
                   s->written, npu_score_tile_pixel(&k->b, c->index, at / k->b.bytes), at % s->n, got[i], value[at]);
}

static inline void take_word(tb_check *c, state *s) {
    if (s->written == s->fed) {
        tb_check_fail(c, "word", s->words, NULL, "a word", "none: no block is complete");
        return;
    }
    const block *k = s->sent;
    if (s->data_left == 0) {
        s->data_left = smaller(k->job, k->bytes - s->data_at);
    }
    const uint32_t bytes = smaller(s->data_left, 16);
    if (!npu_score_same(NPU_AT(s, wr_data_o), s->value_sent + s->data_at, bytes)) {
        word_differs(c, s, bytes);
    }
    s->data_at += bytes;
    s->data_left -= bytes;
    s->words++;
    if (s->data_at == k->bytes) {
        settle(s);
    }
}

static inline void take_pop(tb_check *c, state *s) {
    if (s->passes == s->popped) {
        tb_check_fail(c, "pop", s->words, NULL, "a pass released", "none: no pass was begun");
    }
    s->popped++;
    s->row += NPU_AT_BYTE(s, single_i) != 0 ? 1 : s->columns;
    if (s->row >= s->n) {
        s->row = 0;
        s->through++;
    }
    next_pass(s);
}

/*
 * A block waits. The entry of a block is free once its jobs are accepted and it was sent, which is the case when the
 * next but one has entered the transposer.
 */
__attribute__((noinline)) static void check_refused(tb_check *c, state *s) {
    const uint64_t left = s->through > 2 ? s->through - 2 : 0, over = left < s->asked ? left : s->asked;
    s->refused = s->told - over <= BLOCKS / 4 ? s->refused + 1 : 0;
    if (s->refused > REFUSED) {
        tb_check_fail(c, "block", s->told, NULL, "a block that waits", "it accepted: half of the entries are free");
    }
}

__attribute__((cold, noinline)) static void late(tb_check *c, const state *s) {
    if (s->time > s->pass_latest) {
        tb_check_fail(c, "pace", s->popped, NULL, "a pass in the gather buffer", "its release");
    }
    if (s->time > s->block_latest) {
        tb_check_fail(c, "pace", s->words, NULL, "a block in the transposer", "all its words sent");
    }
}

__attribute__((hot)) static void cycle(tb_check *c) {
    state *s = (state *)c->state;
    if (NPU_AT_BYTE(s, idle_o) != 0 && s->busy) {
        tb_check_fail(c, "idle", s->words, NULL, "1", "0: jobs or words are still to come");
    }
    const bool valid = NPU_AT_BYTE(s, wr_valid_o) != 0, sent = valid && NPU_AT_BYTE(s, wr_ready_i) != 0;
    if (sent) {
        take_word(c, s);
    }
    if ((NPU_AT_BYTE(s, wr_req_valid_o) & NPU_AT_BYTE(s, wr_req_ready_i)) != 0) {
        take_job(c, s);
    }
    if (NPU_AT_BYTE(s, in_valid_i) != 0) {
        take_results(s);
    }
    if (NPU_AT_BYTE(s, pop_o) != 0) {
        take_pop(c, s);
    }
    s->time += !valid || sent;
    if (s->time > s->latest) {
        late(c, s);
    }
    if (NPU_AT_BYTE(s, blk_valid_i) == 0) {
        s->refused = 0;
    } else if (NPU_AT_BYTE(s, blk_ready_o) == 0) {
        check_refused(c, s);
    } else {
        s->refused = 0;
        take_block(c, s);
    }
    c->again = s->busy;
}

static void finish(tb_check *c) {
    const state *s = (const state *)c->state;
    if (s->asked != s->told || s->written != s->told) {
        tb_check_failf(c, "word", s->words, "jobs of %" PRIu64 ", words of %" PRIu64 " blocks|of %" PRIu64, s->asked,
                       s->written, s->told);
    }
}

const tb_check_ops npu_score_requant = {.unit = "requant",
                                        .inputs = (const char *const[]){"act", NULL},
                                        TB_STATE(state, PORTS),
                                        .wake = "wr_valid_o, wr_req_valid_o, in_valid_i, pop_o, blk_valid_i",
                                        .open = open,
                                        .clear = clear,
                                        .cycle = cycle,
                                        .finish = finish};
