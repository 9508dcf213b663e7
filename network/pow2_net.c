/* pow2_net.c - the weights of a graph as records of powers of two, and back. */
#include "pow2_net.h"

#include <math.h>
#include <string.h>

#include "op.h"

bool net_pow2_sizes(const net_graph *graph, uint32_t layer, uint32_t size[4]) {
    const net_layer *l = &graph->layer[layer];
    const net_tensor *w = net_layer_tensor(l, NET_ROLE_WEIGHT);
    if (w == NULL || w->f32 == NULL || !net_layer_quantizable(l)) {
        return false;
    }
    const net_shape *in = &graph->blob[l->in[0]].shape;
    const net_conv *c = &l->conv;
    uint32_t each;
    size[0] = c->num_output;
    size[1] = net_scale_channels(in, &each) / c->groups;
    size[2] = c->kernel_h;
    size[3] = c->kernel_w;
    if (strcmp(l->type, "InnerProduct") == 0 && in->dims == 3) {
        size[2] = in->h;
        size[3] = in->w;
    }
    return true;
}

net_status net_pow2_from_graph(const net_graph *graph, net_pow2 *p, net_error *err) {
    net_status status = NET_OK;
    for (uint32_t i = 0; i < graph->num_layers && status == NET_OK; i++) {
        const net_layer *l = &graph->layer[i];
        const net_tensor *bias = net_layer_tensor(l, NET_ROLE_BIAS);
        uint32_t s[4];
        if (net_pow2_sizes(graph, i, s)) {
            status = net_pow2_add(p, net_layer_tensor(l, NET_ROLE_WEIGHT)->f32, bias != NULL ? bias->f32 : NULL, s[0],
                                  s[1], s[2], s[3], err);
        }
    }
    return status;
}

static net_status differ(const net_graph *g, const net_layer *l, const char *name, const char *what, net_error *err) {
    return net_fail(err, NET_ERR_FORMAT, "%.150s: layer '%.60s' of %.100s: %s", name, l->name, g->name, what);
}

net_status net_pow2_to_graph(const net_pow2 *p, net_graph *graph, const char *name, net_error *err) {
    uint32_t at = 0;
    for (uint32_t i = 0; i < graph->num_layers; i++) {
        net_layer *l = &graph->layer[i];
        uint32_t s[4];
        if (!net_pow2_sizes(graph, i, s)) {
            continue;
        }
        const net_pow2_record *r = at < p->count ? &p->record[at] : NULL;
        if (r == NULL || r->bias) {
            return differ(graph, l, name, "there are no weights for it", err);
        }
        net_tensor *w = (net_tensor *)net_layer_tensor(l, NET_ROLE_WEIGHT);
        net_tensor *bias = (net_tensor *)net_layer_tensor(l, NET_ROLE_BIAS);
        const bool with_bias = at + 1 < p->count && p->record[at + 1].bias;
        if (r->n != s[0] || r->c != s[1] || r->h != s[2] || r->w != s[3] ||
            w->count != (uint64_t)s[0] * s[1] * s[2] * s[3] || with_bias != (bias != NULL)) {
            return differ(graph, l, name, "its weights have other sizes", err);
        }
        for (uint32_t k = 0; k < w->count; k++) {
            w->f32[k] = net_pow2_weight(r->code[k], r->nmin);
            if (isinf(w->f32[k])) {
                return differ(graph, l, name, "a weight is 2^128 or larger", err);
            }
        }
        w->tag = NET_TAG_FP32;
        if (with_bias) {
            memcpy(bias->f32, p->record[at + 1].value, bias->count * sizeof *bias->f32);
        }
        at += with_bias ? 2 : 1;
    }
    return at == p->count ? NET_OK
                          : net_fail(err, NET_ERR_FORMAT, "%.150s: %u records, expected %u for %.100s", name, p->count,
                                     at, graph->name);
}
