/* attn.h - MultiHeadAttention: what its FP32 and its INT8 form share. Inside network/ only. */
#ifndef NET_ATTN_H
#define NET_ATTN_H

#include "op.h"

/* Arrays in this order: weights and biases of query, key, value, output; INT8: then their weight scales. */
enum { MHA_Q, MHA_K, MHA_V, MHA_OUT };

typedef struct mha_form {
    uint32_t embed, heads, qdim, kdim, vdim, source, target; /* source: rows of the query; target: of key and value */
    uint32_t key, value, mask;                               /* numbers of the inputs; mask: NET_NONE */
} mha_form;

mha_form mha_form_of(const net_graph *graph, const net_layer *layer);
void mha_softmax_rows(float *row, uint32_t rows, uint32_t count);
/* The INT8 form (key 18), as ncnn's: scratch memory, and the layer. */
size_t mha_int8_bytes(const mha_form *f);
void mha_run_int8(const net_work *work, const mha_form *f);

#endif
