/* op_table.c - the table of layer types, and functions that its rows share. */
#include <string.h>

#include "op.h"

static const net_op *const families[] = {
    net_ops_conv,   net_ops_pool,   net_ops_eltwise, net_ops_act,    net_ops_norm,  net_ops_shape,
    net_ops_border, net_ops_resize, net_ops_detect,  net_ops_boxes,  net_ops_roi,   net_ops_matmul,
    net_ops_attn,   net_ops_sdpa,   net_ops_rnn,     net_ops_layout, net_ops_point,
};

const net_op *net_op_find(const char *type) {
    for (size_t i = 0; i < sizeof families / sizeof families[0]; i++) {
        for (const net_op *op = families[i]; op->type != NULL; op++) {
            if (strcmp(op->type, type) == 0) {
                return op;
            }
        }
    }
    return NULL;
}

void net_op_arrays(const net_layer *layer, net_arrays *arrays) {
    const net_op *op = net_op_find(layer->type);
    arrays->count = 0;
    if (op != NULL && op->arrays != NULL) {
        op->arrays(layer, arrays);
    }
}

void net_arrays_add(net_arrays *arrays, net_role role, bool tagged, int64_t elements) {
    arrays->item[arrays->count].role = role;
    arrays->item[arrays->count].tagged = tagged;
    arrays->item[arrays->count].elements = elements;
    arrays->count++;
}

const net_shape *net_plan_in(const net_plan *p, uint32_t i) {
    return &p->graph->blob[p->layer->in[i]].shape;
}

net_status net_plan_out(net_plan *p, uint32_t i, net_shape shape) {
    uint64_t plane = (uint64_t)shape.w * shape.h;
    uint64_t maps = shape.dims == 4 ? (uint64_t)shape.c * shape.d : shape.c;
    if (plane == 0 || maps == 0 || plane > NET_MAX_ELEMENTS || maps > NET_MAX_ELEMENTS ||
        plane * maps > NET_MAX_ELEMENTS) {
        return NET_BAD(p, "impossible output shape w=%u h=%u c=%u", shape.w, shape.h, shape.c);
    }
    p->elements += plane * maps;
    if (p->elements > NET_MAX_ELEMENTS) {
        return NET_BAD(p, "the blobs up to here hold more than %u elements", NET_MAX_ELEMENTS);
    }
    p->graph->blob[p->layer->out[i]].shape = shape;
    return NET_OK;
}

net_status net_plan_number(net_plan *p, uint32_t key, int32_t absent, int32_t lo, int32_t hi, const char *what,
                           uint32_t *out) {
    int32_t value = net_layer_int(p->layer, key, absent);
    if (value < lo || value > hi) {
        return NET_BAD(p, "%s (key %u) is %d, expected %d..%d", what, key, value, lo, hi);
    }
    *out = (uint32_t)value;
    return NET_OK;
}

net_status net_plan_same(net_plan *p) {
    net_shape in = *net_plan_in(p, 0);
    net_status status = NET_OK;
    for (uint32_t i = 0; status == NET_OK && i < p->layer->num_out; i++) {
        status = net_plan_out(p, i, in);
    }
    return status;
}

net_status net_plan_axis(net_plan *p, uint32_t key, int32_t absent, uint32_t *axis) {
    int32_t value = net_layer_int(p->layer, key, absent);
    int32_t dims = (int32_t)net_plan_in(p, 0)->dims;
    if (value < -dims || value >= dims) {
        return NET_BAD(p, "axis %d of a blob with %d dimensions", value, dims);
    }
    *axis = (uint32_t)(value < 0 ? value + dims : value);
    return NET_OK;
}

const net_shape *net_work_in(const net_work *work, uint32_t i) {
    return &work->graph->blob[work->layer->in[i]].shape;
}

const net_shape *net_work_out(const net_work *work, uint32_t i) {
    return &work->graph->blob[work->layer->out[i]].shape;
}

void net_run_copy(const net_work *work) {
    size_t bytes = net_shape_elements(net_work_in(work, 0)) * sizeof(float);
    for (uint32_t i = 0; i < work->layer->num_out; i++) {
        memcpy(work->out[i], work->in[0], bytes);
    }
}

net_axis net_shape_axis(const net_shape *shape, uint32_t axis) {
    uint32_t size[NET_MAX_DIMS];
    net_axis a = {1, 1, 1};
    net_shape_outer(shape, size);
    for (uint32_t i = 0; i < NET_MAX_DIMS; i++) {
        uint32_t *part = i < axis ? &a.outer : i == axis ? &a.n : &a.step;
        *part *= size[i];
    }
    return a;
}
