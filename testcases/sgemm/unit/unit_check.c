/* dut: sgemm_check */
/* Settings around the limits, aborted at random. */
#include "bench.h"

static const tb_knob knobs[] = {
    {"checks", 1, 2000, TB_KNOB_UNIFORM, NULL, NULL, "checks"},
    {"abort", 0, 50, TB_KNOB_SMALL, NULL, NULL, "percent of checks that are aborted"},
    {"wild", 0, 50, TB_KNOB_SMALL, NULL, NULL, "percent of settings that are anything"},
};

static const char *const names[] = {"a_addr_i", "b_addr_i", "c_addr_i", "lda_i", "ldb_i", "ldc_i"};

static void draw(bench *b, tb_rng *rng) {
    const uint64_t m = tb_rng_small(rng, 0, 65535), n = tb_rng_small(rng, 0, 65535), k = tb_rng_small(rng, 0, 65537);
    const uint32_t mode = (tb_rng_u32(rng) & 0x7Fu) | (tb_rng_chance(rng, 1, 20) ? 1u << tb_rng_range(rng, 7, 31) : 0);
    const bool ta = (mode >> 1 & 1) != 0, tb = (mode >> 2 & 1) != 0;
    const uint64_t rows[] = {ta ? k : m, tb ? n : k, m}, cols[] = {ta ? m : k, tb ? k : n, n};
    tb_set(bench_port(b, "m_i"), m);
    tb_set(bench_port(b, "n_i"), n);
    tb_set(bench_port(b, "k_i"), k);
    tb_set(bench_port(b, "mode_i"), mode);
    tb_set(bench_port(b, "no_ab_i"), k == 0 || tb_rng_chance(rng, 1, 8));
    for (uint32_t i = 0; i < 3; i++) {
        const uint64_t size = (mode >> (3 + i) & 1) != 0 ? 2 : 4;
        const uint64_t slack = tb_rng_small(rng, 0, 5),
                       ld = cols[i] + slack - (tb_rng_chance(rng, 1, 12) ? slack + 1 : 0);
        const uint64_t bytes = rows[i] > 0 ? ((rows[i] - 1) * (ld & 0xFFFFFF) + cols[i]) * size : 0;
        /* the last byte around 2^32, or anywhere */
        uint64_t addr = tb_rng_chance(rng, 1, 2) ? (UINT64_C(1) << 32) - bytes + tb_rng_range(rng, 0, 2) * size - size
                                                 : tb_rng_range(rng, 0, 1u << 28) * size;
        addr += tb_rng_chance(rng, 1, 12) ? tb_rng_range(rng, 1, 3) : 0;
        tb_set(bench_port(b, names[i]), addr & 0xFFFFFFFFu);
        tb_set(bench_port(b, names[3 + i]), ld & 0xFFFFFFFFu);
    }
    if (tb_rng_chance(rng, (uint32_t)bench_knob(b, "wild"), 100)) {
        bench_noise(bench_port(b, names[tb_rng_range(rng, 0, 5)]), rng);
    }
}

static void run(bench *b) {
    const tb_sig start = bench_port(b, "start_i"), clr = bench_port(b, "clr_i");
    tb_rng rng = bench_stream(b, "settings");
    for (int64_t i = 0; i < bench_knob(b, "checks"); i++) {
        const uint64_t abort =
            tb_rng_chance(&rng, (uint32_t)bench_knob(b, "abort"), 100) ? tb_rng_range(&rng, 1, 4) : 0;
        draw(b, &rng);
        for (uint64_t c = 0; c < 6; c++) {
            tb_set(start, c == 0);
            tb_set(clr, abort != 0 && c == abort);
            if (!bench_step(b)) {
                return;
            }
        }
    }
}

const bench_unit bench_this = {
    .name = "unit-check", .about = "the check of settings: around every limit", TB_KNOBS_OF(knobs), .run = run};
