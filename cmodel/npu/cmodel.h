/*
 * cmodel.h - golden model of the NPU: its units as plain functions, and a device that executes register writes on a
 * memory image.
 *
 * Written from docs/npu/npu.md, not from the RTL. The reference is scalar code. Where a regression spends most of its
 * time, a variant on vectors stands beside it and gives the same bits: mesh.c for machines with AVX2, and four values
 * at a time in layout.c and post.c (cm_fp_lanes.h). No function allocates except cm_device_new().
 */
#ifndef CMODEL_H
#define CMODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cm_fp.h"
#include "npu_tasks.h"

/* ---- fp: IEEE-754 binary32 on bit patterns, round to nearest even, subnormals kept, NaN out is 0x7FC00000
 * (docs/npu/npu.md section 2): cm_fp.h ---- */

/* ---- act: activations (docs/npu/npu.md section 2) ---- */
typedef enum cm_act {
    CM_ACT_NONE,
    CM_ACT_RELU,
    CM_ACT_LEAKY,
    CM_ACT_CLIP,
    CM_ACT_HARDSWISH,
    CM_ACT_HARDSIGMOID,
    CM_ACT_SIGMOID,
    CM_ACT_TANH,
    CM_ACT_SWISH,
    CM_ACT_MISH,
    CM_ACT_ELU,
    CM_ACT_SOFTPLUS,
    CM_ACT_GELU,
    CM_ACT_GELU_TANH,
    CM_ACT_COUNT
} cm_act;
/* One value. p: the four FP32 parameters P0..P3. act: 0..CM_ACT_COUNT-1. */
uint32_t cm_activate(uint32_t act, const uint32_t p[4], uint32_t v);

/* ---- memory of a device ---- */
typedef struct cm_mem {
    void *ctx;
    /* Copy bytes out of or into device memory; false when the range is not mapped. */
    bool (*read)(void *ctx, uint32_t addr, void *dst, uint32_t bytes);
    bool (*write)(void *ctx, uint32_t addr, const void *src, uint32_t bytes);
} cm_mem;

/* ---- dma: how a job is cut into AXI bursts (docs/npu/npu.md section 1) ---- */
typedef struct cm_dma_burst {
    uint32_t addr;  /* AxADDR: the first byte, unaligned for the first burst only */
    uint32_t beats; /* 1..256 */
    uint32_t bytes; /* bytes of the job in this burst */
} cm_dma_burst;
/* Cut (addr, bytes > 0) into bursts of 16-byte beats; writes up to max of them, returns how many there are. */
size_t cm_dma_split(uint32_t addr, uint32_t bytes, cm_dma_burst *out, size_t max);

/* ---- quantisers of a task: of an FP32 input and of an INT8 output; CM_QUANT ---- */
static inline uint32_t cm_quant_in(const cm_gemm_task *t) {
    return CM_QUANT(t->full, t->rne, t->zin);
}
static inline uint32_t cm_quant_out(const cm_gemm_task *t) {
    return CM_QUANT(t->full, t->rne, t->zout);
}

/* ---- layout: quantise `count` (1..64) FP32 pixels of N channels; quant: CM_QUANT; in[c*count + i]; out[i*n + c];
 * channels >= channels are 0 ---- */
void cm_layout(uint32_t n, uint32_t channels, uint32_t count, uint32_t in_scale, uint32_t quant, const uint32_t *in,
               int8_t *out);
/* The same as INT16: out[2*i*n + c] the low bytes of pixel i, out[(2*i + 1)*n + c] the high ones. */
void cm_layout_wide(uint32_t n, uint32_t channels, uint32_t count, uint32_t in_scale, const uint32_t *in, int8_t *out);

/*
 * ---- im2col: the row vectors of one block: for each pixel j (0..2n-1) of the tile that of output pixel tile*2n + j at
 * kernel position (ky, kx) and channel block icb: n int8 from ifm words, or the input's zero-point outside the map or
 * past the last pixel. The mesh takes pixel 2i in stream 0 and 2i+1 in stream 1. ifm: [ih][iw][align(ic,n)] int8. out:
 * [2n][n] int8 (pixel, channel). INT16 (t->wide): ifm has two words for each block, and icb is 2 * block for the low
 * bytes, 2 * block + 1 for the high ones. ----
 */
void cm_im2col_block(const cm_gemm_task *t, uint32_t n, const int8_t *ifm, uint32_t tile, uint32_t ky, uint32_t kx,
                     uint32_t icb, int8_t *out);

/* ---- mesh: out[j][c] = sum over r of act[j][r] * wgt[r][c] for the 2n pixels of a tile; act [2n][n], wgt [n][n] (word
 * r, byte c), out [2n][n] int32 ---- */
void cm_mesh_block(uint32_t n, const int8_t *act, const int8_t *wgt, int32_t *out);
/* The same for a diagonal of weights (DEPTHWISE): out[j][c] = act[j][c] * wgt[c]; wgt NULL: all weights are 1
 * (CONVERT). */
void cm_mesh_diagonal(uint32_t n, const int8_t *act, const int8_t *wgt, int32_t *out);

/* INT16: the same sums as int64, exact; low[2n][n] and high[2n][n]: the bytes of the activations; wgt [n][2][n]:
 * word 2r the low bytes of row r, 2r + 1 the high ones. */
void cm_mesh_block_wide(uint32_t n, const int8_t *low, const int8_t *high, const int8_t *wgt, int64_t *out);
/* wgt [2][n] or NULL. */
void cm_mesh_diagonal_wide(uint32_t n, const int8_t *low, const int8_t *high, const int8_t *wgt, int64_t *out);

/* The value of two bytes. */
static inline int32_t cm_i16(int8_t low, int8_t high) {
    return high * 256 + (uint8_t)low;
}

/* ---- acc: acc[i] += in[i] for count values, or acc[i] = in[i] when first; wraps; two separate arrays ---- */
void cm_acc(bool first, size_t count, const int32_t *in, int32_t *acc);
void cm_acc_wide(bool first, size_t count, const int64_t *in, int64_t *acc);

/* ---- post: one result. psum is added before anything else when t->psum_add. Returns FP32 bits, or the int32 itself
 * when t->raw_out ---- */
uint32_t cm_post(const cm_gemm_task *t, int32_t sum, int32_t psum, uint32_t oscale, uint32_t bias);
/* The same with the int64 of INT16: FP32 bits, or the int64 itself. */
uint64_t cm_post_wide(const cm_gemm_task *t, int64_t sum, int64_t psum, uint32_t oscale, uint32_t bias);

/* Four results of cm_post that share scale and bias. */
void cm_post_lanes(const cm_gemm_task *t, const int32_t sum[4], const int32_t psum[4], uint32_t oscale, uint32_t bias,
                   uint32_t out[4]);

/* ---- requant: one result of cm_post as INT8 (t->requant) ---- */
static inline int8_t cm_requant(const cm_gemm_task *t, uint32_t y) {
    return cm_fp_quantise(cm_fp_mul(y, t->out_scale), cm_quant_out(t));
}

/* Both steps for four pixels of neighbouring channels: out[pixel * n + channel] of sum[channel][pixel]. */
void cm_post_columns(const cm_gemm_task *t, uint32_t n, uint32_t columns, const int32_t *sum, const int32_t psum[4],
                     const uint32_t *oscale, const uint32_t *bias, int8_t *out);

static inline int16_t cm_requant_wide(const cm_gemm_task *t, uint32_t y) {
    return cm_fp_f32_to_i16(cm_fp_mul(y, t->out_scale));
}

/* ---- transpose: out[j*n + i] = in[i*n + j], n x n bytes ---- */
void cm_transpose(uint32_t n, const int8_t *in, int8_t *out);

/* ---- alu (docs/npu/npu.md section 3.3) ---- */
/* One element of an operation before the activation; what a reduction adds up or compares. */
uint32_t cm_alu_element(uint32_t op, uint32_t x, uint32_t p, uint32_t q);
/* A reduction: op is one of NPU_ALU_CTRL_OP_WITH_REDUCE. What its accumulators begin with, and an accumulator after
 * another value. */
uint32_t cm_alu_start(uint32_t op);
uint32_t cm_alu_join(uint32_t op, uint32_t acc, uint32_t v);
/* alu_func: a function in place of the activation, number of ALU_ACT.FUNC. */
uint32_t cm_func(uint32_t func, uint32_t v);
/* Decode the ALU registers of regs[128]; false when the task violates docs/npu/npu.md section 3.3 "Limits". */
bool cm_alu_decode(const uint32_t *regs, cm_alu_task *out);
/* Execute on memory. *result: the value of ALU_RESULT (reductions; else untouched). false: a memory access failed. */
bool cm_alu_run(const cm_alu_task *task, const cm_mem *mem, uint32_t *result);

/* ---- pool (docs/npu/npu.md section 3.4) ---- */
bool cm_pool_decode(uint32_t n, const uint32_t *regs, cm_pool_task *out);
bool cm_pool_run(uint32_t n, const cm_pool_task *task, const cm_mem *mem);

/* ---- device: the register interface of docs/npu/registers.md over a memory ---- */
typedef struct cm_device cm_device;
/* n: 4, 8, 16 or 32. NULL when out of memory or n is not one of these. */
cm_device *cm_device_new(uint32_t n, const cm_mem *mem);
void cm_device_free(cm_device *dev);
/* Build parameters EnAlu and EnPool; by default both units are present. Resets the registers. */
void cm_device_set_units(cm_device *dev, bool alu, bool pool);
/* Build parameter EnInt16, 0 by default. Resets the registers. */
void cm_device_set_int16(cm_device *dev, bool on);
/* Offsets 0..508. A write of GEMM_CTRL, ALU_CTRL or POOL_CTRL with EN = 1 executes the task at once. Reads of timed
 * fields return their reset values, IRQ_ID excepted. */
uint32_t cm_device_read(cm_device *dev, uint32_t offset);
void cm_device_write(cm_device *dev, uint32_t offset, uint32_t value, uint32_t byte_strobes);
/* Current interrupt lines: bit 0 ALU, 1 POOL, 2 GEMM. */
uint32_t cm_device_irq(const cm_device *dev);
/* Number of memory accesses that failed (range not mapped) since creation. */
uint64_t cm_device_faults(const cm_device *dev);
/* Multiply-accumulates of convolutions (depthwise ones too) executed since creation. */
uint64_t cm_device_macs(const cm_device *dev);
/* Called for every completed GEMM task when set (tests, logs). */
typedef void cm_task_hook(void *ctx, const cm_gemm_task *task);
void cm_device_on_task(cm_device *dev, cm_task_hook *hook, void *ctx);

/*
 * Intermediate values of tasks, as the units compute them. `count` values from element `first` on, `step` elements from
 * one to the next, of a tensor in C order: sums, POST and REQUANT [oc][oh][ow] (int32; FP32 bits, int32 with raw_out;
 * int8), ALU [plane][row][i] before and after the activation (FP32 bits; i only 0 in reductions), POOL [c][oh][ow]
 * (FP32 bits or int8).
 */
typedef enum cm_log_stream {
    CM_LOG_SUM,
    CM_LOG_POST,
    CM_LOG_REQUANT,
    CM_LOG_ALU_VALUE,
    CM_LOG_ALU_RESULT,
    CM_LOG_POOL
} cm_log_stream;
typedef struct cm_log {
    void *ctx;
    void (*values)(void *ctx, cm_log_stream stream, uint64_t first, uint64_t step, uint32_t count, const void *values);
} cm_log;
/* Called while tasks are executed; `log` must outlive the device. NULL: none. */
void cm_device_set_log(cm_device *dev, const cm_log *log);

/* Decode the GEMM registers of regs[128] (word index) into a task; returns false when it violates docs/npu/npu.md
 * section 3.2 "Limits", except those that depend on the task before, or on the parameter EnInt16. */
bool cm_gemm_decode(uint32_t n, const uint32_t *regs, cm_gemm_task *out);
/* The rest of the limits: false when the task keeps the weights (WGT_KEEP), but `before`, the task accepted before it
 * (NULL: none), had other ones. */
bool cm_gemm_follows(const cm_gemm_task *before, const cm_gemm_task *task);
/* Execute one task on memory with the unit models; ic/oc/map as in the task. false: a memory access failed. */
bool cm_gemm_run(uint32_t n, const cm_gemm_task *task, const cm_mem *mem);

#endif
