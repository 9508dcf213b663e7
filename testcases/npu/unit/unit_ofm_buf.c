/* dut: ofm_buf */
/*
 * Columns write pairs of pixels at their own pace; words of four pixels are read while their ring still holds them, one
 * of a column of the port's parity or, wide, those of several neighbouring columns from the port's bank. A column never
 * runs more than its 1024 pixel pairs ahead of what has been freed, as im2col's credit guarantees.
 */
#include "bench.h"

#define N ((uint32_t)NPU_CFG_N)
#define PAIRS 1024u /* of a column */
#define WORDS (PAIRS / 2)
#define COLS (N >= 16 ? 4u : N / 4) /* columns of a wide read */

static const tb_knob knobs[] = {
    {"cycles", 1, 1000000, TB_KNOB_UNIFORM, NULL, NULL, "cycles"},
    {"wide", 0, 100, TB_KNOB_UNIFORM, NULL, NULL, "percent of cycles with wide reads"},
    {"free", 1, 100, TB_KNOB_UNIFORM, NULL, NULL, "percent of reads after which the oldest words are freed"},
    UNIT_STALL_KNOB("wr", "percent of cycles in which a column is idle"),
    UNIT_STALL_KNOB("rd", "percent of cycles in which a read port is idle"),
    UNIT_STALL_RUN_KNOB,
};

static void constrain(tb_knobs *k, uint64_t seed) {
    tb_knobs_draw_in(k, "cycles", seed, 4000, 8000);
}

#define PORTS we_i, wdata_i[2], wide_i, re_i, rcol_i[2], raddr_i[2]
typedef struct bench {
    TB_PORTS(ports, PORTS);
    uint64_t pairs[32];  /* written by each column */
    uint64_t oldest[32]; /* pairs before this one are freed */
    unit_stall wr[32], rd[2];
    tb_rng rng_data, rng_addr;
} bench;

/* Choose a word that all columns of the read hold completely, wide: of the port's bank. */
static void drive_read(const unit *u, bench *b, uint32_t port, bool wide) {
    const uint32_t cols = wide ? COLS : 1;
    const uint32_t index = (uint32_t)tb_rng_range(&b->rng_addr, 0, wide ? N / COLS - 1 : N / 2 - 1);
    const uint32_t col = wide ? COLS * index : 2 * index + port;
    uint64_t first = 0;
    uint64_t end = UINT64_MAX;
    for (uint32_t c = col; c < col + cols; c++) {
        first = b->oldest[c] / 2 > first ? b->oldest[c] / 2 : first;
        end = b->pairs[c] / 2 < end ? b->pairs[c] / 2 : end;
    }
    uint64_t word = tb_rng_range(&b->rng_addr, first, first < end ? end - 1 : first);
    if (wide && word % 2 != port) {
        word += word + 1 < end ? 1 : word > first ? UINT64_MAX : 0; /* one on, or one back */
    }
    const bool on = unit_go(&b->rd[port]) && first < end && (!wide || word % 2 == port);
    tb_set_field(b->re_i, port, 1, on);
    tb_set(b->rcol_i[port], index);
    tb_set(b->raddr_i[port], (wide ? word ^ tb_rng_range(&b->rng_addr, 0, 1) : word) % WORDS);
    /* words are freed sometimes, so that the ring wraps */
    if (on && tb_rng_chance(&b->rng_addr, (uint32_t)unit_knob(u, "free"), 100)) {
        for (uint32_t c = col; c < col + cols; c++) {
            b->oldest[c] = 2 * (b->oldest[c] / 2 + 1 < end ? b->oldest[c] / 2 + 1 : end);
        }
    }
}

static void drive_writes(bench *b) {
    for (uint32_t c = 0; c < N; c++) {
        const bool on = unit_go(&b->wr[c]) && b->pairs[c] - b->oldest[c] < PAIRS - 4;
        tb_set_field(b->we_i, c, 1, on);
        for (uint32_t s = 0; s < 2; s++) {
            const int32_t value = (int32_t)tb_rng_u32(&b->rng_data);
            unit_set_slice(b->wdata_i[s], 4 * c, &value, 4);
        }
        b->pairs[c] += on;
    }
}

static void setup(const unit *u, bench *b) {
    unit_stalls(u, "rd", b->rd, 2);
    unit_stalls(u, "wr", b->wr, N);
    b->rng_data = unit_stream(u, "values");
    b->rng_addr = unit_stream(u, "addr");
}

static int run(unit *u) {
    bench *b = (bench *)u->state;
    setup(u, b);
    unit_reset(u);
    for (int64_t k = unit_knob(u, "cycles"); k > 0 && unit_ok(u); k--) {
        const bool wide = tb_rng_chance(&b->rng_addr, (uint32_t)unit_knob(u, "wide"), 100);
        tb_set(b->wide_i, wide);
        for (uint32_t p = 0; p < 2; p++) {
            drive_read(u, b, p, wide);
        }
        drive_writes(b);
        unit_settle(u);
        unit_edge(u);
    }
    tb_set(b->re_i, 0);
    tb_set(b->we_i, 0);
    unit_look(u); /* what the last cycle has read */
    return 0;
}

UNIT_BENCH("ofm_buf", "sums of a tile on their way from acc to post", knobs, TB_STATE(bench, PORTS),
           .constrain = constrain);
