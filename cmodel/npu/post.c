/*
 * post.c - from an int32 sum to the 32 bits, or the INT8, that are written: docs/npu/npu.md section 2.
 */
#include "cmodel.h"

uint32_t cm_post(const cm_gemm_task *t, int32_t sum, int32_t psum, uint32_t oscale, uint32_t bias) {
    uint32_t total = (uint32_t)sum;
    if (t->psum_add) {
        total += (uint32_t)psum; /* wraps */
    }
    if (t->ibias) {
        total += bias;
    }
    if (t->raw_out) {
        return total;
    }
    uint32_t y = cm_fp_i32_to_f32((int32_t)total);
    if (t->oscale_en) {
        y = cm_fp_mul(y, oscale);
    }
    if (t->bias_en && !t->ibias) {
        y = cm_fp_add(y, bias);
    }
    return cm_activate(t->act, t->act_p, y);
}
