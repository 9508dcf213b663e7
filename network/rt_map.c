/* rt_map.c - selects the place of each layer: one function for each type for which the NPU has an operator. Layers that
 * the driver refuses run in C, with the driver's status as the reason. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rt.h"

/* Addresses for checks by the driver, before memory is planned. */
#define PROBE_IN 0x10000000u
#define PROBE_IN2 0x50000000u
#define PROBE_OUT 0x90000000u
#define PROBE_ARRAY 0xF0000000u

bool rt_reason(rt_layer *rl, const char *format, ...) {
    va_list args;
    va_start(args, format);
    (void)vsnprintf(rl->reason, sizeof rl->reason, format, args);
    va_end(args);
    rl->kind = RT_CPU;
    return false;
}

static uint32_t bits_of(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

bool rt_act(const net_act *act, npu_act *type, uint32_t params[2]) {
    static const struct {
        net_act_type net;
        npu_act npu;
    } same[] = {{NET_ACT_NONE, NPU_ACT_NONE},
                {NET_ACT_RELU, NPU_ACT_RELU},
                {NET_ACT_LEAKY, NPU_ACT_LEAKY},
                {NET_ACT_CLIP, NPU_ACT_CLIP},
                {NET_ACT_SIGMOID, NPU_ACT_SIGMOID},
                {NET_ACT_MISH, NPU_ACT_MISH},
                {NET_ACT_HARD_SWISH, NPU_ACT_HARDSWISH},
                {NET_ACT_SWISH, NPU_ACT_SWISH},
                {NET_ACT_TANH, NPU_ACT_TANH},
                {NET_ACT_HARD_SIGMOID, NPU_ACT_HARDSIGMOID},
                {NET_ACT_ELU, NPU_ACT_ELU},
                {NET_ACT_SOFTPLUS, NPU_ACT_SOFTPLUS},
                {NET_ACT_GELU, NPU_ACT_GELU},
                {NET_ACT_GELU_TANH, NPU_ACT_GELU_TANH}};
    for (size_t i = 0; i < sizeof same / sizeof same[0]; i++) {
        if (same[i].net == act->type) {
            *type = same[i].npu;
            params[0] = bits_of(act->a);
            params[1] = bits_of(act->b);
            return true;
        }
    }
    return false;
}

static const net_shape *in_shape(const net_rt *rt, uint32_t number, uint32_t i) {
    return &rt->graph->blob[rt->graph->layer[number].in[i]].shape;
}

static const net_shape *out_shape(const net_rt *rt, uint32_t number) {
    return &rt->graph->blob[rt->graph->layer[number].out[0]].shape;
}

/* ---- element by element ---- */

/* The blob with its outermost dimension as channels. */
static npu_tensor by_channels(const net_rt *rt, uint32_t blob) {
    const net_shape *s = &rt->graph->blob[blob].shape;
    npu_tensor t = {.w = 1, .h = 1, .c = s->w, .step = 4, .layout = NPU_FP32_NCHW};
    if (s->dims == 2) {
        t = (npu_tensor){.w = s->w, .h = 1, .c = s->h, .step = s->w * 4, .layout = NPU_FP32_NCHW};
    }
    return s->dims == 3 ? rt_tensor(rt, blob, 0) : t;
}

/* Does the driver accept it? */
static bool probe(net_rt *rt, uint32_t number) {
    rt_layer *rl = &rt->layer[number];
    const uint32_t in[2] = {PROBE_IN, PROBE_IN2};
    npu_job job;
    rl->p.addr = rl->q.addr = PROBE_ARRAY;
    rt_address(rl, in, PROBE_OUT);
    npu_status status = rl->kind == RT_POOL      ? npu_job_pool(&job, &rt->npu, &rl->pool)
                        : rl->kind == RT_ELTWISE ? npu_job_eltwise(&job, &rt->npu, &rl->elt)
                                                 : npu_job_upsample2x(&job, &rt->npu, &rl->elt.a, &rl->elt.out);
    return status == NPU_OK || rt_reason(rl, "the driver: %s", npu_strerror(status));
}

/* An operation of one blob, or of one with operands by channel. */
static bool eltwise(net_rt *rt, uint32_t number, npu_alu_op op, bool channels) {
    const net_layer *layer = &rt->graph->layer[number];
    rt_layer *rl = &rt->layer[number];
    rl->kind = RT_ELTWISE;
    rl->elt.op = op;
    rl->elt.a = channels ? by_channels(rt, layer->in[rl->swapped]) : rt_tensor(rt, layer->in[rl->swapped], 0);
    rl->elt.out = channels ? by_channels(rt, layer->out[0]) : rt_tensor(rt, layer->out[0], 0);
    if (rl->elt.p_kind == NPU_VECTOR || rl->elt.q_kind == NPU_VECTOR) {
        rl->elt.b = rl->elt.a;
    }
    return probe(rt, number);
}

static bool map_act(net_rt *rt, uint32_t number) {
    const net_act *act = &rt->graph->layer[number].act;
    rt_layer *rl = &rt->layer[number];
    if (net_act_is_exact(&rt->graph->layer[number])) {
        return rt_reason(rl, "key 8: the function itself, not the NPU's fit");
    }
    if (!rt_act(act, &rl->elt.act, rl->elt.act_p)) {
        return rt_reason(rl, "the NPU has no %s", rt->graph->layer[number].type);
    }
    return eltwise(rt, number, NPU_ALU_COPY, false);
}

/* A new array of `count` floats to be uploaded. */
static float *new_array(rt_array *array, uint32_t count) {
    array->data = calloc((size_t)count + 1, sizeof *array->data);
    array->bytes = count * 4;
    return array->data;
}

static bool no_memory(rt_layer *rl) {
    return rt_reason(rl, "out of memory for its factors");
}

static uint32_t channels_of(const net_rt *rt, uint32_t number) {
    uint32_t size[NET_MAX_DIMS];
    net_shape_outer(in_shape(rt, number, 0), size);
    return size[0];
}

static bool map_prelu(net_rt *rt, uint32_t number) {
    rt_layer *rl = &rt->layer[number];
    const net_tensor *slope = net_layer_tensor(&rt->graph->layer[number], NET_ROLE_SCALE);
    if (slope->count == 1) {
        rl->elt.p = bits_of(slope->f32[0]);
        return eltwise(rt, number, NPU_ALU_PRELU, false);
    }
    if (new_array(&rl->p, slope->count) == NULL) {
        return no_memory(rl);
    }
    memcpy(rl->p.data, slope->f32, slope->count * sizeof *slope->f32);
    rl->elt.p_kind = NPU_CHANNEL;
    return eltwise(rt, number, NPU_ALU_PRELU, true);
}

static bool map_batch_norm(net_rt *rt, uint32_t number) {
    rt_layer *rl = &rt->layer[number];
    uint32_t channels = channels_of(rt, number);
    if (new_array(&rl->p, channels) == NULL || new_array(&rl->q, channels) == NULL) {
        return no_memory(rl);
    }
    for (uint32_t c = 0; c < channels; c++) {
        net_batch_norm_line(&rt->graph->layer[number], c, &rl->p.data[c], &rl->q.data[c]);
    }
    rl->elt.p_kind = rl->elt.q_kind = NPU_CHANNEL;
    return eltwise(rt, number, NPU_ALU_MULADD, true);
}

/* The second input has one element for each channel of the first. */
static bool map_by_channel(net_rt *rt, uint32_t number, npu_alu_op op) {
    rt_layer *rl = &rt->layer[number];
    rl->by_channel = true;
    rl->elt.p_kind = NPU_CHANNEL;
    return eltwise(rt, number, op, true);
}

static bool map_scale(net_rt *rt, uint32_t number) {
    const net_layer *layer = &rt->graph->layer[number];
    const net_tensor *bias = net_layer_tensor(layer, NET_ROLE_BIAS);
    rt_layer *rl = &rt->layer[number];
    uint32_t channels = channels_of(rt, number);
    if (layer->num_in == 2) {
        return rt_gapless(in_shape(rt, number, 1)) ? map_by_channel(rt, number, NPU_ALU_MUL)
                                                   : rt_reason(rl, "factors that are not contiguous");
    }
    if (new_array(&rl->p, channels) == NULL || (bias != NULL && new_array(&rl->q, channels) == NULL)) {
        return no_memory(rl);
    }
    memcpy(rl->p.data, net_layer_tensor(layer, NET_ROLE_SCALE)->f32, rl->p.bytes);
    rl->elt.p_kind = NPU_CHANNEL;
    if (bias != NULL) {
        memcpy(rl->q.data, bias->f32, rl->q.bytes);
        rl->elt.q_kind = NPU_CHANNEL;
    }
    return eltwise(rt, number, bias == NULL ? NPU_ALU_MUL : NPU_ALU_MULADD, true);
}

static bool map_dropout(net_rt *rt, uint32_t number) {
    rt_layer *rl = &rt->layer[number];
    float scale = net_layer_float(&rt->graph->layer[number], 0, 1.0f);
    if (scale == 1.0f) {
        rl->kind = RT_NOTHING;
        return true;
    }
    rl->elt.p = bits_of(scale);
    return eltwise(rt, number, NPU_ALU_MUL, false);
}

static bool map_eltwise(net_rt *rt, uint32_t number) {
    static const npu_alu_op ops[] = {NPU_ALU_MUL, NPU_ALU_ADD, NPU_ALU_MAX};
    const net_layer *layer = &rt->graph->layer[number];
    uint32_t coeffs;
    const net_value *value = net_layer_array(layer, 1, &coeffs);
    int32_t op = net_layer_int(layer, 0, 0);
    for (uint32_t i = 0; op == 1 && i < coeffs; i++) {
        if (net_value_float(value[i]) != 1.0f) {
            return rt_reason(&rt->layer[number], "a sum with coefficients");
        }
    }
    rt->layer[number].elt.p_kind = layer->num_in > 1 ? NPU_VECTOR : NPU_SCALAR;
    return eltwise(rt, number, layer->num_in > 1 ? ops[op] : NPU_ALU_COPY, false);
}

bool rt_binary_op(int32_t op, bool swapped, npu_alu_op *out) {
    switch (op) {
    case 0:
        *out = NPU_ALU_ADD;
        return true;
    case 1:
    case 7:
        *out = (op == 1) != swapped ? NPU_ALU_SUB : NPU_ALU_RSUB;
        return true;
    case 2:
        *out = NPU_ALU_MUL;
        return true;
    case 4:
        *out = NPU_ALU_MAX;
        return true;
    case 5:
        *out = NPU_ALU_MIN;
        return true;
    default:
        return false;
    }
}

/* `small` has one element for each channel of `large`, contiguous. */
static bool one_per_channel(const net_shape *large, const net_shape *small) {
    uint32_t size[NET_MAX_DIMS];
    net_shape_outer(large, size);
    bool flat = small->dims == 1 || (small->dims == 3 && small->w == 1 && small->h == 1);
    return large->dims == 3 && flat && net_shape_elements(small) == size[0] && size[0] > 1;
}

static bool map_binary(net_rt *rt, uint32_t number) {
    const net_layer *layer = &rt->graph->layer[number];
    rt_layer *rl = &rt->layer[number];
    int32_t code = net_layer_int(layer, 0, 0);
    npu_alu_op op;
    if (layer->num_in == 2 && !net_shape_same(in_shape(rt, number, 0), in_shape(rt, number, 1))) {
        rl->swapped = one_per_channel(in_shape(rt, number, 1), in_shape(rt, number, 0));
        if (!rl->swapped && !one_per_channel(in_shape(rt, number, 0), in_shape(rt, number, 1))) {
            return rt_map_broadcast(rt, number, code);
        }
        return rt_binary_op(code, rl->swapped, &op) ? map_by_channel(rt, number, op)
                                                    : rt_reason(rl, "operation %d", code);
    }
    if (!rt_binary_op(code, false, &op)) {
        return rt_reason(rl, "operation %d", code);
    }
    rl->elt.p_kind = layer->num_in == 2 ? NPU_VECTOR : NPU_SCALAR;
    rl->elt.p = bits_of(net_layer_float(layer, 2, 0.0f));
    return eltwise(rt, number, op, false);
}

static bool map_unary(net_rt *rt, uint32_t number) {
    rt_layer *rl = &rt->layer[number];
    int32_t op = net_layer_int(&rt->graph->layer[number], 0, 0);
    const npu_func func = op == 6 ? NPU_FUNC_RSQRT : op == 7 ? NPU_FUNC_EXP : op == 15 ? NPU_FUNC_RECIP : NPU_FUNC_NONE;
    if (func != NPU_FUNC_NONE) {
        rl->elt.func = func;
        return eltwise(rt, number, NPU_ALU_COPY, false);
    }
    if (op > 1 && op != 4) {
        return rt_reason(rl, "operation %d", op);
    }
    rl->elt.p = bits_of(-1.0f);
    rl->elt.p_kind = op == 4 ? NPU_VECTOR : NPU_SCALAR; /* the square: x * x */
    return eltwise(rt, number, op == 0 ? NPU_ALU_ABS : NPU_ALU_MUL, false);
}

static bool map_threshold(net_rt *rt, uint32_t number) {
    rt->layer[number].elt.p = bits_of(net_layer_float(&rt->graph->layer[number], 0, 0.0f));
    return eltwise(rt, number, NPU_ALU_GT, false);
}

/* ---- maps ---- */

static bool pool_window(rt_layer *rl, const net_pool *pool, const net_shape *is, const net_shape *os) {
    npu_pool *p = &rl->pool;
    p->type = pool->max ? NPU_POOL_CTRL_TYPE_MAX : NPU_POOL_CTRL_TYPE_AVG;
    if (pool->adaptive && (os->dims == 1 || (os->w == 1 && os->h == 1))) {
        p->global = true;
        return true;
    }
    if (pool->adaptive) { /* windows of one size that do not overlap */
        if (is->w % os->w != 0 || is->h % os->h != 0) {
            return rt_reason(rl, "windows of different sizes");
        }
        p->kw = p->stride_w = is->w / os->w;
        p->kh = p->stride_h = is->h / os->h;
        return true;
    }
    p->kw = pool->kernel_w;
    p->kh = pool->kernel_h;
    p->stride_w = pool->stride_w;
    p->stride_h = pool->stride_h;
    p->pad_l = pool->pad_l;
    p->pad_r = pool->pad_r;
    p->pad_t = pool->pad_t;
    p->pad_b = pool->pad_b;
    p->exclude_pad = !pool->count_padding;
    return true;
}

static bool map_pool(net_rt *rt, uint32_t number) {
    const net_layer *layer = &rt->graph->layer[number];
    rt_layer *rl = &rt->layer[number];
    uint32_t bytes = 0;
    rl->pool.in = rt_tensor(rt, layer->in[0], 0);
    rl->pool.out = by_channels(rt, layer->out[0]);
    if (!pool_window(rl, &layer->pool, in_shape(rt, number, 0), out_shape(rt, number))) {
        return false;
    }
    npu_status status = npu_pool_table_bytes(&rl->pool, &bytes);
    if (status == NPU_OK && bytes > 0) {
        if (new_array(&rl->p, bytes / 4) == NULL) {
            return no_memory(rl);
        }
        status = npu_pool_make_table(&rl->pool, rl->p.data, bytes);
    }
    if (status != NPU_OK) {
        return rt_reason(rl, "the driver: %s", npu_strerror(status));
    }
    rl->pool.table_bytes = bytes;
    rl->kind = RT_POOL;
    return probe(rt, number);
}

/* The mean, the sum or the largest element of maps, of their rows or of their columns. A blob with fewer than three
 * dimensions is one map. */
static bool map_reduction(net_rt *rt, uint32_t number) {
    const net_layer *layer = &rt->graph->layer[number];
    const net_shape *is = in_shape(rt, number, 0);
    const net_shape *os = out_shape(rt, number);
    rt_layer *rl = &rt->layer[number];
    net_reduction r;
    if (!net_op_reduces_maps(layer, is, &r)) {
        return rt_reason(rl, "a reduction other than the mean, the sum or the maximum of each map");
    }
    rl->kind = RT_POOL;
    rl->pool.type = r.mean || r.sum ? NPU_POOL_CTRL_TYPE_AVG : NPU_POOL_CTRL_TYPE_MAX;
    rl->pool.sum = r.sum;
    if (r.rows && r.columns && is->dims == 3 && !r.sum) {
        rl->pool.global = true;
        rl->pool.in = rt_tensor(rt, layer->in[0], 0);
        rl->pool.out = by_channels(rt, layer->out[0]);
        return probe(rt, number);
    }
    const net_shape map = {3, is->w, is->h, is->c, 1};
    const net_shape left = {3, r.columns ? 1 : is->w, r.rows ? 1 : is->h, is->c, 1};
    uint32_t gapless = left.w * left.h * 4;
    rl->pool.kw = r.columns ? is->w : 1;
    rl->pool.kh = r.rows ? is->h : 1;
    rl->pool.stride_w = rl->pool.stride_h = 1;
    rl->pool.in =
        (npu_tensor){.step = (uint32_t)rt_cstep(&map), .w = map.w, .h = map.h, .c = map.c, .layout = NPU_FP32_NCHW};
    rl->pool.out = (npu_tensor){.step = os->dims == 3 || map.c == 1 ? (uint32_t)rt_cstep(&left) : gapless,
                                .w = left.w,
                                .h = left.h,
                                .c = left.c,
                                .layout = NPU_FP32_NCHW};
    return probe(rt, number);
}

static bool map_interp(net_rt *rt, uint32_t number) {
    const net_layer *layer = &rt->graph->layer[number];
    const net_shape *is = in_shape(rt, number, 0);
    const net_shape *os = out_shape(rt, number);
    rt_layer *rl = &rt->layer[number];
    /* The factors of the settings decide which element is nearest, even where sizes are given. */
    bool twice = net_layer_float(layer, 1, 2.0f) == 2.0f && net_layer_float(layer, 2, 2.0f) == 2.0f;
    if (net_layer_int(layer, 0, 0) != 1) {
        return rt_reason(rl, "interpolation other than nearest");
    }
    if (is->dims != 3 || !twice || os->w != 2 * is->w || os->h != 2 * is->h) {
        return rt_reason(rl, "a size other than twice the input's");
    }
    rl->kind = RT_UPSAMPLE;
    rl->elt.a = rt_tensor(rt, layer->in[0], 0);
    rl->elt.out = rt_tensor(rt, layer->out[0], 0);
    return probe(rt, number);
}

/* ---- nothing to compute ---- */

static bool map_nothing(net_rt *rt, uint32_t number) {
    rt->layer[number].kind = RT_NOTHING;
    return true;
}

/* One blob is its own copy; several inputs are copied one by one. */
static bool map_noop(net_rt *rt, uint32_t number) {
    rt->layer[number].kind = RT_NOTHING;
    return rt->graph->layer[number].num_in == 1 || rt_reason(&rt->layer[number], "more than one input");
}

/* Another shape for the same elements; between maps with gaps between their channels they have to be moved. */
static bool map_reshape(net_rt *rt, uint32_t number) {
    if (rt->graph->layer[number].num_in > 1) {
        return rt_reason(&rt->layer[number], "a shape by expression over several blobs");
    }
    bool moves = !net_shape_same(in_shape(rt, number, 0), out_shape(rt, number)) &&
                 (!rt_gapless(in_shape(rt, number, 0)) || !rt_gapless(out_shape(rt, number)));
    rt->layer[number].kind = RT_NOTHING;
    return !moves || rt_reason(&rt->layer[number], "channels with gaps between them in device memory");
}

static bool map_concat(net_rt *rt, uint32_t number) {
    rt->layer[number].kind = RT_NOTHING;
    if (rt->options.copy_concat && net_op_joins(&rt->graph->layer[number]) && out_shape(rt, number)->dims % 2 != 0) {
        return rt_map_concat_copies(rt, number);
    }
    return net_op_joins(&rt->graph->layer[number]) ||
           rt_reason(&rt->layer[number], "along an axis other than the outermost one");
}

static bool map_abs(net_rt *rt, uint32_t number) {
    return eltwise(rt, number, NPU_ALU_ABS, false);
}

static bool map_bias(net_rt *rt, uint32_t number) {
    const net_tensor *bias = net_layer_tensor(&rt->graph->layer[number], NET_ROLE_BIAS);
    rt_layer *rl = &rt->layer[number];
    if (new_array(&rl->p, bias->count) == NULL) {
        return no_memory(rl);
    }
    memcpy(rl->p.data, bias->f32, rl->p.bytes);
    rl->elt.p_kind = NPU_CHANNEL;
    return eltwise(rt, number, NPU_ALU_ADD, true);
}

static const struct {
    const char *type;
    bool (*map)(net_rt *rt, uint32_t number);
} rows[] = {
    {"Input", map_nothing},
    {"Split", map_nothing},
    {"Slice", rt_map_slice},
    {"Crop", rt_map_crop},
    {"ShuffleChannel", rt_map_shuffle},
    {"Reduction", map_reduction},
    {"Noop", map_noop},
    {"Flatten", map_reshape},
    {"Reshape", map_reshape},
    {"Squeeze", map_reshape},
    {"ExpandDims", map_reshape},
    {"DeepCopy", map_nothing},
    {"AbsVal", map_abs},
    {"Bias", map_bias},
    {"Concat", map_concat},
    {"Dropout", map_dropout},
    {"Pooling", map_pool},
    {"Interp", map_interp},
    {"Eltwise", map_eltwise},
    {"BinaryOp", map_binary},
    {"UnaryOp", map_unary},
    {"Threshold", map_threshold},
    {"BatchNorm", map_batch_norm},
    {"Scale", map_scale},
    {"PReLU", map_prelu},
    {"Softmax", rt_map_softmax},
    {"LayerNorm", rt_map_norm},
    {"RMSNorm", rt_map_norm},
    {"Convolution", rt_map_conv},
    {"ConvolutionDepthWise", rt_map_conv},
    {"InnerProduct", rt_map_conv},
};

static void map_layer(net_rt *rt, uint32_t number) {
    const net_layer *layer = &rt->graph->layer[number];
    rt_layer *rl = &rt->layer[number];
    rl->fused = NET_NONE;
    if (net_op_is_act(layer->op)) {
        (void)map_act(rt, number);
        return;
    }
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (strcmp(rows[i].type, layer->type) == 0) {
            (void)rows[i].map(rt, number);
            return;
        }
    }
    net_product list[NET_MAX_PRODUCTS];
    uint32_t times[NET_MAX_PRODUCTS];
    if (net_layer_products(rt->graph, layer, list, times) > 0) {
        (void)rt_map_products(rt, number);
        return;
    }
    (void)rt_reason(rl, "the NPU has no %.40s", layer->type);
}

net_status rt_map(net_rt *rt, net_error *err) {
    net_status status = NET_OK;
    for (uint32_t i = 0; i < rt->graph->num_layers; i++) {
        map_layer(rt, i);
    }
    for (uint32_t i = 0; i < rt->graph->num_layers && status == NET_OK; i++) {
        status = rt_requantised(rt, i, err);
    }
    for (uint32_t i = 0; i < rt->graph->num_layers; i++) {
        rt_fuse(rt, i);
    }
    return status;
}
