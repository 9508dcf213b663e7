/* dut: fp_cmp */
#include "fp_bench.h"

FP_BENCH("fp_eq", "binary32 comparator, equal,", fp_operands_cmp, FP_VECTORS_EQ, 2);
