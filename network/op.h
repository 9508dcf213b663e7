/*
 * op.h - layer types: one row of a table for each, private to network/.
 *
 * A row has the arrays of a layer in the .bin file, the shapes of its outputs, and its computation in FP32 (the scalar
 * definition, in plain C). Reader, planner and executors use the table and no layer type directly. One file for each
 * family: op_conv.c, op_pool.c, op_eltwise.c, op_act.c, op_norm.c, op_shape.c, op_border.c, op_resize.c, op_detect.c,
 * op_boxes.c, op_roi.c, op_matmul.c, op_attn.c, op_sdpa.c, op_rnn.c, op_layout.c, op_point.c.
 */
#ifndef NET_OP_H
#define NET_OP_H

#include "internal.h"

#define NET_ANY UINT32_MAX /* no upper bound of inputs or outputs */
#define NET_ABSENT (-233)  /* ncnn's mark of a size that is not given */

/* Arrays of a layer in the order of the file. A tagged array has its format in the file, the others are FP32. */
typedef struct net_arrays {
    uint32_t count;
    struct {
        net_role role;
        bool tagged;
        int64_t elements; /* from the settings, unchecked: may be negative or huge */
    } item[NET_MAX_TENSORS];
} net_arrays;

/* Argument of `shape`: a layer whose inputs have their shapes. */
typedef struct net_plan {
    net_graph *graph;
    net_layer *layer;
    uint64_t elements; /* of all blobs so far */
    net_error *err;
} net_plan;

/* Sums of products of INT8 numbers, as floats: out[m][n] = sum of a[m][k] * b[n][k]. */
typedef struct net_product {
    uint32_t m, n, k;
    const int8_t *a, *b;
    float *out;
} net_product;
typedef void net_product_fn(void *user, const net_product *product);
/* In place: each row of `count` elements becomes its softmax. */
typedef void net_softmax_fn(void *user, float *row, uint32_t rows, uint32_t count);
#define NET_MAX_PRODUCTS 6u
/* The products that an INT8 layer asks for in `run` (operands and results NULL), and how often each. Returns how many
 * kinds there are; 0: none. */
uint32_t net_layer_products(const net_graph *graph, const net_layer *layer, net_product list[NET_MAX_PRODUCTS],
                            uint32_t times[NET_MAX_PRODUCTS]);

/* true: INT8 weights without a scale of the input, which is found while the layer runs. */
bool net_layer_products_are_dynamic(const net_layer *layer);
/* The product of a MatMul of two blobs; returns how many, one for each map. */
uint32_t net_gemm_product(const net_graph *graph, const net_layer *layer, net_product *product);
uint32_t net_matmul_product(const net_graph *graph, const net_layer *layer, net_product *product);
/* Both products of a head of an SDPA; returns the number of heads. */
uint32_t net_sdpa_products(const net_graph *graph, const net_layer *layer, net_product product[2]);
/* Those of LSTM, GRU and RNN: the input of all steps, and the state of one. */
uint32_t net_rnn_products(const net_graph *graph, const net_layer *layer, net_product product[2], uint32_t times[2]);
/* Elements that LayerNorm and RMSNorm normalise together: those of a row or of a map. */
uint32_t net_norm_group(const net_layer *layer, const net_shape *in);
/* true: one of these. */
bool net_layer_recurs(const net_layer *layer);

/* Argument of `run`: a planned layer with its weights, and the arrays of its blobs, which do not overlap. */
typedef struct net_work {
    const net_graph *graph;
    const net_layer *layer;
    const float *const *in;
    float *const *out;
    void *scratch;           /* layer->scratch bytes, aligned for any type */
    net_product_fn *product; /* what computes INT8 products; NULL: net_product_scalar() */
    net_softmax_fn *softmax; /* what computes the softmax of INT8 attention; NULL: mha_softmax_rows() */
    void *user;              /* their first argument */
} net_work;

typedef struct net_op {
    const char *type;
    uint32_t min_in, max_in, min_out, max_out;
    /* NULL: none. Reads the settings only. */
    void (*arrays)(const net_layer *layer, net_arrays *arrays);
    /* Checks settings and input shapes and calls net_plan_out() for every output. After it `run` cannot fail. NULL: the
     * type can be read but not executed. */
    net_status (*shape)(net_plan *p);
    void (*run)(const net_work *work);
    /* Useful multiply-accumulates of a planned layer; NULL: 0. */
    uint64_t (*macs)(const net_graph *graph, const net_layer *layer);
    bool deep; /* inputs may have four dimensions */
} net_op;

/* Rows of the families; a row without a type ends each. */
extern const net_op net_ops_conv[], net_ops_pool[], net_ops_eltwise[], net_ops_act[], net_ops_norm[], net_ops_shape[],
    net_ops_border[], net_ops_resize[], net_ops_detect[], net_ops_boxes[], net_ops_roi[], net_ops_matmul[],
    net_ops_attn[], net_ops_sdpa[], net_ops_rnn[], net_ops_layout[], net_ops_point[];

/* Row of a type, NULL when there is none. */
const net_op *net_op_find(const char *type);
/* The arrays of a layer; empty when the type has none or is unknown. */
void net_op_arrays(const net_layer *layer, net_arrays *arrays);

/* Memory that an executor needs to run one layer after the other. The executor sets in[] and out[] to the arrays of the
 * layer's blobs. */
typedef struct net_exec {
    const float **in;
    float **out;
    void *scratch;
    net_product_fn *product; /* of net_work */
    net_softmax_fn *softmax;
    void *user;
} net_exec;

/* For a planned graph. Errors: NET_ERR_MEMORY. */
net_status net_exec_new(const net_graph *graph, net_exec *exec, net_error *err);
void net_exec_free(net_exec *exec);
/* Run a layer through its row of the table. */
void net_exec_layer(const net_exec *exec, const net_graph *graph, const net_layer *layer);

/* A layer as the writers put it into the files. */
typedef struct net_written {
    net_layer layer;
    net_param param[6];
    net_value term; /* of int8_scale_term: 2 */
} net_written;
/*
 * The layer itself, or, of a planned graph, the InnerProduct that an INT8 Convolution of a vector is: ncnn takes the
 * vector for a map of one row there (Convolution::forward_int8), in FP32 for an InnerProduct. A top scale is left out:
 * ncnn's InnerProduct has FP32 outputs, and the next layer quantises by the same scale. The result lives as long as
 * layer and *w.
 */
const net_layer *net_layer_to_write(const net_graph *graph, const net_layer *layer, net_written *w);

/* Memory of a blob of the reference, for layers that another executor computes (target.c). */
float *net_ref_space(net_ref *ref, uint32_t blob);

/* ---- for `arrays` ---- */

void net_arrays_add(net_arrays *arrays, net_role role, bool tagged, int64_t elements);

/* ---- for `shape` ---- */

#define NET_WHERE "%.150s:%u: layer '%.60s' of type '%.40s'"
#define NET_HERE(p) (p)->graph->name, (p)->layer->line, (p)->layer->name, (p)->layer->type
#define NET_BAD(p, format, ...) net_fail((p)->err, NET_ERR_FORMAT, NET_WHERE ": " format, NET_HERE(p), __VA_ARGS__)
#define NET_CANNOT(p, format, ...)                                                                                     \
    net_fail((p)->err, NET_ERR_UNSUPPORTED, NET_WHERE ": " format " is not supported", NET_HERE(p), __VA_ARGS__)

const net_shape *net_plan_in(const net_plan *p, uint32_t i);
/* Set the shape of output i after checking that it is possible and that the whole network stays within bounds. */
net_status net_plan_out(net_plan *p, uint32_t i, net_shape shape);
/* A setting with its limits; the error names it. */
net_status net_plan_number(net_plan *p, uint32_t key, int32_t absent, int32_t lo, int32_t hi, const char *what,
                           uint32_t *out);
/* Sizes by expression over the shapes of blobs: value[0..*count-1], at most `most` of them. NULL, or what is wrong,
 * with the word that is ("": none). */
#define NET_WORD 24u
const char *net_expression(const char *text, const net_shape *const *in, uint32_t num_in, int32_t *value, uint32_t most,
                           uint32_t *count, char word[NET_WORD]);
/* Sizes by expression, a text (op_expr.c): value[0..*count-1], at most `most` of them. */
net_status net_plan_expression(net_plan *p, uint32_t key, int32_t *value, uint32_t most, uint32_t *count);
/* Every output has the shape of input 0: Split, activations, copies. */
net_status net_plan_same(net_plan *p);
/* A setting that counts the axes of input 0 from the outermost one (0) or, negative, from the end. */
net_status net_plan_axis(net_plan *p, uint32_t key, int32_t absent, uint32_t *axis);

/* true: the layer is only an activation without weights, which layer->act describes. */
bool net_op_is_act(const net_op *op);
/* An activation layer whose key 8 (not of ncnn, which ignores it) asks for the function itself, not the NPU's fit. */
bool net_act_is_exact(const net_layer *layer);
/* true: a planned layer that concatenates its inputs. Its `run` does not copy inputs that are already in place. */
bool net_op_joins(const net_layer *layer);
/* Function of a Reduction over the rows and columns of a map: mean, sum, or (neither) largest element.
 */
typedef struct net_reduction {
    bool mean, sum;
    bool rows, columns; /* which of them are reduced, at least one */
} net_reduction;
/* A planned Reduction of that kind of each map; a blob with fewer than three dimensions is one map. false: another one.
 */
bool net_op_reduces_maps(const net_layer *layer, const net_shape *in, net_reduction *r);
/* Sizes (c, d, h, w) of both inputs of a planned BinaryOp, broadcast to one number of dimensions: 1 where an input
 * repeats; where both are larger than 1 and differ, the last map or row of the smaller one repeats. */
void net_op_binary_sizes(const net_graph *graph, const net_layer *layer, uint32_t size[2][NET_MAX_DIMS]);
/* A planned Crop that keeps whole maps: those from *first on. */
bool net_op_crops_channels(const net_graph *graph, const net_layer *layer, uint32_t *first);
/* A fused activation: its number and its parameters. */
net_status net_plan_act(net_plan *p, uint32_t type_key, uint32_t params_key, net_act *act);

/* ---- for `run` ---- */

/* By work->product, or in C. */
void net_work_product(const net_work *work, const net_product *product);
/*
 * x[rows][count], rows `step` apart, as INT8 q[rows][count], with the scale 127/absmax of each row (scale[rows]) or of
 * all (scale[0]); 1 where all are zero. turned: q[count][rows], one scale only. steps: x is integers of -127..127, and
 * scales are 1.
 */
typedef struct net_quantised {
    const float *x;
    size_t step;
    uint32_t rows, count;
    int8_t *q;
    float *scale;
    bool each, turned, steps;
} net_quantised;
void net_dynamic_quantise(const net_quantised *v);

const net_shape *net_work_in(const net_work *work, uint32_t i);
const net_shape *net_work_out(const net_work *work, uint32_t i);
/* in and out may be the same. */
void net_act_apply(const net_act *act, const float *in, float *out, size_t count);
/* Every output is a copy of input 0. */
void net_run_copy(const net_work *work);

/* A BatchNorm channel as a line: y = factor * x + offset. */
void net_batch_norm_line(const net_layer *layer, uint32_t channel, float *factor, float *offset);

/* The blob seen along one axis: outer x n x step elements, element (o, i, k) at (o * n + i) * step + k. */
typedef struct net_axis {
    uint32_t outer, n, step;
} net_axis;
net_axis net_shape_axis(const net_shape *shape, uint32_t axis);

#endif
