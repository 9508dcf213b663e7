/* net_sac_map.c - which layers run on the shift-add engine, which of them in one task. */
#include <string.h>

#include "../op.h"
#include "net_sac_priv.h"

static bool is_type(const net_layer *l, const char *type) {
    return strcmp(l->type, type) == 0;
}

/* A layer with weights as a convolution. false: it is none, or the reason is noted. */
static bool map_conv(const net_graph *g, uint32_t number, net_sac_work *w, net_target_layer *tl) {
    const net_layer *l = &g->layer[number];
    const net_conv *c = &l->conv;
    const net_shape *out = &g->blob[l->out[0]].shape;
    uint32_t size[4];
    if (!net_pow2_sizes(g, number, size)) {
        return false;
    }
    if (c->dilation_w != 1 || c->dilation_h != 1) {
        net_target_reason(tl, "%s", sac_strerror(SAC_FAIL_DILATION));
    } else if (c->stride_w != c->stride_h) {
        net_target_reason(tl, "strides that differ");
    } else if (l->act.type != NET_ACT_NONE && l->act.type != NET_ACT_RELU) {
        net_target_reason(tl, "%s", sac_strerror(SAC_FAIL_ACTIVATION));
    } else if (is_type(l, "InnerProduct") && out->dims != 1) {
        net_target_reason(tl, "an inner product of each row");
    } else {
        const bool map = out->dims == 3;
        w->task = (sac_task){.n = size[0],
                             .c = size[1] * c->groups,
                             .kh = size[2],
                             .kw = size[3],
                             .stride = map ? c->stride_h : 1,
                             .pt = map ? c->pad_t : 0,
                             .pl = map ? c->pad_l : 0,
                             .oh = map ? out->h : 1,
                             .ow = map ? out->w : 1,
                             .relu = l->act.type == NET_ACT_RELU};
        w->groups = c->groups;
        w->with_weights = true;
        return true;
    }
    return false;
}

/* Pooling alone: an identity before it. */
static void map_identity(const net_shape *in, net_sac_work *w) {
    w->task = (sac_task){.n = in->c, .c = in->c, .kh = 1, .kw = 1, .stride = 1, .oh = in->h, .ow = in->w};
    w->groups = 1;
}

/* Add a pooling layer to the task. false: it cannot do that. */
static bool add_pooling(const net_graph *g, uint32_t number, net_sac_work *w) {
    const net_layer *l = &g->layer[number];
    const net_pool *p = &l->pool;
    const net_shape *in = &g->blob[l->in[0]].shape, *out = &g->blob[l->out[0]].shape;
    if (w->task.pool || w->task.full != SAC_FULL_NONE || in->dims != 3) {
        return false;
    }
    const bool window = p->kernel_w == in->w && p->kernel_h == in->h && p->pad_l + p->pad_r + p->pad_t + p->pad_b == 0;
    if ((p->adaptive && (out->dims == 1 || out->w * out->h == 1)) || (!p->adaptive && window)) {
        w->task.full = p->max ? SAC_FULL_MAX : SAC_FULL_AVG;
        return true;
    }
    if (!p->max || p->adaptive || p->kernel_w != p->kernel_h || p->stride_w != p->stride_h) {
        return false;
    }
    w->task.pool = true;
    w->task.win = p->kernel_w;
    w->task.pool_stride = p->stride_w;
    w->task.pool_pt = p->pad_t;
    w->task.pool_pl = p->pad_l;
    w->task.ph = out->h;
    w->task.pw = out->w;
    return true;
}

/* Would the driver start it, in one task or in tiles of rows? The memory is given when it runs. */
static sac_status possible(const net_sac *s, const net_sac_work *w) {
    sac_task t = w->task;
    uint32_t rows;
    if (w->groups > 1 && (t.c / w->groups % s->drv.cv != 0 || t.n / w->groups % s->drv.cv != 0)) {
        return SAC_FAIL_DEPTHWISE;
    }
    t.c /= w->groups;
    t.n /= w->groups;
    net_sac_dummy(&t);
    sac_status status = sac_check(&s->drv, &t);
    if (status == SAC_FAIL_CACHE_SIZE && t.full == SAC_FULL_NONE) {
        status = sac_layer_rows(&s->drv, &t, &rows);
        sac_task tile;
        status = status == SAC_OK ? sac_layer_tile(&s->drv, &t, rows, 0, &tile) : status;
        status = status == SAC_OK ? sac_check(&s->drv, &tile) : status;
    }
    return status;
}

/* The layers behind `first` that its task also computes, as far as the driver allows. */
static void fuse(const net_sac *s, const net_graph *g, uint32_t first, net_sac_work *w) {
    uint32_t next = net_target_next(g, first);
    while (next != NET_NONE && g->layer[next].num_out == 1) {
        net_sac_work more = *w;
        const net_layer *l = &g->layer[next];
        const bool relu = net_op_is_act(l->op) && l->act.type == NET_ACT_RELU;
        if (relu && !w->task.relu && !w->task.pool && w->task.full == SAC_FULL_NONE) {
            more.task.relu = true;
        } else if (!is_type(l, "Pooling") || !add_pooling(g, next, &more)) {
            return;
        }
        if (possible(s, &more) != SAC_OK) {
            return;
        }
        *w = more;
        w->last = next;
        next = net_target_next(g, next);
    }
}

bool net_sac_plan(const net_sac *s, const net_graph *g, uint32_t number, net_sac_work *w, net_target_layer *tl) {
    const net_layer *l = &g->layer[number];
    *w = (net_sac_work){.last = number};
    if (l->num_in != 1 || l->num_out != 1) {
        return false;
    }
    const net_shape *in = &g->blob[l->in[0]].shape;
    if (is_type(l, "Pooling") && in->dims == 3) {
        map_identity(in, w);
        if (!add_pooling(g, number, w)) {
            net_target_reason(tl, "%s", l->pool.max ? "no such window" : sac_strerror(SAC_FAIL_AVERAGE));
            return false;
        }
    } else if (!map_conv(g, number, w, tl)) {
        return false;
    }
    const bool map = in->dims == 3;
    w->task.to_memory = true;
    w->task.h = map ? in->h : 1;
    w->task.w = map ? in->w : 1;
    const sac_status status = possible(s, w);
    if (status != SAC_OK) {
        net_target_reason(tl, "%s", sac_strerror(status));
        return false;
    }
    (void)net_sac_deepen(&s->drv, w);
    fuse(s, g, number, w);
    return true;
}

void net_sac_map(void *engine, const net_graph *graph, net_target_layer *layer) {
    net_sac *s = (net_sac *)engine;
    net_sac_work w;
    s->graph = graph;
    for (uint32_t i = 0; i < graph->num_layers; i++) {
        layer[i].last = layer[i].place == NET_TARGET_FUSED ? layer[i].last : i;
        if (layer[i].place != NET_TARGET_FUSED && net_sac_plan(s, graph, i, &w, &layer[i])) {
            layer[i].place = NET_TARGET_ENGINE;
            layer[i].last = w.last;
            for (uint32_t next = i; next != w.last;) {
                next = net_target_next(graph, next);
                layer[next].place = NET_TARGET_FUSED;
                layer[next].last = w.last;
            }
        }
    }
}
