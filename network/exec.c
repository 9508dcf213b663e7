/* exec.c - what the executors share: pointers and scratch memory for one layer at a time, and the call of its row. */
#include <stdlib.h>

#include "op.h"

net_status net_exec_new(const net_graph *graph, net_exec *exec, net_error *err) {
    uint32_t most_in = 1;
    uint32_t most_out = 1;
    size_t scratch = 1;
    for (uint32_t i = 0; i < graph->num_layers; i++) {
        const net_layer *layer = &graph->layer[i];
        most_in = layer->num_in > most_in ? layer->num_in : most_in;
        most_out = layer->num_out > most_out ? layer->num_out : most_out;
        scratch = layer->scratch > scratch ? layer->scratch : scratch;
    }
    exec->in = calloc(most_in, sizeof *exec->in);
    exec->out = calloc(most_out, sizeof *exec->out);
    exec->scratch = calloc(1, scratch);
    if (exec->in == NULL || exec->out == NULL || exec->scratch == NULL) {
        net_exec_free(exec);
        return net_fail(err, NET_ERR_MEMORY, "%.150s: out of memory for the layers", graph->name);
    }
    return NET_OK;
}

void net_exec_free(net_exec *exec) {
    free(exec->in);
    free(exec->out);
    free(exec->scratch);
    *exec = (net_exec){0};
}

void net_exec_layer(const net_exec *exec, const net_graph *graph, const net_layer *layer) {
    const net_work work = {graph, layer, exec->in, exec->out, exec->scratch, exec->product, exec->softmax, exec->user};
    layer->op->run(&work);
}
