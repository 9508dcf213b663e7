/*
 * dma_wr.c - write side of a DMA channel: requests cut into bursts, words of the requesters sent as beats with strobes,
 * and outstanding responses.
 */
#include "dma_ax.h"

#include <inttypes.h>

#define WORDS 8u /* ring of accepted words; the unit keeps three */
#define FIFO 2u  /* beats between the requesters and the bus */
#define WORD 16u

#define PORTS                                                                                                          \
    wvalid_o, wready_i, wdat_ready_o, wdat_valid_i, bvalid_i, bready_o, idle_req_o, wstrb_o, wlast_o, bresp_i,         \
        wdata_o, wdat_i
typedef struct state {
    npu_score_dma_ax ax;
    TB_PORTS(ports, PORTS);
    uint32_t source_bit;  /* requester of the job whose words are accepted; 0: no job is left */
    uint32_t source_left; /* words that it still has to bring */
    uint64_t source;      /* its number */
    uint64_t in, out;     /* bytes of the words taken; of those that beats have brought to the bus */
    bool seen;            /* the beat is on offer */
    bool owed;            /* flushed: bursts on the address channel still need their beats */
    uint64_t burst;       /* that the next beat belongs to */
    uint32_t plain;       /* beats from here on that are neither the first nor the last of a burst or a job */
    uint32_t lane;        /* of the first byte of the job that they belong to */
    uint32_t burst_beat;  /* number of the beat after them in its burst */
    uint32_t number;      /* and in its job */
    uint64_t beats;       /* sent, for reports */
    uint32_t kept;        /* of those that are owed, beats that may have been formed before the flush */
    /* of the words; the first one also stands behind the last one, so that the bytes of any beat are neighbours */
    uint8_t ring[WORD * (WORDS + 1)];
} state;
_Static_assert(offsetof(state, ax) == 0, "npu_score_dma_client() looks at the begin of a state");

static const char *const requesters[] = {"GEMM", "POOL", "ALU"}; /* npu_pkg::WrId* */

static int open(tb_check *c, char *err, size_t err_size) {
    state *s = (state *)c->state;
    if (npu_score_dma_open(c, &s->ax, "aw", "ev_wait_data_o", requesters, sizeof requesters / sizeof *requesters, err,
                           err_size) != 0) {
        return -1;
    }
    return 0;
}

static void forget(state *s) {
    s->in = s->out = s->source = 0;
    s->source_bit = 0;
    s->burst = npu_score_dma_shown(&s->ax);
    s->burst_beat = s->number = s->plain = 0;
    s->seen = s->owed = false;
}

static void clear(tb_check *c) {
    state *s = (state *)c->state;
    npu_score_dma_reset(&s->ax);
    forget(s);
}

/* Bytes of a beat: the upper ones of the word before are in the lower lanes, the low ones of its word in the others. */
static inline const uint8_t *beat_data(const state *s, uint32_t lane) {
    return &s->ring[(s->out - lane) % (WORD * WORDS)];
}

/* The next beat on W. The last one of a job may only have the rest of the word before. */
typedef struct beat {
    uint32_t burst_left, job_left; /* beats after it */
    uint32_t lane;                 /* of the first byte of the job */
    uint32_t strobes;
    uint32_t word; /* it brings a word to the bus */
} beat;

static inline beat next_beat(const state *s) {
    const npu_score_dma_burst burst = s->ax.burst[s->burst % DMA_BURSTS];
    const npu_score_dma_job *j = &s->ax.job[burst.job];
    beat b = {.lane = j->addr % 16, .strobes = 0xffff, .word = 1};
    b.burst_left = burst.beats - 1 - s->burst_beat;
    b.job_left = j->beats - 1 - s->number;
    if (s->number == 0) {
        b.strobes &= 0xffffu << b.lane;
    }
    if (b.job_left == 0) {
        const uint32_t last = (b.lane + j->bytes - 1) % 16;
        b.strobes &= 0xffffu >> (15 - last);
        b.word = last >= b.lane;
    }
    return b;
}

/* Are the bytes of the lanes with strobes equal? These are neighbours. */
static inline bool same_lanes(const uint8_t *got, const uint8_t *expected, uint32_t strobes) {
    const uint32_t first = (uint32_t)__builtin_ctz(strobes), end = 32 - (uint32_t)__builtin_clz(strobes);
    uint64_t x[2], y[2], below[2], up_to[2];
    memcpy(x, got, 16);
    memcpy(y, expected, 16);
    memcpy(below, &npu_score_dma_masks[16 - first], 16);
    memcpy(up_to, &npu_score_dma_masks[16 - end], 16);
    return (((x[0] ^ y[0]) & ~below[0] & up_to[0]) | ((x[1] ^ y[1]) & ~below[1] & up_to[1])) == 0;
}

/* Has the beat these strobes, the bytes that belong to them, and this mark of the last one of a burst? */
static inline bool beat_right(const state *s, uint32_t strobes, uint32_t lane, uint32_t last) {
    const uint8_t *got = (const uint8_t *)s->wdata_o.ptr, *expected = beat_data(s, lane);
    return ((*(const uint16_t *)s->wstrb_o.ptr ^ strobes) | (npu_score_b(s->wlast_o) ^ last)) == 0 &&
           (memcmp(got, expected, 16) == 0 || same_lanes(got, expected, strobes));
}

/* A right beat, with a new word or without one: is it accepted? */
static inline bool sent(state *s, uint32_t word) {
    s->seen = npu_score_b(s->wready_i) == 0;
    if (s->seen) {
        s->ax.ev_due |= DMA_EV_WAIT_BUS;
        return false;
    }
    s->out += WORD * word;
    s->beats++;
    s->ax.ev_due |= DMA_EV_BEAT;
    return true;
}

/* Plain beats are counted like others: for reports, and for those after a flush. */
static void count_plain(state *s) {
    s->burst_beat -= s->plain;
    s->number -= s->plain;
    s->plain = 0;
}

/* The beat after this one, which is accepted. */
static inline void next_after(state *s, const beat *b) {
    s->number = b->job_left == 0 ? 0 : s->number + 1;
    s->burst_beat++;
    if (b->burst_left == 0) {
        s->burst_beat = 0;
        s->burst++;
    } else if (b->burst_left > 1 && b->job_left > 1) {
        s->plain = (b->burst_left < b->job_left ? b->burst_left : b->job_left) - 1;
        s->lane = b->lane;
        s->burst_beat += s->plain;
        s->number += s->plain;
    }
}

__attribute__((cold, noinline)) static void wrong_beat(tb_check *c, state *s) {
    const npu_score_dma_ax *ax = &s->ax;
    count_plain(s);
    const beat b = next_beat(s);
    const uint32_t strobes = *(const uint16_t *)s->wstrb_o.ptr, slot = ax->burst[s->burst % DMA_BURSTS].job;
    /* number of the job: the last one in this place of the ring */
    const uint64_t job = ax->accepted - 1 - (ax->accepted - 1 - slot) % DMA_JOBS;
    char where[96];
    npu_score_dma_where(ax, job, "beat", s->number, where, sizeof where);
    if (s->owed && strobes == 0) {
        tb_check_value(c, "last", s->beats, npu_score_b(s->wlast_o), b.burst_left == 0);
    } else if (s->owed && s->kept == 0) {
        tb_check_fail(c, "strobes", s->beats, "flushed", "strobes", "none");
    } else if (b.word != 0 && s->in == s->out) {
        tb_check_fail(c, "data", s->beats, where, "a beat", "none: its word has not been accepted");
    } else if (strobes != b.strobes) {
        tb_check_failf(c, "strobes", s->beats, "%s|0x%04" PRIx32 "|0x%04" PRIx32, where, strobes, b.strobes);
    }
    npu_score_dma_bytes(c, ax, "data", job, s->number, (const uint8_t *)s->wdata_o.ptr, beat_data(s, b.lane),
                        b.strobes);
    tb_check_value(c, "last", s->beats, npu_score_b(s->wlast_o), b.burst_left == 0);
}

/* A beat with all strobes, of the same burst as those before and after it. False: it is wrong. */
static inline bool plain_beat(tb_check *c, state *s) {
    if (s->in == s->out || !beat_right(s, 0xffff, s->lane, 0)) {
        wrong_beat(c, s);
        return false;
    }
    if (sent(s, 1)) {
        s->plain--;
    }
    return true;
}

/* The only beat of its job. */
static inline void single_beat(tb_check *c, state *s, const npu_score_dma_job *j) {
    const uint32_t lane = j->addr % 16, strobes = ((1u << j->bytes) - 1) << lane;
    if (s->in == s->out || !beat_right(s, strobes, lane, 1)) {
        wrong_beat(c, s);
    } else if (sent(s, 1)) {
        s->burst++;
    }
}

/* Any other beat. */
__attribute__((noinline)) static void edge_beat(tb_check *c, state *s) {
    const beat b = next_beat(s);
    if ((s->in == s->out && b.word != 0) || !beat_right(s, b.strobes, b.lane, b.burst_left == 0)) {
        wrong_beat(c, s);
    } else if (sent(s, b.word)) {
        next_after(s, &b);
    }
}

/* After a flush: beats that may have been formed before it, then those without strobes. */
__attribute__((noinline)) static void owed_beat(tb_check *c, state *s) {
    const beat b = next_beat(s);
    const uint32_t last = b.burst_left == 0;
    bool right = s->kept > 0 && (s->in != s->out || b.word == 0) && beat_right(s, b.strobes, b.lane, last);
    if (*(const uint16_t *)s->wstrb_o.ptr == 0) {
        s->kept = 0;
        right = npu_score_b(s->wlast_o) == last;
    }
    if (!right) {
        wrong_beat(c, s);
    } else if (sent(s, b.word)) {
        s->kept -= s->kept > 0;
        next_after(s, &b);
    }
}

/* Its burst must have been on the address channel in an earlier cycle. */
__attribute__((noinline)) static void other_beat(tb_check *c, state *s, bool dropping) {
    const npu_score_dma_job *j = &s->ax.job[s->ax.burst[s->burst % DMA_BURSTS].job];
    if (s->burst + s->ax.fresh >= npu_score_dma_shown(&s->ax)) {
        tb_check_fail(c, "data", s->beats, NULL, "a beat", "none: no burst needs one");
    } else if (dropping && s->owed) {
        owed_beat(c, s);
    } else if (j->beats == 1) {
        single_beat(c, s, j);
    } else {
        edge_beat(c, s);
    }
}

/* Words are accepted for the next job, if there is one. */
static inline void begin_source(state *s) {
    s->source_bit = 0;
    if (s->source != s->ax.accepted) {
        const npu_score_dma_job *j = &s->ax.job[s->source % DMA_JOBS];
        s->source_bit = 1u << j->id;
        s->source_left = (j->bytes + 15) / 16;
    }
}

__attribute__((cold, noinline)) static void wrong_word(tb_check *c, const state *s, uint32_t ready, bool dropping) {
    const npu_score_dma_ax *ax = &s->ax;
    const bool any = s->source_bit != 0 && !dropping;
    const char *name = ax->names[ax->job[s->source % DMA_JOBS].id];
    if (any && ready == s->source_bit) {
        tb_check_fail(c, "word", s->in / WORD, name, "one taken", "none before there is space for it");
    } else {
        tb_check_failf(c, "word", s->in / WORD, "ready 0x%" PRIx32 "|%s", ready, any ? name : "none: no job is left");
    }
}

/*
 * Words are accepted from the requester of the current job, while there is space for a beat: `out` is as at the
 * beginning of this cycle.
 */
static inline bool take_word(tb_check *c, state *s, uint32_t ready, uint64_t out, bool dropping) {
    if (ready != s->source_bit || dropping || s->in - out >= WORD * FIFO) {
        wrong_word(c, s, ready, dropping);
        return false;
    }
    if ((ready & npu_score_b(s->wdat_valid_i)) == 0) {
        s->ax.ev_due |= DMA_EV_WAIT_USER;
        return true;
    }
    const uint8_t *word = (const uint8_t *)s->wdat_i.ptr + WORD * (size_t)__builtin_ctz(ready);
    const size_t place = s->in % (WORD * WORDS);
    memcpy(&s->ring[place], word, WORD);
    if (place == 0) {
        memcpy(&s->ring[WORD * WORDS], word, WORD);
    }
    s->in += WORD;
    if (--s->source_left == 0) {
        s->source++;
        begin_source(s);
    }
    return true;
}

__attribute__((cold, noinline)) static void wrong_output(tb_check *c, const state *s) {
    const npu_score_dma_ax *ax = &s->ax;
    npu_score_dma_wrong(c, ax);
    tb_check_value(c, "idle requesters", npu_score_dma_jobs(ax), npu_score_b(s->idle_req_o), ax->idle_req);
    tb_check_value(c, "idle", npu_score_dma_jobs(ax), npu_score_b(ax->idle_o), ax->idle_req == ax->all_idle);
    tb_check_value(c, "response ready", ax->answered, npu_score_b(s->bready_o), 1);
}

/* End of a cycle in which the unit drops everything. */
__attribute__((noinline)) static void drop(state *s, bool bus_idle) {
    if (npu_score_dma_drop(&s->ax, bus_idle)) {
        forget(s);
        return;
    }
    if (!s->owed) {
        s->kept = FIFO - (s->ax.ev_due & DMA_EV_BEAT) / DMA_EV_BEAT;
    }
    s->owed = true;
}

/*
 * One cycle. There is a copy of it for those in which the unit drops everything, so that the other one, which is called
 * in almost every cycle, has no conditions for that.
 */
__attribute__((always_inline)) static inline void follow(tb_check *c, state *s, bool dropping) {
    npu_score_dma_ax *ax = &s->ax;
    const uint64_t out = s->out;
    const uint32_t events = npu_score_dma_channel(c, ax);
    const bool bus_idle = ax->flight == 0;
    if ((npu_score_dma_differ(ax) | (npu_score_b(s->idle_req_o) ^ ax->idle_req) |
         (npu_score_b(ax->idle_o) ^ (ax->idle_req == ax->all_idle)) | (npu_score_b(s->bready_o) ^ 1u)) != 0) {
        wrong_output(c, s);
        return;
    }
    ax->ev_due = events;
    ax->err_due = 0;
    if (npu_score_b(s->wvalid_o) != 0) {
        if (dropping) {
            count_plain(s);
        }
        if (s->plain == 0) {
            other_beat(c, s, dropping);
        } else if (!plain_beat(c, s)) {
            return;
        }
    } else if (s->seen) {
        tb_check_fail(c, "data", s->beats, NULL, "withdrawn", "a beat that waits for ready");
        return;
    }
    const uint32_t ready = npu_score_b(s->wdat_ready_o);
    if (ready != 0 && !take_word(c, s, ready, out, dropping)) {
        return;
    }
    if (npu_score_b(s->bvalid_i) != 0) {
        npu_score_dma_answer(ax, npu_score_b(s->bresp_i), true);
        c->again = true;
    }
    if (npu_score_dma_requests(c, ax, dropping) && s->source_bit == 0) {
        begin_source(s);
    }
    if (dropping) {
        drop(s, bus_idle);
    }
    if (dropping || npu_score_dma_busy(ax) || (s->source_bit | s->seen | s->owed) != 0) {
        c->again = true;
    }
}

__attribute__((noinline)) static void rare_cycle(tb_check *c, state *s) {
    if (s->ax.empty != 0) {
        npu_score_dma_empty(c, &s->ax);
    } else {
        follow(c, s, true);
    }
}

static void cycle(tb_check *c) {
    state *s = (state *)c->state;
    if (npu_score_dma_dropping(&s->ax) || s->ax.empty != 0) {
        rare_cycle(c, s);
    } else {
        follow(c, s, false);
    }
}

static void finish(tb_check *c) {
    state *s = (state *)c->state;
    if (s->ax.empty != 0) {
        npu_score_dma_empty(c, &s->ax);
        return;
    }
    const bool words = s->source_bit != 0;
    if (words || s->ax.flight != 0) {
        tb_check_fail(c, "data", s->beats, NULL, words ? "words missing" : "responses missing", "all jobs complete");
    }
}

const tb_check_ops npu_score_dma_wr = {.unit = "dma_wr",
                                       .inputs = (const char *const[]){"send_buf", NULL},
                                       TB_STATE(state, PORTS),
                                       .wake = NPU_SCORE_DMA_WAKE
                                       "awvalid_o, ev_wait_data_o, wdat_ready_o, wvalid_o, bvalid_i",
                                       .open = open,
                                       .clear = clear,
                                       .cycle = cycle,
                                       .finish = finish};
