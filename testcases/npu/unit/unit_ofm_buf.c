/* dut: ofm_buf */
/*
 * Columns write pairs of pixels at their own pace; words of four pixels are read while their ring still holds them, one of a column of the port's parity or, wide,
 * those of several neighbouring columns from the port's bank. A column never runs more than its 1024 pixel pairs ahead of what has been freed, as im2col's credit
 * guarantees.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

#define N ((uint32_t)NPU_CFG_N)
#define PAIRS 1024u /* of a column */
#define WORDS (PAIRS / 2)
#define COLS (N >= 16 ? 4u : N / 4) /* columns of a wide read */

static const tb_knob knobs[] = {
    {"cycles", 1, 1000000, TB_KNOB_UNIFORM, NULL, NULL, "cycles"},
    {"wide", 0, 100, TB_KNOB_UNIFORM, NULL, NULL, "percent of cycles with wide reads"},
    {"free", 1, 100, TB_KNOB_UNIFORM, NULL, NULL, "percent of reads after which the oldest words are freed"},
    UNIT_STALL_KNOB("wr", "percent of cycles in which a column rests"),
    UNIT_STALL_KNOB("rd", "percent of cycles in which a read port rests"),
    UNIT_STALL_RUN_KNOB,
};

static void constrain(tb_knobs *k, uint64_t seed) {
    tb_knobs_draw_in(k, "cycles", seed, 4000, 8000);
}

typedef struct bench {
    tb_sig we, wdata[2], wide, re, rcol[2], raddr[2], rdata[2];
    int32_t mem[32][PAIRS][2];
    uint64_t pairs[32];  /* written by each column */
    uint64_t oldest[32]; /* pairs before this one are freed */
    unit_stall wr[32], rd[2];
    tb_rng rng_data, rng_addr;
} bench;

/* What a port reads: `cols` columns from `col` on. */
typedef struct access {
    bool on;
    uint32_t col, cols;
    uint64_t word;
    int32_t expected[4][4];
} access;

/* Choose a word that all columns hold completely, wide: of the port's bank. */
static void drive_read(const unit *u, bench *b, uint32_t port, bool wide, access *a) {
    a->cols = wide ? COLS : 1;
    const uint32_t index = (uint32_t)tb_rng_range(&b->rng_addr, 0, wide ? N / COLS - 1 : N / 2 - 1);
    a->col = wide ? COLS * index : 2 * index + port;
    uint64_t first = 0;
    uint64_t end = UINT64_MAX;
    for (uint32_t c = a->col; c < a->col + a->cols; c++) {
        first = b->oldest[c] / 2 > first ? b->oldest[c] / 2 : first;
        end = b->pairs[c] / 2 < end ? b->pairs[c] / 2 : end;
    }
    a->word = tb_rng_range(&b->rng_addr, first, first < end ? end - 1 : first);
    if (wide && a->word % 2 != port) {
        a->word += a->word + 1 < end ? 1 : a->word > first ? UINT64_MAX : 0; /* one on, or one back */
    }
    a->on = unit_go(&b->rd[port]) && first < end && (!wide || a->word % 2 == port);
    tb_set_field(b->re, port, 1, a->on);
    tb_set(b->rcol[port], index);
    tb_set(b->raddr[port], (wide ? a->word ^ tb_rng_range(&b->rng_addr, 0, 1) : a->word) % WORDS);
    if (!a->on) {
        return;
    }
    for (uint32_t j = 0; j < a->cols; j++) {
        memcpy(a->expected[j], b->mem[a->col + j][(2 * a->word) % PAIRS], sizeof a->expected[j]);
    }
    /* words are freed sometimes, so that the ring goes round */
    if (tb_rng_chance(&b->rng_addr, (uint32_t)unit_knob(u, "free"), 100)) {
        for (uint32_t c = a->col; c < a->col + a->cols; c++) {
            b->oldest[c] = 2 * (b->oldest[c] / 2 + 1 < end ? b->oldest[c] / 2 + 1 : end);
        }
    }
}

static void drive_writes(bench *b) {
    for (uint32_t c = 0; c < N; c++) {
        const bool on = unit_go(&b->wr[c]) && b->pairs[c] - b->oldest[c] < PAIRS - 4;
        tb_set_field(b->we, c, 1, on);
        for (uint32_t s = 0; s < 2; s++) {
            const int32_t value = (int32_t)tb_rng_u32(&b->rng_data);
            unit_set_slice(b->wdata[s], 4 * c, &value, 4);
            if (on) {
                b->mem[c][b->pairs[c] % PAIRS][s] = value;
            }
        }
        b->pairs[c] += on;
    }
}

static void setup(unit *u, bench *b) {
    b->we = unit_port(u, "we_i");
    b->wide = unit_port(u, "wide_i");
    b->re = unit_port(u, "re_i");
    const char *const names[2][4] = {{"wdata0_i", "rcol0_i", "raddr0_i", "rdata0_o"}, {"wdata1_i", "rcol1_i", "raddr1_i", "rdata1_o"}};
    for (uint32_t p = 0; p < 2; p++) {
        b->wdata[p] = unit_port(u, names[p][0]);
        b->rcol[p] = unit_port(u, names[p][1]);
        b->raddr[p] = unit_port(u, names[p][2]);
        b->rdata[p] = unit_port(u, names[p][3]);
        b->rd[p] = unit_stall_make(u, "rd");
        b->rd[p].rng = tb_rng_fork(&b->rd[p].rng, p);
    }
    for (uint32_t c = 0; c < N; c++) {
        b->wr[c] = unit_stall_make(u, "wr");
        b->wr[c].rng = tb_rng_fork(&b->wr[c].rng, c);
    }
    b->rng_data = unit_stream(u, "values");
    b->rng_addr = unit_stream(u, "addr");
}

static int run(unit *u) {
    bench *b = calloc(1, sizeof *b);
    if (!b || unit_expect_init(u, 4, "pixel", 4, true) != 0) {
        free(b);
        return -1;
    }
    setup(u, b);
    unit_reset(u);
    for (int64_t k = unit_knob(u, "cycles"); k > 0 && unit_ok(u); k--) {
        access a[2];
        const bool wide = tb_rng_chance(&b->rng_addr, (uint32_t)unit_knob(u, "wide"), 100);
        tb_set(b->wide, wide);
        for (uint32_t p = 0; p < 2; p++) {
            drive_read(u, b, p, wide, &a[p]);
        }
        drive_writes(b);
        unit_settle(u);
        if (!unit_edge(u)) {
            break;
        }
        for (uint32_t p = 0; p < 2; p++) {
            int32_t got[4];
            for (uint32_t j = 0; a[p].on && j < a[p].cols; j++) {
                unit_get_slice(b->rdata[p], 16 * j, got, sizeof got);
                unit_compare(u, got, a[p].expected[j], 4, "port %" PRIu32 ", %s read, column %" PRIu32 ", word %" PRIu64, p,
                             wide ? "wide" : "narrow", a[p].col + j, a[p].word);
            }
        }
    }
    free(b);
    return 0;
}

const unit_bench unit_this_bench = {.name = "ofm_buf",
                                    .about = "sums of a tile on their way from acc to post",
                                    .knobs = knobs,
                                    .nknobs = sizeof knobs / sizeof *knobs,
                                    .constrain = constrain,
                                    .run = run};
