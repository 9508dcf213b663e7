/*
 * unify.c - one range for tensors that are parts of one Concat, so that they share step and zero-point (document 002,
 * section 3.2.1).
 */
#include <stdlib.h>
#include <string.h>

#include "internal.h"

static uint32_t root_of(uint32_t *parent, uint32_t blob) {
    while (parent[blob] != blob) {
        parent[blob] = parent[parent[blob]];
        blob = parent[blob];
    }
    return blob;
}

/* Layers whose outputs hold values of their inputs only. */
static bool moves_values(const net_layer *layer) {
    static const char *const types[] = {"Concat", "Split", "Slice", "Flatten", "Reshape", "Dropout", "Noop"};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (strcmp(layer->type, types[i]) == 0) {
            return true;
        }
    }
    return strcmp(layer->type, "Pooling") == 0 && layer->pool.max;
}

/* [num_blobs]; NULL: no memory. */
static uint32_t *unite(const net_graph *graph) {
    uint32_t *parent = malloc((graph->num_blobs + 1) * sizeof *parent);
    for (uint32_t b = 0; parent != NULL && b < graph->num_blobs; b++) {
        parent[b] = b;
    }
    for (uint32_t i = 0; parent != NULL && i < graph->num_layers; i++) {
        const net_layer *layer = &graph->layer[i];
        if (!moves_values(layer)) {
            continue;
        }
        /* of the other inputs of a Reshape only the shapes are read */
        for (uint32_t k = 1; strcmp(layer->type, "Reshape") != 0 && k < layer->num_in; k++) {
            parent[root_of(parent, layer->in[k])] = root_of(parent, layer->in[0]);
        }
        for (uint32_t k = 0; k < layer->num_out; k++) {
            parent[root_of(parent, layer->out[k])] = root_of(parent, layer->in[0]);
        }
    }
    return parent;
}

net_status net_unify_ranges(const net_graph *graph, float *lo, float *hi, net_error *err) {
    if (graph == NULL || lo == NULL || hi == NULL || !graph->planned) {
        return net_fail(err, NET_ERR_ARG, "net_unify_ranges: a planned graph and ranges are needed");
    }
    uint32_t *parent = unite(graph);
    float *range = calloc(2 * (size_t)graph->num_blobs + 1, sizeof *range); /* lo, hi of every root */
    const bool ok = parent != NULL && range != NULL;
    for (uint32_t pass = 0; ok && pass < 2; pass++) {
        for (uint32_t i = 0; i < graph->num_layers; i++) {
            if (graph->layer[i].kind != NET_CONV && !net_layer_quantizable(&graph->layer[i])) {
                continue;
            }
            float *r = range + 2 * (size_t)root_of(parent, graph->layer[i].in[0]);
            if (pass == 0) {
                r[0] = lo[i] < r[0] ? lo[i] : r[0];
                r[1] = hi[i] > r[1] ? hi[i] : r[1];
            } else {
                lo[i] = r[0];
                hi[i] = r[1];
            }
        }
    }
    free(parent);
    free(range);
    return ok ? NET_OK : net_fail(err, NET_ERR_MEMORY, "out of memory");
}
