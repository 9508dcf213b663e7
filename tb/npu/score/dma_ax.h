/*
 * dma_ax.h - what the checks of dma_rd and dma_wr share: requests, bursts and their requesters, pulses and levels.
 *
 * Behaviour from docs/npu/npu.md sections 1 and 4.4 and the headers of the units; bursts are those of cm_dma_split.
 */
#ifndef NPU_SCORE_DMA_AX_H
#define NPU_SCORE_DMA_AX_H

#include "score.h"

#define DMA_JOBS 64u   /* more than a unit holds: two queued, one for each burst, and those at its output */
#define DMA_BURSTS 32u /* more than may be in flight */
#define DMA_OUTSTANDING 16u
#define DMA_EASY 12u /* with so many in flight the next one is not delayed by complete ones that still have an entry */
#define DMA_REQS_MAX 6u

/* Pulses and waits, one bit each, as expected on the outputs a cycle later. */
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
/* Wake signals of both sides; each adds its own. */
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
    uint32_t rest_addr, rest; /* bytes of job `cut` that have no burst yet; 0: it has had no burst */
    uint64_t words, beats;    /* of all accepted jobs */
    npu_score_dma_burst burst[DMA_BURSTS];
    uint64_t shown, answered;      /* bursts on the address channel so far; complete bursts */
    cm_dma_burst now;              /* the one on the address channel */
    uint32_t queued[DMA_REQS_MAX]; /* jobs of a requester with bursts left; its bursts in flight */
    uint32_t flying[DMA_REQS_MAX];
    bool offered;  /* an address waits for ready */
    bool due;      /* a burst must be on the address channel: nothing can delay it */
    bool bus_idle; /* no burst in flight, at the beginning of this cycle */
    bool draining; /* a flush has ended, and bursts from before it are still in flight */
    /* 1 + requester of a job of 0 bytes, 0: none. It is reported in the next cycle: the check of the unit that made the
     * request comes after this one, and the fault is its unit's. */
    uint32_t empty;
    uint32_t err_due, ev_due;
    uint64_t requests, bursts; /* total numbers, for reports */
} npu_score_dma_ax;

/*
 * Find the signals; `prefix` is "ar" or "aw", wait_user the name of the last event; the unit may serve fewer than
 * `requesters`. 0 or -1.
 */
int npu_score_dma_open(tb_check *c, npu_score_dma_ax *ax, const char *prefix, const char *wait_user,
                       const char *const *names, uint32_t requesters, char *err, size_t err_size);
/* Global reset. */
void npu_score_dma_reset(npu_score_dma_ax *ax);
/* First in each cycle, and at the end of the run: report a job of 0 bytes of the cycle before. True: there was one. */
bool npu_score_dma_empty(tb_check *c, npu_score_dma_ax *ax);
/* Then the address channel; then pulses and levels, which follow from the cycle before. */
void npu_score_dma_outputs(tb_check *c, npu_score_dma_ax *ax);
/* Then the requests. */
void npu_score_dma_requests(tb_check *c, npu_score_dma_ax *ax);
/* A beat of the oldest burst in flight has this response; it is the last one if `complete`. */
void npu_score_dma_answer(npu_score_dma_ax *ax, uint32_t resp, bool complete);
/* "input, job 17 (0x80001234, 100 bytes)" and so on. */
void npu_score_dma_where(const npu_score_dma_ax *ax, uint64_t job, const char *what, uint64_t number, char *dst,
                         size_t size);
/* Compares 16 bytes; reports the first different byte among those of `mask`. */
void npu_score_dma_bytes(tb_check *c, const npu_score_dma_ax *ax, const char *stream, uint64_t job, uint32_t number,
                         const uint8_t *got, const uint8_t *expected, uint32_t mask);
/*
 * End of the cycle: drop the jobs when the unit does, so that no further burst is expected. DMA_EMPTY: the last burst
 * is complete, and numbers start again at 0; until then the bursts in flight remain, and the jobs that they belong to.
 */
typedef enum npu_score_dma_flush { DMA_GO, DMA_DROP, DMA_EMPTY } npu_score_dma_flush;
npu_score_dma_flush npu_score_dma_end(npu_score_dma_ax *ax);

/* At the end of a cycle: no job has bursts left, none is in flight, and no pulse is due in the next cycle. */
bool npu_score_dma_quiet(const npu_score_dma_ax *ax);

/* Does the unit drop everything in this cycle? */
static inline bool npu_score_dma_dropping(const npu_score_dma_ax *ax) {
    return *(const uint8_t *)ax->flush_i.ptr != 0 || ax->draining;
}

#endif
