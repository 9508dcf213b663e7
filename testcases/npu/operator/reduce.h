/*
 * reduce.h - the reductions: their definition, and the operators for the tests that mix operators.
 */
#ifndef TESTCASES_REDUCE_H
#define TESTCASES_REDUCE_H

#include "tensor.h"

/* Sum of a[i]*b[i] (b NULL: of a[i]) times scale; FP32 bits. */
uint32_t reduce_reference(const uint32_t *a, const uint32_t *b, size_t count, uint32_t scale);
/* Average of count < 2^24 values. */
uint32_t reduce_mean_reference(const uint32_t *a, size_t count);

extern const tensor_kind reduce_kind;

#endif
