/*
 * conv_ref.c - single outputs of a convolution straight from the definition (docs/npu.md section 2), in the host's own arithmetic. It shares nothing with driver,
 * model and RTL, so it finds what all of them have wrong alike.
 */
#include "conv.h"

#include <math.h>
#include <string.h>

#define CANONICAL_NAN 0x7FC00000u

static float float_of(uint32_t u) {
    float v;
    memcpy(&v, &u, 4);
    return v;
}

static uint32_t bits_of(float v) {
    uint32_t u;
    memcpy(&u, &v, 4);
    return isnan(v) ? CANONICAL_NAN : u;
}

/* roundf() rounds halves away from zero. */
static int32_t quantise(uint32_t x, uint32_t scale) {
    const float v = roundf(float_of(x) * float_of(scale));
    return isnan(v) ? 0 : v > 127.0f ? 127 : v < -127.0f ? -127 : (int32_t)v;
}

static int32_t sum_of(const npu_conv *c, const conv_tensors *t, uint32_t oc, uint32_t oy, uint32_t ox) {
    uint32_t sum = 0; /* wraps */
    for (uint32_t ic = 0; ic < c->ic; ic++) {
        for (uint32_t ky = 0; ky < c->kh; ky++) {
            for (uint32_t kx = 0; kx < c->kw; kx++) {
                const int64_t y = (int64_t)oy * c->stride_h + ky - c->pad_t;
                const int64_t x = (int64_t)ox * c->stride_w + kx - c->pad_l;
                if (y < 0 || y >= c->ih || x < 0 || x >= c->iw) {
                    continue;
                }
                const int32_t a = quantise(t->input[((size_t)ic * c->ih + (size_t)y) * c->iw + (size_t)x], c->in_scale);
                const int32_t w = t->weights[(((size_t)oc * c->ic + ic) * c->kh + ky) * c->kw + kx];
                sum += (uint32_t)(a * w);
            }
        }
    }
    return (int32_t)sum;
}

uint32_t conv_reference(const npu_conv *c, const conv_tensors *t, uint32_t oc, uint32_t oy, uint32_t ox) {
    float factor = 0.0f;
    if (t->w_scale[oc] != 0.0f) {
        const float product = float_of(c->in_scale) * t->w_scale[oc];
        factor = 1.0f / product;
    }
    float y = (float)sum_of(c, t, oc, oy, ox) * factor;
    if (c->has_bias) {
        y = y + float_of(t->bias[oc]);
    }
    if (c->act == NPU_ACT_RELU) {
        y = y > 0.0f ? y : 0.0f;
    }
    return bits_of(y);
}
