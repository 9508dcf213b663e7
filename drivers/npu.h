/*
 * npu.h - public interface of the NPU driver (freestanding C11).
 *
 * Addresses are 32-bit byte addresses of memory that the NPU sees. No function allocates. Every function that can fail returns an npu_status;
 * npu_strerror() gives its text. Layouts and arithmetic: docs/npu.md.
 */
#ifndef NPU_H
#define NPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "npu_hal.h"

typedef enum npu_status {
    NPU_OK = 0,
    NPU_ERR_ARG,           /* null pointer or a value outside its enum */
    NPU_ERR_NO_DEVICE,     /* the ID register does not read as an NPU, or its version or N is unknown */
    NPU_ERR_ZERO_SIZE,     /* a size, kernel, stride or dilation is zero */
    NPU_ERR_KERNEL,        /* kernel larger than 7, or a dilation other than 1 */
    NPU_ERR_STRIDE,        /* stride larger than 7 */
    NPU_ERR_PADDING,       /* padding not smaller than the kernel's extent */
    NPU_ERR_TOO_SMALL,     /* the padded input is smaller than the kernel: no output */
    NPU_ERR_TOO_LARGE,     /* a dimension of input or output above 65535 */
    NPU_ERR_ALIGN,         /* an address or channel step is not aligned as docs/npu.md asks */
    NPU_ERR_CSTEP,         /* a channel step is smaller than a channel */
    NPU_ERR_ADDR_OVERFLOW, /* a buffer runs past the end of the 32-bit address space */
    NPU_ERR_OVERLAP,       /* the output overlaps the input, the weights or the factors */
    NPU_ERR_SPLIT,         /* a requested split is impossible */
    NPU_ERR_BUF_SIZE,      /* a buffer of the caller is too small */
    NPU_ERR_BUSY,          /* the device has unfinished tasks that this driver did not start */
    NPU_ERR_TIMEOUT,       /* the device did not finish in time */
    NPU_ERR_BUS,           /* the device reported a bus error */
    NPU_ERR_DEVICE,        /* the device reported a configuration or overrun error */
    NPU_ERR_HAL,           /* the HAL reported a fault */
    NPU_STATUS_COUNT
} npu_status;

/* Text of a status, never NULL; "unknown status" for a value outside the enum. */
const char *npu_strerror(npu_status status);

typedef enum npu_wait { NPU_WAIT_IRQ = 0, NPU_WAIT_POLL = 1 } npu_wait;

/* The device as the driver sees it; filled by npu_init(). */
typedef struct npu {
    const npu_hal *hal;
    uint32_t n;          /* mesh size */
    npu_wait wait;       /* how to wait for completion */
    uint32_t timeout_us; /* longest wait for one task, in microseconds */
    uint16_t started;    /* tasks started since reset, modulo 65536 */
    uint32_t last_err;   /* ERR register at the last NPU_ERR_BUS or NPU_ERR_DEVICE */
} npu;

/* Check ID, read N, soft-reset the device, enable the interrupts that `wait` needs. Errors: NPU_ERR_ARG, NPU_ERR_NO_DEVICE, NPU_ERR_TIMEOUT, NPU_ERR_HAL. */
npu_status npu_init(npu *dev, const npu_hal *hal, npu_wait wait, uint32_t timeout_us);

typedef enum npu_act { NPU_ACT_NONE = 0, NPU_ACT_RELU = 1 } npu_act;

/*
 * A convolution: FP32 NCHW in, FP32 NCHW out, INT8 inside.
 * ow = (iw + pad_l + pad_r - ((kw-1)*dil_w + 1)) / stride_w + 1 (rounded down), oh likewise.
 */
typedef struct npu_conv {
    uint32_t iw, ih, ic, oc;             /* 1..65535 */
    uint32_t kw, kh;                     /* 1..7 */
    uint32_t stride_w, stride_h;         /* 1..7 */
    uint32_t dil_w, dil_h;               /* 1 in this version */
    uint32_t pad_l, pad_r, pad_t, pad_b; /* smaller than the kernel's extent */
    npu_act act;
    bool has_bias;
    uint32_t in_scale;               /* FP32 bits: quantiser of the input */
    uint32_t ifm_addr, ifm_cstep;    /* input: multiple of 16; bytes from channel to channel, multiple of 16 */
    uint32_t wgt_addr;               /* packed weights (npu_conv_pack_weights), multiple of 16 */
    uint32_t oscale_addr, bias_addr; /* FP32, align(oc,4) entries, multiple of 16 */
    uint32_t ofm_addr, ofm_cstep;    /* output: multiple of 16; step multiple of 16 */
} npu_conv;

/* Limits that a caller may put on the splits; 0 means: the driver decides. Results never depend on them. */
typedef struct npu_conv_split {
    uint32_t max_ow; /* output columns of a task; below ow, tasks take segments of rows (row_split) */
    uint32_t max_oh; /* output rows of a task */
    uint32_t max_ic; /* input channels of a task, rounded down to a multiple of N; below N is NPU_ERR_SPLIT */
    uint32_t max_oc; /* output channels of a task, rounded down to a multiple of N; below N is NPU_ERR_SPLIT */
    uint32_t group;  /* tiles written back together, at most 255 */
    bool serial;     /* wait for each task before the next is started */
} npu_conv_split;

/*
 * How a convolution is cut into tasks. With row_split a task takes a segment of one output row (oh_task is 1) and one kernel row, so that rows of any length run:
 * for correctness, not for speed. Without it ow_task is ow, and a task takes all kernel rows.
 */
typedef struct npu_conv_plan {
    uint32_t n;
    uint32_t ow, oh;
    uint32_t ow_task, oh_task, ic_task, oc_task; /* size of all tasks but the last along each dimension */
    uint32_t ow_tasks, oh_tasks, ic_tasks, oc_tasks;
    bool row_split;
    uint32_t group;
    bool serial;
    uint32_t wgt_bytes;   /* size of the packed weights */
    uint32_t param_bytes; /* size of the oscale array and of the bias array, each */
} npu_conv_plan;

/* Check a convolution (addresses excepted) and decide its splits. Errors: see npu_status; `plan` is untouched on error. */
npu_status npu_conv_plan_make(uint32_t n, const npu_conv *conv, const npu_conv_split *split, npu_conv_plan *plan);

/*
 * Rearrange INT8 weights [oc][ic][kh][kw] into the packed form of the plan: for each slice of input channels (with row_split: and for each kernel row of it),
 * for each block of output channels, as docs/npu.md section 3 says. dst_bytes must be at least plan->wgt_bytes.
 */
npu_status npu_conv_pack_weights(const npu_conv *conv, const npu_conv_plan *plan, const int8_t *weights, int8_t *dst, size_t dst_bytes);

/*
 * oscale[c] = f32(1 / f32(in_scale * w_scale[c])), +0 where w_scale[c] is 0; entries from oc to align(oc,4) are 0. `dst` holds plan->param_bytes bytes.
 * w_scale: oc FP32 values; w_scale multiplies real weights to INT8 (127/absmax).
 */
npu_status npu_conv_make_oscale(const npu_conv *conv, const npu_conv_plan *plan, const float *w_scale, float *dst, size_t dst_bytes);

/*
 * Run it. Checks everything, starts the tasks (two in flight unless serial), waits for the last. Serves the operator alone: no other caller may start tasks meanwhile.
 * After NPU_ERR_TIMEOUT or NPU_ERR_HAL, call npu_init() before the next operation; after NPU_ERR_BUS and NPU_ERR_DEVICE the device has come to rest (or the next
 * operation answers NPU_ERR_BUSY). The output is undefined after any error.
 */
npu_status npu_conv_run(npu *dev, const npu_conv *conv, const npu_conv_plan *plan);

/* Read all performance counters at one instant into out[0..count-1] (docs/npu.md section 5). */
#define NPU_PERF_COUNT 13
npu_status npu_perf_read(npu *dev, uint64_t *out, size_t count);
npu_status npu_perf_clear(npu *dev);

#endif
