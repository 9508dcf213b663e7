/* dut: sac_seq */
/* The loops of random tasks: filters arrive, and results leave, at random moments. */
#include "bench.h"

static const tb_knob knobs[] = {BENCH_KNOBS};

typedef struct loops {
    tb_sig loaded, pop, done, valid, last;
    bench_stall in, out;
    tb_rng rng;
    uint32_t batches, results; /* loaded; behind the unit */
} loops;

static bool cycle(bench *b, void *state) {
    loops *s = (loops *)state;
    const bool leaves = bench_go(&s->out) && s->results > 0;
    s->batches += s->batches < sac_up(bench_task_of(b)->n, bench_build(b)->n) && tb_rng_chance(&s->rng, 1, 50) &&
                  bench_go(&s->in);
    tb_set(s->loaded, s->batches);
    tb_set(s->pop, leaves);
    bench_settle(b);
    s->results += (tb_get(s->valid) != 0 && tb_get(s->last) != 0) - (uint32_t)leaves;
    return tb_get(s->done) != 0;
}

static void run(bench *b) {
    tb_rng rng = bench_stream(b, "tasks");
    loops s = {.loaded = bench_port(b, "loaded_i"),
               .pop = bench_port(b, "pop_i"),
               .done = bench_port(b, "done_o"),
               .valid = bench_port(b, "valid_o"),
               .last = bench_port(b, "last_o"),
               .in = bench_stall_of(b, "stall_in"),
               .out = bench_stall_of(b, "stall_out"),
               .rng = bench_stream(b, "batches")};
    bool ok = true;
    for (int64_t i = 0; ok && bench_more(b, i); i++) {
        s.batches = s.results = 0;
        tb_set(s.loaded, 0);
        tb_set(s.pop, 0);
        ok = bench_next(b, &rng);
        const int end = ok ? bench_until_done(b, &rng, cycle, &s) : -1;
        for (ok = end >= 0; ok && end == 1 && s.results > 0; s.results--) { /* the last ones leave */
            ok = bench_pulse(b, "pop_i");
        }
    }
}

const bench_unit bench_this = {
    .name = "unit-seq", .about = "the loops of random tasks", TB_KNOBS_OF(knobs), .run = run};
