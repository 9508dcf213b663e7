/*
 * op_attn_int8.c - MultiHeadAttention in INT8, as ncnn computes it: weights with scales of the file, everything else
 * with scales found while it runs. Products are sums of integers, which an executor may compute elsewhere, and so may
 * be the softmax; scales and biases are binary32.
 */
#include <math.h>
#include <string.h>

#include "attn.h"

static size_t larger(size_t a, size_t b) {
    return a > b ? a : b;
}

/* Memory: floats first, then bytes. */
typedef struct mha_memory {
    float *q, *k, *v, *joined, *score, *sums, *scale, *single;
    int8_t *a, *b;
} mha_memory;

/* Floats of sums, and bytes of both operands of a product, at most. */
static size_t most_sums(const mha_form *f) {
    size_t most = larger((size_t)f->source * f->embed, (size_t)f->target * f->embed);
    return larger(larger(most, (size_t)f->source * f->target), (size_t)f->source * f->qdim);
}

static size_t most_a(const mha_form *f) {
    size_t most = larger((size_t)f->source * f->qdim, (size_t)f->target * f->kdim);
    most = larger(most, larger((size_t)f->target * f->vdim, (size_t)f->source * f->embed));
    return larger(most, (size_t)f->source * f->target);
}

static size_t most_b(const mha_form *f) {
    size_t depth = larger(larger(f->qdim, f->kdim), larger(f->vdim, f->target));
    return (size_t)f->embed * depth;
}

static size_t floats_of(const mha_form *f) {
    return (size_t)f->embed * (2 * (size_t)f->source + 2 * (size_t)f->target) + (size_t)f->source * f->target +
           most_sums(f) + larger(f->source, f->target) + 1;
}

size_t mha_int8_bytes(const mha_form *f) {
    return floats_of(f) * sizeof(float) + most_a(f) + most_b(f);
}

static mha_memory memory_of(const net_work *work, const mha_form *f) {
    mha_memory m;
    m.q = work->scratch;
    m.k = m.q + (size_t)f->embed * f->source;
    m.v = m.k + (size_t)f->embed * f->target;
    m.joined = m.v + (size_t)f->embed * f->target;
    m.score = m.joined + (size_t)f->embed * f->source;
    m.sums = m.score + (size_t)f->source * f->target;
    m.scale = m.sums + most_sums(f);
    m.single = m.scale + larger(f->source, f->target);
    m.a = (int8_t *)(m.single + 1);
    m.b = m.a + most_a(f);
    return m;
}

/* Weights of a part: those of the file, or float ones by its scales. */
static const int8_t *weights_of(const net_work *work, uint32_t part, uint32_t rows, uint32_t depth, int8_t *own) {
    const net_tensor *weight = &work->layer->tensor[2 * part];
    const float *scale = work->layer->tensor[8 + part].f32;
    if (weight->i8 != NULL) {
        return weight->i8;
    }
    for (size_t i = 0; i < (size_t)rows * depth; i++) {
        own[i] = net_quantize_value(weight->f32[i], scale[part == MHA_OUT ? 0 : i / depth]);
    }
    return own;
}

/* in[rows][depth] by one scale, to out[rows][embed] = (sum * descale + bias) * factor. */
static void project(const net_work *work, const mha_form *f, const mha_memory *m, uint32_t part, const float *in,
                    uint32_t rows, uint32_t depth, float factor, float *out) {
    const float *scale = work->layer->tensor[8 + part].f32;
    const float *bias = work->layer->tensor[2 * part + 1].f32;
    net_dynamic_quantise(
        &(net_quantised){.x = in, .step = depth, .rows = rows, .count = depth, .q = m->a, .scale = m->single});
    net_work_product(
        work, &(net_product){rows, f->embed, depth, m->a, weights_of(work, part, f->embed, depth, m->b), m->sums});
    for (uint32_t j = 0; j < f->embed; j++) {
        float descale = 1.0f / (scale[j] * m->single[0]);
        for (size_t i = 0; i < rows; i++) {
            float v = m->sums[i * f->embed + j] * descale + bias[j];
            out[i * f->embed + j] = part == MHA_Q ? v * factor : v;
        }
    }
}

/* sums[source][count] to floats: each row has its scale, the other operand one. */
static void descale_rows(const mha_form *f, const mha_memory *m, uint32_t count, float *out, size_t step) {
    for (size_t i = 0; i < f->source; i++) {
        float descale = 1.0f / (m->scale[i] * m->single[0]);
        for (size_t j = 0; j < count; j++) {
            out[i * step + j] = m->sums[i * count + j] * descale;
        }
    }
}

static void head(const net_work *work, const mha_form *f, const mha_memory *m, uint32_t h) {
    uint32_t size = f->embed / f->heads;
    const float *mask = f->mask == NET_NONE ? NULL : work->in[f->mask];
    net_dynamic_quantise(
        &(net_quantised){m->q + h * size, f->embed, f->source, size, m->a, m->scale, true, false, false});
    net_dynamic_quantise(
        &(net_quantised){m->k + h * size, f->embed, f->target, size, m->b, m->single, false, false, false});
    net_work_product(work, &(net_product){f->source, f->target, size, m->a, m->b, m->sums});
    descale_rows(f, m, f->target, m->score, f->target);
    if (mask != NULL && net_work_in(work, f->mask)->dims == 3) {
        mask += (size_t)h * f->source * f->target;
    }
    for (size_t i = 0; mask != NULL && i < (size_t)f->source * f->target; i++) {
        m->score[i] += mask[i];
    }
    if (work->softmax != NULL) {
        work->softmax(work->user, m->score, f->source, f->target);
    } else {
        mha_softmax_rows(m->score, f->source, f->target);
    }
    net_dynamic_quantise(
        &(net_quantised){m->score, f->target, f->source, f->target, m->a, m->scale, true, false, false});
    net_dynamic_quantise(
        &(net_quantised){m->v + h * size, f->embed, f->target, size, m->b, m->single, false, true, false});
    net_work_product(work, &(net_product){f->source, size, f->target, m->a, m->b, m->sums});
    descale_rows(f, m, size, m->joined + h * size, f->embed);
}

void mha_run_int8(const net_work *work, const mha_form *f) {
    const net_layer *layer = work->layer;
    const mha_memory m = memory_of(work, f);
    float factor = net_layer_float(layer, 6, 1.0f / sqrtf((float)(f->embed / f->heads)));
    project(work, f, &m, MHA_Q, work->in[0], f->source, f->qdim, factor, m.q);
    project(work, f, &m, MHA_K, work->in[f->key], f->target, f->kdim, 1.0f, m.k);
    project(work, f, &m, MHA_V, work->in[f->value], f->target, f->vdim, 1.0f, m.v);
    for (uint32_t h = 0; h < f->heads; h++) {
        head(work, f, &m, h);
    }
    const float *bias = layer->tensor[2 * MHA_OUT + 1].f32;
    net_dynamic_quantise(&(net_quantised){m.joined, f->embed, f->source, f->embed, m.a, m.scale, true, false, false});
    net_work_product(work, &(net_product){f->source, f->qdim, f->embed, m.a,
                                          weights_of(work, MHA_OUT, f->qdim, f->embed, m.b), m.sums});
    m.single[0] = layer->tensor[8 + MHA_OUT].f32[0];
    descale_rows(f, &m, f->qdim, work->out[0], f->qdim);
    for (size_t i = 0; i < f->source; i++) {
        for (size_t j = 0; j < f->qdim; j++) {
            work->out[0][i * f->qdim + j] += bias[j];
        }
    }
}
