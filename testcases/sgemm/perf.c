/*
 * perf.c - cycles of one GEMM beside the formula of docs/sgemm/performance.md, on an ideal bus: the test fails above
 * 1.10 times the sum of the passes, plus fill and drain. Blocks of a few words do not hide the latency between a half
 * of a buffer that is free and its first word: their passes may take that much longer.
 */
#include <inttypes.h>
#include <stdio.h>

#include "tests.h"

#define LARGEST 1024 /* of M, N and K */
#define TURN 16u     /* cycles from a half that is free to its first word, and back to the lanes */

static const char *const beta_names[] = {"zero", "one"};
static const tb_knob knobs[] = {
    {"m", 1, LARGEST, TB_KNOB_SMALL, NULL, NULL, "rows of C"},
    {"n", 1, LARGEST, TB_KNOB_SMALL, NULL, NULL, "columns of C"},
    {"k", 1, LARGEST, TB_KNOB_SMALL, NULL, NULL, "length of the sums"},
    {"ta", 0, 1, TB_KNOB_UNIFORM, NULL, NULL, "A is stored transposed"},
    {"tb", 0, 1, TB_KNOB_UNIFORM, NULL, NULL, "B is stored transposed"},
    {"beta", 0, 1, TB_KNOB_ENUM, beta_names, NULL, "factor of C"},
    {"at", 0, 3, TB_KNOB_SMALL, NULL, NULL, "offset of A, B and C in a beat, elements"},
    {"half", 0, 1, TB_KNOB_UNIFORM, NULL, NULL, "rounded operands"},
    {"bus", 0, 5, TB_KNOB_ENUM, gemm_bus_names, NULL, "timing of the buses; the goal holds on an ideal one only"},
};

static void constrain(tb_knobs *k, uint64_t seed) {
    tb_knobs_draw_in(k, "m", seed, 1, 5 * SGEMM_CFG_DIM);
    tb_knobs_draw_in(k, "n", seed, 1, 5 * SGEMM_CFG_DIM);
    tb_knobs_draw_in(k, "k", seed, 1, 9 * SGEMM_CFG_VEC);
    tb_knobs_draw_in(k, "bus", seed, 0, 0);
    if (!gemm_mode_legal(tb_knobs_get(k, "half")) && !tb_knobs_is_pinned(k, "half")) {
        tb_knobs_set(k, "half", gemm_mode_legal(0) ? 0 : 1);
    }
}

static uint64_t least(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

static gemm make(const tb_prog_run *run) {
    static const char *const same[] = {"m", "n", "k", "ta", "tb"};
    tb_knobs k;
    tb_knobs_init(&k, gemm_knobs, GEMM_KNOBS);
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        tb_knobs_set(&k, same[i], tb_knobs_get(run->knobs, same[i]));
    }
    for (size_t i = 0; i < 3; i++) {
        static const char *const at[] = {"a_at", "b_at", "c_at"};
        tb_knobs_set(&k, at[i], tb_knobs_get(run->knobs, "at"));
    }
    tb_knobs_set(&k, "half", tb_knobs_get(run->knobs, "half"));
    tb_knobs_set(&k, "beta", tb_knobs_get(run->knobs, "beta") == 0 ? 1 : 0);
    tb_knobs_set(&k, "data", 1);
    return gemm_make(run->seed, &k, 0, NULL);
}

static uint64_t counter(test_bench *t, uint32_t number) {
    uint64_t value = 0;
    sgemm_perf_read(&t->drv, number, &value);
    return value;
}

/* Counters that follow from the shape alone; and never more bursts in flight than the channels can have. */
static void check_counters(test_bench *t, const sgemm_bound *b) {
    const struct {
        const char *name;
        uint32_t number;
        uint64_t low, high;
    } rows[] = {{"MAC", SGEMM_PERF_SEL_SEL_MAC, b->enters, b->enters},
                {"READ0_BEATS", SGEMM_PERF_SEL_SEL_READ0_BEATS, b->read0, b->read0},
                {"READ1_BEATS", SGEMM_PERF_SEL_SEL_READ1_BEATS, b->read1, b->read1},
                {"WRITE_BEATS", SGEMM_PERF_SEL_SEL_WRITE_BEATS, b->write, b->write},
                {"PASSES", SGEMM_PERF_SEL_SEL_PASSES, b->passes, b->passes},
                {"TILES", SGEMM_PERF_SEL_SEL_TILES, b->tiles, b->tiles},
                {"READ0_BURSTS", SGEMM_PERF_SEL_SEL_READ0_BURSTS, 1, b->read0},
                {"READ1_BURSTS", SGEMM_PERF_SEL_SEL_READ1_BURSTS, 1, b->read1},
                {"WRITE_BURSTS", SGEMM_PERF_SEL_SEL_WRITE_BURSTS, b->tiles, b->write},
                {"MOST_READ0_BURSTS", SGEMM_PERF_SEL_SEL_MOST_READ0_BURSTS, 1, 16},
                {"MOST_READ1_BURSTS", SGEMM_PERF_SEL_SEL_MOST_READ1_BURSTS, 1, 16},
                {"MOST_WRITE_BURSTS", SGEMM_PERF_SEL_SEL_MOST_WRITE_BURSTS, 1, 16}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const uint64_t got = counter(t, rows[i].number);
        if (got < rows[i].low || got > rows[i].high) {
            tb_run_fail(&t->dev->run, "perf:counter", "counter %s: got %" PRIu64 ", expected %" PRIu64 " to %" PRIu64,
                        rows[i].name, got, rows[i].low, rows[i].high);
        }
    }
}

/* A line with the cycles, the bound, and the counters that say where the rest went. */
static void report(test_bench *t, const sgemm_args *x, const sgemm_bound *b) {
    static const struct {
        const char *name;
        uint32_t number;
    } counters[] = {{"mac", SGEMM_PERF_SEL_SEL_MAC},
                    {"wait_a", SGEMM_PERF_SEL_SEL_WAIT_A},
                    {"wait_b", SGEMM_PERF_SEL_SEL_WAIT_B},
                    {"wait_c", SGEMM_PERF_SEL_SEL_WAIT_C},
                    {"wait_sums", SGEMM_PERF_SEL_SEL_WAIT_SUMS},
                    {"read0", SGEMM_PERF_SEL_SEL_READ0_BEATS},
                    {"read1", SGEMM_PERF_SEL_SEL_READ1_BEATS},
                    {"write", SGEMM_PERF_SEL_SEL_WRITE_BEATS},
                    {"write_waits_bus", SGEMM_PERF_SEL_SEL_WRITE_WAITS_BUS}};
    uint64_t cycles = 0, value = 0;
    sgemm_perf_snapshot(&t->drv, true);
    sgemm_perf_read(&t->drv, SGEMM_PERF_SEL_SEL_CYCLES, &cycles);
    const uint64_t turns = SGEMM_CFG_DIM < 64 ? TURN * b->passes : 0;
    const uint64_t goal = b->bound + b->bound / 10 + turns + b->fill + b->drain;
    if (!t->run->again && !t->run->o->quiet) {
        printf("%s %" PRId32 "x%" PRId32 "x%" PRId32 " %c%c beta %g: %" PRIu64 " cycles, %" PRIu64 " passes %" PRIu64
               ", bound %" PRIu64 ", fill %" PRIu64 ", drain %" PRIu64 ", ratio %.3f",
               SGEMM_CFG_NAME, x->m, x->n, x->k, x->trans_a == SGEMM_NO_TRANS ? 'N' : 'T',
               x->trans_b == SGEMM_NO_TRANS ? 'N' : 'T', (double)x->beta, cycles, b->passes, b->sum, b->bound, b->fill,
               b->drain, (double)(cycles - least(cycles, b->fill + b->drain)) / (double)b->bound);
        for (size_t i = 0; i < sizeof counters / sizeof *counters; i++) {
            sgemm_perf_read(&t->drv, counters[i].number, &value);
            printf(", %s %" PRIu64, counters[i].name, value);
        }
        printf("\n");
    }
    if (tb_knobs_get(t->run->knobs, "bus") == 0 && cycles > goal) {
        tb_run_fail(&t->dev->run, "perf:cycles", "cycles: got %" PRIu64 ", expected at most %" PRIu64, cycles, goal);
    }
}

static int body(void *bench, tb_prog_run *run) {
    test_bench t;
    test_begin(&t, bench, run);
    const gemm g = make(run);
    const sgemm_bound b = sgemm_cycles(&t.drv, &g.x);
    gemm_fill(t.dev, &g);
    t.drv.min_dim = 0;
    sgemm_perf_snapshot(&t.drv, true);
    const sgemm_status status = sgemm_run(&t.drv, &g.x);
    if (status != SGEMM_OK) {
        tb_run_fail(&t.dev->run, "driver:status", "the driver answered \"%s\"", sgemm_strerror(status));
    } else if (sgemm_device_compare(t.dev)) {
        report(&t, &g.x, &b);
        check_counters(&t, &b);
        sgemm_perf_snapshot(&t.drv, true); /* nothing has happened since */
        if (counter(&t, SGEMM_PERF_SEL_SEL_MOST_READ0_BURSTS) != 0) {
            tb_run_fail(&t.dev->run, "perf:mark", "a snapshot without a task has a mark");
        }
    }
    return 0;
}

static int check(const tb_test *test, const tb_knobs *k, char *err, size_t err_size) {
    (void)test;
    if (!gemm_mode_legal(tb_knobs_get(k, "half"))) {
        snprintf(err, err_size, "half=%" PRId64 ": configuration " SGEMM_CFG_NAME " has no such mode",
                 tb_knobs_get(k, "half"));
        return -1;
    }
    return 0;
}

const tb_test test_perf = {.name = "perf",
                           .about = "cycles of a GEMM beside their bound, on an ideal bus",
                           .is_operator = true,
                           TB_KNOBS_OF(knobs),
                           .constrain = constrain,
                           .check = check,
                           .bench = &sgemm_bench,
                           .body = body};
