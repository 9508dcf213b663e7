/* dut: fp_f32_to_i32 */
#include "fp_bench.h"

FP_BENCH("fp_f32_to_i32", "binary32 to int32", fp_operand_f32_i32, FP_VECTORS_I32, 1);
