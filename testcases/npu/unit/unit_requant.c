/* dut: requant each Chan=0,1 shared: out_scale_i quant_i wide_i pitch_i single_i */
/*
 * The requantisers of both channels on runs of blocks. The bench models post: it announces blocks, then feeds their
 * results in passes, never more passes in flight than the gather buffer has slots.
 */
#include <stdlib.h>
#include <string.h>

#include "bench.h"

#define N ((uint32_t)NPU_CFG_N)
#define COLS (N >= 16 ? 4u : N / 4)
#define SLOTS (N >= 16 ? 8u : 16u)
#define WORDS (N / 4) /* of a pass; INT16: twice as many */
#define RING 16u      /* more blocks than can be between the announcement and their last result */

static const tb_knob knobs[] = {
    {"runs", 1, 1000, TB_KNOB_UNIFORM, NULL, NULL, "runs (tasks)"},
    {"blocks", 1, 500, TB_KNOB_SMALL, NULL, NULL, "most blocks of a run"},
    {"values", 0, 1, TB_KNOB_UNIFORM, NULL, NULL, "1: results and scales are any floats"},
    UNIT_INT16_KNOB,
    {"ragged", 0, 100, TB_KNOB_SMALL, NULL, NULL, "percent of blocks with missing pixels or channels"},
    {"ahead", 1, 8, TB_KNOB_SMALL, NULL, NULL, "blocks that may be announced before their results arrive"},
    UNIT_STALL_KNOB("blk", "percent of cycles without a block on offer"),
    UNIT_STALL_KNOB("in", "percent of cycles without a word of results"),
    UNIT_STALL_KNOB("req", "percent of cycles in which write jobs wait"),
    UNIT_STALL_KNOB("wr", "percent of cycles in which data wait"),
    UNIT_STALL_RUN_KNOB,
};

static void constrain(tb_knobs *k, uint64_t seed) {
    tb_knobs_draw_in(k, "runs", seed, 3, 16);
    tb_knobs_draw_in(k, "blocks", seed, 1, 8 + 256 / N);
    if (seed % 4 == 0) { /* no stalls, to check the pace of the unit */
        static const char *const stalls[] = {"stall_blk", "stall_in", "stall_req", "stall_wr"};
        for (size_t i = 0; i < sizeof stalls / sizeof *stalls; i++) {
            tb_knobs_draw_in(k, stalls[i], seed, 0, 0);
        }
    }
}

typedef struct block {
    uint32_t addr, npix, nch;
    bool last;
    uint32_t y[NPU_CFG_N * NPU_CFG_N]; /* [channel][pixel of the block] */
} block;

typedef struct chan {
    block ring[RING];
    uint64_t made, told, fed; /* blocks made, announced, with all results sent to the unit */
    uint32_t left;            /* remaining blocks of the run */
    uint32_t pass, word;      /* next word of results: first channel, word */
    uint32_t used;            /* passes in the unit */
    bool blk_on, in_on;
    unit_stall blk_stall, in_stall, req_stall, wr_stall;
} chan;

#define PORTS                                                                                                          \
    out_scale_i, quant_i, wide_i, pitch_i, single_i, blk_valid_i, blk_ready_o, blk_addr_i, blk_npix_i, blk_nch_i,      \
        blk_last_i, in_valid_i, in_data_i, pop_o, idle_o, wr_req_ready_i, wr_ready_i
typedef struct bench {
    TB_PORTS(ports, PORTS);
    uint32_t pitch, step; /* channels of a pass */
    bool wide;            /* INT16 */
    chan ch[2];
    tb_rng rng, rng_data, rng_wide;
} bench;

/* ---- blocks ---- */

/* Results around the clamps and halves of INT8, or any float. */
static uint32_t draw_result(const unit *u, bench *b) {
    const float most = b->wide ? 40000.0f : 150.0f;
    const float real = tb_rng_f32_range(&b->rng_data, -most, most);
    const uint32_t hard = tb_rng_f32_hard(&b->rng_data);
    const uint32_t half =
        cm_fp_mul(cm_fp_i32_to_f32((int32_t)(hard >> (b->wide ? 16 : 24)) - (b->wide ? 32768 : 128)), 0x3f000000u);
    uint32_t bits;
    memcpy(&bits, &real, 4);
    return unit_knob(u, "values") ? hard : (hard & 7u) == 0 ? half : bits;
}

static void make_block(const unit *u, bench *b, uint32_t c) {
    chan *h = &b->ch[c];
    block *k = &h->ring[h->made++ % RING];
    const uint64_t ragged = (uint64_t)unit_knob(u, "ragged");
    h->left--;
    k->last = h->left == 0;
    k->addr = tb_rng_u32(&b->rng) & ~((N << b->wide) - 1);
    k->npix = tb_rng_chance(&b->rng, (uint32_t)ragged, 100) ? (uint32_t)tb_rng_range(&b->rng, 1, 2 * N) : 2 * N;
    k->nch = tb_rng_chance(&b->rng, (uint32_t)ragged, 100) ? (uint32_t)tb_rng_range(&b->rng, 1, N) : N;
    for (uint32_t i = 0; i < N * N; i++) {
        k->y[i] = draw_result(u, b);
    }
}

/* ---- the units around requant ---- */

static void drive_block(const unit *u, bench *b, uint32_t c) {
    chan *h = &b->ch[c];
    const bool go = unit_go(&h->blk_stall);
    if (!h->blk_on && go && h->left > 0 && h->told - h->fed < (uint64_t)unit_knob(u, "ahead")) {
        make_block(u, b, c);
        h->blk_on = true;
    }
    const block *k = &h->ring[h->told % RING];
    const uint32_t pw = b->blk_npix_i.width / 2;
    const uint32_t hw = b->blk_nch_i.width / 2;
    tb_set_field(b->blk_valid_i, c, 1, h->blk_on);
    tb_set_field(b->blk_addr_i, 32 * c, 32, h->blk_on ? k->addr : tb_rng_u32(&b->rng));
    tb_set_field(b->blk_npix_i, pw * c, pw, h->blk_on ? k->npix : 0);
    tb_set_field(b->blk_nch_i, hw * c, hw, h->blk_on ? k->nch : 0);
    tb_set_field(b->blk_last_i, c, 1, h->blk_on && k->last);
}

static void drive_word(bench *b, uint32_t c) {
    chan *h = &b->ch[c];
    const bool room = h->word > 0 || h->used < SLOTS;
    h->in_on = unit_go(&h->in_stall) && h->fed < h->told && room;
    tb_set_field(b->in_valid_i, c, 1, h->in_on);
    uint32_t words[16];
    tb_rng_fill(&b->rng_data, words, sizeof words);
    const block *k = &h->ring[h->fed % RING];
    for (uint32_t j = 0; h->in_on && j < b->step; j++) {
        const uint32_t run = b->wide ? 2 : 4;
        memcpy(&words[4 * j], &k->y[(h->pass + j) * N + run * h->word], 4 * run);
    }
    unit_set_slice(b->in_data_i, 16 * COLS * c, words, 16 * COLS);
}

static void sample_input(bench *b, uint32_t c) {
    chan *h = &b->ch[c];
    if (h->in_on) {
        h->used += h->word == 0;
        if (++h->word == WORDS << b->wide) {
            h->word = 0;
            h->pass += b->step;
            h->fed += h->pass == N;
            h->pass %= N;
        }
    }
    h->used -= tb_get_field(b->pop_o, c, 1) != 0;
    if (h->blk_on && tb_get_field(b->blk_ready_o, c, 1)) {
        h->blk_on = false;
        h->told++;
    }
}

static bool chan_done(const bench *b, uint32_t c) {
    const chan *h = &b->ch[c];
    return h->left == 0 && !h->blk_on && tb_get_field(b->idle_o, c, 1);
}

static void cycle(unit *u, bench *b) {
    for (uint32_t c = 0; c < 2; c++) {
        drive_block(u, b, c);
        drive_word(b, c);
        tb_set_field(b->wr_req_ready_i, c, 1, unit_go(&b->ch[c].req_stall));
        tb_set_field(b->wr_ready_i, c, 1, unit_go(&b->ch[c].wr_stall));
    }
    unit_settle(u);
    for (uint32_t c = 0; c < 2; c++) {
        sample_input(b, c);
    }
    unit_edge(u);
}

static void run_task(unit *u, bench *b) {
    const bool any = unit_knob(u, "values") != 0;
    const float scale = tb_rng_f32_range(&b->rng, 0.5f, 2.0f);
    const uint32_t hard = tb_rng_f32_hard(&b->rng);
    uint32_t bits;
    memcpy(&bits, &scale, 4);
    bits = any ? hard : tb_rng_chance(&b->rng, 1, 3) ? 0x3f800000u : bits;
    b->pitch = tb_rng_chance(&b->rng, 1, 2) ? N : N * (uint32_t)tb_rng_range(&b->rng, 2, 40);
    b->wide = unit_int16(&b->rng_wide, (int)unit_knob(u, "int16"));
    b->pitch <<= b->wide;
    const bool single = tb_rng_chance(&b->rng, 1, 3);
    b->step = single ? 1 : COLS;
    tb_set(b->out_scale_i, bits);
    tb_set(b->quant_i, tb_rng_chance(&b->rng, 1, 2) ? 0 : tb_rng_u32(&b->rng) & 0x3ffu);
    tb_set(b->wide_i, b->wide);
    tb_set(b->pitch_i, b->pitch);
    tb_set(b->single_i, single);
    const uint32_t blocks = (uint32_t)tb_rng_range(&b->rng, 1, (uint64_t)unit_knob(u, "blocks"));
    b->ch[0].left = b->ch[1].left = blocks;
    while (unit_ok(u) && !(chan_done(b, 0) && chan_done(b, 1))) {
        cycle(u, b);
    }
}

static void setup(unit *u, bench *b) {
    b->rng = unit_stream(u, "shape");
    b->rng_data = unit_stream(u, "values");
    b->rng_wide = unit_stream(u, "int16");
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
    bench *b = (bench *)u->state;
    setup(u, b);
    unit_reset(u);
    for (int64_t k = unit_knob(u, "runs"); k > 0 && unit_ok(u); k--) {
        run_task(u, b);
    }
    return 0;
}

UNIT_BENCH("requant", "results to INT8 pixels and their write jobs", knobs, TB_STATE(bench, PORTS),
           .constrain = constrain);
