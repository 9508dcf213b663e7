/*
 * rt_check.c - compares a layer's outputs on the device with its definition, on the inputs that it had in the runtime.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "rt.h"

#define FIT_BOUND 1e-3f       /* docs/npu/activations.md: of max(1, |v|) */
#define AVERAGE_BOUND 1e-5f   /* of the largest element of the map */
#define FUNC_BOUND 2e-7f      /* docs/npu/npu.md section 2, functions of the ALU: of the largest element */
#define NORM_BOUND 1e-4f      /* softmax and normalisations: of the largest element of input or output */
#define ATTENTION_BOUND 2e-2f /* softmax of INT8 attention: of the largest element, as an integer may be one off */

/* Context of the comparison of a layer's elements. */
typedef struct check {
    const net_rt *rt;
    const net_layer *layer;
    const rt_layer *rl;
    const net_act *act; /* applied to the definition's elements; NULL: they are the result */
    bool exact;         /* by their bits */
    float bound;        /* of max(1, |v|), v: what the activation was applied to */
} check;

/* Functions that the NPU fits. */
static bool is_fitted(const net_act *act) {
    return act->type == NET_ACT_SIGMOID || act->type == NET_ACT_MISH || act->type == NET_ACT_SWISH ||
           act->type == NET_ACT_TANH || act->type == NET_ACT_ELU || act->type == NET_ACT_SOFTPLUS ||
           act->type == NET_ACT_GELU || act->type == NET_ACT_GELU_TANH;
}

static float largest(const float *value, size_t count) {
    float most = 0.0f;
    for (size_t i = 0; i < count; i++) {
        most = fabsf(value[i]) > most ? fabsf(value[i]) : most;
    }
    return most;
}

static bool matches(const check *c, const rt_blob *out, float got, float expected, float v) {
    if (out->int8) { /* the error of a fitted function may move a value across a half */
        int apart = net_quantize_value(got, out->scale) - net_quantize_value(expected, out->scale);
        float steps = c->bound == 0.0f ? 0.0f : 1.0f + c->bound * fmaxf(1.0f, fabsf(v)) * out->scale;
        return (float)abs(apart) <= steps;
    }
    if (c->exact) {
        return memcmp(&got, &expected, sizeof got) == 0;
    }
    return got == expected || (isnan(got) && isnan(expected)) ||
           fabsf(got - expected) <= c->bound * fmaxf(1.0f, fabsf(v));
}

/* The definition's outputs before the activation of `c`. */
static net_status define(check *c, float **out, net_error *err) {
    const net_rt *rt = c->rt;
    const net_layer *layer = c->layer;
    const net_act *fused = c->rl->fused != NET_NONE ? &rt->graph->layer[c->rl->fused].act : NULL;
    const float *in = net_rt_blob(rt, layer->in[0]);
    c->act = fused;
    if (c->rl->kind != RT_NOTHING && rt_is_int8(layer)) {
        net_layer bare = *layer;
        bare.act.type = NET_ACT_NONE;
        c->act = fused != NULL ? fused : &layer->act;
        c->bound = (c->rl->kind == RT_CONV || c->rl->rows > 0) && is_fitted(c->act) ? FIT_BOUND : 0.0f;
        c->exact = c->bound == 0.0f;
        return rt_int8_layer(rt->graph, &bare, in, out[0], err);
    }
    for (uint32_t i = 0; i < layer->num_in; i++) {
        rt->exec.in[i] = net_rt_blob(rt, layer->in[i]);
    }
    for (uint32_t i = 0; i < layer->num_out; i++) {
        rt->exec.out[i] = out[i];
    }
    net_exec_layer(&rt->exec, rt->graph, layer);
    c->exact = c->rl->kind == RT_CPU;
    c->bound = is_fitted(fused != NULL ? fused : &layer->act) ? FIT_BOUND : 0.0f;
    if (c->rl->kind == RT_POOL && c->rl->pool.type == NPU_POOL_CTRL_TYPE_AVG && !c->rl->pool.sum) {
        c->bound = AVERAGE_BOUND * fmaxf(1.0f, largest(in, net_shape_elements(&rt->graph->blob[layer->in[0]].shape)));
    }
    const float most_out = largest(out[0], net_shape_elements(&rt->graph->blob[layer->out[0]].shape));
    if (c->rl->kind == RT_NORM) {
        const float most_in = largest(in, net_shape_elements(&rt->graph->blob[layer->in[0]].shape));
        c->bound = NORM_BOUND * fmaxf(1.0f, fmaxf(most_in, most_out));
    } else if (c->rl->kind == RT_ELTWISE && c->rl->elt.func != NPU_FUNC_NONE) {
        c->bound = FUNC_BOUND * fmaxf(1.0f, most_out);
    } else if (c->rl->products && rt_softmax_on_npu(layer)) {
        c->exact = false;
        c->bound = ATTENTION_BOUND * fmaxf(1.0f, most_out);
    }
    return NET_OK;
}

/* Elements of one output. false: one differs. */
static bool compare(const check *c, uint32_t output, const float *defined, net_rt_difference *first) {
    const net_graph *g = c->rt->graph;
    uint32_t blob = c->layer->out[output];
    const float *got = net_rt_blob(c->rt, blob);
    const float *in = net_op_is_act(c->layer->op) ? net_rt_blob(c->rt, c->layer->in[0]) : NULL;
    for (uint32_t i = 0; i < net_shape_elements(&g->blob[blob].shape); i++) {
        float expected = defined[i];
        float v = in != NULL ? in[i] : c->act != NULL ? defined[i] : 0.0f;
        if (c->act != NULL) {
            net_act_apply(c->act, &defined[i], &expected, 1);
        }
        if (!matches(c, &c->rt->blob[blob], got[i], expected, v)) {
            *first = (net_rt_difference){.output = output, .element = i, .got = got[i], .expected = expected};
            return false;
        }
    }
    return true;
}

net_status net_rt_check(const net_rt *rt, uint32_t number, bool *equal, net_rt_difference *first, net_error *err) {
    if (rt == NULL || equal == NULL || first == NULL || number >= rt->graph->num_layers || rt->options.reuse) {
        return net_fail(err, NET_ERR_ARG, "net_rt_check: a layer of a runtime that keeps every blob is needed");
    }
    const net_layer *layer = &rt->graph->layer[number];
    check c = {.rt = rt, .layer = layer, .rl = &rt->layer[number]};
    *equal = true;
    if (layer->num_in == 0 || net_rt_layer_where(rt, number).fused) {
        return NET_OK; /* a fused layer is checked with the layer that computes it */
    }
    float **out = calloc((size_t)layer->num_out + 1, sizeof *out);
    net_status status = out == NULL ? NET_ERR_MEMORY : NET_OK;
    for (uint32_t i = 0; status == NET_OK && i < layer->num_out; i++) {
        out[i] = calloc((size_t)net_shape_elements(&rt->graph->blob[layer->out[i]].shape) + 1, sizeof **out);
        status = out[i] == NULL ? NET_ERR_MEMORY : NET_OK;
    }
    status = status == NET_OK ? define(&c, out, err) : net_fail(err, status, "out of memory for '%.60s'", layer->name);
    for (uint32_t i = 0; status == NET_OK && *equal && i < layer->num_out; i++) {
        *equal = compare(&c, i, out[i], first);
    }
    for (uint32_t i = 0; out != NULL && i < layer->num_out; i++) {
        free(out[i]);
    }
    free(out);
    return status;
}
