/*
 * ncnn_ref.h - the INT8 arithmetic of ncnn's plain C++ layers, slowly: docs/npu/ncnn-contract.md. One output element at
 * a time, every float step a statement of its own.
 *
 * It knows neither the NPU nor its golden model and shares no header with them; tests/ncnn_dev.h runs the same layers
 * on a device. Names of the fields are those of ncnn's parameters.
 */
#ifndef NCNN_REF_H
#define NCNN_REF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum ncnn_kind {
    NCNN_CONVOLUTION,
    NCNN_CONVOLUTION_DW,
    NCNN_INNER_PRODUCT,
    NCNN_QUANTIZE,
    NCNN_DEQUANTIZE,
    NCNN_KINDS
} ncnn_kind;

/* activation_type; the numbers are ncnn's */
enum {
    NCNN_ACT_NONE,
    NCNN_ACT_RELU,
    NCNN_ACT_LEAKY,
    NCNN_ACT_CLIP,
    NCNN_ACT_SIGMOID,
    NCNN_ACT_MISH,
    NCNN_ACT_HARDSWISH,
    NCNN_ACTS
};

/*
 * A layer. 32-bit members only: tests/test_ncnn_contract.py has the same structure. InnerProduct: w inputs, h = c = 1.
 * Quantize, Dequantize: bottom_scale is their scale (one for all channels).
 */
typedef struct ncnn_layer {
    int32_t kind; /* ncnn_kind */
    int32_t w, h, c;
    int32_t num_output, kernel_w, kernel_h, dilation_w, dilation_h, stride_w, stride_h;
    int32_t pad_left, pad_right, pad_top, pad_bottom;
    int32_t bias_term, group, activation_type;
    int32_t in_int8,
        /* the blob is INT8: an input that was quantised with bottom_scale, an output quantised with top_scale
           (int8_scale_term > 100) */
        out_int8;
    int32_t weight_scales; /* entries of weight_scale: num_output, group or 1 */
    float activation_params[2];
    float bottom_scale, top_scale;
} ncnn_layer;

/* in: [c][h][w], float or int8_t; weight: [num_output][c/group][kernel_h][kernel_w]; bias: [num_output]. */
typedef struct ncnn_blobs {
    const void *in;
    const int8_t *weight;
    const float *weight_scale, *bias;
} ncnn_blobs;

/*
 * What the implementation does wrong on purpose. The first NCNN_EQUAL_FROM change results, and a test that does not see
 * it is too weak; those from NCNN_EQUAL_FROM on are other ways to the same result and must never differ.
 */
typedef enum ncnn_variant {
    NCNN_RIGHT,
    NCNN_INPUT_HALF_EVEN,     /* ties of the input quantiser to even */
    NCNN_INPUT_HALF_UP,       /* floor(v + 0.5) */
    NCNN_INPUT_ADD_HALF,      /* v +- 0.5 rounded to float, then cut: 0.49999997 becomes 1 */
    NCNN_INPUT_DIVIDES,       /* x / f32(1/scale) */
    NCNN_OUTPUT_HALF_EVEN,    /* ties of the requantiser to even */
    NCNN_OUTPUT_TRUNCATES,    /* no rounding at all */
    NCNN_CLAMP_128,           /* -128 as the lower end */
    NCNN_HUGE_WRAPS,          /* conversion as x86 has it: what does not fit an int is INT_MIN */
    NCNN_NAN_IS_MAX,          /* NaN as +127 */
    NCNN_SUM_IS_FLOAT,        /* the sum is kept in float: lost bits above 2^24 */
    NCNN_SUM_SATURATES,       /* int32 saturates instead of wrapping */
    NCNN_SUM_CUT,             /* sum to float towards zero */
    NCNN_FACTOR_DIVIDES,      /* sum / (bottom * weight) */
    NCNN_FACTOR_IN_TWO_STEPS, /* sum * (1/bottom) * (1/weight) */
    NCNN_FACTOR_DOUBLE,       /* 1/(bottom*weight) in double, rounded once */
    NCNN_ZERO_SCALE_IS_INF,   /* 1/0 for a weight scale of zero */
    NCNN_FUSED,               /* sum*factor + bias with one rounding */
    NCNN_BIAS_IN_SUM,         /* bias as an integer in the sum */
    NCNN_ACT_BEFORE_BIAS,
    NCNN_RELU_KEEPS_ZERO, /* max(v, -0) */
    NCNN_UPPER_IN_ONE,    /* HardSwish: (1 - beta) / alpha */
    NCNN_TOP_IN_FACTOR,   /* (factor * top) and (bias * top) beforehand */
    NCNN_FLUSH,           /* subnormal results become zero */
    NCNN_DOUBLE,          /* everything behind the sum in double, rounded once */
    NCNN_PADS_SWAPPED,    /* left for right, top for bottom */
    NCNN_PADS_NOT_ZERO,   /* the border repeated instead of zeros */
    NCNN_DILATION_ROW,    /* dilation of the row for both */
    NCNN_FIRST_SCALE,     /* the first weight scale for every channel */
    NCNN_EQUAL_FROM,
    NCNN_PAD_FIRST = NCNN_EQUAL_FROM, /* float zeros around the input, then quantised */
    NCNN_SUM_BACKWARDS,               /* products in reverse order */
    NCNN_VARIANTS
} ncnn_variant;

const char *ncnn_variant_name(ncnn_variant v);

/* Things that happened while results were computed, each with the number of values it happened to. */
typedef enum ncnn_event {
    NCNN_E_IN_HALF,       /* input quantiser: an exact half that is not clamped */
    NCNN_E_IN_BELOW_HALF, /* the float before a half */
    NCNN_E_IN_SATURATED,
    NCNN_E_IN_NAN,  /* input or scale NaN, or 0 * infinity */
    NCNN_E_IN_INF,  /* scaled value infinite */
    NCNN_E_IN_HUGE, /* finite, |v| >= 2^31 */
    NCNN_E_IN_NEGATIVE_ZERO,
    NCNN_E_SUM_ABOVE_2_24, /* |sum| > 2^24 and no float */
    NCNN_E_SUM_WRAPPED,
    NCNN_E_FACTOR_OF_ZERO, /* weight scale 0 */
    NCNN_E_FACTOR_INF,     /* product of the scales underflows, or is 0 */
    NCNN_E_FACTOR_ZERO,    /* product of the scales is infinite */
    NCNN_E_FACTOR_NAN,
    NCNN_E_FACTOR_SUBNORMAL,
    NCNN_E_BIAS_NAN,
    NCNN_E_BIAS_INF,
    NCNN_E_V_SUBNORMAL,
    NCNN_E_V_NEGATIVE_ZERO, /* v before the activation */
    NCNN_E_OUT_NEGATIVE_ZERO,
    NCNN_E_OUT_NAN,
    NCNN_E_OUT_INF,
    NCNN_E_OUT_HALF, /* requantiser: an exact half that is not clamped */
    NCNN_E_OUT_BELOW_HALF,
    NCNN_E_OUT_SATURATED,
    NCNN_E_OUT_HUGE,
    NCNN_E_OUT_INT8_NAN,
    NCNN_E_OUT_INT8_INF,
    NCNN_E_CLIP_LOW,
    NCNN_E_CLIP_HIGH,
    NCNN_E_CLIP_CROSSED,   /* min > max, or one of them NaN */
    NCNN_E_HARDSWISH_OFF,  /* below the lower bound */
    NCNN_E_HARDSWISH_LINE, /* between the bounds */
    NCNN_E_HARDSWISH_ON,
    NCNN_E_AT_BORDER, /* v is where Clip, HardSwish, Sigmoid or Mish change their formula */
    NCNN_E_LEAKY_SLOPE,
    NCNN_E_FIT_INSIDE, /* Sigmoid, Mish: a segment */
    NCNN_E_FIT_LIMIT,
    NCNN_E_FIT_FAR, /* further from the function than the contract allows: never */
    NCNN_EVENTS
} ncnn_event;

const char *ncnn_event_name(ncnn_event e);

/* ncnn's arithmetic leaves the result open there; docs/npu/npu.md decides it. */
bool ncnn_event_is_open(ncnn_event e);

/* Coefficients of Sigmoid and Mish: [function][negative][segment][c2 c1 c0]. */
typedef struct ncnn_fit {
    float c[2][2][16][3];
} ncnn_fit;

/* Read them from regs/act_fit.txt. 0, or -1 when the file is missing or lacks a line. */
int ncnn_fit_load(ncnn_fit *fit, const char *path);

/* Size of the output; false when there is none. */
bool ncnn_ref_shape(const ncnn_layer *l, int32_t *out_w, int32_t *out_h);

/*
 * Compute a layer: out[num_output][out_h][out_w], float or int8_t as out_int8 says. `seen` (NCNN_EVENTS counters, may
 * be NULL) is added to. Returns 0, or -1 for want of memory.
 */
int ncnn_ref_run(const ncnn_layer *l, const ncnn_blobs *b, const ncnn_fit *fit, ncnn_variant variant, uint64_t *seen,
                 void *out);

#endif
