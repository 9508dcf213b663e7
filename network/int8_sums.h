/* int8_sums.h - the sums of products of an INT8 layer, private to network/int8*.c. */
#ifndef NET_INT8_SUMS_H
#define NET_INT8_SUMS_H

#include "op.h"

/* One INT8 layer. An inner product is a 1x1 convolution of maps with one element. */
typedef struct int8_layer {
    bool used;
    const net_conv *conv;
    net_shape in, out; /* maps: dims 3 */
    uint32_t rows;     /* inner product of a matrix: number of maps, which are contiguous; otherwise 1 */
    int8_t *weight;    /* [outputs][inputs of a group][kernel rows][kernel columns] */
    float *factor;     /* [outputs] from sum to value */
    const float *bias; /* NULL: none */
    float bottom, top; /* scales of input and, with `requant`, of the output */
    bool requant;
    int8_t *input;  /* multiplied values */
    bool own_input; /* otherwise `input` is an INT8 blob */
    /* fast path: weights in the order kernel row, kernel column, input, filled up to `depth`; NULL: not for this layer
     */
    int16_t *wide;
    uint32_t depth;
    /* instead, with AVX-512 VNNI: the same as bytes, channels filled up to a multiple of four, and what a sum starts
     * with; NULL: not for this layer */
    int8_t *packed;
    int32_t *base;
} int8_layer;

/* Memory that the sums of the largest layer need. */
typedef struct int8_scratch {
    int32_t *sum;   /* [outputs][rows][columns] */
    float *value;   /* [rows][columns]: one output before it becomes INT8 */
    int16_t *map;   /* fast path: one group's input with its padding, channels innermost */
    int16_t *patch; /* fast path: inputs of some outputs, one after the other */
} int8_scratch;

/* The definition. in: one map of inputs; all outputs into s->sum. Sums wrap at 32 bits. */
void int8_sums_scalar(const int8_layer *l, const int8_t *in, const int8_scratch *s);

/* Outputs that share a walk over the weights. */
#define INT8_TILE 16u
/* The fast path supports layers whose sums cannot exceed 32 bits. */
bool int8_fast_takes(const int8_layer *l);
/* Elements of map and patch. */
size_t int8_fast_map(const int8_layer *l);
size_t int8_fast_patch(const int8_layer *l);
/* Fill l->wide and l->depth. false: no memory. */
bool int8_fast_prepare(int8_layer *l);
void int8_sums_fast(const int8_layer *l, const int8_t *in, const int8_scratch *s);

/* The same for builds for a machine with AVX-512 VNNI; others take no layer. Sizes of map and patch in bytes. */
bool int8_vnni_takes(const int8_layer *l);
size_t int8_vnni_map(const int8_layer *l);
size_t int8_vnni_patch(const int8_layer *l);
bool int8_vnni_prepare(int8_layer *l);
void int8_sums_vnni(const int8_layer *l, const int8_t *in, const int8_scratch *s);
/* net_quantize_value() of each element. */
void int8_quantize_fast(const float *in, float scale, int8_t *out, size_t count);

#endif
