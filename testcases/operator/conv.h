/*
 * conv.h - private to the conv test: knobs, shapes, data.
 */
#ifndef TESTCASES_CONV_H
#define TESTCASES_CONV_H

#include "../tests.h"

/* Kinds of shapes that the generator looks for. */
typedef enum conv_shape {
    ANY,
    POINT, /* 1 x 1 maps */
    ROW,   /* one row */
    TINY,  /* kernel larger than the map, padding around it */
    WIDE,  /* long rows */
    BROAD, /* rows of which the input buffer does not hold what one output row needs */
    TALL,  /* many rows */
    ROWS,  /* a map larger than the input buffer */
    DEEP,  /* weights larger than the weight buffer */
    MANY,  /* more output channels than a task may have */
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

typedef enum conv_wdata { CONV_W_UNIFORM, CONV_W_EXTREME, CONV_W_ZEROS, CONV_W_SPARSE, CONV_W_RAMP, CONV_W_COUNT } conv_wdata;
typedef enum conv_wscale { CONV_WSCALE_PLAIN, CONV_WSCALE_ZEROS, CONV_WSCALE_HARD, CONV_WSCALE_COUNT } conv_wscale;

/* The convolution (without addresses and input scale) and one of its two splits that the knobs describe. */
npu_conv conv_of(const tb_knobs *knobs);
npu_conv_split conv_split_of(const tb_knobs *knobs, bool second);

/* Tasks of a plan: slices of kernel rows that lie in the padding do not run. */
uint64_t conv_tasks(const npu_conv *conv, const npu_conv_plan *plan);

int conv_generate(uint32_t n, uint64_t seed, bool plain, tb_knobs *knobs, char *err, size_t err_size);
int conv_check(uint32_t n, const tb_knobs *knobs, char *err, size_t err_size);
int conv_execute(tc_run *run);

/* The host's copy of the operands. */
typedef struct conv_tensors {
    uint32_t *input; /* FP32 bits, [ic][ih][iw] */
    int8_t *weights; /* [oc][ic][kh][kw] */
    float *w_scale;  /* [oc] */
    uint32_t *bias;  /* FP32 bits, [oc] */
    uint32_t in_scale;
} conv_tensors;
/* Everything from the seed and the knobs. -1: out of memory. Release with conv_tensors_free(), also after an error. */
int conv_tensors_make(conv_tensors *t, const npu_conv *conv, const tb_knobs *knobs, uint64_t seed);
void conv_tensors_free(conv_tensors *t);

/* One output as FP32 bits, computed from the definition. conv->in_scale is set. */
uint32_t conv_reference(const npu_conv *conv, const conv_tensors *t, uint32_t oc, uint32_t oy, uint32_t ox);

#endif
