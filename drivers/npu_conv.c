/*
 * npu_conv.c - run a planned convolution.
 *
 * Tasks run output channels outermost, then slices of input channels (with row_split: of input channels and kernel rows), then rows and their segments. So the
 * partial sums that a task reads were written in an earlier slice, and one fence at the start of each slice is enough: the tasks inside a slice overlap.
 */
#include "npu_priv.h"

/* Tasks in flight: one computes while the next loads. */
#define MAX_IN_FLIGHT 2u

#define ALIGN_BYTES 16u

typedef struct range {
    uint64_t begin, end;
} range;

/* One task, as the loops of npu_conv_run() place it. */
typedef struct task {
    uint32_t oc0, oc, ic0, ic, kh0, kh, oh0, oh, ow0, ow;
    npu_span rows, columns; /* of the input */
    bool first, last;       /* the first and the last slice that these output pixels get */
    bool fence;
} task;

/* What the loops carry. */
typedef struct run {
    npu *dev;
    const npu_conv *c;
    const npu_conv_plan *plan;
    uint32_t others; /* tasks that may be in flight when one more starts */
    uint32_t launched;
    bool fence; /* the next task waits for all before it */
} run;

static range map_range(uint32_t addr, uint32_t cstep, uint32_t channels, uint32_t w, uint32_t h) {
    range r;
    r.begin = addr;
    r.end = r.begin + (uint64_t)(channels - 1) * cstep + (uint64_t)w * h * 4;
    return r;
}

static range flat_range(uint32_t addr, uint32_t bytes) {
    range r;
    r.begin = addr;
    r.end = r.begin + bytes;
    return r;
}

static bool overlap(range a, range b) {
    return a.begin < b.end && b.begin < a.end;
}

static bool overflows(range r) {
    return r.end > (uint64_t)UINT32_MAX + 1;
}

static npu_status check_buffers(const npu_conv *c, const npu_conv_plan *plan) {
    uint32_t bias_addr = c->has_bias ? c->bias_addr : 0;
    if (((c->ifm_addr | c->ifm_cstep | c->wgt_addr | c->oscale_addr | bias_addr | c->ofm_addr | c->ofm_cstep) & (ALIGN_BYTES - 1)) != 0) {
        return NPU_ERR_ALIGN;
    }
    if (c->ifm_cstep < (uint64_t)c->iw * c->ih * 4 || c->ofm_cstep < (uint64_t)plan->ow * plan->oh * 4) {
        return NPU_ERR_CSTEP;
    }
    range ifm = map_range(c->ifm_addr, c->ifm_cstep, c->ic, c->iw, c->ih);
    range ofm = map_range(c->ofm_addr, c->ofm_cstep, c->oc, plan->ow, plan->oh);
    range wgt = flat_range(c->wgt_addr, plan->wgt_bytes);
    range oscale = flat_range(c->oscale_addr, plan->param_bytes);
    range bias = flat_range(bias_addr, c->has_bias ? plan->param_bytes : 0);
    if (overflows(ifm) || overflows(ofm) || overflows(wgt) || overflows(oscale) || overflows(bias)) {
        return NPU_ERR_ADDR_OVERFLOW;
    }
    if (overlap(ofm, ifm) || overlap(ofm, wgt) || overlap(ofm, oscale) || (c->has_bias && overlap(ofm, bias))) {
        return NPU_ERR_OVERLAP;
    }
    return NPU_OK;
}

static void flush_buffers(const npu *dev, const npu_conv *c, const npu_conv_plan *plan) {
    const npu_hal *hal = dev->hal;
    range ifm = map_range(c->ifm_addr, c->ifm_cstep, c->ic, c->iw, c->ih);
    range ofm = map_range(c->ofm_addr, c->ofm_cstep, c->oc, plan->ow, plan->oh);
    if (hal->cache_flush == NULL) {
        return;
    }
    hal->cache_flush(hal->ctx, c->ifm_addr, (uint32_t)(ifm.end - ifm.begin));
    hal->cache_flush(hal->ctx, c->wgt_addr, plan->wgt_bytes);
    hal->cache_flush(hal->ctx, c->oscale_addr, plan->param_bytes);
    if (c->has_bias) {
        hal->cache_flush(hal->ctx, c->bias_addr, plan->param_bytes);
    }
    /* A dirty line written back later would destroy results. */
    hal->cache_flush(hal->ctx, c->ofm_addr, (uint32_t)(ofm.end - ofm.begin));
}

static void invalidate_output(const npu *dev, const npu_conv *c, const npu_conv_plan *plan) {
    range ofm = map_range(c->ofm_addr, c->ofm_cstep, c->oc, plan->ow, plan->oh);
    if (dev->hal->cache_invalidate != NULL) {
        dev->hal->cache_invalidate(dev->hal->ctx, c->ofm_addr, (uint32_t)(ofm.end - ofm.begin));
    }
}

static uint32_t output_addr(const npu_conv *c, const npu_conv_plan *plan, const task *t) {
    return c->ofm_addr + t->oc0 * c->ofm_cstep + (t->oh0 * plan->ow + t->ow0) * 4;
}

/* Exactly the bytes that the task writes: the gap at the end of a channel is not among them. Whole rows or one segment: contiguous. */
static void declare_output(const npu *dev, const npu_conv *c, const npu_conv_plan *plan, const task *t) {
    const npu_hal *hal = dev->hal;
    uint32_t bytes = t->oh * t->ow * 4;
    uint32_t addr = output_addr(c, plan, t);
    if (hal->task_output == NULL) {
        return;
    }
    if (bytes == c->ofm_cstep) {
        hal->task_output(hal->ctx, addr, bytes * t->oc);
        return;
    }
    for (uint32_t i = 0; i < t->oc; i++) {
        hal->task_output(hal->ctx, addr + i * c->ofm_cstep, bytes);
    }
}

static npu_status write_regs(const npu *dev, const uint32_t (*regs)[2], size_t count) {
    npu_status status = NPU_OK;
    for (size_t i = 0; i < count && status == NPU_OK; i++) {
        status = npu_reg_write(dev, regs[i][0], regs[i][1]);
    }
    return status;
}

static npu_status write_geometry(const npu *dev, const npu_conv *c, const npu_conv_plan *plan, const task *t) {
    uint32_t icb_before = npu_div_up(t->ic0, plan->n);
    uint32_t icb = npu_div_up(t->ic, plan->n);
    uint32_t ocb = npu_div_up(c->oc, plan->n);
    /* Slices of input channels one after the other; in each, kernel rows when they are apart; in each of those, blocks of output channels. */
    uint32_t wgt_blocks = ocb * (icb_before * c->kh + icb * t->kh0) + t->oc0 / plan->n * icb * t->kh;
    uint32_t wgt_words = wgt_blocks * c->kw * plan->n;
    const uint32_t regs[][2] = {
        {NPU_REG_GEMM_IFM_ADDR, c->ifm_addr + t->ic0 * c->ifm_cstep + (t->rows.first * c->iw + t->columns.first) * 4},
        {NPU_REG_GEMM_IFM_CSTEP, c->ifm_cstep},
        {NPU_REG_GEMM_WGT_ADDR, c->wgt_addr + wgt_words * plan->n},
        {NPU_REG_GEMM_OFM_ADDR, output_addr(c, plan, t)},
        {NPU_REG_GEMM_OFM_CSTEP, c->ofm_cstep},
        {NPU_REG_GEMM_IFM_SIZE, NPU_FIELD(NPU_GEMM_IFM_SIZE_IW, t->columns.count) | NPU_FIELD(NPU_GEMM_IFM_SIZE_IH, t->rows.count)},
        {NPU_REG_GEMM_CHANNELS, NPU_FIELD(NPU_GEMM_CHANNELS_IC, t->ic) | NPU_FIELD(NPU_GEMM_CHANNELS_OC, t->oc)},
        {NPU_REG_GEMM_OFM_SIZE, NPU_FIELD(NPU_GEMM_OFM_SIZE_OW, t->ow) | NPU_FIELD(NPU_GEMM_OFM_SIZE_OH, t->oh)},
        {NPU_REG_GEMM_IN_SCALE, c->in_scale},
        {NPU_REG_GEMM_GROUP, NPU_FIELD(NPU_GEMM_GROUP_TILES, plan->group)},
    };
    return write_regs(dev, regs, sizeof(regs) / sizeof(regs[0]));
}

/* What happens to the sums: raw out of every slice but the last, added up in every slice but the first. */
static npu_status write_post(const npu *dev, const npu_conv *c, const npu_conv_plan *plan, const task *t, uint32_t *ctrl) {
    npu_status status = NPU_OK;
    uint32_t act = NPU_GEMM_ACT_TYPE_NONE;
    if (!t->first) {
        *ctrl |= NPU_GEMM_CTRL_PSUM_ADD_MASK;
        status = npu_reg_write(dev, NPU_REG_GEMM_PSUM_ADDR, output_addr(c, plan, t));
        status = status != NPU_OK ? status : npu_reg_write(dev, NPU_REG_GEMM_PSUM_CSTEP, c->ofm_cstep);
    }
    if (!t->last) {
        *ctrl |= NPU_GEMM_CTRL_DIV_IC_MASK;
    } else {
        *ctrl |= NPU_GEMM_CTRL_OSCALE_MASK;
        act = c->act == NPU_ACT_RELU ? NPU_GEMM_ACT_TYPE_RELU : NPU_GEMM_ACT_TYPE_NONE;
        if (status == NPU_OK) {
            status = npu_reg_write(dev, NPU_REG_GEMM_OSCALE_ADDR, c->oscale_addr + t->oc0 * 4);
        }
        if (status == NPU_OK && c->has_bias) {
            *ctrl |= NPU_GEMM_CTRL_BIAS_MASK;
            status = npu_reg_write(dev, NPU_REG_GEMM_BIAS_ADDR, c->bias_addr + t->oc0 * 4);
        }
    }
    return status != NPU_OK ? status : npu_reg_write(dev, NPU_REG_GEMM_ACT, NPU_FIELD(NPU_GEMM_ACT_TYPE, act));
}

static npu_status write_kernel(const npu *dev, const npu_conv *c, const task *t, uint32_t *ctrl) {
    const npu_span *x = &t->columns;
    const npu_span *y = &t->rows;
    bool square = c->kw == t->kh && c->stride_w == c->stride_h;
    if (square && x->before <= 3 && x->after <= 3 && y->before <= 3 && y->after <= 3) {
        *ctrl |= NPU_FIELD(NPU_GEMM_CTRL_KERNEL, c->kw) | NPU_FIELD(NPU_GEMM_CTRL_STRIDE, c->stride_w) |
                 NPU_FIELD(NPU_GEMM_CTRL_PAD_LEFT, x->before) | NPU_FIELD(NPU_GEMM_CTRL_PAD_RIGHT, x->after) |
                 NPU_FIELD(NPU_GEMM_CTRL_PAD_TOP, y->before) | NPU_FIELD(NPU_GEMM_CTRL_PAD_BOTTOM, y->after);
        return NPU_OK;
    }
    *ctrl |= NPU_GEMM_CTRL_EXT_MASK;
    const uint32_t regs[][2] = {
        {NPU_REG_GEMM_EXT_KERNEL, NPU_FIELD(NPU_GEMM_EXT_KERNEL_KW, c->kw) | NPU_FIELD(NPU_GEMM_EXT_KERNEL_KH, t->kh) |
                                      NPU_FIELD(NPU_GEMM_EXT_KERNEL_DW, c->dil_w) | NPU_FIELD(NPU_GEMM_EXT_KERNEL_DH, c->dil_h)},
        {NPU_REG_GEMM_EXT_STRIDE, NPU_FIELD(NPU_GEMM_EXT_STRIDE_SW, c->stride_w) | NPU_FIELD(NPU_GEMM_EXT_STRIDE_SH, c->stride_h)},
        {NPU_REG_GEMM_EXT_PAD, NPU_FIELD(NPU_GEMM_EXT_PAD_LEFT, x->before) | NPU_FIELD(NPU_GEMM_EXT_PAD_RIGHT, x->after) |
                                   NPU_FIELD(NPU_GEMM_EXT_PAD_TOP, y->before) | NPU_FIELD(NPU_GEMM_EXT_PAD_BOTTOM, y->after)},
    };
    return write_regs(dev, regs, sizeof(regs) / sizeof(regs[0]));
}

static npu_status start_task(npu *dev, const npu_conv *c, const npu_conv_plan *plan, const task *t) {
    uint32_t ctrl = NPU_GEMM_CTRL_EN_MASK | NPU_GEMM_CTRL_LAYOUT_MASK | (t->fence ? NPU_GEMM_CTRL_FENCE_MASK : 0);
    npu_status status = npu_gemm_wait_ready(dev);
    if (status == NPU_OK) {
        declare_output(dev, c, plan, t);
        status = write_geometry(dev, c, plan, t);
    }
    if (status == NPU_OK) {
        status = write_post(dev, c, plan, t, &ctrl);
    }
    if (status == NPU_OK) {
        status = write_kernel(dev, c, t, &ctrl);
    }
    if (status == NPU_OK) {
        status = npu_reg_write(dev, NPU_REG_GEMM_CTRL, ctrl);
    }
    if (status == NPU_OK) {
        dev->started++;
    }
    return status;
}

static npu_status launch(run *r, task *t) {
    npu_status status = r->launched > r->others ? npu_gemm_wait(r->dev, r->others) : NPU_OK;
    t->fence = r->fence;
    r->fence = false;
    r->launched++;
    return status != NPU_OK ? status : start_task(r->dev, r->c, r->plan, t);
}

/* The tasks of some output rows, from left to right. */
static npu_status run_rows(run *r, task *t) {
    const npu_conv *c = r->c;
    const npu_conv_plan *plan = r->plan;
    npu_status status = NPU_OK;
    t->rows = npu_conv_rows(c, t->kh0, t->kh, t->oh0, t->oh);
    if (t->rows.count == 0) {
        return NPU_OK; /* A kernel row in the padding adds nothing. Another one lies in the map (padding is smaller than the kernel), so its slice writes. */
    }
    t->first = t->ic0 == 0 && (t->kh0 == 0 || t->rows.first == 0);
    t->last = t->ic0 + t->ic == c->ic && (t->kh0 + t->kh == c->kh || t->rows.first + t->rows.count == c->ih);
    for (t->ow0 = 0; t->ow0 < plan->ow && status == NPU_OK; t->ow0 += plan->ow_task) {
        t->ow = npu_min(plan->ow_task, plan->ow - t->ow0);
        if (plan->row_split) {
            t->columns = npu_conv_columns(c, t->ow0, t->ow);
        } else { /* several rows: all columns, needed or not */
            t->columns = (npu_span){.first = 0, .count = c->iw, .before = c->pad_l, .after = c->pad_r};
        }
        status = launch(r, t);
    }
    return status;
}

static npu_status run_slice(run *r, task *t) {
    npu_status status = NPU_OK;
    for (t->oh0 = 0; t->oh0 < r->plan->oh && status == NPU_OK; t->oh0 += r->plan->oh_task) {
        t->oh = npu_min(r->plan->oh_task, r->plan->oh - t->oh0);
        status = run_rows(r, t);
    }
    return status;
}

static npu_status run_tasks(npu *dev, const npu_conv *c, const npu_conv_plan *plan) {
    /* The first task of all reads what an earlier operator wrote. */
    run r = {.dev = dev, .c = c, .plan = plan, .others = plan->serial ? 0 : MAX_IN_FLIGHT - 1, .launched = 0, .fence = true};
    npu_status status = NPU_OK;
    task t;
    t.kh = npu_conv_kh_task(c, plan);
    for (t.oc0 = 0; t.oc0 < c->oc; t.oc0 += plan->oc_task) {
        t.oc = npu_min(plan->oc_task, c->oc - t.oc0);
        for (t.ic0 = 0; t.ic0 < c->ic; t.ic0 += plan->ic_task) {
            t.ic = npu_min(plan->ic_task, c->ic - t.ic0);
            for (t.kh0 = 0; t.kh0 < c->kh; t.kh0 += t.kh) {
                r.fence = r.fence || t.ic0 != 0 || t.kh0 != 0; /* reads sums that the slice before wrote just now */
                status = run_slice(&r, &t);
                if (status != NPU_OK) {
                    return status;
                }
            }
        }
    }
    return npu_gemm_wait(dev, 0);
}

npu_status npu_conv_run(npu *dev, const npu_conv *conv, const npu_conv_plan *plan) {
    if (dev == NULL || dev->hal == NULL || conv == NULL || plan == NULL) {
        return NPU_ERR_ARG;
    }
    npu_status status = npu_conv_plan_check(conv, plan);
    if (status == NPU_OK && plan->n != dev->n) {
        status = NPU_ERR_SPLIT;
    }
    if (status == NPU_OK) {
        status = check_buffers(conv, plan);
    }
    if (status == NPU_OK) {
        status = npu_gemm_check_idle(dev);
    }
    if (status != NPU_OK) {
        return status;
    }
    flush_buffers(dev, conv, plan);
    status = run_tasks(dev, conv, plan);
    invalidate_output(dev, conv, plan);
    return status;
}
