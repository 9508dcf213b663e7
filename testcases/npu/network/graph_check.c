/*
 * graph_check.c - checks the results of a network on the device. Each layer is compared with its definition on its
 * inputs on the device (net_rt_check()), and the whole network with the library's other executor, as far as results are
 * bit-exact.
 */
#include "graph_run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Layers in order: the first difference is reported. */
net_status graph_check_layers(tc_run *run, const net_graph *g, const net_rt *rt, net_error *err) {
    static const char *const places[] = {"on the NPU", "on the CPU", "by addresses"};
    for (uint32_t i = 0; i < g->num_layers; i++) {
        const net_layer *layer = &g->layer[i];
        net_rt_difference d;
        bool equal = false;
        char signature[96];
        const net_status status = net_rt_check(rt, i, &equal, &d, err);
        if (status != NET_OK) {
            return status;
        }
        if (!equal) {
            snprintf(signature, sizeof signature, "graph: %.40s", layer->type);
            tc_fail(run, signature, "layer '%s' (%s) %s: element %u of output %u is %.9g, expected %.9g", layer->name,
                    layer->type, places[net_rt_layer_where(rt, i).place], d.element, d.output, (double)d.got,
                    (double)d.expected);
            return NET_OK;
        }
    }
    return NET_OK;
}

/* Not bit-exact on the NPU: averages (they multiply by a reciprocal), fitted functions, and what sums or scales rows */
static bool is_near(const net_layer *layer) {
    const net_act_type act = layer->act.type;
    const bool fitted = act == NET_ACT_SIGMOID || act == NET_ACT_MISH || act == NET_ACT_SWISH || act == NET_ACT_TANH ||
                        act == NET_ACT_ELU || act == NET_ACT_SOFTPLUS || act == NET_ACT_GELU ||
                        act == NET_ACT_GELU_TANH;
    const bool rows = strcmp(layer->type, "Softmax") == 0 || strcmp(layer->type, "LayerNorm") == 0 ||
                      strcmp(layer->type, "RMSNorm") == 0;
    return fitted || rows || (strcmp(layer->type, "Pooling") == 0 && !layer->pool.max) ||
           (strcmp(layer->type, "Reduction") == 0 && net_layer_int(layer, 0, 0) == 3);
}

static bool same(float a, float b) {
    return a == b || (isnan(a) && isnan(b));
}

/* Compares a blob that both sides have as floats. */
static void check_blob(tc_run *run, const net_graph *g, const net_rt *rt, const net_int8 *cpu, uint32_t blob) {
    const net_layer *layer = &g->layer[g->blob[blob].producer];
    const uint32_t next = g->blob[blob].consumer;
    const float *expected = net_int8_blob(cpu, blob);
    const float *got = net_rt_blob(rt, blob);
    if (expected == NULL || (next != NET_NONE && net_rt_layer_where(rt, next).fused)) {
        return; /* INT8, or the device only has the blob after the activation */
    }
    for (uint32_t i = 0; i < net_shape_elements(&g->blob[blob].shape); i++) {
        if (!same(got[i], expected[i])) {
            tc_fail(run, "graph: whole network",
                    "layer '%s' (%s) in the whole network: element %u of '%s' is %.9g, on the CPU %.9g", layer->name,
                    layer->type, i, g->blob[blob].name, (double)got[i], (double)expected[i]);
            return;
        }
    }
}

net_status graph_check_whole(tc_run *run, const net_graph *g, const net_rt *rt, const float *input, net_error *err) {
    net_int8 *cpu = NULL;
    bool *near = calloc((size_t)g->num_blobs + 1, sizeof *near);
    const net_status status = near == NULL ? NET_ERR_MEMORY : net_int8_new(g, NET_INT8_SCALAR, &cpu, err);
    if (status == NET_OK) {
        net_int8_run(cpu, input);
    }
    for (uint32_t i = 0; status == NET_OK && i < g->num_layers && tc_ok(run); i++) {
        const net_layer *layer = &g->layer[i];
        bool any = is_near(layer);
        for (uint32_t k = 0; k < layer->num_in; k++) {
            any = any || near[layer->in[k]];
        }
        for (uint32_t k = 0; k < layer->num_out; k++) {
            near[layer->out[k]] = any;
            if (!any) {
                check_blob(run, g, rt, cpu, layer->out[k]);
            }
        }
    }
    net_int8_free(cpu);
    free(near);
    return status;
}
