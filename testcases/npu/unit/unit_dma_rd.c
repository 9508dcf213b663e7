/* dut: dma_chan */
/*
 * Four requesters with jobs of any size and alignment, a slave with random timing and errors, flushes in between. Bursts, data, requester, last flag, error and
 * event pulses, waiting, bursts in flight, priority and idle are checked.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "dma_bench.h"

#define REQS 4u
#define BYTES 65536u /* more than the unit holds */

static const tb_knob knobs[] = {
    {"jobs", 1, 100000, TB_KNOB_UNIFORM, NULL, NULL, "jobs"},
    DMA_SIZE_KNOB,
    DMA_PROFILE_KNOB,
    {"errors", 0, 6, TB_KNOB_SMALL, NULL, NULL, "bursts answered with an error"},
    {"flush", 0, 20, TB_KNOB_WEIGHTED, NULL, (const uint32_t[]){40, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1},
     "flushes in 10000 cycles"},
    UNIT_STALL_KNOB("req", "percent of cycles in which a requester is silent"),
    UNIT_STALL_KNOB("dat", "percent of cycles in which data wait"),
    UNIT_STALL_RUN_KNOB,
};

static void constrain(tb_knobs *k, uint64_t seed) {
    tb_knobs_draw_in(k, "jobs", seed, 60, 160);
}

typedef struct bench {
    dma_bus bus;
    tb_sig flush, idle, req_valid, req_ready, req_addr, req_bytes, dat_valid, dat_ready, dat_id, dat, dat_last, err, ev_beat, ev_burst,
        ev_wait;
    bool want[REQS]; /* a job is on offer */
    dma_job offer[REQS];
    dma_job queue[DMA_QUEUE]; /* accepted, data not complete */
    uint64_t in, out;
    uint32_t beat; /* of the job at the head */
    /* bytes of jobs as the bus delivered them (an error answers with anything), in order */
    uint8_t bytes[BYTES];
    uint64_t bytes_in, bytes_out;
    uint64_t r_job, r_burst; /* job and burst to which the next beat on R belongs */
    uint32_t r_at;           /* bytes of r_job delivered */
    uint64_t dropped_bursts; /* bursts before this one belong to flushed jobs */
    uint64_t left, err_pulses, beat_pulses, burst_pulses;
    uint32_t flush_left, idle_due;
    bool wait_due; /* ev_wait_user_o of this cycle */
    unit_stall req_stall[REQS], dat_stall;
    tb_rng rng_job, rng_flush;
} bench;

static void drive(const unit *u, bench *b) {
    uint64_t valid = 0;
    for (uint32_t i = 0; i < REQS; i++) {
        if (!b->want[i] && b->left > 0 && b->flush_left == 0 && unit_go(&b->req_stall[i])) {
            b->offer[i] = dma_draw_job(&b->rng_job, (uint32_t)unit_knob(u, "size"));
            b->offer[i].requester = i;
            b->want[i] = true;
            b->left--;
        }
        valid |= (uint64_t)b->want[i] << i;
        tb_set_field(b->req_addr, 32 * i, 32, b->offer[i].addr);
        tb_set_field(b->req_bytes, 24 * i, 24, b->offer[i].bytes);
    }
    tb_set(b->req_valid, valid);
    tb_set(b->flush, b->flush_left > 0);
}

static void sample_request(unit *u, bench *b) {
    const uint64_t valid = tb_get(b->req_valid);
    const uint64_t ready = tb_get(b->req_ready);
    const uint64_t lowest = valid & (~valid + 1);
    if ((ready & valid & ~lowest) != 0 || (b->flush_left > 0 && (ready & valid) != 0)) {
        unit_fail(u, "req_ready_o", "cycle %" PRIu64 ": valid 0x%" PRIx64 " ready 0x%" PRIx64 ", expected ready for the lowest only%s",
                  u->cycle, valid, ready, b->flush_left > 0 ? ", and not during a flush" : "");
        return;
    }
    for (uint32_t i = 0; i < REQS; i++) {
        if ((valid & ready) >> i & 1u) {
            b->queue[b->in++ % DMA_QUEUE] = b->offer[i];
            dma_bus_expect(u, &b->bus, &b->offer[i]);
            b->want[i] = false;
        }
    }
}

static void take_beat(unit *u, bench *b) {
    uint8_t got[16], expected[16] = {0};
    if (b->out == b->in) {
        unit_fail(u, "data", "cycle %" PRIu64 ": data that no job asked for", u->cycle);
        return;
    }
    const dma_job *job = &b->queue[b->out % DMA_QUEUE];
    const uint32_t at = 16 * b->beat;
    const uint32_t bytes = job->bytes - at < 16 ? job->bytes - at : 16;
    if (b->bytes_in - b->bytes_out < bytes) {
        unit_fail(u, "data", "job %" PRIu64 ", cycle %" PRIu64 ": data before the bus delivered them", b->out, u->cycle);
        return;
    }
    for (uint32_t i = 0; i < bytes; i++) {
        expected[i] = b->bytes[b->bytes_out++ % BYTES];
    }
    unit_get_slice(b->dat, 0, got, 16);
    unit_compare(u, got, expected, 16, "job %" PRIu64 " (0x%08" PRIx32 ", %" PRIu32 " bytes), beat %" PRIu32, b->out, job->addr, job->bytes,
                 b->beat);
    unit_expect_value(u, "dat_id_o", tb_get(b->dat_id), job->requester);
    const bool last = at + 16 >= job->bytes;
    unit_expect_value(u, "dat_last_o", tb_get(b->dat_last), last);
    b->beat = last ? 0 : b->beat + 1;
    b->out += last;
}

/* A beat on R: its bytes that belong to the job whose turn it is. */
static void sample_bus_data(bench *b) {
    const tb_axi_port *p = &b->bus.port;
    if (!(*p->r_valid && *p->r_ready)) {
        return;
    }
    if (b->r_burst >= b->dropped_bursts && b->r_job < b->in) {
        const dma_job *job = &b->queue[b->r_job % DMA_QUEUE];
        for (uint32_t lane = (job->addr + b->r_at) % 16; lane < 16 && b->r_at < job->bytes; lane++, b->r_at++) {
            b->bytes[b->bytes_in++ % BYTES] = p->r_data[lane];
        }
        if (b->r_at == job->bytes) {
            b->r_at = 0;
            b->r_job++;
        }
    }
    b->r_burst += *p->r_last;
}

/* A flush drops all jobs; what the bus has already shown stays. */
static void begin_flush(bench *b) {
    b->flush_left = (uint32_t)tb_rng_range(&b->rng_flush, 1, 40);
    b->out = b->in;
    b->beat = 0;
    b->r_job = b->in;
    b->r_at = 0;
    b->bytes_out = b->bytes_in;
    memset(b->want, 0, sizeof b->want);
}

static void count_pulses(bench *b) {
    b->err_pulses += tb_get(b->err) != 0;
    b->beat_pulses += tb_get(b->ev_beat);
    b->burst_pulses += tb_get(b->ev_burst);
}

static void cycle(unit *u, bench *b) {
    const bool flush_now = b->flush_left == 0 && tb_rng_chance(&b->rng_flush, (uint32_t)unit_knob(u, "flush"), 10000);
    if (flush_now) {
        begin_flush(b);
    }
    drive(u, b);
    const bool dat_ready = unit_go(&b->dat_stall) && b->flush_left == 0;
    tb_set(b->dat_ready, dat_ready);
    dma_bus_drive(u, &b->bus);
    unit_settle(u);
    if (flush_now) {
        dma_bus_flush(&b->bus);
        b->dropped_bursts = b->bus.burst_in;
    }
    sample_request(u, b);
    if (dat_ready && tb_get(b->dat_valid)) {
        take_beat(u, b);
    }
    if (b->out != b->in && tb_get(b->idle) && b->flush_left == 0) {
        /* a job accepted in this very cycle shows in idle_o from the next on */
        b->idle_due++;
        if (b->idle_due > 1) {
            unit_fail(u, "idle_o", "cycle %" PRIu64 ": idle with %" PRIu64 " jobs under way", u->cycle, b->in - b->out);
        }
    } else {
        b->idle_due = 0;
    }
    unit_expect_value(u, "ev_wait_user_o", tb_get(b->ev_wait), b->wait_due);
    b->wait_due = tb_get(b->dat_valid) && !dat_ready;
    sample_bus_data(b);
    dma_bus_sample(u, &b->bus);
    count_pulses(b);
    unit_edge(u);
    b->flush_left -= b->flush_left > 0;
}

static void final_checks(unit *u, bench *b) {
    for (uint32_t i = 0; i < 100000 && unit_ok(u) && !tb_get(b->idle); i++) {
        cycle(u, b);
    }
    for (uint32_t i = 0; i < 4 && unit_ok(u); i++) { /* pulses come a cycle late */
        cycle(u, b);
    }
    const tb_axi_stats *st = &b->bus.mon.stats;
    unit_expect_value(u, "idle_o at the end", tb_get(b->idle), 1);
    unit_expect_value(u, "err_o pulses", b->err_pulses, st->error_resp[0]);
    unit_expect_value(u, "ev_beat_o pulses", b->beat_pulses, st->beats[TB_AXI_R]);
    unit_expect_value(u, "ev_burst_o pulses", b->burst_pulses, st->beats[TB_AXI_AR]);
    unit_expect_value(u, "bursts missing", b->bus.burst_in - b->bus.burst_out, 0);
    if (unit_ok(u)) {
        dma_bus_finish(u, &b->bus);
    }
}

static void setup(unit *u, bench *b) {
    const struct {
        tb_sig *sig;
        const char *name;
    } ports[] = {{&b->flush, "rd_flush_i"},         {&b->idle, "rd_idle_o"},
                 {&b->req_valid, "rd_req_valid_i"}, {&b->req_ready, "rd_req_ready_o"},
                 {&b->req_addr, "rd_req_addr_i"},   {&b->req_bytes, "rd_req_bytes_i"},
                 {&b->dat_valid, "rd_dat_valid_o"}, {&b->dat_ready, "rd_dat_ready_i"},
                 {&b->dat_id, "rd_dat_id_o"},       {&b->dat, "rd_dat_o"},
                 {&b->dat_last, "rd_dat_last_o"},   {&b->err, "rd_err_o"},
                 {&b->ev_beat, "rd_ev_beat_o"},     {&b->ev_burst, "rd_ev_burst_o"},
                 {&b->ev_wait, "rd_ev_wait_user_o"}};
    for (size_t i = 0; i < sizeof ports / sizeof *ports; i++) {
        *ports[i].sig = unit_port(u, ports[i].name);
    }
    for (uint32_t i = 0; i < REQS; i++) {
        b->req_stall[i] = unit_stall_make(u, "req");
        b->req_stall[i].rng = tb_rng_fork(&b->req_stall[i].rng, i);
    }
    b->dat_stall = unit_stall_make(u, "dat");
    b->rng_job = unit_stream(u, "job");
    b->rng_flush = unit_stream(u, "flush_at");
    b->left = (uint64_t)unit_knob(u, "jobs");
    tb_rng rng = unit_stream(u, "errors_at");
    for (int64_t i = 0; i < unit_knob(u, "errors"); i++) {
        tb_axi_slave_inject(&b->bus.slave, 0, tb_rng_range(&rng, 0, b->left));
    }
}

static void fill_memory(const unit *u, bench *b) {
    uint8_t page[4096];
    tb_rng rng = unit_stream(u, "memory");
    for (uint32_t at = 0; at < DMA_SIZE; at += sizeof page) {
        tb_rng_fill(&rng, page, sizeof page);
        tb_ddr_write(&b->bus.mem, DMA_BASE + at, page, sizeof page);
    }
}

static bool wanting(const bench *b) {
    return b->left > 0 || b->want[0] || b->want[1] || b->want[2] || b->want[3] || b->out != b->in;
}

static int run(unit *u) {
    bench *b = calloc(1, sizeof *b);
    if (!b || unit_expect_init(u, 1, "byte", 16, false) != 0 || dma_bus_open(u, &b->bus, false) != 0) {
        free(b);
        return -1;
    }
    setup(u, b);
    fill_memory(u, b);
    unit_reset(u);
    while (unit_ok(u) && wanting(b)) {
        cycle(u, b);
    }
    if (unit_ok(u)) {
        final_checks(u, b);
    }
    dma_bus_close(&b->bus);
    free(b);
    return 0;
}

const unit_bench unit_this_bench = {.name = "dma_rd",
                                    .about = "read side of an AXI channel",
                                    .knobs = knobs,
                                    .nknobs = sizeof knobs / sizeof *knobs,
                                    .constrain = constrain,
                                    .run = run};
