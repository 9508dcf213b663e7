/*
 * op_point.c - layers of element by element functions that ncnn has beside its activations, and normalisations of
 * Caffe's and MXNet's networks.
 *
 * As ncnn's plain C++ layers, sums in the order of the elements.
 */
#include <math.h>

#include "op.h"

/* ---- functions of one element ---- */

static size_t count_of(const net_work *work) {
    return net_shape_elements(net_work_in(work, 0));
}

static void abs_run(const net_work *work) {
    for (size_t i = 0; i < count_of(work); i++) {
        work->out[0][i] = fabsf(work->in[0][i]);
    }
}

/* base (key 0, -1: e) to the power of x * scale + shift. */
static void exp_run(const net_work *work) {
    float base = net_layer_float(work->layer, 0, -1.0f);
    float scale = net_layer_float(work->layer, 1, 1.0f);
    float shift = net_layer_float(work->layer, 2, 0.0f);
    for (size_t i = 0; i < count_of(work); i++) {
        float x = shift + work->in[0][i] * scale;
        work->out[0][i] = base == -1.0f ? expf(x) : powf(base, x);
    }
}

static void log_run(const net_work *work) {
    float base = net_layer_float(work->layer, 0, -1.0f);
    float scale = net_layer_float(work->layer, 1, 1.0f);
    float shift = net_layer_float(work->layer, 2, 0.0f);
    float factor = base == -1.0f ? 1.0f : 1.0f / logf(base);
    for (size_t i = 0; i < count_of(work); i++) {
        float y = logf(shift + work->in[0][i] * scale);
        work->out[0][i] = base == -1.0f ? y : y * factor;
    }
}

static void power_run(const net_work *work) {
    float power = net_layer_float(work->layer, 0, 1.0f);
    float scale = net_layer_float(work->layer, 1, 1.0f);
    float shift = net_layer_float(work->layer, 2, 0.0f);
    for (size_t i = 0; i < count_of(work); i++) {
        work->out[0][i] = powf(shift + work->in[0][i] * scale, power);
    }
}

static void bnll_run(const net_work *work) {
    for (size_t i = 0; i < count_of(work); i++) {
        float x = work->in[0][i];
        work->out[0][i] = x > 0.0f ? x + logf(1.0f + expf(-x)) : logf(1.0f + expf(x));
    }
}

static void celu_run(const net_work *work) {
    float alpha = net_layer_float(work->layer, 0, 1.0f);
    for (size_t i = 0; i < count_of(work); i++) {
        float x = work->in[0][i];
        work->out[0][i] = x < 0.0f ? (expf(x / alpha) - 1.0f) * alpha : x;
    }
}

static void shrink_run(const net_work *work) {
    float bias = net_layer_float(work->layer, 0, 0.0f);
    float limit = net_layer_float(work->layer, 1, 0.5f);
    for (size_t i = 0; i < count_of(work); i++) {
        float x = work->in[0][i];
        work->out[0][i] = x < -limit ? x + bias : x > limit ? x - bias : 0.0f;
    }
}

/* ---- GLU: the first half of an axis times the sigmoid of the second one ---- */

/* ncnn ignores the axis of a vector. */
static uint32_t glu_axis(const net_layer *layer, const net_shape *s) {
    int32_t axis = s->dims == 1 ? 0 : net_layer_int(layer, 0, 0);
    return (uint32_t)(axis < 0 ? axis + (int32_t)s->dims : axis);
}

static net_status glu_shape(net_plan *p) {
    const net_shape *in = net_plan_in(p, 0);
    uint32_t unused;
    uint32_t size[NET_MAX_DIMS];
    net_status status = in->dims == 1 ? NET_OK : net_plan_axis(p, 0, 0, &unused);
    if (status != NET_OK) {
        return status;
    }
    uint32_t axis = glu_axis(p->layer, in);
    net_shape_outer(in, size);
    if (size[axis] % 2 != 0) {
        return NET_BAD(p, "two halves of %u elements", size[axis]);
    }
    size[axis] /= 2;
    return net_plan_out(p, 0, net_shape_from(in->dims, size));
}

static void glu_run(const net_work *work) {
    net_axis a = net_shape_axis(net_work_in(work, 0), glu_axis(work->layer, net_work_in(work, 0)));
    size_t half = (size_t)a.n / 2 * a.step;
    float *out = work->out[0];
    for (uint32_t o = 0; o < a.outer; o++) {
        const float *in = work->in[0] + o * 2 * half;
        for (size_t i = 0; i < half; i++) {
            *out++ = in[i] * (1.0f / (1.0f + expf(-in[half + i])));
        }
    }
}

/* ---- of maps: Bias, InstanceNorm, Normalize, MVN ---- */

static net_status maps_shape(net_plan *p) {
    const net_shape *in = net_plan_in(p, 0);
    return in->dims == 3 ? net_plan_same(p) : NET_CANNOT(p, "an input with %u dimensions", in->dims);
}

/* The number of channels in the settings must be that of the input. */
static net_status channels_shape(net_plan *p, int32_t channels) {
    const net_shape *in = net_plan_in(p, 0);
    if (in->dims == 3 && (channels < 1 || (uint32_t)channels != in->c)) {
        return NET_BAD(p, "%d channels (key 0), the input has %u", channels, in->c);
    }
    return maps_shape(p);
}

static void bias_arrays(const net_layer *layer, net_arrays *a) {
    net_arrays_add(a, NET_ROLE_BIAS, false, net_layer_int(layer, 0, 0));
}

static net_status bias_shape(net_plan *p) {
    return channels_shape(p, net_layer_int(p->layer, 0, 0));
}

static void bias_run(const net_work *work) {
    const net_shape *s = net_work_in(work, 0);
    const net_tensor *bias = net_layer_tensor(work->layer, NET_ROLE_BIAS);
    const size_t plane = (size_t)s->w * s->h;
    for (size_t i = 0; i < plane * s->c; i++) {
        work->out[0][i] = work->in[0][i] + bias->f32[i / plane];
    }
}

static void instance_norm_arrays(const net_layer *layer, net_arrays *a) {
    if (net_layer_int(layer, 2, 1) != 0) {
        net_arrays_add(a, NET_ROLE_SCALE, false, net_layer_int(layer, 0, 0));
        net_arrays_add(a, NET_ROLE_BIAS, false, net_layer_int(layer, 0, 0));
    }
}

static net_status instance_norm_shape(net_plan *p) {
    bool affine = net_layer_int(p->layer, 2, 1) != 0;
    return affine ? channels_shape(p, net_layer_int(p->layer, 0, 0)) : maps_shape(p);
}

static float mean_of(const float *x, size_t count) {
    float sum = 0.0f;
    for (size_t i = 0; i < count; i++) {
        sum += x[i];
    }
    return sum / (float)count;
}

/* Mean of the squares of x - mean. */
static float variance_of(const float *x, size_t count, float mean) {
    float sum = 0.0f;
    for (size_t i = 0; i < count; i++) {
        sum += (x[i] - mean) * (x[i] - mean);
    }
    return sum / (float)count;
}

static void instance_norm_run(const net_work *work) {
    const net_shape *s = net_work_in(work, 0);
    const net_tensor *scale = net_layer_tensor(work->layer, NET_ROLE_SCALE);
    const net_tensor *bias = net_layer_tensor(work->layer, NET_ROLE_BIAS);
    const float eps = net_layer_float(work->layer, 1, 0.001f);
    const size_t plane = (size_t)s->w * s->h;
    for (uint32_t c = 0; c < s->c; c++) {
        const float *in = work->in[0] + c * plane;
        float mean = mean_of(in, plane);
        float factor = (scale == NULL ? 1.0f : scale->f32[c]) / sqrtf(variance_of(in, plane, mean) + eps);
        float offset = -mean * factor + (bias == NULL ? 0.0f : bias->f32[c]);
        for (size_t i = 0; i < plane; i++) {
            work->out[0][c * plane + i] = in[i] * factor + offset;
        }
    }
}

static void normalize_arrays(const net_layer *layer, net_arrays *a) {
    net_arrays_add(a, NET_ROLE_SCALE, false, net_layer_int(layer, 3, 0));
}

static net_status normalize_shape(net_plan *p) {
    const net_shape *in = net_plan_in(p, 0);
    int32_t scales = net_layer_int(p->layer, 3, 0);
    bool shared = net_layer_int(p->layer, 1, 0) != 0;
    uint32_t mode;
    net_status status = net_plan_number(p, 9, 0, 0, 2, "mode of eps", &mode);
    if (status == NET_OK && net_layer_int(p->layer, 0, 0) == 0 && net_layer_int(p->layer, 4, 0) == 0) {
        return NET_CANNOT(p, "%s", "a normalisation of neither positions nor channels (keys 0, 4)");
    }
    if (status == NET_OK && in->dims == 3 && (scales < 1 || (!shared && (uint32_t)scales != in->c))) {
        return NET_BAD(p, "%d factors (key 3) for %u channels", scales, in->c);
    }
    return status == NET_OK ? maps_shape(p) : status;
}

static float norm_factor(const net_layer *layer, float squares) {
    float eps = net_layer_float(layer, 2, 0.0001f);
    switch (net_layer_int(layer, 9, 0)) {
    case 1:
        return 1.0f / fmaxf(sqrtf(squares), eps);
    case 2:
        return 1.0f / sqrtf(fmaxf(squares, eps));
    default:
        return 1.0f / sqrtf(squares + eps);
    }
}

/* Every element over the root of the sum of squares of its position (all channels), of its channel, or of all. */
static void normalize_run(const net_work *work) {
    const net_layer *layer = work->layer;
    const net_shape *s = net_work_in(work, 0);
    const float *scale = net_layer_tensor(layer, NET_ROLE_SCALE)->f32;
    const bool positions = net_layer_int(layer, 0, 0) == 0;
    const bool channels = net_layer_int(layer, 4, 0) != 0;
    const bool shared = net_layer_int(layer, 1, 0) != 0;
    const size_t plane = (size_t)s->w * s->h;
    /* groups of elements that are normalised together: element k of group g at g * group + k * step */
    const size_t groups = positions ? plane : channels ? 1 : s->c;
    const size_t count = positions ? s->c : channels ? plane * s->c : plane;
    const size_t step = positions ? plane : 1;
    const size_t group = positions ? 1 : count;
    for (size_t g = 0; g < groups; g++) {
        float squares = 0.0f;
        for (size_t k = 0; k < count; k++) {
            float x = work->in[0][g * group + k * step];
            squares += x * x;
        }
        float factor = norm_factor(layer, squares);
        for (size_t k = 0; k < count; k++) {
            size_t at = g * group + k * step;
            work->out[0][at] = work->in[0][at] * (factor * scale[shared ? 0 : at / plane]);
        }
    }
}

/* Mean 0, with key 0 also variance 1, of each channel or of all of them (key 1). */
static void mvn_run(const net_work *work) {
    const net_layer *layer = work->layer;
    const net_shape *s = net_work_in(work, 0);
    const bool whole = net_layer_int(layer, 1, 0) != 0;
    const float eps = net_layer_float(layer, 2, 0.0001f);
    const size_t count = (size_t)s->w * s->h * (whole ? s->c : 1);
    for (uint32_t c = 0; c < (whole ? 1 : s->c); c++) {
        const float *in = work->in[0] + c * count;
        float mean = mean_of(in, count);
        float root = net_layer_int(layer, 0, 0) != 0 ? sqrtf(variance_of(in, count, mean)) + eps : 1.0f;
        for (size_t i = 0; i < count; i++) {
            work->out[0][c * count + i] = (in[i] - mean) / root;
        }
    }
}

const net_op net_ops_point[] = {
    {"AbsVal", 1, 1, 1, 1, NULL, net_plan_same, abs_run, NULL, true},
    {"Exp", 1, 1, 1, 1, NULL, net_plan_same, exp_run, NULL, true},
    {"Log", 1, 1, 1, 1, NULL, net_plan_same, log_run, NULL, true},
    {"Power", 1, 1, 1, 1, NULL, net_plan_same, power_run, NULL, true},
    {"BNLL", 1, 1, 1, 1, NULL, net_plan_same, bnll_run, NULL, true},
    {"CELU", 1, 1, 1, 1, NULL, net_plan_same, celu_run, NULL, true},
    {"Shrink", 1, 1, 1, 1, NULL, net_plan_same, shrink_run, NULL, true},
    {"GLU", 1, 1, 1, 1, NULL, glu_shape, glu_run, NULL, false},
    {"Bias", 1, 1, 1, 1, bias_arrays, bias_shape, bias_run, NULL, false},
    {"InstanceNorm", 1, 1, 1, 1, instance_norm_arrays, instance_norm_shape, instance_norm_run, NULL, false},
    {"Normalize", 1, 1, 1, 1, normalize_arrays, normalize_shape, normalize_run, NULL, false},
    {"MVN", 1, 1, 1, 1, NULL, maps_shape, mvn_run, NULL, false},
    {0},
};
