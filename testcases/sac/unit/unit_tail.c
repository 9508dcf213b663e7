/* dut: sac_tail */
/* Random columns to pages. */
#include "bench.h"
#include "sac_layer.h"

static const tb_knob knobs[] = {BENCH_KNOBS};

static void run(bench *b) {
    tb_rng rng = tb_rng_stream(b->prog->seed, "tasks");
    const sac_build *s = &b->dev.model.build;
    for (int64_t i = 0; i < bench_knob(b, "tasks"); i++) {
        cm_layer_task t;
        uint32_t w, h;
        bench_task(&rng, s, &t);
        bench_set_task(b, &t);
        sac_layer_map(&t, &w, &h);
        const uint64_t rows = (uint64_t)sac_up(t.n, s->n) * h;
        const uint64_t wide = t.pool ? (t.pw - 1) * t.pool_stride + 1 : t.ow;
        if (!bench_start(b) || !bench_streams(b, &rng, rows * wide, rows * sac_up(w, s->w))) {
            return;
        }
    }
}

const bench_unit bench_this = {.name = "unit-tail", .about = "columns to pages", TB_KNOBS_OF(knobs), .run = run};
