/*
 * gemm_io.h - tensors and parameters of the GEMM's operators in device memory.
 *
 * All functions that return int: 0, or -1 with run->err (could not be done). The knob `place` of the case shifts buffers against 4 KB.
 */
#ifndef TESTCASES_GEMM_IO_H
#define TESTCASES_GEMM_IO_H

#include "../tests.h"

#define GEMM_FILL 0xA5u /* what output memory holds before: bytes that nobody may write must keep it */
#define GEMM_TIMEOUT_US 200000u

int gemm_no_memory(tc_run *run);
/* Bytes up to the next multiple of 16. */
static inline uint32_t gemm_align16(uint32_t bytes) {
    return (bytes + 15u) & ~15u;
}
uint32_t gemm_align(uint32_t v, uint32_t n);

/* A buffer. `name` is its random stream. `shift`: bytes past the alignment of 16. 0: no room, with run->err. */
uint32_t gemm_alloc(tc_run *run, const char *name, uint32_t bytes, uint32_t shift, npu_buf_kind kind);
int gemm_put(tc_run *run, uint32_t addr, const void *src, size_t bytes);
/* A buffer with these bytes in it. */
int gemm_new(tc_run *run, const char *name, const void *src, size_t bytes, uint32_t *addr);

/* A step with `gap` units (16 bytes, or N channels) between channels or pixels. tight: channels of one pixel lie side by side. */
uint32_t gemm_step(const tc_run *run, const npu_tensor *t, uint32_t gap, bool tight);
/* Bytes from the first to the end of the last channel or pixel, its gap included. */
uint64_t gemm_bytes(const npu_tensor *t);
/* Allocate a tensor whose step is set. */
int gemm_new_tensor(tc_run *run, const char *name, npu_tensor *t, uint32_t shift, npu_buf_kind kind);
/*
 * Write elements [c][h][w], FP32 bits or int8, as the layout says. Other bytes that the NPU may read beside them (to multiples of 16; pad channels) get garbage; what lies beyond
 * stays unwritten, and must not be read.
 */
int gemm_put_tensor(tc_run *run, const npu_tensor *t, const void *elements);
/* Fill a tensor's memory with GEMM_FILL. */
int gemm_fill_tensor(tc_run *run, const npu_tensor *t);
/* Its memory, gemm_bytes() long, to be freed. NULL: with run->err, or noted as a failure. */
uint8_t *gemm_get_tensor(tc_run *run, const char *what, const npu_tensor *t);
/* Gaps are as they were filled, pad channels are zero. */
void gemm_check_gaps(tc_run *run, const char *what, const npu_tensor *t, const uint8_t *image);
/* Place of an element in the image; pixel is y*w + x. */
size_t gemm_at(const npu_tensor *t, uint32_t c, uint32_t pixel);
uint32_t gemm_word(const uint8_t *bytes);
/* The INT8 elements of an image as [c][h][w], to be freed. NULL: out of memory. */
int8_t *gemm_take_i8(const npu_tensor *t, const uint8_t *image);
/* The same bytes in both images (gaps apart)? The first difference is noted. */
void gemm_check_same(tc_run *run, const char *signature, const npu_tensor *t, const uint8_t *first, const uint8_t *second);

/* Cycles and CPU time of the device so far. */
typedef struct gemm_instant {
    uint64_t cycles;
    double rtl_s, harness_s;
} gemm_instant;
gemm_instant gemm_now(const tc_run *run);
/* Into run->stats. */
void gemm_measured(tc_run *run, gemm_instant start);

#endif
