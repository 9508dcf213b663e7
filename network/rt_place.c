/* rt_place.c - memory that blobs share: its size, its lifetime from layer to layer, and its place. */
#include <stdlib.h>

#include "rt.h"
#include "num.h"

#define ARENA_ALIGN 64u

bool rt_gapless(const net_shape *shape) {
    uint32_t plane = shape->w * shape->h;
    return shape->dims != 3 || shape->c == 1 || plane == 1 || plane % 4 == 0;
}

uint64_t rt_cstep(const net_shape *shape) {
    uint64_t plane = (uint64_t)shape->w * shape->h;
    return plane == 1 ? 4 : (plane * 4 + 15) & ~UINT64_C(15);
}

npu_tensor rt_tensor(const net_rt *rt, uint32_t blob, uint32_t addr) {
    const net_shape *s = &rt->graph->blob[blob].shape;
    if (s->dims == 3) {
        return (npu_tensor){
            .addr = addr, .step = (uint32_t)rt_cstep(s), .w = s->w, .h = s->h, .c = s->c, .layout = NPU_FP32_NCHW};
    }
    /* One long row, or several if it would be too long. */
    uint32_t length = net_shape_elements(s);
    uint32_t rows = 1;
    while ((length / rows > 65535 || length % rows != 0) && rows < 65535) {
        rows++;
    }
    rows = length % rows == 0 ? rows : 1; /* the driver will refuse it */
    const net_shape row = {3, length / rows, rows, 1, 1};
    return (npu_tensor){
        .addr = addr, .step = (uint32_t)rt_cstep(&row), .w = row.w, .h = rows, .c = 1, .layout = NPU_FP32_NCHW};
}

/* ---- needs ---- */

static rt_root *root_of(net_rt *rt, uint32_t blob) {
    return &rt->root[rt->blob[blob].root];
}

bool rt_copies_on_device(const net_rt *rt, uint32_t from, uint32_t to) {
    const net_shape *s = &rt->graph->blob[from].shape;
    return rt->root[rt->blob[from].root].dev && rt->root[rt->blob[to].root].dev && !rt->blob[from].int8 &&
           s->w <= 65535 && s->h <= 65535 && s->c <= 65535;
}

static void touch(net_rt *rt, uint32_t blob, uint32_t number, bool dev, bool host) {
    rt_root *root = root_of(rt, blob);
    root->first = number < root->first ? number : root->first;
    root->last = number > root->last ? number : root->last;
    root->dev = root->dev || dev;
    root->host = root->host || host;
}

static void find_needs(net_rt *rt) {
    const net_graph *g = rt->graph;
    for (uint32_t i = 0; i < g->num_blobs; i++) {
        rt->root[i].first = UINT32_MAX;
    }
    for (uint32_t i = 0; i < g->num_layers; i++) {
        const net_layer *layer = &g->layer[i];
        bool host = rt->layer[i].kind == RT_CPU || layer->kind == NET_INPUT;
        bool dev = rt->layer[i].kind > RT_NOTHING;
        for (uint32_t k = 0; k < layer->num_in; k++) {
            touch(rt, layer->in[k], i, dev, host);
        }
        for (uint32_t k = 0; k < layer->num_out; k++) {
            touch(rt, layer->out[k], layer->kind == NET_INPUT ? 0 : i, dev, host);
        }
    }
    for (uint32_t i = 0; i < g->num_outputs; i++) {
        touch(rt, g->outputs[i], g->num_layers, false, true);
    }
    for (uint32_t i = 0; i < g->num_layers; i++) { /* copies: a Split of which two outputs are parts of larger blobs */
        const net_layer *layer = &g->layer[i];
        for (uint32_t k = 0; rt->layer[i].kind == RT_NOTHING && layer->num_in == 1 && k < layer->num_out; k++) {
            bool moves = rt_is_copied(rt, layer->in[0], layer->out[k]);
            if (moves && !rt_copies_on_device(rt, layer->in[0], layer->out[k])) {
                root_of(rt, layer->in[0])->host = true;
                root_of(rt, layer->out[k])->host = true;
            }
        }
    }
}

static uint64_t device_bytes(const net_rt *rt, uint32_t blob) {
    const net_shape *s = &rt->graph->blob[blob].shape;
    if (rt->blob[blob].int8) {
        return (uint64_t)s->w * s->h * tb_align_up(s->c, rt->npu.n);
    }
    uint64_t bytes = s->dims == 3 ? s->c * rt_cstep(s) : (uint64_t)net_shape_elements(s) * 4;
    return (bytes + 15) & ~UINT64_C(15); /* vectors are read in units of 16 bytes */
}

/*
 * An inner product over a vector without the alignment that the driver needs becomes a convolution of as many channels.
 */
static net_status unaligned_vectors(net_rt *rt, net_error *err) {
    const net_graph *g = rt->graph;
    for (uint32_t i = 0; i < g->num_layers; i++) {
        rt_layer *rl = &rt->layer[i];
        npu_conv old = rl->conv;
        if (rl->kind != RT_CONV || !rl->linear || rt_reads_vector(rt, i)) {
            continue;
        }
        if (!rt_map_conv(rt, i)) {
            return net_fail(err, NET_ERR_UNSUPPORTED, NET_WHERE ": %s", g->name, g->layer[i].line, g->layer[i].name,
                            g->layer[i].type, rl->reason);
        }
        rl->conv.act = old.act; /* possibly that of the next layer */
        rl->conv.act_p[0] = old.act_p[0];
        rl->conv.act_p[1] = old.act_p[1];
    }
    return NET_OK;
}

/* ---- arenas ---- */

static uint32_t device_items(const net_rt *rt, net_mem_item *item) {
    const net_graph *g = rt->graph;
    for (uint32_t i = 0; i < g->num_blobs; i++) {
        const rt_root *root = &rt->root[i];
        item[i] = (net_mem_item){.bytes = rt->blob[i].root == i && root->dev ? root->dev_bytes : 0,
                                 .first = root->first,
                                 .last = root->last};
        item[i].first = item[i].bytes == 0 ? item[i].last : item[i].first;
    }
    for (uint32_t i = 0; i < g->num_layers; i++) {
        const rt_layer *rl = &rt->layer[i];
        item[g->num_blobs + i] = (net_mem_item){.bytes = rl->kind == RT_CONV   ? rl->plan.scratch_bytes
                                                         : rl->kind == RT_NORM ? npu_rows_scratch_bytes(&rl->norm)
                                                                               : 0,
                                                .first = i,
                                                .last = i};
    }
    return g->num_blobs + g->num_layers;
}

static uint32_t host_items(const net_rt *rt, net_mem_item *item) {
    const net_graph *g = rt->graph;
    for (uint32_t i = 0; i < g->num_blobs; i++) {
        const rt_root *root = &rt->root[i];
        bool needed = rt->blob[i].root == i && (root->host || !rt->options.reuse);
        item[i] = (net_mem_item){.bytes = needed ? (uint64_t)root->elements * 4 : 0, .last = g->num_layers};
        if (rt->options.reuse && needed) {
            item[i].first = root->first;
            item[i].last = root->last;
        }
    }
    return g->num_blobs;
}

static net_status plan_arenas(net_rt *rt, net_mem_item *item, net_error *err) {
    const net_graph *g = rt->graph;
    net_status status = net_mem_plan(item, device_items(rt, item), ARENA_ALIGN, &rt->arena_bytes, err);
    for (uint32_t i = 0; i < g->num_blobs; i++) {
        rt->root[i].dev_place = item[i].at;
    }
    for (uint32_t i = 0; i < g->num_layers; i++) {
        rt->layer[i].scratch = (uint32_t)item[g->num_blobs + i].at;
    }
    if (status == NET_OK && rt->arena_bytes > UINT32_MAX / 2) {
        return net_fail(err, NET_ERR_MEMORY, "%.150s: blobs of %llu bytes do not fit into device memory", g->name,
                        (unsigned long long)rt->arena_bytes);
    }
    status = status == NET_OK ? net_mem_plan(item, host_items(rt, item), ARENA_ALIGN, &rt->host_bytes, err) : status;
    for (uint32_t i = 0; i < g->num_blobs; i++) {
        rt->root[i].host_place = item[i].at / 4;
    }
    return status;
}

net_status rt_place(net_rt *rt, net_error *err) {
    const net_graph *g = rt->graph;
    bool shared = rt_share(rt);
    rt->root = calloc((size_t)g->num_blobs + 1, sizeof *rt->root);
    net_mem_item *item = calloc((size_t)g->num_blobs + g->num_layers + 1, sizeof *item);
    if (!shared || rt->root == NULL || item == NULL) {
        free(item);
        return net_fail(err, NET_ERR_MEMORY, "%.150s: out of memory", g->name);
    }
    find_needs(rt);
    for (uint32_t i = 0; i < g->num_blobs; i++) {
        const rt_blob *b = &rt->blob[i];
        rt_root *root = root_of(rt, i);
        const uint32_t elements = net_shape_elements(&g->blob[i].shape);
        root->dev_bytes = tb_max_u64(root->dev_bytes, b->dev_at + device_bytes(rt, i));
        root->elements = (uint32_t)tb_max_u64(root->elements, (uint64_t)b->host_at + elements);
    }
    net_status status = unaligned_vectors(rt, err);
    rt_search(rt);
    status = status == NET_OK ? plan_arenas(rt, item, err) : status;
    free(item);
    return status;
}
