/* dut: fp_add */
#include "fp_bench.h"
#include "fp_vectors.h"

static uint32_t model(uint32_t a, uint32_t b) {
    return cm_fp_add(a, b);
}

static int run(unit *u) {
    return fp_bench_run(u, model, fp_operands_add, 0xffffffffu);
}

static int vectors(unit *u, FILE *in, const char *where, char *err, size_t err_size) {
    return fp_vectors_run(u, FP_VECTORS_F32, 2, in, where, err, err_size);
}

const unit_bench unit_this_bench = {.name = "fp_add",
                                    .about = "binary32 adder against the golden model",
                                    .knobs = fp_bench_knobs,
                                    .nknobs = FP_BENCH_KNOBS,
                                    .constrain = fp_bench_constrain,
                                    .run = run,
                                    .no_reset = true,
                                    .vectors = vectors};
