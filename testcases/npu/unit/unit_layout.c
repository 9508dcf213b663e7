/* dut: layout */
/*
 * Jobs of both kinds, mixed. The bench models ifm_ld (jobs), dma_rd (requests in any rhythm, data in the order of
 * requests, garbage past the last byte of a read) and ifm_buf. Each case ends with alternating jobs of N channels and
 * of one, during which no side stalls.
 */
#include <stdlib.h>
#include <string.h>

#include "bench.h"

#define N ((uint32_t)NPU_CFG_N)
#define PIXELS 64u
#define BLOCKS 40u /* of N channels, of an INT8 job */
#define JOBS 8u    /* in flight, more than the unit accepts */
#define WORDS_MAX (PIXELS * BLOCKS)
#define STEADY 24u /* jobs at full rate, even */

static const tb_knob knobs[] = {
    {"tasks", 1, 1000, TB_KNOB_UNIFORM, NULL, NULL, "tasks: kind, scale, channel step and word stride stay"},
    {"jobs", 1, 100, TB_KNOB_UNIFORM, NULL, NULL, "most jobs of a task"},
    {"pixels", 1, PIXELS, TB_KNOB_SMALL, NULL, NULL, "fewest pixels of a job"},
    {"int8", 0, 100, TB_KNOB_UNIFORM, NULL, NULL, "percent of tasks with INT8 input"},
    {"blocks", 1, BLOCKS, TB_KNOB_SMALL, NULL, NULL, "most blocks of channels of INT8 input"},
    {"values", 0, 1, TB_KNOB_WEIGHTED, NULL, (const uint32_t[]){2, 1},
     "0: values around the quantiser's range; 1: any float"},
    UNIT_INT16_KNOB,
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

/* Bytes in memory: `rows` reads of `row` bytes each, `step` apart from `addr` on. */
typedef struct job {
    bool int8, wide; /* int8: NHWC; wide: INT16 */
    uint32_t scale, quant, step, stride;
    uint32_t channels, count;
    uint32_t rows, row;
    uint8_t in[32 * 4 * PIXELS > WORDS_MAX * 32 ? 32 * 4 * PIXELS : WORDS_MAX * 32]; /* row after row */
} job;

#define PORTS                                                                                                          \
    cfg_in_scale_i, cfg_quant_i, cfg_cstep_i, cfg_stride_i, cfg_nhwc_i, cfg_wide_i, job_valid_i, job_ready_o,          \
        job_addr_i, job_nch_i, job_cnt_i, job_waddr_i, req_valid_o, req_ready_i, req_bytes_o, dat_valid_i,             \
        dat_ready_o, dat_i, wr_ready_i, done_o
typedef struct bench {
    TB_PORTS(ports, PORTS);
    job ring[JOBS];
    job task;                   /* kind, scale, step and stride of the task */
    uint64_t left;              /* jobs of the task that are not offered */
    int64_t tasks;              /* tasks not begun */
    uint64_t offered, finished; /* jobs: drawn, written out */
    uint64_t dat_job;
    uint32_t dat_row, dat_byte; /* next beat of data */
    uint64_t beats_asked, beats_given;
    bool job_on, dat_on;
    bool steady; /* alternating jobs of N channels and of one */
    unit_stall job_stall, req_stall, dat_stall, wr_stall;
    tb_rng rng, rng_wide;
} bench;

static void draw_fp32(const unit *u, bench *b, job *j) {
    const bool any = unit_knob(u, "values") == 1;
    uint32_t in[32 * PIXELS];
    tb_rng rng = tb_rng_fork(&b->rng, b->offered);
    for (uint32_t i = 0; i < j->channels * j->count; i++) {
        const float most = j->wide ? 36000.0f : 140.0f;
        const float real = tb_rng_f32_range(&rng, -most, most);
        uint32_t bits;
        memcpy(&bits, &real, 4);
        in[i] = any ? tb_rng_f32_hard(&rng) : bits;
    }
    memcpy(j->in, in, 4 * j->channels * j->count);
    j->rows = j->channels;
    j->row = 4 * j->count;
}

static void draw_int8(bench *b, job *j) {
    const uint32_t pixel = j->stride * N;
    tb_rng rng = tb_rng_fork(&b->rng, b->offered);
    tb_rng_fill(&rng, j->in, j->count * pixel);
    const bool dense = j->step == pixel;
    j->rows = dense ? 1 : j->count;
    j->row = dense ? j->count * pixel : pixel;
}

static void draw_task(const unit *u, bench *b) {
    static const uint32_t steps[] = {16, 64, 4096, 0x12340};
    job *t = &b->task;
    b->left = tb_rng_range(&b->rng, 1, (uint64_t)unit_knob(u, "jobs"));
    const float real = tb_rng_f32_range(&b->rng, 0.25f, 4.0f);
    memcpy(&t->scale, &real, 4);
    if (tb_rng_chance(&b->rng, 1, 8)) {
        t->scale = tb_rng_f32_hard(&b->rng);
    }
    t->quant = tb_rng_chance(&b->rng, 1, 2) ? 0 : tb_rng_u32(&b->rng) & 0x3ffu;
    t->int8 = tb_rng_chance(&b->rng, (uint32_t)unit_knob(u, "int8"), 100);
    t->wide = unit_int16(&b->rng_wide, (int)unit_knob(u, "int16"));
    t->quant = t->wide ? 0 : t->quant;
    t->step = steps[tb_rng_range(&b->rng, 0, 3)];
    t->stride = (uint32_t)tb_rng_range(&b->rng, 1, 256);
    if (t->int8) {
        const uint32_t gaps[] = {0, 0, N, (uint32_t)tb_rng_range(&b->rng, 1, 1000) * N};
        t->stride = (uint32_t)tb_rng_small(&b->rng, 1, (uint64_t)unit_knob(u, "blocks"));
        t->stride = !t->wide ? t->stride : t->stride == 1 ? 2 : t->stride & ~1u;
        t->step = t->stride * N + gaps[tb_rng_range(&b->rng, 0, 3)];
    }
}

static void offer_job(const unit *u, bench *b) {
    job *j = &b->ring[b->offered % JOBS];
    j->int8 = b->task.int8;
    j->wide = b->task.wide;
    j->scale = b->task.scale;
    j->quant = b->task.quant;
    j->step = b->task.step;
    j->stride = b->task.stride;
    tb_set(b->job_addr_i, tb_rng_u32(&b->rng) & 0x0ffffffcu);
    j->channels = tb_rng_chance(&b->rng, 1, 2) ? N : (uint32_t)tb_rng_range(&b->rng, 1, N);
    j->count = (uint32_t)tb_rng_range(&b->rng, (uint64_t)unit_knob(u, "pixels"), PIXELS);
    if (b->steady) {
        j->channels = b->left % 2 == 0 ? N : 1;
        j->count = PIXELS;
    }
    tb_set(b->job_waddr_i, tb_rng_u32(&b->rng) & 0x3fffu);
    if (j->int8) {
        draw_int8(b, j);
    } else {
        draw_fp32(u, b, j);
    }
    b->offered++;
    b->left--;
    b->job_on = true;
    tb_set(b->cfg_in_scale_i, j->scale);
    tb_set(b->cfg_quant_i, j->quant);
    tb_set(b->cfg_cstep_i, j->step);
    tb_set(b->cfg_stride_i, j->stride);
    tb_set(b->cfg_nhwc_i, j->int8);
    tb_set(b->cfg_wide_i, j->wide);
    tb_set(b->job_nch_i, j->channels);
    tb_set(b->job_cnt_i, j->count);
}

static void drive_job(const unit *u, bench *b) {
    if (b->job_on) {
        return;
    }
    if (b->left == 0 && b->tasks > 0) {
        b->tasks--;
        draw_task(u, b);
    }
    if (b->left > 0 && b->offered - b->finished < JOBS && unit_go(&b->job_stall)) {
        offer_job(u, b);
    } else { /* from here on all settings may change */
        tb_set(b->cfg_in_scale_i, tb_rng_u32(&b->rng));
        tb_set(b->cfg_quant_i, tb_rng_u32(&b->rng) & 0x3ffu);
        tb_set(b->cfg_cstep_i, tb_rng_u32(&b->rng));
        tb_set(b->cfg_stride_i, tb_rng_u32(&b->rng) & 0x3fffu);
        tb_set(b->cfg_nhwc_i, tb_rng_u32(&b->rng) & 1u);
        tb_set(b->cfg_wide_i, unit_int16(&b->rng_wide, (int)unit_knob(u, "int16")));
    }
    tb_set(b->job_valid_i, b->job_on);
}

/* Data may be sent for requests that were accepted before this cycle. */
static void drive_data(bench *b) {
    if (!b->dat_on && b->beats_given < b->beats_asked && unit_go(&b->dat_stall)) {
        const job *j = &b->ring[b->dat_job % JOBS];
        const uint32_t left = j->row - b->dat_byte;
        uint8_t beat[16];
        tb_rng_fill(&b->rng, beat, sizeof beat);
        memcpy(beat, &j->in[b->dat_row * j->row + b->dat_byte], left < 16 ? left : 16);
        unit_set_slice(b->dat_i, 0, beat, sizeof beat);
        b->dat_on = true;
    }
    tb_set(b->dat_valid_i, b->dat_on);
}

static void take_data(bench *b) {
    const job *j = &b->ring[b->dat_job % JOBS];
    b->dat_on = false;
    b->beats_given++;
    b->dat_byte += 16;
    if (b->dat_byte >= j->row) {
        b->dat_byte = 0;
        if (++b->dat_row == j->rows) {
            b->dat_row = 0;
            b->dat_job++;
        }
    }
}

static void sample(bench *b) {
    b->finished += tb_get(b->done_o) != 0;
    if (b->dat_on && tb_get(b->dat_ready_o)) {
        take_data(b);
    }
    if (tb_get(b->req_valid_o) && tb_get(b->req_ready_i)) {
        b->beats_asked += (tb_get(b->req_bytes_o) + 15) / 16;
    }
    b->job_on = b->job_on && tb_get(b->job_ready_o) == 0;
}

/* Until all jobs of all tasks are written. */
static void play(unit *u, bench *b) {
    while (unit_ok(u) && (b->tasks > 0 || b->left > 0 || b->finished < b->offered)) {
        drive_job(u, b);
        drive_data(b);
        tb_set(b->req_ready_i, unit_go(&b->req_stall));
        tb_set(b->wr_ready_i, unit_go(&b->wr_stall));
        unit_settle(u);
        sample(b);
        unit_edge(u);
    }
}

/* Fills and drains go on at the same time, whichever of the two takes longer in a job. */
static void play_steady(unit *u, bench *b) {
    b->job_stall = b->req_stall = b->dat_stall = b->wr_stall = (unit_stall){0};
    b->steady = true;
    b->task.int8 = false;
    b->left = STEADY;
    play(u, b);
}

static int run(unit *u) {
    bench *b = (bench *)u->state;
    b->rng = unit_stream(u, "shape");
    b->rng_wide = unit_stream(u, "int16");
    b->job_stall = unit_stall_make(u, "job");
    b->req_stall = unit_stall_make(u, "req");
    b->dat_stall = unit_stall_make(u, "dat");
    b->wr_stall = unit_stall_make(u, "wr");
    b->tasks = unit_knob(u, "tasks");
    unit_reset(u);
    play(u, b);
    play_steady(u, b);
    return 0;
}

UNIT_BENCH("layout", "FP32 channels and INT8 pixels to words of N channels", knobs, TB_STATE(bench, PORTS),
           .constrain = constrain);
