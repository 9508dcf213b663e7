/*
 * conv_ref.c - single outputs of a convolution straight from the definition.
 *
 * With int32 biases, which the driver has folded the zero-point into, it is that of document 002 (section 3.2.1) and of
 * ONNX's QLinearConv: sum of (q - zero) * w over the map, and the bias. Otherwise padding holds the zero-point.
 */
#include "conv.h"

static int32_t sum_of(const npu_conv *c, const conv_tensors *t, bool folded, uint32_t oc, uint32_t oy, uint32_t ox) {
    const int32_t padding = folded ? 0 : c->quant.in_zero;
    const int32_t zero = folded ? c->quant.in_zero : 0;
    const uint32_t icg = c->ic / c->groups;
    const uint32_t first = oc / (c->oc / c->groups) * icg;
    uint32_t sum = 0; /* wraps */
    for (uint32_t i = 0; i < icg; i++) {
        for (uint32_t k = 0; k < c->kh * c->kw; k++) {
            const int64_t y = (int64_t)oy * c->stride_h + (int64_t)(k / c->kw) * c->dil_h - c->pad_t;
            const int64_t x = (int64_t)ox * c->stride_w + (int64_t)(k % c->kw) * c->dil_w - c->pad_l;
            const bool inside = y >= 0 && y < c->ih && x >= 0 && x < c->iw;
            const int32_t w = t->weights[((size_t)oc * icg + i) * c->kh * c->kw + k];
            const int32_t a =
                inside ? t->quantised[((size_t)(first + i) * c->ih + (size_t)y) * c->iw + (size_t)x] - zero : padding;
            sum += (uint32_t)(a * w);
        }
    }
    return (int32_t)sum;
}

uint32_t conv_reference(const npu_conv *c, const conv_tensors *t, uint32_t oc, uint32_t oy, uint32_t ox) {
    float factor = 0.0f;
    if (t->w_scale[oc] != 0.0f) {
        const float product = ref_float(c->in_scale) * t->w_scale[oc];
        factor = 1.0f / product;
    }
    const bool folded = c->int_bias && !t->linear;
    const uint32_t sum = (uint32_t)sum_of(c, t, folded, oc, oy, ox) + (c->int_bias ? t->bias[oc] : 0);
    float y = (float)(int32_t)sum * factor;
    if (c->has_bias && !c->int_bias) {
        y = y + ref_float(t->bias[oc]);
    }
    return ref_bits(y);
}
