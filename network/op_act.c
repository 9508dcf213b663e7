/* op_act.c - activations: each output element from one input element. */
#include "op.h"

void net_cpu_relu(const float *in, float *out, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        out[i] = in[i] > 0.0f ? in[i] : 0.0f;
    }
}

static net_status relu_shape(net_plan *p) {
    if (net_layer_float(p->layer, 0, 0.0f) != 0.0f) {
        return NET_CANNOT(p, "a slope of %g", (double)net_layer_float(p->layer, 0, 0.0f));
    }
    return net_plan_same(p);
}

static void relu_run(const net_work *work) {
    net_cpu_relu(work->in[0], work->out[0], net_shape_elements(net_work_in(work, 0)));
}

static void slope_arrays(const net_layer *layer, net_arrays *a) {
    net_arrays_add(a, NET_ROLE_OTHER, false, net_layer_int(layer, 0, 0));
}

const net_op net_ops_act[] = {
    {"ReLU", 1, 1, 1, 1, NULL, relu_shape, relu_run, NULL}, {"PReLU", 1, 1, 1, 1, slope_arrays, NULL, NULL, NULL},
    {"Clip", 1, 1, 1, 1, NULL, NULL, NULL, NULL},           {"Sigmoid", 1, 1, 1, 1, NULL, NULL, NULL, NULL},
    {"Swish", 1, 1, 1, 1, NULL, NULL, NULL, NULL},          {"TanH", 1, 1, 1, 1, NULL, NULL, NULL, NULL},
    {"Mish", 1, 1, 1, 1, NULL, NULL, NULL, NULL},           {"HardSwish", 1, 1, 1, 1, NULL, NULL, NULL, NULL},
    {"HardSigmoid", 1, 1, 1, 1, NULL, NULL, NULL, NULL},    {"ELU", 1, 1, 1, 1, NULL, NULL, NULL, NULL},
    {"SELU", 1, 1, 1, 1, NULL, NULL, NULL, NULL},           {0},
};
