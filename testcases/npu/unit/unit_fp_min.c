/* dut: fp_min */
#include "fp_bench.h"

FP_BENCH("fp_min", "binary32 minimum", fp_operands_cmp, FP_VECTORS_SELECT, 2);
