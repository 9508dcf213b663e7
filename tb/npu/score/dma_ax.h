/*
 * dma_ax.h - what the checks of dma_rd and dma_wr share: requests, bursts and their requesters, pulses and levels.
 *
 * Behaviour from docs/npu/npu.md sections 1 and 4.4 and the headers of the units; bursts are those of cm_dma_split.
 */
#ifndef NPU_SCORE_DMA_AX_H
#define NPU_SCORE_DMA_AX_H

#include "score.h"

#define DMA_JOBS 32u   /* more than a unit holds: two queued, one for each burst, and those at its output */
#define DMA_BURSTS 32u /* more than may be in flight */
#define DMA_LINE 4096u /* bytes; no burst crosses one */
#define DMA_QUEUE 2u   /* jobs accepted that have bursts left */
#define DMA_OUTSTANDING 16u
#define DMA_EASY 12u /* with so many in flight the next one is not delayed by complete ones that still have an entry */
#define DMA_REQS_MAX 6u

/* Pulses and waits, one bit each, as expected on the outputs a cycle later; above them the errors of requesters. */
enum {
    DMA_EV_BEAT = 1,
    DMA_EV_BURST = 2,
    DMA_EV_WAIT_BUS = 4,
    DMA_EV_WAIT_USER = 8,
    DMA_ERR = 16,
    DMA_EMPTY = 1 << 30
};

typedef struct npu_score_dma_job {
    uint32_t addr;
    uint32_t bytes : 24, id : 8;
} npu_score_dma_job;

/* Beats on the bus, of all its bursts together. */
static inline uint32_t npu_score_dma_beats(const npu_score_dma_job *j) {
    return (j->addr % 16 + j->bytes + 15) / 16;
}

typedef struct npu_score_dma_burst {
    uint16_t beats;
    uint8_t id;
    uint8_t job; /* its element of `job` */
} npu_score_dma_burst;

#define NPU_SCORE_DMA_PORTS                                                                                            \
    flush_i, ev_beat_o, ev_burst_o, ev_wait_bus_o, err_o, inflight_o, idle_o, req_valid_i, req_ready_o, req_addr_i,    \
        req_bytes_i
#define NPU_SCORE_DMA_ATTRIBUTES id_o, size_o, burst_o, lock_o, cache_o, prot_o, qos_o
#define NPU_SCORE_DMA_ADDRESS valid_o, ready_i, addr_o, len_o
#define NPU_SCORE_DMA_CHANNEL NPU_SCORE_DMA_ADDRESS, NPU_SCORE_DMA_ATTRIBUTES
/* Signals to watch of both sides; each adds its own. */
#define NPU_SCORE_DMA_WATCH                                                                                            \
    "flush_i, idle_o, req_valid_i, req_ready_o, err_o, inflight_o, ev_beat_o, ev_burst_o, ev_wait_bus_o, "
/* What every cycle uses comes first: two lines of the cache. */
typedef struct npu_score_dma_ax {
    const uint8_t *base; /* of the places of signals */
    union {
        struct {
            uint8_t flight;   /* bursts on the address channel so far that are not complete */
            uint8_t queue;    /* jobs accepted that have bursts left */
            uint8_t late;     /* of them those accepted in the cycle before: their burst need not be on the channel */
            uint8_t offered;  /* an address waits for ready */
            uint8_t draining; /* a flush has ended, and bursts from before it are still in flight */
        };
        uint64_t works; /* not 0: anything of these */
    };
    uint32_t due;               /* pulses and errors; after the comparison those of the next cycle */
    uint32_t addressed;         /* the event that follows from an address on the channel */
    bool fresh;                 /* the last address on it was new there */
    uint32_t due_now;           /* `due` before this comparison */
    uint8_t idle_req, all_idle; /* requesters that have no job in the queue and no burst in flight; all of them */
    uint32_t rest_addr, rest;   /* bytes of the oldest job in the queue that have no burst yet; 0: it has had none */
    uint64_t answered;          /* complete bursts; since the last reset */
    uint64_t accepted;          /* jobs; since the last clear */
    cm_dma_burst now;           /* the one on the address channel */
    NPU_SCORE_PLACES(at, NPU_SCORE_DMA_PORTS, NPU_SCORE_DMA_ADDRESS, ev_wait_user);
    const uint8_t *attributes; /* of an address: 8 bytes of the design, and the values in them */
    uint64_t attributes_mask, attributes_due;
    uint32_t working[DMA_REQS_MAX]; /* jobs of a requester with bursts left, and its bursts in flight */
    npu_score_dma_burst burst[DMA_BURSTS];
    npu_score_dma_job job[DMA_JOBS];
    /* 1 + requester of a job of 0 bytes, 0: none. It is reported in the next cycle, as a pulse DMA_EMPTY that does not
     * come: the check of the unit that made the request comes after this one, and the fault is its unit's. */
    uint8_t empty;
    /* For reports: names of the requesters, and jobs before the last clear, bursts before the last reset. */
    const char *const *names;
    uint32_t requesters; /* that the unit serves */
    uint64_t jobs_before, bursts_before;
    TB_PORTS(ports, NPU_SCORE_DMA_PORTS);
    TB_PORTS(channel, NPU_SCORE_DMA_CHANNEL); /* of addresses; names without "ar" or "aw" */
    tb_sig ev_wait_user;
} npu_score_dma_ax;

/*
 * Find the signals; `prefix` is "ar" or "aw", wait_user the name of the last event; the unit may serve fewer than
 * `requesters`. 0 or -1.
 */
int npu_score_dma_open(tb_check *c, npu_score_dma_ax *ax, const char *prefix, const char *wait_user,
                       const char *const *names, uint32_t requesters, char *err, size_t err_size);
/* Global reset. */
void npu_score_dma_reset(npu_score_dma_ax *ax);
/*
 * End of a cycle in which the unit drops all jobs, so that no further burst is expected. True: no burst was in flight
 * in this cycle, and numbers start again at 0; until then the bursts in flight remain, and the jobs that they belong
 * to.
 */
bool npu_score_dma_drop(npu_score_dma_ax *ax);
/* "input, job 17 (0x80001234, 100 bytes)" and so on. */
__attribute__((cold)) void npu_score_dma_where(const npu_score_dma_ax *ax, uint64_t job, const char *what,
                                               uint64_t number, char *dst, size_t size);
/* Reports the first byte of `mask` that differs among these 16. */
__attribute__((cold)) void npu_score_dma_bytes(tb_check *c, const npu_score_dma_ax *ax, const char *stream,
                                               uint64_t job, uint32_t number, const uint8_t *got,
                                               const uint8_t *expected, uint32_t mask);
/* Jobs since the device was opened, for reports. */
static inline uint64_t npu_score_dma_jobs(const npu_score_dma_ax *ax) {
    return ax->jobs_before + ax->accepted;
}

/* At the end of the run, and in a cycle with `empty`: report a job of 0 bytes of the cycle before. */
__attribute__((cold)) void npu_score_dma_empty(tb_check *c, npu_score_dma_ax *ax);
/* Report the first thing of npu_score_dma_differ() that is wrong. */
__attribute__((cold)) void npu_score_dma_wrong(tb_check *c, npu_score_dma_ax *ax);

/* Value of a signal of up to 8 bits. */
static inline uint32_t npu_score_dma_b(const npu_score_dma_ax *ax, int32_t place) {
    return ax->base[place];
}

/* Bursts on the address channel so far. */
static inline uint64_t npu_score_dma_shown(const npu_score_dma_ax *ax) {
    return ax->answered + ax->flight;
}

/* Does the unit drop everything in this cycle? */
static inline bool npu_score_dma_dropping(const npu_score_dma_ax *ax) {
    return (npu_score_dma_b(ax, ax->at.flush_i) | ax->draining) != 0;
}

/*
 * In each cycle a check calls the following functions in this order, and between them compares its own side of the
 * data. First the address channel.
 */
void npu_score_dma_address(tb_check *c, npu_score_dma_ax *ax);
__attribute__((cold)) void npu_score_dma_no_address(tb_check *c, const npu_score_dma_ax *ax);
static inline void npu_score_dma_channel(tb_check *c, npu_score_dma_ax *ax) {
    if (npu_score_dma_b(ax, ax->at.valid_o) != 0) {
        npu_score_dma_address(c, ax);
    } else if (ax->offered || (ax->queue != ax->late && ax->flight < DMA_EASY)) {
        npu_score_dma_no_address(c, ax);
    }
    ax->late = 0;
}

/* Pulses and levels, which follow from the cycle before. 0: they are right. */
static inline uint32_t npu_score_dma_events(const npu_score_dma_ax *ax) {
    return npu_score_dma_b(ax, ax->at.ev_beat_o) * DMA_EV_BEAT + npu_score_dma_b(ax, ax->at.ev_burst_o) * DMA_EV_BURST +
           npu_score_dma_b(ax, ax->at.ev_wait_bus_o) * DMA_EV_WAIT_BUS +
           npu_score_dma_b(ax, ax->at.ev_wait_user) * DMA_EV_WAIT_USER + npu_score_dma_b(ax, ax->at.err_o) * DMA_ERR;
}
static inline uint32_t npu_score_dma_differ(const npu_score_dma_ax *ax) {
    return (npu_score_dma_events(ax) ^ ax->due) | (npu_score_dma_b(ax, ax->at.inflight_o) ^ ax->flight);
}

/* Those of this cycle are right: the ones of the next cycle begin with that of the address channel. */
static inline void npu_score_dma_begin(npu_score_dma_ax *ax) {
    ax->due_now = ax->due;
    ax->due = ax->addressed;
    ax->addressed = 0;
}

/* At the end of a cycle: nothing has happened on this side, no burst is due, and nothing will happen as long as the
 * signals to watch stay as they are; pulses are as in this cycle. */
static inline bool npu_score_dma_steady(const npu_score_dma_ax *ax) {
    return ax->due == ax->due_now && npu_score_dma_b(ax, ax->at.req_ready_o) == 0 && !npu_score_dma_dropping(ax) &&
           (npu_score_dma_b(ax, ax->at.valid_o) == 0 ? ax->queue == 0 || ax->flight >= DMA_EASY
                                                     : ax->offered && !ax->fresh);
}

/* A beat of the oldest burst in flight has this response; it is the last one if `complete`. */
void npu_score_dma_answer(npu_score_dma_ax *ax, uint32_t resp, bool complete);

/* Requests. True: one is accepted. */
void npu_score_dma_accept(tb_check *c, npu_score_dma_ax *ax, uint32_t valid, uint32_t ready);
__attribute__((cold)) void npu_score_dma_not_accepted(tb_check *c, const npu_score_dma_ax *ax);
static inline bool npu_score_dma_requests(tb_check *c, npu_score_dma_ax *ax) {
    const uint32_t ready = npu_score_dma_b(ax, ax->at.req_ready_o), valid = npu_score_dma_b(ax, ax->at.req_valid_i);
    if (ready != 0) {
        npu_score_dma_accept(c, ax, valid, ready);
    } else if (valid != 0 && ax->queue < DMA_QUEUE && !npu_score_dma_dropping(ax)) {
        npu_score_dma_not_accepted(c, ax);
    }
    return ready != 0;
}

/* 16 bytes of 1, then 16 of 0: the mask of the first n of 16 bytes begins n bytes before the zeros. */
static const uint8_t npu_score_dma_masks[32] = {255, 255, 255, 255, 255, 255, 255, 255,
                                                255, 255, 255, 255, 255, 255, 255, 255};

/* The 16 bytes that begin here in a ring, after which there is space for a copy of its first ones. */
#define DMA_RING 128u
#define DMA_RING_SPACE (DMA_RING + 16)
static inline const uint8_t *npu_score_dma_word(uint8_t *ring, uint64_t at) {
    at %= DMA_RING;
    if (at > DMA_RING - 16) {
        memcpy(ring + DMA_RING, ring, 16);
    }
    return ring + at;
}

#endif
