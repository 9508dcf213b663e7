/*
 * network.h - neural networks in ncnn's .param/.bin files: reading, FP32 reference, quantisation; at its end the parts
 * of the library that have a header of their own, among them runtime.h: an NPU device executes a network.
 *
 * Order of use: net_graph_load() (or the two parse functions), then net_graph_plan() when the network is to be
 * executed, then net_ref_* (FP32, plain C) or net_rt_* (layers that the driver supports on the device, the others in
 * plain C). Functions that can fail return a net_status and write one line into *err, which may be NULL.
 */
#ifndef NETWORK_H
#define NETWORK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../tb/npu/device.h"

typedef enum net_status {
    NET_OK = 0,
    NET_ERR_ARG,         /* null pointer or a value out of range */
    NET_ERR_IO,          /* a file cannot be read */
    NET_ERR_FORMAT,      /* the file is damaged: it violates its format, or is truncated */
    NET_ERR_UNSUPPORTED, /* an unsupported layer or setting */
    NET_ERR_MEMORY,      /* out of memory, on the host or on the device */
    NET_ERR_DEVICE,      /* driver or device failed */
    NET_STATUS_COUNT
} net_status;

typedef struct net_error {
    char text[400]; /* one line without newline: what, where, what was expected */
} net_error;

#define NET_NONE UINT32_MAX
#define NET_MAX_PARAM_BYTES (8u << 20) /* size of a .param file */
#define NET_MAX_BIN_BYTES (1u << 30)   /* size of a .bin file */
#define NET_MAX_LAYERS 8192u
#define NET_MAX_BLOBS 16384u
#define NET_MAX_KEY 31u             /* keys of a layer's settings */
#define NET_KEY_HINTS 30u           /* shapes of the outputs: net_layer_hint() */
#define NET_KEY_FEATURES 31u        /* feature mask: features that ncnn must not use for this layer; kept, not used */
#define NET_MAX_ELEMENTS (1u << 28) /* elements of all blobs of an executed network together */
#define NET_MAX_TENSORS 12u         /* weight arrays of a layer */

/* ---- settings of a layer: key=value ---- */

/* ncnn keeps 32 bits and a flag whether the text was a float; a reader of the other type gets the unchanged bits. */
typedef struct net_value {
    uint32_t bits;
    bool is_float;
} net_value;

typedef struct net_param {
    uint32_t key;
    bool is_array;
    uint32_t count;   /* values; 1 unless is_array; 0 for text, and for an array without values */
    net_value *value; /* NULL when count is 0 */
    char *text;       /* a string value, otherwise NULL */
} net_param;

/* ---- graph ---- */

typedef enum net_kind {
    NET_OTHER = 0, /* at most read: cannot be executed */
    NET_INPUT,
    NET_CONV,
    NET_RELU,
    NET_SPLIT,
    NET_SOFTMAX,
    NET_FLATTEN,
    NET_RESHAPE,
    NET_COPY /* Dropout and Noop: the output is the input */
} net_kind;

/* Element (c, y, x) is at index (c*h + y)*w + x. dims 1: h = c = 1; dims 2: c = 1; dims 0: not known. dims 4: (c, z, y,
 * x) at ((c*d + z)*h + y)*w + x; with fewer dimensions d is not used. */
typedef struct net_shape {
    uint32_t dims, w, h, c, d;
} net_shape;
#define NET_MAX_DIMS 4u

typedef enum net_role {
    NET_ROLE_WEIGHT,
    NET_ROLE_BIAS,
    NET_ROLE_WEIGHT_SCALE,
    NET_ROLE_BOTTOM_SCALE,
    NET_ROLE_TOP_SCALE,
    NET_ROLE_SCALE,    /* factors and slopes of normalisations and of PReLU */
    NET_ROLE_MEAN,     /* BatchNorm */
    NET_ROLE_VARIANCE, /* BatchNorm */
    NET_ROLE_OTHER
} net_role;

/* How a .bin file holds an array. Any other tag means a codebook: 256 floats, then an index of one byte for each
 * element. */
#define NET_TAG_FP32 0x00000000u
#define NET_TAG_FP16 0x01306B47u
#define NET_TAG_INT8 0x000D4B38u
#define NET_TAG_FP32_SCALED 0x0002C056u /* read as FP32 */

/* Layouts of a .bin file: arrays in the order of the layers, without names and sizes. */
typedef enum net_layout {
    /* ncnn's own: weights have a tag before and zeros after them, up to 4 bytes; other arrays are FP32 without tag */
    NET_LAYOUT_STOCK,
    /* every array has a tag (FP32, FP16, INT8) before it; tag and array are filled up with zeros to 16 bytes each */
    NET_LAYOUT_ALIGNED,
    NET_LAYOUT_AUTO /* reading: whichever of the two ends at the last byte; writing: as the graph was read */
} net_layout;

/* One array of the .bin file. Exactly one of f32 and i8 is set; FP16 and codebook arrays are expanded into f32. */
typedef struct net_tensor {
    net_role role;
    uint32_t count;
    /* as in the file, NET_TAG_FP32 for arrays without a tag; a program that changes f32 sets NET_TAG_FP32 */
    uint32_t tag;
    float *f32;
    int8_t *i8;
} net_tensor;

/* Activation functions; the first seven have the numbers of ncnn's fused activations (key 9 of a convolution).
 */
typedef enum net_act_type {
    NET_ACT_NONE = 0,
    NET_ACT_RELU,  /* v > 0 ? v : +0 */
    NET_ACT_LEAKY, /* v > 0 ? v : v * a */
    NET_ACT_CLIP,  /* to a..b */
    NET_ACT_SIGMOID,
    NET_ACT_MISH,
    NET_ACT_HARD_SWISH, /* v * hard sigmoid(v) */
    NET_ACT_SWISH,      /* v * sigmoid(v) */
    NET_ACT_TANH,
    NET_ACT_HARD_SIGMOID, /* v * a + b, cut off at 0 and 1 */
    NET_ACT_ELU,          /* v < 0 ? a * (e^v - 1) : v */
    NET_ACT_SELU,         /* v < 0 ? a * b * (e^v - 1) : b * v */
    NET_ACT_SOFTPLUS,     /* ln(1 + e^v) */
    NET_ACT_GELU,         /* v * (1 + erf(v / sqrt(2))) / 2 */
    NET_ACT_GELU_TANH     /* v * (1 + tanh(sqrt(2/pi) * (v + 0.044715 v^3))) / 2 */
} net_act_type;

typedef struct net_act {
    net_act_type type;
    float a, b;
} net_act;

/* A layer with weights (convolution of any kind, deconvolution, inner product as a 1x1 one), filled by
 * net_graph_plan(). */
typedef struct net_conv {
    uint32_t num_output, kernel_w, kernel_h, stride_w, stride_h, dilation_w, dilation_h;
    uint32_t pad_l, pad_r, pad_t, pad_b;
    uint32_t groups;     /* 1 unless grouped or depthwise */
    bool has_bias, relu; /* relu: the activation is exactly that; otherwise it is in the layer's `act` */
    uint32_t
        /* 0 float, 2 INT8 with float output, 102 INT8 requantised for the next layer; 1 and 101: a weight scale for
           each group */
        int8_scale_term;
} net_conv;

/* A pooling layer, filled by net_graph_plan(). Output (y, x) covers rows y * stride_h - pad_t .. + kernel_h - 1,
 * columns likewise; pad_r and pad_b include the tail of mode "full". */
typedef struct net_pool {
    bool max; /* otherwise the average */
    bool
        /* output o of n covers in * o / n .. ceil(in * (o + 1) / n) - 1: the sizes below are 0; the global pool is the
           one with a single output */
        adaptive;
    bool count_padding; /* average: divide by the whole window instead of its elements inside the map */
    uint32_t kernel_w, kernel_h, stride_w, stride_h, pad_l, pad_r, pad_t, pad_b;
} net_pool;

/* Asymmetric INT8 of a layer's input: (q - zero) / its scale. Files do not have it. */
typedef struct net_asym {
    bool used;
    int8_t zero;
} net_asym;

typedef struct net_layer {
    net_kind kind;
    char *type;
    char *name;
    uint32_t line; /* in the .param file */
    uint32_t num_in, num_out;
    uint32_t *in; /* blob numbers */
    uint32_t *out;
    uint32_t num_params;
    net_param *param;
    uint32_t num_tensors;
    net_tensor tensor[NET_MAX_TENSORS];
    net_asym asym; /* layers with weights in INT8; filled by net_quantize_asym() */
    bool wide;     /* INT16: scales are 32767/absmax, weights are still FP32; filled by net_quantize_wide() */
    net_conv conv; /* layers with weights; filled by net_graph_plan() */
    net_pool pool; /* pooling layers; filled by net_graph_plan() */
    /* fused activation of a layer with weights, or function of an activation layer; filled by net_graph_plan() */
    net_act act;
    const struct net_op *op; /* row of the table of layer types (op.h); filled by net_graph_plan() */
    size_t scratch;          /* bytes of memory that the layer needs while it runs; filled by net_graph_plan() */
} net_layer;

typedef struct net_blob {
    char *name;
    uint32_t producer; /* layer number */
    uint32_t consumer; /* layer number or NET_NONE: fan-out is a Split layer, so there is at most one */
    net_shape shape;   /* filled by net_graph_plan() */
    /*
     * Where an executor may keep the elements: from `offset` on in blob `home`, which is the blob itself unless a
     * Concat along the outermost dimension consumes it. If written there, it need not be copied. Filled by
     * net_graph_plan().
     */
    uint32_t home, offset;
} net_blob;

typedef struct net_graph {
    char name[256]; /* of the .param file, for error lines */
    uint32_t num_layers;
    net_layer *layer;
    uint32_t num_blobs;
    net_blob *blob;
    /* lines after the last layer counted in line 2: not read, as in ncnn (public files have them) */
    uint32_t extra_lines;
    bool has_weights;
    net_layout layout; /* of the .bin that was read */
    bool planned;
    /* Blobs of the Input layers and blobs without a consumer, in the order of the file; filled by net_graph_plan(). */
    uint32_t num_inputs, num_outputs;
    uint32_t *inputs, *outputs;
    net_shape free_input;   /* of Input layers without a shape in the file: net_graph_set_input() */
    uint32_t input, output; /* the only input and the only output; NET_NONE where there are several */
} net_graph;

/*
 * Read .param text into *graph (which is overwritten; on error it is left empty). Every layer type is accepted. `name`
 * is used in error messages. Errors: NET_ERR_ARG, NET_ERR_FORMAT, NET_ERR_MEMORY.
 */
net_status net_graph_parse_param(net_graph *graph, const char *text, size_t bytes, const char *name, net_error *err);
/*
 * Read the weights of all layers from .bin bytes, which must end with the last array. No allocation is larger than four
 * times the bytes present. Errors: NET_ERR_ARG, NET_ERR_FORMAT (truncated, bytes left over, impossible counts),
 * NET_ERR_UNSUPPORTED (a layer type whose arrays are not known), NET_ERR_MEMORY. On error the graph has no weights.
 */
net_status net_graph_parse_bin(net_graph *graph, const void *data, size_t bytes, const char *name, net_error *err);
/* The same for a layout; net_graph_parse_bin() reads NET_LAYOUT_STOCK. */
net_status net_graph_parse_bin_as(net_graph *graph, net_layout layout, const void *data, size_t bytes, const char *name,
                                  net_error *err);
/* The .param alone from a file. On error *graph is empty. */
net_status net_graph_load_param(net_graph *graph, const char *path, net_error *err);
/* Both from files, the .bin in either layout. On error *graph is empty. */
net_status net_graph_load(net_graph *graph, const char *param_path, const char *bin_path, net_error *err);
/*
 * Fill all arrays with numbers drawn from a seed, as floats; the same for the same .param and seed on every machine.
 * Scales of INT8 layers fit the weights and activations of -4..4. Errors: NET_ERR_FORMAT (impossible counts),
 * NET_ERR_MEMORY. On error the graph has no weights.
 */
net_status net_graph_random_weights(net_graph *graph, uint64_t seed, net_error *err);
/* Shape (1..65536 each) of every Input layer whose settings give none. Before net_graph_plan(). */
net_status net_graph_set_input(net_graph *graph, uint32_t w, uint32_t h, uint32_t c, net_error *err);
/*
 * Decide the shape of every blob and decode the settings of every layer. Errors: NET_ERR_UNSUPPORTED names the layer
 * and its line; NET_ERR_FORMAT where weights and shapes disagree.
 */
net_status net_graph_plan(net_graph *graph, net_error *err);
void net_graph_free(net_graph *graph);

/*
 * The graph as .param text, as ncnn's own tools write it: arrays with their length in front, floats with an exponent
 * and as many digits (7 to 9) as give the same value again. net_graph_parse_param() reads the same graph from it. *text
 * is followed by a zero byte; the caller has to free() it. An INT8 Convolution of a vector in a planned graph is
 * written as the InnerProduct that it is, here and in the .bin: ncnn would take the vector for a map of one row.
 * Errors:
 * NET_ERR_ARG (a name or text that the format cannot hold), NET_ERR_MEMORY.
 */
net_status net_graph_print_param(const net_graph *graph, char **text, size_t *bytes, net_error *err);

/* How float weights are stored. INT8 weights stay INT8; bias, scales and other arrays are FP32. */
typedef enum net_storage {
    NET_STORE_EXACT, /* nothing is lost: FP16 where the array was FP16 and all its values still are, else FP32 */
    NET_STORE_FP32,
    NET_STORE_FP16 /* rounded to nearest, ties to even; a finite value beyond 65504 is an error */
} net_storage;

typedef struct net_save_options {
    net_layout layout;
    net_storage storage;
} net_save_options;

/*
 * The weights as .bin bytes, *data to be freed by the caller. The arrays must be those that the settings need; one that
 * is missing or of another size is an error, so that the file can be read. options NULL: NET_LAYOUT_AUTO,
 * NET_STORE_EXACT. Errors: NET_ERR_ARG (also: a graph without weights), NET_ERR_UNSUPPORTED, NET_ERR_MEMORY.
 */
net_status net_graph_pack_bin(const net_graph *graph, const net_save_options *options, uint8_t **data, size_t *bytes,
                              net_error *err);
/* Both into files, each written under a temporary name and then renamed. Errors: those of the two functions above,
 * NET_ERR_IO. */
net_status net_graph_save(const net_graph *graph, const char *param_path, const char *bin_path,
                          const net_save_options *options, net_error *err);

/* Setting of a layer, or the default when the key is absent (or is an array or text). */
int32_t net_layer_int(const net_layer *layer, uint32_t key, int32_t absent);
float net_layer_float(const net_layer *layer, uint32_t key, float absent);
/* Values of a setting (an array, or one number) and how many there are; NULL and 0 when the key is absent or text. */
const net_value *net_layer_array(const net_layer *layer, uint32_t key, uint32_t *count);
/* The bits as a float, as ncnn takes them, whatever the text was. */
float net_value_float(net_value value);
/* The setting itself or NULL. */
const net_param *net_layer_param(const net_layer *layer, uint32_t key);
/* Replace or add a setting; a new one comes last. NET_ERR_ARG (key above 31, null array),
 * NET_ERR_MEMORY: nothing has changed. */
net_status net_layer_set_int(net_layer *layer, uint32_t key, int32_t value);
net_status net_layer_set_float(net_layer *layer, uint32_t key, float value);
net_status net_layer_set_array(net_layer *layer, uint32_t key, const net_value *value, uint32_t count);
/* Remove a setting, if it is there. */
void net_layer_unset(net_layer *layer, uint32_t key);

/* Shape hint of the file for an output, from the program that wrote it; nothing here depends on it. d is 1 in
 * hints of four numbers. */
typedef struct net_hint {
    uint32_t dims, w, h, d, c;
} net_hint;
/* false: no hint, or no such output. */
bool net_layer_hint(const net_layer *layer, uint32_t output, net_hint *hint);
/* The layer's first array with this role or NULL. */
const net_tensor *net_layer_tensor(const net_layer *layer, net_role role);
/* true when net_graph_plan() and net_ref_run() support the type (its settings may still be unsupported). */
bool net_type_is_known(const char *type);
uint32_t net_shape_elements(const net_shape *shape);
/* The same dimensions with the same sizes. */
bool net_shape_same(const net_shape *a, const net_shape *b);
/* Sizes from the outermost dimension inwards (dims of them), the order in which ncnn counts axes; the others are 1. */
void net_shape_outer(const net_shape *shape, uint32_t size[NET_MAX_DIMS]);
/* The shape with these sizes, the outermost first. */
net_shape net_shape_from(uint32_t dims, const uint32_t size[NET_MAX_DIMS]);
/* Useful multiply-accumulates of one inference. 0 before net_graph_plan(). */
uint64_t net_graph_macs(const net_graph *graph);
/* The same of one layer. */
uint64_t net_layer_macs(const net_graph *graph, uint32_t layer);
/* true when at least one layer with weights is INT8. */
bool net_graph_is_int8(const net_graph *graph);

/* Hash of an array of floats by their bits: tb_hash_bytes() over the elements, finished. */
uint64_t net_hash(const float *data, size_t count);

/* ---- graph optimiser ---- */

/* Called for each change: one line without newline. */
typedef void net_opt_note(void *user, const char *line);
/*
 * Simplify a planned graph with weights in place, and plan it again: layers that change nothing are removed, successive
 * Split layers become one, BatchNorm and Scale are folded into the layer with weights before them, activations are
 * fused into it, and INT8 convolutions whose consumers all are INT8 convolutions of one input scale get an INT8 output
 * of that scale. Names of inputs and outputs are kept. Shape hints of the file (key 30) are dropped when anything
 * changed. note and changes (how many) may be NULL. Errors: NET_ERR_ARG, NET_ERR_MEMORY (the graph is not planned
 * then).
 */
net_status net_optimize(net_graph *graph, net_opt_note *note, void *user, uint32_t *changes, net_error *err);
/*
 * Of that only: BatchNorm and Scale are folded into the layer with weights before them. For engines that quantise the
 * weights of the graph as it is.
 */
net_status net_opt_norms(net_graph *graph, uint32_t *changes, net_error *err);
/*
 * Pool the branches of a Concat instead of the joined map, in a planned graph (document 002, graph passes); it is
 * planned again. No bit changes. Adds the number of poolings that moved to *changes, which may be NULL. Errors:
 * NET_ERR_ARG, NET_ERR_MEMORY (the graph is not planned then).
 */
net_status net_opt_pools_first(net_graph *graph, uint32_t *changes, net_error *err);
/*
 * Convolutions of one input, with equal kernel, stride, dilation, padding, activation and scale of the input, become
 * one whose output channels are all of theirs, with a Slice behind it (document 002, graph passes), in a planned graph
 * with weights; it is planned again. An activation layer that follows each of them is moved before the Slice. No bit
 * changes. Convolutions with an INT8 output are left alone. Adds the number of merged groups to *changes, which may be
 * NULL. Errors: NET_ERR_ARG, NET_ERR_MEMORY (the graph is not planned then).
 */
net_status net_opt_merge_convs(net_graph *graph, uint32_t *changes, net_error *err);

/* ---- images: text, a line each: pixels (0..255) and class (0..65535), separated by commas ---- */

typedef struct net_images {
    uint32_t count;
    uint32_t pixels; /* of an image */
    uint8_t *pixel;  /* [count][pixels] */
    uint16_t *label; /* [count] */
} net_images;

/* Read a file whose images have `pixels` (1..65536) pixels. On error *images is empty. Errors: NET_ERR_ARG, NET_ERR_IO,
 * NET_ERR_FORMAT, NET_ERR_MEMORY. */
net_status net_images_load(net_images *images, const char *path, uint32_t pixels, net_error *err);
void net_images_free(net_images *images);
/* Image i as input of a network: pixel * norm, out[pixels]. */
void net_images_input(const net_images *images, uint32_t i, float norm, float *out);
/* Index of the largest of count > 0 values, the first one on a tie; NaN never wins. */
uint32_t net_argmax(const float *value, uint32_t count);

/* ---- FP32 reference in plain C ---- */

typedef struct net_ref net_ref;
/* Buffers for a planned graph with float weights, which must outlive it. */
net_status net_ref_new(const net_graph *graph, net_ref **out, net_error *err);
void net_ref_free(net_ref *ref);
/*
 * Run the graph on input[elements of all input blobs, one blob after the other]. A convolution adds the bias first,
 * then products in the order input channel, kernel row, kernel column.
 */
void net_ref_run(net_ref *ref, const float *input);
/* The same in steps: the input, then every layer in order. */
void net_ref_set_input(net_ref *ref, const float *input);
void net_ref_run_layer(net_ref *ref, uint32_t layer);
/* Contents of a blob after net_ref_run(). */
const float *net_ref_blob(const net_ref *ref, uint32_t blob);

/* ---- quantisation ---- */

/*
 * Largest absolute value at the input of each convolution over the first `count` images: absmax[num_layers], 0 for the
 * other layers.
 */
net_status net_calibrate(const net_graph *graph, const net_images *images, uint32_t count, float norm, float *absmax,
                         net_error *err);
/*
 * Turn every float convolution into an INT8 one in place: weights 127/absmax for each output channel, input
 * 127/absmax[layer]. A range that is zero or not finite gets scale 0 (all zero). int8_scale_term becomes 2.
 */
net_status net_quantize(net_graph *graph, const float *absmax, net_error *err);
/* round half away from zero of value*scale, clamped to -127..127; NaN gives 0. */
int8_t net_quantize_value(float value, float scale);

/* Smallest (at most 0) and largest (at least 0) value at the input of each layer that can be quantised, otherwise as
 * net_calibrate(): lo and hi [num_layers]. */
net_status net_calibrate_range(const net_graph *graph, const net_images *images, uint32_t count, float norm, float *lo,
                               float *hi, net_error *err);
/*
 * Ranges of net_calibrate_range() whose inputs have values of one Concat, through Concat, Split, Slice, Reshape, copies
 * and max pooling, become their union: steps and zero-points of all of its parts are then equal (document 002, section
 * 3.2.1), and moves between them need no arithmetic.
 */
net_status net_unify_ranges(const net_graph *graph, float *lo, float *hi, net_error *err);
/*
 * As net_quantize(), of all layers that can be quantised, with a step and a zero-point for each input: steps of
 * (hi - lo)/255 with 0 inside the range, the zero-point clamp(round(-128 - lo/step)). Weights stay symmetric; biases
 * become int32 in steps of the sums (net_asym_bias()). Document 002, section 3.2.1. The runtime executes such layers,
 * net_int8_new() refuses them.
 */
net_status net_quantize_asym(net_graph *graph, const float *lo, const float *hi, net_error *err);
/* round half to even of value*scale, plus the zero-point, clamped to -128..127; NaN gives the zero-point. */
int8_t net_quantize_asym_value(float value, float scale, int8_t zero);
/*
 * As net_quantize_asym(), to INT16: 32767/absmax for each output channel and each input, nothing else changes (document
 * 002, section 3.2.2). The layer's weights stay FP32 and become INT16 where they are loaded. Needs a device with INT16.
 */
net_status net_quantize_wide(net_graph *graph, const float *lo, const float *hi, net_error *err);
/* round half away from zero of value*scale, clamped to -32767..32767; NaN gives 0. */
int16_t net_quantize_wide_value(float value, float scale);

/* The bias in steps of the sums, 1/(bottom_scale * weight_scale), half to even; it saturates. */
int32_t net_asym_bias(float bias, float bottom_scale, float weight_scale);

/*
 * The same without images: Convolution, ConvolutionDepthWise and InnerProduct of a planned graph with float weights
 * become INT8 layers, each input with 127/absmax of one FP32 run over net_seeded_input(), or 1 where that is all zero.
 * INT8 layers are unchanged. Errors: NET_ERR_ARG, NET_ERR_UNSUPPORTED, NET_ERR_MEMORY.
 */
net_status net_quantize_seeded(net_graph *graph, uint64_t seed, net_error *err);
/* The same, but for layers that stay float: stay[num_layers], or NULL for none. */
net_status net_quantize_seeded_some(net_graph *graph, uint64_t seed, const bool *stay, net_error *err);
/* Values of -1..1 for all input blobs of a planned graph, one blob after the other: input[net_graph_input_elements()].
 */
void net_seeded_input(const net_graph *graph, uint64_t seed, float *input);
size_t net_graph_input_elements(const net_graph *graph);

/* The rest of the library's header. */
#include "boxes.h"
#include "calib.h"
#include "int8.h"
#include "picture.h"
#include "runtime.h"

#endif
