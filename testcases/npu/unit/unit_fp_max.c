/* dut: fp_max */
#include "fp_bench.h"

FP_BENCH("fp_max", "binary32 maximum", fp_operands_cmp, FP_VECTORS_SELECT, 2);
