/*
 * fp_vectors.h - the floating-point units against vectors in TestFloat's text form (docs/fp.md).
 */
#ifndef FP_VECTORS_H
#define FP_VECTORS_H

#include "bench.h"

typedef enum fp_vectors_kind {
    FP_VECTORS_F32,    /* arithmetic: a NaN result is the canonical one */
    FP_VECTORS_SELECT, /* maximum, minimum: a NaN result has the bits of an operand */
    FP_VECTORS_I32,    /* lines flagged invalid are checked against the rule of docs/npu/npu.md section 2 */
    FP_VECTORS_I8,
    FP_VECTORS_I16,
    FP_VECTORS_F16,    /* binary16 result: a NaN is the canonical one */
    FP_VECTORS_OF_F16, /* binary16 operand, binary32 result */
    FP_VECTORS_LT,     /* one bit of the comparator */
    FP_VECTORS_LE,
    FP_VECTORS_EQ,
    FP_VECTORS_ANY /* the comparator, for any of its three relations that holds for all lines */
} fp_vectors_kind;

/*
 * Stream the lines of `in` through the unit, one a cycle, and print the first mismatches and the counts. operands: 1 or
 * 2. Mismatches go through unit_fail(). 0, or -1 with one line in err: a malformed line, no line at all, the stream
 * cannot be read.
 */
int fp_vectors_run(unit *u, fp_vectors_kind kind, unsigned operands, FILE *in, const char *where, char *err,
                   size_t err_size);

#endif
