/*
 * conv.h - private to the tests conv, dw, linear, int8_chain and concat: knobs, shapes, data, definition.
 */
#ifndef TESTCASES_CONV_H
#define TESTCASES_CONV_H

#include "../tests.h"
#include "tensor.h"

/* Kinds of generated shapes. */
typedef enum conv_shape {
    ANY,
    POINT,   /* 1 x 1 maps */
    ROW,     /* one row */
    TINY,    /* kernel larger than the map, padding around it */
    WIDE,    /* long rows */
    BROAD,   /* input rows of one output row exceed the input buffer */
    TALL,    /* many rows */
    ROWS,    /* a map larger than the input buffer */
    DEEP,    /* weights larger than the weight buffer */
    MANY,    /* more output channels than a task may have */
    DW,      /* depthwise */
    GROUPED, /* a few channels in each of several groups */
    DILATED, /* dilated kernels */
    STRIDED, /* strides up to 255 */
    PADDED,  /* padding up to 255: windows entirely in the padding */
    LARGE,   /* kernels from 8 up */
    STREAM,  /* more pixels than a task may have */
    CONV_SHAPE_COUNT
} conv_shape;

typedef enum conv_data {
    CONV_UNIFORM,
    CONV_EXTREME,
    CONV_ZEROS,
    CONV_SPARSE,
    CONV_RAMP,
    CONV_SPECIALS,
    CONV_HALVES,
    CONV_ONES, /* never drawn, for shrinking */
    CONV_DATA_COUNT
} conv_data;

typedef enum conv_scale {
    CONV_SCALE_CALIB,   /* 127 / threshold */
    CONV_SCALE_POW2,    /* products are exact, halves stay halves */
    CONV_SCALE_TINY,    /* everything rounds to 0 or nearly */
    CONV_SCALE_HUGE,    /* everything saturates */
    CONV_SCALE_SPECIAL, /* NaN, infinities, zeros, subnormals, negative */
    CONV_SCALE_COUNT
} conv_scale;

typedef enum conv_wdata {
    CONV_W_UNIFORM,
    CONV_W_EXTREME,
    CONV_W_ZEROS,
    CONV_W_SPARSE,
    CONV_W_RAMP,
    CONV_W_ONES,
    CONV_W_COUNT
} conv_wdata;
typedef enum conv_wscale { CONV_WSCALE_PLAIN, CONV_WSCALE_ZEROS, CONV_WSCALE_HARD, CONV_WSCALE_COUNT } conv_wscale;

/* Names of their values, for knobs. */
extern const char *const conv_data_names[CONV_DATA_COUNT];
extern const char *const conv_wdata_names[CONV_W_COUNT];
extern const char *const conv_scale_names[CONV_SCALE_COUNT];
extern const char *const conv_wscale_names[CONV_WSCALE_COUNT];
extern const char *const conv_act_names[NPU_ACT_COUNT];
extern const char *const conv_layout_names[2];
extern const char *const conv_wait_names[2];

/*
 * A case. What is to be computed (`math`), and the convolution that the driver is given (`drive`): another one where
 * the test is `linear`. Neither has addresses or scales.
 */
typedef struct conv_case {
    bool linear;
    npu_conv math, drive;
} conv_case;
/* From the knobs of conv, dw or linear. Returns the driver's status where it makes the convolution itself (linear). */
npu_status conv_case_of(uint32_t n, const tb_knobs *knobs, conv_case *out);
npu_conv_split conv_split_of(const tb_knobs *knobs, bool second);

/* conv_cost.c: tasks of a plan (slices of kernel rows that lie in the padding do not run); roughly its clock cycles;
 * cycles that a case may take. */
uint64_t conv_tasks(const npu_conv *conv, const npu_conv_plan *plan);
uint64_t conv_cost(uint32_t n, const npu_conv *conv, const npu_conv_plan *plan, uint32_t bus);
uint64_t conv_budget(uint32_t n);
/* Do these tensors fit into device memory? -1 with one line. */
int conv_check_memory(const npu_conv *conv, const npu_conv_plan *plan, char *err, size_t err_size);
/* Bytes of device memory: all buffers, with room for shifts, guards and a second run. */
uint64_t conv_memory(const npu_conv *conv, const npu_conv_plan *plan);

/* conv_gen.c */
void conv_generate(const tc_gen *g);
/* linear.c */
void linear_generate(const tc_gen *g);
/* conv_split.c: draw the splits of both runs, within the budget. */
void conv_draw_splits(uint32_t n, uint64_t seed, tb_knobs *knobs);
int conv_check(uint32_t n, const tb_knobs *knobs, char *err, size_t err_size);
int conv_execute(tc_run *run);
/* For shrinking: k, s, d and p follow from the knobs of the sides, channels from the number of groups. */
void conv_settle(tb_knobs *knobs);
/* ... cycles of both runs, MACs of the operator. */
tb_shrink_size conv_size(uint32_t n, const tb_knobs *knobs);
uint64_t conv_macs(const npu_conv *conv, const npu_conv_plan *plan);

/* The host's copy of the operands. */
typedef struct conv_tensors {
    uint32_t *input;   /* FP32 bits, [ic][ih][iw]; INT8 inputs: NULL */
    int8_t *quantised; /* the same as input of the mesh */
    int8_t *weights;   /* [oc][ic/groups][kh][kw] */
    float *w_scale;    /* [oc] */
    uint32_t *bias;    /* FP32 bits, [oc]; int_bias: int32, before the zero-point is folded into it (linear: after) */
    bool linear;       /* of a fully connected layer */
} conv_tensors;

/* Parameters for drawing the operands of one convolution. */
typedef struct conv_draw {
    uint64_t seed;
    conv_data data;
    conv_wdata wdata;
    conv_scale in_scale, out_scale;
    conv_wscale wscale;
    bool hard_bias, hard_act;
    bool asym; /* zero-points, rounding and range are drawn, and whether the biases are int32 */
} conv_draw;
conv_draw conv_draw_of(const tb_knobs *knobs, uint64_t seed);
/* out_scale, act_p, quant, int_bias and, where it is 0, in_scale of a convolution whose shape, layouts and activation
 * are set. */
void conv_draw_factors(const conv_draw *d, npu_conv *conv);
/* A scale of a quantiser; calibrated ones are 127 / threshold, the threshold between these two. */
uint32_t conv_draw_scale(tb_rng *rng, conv_scale kind, float lo, float hi);
/* `count` values of an input tensor that a quantiser with this scale maps to the whole range of INT8, as `kind` says.
 */
void conv_draw_f32(tb_rng *rng, conv_data kind, uint32_t in_scale, uint32_t *dst, size_t count);
/* All operands. -1: out of memory. Release with conv_tensors_free(), also after an error. */
int conv_tensors_make(conv_tensors *t, const npu_conv *conv, const conv_draw *d);
void conv_tensors_free(conv_tensors *t);

/* One output before its activation, as FP32 bits, computed from the definition. conv->in_scale is set. */
uint32_t conv_reference(const npu_conv *conv, const conv_tensors *t, uint32_t oc, uint32_t oy, uint32_t ox);

/* conv_op.c: a convolution with its operands on the device. */
typedef struct conv_op {
    tc_run *run;
    const char *name;     /* of the layer, for streams and messages */
    bool linear;          /* drive was made by npu_linear_make() */
    npu_conv math, drive; /* scales and activation set in both; addresses in `drive` */
    npu_conv_plan plan;   /* of drive */
    npu_tensor in, out;   /* as in memory */
    const conv_tensors *t;
    uint16_t tasks; /* that it took */
} conv_op;
/* in and out without addresses: shape, layout and step. gap: units between channels or pixels. */
void conv_op_tensors(conv_op *op, uint32_t gap, bool tight);
/* Put weights, factors and bias there, reserve the scratch. */
int conv_op_params(conv_op *op);
/* Compare `points` outputs, corners among them, of the image of `out` with the definition; 0: all of them. */
void conv_op_check(conv_op *op, const uint8_t *image, uint32_t points);
/* Describe it and its splits in run->stats. */
void conv_op_describe(const conv_op *op);

#endif
