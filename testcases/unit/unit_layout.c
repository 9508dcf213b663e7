/* dut: layout */
/*
 * Tasks of several jobs. The bench plays ifm_ld (jobs), dma_rd (requests in any rhythm, data in the order of requests, zeros past the job's last byte) and ifm_buf
 * (words). Addresses of requests and words, the words themselves and the place of done_o are checked.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

#define N ((uint32_t)NPU_CFG_N)
#define PIXELS 64u
#define JOBS 8u /* in flight, more than the unit takes */

static const tb_knob knobs[] = {
    {"tasks", 1, 1000, TB_KNOB_UNIFORM, NULL, NULL, "tasks: scale, channel step and word stride stay"},
    {"jobs", 1, 100, TB_KNOB_UNIFORM, NULL, NULL, "most jobs of a task"},
    {"pixels", 1, PIXELS, TB_KNOB_SMALL, NULL, NULL, "fewest pixels of a job"},
    {"values", 0, 1, TB_KNOB_WEIGHTED, NULL, (const uint32_t[]){2, 1}, "0: values around the quantiser's range; 1: any float"},
    UNIT_STALL_KNOB("job", "percent of cycles without a job on offer"),
    UNIT_STALL_KNOB("req", "percent of cycles in which requests wait"),
    UNIT_STALL_KNOB("dat", "percent of cycles without data"),
    UNIT_STALL_KNOB("wr", "percent of cycles in which words wait"),
    UNIT_STALL_RUN_KNOB,
};

static void constrain(tb_knobs *k, uint64_t seed) {
    tb_knobs_draw_in(k, "tasks", seed, 4, 10);
    tb_knobs_draw_in(k, "jobs", seed, 2, 16);
}

typedef struct job {
    uint32_t addr, channels, count, waddr;
    uint32_t in[32 * PIXELS]; /* channel, pixel */
    int8_t out[PIXELS * 32];  /* pixel, channel */
} job;

typedef struct bench {
    tb_sig scale, cstep, stride, job_valid, job_ready, job_addr, job_nch, job_cnt, job_waddr, req_valid, req_ready, req_addr, req_bytes,
        dat_valid, dat_ready, dat, wr_valid, wr_ready, wr_addr, wr_data, done;
    job ring[JOBS];
    uint64_t offered, taken, finished; /* jobs: drawn, accepted by the unit, written out */
    uint64_t req_job, dat_job, total;
    uint32_t req_ch, dat_ch, dat_beat; /* next request; next beat of data */
    uint32_t out_pixel;
    uint32_t cfg_scale, cfg_cstep, cfg_stride;
    bool job_on, dat_on;
    unit_stall job_stall, req_stall, dat_stall, wr_stall;
    tb_rng rng;
} bench;

static void draw_values(const unit *u, bench *b, job *j) {
    const bool any = unit_knob(u, "values") == 1;
    tb_rng rng = tb_rng_fork(&b->rng, b->offered);
    for (uint32_t i = 0; i < j->channels * j->count; i++) {
        const float real = tb_rng_f32_range(&rng, -140.0f, 140.0f);
        uint32_t bits;
        memcpy(&bits, &real, 4);
        j->in[i] = any ? tb_rng_f32_hard(&rng) : bits;
    }
    cm_layout(N, j->channels, j->count, b->cfg_scale, j->in, j->out);
}

static void offer_job(const unit *u, bench *b) {
    job *j = &b->ring[b->offered % JOBS];
    j->addr = tb_rng_u32(&b->rng) & 0x0ffffffcu;
    j->channels = tb_rng_chance(&b->rng, 1, 2) ? N : (uint32_t)tb_rng_range(&b->rng, 1, N);
    j->count = (uint32_t)tb_rng_range(&b->rng, (uint64_t)unit_knob(u, "pixels"), PIXELS);
    j->waddr = tb_rng_u32(&b->rng) & 0x3fffu;
    draw_values(u, b, j);
    b->offered++;
    b->job_on = true;
    tb_set(b->job_addr, j->addr);
    tb_set(b->job_nch, j->channels);
    tb_set(b->job_cnt, j->count);
    tb_set(b->job_waddr, j->waddr);
}

/* Data may come for requests that were accepted before this cycle. */
static bool data_due(const bench *b) {
    return b->dat_job < b->req_job || (b->dat_job == b->req_job && b->dat_ch < b->req_ch);
}

static void drive_data(bench *b) {
    if (!b->dat_on && data_due(b) && unit_go(&b->dat_stall)) {
        const job *j = &b->ring[b->dat_job % JOBS];
        uint32_t beat[4] = {0};
        for (uint32_t i = 0; i < 4 && 4 * b->dat_beat + i < j->count; i++) {
            beat[i] = j->in[b->dat_ch * j->count + 4 * b->dat_beat + i];
        }
        unit_set_slice(b->dat, 0, beat, sizeof beat);
        b->dat_on = true;
    }
    tb_set(b->dat_valid, b->dat_on);
}

static void take_request(unit *u, bench *b) {
    const job *j = &b->ring[b->req_job % JOBS];
    if (b->req_job == b->taken) {
        unit_fail(u, "request", "cycle %" PRIu64 ": a request without a job", u->cycle);
        return;
    }
    unit_expect_value(u, "req_addr_o", tb_get(b->req_addr), j->addr + b->req_ch * b->cfg_cstep);
    unit_expect_value(u, "req_bytes_o", tb_get(b->req_bytes), 4 * j->count);
    if (++b->req_ch == j->channels) {
        b->req_ch = 0;
        b->req_job++;
    }
}

static void take_word(unit *u, bench *b) {
    int8_t got[32];
    const job *j = &b->ring[b->finished % JOBS];
    if (b->finished == b->dat_job) {
        unit_fail(u, "word", "cycle %" PRIu64 ": a word before its job's data is complete", u->cycle);
        return;
    }
    unit_expect_value(u, "wr_addr_o", tb_get(b->wr_addr), (j->waddr + b->out_pixel * b->cfg_stride) & 0x3fffu);
    unit_get_slice(b->wr_data, 0, got, N);
    unit_compare(u, got, &j->out[b->out_pixel * N], N, "job %" PRIu64 ", pixel %" PRIu32, b->finished, b->out_pixel);
    const bool last = ++b->out_pixel == j->count;
    unit_expect_value(u, "done_o", tb_get(b->done), last);
    if (last) {
        b->out_pixel = 0;
        b->finished++;
    }
}

static void sample(unit *u, bench *b, bool req_ready, bool wr_ready) {
    const bool word = wr_ready && tb_get(b->wr_valid);
    if (word) {
        take_word(u, b);
    } else {
        unit_expect_value(u, "done_o", tb_get(b->done), 0);
    }
    if (b->dat_on && tb_get(b->dat_ready)) {
        const job *j = &b->ring[b->dat_job % JOBS];
        b->dat_on = false;
        if (4 * ++b->dat_beat >= j->count) {
            b->dat_beat = 0;
            if (++b->dat_ch == j->channels) {
                b->dat_ch = 0;
                b->dat_job++;
            }
        }
    }
    if (req_ready && tb_get(b->req_valid)) {
        take_request(u, b);
    }
    if (b->job_on && tb_get(b->job_ready)) {
        b->job_on = false;
        b->taken++;
    }
}

/* New configuration, then jobs until all of them are written. */
static void run_task(unit *u, bench *b) {
    static const uint32_t steps[] = {16, 64, 4096, 0x12340};
    b->total = b->finished + tb_rng_range(&b->rng, 1, (uint64_t)unit_knob(u, "jobs"));
    const float real = tb_rng_f32_range(&b->rng, 0.25f, 4.0f);
    memcpy(&b->cfg_scale, &real, 4);
    if (tb_rng_chance(&b->rng, 1, 8)) {
        b->cfg_scale = tb_rng_f32_hard(&b->rng);
    }
    b->cfg_cstep = steps[tb_rng_range(&b->rng, 0, 3)];
    b->cfg_stride = (uint32_t)tb_rng_range(&b->rng, 1, 256);
    tb_set(b->scale, b->cfg_scale);
    tb_set(b->cstep, b->cfg_cstep);
    tb_set(b->stride, b->cfg_stride);
    while (unit_ok(u) && b->finished < b->total) {
        if (!b->job_on && b->offered < b->total && b->offered - b->finished < JOBS && unit_go(&b->job_stall)) {
            offer_job(u, b);
        }
        tb_set(b->job_valid, b->job_on);
        drive_data(b);
        const bool req_ready = unit_go(&b->req_stall);
        const bool wr_ready = unit_go(&b->wr_stall);
        tb_set(b->req_ready, req_ready);
        tb_set(b->wr_ready, wr_ready);
        unit_settle(u);
        sample(u, b, req_ready, wr_ready);
        unit_edge(u);
    }
}

static void find_ports(unit *u, bench *b) {
    const struct {
        tb_sig *sig;
        const char *name;
    } ports[] = {{&b->scale, "cfg_in_scale_i"},
                 {&b->cstep, "cfg_cstep_i"},
                 {&b->stride, "cfg_stride_i"},
                 {&b->job_valid, "job_valid_i"},
                 {&b->job_ready, "job_ready_o"},
                 {&b->job_addr, "job_addr_i"},
                 {&b->job_nch, "job_nch_i"},
                 {&b->job_cnt, "job_cnt_i"},
                 {&b->job_waddr, "job_waddr_i"},
                 {&b->req_valid, "req_valid_o"},
                 {&b->req_ready, "req_ready_i"},
                 {&b->req_addr, "req_addr_o"},
                 {&b->req_bytes, "req_bytes_o"},
                 {&b->dat_valid, "dat_valid_i"},
                 {&b->dat_ready, "dat_ready_o"},
                 {&b->dat, "dat_i"},
                 {&b->wr_valid, "wr_valid_o"},
                 {&b->wr_ready, "wr_ready_i"},
                 {&b->wr_addr, "wr_addr_o"},
                 {&b->wr_data, "wr_data_o"},
                 {&b->done, "done_o"}};
    for (size_t i = 0; i < sizeof ports / sizeof *ports; i++) {
        *ports[i].sig = unit_port(u, ports[i].name);
    }
}

static int run(unit *u) {
    bench *b = calloc(1, sizeof *b);
    if (!b || unit_expect_init(u, 1, "channel", N, true) != 0) {
        free(b);
        return -1;
    }
    find_ports(u, b);
    b->rng = unit_stream(u, "shape");
    b->job_stall = unit_stall_make(u, "job");
    b->req_stall = unit_stall_make(u, "req");
    b->dat_stall = unit_stall_make(u, "dat");
    b->wr_stall = unit_stall_make(u, "wr");
    unit_reset(u);
    for (int64_t t = unit_knob(u, "tasks"); t > 0 && unit_ok(u); t--) {
        run_task(u, b);
    }
    free(b);
    return 0;
}

const unit_bench unit_this_bench = {.name = "layout",
                                    .about = "FP32 channels to quantised words of N channels",
                                    .knobs = knobs,
                                    .nknobs = sizeof knobs / sizeof *knobs,
                                    .constrain = constrain,
                                    .run = run};
