/* rt_map_conv.c - INT8 layers with weights as convolutions of the driver. */
#include <stdio.h>
#include <string.h>

#include "rt.h"
#include "num.h"

/* Contiguous elements: a vector, or a map of 1 x 1. */
static bool is_vector(const net_shape *s) {
    return s->dims != 3 || (s->w == 1 && s->h == 1);
}

/* The layer over a vector without INT8 on either side: contiguous elements. */
static npu_status describe_vector(const net_rt *rt, const net_layer *layer, npu_conv *c) {
    uint32_t length = net_shape_elements(&rt->graph->blob[layer->in[0]].shape);
    return npu_linear_make(rt->npu.n, length, layer->conv.num_output, NPU_FP32_NCHW, NPU_FP32_NCHW, c);
}

static void describe_map(const net_rt *rt, const net_layer *layer, npu_conv *c) {
    const net_conv *conv = &layer->conv;
    const net_shape *in = &rt->graph->blob[layer->in[0]].shape;
    const net_shape *out = &rt->graph->blob[layer->out[0]].shape;
    bool whole = out->dims != 3; /* an inner product of a map: its window is the map */
    *c = (npu_conv){.iw = in->w,
                    .ih = in->h,
                    .ic = in->c,
                    .oc = conv->num_output,
                    .kw = whole ? in->w : conv->kernel_w,
                    .kh = whole ? in->h : conv->kernel_h,
                    .stride_w = conv->stride_w,
                    .stride_h = conv->stride_h,
                    .dil_w = conv->dilation_w,
                    .dil_h = conv->dilation_h,
                    .pad_l = conv->pad_l,
                    .pad_r = conv->pad_r,
                    .pad_t = conv->pad_t,
                    .pad_b = conv->pad_b,
                    .groups = conv->groups};
    if (in->dims != 3) { /* elements are channels */
        c->iw = c->ih = c->kw = c->kh = 1;
        c->ic = net_shape_elements(in);
    }
    c->ifm_cstep = in->dims == 3 ? (uint32_t)rt_cstep(in) : 4;
    c->ofm_cstep = out->dims == 3 ? (uint32_t)rt_cstep(out) : 4;
}

/* INT8 on the sides where the blob is. */
static void set_forms(const net_rt *rt, const net_layer *layer, npu_conv *c) {
    const rt_blob *in = &rt->blob[layer->in[0]];
    const rt_blob *out = &rt->blob[layer->out[0]];
    memcpy(&c->in_scale, &net_layer_tensor(layer, NET_ROLE_BOTTOM_SCALE)->f32[0], sizeof c->in_scale);
    if (in->int8) {
        c->in_layout = NPU_INT8_NHWC;
        c->ifm_cstep = tb_align_up(c->ic, rt->npu.n);
    }
    if (out->int8) {
        c->out_layout = NPU_INT8_NHWC;
        c->ofm_cstep = tb_align_up(c->oc, rt->npu.n);
        memcpy(&c->out_scale, &out->scale, sizeof c->out_scale);
    }
}

/* The vector may be read up to the next multiple of 16 bytes, where the output must not begin. */
bool rt_reads_vector(const net_rt *rt, uint32_t number) {
    const net_layer *layer = &rt->graph->layer[number];
    const rt_blob *in = &rt->blob[layer->in[0]];
    bool beside =
        in->root == rt->blob[layer->out[0]].root && net_shape_elements(&rt->graph->blob[layer->in[0]].shape) % 4 != 0;
    return in->dev_at % 16 == 0 && !beside;
}

bool rt_map_conv(net_rt *rt, uint32_t number) {
    const net_layer *layer = &rt->graph->layer[number];
    const net_shape *in = &rt->graph->blob[layer->in[0]].shape;
    rt_layer *rl = &rt->layer[number];
    npu_conv *c = &rl->conv;
    npu_conv_split split;
    npu_status status = NPU_OK;
    memset(&split, 0, sizeof split);
    if (!rt_is_int8(layer)) {
        return rt_reason(rl, "not quantised");
    }
    if (layer->wide && !rt->npu.int16) {
        return rt_reason(rl, "the device has no INT16");
    }
    if (rt->graph->blob[layer->out[0]].shape.dims == 2 && in->h > 1) {
        return layer->wide ? rt_reason(rl, "INT16 of a matrix") : rt_map_rows(rt, number);
    }
    bool forms = rt->blob[layer->in[0]].int8 || rt->blob[layer->out[0]].int8;
    bool one_tap = layer->conv.kernel_w == 1 && layer->conv.kernel_h == 1 && layer->conv.pad_l == 0 &&
                   layer->conv.pad_r == 0 && layer->conv.pad_t == 0 && layer->conv.pad_b == 0 &&
                   layer->conv.groups == 1;
    rl->linear = is_vector(in) && one_tap && !forms && !layer->wide && rt_reads_vector(rt, number);
    if (rl->linear) {
        status = describe_vector(rt, layer, c);
    } else {
        describe_map(rt, layer, c);
    }
    set_forms(rt, layer, c);
    c->wide = layer->wide;
    c->has_bias = net_layer_tensor(layer, NET_ROLE_BIAS) != NULL;
    if (layer->asym.used) { /* the zero-point is folded into int32 biases */
        c->has_bias = c->int_bias = true;
        c->quant = (npu_quant){.in_zero = layer->asym.zero, .to_even = true, .full = true};
    }
    if (!rt_act(&layer->act, &c->act, c->act_p)) {
        return rt_reason(rl, "activation %d", (int)layer->act.type);
    }
    status = status == NPU_OK ? npu_conv_plan_make(rt->npu.n, c, &split, &rl->plan) : status;
    rl->kind = RT_CONV;
    return status == NPU_OK || rt_reason(rl, "the driver: %s", npu_strerror(status));
}
