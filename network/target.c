/* target.c - networks on engines: layers of the engine through its functions, all others by the FP32 reference. */
#include "target.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "op.h"

struct net_targeted {
    const net_graph *graph;
    const net_target *target;
    void *engine;
    net_target_layer *layer;
    net_ref *ref; /* blobs, and the layers on the CPU */
};

net_status net_targeted_new(const net_graph *graph, const net_target *target, void *engine, net_targeted **out,
                            net_error *err) {
    if (graph == NULL || target == NULL || out == NULL || !graph->planned || !graph->has_weights) {
        return net_fail(err, NET_ERR_ARG, "net_targeted_new: a planned graph with weights and a target are needed");
    }
    net_targeted *t = calloc(1, sizeof *t);
    if (t == NULL || (t->layer = calloc((size_t)graph->num_layers + 1, sizeof *t->layer)) == NULL) {
        free(t);
        return net_fail(err, NET_ERR_MEMORY, "%.150s: out of memory", graph->name);
    }
    t->graph = graph;
    t->target = target;
    t->engine = engine;
    const net_status status = net_ref_new(graph, &t->ref, err);
    if (status != NET_OK) {
        net_targeted_free(t);
        return status;
    }
    target->map(engine, graph, t->layer);
    *out = t;
    return NET_OK;
}

void net_targeted_free(net_targeted *t) {
    if (t != NULL) {
        net_ref_free(t->ref);
        free(t->layer);
        free(t);
    }
}

net_status net_targeted_run_some(net_targeted *t, const float *input, uint32_t first, uint32_t last, net_error *err) {
    const net_graph *g = t->graph;
    net_status status = NET_OK;
    net_ref_set_input(t->ref, input);
    for (uint32_t i = 0; i < g->num_layers && status == NET_OK; i++) {
        net_target_layer *l = &t->layer[i];
        l->tasks = l->cycles = l->expected = 0;
        if (l->place == NET_TARGET_ENGINE && i >= first && i <= last) {
            status = t->target->run(t->engine, g, i, l, net_ref_blob(t->ref, g->layer[i].in[0]),
                                    net_ref_space(t->ref, g->layer[l->last].out[0]), err);
            i = l->last;
        } else {
            net_ref_run_layer(t->ref, i);
        }
    }
    return status;
}

net_status net_targeted_run(net_targeted *t, const float *input, net_error *err) {
    return net_targeted_run_some(t, input, 0, t->graph->num_layers, err);
}

const net_graph *net_targeted_graph(const net_targeted *t) {
    return t->graph;
}

const float *net_targeted_blob(const net_targeted *t, uint32_t blob) {
    return net_ref_blob(t->ref, blob);
}

const net_target_layer *net_targeted_layer(const net_targeted *t, uint32_t layer) {
    return &t->layer[layer];
}

uint64_t net_targeted_macs(const net_targeted *t) {
    uint64_t macs = 0;
    for (uint32_t i = 0; i < t->graph->num_layers; i++) {
        macs += t->layer[i].place == NET_TARGET_CPU ? 0 : net_layer_macs(t->graph, i);
    }
    return macs;
}

void net_target_reason(net_target_layer *layer, const char *format, ...) {
    va_list args;
    va_start(args, format);
    layer->place = NET_TARGET_CPU;
    (void)vsnprintf(layer->reason, sizeof layer->reason, format, args);
    va_end(args);
}

uint32_t net_target_next(const net_graph *graph, uint32_t layer) {
    return graph->blob[graph->layer[layer].out[0]].consumer;
}
