/* dut: fp_f32_to_i8 */
#include "fp_bench.h"

FP_BENCH("fp_f32_to_i8", "binary32 to int8 quantiser", fp_operand_i8, FP_VECTORS_I8, 1);
