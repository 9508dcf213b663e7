/* conv_block.h - convolutions in FP32 as matrix products. Inside network/ only. */
#ifndef NET_CONV_BLOCK_H
#define NET_CONV_BLOCK_H

#include "op.h"

/* Enough filters and outputs? Depthwise layers and maps of a few elements are faster element by element. */
bool conv_block_takes(const net_conv *c, const net_shape *out);
/* Bytes of scratch memory of such a layer. */
size_t conv_block_bytes(const net_layer *layer, const net_shape *in);
/* The layer with its activation; is, os: its maps. Each output has its additions in the order of the weights, as the
 * scalar loops have; the padding takes part as zeros, as in ncnn. */
void conv_block_run(const net_work *work, const net_shape *is, const net_shape *os);

#endif
