/*
 * post.c - from an int32 sum to the 32 bits, or the INT8, that are written: docs/npu/npu.md section 2.
 */
#include "cmodel.h"

/* What follows the conversion of the sum to FP32. */
static uint32_t finish(const cm_gemm_task *t, uint32_t y, uint32_t oscale, uint32_t bias) {
    if (t->oscale_en) {
        y = cm_fp_mul(y, oscale);
    }
    if (t->bias_en && !t->ibias) {
        y = cm_fp_add(y, bias);
    }
    return cm_activate(t->act, t->act_p, y);
}

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
    return finish(t, cm_fp_i32_to_f32((int32_t)total), oscale, bias);
}

uint64_t cm_post_wide(const cm_gemm_task *t, int64_t sum, int64_t psum, uint32_t oscale, uint32_t bias) {
    const int64_t total = (int64_t)((uint64_t)sum + (t->psum_add ? (uint64_t)psum : 0));
    return t->raw_out ? (uint64_t)total : finish(t, cm_fp_i64_to_f32(total), oscale, bias);
}
