/* conv_ref.c - single outputs of a convolution straight from the definition. */
#include "conv.h"

static int32_t sum_of(const npu_conv *c, const conv_tensors *t, uint32_t oc, uint32_t oy, uint32_t ox) {
    const uint32_t icg = c->ic / c->groups;
    const uint32_t first = oc / (c->oc / c->groups) * icg;
    uint32_t sum = 0; /* wraps */
    for (uint32_t i = 0; i < icg; i++) {
        for (uint32_t ky = 0; ky < c->kh; ky++) {
            const int64_t y = (int64_t)oy * c->stride_h + (int64_t)ky * c->dil_h - c->pad_t;
            if (y < 0 || y >= c->ih) {
                continue;
            }
            for (uint32_t kx = 0; kx < c->kw; kx++) {
                const int64_t x = (int64_t)ox * c->stride_w + (int64_t)kx * c->dil_w - c->pad_l;
                if (x < 0 || x >= c->iw) {
                    continue;
                }
                const int32_t a = t->quantised[((size_t)(first + i) * c->ih + (size_t)y) * c->iw + (size_t)x];
                const int32_t w = t->weights[(((size_t)oc * icg + i) * c->kh + ky) * c->kw + kx];
                sum += (uint32_t)(a * w);
            }
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
    float y = (float)sum_of(c, t, oc, oy, ox) * factor;
    if (c->has_bias) {
        y = y + ref_float(t->bias[oc]);
    }
    return ref_bits(y);
}
