/* dut: sac_retriever */
/*
 * Random vectors from a part of the cache that is written meanwhile, and at random moments: the first or the last pages
 * of both halves, or any in between. The unit waits for nothing, so stalls are gaps.
 */
#include "bench.h"

#define PAGES 48u /* that are written and read */

static const tb_knob knobs[] = {{"tasks", 1, 64, TB_KNOB_SMALL, NULL, NULL, "one after the other"},
                                {"vectors", 1, 400, TB_KNOB_SMALL, NULL, NULL, "in a task"},
                                BENCH_STALL("in", "without a vector"),
                                BENCH_STALL("write", "without a beat")};

typedef struct retriever {
    tb_sig we, half, page_w, beat, data;                 /* writes */
    tb_sig d_we, d_addr, d;                              /* table */
    tb_sig valid, page, bank, col, row_ok, group, flags; /* vectors */
    bench_stall in, write;
    tb_rng rng;
    uint32_t first; /* page of the part */
} retriever;

static void write_beat(bench *b, retriever *s, uint32_t half, uint32_t page, uint32_t beat) {
    (void)b;
    tb_set(s->we, 1);
    tb_set(s->half, half);
    tb_set(s->page_w, s->first + page);
    tb_set(s->beat, beat);
    bench_noise(s->data, &s->rng);
}

/* Nothing is read that was never written. */
static bool fill(bench *b, retriever *s) {
    const uint32_t beats = sac_page_bytes(bench_build(b)) / 16;
    bool ok = true;
    for (uint32_t i = 0; ok && i < 2 * PAGES * beats; i++) {
        write_beat(b, s, i / beats / PAGES, i / beats % PAGES, i % beats);
        tb_set(s->d_we, i < 256);
        tb_set(s->d_addr, i % 256);
        bench_noise(s->d, &s->rng);
        ok = bench_step(b);
    }
    for (uint32_t i = 2 * PAGES * beats; ok && i < 256; i++) {
        tb_set(s->we, 0);
        tb_set(s->d_addr, i);
        ok = bench_step(b);
    }
    tb_set(s->we, 0);
    tb_set(s->d_we, 0);
    return ok;
}

/* A vector whose columns in the map lie in the part. */
static void vector(bench *b, retriever *s) {
    const sac_build *d = bench_build(b);
    const cm_layer_task *t = bench_task_of(b);
    const int32_t w = (int32_t)d->w, wide = (int32_t)sac_up(t->w, d->w);
    const int32_t col = (int32_t)tb_rng_range(&s->rng, 0, t->w + 2 * d->w + 7) - 7 - w;
    const int32_t bank = ((col % w) + w) % w, column_page = (col - bank) / w;
    const uint32_t row = (uint32_t)tb_rng_range(&s->rng, 0, PAGES - (uint32_t)wide);
    tb_set(s->page, (s->first + row + (uint32_t)column_page) & 0x7FFFFu);
    tb_set(s->bank, (uint32_t)bank);
    tb_set(s->col, (uint32_t)col & 0x3FFFu);
    tb_set(s->row_ok, !tb_rng_chance(&s->rng, 1, 6));
    tb_set(s->group, tb_rng_range(&s->rng, 0, sac_up(t->c, d->c) - 1));
    bench_noise(s->flags, &s->rng);
}

static bool task(bench *b, retriever *s) {
    const uint32_t beats = sac_page_bytes(bench_build(b)) / 16;
    bool ok = true;
    for (int64_t i = bench_knob(b, "vectors"); ok && i > 0;) {
        const bool new_vector = bench_go(&s->in), beat = bench_go(&s->write);
        tb_set(s->valid, new_vector);
        if (new_vector) {
            vector(b, s);
            i--;
        }
        tb_set(s->we, 0);
        if (beat) {
            write_beat(b, s, tb_rng_chance(&s->rng, 1, 2), (uint32_t)tb_rng_range(&s->rng, 0, PAGES - 1),
                       (uint32_t)tb_rng_range(&s->rng, 0, beats - 1));
        }
        tb_set(s->d_we, tb_rng_chance(&s->rng, 1, 8));
        tb_set(s->d_addr, tb_rng_range(&s->rng, 0, 255));
        bench_noise(s->d, &s->rng);
        ok = bench_step(b);
    }
    tb_set(s->valid, 0);
    tb_set(s->we, 0);
    tb_set(s->d_we, 0);
    for (int i = 0; ok && i < 3; i++) { /* the last vector leaves */
        ok = bench_step(b);
    }
    return ok;
}

static void run(bench *b) {
    retriever s = {.we = bench_port(b, "we_i"),
                   .half = bench_port(b, "we_half_i"),
                   .page_w = bench_port(b, "we_page_i"),
                   .beat = bench_port(b, "we_beat_i"),
                   .data = bench_port(b, "we_data_i"),
                   .d_we = bench_port(b, "d_we_i"),
                   .d_addr = bench_port(b, "d_addr_i"),
                   .d = bench_port(b, "d_i"),
                   .valid = bench_port(b, "valid_i"),
                   .page = bench_port(b, "page_i"),
                   .bank = bench_port(b, "bank_i"),
                   .col = bench_port(b, "col_i"),
                   .row_ok = bench_port(b, "row_ok_i"),
                   .group = bench_port(b, "group_i"),
                   .flags = bench_port(b, "flags_i"),
                   .in = bench_stall_of(b, "stall_in"),
                   .write = bench_stall_of(b, "stall_write"),
                   .rng = bench_stream(b, "vectors")};
    tb_rng rng = bench_stream(b, "tasks");
    const uint32_t last = bench_build(b)->pages - PAGES;
    bool ok = true;
    for (int64_t i = 0; ok && bench_more(b, i); i++) {
        cm_layer_task t;
        bench_task(&rng, bench_build(b), &t);
        t.c = tb_rng_chance(&rng, 1, 2) ? (uint32_t)tb_rng_range(&rng, 1, 4096) : t.c;
        bench_set_task(b, &t);
        const uint32_t place = (uint32_t)tb_rng_range(&rng, 0, 2);
        s.first = place == 0 ? 0 : place == 1 ? last : (uint32_t)tb_rng_range(&rng, 0, last);
        ok = fill(b, &s) && task(b, &s);
    }
}

const bench_unit bench_this = {
    .name = "unit-retriever", .about = "retriever: random vectors", TB_KNOBS_OF(knobs), .run = run};
