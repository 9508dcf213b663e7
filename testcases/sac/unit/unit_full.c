/* dut: sac_full */
/* Beats of random maps, as the writer sends them, pooled over the whole map or passed. */
#include "bench.h"

static const tb_knob knobs[] = {BENCH_KNOBS};

typedef struct full {
    bench_source beat;
    bench_params params;
    bench_stall out;
    tb_sig mask, number, group_i, place, cpage, first, last_i, valid, ready, last;
    uint32_t width, row, map;             /* columns of the map; pages of a row, of the map */
    uint32_t batch, page, group, beat_no; /* of the next beat */
    uint32_t left;                        /* batches that have left */
} full;

static uint32_t groups_of(const bench *b, uint32_t batch) {
    const sac_build *d = bench_build(b);
    const uint32_t filters = bench_task_of(b)->n - batch * d->n;
    return sac_up(filters < d->n ? filters : d->n, d->c);
}

/* What goes with the next beat; then the one after it. */
static void describe(bench *b, full *s) {
    const sac_build *d = bench_build(b);
    const uint32_t column = s->page % s->row * d->w, cols = s->width - column < d->w ? s->width - column : d->w;
    const uint32_t bytes = cols * d->c, at = s->beat_no * 16;
    const bool beat_ends = s->beat_no + 1 == sac_page_bytes(d) / 16;
    const bool group_ends = beat_ends && s->group + 1 == groups_of(b, s->batch);
    const bool ends = group_ends && s->page + 1 == s->map;
    tb_set(s->mask, bytes >= at + 16 ? 0xFFFF : bytes > at ? (1u << (bytes - at)) - 1 : 0);
    tb_set(s->number, s->beat_no);
    tb_set(s->group_i, s->group);
    tb_set(s->place, s->batch % 4);
    tb_set(s->cpage, (s->batch * (d->n / d->c) + s->group) * s->map + s->page);
    tb_set(s->first, s->page == 0);
    tb_set(s->last_i, ends);
    s->beat_no = beat_ends ? 0 : s->beat_no + 1;
    s->group = group_ends ? 0 : s->group + beat_ends;
    s->page = ends ? 0 : s->page + group_ends;
    s->batch += ends;
}

static bool cycle(bench *b, void *state) {
    full *s = (full *)state;
    const uint32_t batches = sac_up(bench_task_of(b)->n, bench_build(b)->n);
    if (bench_offer(&s->beat, s->batch < batches && s->batch < s->params.batches)) {
        describe(b, s);
    }
    bench_param(b, &s->params, s->left); /* complete in the next cycle at the earliest */
    tb_set(s->ready, bench_go(&s->out));
    bench_settle(b);
    s->left += tb_get(s->valid) != 0 && tb_get(s->ready) != 0 && tb_get(s->last) != 0;
    bench_taken(&s->beat);
    return s->left == batches;
}

static void run(bench *b) {
    tb_rng rng = bench_stream(b, "tasks");
    full s = {.beat = bench_source_of(b, "valid_i", "ready_o", "data_i", "stall_in"),
              .params = bench_params_of(b),
              .out = bench_stall_of(b, "stall_out"),
              .mask = bench_port(b, "mask_i"),
              .number = bench_port(b, "beat_i"),
              .group_i = bench_port(b, "group_i"),
              .place = bench_port(b, "place_i"),
              .cpage = bench_port(b, "cpage_i"),
              .first = bench_port(b, "first_i"),
              .last_i = bench_port(b, "last_i"),
              .valid = bench_port(b, "valid_o"),
              .ready = bench_port(b, "ready_i"),
              .last = bench_port(b, "last_o")};
    bool ok = true;
    for (int64_t i = 0; ok && bench_more(b, i); i++) {
        uint32_t h;
        s.batch = s.page = s.group = s.beat_no = s.left = s.params.filter = s.params.batches = 0;
        s.beat.offered = false;
        tb_set(s.beat.valid, 0);
        tb_set(s.params.we, 0);
        ok = bench_next(b, &rng);
        sac_layer_map(bench_task_of(b), &s.width, &h);
        s.row = sac_up(s.width, bench_build(b)->w);
        s.map = s.row * h;
        ok = ok && bench_until_done(b, &rng, cycle, &s) >= 0;
    }
}

const bench_unit bench_this = {
    .name = "unit-full", .about = "full_size_pool: random maps", TB_KNOBS_OF(knobs), .run = run};
