/* op_act.c - activations: each output element from one input element. Those with an exponential use libm, so their bits
 * may differ between machines. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "op.h"

/* expf() overflows above it; ncnn clips here. */
#define SIGMOID_LIMIT 88.3762626647949f

/* Number of parameters of a fused activation (key 9), by its number in ncnn. */
static const uint32_t fused_params[] = {0, 0, 1, 2, 0, 0, 2};

net_status net_plan_act(net_plan *p, uint32_t type_key, uint32_t params_key, net_act *act) {
    int32_t type = net_layer_int(p->layer, type_key, 0);
    uint32_t count;
    const net_value *value = net_layer_array(p->layer, params_key, &count);
    *act = (net_act){NET_ACT_NONE, 0.0f, 0.0f};
    if (type < 0 || type >= (int32_t)(sizeof fused_params / sizeof fused_params[0])) {
        return NET_CANNOT(p, "activation type %d", type);
    }
    if (count < fused_params[type]) {
        return NET_BAD(p, "activation type %d with %u parameters (key %u), expected %u", type, count, params_key,
                       fused_params[type]);
    }
    act->type = (net_act_type)type;
    act->a = fused_params[type] > 0 ? net_value_float(value[0]) : 0.0f;
    act->b = fused_params[type] > 1 ? net_value_float(value[1]) : 0.0f;
    return NET_OK;
}

static float sigmoid(float x) {
    float v = x < -SIGMOID_LIMIT ? -SIGMOID_LIMIT : x > SIGMOID_LIMIT ? SIGMOID_LIMIT : x;
    return 1.0f / (1.0f + expf(-v));
}

/* 0 below -beta/alpha, 1 above 1/alpha - beta/alpha, a line between. */
static float hard_sigmoid(float x, float alpha, float beta) {
    float lower = -beta / alpha;
    float upper = 1.0f / alpha + lower;
    return x < lower ? 0.0f : x > upper ? 1.0f : x * alpha + beta;
}

static float act_value(const net_act *act, float x) {
    switch (act->type) {
    case NET_ACT_RELU:
        return x > 0.0f ? x : 0.0f;
    case NET_ACT_LEAKY:
        return x > 0.0f ? x : x * act->a;
    case NET_ACT_CLIP:
        return x < act->a ? act->a : x > act->b ? act->b : x;
    case NET_ACT_SIGMOID:
        return sigmoid(x);
    case NET_ACT_MISH:
        return x * tanhf(logf(expf(x) + 1.0f));
    case NET_ACT_HARD_SWISH: {
        float h = hard_sigmoid(x, act->a, act->b);
        return h == 0.0f ? 0.0f : h == 1.0f ? x : x * h;
    }
    case NET_ACT_SWISH:
        return x / (1.0f + expf(-x));
    case NET_ACT_TANH:
        return tanhf(x);
    case NET_ACT_HARD_SIGMOID:
        return hard_sigmoid(x, act->a, act->b);
    case NET_ACT_ELU:
        return x < 0.0f ? act->a * (expf(x) - 1.0f) : x;
    case NET_ACT_SELU:
        return x < 0.0f ? (expf(x) - 1.0f) * (act->a * act->b) : x * act->b;
    case NET_ACT_SOFTPLUS: /* without an overflow of the exponential */
        return (x > 0.0f ? x : 0.0f) + log1pf(expf(-fabsf(x)));
    case NET_ACT_GELU: /* as ncnn has it */
        return 0.5f * x * erfcf(-0.70710678f * x);
    case NET_ACT_GELU_TANH:
        return 0.5f * x * (1.0f + tanhf(0.79788452f * (x + 0.044715f * x * x * x)));
    case NET_ACT_NONE:
    default:
        return x;
    }
}

void net_act_apply(const net_act *act, const float *in, float *out, size_t count) {
    if (act->type == NET_ACT_NONE && in == out) {
        return;
    }
    if (act->type == NET_ACT_RELU) {
        for (size_t i = 0; i < count; i++) {
            out[i] = in[i] > 0.0f ? in[i] : 0.0f;
        }
        return;
    }
    for (size_t i = 0; i < count; i++) {
        out[i] = act_value(act, in[i]);
    }
}

/* ---- activation layers ---- */

typedef struct act_default {
    net_act_type type;
    const char *name;
    float a, b; /* of keys 0 and 1 */
} act_default;

static const act_default layers[] = {
    {NET_ACT_LEAKY, "ReLU", 0.0f, 0.0f},
    {NET_ACT_CLIP, "Clip", -FLT_MAX, FLT_MAX},
    {NET_ACT_SIGMOID, "Sigmoid", 0.0f, 0.0f},
    {NET_ACT_SWISH, "Swish", 0.0f, 0.0f},
    {NET_ACT_TANH, "TanH", 0.0f, 0.0f},
    {NET_ACT_MISH, "Mish", 0.0f, 0.0f},
    {NET_ACT_HARD_SWISH, "HardSwish", 0.2f, 0.5f},
    {NET_ACT_HARD_SIGMOID, "HardSigmoid", 0.2f, 0.5f},
    {NET_ACT_ELU, "ELU", 0.1f, 0.0f},
    {NET_ACT_SELU, "SELU", 1.67326324f, 1.050700987f},
    {NET_ACT_SOFTPLUS, "Softplus", 0.0f, 0.0f},
    {NET_ACT_GELU, "GELU", 0.0f, 0.0f},
};

static net_status act_layer_shape(net_plan *p) {
    net_act *act = &p->layer->act;
    *act = (net_act){NET_ACT_NONE, 0.0f, 0.0f};
    for (size_t i = 0; i < sizeof layers / sizeof layers[0]; i++) {
        if (strcmp(layers[i].name, p->layer->type) == 0) {
            *act = (net_act){layers[i].type, net_layer_float(p->layer, 0, layers[i].a),
                             net_layer_float(p->layer, 1, layers[i].b)};
        }
    }
    if (act->type == NET_ACT_LEAKY && act->a == 0.0f) {
        act->type = NET_ACT_RELU; /* -0 and NaN become +0, as x * 0 would not */
    }
    if (act->type == NET_ACT_GELU && net_layer_int(p->layer, 0, 0) != 0) {
        act->type = NET_ACT_GELU_TANH;
    }
    bool hard = act->type == NET_ACT_HARD_SWISH || act->type == NET_ACT_HARD_SIGMOID;
    if (hard && !(act->a > 0.0f)) {
        return NET_BAD(p, "alpha (key 0) is %g, expected more than 0", (double)act->a);
    }
    return net_plan_same(p);
}

bool net_op_is_act(const net_op *op) {
    return op->shape == act_layer_shape;
}

bool net_act_is_exact(const net_layer *layer) {
    return net_op_is_act(layer->op) && net_layer_int(layer, 8, 0) != 0;
}

static void act_layer_run(const net_work *work) {
    net_act_apply(&work->layer->act, work->in[0], work->out[0], net_shape_elements(net_work_in(work, 0)));
}

static void prelu_arrays(const net_layer *layer, net_arrays *a) {
    net_arrays_add(a, NET_ROLE_SCALE, false, net_layer_int(layer, 0, 0));
}

/* One slope for all, or one for each step of the outermost dimension. */
static net_status prelu_shape(net_plan *p) {
    uint32_t size[NET_MAX_DIMS];
    uint32_t slopes;
    net_shape_outer(net_plan_in(p, 0), size);
    net_status status = net_plan_number(p, 0, 0, 1, INT32_MAX, "number of slopes", &slopes);
    if (status == NET_OK && slopes != 1 && slopes != size[0]) {
        return NET_BAD(p, "%u slopes (key 0), expected 1 or %u", slopes, size[0]);
    }
    return status == NET_OK ? net_plan_same(p) : status;
}

static void prelu_run(const net_work *work) {
    const net_tensor *slope = net_layer_tensor(work->layer, NET_ROLE_SCALE);
    net_axis a = net_shape_axis(net_work_in(work, 0), 0);
    for (uint32_t i = 0; i < a.n; i++) {
        net_act act = {NET_ACT_LEAKY, slope->f32[slope->count == 1 ? 0 : i], 0.0f};
        net_act_apply(&act, work->in[0] + (size_t)i * a.step, work->out[0] + (size_t)i * a.step, a.step);
    }
}

const net_op net_ops_act[] = {
    {"ReLU", 1, 1, 1, 1, NULL, act_layer_shape, act_layer_run, NULL, true},
    {"PReLU", 1, 1, 1, 1, prelu_arrays, prelu_shape, prelu_run, NULL, false},
    {"Clip", 1, 1, 1, 1, NULL, act_layer_shape, act_layer_run, NULL, true},
    {"Sigmoid", 1, 1, 1, 1, NULL, act_layer_shape, act_layer_run, NULL, true},
    {"Swish", 1, 1, 1, 1, NULL, act_layer_shape, act_layer_run, NULL, true},
    {"TanH", 1, 1, 1, 1, NULL, act_layer_shape, act_layer_run, NULL, true},
    {"Mish", 1, 1, 1, 1, NULL, act_layer_shape, act_layer_run, NULL, true},
    {"HardSwish", 1, 1, 1, 1, NULL, act_layer_shape, act_layer_run, NULL, true},
    {"HardSigmoid", 1, 1, 1, 1, NULL, act_layer_shape, act_layer_run, NULL, true},
    {"ELU", 1, 1, 1, 1, NULL, act_layer_shape, act_layer_run, NULL, true},
    {"SELU", 1, 1, 1, 1, NULL, act_layer_shape, act_layer_run, NULL, true},
    {"Softplus", 1, 1, 1, 1, NULL, act_layer_shape, act_layer_run, NULL, true},
    {"GELU", 1, 1, 1, 1, NULL, act_layer_shape, act_layer_run, NULL, true},
    {0},
};
