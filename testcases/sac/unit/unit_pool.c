/* dut: sac_pool */
/* Random maps through the max pooling. */
#include "bench.h"

static const tb_knob knobs[] = {BENCH_KNOBS};

static void run(bench *b) {
    tb_rng rng = bench_stream(b, "tasks");
    bool ok = true;
    for (int64_t i = 0; ok && bench_more(b, i); i++) {
        ok = bench_next(b, &rng);
        const cm_layer_task *t = bench_task_of(b);
        const uint64_t batches = sac_up(t->n, bench_build(b)->n), columns = batches * t->ow * t->oh;
        const uint64_t pooled = batches * t->ph * ((t->pw - 1) * t->pool_stride + 1);
        ok = ok && bench_streams(b, &rng, columns, t->pool ? pooled : columns);
    }
}

const bench_unit bench_this = {
    .name = "unit-pool", .about = "max pooling: random maps", TB_KNOBS_OF(knobs), .run = run};
