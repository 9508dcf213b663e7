/* dut: fp_cmp */
#include "fp_bench.h"

FP_BENCH("fp_le", "binary32 comparator, less or equal,", fp_operands_cmp, FP_VECTORS_LE, 2);
