/*
 * npu_priv.h - what the files of the driver share; private to drivers/.
 */
#ifndef NPU_PRIV_H
#define NPU_PRIV_H

#include "npu.h"
#include "npu_regs.h"

/* Limits of one GEMM task, docs/npu.md section 3. */
#define NPU_IFM_WORDS 16384u
#define NPU_WGT_WORDS 4608u
#define NPU_MAX_PIXELS 65535u
#define NPU_MAX_TASK_OC 1024u
#define NPU_MAX_DIM 65535u
#define NPU_MAX_KERNEL 7u
#define NPU_MAX_STRIDE 7u
#define NPU_MAX_GROUP 255u

/* Place a value in a register field. */
#define NPU_FIELD(field, value) (((uint32_t)(value) << field##_LSB) & field##_MASK)

/* Register access; NPU_ERR_HAL when the HAL reports a fault. */
npu_status npu_reg_read(const npu *dev, uint32_t offset, uint32_t *value);
npu_status npu_reg_write(const npu *dev, uint32_t offset, uint32_t value);

/* NPU_ERR_BUSY when a task runs that this driver did not start, or one that it gave up on. */
npu_status npu_gemm_check_idle(const npu *dev);
/*
 * Wait until at most max_in_flight started tasks are incomplete. Errors: NPU_ERR_TIMEOUT, NPU_ERR_HAL; NPU_ERR_BUS and NPU_ERR_DEVICE after the device
 * has come to rest and its error flags are cleared.
 */
npu_status npu_gemm_wait(npu *dev, uint32_t max_in_flight);
/* Wait until the device takes another task. Errors as npu_gemm_wait(). */
npu_status npu_gemm_wait_ready(npu *dev);

static inline uint32_t npu_min(uint32_t a, uint32_t b) {
    return a < b ? a : b;
}

static inline uint32_t npu_div_up(uint32_t a, uint32_t b) {
    return a / b + (a % b != 0 ? 1u : 0u);
}

/* Does `n` name a mesh size? */
static inline bool npu_is_mesh_size(uint32_t n) {
    return n == 4 || n == 8 || n == 16 || n == 32;
}

/* Check the shape of a convolution and compute its output size. */
npu_status npu_conv_shape(const npu_conv *conv, uint32_t *ow, uint32_t *oh);
/* Is this a plan for this convolution whose every task the hardware can do? NPU_ERR_SPLIT when not. */
npu_status npu_conv_plan_check(const npu_conv *conv, const npu_conv_plan *plan);

/* Input rows (or columns): those inside the map, and the padding around them. */
typedef struct npu_span {
    uint32_t first, count;
    uint32_t before, after; /* padding; count is 0 when there is nothing but padding */
} npu_span;
/* The input rows that kernel rows k0 .. k0+k-1 of output rows oh0 .. oh0+oh-1 need. */
npu_span npu_conv_rows(const npu_conv *conv, uint32_t k0, uint32_t k, uint32_t oh0, uint32_t oh);
/* The input columns that output columns ow0 .. ow0+ow-1 need; never without a column inside the map. */
npu_span npu_conv_columns(const npu_conv *conv, uint32_t ow0, uint32_t ow);

/* Kernel rows of a task. */
static inline uint32_t npu_conv_kh_task(const npu_conv *conv, const npu_conv_plan *plan) {
    return plan->row_split ? 1u : conv->kh;
}

#endif
