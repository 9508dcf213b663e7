/* internal.h - shared by the files of network/ only. */
#ifndef NET_INTERNAL_H
#define NET_INTERNAL_H

#include "network.h"

/* MultiHeadAttention and Gemm become INT8 as ncnn's (key 18), MatMul with scales found while it runs (key 8), but for
 * layers of `stay` (may be NULL). The graph is planned, and planned again. */
net_status net_quantize_dynamic(net_graph *graph, const bool *stay, net_error *err);

/* Write the error line and return the status, so that a caller can `return net_fail(...)`. */
net_status net_fail(net_error *err, net_status status, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Whole file into a new buffer (with an extra zero byte at its end). */
net_status net_read_file(const char *path, size_t max_bytes, char **data, size_t *bytes, net_error *err);

/* Write a whole file atomically; no file is left on error. */
net_status net_save(const char *path, const void *data, size_t bytes, net_error *err);

/* Value of an FP16 number: exact. */
float net_half_to_float(uint32_t half);

/* Release what a layer owns. */
void net_layer_free(net_layer *layer);
/* Release the weight arrays of all layers. */
void net_graph_free_weights(net_graph *graph);

/* Make a float layer INT8: weights by scale[scales] (one for each output channel, or each group, in order), input by
 * `bottom`. int8_scale_term (key 8) becomes `term`. false: no memory. */
bool net_quantize_layer(net_layer *layer, const float *scale, uint32_t scales, float bottom, int32_t term);

#endif
