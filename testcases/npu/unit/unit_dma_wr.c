/* dut: dma_chan */
/*
 * Two requesters with jobs of any size and alignment and their data, a slave with random timing and errors, flushes in
 * between.
 */
#include <stdlib.h>

#include "dma_bench.h"

#define REQS 2u
#define BEATS 4096u /* of data that a requester holds */

static const tb_knob knobs[] = {
    {"jobs", 1, 3000, TB_KNOB_UNIFORM, NULL, NULL, "jobs"},
    DMA_SIZE_KNOB,
    DMA_PROFILE_KNOB,
    {"errors", 0, 6, TB_KNOB_SMALL, NULL, NULL, "bursts answered with an error"},
    {"flush", 0, 20, TB_KNOB_WEIGHTED, NULL,
     (const uint32_t[]){40, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, "flushes in 10000 cycles"},
    UNIT_STALL_KNOB("req", "percent of cycles in which a requester is silent"),
    UNIT_STALL_KNOB("dat", "percent of cycles without data"),
    UNIT_STALL_RUN_KNOB,
};

static void constrain(tb_knobs *k, uint64_t seed) {
    tb_knobs_draw_in(k, "jobs", seed, 60, 160);
}

typedef struct requester {
    bool want, dat_on;
    dma_job offer;
    uint8_t beat[BEATS][16];
    uint64_t in, out; /* beats drawn, taken */
    unit_stall req_stall, dat_stall;
} requester;

#define PORTS wr_req_valid_i, wr_req_ready_o, wr_req_addr_i, wr_req_bytes_i, wr_dat_valid_i, wr_dat_ready_o, wr_dat_i
typedef struct bench {
    TB_PORTS(ports, PORTS);
    dma_bus bus;
    requester req[REQS];
    bool open;     /* a job has been accepted, and the unit may not be done with it */
    uint64_t left; /* jobs to draw */
    tb_rng rng_job, rng_data;
} bench;

/* A new job and its data; the data may be valid before the job is accepted. */
static void draw_job(const unit *u, bench *b, requester *r) {
    r->offer = dma_draw_job(&b->rng_job, (uint32_t)unit_knob(u, "size"));
    if (tb_rng_chance(&b->rng_job, 1, 4)) { /* far away; most jobs write over each other */
        r->offer.addr += (uint32_t)tb_rng_range(&b->rng_job, 0, DMA_FAR / DMA_SIZE - 1) * DMA_SIZE;
    }
    for (uint32_t at = 0; at < r->offer.bytes; at += 16) {
        tb_rng_fill(&b->rng_data, r->beat[r->in++ % BEATS], 16);
    }
    r->want = true;
    b->left--;
}

static void drive(const unit *u, bench *b) {
    const bool flushing = b->bus.flush_left > 0;
    for (uint32_t i = 0; i < REQS; i++) {
        requester *r = &b->req[i];
        if (!r->want && b->left > 0 && !flushing && r->in - r->out < BEATS - 1300 && unit_go(&r->req_stall)) {
            draw_job(u, b, r);
        }
        if (!r->dat_on && r->out < r->in && !flushing) {
            r->dat_on = unit_go(&r->dat_stall);
        }
        tb_set_field(b->wr_req_valid_i, i, 1, r->want);
        tb_set_field(b->wr_req_addr_i, 32 * i, 32, r->offer.addr);
        tb_set_field(b->wr_req_bytes_i, 24 * i, 24, r->offer.bytes);
        tb_set_field(b->wr_dat_valid_i, i, 1, r->dat_on);
        unit_set_slice(b->wr_dat_i, 16 * i, r->beat[r->out % BEATS], 16);
    }
}

/* A flush drops all jobs that are not complete. */
static void drop(bench *b) {
    b->open = false;
    for (uint32_t i = 0; i < REQS; i++) {
        b->req[i].want = b->req[i].dat_on = false;
        b->req[i].out = b->req[i].in;
    }
}

static void cycle(unit *u, bench *b, uint32_t flush_rate) {
    if (dma_bus_flush(&b->bus, flush_rate)) {
        drop(b);
    }
    drive(u, b);
    unit_settle(u);
    const uint64_t accepted = tb_get(b->wr_req_valid_i) & tb_get(b->wr_req_ready_o),
                   taken = tb_get(b->wr_dat_valid_i) & tb_get(b->wr_dat_ready_o);
    for (uint32_t i = 0; i < REQS; i++) {
        requester *r = &b->req[i];
        r->out += taken >> i & 1u;
        r->dat_on = r->dat_on && (taken >> i & 1u) == 0;
        r->want = r->want && (accepted >> i & 1u) == 0;
    }
    b->open = b->open || accepted != 0;
    dma_bus_edge(u, &b->bus);
}

static bool busy(const bench *b) {
    bool any = b->left > 0 || (b->open && !tb_get(b->bus.idle));
    for (uint32_t i = 0; i < REQS; i++) {
        any = any || b->req[i].want || b->req[i].out < b->req[i].in;
    }
    return any;
}

static void setup(unit *u, bench *b) {
    for (uint32_t i = 0; i < REQS; i++) {
        b->req[i].req_stall = unit_stall_nth(u, "req", i);
        b->req[i].dat_stall = unit_stall_nth(u, "dat", i);
    }
    b->rng_job = unit_stream(u, "job");
    b->rng_data = unit_stream(u, "values");
    b->left = (uint64_t)unit_knob(u, "jobs");
}

static void play(unit *u, bench *b) {
    setup(u, b);
    unit_reset(u);
    while (unit_ok(u) && busy(b)) {
        cycle(u, b, (uint32_t)unit_knob(u, "flush"));
    }
    for (uint32_t quiet = 0; quiet < 4 && unit_ok(u);) { /* pulses come a cycle late */
        quiet += tb_get(b->bus.idle) != 0;
        cycle(u, b, 0);
    }
}

static int run(unit *u) {
    bench *b = (bench *)u->state;
    if (dma_bus_open(u, &b->bus, true) != 0) {
        return -1;
    }
    play(u, b);
    return 0;
}

UNIT_BENCH("dma_wr", "write side of an AXI channel", knobs, TB_STATE(bench, PORTS), .constrain = constrain);
