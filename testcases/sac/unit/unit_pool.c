/* dut: sac_pool */
/* Random maps through the max pooling. */
#include "bench.h"

static const tb_knob knobs[] = {BENCH_KNOBS};

static void run(bench *b) {
    tb_rng rng = tb_rng_stream(b->prog->seed, "tasks");
    const sac_build *s = &b->dev.model.build;
    for (int64_t i = 0; i < bench_knob(b, "tasks"); i++) {
        cm_layer_task t;
        bench_task(&rng, s, &t);
        bench_set_task(b, &t);
        const uint64_t batches = sac_up(t.n, s->n), columns = batches * t.ow * t.oh;
        const uint64_t pooled = batches * t.ph * ((t.pw - 1) * t.pool_stride + 1);
        if (!bench_start(b) || !bench_streams(b, &rng, columns, t.pool ? pooled : columns)) {
            return;
        }
    }
}

const bench_unit bench_this = {
    .name = "unit-pool", .about = "max pooling: random maps", TB_KNOBS_OF(knobs), .run = run};
