/* dut: arb_bench */
/*
 * Arbiters of 1, 2, 4 and 7 requesters: every request pattern, then random requesters that hold their request until
 * they are granted.
 */
#include <inttypes.h>
#include <stdio.h>

#include "bench.h"

#define SIZES 4u
#define REQS 7u

static const uint32_t size_of[SIZES] = {1, 2, 4, 7};
static const char *const port_of[SIZES] = {"gnt1_o", "gnt2_o", "gnt4_o", "gnt7_o"};

static const tb_knob knobs[] = {
    {"cycles", 0, 1000000, TB_KNOB_UNIFORM, NULL, NULL, "random cycles after all patterns"},
    UNIT_STALL_KNOB("req", "percent of cycles in which a requester is silent"),
    UNIT_STALL_RUN_KNOB,
};

static void constrain(tb_knobs *k, uint64_t seed) {
    tb_knobs_draw_in(k, "cycles", seed, 2000, 4000);
}

/* The lowest requester wins. */
static uint64_t model(uint64_t req, uint32_t size) {
    for (uint32_t i = 0; i < size; i++) {
        if ((req >> i) & 1u) {
            return UINT64_C(1) << i;
        }
    }
    return 0;
}

static void step(unit *u, tb_sig req_port, const tb_sig *gnt_port, uint64_t req) {
    tb_set(req_port, req);
    unit_settle(u);
    for (size_t s = 0; s < SIZES; s++) {
        unit_expect_value(u, port_of[s], tb_get(gnt_port[s]), model(req, size_of[s]));
    }
    unit_edge(u);
}

static int run(unit *u) {
    const tb_sig req_port = unit_port(u, "req_i");
    tb_sig gnt_port[SIZES];
    unit_stall stall[REQS];
    uint64_t req = 0;
    for (size_t s = 0; s < SIZES; s++) {
        gnt_port[s] = unit_port(u, port_of[s]);
    }
    unit_stalls(u, "req", stall, REQS);
    unit_reset(u);
    for (uint64_t pattern = 0; pattern < (1u << REQS) && unit_ok(u); pattern++) {
        step(u, req_port, gnt_port, pattern);
    }
    for (int64_t c = unit_knob(u, "cycles"); c > 0 && unit_ok(u); c--) {
        for (uint32_t i = 0; i < REQS; i++) {
            req |= (uint64_t)unit_go(&stall[i]) << i;
        }
        step(u, req_port, gnt_port, req);
        req &= ~model(req, REQS);
    }
    return 0;
}

UNIT_BENCH("npu_arb", "fixed-priority arbiter", knobs, .constrain = constrain);
