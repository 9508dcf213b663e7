/* op_shape.c - sources, copies, and layers that only move elements. */
#include <string.h>

#include "op.h"

/* Shape of a source from its settings. */
static net_status input_shape(net_plan *p) {
    int32_t w = net_layer_int(p->layer, 0, 0);
    int32_t h = net_layer_int(p->layer, 1, 0);
    int32_t d = net_layer_int(p->layer, 11, 0);
    int32_t c = net_layer_int(p->layer, 2, 0);
    if (w == 0 && h == 0 && c == 0 && p->graph->free_input.dims != 0 && p->layer->kind == NET_INPUT) {
        return net_plan_out(p, 0, p->graph->free_input);
    }
    if (w <= 0 || h < 0 || c < 0 || d < 0 || (h == 0 && c > 0) || (c == 0 && d > 0)) {
        return net_fail(p->err, NET_ERR_UNSUPPORTED,
                        NET_WHERE ": an input without a fixed shape (w=%d h=%d c=%d), expected one (--shape WxHxC)",
                        NET_HERE(p), (int)w, (int)h, (int)c);
    }
    net_shape shape = {h == 0   ? 1
                       : c == 0 ? 2
                       : d == 0 ? 3
                                : 4,
                       (uint32_t)w, h == 0 ? 1 : (uint32_t)h, c == 0 ? 1 : (uint32_t)c, (uint32_t)d};
    return net_plan_out(p, 0, shape);
}

/* The caller fills the output. */
static void input_run(const net_work *work) {
    (void)work;
}

static net_status flatten_shape(net_plan *p) {
    return net_plan_out(p, 0, (net_shape){1, net_shape_elements(net_plan_in(p, 0)), 1, 1, 1});
}

/* The shape that is asked for (w, h, d, c; NET_ABSENT: no such dimension), from settings or an expression. */
static net_status reshape_wanted(net_plan *p, int32_t wanted[4]) {
    static const uint32_t keys[4] = {0, 1, 11, 2};
    int32_t size[4];
    uint32_t dims = 0;
    net_status status = NET_OK;
    for (int i = 0; i < 4; i++) {
        wanted[i] = net_layer_int(p->layer, keys[i], NET_ABSENT);
    }
    if (net_layer_param(p->layer, 6) != NULL) {
        status = net_plan_expression(p, 6, size, 4, &dims);
        for (uint32_t i = 0; status == NET_OK && i < 4; i++) {
            wanted[i] = NET_ABSENT;
        }
        for (uint32_t i = 0; status == NET_OK && i < dims; i++) {
            wanted[i == 2 && dims == 3 ? 3 : i] = size[i];
        }
    } else if (p->layer->num_in != 1) {
        return NET_BAD(p, "%u inputs without an expression (key 6)", p->layer->num_in);
    }
    return status;
}

static net_status reshape_shape(net_plan *p) {
    const net_shape *in = net_plan_in(p, 0);
    const uint32_t given[4] = {in->w, in->h, in->dims == 4 ? in->d : 1, in->c};
    uint32_t total = net_shape_elements(in);
    int32_t wanted[4];
    uint32_t size[4] = {1, 1, 1, 1}; /* w, h, d, c */
    uint32_t dims = 0;
    int infer = -1;
    uint64_t product = 1;
    net_status status = reshape_wanted(p, wanted);
    if (status != NET_OK) {
        return status;
    }
    for (int i = 0; i < 4; i++) {
        int32_t value = wanted[i];
        if (value == NET_ABSENT) {
            continue;
        }
        bool flat = i == 3 && dims == 2; /* three dimensions have no d */
        if (value < -1 || (value == -1 && infer >= 0) || (dims != (uint32_t)i && !flat)) {
            return NET_BAD(p, "impossible shape (w, h, c) = (%d, %d, %d)", wanted[0], wanted[1], wanted[3]);
        }
        dims++;
        infer = value == -1 ? i : infer;
        size[i] = value == -1 ? 1 : value == 0 ? given[i] : (uint32_t)value;
        product = product > NET_MAX_ELEMENTS ? product : product * size[i];
    }
    if (dims == 3 && wanted[3] == NET_ABSENT) {
        return NET_BAD(p, "%s", "a depth (key 11) without channels (key 2)");
    }
    if (infer >= 0 && product != 0 && total % product == 0) {
        size[infer] = (uint32_t)(total / product);
        product = total;
    }
    if (dims == 0 || product != total) {
        return NET_BAD(p, "cannot give %u elements the requested shape", total);
    }
    return net_plan_out(p, 0, (net_shape){dims, size[0], size[1], size[3], size[2]});
}

static void memory_data_arrays(const net_layer *layer, net_arrays *a) {
    const uint32_t keys[4] = {0, 1, 11, 2};
    int64_t elements = 1;
    bool any = false;
    for (int i = 0; i < 4; i++) {
        int64_t d = net_layer_int(layer, keys[i], 0);
        any = any || d != 0;
        /* Saturates far above any file size, so that the product cannot overflow. */
        elements = d < 0 ? -1 : d > 0 && elements > 0 ? (elements > INT32_MAX ? elements : elements * d) : elements;
    }
    if (any) { /* without sizes ncnn reads no data */
        net_arrays_add(a, NET_ROLE_OTHER, net_layer_int(layer, 21, 1) == 0, elements);
    }
}

static void memory_data_run(const net_work *work) {
    const net_tensor *data = net_layer_tensor(work->layer, NET_ROLE_OTHER);
    memcpy(work->out[0], data->f32, net_shape_elements(net_work_out(work, 0)) * sizeof(float));
}

/* Noop copies each input to the output of the same number; further inputs are ignored. */
static net_status noop_shape(net_plan *p) {
    net_status status = NET_OK;
    if (p->layer->num_out > p->layer->num_in) {
        return NET_BAD(p, "%u outputs of %u inputs", p->layer->num_out, p->layer->num_in);
    }
    for (uint32_t i = 0; status == NET_OK && i < p->layer->num_out; i++) {
        status = net_plan_out(p, i, *net_plan_in(p, i));
    }
    return status;
}

static void noop_run(const net_work *work) {
    for (uint32_t i = 0; i < work->layer->num_out; i++) {
        memcpy(work->out[i], work->in[i], net_shape_elements(net_work_out(work, i)) * sizeof(float));
    }
}

/* Scaled by key 0, which is 1 in a trained network. */
static void dropout_run(const net_work *work) {
    float scale = net_layer_float(work->layer, 0, 1.0f);
    for (size_t i = 0; i < net_shape_elements(net_work_in(work, 0)); i++) {
        work->out[0][i] = scale == 1.0f ? work->in[0][i] : work->in[0][i] * scale;
    }
}

/* ---- Concat and Slice ---- */

static uint32_t axis_setting(const net_layer *layer, uint32_t key, uint32_t dims) {
    int32_t axis = net_layer_int(layer, key, 0);
    return (uint32_t)(axis < 0 ? axis + (int32_t)dims : axis);
}

static net_status concat_shape(net_plan *p) {
    uint32_t dims = net_plan_in(p, 0)->dims;
    uint32_t axis;
    uint32_t sum[NET_MAX_DIMS];
    uint64_t along = 0;
    net_status status = net_plan_axis(p, 0, 0, &axis);
    if (status != NET_OK) {
        return status;
    }
    net_shape_outer(net_plan_in(p, 0), sum);
    for (uint32_t i = 0; i < p->layer->num_in; i++) {
        const net_shape *in = net_plan_in(p, i);
        uint32_t size[NET_MAX_DIMS];
        net_shape_outer(in, size);
        for (uint32_t k = 0; k < NET_MAX_DIMS; k++) {
            if (in->dims != dims || (k != axis && size[k] != sum[k])) {
                return NET_BAD(p,
                               "input %u is %ux%ux%u with %u dimensions, which does not fit to input 0 along axis %u",
                               i, in->c, in->h, in->w, in->dims, axis);
            }
        }
        along += size[axis];
    }
    sum[axis] = along > NET_MAX_ELEMENTS ? 0 : (uint32_t)along;
    return net_plan_out(p, 0, net_shape_from(dims, sum));
}

bool net_op_joins(const net_layer *layer) {
    /* Axis 0 is the outermost dimension; a negative axis may be, too, but not in any network seen so far. */
    return layer->op->shape == concat_shape && net_layer_int(layer, 0, 0) == 0;
}

static void concat_run(const net_work *work) {
    const net_shape *os = net_work_out(work, 0);
    uint32_t axis = axis_setting(work->layer, 0, os->dims);
    net_axis whole = net_shape_axis(os, axis);
    uint32_t first = 0;
    for (uint32_t i = 0; i < work->layer->num_in; i++) {
        uint32_t n = net_shape_axis(net_work_in(work, i), axis).n;
        for (uint32_t o = 0; o < whole.outer; o++) {
            float *to = work->out[0] + ((size_t)o * whole.n + first) * whole.step;
            const float *from = work->in[i] + (size_t)o * n * whole.step;
            if (to != from) { /* otherwise its producer has written it there: concat by addressing */
                memcpy(to, from, (size_t)n * whole.step * sizeof(float));
            }
        }
        first += n;
    }
}

static net_status slice_shape(net_plan *p) {
    const net_shape *in = net_plan_in(p, 0);
    uint32_t axis;
    uint32_t given;
    uint32_t points;
    uint32_t size[NET_MAX_DIMS];
    const net_value *slice = net_layer_array(p->layer, 0, &given);
    const net_value *point = net_layer_array(p->layer, 2, &points);
    net_status status = net_plan_axis(p, 1, 0, &axis);
    if (status != NET_OK) {
        return status;
    }
    uint32_t parts = points != 0 ? points + 1 : given;
    if (parts != p->layer->num_out) {
        return NET_BAD(p, "%u parts (keys 0, 2) for %u outputs", parts, p->layer->num_out);
    }
    net_shape_outer(in, size);
    uint32_t total = size[axis];
    uint32_t used = 0;
    for (uint32_t i = 0; status == NET_OK && i < parts; i++) {
        int64_t n;
        if (points != 0) { /* positions of the cuts; negative ones count from the end */
            int32_t cut = i < points ? (int32_t)point[i].bits : (int32_t)total;
            n = (int64_t)cut + (cut < 0 ? (int64_t)total : 0) - used;
        } else { /* sizes; -233 divides the rest evenly */
            n = (int32_t)slice[i].bits == NET_ABSENT ? (int64_t)((total - used) / (parts - i)) : (int32_t)slice[i].bits;
        }
        if (n < 1 || n > (int64_t)total - used) {
            return NET_BAD(p, "part %u of %lld along axis %u, %u of %u are left", i, (long long)n, axis, total - used,
                           total);
        }
        size[axis] = (uint32_t)n;
        used += (uint32_t)n;
        status = net_plan_out(p, i, net_shape_from(in->dims, size));
    }
    return status;
}

static void slice_run(const net_work *work) {
    const net_shape *is = net_work_in(work, 0);
    uint32_t axis = axis_setting(work->layer, 1, is->dims);
    net_axis whole = net_shape_axis(is, axis);
    uint32_t first = 0;
    for (uint32_t i = 0; i < work->layer->num_out; i++) {
        uint32_t n = net_shape_axis(net_work_out(work, i), axis).n;
        for (uint32_t o = 0; o < whole.outer; o++) {
            memcpy(work->out[i] + (size_t)o * n * whole.step, work->in[0] + ((size_t)o * whole.n + first) * whole.step,
                   (size_t)n * whole.step * sizeof(float));
        }
        first += n;
    }
}

/* ---- Tile: repeats an axis ---- */

static net_status tile_shape(net_plan *p) {
    const net_shape *in = net_plan_in(p, 0);
    uint32_t axis;
    uint32_t tiles;
    uint32_t size[NET_MAX_DIMS];
    if (net_layer_param(p->layer, 2) != NULL) {
        return NET_CANNOT(p, "%s", "a number of tiles for each axis (key 2)");
    }
    net_status status = net_plan_axis(p, 0, 0, &axis);
    status = status == NET_OK ? net_plan_number(p, 1, 1, 1, 65535, "number of tiles", &tiles) : status;
    if (status != NET_OK) {
        return status;
    }
    net_shape_outer(in, size);
    size[axis] = (uint64_t)size[axis] * tiles > NET_MAX_ELEMENTS ? 0 : size[axis] * tiles;
    return net_plan_out(p, 0, net_shape_from(in->dims, size));
}

static void tile_run(const net_work *work) {
    const net_shape *is = net_work_in(work, 0);
    net_axis a = net_shape_axis(is, axis_setting(work->layer, 0, is->dims));
    uint32_t tiles = (uint32_t)net_layer_int(work->layer, 1, 1);
    size_t part = (size_t)a.n * a.step;
    float *out = work->out[0];
    for (uint32_t o = 0; o < a.outer; o++) {
        for (uint32_t t = 0; t < tiles; t++, out += part) {
            memcpy(out, work->in[0] + o * part, part * sizeof *out);
        }
    }
}

/* ---- Permute and ShuffleChannel ---- */

/* Dimensions of the output by order of ncnn, fastest first: 0 w, 1 h, 2 c; of four dimensions: 2 d, 3 c. */
static const uint32_t orders[6][3] = {{0, 1, 2}, {1, 0, 2}, {0, 2, 1}, {2, 0, 1}, {1, 2, 0}, {2, 1, 0}};
static const uint32_t deep_orders[24][4] = {
    {0, 1, 2, 3}, {1, 0, 2, 3}, {0, 2, 1, 3}, {2, 0, 1, 3}, {1, 2, 0, 3}, {2, 1, 0, 3}, {0, 1, 3, 2}, {1, 0, 3, 2},
    {0, 3, 1, 2}, {3, 0, 1, 2}, {1, 3, 0, 2}, {3, 1, 0, 2}, {0, 2, 3, 1}, {2, 0, 3, 1}, {0, 3, 2, 1}, {3, 0, 2, 1},
    {2, 3, 0, 1}, {3, 2, 0, 1}, {1, 2, 3, 0}, {2, 1, 3, 0}, {1, 3, 2, 0}, {3, 1, 2, 0}, {2, 3, 1, 0}, {3, 2, 1, 0}};

static const uint32_t *order_of(const net_shape *in, uint32_t order) {
    return in->dims == 4 ? deep_orders[order] : orders[order];
}

static net_status permute_shape(net_plan *p) {
    static const int32_t most[NET_MAX_DIMS + 1] = {0, 0, 1, 5, 23};
    const net_shape *in = net_plan_in(p, 0);
    const uint32_t size[4] = {in->w, in->h, in->dims == 4 ? in->d : in->c, in->c};
    uint32_t order;
    net_status status = net_plan_number(p, 0, 0, 0, most[in->dims], "order", &order);
    const uint32_t *from = order_of(in, status == NET_OK ? order : 0);
    const uint32_t outer = size[from[in->dims == 4 ? 3 : 2]];
    return status == NET_OK
               ? net_plan_out(p, 0, (net_shape){in->dims, size[from[0]], size[from[1]], outer, size[from[2]]})
               : status;
}

static void permute_run(const net_work *work) {
    const net_shape *is = net_work_in(work, 0);
    const net_shape *os = net_work_out(work, 0);
    const size_t plane = (size_t)is->w * is->h;
    const size_t step[4] = {1, is->w, plane, plane * is->d};
    const uint32_t *from = order_of(is, (uint32_t)net_layer_int(work->layer, 0, 0));
    const bool deep = is->dims == 4;
    float *out = work->out[0];
    for (uint32_t c = 0; c < os->c; c++) {
        for (uint32_t z = 0; z < (deep ? os->d : 1); z++) {
            const float *in = work->in[0] + (deep ? z * step[from[2]] : 0) + c * step[from[deep ? 3 : 2]];
            for (uint32_t y = 0; y < os->h; y++) {
                for (uint32_t x = 0; x < os->w; x++) {
                    *out++ = in[x * step[from[0]] + y * step[from[1]]];
                }
            }
        }
    }
}

static net_status shuffle_shape(net_plan *p) {
    const net_shape *in = net_plan_in(p, 0);
    uint32_t groups;
    net_status status = net_plan_number(p, 0, 1, 1, 65535, "number of groups", &groups);
    if (status == NET_OK && (in->dims != 3 || in->c % groups != 0)) {
        return NET_BAD(p, "%u groups do not divide an input of %u channels and %u dimensions", groups, in->c, in->dims);
    }
    return status == NET_OK ? net_plan_same(p) : status;
}

static void shuffle_run(const net_work *work) {
    const net_shape *s = net_work_in(work, 0);
    uint32_t groups = (uint32_t)net_layer_int(work->layer, 0, 1);
    groups = net_layer_int(work->layer, 1, 0) != 0 ? s->c / groups : groups;
    size_t plane = (size_t)s->w * s->h;
    for (uint32_t g = 0; g < groups; g++) {
        for (uint32_t i = 0; i < s->c / groups; i++) {
            memcpy(work->out[0] + ((size_t)i * groups + g) * plane,
                   work->in[0] + ((size_t)g * (s->c / groups) + i) * plane, plane * sizeof(float));
        }
    }
}

const net_op net_ops_shape[] = {
    {"Input", 0, 0, 1, 1, NULL, input_shape, input_run, NULL, false},
    {"MemoryData", 0, 0, 1, 1, memory_data_arrays, input_shape, memory_data_run, NULL, false},
    {"Split", 1, 1, 1, NET_ANY, NULL, net_plan_same, net_run_copy, NULL, true},
    {"Dropout", 1, 1, 1, 1, NULL, net_plan_same, dropout_run, NULL, true},
    {"Noop", 1, NET_ANY, 1, NET_ANY, NULL, noop_shape, noop_run, NULL, true},
    {"Flatten", 1, 1, 1, 1, NULL, flatten_shape, net_run_copy, NULL, true},
    {"Reshape", 1, NET_ANY, 1, 1, NULL, reshape_shape, net_run_copy, NULL, true},
    {"Concat", 1, NET_ANY, 1, 1, NULL, concat_shape, concat_run, NULL, true},
    {"Slice", 1, 1, 1, NET_ANY, NULL, slice_shape, slice_run, NULL, true},
    {"Tile", 1, 1, 1, 1, NULL, tile_shape, tile_run, NULL, true},
    {"Permute", 1, 1, 1, 1, NULL, permute_shape, permute_run, NULL, true},
    {"ShuffleChannel", 1, 1, 1, 1, NULL, shuffle_shape, shuffle_run, NULL, false},
    {0},
};
