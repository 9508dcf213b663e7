/* op_norm.c - normalisations and scales of channels. */
#include "op.h"

static void batch_norm_arrays(const net_layer *layer, net_arrays *a) {
    for (int i = 0; i < 4; i++) {
        net_arrays_add(a, NET_ROLE_OTHER, false, net_layer_int(layer, 0, 0));
    }
}

static void scale_arrays(const net_layer *layer, net_arrays *a) {
    int64_t n = net_layer_int(layer, 0, 0);
    if (n == NET_ABSENT) {
        return; /* the scale is the second input */
    }
    net_arrays_add(a, NET_ROLE_OTHER, false, n);
    if (net_layer_int(layer, 1, 0) != 0) {
        net_arrays_add(a, NET_ROLE_BIAS, false, n);
    }
}

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
    {"BatchNorm", 1, 1, 1, 1, batch_norm_arrays, NULL, NULL, NULL},
    {"Scale", 1, 2, 1, 1, scale_arrays, NULL, NULL, NULL},
    {"LRN", 1, 1, 1, 1, NULL, NULL, NULL, NULL},
    {"Quantize", 1, 1, 1, 1, quantize_arrays, NULL, NULL, NULL},
    {"Dequantize", 1, 1, 1, 1, dequantize_arrays, NULL, NULL, NULL},
    {"Requantize", 1, 1, 1, 1, requantize_arrays, NULL, NULL, NULL},
    {0},
};
