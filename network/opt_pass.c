/* opt_pass.c - the passes of the optimiser. */
#include <stdlib.h>
#include <string.h>

#include "opt.h"

static bool is_type(const net_layer *layer, const char *type) {
    return layer != NULL && !net_opt_gone(layer) && strcmp(layer->type, type) == 0;
}

/* Convolutions, their transposes and inner products: layers with weights and a bias for each output channel. */
static bool has_weights(const net_layer *layer) {
    return !net_opt_gone(layer) && layer->op->macs != NULL;
}

/* ---- layers whose output is their input ---- */

static bool is_identity(const net_graph *g, const net_layer *layer) {
    if (layer->num_in != 1 || layer->num_out != 1 ||
        !net_shape_same(&g->blob[layer->in[0]].shape, &g->blob[layer->out[0]].shape)) {
        return false;
    }
    if (is_type(layer, "Dropout")) {
        return net_layer_float(layer, 0, 1.0f) == 1.0f;
    }
    /* Copies that keep the order of the elements, or that leave out and add nothing since the shape is the same. */
    static const char *const copies[] = {"Noop", "Split",   "Flatten", "Reshape", "Concat",
                                         "Crop", "Padding", "Slice",   "Interp"};
    for (size_t i = 0; i < sizeof copies / sizeof copies[0]; i++) {
        if (is_type(layer, copies[i])) {
            return true;
        }
    }
    return is_type(layer, "Permute") && net_layer_int(layer, 0, 0) == 0;
}

void net_opt_identities(net_opt *opt) {
    net_graph *g = opt->graph;
    for (uint32_t i = 0; i < g->num_layers; i++) {
        net_layer *layer = &g->layer[i];
        if (net_opt_gone(layer) || !is_identity(g, layer)) {
            continue;
        }
        if (net_opt_can_bypass(opt, layer)) {
            net_opt_say(opt, "removed    %s '%.80s': its output is its input", layer->type, layer->name);
            net_opt_bypass(opt, layer);
        }
    }
}

/* A Split after a Split: the first one gets its outputs. */
void net_opt_splits(net_opt *opt) {
    net_graph *g = opt->graph;
    for (uint32_t i = 0; i < g->num_layers; i++) {
        net_layer *inner = &g->layer[i];
        if (!is_type(inner, "Split")) {
            continue;
        }
        uint32_t blob = inner->in[0];
        net_layer *outer = &g->layer[g->blob[blob].producer];
        if (!is_type(outer, "Split")) {
            continue;
        }
        uint32_t count = outer->num_out + inner->num_out - 1;
        uint32_t *out = calloc((size_t)count + 1, sizeof *out);
        if (out == NULL) {
            opt->no_memory = true;
            return;
        }
        uint32_t used = 0;
        for (uint32_t k = 0; k < outer->num_out; k++) {
            if (outer->out[k] != blob) {
                out[used++] = outer->out[k];
                continue;
            }
            for (uint32_t m = 0; m < inner->num_out; m++) {
                out[used++] = inner->out[m];
                g->blob[inner->out[m]].producer = g->blob[blob].producer;
            }
        }
        net_opt_say(opt, "merged     Split '%.80s' into '%.80s'", inner->name, outer->name);
        free(outer->out);
        outer->out = out;
        outer->num_out = count;
        net_opt_drop(opt, inner, blob);
    }
}

/* ---- BatchNorm and Scale folded into the previous layer ---- */

/* Bias of a layer with weights, zeros if it had none. NULL: no memory. */
static net_tensor *own_bias(net_layer *layer) {
    for (uint32_t i = 0; i < layer->num_tensors; i++) {
        if (layer->tensor[i].role == NET_ROLE_BIAS) {
            return &layer->tensor[i];
        }
    }
    float *zeros = calloc((size_t)layer->conv.num_output + 1, sizeof *zeros);
    uint32_t key = is_type(layer, "InnerProduct") ? 1 : 5;
    if (zeros == NULL || layer->num_tensors == NET_MAX_TENSORS || net_layer_set_int(layer, key, 1) != NET_OK) {
        free(zeros);
        return NULL;
    }
    /* the bias follows the weights */
    memmove(&layer->tensor[2], &layer->tensor[1], (layer->num_tensors - 1) * sizeof layer->tensor[0]);
    layer->tensor[1] = (net_tensor){.role = NET_ROLE_BIAS, .count = layer->conv.num_output, .f32 = zeros};
    layer->num_tensors++;
    layer->conv.has_bias = true;
    return &layer->tensor[1];
}

/* Channel c of a BatchNorm or Scale as y = factor * x + offset. */
static void line_of(const net_layer *layer, uint32_t c, float *factor, float *offset) {
    if (is_type(layer, "BatchNorm")) {
        net_batch_norm_line(layer, c, factor, offset);
        return;
    }
    const net_tensor *bias = net_layer_tensor(layer, NET_ROLE_BIAS);
    *factor = net_layer_tensor(layer, NET_ROLE_SCALE)->f32[c];
    *offset = bias == NULL ? 0.0f : bias->f32[c];
}

static bool fold(net_layer *layer, const net_layer *next) {
    net_tensor *bias = own_bias(layer);
    net_tensor *weight = &layer->tensor[0];
    uint32_t filter = weight->count / layer->conv.num_output;
    for (uint32_t c = 0; bias != NULL && c < layer->conv.num_output; c++) {
        float factor;
        float offset;
        line_of(next, c, &factor, &offset);
        for (size_t i = (size_t)c * filter; i < (size_t)(c + 1) * filter; i++) {
            weight->f32[i] *= factor;
        }
        bias->f32[c] = bias->f32[c] * factor + offset;
    }
    return bias != NULL;
}

void net_opt_fold(net_opt *opt) {
    net_graph *g = opt->graph;
    for (uint32_t i = 0; i < g->num_layers && !opt->no_memory; i++) {
        net_layer *layer = &g->layer[i];
        net_layer *next = has_weights(layer) ? net_opt_next(opt, layer) : NULL;
        bool line = is_type(next, "BatchNorm") || (is_type(next, "Scale") && next->num_in == 1);
        /* The scales of weights that are INT8 already would become wrong. A matrix of rows has its channels along the
         * rows. */
        if (!line || layer->act.type != NET_ACT_NONE || layer->conv.int8_scale_term != 0 ||
            layer->tensor[0].f32 == NULL || g->blob[layer->out[0]].shape.dims == 2) {
            continue;
        }
        if (!fold(layer, next)) {
            opt->no_memory = true;
            return;
        }
        net_opt_say(opt, "folded     %s '%.80s' into %s '%.80s'", next->type, next->name, layer->type, layer->name);
        net_opt_absorb(opt, layer, next);
    }
}

/* ---- activations fused into the previous layer ---- */

void net_opt_activations(net_opt *opt) {
    net_graph *g = opt->graph;
    for (uint32_t i = 0; i < g->num_layers && !opt->no_memory; i++) {
        net_layer *layer = &g->layer[i];
        net_layer *next = has_weights(layer) ? net_opt_next(opt, layer) : NULL;
        /* The activation would have to be applied before the requantisation. */
        if (next == NULL || layer->act.type != NET_ACT_NONE || layer->conv.int8_scale_term > 100 ||
            !net_op_is_act(next->op) || net_act_is_exact(next) || next->act.type == NET_ACT_NONE ||
            next->act.type > NET_ACT_HARD_SWISH) {
            continue;
        }
        net_value params[2] = {{.is_float = true}, {.is_float = true}};
        memcpy(&params[0].bits, &next->act.a, sizeof next->act.a);
        memcpy(&params[1].bits, &next->act.b, sizeof next->act.b);
        uint32_t count = next->act.type == NET_ACT_LEAKY                                          ? 1
                         : next->act.type == NET_ACT_CLIP || next->act.type == NET_ACT_HARD_SWISH ? 2
                                                                                                  : 0;
        if (net_layer_set_int(layer, 9, (int32_t)next->act.type) != NET_OK ||
            (count > 0 && net_layer_set_array(layer, 10, params, count) != NET_OK)) {
            opt->no_memory = true;
            return;
        }
        layer->act = next->act;
        net_opt_say(opt, "fused      %s '%.80s' into %s '%.80s'", next->type, next->name, layer->type, layer->name);
        net_opt_absorb(opt, layer, next);
    }
}

/* ---- chains of INT8 convolutions ---- */

static bool is_conv(const net_layer *layer) {
    return is_type(layer, "Convolution") || is_type(layer, "ConvolutionDepthWise");
}

/* All consumers of a blob, through Split layers, are INT8 convolutions with one input scale: that scale, otherwise 0.
 */
static float common_scale(const net_graph *g, uint32_t blob) {
    uint32_t consumer = g->blob[blob].consumer;
    if (consumer == NET_NONE) {
        return 0.0f;
    }
    const net_layer *layer = &g->layer[consumer];
    if (is_type(layer, "Split")) {
        float scale = common_scale(g, layer->out[0]);
        for (uint32_t i = 1; i < layer->num_out; i++) {
            scale = common_scale(g, layer->out[i]) == scale ? scale : 0.0f;
        }
        return scale;
    }
    const net_tensor *bottom = net_layer_tensor(layer, NET_ROLE_BOTTOM_SCALE);
    return is_conv(layer) && bottom != NULL ? bottom->f32[0] : 0.0f;
}

void net_opt_requantise(net_opt *opt) {
    net_graph *g = opt->graph;
    for (uint32_t i = 0; i < g->num_layers && !opt->no_memory; i++) {
        net_layer *layer = &g->layer[i];
        if (net_opt_gone(layer) || !is_conv(layer) || layer->conv.int8_scale_term == 0 ||
            layer->conv.int8_scale_term > 100) {
            continue;
        }
        float scale = common_scale(g, layer->out[0]);
        if (!(scale > 0.0f) || layer->num_tensors == NET_MAX_TENSORS) {
            continue;
        }
        float *top = malloc(sizeof *top);
        int32_t term = (int32_t)layer->conv.int8_scale_term + 100;
        if (top == NULL || net_layer_set_int(layer, 8, term) != NET_OK) {
            free(top);
            opt->no_memory = true;
            return;
        }
        *top = scale;
        layer->tensor[layer->num_tensors++] = (net_tensor){.role = NET_ROLE_TOP_SCALE, .count = 1, .f32 = top};
        layer->conv.int8_scale_term = (uint32_t)term;
        net_opt_say(opt, "requantise %s '%.80s': INT8 output with scale %g for its consumers", layer->type, layer->name,
                    (double)scale);
    }
}
