/*
 * npu_convert.c - layout and precision: FP32 NCHW to INT8 or INT16 NHWC and back, with the CONVERT operator of the
 * GEMM.
 *
 * Each pixel is converted independently, and pixels are contiguous in both layouts. So a task takes any range of
 * pixels, as rows of ROW pixels that are streamed through the input buffer.
 */
#include "npu_priv.h"

#define ROW 256u
#define MAX_ROWS (NPU_MAX_PIXELS / ROW)
#define TASK_WORDS                                                                                                     \
    16u /* of a pixel, one or (INT16) two for each block of N channels: two rows are half of the buffer */
#define GROUP_PIXELS 256u

static void put_factors(const npu_convert *cv, uint32_t c0, npu_task *task) {
    if (cv->in.layout == NPU_FP32_NCHW) {
        npu_task_put(task, NPU_REG_GEMM_IN_SCALE, cv->scale);
        npu_task_put(task, NPU_REG_GEMM_OUT_SCALE, NPU_F32_ONE);
        return;
    }
    npu_task_put(task, NPU_REG_GEMM_OSCALE_ADDR, cv->factor_addr + c0 * 4);
    if (cv->quant.in_zero != 0) {
        npu_task_put(task, NPU_REG_GEMM_BIAS_ADDR, cv->factor_addr + npu_div_up(cv->in.c, 4) * 16 + c0 * 4);
    }
}

/* Bits of GEMM_CTRL, and GEMM_QUANT. To INT8 the zero-point is added by the quantiser of the input, and the requantiser
 * passes its values, which are integers; to FP32 it is subtracted as an int32 bias. */
static uint32_t put_kind(const npu_convert *cv, npu_task *task) {
    if (cv->in.layout == NPU_FP32_NCHW) {
        return NPU_GEMM_CTRL_LAYOUT_MASK | NPU_GEMM_CTRL_REQUANT_MASK | npu_task_quant(task, &cv->quant);
    }
    return NPU_GEMM_CTRL_OSCALE_MASK |
           (cv->quant.in_zero != 0 ? NPU_GEMM_CTRL_BIAS_MASK | NPU_GEMM_CTRL_IBIAS_MASK : 0);
}

static uint32_t address(const npu_tensor *t, uint32_t channel, uint32_t pixel) {
    return t->layout != NPU_FP32_NCHW ? t->addr + pixel * t->step + channel * npu_element_bytes(t->layout)
                                      : t->addr + channel * t->step + pixel * 4;
}

static void output_of(const npu_tensor *out, uint32_t n, uint32_t addr, uint32_t channels, uint32_t pixels,
                      npu_output *o) {
    if (out->layout != NPU_FP32_NCHW) {
        *o = (npu_output){.addr = addr,
                          .bytes = npu_align(channels, n) * npu_element_bytes(out->layout),
                          .rows = pixels,
                          .step = out->step,
                          .planes = 1,
                          .pstep = 0};
    } else {
        *o = (npu_output){
            .addr = addr, .bytes = pixels * 4, .rows = channels, .step = out->step, .planes = 1, .pstep = 0};
    }
}

static bool next_convert(npu_job *job, npu_task *task) {
    npu_convert_state *s = &job->s.convert;
    const npu_convert *cv = &s->cv;
    uint32_t pixels = cv->in.w * cv->in.h;
    if (s->c0 >= cv->in.c) {
        return false;
    }
    bool wide = cv->in.layout == NPU_INT16_NHWC || cv->out.layout == NPU_INT16_NHWC;
    uint32_t channels = npu_min(TASK_WORDS / (wide ? 2 : 1) * s->n, cv->in.c - s->c0);
    uint32_t left = pixels - s->p0;
    uint32_t w = npu_min(ROW, left);
    uint32_t h = npu_min(MAX_ROWS, left / w);
    uint32_t out_addr = address(&cv->out, s->c0, s->p0);
    uint32_t ctrl = NPU_GEMM_CTRL_EN_MASK | NPU_FIELD(NPU_GEMM_CTRL_OP, NPU_GEMM_CONVERT) |
                    NPU_FIELD(NPU_GEMM_CTRL_KERNEL, 1) | NPU_FIELD(NPU_GEMM_CTRL_STRIDE, 1) |
                    NPU_GEMM_CTRL_WGT_RES_MASK;
    ctrl |= put_kind(cv, task) | (wide ? NPU_GEMM_CTRL_WIDE_MASK : 0);
    if (wide) {
        npu_task_no_psum(task);
    }
    ctrl |= s->c0 == 0 && s->p0 == 0 ? NPU_GEMM_CTRL_FENCE_MASK : 0; /* reads what an earlier operator wrote */
    npu_task_put(task, NPU_REG_GEMM_IFM_ADDR, address(&cv->in, s->c0, s->p0));
    npu_task_put(task, NPU_REG_GEMM_IFM_CSTEP, cv->in.step);
    npu_task_put(task, NPU_REG_GEMM_OFM_ADDR, out_addr);
    npu_task_put(task, NPU_REG_GEMM_OFM_CSTEP, cv->out.step);
    npu_task_put(task, NPU_REG_GEMM_IFM_SIZE, NPU_FIELD(NPU_GEMM_IFM_SIZE_IW, w) | NPU_FIELD(NPU_GEMM_IFM_SIZE_IH, h));
    npu_task_put(task, NPU_REG_GEMM_CHANNELS,
                 NPU_FIELD(NPU_GEMM_CHANNELS_IC, channels) | NPU_FIELD(NPU_GEMM_CHANNELS_OC, channels));
    npu_task_put(task, NPU_REG_GEMM_OFM_SIZE, NPU_FIELD(NPU_GEMM_OFM_SIZE_OW, w) | NPU_FIELD(NPU_GEMM_OFM_SIZE_OH, h));
    npu_task_put(task, NPU_REG_GEMM_GROUP, NPU_FIELD(NPU_GEMM_GROUP_TILES, GROUP_PIXELS / (2 * s->n)));
    npu_task_put(task, NPU_REG_GEMM_ACT, NPU_FIELD(NPU_GEMM_ACT_TYPE, NPU_ACT_NONE));
    put_factors(cv, s->c0, task);
    npu_task_put(task, NPU_REG_GEMM_CTRL, ctrl);
    output_of(&cv->out, s->n, out_addr, channels, w * h, &task->out);
    s->p0 += w * h;
    if (s->p0 == pixels) {
        s->p0 = 0;
        s->c0 += channels;
    }
    return true;
}

uint32_t npu_convert_factor_bytes(const npu_convert *cv) {
    return cv->in.layout == NPU_FP32_NCHW ? 0 : npu_div_up(cv->in.c, 4) * (cv->quant.in_zero != 0 ? 32 : 16);
}

/* What does not depend on N or on addresses. */
static npu_status check_kind(const npu_convert *cv) {
    const npu_quant *q = &cv->quant;
    bool quant = q->in_zero != 0 || q->out_zero != 0 || q->to_even || q->full;
    if ((uint32_t)cv->in.layout > NPU_INT16_NHWC || (uint32_t)cv->out.layout > NPU_INT16_NHWC) {
        return NPU_ERR_ARG;
    }
    /* one side is FP32; INT16 has neither zero-points nor another rounding */
    if ((cv->in.layout == NPU_FP32_NCHW) == (cv->out.layout == NPU_FP32_NCHW) || q->out_zero != 0 ||
        (quant && (cv->in.layout == NPU_INT16_NHWC || cv->out.layout == NPU_INT16_NHWC))) {
        return NPU_ERR_LAYOUT;
    }
    if (cv->in.c == 0) {
        return NPU_ERR_ZERO_SIZE;
    }
    return cv->in.c > NPU_MAX_DIM ? NPU_ERR_TOO_LARGE : NPU_OK;
}

/* An int32 in the place of a float, bit for bit: it may look like a signalling NaN. */
static void put_int(float *dst, int32_t value) {
    const unsigned char *from = (const unsigned char *)&value;
    unsigned char *to = (unsigned char *)dst;
    for (uint32_t i = 0; i < sizeof value; i++) {
        to[i] = from[i];
    }
}

npu_status npu_convert_make_factors(const npu_convert *cv, float *dst, size_t dst_bytes) {
    if (cv == NULL || dst == NULL) {
        return NPU_ERR_ARG;
    }
    npu_status status = check_kind(cv);
    if (status == NPU_OK && dst_bytes < npu_convert_factor_bytes(cv)) {
        status = NPU_ERR_BUF_SIZE;
    }
    if (status != NPU_OK || cv->in.layout == NPU_FP32_NCHW) {
        return status;
    }
    uint32_t count = npu_div_up(cv->in.c, 4) * 4;
    for (uint32_t i = 0; i < count; i++) {
        dst[i] = i < cv->in.c ? npu_float(cv->scale) : 0.0f;
        if (cv->quant.in_zero != 0) {
            put_int(&dst[count + i], -cv->quant.in_zero);
        }
    }
    return status;
}

npu_status npu_job_convert(npu_job *job, const npu *dev, const npu_convert *cv) {
    if (cv == NULL) {
        return NPU_ERR_ARG;
    }
    npu_status status = npu_job_begin(job, dev, NPU_UNIT_GEMM, next_convert);
    if (status == NPU_OK) {
        status = check_kind(cv);
    }
    bool wide = cv->in.layout == NPU_INT16_NHWC || cv->out.layout == NPU_INT16_NHWC;
    if (status == NPU_OK && wide && !dev->int16) {
        status = NPU_ERR_NO_UNIT;
    }
    if (status == NPU_OK) {
        status = npu_tensor_check_gemm(&cv->in, dev->n);
    }
    if (status == NPU_OK) {
        status = npu_tensor_check_gemm(&cv->out, dev->n);
    }
    if (status == NPU_OK && (cv->in.w != cv->out.w || cv->in.h != cv->out.h || cv->in.c != cv->out.c)) {
        status = NPU_ERR_SHAPE;
    }
    if (status == NPU_OK && npu_convert_factor_bytes(cv) != 0 && cv->factor_addr % 16 != 0) {
        status = NPU_ERR_ALIGN;
    }
    if (status == NPU_OK) {
        status = npu_job_area(job, npu_tensor_area(&cv->in, dev->n), NPU_READ, false);
    }
    if (status == NPU_OK) {
        status = npu_job_area(job, npu_flat_area(cv->factor_addr, npu_convert_factor_bytes(cv)), NPU_READ, false);
    }
    if (status == NPU_OK) {
        status = npu_job_area(job, npu_tensor_area(&cv->out, dev->n), NPU_WRITE, false);
    }
    if (status != NPU_OK) {
        return status;
    }
    job->s.convert = (npu_convert_state){.cv = *cv, .n = dev->n, .c0 = 0, .p0 = 0};
    return NPU_OK;
}

npu_status npu_convert_run(npu *dev, const npu_convert *cv) {
    npu_job job;
    return npu_job_run(dev, &job, npu_job_convert(&job, dev, cv));
}
