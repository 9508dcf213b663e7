/* ref.c - the FP32 reference: every layer by its row of the table, each blob in its own memory, except for inputs of a
 * Concat, which are parts of its output. */
#include <stdlib.h>
#include <string.h>

#include "op.h"

struct net_ref {
    const net_graph *graph;
    float **blob; /* one array for each blob */
    net_exec exec;
};

/* Weights in the file's own format must be floats. */
static net_status float_weights(const net_graph *graph, net_error *err) {
    for (uint32_t i = 0; i < graph->num_layers; i++) {
        const net_layer *layer = &graph->layer[i];
        const net_tensor *weight = net_layer_tensor(layer, NET_ROLE_WEIGHT);
        if (weight != NULL && weight->f32 == NULL && !net_layer_products_are_dynamic(layer)) {
            return net_fail(err, NET_ERR_UNSUPPORTED,
                            "%.150s:%u: layer '%.60s' has no float weights: not for the FP32 reference", graph->name,
                            layer->line, layer->name);
        }
    }
    return NET_OK;
}

net_status net_ref_new(const net_graph *graph, net_ref **out, net_error *err) {
    if (graph == NULL || out == NULL || !graph->planned || !graph->has_weights) {
        return net_fail(err, NET_ERR_ARG, "net_ref_new: a planned graph with weights is needed");
    }
    net_status status = float_weights(graph, err);
    if (status != NET_OK) {
        return status;
    }
    net_ref *ref = calloc(1, sizeof *ref);
    if (ref != NULL) {
        ref->graph = graph;
        ref->blob = calloc(graph->num_blobs, sizeof *ref->blob);
    }
    bool ok = ref != NULL && ref->blob != NULL;
    for (uint32_t i = 0; ok && i < graph->num_blobs; i++) {
        if (graph->blob[i].home == i) {
            ref->blob[i] = calloc(net_shape_elements(&graph->blob[i].shape), sizeof **ref->blob);
            ok = ref->blob[i] != NULL;
        }
    }
    for (uint32_t i = 0; ok && i < graph->num_blobs; i++) {
        const net_blob *blob = &graph->blob[i];
        ref->blob[i] = blob->home == i ? ref->blob[i] : ref->blob[blob->home] + blob->offset;
    }
    status = ok ? net_exec_new(graph, &ref->exec, err)
                : net_fail(err, NET_ERR_MEMORY, "%.150s: out of memory for the blobs", graph->name);
    if (status != NET_OK) {
        net_ref_free(ref);
        return status;
    }
    *out = ref;
    return NET_OK;
}

void net_ref_free(net_ref *ref) {
    if (ref == NULL) {
        return;
    }
    for (uint32_t i = 0; ref->blob != NULL && i < ref->graph->num_blobs; i++) {
        if (ref->graph->blob[i].home == i) {
            free(ref->blob[i]);
        }
    }
    free(ref->blob);
    net_exec_free(&ref->exec);
    free(ref);
}

void net_ref_set_input(net_ref *ref, const float *input) {
    const net_graph *g = ref->graph;
    for (uint32_t i = 0; i < g->num_inputs; i++) {
        uint32_t count = net_shape_elements(&g->blob[g->inputs[i]].shape);
        memcpy(ref->blob[g->inputs[i]], input, count * sizeof *input);
        input += count;
    }
}

void net_ref_run_layer(net_ref *ref, uint32_t number) {
    const net_layer *layer = &ref->graph->layer[number];
    for (uint32_t i = 0; i < layer->num_in; i++) {
        ref->exec.in[i] = ref->blob[layer->in[i]];
    }
    for (uint32_t i = 0; i < layer->num_out; i++) {
        ref->exec.out[i] = ref->blob[layer->out[i]];
    }
    net_exec_layer(&ref->exec, ref->graph, layer);
}

void net_ref_run(net_ref *ref, const float *input) {
    net_ref_set_input(ref, input);
    for (uint32_t i = 0; i < ref->graph->num_layers; i++) {
        net_ref_run_layer(ref, i);
    }
}

const float *net_ref_blob(const net_ref *ref, uint32_t blob) {
    return ref->blob[blob];
}

float *net_ref_space(net_ref *ref, uint32_t blob) {
    return ref->blob[blob];
}
