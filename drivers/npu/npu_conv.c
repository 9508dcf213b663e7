/*
 * npu_conv.c - the tasks of a planned convolution.
 *
 * Batches of groups outermost, then output channels, then slices of input channels and of kernel rows, then rows and
 * their segments. So the partial sums that a task reads were written in an earlier slice, and one fence at the start of
 * each slice is enough: the tasks inside a slice overlap.
 */
#include "npu_priv.h"

#define ALIGN_BYTES 16u

/* One task. Channels count from the first one of the convolution. */
typedef struct part {
    uint32_t ic0, ic, oc0, oc, kh0, kh, oh0, oh, ow0, ow;
    npu_span rows, columns;
    bool empty;       /* every window is entirely in the padding, which is 0 */
    bool outside;     /* every position is in the padding, which is not 0 */
    bool first, last; /* the first and the last slice that these output pixels get */
} part;

static bool nhwc_in(const npu_conv *c) {
    return c->in_layout != NPU_FP32_NCHW;
}

static bool nhwc_out(const npu_conv *c) {
    return c->out_layout != NPU_FP32_NCHW;
}

/* ---- positions of tasks ---- */

static uint32_t output_addr(const npu_conv_state *s, const part *t) {
    const npu_conv *c = &s->conv;
    uint32_t pixel = t->oh0 * s->plan.ow + t->ow0;
    return nhwc_out(c) ? c->ofm_addr + pixel * c->ofm_cstep + t->oc0 * npu_element_bytes(c->out_layout)
                       : c->ofm_addr + t->oc0 * c->ofm_cstep + pixel * 4;
}

/* Partial sums: in the FP32 output itself, or in the scratch buffer of an NHWC output or of INT16, for the output
 * channels of one task at a time. */
static uint32_t psum_step(const npu_conv_state *s) {
    return npu_conv_uses_scratch(&s->conv) ? (uint32_t)npu_conv_scratch_step(&s->conv, &s->plan) : s->conv.ofm_cstep;
}

static uint32_t psum_addr(const npu_conv_state *s, const part *t) {
    uint32_t pixel = t->oh0 * s->plan.ow + t->ow0;
    return npu_conv_uses_scratch(&s->conv) ? s->conv.scratch_addr + pixel * npu_conv_sum_bytes(&s->conv)
                                           : output_addr(s, t);
}

static uint32_t input_addr(const npu_conv_state *s, const part *t) {
    const npu_conv *c = &s->conv;
    uint32_t pixel = t->rows.first * c->iw + t->columns.first;
    return nhwc_in(c) ? c->ifm_addr + pixel * c->ifm_cstep + t->ic0 * npu_element_bytes(c->in_layout)
                      : c->ifm_addr + t->ic0 * c->ifm_cstep + pixel * 4;
}

static uint32_t weight_addr(const npu_conv_state *s, const part *t) {
    const npu_conv *c = &s->conv;
    const npu_conv_plan *p = &s->plan;
    uint32_t icg = c->ic / c->groups;
    uint32_t ocg = c->oc / c->groups;
    if (p->op == NPU_GEMM_DEPTHWISE) {
        uint64_t slices = npu_conv_wgt_bytes(c, p, npu_div_up(c->oc, p->n), p->kh_task, 1) * (t->kh0 / p->kh_task);
        return c->wgt_addr + (uint32_t)(slices + npu_conv_wgt_bytes(c, p, t->oc0 / p->n, t->kh, 1));
    }
    /* Batches one after the other; in each, slices of input channels; in each of those, of kernel rows; in each of
     * those, blocks of output channels. */
    uint32_t groups = npu_conv_batch_groups(c, p, s->g);
    uint32_t ocb = npu_div_up(groups * ocg, p->n);
    uint32_t icb = npu_div_up(t->ic, p->n);
    uint64_t bytes =
        npu_conv_wgt_bytes(c, p, npu_div_up(p->merge * ocg, p->n), c->kh, npu_div_up(p->merge * icg, p->n)) * s->g;
    bytes += npu_conv_wgt_bytes(c, p, ocb, c->kh, s->ic0 / p->n) + npu_conv_wgt_bytes(c, p, ocb, t->kh0, icb);
    return c->wgt_addr + (uint32_t)(bytes + npu_conv_wgt_bytes(c, p, s->oc0 / p->n, t->kh, icb));
}

/* ---- registers ---- */

static void put_geometry(const npu_conv_state *s, const part *t, npu_task *task) {
    const npu_conv *c = &s->conv;
    npu_task_put(task, NPU_REG_GEMM_IFM_ADDR, input_addr(s, t));
    npu_task_put(task, NPU_REG_GEMM_IFM_CSTEP, c->ifm_cstep);
    npu_task_put(task, NPU_REG_GEMM_WGT_ADDR, weight_addr(s, t));
    npu_task_put(task, NPU_REG_GEMM_OFM_ADDR, t->last ? output_addr(s, t) : psum_addr(s, t));
    npu_task_put(task, NPU_REG_GEMM_OFM_CSTEP, t->last ? c->ofm_cstep : psum_step(s));
    npu_task_put(task, NPU_REG_GEMM_IFM_SIZE,
                 NPU_FIELD(NPU_GEMM_IFM_SIZE_IW, t->columns.count) | NPU_FIELD(NPU_GEMM_IFM_SIZE_IH, t->rows.count));
    npu_task_put(task, NPU_REG_GEMM_CHANNELS,
                 NPU_FIELD(NPU_GEMM_CHANNELS_IC, t->ic) | NPU_FIELD(NPU_GEMM_CHANNELS_OC, t->oc));
    npu_task_put(task, NPU_REG_GEMM_OFM_SIZE,
                 NPU_FIELD(NPU_GEMM_OFM_SIZE_OW, t->ow) | NPU_FIELD(NPU_GEMM_OFM_SIZE_OH, t->oh));
    npu_task_put(task, NPU_REG_GEMM_IN_SCALE, c->in_scale);
    npu_task_put(task, NPU_REG_GEMM_GROUP, NPU_FIELD(NPU_GEMM_GROUP_TILES, s->plan.group));
}

static void put_act(const npu_conv *c, npu_task *task) {
    static const uint32_t regs[4] = {NPU_REG_GEMM_ACT_P0, NPU_REG_GEMM_ACT_P1, NPU_REG_GEMM_ACT_P2,
                                     NPU_REG_GEMM_ACT_P3};
    uint32_t params[4];
    uint32_t used = npu_act_params(c->act, c->act_p, params);
    for (uint32_t i = 0; i < used; i++) {
        npu_task_put(task, regs[i], params[i]);
    }
    npu_task_put(task, NPU_REG_GEMM_ACT, NPU_FIELD(NPU_GEMM_ACT_TYPE, c->act));
}

/* Handling of the sums: written raw by every slice but the last, added by every slice but the first. Returns bits of
 * GEMM_CTRL. */
static uint32_t put_post(const npu_conv_state *s, const part *t, npu_task *task) {
    const npu_conv *c = &s->conv;
    uint32_t ctrl = 0;
    if (!t->first) {
        ctrl |= NPU_GEMM_CTRL_PSUM_ADD_MASK;
        npu_task_put(task, NPU_REG_GEMM_PSUM_ADDR, psum_addr(s, t));
        npu_task_put(task, NPU_REG_GEMM_PSUM_CSTEP, psum_step(s));
    } else if (c->wide) {
        npu_task_no_psum(task);
    }
    if (!t->last) {
        npu_task_put(task, NPU_REG_GEMM_ACT, NPU_FIELD(NPU_GEMM_ACT_TYPE, NPU_ACT_NONE));
        return ctrl | NPU_GEMM_CTRL_DIV_IC_MASK;
    }
    ctrl |= NPU_GEMM_CTRL_OSCALE_MASK;
    npu_task_put(task, NPU_REG_GEMM_OSCALE_ADDR, c->oscale_addr + t->oc0 * 4);
    if (c->has_bias) {
        ctrl |= NPU_GEMM_CTRL_BIAS_MASK | (c->int_bias ? NPU_GEMM_CTRL_IBIAS_MASK : 0);
        npu_task_put(task, NPU_REG_GEMM_BIAS_ADDR, c->bias_addr + t->oc0 * 4);
    }
    if (nhwc_out(c)) {
        ctrl |= NPU_GEMM_CTRL_REQUANT_MASK;
        npu_task_put(task, NPU_REG_GEMM_OUT_SCALE, c->out_scale);
    }
    put_act(c, task);
    return ctrl;
}

/* The short form where possible, else the extended one. Returns bits of GEMM_CTRL. */
static uint32_t put_kernel(const npu_conv_state *s, const part *t, npu_task *task) {
    const npu_conv *c = &s->conv;
    const npu_span *x = &t->columns;
    const npu_span *y = &t->rows;
    if (t->empty) { /* one position, above the map for all rows */
        npu_task_put(task, NPU_REG_GEMM_EXT_KERNEL, 0x01010101u);
        npu_task_put(task, NPU_REG_GEMM_EXT_STRIDE, 0x0101u);
        npu_task_put(task, NPU_REG_GEMM_EXT_PAD, NPU_FIELD(NPU_GEMM_EXT_PAD_TOP, t->oh));
        return NPU_GEMM_CTRL_EXT_MASK;
    }
    if (t->outside) { /* a map of one pixel, of which every position is an odd number of columns away */
        npu_task_put(task, NPU_REG_GEMM_EXT_KERNEL,
                     NPU_FIELD(NPU_GEMM_EXT_KERNEL_KW, c->kw) | NPU_FIELD(NPU_GEMM_EXT_KERNEL_KH, t->kh) |
                         NPU_FIELD(NPU_GEMM_EXT_KERNEL_DW, 2) | NPU_FIELD(NPU_GEMM_EXT_KERNEL_DH, 1));
        npu_task_put(task, NPU_REG_GEMM_EXT_STRIDE,
                     NPU_FIELD(NPU_GEMM_EXT_STRIDE_SW, 2) | NPU_FIELD(NPU_GEMM_EXT_STRIDE_SH, 1));
        npu_task_put(task, NPU_REG_GEMM_EXT_PAD, NPU_FIELD(NPU_GEMM_EXT_PAD_LEFT, 1));
        return NPU_GEMM_CTRL_EXT_MASK;
    }
    bool square = c->kw == t->kh && c->kw <= 7 && c->stride_w == c->stride_h && c->stride_w <= 7 && c->dil_w == 1 &&
                  c->dil_h == 1;
    if (square && x->before <= 3 && x->after <= 3 && y->before <= 3 && y->after <= 3) {
        return NPU_FIELD(NPU_GEMM_CTRL_KERNEL, c->kw) | NPU_FIELD(NPU_GEMM_CTRL_STRIDE, c->stride_w) |
               NPU_FIELD(NPU_GEMM_CTRL_PAD_LEFT, x->before) | NPU_FIELD(NPU_GEMM_CTRL_PAD_RIGHT, x->after) |
               NPU_FIELD(NPU_GEMM_CTRL_PAD_TOP, y->before) | NPU_FIELD(NPU_GEMM_CTRL_PAD_BOTTOM, y->after);
    }
    npu_task_put(task, NPU_REG_GEMM_EXT_KERNEL,
                 NPU_FIELD(NPU_GEMM_EXT_KERNEL_KW, c->kw) | NPU_FIELD(NPU_GEMM_EXT_KERNEL_KH, t->kh) |
                     NPU_FIELD(NPU_GEMM_EXT_KERNEL_DW, c->dil_w) | NPU_FIELD(NPU_GEMM_EXT_KERNEL_DH, c->dil_h));
    npu_task_put(task, NPU_REG_GEMM_EXT_STRIDE,
                 NPU_FIELD(NPU_GEMM_EXT_STRIDE_SW, c->stride_w) | NPU_FIELD(NPU_GEMM_EXT_STRIDE_SH, c->stride_h));
    /* right and bottom are informative and may be larger than their field */
    npu_task_put(task, NPU_REG_GEMM_EXT_PAD,
                 NPU_FIELD(NPU_GEMM_EXT_PAD_LEFT, x->before) |
                     NPU_FIELD(NPU_GEMM_EXT_PAD_RIGHT, npu_min(x->after, NPU_MAX_BYTE)) |
                     NPU_FIELD(NPU_GEMM_EXT_PAD_TOP, y->before) |
                     NPU_FIELD(NPU_GEMM_EXT_PAD_BOTTOM, npu_min(y->after, NPU_MAX_BYTE)));
    return NPU_GEMM_CTRL_EXT_MASK;
}

/* Keep the weights of the task before, if they are the same. */
static uint32_t keep_weights(npu_conv_state *s, const part *t, uint32_t wgt_addr) {
    const uint32_t now[4] = {wgt_addr, t->kh, t->ic, t->oc};
    bool resident = s->plan.resident && !t->empty;
    bool same = resident && s->kept[3] != 0;
    for (uint32_t i = 0; i < 4; i++) {
        same = same && s->kept[i] == now[i];
        s->kept[i] = resident ? now[i] : 0;
    }
    return (resident ? NPU_GEMM_CTRL_WGT_RES_MASK : 0) | (same ? NPU_GEMM_CTRL_WGT_KEEP_MASK : 0);
}

static void output_of(const npu_conv_state *s, const part *t, npu_output *out) {
    const npu_conv *c = &s->conv;
    *out = (npu_output){.addr = psum_addr(s, t),
                        .bytes = t->oh * t->ow * npu_conv_sum_bytes(c),
                        .rows = t->oc,
                        .step = psum_step(s),
                        .planes = 1,
                        .pstep = 0};
    if (t->last) {
        out->addr = output_addr(s, t);
        out->step = c->ofm_cstep;
        out->bytes = t->oh * t->ow * 4;
    }
    if (t->last && nhwc_out(c)) {
        out->bytes = npu_align(t->oc, s->plan.n) * npu_element_bytes(c->out_layout);
        out->rows = t->oh * t->ow;
    }
}

static void put_task(npu_conv_state *s, const part *t, npu_task *task) {
    uint32_t ctrl = NPU_GEMM_CTRL_EN_MASK | NPU_FIELD(NPU_GEMM_CTRL_OP, s->plan.op);
    ctrl |= nhwc_in(&s->conv) ? 0 : NPU_GEMM_CTRL_LAYOUT_MASK;
    ctrl |= s->conv.wide ? NPU_GEMM_CTRL_WIDE_MASK : 0;
    ctrl |= s->fence ? NPU_GEMM_CTRL_FENCE_MASK : 0;
    ctrl |= keep_weights(s, t, weight_addr(s, t));
    ctrl |= npu_task_quant(task, &s->conv.quant);
    put_geometry(s, t, task);
    ctrl |= put_post(s, t, task);
    ctrl |= put_kernel(s, t, task);
    npu_task_put(task, NPU_REG_GEMM_CTRL, ctrl);
    output_of(s, t, &task->out);
    s->fence = false;
}

/* ---- the loops ---- */

/* Does a slice of kernel rows from kh0 overlap the map in these output rows? */
static bool slice_sees_map(const npu_conv_state *s, uint32_t kh0, const part *t) {
    uint32_t kh = npu_min(s->plan.kh_task, s->conv.kh - kh0);
    return npu_conv_rows(&s->conv, kh0, kh, t->oh0, t->oh).count != 0;
}

/* Which slices these pixels get, where the padding is 0: those that see the map. false: nothing to do. */
static bool slices_of_map(const npu_conv_state *s, bool ic_first, bool ic_last, part *t) {
    const npu_conv *c = &s->conv;
    uint32_t first_k = c->kh;
    uint32_t last_k = 0;
    for (uint32_t k = 0; k < c->kh && t->columns.count != 0; k += s->plan.kh_task) {
        if (slice_sees_map(s, k, t)) {
            first_k = npu_min(first_k, k);
            last_k = k;
        }
    }
    t->empty = first_k == c->kh;
    if (t->empty) { /* these pixels get zeros, once */
        t->rows = (npu_span){0, 1, 0, 0};
        t->columns = (npu_span){0, 1, 0, 0};
        t->first = true;
        t->last = true;
        return ic_last && t->kh0 + t->kh == c->kh;
    }
    t->first = ic_first && t->kh0 == first_k;
    t->last = ic_last && t->kh0 == last_k;
    return t->rows.count != 0;
}

/* The same where it is a zero-point: all of them. */
static bool slices_of_padding(const npu_conv_state *s, bool ic_first, bool ic_last, part *t) {
    t->first = ic_first && t->kh0 == 0;
    t->last = ic_last && t->kh0 + t->kh == s->conv.kh;
    t->outside = t->rows.count == 0 || t->columns.count == 0;
    if (t->outside) {
        t->rows = (npu_span){0, 1, 0, 0};
        t->columns = (npu_span){0, 1, 0, 0};
    }
    return true;
}

/* The task at the current loop position. false: it has nothing to do. */
static bool part_at(const npu_conv_state *s, part *t) {
    const npu_conv *c = &s->conv;
    const npu_conv_plan *p = &s->plan;
    uint32_t groups = npu_conv_batch_groups(c, p, s->g);
    uint32_t before = s->g * p->merge;
    bool depthwise = p->op == NPU_GEMM_DEPTHWISE;
    t->oc = npu_min(p->oc_task, c->oc / c->groups * groups - s->oc0);
    t->ic = depthwise ? t->oc : npu_min(p->ic_task, c->ic / c->groups * groups - s->ic0);
    t->oc0 = c->oc / c->groups * before + s->oc0;
    t->ic0 = depthwise ? t->oc0 : c->ic / c->groups * before + s->ic0;
    t->kh0 = s->kh0;
    t->kh = npu_min(p->kh_task, c->kh - s->kh0);
    t->oh0 = s->oh0;
    t->oh = npu_min(p->oh_task, p->oh - s->oh0);
    t->ow0 = s->ow0;
    t->ow = npu_min(p->ow_task, p->ow - s->ow0);
    t->rows = npu_conv_rows(c, t->kh0, t->kh, t->oh0, t->oh);
    t->columns = (npu_span){.first = 0, .count = c->iw, .before = c->pad_l, .after = c->pad_r};
    if (p->row_split) { /* else several rows: all columns, needed or not */
        t->columns = npu_conv_columns(c, t->ow0, t->ow);
    }
    t->empty = t->outside = false;
    bool ic_last = depthwise || s->ic0 + t->ic == c->ic / c->groups * groups;
    return (c->quant.in_zero == 0 ? slices_of_map : slices_of_padding)(s, s->ic0 == 0, ic_last, t);
}

/* Step a loop; true when it starts again. */
static bool step(uint32_t *at, uint32_t size, uint32_t total) {
    *at += size;
    if (*at < total) {
        return false;
    }
    *at = 0;
    return true;
}

/* The next place of the slice, or of the next one. true: it is the next slice. */
static bool advance(npu_conv_state *s) {
    const npu_conv *c = &s->conv;
    const npu_conv_plan *p = &s->plan;
    uint32_t groups = npu_conv_batch_groups(c, p, s->g);
    uint32_t ic = p->op == NPU_GEMM_DEPTHWISE ? 0 : c->ic / c->groups * groups;
    if (!step(&s->ow0, p->ow_task, p->ow) || !step(&s->oh0, p->oh_task, p->oh)) {
        return false;
    }
    if (step(&s->kh0, p->kh_task, c->kh) && step(&s->ic0, p->ic_task, ic) &&
        step(&s->oc0, p->oc_task, c->oc / c->groups * groups)) {
        s->g++;
    }
    return true;
}

/* Does the current slice read sums that the one before wrote, or overwrite sums that may still be read?
 */
static bool slice_waits(const npu_conv_state *s) {
    bool sums = s->plan.kh_tasks > 1 || s->plan.ic_tasks > 1;
    return sums && (s->kh0 != 0 || s->ic0 != 0 || npu_conv_uses_scratch(&s->conv));
}

static bool next_conv(npu_job *job, npu_task *task) {
    npu_conv_state *s = &job->s.conv;
    part t;
    while (s->g < s->plan.group_tasks) {
        bool has_work = part_at(s, &t);
        if (has_work) {
            put_task(s, &t, task);
        }
        if (advance(s)) {
            s->fence = s->fence || slice_waits(s);
        }
        if (has_work) {
            return true;
        }
    }
    return false;
}

/* ---- checks ---- */

static npu_status check_tensors(const npu_conv *c, const npu_conv_plan *plan, npu_area *ifm, npu_area *ofm) {
    npu_tensor in = {
        .addr = c->ifm_addr, .step = c->ifm_cstep, .w = c->iw, .h = c->ih, .c = c->ic, .layout = c->in_layout};
    npu_tensor out = {
        .addr = c->ofm_addr, .step = c->ofm_cstep, .w = plan->ow, .h = plan->oh, .c = c->oc, .layout = c->out_layout};
    npu_status status = npu_tensor_check_gemm(&in, plan->n);
    *ifm = npu_tensor_area(&in, plan->n);
    *ofm = npu_tensor_area(&out, plan->n);
    return status != NPU_OK ? status : npu_tensor_check_gemm(&out, plan->n);
}

static npu_status add_areas(npu_job *job, const npu_conv *c, const npu_conv_plan *plan) {
    npu_area ifm;
    npu_area ofm;
    uint32_t scratch_addr = plan->scratch_bytes != 0 ? c->scratch_addr : 0;
    uint32_t bias_addr = c->has_bias ? c->bias_addr : 0;
    npu_status status = check_tensors(c, plan, &ifm, &ofm);
    if (status == NPU_OK && ((c->wgt_addr | c->oscale_addr | bias_addr | scratch_addr) & (ALIGN_BYTES - 1)) != 0) {
        status = NPU_ERR_ALIGN;
    }
    if (status == NPU_OK && c->scratch_bytes < plan->scratch_bytes) {
        status = NPU_ERR_SCRATCH;
    }
    const npu_area area[NPU_JOB_AREAS] = {ifm,
                                          npu_flat_area(c->wgt_addr, plan->wgt_bytes),
                                          npu_flat_area(c->oscale_addr, plan->param_bytes),
                                          npu_flat_area(bias_addr, c->has_bias ? plan->param_bytes : 0),
                                          ofm,
                                          npu_flat_area(scratch_addr, plan->scratch_bytes)};
    static const npu_use use[NPU_JOB_AREAS] = {NPU_READ, NPU_READ, NPU_READ, NPU_READ, NPU_WRITE, NPU_SCRATCH};
    for (uint32_t i = 0; i < NPU_JOB_AREAS && status == NPU_OK; i++) {
        status = npu_job_area(job, area[i], use[i], false);
    }
    return status;
}

npu_status npu_job_conv(npu_job *job, const npu *dev, const npu_conv *conv, const npu_conv_plan *plan) {
    if (conv == NULL || plan == NULL) {
        return NPU_ERR_ARG;
    }
    npu_status status = npu_job_begin(job, dev, NPU_UNIT_GEMM, next_conv);
    if (status == NPU_OK) {
        status = npu_conv_plan_check(conv, plan);
    }
    if (status == NPU_OK && plan->n != dev->n) {
        status = NPU_ERR_SPLIT;
    }
    if (status == NPU_OK && conv->wide && !dev->int16) {
        status = NPU_ERR_NO_UNIT;
    }
    if (status == NPU_OK) {
        status = add_areas(job, conv, plan);
    }
    if (status != NPU_OK) {
        return status;
    }
    npu_conv_state *s = &job->s.conv;
    s->conv = *conv;
    s->plan = *plan;
    s->g = s->oc0 = s->ic0 = s->kh0 = s->oh0 = s->ow0 = 0;
    s->fence = true; /* the first task of all reads what an earlier operator wrote */
    s->kept[3] = 0;
    job->serial = plan->serial;
    return NPU_OK;
}

npu_status npu_conv_run(npu *dev, const npu_conv *conv, const npu_conv_plan *plan) {
    npu_job job;
    return npu_job_run(dev, &job, npu_job_conv(&job, dev, conv, plan));
}
