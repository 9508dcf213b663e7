/* dut: axil_slave */
/*
 * The AXI4-Lite slave against the timing in its header: channels come in any order, as many accesses are under way as
 * it takes, and responses wait. The drivers of other benches and of the whole design have one access under way.
 */
#include "bench.h"

enum { AW, W, AR, REQUESTS };
enum { B, R, RESPONSES };

static const tb_knob knobs[] = {
    {"accesses", 1, 100000, TB_KNOB_UNIFORM, NULL, NULL, "writes, and as many reads"},
    UNIT_STALL_KNOB("request", "percent of cycles in which a request channel does not begin a transfer"),
    UNIT_STALL_KNOB("response", "percent of cycles in which a response is not taken"),
    UNIT_STALL_RUN_KNOB,
};

static void constrain(tb_knobs *k, uint64_t seed) {
    tb_knobs_draw_in(k, "accesses", seed, 500, 1000);
}

/* A request channel, its master and what the slave has taken of it. */
typedef struct request {
    bool valid, taken; /* taken, and without effect yet */
    uint64_t now, have;
    int64_t left; /* transfers that have not begun */
    unit_stall go;
} request;

#define PORTS                                                                                                          \
    awaddr_i, awvalid_i, awready_o, wdata_i, wstrb_i, wvalid_i, wready_o, bresp_o, bvalid_o, bready_i, araddr_i,       \
        arvalid_i, arready_o, rresp_o, rvalid_o, rready_i, wr_en_o, wr_addr_o, wr_data_o, wr_mask_o, rd_en_o,          \
        rd_addr_o, active_o
typedef struct bench {
    TB_PORTS(ports, PORTS);
    request request[REQUESTS];
    bool waits[RESPONSES], ready[RESPONSES]; /* a response is valid, is taken */
    unit_stall take[RESPONSES];
    tb_rng rng;
} bench;

static void drive(bench *b) {
    for (size_t i = 0; i < REQUESTS; i++) {
        request *q = &b->request[i];
        const bool go = unit_go(&q->go);
        if (!q->valid && q->left > 0 && go) {
            q->valid = true;
            q->now = tb_rng_u64(&b->rng);
            q->left--;
        }
    }
    for (size_t i = 0; i < RESPONSES; i++) {
        b->ready[i] = unit_go(&b->take[i]);
    }
    tb_set(b->awvalid_i, b->request[AW].valid);
    tb_set(b->awaddr_i, b->request[AW].now);
    tb_set(b->wvalid_i, b->request[W].valid);
    tb_set(b->wdata_i, b->request[W].now & UINT32_MAX);
    tb_set(b->wstrb_i, b->request[W].now >> 32 & 15u);
    tb_set(b->arvalid_i, b->request[AR].valid);
    tb_set(b->araddr_i, b->request[AR].now);
    tb_set(b->bready_i, b->ready[B]);
    tb_set(b->rready_i, b->ready[R]);
}

/* A word's address of a request as the slave gives it to the registers. */
static uint64_t word(tb_sig port, uint64_t addr) {
    return addr & ((UINT64_C(1) << port.width) - 1) & ~UINT64_C(3);
}

static uint64_t mask(uint64_t strobes) {
    uint64_t bits = 0;
    for (uint32_t i = 0; i < 4; i++) {
        bits |= (strobes >> i & 1u) * UINT64_C(0xff) << (8 * i);
    }
    return bits;
}

/* The outputs of this cycle, then what the slave has after its edge. */
static void sample(unit *u, bench *b) {
    request *q = b->request;
    const bool write = q[AW].taken && q[W].taken && (!b->waits[B] || b->ready[B]);
    const bool read = q[AR].taken && (!b->waits[R] || b->ready[R]);
    bool active = b->waits[B] || b->waits[R];
    for (size_t i = 0; i < REQUESTS; i++) {
        active = active || q[i].valid || q[i].taken;
    }
    unit_expect_value(u, "awready_o", tb_get(b->awready_o), !q[AW].taken);
    unit_expect_value(u, "wready_o", tb_get(b->wready_o), !q[W].taken);
    unit_expect_value(u, "arready_o", tb_get(b->arready_o), !q[AR].taken);
    unit_expect_value(u, "bvalid_o", tb_get(b->bvalid_o), b->waits[B]);
    unit_expect_value(u, "rvalid_o", tb_get(b->rvalid_o), b->waits[R]);
    unit_expect_value(u, "bresp_o", tb_get(b->bresp_o), 0);
    unit_expect_value(u, "rresp_o", tb_get(b->rresp_o), 0);
    unit_expect_value(u, "wr_en_o", tb_get(b->wr_en_o), write);
    unit_expect_value(u, "rd_en_o", tb_get(b->rd_en_o), read);
    unit_expect_value(u, "active_o", tb_get(b->active_o), active);
    if (write) {
        unit_expect_value(u, "wr_addr_o", tb_get(b->wr_addr_o), word(b->wr_addr_o, q[AW].have));
        unit_expect_value(u, "wr_data_o", tb_get(b->wr_data_o), q[W].have & UINT32_MAX);
        unit_expect_value(u, "wr_mask_o", tb_get(b->wr_mask_o), mask(q[W].have >> 32));
    }
    if (read) {
        unit_expect_value(u, "rd_addr_o", tb_get(b->rd_addr_o), word(b->rd_addr_o, q[AR].have));
    }
    for (size_t i = 0; i < REQUESTS; i++) {
        const bool gone = i == AR ? read : write, takes = q[i].valid && !q[i].taken;
        q[i].have = takes ? q[i].now : q[i].have;
        q[i].valid = q[i].valid && !takes;
        q[i].taken = takes || (q[i].taken && !gone);
    }
    b->waits[B] = write || (b->waits[B] && !b->ready[B]);
    b->waits[R] = read || (b->waits[R] && !b->ready[R]);
}

static bool busy(const bench *b) {
    bool any = b->waits[B] || b->waits[R];
    for (size_t i = 0; i < REQUESTS; i++) {
        any = any || b->request[i].left > 0 || b->request[i].valid || b->request[i].taken;
    }
    return any;
}

static int run(unit *u) {
    bench *b = (bench *)u->state;
    b->rng = unit_stream(u, "access");
    for (uint32_t i = 0; i < REQUESTS; i++) {
        b->request[i].go = unit_stall_nth(u, "request", i);
        b->request[i].left = unit_knob(u, "accesses");
    }
    unit_stalls(u, "response", b->take, RESPONSES);
    unit_reset(u);
    for (uint32_t idle = 0; idle < 2 && unit_ok(u); idle += !busy(b)) { /* it is not active at the end */
        drive(b);
        unit_settle(u);
        sample(u, b);
        unit_edge(u);
    }
    return 0;
}

UNIT_BENCH("axil_slave", "AXI4-Lite slave with several accesses under way", knobs, TB_STATE(bench, PORTS),
           .constrain = constrain);
