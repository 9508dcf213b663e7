/* op_border.c - Crop and Padding: a window of a blob, or a blob with a border. */
#include "op.h"

/* For each dimension (0 w, 1 h, 2 c): start of the output in the input. */
typedef struct offsets {
    int32_t start[3];
    uint32_t size[3]; /* of the output */
} offsets;

static void sizes(const net_shape *s, uint32_t size[3]) {
    size[0] = s->w;
    size[1] = s->h;
    size[2] = s->c;
}

/* ---- Crop ---- */

#define MOST_IN 10u /* inputs that an expression can name */

typedef struct inputs {
    const net_shape *shape[MOST_IN];
    uint32_t count;
} inputs;

/* Numbers of an array, or by expression. false: more than three, or none can be computed. */
static bool numbers(const net_layer *layer, uint32_t array, uint32_t text, const inputs *in, int32_t value[3],
                    uint32_t *count) {
    const net_param *expression = net_layer_param(layer, text);
    char word[NET_WORD];
    if (expression != NULL) {
        return expression->text != NULL &&
               net_expression(expression->text, in->shape, in->count, value, 3, count, word) == NULL;
    }
    const net_value *given = net_layer_array(layer, array, count);
    for (uint32_t i = 0; i < *count && i < 3; i++) {
        value[i] = (int32_t)given[i].bits;
    }
    return *count <= 3;
}

/* Keys 9, 10, 11 or (expressions) 19, 20, 21: starts, ends (0 and negative: from the end) and axes. -233 means from the
 * start, to the end. */
static bool crop_by_axes(const net_layer *layer, const inputs *in, offsets *o) {
    const int32_t dims = (int32_t)in->shape[0]->dims;
    uint32_t starts;
    uint32_t ends;
    uint32_t axes;
    int32_t start[3];
    int32_t end[3];
    int32_t axis[3];
    if (!numbers(layer, 9, 19, in, start, &starts) || !numbers(layer, 10, 20, in, end, &ends) ||
        !numbers(layer, 11, 21, in, axis, &axes) || starts != ends || (axes != 0 && axes != starts) ||
        starts > (uint32_t)dims) {
        return false;
    }
    for (uint32_t i = 0; i < starts; i++) {
        int32_t a = axes == 0 ? (int32_t)i : axis[i];
        a = a < 0 ? a + dims : a;
        if (a < 0 || a >= dims) {
            return false;
        }
        uint32_t d = (uint32_t)(dims - 1 - a); /* axis 0 is the outermost dimension */
        int64_t size = o->size[d];
        int64_t first = start[i] == NET_ABSENT ? 0 : start[i];
        int64_t last = end[i] == NET_ABSENT ? size : end[i];
        first = first < 0 ? first + size : first;
        last = last <= 0 ? last + size : last > size ? size : last;
        if (first < 0 || first >= last) {
            return false;
        }
        o->start[d] = (int32_t)first;
        o->size[d] = (uint32_t)(last - first);
    }
    return true;
}

/* Offsets by key; sizes from the second input or by key (-233: up to the offset from the end). */
static bool crop_by_sizes(const net_layer *layer, const net_shape *in, const net_shape *other, offsets *o) {
    static const uint32_t key[3][3] = {{0, 3, 6}, {1, 4, 7}, {2, 5, 8}};
    uint32_t wanted[3] = {0, 0, 0};
    if (other != NULL) {
        sizes(other, wanted);
        wanted[2] = other->dims == 3 ? other->c : in->c;
    }
    for (uint32_t d = 0; d < in->dims; d++) {
        int64_t first = net_layer_int(layer, key[d][0], 0);
        int64_t room = (int64_t)o->size[d] - first - net_layer_int(layer, key[d][2], 0);
        int64_t given = net_layer_int(layer, key[d][1], 0);
        int64_t size = other != NULL ? wanted[d] : given == NET_ABSENT ? room : given;
        size = size > room ? room : size;
        if (first < 0 || size < 1 || room > (int64_t)o->size[d]) {
            return false;
        }
        o->start[d] = (int32_t)first;
        o->size[d] = (uint32_t)size;
    }
    return true;
}

static bool by_expression(const net_layer *layer) {
    return net_layer_param(layer, 19) != NULL && net_layer_param(layer, 20) != NULL;
}

static bool crop_offsets(const net_layer *layer, const inputs *in, offsets *o) {
    *o = (offsets){{0, 0, 0}, {0, 0, 0}};
    sizes(in->shape[0], o->size);
    return net_layer_param(layer, 9) != NULL || by_expression(layer)
               ? crop_by_axes(layer, in, o)
               : crop_by_sizes(layer, in->shape[0], in->count == 2 ? in->shape[1] : NULL, o);
}

bool net_op_crops_channels(const net_graph *graph, const net_layer *layer, uint32_t *first) {
    inputs in = {.count = layer->num_in < MOST_IN ? layer->num_in : MOST_IN};
    offsets o;
    for (uint32_t i = 0; i < in.count; i++) {
        in.shape[i] = &graph->blob[layer->in[i]].shape;
    }
    const bool fits = crop_offsets(layer, &in, &o);
    *first = fits ? (uint32_t)o.start[2] : 0;
    return fits && in.shape[0]->dims == 3 && o.size[0] == in.shape[0]->w && o.size[1] == in.shape[0]->h;
}

static net_status crop_shape(net_plan *p) {
    inputs in = {.count = p->layer->num_in < MOST_IN ? p->layer->num_in : MOST_IN};
    offsets o;
    for (uint32_t i = 0; i < in.count; i++) {
        in.shape[i] = net_plan_in(p, i);
    }
    for (uint32_t key = 19; by_expression(p->layer) && key <= 21; key++) {
        int32_t value[3];
        uint32_t count;
        net_status status =
            net_layer_param(p->layer, key) != NULL ? net_plan_expression(p, key, value, 3, &count) : NET_OK;
        if (status != NET_OK) {
            return status;
        }
    }
    if (in.count > 2 && !by_expression(p->layer)) {
        return NET_BAD(p, "%u inputs without expressions (keys 19, 20)", p->layer->num_in);
    }
    if (!crop_offsets(p->layer, &in, &o)) {
        const net_shape *s = in.shape[0];
        return NET_BAD(p, "the window is empty or not inside the input of %ux%ux%u (c, h, w)", s->c, s->h, s->w);
    }
    return net_plan_out(p, 0, (net_shape){in.shape[0]->dims, o.size[0], o.size[1], o.size[2], 1});
}

static void crop_run(const net_work *work) {
    const net_shape *is = net_work_in(work, 0);
    offsets o;
    inputs in = {.count = work->layer->num_in < MOST_IN ? work->layer->num_in : MOST_IN};
    for (uint32_t i = 0; i < in.count; i++) {
        in.shape[i] = net_work_in(work, i);
    }
    (void)crop_offsets(work->layer, &in, &o);
    float *out = work->out[0];
    for (uint32_t c = 0; c < o.size[2]; c++) {
        for (uint32_t y = 0; y < o.size[1]; y++) {
            const float *row =
                work->in[0] + ((size_t)(c + (uint32_t)o.start[2]) * is->h + y + (uint32_t)o.start[1]) * is->w;
            for (uint32_t x = 0; x < o.size[0]; x++) {
                *out++ = row[x + (uint32_t)o.start[0]];
            }
        }
    }
}

/* ---- Padding ---- */

enum { PAD_CONSTANT, PAD_REPLICATE, PAD_REFLECT };

static void padding_arrays(const net_layer *layer, net_arrays *a) {
    net_arrays_add(a, NET_ROLE_OTHER, false, net_layer_int(layer, 6, 0));
}

/* Keys of the border before and after each dimension. */
static const uint32_t pad_keys[3][2] = {{2, 3}, {0, 1}, {7, 8}};

static net_status padding_shape(net_plan *p) {
    const net_shape *in = net_plan_in(p, 0);
    uint32_t size[3];
    uint32_t type;
    sizes(in, size);
    net_status status = net_plan_number(p, 4, 0, PAD_CONSTANT, PAD_REFLECT, "type of padding", &type);
    for (uint32_t d = 0; status == NET_OK && d < in->dims; d++) {
        uint32_t before = 0;
        uint32_t behind = 0;
        status = net_plan_number(p, pad_keys[d][0], 0, 0, 65535, "padding", &before);
        status = status == NET_OK ? net_plan_number(p, pad_keys[d][1], 0, 0, 65535, "padding", &behind) : status;
        if (status == NET_OK && type == PAD_REFLECT && (before >= size[d] || behind >= size[d])) {
            return NET_BAD(p, "a mirrored border of %u and %u around %u elements", before, behind, size[d]);
        }
        size[d] += before + behind;
    }
    int32_t values = net_layer_int(p->layer, 6, 0);
    if (status == NET_OK && values != 0 && (values < 0 || (uint32_t)values != size[2])) {
        return NET_BAD(p, "%d values (key 6) for %u channels", values, size[2]);
    }
    return status == NET_OK ? net_plan_out(p, 0, (net_shape){in->dims, size[0], size[1], size[2], 1}) : status;
}

/* Position in the input, or -1 in a constant border. */
static int64_t padded(int64_t i, int64_t size, int32_t type) {
    if (i >= 0 && i < size) {
        return i;
    }
    if (type == PAD_CONSTANT) {
        return -1;
    }
    if (type == PAD_REPLICATE) {
        return i < 0 ? 0 : size - 1;
    }
    return i < 0 ? -i : 2 * (size - 1) - i;
}

static void padding_run(const net_work *work) {
    const net_layer *layer = work->layer;
    const net_shape *is = net_work_in(work, 0);
    const net_shape *os = net_work_out(work, 0);
    const net_tensor *values = net_layer_tensor(layer, NET_ROLE_OTHER);
    int32_t type = net_layer_int(layer, 4, 0);
    int64_t first[3] = {0, 0, 0};
    for (uint32_t d = 0; d < is->dims; d++) {
        first[d] = net_layer_int(layer, pad_keys[d][0], 0);
    }
    float *out = work->out[0];
    for (uint32_t c = 0; c < os->c; c++) {
        float value = values->count > 0 ? values->f32[c] : net_layer_float(layer, 5, 0.0f);
        int64_t ic = padded(c - first[2], is->c, type);
        for (uint32_t y = 0; y < os->h; y++) {
            int64_t iy = padded(y - first[1], is->h, type);
            for (uint32_t x = 0; x < os->w; x++) {
                int64_t ix = padded(x - first[0], is->w, type);
                bool border = ic < 0 || iy < 0 || ix < 0;
                *out++ = border ? value : work->in[0][((size_t)ic * is->h + (size_t)iy) * is->w + (size_t)ix];
            }
        }
    }
}

const net_op net_ops_border[] = {
    {"Crop", 1, NET_ANY, 1, 1, NULL, crop_shape, crop_run, NULL, false},
    {"Padding", 1, 1, 1, 1, padding_arrays, padding_shape, padding_run, NULL, false},
    {0},
};
