/*
 * ncnn_case.h - random layers for tests/test_ncnn_contract.c. A case follows from its seed alone.
 */
#ifndef NCNN_CASE_H
#define NCNN_CASE_H

#include "ncnn_dev.h"
#include "ncnn_ref.h"

/* What the values of a case are like. */
typedef enum ncnn_flavour {
    NCNN_PLAIN,    /* like a calibrated network */
    NCNN_HALVES,   /* scales are powers of two: exact halves, and the floats before them, in both quantisers */
    NCNN_EXTREME,  /* scales huge, tiny, subnormal; products of them that overflow or underflow */
    NCNN_ZEROS,    /* some weight scales are zero */
    NCNN_SPECIAL,  /* NaN, infinity, -0, subnormals among input, bias, scales and parameters */
    NCNN_BITS,     /* any bits at all */
    NCNN_LONG_SUM, /* |sum| > 2^24 */
    NCNN_WRAP,     /* |sum| > 2^31 */
    NCNN_FLAVOURS
} ncnn_flavour;

const char *ncnn_flavour_name(ncnn_flavour f);

typedef struct ncnn_case {
    uint64_t seed;
    uint32_t n;
    ncnn_flavour flavour;
    uint32_t layers; /* 1, or 2: the second reads the INT8 output of the first */
    ncnn_layer layer[2];
    ncnn_blobs blobs[2]; /* of the second layer: no input */
    ncnn_cut cut;
    void *own[8];
    uint32_t owned;
} ncnn_case;

/* 0, or -1 for want of memory. */
int ncnn_case_draw(ncnn_case *c, uint64_t seed);
void ncnn_case_free(ncnn_case *c);

/* Elements of a layer's output. */
size_t ncnn_case_outputs(const ncnn_layer *l);

/* One line: everything but the data. */
void ncnn_case_print(const ncnn_case *c, char *line, size_t bytes);

#endif
