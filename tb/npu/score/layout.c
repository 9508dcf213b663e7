/* layout.c - predicts the words of a layout unit from its jobs and data. */
#include "score.h"

#include <inttypes.h>

#define JOBS 16u /* more than the unit holds between acceptance and its last word */
#define PIXELS 64u
#define PIECE 1024u  /* bytes of the longest request */
#define STREAM 1024u /* INT8 bytes that have arrived and not been written: less than a few words */
#define BEAT 16u
#define DRAIN 4u /* cycles from the last beat of an FP32 job to its first word */
#define AHEAD 4u /* jobs that wait for data (INT8: or have words left), at most */
#define BANKS 4u /* FP32 jobs that have all their data and words left, at most */

typedef struct job {
    bool int8, wide; /* wide: INT16; int8: NHWC of either */
    uint32_t scale, quant, step, stride, addr, channels, count, waddr;
    uint32_t rows, row; /* reads of `row` bytes, `step` apart */
    uint32_t words;
    uint64_t since;              /* FP32: `moving` at its last beat */
    uint32_t in[PIXELS * 32];    /* FP32: data of the job, channel after channel */
    int8_t out[2 * PIXELS * 32]; /* FP32: its words, known when all data have arrived */
} job;

#define PORTS                                                                                                          \
    cfg_in_scale_i, cfg_quant_i, cfg_cstep_i, cfg_stride_i, cfg_nhwc_i, cfg_wide_i, job_valid_i, job_ready_o,          \
        job_addr_i, job_nch_i, job_cnt_i, job_waddr_i, req_valid_o, req_ready_i, req_addr_o, req_bytes_o, dat_valid_i, \
        dat_ready_o, dat_i, wr_valid_o, wr_ready_i, wr_addr_o, wr_data_o, done_o
typedef struct state {
    TB_PORTS(ports, PORTS);
    job ring[JOBS];
    uint64_t taken, asked, filled, written; /* jobs: accepted, all requests sent, all data in, all words out */
    uint32_t req_row, req_byte, in_row, in_byte, out_word;
    uint64_t requests, words;
    uint64_t moving; /* cycles in which ifm_buf does not stall a word */
    uint8_t stream[STREAM];
    uint32_t stream_bytes;
    bool seen; /* INT8: the beat on offer is in the stream already, as its words may be output before it is accepted */
} state;

static void clear(tb_check *c) {
    state *s = (state *)c->state;
    s->taken = s->asked = s->filled = s->written = 0;
    s->req_row = s->req_byte = s->in_row = s->in_byte = s->out_word = 0;
    s->stream_bytes = 0;
    s->seen = false;
}

static void take_job(tb_check *c, state *s) {
    if (s->taken - s->written >= JOBS) {
        tb_check_fail(c, "job", s->taken, NULL, "one more job", "none before words of earlier jobs");
        return;
    }
    const uint32_t n = npu_score_n(c);
    job *j = &s->ring[s->taken++ % JOBS];
    j->int8 = tb_get(s->cfg_nhwc_i) != 0;
    j->wide = tb_get(s->cfg_wide_i) != 0;
    j->scale = (uint32_t)tb_get(s->cfg_in_scale_i);
    j->quant = (uint32_t)tb_get(s->cfg_quant_i);
    j->step = (uint32_t)tb_get(s->cfg_cstep_i);
    j->stride = (uint32_t)tb_get(s->cfg_stride_i);
    j->addr = (uint32_t)tb_get(s->job_addr_i);
    j->channels = (uint32_t)tb_get(s->job_nch_i);
    j->count = (uint32_t)tb_get(s->job_cnt_i);
    j->waddr = (uint32_t)tb_get(s->job_waddr_i);
    if (j->int8) {
        const uint32_t blocks = j->stride != 0 ? j->stride : 1u << s->cfg_stride_i.width;
        const bool dense = j->step == blocks * n;
        j->words = j->count * blocks;
        j->rows = dense ? 1 : j->count;
        j->row = (dense ? j->words : blocks) * n;
    } else {
        j->words = j->count << j->wide;
        j->rows = j->channels;
        j->row = 4 * j->count;
    }
}

static void take_request(tb_check *c, state *s) {
    if (s->asked == s->taken) {
        tb_check_fail(c, "request", s->requests, NULL, "a request", "none: no job is left");
        return;
    }
    const job *j = &s->ring[s->asked % JOBS];
    const uint32_t left = j->row - s->req_byte, bytes = left < PIECE ? left : PIECE;
    tb_check_value(c, "request address", s->requests, tb_get(s->req_addr_o),
                   (uint32_t)(j->addr + s->req_row * j->step + s->req_byte));
    tb_check_value(c, "request bytes", s->requests, tb_get(s->req_bytes_o), bytes);
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
        tb_check_fail(c, "data", s->words, NULL, "data taken", "none: there was no request");
        return;
    }
    const uint32_t n = npu_score_n(c);
    job *j = &s->ring[s->filled % JOBS];
    const uint32_t left = j->row - s->in_byte, bytes = left < BEAT ? left : BEAT;
    if (!j->int8 && bytes == BEAT) { /* most: no call */
        memcpy((uint8_t *)j->in + s->in_row * j->row + s->in_byte, s->dat_i.ptr, BEAT);
    } else if (!j->int8) {
        memcpy((uint8_t *)j->in + s->in_row * j->row + s->in_byte, s->dat_i.ptr, bytes);
    } else if (s->stream_bytes + bytes <= STREAM) {
        memcpy(&s->stream[s->stream_bytes], s->dat_i.ptr, bytes);
        s->stream_bytes += bytes;
    } else {
        tb_check_fail(c, "data", s->words, NULL, "more data taken", "none before words are written");
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
        if (!j->int8 && j->wide) {
            int8_t words[2 * PIXELS * 32];
            cm_layout_wide(n, j->channels, j->count, j->scale, j->in, words);
            for (uint32_t w = 0; w < j->words; w++) { /* all low bytes leave before the high ones */
                const uint32_t at = (w % 2 * j->count + w / 2) * n;
                memcpy(&j->out[at], &words[w * n], n);
            }
        } else if (!j->int8) {
            cm_layout(n, j->channels, j->count, j->scale, j->quant, j->in, j->out);
        }
    }
}

/* The next expected word, or NULL: its data are not complete. */
static const int8_t *next_word(const tb_check *c, state *s, int8_t word[32]) {
    const uint32_t n = npu_score_n(c);
    const job *j = &s->ring[s->written % JOBS];
    if (!j->int8) {
        return s->written < s->filled ? &j->out[s->out_word * n] : NULL;
    }
    if (s->written == s->taken || s->stream_bytes < n) {
        return NULL;
    }
    const uint32_t blocks = j->stride != 0 ? j->stride : 1u << s->cfg_stride_i.width;
    memcpy(word, s->stream, n);
    memmove(s->stream, &s->stream[n], s->stream_bytes - n);
    s->stream_bytes -= n;
    if (s->out_word % blocks + 1 + j->wide >= blocks) { /* INT16: both words of the last block */
        memset(&word[j->channels], 0, n - j->channels);
    }
    return word;
}

static void take_word(tb_check *c, state *s) {
    int8_t word[32];
    const uint32_t n = npu_score_n(c);
    const int8_t *expected = next_word(c, s, word);
    if (expected == NULL) {
        tb_check_fail(c, "word", s->words, NULL, "a word", "none: its data have not arrived");
        return;
    }
    const job *j = &s->ring[s->written % JOBS];
    const uint32_t blocks = !j->int8 ? 1 : j->words / j->count;
    const uint32_t plane = s->out_word / j->count, pixel = s->out_word % j->count; /* FP32 */
    const uint32_t at = j->waddr + (j->int8 ? s->out_word : pixel * j->stride + plane);
    const int8_t *got = s->wr_data_o.ptr;
    for (uint32_t i = 0; i < n && !npu_score_same(got, expected, n); i++) {
        if (got[i] != expected[i]) {
            tb_check_failf(c, "word", s->words,
                           "%s job %" PRIu64 ", pixel %" PRIu32 ", block %" PRIu32 ", channel %" PRIu32 "|%d|%d",
                           j->int8 ? "INT8" : "FP32", s->written, s->out_word / blocks, s->out_word % blocks, i, got[i],
                           expected[i]);
        }
    }
    tb_check_value(c, "word address", s->words, tb_get(s->wr_addr_o), at & ((1u << s->wr_addr_o.width) - 1));
    s->words++;
    const bool last = ++s->out_word == j->words;
    tb_check_value(c, "done", s->words, tb_get(s->done_o), last);
    if (last) {
        s->out_word = 0;
        s->written++;
    }
}

static bool next_is_int8(const state *s) {
    return s->filled < s->taken && s->ring[s->filled % JOBS].int8;
}

/* Only the words of earlier jobs in all banks may delay an FP32 beat. */
static void check_wait(tb_check *c, const state *s) {
    uint32_t banks = 0; /* of the jobs whose words are inside, and of the next one: an INT16 job takes two */
    for (uint64_t i = s->written; i <= s->filled && s->filled < s->taken; i++) {
        banks += 1u + s->ring[i % JOBS].wide;
    }
    banks -=
        s->written < s->filled && s->ring[s->written % JOBS].wide && s->out_word >= s->ring[s->written % JOBS].count;
    if (banks == 0 || banks > BANKS) {
        return;
    }
    for (uint64_t i = s->written; i <= s->filled; i++) {
        if (s->ring[i % JOBS].int8) { /* a job waits for those of the other kind before it */
            return;
        }
    }
    tb_check_failf(c, "data ready", s->words, "0 with the words of %" PRIu64 " jobs inside|1", s->filled - s->written);
}

/* The next job is accepted when the requests of the one before have been sent and there is space. */
static void see_job_wait(tb_check *c, const state *s) {
    uint32_t ahead = s->asked == s->taken ? 0 : AHEAD;
    for (uint64_t i = s->written; i < s->taken && ahead < AHEAD; i++) {
        ahead += s->ring[i % JOBS].int8 || i >= s->filled;
    }
    if (ahead < AHEAD) {
        tb_check_fail(c, "job", s->taken, NULL, "one that waits", "it is accepted: there is space");
    }
}

/*
 * Limits on the unit's own delays: requests of a job from the cycle after its acceptance on, INT8 words in the cycle of
 * their bytes, the words of an FP32 job DRAIN cycles after its last beat. Cycles in which ifm_buf stalls a word are not
 * counted.
 */
static void see_delay(tb_check *c, state *s) {
    if (s->asked < s->taken && npu_score_b(s->req_valid_o) == 0) {
        tb_check_fail(c, "request", s->requests, NULL, "none", "one: a job has requests left");
    }
    if (npu_score_b(s->job_valid_i) > npu_score_b(s->job_ready_o)) {
        see_job_wait(c, s);
    }
    if (npu_score_b(s->wr_valid_o) != 0) {
        s->moving += npu_score_b(s->wr_ready_i);
        return;
    }
    const job *j = &s->ring[s->written % JOBS];
    const bool due =
        j->int8 ? s->stream_bytes >= npu_score_n(c) : s->written < s->filled && s->moving - j->since >= DRAIN;
    if (s->written < s->taken && due) {
        tb_check_fail(c, "word", s->words, NULL, "no word", "one: its data have arrived");
    }
    s->moving++;
}

static void cycle(tb_check *c) {
    state *s = (state *)c->state;
    see_delay(c, s);
    if (npu_score_fire(s->wr_valid_o, s->wr_ready_i)) {
        take_word(c, s);
    } else if (tb_get(s->done_o) != 0) {
        tb_check_fail(c, "done", s->words, NULL, "1", "0: no word is written");
    }
    const bool taken = npu_score_fire(s->dat_valid_i, s->dat_ready_o);
    if (taken ? !s->seen : tb_get(s->dat_valid_i) != 0 && !s->seen && next_is_int8(s)) {
        take_data(c, s);
        s->seen = true;
    }
    s->seen = s->seen && !taken;
    if (!taken && tb_get(s->dat_valid_i) != 0) {
        check_wait(c, s);
    }
    if (npu_score_fire(s->req_valid_o, s->req_ready_i)) {
        take_request(c, s);
    }
    if (npu_score_fire(s->job_valid_i, s->job_ready_o)) {
        take_job(c, s);
    }
    c->again = s->asked < s->taken || s->written < s->filled;
}

static void finish(tb_check *c) {
    const state *s = (const state *)c->state;
    if (s->written != s->taken) {
        tb_check_failf(c, "word", s->words, "words of %" PRIu64 " jobs|of %" PRIu64, s->written, s->taken);
    }
}

const tb_check_ops npu_score_layout = {.unit = "layout",
                                       .inputs = (const char *const[]){"ifm_ld", "dma_rd", NULL},
                                       TB_STATE(state, PORTS),
                                       .wake = "wr_valid_o, done_o, dat_valid_i, req_valid_o, job_valid_i",
                                       .clear = clear,
                                       .cycle = cycle,
                                       .finish = finish};
