/* dut: sgemm_mac */
/* Random passes at random distances; the buffers answer with any values. */
#include "bench.h"

static const tb_knob knobs[] = {
    {"passes", 1, 60, TB_KNOB_SMALL, NULL, NULL, "passes"},
    {"stall_pass", 0, 95, TB_KNOB_SMALL, NULL, NULL, "percent of cycles without a pass"},
};

static uint64_t size(tb_rng *rng, uint64_t block) {
    return tb_rng_chance(rng, 1, 3) ? block : tb_rng_range(rng, 1, block);
}

static void run(bench *b) {
    const tb_sig valid = bench_port(b, "pass_valid_i"), ready = bench_port(b, "pass_ready_o");
    const tb_sig mb = bench_port(b, "pass_mb_i"), nb = bench_port(b, "pass_nb_i"), kb = bench_port(b, "pass_kb_i");
    const tb_sig half = bench_port(b, "pass_half_i"), c_half = bench_port(b, "pass_c_half_i");
    const tb_sig zero = bench_port(b, "pass_c_zero_i"), last = bench_port(b, "pass_last_i");
    const tb_sig data[] = {bench_port(b, "a_i"), bench_port(b, "b_i"), bench_port(b, "c_rdata_i")};
    tb_rng rng = bench_stream(b, "passes"), values = bench_stream(b, "values");
    bench_stall stall = bench_stall_of(b, "stall_pass");
    uint64_t left = (uint64_t)bench_knob(b, "passes");
    for (uint64_t idle = 0; idle < SGEMM_CFG_VEC + 4;) {
        const bool offer = left > 0 && bench_go(&stall);
        tb_set(valid, offer);
        tb_set(mb, size(&rng, SGEMM_CFG_DIM));
        tb_set(nb, size(&rng, SGEMM_CFG_DIM));
        tb_set(kb, size(&rng, SGEMM_CFG_VEC));
        bench_noise(half, &rng);
        bench_noise(c_half, &rng);
        bench_noise(zero, &rng);
        bench_noise(last, &rng);
        for (size_t i = 0; i < sizeof data / sizeof *data; i++) {
            bench_floats(data[i], &values);
        }
        bench_settle(b);
        const bool taken = offer && tb_get(ready) != 0;
        left -= taken;
        idle = left > 0 || tb_get(ready) == 0 || taken ? 0 : idle + 1;
        if (!bench_step(b)) {
            return;
        }
    }
}

const bench_unit bench_this = {.name = "unit-mac", .about = "the lanes: random passes", TB_KNOBS_OF(knobs), .run = run};
