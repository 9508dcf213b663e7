/* quant_dynamic.c - layers whose INT8 products find the scales of their inputs while they run: only weights are
 * quantised here. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calib.h"
#include "op.h"

/* 127/absmax, 1 where all are zero. */
static float scale_of(const float *value, size_t count) {
    float largest = 0.0f;
    for (size_t i = 0; i < count; i++) {
        largest = fabsf(value[i]) > largest ? fabsf(value[i]) : largest;
    }
    float scale = 127.0f / largest;
    return largest > 0.0f && isfinite(scale) ? scale : 1.0f;
}

/* One array of weights with `scales` scales, which become array number `at`. false: no memory. */
static bool to_int8(net_layer *layer, net_tensor *weight, uint32_t scales, uint32_t at) {
    uint32_t share = weight->count / scales;
    float *scale = malloc(scales * sizeof *scale);
    int8_t *q = malloc((size_t)weight->count + 1);
    if (scale == NULL || q == NULL) {
        free(scale);
        free(q);
        return false;
    }
    for (uint32_t s = 0; s < scales; s++) {
        scale[s] = scale_of(weight->f32 + (size_t)s * share, share);
        for (size_t i = (size_t)s * share; i < ((size_t)s + 1) * share; i++) {
            q[i] = net_quantize_value(weight->f32[i], scale[s]);
        }
    }
    free(weight->f32);
    weight->f32 = NULL;
    weight->i8 = q;
    weight->tag = NET_TAG_INT8;
    layer->tensor[at] = (net_tensor){.role = NET_ROLE_WEIGHT_SCALE, .count = scales, .f32 = scale};
    layer->num_tensors = at + 1;
    return true;
}

static bool attention_to_int8(net_layer *layer) {
    uint32_t embed = (uint32_t)net_layer_int(layer, 0, 0);
    if (net_layer_int(layer, 18, 0) != 0 || layer->num_tensors != 8 || embed == 0) {
        return true; /* INT8 already */
    }
    bool ok = true;
    for (uint32_t i = 0; ok && i < 4; i++) {
        ok = to_int8(layer, &layer->tensor[2 * i], i == 3 ? 1 : embed, 8 + i);
    }
    return ok && net_layer_set_int(layer, 18, 2) == NET_OK;
}

/* A Gemm of an input and constant weights: one scale, behind its other arrays. */
static bool gemm_to_int8(net_layer *layer) {
    net_tensor *weight = NULL;
    for (uint32_t i = 0; i < layer->num_tensors; i++) {
        weight = layer->tensor[i].role == NET_ROLE_WEIGHT ? &layer->tensor[i] : weight;
    }
    if (net_layer_int(layer, 18, 0) != 0 || net_layer_int(layer, 4, 0) == 1 || weight == NULL || weight->f32 == NULL) {
        return true; /* INT8 already, or without constant weights */
    }
    return to_int8(layer, weight, 1, layer->num_tensors) && net_layer_set_int(layer, 18, 2) == NET_OK;
}

/* LSTM, GRU, RNN: a scale for each row of both arrays of weights, behind the other arrays. A state of another size than
 * the output stays float. */
static bool recurrent_to_int8(net_layer *layer) {
    if (net_layer_int(layer, 8, 0) != 0 || layer->num_tensors != 3) {
        return true;
    }
    uint32_t outputs = (uint32_t)net_layer_int(layer, 0, 0);
    uint32_t rows = layer->tensor[2].count / outputs;
    return to_int8(layer, &layer->tensor[0], rows, 3) && to_int8(layer, &layer->tensor[2], rows, 4) &&
           net_layer_set_int(layer, 8, 2) == NET_OK;
}

static bool finds_scales(const net_layer *layer) {
    return net_layer_products_are_dynamic(layer) || strcmp(layer->type, "MatMul") == 0 ||
           strcmp(layer->type, "SDPA") == 0;
}

bool net_needs_no_table(const net_graph *graph) {
    bool any = false;
    for (uint32_t i = 0; i < graph->num_layers; i++) {
        if (net_layer_quantizable(&graph->layer[i])) {
            return false;
        }
        any = any || finds_scales(&graph->layer[i]);
    }
    return any;
}

net_status net_quantize_dynamic(net_graph *graph, const bool *stay, net_error *err) {
    bool ok = true;
    for (uint32_t i = 0; ok && i < graph->num_layers; i++) {
        net_layer *layer = &graph->layer[i];
        if (stay != NULL && stay[i]) {
            continue;
        }
        if (strcmp(layer->type, "MultiHeadAttention") == 0 && graph->has_weights) {
            ok = attention_to_int8(layer);
        } else if (strcmp(layer->type, "Gemm") == 0 && graph->has_weights) {
            ok = gemm_to_int8(layer);
        } else if (net_layer_recurs(layer) && graph->has_weights) {
            ok = recurrent_to_int8(layer);
        } else if (strcmp(layer->type, "MatMul") == 0 && net_layer_int(layer, 8, 0) == 0) {
            ok = net_layer_set_int(layer, 8, 2) == NET_OK;
        } else if (strcmp(layer->type, "SDPA") == 0 && net_layer_int(layer, 18, 0) == 0) {
            ok = net_layer_set_int(layer, 18, 2) == NET_OK;
        }
    }
    if (!ok) {
        return net_fail(err, NET_ERR_MEMORY, "%.150s: out of memory", graph->name);
    }
    return net_graph_plan(graph, err); /* their scratch memory is another one */
}
