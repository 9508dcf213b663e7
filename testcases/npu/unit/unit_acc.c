/* dut: acc */
/*
 * Tiles of back-to-back blocks of N cycles at random distances, column c of everything c cycles late as the mesh
 * delivers it; the enable stalls at random and garbage enters between tiles. With EnInt16 tiles of INT16 among them,
 * whose blocks have 2N cycles.
 */

#include "bench.h"

#define N ((uint32_t)NPU_CFG_N)

static const tb_knob knobs[] = {
    {"tiles", 1, 10000, TB_KNOB_UNIFORM, NULL, NULL, "tiles"},
    {"blocks", 1, 64, TB_KNOB_SMALL, NULL, NULL, "most blocks of a tile"},
    {"gap", 0, 40, TB_KNOB_SMALL, NULL, NULL, "longest gap between two tiles, in enabled cycles"},
    {"wrap", 0, 1, TB_KNOB_UNIFORM, NULL, NULL, "1: values that overflow int32"},
    UNIT_INT16_KNOB,
    UNIT_STALL_KNOB("en", "percent of cycles with en_i low"),
    UNIT_STALL_RUN_KNOB,
};

static void constrain(tb_knobs *k, uint64_t seed) {
    tb_knobs_draw_in(k, "tiles", seed, 20, 60);
}

#define PORTS en_i, first_i, last_i, wide_i, ps_i[2], valid_o
typedef struct bench {
    TB_PORTS(ports, PORTS);
    uint64_t tiles, tile, left_blocks, gap_left, results;
    uint32_t pixel;
    bool first_block, wrap, wide;
    int int16;
    uint64_t expected; /* results of all tiles */
    tb_rng rng_shape, rng_data, rng_wide;
    unit_stall stall;
} bench;

static void next_tile(const unit *u, bench *b) {
    b->left_blocks = tb_rng_range(&b->rng_shape, 1, (uint64_t)unit_knob(u, "blocks"));
    b->gap_left = tb_rng_range(&b->rng_shape, 0, (uint64_t)unit_knob(u, "gap"));
    b->pixel = 0;
    b->first_block = true;
    b->wide = unit_int16(&b->rng_wide, b->int16);
    b->expected += b->tile < b->tiles ? (uint64_t)(N << b->wide) * N : 0;
}

/* The flags of one enabled cycle, for column 0; column c has them c cycles later. */
static void drive_flags(const unit *u, bench *b) {
    const bool used = b->tile < b->tiles && b->gap_left == 0;
    tb_set(b->first_i, used && b->first_block);
    tb_set(b->last_i, used && b->left_blocks == 1);
    tb_set(b->wide_i, b->wide);
    if (!used) {
        b->gap_left -= b->tile < b->tiles;
    } else if (++b->pixel == N << b->wide) {
        b->pixel = 0;
        b->first_block = false;
        if (--b->left_blocks == 0) {
            b->tile++;
            next_tile(u, b);
        }
    }
}

static int32_t draw_value(bench *b) {
    const uint64_t bits = tb_rng_u64(&b->rng_data);
    return b->wrap ? (int32_t)(uint32_t)(bits >> 32) : (int32_t)(bits % 1032257) - 516128;
}

static void drive(const unit *u, bench *b) {
    drive_flags(u, b);
    for (uint32_t c = 0; c < N; c++) {
        for (uint32_t s = 0; s < 2; s++) {
            const int32_t value = draw_value(b);
            unit_set_slice(b->ps_i[s], 4 * c, &value, 4);
        }
    }
}

static void noise(bench *b) {
    tb_set(b->first_i, tb_rng_u32(&b->rng_data) & 1u);
    tb_set(b->last_i, tb_rng_u32(&b->rng_data) & 1u);
    tb_set(b->wide_i, unit_int16(&b->rng_data, b->int16));
    for (uint32_t c = 0; c < N; c++) {
        const int32_t value = draw_value(b);
        unit_set_slice(b->ps_i[c & 1u], 4 * c, &value, 4);
    }
}

static void setup(unit *u, bench *b) {
    b->tiles = (uint64_t)unit_knob(u, "tiles");
    b->wrap = unit_knob(u, "wrap") != 0;
    b->rng_shape = unit_stream(u, "shape");
    b->rng_data = unit_stream(u, "values");
    b->stall = unit_stall_make(u, "en");
    b->rng_wide = unit_stream(u, "int16");
    b->int16 = (int)unit_knob(u, "int16");
    next_tile(u, b);
}

static int run(unit *u) {
    bench *b = (bench *)u->state;
    setup(u, b);
    unit_reset(u);
    while (unit_ok(u) && (b->tile < b->tiles || b->results < b->expected)) {
        const bool enable = unit_go(&b->stall);
        tb_set(b->en_i, enable);
        if (enable) {
            unit_settle(u);
            b->results += (uint32_t)__builtin_popcountll(tb_get(b->valid_o));
            drive(u, b);
        } else {
            noise(b);
        }
        unit_settle(u);
        unit_edge(u);
    }
    return 0;
}

UNIT_BENCH("acc", "accumulators of a tile", knobs, TB_STATE(bench, PORTS), .constrain = constrain);
