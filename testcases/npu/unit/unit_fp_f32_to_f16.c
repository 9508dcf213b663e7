/* dut: fp_f32_to_f16 */
#include "fp_bench.h"

FP_BENCH("fp_f32_to_f16", "binary32 to binary16", fp_operand_f32_f16, FP_VECTORS_F16, 1);
