/* dut: fp_f32_to_i16 */
#include "fp_bench.h"

/* Halves and their neighbours of every size of int16, the ends of its range, and all corner cases. */
static void draw(tb_rng *rng, uint32_t *a, uint32_t *b) {
    const uint32_t sign = tb_rng_u32(rng) & 0x80000000u;
    *b = 0;
    switch (tb_rng_range(rng, 0, 3)) {
    case 0:
        *a = fp_hard(rng);
        return;
    case 1: /* k + 1/2, and its neighbours one unit in the last place away */
        *a = cm_fp_i32_to_f32((int32_t)(tb_rng_range(rng, 0, UINT64_C(131071) >> tb_rng_range(rng, 0, 17))));
        *a = *a > 0x3F800000u ? *a - (1u << 23) : *a;
        *a = (*a + (uint32_t)tb_rng_range_i64(rng, -1, 1)) ^ sign;
        return;
    case 2: /* the ends */
        *a = (0x46FFFE00u + (uint32_t)tb_rng_range_i64(rng, -0x204, 0x204)) | sign;
        return;
    default:
        *a = (tb_rng_u32(rng) & 0x007fffffu) | (uint32_t)tb_rng_range(rng, 110, 146) << 23 | sign;
        return;
    }
}

FP_BENCH("fp_f32_to_i16", "binary32 to int16", draw, FP_VECTORS_I16, 1);
