/* pow2_scale.c - power-of-two scales of all blobs of a network: calibration, limits of the engine, search of the caps.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "op.h"
#include "pow2_net.h"

#define SPAN 7       /* by which an engine shifts the channels of an input against each other at most */
#define ROUNDS 1000u /* of lowering caps; each lowers one */

uint32_t net_scale_channels(const net_shape *shape, uint32_t *each) {
    const bool map = shape->dims == 3;
    *each = map ? shape->w * shape->h : 1;
    return map ? shape->c : net_shape_elements(shape);
}

static uint32_t channels_of(const net_graph *g, uint32_t blob) {
    uint32_t each;
    return net_scale_channels(&g->blob[blob].shape, &each);
}

/* ---- which blobs are points ---- */

/* A layer whose outputs are its inputs, one behind the other. */
static bool passes_on(const net_layer *l) {
    return l->kind == NET_SPLIT || l->kind == NET_FLATTEN || l->kind == NET_RESHAPE || l->kind == NET_COPY ||
           net_op_joins(l);
}

/* Does a layer of the engine read it, as it is? */
static bool feeds(const net_targeted *t, const net_graph *g, uint32_t blob) {
    const uint32_t consumer = g->blob[blob].consumer;
    if (consumer == NET_NONE || !passes_on(&g->layer[consumer])) {
        return consumer != NET_NONE && net_targeted_layer(t, consumer)->place == NET_TARGET_ENGINE;
    }
    bool any = false;
    for (uint32_t i = 0; i < g->layer[consumer].num_out && !any; i++) {
        any = feeds(t, g, g->layer[consumer].out[i]);
    }
    return any;
}

/* An average: its terms have other scales than itself. */
static bool averages(const net_graph *g, uint32_t layer) {
    return strcmp(g->layer[layer].type, "Pooling") == 0 && !g->layer[layer].pool.max;
}

/* Is the layer's output inside a step of the engine: fused layers follow it? */
static bool is_inside(const net_targeted *t, uint32_t layer) {
    const net_target_layer *l = net_targeted_layer(t, layer);
    return l->place != NET_TARGET_CPU && l->last != layer;
}

static bool is_point(const net_targeted *t, const net_graph *g, uint32_t layer) {
    if (net_targeted_layer(t, layer)->place != NET_TARGET_CPU) {
        return !is_inside(t, layer) || averages(g, net_target_next(g, layer));
    }
    return !passes_on(&g->layer[layer]) && feeds(t, g, g->layer[layer].out[0]);
}

static net_status add_point(net_scales *s, const net_targeted *t, uint32_t layer, net_error *err) {
    net_scale_point *p = &s->point[s->points];
    const net_layer *l = &s->graph->layer[layer];
    p->blob = l->out[0];
    p->channels = channels_of(s->graph, p->blob);
    p->inside = is_inside(t, layer);
    (void)snprintf(p->name, sizeof p->name, "%s", l->name);
    p->absmax = calloc(p->channels, sizeof *p->absmax);
    p->limit = malloc(p->channels);
    s->points++;
    if (p->absmax == NULL || p->limit == NULL) {
        return net_fail(err, NET_ERR_MEMORY, "out of memory");
    }
    memset(p->limit, INT8_MAX, p->channels);
    return NET_OK;
}

static net_status allocate(net_scales *s, const net_targeted *t, net_error *err) {
    const net_graph *g = s->graph;
    s->point = calloc((size_t)g->num_layers + 1, sizeof *s->point);
    s->q = calloc((size_t)g->num_blobs + 1, sizeof *s->q);
    s->origin = calloc((size_t)g->num_blobs + 1, sizeof *s->origin);
    bool ok = s->point != NULL && s->q != NULL && s->origin != NULL;
    for (uint32_t i = 0; i < g->num_blobs && ok; i++) {
        const uint32_t channels = channels_of(g, i);
        s->q[i] = calloc(channels, sizeof **s->q);
        s->origin[i] = calloc(channels, sizeof **s->origin);
        ok = s->q[i] != NULL && s->origin[i] != NULL;
    }
    net_status status = ok ? NET_OK : net_fail(err, NET_ERR_MEMORY, "out of memory");
    for (uint32_t i = 0; i < g->num_layers && status == NET_OK; i++) {
        status = is_point(t, g, i) ? add_point(s, t, i, err) : NET_OK;
    }
    return status;
}

/* ---- calibration ---- */

static void note_largest(const net_scales *s, const net_ref *ref) {
    for (uint32_t p = 0; p < s->points; p++) {
        net_scale_point *point = &s->point[p];
        uint32_t each;
        const uint32_t channels = net_scale_channels(&s->graph->blob[point->blob].shape, &each);
        const float *a = net_ref_blob(ref, point->blob);
        for (size_t k = 0; k < (size_t)channels * each; k++) {
            const float size = fabsf(a[k]);
            point->absmax[k / each] = isfinite(size) ? fmaxf(point->absmax[k / each], size) : point->absmax[k / each];
        }
    }
}

/* FP32 activations over all inputs, `seen` after each. */
static net_status each_input(const net_graph *g, const net_inputs *inputs,
                             net_status (*seen)(void *user, uint32_t i, const net_ref *ref, const float *input,
                                                net_error *err),
                             void *user, net_error *err) {
    net_ref *ref = NULL;
    float *input = calloc(net_graph_input_elements(g) + 1, sizeof *input);
    net_status status = input == NULL ? net_fail(err, NET_ERR_MEMORY, "out of memory") : net_ref_new(g, &ref, err);
    for (uint32_t i = 0; i < inputs->count && status == NET_OK; i++) {
        status = inputs->load(inputs->user, i, input, err);
        if (status == NET_OK) {
            net_ref_run(ref, input);
            status = seen(user, i, ref, input, err);
        }
    }
    net_ref_free(ref);
    free(input);
    return status;
}

static net_status calibrate(void *user, uint32_t i, const net_ref *ref, const float *input, net_error *err) {
    (void)i, (void)input, (void)err;
    note_largest((const net_scales *)user, ref);
    return NET_OK;
}

net_status net_scales_new(net_scales *s, const net_targeted *t, const net_inputs *inputs, net_error *err) {
    *s = (net_scales){.graph = net_targeted_graph(t), .blobs = net_targeted_graph(t)->num_blobs};
    net_status status = allocate(s, t, err);
    status = status == NET_OK ? each_input(s->graph, inputs, calibrate, s, err) : status;
    for (uint32_t p = 0; p < s->points && status == NET_OK; p++) {
        net_scale_point *point = &s->point[p];
        point->cap.cap = point->cap.first_cap = net_pow2_cap(point->absmax, point->channels);
    }
    if (status != NET_OK) {
        net_scales_free(s);
    }
    return status;
}

void net_scales_free(net_scales *s) {
    for (uint32_t i = 0; i < s->blobs; i++) { /* the graph may be gone */
        free(s->q != NULL ? s->q[i] : NULL);
        free(s->origin != NULL ? s->origin[i] : NULL);
    }
    for (uint32_t i = 0; i < s->points; i++) {
        free(s->point[i].absmax);
        free(s->point[i].limit);
    }
    free(s->q);
    free(s->origin);
    free(s->point);
    *s = (net_scales){0};
}

/* ---- Q of all blobs ---- */

static void set_point(net_scales *s, uint32_t number) {
    const net_scale_point *p = &s->point[number];
    for (uint32_t c = 0; c < p->channels; c++) {
        const int own = p->absmax[c] > 0 ? net_pow2_q(p->absmax[c]) : p->cap.cap;
        const int capped = own < p->cap.cap ? own : p->cap.cap;
        const int q = capped < p->limit[c] ? capped : p->limit[c];
        s->q[p->blob][c] = (int8_t)(q < -64 ? -64 : q > 63 ? 63 : q);
        s->origin[p->blob][c] = (net_scale_origin){number, c};
    }
}

/* Outputs of a layer that computes nothing have the scales of its inputs, one behind the other. */
static void pass_on(net_scales *s, const net_layer *l) {
    const net_graph *g = s->graph;
    for (uint32_t o = 0; o < l->num_out; o++) {
        const uint32_t out = l->out[o], channels = channels_of(g, out);
        uint32_t at = 0;
        for (uint32_t i = 0; i < (net_op_joins(l) ? l->num_in : 1); i++) {
            const uint32_t in = l->in[i], own = channels_of(g, in);
            /* a vector made of maps has an element a pixel */
            const uint32_t spread = net_op_joins(l) || own == 0 || channels < own ? 1 : channels / own;
            for (uint32_t c = 0; c < own * spread && at < channels; c++, at++) {
                s->q[out][at] = s->q[in][c / spread];
                s->origin[out][at] = s->origin[in][c / spread];
            }
        }
    }
}

static void set_all(net_scales *s) {
    uint32_t point = 0;
    for (uint32_t i = 0; i < s->graph->num_layers; i++) {
        const net_layer *l = &s->graph->layer[i];
        if (point < s->points && s->point[point].blob == l->out[0]) {
            set_point(s, point++);
        } else if (passes_on(l)) {
            pass_on(s, l);
        }
    }
}

/* Lower the scale of a channel to `most`. true: it was larger. */
static bool limit(net_scales *s, uint32_t blob, uint32_t channel, int most) {
    if (s->q[blob][channel] <= most) {
        return false;
    }
    const net_scale_origin o = s->origin[blob][channel];
    s->point[o.point].limit[o.channel] = (int8_t)most;
    s->point[o.point].lowered++;
    return true;
}

/* Lower the Q of channels that are more than SPAN above the least one of their group. true: some were. */
static bool narrow(net_scales *s, const net_layer *l) {
    const uint32_t in = l->in[0], all = channels_of(s->graph, in);
    const uint32_t groups = l->conv.groups > 1 ? l->conv.groups : 1, each = all / groups;
    bool changed = false;
    for (uint32_t g = 0; g < groups; g++) {
        const int8_t *q = s->q[in] + (size_t)g * each;
        int8_t least = q[0];
        for (uint32_t c = 0; c < each; c++) {
            least = q[c] < least ? q[c] : least;
        }
        for (uint32_t c = 0; c < each; c++) {
            changed = limit(s, in, g * each + c, least + SPAN) || changed;
        }
    }
    return changed;
}

/* An average and its terms are at most SPAN apart. true: a scale was lowered. */
static bool narrow_average(net_scales *s, uint32_t layer) {
    const net_layer *l = &s->graph->layer[layer];
    bool changed = false;
    for (uint32_t c = 0; averages(s->graph, layer) && c < channels_of(s->graph, l->out[0]); c++) {
        changed = limit(s, l->out[0], c, s->q[l->in[0]][c] + SPAN) || changed;
        changed = limit(s, l->in[0], c, s->q[l->out[0]][c] + SPAN) || changed;
    }
    return changed;
}

/* The caps of a layer's input fall by one. */
static void lower(net_scales *s, const net_layer *l) {
    bool done[NET_POW2_MAX_RECORDS] = {false};
    for (uint32_t c = 0; c < channels_of(s->graph, l->in[0]); c++) {
        const uint32_t point = s->origin[l->in[0]][c].point;
        if (point < NET_POW2_MAX_RECORDS && !done[point]) {
            s->point[point].cap.cap--;
            done[point] = true;
        }
    }
}

net_status net_scales_set(net_scales *s, const net_targeted *t, bool (*fits)(void *ctx, uint32_t layer), void *ctx,
                          net_error *err) {
    for (uint32_t p = 0; p < s->points; p++) {
        memset(s->point[p].limit, INT8_MAX, s->point[p].channels);
        s->point[p].lowered = 0;
    }
    for (uint32_t round = 0;; round++) {
        uint32_t wrong = s->graph->num_layers;
        bool changed = false;
        set_all(s);
        for (uint32_t i = 0; i < s->graph->num_layers; i++) {
            if (net_targeted_layer(t, i)->place == NET_TARGET_ENGINE) {
                changed = narrow(s, &s->graph->layer[i]) || changed;
                changed = narrow_average(s, net_targeted_layer(t, i)->last) || changed;
            }
        }
        for (uint32_t i = 0; i < s->graph->num_layers && !changed && fits != NULL && wrong == s->graph->num_layers;
             i++) {
            wrong = net_targeted_layer(t, i)->place == NET_TARGET_ENGINE && !fits(ctx, i) ? i : wrong;
        }
        if (!changed && wrong == s->graph->num_layers) {
            return NET_OK;
        }
        if (!changed) {
            lower(s, &s->graph->layer[wrong]);
        }
        if (round == ROUNDS) {
            return net_fail(err, NET_ERR_UNSUPPORTED, "%.150s: layer '%.60s' fits with no cap", s->graph->name,
                            wrong < s->graph->num_layers ? s->graph->layer[wrong].name : "");
        }
    }
}

/* ---- accuracy and search ---- */

typedef struct measure {
    net_scale_run *run;
    double *error, *all; /* sums of norm1, by point */
} measure;

static uint32_t top_of(const net_graph *g, const float *out) {
    return net_argmax(out, net_shape_elements(&g->blob[g->output].shape));
}

static net_status measure_one(void *user, uint32_t i, const net_ref *ref, const float *input, net_error *err) {
    const measure *m = (const measure *)user;
    net_scale_run *r = m->run;
    const net_graph *g = r->scales->graph;
    const net_status status = net_targeted_run(r->t, input, err);
    for (uint32_t p = 0; p < r->scales->points && status == NET_OK; p++) {
        const uint32_t blob = r->scales->point[p].blob;
        const float *a = net_ref_blob(ref, blob), *b = net_targeted_blob(r->t, blob);
        const uint32_t count = r->scales->point[p].inside ? 0 : net_shape_elements(&g->blob[blob].shape);
        for (uint32_t k = 0; k < count; k++) {
            m->error[p] += fabs((double)b[k] - (double)a[k]);
            m->all[p] += fabs((double)a[k]);
        }
    }
    const uint32_t fp32 = top_of(g, net_ref_blob(ref, g->output));
    const uint32_t expected = r->label != NULL ? r->label[i] : fp32;
    r->fp32_right += fp32 == expected;
    r->right += status == NET_OK && top_of(g, net_targeted_blob(r->t, g->output)) == expected;
    return status;
}

net_status net_scale_measure(net_scale_run *run, net_error *err) {
    net_scales *s = run->scales;
    if (s->graph->output == NET_NONE) {
        return net_fail(err, NET_ERR_UNSUPPORTED, "%.150s: %u outputs, expected one", s->graph->name,
                        s->graph->num_outputs);
    }
    double *sums = calloc(2 * (size_t)s->points + 1, sizeof *sums);
    measure m = {run, sums, sums != NULL ? sums + s->points : NULL};
    run->fp32_right = run->right = 0;
    net_status status = sums == NULL ? net_fail(err, NET_ERR_MEMORY, "out of memory")
                                     : each_input(s->graph, run->inputs, measure_one, &m, err);
    for (uint32_t p = 0; p < s->points && status == NET_OK; p++) {
        s->point[p].cap.norm1 = m.all[p] > 0 ? m.error[p] / m.all[p] : 0;
    }
    free(sums);
    return status;
}

static net_status trial(void *user, const int *cap, uint32_t layers, double *accuracy, double *norm1, net_error *err) {
    net_scale_run *run = (net_scale_run *)user;
    net_scales *s = run->scales;
    for (uint32_t p = 0; p < layers; p++) {
        s->point[p].cap.cap = cap[p];
    }
    net_status status = net_scales_set(s, run->t, run->fits, run->ctx, err);
    status = status == NET_OK ? net_scale_measure(run, err) : status;
    for (uint32_t p = 0; p < layers; p++) {
        norm1[p] = s->point[p].cap.norm1;
    }
    *accuracy = (double)run->right / (run->inputs->count > 0 ? run->inputs->count : 1);
    return status;
}

net_status net_scale_search(net_scale_run *run, net_pow2_result *result, net_error *err) {
    net_scales *s = run->scales;
    net_pow2_layer *layer = calloc((size_t)s->points + 1, sizeof *layer);
    net_status status = layer == NULL ? net_fail(err, NET_ERR_MEMORY, "out of memory") : net_scale_measure(run, err);
    for (uint32_t p = 0; p < s->points && status == NET_OK; p++) {
        layer[p] = s->point[p].cap;
    }
    if (status == NET_OK) {
        const net_pow2_trial with = {trial, run};
        status = net_pow2_search(&with, (double)run->fp32_right / run->inputs->count, layer, s->points, result, err);
    }
    for (uint32_t p = 0; p < s->points && layer != NULL; p++) {
        s->point[p].cap.first_cap = layer[p].first_cap;
        s->point[p].cap.cap = layer[p].cap;
    }
    free(layer);
    return status;
}
