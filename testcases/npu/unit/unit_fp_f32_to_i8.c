/* dut: fp_f32_to_i8 */
#include "fp_bench.h"
#include "fp_vectors.h"

static uint32_t model(uint32_t a, uint32_t b) {
    (void)b;
    return (uint8_t)cm_fp_f32_to_i8(a);
}

static int run(unit *u) {
    return fp_bench_run(u, model, fp_operand_i8, 0xffu);
}

static int vectors(unit *u, FILE *in, const char *where, char *err, size_t err_size) {
    return fp_vectors_run(u, FP_VECTORS_I8, 1, in, where, err, err_size);
}

const unit_bench unit_this_bench = {.name = "fp_f32_to_i8",
                                    .about = "binary32 to int8 quantiser against the golden model",
                                    .knobs = fp_bench_knobs,
                                    .nknobs = FP_BENCH_KNOBS,
                                    .constrain = fp_bench_constrain,
                                    .run = run,
                                    .no_reset = true,
                                    .vectors = vectors};
