/*
 * layer.h - convolutions as parts of a small network, for the tests int8_chain and concat.
 */
#ifndef TESTCASES_LAYER_H
#define TESTCASES_LAYER_H

#include "conv.h"

typedef enum layer_kind {
    LAYER_CONV,
    LAYER_DW,
    LAYER_GROUPED,
    LAYER_WHOLE, /* a kernel as large as the map */
    LAYER_LINEAR /* fully connected; the map is one pixel */
} layer_kind;

typedef struct layer {
    conv_op op;
    conv_tensors tensors; /* the input is drawn, too; see layer_set_input() */
    npu_conv_split split;
    char name[24];
} layer;

/*
 * Properties of the layer. keep_size: padded so that the output has ceil(w / stride) x ceil(h / stride) pixels.
 * in_scale 0: it is drawn.
 */
typedef struct layer_spec {
    uint32_t index; /* seed and name follow from it */
    layer_kind kind;
    npu_tensor in;
    npu_layout out_layout;
    uint32_t in_scale;
    uint32_t max_oc;
    uint32_t stride; /* 0: drawn */
    bool keep_size;
} layer_spec;

/*
 * Draw shape, splits, scales and operands, and make the plan. op.in and op.out are complete but for the addresses
 * (op.in.addr and its step are those of the spec, where it has any). 0; -1 with run->err. Release with layer_free(),
 * also after an error.
 */
int layer_make(layer *l, tc_run *run, const layer_spec *spec, uint32_t gap);
void layer_free(layer *l);
/* The real input, instead of the drawn one: the bytes of op.in. -1 with run->err. */
int layer_set_input(layer *l, const uint8_t *image);
/* Outputs against the definition, all of them where that is quick. image: the bytes of op.out. */
void layer_check(layer *l, const uint8_t *image);

#endif
