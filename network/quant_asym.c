/*
 * quant_asym.c - asymmetric INT8: step and zero-point of activations from their extremes (document 002, section 3.2.1).
 */
#include <math.h>
#include <stdlib.h>

#include "internal.h"

/* 255/(hi-lo) with 0 inside, and the value that stands for 0; an empty or useless range: 1 and 0. */
static float range_scale(float lo, float hi, int8_t *zero) {
    lo = lo < 0.0f ? lo : 0.0f;
    hi = hi > 0.0f ? hi : 0.0f;
    const float scale = 255.0f / (hi - lo);
    *zero = 0;
    if (!(hi > lo) || !isfinite(scale)) {
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

net_status net_quantize_asym(net_graph *graph, const float *lo, const float *hi, net_error *err) {
    net_status status = NET_OK;
    if (graph == NULL || lo == NULL || hi == NULL) {
        return net_fail(err, NET_ERR_ARG, "net_quantize_asym: null argument");
    }
    float *absmax = calloc(graph->num_layers + 1, sizeof *absmax);
    bool *was_float = calloc(graph->num_layers + 1, sizeof *was_float);
    if (absmax == NULL || was_float == NULL) {
        status = net_fail(err, NET_ERR_MEMORY, "%.150s: out of memory", graph->name);
    }
    for (uint32_t i = 0; status == NET_OK && i < graph->num_layers; i++) {
        was_float[i] = graph->layer[i].kind == NET_CONV && graph->layer[i].conv.int8_scale_term == 0;
        absmax[i] = 1.0f; /* the input's scale is replaced below */
    }
    status = status == NET_OK ? net_quantize(graph, absmax, err) : status;
    for (uint32_t i = 0; status == NET_OK && i < graph->num_layers; i++) {
        net_layer *layer = &graph->layer[i];
        for (uint32_t k = 0; was_float[i] && k < layer->num_tensors; k++) {
            if (layer->tensor[k].role == NET_ROLE_BOTTOM_SCALE) {
                layer->asym.used = true;
                layer->tensor[k].f32[0] = range_scale(lo[i], hi[i], &layer->asym.zero);
            }
        }
    }
    free(absmax);
    free(was_float);
    return status;
}

int32_t net_asym_bias(float bias, float bottom_scale, float weight_scale) {
    const float product = bottom_scale * weight_scale;
    const double steps = rint((double)bias * product);
    return steps >= 2147483647.0 ? INT32_MAX : steps <= -2147483648.0 ? INT32_MIN : steps != steps ? 0 : (int32_t)steps;
}
