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

__attribute__((noinline)) static void activate_row(const cm_gemm_task *t, cm_fp_row *y, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        (*y)[i] = cm_activate(t->act, t->act_p, (*y)[i]);
    }
}

/* cm_post() of four values each of two channels. Functions that are more than a comparison
 * are applied to the first `count` results. */
static inline void post_row(const cm_gemm_task *t, const int32_t *const sum[2], const int32_t *psum,
                            const uint32_t *const oscale[2], const uint32_t *const bias[2], cm_fp_row *y,
                            uint32_t count) {
    cm_fp_row part;
    cm_fp_row_load(y, sum[0], sum[1]);
    if (t->psum_add) {
        cm_fp_row_load(&part, psum, psum);
        *y += part;
    }
    if (t->ibias) {
        cm_fp_row_spread(&part, bias[0], bias[1]);
        *y += part;
    }
    if (t->raw_out) {
        return;
    }
    cm_fp_i32_to_f32_row(y, y);
    if (t->oscale_en) {
        cm_fp_row_spread(&part, oscale[0], oscale[1]);
        cm_fp_mul_row(y, y, &part);
    }
    if (t->bias_en && !t->ibias) {
        cm_fp_row_spread(&part, bias[0], bias[1]);
        cm_fp_add_row(y, y, &part);
    }
    if (t->act == CM_ACT_RELU) { /* as cm_fp_relu(): the mask of a NaN is 0 */
        *y &= (cm_fp_row)((cm_fp_row_floats)*y > 0.0f);
    } else if (count > 0 && t->act != CM_ACT_NONE) {
        activate_row(t, y, count);
    }
}

void cm_post_lanes(const cm_gemm_task *t, const int32_t sum[4], const int32_t psum[4], uint32_t oscale, uint32_t bias,
                   uint32_t out[4]) {
    cm_fp_row y;
    post_row(t, (const int32_t *const[2]){sum, sum}, psum, (const uint32_t *const[2]){&oscale, &oscale},
             (const uint32_t *const[2]){&bias, &bias}, &y, CM_FP_LANES);
    memcpy(out, &y, sizeof y / 2);
}

/* One or (`second` is 1) two channels. `simple`: no such function, and the usual quantiser, so no call is needed. */
static inline void post_pair(const cm_gemm_task *t, uint32_t n, uint32_t second, const int32_t *sum,
                             const int32_t *psum, const uint32_t *oscale, const uint32_t *bias, int8_t *out,
                             bool simple) {
    cm_fp_row y, scale;
    cm_fp_row_ints q;
    post_row(t, (const int32_t *const[2]){sum, &sum[4 * second]}, psum,
             (const uint32_t *const[2]){oscale, &oscale[second]}, (const uint32_t *const[2]){bias, &bias[second]}, &y,
             simple ? 0 : CM_FP_ROW);
    cm_fp_row_spread(&scale, &t->out_scale, &t->out_scale);
    y = (cm_fp_row)((cm_fp_row_floats)y * (cm_fp_row_floats)scale); /* a NaN counts as 0, whatever its bits are */
    if (simple || cm_quant_out(t) == 0) {
        cm_fp_f32_to_i8_row(&q, &y);
    } else {
        const cm_fp_row quant = (cm_fp_row){0} + cm_quant_out(t);
        cm_fp_quantise_row(&q, &y, &quant);
    }
    cm_fp_row_pairs(out, n, second, &q);
}

__attribute__((noinline)) static void others(const cm_gemm_task *t, uint32_t n, uint32_t columns, const int32_t *sum,
                                             const int32_t *psum, const uint32_t *oscale, const uint32_t *bias,
                                             int8_t *out) {
    for (uint32_t j = 0; j < columns; j += 2) {
        post_pair(t, n, j + 1 < columns, &sum[4 * j], psum, &oscale[j], &bias[j], &out[j], false);
    }
}

void cm_post_columns(const cm_gemm_task *t, uint32_t n, uint32_t columns, const int32_t *sum, const int32_t psum[4],
                     const uint32_t *oscale, const uint32_t *bias, int8_t *out) {
    const uint32_t second = columns - 1;
    if (second <= 1 && t->act <= CM_ACT_RELU && cm_quant_out(t) == 0) {
        post_pair(t, n, second, sum, psum, oscale, bias, out, true);
    } else {
        others(t, n, columns, sum, psum, oscale, bias, out);
    }
}

uint64_t cm_post_wide(const cm_gemm_task *t, int64_t sum, int64_t psum, uint32_t oscale, uint32_t bias) {
    const int64_t total = (int64_t)((uint64_t)sum + (t->psum_add ? (uint64_t)psum : 0));
    return t->raw_out ? (uint64_t)total : finish(t, cm_fp_i64_to_f32(total), oscale, bias);
}
