/* check_bench.c - one check after the other. */
#include "check_bench.h"

#include "task_noise.h"

const tb_knob check_bench_knobs[CHECK_BENCH_KNOBS] = {
    {"checks", 1, 1000000, TB_KNOB_UNIFORM, NULL, NULL, "checks"},
    {"wild", 0, 100, TB_KNOB_SMALL, NULL, NULL, "percent of settings from anywhere, hardly ever legal"},
    {"flaws", 0, 100, TB_KNOB_UNIFORM, NULL, NULL, "percent of settings with one rule broken"},
    {"abort", 0, 100, TB_KNOB_SMALL, NULL, NULL, "percent of checks that are aborted"},
    UNIT_STALL_KNOB("start", "percent of cycles without a start"),
    UNIT_STALL_RUN_KNOB,
};

void check_bench_constrain(tb_knobs *k, uint64_t seed) {
    tb_knobs_draw_in(k, "checks", seed, 500, 3000);
    tb_knobs_draw_in(k, "wild", seed, 0, 20);
    tb_knobs_draw_in(k, "flaws", seed, 0, 70);
    tb_knobs_draw_in(k, "abort", seed, 0, 30);
}

uint32_t check_range(tb_rng *rng, uint32_t lo, uint32_t hi) {
    return (uint32_t)tb_rng_range(rng, lo, hi);
}

void check_misalign(tb_rng *rng, uint32_t *const *field, uint32_t count, uint32_t bits) {
    const uint32_t bit = 1u << check_range(rng, 0, bits - 1);
    *field[check_range(rng, 0, count - 1)] ^= bit;
    if (tb_rng_chance(rng, 1, 2)) {
        *field[check_range(rng, 0, count - 1)] |= bit;
    }
}

void check_pair(tb_rng *rng, uint32_t limit, uint32_t amax, uint32_t bmax, bool over, uint32_t *a, uint32_t *b) {
    const uint32_t first = (uint32_t)tb_rng_small(rng, 1, limit < amax ? limit : amax);
    uint32_t second = limit / first + (over ? 1 : 0);
    if (!over && tb_rng_chance(rng, 1, 3)) {
        second = check_range(rng, 1, second);
    }
    *a = first;
    *b = second < 1 ? 1 : second > bmax ? bmax : second;
}

typedef struct bench {
    const check_ops *ops;
    void *ctx;
    tb_sig clr, start, done, ok;
    uint32_t age;   /* cycles since the start, 0: none runs */
    uint32_t abort; /* cycle in which it is aborted, 0: never */
    bool clr_on;
    uint64_t checks;
    unit_stall start_stall;
    tb_rng rng, when;
} bench;

static void drive(const unit *u, bench *b) {
    const bool start = b->age == 0 && unit_go(&b->start_stall);
    if (start) {
        const uint32_t latency = b->ops->draw(u, b->ctx, &b->rng);
        b->abort =
            tb_rng_chance(&b->when, (uint32_t)unit_knob(u, "abort"), 100) ? check_range(&b->when, 1, latency) : 0;
    } else if (b->age == 0) {
        b->ops->noise(b->ctx, &b->rng);
    }
    b->clr_on = b->age > 0 ? b->age == b->abort : !start && tb_rng_chance(&b->when, 1, 64);
    tb_set(b->start, start);
    tb_set(b->clr, b->clr_on);
}

static void sample(bench *b) {
    const bool verdict = tb_get(b->done) != 0;
    if (verdict && !b->clr_on && b->ops->verdict) {
        b->ops->verdict(b->ctx, tb_get(b->ok) != 0);
    }
    if (b->clr_on && b->ops->clear) {
        b->ops->clear(b->ctx);
    }
    if (tb_get(b->start)) {
        b->age = 1;
    } else if (verdict || (b->age > 0 && b->clr_on)) {
        b->age = 0;
        b->checks++;
    } else if (b->age > 0) {
        b->age++;
    }
}

int check_bench_run(unit *u, const check_ops *ops, void *ctx) {
    bench b = {.ops = ops,
               .ctx = ctx,
               .clr = unit_port(u, "clr_i"),
               .start = unit_port(u, "start_i"),
               .done = unit_port(u, "done_o"),
               .ok = unit_port(u, "ok_o")};
    unit_expect_value(u, "bits of a task", unit_port(u, "task_i").width, ops->task_bits);
    b.start_stall = unit_stall_make(u, "start");
    b.rng = unit_stream(u, "settings");
    b.when = unit_stream(u, "when");
    unit_reset(u);
    while (unit_ok(u) && b.checks < (uint64_t)unit_knob(u, "checks")) {
        drive(u, &b);
        unit_settle(u);
        sample(&b);
        unit_edge(u);
    }
    return 0;
}
