/* dut: ofm_buf */
/*
 * Columns write pairs of pixels at their own pace; words of four pixels are read while their ring still holds them. A column never runs more than its 1024 pixel
 * pairs ahead of what has been freed, as im2col's credit guarantees.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

#define N ((uint32_t)NPU_CFG_N)
#define PAIRS 1024u /* of a column */
#define WORDS (PAIRS / 2)

static const tb_knob knobs[] = {
    {"cycles", 1, 1000000, TB_KNOB_UNIFORM, NULL, NULL, "cycles"},
    UNIT_STALL_KNOB("wr", "percent of cycles in which a column rests"),
    UNIT_STALL_KNOB("rd", "percent of cycles in which a read port rests"),
    UNIT_STALL_RUN_KNOB,
};

static void constrain(tb_knobs *k, uint64_t seed) {
    tb_knobs_draw_in(k, "cycles", seed, 4000, 8000);
}

typedef struct bench {
    tb_sig we, wdata[2], re, rcol[2], raddr[2], rdata[2];
    int32_t mem[32][PAIRS][2];
    uint64_t pairs[32];  /* written by each column */
    uint64_t oldest[32]; /* pairs before this one are freed */
    unit_stall wr[32], rd[2];
    tb_rng rng_data, rng_addr;
} bench;

/* Choose a complete word of a column of this port's parity; false: none. */
static bool drive_read(bench *b, uint32_t port, int32_t *expected, uint32_t *col, uint64_t *word) {
    *col = 2 * (uint32_t)tb_rng_range(&b->rng_addr, 0, N / 2 - 1) + port;
    const uint64_t first = b->oldest[*col] / 2;
    const uint64_t end = b->pairs[*col] / 2;
    const bool on = unit_go(&b->rd[port]) && first < end;
    *word = tb_rng_range(&b->rng_addr, first, first < end ? end - 1 : first);
    tb_set_field(b->re, port, 1, on);
    tb_set(b->rcol[port], *col / 2);
    tb_set(b->raddr[port], *word % WORDS);
    if (on) {
        memcpy(expected, b->mem[*col][(2 * *word) % PAIRS], 4 * sizeof *expected);
        /* the oldest word is freed sometimes, so that the ring goes round */
        if (tb_rng_chance(&b->rng_addr, 3, 4)) {
            b->oldest[*col] = 2 * (first + 1);
        }
    }
    return on;
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
        int32_t expected[2][4], got[4];
        uint32_t col[2];
        uint64_t word[2];
        bool on[2];
        for (uint32_t p = 0; p < 2; p++) {
            on[p] = drive_read(b, p, expected[p], &col[p], &word[p]);
        }
        drive_writes(b);
        unit_settle(u);
        if (!unit_edge(u)) {
            break;
        }
        for (uint32_t p = 0; p < 2; p++) {
            if (on[p]) {
                unit_get_slice(b->rdata[p], 0, got, sizeof got);
                unit_compare(u, got, expected[p], 4, "port %" PRIu32 ", column %" PRIu32 ", word %" PRIu64, p, col[p], word[p]);
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
