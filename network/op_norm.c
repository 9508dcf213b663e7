/* op_norm.c - normalisations and scales. Channels are the steps of a blob's outermost dimension, so a vector has
 * channels of one element. */
#include <math.h>

#include "op.h"

/* The number of channels in the settings must be that of the input. */
static net_status channels_agree(net_plan *p, uint32_t key) {
    uint32_t size[NET_MAX_DIMS];
    int32_t channels = net_layer_int(p->layer, key, 0);
    net_shape_outer(net_plan_in(p, 0), size);
    if (channels < 1 || (uint32_t)channels != size[0]) {
        return NET_BAD(p, "%d channels (key %u), the input has %u", channels, key, size[0]);
    }
    return NET_OK;
}

/* ---- BatchNorm: y = b * x + a ---- */

static void batch_norm_arrays(const net_layer *layer, net_arrays *a) {
    int64_t n = net_layer_int(layer, 0, 0);
    net_arrays_add(a, NET_ROLE_SCALE, false, n);
    net_arrays_add(a, NET_ROLE_MEAN, false, n);
    net_arrays_add(a, NET_ROLE_VARIANCE, false, n);
    net_arrays_add(a, NET_ROLE_BIAS, false, n);
}

static net_status batch_norm_shape(net_plan *p) {
    net_status status = channels_agree(p, 0);
    return status == NET_OK ? net_plan_same(p) : status;
}

void net_batch_norm_line(const net_layer *layer, uint32_t channel, float *factor, float *offset) {
    float slope = net_layer_tensor(layer, NET_ROLE_SCALE)->f32[channel];
    float root = sqrtf(net_layer_tensor(layer, NET_ROLE_VARIANCE)->f32[channel] + net_layer_float(layer, 1, 0.0f));
    root = root == 0.0f ? 0.0001f : root;
    *factor = slope / root;
    *offset = net_layer_tensor(layer, NET_ROLE_BIAS)->f32[channel] -
              slope * net_layer_tensor(layer, NET_ROLE_MEAN)->f32[channel] / root;
}

static void batch_norm_run(const net_work *work) {
    net_axis a = net_shape_axis(net_work_in(work, 0), 0);
    for (uint32_t c = 0; c < a.n; c++) {
        float factor;
        float offset;
        net_batch_norm_line(work->layer, c, &factor, &offset);
        for (size_t i = (size_t)c * a.step; i < (size_t)(c + 1) * a.step; i++) {
            work->out[0][i] = factor * work->in[0][i] + offset;
        }
    }
}

/* ---- Scale: y = x * scale + bias ---- */

static void scale_arrays(const net_layer *layer, net_arrays *a) {
    int64_t n = net_layer_int(layer, 0, 0);
    if (n == NET_ABSENT) {
        return; /* the scale is the second input */
    }
    net_arrays_add(a, NET_ROLE_SCALE, false, n);
    if (net_layer_int(layer, 1, 0) != 0) {
        net_arrays_add(a, NET_ROLE_BIAS, false, n);
    }
}

static net_status scale_shape(net_plan *p) {
    bool second = net_layer_int(p->layer, 0, 0) == NET_ABSENT;
    uint32_t size[NET_MAX_DIMS];
    net_shape_outer(net_plan_in(p, 0), size);
    if (p->layer->num_in != (second ? 2 : 1)) {
        return NET_BAD(p, "%u inputs, expected %u", p->layer->num_in, second ? 2 : 1);
    }
    if (second && net_shape_elements(net_plan_in(p, 1)) != size[0]) {
        return NET_BAD(p, "a scale of %u elements for %u channels", net_shape_elements(net_plan_in(p, 1)), size[0]);
    }
    net_status status = second ? NET_OK : channels_agree(p, 0);
    return status == NET_OK ? net_plan_same(p) : status;
}

static void scale_run(const net_work *work) {
    net_axis a = net_shape_axis(net_work_in(work, 0), 0);
    const float *scale = work->layer->num_in == 2 ? work->in[1] : net_layer_tensor(work->layer, NET_ROLE_SCALE)->f32;
    const net_tensor *bias = net_layer_tensor(work->layer, NET_ROLE_BIAS);
    for (uint32_t c = 0; c < a.n; c++) {
        for (size_t i = (size_t)c * a.step; i < (size_t)(c + 1) * a.step; i++) {
            float v = work->in[0][i] * scale[c];
            work->out[0][i] = bias == NULL ? v : v + bias->f32[c];
        }
    }
}

/* ---- LRN: each element divided by a power of the sum of squares around it, across channels or within one ---- */

static net_status lrn_shape(net_plan *p) {
    uint32_t region;
    uint32_t size;
    net_status status = net_plan_number(p, 0, 0, 0, 1, "region", &region);
    status = status == NET_OK ? net_plan_number(p, 1, 5, 1, 65535, "local size", &size) : status;
    if (status == NET_OK && net_plan_in(p, 0)->dims != 3) {
        return NET_CANNOT(p, "an input with %u dimensions", net_plan_in(p, 0)->dims);
    }
    return status == NET_OK ? net_plan_same(p) : status;
}

/* first..last-1: the part of i - before .. i + after inside 0..size-1. */
static void around(uint32_t i, uint32_t before, uint32_t after, uint32_t size, uint32_t *first, uint32_t *last) {
    *first = i > before ? i - before : 0;
    *last = after < size - i ? i + after + 1 : size;
}

static void lrn_run(const net_work *work) {
    const net_layer *layer = work->layer;
    const net_shape *s = net_work_in(work, 0);
    bool within = net_layer_int(layer, 0, 0) == 1;
    uint32_t size = (uint32_t)net_layer_int(layer, 1, 5);
    float alpha = net_layer_float(layer, 2, 1.0f) / (within ? (float)size * (float)size : (float)size);
    float beta = net_layer_float(layer, 3, 0.75f);
    float bias = net_layer_float(layer, 4, 1.0f);
    uint32_t before = size / 2;
    uint32_t after = within ? size - size / 2 - 1 : size / 2;
    size_t plane = (size_t)s->w * s->h;
    for (uint32_t c = 0; c < s->c; c++) {
        for (uint32_t y = 0; y < s->h; y++) {
            for (uint32_t x = 0; x < s->w; x++) {
                uint32_t r[6] = {c, c + 1, y, y + 1, x, x + 1};
                if (within) {
                    around(y, before, after, s->h, &r[2], &r[3]);
                    around(x, before, after, s->w, &r[4], &r[5]);
                } else {
                    around(c, before, after, s->c, &r[0], &r[1]);
                }
                float sum = 0.0f;
                for (uint32_t k = r[0]; k < r[1]; k++) {
                    for (uint32_t j = r[2]; j < r[3]; j++) {
                        for (uint32_t i = r[4]; i < r[5]; i++) {
                            float v = work->in[0][k * plane + (size_t)j * s->w + i];
                            sum += v * v;
                        }
                    }
                }
                size_t at = c * plane + (size_t)y * s->w + x;
                work->out[0][at] = work->in[0][at] * powf(bias + alpha * sum, -beta);
            }
        }
    }
}

/* ---- GroupNorm: mean 0 and variance 1 over groups of channels, then scale and bias of each channel ---- */

static void group_norm_arrays(const net_layer *layer, net_arrays *a) {
    if (net_layer_int(layer, 3, 1) != 0) {
        net_arrays_add(a, NET_ROLE_SCALE, false, net_layer_int(layer, 1, 0));
        net_arrays_add(a, NET_ROLE_BIAS, false, net_layer_int(layer, 1, 0));
    }
}

static net_status group_norm_shape(net_plan *p) {
    uint32_t groups;
    uint32_t size[NET_MAX_DIMS];
    net_status status = channels_agree(p, 1);
    status = status == NET_OK ? net_plan_number(p, 0, 1, 1, INT32_MAX, "number of groups", &groups) : status;
    net_shape_outer(net_plan_in(p, 0), size);
    if (status == NET_OK && size[0] % groups != 0) {
        return NET_BAD(p, "%u groups do not divide %u channels", groups, size[0]);
    }
    return status == NET_OK ? net_plan_same(p) : status;
}

static void group_norm_run(const net_work *work) {
    net_axis a = net_shape_axis(net_work_in(work, 0), 0);
    uint32_t groups = (uint32_t)net_layer_int(work->layer, 0, 1);
    const net_tensor *scale = net_layer_tensor(work->layer, NET_ROLE_SCALE);
    const net_tensor *bias = net_layer_tensor(work->layer, NET_ROLE_BIAS);
    float eps = net_layer_float(work->layer, 2, 0.001f);
    size_t count = (size_t)(a.n / groups) * a.step;
    for (uint32_t g = 0; g < groups; g++) {
        const float *in = work->in[0] + g * count;
        float *out = work->out[0] + g * count;
        float mean = 0.0f;
        float square = 0.0f;
        for (size_t i = 0; i < count; i++) {
            mean += in[i];
        }
        mean /= (float)count;
        for (size_t i = 0; i < count; i++) {
            square += (in[i] - mean) * (in[i] - mean);
        }
        float root = sqrtf(square / (float)count + eps);
        for (size_t i = 0; i < count; i++) {
            size_t c = g * (a.n / groups) + i / a.step;
            float v = (in[i] - mean) / root;
            out[i] = scale == NULL ? v : v * scale->f32[c] + bias->f32[c];
        }
    }
}

/* ---- arrays of types that are not executed ---- */

static void quantize_arrays(const net_layer *layer, net_arrays *a) {
    net_arrays_add(a, NET_ROLE_OTHER, false, net_layer_int(layer, 0, 0));
}

static void dequantize_arrays(const net_layer *layer, net_arrays *a) {
    net_arrays_add(a, NET_ROLE_OTHER, false, net_layer_int(layer, 0, 0));
    net_arrays_add(a, NET_ROLE_BIAS, false, net_layer_int(layer, 1, 0));
}

static void requantize_arrays(const net_layer *layer, net_arrays *a) {
    net_arrays_add(a, NET_ROLE_OTHER, false, net_layer_int(layer, 0, 0));
    net_arrays_add(a, NET_ROLE_OTHER, false, net_layer_int(layer, 1, 0));
    net_arrays_add(a, NET_ROLE_BIAS, false, net_layer_int(layer, 2, 0));
}

const net_op net_ops_norm[] = {
    {"BatchNorm", 1, 1, 1, 1, batch_norm_arrays, batch_norm_shape, batch_norm_run, NULL, false},
    {"Scale", 1, 2, 1, 1, scale_arrays, scale_shape, scale_run, NULL, false},
    {"LRN", 1, 1, 1, 1, NULL, lrn_shape, lrn_run, NULL, false},
    {"GroupNorm", 1, 1, 1, 1, group_norm_arrays, group_norm_shape, group_norm_run, NULL, false},
    {"Quantize", 1, 1, 1, 1, quantize_arrays, NULL, NULL, NULL, false},
    {"Dequantize", 1, 1, 1, 1, dequantize_arrays, NULL, NULL, NULL, false},
    {"Requantize", 1, 1, 1, 1, requantize_arrays, NULL, NULL, NULL, false},
    {0},
};
