/*
 * sac_plan.h - whole layers on the shift-add engine: scales to shifts, bias to integers, and tasks that fit the feature
 * cache. Part of the driver; freestanding.
 */
#ifndef SAC_PLAN_H
#define SAC_PLAN_H

#include "sac.h"

typedef enum sac_activation { SAC_ACT_NONE, SAC_ACT_RELU, SAC_ACT_OTHER } sac_activation;
typedef enum sac_pooling { SAC_POOL_NONE, SAC_POOL_MAX, SAC_POOL_AVERAGE } sac_pooling;

/*
 * A layer. An activation x with scale Q stands for x / 2^Q; a weight of code k for +-2^(nmin + k). Q within -64..63.
 * Sizes, addresses and modes as in sac_task; its relu and post_relu must say the same as the activations here.
 */
typedef struct sac_layer {
    sac_task task;
    uint32_t groups;    /* of the convolution, each with c / groups channels and n / groups filters; 1: all */
    uint32_t dilation;  /* 1 */
    bool float_weights; /* its weights are floating-point ones, not codes */
    sac_activation act, post_act;
    sac_pooling pooling;  /* SAC_POOL_MAX: as task.pool says */
    int32_t nmin;         /* of the weights, -128..127 */
    const int8_t *q_in;   /* [c] */
    const int8_t *q_conv; /* [n] after the convolution */
    const int8_t *q_res;  /* [n] of the residual, with task.add */
    const int8_t *q_sum;  /* [n] of its sum, with task.add */
    const int8_t *q_full; /* [n] of the average, with SAC_FULL_AVG */
    const uint8_t *codes; /* [n][c / groups][kh][kw] */
    const float *bias;    /* [n], or NULL */
} sac_layer;

/* Can the engine run it? SAC_OK, or what it refuses. */
sac_status sac_layer_check(const sac_dev *dev, const sac_layer *layer);
/*
 * Shifts of the input channels and PARAM of the filters of channel group `group` of the layer (0 .. groups - 1): d [c /
 * groups], filter [n / groups]. Each step is the exact value, rounded once. SAC_FAIL_SHIFT: a scale needs a shift that
 * the engine does not have; SAC_FAIL_OVERFLOW: a sum could leave 32 bits, so the cap of q_in must fall.
 */
sac_status sac_layer_scales(const sac_layer *layer, uint32_t group, uint8_t *d, sac_filter *filter);
/* round(value * 2^exponent), half away from zero, exact. SAC_FAIL_OVERFLOW: not within 32 bits, or no finite number. */
sac_status sac_scale_bias(float value, int32_t exponent, int32_t *result);
/*
 * Tile number `tile` of a layer whose input or output does not fit the cache: `rows` rows of the written map, and the
 * rows of the input that they need, as a task on a part of the tensors (in_step and out_step are filled). A tile reads
 * and writes memory. SAC_FAIL_ARG: there is no such tile (its first row is beyond the map). SAC_FAIL_FULL: pooling over
 * the whole map cannot be cut.
 */
sac_status sac_layer_tile(const sac_dev *dev, const sac_task *task, uint32_t rows, uint32_t tile, sac_task *out);
/* The most rows of a tile that fit the cache. SAC_FAIL_CACHE_SIZE: not even one does. */
sac_status sac_layer_rows(const sac_dev *dev, const sac_task *task, uint32_t *rows);

#endif
