/* int8_scalar.c - the sums of an INT8 layer as they are defined. */
#include "int8_sums.h"

static int32_t one_sum(const int8_layer *l, const int8_t *in, const int8_t *weight, uint32_t y, uint32_t x) {
    const net_conv *c = l->conv;
    uint32_t sum = 0; /* wraps as the NPU's accumulators do */
    for (uint32_t ic = 0; ic < l->in.c / c->groups; ic++) {
        for (uint32_t ky = 0; ky < c->kernel_h; ky++) {
            for (uint32_t kx = 0; kx < c->kernel_w; kx++) {
                int64_t iy = (int64_t)y * c->stride_h + (int64_t)ky * c->dilation_h - c->pad_t;
                int64_t ix = (int64_t)x * c->stride_w + (int64_t)kx * c->dilation_w - c->pad_l;
                if (iy >= 0 && iy < l->in.h && ix >= 0 && ix < l->in.w) {
                    int32_t value = in[((int64_t)ic * l->in.h + iy) * l->in.w + ix];
                    sum += (uint32_t)(value * weight[((size_t)ic * c->kernel_h + ky) * c->kernel_w + kx]);
                }
            }
        }
    }
    return (int32_t)sum;
}

void int8_sums_scalar(const int8_layer *l, const int8_t *in, const int8_scratch *s) {
    const net_conv *c = l->conv;
    size_t group_in = (size_t)(l->in.c / c->groups) * l->in.h * l->in.w;
    size_t filter = (size_t)(l->in.c / c->groups) * c->kernel_h * c->kernel_w;
    int32_t *out = s->sum;
    for (uint32_t oc = 0; oc < l->out.c; oc++) {
        const int8_t *from = in + oc / (l->out.c / c->groups) * group_in;
        for (uint32_t y = 0; y < l->out.h; y++) {
            for (uint32_t x = 0; x < l->out.w; x++) {
                *out++ = one_sum(l, from, l->weight + oc * filter, y, x);
            }
        }
    }
}
