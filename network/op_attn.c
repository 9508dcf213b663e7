/*
 * op_attn.c - what transformers are made of besides products: attention, normalisation of rows, embeddings.
 *
 * As ncnn's plain C++ layers, sums in their order.
 */
#include <math.h>
#include <string.h>

#include "attn.h"
#include "gemm_f32.h"

/* ---- MultiHeadAttention ---- */

static void mha_arrays(const net_layer *layer, net_arrays *a) {
    int64_t embed = net_layer_int(layer, 0, 0);
    int64_t weights = net_layer_int(layer, 2, 0);
    int64_t rows = embed > 0 ? weights / embed : 0;
    const int64_t depth[3] = {rows, net_layer_int(layer, 3, (int32_t)embed), net_layer_int(layer, 4, (int32_t)embed)};
    for (uint32_t i = MHA_Q; i <= MHA_V; i++) {
        net_arrays_add(a, NET_ROLE_WEIGHT, true, embed * depth[i]);
        net_arrays_add(a, NET_ROLE_BIAS, false, embed);
    }
    net_arrays_add(a, NET_ROLE_WEIGHT, true, rows * embed);
    net_arrays_add(a, NET_ROLE_BIAS, false, rows);
    for (uint32_t i = MHA_Q; i <= MHA_OUT && net_layer_int(layer, 18, 0) != 0; i++) {
        net_arrays_add(a, NET_ROLE_WEIGHT_SCALE, false, i == MHA_OUT ? 1 : embed);
    }
}

mha_form mha_form_of(const net_graph *graph, const net_layer *layer) {
    mha_form f = {.mask = NET_NONE};
    bool masked = net_layer_int(layer, 5, 0) != 0;
    uint32_t blobs = layer->num_in - (masked ? 1u : 0u);
    f.embed = (uint32_t)net_layer_int(layer, 0, 0);
    f.heads = (uint32_t)net_layer_int(layer, 1, 1);
    f.qdim = f.embed == 0 ? 0 : (uint32_t)net_layer_int(layer, 2, 0) / f.embed;
    f.kdim = (uint32_t)net_layer_int(layer, 3, (int32_t)f.embed);
    f.vdim = (uint32_t)net_layer_int(layer, 4, (int32_t)f.embed);
    f.key = blobs >= 2 ? 1 : 0;
    f.value = blobs >= 3 ? 2 : f.key;
    f.mask = masked ? layer->num_in - 1 : NET_NONE;
    f.source = graph->blob[layer->in[0]].shape.h;
    f.target = graph->blob[layer->in[f.key]].shape.h;
    return f;
}

/* Floats of q, k, v, the scores of a head, the joined heads, and columns for the products. */
static size_t mha_floats(const mha_form *f) {
    uint32_t depth = f->qdim;
    const uint32_t others[4] = {f->kdim, f->vdim, f->embed, f->target};
    for (int i = 0; i < 4; i++) {
        depth = others[i] > depth ? others[i] : depth;
    }
    return (size_t)f->embed * (2 * (size_t)f->source + 2 * (size_t)f->target) + (size_t)f->source * f->target +
           (size_t)depth * GEMM_COLUMNS;
}

static net_status mha_shape(net_plan *p) {
    const net_layer *layer = p->layer;
    uint32_t unused;
    net_status status = net_plan_number(p, 0, 0, 1, 1 << 20, "dimension of the embedding", &unused);
    status = status == NET_OK ? net_plan_number(p, 1, 1, 1, 1 << 16, "number of heads", &unused) : status;
    status = status == NET_OK ? net_plan_number(p, 2, 0, 1, INT32_MAX, "number of weights", &unused) : status;
    if (status != NET_OK) {
        return status;
    }
    int32_t term = net_layer_int(layer, 18, 0);
    if (term < 0 || term >= 4 || net_layer_int(layer, 7, 0) != 0 || layer->num_out != 1) {
        return NET_CANNOT(p, "%s", "blocks of quantised weights (key 18), or a cache of keys and values (key 7),");
    }
    mha_form f = mha_form_of(p->graph, layer);
    if (f.mask == 0 || f.value >= layer->num_in || f.embed % f.heads != 0) {
        return NET_BAD(p, "%u inputs, %u heads for %u dimensions", layer->num_in, f.heads, f.embed);
    }
    const net_shape *q = net_plan_in(p, 0);
    const net_shape *k = net_plan_in(p, f.key);
    const net_shape *v = net_plan_in(p, f.value);
    if (q->dims != 2 || k->dims != 2 || v->dims != 2 || q->w != f.qdim || k->w != f.kdim || v->w != f.vdim ||
        k->h != v->h) {
        return NET_BAD(p, "rows of %u, %u and %u elements, expected matrices with rows of %u, %u and %u", q->w, k->w,
                       v->w, f.qdim, f.kdim, f.vdim);
    }
    if (f.mask != NET_NONE) {
        const net_shape *m = net_plan_in(p, f.mask);
        if (m->w != f.target || m->h != f.source || (m->dims == 3 && m->c != f.heads) || m->dims < 2) {
            return NET_BAD(p, "a mask of %ux%ux%u for %u heads of %ux%u", m->c, m->h, m->w, f.heads, f.source,
                           f.target);
        }
    }
    p->layer->scratch = term != 0 ? mha_int8_bytes(&f) : mha_floats(&f) * sizeof(float);
    return net_plan_out(p, 0, (net_shape){2, f.qdim, f.source, 1, 1});
}

void mha_softmax_rows(float *row, uint32_t rows, uint32_t count) {
    for (uint32_t i = 0; i < rows; i++, row += count) {
        float largest = row[0];
        float sum = 0.0f;
        for (uint32_t j = 1; j < count; j++) {
            largest = row[j] > largest ? row[j] : largest;
        }
        for (uint32_t j = 0; j < count; j++) {
            row[j] = expf(row[j] - largest);
            sum += row[j];
        }
        for (uint32_t j = 0; j < count; j++) {
            row[j] /= sum;
        }
    }
}

/* out[rows][outputs] = bias + in[rows][depth] x weight[outputs][depth] transposed. */
static void project(const net_layer *layer, uint32_t part, const float *in, uint32_t rows, uint32_t depth,
                    uint32_t outputs, float *out, float *pack) {
    const gemm_f32 g = {.m = rows,
                        .n = outputs,
                        .k = depth,
                        .a = in,
                        .a_step = depth,
                        .b = layer->tensor[2 * part].f32,
                        .b_step = depth,
                        .b_rows = true,
                        .start = layer->tensor[2 * part + 1].f32,
                        .start_column = 1,
                        .out = out,
                        .out_step = outputs,
                        .pack = pack};
    gemm_f32_run(&g);
}

/* One head: softmax(q k^T + mask) v, each a column of `size` elements within rows of f->embed. */
static void attend(const mha_form *f, const float *q, const float *k, const float *v, const float *mask, uint32_t size,
                   float *score, float *out, float *pack) {
    gemm_f32 g = {.m = f->source,
                  .n = f->target,
                  .k = size,
                  .a = q,
                  .a_step = f->embed,
                  .b = k,
                  .b_step = f->embed,
                  .b_rows = true,
                  .out = score,
                  .out_step = f->target,
                  .pack = pack};
    gemm_f32_run(&g);
    for (size_t i = 0; mask != NULL && i < (size_t)f->source * f->target; i++) {
        score[i] += mask[i];
    }
    mha_softmax_rows(score, f->source, f->target);
    g = (gemm_f32){.m = f->source,
                   .n = size,
                   .k = f->target,
                   .a = score,
                   .a_step = f->target,
                   .b = v,
                   .b_step = f->embed,
                   .out = out,
                   .out_step = f->embed,
                   .pack = pack};
    gemm_f32_run(&g);
}

static void mha_run(const net_work *work) {
    const net_layer *layer = work->layer;
    mha_form f = mha_form_of(work->graph, layer);
    if (net_layer_int(layer, 18, 0) != 0) {
        mha_run_int8(work, &f);
        return;
    }
    uint32_t size = f.embed / f.heads;
    float scale = net_layer_float(layer, 6, 1.0f / sqrtf((float)size));
    float *q = work->scratch;
    float *k = q + (size_t)f.embed * f.source;
    float *v = k + (size_t)f.embed * f.target;
    float *joined = v + (size_t)f.embed * f.target;
    float *score = joined + (size_t)f.embed * f.source;
    float *pack = score + (size_t)f.source * f.target;
    project(layer, MHA_Q, work->in[0], f.source, f.qdim, f.embed, q, pack);
    project(layer, MHA_K, work->in[f.key], f.target, f.kdim, f.embed, k, pack);
    project(layer, MHA_V, work->in[f.value], f.target, f.vdim, f.embed, v, pack);
    for (size_t i = 0; i < (size_t)f.embed * f.source; i++) {
        q[i] *= scale;
    }
    for (uint32_t h = 0; h < f.heads; h++) {
        const float *mask = f.mask == NET_NONE ? NULL : work->in[f.mask];
        if (mask != NULL && net_work_in(work, f.mask)->dims == 3) {
            mask += (size_t)h * f.source * f.target;
        }
        attend(&f, q + h * size, k + h * size, v + h * size, mask, size, score, joined + h * size, pack);
    }
    project(layer, MHA_OUT, joined, f.source, f.embed, f.qdim, work->out[0], pack);
}

static uint64_t mha_macs(const net_graph *graph, const net_layer *layer) {
    mha_form f = mha_form_of(graph, layer);
    uint64_t projections =
        (uint64_t)f.embed * ((uint64_t)f.source * 2 * f.qdim + (uint64_t)f.target * (f.kdim + f.vdim));
    return projections + 2 * (uint64_t)f.embed * f.source * f.target;
}

/* ---- LayerNorm and RMSNorm: each row, or each map when `affine_size` is that of a map ---- */

static void layer_norm_arrays(const net_layer *layer, net_arrays *a) {
    if (net_layer_int(layer, 2, 1) != 0) {
        net_arrays_add(a, NET_ROLE_SCALE, false, net_layer_int(layer, 0, 0));
        net_arrays_add(a, NET_ROLE_BIAS, false, net_layer_int(layer, 0, 0));
    }
}

static void rms_norm_arrays(const net_layer *layer, net_arrays *a) {
    if (net_layer_int(layer, 2, 1) != 0) {
        net_arrays_add(a, NET_ROLE_SCALE, false, net_layer_int(layer, 0, 0));
    }
}

uint32_t net_norm_group(const net_layer *layer, const net_shape *in) {
    bool maps = in->dims == 3 && (uint32_t)net_layer_int(layer, 0, 0) != in->w;
    return maps ? in->w * in->h : in->w;
}

static net_status row_norm_shape(net_plan *p) {
    const net_shape *in = net_plan_in(p, 0);
    uint32_t size = net_norm_group(p->layer, in);
    if (net_layer_int(p->layer, 2, 1) != 0 && (uint32_t)net_layer_int(p->layer, 0, 0) != size) {
        return NET_BAD(p, "%d factors (key 0) for rows of %u and maps of %u elements", net_layer_int(p->layer, 0, 0),
                       in->w, in->w * in->h);
    }
    return net_plan_same(p);
}

static void layer_norm_row(const float *x, float *y, uint32_t size, float eps, const float *gamma, const float *beta) {
    float sum = 0.0f;
    float squares = 0.0f;
    for (uint32_t i = 0; i < size; i++) {
        sum += x[i];
    }
    float mean = sum / (float)size;
    for (uint32_t i = 0; i < size; i++) {
        float v = x[i] - mean;
        squares += v * v;
    }
    float a = 1.0f / sqrtf(squares / (float)size + eps);
    float b = -mean * a;
    for (uint32_t i = 0; i < size; i++) {
        float v = x[i] * a + b;
        y[i] = gamma != NULL ? v * gamma[i] + beta[i] : v;
    }
}

static void rms_norm_row(const float *x, float *y, uint32_t size, float eps, const float *gamma) {
    float squares = 0.0f;
    for (uint32_t i = 0; i < size; i++) {
        squares += x[i] * x[i];
    }
    float a = 1.0f / sqrtf(squares / (float)size + eps);
    for (uint32_t i = 0; i < size; i++) {
        y[i] = gamma != NULL ? x[i] * a * gamma[i] : x[i] * a;
    }
}

static void row_norm_run(const net_work *work) {
    const net_tensor *gamma = net_layer_tensor(work->layer, NET_ROLE_SCALE);
    const net_tensor *beta = net_layer_tensor(work->layer, NET_ROLE_BIAS);
    bool rms = work->layer->type[0] == 'R';
    float eps = net_layer_float(work->layer, 1, 0.001f);
    uint32_t size = net_norm_group(work->layer, net_work_in(work, 0));
    for (size_t at = 0; at < net_shape_elements(net_work_in(work, 0)); at += size) {
        const float *x = work->in[0] + at;
        const float *factor = gamma != NULL ? gamma->f32 : NULL;
        if (rms) {
            rms_norm_row(x, work->out[0] + at, size, eps, factor);
        } else {
            layer_norm_row(x, work->out[0] + at, size, eps, factor, beta != NULL ? beta->f32 : NULL);
        }
    }
}

/* ---- Embed: a row of the weights for each element of a vector ---- */

static void embed_arrays(const net_layer *layer, net_arrays *a) {
    net_arrays_add(a, NET_ROLE_WEIGHT, true, net_layer_int(layer, 3, 0));
    if (net_layer_int(layer, 2, 0) != 0) {
        net_arrays_add(a, NET_ROLE_BIAS, false, net_layer_int(layer, 0, 0));
    }
}

static net_status embed_shape(net_plan *p) {
    uint32_t outputs = 0;
    uint32_t words = 0;
    net_status status = net_plan_number(p, 0, 0, 1, 1 << 24, "elements of a row", &outputs);
    status = status == NET_OK ? net_plan_number(p, 1, 0, 1, 1 << 23, "number of rows", &words) : status;
    if (status != NET_OK) {
        return status;
    }
    if (net_layer_int(p->layer, 18, 0) != 0) {
        return NET_CANNOT(p, "%s", "INT8 weights (key 18)");
    }
    if ((uint64_t)outputs * words != (uint64_t)(uint32_t)net_layer_int(p->layer, 3, 0) ||
        net_plan_in(p, 0)->dims != 1) {
        return NET_BAD(p, "%u rows of %u elements in %d weights, and an input of %u dimensions, expected 1", words,
                       outputs, net_layer_int(p->layer, 3, 0), net_plan_in(p, 0)->dims);
    }
    return net_plan_out(p, 0, (net_shape){2, outputs, net_plan_in(p, 0)->w, 1, 1});
}

/* An index as ncnn has it, an integer in the blob's 32 bits, or as a float, which cannot be mistaken for one: from
 * 2^-126 on its bits are above 2^23. Out of range: the first or the last row. */
static uint32_t word_index(float value, uint32_t words) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    if (bits < 1u << 23) {
        return bits < words ? bits : words - 1;
    }
    return value >= (float)words ? words - 1 : value > 0.0f ? (uint32_t)value : 0;
}

static void embed_run(const net_work *work) {
    uint32_t outputs = (uint32_t)net_layer_int(work->layer, 0, 0);
    uint32_t words = (uint32_t)net_layer_int(work->layer, 1, 0);
    const float *weight = net_layer_tensor(work->layer, NET_ROLE_WEIGHT)->f32;
    const net_tensor *bias = net_layer_tensor(work->layer, NET_ROLE_BIAS);
    for (uint32_t q = 0; q < net_work_in(work, 0)->w; q++) {
        const float *row = weight + (size_t)word_index(work->in[0][q], words) * outputs;
        for (uint32_t i = 0; i < outputs; i++) {
            work->out[0][(size_t)q * outputs + i] = bias != NULL ? row[i] + bias->f32[i] : row[i];
        }
    }
}

const net_op net_ops_attn[] = {
    {"MultiHeadAttention", 1, 4, 1, 1, mha_arrays, mha_shape, mha_run, mha_macs, false},
    {"LayerNorm", 1, 1, 1, 1, layer_norm_arrays, row_norm_shape, row_norm_run, NULL, false},
    {"RMSNorm", 1, 1, 1, 1, rms_norm_arrays, row_norm_shape, row_norm_run, NULL, false},
    {"Embed", 1, 1, 1, 1, embed_arrays, embed_shape, embed_run, NULL, false},
    {0},
};
