/*
 * op_conv.c - layers with weights: convolution (of one group, of groups, depthwise), its transpose, and the inner
 * product.
 *
 * An output starts with the bias; products follow in the order input channel, kernel row, kernel column, each step in
 * binary32. The loops run along a row of outputs, which keeps that order for every one of them and lets the compiler
 * vectorise; so do the blocks of conv_block.c.
 */
#include "conv_block.h"

#define SAME_UPPER (-233)
#define SAME_LOWER (-234)

/* ---- arrays ---- */

/* `scales` is the number of weight scales. */
static void weighted_arrays(const net_layer *layer, net_arrays *a, uint32_t bias_key, uint32_t size_key,
                            int32_t int8_term, int64_t scales) {
    net_arrays_add(a, NET_ROLE_WEIGHT, true, net_layer_int(layer, size_key, 0));
    if (net_layer_int(layer, bias_key, 0) != 0) {
        net_arrays_add(a, NET_ROLE_BIAS, false, net_layer_int(layer, 0, 0));
    }
    if (int8_term != 0) {
        net_arrays_add(a, NET_ROLE_WEIGHT_SCALE, false, scales);
        net_arrays_add(a, NET_ROLE_BOTTOM_SCALE, false, 1);
    }
    if (int8_term > 100) {
        net_arrays_add(a, NET_ROLE_TOP_SCALE, false, 1);
    }
}

static void conv_arrays(const net_layer *layer, net_arrays *a) {
    if (net_layer_int(layer, 19, 0) == 0) {
        weighted_arrays(layer, a, 5, 6, net_layer_int(layer, 8, 0), net_layer_int(layer, 0, 0));
    }
}

static void depthwise_arrays(const net_layer *layer, net_arrays *a) {
    int32_t term = net_layer_int(layer, 8, 0);
    if (net_layer_int(layer, 19, 0) == 0) {
        weighted_arrays(layer, a, 5, 6, term, term == 1 || term == 101 ? net_layer_int(layer, 7, 1) : 1);
    }
}

static void deconv_arrays(const net_layer *layer, net_arrays *a) {
    if (net_layer_int(layer, 28, 0) == 0) {
        weighted_arrays(layer, a, 5, 6, 0, 0);
    }
}

static void inner_product_arrays(const net_layer *layer, net_arrays *a) {
    weighted_arrays(layer, a, 1, 2, net_layer_int(layer, 8, 0), net_layer_int(layer, 0, 0));
}

/* ---- settings ---- */

static net_status kernel_settings(net_plan *p, net_conv *c) {
    *c = (net_conv){0};
    net_status status = net_plan_number(p, 0, 0, 1, 65535, "number of outputs", &c->num_output);
    status = status == NET_OK ? net_plan_number(p, 1, 0, 1, 255, "kernel width", &c->kernel_w) : status;
    status =
        status == NET_OK ? net_plan_number(p, 11, (int32_t)c->kernel_w, 1, 255, "kernel height", &c->kernel_h) : status;
    status = status == NET_OK ? net_plan_number(p, 2, 1, 1, 255, "dilation", &c->dilation_w) : status;
    status = status == NET_OK
                 ? net_plan_number(p, 12, (int32_t)c->dilation_w, 1, 255, "dilation of rows", &c->dilation_h)
                 : status;
    status = status == NET_OK ? net_plan_number(p, 3, 1, 1, 255, "stride", &c->stride_w) : status;
    status = status == NET_OK ? net_plan_number(p, 13, (int32_t)c->stride_w, 1, 255, "stride of rows", &c->stride_h)
                              : status;
    c->groups = 1;
    return status;
}

/* Groups (key 7) must divide the channels on both sides. */
static net_status group_settings(net_plan *p, net_conv *c) {
    const net_shape *in = net_plan_in(p, 0);
    net_status status = net_plan_number(p, 7, 1, 1, 65535, "number of groups", &c->groups);
    if (status == NET_OK && (in->c % c->groups != 0 || c->num_output % c->groups != 0)) {
        return NET_BAD(p, "%u groups do not divide %u input and %u output channels", c->groups, in->c, c->num_output);
    }
    return status;
}

static net_status int8_term(net_plan *p, net_conv *c, int32_t term, bool grouped) {
    bool known = term == 0 || term == 2 || term == 102 || (grouped && (term == 1 || term == 101));
    c->int8_scale_term = (uint32_t)term;
    const net_tensor *weight = net_layer_tensor(p->layer, NET_ROLE_WEIGHT);
    if (!known) {
        return NET_CANNOT(p, "int8_scale_term %d", term);
    }
    if (weight != NULL && weight->i8 != NULL && term == 0) {
        return NET_BAD(p, "%s", "INT8 weights without int8_scale_term (key 8)");
    }
    return NET_OK;
}

/* Compares the number of weights in the settings with the one that the shapes need. */
static net_status weight_count(net_plan *p, uint32_t key, const net_conv *c, uint32_t in_channels) {
    uint64_t expected = (uint64_t)c->num_output * in_channels * c->kernel_w * c->kernel_h;
    uint64_t promised = (uint64_t)(uint32_t)net_layer_int(p->layer, key, 0);
    if (promised != expected) {
        return NET_BAD(p, "%llu weights (key %u), but %u outputs x %u channels x %ux%u need %llu",
                       (unsigned long long)promised, key, c->num_output, in_channels, c->kernel_h, c->kernel_w,
                       (unsigned long long)expected);
    }
    return NET_OK;
}

/* Padding of one dimension for SAME_UPPER (extra at the end) or SAME_LOWER (extra at the start). */
static void same_pad(uint32_t in, uint32_t stride, uint32_t extent, bool upper, uint32_t *first, uint32_t *last) {
    uint32_t covered = (in - 1) / stride * stride + extent;
    uint32_t pad = covered > in ? covered - in : 0;
    *first = upper ? pad / 2 : pad - pad / 2;
    *last = pad - *first;
}

/* in NULL: no SAME modes. */
static net_status padding(net_plan *p, net_conv *c, const net_shape *in, uint32_t extent_w, uint32_t extent_h) {
    int32_t left = net_layer_int(p->layer, 4, 0);
    int32_t top = net_layer_int(p->layer, 14, left);
    int32_t right = net_layer_int(p->layer, 15, left);
    int32_t bottom = net_layer_int(p->layer, 16, top);
    if (in != NULL && (left == SAME_UPPER || left == SAME_LOWER) && left == right && left == top && left == bottom) {
        same_pad(in->w, c->stride_w, extent_w, left == SAME_UPPER, &c->pad_l, &c->pad_r);
        same_pad(in->h, c->stride_h, extent_h, left == SAME_UPPER, &c->pad_t, &c->pad_b);
        return NET_OK;
    }
    if (left < 0 || right < 0 || top < 0 || bottom < 0 || left > 65535 || right > 65535 || top > 65535 ||
        bottom > 65535) {
        return NET_BAD(p, "padding %d,%d,%d,%d (left, right, top, bottom), expected 0..65535 each%s", left, right, top,
                       bottom, in != NULL ? " or -233 or -234 for all" : "");
    }
    c->pad_l = (uint32_t)left;
    c->pad_r = (uint32_t)right;
    c->pad_t = (uint32_t)top;
    c->pad_b = (uint32_t)bottom;
    return NET_OK;
}

static net_status conv_settings(net_plan *p, net_conv *c, bool grouped) {
    const net_layer *layer = p->layer;
    net_status status = kernel_settings(p, c);
    status = status == NET_OK && grouped ? group_settings(p, c) : status;
    status = status == NET_OK ? net_plan_act(p, 9, 10, &p->layer->act) : status;
    status = status == NET_OK ? int8_term(p, c, net_layer_int(layer, 8, 0), grouped) : status;
    c->has_bias = net_layer_int(layer, 5, 0) != 0;
    c->relu = p->layer->act.type == NET_ACT_RELU;
    if (status == NET_OK && net_layer_int(layer, 19, 0) != 0) {
        return NET_CANNOT(p, "%s", "a convolution with weights as an input");
    }
    if (status == NET_OK && net_layer_float(layer, 18, 0.0f) != 0.0f) {
        return NET_CANNOT(p, "a pad value of %g", (double)net_layer_float(layer, 18, 0.0f));
    }
    return status;
}

/* A 1x1 convolution of a vector is an inner product: the vector's elements are the channels. */
static net_status vector_conv_shape(net_plan *p) {
    net_conv *c = &p->layer->conv;
    const net_shape *in = net_plan_in(p, 0);
    if (c->kernel_w != 1 || c->kernel_h != 1) {
        return NET_CANNOT(p, "an input with %u dimensions", in->dims);
    }
    net_status status = weight_count(p, 6, c, in->w);
    return status == NET_OK ? net_plan_out(p, 0, (net_shape){1, c->num_output, 1, 1, 1}) : status;
}

static net_status any_conv_shape(net_plan *p, bool grouped) {
    net_conv *c = &p->layer->conv;
    net_status status = conv_settings(p, c, grouped);
    if (status != NET_OK) {
        return status;
    }
    const net_shape *in = net_plan_in(p, 0);
    if (in->dims == 1 && !grouped) {
        return vector_conv_shape(p);
    }
    if (in->dims != 3) {
        return NET_CANNOT(p, "an input with %u dimensions", in->dims);
    }
    uint32_t extent_w = (c->kernel_w - 1) * c->dilation_w + 1;
    uint32_t extent_h = (c->kernel_h - 1) * c->dilation_h + 1;
    status = weight_count(p, 6, c, in->c / c->groups);
    status = status == NET_OK ? padding(p, c, in, extent_w, extent_h) : status;
    if (status != NET_OK) {
        return status;
    }
    uint32_t full_w = in->w + c->pad_l + c->pad_r;
    uint32_t full_h = in->h + c->pad_t + c->pad_b;
    if (full_w < extent_w || full_h < extent_h) {
        return NET_BAD(p, "padded input %ux%u is smaller than the kernel %ux%u", full_h, full_w, extent_h, extent_w);
    }
    const net_shape out = {3, (full_w - extent_w) / c->stride_w + 1, (full_h - extent_h) / c->stride_h + 1,
                           c->num_output, 1};
    p->layer->scratch = conv_block_takes(c, &out) ? conv_block_bytes(p->layer, in) : 0;
    return net_plan_out(p, 0, out);
}

static net_status conv_shape(net_plan *p) {
    return any_conv_shape(p, false);
}

static net_status depthwise_shape(net_plan *p) {
    return any_conv_shape(p, true);
}

static net_status any_deconv_shape(net_plan *p, bool grouped) {
    net_conv *c = &p->layer->conv;
    const net_shape *in = net_plan_in(p, 0);
    uint32_t extra_w = 0;
    uint32_t extra_h = 0;
    if (in->dims != 3) {
        return NET_CANNOT(p, "an input with %u dimensions", in->dims);
    }
    net_status status = kernel_settings(p, c);
    status = status == NET_OK && grouped ? group_settings(p, c) : status;
    status = status == NET_OK ? net_plan_act(p, 9, 10, &p->layer->act) : status;
    status = status == NET_OK ? net_plan_number(p, 18, 0, 0, 255, "columns added on the right", &extra_w) : status;
    status = status == NET_OK ? net_plan_number(p, 19, (int32_t)extra_w, 0, 255, "rows added at the bottom", &extra_h)
                              : status;
    status = status == NET_OK ? weight_count(p, 6, c, in->c / c->groups) : status;
    status = status == NET_OK ? padding(p, c, NULL, 0, 0) : status;
    if (status != NET_OK) {
        return status;
    }
    c->has_bias = net_layer_int(p->layer, 5, 0) != 0;
    c->relu = p->layer->act.type == NET_ACT_RELU;
    if (net_layer_int(p->layer, 28, 0) != 0 || net_layer_int(p->layer, 20, 0) != 0 ||
        net_layer_int(p->layer, 21, 0) != 0) {
        return NET_CANNOT(p, "%s", "a given output size (keys 20, 21), or weights as an input (key 28),");
    }
    uint64_t full_w = (uint64_t)(in->w - 1) * c->stride_w + (c->kernel_w - 1) * c->dilation_w + 1 + extra_w;
    uint64_t full_h = (uint64_t)(in->h - 1) * c->stride_h + (c->kernel_h - 1) * c->dilation_h + 1 + extra_h;
    uint64_t cut_w = (uint64_t)c->pad_l + c->pad_r;
    uint64_t cut_h = (uint64_t)c->pad_t + c->pad_b;
    if (full_w <= cut_w || full_h <= cut_h || full_w > NET_MAX_ELEMENTS || full_h > NET_MAX_ELEMENTS) {
        return NET_BAD(p, "an output of %llux%llu without its padding", (unsigned long long)full_h,
                       (unsigned long long)full_w);
    }
    return net_plan_out(p, 0, (net_shape){3, (uint32_t)(full_w - cut_w), (uint32_t)(full_h - cut_h), c->num_output, 1});
}

static net_status deconv_shape(net_plan *p) {
    return any_deconv_shape(p, false);
}

static net_status deconv_depthwise_shape(net_plan *p) {
    return any_deconv_shape(p, true);
}

static net_status inner_product_shape(net_plan *p) {
    net_conv *c = &p->layer->conv;
    const net_shape *in = net_plan_in(p, 0);
    *c = (net_conv){
        .kernel_w = 1, .kernel_h = 1, .stride_w = 1, .stride_h = 1, .dilation_w = 1, .dilation_h = 1, .groups = 1};
    net_status status = net_plan_number(p, 0, 0, 1, 1 << 24, "number of outputs", &c->num_output);
    status = status == NET_OK ? net_plan_act(p, 9, 10, &p->layer->act) : status;
    status = status == NET_OK ? int8_term(p, c, net_layer_int(p->layer, 8, 0), true) : status;
    if (status != NET_OK) {
        return status;
    }
    c->has_bias = net_layer_int(p->layer, 1, 0) != 0;
    c->relu = p->layer->act.type == NET_ACT_RELU;
    /* A matrix whose rows have the right length is a batch of vectors; any other blob is one vector. */
    uint64_t weights = (uint64_t)(uint32_t)net_layer_int(p->layer, 2, 0);
    bool rows = in->dims == 2 && (uint64_t)in->w * c->num_output == weights;
    status = weight_count(p, 2, c, rows ? in->w : net_shape_elements(in));
    return status == NET_OK ? net_plan_out(p, 0, (net_shape){rows ? 2 : 1, c->num_output, rows ? in->h : 1, 1, 1})
                            : status;
}

/* ---- multiply-accumulates ---- */

/* A vector of n elements is a map of n channels. */
static net_shape as_map(const net_shape *shape) {
    return shape->dims == 1 ? (net_shape){3, 1, 1, shape->w, 1} : *shape;
}

static uint64_t conv_macs(const net_graph *graph, const net_layer *layer) {
    const net_conv *c = &layer->conv;
    net_shape in = as_map(&graph->blob[layer->in[0]].shape);
    uint64_t outputs = net_shape_elements(&graph->blob[layer->out[0]].shape);
    return outputs * (in.c / c->groups) * c->kernel_w * c->kernel_h;
}

static uint64_t deconv_macs(const net_graph *graph, const net_layer *layer) {
    const net_conv *c = &layer->conv;
    uint64_t inputs = net_shape_elements(&graph->blob[layer->in[0]].shape);
    return inputs * (c->num_output / c->groups) * c->kernel_w * c->kernel_h;
}

static uint64_t inner_product_macs(const net_graph *graph, const net_layer *layer) {
    const net_shape *in = &graph->blob[layer->in[0]].shape;
    const net_shape *out = &graph->blob[layer->out[0]].shape;
    return (uint64_t)net_shape_elements(in) * out->w;
}

/* ---- FP32 ---- */

/* first..last-1: the positions o of 0..count-1 for which 0 <= o * stride + offset < limit. */
static void inside(int64_t offset, uint32_t stride, uint32_t limit, uint32_t count, uint32_t *first, uint32_t *last) {
    int64_t lo = offset >= 0 ? 0 : (-offset + stride - 1) / stride;
    int64_t hi = offset >= (int64_t)limit ? 0 : ((int64_t)limit - 1 - offset) / stride + 1;
    *first = (uint32_t)(lo < count ? lo : count);
    *last = (uint32_t)(hi < count ? hi : count);
}

/* Add one tap of the kernel to a row of outputs. */
static void add_tap(float *restrict out, const float *restrict in, float weight, uint32_t count, uint32_t stride) {
    if (stride == 1) {
        for (uint32_t o = 0; o < count; o++) {
            out[o] += in[o] * weight;
        }
        return;
    }
    for (uint32_t o = 0; o < count; o++) {
        out[o] += in[(size_t)o * stride] * weight;
    }
}

/* Part of a row of outputs that a column of the kernel reaches, and the input element for its first one. */
typedef struct reach {
    uint32_t first, last, from;
} reach;

static void column_reach(const net_conv *c, uint32_t in_w, uint32_t out_w, reach column[255]) {
    for (uint32_t kx = 0; kx < c->kernel_w; kx++) {
        int64_t offset = (int64_t)kx * c->dilation_w - c->pad_l;
        reach *r = &column[kx];
        inside(offset, c->stride_w, in_w, out_w, &r->first, &r->last);
        r->from = r->first < r->last ? (uint32_t)((int64_t)r->first * c->stride_w + offset) : 0;
    }
}

/* Row oy of one output channel, whose filter is `weight` and whose first input channel is `in`. */
static void conv_row(const net_conv *c, const net_shape *is, const reach *column, const float *in, const float *weight,
                     uint32_t oy, float *out) {
    uint32_t channels = is->c / c->groups;
    for (uint32_t ic = 0; ic < channels; ic++) {
        for (uint32_t ky = 0; ky < c->kernel_h; ky++, weight += c->kernel_w) {
            int64_t y = (int64_t)oy * c->stride_h + (int64_t)ky * c->dilation_h - c->pad_t;
            if (y < 0 || y >= is->h) {
                continue;
            }
            const float *row = in + ((size_t)ic * is->h + (size_t)y) * is->w;
            for (uint32_t kx = 0; kx < c->kernel_w; kx++) {
                const reach *r = &column[kx];
                if (r->first < r->last) {
                    add_tap(out + r->first, row + r->from, weight[kx], r->last - r->first, c->stride_w);
                }
            }
        }
    }
}

static void fill_bias(const net_layer *layer, uint32_t oc, float *out, size_t count) {
    const net_tensor *bias = net_layer_tensor(layer, NET_ROLE_BIAS);
    float value = bias == NULL ? 0.0f : bias->f32[oc];
    for (size_t i = 0; i < count; i++) {
        out[i] = value;
    }
}

static void conv_run(const net_work *work) {
    const net_conv *c = &work->layer->conv;
    const float *weight = net_layer_tensor(work->layer, NET_ROLE_WEIGHT)->f32;
    net_shape is = as_map(net_work_in(work, 0));
    net_shape os = as_map(net_work_out(work, 0));
    size_t plane = (size_t)os.w * os.h;
    size_t group_in = (size_t)is.c / c->groups * is.h * is.w;
    size_t filter = (size_t)is.c / c->groups * c->kernel_h * c->kernel_w;
    reach column[255];
    if (c->kernel_w == 1 && c->kernel_h == 1 && c->stride_w == 1 && c->stride_h == 1 && os.w == is.w && os.h == is.h) {
        /* Outputs and inputs have the same order: one long row. */
        is = (net_shape){3, is.w * is.h, 1, is.c, 1};
        os = (net_shape){3, os.w * os.h, 1, os.c, 1};
    }
    if (conv_block_takes(c, &os)) {
        conv_block_run(work, &is, &os);
        return;
    }
    column_reach(c, is.w, os.w, column);
    for (uint32_t oc = 0; oc < os.c; oc++) {
        float *out = work->out[0] + oc * plane;
        const float *in = work->in[0] + oc / (os.c / c->groups) * group_in;
        fill_bias(work->layer, oc, out, plane);
        for (uint32_t y = 0; y < os.h; y++) {
            conv_row(c, &is, column, in, weight + oc * filter, y, out + (size_t)y * os.w);
        }
        net_act_apply(&work->layer->act, out, out, plane);
    }
}

/* Output (y, x) without padding gets input (iy, ix) through tap (ky, kx) where y = iy * stride + ky * dilation. */
static void deconv_channel(const net_conv *c, const net_shape *is, const net_shape *os, const float *in,
                           const float *weight, float *out) {
    for (uint32_t ic = 0; ic < is->c / c->groups; ic++) {
        for (uint32_t ky = 0; ky < c->kernel_h; ky++) {
            for (uint32_t kx = 0; kx < c->kernel_w; kx++) {
                float w = weight[((size_t)ic * c->kernel_h + ky) * c->kernel_w + kx];
                int64_t offset_y = (int64_t)ky * c->dilation_h - c->pad_t;
                int64_t offset_x = (int64_t)kx * c->dilation_w - c->pad_l;
                uint32_t y0;
                uint32_t y1;
                uint32_t x0;
                uint32_t x1;
                inside(offset_y, c->stride_h, os->h, is->h, &y0, &y1);
                inside(offset_x, c->stride_w, os->w, is->w, &x0, &x1);
                for (uint32_t y = y0; y < y1; y++) {
                    const float *src = in + ((size_t)ic * is->h + y) * is->w;
                    int64_t dst = ((int64_t)y * c->stride_h + offset_y) * os->w + offset_x;
                    for (uint32_t x = x0; x < x1; x++) {
                        out[dst + (int64_t)x * c->stride_w] += src[x] * w;
                    }
                }
            }
        }
    }
}

static void deconv_run(const net_work *work) {
    const net_conv *c = &work->layer->conv;
    const net_shape *is = net_work_in(work, 0);
    const net_shape *os = net_work_out(work, 0);
    const float *weight = net_layer_tensor(work->layer, NET_ROLE_WEIGHT)->f32;
    size_t plane = (size_t)os->w * os->h;
    size_t group_in = (size_t)is->c / c->groups * is->h * is->w;
    size_t filter = (size_t)is->c / c->groups * c->kernel_h * c->kernel_w;
    for (uint32_t oc = 0; oc < os->c; oc++) {
        float *out = work->out[0] + oc * plane;
        fill_bias(work->layer, oc, out, plane);
        deconv_channel(c, is, os, work->in[0] + oc / (os->c / c->groups) * group_in, weight + oc * filter, out);
        net_act_apply(&work->layer->act, out, out, plane);
    }
}

static void inner_product_run(const net_work *work) {
    const net_shape *os = net_work_out(work, 0);
    const float *weight = net_layer_tensor(work->layer, NET_ROLE_WEIGHT)->f32;
    const net_tensor *bias = net_layer_tensor(work->layer, NET_ROLE_BIAS);
    size_t length = net_shape_elements(net_work_in(work, 0)) / os->h;
    for (uint32_t row = 0; row < os->h; row++) {
        const float *in = work->in[0] + row * length;
        float *out = work->out[0] + (size_t)row * os->w;
        for (uint32_t o = 0; o < os->w; o++) {
            float sum = bias == NULL ? 0.0f : bias->f32[o];
            for (size_t i = 0; i < length; i++) {
                sum += in[i] * weight[o * length + i];
            }
            out[o] = sum;
        }
    }
    net_act_apply(&work->layer->act, work->out[0], work->out[0], net_shape_elements(os));
}

const net_op net_ops_conv[] = {
    {"Convolution", 1, 1, 1, 1, conv_arrays, conv_shape, conv_run, conv_macs, false},
    {"ConvolutionDepthWise", 1, 1, 1, 1, depthwise_arrays, depthwise_shape, conv_run, conv_macs, false},
    {"Deconvolution", 1, 1, 1, 1, deconv_arrays, deconv_shape, deconv_run, deconv_macs, false},
    {"DeconvolutionDepthWise", 1, 1, 1, 1, deconv_arrays, deconv_depthwise_shape, deconv_run, deconv_macs, false},
    {"InnerProduct", 1, 1, 1, 1, inner_product_arrays, inner_product_shape, inner_product_run, inner_product_macs,
     false},
    {0},
};
