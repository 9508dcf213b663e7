/* opt.c - the graph optimiser: repeats the passes until none changes the graph, and has the edits that they share. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "opt.h"

void net_opt_say(net_opt *opt, const char *format, ...) {
    char line[400];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(line, sizeof line, format, args);
    va_end(args);
    opt->changes++;
    if (opt->note != NULL) {
        opt->note(opt->user, line);
    }
}

bool net_opt_gone(const net_layer *layer) {
    return layer->type == NULL;
}

net_layer *net_opt_next(net_opt *opt, const net_layer *layer) {
    uint32_t consumer = opt->graph->blob[layer->out[0]].consumer;
    return consumer == NET_NONE ? NULL : &opt->graph->layer[consumer];
}

static void drop_blob(net_graph *graph, uint32_t number) {
    free(graph->blob[number].name);
    graph->blob[number].name = NULL;
}

static void drop_layer(net_layer *layer) {
    net_layer_free(layer);
    memset(layer, 0, sizeof *layer);
}

static void replace(uint32_t *list, uint32_t count, uint32_t old, uint32_t now) {
    for (uint32_t i = 0; i < count; i++) {
        list[i] = list[i] == old ? now : list[i];
    }
}

bool net_opt_can_bypass(const net_opt *opt, const net_layer *layer) {
    const net_graph *g = opt->graph;
    return g->blob[layer->out[0]].consumer != NET_NONE || g->layer[g->blob[layer->in[0]].producer].kind != NET_INPUT;
}

void net_opt_drop(net_opt *opt, net_layer *layer, uint32_t blob) {
    drop_blob(opt->graph, blob);
    drop_layer(layer);
}

void net_opt_bypass(net_opt *opt, net_layer *layer) {
    net_graph *g = opt->graph;
    uint32_t in = layer->in[0];
    uint32_t out = layer->out[0];
    uint32_t consumer = g->blob[out].consumer;
    net_layer *producer = &g->layer[g->blob[in].producer];
    if (consumer != NET_NONE) {
        replace(g->layer[consumer].in, g->layer[consumer].num_in, out, in);
        g->blob[in].consumer = consumer;
        drop_blob(g, out);
    } else {
        replace(producer->out, producer->num_out, in, out);
        g->blob[out].producer = g->blob[in].producer;
        g->blob[out].shape = g->blob[in].shape;
        drop_blob(g, in);
    }
    drop_layer(layer);
}

void net_opt_absorb(net_opt *opt, net_layer *layer, net_layer *next) {
    net_graph *g = opt->graph;
    uint32_t between = layer->out[0];
    layer->out[0] = next->out[0];
    g->blob[layer->out[0]].producer = g->blob[between].producer;
    drop_blob(g, between);
    drop_layer(next);
}

/* Remove the gaps of deleted layers and blobs. */
static bool compact(net_graph *g) {
    uint32_t *layer_now = calloc((size_t)g->num_layers + 1, sizeof *layer_now);
    uint32_t *blob_now = calloc((size_t)g->num_blobs + 1, sizeof *blob_now);
    uint32_t layers = 0;
    uint32_t blobs = 0;
    bool ok = layer_now != NULL && blob_now != NULL;
    for (uint32_t i = 0; ok && i < g->num_layers; i++) {
        layer_now[i] = layers;
        if (!net_opt_gone(&g->layer[i])) {
            g->layer[layers++] = g->layer[i];
        }
    }
    for (uint32_t i = 0; ok && i < g->num_blobs; i++) {
        blob_now[i] = blobs;
        if (g->blob[i].name != NULL) {
            g->blob[blobs++] = g->blob[i];
        }
    }
    for (uint32_t i = 0; ok && i < blobs; i++) {
        g->blob[i].producer = layer_now[g->blob[i].producer];
        g->blob[i].consumer = g->blob[i].consumer == NET_NONE ? NET_NONE : layer_now[g->blob[i].consumer];
    }
    for (uint32_t i = 0; ok && i < layers; i++) {
        net_layer *layer = &g->layer[i];
        for (uint32_t k = 0; k < layer->num_in; k++) {
            layer->in[k] = blob_now[layer->in[k]];
        }
        for (uint32_t k = 0; k < layer->num_out; k++) {
            layer->out[k] = blob_now[layer->out[k]];
        }
    }
    if (ok) {
        g->num_layers = layers;
        g->num_blobs = blobs;
    }
    free(layer_now);
    free(blob_now);
    return ok;
}

/* Drop the shape hints of the file: they would be wrong for layers whose outputs have changed. */
static void drop_hints(net_graph *g) {
    for (uint32_t i = 0; i < g->num_layers; i++) {
        net_layer_unset(&g->layer[i], NET_KEY_HINTS);
    }
}

net_status net_opt_finish(net_opt *opt, uint32_t *changes) {
    net_graph *graph = opt->graph;
    if (changes != NULL) {
        *changes = opt->changes;
    }
    if (!compact(graph) || opt->no_memory) {
        graph->planned = false;
        return net_fail(opt->err, NET_ERR_MEMORY, "%.150s: out of memory", graph->name);
    }
    if (opt->changes > 0) {
        drop_hints(graph);
    }
    return net_graph_plan(graph, opt->err);
}

net_status net_optimize(net_graph *graph, net_opt_note *note, void *user, uint32_t *changes, net_error *err) {
    if (graph == NULL || !graph->planned || !graph->has_weights) {
        return net_fail(err, NET_ERR_ARG, "net_optimize: a planned graph with weights is needed");
    }
    net_opt opt = {.graph = graph, .note = note, .user = user, .err = err};
    uint32_t before;
    do {
        before = opt.changes;
        net_opt_identities(&opt);
        net_opt_splits(&opt);
        net_opt_fold(&opt);
        net_opt_activations(&opt);
    } while (opt.changes != before && !opt.no_memory);
    net_opt_requantise(&opt);
    return net_opt_finish(&opt, changes);
}

net_status net_opt_norms(net_graph *graph, uint32_t *changes, net_error *err) {
    if (graph == NULL || !graph->planned || !graph->has_weights) {
        return net_fail(err, NET_ERR_ARG, "net_opt_norms: a planned graph with weights is needed");
    }
    net_opt opt = {.graph = graph, .err = err};
    uint32_t before;
    do {
        before = opt.changes;
        net_opt_fold(&opt);
    } while (opt.changes != before && !opt.no_memory);
    return net_opt_finish(&opt, changes);
}
