/* quant_seed.c - INT8 for networks without weights and images: ranges of one FP32 run over a seeded input. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../tb/case/rng.h"
#include "op.h"

void net_seeded_input(const net_graph *graph, uint64_t seed, float *input) {
    tb_rng rng = tb_rng_stream(seed, "network.input");
    for (uint32_t k = 0; k < graph->num_inputs; k++) {
        uint32_t count = net_shape_elements(&graph->blob[graph->inputs[k]].shape);
        for (uint32_t i = 0; i < count; i++) {
            *input++ = tb_rng_f32_range(&rng, -1.0f, 1.0f);
        }
    }
}

size_t net_graph_input_elements(const net_graph *graph) {
    size_t count = 0;
    for (uint32_t k = 0; k < graph->num_inputs; k++) {
        count += net_shape_elements(&graph->blob[graph->inputs[k]].shape);
    }
    return count;
}

/* 127/range of the largest absolute value; 0 for a useless range. */
static float scale_of(const float *value, size_t count) {
    float largest = 0.0f;
    for (size_t i = 0; i < count; i++) {
        largest = fabsf(value[i]) > largest ? fabsf(value[i]) : largest;
    }
    float scale = largest > 0.0f ? 127.0f / largest : 0.0f;
    return isfinite(scale) && isfinite(largest) ? scale : 0.0f;
}

/* Weights 127/absmax of each output channel, or of each group of ConvolutionDepthWise. */
static bool to_int8(net_layer *layer, float bottom) {
    bool grouped = strcmp(layer->type, "ConvolutionDepthWise") == 0;
    uint32_t scales = grouped ? layer->conv.groups : layer->conv.num_output;
    uint32_t share = layer->tensor[0].count / scales;
    float *scale = malloc(scales * sizeof *scale);
    for (uint32_t s = 0; scale != NULL && s < scales; s++) {
        scale[s] = scale_of(layer->tensor[0].f32 + (size_t)s * share, share);
    }
    bool ok = scale != NULL && net_quantize_layer(layer, scale, scales, bottom, grouped ? 1 : 2);
    free(scale);
    return ok;
}

/* Float layers that can become INT8. */
static bool is_candidate(const net_layer *layer) {
    return net_layer_quantizable(layer) && layer->conv.int8_scale_term == 0 && layer->num_tensors > 0 &&
           layer->tensor[0].f32 != NULL;
}

net_status net_quantize_seeded(net_graph *graph, uint64_t seed, net_error *err) {
    return net_quantize_seeded_some(graph, seed, NULL, err);
}

net_status net_quantize_seeded_some(net_graph *graph, uint64_t seed, const bool *stay, net_error *err) {
    net_ref *ref = NULL;
    if (graph == NULL) {
        return net_fail(err, NET_ERR_ARG, "net_quantize_seeded: null argument");
    }
    net_status status = net_ref_new(graph, &ref, err);
    if (status != NET_OK) {
        return status;
    }
    float *input = malloc(net_graph_input_elements(graph) * sizeof *input + 1);
    float *bottom = calloc((size_t)graph->num_layers + 1, sizeof *bottom);
    if (input != NULL && bottom != NULL) {
        net_seeded_input(graph, seed, input);
        net_ref_run(ref, input);
    }
    for (uint32_t i = 0; input != NULL && bottom != NULL && i < graph->num_layers; i++) {
        const net_layer *layer = &graph->layer[i];
        if (is_candidate(layer)) {
            bottom[i] = scale_of(net_ref_blob(ref, layer->in[0]), net_shape_elements(&graph->blob[layer->in[0]].shape));
            bottom[i] = bottom[i] > 0.0f ? bottom[i] : 1.0f; /* with 0 the layer would divide by it */
        }
    }
    net_ref_free(ref);
    bool ok = input != NULL && bottom != NULL;
    for (uint32_t i = 0; ok && i < graph->num_layers; i++) {
        ok = !is_candidate(&graph->layer[i]) || (stay != NULL && stay[i]) || to_int8(&graph->layer[i], bottom[i]);
    }
    free(input);
    free(bottom);
    return ok ? net_quantize_dynamic(graph, stay, err)
              : net_fail(err, NET_ERR_MEMORY, "%.150s: out of memory", graph->name);
}
