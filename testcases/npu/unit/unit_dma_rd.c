/* dut: dma_chan */
/*
 * Four requesters with jobs of any size and alignment, a slave with random timing and errors, flushes in between.
 */
#include <stdlib.h>
#include <string.h>

#include "dma_bench.h"

#define REQS 4u

static const tb_knob knobs[] = {
    {"jobs", 1, 100000, TB_KNOB_UNIFORM, NULL, NULL, "jobs"},
    DMA_SIZE_KNOB,
    DMA_PROFILE_KNOB,
    {"errors", 0, 6, TB_KNOB_SMALL, NULL, NULL, "bursts answered with an error"},
    {"flush", 0, 20, TB_KNOB_WEIGHTED, NULL,
     (const uint32_t[]){40, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, "flushes in 10000 cycles"},
    UNIT_STALL_KNOB("req", "percent of cycles in which a requester is silent"),
    UNIT_STALL_KNOB("dat", "percent of cycles in which data wait"),
    UNIT_STALL_RUN_KNOB,
};

static void constrain(tb_knobs *k, uint64_t seed) {
    tb_knobs_draw_in(k, "jobs", seed, 60, 160);
}

#define PORTS                                                                                                          \
    rd_req_valid_i, rd_req_ready_o, rd_req_addr_i, rd_req_bytes_i, rd_dat_valid_o, rd_dat_ready_i, rd_dat_last_o
typedef struct bench {
    TB_PORTS(ports, PORTS);
    dma_bus bus;
    uint64_t want; /* a bit for each requester with a valid job */
    dma_job offer[REQS];
    uint64_t left, open; /* jobs to draw; accepted whose data are not complete */
    unit_stall req_stall[REQS], dat_stall;
    tb_rng rng_job;
} bench;

static void drive(const unit *u, bench *b) {
    const bool flushing = b->bus.flush_left > 0;
    for (uint32_t i = 0; i < REQS; i++) {
        if ((b->want >> i & 1u) == 0 && b->left > 0 && !flushing && unit_go(&b->req_stall[i])) {
            b->offer[i] = dma_draw_job(&b->rng_job, (uint32_t)unit_knob(u, "size"));
            b->want |= UINT64_C(1) << i;
            b->left--;
        }
        tb_set_field(b->rd_req_addr_i, 32 * i, 32, b->offer[i].addr);
        tb_set_field(b->rd_req_bytes_i, 24 * i, 24, b->offer[i].bytes);
    }
    tb_set(b->rd_req_valid_i, b->want);
    tb_set(b->rd_dat_ready_i, unit_go(&b->dat_stall) && !flushing);
}

static void cycle(unit *u, bench *b) {
    if (dma_bus_flush(&b->bus, (uint32_t)unit_knob(u, "flush"))) { /* drops all jobs */
        b->open = b->want = 0;
    }
    drive(u, b);
    unit_settle(u);
    const uint64_t taken = b->want & tb_get(b->rd_req_ready_o);
    b->want &= ~taken;
    b->open += taken != 0;
    b->open -= tb_get(b->rd_dat_valid_o) && tb_get(b->rd_dat_ready_i) && tb_get(b->rd_dat_last_o);
    dma_bus_edge(u, &b->bus);
}

static void setup(unit *u, bench *b) {
    unit_stalls(u, "req", b->req_stall, REQS);
    b->dat_stall = unit_stall_make(u, "dat");
    b->rng_job = unit_stream(u, "job");
    b->left = (uint64_t)unit_knob(u, "jobs");
}

static void fill_memory(unit *u) {
    uint8_t page[4096];
    tb_rng rng = unit_stream(u, "memory");
    for (uint32_t at = 0; at < DMA_SIZE; at += sizeof page) {
        tb_rng_fill(&rng, page, sizeof page);
        tb_ddr_write(&u->mem, DMA_BASE + at, page, sizeof page);
    }
}

static void play(unit *u, bench *b) {
    setup(u, b);
    fill_memory(u);
    unit_reset(u);
    while (unit_ok(u) && (b->left > 0 || b->want != 0 || b->open > 0)) {
        cycle(u, b);
    }
    for (uint32_t quiet = 0; quiet < 4 && unit_ok(u);) { /* pulses come a cycle late */
        quiet += tb_get(b->bus.idle) != 0;
        cycle(u, b);
    }
}

static int run(unit *u) {
    bench *b = (bench *)u->state;
    if (dma_bus_open(u, &b->bus, false) != 0) {
        return -1;
    }
    play(u, b);
    return 0;
}

UNIT_BENCH("dma_rd", "read side of an AXI channel", knobs, TB_STATE(bench, PORTS), .constrain = constrain);
