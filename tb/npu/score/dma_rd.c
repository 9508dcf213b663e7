/*
 * dma_rd.c - read side of a DMA channel: requests cut into bursts, and the beats of the bus become words for the
 * requesters, in job order.
 */
#include "dma_ax.h"

#include <inttypes.h>
#include <stdio.h>

#define BEATS 64u /* ring of bus beats; the unit keeps four */
#define SKID 2u   /* beats that it accepts before it needs them */

#define PORTS dat_valid_o, dat_ready_i, dat_id_o, dat_o, dat_last_o, rdata_i, rresp_i, rlast_i, rvalid_i, rready_o
typedef struct state {
    TB_PORTS(ports, PORTS);
    npu_score_dma_ax ax;
    uint8_t beat[BEATS][16];
    uint64_t beats; /* received */
    uint64_t used;  /* beats that have had a byte on the output */
    uint64_t job;   /* whose data are on the output */
    uint32_t word;  /* of that job */
    bool seen;      /* the word is on offer */
    uint8_t expected[16];
    uint64_t words; /* in total */
} state;

/* npu_pkg::RdId* */
static const char *const requesters[] = {"factors", "partial sums", "weights", "input", "ALU", "POOL"};

static int open(tb_check *c, char *err, size_t err_size) {
    state *s = (state *)c->state;
    if (npu_score_dma_open(c, &s->ax, "ar", "ev_wait_user_o", requesters, sizeof requesters / sizeof *requesters, err,
                           err_size) != 0) {
        return -1;
    }
    return 0;
}

static void forget(state *s) {
    s->beats = s->used = s->job = 0;
    s->word = 0;
    s->seen = false;
}

static void clear(tb_check *c) {
    state *s = (state *)c->state;
    npu_score_dma_reset(&s->ax);
    forget(s);
}

/* Expected value of the word on the output, from one or two bus beats. False: there must be none. */
static bool next_word(tb_check *c, state *s) {
    if (s->job == s->ax.accepted) {
        tb_check_fail(c, "data", s->words, NULL, "a word", "none: no job is left");
        return false;
    }
    const npu_score_dma_job *j = &s->ax.job[s->job % DMA_JOBS];
    const uint32_t lane = j->addr % 16, at = 16 * s->word, left = j->bytes - at, bytes = left < 16 ? left : 16;
    const uint64_t first = j->first_beat + s->word, last = j->first_beat + (lane + at + bytes - 1) / 16;
    if (last >= s->beats) {
        char where[96];
        npu_score_dma_where(&s->ax, s->job, "word", s->word, where, sizeof where);
        tb_check_fail(c, "data", s->words, where, "a word", "none: its data have not arrived");
        return false;
    }
    uint8_t two[32]; /* constant sizes: no calls */
    memcpy(two, s->beat[first % BEATS], 16);
    memcpy(two + 16, s->beat[last % BEATS], 16);
    memcpy(s->expected, two + lane, 16);
    if (bytes < 16) {
        memset(&s->expected[bytes], 0, 16 - bytes);
    }
    s->used = last + 1;
    return true;
}

static void data(tb_check *c, state *s) {
    if (!s->seen && !next_word(c, s)) {
        return;
    }
    s->seen = true;
    const npu_score_dma_job *j = &s->ax.job[s->job % DMA_JOBS];
    const bool last = s->word + 1 == j->words;
    if (memcmp(s->dat_o.ptr, s->expected, 16) != 0) {
        npu_score_dma_bytes(c, &s->ax, "data", s->job, s->word, (const uint8_t *)s->dat_o.ptr, s->expected, 0xffff);
    }
    if (npu_score_b(s->dat_id_o) != j->id || npu_score_b(s->dat_last_o) != last) {
        char where[96];
        npu_score_dma_where(&s->ax, s->job, "word", s->word, where, sizeof where);
        const uint32_t id = npu_score_b(s->dat_id_o);
        tb_check_fail(c, id != j->id ? "requester" : "last", s->words, where,
                      id == j->id             ? (last ? "0" : "1")
                      : id < s->ax.requesters ? requesters[id]
                                              : "no requester",
                      id == j->id ? (last ? "1" : "0") : requesters[j->id]);
    }
    if (npu_score_b(s->dat_ready_i) == 0) {
        s->ax.ev_due |= DMA_EV_WAIT_USER;
        return;
    }
    s->seen = false;
    s->words++;
    s->word++;
    if (last) {
        s->word = 0;
        s->job++;
    }
}

/*
 * Beats that the unit must be holding: all that were received and not needed for the words so far. It also keeps the
 * first beat of an unaligned job, which does not make a word alone.
 */
static uint64_t waiting(const state *s) {
    const npu_score_dma_job *j = &s->ax.job[s->job % DMA_JOBS];
    if (s->job < s->ax.accepted && s->used >= j->first_beat + j->beats) {
        j = &s->ax.job[(s->job + 1) % DMA_JOBS];
    }
    const bool kept = s->beats > s->used && j->first_beat == s->used && j->addr % 16 != 0 && j->beats > 1;
    return s->beats - s->used - kept;
}

static void bus(tb_check *c, state *s) {
    npu_score_dma_ax *ax = &s->ax;
    if (npu_score_b(s->rvalid_i) == 0) {
        ax->ev_due |= ax->bus_idle ? 0 : DMA_EV_WAIT_BUS;
        return;
    }
    if (npu_score_b(s->rready_o) == 0) {
        return;
    }
    ax->ev_due |= DMA_EV_BEAT;
    if (!npu_score_dma_dropping(ax)) {
        if (waiting(s) >= SKID) {
            tb_check_fail(c, "bus data", s->beats, NULL, "a beat taken", "at most two that wait for words before them");
            return;
        }
        memcpy(s->beat[s->beats++ % BEATS], s->rdata_i.ptr, 16);
    }
    npu_score_dma_answer(ax, npu_score_b(s->rresp_i), npu_score_b(s->rlast_i) != 0);
}

static void cycle(tb_check *c) {
    state *s = (state *)c->state;
    npu_score_dma_ax *ax = &s->ax;
    if (npu_score_dma_empty(c, ax)) {
        return;
    }
    npu_score_dma_outputs(c, ax);
    const bool idle = ax->bus_idle && s->job == ax->accepted;
    if (npu_score_b(ax->idle_o) != idle) {
        tb_check_value(c, "idle", ax->requests, !idle, idle);
    }
    if (npu_score_b(s->dat_valid_o) != 0) {
        data(c, s);
    } else if (s->seen) {
        tb_check_fail(c, "data", s->words, NULL, "withdrawn", "a word that waits for ready");
    }
    bus(c, s);
    npu_score_dma_requests(c, ax);
    switch (npu_score_dma_end(ax)) {
    case DMA_EMPTY:
        forget(s);
        break;
    case DMA_DROP:
        s->job = ax->accepted;
        s->word = 0;
        s->seen = false;
        break;
    case DMA_GO:
        break;
    }
    c->again = !npu_score_dma_quiet(ax) || s->job != ax->accepted || s->seen;
}

static void finish(tb_check *c) {
    state *s = (state *)c->state;
    if (!npu_score_dma_empty(c, &s->ax) && s->job != s->ax.accepted) {
        char where[96];
        npu_score_dma_where(&s->ax, s->job, "word", s->word, where, sizeof where);
        tb_check_fail(c, "data", s->words, where, "nothing", "a word");
    }
}

/* Addresses do not depend on data, so results computed from wrong data are not inputs here. */
const tb_check_ops npu_score_dma_rd = {.unit = "dma_rd",
                                       TB_STATE(state, PORTS),
                                       .wake = NPU_SCORE_DMA_WAKE "arvalid_o, ev_wait_user_o, dat_valid_o, rvalid_i",
                                       .open = open,
                                       .clear = clear,
                                       .cycle = cycle,
                                       .finish = finish};
