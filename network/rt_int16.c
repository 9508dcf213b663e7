/* rt_int16.c - INT16 layers with weights in plain C: the definition, as rt_int8.c has it for INT8 (document 002,
 * section 3.2.2). */
#include <stdlib.h>
#include <string.h>

#include "rt.h"

int16_t *rt_int16_weights(const net_layer *layer) {
    const net_tensor *weight = net_layer_tensor(layer, NET_ROLE_WEIGHT);
    const uint32_t filter = weight->count / layer->conv.num_output;
    int16_t *q = malloc(((size_t)weight->count + 1) * sizeof *q);
    for (uint32_t c = 0; q != NULL && c < layer->conv.num_output; c++) {
        const float scale = rt_weight_scale(layer, c);
        for (size_t i = (size_t)c * filter; i < (size_t)(c + 1) * filter; i++) {
            q[i] = net_quantize_wide_value(weight->f32[i], scale);
        }
    }
    return q;
}

/* Sums of one output channel; `in` are the channels of its group. */
static void sum_channel(const net_conv *c, const net_shape *is, const net_shape *os, const int16_t *in,
                        const int16_t *weight, int64_t *sum) {
    memset(sum, 0, (size_t)os->w * os->h * sizeof *sum);
    for (uint32_t ic = 0; ic < is->c / c->groups; ic++) {
        for (uint32_t k = 0; k < c->kernel_h * c->kernel_w; k++, weight++) {
            int64_t y = (int64_t)(k / c->kernel_w) * c->dilation_h - c->pad_t;
            for (uint32_t oy = 0; oy < os->h; oy++, y += c->stride_h) {
                int64_t x = (int64_t)(k % c->kernel_w) * c->dilation_w - c->pad_l;
                if (y < 0 || y >= is->h) {
                    continue;
                }
                const int16_t *row = in + ((size_t)ic * is->h + (size_t)y) * is->w;
                int64_t *to = sum + (size_t)oy * os->w;
                for (uint32_t ox = 0; ox < os->w; ox++, x += c->stride_w) {
                    if (x >= 0 && x < is->w) {
                        to[ox] += (int32_t)row[x] * *weight;
                    }
                }
            }
        }
    }
}

/* From sums to floats; a sum is rounded once. */
static void finish_channel(const net_layer *layer, uint32_t oc, const int64_t *sum, float *out, size_t count) {
    const net_tensor *bias = net_layer_tensor(layer, NET_ROLE_BIAS);
    const float weight_scale = rt_weight_scale(layer, oc);
    const float product = net_layer_tensor(layer, NET_ROLE_BOTTOM_SCALE)->f32[0] * weight_scale;
    const float factor = weight_scale == 0.0f ? 0.0f : 1.0f / product;
    for (size_t i = 0; i < count; i++) {
        const float v = (float)sum[i] * factor;
        out[i] = bias == NULL ? v : v + bias->f32[oc];
    }
    net_act_apply(&layer->act, out, out, count);
}

net_status rt_int16_layer(const net_graph *graph, const net_layer *layer, const float *in, float *out, net_error *err) {
    const net_conv *c = &layer->conv;
    net_shape is = graph->blob[layer->in[0]].shape;
    net_shape os = graph->blob[layer->out[0]].shape;
    const uint32_t count = net_shape_elements(&is);
    uint32_t rows = 1;
    if (os.dims < 3) { /* vectors, one for each row of a matrix */
        rows = os.h;
        is = (net_shape){3, 1, 1, count / rows, 1};
        os = (net_shape){3, 1, 1, os.w, 1};
    }
    const float scale = net_layer_tensor(layer, NET_ROLE_BOTTOM_SCALE)->f32[0];
    const size_t plane = (size_t)os.w * os.h, group = (size_t)is.c / c->groups * is.w * is.h,
                 filter = (size_t)is.c / c->groups * c->kernel_w * c->kernel_h;
    int16_t *weight = rt_int16_weights(layer);
    int16_t *q = malloc(((size_t)count + 1) * sizeof *q);
    int64_t *sum = malloc((plane + 1) * sizeof *sum);
    const bool ok = weight != NULL && q != NULL && sum != NULL;
    for (uint32_t i = 0; ok && i < count; i++) {
        q[i] = net_quantize_wide_value(in[i], scale);
    }
    for (uint32_t r = 0; ok && r < rows; r++) {
        for (uint32_t oc = 0; oc < os.c; oc++) {
            sum_channel(c, &is, &os, q + (size_t)r * is.c + oc / (os.c / c->groups) * group, weight + oc * filter, sum);
            finish_channel(layer, oc, sum, out + (size_t)r * os.c + oc * plane, plane);
        }
    }
    free(weight);
    free(q);
    free(sum);
    return ok ? NET_OK : net_fail(err, NET_ERR_MEMORY, "out of memory for '%.60s'", layer->name);
}
