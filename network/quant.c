/* quant.c - from FP32 to INT8: activation ranges from images, symmetric scales, weights. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

int8_t net_quantize_value(float value, float scale) {
    float v = value * scale;
    if (v != v) {
        return 0;
    }
    if (v >= 127.0f) {
        return 127;
    }
    if (v <= -127.0f) {
        return -127;
    }
    return (int8_t)lroundf(v);
}

static float absmax_of(const float *value, size_t count) {
    float largest = 0.0f;
    for (size_t i = 0; i < count; i++) {
        largest = fabsf(value[i]) > largest ? fabsf(value[i]) : largest;
    }
    return largest;
}

/* Extend a range by some values. */
static void extend(const float *value, size_t count, float *lo, float *hi) {
    for (size_t i = 0; i < count; i++) {
        *lo = value[i] < *lo ? value[i] : *lo;
        *hi = value[i] > *hi ? value[i] : *hi;
    }
}

/* most/range, rounded once; 0 for a useless range. */
static float scale_to(float most, float range) {
    float scale = range > 0.0f ? most / range : 0.0f;
    return isfinite(scale) && isfinite(range) ? scale : 0.0f;
}

static float scale_for(float range) {
    return scale_to(127.0f, range);
}

net_status net_calibrate(const net_graph *graph, const net_images *images, uint32_t count, float norm, float *absmax,
                         net_error *err) {
    float *hi = graph != NULL && absmax != NULL ? calloc(graph->num_layers + 1, sizeof *hi) : NULL;
    if (hi == NULL && graph != NULL && absmax != NULL) {
        return net_fail(err, NET_ERR_MEMORY, "out of memory");
    }
    net_status status = net_calibrate_range(graph, images, count, norm, absmax, hi, err);
    for (uint32_t i = 0; status == NET_OK && i < graph->num_layers; i++) {
        const bool conv = graph->layer[i].kind == NET_CONV;
        absmax[i] = !conv ? 0.0f : -absmax[i] > hi[i] ? -absmax[i] : hi[i];
    }
    free(hi);
    return status;
}

net_status net_calibrate_range(const net_graph *graph, const net_images *images, uint32_t count, float norm, float *lo,
                               float *hi, net_error *err) {
    if (graph == NULL || images == NULL || lo == NULL || hi == NULL || count == 0 || count > images->count) {
        return net_fail(err, NET_ERR_ARG, "net_calibrate: null argument, or %u images requested of %u", count,
                        images == NULL ? 0 : images->count);
    }
    if (graph->planned && graph->input == NET_NONE) {
        return net_fail(err, NET_ERR_UNSUPPORTED, "%.150s: %u inputs, expected one", graph->name, graph->num_inputs);
    }
    net_ref *ref = NULL;
    net_status status = net_ref_new(graph, &ref, err);
    if (status != NET_OK) {
        return status;
    }
    float *input = malloc(images->pixels * sizeof *input);
    if (input == NULL || images->pixels != net_shape_elements(&graph->blob[graph->input].shape)) {
        net_ref_free(ref);
        bool memory = input == NULL;
        free(input);
        return memory ? net_fail(err, NET_ERR_MEMORY, "out of memory")
                      : net_fail(err, NET_ERR_ARG, "images of %u pixels for an input of %u", images->pixels,
                                 net_shape_elements(&graph->blob[graph->input].shape));
    }
    memset(lo, 0, graph->num_layers * sizeof *lo);
    memset(hi, 0, graph->num_layers * sizeof *hi);
    for (uint32_t k = 0; k < count; k++) {
        net_images_input(images, k, norm, input);
        net_ref_run(ref, input);
        for (uint32_t i = 0; i < graph->num_layers; i++) {
            const net_layer *layer = &graph->layer[i];
            if (layer->kind == NET_CONV || net_layer_quantizable(layer)) {
                extend(net_ref_blob(ref, layer->in[0]), net_shape_elements(&graph->blob[layer->in[0]].shape), &lo[i],
                       &hi[i]);
            }
        }
    }
    free(input);
    net_ref_free(ref);
    return NET_OK;
}

/* Add an array to a layer; it is owned by the layer afterwards. NULL: no memory. */
static float *add_floats(net_layer *layer, net_role role, uint32_t count) {
    net_tensor *tensor = &layer->tensor[layer->num_tensors];
    tensor->f32 = calloc((size_t)count + 1, sizeof *tensor->f32);
    if (tensor->f32 != NULL) {
        tensor->role = role;
        tensor->count = count;
        layer->num_tensors++;
    }
    return tensor->f32;
}

bool net_quantize_layer(net_layer *layer, const float *scale, uint32_t scales, float bottom, int32_t term) {
    net_tensor *weight = &layer->tensor[0];
    uint32_t share = weight->count / scales;
    int8_t *q = malloc((size_t)weight->count + 1);
    float *own = q == NULL ? NULL : add_floats(layer, NET_ROLE_WEIGHT_SCALE, scales);
    float *own_bottom = own == NULL ? NULL : add_floats(layer, NET_ROLE_BOTTOM_SCALE, 1);
    /* in the settings, too, which are all that a writer reads */
    if (own_bottom == NULL || net_layer_set_int(layer, 8, term) != NET_OK) {
        free(q);
        return false;
    }
    memcpy(own, scale, scales * sizeof *own);
    own_bottom[0] = bottom;
    for (uint32_t i = 0; i < weight->count; i++) {
        q[i] = net_quantize_value(weight->f32[i], scale[i / share]);
    }
    free(weight->f32);
    weight->f32 = NULL;
    weight->i8 = q;
    weight->tag = NET_TAG_INT8;
    layer->conv.int8_scale_term = (uint32_t)term;
    return true;
}

/* 127/absmax for each output channel. */
static bool quantize_layer(net_layer *layer, float range) {
    const net_tensor *weight = &layer->tensor[0];
    uint32_t outputs = layer->conv.num_output;
    uint32_t filter = weight->count / outputs;
    float *scale = malloc(outputs * sizeof *scale);
    for (uint32_t oc = 0; scale != NULL && oc < outputs; oc++) {
        scale[oc] = scale_for(absmax_of(weight->f32 + (size_t)oc * filter, filter));
    }
    bool ok = scale != NULL && net_quantize_layer(layer, scale, outputs, scale_for(range), 2);
    free(scale);
    return ok;
}

net_status net_quantize(net_graph *graph, const float *absmax, net_error *err) {
    if (graph == NULL || absmax == NULL || !graph->planned || !graph->has_weights) {
        return net_fail(err, NET_ERR_ARG, "net_quantize: a planned graph with weights is needed");
    }
    for (uint32_t i = 0; i < graph->num_layers; i++) {
        net_layer *layer = &graph->layer[i];
        bool is_float = layer->kind == NET_CONV && layer->conv.int8_scale_term == 0;
        if (is_float && !quantize_layer(layer, absmax[i])) {
            return net_fail(err, NET_ERR_MEMORY, "%.150s: out of memory", graph->name);
        }
    }
    return NET_OK;
}

/* Uses the layer's lines of the table, if both are there. */
static net_status quantize_from(net_graph *graph, net_layer *layer, const net_table *table, net_error *err) {
    const net_table_line *weights = net_table_find(table, layer->name, true);
    const net_table_line *input = net_table_find(table, layer->name, false);
    bool grouped = strcmp(layer->type, "ConvolutionDepthWise") == 0;
    uint32_t scales = grouped ? layer->conv.groups : layer->conv.num_output;
    if (weights == NULL || input == NULL) {
        return NET_OK;
    }
    if (weights->count != scales || input->count != 1) {
        return net_fail(err, NET_ERR_FORMAT,
                        "%.150s:%u: layer '%.60s': the table has %u and %u scales, expected %u and 1", graph->name,
                        layer->line, layer->name, weights->count, input->count, scales);
    }
    return net_quantize_layer(layer, weights->scale, scales, input->scale[0], grouped ? 1 : 2)
               ? NET_OK
               : net_fail(err, NET_ERR_MEMORY, "%.150s: out of memory", graph->name);
}

net_status net_quantize_table(net_graph *graph, const net_table *table, net_error *err) {
    if (graph == NULL || table == NULL || !graph->planned || !graph->has_weights) {
        return net_fail(err, NET_ERR_ARG, "net_quantize_table: a planned graph with weights and a table are needed");
    }
    net_status status = NET_OK;
    for (uint32_t i = 0; status == NET_OK && i < graph->num_layers; i++) {
        if (net_layer_quantizable(&graph->layer[i]) && graph->layer[i].conv.int8_scale_term == 0) {
            status = quantize_from(graph, &graph->layer[i], table, err);
        }
    }
    if (status == NET_OK && (table->count > 0 || net_needs_no_table(graph))) {
        status = net_quantize_dynamic(graph, NULL, err);
    }
    return status;
}

int16_t net_quantize_wide_value(float value, float scale) {
    const float v = value * scale;
    return (int16_t)(v != v ? 0 : v >= 32767.0f ? 32767 : v <= -32767.0f ? -32767 : lroundf(v));
}

/* Scales only. */
static bool widen_layer(net_layer *layer, float range) {
    const net_tensor *weight = &layer->tensor[0];
    const uint32_t outputs = layer->conv.num_output, filter = weight->count / outputs;
    float *scale = add_floats(layer, NET_ROLE_WEIGHT_SCALE, outputs);
    float *bottom = scale == NULL ? NULL : add_floats(layer, NET_ROLE_BOTTOM_SCALE, 1);
    if (bottom == NULL) {
        return false;
    }
    for (uint32_t oc = 0; oc < outputs; oc++) {
        scale[oc] = scale_to(32767.0f, absmax_of(layer->tensor[0].f32 + (size_t)oc * filter, filter));
    }
    bottom[0] = scale_to(32767.0f, range);
    layer->wide = true;
    return true;
}

net_status net_quantize_wide(net_graph *graph, const float *lo, const float *hi, net_error *err) {
    if (graph == NULL || lo == NULL || hi == NULL || !graph->planned || !graph->has_weights) {
        return net_fail(err, NET_ERR_ARG, "net_quantize_wide: a planned graph with weights and ranges are needed");
    }
    for (uint32_t i = 0; i < graph->num_layers; i++) {
        net_layer *layer = &graph->layer[i];
        const bool is_float = net_layer_quantizable(layer) && layer->conv.int8_scale_term == 0 && !layer->wide;
        if (is_float && !widen_layer(layer, -lo[i] > hi[i] ? -lo[i] : hi[i])) {
            return net_fail(err, NET_ERR_MEMORY, "%.150s: out of memory", graph->name);
        }
    }
    return NET_OK;
}
