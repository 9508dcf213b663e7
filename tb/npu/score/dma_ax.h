/*
 * dma_ax.h - what the checks of dma_rd and dma_wr share: requests in, bursts out, whose they are, pulses and levels.
 *
 * Behaviour from docs/npu/npu.md sections 1 and 4.4 and the headers of the units; bursts are those of cm_dma_split.
 */
#ifndef NPU_SCORE_DMA_AX_H
#define NPU_SCORE_DMA_AX_H

#include "score.h"

#define DMA_JOBS 64u   /* more than a unit holds: two queued, one for each burst, and those at its output */
#define DMA_BURSTS 32u /* more than may be in flight */
#define DMA_OUTSTANDING 16u
#define DMA_EASY                                                                                                       \
    12u /* so many in flight never hinder the next one, whatever the unit still holds of those that are complete */
#define DMA_REQS_MAX 6u

/* Pulses and waiting, one bit each, as the unit must show them a cycle later. */
enum { DMA_EV_BEAT = 1, DMA_EV_BURST = 2, DMA_EV_WAIT_BUS = 4, DMA_EV_WAIT_USER = 8 };

typedef struct npu_score_dma_job {
    uint32_t addr, bytes, id;
    uint32_t words;      /* of 16 bytes at the requester */
    uint32_t beats;      /* on the bus, all bursts together */
    uint64_t first_word; /* number of its first word among those of all jobs since the last clear */
    uint64_t first_beat; /* of its first bus beat, likewise */
} npu_score_dma_job;

typedef struct npu_score_dma_burst {
    uint32_t beats, lane, id; /* lane: of the first byte */
    uint64_t job;
} npu_score_dma_burst;

#define NPU_SCORE_DMA_PORTS                                                                                            \
    flush_i, idle_o, req_valid_i, req_ready_o, req_addr_i, req_bytes_i, err_o, ev_beat_o, ev_burst_o, ev_wait_bus_o,   \
        inflight_o
#define NPU_SCORE_DMA_CHANNEL valid_o, ready_i, addr_o, len_o, id_o, size_o, burst_o, lock_o, cache_o, prot_o, qos_o
/* What wakes both sides; each adds its own. */
#define NPU_SCORE_DMA_WAKE                                                                                             \
    "flush_i, req_valid_i, req_ready_o, err_o, inflight_o, ev_beat_o, ev_burst_o, ev_wait_bus_o, "
typedef struct npu_score_dma_ax {
    TB_PORTS(ports, NPU_SCORE_DMA_PORTS);
    TB_PORTS(channel, NPU_SCORE_DMA_CHANNEL); /* of addresses; names without "ar" or "aw" */
    tb_sig ev_wait_user;
    const char *const *names; /* of the requesters */
    uint32_t requesters;      /* that the unit serves */
    npu_score_dma_job job[DMA_JOBS];
    uint64_t accepted;        /* jobs; since the last clear, as all numbers here */
    uint64_t cut;             /* jobs whose last burst has been on the address channel */
    uint32_t rest_addr, rest; /* what is left to cut of job `cut`, 0: it has had no burst */
    uint64_t words, beats;    /* of all accepted jobs */
    npu_score_dma_burst burst[DMA_BURSTS];
    uint64_t shown, answered;      /* bursts presented; complete */
    cm_dma_burst now;              /* the one on the address channel */
    uint32_t queued[DMA_REQS_MAX]; /* jobs of a requester with bursts to come; its bursts in flight */
    uint32_t flying[DMA_REQS_MAX];
    bool offered;  /* an address waits for ready */
    bool due;      /* a burst must be on the address channel: nothing hinders it */
    bool bus_idle; /* no burst in flight, at the beginning of this cycle */
    bool draining; /* a flush has ended and the bus still works on its bursts */
    uint32_t err_due, ev_due;
    uint64_t requests, bursts; /* in all, for reports */
} npu_score_dma_ax;

/*
 * Find the signals; `prefix` is "ar" or "aw", wait_user the name of the last event; the unit may serve fewer than
 * `requesters`. 0 or -1.
 */
int npu_score_dma_open(tb_check *c, npu_score_dma_ax *ax, const char *prefix, const char *wait_user,
                       const char *const *names, uint32_t requesters, char *err, size_t err_size);
/* Global reset. */
void npu_score_dma_reset(npu_score_dma_ax *ax);
/* First in each cycle: the address channel; then pulses and levels, which follow from the cycle before. */
void npu_score_dma_outputs(tb_check *c, npu_score_dma_ax *ax);
/* Then the requests. */
void npu_score_dma_requests(tb_check *c, npu_score_dma_ax *ax);
/* The oldest burst in flight answers: a beat with this response, the last one if `complete`. */
void npu_score_dma_answer(npu_score_dma_ax *ax, uint32_t resp, bool complete);
/* "input, job 17 (0x80001234, 100 bytes)" and so on. */
void npu_score_dma_where(const npu_score_dma_ax *ax, uint64_t job, const char *what, uint64_t number, char *dst,
                         size_t size);
/* A piece of 16 bytes: complain about the first byte that differs among those of `mask`. */
void npu_score_dma_bytes(tb_check *c, const npu_score_dma_ax *ax, const char *stream, uint64_t job, uint32_t number,
                         const uint8_t *got, const uint8_t *expected, uint32_t mask);
/*
 * End of the cycle: drop the jobs where the unit does, so that nothing more is cut. DMA_EMPTY: the bus has worked on
 * the last burst, and numbers start again at 0; before that the bursts presented remain, and the jobs that they belong
 * to.
 */
typedef enum npu_score_dma_flush { DMA_GO, DMA_DROP, DMA_EMPTY } npu_score_dma_flush;
npu_score_dma_flush npu_score_dma_end(npu_score_dma_ax *ax);

/* At the end of a cycle: no job has bursts to come, none is in flight, and the next cycle shows nothing of this one. */
bool npu_score_dma_quiet(const npu_score_dma_ax *ax);

/* Does the unit drop everything in this cycle? */
static inline bool npu_score_dma_dropping(const npu_score_dma_ax *ax) {
    return *(const uint8_t *)ax->flush_i.ptr != 0 || ax->draining;
}

#endif
