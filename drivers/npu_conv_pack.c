/*
 * npu_conv_pack.c - weights and factors in the form that the hardware reads.
 */
#include "npu_priv.h"

/* One block: n input channels from ic0 (below ic_end) by n output channels from oc0, at one kernel position. */
static void pack_block(const npu_conv *conv, uint32_t n, uint32_t oc0, uint32_t ic0, uint32_t ic_end, size_t tap, const int8_t *weights,
                       int8_t *dst) {
    size_t taps = (size_t)conv->kh * conv->kw;
    for (uint32_t r = 0; r < n; r++) {
        for (uint32_t c = 0; c < n; c++) {
            bool exists = ic0 + r < ic_end && oc0 + c < conv->oc;
            dst[(size_t)r * n + c] = exists ? weights[((size_t)(oc0 + c) * conv->ic + ic0 + r) * taps + tap] : (int8_t)0;
        }
    }
}

/* What a slice has for n output channels from oc0: kernel rows from kh0, input channels from ic0. Returns the end of what was written. */
static int8_t *pack_blocks(const npu_conv *conv, const npu_conv_plan *plan, uint32_t oc0, uint32_t ic0, uint32_t kh0, const int8_t *weights,
                           int8_t *dst) {
    uint32_t n = plan->n;
    uint32_t ic_end = npu_min(conv->ic, ic0 + plan->ic_task);
    size_t tap_end = (size_t)(kh0 + npu_conv_kh_task(conv, plan)) * conv->kw;
    for (size_t tap = (size_t)kh0 * conv->kw; tap < tap_end; tap++) {
        for (uint32_t ic = ic0; ic < ic_end; ic += n) {
            pack_block(conv, n, oc0, ic, ic_end, tap, weights, dst);
            dst += (size_t)n * n;
        }
    }
    return dst;
}

npu_status npu_conv_pack_weights(const npu_conv *conv, const npu_conv_plan *plan, const int8_t *weights, int8_t *dst, size_t dst_bytes) {
    if (conv == NULL || plan == NULL || weights == NULL || dst == NULL) {
        return NPU_ERR_ARG;
    }
    npu_status status = npu_conv_plan_check(conv, plan);
    if (status != NPU_OK) {
        return status;
    }
    if (dst_bytes < plan->wgt_bytes) {
        return NPU_ERR_BUF_SIZE;
    }
    uint32_t n = plan->n;
    uint32_t kh_task = npu_conv_kh_task(conv, plan);
    for (uint32_t ic0 = 0; ic0 < conv->ic; ic0 += plan->ic_task) {
        for (uint32_t kh0 = 0; kh0 < conv->kh; kh0 += kh_task) {
            for (uint32_t oc0 = 0; oc0 < conv->oc; oc0 += n) {
                dst = pack_blocks(conv, plan, oc0, ic0, kh0, weights, dst);
            }
        }
    }
    return NPU_OK;
}

static float float_of_bits(uint32_t bits) {
    union {
        uint32_t u;
        float f;
    } v;
    v.u = bits;
    return v.f;
}

npu_status npu_conv_make_oscale(const npu_conv *conv, const npu_conv_plan *plan, const float *w_scale, float *dst, size_t dst_bytes) {
    if (conv == NULL || plan == NULL || w_scale == NULL || dst == NULL) {
        return NPU_ERR_ARG;
    }
    npu_status status = npu_conv_plan_check(conv, plan);
    if (status != NPU_OK) {
        return status;
    }
    if (dst_bytes < plan->param_bytes) {
        return NPU_ERR_BUF_SIZE;
    }
    float in_scale = float_of_bits(conv->in_scale);
    for (uint32_t c = 0; c < plan->param_bytes / 4; c++) {
        dst[c] = 0.0f;
        if (c < conv->oc && w_scale[c] != 0.0f) {
            float product = in_scale * w_scale[c];
            float value = 1.0f / product;
            /* The payload of a NaN depends on the processor; results must not. */
            dst[c] = value != value ? float_of_bits(0x7FC00000u) : value;
        }
    }
    return NPU_OK;
}
