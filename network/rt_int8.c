/* rt_int8.c - INT8 layers with weights in plain C: the definition, for layers that the NPU does not support and for
 * comparison. */
#include <stdlib.h>
#include <string.h>

#include "rt.h"

bool rt_is_int8(const net_layer *layer) {
    return net_layer_tensor(layer, NET_ROLE_WEIGHT) != NULL && net_layer_tensor(layer, NET_ROLE_BOTTOM_SCALE) != NULL &&
           net_layer_tensor(layer, NET_ROLE_WEIGHT_SCALE) != NULL;
}

float rt_weight_scale(const net_layer *layer, uint32_t c) {
    const net_tensor *scale = net_layer_tensor(layer, NET_ROLE_WEIGHT_SCALE);
    return scale->f32[(uint64_t)c * scale->count / layer->conv.num_output];
}

int8_t *rt_int8_weights(const net_layer *layer) {
    const net_tensor *weight = net_layer_tensor(layer, NET_ROLE_WEIGHT);
    uint32_t filter = weight->count / layer->conv.num_output;
    int8_t *q = malloc((size_t)weight->count + 1);
    if (q == NULL) {
        return NULL;
    }
    if (weight->i8 != NULL) {
        memcpy(q, weight->i8, weight->count);
        return q;
    }
    for (uint32_t c = 0; c < layer->conv.num_output; c++) {
        float scale = rt_weight_scale(layer, c);
        for (size_t i = (size_t)c * filter; i < (size_t)(c + 1) * filter; i++) {
            q[i] = net_quantize_value(weight->f32[i], scale);
        }
    }
    return q;
}

/* Sums of one output channel; `in` are the channels of its group, behind a zero-point. Sums wrap. */
static void sum_channel(const net_conv *c, const net_shape *is, const net_shape *os, const int8_t *in, int8_t zero,
                        const int8_t *weight, uint32_t *sum) {
    memset(sum, 0, (size_t)os->w * os->h * sizeof *sum);
    for (uint32_t ic = 0; ic < is->c / c->groups; ic++) {
        for (uint32_t k = 0; k < c->kernel_h * c->kernel_w; k++, weight++) {
            int64_t y = (int64_t)(k / c->kernel_w) * c->dilation_h - c->pad_t;
            for (uint32_t oy = 0; oy < os->h; oy++, y += c->stride_h) {
                int64_t x = (int64_t)(k % c->kernel_w) * c->dilation_w - c->pad_l;
                if (y < 0 || y >= is->h) {
                    continue;
                }
                const int8_t *row = in + ((size_t)ic * is->h + (size_t)y) * is->w;
                uint32_t *to = sum + (size_t)oy * os->w;
                for (uint32_t ox = 0; ox < os->w; ox++, x += c->stride_w) {
                    if (x >= 0 && x < is->w) {
                        to[ox] += (uint32_t)((row[x] - zero) * *weight);
                    }
                }
            }
        }
    }
}

int32_t rt_asym_bias(const net_layer *layer, uint32_t c) {
    const net_tensor *bias = net_layer_tensor(layer, NET_ROLE_BIAS);
    return bias == NULL ? 0
                        : net_asym_bias(bias->f32[c], net_layer_tensor(layer, NET_ROLE_BOTTOM_SCALE)->f32[0],
                                        rt_weight_scale(layer, c));
}

/* From sums to floats. */
static void finish_channel(const net_layer *layer, uint32_t oc, const uint32_t *sum, float *out, size_t count) {
    const net_tensor *bias = net_layer_tensor(layer, NET_ROLE_BIAS);
    float weight_scale = rt_weight_scale(layer, oc);
    float product = net_layer_tensor(layer, NET_ROLE_BOTTOM_SCALE)->f32[0] * weight_scale;
    float factor = weight_scale == 0.0f ? 0.0f : 1.0f / product;
    int32_t steps = layer->asym.used && bias != NULL ? rt_asym_bias(layer, oc) : 0;
    for (size_t i = 0; i < count; i++) {
        float v = (float)(int32_t)(sum[i] + (uint32_t)steps) * factor;
        out[i] = bias == NULL || layer->asym.used ? v : v + bias->f32[oc];
    }
    net_act_apply(&layer->act, out, out, count);
}

/* One map; a vector is a map of as many channels. */
static void run_map(const net_layer *layer, const net_conv *c, const net_shape *is, const net_shape *os,
                    const int8_t *in, const int8_t *weight, uint32_t *sum, float *out) {
    size_t plane = (size_t)os->w * os->h;
    size_t group = (size_t)is->c / c->groups * is->w * is->h;
    size_t filter = (size_t)is->c / c->groups * c->kernel_w * c->kernel_h;
    for (uint32_t oc = 0; oc < os->c; oc++) {
        sum_channel(c, is, os, in + oc / (os->c / c->groups) * group, layer->asym.zero, weight + oc * filter, sum);
        finish_channel(layer, oc, sum, out + oc * plane, plane);
    }
}

net_status rt_int8_layer(const net_graph *graph, const net_layer *layer, const float *in, float *out, net_error *err) {
    if (layer->wide) {
        return rt_int16_layer(graph, layer, in, out, err);
    }
    net_shape is = graph->blob[layer->in[0]].shape;
    net_shape os = graph->blob[layer->out[0]].shape;
    uint32_t count = net_shape_elements(&is);
    uint32_t rows = 1;
    if (os.dims < 3) { /* vectors, one for each row of a matrix */
        rows = os.h;
        is = (net_shape){3, 1, 1, count / rows, 1};
        os = (net_shape){3, 1, 1, os.w, 1};
    }
    float scale = net_layer_tensor(layer, NET_ROLE_BOTTOM_SCALE)->f32[0];
    int8_t *weight = rt_int8_weights(layer);
    int8_t *q = malloc((size_t)count + 1);
    uint32_t *sum = malloc(((size_t)os.w * os.h + 1) * sizeof *sum);
    bool ok = weight != NULL && q != NULL && sum != NULL;
    for (uint32_t i = 0; ok && i < count; i++) {
        q[i] = layer->asym.used ? net_quantize_asym_value(in[i], scale, layer->asym.zero)
                                : net_quantize_value(in[i], scale);
    }
    for (uint32_t r = 0; ok && r < rows; r++) {
        run_map(layer, &layer->conv, &is, &os, q + (size_t)r * is.c, weight, sum, out + (size_t)r * os.c);
    }
    free(weight);
    free(q);
    free(sum);
    return ok ? NET_OK : net_fail(err, NET_ERR_MEMORY, "out of memory for '%.60s'", layer->name);
}
