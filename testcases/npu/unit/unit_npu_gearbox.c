/* dut: gearbox */
/*
 * Bytes in are bytes out, in order, regrouped from 16 to N. The bench also checks the throughput: when neither side has
 * ever stalled, the limiting side transfers in every cycle.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "bench.h"

#define BEAT 16u

static const tb_knob knobs[] = {
    {"beats", 2, 100000, TB_KNOB_UNIFORM, NULL, NULL, "beats fed in, rounded down to an even number"},
    {"clear", 0, 50, TB_KNOB_SMALL, NULL, NULL, "clears in 1000 cycles"},
    UNIT_STALL_KNOB("in", "percent of cycles in which the source waits"),
    UNIT_STALL_KNOB("out", "percent of cycles in which the sink waits"),
    UNIT_STALL_RUN_KNOB,
};

static void constrain(tb_knobs *k, uint64_t seed) {
    tb_knobs_draw_in(k, "beats", seed, 2000, 4000);
}

#define PORTS clr_i, in_valid_i, in_ready_o, in_data_i, out_valid_o, out_ready_i, out_data_o
typedef struct box {
    TB_PORTS(ports, PORTS);
    uint32_t n; /* bytes of a word */
    uint8_t beat[BEAT];
    bool valid, clear;
    uint8_t bytes[2 * BEAT]; /* accepted and not yet output */
    uint32_t have, out_of_beat;
    uint64_t left, in_moves, out_moves, cycles;
} box;

/* The word that must come out now: for N < 16 a part of the waiting beat, else held bytes and the waiting beat. */
static bool expected_word(const box *b, uint8_t *word) {
    if (!b->valid) {
        return false;
    }
    if (b->n <= BEAT) {
        memcpy(word, b->beat + b->out_of_beat, b->n);
        return true;
    }
    memcpy(word, b->bytes, b->have);
    memcpy(word + b->have, b->beat, BEAT);
    return b->have + BEAT == b->n;
}

static void sample(unit *u, box *b, bool out_ready) {
    uint8_t word[2 * BEAT], got[2 * BEAT];
    const bool ready = tb_get(b->in_ready_o) != 0;
    const bool word_due = expected_word(b, word);
    unit_expect_value(u, "out_valid_o", tb_get(b->out_valid_o), word_due);
    const bool fired = word_due && out_ready;
    if (fired && unit_ok(u)) {
        unit_get_slice(b->out_data_o, 0, got, b->n);
        unit_compare(u, got, word, b->n, "word %" PRIu64, b->out_moves);
        b->out_moves++;
        b->have = 0;
        b->out_of_beat += b->n;
    }
    /* a beat is accepted with its last word; for N = 32 the first of two immediately */
    const bool beat_used = b->n <= BEAT ? fired && b->out_of_beat == BEAT : fired || !word_due;
    if (b->valid) {
        unit_expect_value(u, "in_ready_o", ready, beat_used);
    }
    if (b->valid && beat_used) {
        if (!fired) {
            memcpy(b->bytes, b->beat, BEAT);
            b->have = BEAT;
        }
        b->out_of_beat = 0;
        b->valid = false;
        b->left--;
        b->in_moves++;
    }
    if (b->clear) {
        b->have = 0;
        b->out_of_beat = 0;
    }
}

static int run(unit *u) {
    box *b = (box *)u->state;
    b->n = NPU_CFG_N;
    unit_stall in = unit_stall_make(u, "in");
    unit_stall out = unit_stall_make(u, "out");
    tb_rng data = unit_stream(u, "data");
    tb_rng clear = unit_stream(u, "clear_at");
    const uint32_t clear_rate = (uint32_t)unit_knob(u, "clear");
    if (unit_expect_init(u, 1, "byte", b->n, false) != 0) {
        return -1;
    }
    b->left = (uint64_t)unit_knob(u, "beats") & ~UINT64_C(1);
    unit_reset(u);
    /* a clear may leave an odd beat behind; it needs no word then */
    while (unit_ok(u) && b->left > 0) {
        if (!b->valid && unit_go(&in)) {
            b->valid = true;
            tb_rng_fill(&data, b->beat, BEAT);
        }
        const bool out_ready = unit_go(&out);
        b->clear = tb_rng_chance(&clear, clear_rate, 1000);
        tb_set(b->clr_i, b->clear);
        tb_set(b->in_valid_i, b->valid);
        tb_set(b->out_ready_i, out_ready);
        unit_set_slice(b->in_data_i, 0, b->beat, BEAT);
        unit_settle(u);
        sample(u, b, out_ready);
        unit_edge(u);
        b->cycles++;
    }
    if (unit_ok(u) && in.percent == 0 && out.percent == 0 && clear_rate == 0) {
        const uint64_t moves = b->in_moves > b->out_moves ? b->in_moves : b->out_moves;
        unit_expect_value(u, "cycles without a move", b->cycles - moves, 0);
    }
    return 0;
}

UNIT_BENCH("npu_gearbox", "bus beats to words of N bytes", knobs, TB_STATE(box, PORTS), .constrain = constrain);
