/*
 * dma_rd.c - read side of a DMA channel: requests cut into bursts, and the beats of the bus become words for the
 * requesters, in job order.
 */
#include "dma_ax.h"

#include <inttypes.h>
#include <stdio.h>

#define SKID 2u /* beats that it accepts before it needs them */

#define PORTS dat_valid_o, rvalid_i, dat_ready_i, rready_o, dat_id_o, dat_last_o, rresp_i, rlast_i, dat_o, rdata_i
typedef struct state {
    npu_score_dma_ax ax;
    NPU_SCORE_PLACES(at, PORTS);  /* they and all up to `words` fill two lines */
    uint64_t next;                /* byte of its next word in the stream of all beats */
    uint32_t left;                /* its bytes from there on; 0: no job is left */
    uint8_t id;                   /* its requester */
    bool seen;                    /* the word is on offer */
    uint64_t beats;               /* received */
    uint64_t used;                /* beats that have had a byte on the output */
    uint64_t words;               /* in total */
    uint64_t job;                 /* whose data are on the output */
    uint64_t first;               /* its first beat */
    uint8_t ring[DMA_RING_SPACE]; /* of bus beats; the unit keeps four, and a word that waits needs two */
    TB_PORTS(ports, PORTS);
} state;
_Static_assert(offsetof(state, ax) == 0, "npu_score_dma_client() looks at the begin of a state");

/* npu_pkg::RdId* */
static const char *const requesters[] = {"factors", "partial sums", "weights", "input", "ALU", "POOL"};

static int open(tb_check *c, char *err, size_t err_size) {
    state *s = (state *)c->state;
    if (npu_score_dma_open(c, &s->ax, "ar", "ev_wait_user_o", requesters, sizeof requesters / sizeof *requesters, err,
                           err_size) != 0) {
        return -1;
    }
    return npu_score_places(c, &s->at.dat_valid_o, s->ax.base, &s->dat_valid_o, sizeof s->at / sizeof(int32_t), err,
                            err_size);
}

/* Value of a signal of up to 8 bits. */
static inline uint32_t see(const state *s, int32_t place) {
    return s->ax.base[place];
}

static void forget(state *s) {
    s->beats = s->used = s->job = s->first = 0;
    s->left = 0;
    s->seen = false;
}

static void clear(tb_check *c) {
    state *s = (state *)c->state;
    npu_score_dma_reset(&s->ax);
    forget(s);
}

static const npu_score_dma_job *job(const state *s) {
    return &s->ax.job[s->job % DMA_JOBS];
}

/* The data of the next job, if there is one. */
static void begin_job(state *s) {
    if (s->job != s->ax.accepted) {
        const npu_score_dma_job *j = job(s);
        s->next = 16 * s->first + j->addr % 16;
        s->left = j->bytes;
        s->id = j->id;
    }
}

static void end_job(state *s) {
    s->first += npu_score_dma_beats(job(s));
    s->job++;
    s->left = 0;
    begin_job(s);
}

/* Number of the word in its job. */
static uint32_t word_of_job(const state *s) {
    return (job(s)->bytes - s->left) / 16;
}

static void where_word(const state *s, char *dst, size_t size) {
    npu_score_dma_where(&s->ax, s->job, "word", word_of_job(s), dst, size);
}

__attribute__((cold, noinline)) static void no_word(tb_check *c, const state *s) {
    char where[96];
    if (s->left == 0) {
        tb_check_fail(c, "data", s->words, NULL, "a word", "none: no job is left");
    } else {
        where_word(s, where, sizeof where);
        tb_check_fail(c, "data", s->words, where, "a word", "none: its data have not arrived");
    }
}

__attribute__((cold, noinline)) static void wrong_mark(tb_check *c, const state *s, bool last) {
    char where[96];
    where_word(s, where, sizeof where);
    const uint32_t id = npu_score_b(s->dat_id_o);
    tb_check_fail(c, id != s->id ? "requester" : "last", s->words, where,
                  id == s->id             ? (last ? "0" : "1")
                  : id < s->ax.requesters ? requesters[id]
                                          : "no requester",
                  id == s->id ? (last ? "1" : "0") : requesters[s->id]);
}

__attribute__((cold, noinline)) static void wrong_data(tb_check *c, state *s, uint32_t bytes) {
    uint8_t expected[16] = {0};
    memcpy(expected, npu_score_dma_word(s->ring, s->next), bytes);
    npu_score_dma_bytes(c, &s->ax, "data", s->job, word_of_job(s), (const uint8_t *)s->dat_o.ptr, expected, 0xffff);
}

/* The last word of a job, which may have fewer than 16 bytes; the others are 0. */
static inline bool same_bytes(const uint8_t *got, const uint8_t *beats, uint32_t bytes) {
    uint64_t x[2], y[2], mask[2];
    memcpy(x, got, 16);
    memcpy(y, beats, 16);
    memcpy(mask, &npu_score_dma_masks[16 - bytes], 16);
    return ((x[0] ^ (y[0] & mask[0])) | (x[1] ^ (y[1] & mask[1]))) == 0;
}

/*
 * A word on the output, from one or two bus beats, and its marks; `bytes` of the job are left, at most 16 where it is
 * the last one. True: it is right and accepted.
 */
static inline bool word(tb_check *c, state *s, uint32_t bytes, bool last) {
    const uint8_t *got = s->ax.base + s->at.dat_o;
    s->used = (s->next + bytes + 15) / 16;
    if (bytes == 0 || s->used > s->beats) {
        no_word(c, s);
        return false;
    }
    const uint8_t *beats = npu_score_dma_word(s->ring, s->next);
    if (!(last ? same_bytes(got, beats, bytes) : memcmp(got, beats, 16) == 0)) {
        wrong_data(c, s, bytes);
        return false;
    }
    if (((see(s, s->at.dat_id_o) ^ s->id) | (see(s, s->at.dat_last_o) ^ last)) != 0) {
        wrong_mark(c, s, last);
        return false;
    }
    s->seen = see(s, s->at.dat_ready_i) == 0;
    s->ax.due |= s->seen ? DMA_EV_WAIT_USER : 0;
    s->words += !s->seen;
    return !s->seen;
}

__attribute__((noinline, hot)) static void last_word(tb_check *c, state *s) {
    if (word(c, s, s->left, true)) {
        end_job(s);
    }
}

/*
 * Beats that the unit must be holding: all that were received and not needed for the words so far. It also keeps the
 * first beat of an unaligned job, which does not make a word alone.
 */
static inline uint64_t waiting(const state *s) {
    const npu_score_dma_job *j = job(s);
    uint64_t first = s->first;
    if (s->left != 0 && s->used >= first + npu_score_dma_beats(j)) {
        first += npu_score_dma_beats(j);
        j = &s->ax.job[(s->job + 1) % DMA_JOBS];
    }
    const bool kept = s->beats > s->used && first == s->used && j->addr % 16 != 0 && npu_score_dma_beats(j) > 1;
    return s->beats - s->used - kept;
}

__attribute__((cold, noinline)) static void wrong_output(tb_check *c, state *s) {
    npu_score_dma_ax *ax = &s->ax;
    npu_score_dma_wrong(c, ax);
    tb_check_value(c, "idle", npu_score_dma_jobs(ax), npu_score_b(ax->idle_o), (ax->flight | s->left) == 0);
}

/* A beat on the bus. */
static inline void beat(tb_check *c, state *s) {
    if (s->beats - s->used >= SKID && waiting(s) >= SKID && !npu_score_dma_dropping(&s->ax)) {
        tb_check_fail(c, "bus data", s->beats, NULL, "a beat taken", "at most two that wait for words before them");
    }
    memcpy(&s->ring[s->beats++ * 16 % DMA_RING], s->ax.base + s->at.rdata_i, 16);
    s->ax.due |= DMA_EV_BEAT;
    const uint32_t resp = see(s, s->at.rresp_i), last = see(s, s->at.rlast_i);
    if (((resp & 2u) | last) != 0) {
        npu_score_dma_answer(&s->ax, resp, last != 0);
    }
}

/* End of a cycle in which the unit drops everything. */
__attribute__((noinline)) static void drop(state *s) {
    if (npu_score_dma_drop(&s->ax)) {
        forget(s);
    }
    s->used = s->beats;
    s->job = s->ax.accepted;
    s->left = 0;
    s->seen = false;
}

__attribute__((hot)) static void cycle(tb_check *c) {
    state *s = (state *)c->state;
    npu_score_dma_ax *ax = &s->ax;
    npu_score_dma_channel(c, ax);
    if ((npu_score_dma_differ(ax) | (see(s, ax->at.idle_o) ^ ((ax->flight | s->left) == 0))) != 0) {
        wrong_output(c, s);
        return;
    }
    npu_score_dma_begin(ax);
    const uint32_t offered = see(s, s->at.dat_valid_o), arrives = see(s, s->at.rvalid_i) & see(s, s->at.rready_o);
    const bool seen = s->seen;
    if (offered == 0) {
        if (s->seen) {
            tb_check_fail(c, "data", s->words, NULL, "withdrawn", "a word that waits for ready");
        }
    } else if (s->left <= 16) {
        last_word(c, s);
    } else if (word(c, s, 16, false)) {
        s->next += 16;
        s->left -= 16;
    }
    if (see(s, s->at.rvalid_i) == 0) {
        ax->due |= ax->flight != 0 ? DMA_EV_WAIT_BUS : 0;
    } else if (arrives != 0) {
        beat(c, s);
    }
    if (npu_score_dma_requests(c, ax) && s->left == 0) {
        begin_job(s);
    }
    if (npu_score_dma_dropping(ax)) {
        drop(s);
    }
    /* otherwise it waits: for data of the bus, or for a requester that takes the word */
    c->again = arrives != 0 || offered != (seen & s->seen) || !npu_score_dma_steady(ax);
}

static void finish(tb_check *c) {
    const state *s = (const state *)c->state;
    char where[96];
    if (s->ax.empty != 0) {
        npu_score_dma_empty(c, &((state *)c->state)->ax);
    } else if (s->left != 0) {
        where_word(s, where, sizeof where);
        tb_check_fail(c, "data", s->words, where, "nothing", "a word");
    }
}

/* Addresses do not depend on data, so results computed from wrong data are not inputs here. */
const tb_check_ops npu_score_dma_rd = {.unit = "dma_rd",
                                       TB_STATE(state, PORTS),
                                       .watch =
                                           NPU_SCORE_DMA_WATCH "arvalid_o, arready_i, ev_wait_user_o, dat_valid_o, "
                                                               "dat_ready_i, rvalid_i, rready_o",
                                       .open = open,
                                       .clear = clear,
                                       .cycle = cycle,
                                       .finish = finish};
