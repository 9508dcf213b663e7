/*
 * gemm.h - private to cmodel: a GEMM task on buffers that the caller owns.
 */
#ifndef CM_GEMM_H
#define CM_GEMM_H

#include "cmodel.h"

/* Sizes of the NPU's buffers at N = 32 (docs/npu.md section 4). */
#define CM_MAX_N 32u
#define CM_IFM_WORDS 16384u
#define CM_WGT_WORDS 4608u
#define CM_MAX_OC 1024u
#define CM_GROUP_PIXELS 1024u /* pixels of the largest write-back group, at any N: half of the ofm buffer */
#define CM_LAYOUT_PIXELS 64u  /* pixels of one layout job */

/* The on-chip memories, about 0.9 MB. Contents mean nothing between tasks. */
typedef struct cm_gemm_buffers {
    int8_t ifm[CM_IFM_WORDS * CM_MAX_N];
    int8_t wgt[CM_WGT_WORDS * CM_MAX_N];
    uint32_t oscale[CM_MAX_OC];
    uint32_t bias[CM_MAX_OC];
    uint32_t pixels[CM_MAX_N * CM_LAYOUT_PIXELS];
    int8_t act[2 * CM_MAX_N * CM_MAX_N];
    int32_t product[2 * CM_MAX_N * CM_MAX_N];
    int32_t acc[2 * CM_MAX_N * CM_MAX_N];
    int32_t ofm[CM_MAX_N * CM_GROUP_PIXELS]; /* [channel][pixel of the group] */
    int32_t psum[CM_GROUP_PIXELS];
    uint32_t result[CM_GROUP_PIXELS];
} cm_gemm_buffers;

/* Failed memory accesses of a task. Bytes that could not be read count as zero. */
typedef struct cm_gemm_faults {
    uint64_t reads;
    uint64_t writes[2]; /* by DMA channel */
} cm_gemm_faults;

/* True when sizes and options are inside the limits of docs/npu.md section 3 (addresses are not looked at). */
bool cm_gemm_fits(uint32_t n, const cm_gemm_task *t);

/* Execute a task for which cm_gemm_fits() holds; adds to *faults. */
void cm_gemm_execute(uint32_t n, const cm_gemm_task *t, const cm_mem *mem, cm_gemm_buffers *buf, cm_gemm_faults *faults);

#endif
