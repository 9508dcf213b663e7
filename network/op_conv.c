/* op_conv.c - layers with weights: convolutions, and what the reader knows of their relatives. */
#include "op.h"

#define SAME_UPPER (-233)
#define SAME_LOWER (-234)

/* Arrays of a layer with weights. `scales` is the number of weight scales. */
static void weighted_arrays(const net_layer *layer, net_arrays *a, uint32_t bias_key, uint32_t size_key, int32_t int8_term,
                            int64_t scales) {
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

static net_status conv_settings(net_plan *p, net_conv *c) {
    const net_layer *layer = p->layer;
    net_status status = net_plan_number(p, 0, 0, 1, 65535, "number of outputs", &c->num_output);
    status = status == NET_OK ? net_plan_number(p, 1, 0, 1, 255, "kernel width", &c->kernel_w) : status;
    status = status == NET_OK ? net_plan_number(p, 11, (int32_t)c->kernel_w, 1, 255, "kernel height", &c->kernel_h) : status;
    status = status == NET_OK ? net_plan_number(p, 2, 1, 1, 255, "dilation", &c->dilation_w) : status;
    status = status == NET_OK ? net_plan_number(p, 12, (int32_t)c->dilation_w, 1, 255, "dilation of rows", &c->dilation_h) : status;
    status = status == NET_OK ? net_plan_number(p, 3, 1, 1, 255, "stride", &c->stride_w) : status;
    status = status == NET_OK ? net_plan_number(p, 13, (int32_t)c->stride_w, 1, 255, "stride of rows", &c->stride_h) : status;
    if (status != NET_OK) {
        return status;
    }
    c->has_bias = net_layer_int(layer, 5, 0) != 0;
    c->int8_scale_term = (uint32_t)net_layer_int(layer, 8, 0);
    int32_t act = net_layer_int(layer, 9, 0);
    c->relu = act == 1;
    if (act != 0 && act != 1) {
        return NET_CANNOT(p, "activation type %d", act);
    }
    if (net_layer_int(layer, 19, 0) != 0) {
        return NET_CANNOT(p, "%s", "a convolution with weights as an input");
    }
    if (net_layer_float(layer, 18, 0.0f) != 0.0f) {
        return NET_CANNOT(p, "a pad value of %g", (double)net_layer_float(layer, 18, 0.0f));
    }
    if (c->int8_scale_term != 0 && c->int8_scale_term != 2 && c->int8_scale_term != 102) {
        return NET_CANNOT(p, "int8_scale_term %d", (int)c->int8_scale_term);
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

static net_status conv_padding(net_plan *p, net_conv *c, const net_shape *in, uint32_t extent_w, uint32_t extent_h) {
    int32_t left = net_layer_int(p->layer, 4, 0);
    int32_t top = net_layer_int(p->layer, 14, left);
    int32_t right = net_layer_int(p->layer, 15, left);
    int32_t bottom = net_layer_int(p->layer, 16, top);
    if ((left == SAME_UPPER || left == SAME_LOWER) && left == right && left == top && left == bottom) {
        same_pad(in->w, c->stride_w, extent_w, left == SAME_UPPER, &c->pad_l, &c->pad_r);
        same_pad(in->h, c->stride_h, extent_h, left == SAME_UPPER, &c->pad_t, &c->pad_b);
        return NET_OK;
    }
    if (left < 0 || right < 0 || top < 0 || bottom < 0 || left > 65535 || right > 65535 || top > 65535 || bottom > 65535) {
        return NET_BAD(p, "padding %d,%d,%d,%d (left, right, top, bottom), expected 0..65535 each or -233 or -234 for all", left, right,
                       top, bottom);
    }
    c->pad_l = (uint32_t)left;
    c->pad_r = (uint32_t)right;
    c->pad_t = (uint32_t)top;
    c->pad_b = (uint32_t)bottom;
    return NET_OK;
}

static net_status conv_shape(net_plan *p) {
    net_conv *c = &p->layer->conv;
    net_status status = conv_settings(p, c);
    if (status != NET_OK) {
        return status;
    }
    const net_shape *in = net_plan_in(p, 0);
    if (in->dims != 3) {
        return NET_CANNOT(p, "an input with %u dimensions", in->dims);
    }
    const net_tensor *weight = net_layer_tensor(p->layer, NET_ROLE_WEIGHT);
    uint64_t expected = (uint64_t)c->num_output * in->c * c->kernel_w * c->kernel_h;
    uint64_t promised = (uint64_t)(uint32_t)net_layer_int(p->layer, 6, 0);
    if (promised != expected) {
        return NET_BAD(p, "%llu weights (key 6), but %u outputs x %u channels x %ux%u need %llu", (unsigned long long)promised,
                       c->num_output, in->c, c->kernel_h, c->kernel_w, (unsigned long long)expected);
    }
    if (weight != NULL && weight->i8 != NULL && c->int8_scale_term == 0) {
        return NET_BAD(p, "%s", "INT8 weights without int8_scale_term (key 8)");
    }
    uint32_t extent_w = (c->kernel_w - 1) * c->dilation_w + 1;
    uint32_t extent_h = (c->kernel_h - 1) * c->dilation_h + 1;
    status = conv_padding(p, c, in, extent_w, extent_h);
    if (status != NET_OK) {
        return status;
    }
    uint32_t full_w = in->w + c->pad_l + c->pad_r;
    uint32_t full_h = in->h + c->pad_t + c->pad_b;
    if (full_w < extent_w || full_h < extent_h) {
        return NET_BAD(p, "padded input %ux%u is smaller than the kernel %ux%u", full_h, full_w, extent_h, extent_w);
    }
    return net_plan_out(p, 0, (net_shape){3, (full_w - extent_w) / c->stride_w + 1, (full_h - extent_h) / c->stride_h + 1, c->num_output});
}

static uint64_t conv_macs(const net_graph *graph, const net_layer *layer) {
    const net_shape *in = &graph->blob[layer->in[0]].shape;
    const net_shape *out = &graph->blob[layer->out[0]].shape;
    return (uint64_t)net_shape_elements(out) * in->c * layer->conv.kernel_w * layer->conv.kernel_h;
}

typedef struct conv_job {
    const net_conv *conv;
    const net_shape *in_shape, *out_shape;
    const float *in, *weight;
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

static void conv_run(const net_work *work) {
    const net_shape *o = net_work_out(work, 0);
    const net_conv *c = &work->layer->conv;
    conv_job job = {c, net_work_in(work, 0), o, work->in[0], net_layer_tensor(work->layer, NET_ROLE_WEIGHT)->f32};
    const net_tensor *bias = net_layer_tensor(work->layer, NET_ROLE_BIAS);
    size_t filter = (size_t)job.in_shape->c * c->kernel_h * c->kernel_w;
    for (uint32_t oc = 0; oc < o->c; oc++) {
        float *plane = work->out[0] + (size_t)oc * o->h * o->w;
        for (uint32_t y = 0; y < o->h; y++) {
            for (uint32_t x = 0; x < o->w; x++) {
                plane[(size_t)y * o->w + x] = conv_pixel(&job, job.weight + oc * filter, bias == NULL ? 0.0f : bias->f32[oc], y, x);
            }
        }
    }
    if (c->relu) {
        net_cpu_relu(work->out[0], work->out[0], net_shape_elements(o));
    }
}

const net_op net_ops_conv[] = {
    {"Convolution", 1, 1, 1, 1, conv_arrays, conv_shape, conv_run, conv_macs},
    {"ConvolutionDepthWise", 1, 1, 1, 1, depthwise_arrays, NULL, NULL, NULL},
    {"Deconvolution", 1, 1, 1, 1, deconv_arrays, NULL, NULL, NULL},
    {"DeconvolutionDepthWise", 1, 1, 1, 1, deconv_arrays, NULL, NULL, NULL},
    {"InnerProduct", 1, 1, 1, 1, inner_product_arrays, NULL, NULL, NULL},
    {0},
};
