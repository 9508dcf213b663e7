/*
 * cmodel.h - golden model of the NPU: its units as plain functions, and a device that executes register writes on a memory image.
 *
 * Written from docs/npu.md, not from the RTL. Scalar reference code. No function allocates except cm_device_new().
 */
#ifndef CMODEL_H
#define CMODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- fp: IEEE-754 binary32 on bit patterns, round to nearest even, subnormals kept, NaN out is 0x7FC00000 (docs/npu.md section 2) ---- */
uint32_t cm_fp_mul(uint32_t a, uint32_t b);
uint32_t cm_fp_add(uint32_t a, uint32_t b);
uint32_t cm_fp_i32_to_f32(int32_t v);
int8_t cm_fp_f32_to_i8(uint32_t v); /* half away from zero, -127..127, NaN -> 0 */
uint32_t cm_fp_relu(uint32_t v);    /* v > 0 ? v : +0 */

/* ---- memory of a device ---- */
typedef struct cm_mem {
    void *ctx;
    /* Copy bytes out of or into device memory; false when the range is not mapped. */
    bool (*read)(void *ctx, uint32_t addr, void *dst, uint32_t bytes);
    bool (*write)(void *ctx, uint32_t addr, const void *src, uint32_t bytes);
} cm_mem;

/* ---- dma: how a job is cut into AXI bursts (docs/npu.md section 1) ---- */
typedef struct cm_dma_burst {
    uint32_t addr;  /* AxADDR: the first byte, unaligned for the first burst only */
    uint32_t beats; /* 1..256 */
    uint32_t bytes; /* bytes of the job in this burst */
} cm_dma_burst;
/* Cut (addr, bytes > 0) into bursts of 16-byte beats; writes up to max of them, returns how many there are. */
size_t cm_dma_split(uint32_t addr, uint32_t bytes, cm_dma_burst *out, size_t max);

/* ---- layout: quantise `count` (1..64) FP32 pixels of N channels; in[c*count + i]; out[i*n + c]; channels >= channels are 0 ---- */
void cm_layout(uint32_t n, uint32_t channels, uint32_t count, uint32_t in_scale, const uint32_t *in, int8_t *out);

/* ---- geometry of a GEMM task, as the engines see it ---- */
typedef struct cm_gemm_task {
    bool fence, bias_en, oscale_en, raw_out, psum_add, act_relu;
    uint32_t kw, kh, sw, sh, dw, dh, pad_l, pad_t;
    uint32_t iw, ih, ic, ow, oh, oc, group;
    uint32_t ifm_addr, ifm_cstep, wgt_addr, oscale_addr, bias_addr, ofm_addr, ofm_cstep, psum_addr;
    uint32_t in_scale;
} cm_gemm_task;

/*
 * ---- im2col: the row vectors of one block: for each pixel j (0..2n-1) of the tile that of output pixel tile*2n + j at kernel position (ky, kx) and
 * channel block icb: n int8 from ifm words, or zeros outside the map or past the last pixel. The mesh takes pixel 2i in stream 0 and 2i+1 in stream 1.
 * ifm: [ih][iw][align(ic,n)] int8. out: [2n][n] int8 (pixel, channel). ----
 */
void cm_im2col_block(const cm_gemm_task *t, uint32_t n, const int8_t *ifm, uint32_t tile, uint32_t ky, uint32_t kx, uint32_t icb,
                     int8_t *out);

/* ---- mesh: out[j][c] = sum over r of act[j][r] * wgt[r][c] for the 2n pixels of a tile; act [2n][n], wgt [n][n] (word r, byte c), out [2n][n] int32 ---- */
void cm_mesh_block(uint32_t n, const int8_t *act, const int8_t *wgt, int32_t *out);

/* ---- acc: acc[i] += in[i] for count values, or acc[i] = in[i] when first; wraps ---- */
void cm_acc(bool first, size_t count, const int32_t *in, int32_t *acc);

/* ---- post: one result. psum is added before anything else when t->psum_add. Returns FP32 bits, or the int32 itself when t->raw_out ---- */
uint32_t cm_post(const cm_gemm_task *t, int32_t sum, int32_t psum, uint32_t oscale, uint32_t bias);

/* ---- device: the register interface of docs/registers.md over a memory ---- */
typedef struct cm_device cm_device;
/* n: 4, 8, 16 or 32. NULL when out of memory or n is not one of these. */
cm_device *cm_device_new(uint32_t n, const cm_mem *mem);
void cm_device_free(cm_device *dev);
/* Offsets 0..508. A write of GEMM_CTRL with EN = 1 executes the task at once. Reads of timed fields return their reset values, IRQ_ID excepted. */
uint32_t cm_device_read(cm_device *dev, uint32_t offset);
void cm_device_write(cm_device *dev, uint32_t offset, uint32_t value, uint32_t byte_strobes);
/* Current interrupt lines: bit 0 ALU, 1 POOL, 2 GEMM. */
uint32_t cm_device_irq(const cm_device *dev);
/* Number of memory accesses that failed (range not mapped) since creation. */
uint64_t cm_device_faults(const cm_device *dev);
/* Multiply-accumulates executed since creation. */
uint64_t cm_device_macs(const cm_device *dev);
/* Called for every completed task when set (tests, logs). */
typedef void cm_task_hook(void *ctx, const cm_gemm_task *task);
void cm_device_on_task(cm_device *dev, cm_task_hook *hook, void *ctx);

/* Decode the GEMM registers of regs[128] (word index) into a task; returns false when docs/npu.md section 3 "Limits" refuses it. */
bool cm_gemm_decode(uint32_t n, const uint32_t *regs, cm_gemm_task *out);
/* Execute one task on memory with the unit models; ic/oc/map as in the task. false: a memory access failed. */
bool cm_gemm_run(uint32_t n, const cm_gemm_task *task, const cm_mem *mem);

#endif
