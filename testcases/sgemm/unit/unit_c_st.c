/* dut: sgemm_c_st */
/* Random tiles that complete at random moments; the DMA channel accepts jobs and beats late. */
#include "bench.h"

static const tb_knob knobs[] = {
    {"tasks", 1, 8, TB_KNOB_SMALL, NULL, NULL, "matrices"},
    {"stall_tile", 0, 95, TB_KNOB_SMALL, NULL, NULL, "percent of cycles in which no tile is complete"},
    {"stall_job", 0, 90, TB_KNOB_SMALL, NULL, NULL, "percent of cycles in which no job is accepted"},
    {"stall_data", 0, 90, TB_KNOB_SMALL, NULL, NULL, "percent of cycles in which no beat is accepted"},
};

static uint64_t size(tb_rng *rng) {
    return tb_rng_chance(rng, 1, 3) ? tb_rng_range(rng, 1, 3) * SGEMM_CFG_DIM
                                    : tb_rng_range(rng, 1, 2 * SGEMM_CFG_DIM + 1);
}

static bool store(bench *b, uint64_t tiles, bool zero, bench_stall stall[3], tb_rng *rng) {
    const tb_sig tile = bench_port(b, "tile_i"), free_o = bench_port(b, "free_o"), done = bench_port(b, "done_o");
    const tb_sig ready = bench_port(b, "req_ready_i"), dat_ready = bench_port(b, "dat_ready_i");
    const tb_sig rdata = bench_port(b, "rdata_i");
    uint64_t made = 0, stored = 0;
    for (bool finished = false; !finished;) {
        const bool complete = !zero && made < tiles && made - stored < 2 && bench_go(&stall[0]);
        tb_set(tile, complete);
        tb_set(ready, bench_go(&stall[1]));
        tb_set(dat_ready, bench_go(&stall[2]));
        bench_floats(rdata, rng);
        bench_settle(b);
        made += complete;
        stored += tb_get(free_o);
        finished = stored == tiles && tb_get(done) != 0;
        if (!bench_step(b)) {
            return false;
        }
    }
    return true;
}

static void run(bench *b) {
    static const char *const names[] = {"stall_tile", "stall_job", "stall_data"};
    const tb_sig start = bench_port(b, "start_i");
    tb_rng rng = bench_stream(b, "settings"), values = bench_stream(b, "values");
    bench_stall stall[3];
    for (size_t i = 0; i < 3; i++) {
        stall[i] = bench_stall_of(b, names[i]);
    }
    for (int64_t i = 0; i < bench_knob(b, "tasks"); i++) {
        const uint64_t m = size(&rng), n = size(&rng);
        const bool zero = tb_rng_chance(&rng, 1, 6);
        tb_set(bench_port(b, "m_i"), m);
        tb_set(bench_port(b, "n_i"), n);
        bench_noise(bench_port(b, "addr_i"), &rng);
        tb_set(bench_port(b, "ld_i"), tb_rng_range(&rng, 1, 100000));
        bench_noise(bench_port(b, "f16_i"), &rng);
        tb_set(bench_port(b, "zero_i"), zero);
        tb_set(start, 1);
        tb_set(bench_port(b, "tile_i"), 0);
        if (!bench_step(b)) {
            return;
        }
        tb_set(start, 0);
        if (!store(b, tb_div_up_u64(m, SGEMM_CFG_DIM) * tb_div_up_u64(n, SGEMM_CFG_DIM), zero, stall, &values)) {
            return;
        }
    }
}

const bench_unit bench_this = {.name = "unit-c_st", .about = "the store: random tiles", TB_KNOBS_OF(knobs), .run = run};
