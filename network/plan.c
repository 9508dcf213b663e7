/* plan.c - determines the shapes of all blobs and decodes the settings of all layers, by the table of layer types
 * (op.h), before a graph is executed. */
#include <stdio.h>
#include <stdlib.h>

#include "op.h"

/* Text of an allowed number of inputs or outputs. */
static const char *range_text(char *text, size_t bytes, uint32_t lo, uint32_t hi) {
    if (lo == hi) {
        (void)snprintf(text, bytes, "%u", lo);
    } else if (hi == NET_ANY) {
        (void)snprintf(text, bytes, "at least %u", lo);
    } else {
        (void)snprintf(text, bytes, "%u to %u", lo, hi);
    }
    return text;
}

static net_status plan_layer(net_plan *p) {
    net_layer *layer = p->layer;
    const net_op *op = net_op_find(layer->type);
    layer->op = op;
    layer->scratch = 0;
    if (op == NULL || op->shape == NULL) {
        return net_fail(p->err, NET_ERR_UNSUPPORTED, NET_WHERE " is not supported", NET_HERE(p));
    }
    if (layer->num_in < op->min_in || layer->num_in > op->max_in || layer->num_out < op->min_out ||
        layer->num_out > op->max_out) {
        char in[40];
        char out[40];
        return NET_BAD(p, "%u inputs and %u outputs, expected %s and %s", layer->num_in, layer->num_out,
                       range_text(in, sizeof in, op->min_in, op->max_in),
                       range_text(out, sizeof out, op->min_out, op->max_out));
    }
    for (uint32_t i = 0; i < layer->num_in && !op->deep; i++) {
        if (net_plan_in(p, i)->dims == 4) {
            return NET_CANNOT(p, "%s", "an input with four dimensions");
        }
    }
    return op->shape(p);
}

/* The blobs that the caller fills and those that no layer consumes. */
static net_status plan_ends(net_graph *graph, net_error *err) {
    free(graph->inputs);
    free(graph->outputs);
    graph->num_inputs = 0;
    graph->num_outputs = 0;
    graph->inputs = calloc((size_t)graph->num_layers + 1, sizeof *graph->inputs);
    graph->outputs = calloc((size_t)graph->num_blobs + 1, sizeof *graph->outputs);
    if (graph->inputs == NULL || graph->outputs == NULL) {
        return net_fail(err, NET_ERR_MEMORY, "%.150s: out of memory", graph->name);
    }
    for (uint32_t i = 0; i < graph->num_layers; i++) {
        if (graph->layer[i].kind == NET_INPUT) {
            graph->inputs[graph->num_inputs++] = graph->layer[i].out[0];
        }
    }
    for (uint32_t i = 0; i < graph->num_blobs; i++) {
        if (graph->blob[i].consumer == NET_NONE) {
            graph->outputs[graph->num_outputs++] = i;
        }
    }
    if (graph->num_inputs == 0 || graph->num_outputs == 0) {
        return net_fail(err, NET_ERR_FORMAT, "%.150s: no %s", graph->name,
                        graph->num_inputs == 0 ? "Input layer" : "output");
    }
    graph->input = graph->num_inputs == 1 ? graph->inputs[0] : NET_NONE;
    graph->output = graph->num_outputs == 1 ? graph->outputs[0] : NET_NONE;
    return NET_OK;
}

/* Inputs of a Concat along the outermost dimension are contiguous parts of its output, which itself may be input of
 * another. */
static void plan_homes(net_graph *graph) {
    for (uint32_t i = 0; i < graph->num_blobs; i++) {
        graph->blob[i].home = i;
        graph->blob[i].offset = 0;
    }
    /* Backwards, so that the output of a Concat is placed before its inputs. */
    for (uint32_t i = graph->num_layers; i-- > 0;) {
        const net_layer *layer = &graph->layer[i];
        if (!net_op_joins(layer)) {
            continue;
        }
        const net_blob *out = &graph->blob[layer->out[0]];
        uint32_t used = out->offset;
        for (uint32_t k = 0; k < layer->num_in; k++) {
            net_blob *in = &graph->blob[layer->in[k]];
            in->home = out->home;
            in->offset = used;
            used += net_shape_elements(&in->shape);
        }
    }
}

net_status net_graph_plan(net_graph *graph, net_error *err) {
    if (graph == NULL) {
        return net_fail(err, NET_ERR_ARG, "net_graph_plan: null argument");
    }
    net_plan p = {.graph = graph, .err = err};
    graph->planned = false;
    graph->input = NET_NONE;
    graph->output = NET_NONE;
    for (uint32_t i = 0; i < graph->num_layers; i++) {
        p.layer = &graph->layer[i];
        net_status status = plan_layer(&p);
        if (status != NET_OK) {
            return status;
        }
    }
    net_status status = plan_ends(graph, err);
    plan_homes(graph);
    graph->planned = status == NET_OK;
    return status;
}
