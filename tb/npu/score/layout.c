/* layout.c - jobs and data of a layout unit, and the words that must come of them. */
#include "score.h"

#include <inttypes.h>
#include <stdio.h>

#define JOBS 16u /* more than the unit holds between acceptance and its last word */
#define PIXELS 64u
#define PIECE 1024u  /* bytes of the longest request */
#define STREAM 1024u /* INT8 bytes that came and have not been written: less than a few words */
#define BEAT 16u
#define DRAIN 4u /* cycles from the last beat of an FP32 job to its first word */
#define AHEAD 4u /* jobs that wait for data; INT8: or have words left */
#define BANKS 4u /* FP32 jobs that may have all their data and not all their words out */

typedef struct job {
    bool int8;
    uint32_t scale, step, stride, addr, channels, count, waddr;
    uint32_t rows, row; /* reads of `row` bytes, `step` apart */
    uint32_t words;
    uint64_t since;           /* FP32: `moving` at its last beat */
    uint32_t in[PIXELS * 32]; /* FP32: data of the job, channel after channel */
    int8_t out[PIXELS * 32];  /* FP32: its words, known when all data have come */
} job;

typedef struct state {
    tb_sig scale, cstep, stride, nhwc, job_valid, job_ready, addr, nch, cnt, waddr, req_valid, req_ready, req_addr,
        req_bytes, dat_valid, dat_ready, dat, wr_valid, wr_ready, wr_addr, wr_data, done;
    job ring[JOBS];
    uint64_t taken, asked, filled, written; /* jobs: accepted, all requests sent, all data in, all words out */
    uint32_t req_row, req_byte, in_row, in_byte, out_word;
    uint64_t requests, words;
    uint64_t moving; /* cycles without a word that ifm_buf holds up */
    uint8_t stream[STREAM];
    uint32_t stream_bytes;
    bool seen; /* INT8: the beat on offer is in the stream already: its words may leave before it is taken */
} state;

static int open(tb_check *c, char *err, size_t err_size) {
    state *s = (state *)c->state;
    const npu_score_sig sigs[] = {{"cfg_in_scale_i", &s->scale},
                                  {"cfg_cstep_i", &s->cstep},
                                  {"cfg_stride_i", &s->stride},
                                  {"cfg_nhwc_i", &s->nhwc},
                                  {"job_valid_i", &s->job_valid},
                                  {"job_ready_o", &s->job_ready},
                                  {"job_addr_i", &s->addr},
                                  {"job_nch_i", &s->nch},
                                  {"job_cnt_i", &s->cnt},
                                  {"job_waddr_i", &s->waddr},
                                  {"req_valid_o", &s->req_valid},
                                  {"req_ready_i", &s->req_ready},
                                  {"req_addr_o", &s->req_addr},
                                  {"req_bytes_o", &s->req_bytes},
                                  {"dat_valid_i", &s->dat_valid},
                                  {"dat_ready_o", &s->dat_ready},
                                  {"dat_i", &s->dat},
                                  {"wr_valid_o", &s->wr_valid},
                                  {"wr_ready_i", &s->wr_ready},
                                  {"wr_addr_o", &s->wr_addr},
                                  {"wr_data_o", &s->wr_data},
                                  {"done_o", &s->done}};
    if (npu_score_bind(c, sigs, sizeof sigs / sizeof *sigs, err, err_size) != 0) {
        return -1;
    }
    const tb_sig wake[] = {s->wr_valid, s->done, s->dat_valid, s->req_valid, s->job_valid};
    return npu_score_wake(c, wake, sizeof wake / sizeof *wake, err, err_size);
}

static void clear(tb_check *c) {
    state *s = (state *)c->state;
    s->taken = s->asked = s->filled = s->written = 0;
    s->req_row = s->req_byte = s->in_row = s->in_byte = s->out_word = 0;
    s->stream_bytes = 0;
    s->seen = false;
}

static void take_job(tb_check *c, state *s) {
    if (s->taken - s->written >= JOBS) {
        tb_check_fail(c, "job", s->taken, NULL, "one more job", "jobs that wait for their words first");
        return;
    }
    const uint32_t n = npu_score_n(c);
    job *j = &s->ring[s->taken++ % JOBS];
    j->int8 = tb_get(s->nhwc) != 0;
    j->scale = (uint32_t)tb_get(s->scale);
    j->step = (uint32_t)tb_get(s->cstep);
    j->stride = (uint32_t)tb_get(s->stride);
    j->addr = (uint32_t)tb_get(s->addr);
    j->channels = (uint32_t)tb_get(s->nch);
    j->count = (uint32_t)tb_get(s->cnt);
    j->waddr = (uint32_t)tb_get(s->waddr);
    if (j->int8) {
        const uint32_t blocks = j->stride != 0 ? j->stride : 1u << s->stride.width;
        const bool dense = j->step == blocks * n;
        j->words = j->count * blocks;
        j->rows = dense ? 1 : j->count;
        j->row = (dense ? j->words : blocks) * n;
    } else {
        j->words = j->count;
        j->rows = j->channels;
        j->row = 4 * j->count;
    }
}

static void take_request(tb_check *c, state *s) {
    if (s->asked == s->taken) {
        tb_check_fail(c, "request", s->requests, NULL, "a request", "none: no job wants data");
        return;
    }
    const job *j = &s->ring[s->asked % JOBS];
    const uint32_t left = j->row - s->req_byte, bytes = left < PIECE ? left : PIECE;
    tb_check_value(c, "request address", s->requests, tb_get(s->req_addr),
                   (uint32_t)(j->addr + s->req_row * j->step + s->req_byte));
    tb_check_value(c, "request bytes", s->requests, tb_get(s->req_bytes), bytes);
    s->requests++;
    s->req_byte += bytes;
    if (s->req_byte == j->row) {
        s->req_byte = 0;
        if (++s->req_row == j->rows) {
            s->req_row = 0;
            s->asked++;
        }
    }
}

static void take_data(tb_check *c, state *s) {
    if (s->filled == s->asked && s->req_row == 0 && s->req_byte == 0) {
        tb_check_fail(c, "data", s->words, NULL, "data taken", "none: nothing was asked for");
        return;
    }
    job *j = &s->ring[s->filled % JOBS];
    const uint32_t left = j->row - s->in_byte, bytes = left < BEAT ? left : BEAT;
    if (!j->int8) {
        memcpy((uint8_t *)j->in + s->in_row * j->row + s->in_byte, s->dat.ptr, bytes);
    } else if (s->stream_bytes + bytes <= STREAM) {
        memcpy(&s->stream[s->stream_bytes], s->dat.ptr, bytes);
        s->stream_bytes += bytes;
    } else {
        tb_check_fail(c, "data", s->words, NULL, "more data taken", "words written first");
        return;
    }
    s->in_byte += bytes;
    if (s->in_byte < j->row) {
        return;
    }
    s->in_byte = 0;
    if (++s->in_row == j->rows) {
        s->in_row = 0;
        s->filled++;
        j->since = s->moving;
        if (!j->int8) {
            cm_layout(npu_score_n(c), j->channels, j->count, j->scale, j->in, j->out);
        }
    }
}

/* The word that must come next, or NULL: its data are not complete. */
static const int8_t *next_word(const tb_check *c, state *s, int8_t word[32]) {
    const uint32_t n = npu_score_n(c);
    const job *j = &s->ring[s->written % JOBS];
    if (!j->int8) {
        return s->written < s->filled ? &j->out[s->out_word * n] : NULL;
    }
    if (s->written == s->taken || s->stream_bytes < n) {
        return NULL;
    }
    const uint32_t blocks = j->stride != 0 ? j->stride : 1u << s->stride.width;
    memcpy(word, s->stream, n);
    memmove(s->stream, &s->stream[n], s->stream_bytes - n);
    s->stream_bytes -= n;
    if (s->out_word % blocks == blocks - 1) {
        memset(&word[j->channels], 0, n - j->channels);
    }
    return word;
}

static void take_word(tb_check *c, state *s) {
    int8_t word[32];
    const uint32_t n = npu_score_n(c);
    const int8_t *expected = next_word(c, s, word);
    if (expected == NULL) {
        tb_check_fail(c, "word", s->words, NULL, "a word", "none: its data have not come");
        return;
    }
    const job *j = &s->ring[s->written % JOBS];
    const uint32_t blocks = !j->int8 ? 1 : j->words / j->count;
    const uint32_t at = j->waddr + s->out_word * (j->int8 ? 1 : j->stride);
    const int8_t *word_got = s->wr_data.ptr;
    char where[96];
    for (uint32_t i = 0; i < n && memcmp(word_got, expected, n) != 0; i++) {
        if (word_got[i] != expected[i]) {
            char g[16], e[16];
            snprintf(where, sizeof where, "%s job %" PRIu64 ", pixel %" PRIu32 ", block %" PRIu32 ", channel %" PRIu32,
                     j->int8 ? "INT8" : "FP32", s->written, s->out_word / blocks, s->out_word % blocks, i);
            snprintf(g, sizeof g, "%d", word_got[i]);
            snprintf(e, sizeof e, "%d", expected[i]);
            tb_check_fail(c, "word", s->words, where, g, e);
        }
    }
    tb_check_value(c, "word address", s->words, tb_get(s->wr_addr), at & ((1u << s->wr_addr.width) - 1));
    s->words++;
    const bool last = ++s->out_word == j->words;
    tb_check_value(c, "done", s->words, tb_get(s->done), last);
    if (last) {
        s->out_word = 0;
        s->written++;
    }
}

static bool next_is_int8(const state *s) {
    return s->filled < s->taken && s->ring[s->filled % JOBS].int8;
}

/* An FP32 beat waits for nothing but the words of BANKS jobs before it. */
static void check_wait(tb_check *c, const state *s) {
    if (s->filled == s->taken || s->filled - s->written >= BANKS) {
        return;
    }
    for (uint64_t i = s->written; i <= s->filled; i++) {
        if (s->ring[i % JOBS].int8) { /* jobs of both kinds wait for each other */
            return;
        }
    }
    char got[40];
    snprintf(got, sizeof got, "0 with the words of %" PRIu64 " jobs inside", s->filled - s->written);
    tb_check_fail(c, "data ready", s->words, NULL, got, "1");
}

/* The next job is taken when the requests of the one before are out and there is room. */
static void see_job_wait(tb_check *c, const state *s) {
    uint32_t ahead = s->asked == s->taken ? 0 : AHEAD;
    for (uint64_t i = s->written; i < s->taken && ahead < AHEAD; i++) {
        ahead += s->ring[i % JOBS].int8 || i >= s->filled;
    }
    if (ahead < AHEAD) {
        tb_check_fail(c, "job", s->taken, NULL, "one that waits", "it is taken: there is room");
    }
}

/*
 * What depends only on the unit comes at once: requests of a job from the cycle after its acceptance on, INT8 words
 * with their bytes, the words of an FP32 job DRAIN cycles after its last beat. Cycles in which ifm_buf takes no word do
 * not count.
 */
static void see_delay(tb_check *c, state *s) {
    if (s->asked < s->taken && npu_score_b(s->req_valid) == 0) {
        tb_check_fail(c, "request", s->requests, NULL, "none", "one: a job wants data");
    }
    if (npu_score_b(s->job_valid) > npu_score_b(s->job_ready)) {
        see_job_wait(c, s);
    }
    if (npu_score_b(s->wr_valid) != 0) {
        s->moving += npu_score_b(s->wr_ready);
        return;
    }
    const job *j = &s->ring[s->written % JOBS];
    const bool due =
        j->int8 ? s->stream_bytes >= npu_score_n(c) : s->written < s->filled && s->moving - j->since >= DRAIN;
    if (s->written < s->taken && due) {
        tb_check_fail(c, "word", s->words, NULL, "a gap", "a word: its data are there");
    }
    s->moving++;
}

static void cycle(tb_check *c) {
    state *s = (state *)c->state;
    see_delay(c, s);
    if (npu_score_fire(s->wr_valid, s->wr_ready)) {
        take_word(c, s);
    } else if (tb_get(s->done) != 0) {
        tb_check_fail(c, "done", s->words, NULL, "1", "0: no word is written");
    }
    const bool taken = npu_score_fire(s->dat_valid, s->dat_ready);
    if (taken ? !s->seen : tb_get(s->dat_valid) != 0 && !s->seen && next_is_int8(s)) {
        take_data(c, s);
        s->seen = true;
    }
    s->seen = s->seen && !taken;
    if (!taken && tb_get(s->dat_valid) != 0) {
        check_wait(c, s);
    }
    if (npu_score_fire(s->req_valid, s->req_ready)) {
        take_request(c, s);
    }
    if (npu_score_fire(s->job_valid, s->job_ready)) {
        take_job(c, s);
    }
    c->again = s->asked < s->taken || s->written < s->filled;
}

static void finish(tb_check *c) {
    const state *s = (const state *)c->state;
    if (s->written != s->taken) {
        char got[40], expected[40];
        snprintf(got, sizeof got, "words of %" PRIu64 " jobs", s->written);
        snprintf(expected, sizeof expected, "of %" PRIu64, s->taken);
        tb_check_fail(c, "word", s->words, NULL, got, expected);
    }
}

static const char *const inputs[] = {"ifm_ld", "dma_rd", NULL};

const tb_check_ops npu_score_layout = {.unit = "layout",
                                       .inputs = inputs,
                                       .state_bytes = sizeof(state),
                                       .open = open,
                                       .clear = clear,
                                       .cycle = cycle,
                                       .finish = finish};
