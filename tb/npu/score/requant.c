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
    bool last;                       /* of the task: no later block pushes it out of the transposer */
    uint64_t latest;                 /* time of its last word, once it can leave the transposer */
    int8_t value[2 * N_MAX * N_MAX]; /* [pixel][channel], INT16 [pixel][high][channel]; channels that do not exist 0 */
} block;

#define PORTS                                                                                                          \
    out_scale_i, quant_i, wide_i, pitch_i, single_i, blk_valid_i, blk_ready_o, blk_addr_i, blk_npix_i, blk_nch_i,      \
        blk_last_i, in_valid_i, in_data_i, pop_o, idle_o, wr_req_valid_o, wr_req_ready_i, wr_req_addr_o,               \
        wr_req_bytes_o, wr_valid_o, wr_ready_i, wr_data_o
typedef struct state {
    TB_PORTS(ports, PORTS);
    block ring[BLOCKS];
    /* blocks: described, with complete results, with all jobs accepted, with all words sent */
    uint64_t told, fed, asked, written;
    uint32_t channel, word;            /* of the block that gets results: first channel of the pass, word of the pass */
    uint64_t passes, complete, popped; /* begun; complete; released */
    uint32_t row;                      /* of the block whose passes are released */
    uint64_t through;                  /* blocks of which all passes have been released */
    uint64_t time, paced;              /* see above; blocks with a deadline */
    uint64_t pass_latest;              /* of the last complete pass */
    uint64_t latest[PASSES];
    uint32_t refused;
    npu_score_place job, data;
    uint64_t jobs, words;
} state;

static void clear(tb_check *c) {
    state *s = (state *)c->state;
    s->told = s->fed = s->asked = s->written = 0;
    s->channel = s->word = 0;
    s->passes = s->complete = s->popped = s->through = 0;
    s->row = s->refused = 0;
    s->time = s->paced = s->pass_latest = 0;
    s->job = s->data = (npu_score_place){0, 0};
}

/* Skips blocks of which nothing is left. */
static void settle(state *s) {
    while (s->asked < s->told && s->job.pixel == s->ring[s->asked % BLOCKS].b.pixels) {
        s->job.pixel = 0;
        s->asked++;
    }
    while (s->written < s->fed && s->data.pixel == s->ring[s->written % BLOCKS].b.pixels) {
        s->data.pixel = 0;
        s->written++;
    }
}

static void take_block(tb_check *c, state *s) {
    if (s->told - s->written >= BLOCKS || s->told - s->asked >= BLOCKS) {
        tb_check_fail(c, "block", s->told, NULL, "one more block", "none before earlier blocks are sent");
        return;
    }
    block *k = &s->ring[s->told++ % BLOCKS];
    k->b = npu_score_share(npu_score_n(c), tb_get(s->wide_i) != 0, c->index, (uint32_t)tb_get(s->blk_npix_i));
    k->b.addr = (uint32_t)tb_get(s->blk_addr_i);
    k->b.pitch = (uint32_t)tb_get(s->pitch_i);
    k->channels = (uint32_t)tb_get(s->blk_nch_i);
    k->last = *(const uint8_t *)s->blk_last_i.ptr != 0;
    memset(k->value, 0, sizeof k->value);
}

static uint32_t columns_of(const state *s) {
    return *(const uint8_t *)s->single_i.ptr != 0 ? 1 : s->in_data_i.width / 128;
}

/* Cycles of the transposer for so many rows or pixels; those of INT16 leave in two parts. */
static uint32_t cycles_of(const state *s, uint32_t n, uint32_t rows) {
    return (n > 16 ? 2 * rows : rows) << tb_get(s->wide_i);
}

static uint64_t later(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

/*
 * All words of a pass have arrived. Before the first row of a task the transposer may still push out the previous
 * block.
 */
static void complete_pass(state *s, uint32_t n, uint32_t columns) {
    const bool flush = s->channel == 0 && s->fed > 0 && s->ring[(s->fed - 1) % BLOCKS].last;
    s->pass_latest = later(s->pass_latest, s->time) + cycles_of(s, n, columns + (flush ? n : 0));
    s->latest[s->complete++ % PASSES] = s->pass_latest;
}

/* The last pass of a block is complete. Its rows push out the previous block; the last block of a task is flushed. */
static void complete_block(state *s, uint32_t n) {
    block *k = &s->ring[s->fed % BLOCKS];
    if (s->paced < s->fed) {
        s->ring[s->paced++ % BLOCKS].latest = s->pass_latest;
    }
    if (k->last) {
        k->latest = s->pass_latest + cycles_of(s, n, n);
        s->paced++;
    }
    s->fed++;
}

static void take_results(tb_check *c, state *s) {
    const uint32_t n = npu_score_n(c);
    const uint32_t columns = columns_of(s);
    if (s->fed == s->told) {
        return; /* an error of post: results without a block */
    }
    const uint32_t quant = (uint32_t)tb_get(s->quant_i);
    const cm_gemm_task scale = {.out_scale = (uint32_t)tb_get(s->out_scale_i),
                                .zout = quant & 0xFFu,
                                .rne = (quant >> 8 & 1u) != 0,
                                .full = quant >> 9 != 0};
    const uint32_t *y = (const uint32_t *)s->in_data_i.ptr;
    block *k = &s->ring[s->fed % BLOCKS];
    const uint32_t run = k->b.run;
    s->passes += s->word == 0;
    for (uint32_t j = 0; j < columns && s->channel + j < k->channels; j++) {
        int8_t *const first = &k->value[run * s->word * k->b.bytes + s->channel + j];
        if (run == 4 && k->b.bytes <= n) {
            int8_t q[4];
            cm_requant_lanes(&scale, &y[4 * j], q);
            for (uint32_t i = 0; i < 4 && 4 * s->word + i < k->b.pixels; i++) {
                first[i * k->b.bytes] = q[i];
            }
            continue;
        }
        for (uint32_t i = 0; i < run && run * s->word + i < k->b.pixels; i++) {
            int8_t *value = &first[i * k->b.bytes];
            if (k->b.bytes > n) {
                const int16_t q = cm_requant_wide(&scale, y[4 * j + i]);
                value[0] = (int8_t)(q & 0xFF);
                value[n] = (int8_t)(q >> 8);
            } else {
                *value = cm_requant(&scale, y[4 * j + i]);
            }
        }
    }
    if (++s->word == n / run) {
        complete_pass(s, n, columns);
        s->word = 0;
        s->channel += columns;
        if (s->channel >= n) {
            s->channel = 0;
            complete_block(s, n);
        }
    }
}

static void take_job(tb_check *c, state *s) {
    if (s->asked == s->told) {
        tb_check_fail(c, "write job", s->jobs, NULL, "a job", "none: no block has one left");
        return;
    }
    const npu_score_nhwc *b = &s->ring[s->asked % BLOCKS].b;
    tb_check_value(c, "write address", s->jobs, tb_get(s->wr_req_addr_o), npu_score_job_addr(b, s->job));
    tb_check_value(c, "write bytes", s->jobs, tb_get(s->wr_req_bytes_o), npu_score_job_bytes(b, s->job));
    npu_score_next_job(b, &s->job);
    s->jobs++;
}

static void take_word(tb_check *c, state *s) {
    const uint32_t n = npu_score_n(c);
    if (s->written == s->fed) {
        tb_check_fail(c, "word", s->words, NULL, "a word", "none: no block is complete");
        return;
    }
    const block *k = &s->ring[s->written % BLOCKS];
    const uint32_t first = s->data.pixel * k->b.bytes + s->data.byte;
    const uint32_t bytes = npu_score_word_bytes(&k->b, s->data);
    const int8_t *got = (const int8_t *)s->wr_data_o.ptr;
    for (uint32_t i = 0; memcmp(got, &k->value[first], bytes) != 0 && i < bytes; i++) {
        if (got[i] != k->value[first + i]) {
            tb_check_failf(c, "word", s->words,
                           "block %" PRIu64 ", pixel %" PRIu32 " of the tile, channel %" PRIu32 "|%d|%d", s->written,
                           npu_score_tile_pixel(&k->b, c->index, (first + i) / k->b.bytes), (first + i) % n, got[i],
                           k->value[first + i]);
            break;
        }
    }
    npu_score_next_word(&k->b, &s->data);
    s->words++;
}

static void take_pop(tb_check *c, state *s) {
    if (s->passes == s->popped) {
        tb_check_fail(c, "pop", s->words, NULL, "a pass released", "none: no pass was begun");
    }
    s->popped++;
    s->row += columns_of(s);
    if (s->row >= npu_score_n(c)) {
        s->row = 0;
        s->through++;
    }
}

/* Counts a cycle, and checks the deadlines. */
static void check_pace(tb_check *c, state *s) {
    const uint32_t n = npu_score_n(c);
    s->time += *(const uint8_t *)s->wr_valid_o.ptr == 0 || *(const uint8_t *)s->wr_ready_i.ptr != 0;
    if (s->popped < s->complete && s->time > s->latest[s->popped % PASSES] + cycles_of(s, n, SLACK)) {
        tb_check_fail(c, "pace", s->popped, NULL, "a pass in the gather buffer", "its release");
    }
    if (s->written < s->paced && s->time > s->ring[s->written % BLOCKS].latest + cycles_of(s, n, SLACK)) {
        tb_check_fail(c, "pace", s->words, NULL, "a block in the transposer", "all its words sent");
    }
    /*
     * the entry of a block is free once its jobs are accepted and it was sent, which is the case when the next but one
     * has entered the transposer
     */
    const uint64_t left = s->through > 2 ? s->through - 2 : 0, over = left < s->asked ? left : s->asked;
    const bool refused = *(const uint8_t *)s->blk_valid_i.ptr != 0 && *(const uint8_t *)s->blk_ready_o.ptr == 0 &&
                         s->told - over <= BLOCKS / 4;
    s->refused = refused ? s->refused + 1 : 0;
    if (s->refused > REFUSED) {
        tb_check_fail(c, "block", s->told, NULL, "a block that waits", "it accepted: half of the entries are free");
    }
}

static void cycle(tb_check *c) {
    state *s = (state *)c->state;
    if (s->asked < s->told || s->written < s->told) {
        settle(s);
        if (*(const uint8_t *)s->idle_o.ptr != 0 && (s->asked < s->told || s->written < s->told)) {
            tb_check_fail(c, "idle", s->words, NULL, "1", "0: jobs or words are still to come");
        }
    }
    if (npu_score_fire(s->wr_valid_o, s->wr_ready_i)) {
        take_word(c, s);
    }
    if (npu_score_fire(s->wr_req_valid_o, s->wr_req_ready_i)) {
        take_job(c, s);
    }
    if (*(const uint8_t *)s->in_valid_i.ptr != 0) {
        take_results(c, s);
    }
    if (*(const uint8_t *)s->pop_o.ptr != 0) {
        take_pop(c, s);
    }
    check_pace(c, s);
    if (npu_score_fire(s->blk_valid_i, s->blk_ready_o)) {
        take_block(c, s);
    }
    c->again = s->asked < s->told || s->written < s->told;
}

static void finish(tb_check *c) {
    state *s = (state *)c->state;
    settle(s);
    if (s->asked != s->told || s->written != s->told) {
        tb_check_failf(c, "word", s->words, "jobs of %" PRIu64 ", words of %" PRIu64 " blocks|of %" PRIu64, s->asked,
                       s->written, s->told);
    }
}

const tb_check_ops npu_score_requant = {.unit = "requant",
                                        .inputs = (const char *const[]){"act", NULL},
                                        TB_STATE(state, PORTS),
                                        .wake = "wr_valid_o, wr_req_valid_o, in_valid_i, pop_o, blk_valid_i",
                                        .clear = clear,
                                        .cycle = cycle,
                                        .finish = finish};
