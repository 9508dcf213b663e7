/* layout.c - predicts the words of a layout unit from its jobs and data. */
#include <inttypes.h>

#include "cm_fp_lanes.h"
#include "num.h"
#include "score.h"

#define JOBS 16u /* more than the unit holds between acceptance and its last word */
#define OUTS 8u /* FP32 jobs whose words are known, with the one that gets data: four banks, and two of a word behind */
#define PIXELS 64u
#define JOB_BYTES (2u * PIXELS * 32u)
#define PIECE 1024u  /* bytes of the longest request */
#define STREAM 1024u /* INT8 bytes that have arrived and not been written: less than a few words */
#define BEAT 16u
#define WORD_MAX 32u /* bytes */
#define DRAIN 4u     /* cycles from the last beat of an FP32 job to its first word */
#define AHEAD 4u     /* jobs that wait for data (INT8: or have words left), at most */
#define BANKS 4u     /* FP32 jobs that have all their data and words left, at most */
#define IFM_AW 14u

typedef struct job {
    bool int8, wide; /* wide: INT16; int8: NHWC of either */
    uint32_t scale, quant, step, addr, channels, count, blocks;
    uint32_t rows, row; /* reads of `row` bytes, `step` apart */
    uint32_t words;
    uint32_t waddr, wstep; /* first word in ifm_buf; from one to the next */
    uint32_t since;        /* FP32: `moving` at its last beat */
} job;

/* What a beat or a word needs of its job: ring[filled % JOBS] and ring[written % JOBS]. */
typedef struct fill {
    uint32_t row; /* bytes */
    bool int8;
} fill;
typedef struct drain {
    const int8_t *expected;  /* FP32: the next word */
    uint32_t left, high;     /* words that are left, and when those of the high bytes begin (INT16) */
    uint32_t waddr, wstep;   /* of the next word */
    uint32_t block, partial; /* INT8: of a pixel; from which one on channels are missing */
    bool int8;
} drain;

/* those that every cycle reads come first */
#define NEAR                                                                                                           \
    wr_valid_o, wr_ready_i, done_o, dat_valid_i, dat_ready_o, req_valid_o, req_ready_i, job_valid_i, job_ready_o,      \
        dat_i, wr_data_o, wr_addr_o
#define PORTS                                                                                                          \
    NEAR, req_addr_o, req_bytes_o, cfg_in_scale_i, cfg_quant_i, cfg_cstep_i, cfg_stride_i, cfg_nhwc_i, cfg_wide_i,     \
        job_addr_i, job_nch_i, job_cnt_i, job_waddr_i
typedef struct state {
    const uint8_t *base;
    NPU_SCORE_PLACES(at, NEAR);
    uint32_t n;
    /* jobs: accepted, all requests sent, all data in, all words out */
    uint32_t taken, asked, filled, written;
    uint32_t moving; /* cycles in which ifm_buf does not stall a word */
    uint32_t in_byte;
    drain drain;
    fill fill;
    bool seen; /* INT8: the beat on offer is in the stream already, as its words may be output before it is accepted */
    uint32_t ahead; /* jobs that wait for data (INT8: or have words left) */
    uint32_t req_row, req_byte, in_row;
    uint64_t words; /* of complete jobs */
    uint64_t requests;
    uint32_t stream_at, stream_bytes;
    uint32_t row[2 * PIXELS]; /* FP32: data of one channel */
    job ring[JOBS];
    uint8_t stream[2 * STREAM + WORD_MAX]; /* stream_bytes from stream_at on */
    int8_t
        out[(OUTS + 1) * JOB_BYTES]; /* words of FP32 jobs; one more, so that nothing is behind a job of wrong size */
    TB_PORTS(ports, PORTS);
} state;

static int open(tb_check *c, char *err, size_t err_size) {
    state *s = (state *)c->state;
    s->n = npu_score_n(c);
    s->base = (const uint8_t *)s->wr_valid_o.ptr;
    return npu_score_places(c, &s->at.wr_valid_o, s->base, &s->wr_valid_o, sizeof s->at / sizeof(int32_t), err,
                            err_size) != 0
               ? -1
               : tb_check_sig(c, "wr_addr_o", IFM_AW, &s->wr_addr_o, err, err_size);
}

/* Value of a signal of up to 8 bits. */
static inline uint32_t see(const state *s, int32_t place) {
    return s->base[place];
}

/* Where the words of an FP32 job are in `out`. */
static inline uint32_t out_of(const state *s, uint32_t number) {
    return number % OUTS * (2 * PIXELS) * s->n;
}

/* The job that gets the next beat, and the one of the next word; both maybe before it is accepted. */
static void begin_fill(state *s) {
    const job *j = &s->ring[s->filled % JOBS];
    s->fill = (fill){.int8 = j->int8, .row = j->row};
}

static void begin_drain(state *s) {
    const job *j = &s->ring[s->written % JOBS];
    /* channels are missing in the last block of a pixel, INT16: in both words of it */
    const uint32_t whole = j->blocks - tb_min_u32(j->blocks, 1u + j->wide);
    s->drain = (drain){.expected = &s->out[out_of(s, s->written)],
                       .left = j->words,
                       .high = j->wide && !j->int8 ? j->words - j->count : 0,
                       .waddr = j->waddr,
                       .wstep = j->wstep,
                       .partial = j->channels < s->n ? whole : UINT32_MAX,
                       .int8 = j->int8};
}

static void clear(tb_check *c) {
    state *s = (state *)c->state;
    s->taken = s->asked = s->filled = s->written = 0;
    s->req_row = s->req_byte = s->in_row = s->in_byte = 0;
    s->ahead = s->stream_bytes = 0;
    s->seen = false;
    begin_drain(s);
}

/* Words of the job that have been written, and of all jobs. */
static inline uint32_t word_of_job(const state *s) {
    return s->ring[s->written % JOBS].words - s->drain.left;
}
static uint64_t words(const state *s) {
    return s->words + word_of_job(s);
}

/* INT16: all low bytes of a job have been written, the high ones follow; else all of its words. */
__attribute__((noinline)) static void end_plane(state *s) {
    drain *d = &s->drain;
    const job *j = &s->ring[s->written % JOBS];
    if (d->left != 0) {
        d->high = 0;
        d->waddr = (j->waddr + 1) % (1u << IFM_AW);
        return;
    }
    s->words += j->words;
    s->written++;
    s->ahead -= d->int8;
    begin_drain(s);
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

__attribute__((noinline, hot)) static void take_request(tb_check *c, state *s) {
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
__attribute__((noinline, hot)) static void quantise(state *s, const job *j) {
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

/* A row has arrived. */
__attribute__((noinline, hot)) static void end_row(state *s) {
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

static inline bool requested(tb_check *c, const state *s) {
    const bool any = s->filled != s->asked || s->req_row != 0 || s->req_byte != 0;
    if (!any) {
        tb_check_fail(c, "data", words(s), NULL, "data taken", "none: there was no request");
    }
    return any;
}

static inline void end_beat(state *s) {
    s->in_byte += BEAT;
    if (s->in_byte >= s->fill.row) {
        end_row(s);
    }
}

/* The beat of an FP32 job. */
static inline void take_floats(tb_check *c, state *s) {
    if (!requested(c, s)) {
        return;
    }
    if (s->filled - s->written >= OUTS) {
        tb_check_fail(c, "data", words(s), NULL, "more data taken", "none before words are written");
        return;
    }
    memcpy((uint8_t *)s->row + s->in_byte, s->base + s->at.dat_i, BEAT); /* of the last beat maybe more than there is */
    end_beat(s);
}

/* Only the words of earlier jobs in all banks may delay an FP32 beat. */
__attribute__((noinline)) static void check_wait(tb_check *c, const state *s) {
    const job *first = &s->ring[s->written % JOBS];
    uint32_t banks = 0; /* of the jobs whose words are inside, and of the next one: an INT16 job takes two */
    for (uint32_t i = s->written; i != s->filled + 1 && s->filled != s->taken; i++) {
        banks += 1u + s->ring[i % JOBS].wide;
    }
    banks -= s->written != s->filled && first->wide && word_of_job(s) >= first->count;
    if (banks == 0 || banks > BANKS) {
        return;
    }
    for (uint32_t i = s->written; i != s->filled + 1; i++) {
        if (s->ring[i % JOBS].int8) { /* a job waits for those of the other kind before it */
            return;
        }
    }
    tb_check_failf(c, "data ready", words(s), "0 with the words of %" PRIu32 " jobs inside|1", s->filled - s->written);
}

__attribute__((noinline, hot)) static void take_int8(tb_check *c, state *s) {
    const uint32_t left = s->fill.row - s->in_byte, bytes = left < BEAT ? left : BEAT;
    if (!requested(c, s)) {
        return;
    }
    if (s->stream_bytes + bytes > STREAM) {
        tb_check_fail(c, "data", words(s), NULL, "more data taken", "none before words are written");
        return;
    }
    if (s->stream_at > STREAM) {
        memmove(s->stream, &s->stream[s->stream_at], s->stream_bytes);
        s->stream_at = 0;
    }
    npu_score_copy(&s->stream[s->stream_at + s->stream_bytes], s->base + s->at.dat_i, bytes);
    s->stream_bytes += bytes;
    end_beat(s);
}

/* A beat is on offer, of an INT8 job or after its last one: its words may be output before it is accepted. */
__attribute__((noinline, hot)) static void see_int8(tb_check *c, state *s, bool taken) {
    if (!s->seen && (taken || s->filled != s->taken)) {
        take_int8(c, s);
        s->seen = true;
    }
    s->seen = s->seen && !taken;
    if (!taken && !s->fill.int8) {
        check_wait(c, s);
    }
}

/* A beat on offer. */
__attribute__((noinline, hot)) static void see_data(tb_check *c, state *s) {
    const bool taken = see(s, s->at.dat_ready_o) != 0;
    if (s->fill.int8 || s->seen) {
        see_int8(c, s, taken);
    } else if (taken) {
        take_floats(c, s);
    } else {
        check_wait(c, s);
    }
}

/* ---- words ---- */

__attribute__((cold, noinline)) static void word_differs(tb_check *c, const state *s, const int8_t *expected,
                                                         bool last) {
    const job *j = &s->ring[s->written % JOBS];
    const int8_t *got = s->wr_data_o.ptr;
    const uint32_t word = word_of_job(s);
    for (uint32_t i = 0; i < s->n; i++) {
        if (got[i] != expected[i]) {
            tb_check_failf(c, "word", words(s),
                           "%s job %" PRIu32 ", pixel %" PRIu32 ", block %" PRIu32 ", channel %" PRIu32 "|%d|%d",
                           j->int8 ? "INT8" : "FP32", s->written, word / j->blocks, word % j->blocks, i, got[i],
                           expected[i]);
        }
    }
    tb_check_value(c, "word address", words(s), tb_get(s->wr_addr_o), s->drain.waddr);
    tb_check_value(c, "done", words(s), tb_get(s->done_o), last);
}

__attribute__((always_inline)) static inline void compare(tb_check *c, state *s, const int8_t *expected, uint32_t n) {
    drain *d = &s->drain;
    const bool last = d->left == 1;
    if (!npu_score_same(s->base + s->at.wr_data_o, expected, n) ||
        ((npu_score_half(s->base + s->at.wr_addr_o) ^ d->waddr) | (see(s, s->at.done_o) ^ last)) != 0) {
        word_differs(c, s, expected, last);
        return;
    }
    d->expected += n;
    d->waddr = (d->waddr + d->wstep) % (1u << IFM_AW);
    if (--d->left == d->high) {
        end_plane(s);
    }
}

__attribute__((noinline)) static void compare_any(tb_check *c, state *s, const int8_t *expected) {
    compare(c, s, expected, s->n);
}

/* A word is written. */
__attribute__((noinline, hot)) static void compare_word(tb_check *c, state *s, const int8_t *expected) {
    if (s->n != 8) {
        compare_any(c, s, expected);
    } else {
        compare(c, s, expected, 8);
    }
}

__attribute__((cold, noinline)) static void no_data(tb_check *c, const state *s) {
    tb_check_fail(c, "word", words(s), NULL, "a word", "none: its data have not arrived");
}

/* A word of an INT8 job is written. */
__attribute__((noinline, hot)) static void int8_word(tb_check *c, state *s) {
    static const uint8_t ones_and_zeros[2 * WORD_MAX] = {255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
                                                         255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
                                                         255, 255, 255, 255, 255, 255, 255, 255, 255, 255};
    const job *j = &s->ring[s->written % JOBS];
    const uint32_t block = s->drain.block;
    if (s->written == s->taken || s->stream_bytes < s->n) {
        no_data(c, s);
        return;
    }
    const uint8_t *word = &s->stream[s->stream_at];
    s->stream_at += s->n;
    s->stream_bytes -= s->n;
    s->drain.block = block + 1 == j->blocks ? 0 : block + 1;
    if (block < s->drain.partial) {
        compare_word(c, s, (const int8_t *)word);
        return;
    }
    int8_t masked[WORD_MAX];
    const uint8_t *mask = &ones_and_zeros[WORD_MAX - j->channels];
    for (uint32_t i = 0; i < WORD_MAX; i++) {
        masked[i] = (int8_t)(word[i] & mask[i]);
    }
    compare_word(c, s, masked);
}

/* No word is on offer: the words of an FP32 job begin DRAIN cycles after its last beat, INT8 ones with their bytes. */
static inline void see_no_word(tb_check *c, state *s) {
    if (s->drain.int8 ? s->written != s->taken && s->stream_bytes >= s->n
                      : s->written != s->filled && s->moving - s->ring[s->written % JOBS].since >= DRAIN) {
        tb_check_fail(c, "word", words(s), NULL, "no word", "one: its data have arrived");
    }
    s->moving++;
}

__attribute__((hot)) static void cycle(tb_check *c) {
    state *s = (state *)c->state;
    const uint32_t valid = see(s, s->at.wr_valid_o);
    if (s->asked != s->taken) { /* requests begin in the cycle after the acceptance of their job */
        if (see(s, s->at.req_valid_o) == 0) {
            tb_check_fail(c, "request", s->requests, NULL, "none", "one: a job has requests left");
        }
    } else if (s->ahead < AHEAD && see(s, s->at.job_valid_i) > see(s, s->at.job_ready_o)) {
        /* the next job is accepted when the requests of the one before have been sent and there is space */
        tb_check_fail(c, "job", s->taken, NULL, "one that waits", "it is accepted: there is space");
    }
    if ((valid & see(s, s->at.wr_ready_i)) != 0) {
        s->moving++;
        if (s->drain.int8) {
            int8_word(c, s);
        } else if (s->written == s->filled) {
            no_data(c, s);
        } else {
            compare_word(c, s, s->drain.expected);
        }
    } else {
        if (valid == 0) {
            see_no_word(c, s);
        }
        if (see(s, s->at.done_o) != 0) {
            tb_check_fail(c, "done", words(s), NULL, "1", "0: no word is written");
        }
    }
    if (see(s, s->at.dat_valid_i) != 0 && (see(s, s->at.dat_ready_o) != 0 || !s->seen || !s->fill.int8)) {
        see_data(c, s); /* not for an INT8 beat that was seen and waits */
    }
    if ((see(s, s->at.req_valid_o) & see(s, s->at.req_ready_i)) != 0) {
        take_request(c, s);
    }
    if ((see(s, s->at.job_valid_i) & see(s, s->at.job_ready_o)) != 0) {
        take_job(c, s);
    }
    c->again = ((s->asked ^ s->taken) | (s->written ^ s->filled)) != 0;
}

static void finish(tb_check *c) {
    const state *s = (const state *)c->state;
    if (s->written != s->taken) {
        tb_check_failf(c, "word", words(s), "words of %" PRIu32 " jobs|of %" PRIu32, s->written, s->taken);
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
