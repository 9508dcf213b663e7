/*
 * dma_bench.h - shared by the benches of dma_rd and dma_wr: the AXI side, random jobs, flushes.
 */
#ifndef DMA_BENCH_H
#define DMA_BENCH_H

#include "bench.h"

#define DMA_BASE UINT32_C(0x10000000)
#define DMA_SIZE UINT32_C(0x00100000)
#define DMA_FAR UINT32_C(0xf0000000) /* of a memory that is written: up to 4 GiB */
#define DMA_OUTSTANDING 16u

extern const char *const dma_profile_names[6];
#define DMA_PROFILE_KNOB                                                                                               \
    { "bus", 0, 5, TB_KNOB_ENUM, dma_profile_names, NULL, "bus timing" }
#define DMA_SIZE_KNOB                                                                                                  \
    { "size", 1, 20000, TB_KNOB_SMALL, NULL, NULL, "largest job in bytes" }

typedef struct dma_job {
    uint32_t addr, bytes;
} dma_job;

typedef struct dma_bus {
    tb_sig flush, idle;
    uint32_t flush_left; /* cycles */
    tb_rng rng_flush;
} dma_bus;

/*
 * The bus of ports m_*, with memory in u->mem and the timing of knob `bus`; draws `errors` error responses among those
 * to `jobs` jobs. 0 or -1.
 */
int dma_bus_open(unit *u, dma_bus *bus, bool write);
/* First in a cycle: true when a flush begins here, with a probability of `rate` in 10000. Drives flush. */
bool dma_bus_flush(dma_bus *bus, uint32_t rate);
/* The edge. */
void dma_bus_edge(unit *u, dma_bus *bus);

/* A job inside memory: any alignment, many near 4 KB lines. */
dma_job dma_draw_job(tb_rng *rng, uint32_t size_max);

#endif
