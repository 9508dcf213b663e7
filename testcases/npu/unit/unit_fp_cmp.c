/* dut: fp_cmp */
#include "fp_bench.h"

FP_BENCH("fp_cmp", "binary32 comparator", fp_operands_cmp, FP_VECTORS_ANY, 2);
