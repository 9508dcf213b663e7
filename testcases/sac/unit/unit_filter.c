/* dut: sac_filter */
/*
 * DTAB, PARAM and filters of random tasks from a DMA that takes jobs late and whose beats come late; the geometry is
 * known, and batches are computed and written, at random moments.
 */
#include "bench.h"

static const tb_knob knobs[] = {BENCH_KNOBS, BENCH_STALL("compute", "in which no batch is computed"),
                                BENCH_STALL("drain", "in which no batch leaves the writer")};

typedef struct filter {
    bench_source beats;
    bench_stall jobs, compute, drain;
    tb_sig go, req, ready, bytes, loaded, computed_i, drained_i;
    bool known;                 /* the geometry */
    uint64_t owed;              /* beats of accepted jobs that have not been offered */
    uint32_t computed, drained; /* batches */
} filter;

static bool cycle(bench *b, void *state) {
    filter *s = (filter *)state;
    const uint32_t loaded = (uint32_t)tb_get(s->loaded), batches = sac_up(bench_task_of(b)->n, bench_build(b)->n);
    const bool compute = bench_go(&s->compute), drain = bench_go(&s->drain);
    tb_set(s->go, !s->known && compute);
    s->known = s->known || compute;
    s->drained += drain && s->drained < s->computed;
    s->computed += compute && s->computed < loaded;
    tb_set(s->computed_i, s->computed);
    tb_set(s->drained_i, s->drained);
    tb_set(s->ready, bench_go(&s->jobs));
    s->owed -= bench_offer(&s->beats, s->owed > 0);
    bench_settle(b);
    bench_taken(&s->beats);
    s->owed += tb_get(s->req) != 0 && tb_get(s->ready) != 0 ? (tb_get(s->bytes) + 15) / 16 : 0;
    return loaded == batches && s->drained == batches;
}

static void run(bench *b) {
    tb_rng rng = bench_stream(b, "tasks");
    filter s = {.beats = bench_source_of(b, "dat_valid_i", "dat_ready_o", "dat_i", "stall_in"),
                .jobs = bench_stall_of(b, "stall_out"),
                .compute = bench_stall_of(b, "stall_compute"),
                .drain = bench_stall_of(b, "stall_drain"),
                .go = bench_port(b, "go_i"),
                .req = bench_port(b, "req_valid_o"),
                .ready = bench_port(b, "req_ready_i"),
                .bytes = bench_port(b, "req_bytes_o"),
                .loaded = bench_port(b, "loaded_o"),
                .computed_i = bench_port(b, "computed_i"),
                .drained_i = bench_port(b, "drained_i")};
    bool ok = true;
    for (int64_t i = 0; ok && bench_more(b, i); i++) {
        s.known = tb_rng_chance(&rng, 1, 3); /* in the cycle of the start: nothing has to be read before */
        s.owed = s.computed = s.drained = 0;
        s.beats.offered = false;
        tb_set(s.beats.valid, 0);
        tb_set(s.computed_i, 0);
        tb_set(s.drained_i, 0);
        tb_set(s.go, s.known);
        ok = bench_next(b, &rng);
        tb_set(s.go, 0);
        ok = ok && bench_until_done(b, &rng, cycle, &s) >= 0;
        tb_set(s.go, 0);
    }
}

const bench_unit bench_this = {
    .name = "unit-filter", .about = "filter_reader: random filters", TB_KNOBS_OF(knobs), .run = run};
