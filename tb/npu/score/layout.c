/* layout.c - predicts the words of a layout unit from its jobs and data. */
#include <inttypes.h>

#include "cm_fp_lanes.h"
#include "score.h"

#define JOBS 16u /* more than the unit holds between acceptance and its last word */
#define OUTS 8u /* FP32 jobs whose words are known, with the one that gets data: four banks, and two of a word behind */
#define PIXELS 64u
#define JOB_BYTES (2u * PIXELS * 32u)
#define PIECE 1024u  /* bytes of the longest request */
#define STREAM 1024u /* INT8 bytes that have arrived and not been written: less than a few words */
#define BEAT 16u
#define DRAIN 4u /* cycles from the last beat of an FP32 job to its first word */
#define AHEAD 4u /* jobs that wait for data (INT8: or have words left), at most */
#define BANKS 4u /* FP32 jobs that have all their data and words left, at most */
#define IFM_AW 14u

typedef struct job {
    bool int8, wide; /* wide: INT16; int8: NHWC of either */
    uint32_t scale, quant, step, addr, channels, count, blocks;
    uint32_t rows, row; /* reads of `row` bytes, `step` apart */
    uint32_t words;
    uint32_t waddr, wstep; /* first word in ifm_buf; from one to the next */
    uint64_t since;        /* FP32: `moving` at its last beat */
} job;

/* What a beat or a word needs of its job: ring[filled % JOBS] and ring[written % JOBS]. */
typedef struct fill {
    bool int8;
    uint32_t row; /* bytes */
} fill;
typedef struct drain {
    bool int8;
    uint32_t words, waddr, wstep, plane; /* waddr: of the next word; INT16: words before those of the high bytes */
} drain;

/* those of most cycles first */
#define PORTS                                                                                                          \
    wr_valid_o, wr_ready_i, done_o, dat_valid_i, dat_ready_o, req_valid_o, req_ready_i, job_valid_i, job_ready_o,      \
        dat_i, wr_data_o, wr_addr_o, req_addr_o, req_bytes_o, cfg_in_scale_i, cfg_quant_i, cfg_cstep_i, cfg_stride_i,  \
        cfg_nhwc_i, cfg_wide_i, job_addr_i, job_nch_i, job_cnt_i, job_waddr_i
typedef struct state {
    TB_PORTS(ports, PORTS);
    uint64_t taken, asked, filled, written; /* jobs: accepted, all requests sent, all data in, all words out */
    uint64_t moving;                        /* cycles in which ifm_buf does not stall a word */
    uint64_t words;
    uint32_t n;
    bool seen; /* INT8: the beat on offer is in the stream already, as its words may be output before it is accepted */
    uint32_t req_row, req_byte, in_row, in_byte, out_word;
    uint32_t out_at; /* of the next word, in `out` */
    uint32_t ahead;  /* jobs that wait for data (INT8: or have words left) */
    fill fill;
    drain drain;
    uint64_t requests;
    uint32_t stream_at, stream_bytes;
    uint32_t row[2 * PIXELS]; /* FP32: data of one channel */
    job ring[JOBS];
    uint8_t stream[2 * STREAM]; /* stream_bytes from stream_at on */
    int8_t
        out[(OUTS + 1) * JOB_BYTES]; /* words of FP32 jobs; one more, so that nothing is behind a job of wrong size */
} state;

static int open(tb_check *c, char *err, size_t err_size) {
    state *s = (state *)c->state;
    s->n = npu_score_n(c);
    return tb_check_sig(c, "wr_addr_o", IFM_AW, &s->wr_addr_o, err, err_size);
}

static void clear(tb_check *c) {
    state *s = (state *)c->state;
    s->taken = s->asked = s->filled = s->written = 0;
    s->req_row = s->req_byte = s->in_row = s->in_byte = s->out_word = 0;
    s->out_at = s->ahead = s->stream_bytes = 0;
    s->seen = false;
}

/* Where the words of an FP32 job are in `out`. */
static inline uint32_t out_of(const state *s, uint64_t number) {
    return (uint32_t)(number % OUTS) * (2 * PIXELS) * s->n;
}

/* The job that gets the next beat, and the one of the next word; both maybe before it is accepted. */
static void begin_fill(state *s) {
    const job *j = &s->ring[s->filled % JOBS];
    s->fill = (fill){.int8 = j->int8, .row = j->row};
}

static void begin_drain(state *s) {
    const job *j = &s->ring[s->written % JOBS];
    s->out_at = out_of(s, s->written);
    s->drain = (drain){.int8 = j->int8,
                       .words = j->words,
                       .waddr = j->waddr,
                       .wstep = j->wstep,
                       .plane = j->wide && !j->int8 ? j->count : UINT32_MAX};
}

__attribute__((noinline)) static void take_job(tb_check *c, state *s) {
    if (s->taken - s->written >= JOBS) {
        tb_check_fail(c, "job", s->taken, NULL, "one more job", "none before words of earlier jobs");
        return;
    }
    const uint32_t stride = (uint32_t)tb_get(s->cfg_stride_i);
    job *j = &s->ring[s->taken++ % JOBS];
    j->int8 = tb_get(s->cfg_nhwc_i) != 0;
    j->wide = tb_get(s->cfg_wide_i) != 0;
    j->scale = (uint32_t)tb_get(s->cfg_in_scale_i);
    j->quant = (uint32_t)tb_get(s->cfg_quant_i);
    j->step = (uint32_t)tb_get(s->cfg_cstep_i);
    j->addr = (uint32_t)tb_get(s->job_addr_i);
    j->channels = (uint32_t)tb_get(s->job_nch_i);
    j->count = (uint32_t)tb_get(s->job_cnt_i);
    j->waddr = (uint32_t)tb_get(s->job_waddr_i);
    if (j->int8) {
        j->blocks = stride != 0 ? stride : 1u << s->cfg_stride_i.width;
        const bool dense = j->step == j->blocks * s->n;
        j->words = j->count * j->blocks;
        j->rows = dense ? 1 : j->count;
        j->row = (dense ? j->words : j->blocks) * s->n;
        j->wstep = 1;
    } else {
        j->blocks = 1;
        j->words = j->count << j->wide;
        j->rows = j->channels;
        j->row = 4 * j->count;
        j->wstep = stride;
    }
    s->ahead++;
    if (s->filled + 1 == s->taken) {
        begin_fill(s);
    }
    if (s->written + 1 == s->taken) {
        begin_drain(s);
    }
}

__attribute__((noinline)) static void take_request(tb_check *c, state *s) {
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

/* ---- data: FP32 become words at once, INT8 are kept as they are ---- */

/* Values of a channel, four at a time, and the usual quantiser: bytes that are n apart. Returns how many. */
static uint32_t quantise_lanes(const uint32_t *in, uint32_t count, uint32_t scale, uint32_t n, int8_t *to) {
    uint32_t i = 0;
    for (; i + CM_FP_LANES <= count; i += CM_FP_LANES) {
        cm_fp_floats v;
        memcpy(&v, &in[i], sizeof v);
        /* not cm_fp_mul_lanes(): a NaN counts as 0, whatever its bits are */
        const cm_fp_ints q = cm_fp_f32_to_i8_lanes((cm_fp_lanes)(v * (cm_fp_floats)cm_fp_all(scale)));
        for (uint32_t k = 0; k < CM_FP_LANES; k++, to += n) {
            *to = (int8_t)q[k];
        }
    }
    return i;
}

/* A channel of an FP32 job has arrived: a byte, INT16: two, of each of its words. */
__attribute__((noinline)) static void quantise(state *s, const job *j) {
    const uint32_t n = s->n, count = j->count, *in = s->row;
    int8_t *words = &s->out[out_of(s, s->filled)];
    if (s->in_row == 0 && j->channels < n) { /* those that do not exist are 0 */
        memset(words, 0, (size_t)2 * PIXELS * n);
    }
    words += s->in_row;
    const bool usual = j->quant == 0 && !j->wide;
    for (uint32_t i = usual ? quantise_lanes(in, count, j->scale, n, words) : 0; i < count; i++) {
        const uint32_t v = cm_fp_mul(in[i], j->scale);
        if (j->wide) { /* all low bytes leave before the high ones */
            const int16_t q = cm_fp_f32_to_i16(v);
            words[i * n] = (int8_t)(q & 0xFF);
            words[(count + i) * n] = (int8_t)(q >> 8);
        } else {
            words[i * n] = cm_fp_quantise(v, j->quant);
        }
    }
}

__attribute__((noinline)) static bool take_int8(tb_check *c, state *s, uint32_t bytes) {
    if (s->stream_bytes + bytes > STREAM) {
        tb_check_fail(c, "data", s->words, NULL, "more data taken", "none before words are written");
        return false;
    }
    if (s->stream_at > STREAM) {
        memmove(s->stream, &s->stream[s->stream_at], s->stream_bytes);
        s->stream_at = 0;
    }
    npu_score_copy(&s->stream[s->stream_at + s->stream_bytes], s->dat_i.ptr, bytes);
    s->stream_bytes += bytes;
    return true;
}

/* A row has arrived. */
__attribute__((noinline)) static void end_row(state *s) {
    job *j = &s->ring[s->filled % JOBS];
    if (!j->int8) {
        quantise(s, j);
    }
    s->in_byte = 0;
    if (++s->in_row == j->rows) {
        s->in_row = 0;
        s->filled++;
        s->ahead -= !j->int8;
        j->since = s->moving;
        begin_fill(s);
    }
}

static inline void take_data(tb_check *c, state *s) {
    if (s->filled == s->asked && s->req_row == 0 && s->req_byte == 0) {
        tb_check_fail(c, "data", s->words, NULL, "data taken", "none: there was no request");
        return;
    }
    const uint32_t left = s->fill.row - s->in_byte;
    if (s->fill.int8) {
        if (!take_int8(c, s, left < BEAT ? left : BEAT)) {
            return;
        }
    } else if (s->filled - s->written >= OUTS) {
        tb_check_fail(c, "data", s->words, NULL, "more data taken", "none before words are written");
        return;
    } else {
        memcpy((uint8_t *)s->row + s->in_byte, s->dat_i.ptr, BEAT); /* of the last beat maybe more than there is */
    }
    s->in_byte += BEAT;
    if (left <= BEAT) {
        end_row(s);
    }
}

/* ---- words ---- */

/* The next expected word of an INT8 job, or NULL: its data are not complete. */
__attribute__((noinline)) static const int8_t *int8_word(state *s, int8_t masked[32]) {
    const job *j = &s->ring[s->written % JOBS];
    const uint32_t n = s->n;
    if (s->written == s->taken || s->stream_bytes < n) {
        return NULL;
    }
    const int8_t *word = (const int8_t *)&s->stream[s->stream_at];
    s->stream_at += n;
    s->stream_bytes -= n;
    /* INT16: both words of the last block */
    if (j->channels < n && s->out_word % j->blocks + 1 + j->wide >= j->blocks) {
        memset(masked, 0, 32);
        memcpy(masked, word, j->channels);
        return masked;
    }
    return word;
}

__attribute__((cold, noinline)) static void word_differs(tb_check *c, const state *s, const int8_t *expected,
                                                         bool last) {
    const job *j = &s->ring[s->written % JOBS];
    const int8_t *got = s->wr_data_o.ptr;
    for (uint32_t i = 0; i < s->n; i++) {
        if (got[i] != expected[i]) {
            tb_check_failf(c, "word", s->words,
                           "%s job %" PRIu64 ", pixel %" PRIu32 ", block %" PRIu32 ", channel %" PRIu32 "|%d|%d",
                           j->int8 ? "INT8" : "FP32", s->written, s->out_word / j->blocks, s->out_word % j->blocks, i,
                           got[i], expected[i]);
        }
    }
    tb_check_value(c, "word address", s->words, tb_get(s->wr_addr_o), s->drain.waddr);
    tb_check_value(c, "done", s->words, tb_get(s->done_o), last);
}

static inline void take_word(tb_check *c, state *s) {
    const uint32_t n = s->n;
    drain *d = &s->drain;
    int8_t masked[32];
    const int8_t *expected = d->int8 ? int8_word(s, masked) : s->written < s->filled ? &s->out[s->out_at] : NULL;
    if (expected == NULL) {
        tb_check_fail(c, "word", s->words, NULL, "a word", "none: its data have not arrived");
        return;
    }
    const bool last = s->out_word + 1 == d->words;
    if (!npu_score_same(s->wr_data_o.ptr, expected, n) || *(const uint16_t *)s->wr_addr_o.ptr != d->waddr ||
        npu_score_b(s->done_o) != last) {
        word_differs(c, s, expected, last);
    }
    s->words++;
    s->out_word++;
    s->out_at += n;
    d->waddr = (d->waddr + d->wstep) % (1u << IFM_AW);
    if (s->out_word == d->plane) {
        d->waddr = (s->ring[s->written % JOBS].waddr + 1) % (1u << IFM_AW);
    }
    if (last) {
        s->out_word = 0;
        s->written++;
        s->ahead -= d->int8;
        begin_drain(s);
    }
}

/* ---- delays ---- */

static inline bool next_is_int8(const state *s) {
    return s->filled < s->taken && s->fill.int8;
}

/* Only the words of earlier jobs in all banks may delay an FP32 beat. */
__attribute__((noinline)) static void check_wait(tb_check *c, const state *s) {
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

/*
 * Limits on the unit's own delays: requests of a job from the cycle after its acceptance on, INT8 words in the cycle of
 * their bytes, the words of an FP32 job DRAIN cycles after its last beat. Cycles in which ifm_buf stalls a word are not
 * counted.
 */
static inline void see_delay(tb_check *c, state *s, uint32_t valid, uint32_t ready) {
    if (s->asked < s->taken && npu_score_b(s->req_valid_o) == 0) {
        tb_check_fail(c, "request", s->requests, NULL, "none", "one: a job has requests left");
    }
    /* the next job is accepted when the requests of the one before have been sent and there is space */
    if (npu_score_b(s->job_valid_i) > npu_score_b(s->job_ready_o) && s->asked == s->taken && s->ahead < AHEAD) {
        tb_check_fail(c, "job", s->taken, NULL, "one that waits", "it is accepted: there is space");
    }
    if (valid == 0 && s->written < s->taken) {
        const uint64_t since = s->ring[s->written % JOBS].since;
        if (s->drain.int8 ? s->stream_bytes >= s->n : s->written < s->filled && s->moving - since >= DRAIN) {
            tb_check_fail(c, "word", s->words, NULL, "no word", "one: its data have arrived");
        }
    }
    s->moving += valid <= ready;
}

static void cycle(tb_check *c) {
    state *s = (state *)c->state;
    const uint32_t valid = npu_score_b(s->wr_valid_o), ready = npu_score_b(s->wr_ready_i);
    see_delay(c, s, valid, ready);
    if ((valid & ready) != 0) {
        take_word(c, s);
    } else if (npu_score_b(s->done_o) != 0) {
        tb_check_fail(c, "done", s->words, NULL, "1", "0: no word is written");
    }
    if (npu_score_b(s->dat_valid_i) != 0) {
        const bool taken = npu_score_b(s->dat_ready_o) != 0;
        if (!s->seen && (taken || next_is_int8(s))) {
            take_data(c, s);
            s->seen = true;
        }
        s->seen = s->seen && !taken;
        if (!taken && !s->fill.int8) {
            check_wait(c, s);
        }
    }
    if (npu_score_fire(s->req_valid_o, s->req_ready_i)) {
        take_request(c, s);
    }
    if (npu_score_fire(s->job_valid_i, s->job_ready_o)) {
        take_job(c, s);
    }
    c->again = s->asked != s->taken || s->written != s->filled;
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
                                       .open = open,
                                       .clear = clear,
                                       .cycle = cycle,
                                       .finish = finish};
