/* dut: mesh */
/*
 * Blocks of weights and activations at random distances, the enable stalling at random; between blocks the inputs carry garbage. Each result is checked in the
 * enabled cycle in which the contract promises it.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "bench.h"

#define N ((uint32_t)NPU_CFG_N)
#define RING 256u /* enabled cycles remembered; more than the latency 1 + 2N */
#define SLOTS 8u  /* blocks remembered; more than are in flight */

static const tb_knob knobs[] = {
    {"blocks", 1, 10000, TB_KNOB_UNIFORM, NULL, NULL, "weight blocks"},
    {"gap", 0, 40, TB_KNOB_SMALL, NULL, NULL, "longest gap between two blocks, in enabled cycles"},
    UNIT_DATA_KNOB,
    UNIT_STALL_KNOB("en", "percent of cycles with en_i low"),
    UNIT_STALL_RUN_KNOB,
};

static void constrain(tb_knobs *k, uint64_t seed) {
    tb_knobs_draw_in(k, "blocks", seed, 40, 200);
}

typedef struct block {
    int8_t wgt[32 * 32];
    int8_t act[2 * 32 * 32];
    int32_t out[2 * 32 * 32];
} block;

typedef struct bench {
    tb_sig en, wgt_p, wgt, sel, act0, act1, ps0, ps1;
    block slot[SLOTS];
    int64_t what[RING]; /* block * N + pixel that entered in that enabled cycle, -1: none */
    uint64_t blocks, gap, made;
    uint64_t wgt_block, wgt_start; /* block whose weights enter next or now, from which enabled cycle on */
    uint64_t act_block, act_start;
    uint64_t now, results;
    int data;
    tb_rng rng_data, rng_gap, rng_noise;
    unit_stall stall;
} bench;

static void make_block(bench *b) {
    block *k = &b->slot[b->made++ % SLOTS];
    unit_fill_i8(&b->rng_data, b->data, k->wgt, N * N);
    unit_fill_i8(&b->rng_data, b->data, k->act, 2 * N * N);
    cm_mesh_block(N, k->act, k->wgt, k->out);
}

static void noise(bench *b) {
    uint8_t bytes[32];
    const tb_sig wide[] = {b->wgt, b->act0, b->act1};
    for (size_t i = 0; i < 3; i++) {
        tb_rng_fill(&b->rng_noise, bytes, N);
        unit_set_slice(wide[i], 0, bytes, N);
    }
    tb_set(b->sel, tb_rng_u32(&b->rng_noise) & 1u);
}

/* Inputs of enabled cycle b->now. */
static void drive(bench *b) {
    noise(b);
    b->what[b->now % RING] = -1;
    tb_set(b->wgt_p, b->wgt_block & 1u);
    if (b->wgt_block < b->blocks && b->now >= b->wgt_start) {
        const uint64_t word = b->now - b->wgt_start;
        if (word == 0) {
            make_block(b);
        }
        unit_set_slice(b->wgt, 0, &b->slot[b->wgt_block % SLOTS].wgt[(N - 1 - word) * N], N);
    }
    if (b->act_block < b->wgt_block + 1 && b->act_block < b->blocks && b->now >= b->act_start) {
        const uint64_t j = b->now - b->act_start;
        const int8_t *act = b->slot[b->act_block % SLOTS].act;
        unit_set_slice(b->act0, 0, &act[j * N], N);
        unit_set_slice(b->act1, 0, &act[(N + j) * N], N);
        tb_set(b->sel, b->act_block & 1u);
        b->what[b->now % RING] = (int64_t)(b->act_block * N + j);
    }
}

/* The enabled edge has taken the inputs: on to the next cycle of both streams. */
static void advance(bench *b) {
    if (b->act_block < b->blocks && b->now + 1 == b->act_start + N) {
        b->act_block++;
        b->act_start = UINT64_MAX - N;
    }
    if (b->wgt_block < b->blocks && b->now + 1 == b->wgt_start + N) {
        b->act_start = b->wgt_start + N;
        b->wgt_block++;
        b->wgt_start = b->now + 1 + tb_rng_range(&b->rng_gap, 0, b->gap);
    }
    b->now++;
}

/* Results visible in enabled cycle b->now: column c shows the vector that entered 1 + N + c cycles ago. */
static void sample(unit *u, bench *b) {
    int32_t got[2], expected[2];
    for (uint32_t c = 0; c < N && b->now >= 1 + N + c; c++) {
        const int64_t what = b->what[(b->now - 1 - N - c) % RING];
        if (what < 0) {
            continue;
        }
        const uint64_t blk = (uint64_t)what / N;
        const uint64_t j = (uint64_t)what % N;
        const int32_t *out = b->slot[blk % SLOTS].out;
        expected[0] = out[j * N + c];
        expected[1] = out[(N + j) * N + c];
        unit_get_slice(b->ps0, 4 * c, &got[0], 4);
        unit_get_slice(b->ps1, 4 * c, &got[1], 4);
        unit_compare(u, got, expected, 2, "column %" PRIu32 ", block %" PRIu64 ", pixel %" PRIu64, c, blk, j);
        b->results++;
    }
}

static void setup(const unit *u, bench *b) {
    b->blocks = (uint64_t)unit_knob(u, "blocks");
    b->gap = (uint64_t)unit_knob(u, "gap");
    b->data = (int)unit_knob(u, "data");
    b->rng_data = unit_stream(u, "values");
    b->rng_gap = unit_stream(u, "gaps");
    b->rng_noise = unit_stream(u, "noise");
    b->stall = unit_stall_make(u, "en");
    b->wgt_start = tb_rng_range(&b->rng_gap, 0, b->gap);
    b->act_start = UINT64_MAX - N;
    for (size_t i = 0; i < RING; i++) {
        b->what[i] = -1;
    }
}

static int run(unit *u) {
    bench *b = calloc(1, sizeof *b);
    if (!b || unit_expect_init(u, 4, "stream", 2, true) != 0) {
        free(b);
        return -1;
    }
    b->en = unit_port(u, "en_i");
    b->wgt_p = unit_port(u, "wgt_p_i");
    b->wgt = unit_port(u, "wgt_i");
    b->sel = unit_port(u, "sel_i");
    b->act0 = unit_port(u, "act0_i");
    b->act1 = unit_port(u, "act1_i");
    b->ps0 = unit_port(u, "ps0_o");
    b->ps1 = unit_port(u, "ps1_o");
    setup(u, b);
    while (unit_ok(u) && b->results < b->blocks * N * N) {
        const bool enable = unit_go(&b->stall);
        tb_set(b->en, enable);
        if (enable) {
            drive(b);
        } else {
            noise(b);
            tb_set(b->wgt_p, tb_rng_u32(&b->rng_noise) & 1u);
        }
        unit_settle(u);
        if (enable) {
            sample(u, b);
        }
        if (unit_edge(u) && enable) {
            advance(b);
        }
    }
    free(b);
    return 0;
}

const unit_bench unit_this_bench = {.name = "mesh",
                                    .about = "systolic array against the block product",
                                    .knobs = knobs,
                                    .nknobs = sizeof knobs / sizeof *knobs,
                                    .constrain = constrain,
                                    .run = run,
                                    .no_reset = true};
