/* dut: sac_pe */
/*
 * Batches of random filters and vectors through the array: vectors come, and results are read, at random moments, while
 * PARAM and filters of the next batch are written. The array waits for nothing, so stalls are gaps.
 */
#include "bench.h"

#define DEPTH 16u /* results that the array holds */

static const tb_knob knobs[] = {{"tasks", 1, 16, TB_KNOB_SMALL, NULL, NULL, "one after the other"},
                                BENCH_STALL("in", "without a vector"),
                                BENCH_STALL("load", "without a filter word"),
                                BENCH_STALL("out", "in which no result is read")};

typedef struct pe {
    tb_sig valid, flags, x;
    tb_sig f_valid, f_n, f_half, f_addr, f;
    tb_sig done, rd_en, rd_slot, rd_col, rd_place;
    bench_params params;
    bench_stall in, load, out;
    tb_rng rng;
    uint32_t batches, words, at, per_batch, red; /* of the task: first word; results of a batch, vectors of a result */
    bool k1;
    uint32_t loaded, word;            /* complete batches; next word of the batch */
    uint32_t batch, result, inner;    /* of the next vector */
    uint32_t begun, complete, popped; /* results */
} pe;

/* PARAM of a batch, then its filters, at most one batch ahead of the one that is computed. */
static void load(bench *b, pe *s) {
    const uint32_t n = bench_build(b)->n;
    const bool free = s->loaded < s->batches && s->loaded < s->batch + 2;
    tb_set(s->params.we, 0);
    tb_set(s->f_valid, 0);
    if (free && s->params.batches == s->loaded) {
        bench_param(b, &s->params, s->params.batches);
    } else if (free && bench_go(&s->load)) {
        tb_set(s->f_valid, 1);
        tb_set(s->f_n, s->word / s->words);
        tb_set(s->f_half, s->loaded % 2);
        tb_set(s->f_addr, s->at + s->word % s->words);
        bench_noise(s->f, &s->rng);
        if (++s->word == n * s->words) {
            s->word = 0;
            s->loaded++;
        }
    }
}

/* {word, third, half, place, first, last, slot} of rtl/sac/sac_pe.sv */
static void compute(pe *s) {
    const bool first = s->inner == 0, last = s->inner + 1 == s->red;
    const bool go = bench_go(&s->in) && s->batch < s->loaded && (!first || s->begun - s->popped < DEPTH);
    tb_set(s->valid, go);
    bench_noise(s->x, &s->rng);
    if (!go) {
        return;
    }
    const uint64_t word = s->at + tb_rng_range(&s->rng, 0, s->words - 1), third = tb_rng_range(&s->rng, 0, 2);
    s->begun += first;
    tb_set(s->flags, word << 11 | third << 9 | (uint64_t)(s->batch % 2) << 8 | (uint64_t)(s->batch % 4) << 6 |
                         (uint64_t)first << 5 | (uint64_t)last << 4 | (s->begun - 1) % DEPTH);
    s->inner = last ? 0 : s->inner + 1;
    s->result += last;
    if (s->result == s->per_batch) {
        s->result = 0;
        s->batch++;
    }
}

/* Any column of the oldest result, or of any one; it goes at a random moment. */
static void read_result(bench *b, pe *s) {
    tb_set(s->rd_en, bench_go(&s->out));
    tb_set(s->rd_slot, tb_rng_chance(&s->rng, 1, 5) ? tb_rng_range(&s->rng, 0, DEPTH - 1) : s->popped % DEPTH);
    tb_set(s->rd_col, tb_rng_range(&s->rng, 0, bench_build(b)->w - 1));
    tb_set(s->rd_place, tb_rng_range(&s->rng, 0, 3));
    s->popped += tb_get(s->rd_en) != 0 && s->popped < s->complete && tb_rng_chance(&s->rng, 1, 3);
}

static void draw(bench *b, pe *s, tb_rng *rng) {
    s->k1 = tb_rng_chance(rng, 1, 3);
    s->batches = (uint32_t)tb_rng_range(rng, 1, 6);
    s->words = (uint32_t)tb_rng_small(rng, 1, 40);
    s->at = (uint32_t)tb_rng_range(rng, 0, 1024 - s->words);
    s->per_batch = (uint32_t)tb_rng_small(rng, 1, 40);
    s->red = (uint32_t)tb_rng_small(rng, 1, 40);
    s->loaded = s->word = s->batch = s->result = s->inner = 0;
    s->params.filter = s->params.batches = 0;
    /* bench_param() ends with the batches of the task */
    const cm_layer_task t = {.n = s->batches * bench_build(b)->n, .kw = s->k1 ? 1 : 3, .ow = 1, .oh = 1};
    bench_set_task(b, &t);
    tb_set(bench_port(b, "k1_i"), s->k1);
}

static void run(bench *b) {
    tb_rng rng = bench_stream(b, "tasks");
    pe s = {.valid = bench_port(b, "valid_i"),
            .flags = bench_port(b, "flags_i"),
            .x = bench_port(b, "x_i"),
            .f_valid = bench_port(b, "f_valid_i"),
            .f_n = bench_port(b, "f_n_i"),
            .f_half = bench_port(b, "f_half_i"),
            .f_addr = bench_port(b, "f_addr_i"),
            .f = bench_port(b, "f_i"),
            .done = bench_port(b, "done_o"),
            .rd_en = bench_port(b, "rd_en_i"),
            .rd_slot = bench_port(b, "rd_slot_i"),
            .rd_col = bench_port(b, "rd_col_i"),
            .rd_place = bench_port(b, "rd_place_i"),
            .params = bench_params_of(b),
            .in = bench_stall_of(b, "stall_in"),
            .load = bench_stall_of(b, "stall_load"),
            .out = bench_stall_of(b, "stall_out"),
            .rng = bench_stream(b, "operands")};
    bool ok = true;
    for (int64_t i = 0; ok && bench_more(b, i); i++) {
        draw(b, &s, &rng);
        /* until all results are read; a task begins with an empty array */
        for (uint32_t idle = 0; ok && idle < bench_build(b)->n + 4; idle = s.batch == s.batches ? idle + 1 : 0) {
            compute(&s); /* a batch is there in the cycle after its last word at the earliest */
            load(b, &s);
            read_result(b, &s);
            bench_settle(b);
            s.complete += tb_get(s.done) != 0;
            ok = bench_step(b);
        }
    }
}

const bench_unit bench_this = {
    .name = "unit-pe", .about = "the array: random filters and vectors", TB_KNOBS_OF(knobs), .run = run};
