/*
 * pool.h - private to the pool test, and to tests that mix operators.
 */
#ifndef TESTCASES_POOL_H
#define TESTCASES_POOL_H

#include "tensor.h"

/* Kinds of generated shapes. */
typedef enum pool_shape {
    POOL_ANY,
    POOL_WIDE,  /* wider than a task: strips */
    POOL_LARGE, /* windows and strides up to 255 */
    POOL_TINY,  /* maps smaller than the window */
    POOL_DEEP,  /* many channels */
    POOL_WHOLE, /* global */
    POOL_SHAPE_COUNT
} pool_shape;

/* The pooling that the knobs describe, without addresses, steps and the size of the output. */
npu_pool pool_of(const tb_knobs *knobs);

/* For shrinking: k, s and p follow from the knobs of the sides. */
void pool_settle(tb_knobs *knobs);
void pool_generate(const tc_gen *g);
int pool_check(uint32_t n, const tb_knobs *knobs, char *err, size_t err_size);

/* Size of the output along one dimension from the definition; 0: none. */
uint32_t pool_windows(uint32_t map, uint32_t before, uint32_t after, uint32_t k, uint32_t stride, bool ceil_mode);
/* Every output from the definition. */
void pool_reference(const npu_pool *pool, const tensor *in, tensor *out);

extern const tensor_kind pool_kind;

#endif
