/*
 * dma_bench.h - what the benches of dma_rd and dma_wr share: the AXI side, random jobs, the bursts that the golden model cuts a job into.
 */
#ifndef DMA_BENCH_H
#define DMA_BENCH_H

#include "bench.h"

#define DMA_BASE UINT32_C(0x10000000)
#define DMA_SIZE UINT32_C(0x00100000)
#define DMA_FAR UINT32_C(0xf0000000) /* of a memory that is written: up to 4 GiB */
#define DMA_QUEUE 512u               /* bursts and jobs remembered, a power of two */
#define DMA_OUTSTANDING 16u
#define DMA_REQS_MAX 4u

extern const char *const dma_profile_names[6];
#define DMA_PROFILE_KNOB                                                                                                                   \
    { "bus", 0, 5, TB_KNOB_ENUM, dma_profile_names, NULL, "bus timing" }
#define DMA_SIZE_KNOB                                                                                                                      \
    { "size", 1, 20000, TB_KNOB_SMALL, NULL, NULL, "largest job in bytes" }

typedef struct dma_job {
    uint32_t addr, bytes, requester;
    uint64_t end_burst; /* bursts of all jobs up to and with this one */
} dma_job;

typedef struct dma_bus {
    tb_axi_port port;
    tb_axi_slave slave;
    tb_axi_monitor mon;
    tb_ddr mem;
    bool up; /* slave, monitor and memory exist */
    bool write;
    /* bursts that the model expects on the address channel and that have not come */
    cm_dma_burst burst[DMA_QUEUE];
    uint32_t owner[DMA_QUEUE]; /* requester of each */
    uint64_t burst_in, burst_out;
    uint64_t answered;           /* bursts whose answer is complete */
    uint32_t owed[DMA_REQS_MAX]; /* bursts of each requester that are expected or not answered */
    tb_sig err, wait_bus, inflight;
    uint64_t err_due; /* what err_o and ev_wait_bus_o must be in this cycle */
    bool wait_due;
} dma_bus;

/* Bind ports m_*, make memory and slave with the profile of knob `bus`. write: which address channel is checked. 0 or -1. */
int dma_bus_open(unit *u, dma_bus *bus, bool write);
void dma_bus_close(dma_bus *bus);
/* Before settle. */
void dma_bus_drive(unit *u, dma_bus *bus);
/* After settle: protocol rules, the address channel against the expected bursts, at most 16 in flight; errors for the right requester, waiting and bursts in flight. */
void dma_bus_sample(unit *u, dma_bus *bus);
/* The end: nothing may be in flight. */
void dma_bus_finish(unit *u, dma_bus *bus);
/* Expect the bursts of a job. */
void dma_bus_expect(unit *u, dma_bus *bus, const dma_job *job);
/* After a flush: forget what has not been presented; a burst whose valid is up now may still be taken. */
void dma_bus_flush(dma_bus *bus);

/* A job inside memory: any alignment, many near 4 KB lines. */
dma_job dma_draw_job(tb_rng *rng, uint32_t size_max);

#endif
