/*
 * npu_conv_pack.c - weights and factors in the format of the hardware.
 */
#include "npu_priv.h"

/* The weights of a caller: one row for each output channel, with icg * taps of them; missing taps at its end are
 * zero. */
typedef struct source {
    const int8_t *weights;    /* NULL: */
    const int16_t *weights16; /* those of INT16 */
    uint32_t row;             /* weights of an output channel */
    uint32_t icg, ocg;
    uint32_t taps;
    uint32_t oc; /* output channels before the batch */
    uint32_t batch_ic, batch_oc;
} source;

static int32_t value_of(const source *s, uint64_t at) {
    return s->weights != NULL ? s->weights[at] : s->weights16[at];
}

/* The weight from input channel ic to output channel oc of the batch: zero between groups and where there is no
 * channel. */
static int32_t weight_at(const source *s, uint32_t oc, uint32_t ic, uint32_t tap) {
    if (oc >= s->batch_oc || ic >= s->batch_ic) {
        return 0;
    }
    if (s->batch_ic != s->icg) {
        if (oc / s->ocg != ic / s->icg) {
            return 0;
        }
        ic %= s->icg;
    }
    uint64_t at = (uint64_t)ic * s->taps + tap;
    return at < s->row ? value_of(s, (uint64_t)(s->oc + oc) * s->row + at) : 0;
}

/* Byte `high` of a weight. */
static int8_t byte_of(int32_t value, bool high) {
    uint32_t bits = (uint32_t)value >> (high ? 8 : 0) & 0xFFu;
    return (int8_t)(bits >= 128 ? (int32_t)bits - 256 : (int32_t)bits);
}

/* One block: n input channels from ic0 by n output channels from oc0, at one kernel position; of INT16 each row is two
 * words. Returns the end of what was written. */
static int8_t *pack_block(const source *s, uint32_t n, uint32_t oc0, uint32_t ic0, uint32_t tap, int8_t *dst) {
    for (uint32_t r = 0; r < n; r++) {
        for (uint32_t high = 0; high < (s->weights != NULL ? 1u : 2u); high++) {
            for (uint32_t c = 0; c < n; c++) {
                *dst++ = byte_of(weight_at(s, oc0 + c, ic0 + r, tap), high != 0);
            }
        }
    }
    return dst;
}

/* One batch of groups: slices of input channels, slices of kernel rows, blocks of output channels. */
static int8_t *pack_batch(const npu_conv *conv, const npu_conv_plan *plan, const source *s, int8_t *dst) {
    uint32_t n = plan->n;
    for (uint32_t ic0 = 0; ic0 < s->batch_ic; ic0 += plan->ic_task) {
        uint32_t ic_end = npu_min(s->batch_ic, ic0 + plan->ic_task);
        for (uint32_t kh0 = 0; kh0 < conv->kh; kh0 += plan->kh_task) {
            uint32_t tap_end = npu_min(conv->kh, kh0 + plan->kh_task) * conv->kw;
            for (uint32_t oc0 = 0; oc0 < s->batch_oc; oc0 += n) {
                for (uint32_t tap = kh0 * conv->kw; tap < tap_end; tap++) {
                    for (uint32_t ic = ic0; ic < ic_end; ic += n) {
                        dst = pack_block(s, n, oc0, ic, tap, dst);
                    }
                }
            }
        }
    }
    return dst;
}

/* Slices of kernel rows, in each of them blocks of channels, each on a multiple of 16 bytes. */
static void pack_depthwise(const npu_conv *conv, const npu_conv_plan *plan, const source *s, int8_t *dst) {
    uint32_t n = plan->n;
    uint32_t taps = conv->kh * conv->kw;
    uint32_t size = s->weights != NULL ? 1 : 2;
    for (uint32_t kh0 = 0; kh0 < conv->kh; kh0 += plan->kh_task) {
        uint32_t tap0 = kh0 * conv->kw;
        uint32_t tap_end = npu_min(conv->kh, kh0 + plan->kh_task) * conv->kw;
        uint32_t bytes = (tap_end - tap0) * n * size;
        for (uint32_t c0 = 0; c0 < conv->ic; c0 += n) {
            for (uint32_t i = 0; i < npu_align(bytes, 16); i++) {
                uint32_t c = c0 + i % n;
                uint32_t word = i / n;
                bool exists = i < bytes && c < conv->ic;
                *dst++ = exists ? byte_of(value_of(s, (uint64_t)c * taps + tap0 + word / size), word % size != 0)
                                : (int8_t)0;
            }
        }
    }
}

static npu_status check_pack(const npu_conv *conv, const npu_conv_plan *plan, const void *src, const void *dst,
                             size_t have, bool params) {
    if (conv == NULL || plan == NULL || src == NULL || dst == NULL) {
        return NPU_ERR_ARG;
    }
    npu_status status = npu_conv_plan_check(conv, plan);
    if (status == NPU_OK && have < (params ? plan->param_bytes : plan->wgt_bytes)) {
        status = NPU_ERR_BUF_SIZE;
    }
    return status;
}

/* s: its weights and row. */
static void pack(const npu_conv *conv, const npu_conv_plan *plan, source s, int8_t *dst) {
    s.icg = conv->ic / conv->groups;
    s.ocg = conv->oc / conv->groups;
    s.taps = conv->kh * conv->kw;
    if (plan->op == NPU_GEMM_DEPTHWISE) {
        pack_depthwise(conv, plan, &s, dst);
        return;
    }
    for (uint32_t g = 0; g < plan->group_tasks; g++) {
        uint32_t groups = npu_conv_batch_groups(conv, plan, g);
        s.oc = g * plan->merge * s.ocg;
        s.batch_ic = groups * s.icg;
        s.batch_oc = groups * s.ocg;
        dst = pack_batch(conv, plan, &s, dst);
    }
}

npu_status npu_conv_pack_weights(const npu_conv *conv, const npu_conv_plan *plan, const int8_t *weights, int8_t *dst,
                                 size_t dst_bytes) {
    npu_status status = check_pack(conv, plan, weights, dst, dst_bytes, false);
    if (status == NPU_OK && conv->wide) {
        status = NPU_ERR_LAYOUT;
    }
    if (status == NPU_OK) {
        pack(conv, plan, (source){.weights = weights, .row = conv->ic / conv->groups * conv->kh * conv->kw}, dst);
    }
    return status;
}

npu_status npu_conv_pack_weights16(const npu_conv *conv, const npu_conv_plan *plan, const int16_t *weights, int8_t *dst,
                                   size_t dst_bytes) {
    npu_status status = check_pack(conv, plan, weights, dst, dst_bytes, false);
    if (status == NPU_OK && !conv->wide) {
        status = NPU_ERR_LAYOUT;
    }
    if (status == NPU_OK) {
        pack(conv, plan, (source){.weights16 = weights, .row = conv->ic / conv->groups * conv->kh * conv->kw}, dst);
    }
    return status;
}

/* ---- fully connected ---- */

/* An FP32 vector is read as channels of so many pixels: bursts of 16 bytes, and blocks of N channels in each of the
 * kernel's columns. */
#define VECTOR_PIXELS 4u

npu_status npu_linear_make(uint32_t n, uint32_t in_len, uint32_t out_len, npu_layout in_layout, npu_layout out_layout,
                           npu_conv *conv) {
    if (!npu_is_mesh_size(n) || conv == NULL || (in_layout != NPU_FP32_NCHW && in_layout != NPU_INT8_NHWC) ||
        (out_layout != NPU_FP32_NCHW && out_layout != NPU_INT8_NHWC)) {
        return NPU_ERR_ARG;
    }
    if (in_len == 0 || out_len == 0) {
        return NPU_ERR_ZERO_SIZE;
    }
    bool int8 = in_layout == NPU_INT8_NHWC;
    uint32_t pixels = int8 ? 1 : VECTOR_PIXELS;
    if (npu_div_up(in_len, pixels) > NPU_MAX_DIM || out_len > NPU_MAX_DIM) {
        return NPU_ERR_TOO_LARGE;
    }
    npu_conv c = {.iw = pixels,
                  .ih = 1,
                  .ic = npu_div_up(in_len, pixels),
                  .oc = out_len,
                  .kw = pixels,
                  .kh = 1,
                  .stride_w = 1,
                  .stride_h = 1,
                  .dil_w = 1,
                  .dil_h = 1,
                  .groups = 1,
                  .act = NPU_ACT_NONE,
                  .in_layout = in_layout,
                  .out_layout = out_layout};
    c.ifm_cstep = int8 ? npu_align(in_len, n) : VECTOR_PIXELS * 4;
    c.ofm_cstep = out_layout == NPU_INT8_NHWC ? npu_align(out_len, n) : 4;
    *conv = c;
    return NPU_OK;
}

npu_status npu_linear_pack_weights(const npu_conv *conv, const npu_conv_plan *plan, uint32_t in_len,
                                   const int8_t *weights, int8_t *dst, size_t dst_bytes) {
    npu_status status = check_pack(conv, plan, weights, dst, dst_bytes, false);
    if (status != NPU_OK) {
        return status;
    }
    if (conv->wide || conv->groups != 1 || conv->kh != 1 || conv->iw != conv->kw ||
        npu_div_up(in_len, conv->kw) != conv->ic) {
        return NPU_ERR_SHAPE;
    }
    pack(conv, plan, (source){.weights = weights, .row = in_len}, dst);
    return NPU_OK;
}

/* ---- factors ---- */

npu_status npu_conv_make_multiplier(const npu_conv *conv, const npu_conv_plan *plan, float x_step, const float *w_step,
                                    float y_step, float *dst, size_t dst_bytes) {
    npu_status status = check_pack(conv, plan, w_step, dst, dst_bytes, true);
    if (status != NPU_OK) {
        return status;
    }
    for (uint32_t c = 0; c < plan->param_bytes / 4; c++) {
        dst[c] = 0.0f;
        if (c < conv->oc) {
            float product = x_step * w_step[c];
            dst[c] = npu_float(npu_bits(product / y_step));
        }
    }
    return NPU_OK;
}

npu_status npu_conv_fold_bias(const npu_conv *conv, const npu_conv_plan *plan, const int8_t *weights,
                              const int32_t *bias, int32_t *dst, size_t dst_bytes) {
    npu_status status = check_pack(conv, plan, weights, dst, dst_bytes, true);
    if (status != NPU_OK) {
        return status;
    }
    uint64_t row = (uint64_t)(conv->ic / conv->groups) * conv->kh * conv->kw;
    for (uint32_t c = 0; c < plan->param_bytes / 4; c++) {
        int64_t sum = 0;
        for (uint64_t i = 0; c < conv->oc && i < row; i++) {
            sum += weights[c * row + i];
        }
        int64_t own = bias != NULL && c < conv->oc ? bias[c] : 0;
        dst[c] = (int32_t)(uint32_t)(own - conv->quant.in_zero * sum); /* wraps, as the hardware's sums do */
    }
    return NPU_OK;
}

npu_status npu_conv_make_oscale(const npu_conv *conv, const npu_conv_plan *plan, const float *w_scale, float *dst,
                                size_t dst_bytes) {
    npu_status status = check_pack(conv, plan, w_scale, dst, dst_bytes, true);
    if (status != NPU_OK) {
        return status;
    }
    float in_scale = npu_float(conv->in_scale);
    for (uint32_t c = 0; c < plan->param_bytes / 4; c++) {
        dst[c] = 0.0f;
        if (c < conv->oc && w_scale[c] != 0.0f) {
            float product = in_scale * w_scale[c];
            dst[c] = npu_float(npu_bits(1.0f / product));
        }
    }
    return NPU_OK;
}
