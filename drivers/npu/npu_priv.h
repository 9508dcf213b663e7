/*
 * npu_priv.h - shared by the files of the driver; private to drivers/.
 */
#ifndef NPU_PRIV_H
#define NPU_PRIV_H

#include "npu.h"
#include "npu_regs.h"

/* Limits of the tasks, docs/npu/npu.md section 3. */
#define NPU_IFM_WORDS 16384u
#define NPU_WGT_WORDS 4608u
#define NPU_MAX_PIXELS 65535u
#define NPU_MAX_TASK_OC 1024u
#define NPU_MAX_DIM 65535u
#define NPU_MAX_BYTE 255u /* kernels, strides, dilations, padding, groups of tiles */
#define NPU_POOL_COLUMNS 512u
#define NPU_POOL_RESULTS 64u
#define NPU_ALU_MAX_COUNT 0xFFFFFFu

#define NPU_ADDRESS_SPACE ((uint64_t)UINT32_MAX + 1)
#define NPU_F32_ONE 0x3F800000u

/* Place a value in a register field. */
#define NPU_FIELD(field, value) (((uint32_t)(value) << field##_LSB) & field##_MASK)

static inline uint32_t npu_min(uint32_t a, uint32_t b) {
    return a < b ? a : b;
}

static inline uint32_t npu_max(uint32_t a, uint32_t b) {
    return a > b ? a : b;
}

static inline uint32_t npu_div_up(uint32_t a, uint32_t b) {
    return a / b + (a % b != 0 ? 1u : 0u);
}

/* a: at most 65535 or so: far below the end of uint32_t */
static inline uint32_t npu_align(uint32_t a, uint32_t b) {
    return npu_div_up(a, b) * b;
}

/* Is `n` a mesh size? */
static inline bool npu_is_mesh_size(uint32_t n) {
    return n == 4 || n == 8 || n == 16 || n == 32;
}

/* ---- npu_core.c: registers ---- */

/* Register access; NPU_ERR_HAL when the HAL reports a fault. */
npu_status npu_reg_read(const npu *dev, uint32_t offset, uint32_t *value);
npu_status npu_reg_write(const npu *dev, uint32_t offset, uint32_t value);
/* Poll until (register & mask) == want, at most the time-out of the device. */
npu_status npu_reg_poll(const npu *dev, uint32_t offset, uint32_t mask, uint32_t want);

/* ---- npu_check.c: arguments, buffers, floating point ---- */

float npu_float(uint32_t bits);
/* Any NaN becomes 0x7FC00000: its payload depends on the processor, results must not. */
uint32_t npu_bits(float value);
/* f32(1 / count); count is at most 2^24. */
uint32_t npu_reciprocal(uint32_t count);

/* A known activation with legal parameters; NPU_ERR_ACT. */
npu_status npu_act_check(npu_act act, const uint32_t act_p[2]);
/* The four parameters of the hardware; returns how many the activation uses. */
uint32_t npu_act_params(npu_act act, const uint32_t act_p[2], uint32_t out[4]);

/* Bytes of a channel: of a pixel of NHWC, of FP32. */
static inline uint32_t npu_element_bytes(npu_layout layout) {
    return layout == NPU_FP32_NCHW ? 4 : layout == NPU_INT16_NHWC ? 2 : 1;
}

/* Sizes, layout (FP32 or INT8), alignment, steps, and the end of the address space. */
npu_status npu_tensor_check(const npu_tensor *t, uint32_t n);
/* The same of a convolution or conversion, where INT16 is a layout, too. */
npu_status npu_tensor_check_gemm(const npu_tensor *t, uint32_t n);
npu_area npu_tensor_area(const npu_tensor *t, uint32_t n);
npu_area npu_flat_area(uint32_t addr, uint64_t bytes);
bool npu_area_overflows(const npu_area *a);
/* Do they have a byte in common? May also return true for areas with different steps that interleave. */
bool npu_area_overlap(const npu_area *a, const npu_area *b);
static inline bool npu_area_same(const npu_area *a, const npu_area *b) {
    return a->addr == b->addr && (a->pieces == 1 || a->step == b->step) && a->pieces == b->pieces &&
           a->bytes == b->bytes;
}

/* ---- npu_jobs.c: tasks and jobs ---- */

/* Bytes that a task writes: planes of rows. */
typedef struct npu_output {
    uint32_t addr, bytes, rows, step, planes, pstep;
} npu_output;

/* Register writes of one task, in order; the last one starts it. */
typedef struct npu_task {
    uint32_t count;
    uint32_t reg[NPU_TASK_REGS][2];
    npu_output out;
} npu_task;

static inline void npu_task_put(npu_task *task, uint32_t offset, uint32_t value) {
    task->reg[task->count][0] = offset;
    task->reg[task->count][1] = value;
    task->count++;
}

/* For a task of INT16 that reads no partial sums: their address and step have to be multiples of 8 all the same, and a
 * task of INT8 may have left other values in the registers. */
static inline void npu_task_no_psum(npu_task *task) {
    npu_task_put(task, NPU_REG_GEMM_PSUM_ADDR, 0);
    npu_task_put(task, NPU_REG_GEMM_PSUM_CSTEP, 0);
}

/* GEMM_QUANT, where it is needed; returns bits of GEMM_CTRL. */
static inline uint32_t npu_task_quant(npu_task *task, const npu_quant *q) {
    const uint32_t value = NPU_FIELD(NPU_GEMM_QUANT_ZIN, (uint8_t)q->in_zero) |
                           NPU_FIELD(NPU_GEMM_QUANT_ZOUT, (uint8_t)q->out_zero) |
                           NPU_FIELD(NPU_GEMM_QUANT_RNE, q->to_even) | NPU_FIELD(NPU_GEMM_QUANT_FULL, q->full);
    if (value == 0) {
        return 0;
    }
    npu_task_put(task, NPU_REG_GEMM_QUANT, value);
    return NPU_GEMM_CTRL_QUANT_MASK;
}

/* An empty job of a unit. NPU_ERR_ARG, NPU_ERR_NO_UNIT. */
npu_status npu_job_begin(npu_job *job, const npu *dev, npu_unit unit, bool (*next)(npu_job *job, npu_task *task));
/* Another buffer of the job. NPU_ERR_ADDR_OVERFLOW; NPU_ERR_OVERLAP when it is written and overlaps another one, or the
 * other way round. in_place: it may be exactly another one. */
npu_status npu_job_area(npu_job *job, npu_area area, npu_use use, bool in_place);
/* Run this one job; `status`: result of making it. */
npu_status npu_job_run(npu *dev, npu_job *job, npu_status status);

/* ---- npu_alu.c ---- */

/* The register writes of task number s->at. */
void npu_alu_put(const npu_alu_state *s, npu_task *task);

/* ---- convolution ---- */

/* Is this a plan for this convolution, and does the hardware support all its tasks? NPU_ERR_SPLIT when not. */
npu_status npu_conv_plan_check(const npu_conv *conv, const npu_conv_plan *plan);

/* Lines of the input: those inside the map, and the padding around them. */
typedef struct npu_span {
    uint32_t first, count; /* count is 0 when there is nothing but padding */
    uint32_t before, after;
} npu_span;
/* The input rows that kernel rows k0 .. k0+k-1 of output rows oh0 .. oh0+oh-1 need. */
npu_span npu_conv_rows(const npu_conv *conv, uint32_t k0, uint32_t k, uint32_t oh0, uint32_t oh);
/* The input columns that output columns ow0 .. ow0+ow-1 need. */
npu_span npu_conv_columns(const npu_conv *conv, uint32_t ow0, uint32_t ow);

/* Bytes of packed weights of `blocks` blocks of output channels, for k kernel rows and icb blocks of input channels. */
uint64_t npu_conv_wgt_bytes(const npu_conv *conv, const npu_conv_plan *plan, uint32_t blocks, uint32_t k, uint32_t icb);
/* Partial sums: bytes of one, and from channel to channel in the scratch buffer. */
static inline uint32_t npu_conv_sum_bytes(const npu_conv *conv) {
    return conv->wide ? 8 : 4;
}
static inline uint64_t npu_conv_scratch_step(const npu_conv *conv, const npu_conv_plan *plan) {
    return ((uint64_t)plan->ow * plan->oh * npu_conv_sum_bytes(conv) + 15) / 16 * 16;
}
/* Are they in the scratch buffer? Those of int32 of an FP32 output are in the output itself. */
static inline bool npu_conv_uses_scratch(const npu_conv *conv) {
    return conv->wide || conv->out_layout != NPU_FP32_NCHW;
}

/* Input and output channels of a batch of groups. */
static inline uint32_t npu_conv_batch_groups(const npu_conv *conv, const npu_conv_plan *plan, uint32_t batch) {
    return npu_min(plan->merge, conv->groups - batch * plan->merge);
}

#endif
