/* dut: fp_mul */
#include "fp_bench.h"

FP_BENCH("fp_mul", "binary32 multiplier", fp_operands_mul, FP_VECTORS_F32, 2);
