/* rt_chain.c - fusion of the next layer into a layer: its activation, or the quantiser of INT8 convolutions after
 * it. */
#include <string.h>

#include "rt.h"

/* An activation after an operator without one is computed by that operator. */
void rt_fuse(net_rt *rt, uint32_t number) {
    const net_graph *g = rt->graph;
    rt_layer *rl = &rt->layer[number];
    const bool conv = rl->kind == RT_CONV || rl->rows > 0;
    npu_act *act = conv ? &rl->conv.act : &rl->elt.act;
    uint32_t *params = conv ? rl->conv.act_p : rl->elt.act_p;
    if ((!conv && rl->kind != RT_ELTWISE) || *act != NPU_ACT_NONE || rl->elt.func != NPU_FUNC_NONE) {
        return;
    }
    uint32_t next = g->blob[g->layer[number].out[0]].consumer;
    if (next == NET_NONE || rt->layer[next].kind != RT_ELTWISE || !net_op_is_act(g->layer[next].op)) {
        return;
    }
    *act = rt->layer[next].elt.act;
    memcpy(params, rt->layer[next].elt.act_p, sizeof rt->layer[next].elt.act_p);
    rl->fused = next;
    rt->layer[next].kind = RT_NOTHING;
}

/* A requantised output (102) is the same as quantising in the next layer, provided both use one scale: checks every
 * consumer, through Split layers. */
static bool same_scale_below(const net_graph *graph, uint32_t blob, float scale) {
    if (graph->blob[blob].consumer == NET_NONE) {
        return false;
    }
    const net_layer *next = &graph->layer[graph->blob[blob].consumer];
    bool same = next->kind == NET_SPLIT;
    for (uint32_t i = 0; same && i < next->num_out; i++) {
        same = same_scale_below(graph, next->out[i], scale);
    }
    return same || (rt_is_int8(next) &&
                    memcmp(&net_layer_tensor(next, NET_ROLE_BOTTOM_SCALE)->f32[0], &scale, sizeof scale) == 0);
}

/* Calls `each` for every convolution that consumes a blob, through Split layers, all on the NPU. false: there is
 * another consumer, or `each` failed. */
static bool conv_consumers(net_rt *rt, uint32_t blob, bool remap) {
    const net_graph *g = rt->graph;
    uint32_t next = g->blob[blob].consumer;
    if (next == NET_NONE) {
        return false;
    }
    if (g->layer[next].kind != NET_SPLIT) {
        return rt->layer[next].kind == RT_CONV && (!remap || rt_map_conv(rt, next));
    }
    bool ok = true;
    for (uint32_t i = 0; i < g->layer[next].num_out; i++) {
        ok = conv_consumers(rt, g->layer[next].out[i], remap) && ok;
    }
    return ok;
}

static void set_form(net_rt *rt, uint32_t blob, bool int8, float scale) {
    const net_graph *g = rt->graph;
    rt->blob[blob].int8 = int8;
    rt->blob[blob].scale = scale;
    uint32_t next = g->blob[blob].consumer;
    for (uint32_t i = 0; g->layer[next].kind == NET_SPLIT && i < g->layer[next].num_out; i++) {
        set_form(rt, g->layer[next].out[i], int8, scale);
    }
}

/* Chains of INT8 convolutions use INT8 blobs where producer and consumers support it. */
net_status rt_requantised(net_rt *rt, uint32_t number, net_error *err) {
    const net_graph *g = rt->graph;
    const net_layer *layer = &g->layer[number];
    const net_tensor *top = rt_is_int8(layer) ? net_layer_tensor(layer, NET_ROLE_TOP_SCALE) : NULL;
    if (top == NULL) {
        return NET_OK;
    }
    uint32_t out = layer->out[0];
    if (!same_scale_below(g, out, top->f32[0])) {
        return net_fail(
            err, NET_ERR_UNSUPPORTED,
            "%.150s:%u: layer '%.60s' is requantised with another scale than its consumers' is not supported", g->name,
            layer->line, layer->name);
    }
    if (rt->layer[number].kind != RT_CONV || g->blob[out].shape.dims != 3 || !conv_consumers(rt, out, false)) {
        return NET_OK;
    }
    set_form(rt, out, true, top->f32[0]);
    bool ok = rt_map_conv(rt, number);
    ok = conv_consumers(rt, out, true) && ok;
    if (!ok) { /* back to FP32, which all of them support */
        set_form(rt, out, false, 0.0f);
        rt->layer[number].kind = RT_CONV;
        (void)rt_map_conv(rt, number);
        (void)conv_consumers(rt, out, true);
    }
    return NET_OK;
}
