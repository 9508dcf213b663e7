/* dut: fp_f32_to_i8 */
#include "fp_bench.h"

static uint32_t model(uint32_t a, uint32_t b) {
    (void)b;
    return (uint8_t)cm_fp_f32_to_i8(a);
}

static int run(unit *u) {
    return fp_bench_run(u, model, fp_operand_i8, 1);
}

const unit_bench unit_this_bench = {.name = "fp_f32_to_i8",
                                    .about = "binary32 to int8 quantiser against the golden model",
                                    .knobs = fp_bench_knobs,
                                    .nknobs = FP_BENCH_KNOBS,
                                    .constrain = fp_bench_constrain,
                                    .run = run,
                                    .no_reset = true};
