/* dut: sgemm_seq */
/* Blocks and tiles become loaded at random moments, the lanes take passes at random moments. */
#include "bench.h"

static const tb_knob knobs[] = {
    {"tasks", 1, 20, TB_KNOB_SMALL, NULL, NULL, "GEMMs"},
    {"stall_a", 0, 90, TB_KNOB_SMALL, NULL, NULL, "percent of cycles without a loaded block of A"},
    {"stall_b", 0, 90, TB_KNOB_SMALL, NULL, NULL, "percent of cycles without a loaded block of B"},
    {"stall_c", 0, 90, TB_KNOB_SMALL, NULL, NULL, "percent of cycles without a loaded or free tile of C"},
    {"stall_pass", 0, 90, TB_KNOB_SMALL, NULL, NULL, "percent of cycles in which the lanes take no pass"},
};

/* Until all passes are taken. At most two blocks and tiles are loaded ahead, as the buffers have two halves. */
static bool passes(bench *b, uint64_t count, uint64_t slices, bool zero, bench_stall stall[4]) {
    const tb_sig a = bench_port(b, "a_loaded_i"), bb = bench_port(b, "b_loaded_i"), c = bench_port(b, "c_loaded_i");
    const tb_sig give = bench_port(b, "c_free_i"), valid = bench_port(b, "pass_valid_o");
    const tb_sig ready = bench_port(b, "pass_ready_i");
    uint64_t taken = 0, made_a = 0, made_b = 0, made_c = 0, freed = 0;
    while (taken < count) {
        const uint64_t begun = tb_div_up_u64(taken, slices), complete = taken / slices;
        const bool new_a = made_a < count && made_a - taken < 2 && bench_go(&stall[0]);
        const bool new_b = made_b < count && made_b - taken < 2 && bench_go(&stall[1]);
        const bool third = bench_go(&stall[2]);
        const bool new_c = !zero && made_c * slices < count && made_c - begun < 2 && third;
        const bool free_c = zero && freed < complete && third;
        tb_set(a, new_a);
        tb_set(bb, new_b);
        tb_set(c, new_c);
        tb_set(give, free_c);
        tb_set(ready, bench_go(&stall[3]));
        bench_settle(b);
        taken += tb_get(valid) & tb_get(ready);
        made_a += new_a;
        made_b += new_b;
        made_c += new_c;
        freed += free_c;
        if (!bench_step(b)) {
            return false;
        }
    }
    tb_set(a, 0);
    tb_set(bb, 0);
    tb_set(c, 0);
    tb_set(give, 0);
    return true;
}

static void run(bench *b) {
    static const char *const names[] = {"stall_a", "stall_b", "stall_c", "stall_pass"};
    const tb_sig start = bench_port(b, "start_i");
    tb_rng rng = bench_stream(b, "settings");
    bench_stall stall[4];
    for (size_t i = 0; i < 4; i++) {
        stall[i] = bench_stall_of(b, names[i]);
    }
    for (int64_t i = 0; i < bench_knob(b, "tasks"); i++) {
        const uint64_t m = tb_rng_range(&rng, 1, 4 * SGEMM_CFG_DIM), n = tb_rng_range(&rng, 1, 4 * SGEMM_CFG_DIM);
        const uint64_t k = tb_rng_range(&rng, 1, 4 * SGEMM_CFG_VEC), slices = tb_div_up_u64(k, SGEMM_CFG_VEC);
        const bool zero = tb_rng_chance(&rng, 1, 2);
        tb_set(bench_port(b, "m_i"), m);
        tb_set(bench_port(b, "n_i"), n);
        tb_set(bench_port(b, "k_i"), k);
        tb_set(bench_port(b, "c_zero_i"), zero);
        tb_set(start, 1);
        if (!bench_step(b)) {
            return;
        }
        tb_set(start, 0);
        if (!passes(b, tb_div_up_u64(m, SGEMM_CFG_DIM) * tb_div_up_u64(n, SGEMM_CFG_DIM) * slices, slices, zero,
                    stall)) {
            return;
        }
    }
}

const bench_unit bench_this = {.name = "unit-seq",
                               .about = "the order of passes: blocks loaded at random moments",
                               TB_KNOBS_OF(knobs),
                               .run = run};
