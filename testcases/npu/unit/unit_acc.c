/* dut: acc */
/*
 * Tiles of back-to-back blocks of N cycles at random distances, column c of everything c cycles late as the mesh delivers it; the enable stalls at random and
 * garbage enters between tiles. Sums, flags and their cycle are checked in each enabled cycle.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "bench.h"

#define N ((uint32_t)NPU_CFG_N)
#define RING 64u /* enabled cycles remembered; more than the skew */

static const tb_knob knobs[] = {
    {"tiles", 1, 10000, TB_KNOB_UNIFORM, NULL, NULL, "tiles"},
    {"blocks", 1, 64, TB_KNOB_SMALL, NULL, NULL, "most blocks of a tile"},
    {"gap", 0, 40, TB_KNOB_SMALL, NULL, NULL, "longest gap between two tiles, in enabled cycles"},
    {"wrap", 0, 1, TB_KNOB_UNIFORM, NULL, NULL, "1: values that overflow int32"},
    UNIT_STALL_KNOB("en", "percent of cycles with en_i low"),
    UNIT_STALL_RUN_KNOB,
};

static void constrain(tb_knobs *k, uint64_t seed) {
    tb_knobs_draw_in(k, "tiles", seed, 20, 60);
}

/* What enters column 0 in one enabled cycle; column c gets it c cycles later. */
typedef struct beat {
    bool used, first, last;
    uint32_t pixel;
    uint64_t tile;
} beat;

typedef struct bench {
    tb_sig en, first, last, ps[2], valid, sum[2];
    beat ring[RING];
    int32_t acc[2][32][32]; /* stream, column, pixel */
    int32_t due[2][32];     /* sums that appear in the next enabled cycle */
    beat due_of[32];
    uint64_t now, tiles, tile, left_blocks, gap_left, results;
    uint32_t pixel;
    bool first_block, wrap;
    tb_rng rng_shape, rng_data;
    unit_stall stall;
} bench;

static void next_tile(const unit *u, bench *b) {
    b->left_blocks = tb_rng_range(&b->rng_shape, 1, (uint64_t)unit_knob(u, "blocks"));
    b->gap_left = tb_rng_range(&b->rng_shape, 0, (uint64_t)unit_knob(u, "gap"));
    b->pixel = 0;
    b->first_block = true;
}

static beat make_beat(const unit *u, bench *b) {
    beat out = {0};
    if (b->tile == b->tiles) {
        return out;
    }
    if (b->gap_left > 0) {
        b->gap_left--;
        return out;
    }
    out = (beat){.used = true, .first = b->first_block, .last = b->left_blocks == 1, .pixel = b->pixel, .tile = b->tile};
    if (++b->pixel == N) {
        b->pixel = 0;
        b->first_block = false;
        if (--b->left_blocks == 0) {
            b->tile++;
            next_tile(u, b);
        }
    }
    return out;
}

static int32_t draw_value(bench *b) {
    const uint64_t bits = tb_rng_u64(&b->rng_data);
    return b->wrap ? (int32_t)(uint32_t)(bits >> 32) : (int32_t)(bits % 1032257) - 516128;
}

/* Inputs of one enabled cycle; the model takes them at once and says what must come out next. */
static void drive(const unit *u, bench *b) {
    const beat now = make_beat(u, b);
    b->ring[b->now % RING] = now;
    tb_set(b->first, now.first);
    tb_set(b->last, now.last);
    for (uint32_t c = 0; c < N; c++) {
        const beat at = b->now >= c ? b->ring[(b->now - c) % RING] : (beat){0};
        b->due_of[c] = at;
        for (uint32_t s = 0; s < 2; s++) {
            const int32_t value = draw_value(b);
            unit_set_slice(b->ps[s], 4 * c, &value, 4);
            if (at.used) {
                cm_acc(at.first, 1, &value, &b->acc[s][c][at.pixel]);
                b->due[s][c] = b->acc[s][c][at.pixel];
            }
        }
    }
}

static void noise(bench *b) {
    tb_set(b->first, tb_rng_u32(&b->rng_data) & 1u);
    tb_set(b->last, tb_rng_u32(&b->rng_data) & 1u);
    for (uint32_t c = 0; c < N; c++) {
        const int32_t value = draw_value(b);
        unit_set_slice(b->ps[c & 1u], 4 * c, &value, 4);
    }
}

/* Outputs of what the last enabled cycle took in. */
static void sample(unit *u, bench *b) {
    uint64_t valid = 0;
    for (uint32_t c = 0; c < N; c++) {
        const beat *at = &b->due_of[c];
        valid |= (uint64_t)at->last << c;
        if (!at->last) {
            continue;
        }
        int32_t got[2];
        const int32_t expected[2] = {b->due[0][c], b->due[1][c]};
        unit_get_slice(b->sum[0], 4 * c, &got[0], 4);
        unit_get_slice(b->sum[1], 4 * c, &got[1], 4);
        unit_compare(u, got, expected, 2, "column %" PRIu32 ", tile %" PRIu64 ", pixel %" PRIu32, c, at->tile, at->pixel);
        b->results++;
    }
    unit_expect_value(u, "valid_o", tb_get(b->valid), valid);
}

static void setup(unit *u, bench *b) {
    b->en = unit_port(u, "en_i");
    b->first = unit_port(u, "first_i");
    b->last = unit_port(u, "last_i");
    b->ps[0] = unit_port(u, "ps0_i");
    b->ps[1] = unit_port(u, "ps1_i");
    b->valid = unit_port(u, "valid_o");
    b->sum[0] = unit_port(u, "sum0_o");
    b->sum[1] = unit_port(u, "sum1_o");
    b->tiles = (uint64_t)unit_knob(u, "tiles");
    b->wrap = unit_knob(u, "wrap") != 0;
    b->rng_shape = unit_stream(u, "shape");
    b->rng_data = unit_stream(u, "values");
    b->stall = unit_stall_make(u, "en");
    next_tile(u, b);
}

static int run(unit *u) {
    bench *b = calloc(1, sizeof *b);
    if (!b || unit_expect_init(u, 4, "stream", 2, true) != 0) {
        free(b);
        return -1;
    }
    setup(u, b);
    unit_reset(u);
    while (unit_ok(u) && b->results < b->tiles * N * N) {
        const bool enable = unit_go(&b->stall);
        tb_set(b->en, enable);
        if (enable) {
            unit_settle(u);
            sample(u, b);
            drive(u, b);
        } else {
            noise(b);
        }
        unit_settle(u);
        if (unit_edge(u) && enable) {
            b->now++;
        }
    }
    free(b);
    return 0;
}

const unit_bench unit_this_bench = {.name = "acc",
                                    .about = "accumulators of a tile",
                                    .knobs = knobs,
                                    .nknobs = sizeof knobs / sizeof *knobs,
                                    .constrain = constrain,
                                    .run = run};
