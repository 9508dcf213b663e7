/* op_shape.c - sources, copies, and layers that only move elements. */
#include <string.h>

#include "op.h"

static net_status input_shape(net_plan *p) {
    int32_t w = net_layer_int(p->layer, 0, 0);
    int32_t h = net_layer_int(p->layer, 1, 0);
    int32_t c = net_layer_int(p->layer, 2, 0);
    if (w <= 0 || h < 0 || c < 0 || (h == 0 && c > 0)) {
        return NET_CANNOT(p, "an input without a fixed shape (w=%d h=%d c=%d)", w, h, c);
    }
    net_shape shape = {h == 0 ? 1 : c == 0 ? 2 : 3, (uint32_t)w, h == 0 ? 1 : (uint32_t)h, c == 0 ? 1 : (uint32_t)c};
    return net_plan_out(p, 0, shape);
}

/* The caller fills the output. */
static void input_run(const net_work *work) {
    (void)work;
}

static net_status flatten_shape(net_plan *p) {
    return net_plan_out(p, 0, (net_shape){1, net_shape_elements(net_plan_in(p, 0)), 1, 1});
}

static net_status reshape_shape(net_plan *p) {
    const net_shape *in = net_plan_in(p, 0);
    const uint32_t given[3] = {in->w, in->h, in->c};
    const uint32_t keys[3] = {0, 1, 2};
    uint32_t total = net_shape_elements(in);
    if (net_layer_int(p->layer, 11, NET_ABSENT) != NET_ABSENT || net_layer_param(p->layer, 6) != NULL) {
        return NET_CANNOT(p, "%s", "a reshape to four dimensions or by expression");
    }
    uint32_t size[3] = {1, 1, 1};
    uint32_t dims = 0;
    int infer = -1;
    uint64_t product = 1;
    for (int i = 0; i < 3; i++) {
        int32_t value = net_layer_int(p->layer, keys[i], NET_ABSENT);
        if (value == NET_ABSENT) {
            continue;
        }
        if (value < -1 || (value == -1 && infer >= 0) || dims != (uint32_t)i) {
            return NET_BAD(p, "impossible shape (w, h, c) = (%d, %d, %d)", net_layer_int(p->layer, 0, NET_ABSENT),
                           net_layer_int(p->layer, 1, NET_ABSENT), net_layer_int(p->layer, 2, NET_ABSENT));
        }
        dims++;
        infer = value == -1 ? i : infer;
        size[i] = value == -1 ? 1 : value == 0 ? given[i] : (uint32_t)value;
        product = product > NET_MAX_ELEMENTS ? product : product * size[i];
    }
    if (infer >= 0 && product != 0 && total % product == 0) {
        size[infer] = (uint32_t)(total / product);
        product = total;
    }
    if (dims == 0 || product != total) {
        return NET_BAD(p, "cannot give %u elements the shape asked for", total);
    }
    return net_plan_out(p, 0, (net_shape){dims, size[0], size[1], size[2]});
}

static void padding_arrays(const net_layer *layer, net_arrays *a) {
    net_arrays_add(a, NET_ROLE_OTHER, false, net_layer_int(layer, 6, 0));
}

static void memory_data_arrays(const net_layer *layer, net_arrays *a) {
    const uint32_t keys[4] = {0, 1, 11, 2};
    int64_t elements = 1;
    for (int i = 0; i < 4; i++) {
        int64_t d = net_layer_int(layer, keys[i], 0);
        /* Saturates far above any file size, so that the product cannot overflow. */
        elements = d < 0 ? -1 : d > 0 && elements > 0 ? (elements > INT32_MAX ? elements : elements * d) : elements;
    }
    net_arrays_add(a, NET_ROLE_OTHER, false, elements);
}

const net_op net_ops_shape[] = {
    {"Input", 0, 0, 1, 1, NULL, input_shape, input_run, NULL},
    {"MemoryData", 0, 0, 1, 1, memory_data_arrays, NULL, NULL, NULL},
    {"Split", 1, 1, 1, NET_ANY, NULL, net_plan_same, net_run_copy, NULL},
    {"Dropout", 1, 1, 1, 1, NULL, net_plan_same, net_run_copy, NULL},
    {"Noop", 1, 1, 1, 1, NULL, net_plan_same, net_run_copy, NULL},
    {"Flatten", 1, 1, 1, 1, NULL, flatten_shape, net_run_copy, NULL},
    {"Reshape", 1, 1, 1, 1, NULL, reshape_shape, net_run_copy, NULL},
    {"Concat", 1, NET_ANY, 1, 1, NULL, NULL, NULL, NULL},
    {"Slice", 1, 1, 1, NET_ANY, NULL, NULL, NULL, NULL},
    {"Crop", 1, 2, 1, 1, NULL, NULL, NULL, NULL},
    {"Padding", 1, 1, 1, 1, padding_arrays, NULL, NULL, NULL},
    {"Permute", 1, 1, 1, 1, NULL, NULL, NULL, NULL},
    {"ShuffleChannel", 1, 1, 1, 1, NULL, NULL, NULL, NULL},
    {0},
};
