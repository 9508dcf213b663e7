/*
 * sac_layer.h - a layer on plain tensors: the contract of docs/sac/sac.md, section 3, as loops over channels, rows and
 * columns. It has no notion of pages, vectors or batches, so it is an independent reference.
 */
#ifndef SAC_LAYER_H
#define SAC_LAYER_H

#include "sac_tasks.h"

/* What a filter needs besides its weights, as PARAM holds it. */
typedef struct sac_param {
    int32_t bias;   /* B: bias * 2^E */
    int8_t sh;      /* shr() after the convolution, -32..31 */
    uint8_t la, lb; /* left shifts of a residual sum's operands, 0..7 */
    int8_t r, g;    /* shr() after the sum, -16..15; scale of the average as a power of two, -8..7 */
} sac_param;

/* Operands of a layer. Tensors are [channel][row][column]. */
typedef struct sac_operands {
    const int8_t *in;       /* [c][h][w] */
    const uint8_t *codes;   /* [n][c][kh][kw], one code a byte */
    const uint8_t *d;       /* [c], 0..7 */
    const sac_param *param; /* [n] */
    const int8_t *res;      /* residual, as large as the map that it is added to; NULL without one */
} sac_operands;

/* Size of the map that the task writes: 1 x 1 with full-size pooling. */
void sac_layer_out(const cm_layer_task *t, uint32_t *w, uint32_t *h);
/* Size of the map before full-size pooling, of the residual, too. */
void sac_layer_map(const cm_layer_task *t, uint32_t *w, uint32_t *h);
/* Compute a layer whose sizes are legal; out: [n][rows][columns]. 0, or -1 without memory. */
int sac_layer_run(const cm_layer_task *t, const sac_operands *o, int8_t *out);

#endif
