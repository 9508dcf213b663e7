/*
 * post.c - from an int32 sum to the 32 bits, or the INT8, that are written: docs/npu/npu.md section 2.
 */
#include "cm_fp_lanes.h"
#include "cmodel.h"

/* What follows the conversion of the sum to FP32. */
static uint32_t finish(const cm_gemm_task *t, uint32_t y, uint32_t oscale, uint32_t bias) {
    if (t->oscale_en) {
        y = cm_fp_mul(y, oscale);
    }
    if (t->bias_en && !t->ibias) {
        y = cm_fp_add(y, bias);
    }
    return t->act == CM_ACT_NONE ? y : cm_activate(t->act, t->act_p, y);
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

static cm_fp_lanes finish_lanes(const cm_gemm_task *t, cm_fp_lanes y, uint32_t oscale, uint32_t bias) {
    if (t->oscale_en) {
        y = cm_fp_mul_lanes(y, cm_fp_all(oscale));
    }
    if (t->bias_en && !t->ibias) {
        y = cm_fp_add_lanes(y, cm_fp_all(bias));
    }
    for (uint32_t i = 0; t->act != CM_ACT_NONE && i < CM_FP_LANES; i++) {
        y[i] = cm_activate(t->act, t->act_p, y[i]);
    }
    return y;
}

void cm_post_lanes(const cm_gemm_task *t, const int32_t sum[4], const int32_t psum[4], uint32_t oscale, uint32_t bias,
                   uint32_t out[4]) {
    cm_fp_lanes total, part;
    memcpy(&total, sum, sizeof total);
    memcpy(&part, psum, sizeof part);
    total += t->psum_add ? part : cm_fp_all(0);
    total += t->ibias ? cm_fp_all(bias) : cm_fp_all(0);
    total = t->raw_out ? total : finish_lanes(t, cm_fp_i32_to_f32_lanes(total), oscale, bias);
    memcpy(out, &total, sizeof total);
}

void cm_requant_lanes(const cm_gemm_task *t, const uint32_t y[4], int8_t out[4]) {
    cm_fp_lanes v;
    memcpy(&v, y, sizeof v);
    if (cm_quant_out(t) != 0) {
        for (uint32_t i = 0; i < CM_FP_LANES; i++) {
            out[i] = cm_requant(t, y[i]);
        }
        return;
    }
    const cm_fp_ints q = cm_fp_f32_to_i8_lanes(cm_fp_mul_lanes(v, cm_fp_all(t->out_scale)));
    for (uint32_t i = 0; i < CM_FP_LANES; i++) {
        out[i] = (int8_t)q[i];
    }
}

uint64_t cm_post_wide(const cm_gemm_task *t, int64_t sum, int64_t psum, uint32_t oscale, uint32_t bias) {
    const int64_t total = (int64_t)((uint64_t)sum + (t->psum_add ? (uint64_t)psum : 0));
    return t->raw_out ? (uint64_t)total : finish(t, cm_fp_i64_to_f32(total), oscale, bias);
}
