/* dut: mesh */
/*
 * Blocks of weights and activations at random distances, the enable stalling at random; between blocks the inputs carry
 * garbage. With EnInt16 blocks of INT16 among them.
 */
#include <stdlib.h>

#include "bench.h"

#define N ((uint32_t)NPU_CFG_N)
#define SLOTS 8u /* blocks remembered; more than are in flight */

static const tb_knob knobs[] = {
    {"blocks", 1, 10000, TB_KNOB_UNIFORM, NULL, NULL, "weight blocks"},
    {"gap", 0, 40, TB_KNOB_SMALL, NULL, NULL, "longest gap between two blocks, in enabled cycles"},
    UNIT_DATA_KNOB,
    UNIT_INT16_KNOB,
    UNIT_STALL_KNOB("en", "percent of cycles with en_i low"),
    UNIT_STALL_RUN_KNOB,
};

static void constrain(tb_knobs *k, uint64_t seed) {
    tb_knobs_draw_in(k, "blocks", seed, 40, 200);
}

typedef struct block {
    bool wide;           /* INT16: twice the words and vectors */
    int8_t wgt[64 * 32]; /* in reverse order */
    int8_t act[2][64 * 32];
} block;

#define PORTS en_i, wgt_p_i, wgt_wide_i, wgt_i, sel_i, act_wide_i, act0_i, act1_i
typedef struct bench {
    TB_PORTS(ports, PORTS);
    block slot[SLOTS];
    uint64_t blocks, gap, made;
    uint64_t wgt_block, wgt_start; /* block whose weights enter next or now, from which enabled cycle on */
    uint64_t act_block, act_start;
    uint64_t now, end; /* enabled cycles so far; until the last result has left */
    int data;
    int int16;
    tb_rng rng_data, rng_gap, rng_noise, rng_wide;
    unit_stall stall;
} bench;

static uint64_t cycles_of(const bench *b, uint64_t number) {
    return N << b->slot[number % SLOTS].wide;
}

/* The width of a block is drawn before its first word. */
static void make_block(bench *b) {
    block *k = &b->slot[b->made++ % SLOTS];
    k->wide = unit_int16(&b->rng_wide, b->int16);
    const uint32_t words = N << k->wide;
    unit_fill_i8(&b->rng_data, b->data, k->wgt, words * N);
    unit_fill_i8(&b->rng_data, b->data, k->act[0], words * N);
    unit_fill_i8(&b->rng_data, b->data, k->act[1], words * N);
}

static void noise(bench *b) {
    uint8_t bytes[32];
    const tb_sig wide[] = {b->wgt_i, b->act0_i, b->act1_i};
    for (size_t i = 0; i < 3; i++) {
        tb_rng_fill(&b->rng_noise, bytes, N);
        unit_set_slice(wide[i], 0, bytes, N);
    }
    tb_set(b->sel_i, tb_rng_u32(&b->rng_noise) & 1u);
    tb_set(b->act_wide_i, unit_int16(&b->rng_noise, b->int16));
}

/* Inputs of enabled cycle b->now. */
static void drive(bench *b) {
    noise(b);
    tb_set(b->wgt_p_i, b->wgt_block & 1u);
    if (b->wgt_block < b->blocks && b->now >= b->wgt_start) {
        const block *k = &b->slot[b->wgt_block % SLOTS];
        const uint64_t word = b->now - b->wgt_start;
        tb_set(b->wgt_wide_i, k->wide);
        unit_set_slice(b->wgt_i, 0, &k->wgt[(cycles_of(b, b->wgt_block) - 1 - word) * N], N);
    }
    if (b->act_block < b->wgt_block + 1 && b->act_block < b->blocks && b->now >= b->act_start) {
        const uint64_t j = b->now - b->act_start;
        const block *k = &b->slot[b->act_block % SLOTS];
        unit_set_slice(b->act0_i, 0, &k->act[0][j * N], N);
        unit_set_slice(b->act1_i, 0, &k->act[1][j * N], N);
        tb_set(b->sel_i, b->act_block & 1u);
        tb_set(b->act_wide_i, k->wide);
    }
}

/* The enabled edge has taken the inputs: on to the next cycle of both streams. */
static void advance(bench *b) {
    const uint64_t act_end = b->act_start + cycles_of(b, b->act_block);
    if (b->act_block < b->blocks && b->act_start != UINT64_MAX && b->now + 1 == act_end) {
        /* latency N + 1, and a cycle for each column */
        b->end = ++b->act_block == b->blocks ? b->now + 2 * N + 1 : b->end;
        b->act_start = UINT64_MAX;
    }
    if (b->wgt_block < b->blocks && b->now + 1 == b->wgt_start + cycles_of(b, b->wgt_block)) {
        b->act_start = b->now + 1;
        b->wgt_block++;
        make_block(b);
        b->wgt_start = b->now + 1 + tb_rng_range(&b->rng_gap, 0, b->gap);
        /* a shorter block is complete only when the vectors of a longer one have entered: its register is theirs */
        const uint64_t used = cycles_of(b, b->wgt_block - 1), next = cycles_of(b, b->wgt_block);
        b->wgt_start += used > next ? used - next : 0;
    }
    b->now++;
}

static void setup(const unit *u, bench *b) {
    b->blocks = (uint64_t)unit_knob(u, "blocks");
    b->gap = (uint64_t)unit_knob(u, "gap");
    b->data = (int)unit_knob(u, "data");
    b->rng_data = unit_stream(u, "values");
    b->rng_gap = unit_stream(u, "gaps");
    b->rng_noise = unit_stream(u, "noise");
    b->rng_wide = unit_stream(u, "int16");
    b->int16 = (int)unit_knob(u, "int16");
    b->stall = unit_stall_make(u, "en");
    b->wgt_start = tb_rng_range(&b->rng_gap, 0, b->gap);
    b->act_start = UINT64_MAX;
    b->end = UINT64_MAX;
    make_block(b);
}

static int run(unit *u) {
    bench *b = (bench *)u->state;
    setup(u, b);
    while (unit_ok(u) && b->now < b->end) {
        const bool enable = unit_go(&b->stall);
        tb_set(b->en_i, enable);
        if (enable) {
            drive(b);
        } else {
            noise(b);
            tb_set(b->wgt_p_i, tb_rng_u32(&b->rng_noise) & 1u);
        }
        unit_settle(u);
        if (unit_edge(u) && enable) {
            advance(b);
        }
    }
    return 0;
}

UNIT_BENCH("mesh", "systolic array", knobs, TB_STATE(bench, PORTS), .constrain = constrain, .no_reset = true);
