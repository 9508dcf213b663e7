/* dut: fp_add */
#include "fp_bench.h"

FP_BENCH("fp_add", "binary32 adder", fp_operands_add, FP_VECTORS_F32, 2);
