/* dut: sgemm_c_buf */
/* Lanes, loader and store at once: the lanes read one half and write that or, at the end of a tile, still the one
 * before; loader and store use the halves that are left. */
#include "bench.h"

static const tb_knob knobs[] = {
    {"tiles", 1, 60, TB_KNOB_SMALL, NULL, NULL, "how often the halves change"},
    {"stall_lanes", 0, 95, TB_KNOB_SMALL, NULL, NULL, "percent of cycles in which the lanes do not read"},
    {"stall_sums", 0, 95, TB_KNOB_SMALL, NULL, NULL, "percent of cycles in which they do not write"},
    {"stall_load", 0, 95, TB_KNOB_SMALL, NULL, NULL, "percent of cycles without a word of the loader"},
    {"stall_store", 0, 95, TB_KNOB_SMALL, NULL, NULL, "percent of cycles in which the store does not read"},
};

#define WORDS (SGEMM_CFG_DIM / SGEMM_CFG_R * (SGEMM_CFG_DIM / 4)) /* of a bank and half */

/* A word of a tile: few of them, so that reads meet what was written. */
static uint64_t word(tb_rng *rng) {
    return tb_rng_chance(rng, 3, 4) ? tb_rng_small(rng, 0, WORDS - 1) : tb_rng_range(rng, 0, WORDS - 1);
}

static void lanes(bench *b, const uint64_t half[2], bench_stall stall[4], tb_rng *rng) {
    const uint64_t sums = bench_go(&stall[1]) ? tb_rng_range(rng, 1, (1u << SGEMM_CFG_R) - 1) : 0;
    tb_set(bench_port(b, "m_re_i"), bench_go(&stall[0]));
    tb_set(bench_port(b, "m_rhalf_i"), half[0]);
    tb_set(bench_port(b, "m_raddr_i"), word(rng));
    tb_set(bench_port(b, "m_we_i"), sums);
    tb_set(bench_port(b, "m_whalf_i"), half[1]);
    tb_set(bench_port(b, "m_waddr_i"), word(rng));
    tb_set(bench_port(b, "m_wsel_i"), 1u << tb_rng_range(rng, 0, 3));
    bench_noise(bench_port(b, "m_wdata_i"), rng);
}

static void others(bench *b, const uint64_t half[2], bench_stall stall[4], tb_rng *rng) {
    tb_set(bench_port(b, "l_we_i"), bench_go(&stall[2]));
    tb_set(bench_port(b, "l_half_i"), half[1] ^ 1);
    tb_set(bench_port(b, "l_bank_i"), tb_rng_range(rng, 0, SGEMM_CFG_R - 1));
    tb_set(bench_port(b, "l_addr_i"), word(rng));
    tb_set(bench_port(b, "l_mask_i"), tb_rng_chance(rng, 1, 3) ? (1u << tb_rng_range(rng, 1, 3)) - 1 : 15);
    bench_noise(bench_port(b, "l_data_i"), rng);
    tb_set(bench_port(b, "s_re_i"), bench_go(&stall[3]));
    tb_set(bench_port(b, "s_half_i"), half[0] ^ 1);
    tb_set(bench_port(b, "s_bank_i"), tb_rng_range(rng, 0, SGEMM_CFG_R - 1));
    tb_set(bench_port(b, "s_addr_i"), word(rng));
}

static void run(bench *b) {
    static const char *const names[] = {"stall_lanes", "stall_sums", "stall_load", "stall_store"};
    tb_rng rng = bench_stream(b, "words");
    bench_stall stall[4];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        stall[i] = bench_stall_of(b, names[i]);
    }
    uint64_t half[2] = {0, 0}; /* the lanes read, the lanes write */
    for (int64_t i = 0; i < bench_knob(b, "tiles"); i++) {
        const uint64_t late = tb_rng_range(&rng, 0, SGEMM_CFG_VEC + 2); /* sums of the tile before are under way */
        const uint64_t cycles = late + tb_rng_range(&rng, 1, 4 * WORDS);
        for (uint64_t c = 0; c < cycles; c++) {
            half[1] = c < late ? half[1] : half[0];
            lanes(b, half, stall, &rng);
            others(b, half, stall, &rng);
            if (!bench_step(b)) {
                return;
            }
        }
        half[0] ^= 1;
    }
}

const bench_unit bench_this = {
    .name = "unit-c_buf", .about = "the C buffer: lanes, loader and store at once", TB_KNOBS_OF(knobs), .run = run};
