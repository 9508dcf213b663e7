/* dut: sac_tail */
/* Random columns to pages. */
#include "bench.h"

static const tb_knob knobs[] = {BENCH_KNOBS};

static void run(bench *b) {
    tb_rng rng = bench_stream(b, "tasks");
    const sac_build *s = bench_build(b);
    bool ok = true;
    for (int64_t i = 0; ok && bench_more(b, i); i++) {
        uint32_t w, h;
        ok = bench_next(b, &rng);
        const cm_layer_task *t = bench_task_of(b);
        sac_layer_map(t, &w, &h);
        const uint64_t rows = (uint64_t)sac_up(t->n, s->n) * h;
        const uint64_t wide = t->pool ? (t->pw - 1) * t->pool_stride + 1 : t->ow;
        ok = ok && bench_streams(b, &rng, rows * wide, rows * sac_up(w, s->w));
    }
}

const bench_unit bench_this = {.name = "unit-tail", .about = "columns to pages", TB_KNOBS_OF(knobs), .run = run};
