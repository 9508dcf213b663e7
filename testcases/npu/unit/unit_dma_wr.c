/* dut: dma_chan */
/*
 * Two requesters with jobs of any size and alignment and their data, a slave with random timing and errors, flushes in between. Bursts, every strobe and byte on W,
 * the memory at the end, error and event pulses, priority, idle, waiting and bursts in flight are checked.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "dma_bench.h"

#define REQS 2u
#define BEATS 4096u    /* of data that a requester holds */
#define BYTES 0x80000u /* accepted and not yet on W */
#define FUZZY 4096u    /* jobs whose memory is undefined after a flush or an error */

static const tb_knob knobs[] = {
    {"jobs", 1, 3000, TB_KNOB_UNIFORM, NULL, NULL, "jobs"},
    DMA_SIZE_KNOB,
    DMA_PROFILE_KNOB,
    {"errors", 0, 6, TB_KNOB_SMALL, NULL, NULL, "bursts answered with an error"},
    {"flush", 0, 20, TB_KNOB_WEIGHTED, NULL, (const uint32_t[]){40, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1},
     "flushes in 10000 cycles"},
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
    uint64_t offer_beat; /* number of the offered job's first beat */
    uint8_t beat[BEATS][16];
    uint64_t in, out; /* beats drawn, taken */
    unit_stall req_stall, dat_stall;
} requester;

typedef struct bench {
    dma_bus bus;
    tb_ddr ref; /* the memory as it must be */
    tb_sig flush, idle, req_valid, req_ready, req_addr, req_bytes, dat_valid, dat_ready, dat, err, ev_beat, ev_burst, ev_wait, idle_req;
    requester req[REQS];
    dma_job queue[DMA_QUEUE]; /* accepted, not complete */
    uint64_t in, done;        /* jobs accepted; complete (all responses) */
    uint8_t bytes[BYTES];     /* of accepted jobs, in order */
    uint64_t bytes_in, bytes_out;
    uint64_t w_job, w_burst, b_burst, dropped_bursts;
    uint32_t w_at;
    dma_job fuzzy[FUZZY];
    uint32_t fuzzies;
    uint64_t left, err_pulses, beat_pulses, burst_pulses;
    uint32_t flush_left;
    bool wait_due; /* ev_wait_data_o of this cycle */
    tb_rng rng_job, rng_data, rng_flush;
} bench;

/* A new job and its data; the data may be on offer before the job is accepted. */
static void draw_job(const unit *u, bench *b, uint32_t i) {
    requester *r = &b->req[i];
    r->offer = dma_draw_job(&b->rng_job, (uint32_t)unit_knob(u, "size"));
    if (tb_rng_chance(&b->rng_job, 1, 4)) { /* far away; most jobs write over each other */
        r->offer.addr += (uint32_t)tb_rng_range(&b->rng_job, 0, DMA_FAR / DMA_SIZE - 1) * DMA_SIZE;
    }
    r->offer.requester = i;
    r->offer_beat = r->in;
    for (uint32_t at = 0; at < r->offer.bytes; at += 16) {
        tb_rng_fill(&b->rng_data, r->beat[r->in++ % BEATS], 16);
    }
    r->want = true;
    b->left--;
}

static void drive(const unit *u, bench *b) {
    const bool flushing = b->flush_left > 0;
    for (uint32_t i = 0; i < REQS; i++) {
        requester *r = &b->req[i];
        if (!r->want && b->left > 0 && !flushing && r->in - r->out < BEATS - 1300 && unit_go(&r->req_stall)) {
            draw_job(u, b, i);
        }
        if (!r->dat_on && r->out < r->in && !flushing) {
            r->dat_on = unit_go(&r->dat_stall);
        }
        tb_set_field(b->req_valid, i, 1, r->want);
        tb_set_field(b->req_addr, 32 * i, 32, r->offer.addr);
        tb_set_field(b->req_bytes, 24 * i, 24, r->offer.bytes);
        tb_set_field(b->dat_valid, i, 1, r->dat_on);
        unit_set_slice(b->dat, 16 * i, r->beat[r->out % BEATS], 16);
    }
    tb_set(b->flush, flushing);
}

static void accept_job(unit *u, bench *b, requester *r) {
    dma_job *job = &b->queue[b->in++ % DMA_QUEUE];
    *job = r->offer;
    dma_bus_expect(u, &b->bus, job);
    job->end_burst = b->bus.burst_in;
    for (uint32_t at = 0; at < job->bytes; at++) {
        const uint8_t byte = r->beat[(r->offer_beat + at / 16) % BEATS][at % 16];
        b->bytes[b->bytes_in++ % BYTES] = byte;
        tb_ddr_write(&b->ref, job->addr + at, &byte, 1);
    }
    r->want = false;
}

static void sample_requesters(unit *u, bench *b) {
    const uint64_t valid = tb_get(b->req_valid);
    const uint64_t ready = tb_get(b->req_ready);
    const uint64_t taken = tb_get(b->dat_valid) & tb_get(b->dat_ready);
    const uint64_t lowest = valid & (~valid + 1);
    if ((ready & valid & ~lowest) != 0 || (b->flush_left > 0 && ((ready & valid) | taken) != 0)) {
        unit_fail(u, "req_ready_o", "cycle %" PRIu64 ": valid 0x%" PRIx64 " ready 0x%" PRIx64 ", expected ready for the lowest only%s",
                  u->cycle, valid, ready, b->flush_left > 0 ? ", and nothing taken during a flush" : "");
        return;
    }
    for (uint32_t i = 0; i < REQS; i++) {
        if ((taken >> i) & 1u) {
            b->req[i].out++;
            b->req[i].dat_on = false;
        }
        if (((valid & ready) >> i) & 1u) {
            accept_job(u, b, &b->req[i]);
        }
    }
}

/* One beat of W against the bytes of the job whose turn it is. */
static void check_w(unit *u, bench *b) {
    const tb_axi_port *p = &b->bus.port;
    uint8_t got[16] = {0}, expected[16] = {0};
    uint64_t strobes = 0;
    if (b->w_job == b->in) {
        unit_fail(u, "data", "cycle %" PRIu64 ": a data beat that no job needs", u->cycle);
        return;
    }
    const dma_job *job = &b->queue[b->w_job % DMA_QUEUE];
    for (uint32_t lane = (job->addr + b->w_at) % 16; lane < 16 && b->w_at < job->bytes; lane++, b->w_at++) {
        strobes |= UINT64_C(1) << lane;
        got[lane] = p->w_data[lane];
        expected[lane] = b->bytes[b->bytes_out++ % BYTES];
    }
    unit_expect_value(u, "wstrb", tb_get(p->w_strb), strobes);
    unit_compare(u, got, expected, 16, "job %" PRIu64 " (0x%08" PRIx32 ", %" PRIu32 " bytes), byte %" PRIu32, b->w_job, job->addr,
                 job->bytes, b->w_at);
    if (b->w_at == job->bytes) {
        b->w_at = 0;
        b->w_job++;
    }
}

static void note_fuzzy(bench *b, const dma_job *job) {
    if (b->fuzzies < FUZZY) {
        b->fuzzy[b->fuzzies++] = *job;
    }
}

static void sample_bus_data(unit *u, bench *b) {
    const tb_axi_port *p = &b->bus.port;
    if (*p->w_valid && *p->w_ready) {
        if (b->w_burst >= b->dropped_bursts) {
            check_w(u, b);
        }
        b->w_burst += *p->w_last;
    }
    if (*p->b_valid && *p->b_ready) {
        b->b_burst++;
        if (b->done < b->in && b->b_burst > b->dropped_bursts) {
            const dma_job *job = &b->queue[b->done % DMA_QUEUE];
            if (*p->b_resp >= TB_AXI_SLVERR) {
                note_fuzzy(b, job);
            }
            b->done += b->b_burst == job->end_burst;
        }
    }
}

/* A flush drops all jobs that are not complete; their memory is undefined. */
static void begin_flush(bench *b) {
    b->flush_left = (uint32_t)tb_rng_range(&b->rng_flush, 1, 40);
    for (; b->done < b->in; b->done++) {
        note_fuzzy(b, &b->queue[b->done % DMA_QUEUE]);
    }
    b->w_job = b->in;
    b->w_at = 0;
    b->bytes_out = b->bytes_in;
    for (uint32_t i = 0; i < REQS; i++) {
        b->req[i].want = b->req[i].dat_on = false;
        b->req[i].out = b->req[i].in;
    }
}

/* Whose jobs are under way, and a burst without data: a requester that is asked and has none. */
static void check_status(unit *u, bench *b) {
    const uint64_t ready = tb_get(b->dat_ready);
    for (uint32_t i = 0; i < REQS; i++) {
        unit_expect_value(u, "idle_req_o", (tb_get(b->idle_req) >> i) & 1u, b->bus.owed[i] == 0);
    }
    unit_expect_value(u, "ev_wait_data_o", tb_get(b->ev_wait), b->wait_due);
    b->wait_due = ready != 0 && (ready & tb_get(b->dat_valid)) == 0;
}

static void cycle(unit *u, bench *b, uint32_t flush_rate) {
    const bool flush_now = b->flush_left == 0 && tb_rng_chance(&b->rng_flush, flush_rate, 10000);
    if (flush_now) {
        begin_flush(b);
    }
    drive(u, b);
    dma_bus_drive(u, &b->bus);
    unit_settle(u);
    check_status(u, b);
    if (flush_now) {
        dma_bus_flush(&b->bus);
        b->dropped_bursts = b->bus.burst_in;
    }
    sample_requesters(u, b);
    sample_bus_data(u, b);
    dma_bus_sample(u, &b->bus);
    b->err_pulses += tb_get(b->err) != 0;
    b->beat_pulses += tb_get(b->ev_beat);
    b->burst_pulses += tb_get(b->ev_burst);
    unit_edge(u);
    b->flush_left -= b->flush_left > 0;
}

static bool busy(const bench *b) {
    bool any = b->left > 0 || b->done < b->in;
    for (uint32_t i = 0; i < REQS; i++) {
        any = any || b->req[i].want || b->req[i].out < b->req[i].in;
    }
    return any;
}

static void final_checks(unit *u, bench *b) {
    for (uint32_t i = 0; i < 100000 && unit_ok(u) && !tb_get(b->idle); i++) {
        cycle(u, b, 0);
    }
    for (uint32_t i = 0; i < 4 && unit_ok(u); i++) { /* pulses come a cycle late */
        cycle(u, b, 0);
    }
    const tb_axi_stats *st = &b->bus.mon.stats;
    unit_expect_value(u, "idle_o at the end", tb_get(b->idle), 1);
    unit_expect_value(u, "err_o pulses", b->err_pulses, st->error_resp[1]);
    unit_expect_value(u, "ev_beat_o pulses", b->beat_pulses, st->beats[TB_AXI_W]);
    unit_expect_value(u, "ev_burst_o pulses", b->burst_pulses, st->beats[TB_AXI_AW]);
    unit_expect_value(u, "bursts missing", b->bus.burst_in - b->bus.burst_out, 0);
    if (unit_ok(u)) {
        dma_bus_finish(u, &b->bus);
    }
    for (uint32_t i = 0; i < b->fuzzies; i++) {
        tb_ddr_copy_range(&b->ref, &b->bus.mem, b->fuzzy[i].addr, b->fuzzy[i].bytes);
    }
    tb_ddr_diff diff;
    if (unit_ok(u) && !tb_ddr_compare(&b->bus.mem, &b->ref, &diff)) {
        unit_fail(u, "memory", "cycle %" PRIu64 ", address 0x%08" PRIx64 ": got 0x%02x%s, expected 0x%02x%s (%" PRIu64 " bytes differ)",
                  u->cycle, diff.addr, diff.a, diff.a_written ? "" : " (never written)", diff.b, diff.b_written ? "" : " (never written)",
                  diff.count);
    }
}

static void setup(unit *u, bench *b) {
    const struct {
        tb_sig *sig;
        const char *name;
    } ports[] = {{&b->flush, "wr_flush_i"},
                 {&b->idle, "wr_idle_o"},
                 {&b->req_valid, "wr_req_valid_i"},
                 {&b->req_ready, "wr_req_ready_o"},
                 {&b->req_addr, "wr_req_addr_i"},
                 {&b->req_bytes, "wr_req_bytes_i"},
                 {&b->dat_valid, "wr_dat_valid_i"},
                 {&b->dat_ready, "wr_dat_ready_o"},
                 {&b->dat, "wr_dat_i"},
                 {&b->err, "wr_err_o"},
                 {&b->ev_beat, "wr_ev_beat_o"},
                 {&b->ev_burst, "wr_ev_burst_o"},
                 {&b->ev_wait, "wr_ev_wait_data_o"},
                 {&b->idle_req, "wr_idle_req_o"}};
    for (size_t i = 0; i < sizeof ports / sizeof *ports; i++) {
        *ports[i].sig = unit_port(u, ports[i].name);
    }
    for (uint32_t i = 0; i < REQS; i++) {
        b->req[i].req_stall = unit_stall_make(u, "req");
        b->req[i].dat_stall = unit_stall_make(u, "dat");
        b->req[i].req_stall.rng = tb_rng_fork(&b->req[i].req_stall.rng, i);
        b->req[i].dat_stall.rng = tb_rng_fork(&b->req[i].dat_stall.rng, i);
    }
    b->rng_job = unit_stream(u, "job");
    b->rng_data = unit_stream(u, "values");
    b->rng_flush = unit_stream(u, "flush_at");
    b->left = (uint64_t)unit_knob(u, "jobs");
    tb_rng rng = unit_stream(u, "errors_at");
    for (int64_t i = 0; i < unit_knob(u, "errors"); i++) {
        tb_axi_slave_inject(&b->bus.slave, 1, tb_rng_range(&rng, 0, b->left));
    }
}

static int run(unit *u) {
    bench *b = calloc(1, sizeof *b);
    if (!b || unit_expect_init(u, 1, "lane", 16, false) != 0 || dma_bus_open(u, &b->bus, true) != 0) {
        free(b);
        return -1;
    }
    if (tb_ddr_init(&b->ref, DMA_BASE, DMA_FAR, u->seed) != 0) {
        dma_bus_close(&b->bus);
        free(b);
        return -1;
    }
    setup(u, b);
    unit_reset(u);
    while (unit_ok(u) && busy(b)) {
        cycle(u, b, (uint32_t)unit_knob(u, "flush"));
    }
    if (unit_ok(u)) {
        final_checks(u, b);
    }
    tb_ddr_free(&b->ref);
    dma_bus_close(&b->bus);
    free(b);
    return 0;
}

const unit_bench unit_this_bench = {.name = "dma_wr",
                                    .about = "write side of an AXI channel",
                                    .knobs = knobs,
                                    .nknobs = sizeof knobs / sizeof *knobs,
                                    .constrain = constrain,
                                    .run = run};
