/*
 * npu_conv_priv.h - shared by the planner and the check of plans; private to the convolution.
 */
#ifndef NPU_CONV_PRIV_H
#define NPU_CONV_PRIV_H

#include "npu_priv.h"

/* Check the shape of a convolution and compute its output size. */
npu_status npu_conv_shape(const npu_conv *c, uint32_t *ow, uint32_t *oh);

/* Words of an input pixel of so many blocks of channels. */
static inline uint32_t npu_conv_pixel_words(const npu_conv *c, uint32_t icb) {
    return c->wide ? 2 * icb : icb;
}

/* Columns that the kernel spans, and rows that k rows of it span. */
uint32_t npu_conv_extent_w(const npu_conv *c);
uint32_t npu_conv_extent_h(const npu_conv *c, uint32_t k);
/* Most input rows that `oh` output rows need from k kernel rows, at any position. */
uint32_t npu_conv_rows_needed(const npu_conv *c, uint32_t k, uint32_t oh);
/* Most output rows of a task whose input is at most `ih` rows; 0 when not even one fits. */
uint32_t npu_conv_rows_from(const npu_conv *c, const npu_conv_plan *p, uint32_t ih);
/* Most output columns of a segment whose input takes at most `words` words; 0 when not even one fits. */
uint32_t npu_conv_columns_from(const npu_conv *c, uint32_t ow, uint32_t icb, uint32_t words);
/* Words of the input rows of one group, when rows are streamed (docs/npu/npu.md section 3.2, "Input"). */
uint64_t npu_conv_window_words(const npu_conv *c, const npu_conv_plan *p, uint32_t icb, uint32_t group);
/* Words of weights of one block of output channels, for k kernel rows and icb blocks of input channels. */
uint32_t npu_conv_wgt_words(const npu_conv *c, const npu_conv_plan *p, uint32_t k, uint32_t icb);
/* Most blocks of output channels whose weights stay on chip together. */
uint32_t npu_conv_resident_ocb(const npu_conv *c, const npu_conv_plan *p, uint32_t icb);

/* Channels of a full batch of groups. */
uint32_t npu_conv_batch_ic(const npu_conv *c, const npu_conv_plan *p);
uint32_t npu_conv_batch_oc(const npu_conv *c, const npu_conv_plan *p);
/* Do batches of m groups begin at legal addresses? INT8 pixels at multiples of N channels, factors at
 * multiples of 4 channels. */
bool npu_conv_merge_is_aligned(const npu_conv *c, uint32_t n, uint32_t m);

/* Sizes of weights, factors and scratch that follow from the splits. NPU_ERR_ADDR_OVERFLOW. */
npu_status npu_conv_plan_bytes(const npu_conv *c, npu_conv_plan *p);

#endif
