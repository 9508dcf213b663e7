/*
 * gemm.h - private to cmodel: a GEMM task on buffers that the caller owns.
 */
#ifndef CM_GEMM_H
#define CM_GEMM_H

#include "exec.h"
#include "cm_num.h"

/* Sizes of the NPU's buffers at N = 32 (docs/npu/npu.md section 4). */
#define CM_MAX_N 32u
#define CM_IFM_WORDS 16384u
#define CM_WGT_WORDS 4608u
#define CM_MAX_OC 1024u
#define CM_GROUP_PIXELS 1024u /* pixels of the largest write-back group, at any N: half of the ofm buffer */
#define CM_LAYOUT_PIXELS 64u  /* pixels of one layout job */

/* The on-chip memories, about 1.1 MB. Contents are not kept between tasks. */
typedef struct cm_gemm_buffers {
    int8_t ifm[CM_IFM_WORDS * CM_MAX_N];
    int8_t wgt[2 * CM_WGT_WORDS * CM_MAX_N]; /* blocks of output channels one after the other */
    uint32_t oscale[CM_MAX_OC];
    uint32_t bias[CM_MAX_OC];
    uint32_t pixels[CM_MAX_N * CM_LAYOUT_PIXELS];
    int8_t act[2 * CM_MAX_N * CM_MAX_N];
    int32_t product[2 * CM_MAX_N * CM_MAX_N];
    int32_t acc[2 * CM_MAX_N * CM_MAX_N];
    int32_t ofm[CM_MAX_N * CM_GROUP_PIXELS]; /* [channel][pixel of the group] */
    int32_t psum[CM_GROUP_PIXELS];
    uint32_t result[CM_GROUP_PIXELS];
    int8_t words[CM_GROUP_PIXELS * CM_MAX_N]; /* [pixel of the group][channel]; INT16: [pixel][high][channel] */
    /* INT16: groups have half of the pixels */
    int8_t act_high[2 * CM_MAX_N * CM_MAX_N];
    int64_t product_wide[2 * CM_MAX_N * CM_MAX_N];
    int64_t acc_wide[2 * CM_MAX_N * CM_MAX_N];
    int64_t ofm_wide[CM_MAX_N * CM_GROUP_PIXELS / 2];
    int64_t psum_wide[CM_GROUP_PIXELS / 2];
    uint64_t result_wide[CM_GROUP_PIXELS / 2];
} cm_gemm_buffers;

/* Blocks of n channels. */
static inline uint32_t cm_gemm_blocks(uint32_t channels, uint32_t n) {
    return cm_div_up(channels, n);
}

/* Tiles written back together, from the value of the register. */
static inline uint32_t cm_gemm_group(uint32_t n, bool wide, uint32_t tiles) {
    uint32_t most = CM_GROUP_PIXELS / (2 * n) >> wide;
    return tiles == 0 ? 1 : tiles > most ? most : tiles;
}

/* Words of weights (n bytes) of one block of output channels. */
uint64_t cm_gemm_wgt_words(uint32_t n, const cm_gemm_task *t);

/* True when sizes and options are inside the limits of docs/npu/npu.md section 3.2 (addresses and the task before are
 * not checked). */
bool cm_gemm_fits(uint32_t n, const cm_gemm_task *t);

/* State of a task. */
typedef struct cm_gemm_state {
    uint32_t n;
    const cm_gemm_task *t;
    const cm_mem *mem;
    cm_gemm_buffers *buf;
    cm_faults *faults;
    const cm_log *log;
    uint32_t row0, row1; /* rows row0..row1-1 of the input are in buf->ifm */
} cm_gemm_state;

/* Steps of an INT16 task, as those of gemm.c. */
void cm_gemm_load_wide(const cm_gemm_state *g, uint32_t p0, uint32_t count, int8_t *dst);
void cm_gemm_tile_wide(const cm_gemm_state *g, const cm_gemm_task *view, uint32_t ocb, uint32_t tile, uint32_t at,
                       const int8_t *wgt);
void cm_gemm_write_wide(const cm_gemm_state *g, uint32_t ocb, uint32_t p0, uint32_t count);

/* Execute a task for which cm_gemm_fits() holds; adds to *faults. log: intermediate values, or NULL. */
void cm_gemm_execute(uint32_t n, const cm_gemm_task *t, const cm_mem *mem, cm_gemm_buffers *buf, cm_faults *faults,
                     const cm_log *log);

#endif
