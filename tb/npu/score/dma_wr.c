/*
 * dma_wr.c - write side of a DMA channel: requests cut into bursts, words of the requesters sent as beats with strobes,
 * and outstanding responses.
 */
#include "dma_ax.h"

#include <inttypes.h>

#define WORDS 16u /* ring of accepted words; the unit keeps three */
#define FIFO 2u   /* beats between the requesters and the bus */

#define PORTS                                                                                                          \
    wdat_valid_i, wdat_ready_o, wdat_i, wdata_o, wstrb_o, wlast_o, wvalid_o, wready_i, bresp_i, bvalid_i, bready_o,    \
        idle_req_o
typedef struct state {
    TB_PORTS(ports, PORTS);
    npu_score_dma_ax ax;
    uint8_t word[WORDS][16];
    uint64_t words;      /* taken */
    uint64_t source;     /* job whose words are accepted */
    uint64_t burst;      /* that the next beat belongs to */
    uint32_t burst_beat; /* and its number in it */
    uint64_t beats;      /* sent */
    /* of these: beats with a new word (the last one of a job may only have the rest of the word before) */
    uint64_t word_beats;
    bool seen;        /* the beat is on offer */
    uint8_t data[16]; /* expected bytes, where strobes are 1 */
    uint32_t strobes;
    bool owed;      /* flushed: bursts on the address channel still need their beats */
    uint32_t kept;  /* of these, beats that may have been formed before the flush */
    uint64_t total; /* beats in total */
} state;

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
    s->words = s->source = s->beats = s->word_beats = 0;
    s->burst = s->ax.shown;
    s->burst_beat = 0;
    s->seen = s->owed = false;
}

static void clear(tb_check *c) {
    state *s = (state *)c->state;
    npu_score_dma_reset(&s->ax);
    forget(s);
}

static uint32_t beat_of_job(const state *s, const npu_score_dma_job *j) {
    return (uint32_t)(s->beats - j->first_beat);
}

/*
 * Expected value of the next beat: the low bytes of its own word in the upper lanes, the upper bytes of the word before
 * in the lower lanes. False: there must be none.
 */
static bool next_beat(tb_check *c, state *s, const npu_score_dma_burst *b) {
    const npu_score_dma_job *j = &s->ax.job[b->job % DMA_JOBS];
    const uint32_t number = beat_of_job(s, j), lane = j->addr % 16;
    s->strobes = 0xffff;
    if (number == 0) {
        s->strobes &= 0xffffu << lane;
    }
    if (number + 1 == j->beats) {
        s->strobes &= 0xffffu >> (15 - (lane + j->bytes - 1) % 16);
    }
    const uint32_t last_word = number < j->words ? number : j->words - 1;
    if (j->first_word + last_word >= s->words) {
        char where[96];
        npu_score_dma_where(&s->ax, b->job, "beat", number, where, sizeof where);
        tb_check_fail(c, "data", s->total, where, "a beat", "none: its word has not been accepted");
        return false;
    }
    uint8_t two[32] = {0}; /* the word before and this one; constant sizes: no calls */
    if (number > 0) {
        memcpy(two, s->word[(j->first_word + number - 1) % WORDS], 16);
    }
    if (number < j->words) {
        memcpy(two + 16, s->word[(j->first_word + number) % WORDS], 16);
    }
    memcpy(s->data, two + 16 - lane, 16);
    return true;
}

static void compare_beat(tb_check *c, const state *s, const npu_score_dma_burst *b) {
    const uint32_t strobes = *(const uint16_t *)s->wstrb_o.ptr;
    const uint32_t number = beat_of_job(s, &s->ax.job[b->job % DMA_JOBS]);
    if (strobes != s->strobes) {
        char where[96];
        npu_score_dma_where(&s->ax, b->job, "beat", number, where, sizeof where);
        tb_check_failf(c, "strobes", s->total, "%s|0x%04" PRIx32 "|0x%04" PRIx32, where, strobes, s->strobes);
    } else if (memcmp(s->wdata_o.ptr, s->data, 16) != 0) {
        npu_score_dma_bytes(c, &s->ax, "data", b->job, number, (const uint8_t *)s->wdata_o.ptr, s->data, s->strobes);
    }
}

static void sent(state *s, const npu_score_dma_burst *b) {
    s->word_beats += beat_of_job(s, &s->ax.job[b->job % DMA_JOBS]) < s->ax.job[b->job % DMA_JOBS].words;
    s->beats++;
    s->total++;
    s->seen = false;
    s->kept -= s->kept > 0;
    if (++s->burst_beat == b->beats) {
        s->burst_beat = 0;
        s->burst++;
    }
}

/* A beat on W. Its burst must have been on the address channel in an earlier cycle (`shown`). */
static void bus_data(tb_check *c, state *s, uint64_t shown) {
    if (s->burst >= shown) {
        tb_check_fail(c, "data", s->total, NULL, "a beat", "none: no burst needs one");
        return;
    }
    const npu_score_dma_burst *b = &s->ax.burst[s->burst % DMA_BURSTS];
    const bool blank = s->owed && *(const uint16_t *)s->wstrb_o.ptr == 0;
    if (blank) {
        s->kept = 0;
    } else if (s->owed && s->kept == 0) {
        tb_check_fail(c, "strobes", s->total, "flushed", "strobes", "none");
        return;
    } else {
        if (!s->seen && !next_beat(c, s, b)) {
            return;
        }
        s->seen = true;
        compare_beat(c, s, b);
    }
    const uint32_t last = s->burst_beat + 1 == b->beats;
    if (npu_score_b(s->wlast_o) != last) {
        tb_check_value(c, "last", s->total, !last, last);
    }
    if (npu_score_b(s->wready_i) == 0) {
        s->ax.ev_due |= DMA_EV_WAIT_BUS;
        return;
    }
    s->ax.ev_due |= DMA_EV_BEAT;
    sent(s, b);
}

/* Words are accepted from the requester of the current job, while there is space for a beat. */
static void take_word(tb_check *c, state *s, uint64_t word_beats) {
    const npu_score_dma_ax *ax = &s->ax;
    const uint32_t ready = npu_score_b(s->wdat_ready_o);
    if (ready == 0) {
        return;
    }
    const npu_score_dma_job *j = &ax->job[s->source % DMA_JOBS];
    const bool any = s->source < ax->accepted && !npu_score_dma_dropping(ax);
    if (!any || ready != 1u << j->id) {
        tb_check_failf(c, "word", s->words, "ready 0x%" PRIx32 "|%s", ready,
                       any ? ax->names[j->id] : "none: no job is left");
        return;
    }
    if (s->words - word_beats >= FIFO) {
        tb_check_fail(c, "word", s->words, ax->names[j->id], "one taken", "none before there is space for it");
        return;
    }
    if ((ready & npu_score_b(s->wdat_valid_i)) == 0) {
        s->ax.ev_due |= DMA_EV_WAIT_USER;
        return;
    }
    memcpy(s->word[s->words++ % WORDS], (const uint8_t *)s->wdat_i.ptr + (size_t)16 * j->id, 16);
    s->source += s->words == j->first_word + j->words;
}

static void check_idle(tb_check *c, state *s) {
    const npu_score_dma_ax *ax = &s->ax;
    uint32_t idle_req = 0;
    for (uint32_t i = 0; i < ax->requesters; i++) {
        idle_req |= (uint32_t)(ax->queued[i] + ax->flying[i] == 0) << i;
    }
    if (npu_score_b(s->idle_req_o) != idle_req) {
        tb_check_value(c, "idle requesters", ax->requests, npu_score_b(s->idle_req_o), idle_req);
    }
    const bool idle = ax->bus_idle && ax->cut == ax->accepted;
    if (npu_score_b(ax->idle_o) != idle) {
        tb_check_value(c, "idle", ax->requests, !idle, idle);
    }
}

static void cycle(tb_check *c) {
    state *s = (state *)c->state;
    npu_score_dma_ax *ax = &s->ax;
    const uint64_t shown = ax->shown, word_beats = s->word_beats, total = s->total;
    if (npu_score_dma_empty(c, ax)) {
        return;
    }
    npu_score_dma_outputs(c, ax);
    check_idle(c, s);
    if (npu_score_b(s->wvalid_o) != 0) {
        bus_data(c, s, shown);
    } else if (s->seen) {
        tb_check_fail(c, "data", s->total, NULL, "withdrawn", "a beat that waits for ready");
    }
    take_word(c, s, word_beats);
    if (npu_score_b(s->bready_o) == 0) {
        tb_check_value(c, "response ready", ax->answered, 0, 1);
    }
    if (npu_score_b(s->bvalid_i) != 0) {
        npu_score_dma_answer(ax, npu_score_b(s->bresp_i), true);
    }
    npu_score_dma_requests(c, ax);
    switch (npu_score_dma_end(ax)) {
    case DMA_EMPTY:
        forget(s);
        break;
    case DMA_DROP:
        if (!s->owed) {
            s->kept = FIFO - (uint32_t)(s->total - total);
        }
        s->owed = true;
        break;
    case DMA_GO:
        break;
    }
    c->again = !npu_score_dma_quiet(ax) || s->source != ax->accepted || s->seen || s->owed || s->total != total;
}

static void finish(tb_check *c) {
    state *s = (state *)c->state;
    if (npu_score_dma_empty(c, &s->ax)) {
        return;
    }
    if (s->source != s->ax.accepted || s->ax.shown != s->ax.answered) {
        tb_check_fail(c, "data", s->total, NULL, s->source != s->ax.accepted ? "words missing" : "responses missing",
                      "all jobs complete");
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
