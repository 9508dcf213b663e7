/* dut: sac_input */
/* Random maps from a DMA that takes jobs late and whose beats come late. */
#include "bench.h"

static const tb_knob knobs[] = {BENCH_KNOBS};

typedef struct input {
    tb_sig req, ready, bytes, valid, data, done;
    bench_stall jobs, beats;
    tb_rng values;
    uint64_t owed; /* beats of accepted jobs that have not come */
} input;

static bool cycle(bench *b, void *state) {
    input *s = (input *)state;
    const bool beat = bench_go(&s->beats) && s->owed > 0;
    tb_set(s->ready, bench_go(&s->jobs));
    tb_set(s->valid, beat);
    bench_noise(s->data, &s->values);
    bench_settle(b);
    s->owed -= beat;
    s->owed += tb_get(s->req) != 0 && tb_get(s->ready) != 0 ? tb_get(s->bytes) / 16 : 0;
    return tb_get(s->done) != 0;
}

static void run(bench *b) {
    tb_rng rng = bench_stream(b, "tasks");
    input s = {.req = bench_port(b, "req_valid_o"),
               .ready = bench_port(b, "req_ready_i"),
               .bytes = bench_port(b, "req_bytes_o"),
               .valid = bench_port(b, "dat_valid_i"),
               .data = bench_port(b, "dat_i"),
               .done = bench_port(b, "done_o"),
               .jobs = bench_stall_of(b, "stall_out"),
               .beats = bench_stall_of(b, "stall_in"),
               .values = bench_stream(b, "dat_i")};
    bool ok = true;
    for (int64_t i = 0; ok && bench_more(b, i); i++) {
        s.owed = 0;
        tb_set(s.valid, 0);
        ok = bench_next(b, &rng) && bench_until_done(b, &rng, cycle, &s) >= 0;
    }
}

const bench_unit bench_this = {
    .name = "unit-input", .about = "input_reader: random maps", TB_KNOBS_OF(knobs), .run = run};
