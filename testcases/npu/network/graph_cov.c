/* graph_cov.c - kinds and places of the layers of a network for coverage, after a run, while the runtime exists. */
#include "graph_run.h"

#include <stdlib.h>

static const char *op_of(const net_graph *g, const net_layer *layer) {
    if (strcmp(layer->type, "ConvolutionDepthWise") == 0) {
        return layer->conv.groups == g->blob[layer->in[0]].shape.c ? "depthwise" : "groups";
    }
    if (strcmp(layer->type, "Pooling") == 0) {
        return layer->pool.adaptive ? "global pool" : "pool";
    }
    for (size_t i = 0; i < GRAPH_OPS; i++) {
        if (strcmp(graph_rows[i].type, layer->type) == 0) {
            return graph_rows[i].kind;
        }
    }
    return layer->kind == NET_INPUT ? "input" : "activation"; /* those without weights have a type each */
}

/* The layer that computed a blob: a Split is skipped. */
static uint32_t origin(const net_graph *g, uint32_t blob) {
    uint32_t i = g->blob[blob].producer;
    while (g->layer[i].kind == NET_SPLIT) {
        i = g->blob[g->layer[i].in[0]].producer;
    }
    return i;
}

static const char *place_of(const net_graph *g, const net_rt *rt, uint32_t layer) {
    const net_rt_where where = net_rt_layer_where(rt, layer);
    static const char *const names[] = {"NPU", "CPU", "addresses"};
    return g->layer[layer].kind == NET_INPUT ? "input" : where.fused ? "fused" : names[where.place];
}

static uint32_t readers_of(const net_graph *g, uint32_t blob) {
    const uint32_t next = g->blob[blob].consumer;
    return next == NET_NONE ? 0 : g->layer[next].kind == NET_SPLIT ? g->layer[next].num_out : 1;
}

static npu_cov_layer describe(const net_graph *g, const net_rt *rt, uint32_t i) {
    const net_layer *layer = &g->layer[i];
    const uint32_t before = origin(g, layer->in[0]);
    const bool weights = net_layer_macs(g, i) > 0;
    return (npu_cov_layer){.op = op_of(g, layer),
                           .from = op_of(g, &g->layer[before]),
                           .place = place_of(g, rt, i),
                           .from_place = place_of(g, rt, before),
                           .weights = !weights                                                 ? "none"
                                      : net_layer_tensor(layer, NET_ROLE_BOTTOM_SCALE) != NULL ? "int8"
                                                                                               : "float",
                           .in_int8 = net_rt_blob_is_int8(rt, layer->in[0]),
                           .out_int8 = net_rt_blob_is_int8(rt, layer->out[0]),
                           .inputs = layer->num_in,
                           .readers = readers_of(g, layer->out[0])};
}

npu_cov_layer *graph_describe(const net_graph *g, const net_rt *rt, uint32_t *count) {
    npu_cov_layer *list = calloc((size_t)g->num_layers + 1, sizeof *list);
    uint32_t *depth = calloc((size_t)g->num_layers + 1, sizeof *depth);
    *count = 0;
    for (uint32_t i = 0; list != NULL && depth != NULL && i < g->num_layers; i++) {
        const net_layer *layer = &g->layer[i];
        for (uint32_t k = 0; k < layer->num_in; k++) {
            const uint32_t before = depth[origin(g, layer->in[k])] + 1;
            depth[i] = before > depth[i] ? before : depth[i];
        }
        if (layer->kind != NET_INPUT && layer->kind != NET_SPLIT) {
            list[*count] = describe(g, rt, i);
            list[(*count)++].depth = depth[i];
        }
    }
    free(depth);
    return list;
}
