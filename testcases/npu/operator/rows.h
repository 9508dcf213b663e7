/*
 * rows.h - softmax and normalisations of rows: their definition, and the operator for the tests that mix operators.
 */
#ifndef TESTCASES_ROWS_H
#define TESTCASES_ROWS_H

#include "tensor.h"

/*
 * What an element may be. Normalisations: 1/sqrt is one of the few values within its bound, one or two as a rule, and
 * everything else follows bit for bit: so an element has as many right values. Softmax: an interval.
 */
#define ROWS_ROOTS 3u
typedef struct rows_values {
    bool softmax;
    uint32_t *bits; /* ROWS_ROOTS for each element */
} rows_values;

/*
 * The right values of all elements, and in `out` one of them. x: rows * cols FP32 bits. gamma, beta: cols of them, or
 * NULL. -1: out of memory.
 */
int rows_expect(const npu_rows *rows, const uint32_t *gamma, const uint32_t *beta, const uint32_t *x,
                rows_values *values, uint32_t *out);
/* A tensor_match; ctx is a rows_values. */
bool rows_match(const void *ctx, size_t i, uint32_t want, uint32_t got);
void rows_free(rows_values *values);

extern const tensor_kind rows_kind;

#endif
