/* dut: fifo_bench */
/*
 * FIFOs of depth 2, 3, 5, 16 and 64. Each lane is checked in every cycle: flags and count against a queue in C, data
 * through the scoreboard. Full throughput is part of the interface: the flags must match the queue at each edge, so a
 * bubble is a failure.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "bench.h"

#define LANES 5u
#define DEPTH_MAX 64u

static const uint32_t depth_of[LANES] = {2, 3, 5, 16, 64};

static const tb_knob knobs[] = {
    {"words", 1, 100000, TB_KNOB_UNIFORM, NULL, NULL, "words written to each FIFO"},
    {"clear", 0, 100, TB_KNOB_SMALL, NULL, NULL, "clears in 1000 cycles"},
    {"lane", 0, LANES, TB_KNOB_WEIGHTED, NULL, (const uint32_t[]){0, 0, 0, 0, 0, 1}, "only this FIFO; 5: all"},
    UNIT_STALL_KNOB("wr", "percent of cycles in which the writer waits"),
    UNIT_STALL_KNOB("rd", "percent of cycles in which the reader waits"),
    UNIT_STALL_RUN_KNOB,
};

static void constrain(tb_knobs *k, uint64_t seed) {
    tb_knobs_draw_in(k, "words", seed, 2000, 4000);
}

typedef struct lane {
    uint32_t index;
    uint32_t queue[DEPTH_MAX];
    uint32_t head, count;
    unit_stall wr, rd;
    tb_rng data, clear;
    bool wvalid, rready, clr;
    uint32_t wdata;
    uint64_t left;
} lane;

#define PORTS clr_i, wvalid_i, wready_o, wdata_i, rvalid_o, rready_i, rdata_o, count_o
typedef struct bench {
    TB_PORTS(ports, PORTS);
} bench;

static void drive(lane *l, uint32_t clear_rate) {
    if (!l->wvalid && l->left > 0 && unit_go(&l->wr)) {
        l->wvalid = true;
        l->wdata = tb_rng_u32(&l->data);
    }
    l->rready = unit_go(&l->rd);
    l->clr = tb_rng_chance(&l->clear, clear_rate, 1000);
}

/* Checks flags, count and data of one lane before the edge, then updates the queue for the edge. */
static void sample(unit *u, lane *l, const bench *p) {
    const uint32_t i = l->index;
    const uint32_t depth = depth_of[i];
    const bool wready = (tb_get(p->wready_o) >> i) & 1u;
    const bool rvalid = (tb_get(p->rvalid_o) >> i) & 1u;
    const struct {
        const char *name;
        uint64_t got, expected;
    } flags[] = {{"wready_o", wready, l->count < depth},
                 {"rvalid_o", rvalid, l->count > 0},
                 {"count_o", tb_get_field(p->count_o, 8 * i, 8), l->count}};
    for (size_t f = 0; f < sizeof flags / sizeof *flags; f++) {
        if (flags[f].got != flags[f].expected) {
            unit_fail(u, flags[f].name,
                      "%s of depth %" PRIu32 ", cycle %" PRIu64 ": got %" PRIu64 ", expected %" PRIu64, flags[f].name,
                      depth, u->cycle, flags[f].got, flags[f].expected);
        }
    }
    if (!unit_ok(u)) {
        return;
    }
    const bool push = l->wvalid && wready;
    const bool pop = l->rready && rvalid;
    if (pop) {
        uint32_t got;
        unit_get_slice(p->rdata_o, 4u * i, &got, 4);
        unit_compare(u, &got, &l->queue[l->head], 1, "depth %" PRIu32, depth);
        l->head = (l->head + 1) % DEPTH_MAX;
        l->count--;
    }
    if (push) {
        l->queue[(l->head + l->count) % DEPTH_MAX] = l->wdata;
        l->count++;
        l->left--;
        l->wvalid = false;
    }
    if (l->clr) {
        l->count = 0;
    }
}

static void lane_init(const unit *u, lane *l, uint32_t index, uint64_t words) {
    const tb_rng data = unit_stream(u, "data");
    const tb_rng clear = unit_stream(u, "clear_at");
    *l = (lane){.index = index, .left = words};
    l->wr = unit_stall_nth(u, "wr", index);
    l->rd = unit_stall_nth(u, "rd", index);
    l->data = tb_rng_fork(&data, index);
    l->clear = tb_rng_fork(&clear, index);
}

static int run(unit *u) {
    const bench *p = (const bench *)u->state;
    const uint32_t only = (uint32_t)unit_knob(u, "lane");
    const uint32_t clear_rate = (uint32_t)unit_knob(u, "clear");
    lane lanes[LANES];
    if (unit_expect_init(u, 4, NULL, 0, false) != 0) {
        return -1;
    }
    for (uint32_t i = 0; i < LANES; i++) {
        lane_init(u, &lanes[i], i, only == LANES || only == i ? (uint64_t)unit_knob(u, "words") : 0);
    }
    unit_reset(u);
    for (bool busy = true; busy && unit_ok(u);) {
        uint64_t clr = 0, wvalid = 0, rready = 0;
        busy = false;
        for (uint32_t i = 0; i < LANES; i++) {
            drive(&lanes[i], clear_rate);
            clr |= (uint64_t)lanes[i].clr << i;
            wvalid |= (uint64_t)lanes[i].wvalid << i;
            rready |= (uint64_t)lanes[i].rready << i;
            unit_set_slice(p->wdata_i, 4u * i, &lanes[i].wdata, 4);
        }
        tb_set(p->clr_i, clr);
        tb_set(p->wvalid_i, wvalid);
        tb_set(p->rready_i, rready);
        unit_settle(u);
        for (uint32_t i = 0; i < LANES; i++) {
            sample(u, &lanes[i], p);
            busy = busy || lanes[i].left > 0 || lanes[i].count > 0;
        }
        unit_edge(u);
    }
    return 0;
}

UNIT_BENCH("npu_fifo", "FIFO at five depths against a queue", knobs, TB_STATE(bench, PORTS), .constrain = constrain);
