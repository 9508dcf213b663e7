/* op_eltwise.c - operations on pairs of elements, on several blobs, and along axes. */
#include <float.h>
#include <math.h>

#include "op.h"

/* ---- Eltwise: several blobs of one shape ---- */

enum { ELT_PROD, ELT_SUM, ELT_MAX };

static net_status eltwise_shape(net_plan *p) {
    const net_shape *first = net_plan_in(p, 0);
    uint32_t op;
    uint32_t coeffs;
    net_status status = net_plan_number(p, 0, 0, ELT_PROD, ELT_MAX, "operation", &op);
    (void)net_layer_array(p->layer, 1, &coeffs);
    if (status == NET_OK && op == ELT_SUM && coeffs != 0 && coeffs != p->layer->num_in) {
        return NET_BAD(p, "%u coefficients (key 1) for %u inputs", coeffs, p->layer->num_in);
    }
    for (uint32_t i = 1; status == NET_OK && i < p->layer->num_in; i++) {
        const net_shape *s = net_plan_in(p, i);
        if (!net_shape_same(s, first)) {
            return NET_BAD(p, "input %u is %ux%ux%u, input 0 %ux%ux%u (c, h, w)", i, s->c, s->h, s->w, first->c,
                           first->h, first->w);
        }
    }
    return status == NET_OK ? net_plan_same(p) : status;
}

static void eltwise_run(const net_work *work) {
    const net_layer *layer = work->layer;
    size_t count = net_shape_elements(net_work_out(work, 0));
    int32_t op = net_layer_int(layer, 0, 0);
    uint32_t coeffs;
    const net_value *value = net_layer_array(layer, 1, &coeffs);
    bool weighted = op == ELT_SUM && coeffs != 0;
    float *out = work->out[0];
    float first = weighted ? net_value_float(value[0]) : 1.0f;
    for (size_t k = 0; k < count; k++) {
        out[k] = weighted ? work->in[0][k] * first : work->in[0][k];
    }
    for (uint32_t i = 1; i < layer->num_in; i++) {
        const float *in = work->in[i];
        float factor = weighted ? net_value_float(value[i]) : 1.0f;
        for (size_t k = 0; k < count; k++) {
            float v = weighted ? in[k] * factor : in[k];
            out[k] = op == ELT_PROD ? out[k] * v : op == ELT_SUM ? out[k] + v : out[k] < v ? v : out[k];
        }
    }
}

/* ---- BinaryOp: two blobs that are broadcast to one shape, or a blob and a number ---- */

enum {
    BIN_ADD,
    BIN_SUB,
    BIN_MUL,
    BIN_DIV,
    BIN_MAX,
    BIN_MIN,
    BIN_POW,
    BIN_RSUB,
    BIN_RDIV,
    BIN_RPOW,
    BIN_ATAN2,
    BIN_RATAN2,
    BIN_COUNT
};

static float binary(uint32_t op, float a, float b) {
    switch (op) {
    case BIN_ADD:
        return a + b;
    case BIN_SUB:
        return a - b;
    case BIN_MUL:
        return a * b;
    case BIN_DIV:
        return a / b;
    case BIN_MAX:
        return a < b ? b : a;
    case BIN_MIN:
        return b < a ? b : a;
    case BIN_POW:
        return powf(a, b);
    case BIN_RSUB:
        return b - a;
    case BIN_RDIV:
        return b / a;
    case BIN_RPOW:
        return powf(b, a);
    case BIN_ATAN2:
        return atan2f(a, b);
    case BIN_RATAN2:
    default:
        return atan2f(b, a);
    }
}

/*
 * The blob as (c, d, h, w), for broadcasting to one with more dimensions. A vector runs along the outermost dimension
 * of the other when their lengths agree, otherwise along the innermost one; a matrix runs along the two outer ones, a
 * map along the three outer ones of four dimensions.
 */
static void widen(const net_shape *shape, const net_shape *other, uint32_t size[NET_MAX_DIMS]) {
    const uint32_t dims = shape->dims > other->dims ? shape->dims : other->dims;
    const uint32_t outermost = other->dims == 2 ? other->h : other->c;
    uint32_t own[NET_MAX_DIMS];
    net_shape_outer(shape, own);
    /* where the blob's outermost dimension lies; its innermost one lies at the end where a vector runs along it */
    uint32_t first = shape->dims == 1 && shape->w != outermost ? dims - 1 : 0;
    uint32_t skipped = NET_MAX_DIMS - dims; /* dimensions that neither blob has */
    for (uint32_t i = 0; i < NET_MAX_DIMS; i++) {
        uint32_t k = i - skipped - first;
        size[i] = i >= skipped + first && k < shape->dims ? own[k] : 1;
    }
    if (dims == 3) { /* three dimensions have their channels outermost and no depth */
        size[0] = size[1];
        size[1] = 1;
    }
}

void net_op_binary_sizes(const net_graph *graph, const net_layer *layer, uint32_t size[2][NET_MAX_DIMS]) {
    const net_shape *a = &graph->blob[layer->in[0]].shape;
    const net_shape *b = &graph->blob[layer->in[1]].shape;
    widen(a, b, size[0]);
    widen(b, a, size[1]);
}

static net_status binary_shape(net_plan *p) {
    const net_shape *a = net_plan_in(p, 0);
    uint32_t op;
    bool scalar = net_layer_int(p->layer, 1, 0) != 0;
    net_status status = net_plan_number(p, 0, 0, 0, BIN_COUNT - 1, "operation", &op);
    if (status != NET_OK) {
        return status;
    }
    if (p->layer->num_in != (scalar ? 1 : 2)) {
        return NET_BAD(p, "%u inputs, expected %u", p->layer->num_in, scalar ? 1 : 2);
    }
    if (scalar) {
        return net_plan_same(p);
    }
    const net_shape *b = net_plan_in(p, 1);
    uint32_t size[2][NET_MAX_DIMS];
    uint32_t out[NET_MAX_DIMS];
    net_op_binary_sizes(p->graph, p->layer, size);
    for (uint32_t i = 0; i < NET_MAX_DIMS; i++) {
        out[i] = size[0][i] > size[1][i] ? size[0][i] : size[1][i];
    }
    /* Of maps and rows the last one repeats where an input has fewer, as in ncnn; there is no such rule for columns. */
    if (size[0][3] != size[1][3] && size[0][3] != 1 && size[1][3] != 1) {
        return NET_BAD(p, "inputs of %ux%ux%u and %ux%ux%u (c, h, w) do not fit together", a->c, a->h, a->w, b->c, b->h,
                       b->w);
    }
    return net_plan_out(p, 0, (net_shape){a->dims > b->dims ? a->dims : b->dims, out[3], out[2], out[0], out[1]});
}

static void binary_run(const net_work *work) {
    const net_shape *os = net_work_out(work, 0);
    uint32_t op = (uint32_t)net_layer_int(work->layer, 0, 0);
    float *out = work->out[0];
    if (work->layer->num_in == 1) {
        float b = net_layer_float(work->layer, 2, 0.0f);
        for (size_t i = 0; i < net_shape_elements(os); i++) {
            out[i] = binary(op, work->in[0][i], b);
        }
        return;
    }
    uint32_t size[2][NET_MAX_DIMS];
    net_op_binary_sizes(work->graph, work->layer, size);
    const uint32_t rows = net_shape_elements(os) / os->w;
    const uint32_t depth = os->dims == 4 ? os->d : 1;
    for (uint32_t r = 0; r < rows; r++) {
        const uint32_t at[3] = {r / os->h / depth, r / os->h % depth, r % os->h};
        const float *row[2];
        for (int i = 0; i < 2; i++) {
            size_t k = 0;
            for (int j = 0; j < 3; j++) { /* the last one repeats */
                k = k * size[i][j] + (at[j] < size[i][j] ? at[j] : size[i][j] - 1);
            }
            row[i] = work->in[i] + k * size[i][3];
        }
        for (uint32_t x = 0; x < os->w; x++) {
            *out++ = binary(op, row[0][size[0][3] == 1 ? 0 : x], row[1][size[1][3] == 1 ? 0 : x]);
        }
    }
}

/* ---- UnaryOp ---- */

#define UNARY_COUNT 20

static float unary(uint32_t op, float x) {
    switch (op) {
    case 0:
        return fabsf(x);
    case 1:
        return -x;
    case 2:
        return floorf(x);
    case 3:
        return ceilf(x);
    case 4:
        return x * x;
    case 5:
        return sqrtf(x);
    case 6:
        return 1.0f / sqrtf(x);
    case 7:
        return expf(x);
    case 8:
        return logf(x);
    case 9:
        return sinf(x);
    case 10:
        return cosf(x);
    case 11:
        return tanf(x);
    case 12:
        return asinf(x);
    case 13:
        return acosf(x);
    case 14:
        return atanf(x);
    case 15:
        return 1.0f / x;
    case 16:
        return tanhf(x);
    case 17:
        return log10f(x);
    case 18:
        return nearbyintf(x); /* half to even */
    case 19:
    default:
        return truncf(x);
    }
}

static net_status unary_shape(net_plan *p) {
    uint32_t op;
    net_status status = net_plan_number(p, 0, 0, 0, UNARY_COUNT - 1, "operation", &op);
    return status == NET_OK ? net_plan_same(p) : status;
}

static void unary_run(const net_work *work) {
    uint32_t op = (uint32_t)net_layer_int(work->layer, 0, 0);
    for (size_t i = 0; i < net_shape_elements(net_work_out(work, 0)); i++) {
        work->out[0][i] = unary(op, work->in[0][i]);
    }
}

/* ---- Threshold: 1 where an element is larger, else 0; Erf ---- */

static void threshold_run(const net_work *work) {
    float threshold = net_layer_float(work->layer, 0, 0.0f);
    for (size_t i = 0; i < net_shape_elements(net_work_out(work, 0)); i++) {
        work->out[0][i] = work->in[0][i] > threshold ? 1.0f : 0.0f;
    }
}

static void erf_run(const net_work *work) {
    for (size_t i = 0; i < net_shape_elements(net_work_out(work, 0)); i++) {
        work->out[0][i] = erff(work->in[0][i]);
    }
}

/* ---- Reduction: along some axes or all ---- */

enum {
    RED_SUM,
    RED_ASUM,
    RED_SUMSQ,
    RED_MEAN,
    RED_MAX,
    RED_MIN,
    RED_PROD,
    RED_L1,
    RED_L2,
    RED_LOGSUM,
    RED_LOGSUMEXP,
    RED_COUNT
};

/* The axes that are reduced; false: one does not exist. */
static bool reduced_axes(const net_layer *layer, uint32_t dims, bool gone[NET_MAX_DIMS]) {
    uint32_t count;
    const net_value *axes = net_layer_array(layer, 3, &count);
    bool all = net_layer_int(layer, 1, 1) != 0 || count == 0;
    for (uint32_t i = 0; i < NET_MAX_DIMS; i++) {
        gone[i] = all && i < dims;
    }
    for (uint32_t i = 0; !all && i < count; i++) {
        int32_t axis = (int32_t)axes[i].bits;
        axis = axis < 0 ? axis + (int32_t)dims : axis;
        if (axis < 0 || axis >= (int32_t)dims) {
            return false;
        }
        gone[axis] = true;
    }
    return true;
}

static net_status reduction_shape(net_plan *p) {
    const net_shape *in = net_plan_in(p, 0);
    bool gone[NET_MAX_DIMS];
    uint32_t op;
    uint32_t size[NET_MAX_DIMS];
    net_status status = net_plan_number(p, 0, 0, 0, RED_COUNT - 1, "operation", &op);
    if (status != NET_OK) {
        return status;
    }
    if (!reduced_axes(p->layer, in->dims, gone)) {
        return NET_BAD(p, "an axis (key 3) outside a blob with %u dimensions", in->dims);
    }
    if (net_layer_int(p->layer, 1, 1) == 0 && net_layer_param(p->layer, 3) != NULL &&
        net_layer_int(p->layer, 5, 0) != 1) {
        return NET_CANNOT(p, "%s", "a reduction along axes in the old numbering (key 5 is not 1)");
    }
    bool keep = net_layer_int(p->layer, 4, 0) != 0;
    uint32_t left[NET_MAX_DIMS] = {1}; /* from the outermost dimension inwards */
    uint32_t dims = 0;
    net_shape_outer(in, size);
    for (uint32_t i = 0; i < in->dims; i++) {
        if (keep || !gone[i]) {
            left[dims++] = gone[i] ? 1 : size[i];
        }
    }
    return net_plan_out(p, 0, net_shape_from(dims == 0 ? 1 : dims, left));
}

bool net_op_reduces_maps(const net_layer *layer, const net_shape *in, net_reduction *r) {
    bool gone[NET_MAX_DIMS];
    int32_t op = net_layer_int(layer, 0, 0);
    if ((op != RED_MEAN && op != RED_MAX && op != RED_SUM) || net_layer_float(layer, 2, 1.0f) != 1.0f ||
        !reduced_axes(layer, in->dims, gone) || in->dims > 3 || (in->dims == 3 && gone[0])) {
        return false;
    }
    const bool *of_map = gone + in->dims - 1; /* the innermost axis */
    *r = (net_reduction){
        .mean = op == RED_MEAN, .sum = op == RED_SUM, .columns = of_map[0], .rows = in->dims > 1 && of_map[-1]};
    return r->rows || r->columns;
}

static float reduce_step(uint32_t op, float sum, float x) {
    switch (op) {
    case RED_ASUM:
    case RED_L1:
        return sum + fabsf(x);
    case RED_SUMSQ:
    case RED_L2:
        return sum + x * x;
    case RED_MAX:
        return x > sum ? x : sum;
    case RED_MIN:
        return x < sum ? x : sum;
    case RED_PROD:
        return sum * x;
    case RED_LOGSUMEXP:
        return sum + expf(x);
    default: /* sum, mean, logsum */
        return sum + x;
    }
}

static float reduce_end(uint32_t op, float sum, size_t count, float coeff) {
    switch (op) {
    case RED_MEAN:
        return sum * (coeff / (float)count);
    case RED_L2:
        return sqrtf(sum) * coeff;
    case RED_LOGSUM:
    case RED_LOGSUMEXP:
        return logf(sum) * coeff;
    default:
        return sum * coeff;
    }
}

static void reduction_run(const net_work *work) {
    const net_shape *is = net_work_in(work, 0);
    uint32_t op = (uint32_t)net_layer_int(work->layer, 0, 0);
    float coeff = net_layer_float(work->layer, 2, 1.0f);
    bool gone[NET_MAX_DIMS];
    uint32_t size[NET_MAX_DIMS];
    uint32_t step[NET_MAX_DIMS]; /* of the output, 0 along a reduced axis */
    size_t outputs = 1;
    (void)reduced_axes(work->layer, is->dims, gone);
    net_shape_outer(is, size);
    for (int i = NET_MAX_DIMS - 1; i >= 0; i--) {
        step[i] = gone[i] ? 0 : (uint32_t)outputs;
        outputs *= gone[i] ? 1 : size[i];
    }
    for (size_t o = 0; o < outputs; o++) {
        work->out[0][o] = op == RED_MAX ? -FLT_MAX : op == RED_MIN ? FLT_MAX : op == RED_PROD ? 1.0f : 0.0f;
    }
    const float *in = work->in[0];
    for (uint32_t outer = 0; outer < size[0] * size[1]; outer++) {
        float *of_outer = work->out[0] + (size_t)(outer / size[1]) * step[0] + (size_t)(outer % size[1]) * step[1];
        for (uint32_t y = 0; y < size[2]; y++) {
            for (uint32_t x = 0; x < size[3]; x++) {
                float *sum = &of_outer[(size_t)y * step[2] + (size_t)x * step[3]];
                *sum = reduce_step(op, *sum, *in++);
            }
        }
    }
    for (size_t o = 0; o < outputs; o++) {
        work->out[0][o] = reduce_end(op, work->out[0][o], net_shape_elements(is) / outputs, coeff);
    }
}

const net_op net_ops_eltwise[] = {
    {"Eltwise", 2, NET_ANY, 1, 1, NULL, eltwise_shape, eltwise_run, NULL, true},
    {"BinaryOp", 1, 2, 1, 1, NULL, binary_shape, binary_run, NULL, true},
    {"UnaryOp", 1, 1, 1, 1, NULL, unary_shape, unary_run, NULL, true},
    {"Threshold", 1, 1, 1, 1, NULL, net_plan_same, threshold_run, NULL, true},
    {"Erf", 1, 1, 1, 1, NULL, net_plan_same, erf_run, NULL, true},
    {"Reduction", 1, 1, 1, 1, NULL, reduction_shape, reduction_run, NULL, true},
    {0},
};
