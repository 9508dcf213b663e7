/* op_resize.c - Interp: maps resized by nearest element, bilinear or bicubic interpolation. */
#include <math.h>

#include "op.h"

enum { NEAREST = 1, BILINEAR = 2, BICUBIC = 3 };

#define CUBIC_A (-0.75f)

/* Both sizes of the output are in the settings. */
static bool size_given(const net_layer *layer) {
    return net_layer_int(layer, 3, 0) > 0 && net_layer_int(layer, 4, 0) > 0;
}

/* One size of the output: of the second input, given, or scaled. */
static uint32_t resized(const net_plan *p, uint32_t in, uint32_t other, uint32_t size_key, uint32_t scale_key) {
    if (p->layer->num_in == 2) {
        return other;
    }
    if (size_given(p->layer)) {
        return (uint32_t)net_layer_int(p->layer, size_key, 0);
    }
    float scaled = (float)in * net_layer_float(p->layer, scale_key, 1.0f);
    return scaled >= 1.0f && scaled <= (float)NET_MAX_ELEMENTS ? (uint32_t)scaled : 0;
}

/* By expression: w, or w and h. */
static net_status expressed(net_plan *p, uint32_t channels) {
    int32_t size[2] = {0, (int32_t)net_plan_in(p, 0)->h};
    uint32_t count;
    net_status status = net_plan_expression(p, 9, size, 2, &count);
    if (status == NET_OK && (size[0] < 1 || size[1] < 1)) {
        status = NET_BAD(p, "a size of %dx%d (key 9)", size[1], size[0]);
    }
    return status == NET_OK ? net_plan_out(p, 0, (net_shape){3, (uint32_t)size[0], (uint32_t)size[1], channels, 1})
                            : status;
}

static net_status interp_shape(net_plan *p) {
    const net_shape *in = net_plan_in(p, 0);
    const net_shape *other = net_plan_in(p, p->layer->num_in - 1);
    uint32_t type;
    if (in->dims == 2) {
        return NET_CANNOT(p, "an input with %u dimensions", in->dims);
    }
    net_status status = net_plan_number(p, 0, 0, NEAREST, BICUBIC, "type of interpolation", &type);
    if (status != NET_OK) {
        return status;
    }
    bool vector = in->dims == 1; /* each element fills a map */
    if (net_layer_param(p->layer, 9) != NULL) {
        return expressed(p, vector ? in->w : in->c);
    }
    if (p->layer->num_in > 2) {
        return NET_BAD(p, "%u inputs without an expression (key 9)", p->layer->num_in);
    }
    uint32_t w = resized(p, vector ? 1 : in->w, other->w, 4, 2);
    uint32_t h = resized(p, vector ? 1 : in->h, other->h, 3, 1);
    return net_plan_out(p, 0, (net_shape){3, w, h, vector ? in->w : in->c, 1});
}

/* Source positions and their weights for one output position; `taps` of them, clamped to 0..size-1. */
typedef struct taps {
    uint32_t at[4];
    float weight[4];
} taps;

static taps nearest_taps(const net_work *work, uint32_t size, uint32_t out, uint32_t o, bool scaled,
                         uint32_t scale_key) {
    float step = scaled ? 1.0f / net_layer_float(work->layer, scale_key, 1.0f) : (float)size / (float)out;
    float source = (float)o * step;
    return (taps){{source < (float)(size - 1) ? (uint32_t)source : size - 1}, {1.0f}};
}

static uint32_t clamp(int64_t i, uint32_t size) {
    return i < 0 ? 0 : i >= (int64_t)size ? size - 1 : (uint32_t)i;
}

static taps smooth_taps(uint32_t size, uint32_t out, uint32_t o, bool align, bool cubic) {
    double step = align ? (out > 1 ? (double)(size - 1) / (out - 1) : 0.0) : (double)size / out;
    float source = (float)(align ? o * step : (o + 0.5) * step - 0.5);
    int64_t base = (int64_t)floorf(source);
    float f = source - (float)base;
    taps t;
    if (!cubic) {
        if (base < 0 || base >= (int64_t)size - 1) { /* outside the centres of the first and last element */
            f = base < 0 ? 0.0f : 1.0f;
            base = base < 0 ? 0 : (int64_t)size - 2;
        }
        t = (taps){{clamp(base, size), clamp(base + 1, size)}, {1.0f - f, f}};
        return t;
    }
    float f0 = f + 1.0f;
    float f2 = 1.0f - f;
    t.weight[0] = CUBIC_A * f0 * f0 * f0 - 5.0f * CUBIC_A * f0 * f0 + 8.0f * CUBIC_A * f0 - 4.0f * CUBIC_A;
    t.weight[1] = (CUBIC_A + 2.0f) * f * f * f - (CUBIC_A + 3.0f) * f * f + 1.0f;
    t.weight[2] = (CUBIC_A + 2.0f) * f2 * f2 * f2 - (CUBIC_A + 3.0f) * f2 * f2 + 1.0f;
    t.weight[3] = 1.0f - t.weight[0] - t.weight[1] - t.weight[2];
    for (int i = 0; i < 4; i++) {
        t.at[i] = clamp(base - 1 + i, size);
    }
    return t;
}

/* First along the row, then along the column, as ncnn does. */
static float sample(const float *map, uint32_t width, uint32_t count, const taps *y, const taps *x) {
    float sum = 0.0f;
    for (uint32_t j = 0; j < count; j++) {
        const float *row = map + (size_t)y->at[j] * width;
        float along = row[x->at[0]] * x->weight[0];
        for (uint32_t i = 1; i < count; i++) {
            along += row[x->at[i]] * x->weight[i];
        }
        sum = j == 0 ? along * y->weight[0] : sum + along * y->weight[j];
    }
    return sum;
}

static void interp_run(const net_work *work) {
    const net_shape *os = net_work_out(work, 0);
    net_shape is = *net_work_in(work, 0);
    int32_t type = net_layer_int(work->layer, 0, 0);
    bool align = net_layer_int(work->layer, 6, 0) != 0;
    bool given = work->layer->num_in == 2 || net_layer_param(work->layer, 9) != NULL || size_given(work->layer);
    uint32_t count = type == NEAREST ? 1 : type == BILINEAR ? 2 : 4;
    if (is.dims == 1) {
        is = (net_shape){3, 1, 1, is.w, 1};
    }
    bool plain = is.w == os->w && is.h == os->h; /* same size: a copy */
    float *out = work->out[0];
    for (uint32_t oy = 0; oy < os->h; oy++) {
        taps y = plain             ? (taps){{oy}, {1.0f}}
                 : type == NEAREST ? nearest_taps(work, is.h, os->h, oy, !given, 1)
                                   : smooth_taps(is.h, os->h, oy, align, type == BICUBIC);
        for (uint32_t ox = 0; ox < os->w; ox++) {
            taps x = plain             ? (taps){{ox}, {1.0f}}
                     : type == NEAREST ? nearest_taps(work, is.w, os->w, ox, !given, 2)
                                       : smooth_taps(is.w, os->w, ox, align, type == BICUBIC);
            for (uint32_t c = 0; c < os->c; c++) {
                const float *map = work->in[0] + (size_t)c * is.w * is.h;
                size_t at = ((size_t)c * os->h + oy) * os->w + ox;
                out[at] =
                    plain || type == NEAREST ? map[(size_t)y.at[0] * is.w + x.at[0]] : sample(map, is.w, count, &y, &x);
            }
        }
    }
}

const net_op net_ops_resize[] = {
    {"Interp", 1, NET_ANY, 1, 1, NULL, interp_shape, interp_run, NULL, false},
    {0},
};
