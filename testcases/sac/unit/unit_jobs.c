/* dut: sac_jobs */
/* The jobs of random tensors, for a DMA that takes them late. */
#include "bench.h"

static const tb_knob knobs[] = {BENCH_KNOBS};

typedef struct jobs {
    tb_sig req, ready;
    bench_stall stall;
} jobs;

static bool cycle(bench *b, void *state) {
    jobs *s = (jobs *)state;
    tb_set(s->ready, bench_go(&s->stall));
    bench_settle(b);
    return tb_get(s->req) == 0; /* the check counts them */
}

static void run(bench *b) {
    tb_rng rng = bench_stream(b, "tasks");
    jobs s = {bench_port(b, "req_valid_o"), bench_port(b, "req_ready_i"), bench_stall_of(b, "stall_out")};
    bool ok = true;
    for (int64_t i = 0; ok && bench_more(b, i); i++) {
        tb_set(bench_port(b, "full_i"), tb_rng_chance(&rng, 1, 4));
        bench_noise(bench_port(b, "base_i"), &rng);
        bench_noise(bench_port(b, "step_i"), &rng);
        tb_set(s.ready, 0);
        ok = bench_next(b, &rng) && bench_until_done(b, &rng, cycle, &s) >= 0;
    }
}

const bench_unit bench_this = {
    .name = "unit-jobs", .about = "jobs of output and residual", TB_KNOBS_OF(knobs), .run = run};
