/* dut: fp_f16_to_f32 */
#include "fp_bench.h"

FP_BENCH("fp_f16_to_f32", "binary16 to binary32", fp_operand_f16, FP_VECTORS_OF_F16, 1);
