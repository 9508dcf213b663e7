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

__attribute__((noinline)) static cm_fp_lanes activate_lanes(const cm_gemm_task *t, cm_fp_lanes y) {
    if (t->act == CM_ACT_RELU) { /* as cm_fp_relu(): the mask of a NaN is 0 */
        return y & (cm_fp_lanes)((cm_fp_floats)y > (cm_fp_floats)cm_fp_all(0));
    }
    for (uint32_t i = 0; i < CM_FP_LANES; i++) {
        y[i] = cm_activate(t->act, t->act_p, y[i]);
    }
    return y;
}

static inline cm_fp_lanes post_lanes(const cm_gemm_task *t, const int32_t sum[4], const int32_t psum[4],
                                     uint32_t oscale, uint32_t bias) {
    cm_fp_lanes y, part;
    memcpy(&y, sum, sizeof y);
    if (t->psum_add) {
        memcpy(&part, psum, sizeof part);
        y += part;
    }
    if (t->ibias) {
        y += cm_fp_all(bias);
    }
    if (t->raw_out) {
        return y;
    }
    y = cm_fp_i32_to_f32_lanes(y);
    if (t->oscale_en) {
        y = cm_fp_mul_lanes(y, cm_fp_all(oscale));
    }
    if (t->bias_en && !t->ibias) {
        y = cm_fp_add_lanes(y, cm_fp_all(bias));
    }
    return t->act == CM_ACT_NONE ? y : activate_lanes(t, y);
}

void cm_post_lanes(const cm_gemm_task *t, const int32_t sum[4], const int32_t psum[4], uint32_t oscale, uint32_t bias,
                   uint32_t out[4]) {
    const cm_fp_lanes y = post_lanes(t, sum, psum, oscale, bias);
    memcpy(out, &y, sizeof y);
}

/* The usual quantiser; not cm_fp_mul_lanes(): a NaN counts as 0, whatever its bits are. */
static inline cm_fp_ints requant_usual(cm_fp_lanes y, uint32_t scale) {
    return cm_fp_f32_to_i8_lanes((cm_fp_lanes)((cm_fp_floats)y * (cm_fp_floats)cm_fp_all(scale)));
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
    const cm_fp_lanes q = (cm_fp_lanes)requant_usual(v, t->out_scale) & 0xFF;
    typedef uint64_t pairs __attribute__((vector_size(sizeof q)));
    const pairs two = (pairs)q | (pairs)q >> 24; /* a byte beside its neighbour: faster than each alone */
    for (uint32_t i = 0; i < 2; i++) {
        out[2 * i] = (int8_t)two[i];
        out[2 * i + 1] = (int8_t)(two[i] >> 8);
    }
}

void cm_post_columns(const cm_gemm_task *t, uint32_t n, uint32_t columns, const int32_t *sum, const int32_t psum[4],
                     const uint32_t *oscale, const uint32_t *bias, int8_t *out) {
    const bool usual = cm_quant_out(t) == 0;
    const uint32_t scale = t->out_scale;
    for (uint32_t j = 0; j < columns; j++) {
        const cm_fp_lanes y = post_lanes(t, &sum[4 * j], psum, oscale[j], bias[j]);
        if (usual) {
            const cm_fp_ints q = requant_usual(y, scale);
            out[j] = (int8_t)q[0];
            out[n + j] = (int8_t)q[1];
            out[2 * n + j] = (int8_t)q[2];
            out[3 * n + j] = (int8_t)q[3];
        } else {
            for (uint32_t i = 0; i < CM_FP_LANES; i++) {
                out[i * n + j] = cm_requant(t, y[i]);
            }
        }
    }
}

uint64_t cm_post_wide(const cm_gemm_task *t, int64_t sum, int64_t psum, uint32_t oscale, uint32_t bias) {
    const int64_t total = (int64_t)((uint64_t)sum + (t->psum_add ? (uint64_t)psum : 0));
    return t->raw_out ? (uint64_t)total : finish(t, cm_fp_i64_to_f32(total), oscale, bias);
}
