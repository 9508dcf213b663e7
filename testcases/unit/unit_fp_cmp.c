/* dut: fp_cmp */
#include "fp_bench.h"

static uint32_t model(uint32_t a, uint32_t b) {
    return (uint32_t)cm_fp_lt(a, b) | (uint32_t)cm_fp_le(a, b) << 1 | (uint32_t)cm_fp_eq(a, b) << 2;
}

static int run(unit *u) {
    return fp_bench_run(u, model, fp_operands_cmp, 1);
}

const unit_bench unit_this_bench = {.name = "fp_cmp",
                                    .about = "binary32 comparator against the golden model",
                                    .knobs = fp_bench_knobs,
                                    .nknobs = FP_BENCH_KNOBS,
                                    .constrain = fp_bench_constrain,
                                    .run = run,
                                    .no_reset = true};
