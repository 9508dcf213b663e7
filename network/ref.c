/* ref.c - layers in plain C and the FP32 reference. The loops are the definition; they are not meant to be fast. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

struct net_ref {
    const net_graph *graph;
    float **blob; /* one array for each blob */
};

void net_cpu_relu(const float *in, float *out, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        out[i] = in[i] > 0.0f ? in[i] : 0.0f;
    }
}

/* Axis 0 is the outermost dimension of the blob, as in ncnn. */
void net_cpu_softmax(const net_shape *shape, int32_t axis, const float *in, float *out) {
    const uint32_t outermost_first[3] = {shape->c, shape->h, shape->w};
    uint32_t d = 3 - shape->dims + (uint32_t)(axis < 0 ? axis + (int32_t)shape->dims : axis);
    uint32_t step = 1;
    for (uint32_t i = d + 1; i < 3; i++) {
        step *= outermost_first[i];
    }
    uint32_t n = outermost_first[d];
    uint32_t total = net_shape_elements(shape);
    for (uint32_t block = 0; block < total; block += n * step) {
        for (uint32_t k = 0; k < step; k++) {
            const float *x = in + block + k;
            float *y = out + block + k;
            float largest = x[0];
            float sum = 0.0f;
            for (uint32_t i = 1; i < n; i++) {
                largest = x[(size_t)i * step] > largest ? x[(size_t)i * step] : largest;
            }
            for (uint32_t i = 0; i < n; i++) {
                y[(size_t)i * step] = expf(x[(size_t)i * step] - largest);
                sum += y[(size_t)i * step];
            }
            for (uint32_t i = 0; i < n; i++) {
                y[(size_t)i * step] /= sum;
            }
        }
    }
}

typedef struct conv_job {
    const net_conv *conv;
    const net_shape *in_shape, *out_shape;
    const float *in, *weight;
    float *out;
} conv_job;

/* One output element: bias, then the taps inside the map in the order channel, row, column. */
static float conv_pixel(const conv_job *job, const float *weight, float bias, uint32_t oy, uint32_t ox) {
    const net_conv *c = job->conv;
    float sum = bias;
    for (uint32_t ic = 0; ic < job->in_shape->c; ic++) {
        for (uint32_t ky = 0; ky < c->kernel_h; ky++) {
            int64_t y = (int64_t)oy * c->stride_h + (int64_t)ky * c->dilation_h - c->pad_t;
            for (uint32_t kx = 0; kx < c->kernel_w; kx++) {
                int64_t x = (int64_t)ox * c->stride_w + (int64_t)kx * c->dilation_w - c->pad_l;
                if (y >= 0 && y < job->in_shape->h && x >= 0 && x < job->in_shape->w) {
                    size_t at = ((size_t)ic * job->in_shape->h + (size_t)y) * job->in_shape->w + (size_t)x;
                    sum += job->in[at] * weight[((size_t)ic * c->kernel_h + ky) * c->kernel_w + kx];
                }
            }
        }
    }
    return sum;
}

static void conv_run(const conv_job *job, const float *bias) {
    const net_shape *o = job->out_shape;
    size_t filter = (size_t)job->in_shape->c * job->conv->kernel_h * job->conv->kernel_w;
    for (uint32_t oc = 0; oc < o->c; oc++) {
        float *plane = job->out + (size_t)oc * o->h * o->w;
        for (uint32_t y = 0; y < o->h; y++) {
            for (uint32_t x = 0; x < o->w; x++) {
                plane[(size_t)y * o->w + x] = conv_pixel(job, job->weight + oc * filter, bias == NULL ? 0.0f : bias[oc], y, x);
            }
        }
    }
    if (job->conv->relu) {
        net_cpu_relu(job->out, job->out, net_shape_elements(o));
    }
}

static void run_layer(net_ref *ref, const net_layer *layer) {
    const net_graph *g = ref->graph;
    const float *in = ref->blob[layer->in[0]];
    float *out = ref->blob[layer->out[0]];
    const net_shape *in_shape = &g->blob[layer->in[0]].shape;
    uint32_t count = net_shape_elements(in_shape);
    switch (layer->kind) {
    case NET_CONV: {
        conv_job job = {&layer->conv, in_shape, &g->blob[layer->out[0]].shape, in, net_layer_tensor(layer, NET_ROLE_WEIGHT)->f32, out};
        const net_tensor *bias = net_layer_tensor(layer, NET_ROLE_BIAS);
        conv_run(&job, bias == NULL ? NULL : bias->f32);
        break;
    }
    case NET_RELU:
        net_cpu_relu(in, out, count);
        break;
    case NET_SOFTMAX:
        net_cpu_softmax(in_shape, net_layer_int(layer, 0, 0), in, out);
        break;
    default: /* Split, Flatten, Reshape, copies: the same elements in the same order */
        for (uint32_t i = 0; i < layer->num_out; i++) {
            memcpy(ref->blob[layer->out[i]], in, count * sizeof *in);
        }
        break;
    }
}

net_status net_ref_new(const net_graph *graph, net_ref **out, net_error *err) {
    if (graph == NULL || out == NULL || !graph->planned || !graph->has_weights) {
        return net_fail(err, NET_ERR_ARG, "net_ref_new: a planned graph with weights is needed");
    }
    for (uint32_t i = 0; i < graph->num_layers; i++) {
        const net_layer *layer = &graph->layer[i];
        const net_tensor *weight = net_layer_tensor(layer, NET_ROLE_WEIGHT);
        if (layer->kind == NET_CONV && (weight == NULL || weight->f32 == NULL)) {
            return net_fail(err, NET_ERR_UNSUPPORTED, "%.150s:%u: layer '%.60s' has no float weights: not for the FP32 reference",
                            graph->name, layer->line, layer->name);
        }
    }
    net_ref *ref = calloc(1, sizeof *ref);
    if (ref != NULL) {
        ref->graph = graph;
        ref->blob = calloc(graph->num_blobs, sizeof *ref->blob);
    }
    bool ok = ref != NULL && ref->blob != NULL;
    for (uint32_t i = 0; ok && i < graph->num_blobs; i++) {
        ref->blob[i] = calloc(net_shape_elements(&graph->blob[i].shape), sizeof **ref->blob);
        ok = ref->blob[i] != NULL;
    }
    if (!ok) {
        net_ref_free(ref);
        return net_fail(err, NET_ERR_MEMORY, "%.150s: out of memory for the blobs", graph->name);
    }
    *out = ref;
    return NET_OK;
}

void net_ref_free(net_ref *ref) {
    if (ref == NULL) {
        return;
    }
    for (uint32_t i = 0; ref->blob != NULL && i < ref->graph->num_blobs; i++) {
        free(ref->blob[i]);
    }
    free(ref->blob);
    free(ref);
}

void net_ref_run(net_ref *ref, const float *input) {
    const net_graph *g = ref->graph;
    memcpy(ref->blob[g->input], input, net_shape_elements(&g->blob[g->input].shape) * sizeof *input);
    for (uint32_t i = 0; i < g->num_layers; i++) {
        if (g->layer[i].kind != NET_INPUT) {
            run_layer(ref, &g->layer[i]);
        }
    }
}

const float *net_ref_blob(const net_ref *ref, uint32_t blob) {
    return ref->blob[blob];
}
