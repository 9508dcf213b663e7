/*
 * pow2_net.h - whole networks with weights that are powers of two and INT8 activations with power-of-two scales
 * (document 001, sections 3.1 and 3.3; docs/sac/compression.md).
 */
#ifndef NET_POW2_NET_H
#define NET_POW2_NET_H

#include "pow2.h"
#include "target.h"

/* ---- weights ---- */

/* Sizes of a layer's weights as a record has them: an inner product over a map is a convolution as large as the map.
 * false: the layer has none that can be quantised. */
bool net_pow2_sizes(const net_graph *graph, uint32_t layer, uint32_t size[4]);
/* Add the weights and biases of all layers of a planned graph, quantised. Errors: those of net_pow2_add(). */
net_status net_pow2_from_graph(const net_graph *graph, net_pow2 *p, net_error *err);
/* Give the records to the layers with weights, in their order. Errors: NET_ERR_FORMAT names the first layer whose sizes
 * differ. */
net_status net_pow2_to_graph(const net_pow2 *p, net_graph *graph, const char *name, net_error *err);

/* ---- scales of activations ---- */

/* A blob whose scales are its own: what a layer of the engine computes, and what it reads from the processor. */
typedef struct net_scale_point {
    uint32_t blob, channels;
    bool inside;      /* it never leaves the engine: the terms of an average */
    char name[64];    /* of the layer */
    float *absmax;    /* [channels], over the calibration inputs */
    int8_t *limit;    /* [channels]: Q that the shifts of a consumer allow at most */
    uint32_t lowered; /* channels that such a limit has lowered */
    net_pow2_layer cap;
} net_scale_point;

typedef struct net_scale_origin {
    uint32_t point, channel;
} net_scale_origin;

/* Q of every channel of every blob: an activation a stands for round(a * 2^Q). */
typedef struct net_scales {
    const net_graph *graph;
    uint32_t blobs, points;
    net_scale_point *point;
    int8_t **q;                /* [blob][channel]; NULL: the blob has none */
    net_scale_origin **origin; /* [blob][channel] */
} net_scales;

/* Channels of a blob, and elements of each: a vector has one element a channel. */
uint32_t net_scale_channels(const net_shape *shape, uint32_t *each);
/*
 * Calibrate: FP32 over all inputs, with the graph's own weights; caps by net_pow2_cap(). t: the network on its engine,
 * which decides which blobs are points. Errors: NET_ERR_MEMORY, those of inputs->load().
 */
net_status net_scales_new(net_scales *s, const net_targeted *t, const net_inputs *inputs, net_error *err);
void net_scales_free(net_scales *s);
/*
 * Set Q of all blobs from the caps. No input of a layer of the engine may have channels whose Q differ by more than 7:
 * the larger ones are lowered where they come from. fits(ctx, layer): can no sum of the layer overflow? NULL: all fit;
 * else the caps of its input fall until it can not. Errors: NET_ERR_UNSUPPORTED names a layer that never fits.
 */
net_status net_scales_set(net_scales *s, const net_targeted *t, bool (*fits)(void *ctx, uint32_t layer), void *ctx,
                          net_error *err);

/* ---- accuracy and search ---- */

typedef struct net_scale_run {
    net_scales *scales;
    net_targeted *t;
    const net_inputs *inputs;
    const uint16_t *label; /* [inputs->count], or NULL: the class that FP32 activations give */
    bool (*fits)(void *ctx, uint32_t layer);
    void *ctx;
    uint32_t fp32_right, right; /* results: with FP32 and with INT8 activations */
} net_scale_run;

/* Run all inputs with the scales as they are: results, and norm1 of each point. */
net_status net_scale_measure(net_scale_run *run, net_error *err);
/* The search of document 001, section 3.3.3, over the caps of all points. result->fp32: with FP32 activations. */
net_status net_scale_search(net_scale_run *run, net_pow2_result *result, net_error *err);

#endif
