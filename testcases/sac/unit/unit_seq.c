/* dut: sac_seq */
/* The loops of random tasks: filters arrive, and results leave, at random moments. */
#include "bench.h"

static const tb_knob knobs[] = {BENCH_KNOBS};

static void run(bench *b) {
    tb_rng rng = tb_rng_stream(b->prog->seed, "tasks");
    const sac_build *s = &b->dev.model.build;
    for (int64_t i = 0; i < bench_knob(b, "tasks"); i++) {
        cm_layer_task t;
        const tb_sig loaded = bench_port(b, "loaded_i"), pop = bench_port(b, "pop_i"), done = bench_port(b, "done_o");
        const tb_sig valid = bench_port(b, "valid_o"), last = bench_port(b, "last_o");
        bench_task(&rng, s, &t);
        bench_set_task(b, &t);
        tb_set(loaded, 0);
        uint32_t batches = 0, results = 0;
        bool ok = bench_start(b), ends = false;
        while (ok && !ends) {
            const bool leaves = results > 0 && bench_go(&rng, bench_knob(b, "stall_out"));
            batches +=
                batches < sac_up(t.n, s->n) && tb_rng_chance(&rng, 1, 50) && bench_go(&rng, bench_knob(b, "stall_in"));
            tb_set(loaded, batches);
            tb_set(pop, leaves);
            tb_run_settle(&b->dev.run);
            results += (tb_get(valid) != 0 && tb_get(last) != 0) - (uint32_t)leaves;
            ends = tb_get(done) != 0;
            ok = bench_step(b);
        }
        for (; ok && results > 0; results--) { /* the last results leave, so that there is room again */
            tb_set(pop, 1);
            ok = bench_step(b);
        }
        tb_set(pop, 0);
        if (!ok) {
            return;
        }
    }
}

const bench_unit bench_this = {
    .name = "unit-seq", .about = "the loops of random tasks", TB_KNOBS_OF(knobs), .run = run};
