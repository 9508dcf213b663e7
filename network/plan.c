/* plan.c - shapes of all blobs and decoded settings of all layers: what has to be known before a graph is executed. */
#include <string.h>

#include "internal.h"

#define SAME_UPPER (-233)
#define SAME_LOWER (-234)

typedef struct planner {
    net_graph *graph;
    net_layer *layer; /* the one being planned */
    uint64_t elements;
    net_error *err;
} planner;

#define WHERE "%.150s:%u: layer '%.60s' of type '%.40s'"
#define HERE(p) (p)->graph->name, (p)->layer->line, (p)->layer->name, (p)->layer->type
#define BAD(p, format, ...) net_fail((p)->err, NET_ERR_FORMAT, WHERE ": " format, HERE(p), __VA_ARGS__)
#define CANNOT(p, format, ...) net_fail((p)->err, NET_ERR_UNSUPPORTED, WHERE ": " format " is not supported", HERE(p), __VA_ARGS__)

static net_status arity(planner *p, uint32_t in, uint32_t out) {
    if (p->layer->num_in != in || p->layer->num_out != out) {
        return BAD(p, "%u inputs and %u outputs, expected %u and %u", p->layer->num_in, p->layer->num_out, in, out);
    }
    return NET_OK;
}

/* Set the shape of output i after checking that the whole network stays within bounds. */
static net_status set_shape(planner *p, uint32_t i, net_shape shape) {
    uint64_t plane = (uint64_t)shape.w * shape.h;
    if (shape.w == 0 || shape.h == 0 || shape.c == 0 || plane > NET_MAX_ELEMENTS || plane * shape.c > NET_MAX_ELEMENTS) {
        return BAD(p, "impossible output shape w=%u h=%u c=%u", shape.w, shape.h, shape.c);
    }
    p->elements += plane * shape.c;
    if (p->elements > NET_MAX_ELEMENTS) {
        return BAD(p, "the blobs up to here hold more than %u elements", NET_MAX_ELEMENTS);
    }
    p->graph->blob[p->layer->out[i]].shape = shape;
    return NET_OK;
}

static net_status plan_input(planner *p) {
    net_status status = arity(p, 0, 1);
    if (status != NET_OK) {
        return status;
    }
    int32_t w = net_layer_int(p->layer, 0, 0);
    int32_t h = net_layer_int(p->layer, 1, 0);
    int32_t c = net_layer_int(p->layer, 2, 0);
    if (w <= 0 || h < 0 || c < 0 || (h == 0 && c > 0)) {
        return CANNOT(p, "an input without a fixed shape (w=%d h=%d c=%d)", w, h, c);
    }
    if (p->graph->input != NET_NONE) {
        return CANNOT(p, "a second input after '%.60s'", p->graph->blob[p->graph->input].name);
    }
    p->graph->input = p->layer->out[0];
    net_shape shape = {h == 0 ? 1 : c == 0 ? 2 : 3, (uint32_t)w, h == 0 ? 1 : (uint32_t)h, c == 0 ? 1 : (uint32_t)c};
    return set_shape(p, 0, shape);
}

/* A setting with its limits; the error names it. */
static net_status number(planner *p, uint32_t key, int32_t absent, int32_t lo, int32_t hi, const char *what, uint32_t *out) {
    int32_t value = net_layer_int(p->layer, key, absent);
    if (value < lo || value > hi) {
        return BAD(p, "%s (key %u) is %d, expected %d..%d", what, key, value, lo, hi);
    }
    *out = (uint32_t)value;
    return NET_OK;
}

static net_status conv_settings(planner *p, net_conv *c) {
    const net_layer *layer = p->layer;
    net_status status = number(p, 0, 0, 1, 65535, "number of outputs", &c->num_output);
    status = status == NET_OK ? number(p, 1, 0, 1, 255, "kernel width", &c->kernel_w) : status;
    status = status == NET_OK ? number(p, 11, (int32_t)c->kernel_w, 1, 255, "kernel height", &c->kernel_h) : status;
    status = status == NET_OK ? number(p, 2, 1, 1, 255, "dilation", &c->dilation_w) : status;
    status = status == NET_OK ? number(p, 12, (int32_t)c->dilation_w, 1, 255, "dilation of rows", &c->dilation_h) : status;
    status = status == NET_OK ? number(p, 3, 1, 1, 255, "stride", &c->stride_w) : status;
    status = status == NET_OK ? number(p, 13, (int32_t)c->stride_w, 1, 255, "stride of rows", &c->stride_h) : status;
    if (status != NET_OK) {
        return status;
    }
    c->has_bias = net_layer_int(layer, 5, 0) != 0;
    c->int8_scale_term = (uint32_t)net_layer_int(layer, 8, 0);
    int32_t act = net_layer_int(layer, 9, 0);
    c->relu = act == 1;
    if (act != 0 && act != 1) {
        return CANNOT(p, "activation type %d", act);
    }
    if (net_layer_int(layer, 19, 0) != 0) {
        return CANNOT(p, "%s", "a convolution with weights as an input");
    }
    if (net_layer_float(layer, 18, 0.0f) != 0.0f) {
        return CANNOT(p, "a pad value of %g", (double)net_layer_float(layer, 18, 0.0f));
    }
    if (c->int8_scale_term != 0 && c->int8_scale_term != 2 && c->int8_scale_term != 102) {
        return CANNOT(p, "int8_scale_term %d", (int)c->int8_scale_term);
    }
    return NET_OK;
}

/* Padding of one dimension for SAME_UPPER (extra at the end) or SAME_LOWER (extra at the start). */
static void same_pad(uint32_t in, uint32_t stride, uint32_t extent, bool upper, uint32_t *first, uint32_t *last) {
    uint32_t covered = (in - 1) / stride * stride + extent;
    uint32_t pad = covered > in ? covered - in : 0;
    *first = upper ? pad / 2 : pad - pad / 2;
    *last = pad - *first;
}

static net_status conv_padding(planner *p, net_conv *c, const net_shape *in, uint32_t extent_w, uint32_t extent_h) {
    int32_t left = net_layer_int(p->layer, 4, 0);
    int32_t top = net_layer_int(p->layer, 14, left);
    int32_t right = net_layer_int(p->layer, 15, left);
    int32_t bottom = net_layer_int(p->layer, 16, top);
    if ((left == SAME_UPPER || left == SAME_LOWER) && left == right && left == top && left == bottom) {
        same_pad(in->w, c->stride_w, extent_w, left == SAME_UPPER, &c->pad_l, &c->pad_r);
        same_pad(in->h, c->stride_h, extent_h, left == SAME_UPPER, &c->pad_t, &c->pad_b);
        return NET_OK;
    }
    if (left < 0 || right < 0 || top < 0 || bottom < 0 || left > 65535 || right > 65535 || top > 65535 || bottom > 65535) {
        return BAD(p, "padding %d,%d,%d,%d (left, right, top, bottom), expected 0..65535 each or -233 or -234 for all", left, right, top,
                   bottom);
    }
    c->pad_l = (uint32_t)left;
    c->pad_r = (uint32_t)right;
    c->pad_t = (uint32_t)top;
    c->pad_b = (uint32_t)bottom;
    return NET_OK;
}

static net_status plan_conv(planner *p) {
    net_conv *c = &p->layer->conv;
    net_status status = arity(p, 1, 1);
    status = status == NET_OK ? conv_settings(p, c) : status;
    if (status != NET_OK) {
        return status;
    }
    const net_shape *in = &p->graph->blob[p->layer->in[0]].shape;
    if (in->dims != 3) {
        return CANNOT(p, "an input with %u dimensions", in->dims);
    }
    const net_tensor *weight = net_layer_tensor(p->layer, NET_ROLE_WEIGHT);
    uint64_t expected = (uint64_t)c->num_output * in->c * c->kernel_w * c->kernel_h;
    uint64_t promised = (uint64_t)(uint32_t)net_layer_int(p->layer, 6, 0);
    if (promised != expected) {
        return BAD(p, "%llu weights (key 6), but %u outputs x %u channels x %ux%u need %llu", (unsigned long long)promised, c->num_output,
                   in->c, c->kernel_h, c->kernel_w, (unsigned long long)expected);
    }
    if (weight != NULL && weight->i8 != NULL && c->int8_scale_term == 0) {
        return BAD(p, "%s", "INT8 weights without int8_scale_term (key 8)");
    }
    uint32_t extent_w = (c->kernel_w - 1) * c->dilation_w + 1;
    uint32_t extent_h = (c->kernel_h - 1) * c->dilation_h + 1;
    status = conv_padding(p, c, in, extent_w, extent_h);
    if (status != NET_OK) {
        return status;
    }
    uint32_t full_w = in->w + c->pad_l + c->pad_r;
    uint32_t full_h = in->h + c->pad_t + c->pad_b;
    if (full_w < extent_w || full_h < extent_h) {
        return BAD(p, "padded input %ux%u is smaller than the kernel %ux%u", full_h, full_w, extent_h, extent_w);
    }
    return set_shape(p, 0, (net_shape){3, (full_w - extent_w) / c->stride_w + 1, (full_h - extent_h) / c->stride_h + 1, c->num_output});
}

static net_status plan_same(planner *p) {
    net_status status = arity(p, 1, p->layer->kind == NET_SPLIT ? p->layer->num_out : 1);
    net_shape in = status == NET_OK ? p->graph->blob[p->layer->in[0]].shape : (net_shape){0, 0, 0, 0};
    if (status == NET_OK && p->layer->num_out == 0) {
        return BAD(p, "%s", "no output");
    }
    if (status == NET_OK && p->layer->kind == NET_RELU && net_layer_float(p->layer, 0, 0.0f) != 0.0f) {
        return CANNOT(p, "a slope of %g", (double)net_layer_float(p->layer, 0, 0.0f));
    }
    for (uint32_t i = 0; status == NET_OK && i < p->layer->num_out; i++) {
        status = set_shape(p, i, in);
    }
    return status;
}

static net_status plan_softmax(planner *p) {
    net_status status = arity(p, 1, 1);
    if (status != NET_OK) {
        return status;
    }
    net_shape in = p->graph->blob[p->layer->in[0]].shape;
    int32_t axis = net_layer_int(p->layer, 0, 0);
    int32_t dims = (int32_t)in.dims;
    if (axis < -dims || axis >= dims) {
        return BAD(p, "axis %d of a blob with %d dimensions", axis, dims);
    }
    if (axis != 0 && net_layer_int(p->layer, 1, 0) != 1) {
        return BAD(p, "axis %d without key 1 set to 1", axis);
    }
    return set_shape(p, 0, in);
}

static net_status plan_reshape(planner *p) {
    net_status status = arity(p, 1, 1);
    if (status != NET_OK) {
        return status;
    }
    const net_shape *in = &p->graph->blob[p->layer->in[0]].shape;
    const uint32_t given[3] = {in->w, in->h, in->c};
    const uint32_t keys[3] = {0, 1, 2};
    uint32_t total = net_shape_elements(in);
    if (p->layer->kind == NET_FLATTEN) {
        return set_shape(p, 0, (net_shape){1, total, 1, 1});
    }
    if (net_layer_int(p->layer, 11, SAME_UPPER) != -233 || net_layer_param(p->layer, 6) != NULL) {
        return CANNOT(p, "%s", "a reshape to four dimensions or by expression");
    }
    uint32_t size[3] = {1, 1, 1};
    uint32_t dims = 0;
    int infer = -1;
    uint64_t product = 1;
    for (int i = 0; i < 3; i++) {
        int32_t value = net_layer_int(p->layer, keys[i], -233);
        if (value == -233) {
            continue;
        }
        if (value < -1 || (value == -1 && infer >= 0) || dims != (uint32_t)i) {
            return BAD(p, "impossible shape (w, h, c) = (%d, %d, %d)", net_layer_int(p->layer, 0, -233), net_layer_int(p->layer, 1, -233),
                       net_layer_int(p->layer, 2, -233));
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
        return BAD(p, "cannot give %u elements the shape asked for", total);
    }
    return set_shape(p, 0, (net_shape){dims, size[0], size[1], size[2]});
}

static net_status plan_layer(planner *p) {
    switch (p->layer->kind) {
    case NET_INPUT:
        return plan_input(p);
    case NET_CONV:
        return plan_conv(p);
    case NET_RELU:
    case NET_SPLIT:
    case NET_COPY:
        return plan_same(p);
    case NET_SOFTMAX:
        return plan_softmax(p);
    case NET_FLATTEN:
    case NET_RESHAPE:
        return plan_reshape(p);
    case NET_OTHER:
    default:
        return net_fail(p->err, NET_ERR_UNSUPPORTED, WHERE " is not supported", HERE(p));
    }
}

net_status net_graph_plan(net_graph *graph, net_error *err) {
    if (graph == NULL) {
        return net_fail(err, NET_ERR_ARG, "net_graph_plan: null argument");
    }
    planner p = {.graph = graph, .err = err};
    graph->planned = false;
    graph->input = NET_NONE;
    graph->output = NET_NONE;
    for (uint32_t i = 0; i < graph->num_layers; i++) {
        p.layer = &graph->layer[i];
        net_status status = plan_layer(&p);
        if (status != NET_OK) {
            return status;
        }
    }
    for (uint32_t i = 0; i < graph->num_blobs; i++) {
        if (graph->blob[i].consumer == NET_NONE && graph->output != NET_NONE) {
            return net_fail(err, NET_ERR_UNSUPPORTED, "%.150s: two outputs, '%.60s' and '%.60s', expected one", graph->name,
                            graph->blob[graph->output].name, graph->blob[i].name);
        }
        if (graph->blob[i].consumer == NET_NONE) {
            graph->output = i;
        }
    }
    if (graph->input == NET_NONE || graph->output == NET_NONE) {
        return net_fail(err, NET_ERR_FORMAT, "%.150s: no %s", graph->name, graph->input == NET_NONE ? "Input layer" : "output");
    }
    graph->planned = true;
    return NET_OK;
}
