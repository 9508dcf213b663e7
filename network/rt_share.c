/*
 * rt_share.c - which blobs are parts of which: inputs of a Concat lie in its output, outputs of a Split where its input
 * lies, outputs of a Slice in its input. Joined maps with a blob in common overlap where they can (document 002, graph
 * passes): with [B A] and [A C], both are parts of [B A C].
 *
 * Blobs that share bytes have the same values there, which agree() ensures; so it does not matter which of them is
 * written, or when. An output that cannot lie where its input lies gets a copy.
 */
#include <stdlib.h>
#include <string.h>

#include "rt.h"

typedef struct sharing {
    net_rt *rt;
    /* by root: bytes of all that lies in it, which may be more than the root's blob */
    uint64_t *bytes;
} sharing;

/* A blob's root, and where it lies there. While roots are being found, root, dev_at and host_at of a blob are relative
 * to the blob `root`, which may itself be part of another. */
typedef struct place {
    uint32_t root;
    uint64_t at;      /* bytes on the device */
    uint32_t host_at; /* elements on the host */
} place;

static place find(const net_rt *rt, uint32_t blob) {
    place p = {.root = blob};
    for (; rt->blob[p.root].root != p.root; p.root = rt->blob[p.root].root) {
        p.at += rt->blob[p.root].dev_at;
        p.host_at += rt->blob[p.root].host_at;
    }
    return p;
}

/* Up to the last byte that is used. */
static uint64_t bytes_of(const net_shape *shape) {
    return shape->dims == 3 ? (shape->c - 1) * rt_cstep(shape) + (uint64_t)shape->w * shape->h * 4
                            : (uint64_t)net_shape_elements(shape) * 4;
}

static void put(sharing *s, uint32_t root, uint32_t into, uint64_t dev_at, uint32_t host_at) {
    rt_blob *b = &s->rt->blob[root];
    b->root = into;
    b->dev_at = dev_at;
    b->host_at = host_at;
    s->bytes[into] = tb_max_u64(s->bytes[into], dev_at + s->bytes[root]);
}

/* ---- parts of blobs ---- */

static bool is_join(const net_rt *rt, uint32_t number) {
    return rt->layer[number].kind == RT_NOTHING && net_op_joins(&rt->graph->layer[number]);
}

/* Maps whose channels are whole units of the bus apart. */
static bool in_units(const net_shape *shape) {
    return shape->dims == 3 && shape->w * shape->h > 1;
}

/* A Slice of such a map along its channels. */
static bool is_slice(const net_rt *rt, uint32_t number) {
    const net_layer *layer = &rt->graph->layer[number];
    return rt->layer[number].kind == RT_MOVE && strcmp(layer->type, "Slice") == 0 &&
           in_units(&rt->graph->blob[layer->in[0]].shape);
}

/* Bytes of an input of a Concat, up to the next one. */
static uint64_t joined_bytes(const net_shape *in, const net_shape *out) {
    return out->dims == 3 ? in->c * rt_cstep(out) : (uint64_t)net_shape_elements(in) * 4;
}

/* Where output k of a Slice lies in its input. */
static place slice_at(const net_graph *g, const net_layer *layer, uint32_t k) {
    place p = {.root = layer->in[0]};
    for (uint32_t i = 0; i < k; i++) {
        const net_shape *part = &g->blob[layer->out[i]].shape;
        p.at += part->c * rt_cstep(part);
        p.host_at += net_shape_elements(part);
    }
    return p;
}

static uint32_t output_of(const net_layer *layer, uint32_t blob) {
    uint32_t k = 0;
    while (layer->out[k] != blob) {
        k++;
    }
    return k;
}

/* The values at byte *at of a blob are those at byte *at of the blob that is computed, the result; so are the next
 * ones, *left bytes in all. */
static uint32_t source(const net_rt *rt, uint32_t blob, uint64_t *at, uint64_t *left) {
    const net_graph *g = rt->graph;
    const uint64_t size = bytes_of(&g->blob[blob].shape);
    *left = size > *at ? size - *at : 0;
    while (true) {
        const uint32_t number = g->blob[blob].producer;
        const net_layer *layer = &g->layer[number];
        if (is_join(rt, number)) {
            const net_shape *out = &g->blob[blob].shape;
            uint32_t k = 0;
            uint64_t span = joined_bytes(&g->blob[layer->in[0]].shape, out);
            while (*at >= span && k + 1 < layer->num_in) {
                *at -= span;
                span = joined_bytes(&g->blob[layer->in[++k]].shape, out);
            }
            *left = *at < span ? tb_min_u64(*left, span - *at) : 0;
            blob = layer->in[k];
        } else if (rt->layer[number].kind == RT_NOTHING && layer->num_in == 1) {
            blob = layer->in[0];
        } else if (is_slice(rt, number)) {
            *at += slice_at(g, layer, output_of(layer, blob)).at;
            blob = layer->in[0];
        } else {
            return blob;
        }
    }
}

/* ---- joined maps that overlap ---- */

/* A blob in one of two roots, with its place in the first one. */
typedef struct member {
    uint32_t blob;
    int64_t first, end;
} member;

/* Both blobs have the same values in the bytes that they share, up to `end`. */
static bool same_values(const net_rt *rt, const member *x, const member *y, int64_t at, int64_t end) {
    while (at < end) {
        uint64_t x_at = (uint64_t)(at - x->first);
        uint64_t y_at = (uint64_t)(at - y->first);
        uint64_t x_left;
        uint64_t y_left;
        if (source(rt, x->blob, &x_at, &x_left) != source(rt, y->blob, &y_at, &y_left) || x_at != y_at || x_left == 0 ||
            y_left == 0) {
            return false;
        }
        at += (int64_t)tb_min_u64(x_left, y_left);
    }
    return true;
}

/* The blob that it is a copy of, or a part of by a Slice, and where it begins there. */
static uint32_t origin(const net_rt *rt, uint32_t blob, int64_t *at) {
    const net_graph *g = rt->graph;
    *at = 0;
    while (true) {
        const uint32_t number = g->blob[blob].producer;
        const net_layer *layer = &g->layer[number];
        if (is_slice(rt, number)) {
            *at += (int64_t)slice_at(g, layer, output_of(layer, blob)).at;
        } else if (rt->layer[number].kind != RT_NOTHING || layer->num_in != 1 || net_op_joins(layer)) {
            return blob;
        }
        blob = layer->in[0];
    }
}

/* Both blobs can be where they are. A map that holds a blob twice may have the same values a few channels further on:
 * then one cannot be copied to the other. */
static bool can_share(const net_rt *rt, const member *x, const member *y) {
    const int64_t first = x->first > y->first ? x->first : y->first;
    const int64_t end = x->end < y->end ? x->end : y->end;
    int64_t x_at;
    int64_t y_at;
    if (first >= end) {
        return true;
    }
    return same_values(rt, x, y, first, end) &&
           (origin(rt, x->blob, &x_at) != origin(rt, y->blob, &y_at) || x->first - x_at == y->first - y_at);
}

/* All blobs of a root. Returns how many. *same: all are maps with `plane` pixels, so that a channel is the same
 * distance in all of them. */
static uint32_t members_of(const net_rt *rt, uint32_t root, int64_t shift, uint32_t plane, member *list, bool *same) {
    const net_graph *g = rt->graph;
    uint32_t count = 0;
    for (uint32_t i = 0; i < g->num_blobs; i++) {
        const place p = find(rt, i);
        const net_shape *shape = &g->blob[i].shape;
        if (p.root == root) {
            list[count] = (member){.blob = i, .first = (int64_t)p.at + shift};
            list[count].end = list[count].first + (int64_t)bytes_of(shape);
            count++;
            *same = *same && shape->dims == 3 && shape->w * shape->h == plane && !rt->blob[i].int8;
        }
    }
    return count;
}

/* Two roots can share memory, b's from byte `shift` of a's on. whole: one of them is a single blob, of which the other
 * has a copy there. */
static bool agree(const net_rt *rt, uint32_t a, uint32_t b, int64_t shift, uint32_t plane, bool whole) {
    member *list = malloc(((size_t)rt->graph->num_blobs + 1) * sizeof *list); /* no blob is in both */
    bool same = list != NULL;                                                 /* without memory they stay apart */
    const uint32_t in_a = list == NULL ? 0 : members_of(rt, a, 0, plane, list, &same);
    const uint32_t in_b = list == NULL ? 0 : members_of(rt, b, shift, plane, list + in_a, &same);
    bool good = list != NULL && (whole || same);
    for (uint32_t i = 0; good && i < in_a; i++) {
        for (uint32_t k = in_a; good && k < in_a + in_b; k++) {
            good = can_share(rt, &list[i], &list[k]);
        }
    }
    free(list);
    return good;
}

/* It fills its root: whatever lies there is part of it. */
static bool is_whole(const sharing *s, uint32_t blob, const place *p) {
    return p->at == 0 && s->bytes[p->root] == bytes_of(&s->rt->graph->blob[blob].shape);
}

/* Output k of a layer that computes nothing has to be where `part` is, relative to the input: then nothing is copied.
 */
static void place_output(sharing *s, const net_layer *layer, uint32_t k, const place *part, bool slice) {
    const net_rt *rt = s->rt;
    const uint32_t from = layer->in[0];
    const uint32_t to = layer->out[k];
    const net_shape *shape = &rt->graph->blob[from].shape;
    const place home = find(rt, from);
    const place out = find(rt, to);
    const int64_t shift = (int64_t)(home.at + part->at) - (int64_t)out.at;
    const int64_t host_shift = (int64_t)home.host_at + part->host_at - out.host_at;
    const bool whole = is_whole(s, to, &out) || (!slice && is_whole(s, from, &home));
    if (home.root == out.root || (!whole && (rt->options.apart || !in_units(shape))) ||
        !agree(rt, home.root, out.root, shift, shape->w * shape->h, whole)) {
        return;
    }
    if (shift >= 0) {
        put(s, out.root, home.root, (uint64_t)shift, (uint32_t)host_shift);
    } else {
        put(s, home.root, out.root, (uint64_t)-shift, (uint32_t)-host_shift);
    }
}

/* ---- layers ---- */

/* Inputs of a Concat are contiguous parts of its output. */
static void join(sharing *s, const net_layer *layer) {
    const net_shape *out = &s->rt->graph->blob[layer->out[0]].shape;
    uint32_t used = 0;
    uint64_t used_bytes = 0;
    for (uint32_t k = 0; k < layer->num_in; k++) {
        const net_shape *in = &s->rt->graph->blob[layer->in[k]].shape;
        put(s, layer->in[k], layer->out[0], used_bytes, used);
        used += net_shape_elements(in);
        used_bytes += joined_bytes(in, out);
    }
}

bool rt_is_copied(const net_rt *rt, uint32_t from, uint32_t to) {
    const net_graph *g = rt->graph;
    const net_layer *layer = &g->layer[g->blob[to].producer];
    const rt_blob *in = &rt->blob[from];
    const rt_blob *out = &rt->blob[to];
    const place part = strcmp(layer->type, "Slice") == 0 ? slice_at(g, layer, output_of(layer, to)) : (place){0};
    return in->root != out->root || in->dev_at + part.at != out->dev_at || in->host_at + part.host_at != out->host_at;
}

/* Slices move the outputs alone that are elsewhere. */
static void moves_left(net_rt *rt) {
    const net_graph *g = rt->graph;
    for (uint32_t i = 0; i < g->num_layers; i++) {
        rt_layer *rl = &rt->layer[i];
        uint32_t left = 0;
        if (!is_slice(rt, i)) {
            continue;
        }
        for (uint32_t m = 0; m < rl->moves; m++) {
            if (rt_is_copied(rt, g->layer[i].in[0], g->layer[i].out[rl->move[m].out])) {
                rl->move[left++] = rl->move[m];
            }
        }
        rl->moves = left;
        rl->kind = left == 0 ? RT_NOTHING : RT_MOVE;
    }
}

/* The outputs of one layer; later ones are done. */
static void share(sharing *s, uint32_t number) {
    const net_rt *rt = s->rt;
    const net_layer *layer = &rt->graph->layer[number];
    const bool slice = is_slice(rt, number);
    for (uint32_t k = 0; k < layer->num_out; k++) {
        const place part = slice ? slice_at(rt->graph, layer, k) : (place){0};
        place_output(s, layer, k, &part, slice);
    }
}

bool rt_share(net_rt *rt) {
    const net_graph *g = rt->graph;
    sharing s = {.rt = rt, .bytes = calloc((size_t)g->num_blobs + 1, sizeof *s.bytes)};
    rt_blob *flat = calloc((size_t)g->num_blobs + 1, sizeof *flat);
    if (s.bytes == NULL || flat == NULL) {
        free(s.bytes);
        free(flat);
        return false;
    }
    for (uint32_t i = 0; i < g->num_blobs; i++) {
        rt->blob[i].root = i;
        s.bytes[i] = bytes_of(&g->blob[i].shape);
    }
    /* Backwards, so that outputs are placed before inputs. */
    for (uint32_t i = g->num_layers; i-- > 0;) {
        if (is_join(rt, i)) {
            join(&s, &g->layer[i]);
        } else if ((rt->layer[i].kind == RT_NOTHING && g->layer[i].num_in == 1) ||
                   (is_slice(rt, i) && !rt->options.copy_concat)) {
            share(&s, i);
        }
    }
    for (uint32_t i = 0; i < g->num_blobs; i++) {
        const place p = find(rt, i);
        flat[i] = rt->blob[i];
        flat[i].root = p.root;
        flat[i].dev_at = p.at;
        flat[i].host_at = p.host_at;
    }
    free(s.bytes);
    free(rt->blob);
    rt->blob = flat;
    moves_left(rt);
    return true;
}
