/*
 * op_sdpa.c - SDPA: attention of queries, keys and values that are maps, one for each head; as ncnn computes it, in
 * FP32 and in INT8. Several heads of queries may share one of keys and values.
 */
#include <math.h>

#include "attn.h"
#include "gemm_f32.h"

/* size: elements of a query; result: of a value. heads_each: heads of queries that one of keys serves. */
typedef struct sdpa_form {
    uint32_t size, source, heads, target, result, heads_each;
    bool masked;
} sdpa_form;

static sdpa_form form_of(const net_graph *graph, const net_layer *layer) {
    const net_shape *q = &graph->blob[layer->in[0]].shape;
    const net_shape *k = &graph->blob[layer->in[1]].shape;
    const net_shape *v = &graph->blob[layer->in[2]].shape;
    return (sdpa_form){q->w, q->h, q->c, k->h, v->w, q->c / k->c, net_layer_int(layer, 5, 0) != 0};
}

static bool is_int8(const net_layer *layer) {
    return net_layer_int(layer, 18, 0) != 0;
}

static net_status sdpa_shape(net_plan *p) {
    const net_layer *layer = p->layer;
    const net_shape *q = net_plan_in(p, 0);
    const net_shape *k = net_plan_in(p, 1);
    const net_shape *v = net_plan_in(p, 2);
    if (net_layer_int(layer, 7, 0) != 0) {
        return NET_CANNOT(p, "%s", "a cache of keys and values (key 7)");
    }
    const sdpa_form f = form_of(p->graph, layer);
    if (q->dims != 3 || k->dims != 3 || v->dims != 3 || k->w != q->w || k->h != v->h || k->c != v->c ||
        q->c % k->c != 0 || layer->num_in != (f.masked ? 4u : 3u)) {
        return NET_BAD(p, "%u inputs, queries of %ux%ux%u, keys of %ux%ux%u and values of %ux%ux%u (c, h, w)",
                       layer->num_in, q->c, q->h, q->w, k->c, k->h, k->w, v->c, v->h, v->w);
    }
    if (f.masked) {
        const net_shape *m = net_plan_in(p, 3);
        if (m->dims < 2 || m->w != f.target || m->h != f.source || (m->c != 1 && m->c != f.heads)) {
            return NET_BAD(p, "a mask of %ux%ux%u for %u heads of %ux%u", m->c, m->h, m->w, f.heads, f.source,
                           f.target);
        }
    }
    size_t score = (size_t)f.source * f.target;
    size_t depth = f.size > f.target ? f.size : f.target;
    size_t width = f.result > f.target ? f.result : f.target;
    p->layer->scratch =
        is_int8(layer) ? (score + (size_t)f.source * width + f.source + 1) * sizeof(float) + (f.source + width) * depth
                       : (score + depth * GEMM_COLUMNS) * sizeof(float);
    return net_plan_out(p, 0, (net_shape){3, f.result, f.source, f.heads, 1});
}

/* Scale, mask and softmax of the products of a head. */
static void weigh(const net_work *work, const sdpa_form *f, uint32_t head, float *score) {
    float scale = net_layer_float(work->layer, 6, 0.0f);
    scale = scale == 0.0f ? 1.0f / sqrtf((float)f->size) : scale;
    const size_t count = (size_t)f->source * f->target;
    const float *mask = f->masked ? work->in[3] : NULL;
    if (f->masked && net_work_in(work, 3)->c > 1) {
        mask += head * count;
    }
    for (size_t i = 0; i < count; i++) {
        float v = score[i] * scale;
        score[i] = mask != NULL ? v + mask[i] : v;
    }
    if (work->softmax != NULL && is_int8(work->layer)) {
        work->softmax(work->user, score, f->source, f->target);
    } else {
        mha_softmax_rows(score, f->source, f->target);
    }
}

static void head_float(const net_work *work, const sdpa_form *f, uint32_t head, float *out) {
    const size_t shared = head / f->heads_each;
    float *score = work->scratch;
    gemm_f32 g = {.m = f->source,
                  .n = f->target,
                  .k = f->size,
                  .a = work->in[0] + (size_t)head * f->source * f->size,
                  .a_step = f->size,
                  .b = work->in[1] + shared * f->target * f->size,
                  .b_step = f->size,
                  .b_rows = true,
                  .out = score,
                  .out_step = f->target,
                  .pack = score + (size_t)f->source * f->target};
    gemm_f32_run(&g);
    weigh(work, f, head, score);
    g = (gemm_f32){.m = f->source,
                   .n = f->result,
                   .k = f->target,
                   .a = score,
                   .a_step = f->target,
                   .b = work->in[2] + shared * f->target * f->result,
                   .b_step = f->result,
                   .out = out,
                   .out_step = f->result,
                   .pack = g.pack};
    gemm_f32_run(&g);
}

/* Rows of a by a scale each, b by one; sums to floats. */
static void descaled(const sdpa_form *f, const float *sums, const float *scale, float of_b, uint32_t count,
                     float *out) {
    for (size_t i = 0; i < f->source; i++) {
        float descale = 1.0f / (scale[i] * of_b);
        for (size_t j = 0; j < count; j++) {
            out[i * count + j] = sums[i * count + j] * descale;
        }
    }
}

static void head_int8(const net_work *work, const sdpa_form *f, uint32_t head, float *out) {
    const size_t shared = head / f->heads_each;
    const uint32_t depth = f->size > f->target ? f->size : f->target;
    const uint32_t width = f->result > f->target ? f->result : f->target;
    float *score = work->scratch;
    float *sums = score + (size_t)f->source * f->target;
    float *scale = sums + (size_t)f->source * width;
    float *of_b = scale + f->source;
    int8_t *a = (int8_t *)(of_b + 1);
    int8_t *b = a + (size_t)f->source * depth;
    const float *q = work->in[0] + (size_t)head * f->source * f->size;
    const float *k = work->in[1] + shared * f->target * f->size;
    const float *v = work->in[2] + shared * f->target * f->result;
    net_dynamic_quantise(&(net_quantised){q, f->size, f->source, f->size, a, scale, true, false, false});
    net_dynamic_quantise(&(net_quantised){k, f->size, f->target, f->size, b, of_b, false, false, false});
    net_work_product(work, &(net_product){f->source, f->target, f->size, a, b, sums});
    descaled(f, sums, scale, of_b[0], f->target, score);
    weigh(work, f, head, score);
    net_dynamic_quantise(&(net_quantised){score, f->target, f->source, f->target, a, scale, true, false, false});
    net_dynamic_quantise(&(net_quantised){v, f->result, f->target, f->result, b, of_b, false, true, false});
    net_work_product(work, &(net_product){f->source, f->result, f->target, a, b, sums});
    descaled(f, sums, scale, of_b[0], f->result, out);
}

static void sdpa_run(const net_work *work) {
    const sdpa_form f = form_of(work->graph, work->layer);
    for (uint32_t head = 0; head < f.heads; head++) {
        float *out = work->out[0] + (size_t)head * f.source * f.result;
        if (is_int8(work->layer)) {
            head_int8(work, &f, head, out);
        } else {
            head_float(work, &f, head, out);
        }
    }
}

uint32_t net_sdpa_products(const net_graph *graph, const net_layer *layer, net_product product[2]) {
    const sdpa_form f = form_of(graph, layer);
    product[0] = (net_product){f.source, f.target, f.size, NULL, NULL, NULL};
    product[1] = (net_product){f.source, f.result, f.target, NULL, NULL, NULL};
    return f.heads;
}

static uint64_t sdpa_macs(const net_graph *graph, const net_layer *layer) {
    const sdpa_form f = form_of(graph, layer);
    return (uint64_t)f.heads * f.source * f.target * (f.size + f.result);
}

const net_op net_ops_sdpa[] = {
    {"SDPA", 3, 4, 1, 1, NULL, sdpa_shape, sdpa_run, sdpa_macs, false},
    {0},
};
