/* net_sac.c - a layer on the shift-add engine: blobs to pages, weights to a filter stream, tasks, and back. */
#include "net_sac.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../op.h"
#include "net_sac_priv.h"

#define ALIGN 64u

net_status net_sac_init(net_sac *s, const net_sac_port *port, const net_scales *scales, net_error *err) {
    *s = (net_sac){.port = *port, .scales = scales, .held = NET_NONE};
    const sac_status status = sac_open(&s->drv, port->hal);
    return status == SAC_OK ? NET_OK : net_fail(err, NET_ERR_DEVICE, "sac_open: %s", sac_strerror(status));
}

void net_sac_dummy(sac_task *t) {
    t->in = 0;
    t->out = 0x40000000u;
    t->filters = 0x80000000u;
    t->params = 0xC0000000u;
    t->dtab = 0xD0000000u;
}

/* ---- operands ---- */

/* Operands of a layer in the host's memory. */
typedef struct operands {
    net_pow2 weights; /* a record of weights; a bias behind it, if there is one */
    uint8_t *made;    /* codes of an identity, or of a deep map */
    int8_t *in, *deep, *out;
    int8_t *q; /* [c] of the input, of a deep map four times each */
    uint8_t *pages, *filters, *params, *d;
    sac_filter *filter;
    sac_layer layer;
} operands;

static void free_operands(operands *o) {
    net_pow2_free(&o->weights);
    free(o->made);
    free(o->in);
    free(o->deep);
    free(o->q);
    free(o->out);
    free(o->pages);
    free(o->filters);
    free(o->params);
    free(o->d);
    free(o->filter);
}

static net_status take_weights(const net_graph *g, uint32_t number, operands *o, net_error *err) {
    const net_layer *l = &g->layer[number];
    const net_tensor *bias = net_layer_tensor(l, NET_ROLE_BIAS);
    uint32_t s[4];
    (void)net_pow2_sizes(g, number, s);
    const net_status status = net_pow2_add(&o->weights, net_layer_tensor(l, NET_ROLE_WEIGHT)->f32,
                                           bias != NULL ? bias->f32 : NULL, s[0], s[1], s[2], s[3], err);
    if (status == NET_OK) {
        o->layer.codes = o->weights.record[0].code;
        o->layer.nmin = o->weights.record[0].nmin;
        o->layer.bias = bias != NULL ? o->weights.record[1].value : NULL;
    }
    return status;
}

/* 1 on the diagonal: code 14 with the least power -6. */
static net_status take_identity(uint32_t channels, operands *o, net_error *err) {
    o->made = malloc((size_t)channels * channels);
    if (o->made == NULL) {
        return net_fail(err, NET_ERR_MEMORY, "out of memory");
    }
    memset(o->made, NET_POW2_ZERO, (size_t)channels * channels);
    for (uint32_t i = 0; i < channels; i++) {
        o->made[(size_t)i * channels + i] = 14;
    }
    o->layer.codes = o->made;
    o->layer.nmin = -NET_POW2_SPAN;
    return NET_OK;
}

/* Codes of the deep map instead of the layer's own. */
static net_status take_deep(const net_sac_work *w, operands *o, net_error *err) {
    const sac_task *t = &w->task;
    o->made = malloc((size_t)t->n * t->c * t->kh * t->kw);
    if (o->made == NULL) {
        return net_fail(err, NET_ERR_MEMORY, "out of memory");
    }
    net_sac_deep_codes(w, o->layer.codes, o->made);
    o->layer.codes = o->made;
    return NET_OK;
}

/* The layer in the driver's terms, with the scales of its blobs. */
static net_status describe(const net_sac *s, const net_graph *g, uint32_t number, const net_sac_work *w, operands *o,
                           net_error *err) {
    const uint32_t in = g->layer[number].in[0], out = g->layer[w->last].out[0];
    net_status status = w->with_weights ? take_weights(g, number, o, err) : take_identity(w->task.c, o, err);
    status = status == NET_OK && w->deep ? take_deep(w, o, err) : status;
    o->q = malloc(w->task.c);
    if (o->q == NULL) {
        return net_fail(err, NET_ERR_MEMORY, "out of memory");
    }
    for (uint32_t c = 0; c < w->task.c; c++) {
        o->q[c] = s->scales->q[in][w->deep ? c / 4 : c];
    }
    sac_layer *l = &o->layer;
    l->task = w->task;
    l->groups = w->groups;
    l->dilation = 1;
    l->act = w->task.relu ? SAC_ACT_RELU : SAC_ACT_NONE;
    l->pooling = w->task.pool ? SAC_POOL_MAX : SAC_POOL_NONE;
    l->q_in = o->q;
    l->q_full = s->scales->q[out];
    l->q_conv = w->task.full == SAC_FULL_AVG ? s->scales->q[g->layer[w->last].in[0]] : l->q_full;
    return status;
}

/* Bytes of everything that a group's task needs. */
static uint32_t pages_of(const net_sac *s, const sac_task *t, uint32_t channels, bool out) {
    uint32_t h = t->h, w = t->w;
    if (out) {
        h = t->full != SAC_FULL_NONE ? 1 : t->pool ? t->ph : t->oh;
        w = t->full != SAC_FULL_NONE ? 1 : t->pool ? t->pw : t->ow;
    }
    return sac_tensor_bytes(&s->drv, channels, h, w);
}

static net_status allocate(const net_sac *s, const net_graph *g, uint32_t number, uint32_t last, operands *o,
                           net_error *err) {
    const sac_task *t = &o->layer.task;
    const uint32_t c = t->c / o->layer.groups, n = t->n / o->layer.groups;
    const uint32_t in = pages_of(s, t, t->c, false), out = pages_of(s, t, t->n, true);
    o->in = malloc(net_shape_elements(&g->blob[g->layer[number].in[0]].shape));
    o->deep = malloc((size_t)t->c * t->h * t->w);
    o->out = malloc(net_shape_elements(&g->blob[g->layer[last].out[0]].shape));
    o->pages = malloc(in > out ? in : out);
    o->filters = malloc(sac_filter_bytes(&s->drv, n, c, t->kh, t->kw));
    o->params = malloc(sac_param_bytes(&s->drv, n));
    o->d = calloc(c + 16u, 1);
    o->filter = malloc(n * sizeof *o->filter);
    return o->in != NULL && o->deep != NULL && o->out != NULL && o->pages != NULL && o->filters != NULL &&
                   o->params != NULL && o->d != NULL && o->filter != NULL
               ? NET_OK
               : net_fail(err, NET_ERR_MEMORY, "out of memory");
}

/* ---- blobs ---- */

static void quantise(const net_sac *s, const net_graph *g, uint32_t blob, const float *in, int8_t *out) {
    uint32_t each;
    const uint32_t channels = net_scale_channels(&g->blob[blob].shape, &each);
    for (uint32_t c = 0; c < channels; c++) {
        for (uint32_t i = 0; i < each; i++) {
            out[(size_t)c * each + i] = net_pow2_activation(in[(size_t)c * each + i], s->scales->q[blob][c]);
        }
    }
}

static void expand(const net_sac *s, const net_graph *g, uint32_t blob, const int8_t *in, float *out) {
    uint32_t each;
    const uint32_t channels = net_scale_channels(&g->blob[blob].shape, &each);
    for (uint32_t c = 0; c < channels; c++) {
        const float step = ldexpf(1.0F, -s->scales->q[blob][c]);
        for (uint32_t i = 0; i < each; i++) {
            out[(size_t)c * each + i] = (float)in[(size_t)c * each + i] * step;
        }
    }
}

/* The blob whose values this one has: the input of a Split or a copy. */
static uint32_t root_of(const net_graph *g, uint32_t blob) {
    const net_layer *l = &g->layer[g->blob[blob].producer];
    while (l->kind == NET_SPLIT || l->kind == NET_COPY) {
        blob = l->in[0];
        l = &g->layer[g->blob[blob].producer];
    }
    return blob;
}

/* ---- tasks ---- */

static sac_status run_task(net_sac *s, const sac_task *t, net_target_layer *tl, char *text, size_t size) {
    sac_cycles c = {0};
    sac_status status = sac_start(&s->drv, t, false);
    status = status == SAC_OK ? sac_wait(&s->drv, false) : status;
    const bool same = s->port.done == NULL || s->port.done(s->port.ctx, text, size);
    status = status == SAC_OK ? sac_read_cycles(&s->drv, &c) : status;
    tl->tasks++;
    tl->cycles += (uint64_t)c.input + c.preload + c.conv + c.idle + c.load_stall + c.write_stall;
    tl->expected += sac_conv_cycles(&s->drv, t);
    return status == SAC_OK && !same ? SAC_FAIL_DEVICE : status;
}

/* The task of a group, in tiles of rows where it does not fit into the feature cache. */
static sac_status run_tiles(net_sac *s, const sac_task *t, net_target_layer *tl, char *text, size_t size) {
    uint32_t rows;
    sac_task tile;
    if (sac_check(&s->drv, t) != SAC_FAIL_CACHE_SIZE) {
        return run_task(s, t, tl, text, size);
    }
    sac_status status = sac_layer_rows(&s->drv, t, &rows);
    for (uint32_t i = 0; status == SAC_OK && i * rows < (t->pool ? t->ph : t->oh); i++) {
        status = sac_layer_tile(&s->drv, t, rows, i, &tile);
        status = status == SAC_OK ? run_task(s, &tile, tl, text, size) : status;
    }
    return status;
}

/* Addresses of a layer's operands, one behind the other. false: there is no room. */
static bool place(const net_sac *s, const operands *o, sac_task *t) {
    const uint32_t c = t->c / o->layer.groups, n = t->n / o->layer.groups;
    const uint32_t bytes[] = {pages_of(s, t, t->c, false), pages_of(s, t, t->n, true),
                              sac_filter_bytes(&s->drv, n, c, t->kh, t->kw), sac_param_bytes(&s->drv, n), c};
    uint32_t *const at[] = {&t->in, &t->out, &t->filters, &t->params, &t->dtab};
    uint64_t used = 0;
    for (int i = 0; i < 5; i++) {
        *at[i] = s->port.base + (uint32_t)used;
        used += (bytes[i] + ALIGN - 1) / ALIGN * ALIGN;
    }
    return used <= s->port.bytes;
}

/* Weights, parameters and shifts of a group into the engine's memory. */
static sac_status load_group(const net_sac *s, operands *o, const sac_task *t, uint32_t group) {
    const net_sac_port *p = &s->port;
    sac_status status = sac_layer_scales(&o->layer, group, o->d, o->filter);
    status = status == SAC_OK ? sac_pack_params(&s->drv, t->n, o->filter, o->params) : status;
    const uint8_t *codes = o->layer.codes + (size_t)group * t->n * t->c * t->kh * t->kw;
    status = status == SAC_OK ? sac_pack_filters(&s->drv, t->n, t->c, t->kh, t->kw, codes, o->filters) : status;
    const bool ok = status == SAC_OK &&
                    p->write(p->ctx, t->filters, o->filters, sac_filter_bytes(&s->drv, t->n, t->c, t->kh, t->kw)) &&
                    p->write(p->ctx, t->params, o->params, sac_param_bytes(&s->drv, t->n)) &&
                    p->write(p->ctx, t->dtab, o->d, t->c);
    return status == SAC_OK && !ok ? SAC_FAIL_DEVICE : status;
}

static sac_status run_groups(net_sac *s, operands *o, net_target_layer *tl, char *text, size_t size) {
    const sac_task *all = &o->layer.task;
    const uint32_t groups = o->layer.groups;
    sac_status status = sac_layer_check(&s->drv, &o->layer);
    for (uint32_t g = 0; g < groups && status == SAC_OK; g++) {
        sac_task t = *all;
        t.c /= groups;
        t.n /= groups;
        t.in += g * pages_of(s, all, t.c, false);
        t.out += g * pages_of(s, all, t.n, true);
        status = load_group(s, o, &t, g);
        status = status == SAC_OK ? run_tiles(s, &t, tl, text, size) : status;
    }
    return status;
}

/* From the cache and into it where the values are there, and where there is room. */
static void use_cache(const net_sac *s, const net_graph *g, uint32_t in, sac_task *t, const net_sac_work *w) {
    sac_task cached = *t;
    if (w->groups > 1) {
        return;
    }
    cached.half = s->half;
    cached.from_cache = !w->deep && s->held != NET_NONE && s->held == root_of(g, in);
    cached.to_cache = true;
    if (sac_check(&s->drv, &cached) != SAC_OK) {
        cached.to_cache = false;
    }
    *t = sac_check(&s->drv, &cached) == SAC_OK ? cached : *t;
}

static net_status compute(net_sac *s, const net_graph *g, uint32_t number, const net_sac_work *w, net_target_layer *tl,
                          operands *o, const float *in, float *out, net_error *err) {
    const net_layer *l = &g->layer[number];
    const uint32_t from = l->in[0], to = g->layer[tl->last].out[0];
    const net_sac_port *p = &s->port;
    sac_task *t = &o->layer.task;
    char text[300] = "";
    bool ok = place(s, o, t);
    if (!ok) {
        return net_fail(err, NET_ERR_MEMORY, "%.150s:%u: layer '%.60s' does not fit into the engine's memory", g->name,
                        l->line, l->name);
    }
    use_cache(s, g, from, t, w);
    if (!t->from_cache) {
        quantise(s, g, from, in, o->in);
        if (w->deep) {
            net_sac_deep_map(w, o->in, o->deep);
        }
        sac_pack_tensor(&s->drv, t->c, t->h, t->w, w->deep ? o->deep : o->in, o->pages);
        ok = p->write(p->ctx, t->in, o->pages, pages_of(s, t, t->c, false));
    }
    const sac_status status = ok ? run_groups(s, o, tl, text, sizeof text) : SAC_FAIL_DEVICE;
    s->held = status == SAC_OK && t->to_cache ? root_of(g, to) : NET_NONE;
    s->half = t->to_cache ? !t->half : t->half;
    ok = status == SAC_OK && p->read(p->ctx, t->out, o->pages, pages_of(s, t, t->n, true));
    if (!ok) {
        return net_fail(err, NET_ERR_DEVICE, "%.150s:%u: layer '%.60s': %s", g->name, l->line, l->name,
                        text[0] != '\0' ? text : sac_strerror(status));
    }
    const net_shape *shape = &g->blob[to].shape;
    const bool map = shape->dims == 3;
    sac_unpack_tensor(&s->drv, t->n, map ? shape->h : 1, map ? shape->w : 1, o->pages, o->out);
    expand(s, g, to, o->out, out);
    return NET_OK;
}

net_status net_sac_run(void *engine, const net_graph *graph, uint32_t number, net_target_layer *tl, const float *in,
                       float *out, net_error *err) {
    net_sac *s = (net_sac *)engine;
    operands o = {0};
    net_sac_work w;
    net_target_layer unused = {0};
    if (graph->layer[graph->blob[graph->layer[number].in[0]].producer].kind == NET_INPUT) {
        s->held = NET_NONE; /* a new inference */
    }
    if (s->scales == NULL || s->scales->q == NULL || !net_sac_plan(s, graph, number, &w, &unused)) {
        return net_fail(err, NET_ERR_ARG, "layer '%.60s': no scales", graph->layer[number].name);
    }
    net_status status = describe(s, graph, number, &w, &o, err);
    status = status == NET_OK ? allocate(s, graph, number, w.last, &o, err) : status;
    status = status == NET_OK ? compute(s, graph, number, &w, tl, &o, in, out, err) : status;
    free_operands(&o);
    return status;
}

bool net_sac_fits(void *ctx, uint32_t layer) {
    const net_sac *s = (const net_sac *)ctx;
    operands o = {0};
    net_sac_work w;
    net_target_layer unused = {0};
    bool ok = net_sac_plan(s, s->graph, layer, &w, &unused) && describe(s, s->graph, layer, &w, &o, NULL) == NET_OK &&
              allocate(s, s->graph, layer, w.last, &o, NULL) == NET_OK;
    for (uint32_t g = 0; g < w.groups && ok; g++) {
        ok = sac_layer_scales(&o.layer, g, o.d, o.filter) == SAC_OK;
    }
    free_operands(&o);
    return ok;
}
