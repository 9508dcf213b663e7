/*
 * npu.h - public interface of the NPU driver (freestanding C11).
 *
 * Addresses are 32-bit byte addresses of the NPU's memory. No function allocates. Every function that can fail
 * returns an npu_status; npu_strerror() gives its text. Layouts and arithmetic: docs/npu/npu.md.
 */
#ifndef NPU_H
#define NPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "npu_hal.h"
#include "npu_regs.h"

typedef enum npu_status {
    NPU_OK = 0,
    NPU_ERR_ARG,           /* null pointer or a value outside its enum */
    NPU_ERR_NO_DEVICE,     /* the ID register does not read as an NPU, or its version or N is unknown */
    NPU_ERR_ZERO_SIZE,     /* a size, kernel, stride or dilation is zero */
    NPU_ERR_KERNEL,        /* kernel or window larger than 255, or than the hardware can do in one piece */
    NPU_ERR_STRIDE,        /* stride or dilation larger than 255 */
    NPU_ERR_PADDING,       /* padding larger than 255, or (pooling) not smaller than the window */
    NPU_ERR_TOO_SMALL,     /* the padded input is smaller than the kernel: no output */
    NPU_ERR_TOO_LARGE,     /* a dimension of input or output above 65535 */
    NPU_ERR_ALIGN,         /* an address or channel step is not aligned as docs/npu/npu.md asks */
    NPU_ERR_CSTEP,         /* a channel step is smaller than a channel, or a pixel pitch smaller than a pixel */
    NPU_ERR_ADDR_OVERFLOW, /* a buffer runs past the end of the 32-bit address space */
    NPU_ERR_OVERLAP,       /* the output (or the scratch buffer) overlaps another buffer of the operator */
    NPU_ERR_SPLIT,         /* a requested split is impossible */
    NPU_ERR_BUF_SIZE,      /* a buffer of the caller is too small */
    NPU_ERR_BUSY,          /* the device has unfinished tasks that this driver did not start */
    NPU_ERR_TIMEOUT,       /* the device did not finish in time */
    NPU_ERR_BUS,           /* the device reported a bus error */
    NPU_ERR_DEVICE,        /* the device reported a configuration or overrun error */
    NPU_ERR_HAL,           /* the HAL reported a fault */
    NPU_ERR_GROUPS,        /* groups do not divide the channels */
    NPU_ERR_ACT,           /* activation unknown, or its parameters are illegal (alpha 0 where it divides) */
    NPU_ERR_LAYOUT,        /* a combination of layouts or options that the hardware cannot do */
    NPU_ERR_SCRATCH,       /* the scratch buffer is missing or too small (the plan says how much is needed) */
    NPU_ERR_EMPTY_WINDOW,  /* a pooling window is entirely in the padding */
    NPU_ERR_NO_UNIT,       /* this device was built without the ALU or the POOL */
    NPU_ERR_SHAPE,         /* the shapes of an operator's tensors do not match */
    NPU_STATUS_COUNT
} npu_status;

/* Text of a status, never NULL; "unknown status" for a value outside the enum. */
const char *npu_strerror(npu_status status);

typedef enum npu_wait { NPU_WAIT_IRQ = 0, NPU_WAIT_POLL = 1 } npu_wait;

/* The units that run tasks; the same order as the interrupt lines. */
typedef enum npu_unit { NPU_UNIT_ALU = 0, NPU_UNIT_POOL = 1, NPU_UNIT_GEMM = 2, NPU_UNIT_COUNT } npu_unit;

/* The driver's state of a device; filled by npu_init(). */
typedef struct npu {
    const npu_hal *hal;
    uint32_t n;                       /* mesh size */
    uint32_t units;                   /* bit u: the device has unit u */
    bool int16;                       /* it computes INT16 convolutions */
    npu_wait wait;                    /* how to wait for completion */
    uint32_t timeout_us;              /* longest wait for one task, in microseconds */
    uint16_t started[NPU_UNIT_COUNT]; /* tasks started since reset, modulo 65536 */
    uint32_t last_err;                /* bits of the failed unit in ERR at the last NPU_ERR_BUS or NPU_ERR_DEVICE */
} npu;

/* Check ID, read N and which units exist, soft-reset the device, enable the interrupts that `wait` needs. Errors:
 * NPU_ERR_ARG, NPU_ERR_NO_DEVICE, NPU_ERR_TIMEOUT, NPU_ERR_HAL. */
npu_status npu_init(npu *dev, const npu_hal *hal, npu_wait wait, uint32_t timeout_us);

/* Activations, the numbers of GEMM_ACT.TYPE (docs/npu/npu.md section 2). */
typedef enum npu_act {
    NPU_ACT_NONE = 0,
    NPU_ACT_RELU = 1,
    NPU_ACT_LEAKY = 2,       /* act_p[0]: slope */
    NPU_ACT_CLIP = 3,        /* act_p[0]: min, act_p[1]: max */
    NPU_ACT_HARDSWISH = 4,   /* act_p[0]: alpha (not 0), act_p[1]: beta */
    NPU_ACT_HARDSIGMOID = 5, /* act_p[0]: alpha (not 0), act_p[1]: beta */
    NPU_ACT_SIGMOID = 6,
    NPU_ACT_TANH = 7,
    NPU_ACT_SWISH = 8,
    NPU_ACT_MISH = 9,
    NPU_ACT_ELU = 10, /* act_p[0]: alpha */
    NPU_ACT_SOFTPLUS = 11,
    NPU_ACT_GELU = 12,      /* with erf */
    NPU_ACT_GELU_TANH = 13, /* its approximation with tanh */
    NPU_ACT_COUNT
} npu_act;

/* NPU_INT16_NHWC: of convolutions and conversions only, on devices with npu.int16. A block of N channels of a pixel is
 * 2N bytes: the low bytes of the channels, then the high ones (docs/npu/npu.md section 3.1). */
typedef enum npu_layout { NPU_FP32_NCHW = 0, NPU_INT8_NHWC = 1, NPU_INT16_NHWC = 2 } npu_layout;

/* A tensor of w x h pixels and c channels in device memory. step: NCHW: bytes from channel to channel, a multiple of 16
 * (of 4 where w*h = 1); NHWC: pixel pitch in bytes, a multiple of N, at least align(c,N). addr: a multiple of 4 (NHWC:
 * of N); with 2N in the place of N for INT16. */
typedef struct npu_tensor {
    uint32_t addr, step;
    uint32_t w, h, c; /* 1..65535 */
    npu_layout layout;
} npu_tensor;

/* Zero-points, rounding and range of INT8 tensors (GEMM_QUANT, docs/npu/npu.md section 2). All 0: symmetric INT8, half
 * away from zero, -127..127. */
typedef struct npu_quant {
    int8_t in_zero, out_zero; /* added by the quantisers; padding holds in_zero */
    bool to_even;             /* halves are rounded to even */
    bool full;                /* -128 is a result */
} npu_quant;

/*
 * A convolution; INT8 inside, with `wide` INT16. groups = ic = oc is a depthwise convolution.
 * ow = (iw + pad_l + pad_r - ((kw-1)*dil_w + 1)) / stride_w + 1 (rounded down), oh likewise.
 */
typedef struct npu_conv {
    uint32_t iw, ih, ic, oc; /* 1..65535 */
    /* 1..255; kw*N at most 4608 (wide: 2304) unless depthwise (so kw at most 144 where N = 32) */
    uint32_t kw, kh;
    uint32_t stride_w, stride_h;         /* 1..255 */
    uint32_t dil_w, dil_h;               /* 1..255 */
    uint32_t pad_l, pad_r, pad_t, pad_b; /* 0..255 */
    uint32_t groups;                     /* 1..ic, divides ic and oc */
    npu_act act;
    uint32_t act_p[2]; /* FP32 bits, see npu_act */
    bool has_bias;
    bool int_bias; /* with has_bias: the biases are int32 in steps of the sums (npu_conv_fold_bias) */
    npu_quant quant;
    /* INT16: inputs, weights, and sums of int64; the layouts are FP32 and INT16, quant is 0 and int_bias false. Half of
     * the speed, twice the bytes of weights and NHWC tensors. NPU_ERR_NO_UNIT where the device has no INT16. */
    bool wide;
    npu_layout in_layout, out_layout;
    uint32_t in_scale;               /* FP32 bits: quantiser of the input (INT8: the one it was made with) */
    uint32_t out_scale;              /* FP32 bits: quantiser of an INT8 output */
    uint32_t ifm_addr, ifm_cstep;    /* input, see npu_tensor */
    uint32_t wgt_addr;               /* packed weights (npu_conv_pack_weights), multiple of 16 */
    uint32_t oscale_addr, bias_addr; /* FP32 (int_bias: int32), align(oc,4) entries, multiple of 16 */
    uint32_t ofm_addr, ofm_cstep;    /* output, see npu_tensor */
    /* partial sums of an NHWC output or of INT16, multiple of 16; at least plan->scratch_bytes */
    uint32_t scratch_addr, scratch_bytes;
} npu_conv;

/* Limits of the caller for the splits; 0: the driver decides. Results never depend on them. */
typedef struct npu_conv_split {
    uint32_t max_ow;  /* output columns of a task; below ow, tasks take segments of rows (row_split) */
    uint32_t max_oh;  /* output rows of a task */
    uint32_t max_ic;  /* input channels of a task, rounded down to a multiple of N; below N is NPU_ERR_SPLIT */
    uint32_t max_oc;  /* output channels of a task, rounded down to a multiple of N; below N is NPU_ERR_SPLIT */
    uint32_t max_kh;  /* kernel rows of a task: their sums are added in memory */
    uint32_t group;   /* tiles written back together, at most 255 */
    bool serial;      /* wait for each task before the next is started */
    bool no_resident; /* never keep weights on chip while the input streams; with `resident` NPU_ERR_SPLIT */
    bool resident;    /* do so wherever it is possible, even where the driver expects the opposite to be faster */
} npu_conv_split;

/* Operators of the GEMM, the numbers of GEMM_CTRL.OP. */
typedef enum npu_gemm_op { NPU_GEMM_CONV = 0, NPU_GEMM_DEPTHWISE = 1, NPU_GEMM_CONVERT = 2 } npu_gemm_op;

/*
 * How a convolution is cut into tasks. Groups are computed in batches: `merge` groups as one convolution of
 * merge*ic/groups by merge*oc/groups channels with block-diagonal weights; the sizes below are those of one batch (the
 * last one may be smaller). Sums of slices of input channels and of kernel rows are added in memory. With row_split a
 * task takes a segment of one output row (oh_task is 1) and one kernel row, so that rows of any length run, though
 * slowly. Without it ow_task is ow.
 */
typedef struct npu_conv_plan {
    uint32_t n;
    npu_gemm_op op;
    uint32_t ow, oh;
    uint32_t merge, group_tasks; /* groups of a batch; batches */
    uint32_t ow_task, oh_task, ic_task, oc_task,
        kh_task; /* size of all tasks but the last along each dimension; DEPTHWISE: ic_task is oc_task */
    uint32_t ow_tasks, oh_tasks, ic_tasks, oc_tasks, kh_tasks;
    bool row_split;
    bool resident; /* weights stay on chip (WGT_RES), rows of the input stream */
    uint32_t group;
    bool serial;
    uint32_t wgt_bytes;     /* size of the packed weights */
    uint32_t param_bytes;   /* size of the oscale array and of the bias array, each */
    uint32_t scratch_bytes; /* scratch that npu_conv_run() needs */
} npu_conv_plan;

/* Check a convolution (addresses excepted) and decide its splits. Errors: see npu_status; `plan` is untouched on error.
 */
npu_status npu_conv_plan_make(uint32_t n, const npu_conv *conv, const npu_conv_split *split, npu_conv_plan *plan);

/*
 * Rearrange INT8 weights [oc][ic/groups][kh][kw] into the packed form of the plan: for each batch of groups, for each
 * slice of input channels, for each slice of kernel rows, for each block of output channels, as docs/npu/npu.md section
 * 3 says. dst_bytes must be at least plan->wgt_bytes.
 */
npu_status npu_conv_pack_weights(const npu_conv *conv, const npu_conv_plan *plan, const int8_t *weights, int8_t *dst,
                                 size_t dst_bytes);

/* The same for INT16 (conv->wide); in the packed form each word of N bytes becomes two, the low bytes and then the high
 * ones. NPU_ERR_LAYOUT where conv->wide is not what the function is for. */
npu_status npu_conv_pack_weights16(const npu_conv *conv, const npu_conv_plan *plan, const int16_t *weights, int8_t *dst,
                                   size_t dst_bytes);

/*
 * oscale[c] = f32(1 / f32(in_scale * w_scale[c])), +0 where w_scale[c] is 0; entries from oc to align(oc,4) are 0.
 * `dst` holds plan->param_bytes bytes. w_scale: oc FP32 values; w_scale multiplies real weights to INT8 (127/absmax).
 */
npu_status npu_conv_make_oscale(const npu_conv *conv, const npu_conv_plan *plan, const float *w_scale, float *dst,
                                size_t dst_bytes);

/*
 * The factors of a convolution between INT8 tensors in steps (r = step * (q - zero)), as ONNX's QLinearConv has them:
 * dst[c] = f32(f32(x_step * w_step[c]) / y_step); entries from oc to align(oc,4) are 0. With out_scale = 1,
 * quant.to_even, quant.full, int_bias and the biases of npu_conv_fold_bias() the result is onnxruntime's, bit for bit.
 * `dst` holds plan->param_bytes bytes. Document 002, equations 4.5 to 4.7; docs/npu/driver.md.
 */
npu_status npu_conv_make_multiplier(const npu_conv *conv, const npu_conv_plan *plan, float x_step, const float *w_step,
                                    float y_step, float *dst, size_t dst_bytes);

/*
 * Fold the zero-point of the input into the biases: dst[c] = bias[c] - in_zero * (sum of the weights of output c), with
 * wrap, so that sum (q - in_zero) * w + bias is what the hardware adds up. bias: oc values in steps of the sums, NULL:
 * 0. weights as for npu_conv_pack_weights(). `dst` holds plan->param_bytes bytes.
 */
npu_status npu_conv_fold_bias(const npu_conv *conv, const npu_conv_plan *plan, const int8_t *weights,
                              const int32_t *bias, int32_t *dst, size_t dst_bytes);

/*
 * Run it. Checks everything, starts the tasks (several in flight unless serial), waits for the last. No other caller
 * may start tasks meanwhile. After NPU_ERR_TIMEOUT or NPU_ERR_HAL, call npu_init() before the next operation; after
 * NPU_ERR_BUS and NPU_ERR_DEVICE the device is idle (or the next operation returns NPU_ERR_BUSY). The output
 * is undefined after any error.
 */
npu_status npu_conv_run(npu *dev, const npu_conv *conv, const npu_conv_plan *plan);

/*
 * Fully connected: out[o] = sum over i of in[i] * w[o][i]. The input is in_len contiguous FP32 values (address a
 * multiple of 16; read up to the next multiple of 16 bytes) or an INT8 NHWC vector (one pixel); the output out_len
 * contiguous FP32 values or one INT8 pixel. Fills *conv with the convolution that computes it (addresses, factors,
 * activation are the caller's to fill in); pack weights with npu_linear_pack_weights(), run with npu_conv_run().
 */
npu_status npu_linear_make(uint32_t n, uint32_t in_len, uint32_t out_len, npu_layout in_layout, npu_layout out_layout,
                           npu_conv *conv);
/* weights: [out_len][in_len]. */
npu_status npu_linear_pack_weights(const npu_conv *conv, const npu_conv_plan *plan, uint32_t in_len,
                                   const int8_t *weights, int8_t *dst, size_t dst_bytes);

/*
 * Change layout and precision: FP32 NCHW -> INT8 or INT16 NHWC (quantise with `scale`, 127/threshold or
 * 32767/threshold; quant.in_zero is the zero-point, 0 with INT16), INT8 or INT16 NHWC -> FP32 NCHW (dequantise:
 * y = f32(q - quant.in_zero) * scale; the array at factor_addr, npu_convert_factor_bytes() bytes, is written by
 * npu_convert_make_factors()). Same w, h, c. quant.out_zero is 0 (NPU_ERR_LAYOUT).
 */
typedef struct npu_convert {
    npu_tensor in, out;
    uint32_t scale; /* FP32 bits */
    uint32_t factor_addr;
    npu_quant quant;
} npu_convert;
/* Bytes of the factors: 4 * align(c,4), with a zero-point twice as many; 0 where the output is INT8. */
uint32_t npu_convert_factor_bytes(const npu_convert *cv);
npu_status npu_convert_make_factors(const npu_convert *cv, float *dst, size_t dst_bytes);
npu_status npu_convert_run(npu *dev, const npu_convert *cv);

/*
 * Pooling: out.w = (in.w + pad_l + pad_r - kw) / stride_w + 1, rounded down or (ceil_mode) up; a last window that would
 * start in the right padding is dropped. The FP32 global average is a reduction of the ALU (npu_global_average_run: 32
 * accumulators), at any size; all else runs on the POOL, global up to maps of 255 x 255.
 */
typedef struct npu_pool {
    npu_tensor in, out;                  /* same layout, same c; out.w and out.h must be those of npu_pool_shape() */
    uint32_t type;                       /* of POOL_CTRL: NPU_POOL_CTRL_TYPE_MAX .. */
    bool exclude_pad;                    /* average over real elements only */
    bool sum;                            /* FP32 average, not global: the sum of the elements instead */
    bool ceil_mode, global;              /* global: the window is the map; window, stride and padding are ignored */
    uint32_t kw, kh, stride_w, stride_h; /* 1..255 */
    uint32_t pad_l, pad_r, pad_t, pad_b; /* smaller than the window */
    /* FP32 average with exclude_pad: factors written by npu_pool_make_table(), multiple of 4 */
    uint32_t table_addr, table_bytes;
} npu_pool;
/* Size of the output; depends on in.w, in.h and the window, not on addresses. */
npu_status npu_pool_shape(const npu_pool *pool, uint32_t *ow, uint32_t *oh);
/* Bytes of the factor table, 0 when none is needed. Depends on the same as npu_pool_shape() and on in.layout. */
npu_status npu_pool_table_bytes(const npu_pool *pool, uint32_t *bytes);
npu_status npu_pool_make_table(const npu_pool *pool, float *dst, size_t dst_bytes);
npu_status npu_pool_run(npu *dev, const npu_pool *pool);

/* Operations of the ALU: NPU_ALU_COPY, NPU_ALU_ADD and so on, names and numbers of ALU_CTRL.OP (docs/npu/registers.md).
 */
#define NPU_ALU_VALUE(NAME, value) NPU_ALU_##NAME = value,
typedef enum npu_alu_op { NPU_ALU_CTRL_OP_TABLE(NPU_ALU_VALUE) NPU_ALU_OP_COUNT } npu_alu_op;
#undef NPU_ALU_VALUE
/* Where p or q comes from: a scalar, the tensor b, or an array with one FP32 for each channel. */
typedef enum npu_operand { NPU_SCALAR = 0, NPU_VECTOR = 1, NPU_CHANNEL = 2 } npu_operand;

/* Functions of the ALU in place of an activation, the numbers of ALU_ACT.FUNC. */
typedef enum npu_func {
    NPU_FUNC_NONE = 0,
    NPU_FUNC_EXP = 1,
    NPU_FUNC_RECIP = 2,
    NPU_FUNC_RSQRT = 3,
    NPU_FUNC_COUNT
} npu_func;

/*
 * Element-wise operation on FP32 NCHW tensors: out = act(op(a, p, q)), or func in place of act. a, b (where used) and
 * out have the same w, h, c; out may be a. Threshold is GT with a scalar, clip is COPY with NPU_ACT_CLIP, scale and
 * bias per channel is MULADD with NPU_CHANNEL, dropout is MUL, mean/norm of an image is ADDMUL with -mean and norm,
 * PReLU is PRELU with the slopes at p_addr (NPU_CHANNEL) or one slope for all (NPU_SCALAR), 1/a is COPY with
 * NPU_FUNC_RECIP.
 */
typedef struct npu_eltwise {
    npu_alu_op op; /* not a reduction */
    npu_operand p_kind, q_kind;
    npu_tensor a, b, out;
    uint32_t p, q;           /* FP32 bits */
    uint32_t p_addr, q_addr; /* arrays of c FP32, multiple of 4 */
    npu_act act;
    uint32_t act_p[2];
    npu_func func; /* not with an activation */
} npu_eltwise;
npu_status npu_eltwise_run(npu *dev, const npu_eltwise *op);

/* Inner product of two FP32 vectors of len elements (addresses multiples of 4): *result gets the FP32 bits. scale: FP32
 * bits, multiplies the sum. The result is also written to out_addr. */
npu_status npu_dot_run(npu *dev, uint32_t a_addr, uint32_t b_addr, uint32_t len, uint32_t scale, uint32_t out_addr,
                       uint32_t *result);
/* Global average of an FP32 NCHW tensor: out is c FP32 values, out_step bytes apart (a multiple of 4). */
npu_status npu_global_average_run(npu *dev, const npu_tensor *in, uint32_t out_addr, uint32_t out_step);
/*
 * Normalisation of rows of FP32 values, each row by itself (docs/npu/driver.md, *Rows*):
 * - softmax: e^(x - max) / sum of these; softmax across: the same down the columns, each column by itself;
 * - layer norm: (x - mean) / sqrt(variance + eps) * gamma + beta, variance: the mean of the squares of x - mean;
 * - RMS norm: x / sqrt(mean of x^2 + eps) * gamma.
 * Steps are multiples of 4 and at least a row; out may be in, with the same step. rows: 1..65535, cols: 1..2^24-1.
 * scratch: npu_rows_scratch_bytes() bytes, 4 for each row (across: column). gamma_addr, beta_addr: cols FP32 values,
 * 0: none (softmax: none; a beta only in layer norm, with a gamma: NPU_ERR_LAYOUT). Addresses are multiples of 4,
 * scratch_addr of 16.
 */
typedef enum npu_rows_kind {
    NPU_ROWS_SOFTMAX,
    NPU_ROWS_LAYER_NORM,
    NPU_ROWS_RMS_NORM,
    NPU_ROWS_SOFTMAX_ACROSS,
    NPU_ROWS_KINDS
} npu_rows_kind;
typedef struct npu_rows {
    npu_rows_kind kind;
    uint32_t rows, cols;
    uint32_t in_addr, in_step, out_addr, out_step; /* steps: bytes from a row to the next */
    uint32_t eps;                                  /* FP32 bits */
    uint32_t gamma_addr, beta_addr;
    uint32_t scratch_addr, scratch_bytes;
} npu_rows;
uint32_t npu_rows_scratch_bytes(const npu_rows *rows);
npu_status npu_rows_run(npu *dev, const npu_rows *rows);
/* Nearest upsampling by 2: out.w = 2*in.w, out.h = 2*in.h, same layout and c. */
npu_status npu_upsample2x_run(npu *dev, const npu_tensor *in, const npu_tensor *out);
/* Copy a tensor, same layout and shape, other steps: a branch of a concat that could not be written in place. */
npu_status npu_copy_run(npu *dev, const npu_tensor *in, const npu_tensor *out);

/*
 * Operators at the same time. A job is an operator that is cut into tasks of one unit; npu_jobs_run() feeds all of
 * them, each unit as it becomes free, and returns when all are done. Jobs of one unit run one after another in the
 * order of the array, so a later one may read what an earlier one of the same unit wrote. The output of a job must not
 * overlap a buffer of a job of another unit (NPU_ERR_OVERLAP). The *_run functions above are npu_jobs_run() of one job.
 *
 * Each job gets its status. A job whose unit failed before it began does not run and gets the same status as the failed
 * one. The status of npu_jobs_run() is that of the first failed job of the array, or an error of the arguments, in
 * which case nothing has run. The members of a job are private to the driver; `status` may be read.
 */
typedef struct npu_job npu_job;
struct npu_task;
npu_status npu_job_conv(npu_job *job, const npu *dev, const npu_conv *conv, const npu_conv_plan *plan);
npu_status npu_job_convert(npu_job *job, const npu *dev, const npu_convert *cv);
npu_status npu_job_pool(npu_job *job, const npu *dev, const npu_pool *pool);
npu_status npu_job_eltwise(npu_job *job, const npu *dev, const npu_eltwise *op);
/* The result goes to out_addr only. */
npu_status npu_job_dot(npu_job *job, const npu *dev, uint32_t a_addr, uint32_t b_addr, uint32_t len, uint32_t scale,
                       uint32_t out_addr);
npu_status npu_job_global_average(npu_job *job, const npu *dev, const npu_tensor *in, uint32_t out_addr,
                                  uint32_t out_step);
npu_status npu_job_rows(npu_job *job, const npu *dev, const npu_rows *rows);
npu_status npu_job_upsample2x(npu_job *job, const npu *dev, const npu_tensor *in, const npu_tensor *out);
npu_status npu_job_copy(npu_job *job, const npu *dev, const npu_tensor *in, const npu_tensor *out);
npu_status npu_jobs_run(npu *dev, npu_job *jobs, size_t count);
/*
 * The work of a job, without a device: the register writes of its next task (offset, value), in order; the last one
 * starts it. Returns their number; 0: no task is left. The job cannot be run afterwards.
 */
#define NPU_TASK_REGS 32
uint32_t npu_job_next_task(npu_job *job, uint32_t reg[NPU_TASK_REGS][2]);

/* Read all performance counters at one instant into out[0..count-1] (docs/npu/npu.md section 5; numbers that do not
 * exist read 0). */
#define NPU_PERF_COUNT NPU_PERF_SEL_SEL_COUNT
npu_status npu_perf_read(npu *dev, uint64_t *out, size_t count);
npu_status npu_perf_clear(npu *dev);

/* ---- members of a job; private to the driver, here so that callers can allocate jobs ---- */

/* `pieces` ranges of `bytes` bytes, `step` bytes apart. */
typedef struct npu_area {
    uint32_t addr, step, pieces;
    uint64_t bytes;
} npu_area;

typedef enum npu_use { NPU_READ, NPU_WRITE, NPU_SCRATCH } npu_use;

#define NPU_JOB_AREAS 6

typedef struct npu_conv_state {
    npu_conv conv;
    npu_conv_plan plan;
    uint32_t g, oc0, ic0, kh0, oh0, ow0; /* where the next task begins */
    bool fence;                          /* the next task waits for all before it */
    /* weights on chip: address, kernel rows, input channels, output channels; no channels: none */
    uint32_t kept[4];
} npu_conv_state;

typedef struct npu_convert_state {
    npu_convert cv;
    uint32_t n, c0, p0;
} npu_convert_state;

typedef struct npu_pool_state {
    npu_pool pool;
    uint32_t n, strip, x0;
} npu_pool_state;

typedef struct npu_alu_state {
    uint32_t ctrl, act, act_p[4], func;
    uint32_t a_addr, a_rstep, a_pstep, b_addr, b_rstep, b_pstep, o_addr[4], o_rstep, o_pstep;
    uint32_t count, rows, planes, out_count;
    uint32_t p, q, p_addr, q_addr;
    uint32_t tasks, at; /* one for each o_addr */
} npu_alu_state;

typedef struct npu_rows_state {
    npu_rows rows;
    uint32_t at; /* the next of the steps in npu_rows.c */
} npu_rows_state;

struct npu_job {
    npu_status status;
    npu_unit unit;
    bool serial;
    bool (*next)(npu_job *job, struct npu_task *task); /* false: no more tasks */
    uint32_t areas;
    npu_area area[NPU_JOB_AREAS];
    npu_use use[NPU_JOB_AREAS];
    union {
        npu_conv_state conv;
        npu_convert_state convert;
        npu_pool_state pool;
        npu_alu_state alu;
        npu_rows_state rows;
    } s;
};

#endif
