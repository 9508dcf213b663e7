/* dut: fp_i32_to_f32 */
#include "fp_bench.h"

FP_BENCH("fp_i32_to_f32", "int32 to binary32", fp_operand_i32, FP_VECTORS_F32, 1);
