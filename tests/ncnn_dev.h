/*
 * ncnn_dev.h - layers of ncnn_ref.h on the golden device, through the public interface of the driver and nothing else:
 * what a runtime would do with an ncnn model. Shared by tests/test_ncnn_contract.c and, as a shared object,
 * tests/test_ncnn_contract.py.
 */
#ifndef NCNN_DEV_H
#define NCNN_DEV_H

#include "ncnn_ref.h"

typedef struct ncnn_dev ncnn_dev;

/* Limits of the splits (npu_conv_split): results do not depend on them. All zero: the driver decides. */
typedef struct ncnn_cut {
    uint32_t max_oh, max_ic, max_oc, group, serial, no_resident;
} ncnn_cut;

/* A device of mesh size n with memory of its own; NULL when there is none. */
ncnn_dev *ncnn_dev_open(uint32_t n);
void ncnn_dev_close(ncnn_dev *d);

/* Forget all tensors. */
void ncnn_dev_begin(ncnn_dev *d);

/*
 * Run a layer. b->in == NULL: the input is the output of the layer before, where it lies. Returns an npu_status, or -1
 * when the memory is too small or a byte beside the output has changed.
 */
int ncnn_dev_layer(ncnn_dev *d, const ncnn_layer *l, const ncnn_blobs *b, const ncnn_cut *cut);

/* The output of the last layer, [c][h][w]. Before the next ncnn_dev_begin(). */
void ncnn_dev_output(const ncnn_dev *d, void *out);

#endif
