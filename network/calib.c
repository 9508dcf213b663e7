/* calib.c - histograms of the inputs of layers, and calibration tables from them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calib.h"
#include "op.h"

bool net_layer_quantizable(const net_layer *layer) {
    bool type = strcmp(layer->type, "Convolution") == 0 || strcmp(layer->type, "ConvolutionDepthWise") == 0 ||
                strcmp(layer->type, "InnerProduct") == 0;
    const net_tensor *weight = net_layer_tensor(layer, NET_ROLE_WEIGHT);
    return type && layer->num_in == 1 && weight != NULL && weight->f32 != NULL && weight->count > 0 &&
           layer->conv.num_output > 0;
}

/* ---- histograms ---- */

static void note_largest(net_hist *hist, const float *value, size_t count) {
    float largest = hist->absmax;
    for (size_t i = 0; i < count; i++) {
        float v = fabsf(value[i]);
        largest = v > largest && v <= 3.402823466e+38f ? v : largest;
    }
    hist->absmax = largest;
}

static void note_values(net_hist *hist, const float *value, size_t count) {
    for (size_t i = 0; i < count; i++) {
        float v = fabsf(value[i]);
        if (!(v > 0.0f)) {
            hist->zeros++;
            continue;
        }
        float at = v / hist->absmax * (float)NET_CALIB_BINS;
        hist->bin[at < (float)(NET_CALIB_BINS - 1) ? (uint32_t)at : NET_CALIB_BINS - 1]++;
    }
}

/* One pass over all inputs. */
static net_status pass(const net_graph *graph, net_ref *ref, const net_inputs *inputs, float *input, bool largest,
                       net_hist *hist, net_error *err) {
    for (uint32_t k = 0; k < inputs->count; k++) {
        net_status status = inputs->load(inputs->user, k, input, err);
        if (status != NET_OK) {
            return status;
        }
        net_ref_run(ref, input);
        for (uint32_t i = 0; i < graph->num_layers; i++) {
            const net_layer *layer = &graph->layer[i];
            if (net_layer_quantizable(layer)) {
                const float *value = net_ref_blob(ref, layer->in[0]);
                (largest ? note_largest : note_values)(&hist[i], value,
                                                       net_shape_elements(&graph->blob[layer->in[0]].shape));
            }
        }
    }
    return NET_OK;
}

net_status net_calib_collect(const net_graph *graph, const net_inputs *inputs, net_hist *hist, net_error *err) {
    if (graph == NULL || inputs == NULL || inputs->load == NULL || inputs->count == 0 || hist == NULL ||
        !graph->planned) {
        return net_fail(err, NET_ERR_ARG, "net_calib_collect: a planned graph and at least one input are needed");
    }
    net_ref *ref = NULL;
    net_status status = net_ref_new(graph, &ref, err);
    if (status != NET_OK) {
        return status;
    }
    float *input = malloc(net_graph_input_elements(graph) * sizeof *input + 1);
    memset(hist, 0, graph->num_layers * sizeof *hist);
    status = input == NULL ? net_fail(err, NET_ERR_MEMORY, "out of memory")
                           : pass(graph, ref, inputs, input, true, hist, err);
    status = status == NET_OK ? pass(graph, ref, inputs, input, false, hist, err) : status;
    free(input);
    net_ref_free(ref);
    return status;
}

/* ---- tables ---- */

/* Weight scales of a layer: as many as output channels, or groups of a ConvolutionDepthWise. */
static uint32_t weight_scales(const net_layer *layer) {
    return strcmp(layer->type, "ConvolutionDepthWise") == 0 ? layer->conv.groups : layer->conv.num_output;
}

static net_status add_layer(const net_layer *layer, const net_hist *hist, net_calib_method method, double percent,
                            net_table *table, net_error *err) {
    const net_tensor *weight = net_layer_tensor(layer, NET_ROLE_WEIGHT);
    uint32_t count = weight_scales(layer);
    uint32_t share = weight->count / count;
    float *scale = malloc(count * sizeof *scale);
    if (scale == NULL) {
        return net_fail(err, NET_ERR_MEMORY, "out of memory");
    }
    for (uint32_t i = 0; i < count; i++) {
        float largest = 0.0f;
        for (size_t k = (size_t)i * share; k < ((size_t)i + 1) * share; k++) {
            largest = fabsf(weight->f32[k]) > largest ? fabsf(weight->f32[k]) : largest;
        }
        float exact = 127.0f / largest;
        scale[i] = largest > 0.0f && isfinite(exact) ? exact : 0.0f;
    }
    net_status status = net_table_add(table, layer->name, true, scale, count, err);
    free(scale);
    if (status != NET_OK) {
        return status;
    }
    float threshold = net_hist_threshold(hist, method, percent) * hist->absmax / (float)NET_CALIB_BINS;
    float exact = 127.0f / threshold;
    float bottom = threshold > 0.0f && isfinite(exact) ? exact : 1.0f;
    return net_table_add(table, layer->name, false, &bottom, 1, err);
}

net_status net_calib_table(const net_graph *graph, const net_hist *hist, net_calib_method method, double percent,
                           net_table *table, net_error *err) {
    if (graph == NULL || hist == NULL || table == NULL || table->count != 0 || !graph->planned || !graph->has_weights) {
        return net_fail(err, NET_ERR_ARG,
                        "net_calib_table: a planned graph with weights and an empty table are needed");
    }
    net_status status = NET_OK;
    for (uint32_t i = 0; status == NET_OK && i < graph->num_layers; i++) {
        if (net_layer_quantizable(&graph->layer[i])) {
            status = add_layer(&graph->layer[i], &hist[i], method, percent, table, err);
        }
    }
    if (status != NET_OK) {
        net_table_free(table);
    }
    return status;
}
