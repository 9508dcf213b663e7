/* dut: fp_cmp */
#include "fp_bench.h"

FP_BENCH("fp_lt", "binary32 comparator, less,", fp_operands_cmp, FP_VECTORS_LT, 2);
