/* op_layout.c - layers that give a blob other dimensions, or move blocks of elements between channels and rows. */
#include <string.h>

#include "op.h"

/* ---- Squeeze and ExpandDims ---- */

/* The axes of key 3, or without it the flags of w, h, d and c (keys 0, 1, 11, 2): mark[i] for axis i of `dims`, the
 * outermost first. false: there is no such axis. */
static bool marked_axes(const net_layer *layer, uint32_t dims, bool mark[NET_MAX_DIMS]) {
    static const uint32_t keys[NET_MAX_DIMS + 1][NET_MAX_DIMS] = {
        {0}, {0}, {1, 0}, {2, 1, 0}, {2, 11, 1, 0}}; /* by number of dimensions, the outermost first */
    uint32_t count;
    const net_value *axis = net_layer_array(layer, 3, &count);
    for (uint32_t i = 0; i < NET_MAX_DIMS; i++) {
        mark[i] = count == 0 && i < dims && net_layer_int(layer, keys[dims][i], 0) != 0;
    }
    for (uint32_t i = 0; i < count; i++) {
        int32_t a = (int32_t)axis[i].bits;
        a = a < 0 ? a + (int32_t)dims : a;
        if (a < 0 || a >= (int32_t)dims) {
            return false;
        }
        mark[a] = true;
    }
    return true;
}

/* Marked axes of one element go; one dimension stays. */
static net_status squeeze_shape(net_plan *p) {
    const net_shape *in = net_plan_in(p, 0);
    bool mark[NET_MAX_DIMS];
    uint32_t size[NET_MAX_DIMS];
    uint32_t left[NET_MAX_DIMS] = {1};
    uint32_t dims = 0;
    if (!marked_axes(p->layer, in->dims, mark)) {
        return NET_BAD(p, "an axis (key 3) outside a blob with %u dimensions", in->dims);
    }
    net_shape_outer(in, size);
    for (uint32_t i = 0; i < in->dims; i++) {
        if (!mark[i] || size[i] != 1) {
            left[dims++] = size[i];
        }
    }
    return net_plan_out(p, 0, net_shape_from(dims == 0 ? 1 : dims, left));
}

/* A new axis of one element: axes are counted in the result, where flags name the dimension that is new. */
static net_status expand_shape(net_plan *p) {
    const net_shape *in = net_plan_in(p, 0);
    uint32_t axes;
    (void)net_layer_array(p->layer, 3, &axes);
    bool mark[NET_MAX_DIMS];
    uint32_t size[NET_MAX_DIMS];
    uint32_t made[NET_MAX_DIMS];
    uint32_t added = 0;
    const uint32_t flags[4] = {0, 1, 11, 2};
    for (uint32_t i = 0; axes == 0 && i < 4; i++) {
        added += net_layer_int(p->layer, flags[i], 0) != 0;
    }
    uint32_t dims = in->dims + (axes != 0 ? axes : added);
    if (dims > NET_MAX_DIMS) {
        return NET_CANNOT(p, "%u dimensions as the result", dims);
    }
    if (!marked_axes(p->layer, dims, mark)) {
        return NET_BAD(p, "an axis (key 3) outside a result with %u dimensions", dims);
    }
    net_shape_outer(in, size);
    uint32_t taken = 0;
    for (uint32_t i = 0; i < dims; i++) {
        made[i] = mark[i] ? 1 : taken < in->dims ? size[taken++] : 0;
    }
    return taken == in->dims ? net_plan_out(p, 0, net_shape_from(dims, made))
                             : NET_BAD(p, "new axes that are not all different, for %u dimensions", in->dims);
}

/* ---- PixelShuffle and Reorg: blocks of channels as rows and columns, and back ---- */

static net_status pixel_shuffle_shape(net_plan *p) {
    const net_shape *in = net_plan_in(p, 0);
    uint32_t side;
    net_status status = net_plan_number(p, 0, 1, 1, 255, "factor", &side);
    if (status == NET_OK && (in->dims != 3 || in->c % (side * side) != 0)) {
        return NET_BAD(p, "%u channels and %u dimensions for blocks of %ux%u", in->c, in->dims, side, side);
    }
    return status == NET_OK ? net_plan_out(p, 0, (net_shape){3, in->w * side, in->h * side, in->c / (side * side), 1})
                            : status;
}

static net_status reorg_shape(net_plan *p) {
    const net_shape *in = net_plan_in(p, 0);
    uint32_t side;
    net_status status = net_plan_number(p, 0, 1, 1, 255, "stride", &side);
    if (status == NET_OK && in->dims != 3) {
        return NET_CANNOT(p, "an input with %u dimensions", in->dims);
    }
    return status == NET_OK ? net_plan_out(p, 0, (net_shape){3, in->w / side, in->h / side, in->c * side * side, 1})
                            : status;
}

/* The channel of the blob with more channels that has element (y, x) of the blocks of channel c. */
static size_t block_channel(const net_layer *layer, uint32_t side, uint32_t channels, uint32_t c, uint32_t y,
                            uint32_t x) {
    bool outermost = net_layer_int(layer, 1, 0) == 0;
    return outermost ? ((size_t)c * side + y) * side + x : ((size_t)y * side + x) * channels + c;
}

/* Both: `wide` has rows and columns, `many` the channels. */
static void blocks_run(const net_work *work, bool to_wide) {
    const net_shape *wide = to_wide ? net_work_out(work, 0) : net_work_in(work, 0);
    const net_shape *many = to_wide ? net_work_in(work, 0) : net_work_out(work, 0);
    const uint32_t side = (uint32_t)net_layer_int(work->layer, 0, 1);
    for (uint32_t c = 0; c < wide->c; c++) {
        for (uint32_t y = 0; y < many->h * side; y++) {
            for (uint32_t x = 0; x < many->w * side; x++) {
                size_t k = block_channel(work->layer, side, wide->c, c, y % side, x % side);
                size_t from = (k * many->h + y / side) * many->w + x / side;
                size_t to = ((size_t)c * wide->h + y) * wide->w + x;
                work->out[0][to_wide ? to : from] = work->in[0][to_wide ? from : to];
            }
        }
    }
}

static void pixel_shuffle_run(const net_work *work) {
    blocks_run(work, true);
}

static void reorg_run(const net_work *work) {
    blocks_run(work, false);
}

/* ---- Flip and CumulativeSum ---- */

/* Axes are those of key 0. */
static net_status flip_axes_shape(net_plan *p) {
    const net_param *axes = net_layer_param(p->layer, 0);
    uint32_t count = axes == NULL ? 0 : axes->count;
    int32_t dims = (int32_t)net_plan_in(p, 0)->dims;
    for (uint32_t i = 0; i < count; i++) {
        int32_t a = (int32_t)axes->value[i].bits;
        if (a < -dims || a >= dims) {
            return NET_BAD(p, "axis %d (key 0) of a blob with %d dimensions", a, dims);
        }
    }
    return net_plan_same(p);
}

static void flip_run(const net_work *work) {
    const net_shape *s = net_work_in(work, 0);
    uint32_t count;
    const net_value *axis = net_layer_array(work->layer, 0, &count);
    uint32_t size[NET_MAX_DIMS];
    bool turned[NET_MAX_DIMS] = {false};
    net_shape_outer(s, size);
    for (uint32_t i = 0; i < count; i++) {
        int32_t a = (int32_t)axis[i].bits;
        turned[a < 0 ? a + (int32_t)s->dims : a] = true;
    }
    const uint32_t elements = net_shape_elements(s);
    for (uint32_t i = 0; i < elements; i++) {
        size_t from = 0;
        uint32_t left = elements;
        for (uint32_t k = 0; k < s->dims; k++) {
            left /= size[k];
            uint32_t at = i / left % size[k];
            from = from * size[k] + (turned[k] ? size[k] - 1 - at : at);
        }
        work->out[0][i] = work->in[0][from];
    }
}

static net_status cumulative_shape(net_plan *p) {
    uint32_t axis;
    net_status status = net_plan_axis(p, 0, 0, &axis);
    return status == NET_OK ? net_plan_same(p) : status;
}

static void cumulative_run(const net_work *work) {
    const net_shape *s = net_work_in(work, 0);
    int32_t axis = net_layer_int(work->layer, 0, 0);
    net_axis a = net_shape_axis(s, (uint32_t)(axis < 0 ? axis + (int32_t)s->dims : axis));
    for (uint32_t o = 0; o < a.outer; o++) {
        for (uint32_t i = 0; i < a.n; i++) {
            size_t at = ((size_t)o * a.n + i) * a.step;
            for (uint32_t k = 0; k < a.step; k++) {
                float before = i == 0 ? 0.0f : work->out[0][at - a.step + k];
                work->out[0][at + k] = i == 0 ? work->in[0][at + k] : before + work->in[0][at + k];
            }
        }
    }
}

const net_op net_ops_layout[] = {
    {"Squeeze", 1, 1, 1, 1, NULL, squeeze_shape, net_run_copy, NULL, true},
    {"ExpandDims", 1, 1, 1, 1, NULL, expand_shape, net_run_copy, NULL, false},
    {"PixelShuffle", 1, 1, 1, 1, NULL, pixel_shuffle_shape, pixel_shuffle_run, NULL, false},
    {"Reorg", 1, 1, 1, 1, NULL, reorg_shape, reorg_run, NULL, false},
    {"Flip", 1, 1, 1, 1, NULL, flip_axes_shape, flip_run, NULL, true},
    {"CumulativeSum", 1, 1, 1, 1, NULL, cumulative_shape, cumulative_run, NULL, false},
    {"DeepCopy", 1, 1, 1, 1, NULL, net_plan_same, net_run_copy, NULL, true},
    {0},
};
