/*
 * dma_wr.c - write side of a DMA channel: requests cut into bursts, words of the requesters sent as beats with strobes,
 * and outstanding responses.
 */
#include "dma_ax.h"

#include <inttypes.h>

#define FIFO 2u /* beats between the requesters and the bus */
#define WORD 16u

#define PORTS                                                                                                          \
    wvalid_o, wready_i, wdat_ready_o, wdat_valid_i, bvalid_i, bready_o, idle_req_o, wstrb_o, wlast_o, bresp_i,         \
        wdata_o, wdat_i
/* Beats on W: one, or several that are equal but for their data, none of them the last of its burst or job. */
typedef struct beats {
    uint64_t mask[2];     /* bytes with strobes */
    uint32_t left, count; /* so many of `count` are still to come; 0: it is not known what comes */
    uint32_t strobes;
    uint32_t lane; /* of the first byte of the job */
    uint32_t word; /* bytes of the word that each brings to the bus, 0: the last one of a job may bring none */
    uint32_t last, job_last; /* of a burst, of a job */
} beats;

typedef struct state {
    npu_score_dma_ax ax;
    NPU_SCORE_PLACES(at, PORTS);
    uint32_t source_bit;  /* requester of the job whose words are accepted; 0: no job is left */
    uint32_t source_left; /* words that it still has to bring */
    uint64_t source;      /* its number */
    uint64_t in, out;     /* bytes of the words taken; of those that beats have brought to the bus */
    beats next;
    bool seen;                    /* the beat is on offer */
    bool owed;                    /* flushed: bursts on the address channel still need their beats */
    uint32_t kept;                /* of those that are owed, beats that may have been formed before the flush */
    uint64_t burst;               /* that the next beats belong to */
    uint32_t burst_beat;          /* number of their first one in its burst */
    uint32_t number;              /* and in its job */
    uint64_t sent;                /* beats, for reports */
    uint8_t ring[DMA_RING_SPACE]; /* of accepted words; the unit keeps three */
    TB_PORTS(ports, PORTS);
} state;
_Static_assert(offsetof(state, ax) == 0, "npu_score_dma_client() looks at the begin of a state");

static const char *const requesters[] = {"GEMM", "POOL", "ALU"}; /* npu_pkg::WrId* */

static int open(tb_check *c, char *err, size_t err_size) {
    state *s = (state *)c->state;
    if (npu_score_dma_open(c, &s->ax, "aw", "ev_wait_data_o", requesters, sizeof requesters / sizeof *requesters, err,
                           err_size) != 0) {
        return -1;
    }
    return npu_score_places(c, &s->at.wvalid_o, s->ax.base, &s->wvalid_o, sizeof s->at / sizeof(int32_t), err,
                            err_size);
}

/* Value of a signal of up to 8 bits. */
static inline uint32_t see(const state *s, int32_t place) {
    return s->ax.base[place];
}

static void forget(state *s) {
    s->in = s->out = s->source = 0;
    s->source_bit = 0;
    s->burst = npu_score_dma_shown(&s->ax);
    s->burst_beat = s->number = s->next.left = 0;
    s->seen = s->owed = false;
}

static void clear(tb_check *c) {
    state *s = (state *)c->state;
    npu_score_dma_reset(&s->ax);
    forget(s);
}

/* What the next beats are. The last one of a job may only have the rest of the word before. */
__attribute__((noinline, hot)) static void find_beats(state *s) {
    const npu_score_dma_burst burst = s->ax.burst[s->burst % DMA_BURSTS];
    const npu_score_dma_job *j = &s->ax.job[burst.job];
    const uint32_t lane = j->addr % 16, burst_left = burst.beats - 1 - s->burst_beat,
                   job_left = npu_score_dma_beats(j) - 1 - s->number;
    uint32_t first = s->number == 0 ? lane : 0, end = 16, count = 1;
    if (job_left == 0) {
        end = (lane + j->bytes - 1) % 16 + 1;
    } else if (first == 0 && burst_left > 0) {
        count = burst_left < job_left ? burst_left : job_left;
    }
    uint64_t below[2];
    memcpy(below, &npu_score_dma_masks[16 - first], 16);
    memcpy(s->next.mask, &npu_score_dma_masks[16 - end], 16);
    s->next.mask[0] &= ~below[0];
    s->next.mask[1] &= ~below[1];
    s->next.strobes = (1u << end) - (1u << first);
    s->next.lane = lane;
    s->next.word = end > lane ? WORD : 0;
    s->next.last = burst_left == 0;
    s->next.job_last = job_left == 0;
    s->next.left = s->next.count = count;
}

/* Counts those of the beats that have been sent: for reports, and for the beats after a flush. */
static void count_sent(state *s) {
    const uint32_t sent = s->next.left == 0 ? 0 : s->next.count - s->next.left;
    s->burst_beat += sent;
    s->number += sent;
    s->next.left = 0;
}

/* The last one of these beats is accepted. */
__attribute__((noinline, hot)) static void end_beats(state *s) {
    s->burst += s->next.last;
    s->burst_beat = s->next.last ? 0 : s->burst_beat + s->next.count;
    s->number = s->next.job_last ? 0 : s->number + s->next.count;
}

/* Bytes of a beat: the upper ones of the word before are in the lower lanes, the low ones of its word in the others. */
static inline const uint8_t *beat_data(state *s, uint32_t lane) {
    return npu_score_dma_word(s->ring, s->out - lane);
}

/* Has the beat these strobes, the bytes that belong to them, and this mark of the last one of a burst? */
static inline bool beat_right(state *s, uint32_t lane, uint32_t strobes, const uint64_t mask[2], uint32_t last) {
    uint64_t x[2], y[2];
    uint16_t got;
    memcpy(x, s->ax.base + s->at.wdata_o, 16);
    memcpy(y, beat_data(s, lane), 16);
    memcpy(&got, s->ax.base + s->at.wstrb_o, 2);
    return (((x[0] ^ y[0]) & mask[0]) | ((x[1] ^ y[1]) & mask[1]) | (got ^ strobes) | (see(s, s->at.wlast_o) ^ last)) ==
           0;
}

/* Is it one of the beats that are next? */
static inline bool next_right(state *s) {
    const beats *b = &s->next;
    return beat_right(s, b->lane, b->strobes, b->mask, b->last) && (s->in != s->out || b->word == 0);
}

__attribute__((cold, noinline)) static void wrong_beat(tb_check *c, state *s) {
    const npu_score_dma_ax *ax = &s->ax;
    count_sent(s);
    find_beats(s);
    const beats *b = &s->next;
    const uint32_t strobes = *(const uint16_t *)s->wstrb_o.ptr, slot = ax->burst[s->burst % DMA_BURSTS].job;
    /* number of the job: the last one in this place of the ring */
    const uint64_t job = ax->accepted - 1 - (ax->accepted - 1 - slot) % DMA_JOBS;
    char where[96];
    npu_score_dma_where(ax, job, "beat", s->number, where, sizeof where);
    if (s->owed && strobes == 0) {
        tb_check_value(c, "last", s->sent, npu_score_b(s->wlast_o), b->last);
    } else if (s->owed && s->kept == 0) {
        tb_check_fail(c, "strobes", s->sent, "flushed", "strobes", "none");
    } else if (b->word != 0 && s->in == s->out) {
        tb_check_fail(c, "data", s->sent, where, "a beat", "none: its word has not been accepted");
    } else if (strobes != b->strobes) {
        tb_check_failf(c, "strobes", s->sent, "%s|0x%04" PRIx32 "|0x%04" PRIx32, where, strobes, b->strobes);
    }
    npu_score_dma_bytes(c, ax, "data", job, s->number, (const uint8_t *)s->wdata_o.ptr, beat_data(s, b->lane),
                        b->strobes);
    tb_check_value(c, "last", s->sent, npu_score_b(s->wlast_o), b->last);
}

/* After a flush: is it one of the beats that may have been formed before it, or of those without strobes after them? */
__attribute__((noinline)) static bool owed_beat_right(state *s) {
    bool right = s->kept > 0 && next_right(s);
    if (*(const uint16_t *)s->wstrb_o.ptr == 0) {
        s->kept = 0;
        right = npu_score_b(s->wlast_o) == s->next.last;
    }
    s->kept -= right && s->kept > 0 && npu_score_b(s->wready_i) != 0;
    return right;
}

/* A right beat: is it accepted? */
static inline bool sent(state *s, uint32_t word) {
    s->seen = see(s, s->at.wready_i) == 0;
    if (s->seen) {
        s->ax.due |= DMA_EV_WAIT_BUS;
        return false;
    }
    s->ax.due |= DMA_EV_BEAT;
    s->out += word;
    s->sent++;
    return true;
}

/* The only beat of its job. */
static inline void single_beat(tb_check *c, state *s, const npu_score_dma_job *j) {
    const uint32_t lane = j->addr % 16;
    uint64_t mask[2], below[2];
    memcpy(below, &npu_score_dma_masks[16 - lane], 16);
    memcpy(mask, &npu_score_dma_masks[16 - lane - j->bytes], 16);
    mask[0] &= ~below[0];
    mask[1] &= ~below[1];
    if (s->in == s->out || !beat_right(s, lane, ((1u << j->bytes) - 1) << lane, mask, 1)) {
        wrong_beat(c, s);
    } else if (sent(s, WORD)) {
        s->burst++;
    }
}

/* A beat on W, of one of the bursts that were on the address channel in an earlier cycle. */
static inline void beat(tb_check *c, state *s) {
    if (s->next.left == 0) {
        const npu_score_dma_job *j = &s->ax.job[s->ax.burst[s->burst % DMA_BURSTS].job];
        if (s->burst + (s->ax.fresh & see(s, s->ax.at.valid_o)) >= npu_score_dma_shown(&s->ax)) {
            tb_check_fail(c, "data", s->sent, NULL, "a beat", "none: no burst needs one");
            return;
        }
        if (j->addr % 16 + j->bytes <= 16 && !s->owed) {
            single_beat(c, s, j);
            return;
        }
        find_beats(s);
    }
    if (!(s->owed ? owed_beat_right(s) : next_right(s))) {
        wrong_beat(c, s);
    } else if (sent(s, s->next.word) && --s->next.left == 0) {
        end_beats(s);
    }
}

/* Words are accepted for the next job, if there is one. */
static inline void begin_source(state *s) {
    s->source_bit = 0;
    if (s->source != s->ax.accepted) {
        const npu_score_dma_job *j = &s->ax.job[s->source % DMA_JOBS];
        s->source_bit = 1u << j->id;
        s->source_left = (j->bytes + 15u) / 16;
    }
}

__attribute__((cold, noinline)) static void wrong_word(tb_check *c, const state *s, uint32_t ready) {
    const npu_score_dma_ax *ax = &s->ax;
    const bool any = s->source_bit != 0 && !npu_score_dma_dropping(ax);
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
static inline void take_word(tb_check *c, state *s, uint32_t ready, uint64_t out) {
    if (ready != s->source_bit || npu_score_dma_dropping(&s->ax) || s->in - out >= WORD * FIFO) {
        wrong_word(c, s, ready);
        return;
    }
    if ((ready & see(s, s->at.wdat_valid_i)) == 0) {
        s->ax.due |= DMA_EV_WAIT_USER;
        return;
    }
    const uint8_t *word = s->ax.base + s->at.wdat_i + WORD * (size_t)__builtin_ctz(ready);
    memcpy(&s->ring[s->in % DMA_RING], word, WORD);
    s->in += WORD;
    if (--s->source_left == 0) {
        s->source++;
        begin_source(s);
    }
}

__attribute__((cold, noinline)) static void wrong_output(tb_check *c, state *s) {
    npu_score_dma_ax *ax = &s->ax;
    npu_score_dma_wrong(c, ax);
    tb_check_value(c, "idle requesters", npu_score_dma_jobs(ax), npu_score_b(s->idle_req_o), ax->idle_req);
    tb_check_value(c, "idle", npu_score_dma_jobs(ax), npu_score_b(ax->idle_o), ax->idle_req == ax->all_idle);
    tb_check_value(c, "response ready", ax->answered, npu_score_b(s->bready_o), 1);
}

/* End of a cycle in which the unit drops everything. */
__attribute__((noinline)) static void drop(state *s) {
    if (npu_score_dma_drop(&s->ax)) {
        forget(s);
        return;
    }
    if (!s->owed) {
        s->kept = FIFO - (s->ax.due & DMA_EV_BEAT) / DMA_EV_BEAT;
    }
    s->owed = true;
}

__attribute__((hot)) static void cycle(tb_check *c) {
    state *s = (state *)c->state;
    npu_score_dma_ax *ax = &s->ax;
    const uint64_t out = s->out;
    npu_score_dma_channel(c, ax);
    if ((npu_score_dma_differ(ax) | (see(s, s->at.idle_req_o) ^ ax->idle_req) |
         (see(s, ax->at.idle_o) ^ (ax->idle_req == ax->all_idle)) | (see(s, s->at.bready_o) ^ 1u)) != 0) {
        wrong_output(c, s);
        return;
    }
    npu_score_dma_begin(ax);
    const uint32_t offered = see(s, s->at.wvalid_o);
    const bool seen = s->seen;
    if (offered != 0) {
        beat(c, s);
    } else if (s->seen) {
        tb_check_fail(c, "data", s->sent, NULL, "withdrawn", "a beat that waits for ready");
    }
    const uint32_t ready = see(s, s->at.wdat_ready_o);
    if (ready != 0) {
        take_word(c, s, ready, out);
    }
    const bool answered = see(s, s->at.bvalid_i) != 0;
    if (answered) {
        npu_score_dma_answer(ax, see(s, s->at.bresp_i), true);
    }
    if (npu_score_dma_requests(c, ax) && s->source_bit == 0) {
        begin_source(s);
    }
    if (npu_score_dma_dropping(ax)) {
        drop(s);
    }
    /* otherwise it waits: for words, for the bus, or for responses */
    c->again = answered || (ready & see(s, s->at.wdat_valid_i)) != 0 || offered != (seen & s->seen) ||
               !npu_score_dma_steady(ax);
}

static void finish(tb_check *c) {
    state *s = (state *)c->state;
    if (s->ax.empty != 0) {
        npu_score_dma_empty(c, &s->ax);
        return;
    }
    const bool words = s->source_bit != 0;
    if (words || s->ax.flight != 0) {
        tb_check_fail(c, "data", s->sent, NULL, words ? "words missing" : "responses missing", "all jobs complete");
    }
}

const tb_check_ops npu_score_dma_wr = {.unit = "dma_wr",
                                       .inputs = (const char *const[]){"send_buf", NULL},
                                       TB_STATE(state, PORTS),
                                       .watch = NPU_SCORE_DMA_WATCH
                                       "awvalid_o, awready_i, ev_wait_data_o, wdat_ready_o, wdat_valid_i, wvalid_o, "
                                       "wready_i, bvalid_i, bready_o, idle_req_o",
                                       .open = open,
                                       .clear = clear,
                                       .cycle = cycle,
                                       .finish = finish};
