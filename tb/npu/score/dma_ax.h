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

/* Pulses and waits, one bit each, as expected on the outputs a cycle later. */
enum { DMA_EV_BEAT = 1, DMA_EV_BURST = 2, DMA_EV_WAIT_BUS = 4, DMA_EV_WAIT_USER = 8 };

typedef struct npu_score_dma_job {
    uint32_t addr, bytes;
    uint32_t beats; /* on the bus, all bursts together */
    uint32_t id;
} npu_score_dma_job;

typedef struct npu_score_dma_burst {
    uint16_t beats;
    uint8_t id;
    uint8_t job; /* its element of `job` */
} npu_score_dma_burst;

#define NPU_SCORE_DMA_PORTS                                                                                            \
    flush_i, ev_beat_o, ev_burst_o, ev_wait_bus_o, err_o, inflight_o, idle_o, req_valid_i, req_ready_o, req_addr_i,    \
        req_bytes_i
#define NPU_SCORE_DMA_ATTRIBUTES id_o, size_o, burst_o, lock_o, cache_o, prot_o, qos_o
#define NPU_SCORE_DMA_CHANNEL valid_o, ready_i, addr_o, len_o, NPU_SCORE_DMA_ATTRIBUTES
/* Wake signals of both sides; each adds its own. */
#define NPU_SCORE_DMA_WAKE                                                                                             \
    "flush_i, req_valid_i, req_ready_o, err_o, inflight_o, ev_beat_o, ev_burst_o, ev_wait_bus_o, "
/* What every cycle uses comes first. */
typedef struct npu_score_dma_ax {
    bool offered;  /* an address waits for ready */
    bool fresh;    /* the last burst that was shown is on the channel in this cycle for the first time */
    bool draining; /* a flush has ended, and bursts from before it are still in flight */
    /* 1 + requester of a job of 0 bytes, 0: none. It is reported in the next cycle: the check of the unit that made the
     * request comes after this one, and the fault is its unit's. */
    uint8_t empty;
    uint8_t idle_req, all_idle; /* requesters that have no job in the queue and no burst in flight; all of them */
    uint32_t err_due, ev_due;
    uint32_t flight;   /* bursts on the address channel so far that are not complete */
    uint64_t answered; /* complete bursts; since the last reset */
    uint64_t accepted; /* jobs; since the last clear */
    uint64_t cut;      /* jobs whose last burst has been on the address channel */
    uint64_t known;    /* jobs accepted before the cycle before, so that the next burst may be on the channel now */
    tb_sig ev_wait_user;
    TB_PORTS(ports, NPU_SCORE_DMA_PORTS);
    TB_PORTS(channel, NPU_SCORE_DMA_CHANNEL); /* of addresses; names without "ar" or "aw" */
    const uint8_t *attributes;                /* of an address: 8 bytes of the design, and the values in them */
    uint64_t attributes_mask, attributes_due;
    uint32_t rest_addr, rest;       /* bytes of job `cut` that have no burst yet; 0: it has had no burst */
    cm_dma_burst now;               /* the one on the address channel */
    uint32_t working[DMA_REQS_MAX]; /* jobs of a requester with bursts left, and its bursts in flight */
    npu_score_dma_burst burst[DMA_BURSTS];
    npu_score_dma_job job[DMA_JOBS];
    /* For reports: names of the requesters, and jobs before the last clear, bursts before the last reset. */
    const char *const *names;
    uint32_t requesters; /* that the unit serves */
    uint64_t jobs_before, bursts_before;
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
bool npu_score_dma_drop(npu_score_dma_ax *ax, bool bus_idle);
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
/* Report the first of the pulses and levels of npu_score_dma_differ() that is wrong. */
__attribute__((cold)) void npu_score_dma_wrong(tb_check *c, const npu_score_dma_ax *ax);

/* For the functions below: what is rare in them, or a failure. The events are what npu_score_dma_address() returns. */
uint32_t npu_score_dma_part(tb_check *c, npu_score_dma_ax *ax, const npu_score_dma_job *j);
uint32_t npu_score_dma_compare_address(tb_check *c, const npu_score_dma_ax *ax, uint32_t event);
__attribute__((cold)) uint32_t npu_score_dma_too_many(tb_check *c, const npu_score_dma_ax *ax);
__attribute__((cold)) void npu_score_dma_no_address(tb_check *c, const npu_score_dma_ax *ax);
__attribute__((cold)) void npu_score_dma_wrong_request(tb_check *c, const npu_score_dma_ax *ax, uint32_t ready,
                                                       uint32_t first, bool dropping);
__attribute__((cold)) void npu_score_dma_not_accepted(tb_check *c, const npu_score_dma_ax *ax);

/* Bursts on the address channel so far. */
static inline uint64_t npu_score_dma_shown(const npu_score_dma_ax *ax) {
    return ax->answered + ax->flight;
}

/* Does the unit drop everything in this cycle? */
static inline bool npu_score_dma_dropping(const npu_score_dma_ax *ax) {
    return (npu_score_b(ax->flush_i) | ax->draining) != 0;
}

/* The next burst, of the oldest job that has bursts left, is on the channel. */
static inline void npu_score_dma_add_burst(npu_score_dma_ax *ax, uint32_t addr, uint32_t beats, uint32_t id) {
    npu_score_dma_burst *b = &ax->burst[npu_score_dma_shown(ax) % DMA_BURSTS];
    b->beats = (uint16_t)beats;
    b->id = (uint8_t)id;
    b->job = (uint8_t)(ax->cut % DMA_JOBS);
    ax->now.addr = addr;
    ax->now.beats = beats;
    ax->flight++;
}

/* Compare the burst on the channel; returns the event that follows from it. */
static inline uint32_t npu_score_dma_compare_now(tb_check *c, npu_score_dma_ax *ax) {
    uint64_t attributes;
    memcpy(&attributes, ax->attributes, sizeof attributes);
    ax->offered = npu_score_b(ax->ready_i) == 0;
    const uint32_t event = ax->offered ? DMA_EV_WAIT_BUS : DMA_EV_BURST;
    if (((*(const uint32_t *)ax->addr_o.ptr ^ ax->now.addr) | ((npu_score_b(ax->len_o) + 1) ^ ax->now.beats) |
         ((attributes ^ ax->attributes_due) & ax->attributes_mask)) != 0) {
        return npu_score_dma_compare_address(c, ax, event);
    }
    return event;
}

/*
 * An address on the channel: returns the event that follows from it. A new burst must be the next one of the oldest job
 * that has bursts left. A job that crosses no line is one burst.
 */
static inline uint32_t npu_score_dma_address(tb_check *c, npu_score_dma_ax *ax) {
    ax->fresh = !ax->offered;
    if (ax->fresh) {
        if (ax->cut == ax->accepted || ax->flight == DMA_OUTSTANDING) {
            return npu_score_dma_too_many(c, ax);
        }
        const npu_score_dma_job *j = &ax->job[ax->cut % DMA_JOBS];
        if (ax->rest != 0 || j->addr % DMA_LINE + j->bytes > DMA_LINE) {
            return npu_score_dma_part(c, ax, j);
        }
        npu_score_dma_add_burst(ax, j->addr, j->beats, j->id);
        ax->cut++;
    }
    return npu_score_dma_compare_now(c, ax);
}

/*
 * In each cycle a check calls the following functions in this order, and between them compares its own side of the
 * data. First the address channel: returns the event that follows from it.
 */
static inline uint32_t npu_score_dma_channel(tb_check *c, npu_score_dma_ax *ax) {
    if (npu_score_b(ax->valid_o) != 0) {
        return npu_score_dma_address(c, ax);
    }
    if (ax->offered || (ax->cut != ax->known && ax->flight < DMA_EASY)) {
        npu_score_dma_no_address(c, ax);
    }
    ax->fresh = false;
    return 0;
}

/* Pulses and levels, which follow from the cycle before. 0: they are right. */
static inline uint32_t npu_score_dma_events(const npu_score_dma_ax *ax) {
    return npu_score_b(ax->ev_beat_o) * DMA_EV_BEAT + npu_score_b(ax->ev_burst_o) * DMA_EV_BURST +
           npu_score_b(ax->ev_wait_bus_o) * DMA_EV_WAIT_BUS + npu_score_b(ax->ev_wait_user) * DMA_EV_WAIT_USER;
}
static inline uint32_t npu_score_dma_differ(const npu_score_dma_ax *ax) {
    return (npu_score_dma_events(ax) ^ ax->ev_due) | (npu_score_b(ax->err_o) ^ ax->err_due) |
           (npu_score_b(ax->inflight_o) ^ ax->flight);
}

/* 16 bytes of 1, then 16 of 0: the mask of the first n of 16 bytes begins n bytes before the zeros. */
extern const uint8_t npu_score_dma_masks[32];

/* Is there space for one more job? */
static inline bool npu_score_dma_space(const npu_score_dma_ax *ax) {
    return ax->accepted - ax->cut < DMA_QUEUE;
}

/* A requester is told that its request is accepted. */
static inline void npu_score_dma_accept(tb_check *c, npu_score_dma_ax *ax, uint32_t valid, uint32_t ready,
                                        bool dropping) {
    const uint32_t first = valid & (~valid + 1);
    if (ready != first || dropping) {
        npu_score_dma_wrong_request(c, ax, ready, first, dropping);
        return;
    }
    const uint32_t id = (uint32_t)__builtin_ctz(ready);
    const uint8_t *three = (const uint8_t *)ax->req_bytes_i.ptr + 3 * id;
    const uint32_t addr = ((const uint32_t *)ax->req_addr_i.ptr)[id];
    const uint32_t bytes = three[0] | (uint32_t)three[1] << 8 | (uint32_t)three[2] << 16;
    if (bytes == 0) {
        ax->empty = (uint8_t)(1 + id);
        return;
    }
    if (!npu_score_dma_space(ax)) {
        npu_score_dma_wrong_request(c, ax, ready, first, dropping);
        return;
    }
    npu_score_dma_job *j = &ax->job[ax->accepted++ % DMA_JOBS];
    j->addr = addr;
    j->bytes = bytes;
    j->beats = (addr % 16 + bytes + 15) / 16;
    j->id = id;
    ax->working[id]++;
    ax->idle_req &= (uint8_t)~ready;
}

/* Requests. True: one is accepted. */
static inline bool npu_score_dma_requests(tb_check *c, npu_score_dma_ax *ax, bool dropping) {
    ax->known = ax->accepted;
    const uint32_t ready = npu_score_b(ax->req_ready_o), valid = npu_score_b(ax->req_valid_i);
    if (ready != 0) {
        npu_score_dma_accept(c, ax, valid, ready, dropping);
        return true;
    }
    if (valid != 0 && npu_score_dma_space(ax) && !dropping) {
        npu_score_dma_not_accepted(c, ax);
    }
    return false;
}

/* The requester has one job less in the queue, or one burst less in flight. */
static inline void npu_score_dma_less(npu_score_dma_ax *ax, uint32_t id) {
    if (--ax->working[id] == 0) {
        ax->idle_req |= (uint8_t)(1u << id);
    }
}

/* A beat of the oldest burst in flight has this response; it is the last one if `complete`. */
static inline void npu_score_dma_answer(npu_score_dma_ax *ax, uint32_t resp, bool complete) {
    if (ax->flight == 0) {
        return;
    }
    const uint32_t id = ax->burst[ax->answered % DMA_BURSTS].id;
    if ((resp & 2u) != 0) {
        ax->err_due = 1u << id;
    }
    if (complete) {
        ax->answered++;
        ax->flight--;
        npu_score_dma_less(ax, id);
    }
}

/* At the end of a cycle: is anything under way, or a pulse due in the next cycle? */
static inline bool npu_score_dma_busy(const npu_score_dma_ax *ax) {
    return ax->ev_due != 0 || (ax->err_due | ax->flight | ax->empty | ax->offered | ax->draining) != 0 ||
           ax->cut != ax->accepted;
}

#endif
