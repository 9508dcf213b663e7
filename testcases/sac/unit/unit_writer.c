/* dut: sac_writer */
/* Random pages and residuals to beats; PARAM of later batches arrives meanwhile. */
#include "bench.h"

static const tb_knob knobs[] = {BENCH_KNOBS, BENCH_STALL("res", "without a beat of the residual")};

typedef struct writer {
    bench_source page, res;
    bench_params params;
    bench_stall out;
    tb_sig cols, valid, ready, last;
    uint32_t width, row, map; /* columns of the map; pages of a row, of the map */
    uint32_t left;            /* batches that have left */
} writer;

static bool cycle(bench *b, void *state) {
    writer *s = (writer *)state;
    const uint32_t batches = sac_up(bench_task_of(b)->n, bench_build(b)->n), wide = bench_build(b)->w;
    if (bench_offer(&s->page, s->page.sent / s->map < batches && s->page.sent / s->map < s->params.batches)) {
        const bool ends = s->page.sent % s->row == s->row - 1;
        tb_set(s->cols, ends ? s->width - (s->row - 1) * wide : wide);
    }
    bench_offer(&s->res, true);
    bench_param(b, &s->params, s->left); /* complete in the next cycle at the earliest */
    tb_set(s->ready, bench_go(&s->out));
    bench_settle(b);
    s->left += tb_get(s->valid) != 0 && tb_get(s->ready) != 0 && tb_get(s->last) != 0;
    bench_taken(&s->page);
    bench_taken(&s->res);
    return s->left == batches;
}

static void run(bench *b) {
    tb_rng rng = bench_stream(b, "tasks");
    writer s = {.page = bench_source_of(b, "valid_i", "ready_o", "page_i", "stall_in"),
                .res = bench_source_of(b, "res_valid_i", "res_ready_o", "res_i", "stall_res"),
                .params = bench_params_of(b),
                .out = bench_stall_of(b, "stall_out"),
                .cols = bench_port(b, "cols_i"),
                .valid = bench_port(b, "valid_o"),
                .ready = bench_port(b, "ready_i"),
                .last = bench_port(b, "last_o")};
    bool ok = true;
    for (int64_t i = 0; ok && bench_more(b, i); i++) {
        uint32_t h;
        s.page.sent = s.left = s.params.filter = s.params.batches = 0;
        s.page.offered = s.res.offered = false;
        tb_set(s.page.valid, 0);
        tb_set(s.res.valid, 0);
        tb_set(s.params.we, 0);
        ok = bench_next(b, &rng);
        sac_layer_map(bench_task_of(b), &s.width, &h);
        s.row = sac_up(s.width, bench_build(b)->w);
        s.map = s.row * h;
        ok = ok && bench_until_done(b, &rng, cycle, &s) >= 0;
    }
}

const bench_unit bench_this = {
    .name = "unit-writer", .about = "feature_writer: random pages and residuals", TB_KNOBS_OF(knobs), .run = run};
