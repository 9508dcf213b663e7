/* dut: requant_bench */
/*
 * The requantisers of both channels on runs of blocks. The bench plays post: it announces blocks, then feeds their results in passes, never more passes at once than
 * the gather buffer has slots. Checked: every write job, every byte of data, when the unit is idle, and without stalls the pace.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "nhwc.h"

#define N ((uint32_t)NPU_CFG_N)
#define COLS (N >= 16 ? 4u : N / 4)
#define SLOTS (N >= 16 ? 8u : 16u)
#define WORDS (N / 4) /* of a pass */
#define RING 32u      /* blocks between the announcement and their last byte */

static const tb_knob knobs[] = {
    {"runs", 1, 1000, TB_KNOB_UNIFORM, NULL, NULL, "runs (tasks)"},
    {"blocks", 1, 500, TB_KNOB_SMALL, NULL, NULL, "most blocks of a run"},
    {"values", 0, 1, TB_KNOB_UNIFORM, NULL, NULL, "1: results and scales are any floats"},
    {"ragged", 0, 100, TB_KNOB_SMALL, NULL, NULL, "percent of blocks with missing pixels or channels"},
    {"ahead", 1, 8, TB_KNOB_SMALL, NULL, NULL, "blocks that may be announced before their results come"},
    UNIT_STALL_KNOB("blk", "percent of cycles without a block on offer"),
    UNIT_STALL_KNOB("in", "percent of cycles without a word of results"),
    UNIT_STALL_KNOB("req", "percent of cycles in which write jobs wait"),
    UNIT_STALL_KNOB("wr", "percent of cycles in which data wait"),
    UNIT_STALL_RUN_KNOB,
};

static void constrain(tb_knobs *k, uint64_t seed) {
    tb_knobs_draw_in(k, "runs", seed, 3, 16);
    tb_knobs_draw_in(k, "blocks", seed, 1, 8 + 256 / N);
    if (seed % 4 == 0) { /* nobody hesitates: the pace is checked */
        static const char *const stalls[] = {"stall_blk", "stall_in", "stall_req", "stall_wr"};
        for (size_t i = 0; i < sizeof stalls / sizeof *stalls; i++) {
            tb_knobs_draw_in(k, stalls[i], seed, 0, 0);
        }
    }
}

typedef struct block {
    uint32_t addr, npix, nch;
    bool last;
    uint32_t *y; /* [N channels][N pixels of the block] */
    nhwc_block plan;
} block;

typedef struct chan {
    block ring[RING];
    uint64_t made, told, fed;  /* blocks made, announced, of which all results went in */
    uint64_t job_blk, dat_blk; /* blocks of the next job and of the next beat */
    uint32_t job, beat;        /* in it */
    uint32_t left;             /* blocks of the run still to be made */
    uint32_t pass, word;       /* next word of results: first channel, word */
    uint32_t used;             /* passes in the unit */
    bool blk_on, in_on;
    unit_stall blk_stall, in_stall, req_stall, wr_stall;
} chan;

typedef struct bench {
    tb_sig out_scale, pitch_i, single_i, blk_valid, blk_ready, blk_addr, blk_npix, blk_nch, blk_last, in_valid, in_data, pop, idle,
        req_valid, req_ready, req_addr, req_bytes, wr_valid, wr_ready, wr_data;
    cm_gemm_task t;       /* out_scale */
    uint32_t pitch, step; /* channels of a pass */
    chan ch[2];
    tb_rng rng, rng_data;
} bench;

/* ---- blocks ---- */

/* Results around the clamps and halves of INT8, or any float. */
static uint32_t draw_result(const unit *u, bench *b) {
    const float real = tb_rng_f32_range(&b->rng_data, -150.0f, 150.0f);
    const uint32_t hard = tb_rng_f32_hard(&b->rng_data);
    const uint32_t half = cm_fp_mul(cm_fp_i32_to_f32((int32_t)(hard >> 24) - 128), 0x3f000000u);
    uint32_t bits;
    memcpy(&bits, &real, 4);
    return unit_knob(u, "values") ? hard : (hard & 7u) == 0 ? half : bits;
}

/* Position in the tile of pixel i of a channel's block. */
static uint32_t tile_pixel(uint32_t c, uint32_t i) {
    return 8 * (i / 4) + 4 * c + i % 4;
}

static void make_block(const unit *u, bench *b, uint32_t c) {
    chan *h = &b->ch[c];
    block *k = &h->ring[h->made++ % RING];
    int8_t value[64 * 32] = {0};
    const uint64_t ragged = (uint64_t)unit_knob(u, "ragged");
    h->left--;
    k->last = h->left == 0;
    k->addr = tb_rng_u32(&b->rng) & ~(N - 1);
    k->npix = tb_rng_chance(&b->rng, (uint32_t)ragged, 100) ? (uint32_t)tb_rng_range(&b->rng, 1, 2 * N) : 2 * N;
    k->nch = tb_rng_chance(&b->rng, (uint32_t)ragged, 100) ? (uint32_t)tb_rng_range(&b->rng, 1, N) : N;
    for (uint32_t i = 0; i < N * N; i++) {
        const uint32_t ch = i / N;
        k->y[i] = draw_result(u, b);
        if (ch < k->nch) {
            value[tile_pixel(c, i % N) * N + ch] = cm_requant(&b->t, k->y[i]);
        }
    }
    nhwc_plan(N, c, k->addr, b->pitch, k->npix, value, &k->plan);
}

/* ---- the surroundings ---- */

static void drive_block(const unit *u, bench *b, uint32_t c) {
    chan *h = &b->ch[c];
    const bool go = unit_go(&h->blk_stall);
    /* no block is reused before its last byte is out */
    if (!h->blk_on && go && h->left > 0 && h->made - h->dat_blk < RING && h->made - h->job_blk < RING &&
        h->told - h->fed < (uint64_t)unit_knob(u, "ahead")) {
        make_block(u, b, c);
        h->blk_on = true;
    }
    const block *k = &h->ring[h->told % RING];
    const uint32_t pw = b->blk_npix.width / 2;
    const uint32_t hw = b->blk_nch.width / 2;
    tb_set_field(b->blk_valid, c, 1, h->blk_on);
    tb_set_field(b->blk_addr, 32 * c, 32, h->blk_on ? k->addr : tb_rng_u32(&b->rng));
    tb_set_field(b->blk_npix, pw * c, pw, h->blk_on ? k->npix : 0);
    tb_set_field(b->blk_nch, hw * c, hw, h->blk_on ? k->nch : 0);
    tb_set_field(b->blk_last, c, 1, h->blk_on && k->last);
}

static void drive_word(bench *b, uint32_t c) {
    chan *h = &b->ch[c];
    const bool room = h->word > 0 || h->used < SLOTS;
    h->in_on = unit_go(&h->in_stall) && h->fed < h->told && room;
    tb_set_field(b->in_valid, c, 1, h->in_on);
    uint32_t words[16];
    tb_rng_fill(&b->rng_data, words, sizeof words);
    const block *k = &h->ring[h->fed % RING];
    for (uint32_t j = 0; h->in_on && j < b->step; j++) {
        memcpy(&words[4 * j], &k->y[(h->pass + j) * N + 4 * h->word], 16);
    }
    unit_set_slice(b->in_data, 16 * COLS * c, words, 16 * COLS);
}

static void sample_input(unit *u, bench *b, uint32_t c) {
    chan *h = &b->ch[c];
    if (h->in_on) {
        h->used += h->word == 0;
        if (++h->word == WORDS) {
            h->word = 0;
            h->pass += b->step;
            h->fed += h->pass == N;
            h->pass %= N;
        }
    }
    if (tb_get_field(b->pop, c, 1)) {
        if (h->used == 0) {
            unit_fail(u, "pop_o", "channel %" PRIu32 ", cycle %" PRIu64 ": a pass given back that was never started", c, u->cycle);
        }
        h->used--;
    }
    if (h->blk_on && tb_get_field(b->blk_ready, c, 1)) {
        h->blk_on = false;
        h->told++;
    }
}

/* ---- what comes out ---- */

/* Skip blocks of which nothing is left. */
static void settle(chan *h) {
    while (h->job_blk < h->told && h->job == h->ring[h->job_blk % RING].plan.jobs) {
        h->job = 0;
        h->job_blk++;
    }
    while (h->dat_blk < h->told && h->beat == h->ring[h->dat_blk % RING].plan.beats) {
        h->beat = 0;
        h->dat_blk++;
    }
}

static void sample_job(unit *u, bench *b, uint32_t c) {
    chan *h = &b->ch[c];
    if (!tb_get_field(b->req_valid, c, 1) || !tb_get_field(b->req_ready, c, 1)) {
        return;
    }
    if (h->job_blk == h->told) {
        unit_fail(u, "job", "channel %" PRIu32 ", cycle %" PRIu64 ": a write job too many", c, u->cycle);
        return;
    }
    const nhwc_job *job = &h->ring[h->job_blk % RING].plan.job[h->job++];
    unit_expect_value(u, "job address", tb_get_field(b->req_addr, 32 * c, 32), job->addr);
    unit_expect_value(u, "job bytes", tb_get_field(b->req_bytes, 24 * c, 24), job->bytes);
}

static void sample_data(unit *u, bench *b, uint32_t c) {
    chan *h = &b->ch[c];
    if (!tb_get_field(b->wr_valid, c, 1) || !tb_get_field(b->wr_ready, c, 1)) {
        return;
    }
    if (h->dat_blk == h->told) {
        unit_fail(u, "data", "channel %" PRIu32 ", cycle %" PRIu64 ": a beat that no job needs", c, u->cycle);
        return;
    }
    int8_t got[16];
    const nhwc_beat *beat = &h->ring[h->dat_blk % RING].plan.beat[h->beat++];
    unit_get_slice(b->wr_data, 16 * c, got, 16);
    unit_compare(u, got, beat->data, beat->bytes, "channel %" PRIu32 ", block %" PRIu64 ", beat %" PRIu32 ", pixel %" PRIu32, c, h->dat_blk,
                 h->beat - 1, beat->pixel);
}

static bool chan_done(const bench *b, uint32_t c) {
    const chan *h = &b->ch[c];
    return h->left == 0 && !h->blk_on && h->job_blk == h->told && h->dat_blk == h->told && tb_get_field(b->idle, c, 1);
}

static void cycle(unit *u, bench *b) {
    for (uint32_t c = 0; c < 2; c++) {
        drive_block(u, b, c);
        drive_word(b, c);
        tb_set_field(b->req_ready, c, 1, unit_go(&b->ch[c].req_stall));
        tb_set_field(b->wr_ready, c, 1, unit_go(&b->ch[c].wr_stall));
    }
    unit_settle(u);
    for (uint32_t c = 0; c < 2; c++) {
        chan *h = &b->ch[c];
        settle(h);
        const bool owes = h->job_blk < h->told || h->dat_blk < h->told;
        if (owes && tb_get_field(b->idle, c, 1)) {
            unit_fail(u, "idle_o", "channel %" PRIu32 ", cycle %" PRIu64 ": idle with jobs or data still to come", c, u->cycle);
        }
        sample_job(u, b, c);
        sample_data(u, b, c);
        sample_input(u, b, c);
        settle(h);
    }
    unit_edge(u);
}

/* Cycles that a block takes when nobody hesitates: results in, vectors through the array, jobs or beats out. */
static uint64_t block_cycles(const bench *b) {
    const uint64_t in = (uint64_t)N / b->step * WORDS;
    const uint64_t out = b->pitch == N ? (uint64_t)N * N / 16 : N > 16 ? 2 * N : N;
    return in > N ? (in > out ? in : out) : (N > out ? N : out);
}

static void run_task(unit *u, bench *b) {
    const bool any = unit_knob(u, "values") != 0;
    const float scale = tb_rng_f32_range(&b->rng, 0.5f, 2.0f);
    const uint32_t hard = tb_rng_f32_hard(&b->rng);
    memcpy(&b->t.out_scale, &scale, 4);
    b->t.out_scale = any ? hard : tb_rng_chance(&b->rng, 1, 3) ? 0x3f800000u : b->t.out_scale;
    b->pitch = tb_rng_chance(&b->rng, 1, 2) ? N : N * (uint32_t)tb_rng_range(&b->rng, 2, 40);
    const bool single = tb_rng_chance(&b->rng, 1, 3);
    b->step = single ? 1 : COLS;
    tb_set(b->out_scale, b->t.out_scale);
    tb_set(b->pitch_i, b->pitch);
    tb_set(b->single_i, single);
    const uint64_t begin = u->cycle;
    const uint32_t blocks = (uint32_t)tb_rng_range(&b->rng, 1, (uint64_t)unit_knob(u, "blocks"));
    bool pace = unit_knob(u, "ahead") > 2;
    for (uint32_t c = 0; c < 2; c++) {
        chan *h = &b->ch[c];
        h->left = blocks;
        pace = pace && h->blk_stall.percent + h->in_stall.percent + h->req_stall.percent + h->wr_stall.percent == 0;
    }
    while (unit_ok(u) && !(chan_done(b, 0) && chan_done(b, 1))) {
        cycle(u, b);
    }
    const uint64_t most = (blocks + 2) * block_cycles(b) + 24;
    if (pace && unit_ok(u) && u->cycle - begin > most) {
        unit_fail(u, "pace", "%" PRIu32 " blocks took %" PRIu64 " cycles without a stall, expected at most %" PRIu64, blocks,
                  u->cycle - begin, most);
    }
}

static void setup(unit *u, bench *b) {
    const struct {
        tb_sig *sig;
        const char *name;
    } ports[] = {{&b->out_scale, "out_scale_i"},
                 {&b->pitch_i, "pitch_i"},
                 {&b->single_i, "single_i"},
                 {&b->blk_valid, "blk_valid_i"},
                 {&b->blk_ready, "blk_ready_o"},
                 {&b->blk_addr, "blk_addr_i"},
                 {&b->blk_npix, "blk_npix_i"},
                 {&b->blk_nch, "blk_nch_i"},
                 {&b->blk_last, "blk_last_i"},
                 {&b->in_valid, "in_valid_i"},
                 {&b->in_data, "in_data_i"},
                 {&b->pop, "pop_o"},
                 {&b->idle, "idle_o"},
                 {&b->req_valid, "wr_req_valid_o"},
                 {&b->req_ready, "wr_req_ready_i"},
                 {&b->req_addr, "wr_req_addr_o"},
                 {&b->req_bytes, "wr_req_bytes_o"},
                 {&b->wr_valid, "wr_valid_o"},
                 {&b->wr_ready, "wr_ready_i"},
                 {&b->wr_data, "wr_data_o"}};
    for (size_t i = 0; i < sizeof ports / sizeof *ports; i++) {
        *ports[i].sig = unit_port(u, ports[i].name);
    }
    b->rng = unit_stream(u, "shape");
    b->rng_data = unit_stream(u, "values");
    for (uint32_t c = 0; c < 2; c++) {
        chan *h = &b->ch[c];
        h->blk_stall = unit_stall_make(u, "blk");
        h->in_stall = unit_stall_make(u, "in");
        h->req_stall = unit_stall_make(u, "req");
        h->wr_stall = unit_stall_make(u, "wr");
        unit_stall *const all[] = {&h->blk_stall, &h->in_stall, &h->req_stall, &h->wr_stall};
        for (uint32_t i = 0; i < 4; i++) {
            all[i]->rng = tb_rng_fork(&all[i]->rng, 2 * i + c);
        }
    }
}

static int run(unit *u) {
    bench *b = calloc(1, sizeof *b);
    uint32_t *y = malloc(sizeof *y * N * N * RING * 2);
    if (!b || !y || unit_expect_init(u, 1, "byte", 16, true) != 0) {
        free(y);
        free(b);
        return -1;
    }
    setup(u, b);
    for (uint32_t i = 0; i < 2 * RING; i++) {
        b->ch[i / RING].ring[i % RING].y = y + (size_t)i * N * N;
    }
    unit_reset(u);
    for (int64_t k = unit_knob(u, "runs"); k > 0 && unit_ok(u); k--) {
        run_task(u, b);
    }
    free(y);
    free(b);
    return 0;
}

const unit_bench unit_this_bench = {.name = "requant",
                                    .about = "results to INT8 pixels and their write jobs",
                                    .knobs = knobs,
                                    .nknobs = sizeof knobs / sizeof *knobs,
                                    .constrain = constrain,
                                    .run = run};
