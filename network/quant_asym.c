/*
 * quant_asym.c - asymmetric INT8: step and zero-point of activations from their extremes (document 002, section 3.2.1).
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

/* 255/(hi-lo) with 0 inside, and the value that stands for 0; an empty or useless range: 1 and 0. */
static float range_scale(float lo, float hi, int8_t *zero) {
    lo = lo < 0.0f ? lo : 0.0f;
    hi = hi > 0.0f ? hi : 0.0f;
    const float scale = 255.0f / (hi - lo);
    *zero = 0;
    if (!(hi > lo) || !isfinite(hi - lo) || !isfinite(scale)) {
        return 1.0f;
    }
    const float z = rintf(-128.0f - lo * scale);
    *zero = (int8_t)(z < -128.0f ? -128.0f : z > 127.0f ? 127.0f : z);
    return scale;
}

int8_t net_quantize_asym_value(float value, float scale, int8_t zero) {
    const float v = value * scale;
    /* rintf() rounds halves to even; beyond +-1000 any zero-point saturates */
    const int q = v != v ? 0 : v > 1000.0f ? 1000 : v < -1000.0f ? -1000 : (int)rintf(v);
    const int sum = q + zero;
    return (int8_t)(sum > 127 ? 127 : sum < -128 ? -128 : sum);
}

/* Weights 127/absmax for each output, of depthwise layers for each group. false: out of memory. */
static bool quantize_layer(net_layer *layer, float lo, float hi) {
    const net_tensor *weight = &layer->tensor[0];
    const bool grouped = strcmp(layer->type, "ConvolutionDepthWise") == 0;
    const uint32_t scales = grouped ? layer->conv.groups : layer->conv.num_output;
    const uint32_t share = weight->count / scales;
    float *scale = malloc(scales * sizeof *scale);
    for (uint32_t i = 0; scale != NULL && i < scales; i++) {
        float largest = 0.0f;
        for (size_t k = (size_t)i * share; k < (size_t)(i + 1) * share; k++) {
            largest = fmaxf(largest, fabsf(weight->f32[k]));
        }
        scale[i] = largest > 0.0f && isfinite(127.0f / largest) ? 127.0f / largest : 0.0f;
    }
    const float bottom = range_scale(lo, hi, &layer->asym.zero);
    const bool ok = scale != NULL && net_quantize_layer(layer, scale, scales, bottom, grouped ? 1 : 2);
    layer->asym.used = ok;
    free(scale);
    return ok;
}

net_status net_quantize_asym(net_graph *graph, const float *lo, const float *hi, net_error *err) {
    if (graph == NULL || lo == NULL || hi == NULL || !graph->planned || !graph->has_weights) {
        return net_fail(err, NET_ERR_ARG, "net_quantize_asym: a planned graph with weights and ranges are needed");
    }
    for (uint32_t i = 0; i < graph->num_layers; i++) {
        net_layer *layer = &graph->layer[i];
        const bool is_float = net_layer_quantizable(layer) && layer->conv.int8_scale_term == 0;
        if (is_float && !quantize_layer(layer, lo[i], hi[i])) {
            return net_fail(err, NET_ERR_MEMORY, "%.150s: out of memory", graph->name);
        }
    }
    return NET_OK;
}

int32_t net_asym_bias(float bias, float bottom_scale, float weight_scale) {
    const float product = bottom_scale * weight_scale;
    const double steps = rint((double)bias * product);
    return steps >= 2147483647.0 ? INT32_MAX : steps <= -2147483648.0 ? INT32_MIN : steps != steps ? 0 : (int32_t)steps;
}
