/* dut: sgemm_ld params: -GScale=1 -GRound=1 */
/* Random operands; the DMA channel answers its jobs late, the lanes free the buffer late. */
#include "bench.h"

static const tb_knob knobs[] = {
    {"tasks", 1, 8, TB_KNOB_SMALL, NULL, NULL, "operands"},
    {"stall_job", 0, 90, TB_KNOB_SMALL, NULL, NULL, "percent of cycles in which no job is accepted"},
    {"stall_data", 0, 90, TB_KNOB_SMALL, NULL, NULL, "percent of cycles without data"},
    {"stall_free", 0, 95, TB_KNOB_SMALL, NULL, NULL, "percent of cycles in which no half of the buffer becomes free"},
    {"stall_allow", 0, 90, TB_KNOB_SMALL, NULL, NULL, "percent of cycles in which no block may be requested"},
};

static uint64_t size(tb_rng *rng, uint64_t block) {
    return tb_rng_chance(rng, 1, 3) ? tb_rng_range(rng, 1, 3) * block : tb_rng_range(rng, 1, 2 * block + 1);
}

/* Settings of an operand; returns the blocks of its walk. */
static uint64_t draw(bench *b, tb_rng *rng) {
    static const uint8_t ways[][2] = {{0, 2}, {2, 0}, {2, 1}, {1, 2}, {0, 1}};
    const uint8_t *way = ways[tb_rng_range(rng, 0, 4)];
    const uint64_t m = size(rng, SGEMM_CFG_DIM), n = size(rng, SGEMM_CFG_DIM), k = size(rng, SGEMM_CFG_VEC);
    tb_set(bench_port(b, "m_i"), m);
    tb_set(bench_port(b, "n_i"), n);
    tb_set(bench_port(b, "k_i"), k);
    tb_set(bench_port(b, "outer_i"), way[0]);
    tb_set(bench_port(b, "inner_i"), way[1]);
    bench_noise(bench_port(b, "addr_i"), rng);
    tb_set(bench_port(b, "ld_i"), tb_rng_range(rng, 1, 100000));
    bench_noise(bench_port(b, "f16_i"), rng);
    bench_noise(bench_port(b, "half_i"), rng);
    bench_floats(bench_port(b, "factor_i"), rng);
    return tb_div_up_u64(m, SGEMM_CFG_DIM) * tb_div_up_u64(n, SGEMM_CFG_DIM) * tb_div_up_u64(k, SGEMM_CFG_VEC);
}

/* Until all blocks are loaded. */
static bool load(bench *b, uint64_t blocks, bench_stall stall[4], tb_rng *rng) {
    const tb_sig valid = bench_port(b, "req_valid_o"), bytes = bench_port(b, "req_bytes_o");
    const tb_sig ready = bench_port(b, "req_ready_i"), loaded = bench_port(b, "loaded_o");
    const tb_sig dat_valid = bench_port(b, "dat_valid_i"), dat_ready = bench_port(b, "dat_ready_o");
    const tb_sig dat = bench_port(b, "dat_i"), allow = bench_port(b, "allow_i"), give = bench_port(b, "free_i");
    uint64_t beats = 0, full = 0, done = 0;
    bool held = false; /* a beat waits: it stays as it is */
    while (done < blocks) {
        const bool data = held || (beats > 0 && bench_go(&stall[1]));
        const bool frees = full > 0 && bench_go(&stall[2]);
        tb_set(ready, bench_go(&stall[0]));
        tb_set(dat_valid, data);
        if (!held) {
            bench_floats(dat, rng);
        }
        tb_set(give, frees);
        tb_set(allow, bench_go(&stall[3]));
        bench_settle(b);
        held = data && tb_get(dat_ready) == 0;
        beats -= data && !held;
        beats += tb_get(valid) != 0 && tb_get(ready) != 0 ? (tb_get(bytes) + 15) / 16 : 0;
        full = full + (tb_get(loaded) != 0) - frees;
        done += tb_get(loaded) != 0;
        if (!bench_step(b)) {
            return false;
        }
    }
    tb_set(ready, 0);
    tb_set(dat_valid, 0);
    tb_set(give, 0);
    return bench_step(b);
}

static void run(bench *b) {
    static const char *const names[] = {"stall_job", "stall_data", "stall_free", "stall_allow"};
    const tb_sig start = bench_port(b, "start_i");
    tb_rng rng = bench_stream(b, "settings"), values = bench_stream(b, "values");
    bench_stall stall[4];
    for (size_t i = 0; i < 4; i++) {
        stall[i] = bench_stall_of(b, names[i]);
    }
    for (int64_t i = 0; i < bench_knob(b, "tasks"); i++) {
        const uint64_t blocks = draw(b, &rng);
        tb_set(start, 1);
        if (!bench_step(b)) {
            return;
        }
        tb_set(start, 0);
        if (!load(b, blocks, stall, &values)) {
            return;
        }
    }
}

const bench_unit bench_this = {.name = "unit-ld", .about = "a loader: random operands", TB_KNOBS_OF(knobs), .run = run};
