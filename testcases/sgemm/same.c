/*
 * same.c - the same GEMMs on every configuration: sizes, factors and elements follow from the seed alone, while each
 * configuration draws its own transposes, leading dimensions, places, splits into tasks and bus timing. The hash of the
 * case is that of the elements of C in the memory of the RTL, and the result file says that it must be the same in all
 * configurations (docs/regress.md, "Outcomes").
 */
#include <stdlib.h>

#include "tests.h"

/* What a configuration draws for itself; upper ends of the ranges. */
static const struct {
    const char *name;
    uint64_t most;
} ways[] = {{"ta", 1},  {"tb", 1},  {"a_at", 15}, {"b_at", 15}, {"c_at", 15}, {"lda", 3},
            {"ldb", 3}, {"ldc", 3}, {"irq", 1},   {"split", 4}, {"bus", 5}};
/* One GEMM in row-major order (column-major order multiplies B by alpha), on the engine, without errors. FP32 where the
 * command line names no other mode. */
static const char *const simple[] = {"col", "half", "fed", "queued", "cpu", "error", "error_at"};

static void constrain(tb_knobs *k, uint64_t seed) {
    static const char *const sizes[] = {"m", "n", "k"};
    static const uint64_t ends[] = {1, 3, 4, 5, 7, 8, 9, 11, 12, 13, 16, 17, 24, 25, 33, 55, 56, 57, 64, 65, 96, 97};
    tb_rng size = tb_rng_stream(seed, "sizes of all configurations");
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const uint64_t end = tb_rng_pick(&size, ends, sizeof ends / sizeof *ends);
        const uint64_t small = tb_rng_small(&size, 0, 40);
        if (!tb_knobs_is_pinned(k, sizes[i])) {
            tb_knobs_set(k, sizes[i], (int64_t)(tb_rng_chance(&size, 1, 3) ? end : small));
        }
    }
    tb_rng way = tb_rng_stream(seed, "ways of configuration " SGEMM_CFG_NAME);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        const uint64_t value = tb_rng_range(&way, 0, ways[i].most);
        if (!tb_knobs_is_pinned(k, ways[i].name)) {
            tb_knobs_set(k, ways[i].name, (int64_t)value);
        }
    }
    const int64_t macs = tb_knobs_get(k, "m") * tb_knobs_get(k, "n") * tb_knobs_get(k, "k");
    if (macs > 30000 && !tb_knobs_is_pinned(k, "split")) { /* thousands of small tasks would take too long */
        tb_knobs_set(k, "split", tb_knobs_get(k, "split") % 2 == 0 ? 0 : 4);
    }
    tb_knobs_draw_in(k, "gemms", seed, 1, 1);
    for (size_t i = 0; i < sizeof simple / sizeof *simple; i++) {
        tb_knobs_draw_in(k, simple[i], seed, 0, 0);
    }
}

/* Hash of the elements of C, row by row. */
static void hash(test_bench *t, const sgemm_args *x) {
    const uint32_t size = (x->flags & SGEMM_C_F16) != 0 ? 2 : 4;
    for (int32_t i = 0; i < x->m; i++) {
        for (int32_t j = 0; j < x->n; j++) {
            uint32_t bits = 0;
            const uint32_t at = x->c + ((uint32_t)i * (uint32_t)x->ldc + (uint32_t)j) * size;
            if (!sgemm_device_read(t->dev, at, &bits, size)) {
                tb_run_fail(&t->dev->run, "same:memory", "C has no element at 0x%08x", at);
                return;
            }
            t->run->results = tb_hash_u64(t->run->results, bits);
        }
    }
}

static int body(void *bench, tb_prog_run *run) {
    test_bench t;
    test_begin(&t, bench, run);
    const gemm g = gemm_make(run->seed, run->knobs, 0, NULL);
    const sgemm_limits limits = gemm_limits(run->knobs, &g);
    run->portable = true;
    run->results = TB_HASH_INIT;
    gemm_fill(t.dev, &g);
    sgemm_set_limits(&t.drv, &limits);
    t.drv.min_dim = 0;
    const sgemm_status status = sgemm_run(&t.drv, &g.x);
    if (status != SGEMM_OK) {
        tb_run_fail(&t.dev->run, "driver:status", "the driver answered \"%s\"", sgemm_strerror(status));
    } else if (sgemm_device_compare(t.dev)) {
        hash(&t, &g.x);
    }
    return 0;
}

const tb_test test_same = {.name = "same",
                           .about = "GEMMs whose results must be the same in all configurations",
                           .is_operator = true,
                           .knobs = gemm_knobs,
                           .knob_count = GEMM_KNOBS,
                           .constrain = constrain,
                           .check = gemm_check,
                           .size = gemm_size,
                           .bench = &sgemm_bench,
                           .body = body};
