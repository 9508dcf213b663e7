/* dut: sac_relu */
/* Results of an array that are complete at random moments; what is behind takes columns late. */
#include "bench.h"

#define DEPTH 16u /* results that the array holds */

static const tb_knob knobs[] = {BENCH_KNOBS};

typedef struct relu {
    tb_sig done, pop, read, a, valid, ready;
    bench_stall in, out;
    tb_rng values;
    uint64_t results, columns;    /* of the task */
    uint64_t made, popped, taken; /* so far */
    bool moves;
} relu;

static bool cycle(bench *b, void *state) {
    relu *s = (relu *)state;
    const bool done = bench_go(&s->in) && s->made < s->results && s->made - s->popped < DEPTH;
    tb_set(s->done, done);
    if (s->moves) { /* the array's read moved at the last edge */
        bench_noise(s->a, &s->values);
    }
    tb_set(s->ready, bench_go(&s->out));
    bench_settle(b);
    s->made += done;
    s->popped += tb_get(s->pop);
    s->taken += tb_get(s->valid) != 0 && tb_get(s->ready) != 0;
    s->moves = tb_get(s->read) != 0;
    return s->taken == s->columns && s->popped == s->results;
}

static void run(bench *b) {
    tb_rng rng = bench_stream(b, "tasks");
    relu s = {.done = bench_port(b, "done_i"),
              .pop = bench_port(b, "pop_o"),
              .read = bench_port(b, "rd_en_o"),
              .a = bench_port(b, "a_i"),
              .valid = bench_port(b, "valid_o"),
              .ready = bench_port(b, "ready_i"),
              .in = bench_stall_of(b, "stall_in"),
              .out = bench_stall_of(b, "stall_out"),
              .values = bench_stream(b, "a_i")};
    bool ok = true;
    for (int64_t i = 0; ok && bench_more(b, i); i++) {
        tb_set(s.done, 0);
        ok = bench_next(b, &rng);
        const cm_layer_task *t = bench_task_of(b);
        const sac_build *d = bench_build(b);
        const uint64_t rows = (uint64_t)sac_up(t->n, d->n) * t->oh;
        s.results = rows * sac_up((t->ow - 1) * t->stride + 1, t->kw == 1 ? d->w : d->w - 2);
        s.columns = rows * t->ow;
        s.made = s.popped = s.taken = 0;
        ok = ok && bench_until_done(b, &rng, cycle, &s) >= 0;
    }
}

const bench_unit bench_this = {
    .name = "unit-relu", .about = "relu: columns of random results", TB_KNOBS_OF(knobs), .run = run};
