/* dut: fp_cmp */
#include "fp_bench.h"
#include "fp_vectors.h"

static uint32_t model(uint32_t a, uint32_t b) {
    return (uint32_t)cm_fp_lt(a, b) << FP_LT | (uint32_t)cm_fp_le(a, b) << FP_LE | (uint32_t)cm_fp_eq(a, b) << FP_EQ;
}

static int run(unit *u) {
    return fp_bench_run(u, model, fp_operands_cmp, 7);
}

static int vectors(unit *u, FILE *in, const char *where, char *err, size_t err_size) {
    return fp_vectors_run(u, FP_VECTORS_ANY, 2, in, where, err, err_size);
}

const unit_bench unit_this_bench = {.name = "fp_cmp",
                                    .about = "binary32 comparator against the golden model",
                                    .knobs = fp_bench_knobs,
                                    .nknobs = FP_BENCH_KNOBS,
                                    .constrain = fp_bench_constrain,
                                    .run = run,
                                    .no_reset = true,
                                    .vectors = vectors};
