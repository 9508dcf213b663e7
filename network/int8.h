/* int8.h - INT8 networks on the CPU in the arithmetic of ncnn and of the NPU (docs/npu/ncnn-contract.md). Part of
 * network.h. */
#ifndef NET_INT8_H
#define NET_INT8_H

#include "network.h"

/* Which code computes the sums of an INT8 layer. All give the same bits. */
typedef enum net_int8_path {
    NET_INT8_SCALAR, /* the definition: one product after the other */
    NET_INT8_FAST,   /* the fastest that the build has: instructions for byte products, or the plain loops */
    NET_INT8_PLAIN   /* loops that the compiler vectorises */
} net_int8_path;

typedef struct net_int8 net_int8;
/*
 * Buffers for a planned graph with weights, which must outlive it. Convolution, ConvolutionDepthWise and InnerProduct
 * with an input scale run in INT8, any other layer in FP32 as in the reference. Consumers take an INT8 output
 * (int8_scale_term above 100) without conversion. Errors: NET_ERR_ARG, NET_ERR_MEMORY, NET_ERR_UNSUPPORTED (an INT8
 * output for a layer that takes no INT8; INT8 weights in a layer that is not one of the three).
 */
net_status net_int8_new(const net_graph *graph, net_int8_path path, net_int8 **out, net_error *err);
void net_int8_free(net_int8 *net);
/* Run the graph on input[elements of all input blobs, one blob after the other]. */
void net_int8_run(net_int8 *net, const float *input);
/* The same in steps: the input, then every layer in order. */
void net_int8_set_input(net_int8 *net, const float *input);
void net_int8_run_layer(net_int8 *net, uint32_t layer);
/* Contents of a blob after the run; NULL: the blob is INT8. */
const float *net_int8_blob(const net_int8 *net, uint32_t blob);
/* The same of an INT8 blob; NULL: the blob is FP32. */
const int8_t *net_int8_q_blob(const net_int8 *net, uint32_t blob);
/* The multiplied values of an INT8 layer: its input (elements of its first input blob) after quantisation, without
 * padding. NULL: no INT8 layer. */
const int8_t *net_int8_q_input(const net_int8 *net, uint32_t layer);

#endif
