/* dut: sac_setup */
/* Random tasks, legal and not: sizes and verdict. */
#include "bench.h"

static const tb_knob knobs[] = {
    {"tasks", 1, 2000, TB_KNOB_SMALL, NULL, NULL, "one after the other"},
    {"abort", 0, 60, TB_KNOB_SMALL, NULL, NULL, "percent of tasks that are aborted"},
    {"wild", 0, 100, TB_KNOB_UNIFORM, NULL, NULL, "percent of tasks with a size of any value"},
};

/* One size of any value that its register holds. */
static void spoil(tb_rng *rng, cm_layer_task *t) {
    uint32_t *const sizes[] = {&t->w, &t->h, &t->c, &t->n, &t->ow, &t->oh, &t->pw, &t->ph, &t->kw, &t->kh, &t->stride};
    static const uint32_t most[] = {1023, 1023, 8191, 8191, 1023, 1023, 1023, 1023, 15, 15, 7};
    const size_t i = tb_rng_range(rng, 0, 10);
    *sizes[i] = (uint32_t)tb_rng_range(rng, 0, most[i]);
    if (tb_rng_chance(rng, 1, 4)) {
        t->dst_cache = true;
        t->full = (uint32_t)tb_rng_range(rng, 0, 3);
    }
}

static bool cycle(bench *b, void *state) {
    bench_settle(b);
    return tb_get(*(tb_sig *)state) != 0;
}

static void run(bench *b) {
    tb_rng rng = bench_stream(b, "tasks");
    tb_sig done = bench_port(b, "done_o");
    bool ok = true;
    for (int64_t i = 0; ok && bench_more(b, i); i++) {
        cm_layer_task t;
        bench_task(&rng, bench_build(b), &t);
        while (tb_rng_chance(&rng, (uint32_t)bench_knob(b, "wild"), 150)) {
            spoil(&rng, &t);
        }
        bench_set_task(b, &t);
        ok = bench_pulse(b, "start_i") && bench_until_done(b, &rng, cycle, &done) >= 0;
    }
}

const bench_unit bench_this = {.name = "unit-setup", .about = "sizes of random tasks", TB_KNOBS_OF(knobs), .run = run};
