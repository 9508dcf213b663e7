/*
 * opt_merge.c - convolutions of one input become one convolution (document 002, graph passes). Its output channels are
 * theirs, one after the other; a Slice gives each its own again, which the runtime leaves where they are. Every output
 * channel is computed as before, so no bit changes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "opt.h"

#define NAME_BYTES 256

/* The layers that become one, in the order of the graph. */
typedef struct group {
    uint32_t count;
    uint32_t *conv;
    uint32_t *order; /* of their channels: numbers in conv */
    struct use *use;
} group;

/* The activation layer that follows a convolution without a fused one; NET_NONE: there is none. */
static uint32_t act_behind(const net_graph *g, const net_layer *conv) {
    const uint32_t next = g->blob[conv->out[0]].consumer;
    return next != NET_NONE && conv->act.type == NET_ACT_NONE && net_op_is_act(g->layer[next].op) ? next : NET_NONE;
}

/* Convolutions of whole maps. One with an INT8 output has a layout without room for slices. */
static bool can_merge(const net_graph *g, const net_layer *layer) {
    return !net_opt_gone(layer) && strcmp(layer->type, "Convolution") == 0 && layer->num_in == 1 &&
           layer->num_out == 1 && layer->conv.groups == 1 && g->blob[layer->out[0]].shape.dims == 3 &&
           (layer->conv.int8_scale_term == 0 || layer->conv.int8_scale_term == 2);
}

static bool same_act(const net_act *a, const net_act *b) {
    return a->type == b->type && memcmp(&a->a, &b->a, sizeof a->a) == 0 && memcmp(&a->b, &b->b, sizeof a->b) == 0;
}

/* Arrays that can be joined: by output channel, or the same number for all. */
static bool same_arrays(const net_layer *a, const net_layer *b) {
    bool same = a->num_tensors == b->num_tensors;
    for (uint32_t i = 0; same && i < a->num_tensors; i++) {
        const net_tensor *s = &a->tensor[i];
        const net_tensor *t = &b->tensor[i];
        same = s->role == t->role && (s->i8 != NULL) == (t->i8 != NULL);
        if (same && s->role == NET_ROLE_BOTTOM_SCALE) {
            same = s->count == t->count && memcmp(s->f32, t->f32, s->count * sizeof *s->f32) == 0;
        } else if (same) {
            same = (s->role == NET_ROLE_WEIGHT || s->role == NET_ROLE_BIAS || s->role == NET_ROLE_WEIGHT_SCALE) &&
                   s->count % a->conv.num_output == 0 &&
                   (uint64_t)s->count * b->conv.num_output == (uint64_t)t->count * a->conv.num_output;
        }
    }
    return same;
}

/* Both compute their output channels in one way: window, padding and its value, INT8, bias, activation. */
static bool same_way(const net_graph *g, const net_layer *a, const net_layer *b) {
    const net_conv *s = &a->conv;
    const net_conv *t = &b->conv;
    const uint32_t act_a = act_behind(g, a);
    const uint32_t act_b = act_behind(g, b);
    const bool acts = act_a == NET_NONE || act_b == NET_NONE
                          ? act_a == act_b
                          : strcmp(g->layer[act_a].type, g->layer[act_b].type) == 0 &&
                                same_act(&g->layer[act_a].act, &g->layer[act_b].act) &&
                                net_act_is_exact(&g->layer[act_a]) == net_act_is_exact(&g->layer[act_b]);
    return acts && same_act(&a->act, &b->act) && s->kernel_w == t->kernel_w && s->kernel_h == t->kernel_h &&
           s->stride_w == t->stride_w && s->stride_h == t->stride_h && s->dilation_w == t->dilation_w &&
           s->dilation_h == t->dilation_h && s->pad_l == t->pad_l && s->pad_r == t->pad_r && s->pad_t == t->pad_t &&
           s->pad_b == t->pad_b && s->has_bias == t->has_bias && s->relu == t->relu &&
           s->int8_scale_term == t->int8_scale_term && a->wide == b->wide && a->asym.used == b->asym.used &&
           a->asym.zero == b->asym.zero && net_layer_float(a, 18, 0.0f) == net_layer_float(b, 18, 0.0f) &&
           net_layer_int(a, NET_KEY_FEATURES, 0) == net_layer_int(b, NET_KEY_FEATURES, 0) && same_arrays(a, b);
}

/* Where the output of a layer of the group ends up: as input `at` of the Concat `join`, NET_NONE: in none. */
typedef struct use {
    uint32_t join, at;
    uint32_t rank; /* 0 first, 2 last */
} use;

static use first_join(const net_graph *g, uint32_t blob) {
    const uint32_t next = g->blob[blob].consumer;
    use found = {.join = NET_NONE};
    if (next == NET_NONE) {
        return found;
    }
    const net_layer *layer = &g->layer[next];
    for (uint32_t k = 0; layer->kind == NET_SPLIT && found.join == NET_NONE && k < layer->num_out; k++) {
        found = first_join(g, layer->out[k]);
    }
    if (layer->kind != NET_SPLIT && net_op_joins(layer)) {
        found.join = next;
        while (layer->in[found.at] != blob) {
            found.at++;
        }
    }
    return found;
}

static use use_of(const net_graph *g, const group *m, uint32_t i) {
    const uint32_t act = act_behind(g, &g->layer[m->conv[i]]);
    use u = first_join(g, g->layer[act == NET_NONE ? m->conv[i] : act].out[0]);
    u.rank = u.join == NET_NONE ? 1 : u.at == 0 ? 2 : u.at == g->layer[u.join].num_in - 1 ? 0 : 1;
    return u;
}

/*
 * The order in which most outputs are where a Concat needs them: as they are in that Concat if it has several of them;
 * else one that begins a joined map is the last and one that ends a joined map the first one, so that the maps can
 * overlap there.
 */
static void set_order(const net_graph *g, group *m) {
    for (uint32_t i = 0; i < m->count; i++) {
        m->use[i] = use_of(g, m, i);
    }
    for (uint32_t i = 0; i < m->count; i++) {
        for (uint32_t k = 0; k < i && m->use[i].join != NET_NONE; k++) {
            if (m->use[k].join == m->use[i].join) {
                m->use[k].rank = m->use[i].rank = 1;
            }
        }
    }
    for (uint32_t i = 0; i < m->count; i++) {
        const use *u = &m->use[i];
        uint32_t at = i;
        for (; at > 0; at--) {
            const use *v = &m->use[m->order[at - 1]];
            if (v->rank != u->rank ? v->rank < u->rank : v->join != u->join ? v->join < u->join : v->at <= u->at) {
                break;
            }
            m->order[at] = m->order[at - 1];
        }
        m->order[at] = i;
    }
}

/* Consumers of a Split that can become one layer with that of output `from`. */
static bool find_group(const net_graph *g, const net_layer *split, uint32_t from, group *m) {
    const uint32_t first = g->blob[split->out[from]].consumer;
    m->count = 0;
    if (first == NET_NONE || !can_merge(g, &g->layer[first])) {
        return false;
    }
    uint64_t channels = 0;
    for (uint32_t k = from; k < split->num_out; k++) {
        const uint32_t number = g->blob[split->out[k]].consumer;
        if (number == NET_NONE || !can_merge(g, &g->layer[number]) ||
            !same_way(g, &g->layer[first], &g->layer[number]) || channels + g->layer[number].conv.num_output > 65535) {
            continue;
        }
        channels += g->layer[number].conv.num_output;
        uint32_t at = m->count++;
        for (; at > 0 && m->conv[at - 1] > number; at--) {
            m->conv[at] = m->conv[at - 1];
        }
        m->conv[at] = number;
    }
    set_order(g, m);
    return m->count > 1;
}

/* Array number `which` of all layers of the group. */
static bool join_array(const net_graph *g, const group *m, uint32_t which, net_tensor *out) {
    const bool bytes = g->layer[m->conv[0]].tensor[which].i8 != NULL;
    const size_t size = bytes ? 1 : sizeof(float);
    size_t count = 0;
    *out = g->layer[m->conv[0]].tensor[which];
    for (uint32_t i = 0; i < m->count; i++) {
        const net_tensor *t = &g->layer[m->conv[i]].tensor[which];
        out->tag = t->tag == out->tag ? out->tag : NET_TAG_FP32;
        count += t->count;
    }
    char *data = count > UINT32_MAX / 4 ? NULL : malloc(count * size + 1);
    size_t at = 0;
    for (uint32_t i = 0; data != NULL && i < m->count; i++) {
        const net_tensor *t = &g->layer[m->conv[m->order[i]]].tensor[which];
        memcpy(data + at, bytes ? (const void *)t->i8 : (const void *)t->f32, t->count * size);
        at += t->count * size;
    }
    out->count = (uint32_t)count;
    out->i8 = bytes ? (int8_t *)data : NULL;
    out->f32 = bytes ? NULL : (float *)data;
    return data != NULL;
}

/* The first layer gets the channels of all. */
static bool join_channels(net_graph *g, const group *m) {
    net_layer *first = &g->layer[m->conv[0]];
    net_tensor joined[NET_MAX_TENSORS] = {0};
    uint32_t channels = 0;
    bool ok = true;
    for (uint32_t i = 0; i < m->count; i++) {
        channels += g->layer[m->conv[i]].conv.num_output;
    }
    for (uint32_t t = 0; t < first->num_tensors; t++) {
        if (first->tensor[t].role != NET_ROLE_BOTTOM_SCALE) {
            ok = join_array(g, m, t, &joined[t]) && ok;
        }
    }
    for (uint32_t t = 0; t < first->num_tensors; t++) {
        net_tensor *old = &first->tensor[t];
        if (ok && old->role != NET_ROLE_BOTTOM_SCALE) {
            free(old->f32);
            free(old->i8);
            *old = joined[t];
        } else {
            free(joined[t].f32);
            free(joined[t].i8);
        }
    }
    first->conv.num_output = channels;
    net_layer_unset(first, NET_KEY_HINTS);
    return ok && net_layer_set_int(first, 0, (int32_t)channels) == NET_OK &&
           net_layer_set_int(first, 6, (int32_t)first->tensor[0].count) == NET_OK;
}

static char *name_of(const char *text, const char *more) {
    char *name = malloc(NAME_BYTES);
    if (name != NULL) {
        (void)snprintf(name, NAME_BYTES, "%.200s_%s", text, more);
    }
    return name;
}

/* A Slice at place `number`, from the blob to the outputs (owned by it) of so many channels each. */
static bool make_slice(net_graph *g, uint32_t number, const char *name, uint32_t blob, uint32_t *out, uint32_t count,
                       const net_value *channels) {
    net_layer *slice = &g->layer[number];
    *slice = (net_layer){.num_in = 1, .num_out = count, .out = out, .line = g->layer[g->blob[blob].producer].line};
    slice->op = net_op_find("Slice");
    slice->type = malloc(sizeof "Slice");
    slice->name = name_of(name, "slice");
    slice->in = malloc(sizeof *slice->in);
    if (slice->type == NULL || slice->name == NULL || slice->in == NULL) {
        return false;
    }
    memcpy(slice->type, "Slice", sizeof "Slice");
    slice->in[0] = blob;
    g->blob[blob].consumer = number;
    for (uint32_t i = 0; i < count; i++) {
        g->blob[out[i]].producer = number;
    }
    return net_layer_set_array(slice, 0, channels, count) == NET_OK && net_layer_set_int(slice, 1, 0) == NET_OK;
}

/* A blob is not read by its Split any more. */
static void leave_split(net_graph *g, uint32_t blob) {
    net_layer *split = &g->layer[g->blob[blob].producer];
    uint32_t used = 0;
    for (uint32_t k = 0; k < split->num_out; k++) {
        if (split->out[k] != blob) {
            split->out[used++] = split->out[k];
        }
    }
    split->num_out = used;
}

static uint32_t place_of(const group *m, uint32_t i) {
    uint32_t k = 0;
    while (m->order[k] != i) {
        k++;
    }
    return k;
}

/* The activation of layer i of the group goes: that of the first one to the place behind it, the others for good. Their
 * inputs go, too, but for the first one's. Returns its output. */
static uint32_t move_act(net_opt *opt, const group *m, uint32_t i, uint32_t whole) {
    net_graph *g = opt->graph;
    const uint32_t first = m->conv[0];
    const uint32_t between = g->layer[m->conv[i]].out[0];
    net_layer *act = &g->layer[g->blob[between].consumer];
    const uint32_t out = act->out[0];
    if (i > 0) {
        net_opt_drop(opt, act, between);
        return out;
    }
    net_layer_unset(act, NET_KEY_HINTS);
    act->out[0] = whole;
    g->layer[first + 1] = *act;
    memset(act, 0, sizeof *act);
    g->blob[whole].producer = g->blob[between].consumer = first + 1;
    return out;
}

/* The group becomes its first layer, with an activation behind it if they have one, and a Slice. */
static bool merge(net_opt *opt, group *m) {
    net_graph *g = opt->graph;
    const bool acts = act_behind(g, &g->layer[m->conv[0]]) != NET_NONE;
    const uint32_t more = acts ? 2 : 1;
    const uint32_t first = m->conv[0];
    uint32_t *out = calloc(m->count, sizeof *out);
    net_value *channels = calloc(m->count, sizeof *channels);
    if (out == NULL || channels == NULL || !net_opt_room(g, first + 1, more)) {
        free(out);
        free(channels);
        return false;
    }
    for (uint32_t i = 1; i < m->count; i++) {
        m->conv[i] += more;
    }
    for (uint32_t i = 0; i < m->count; i++) {
        channels[i].bits = g->layer[m->conv[m->order[i]]].conv.num_output;
    }
    bool ok = join_channels(g, m);
    net_opt_say(opt, "merged     %u layers with Convolution '%.80s', which have its input", m->count - 1,
                g->layer[first].name);
    const uint32_t whole = g->num_blobs++;
    g->blob[whole] = (net_blob){.name = name_of(g->layer[first].name, "merged"), .producer = first};
    for (uint32_t i = 0; i < m->count; i++) {
        net_layer *conv = &g->layer[m->conv[i]];
        out[place_of(m, i)] = acts ? move_act(opt, m, i, whole) : conv->out[0];
        if (i > 0) {
            leave_split(g, conv->in[0]);
            net_opt_drop(opt, conv, conv->in[0]);
        } else if (!acts) {
            conv->out[0] = whole;
        }
    }
    ok = make_slice(g, first + more, g->layer[first].name, whole, out, m->count, channels) && ok;
    free(channels);
    return ok && g->blob[whole].name != NULL;
}

net_status net_opt_merge_convs(net_graph *graph, uint32_t *changes, net_error *err) {
    if (graph == NULL || !graph->planned || !graph->has_weights) {
        return net_fail(err, NET_ERR_ARG, "net_opt_merge_convs: a planned graph with weights is needed");
    }
    net_opt opt = {.graph = graph, .err = err};
    for (uint32_t i = 0; i < graph->num_layers && !opt.no_memory; i++) {
        if (net_opt_gone(&graph->layer[i]) || graph->layer[i].kind != NET_SPLIT) {
            continue;
        }
        const uint32_t most = graph->layer[i].num_out;
        group m = {.conv = calloc(2 * (size_t)most + 1, sizeof *m.conv),
                   .use = calloc((size_t)most + 1, sizeof *m.use)};
        opt.no_memory = m.conv == NULL || m.use == NULL;
        m.order = opt.no_memory ? NULL : m.conv + most;
        for (uint32_t k = 0; k < graph->layer[i].num_out && !opt.no_memory; k++) {
            if (graph->num_layers + 2 <= NET_MAX_LAYERS && graph->num_blobs + 2 <= NET_MAX_BLOBS &&
                find_group(graph, &graph->layer[i], k, &m)) {
                opt.no_memory = !merge(&opt, &m);
                k = NET_NONE; /* again from the first one: outputs of the Split are gone */
            }
        }
        free(m.conv);
        free(m.use);
        if (!opt.no_memory && graph->layer[i].num_out == 1 && net_opt_can_bypass(&opt, &graph->layer[i])) {
            net_opt_bypass(&opt, &graph->layer[i]);
        }
    }
    uint32_t made = 0;
    net_status status = net_opt_finish(&opt, &made);
    if (status == NET_OK && changes != NULL) {
        *changes += made;
    }
    return status;
}
