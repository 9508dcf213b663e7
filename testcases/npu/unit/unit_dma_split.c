/* dut: dma_split */
/*
 * Random jobs of four requesters against the golden model's bursts. The bench models the requesters, the address
 * channel, the queue of burst descriptions and the responses of the bus; with flushes. Checked: the grant, every
 * description and the burst that follows it one cycle later, bursts in flight and their requesters, throughput (a burst
 * in every cycle in which one is possible), both idle flags, and the effect of a flush.
 */
#include <stdlib.h>

#include "bench.h"

#define REQS 4u
#define QUEUE 2u
#define OUTSTANDING 16u
#define BURSTS_MAX 4097u
#define JOB_MAX ((1u << 24) - 1)

static const tb_knob knobs[] = {
    {"jobs", 1, 100000, TB_KNOB_UNIFORM, NULL, NULL, "jobs accepted"},
    {"size", 1, JOB_MAX, TB_KNOB_SMALL, NULL, NULL, "largest job in bytes"},
    {"flush", 0, 100, TB_KNOB_SMALL, NULL, NULL, "flushes in 1000 cycles"},
    UNIT_STALL_KNOB("req", "percent of cycles in which an idle requester stays idle"),
    UNIT_STALL_KNOB("ax", "percent of cycles in which the address channel waits"),
    UNIT_STALL_KNOB("bst", "percent of cycles without space for a description"),
    UNIT_STALL_KNOB("done", "percent of cycles in which no burst completes"),
    UNIT_STALL_RUN_KNOB,
};

static void constrain(tb_knobs *k, uint64_t seed) {
    const int64_t size = tb_knobs_get(k, "size");
    tb_knobs_draw_in(k, "jobs", seed, 10, size > 100000 ? 40 : 400);
    tb_knobs_draw_in(k, "flush", seed, 0, 30);
}

typedef struct job {
    uint32_t addr, bytes, id;
} job;

#define PORTS                                                                                                          \
    clr_i, req_valid_i, req_ready_o, req_addr_i, req_bytes_i, ax_addr_o, ax_len_o, ax_valid_o, ax_ready_i, bst_push_o, \
        bst_ready_i, bst_id_o, bst_len_o, bst_first_o, bst_last_o, bst_off_o, bst_end_o, bst_tail_o, done_i,           \
        jobs_idle_o, bus_idle_o, done_id_o, flight_o
typedef struct bench {
    TB_PORTS(ports, PORTS);
    job offer[REQS];
    bool on[REQS];
    job queue[QUEUE];
    uint32_t head, queued;
    cm_dma_burst bursts[BURSTS_MAX]; /* of the job at the head */
    size_t count, next;
    cm_dma_burst shown; /* on the address channel */
    bool showing;
    uint32_t owner[OUTSTANDING]; /* of the bursts in flight, oldest first from owner[bursts_done % OUTSTANDING] */
    uint64_t bursts_done;
    uint32_t flight, taken; /* issued and not done; of these accepted on the address channel */
    uint32_t flush_left;
    bool clr_on, ax_go, bst_go, done_on;
    uint64_t accepted, bursts_out;
    unit_stall req_stall[REQS], ax_stall, bst_stall, done_stall;
    tb_rng rng;
} bench;

/* Any bytes; many jobs near 4 KB lines, some past the end of the address space, where the address wraps. */
static void draw_job(const unit *u, bench *b, uint32_t id) {
    job *j = &b->offer[id];
    j->id = id;
    const uint64_t size = (uint64_t)unit_knob(u, "size");
    j->bytes = (uint32_t)(tb_rng_chance(&b->rng, 1, 8) ? tb_rng_range(&b->rng, size / 2 + 1, size)
                                                       : tb_rng_small(&b->rng, 1, size));
    j->addr = tb_rng_u32(&b->rng);
    switch (tb_rng_range(&b->rng, 0, 7)) {
    case 0:
        j->addr &= ~UINT32_C(15);
        break;
    case 1: /* ends near a line */
        j->addr = (j->addr & ~UINT32_C(4095)) - j->bytes + (uint32_t)tb_rng_range(&b->rng, 0, 40) - 20;
        break;
    case 2: /* starts near a line */
        j->addr = (j->addr & ~UINT32_C(4095)) + (uint32_t)tb_rng_range(&b->rng, 0, 40) - 20;
        break;
    case 3: /* whole lines */
        j->addr &= ~UINT32_C(4095);
        j->bytes = j->bytes < 4096 || tb_rng_chance(&b->rng, 1, 2) ? j->bytes : j->bytes & ~UINT32_C(4095);
        break;
    case 4:
        j->addr |= UINT32_C(0xffffe000);
        break;
    default:
        break;
    }
}

static void drive(const unit *u, bench *b) {
    uint64_t valid = 0;
    if (b->flush_left == 0 && tb_rng_chance(&b->rng, (uint32_t)unit_knob(u, "flush"), 1000)) {
        b->flush_left = (uint32_t)tb_rng_range(&b->rng, 1, 20);
    }
    b->clr_on = b->flush_left > 0;
    b->flush_left -= b->clr_on;
    for (uint32_t i = 0; i < REQS; i++) {
        if (!b->on[i] && b->accepted < (uint64_t)unit_knob(u, "jobs") && unit_go(&b->req_stall[i])) {
            draw_job(u, b, i);
            b->on[i] = true;
        }
        tb_set_field(b->req_addr_i, 32 * i, 32, b->on[i] ? b->offer[i].addr : tb_rng_u32(&b->rng));
        tb_set_field(b->req_bytes_i, 24 * i, 24, b->on[i] ? b->offer[i].bytes : tb_rng_u32(&b->rng) >> 8);
        valid |= (uint64_t)b->on[i] << i;
    }
    b->ax_go = unit_go(&b->ax_stall);
    b->bst_go = unit_go(&b->bst_stall);
    b->done_on = b->taken > 0 && unit_go(&b->done_stall);
    tb_set(b->req_valid_i, valid);
    tb_set(b->clr_i, b->clr_on);
    tb_set(b->ax_ready_i, b->ax_go);
    tb_set(b->bst_ready_i, b->bst_go);
    tb_set(b->done_i, b->done_on);
}

static void check_description(unit *u, const bench *b) {
    const job *j = &b->queue[b->head];
    const cm_dma_burst *k = &b->bursts[b->next];
    unit_expect_value(u, "bst_id_o", tb_get(b->bst_id_o), j->id);
    unit_expect_value(u, "bst_len_o", tb_get(b->bst_len_o), k->beats - 1);
    unit_expect_value(u, "bst_first_o", tb_get(b->bst_first_o), b->next == 0);
    unit_expect_value(u, "bst_last_o", tb_get(b->bst_last_o), b->next + 1 == b->count);
    unit_expect_value(u, "bst_off_o", tb_get(b->bst_off_o), j->addr & 15u);
    unit_expect_value(u, "bst_end_o", tb_get(b->bst_end_o), (j->addr + j->bytes - 1) & 15u);
    unit_expect_value(u, "bst_tail_o", tb_get(b->bst_tail_o), j->bytes & 15u);
}

/* The requester with the lowest index, when there is space. */
static int expected_grant(const bench *b) {
    for (uint32_t i = 0; i < REQS; i++) {
        if (b->on[i]) {
            return b->clr_on || b->queued == QUEUE ? -1 : (int)i;
        }
    }
    return -1;
}

static void cut_head(bench *b) {
    if (b->queued > 0) {
        b->count = cm_dma_split(b->queue[b->head].addr, b->queue[b->head].bytes, b->bursts, BURSTS_MAX);
    }
    b->next = 0;
}

/* The edge: a burst moves to the address channel, a job into the queue. */
static void advance(bench *b, bool push, int grant) {
    const bool take = b->showing && b->ax_go;
    const bool was_empty = b->queued == 0;
    b->taken += take;
    b->taken -= b->done_on;
    b->flight -= b->done_on;
    b->bursts_done += b->done_on;
    b->showing = b->showing && !take;
    bool new_head = false;
    if (push) {
        b->shown = b->bursts[b->next++];
        b->showing = true;
        b->flight++;
        b->owner[b->bursts_out++ % OUTSTANDING] = b->queue[b->head].id;
        if (b->next == b->count) {
            b->head = (b->head + 1) % QUEUE;
            b->queued--;
            new_head = true;
        }
    }
    if (grant >= 0) {
        b->queue[(b->head + b->queued++) % QUEUE] = b->offer[grant];
        b->on[grant] = false;
        b->accepted++;
        new_head = new_head || was_empty;
    }
    if (b->clr_on) {
        b->queued = 0;
    }
    if (new_head) {
        cut_head(b);
    }
}

static void sample(unit *u, bench *b) {
    const int grant = expected_grant(b);
    unit_expect_value(u, "req_ready_o", tb_get(b->req_ready_o), grant < 0 ? 0 : UINT64_C(1) << grant);
    unit_expect_value(u, "ax_valid_o", tb_get(b->ax_valid_o), b->showing);
    if (b->showing) {
        unit_expect_value(u, "ax_addr_o", tb_get(b->ax_addr_o), b->shown.addr);
        unit_expect_value(u, "ax_len_o", tb_get(b->ax_len_o), b->shown.beats - 1);
    }
    unit_expect_value(u, "jobs_idle_o", tb_get(b->jobs_idle_o), b->queued == 0);
    unit_expect_value(u, "bus_idle_o", tb_get(b->bus_idle_o), b->flight == 0);
    unit_expect_value(u, "flight_o", tb_get(b->flight_o), b->flight);
    if (b->flight > 0) {
        unit_expect_value(u, "done_id_o", tb_get(b->done_id_o), b->owner[b->bursts_done % OUTSTANDING]);
    }
    const bool push = b->queued > 0 && !b->clr_on && (!b->showing || b->ax_go) && b->bst_go && b->flight < OUTSTANDING;
    unit_expect_value(u, "bst_push_o", tb_get(b->bst_push_o), push);
    if (push) {
        check_description(u, b);
    }
    advance(b, push, grant);
}

static bool busy(const unit *u, const bench *b) {
    bool any = b->accepted < (uint64_t)unit_knob(u, "jobs") || b->queued > 0 || b->flight > 0;
    for (uint32_t i = 0; i < REQS; i++) {
        any = any || b->on[i];
    }
    return any;
}

static int run(unit *u) {
    bench *b = (bench *)u->state;
    b->rng = unit_stream(u, "jobs");
    b->ax_stall = unit_stall_make(u, "ax");
    b->bst_stall = unit_stall_make(u, "bst");
    b->done_stall = unit_stall_make(u, "done");
    unit_stalls(u, "req", b->req_stall, REQS);
    unit_reset(u);
    for (uint32_t quiet = 0; quiet < 20 && unit_ok(u); quiet += !busy(u, b)) {
        drive(u, b);
        unit_settle(u);
        sample(u, b);
        unit_edge(u);
    }
    return 0;
}

UNIT_BENCH("dma_split", "arbitration, burst cutting and outstanding limit of a DMA channel", knobs,
           TB_STATE(bench, PORTS), .constrain = constrain);
