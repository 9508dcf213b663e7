/* dut: fp_sub */
#include "fp_bench.h"

FP_BENCH("fp_sub", "binary32 subtractor", fp_operands_add, FP_VECTORS_F32, 2);
